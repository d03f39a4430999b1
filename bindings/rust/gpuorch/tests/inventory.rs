//! Queries and settings: runtimes, devices, streams, events, timelines, kernels, memory.

mod world;

use gpuorch::batcher::{Batch, Batcher, BatcherBuilder, Failure, Key, KeyBuilder, Member, Submitted};
use gpuorch::peers::{
    AllDone, Collective, EnqueuedOnAll, JoinBuilder, Part, Peers, PeersBuilder, PeersId, RankLaunch, Symmetric,
    SymmetricBuilder, SymmetricRank,
};
use gpuorch::pipeline::{Sink, Source, Stage};
use gpuorch::queue::{HostRing, Posting, QueueBuilder, Range, Ring, Taking, Tenant};
use gpuorch::scheduler::{Graphs, Resident, Scheduler, SchedulerBuilder};
use gpuorch::template::{
    BucketParameter, BucketWork, BucketsBuilder, Field, GraphBuilder, Node, Parameter, Recording, Setting,
    TemplateBuilder,
};
use gpuorch::{
    Admission, Arena, Buckets, CompletionQueue, Completions, Device, DeviceBuffer, DeviceLimit, Done, Error, ErrorKind,
    Event, Executor, Graph, HostSlice, Kernel, Launch, Module, Object, Operation, PinnedVec, Pipeline, Pool, Result,
    Runtime, Slice, Stream, StreamPool, Template, Timeline,
};
use std::time::Duration;
use world::world;

/// Compiles only if the type doesn't implement the trait: otherwise two implementations are ambiguous.
macro_rules! is_not {
    ($type:ty: $trait:ident) => {{
        trait Known<Which> {
            fn known() {}
        }
        struct Has;
        impl<T: ?Sized> Known<()> for T {}
        impl<T: ?Sized + $trait> Known<Has> for T {}
        <$type as Known<_>>::known();
    }};
}

#[test]
fn handles_go_from_thread_to_thread() {
    fn both<T: Send + Sync>() {}
    fn owned<T: Send + Sync + 'static>() {}
    fn sent<T: Send + 'static>() {}
    owned::<(Runtime, Device, Stream, StreamPool, Event, Timeline, CompletionQueue, Executor)>();
    owned::<(Arena, Pool, Module, Kernel, Pipeline, Launch<'static>, gpuorch::BoundKernel<(Slice<f32>, f32)>, Error)>();
    owned::<(HostSlice<PinnedVec<f32>>, HostSlice<Vec<u8>>)>();
    owned::<(DeviceBuffer<f32>, PinnedVec<f32>, Completions, gpuorch::Completion, gpuorch::Failed<Vec<u8>>)>();
    both::<(gpuorch::DeviceSlice<'_, f32>, gpuorch::Enqueued<'_>)>();
    both::<(gpuorch::DeviceBuilder<'_>, gpuorch::StreamBuilder<'_>, gpuorch::Compile<'_>, gpuorch::Trace<'_>)>();
    both::<(gpuorch::ArenaBuilder<'_>, gpuorch::PoolBuilder<'_>, gpuorch::EventBuilder<'_>)>();
    both::<(gpuorch::StreamPoolBuilder<'_>, gpuorch::ExecutorBuilder<'_>)>();
    owned::<(Template, Graph, Parameter<u32>, Field<u32>, Node, Setting)>();
    owned::<(Buckets, BucketParameter<u32>)>();
    both::<(TemplateBuilder<'_>, GraphBuilder<'_>, BucketsBuilder<'_>)>();
    owned::<(Range, Ring<[u32; 4]>, HostRing<[u32; 4], u32>, Tenant<[u32; 4], u32>)>();
    both::<(QueueBuilder<'_, Range>, QueueBuilder<'_, Ring<[u32; 4]>>)>();
    owned::<(Scheduler, Admission, gpuorch::Place)>();
    owned::<(Batcher, Key<f32, f32>, Member, Failure)>();
    both::<(BatcherBuilder<'_>, KeyBuilder<'_, f32, f32>)>();
    owned::<(Peers, PeersId, Symmetric<f32>, Collective<'static>)>();
    both::<(PeersBuilder<'_>, JoinBuilder<'_>, SymmetricBuilder<'_, f32>)>();
    both::<(Part<'_, f32>, RankLaunch<'_>, SymmetricRank<'_, f32>, EnqueuedOnAll<'_>)>();
    sent::<(AllDone, Taking<[u32; 4], u32>, Posting<'static, [u32; 4], u32>)>();
    both::<(SchedulerBuilder<'_, Resident>, SchedulerBuilder<'_, Graphs<[u32; 4]>>)>();
    sent::<(
        Done,
        gpuorch::Entering,
        gpuorch::Compiling,
        gpuorch::batcher::Request<f32, f32>,
        Submitted<f32, f32>,
        Operation<PinnedVec<f32>>,
        gpuorch::pipeline::Run<Vec<u8>, Vec<u8>>,
        gpuorch::HostCall,
    )>();
    sent::<(gpuorch::RuntimeBuilder, Stage, Source<Vec<u8>>, Sink<Vec<u8>>)>();
}

/// Types whose closures or memory may be used by one thread at a time, or only by the library's callback.
#[test]
fn what_is_one_threads_is_not_shared() {
    is_not!(Stage: Sync);
    is_not!(Source<Vec<u8>>: Sync);
    is_not!(Sink<Vec<u8>>: Sync);
    is_not!(gpuorch::pipeline::Chunk<'static>: Send);
    is_not!(gpuorch::pipeline::Chunk<'static>: Sync);
    is_not!(Recording<'static>: Send);
    is_not!(Recording<'static>: Sync);
    is_not!(Batch<'static, f32, f32>: Send);
    is_not!(Batch<'static, f32, f32>: Sync);
    is_not!(BucketWork<'static>: Send);
    is_not!(BucketWork<'static>: Sync);
    is_not!(Source<std::rc::Rc<u8>>: Send);
    is_not!(gpuorch::Failed<std::rc::Rc<u8>>: Send);
}

#[test]
fn a_runtime_and_its_devices_say_what_they_are() -> Result<()> {
    let w = world();
    assert!(["soft", "cuda"].contains(&w.runtime.driver()?.name()));
    assert!(w.runtime.device_count()? >= 1);
    assert_eq!(w.runtime.describe_device(0)?.name(), w.device.properties()?.name());
    w.runtime.describe_peers(0, 0)?;
    assert!(w.runtime.statistics()?.live_objects >= 2);
    let (context, ordinal) = w.device.native()?;
    assert!(!context.is_null() && ordinal >= 0);
    let (free, total) = w.device.memory()?;
    assert!(free <= total && total > 0);
    let stack = w.device.limit(DeviceLimit::Stack)?;
    w.device.set_limit(DeviceLimit::Stack, stack)?;
    assert!(w.device.stream_priorities()?.contains(&0));
    w.device.enable_peer(&w.device).and_then(|()| w.device.disable_peer(&w.device)).or_else(|error| {
        assert!(matches!(error.kind(), ErrorKind::InvalidArgument | ErrorKind::NotSupported), "{error}");
        Ok::<_, Error>(())
    })?;
    w.device.wait_for(Duration::from_secs(5))?;
    w.device.wait()?;
    Ok(())
}

#[test]
fn a_device_has_a_function_for_each_of_its_properties() -> Result<()> {
    let w = world();
    let properties = w.device.properties()?;
    let raw: &gpuorch::sys::gpo_device_properties = &properties;
    assert_eq!(properties.native_ordinal(), w.device.native()?.1);
    assert_eq!(properties.uuid(), raw.uuid);
    assert_eq!(properties.numa_node().map_or(-1, |node| node as i32), raw.numa_node);
    assert_eq!(properties.memory_bytes(), w.device.memory()?.1);
    let (major, minor) = properties.compute_capability();
    assert_eq!([major as i32, minor as i32], [raw.compute_capability_major, raw.compute_capability_minor]);
    let numbers = [
        (properties.multiprocessors(), raw.multiprocessors),
        (properties.copy_engines(), raw.copy_engines),
        (properties.warp_size(), raw.warp_size),
        (properties.max_threads_per_block(), raw.max_threads_per_block),
        (properties.max_threads_per_multiprocessor(), raw.max_threads_per_multiprocessor),
        (properties.clock_khz(), raw.clock_khz),
        (properties.memory_clock_khz(), raw.memory_clock_khz),
        (properties.memory_bus_bits(), raw.memory_bus_bits),
        (properties.l2_bytes(), raw.l2_bytes),
    ];
    for (number, (function, field)) in numbers.into_iter().enumerate() {
        assert_eq!(function as i32, field, "number {number}");
    }
    assert!(properties.multiprocessors() > 0 && properties.warp_size() == 32);
    let shared = [
        properties.shared_bytes_per_block(),
        properties.shared_bytes_per_block_max(),
        properties.shared_bytes_per_multiprocessor(),
    ];
    assert_eq!(
        shared,
        [raw.shared_bytes_per_block, raw.shared_bytes_per_block_max, raw.shared_bytes_per_multiprocessor]
    );
    assert_eq!((properties.max_block(), properties.max_grid()), (raw.max_block, raw.max_grid));
    let supported = [
        (properties.is_software(), raw.software),
        (properties.cooperative_launch(), raw.cooperative_launch),
        (properties.cluster_launch(), raw.cluster_launch),
        (properties.memory_pools(), raw.memory_pools),
        (properties.batched_copies(), raw.batched_copies),
    ];
    for (number, (function, field)) in supported.into_iter().enumerate() {
        assert_eq!(u32::from(function), field, "number {number}");
    }
    assert_eq!(properties.is_software(), w.runtime.driver()?.name() == "soft");
    Ok(())
}

#[test]
fn a_device_is_opened_on_a_context_of_somebody_elses() -> Result<()> {
    let w = world();
    let (context, ordinal) = w.device.native()?;
    // SAFETY: the context is this device's, which outlives the objects made here.
    let other =
        unsafe { w.runtime.device(ordinal as u32).label("another library's").native_context(context) }.open()?;
    assert_eq!(other.native()?, (context, ordinal));
    let x = other.buffer::<u32>(100)?;
    w.stream.fill(&x, 7)?.wait()?;
    assert_eq!(other.stream()?.copy_to_host(&x, vec![0; 100])?.wait()?, [7; 100]);
    // SAFETY: as above; but there is no such device.
    let refused = unsafe { w.runtime.device(1000).native_context(context) }.open();
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::NoDevice);
    Ok(())
}

#[test]
fn a_launch_has_clusters_that_fit_its_grid() -> Result<()> {
    let w = world();
    let scale = w.scale()?;
    let x = w.device.buffer::<f32>(256)?;
    w.stream.write(&[1.0; 256], x.slice(..))?;
    scale.launch(&w.stream, &Launch::new(4, 64).cluster(2), (&x, 3.0))?;
    let refused = scale.launch(&w.stream, &Launch::new(4, 64).cluster(3), (&x, 3.0));
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert_eq!(w.stream.copy_to_host(&x, vec![0.0; 256])?.wait()?, [3.0; 256]);
    Ok(())
}

#[test]
fn two_devices_copy_to_each_other() -> Result<()> {
    let runtime = Runtime::new()?;
    if runtime.device_count()? < 2 {
        println!("SKIP two_devices_copy_to_each_other: there is one device");
        return Ok(());
    }
    let (a, b) = (runtime.device(0).label("a").open()?, runtime.device(1).open()?);
    if runtime.describe_peers(0, 1)?.accessible != 0 {
        a.enable_peer(&b)?;
        a.disable_peer(&b)?;
    }
    let (on_a, on_b) = (a.buffer::<u8>(1000)?, b.buffer::<u8>(1000)?);
    let stream = a.stream()?;
    stream.fill(&on_a, 7)?;
    stream.copy_peer(&a, &on_a, &b, &on_b)?;
    // On its way out, it waits for a stream of the other device.
    drop(on_a);
    stream.wait()?;
    assert_eq!(b.stream()?.copy_to_host(&on_b, vec![0; 1000])?.wait()?, [7; 1000]);
    Ok(())
}

#[test]
fn streams_wait_for_one_another() -> Result<()> {
    let w = world();
    let pool = w.device.stream_pool().label("shared").streams(2).priorities(1).build()?;
    let (a, b) = (pool.acquire(0)?, pool.acquire(0)?);
    let x = w.device.buffer::<u32>(1 << 16)?;
    a.fill(&x, 3)?;
    let event = w.device.event_builder().label("filled").blocking_sync().timing().build()?;
    let start = w.device.event_builder().timing().build()?;
    start.record(&a)?;
    event.record(&a)?;
    b.wait_event(&event)?;
    b.wait_stream(&a)?;
    let host = b.copy_to_host(x.slice(..16), vec![0; 16])?.wait()?;
    assert_eq!(host, [3; 16]);
    event.wait_for(Duration::from_secs(5))?;
    event.wait()?;
    assert!(event.is_done()?);
    assert!(event.since(&start)? < Duration::from_secs(5));
    assert!(!event.native()?.is_null());
    // SAFETY: the stream is of this device's context, and outlives its handle here.
    let wrapped = unsafe { w.device.stream_builder().label("wrapped").wrap(w.stream.native()?)? };
    assert_eq!(wrapped.info()?.wrapped, 1);
    wrapped.fill(&x, 4)?.wait()?;
    let _ = w.device.stream_builder().blocking().max_held(10).priority(-1).build()?;
    assert_eq!(w.device.stream_builder().learns().build()?.info()?.learned, 0);
    Ok(())
}

#[test]
fn held_work_is_released_and_cancelled() -> Result<()> {
    let w = world();
    let timeline = w.runtime.timeline(0)?;
    w.stream.wait_timeline(&timeline, 1)?;
    let x = w.device.buffer::<u8>(10)?;
    w.stream.fill(&x, 1)?;
    assert!(!w.stream.is_done()?);
    assert_eq!(w.stream.wait_for(Duration::from_millis(1)).unwrap_err().kind(), ErrorKind::Timeout);
    assert_eq!(timeline.wait_for(1, Duration::from_millis(1)).unwrap_err().kind(), ErrorKind::Timeout);
    timeline.signal(1)?;
    w.stream.wait()?;
    timeline.wait(1)?;
    w.stream.signal_timeline(&timeline, 2)?;
    timeline.wait(2)?;
    assert_eq!(timeline.value()?, 2);
    w.stream.wait_timeline(&timeline, 5)?;
    let held = w.stream.copy_to_host(&x, vec![9u8; 10])?;
    assert!(w.stream.cancel_held()? >= 1);
    let buffer = held.wait()?;
    assert!(buffer == [9; 10] || buffer == [1; 10]);
    Ok(())
}

#[test]
fn kernels_say_what_they_need() -> Result<()> {
    let w = world();
    let module = w
        .device
        .compile_builder("#include \"seven.h\"\n__device__ int counter = SEVEN; extern \"C\" __global__ void k(int *x) { *x = FIVE + counter; }")
        .header("seven.h", "#define SEVEN 7")
        .option("-DFIVE=5")
        .file_name("k.cu")
        .label("sevens")
        .uncached()
        .compile()?;
    assert_eq!(module.label()?, "sevens");
    let (address, bytes) = module.symbol("counter")?;
    assert!(address != 0 && bytes == 4);
    let kernel = module.kernel("k")?;
    assert!(kernel.attributes()?.max_threads_per_block > 0);
    assert!(kernel.name()?.contains('k'));
    assert!(!kernel.native()?.is_null());
    kernel.set_max_dynamic_shared(1024)?;
    assert!(kernel.occupancy(64, 0)? > 0);
    let (threads, blocks) = kernel.suggest(0, 256)?;
    assert!(threads > 0 && threads <= 256 && blocks > 0);
    // SAFETY: it writes one int.
    let bound = unsafe { kernel.bind::<(DeviceBuffer<i32>,)>()? };
    let x = w.device.labelled_buffer::<i32>(1, "answer")?;
    let launch = Launch::new((1, 1), (1, 1, 1)).label(c"seven").dynamic_shared_bytes(16);
    bound.launch(&w.stream, &launch, (&x,))?;
    assert_eq!(w.stream.copy_to_host(&x, vec![0])?.wait()?, [12]);
    let image = module.image()?;
    // SAFETY: the image is the module's own.
    let again = unsafe { w.device.load_module(&image, Some("again"))? };
    assert_eq!(again.label()?, "again");
    let builtin = w.device.builtin_module()?;
    // SAFETY: module.h has the kernel's parameters: address, value and count.
    let fill = unsafe { builtin.kernel("gpo_fill_u32")?.bind::<(DeviceBuffer<u32>, u32, u64)>()? };
    let y = w.device.buffer::<u32>(100)?;
    fill.launch(&w.stream, &Launch::each(100, 32), (&y, 6, 100))?;
    assert_eq!(w.stream.copy_to_host(&y, vec![0; 100])?.wait()?, [6; 100]);
    Ok(())
}

#[test]
fn kernels_launch_kernels_if_their_module_says_so() -> Result<()> {
    let w = world();
    let source = r#"
        __global__ void child(unsigned *x) { x[threadIdx.x] = threadIdx.x + 5; }
        extern "C" __global__ void parent(unsigned *x) { child<<<1, 64>>>(x); }"#;
    let error = w.device.compile(source).map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::CompileFailed);
    assert!(error.message().contains("GPO_COMPILE_DYNAMIC_PARALLELISM"), "{error}");
    let module = match w.device.compile_builder(source).dynamic_parallelism().compile() {
        Err(error) if error.kind() == ErrorKind::NoCompiler => {
            println!("SKIP kernels_launch_kernels_if_their_module_says_so: {error}");
            return Ok(());
        }
        module => module?,
    };
    // SAFETY: it writes 64 numbers.
    let parent = unsafe { module.kernel("parent")?.bind::<(DeviceBuffer<u32>,)>()? };
    let x = w.device.buffer::<u32>(64)?;
    parent.launch(&w.stream, &Launch::new(1, 1), (&x,))?;
    assert!(w.stream.copy_to_host(&x, vec![0; 64])?.wait()?.into_iter().eq(5..69));
    Ok(())
}

#[test]
fn work_is_counted_and_traced() -> Result<()> {
    let w = world();
    let folder = std::env::temp_dir().join(format!("gpuorch-rust-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let (trace, picture) = (folder.join("trace.json"), folder.join("timeline.svg"));
    w.runtime.trace().path(&trace).picture(&picture).title("a test").start()?;
    let x = w.device.buffer::<u8>(1000)?;
    w.stream.fill(&x, 1)?.wait()?;
    w.runtime.stop_trace()?;
    assert!(w.runtime.trace_info()?.operations >= 1);
    assert!(!w.runtime.trace_summary()?.is_empty());
    assert!(std::fs::read_to_string(&picture).expect("a picture").contains("a test"));
    w.runtime.trace().without_gpu_times().start()?;
    w.runtime.stop_trace()?;
    std::fs::remove_dir_all(&folder).expect("the folder goes");
    assert!(w.runtime.metrics()?.streams >= 1);
    assert!(w.runtime.metrics_text()?.contains("gpuorch_"));
    assert!(w.device.metrics()?.memory_total > 0);
    assert!(w.runtime.statistics()?.fills >= 1);
    Ok(())
}

#[test]
fn a_queue_is_drained_by_a_loop() -> Result<()> {
    let w = world();
    let queue = w.runtime.completion_queue_of(3, Some("loop"))?;
    let descriptor = queue.fd()?;
    let since = w.device.event_builder().timing().build()?;
    since.record(&w.stream)?;
    queue.notify(&w.stream, 1)?;
    queue.notify_timed(&w.stream, 2, &since)?;
    queue.notify_event(&since, 3)?;
    assert_eq!(queue.notify(&w.stream, 4).unwrap_err().kind(), ErrorKind::WouldBlock);
    let mut seen = Vec::new();
    while seen.len() < 3 {
        queue.wait_for(Duration::from_secs(10))?;
        seen.extend(queue.drain(2)?.iter().map(|entry| entry.user_data));
    }
    seen.sort_unstable();
    assert_eq!(seen, [1, 2, 3]);
    let timeline = w.runtime.timeline(0)?;
    queue.notify_timeline(&timeline, 1, 5)?;
    timeline.fail(ErrorKind::Failed, "no more")?;
    queue.wait()?;
    let entry = queue.drain(1)?[0];
    assert_eq!(entry.failed(), Some(ErrorKind::Failed));
    assert!(queue.error(&entry)?.message().contains("no more"));
    queue.notify(&w.stream, 6)?;
    queue.wait()?;
    let succeeded = queue.drain(1)?[0];
    assert_eq!(queue.error(&succeeded).unwrap_err().kind(), ErrorKind::NotFound);
    queue.wake()?;
    queue.wait()?;
    assert_eq!(queue.statistics()?.refused, 1);
    assert_eq!(queue.wait_for(Duration::from_millis(1)).unwrap_err().kind(), ErrorKind::Timeout);
    drop(descriptor);
    Ok(())
}

#[test]
fn all_of_a_queue_is_drained_whatever_that_is() -> Result<()> {
    let w = world();
    let queue = w.runtime.completion_queue()?;
    for number in 0..3000 {
        queue.notify(&w.stream, number)?;
    }
    w.stream.wait()?;
    let mut seen = Vec::new();
    while seen.len() < 3000 {
        queue.wait_for(Duration::from_secs(10))?;
        seen.extend(queue.drain(usize::MAX)?.iter().map(|entry| entry.user_data));
    }
    assert!(seen.into_iter().eq(0..3000));
    assert!(queue.drain(usize::MAX)?.is_empty() && queue.drain(0)?.is_empty());
    Ok(())
}

#[test]
fn memory_is_described_and_registered() -> Result<()> {
    let w = world();
    let arena = w.device.arena_builder().label("pinned").slab_bytes(1 << 20).initial_bytes(1 << 20).build()?;
    let pinned = arena.copy_of(&[1u32, 2, 3])?;
    assert_eq!(w.device.describe_memory(pinned.as_ptr() as u64)?.kind, gpuorch::sys::GPO_MEMORY_PINNED);
    assert!(arena.statistics()?.in_use >= 12);
    pinned.free_after(&w.stream)?;
    w.stream.wait()?;
    let mut page = vec![0u8; 1 << 16];
    // SAFETY: the page outlives its registration, and no copy uses it.
    unsafe {
        w.device.register_memory(page.as_mut_ptr().cast(), 1 << 16, false)?;
        w.device.unregister_memory(page.as_mut_ptr().cast())?;
    }
    arena.trim(0)?;
    let frugal = w.device.pool_builder().keep_nothing().build()?;
    drop(frugal.buffer::<u8>(&w.stream, 1 << 20)?);
    let pool = w.device.pool_builder().label("pool").initial_bytes(1 << 20).keep_bytes(1 << 20).build()?;
    let x = pool.buffer::<u32>(&w.stream, 100)?;
    w.stream.fill(&x, 5)?;
    let y = w.device.buffer::<u32>(100)?;
    w.stream.copy_on_device(&x, &y)?;
    w.stream.copy_batch(&[(x.slice(..10), y.slice(10..20)), (x.slice(20..30), y.slice(30..40))])?;
    w.stream.copy_rows(&x, 10, &y, 20, (5, 3))?;
    let bytes = w.device.buffer::<u8>(100)?;
    w.stream.fill_rows(&bytes, 10, 3, (5, 4))?;
    assert_eq!(w.stream.copy_to_host(&y, vec![0; 100])?.wait()?, [5; 100]);
    assert!(pool.statistics()?.allocations >= 1);
    drop(x);
    w.stream.wait()?;
    assert_eq!(pool.statistics()?.in_use, 0);
    pool.trim(0)?;
    Ok(())
}

#[test]
fn what_is_no_piece_of_an_arena_is_refused() -> Result<()> {
    let w = world();
    let arena = w.device.arena()?;
    let api = gpuorch::sys::api().expect("the library");
    let (free, free_after) = (api.arena_free.expect("a member"), api.arena_free_after.expect("a member"));
    let nobodys = std::ptr::dangling_mut();
    // SAFETY: the address is compared with the arena's own, and refused.
    let refused = unsafe { [free(arena.as_raw(), nobodys), free_after(arena.as_raw(), nobodys, w.stream.as_raw())] };
    assert_eq!(refused, [gpuorch::sys::GPO_INVALID_ARGUMENT; 2]);
    Ok(())
}

#[test]
fn nothing_is_needed_for_nothing() -> Result<()> {
    let w = world();
    let arena = w.device.arena()?;
    let none = w.device.buffer::<u32>(0)?;
    assert_eq!((none.len(), none.address(), none.is_empty()), (0, 0, true));
    let host = w.stream.copy_to_device(arena.zeroed::<u32>(0)?, &none)?.wait()?;
    assert!(host.is_empty() && host.arena().is_none());
    assert!(w.stream.copy_to_host(&none, Vec::new())?.wait()?.is_empty());
    w.stream.write(&[], &none)?;
    assert!(w.device.pool()?.buffer::<u8>(&w.stream, 0)?.is_empty());
    Ok(())
}
