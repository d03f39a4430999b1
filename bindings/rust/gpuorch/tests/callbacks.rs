//! Closures that the library calls: exactly once, in order, with their panics caught.

mod world;

use gpuorch::{ErrorKind, Result};
use std::sync::mpsc;
use std::time::{Duration, Instant};
use world::world;

#[test]
fn closures_of_a_stream_run_in_order() -> Result<()> {
    let w = world();
    let executor = w.runtime.executor_builder().label("callbacks").threads(2).capacity(1000).sleep().build()?;
    let (sender, receiver) = mpsc::channel();
    for number in 0..100 {
        let sender = sender.clone();
        w.stream.then(&executor, move |result| sender.send((number, result.is_ok())).expect("somebody listens"))?;
    }
    drop(sender);
    assert!(receiver.iter().eq((0..100).map(|number| (number, true))));
    let statistics = executor.statistics()?;
    assert_eq!((statistics.accepted, executor.panics()), (100, 0));
    Ok(())
}

#[test]
fn a_panic_ends_in_the_executor_and_is_counted() -> Result<()> {
    let w = world();
    let executor = w.runtime.executor()?;
    struct PanicsToo;
    impl Drop for PanicsToo {
        fn drop(&mut self) {
            panic!("and another");
        }
    }
    w.stream.then(&executor, |_| panic!("a closure that panics"))?;
    w.stream.then(&executor, |_| std::panic::panic_any(PanicsToo))?;
    let event = w.device.event()?;
    event.record(&w.stream)?;
    event.then(&executor, |_| panic!("another {}", 1))?;
    let (sender, receiver) = mpsc::channel();
    w.stream.then(&executor, move |result| sender.send(result.is_ok()).expect("somebody listens"))?;
    assert_eq!(receiver.recv(), Ok(true));
    while executor.panics() < 3 {
        std::thread::yield_now();
    }
    Ok(())
}

#[test]
fn a_caller_runs_its_own() -> Result<()> {
    let w = world();
    let executor = w.runtime.executor_builder().run_by_caller().build()?;
    let here = std::thread::current().id();
    let (sender, receiver) = mpsc::channel();
    let timeline = w.runtime.timeline(0)?;
    let told = sender.clone();
    timeline.then(1, &executor, move |_| told.send(std::thread::current().id()).expect("somebody listens"))?;
    assert_eq!(executor.poll()?, 0);
    assert_eq!(executor.run_for(Duration::from_millis(1)).unwrap_err().kind(), ErrorKind::Timeout);
    timeline.signal(1)?;
    assert_eq!(executor.run()?, 1);
    assert_eq!(receiver.recv(), Ok(here));
    assert_eq!(executor.run_for(Duration::ZERO)?, 0);
    // A closure that is pending when the executor is dropped gets Cancelled.
    timeline.then(2, &executor, move |result| {
        assert_eq!(result.unwrap_err().kind(), ErrorKind::Cancelled);
        sender.send(std::thread::current().id()).expect("somebody listens");
    })?;
    drop(executor);
    assert!(receiver.recv().is_ok());
    Ok(())
}

#[test]
fn a_full_executor_refuses_and_gives_the_closure_up() -> Result<()> {
    let w = world();
    let executor = w.runtime.executor_builder().run_by_caller().capacity(1).build()?;
    let held = std::sync::Arc::new(());
    let (first, second) = (held.clone(), held.clone());
    w.stream.then(&executor, move |_| drop(first))?;
    let refused = w.stream.then(&executor, move |_| drop(second)).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::WouldBlock);
    assert_eq!(std::sync::Arc::strong_count(&held), 2);
    executor.run()?;
    assert_eq!(std::sync::Arc::strong_count(&held), 1);
    Ok(())
}

#[test]
fn posted_closures_run_in_order_and_where_the_executor_is_run() -> Result<()> {
    let w = world();
    let executor = w.runtime.executor_builder().run_by_caller().capacity(5).build()?;
    let here = std::thread::current().id();
    let (sender, receiver) = mpsc::channel();
    for number in 0..4 {
        let sender = sender.clone();
        executor.post(move |done| sender.send((number, told(done), std::thread::current().id())).expect("heard"))?;
    }
    // A closure that posts another.
    let own = executor.clone();
    executor.post(move |_| {
        let posted = own.post(move |done| sender.send((4, told(done), std::thread::current().id())).expect("heard"));
        posted.expect("there is room");
    })?;
    // There is no room, and the closure is dropped.
    let (held, refused) = (std::sync::Arc::new(()), std::sync::Arc::new(()));
    let (first, second) = (held.clone(), refused.clone());
    assert_eq!(executor.post(move |_| drop(first)).unwrap_err().kind(), ErrorKind::WouldBlock);
    assert_eq!(executor.post_at(None, move |_| drop(second)).unwrap_err().kind(), ErrorKind::WouldBlock);
    assert_eq!((std::sync::Arc::strong_count(&held), std::sync::Arc::strong_count(&refused)), (1, 1));
    assert!(receiver.try_recv().is_err());
    assert_eq!(executor.run()?, 6);
    assert!(receiver.iter().eq((0..5).map(|number| (number, Ok(gpuorch::sys::GPO_ORIGIN_EXECUTOR), here))));
    assert_eq!(executor.statistics()?.accepted, 6);
    Ok(())
}

/// The origin of a completion, or how the closure ended.
fn told(done: Result<gpuorch::Completion>) -> std::result::Result<u32, ErrorKind> {
    done.map(|completion| completion.origin).map_err(|error| error.kind())
}

#[test]
fn closures_are_called_in_the_order_of_their_times_and_never_early() -> Result<()> {
    let w = world();
    let executor = w.runtime.executor_builder().run_by_caller().build()?;
    let (sender, receiver) = mpsc::channel();
    let start = Instant::now();
    for wait_ms in [30, 10, 20, 0] {
        let (sender, time) = (sender.clone(), start + Duration::from_millis(wait_ms));
        executor.post_at(time, move |done| {
            sender.send((wait_ms, told(done), Instant::now() >= time)).expect("somebody listens");
        })?;
    }
    drop(sender);
    assert_eq!(executor.run()?, 4);
    let origin = gpuorch::sys::GPO_ORIGIN_EXECUTOR;
    assert!(receiver.iter().eq([0, 10, 20, 30].map(|wait_ms| (wait_ms, Ok(origin), true))));
    Ok(())
}

#[test]
fn a_closure_that_waits_for_its_time_can_be_cancelled_once() -> Result<()> {
    let w = world();
    let executor = w.runtime.executor_builder().run_by_caller().build()?;
    let (sender, receiver) = mpsc::channel();
    let late = sender.clone();
    let ticket = executor.post_at(Instant::now() + Duration::from_secs(3600), move |done| {
        sender.send(done.map(drop)).expect("somebody listens");
    })?;
    assert_ne!(ticket, 0);
    assert_eq!(executor.poll()?, 0);
    assert_eq!(executor.run_for(Duration::from_millis(1)).unwrap_err().kind(), ErrorKind::Timeout);
    executor.cancel(ticket)?;
    assert_eq!(executor.cancel(ticket).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(executor.run()?, 1);
    let error = receiver.recv().expect("it was called").unwrap_err();
    assert_eq!((error.kind(), error.function()), (ErrorKind::Cancelled, "gpo_executor_post_at"));
    // A time that has come can't be cancelled any more.
    let ticket = executor.post_at(Instant::now(), move |done| late.send(done.map(drop)).expect("heard"))?;
    assert_eq!(executor.run()?, 1);
    assert_eq!(executor.cancel(ticket).unwrap_err().kind(), ErrorKind::NotFound);
    assert!(receiver.recv().expect("it was called").is_ok());
    assert_eq!(executor.statistics()?.cancelled, 1);
    Ok(())
}

#[test]
fn a_time_that_never_comes_keeps_a_run_inside_until_it_is_cancelled() -> Result<()> {
    let w = world();
    let executor = w.runtime.executor_builder().run_by_caller().build()?;
    let ticket = executor.post_at(None, |_| {})?;
    let (sender, receiver) = mpsc::channel();
    let own = executor.clone();
    let runs = std::thread::spawn(move || sender.send(own.run()).expect("somebody listens"));
    assert!(receiver.recv_timeout(Duration::from_millis(50)).is_err(), "the run has ended");
    executor.cancel(ticket)?;
    assert_eq!(receiver.recv().expect("the run ends")?, 1);
    runs.join().expect("no panic");
    Ok(())
}

#[test]
fn neither_a_shutdown_nor_a_drop_waits_for_times() -> Result<()> {
    let w = world();
    let (executor, dropped) = (w.runtime.executor()?, w.runtime.executor()?);
    let (sender, receiver) = mpsc::channel();
    let hour = Instant::now() + Duration::from_secs(3600);
    for (name, executor, time) in [("shut down", &executor, None), ("dropped", &dropped, Some(hour))] {
        let sender = sender.clone();
        executor.post_at(time, move |done| sender.send((name, told(done))).expect("somebody listens"))?;
    }
    drop(dropped);
    assert_eq!(receiver.recv(), Ok(("dropped", Err(ErrorKind::Cancelled))));
    w.runtime.shutdown(Duration::from_secs(10))?;
    assert_eq!(receiver.recv(), Ok(("shut down", Err(ErrorKind::Cancelled))));
    assert!(executor.post(|_| {}).is_err() && executor.post_at(None, |_| {}).is_err() && executor.cancel(1).is_err());
    Ok(())
}

#[test]
fn a_host_node_of_a_graph_may_post() -> Result<()> {
    let w = world();
    let (executor, template) = (w.runtime.executor()?, w.device.template()?);
    let (sender, receiver) = mpsc::channel();
    let own = executor.clone();
    template.add_host_call(&[], move || {
        let sender = sender.clone();
        let posted = own.post(move |done| sender.send(told(done)).expect("somebody listens"));
        let cancelled = own.post_at(None, |_| {}).and_then(|ticket| own.cancel(ticket));
        posted.and(cancelled).expect("both are accepted");
    })?;
    template.graph()?.launch(&w.stream)?;
    w.stream.wait()?;
    assert_eq!(receiver.recv(), Ok(Ok(gpuorch::sys::GPO_ORIGIN_EXECUTOR)));
    // The runtime keeps the closure, which has an executor of the runtime.
    w.runtime.shutdown(Duration::from_secs(10))
}

#[test]
fn host_code_runs_in_stream_order() -> Result<()> {
    let w = world();
    let executor = w.runtime.executor()?;
    let (sender, receiver) = mpsc::channel();
    let first = sender.clone();
    w.stream.host_call(&executor, move || first.send(1).map_err(|_| "nobody listens"))?;
    w.stream.host_call_under_way(&executor, move |call| {
        std::thread::spawn(move || {
            sender.send(2).expect("somebody listens");
            call.finish(Ok::<(), &str>(())).expect("it is under way");
        });
    })?;
    w.stream.wait()?;
    assert!(receiver.iter().eq([1, 2]));
    Ok(())
}

#[test]
fn a_host_call_that_fails_panics_or_is_given_up_fails_the_stream() -> Result<()> {
    let w = world();
    let executor = w.runtime.executor()?;
    let fails = w.device.stream()?;
    fails.host_call(&executor, || Err("the disk is full"))?;
    // Dropped uncalled behind the failure, before or after it is known.
    let _ = fails.host_call(&executor, || -> Result<(), &str> { panic!("it must not run") });
    let error = fails.wait().unwrap_err();
    assert_eq!(
        (error.kind(), error.message().contains("the disk is full")),
        (ErrorKind::CallbackFailed, true),
        "{error}"
    );

    let panics = w.device.stream()?;
    panics.host_call(&executor, || -> Result<(), &str> { panic!("no such frame") })?;
    let error = panics.wait().unwrap_err();
    assert_eq!((error.kind(), error.message().contains("no such frame")), (ErrorKind::CallbackFailed, true), "{error}");

    let dropped = w.device.stream()?;
    dropped.host_call_under_way(&executor, drop)?;
    assert_eq!(dropped.wait().unwrap_err().kind(), ErrorKind::Cancelled);

    let late = w.device.stream()?;
    let (sender, receiver) = mpsc::channel();
    late.host_call_under_way(&executor, move |call| sender.send(call).expect("somebody listens"))?;
    let call = receiver.recv().expect("the call");
    late.cancel_held()?;
    w.runtime.shutdown(Duration::from_secs(10))?;
    assert!(call.finish(Ok::<(), &str>(())).is_err());
    Ok(())
}

#[test]
fn what_would_wait_for_itself_says_so() -> Result<()> {
    let w = world();
    let executor = w.runtime.executor()?;
    let (sender, receiver) = mpsc::channel();
    let (stream, runtime, own) = (w.stream.clone(), w.runtime.clone(), executor.clone());
    w.stream.host_call(&executor, move || {
        let waited = stream.wait().map_err(|error| error.kind());
        let ran = own.run().map_err(|error| error.kind());
        let shut_down = runtime.shutdown(Duration::from_secs(1)).map_err(|error| error.kind());
        sender.send((waited, ran, shut_down)).map_err(|_| "nobody listens")
    })?;
    let kind = ErrorKind::WouldDeadlock;
    assert_eq!(receiver.recv(), Ok((Err(kind), Err(kind), Err(kind))));
    Ok(())
}

#[test]
fn a_closure_that_blocks_holds_up_nobody_else_and_a_shutdown_until_its_timeout() -> Result<()> {
    let w = world();
    let executor = w.runtime.executor_builder().threads(2).build()?;
    let (open, gate) = mpsc::channel::<()>();
    let (sender, receiver) = mpsc::channel();
    w.stream.then(&executor, move |_| gate.recv().expect("it is opened"))?;
    let other = w.device.stream()?;
    other.then(&executor, move |result| sender.send(result.is_ok()).expect("somebody listens"))?;
    assert_eq!(receiver.recv(), Ok(true));
    pollster::block_on(other.done())?;
    let late = w.runtime.shutdown(Duration::from_millis(20)).unwrap_err();
    assert_eq!(late.kind(), ErrorKind::Timeout);
    assert_eq!(w.device.stream().unwrap_err().kind(), ErrorKind::ShutDown);
    open.send(()).expect("it waits");
    w.runtime.shutdown(Duration::from_secs(10))
}

#[test]
fn a_closure_may_drop_its_own_stream_timeline_queue_and_executor() -> Result<()> {
    let w = world();
    let (sender, receiver) = mpsc::channel();
    let (stream, executor, timeline) = (w.device.stream()?, w.runtime.executor()?, w.runtime.timeline(0)?);
    let x = w.device.buffer::<u8>(1 << 20)?;
    stream.fill(&x, 1)?;
    stream.signal_timeline(&timeline, 1)?;
    // The first entry is there, or about to be; the second will never come.
    let queue = w.runtime.completion_queue()?;
    queue.notify(&stream, 1)?;
    queue.notify_timeline(&timeline, 2, 2)?;
    let all = (stream.clone(), executor.clone(), timeline.clone(), queue, x);
    let told = sender.clone();
    timeline.then(1, &executor, move |result| {
        drop(all);
        told.send(result.map(drop)).expect("somebody listens");
    })?;
    stream.then(&executor, move |result| sender.send(result.map(drop)).expect("somebody listens"))?;
    drop((stream, executor, timeline));
    // The executor may have been dropped before the stream was seen done: then the stream's closure gets Cancelled.
    let mut told = 0;
    for result in receiver {
        told += 1;
        assert!(result.is_ok() || result.is_err_and(|error| error.kind() == ErrorKind::Cancelled));
    }
    assert_eq!(told, 2);
    w.runtime.shutdown(Duration::from_secs(10))
}

#[test]
fn the_last_handle_may_go_in_a_callback() -> Result<()> {
    let (sender, receiver) = mpsc::channel();
    {
        let w = world();
        let executor = w.runtime.executor()?;
        let all = (w.runtime.clone(), w.device.clone(), w.stream.clone(), executor.clone());
        w.stream.then(&executor, move |_| {
            std::thread::sleep(Duration::from_millis(20));
            drop(all);
            sender.send(()).expect("somebody listens");
        })?;
    }
    assert_eq!(receiver.recv(), Ok(()));
    Ok(())
}

#[test]
fn a_failure_whose_text_panics_doesnt_leave_the_stream_waiting() -> Result<()> {
    struct Unspeakable;
    impl std::fmt::Display for Unspeakable {
        fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            panic!("no words for it")
        }
    }
    let w = world();
    let executor = w.runtime.executor()?;
    w.stream.host_call_under_way(&executor, |call| drop(call.finish(Err(Unspeakable))))?;
    let error = w.stream.wait_for(Duration::from_secs(10)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::CallbackFailed);
    // The stream fails while the panic unwinds; the panic is counted afterwards.
    while executor.panics() < 1 {
        std::thread::yield_now();
    }
    Ok(())
}
