//! Builds the library from the sources in this package, as a static object that exports only `gpo_*`.

use crate::fail;
use std::path::Path;
use std::process::{Command, Stdio};

/// The tools that the build calls, each with its Debian package.
const TOOLS: [(&str, &str); 4] = [("cmake", "cmake"), ("c++", "g++"), ("ld", "binutils"), ("objcopy", "binutils")];

pub fn build_and_link() {
    for name in ["CUDA_HOME", "CUDA_PATH", "GPUORCH_DEPS", "CXX"] {
        println!("cargo:rerun-if-env-changed={name}");
    }
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("vendor");
    println!("cargo:rerun-if-changed={}", sources.join("libgpuorch").display());
    if !sources.join("CMakeLists.txt").exists() {
        fail("the package holds no sources: make it with `cargo package`, from a checkout with symbolic links");
    }
    for (tool, package) in TOOLS {
        let found = Command::new(tool).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        if found.is_err() {
            fail(&format!("the feature `vendored` needs {tool} to build libgpuorch (Debian's package {package})"));
        }
    }
    let mut config = cmake::Config::new(&sources);
    config
        .define("GPUORCH_TESTS", "OFF")
        .define("GPUORCH_BENCH", "OFF")
        .define("GPUORCH_STATIC", "ON")
        .define("GPUORCH_UNITY", "ON")
        .profile("Release")
        .no_default_flags(true);
    if let Some(folder) = std::env::var_os("GPUORCH_DEPS") {
        config.define("GPUORCH_DEPS", folder);
    }
    let ninja = Command::new("ninja").arg("--version").stdout(Stdio::null()).status();
    if ninja.is_ok() {
        config.generator("Ninja");
    }
    let built = config.build_target("gpuorch_static").build();
    println!("cargo:rustc-link-search=native={}", built.join("build/libgpuorch").display());
    println!("cargo:rustc-link-lib=static=gpuorch");
    println!("cargo:rustc-link-lib=dylib=stdc++");
}
