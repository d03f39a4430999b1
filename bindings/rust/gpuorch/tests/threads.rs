//! The number of threads for awaits. In a program of its own, where no other test starts threads.
#![cfg(target_os = "linux")]

mod world;

use gpuorch::{Done, Result};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Waker};
use world::world;

fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").expect("the process's threads").count()
}

#[test]
fn a_thousand_awaits_start_one_executors_threads_and_no_others() -> Result<()> {
    let w = world();
    let timeline = w.runtime.timeline(0)?;
    // From now on the library's completion thread exists.
    let queue = w.runtime.completion_queue()?;
    queue.notify(&w.stream, 1)?;
    queue.wait()?;
    assert_eq!(queue.drain(10)?.len(), 1);
    assert_eq!(w.runtime.metrics()?.executors, 0);
    let before = threads();
    w.stream.wait_timeline(&timeline, 1)?;
    let mut futures: Vec<Done> =
        (0..1000).map(|i| if i % 2 == 0 { w.stream.done() } else { timeline.reached(1) }).collect();
    for future in &mut futures {
        assert!(Pin::new(future).poll(&mut Context::from_waker(Waker::noop())).is_pending());
    }
    let metrics = w.runtime.metrics()?;
    assert_eq!((metrics.executors, metrics.executor_threads), (1, 2));
    assert!(threads() <= before + 2, "{} threads more", threads() - before);
    timeline.signal(1)?;
    for future in futures {
        pollster::block_on(future)?;
    }
    for _ in 0..1000 {
        pollster::block_on(w.stream.done())?;
    }
    assert!(threads() <= before + 2, "{} threads more", threads() - before);
    Ok(())
}
