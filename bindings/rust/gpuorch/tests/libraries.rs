//! Libraries that are missing, another's, older, newer or broken: a message, never a crash.
#![cfg(feature = "dynamic-loading")]

use gpuorch::Runtime;
use std::path::PathBuf;
use std::process::Command;

/// What a process with this library says, of its runtime and of a function that newer libraries have.
#[test]
fn in_a_process_of_its_own() {
    if std::env::var_os("GPUORCH_TEST_CHILD").is_none() {
        return;
    }
    let said = Runtime::new().and_then(|runtime| runtime.device_count()).map_err(|error| (error.kind(), error));
    match said {
        Ok(count) => println!("said: {count} devices"),
        Err((kind, error)) => println!("said: {kind:?}: {}", error.message()),
    }
}

fn said(library: &str, fake: &str) -> String {
    let program = std::env::current_exe().expect("this program");
    let mut command = Command::new(program);
    command.args(["--exact", "in_a_process_of_its_own", "--nocapture"]).env("GPUORCH_TEST_CHILD", "1");
    let output = command.env("GPUORCH_LIBRARY", library).env("FAKE", fake).output().expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let line = text.lines().find_map(|line| line.split_once("said: "));
    line.unwrap_or_else(|| panic!("it said nothing: {text}")).1.to_owned()
}

/// Beside the test program's folder, if it has been built: `cargo build -p gpuorch-fake`.
fn fake() -> Option<String> {
    let program = std::env::current_exe().ok()?;
    let library: PathBuf = program.parent()?.parent()?.join("libgpuorch_fake.so");
    library.exists().then(|| library.to_string_lossy().into_owned())
}

#[test]
fn no_library_is_a_message() {
    let text = said("/nowhere/libgpuorch.so.0", "");
    assert!(text.starts_with("NoLibrary: ") && text.contains("/nowhere/libgpuorch.so.0"), "{text}");
}

#[test]
fn another_library_is_a_message() {
    let text = said("libm.so.6", "");
    assert!(text.starts_with("NoLibrary: ") && text.contains("libm.so.6 is not libgpuorch"), "{text}");
}

#[test]
fn a_table_that_is_refused_cut_short_longer_or_broken_is_a_message() {
    let Some(fake) = fake() else {
        println!("SKIP tables: libgpuorch_fake.so isn't built");
        return;
    };
    let text = said(&fake, "refusing");
    assert!(text.starts_with("NoLibrary: ") && text.contains("0.1.0"), "{text}");
    let text = said(&fake, "broken");
    assert!(text.starts_with("NoLibrary: "), "{text}");
    for which in ["truncated", "extended", "complete"] {
        let text = said(&fake, which);
        assert!(text.starts_with("NotSupported: ") && text.contains("gpo_device_count"), "{which}: {text}");
    }
}
