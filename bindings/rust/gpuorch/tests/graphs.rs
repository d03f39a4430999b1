//! Graphs: their parameters, their launches, and their updates to new recordings.

mod world;

use gpuorch::{DeviceBuffer, ErrorKind, Launch, Object, Result, Runtime, Stream};
use std::sync::Arc;
use std::time::Duration;
use world::recorded::{LEN, Work, affine, kind, read};
use world::world;

// --- parameters ---

#[test]
fn typed_parameters_are_set_and_a_launch_sends_only_what_changed() -> Result<()> {
    let work = Work::new()?;
    let named = work.record(3, false)?;
    let graph = work.template.graph_builder().label("own").upload().build()?;
    assert_eq!((graph.label()?, graph.template().label()?), ("own".to_owned(), "work".to_owned()));
    assert_eq!(work.run(&graph)?, (8, 8));
    assert_eq!(work.template.statistics()?.patches, 0);
    graph.set(&named.factor, 10)?;
    assert_eq!((graph.get(&named.factor)?, work.run(&graph)?), (10, (15, 15)));
    graph.set(&named.factor, 10)?;
    assert_eq!(work.run(&graph)?, (15, 15));
    assert_eq!(work.template.statistics()?.patches, 1);
    graph.set(&named.grid, [1, 1, 1])?;
    assert_eq!(work.run(&graph)?, (15, 1));
    graph.set_all(&[named.block.value([64, 1, 1]), named.begin.value(2), named.shared.value(256)])?;
    assert_eq!((graph.get(&named.block)?, work.run(&graph)?), ([64, 1, 1], (25, 25)));
    graph.set(&named.scaled, 0)?;
    assert_eq!(work.run(&graph)?, (2, 2));
    graph.set_by_name("begin", 6u32)?;
    graph.set(&named.filled, 4)?;
    assert_eq!(work.run(&graph)?, (6, 2));
    let another = work.template.graph()?;
    another.set(&named.memory, work.other.address())?;
    another.launch(&work.w.stream)?;
    assert_eq!((work.ends(&work.other)?, work.run(&graph)?), ((8, 8), (6, 2)));
    assert_eq!(graph.get(&named.memory)?, work.x.address());
    Ok(())
}

#[test]
fn values_that_can_not_be_are_refused_and_change_nothing() -> Result<()> {
    let work = Work::new()?;
    let named = work.record(3, false)?;
    let graph = work.template.graph()?;
    assert_eq!(kind(graph.set(&named.block, [4096, 1, 1])), ErrorKind::InvalidArgument);
    assert_eq!(kind(graph.set(&named.filled, 6)), ErrorKind::InvalidArgument);
    assert_eq!(kind(graph.set(&named.memory, 0)), ErrorKind::InvalidArgument);
    assert_eq!(kind(graph.set_by_name("factor", 1u64)), ErrorKind::InvalidArgument);
    assert_eq!(kind(graph.set_by_name("fac\0tor", 1u32)), ErrorKind::InvalidArgument);
    let error = graph.set_by_name("facto", 1u32).unwrap_err();
    assert!(error.kind() == ErrorKind::NotFound && error.message().contains("`factor`"), "{error}");
    let refused = graph.set_all(&[named.factor.value(7), named.grid.value([0, 1, 1])]).unwrap_err();
    assert!(refused.message().contains("`grid`"), "{refused}");
    let refused = work.template.launch(&work.w.stream, &[named.factor.value(7), named.grid.value([0, 1, 1])]);
    assert_eq!(kind(refused), ErrorKind::InvalidArgument);
    assert_eq!(work.run(&graph)?, (8, 8));
    Ok(())
}

#[test]
fn a_parameter_is_checked_for_its_size_when_it_is_named_and_when_it_is_found() -> Result<()> {
    let work = Work::new()?;
    work.record(3, false)?;
    // SAFETY: it is refused.
    let wrong = unsafe {
        work.template.record(&work.w.stream, |rec| {
            work.affine.launch(&work.w.stream, &Launch::new(2, 32), (&work.x, 1, 1))?;
            let kernel = rec.last_node(&work.w.stream)?;
            assert_eq!(kind(rec.parameter("x", kernel.argument::<u32>(9))), ErrorKind::InvalidArgument);
            assert_eq!(kind(rec.parameter("x", kernel.value())), ErrorKind::InvalidArgument);
            assert_eq!(kind(rec.parameter("", kernel.grid())), ErrorKind::InvalidArgument);
            rec.parameter("factor", kernel.argument::<u64>(2))
        })
    };
    let error = wrong.unwrap_err();
    assert_eq!((error.kind(), error.function()), (ErrorKind::InvalidArgument, "gpo_template_add_parameter"));
    assert!(error.message().contains("parameter `factor` has 4 bytes, and `u64` has 8"), "{error}");
    assert_eq!(kind(work.template.find_parameter::<f64>("factor")), ErrorKind::InvalidArgument);
    assert_eq!(kind(work.template.find_parameter::<f64>("factory")), ErrorKind::NotFound);
    let found = work.template.find_parameter::<f32>("factor")?;
    assert_eq!(format!("{found:?}"), r#"Parameter { name: "factor", value: "f32", .. }"#);
    assert_eq!(format!("{:?}", found.value(0.0)), r#"Setting { name: "factor", value: [0, 0, 0, 0] }"#);
    Ok(())
}

#[test]
fn a_parameter_of_another_template_is_refused_by_its_name() -> Result<()> {
    let (work, other) = (Work::new()?, Work::new()?);
    let (named, others) = (work.record(3, false)?, other.record(3, false)?);
    let graph = work.template.graph()?;
    let stream = &work.w.stream;
    for error in [
        graph.set(&others.factor, 1).unwrap_err(),
        graph.get(&others.factor).unwrap_err(),
        graph.set_all(&[named.begin.value(9), others.factor.value(1)]).unwrap_err(),
        work.template.launch(stream, &[others.factor.value(1)]).map(drop).unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.message().contains("parameter `factor` is of another template"), "{error}");
    }
    assert_eq!(work.run(&graph)?, (8, 8));
    Ok(())
}

#[test]
fn a_structure_is_a_value_and_more_than_eight_settings_are_passed() -> Result<()> {
    let w = world();
    let module = w.device.compile(
        r#"struct Eight { unsigned x[8]; };
           extern "C" __global__ void sum(unsigned *to, Eight a, unsigned b) { for (unsigned x : a.x) *to += x; *to += b; }"#,
    )?;
    // SAFETY: an address of one number, eight numbers, and one.
    let sum = unsafe { module.kernel("sum")?.bind::<(DeviceBuffer<u32>, [u32; 8], u32)>()? };
    let (x, template) = (w.device.buffer::<u32>(1)?, w.device.template()?);
    // SAFETY: the buffer outlives the launches.
    let (eight, ones) = unsafe {
        template.record(&w.stream, |rec| {
            w.stream.fill(&x, 0)?;
            let (mut eight, mut ones) = (None, Vec::new());
            for i in 0..10 {
                sum.launch(&w.stream, &Launch::new(1, 1), (&x, [0; 8], 0))?;
                let node = rec.last_node(&w.stream)?;
                eight = Some(rec.parameter::<[u32; 8]>("eight", node.argument(1))?);
                ones.push(rec.parameter::<u32>(&format!("one {i}"), node.argument(2))?);
            }
            Ok((eight.expect("it was named"), ones))
        })?
    };
    let mut settings: Vec<_> = ones.iter().map(|one| one.value(100)).collect();
    settings.push(eight.value([1; 8]));
    template.launch(&w.stream, &settings)?;
    assert_eq!(read(&w, &x)?, [1080]);
    let graph = template.graph()?;
    graph.set_all(&settings[..10])?;
    graph.launch(&w.stream)?;
    assert_eq!(read(&w, &x)?, [1000]);
    Ok(())
}

// --- graphs ---

#[test]
fn a_new_recording_of_the_same_shape_updates_a_graph_in_place() -> Result<()> {
    let work = Work::new()?;
    let named = work.record(3, false)?;
    let (one, two) = (work.template.graph()?, work.template.graph()?);
    two.set(&named.factor, 6)?;
    work.record(5, false)?;
    assert_eq!(work.run(&one)?, (8, 8));
    let report = one.update()?;
    assert_eq!((report.rebuilt, report.reason()), (0, ""));
    assert_eq!((report.dropped, report.dropped_parameter(), report.dropped_reason()), (0, "", ""));
    two.update()?;
    assert_eq!((work.run(&one)?, work.run(&two)?), ((10, 10), (11, 11)));
    one.set(&named.factor, 1)?;
    assert_eq!(work.run(&one)?, (6, 6));
    assert_eq!((work.template.statistics()?.updates, work.template.statistics()?.rebuilds), (2, 0));
    Ok(())
}

#[test]
fn a_new_recording_of_another_shape_rebuilds_a_graph_and_says_why() -> Result<()> {
    let work = Work::new()?;
    let named = work.record(3, false)?;
    let graph = work.template.graph()?;
    graph.set(&named.begin, 2)?;
    assert_eq!(work.run(&graph)?, (11, 11));
    work.record(3, true)?;
    let report = graph.update()?;
    assert_eq!((report.rebuilt, report.node), (1, 3));
    assert!(format!("{report:?}").contains("node 3"), "{report:?}");
    assert_eq!(work.run(&graph)?, (38, 38));
    let statistics = work.template.statistics()?;
    assert_eq!(statistics.rebuilds, 1);
    assert_eq!(statistics.last_rebuild(), report.reason());
    Ok(())
}

#[test]
fn a_value_stays_only_where_its_parameter_means_the_same_and_what_is_dropped_is_named() -> Result<()> {
    let w = world();
    let template = w.device.template_builder().build()?;
    let x = w.device.buffer::<u32>(LEN)?;
    // SAFETY: the buffer outlives the graph.
    let named = unsafe {
        let node = template.add_fill(&[], &x, 1)?;
        template.parameter::<u32>("p", node.value())?
    };
    let graph = template.graph()?;
    graph.set(&named, 7)?;
    template.clear()?;
    // SAFETY: as above.
    unsafe {
        let node = template.add_fill(&[], &x, 1)?;
        template.parameter::<u32>("p", node.enabled())?;
    }
    let report = graph.update()?;
    assert_eq!((report.dropped, report.dropped_parameter()), (1, "p"));
    assert_eq!(report.dropped_reason(), "it was the value of a fill, and is the switch of a fill");
    let statistics = template.statistics()?;
    assert_eq!(statistics.dropped, 1);
    assert!(statistics.last_dropped().contains(report.dropped_reason()), "{statistics:?}");
    Ok(())
}

#[test]
fn a_template_is_launched_on_several_streams_each_launch_with_its_values() -> Result<()> {
    let w = world();
    let (template, affine) = (w.device.template_builder().max_instances(8).build()?, affine(&w)?);
    let x = w.device.buffer::<u32>(LEN)?;
    w.stream.fill(&x, 0)?.wait()?;
    // SAFETY: the buffer outlives the launches, which are waited for; addresses and counts stay within it.
    let (at, offset) = unsafe {
        let node = template.add_kernel(&[], &affine, &Launch::new(1, 1), (x.slice(..1), 1, 9))?;
        (template.parameter::<u64>("at", node.argument(0))?, template.parameter::<u32>("offset", node.argument(3))?)
    };
    template.prepare(2, &w.stream)?.wait()?;
    assert_eq!(template.statistics()?.pooled, 2);
    std::thread::scope(|scope| -> Result<()> {
        let threads: Vec<_> = (0..4)
            .map(|part| {
                let (at, offset, template, w, x) = (at.clone(), offset.clone(), &template, &w, &x);
                scope.spawn(move || -> Result<()> {
                    let stream = w.device.stream()?;
                    for i in part * 16..part * 16 + 15 {
                        let to = x.slice(i..).address();
                        template.launch(&stream, &[at.value(to), offset.value(i as u32 * 100)])?;
                    }
                    template.launch(&stream, &[at.value(x.slice(part * 16 + 15..).address())])?;
                    stream.wait()
                })
            })
            .collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("no panic"))
    })?;
    let expected: Vec<u32> = (0..LEN as u32).map(|i| if i % 16 == 15 { 9 } else { i * 100 }).collect();
    assert_eq!(read(&w, &x)?, expected);
    assert_eq!(template.statistics()?.launches, LEN as u64);
    Ok(())
}

#[test]
fn graphs_outlive_the_handles_of_what_they_were_made_of() -> Result<()> {
    let w = world();
    let x = w.device.buffer::<u32>(LEN)?;
    let graph = {
        let (affine, template, stream) = (affine(&w)?, w.device.template()?, w.device.stream()?);
        // SAFETY: the buffer outlives the launches.
        unsafe {
            template.record(&stream, |_| {
                stream.fill(&x, 4)?;
                affine.launch(&stream, &Launch::each(LEN, 32), (&x, 2, 1))?;
                Ok(())
            })?;
        }
        template.graph()?
    };
    assert!(!graph.native()?.is_null() && !graph.template().native()?.is_null());
    std::thread::scope(|scope| scope.spawn(|| graph.launch(&w.stream)?.wait()).join().expect("no panic"))?;
    assert_eq!(read(&w, &x)?, [9; LEN]);
    graph.upload(&w.stream)?;
    graph.launch(&w.stream)?;
    drop(graph);
    assert_eq!(read(&w, &x)?, [9; LEN]);
    Ok(())
}

#[test]
fn a_graph_is_not_launched_in_a_recording_but_its_templates_nodes_are_added_there() -> Result<()> {
    let work = Work::new()?;
    work.record(2, false)?;
    let (graph, outer, stream) = (work.template.graph()?, work.w.device.template()?, &work.w.stream);
    // SAFETY: what is recorded here never runs.
    let refused = unsafe {
        outer.record(stream, |_| {
            assert_eq!(kind(graph.launch(stream)), ErrorKind::CaptureRefused);
            Ok(())
        })
    };
    assert_eq!(kind(refused), ErrorKind::CaptureRefused);
    // SAFETY: the buffers outlive the launch.
    unsafe {
        outer.record(stream, |rec| {
            rec.set_last_node(stream, rec.add_child(&[], &work.template, "")?)?;
            work.affine.launch(stream, &Launch::each(LEN, 32), (&work.x, 10, 0))?;
            Ok(())
        })?;
    }
    assert_eq!(work.run(&outer.graph()?)?, (70, 70));
    Ok(())
}

#[test]
fn a_stream_of_another_runtime_is_refused() -> Result<()> {
    let work = Work::new()?;
    work.record(3, false)?;
    let graph = work.template.graph()?;
    let other: Stream = Runtime::new()?.open_device()?.stream()?;
    assert_eq!(kind(graph.launch(&other)), ErrorKind::InvalidHandle);
    assert_eq!(kind(graph.upload(&other)), ErrorKind::InvalidHandle);
    assert_eq!(kind(work.template.launch(&other, &[])), ErrorKind::InvalidHandle);
    assert_eq!(kind(work.template.prepare(1, &other)), ErrorKind::InvalidHandle);
    // SAFETY: it is refused.
    assert_eq!(kind(unsafe { work.template.record(&other, |_| Ok(())) }), ErrorKind::InvalidHandle);
    Ok(())
}

#[test]
fn a_host_calls_closure_goes_with_its_runtime() -> Result<()> {
    let w = world();
    let held = Arc::new(());
    let closure = |held: &Arc<()>| {
        let held = Arc::clone(held);
        move || assert_eq!(Arc::strong_count(&held), 2)
    };
    let template = w.device.template()?;
    template.add_host_call(&[], closure(&held))?;
    template.graph()?.launch(&w.stream)?;
    drop(template);
    w.stream.wait()?;
    assert_eq!(Arc::strong_count(&held), 2);
    w.runtime.shutdown(Duration::from_secs(20))?;
    drop(w);
    assert_eq!(Arc::strong_count(&held), 1);
    Ok(())
}
