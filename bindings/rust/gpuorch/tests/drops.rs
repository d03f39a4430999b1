//! Values dropped in any order, on any thread, while the GPU uses them; nothing is left behind.

mod world;

use gpuorch::pipeline::{Sink, Source, Stage};
use gpuorch::{Completions, DeviceBuffer, ErrorKind, HostBuffer, Launch, LogLevel, Result, Runtime};
use std::any::Any;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};
use std::time::{Duration, Instant};
use world::{SOURCE, World, world};

/// Pseudo-random numbers from a seed, to make failures reproducible.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}

#[test]
fn any_order_will_do() -> Result<()> {
    for seed in 0..40 {
        let mut numbers = Numbers(seed);
        let w = world();
        let other = w.device.stream()?;
        let (arena, pool) = (w.device.arena()?, w.device.pool()?);
        let timeline = w.runtime.timeline(0)?;
        let executor = w.runtime.executor()?;
        let queue = w.runtime.completion_queue()?;
        let x = pool.buffer::<u32>(&w.stream, 1000)?;
        let y = w.device.buffer::<u32>(1000)?;
        if seed % 2 == 0 {
            w.stream.wait_timeline(&timeline, 1)?;
        }
        w.stream.fill(&x, 1)?;
        let event = w.device.event()?;
        event.record(&w.stream)?;
        other.wait_event(&event)?;
        other.copy_on_device(&x, &y)?;
        let operation = other.copy_to_host(&y, arena.zeroed::<u32>(1000)?)?;
        queue.notify(&other, 1)?;
        let (done, reached) = (other.done(), timeline.reached(1));
        other.then(&executor, |_| {})?;
        let completions = Completions::new();
        completions.watch_stream(&other, 1)?;
        // SAFETY: the kernel has no elements to fill.
        let fill =
            unsafe { w.device.builtin_module()?.kernel("gpo_fill_u32")?.bind::<(DeviceBuffer<u32>, u32, u64)>()? };
        let stage = Stage::kernel(&fill, (w.device.buffer::<u32>(10)?, 1, 0));
        let pipeline = w.device.pipeline().stage(stage).chunk_bytes(4096).build()?;
        completions.watch_stream(&w.stream, 2)?;
        let run = pipeline.start(Source::memory(vec![1u8; 50_000]), Sink::memory(arena.zeroed::<u8>(50_000)?))?;
        let stream = w.stream.clone();
        let mut all: Vec<Box<dyn Any + Send>> = vec![
            Box::new(completions),
            Box::new(fill),
            Box::new(pipeline),
            Box::new(run),
            Box::new(x),
            Box::new(y),
            Box::new(event),
            Box::new(operation),
            Box::new(done),
            Box::new(reached),
            Box::new(other),
            Box::new(arena),
            Box::new(pool),
            Box::new(executor),
            Box::new(queue),
            Box::new(stream),
            Box::new((w.device, w.stream)),
            Box::new(w.runtime),
        ];
        let mut signal = Some(timeline);
        while !all.is_empty() {
            let one = all.swap_remove(numbers.below(all.len()));
            match numbers.below(4) {
                0 => drop(std::thread::spawn(move || drop(one)).join()),
                _ => drop(one),
            }
            if all.len() == 5 {
                let timeline = signal.take().expect("once");
                timeline.signal(1)?;
            }
        }
    }
    Ok(())
}

#[test]
fn a_buffer_that_is_dropped_while_its_streams_are_held_is_freed_behind_them() -> Result<()> {
    let w = world();
    let (timeline, other) = (w.runtime.timeline(0)?, w.device.stream()?);
    let x = w.device.buffer::<u32>(1 << 16)?;
    w.stream.fill(&x, 8)?.wait()?;
    w.stream.wait_timeline(&timeline, 1)?;
    let operation = w.stream.copy_to_host(&x, vec![0; 1 << 16])?;
    // The drop doesn't wait for the stream, which goes on only below.
    drop(x);
    let later: Vec<_> = (0..8).map(|_| w.device.buffer::<u32>(1 << 16)).collect::<Result<_>>()?;
    for y in &later {
        other.fill(y, 9)?.wait()?;
    }
    timeline.signal(1)?;
    assert!(operation.wait()?.iter().all(|&x| x == 8));
    Ok(())
}

#[test]
fn a_pools_buffer_outlives_its_use_on_another_stream() -> Result<()> {
    let w = world();
    let pool = w.device.pool()?;
    let other = w.device.stream()?;
    let timeline = w.runtime.timeline(0)?;
    let x = pool.buffer::<u32>(&w.stream, 1 << 16)?;
    w.stream.fill(&x, 8)?.wait()?;
    other.wait_timeline(&timeline, 1)?;
    let operation = other.copy_to_host(&x, vec![0; 1 << 16])?;
    drop(x);
    // The pool doesn't reuse the memory while the other stream is held.
    let y = pool.buffer::<u32>(&w.stream, 1 << 16)?;
    w.stream.fill(&y, 9)?.wait()?;
    assert_eq!(pool.statistics()?.in_use, 2 << 18);
    timeline.signal(1)?;
    assert!(operation.wait()?.iter().all(|&x| x == 8));
    drop(y);
    in_use_no_more(&pool)
}

#[test]
fn a_pools_buffer_goes_although_its_stream_has_failed() -> Result<()> {
    let w = world();
    let pool = w.device.pool()?;
    let timeline = w.runtime.timeline(0)?;
    let (x, y) = (pool.buffer::<u32>(&w.stream, 1000)?, pool.buffer::<u32>(&w.stream, 1000)?);
    w.stream.wait_timeline(&timeline, 1)?;
    w.stream.fill(&x, 1)?;
    drop(x);
    timeline.fail(ErrorKind::Failed, "no frame")?;
    assert!(w.stream.wait().is_err());
    drop(y);
    in_use_no_more(&pool)
}

fn in_use_no_more(pool: &gpuorch::Pool) -> Result<()> {
    let start = Instant::now();
    while pool.statistics()?.in_use != 0 {
        assert!(start.elapsed() < Duration::from_secs(20), "{:?}", pool.statistics()?);
        std::thread::yield_now();
    }
    Ok(())
}

/// A buffer whose drop can be observed.
struct Watched {
    bytes: Vec<u8>,
    _alive: Arc<()>,
}

// SAFETY: the elements are the vector's, which only the buffer can access.
unsafe impl HostBuffer for Watched {
    type Element = u8;

    fn as_slice(&self) -> &[u8] {
        &self.bytes
    }

    fn as_mut_slice(&mut self) -> &mut [u8] {
        &mut self.bytes
    }
}

#[test]
fn what_a_shutdown_has_outlasted_goes_with_it() -> Result<()> {
    let w = world();
    let (x, held) = (w.device.buffer::<u8>(4096)?, Arc::new(()));
    // SAFETY: the kernel reads the flag's address until the flag isn't 0.
    let wait = unsafe { w.device.compile(SOURCE)?.kernel("wait_for")?.bind::<(u64, u64)>()? };
    let flag: Vec<AtomicU32> = (0..1024).map(|_| AtomicU32::new(0)).collect();
    let mut host = Watched { bytes: vec![0; 4096], _alive: Arc::clone(&held) };
    // SAFETY: both outlive the runtime's work, and the host doesn't write them meanwhile, except for the atomic flag.
    // (A pageable copy would wait for the kernel.)
    unsafe {
        w.device.register_memory(flag.as_ptr().cast_mut().cast(), 4096, false)?;
        w.device.register_memory(host.bytes.as_mut_ptr().cast(), 4096, false)?;
    }
    wait.launch(&w.stream, &Launch::new(1, 1), (flag.as_ptr() as u64, 1))?;
    let copy = w.stream.copy_to_host(&x, host)?;
    assert_eq!(w.runtime.shutdown(Duration::from_millis(20)).unwrap_err().kind(), ErrorKind::Timeout);
    // No callback can be requested any more.
    drop(copy);
    assert_eq!(Arc::strong_count(&held), 2);
    flag[0].store(1, Ordering::SeqCst);
    w.runtime.shutdown(Duration::from_secs(20))?;
    assert_eq!(Arc::strong_count(&held), 1);
    Ok(())
}

#[test]
fn rounds_leave_nothing_behind() -> Result<()> {
    let w = world();
    let objects = |w: &world::World| w.runtime.statistics().map(|statistics| statistics.live_objects);
    // The first await makes the executor that wakes futures.
    pollster::block_on(w.stream.done())?;
    let before = objects(&w)?;
    for _ in 0..50 {
        let (stream, arena) = (w.device.stream()?, w.device.arena()?);
        let x = w.device.buffer::<u8>(100)?;
        let operation = stream.copy_to_device(arena.zeroed::<u8>(100)?, &x)?;
        drop((stream, arena, x));
        drop(operation);
    }
    let start = Instant::now();
    while objects(&w)? != before {
        assert!(start.elapsed() < Duration::from_secs(20), "{} are left", objects(&w)? - before);
        std::thread::yield_now();
    }
    Ok(())
}

/// Uses a runtime and ends it. Returns the lines of the log about objects that were not destroyed.
fn left(use_it: impl FnOnce(&World) -> Result<Box<dyn Any>>, shut_down: bool) -> Result<Vec<String>> {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&lines);
    let log = move |_: LogLevel, line: &str| log.lock().expect("no panic").push(line.to_owned());
    let runtime = Runtime::builder().log(LogLevel::Warning, log).build()?;
    let device = runtime.open_device()?;
    let w = World { stream: device.stream()?, device, runtime: runtime.clone() };
    let kept = use_it(&w)?;
    drop(w);
    if shut_down {
        runtime.shutdown(Duration::from_secs(20))?;
    }
    drop(kept);
    drop(runtime);
    // The log goes when the shutdown has ended, which may be on another thread.
    let start = Instant::now();
    while Arc::strong_count(&lines) > 1 {
        assert!(start.elapsed() < Duration::from_secs(20), "the runtime isn't shut down");
        std::thread::yield_now();
    }
    let mut lines = std::mem::take(&mut *lines.lock().expect("no panic"));
    lines.retain(|line| line.contains("not destroyed"));
    Ok(lines)
}

/// The crate makes this executor, and ends it.
#[test]
fn no_shutdown_warns_of_the_executor_that_wakes_futures() -> Result<()> {
    let awaited = |w: &World| -> Result<Box<dyn Any>> {
        pollster::block_on(w.stream.done())?;
        Ok(Box::new(()))
    };
    // Callbacks are pending at the shutdown.
    let polled = |w: &World| -> Result<Box<dyn Any>> {
        let timeline = w.runtime.timeline(0)?;
        w.stream.wait_timeline(&timeline, 1)?;
        let mut done = w.stream.done();
        assert!(Pin::new(&mut done).poll(&mut Context::from_waker(Waker::noop())).is_pending());
        drop(w.stream.copy_to_host(&w.device.buffer::<u8>(100)?, vec![0; 100])?);
        let completions = Completions::new();
        completions.watch_stream(&w.stream, 1)?;
        Ok(Box::new(completions))
    };
    for shut_down in [false, true] {
        assert_eq!(left(awaited, shut_down)?, [""; 0]);
        assert_eq!(left(polled, shut_down)?, [""; 0]);
    }
    // A callback drops the last handles of the runtime.
    let pinned = |w: &World| -> Result<Box<dyn Any>> {
        let timeline = w.runtime.timeline(0)?;
        w.stream.wait_timeline(&timeline, 1)?;
        drop(w.stream.copy_to_host(&w.device.buffer::<u8>(100)?, w.device.arena()?.zeroed::<u8>(100)?)?);
        Ok(Box::new(()))
    };
    assert_eq!(left(pinned, false)?, [""; 0]);
    // An executor of the program is reported.
    let lines = left(|w| Ok(Box::new(w.runtime.executor_builder().label("own").build()?)), true)?;
    assert!(lines.len() == 1 && lines[0].contains("own"), "{lines:?}");
    Ok(())
}

/// A shutdown that is refused has no effect on futures.
#[test]
fn futures_are_woken_after_a_shutdown_that_was_refused() -> Result<()> {
    let w = world();
    let timeline = w.runtime.timeline(0)?;
    let mut before = timeline.reached(1);
    assert!(Pin::new(&mut before).poll(&mut Context::from_waker(Waker::noop())).is_pending());
    let pinned = w.device.arena()?.zeroed::<u8>(1)?;
    assert_eq!(w.runtime.shutdown(Duration::ZERO).unwrap_err().kind(), ErrorKind::InvalidState);
    drop(pinned);
    let executor = w.runtime.executor()?;
    let (sender, receiver) = std::sync::mpsc::channel();
    let runtime = w.runtime.clone();
    w.stream.then(&executor, move |_| {
        let refused = runtime.shutdown(Duration::ZERO).map_err(|error| error.kind());
        sender.send(refused).expect("it is received");
    })?;
    assert_eq!(receiver.recv().expect("it is called"), Err(ErrorKind::WouldDeadlock));
    timeline.signal(1)?;
    pollster::block_on(before)?;
    pollster::block_on(timeline.reached(1))?;
    Ok(())
}
