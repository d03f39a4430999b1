//! The library's reports about itself and about devices: its C structs, with their texts as `&str`.

use gpuorch_sys as sys;
use std::ffi::CStr;
use std::fmt;
use std::ops::Deref;

macro_rules! figures {
    ($($(#[$doc:meta])* $name:ident($raw:ident) { $($(#[$text_doc:meta])* $text:ident),* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy)]
        #[repr(transparent)]
        pub struct $name(pub(crate) sys::$raw);

        impl $name {
            pub(crate) fn empty() -> Self {
                Self(sys::$raw::new())
            }

            $(
                $(#[$text_doc])*
                pub fn $text(&self) -> &str {
                    text(&self.0.$text)
                }
            )*
        }

        impl Deref for $name {
            type Target = sys::$raw;

            fn deref(&self) -> &sys::$raw {
                &self.0
            }
        }
    )*};
}

figures! {
    /// The properties of a device.
    ///
    /// ```
    /// # let runtime = gpuorch::Runtime::new()?;
    /// # let device = runtime.open_device()?;
    /// let properties = device.properties()?;
    /// let (major, minor) = properties.compute_capability();
    /// println!("{}: {major}.{minor}, {} MiB", properties.name(), properties.memory_bytes() >> 20);
    /// let blocks = 2 * properties.multiprocessors();
    /// # assert!(blocks > 0);
    /// # Ok::<(), gpuorch::Error>(())
    /// ```
    DeviceProperties(gpo_device_properties) {
        /// The driver's name for the device.
        name,
        /// `0000:1b:00.0`.
        pci_address
    }

    /// Which driver a runtime uses.
    DriverInfo(gpo_driver_info) {
        /// `cuda` or `soft`.
        name,
        /// Why CUDA isn't used; "" if it is.
        reason
    }

    /// How two devices reach each other.
    PeerProperties(gpo_peer_properties) {}

    /// The properties and counters of a group of devices: fields of [`gpo_peers_info`](sys::gpo_peers_info).
    PeersInfo(gpo_peers_info) {}

    /// The properties of symmetric memory: fields of [`gpo_symmetric_info`](sys::gpo_symmetric_info).
    SymmetricInfo(gpo_symmetric_info) {}

    /// The memory in use and reserved: fields of [`gpo_memory_statistics`](sys::gpo_memory_statistics).
    MemoryStatistics(gpo_memory_statistics) {}

    /// A device's part of a pipeline's run: fields of [`gpo_pipeline_share`](sys::gpo_pipeline_share).
    RunShare(gpo_pipeline_share) {}

    /// The kind of memory at an address: fields of [`gpo_memory_info`](sys::gpo_memory_info).
    MemoryInfo(gpo_memory_info) {}

    /// The state of a queue that kernels take their work from: fields of [`gpo_queue_info`](sys::gpo_queue_info).
    QueueInfo(gpo_queue_info) {}

    /// The properties and counters of a scheduler: fields of [`gpo_scheduler_info`](sys::gpo_scheduler_info).
    SchedulerInfo(gpo_scheduler_info) {}

    /// The counters of a scheduler's handler: fields of [`gpo_handler_info`](sys::gpo_handler_info).
    HandlerInfo(gpo_handler_info) {}

    /// The counters of a scheduler's block: fields of [`gpo_scheduler_block`](sys::gpo_scheduler_block).
    BlockInfo(gpo_scheduler_block) {}

    /// The number of waiting tasks at one time: fields of [`gpo_depth_sample`](sys::gpo_depth_sample).
    DepthSample(gpo_depth_sample) {}

    /// A task that failed: fields of [`gpo_task_error`](sys::gpo_task_error).
    TaskError(gpo_task_error) {}

    /// The counters of a completion queue: fields of [`gpo_cq_statistics`](sys::gpo_cq_statistics).
    QueueStatistics(gpo_cq_statistics) {}

    /// The counters of an executor: fields of [`gpo_executor_statistics`](sys::gpo_executor_statistics).
    ExecutorStatistics(gpo_executor_statistics) {}

    /// The metrics of a runtime: fields of [`gpo_metrics`](sys::gpo_metrics).
    Metrics(gpo_metrics) {}

    /// The metrics of a device: fields of [`gpo_device_metrics`](sys::gpo_device_metrics). A number that isn't
    /// available is -1.
    DeviceMetrics(gpo_device_metrics) {
        /// Why NVML isn't used; "" if it is.
        reason
    }

    /// The extent of a trace: fields of [`gpo_trace_info`](sys::gpo_trace_info).
    TraceInfo(gpo_trace_info) {}

    /// The progress of a pipeline's run: fields of [`gpo_pipeline_progress`](sys::gpo_pipeline_progress).
    Progress(gpo_pipeline_progress) {}

    /// The result of a pipeline's run: fields of [`gpo_pipeline_result`](sys::gpo_pipeline_result).
    RunSummary(gpo_pipeline_result) {}

    /// The size of a template, and counters of its graphs: fields of
    /// [`gpo_template_statistics`](sys::gpo_template_statistics).
    TemplateStatistics(gpo_template_statistics) {
        /// Why the last graph was rebuilt: the node, and the difference; "" if none was.
        last_rebuild,
        /// The parameter of the last value that a new recording dropped, and why; "" if none was.
        last_dropped
    }

    /// The counters of buckets and their requests: fields of [`gpo_buckets_statistics`](sys::gpo_buckets_statistics).
    BucketsStatistics(gpo_buckets_statistics) {
        /// Why the last failed recording failed, with its bucket; "" if none failed.
        last_failure
    }

    /// How a graph was updated to the newest recording: fields of
    /// [`gpo_graph_update_report`](sys::gpo_graph_update_report).
    UpdateReport(gpo_graph_update_report) {
        /// Why the graph was rebuilt: the node before and now; "" if the graph was updated in place.
        reason,
        /// The first parameter whose value the new recording drops; "" if there is none.
        dropped_parameter,
        /// Why the value is dropped: the parameter before and now; "" if none is.
        dropped_reason
    }

    /// The resources that a kernel needs: fields of [`gpo_kernel_attributes`](sys::gpo_kernel_attributes).
    KernelAttributes(gpo_kernel_attributes) {}

    /// Counters since a runtime was created: fields of [`gpo_statistics`](sys::gpo_statistics).
    Statistics(gpo_statistics) {}

    /// The properties and counters of a stream: fields of [`gpo_stream_info`](sys::gpo_stream_info).
    StreamInfo(gpo_stream_info) {}

    /// The costs of launches, copies and the like on a device: fields of [`gpo_costs`](sys::gpo_costs).
    Costs(gpo_costs) {}

    /// The use of the time of a workload's round: fields of [`gpo_diagnosis`](sys::gpo_diagnosis).
    Diagnosis(gpo_diagnosis) {}

    /// A form in which a workload could run: fields of [`gpo_advice`](sys::gpo_advice).
    Advice(gpo_advice) {
        /// The reason in a sentence or two, with the figures behind the advice.
        reason
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

    /// The host's NUMA node nearest to the device; `None` if it isn't known.
    pub fn numa_node(&self) -> Option<u32> {
        u32::try_from(self.0.numa_node).ok()
    }

    /// The compute capability, major and minor: (9, 0) for 9.0.
    pub fn compute_capability(&self) -> (u32, u32) {
        (self.0.compute_capability_major as u32, self.0.compute_capability_minor as u32)
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

    /// The most threads of a block.
    pub fn max_threads_per_block(&self) -> u32 {
        self.0.max_threads_per_block as u32
    }

    /// The most threads that a multiprocessor runs at a time.
    pub fn max_threads_per_multiprocessor(&self) -> u32 {
        self.0.max_threads_per_multiprocessor as u32
    }

    /// The most threads of a block in each dimension.
    pub fn max_block(&self) -> [u32; 3] {
        self.0.max_block
    }

    /// The most blocks of a launch in each dimension.
    pub fn max_grid(&self) -> [u32; 3] {
        self.0.max_grid
    }

    /// The size of the device memory. [`Device::memory`](crate::Device::memory) says how much is free.
    pub fn memory_bytes(&self) -> u64 {
        self.0.memory_bytes
    }

    /// The size of the L2 cache.
    pub fn l2_bytes(&self) -> u32 {
        self.0.l2_bytes as u32
    }

    /// How much shared memory a block of every kernel may use.
    pub fn shared_bytes_per_block(&self) -> u64 {
        self.0.shared_bytes_per_block
    }

    /// How much shared memory a block may use after
    /// [`Kernel::set_max_dynamic_shared`](crate::Kernel::set_max_dynamic_shared).
    pub fn shared_bytes_per_block_max(&self) -> u64 {
        self.0.shared_bytes_per_block_max
    }

    /// How much shared memory a multiprocessor has.
    pub fn shared_bytes_per_multiprocessor(&self) -> u64 {
        self.0.shared_bytes_per_multiprocessor
    }

    /// The clock rate of the multiprocessors, in kHz.
    pub fn clock_khz(&self) -> u32 {
        self.0.clock_khz as u32
    }

    /// The clock rate of the memory, in kHz.
    pub fn memory_clock_khz(&self) -> u32 {
        self.0.memory_clock_khz as u32
    }

    /// The width of the memory's bus, in bits.
    pub fn memory_bus_bits(&self) -> u32 {
        self.0.memory_bus_bits as u32
    }

    /// Whether it is the software GPU.
    pub fn is_software(&self) -> bool {
        self.0.software != 0
    }

    /// Whether kernels can be [launched cooperatively](crate::Launch::cooperative).
    pub fn cooperative_launch(&self) -> bool {
        self.0.cooperative_launch != 0
    }

    /// Whether blocks of a launch can form [clusters](crate::Launch::cluster).
    pub fn cluster_launch(&self) -> bool {
        self.0.cluster_launch != 0
    }

    /// Whether the driver has memory pools, which a [`Pool`](crate::Pool) and
    /// [`Template::add_allocation`](crate::Template::add_allocation) need.
    pub fn memory_pools(&self) -> bool {
        self.0.memory_pools != 0
    }

    /// Whether the driver takes many copies with one call: see [`Stream::copy_batch`](crate::Stream::copy_batch).
    pub fn batched_copies(&self) -> bool {
        self.0.batched_copies != 0
    }
}

fn text(bytes: &[std::ffi::c_char]) -> &str {
    // SAFETY: a c_char is a byte.
    let bytes = unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast::<u8>(), bytes.len()) };
    CStr::from_bytes_until_nul(bytes).ok().and_then(|text| text.to_str().ok()).unwrap_or_default()
}

/// Shows some of the fields.
macro_rules! debug {
    ($($name:ident { $($field:ident),* })*) => {$(
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name))$(.field(stringify!($field), &self.0.$field))*.finish_non_exhaustive()
            }
        }
    )*};
}

debug! {
    RunShare { chunks, bytes_in, copy_in_ns, copy_out_ns, kernel_ns, copy_hidden_ns }
    PeerProperties { accessible, native_atomics, performance_rank }
    PeersInfo { ranks, direct, native_atomics, nccl_version, rank, collectives, direct_collectives, bytes, mpi_device }
    SymmetricInfo { ranks, bytes, alignment, device_bytes, barrier_blocks, native_atomics }
    Statistics { live_objects, launches, copies, copied_bytes, completions, failures }
    StreamInfo { accepted, completed, held, priority, wrapped, replayed, learned }
    MemoryStatistics { in_use, reserved, peak_in_use, waiting, allocations, frees, driver_calls }
    MemoryInfo { kind, device_ordinal, start, bytes }
    QueueInfo { state, capacity, depth, pushed, popped, done, refused, posted, answered }
    SchedulerInfo { form, state, last_end, runs, tasks, errors, depth, steps, blocks, workers }
    HandlerInfo { tasks, errors, busy_ns }
    BlockInfo { multiprocessor, workers, tasks, busy_ns, worker_ns }
    DepthSample { run, time_ns, depth }
    TaskError { handler, status, priority, position, task }
    QueueStatistics { capacity, accepted, delivered, drained, refused }
    ExecutorStatistics { threads, accepted, called, cancelled, refused, pending }
    Metrics { devices, streams, operations_pending, operations_held, completions_pending, latency_count }
    DeviceMetrics { memory_total, memory_used, utilization, power, temperature }
    TraceInfo { running, calls, operations, timed, completions, dropped, file_bytes }
    Progress { running, bytes_in, bytes_done, bytes_total, chunks_done, elapsed_ns }
    TemplateStatistics { nodes, parameters, instances, recordings, launches, patches, updates, rebuilds, dropped }
    BucketsStatistics { buckets, bytes, hits, misses, eager, evictions, requested, padded }
    Costs { measured, launch_ns, graph_launch_ns, copy_ns, multiprocessors }
    Diagnosis { bound, round_ns, launch_ns, kernel_ns, copy_ns, idle_ns }
    RunSummary { bytes_in, bytes_out, chunks, elapsed_ns, chunk_bytes, slots }
    KernelAttributes { max_threads_per_block, registers_per_thread, parameter_count, static_shared_bytes }
}

impl fmt::Debug for DeviceProperties {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("DeviceProperties");
        out.field("name", &self.name()).field("memory_bytes", &self.memory_bytes);
        out.field("multiprocessors", &self.multiprocessors).field("copy_engines", &self.copy_engines);
        out.field("software", &(self.software != 0)).finish_non_exhaustive()
    }
}

impl fmt::Debug for UpdateReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("UpdateReport");
        out.field("rebuilt", &(self.rebuilt != 0)).field("node", &self.node).field("reason", &self.reason());
        out.field("dropped", &self.dropped).field("dropped_parameter", &self.dropped_parameter());
        out.field("dropped_reason", &self.dropped_reason()).finish()
    }
}

impl fmt::Debug for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Advice");
        out.field("form", &self.form).field("gain_low", &self.gain_low).field("gain_high", &self.gain_high);
        out.field("reason", &self.reason()).finish_non_exhaustive()
    }
}

impl fmt::Debug for DriverInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("DriverInfo");
        out.field("name", &self.name()).field("version", &self.version).field("device_count", &self.device_count);
        out.field("reason", &self.reason()).finish_non_exhaustive()
    }
}
