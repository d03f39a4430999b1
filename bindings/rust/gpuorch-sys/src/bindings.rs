// Made from libgpuorch/include/gpuorch by `cargo run -p xtask -- bindings`: bindgen 0.72.1, libclang 14.

pub const GPO_VERSION_MAJOR: u32 = 0;
pub const GPO_VERSION_MINOR: u32 = 1;
pub const GPO_VERSION_PATCH: u32 = 0;
pub const GPO_VERSION: u32 = 100;
pub const GPO_SONAME: &[u8; 18] = b"libgpuorch.so.0.1\0";
pub const GPO_AUTO: u32 = 0;
pub const GPO_SUCCESS: i32 = 0;
pub const GPO_NOT_READY: i32 = 1;
pub const GPO_TIMEOUT: i32 = 2;
pub const GPO_WOULD_BLOCK: i32 = 3;
pub const GPO_END: i32 = 4;
pub const GPO_INVALID_ARGUMENT: i32 = 10;
pub const GPO_INVALID_HANDLE: i32 = 11;
pub const GPO_STALE_HANDLE: i32 = 12;
pub const GPO_INVALID_STATE: i32 = 13;
pub const GPO_NOT_SUPPORTED: i32 = 14;
pub const GPO_NOT_FOUND: i32 = 15;
pub const GPO_WOULD_DEADLOCK: i32 = 16;
pub const GPO_BUFFER_TOO_SMALL: i32 = 17;
pub const GPO_CAPTURE_REFUSED: i32 = 18;
pub const GPO_OUT_OF_MEMORY: i32 = 30;
pub const GPO_LIMIT_EXCEEDED: i32 = 31;
pub const GPO_NO_DEVICE: i32 = 32;
pub const GPO_NO_COMPILER: i32 = 33;
pub const GPO_COMPILE_FAILED: i32 = 34;
pub const GPO_INVALID_IMAGE: i32 = 35;
pub const GPO_IO_ERROR: i32 = 36;
pub const GPO_CANCELLED: i32 = 50;
pub const GPO_FAILED: i32 = 51;
pub const GPO_CALLBACK_FAILED: i32 = 52;
pub const GPO_DEVICE_LOST: i32 = 70;
pub const GPO_FORKED: i32 = 71;
pub const GPO_SHUT_DOWN: i32 = 72;
pub const GPO_PEER_LOST: i32 = 73;
pub const GPO_DRIVER_ERROR: i32 = 80;
pub const GPO_INTERNAL: i32 = 81;
pub const GPO_NATIVE_NONE: u32 = 0;
pub const GPO_NATIVE_CUDA: u32 = 1;
pub const GPO_NATIVE_ERRNO: u32 = 2;
pub const GPO_NATIVE_NVRTC: u32 = 3;
pub const GPO_NATIVE_NCCL: u32 = 4;
pub const GPO_LOG_ERROR: i32 = 1;
pub const GPO_LOG_WARNING: i32 = 2;
pub const GPO_LOG_INFO: i32 = 3;
pub const GPO_LOG_DEBUG: i32 = 4;
pub const GPO_COMPLETION_BALANCED: u32 = 0;
pub const GPO_COMPLETION_LATENCY: u32 = 1;
pub const GPO_RUNTIME_QUIET_FALLBACK: u32 = 1;
pub const GPO_LIMIT_STACK_BYTES: u32 = 1;
pub const GPO_LIMIT_PRINTF_BYTES: u32 = 2;
pub const GPO_LIMIT_HEAP_BYTES: u32 = 3;
pub const GPO_LIMIT_PENDING_LAUNCHES: u32 = 4;
pub const GPO_LIMIT_L2_FETCH_BYTES: u32 = 5;
pub const GPO_LIMIT_PERSISTING_L2_BYTES: u32 = 6;
pub const GPO_EVENT_TIMING: u32 = 1;
pub const GPO_EVENT_BLOCKING_SYNC: u32 = 2;
pub const GPO_EVENT_INTERPROCESS: u32 = 4;
pub const GPO_EVENT_EXTERNAL: u32 = 8;
pub const GPO_STREAM_BLOCKING: u32 = 1;
pub const GPO_STREAM_LEARNS: u32 = 2;
pub const GPO_STREAM_RESIDENT: u32 = 4;
pub const GPO_ORIGIN_STREAM: u32 = 1;
pub const GPO_ORIGIN_EVENT: u32 = 2;
pub const GPO_ORIGIN_PIPELINE: u32 = 3;
pub const GPO_ORIGIN_TIMELINE: u32 = 4;
pub const GPO_ORIGIN_QUEUE: u32 = 5;
pub const GPO_ORIGIN_ADMISSION: u32 = 6;
pub const GPO_ORIGIN_BATCHER: u32 = 7;
pub const GPO_ORIGIN_EXECUTOR: u32 = 8;
pub const GPO_EXECUTOR_CALLER: u32 = 1;
pub const GPO_EXECUTOR_SPIN: u32 = 2;
pub const GPO_EXECUTOR_SLEEP: u32 = 4;
pub const GPO_ADMISSION_TIMES: u32 = 32;
pub const GPO_COSTS_PROBE: u32 = 1;
pub const GPO_WORKLOAD_REPEATS: u32 = 1;
pub const GPO_WORKLOAD_SHAPES_VARY: u32 = 2;
pub const GPO_WORKLOAD_INDEPENDENT: u32 = 4;
pub const GPO_WORKLOAD_SPAWNS: u32 = 8;
pub const GPO_WORKLOAD_ARRIVES: u32 = 16;
pub const GPO_WORKLOAD_PAGEABLE: u32 = 32;
pub const GPO_WORKLOAD_IN_GRAPH: u32 = 64;
pub const GPO_WORKLOAD_DYNAMIC_PARALLELISM: u32 = 128;
pub const GPO_WORKLOAD_OVERLAPPED: u32 = 256;
pub const GPO_ORDER_GRID: u32 = 1;
pub const GPO_ORDER_CHUNKS: u32 = 2;
pub const GPO_ORDER_STRIDED: u32 = 3;
pub const GPO_ORDER_CLAIMED: u32 = 4;
pub const GPO_ORDER_LONGEST_FIRST: u32 = 5;
pub const GPO_ORDER_CLAIMED_LATE: u32 = 6;
pub const GPO_BOUND_LAUNCH: u32 = 1;
pub const GPO_BOUND_MEMORY: u32 = 2;
pub const GPO_BOUND_OPERATIONS: u32 = 3;
pub const GPO_BOUND_KERNEL: u32 = 4;
pub const GPO_BOUND_COPY: u32 = 5;
pub const GPO_BOUND_DECISION: u32 = 6;
pub const GPO_BOUND_IDLE: u32 = 7;
pub const GPO_FORM_LEAVE: u32 = 1;
pub const GPO_FORM_MORE_STREAMS: u32 = 2;
pub const GPO_FORM_FEWER_STREAMS: u32 = 3;
pub const GPO_FORM_GRAPH: u32 = 4;
pub const GPO_FORM_BUCKETS: u32 = 5;
pub const GPO_FORM_WHILE: u32 = 6;
pub const GPO_FORM_RANGE: u32 = 7;
pub const GPO_FORM_RING: u32 = 8;
pub const GPO_FORM_HOST_RING: u32 = 9;
pub const GPO_FORM_DYNAMIC_PARALLELISM: u32 = 10;
pub const GPO_FORM_HOST_LAUNCHES: u32 = 11;
pub const GPO_FORM_FUSE: u32 = 12;
pub const GPO_FORM_PIPELINE: u32 = 13;
pub const GPO_FORM_BATCHED_COPIES: u32 = 14;
pub const GPO_ARENA_WRITE_COMBINED: u32 = 1;
pub const GPO_ARENA_NUMA: u32 = 2;
pub const GPO_REGISTER_READ_ONLY: u32 = 1;
pub const GPO_MEMORY_PAGEABLE: u32 = 1;
pub const GPO_MEMORY_PINNED: u32 = 2;
pub const GPO_MEMORY_DEVICE: u32 = 3;
pub const GPO_MEMORY_MANAGED: u32 = 4;
pub const GPO_POOL_KEEP_NOTHING: u32 = 1;
pub const GPO_COMPILE_NO_CACHE: u32 = 1;
pub const GPO_COMPILE_DYNAMIC_PARALLELISM: u32 = 2;
pub const GPO_LAUNCH_COOPERATIVE: u32 = 1;
pub const GPO_LAUNCH_PRIORITY: u32 = 2;
pub const GPO_COMPARE_KERNEL: u32 = 0;
pub const GPO_COMPARE_EQUAL: u32 = 1;
pub const GPO_COMPARE_NOT_EQUAL: u32 = 2;
pub const GPO_COMPARE_LESS: u32 = 3;
pub const GPO_COMPARE_GREATER_EQUAL: u32 = 4;
pub const GPO_COMPARE_VALUE: u32 = 5;
pub const GPO_PARAMETER_ARGUMENT: u32 = 1;
pub const GPO_PARAMETER_GRID: u32 = 2;
pub const GPO_PARAMETER_BLOCK: u32 = 3;
pub const GPO_PARAMETER_SHARED_BYTES: u32 = 4;
pub const GPO_PARAMETER_DESTINATION: u32 = 5;
pub const GPO_PARAMETER_SOURCE: u32 = 6;
pub const GPO_PARAMETER_BYTES: u32 = 7;
pub const GPO_PARAMETER_VALUE: u32 = 8;
pub const GPO_PARAMETER_ENABLED: u32 = 9;
pub const GPO_PICTURE_DOT: u32 = 1;
pub const GPO_PICTURE_SVG: u32 = 2;
pub const GPO_GRAPH_UPLOAD: u32 = 1;
pub const GPO_GRAPH_DEVICE_LAUNCH: u32 = 2;
pub const GPO_BUCKET_WARM_UP: u32 = 1;
pub const GPO_BUCKET_RECORDING: u32 = 2;
pub const GPO_BUCKET_EAGER: u32 = 3;
pub const GPO_BUCKET_PADDING: u32 = 4;
pub const GPO_BUCKETS_NO_WARM_UP: u32 = 1;
pub const GPO_BUCKETS_EAGER_FALLBACK: u32 = 2;
pub const GPO_BATCH_ROWS: u32 = 1;
pub const GPO_BATCH_RAGGED: u32 = 2;
pub const GPO_BATCHER_PRESERVE_ORDER: u32 = 1;
pub const GPO_BATCHER_VARIABLE_OUTPUT: u32 = 2;
pub const GPO_BATCHER_KEEP_OUTPUT: u32 = 4;
pub const GPO_BATCHER_TIMES: u32 = 32;
pub const GPO_BATCHER_SIZES: u32 = 17;
pub const GPO_EXPORT_BYTES: u32 = 256;
pub const GPO_METRICS_LATENCIES: u32 = 32;
pub const GPO_METRICS_ERRORS: u32 = 96;
pub const GPO_PEERS_MOST_RANKS: u32 = 16;
pub const GPO_ENGINE_DIRECT: u32 = 1;
pub const GPO_ENGINE_NCCL: u32 = 2;
pub const GPO_ENGINE_HOST: u32 = 3;
pub const GPO_ENGINE_NVSHMEM: u32 = 4;
pub const GPO_JOIN_MPI: u32 = 1;
pub const GPO_JOIN_FILE: u32 = 2;
pub const GPO_JOIN_ID: u32 = 3;
pub const GPO_PEERS_MOST_JOINED: u32 = 256;
pub const GPO_PEERS_ID_BYTES: u32 = 128;
pub const GPO_JOIN_CHECK_ORDER: u32 = 1;
pub const GPO_TYPE_INT8: u32 = 1;
pub const GPO_TYPE_UINT8: u32 = 2;
pub const GPO_TYPE_INT32: u32 = 3;
pub const GPO_TYPE_UINT32: u32 = 4;
pub const GPO_TYPE_INT64: u32 = 5;
pub const GPO_TYPE_UINT64: u32 = 6;
pub const GPO_TYPE_FLOAT16: u32 = 7;
pub const GPO_TYPE_BFLOAT16: u32 = 8;
pub const GPO_TYPE_FLOAT32: u32 = 9;
pub const GPO_TYPE_FLOAT64: u32 = 10;
pub const GPO_TYPE_FLOAT8_E4M3: u32 = 11;
pub const GPO_TYPE_FLOAT8_E5M2: u32 = 12;
pub const GPO_REDUCE_SUM: u32 = 1;
pub const GPO_REDUCE_PRODUCT: u32 = 2;
pub const GPO_REDUCE_MINIMUM: u32 = 3;
pub const GPO_REDUCE_MAXIMUM: u32 = 4;
pub const GPO_REDUCE_AVERAGE: u32 = 5;
pub const GPO_COLLECTIVE_ALL_REDUCE: u32 = 1;
pub const GPO_COLLECTIVE_REDUCE: u32 = 2;
pub const GPO_COLLECTIVE_REDUCE_SCATTER: u32 = 3;
pub const GPO_COLLECTIVE_BROADCAST: u32 = 4;
pub const GPO_COLLECTIVE_ALL_GATHER: u32 = 5;
pub const GPO_COLLECTIVE_ALL_TO_ALL: u32 = 6;
pub const GPO_COLLECTIVE_SEND_RECEIVE: u32 = 7;
pub const GPO_COLLECTIVE_BARRIER: u32 = 8;
pub const GPO_NO_RANK: u32 = 4294967295;
pub const GPO_SOURCE_MEMORY: u32 = 1;
pub const GPO_SOURCE_FILE: u32 = 2;
pub const GPO_SOURCE_CALLBACK: u32 = 3;
pub const GPO_SOURCE_USE_DESCRIPTOR: u32 = 2;
pub const GPO_SOURCE_UNCHANGED: u32 = 1;
pub const GPO_STAGE_KERNEL: u32 = 1;
pub const GPO_STAGE_CALLBACK: u32 = 2;
pub const GPO_ARGUMENT_VALUE: u32 = 0;
pub const GPO_ARGUMENT_INPUT: u32 = 1;
pub const GPO_ARGUMENT_OUTPUT: u32 = 2;
pub const GPO_ARGUMENT_SCRATCH: u32 = 3;
pub const GPO_ARGUMENT_RESULT: u32 = 4;
pub const GPO_ARGUMENT_INPUT_BYTES: u32 = 5;
pub const GPO_ARGUMENT_OUTPUT_BYTES: u32 = 6;
pub const GPO_ARGUMENT_INDEX: u32 = 7;
pub const GPO_ARGUMENT_OFFSET: u32 = 8;
pub const GPO_ARGUMENT_DEVICE_VALUE: u32 = 9;
pub const GPO_SINK_NONE: u32 = 0;
pub const GPO_SINK_MEMORY: u32 = 1;
pub const GPO_SINK_FILE: u32 = 2;
pub const GPO_SINK_CALLBACK: u32 = 3;
pub const GPO_SINK_USE_DESCRIPTOR: u32 = 1;
pub const GPO_PIPELINE_TIMES: u32 = 1;
pub const GPO_QUEUE_RANGE: u32 = 1;
pub const GPO_QUEUE_RING: u32 = 2;
pub const GPO_QUEUE_HOST_RING: u32 = 3;
pub const GPO_QUEUE_TICKETS: u32 = 1;
pub const GPO_QUEUE_NO_ANSWERS: u32 = 2;
pub const GPO_QUEUE_LATE_CLAIMS: u32 = 4;
pub const GPO_QUEUE_HANDLE_BYTES: u32 = 192;
pub const GPO_QUEUE_OPEN: u32 = 0;
pub const GPO_QUEUE_CLOSED: u32 = 1;
pub const GPO_QUEUE_ABORTED: u32 = 2;
pub const GPO_SCHEDULER_RESIDENT: u32 = 1;
pub const GPO_SCHEDULER_GRAPHS: u32 = 2;
pub const GPO_SCHEDULER_WHILE: u32 = 3;
pub const GPO_WORKER_THREAD: u32 = 1;
pub const GPO_WORKER_WARP: u32 = 2;
pub const GPO_WORKER_BLOCK: u32 = 3;
pub const GPO_SCHEDULER_READY: u32 = 0;
pub const GPO_SCHEDULER_RUNNING: u32 = 1;
pub const GPO_SCHEDULER_DRAINING: u32 = 2;
pub const GPO_SCHEDULER_STOPPING: u32 = 3;
pub const GPO_SYMMETRIC_REMOTE: u32 = 1;
pub const GPO_SYMMETRIC_HANDLE_BYTES: u32 = 320;
pub const GPO_STEAL_BYTES: u32 = 384;
pub const GPO_TRACE_NO_GPU_TIMES: u32 = 1;
pub type gpo_status = i32;
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_runtime_s {
    _unused: [u8; 0],
}
pub type gpo_runtime_t = *mut gpo_runtime_s;
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_device_s {
    _unused: [u8; 0],
}
pub type gpo_device_t = *mut gpo_device_s;
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_stream_s {
    _unused: [u8; 0],
}
pub type gpo_stream_t = *mut gpo_stream_s;
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_stream_pool_s {
    _unused: [u8; 0],
}
pub type gpo_stream_pool_t = *mut gpo_stream_pool_s;
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_event_s {
    _unused: [u8; 0],
}
pub type gpo_event_t = *mut gpo_event_s;
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_timeline_s {
    _unused: [u8; 0],
}
pub type gpo_timeline_t = *mut gpo_timeline_s;
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_cq_s {
    _unused: [u8; 0],
}
pub type gpo_cq_t = *mut gpo_cq_s;
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_arena_s {
    _unused: [u8; 0],
}
pub type gpo_arena_t = *mut gpo_arena_s;
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_pool_s {
    _unused: [u8; 0],
}
pub type gpo_pool_t = *mut gpo_pool_s;
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_module_s {
    _unused: [u8; 0],
}
pub type gpo_module_t = *mut gpo_module_s;
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_kernel_s {
    _unused: [u8; 0],
}
pub type gpo_kernel_t = *mut gpo_kernel_s;
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_pipeline_s {
    _unused: [u8; 0],
}
pub type gpo_pipeline_t = *mut gpo_pipeline_s;
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_executor_s {
    _unused: [u8; 0],
}
pub type gpo_executor_t = *mut gpo_executor_s;
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_template_s {
    _unused: [u8; 0],
}
pub type gpo_template_t = *mut gpo_template_s;
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_graph_s {
    _unused: [u8; 0],
}
pub type gpo_graph_t = *mut gpo_graph_s;
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_buckets_s {
    _unused: [u8; 0],
}
pub type gpo_buckets_t = *mut gpo_buckets_s;
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_queue_s {
    _unused: [u8; 0],
}
pub type gpo_queue_t = *mut gpo_queue_s;
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_scheduler_s {
    _unused: [u8; 0],
}
pub type gpo_scheduler_t = *mut gpo_scheduler_s;
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_peers_s {
    _unused: [u8; 0],
}
pub type gpo_peers_t = *mut gpo_peers_s;
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_symmetric_s {
    _unused: [u8; 0],
}
pub type gpo_symmetric_t = *mut gpo_symmetric_s;
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_admission_s {
    _unused: [u8; 0],
}
pub type gpo_admission_t = *mut gpo_admission_s;
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_batcher_s {
    _unused: [u8; 0],
}
pub type gpo_batcher_t = *mut gpo_batcher_s;
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_error {
    pub struct_size: u32,
    pub status: gpo_status,
    pub native_code: i32,
    pub native_domain: u32,
    pub operation: u64,
    pub function: [::core::ffi::c_char; 64usize],
    pub object: [::core::ffi::c_char; 64usize],
    pub message: [::core::ffi::c_char; 512usize],
}
pub type gpo_log_fn = ::core::option::Option<
    unsafe extern "C" fn(
        user: *mut ::core::ffi::c_void,
        level: i32,
        text: *const ::core::ffi::c_char,
    ),
>;
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_runtime_options {
    pub struct_size: u32,
    pub flags: u32,
    pub device: *const ::core::ffi::c_char,
    pub log: gpo_log_fn,
    pub log_user: *mut ::core::ffi::c_void,
    pub log_level: i32,
    pub completion_mode: u32,
    pub schedule_seed: u64,
    pub cache: *const ::core::ffi::c_char,
    pub label: *const ::core::ffi::c_char,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_driver_info {
    pub struct_size: u32,
    pub version: i32,
    pub software: u32,
    pub device_count: u32,
    pub name: [::core::ffi::c_char; 16usize],
    pub reason: [::core::ffi::c_char; 256usize],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_statistics {
    pub struct_size: u32,
    pub live_objects: u32,
    pub launches: u64,
    pub copies: u64,
    pub copied_bytes: u64,
    pub fills: u64,
    pub notifies: u64,
    pub completions: u64,
    pub failures: u64,
    pub holds: u64,
    pub device_allocations: u64,
    pub host_registrations: u64,
    pub pageable_copies: u64,
    pub pageable_bytes: u64,
    pub legacy_stream_uses: u64,
    pub module_loads: u64,
    pub put_off: u64,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_device_properties {
    pub struct_size: u32,
    pub native_ordinal: i32,
    pub name: [::core::ffi::c_char; 128usize],
    pub uuid: [u8; 16usize],
    pub pci_address: [::core::ffi::c_char; 32usize],
    pub numa_node: i32,
    pub compute_capability_major: i32,
    pub compute_capability_minor: i32,
    pub multiprocessors: i32,
    pub copy_engines: i32,
    pub warp_size: i32,
    pub max_threads_per_block: i32,
    pub max_threads_per_multiprocessor: i32,
    pub clock_khz: i32,
    pub memory_clock_khz: i32,
    pub memory_bus_bits: i32,
    pub l2_bytes: i32,
    pub software: u32,
    pub memory_bytes: u64,
    pub shared_bytes_per_block: u64,
    pub shared_bytes_per_block_max: u64,
    pub shared_bytes_per_multiprocessor: u64,
    pub max_block: [u32; 3usize],
    pub max_grid: [u32; 3usize],
    pub cooperative_launch: u32,
    pub cluster_launch: u32,
    pub memory_pools: u32,
    pub batched_copies: u32,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_peer_properties {
    pub struct_size: u32,
    pub accessible: u32,
    pub native_atomics: u32,
    pub performance_rank: i32,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_device_options {
    pub struct_size: u32,
    pub flags: u32,
    pub ordinal: u32,
    pub reserved: u32,
    pub native_context: *mut ::core::ffi::c_void,
    pub label: *const ::core::ffi::c_char,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_event_options {
    pub struct_size: u32,
    pub flags: u32,
    pub label: *const ::core::ffi::c_char,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_timeline_options {
    pub struct_size: u32,
    pub flags: u32,
    pub value: u64,
    pub label: *const ::core::ffi::c_char,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_stream_options {
    pub struct_size: u32,
    pub flags: u32,
    pub priority: i32,
    pub max_held: u32,
    pub label: *const ::core::ffi::c_char,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_stream_info {
    pub struct_size: u32,
    pub flags: u32,
    pub priority: i32,
    pub wrapped: u32,
    pub accepted: u64,
    pub completed: u64,
    pub held: u64,
    pub device: gpo_device_t,
    pub replayed: u64,
    pub learned: u32,
    pub reserved: u32,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_stream_pool_options {
    pub struct_size: u32,
    pub flags: u32,
    pub streams: u32,
    pub priorities: u32,
    pub label: *const ::core::ffi::c_char,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_cq_options {
    pub struct_size: u32,
    pub flags: u32,
    pub capacity: u32,
    pub reserved: u32,
    pub label: *const ::core::ffi::c_char,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_completion {
    pub struct_size: u32,
    pub status: gpo_status,
    pub user_data: u64,
    pub origin: u32,
    pub reserved: u32,
    pub operation: u64,
    pub submitted_ns: u64,
    pub completed_ns: u64,
    pub gpu_ns: i64,
    pub error_id: u64,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_cq_statistics {
    pub struct_size: u32,
    pub capacity: u32,
    pub accepted: u64,
    pub delivered: u64,
    pub drained: u64,
    pub refused: u64,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_executor_options {
    pub struct_size: u32,
    pub flags: u32,
    pub threads: u32,
    pub capacity: u32,
    pub label: *const ::core::ffi::c_char,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_executor_statistics {
    pub struct_size: u32,
    pub threads: u32,
    pub accepted: u64,
    pub called: u64,
    pub cancelled: u64,
    pub threw: u64,
    pub refused: u64,
    pub pending: u64,
}
pub type gpo_completion_fn = ::core::option::Option<
    unsafe extern "C" fn(
        user: *mut ::core::ffi::c_void,
        completion: *const gpo_completion,
        error: *const gpo_error,
    ),
>;
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_host_call {
    pub struct_size: u32,
    pub status: gpo_status,
    pub call: u64,
    pub error: *const gpo_error,
}
pub type gpo_host_fn = ::core::option::Option<
    unsafe extern "C" fn(
        user: *mut ::core::ffi::c_void,
        call: *const gpo_host_call,
    ) -> gpo_status,
>;
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_admission_options {
    pub struct_size: u32,
    pub flags: u32,
    pub count: u64,
    pub bytes: u64,
    pub capacity: u32,
    pub priorities: u32,
    pub pool: gpo_pool_t,
    pub high_bytes: u64,
    pub low_bytes: u64,
    pub label: *const ::core::ffi::c_char,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_admission_request {
    pub struct_size: u32,
    pub priority: u32,
    pub count: u64,
    pub bytes: u64,
    pub flow: u64,
    pub deadline_ns: u64,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_admission_info {
    pub struct_size: u32,
    pub paused: u32,
    pub count: u64,
    pub bytes: u64,
    pub held: u64,
    pub held_count: u64,
    pub held_bytes: u64,
    pub waiting: u64,
    pub waiting_bytes: u64,
    pub waiting_flows: u64,
    pub admitted: u64,
    pub refused: u64,
    pub too_large: u64,
    pub expired: u64,
    pub cancelled: u64,
    pub wait_ns: u64,
    pub longest_wait_ns: u64,
    pub wait_times: [u64; 32usize],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_costs {
    pub struct_size: u32,
    pub measured: u32,
    pub launch_ns: u64,
    pub wait_ns: u64,
    pub decision_ns: u64,
    pub graph_launch_ns: u64,
    pub graph_node_ns: u64,
    pub while_turn_ns: u64,
    pub device_launch_ns: u64,
    pub doorbell_ns: u64,
    pub host_tasks_per_second: u64,
    pub claims_per_second: u64,
    pub ring_tasks_per_second: u64,
    pub copy_ns: u64,
    pub copy_in_rate: u64,
    pub copy_out_rate: u64,
    pub copy_both_rate: u64,
    pub pageable_in_rate: u64,
    pub pageable_out_rate: u64,
    pub memory_rate: u64,
    pub operation_rate: u64,
    pub multiprocessors: u32,
    pub reserved: u32,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_workload {
    pub struct_size: u32,
    pub flags: u32,
    pub costs: *const gpo_costs,
    pub launches: u64,
    pub round_ns: u64,
    pub kernel_ns: u64,
    pub decisions: u64,
    pub streams: u32,
    pub blocks: u32,
    pub bytes: u64,
    pub operations: u64,
    pub copies: u64,
    pub copy_in_bytes: u64,
    pub copy_out_bytes: u64,
    pub tasks: u64,
    pub task_ns: u64,
    pub order: u32,
    pub workers: u32,
    pub block_workers: u32,
    pub reserved: u32,
    pub task_costs: *const f32,
    pub cost_stride: u64,
    pub cost_count: u64,
    pub cost_deviation: u64,
    pub cost_max: u64,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_diagnosis {
    pub struct_size: u32,
    pub bound: u32,
    pub round_ns: u64,
    pub launch_ns: u64,
    pub kernel_ns: u64,
    pub copy_ns: u64,
    pub decision_ns: u64,
    pub idle_ns: u64,
    pub memory_ns: u64,
    pub operations_ns: u64,
    pub intensity: u64,
    pub ridge: u64,
    pub roofline_share: u64,
    pub launch_share: u64,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_advice {
    pub struct_size: u32,
    pub form: u32,
    pub bound: u32,
    pub streams: u32,
    pub order: u32,
    pub batch: u32,
    pub gain_low: u32,
    pub gain_high: u32,
    pub round_ns: u64,
    pub host_calls: u64,
    pub reason: [::core::ffi::c_char; 512usize],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_memory_statistics {
    pub struct_size: u32,
    pub slabs: u32,
    pub in_use: u64,
    pub reserved: u64,
    pub peak_in_use: u64,
    pub peak_reserved: u64,
    pub waiting: u64,
    pub allocations: u64,
    pub frees: u64,
    pub driver_calls: u64,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_arena_options {
    pub struct_size: u32,
    pub flags: u32,
    pub max_bytes: u64,
    pub slab_bytes: u64,
    pub initial_bytes: u64,
    pub numa_node: i32,
    pub reserved: u32,
    pub label: *const ::core::ffi::c_char,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_memory_info {
    pub struct_size: u32,
    pub kind: u32,
    pub device_ordinal: i32,
    pub reserved: u32,
    pub start: u64,
    pub bytes: u64,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_pool_options {
    pub struct_size: u32,
    pub flags: u32,
    pub max_bytes: u64,
    pub keep_bytes: u64,
    pub initial_bytes: u64,
    pub label: *const ::core::ffi::c_char,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_copy {
    pub struct_size: u32,
    pub flags: u32,
    pub destination: u64,
    pub source: u64,
    pub bytes: u64,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_copy_2d {
    pub struct_size: u32,
    pub flags: u32,
    pub destination: u64,
    pub destination_pitch: u64,
    pub source: u64,
    pub source_pitch: u64,
    pub width: u64,
    pub height: u64,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_compile_options {
    pub struct_size: u32,
    pub flags: u32,
    pub source: *const ::core::ffi::c_char,
    pub source_bytes: u64,
    pub file_name: *const ::core::ffi::c_char,
    pub options: *const *const ::core::ffi::c_char,
    pub option_count: u32,
    pub name_expression_count: u32,
    pub name_expressions: *const *const ::core::ffi::c_char,
    pub header_names: *const *const ::core::ffi::c_char,
    pub header_texts: *const *const ::core::ffi::c_char,
    pub header_count: u32,
    pub reserved: u32,
    pub label: *const ::core::ffi::c_char,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_kernel_attributes {
    pub struct_size: u32,
    pub max_threads_per_block: u32,
    pub registers_per_thread: u32,
    pub parameter_count: u32,
    pub static_shared_bytes: u64,
    pub constant_bytes: u64,
    pub local_bytes_per_thread: u64,
    pub parameter_bytes: u64,
    pub max_dynamic_shared_bytes: u64,
    pub ptx_version: i32,
    pub binary_version: i32,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_launch {
    pub struct_size: u32,
    pub flags: u32,
    pub grid: [u32; 3usize],
    pub block: [u32; 3usize],
    pub cluster: [u32; 3usize],
    pub priority: i32,
    pub dynamic_shared_bytes: u64,
    pub label: *const ::core::ffi::c_char,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_template_options {
    pub struct_size: u32,
    pub flags: u32,
    pub max_instances: u32,
    pub reserved: u32,
    pub label: *const ::core::ffi::c_char,
}
pub type gpo_host_node_fn = ::core::option::Option<
    unsafe extern "C" fn(user: *mut ::core::ffi::c_void),
>;
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_condition {
    pub struct_size: u32,
    pub comparison: u32,
    pub word: u64,
    pub constant: u32,
    pub initial: u32,
    pub max_iterations: u64,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_template_statistics {
    pub struct_size: u32,
    pub nodes: u32,
    pub parameters: u32,
    pub instances: u32,
    pub pooled: u32,
    pub recordings: u32,
    pub launches: u64,
    pub patches: u64,
    pub updates: u64,
    pub rebuilds: u64,
    pub instance_bytes: u64,
    pub waiting_frees: u64,
    pub last_rebuild: [::core::ffi::c_char; 256usize],
    pub held_words: u64,
    pub waiting_for_words: u64,
    pub dropped: u64,
    pub last_dropped: [::core::ffi::c_char; 256usize],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_graph_options {
    pub struct_size: u32,
    pub flags: u32,
    pub label: *const ::core::ffi::c_char,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_setting {
    pub struct_size: u32,
    pub parameter: u32,
    pub name: *const ::core::ffi::c_char,
    pub value: *const ::core::ffi::c_void,
    pub bytes: u64,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_graph_update_report {
    pub struct_size: u32,
    pub rebuilt: u32,
    pub node: u32,
    pub reserved: u32,
    pub reason: [::core::ffi::c_char; 256usize],
    pub dropped: u32,
    pub dropped_parameter: [::core::ffi::c_char; 64usize],
    pub dropped_reason: [::core::ffi::c_char; 256usize],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_bucket_work {
    pub struct_size: u32,
    pub reserved: u32,
    pub size: u64,
    pub shape: u64,
    pub graph_template: gpo_template_t,
    pub settings: *const gpo_setting,
    pub setting_stride: u64,
    pub setting_count: u64,
    pub phase: u32,
    pub reserved2: u32,
}
pub type gpo_bucket_fn = ::core::option::Option<
    unsafe extern "C" fn(
        user: *mut ::core::ffi::c_void,
        stream: gpo_stream_t,
        work: *const gpo_bucket_work,
    ) -> gpo_status,
>;
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_memory_range {
    pub struct_size: u32,
    pub reserved: u32,
    pub address: u64,
    pub bytes: u64,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_buckets_options {
    pub struct_size: u32,
    pub flags: u32,
    pub shapes: *const u64,
    pub shape_count: u64,
    pub max_bytes: u64,
    pub max_buckets: u32,
    pub streams: u32,
    pub record: gpo_bucket_fn,
    pub pad: gpo_bucket_fn,
    pub user: *mut ::core::ffi::c_void,
    pub pad_address: u64,
    pub pad_element_bytes: u64,
    pub label: *const ::core::ffi::c_char,
    pub restored: *const gpo_memory_range,
    pub restored_stride: u64,
    pub restored_count: u64,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_buckets_statistics {
    pub struct_size: u32,
    pub buckets: u32,
    pub bytes: u64,
    pub hits: u64,
    pub misses: u64,
    pub eager: u64,
    pub evictions: u64,
    pub requested: u64,
    pub padded: u64,
    pub failures: u64,
    pub fallbacks: u64,
    pub last_failure: [::core::ffi::c_char; 256usize],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_batch_request {
    pub struct_size: u32,
    pub reserved: u32,
    pub user_data: u64,
    pub flow: u64,
    pub elements: u64,
    pub first: u64,
    pub input_bytes: u64,
    pub output_bytes: u64,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_batch {
    pub struct_size: u32,
    pub requests: u32,
    pub elements: u64,
    pub shape: u64,
    pub input: u64,
    pub output: u64,
    pub offsets: u64,
    pub made: u64,
    pub key: u64,
    pub device: u32,
    pub lane: u32,
    pub members: *const gpo_batch_request,
    pub member_stride: u64,
}
pub type gpo_batch_fn = ::core::option::Option<
    unsafe extern "C" fn(
        user: *mut ::core::ffi::c_void,
        stream: gpo_stream_t,
        batch: *const gpo_batch,
    ) -> gpo_status,
>;
pub type gpo_batch_release_fn = ::core::option::Option<
    unsafe extern "C" fn(user: *mut ::core::ffi::c_void),
>;
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_batcher_options {
    pub struct_size: u32,
    pub flags: u32,
    pub devices: *const gpo_device_t,
    pub device_count: u64,
    pub lanes: u32,
    pub capacity: u32,
    pub executor: gpo_executor_t,
    pub label: *const ::core::ffi::c_char,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_batcher_key_options {
    pub struct_size: u32,
    pub flags: u32,
    pub layout: u32,
    pub max_batch: u32,
    pub input_bytes: u64,
    pub output_bytes: u64,
    pub max_elements: u64,
    pub max_delay_ns: u64,
    pub buckets: *const gpo_buckets_t,
    pub bucket_count: u64,
    pub work: gpo_batch_fn,
    pub user: *mut ::core::ffi::c_void,
    pub label: *const ::core::ffi::c_char,
    pub release: gpo_batch_release_fn,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_batcher_request {
    pub struct_size: u32,
    pub key: u32,
    pub flow: u64,
    pub elements: u64,
    pub input: *const ::core::ffi::c_void,
    pub input_address: u64,
    pub output: *mut ::core::ffi::c_void,
    pub output_address: u64,
    pub output_made: *mut u64,
    pub deadline_ns: u64,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_batcher_info {
    pub struct_size: u32,
    pub keys: u32,
    pub waiting: u64,
    pub waiting_elements: u64,
    pub waiting_flows: u64,
    pub running: u64,
    pub running_batches: u64,
    pub submitted: u64,
    pub submitted_bytes: u64,
    pub succeeded: u64,
    pub failed: u64,
    pub expired: u64,
    pub cancelled: u64,
    pub refused_full: u64,
    pub refused_deadline: u64,
    pub late: u64,
    pub batches: u64,
    pub batch_elements: u64,
    pub padded_elements: u64,
    pub delay_ns: u64,
    pub wait_ns: u64,
    pub requests_per_second: f64,
    pub batches_per_second: f64,
    pub queue_ns: u64,
    pub batch_ns: u64,
    pub request_ns: u64,
    pub sizes: [u64; 17usize],
    pub queue_times: [u64; 32usize],
    pub batch_times: [u64; 32usize],
    pub request_times: [u64; 32usize],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_batcher_flow_info {
    pub struct_size: u32,
    pub weight: u32,
    pub waiting: u64,
    pub submitted: u64,
    pub succeeded: u64,
    pub failed: u64,
    pub wait_ns: u64,
    pub longest_wait_ns: u64,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_metrics {
    pub struct_size: u32,
    pub devices: u32,
    pub streams: u64,
    pub operations_pending: u64,
    pub operations_held: u64,
    pub completions_pending: u64,
    pub notifies_refused: u64,
    pub arena_in_use: u64,
    pub arena_reserved: u64,
    pub arena_peak: u64,
    pub pool_in_use: u64,
    pub pool_reserved: u64,
    pub pool_peak: u64,
    pub latency_count: u64,
    pub latency_sum: u64,
    pub latencies: [u64; 32usize],
    pub errors: [u64; 96usize],
    pub executors: u64,
    pub executor_threads: u64,
    pub callbacks: u64,
    pub callbacks_pending: u64,
    pub pipeline_pinned: u64,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_device_metrics {
    pub struct_size: u32,
    pub reserved: u32,
    pub memory_total: i64,
    pub memory_used: i64,
    pub utilization: i64,
    pub memory_utilization: i64,
    pub power: i64,
    pub energy: i64,
    pub temperature: i64,
    pub sm_clock: i64,
    pub memory_clock: i64,
    pub pcie_sent: i64,
    pub pcie_received: i64,
    pub reason: [::core::ffi::c_char; 160usize],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_peers_options {
    pub struct_size: u32,
    pub flags: u32,
    pub engine: u32,
    pub reserved: u32,
    pub label: *const ::core::ffi::c_char,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_peers_info {
    pub struct_size: u32,
    pub ranks: u32,
    pub direct: u32,
    pub native_atomics: u32,
    pub nccl_version: u32,
    pub rank: u32,
    pub local_ranks: u32,
    pub reserved: u32,
    pub collectives: u64,
    pub direct_collectives: u64,
    pub bytes: u64,
    pub mpi_device: u32,
    pub reserved1: u32,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_join_options {
    pub struct_size: u32,
    pub flags: u32,
    pub by: u32,
    pub engine: u32,
    pub rank: u32,
    pub ranks: u32,
    pub timeout_ns: i64,
    pub path: *const ::core::ffi::c_char,
    pub id: *const ::core::ffi::c_void,
    pub communicator: *mut ::core::ffi::c_void,
    pub label: *const ::core::ffi::c_char,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_collective {
    pub struct_size: u32,
    pub kind: u32,
    pub type_: u32,
    pub reduction: u32,
    pub root: u32,
    pub flags: u32,
    pub count: u64,
    pub label: *const ::core::ffi::c_char,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_rank_part {
    pub struct_size: u32,
    pub reserved: u32,
    pub stream: gpo_stream_t,
    pub send: u64,
    pub receive: u64,
    pub send_to: u32,
    pub receive_from: u32,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_chunk {
    pub struct_size: u32,
    pub slot: u32,
    pub index: u64,
    pub offset: u64,
    pub bytes: u64,
    pub output_offset: u64,
    pub output_bytes: u64,
    pub input_address: u64,
    pub output_address: u64,
    pub scratch_address: u64,
    pub result_address: u64,
    pub output: *const ::core::ffi::c_void,
    pub result: *const ::core::ffi::c_void,
    pub device: u32,
    pub reserved: u32,
}
pub type gpo_source_fn = ::core::option::Option<
    unsafe extern "C" fn(
        user: *mut ::core::ffi::c_void,
        buffer: *mut ::core::ffi::c_void,
        capacity: u64,
        bytes: *mut u64,
    ) -> gpo_status,
>;
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_source {
    pub struct_size: u32,
    pub kind: u32,
    pub memory: *const ::core::ffi::c_void,
    pub bytes: u64,
    pub path: *const ::core::ffi::c_char,
    pub offset: u64,
    pub fill: gpo_source_fn,
    pub user: *mut ::core::ffi::c_void,
    pub descriptor: i32,
    pub flags: u32,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_stage_argument {
    pub struct_size: u32,
    pub kind: u32,
    pub value: *const ::core::ffi::c_void,
    pub bytes: u64,
}
pub type gpo_stage_fn = ::core::option::Option<
    unsafe extern "C" fn(
        user: *mut ::core::ffi::c_void,
        stream: gpo_stream_t,
        chunk: *const gpo_chunk,
    ) -> gpo_status,
>;
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_stage {
    pub struct_size: u32,
    pub kind: u32,
    pub kernel: gpo_kernel_t,
    pub block: [u32; 3usize],
    pub grid: [u32; 3usize],
    pub bytes_per_block: u64,
    pub dynamic_shared_bytes: u64,
    pub arguments: *const gpo_stage_argument,
    pub argument_stride: u64,
    pub argument_count: u32,
    pub max_blocks: u32,
    pub enqueue: gpo_stage_fn,
    pub user: *mut ::core::ffi::c_void,
    pub label: *const ::core::ffi::c_char,
    pub kernels: *const gpo_kernel_t,
}
pub type gpo_sink_fn = ::core::option::Option<
    unsafe extern "C" fn(
        user: *mut ::core::ffi::c_void,
        chunk: *const gpo_chunk,
    ) -> gpo_status,
>;
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_sink {
    pub struct_size: u32,
    pub kind: u32,
    pub memory: *mut ::core::ffi::c_void,
    pub bytes: u64,
    pub path: *const ::core::ffi::c_char,
    pub take: gpo_sink_fn,
    pub user: *mut ::core::ffi::c_void,
    pub descriptor: i32,
    pub flags: u32,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_pipeline_progress {
    pub struct_size: u32,
    pub running: u32,
    pub bytes_in: u64,
    pub bytes_done: u64,
    pub bytes_total: u64,
    pub chunks_done: u64,
    pub elapsed_ns: u64,
}
pub type gpo_progress_fn = ::core::option::Option<
    unsafe extern "C" fn(
        user: *mut ::core::ffi::c_void,
        progress: *const gpo_pipeline_progress,
    ),
>;
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_pipeline_options {
    pub struct_size: u32,
    pub flags: u32,
    pub chunk_bytes: u64,
    pub granule: u64,
    pub slots: u32,
    pub output_numerator: u32,
    pub output_denominator: u32,
    pub stage_count: u32,
    pub stages: *const gpo_stage,
    pub stage_stride: u64,
    pub scratch_bytes: u64,
    pub result_bytes: u64,
    pub max_pinned_bytes: u64,
    pub progress: gpo_progress_fn,
    pub progress_user: *mut ::core::ffi::c_void,
    pub progress_ns: u64,
    pub label: *const ::core::ffi::c_char,
    pub executor: gpo_executor_t,
    pub devices: *const gpo_device_t,
    pub device_count: u32,
    pub reserved: u32,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_pipeline_result {
    pub struct_size: u32,
    pub status: gpo_status,
    pub bytes_in: u64,
    pub bytes_out: u64,
    pub chunks: u64,
    pub elapsed_ns: u64,
    pub chunk_bytes: u64,
    pub slots: u32,
    pub tuned: u32,
    pub copy_in_ns: u64,
    pub copy_out_ns: u64,
    pub kernel_ns: u64,
    pub copy_hidden_ns: u64,
    pub staged_bytes: u64,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_pipeline_share {
    pub struct_size: u32,
    pub reserved: u32,
    pub chunks: u64,
    pub bytes_in: u64,
    pub copy_in_ns: u64,
    pub copy_out_ns: u64,
    pub kernel_ns: u64,
    pub copy_hidden_ns: u64,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_queue_options {
    pub struct_size: u32,
    pub kind: u32,
    pub flags: u32,
    pub batch: u32,
    pub count: u64,
    pub capacity: u64,
    pub task_size: u32,
    pub priorities: u32,
    pub answer_size: u32,
    pub tenants: u32,
    pub stream: gpo_stream_t,
    pub label: *const ::core::ffi::c_char,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_tenant_options {
    pub struct_size: u32,
    pub reserved: u32,
    pub limit: u64,
    pub completions: gpo_cq_t,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_answer {
    pub struct_size: u32,
    pub status: gpo_status,
    pub user_data: u64,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_queue_info {
    pub struct_size: u32,
    pub kind: u32,
    pub state: u32,
    pub task_size: u32,
    pub capacity: u64,
    pub depth: u64,
    pub pushed: u64,
    pub popped: u64,
    pub done: u64,
    pub refused: u64,
    pub device_bytes: u64,
    pub pinned_bytes: u64,
    pub posted: u64,
    pub answered: u64,
    pub unanswered: u64,
    pub answer_size: u32,
    pub tenants: u32,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_handler {
    pub struct_size: u32,
    pub graph_count: u32,
    pub name: *const ::core::ffi::c_char,
    pub graphs: *const gpo_graph_t,
    pub task_memory: u64,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_scheduler_options {
    pub struct_size: u32,
    pub form: u32,
    pub queue: gpo_queue_t,
    pub source: *const ::core::ffi::c_char,
    pub source_bytes: u64,
    pub file_name: *const ::core::ffi::c_char,
    pub compile_options: *const *const ::core::ffi::c_char,
    pub compile_option_count: u32,
    pub workers: u32,
    pub threads: u32,
    pub blocks_per_multiprocessor: u32,
    pub multiprocessors: u32,
    pub leave_free: u32,
    pub batch: u32,
    pub max_errors: u32,
    pub argument: u64,
    pub dynamic_shared_bytes: u64,
    pub idle_timeout_ns: u64,
    pub sample_interval_ns: u64,
    pub label: *const ::core::ffi::c_char,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_scheduler_info {
    pub struct_size: u32,
    pub form: u32,
    pub state: u32,
    pub last_end: gpo_status,
    pub runs: u64,
    pub tasks: u64,
    pub errors: u64,
    pub refused_pushes: u64,
    pub depth: u64,
    pub steps: u64,
    pub empty_polls: u64,
    pub busy_ns: u64,
    pub worker_ns: u64,
    pub multiprocessors: u32,
    pub blocks: u32,
    pub workers: u32,
    pub handlers: u32,
    pub device_bytes: u64,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_handler_info {
    pub struct_size: u32,
    pub reserved: u32,
    pub tasks: u64,
    pub errors: u64,
    pub busy_ns: u64,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_scheduler_block {
    pub struct_size: u32,
    pub multiprocessor: u32,
    pub workers: u32,
    pub reserved: u32,
    pub tasks: u64,
    pub empty_polls: u64,
    pub busy_ns: u64,
    pub worker_ns: u64,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_depth_sample {
    pub struct_size: u32,
    pub run: u32,
    pub time_ns: u64,
    pub depth: u64,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_task_error {
    pub struct_size: u32,
    pub handler: u32,
    pub status: gpo_status,
    pub priority: u32,
    pub position: u64,
    pub task: [u32; 4usize],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_symmetric_options {
    pub struct_size: u32,
    pub flags: u32,
    pub alignment: u64,
    pub label: *const ::core::ffi::c_char,
    pub engine: u32,
    pub reserved: u32,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_symmetric_info {
    pub struct_size: u32,
    pub ranks: u32,
    pub bytes: u64,
    pub alignment: u64,
    pub device_bytes: u64,
    pub barrier_blocks: u32,
    pub native_atomics: u32,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_rank_launch {
    pub struct_size: u32,
    pub flags: u32,
    pub stream: gpo_stream_t,
    pub kernel: gpo_kernel_t,
    pub launch: *const gpo_launch,
    pub arguments: *const *const ::core::ffi::c_void,
    pub sizes: *const u32,
    pub argument_count: u32,
    pub reserved: u32,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_trace_options {
    pub struct_size: u32,
    pub flags: u32,
    pub path: *const ::core::ffi::c_char,
    pub picture: *const ::core::ffi::c_char,
    pub title: *const ::core::ffi::c_char,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_trace_info {
    pub struct_size: u32,
    pub running: u32,
    pub file_status: gpo_status,
    pub reserved: u32,
    pub calls: u64,
    pub operations: u64,
    pub timed: u64,
    pub completions: u64,
    pub dropped: u64,
    pub file_bytes: u64,
    pub call_cost_ns: u64,
    pub operation_cost_ns: u64,
    pub clock_error_ns: u64,
    pub callbacks: u64,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_api {
    pub struct_size: u32,
    pub library_version: u32,
    pub status_name: ::core::option::Option<
        unsafe extern "C" fn(status: gpo_status) -> *const ::core::ffi::c_char,
    >,
    pub status_text: ::core::option::Option<
        unsafe extern "C" fn(status: gpo_status) -> *const ::core::ffi::c_char,
    >,
    pub last_error: ::core::option::Option<
        unsafe extern "C" fn(error: *mut gpo_error) -> gpo_status,
    >,
    pub object_get_error: ::core::option::Option<
        unsafe extern "C" fn(
            object: *const ::core::ffi::c_void,
            error: *mut gpo_error,
        ) -> gpo_status,
    >,
    pub object_set_label: ::core::option::Option<
        unsafe extern "C" fn(
            object: *mut ::core::ffi::c_void,
            label: *const ::core::ffi::c_char,
        ) -> gpo_status,
    >,
    pub object_get_label: ::core::option::Option<
        unsafe extern "C" fn(
            object: *const ::core::ffi::c_void,
            buffer: *mut ::core::ffi::c_char,
            capacity: usize,
            needed: *mut usize,
        ) -> gpo_status,
    >,
    pub runtime_create: ::core::option::Option<
        unsafe extern "C" fn(
            options: *const gpo_runtime_options,
            runtime: *mut gpo_runtime_t,
        ) -> gpo_status,
    >,
    pub runtime_shutdown: ::core::option::Option<
        unsafe extern "C" fn(runtime: gpo_runtime_t, timeout_ns: i64) -> gpo_status,
    >,
    pub runtime_get_driver: ::core::option::Option<
        unsafe extern "C" fn(
            runtime: gpo_runtime_t,
            info: *mut gpo_driver_info,
        ) -> gpo_status,
    >,
    pub runtime_get_statistics: ::core::option::Option<
        unsafe extern "C" fn(
            runtime: gpo_runtime_t,
            statistics: *mut gpo_statistics,
        ) -> gpo_status,
    >,
    pub version: ::core::option::Option<unsafe extern "C" fn() -> u32>,
    pub runtime_get_device_count: ::core::option::Option<
        unsafe extern "C" fn(runtime: gpo_runtime_t, count: *mut u32) -> gpo_status,
    >,
    pub runtime_describe_device: ::core::option::Option<
        unsafe extern "C" fn(
            runtime: gpo_runtime_t,
            ordinal: u32,
            properties: *mut gpo_device_properties,
        ) -> gpo_status,
    >,
    pub runtime_describe_peer: ::core::option::Option<
        unsafe extern "C" fn(
            runtime: gpo_runtime_t,
            from: u32,
            to: u32,
            properties: *mut gpo_peer_properties,
        ) -> gpo_status,
    >,
    pub device_open: ::core::option::Option<
        unsafe extern "C" fn(
            runtime: gpo_runtime_t,
            options: *const gpo_device_options,
            device: *mut gpo_device_t,
        ) -> gpo_status,
    >,
    pub device_close: ::core::option::Option<
        unsafe extern "C" fn(device: gpo_device_t) -> gpo_status,
    >,
    pub device_get_properties: ::core::option::Option<
        unsafe extern "C" fn(
            device: gpo_device_t,
            properties: *mut gpo_device_properties,
        ) -> gpo_status,
    >,
    pub device_wait: ::core::option::Option<
        unsafe extern "C" fn(device: gpo_device_t, timeout_ns: i64) -> gpo_status,
    >,
    pub device_get_native: ::core::option::Option<
        unsafe extern "C" fn(
            device: gpo_device_t,
            context: *mut *mut ::core::ffi::c_void,
            ordinal: *mut i32,
        ) -> gpo_status,
    >,
    pub device_get_memory: ::core::option::Option<
        unsafe extern "C" fn(
            device: gpo_device_t,
            free_bytes: *mut u64,
            total_bytes: *mut u64,
        ) -> gpo_status,
    >,
    pub device_enable_peer: ::core::option::Option<
        unsafe extern "C" fn(device: gpo_device_t, peer: gpo_device_t) -> gpo_status,
    >,
    pub device_disable_peer: ::core::option::Option<
        unsafe extern "C" fn(device: gpo_device_t, peer: gpo_device_t) -> gpo_status,
    >,
    pub device_get_limit: ::core::option::Option<
        unsafe extern "C" fn(
            device: gpo_device_t,
            limit: u32,
            value: *mut u64,
        ) -> gpo_status,
    >,
    pub device_set_limit: ::core::option::Option<
        unsafe extern "C" fn(device: gpo_device_t, limit: u32, value: u64) -> gpo_status,
    >,
    pub event_create: ::core::option::Option<
        unsafe extern "C" fn(
            device: gpo_device_t,
            options: *const gpo_event_options,
            event: *mut gpo_event_t,
        ) -> gpo_status,
    >,
    pub event_destroy: ::core::option::Option<
        unsafe extern "C" fn(event: gpo_event_t) -> gpo_status,
    >,
    pub event_record: ::core::option::Option<
        unsafe extern "C" fn(event: gpo_event_t, stream: gpo_stream_t) -> gpo_status,
    >,
    pub event_query: ::core::option::Option<
        unsafe extern "C" fn(event: gpo_event_t) -> gpo_status,
    >,
    pub event_wait: ::core::option::Option<
        unsafe extern "C" fn(event: gpo_event_t, timeout_ns: i64) -> gpo_status,
    >,
    pub event_get_elapsed: ::core::option::Option<
        unsafe extern "C" fn(
            start: gpo_event_t,
            end: gpo_event_t,
            nanoseconds: *mut i64,
        ) -> gpo_status,
    >,
    pub event_notify: ::core::option::Option<
        unsafe extern "C" fn(
            event: gpo_event_t,
            cq: gpo_cq_t,
            user_data: u64,
        ) -> gpo_status,
    >,
    pub event_get_native: ::core::option::Option<
        unsafe extern "C" fn(
            event: gpo_event_t,
            native: *mut *mut ::core::ffi::c_void,
        ) -> gpo_status,
    >,
    pub timeline_create: ::core::option::Option<
        unsafe extern "C" fn(
            runtime: gpo_runtime_t,
            options: *const gpo_timeline_options,
            timeline: *mut gpo_timeline_t,
        ) -> gpo_status,
    >,
    pub timeline_destroy: ::core::option::Option<
        unsafe extern "C" fn(timeline: gpo_timeline_t) -> gpo_status,
    >,
    pub timeline_signal: ::core::option::Option<
        unsafe extern "C" fn(timeline: gpo_timeline_t, value: u64) -> gpo_status,
    >,
    pub timeline_fail: ::core::option::Option<
        unsafe extern "C" fn(
            timeline: gpo_timeline_t,
            status: gpo_status,
            message: *const ::core::ffi::c_char,
        ) -> gpo_status,
    >,
    pub timeline_get_value: ::core::option::Option<
        unsafe extern "C" fn(timeline: gpo_timeline_t, value: *mut u64) -> gpo_status,
    >,
    pub timeline_wait: ::core::option::Option<
        unsafe extern "C" fn(
            timeline: gpo_timeline_t,
            value: u64,
            timeout_ns: i64,
        ) -> gpo_status,
    >,
    pub stream_create: ::core::option::Option<
        unsafe extern "C" fn(
            device: gpo_device_t,
            options: *const gpo_stream_options,
            stream: *mut gpo_stream_t,
        ) -> gpo_status,
    >,
    pub stream_wrap: ::core::option::Option<
        unsafe extern "C" fn(
            device: gpo_device_t,
            native: *mut ::core::ffi::c_void,
            options: *const gpo_stream_options,
            stream: *mut gpo_stream_t,
        ) -> gpo_status,
    >,
    pub stream_destroy: ::core::option::Option<
        unsafe extern "C" fn(stream: gpo_stream_t) -> gpo_status,
    >,
    pub device_get_priority_range: ::core::option::Option<
        unsafe extern "C" fn(
            device: gpo_device_t,
            least: *mut i32,
            greatest: *mut i32,
        ) -> gpo_status,
    >,
    pub stream_get_info: ::core::option::Option<
        unsafe extern "C" fn(
            stream: gpo_stream_t,
            info: *mut gpo_stream_info,
        ) -> gpo_status,
    >,
    pub stream_get_native: ::core::option::Option<
        unsafe extern "C" fn(
            stream: gpo_stream_t,
            native: *mut *mut ::core::ffi::c_void,
        ) -> gpo_status,
    >,
    pub stream_query: ::core::option::Option<
        unsafe extern "C" fn(stream: gpo_stream_t) -> gpo_status,
    >,
    pub stream_wait: ::core::option::Option<
        unsafe extern "C" fn(stream: gpo_stream_t, timeout_ns: i64) -> gpo_status,
    >,
    pub stream_cancel_held: ::core::option::Option<
        unsafe extern "C" fn(stream: gpo_stream_t, count: *mut u64) -> gpo_status,
    >,
    pub stream_wait_event: ::core::option::Option<
        unsafe extern "C" fn(stream: gpo_stream_t, event: gpo_event_t) -> gpo_status,
    >,
    pub stream_wait_stream: ::core::option::Option<
        unsafe extern "C" fn(stream: gpo_stream_t, other: gpo_stream_t) -> gpo_status,
    >,
    pub stream_wait_timeline: ::core::option::Option<
        unsafe extern "C" fn(
            stream: gpo_stream_t,
            timeline: gpo_timeline_t,
            value: u64,
        ) -> gpo_status,
    >,
    pub stream_signal_timeline: ::core::option::Option<
        unsafe extern "C" fn(
            stream: gpo_stream_t,
            timeline: gpo_timeline_t,
            value: u64,
        ) -> gpo_status,
    >,
    pub stream_pool_create: ::core::option::Option<
        unsafe extern "C" fn(
            device: gpo_device_t,
            options: *const gpo_stream_pool_options,
            pool: *mut gpo_stream_pool_t,
        ) -> gpo_status,
    >,
    pub stream_pool_destroy: ::core::option::Option<
        unsafe extern "C" fn(pool: gpo_stream_pool_t) -> gpo_status,
    >,
    pub stream_pool_acquire: ::core::option::Option<
        unsafe extern "C" fn(
            pool: gpo_stream_pool_t,
            priority: i32,
            stream: *mut gpo_stream_t,
        ) -> gpo_status,
    >,
    pub stream_pool_release: ::core::option::Option<
        unsafe extern "C" fn(pool: gpo_stream_pool_t, stream: gpo_stream_t) -> gpo_status,
    >,
    pub arena_create: ::core::option::Option<
        unsafe extern "C" fn(
            device: gpo_device_t,
            options: *const gpo_arena_options,
            arena: *mut gpo_arena_t,
        ) -> gpo_status,
    >,
    pub arena_destroy: ::core::option::Option<
        unsafe extern "C" fn(arena: gpo_arena_t) -> gpo_status,
    >,
    pub arena_allocate: ::core::option::Option<
        unsafe extern "C" fn(
            arena: gpo_arena_t,
            bytes: u64,
            alignment: u64,
            memory: *mut *mut ::core::ffi::c_void,
        ) -> gpo_status,
    >,
    pub arena_free: ::core::option::Option<
        unsafe extern "C" fn(
            arena: gpo_arena_t,
            memory: *mut ::core::ffi::c_void,
        ) -> gpo_status,
    >,
    pub arena_free_after: ::core::option::Option<
        unsafe extern "C" fn(
            arena: gpo_arena_t,
            memory: *mut ::core::ffi::c_void,
            stream: gpo_stream_t,
        ) -> gpo_status,
    >,
    pub arena_trim: ::core::option::Option<
        unsafe extern "C" fn(arena: gpo_arena_t, keep_bytes: u64) -> gpo_status,
    >,
    pub arena_get_statistics: ::core::option::Option<
        unsafe extern "C" fn(
            arena: gpo_arena_t,
            statistics: *mut gpo_memory_statistics,
        ) -> gpo_status,
    >,
    pub host_register: ::core::option::Option<
        unsafe extern "C" fn(
            device: gpo_device_t,
            memory: *mut ::core::ffi::c_void,
            bytes: u64,
            flags: u32,
        ) -> gpo_status,
    >,
    pub host_unregister: ::core::option::Option<
        unsafe extern "C" fn(
            device: gpo_device_t,
            memory: *mut ::core::ffi::c_void,
        ) -> gpo_status,
    >,
    pub memory_allocate: ::core::option::Option<
        unsafe extern "C" fn(
            device: gpo_device_t,
            bytes: u64,
            label: *const ::core::ffi::c_char,
            address: *mut u64,
        ) -> gpo_status,
    >,
    pub memory_free: ::core::option::Option<
        unsafe extern "C" fn(device: gpo_device_t, address: u64) -> gpo_status,
    >,
    pub memory_describe: ::core::option::Option<
        unsafe extern "C" fn(
            device: gpo_device_t,
            address: u64,
            info: *mut gpo_memory_info,
        ) -> gpo_status,
    >,
    pub pool_create: ::core::option::Option<
        unsafe extern "C" fn(
            device: gpo_device_t,
            options: *const gpo_pool_options,
            pool: *mut gpo_pool_t,
        ) -> gpo_status,
    >,
    pub pool_destroy: ::core::option::Option<
        unsafe extern "C" fn(pool: gpo_pool_t) -> gpo_status,
    >,
    pub pool_allocate: ::core::option::Option<
        unsafe extern "C" fn(
            pool: gpo_pool_t,
            stream: gpo_stream_t,
            bytes: u64,
            address: *mut u64,
        ) -> gpo_status,
    >,
    pub pool_free: ::core::option::Option<
        unsafe extern "C" fn(
            pool: gpo_pool_t,
            stream: gpo_stream_t,
            address: u64,
        ) -> gpo_status,
    >,
    pub pool_trim: ::core::option::Option<
        unsafe extern "C" fn(pool: gpo_pool_t, keep_bytes: u64) -> gpo_status,
    >,
    pub pool_get_statistics: ::core::option::Option<
        unsafe extern "C" fn(
            pool: gpo_pool_t,
            statistics: *mut gpo_memory_statistics,
        ) -> gpo_status,
    >,
    pub copy_to_device: ::core::option::Option<
        unsafe extern "C" fn(
            stream: gpo_stream_t,
            destination: u64,
            source: *const ::core::ffi::c_void,
            bytes: u64,
        ) -> gpo_status,
    >,
    pub copy_to_host: ::core::option::Option<
        unsafe extern "C" fn(
            stream: gpo_stream_t,
            destination: *mut ::core::ffi::c_void,
            source: u64,
            bytes: u64,
        ) -> gpo_status,
    >,
    pub copy_on_device: ::core::option::Option<
        unsafe extern "C" fn(
            stream: gpo_stream_t,
            destination: u64,
            source: u64,
            bytes: u64,
        ) -> gpo_status,
    >,
    pub copy_peer: ::core::option::Option<
        unsafe extern "C" fn(
            stream: gpo_stream_t,
            destination_device: gpo_device_t,
            destination: u64,
            source_device: gpo_device_t,
            source: u64,
            bytes: u64,
        ) -> gpo_status,
    >,
    pub copy_batch: ::core::option::Option<
        unsafe extern "C" fn(
            stream: gpo_stream_t,
            copies: *const gpo_copy,
            stride: u64,
            count: u64,
        ) -> gpo_status,
    >,
    pub copy_rows: ::core::option::Option<
        unsafe extern "C" fn(
            stream: gpo_stream_t,
            copy: *const gpo_copy_2d,
        ) -> gpo_status,
    >,
    pub fill: ::core::option::Option<
        unsafe extern "C" fn(
            stream: gpo_stream_t,
            destination: u64,
            value: u32,
            element_bytes: u32,
            count: u64,
        ) -> gpo_status,
    >,
    pub fill_rows: ::core::option::Option<
        unsafe extern "C" fn(
            stream: gpo_stream_t,
            destination: u64,
            pitch: u64,
            value: u32,
            width: u64,
            height: u64,
        ) -> gpo_status,
    >,
    pub module_compile: ::core::option::Option<
        unsafe extern "C" fn(
            device: gpo_device_t,
            options: *const gpo_compile_options,
            module: *mut gpo_module_t,
        ) -> gpo_status,
    >,
    pub last_compile_log: ::core::option::Option<
        unsafe extern "C" fn(
            buffer: *mut ::core::ffi::c_char,
            capacity: usize,
            needed: *mut usize,
        ) -> gpo_status,
    >,
    pub module_load: ::core::option::Option<
        unsafe extern "C" fn(
            device: gpo_device_t,
            image: *const ::core::ffi::c_void,
            bytes: u64,
            label: *const ::core::ffi::c_char,
            module: *mut gpo_module_t,
        ) -> gpo_status,
    >,
    pub module_get_image: ::core::option::Option<
        unsafe extern "C" fn(
            module: gpo_module_t,
            buffer: *mut ::core::ffi::c_void,
            capacity: usize,
            needed: *mut usize,
        ) -> gpo_status,
    >,
    pub module_load_builtin: ::core::option::Option<
        unsafe extern "C" fn(
            device: gpo_device_t,
            module: *mut gpo_module_t,
        ) -> gpo_status,
    >,
    pub module_destroy: ::core::option::Option<
        unsafe extern "C" fn(module: gpo_module_t) -> gpo_status,
    >,
    pub module_get_kernel: ::core::option::Option<
        unsafe extern "C" fn(
            module: gpo_module_t,
            name: *const ::core::ffi::c_char,
            kernel: *mut gpo_kernel_t,
        ) -> gpo_status,
    >,
    pub kernel_destroy: ::core::option::Option<
        unsafe extern "C" fn(kernel: gpo_kernel_t) -> gpo_status,
    >,
    pub module_get_symbol: ::core::option::Option<
        unsafe extern "C" fn(
            module: gpo_module_t,
            name: *const ::core::ffi::c_char,
            address: *mut u64,
            bytes: *mut u64,
        ) -> gpo_status,
    >,
    pub kernel_get_attributes: ::core::option::Option<
        unsafe extern "C" fn(
            kernel: gpo_kernel_t,
            attributes: *mut gpo_kernel_attributes,
        ) -> gpo_status,
    >,
    pub kernel_get_name: ::core::option::Option<
        unsafe extern "C" fn(
            kernel: gpo_kernel_t,
            buffer: *mut ::core::ffi::c_char,
            capacity: usize,
            needed: *mut usize,
        ) -> gpo_status,
    >,
    pub kernel_get_native: ::core::option::Option<
        unsafe extern "C" fn(
            kernel: gpo_kernel_t,
            function: *mut *mut ::core::ffi::c_void,
        ) -> gpo_status,
    >,
    pub kernel_set_max_dynamic_shared: ::core::option::Option<
        unsafe extern "C" fn(kernel: gpo_kernel_t, bytes: u64) -> gpo_status,
    >,
    pub kernel_get_occupancy: ::core::option::Option<
        unsafe extern "C" fn(
            kernel: gpo_kernel_t,
            threads: u32,
            dynamic_shared_bytes: u64,
            blocks: *mut u32,
        ) -> gpo_status,
    >,
    pub kernel_suggest_shape: ::core::option::Option<
        unsafe extern "C" fn(
            kernel: gpo_kernel_t,
            dynamic_shared_bytes: u64,
            max_threads: u32,
            threads: *mut u32,
            blocks: *mut u32,
        ) -> gpo_status,
    >,
    pub stream_launch_kernel: ::core::option::Option<
        unsafe extern "C" fn(
            stream: gpo_stream_t,
            kernel: gpo_kernel_t,
            launch: *const gpo_launch,
            arguments: *const *const ::core::ffi::c_void,
            sizes: *const u32,
            count: u32,
        ) -> gpo_status,
    >,
    pub cq_create: ::core::option::Option<
        unsafe extern "C" fn(
            runtime: gpo_runtime_t,
            options: *const gpo_cq_options,
            cq: *mut gpo_cq_t,
        ) -> gpo_status,
    >,
    pub cq_destroy: ::core::option::Option<
        unsafe extern "C" fn(cq: gpo_cq_t) -> gpo_status,
    >,
    pub stream_notify: ::core::option::Option<
        unsafe extern "C" fn(
            stream: gpo_stream_t,
            cq: gpo_cq_t,
            user_data: u64,
        ) -> gpo_status,
    >,
    pub stream_notify_timed: ::core::option::Option<
        unsafe extern "C" fn(
            stream: gpo_stream_t,
            cq: gpo_cq_t,
            user_data: u64,
            since: gpo_event_t,
        ) -> gpo_status,
    >,
    pub cq_drain: ::core::option::Option<
        unsafe extern "C" fn(
            cq: gpo_cq_t,
            entries: *mut gpo_completion,
            stride: u64,
            capacity: u64,
            count: *mut u64,
        ) -> gpo_status,
    >,
    pub cq_wait: ::core::option::Option<
        unsafe extern "C" fn(cq: gpo_cq_t, timeout_ns: i64) -> gpo_status,
    >,
    pub cq_wake: ::core::option::Option<
        unsafe extern "C" fn(cq: gpo_cq_t) -> gpo_status,
    >,
    pub cq_get_error: ::core::option::Option<
        unsafe extern "C" fn(
            cq: gpo_cq_t,
            error_id: u64,
            error: *mut gpo_error,
        ) -> gpo_status,
    >,
    pub cq_get_statistics: ::core::option::Option<
        unsafe extern "C" fn(
            cq: gpo_cq_t,
            statistics: *mut gpo_cq_statistics,
        ) -> gpo_status,
    >,
    pub pipeline_create: ::core::option::Option<
        unsafe extern "C" fn(
            device: gpo_device_t,
            options: *const gpo_pipeline_options,
            pipeline: *mut gpo_pipeline_t,
        ) -> gpo_status,
    >,
    pub pipeline_destroy: ::core::option::Option<
        unsafe extern "C" fn(pipeline: gpo_pipeline_t) -> gpo_status,
    >,
    pub pipeline_start: ::core::option::Option<
        unsafe extern "C" fn(
            pipeline: gpo_pipeline_t,
            source: *const gpo_source,
            sink: *const gpo_sink,
        ) -> gpo_status,
    >,
    pub pipeline_wait: ::core::option::Option<
        unsafe extern "C" fn(
            pipeline: gpo_pipeline_t,
            timeout_ns: i64,
            result: *mut gpo_pipeline_result,
        ) -> gpo_status,
    >,
    pub pipeline_cancel: ::core::option::Option<
        unsafe extern "C" fn(pipeline: gpo_pipeline_t) -> gpo_status,
    >,
    pub pipeline_notify: ::core::option::Option<
        unsafe extern "C" fn(
            pipeline: gpo_pipeline_t,
            cq: gpo_cq_t,
            user_data: u64,
        ) -> gpo_status,
    >,
    pub pipeline_get_progress: ::core::option::Option<
        unsafe extern "C" fn(
            pipeline: gpo_pipeline_t,
            progress: *mut gpo_pipeline_progress,
        ) -> gpo_status,
    >,
    pub runtime_get_metrics: ::core::option::Option<
        unsafe extern "C" fn(
            runtime: gpo_runtime_t,
            metrics: *mut gpo_metrics,
        ) -> gpo_status,
    >,
    pub device_get_metrics: ::core::option::Option<
        unsafe extern "C" fn(
            device: gpo_device_t,
            metrics: *mut gpo_device_metrics,
        ) -> gpo_status,
    >,
    pub runtime_get_metrics_text: ::core::option::Option<
        unsafe extern "C" fn(
            runtime: gpo_runtime_t,
            buffer: *mut ::core::ffi::c_char,
            capacity: usize,
            needed: *mut usize,
        ) -> gpo_status,
    >,
    pub cq_get_fd: ::core::option::Option<
        unsafe extern "C" fn(cq: gpo_cq_t, descriptor: *mut i32) -> gpo_status,
    >,
    pub timeline_notify: ::core::option::Option<
        unsafe extern "C" fn(
            timeline: gpo_timeline_t,
            value: u64,
            cq: gpo_cq_t,
            user_data: u64,
        ) -> gpo_status,
    >,
    pub executor_create: ::core::option::Option<
        unsafe extern "C" fn(
            runtime: gpo_runtime_t,
            options: *const gpo_executor_options,
            executor: *mut gpo_executor_t,
        ) -> gpo_status,
    >,
    pub executor_destroy: ::core::option::Option<
        unsafe extern "C" fn(executor: gpo_executor_t) -> gpo_status,
    >,
    pub executor_run: ::core::option::Option<
        unsafe extern "C" fn(executor: gpo_executor_t, count: *mut u64) -> gpo_status,
    >,
    pub executor_run_for: ::core::option::Option<
        unsafe extern "C" fn(
            executor: gpo_executor_t,
            timeout_ns: i64,
            count: *mut u64,
        ) -> gpo_status,
    >,
    pub executor_poll: ::core::option::Option<
        unsafe extern "C" fn(executor: gpo_executor_t, count: *mut u64) -> gpo_status,
    >,
    pub executor_get_statistics: ::core::option::Option<
        unsafe extern "C" fn(
            executor: gpo_executor_t,
            statistics: *mut gpo_executor_statistics,
        ) -> gpo_status,
    >,
    pub stream_then: ::core::option::Option<
        unsafe extern "C" fn(
            stream: gpo_stream_t,
            executor: gpo_executor_t,
            callback: gpo_completion_fn,
            user: *mut ::core::ffi::c_void,
        ) -> gpo_status,
    >,
    pub event_then: ::core::option::Option<
        unsafe extern "C" fn(
            event: gpo_event_t,
            executor: gpo_executor_t,
            callback: gpo_completion_fn,
            user: *mut ::core::ffi::c_void,
        ) -> gpo_status,
    >,
    pub timeline_then: ::core::option::Option<
        unsafe extern "C" fn(
            timeline: gpo_timeline_t,
            value: u64,
            executor: gpo_executor_t,
            callback: gpo_completion_fn,
            user: *mut ::core::ffi::c_void,
        ) -> gpo_status,
    >,
    pub pipeline_then: ::core::option::Option<
        unsafe extern "C" fn(
            pipeline: gpo_pipeline_t,
            executor: gpo_executor_t,
            callback: gpo_completion_fn,
            user: *mut ::core::ffi::c_void,
        ) -> gpo_status,
    >,
    pub stream_host_call: ::core::option::Option<
        unsafe extern "C" fn(
            stream: gpo_stream_t,
            executor: gpo_executor_t,
            function: gpo_host_fn,
            user: *mut ::core::ffi::c_void,
        ) -> gpo_status,
    >,
    pub host_call_finish: ::core::option::Option<
        unsafe extern "C" fn(
            executor: gpo_executor_t,
            call: u64,
            status: gpo_status,
            message: *const ::core::ffi::c_char,
        ) -> gpo_status,
    >,
    pub runtime_set_log_executor: ::core::option::Option<
        unsafe extern "C" fn(
            runtime: gpo_runtime_t,
            executor: gpo_executor_t,
        ) -> gpo_status,
    >,
    pub trace_start: ::core::option::Option<
        unsafe extern "C" fn(
            runtime: gpo_runtime_t,
            options: *const gpo_trace_options,
        ) -> gpo_status,
    >,
    pub trace_stop: ::core::option::Option<
        unsafe extern "C" fn(runtime: gpo_runtime_t) -> gpo_status,
    >,
    pub trace_get_info: ::core::option::Option<
        unsafe extern "C" fn(
            runtime: gpo_runtime_t,
            info: *mut gpo_trace_info,
        ) -> gpo_status,
    >,
    pub trace_get_summary: ::core::option::Option<
        unsafe extern "C" fn(
            runtime: gpo_runtime_t,
            buffer: *mut ::core::ffi::c_char,
            capacity: usize,
            needed: *mut usize,
        ) -> gpo_status,
    >,
    pub kernel_get_parameter: ::core::option::Option<
        unsafe extern "C" fn(
            kernel: gpo_kernel_t,
            index: u32,
            offset: *mut u64,
            bytes: *mut u64,
        ) -> gpo_status,
    >,
    pub template_create: ::core::option::Option<
        unsafe extern "C" fn(
            device: gpo_device_t,
            options: *const gpo_template_options,
            graph_template: *mut gpo_template_t,
        ) -> gpo_status,
    >,
    pub template_destroy: ::core::option::Option<
        unsafe extern "C" fn(graph_template: gpo_template_t) -> gpo_status,
    >,
    pub template_begin: ::core::option::Option<
        unsafe extern "C" fn(
            graph_template: gpo_template_t,
            stream: gpo_stream_t,
        ) -> gpo_status,
    >,
    pub template_end: ::core::option::Option<
        unsafe extern "C" fn(graph_template: gpo_template_t) -> gpo_status,
    >,
    pub template_cancel: ::core::option::Option<
        unsafe extern "C" fn(graph_template: gpo_template_t) -> gpo_status,
    >,
    pub template_get_last_node: ::core::option::Option<
        unsafe extern "C" fn(
            graph_template: gpo_template_t,
            stream: gpo_stream_t,
            node: *mut u32,
        ) -> gpo_status,
    >,
    pub template_set_last_node: ::core::option::Option<
        unsafe extern "C" fn(
            graph_template: gpo_template_t,
            stream: gpo_stream_t,
            node: u32,
        ) -> gpo_status,
    >,
    pub template_add_kernel: ::core::option::Option<
        unsafe extern "C" fn(
            graph_template: gpo_template_t,
            after: *const u32,
            after_count: u32,
            kernel: gpo_kernel_t,
            launch: *const gpo_launch,
            arguments: *const *const ::core::ffi::c_void,
            sizes: *const u32,
            count: u32,
            node: *mut u32,
        ) -> gpo_status,
    >,
    pub template_add_copy: ::core::option::Option<
        unsafe extern "C" fn(
            graph_template: gpo_template_t,
            after: *const u32,
            after_count: u32,
            copy: *const gpo_copy,
            node: *mut u32,
        ) -> gpo_status,
    >,
    pub template_add_fill: ::core::option::Option<
        unsafe extern "C" fn(
            graph_template: gpo_template_t,
            after: *const u32,
            after_count: u32,
            destination: u64,
            value: u32,
            element_bytes: u32,
            count: u64,
            node: *mut u32,
        ) -> gpo_status,
    >,
    pub template_add_empty: ::core::option::Option<
        unsafe extern "C" fn(
            graph_template: gpo_template_t,
            after: *const u32,
            after_count: u32,
            node: *mut u32,
        ) -> gpo_status,
    >,
    pub template_add_event_record: ::core::option::Option<
        unsafe extern "C" fn(
            graph_template: gpo_template_t,
            after: *const u32,
            after_count: u32,
            event: gpo_event_t,
            node: *mut u32,
        ) -> gpo_status,
    >,
    pub template_add_event_wait: ::core::option::Option<
        unsafe extern "C" fn(
            graph_template: gpo_template_t,
            after: *const u32,
            after_count: u32,
            event: gpo_event_t,
            node: *mut u32,
        ) -> gpo_status,
    >,
    pub template_add_host_call: ::core::option::Option<
        unsafe extern "C" fn(
            graph_template: gpo_template_t,
            after: *const u32,
            after_count: u32,
            function: gpo_host_node_fn,
            user: *mut ::core::ffi::c_void,
            node: *mut u32,
        ) -> gpo_status,
    >,
    pub template_add_child: ::core::option::Option<
        unsafe extern "C" fn(
            graph_template: gpo_template_t,
            after: *const u32,
            after_count: u32,
            child: gpo_template_t,
            prefix: *const ::core::ffi::c_char,
            node: *mut u32,
        ) -> gpo_status,
    >,
    pub template_add_parameter: ::core::option::Option<
        unsafe extern "C" fn(
            graph_template: gpo_template_t,
            name: *const ::core::ffi::c_char,
            node: u32,
            what: u32,
            index: u32,
        ) -> gpo_status,
    >,
    pub template_get_parameter: ::core::option::Option<
        unsafe extern "C" fn(
            graph_template: gpo_template_t,
            name: *const ::core::ffi::c_char,
            parameter: *mut u32,
            bytes: *mut u64,
        ) -> gpo_status,
    >,
    pub template_find_node: ::core::option::Option<
        unsafe extern "C" fn(
            graph_template: gpo_template_t,
            label: *const ::core::ffi::c_char,
            node: *mut u32,
        ) -> gpo_status,
    >,
    pub template_get_native: ::core::option::Option<
        unsafe extern "C" fn(
            graph_template: gpo_template_t,
            native: *mut *mut ::core::ffi::c_void,
        ) -> gpo_status,
    >,
    pub template_clear: ::core::option::Option<
        unsafe extern "C" fn(graph_template: gpo_template_t) -> gpo_status,
    >,
    pub template_get_statistics: ::core::option::Option<
        unsafe extern "C" fn(
            graph_template: gpo_template_t,
            statistics: *mut gpo_template_statistics,
        ) -> gpo_status,
    >,
    pub graph_create: ::core::option::Option<
        unsafe extern "C" fn(
            graph_template: gpo_template_t,
            options: *const gpo_graph_options,
            graph: *mut gpo_graph_t,
        ) -> gpo_status,
    >,
    pub graph_destroy: ::core::option::Option<
        unsafe extern "C" fn(graph: gpo_graph_t) -> gpo_status,
    >,
    pub graph_set: ::core::option::Option<
        unsafe extern "C" fn(
            graph: gpo_graph_t,
            name: *const ::core::ffi::c_char,
            value: *const ::core::ffi::c_void,
            bytes: u64,
        ) -> gpo_status,
    >,
    pub graph_set_parameter: ::core::option::Option<
        unsafe extern "C" fn(
            graph: gpo_graph_t,
            parameter: u32,
            value: *const ::core::ffi::c_void,
            bytes: u64,
        ) -> gpo_status,
    >,
    pub graph_set_all: ::core::option::Option<
        unsafe extern "C" fn(
            graph: gpo_graph_t,
            settings: *const gpo_setting,
            stride: u64,
            count: u64,
        ) -> gpo_status,
    >,
    pub graph_get: ::core::option::Option<
        unsafe extern "C" fn(
            graph: gpo_graph_t,
            name: *const ::core::ffi::c_char,
            value: *mut ::core::ffi::c_void,
            bytes: u64,
        ) -> gpo_status,
    >,
    pub graph_launch: ::core::option::Option<
        unsafe extern "C" fn(graph: gpo_graph_t, stream: gpo_stream_t) -> gpo_status,
    >,
    pub graph_upload: ::core::option::Option<
        unsafe extern "C" fn(graph: gpo_graph_t, stream: gpo_stream_t) -> gpo_status,
    >,
    pub graph_update: ::core::option::Option<
        unsafe extern "C" fn(
            graph: gpo_graph_t,
            report: *mut gpo_graph_update_report,
        ) -> gpo_status,
    >,
    pub template_launch: ::core::option::Option<
        unsafe extern "C" fn(
            graph_template: gpo_template_t,
            stream: gpo_stream_t,
            settings: *const gpo_setting,
            stride: u64,
            count: u64,
        ) -> gpo_status,
    >,
    pub template_prepare: ::core::option::Option<
        unsafe extern "C" fn(
            graph_template: gpo_template_t,
            count: u32,
            stream: gpo_stream_t,
        ) -> gpo_status,
    >,
    pub graph_get_native: ::core::option::Option<
        unsafe extern "C" fn(
            graph: gpo_graph_t,
            native: *mut *mut ::core::ffi::c_void,
        ) -> gpo_status,
    >,
    pub template_add_if: ::core::option::Option<
        unsafe extern "C" fn(
            graph_template: gpo_template_t,
            after: *const u32,
            after_count: u32,
            condition: *const gpo_condition,
            body: *mut gpo_template_t,
            otherwise: *mut gpo_template_t,
            node: *mut u32,
        ) -> gpo_status,
    >,
    pub template_add_while: ::core::option::Option<
        unsafe extern "C" fn(
            graph_template: gpo_template_t,
            after: *const u32,
            after_count: u32,
            condition: *const gpo_condition,
            body: *mut gpo_template_t,
            node: *mut u32,
        ) -> gpo_status,
    >,
    pub template_add_switch: ::core::option::Option<
        unsafe extern "C" fn(
            graph_template: gpo_template_t,
            after: *const u32,
            after_count: u32,
            condition: *const gpo_condition,
            bodies: *mut gpo_template_t,
            count: u32,
            node: *mut u32,
        ) -> gpo_status,
    >,
    pub template_bind_condition: ::core::option::Option<
        unsafe extern "C" fn(
            kernel_in: gpo_template_t,
            kernel_node: u32,
            index: u32,
            conditional_in: gpo_template_t,
            conditional: u32,
        ) -> gpo_status,
    >,
    pub graph_get_loop: ::core::option::Option<
        unsafe extern "C" fn(
            graph: gpo_graph_t,
            conditional_in: gpo_template_t,
            node: u32,
            iterations: *mut u64,
            limited: *mut u32,
        ) -> gpo_status,
    >,
    pub graph_get_device_handle: ::core::option::Option<
        unsafe extern "C" fn(
            graph: gpo_graph_t,
            native: *mut u64,
            status: *mut u64,
        ) -> gpo_status,
    >,
    pub graph_get_device_status: ::core::option::Option<
        unsafe extern "C" fn(
            graph: gpo_graph_t,
            device_status: *mut gpo_status,
        ) -> gpo_status,
    >,
    pub buckets_create: ::core::option::Option<
        unsafe extern "C" fn(
            device: gpo_device_t,
            options: *const gpo_buckets_options,
            buckets: *mut gpo_buckets_t,
        ) -> gpo_status,
    >,
    pub buckets_destroy: ::core::option::Option<
        unsafe extern "C" fn(buckets: gpo_buckets_t) -> gpo_status,
    >,
    pub buckets_prepare: ::core::option::Option<
        unsafe extern "C" fn(buckets: gpo_buckets_t, stream: gpo_stream_t) -> gpo_status,
    >,
    pub buckets_launch: ::core::option::Option<
        unsafe extern "C" fn(
            buckets: gpo_buckets_t,
            stream: gpo_stream_t,
            size: u64,
            settings: *const gpo_setting,
            stride: u64,
            count: u64,
            shape: *mut u64,
        ) -> gpo_status,
    >,
    pub buckets_get_statistics: ::core::option::Option<
        unsafe extern "C" fn(
            buckets: gpo_buckets_t,
            statistics: *mut gpo_buckets_statistics,
        ) -> gpo_status,
    >,
    pub template_import: ::core::option::Option<
        unsafe extern "C" fn(
            device: gpo_device_t,
            native: *mut ::core::ffi::c_void,
            options: *const gpo_template_options,
            graph_template: *mut gpo_template_t,
        ) -> gpo_status,
    >,
    pub template_get_picture: ::core::option::Option<
        unsafe extern "C" fn(
            graph_template: gpo_template_t,
            format: u32,
            buffer: *mut ::core::ffi::c_char,
            capacity: usize,
            needed: *mut usize,
        ) -> gpo_status,
    >,
    pub template_allocate: ::core::option::Option<
        unsafe extern "C" fn(
            graph_template: gpo_template_t,
            bytes: u64,
            address: *mut u64,
        ) -> gpo_status,
    >,
    pub template_allocate_host: ::core::option::Option<
        unsafe extern "C" fn(
            graph_template: gpo_template_t,
            bytes: u64,
            memory: *mut *mut ::core::ffi::c_void,
        ) -> gpo_status,
    >,
    pub template_add_allocation: ::core::option::Option<
        unsafe extern "C" fn(
            graph_template: gpo_template_t,
            after: *const u32,
            after_count: u32,
            bytes: u64,
            address: *mut u64,
            node: *mut u32,
        ) -> gpo_status,
    >,
    pub template_add_free: ::core::option::Option<
        unsafe extern "C" fn(
            graph_template: gpo_template_t,
            after: *const u32,
            after_count: u32,
            address: u64,
            node: *mut u32,
        ) -> gpo_status,
    >,
    pub queue_create: ::core::option::Option<
        unsafe extern "C" fn(
            device: gpo_device_t,
            options: *const gpo_queue_options,
            queue: *mut gpo_queue_t,
        ) -> gpo_status,
    >,
    pub queue_destroy: ::core::option::Option<
        unsafe extern "C" fn(queue: gpo_queue_t) -> gpo_status,
    >,
    pub queue_get_device_handle: ::core::option::Option<
        unsafe extern "C" fn(
            queue: gpo_queue_t,
            buffer: *mut ::core::ffi::c_void,
            capacity: usize,
            needed: *mut usize,
        ) -> gpo_status,
    >,
    pub queue_set_costs: ::core::option::Option<
        unsafe extern "C" fn(
            queue: gpo_queue_t,
            stream: gpo_stream_t,
            costs: *const f32,
            count: u64,
        ) -> gpo_status,
    >,
    pub queue_reset: ::core::option::Option<
        unsafe extern "C" fn(queue: gpo_queue_t, stream: gpo_stream_t) -> gpo_status,
    >,
    pub queue_close: ::core::option::Option<
        unsafe extern "C" fn(queue: gpo_queue_t) -> gpo_status,
    >,
    pub queue_abort: ::core::option::Option<
        unsafe extern "C" fn(queue: gpo_queue_t) -> gpo_status,
    >,
    pub queue_get_info: ::core::option::Option<
        unsafe extern "C" fn(queue: gpo_queue_t, info: *mut gpo_queue_info) -> gpo_status,
    >,
    pub queue_push: ::core::option::Option<
        unsafe extern "C" fn(
            queue: gpo_queue_t,
            stream: gpo_stream_t,
            tasks: *const ::core::ffi::c_void,
            count: u64,
            priority: u32,
        ) -> gpo_status,
    >,
    pub device_get_costs: ::core::option::Option<
        unsafe extern "C" fn(
            device: gpo_device_t,
            flags: u32,
            costs: *mut gpo_costs,
        ) -> gpo_status,
    >,
    pub advise: ::core::option::Option<
        unsafe extern "C" fn(
            device: gpo_device_t,
            workload: *const gpo_workload,
            diagnosis: *mut gpo_diagnosis,
            advice: *mut gpo_advice,
            stride: u64,
            capacity: u64,
            count: *mut u64,
        ) -> gpo_status,
    >,
    pub queue_set_tenant: ::core::option::Option<
        unsafe extern "C" fn(
            queue: gpo_queue_t,
            tenant: u32,
            options: *const gpo_tenant_options,
        ) -> gpo_status,
    >,
    pub queue_post: ::core::option::Option<
        unsafe extern "C" fn(
            queue: gpo_queue_t,
            tenant: u32,
            tasks: *const ::core::ffi::c_void,
            count: u64,
            user_data: u64,
            posted: *mut u64,
        ) -> gpo_status,
    >,
    pub queue_take: ::core::option::Option<
        unsafe extern "C" fn(
            queue: gpo_queue_t,
            tenant: u32,
            entries: *mut gpo_answer,
            stride: u64,
            answers: *mut ::core::ffi::c_void,
            capacity: u64,
            count: *mut u64,
        ) -> gpo_status,
    >,
    pub queue_wait: ::core::option::Option<
        unsafe extern "C" fn(
            queue: gpo_queue_t,
            tenant: u32,
            timeout_ns: i64,
        ) -> gpo_status,
    >,
    pub advise_trace: ::core::option::Option<
        unsafe extern "C" fn(
            path: *const ::core::ffi::c_char,
            workload: *mut gpo_workload,
            buffer: *mut ::core::ffi::c_char,
            capacity: usize,
            needed: *mut usize,
        ) -> gpo_status,
    >,
    pub scheduler_create: ::core::option::Option<
        unsafe extern "C" fn(
            device: gpo_device_t,
            options: *const gpo_scheduler_options,
            handlers: *const gpo_handler,
            stride: u64,
            count: u32,
            scheduler: *mut gpo_scheduler_t,
        ) -> gpo_status,
    >,
    pub scheduler_destroy: ::core::option::Option<
        unsafe extern "C" fn(scheduler: gpo_scheduler_t) -> gpo_status,
    >,
    pub scheduler_start: ::core::option::Option<
        unsafe extern "C" fn(scheduler: gpo_scheduler_t) -> gpo_status,
    >,
    pub scheduler_drain: ::core::option::Option<
        unsafe extern "C" fn(scheduler: gpo_scheduler_t, timeout_ns: i64) -> gpo_status,
    >,
    pub scheduler_stop: ::core::option::Option<
        unsafe extern "C" fn(scheduler: gpo_scheduler_t, timeout_ns: i64) -> gpo_status,
    >,
    pub scheduler_wait: ::core::option::Option<
        unsafe extern "C" fn(scheduler: gpo_scheduler_t, timeout_ns: i64) -> gpo_status,
    >,
    pub scheduler_get_info: ::core::option::Option<
        unsafe extern "C" fn(
            scheduler: gpo_scheduler_t,
            info: *mut gpo_scheduler_info,
        ) -> gpo_status,
    >,
    pub scheduler_get_handler: ::core::option::Option<
        unsafe extern "C" fn(
            scheduler: gpo_scheduler_t,
            handler: u32,
            info: *mut gpo_handler_info,
        ) -> gpo_status,
    >,
    pub scheduler_get_blocks: ::core::option::Option<
        unsafe extern "C" fn(
            scheduler: gpo_scheduler_t,
            blocks: *mut gpo_scheduler_block,
            stride: u64,
            capacity: u64,
            count: *mut u64,
        ) -> gpo_status,
    >,
    pub scheduler_get_samples: ::core::option::Option<
        unsafe extern "C" fn(
            scheduler: gpo_scheduler_t,
            samples: *mut gpo_depth_sample,
            stride: u64,
            capacity: u64,
            count: *mut u64,
        ) -> gpo_status,
    >,
    pub scheduler_get_errors: ::core::option::Option<
        unsafe extern "C" fn(
            scheduler: gpo_scheduler_t,
            errors: *mut gpo_task_error,
            stride: u64,
            capacity: u64,
            count: *mut u64,
        ) -> gpo_status,
    >,
    pub peers_create: ::core::option::Option<
        unsafe extern "C" fn(
            devices: *const gpo_device_t,
            count: u32,
            options: *const gpo_peers_options,
            peers: *mut gpo_peers_t,
        ) -> gpo_status,
    >,
    pub peers_destroy: ::core::option::Option<
        unsafe extern "C" fn(peers: gpo_peers_t) -> gpo_status,
    >,
    pub peers_split: ::core::option::Option<
        unsafe extern "C" fn(
            peers: gpo_peers_t,
            ranks: *const u32,
            count: u32,
            options: *const gpo_peers_options,
            part: *mut gpo_peers_t,
        ) -> gpo_status,
    >,
    pub peers_get_info: ::core::option::Option<
        unsafe extern "C" fn(peers: gpo_peers_t, info: *mut gpo_peers_info) -> gpo_status,
    >,
    pub peers_get_link: ::core::option::Option<
        unsafe extern "C" fn(
            peers: gpo_peers_t,
            from: u32,
            to: u32,
            link: *mut gpo_peer_properties,
        ) -> gpo_status,
    >,
    pub peers_submit: ::core::option::Option<
        unsafe extern "C" fn(
            peers: gpo_peers_t,
            collective: *const gpo_collective,
            parts: *const gpo_rank_part,
            stride: u64,
            count: u32,
        ) -> gpo_status,
    >,
    pub symmetric_allocate: ::core::option::Option<
        unsafe extern "C" fn(
            peers: gpo_peers_t,
            bytes: u64,
            options: *const gpo_symmetric_options,
            memory: *mut gpo_symmetric_t,
        ) -> gpo_status,
    >,
    pub symmetric_destroy: ::core::option::Option<
        unsafe extern "C" fn(memory: gpo_symmetric_t) -> gpo_status,
    >,
    pub symmetric_get_address: ::core::option::Option<
        unsafe extern "C" fn(
            memory: gpo_symmetric_t,
            rank: u32,
            address: *mut u64,
        ) -> gpo_status,
    >,
    pub symmetric_get_device_handle: ::core::option::Option<
        unsafe extern "C" fn(
            memory: gpo_symmetric_t,
            rank: u32,
            buffer: *mut ::core::ffi::c_void,
            capacity: usize,
            needed: *mut usize,
        ) -> gpo_status,
    >,
    pub symmetric_reset: ::core::option::Option<
        unsafe extern "C" fn(
            memory: gpo_symmetric_t,
            rank: u32,
            stream: gpo_stream_t,
        ) -> gpo_status,
    >,
    pub symmetric_get_info: ::core::option::Option<
        unsafe extern "C" fn(
            memory: gpo_symmetric_t,
            info: *mut gpo_symmetric_info,
        ) -> gpo_status,
    >,
    pub peers_launch: ::core::option::Option<
        unsafe extern "C" fn(
            peers: gpo_peers_t,
            launches: *const gpo_rank_launch,
            stride: u64,
            count: u32,
        ) -> gpo_status,
    >,
    pub peers_make_id: ::core::option::Option<
        unsafe extern "C" fn(
            buffer: *mut ::core::ffi::c_void,
            capacity: usize,
            needed: *mut usize,
        ) -> gpo_status,
    >,
    pub peers_join: ::core::option::Option<
        unsafe extern "C" fn(
            device: gpo_device_t,
            options: *const gpo_join_options,
            peers: *mut gpo_peers_t,
        ) -> gpo_status,
    >,
    pub peers_abort: ::core::option::Option<
        unsafe extern "C" fn(peers: gpo_peers_t) -> gpo_status,
    >,
    pub memory_export: ::core::option::Option<
        unsafe extern "C" fn(
            device: gpo_device_t,
            address: u64,
            buffer: *mut ::core::ffi::c_void,
            capacity: usize,
            needed: *mut usize,
        ) -> gpo_status,
    >,
    pub memory_import: ::core::option::Option<
        unsafe extern "C" fn(
            device: gpo_device_t,
            exported: *const ::core::ffi::c_void,
            bytes: usize,
            label: *const ::core::ffi::c_char,
            address: *mut u64,
            size: *mut u64,
        ) -> gpo_status,
    >,
    pub event_export: ::core::option::Option<
        unsafe extern "C" fn(
            event: gpo_event_t,
            buffer: *mut ::core::ffi::c_void,
            capacity: usize,
            needed: *mut usize,
        ) -> gpo_status,
    >,
    pub event_import: ::core::option::Option<
        unsafe extern "C" fn(
            device: gpo_device_t,
            exported: *const ::core::ffi::c_void,
            bytes: usize,
            label: *const ::core::ffi::c_char,
            event: *mut gpo_event_t,
        ) -> gpo_status,
    >,
    pub pipeline_get_share: ::core::option::Option<
        unsafe extern "C" fn(
            pipeline: gpo_pipeline_t,
            device: u32,
            share: *mut gpo_pipeline_share,
        ) -> gpo_status,
    >,
    pub admission_create: ::core::option::Option<
        unsafe extern "C" fn(
            runtime: gpo_runtime_t,
            options: *const gpo_admission_options,
            admission: *mut gpo_admission_t,
        ) -> gpo_status,
    >,
    pub admission_destroy: ::core::option::Option<
        unsafe extern "C" fn(admission: gpo_admission_t) -> gpo_status,
    >,
    pub admission_enter: ::core::option::Option<
        unsafe extern "C" fn(
            admission: gpo_admission_t,
            request: *const gpo_admission_request,
            cq: gpo_cq_t,
            user_data: u64,
            ticket: *mut u64,
        ) -> gpo_status,
    >,
    pub admission_enter_then: ::core::option::Option<
        unsafe extern "C" fn(
            admission: gpo_admission_t,
            request: *const gpo_admission_request,
            executor: gpo_executor_t,
            callback: gpo_completion_fn,
            user: *mut ::core::ffi::c_void,
            ticket: *mut u64,
        ) -> gpo_status,
    >,
    pub admission_cancel: ::core::option::Option<
        unsafe extern "C" fn(admission: gpo_admission_t, ticket: u64) -> gpo_status,
    >,
    pub admission_leave: ::core::option::Option<
        unsafe extern "C" fn(admission: gpo_admission_t, ticket: u64) -> gpo_status,
    >,
    pub admission_leave_after: ::core::option::Option<
        unsafe extern "C" fn(
            admission: gpo_admission_t,
            ticket: u64,
            stream: gpo_stream_t,
        ) -> gpo_status,
    >,
    pub admission_set_budget: ::core::option::Option<
        unsafe extern "C" fn(
            admission: gpo_admission_t,
            count: u64,
            bytes: u64,
        ) -> gpo_status,
    >,
    pub admission_set_flow: ::core::option::Option<
        unsafe extern "C" fn(
            admission: gpo_admission_t,
            flow: u64,
            weight: u32,
        ) -> gpo_status,
    >,
    pub admission_get_info: ::core::option::Option<
        unsafe extern "C" fn(
            admission: gpo_admission_t,
            info: *mut gpo_admission_info,
        ) -> gpo_status,
    >,
    pub batcher_create: ::core::option::Option<
        unsafe extern "C" fn(
            options: *const gpo_batcher_options,
            batcher: *mut gpo_batcher_t,
        ) -> gpo_status,
    >,
    pub batcher_destroy: ::core::option::Option<
        unsafe extern "C" fn(batcher: gpo_batcher_t) -> gpo_status,
    >,
    pub batcher_add_key: ::core::option::Option<
        unsafe extern "C" fn(
            batcher: gpo_batcher_t,
            options: *const gpo_batcher_key_options,
            key: *mut u32,
        ) -> gpo_status,
    >,
    pub batcher_submit: ::core::option::Option<
        unsafe extern "C" fn(
            batcher: gpo_batcher_t,
            request: *const gpo_batcher_request,
            cq: gpo_cq_t,
            user_data: u64,
            ticket: *mut u64,
            wait_ns: *mut u64,
        ) -> gpo_status,
    >,
    pub batcher_submit_then: ::core::option::Option<
        unsafe extern "C" fn(
            batcher: gpo_batcher_t,
            request: *const gpo_batcher_request,
            executor: gpo_executor_t,
            callback: gpo_completion_fn,
            user: *mut ::core::ffi::c_void,
            ticket: *mut u64,
            wait_ns: *mut u64,
        ) -> gpo_status,
    >,
    pub batcher_cancel: ::core::option::Option<
        unsafe extern "C" fn(batcher: gpo_batcher_t, ticket: u64) -> gpo_status,
    >,
    pub batcher_set_flow: ::core::option::Option<
        unsafe extern "C" fn(
            batcher: gpo_batcher_t,
            flow: u64,
            weight: u32,
        ) -> gpo_status,
    >,
    pub batcher_get_info: ::core::option::Option<
        unsafe extern "C" fn(
            batcher: gpo_batcher_t,
            info: *mut gpo_batcher_info,
        ) -> gpo_status,
    >,
    pub batcher_get_key_info: ::core::option::Option<
        unsafe extern "C" fn(
            batcher: gpo_batcher_t,
            key: u32,
            info: *mut gpo_batcher_info,
        ) -> gpo_status,
    >,
    pub batcher_get_flow_info: ::core::option::Option<
        unsafe extern "C" fn(
            batcher: gpo_batcher_t,
            flow: u64,
            info: *mut gpo_batcher_flow_info,
        ) -> gpo_status,
    >,
    pub executor_post: ::core::option::Option<
        unsafe extern "C" fn(
            executor: gpo_executor_t,
            callback: gpo_completion_fn,
            user: *mut ::core::ffi::c_void,
        ) -> gpo_status,
    >,
    pub executor_post_at: ::core::option::Option<
        unsafe extern "C" fn(
            executor: gpo_executor_t,
            time_ns: u64,
            callback: gpo_completion_fn,
            user: *mut ::core::ffi::c_void,
            ticket: *mut u64,
        ) -> gpo_status,
    >,
    pub executor_cancel: ::core::option::Option<
        unsafe extern "C" fn(executor: gpo_executor_t, ticket: u64) -> gpo_status,
    >,
    pub executor_get_time: ::core::option::Option<
        unsafe extern "C" fn(executor: gpo_executor_t, time_ns: *mut u64) -> gpo_status,
    >,
}
