//! Every call that can be refused, is, once the runtime has gone; and what is wrong is named before that.

mod world;

use gpuorch::pipeline::{Input, Output, Sink, Source, Stage};
use gpuorch::{DeviceLimit, ErrorKind, Launch, LogLevel, Object, Result, Runtime, Slice};
use std::time::Duration;
use world::{SOURCE, world};

#[track_caller]
fn refused<T>(result: Result<T>) {
    match result {
        Ok(_) => panic!("it was accepted"),
        Err(error) => assert_eq!(error.kind(), ErrorKind::InvalidHandle, "{error}"),
    }
}

#[test]
fn everything_is_refused_after_a_shutdown() -> Result<()> {
    let w = world();
    let (runtime, device, stream) = (&w.runtime, &w.device, &w.stream);
    let other = device.stream()?;
    let streams = device.stream_pool().build()?;
    let event = device.event_builder().timing().build()?;
    let timeline = runtime.timeline(0)?;
    let queue = runtime.completion_queue()?;
    let executor = runtime.executor()?;
    let arena = device.arena()?;
    let pool = device.pool()?;
    let (x, y) = (device.buffer::<u8>(64)?, device.buffer::<u8>(64)?);
    let module = device.compile(SOURCE)?;
    // SAFETY: see its source.
    let scale = unsafe { module.kernel("scale")?.bind::<(Slice<f32>, f32)>()? };
    let kernel = scale.kernel();
    // SAFETY: it is never run.
    let bound = unsafe { kernel.bind::<(Slice<u8>, f32)>()? };
    let pipeline = device.pipeline().stage(Stage::kernel(&bound, (Input, 1.0f32))).build()?;
    let acquired = streams.acquire(0)?;
    let late = x.slice(..);
    runtime.trace().start()?;
    runtime.shutdown(Duration::from_secs(20))?;

    let soon = Duration::from_millis(1);
    refused(runtime.shutdown(soon));
    refused(runtime.driver());
    refused(runtime.statistics());
    refused(runtime.device_count());
    refused(runtime.describe_device(0));
    refused(runtime.describe_peers(0, 0));
    refused(runtime.open_device());
    refused(runtime.timeline(0));
    refused(runtime.completion_queue());
    refused(runtime.executor());
    refused(runtime.set_log_executor(None));
    refused(runtime.metrics());
    refused(runtime.metrics_text());
    refused(runtime.trace().start());
    refused(runtime.stop_trace());
    refused(runtime.trace_info());
    refused(runtime.trace_summary());
    refused(runtime.set_label("gone"));
    refused(runtime.label());
    refused(runtime.last_error());

    refused(device.properties());
    refused(device.wait());
    refused(device.wait_for(soon));
    refused(device.native());
    refused(device.memory());
    refused(device.enable_peer(device));
    refused(device.disable_peer(device));
    refused(device.limit(DeviceLimit::Stack));
    refused(device.set_limit(DeviceLimit::Stack, 1024));
    refused(device.metrics());
    refused(device.stream());
    // SAFETY: the default stream of its context.
    refused(unsafe { device.stream_builder().wrap(std::ptr::null_mut()) });
    refused(device.stream_priorities());
    refused(device.stream_pool().build());
    refused(device.event());
    refused(device.arena());
    refused(device.pool());
    refused(device.buffer::<u8>(1));
    refused(device.describe_memory(x.address()));
    let mut page = vec![0u8; 4096];
    // SAFETY: the page lives on, and is used by no copy.
    refused(unsafe { device.register_memory(page.as_mut_ptr().cast(), 4096, false) });
    // SAFETY: likewise.
    refused(unsafe { device.unregister_memory(page.as_mut_ptr().cast()) });
    refused(device.compile(SOURCE));
    refused(device.builtin_module());
    // SAFETY: it is no image.
    refused(unsafe { device.load_module(b"nothing", None) });
    refused(device.pipeline().stage(Stage::kernel(&bound, (Output, 1.0f32))).build());

    refused(stream.is_done());
    refused(stream.wait());
    refused(stream.wait_for(soon));
    refused(stream.info());
    refused(stream.native());
    refused(stream.cancel_held());
    refused(stream.wait_stream(&other));
    refused(stream.wait_event(&event));
    refused(stream.wait_timeline(&timeline, 1));
    refused(stream.signal_timeline(&timeline, 1));
    refused(stream.copy_on_device(&x, &y));
    refused(stream.copy_peer(device, &x, device, &y));
    refused(stream.copy_batch(&[(late, y.all())]));
    refused(stream.copy_rows(&x, 8, &y, 8, (4, 2)));
    refused(stream.fill(&x, 1));
    refused(stream.fill_rows(&x, 8, 1, (4, 2)));
    refused(stream.copy_to_device(vec![0; 64], &x).map_err(Into::into));
    refused(stream.copy_to_host(&x, vec![0; 64]).map_err(Into::into));
    refused(stream.write(&[0; 64], &x));
    refused(stream.then(&executor, |_| panic!("it was refused")));
    refused(stream.host_call(&executor, || Ok::<(), &str>(())));
    refused(pollster::block_on(stream.done()));
    refused(streams.acquire(0));
    drop(acquired);

    refused(event.record(stream));
    refused(event.is_done());
    refused(event.wait());
    refused(event.wait_for(soon));
    refused(event.since(&event));
    refused(event.native());
    refused(event.then(&executor, |_| panic!("it was refused")));

    refused(timeline.signal(1));
    refused(timeline.fail(ErrorKind::Failed, "gone"));
    refused(timeline.value());
    refused(timeline.wait(1));
    refused(timeline.wait_for(1, soon));
    refused(timeline.then(1, &executor, |_| panic!("it was refused")));

    refused(queue.notify(stream, 1));
    refused(queue.notify_timed(stream, 1, &event));
    refused(queue.notify_event(&event, 1));
    refused(queue.notify_timeline(&timeline, 1, 1));
    refused(queue.notify_pipeline(&pipeline, 1));
    refused(queue.drain(1));
    refused(queue.wait());
    refused(queue.wait_for(soon));
    refused(queue.wake());
    refused(queue.fd());
    refused(queue.statistics());

    refused(executor.run());
    refused(executor.run_for(soon));
    refused(executor.poll());
    refused(executor.statistics());

    assert_eq!(kind(arena.zeroed::<u8>(1)), ErrorKind::ShutDown);
    refused(arena.trim(0));
    refused(arena.statistics());
    refused(pool.buffer::<u8>(stream, 1));
    refused(pool.trim(0));
    refused(pool.statistics());

    refused(module.kernel("scale"));
    refused(module.symbol("scale"));
    refused(module.image());
    refused(kernel.attributes());
    refused(kernel.name());
    refused(kernel.native());
    refused(kernel.set_max_dynamic_shared(1));
    refused(kernel.occupancy(64, 0));
    refused(kernel.suggest(0, 0));
    refused(bound.launch(stream, &Launch::new(1, 1), (&x, 1.0)));

    refused(pipeline.start(Source::memory(vec![1u8]), Sink::none()).map_err(Into::into));
    refused(pipeline.cancel());
    refused(pipeline.progress());
    Ok(())
}

#[track_caller]
fn kind<T>(result: Result<T>) -> ErrorKind {
    result.map(drop).unwrap_err().kind()
}

#[test]
fn what_is_wrong_is_named() -> Result<()> {
    let w = world();
    assert_eq!(kind(Runtime::builder().device("toaster").build()), ErrorKind::InvalidArgument);
    assert_eq!(kind(Runtime::builder().label("a\0b").build()), ErrorKind::InvalidArgument);
    assert_eq!(kind(w.runtime.device(99).open()), ErrorKind::NoDevice);
    assert_eq!(kind(w.device.compile("this is no kernel")), ErrorKind::CompileFailed);
    assert!(!gpuorch::compile_log()?.is_empty());
    let module = w.device.compile(SOURCE)?;
    let missing = module.kernel("no_such_kernel").map(drop).unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::NotFound);
    assert!(missing.message().contains("scale"), "{missing}");
    // SAFETY: it is refused.
    assert_eq!(kind(unsafe { module.kernel("scale")?.bind::<(f32,)>() }), ErrorKind::InvalidArgument);
    // SAFETY: it is no image.
    assert_eq!(kind(unsafe { w.device.load_module(b"no image", Some("it")) }), ErrorKind::InvalidImage);
    assert_eq!(kind(w.device.buffer::<u64>(usize::MAX)), ErrorKind::InvalidArgument);
    assert_eq!(kind(w.device.arena()?.zeroed::<u64>(usize::MAX)), ErrorKind::InvalidArgument);
    assert_eq!(kind(w.runtime.trace_summary()), ErrorKind::InvalidState);
    assert_eq!(kind(w.device.pipeline().build()), ErrorKind::InvalidArgument);
    let x = w.device.buffer::<u32>(10)?;
    assert_eq!(kind(w.stream.copy_rows(&x, 4, &x, 4, (4, 3))), ErrorKind::InvalidArgument);
    assert_eq!(kind(w.stream.fill(&w.device.buffer::<u64>(1)?, 1)), ErrorKind::InvalidArgument);
    let error = w.device.arena_builder().max_bytes(4096).build()?.zeroed::<u8>(1 << 20).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded);
    Ok(())
}

#[test]
fn an_object_keeps_its_failure_and_its_label() -> Result<()> {
    let w = world();
    let timeline = w.runtime.labelled_timeline(3, "frames")?;
    assert_eq!(timeline.label()?, "frames");
    assert!(timeline.last_error()?.is_none());
    timeline.fail(ErrorKind::Failed, "the camera is gone")?;
    let error = timeline.last_error()?.expect("it has failed");
    assert_eq!((error.kind(), error.message().contains("the camera is gone")), (ErrorKind::Failed, true), "{error:?}");
    assert!(timeline.wait(4).unwrap_err().object().contains("frames"));
    timeline.set_label("")?;
    assert_eq!(timeline.label()?, "");
    Ok(())
}

#[test]
fn log_lines_come_to_the_closure() -> Result<()> {
    let (sender, lines) = std::sync::mpsc::channel();
    let runtime = Runtime::builder()
        .log(LogLevel::Debug, move |level, text| {
            let _ = sender.send((level, text.to_owned()));
            panic!("a panic in a log closure ends there");
        })
        .build()?;
    let executor = runtime.executor()?;
    runtime.set_log_executor(Some(&executor))?;
    runtime.set_log_executor(None)?;
    // What is still there when the runtime ends is said.
    let stream = runtime.open_device()?.stream_builder().label("left behind").build()?;
    runtime.shutdown(Duration::from_secs(10))?;
    assert!(lines.try_iter().any(|(level, text)| level <= LogLevel::Warning && text.contains("left behind")));
    drop((stream, executor));
    Ok(())
}

#[test]
fn a_kernel_takes_no_buffer_of_another_runtime() -> Result<()> {
    let w = world();
    let other = Runtime::new()?;
    let device = other.open_device()?;
    let (plain, pool) = (device.buffer::<f32>(1000)?, device.pool()?);
    let pooled = pool.buffer::<f32>(&device.stream()?, 1000)?;
    for gone in [false, true] {
        if gone {
            other.shutdown(Duration::from_secs(10))?;
        }
        for x in [&plain, &pooled] {
            let error = w.launch_scale(x, 2.0).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument);
            assert!(error.message().contains("of another runtime"), "{error}");
        }
    }
    Ok(())
}
