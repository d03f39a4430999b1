//! `cargo run -p xtask -- bindings` makes `gpuorch-sys/src/bindings.rs` from the C headers;
//! `cargo run -p xtask -- bindings --check` says whether the committed file is up to date.
//!
//! Needs a libclang with its own headers (Debian's `libclang1-N` and `libclang-common-N-dev`): 14 and 19 give the same text.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

fn bindings() -> Result<String, bindgen::BindgenError> {
    let include = root().join("libgpuorch/include");
    let made = bindgen::Builder::default()
        .header(include.join("gpuorch/gpuorch.h").to_string_lossy())
        .clang_arg(format!("-I{}", include.display()))
        .clang_arg("-std=c11")
        // No functions: they are members of the table gpo_api. loading.rs declares gpo_get_api, which returns the
        // table.
        .allowlist_type("gpo_.*")
        .allowlist_var("GPO_.*")
        .blocklist_item("GPO_API")
        .default_macro_constant_type(bindgen::MacroTypeVariation::Unsigned)
        .parse_callbacks(Box::new(Constants { statuses: statuses(&include) }))
        .use_core()
        .layout_tests(false)
        .derive_debug(false)
        .derive_default(false)
        .derive_copy(true)
        .generate_comments(false)
        .formatter(bindgen::Formatter::Prettyplease)
        .disable_header_comment()
        .wrap_unsafe_ops(true)
        .rust_edition(bindgen::RustEdition::Edition2024)
        .rust_target(bindgen::RustTarget::stable(85, 0).expect("bindgen knows Rust 1.85"))
        .generate()?;
    Ok(format!(
        "// Made from libgpuorch/include/gpuorch by `cargo run -p xtask -- bindings`: bindgen 0.72.1, libclang 14.\n\n{made}"
    ))
}

/// The names that `status.h` defines.
fn statuses(include: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(include.join("gpuorch/status.h")).unwrap_or_default();
    let defined = text.lines().filter_map(|line| line.strip_prefix("#define ")?.split(' ').next());
    defined.filter(|name| !name.starts_with("GPO_NATIVE_")).map(str::to_owned).collect()
}

/// A macro has no type: statuses are `gpo_status` and log levels `int32_t`, all other constants `uint32_t`.
#[derive(Debug)]
struct Constants {
    statuses: Vec<String>,
}

impl bindgen::callbacks::ParseCallbacks for Constants {
    fn int_macro(&self, name: &str, _value: i64) -> Option<bindgen::callbacks::IntKind> {
        let signed = name.starts_with("GPO_LOG_") || self.statuses.iter().any(|status| status == name);
        signed.then_some(bindgen::callbacks::IntKind::I32)
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let check = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["bindings"] => false,
        ["bindings", "--check"] => true,
        _ => {
            eprintln!("usage: cargo run -p xtask -- bindings [--check]");
            return ExitCode::from(2);
        }
    };
    let text = match bindings() {
        Ok(text) => text,
        Err(error) => {
            eprintln!("xtask: the headers can't be bound: {error}");
            return ExitCode::FAILURE;
        }
    };
    let path = root().join("bindings/rust/gpuorch-sys/src/bindings.rs");
    let written = if check {
        match std::fs::read_to_string(&path) {
            Ok(committed) if committed == text => Ok(()),
            Ok(_) => Err("is not what the headers give: run `cargo run -p xtask -- bindings`".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    } else {
        std::fs::write(&path, text).map_err(|error| error.to_string())
    };
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {}: {error}", path.display());
            ExitCode::FAILURE
        }
    }
}
