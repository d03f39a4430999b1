//! Libraries that are missing, foreign, older, newer or broken: a message, never a crash.
#![cfg(feature = "load")]

use gpuorch::Runtime;
use std::path::PathBuf;
use std::process::Command;

/// In the child process: reports on a runtime of this library, and on a function that only newer libraries have.
#[test]
fn in_a_process_of_its_own() {
    if std::env::var_os("GPUORCH_TEST_CHILD").is_none() {
        return;
    }
    let told = |error: gpuorch::Error| format!("{:?}: {}", error.kind(), error.message());
    let said = Runtime::new().and_then(|runtime| {
        let count = runtime.device_count()?;
        let trace = runtime.trace().start().and_then(|()| runtime.stop_trace());
        Ok(format!("{count} devices, {}", trace.map_or_else(told, |()| "a trace".into())))
    });
    println!("said: {}", said.unwrap_or_else(told));
}

fn said(library: &str, settings: &[(&str, &str)]) -> String {
    let program = std::env::current_exe().expect("this program");
    let mut command = Command::new(program);
    command.args(["--exact", "in_a_process_of_its_own", "--nocapture"]).env("GPUORCH_TEST_CHILD", "1");
    let output = command.env("GPUORCH_LIBRARY", library).envs(settings.iter().copied()).output().expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let line = text.lines().find_map(|line| line.split_once("said: "));
    line.unwrap_or_else(|| panic!("it said nothing: {text}")).1.to_owned()
}

/// The fake library in the folder above the test program's, if it was built: `cargo build -p gpuorch-fake`.
fn fake() -> Option<String> {
    let program = std::env::current_exe().ok()?;
    let library: PathBuf = program.parent()?.parent()?.join("libgpuorch_fake.so");
    library.exists().then(|| library.to_string_lossy().into_owned())
}

#[test]
fn no_library_is_a_message() {
    let text = said("/nowhere/libgpuorch.so.0.1", &[]);
    assert!(text.starts_with("NoLibrary: ") && text.contains("/nowhere/libgpuorch.so.0.1"), "{text}");
}

#[test]
fn another_library_is_a_message() {
    let text = said("libm.so.6", &[]);
    assert!(text.starts_with("NoLibrary: ") && text.contains("libm.so.6 is not libgpuorch"), "{text}");
}

/// `tests/bindings/odd` makes a library in front of the real one: older, newer, or without this version.
#[test]
fn an_older_library_does_what_it_can_and_a_newer_one_what_is_known() {
    let Ok(odd) = std::env::var("GPUORCH_TEST_ODD") else {
        println!(
            "SKIP an_older_library_does_what_it_can_and_a_newer_one_what_is_known: GPUORCH_TEST_ODD names no libgpuorch_odd.so"
        );
        return;
    };
    let text = said(&odd, &[("GPUORCH_ODD", "refusing")]);
    assert!(text.starts_with("NoLibrary: ") && text.contains("0.1.0"), "{text}");
    let text = said(&odd, &[("GPUORCH_ODD", "truncated")]);
    assert!(text.contains(" devices, NotSupported: ") && text.contains("gpo_trace_start"), "{text}");
    let text = said(&odd, &[("GPUORCH_ODD", "extended")]);
    assert!(text.ends_with(" devices, a trace"), "{text}");
}

#[test]
fn a_table_that_is_broken_or_has_gaps_is_a_message() {
    let Some(fake) = fake() else {
        println!("SKIP a_table_that_is_broken_or_has_gaps_is_a_message: libgpuorch_fake.so isn't built");
        return;
    };
    let text = said(&fake, &[("FAKE", "broken")]);
    assert!(text.starts_with("NoLibrary: "), "{text}");
    let text = said(&fake, &[]);
    assert!(text.starts_with("NotSupported: ") && text.contains("gpo_runtime_get_device_count"), "{text}");
}
