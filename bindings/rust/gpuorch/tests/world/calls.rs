//! A call of every function that the crate has, on objects made for it, by the names that C has for them.

use super::{SOURCE, World};
use gpuorch::advice::Workload;
use gpuorch::batcher::{Batcher, Key};
use gpuorch::peers::{Collective, Part, Peers, PeersId, RankLaunch, Reduction, Symmetric};
use gpuorch::pipeline::{Input, Output, Sink, Source, Stage};
use gpuorch::queue::{HostRing, Range, Ring};
use gpuorch::scheduler::Scheduler;
use gpuorch::template::{Condition, Node, Parameter, PictureFormat, Recording};
use gpuorch::{
    Admission, Arena, BoundKernel, Buckets, CompletionQueue, Device, DeviceBuffer, DeviceLimit, Error, ErrorKind,
    Event, Executor, Failed, Graph, Launch, Module, Object, Pipeline, Pool, Request, Result, Runtime, Slice, Stream,
    StreamPool, Template, Timeline,
};
use std::time::{Duration, Instant};

pub struct Calls {
    runtime: Runtime,
    device: Device,
    stream: Stream,
    other: Stream,
    streams: StreamPool,
    acquired: Stream,
    event: Event,
    admission: Admission,
    batcher: Batcher,
    key: Key<f32, f32>,
    timeline: Timeline,
    fails: Timeline,
    queue: CompletionQueue,
    executor: Executor,
    arena: Arena,
    pool: Pool,
    x: DeviceBuffer<u8>,
    y: DeviceBuffer<u8>,
    module: Module,
    scale: BoundKernel<(Slice<f32>, f32)>,
    fill: BoundKernel<(DeviceBuffer<u32>, u32, u64)>,
    floats: DeviceBuffer<f32>,
    pipeline: Pipeline,
    /// Never held, as a stream that is recorded must not be.
    recorder: Stream,
    recorded: Template,
    graph: Graph,
    value: Parameter<u32>,
    /// Has no graph, so it can be added to.
    built: Template,
    looped: Looped,
    /// For launches by kernels.
    launchable: Graph,
    buckets: Buckets,
    rows: Range,
    take: BoundKernel<(Range,)>,
    ring: Ring<[u32; 4]>,
    /// Without a kernel.
    requests: HostRing<[u32; 4], u32>,
    scheduler: Scheduler,
    /// Groups of one device.
    peers: Peers,
    joined: Peers,
    symmetric: Symmetric<u64>,
    meet: BoundKernel<(Symmetric<u64>,)>,
}

/// A graph with a while, and a template whose if waits for a kernel's condition.
struct Looped {
    template: Template,
    node: Node,
    graph: Graph,
    undecided: Template,
    kernel: Node,
    conditional: Node,
}

impl Looped {
    fn new(device: &Device, kernel: &BoundKernel<(Slice<f32>, f32)>, floats: &DeviceBuffer<f32>) -> Result<Self> {
        let (template, undecided) = (device.template()?, device.template()?);
        // SAFETY: neither is launched.
        let (node, kernel, conditional) = unsafe {
            let (_, node) = template.add_while(&[], Condition::value(floats.address()))?;
            let kernel = undecided.add_kernel(&[], kernel, &Launch::each(64, 64), (floats, 0.5))?;
            let (_, conditional) = undecided.add_if(&[kernel], Condition::kernel(0))?;
            (node, kernel, conditional)
        };
        Ok(Self { graph: template.graph()?, template, node, undecided, kernel, conditional })
    }
}

/// Functions that are called elsewhere: by drops, by other calls here, by failures, or by the tests that use these
/// calls.
pub const ELSEWHERE: &[&str] = &[
    "status_name",
    "status_text",
    "last_error",
    "version",
    "runtime_create",
    "runtime_shutdown",
    "device_close",
    "event_destroy",
    "timeline_destroy",
    "stream_destroy",
    "stream_pool_destroy",
    "stream_pool_release",
    "arena_destroy",
    "arena_free",
    "memory_free",
    "pool_destroy",
    "pool_free",
    "module_destroy",
    "kernel_destroy",
    "cq_destroy",
    "pipeline_destroy",
    "executor_destroy",
    "template_destroy",
    "template_end",
    "template_cancel",
    "graph_destroy",
    "buckets_destroy",
    "queue_destroy",
    "scheduler_destroy",
    "peers_destroy",
    "symmetric_destroy",
    "admission_destroy",
    "batcher_destroy",
    "advise_trace",
];

impl Calls {
    pub fn new(w: &World) -> Result<Self> {
        let device = w.runtime.open_device()?;
        let streams = device.stream_pool().build()?;
        let module = device.compile(SOURCE)?;
        // SAFETY: the types are those in the source.
        let scale = unsafe { module.kernel("scale")?.bind()? };
        // SAFETY: module.h has the kernel's parameters: address, value and count. All launches have the count 0.
        let fill = unsafe { device.builtin_module()?.kernel("gpo_fill_u32")?.bind()? };
        let stage = Stage::kernel(&fill, (Output, 7, 0));
        let x = device.buffer(64)?;
        let (recorder, recorded) = (device.stream()?, device.template()?);
        // SAFETY: the buffer is freed behind the launches, which are done or on their streams when it is dropped.
        let value = unsafe { recorded.record(&recorder, |rec| named_fill(rec, &recorder, &x))? };
        let floats = device.buffer(64)?;
        // SAFETY: the kernel doesn't use its range.
        let take = unsafe { module.kernel("take")?.bind()? };
        // SAFETY: the kernel doesn't use its memory.
        let meet = unsafe { module.kernel("meet")?.bind()? };
        let peers = Peers::new([&device])?;
        let batcher = Batcher::new([&device])?;
        let key = batcher.rows(4, 4).work(|_| Ok::<_, Error>(()))?;
        Ok(Self {
            stream: device.stream()?,
            other: device.stream()?,
            acquired: streams.acquire(0)?,
            streams,
            event: device.event_builder().timing().build()?,
            admission: w.runtime.admission_builder().count(1).build()?,
            batcher,
            key,
            timeline: w.runtime.timeline(0)?,
            fails: w.runtime.timeline(0)?,
            queue: w.runtime.completion_queue()?,
            executor: w.runtime.executor_builder().run_by_caller().build()?,
            arena: device.arena()?,
            pool: device.pool()?,
            graph: recorded.graph()?,
            launchable: recorded.graph_builder().device_launch().build()?,
            buckets: no_work(&device)?,
            rows: device.range(3).build()?,
            take,
            ring: device.ring().capacity(64).build()?,
            requests: device.host_ring(&device.stream_builder().resident().build()?).build()?,
            scheduler: idle_scheduler(&device.ring().capacity(64).build()?)?,
            joined: device.join_by_id(&PeersId::new()?, 0, 1).join()?,
            symmetric: peers.symmetric(1).build()?,
            peers,
            meet,
            recorder,
            recorded,
            value,
            built: device.template()?,
            x,
            y: device.buffer(64)?,
            looped: Looped::new(&device, &scale, &floats)?,
            floats,
            module,
            scale,
            pipeline: device.pipeline().stage(stage).chunk_bytes(4096).build()?,
            fill,
            runtime: w.runtime.clone(),
            device,
        })
    }

    /// Makes the calls one after the other, and gives what came of each.
    pub fn every(&self) -> Vec<(&'static str, Result<()>)> {
        let later = Duration::from_secs(20);
        let mut results = Vec::new();
        macro_rules! calls {
            ($($name:ident: $call:expr;)*) => {
                $(results.push((stringify!($name), $call.map(drop).map_err(Error::from)));)*
            };
        }
        let Self { runtime, device, stream, other, x, y, event, timeline, queue, executor, .. } = self;
        let kernel = self.scale.kernel();
        let mut page = vec![0u8; 4096];
        calls! {
            runtime_get_driver: runtime.driver();
            runtime_get_statistics: runtime.statistics();
            runtime_get_device_count: runtime.device_count();
            runtime_describe_device: runtime.describe_device(0);
            runtime_describe_peer: runtime.describe_peers(0, 0);
            device_open: runtime.open_device();
            timeline_create: runtime.timeline(0);
            cq_create: runtime.completion_queue();
            executor_create: runtime.executor();
            admission_create: runtime.admission_builder().build();
            admission_set_budget: self.admission.set_budget(1, u64::MAX);
            admission_set_flow: self.admission.set_flow(1, 2);
            admission_get_info: self.admission.info();
            admission_enter: queue.enter(&self.admission, Request::new(), 8).and_then(|ticket| {
                queue.drain(1)?;
                self.admission.leave(ticket)
            });
            admission_leave: queue.enter(&self.admission, Request::new(), 8).and_then(|ticket| {
                queue.drain(1)?;
                self.admission.leave(ticket)
            });
            admission_enter_then: pollster::block_on(self.admission.enter(Request::new()));
            admission_leave_after: pollster::block_on(self.admission.enter(Request::new())).and_then(|place| {
                place.leave_after(stream)
            });
            admission_cancel: self.cancelled();
            batcher_create: Batcher::new([device]);
            batcher_add_key: self.batcher.ragged::<u8, u8>(1, 1, 100).work(|_| Ok::<_, Error>(()));
            batcher_submit: self.submitted();
            batcher_submit_then: self.replied();
            batcher_cancel: self.taken_back();
            batcher_set_flow: self.batcher.set_flow(1, 2);
            batcher_get_info: self.batcher.info();
            batcher_get_key_info: self.key.info();
            batcher_get_flow_info: self.replied().and_then(|()| self.batcher.flow_info(0));
            runtime_set_log_executor: runtime.set_log_executor(None);
            runtime_get_metrics: runtime.metrics();
            runtime_get_metrics_text: runtime.metrics_text();
            trace_start: runtime.trace().start();
            trace_stop: runtime.stop_trace();
            trace_get_info: runtime.trace_info();
            trace_get_summary: runtime.trace_summary();
            object_set_label: runtime.set_label("called");
            object_get_label: runtime.label();
            object_get_error: runtime.last_error();

            device_get_properties: device.properties();
            device_wait: device.wait_for(later);
            device_get_native: device.native();
            device_get_memory: device.memory();
            device_enable_peer: device.enable_peer(device);
            device_disable_peer: device.disable_peer(device);
            device_get_limit: device.limit(DeviceLimit::Stack);
            device_set_limit: device.set_limit(DeviceLimit::Stack, 1024);
            device_get_metrics: device.metrics();
            stream_create: device.stream();
            // SAFETY: the default stream of its context.
            stream_wrap: unsafe { device.stream_builder().wrap(std::ptr::null_mut()) };
            device_get_priority_range: device.stream_priorities();
            stream_pool_create: device.stream_pool().build();
            stream_pool_acquire: self.streams.acquire(0);
            event_create: device.event();
            event_import: device.import_event(b"nothing", None);
            arena_create: device.arena();
            pool_create: device.pool();
            memory_allocate: device.buffer::<u8>(1);
            memory_describe: device.describe_memory(x.address());
            memory_export: x.export();
            // SAFETY: it is no memory.
            memory_import: unsafe { device.import_memory::<u8>(b"nothing", None) };
            // SAFETY: the page lives on, and is used by no copy.
            host_register: unsafe { device.register_memory(page.as_mut_ptr().cast(), 4096, false) };
            // SAFETY: likewise.
            host_unregister: unsafe { device.unregister_memory(page.as_mut_ptr().cast()) };
            module_compile: device.compile(SOURCE);
            last_compile_log: gpuorch::compile_log();
            module_load_builtin: device.builtin_module();
            // SAFETY: it is no image.
            module_load: unsafe { device.load_module(b"nothing", None) };
            pipeline_create: device.pipeline().stage(Stage::kernel(&self.fill, (Input, 7, 0))).build();

            stream_query: stream.is_done();
            stream_wait: stream.wait_for(later);
            stream_get_info: stream.info();
            stream_get_native: self.acquired.native();
            stream_wait_stream: stream.wait_stream(other);
            event_record: event.record(other);
            stream_wait_event: stream.wait_event(event);
            timeline_signal: timeline.signal(1);
            stream_wait_timeline: stream.wait_timeline(timeline, 1);
            stream_signal_timeline: stream.signal_timeline(timeline, 2);
            copy_on_device: stream.copy_on_device(x, y);
            copy_peer: stream.copy_peer(device, x, device, y);
            copy_batch: stream.copy_batch(&[(x.all(), y.all())]);
            copy_rows: stream.copy_rows(x, 8, y, 8, (4, 2));
            fill: stream.fill(x, 1);
            fill_rows: stream.fill_rows(x, 8, 1, (4, 2));
            stream_launch_kernel: self.scale.launch(stream, &Launch::each(64, 64), (&self.floats, 1.0));
            copy_to_device: stream.copy_to_device(vec![0; 64], x).map_err(Error::from).and_then(waited);
            copy_to_host: stream.copy_to_host(x, vec![0; 64]).map_err(Error::from).and_then(waited);
            copy_to_device: stream.write(&[0; 64], x);
            stream_then: stream.then(executor, |_| {});
            stream_host_call: stream.host_call(executor, || Ok::<(), &str>(()));
            event_then: event.then(executor, |_| {});
            timeline_then: timeline.then(1, executor, |_| {});
            executor_post: executor.post(|_| {});
            executor_post_at: executor.post_at(Instant::now(), |_| {});
            executor_cancel: executor.post_at(None, |_| {}).and_then(|ticket| executor.cancel(ticket));
            executor_get_time: executor.time();
            executor_run_for: executor.run_for(later);
            executor_run: executor.run();
            executor_poll: executor.poll();
            executor_get_statistics: executor.statistics();
            host_call_finish: called_under_way(stream, executor);
            stream_cancel_held: stream.cancel_held();
            stream_then: pollster::block_on(stream.done());

            event_query: event.is_done();
            event_wait: event.wait_for(later);
            event_get_elapsed: event.since(event);
            event_get_native: event.native();
            event_export: event.export();
            event_then: pollster::block_on(event.done());

            timeline_get_value: timeline.value();
            timeline_wait: timeline.wait_for(2, later);
            timeline_fail: self.fails.fail(gpuorch::ErrorKind::Failed, "on purpose");
            timeline_then: pollster::block_on(timeline.reached(1));

            stream_notify: queue.notify(stream, 1);
            stream_notify_timed: queue.notify_timed(stream, 2, event);
            event_notify: queue.notify_event(event, 3);
            timeline_notify: queue.notify_timeline(timeline, 1, 4);
            cq_wait: queue.wait_for(later);
            cq_drain: queue.drain(1);
            cq_wake: queue.wake();
            cq_get_fd: queue.fd();
            cq_get_statistics: queue.statistics();
            cq_get_error: failure_of(queue, &self.fails);

            arena_allocate: self.arena.zeroed::<u8>(1);
            arena_free_after: self.arena.zeroed::<u8>(1).and_then(|vec| vec.free_after(stream));
            arena_trim: self.arena.trim(0);
            arena_get_statistics: self.arena.statistics();
            pool_allocate: self.pool.buffer::<u8>(stream, 1);
            pool_trim: self.pool.trim(0);
            pool_get_statistics: self.pool.statistics();

            module_get_kernel: self.module.kernel("scale");
            module_get_symbol: self.module.symbol("scale");
            module_get_image: self.module.image();
            kernel_get_attributes: kernel.attributes();
            kernel_get_parameter: kernel.parameter(0);
            kernel_get_name: kernel.name();
            kernel_get_native: kernel.native();
            kernel_set_max_dynamic_shared: kernel.set_max_dynamic_shared(1);
            kernel_get_occupancy: kernel.occupancy(64, 0);
            kernel_suggest_shape: kernel.suggest(0, 0);

            pipeline_start: self.pipeline.start(Source::memory(vec![1u8]), Sink::none()).map_err(Error::from).and_then(
                |run| {
                    run.wait_for(later)?;
                    run.wait().map_err(Error::from)
                },
            );
            pipeline_wait: self.run().and_then(|run| run.wait().map_err(Error::from));
            pipeline_then: self.run().and_then(|run| pollster::block_on(run).map_err(Error::from));
            pipeline_notify: {
                let run = self.run();
                let notified = queue.notify_pipeline(&self.pipeline, 5);
                run.and_then(|run| run.wait().map_err(Error::from)).and(notified)
            };
            pipeline_get_share: self.run().and_then(|run| run.wait().map_err(Error::from)).and_then(|_| {
                self.pipeline.share(0)
            });
            pipeline_cancel: self.pipeline.cancel();
            pipeline_get_progress: self.pipeline.progress();
            stream_wait: stream.wait_for(later);
        }
        self.every_of_templates(&mut results);
        self.every_of_queues_and_advice(&mut results);
        self.every_of_schedulers(&mut results);
        self.every_of_peers(&mut results);
        results
    }

    /// Of two requests for a single place the second is cancelled.
    fn cancelled(&self) -> Result<()> {
        self.stream.wait()?;
        let first = pollster::block_on(self.admission.enter(Request::new()))?;
        let waiting = self.queue.enter(&self.admission, Request::new(), 8)?;
        self.admission.cancel(waiting)?;
        self.queue.drain(1)?;
        drop(first);
        Ok(())
    }

    /// By an entry of the queue.
    fn submitted(&self) -> Result<()> {
        let (input, mut output) = ([1.0f32; 4], [0.0f32; 4]);
        let mut request = gpuorch::sys::gpo_batcher_request::new();
        request.key = self.key.number();
        request.input = input.as_ptr().cast();
        request.output = output.as_mut_ptr().cast();
        // SAFETY: the entry comes before the memory goes.
        unsafe { self.queue.submit(&self.batcher, &request, 8)? };
        while self.queue.drain(1)?.is_empty() {
            std::thread::yield_now();
        }
        Ok(())
    }

    fn replied(&self) -> Result<()> {
        pollster::block_on(self.batcher.submit(self.key.request(vec![1.0; 4])))?;
        Ok(())
    }

    /// A request that would wait for others for an hour.
    fn taken_back(&self) -> Result<()> {
        let hour = Duration::from_secs(3600);
        let slow = self.batcher.rows::<u8, u8>(0, 1).max_batch(100).max_delay(hour).work(|_| Ok::<_, Error>(()))?;
        let mut output = 0u8;
        let mut request = gpuorch::sys::gpo_batcher_request::new();
        request.key = slow.number();
        request.output = (&raw mut output).cast();
        // SAFETY: the entry comes before the memory goes.
        let ticket = unsafe { self.queue.submit(&self.batcher, &request, 8)? };
        self.batcher.cancel(ticket)?;
        while self.queue.drain(1)?.is_empty() {
            std::thread::yield_now();
        }
        Ok(())
    }

    fn every_of_queues_and_advice(&self, results: &mut Vec<(&'static str, Result<()>)>) {
        let Self { device, recorder, rows, take, ring, requests, .. } = self;
        let mut called = |name, result: Result<()>| results.push((name, result));
        called("queue_create", device.range(1).build().map(drop));
        called("queue_get_device_handle", take.launch(recorder, &Launch::new(1, 1), (rows,)).map(drop));
        called("queue_set_costs", rows.set_costs(recorder, &[1.0, 2.0, 3.0]).map(drop));
        called("queue_push", ring.push(recorder, &[[1; 4]]).map(drop));
        called("queue_reset", ring.reset(recorder).map(drop));
        called("queue_close", ring.close());
        called("queue_abort", ring.abort());
        called("queue_get_info", ring.info().map(drop));
        called("queue_set_tenant", requests.set(Some(8), None));
        called("queue_post", requests.post(&[[1; 4]], 0).map(drop));
        called("queue_take", requests.take(8).map(drop));
        called(
            "queue_wait",
            requests.wait_for(Duration::ZERO).or_else(|error| match error.kind() {
                ErrorKind::Timeout => Ok(()), // nobody answers
                _ => Err(error),
            }),
        );
        called("device_get_costs", device.costs().map(drop));
        called("advise", Workload::new().launches(10).advise(Some(device)).map(drop));
        called("stream_wait", recorder.wait_for(Duration::from_secs(20)));
    }

    fn every_of_schedulers(&self, results: &mut Vec<(&'static str, Result<()>)>) {
        let (scheduler, later) = (&self.scheduler, Duration::from_secs(20));
        let mut called = |name, result: Result<()>| results.push((name, result));
        called("scheduler_create", idle_scheduler(&self.ring).map(drop));
        called("scheduler_start", scheduler.start());
        called("scheduler_drain", scheduler.drain_for(later));
        called("scheduler_wait", scheduler.wait_for(later));
        called("scheduler_stop", scheduler.stop_for(later));
        called("scheduler_get_info", scheduler.info().map(drop));
        called("scheduler_get_handler", scheduler.handler(0).map(drop));
        called("scheduler_get_blocks", scheduler.blocks().map(drop));
        called("scheduler_get_samples", scheduler.samples().map(drop));
        called("scheduler_get_errors", scheduler.errors().map(drop));
    }

    fn every_of_peers(&self, results: &mut Vec<(&'static str, Result<()>)>) {
        let Self { device, recorder, x, peers, joined, symmetric, meet, .. } = self;
        let mut called = |name, result: Result<()>| results.push((name, result));
        let part = Part::in_place(recorder, x);
        called("peers_create", Peers::new([device]).map(drop));
        called("peers_split", peers.split(&[0]).build().map(drop));
        called("peers_get_info", peers.info().map(drop));
        called("peers_get_link", peers.link(0, 0).map(drop));
        called("peers_make_id", PeersId::new().map(drop));
        called("peers_join", PeersId::new().and_then(|id| device.join_by_id(&id, 0, 1).join()).map(drop));
        called("peers_submit", peers.submit(&Collective::all_reduce(Reduction::Sum), &[part]).map(drop));
        called("peers_abort", joined.abort());
        called("symmetric_allocate", peers.symmetric::<u8>(1).build().map(drop));
        called("symmetric_get_address", symmetric.address(0).map(drop));
        called("symmetric_get_info", symmetric.info().map(drop));
        called("symmetric_reset", symmetric.reset(0, recorder).map(drop));
        let launch = RankLaunch::new(recorder, meet, &Launch::new(1, 1), (symmetric.on(0),));
        called("symmetric_get_device_handle", launch.as_ref().map(drop).map_err(Error::clone));
        called("peers_launch", launch.and_then(|launch| peers.launch(&[launch]).map(drop)));
        called("stream_wait", recorder.wait_for(Duration::from_secs(20)));
    }

    fn every_of_templates(&self, results: &mut Vec<(&'static str, Result<()>)>) {
        macro_rules! calls {
            ($($name:ident: $call:expr;)*) => {
                $(results.push((stringify!($name), $call.map(drop)));)*
            };
        }
        let Self {
            device,
            x,
            floats,
            event,
            recorder,
            recorded,
            graph,
            value,
            built,
            scale,
            looped,
            launchable,
            buckets,
            ..
        } = self;
        let launch = Launch::each(64, 64);
        calls! {
            template_create: device.template();
            // SAFETY: it is recorded's, whose memory lives on.
            template_import: recorded.native().and_then(|native| unsafe { device.template_builder().import(native) });
            template_begin: self.record(|_| Ok(()));
            template_get_last_node: self.record(|rec| {
                recorder.fill(x, 1)?;
                rec.last_node(recorder)
            });
            template_set_last_node: self.record(|rec| rec.set_last_node(recorder, rec.add_empty(&[])?));
            template_add_parameter: self.record(|rec| named_fill(rec, recorder, x));
            graph_update: graph.update();
            template_get_parameter: recorded.find_parameter::<u32>("value");
            graph_create: recorded.graph();
            graph_set: graph.set_by_name("value", 2u32);
            graph_set_parameter: graph.set(value, 3);
            graph_set_all: graph.set_all(&[value.value(4)]);
            graph_get: graph.get(value);
            graph_upload: graph.upload(recorder);
            graph_launch: graph.launch(recorder);
            graph_get_native: graph.native();
            template_launch: recorded.launch(recorder, &[value.value(5)]);
            template_prepare: recorded.prepare(2, recorder);
            template_get_native: recorded.native();
            template_get_statistics: recorded.statistics();
            template_get_picture: recorded.picture(PictureFormat::Dot);
            template_allocate: built.buffer::<u8>(1);
            template_allocate_host: built.pinned::<u8>(1);
            template_add_empty: built.add_empty(&[]);
            // SAFETY: it has no graph.
            template_add_fill: unsafe { built.add_fill(&[], x, 1) };
            // SAFETY: likewise.
            template_add_copy: unsafe { built.add_copy(&[], x.address(), self.y.address(), 64) };
            // SAFETY: likewise.
            template_add_kernel: unsafe { built.add_kernel(&[], scale, &launch.label(c"halve"), (floats, 0.5)) };
            template_add_allocation: built.add_allocation::<u8>(&[], 1);
            // SAFETY: no node uses the memory.
            template_add_free: unsafe {
                let allocated = built.add_allocation::<u8>(&[], 1);
                allocated.and_then(|(memory, node)| built.add_free(&[node], &memory))
            };
            template_find_node: built.find_node("halve");
            template_add_event_record: built.add_event_record(&[], event);
            template_add_event_wait: built.add_event_wait(&[], event);
            template_add_host_call: built.add_host_call(&[], || ());
            template_add_child: built.add_child(&[], recorded, "child.");
            // SAFETY: likewise.
            template_add_if: unsafe { built.add_if(&[], Condition::value(x.address())) };
            // SAFETY: likewise.
            template_add_while: unsafe { built.add_while(&[], Condition::value(x.address())) };
            // SAFETY: likewise.
            template_add_switch: unsafe { built.add_switch(&[], Condition::value(x.address()), 2) };
            template_clear: built.clear();
            // SAFETY: likewise.
            template_bind_condition: unsafe {
                looped.undecided.bind_condition(looped.conditional, &looped.undecided, looped.kernel, 0)
            };
            graph_get_loop: looped.graph.loop_runs(&looped.template, looped.node);
            // SAFETY: no kernel has it.
            graph_get_device_handle: unsafe { launchable.device_handle() };
            graph_get_device_status: launchable.device_status();
            buckets_create: no_work(device);
            buckets_prepare: buckets.prepare(recorder);
            buckets_launch: buckets.launch(recorder, 3, &[]);
            buckets_get_statistics: buckets.statistics();
        }
    }

    fn record<R>(&self, closure: impl FnOnce(&Recording<'_>) -> Result<R>) -> Result<R> {
        // SAFETY: as above.
        unsafe { self.recorded.record(&self.recorder, closure) }
    }

    fn run(&self) -> Result<gpuorch::pipeline::Run<Vec<u8>, ()>> {
        self.pipeline.start(Source::memory(vec![1u8]), Sink::none()).map_err(Failed::into)
    }
}

fn no_work(device: &Device) -> Result<Buckets> {
    // SAFETY: it uses no memory.
    unsafe { device.buckets([4]).build(|_| Ok::<_, Error>(())) }
}

/// Has no tasks.
fn idle_scheduler(ring: &Ring<[u32; 4]>) -> Result<Scheduler> {
    let builder = ring.scheduler(super::HANDLER).handler("nothing").multiprocessors(1).threads(32);
    // SAFETY: its handler does nothing.
    unsafe { builder.build() }
}

/// Records a fill, and names its value.
fn named_fill(rec: &Recording<'_>, stream: &Stream, x: &DeviceBuffer<u8>) -> Result<Parameter<u32>> {
    stream.fill(x, 1)?;
    // SAFETY: any value will do.
    unsafe { rec.parameter("value", rec.last_node(stream)?.value()) }
}

fn waited<B: Send + 'static>(operation: gpuorch::Operation<B>) -> Result<B> {
    operation.wait().map_err(Error::from)
}

/// A host call that ends when another thread has said so.
fn called_under_way(stream: &Stream, executor: &Executor) -> Result<()> {
    let (sender, receiver) = std::sync::mpsc::channel();
    stream.host_call_under_way(executor, move |call| sender.send(call).expect("somebody listens"))?;
    loop {
        executor.poll()?;
        if let Ok(call) = receiver.recv_timeout(Duration::from_millis(1)) {
            return call.finish(Ok::<(), &str>(()));
        }
    }
}

/// The details of a failure from a completion queue.
fn failure_of(queue: &CompletionQueue, failed: &Timeline) -> Result<Error> {
    queue.notify_timeline(failed, u64::MAX, 9)?;
    loop {
        queue.wait_for(Duration::from_secs(20))?;
        for entry in queue.drain(16)? {
            if entry.user_data == 9 {
                return queue.error(&entry);
            }
        }
    }
}
