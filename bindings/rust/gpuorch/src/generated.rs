//! Methods, setters of builders, structs that the library fills, and kinds of errors. Made from
//! libgpuorch/abi.json by bindings/rust/generate/generate_safe.py.

use crate::builder::constants;
use crate::call::{bytes, call, rows, status, text};
use crate::done::Enqueued;
use crate::error::{Result, failure, kinds};
use crate::figures::figures;
use crate::handle::{FOR_EVER, c_string, nanoseconds, nanoseconds_from};
use gpuorch_sys as sys;
use std::time::Duration;

kinds! {
    /// The work that was asked about is not done yet.
    NotReady = GPO_NOT_READY,
    /// The timeout passed before the result was there.
    Timeout = GPO_TIMEOUT,
    /// A bounded queue is full: take entries out, then try again.
    WouldBlock = GPO_WOULD_BLOCK,
    /// Returned by a source callback: there is no more data.
    End = GPO_END,
    /// A value out of range or an unknown flag.
    InvalidArgument = GPO_INVALID_ARGUMENT,
    /// A handle of another type, or of an unknown runtime.
    InvalidHandle = GPO_INVALID_HANDLE,
    /// A handle of an object that has been destroyed.
    StaleHandle = GPO_STALE_HANDLE,
    /// The object is in a state that forbids the call: the message names it.
    InvalidState = GPO_INVALID_STATE,
    /// Not supported by this device, driver or kind of object.
    NotSupported = GPO_NOT_SUPPORTED,
    /// There is no kernel, symbol or file of that name.
    NotFound = GPO_NOT_FOUND,
    /// A wait inside a callback, for that callback; or a call inside a host node.
    WouldDeadlock = GPO_WOULD_DEADLOCK,
    /// The caller's buffer is too small: `needed` has the size.
    BufferTooSmall = GPO_BUFFER_TOO_SMALL,
    /// Not possible with a stream in capture, or an event recorded on one.
    CaptureRefused = GPO_CAPTURE_REFUSED,
    /// Host, pinned or device memory: the message says which.
    OutOfMemory = GPO_OUT_OF_MEMORY,
    /// A limit that the caller or the system (threads, descriptors) has set.
    LimitExceeded = GPO_LIMIT_EXCEEDED,
    /// No usable driver, or no such device: the message says why.
    NoDevice = GPO_NO_DEVICE,
    /// No NVRTC, or no C++ compiler for the software GPU: the message says which were tried.
    NoCompiler = GPO_NO_COMPILER,
    /// The kernel source has errors: [`compile_log`](crate::compile_log) has the compiler's text.
    CompileFailed = GPO_COMPILE_FAILED,
    /// The image is cut short, not an image, or for another device.
    InvalidImage = GPO_INVALID_IMAGE,
    /// A file or pipe failed: native_code is the errno.
    Io = GPO_IO_ERROR,
    /// On request, or because an object that was needed was destroyed or shut down.
    Cancelled = GPO_CANCELLED,
    /// The caller failed a timeline or host call so, or signals a failed timeline.
    Failed = GPO_FAILED,
    /// A callback of the caller returned an error or threw.
    CallbackFailed = GPO_CALLBACK_FAILED,
    /// A kernel crashed or the context was destroyed: all devices of that driver are lost.
    DeviceLost = GPO_DEVICE_LOST,
    /// The process was forked after the library's first call: fork earlier, or exec.
    Forked = GPO_FORKED,
    /// The runtime has shut down or is shutting down.
    ShutDown = GPO_SHUT_DOWN,
    /// Another process has died, left its group, hangs or can't go on: the message names it.
    PeerLost = GPO_PEER_LOST,
    /// Another error of the driver: native_code is the CUresult.
    Driver = GPO_DRIVER_ERROR,
    /// A defect of the library: please report the message.
    Internal = GPO_INTERNAL,
}

constants! {
    /// Why a closure of buckets is called.
    BucketPhase: u32 {
        /// The work runs once, before it is recorded.
        WarmUp = GPO_BUCKET_WARM_UP,
        /// The work is recorded.
        Recording = GPO_BUCKET_RECORDING,
        /// The work of a request runs.
        Eager = GPO_BUCKET_EAGER,
        /// The elements from `size` to `shape` are to be written.
        Padding = GPO_BUCKET_PADDING,
    }
}

constants! {
    /// The mechanism that exchanges the data of a group.
    Engine: u32 {
        /// Groups of one process: the library's own kernels and copies, which use memory of other devices directly.
        /// Reductions combine the ranks in their order: all ranks and all runs get the same bits.
        Direct = GPO_ENGINE_DIRECT,
        /// NVIDIA's library, which is loaded when it is first needed.
        Nccl = GPO_ENGINE_NCCL,
        /// Groups of several processes: through the host's memory, and MPI or shared memory.
        Host = GPO_ENGINE_HOST,
        /// NVIDIA's library for memory that the kernels of several processes use: for symmetric memory alone.
        Nvshmem = GPO_ENGINE_NVSHMEM,
    }
}

constants! {
    /// A limit of a device's context.
    DeviceLimit: u32 {
        /// Stack of each thread of a kernel, bytes.
        Stack = GPO_LIMIT_STACK_BYTES,
        /// Buffer of printf in kernels, bytes.
        Printf = GPO_LIMIT_PRINTF_BYTES,
        /// Heap of malloc in kernels, bytes.
        Heap = GPO_LIMIT_HEAP_BYTES,
        /// Launches by kernels that may be pending: a count.
        PendingLaunches = GPO_LIMIT_PENDING_LAUNCHES,
        /// Granularity of fetches into the L2 cache, bytes.
        L2Fetch = GPO_LIMIT_L2_FETCH_BYTES,
        /// Part of the L2 cache for persisting accesses, bytes.
        PersistingL2 = GPO_LIMIT_PERSISTING_L2_BYTES,
    }
}

constants! {
    /// The level of a log line.
    LogLevel: i32 {
        /// Something has failed.
        Error = GPO_LOG_ERROR,
        /// Something does not work as intended.
        Warning = GPO_LOG_WARNING,
        /// A choice of the library, and the reason.
        Info = GPO_LOG_INFO,
        /// Everything else.
        Debug = GPO_LOG_DEBUG,
    }
}

constants! {
    /// How a template is drawn.
    PictureFormat: u32 {
        /// Text for Graphviz.
        Dot = GPO_PICTURE_DOT,
        /// A picture that needs no other file, and follows the viewer's preference for dark or light.
        Svg = GPO_PICTURE_SVG,
    }
}

constants! {
    /// How the elements of the ranks are combined.
    Reduction: u32 {
        /// The sum.
        Sum = GPO_REDUCE_SUM,
        /// The product.
        Product = GPO_REDUCE_PRODUCT,
        /// The least element.
        Minimum = GPO_REDUCE_MINIMUM,
        /// The greatest element.
        Maximum = GPO_REDUCE_MAXIMUM,
        /// The sum, divided by the number of ranks.
        Average = GPO_REDUCE_AVERAGE,
    }
}

figures! {
    /// What [`AdmissionInfo`] has.
    ///
    /// The fields of [`AdmissionInfo`]:
    ///
    /// - `paused`: 1: the watched pool has too much in use, and no request is admitted.
    /// - `count`: the budgets; UINT64_MAX: unlimited.
    /// - `bytes`.
    /// - `held`: requests that hold places now.
    /// - `held_count`: their places.
    /// - `held_bytes`: their bytes.
    /// - `waiting`: requests that wait now.
    /// - `waiting_bytes`: their bytes.
    /// - `waiting_flows`: flows with waiting requests, counted for each priority.
    /// - `admitted`: requests since the admission was created: admitted.
    /// - `refused`: refused with [`ErrorKind::WouldBlock`], because the line had no room.
    /// - `too_large`: refused or ended with [`ErrorKind::LimitExceeded`].
    /// - `expired`: refused or ended with [`ErrorKind::Timeout`].
    /// - `cancelled`: ended with [`ErrorKind::Cancelled`].
    /// - `wait_ns`: time that the admitted requests waited, added up.
    /// - `longest_wait_ns`: the longest one of these times.
    /// - `wait_times`: these times, counted by their length.
    AdmissionInfo(gpo_admission_info) {
    }
    {
        paused, count, bytes, held, held_count, held_bytes, waiting, waiting_bytes, waiting_flows, admitted, refused,
        too_large, expired, cancelled, wait_ns, longest_wait_ns, wait_times
    }
}

figures! {
    /// What things cost. Times are nanoseconds of the host, unless said otherwise.
    ///
    /// The fields of [`Costs`]:
    ///
    /// - `measured`: 1: launches, graphs and copies were measured on this device. 0: all costs are an H200's, except
    ///   figures from the device's properties.
    /// - `launch_ns`: launch of a kernel.
    /// - `wait_ns`: from the launch of an empty kernel until the host, which waits, knows its end.
    /// - `decision_ns`: a turn of a loop that the host decides: an empty kernel, a small copy back, a wait.
    /// - `graph_launch_ns`: launch of a graph.
    /// - `graph_node_ns`: GPU time of an empty kernel in a graph that waits for the previous one.
    /// - `while_turn_ns`: GPU time of a turn of a while node with an empty kernel.
    /// - `device_launch_ns`: GPU time of a launch by a kernel (dynamic parallelism).
    /// - `doorbell_ns`: from the host to a resident kernel and back, through pinned memory.
    /// - `host_tasks_per_second`: tasks that one thread posts to a resident kernel.
    /// - `claims_per_second`: claims of one counter in device memory, by all multiprocessors.
    /// - `ring_tasks_per_second`: tasks that are pushed into a ring in device memory and popped again.
    /// - `copy_ns`: time of a small copy, without the time for its bytes; in a batch: a sixth.
    /// - `copy_in_rate`: bytes per second from pinned memory to the device.
    /// - `copy_out_rate`: bytes per second from the device to pinned memory.
    /// - `copy_both_rate`: bytes per second of both ways together.
    /// - `pageable_in_rate`: bytes per second from memory that isn't pinned.
    /// - `pageable_out_rate`: bytes per second to memory that isn't pinned.
    /// - `memory_rate`: bytes per second that kernels read and write.
    /// - `operation_rate`: floating-point operations per second, single precision.
    /// - `multiprocessors`.
    Costs(gpo_costs) {
    }
    {
        measured, launch_ns, wait_ns, decision_ns, graph_launch_ns, graph_node_ns, while_turn_ns, device_launch_ns,
        doorbell_ns, host_tasks_per_second, claims_per_second, ring_tasks_per_second, copy_ns, copy_in_rate,
        copy_out_rate, copy_both_rate, pageable_in_rate, pageable_out_rate, memory_rate, operation_rate, multiprocessors
    }
}

figures! {
    /// A round as it is now. Times are nanoseconds.
    ///
    /// The fields of [`Diagnosis`]:
    ///
    /// - `bound`: `GPO_BOUND_*`.
    /// - `round_ns`: as given, or predicted.
    /// - `launch_ns`: host time of launches.
    /// - `kernel_ns`: GPU time of kernels, as far as they don't run at the same time.
    /// - `copy_ns`: time of copies.
    /// - `decision_ns`: waits for results.
    /// - `idle_ns`: of round_ns: more than all that was described explains.
    /// - `memory_ns`: the least time in which the device reads and writes `bytes`.
    /// - `operations_ns`: the least time in which the device does `operations`.
    /// - `intensity`: operations per byte, in thousandths; 0: not known.
    /// - `ridge`: the intensity at which memory and arithmetic take the same time, in thousandths.
    /// - `roofline_share`: the greater of both least times, in thousandths of kernel_ns.
    /// - `launch_share`: host time of launches, in thousandths of round_ns.
    Diagnosis(gpo_diagnosis) {
    }
    {
        bound, round_ns, launch_ns, kernel_ns, copy_ns, decision_ns, idle_ns, memory_ns, operations_ns, intensity,
        ridge, roofline_share, launch_share
    }
}

figures! {
    /// A form in which a workload could run.
    ///
    /// The fields of [`Advice`]:
    ///
    /// - `form`: `GPO_FORM_*`.
    /// - `bound`: `GPO_BOUND_*`: the main use of a round's time in this form.
    /// - `streams`: how many streams; 0: as now.
    /// - `order`: `GPO_ORDER_*`, with `GPO_FORM_RANGE` and `GPO_FORM_RING`; else 0.
    /// - `batch`: tasks that a worker claims at a time; 0: it claims none.
    /// - `gain_low`: how many times faster a round would be, in thousandths: at least;.
    /// - `gain_high`: and at most.
    /// - `round_ns`: expected time of a round.
    /// - `host_calls`: launches and copies that the host would submit in a round.
    Advice(gpo_advice) {
        /// One or two sentences, with the figures behind the advice.
        reason,
    }
    {
        form, bound, streams, order, batch, gain_low, gain_high, round_ns, host_calls
    }
}

figures! {
    /// Figures of a key, or of a batcher. Counters begin with the batcher.
    ///
    /// The fields of [`BatcherInfo`]:
    ///
    /// - `keys`: keys of the batcher.
    /// - `waiting`: requests: wait now.
    /// - `waiting_elements`.
    /// - `waiting_flows`: flows with waiting requests, counted for each key.
    /// - `running`: requests in batches that run now.
    /// - `running_batches`.
    /// - `submitted`: requests that were accepted.
    /// - `submitted_bytes`: their input and room for output.
    /// - `succeeded`: requests: ended with `Ok`.
    /// - `failed`: with the failure of a batch.
    /// - `expired`: with [`ErrorKind::Timeout`].
    /// - `cancelled`: with [`ErrorKind::Cancelled`].
    /// - `refused_full`: refused: as many requests waited as may.
    /// - `refused_deadline`: refused: the deadline couldn't be met.
    /// - `late`: of `succeeded`: ended after their deadline.
    /// - `batches`: batches that ended.
    /// - `batch_elements`: their elements.
    /// - `padded_elements`: elements of padding that ran with them; with `work`: 0.
    /// - `delay_ns`: key: how long its newest batch has waited for members; batcher: 0.
    /// - `wait_ns`: predicted time until a request that is submitted now would be done, with the margin; batcher: the
    ///   longest of its keys.
    /// - `requests_per_second`: requests that ended with `Ok`, over the last seconds.
    /// - `batches_per_second`.
    /// - `queue_ns`: the times that are counted below, added up.
    /// - `batch_ns`.
    /// - `request_ns`.
    /// - `sizes`.
    /// - `queue_times`: of requests: from submission to the forming of the batch.
    /// - `batch_times`: of batches: from forming to the end of the copy back.
    /// - `request_times`: of requests with `Ok`: from submission to the entry.
    BatcherInfo(gpo_batcher_info) {
    }
    {
        keys, waiting, waiting_elements, waiting_flows, running, running_batches, submitted, submitted_bytes, succeeded,
        failed, expired, cancelled, refused_full, refused_deadline, late, batches, batch_elements, padded_elements,
        delay_ns, wait_ns, requests_per_second, batches_per_second, queue_ns, batch_ns, request_ns, sizes, queue_times,
        batch_times, request_times
    }
}

figures! {
    /// What [`BatcherFlowInfo`] has.
    ///
    /// The fields of [`BatcherFlowInfo`]:
    ///
    /// - `weight`.
    /// - `waiting`: requests of all keys: wait now.
    /// - `submitted`: requests since the flow was first seen: accepted.
    /// - `succeeded`: ended with `Ok`.
    /// - `failed`: ended otherwise.
    /// - `wait_ns`: time that requests waited until their batches were formed, added up.
    /// - `longest_wait_ns`.
    BatcherFlowInfo(gpo_batcher_flow_info) {
    }
    {
        weight, waiting, submitted, succeeded, failed, wait_ns, longest_wait_ns
    }
}

figures! {
    /// Counters of buckets and their requests.
    ///
    /// The fields of [`BucketsStatistics`]:
    ///
    /// - `buckets`: recorded, and not evicted.
    /// - `bytes`: device memory that these take, as for max_bytes.
    /// - `hits`: requests that found their bucket recorded.
    /// - `misses`: requests for which a bucket was recorded.
    /// - `eager`: requests that ran eagerly.
    /// - `evictions`: buckets that were evicted.
    /// - `requested`: elements of all these requests.
    /// - `padded`: elements of padding that ran with them.
    /// - `failures`: attempts to record a bucket that failed, in the warm-up or in the recording.
    /// - `fallbacks`: of `eager`, requests whose bucket's recording had failed.
    BucketsStatistics(gpo_buckets_statistics) {
        /// Cause of the last failure, with its bucket; "" if there was none.
        last_failure,
    }
    {
        buckets, bytes, hits, misses, eager, evictions, requested, padded, failures, fallbacks
    }
}

figures! {
    /// Counters of a completion queue.
    ///
    /// The fields of [`QueueStatistics`]:
    ///
    /// - `capacity`.
    /// - `accepted`: notifies accepted.
    /// - `delivered`: entries put into the queue.
    /// - `drained`: entries taken out.
    /// - `refused`: notifies refused because the queue was full.
    QueueStatistics(gpo_cq_statistics) {
    }
    {
        capacity, accepted, delivered, drained, refused
    }
}

figures! {
    /// Properties of a device.
    DeviceProperties(gpo_device_properties) {
        /// The driver's name for the device.
        name,
        /// "0000:1b:00.0".
        pci_address,
    }
    {
        native_ordinal, uuid, numa_node, compute_capability_major, compute_capability_minor, multiprocessors,
        copy_engines, warp_size, max_threads_per_block, max_threads_per_multiprocessor, clock_khz, memory_clock_khz,
        memory_bus_bits, l2_bytes, software, memory_bytes, shared_bytes_per_block, shared_bytes_per_block_max,
        shared_bytes_per_multiprocessor, max_block, max_grid, cooperative_launch, cluster_launch, memory_pools,
        batched_copies
    }
}

impl DeviceProperties {
    /// The driver's own number of the device.
    pub fn native_ordinal(&self) -> i32 {
        self.0.native_ordinal
    }

    /// The UUID of the device.
    pub fn uuid(&self) -> [u8; 16] {
        self.0.uuid
    }

    /// The host's NUMA node nearest to the device; `None`: not known.
    pub fn numa_node(&self) -> Option<u32> {
        u32::try_from(self.0.numa_node).ok()
    }

    /// How many multiprocessors the device has.
    pub fn multiprocessors(&self) -> u32 {
        self.0.multiprocessors as u32
    }

    /// How many copies can run at the same time, beside kernels.
    pub fn copy_engines(&self) -> u32 {
        self.0.copy_engines as u32
    }

    /// How many threads a warp has.
    pub fn warp_size(&self) -> u32 {
        self.0.warp_size as u32
    }

    /// Most threads of a block.
    pub fn max_threads_per_block(&self) -> u32 {
        self.0.max_threads_per_block as u32
    }

    /// Most threads that a multiprocessor runs at a time.
    pub fn max_threads_per_multiprocessor(&self) -> u32 {
        self.0.max_threads_per_multiprocessor as u32
    }

    /// Clock rate of the multiprocessors.
    pub fn clock_khz(&self) -> u32 {
        self.0.clock_khz as u32
    }

    /// Clock rate of the memory.
    pub fn memory_clock_khz(&self) -> u32 {
        self.0.memory_clock_khz as u32
    }

    /// Width of the memory's bus.
    pub fn memory_bus_bits(&self) -> u32 {
        self.0.memory_bus_bits as u32
    }

    /// Size of the L2 cache.
    pub fn l2_bytes(&self) -> u32 {
        self.0.l2_bytes as u32
    }

    /// Whether it is the software GPU.
    pub fn is_software(&self) -> bool {
        self.0.software != 0
    }

    /// Size of the device memory; [`Device::memory`](crate::Device::memory) says how much is free.
    pub fn memory_bytes(&self) -> u64 {
        self.0.memory_bytes
    }

    /// Shared memory that a block of every kernel may use.
    pub fn shared_bytes_per_block(&self) -> u64 {
        self.0.shared_bytes_per_block
    }

    /// The same after [`Kernel::set_max_dynamic_shared`](crate::Kernel::set_max_dynamic_shared).
    pub fn shared_bytes_per_block_max(&self) -> u64 {
        self.0.shared_bytes_per_block_max
    }

    /// Shared memory that a multiprocessor has.
    pub fn shared_bytes_per_multiprocessor(&self) -> u64 {
        self.0.shared_bytes_per_multiprocessor
    }

    /// Most threads of a block in each dimension.
    pub fn max_block(&self) -> [u32; 3] {
        self.0.max_block
    }

    /// Most blocks of a launch in each dimension.
    pub fn max_grid(&self) -> [u32; 3] {
        self.0.max_grid
    }

    /// Whether kernels can be launched with [`Launch::cooperative`](crate::Launch::cooperative).
    pub fn cooperative_launch(&self) -> bool {
        self.0.cooperative_launch != 0
    }

    /// Whether blocks of a launch can form clusters.
    pub fn cluster_launch(&self) -> bool {
        self.0.cluster_launch != 0
    }

    /// Whether the driver has memory pools, which [`PoolBuilder::build`](crate::PoolBuilder::build) needs.
    pub fn memory_pools(&self) -> bool {
        self.0.memory_pools != 0
    }

    /// Whether the driver takes many copies with one call ([`Stream::copy_batch`](crate::Stream::copy_batch)).
    pub fn batched_copies(&self) -> bool {
        self.0.batched_copies != 0
    }
}

figures! {
    /// How one device of a runtime reaches another's memory.
    ///
    /// The fields of [`PeerProperties`]:
    ///
    /// - `accessible`: 1: kernels and copies on `from` can reach memory of `to` directly.
    /// - `native_atomics`: 1: atomic operations on that memory are native.
    /// - `performance_rank`: the driver's rank of the connection: lower is faster.
    PeerProperties(gpo_peer_properties) {
    }
    {
        accessible, native_atomics, performance_rank
    }
}

figures! {
    /// Counters of an executor.
    ///
    /// The fields of [`ExecutorStatistics`]:
    ///
    /// - `threads`.
    /// - `accepted`: callbacks, host calls and log lines that were accepted.
    /// - `called`: called, and returned.
    /// - `cancelled`: called with [`ErrorKind::Cancelled`]: the executor was destroyed, or
    ///   [`Executor::cancel`](crate::Executor::cancel).
    /// - `threw`: left by a C++ exception.
    /// - `refused`: refused for lack of room, with log lines.
    /// - `pending`: accepted and not returned yet.
    ExecutorStatistics(gpo_executor_statistics) {
    }
    {
        threads, accepted, called, cancelled, threw, refused, pending
    }
}

figures! {
    /// Figures of an arena or a pool. Amounts are in bytes.
    ///
    /// The fields of [`MemoryStatistics`]:
    ///
    /// - `slabs`: arenas: how many slabs there are; pools: 0.
    /// - `in_use`: allocated and not freed.
    /// - `peak_in_use`.
    /// - `peak_reserved`.
    /// - `waiting`: arenas: the part of in_use whose free waits for a stream or a graph. Pools: 0, since a piece is no
    ///   longer in use once its free was submitted to the stream.
    /// - `allocations`: how many, since creation.
    /// - `frees`: how many, since creation.
    /// - `driver_calls`: how many calls took memory from the driver or gave memory back.
    MemoryStatistics(gpo_memory_statistics) {
    }
    {
        slabs, in_use, peak_in_use, peak_reserved, waiting, allocations, frees, driver_calls
    }
}

figures! {
    /// The kind of memory at an address.
    ///
    /// The fields of [`MemoryInfo`]:
    ///
    /// - `kind`: `GPO_MEMORY_*`.
    /// - `device_ordinal`: the driver's own number of the device; -1 for host memory.
    /// - `start`: address of the allocation or registration; 0 for pageable memory.
    /// - `bytes`: its size.
    MemoryInfo(gpo_memory_info) {
    }
    {
        kind, device_ordinal, start, bytes
    }
}

figures! {
    /// Figures of a runtime.
    ///
    /// The fields of [`Metrics`]:
    ///
    /// - `devices`: devices on which an object was opened.
    /// - `streams`.
    /// - `operations_pending`: operations accepted and not yet known to be done. The library learns that a stream's
    ///   operations are done only when the program waits for the stream, queries it or has a notify on it. Operations
    ///   of a failed stream stay counted. A pipeline checks its own streams with each chunk.
    /// - `operations_held`: pending operations that are held on the host now; [`Statistics`].holds counts all since the
    ///   beginning.
    /// - `completions_pending`: entries accepted by completion queues and not drained.
    /// - `notifies_refused`: counter: notifies refused because the queue was full.
    /// - `arena_in_use`: bytes, all existing pinned arenas together.
    /// - `arena_reserved`.
    /// - `arena_peak`: sum of the arenas' own peaks of in_use.
    /// - `pool_in_use`: bytes, all existing device pools together.
    /// - `pool_reserved`.
    /// - `pool_peak`.
    /// - `latency_count`: completions delivered. Their latency is the time from notify to delivery:
    /// - `latency_sum`: nanoseconds.
    /// - `latencies`: \[i\]: how many took at most 2^i microseconds and more than half that; the last element: all
    ///   longer ones.
    /// - `errors`: \[status\]: calls on live objects, and completions, that failed with status.
    /// - `executors`.
    /// - `executor_threads`: the library's threads of all executors; threads of the program aren't known.
    /// - `callbacks`: counter: callbacks run by executors, with host calls and pipelines' callbacks.
    /// - `callbacks_pending`: callbacks accepted by executors and not run yet, whether due or not.
    /// - `pipeline_pinned`: bytes of pinned memory of pipelines, which belong to no arena.
    Metrics(gpo_metrics) {
    }
    {
        devices, streams, operations_pending, operations_held, completions_pending, notifies_refused, arena_in_use,
        arena_reserved, arena_peak, pool_in_use, pool_reserved, pool_peak, latency_count, latency_sum, latencies,
        errors, executors, executor_threads, callbacks, callbacks_pending, pipeline_pinned
    }
}

figures! {
    /// Figures from a device. On CUDA devices they come from NVML (libnvidia-ml.so.1, loaded by the first call). A
    /// number that isn't available is -1. The software GPU has only the numbers about memory.
    ///
    /// The fields of [`DeviceMetrics`]:
    ///
    /// - `memory_total`: bytes.
    /// - `memory_used`: bytes, by all processes; on the software GPU by this process.
    /// - `utilization`: per cent of NVML's last sampling period in which a kernel ran.
    /// - `memory_utilization`: per cent of that period in which device memory was read or written.
    /// - `power`: milliwatts.
    /// - `energy`: millijoules, since the driver was loaded.
    /// - `temperature`: degrees Celsius.
    /// - `sm_clock`: Hz.
    /// - `memory_clock`: Hz.
    /// - `pcie_sent`: bytes that the device has sent since the driver was loaded.
    /// - `pcie_received`: bytes that the device has received since the driver was loaded.
    DeviceMetrics(gpo_device_metrics) {
        /// Why NVML isn't used; "" if it is.
        reason,
    }
    {
        memory_total, memory_used, utilization, memory_utilization, power, energy, temperature, sm_clock, memory_clock,
        pcie_sent, pcie_received
    }
}

figures! {
    /// The resources that a kernel needs.
    ///
    /// The fields of [`KernelAttributes`]:
    ///
    /// - `max_threads_per_block`.
    /// - `registers_per_thread`.
    /// - `parameter_count`: 0: the kernel has none, or the driver is older than CUDA 12.4 and can't tell.
    /// - `static_shared_bytes`.
    /// - `constant_bytes`.
    /// - `local_bytes_per_thread`.
    /// - `parameter_bytes`: size of all parameters with their padding; 0 as for parameter_count.
    /// - `max_dynamic_shared_bytes`.
    /// - `ptx_version`.
    /// - `binary_version`.
    KernelAttributes(gpo_kernel_attributes) {
    }
    {
        max_threads_per_block, registers_per_thread, parameter_count, static_shared_bytes, constant_bytes,
        local_bytes_per_thread, parameter_bytes, max_dynamic_shared_bytes, ptx_version, binary_version
    }
}

figures! {
    /// Properties and counters of a group.
    ///
    /// The fields of [`PeersInfo`]:
    ///
    /// - `ranks`: how many.
    /// - `direct`: 1: every device reaches the memory of every other. 0 in groups of several processes.
    /// - `native_atomics`: 1: atomic operations on that memory are native for all of them. 0 likewise.
    /// - `nccl_version`: 22809 for 2.28.9; 0: the group doesn't use NCCL.
    /// - `rank`: the first rank of this process.
    /// - `local_ranks`: how many ranks this process has.
    /// - `collectives`: submitted, held ones included.
    /// - `direct_collectives`: of these, given to the direct engine.
    /// - `bytes`: that ranks of this process have sent, by the collectives' counts.
    /// - `mpi_device`: 1: MPI gets the data in device memory.
    PeersInfo(gpo_peers_info) {
    }
    {
        ranks, direct, native_atomics, nccl_version, rank, local_ranks, collectives, direct_collectives, bytes,
        mpi_device
    }
}

figures! {
    /// How far a run is.
    ///
    /// The fields of [`Progress`]:
    ///
    /// - `running`: 1 during a run.
    /// - `bytes_in`: input bytes read from the source.
    /// - `bytes_done`: input bytes of chunks that are through the sink.
    /// - `bytes_total`: size of the input; 0: not known.
    /// - `chunks_done`.
    /// - `elapsed_ns`.
    Progress(gpo_pipeline_progress) {
    }
    {
        running, bytes_in, bytes_done, bytes_total, chunks_done, elapsed_ns
    }
}

figures! {
    /// The figures of a run that has ended.
    ///
    /// The fields of [`RunSummary`]:
    ///
    /// - `status`: how the run ended.
    /// - `bytes_in`.
    /// - `bytes_out`.
    /// - `chunks`.
    /// - `elapsed_ns`: from [`Pipeline::start`](crate::Pipeline::start) until the last chunk was through the sink.
    /// - `chunk_bytes`: the size of chunks at the end of the run.
    /// - `slots`: of each device.
    /// - `tuned`: 1: a part of this run was spent on measuring chunk sizes.
    /// - `copy_in_ns`: with [`PipelineBuilder::times`](crate::pipeline::PipelineBuilder::times): how long the copies in
    ///   were busy on the GPU; of several devices this and the next three are sums.
    /// - `copy_out_ns`: … the copies out.
    /// - `kernel_ns`: … the kernels.
    /// - `copy_hidden_ns`: the part of copy_in_ns + copy_out_ns in which the other direction or a kernel was busy too.
    /// - `staged_bytes`: bytes that host threads moved between the caller's memory and pinned buffers.
    RunSummary(gpo_pipeline_result) {
    }
    {
        status, bytes_in, bytes_out, chunks, elapsed_ns, chunk_bytes, slots, tuned, copy_in_ns, copy_out_ns, kernel_ns,
        copy_hidden_ns, staged_bytes
    }
}

figures! {
    /// A device's share of a run.
    ///
    /// The fields of [`RunShare`]:
    ///
    /// - `chunks`: that ran there and are through the sink.
    /// - `bytes_in`: input bytes of them.
    /// - `copy_in_ns`: with [`PipelineBuilder::times`](crate::pipeline::PipelineBuilder::times): as in [`RunSummary`],
    ///   of this device.
    /// - `copy_out_ns`.
    /// - `kernel_ns`.
    /// - `copy_hidden_ns`.
    RunShare(gpo_pipeline_share) {
    }
    {
        chunks, bytes_in, copy_in_ns, copy_out_ns, kernel_ns, copy_hidden_ns
    }
}

figures! {
    /// The state and the counters of a queue.
    ///
    /// The fields of [`QueueInfo`]:
    ///
    /// - `kind`: `GPO_QUEUE_RANGE`, ….
    /// - `state`: rings: `GPO_QUEUE_OPEN`, ….
    /// - `task_size`.
    /// - `capacity`: rings: tasks that fit, for each priority; range: how many numbers there are.
    /// - `depth`: rings: tasks in device memory that wait for a pop.
    /// - `pushed`: rings: tasks pushed. This and the next three: since the ring was created or reset.
    /// - `popped`.
    /// - `done`.
    /// - `refused`: tasks of [`Ring::push_with_priority`](crate::queue::Ring::push_with_priority) that were left out.
    /// - `device_bytes`: device memory that the queue has.
    /// - `pinned_bytes`: pinned memory that the host ring has.
    /// - `posted`: host ring: tasks posted.
    /// - `answered`: host ring: answers that came and were seen.
    /// - `unanswered`: host ring: posted, and not answered; without answers: not read by the kernel.
    /// - `answer_size`.
    /// - `tenants`.
    QueueInfo(gpo_queue_info) {
    }
    {
        kind, state, task_size, capacity, depth, pushed, popped, done, refused, device_bytes, pinned_bytes, posted,
        answered, unanswered, answer_size, tenants
    }
}

figures! {
    /// Which driver a runtime uses.
    ///
    /// The fields of [`DriverInfo`]:
    ///
    /// - `version`: 13000 for CUDA 13.0.
    /// - `software`: 1: the software GPU.
    /// - `device_count`: devices that this runtime shows.
    DriverInfo(gpo_driver_info) {
        /// "cuda" or "soft".
        name,
        /// Why CUDA is not used; "" if it is used, or was not asked for.
        reason,
    }
    {
        version, software, device_count
    }
}

figures! {
    /// Counters since the runtime was created. *Serialising* calls make the device or the driver wait for other work.
    /// After warm-up a well-built program makes none.
    ///
    /// The fields of [`Statistics`]:
    ///
    /// - `live_objects`: handles that have not been destroyed.
    /// - `launches`.
    /// - `copies`.
    /// - `copied_bytes`.
    /// - `fills`.
    /// - `notifies`.
    /// - `completions`.
    /// - `failures`: operations that completed with a failure.
    /// - `holds`: operations that were held on the host for a while.
    /// - `device_allocations`: serialising: plain device allocations, and frees that wait for kernels.
    /// - `host_registrations`: serialising: slabs of pinned memory allocated and freed, and memory registered and
    ///   unregistered.
    /// - `pageable_copies`: serialising: copies from or to memory that is not pinned.
    /// - `pageable_bytes`: bytes of these copies.
    /// - `legacy_stream_uses`: serialising: work on blocking streams and on the legacy stream.
    /// - `module_loads`: serialising: modules loaded and unloaded, lazy loads included.
    /// - `put_off`: not a sum: how many calls that give pinned memory and modules back to the driver wait now for
    ///   resident work to end.
    Statistics(gpo_statistics) {
    }
    {
        live_objects, launches, copies, copied_bytes, fills, notifies, completions, failures, holds, device_allocations,
        host_registrations, pageable_copies, pageable_bytes, legacy_stream_uses, module_loads, put_off
    }
}

figures! {
    /// Properties and counters of a scheduler.
    ///
    /// The fields of [`SchedulerInfo`]:
    ///
    /// - `form`: `GPO_SCHEDULER_RESIDENT`, ….
    /// - `state`: `GPO_SCHEDULER_READY`, ….
    /// - `last_end`: why the last run ended: `Ok`: drained; [`ErrorKind::End`]: the queue is at its end;
    ///   [`ErrorKind::Cancelled`]: stopped, or the queue was aborted; [`ErrorKind::Timeout`]: idle;
    ///   [`ErrorKind::LimitExceeded`]: the while has turned 2^32 - 1 times; [`ErrorKind::NotReady`]: no run has ended.
    /// - `runs`: runs that were started.
    /// - `tasks`: tasks that were done, failed ones included.
    /// - `errors`: tasks that failed.
    /// - `refused_pushes`: pushes by handlers that found no room, or the queue aborted.
    /// - `depth`: tasks in the queue's device memory that wait.
    /// - `steps`: turns of a while, or of a step graph.
    /// - `empty_polls`: how often a worker looked and found nothing.
    /// - `busy_ns`: time in handlers, of all workers together.
    /// - `worker_ns`: time of all workers together on the GPU: busy_ns / worker_ns is the busy share.
    /// - `multiprocessors`: that the scheduler takes.
    /// - `blocks`.
    /// - `workers`: that do tasks, in all blocks together.
    /// - `handlers`.
    /// - `device_bytes`: device memory that the scheduler has, without its queue's.
    SchedulerInfo(gpo_scheduler_info) {
    }
    {
        form, state, last_end, runs, tasks, errors, refused_pushes, depth, steps, empty_polls, busy_ns, worker_ns,
        multiprocessors, blocks, workers, handlers, device_bytes
    }
}

figures! {
    /// Counters of a scheduler's handler.
    ///
    /// The fields of [`HandlerInfo`]:
    ///
    /// - `tasks`: that the handler did, failed ones included.
    /// - `errors`: number of failed tasks.
    /// - `busy_ns`: time in the handler, of all workers together; `GPO_SCHEDULER_GRAPHS`: 0.
    HandlerInfo(gpo_handler_info) {
    }
    {
        tasks, errors, busy_ns
    }
}

figures! {
    /// A block of the scheduler.
    ///
    /// The fields of [`BlockInfo`]:
    ///
    /// - `multiprocessor`: that the block ran on last.
    /// - `workers`: of the block; 0: the block hands out the host's tasks, or is the step of a graph.
    /// - `tasks`.
    /// - `empty_polls`.
    /// - `busy_ns`: time in handlers, of the block's workers together.
    /// - `worker_ns`: time of the block's workers together on the GPU.
    BlockInfo(gpo_scheduler_block) {
    }
    {
        multiprocessor, workers, tasks, empty_polls, busy_ns, worker_ns
    }
}

figures! {
    /// How many tasks waited at a moment.
    ///
    /// The fields of [`DepthSample`]:
    ///
    /// - `run`: from 1.
    /// - `time_ns`: since the run began, by the GPU's clock.
    /// - `depth`.
    DepthSample(gpo_depth_sample) {
    }
    {
        run, time_ns, depth
    }
}

figures! {
    /// A task that failed.
    ///
    /// The fields of [`TaskError`]:
    ///
    /// - `handler`: the number that the task begins with.
    /// - `status`: that the handler returned; [`ErrorKind::NotFound`]: there is no handler of that number;
    ///   [`ErrorKind::Timeout`]: only some of the worker's threads called answer() or again();
    ///   [`ErrorKind::LimitExceeded`], [`ErrorKind::InvalidArgument`]: a graph couldn't be launched.
    /// - `priority`: of the ring.
    /// - `position`: the task's place in the order in which its priority's tasks were taken, from 0, since the queue
    ///   was created or reset.
    /// - `task`: its first 16 bytes.
    TaskError(gpo_task_error) {
    }
    {
        handler, status, priority, position, task
    }
}

figures! {
    /// Properties and counters of a stream.
    ///
    /// The fields of [`StreamInfo`]:
    ///
    /// - `flags`.
    /// - `priority`: that the driver gave the stream.
    /// - `wrapped`: 1: made by `gpo_stream_wrap`.
    /// - `accepted`: number of the newest operation.
    /// - `completed`: number of the newest operation that the library has seen completed.
    /// - `held`: how many operations are held now.
    /// - `device`: the handle that the stream was made from; may be stale.
    /// - `replayed`: how many operations of a stream that learns were launched as parts of learned sequences.
    /// - `learned`: how many operations the learned sequence has; 0: no sequence is learned now.
    StreamInfo(gpo_stream_info) {
    }
    {
        flags, priority, wrapped, accepted, completed, held, replayed, learned
    }
}

figures! {
    /// Properties of symmetric memory.
    ///
    /// The fields of [`SymmetricInfo`]:
    ///
    /// - `ranks`: how many.
    /// - `bytes`: of each rank, as requested.
    /// - `alignment`: of each rank's address.
    /// - `device_bytes`: allocated on each device, with the barriers' part.
    /// - `barrier_blocks`: most blocks of a kernel that uses barriers: as many as fit on the largest of the devices at
    ///   once.
    /// - `native_atomics`: 1: atomic operations on each other's memory are native for all ranks.
    SymmetricInfo(gpo_symmetric_info) {
    }
    {
        ranks, bytes, alignment, device_bytes, barrier_blocks, native_atomics
    }
}

figures! {
    /// The size of a template, and counters of its graphs.
    ///
    /// The fields of [`TemplateStatistics`]:
    ///
    /// - `nodes`: with those of bodies, once it has a graph.
    /// - `parameters`.
    /// - `instances`: graphs that exist now, those of [`Template::launch`](crate::Template::launch) included.
    /// - `pooled`: how many of the instances are those of [`Template::launch`](crate::Template::launch).
    /// - `recordings`: how often it was recorded.
    /// - `launches`: of all its graphs.
    /// - `patches`: nodes that a launch gave the driver anew.
    /// - `updates`: graphs that took over a new recording in place.
    /// - `rebuilds`: graphs that had to be instantiated anew for a new recording.
    /// - `instance_bytes`: by how much free device memory fell while the newest graph with
    ///   [`GraphBuilder::upload`](crate::template::GraphBuilder::upload) or `GPO_GRAPH_DEVICE_LAUNCH` was made; 0: by
    ///   nothing, or there was none.
    /// - `waiting_frees`: frees of memory that wait for graphs of this template.
    /// - `held_words`: words of arguments larger than 8 bytes that hold memory for graphs now.
    /// - `waiting_for_words`: the waiting_frees that only held words hold up: addresses, or numbers that happen to be
    ///   addresses. The log names the kernel, the argument and the word.
    /// - `dropped`: values that were set, in graphs or for held launches, and that a new recording had no place for.
    TemplateStatistics(gpo_template_statistics) {
        /// Why the last graph was rebuilt: the node and what differs; "" if none was.
        last_rebuild,
        /// The parameter of the newest dropped value, and why; "" if there was none.
        last_dropped,
    }
    {
        nodes, parameters, instances, pooled, recordings, launches, patches, updates, rebuilds, instance_bytes,
        waiting_frees, held_words, waiting_for_words, dropped
    }
}

figures! {
    /// How a graph was updated to the newest recording.
    ///
    /// The fields of [`UpdateReport`]:
    ///
    /// - `rebuilt`: 0: updated in place, or it was up to date; 1: instantiated anew.
    /// - `node`: of the new recording: the first that differs in kind or place; 0: none, or none to name.
    /// - `dropped`: values that were set in the graph and that the new recording has no place for.
    UpdateReport(gpo_graph_update_report) {
        /// Why it was rebuilt: node, old, new; "" if it wasn't.
        reason,
        /// The first of their parameters; "" if there is none.
        dropped_parameter,
        /// Why it was dropped; "" if no value was.
        dropped_reason,
    }
    {
        rebuilt, node, dropped
    }
}

figures! {
    /// The extent of a trace.
    ///
    /// The fields of [`TraceInfo`]:
    ///
    /// - `running`: 1: a trace is running.
    /// - `file_status`: `Ok`; [`ErrorKind::Io`] once a file could not be written any more.
    /// - `calls`: calls of the library recorded by the newest trace. All fields below are of this trace.
    /// - `operations`: operations of streams: copies, fills, kernels and graphs, and what orders them (waits, signals,
    ///   host calls).
    /// - `timed`: copies, fills, kernels and graphs among them whose GPU times are known by now.
    /// - `completions`.
    /// - `dropped`: records lost because a thread's buffer was full or there was no memory.
    /// - `file_bytes`: bytes written to `path`.
    /// - `call_cost_ns`: time that recording a call costs its thread, measured at the start.
    /// - `operation_cost_ns`: the same for an operation with its GPU times; 0 while no device is open.
    /// - `clock_error_ns`: greatest error of GPU times on the host's clock; 0: no device is open yet.
    /// - `callbacks`: functions of the program that the library called, with those of pipelines.
    TraceInfo(gpo_trace_info) {
    }
    {
        running, file_status, calls, operations, timed, completions, dropped, file_bytes, call_cost_ns,
        operation_cost_ns, clock_error_ns, callbacks
    }
}

impl crate::Admission {
    /// Takes a waiting request out of the line. Its entry has [`ErrorKind::Cancelled`].
    ///
    /// - [`ErrorKind::InvalidState`]: the request was admitted: give its place back.
    /// - [`ErrorKind::NotFound`]: no request with this ticket waits or holds a place.
    pub fn cancel(&self, ticket: u64) -> Result<()> {
        call!(admission_cancel(self.as_raw(), ticket))
    }

    /// Gives a place back at once. Waiting requests that fit now are admitted before the call returns.
    ///
    /// - [`ErrorKind::InvalidState`]: the request still waits; or its place is being given back behind a stream.
    /// - [`ErrorKind::NotFound`]: no request with this ticket waits or holds a place.
    pub fn leave(&self, ticket: u64) -> Result<()> {
        call!(admission_leave(self.as_raw(), ticket))
    }

    /// Gives a place back in stream order: when all work that is on the stream now has ended, also by a failure. The
    /// stream must be of the admission's runtime. A failed call has no effect: the place is still held.
    ///
    /// Statuses as [`Admission::leave`](crate::Admission::leave), and:
    ///
    /// - [`ErrorKind::CaptureRefused`]: the stream is in capture.
    /// - [`ErrorKind::WouldBlock`]: the stream holds as many operations as it may.
    pub fn leave_after<'s>(&self, ticket: u64, stream: &'s crate::Stream) -> Result<Enqueued<'s>> {
        call!(admission_leave_after(self.as_raw(), ticket, stream.as_raw()))?;
        Ok(Enqueued { stream })
    }

    /// Changes the budgets: `count` places and `bytes` bytes, UINT64_MAX: unlimited. A raised budget admits waiting
    /// requests before the call returns. A lowered budget takes effect as places come back. Waiting requests that ask
    /// for more than a lowered budget end with [`ErrorKind::LimitExceeded`]: with a `count` of 0, all of them.
    pub fn set_budget(&self, count: u64, bytes: u64) -> Result<()> {
        call!(admission_set_budget(self.as_raw(), count, bytes))
    }

    /// Sets the weight of a flow, 1 to 2^16, from its next turn on. Flows have the weight 1 at first.
    ///
    /// - [`ErrorKind::InvalidArgument`]: `weight` is out of range.
    /// - [`ErrorKind::LimitExceeded`]: 65536 flows have other weights than 1.
    pub fn set_flow(&self, flow: u64, weight: u32) -> Result<()> {
        call!(admission_set_flow(self.as_raw(), flow, weight))
    }

    /// Describes an admission at one moment.
    pub fn info(&self) -> Result<AdmissionInfo> {
        let mut info = AdmissionInfo::empty();
        call!(admission_get_info(self.as_raw(), &mut info.0))?;
        Ok(info)
    }
}

impl crate::batcher::Batcher {
    /// Takes a waiting request out of the line. Its entry has [`ErrorKind::Cancelled`].
    ///
    /// - [`ErrorKind::InvalidState`]: its batch was formed.
    /// - [`ErrorKind::NotFound`]: no request with this ticket waits or runs.
    pub fn cancel(&self, ticket: u64) -> Result<()> {
        call!(batcher_cancel(self.as_raw(), ticket))
    }

    /// Sets the weight of a flow, 1 to 2^16, in all keys, from its next turn on. Flows have the weight 1 at first.
    ///
    /// - [`ErrorKind::InvalidArgument`]: `weight` is out of range.
    /// - [`ErrorKind::LimitExceeded`]: 65536 flows have other weights than 1.
    pub fn set_flow(&self, flow: u64, weight: u32) -> Result<()> {
        call!(batcher_set_flow(self.as_raw(), flow, weight))
    }

    /// Describes a batcher, all of its keys together.
    pub fn info(&self) -> Result<BatcherInfo> {
        let mut info = BatcherInfo::empty();
        call!(batcher_get_info(self.as_raw(), &mut info.0))?;
        Ok(info)
    }

    /// Describes a key.
    ///
    /// - [`ErrorKind::NotFound`]: there is no such key.
    pub fn key_info(&self, key: u32) -> Result<BatcherInfo> {
        let mut info = BatcherInfo::empty();
        call!(batcher_get_key_info(self.as_raw(), key, &mut info.0))?;
        Ok(info)
    }

    /// Describes a flow. The figures of 4096 flows are kept: those that were seen least recently are forgotten.
    ///
    /// - [`ErrorKind::NotFound`]: no figures of such a flow are kept, or there was no memory for them.
    pub fn flow_info(&self, flow: u64) -> Result<BatcherFlowInfo> {
        let mut info = BatcherFlowInfo::empty();
        call!(batcher_get_flow_info(self.as_raw(), flow, &mut info.0))?;
        Ok(info)
    }
}

impl crate::Runtime {
    /// Says which driver the runtime uses, and loads the driver if that has not happened yet.
    ///
    /// - [`ErrorKind::NoDevice`]: the requested driver can't be used, or an NVIDIA GPU is there and can't be used; the
    ///   message says why.
    pub fn driver(&self) -> Result<DriverInfo> {
        let mut info = DriverInfo::empty();
        call!(runtime_get_driver(self.as_raw(), &mut info.0))?;
        Ok(info)
    }

    /// Returns the counters. Blocks on nothing. The counters are read one after the other while work goes on, so they
    /// may be from slightly different moments.
    pub fn statistics(&self) -> Result<Statistics> {
        let mut statistics = Statistics::empty();
        call!(runtime_get_statistics(self.as_raw(), &mut statistics.0))?;
        Ok(statistics)
    }

    /// Returns how many devices the runtime shows. The first call loads the driver.
    ///
    /// - [`ErrorKind::NoDevice`]: the driver that was asked for can't be used; the message says why.
    pub fn device_count(&self) -> Result<u32> {
        let mut count = 0;
        call!(runtime_get_device_count(self.as_raw(), &mut count))?;
        Ok(count)
    }

    /// Describes device `ordinal` (from 0), which need not be open. Makes no context.
    ///
    /// - [`ErrorKind::NoDevice`]: there is no device with this ordinal.
    pub fn describe_device(&self, ordinal: u32) -> Result<DeviceProperties> {
        let mut properties = DeviceProperties::empty();
        call!(runtime_describe_device(self.as_raw(), ordinal, &mut properties.0))?;
        Ok(properties)
    }

    /// Describes how device `from` reaches device `to`. Both are ordinals; neither device need be open. Makes no
    /// context.
    ///
    /// - [`ErrorKind::NoDevice`]: `from` or `to` is not the ordinal of a device.
    pub fn describe_peers(&self, from: u32, to: u32) -> Result<PeerProperties> {
        let mut properties = PeerProperties::empty();
        call!(runtime_describe_peer(self.as_raw(), from, to, &mut properties.0))?;
        Ok(properties)
    }

    /// Returns the metrics of a runtime. Blocks on nothing.
    pub fn metrics(&self) -> Result<Metrics> {
        let mut metrics = Metrics::empty();
        call!(runtime_get_metrics(self.as_raw(), &mut metrics.0))?;
        Ok(metrics)
    }

    /// Returns the statistics and metrics of the runtime, and the metrics of every device on which an object was
    /// opened, in Prometheus' text format 0.0.4. Names begin with gpuorch_. Units are seconds and bytes; ratios go from
    /// 0 to 1.
    ///
    /// Each sample has a label "runtime", to distinguish the runtimes of a process. The value is the runtime's own
    /// label ([`sys::gpo_runtime_options`](crate::sys::gpo_runtime_options).label), or without a label the runtime's
    /// number in this process, "1" for the first created.
    ///
    /// The text is a complete page. To show several runtimes on one page, group the samples of each metric together.
    ///
    /// Blocks as [`Device::metrics`](crate::Device::metrics) does.
    pub fn metrics_text(&self) -> Result<String> {
        text(
            |buffer, room, needed| status!(runtime_get_metrics_text(self.as_raw(), buffer, room, needed)),
            "gpo_runtime_get_metrics_text",
        )
    }

    /// Lets the runtime's log function be called on `executor` from now on, in the order of the lines. With `None`, the
    /// initial state, the function is called on the thread on which a line arises. Destroying the executor restores
    /// this state. If the executor is full, lines are dropped and counted in [`ExecutorStatistics`].refused.
    pub fn set_log_executor(&self, executor: Option<&crate::Executor>) -> Result<()> {
        call!(runtime_set_log_executor(self.as_raw(), executor.map_or(std::ptr::null_mut(), crate::Executor::as_raw)))
    }

    /// Stops the trace: writes what was recorded, and closes the files. [`Runtime::shutdown`](crate::Runtime::shutdown)
    /// does so too. The call doesn't wait for the GPU: operations that still run are in the trace without their GPU
    /// times.
    ///
    /// - [`ErrorKind::InvalidState`]: no trace of the runtime is running.
    /// - [`ErrorKind::Io`]: a file could not be written completely, for instance because the disk is full. The trace
    ///   has ended all the same. The file is well-formed and ends early, or is deleted. The failure was logged when it
    ///   happened, and the program's work went on.
    /// - [`ErrorKind::WouldDeadlock`]: called in the log function, on the trace's own thread.
    ///
    /// Blocks until the files are written.
    pub fn stop_trace(&self) -> Result<()> {
        call!(trace_stop(self.as_raw()))
    }

    /// Describes the running trace, or the last one if none is running. Blocks on nothing.
    pub fn trace_info(&self) -> Result<TraceInfo> {
        let mut info = TraceInfo::empty();
        call!(trace_get_info(self.as_raw(), &mut info.0))?;
        Ok(info)
    }

    /// Returns a few lines of text about the running trace, as far as it has come, or about the last one. The text says
    /// how long each engine was busy, the bytes and speed of copies, and how much of the copying was hidden behind
    /// other work. Then come the longest gaps in which no engine worked, with the work before each, and serialising
    /// calls.
    ///
    /// - [`ErrorKind::InvalidState`]: the runtime was never traced.
    pub fn trace_summary(&self) -> Result<String> {
        text(
            |buffer, room, needed| status!(trace_get_summary(self.as_raw(), buffer, room, needed)),
            "gpo_trace_get_summary",
        )
    }
}

impl crate::Device {
    /// Describes an open device, as [`Runtime::describe_device`](crate::Runtime::describe_device) does.
    pub fn properties(&self) -> Result<DeviceProperties> {
        let mut properties = DeviceProperties::empty();
        call!(device_get_properties(self.as_raw(), &mut properties.0))?;
        Ok(properties)
    }

    /// Waits until all work that was put on the device's streams before the call is done, and until memory that was
    /// freed behind this work is free. Held work, and the work of streams that have been destroyed, is included. If a
    /// stream has failed, the work that the GPU was given before the failure is waited for too; the failure isn't
    /// returned. Resident streams are left out.
    ///
    /// The call may be made during a stream capture. A stream that is being captured runs nothing and is passed over. A
    /// wrapped legacy stream is passed over while any blocking stream is being captured. Memory that was freed during a
    /// capture is released when the capture ends; this call doesn't wait for that.
    ///
    /// - [`ErrorKind::DeviceLost`]: the device was lost.
    /// - [`ErrorKind::Cancelled`]: the runtime was shut down meanwhile.
    /// - [`ErrorKind::WouldDeadlock`]: called in a host call on one of the device's streams, or in a log function on
    ///   the library's thread that frees memory.
    ///
    /// Blocks on the GPU.
    pub fn wait(&self) -> Result<()> {
        call!(device_wait(self.as_raw(), FOR_EVER))
    }

    /// Like [`Device::wait`](crate::Device::wait), with a timeout.
    ///
    /// - [`ErrorKind::Timeout`]: the timeout passed. If streams hold each other up,
    ///   [`Error::message`](crate::Error::message) names them.
    pub fn wait_for(&self, timeout: Duration) -> Result<()> {
        call!(device_wait(self.as_raw(), nanoseconds(timeout)))
    }

    /// Returns the CUcontext and the CUdevice behind a handle, for use with other libraries.
    pub fn native(&self) -> Result<(*mut std::ffi::c_void, i32)> {
        let mut context = std::ptr::null_mut();
        let mut ordinal = 0;
        call!(device_get_native(self.as_raw(), &mut context, &mut ordinal))?;
        Ok((context, ordinal))
    }

    /// Returns the free and the total bytes of device memory, as the driver sees them now.
    pub fn memory(&self) -> Result<(u64, u64)> {
        let mut free_bytes = 0;
        let mut total_bytes = 0;
        call!(device_get_memory(self.as_raw(), &mut free_bytes, &mut total_bytes))?;
        Ok((free_bytes, total_bytes))
    }

    /// Lets kernels and copies on this device access the memory of `peer`. Succeeds if they can already.
    ///
    /// - [`ErrorKind::NotSupported`]: these two devices can't reach each other.
    /// - [`ErrorKind::InvalidHandle`]: the devices are of different runtimes.
    ///
    /// Serialises both devices.
    pub fn enable_peer(&self, peer: &crate::Device) -> Result<()> {
        call!(device_enable_peer(self.as_raw(), peer.as_raw()))
    }

    /// Ends the access of kernels and copies on this device to the memory of `peer`.
    ///
    /// - [`ErrorKind::InvalidState`]: this device has no access to the memory of `peer`.
    /// - [`ErrorKind::InvalidArgument`]: both are the same device, which always reaches its own memory.
    ///
    /// Serialises both devices.
    pub fn disable_peer(&self, peer: &crate::Device) -> Result<()> {
        call!(device_disable_peer(self.as_raw(), peer.as_raw()))
    }

    /// Returns the value of `limit` (`GPO_LIMIT_*`) that is in force now.
    ///
    /// - [`ErrorKind::InvalidArgument`]: `limit` is none of these numbers.
    /// - [`ErrorKind::NotSupported`]: the device doesn't have this limit.
    pub fn limit(&self, limit: DeviceLimit) -> Result<u64> {
        let mut value = 0;
        call!(device_get_limit(self.as_raw(), limit.into(), &mut value))?;
        Ok(value)
    }

    /// Sets a limit. The driver may round the value: read it back with [`Device::limit`](crate::Device::limit). Same
    /// statuses as there. [`ErrorKind::InvalidArgument`], too: on a CUDA device the limits of printf and of the heap
    /// can't be set, not even to the same value, once a kernel that uses printf, or malloc, has been launched in the
    /// context (cuCtxSetLimit).
    ///
    /// - [`ErrorKind::InvalidState`]: `limit` is [`DeviceLimit::Stack`](crate::DeviceLimit::Stack), and there is
    ///   resident work, which the driver would wait for; the message names its stream.
    pub fn set_limit(&self, limit: DeviceLimit, value: u64) -> Result<()> {
        call!(device_set_limit(self.as_raw(), limit.into(), value))
    }

    /// Returns the metrics of a device. Blocks on the driver for less than a millisecond; the first call blocks until
    /// NVML is loaded. May be called during stream captures.
    pub fn metrics(&self) -> Result<DeviceMetrics> {
        let mut metrics = DeviceMetrics::empty();
        call!(device_get_metrics(self.as_raw(), &mut metrics.0))?;
        Ok(metrics)
    }
}

impl crate::Stream {
    /// Returns what the library knows of a stream. Doesn't ask the driver.
    pub fn info(&self) -> Result<StreamInfo> {
        let mut info = StreamInfo::empty();
        call!(stream_get_info(self.as_raw(), &mut info.0))?;
        Ok(info)
    }

    /// Returns the CUstream behind the handle. Don't destroy the CUstream: the library owns it, unless the stream was
    /// wrapped. Work that is put on the CUstream directly is not held back while the stream is held.
    pub fn native(&self) -> Result<*mut std::ffi::c_void> {
        let mut native = std::ptr::null_mut();
        call!(stream_get_native(self.as_raw(), &mut native))?;
        Ok(native)
    }

    /// Says whether all work that was put on the stream is done.
    ///
    /// - `true`: it is done.
    /// - `false`: it is not done.
    /// - [`ErrorKind::CaptureRefused`]: the stream is in capture.
    /// - Any other error: the stream has failed with it, even if earlier work still runs.
    pub fn is_done(&self) -> Result<bool> {
        match status!(stream_query(self.as_raw()))? {
            sys::GPO_SUCCESS => Ok(true),
            sys::GPO_NOT_READY => Ok(false),
            other => Err(failure(other, "gpo_stream_query")),
        }
    }

    /// Waits for all work that was put on the stream before the call.
    ///
    /// - [`ErrorKind::WouldDeadlock`]: called in a host call on this stream, with a timeout other than 0.
    /// - [`ErrorKind::CaptureRefused`]: the stream is in capture.
    /// - Any other error: the stream has failed with it, and the work that the GPU was given before has ended.
    ///
    /// Blocks on the GPU.
    pub fn wait(&self) -> Result<()> {
        call!(stream_wait(self.as_raw(), FOR_EVER))
    }

    /// Like [`Stream::wait`](crate::Stream::wait), with a timeout.
    ///
    /// - [`ErrorKind::Timeout`]: the timeout passed. A failed stream returns this too, even with timeout 0, until the
    ///   work that the GPU was given before the failure has ended.
    pub fn wait_for(&self, timeout: Duration) -> Result<()> {
        call!(stream_wait(self.as_raw(), nanoseconds(timeout)))
    }

    /// Cancels all operations that are held on the stream: they complete with [`ErrorKind::Cancelled`]. The stream can
    /// be used again. The value is the number of operations that were cancelled.
    pub fn cancel_held(&self) -> Result<u64> {
        let mut count = 0;
        call!(stream_cancel_held(self.as_raw(), &mut count))?;
        Ok(count)
    }

    /// Makes later work on the stream wait, on the GPU, until the event's newest recording is complete. The host
    /// doesn't wait. An event that was never recorded counts as complete. The event may be of another device of the
    /// same runtime. A stream that waits for an event recorded in a capture joins that capture. On a stream in capture
    /// an event with `GPO_EVENT_EXTERNAL` becomes a node of the graph instead, which waits at each launch.
    ///
    /// - [`ErrorKind::CaptureRefused`]: the stream is in capture, and the event was recorded outside of that capture;
    ///   or the event's newest recording was made in a capture that has ended. The stream is unchanged.
    pub fn wait_event(&self, event: &crate::Event) -> Result<Enqueued<'_>> {
        call!(stream_wait_event(self.as_raw(), event.as_raw()))?;
        Ok(Enqueued { stream: self })
    }

    /// Makes later work on this stream wait, on the GPU, until all work that was put on `other` before the call is
    /// done. The host doesn't wait. If `other` is in capture, this stream joins that capture.
    ///
    /// - [`ErrorKind::CaptureRefused`]: only this stream is in capture, or the two are in different captures.
    pub fn wait_stream(&self, other: &crate::Stream) -> Result<Enqueued<'_>> {
        call!(stream_wait_stream(self.as_raw(), other.as_raw()))?;
        Ok(Enqueued { stream: self })
    }

    /// Makes later work on the stream wait until the timeline reaches `value`. If the signal has been submitted to some
    /// stream, the GPU waits. Otherwise the stream is held. The host doesn't wait.
    ///
    /// - [`ErrorKind::NotSupported`]: the stream is wrapped and would have to be held.
    /// - [`ErrorKind::CaptureRefused`]: the stream is in capture, and the value is not reached.
    /// - Any other error: the timeline has failed with it, and the value is not reached.
    pub fn wait_timeline(&self, timeline: &crate::Timeline, value: u64) -> Result<Enqueued<'_>> {
        call!(stream_wait_timeline(self.as_raw(), timeline.as_raw(), value))?;
        Ok(Enqueued { stream: self })
    }

    /// Raises the timeline to `value` when all work that was put on the stream before the call is done. If the timeline
    /// is already higher at that moment, nothing changes. If the work before fails, the timeline fails with the same
    /// failure.
    ///
    /// - [`ErrorKind::InvalidArgument`], [`ErrorKind::Failed`]: as [`Timeline::signal`](crate::Timeline::signal).
    /// - [`ErrorKind::CaptureRefused`]: the stream is in capture.
    pub fn signal_timeline(&self, timeline: &crate::Timeline, value: u64) -> Result<Enqueued<'_>> {
        call!(stream_signal_timeline(self.as_raw(), timeline.as_raw(), value))?;
        Ok(Enqueued { stream: self })
    }
}

impl crate::Event {
    /// Records the event behind all work that was put on the stream before the call. Waits for an earlier recording
    /// still wait for that recording. On a held stream the recording is held too, and the event is incomplete
    /// meanwhile. On a stream in capture the event marks a point in the graph, or becomes a node of it.
    ///
    /// - [`ErrorKind::InvalidArgument`]: event and stream are of different devices.
    pub fn record<'s>(&self, stream: &'s crate::Stream) -> Result<Enqueued<'s>> {
        call!(event_record(self.as_raw(), stream.as_raw()))?;
        Ok(Enqueued { stream })
    }

    /// Says whether the newest recording is complete.
    ///
    /// - `true`: it is complete, or the event was never recorded.
    /// - `false`: it is not complete.
    /// - [`ErrorKind::CaptureRefused`]: it was made in a capture.
    /// - Any other error: the failure of the work before the recording.
    pub fn is_done(&self) -> Result<bool> {
        match status!(event_query(self.as_raw()))? {
            sys::GPO_SUCCESS => Ok(true),
            sys::GPO_NOT_READY => Ok(false),
            other => Err(failure(other, "gpo_event_query")),
        }
    }

    /// Waits until the newest recording is complete. Statuses as [`Event::is_done`](crate::Event::is_done), except
    /// [`ErrorKind::NotReady`], and:
    ///
    /// - [`ErrorKind::Cancelled`]: the event was destroyed or the runtime shut down meanwhile.
    /// - [`ErrorKind::WouldDeadlock`]: called with a timeout other than 0 in a host call, and the newest recording is
    ///   behind that host call on its stream.
    ///
    /// Blocks on the GPU.
    pub fn wait(&self) -> Result<()> {
        call!(event_wait(self.as_raw(), FOR_EVER))
    }

    /// Like [`Event::wait`](crate::Event::wait), with a timeout.
    ///
    /// - [`ErrorKind::Timeout`]: the timeout passed.
    pub fn wait_for(&self, timeout: Duration) -> Result<()> {
        call!(event_wait(self.as_raw(), nanoseconds(timeout)))
    }

    /// Returns the CUevent behind the handle. The library owns it: don't destroy it.
    ///
    /// - [`ErrorKind::NotSupported`]: the event was made with
    ///   [`EventBuilder::interprocess`](crate::EventBuilder::interprocess), or is imported.
    pub fn native(&self) -> Result<*mut std::ffi::c_void> {
        let mut native = std::ptr::null_mut();
        call!(event_get_native(self.as_raw(), &mut native))?;
        Ok(native)
    }
}

impl crate::Timeline {
    /// Raises the timeline to `value` from the host, and releases the waits for it. When the call returns, no stream is
    /// held for this value any more, nor for work that was held behind such a wait on another stream.
    ///
    /// - [`ErrorKind::InvalidArgument`]: `value` is not above the value reached; or not above every signal that the GPU
    ///   has been given; or a stream is on the way to signal exactly this value.
    /// - [`ErrorKind::Failed`]: the timeline has failed; [`Timeline::value`](crate::Timeline::value) returns the status
    ///   it has failed with.
    pub fn signal(&self, value: u64) -> Result<()> {
        call!(timeline_signal(self.as_raw(), value))
    }

    /// Returns the value that has been reached. If the timeline has failed, returns the status of that failure instead.
    pub fn value(&self) -> Result<u64> {
        let mut value = 0;
        call!(timeline_get_value(self.as_raw(), &mut value))?;
        Ok(value)
    }

    /// Waits on the host until `value` is reached.
    ///
    /// - [`ErrorKind::Cancelled`]: the runtime was shut down meanwhile; or the timeline was destroyed, and no signal
    ///   that was put on a stream will reach `value`.
    /// - Any other error: the timeline has failed with it.
    pub fn wait(&self, value: u64) -> Result<()> {
        call!(timeline_wait(self.as_raw(), value, FOR_EVER))
    }

    /// Like [`Timeline::wait`](crate::Timeline::wait), with a timeout.
    ///
    /// - [`ErrorKind::Timeout`]: the timeout passed.
    pub fn wait_for(&self, value: u64, timeout: Duration) -> Result<()> {
        call!(timeline_wait(self.as_raw(), value, nanoseconds(timeout)))
    }
}

impl crate::CompletionQueue {
    /// Puts an entry into this queue when the newest recording is complete, at once if the event was never recorded.
    /// The entry has `user_data` and a status: `Ok`, or the failure if the work before that recording fails or has
    /// failed or the device is lost.
    ///
    /// - [`ErrorKind::WouldBlock`]: the queue is full; no entry will come.
    /// - [`ErrorKind::CaptureRefused`]: the recording was made in a capture.
    pub fn notify_event(&self, event: &crate::Event, user_data: u64) -> Result<()> {
        call!(event_notify(event.as_raw(), self.as_raw(), user_data))
    }

    /// Puts a mark behind all work that is on the stream now. When that work is done, this queue gets an entry with
    /// `user_data`. This queue must be of the stream's runtime.
    ///
    /// If the stream fails or has failed, the entry has that failure. The entry comes when the work that the GPU was
    /// given before the failure has ended. Memory that the work used can then be reused.
    ///
    /// - [`ErrorKind::WouldBlock`]: the queue is full: accepted notifies count as long as their entries have not been
    ///   drained. No mark was put and no entry will come.
    /// - [`ErrorKind::CaptureRefused`]: the stream is in capture.
    pub fn notify(&self, stream: &crate::Stream, user_data: u64) -> Result<()> {
        call!(stream_notify(stream.as_raw(), self.as_raw(), user_data))
    }

    /// Like [`CompletionQueue::notify`](crate::CompletionQueue::notify), and the entry's `gpu_ns` has the GPU time from
    /// the newest recording of `since` to the mark. `gpu_ns` is -1 if that recording is not complete before the mark,
    /// or if the event is recorded again before the library sees the mark: use several events for several measurements
    /// at a time. Costs the GPU two time stamps, about 1 us.
    ///
    /// Statuses as [`CompletionQueue::notify`](crate::CompletionQueue::notify), and:
    ///
    /// - [`ErrorKind::InvalidArgument`]: `since` was made without
    ///   [`EventBuilder::timing`](crate::EventBuilder::timing), or was not recorded on the same device.
    /// - [`ErrorKind::CaptureRefused`]: `since` was recorded in a capture.
    pub fn notify_timed(&self, stream: &crate::Stream, user_data: u64, since: &crate::Event) -> Result<()> {
        call!(stream_notify_timed(stream.as_raw(), self.as_raw(), user_data, since.as_raw()))
    }

    /// Waits until the queue has an entry or [`CompletionQueue::wake`](crate::CompletionQueue::wake) is called. While
    /// the runtime shuts down and entries are still to come, the call waits for them. In a runtime with
    /// `GPO_COMPLETION_LATENCY` the thread spins for a while before it sleeps.
    ///
    /// - `Ok`: there is an entry, or [`CompletionQueue::wake`](crate::CompletionQueue::wake) was called.
    /// - [`ErrorKind::ShutDown`], at once: the queue is empty, the runtime is shutting down or has shut down, and no
    ///   entry will come.
    /// - [`ErrorKind::Cancelled`]: the queue is empty and was destroyed meanwhile; or, while the runtime shuts down,
    ///   the shutdown timed out before an entry came, or this call was made in a callback of the runtime, which the
    ///   shutdown waits for.
    pub fn wait(&self) -> Result<()> {
        call!(cq_wait(self.as_raw(), FOR_EVER))
    }

    /// Like [`CompletionQueue::wait`](crate::CompletionQueue::wait), with a timeout.
    ///
    /// - [`ErrorKind::Timeout`]: the timeout passed.
    pub fn wait_for(&self, timeout: Duration) -> Result<()> {
        call!(cq_wait(self.as_raw(), nanoseconds(timeout)))
    }

    /// Makes one [`CompletionQueue::wait`](crate::CompletionQueue::wait), in progress or the next, return `Ok`, and
    /// makes the descriptor readable. Any thread may call it. Several wakes before a wait count as one.
    pub fn wake(&self) -> Result<()> {
        call!(cq_wake(self.as_raw()))
    }

    /// Returns the counts since the queue was created. Blocks on nothing.
    pub fn statistics(&self) -> Result<QueueStatistics> {
        let mut statistics = QueueStatistics::empty();
        call!(cq_get_statistics(self.as_raw(), &mut statistics.0))?;
        Ok(statistics)
    }

    /// Puts an entry into this queue when the run has ended, at once if it has.
    ///
    /// - [`ErrorKind::InvalidState`]: the pipeline was never started.
    /// - [`ErrorKind::WouldBlock`]: the queue is full; no entry will come.
    pub fn notify_pipeline(&self, pipeline: &crate::Pipeline, user_data: u64) -> Result<()> {
        call!(pipeline_notify(pipeline.as_raw(), self.as_raw(), user_data))
    }

    /// Puts an entry into this queue when the timeline reaches `value`, at once if it has. If the timeline fails, or
    /// has failed, the entry has its failure. If the timeline is destroyed and no signal that was put on a stream will
    /// reach `value`, the entry has [`ErrorKind::Cancelled`].
    ///
    /// - [`ErrorKind::WouldBlock`]: the queue is full; no entry will come.
    pub fn notify_timeline(&self, timeline: &crate::Timeline, value: u64, user_data: u64) -> Result<()> {
        call!(timeline_notify(timeline.as_raw(), value, self.as_raw(), user_data))
    }
}

impl crate::Executor {
    /// Runs callbacks on the calling thread until no accepted callback is pending. Several threads may run an executor,
    /// also an executor with threads of its own. The value is how many callbacks this call has run.
    ///
    /// - `Ok`: no callback is pending.
    /// - [`ErrorKind::Cancelled`]: the executor was destroyed meanwhile.
    /// - [`ErrorKind::WouldDeadlock`]: called in a callback of the same executor.
    ///
    /// Blocks on the GPU and in callbacks.
    pub fn run(&self) -> Result<u64> {
        let mut count = 0;
        call!(executor_run(self.as_raw(), &mut count))?;
        Ok(count)
    }

    /// Like [`Executor::run`](crate::Executor::run), but ends after `timeout`. A callback that is running at that time
    /// is finished first.
    ///
    /// - [`ErrorKind::Timeout`]: callbacks are still pending.
    pub fn run_for(&self, timeout: Duration) -> Result<u64> {
        let mut count = 0;
        call!(executor_run_for(self.as_raw(), nanoseconds(timeout), &mut count))?;
        Ok(count)
    }

    /// Runs the callbacks that are due and returns `Ok`, also if there was none. The value is as in
    /// [`Executor::run`](crate::Executor::run). Blocks only in callbacks.
    pub fn poll(&self) -> Result<u64> {
        let mut count = 0;
        call!(executor_poll(self.as_raw(), &mut count))?;
        Ok(count)
    }

    /// Returns the counts since the executor was created. Blocks on nothing.
    pub fn statistics(&self) -> Result<ExecutorStatistics> {
        let mut statistics = ExecutorStatistics::empty();
        call!(executor_get_statistics(self.as_raw(), &mut statistics.0))?;
        Ok(statistics)
    }

    /// Lets a callback that still waits for its time be called at once, with [`ErrorKind::Cancelled`], as if it had
    /// been posted now.
    ///
    /// - [`ErrorKind::NotFound`]: no callback with this ticket waits for a time: its time has come, or it was
    ///   cancelled.
    pub fn cancel(&self, ticket: u64) -> Result<()> {
        call!(executor_cancel(self.as_raw(), ticket))
    }

    /// The time now, by the clock of [`Executor::post_at`](crate::Executor::post_at): CLOCK_MONOTONIC, and in
    /// deterministic mode ([`sys::gpo_runtime_options`](crate::sys::gpo_runtime_options).schedule_seed) the virtual
    /// clock.
    pub fn time(&self) -> Result<u64> {
        let mut time_ns = 0;
        call!(executor_get_time(self.as_raw(), &mut time_ns))?;
        Ok(time_ns)
    }
}

impl crate::Arena {
    /// Gives empty slabs back to the driver until at most `keep_bytes` are reserved. Serialises the device. Beside
    /// resident work the driver gets them when that work has ended, and until then they count nowhere in the arena.
    pub fn trim(&self, keep_bytes: u64) -> Result<()> {
        call!(arena_trim(self.as_raw(), keep_bytes))
    }

    /// Returns the arena's figures.
    pub fn statistics(&self) -> Result<MemoryStatistics> {
        let mut statistics = MemoryStatistics::empty();
        call!(arena_get_statistics(self.as_raw(), &mut statistics.0))?;
        Ok(statistics)
    }
}

impl crate::Pool {
    /// Gives unused memory back to the system until at most `keep_bytes` are reserved. Serialises the device. Memory
    /// that was freed on a stream with unfinished work, or in capture, stays reserved. Looking at such a stream takes
    /// up to 0.5 ms.
    pub fn trim(&self, keep_bytes: u64) -> Result<()> {
        call!(pool_trim(self.as_raw(), keep_bytes))
    }

    /// Returns the pool's figures.
    pub fn statistics(&self) -> Result<MemoryStatistics> {
        let mut statistics = MemoryStatistics::empty();
        call!(pool_get_statistics(self.as_raw(), &mut statistics.0))?;
        Ok(statistics)
    }
}

impl crate::Module {
    /// Copies the image that a module was made from, to be stored and loaded again. The image is not a string and has
    /// no terminator. The value is its size in bytes.
    pub fn image(&self) -> Result<Vec<u8>> {
        bytes(
            |buffer, room, needed| status!(module_get_image(self.as_raw(), buffer.cast(), room, needed)),
            "gpo_module_get_image",
        )
    }

    /// Returns the device address and the size in bytes of a `__device__` or `__constant__` variable. The variable can
    /// be copied to and from like any device memory.
    ///
    /// - [`ErrorKind::NotFound`]: there is no such variable.
    pub fn symbol(&self, name: &str) -> Result<(u64, u64)> {
        let name = c_string(name, "gpo_module_get_symbol")?;
        let mut address = 0;
        let mut bytes = 0;
        call!(module_get_symbol(self.as_raw(), name.as_ptr(), &mut address, &mut bytes))?;
        Ok((address, bytes))
    }
}

impl crate::Kernel {
    /// Returns what the driver says of a kernel.
    pub fn attributes(&self) -> Result<KernelAttributes> {
        let mut attributes = KernelAttributes::empty();
        call!(kernel_get_attributes(self.as_raw(), &mut attributes.0))?;
        Ok(attributes)
    }

    /// Returns the function's name in the image.
    pub fn name(&self) -> Result<String> {
        text(
            |buffer, room, needed| status!(kernel_get_name(self.as_raw(), buffer, room, needed)),
            "gpo_kernel_get_name",
        )
    }

    /// Returns the CUfunction behind the handle. The library owns it.
    pub fn native(&self) -> Result<*mut std::ffi::c_void> {
        let mut function = std::ptr::null_mut();
        call!(kernel_get_native(self.as_raw(), &mut function))?;
        Ok(function)
    }

    /// Allows launches of this kernel to use up to `bytes` of dynamic shared memory. The setting holds for all handles
    /// of the kernel. A launch whose static and dynamic shared memory together exceed 48 KiB needs this call first.
    ///
    /// - [`ErrorKind::InvalidArgument`]: a block can't have that much on this device.
    pub fn set_max_dynamic_shared(&self, bytes: u64) -> Result<()> {
        call!(kernel_set_max_dynamic_shared(self.as_raw(), bytes))
    }

    /// Returns how many blocks of `threads` threads, each with `dynamic_shared_bytes`, fit on a multiprocessor at once.
    ///
    /// - [`ErrorKind::InvalidArgument`]: `threads` is 0, or more than a block can have on this device.
    pub fn occupancy(&self, threads: u32, dynamic_shared_bytes: u64) -> Result<u32> {
        let mut blocks = 0;
        call!(kernel_get_occupancy(self.as_raw(), threads, dynamic_shared_bytes, &mut blocks))?;
        Ok(blocks)
    }

    /// Suggests a launch shape: `threads` gets the block size with the best occupancy, at most `max_threads` (0: no
    /// bound), and `blocks` the fewest blocks that fill the device.
    ///
    /// - [`ErrorKind::InvalidArgument`]: no block fits with that much dynamic shared memory.
    pub fn suggest(&self, dynamic_shared_bytes: u64, max_threads: u32) -> Result<(u32, u32)> {
        let mut threads = 0;
        let mut blocks = 0;
        call!(kernel_suggest_shape(self.as_raw(), dynamic_shared_bytes, max_threads, &mut threads, &mut blocks))?;
        Ok((threads, blocks))
    }

    /// Returns the offset and the size, both in bytes, of parameter `index` (from 0) in the kernel's parameters. The
    /// library knows both already, so the call doesn't block.
    ///
    /// - [`ErrorKind::InvalidArgument`]: the kernel has no such parameter; the message says how many it has.
    /// - [`ErrorKind::NotSupported`]: the driver is older than CUDA 12.4 and can't tell.
    pub fn parameter(&self, index: u32) -> Result<(u64, u64)> {
        let mut offset = 0;
        let mut bytes = 0;
        call!(kernel_get_parameter(self.as_raw(), index, &mut offset, &mut bytes))?;
        Ok((offset, bytes))
    }
}

impl crate::Pipeline {
    /// Ends the run early: no further chunk is begun, chunks under way are finished and their output is dropped, and
    /// the run's status is [`ErrorKind::Cancelled`]. Succeeds if no run is under way. Any thread may call it, also in a
    /// callback.
    pub fn cancel(&self) -> Result<()> {
        call!(pipeline_cancel(self.as_raw()))
    }

    /// Returns how far the run is, or how far the last run came. Any thread may call it, also in a callback. Blocks on
    /// nothing.
    pub fn progress(&self) -> Result<Progress> {
        let mut progress = Progress::empty();
        call!(pipeline_get_progress(self.as_raw(), &mut progress.0))?;
        Ok(progress)
    }
}

impl crate::Template {
    /// Returns the CUgraph behind the template. The library owns the CUgraph: read, copy or instantiate it, but don't
    /// change it. The CUgraph is valid until the template is recorded anew, cleared or destroyed. Nothing can be added
    /// to the template any more.
    ///
    /// - [`ErrorKind::InvalidState`]: the template is being recorded, or is a body.
    pub fn native(&self) -> Result<*mut std::ffi::c_void> {
        let mut native = std::ptr::null_mut();
        call!(template_get_native(self.as_raw(), &mut native))?;
        Ok(native)
    }

    /// Removes all nodes and parameters, so that the template can be built anew. Its graphs keep what they have until
    /// [`Graph::update`](crate::Graph::update).
    ///
    /// - [`ErrorKind::InvalidState`]: the template is being recorded.
    pub fn clear(&self) -> Result<()> {
        call!(template_clear(self.as_raw()))
    }

    /// Returns the size of a template, and the counters of its graphs.
    pub fn statistics(&self) -> Result<TemplateStatistics> {
        let mut statistics = TemplateStatistics::empty();
        call!(template_get_statistics(self.as_raw(), &mut statistics.0))?;
        Ok(statistics)
    }

    /// Makes graphs for [`Template::launch`](crate::Template::launch) in advance, until there are `count`, and uploads
    /// them on `stream`.
    pub fn prepare<'s>(&self, count: u32, stream: &'s crate::Stream) -> Result<Enqueued<'s>> {
        call!(template_prepare(self.as_raw(), count, stream.as_raw()))?;
        Ok(Enqueued { stream })
    }

    /// Draws the template: its nodes with their labels, operations and parameters, the order between them, and bodies
    /// inside of their conditional nodes. The picture also has the number of launches of the template's graphs, and the
    /// duration of the newest launch that a trace has timed, if there is one. Nodes have the numbers of the template or
    /// body that they were added to. A string. Values are shown as they were recorded.
    ///
    /// - [`ErrorKind::InvalidState`]: the template is being recorded, or a body of it, or another body of the template
    ///   that it belongs to.
    /// - [`ErrorKind::InvalidArgument`]: an unknown format.
    pub fn picture(&self, format: PictureFormat) -> Result<String> {
        text(
            |buffer, room, needed| status!(template_get_picture(self.as_raw(), format.into(), buffer, room, needed)),
            "gpo_template_get_picture",
        )
    }
}

impl crate::Graph {
    /// Puts all of the graph's work on a stream, as one operation. On a held stream the launch is held with the values
    /// of this moment. If the graph is updated before a held launch is given to the GPU, the launch is of the new
    /// recording, and of these values those that were set stay as in [`Graph::update`](crate::Graph::update).
    ///
    /// - [`ErrorKind::CaptureRefused`]: the stream is in capture, where the driver launches no graphs;
    ///   `gpo_template_add_child` adds the nodes of a template to a recording.
    /// - [`ErrorKind::InvalidArgument`]: graph and stream are of different devices; or the driver refuses a value that
    ///   was set: then nothing was launched, the message names the node, and the graph can be launched with other
    ///   values; or the memory at an address that was set has been freed: then too nothing was launched, and the
    ///   message names the parameter. A held launch fails later, with the same status.
    /// - [`ErrorKind::InvalidState`]: the graph frees memory that another graph allocates and that isn't allocated now.
    ///
    /// May block in the driver if the graph has host nodes or copies.
    pub fn launch<'s>(&self, stream: &'s crate::Stream) -> Result<Enqueued<'s>> {
        call!(graph_launch(self.as_raw(), stream.as_raw()))?;
        Ok(Enqueued { stream })
    }

    /// Uploads the graph in stream order, so that the next launch needn't.
    ///
    /// - [`ErrorKind::CaptureRefused`]: the stream is in capture.
    pub fn upload<'s>(&self, stream: &'s crate::Stream) -> Result<Enqueued<'s>> {
        call!(graph_upload(self.as_raw(), stream.as_raw()))?;
        Ok(Enqueued { stream })
    }

    /// Brings the graph to the template's newest recording: in place if its shape is the same, else by instantiating it
    /// anew. Values that were set stay for parameters that mean the same, and others are dropped. If it fails, the
    /// graph can be launched as before, and no value is dropped. Graphs of
    /// [`Template::launch`](crate::Template::launch) are updated by themselves.
    pub fn update(&self) -> Result<UpdateReport> {
        let mut report = UpdateReport::empty();
        call!(graph_update(self.as_raw(), &mut report.0))?;
        Ok(report)
    }

    /// Returns the CUgraphExec behind the graph, with all values that were set in it. The library owns the CUgraphExec,
    /// which is valid until the graph is updated or destroyed.
    pub fn native(&self) -> Result<*mut std::ffi::c_void> {
        let mut native = std::ptr::null_mut();
        call!(graph_get_native(self.as_raw(), &mut native))?;
        Ok(native)
    }
}

impl crate::Buckets {
    /// Returns the counters of the buckets and their requests.
    pub fn statistics(&self) -> Result<BucketsStatistics> {
        let mut statistics = BucketsStatistics::empty();
        call!(buckets_get_statistics(self.as_raw(), &mut statistics.0))?;
        Ok(statistics)
    }
}

impl crate::scheduler::Scheduler {
    /// Begins a run. Figures ([`SchedulerInfo`] and the others below) count on from earlier runs.
    ///
    /// - [`ErrorKind::InvalidState`]: a run goes on; or the queue is a ring that is closed with nothing in it, or was
    ///   aborted: the message says which. Over a host ring that is closed a run begins, and ends at once.
    /// - Any other error: the scheduler's stream has failed with it.
    ///
    /// Blocks on the GPU for some microseconds, while the queue's state is read.
    pub fn start(&self) -> Result<()> {
        call!(scheduler_start(self.as_raw()))
    }

    /// Asks the run to end when all earlier posted or pushed tasks are done, with the tasks that they push, and waits
    /// for the end. Tasks that others push or post meanwhile may be done or left in the queue. If the timeout passes,
    /// the run still drains: call again, or [`Scheduler::stop`](crate::scheduler::Scheduler::stop).
    ///
    /// - `Ok`: the run has ended, and all these tasks are done.
    /// - [`ErrorKind::Cancelled`]: the run has ended with tasks left: the queue was aborted, or the scheduler stopped
    ///   or destroyed.
    /// - [`ErrorKind::InvalidState`]: the scheduler was never started.
    /// - Any other error: the scheduler's stream has failed with it.
    ///
    /// Blocks on the GPU.
    pub fn drain(&self) -> Result<()> {
        call!(scheduler_drain(self.as_raw(), FOR_EVER))
    }

    /// Like [`Scheduler::drain`](crate::scheduler::Scheduler::drain), with a timeout.
    ///
    /// - [`ErrorKind::Timeout`]: the timeout passed.
    pub fn drain_for(&self, timeout: Duration) -> Result<()> {
        call!(scheduler_drain(self.as_raw(), nanoseconds(timeout)))
    }

    /// Asks the run to end, and waits for the end: handlers that have begun return, and no other begins. Tasks that are
    /// left stay in the queue. A scheduler that doesn't run is stopped already.
    ///
    /// - `Ok`: no run goes on.
    /// - Any other error: the scheduler's stream has failed with it.
    ///
    /// Blocks on the GPU.
    pub fn stop(&self) -> Result<()> {
        call!(scheduler_stop(self.as_raw(), FOR_EVER))
    }

    /// Like [`Scheduler::stop`](crate::scheduler::Scheduler::stop), with a timeout.
    ///
    /// - [`ErrorKind::Timeout`]: the timeout passed, and a handler has still not returned. The run ends when it does.
    pub fn stop_for(&self, timeout: Duration) -> Result<()> {
        call!(scheduler_stop(self.as_raw(), nanoseconds(timeout)))
    }

    /// Waits until the run has ended, without asking it to.
    ///
    /// - `Ok`: no run goes on.
    /// - Any other error: the scheduler's stream has failed with it.
    ///
    /// Blocks on the GPU.
    pub fn wait(&self) -> Result<()> {
        call!(scheduler_wait(self.as_raw(), FOR_EVER))
    }

    /// Like [`Scheduler::wait`](crate::scheduler::Scheduler::wait), with a timeout.
    ///
    /// - [`ErrorKind::Timeout`]: the timeout passed.
    pub fn wait_for(&self, timeout: Duration) -> Result<()> {
        call!(scheduler_wait(self.as_raw(), nanoseconds(timeout)))
    }

    /// Describes a scheduler. During a run the numbers are not from a single moment. Blocks on the GPU for some
    /// microseconds, while the numbers are copied; not on work of other streams. The functions below block alike.
    pub fn info(&self) -> Result<SchedulerInfo> {
        let mut info = SchedulerInfo::empty();
        call!(scheduler_get_info(self.as_raw(), &mut info.0))?;
        Ok(info)
    }

    /// Returns what was done by the handler of a number.
    ///
    /// - [`ErrorKind::InvalidArgument`]: there is no such handler.
    pub fn handler(&self, handler: u32) -> Result<HandlerInfo> {
        let mut info = HandlerInfo::empty();
        call!(scheduler_get_handler(self.as_raw(), handler, &mut info.0))?;
        Ok(info)
    }

    /// Returns the figures of the blocks in their order.
    pub fn blocks(&self) -> Result<Vec<BlockInfo>> {
        rows(BlockInfo::empty(), |first, stride, room, count| {
            call!(scheduler_get_blocks(self.as_raw(), first.cast(), stride, room, count))
        })
    }

    /// Returns the newest samples of the queue's depth, oldest first; at most 1024 are stored.
    pub fn samples(&self) -> Result<Vec<DepthSample>> {
        rows(DepthSample::empty(), |first, stride, room, count| {
            call!(scheduler_get_samples(self.as_raw(), first.cast(), stride, room, count))
        })
    }

    /// Returns the first errors since the scheduler was created, in the order in which they were found.
    pub fn errors(&self) -> Result<Vec<TaskError>> {
        rows(TaskError::empty(), |first, stride, room, count| {
            call!(scheduler_get_errors(self.as_raw(), first.cast(), stride, room, count))
        })
    }
}

impl crate::peers::Peers {
    /// Describes a group.
    pub fn info(&self) -> Result<PeersInfo> {
        let mut info = PeersInfo::empty();
        call!(peers_get_info(self.as_raw(), &mut info.0))?;
        Ok(info)
    }

    /// Returns how rank `from` reaches the memory of rank `to`.
    ///
    /// - [`ErrorKind::InvalidArgument`]: there is no such rank.
    /// - [`ErrorKind::NotSupported`]: the rank is of another process.
    pub fn link(&self, from: u32, to: u32) -> Result<PeerProperties> {
        let mut link = PeerProperties::empty();
        call!(peers_get_link(self.as_raw(), from, to, &mut link.0))?;
        Ok(link)
    }

    /// Breaks a group of several processes. Submitted collectives fail with [`ErrorKind::Cancelled`] here, and within a
    /// tenth of a second with [`ErrorKind::PeerLost`] in the other processes.
    ///
    /// - [`ErrorKind::NotSupported`]: the group is of one process: [`Stream::cancel_held`](crate::Stream::cancel_held)
    ///   cancels its held collectives.
    pub fn abort(&self) -> Result<()> {
        call!(peers_abort(self.as_raw()))
    }
}

impl<T: bytemuck::Pod> crate::peers::Symmetric<T> {
    /// Returns the address of a rank's memory, for copies, fills and kernels' arguments. Memory of one rank can be used
    /// on the streams of all. The address is valid in this process. Memory of another process's rank has another
    /// address there, and the requested alignment holds for the address in the rank's own process.
    ///
    /// - [`ErrorKind::InvalidArgument`]: there is no such rank.
    /// - [`ErrorKind::NotSupported`]: with NVSHMEM, this process has no address of the rank's memory.
    pub fn address(&self, rank: u32) -> Result<u64> {
        let mut address = 0;
        call!(symmetric_get_address(self.as_raw(), rank, &mut address))?;
        Ok(address)
    }

    /// Puts a rank's barriers back to their begin, as work of the stream. The memory's bytes stay as they are. Before
    /// kernels use barriers again, all ranks have to be reset, while no kernel uses the memory. May be recorded.
    ///
    /// - [`ErrorKind::InvalidArgument`]: there is no such rank, or the rank is another process's; the stream is of
    ///   another device than the rank.
    /// - [`ErrorKind::InvalidHandle`]: the stream is of another runtime.
    /// - [`ErrorKind::WouldBlock`]: the stream holds as many operations as it may.
    pub fn reset<'s>(&self, rank: u32, stream: &'s crate::Stream) -> Result<Enqueued<'s>> {
        call!(symmetric_reset(self.as_raw(), rank, stream.as_raw()))?;
        Ok(Enqueued { stream })
    }

    /// Describes the memory.
    pub fn info(&self) -> Result<SymmetricInfo> {
        let mut info = SymmetricInfo::empty();
        call!(symmetric_get_info(self.as_raw(), &mut info.0))?;
        Ok(info)
    }
}

impl crate::queue::Range {
    /// Makes a ring empty and open, or has a range begin anew although workers of the previous launch left it early; as
    /// work of the stream. No other work that uses the queue may run at that time. May be recorded.
    ///
    /// - [`ErrorKind::InvalidArgument`]: the stream is of another device.
    /// - [`ErrorKind::WouldBlock`]: the stream holds as many operations as it may; a part of the work may have been put
    ///   on it.
    pub fn reset<'s>(&self, stream: &'s crate::Stream) -> Result<Enqueued<'s>> {
        call!(queue_reset(self.as_raw(), stream.as_raw()))?;
        Ok(Enqueued { stream })
    }

    /// Describes a queue. The numbers are those of one moment only if no kernel uses the queue. Blocks on the GPU for
    /// some microseconds, while the numbers are copied; not on work of other streams.
    pub fn info(&self) -> Result<QueueInfo> {
        let mut info = QueueInfo::empty();
        call!(queue_get_info(self.as_raw(), &mut info.0))?;
        Ok(info)
    }
}

impl<T: crate::queue::Task> crate::queue::Ring<T> {
    /// Makes a ring empty and open, or has a range begin anew although workers of the previous launch left it early; as
    /// work of the stream. No other work that uses the queue may run at that time. May be recorded.
    ///
    /// - [`ErrorKind::InvalidArgument`]: the stream is of another device.
    /// - [`ErrorKind::WouldBlock`]: the stream holds as many operations as it may; a part of the work may have been put
    ///   on it.
    pub fn reset<'s>(&self, stream: &'s crate::Stream) -> Result<Enqueued<'s>> {
        call!(queue_reset(self.as_raw(), stream.as_raw()))?;
        Ok(Enqueued { stream })
    }

    /// Describes a queue. The numbers are those of one moment only if no kernel uses the queue. Blocks on the GPU for
    /// some microseconds, while the numbers are copied; not on work of other streams.
    pub fn info(&self) -> Result<QueueInfo> {
        let mut info = QueueInfo::empty();
        call!(queue_get_info(self.as_raw(), &mut info.0))?;
        Ok(info)
    }
}

impl<T: crate::queue::Task, A: crate::queue::Answer> crate::queue::HostRing<T, A> {
    /// Describes a queue. The numbers are those of one moment only if no kernel uses the queue. Blocks on the GPU for
    /// some microseconds, while the numbers are copied; not on work of other streams.
    pub fn info(&self) -> Result<QueueInfo> {
        let mut info = QueueInfo::empty();
        call!(queue_get_info(self.as_raw(), &mut info.0))?;
        Ok(info)
    }
}

impl crate::AdmissionBuilder<'_> {
    /// Sets `count`: budget: places; by default unlimited.
    pub fn count(mut self, count: u64) -> Self {
        self.options.count = count;
        self
    }

    /// Sets `bytes`: budget: bytes; by default unlimited.
    pub fn bytes(mut self, bytes: u64) -> Self {
        self.options.bytes = bytes;
        self
    }

    /// Sets `capacity`: how many requests may wait at a time; by default 65536; at most 2^20.
    pub fn capacity(mut self, capacity: u32) -> Self {
        self.options.capacity = capacity;
        self
    }

    /// Sets `priorities`: 1 to 16; by default 1.
    pub fn priorities(mut self, priorities: u32) -> Self {
        self.options.priorities = priorities;
        self
    }

    /// Sets `high_bytes`: bytes in use of the pool, above which admissions pause.
    pub fn high_bytes(mut self, high_bytes: u64) -> Self {
        self.options.high_bytes = high_bytes;
        self
    }

    /// Sets `low_bytes`: bytes in use of the pool, at or below which they go on; at most high_bytes; by default nine
    /// tenths of high_bytes.
    pub fn low_bytes(mut self, low_bytes: u64) -> Self {
        self.options.low_bytes = low_bytes;
        self
    }

    /// Sets `label`: the name for errors, logs, statistics and traces.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.options.label = self.options.text("label", label.into());
        self
    }
}

impl crate::advice::Workload<'_> {
    /// Sets `launches`: kernels that are launched in a round.
    pub fn launches(mut self, launches: u64) -> Self {
        self.raw.launches = launches;
        self
    }

    /// Sets `round_ns`: time of a round, from its begin to the next one's.
    pub fn round_ns(mut self, round_ns: u64) -> Self {
        self.raw.round_ns = round_ns;
        self
    }

    /// Sets `kernel_ns`: GPU time of all kernels of a round together.
    pub fn kernel_ns(mut self, kernel_ns: u64) -> Self {
        self.raw.kernel_ns = kernel_ns;
        self
    }

    /// Sets `decisions`: how often in a round the host waits for a result of the GPU before it can go on.
    pub fn decisions(mut self, decisions: u64) -> Self {
        self.raw.decisions = decisions;
        self
    }

    /// Sets `streams`: streams that the launches are spread over now; 0: one.
    pub fn streams(mut self, streams: u32) -> Self {
        self.raw.streams = streams;
        self
    }

    /// Sets `blocks`: blocks of a launch: launches with few blocks leave room beside them.
    pub fn blocks(mut self, blocks: u32) -> Self {
        self.raw.blocks = blocks;
        self
    }

    /// Sets `bytes`: bytes that the kernels of a round read and write in device memory.
    pub fn bytes(mut self, bytes: u64) -> Self {
        self.raw.bytes = bytes;
        self
    }

    /// Sets `operations`: floating-point operations of the kernels of a round.
    pub fn operations(mut self, operations: u64) -> Self {
        self.raw.operations = operations;
        self
    }

    /// Sets `copies`: copies of a round; 0: one for each direction that has bytes.
    pub fn copies(mut self, copies: u64) -> Self {
        self.raw.copies = copies;
        self
    }

    /// Sets `copy_in_bytes`: bytes that a round copies from the host to the device.
    pub fn copy_in_bytes(mut self, copy_in_bytes: u64) -> Self {
        self.raw.copy_in_bytes = copy_in_bytes;
        self
    }

    /// Sets `copy_out_bytes`: bytes that a round copies from the device to the host.
    pub fn copy_out_bytes(mut self, copy_out_bytes: u64) -> Self {
        self.raw.copy_out_bytes = copy_out_bytes;
        self
    }

    /// Sets `tasks`: tasks of a round: independent pieces of work, many in one kernel.
    pub fn tasks(mut self, tasks: u64) -> Self {
        self.raw.tasks = tasks;
        self
    }

    /// Sets `task_ns`: time of a mean task on its worker while all workers work; 0: found from kernel_ns.
    pub fn task_ns(mut self, task_ns: u64) -> Self {
        self.raw.task_ns = task_ns;
        self
    }

    /// Sets `order`: `GPO_ORDER_*`: how tasks are handed out now; 0: `GPO_ORDER_GRID`.
    pub fn order(mut self, order: u32) -> Self {
        self.raw.order = order;
        self
    }

    /// Sets `workers`: workers at a time on the GPU; 0: 64 warps on each multiprocessor.
    pub fn workers(mut self, workers: u32) -> Self {
        self.raw.workers = workers;
        self
    }

    /// Sets `block_workers`: workers of a block; 0: 8 warps, or 1 if `workers` is given.
    pub fn block_workers(mut self, block_workers: u32) -> Self {
        self.raw.block_workers = block_workers;
        self
    }

    /// Sets `cost_deviation`: standard deviation of the costs, in thousandths of their mean.
    pub fn cost_deviation(mut self, cost_deviation: u64) -> Self {
        self.raw.cost_deviation = cost_deviation;
        self
    }

    /// Sets `cost_max`: cost of the longest task, in thousandths of the mean.
    pub fn cost_max(mut self, cost_max: u64) -> Self {
        self.raw.cost_max = cost_max;
        self
    }

    /// Every round launches the same sequence.
    pub fn repeats(mut self) -> Self {
        self.raw.flags |= sys::GPO_WORKLOAD_REPEATS;
        self
    }

    /// The sequence's sizes change from round to round.
    pub fn shapes_vary(mut self) -> Self {
        self.raw.flags |= sys::GPO_WORKLOAD_SHAPES_VARY;
        self
    }

    /// No launch of a round needs the result of another one.
    pub fn independent(mut self) -> Self {
        self.raw.flags |= sys::GPO_WORKLOAD_INDEPENDENT;
        self
    }

    /// Tasks make tasks, and only the GPU knows how many.
    pub fn spawns(mut self) -> Self {
        self.raw.flags |= sys::GPO_WORKLOAD_SPAWNS;
        self
    }

    /// Tasks come from the host one by one, and each answer is waited for.
    pub fn arrives(mut self) -> Self {
        self.raw.flags |= sys::GPO_WORKLOAD_ARRIVES;
        self
    }

    /// Copies are from or to memory that isn't pinned.
    pub fn pageable(mut self) -> Self {
        self.raw.flags |= sys::GPO_WORKLOAD_PAGEABLE;
        self
    }

    /// Now: the launches are in a graph.
    pub fn in_graph(mut self) -> Self {
        self.raw.flags |= sys::GPO_WORKLOAD_IN_GRAPH;
        self
    }

    /// Now: kernels launch all kernels but the first one.
    pub fn dynamic_parallelism(mut self) -> Self {
        self.raw.flags |= sys::GPO_WORKLOAD_DYNAMIC_PARALLELISM;
        self
    }

    /// Now: copies run beside kernels.
    pub fn overlapped(mut self) -> Self {
        self.raw.flags |= sys::GPO_WORKLOAD_OVERLAPPED;
        self
    }
}

impl crate::batcher::BatcherBuilder<'_> {
    /// Sets `lanes`: lanes of each device; by default 1; at most 16.
    pub fn lanes(mut self, lanes: u32) -> Self {
        self.options.lanes = lanes;
        self
    }

    /// Sets `capacity`: how many requests may wait at a time, of all keys; by default 65536; at most 2^20.
    pub fn capacity(mut self, capacity: u32) -> Self {
        self.options.capacity = capacity;
        self
    }

    /// Sets `label`: the name for errors, logs, statistics and traces.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.options.label = self.options.text("label", label.into());
        self
    }
}

impl<I: bytemuck::Pod, O: bytemuck::Pod> crate::batcher::KeyBuilder<'_, I, O> {
    /// Sets `max_batch`: most members of a batch, up to 65536; by default rows with buckets: the largest shape, else
    /// 64. 1: requests run alone, spread over the lanes.
    pub fn max_batch(mut self, max_batch: u32) -> Self {
        self.options.max_batch = max_batch;
        self
    }

    /// Sets `max_delay`: how long a request may wait for others; by default learnt, see below; 1: never.
    pub fn max_delay(mut self, max_delay: Duration) -> Self {
        self.options.max_delay_ns = nanoseconds_from(max_delay);
        self
    }

    /// Sets `label`: names the key in failures and figures; by default "key 0", by its number.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.options.label = self.options.text("label", label.into());
        self
    }

    /// Entries of a flow come in the order of its submissions. An entry then waits for those before it.
    pub fn preserve_order(mut self) -> Self {
        self.options.flags |= sys::GPO_BATCHER_PRESERVE_ORDER;
        self
    }

    /// Members of a batch have a word in `made`: outputs have different sizes.
    pub fn variable_output(mut self) -> Self {
        self.options.flags |= sys::GPO_BATCHER_VARIABLE_OUTPUT;
        self
    }

    /// The output buffer isn't filled with zeros before the work, which saves a fill for each batch. The work must then
    /// write all output of every member: what it leaves out is output of an earlier batch, perhaps of another client.
    pub fn keep_output(mut self) -> Self {
        self.options.flags |= sys::GPO_BATCHER_KEEP_OUTPUT;
        self
    }
}

impl crate::template::BucketsBuilder<'_> {
    /// Sets `max_bytes`: device memory that all buckets may take; 0: any. A bucket takes as much as the device's free
    /// memory went down by while the bucket was recorded and its graphs were made. Allocations of `record` count, and
    /// also other allocations at that time.
    pub fn max_bytes(mut self, max_bytes: u64) -> Self {
        self.options.max_bytes = max_bytes;
        self
    }

    /// Sets `max_buckets`: most buckets that are recorded at a time; the least recently used bucket makes room for
    /// another; 0: all.
    pub fn max_buckets(mut self, max_buckets: u32) -> Self {
        self.options.max_buckets = max_buckets;
        self
    }

    /// Sets `streams`: graphs of each bucket from the start, one for each launching stream; by default 1; at most 64.
    pub fn streams(mut self, streams: u32) -> Self {
        self.options.streams = streams;
        self
    }

    /// Sets `label`: the name for errors, logs, statistics and traces.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.options.label = self.options.text("label", label.into());
        self
    }

    /// If a bucket can't be recorded, its requests run eagerly instead of failing: this request, and all later ones,
    /// without another attempt. Only [`Buckets::prepare`](crate::Buckets::prepare) tries again. A bucket can't be
    /// recorded if a call can't be recorded, `record` fails in the recording, the driver refuses the graph, or device
    /// memory for a graph or for the copies of `restored` is missing. The failure is counted and logged as a warning;
    /// [`Buckets::statistics`](crate::Buckets::statistics) has its text. A request still fails if `record` fails in the
    /// warm-up, if `restored` can't be restored after the warm-up, if the host has no memory, if the stream has failed,
    /// or if the device is lost.
    pub fn eager_fallback(mut self) -> Self {
        self.options.flags |= sys::GPO_BUCKETS_EAGER_FALLBACK;
        self
    }
}

impl crate::DeviceBuilder<'_> {
    /// Sets `label`: the name for errors, logs, statistics and traces.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.options.label = self.options.text("label", label.into());
        self
    }
}

impl crate::EventBuilder<'_> {
    /// Sets `label`: the name for errors, logs, statistics and traces.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.options.label = self.options.text("label", label.into());
        self
    }

    /// Records GPU times; an event without them costs the GPU less.
    pub fn timing(mut self) -> Self {
        self.options.flags |= sys::GPO_EVENT_TIMING;
        self
    }

    /// A thread that waits for the event sleeps at once and doesn't spin first.
    pub fn blocking_sync(mut self) -> Self {
        self.options.flags |= sys::GPO_EVENT_BLOCKING_SYNC;
        self
    }

    /// Other processes can import it; with none but
    /// [`EventBuilder::blocking_sync`](crate::EventBuilder::blocking_sync).
    pub fn interprocess(mut self) -> Self {
        self.options.flags |= sys::GPO_EVENT_INTERPROCESS;
        self
    }
}

impl crate::ExecutorBuilder<'_> {
    /// Sets `threads`: the executor's own threads; by default 2; at most 256. 0 with
    /// [`ExecutorBuilder::run_by_caller`](crate::ExecutorBuilder::run_by_caller).
    pub fn threads(mut self, threads: u32) -> Self {
        self.options.threads = threads;
        self
    }

    /// Sets `capacity`: how many callbacks may be accepted and not run; by default 65536; at most 2^24. Beyond that
    /// functions return [`ErrorKind::WouldBlock`].
    pub fn capacity(mut self, capacity: u32) -> Self {
        self.options.capacity = capacity;
        self
    }

    /// Sets `label`: the name for errors, logs, statistics and traces.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.options.label = self.options.text("label", label.into());
        self
    }

    /// No threads: callbacks run in [`Executor::run`](crate::Executor::run),
    /// [`Executor::run_for`](crate::Executor::run_for) and [`Executor::poll`](crate::Executor::poll).
    pub fn run_by_caller(mut self) -> Self {
        self.options.flags |= sys::GPO_EXECUTOR_CALLER;
        self
    }

    /// While callbacks are pending, one idle thread spins: faster, but uses a core.
    pub fn spin(mut self) -> Self {
        self.options.flags |= sys::GPO_EXECUTOR_SPIN;
        self
    }

    /// Idle threads sleep. [`ExecutorBuilder::spin`](crate::ExecutorBuilder::spin) and this exclude each other; without
    /// both it is [`ExecutorBuilder::spin`](crate::ExecutorBuilder::spin) in a runtime with `GPO_COMPLETION_LATENCY`,
    /// else this.
    pub fn sleep(mut self) -> Self {
        self.options.flags |= sys::GPO_EXECUTOR_SLEEP;
        self
    }
}

impl crate::ArenaBuilder<'_> {
    /// Sets `max_bytes`: most bytes that the arena takes from the driver; 0: no limit.
    pub fn max_bytes(mut self, max_bytes: u64) -> Self {
        self.options.max_bytes = max_bytes;
        self
    }

    /// Sets `slab_bytes`: least size of a slab; by default 64 MiB, or max_bytes if that is less.
    pub fn slab_bytes(mut self, slab_bytes: u64) -> Self {
        self.options.slab_bytes = slab_bytes;
        self
    }

    /// Sets `initial_bytes`: bytes that [`ArenaBuilder::build`](crate::ArenaBuilder::build) takes; 0: none, the first
    /// allocation takes a slab.
    pub fn initial_bytes(mut self, initial_bytes: u64) -> Self {
        self.options.initial_bytes = initial_bytes;
        self
    }

    /// Sets `label`: the name for errors, logs, statistics and traces.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.options.label = self.options.text("label", label.into());
        self
    }

    /// Memory that the GPU reads faster, and that the host reads very slowly.
    pub fn write_combined(mut self) -> Self {
        self.options.flags |= sys::GPO_ARENA_WRITE_COMBINED;
        self
    }
}

impl crate::PoolBuilder<'_> {
    /// Sets `max_bytes`: most bytes in use; 0: no limit.
    pub fn max_bytes(mut self, max_bytes: u64) -> Self {
        self.options.max_bytes = max_bytes;
        self
    }

    /// Sets `keep_bytes`: how much unused memory the pool keeps instead of giving it back to the system; by default
    /// all, until [`Pool::trim`](crate::Pool::trim). To keep none, set
    /// [`PoolBuilder::keep_nothing`](crate::PoolBuilder::keep_nothing).
    pub fn keep_bytes(mut self, keep_bytes: u64) -> Self {
        self.options.keep_bytes = keep_bytes;
        self
    }

    /// Sets `initial_bytes`: bytes that [`PoolBuilder::build`](crate::PoolBuilder::build) takes, to make the first
    /// allocations fast; at most max_bytes.
    pub fn initial_bytes(mut self, initial_bytes: u64) -> Self {
        self.options.initial_bytes = initial_bytes;
        self
    }

    /// Sets `label`: the name for errors, logs, statistics and traces.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.options.label = self.options.text("label", label.into());
        self
    }

    /// Unused memory goes back to the system when any code next has the driver wait for a stream, an event or the
    /// context (cuStreamSynchronize and its like). The library's own waits don't count;
    /// [`Pool::trim`](crate::Pool::trim) gives the memory back at once. `keep_bytes` must be 0.
    pub fn keep_nothing(mut self) -> Self {
        self.options.flags |= sys::GPO_POOL_KEEP_NOTHING;
        self
    }
}

impl crate::Compile<'_> {
    /// Sets `file_name`: name of the source in the compiler's messages; by default "kernel.cu".
    pub fn file_name(mut self, file_name: impl Into<String>) -> Self {
        self.options.file_name = self.options.text("file_name", file_name.into());
        self
    }

    /// Sets `label`: the name for errors, logs, statistics and traces.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.options.label = self.options.text("label", label.into());
        self
    }

    /// Don't use the cache on disk: neither read from it nor add to it.
    pub fn uncached(mut self) -> Self {
        self.options.flags |= sys::GPO_COMPILE_NO_CACHE;
        self
    }
}

impl crate::Launch<'_> {
    /// Sets `dynamic_shared_bytes`: dynamic shared memory of a block.
    pub fn dynamic_shared_bytes(mut self, dynamic_shared_bytes: u64) -> Self {
        self.raw.dynamic_shared_bytes = dynamic_shared_bytes;
        self
    }

    /// All blocks run at the same time and may wait for one another.
    pub fn cooperative(mut self) -> Self {
        self.raw.flags |= sys::GPO_LAUNCH_COOPERATIVE;
        self
    }
}

impl crate::peers::PeersBuilder<'_> {
    /// Sets `engine`: `GPO_ENGINE_*` for all collectives of the group; by default one for each collective.
    pub fn engine(mut self, engine: Engine) -> Self {
        self.options.engine = engine.into();
        self
    }

    /// Sets `label`: the name for errors, logs, statistics and traces.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.options.label = self.options.text("label", label.into());
        self
    }
}

impl crate::peers::JoinBuilder<'_> {
    /// Sets `engine`: [`Engine::Nccl`](crate::peers::Engine::Nccl) or [`Engine::Host`](crate::peers::Engine::Host), the
    /// same for all ranks; by default NCCL where all ranks have CUDA devices and NCCL, and the host engine elsewhere.
    pub fn engine(mut self, engine: Engine) -> Self {
        self.options.engine = engine.into();
        self
    }

    /// Sets `label`: the name for errors, logs, statistics and traces.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.options.label = self.options.text("label", label.into());
        self
    }
}

impl crate::pipeline::Stage {
    /// Sets `bytes_per_block`: input bytes for each block; 0: one byte for each thread. Must be 0 with a given grid.
    pub fn bytes_per_block(mut self, bytes_per_block: u64) -> Self {
        self.raw.bytes_per_block = bytes_per_block;
        self
    }

    /// Sets `dynamic_shared_bytes`: dynamic shared memory of a block.
    pub fn dynamic_shared_bytes(mut self, dynamic_shared_bytes: u64) -> Self {
        self.raw.dynamic_shared_bytes = dynamic_shared_bytes;
        self
    }

    /// Sets `max_blocks`: greatest grid\[0\] that is computed, for kernels that loop; 0: no limit. Must be 0 with a
    /// given grid.
    pub fn max_blocks(mut self, max_blocks: u32) -> Self {
        self.raw.max_blocks = max_blocks;
        self
    }
}

impl crate::pipeline::PipelineBuilder<'_> {
    /// Sets `chunk_bytes`: input bytes of a chunk: a multiple of `granule`, at most 1 TiB. By default the first run
    /// measures which size is best (64 KiB to 64 MiB), and the pipeline remembers it.
    pub fn chunk_bytes(mut self, chunk_bytes: u64) -> Self {
        self.options.chunk_bytes = chunk_bytes;
        self
    }

    /// Sets `granule`: all chunks except the last are multiples of it; 0: 4096; at most 1 TiB.
    pub fn granule(mut self, granule: u64) -> Self {
        self.options.granule = granule;
        self
    }

    /// Sets `slots`: chunks under way at a time on each device, 1 to 1024; by default 3, or up to 6 if host code takes
    /// part.
    pub fn slots(mut self, slots: u32) -> Self {
        self.options.slots = slots;
        self
    }

    /// Sets `scratch_bytes`: device memory for each chunk, not cleared; at most 1 TiB.
    pub fn scratch_bytes(mut self, scratch_bytes: u64) -> Self {
        self.options.scratch_bytes = scratch_bytes;
        self
    }

    /// Sets `result_bytes`: result of a chunk: a block that is zeroed before the stages run, and that the sink gets; at
    /// most 1 MiB.
    pub fn result_bytes(mut self, result_bytes: u64) -> Self {
        self.options.result_bytes = result_bytes;
        self
    }

    /// Sets `max_pinned_bytes`: most pinned memory for staging, for all devices together; by default 1 GiB for each
    /// device.
    pub fn max_pinned_bytes(mut self, max_pinned_bytes: u64) -> Self {
        self.options.max_pinned_bytes = max_pinned_bytes;
        self
    }

    /// Sets `label`: the name for errors, logs, statistics and traces.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.options.label = self.options.text("label", label.into());
        self
    }

    /// Measure GPU times for [`RunSummary`]. Costs some 6 us a chunk, since an event with a time delays a copy engine
    /// (with 16 MiB chunks 2 % of an H200's bandwidth, both ways).
    pub fn times(mut self) -> Self {
        self.options.flags |= sys::GPO_PIPELINE_TIMES;
        self
    }
}

impl crate::queue::QueueBuilder<'_, crate::queue::Range> {
    /// Sets `batch`: numbers in a batch; by default 1.
    pub fn batch(mut self, batch: u32) -> Self {
        self.options.batch = batch;
        self
    }

    /// A worker claims a batch when it asks for the batch. Without the flag it claims when it begins the previous
    /// batch: no claim is waited for, but the batch stays with the worker however long the previous batch takes. For
    /// tasks so uneven, or so few for each worker, that a batch behind a long batch would begin last.
    pub fn late_claims(mut self) -> Self {
        self.options.flags |= sys::GPO_QUEUE_LATE_CLAIMS;
        self
    }
}

impl<T: crate::queue::Task> crate::queue::QueueBuilder<'_, crate::queue::Ring<T>> {
    /// Sets `capacity`: how many tasks fit, for each priority, at most 2^26; rounded up to a power of two from 64 on;
    /// by default 65536, in a host ring 4096.
    pub fn capacity(mut self, capacity: u64) -> Self {
        self.options.capacity = capacity;
        self
    }

    /// Sets `priorities`: 1 to 8, with [`QueueBuilder::tickets`](crate::queue::QueueBuilder::tickets) 1; by default 1.
    /// Pops look at priority 0 first.
    pub fn priorities(mut self, priorities: u32) -> Self {
        self.options.priorities = priorities;
        self
    }

    /// A push or a pop takes a place first and then waits for it, which is two to three times as fast as asking for
    /// room first. Kernels then have no calls that give up at once (try_), and a wait beyond its bound aborts the ring.
    pub fn tickets(mut self) -> Self {
        self.options.flags |= sys::GPO_QUEUE_TICKETS;
        self
    }
}

impl<T: crate::queue::Task, A: crate::queue::Answer> crate::queue::QueueBuilder<'_, crate::queue::HostRing<T, A>> {
    /// Sets `capacity`: how many tasks fit, for each priority, at most 2^26; rounded up to a power of two from 64 on;
    /// by default 65536, in a host ring 4096.
    pub fn capacity(mut self, capacity: u64) -> Self {
        self.options.capacity = capacity;
        self
    }

    /// Sets `tenants`: 1 to 64; by default 1; with [`QueueBuilder::no_answers`](crate::queue::QueueBuilder::no_answers)
    /// there is 1.
    pub fn tenants(mut self, tenants: u32) -> Self {
        self.options.tenants = tenants;
        self
    }
}

impl<Q> crate::queue::QueueBuilder<'_, Q> {
    /// Sets `label`: the name for errors, logs, statistics and traces.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.options.label = self.options.text("label", label.into());
        self
    }
}

impl<T: crate::queue::Task> crate::queue::QueueBuilder<'_, crate::queue::HostRing<T, ()>> {
    /// Tasks have no answers. A place is free again when the kernel has read the task.
    pub fn no_answers(mut self) -> Self {
        self.options.flags |= sys::GPO_QUEUE_NO_ANSWERS;
        self
    }
}

impl crate::RuntimeBuilder {
    /// Sets `device`: "any", "soft", "cuda", "cuda:N" or "soft:N"; "any" takes the software GPU only where there is no
    /// NVIDIA GPU. By default what GPUORCH_DEVICE says.
    pub fn device(mut self, device: impl Into<String>) -> Self {
        self.options.device = self.options.text("device", device.into());
        self
    }

    /// Sets `schedule_seed`: not 0: deterministic mode. Threads and clock follow one schedule, the same for the same
    /// seed. Needs the software GPU, and no other runtime in the process.
    pub fn schedule_seed(mut self, schedule_seed: u64) -> Self {
        self.options.schedule_seed = schedule_seed;
        self
    }

    /// Sets `cache`: folder for compiled kernels. By default the folder in GPUORCH_CACHE, else the user's cache folder.
    /// "": no cache.
    pub fn cache(mut self, cache: impl Into<String>) -> Self {
        self.options.cache = self.options.text("cache", cache.into());
        self
    }

    /// Sets `label`: the label that metrics of this runtime carry. Empty: none.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.options.label = self.options.text("label", label.into());
        self
    }

    /// Stderr doesn't say that the software GPU stands in.
    pub fn quiet_fallback(mut self) -> Self {
        self.options.flags |= sys::GPO_RUNTIME_QUIET_FALLBACK;
        self
    }
}

impl<F: crate::scheduler::sealed::Functions> crate::scheduler::SchedulerBuilder<'_, F> {
    /// Sets `file_name`: name of the source in the compiler's messages; by default "handlers.cu".
    pub fn file_name(mut self, file_name: impl Into<String>) -> Self {
        self.options.file_name = self.options.text("file_name", file_name.into());
        self
    }

    /// Sets `threads`: threads of a block, a multiple of 32 up to 1024; by default 128.
    pub fn threads(mut self, threads: u32) -> Self {
        self.options.threads = threads;
        self
    }

    /// Sets `blocks_per_multiprocessor`: blocks on each multiprocessor; by default 1.
    pub fn blocks_per_multiprocessor(mut self, blocks_per_multiprocessor: u32) -> Self {
        self.options.blocks_per_multiprocessor = blocks_per_multiprocessor;
        self
    }

    /// Sets `multiprocessors`: number for the scheduler's blocks; by default all that no other scheduler has, less
    /// `leave_free`.
    pub fn multiprocessors(mut self, multiprocessors: u32) -> Self {
        self.options.multiprocessors = multiprocessors;
        self
    }

    /// Sets `leave_free`: multiprocessors to be left to other work. With `multiprocessors` given, at least this many
    /// must remain.
    pub fn leave_free(mut self, leave_free: u32) -> Self {
        self.options.leave_free = leave_free;
        self
    }

    /// Sets `argument`: value that handlers get by `argument<T>()`: an address, or any number.
    pub fn argument(mut self, argument: u64) -> Self {
        self.options.argument = argument;
        self
    }

    /// Sets `dynamic_shared_bytes`: shared memory of each block, for handlers.
    pub fn dynamic_shared_bytes(mut self, dynamic_shared_bytes: u64) -> Self {
        self.options.dynamic_shared_bytes = dynamic_shared_bytes;
        self
    }
}

impl<F: crate::scheduler::sealed::Turns> crate::scheduler::SchedulerBuilder<'_, F> {
    /// Sets `batch`: `GPO_SCHEDULER_WHILE`: tasks of a worker in a turn, by default 16; `GPO_SCHEDULER_GRAPHS`: tasks
    /// of a step, up to 120, by default 120.
    pub fn batch(mut self, batch: u32) -> Self {
        self.options.batch = batch;
        self
    }
}

impl<F> crate::scheduler::SchedulerBuilder<'_, F> {
    /// Sets `max_errors`: how many errors are stored, the first ones, up to 4096; by default 64. All are counted.
    pub fn max_errors(mut self, max_errors: u32) -> Self {
        self.options.max_errors = max_errors;
        self
    }

    /// Sets `idle_timeout`: the run ends after this time with nothing to do; 0: never.
    pub fn idle_timeout(mut self, idle_timeout: Duration) -> Self {
        self.options.idle_timeout_ns = nanoseconds_from(idle_timeout);
        self
    }

    /// Sets `sample_interval`: how often the queue's depth is noted; by default a millisecond.
    pub fn sample_interval(mut self, sample_interval: Duration) -> Self {
        self.options.sample_interval_ns = nanoseconds_from(sample_interval);
        self
    }

    /// Sets `label`: the name for errors, logs, statistics and traces.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.options.label = self.options.text("label", label.into());
        self
    }
}

impl crate::StreamBuilder<'_> {
    /// Sets `priority`: 0 is the default; lower numbers run first; clamped to
    /// [`Device::stream_priorities`](crate::Device::stream_priorities).
    pub fn priority(mut self, priority: i32) -> Self {
        self.options.priority = priority;
        self
    }

    /// Sets `max_held`: how many operations may be held; by default 65536. Beyond that calls give
    /// [`ErrorKind::WouldBlock`].
    pub fn max_held(mut self, max_held: u32) -> Self {
        self.options.max_held = max_held;
        self
    }

    /// Sets `label`: the name for errors, logs, statistics and traces.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.options.label = self.options.text("label", label.into());
        self
    }

    /// This stream and the legacy default stream wait for each other's work, as in CUDA.
    pub fn blocking(mut self) -> Self {
        self.options.flags |= sys::GPO_STREAM_BLOCKING;
        self
    }
}

impl crate::StreamPoolBuilder<'_> {
    /// Sets `streams`: streams for each priority; by default 4.
    pub fn streams(mut self, streams: u32) -> Self {
        self.options.streams = streams;
        self
    }

    /// Sets `priorities`: how many priorities, from 0 upwards to greater ones; by default 1; at most as many as the
    /// device has.
    pub fn priorities(mut self, priorities: u32) -> Self {
        self.options.priorities = priorities;
        self
    }

    /// Sets `label`: the name for errors, logs, statistics and traces.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.options.label = self.options.text("label", label.into());
        self
    }
}

impl<T: bytemuck::Pod> crate::peers::SymmetricBuilder<'_, T> {
    /// Sets `alignment`: of the memory's address on each device: a power of two, 256 to 2097152; by default 256.
    pub fn alignment(mut self, alignment: u64) -> Self {
        self.options.alignment = alignment;
        self
    }

    /// Sets `label`: the name for errors, logs, statistics and traces.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.options.label = self.options.text("label", label.into());
        self
    }

    /// Sets `engine`: [`Engine::Direct`](crate::peers::Engine::Direct), or for a group of several processes
    /// [`Engine::Nvshmem`](crate::peers::Engine::Nvshmem); by default direct.
    pub fn engine(mut self, engine: Engine) -> Self {
        self.options.engine = engine.into();
        self
    }

    /// The kernels that get device handles of this memory were compiled with GPUORCH_NVSHMEM: they reach all ranks.
    pub fn remote(mut self) -> Self {
        self.options.flags |= sys::GPO_SYMMETRIC_REMOTE;
        self
    }
}

impl crate::template::TemplateBuilder<'_> {
    /// Sets `max_instances`: most graphs that [`Template::launch`](crate::Template::launch) makes; by default 64.
    pub fn max_instances(mut self, max_instances: u32) -> Self {
        self.options.max_instances = max_instances;
        self
    }

    /// Sets `label`: the name for errors, logs, statistics and traces.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.options.label = self.options.text("label", label.into());
        self
    }
}

impl crate::template::GraphBuilder<'_> {
    /// Sets `label`: the name for errors, logs, statistics and traces.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.options.label = self.options.text("label", label.into());
        self
    }

    /// Upload to the device when created, so that the first launch is as fast as others.
    pub fn upload(mut self) -> Self {
        self.options.flags |= sys::GPO_GRAPH_UPLOAD;
        self
    }
}

impl crate::Trace<'_> {
    /// Sets `path`: the trace's file, replaced if it exists, and gzipped if its name ends in .gz. By default no file,
    /// only the summary or the picture. The folder of this file and of the picture is created if its parent folder
    /// exists.
    pub fn path(mut self, path: impl Into<std::path::PathBuf>) -> Self {
        self.options.path = self.options.path("path", path.into());
        self
    }

    /// Sets `picture`: the SVG's file, written when the trace ends. By default none.
    pub fn picture(mut self, picture: impl Into<std::path::PathBuf>) -> Self {
        self.options.picture = self.options.path("picture", picture.into());
        self
    }

    /// Sets `title`: heading of the picture; by default the program's name.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.options.title = self.options.text("title", title.into());
        self
    }

    /// No GPU times: shows only the submission of GPU work, which costs the GPU nothing.
    pub fn without_gpu_times(mut self) -> Self {
        self.options.flags |= sys::GPO_TRACE_NO_GPU_TIMES;
        self
    }
}
