//! Measures the cost of the bindings over the same C calls: a query, a launch with three arguments, an await under
//! tokio.
//!
//!     cargo run --release -p gpuorch-overhead
//!
//! Both arms run in turn, 31 rounds each, in one process; a row has the medians, in nanoseconds a call, and the
//! allocations of the binding's arm. The C arm calls the library's table; for the await it is a oneshot channel that
//! the same callback sends to. Launches go to a held stream, and run between the blocks.

use gpuorch::sys;
use gpuorch::{DeviceBuffer, Launch, Result, Runtime, Stream};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ffi::c_void;
use tokio::sync::oneshot;

const ROUNDS: usize = 31;

/// The system's allocator; counts this thread's allocations.
struct Counting;

thread_local!(static ALLOCATIONS: Cell<usize> = const { Cell::new(0) });

// SAFETY: the system's allocator does the work.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        // SAFETY: as the caller has it.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as the caller has it.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// A clock in nanoseconds: this thread's processor time for calls that don't block, since a busy machine disturbs it
/// less; wall time for others.
#[derive(Clone, Copy)]
enum Clock {
    Thread,
    Wall,
}

impl Clock {
    fn now(self) -> f64 {
        let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        let clock = match self {
            Self::Thread => libc::CLOCK_THREAD_CPUTIME_ID,
            Self::Wall => libc::CLOCK_MONOTONIC,
        };
        // SAFETY: `now` is ours, to be written.
        unsafe { libc::clock_gettime(clock, &mut now) };
        now.tv_sec as f64 * 1e9 + now.tv_nsec as f64
    }

    /// Nanoseconds a call.
    fn time(self, calls: usize, mut run: impl FnMut()) -> f64 {
        let start = self.now();
        for _ in 0..calls {
            run();
        }
        (self.now() - start) / calls as f64
    }
}

/// Runs both arms in turn, with `between` after each, and prints the row.
fn compare(
    name: &str,
    clock: Clock,
    calls: usize,
    mut ours: impl FnMut(),
    mut theirs: impl FnMut(),
    between: impl Fn(),
) {
    let (mut of_ours, mut of_theirs, mut allocated) = (Vec::new(), Vec::new(), 0);
    for round in 0..=ROUNDS {
        let mut our_turn = || {
            let before = ALLOCATIONS.get();
            let time = clock.time(calls, &mut ours);
            allocated = ALLOCATIONS.get() - before;
            between();
            time
        };
        let mut their_turn = || {
            let time = clock.time(calls, &mut theirs);
            between();
            time
        };
        // Each arm comes first in every second round, since the order may matter.
        let (our_time, their_time) = if round % 2 == 0 {
            let ours = our_turn();
            (ours, their_turn())
        } else {
            let theirs = their_turn();
            (our_turn(), theirs)
        };
        // The first round is the warm-up.
        if round != 0 {
            of_ours.push(our_time);
            of_theirs.push(their_time);
        }
    }
    let differences = of_ours.iter().zip(&of_theirs).map(|(ours, theirs)| ours - theirs).collect();
    let (rust, c, over) = (median(of_ours), median(of_theirs), median(differences));
    println!("{name:<26} {rust:>9.1} {c:>9.1} {over:>9.1} {:>11.2}", allocated as f64 / calls as f64);
}

/// `user` is a boxed `oneshot::Sender<()>` of this call's.
unsafe extern "C" fn send(user: *mut c_void, _: *const sys::gpo_completion, _: *const sys::gpo_error) {
    // SAFETY: see above; called once.
    let sender = unsafe { Box::from_raw(user.cast::<oneshot::Sender<()>>()) };
    let _ = sender.send(());
}

fn awaits(api: &sys::gpo_api, runtime: &Runtime, stream: &Stream) -> Result<()> {
    let tokio = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let executor = runtime.executor()?;
    let then = api.stream_then.expect("a member");
    let ours = || tokio.block_on(async { stream.done().await.map(drop) }).expect("it is done");
    let theirs = || {
        tokio.block_on(async {
            let (sender, receiver) = oneshot::channel::<()>();
            let user = Box::into_raw(Box::new(sender)).cast();
            // SAFETY: the callback has the sender, once.
            assert_eq!(unsafe { then(stream.as_raw(), executor.as_raw(), Some(send), user) }, sys::GPO_SUCCESS);
            receiver.await.expect("it is done");
        });
    };
    compare("await under tokio", Clock::Wall, 200, ours, theirs, || {});
    Ok(())
}

fn main() -> Result<()> {
    let runtime = Runtime::new()?;
    let device = runtime.open_device()?;
    let stream = device.stream()?;
    let api = sys::api().expect("the library");
    println!("{}: {ROUNDS} rounds", device.properties()?.name());
    println!("{:<26} {:>9} {:>9} {:>9} {:>11}", "ns a call", "Rust", "C", "over", "allocations");

    let query = api.stream_query.expect("a member");
    let ours = || assert!(stream.is_done().expect("it is done"));
    // SAFETY: the stream is alive.
    let theirs = || assert_eq!(unsafe { query(stream.as_raw()) }, sys::GPO_SUCCESS);
    compare("query", Clock::Thread, 20_000, ours, theirs, || {});

    let kernel = device.builtin_module()?.kernel("gpo_fill_u32")?;
    // SAFETY: module.h has its parameters: where, with what and how much; nothing is filled here.
    let bound = unsafe { kernel.bind::<(DeviceBuffer<u32>, u32, u64)>()? };
    let x = device.buffer::<u32>(64)?;
    let shape = Launch::new(1, 1);
    let mut raw = sys::gpo_launch::new();
    (raw.grid, raw.block) = ([1; 3], [1; 3]);
    let launch = api.stream_launch_kernel.expect("a member");
    let ours = || {
        bound.launch(&stream, &shape, (&x, 7, 0)).expect("it is accepted");
    };
    let (address, value, count) = (x.address(), 7u32, 0u64);
    let theirs = || {
        let arguments = [(&raw const address).cast::<c_void>(), (&raw const value).cast(), (&raw const count).cast()];
        let (arguments, sizes) = (arguments.as_ptr(), [8, 4, 8].as_ptr());
        // SAFETY: the handles are alive, and the arguments the kernel's.
        let status = unsafe { launch(stream.as_raw(), kernel.as_raw(), &raw, arguments, sizes, 3) };
        assert_eq!(status, sys::GPO_SUCCESS);
    };
    // The stream is held meanwhile: on the software GPU the kernels would take processors and caches from the timed
    // calls.
    let gate = runtime.timeline(0)?;
    let turns = Cell::new(1);
    let hold = || {
        stream.wait_timeline(&gate, turns.get()).expect("it is accepted");
    };
    let release = || {
        gate.signal(turns.replace(turns.get() + 1)).expect("it rises");
        stream.wait().expect("it is done");
        hold();
    };
    hold();
    compare("launch, 3 arguments", Clock::Thread, 1000, ours, theirs, release);
    gate.signal(turns.get())?;

    awaits(api, &runtime, &stream)
}
