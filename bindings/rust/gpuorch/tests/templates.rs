//! Graph templates: recorded in closures, or built node by node.

mod world;

use gpuorch::template::{Node, PictureFormat};
use gpuorch::{Error, ErrorKind, Launch, Object, PinnedVec, Result, Runtime};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use world::recorded::{LEN, Work, affine, kind, read};
use world::world;

// --- recording ---

#[test]
fn what_is_recorded_does_not_run_and_each_launch_of_its_graph_runs_it() -> Result<()> {
    let w = world();
    let (x, affine, template) = (w.device.buffer::<u32>(LEN)?, affine(&w)?, w.device.template()?);
    w.stream.fill(&x, 1)?;
    // SAFETY: the buffer outlives the launches.
    unsafe {
        template.record(&w.stream, |_| {
            affine.launch(&w.stream, &Launch::each(LEN, 32), (&x, 2, 0))?;
            affine.launch(&w.stream, &Launch::each(LEN, 32), (&x, 1, 1))?;
            Ok(())
        })?;
    }
    assert_eq!(read(&w, &x)?, [1; LEN]);
    let graph = template.graph()?;
    graph.launch(&w.stream)?;
    assert_eq!(read(&w, &x)?, [3; LEN]);
    let completion = pollster::block_on(async { graph.launch(&w.stream)?.await })?;
    assert_eq!(completion.failed(), None);
    assert_eq!(read(&w, &x)?, [7; LEN]);
    let statistics = template.statistics()?;
    assert_eq!((statistics.nodes, statistics.launches, statistics.recordings), (2, 2, 1));
    Ok(())
}

#[test]
fn streams_fork_and_join_in_a_recording() -> Result<()> {
    let w = world();
    let (x, affine, template) = (w.device.buffer::<u32>(LEN)?, affine(&w)?, w.device.template()?);
    let (y, second) = (w.device.buffer::<u32>(LEN)?, w.device.stream()?);
    let (forked, joined) = (w.device.event()?, w.device.event()?);
    let launch = Launch::each(LEN, 32);
    // SAFETY: the buffers outlive the launch.
    let several = unsafe {
        template.record(&w.stream, |rec| {
            assert_eq!(kind(rec.last_node(&w.stream)), ErrorKind::NotFound);
            assert_eq!(kind(rec.last_node(&second)), ErrorKind::InvalidState);
            w.stream.fill(&x, 3)?;
            w.stream.fill(&y, 4)?;
            forked.record(&w.stream)?;
            second.wait_event(&forked)?;
            affine.launch(&second, &launch, (&y, 10, 1))?;
            joined.record(&second)?;
            affine.launch(&w.stream, &launch, (&x, 100, 2))?;
            w.stream.wait_event(&joined)?;
            let several = kind(rec.last_node(&w.stream));
            affine.launch(&w.stream, &launch, (&y, 2, 0))?;
            Ok(several)
        })?
    };
    assert_eq!(several, ErrorKind::NotFound);
    template.graph()?.launch(&w.stream)?;
    assert_eq!((read(&w, &x)?[0], read(&w, &y)?[0]), (302, 82));
    Ok(())
}

#[test]
fn a_closure_that_fails_or_panics_leaves_what_was_recorded_before() -> Result<()> {
    let work = Work::new()?;
    let (w, template) = (&work.w, &work.template);
    work.record(3, false)?;
    // SAFETY: what is recorded here never runs.
    let failed = unsafe {
        template.record(&w.stream, |_| {
            w.stream.fill(&work.x, 9)?;
            w.device.buffer::<u64>(usize::MAX).map(drop)
        })
    };
    assert_eq!(kind(failed), ErrorKind::InvalidArgument);
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: likewise.
        unsafe {
            template.record(&w.stream, |_| -> Result<()> {
                w.stream.fill(&work.x, 9)?;
                panic!("on purpose");
            })
        }
    }));
    assert!(panicked.is_err());
    w.stream.fill(&work.x, 8)?;
    assert_eq!(work.ends(&work.x)?, (8, 8));
    assert_eq!(work.run(&template.graph()?)?, (8, 8));
    assert_eq!((template.statistics()?.nodes, template.statistics()?.recordings), (2, 1));
    Ok(())
}

#[test]
fn an_operation_that_is_refused_fails_the_recording_and_is_named() -> Result<()> {
    let work = Work::new()?;
    let (w, template) = (&work.w, &work.template);
    w.stream.set_label("worker")?;
    let queue = w.runtime.completion_queue()?;
    let (timeline, executor) = (w.runtime.timeline(0)?, w.runtime.executor()?);
    let names = |function: &str, refused: &dyn Fn() -> Result<()>| {
        // SAFETY: what is recorded here never runs.
        let ended = unsafe {
            template.record(&w.stream, |_| {
                assert_eq!(kind(refused()), ErrorKind::CaptureRefused);
                assert_eq!(kind(queue.notify(&w.stream, 1)), ErrorKind::CaptureRefused);
                Ok(())
            })
        };
        let error = ended.unwrap_err();
        assert_eq!((error.kind(), error.function()), (ErrorKind::CaptureRefused, "gpo_template_end"));
        assert!(error.message().contains(&format!("{function} on stream `worker`")), "{error}");
    };
    names("gpo_stream_wait", &|| w.stream.wait());
    names("gpo_stream_query", &|| w.stream.is_done().map(drop));
    names("gpo_stream_notify", &|| queue.notify(&w.stream, 2));
    names("gpo_stream_signal_timeline", &|| w.stream.signal_timeline(&timeline, 1).map(drop));
    names("gpo_stream_host_call", &|| w.stream.host_call(&executor, || Ok::<_, Error>(())).map(drop));
    // SAFETY: likewise.
    names("gpo_template_begin", &|| unsafe { w.device.template()?.record(&w.stream, |_| Ok(())) });
    // Copies with an owned buffer wait for the stream before they give the buffer back.
    let pinned = w.device.arena()?.zeroed::<u32>(LEN)?;
    // SAFETY: likewise.
    let ended = unsafe {
        template.record(&w.stream, |_| {
            drop(w.stream.copy_to_host(&work.x, pinned)?);
            Ok(())
        })
    };
    assert_eq!(kind(ended), ErrorKind::CaptureRefused);
    w.stream.wait()
}

#[test]
fn a_recording_is_of_one_thread_and_of_a_stream_that_is_not_held() -> Result<()> {
    let work = Work::new()?;
    let (w, template) = (&work.w, &work.template);
    let other = w.device.stream()?;
    // SAFETY: an empty graph uses no memory.
    unsafe {
        // A node that another thread would have added is missing.
        let recorded = template.record(&w.stream, |_| {
            std::thread::scope(|scope| {
                scope.spawn(|| assert_eq!(kind(template.add_empty(&[])), ErrorKind::InvalidState));
            });
            Ok(())
        });
        assert_eq!(kind(recorded), ErrorKind::CaptureRefused);
        template.record(&w.stream, |_| {
            std::thread::scope(|scope| {
                scope.spawn(|| assert_eq!(kind(template.record(&other, |_| Ok(()))), ErrorKind::InvalidState));
            });
            assert_eq!(kind(template.record(&other, |_| Ok(()))), ErrorKind::InvalidState);
            assert_eq!(kind(template.graph()), ErrorKind::InvalidState);
            assert_eq!(kind(template.native()), ErrorKind::InvalidState);
            assert_eq!(kind(template.clear()), ErrorKind::InvalidState);
            Ok(())
        })?;
        let timeline = w.runtime.timeline(0)?;
        w.stream.wait_timeline(&timeline, 1)?;
        assert_eq!(kind(template.record(&w.stream, |_| Ok(()))), ErrorKind::InvalidState);
        timeline.signal(1)?;
    }
    w.stream.wait()
}

#[test]
fn pinned_memory_is_copied_by_each_launch() -> Result<()> {
    let work = Work::new()?;
    let (w, stream, template) = (&work.w, &work.w.stream, &work.template);
    let arena = w.device.arena()?;
    let (mut from, mut to) = (arena.zeroed::<u32>(LEN)?, arena.zeroed::<u32>(LEN)?);
    let outside = w.device.stream()?;
    // SAFETY: buffers and vectors outlive the launches, and the vectors are used by the host between these.
    let length = unsafe {
        template.record(stream, |rec| {
            let into = rec.copy_to_device(stream, &from, &work.x)?;
            work.affine.launch(stream, &Launch::each(LEN, 32), (&work.x, 10, 1))?;
            let out = rec.copy_to_host(stream, &work.x, &mut to)?;
            assert_eq!((into.number(), out.number()), (1, 3));
            // Copies that would be done at once, have two lengths, or have no bytes are refused and not recorded.
            assert_eq!(kind(rec.copy_to_device(&outside, &from, &work.x)), ErrorKind::InvalidState);
            assert_eq!(kind(rec.copy_to_device(stream, &from[1..], &work.x)), ErrorKind::InvalidArgument);
            let nothing: &mut [u32] = &mut [];
            assert_eq!(kind(rec.copy_to_host(stream, work.x.slice(..0), nothing)), ErrorKind::InvalidArgument);
            rec.parameter("source", into.source())?;
            rec.parameter::<u64>("length", out.bytes())
        })?
    };
    let graph = template.graph()?;
    for round in [3, 4] {
        from.fill(round);
        graph.launch(stream)?.wait()?;
        assert_eq!(to[..], [round * 10 + 1; LEN]);
    }
    to.fill(0);
    graph.set(&length, 4)?;
    let others: PinnedVec<u32> = arena.copy_of(&[7; LEN])?;
    graph.set(&template.find_parameter("source")?, others.as_ptr() as u64)?;
    graph.launch(stream)?.wait()?;
    assert_eq!((to[0], to[1]), (71, 0));
    // SAFETY: it is refused.
    let pageable = unsafe { template.record(stream, |rec| rec.copy_to_device(stream, &[1; LEN], &work.x)) };
    assert_eq!(kind(pageable), ErrorKind::CaptureRefused);
    Ok(())
}

#[test]
fn a_node_that_was_added_gets_its_place_in_a_recording() -> Result<()> {
    let work = Work::new()?;
    let (stream, template) = (&work.w.stream, &work.template);
    // SAFETY: the buffers outlive the launch.
    unsafe {
        template.record(stream, |rec| {
            stream.fill(&work.x, 2)?;
            let launch = Launch::each(LEN, 32).label(c"added");
            let added = rec.add_kernel(&[rec.last_node(stream)?], &work.affine, &launch, (&work.x, 3, 0))?;
            assert_eq!(rec.find_node("added")?, added);
            rec.set_last_node(stream, added)?;
            assert_eq!(rec.last_node(stream)?, added);
            assert_eq!(kind(rec.set_last_node(&work.w.device.stream()?, added)), ErrorKind::InvalidState);
            work.affine.launch(stream, &Launch::each(LEN, 32), (&work.x, 1, 4))?;
            Ok(())
        })?;
    }
    assert_eq!(work.run(&template.graph()?)?, (10, 10));
    Ok(())
}

/// The cancellation has nothing left to cancel.
#[test]
fn a_runtime_that_is_shut_down_in_a_recording_takes_it_along() -> Result<()> {
    let w = world();
    let (runtime, template) = (w.runtime.clone(), w.device.template()?);
    // SAFETY: nothing is launched.
    let ended = unsafe {
        template.record(&w.stream, |_| {
            runtime.shutdown(Duration::from_secs(20))?;
            w.stream.is_done()
        })
    };
    assert_eq!(kind(ended), ErrorKind::InvalidHandle);
    Ok(())
}

#[test]
fn parts_of_a_graph_are_timed_and_each_launch_is_waited_for_by_events_that_the_graph_records() -> Result<()> {
    let w = world();
    let (x, affine, template) = (w.device.buffer::<u32>(LEN)?, affine(&w)?, w.device.template()?);
    let event = || w.device.event_builder().timing().external().build();
    let (begin, between, done, second) = (event()?, event()?, event()?, w.device.stream()?);
    assert_eq!(kind(w.device.event_builder().interprocess().external().build()), ErrorKind::InvalidArgument);
    // SAFETY: the buffer outlives the launches.
    unsafe {
        template.record(&w.stream, |_| {
            begin.record(&w.stream)?;
            w.stream.fill(&x, 3)?;
            between.record(&w.stream)?;
            affine.launch(&w.stream, &Launch::each(LEN, 32), (&x, 2, 1))?;
            done.record(&w.stream).map(drop)
        })?;
    }
    assert_eq!(template.statistics()?.nodes, 5);
    assert_eq!(kind(done.since(&begin)), ErrorKind::InvalidState);
    let graph = template.graph()?;
    for _ in 0..2 {
        second.fill(&x, 0)?.wait()?;
        graph.launch(&w.stream)?;
        pollster::block_on(done.done())?;
        assert!(done.since(&begin)? >= between.since(&begin)?);
        second.wait_event(&done)?;
        affine.launch(&second, &Launch::each(LEN, 32), (&x, 1, 100))?.wait()?;
        assert_eq!(read(&w, &x)?, [107; LEN]);
    }
    Ok(())
}

// --- node by node ---

#[test]
fn nodes_are_added_one_by_one_and_run_in_their_order() -> Result<()> {
    let work = Work::new()?;
    let (w, built) = (&work.w, &work.template);
    let pinned = w.device.arena()?.zeroed::<u32>(LEN)?;
    let (before, behind) = (w.device.event()?, w.device.event()?);
    let called = Arc::new(AtomicU32::new(0));
    let counter = Arc::clone(&called);
    let launch = Launch::each(LEN / 2, 32);
    let (front, back) = (work.x.slice(..LEN / 2), work.x.slice(LEN / 2..));
    // SAFETY: buffers and vectors outlive the launches, which are waited for.
    unsafe {
        let wait = built.add_event_wait(&[], &before)?;
        let fill = built.add_fill(&[wait], &work.x, 7)?;
        let first = built.add_kernel(&[fill], &work.affine, &launch, (front, 1, 1))?;
        let second = built.add_kernel(&[fill], &work.affine, &launch, (back, 1, 10))?;
        let join = built.add_empty(&[first, second])?;
        let copy = built.add_copy(&[join], work.x.address(), pinned.as_ptr() as u64, (LEN * 4) as u64)?;
        let call = built.add_host_call(&[copy], move || {
            counter.fetch_add(1, Ordering::SeqCst);
            panic!("a panic in a host call ends there");
        })?;
        let record = built.add_event_record(&[call], &behind)?;
        assert_eq!(record.number(), 8);
    }
    assert_eq!(built.statistics()?.nodes, 8);
    before.record(&w.stream)?;
    let (graph, other) = (built.graph()?, w.device.stream()?);
    graph.launch(&other)?.wait()?;
    behind.wait()?;
    assert_eq!((pinned[0], pinned[LEN - 1], called.load(Ordering::SeqCst)), (8, 17, 1));
    assert_eq!(kind(built.add_empty(&[])), ErrorKind::InvalidState);
    built.clear()?;
    built.add_empty(&[])?;
    assert_eq!(built.statistics()?.nodes, 1);
    graph.launch(&other)?.wait()?;
    assert_eq!(called.load(Ordering::SeqCst), 2);
    Ok(())
}

#[test]
fn a_childs_parameters_have_a_prefix() -> Result<()> {
    let work = Work::new()?;
    work.record(3, false)?;
    let parent = work.w.device.template()?;
    // SAFETY: the buffers outlive the launch.
    unsafe {
        let end = parent.add_child(&[], &work.template, "a.")?;
        let copy = parent.add_copy(&[end], work.x.address(), work.other.address(), (LEN * 4) as u64)?;
        parent.add_child(&[copy], &work.template, "")?;
    }
    let graph = parent.graph()?;
    graph.set(&parent.find_parameter::<u32>("a.factor")?, 10)?;
    graph.set_by_name("begin", 2u32)?;
    assert_eq!(kind(parent.find_parameter::<u32>("b.factor")), ErrorKind::NotFound);
    assert_eq!(work.run(&graph)?, (11, 11));
    assert_eq!(work.ends(&work.other)?, (15, 15));
    assert_eq!(kind(parent.add_child(&[], &parent, "")), ErrorKind::InvalidArgument);
    Ok(())
}

#[test]
fn nodes_that_a_template_does_not_have_are_refused() -> Result<()> {
    let work = Work::new()?;
    let (w, built) = (&work.w, work.w.device.template()?);
    let (empty, event) = (w.device.template()?, w.device.event()?);
    let nodes = (0..3).map(|_| built.add_empty(&[])).collect::<Result<Vec<Node>>>()?;
    let third = [nodes[2]];
    let launch = Launch::each(LEN, 32);
    let pageable = [0u32; LEN];
    // SAFETY: all is refused.
    unsafe {
        for refused in [
            built.add_empty(&[nodes[0], nodes[0]]),
            empty.add_kernel(&third, &work.affine, &launch, (&work.x, 1, 1)),
            empty.add_copy(&third, work.x.address(), work.other.address(), 4),
            empty.add_copy(&[], pageable.as_ptr() as u64, work.x.address(), 4),
            empty.add_fill(&third, &work.x, 1),
            empty.add_fill(&[], work.x.slice(..0), 1),
            empty.add_fill(&[], &w.device.buffer::<u64>(1)?, 1),
            empty.add_empty(&third),
            empty.add_event_record(&third, &event),
            empty.add_event_wait(&third, &event),
            empty.add_host_call(&third, || ()),
            empty.add_child(&third, &built, ""),
        ] {
            assert_eq!(kind(refused), ErrorKind::InvalidArgument);
        }
        assert_eq!(kind(empty.parameter("x", nodes[2].grid())), ErrorKind::InvalidArgument);
    }
    assert_eq!(kind(built.find_node("none")), ErrorKind::NotFound);
    assert_eq!(empty.statistics()?.nodes, 0);
    Ok(())
}

#[test]
fn memory_of_another_runtime_or_of_a_chunk_is_no_nodes() -> Result<()> {
    use gpuorch::pipeline::{Sink, Source, Stage};
    let work = Work::new()?;
    let device = Runtime::new()?.open_device()?;
    let others = device.buffer::<u32>(LEN)?;
    let launch = Launch::each(LEN, 32);
    // SAFETY: all is refused.
    unsafe {
        let refused = work.template.add_kernel(&[], &work.affine, &launch, (&others, 1, 1)).unwrap_err();
        assert!(refused.message().contains("of another runtime"), "{refused}");
        assert_eq!(kind(work.template.add_fill(&[], &others, 1)), ErrorKind::InvalidArgument);
    }
    let template = work.template.clone();
    let stage = Stage::callback(move |_, chunk| {
        // SAFETY: it is refused.
        let refused = unsafe { template.add_fill(&[], chunk.device_input::<u8>(), 1) }.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::InvalidState);
        assert!(refused.message().contains("a chunk's device memory"), "{refused}");
        Ok::<_, &str>(())
    });
    let pipeline = work.w.device.pipeline().stage(stage).chunk_bytes(4096).build()?;
    pipeline.start(Source::memory(vec![1u8; 100]), Sink::none())?.wait()?;
    assert_eq!(work.template.statistics()?.nodes, 0);
    Ok(())
}

// --- graphs of others ---

#[test]
fn a_graph_of_somebody_elses_becomes_a_template_that_goes_on_without_it() -> Result<()> {
    let work = Work::new()?;
    let w = &work.w;
    let theirs = w.device.template()?;
    // SAFETY: the buffers outlive the launches; tests set no address.
    let imported = unsafe {
        let fill = theirs.add_fill(&[], &work.x, 3)?;
        theirs.add_kernel(&[fill], &work.affine, &Launch::new(2, 32), (&work.x, 10, 1))?;
        let imported = w.device.template_builder().label("imported").import(theirs.native()?)?;
        theirs.clear()?;
        imported
    };
    assert_eq!((imported.label()?.as_str(), imported.statistics()?.nodes), ("imported", 2));
    let kernel = imported.find_node("affine")?;
    assert_eq!(kernel, Node::nth(2)?);
    // SAFETY: the kernel takes any factor, and the fill any value.
    let (factor, value) = unsafe {
        let factor = imported.parameter::<u32>("factor", kernel.argument(2))?;
        (factor, imported.parameter("value", Node::nth(1)?.value())?)
    };
    let graph = imported.graph()?;
    assert_eq!(work.run(&graph)?, (31, 31));
    graph.set_all(&[factor.value(2), value.value(5)])?;
    assert_eq!(work.run(&graph)?, (11, 11));
    Ok(())
}

#[test]
fn what_is_no_graph_or_can_not_be_copied_is_not_imported() -> Result<()> {
    let work = Work::new()?;
    let import = || work.w.device.template_builder();
    // SAFETY: all is refused.
    unsafe {
        assert_eq!(kind(import().import(std::ptr::null_mut())), ErrorKind::InvalidArgument);
        assert_eq!(kind(import().label("a\0b").import(std::ptr::null_mut())), ErrorKind::InvalidArgument);
        work.template.add_if(&[], gpuorch::template::Condition::value(work.x.address()))?;
        let refused = import().import(work.template.native()?).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::NotSupported);
        assert!(refused.message().contains("conditional"), "{refused}");
    }
    assert_eq!(kind(Node::nth(0)), ErrorKind::NotFound);
    Ok(())
}

// --- memory of a template, pictures ---

#[test]
fn a_templates_own_memory_stays_for_its_graphs_and_its_buffers_keep_the_template() -> Result<()> {
    let work = Work::new()?;
    let w = &work.w;
    let template = w.device.template()?;
    let (memory, host) = (template.buffer::<u32>(LEN)?, template.pinned::<u32>(LEN)?);
    assert_eq!(host[..], [0; LEN]);
    // SAFETY: the memory is the template's, or outlives the launches; the host looks at it between launches.
    let graph = unsafe {
        let fill = template.add_fill(&[], &memory, 3)?;
        let kernel = template.add_kernel(&[fill], &work.affine, &Launch::new(2, 32), (&memory, 10, 1))?;
        let copy = template.add_copy(&[kernel], memory.address(), host.as_ptr() as u64, 4 * LEN as u64)?;
        template.add_copy(&[copy], host.as_ptr() as u64, work.x.address(), 4 * LEN as u64)?;
        template.graph()?
    };
    assert_eq!(work.run(&graph)?, (31, 31));
    assert_eq!(host[..], [31; LEN]);
    drop(template);
    // The template's memory can be used like any other, and keeps the template alive.
    w.stream.fill(&memory, 4)?;
    let host = w.stream.copy_to_host(&memory, host)?.wait()?;
    assert_eq!(host[..], [4; LEN]);
    assert!(host.arena().is_none());
    host.free_after(&w.stream)?;
    drop(memory);
    w.stream.fill(&work.x, 0)?;
    assert_eq!(work.run(&graph)?, (31, 31));
    Ok(())
}

#[test]
fn a_graph_holds_memory_that_was_dropped() -> Result<()> {
    let work = Work::new()?;
    let w = &work.w;
    let arena = w.device.arena()?;
    let (memory, host) = (w.device.buffer::<u32>(LEN)?, arena.copy_of(&[3; LEN])?);
    let (template, other) = (w.device.template()?, w.device.stream()?);
    // SAFETY: the graph holds both, and the host doesn't access them any more.
    let graph = unsafe {
        let copy = template.add_copy(&[], host.as_ptr() as u64, memory.address(), 4 * LEN as u64)?;
        let kernel = template.add_kernel(&[copy], &work.affine, &Launch::new(2, 32), (&memory, 10, 1))?;
        template.add_copy(&[kernel], memory.address(), work.x.address(), 4 * LEN as u64)?;
        template.graph()?
    };
    drop((memory, host));
    assert_eq!(template.statistics()?.waiting_frees, 2);
    let later: Vec<_> = (0..8).map(|_| w.device.buffer::<u32>(LEN)).collect::<Result<_>>()?;
    for buffer in &later {
        other.fill(buffer, 9)?.wait()?;
    }
    assert!(arena.copy_of(&[9; LEN])?.iter().all(|&element| element == 9));
    assert_eq!(work.run(&graph)?, (31, 31));
    assert!(arena.statistics()?.in_use >= 4 * LEN as u64);
    drop(graph);
    w.device.wait()?;
    assert_eq!((arena.statistics()?.in_use, template.statistics()?.waiting_frees), (0, 0));
    Ok(())
}

#[test]
fn memory_of_a_template_that_can_not_be_is_refused() -> Result<()> {
    let work = Work::new()?;
    let (template, other) = (&work.template, Runtime::new()?.open_device()?.stream()?);
    assert_eq!(kind(template.buffer::<u64>(usize::MAX)), ErrorKind::InvalidArgument);
    assert_eq!(kind(template.pinned::<u64>(usize::MAX)), ErrorKind::InvalidArgument);
    assert_eq!(kind(template.pinned::<u8>(usize::MAX)), ErrorKind::InvalidArgument);
    assert_eq!(kind(template.buffer::<u8>(1 << 60)), ErrorKind::OutOfMemory);
    assert_eq!(kind(template.pinned::<u8>(1 << 60)), ErrorKind::OutOfMemory);
    assert!(template.buffer::<u32>(0)?.is_empty() && template.pinned::<u32>(0)?.is_empty());
    let memory = template.buffer::<u32>(LEN)?;
    assert_eq!(kind(other.fill(&memory, 1)), ErrorKind::InvalidArgument);
    let seen = Arc::new(AtomicU32::new(0));
    let refusals = Arc::clone(&seen);
    // SAFETY: no work is recorded.
    let buckets = unsafe {
        work.w.device.buckets([1]).build(move |bucket| -> Result<()> {
            let Some(recording) = bucket.recording() else { return Ok(()) };
            assert_eq!(kind(recording.buffer::<u32>(1)), ErrorKind::InvalidState);
            assert_eq!(kind(recording.pinned::<u32>(1)), ErrorKind::InvalidState);
            refusals.fetch_add(1, Ordering::Relaxed);
            Ok(())
        })?
    };
    buckets.prepare(&work.w.stream)?.wait()?;
    assert_eq!(seen.load(Ordering::Relaxed), 1);
    Ok(())
}

#[test]
fn memory_that_a_graph_allocates_is_there_from_node_to_node() -> Result<()> {
    let work = Work::new()?;
    let (w, template) = (&work.w, &work.template);
    let (memory, allocation) = template.add_allocation::<u32>(&[], LEN)?;
    assert_eq!(kind(w.stream.fill(&memory, 1)), ErrorKind::InvalidState);
    // SAFETY: the nodes come before the free, and the buffer outlives the launches.
    let (copy, freed) = unsafe {
        let fill = template.add_fill(&[allocation], memory.slice(..), 3)?;
        let kernel = template.add_kernel(&[fill], &work.affine, &Launch::new(2, 32), (&memory, 10, 1))?;
        let copy = template.add_copy(&[kernel], memory.address(), work.x.address(), 4 * LEN as u64)?;
        let unfreed = template.graph().unwrap_err();
        assert_eq!(unfreed.kind(), ErrorKind::InvalidState);
        assert!(unfreed.message().contains("node 1, allocation"), "{unfreed}");
        assert_eq!(kind(template.add_free(&[], &memory)), ErrorKind::InvalidArgument);
        assert_eq!(kind(template.add_free(&[copy], &work.x)), ErrorKind::InvalidArgument);
        (copy, template.add_free(&[copy], &memory)?)
    };
    assert_eq!((allocation.number(), freed.number()), (1, copy.number() + 1));
    let graph = template.graph()?;
    for _ in 0..3 {
        w.stream.fill(&work.x, 0)?;
        assert_eq!(work.run(&graph)?, (31, 31));
    }
    assert_eq!(kind(template.graph()), ErrorKind::NotSupported);
    assert_eq!(kind(w.device.template()?.add_allocation::<u32>(&[], 0)), ErrorKind::InvalidArgument);
    Ok(())
}

#[test]
fn a_template_is_drawn_with_the_labels_and_parameters_of_its_nodes() -> Result<()> {
    let work = Work::new()?;
    work.record(3, false)?;
    let (svg, dot) = (work.template.picture(PictureFormat::Svg)?, work.template.picture(PictureFormat::Dot)?);
    assert!(svg.contains("<svg") && dot.contains("digraph"));
    for picture in [svg, dot] {
        assert!(["scale", "factor", "begin"].iter().all(|text| picture.contains(text)), "{picture}");
    }
    // SAFETY: nothing is recorded.
    let refused = unsafe { work.template.record(&work.w.stream, |rec| Ok(kind(rec.picture(PictureFormat::Svg))))? };
    assert_eq!(refused, ErrorKind::InvalidState);
    Ok(())
}
