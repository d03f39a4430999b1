//! Schedulers, which stay on the GPU and do the tasks of a queue.

mod world;

use gpuorch::queue::{HostRing, Ring};
use gpuorch::scheduler::{Resident, Scheduler, SchedulerBuilder, Workers};
use gpuorch::sys::{
    GPO_CANCELLED, GPO_END, GPO_SCHEDULER_DRAINING, GPO_SCHEDULER_GRAPHS, GPO_SCHEDULER_READY, GPO_SCHEDULER_RESIDENT,
    GPO_SCHEDULER_RUNNING, GPO_SCHEDULER_STOPPING, GPO_SCHEDULER_WHILE, GPO_SUCCESS, GPO_TIMEOUT,
};
use gpuorch::{DeviceBuffer, ErrorKind, Launch, Object, Result};
use std::time::{Duration, Instant};
use world::recorded::kind;
use world::{World, world};

const PATIENCE: Duration = Duration::from_secs(60);

gpuorch::task! {
    /// A task with a number for its handler.
    struct Number { handler: u32, number: u32, more: [u32; 2] }
}

fn number(handler: u32, number: u32) -> Number {
    Number { handler, number, more: [8, 9] }
}

/// `visit` pushes the children of a node of a tree, and adds the node's number. `fail` returns the number.
const TREE: &str = r#"
#include <gpuorch/device/scheduler.cuh>
__device__ int visit(gpo::task_context &at, const Number &node) {
    if (at.thread() == 0) atomicAdd(at.argument<unsigned>(), node.number);
    if (node.number >= LEAVES) return 0;
    int status = 0;
    for (unsigned i = at.thread(); i < 2; i += at.threads())
        status |= at.push(Number{0, 2 * node.number + i, {}});
    return status;
}
__device__ int fail(gpo::task_context &at, const Number &task) { return at.thread() == 0 ? (int)task.number : 0; }
"#;

/// A tree with `LEAVES` leaves: its number of nodes, and the sum of the nodes' numbers.
const LEAVES: u32 = 128;
const NODES: u32 = 2 * LEAVES - 1;
const SUM: u32 = NODES * (NODES + 1) / 2;

/// Fewer blocks and threads than possible: the tests run beside others.
fn small(builder: SchedulerBuilder<'_, Resident>) -> SchedulerBuilder<'_, Resident> {
    builder.declaration(Number::declaration()).threads(64).multiprocessors(2)
}

struct Tree {
    w: World,
    ring: Ring<Number>,
    sum: DeviceBuffer<u32>,
}

impl Tree {
    fn new() -> Result<Self> {
        let w = world();
        let (ring, sum) = (w.device.ring().capacity(1024).label("nodes").build()?, w.device.buffer(1)?);
        w.stream.fill(&sum, 0)?.wait()?;
        Ok(Self { w, ring, sum })
    }

    fn builder(&self) -> SchedulerBuilder<'_, Resident> {
        let builder = small(self.ring.scheduler(TREE)).handler("visit").handler("fail");
        builder.compile_option(format!("-DLEAVES={LEAVES}")).argument(self.sum.address()).label("visitor")
    }

    fn scheduler(&self) -> Result<Scheduler> {
        // SAFETY: the handlers add to one number, and each test waits for the end of its runs.
        unsafe { self.builder().build() }
    }

    fn push(&self, tasks: &[Number]) -> Result<()> {
        self.ring.push(&self.w.stream, tasks)?.wait()
    }

    fn sum(&self) -> Result<u32> {
        Ok(self.w.stream.copy_to_host(&self.sum, vec![0])?.wait()?[0])
    }
}

#[test]
fn tasks_push_tasks_and_a_scheduler_drains_run_after_run() -> Result<()> {
    for (workers, of_block) in [(Workers::Threads, 64), (Workers::Warps, 2), (Workers::Blocks, 1)] {
        let tree = Tree::new()?;
        // SAFETY: as in `scheduler`.
        let scheduler = unsafe { tree.builder().workers(workers).build()? };
        assert_eq!((scheduler.label()?.as_str(), kind(scheduler.drain())), ("visitor", ErrorKind::InvalidState));
        for run in 1..=3 {
            scheduler.start()?;
            assert_eq!(
                (kind(scheduler.start()), scheduler.info()?.state),
                (ErrorKind::InvalidState, GPO_SCHEDULER_RUNNING)
            );
            tree.push(&[number(0, 1)])?;
            scheduler.drain_for(PATIENCE)?;
            scheduler.wait()?;
            assert_eq!(tree.sum()?, run * SUM, "{workers:?}");
            let info = scheduler.info()?;
            assert_eq!(
                (info.form, info.state, info.last_end),
                (GPO_SCHEDULER_RESIDENT, GPO_SCHEDULER_READY, GPO_SUCCESS)
            );
            assert_eq!((info.runs, info.tasks, info.errors), (run.into(), u64::from(run * NODES), 0), "{info:?}");
            assert_eq!((info.blocks, info.workers, info.handlers), (2, 2 * of_block, 2));
        }
        assert_eq!(tree.ring.info()?.done, 3 * u64::from(NODES));
    }
    Ok(())
}

#[test]
fn figures_are_of_handlers_blocks_and_times() -> Result<()> {
    let tree = Tree::new()?;
    // SAFETY: as in `scheduler`.
    let scheduler = unsafe { tree.builder().sample_interval(Duration::from_nanos(1000)).build()? };
    scheduler.start()?;
    tree.push(&[number(0, 1), number(1, 0)])?;
    scheduler.drain()?;
    let (visits, fails) = (scheduler.handler(0)?, scheduler.handler(1)?);
    assert_eq!((visits.tasks, visits.errors, fails.tasks, fails.errors), (NODES.into(), 0, 1, 0));
    assert_eq!(kind(scheduler.handler(2)), ErrorKind::InvalidArgument);
    let (info, blocks) = (scheduler.info()?, scheduler.blocks()?);
    assert_eq!(blocks.len(), 2);
    assert_eq!(blocks.iter().map(|block| block.tasks).sum::<u64>(), info.tasks);
    assert_eq!(blocks.iter().map(|block| block.busy_ns).sum::<u64>(), info.busy_ns);
    assert!(info.busy_ns > 0 && info.busy_ns <= info.worker_ns && info.device_bytes > 0, "{info:?}");
    assert!(visits.busy_ns > 0 && visits.busy_ns <= info.busy_ns, "{visits:?}");
    let samples = scheduler.samples()?;
    assert!(!samples.is_empty() && samples.len() <= 1024);
    assert!(samples.iter().all(|sample| sample.run == 1) && samples.is_sorted_by_key(|sample| sample.time_ns));
    Ok(())
}

#[test]
fn errors_name_the_task_and_the_others_are_done() -> Result<()> {
    let tree = Tree::new()?;
    // SAFETY: as in `scheduler`.
    let scheduler = unsafe { tree.builder().max_errors(3).build()? };
    let failed = ErrorKind::Failed.status().expect("a status") as u32;
    tree.push(&[number(0, LEAVES), number(1, failed), number(7, 1), number(0, LEAVES + 1)])?;
    scheduler.start()?;
    scheduler.drain()?;
    let mut errors = scheduler.errors()?;
    errors.sort_by_key(|error| error.handler); // they are of two workers
    let seen: Vec<_> = errors.iter().map(|error| (error.handler, error.kind(), error.position, error.task)).collect();
    assert_eq!(seen, [(1, ErrorKind::Failed, 1, [1, failed, 8, 9]), (7, ErrorKind::NotFound, 2, [7, 1, 8, 9])]);
    assert_eq!((tree.sum()?, scheduler.handler(1)?.errors), (2 * LEAVES + 1, 1));
    tree.push(&[number(9, 0); 5])?;
    scheduler.start()?;
    scheduler.drain()?;
    assert_eq!((scheduler.errors()?.len(), scheduler.info()?.errors, scheduler.info()?.tasks), (3, 7, 9));
    Ok(())
}

#[test]
fn as_many_errors_are_given_as_are_stored() -> Result<()> {
    let tree = Tree::new()?;
    // SAFETY: as in `scheduler`.
    let scheduler = unsafe { tree.builder().max_errors(600).build()? };
    tree.push(&[number(9, 0); 700])?;
    scheduler.start()?;
    scheduler.drain()?;
    assert_eq!((scheduler.errors()?.len(), scheduler.info()?.errors), (600, 700));
    assert!(scheduler.errors()?.iter().all(|error| error.handler == 9 && error.kind() == ErrorKind::NotFound));
    Ok(())
}

#[test]
fn a_run_ends_idle_or_when_its_ring_is_at_its_end() -> Result<()> {
    let tree = Tree::new()?;
    // SAFETY: as in `scheduler`.
    let scheduler = unsafe { tree.builder().idle_timeout(Duration::from_millis(20)).build()? };
    scheduler.start()?;
    scheduler.wait_for(PATIENCE)?;
    assert_eq!(scheduler.info()?.last_end, GPO_TIMEOUT);
    tree.push(&[number(0, 1)])?;
    tree.ring.close()?;
    scheduler.start()?;
    scheduler.wait_for(PATIENCE)?;
    assert_eq!((scheduler.info()?.last_end, tree.sum()?), (GPO_END, SUM));
    let error = scheduler.start().unwrap_err();
    assert!(error.kind() == ErrorKind::InvalidState && error.message().contains("closed"), "{error}");
    tree.ring.reset(&tree.w.stream)?.wait()?;
    scheduler.start()?;
    tree.ring.abort()?;
    scheduler.wait_for(PATIENCE)?;
    assert_eq!(scheduler.info()?.last_end, GPO_CANCELLED);
    Ok(())
}

/// Waits until the host says go; with a number also until the scheduler stops. Counts tasks that begin and that end.
const GATE: &str = r#"
#include <gpuorch/device/scheduler.cuh>
__device__ int wait_for_host(gpo::task_context &at, const Number &task) {
    volatile unsigned *const words = at.argument<volatile unsigned>();
    if (at.thread() == 0) atomicAdd((unsigned *)&words[1], 1u);
    while (words[0] == 0 && !(task.number && at.stopping())) { }
    if (at.thread() == 0) atomicAdd((unsigned *)&words[2], 1u);
    return 0;
}
"#;

struct Gate {
    w: World,
    ring: Ring<Number>,
    words: DeviceBuffer<u32>,
}

impl Gate {
    fn new() -> Result<Self> {
        let w = world();
        let words = w.device.buffer(3)?;
        w.stream.fill(&words, 0)?.wait()?;
        Ok(Self { ring: w.device.ring().capacity(64).build()?, words, w })
    }

    fn scheduler(&self) -> Result<Scheduler> {
        let builder = small(self.ring.scheduler(GATE)).handler("wait_for_host").argument(self.words.address());
        // SAFETY: the handler uses three words, which stay until the runs have ended.
        unsafe { builder.threads(32).multiprocessors(1).build() }
    }

    fn go(&self) -> Result<()> {
        self.w.stream.fill(self.words.slice(..1), 1)?.wait()
    }
}

/// Waits until a word isn't 0, and returns the word.
fn awaited(w: &World, words: &DeviceBuffer<u32>, index: usize) -> Result<u32> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let word = w.stream.copy_to_host(words.slice(index..index + 1), vec![0])?.wait()?[0];
        if word != 0 {
            return Ok(word);
        }
        assert!(Instant::now() < deadline, "word {index} is 0");
        std::thread::sleep(Duration::from_micros(200));
    }
}

#[test]
fn a_scheduler_that_is_stopped_leaves_the_tasks_that_have_not_begun() -> Result<()> {
    let gate = Gate::new()?;
    let scheduler = gate.scheduler()?;
    scheduler.stop()?; // it doesn't run
    gate.ring.push(&gate.w.stream, &[number(0, 0); 3])?.wait()?;
    scheduler.start()?;
    awaited(&gate.w, &gate.words, 1)?;
    let soon = Duration::from_millis(1);
    assert_eq!(kind(scheduler.drain_for(soon)), ErrorKind::Timeout);
    assert_eq!(scheduler.info()?.state, GPO_SCHEDULER_DRAINING);
    assert_eq!(kind(scheduler.stop_for(soon)), ErrorKind::Timeout);
    assert_eq!(scheduler.info()?.state, GPO_SCHEDULER_STOPPING);
    assert_eq!(kind(scheduler.wait_for(soon)), ErrorKind::Timeout);
    gate.go()?;
    scheduler.stop_for(PATIENCE)?;
    assert_eq!(kind(scheduler.drain()), ErrorKind::Cancelled);
    let info = scheduler.info()?;
    assert_eq!((awaited(&gate.w, &gate.words, 1)?, info.depth, info.last_end), (1, 2, GPO_CANCELLED));
    scheduler.start()?;
    scheduler.drain()?;
    assert_eq!((awaited(&gate.w, &gate.words, 1)?, scheduler.info()?.tasks), (3, 3));
    Ok(())
}

#[test]
fn a_scheduler_keeps_its_queue_and_is_stopped_when_it_is_dropped_or_the_runtime_shuts_down() -> Result<()> {
    for drops in [true, false] {
        let gate = Gate::new()?;
        let scheduler = gate.scheduler()?;
        gate.ring.push(&gate.w.stream, &[number(0, 1); 3])?.wait()?;
        scheduler.start()?;
        let Gate { w, ring, words } = gate;
        assert_eq!(awaited(&w, &words, 1)?, 1);
        drop(ring);
        assert_eq!(kind(scheduler.wait_for(Duration::from_millis(5))), ErrorKind::Timeout);
        if drops {
            drop(scheduler);
            assert_eq!((awaited(&w, &words, 2)?, awaited(&w, &words, 1)?), (1, 1));
        } else {
            w.runtime.shutdown(PATIENCE)?;
            assert_eq!(kind(scheduler.info()), ErrorKind::InvalidHandle);
        }
    }
    Ok(())
}

#[test]
fn a_while_does_tasks_that_push_tasks_in_turns() -> Result<()> {
    let tree = Tree::new()?;
    let builder = tree.ring.while_scheduler(TREE).declaration(Number::declaration()).handler("visit").handler("fail");
    let builder = builder.compile_option(format!("-DLEAVES={LEAVES}")).argument(tree.sum.address());
    // SAFETY: as in `scheduler`.
    let scheduler = unsafe { builder.threads(64).multiprocessors(2).batch(3).build()? };
    for run in 1..=2 {
        scheduler.start()?;
        tree.push(&[number(0, 1)])?;
        scheduler.drain_for(PATIENCE)?;
        let info = scheduler.info()?;
        assert_eq!((tree.sum()?, info.form, info.tasks), (run * SUM, GPO_SCHEDULER_WHILE, u64::from(run * NODES)));
        assert!(info.steps > u64::from(2 * run), "{info:?}");
    }
    Ok(())
}

#[test]
fn tasks_are_graphs_that_a_step_launches() -> Result<()> {
    const GRAPHS: usize = 3;
    let w = world();
    let source = format!(
        "{}extern \"C\" __global__ void add(const Number *tasks, unsigned i, unsigned *sum) {{
             atomicAdd(sum, tasks[i].number);
         }}",
        Number::declaration()
    );
    // SAFETY: addresses of three tasks and of a number, and which of the tasks is the graph's.
    let add =
        unsafe { w.device.compile(&source)?.kernel("add")?.bind::<(DeviceBuffer<Number>, u32, DeviceBuffer<u32>)>()? };
    let (tasks, sum) = (w.device.buffer::<Number>(GRAPHS)?, w.device.buffer::<u32>(1)?);
    w.stream.fill(&sum, 0)?.wait()?;
    let mut graphs = Vec::new();
    for i in 0..GRAPHS as u32 {
        let template = w.device.template()?;
        // SAFETY: the buffers are dropped when the runs have ended.
        unsafe { template.add_kernel(&[], &add, &Launch::new(1, 1), (&tasks, i, &sum))? };
        graphs.push(template.graph_builder().device_launch().build()?);
    }
    let ring = w.device.ring::<Number>().capacity(256).build()?;
    let (few, plain) = (w.device.buffer::<Number>(GRAPHS - 1)?, graphs[0].template().graph()?);
    // SAFETY: they are refused.
    let (short, other) = unsafe {
        let short = ring.graph_scheduler().graphs("add", &graphs, Some(&few)).build().unwrap_err();
        (short, ring.graph_scheduler().graphs("add", [&plain], None).build().unwrap_err())
    };
    assert!(short.kind() == ErrorKind::InvalidArgument && short.message().contains("`add` has 3 graphs"), "{short}");
    assert_eq!(other.kind(), ErrorKind::InvalidState);
    // SAFETY: the buffers are dropped when the runs have ended.
    let scheduler = unsafe { ring.graph_scheduler().graphs("add", &graphs, Some(&tasks)).batch(60).build()? };
    drop(graphs);
    for run in 1..=2 {
        scheduler.start()?;
        let posted: Vec<_> = (1..=20).map(|i| number(0, i)).chain([number(4, 0)]).collect();
        ring.push(&w.stream, &posted)?.wait()?;
        scheduler.drain_for(PATIENCE)?;
        assert_eq!(w.stream.copy_to_host(&sum, vec![0])?.wait()?, [run * 210]);
        let info = scheduler.info()?;
        assert_eq!((info.form, info.tasks, info.errors), (GPO_SCHEDULER_GRAPHS, u64::from(run) * 21, run.into()));
        assert!(info.steps >= u64::from(run) * 7, "{info:?}"); // of three graphs each
    }
    assert_eq!((scheduler.errors()?[0].handler, scheduler.errors()?[0].kind()), (4, ErrorKind::NotFound));
    Ok(())
}

/// Adds a request's number once more in each turn, and answers with the sum and the status 3.
const SERVER: &str = r#"
#include <gpuorch/device/scheduler.cuh>
__device__ int count(gpo::task_context &at, const Number &task) {
    Number next = task;
    next.more[1] += task.number;
    if (next.more[0]-- == 0) return at.answer(next.more[1], 3);
    return at.again(next);
}
__device__ int fail(gpo::task_context &at, const Number &task) { return (int)task.number; }
"#;

#[test]
fn requests_of_a_host_ring_are_answered_after_many_turns() -> Result<()> {
    let w = world();
    let resident = w.device.stream_builder().resident().build()?;
    let requests: HostRing<Number, u32> = w.device.host_ring(&resident).capacity(64).tenants(2).build()?;
    let builder = small(requests.scheduler(SERVER)).handler("count").handler("fail").label("server");
    // SAFETY: the handlers use nothing but their tasks.
    let scheduler = unsafe { builder.multiprocessors(1).build()? };
    scheduler.start()?;
    let ask = |tenant: u32, task: Number| -> Result<(u64, u32, Option<i32>)> {
        let tenant = requests.tenant(tenant);
        assert_eq!(tenant.post(&[task], 77)?, 1);
        tenant.wait_for(PATIENCE)?;
        let answer = tenant.take(2)?[0];
        Ok((answer.user_data, answer.value, answer.failed().and_then(ErrorKind::status)))
    };
    let counted = |number: u32, turns: u32| Number { handler: 0, number, more: [turns - 1, 0] };
    assert_eq!(ask(0, counted(7, 100))?, (77, 700, Some(3)));
    assert_eq!(ask(1, counted(5, 1))?, (77, 5, Some(3)));
    assert_eq!(ask(0, number(1, 41))?, (77, 0, Some(41)));
    assert_eq!(ask(1, number(9, 0))?, (77, 0, ErrorKind::NotFound.status()));
    assert_eq!(requests.post(&[counted(1, 4); 20], 0)?, 20);
    scheduler.drain_for(PATIENCE)?;
    assert_eq!(requests.take(64)?.iter().map(|answer| answer.value).collect::<Vec<_>>(), [4; 20]);
    let info = scheduler.info()?;
    assert_eq!((info.tasks, info.errors, info.blocks), (100 + 1 + 1 + 1 + 80, 2, 2), "{info:?}");
    assert_eq!(scheduler.errors()?[1].handler, 9);
    scheduler.start()?;
    requests.close()?;
    scheduler.wait_for(PATIENCE)?;
    assert_eq!(scheduler.info()?.last_end, GPO_END);
    Ok(())
}

#[test]
fn what_can_not_be_a_scheduler_is_refused_and_named() -> Result<()> {
    let tree = Tree::new()?;
    let refused = |builder: SchedulerBuilder<'_, Resident>| {
        // SAFETY: it is refused.
        let error = unsafe { builder.build() }.unwrap_err();
        assert_eq!(error.function(), "gpo_scheduler_create");
        (error.kind(), error.message().to_owned())
    };
    for (builder, named) in [
        (tree.builder().threads(33), "options.threads is 33"),
        (tree.builder().max_errors(4097), "options.max_errors is 4097"),
        (tree.builder().handler("no name"), "`no name`"),
        (tree.builder().leave_free(1 << 20), "options.leave_free"),
        (tree.builder().label("a\0b"), "NUL"),
        (small(tree.ring.scheduler(TREE)), "count is 0"),
    ] {
        let (kind, message) = refused(builder);
        assert!(kind == ErrorKind::InvalidArgument && message.contains(named), "{message}");
    }
    assert_eq!(refused(tree.builder().multiprocessors(1 << 20)).0, ErrorKind::LimitExceeded);
    assert_eq!(refused(tree.builder().handler("nobody")).0, ErrorKind::CompileFailed);
    assert!(gpuorch::compile_log()?.contains("nobody"));
    // Compiler messages have the program's lines and file name for the source.
    let source = TREE.replace("__device__ int fail", "wrong");
    let line = source.lines().position(|line| line.starts_with("wrong")).expect("the line") + 1;
    assert_eq!(
        refused(small(tree.ring.scheduler(&source)).compile_option("-DLEAVES=1").handler("visit").file_name("mine.cu"))
            .0,
        ErrorKind::CompileFailed
    );
    let log = gpuorch::compile_log()?;
    assert!(log.contains(&format!("mine.cu:{line}")) || log.contains(&format!("mine.cu({line})")), "{log}");
    let tickets = tree.w.device.ring::<Number>().tickets().build()?;
    assert_eq!(refused(small(tickets.scheduler(TREE)).handler("visit")).0, ErrorKind::NotSupported);
    let _first = tree.scheduler()?;
    let (kind, message) = refused(tree.builder());
    assert!(kind == ErrorKind::InvalidState && message.contains("visitor"), "{message}");
    Ok(())
}

#[test]
fn a_handler_of_another_layout_does_not_compile() -> Result<()> {
    let tree = Tree::new()?;
    let other = Number::declaration().replace("unsigned number", "unsigned long long number");
    assert_ne!(other, Number::declaration());
    let builder = tree.ring.scheduler(TREE).declaration(other).compile_option("-DLEAVES=1").handler("visit");
    // SAFETY: it is refused.
    let refused = unsafe { builder.threads(64).multiprocessors(1).build() };
    assert_eq!(kind(refused), ErrorKind::CompileFailed);
    assert!(gpuorch::compile_log()?.contains("Number is as in Rust"), "{}", gpuorch::compile_log()?);
    Ok(())
}
