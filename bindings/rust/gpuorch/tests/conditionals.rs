//! Conditional nodes of templates, and graphs that kernels launch.

mod world;

use gpuorch::template::{Condition, DeviceGraph, LoopRuns, Node};
use gpuorch::{BoundKernel, DeviceBuffer, ErrorKind, Graph, Launch, Result, Template};
use world::recorded::{kind, read};
use world::{World, world};

const SOURCE: &str = r#"
#include <gpuorch/device/graph.cuh>
extern "C" __global__ void add(unsigned *target, unsigned value) { *target += value; }
extern "C" __global__ void count_down(gpo::condition again, unsigned *left, unsigned *runs) {
    ++*runs;
    gpo::set_condition(again, --*left != 0);
}
extern "C" __global__ void launch(gpo::device_graph graph, unsigned times, unsigned *failed) {
    for (unsigned i = 0; i < times; ++i) *failed += gpo::launch_tail(graph) != 0;
}
"#;

const WORDS: usize = 8;

/// Words that kernels of one thread add to.
struct Built {
    w: World,
    words: DeviceBuffer<u32>,
    add: BoundKernel<(DeviceBuffer<u32>, u32)>,
    template: Template,
}

impl Built {
    fn new() -> Result<Self> {
        let w = world();
        let words = w.device.buffer(WORDS)?;
        w.stream.fill(&words, 0)?;
        // SAFETY: the address of an element, and a number.
        let add = unsafe { w.device.compile(SOURCE)?.kernel("add")?.bind()? };
        Ok(Self { words, add, template: w.device.template()?, w })
    }

    fn at(&self, word: usize) -> u64 {
        self.words.address() + 4 * word as u64
    }

    /// Adds a kernel that adds to a word.
    fn adds(&self, to: &Template, after: &[Node], word: usize, value: u32) -> Result<Node> {
        // SAFETY: the buffer outlives the launches: reads wait for them.
        unsafe { to.add_kernel(after, &self.add, &one(), (self.words.slice(word..), value)) }
    }

    fn set(&self, word: usize, value: u32) -> Result<()> {
        self.w.stream.fill(self.words.slice(word..=word), value)?;
        Ok(())
    }

    fn run(&self, graph: &Graph) -> Result<Vec<u32>> {
        graph.launch(&self.w.stream)?;
        read(&self.w, &self.words)
    }
}

fn one() -> Launch<'static> {
    Launch::new(1, 1)
}

// --- conditional nodes ---

#[test]
fn an_if_runs_its_body_or_the_other_one_or_nothing() -> Result<()> {
    let built = Built::new()?;
    let template = &built.template;
    // SAFETY: the words outlive the launches.
    unsafe {
        let (body, otherwise, node) = template.add_if_else(&[], Condition::less(built.at(0), 10))?;
        built.adds(&body, &[], 1, 1)?;
        built.adds(&otherwise, &[], 2, 1)?;
        for (word, condition) in [
            (3, Condition::equal(built.at(0), 10)),
            (4, Condition::not_equal(built.at(0), 10)),
            (5, Condition::greater_equal(built.at(0), 10)),
            (6, Condition::value(built.at(0))),
        ] {
            let (body, _) = template.add_if(&[node], condition)?;
            built.adds(&body, &[], word, 1)?;
        }
    }
    let graph = template.graph()?;
    assert_eq!(built.run(&graph)?[1..7], [1, 0, 0, 1, 0, 0]);
    built.set(0, 10)?;
    assert_eq!(built.run(&graph)?[1..7], [1, 1, 1, 1, 1, 1]);
    built.set(0, 11)?;
    assert_eq!(built.run(&graph)?[1..7], [1, 2, 1, 2, 2, 2]);
    Ok(())
}

#[test]
fn a_while_runs_until_its_word_says_so_or_its_limit_ends_it() -> Result<()> {
    let built = Built::new()?;
    let template = &built.template;
    // SAFETY: the words outlive the launches.
    let (counts, endless) = unsafe {
        let (body, counts) = template.add_while(&[], Condition::less(built.at(0), 100).max_iterations(1000))?;
        built.adds(&body, &[], 0, 1)?;
        let (body, endless) = template.add_while(&[counts], Condition::equal(built.at(7), 0).max_iterations(17))?;
        built.adds(&body, &[], 1, 2)?;
        (counts, endless)
    };
    let graph = template.graph()?;
    assert_eq!(built.run(&graph)?[..2], [100, 34]);
    assert_eq!(graph.loop_runs(template, counts)?, LoopRuns { iterations: 100, limited: false });
    assert_eq!(graph.loop_runs(template, endless)?, LoopRuns { iterations: 17, limited: true });
    assert_eq!(built.run(&graph)?[..2], [100, 68]);
    assert_eq!(graph.loop_runs(template, counts)?.iterations, 0);
    Ok(())
}

#[test]
fn a_switch_runs_the_body_that_its_word_names() -> Result<()> {
    let built = Built::new()?;
    // SAFETY: the words outlive the launches.
    let (bodies, _) = unsafe { built.template.add_switch(&[], Condition::value(built.at(0)), 3)? };
    assert_eq!(bodies.len(), 3);
    for (word, body) in (1..).zip(&bodies) {
        built.adds(body, &[], word, 5)?;
    }
    drop(bodies);
    let graph = built.template.graph()?;
    assert_eq!(built.run(&graph)?[1..4], [5, 0, 0]);
    for (value, outcome) in [(2, [5, 0, 5]), (1, [5, 5, 5]), (3, [5, 5, 5])] {
        built.set(0, value)?;
        assert_eq!(built.run(&graph)?[1..4], outcome);
    }
    Ok(())
}

#[test]
fn a_kernel_decides_a_loop() -> Result<()> {
    let built = Built::new()?;
    let (template, words) = (&built.template, &built.words);
    // SAFETY: a condition, and the addresses of two elements. The words outlive the launches.
    let node = unsafe {
        let count_down: BoundKernel<(u64, DeviceBuffer<u32>, DeviceBuffer<u32>)> =
            built.w.device.compile(SOURCE)?.kernel("count_down")?.bind()?;
        let (body, node) = template.add_while(&[], Condition::kernel(1))?;
        let kernel = body.add_kernel(&[], &count_down, &one(), (0, words.slice(0..), words.slice(1..)))?;
        template.bind_condition(node, &body, kernel, 0)?;
        assert_eq!(kind(template.bind_condition(node, &body, kernel, 3)), ErrorKind::InvalidArgument);
        assert_eq!(kind(template.bind_condition(node, template, node, 0)), ErrorKind::InvalidArgument);
        assert_eq!(kind(body.bind_condition(kernel, &body, kernel, 0)), ErrorKind::InvalidArgument);
        node
    };
    built.set(0, 5)?;
    let graph = template.graph()?;
    assert_eq!(built.run(&graph)?[..2], [0, 5]);
    assert_eq!(graph.loop_runs(template, node)?.iterations, 5);
    Ok(())
}

#[test]
fn conditional_nodes_nest_and_parameters_of_bodies_are_the_templates() -> Result<()> {
    let built = Built::new()?;
    let template = &built.template;
    // SAFETY: the words outlive the launches, and any number can be added.
    let (rows, columns) = unsafe {
        let (rows, _) = template.add_while(&[], Condition::less(built.at(0), 3))?;
        let reset = rows.add_fill(&[], built.words.slice(1..2), 0)?;
        let (body, columns) = rows.add_while(&[reset], Condition::less(built.at(1), 4))?;
        built.adds(&body, &[], 1, 1)?;
        let total = built.adds(&body, &[], 2, 1)?;
        body.parameter("step", total.argument::<u32>(1))?;
        built.adds(&rows, &[columns], 0, 1)?;
        (rows, columns)
    };
    let graph = template.graph()?;
    assert_eq!(built.run(&graph)?[2], 12);
    graph.set(&template.find_parameter("step")?, 10u32)?;
    built.set(0, 0)?;
    assert_eq!(built.run(&graph)?[2], 132);
    assert_eq!(graph.loop_runs(&rows, columns)?.iterations, 4);
    Ok(())
}

#[test]
fn a_conditional_takes_its_place_in_a_recording_and_its_body_is_recorded() -> Result<()> {
    let built = Built::new()?;
    let (stream, beside) = (&built.w.stream, built.w.device.stream()?);
    // SAFETY: the words outlive the launches.
    unsafe {
        built.template.record(stream, |rec| {
            stream.fill(built.words.slice(..2), 3)?;
            let (body, node) = rec.add_while(&[rec.last_node(stream)?], Condition::less(built.at(0), 8))?;
            rec.set_last_node(stream, node)?;
            stream.copy_on_device(built.words.slice(..1), built.words.slice(2..3))?;
            body.record(&beside, |_| {
                built.add.launch(&beside, &one(), (built.words.slice(0..), 2))?;
                built.add.launch(&beside, &one(), (built.words.slice(1..), 1))?;
                Ok(())
            })
        })?;
    }
    assert_eq!(built.run(&built.template.graph()?)?[..3], [9, 6, 9]);
    Ok(())
}

#[test]
fn what_can_not_be_decided_or_be_in_a_body_is_refused() -> Result<()> {
    let built = Built::new()?;
    let (template, pageable) = (&built.template, [0u32; 1]);
    // SAFETY: all nodes but one are refused, and its word outlives the launches.
    let (body, node) = unsafe {
        for condition in [
            Condition::equal(built.at(0) + 2, 0),
            Condition::equal(0, 0),
            Condition::equal(pageable.as_ptr() as u64, 0),
            Condition::equal(built.at(0), 0).max_iterations(5),
        ] {
            assert_eq!(kind(template.add_if(&[], condition)), ErrorKind::InvalidArgument, "{condition:?}");
            assert_eq!(kind(template.add_if_else(&[], condition)), ErrorKind::InvalidArgument, "{condition:?}");
        }
        let word = Condition::value(built.at(0));
        assert_eq!(kind(template.add_while(&[], word.max_iterations(1 << 32))), ErrorKind::InvalidArgument);
        for count in [0, 1025, u32::MAX] {
            assert_eq!(kind(template.add_switch(&[], word, count)), ErrorKind::InvalidArgument, "{count}");
        }
        assert_eq!(template.statistics()?.nodes, 0);
        template.add_if(&[], word)?
    };
    let event = built.w.device.event()?;
    let refused = body.add_event_record(&[], &event).unwrap_err();
    assert!(refused.kind() == ErrorKind::NotSupported && refused.message().contains("event"), "{refused}");
    assert_eq!(kind(body.add_host_call(&[], || ())), ErrorKind::NotSupported);
    assert_eq!(kind(body.graph()), ErrorKind::InvalidState);
    assert_eq!(kind(body.launch(&built.w.stream, &[])), ErrorKind::InvalidState);
    built.adds(&body, &[], 1, 3)?;
    built.set(0, 1)?;
    let graph = template.graph()?;
    assert_eq!(built.run(&graph)?[1], 3);
    assert_eq!(kind(graph.loop_runs(template, node)), ErrorKind::InvalidArgument);
    assert_eq!(kind(body.add_empty(&[])), ErrorKind::InvalidState);
    Ok(())
}

// --- launches by kernels ---

#[test]
fn a_kernel_launches_a_graph_and_one_launch_too_many_is_seen() -> Result<()> {
    let built = Built::new()?;
    let (template, device) = (&built.template, &built.w.device);
    built.adds(template, &[], 0, 1)?;
    let child = template.graph_builder().device_launch().build()?;
    let parent = device.template()?;
    // SAFETY: a graph, a number and the address of an element; graph and words outlive the launches.
    let (handle, times) = unsafe {
        let launch: BoundKernel<(DeviceGraph, u32, DeviceBuffer<u32>)> =
            device.compile(SOURCE)?.kernel("launch")?.bind()?;
        let handle = child.device_handle()?;
        let kernel = parent.add_kernel(&[], &launch, &one(), (handle, 1, built.words.slice(1..)))?;
        (handle, parent.parameter("times", kernel.argument::<u32>(1))?)
    };
    assert_eq!(handle.native(), child.native()? as u64);
    assert_ne!(handle.status(), 0);
    let graph = parent.graph()?;
    assert_eq!((built.run(&graph)?[..2].to_vec(), child.device_status()?), (vec![1, 0], None));
    graph.set(&times, 2)?;
    assert_eq!(built.run(&graph)?[..2], [2, 1]);
    assert_eq!(child.device_status()?, Some(ErrorKind::LimitExceeded));
    assert_eq!(child.device_status()?, None);
    Ok(())
}

#[test]
fn graphs_that_were_not_made_for_launches_by_kernels_are_refused() -> Result<()> {
    let built = Built::new()?;
    let template = &built.template;
    assert_eq!(kind(template.graph_builder().device_launch().build()), ErrorKind::InvalidArgument);
    template.clear()?;
    built.adds(template, &[], 0, 1)?;
    let plain = template.graph()?;
    // SAFETY: it is refused.
    assert_eq!(kind(unsafe { plain.device_handle() }), ErrorKind::InvalidState);
    assert_eq!(kind(plain.device_status()), ErrorKind::InvalidState);
    template.clear()?;
    template.add_host_call(&[], || ())?;
    let refused = template.graph_builder().device_launch().build().unwrap_err();
    assert!(refused.kind() == ErrorKind::NotSupported && refused.message().contains("host call"), "{refused}");
    Ok(())
}
