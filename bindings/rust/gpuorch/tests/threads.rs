//! The number of threads for awaits. In a program of its own, where no other test starts threads.
#![cfg(target_os = "linux")]

mod world;

use gpuorch::queue::HostRing;
use gpuorch::{Done, Result};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Waker};
use world::{eventually, world};

/// The tests run one at a time.
static ALONE: Mutex<()> = Mutex::new(());

fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").expect("the process's threads").count()
}

#[test]
fn a_thousand_awaits_start_one_executors_threads_and_no_others() -> Result<()> {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
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

/// The threads that wait for the rings' changes.
fn of_rings() -> usize {
    let threads = std::fs::read_dir("/proc/self/task").expect("the process's threads");
    let names = threads.filter_map(|thread| std::fs::read_to_string(thread.ok()?.path().join("comm")).ok());
    names.filter(|name| name.trim() == "gpuorch-ring").count()
}

#[test]
fn a_thousand_awaits_of_rings_start_a_thread_for_each_change_which_ends_with_the_ring() -> Result<()> {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let w = world();
    let resident = w.device.stream_builder().resident().build()?;
    let ring: HostRing<[u32; 4], u32> = w.device.host_ring(&resident).capacity(64).tenants(2).build()?;
    assert_eq!(ring.post(&[[0; 4]; 64], 0)?, 64);
    let mut context = Context::from_waker(Waker::noop());
    for turn in 0..1000 {
        let mut taking = ring.tenant(turn % 2).take_async(1);
        assert!(Pin::new(&mut taking).poll(&mut context).is_pending());
        let mut posting = ring.post_async(&[[0; 4]], 64);
        assert!(Pin::new(&mut posting).poll(&mut context).is_pending());
    }
    // A thread gives itself its name.
    eventually("each change has a thread", || of_rings() == 3);
    drop(ring);
    eventually("the threads end with the ring", || of_rings() == 0);
    Ok(())
}
