//! How processes end with work in flight: with their own exit code, and without a crash.

mod world;

use gpuorch::{DeviceBuffer, ErrorKind, Launch, Operation, PinnedVec, Result, Slice, Stream};
use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::process::{Command, exit};
use std::sync::OnceLock;
use std::task::{Context, Waker};
use std::time::Duration;
use world::{SOURCE, World, world};

/// A stream with a kernel, which runs until this is dropped, and an awaited copy behind the kernel.
struct InFlight {
    _copy: Operation<PinnedVec<u32>>,
    gate: DeviceBuffer<u32>,
    other: Stream,
    world: World,
}

impl InFlight {
    fn new() -> Result<Self> {
        let world = world();
        let (gate, other) = (world.device.buffer::<u32>(1 << 16)?, world.device.stream()?);
        world.stream.fill(&gate, 0)?;
        // SAFETY: the kernel reads its first element.
        let wait = unsafe { world.device.compile(SOURCE)?.kernel("wait_for")?.bind::<(Slice<u32>,)>()? };
        wait.launch(&world.stream, &Launch::new(1, 1), (&gate,))?;
        let mut copy = world.stream.copy_to_host(&gate, world.device.arena()?.zeroed::<u32>(1 << 16)?)?;
        assert!(Pin::new(&mut copy).poll(&mut Context::from_waker(Waker::noop())).is_pending());
        Ok(Self { _copy: copy, gate, other, world })
    }

    /// In a forked child there is nothing to open.
    fn open(&self) {
        let opened = self.other.fill(&self.gate, 1).map(drop);
        assert!(opened.is_ok() || opened.is_err_and(|error| error.kind() == ErrorKind::Forked));
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.open();
    }
}

static STATIC: OnceLock<InFlight> = OnceLock::new();
thread_local!(static OF_THREAD: RefCell<Option<InFlight>> = const { RefCell::new(None) });

extern "C" fn at_exit() {
    let work = STATIC.get().expect("it was set");
    work.open();
    work.world.stream.wait().expect("it is done");
}

/// The actions of a child process. The number is the expected exit code.
#[test]
fn in_a_process_of_its_own() {
    let Ok(how) = std::env::var("GPUORCH_TEST_CHILD") else { return };
    let work = InFlight::new().expect("work");
    match how.as_str() {
        "return" => std::mem::forget(work),
        "exit" => exit(7),
        // SAFETY: it ends the process, as it is.
        "_exit" => unsafe { libc::_exit(7) },
        "exit in a callback" => {
            let executor = work.world.runtime.executor().expect("an executor");
            work.other.then(&executor, |_| exit(7)).expect("it is accepted");
            std::thread::sleep(Duration::from_secs(60));
        }
        "exit on another thread" => {
            std::thread::spawn(|| exit(7));
            work.world.stream.wait().expect("it has no end");
        }
        "thread-local owner" => {
            OF_THREAD.set(Some(work));
            exit(7);
        }
        "thread-local owner of a thread that ends" => {
            std::thread::spawn(|| OF_THREAD.set(Some(work))).join().expect("no panic");
            exit(7);
        }
        "static owner" => {
            STATIC.get_or_init(|| work);
            exit(7);
        }
        "atexit" => {
            STATIC.get_or_init(|| work);
            // SAFETY: the function takes nothing, and exists until the end.
            assert_eq!(unsafe { libc::atexit(at_exit) }, 0);
            exit(7);
        }
        "panic" => {
            // Unwinding drops everything; the test harness says 101.
            let _work = work;
            panic!("with work in flight");
        }
        "fork" | "fork, and exit in the child" => {
            // SAFETY: the child calls what is made for it, and ends.
            match unsafe { libc::fork() } {
                0 => {
                    let refused = work.world.stream.wait().map_err(|error| error.kind()) == Err(ErrorKind::Forked);
                    if how != "fork" {
                        // Exit handlers of the library and others run while the work's owners still exist.
                        STATIC.get_or_init(|| work);
                        exit(if refused { 7 } else { 1 });
                    }
                    drop(work);
                    // SAFETY: as above.
                    unsafe { libc::_exit(if refused { 7 } else { 1 }) };
                }
                child => {
                    let mut status = 0;
                    // SAFETY: the child is this process's.
                    unsafe { libc::waitpid(child, &mut status, 0) };
                    work.open();
                    work.world.stream.wait().expect("the parent is unharmed");
                    drop(work);
                    exit(libc::WEXITSTATUS(status));
                }
            }
        }
        other => panic!("{other} is no way to end"),
    }
}

fn ends(how: &str, code: i32) {
    let rounds = if std::env::var_os("GPUORCH_TEST_FULL").is_some() { 1000 } else { 10 };
    let program = std::env::current_exe().expect("this program");
    for round in 1..=rounds {
        let mut command = Command::new(&program);
        let output = command.args(["--exact", "in_a_process_of_its_own"]).env("GPUORCH_TEST_CHILD", how).output();
        let output = output.expect("it runs");
        let told = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(code), "{how}, round {round}: {}\n{told}", output.status);
    }
}

#[test]
fn exit_with_work_in_flight_keeps_its_code() {
    ends("exit", 7);
    ends("_exit", 7);
    ends("return", 0);
}

#[test]
fn exit_on_other_threads_keeps_its_code() {
    ends("exit in a callback", 7);
    ends("exit on another thread", 7);
}

#[test]
fn owners_that_are_static_or_of_a_thread_do_no_harm() {
    ends("thread-local owner", 7);
    ends("thread-local owner of a thread that ends", 7);
    ends("static owner", 7);
    ends("atexit", 7);
}

#[test]
fn a_panic_unwinds_through_work_in_flight() {
    ends("panic", 101);
}

#[test]
fn a_forked_child_is_refused_and_ends_cleanly() {
    ends("fork", 7);
    ends("fork, and exit in the child", 7);
}
