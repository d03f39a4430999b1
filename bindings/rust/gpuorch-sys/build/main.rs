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
    for name in ["GPUORCH_DIR", "DOCS_RS"] {
        println!("cargo:rerun-if-env-changed={name}");
    }
    let opened_at_run_time = cfg!(feature = "load") && !cfg!(feature = "vendored");
    if opened_at_run_time || std::env::var_os("DOCS_RS").is_some() {
        return;
    }
    if let Some(named) = std::env::var_os("GPUORCH_DIR").filter(|named| !named.is_empty()) {
        return link_from(Path::new(&named));
    }
    #[cfg(feature = "vendored")]
    vendored::build_and_link();
    #[cfg(not(feature = "vendored"))]
    link_what_pkg_config_finds();
}

/// `named` is GPUORCH_DIR: the prefix of an installed library, or the folder that holds libgpuorch.so.
fn link_from(named: &Path) {
    if named.is_relative() {
        // Cargo runs this script in the package's folder, so the path would lead elsewhere than in the user's shell.
        fail(&format!("GPUORCH_DIR is {}, and has to be an absolute path", named.display()));
    }
    let machine = std::env::var("CARGO_CFG_TARGET_ARCH").unwrap_or_default();
    let folders =
        [named.to_path_buf(), named.join("lib"), named.join("lib64"), named.join(format!("lib/{machine}-linux-gnu"))];
    let Some(folder) = folders.iter().find(|folder| folder.join("libgpuorch.so").exists()) else {
        let [itself, below @ ..] = folders.map(|folder| folder.display().to_string());
        fail(&format!(
            "GPUORCH_DIR is {itself}, and there is no libgpuorch.so in it, nor in {}. The Debian package libgpuorch-dev \
             has this file; the package with the library has only the file whose name ends in the version.",
            below.join(" or ")
        ));
    };
    println!("cargo:rustc-link-search=native={}", folder.display());
    println!("cargo:rustc-link-lib=dylib=gpuorch");
}

#[cfg(not(feature = "vendored"))]
fn link_what_pkg_config_finds() {
    // The library's version that the bindings are made from: the part behind the `+` of the package's version.
    let (_, version) = env!("CARGO_PKG_VERSION").split_once('+').expect("it has the library's version");
    let end = first_version_with_another_abi(version);
    let Err(error) = pkg_config::Config::new().range_version(version..&end).probe("gpuorch") else { return };
    fail(&format!(
        "libgpuorch {version} was not found. Each of these helps:\n\
         - install the package libgpuorch-dev, which is one of a release's .deb files, and pkg-config;\n\
         - set GPUORCH_DIR to the prefix where libgpuorch is installed, or to the folder that holds libgpuorch.so;\n\
         - set PKG_CONFIG_PATH to the folder that holds gpuorch.pc;\n\
         - use the feature `load`: nothing is linked, and the program opens libgpuorch when it runs;\n\
         - use the feature `vendored`: libgpuorch is built from the sources in this package, which takes minutes.\n\
         {error}"
    ));
}

/// Before 1.0 a minor version may break the ABI, afterwards a major version.
#[cfg(not(feature = "vendored"))]
fn first_version_with_another_abi(version: &str) -> String {
    let mut numbers = version.split('.').map(|number| number.parse::<u32>().expect("a version has numbers"));
    match (numbers.next(), numbers.next()) {
        (Some(0), Some(minor)) => format!("0.{}", minor + 1),
        (Some(major), _) => (major + 1).to_string(),
        (None, _) => unreachable!("split gives at least one part"),
    }
}
