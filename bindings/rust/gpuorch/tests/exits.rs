//! How processes end with work in flight: with their own exit code, and without a crash.

mod world;

use gpuorch::{ErrorKind, Launch, Result};
use std::process::{Command, exit};
use std::time::Duration;
use world::{World, world};

/// Work that goes on for a while, with futures and operations on it.
fn in_flight(w: &World) -> Result<Vec<Box<dyn std::any::Any + Send>>> {
    let arena = w.device.arena()?;
    let x = w.device.buffer::<f32>(1 << 20)?;
    let scale = w.scale()?;
    let mut kept: Vec<Box<dyn std::any::Any + Send>> = Vec::new();
    for _ in 0..20 {
        scale.launch(&w.stream, &Launch::each(1 << 20, 256), (&x, 1.0))?;
        let mut operation = w.stream.copy_to_host(&x, arena.zeroed::<f32>(1 << 20)?)?;
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        let _ = std::future::Future::poll(std::pin::Pin::new(&mut operation), &mut context);
        kept.push(Box::new(operation));
    }
    Ok(kept)
}

/// What a process of its own does; the number is the exit code that it is to have.
#[test]
fn in_a_process_of_its_own() {
    let Ok(how) = std::env::var("GPUORCH_TEST_CHILD") else { return };
    let w = world();
    let kept = in_flight(&w).expect("work");
    match how.as_str() {
        "exit" => exit(7),
        // SAFETY: it ends the process, as it is.
        "_exit" => unsafe { libc::_exit(7) },
        "exit in a callback" => {
            let executor = w.runtime.executor().expect("an executor");
            w.stream.then(&executor, |_| exit(7)).expect("it is accepted");
            std::thread::sleep(Duration::from_secs(60));
        }
        "thread-local owner" => {
            thread_local!(static OWNER: std::cell::RefCell<Option<World>> = const { std::cell::RefCell::new(None) });
            OWNER.set(Some(w));
            drop(kept);
            exit(7);
        }
        "static owner" => {
            static OWNER: std::sync::OnceLock<World> = std::sync::OnceLock::new();
            OWNER.get_or_init(|| w);
            exit(7);
        }
        "panic" => {
            // Unwinding drops everything; the test harness says 101.
            let _kept = kept;
            panic!("with work in flight");
        }
        "fork" => {
            // SAFETY: the child calls what is made for it, and ends in _exit.
            match unsafe { libc::fork() } {
                0 => {
                    let refused = w.stream.wait().map_err(|error| error.kind()) == Err(ErrorKind::Forked);
                    drop(kept);
                    drop(w);
                    // SAFETY: as above.
                    unsafe { libc::_exit(if refused { 7 } else { 1 }) };
                }
                child => {
                    let mut status = 0;
                    // SAFETY: the child is this process's.
                    unsafe { libc::waitpid(child, &mut status, 0) };
                    w.stream.wait().expect("the parent is unharmed");
                    drop(kept);
                    exit(libc::WEXITSTATUS(status));
                }
            }
        }
        other => panic!("{other} is no way to end"),
    }
}

fn ends(how: &str, code: i32) {
    let rounds = if std::env::var_os("GPUORCH_TEST_FULL").is_some() { 200 } else { 3 };
    for _ in 0..rounds {
        let program = std::env::current_exe().expect("this program");
        let mut command = Command::new(program);
        let output = command.args(["--exact", "in_a_process_of_its_own"]).env("GPUORCH_TEST_CHILD", how).output();
        let output = output.expect("it runs");
        let told = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(code), "{how}: {}\n{told}", output.status);
    }
}

#[test]
fn exit_with_work_in_flight_keeps_its_code() {
    ends("exit", 7);
    ends("_exit", 7);
    ends("exit in a callback", 7);
}

#[test]
fn owners_that_are_static_or_of_a_thread_do_no_harm() {
    ends("thread-local owner", 7);
    ends("static owner", 7);
}

#[test]
fn a_panic_unwinds_through_work_in_flight() {
    ends("panic", 101);
}

#[test]
fn a_forked_child_is_refused_and_ends_cleanly() {
    ends("fork", 7);
}
