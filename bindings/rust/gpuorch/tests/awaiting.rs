//! Futures under several runtimes, dropped and forgotten at any point, and woken by wakers that panic.

mod world;

use gpuorch::pipeline::{Input, Sink, Source, Stage};
use gpuorch::{Completions, DeviceBuffer, ErrorKind, Result, Timeline};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;
use world::{World, eventually, world};

/// Some of everything that can be awaited.
async fn round(w: &World) -> Result<()> {
    let arena = w.device.arena()?;
    let x = w.device.buffer::<f32>(1000)?;
    let host = w.stream.copy_to_device(arena.copy_of(&[1.5; 1000])?, &x)?.await?;
    let scale = w.scale()?;
    let launch = gpuorch::Launch::each(1000, 64);
    scale.launch(&w.stream, &launch, (&x, 2.0))?.await?;
    let event = w.device.event()?;
    event.record(&w.stream)?;
    event.done().await?;
    let timeline = w.runtime.timeline(0)?;
    w.stream.signal_timeline(&timeline, 1)?;
    timeline.reached(1).await?;
    let host = w.stream.copy_to_host(&x, host)?.await?;
    assert!(host.iter().all(|&x| x == 3.0));
    w.stream.done().await?;
    // SAFETY: the kernel has no elements to fill.
    let fill = unsafe { w.device.builtin_module()?.kernel("gpo_fill_u32")?.bind::<(DeviceBuffer<u32>, u32, u64)>()? };
    let pipeline = w.device.pipeline().stage(Stage::kernel(&fill, (Input, 1, 0))).chunk_bytes(4096).build()?;
    let finished =
        pipeline.start(Source::memory(vec![5u8; 10_000]), Sink::memory(arena.zeroed::<u8>(10_000)?))?.await?;
    assert_eq!((finished.source.len(), finished.sink.len()), (10_000, 10_000));
    Ok(())
}

/// A failure names a function, whether the work was awaited or waited for.
#[test]
fn an_awaited_failure_reads_as_a_sentence_with_its_function() -> Result<()> {
    let w = world();
    let failing = || -> Result<(Timeline, gpuorch::Stream)> {
        let (gate, stream) = (w.runtime.timeline(0)?, w.device.stream()?);
        stream.wait_timeline(&gate, 1)?;
        Ok((gate, stream))
    };
    let fail = |gate: &Timeline| gate.fail(ErrorKind::Failed, "the producer gave up");
    let texts = |error: &gpuorch::Error| (error.function().to_owned(), error.to_string());
    let x = w.device.buffer::<u8>(16)?;
    let mut heard = Vec::new();

    let (gate, stream) = failing()?;
    let copy = stream.copy_to_device(vec![0u8; 16], &x)?;
    fail(&gate)?;
    heard.push(("gpo_stream_then", texts(pollster::block_on(copy).unwrap_err().error())));
    let (gate, stream) = failing()?;
    let event = w.device.event()?;
    event.record(&stream)?;
    let done = event.done();
    fail(&gate)?;
    heard.push(("gpo_event_then", texts(&pollster::block_on(done).map(drop).unwrap_err())));
    heard.push(("gpo_timeline_then", texts(&pollster::block_on(gate.reached(1)).map(drop).unwrap_err())));
    let (gate, stream) = failing()?;
    let mut completions = Completions::new();
    completions.watch_stream(&stream, 1)?;
    let executor = w.runtime.executor()?;
    let (sender, receiver) = std::sync::mpsc::channel();
    stream.then(&executor, move |result| drop(sender.send(result.map(drop))))?;
    fail(&gate)?;
    let watched =
        pollster::block_on(poll_fn(|context| futures_core::Stream::poll_next(Pin::new(&mut completions), context)));
    heard.push(("gpo_stream_then", texts(&watched.expect("one is watched").1.map(drop).unwrap_err())));
    heard.push(("gpo_stream_then", texts(&receiver.recv().expect("it is called").unwrap_err())));

    for (function, (named, text)) in heard {
        assert_eq!(named, function, "{text}");
        assert!(text.starts_with(&format!("{function}: ")) && text.ends_with("the producer gave up"), "{text}");
    }
    Ok(())
}

/// Without a function, as a queue's entry is, a failure is its sentence alone.
#[test]
fn a_failure_without_a_function_is_its_message() -> Result<()> {
    let w = world();
    let (gate, queue) = (w.runtime.timeline(0)?, w.runtime.completion_queue()?);
    queue.notify_timeline(&gate, 1, 7)?;
    gate.fail(ErrorKind::Failed, "the producer gave up")?;
    queue.wait()?;
    let error = queue.error(&queue.drain(1)?[0])?;
    let text = error.to_string();
    assert!(!text.starts_with(':') && text.ends_with("the producer gave up"), "{text}");
    assert_eq!(text.starts_with("gpo_"), !error.function().is_empty());
    Ok(())
}

#[test]
fn a_compilation_that_is_awaited_leaves_the_thread_to_others() -> Result<()> {
    let w = world();
    let source = "extern \"C\" __global__ void one(int *x) { *x = 1; }";
    let (turns, compiled) = (std::cell::Cell::new(0), std::cell::Cell::new(false));
    let compiling = async {
        let module = w.device.compile_builder(source).uncached().label("awaited").compile_async().await;
        compiled.set(true);
        module?.kernel("one")?.name()
    };
    let others = async {
        while !compiled.get() {
            turns.set(turns.get() + 1);
            smol::future::yield_now().await;
        }
    };
    assert_eq!(pollster::block_on(smol::future::zip(compiling, others)).0?, "one");
    assert!(turns.get() > 10, "{}", turns.get());
    Ok(())
}

#[test]
fn a_compilation_that_fails_says_so_to_whoever_awaits_it_with_the_compilers_text() -> Result<()> {
    let w = world();
    let mut compiling = w.device.compile_async("__global__ void broken() { no_such_thing(); }");
    assert_eq!(compiling.log(), "");
    let error = pollster::block_on(&mut compiling).map(drop).unwrap_err();
    assert_eq!((error.kind(), error.function()), (ErrorKind::CompileFailed, "gpo_module_compile"));
    assert!(compiling.log().contains("no_such_thing"), "{}", compiling.log());
    let refused = pollster::block_on(w.device.compile_async("a\0b")).map(drop).unwrap_err();
    assert_eq!((refused.kind(), refused.function()), (ErrorKind::InvalidArgument, "gpo_module_compile"));
    Ok(())
}

#[test]
fn a_compilation_that_nobody_awaits_ends_and_goes() -> Result<()> {
    let w = world();
    let compile = || w.device.compile_builder("extern \"C\" __global__ void one() {}").uncached().compile_async();
    drop(compile());
    let mut polled = Box::pin(compile());
    let ended = pollster::block_on(poll_fn(|context| Poll::Ready(polled.as_mut().poll(context).is_ready())));
    drop(polled);
    assert!(!ended, "the compiler takes longer than a poll");
    // The modules are children of the runtime's: its shutdown waits for both compilations, or they are refused.
    w.runtime.shutdown(Duration::from_secs(60))
}

#[test]
fn under_pollster() -> Result<()> {
    pollster::block_on(round(&world()))
}

#[test]
fn under_smol() -> Result<()> {
    let w = world();
    smol::block_on(smol::spawn(async move { round(&w).await }))
}

#[test]
fn under_tokio_with_one_thread() -> Result<()> {
    let w = world();
    tokio::runtime::Builder::new_current_thread().build().expect("tokio").block_on(round(&w))
}

#[test]
fn under_tokio_with_many_threads_and_tasks() -> Result<()> {
    let w = Arc::new(world());
    w.scale()?;
    let tokio = tokio::runtime::Builder::new_multi_thread().worker_threads(3).build().expect("tokio");
    tokio.block_on(async {
        let tasks: Vec<_> = (0..100)
            .map(|_| {
                let w = Arc::clone(&w);
                tokio::spawn(async move {
                    let stream = w.device.stream()?;
                    let x = w.device.buffer::<u32>(64)?;
                    stream.fill(&x, 6)?.await?;
                    assert_eq!(stream.copy_to_host(&x, vec![0; 64])?.await?, [6; 64]);
                    Ok::<_, gpuorch::Error>(())
                })
            })
            .collect();
        for task in tasks {
            task.await.expect("no panic")?;
        }
        Ok(())
    })
}

/// A runtime without threads: counts how often it was woken.
#[derive(Default)]
struct Counted {
    wakes: AtomicUsize,
}

impl Wake for Counted {
    fn wake(self: Arc<Self>) {
        self.wakes.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn a_future_can_be_dropped_or_forgotten_at_every_await() -> Result<()> {
    for forgotten in [false, true] {
        for polls in 0..15 {
            let w = world();
            w.scale()?;
            let counted = Arc::new(Counted::default());
            let waker = Waker::from(Arc::clone(&counted));
            {
                let w =
                    Arc::new(World { runtime: w.runtime.clone(), device: w.device.clone(), stream: w.stream.clone() });
                let mut future: Pin<Box<dyn Future<Output = Result<()>>>> = Box::pin(async move { round(&w).await });
                for poll in 0..polls {
                    if future.as_mut().poll(&mut Context::from_waker(&waker)).is_ready() {
                        break;
                    }
                    // A wake for each poll that was pending: none is lost.
                    eventually("it is woken", || counted.wakes.load(Ordering::SeqCst) > poll);
                }
                if forgotten {
                    std::mem::forget(future);
                }
            }
            // The work goes on.
            w.stream.wait()?;
            drop(waker);
        }
    }
    Ok(())
}

#[test]
fn a_dropped_future_lets_its_waker_go() -> Result<()> {
    let w = world();
    let timeline = w.runtime.timeline(0)?;
    let counted = Arc::new(Counted::default());
    let waker = Waker::from(Arc::clone(&counted));
    let mut done = timeline.reached(1);
    assert!(Pin::new(&mut done).poll(&mut Context::from_waker(&waker)).is_pending());
    drop(waker);
    assert_eq!(Arc::strong_count(&counted), 2);
    drop(done);
    assert_eq!(Arc::strong_count(&counted), 1);
    timeline.signal(1)?;
    timeline.wait(1)?;
    assert_eq!(counted.wakes.load(Ordering::SeqCst), 0);
    Ok(())
}

#[test]
fn an_operation_that_is_dropped_or_forgotten_does_its_work() -> Result<()> {
    let w = world();
    let arena = w.device.arena()?;
    let timeline = w.runtime.timeline(0)?;
    let x = w.device.buffer::<u32>(1000)?;
    w.stream.wait_timeline(&timeline, 1)?;
    drop(w.stream.copy_to_device(arena.copy_of(&[5; 1000])?, &x)?);
    drop(w.stream.copy_to_device(vec![6u32; 500], x.slice(..500))?);
    std::mem::forget(w.stream.copy_to_device(vec![7u32; 100].into_boxed_slice(), x.slice(..100))?);
    drop(w.stream.copy_to_device(arena.copy_of(&[8; 1000])?.slice(20..30), x.slice(50..60))?);
    assert!(arena.statistics()?.in_use >= 8000);
    timeline.signal(1)?;
    let host = w.stream.copy_to_host(&x, vec![0; 1000])?.wait()?;
    assert_eq!((host[0], host[99], host[100], host[499], host[500], host[999]), (7, 7, 6, 6, 5, 5));
    assert_eq!((host[49], &host[50..60], host[60]), (7, &[8; 10][..], 7));
    eventually("the pinned vector goes", || arena.statistics().unwrap().in_use == 0);
    Ok(())
}

#[test]
fn a_borrowed_slice_is_copied_before_write_returns() -> Result<()> {
    let w = world();
    let timeline = w.runtime.timeline(0)?;
    let (x, y) = (w.device.buffer::<u32>(1000)?, w.device.buffer::<u32>(1000)?);
    w.stream.wait_timeline(&timeline, 1)?;
    let mut pageable = vec![1; 1000];
    let mut pinned = w.device.arena()?.copy_of(&[2; 1000])?;
    w.stream.write(&pageable, &x)?;
    w.stream.write(&pinned, &y)?;
    pageable.fill(9);
    pinned.fill(9);
    drop((pageable, pinned));
    timeline.signal(1)?;
    assert_eq!(w.stream.copy_to_host(&x, vec![0; 1000])?.wait()?, [1; 1000]);
    assert_eq!(w.stream.copy_to_host(&y, vec![0; 1000])?.wait()?, [2; 1000]);
    Ok(())
}

#[test]
fn buffers_come_back_from_a_stream_that_fails() -> Result<()> {
    let w = world();
    let timeline = w.runtime.timeline(0)?;
    let x = w.device.buffer::<u32>(10)?;
    w.stream.wait_timeline(&timeline, 1)?;
    let first = w.stream.copy_to_device(vec![5u32; 10], &x)?;
    let second = w.stream.copy_to_host(&x, vec![9u32; 10])?;
    timeline.fail(ErrorKind::Failed, "the camera is gone")?;
    let (error, buffer) = pollster::block_on(first).unwrap_err().into_parts();
    assert_eq!((error.kind(), buffer), (ErrorKind::Failed, Some(vec![5; 10])));
    assert!(error.message().contains("the camera is gone"), "{error}");
    let (error, buffer) = second.wait().unwrap_err().into_parts();
    assert_eq!((error.kind(), buffer), (ErrorKind::Failed, Some(vec![9; 10])));
    let refused = w.stream.copy_to_host(&x, vec![4u32; 10]).unwrap_err();
    assert_eq!(refused.error().kind(), ErrorKind::Failed);
    assert_eq!(refused.into_buffer(), Some(vec![4; 10]));
    Ok(())
}

struct Panics;

impl Wake for Panics {
    fn wake(self: Arc<Self>) {
        panic!("a waker that panics");
    }
}

#[test]
fn a_waker_that_panics_harms_nobody_else() -> Result<()> {
    let w = world();
    let timeline = w.runtime.timeline(0)?;
    let waker = Waker::from(Arc::new(Panics));
    let mut futures: Vec<_> = (0..10).map(|_| timeline.reached(1)).collect();
    for future in &mut futures {
        assert!(Pin::new(future).poll(&mut Context::from_waker(&waker)).is_pending());
    }
    timeline.signal(1)?;
    pollster::block_on(timeline.reached(1))?;
    for future in futures {
        pollster::block_on(future)?;
    }
    pollster::block_on(round(&w))
}

#[test]
#[should_panic(expected = "polled after it had ended")]
fn a_future_that_has_ended_is_not_polled_again() {
    let w = world();
    let mut done = w.stream.done();
    pollster::block_on(poll_fn(|context| Pin::new(&mut done).poll(context))).expect("it is done");
    let _ = Pin::new(&mut done).poll(&mut Context::from_waker(Waker::noop()));
}

async fn next(completions: &mut Completions) -> Option<(u64, Result<gpuorch::Completion>)> {
    poll_fn(|context| futures_core::Stream::poll_next(Pin::new(completions), context)).await
}

#[test]
fn completions_come_as_a_stream() -> Result<()> {
    let w = world();
    let timelines: Vec<Timeline> = (0..3).map(|_| w.runtime.timeline(0)).collect::<Result<_>>()?;
    let event = w.device.event()?;
    event.record(&w.stream)?;
    let mut completions = Completions::new();
    assert!(completions.is_empty());
    for (number, timeline) in timelines.iter().enumerate() {
        completions.watch_timeline(timeline, 1, number as u64)?;
    }
    completions.watch_stream(&w.stream, 10)?;
    completions.watch_event(&event, 11)?;
    assert_eq!(completions.len(), 5);
    pollster::block_on(async {
        let mut first = [next(&mut completions).await.expect("one").0, next(&mut completions).await.expect("two").0];
        first.sort_unstable();
        assert_eq!(first, [10, 11]);
        timelines[2].signal(1)?;
        assert_eq!(next(&mut completions).await.expect("three").0, 2);
        timelines[0].fail(ErrorKind::Cancelled, "no more")?;
        let (number, result) = next(&mut completions).await.expect("four");
        assert_eq!((number, result.unwrap_err().kind()), (0, ErrorKind::Cancelled));
        let waiting = Pin::new(&mut completions);
        let mut context = Context::from_waker(Waker::noop());
        assert!(matches!(futures_core::Stream::poll_next(waiting, &mut context), Poll::Pending));
        timelines[1].signal(1)?;
        assert_eq!(next(&mut completions).await.expect("five").0, 1);
        assert!(next(&mut completions).await.is_none());
        completions.watch_stream(&w.stream, 12)?;
        assert_eq!(next(&mut completions).await.expect("it goes on").0, 12);
        Ok(())
    })
}

#[test]
fn an_enqueue_that_nobody_awaits_notifies_nobody() -> Result<()> {
    let w = world();
    let x = w.device.buffer::<u8>(100)?;
    let before = w.runtime.statistics()?.notifies;
    for _ in 0..100 {
        w.stream.fill(&x, 1)?;
        drop(w.stream.done());
    }
    assert_eq!(w.runtime.statistics()?.notifies, before);
    Ok(())
}

#[test]
fn a_timeline_fails_a_thousand_tasks() -> Result<()> {
    let w = world();
    let timeline = w.runtime.timeline(0)?;
    let executor = smol::LocalExecutor::new();
    let tasks: Vec<_> = (0..1000).map(|_| executor.spawn(timeline.reached(1))).collect();
    smol::block_on(executor.run(async {
        smol::future::yield_now().await;
        timeline.fail(ErrorKind::Failed, "all of it")?;
        for task in tasks {
            assert_eq!(task.await.unwrap_err().kind(), ErrorKind::Failed);
        }
        Ok(())
    }))
}
