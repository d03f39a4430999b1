//! Finds the library to link, or builds it; otherwise says what is missing.

#[cfg(feature = "vendored")]
mod vendored;

use std::path::Path;
use std::process::exit;

fn fail(message: &str) -> ! {
    eprintln!("gpuorch-sys: {message}");
    exit(1);
}

fn main() {
    println!("cargo:rerun-if-changed=build");
    for name in ["GPUORCH_LIB_DIR", "DOCS_RS"] {
        println!("cargo:rerun-if-env-changed={name}");
    }
    let opened_at_run_time = cfg!(feature = "dynamic-loading") && !cfg!(feature = "vendored");
    if opened_at_run_time || std::env::var_os("DOCS_RS").is_some() {
        return;
    }
    if let Some(folder) = std::env::var_os("GPUORCH_LIB_DIR") {
        link_from(Path::new(&folder));
        return;
    }
    #[cfg(feature = "vendored")]
    vendored::build_and_link();
    #[cfg(not(feature = "vendored"))]
    if let Err(error) = pkg_config::Config::new().atleast_version(library_version()).probe("gpuorch") {
        fail(&format!(
            "libgpuorch was not found. Name its folder with GPUORCH_LIB_DIR or let PKG_CONFIG_PATH lead to gpuorch.pc; or \
             use the feature `dynamic-loading`, which opens it at run time, or `vendored`, which builds it.\n{error}"
        ));
    }
}

/// The version of the library that the bindings are made from: the part behind the `+` of the package's version.
#[cfg(not(feature = "vendored"))]
fn library_version() -> &'static str {
    env!("CARGO_PKG_VERSION")
        .split_once('+')
        .map_or_else(|| fail("its version names no library's"), |(_, version)| version)
}

fn link_from(folder: &Path) {
    if !folder.join("libgpuorch.so").exists() {
        fail(&format!("there is no libgpuorch.so in {}, which GPUORCH_LIB_DIR names", folder.display()));
    }
    println!("cargo:rustc-link-search=native={}", folder.display());
    println!("cargo:rustc-link-lib=dylib=gpuorch");
    println!("cargo:lib_dir={}", folder.display());
}
