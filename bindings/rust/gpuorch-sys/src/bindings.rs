// Made from libgpuorch/include/gpuorch by `cargo run -p xtask -- bindings`: bindgen 0.72.1, libclang 14.

pub const GPO_VERSION_MAJOR: u32 = 0;
pub const GPO_VERSION_MINOR: u32 = 1;
pub const GPO_VERSION_PATCH: u32 = 0;
pub const GPO_VERSION: u32 = 100;
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
pub const GPO_EVENT_TIMING: u32 = 1;
pub const GPO_EVENT_BLOCKING_SYNC: u32 = 2;
pub const GPO_EVENT_INTERPROCESS: u32 = 4;
pub const GPO_EVENT_EXTERNAL: u32 = 8;
pub const GPO_STREAM_BLOCKING: u32 = 1;
pub const GPO_STREAM_LEARNS: u32 = 2;
pub const GPO_STREAM_RESIDENT: u32 = 4;
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
pub const GPO_ORIGIN_STREAM: u32 = 1;
pub const GPO_ORIGIN_EVENT: u32 = 2;
pub const GPO_ORIGIN_PIPELINE: u32 = 3;
pub const GPO_ORIGIN_TIMELINE: u32 = 4;
pub const GPO_ORIGIN_QUEUE: u32 = 5;
pub const GPO_EXECUTOR_CALLER: u32 = 1;
pub const GPO_EXECUTOR_SPIN: u32 = 2;
pub const GPO_EXECUTOR_SLEEP: u32 = 4;
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
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gpo_error"][::core::mem::size_of::<gpo_error>() - 664usize];
    ["Alignment of gpo_error"][::core::mem::align_of::<gpo_error>() - 8usize];
    [
        "Offset of field: gpo_error::struct_size",
    ][::core::mem::offset_of!(gpo_error, struct_size) - 0usize];
    [
        "Offset of field: gpo_error::status",
    ][::core::mem::offset_of!(gpo_error, status) - 4usize];
    [
        "Offset of field: gpo_error::native_code",
    ][::core::mem::offset_of!(gpo_error, native_code) - 8usize];
    [
        "Offset of field: gpo_error::native_domain",
    ][::core::mem::offset_of!(gpo_error, native_domain) - 12usize];
    [
        "Offset of field: gpo_error::operation",
    ][::core::mem::offset_of!(gpo_error, operation) - 16usize];
    [
        "Offset of field: gpo_error::function",
    ][::core::mem::offset_of!(gpo_error, function) - 24usize];
    [
        "Offset of field: gpo_error::object",
    ][::core::mem::offset_of!(gpo_error, object) - 88usize];
    [
        "Offset of field: gpo_error::message",
    ][::core::mem::offset_of!(gpo_error, message) - 152usize];
};
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
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of gpo_runtime_options",
    ][::core::mem::size_of::<gpo_runtime_options>() - 64usize];
    [
        "Alignment of gpo_runtime_options",
    ][::core::mem::align_of::<gpo_runtime_options>() - 8usize];
    [
        "Offset of field: gpo_runtime_options::struct_size",
    ][::core::mem::offset_of!(gpo_runtime_options, struct_size) - 0usize];
    [
        "Offset of field: gpo_runtime_options::flags",
    ][::core::mem::offset_of!(gpo_runtime_options, flags) - 4usize];
    [
        "Offset of field: gpo_runtime_options::device",
    ][::core::mem::offset_of!(gpo_runtime_options, device) - 8usize];
    [
        "Offset of field: gpo_runtime_options::log",
    ][::core::mem::offset_of!(gpo_runtime_options, log) - 16usize];
    [
        "Offset of field: gpo_runtime_options::log_user",
    ][::core::mem::offset_of!(gpo_runtime_options, log_user) - 24usize];
    [
        "Offset of field: gpo_runtime_options::log_level",
    ][::core::mem::offset_of!(gpo_runtime_options, log_level) - 32usize];
    [
        "Offset of field: gpo_runtime_options::completion_mode",
    ][::core::mem::offset_of!(gpo_runtime_options, completion_mode) - 36usize];
    [
        "Offset of field: gpo_runtime_options::schedule_seed",
    ][::core::mem::offset_of!(gpo_runtime_options, schedule_seed) - 40usize];
    [
        "Offset of field: gpo_runtime_options::cache",
    ][::core::mem::offset_of!(gpo_runtime_options, cache) - 48usize];
    [
        "Offset of field: gpo_runtime_options::label",
    ][::core::mem::offset_of!(gpo_runtime_options, label) - 56usize];
};
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
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gpo_driver_info"][::core::mem::size_of::<gpo_driver_info>() - 288usize];
    [
        "Alignment of gpo_driver_info",
    ][::core::mem::align_of::<gpo_driver_info>() - 4usize];
    [
        "Offset of field: gpo_driver_info::struct_size",
    ][::core::mem::offset_of!(gpo_driver_info, struct_size) - 0usize];
    [
        "Offset of field: gpo_driver_info::version",
    ][::core::mem::offset_of!(gpo_driver_info, version) - 4usize];
    [
        "Offset of field: gpo_driver_info::software",
    ][::core::mem::offset_of!(gpo_driver_info, software) - 8usize];
    [
        "Offset of field: gpo_driver_info::device_count",
    ][::core::mem::offset_of!(gpo_driver_info, device_count) - 12usize];
    [
        "Offset of field: gpo_driver_info::name",
    ][::core::mem::offset_of!(gpo_driver_info, name) - 16usize];
    [
        "Offset of field: gpo_driver_info::reason",
    ][::core::mem::offset_of!(gpo_driver_info, reason) - 32usize];
};
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
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gpo_statistics"][::core::mem::size_of::<gpo_statistics>() - 128usize];
    ["Alignment of gpo_statistics"][::core::mem::align_of::<gpo_statistics>() - 8usize];
    [
        "Offset of field: gpo_statistics::struct_size",
    ][::core::mem::offset_of!(gpo_statistics, struct_size) - 0usize];
    [
        "Offset of field: gpo_statistics::live_objects",
    ][::core::mem::offset_of!(gpo_statistics, live_objects) - 4usize];
    [
        "Offset of field: gpo_statistics::launches",
    ][::core::mem::offset_of!(gpo_statistics, launches) - 8usize];
    [
        "Offset of field: gpo_statistics::copies",
    ][::core::mem::offset_of!(gpo_statistics, copies) - 16usize];
    [
        "Offset of field: gpo_statistics::copied_bytes",
    ][::core::mem::offset_of!(gpo_statistics, copied_bytes) - 24usize];
    [
        "Offset of field: gpo_statistics::fills",
    ][::core::mem::offset_of!(gpo_statistics, fills) - 32usize];
    [
        "Offset of field: gpo_statistics::notifies",
    ][::core::mem::offset_of!(gpo_statistics, notifies) - 40usize];
    [
        "Offset of field: gpo_statistics::completions",
    ][::core::mem::offset_of!(gpo_statistics, completions) - 48usize];
    [
        "Offset of field: gpo_statistics::failures",
    ][::core::mem::offset_of!(gpo_statistics, failures) - 56usize];
    [
        "Offset of field: gpo_statistics::holds",
    ][::core::mem::offset_of!(gpo_statistics, holds) - 64usize];
    [
        "Offset of field: gpo_statistics::device_allocations",
    ][::core::mem::offset_of!(gpo_statistics, device_allocations) - 72usize];
    [
        "Offset of field: gpo_statistics::host_registrations",
    ][::core::mem::offset_of!(gpo_statistics, host_registrations) - 80usize];
    [
        "Offset of field: gpo_statistics::pageable_copies",
    ][::core::mem::offset_of!(gpo_statistics, pageable_copies) - 88usize];
    [
        "Offset of field: gpo_statistics::pageable_bytes",
    ][::core::mem::offset_of!(gpo_statistics, pageable_bytes) - 96usize];
    [
        "Offset of field: gpo_statistics::legacy_stream_uses",
    ][::core::mem::offset_of!(gpo_statistics, legacy_stream_uses) - 104usize];
    [
        "Offset of field: gpo_statistics::module_loads",
    ][::core::mem::offset_of!(gpo_statistics, module_loads) - 112usize];
    [
        "Offset of field: gpo_statistics::put_off",
    ][::core::mem::offset_of!(gpo_statistics, put_off) - 120usize];
};
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
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of gpo_device_properties",
    ][::core::mem::size_of::<gpo_device_properties>() - 312usize];
    [
        "Alignment of gpo_device_properties",
    ][::core::mem::align_of::<gpo_device_properties>() - 8usize];
    [
        "Offset of field: gpo_device_properties::struct_size",
    ][::core::mem::offset_of!(gpo_device_properties, struct_size) - 0usize];
    [
        "Offset of field: gpo_device_properties::native_ordinal",
    ][::core::mem::offset_of!(gpo_device_properties, native_ordinal) - 4usize];
    [
        "Offset of field: gpo_device_properties::name",
    ][::core::mem::offset_of!(gpo_device_properties, name) - 8usize];
    [
        "Offset of field: gpo_device_properties::uuid",
    ][::core::mem::offset_of!(gpo_device_properties, uuid) - 136usize];
    [
        "Offset of field: gpo_device_properties::pci_address",
    ][::core::mem::offset_of!(gpo_device_properties, pci_address) - 152usize];
    [
        "Offset of field: gpo_device_properties::numa_node",
    ][::core::mem::offset_of!(gpo_device_properties, numa_node) - 184usize];
    [
        "Offset of field: gpo_device_properties::compute_capability_major",
    ][::core::mem::offset_of!(gpo_device_properties, compute_capability_major)
        - 188usize];
    [
        "Offset of field: gpo_device_properties::compute_capability_minor",
    ][::core::mem::offset_of!(gpo_device_properties, compute_capability_minor)
        - 192usize];
    [
        "Offset of field: gpo_device_properties::multiprocessors",
    ][::core::mem::offset_of!(gpo_device_properties, multiprocessors) - 196usize];
    [
        "Offset of field: gpo_device_properties::copy_engines",
    ][::core::mem::offset_of!(gpo_device_properties, copy_engines) - 200usize];
    [
        "Offset of field: gpo_device_properties::warp_size",
    ][::core::mem::offset_of!(gpo_device_properties, warp_size) - 204usize];
    [
        "Offset of field: gpo_device_properties::max_threads_per_block",
    ][::core::mem::offset_of!(gpo_device_properties, max_threads_per_block) - 208usize];
    [
        "Offset of field: gpo_device_properties::max_threads_per_multiprocessor",
    ][::core::mem::offset_of!(gpo_device_properties, max_threads_per_multiprocessor)
        - 212usize];
    [
        "Offset of field: gpo_device_properties::clock_khz",
    ][::core::mem::offset_of!(gpo_device_properties, clock_khz) - 216usize];
    [
        "Offset of field: gpo_device_properties::memory_clock_khz",
    ][::core::mem::offset_of!(gpo_device_properties, memory_clock_khz) - 220usize];
    [
        "Offset of field: gpo_device_properties::memory_bus_bits",
    ][::core::mem::offset_of!(gpo_device_properties, memory_bus_bits) - 224usize];
    [
        "Offset of field: gpo_device_properties::l2_bytes",
    ][::core::mem::offset_of!(gpo_device_properties, l2_bytes) - 228usize];
    [
        "Offset of field: gpo_device_properties::software",
    ][::core::mem::offset_of!(gpo_device_properties, software) - 232usize];
    [
        "Offset of field: gpo_device_properties::memory_bytes",
    ][::core::mem::offset_of!(gpo_device_properties, memory_bytes) - 240usize];
    [
        "Offset of field: gpo_device_properties::shared_bytes_per_block",
    ][::core::mem::offset_of!(gpo_device_properties, shared_bytes_per_block) - 248usize];
    [
        "Offset of field: gpo_device_properties::shared_bytes_per_block_max",
    ][::core::mem::offset_of!(gpo_device_properties, shared_bytes_per_block_max)
        - 256usize];
    [
        "Offset of field: gpo_device_properties::shared_bytes_per_multiprocessor",
    ][::core::mem::offset_of!(gpo_device_properties, shared_bytes_per_multiprocessor)
        - 264usize];
    [
        "Offset of field: gpo_device_properties::max_block",
    ][::core::mem::offset_of!(gpo_device_properties, max_block) - 272usize];
    [
        "Offset of field: gpo_device_properties::max_grid",
    ][::core::mem::offset_of!(gpo_device_properties, max_grid) - 284usize];
    [
        "Offset of field: gpo_device_properties::cooperative_launch",
    ][::core::mem::offset_of!(gpo_device_properties, cooperative_launch) - 296usize];
    [
        "Offset of field: gpo_device_properties::cluster_launch",
    ][::core::mem::offset_of!(gpo_device_properties, cluster_launch) - 300usize];
    [
        "Offset of field: gpo_device_properties::memory_pools",
    ][::core::mem::offset_of!(gpo_device_properties, memory_pools) - 304usize];
    [
        "Offset of field: gpo_device_properties::batched_copies",
    ][::core::mem::offset_of!(gpo_device_properties, batched_copies) - 308usize];
};
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_peer_properties {
    pub struct_size: u32,
    pub accessible: u32,
    pub native_atomics: u32,
    pub performance_rank: i32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of gpo_peer_properties",
    ][::core::mem::size_of::<gpo_peer_properties>() - 16usize];
    [
        "Alignment of gpo_peer_properties",
    ][::core::mem::align_of::<gpo_peer_properties>() - 4usize];
    [
        "Offset of field: gpo_peer_properties::struct_size",
    ][::core::mem::offset_of!(gpo_peer_properties, struct_size) - 0usize];
    [
        "Offset of field: gpo_peer_properties::accessible",
    ][::core::mem::offset_of!(gpo_peer_properties, accessible) - 4usize];
    [
        "Offset of field: gpo_peer_properties::native_atomics",
    ][::core::mem::offset_of!(gpo_peer_properties, native_atomics) - 8usize];
    [
        "Offset of field: gpo_peer_properties::performance_rank",
    ][::core::mem::offset_of!(gpo_peer_properties, performance_rank) - 12usize];
};
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
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of gpo_device_options",
    ][::core::mem::size_of::<gpo_device_options>() - 32usize];
    [
        "Alignment of gpo_device_options",
    ][::core::mem::align_of::<gpo_device_options>() - 8usize];
    [
        "Offset of field: gpo_device_options::struct_size",
    ][::core::mem::offset_of!(gpo_device_options, struct_size) - 0usize];
    [
        "Offset of field: gpo_device_options::flags",
    ][::core::mem::offset_of!(gpo_device_options, flags) - 4usize];
    [
        "Offset of field: gpo_device_options::ordinal",
    ][::core::mem::offset_of!(gpo_device_options, ordinal) - 8usize];
    [
        "Offset of field: gpo_device_options::reserved",
    ][::core::mem::offset_of!(gpo_device_options, reserved) - 12usize];
    [
        "Offset of field: gpo_device_options::native_context",
    ][::core::mem::offset_of!(gpo_device_options, native_context) - 16usize];
    [
        "Offset of field: gpo_device_options::label",
    ][::core::mem::offset_of!(gpo_device_options, label) - 24usize];
};
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
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gpo_costs"][::core::mem::size_of::<gpo_costs>() - 168usize];
    ["Alignment of gpo_costs"][::core::mem::align_of::<gpo_costs>() - 8usize];
    [
        "Offset of field: gpo_costs::struct_size",
    ][::core::mem::offset_of!(gpo_costs, struct_size) - 0usize];
    [
        "Offset of field: gpo_costs::measured",
    ][::core::mem::offset_of!(gpo_costs, measured) - 4usize];
    [
        "Offset of field: gpo_costs::launch_ns",
    ][::core::mem::offset_of!(gpo_costs, launch_ns) - 8usize];
    [
        "Offset of field: gpo_costs::wait_ns",
    ][::core::mem::offset_of!(gpo_costs, wait_ns) - 16usize];
    [
        "Offset of field: gpo_costs::decision_ns",
    ][::core::mem::offset_of!(gpo_costs, decision_ns) - 24usize];
    [
        "Offset of field: gpo_costs::graph_launch_ns",
    ][::core::mem::offset_of!(gpo_costs, graph_launch_ns) - 32usize];
    [
        "Offset of field: gpo_costs::graph_node_ns",
    ][::core::mem::offset_of!(gpo_costs, graph_node_ns) - 40usize];
    [
        "Offset of field: gpo_costs::while_turn_ns",
    ][::core::mem::offset_of!(gpo_costs, while_turn_ns) - 48usize];
    [
        "Offset of field: gpo_costs::device_launch_ns",
    ][::core::mem::offset_of!(gpo_costs, device_launch_ns) - 56usize];
    [
        "Offset of field: gpo_costs::doorbell_ns",
    ][::core::mem::offset_of!(gpo_costs, doorbell_ns) - 64usize];
    [
        "Offset of field: gpo_costs::host_tasks_per_second",
    ][::core::mem::offset_of!(gpo_costs, host_tasks_per_second) - 72usize];
    [
        "Offset of field: gpo_costs::claims_per_second",
    ][::core::mem::offset_of!(gpo_costs, claims_per_second) - 80usize];
    [
        "Offset of field: gpo_costs::ring_tasks_per_second",
    ][::core::mem::offset_of!(gpo_costs, ring_tasks_per_second) - 88usize];
    [
        "Offset of field: gpo_costs::copy_ns",
    ][::core::mem::offset_of!(gpo_costs, copy_ns) - 96usize];
    [
        "Offset of field: gpo_costs::copy_in_rate",
    ][::core::mem::offset_of!(gpo_costs, copy_in_rate) - 104usize];
    [
        "Offset of field: gpo_costs::copy_out_rate",
    ][::core::mem::offset_of!(gpo_costs, copy_out_rate) - 112usize];
    [
        "Offset of field: gpo_costs::copy_both_rate",
    ][::core::mem::offset_of!(gpo_costs, copy_both_rate) - 120usize];
    [
        "Offset of field: gpo_costs::pageable_in_rate",
    ][::core::mem::offset_of!(gpo_costs, pageable_in_rate) - 128usize];
    [
        "Offset of field: gpo_costs::pageable_out_rate",
    ][::core::mem::offset_of!(gpo_costs, pageable_out_rate) - 136usize];
    [
        "Offset of field: gpo_costs::memory_rate",
    ][::core::mem::offset_of!(gpo_costs, memory_rate) - 144usize];
    [
        "Offset of field: gpo_costs::operation_rate",
    ][::core::mem::offset_of!(gpo_costs, operation_rate) - 152usize];
    [
        "Offset of field: gpo_costs::multiprocessors",
    ][::core::mem::offset_of!(gpo_costs, multiprocessors) - 160usize];
    [
        "Offset of field: gpo_costs::reserved",
    ][::core::mem::offset_of!(gpo_costs, reserved) - 164usize];
};
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
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gpo_workload"][::core::mem::size_of::<gpo_workload>() - 168usize];
    ["Alignment of gpo_workload"][::core::mem::align_of::<gpo_workload>() - 8usize];
    [
        "Offset of field: gpo_workload::struct_size",
    ][::core::mem::offset_of!(gpo_workload, struct_size) - 0usize];
    [
        "Offset of field: gpo_workload::flags",
    ][::core::mem::offset_of!(gpo_workload, flags) - 4usize];
    [
        "Offset of field: gpo_workload::costs",
    ][::core::mem::offset_of!(gpo_workload, costs) - 8usize];
    [
        "Offset of field: gpo_workload::launches",
    ][::core::mem::offset_of!(gpo_workload, launches) - 16usize];
    [
        "Offset of field: gpo_workload::round_ns",
    ][::core::mem::offset_of!(gpo_workload, round_ns) - 24usize];
    [
        "Offset of field: gpo_workload::kernel_ns",
    ][::core::mem::offset_of!(gpo_workload, kernel_ns) - 32usize];
    [
        "Offset of field: gpo_workload::decisions",
    ][::core::mem::offset_of!(gpo_workload, decisions) - 40usize];
    [
        "Offset of field: gpo_workload::streams",
    ][::core::mem::offset_of!(gpo_workload, streams) - 48usize];
    [
        "Offset of field: gpo_workload::blocks",
    ][::core::mem::offset_of!(gpo_workload, blocks) - 52usize];
    [
        "Offset of field: gpo_workload::bytes",
    ][::core::mem::offset_of!(gpo_workload, bytes) - 56usize];
    [
        "Offset of field: gpo_workload::operations",
    ][::core::mem::offset_of!(gpo_workload, operations) - 64usize];
    [
        "Offset of field: gpo_workload::copies",
    ][::core::mem::offset_of!(gpo_workload, copies) - 72usize];
    [
        "Offset of field: gpo_workload::copy_in_bytes",
    ][::core::mem::offset_of!(gpo_workload, copy_in_bytes) - 80usize];
    [
        "Offset of field: gpo_workload::copy_out_bytes",
    ][::core::mem::offset_of!(gpo_workload, copy_out_bytes) - 88usize];
    [
        "Offset of field: gpo_workload::tasks",
    ][::core::mem::offset_of!(gpo_workload, tasks) - 96usize];
    [
        "Offset of field: gpo_workload::task_ns",
    ][::core::mem::offset_of!(gpo_workload, task_ns) - 104usize];
    [
        "Offset of field: gpo_workload::order",
    ][::core::mem::offset_of!(gpo_workload, order) - 112usize];
    [
        "Offset of field: gpo_workload::workers",
    ][::core::mem::offset_of!(gpo_workload, workers) - 116usize];
    [
        "Offset of field: gpo_workload::block_workers",
    ][::core::mem::offset_of!(gpo_workload, block_workers) - 120usize];
    [
        "Offset of field: gpo_workload::reserved",
    ][::core::mem::offset_of!(gpo_workload, reserved) - 124usize];
    [
        "Offset of field: gpo_workload::task_costs",
    ][::core::mem::offset_of!(gpo_workload, task_costs) - 128usize];
    [
        "Offset of field: gpo_workload::cost_stride",
    ][::core::mem::offset_of!(gpo_workload, cost_stride) - 136usize];
    [
        "Offset of field: gpo_workload::cost_count",
    ][::core::mem::offset_of!(gpo_workload, cost_count) - 144usize];
    [
        "Offset of field: gpo_workload::cost_deviation",
    ][::core::mem::offset_of!(gpo_workload, cost_deviation) - 152usize];
    [
        "Offset of field: gpo_workload::cost_max",
    ][::core::mem::offset_of!(gpo_workload, cost_max) - 160usize];
};
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
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gpo_diagnosis"][::core::mem::size_of::<gpo_diagnosis>() - 104usize];
    ["Alignment of gpo_diagnosis"][::core::mem::align_of::<gpo_diagnosis>() - 8usize];
    [
        "Offset of field: gpo_diagnosis::struct_size",
    ][::core::mem::offset_of!(gpo_diagnosis, struct_size) - 0usize];
    [
        "Offset of field: gpo_diagnosis::bound",
    ][::core::mem::offset_of!(gpo_diagnosis, bound) - 4usize];
    [
        "Offset of field: gpo_diagnosis::round_ns",
    ][::core::mem::offset_of!(gpo_diagnosis, round_ns) - 8usize];
    [
        "Offset of field: gpo_diagnosis::launch_ns",
    ][::core::mem::offset_of!(gpo_diagnosis, launch_ns) - 16usize];
    [
        "Offset of field: gpo_diagnosis::kernel_ns",
    ][::core::mem::offset_of!(gpo_diagnosis, kernel_ns) - 24usize];
    [
        "Offset of field: gpo_diagnosis::copy_ns",
    ][::core::mem::offset_of!(gpo_diagnosis, copy_ns) - 32usize];
    [
        "Offset of field: gpo_diagnosis::decision_ns",
    ][::core::mem::offset_of!(gpo_diagnosis, decision_ns) - 40usize];
    [
        "Offset of field: gpo_diagnosis::idle_ns",
    ][::core::mem::offset_of!(gpo_diagnosis, idle_ns) - 48usize];
    [
        "Offset of field: gpo_diagnosis::memory_ns",
    ][::core::mem::offset_of!(gpo_diagnosis, memory_ns) - 56usize];
    [
        "Offset of field: gpo_diagnosis::operations_ns",
    ][::core::mem::offset_of!(gpo_diagnosis, operations_ns) - 64usize];
    [
        "Offset of field: gpo_diagnosis::intensity",
    ][::core::mem::offset_of!(gpo_diagnosis, intensity) - 72usize];
    [
        "Offset of field: gpo_diagnosis::ridge",
    ][::core::mem::offset_of!(gpo_diagnosis, ridge) - 80usize];
    [
        "Offset of field: gpo_diagnosis::roofline_share",
    ][::core::mem::offset_of!(gpo_diagnosis, roofline_share) - 88usize];
    [
        "Offset of field: gpo_diagnosis::launch_share",
    ][::core::mem::offset_of!(gpo_diagnosis, launch_share) - 96usize];
};
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
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gpo_advice"][::core::mem::size_of::<gpo_advice>() - 560usize];
    ["Alignment of gpo_advice"][::core::mem::align_of::<gpo_advice>() - 8usize];
    [
        "Offset of field: gpo_advice::struct_size",
    ][::core::mem::offset_of!(gpo_advice, struct_size) - 0usize];
    [
        "Offset of field: gpo_advice::form",
    ][::core::mem::offset_of!(gpo_advice, form) - 4usize];
    [
        "Offset of field: gpo_advice::bound",
    ][::core::mem::offset_of!(gpo_advice, bound) - 8usize];
    [
        "Offset of field: gpo_advice::streams",
    ][::core::mem::offset_of!(gpo_advice, streams) - 12usize];
    [
        "Offset of field: gpo_advice::order",
    ][::core::mem::offset_of!(gpo_advice, order) - 16usize];
    [
        "Offset of field: gpo_advice::batch",
    ][::core::mem::offset_of!(gpo_advice, batch) - 20usize];
    [
        "Offset of field: gpo_advice::gain_low",
    ][::core::mem::offset_of!(gpo_advice, gain_low) - 24usize];
    [
        "Offset of field: gpo_advice::gain_high",
    ][::core::mem::offset_of!(gpo_advice, gain_high) - 28usize];
    [
        "Offset of field: gpo_advice::round_ns",
    ][::core::mem::offset_of!(gpo_advice, round_ns) - 32usize];
    [
        "Offset of field: gpo_advice::host_calls",
    ][::core::mem::offset_of!(gpo_advice, host_calls) - 40usize];
    [
        "Offset of field: gpo_advice::reason",
    ][::core::mem::offset_of!(gpo_advice, reason) - 48usize];
};
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_event_options {
    pub struct_size: u32,
    pub flags: u32,
    pub label: *const ::core::ffi::c_char,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gpo_event_options"][::core::mem::size_of::<gpo_event_options>() - 16usize];
    [
        "Alignment of gpo_event_options",
    ][::core::mem::align_of::<gpo_event_options>() - 8usize];
    [
        "Offset of field: gpo_event_options::struct_size",
    ][::core::mem::offset_of!(gpo_event_options, struct_size) - 0usize];
    [
        "Offset of field: gpo_event_options::flags",
    ][::core::mem::offset_of!(gpo_event_options, flags) - 4usize];
    [
        "Offset of field: gpo_event_options::label",
    ][::core::mem::offset_of!(gpo_event_options, label) - 8usize];
};
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_timeline_options {
    pub struct_size: u32,
    pub flags: u32,
    pub value: u64,
    pub label: *const ::core::ffi::c_char,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of gpo_timeline_options",
    ][::core::mem::size_of::<gpo_timeline_options>() - 24usize];
    [
        "Alignment of gpo_timeline_options",
    ][::core::mem::align_of::<gpo_timeline_options>() - 8usize];
    [
        "Offset of field: gpo_timeline_options::struct_size",
    ][::core::mem::offset_of!(gpo_timeline_options, struct_size) - 0usize];
    [
        "Offset of field: gpo_timeline_options::flags",
    ][::core::mem::offset_of!(gpo_timeline_options, flags) - 4usize];
    [
        "Offset of field: gpo_timeline_options::value",
    ][::core::mem::offset_of!(gpo_timeline_options, value) - 8usize];
    [
        "Offset of field: gpo_timeline_options::label",
    ][::core::mem::offset_of!(gpo_timeline_options, label) - 16usize];
};
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_stream_options {
    pub struct_size: u32,
    pub flags: u32,
    pub priority: i32,
    pub max_held: u32,
    pub label: *const ::core::ffi::c_char,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of gpo_stream_options",
    ][::core::mem::size_of::<gpo_stream_options>() - 24usize];
    [
        "Alignment of gpo_stream_options",
    ][::core::mem::align_of::<gpo_stream_options>() - 8usize];
    [
        "Offset of field: gpo_stream_options::struct_size",
    ][::core::mem::offset_of!(gpo_stream_options, struct_size) - 0usize];
    [
        "Offset of field: gpo_stream_options::flags",
    ][::core::mem::offset_of!(gpo_stream_options, flags) - 4usize];
    [
        "Offset of field: gpo_stream_options::priority",
    ][::core::mem::offset_of!(gpo_stream_options, priority) - 8usize];
    [
        "Offset of field: gpo_stream_options::max_held",
    ][::core::mem::offset_of!(gpo_stream_options, max_held) - 12usize];
    [
        "Offset of field: gpo_stream_options::label",
    ][::core::mem::offset_of!(gpo_stream_options, label) - 16usize];
};
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
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gpo_stream_info"][::core::mem::size_of::<gpo_stream_info>() - 64usize];
    [
        "Alignment of gpo_stream_info",
    ][::core::mem::align_of::<gpo_stream_info>() - 8usize];
    [
        "Offset of field: gpo_stream_info::struct_size",
    ][::core::mem::offset_of!(gpo_stream_info, struct_size) - 0usize];
    [
        "Offset of field: gpo_stream_info::flags",
    ][::core::mem::offset_of!(gpo_stream_info, flags) - 4usize];
    [
        "Offset of field: gpo_stream_info::priority",
    ][::core::mem::offset_of!(gpo_stream_info, priority) - 8usize];
    [
        "Offset of field: gpo_stream_info::wrapped",
    ][::core::mem::offset_of!(gpo_stream_info, wrapped) - 12usize];
    [
        "Offset of field: gpo_stream_info::accepted",
    ][::core::mem::offset_of!(gpo_stream_info, accepted) - 16usize];
    [
        "Offset of field: gpo_stream_info::completed",
    ][::core::mem::offset_of!(gpo_stream_info, completed) - 24usize];
    [
        "Offset of field: gpo_stream_info::held",
    ][::core::mem::offset_of!(gpo_stream_info, held) - 32usize];
    [
        "Offset of field: gpo_stream_info::device",
    ][::core::mem::offset_of!(gpo_stream_info, device) - 40usize];
    [
        "Offset of field: gpo_stream_info::replayed",
    ][::core::mem::offset_of!(gpo_stream_info, replayed) - 48usize];
    [
        "Offset of field: gpo_stream_info::learned",
    ][::core::mem::offset_of!(gpo_stream_info, learned) - 56usize];
    [
        "Offset of field: gpo_stream_info::reserved",
    ][::core::mem::offset_of!(gpo_stream_info, reserved) - 60usize];
};
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_stream_pool_options {
    pub struct_size: u32,
    pub flags: u32,
    pub streams: u32,
    pub priorities: u32,
    pub label: *const ::core::ffi::c_char,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of gpo_stream_pool_options",
    ][::core::mem::size_of::<gpo_stream_pool_options>() - 24usize];
    [
        "Alignment of gpo_stream_pool_options",
    ][::core::mem::align_of::<gpo_stream_pool_options>() - 8usize];
    [
        "Offset of field: gpo_stream_pool_options::struct_size",
    ][::core::mem::offset_of!(gpo_stream_pool_options, struct_size) - 0usize];
    [
        "Offset of field: gpo_stream_pool_options::flags",
    ][::core::mem::offset_of!(gpo_stream_pool_options, flags) - 4usize];
    [
        "Offset of field: gpo_stream_pool_options::streams",
    ][::core::mem::offset_of!(gpo_stream_pool_options, streams) - 8usize];
    [
        "Offset of field: gpo_stream_pool_options::priorities",
    ][::core::mem::offset_of!(gpo_stream_pool_options, priorities) - 12usize];
    [
        "Offset of field: gpo_stream_pool_options::label",
    ][::core::mem::offset_of!(gpo_stream_pool_options, label) - 16usize];
};
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
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of gpo_memory_statistics",
    ][::core::mem::size_of::<gpo_memory_statistics>() - 72usize];
    [
        "Alignment of gpo_memory_statistics",
    ][::core::mem::align_of::<gpo_memory_statistics>() - 8usize];
    [
        "Offset of field: gpo_memory_statistics::struct_size",
    ][::core::mem::offset_of!(gpo_memory_statistics, struct_size) - 0usize];
    [
        "Offset of field: gpo_memory_statistics::slabs",
    ][::core::mem::offset_of!(gpo_memory_statistics, slabs) - 4usize];
    [
        "Offset of field: gpo_memory_statistics::in_use",
    ][::core::mem::offset_of!(gpo_memory_statistics, in_use) - 8usize];
    [
        "Offset of field: gpo_memory_statistics::reserved",
    ][::core::mem::offset_of!(gpo_memory_statistics, reserved) - 16usize];
    [
        "Offset of field: gpo_memory_statistics::peak_in_use",
    ][::core::mem::offset_of!(gpo_memory_statistics, peak_in_use) - 24usize];
    [
        "Offset of field: gpo_memory_statistics::peak_reserved",
    ][::core::mem::offset_of!(gpo_memory_statistics, peak_reserved) - 32usize];
    [
        "Offset of field: gpo_memory_statistics::waiting",
    ][::core::mem::offset_of!(gpo_memory_statistics, waiting) - 40usize];
    [
        "Offset of field: gpo_memory_statistics::allocations",
    ][::core::mem::offset_of!(gpo_memory_statistics, allocations) - 48usize];
    [
        "Offset of field: gpo_memory_statistics::frees",
    ][::core::mem::offset_of!(gpo_memory_statistics, frees) - 56usize];
    [
        "Offset of field: gpo_memory_statistics::driver_calls",
    ][::core::mem::offset_of!(gpo_memory_statistics, driver_calls) - 64usize];
};
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
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gpo_arena_options"][::core::mem::size_of::<gpo_arena_options>() - 48usize];
    [
        "Alignment of gpo_arena_options",
    ][::core::mem::align_of::<gpo_arena_options>() - 8usize];
    [
        "Offset of field: gpo_arena_options::struct_size",
    ][::core::mem::offset_of!(gpo_arena_options, struct_size) - 0usize];
    [
        "Offset of field: gpo_arena_options::flags",
    ][::core::mem::offset_of!(gpo_arena_options, flags) - 4usize];
    [
        "Offset of field: gpo_arena_options::max_bytes",
    ][::core::mem::offset_of!(gpo_arena_options, max_bytes) - 8usize];
    [
        "Offset of field: gpo_arena_options::slab_bytes",
    ][::core::mem::offset_of!(gpo_arena_options, slab_bytes) - 16usize];
    [
        "Offset of field: gpo_arena_options::initial_bytes",
    ][::core::mem::offset_of!(gpo_arena_options, initial_bytes) - 24usize];
    [
        "Offset of field: gpo_arena_options::numa_node",
    ][::core::mem::offset_of!(gpo_arena_options, numa_node) - 32usize];
    [
        "Offset of field: gpo_arena_options::reserved",
    ][::core::mem::offset_of!(gpo_arena_options, reserved) - 36usize];
    [
        "Offset of field: gpo_arena_options::label",
    ][::core::mem::offset_of!(gpo_arena_options, label) - 40usize];
};
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
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gpo_memory_info"][::core::mem::size_of::<gpo_memory_info>() - 32usize];
    [
        "Alignment of gpo_memory_info",
    ][::core::mem::align_of::<gpo_memory_info>() - 8usize];
    [
        "Offset of field: gpo_memory_info::struct_size",
    ][::core::mem::offset_of!(gpo_memory_info, struct_size) - 0usize];
    [
        "Offset of field: gpo_memory_info::kind",
    ][::core::mem::offset_of!(gpo_memory_info, kind) - 4usize];
    [
        "Offset of field: gpo_memory_info::device_ordinal",
    ][::core::mem::offset_of!(gpo_memory_info, device_ordinal) - 8usize];
    [
        "Offset of field: gpo_memory_info::reserved",
    ][::core::mem::offset_of!(gpo_memory_info, reserved) - 12usize];
    [
        "Offset of field: gpo_memory_info::start",
    ][::core::mem::offset_of!(gpo_memory_info, start) - 16usize];
    [
        "Offset of field: gpo_memory_info::bytes",
    ][::core::mem::offset_of!(gpo_memory_info, bytes) - 24usize];
};
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
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gpo_pool_options"][::core::mem::size_of::<gpo_pool_options>() - 40usize];
    [
        "Alignment of gpo_pool_options",
    ][::core::mem::align_of::<gpo_pool_options>() - 8usize];
    [
        "Offset of field: gpo_pool_options::struct_size",
    ][::core::mem::offset_of!(gpo_pool_options, struct_size) - 0usize];
    [
        "Offset of field: gpo_pool_options::flags",
    ][::core::mem::offset_of!(gpo_pool_options, flags) - 4usize];
    [
        "Offset of field: gpo_pool_options::max_bytes",
    ][::core::mem::offset_of!(gpo_pool_options, max_bytes) - 8usize];
    [
        "Offset of field: gpo_pool_options::keep_bytes",
    ][::core::mem::offset_of!(gpo_pool_options, keep_bytes) - 16usize];
    [
        "Offset of field: gpo_pool_options::initial_bytes",
    ][::core::mem::offset_of!(gpo_pool_options, initial_bytes) - 24usize];
    [
        "Offset of field: gpo_pool_options::label",
    ][::core::mem::offset_of!(gpo_pool_options, label) - 32usize];
};
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_copy {
    pub struct_size: u32,
    pub flags: u32,
    pub destination: u64,
    pub source: u64,
    pub bytes: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gpo_copy"][::core::mem::size_of::<gpo_copy>() - 32usize];
    ["Alignment of gpo_copy"][::core::mem::align_of::<gpo_copy>() - 8usize];
    [
        "Offset of field: gpo_copy::struct_size",
    ][::core::mem::offset_of!(gpo_copy, struct_size) - 0usize];
    [
        "Offset of field: gpo_copy::flags",
    ][::core::mem::offset_of!(gpo_copy, flags) - 4usize];
    [
        "Offset of field: gpo_copy::destination",
    ][::core::mem::offset_of!(gpo_copy, destination) - 8usize];
    [
        "Offset of field: gpo_copy::source",
    ][::core::mem::offset_of!(gpo_copy, source) - 16usize];
    [
        "Offset of field: gpo_copy::bytes",
    ][::core::mem::offset_of!(gpo_copy, bytes) - 24usize];
};
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
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gpo_copy_2d"][::core::mem::size_of::<gpo_copy_2d>() - 56usize];
    ["Alignment of gpo_copy_2d"][::core::mem::align_of::<gpo_copy_2d>() - 8usize];
    [
        "Offset of field: gpo_copy_2d::struct_size",
    ][::core::mem::offset_of!(gpo_copy_2d, struct_size) - 0usize];
    [
        "Offset of field: gpo_copy_2d::flags",
    ][::core::mem::offset_of!(gpo_copy_2d, flags) - 4usize];
    [
        "Offset of field: gpo_copy_2d::destination",
    ][::core::mem::offset_of!(gpo_copy_2d, destination) - 8usize];
    [
        "Offset of field: gpo_copy_2d::destination_pitch",
    ][::core::mem::offset_of!(gpo_copy_2d, destination_pitch) - 16usize];
    [
        "Offset of field: gpo_copy_2d::source",
    ][::core::mem::offset_of!(gpo_copy_2d, source) - 24usize];
    [
        "Offset of field: gpo_copy_2d::source_pitch",
    ][::core::mem::offset_of!(gpo_copy_2d, source_pitch) - 32usize];
    [
        "Offset of field: gpo_copy_2d::width",
    ][::core::mem::offset_of!(gpo_copy_2d, width) - 40usize];
    [
        "Offset of field: gpo_copy_2d::height",
    ][::core::mem::offset_of!(gpo_copy_2d, height) - 48usize];
};
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
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of gpo_compile_options",
    ][::core::mem::size_of::<gpo_compile_options>() - 88usize];
    [
        "Alignment of gpo_compile_options",
    ][::core::mem::align_of::<gpo_compile_options>() - 8usize];
    [
        "Offset of field: gpo_compile_options::struct_size",
    ][::core::mem::offset_of!(gpo_compile_options, struct_size) - 0usize];
    [
        "Offset of field: gpo_compile_options::flags",
    ][::core::mem::offset_of!(gpo_compile_options, flags) - 4usize];
    [
        "Offset of field: gpo_compile_options::source",
    ][::core::mem::offset_of!(gpo_compile_options, source) - 8usize];
    [
        "Offset of field: gpo_compile_options::source_bytes",
    ][::core::mem::offset_of!(gpo_compile_options, source_bytes) - 16usize];
    [
        "Offset of field: gpo_compile_options::file_name",
    ][::core::mem::offset_of!(gpo_compile_options, file_name) - 24usize];
    [
        "Offset of field: gpo_compile_options::options",
    ][::core::mem::offset_of!(gpo_compile_options, options) - 32usize];
    [
        "Offset of field: gpo_compile_options::option_count",
    ][::core::mem::offset_of!(gpo_compile_options, option_count) - 40usize];
    [
        "Offset of field: gpo_compile_options::name_expression_count",
    ][::core::mem::offset_of!(gpo_compile_options, name_expression_count) - 44usize];
    [
        "Offset of field: gpo_compile_options::name_expressions",
    ][::core::mem::offset_of!(gpo_compile_options, name_expressions) - 48usize];
    [
        "Offset of field: gpo_compile_options::header_names",
    ][::core::mem::offset_of!(gpo_compile_options, header_names) - 56usize];
    [
        "Offset of field: gpo_compile_options::header_texts",
    ][::core::mem::offset_of!(gpo_compile_options, header_texts) - 64usize];
    [
        "Offset of field: gpo_compile_options::header_count",
    ][::core::mem::offset_of!(gpo_compile_options, header_count) - 72usize];
    [
        "Offset of field: gpo_compile_options::reserved",
    ][::core::mem::offset_of!(gpo_compile_options, reserved) - 76usize];
    [
        "Offset of field: gpo_compile_options::label",
    ][::core::mem::offset_of!(gpo_compile_options, label) - 80usize];
};
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
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of gpo_kernel_attributes",
    ][::core::mem::size_of::<gpo_kernel_attributes>() - 64usize];
    [
        "Alignment of gpo_kernel_attributes",
    ][::core::mem::align_of::<gpo_kernel_attributes>() - 8usize];
    [
        "Offset of field: gpo_kernel_attributes::struct_size",
    ][::core::mem::offset_of!(gpo_kernel_attributes, struct_size) - 0usize];
    [
        "Offset of field: gpo_kernel_attributes::max_threads_per_block",
    ][::core::mem::offset_of!(gpo_kernel_attributes, max_threads_per_block) - 4usize];
    [
        "Offset of field: gpo_kernel_attributes::registers_per_thread",
    ][::core::mem::offset_of!(gpo_kernel_attributes, registers_per_thread) - 8usize];
    [
        "Offset of field: gpo_kernel_attributes::parameter_count",
    ][::core::mem::offset_of!(gpo_kernel_attributes, parameter_count) - 12usize];
    [
        "Offset of field: gpo_kernel_attributes::static_shared_bytes",
    ][::core::mem::offset_of!(gpo_kernel_attributes, static_shared_bytes) - 16usize];
    [
        "Offset of field: gpo_kernel_attributes::constant_bytes",
    ][::core::mem::offset_of!(gpo_kernel_attributes, constant_bytes) - 24usize];
    [
        "Offset of field: gpo_kernel_attributes::local_bytes_per_thread",
    ][::core::mem::offset_of!(gpo_kernel_attributes, local_bytes_per_thread) - 32usize];
    [
        "Offset of field: gpo_kernel_attributes::parameter_bytes",
    ][::core::mem::offset_of!(gpo_kernel_attributes, parameter_bytes) - 40usize];
    [
        "Offset of field: gpo_kernel_attributes::max_dynamic_shared_bytes",
    ][::core::mem::offset_of!(gpo_kernel_attributes, max_dynamic_shared_bytes)
        - 48usize];
    [
        "Offset of field: gpo_kernel_attributes::ptx_version",
    ][::core::mem::offset_of!(gpo_kernel_attributes, ptx_version) - 56usize];
    [
        "Offset of field: gpo_kernel_attributes::binary_version",
    ][::core::mem::offset_of!(gpo_kernel_attributes, binary_version) - 60usize];
};
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
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gpo_launch"][::core::mem::size_of::<gpo_launch>() - 64usize];
    ["Alignment of gpo_launch"][::core::mem::align_of::<gpo_launch>() - 8usize];
    [
        "Offset of field: gpo_launch::struct_size",
    ][::core::mem::offset_of!(gpo_launch, struct_size) - 0usize];
    [
        "Offset of field: gpo_launch::flags",
    ][::core::mem::offset_of!(gpo_launch, flags) - 4usize];
    [
        "Offset of field: gpo_launch::grid",
    ][::core::mem::offset_of!(gpo_launch, grid) - 8usize];
    [
        "Offset of field: gpo_launch::block",
    ][::core::mem::offset_of!(gpo_launch, block) - 20usize];
    [
        "Offset of field: gpo_launch::cluster",
    ][::core::mem::offset_of!(gpo_launch, cluster) - 32usize];
    [
        "Offset of field: gpo_launch::priority",
    ][::core::mem::offset_of!(gpo_launch, priority) - 44usize];
    [
        "Offset of field: gpo_launch::dynamic_shared_bytes",
    ][::core::mem::offset_of!(gpo_launch, dynamic_shared_bytes) - 48usize];
    [
        "Offset of field: gpo_launch::label",
    ][::core::mem::offset_of!(gpo_launch, label) - 56usize];
};
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_template_options {
    pub struct_size: u32,
    pub flags: u32,
    pub max_instances: u32,
    pub reserved: u32,
    pub label: *const ::core::ffi::c_char,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of gpo_template_options",
    ][::core::mem::size_of::<gpo_template_options>() - 24usize];
    [
        "Alignment of gpo_template_options",
    ][::core::mem::align_of::<gpo_template_options>() - 8usize];
    [
        "Offset of field: gpo_template_options::struct_size",
    ][::core::mem::offset_of!(gpo_template_options, struct_size) - 0usize];
    [
        "Offset of field: gpo_template_options::flags",
    ][::core::mem::offset_of!(gpo_template_options, flags) - 4usize];
    [
        "Offset of field: gpo_template_options::max_instances",
    ][::core::mem::offset_of!(gpo_template_options, max_instances) - 8usize];
    [
        "Offset of field: gpo_template_options::reserved",
    ][::core::mem::offset_of!(gpo_template_options, reserved) - 12usize];
    [
        "Offset of field: gpo_template_options::label",
    ][::core::mem::offset_of!(gpo_template_options, label) - 16usize];
};
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
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gpo_condition"][::core::mem::size_of::<gpo_condition>() - 32usize];
    ["Alignment of gpo_condition"][::core::mem::align_of::<gpo_condition>() - 8usize];
    [
        "Offset of field: gpo_condition::struct_size",
    ][::core::mem::offset_of!(gpo_condition, struct_size) - 0usize];
    [
        "Offset of field: gpo_condition::comparison",
    ][::core::mem::offset_of!(gpo_condition, comparison) - 4usize];
    [
        "Offset of field: gpo_condition::word",
    ][::core::mem::offset_of!(gpo_condition, word) - 8usize];
    [
        "Offset of field: gpo_condition::constant",
    ][::core::mem::offset_of!(gpo_condition, constant) - 16usize];
    [
        "Offset of field: gpo_condition::initial",
    ][::core::mem::offset_of!(gpo_condition, initial) - 20usize];
    [
        "Offset of field: gpo_condition::max_iterations",
    ][::core::mem::offset_of!(gpo_condition, max_iterations) - 24usize];
};
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
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of gpo_template_statistics",
    ][::core::mem::size_of::<gpo_template_statistics>() - 608usize];
    [
        "Alignment of gpo_template_statistics",
    ][::core::mem::align_of::<gpo_template_statistics>() - 8usize];
    [
        "Offset of field: gpo_template_statistics::struct_size",
    ][::core::mem::offset_of!(gpo_template_statistics, struct_size) - 0usize];
    [
        "Offset of field: gpo_template_statistics::nodes",
    ][::core::mem::offset_of!(gpo_template_statistics, nodes) - 4usize];
    [
        "Offset of field: gpo_template_statistics::parameters",
    ][::core::mem::offset_of!(gpo_template_statistics, parameters) - 8usize];
    [
        "Offset of field: gpo_template_statistics::instances",
    ][::core::mem::offset_of!(gpo_template_statistics, instances) - 12usize];
    [
        "Offset of field: gpo_template_statistics::pooled",
    ][::core::mem::offset_of!(gpo_template_statistics, pooled) - 16usize];
    [
        "Offset of field: gpo_template_statistics::recordings",
    ][::core::mem::offset_of!(gpo_template_statistics, recordings) - 20usize];
    [
        "Offset of field: gpo_template_statistics::launches",
    ][::core::mem::offset_of!(gpo_template_statistics, launches) - 24usize];
    [
        "Offset of field: gpo_template_statistics::patches",
    ][::core::mem::offset_of!(gpo_template_statistics, patches) - 32usize];
    [
        "Offset of field: gpo_template_statistics::updates",
    ][::core::mem::offset_of!(gpo_template_statistics, updates) - 40usize];
    [
        "Offset of field: gpo_template_statistics::rebuilds",
    ][::core::mem::offset_of!(gpo_template_statistics, rebuilds) - 48usize];
    [
        "Offset of field: gpo_template_statistics::instance_bytes",
    ][::core::mem::offset_of!(gpo_template_statistics, instance_bytes) - 56usize];
    [
        "Offset of field: gpo_template_statistics::waiting_frees",
    ][::core::mem::offset_of!(gpo_template_statistics, waiting_frees) - 64usize];
    [
        "Offset of field: gpo_template_statistics::last_rebuild",
    ][::core::mem::offset_of!(gpo_template_statistics, last_rebuild) - 72usize];
    [
        "Offset of field: gpo_template_statistics::held_words",
    ][::core::mem::offset_of!(gpo_template_statistics, held_words) - 328usize];
    [
        "Offset of field: gpo_template_statistics::waiting_for_words",
    ][::core::mem::offset_of!(gpo_template_statistics, waiting_for_words) - 336usize];
    [
        "Offset of field: gpo_template_statistics::dropped",
    ][::core::mem::offset_of!(gpo_template_statistics, dropped) - 344usize];
    [
        "Offset of field: gpo_template_statistics::last_dropped",
    ][::core::mem::offset_of!(gpo_template_statistics, last_dropped) - 352usize];
};
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_graph_options {
    pub struct_size: u32,
    pub flags: u32,
    pub label: *const ::core::ffi::c_char,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gpo_graph_options"][::core::mem::size_of::<gpo_graph_options>() - 16usize];
    [
        "Alignment of gpo_graph_options",
    ][::core::mem::align_of::<gpo_graph_options>() - 8usize];
    [
        "Offset of field: gpo_graph_options::struct_size",
    ][::core::mem::offset_of!(gpo_graph_options, struct_size) - 0usize];
    [
        "Offset of field: gpo_graph_options::flags",
    ][::core::mem::offset_of!(gpo_graph_options, flags) - 4usize];
    [
        "Offset of field: gpo_graph_options::label",
    ][::core::mem::offset_of!(gpo_graph_options, label) - 8usize];
};
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_setting {
    pub struct_size: u32,
    pub parameter: u32,
    pub name: *const ::core::ffi::c_char,
    pub value: *const ::core::ffi::c_void,
    pub bytes: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gpo_setting"][::core::mem::size_of::<gpo_setting>() - 32usize];
    ["Alignment of gpo_setting"][::core::mem::align_of::<gpo_setting>() - 8usize];
    [
        "Offset of field: gpo_setting::struct_size",
    ][::core::mem::offset_of!(gpo_setting, struct_size) - 0usize];
    [
        "Offset of field: gpo_setting::parameter",
    ][::core::mem::offset_of!(gpo_setting, parameter) - 4usize];
    [
        "Offset of field: gpo_setting::name",
    ][::core::mem::offset_of!(gpo_setting, name) - 8usize];
    [
        "Offset of field: gpo_setting::value",
    ][::core::mem::offset_of!(gpo_setting, value) - 16usize];
    [
        "Offset of field: gpo_setting::bytes",
    ][::core::mem::offset_of!(gpo_setting, bytes) - 24usize];
};
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
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of gpo_graph_update_report",
    ][::core::mem::size_of::<gpo_graph_update_report>() - 596usize];
    [
        "Alignment of gpo_graph_update_report",
    ][::core::mem::align_of::<gpo_graph_update_report>() - 4usize];
    [
        "Offset of field: gpo_graph_update_report::struct_size",
    ][::core::mem::offset_of!(gpo_graph_update_report, struct_size) - 0usize];
    [
        "Offset of field: gpo_graph_update_report::rebuilt",
    ][::core::mem::offset_of!(gpo_graph_update_report, rebuilt) - 4usize];
    [
        "Offset of field: gpo_graph_update_report::node",
    ][::core::mem::offset_of!(gpo_graph_update_report, node) - 8usize];
    [
        "Offset of field: gpo_graph_update_report::reserved",
    ][::core::mem::offset_of!(gpo_graph_update_report, reserved) - 12usize];
    [
        "Offset of field: gpo_graph_update_report::reason",
    ][::core::mem::offset_of!(gpo_graph_update_report, reason) - 16usize];
    [
        "Offset of field: gpo_graph_update_report::dropped",
    ][::core::mem::offset_of!(gpo_graph_update_report, dropped) - 272usize];
    [
        "Offset of field: gpo_graph_update_report::dropped_parameter",
    ][::core::mem::offset_of!(gpo_graph_update_report, dropped_parameter) - 276usize];
    [
        "Offset of field: gpo_graph_update_report::dropped_reason",
    ][::core::mem::offset_of!(gpo_graph_update_report, dropped_reason) - 340usize];
};
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
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gpo_bucket_work"][::core::mem::size_of::<gpo_bucket_work>() - 64usize];
    [
        "Alignment of gpo_bucket_work",
    ][::core::mem::align_of::<gpo_bucket_work>() - 8usize];
    [
        "Offset of field: gpo_bucket_work::struct_size",
    ][::core::mem::offset_of!(gpo_bucket_work, struct_size) - 0usize];
    [
        "Offset of field: gpo_bucket_work::reserved",
    ][::core::mem::offset_of!(gpo_bucket_work, reserved) - 4usize];
    [
        "Offset of field: gpo_bucket_work::size",
    ][::core::mem::offset_of!(gpo_bucket_work, size) - 8usize];
    [
        "Offset of field: gpo_bucket_work::shape",
    ][::core::mem::offset_of!(gpo_bucket_work, shape) - 16usize];
    [
        "Offset of field: gpo_bucket_work::graph_template",
    ][::core::mem::offset_of!(gpo_bucket_work, graph_template) - 24usize];
    [
        "Offset of field: gpo_bucket_work::settings",
    ][::core::mem::offset_of!(gpo_bucket_work, settings) - 32usize];
    [
        "Offset of field: gpo_bucket_work::setting_stride",
    ][::core::mem::offset_of!(gpo_bucket_work, setting_stride) - 40usize];
    [
        "Offset of field: gpo_bucket_work::setting_count",
    ][::core::mem::offset_of!(gpo_bucket_work, setting_count) - 48usize];
    [
        "Offset of field: gpo_bucket_work::phase",
    ][::core::mem::offset_of!(gpo_bucket_work, phase) - 56usize];
    [
        "Offset of field: gpo_bucket_work::reserved2",
    ][::core::mem::offset_of!(gpo_bucket_work, reserved2) - 60usize];
};
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
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gpo_memory_range"][::core::mem::size_of::<gpo_memory_range>() - 24usize];
    [
        "Alignment of gpo_memory_range",
    ][::core::mem::align_of::<gpo_memory_range>() - 8usize];
    [
        "Offset of field: gpo_memory_range::struct_size",
    ][::core::mem::offset_of!(gpo_memory_range, struct_size) - 0usize];
    [
        "Offset of field: gpo_memory_range::reserved",
    ][::core::mem::offset_of!(gpo_memory_range, reserved) - 4usize];
    [
        "Offset of field: gpo_memory_range::address",
    ][::core::mem::offset_of!(gpo_memory_range, address) - 8usize];
    [
        "Offset of field: gpo_memory_range::bytes",
    ][::core::mem::offset_of!(gpo_memory_range, bytes) - 16usize];
};
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
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of gpo_buckets_options",
    ][::core::mem::size_of::<gpo_buckets_options>() - 112usize];
    [
        "Alignment of gpo_buckets_options",
    ][::core::mem::align_of::<gpo_buckets_options>() - 8usize];
    [
        "Offset of field: gpo_buckets_options::struct_size",
    ][::core::mem::offset_of!(gpo_buckets_options, struct_size) - 0usize];
    [
        "Offset of field: gpo_buckets_options::flags",
    ][::core::mem::offset_of!(gpo_buckets_options, flags) - 4usize];
    [
        "Offset of field: gpo_buckets_options::shapes",
    ][::core::mem::offset_of!(gpo_buckets_options, shapes) - 8usize];
    [
        "Offset of field: gpo_buckets_options::shape_count",
    ][::core::mem::offset_of!(gpo_buckets_options, shape_count) - 16usize];
    [
        "Offset of field: gpo_buckets_options::max_bytes",
    ][::core::mem::offset_of!(gpo_buckets_options, max_bytes) - 24usize];
    [
        "Offset of field: gpo_buckets_options::max_buckets",
    ][::core::mem::offset_of!(gpo_buckets_options, max_buckets) - 32usize];
    [
        "Offset of field: gpo_buckets_options::streams",
    ][::core::mem::offset_of!(gpo_buckets_options, streams) - 36usize];
    [
        "Offset of field: gpo_buckets_options::record",
    ][::core::mem::offset_of!(gpo_buckets_options, record) - 40usize];
    [
        "Offset of field: gpo_buckets_options::pad",
    ][::core::mem::offset_of!(gpo_buckets_options, pad) - 48usize];
    [
        "Offset of field: gpo_buckets_options::user",
    ][::core::mem::offset_of!(gpo_buckets_options, user) - 56usize];
    [
        "Offset of field: gpo_buckets_options::pad_address",
    ][::core::mem::offset_of!(gpo_buckets_options, pad_address) - 64usize];
    [
        "Offset of field: gpo_buckets_options::pad_element_bytes",
    ][::core::mem::offset_of!(gpo_buckets_options, pad_element_bytes) - 72usize];
    [
        "Offset of field: gpo_buckets_options::label",
    ][::core::mem::offset_of!(gpo_buckets_options, label) - 80usize];
    [
        "Offset of field: gpo_buckets_options::restored",
    ][::core::mem::offset_of!(gpo_buckets_options, restored) - 88usize];
    [
        "Offset of field: gpo_buckets_options::restored_stride",
    ][::core::mem::offset_of!(gpo_buckets_options, restored_stride) - 96usize];
    [
        "Offset of field: gpo_buckets_options::restored_count",
    ][::core::mem::offset_of!(gpo_buckets_options, restored_count) - 104usize];
};
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
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of gpo_buckets_statistics",
    ][::core::mem::size_of::<gpo_buckets_statistics>() - 336usize];
    [
        "Alignment of gpo_buckets_statistics",
    ][::core::mem::align_of::<gpo_buckets_statistics>() - 8usize];
    [
        "Offset of field: gpo_buckets_statistics::struct_size",
    ][::core::mem::offset_of!(gpo_buckets_statistics, struct_size) - 0usize];
    [
        "Offset of field: gpo_buckets_statistics::buckets",
    ][::core::mem::offset_of!(gpo_buckets_statistics, buckets) - 4usize];
    [
        "Offset of field: gpo_buckets_statistics::bytes",
    ][::core::mem::offset_of!(gpo_buckets_statistics, bytes) - 8usize];
    [
        "Offset of field: gpo_buckets_statistics::hits",
    ][::core::mem::offset_of!(gpo_buckets_statistics, hits) - 16usize];
    [
        "Offset of field: gpo_buckets_statistics::misses",
    ][::core::mem::offset_of!(gpo_buckets_statistics, misses) - 24usize];
    [
        "Offset of field: gpo_buckets_statistics::eager",
    ][::core::mem::offset_of!(gpo_buckets_statistics, eager) - 32usize];
    [
        "Offset of field: gpo_buckets_statistics::evictions",
    ][::core::mem::offset_of!(gpo_buckets_statistics, evictions) - 40usize];
    [
        "Offset of field: gpo_buckets_statistics::requested",
    ][::core::mem::offset_of!(gpo_buckets_statistics, requested) - 48usize];
    [
        "Offset of field: gpo_buckets_statistics::padded",
    ][::core::mem::offset_of!(gpo_buckets_statistics, padded) - 56usize];
    [
        "Offset of field: gpo_buckets_statistics::failures",
    ][::core::mem::offset_of!(gpo_buckets_statistics, failures) - 64usize];
    [
        "Offset of field: gpo_buckets_statistics::fallbacks",
    ][::core::mem::offset_of!(gpo_buckets_statistics, fallbacks) - 72usize];
    [
        "Offset of field: gpo_buckets_statistics::last_failure",
    ][::core::mem::offset_of!(gpo_buckets_statistics, last_failure) - 80usize];
};
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_cq_options {
    pub struct_size: u32,
    pub flags: u32,
    pub capacity: u32,
    pub reserved: u32,
    pub label: *const ::core::ffi::c_char,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gpo_cq_options"][::core::mem::size_of::<gpo_cq_options>() - 24usize];
    ["Alignment of gpo_cq_options"][::core::mem::align_of::<gpo_cq_options>() - 8usize];
    [
        "Offset of field: gpo_cq_options::struct_size",
    ][::core::mem::offset_of!(gpo_cq_options, struct_size) - 0usize];
    [
        "Offset of field: gpo_cq_options::flags",
    ][::core::mem::offset_of!(gpo_cq_options, flags) - 4usize];
    [
        "Offset of field: gpo_cq_options::capacity",
    ][::core::mem::offset_of!(gpo_cq_options, capacity) - 8usize];
    [
        "Offset of field: gpo_cq_options::reserved",
    ][::core::mem::offset_of!(gpo_cq_options, reserved) - 12usize];
    [
        "Offset of field: gpo_cq_options::label",
    ][::core::mem::offset_of!(gpo_cq_options, label) - 16usize];
};
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
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gpo_completion"][::core::mem::size_of::<gpo_completion>() - 64usize];
    ["Alignment of gpo_completion"][::core::mem::align_of::<gpo_completion>() - 8usize];
    [
        "Offset of field: gpo_completion::struct_size",
    ][::core::mem::offset_of!(gpo_completion, struct_size) - 0usize];
    [
        "Offset of field: gpo_completion::status",
    ][::core::mem::offset_of!(gpo_completion, status) - 4usize];
    [
        "Offset of field: gpo_completion::user_data",
    ][::core::mem::offset_of!(gpo_completion, user_data) - 8usize];
    [
        "Offset of field: gpo_completion::origin",
    ][::core::mem::offset_of!(gpo_completion, origin) - 16usize];
    [
        "Offset of field: gpo_completion::reserved",
    ][::core::mem::offset_of!(gpo_completion, reserved) - 20usize];
    [
        "Offset of field: gpo_completion::operation",
    ][::core::mem::offset_of!(gpo_completion, operation) - 24usize];
    [
        "Offset of field: gpo_completion::submitted_ns",
    ][::core::mem::offset_of!(gpo_completion, submitted_ns) - 32usize];
    [
        "Offset of field: gpo_completion::completed_ns",
    ][::core::mem::offset_of!(gpo_completion, completed_ns) - 40usize];
    [
        "Offset of field: gpo_completion::gpu_ns",
    ][::core::mem::offset_of!(gpo_completion, gpu_ns) - 48usize];
    [
        "Offset of field: gpo_completion::error_id",
    ][::core::mem::offset_of!(gpo_completion, error_id) - 56usize];
};
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
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gpo_cq_statistics"][::core::mem::size_of::<gpo_cq_statistics>() - 40usize];
    [
        "Alignment of gpo_cq_statistics",
    ][::core::mem::align_of::<gpo_cq_statistics>() - 8usize];
    [
        "Offset of field: gpo_cq_statistics::struct_size",
    ][::core::mem::offset_of!(gpo_cq_statistics, struct_size) - 0usize];
    [
        "Offset of field: gpo_cq_statistics::capacity",
    ][::core::mem::offset_of!(gpo_cq_statistics, capacity) - 4usize];
    [
        "Offset of field: gpo_cq_statistics::accepted",
    ][::core::mem::offset_of!(gpo_cq_statistics, accepted) - 8usize];
    [
        "Offset of field: gpo_cq_statistics::delivered",
    ][::core::mem::offset_of!(gpo_cq_statistics, delivered) - 16usize];
    [
        "Offset of field: gpo_cq_statistics::drained",
    ][::core::mem::offset_of!(gpo_cq_statistics, drained) - 24usize];
    [
        "Offset of field: gpo_cq_statistics::refused",
    ][::core::mem::offset_of!(gpo_cq_statistics, refused) - 32usize];
};
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_executor_options {
    pub struct_size: u32,
    pub flags: u32,
    pub threads: u32,
    pub capacity: u32,
    pub label: *const ::core::ffi::c_char,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of gpo_executor_options",
    ][::core::mem::size_of::<gpo_executor_options>() - 24usize];
    [
        "Alignment of gpo_executor_options",
    ][::core::mem::align_of::<gpo_executor_options>() - 8usize];
    [
        "Offset of field: gpo_executor_options::struct_size",
    ][::core::mem::offset_of!(gpo_executor_options, struct_size) - 0usize];
    [
        "Offset of field: gpo_executor_options::flags",
    ][::core::mem::offset_of!(gpo_executor_options, flags) - 4usize];
    [
        "Offset of field: gpo_executor_options::threads",
    ][::core::mem::offset_of!(gpo_executor_options, threads) - 8usize];
    [
        "Offset of field: gpo_executor_options::capacity",
    ][::core::mem::offset_of!(gpo_executor_options, capacity) - 12usize];
    [
        "Offset of field: gpo_executor_options::label",
    ][::core::mem::offset_of!(gpo_executor_options, label) - 16usize];
};
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
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of gpo_executor_statistics",
    ][::core::mem::size_of::<gpo_executor_statistics>() - 56usize];
    [
        "Alignment of gpo_executor_statistics",
    ][::core::mem::align_of::<gpo_executor_statistics>() - 8usize];
    [
        "Offset of field: gpo_executor_statistics::struct_size",
    ][::core::mem::offset_of!(gpo_executor_statistics, struct_size) - 0usize];
    [
        "Offset of field: gpo_executor_statistics::threads",
    ][::core::mem::offset_of!(gpo_executor_statistics, threads) - 4usize];
    [
        "Offset of field: gpo_executor_statistics::accepted",
    ][::core::mem::offset_of!(gpo_executor_statistics, accepted) - 8usize];
    [
        "Offset of field: gpo_executor_statistics::called",
    ][::core::mem::offset_of!(gpo_executor_statistics, called) - 16usize];
    [
        "Offset of field: gpo_executor_statistics::cancelled",
    ][::core::mem::offset_of!(gpo_executor_statistics, cancelled) - 24usize];
    [
        "Offset of field: gpo_executor_statistics::threw",
    ][::core::mem::offset_of!(gpo_executor_statistics, threw) - 32usize];
    [
        "Offset of field: gpo_executor_statistics::refused",
    ][::core::mem::offset_of!(gpo_executor_statistics, refused) - 40usize];
    [
        "Offset of field: gpo_executor_statistics::pending",
    ][::core::mem::offset_of!(gpo_executor_statistics, pending) - 48usize];
};
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
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gpo_host_call"][::core::mem::size_of::<gpo_host_call>() - 24usize];
    ["Alignment of gpo_host_call"][::core::mem::align_of::<gpo_host_call>() - 8usize];
    [
        "Offset of field: gpo_host_call::struct_size",
    ][::core::mem::offset_of!(gpo_host_call, struct_size) - 0usize];
    [
        "Offset of field: gpo_host_call::status",
    ][::core::mem::offset_of!(gpo_host_call, status) - 4usize];
    [
        "Offset of field: gpo_host_call::call",
    ][::core::mem::offset_of!(gpo_host_call, call) - 8usize];
    [
        "Offset of field: gpo_host_call::error",
    ][::core::mem::offset_of!(gpo_host_call, error) - 16usize];
};
pub type gpo_host_fn = ::core::option::Option<
    unsafe extern "C" fn(
        user: *mut ::core::ffi::c_void,
        call: *const gpo_host_call,
    ) -> gpo_status,
>;
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
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gpo_metrics"][::core::mem::size_of::<gpo_metrics>() - 1176usize];
    ["Alignment of gpo_metrics"][::core::mem::align_of::<gpo_metrics>() - 8usize];
    [
        "Offset of field: gpo_metrics::struct_size",
    ][::core::mem::offset_of!(gpo_metrics, struct_size) - 0usize];
    [
        "Offset of field: gpo_metrics::devices",
    ][::core::mem::offset_of!(gpo_metrics, devices) - 4usize];
    [
        "Offset of field: gpo_metrics::streams",
    ][::core::mem::offset_of!(gpo_metrics, streams) - 8usize];
    [
        "Offset of field: gpo_metrics::operations_pending",
    ][::core::mem::offset_of!(gpo_metrics, operations_pending) - 16usize];
    [
        "Offset of field: gpo_metrics::operations_held",
    ][::core::mem::offset_of!(gpo_metrics, operations_held) - 24usize];
    [
        "Offset of field: gpo_metrics::completions_pending",
    ][::core::mem::offset_of!(gpo_metrics, completions_pending) - 32usize];
    [
        "Offset of field: gpo_metrics::notifies_refused",
    ][::core::mem::offset_of!(gpo_metrics, notifies_refused) - 40usize];
    [
        "Offset of field: gpo_metrics::arena_in_use",
    ][::core::mem::offset_of!(gpo_metrics, arena_in_use) - 48usize];
    [
        "Offset of field: gpo_metrics::arena_reserved",
    ][::core::mem::offset_of!(gpo_metrics, arena_reserved) - 56usize];
    [
        "Offset of field: gpo_metrics::arena_peak",
    ][::core::mem::offset_of!(gpo_metrics, arena_peak) - 64usize];
    [
        "Offset of field: gpo_metrics::pool_in_use",
    ][::core::mem::offset_of!(gpo_metrics, pool_in_use) - 72usize];
    [
        "Offset of field: gpo_metrics::pool_reserved",
    ][::core::mem::offset_of!(gpo_metrics, pool_reserved) - 80usize];
    [
        "Offset of field: gpo_metrics::pool_peak",
    ][::core::mem::offset_of!(gpo_metrics, pool_peak) - 88usize];
    [
        "Offset of field: gpo_metrics::latency_count",
    ][::core::mem::offset_of!(gpo_metrics, latency_count) - 96usize];
    [
        "Offset of field: gpo_metrics::latency_sum",
    ][::core::mem::offset_of!(gpo_metrics, latency_sum) - 104usize];
    [
        "Offset of field: gpo_metrics::latencies",
    ][::core::mem::offset_of!(gpo_metrics, latencies) - 112usize];
    [
        "Offset of field: gpo_metrics::errors",
    ][::core::mem::offset_of!(gpo_metrics, errors) - 368usize];
    [
        "Offset of field: gpo_metrics::executors",
    ][::core::mem::offset_of!(gpo_metrics, executors) - 1136usize];
    [
        "Offset of field: gpo_metrics::executor_threads",
    ][::core::mem::offset_of!(gpo_metrics, executor_threads) - 1144usize];
    [
        "Offset of field: gpo_metrics::callbacks",
    ][::core::mem::offset_of!(gpo_metrics, callbacks) - 1152usize];
    [
        "Offset of field: gpo_metrics::callbacks_pending",
    ][::core::mem::offset_of!(gpo_metrics, callbacks_pending) - 1160usize];
    [
        "Offset of field: gpo_metrics::pipeline_pinned",
    ][::core::mem::offset_of!(gpo_metrics, pipeline_pinned) - 1168usize];
};
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
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of gpo_device_metrics",
    ][::core::mem::size_of::<gpo_device_metrics>() - 256usize];
    [
        "Alignment of gpo_device_metrics",
    ][::core::mem::align_of::<gpo_device_metrics>() - 8usize];
    [
        "Offset of field: gpo_device_metrics::struct_size",
    ][::core::mem::offset_of!(gpo_device_metrics, struct_size) - 0usize];
    [
        "Offset of field: gpo_device_metrics::reserved",
    ][::core::mem::offset_of!(gpo_device_metrics, reserved) - 4usize];
    [
        "Offset of field: gpo_device_metrics::memory_total",
    ][::core::mem::offset_of!(gpo_device_metrics, memory_total) - 8usize];
    [
        "Offset of field: gpo_device_metrics::memory_used",
    ][::core::mem::offset_of!(gpo_device_metrics, memory_used) - 16usize];
    [
        "Offset of field: gpo_device_metrics::utilization",
    ][::core::mem::offset_of!(gpo_device_metrics, utilization) - 24usize];
    [
        "Offset of field: gpo_device_metrics::memory_utilization",
    ][::core::mem::offset_of!(gpo_device_metrics, memory_utilization) - 32usize];
    [
        "Offset of field: gpo_device_metrics::power",
    ][::core::mem::offset_of!(gpo_device_metrics, power) - 40usize];
    [
        "Offset of field: gpo_device_metrics::energy",
    ][::core::mem::offset_of!(gpo_device_metrics, energy) - 48usize];
    [
        "Offset of field: gpo_device_metrics::temperature",
    ][::core::mem::offset_of!(gpo_device_metrics, temperature) - 56usize];
    [
        "Offset of field: gpo_device_metrics::sm_clock",
    ][::core::mem::offset_of!(gpo_device_metrics, sm_clock) - 64usize];
    [
        "Offset of field: gpo_device_metrics::memory_clock",
    ][::core::mem::offset_of!(gpo_device_metrics, memory_clock) - 72usize];
    [
        "Offset of field: gpo_device_metrics::pcie_sent",
    ][::core::mem::offset_of!(gpo_device_metrics, pcie_sent) - 80usize];
    [
        "Offset of field: gpo_device_metrics::pcie_received",
    ][::core::mem::offset_of!(gpo_device_metrics, pcie_received) - 88usize];
    [
        "Offset of field: gpo_device_metrics::reason",
    ][::core::mem::offset_of!(gpo_device_metrics, reason) - 96usize];
};
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_peers_options {
    pub struct_size: u32,
    pub flags: u32,
    pub engine: u32,
    pub reserved: u32,
    pub label: *const ::core::ffi::c_char,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gpo_peers_options"][::core::mem::size_of::<gpo_peers_options>() - 24usize];
    [
        "Alignment of gpo_peers_options",
    ][::core::mem::align_of::<gpo_peers_options>() - 8usize];
    [
        "Offset of field: gpo_peers_options::struct_size",
    ][::core::mem::offset_of!(gpo_peers_options, struct_size) - 0usize];
    [
        "Offset of field: gpo_peers_options::flags",
    ][::core::mem::offset_of!(gpo_peers_options, flags) - 4usize];
    [
        "Offset of field: gpo_peers_options::engine",
    ][::core::mem::offset_of!(gpo_peers_options, engine) - 8usize];
    [
        "Offset of field: gpo_peers_options::reserved",
    ][::core::mem::offset_of!(gpo_peers_options, reserved) - 12usize];
    [
        "Offset of field: gpo_peers_options::label",
    ][::core::mem::offset_of!(gpo_peers_options, label) - 16usize];
};
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
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gpo_peers_info"][::core::mem::size_of::<gpo_peers_info>() - 64usize];
    ["Alignment of gpo_peers_info"][::core::mem::align_of::<gpo_peers_info>() - 8usize];
    [
        "Offset of field: gpo_peers_info::struct_size",
    ][::core::mem::offset_of!(gpo_peers_info, struct_size) - 0usize];
    [
        "Offset of field: gpo_peers_info::ranks",
    ][::core::mem::offset_of!(gpo_peers_info, ranks) - 4usize];
    [
        "Offset of field: gpo_peers_info::direct",
    ][::core::mem::offset_of!(gpo_peers_info, direct) - 8usize];
    [
        "Offset of field: gpo_peers_info::native_atomics",
    ][::core::mem::offset_of!(gpo_peers_info, native_atomics) - 12usize];
    [
        "Offset of field: gpo_peers_info::nccl_version",
    ][::core::mem::offset_of!(gpo_peers_info, nccl_version) - 16usize];
    [
        "Offset of field: gpo_peers_info::rank",
    ][::core::mem::offset_of!(gpo_peers_info, rank) - 20usize];
    [
        "Offset of field: gpo_peers_info::local_ranks",
    ][::core::mem::offset_of!(gpo_peers_info, local_ranks) - 24usize];
    [
        "Offset of field: gpo_peers_info::reserved",
    ][::core::mem::offset_of!(gpo_peers_info, reserved) - 28usize];
    [
        "Offset of field: gpo_peers_info::collectives",
    ][::core::mem::offset_of!(gpo_peers_info, collectives) - 32usize];
    [
        "Offset of field: gpo_peers_info::direct_collectives",
    ][::core::mem::offset_of!(gpo_peers_info, direct_collectives) - 40usize];
    [
        "Offset of field: gpo_peers_info::bytes",
    ][::core::mem::offset_of!(gpo_peers_info, bytes) - 48usize];
    [
        "Offset of field: gpo_peers_info::mpi_device",
    ][::core::mem::offset_of!(gpo_peers_info, mpi_device) - 56usize];
    [
        "Offset of field: gpo_peers_info::reserved1",
    ][::core::mem::offset_of!(gpo_peers_info, reserved1) - 60usize];
};
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
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gpo_join_options"][::core::mem::size_of::<gpo_join_options>() - 64usize];
    [
        "Alignment of gpo_join_options",
    ][::core::mem::align_of::<gpo_join_options>() - 8usize];
    [
        "Offset of field: gpo_join_options::struct_size",
    ][::core::mem::offset_of!(gpo_join_options, struct_size) - 0usize];
    [
        "Offset of field: gpo_join_options::flags",
    ][::core::mem::offset_of!(gpo_join_options, flags) - 4usize];
    [
        "Offset of field: gpo_join_options::by",
    ][::core::mem::offset_of!(gpo_join_options, by) - 8usize];
    [
        "Offset of field: gpo_join_options::engine",
    ][::core::mem::offset_of!(gpo_join_options, engine) - 12usize];
    [
        "Offset of field: gpo_join_options::rank",
    ][::core::mem::offset_of!(gpo_join_options, rank) - 16usize];
    [
        "Offset of field: gpo_join_options::ranks",
    ][::core::mem::offset_of!(gpo_join_options, ranks) - 20usize];
    [
        "Offset of field: gpo_join_options::timeout_ns",
    ][::core::mem::offset_of!(gpo_join_options, timeout_ns) - 24usize];
    [
        "Offset of field: gpo_join_options::path",
    ][::core::mem::offset_of!(gpo_join_options, path) - 32usize];
    [
        "Offset of field: gpo_join_options::id",
    ][::core::mem::offset_of!(gpo_join_options, id) - 40usize];
    [
        "Offset of field: gpo_join_options::communicator",
    ][::core::mem::offset_of!(gpo_join_options, communicator) - 48usize];
    [
        "Offset of field: gpo_join_options::label",
    ][::core::mem::offset_of!(gpo_join_options, label) - 56usize];
};
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
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gpo_collective"][::core::mem::size_of::<gpo_collective>() - 40usize];
    ["Alignment of gpo_collective"][::core::mem::align_of::<gpo_collective>() - 8usize];
    [
        "Offset of field: gpo_collective::struct_size",
    ][::core::mem::offset_of!(gpo_collective, struct_size) - 0usize];
    [
        "Offset of field: gpo_collective::kind",
    ][::core::mem::offset_of!(gpo_collective, kind) - 4usize];
    [
        "Offset of field: gpo_collective::type_",
    ][::core::mem::offset_of!(gpo_collective, type_) - 8usize];
    [
        "Offset of field: gpo_collective::reduction",
    ][::core::mem::offset_of!(gpo_collective, reduction) - 12usize];
    [
        "Offset of field: gpo_collective::root",
    ][::core::mem::offset_of!(gpo_collective, root) - 16usize];
    [
        "Offset of field: gpo_collective::flags",
    ][::core::mem::offset_of!(gpo_collective, flags) - 20usize];
    [
        "Offset of field: gpo_collective::count",
    ][::core::mem::offset_of!(gpo_collective, count) - 24usize];
    [
        "Offset of field: gpo_collective::label",
    ][::core::mem::offset_of!(gpo_collective, label) - 32usize];
};
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
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gpo_rank_part"][::core::mem::size_of::<gpo_rank_part>() - 40usize];
    ["Alignment of gpo_rank_part"][::core::mem::align_of::<gpo_rank_part>() - 8usize];
    [
        "Offset of field: gpo_rank_part::struct_size",
    ][::core::mem::offset_of!(gpo_rank_part, struct_size) - 0usize];
    [
        "Offset of field: gpo_rank_part::reserved",
    ][::core::mem::offset_of!(gpo_rank_part, reserved) - 4usize];
    [
        "Offset of field: gpo_rank_part::stream",
    ][::core::mem::offset_of!(gpo_rank_part, stream) - 8usize];
    [
        "Offset of field: gpo_rank_part::send",
    ][::core::mem::offset_of!(gpo_rank_part, send) - 16usize];
    [
        "Offset of field: gpo_rank_part::receive",
    ][::core::mem::offset_of!(gpo_rank_part, receive) - 24usize];
    [
        "Offset of field: gpo_rank_part::send_to",
    ][::core::mem::offset_of!(gpo_rank_part, send_to) - 32usize];
    [
        "Offset of field: gpo_rank_part::receive_from",
    ][::core::mem::offset_of!(gpo_rank_part, receive_from) - 36usize];
};
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
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gpo_chunk"][::core::mem::size_of::<gpo_chunk>() - 104usize];
    ["Alignment of gpo_chunk"][::core::mem::align_of::<gpo_chunk>() - 8usize];
    [
        "Offset of field: gpo_chunk::struct_size",
    ][::core::mem::offset_of!(gpo_chunk, struct_size) - 0usize];
    [
        "Offset of field: gpo_chunk::slot",
    ][::core::mem::offset_of!(gpo_chunk, slot) - 4usize];
    [
        "Offset of field: gpo_chunk::index",
    ][::core::mem::offset_of!(gpo_chunk, index) - 8usize];
    [
        "Offset of field: gpo_chunk::offset",
    ][::core::mem::offset_of!(gpo_chunk, offset) - 16usize];
    [
        "Offset of field: gpo_chunk::bytes",
    ][::core::mem::offset_of!(gpo_chunk, bytes) - 24usize];
    [
        "Offset of field: gpo_chunk::output_offset",
    ][::core::mem::offset_of!(gpo_chunk, output_offset) - 32usize];
    [
        "Offset of field: gpo_chunk::output_bytes",
    ][::core::mem::offset_of!(gpo_chunk, output_bytes) - 40usize];
    [
        "Offset of field: gpo_chunk::input_address",
    ][::core::mem::offset_of!(gpo_chunk, input_address) - 48usize];
    [
        "Offset of field: gpo_chunk::output_address",
    ][::core::mem::offset_of!(gpo_chunk, output_address) - 56usize];
    [
        "Offset of field: gpo_chunk::scratch_address",
    ][::core::mem::offset_of!(gpo_chunk, scratch_address) - 64usize];
    [
        "Offset of field: gpo_chunk::result_address",
    ][::core::mem::offset_of!(gpo_chunk, result_address) - 72usize];
    [
        "Offset of field: gpo_chunk::output",
    ][::core::mem::offset_of!(gpo_chunk, output) - 80usize];
    [
        "Offset of field: gpo_chunk::result",
    ][::core::mem::offset_of!(gpo_chunk, result) - 88usize];
    [
        "Offset of field: gpo_chunk::device",
    ][::core::mem::offset_of!(gpo_chunk, device) - 96usize];
    [
        "Offset of field: gpo_chunk::reserved",
    ][::core::mem::offset_of!(gpo_chunk, reserved) - 100usize];
};
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
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gpo_source"][::core::mem::size_of::<gpo_source>() - 64usize];
    ["Alignment of gpo_source"][::core::mem::align_of::<gpo_source>() - 8usize];
    [
        "Offset of field: gpo_source::struct_size",
    ][::core::mem::offset_of!(gpo_source, struct_size) - 0usize];
    [
        "Offset of field: gpo_source::kind",
    ][::core::mem::offset_of!(gpo_source, kind) - 4usize];
    [
        "Offset of field: gpo_source::memory",
    ][::core::mem::offset_of!(gpo_source, memory) - 8usize];
    [
        "Offset of field: gpo_source::bytes",
    ][::core::mem::offset_of!(gpo_source, bytes) - 16usize];
    [
        "Offset of field: gpo_source::path",
    ][::core::mem::offset_of!(gpo_source, path) - 24usize];
    [
        "Offset of field: gpo_source::offset",
    ][::core::mem::offset_of!(gpo_source, offset) - 32usize];
    [
        "Offset of field: gpo_source::fill",
    ][::core::mem::offset_of!(gpo_source, fill) - 40usize];
    [
        "Offset of field: gpo_source::user",
    ][::core::mem::offset_of!(gpo_source, user) - 48usize];
    [
        "Offset of field: gpo_source::descriptor",
    ][::core::mem::offset_of!(gpo_source, descriptor) - 56usize];
    [
        "Offset of field: gpo_source::flags",
    ][::core::mem::offset_of!(gpo_source, flags) - 60usize];
};
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_stage_argument {
    pub struct_size: u32,
    pub kind: u32,
    pub value: *const ::core::ffi::c_void,
    pub bytes: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of gpo_stage_argument",
    ][::core::mem::size_of::<gpo_stage_argument>() - 24usize];
    [
        "Alignment of gpo_stage_argument",
    ][::core::mem::align_of::<gpo_stage_argument>() - 8usize];
    [
        "Offset of field: gpo_stage_argument::struct_size",
    ][::core::mem::offset_of!(gpo_stage_argument, struct_size) - 0usize];
    [
        "Offset of field: gpo_stage_argument::kind",
    ][::core::mem::offset_of!(gpo_stage_argument, kind) - 4usize];
    [
        "Offset of field: gpo_stage_argument::value",
    ][::core::mem::offset_of!(gpo_stage_argument, value) - 8usize];
    [
        "Offset of field: gpo_stage_argument::bytes",
    ][::core::mem::offset_of!(gpo_stage_argument, bytes) - 16usize];
};
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
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gpo_stage"][::core::mem::size_of::<gpo_stage>() - 112usize];
    ["Alignment of gpo_stage"][::core::mem::align_of::<gpo_stage>() - 8usize];
    [
        "Offset of field: gpo_stage::struct_size",
    ][::core::mem::offset_of!(gpo_stage, struct_size) - 0usize];
    [
        "Offset of field: gpo_stage::kind",
    ][::core::mem::offset_of!(gpo_stage, kind) - 4usize];
    [
        "Offset of field: gpo_stage::kernel",
    ][::core::mem::offset_of!(gpo_stage, kernel) - 8usize];
    [
        "Offset of field: gpo_stage::block",
    ][::core::mem::offset_of!(gpo_stage, block) - 16usize];
    [
        "Offset of field: gpo_stage::grid",
    ][::core::mem::offset_of!(gpo_stage, grid) - 28usize];
    [
        "Offset of field: gpo_stage::bytes_per_block",
    ][::core::mem::offset_of!(gpo_stage, bytes_per_block) - 40usize];
    [
        "Offset of field: gpo_stage::dynamic_shared_bytes",
    ][::core::mem::offset_of!(gpo_stage, dynamic_shared_bytes) - 48usize];
    [
        "Offset of field: gpo_stage::arguments",
    ][::core::mem::offset_of!(gpo_stage, arguments) - 56usize];
    [
        "Offset of field: gpo_stage::argument_stride",
    ][::core::mem::offset_of!(gpo_stage, argument_stride) - 64usize];
    [
        "Offset of field: gpo_stage::argument_count",
    ][::core::mem::offset_of!(gpo_stage, argument_count) - 72usize];
    [
        "Offset of field: gpo_stage::max_blocks",
    ][::core::mem::offset_of!(gpo_stage, max_blocks) - 76usize];
    [
        "Offset of field: gpo_stage::enqueue",
    ][::core::mem::offset_of!(gpo_stage, enqueue) - 80usize];
    [
        "Offset of field: gpo_stage::user",
    ][::core::mem::offset_of!(gpo_stage, user) - 88usize];
    [
        "Offset of field: gpo_stage::label",
    ][::core::mem::offset_of!(gpo_stage, label) - 96usize];
    [
        "Offset of field: gpo_stage::kernels",
    ][::core::mem::offset_of!(gpo_stage, kernels) - 104usize];
};
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
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gpo_sink"][::core::mem::size_of::<gpo_sink>() - 56usize];
    ["Alignment of gpo_sink"][::core::mem::align_of::<gpo_sink>() - 8usize];
    [
        "Offset of field: gpo_sink::struct_size",
    ][::core::mem::offset_of!(gpo_sink, struct_size) - 0usize];
    [
        "Offset of field: gpo_sink::kind",
    ][::core::mem::offset_of!(gpo_sink, kind) - 4usize];
    [
        "Offset of field: gpo_sink::memory",
    ][::core::mem::offset_of!(gpo_sink, memory) - 8usize];
    [
        "Offset of field: gpo_sink::bytes",
    ][::core::mem::offset_of!(gpo_sink, bytes) - 16usize];
    [
        "Offset of field: gpo_sink::path",
    ][::core::mem::offset_of!(gpo_sink, path) - 24usize];
    [
        "Offset of field: gpo_sink::take",
    ][::core::mem::offset_of!(gpo_sink, take) - 32usize];
    [
        "Offset of field: gpo_sink::user",
    ][::core::mem::offset_of!(gpo_sink, user) - 40usize];
    [
        "Offset of field: gpo_sink::descriptor",
    ][::core::mem::offset_of!(gpo_sink, descriptor) - 48usize];
    [
        "Offset of field: gpo_sink::flags",
    ][::core::mem::offset_of!(gpo_sink, flags) - 52usize];
};
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
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of gpo_pipeline_progress",
    ][::core::mem::size_of::<gpo_pipeline_progress>() - 48usize];
    [
        "Alignment of gpo_pipeline_progress",
    ][::core::mem::align_of::<gpo_pipeline_progress>() - 8usize];
    [
        "Offset of field: gpo_pipeline_progress::struct_size",
    ][::core::mem::offset_of!(gpo_pipeline_progress, struct_size) - 0usize];
    [
        "Offset of field: gpo_pipeline_progress::running",
    ][::core::mem::offset_of!(gpo_pipeline_progress, running) - 4usize];
    [
        "Offset of field: gpo_pipeline_progress::bytes_in",
    ][::core::mem::offset_of!(gpo_pipeline_progress, bytes_in) - 8usize];
    [
        "Offset of field: gpo_pipeline_progress::bytes_done",
    ][::core::mem::offset_of!(gpo_pipeline_progress, bytes_done) - 16usize];
    [
        "Offset of field: gpo_pipeline_progress::bytes_total",
    ][::core::mem::offset_of!(gpo_pipeline_progress, bytes_total) - 24usize];
    [
        "Offset of field: gpo_pipeline_progress::chunks_done",
    ][::core::mem::offset_of!(gpo_pipeline_progress, chunks_done) - 32usize];
    [
        "Offset of field: gpo_pipeline_progress::elapsed_ns",
    ][::core::mem::offset_of!(gpo_pipeline_progress, elapsed_ns) - 40usize];
};
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
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of gpo_pipeline_options",
    ][::core::mem::size_of::<gpo_pipeline_options>() - 136usize];
    [
        "Alignment of gpo_pipeline_options",
    ][::core::mem::align_of::<gpo_pipeline_options>() - 8usize];
    [
        "Offset of field: gpo_pipeline_options::struct_size",
    ][::core::mem::offset_of!(gpo_pipeline_options, struct_size) - 0usize];
    [
        "Offset of field: gpo_pipeline_options::flags",
    ][::core::mem::offset_of!(gpo_pipeline_options, flags) - 4usize];
    [
        "Offset of field: gpo_pipeline_options::chunk_bytes",
    ][::core::mem::offset_of!(gpo_pipeline_options, chunk_bytes) - 8usize];
    [
        "Offset of field: gpo_pipeline_options::granule",
    ][::core::mem::offset_of!(gpo_pipeline_options, granule) - 16usize];
    [
        "Offset of field: gpo_pipeline_options::slots",
    ][::core::mem::offset_of!(gpo_pipeline_options, slots) - 24usize];
    [
        "Offset of field: gpo_pipeline_options::output_numerator",
    ][::core::mem::offset_of!(gpo_pipeline_options, output_numerator) - 28usize];
    [
        "Offset of field: gpo_pipeline_options::output_denominator",
    ][::core::mem::offset_of!(gpo_pipeline_options, output_denominator) - 32usize];
    [
        "Offset of field: gpo_pipeline_options::stage_count",
    ][::core::mem::offset_of!(gpo_pipeline_options, stage_count) - 36usize];
    [
        "Offset of field: gpo_pipeline_options::stages",
    ][::core::mem::offset_of!(gpo_pipeline_options, stages) - 40usize];
    [
        "Offset of field: gpo_pipeline_options::stage_stride",
    ][::core::mem::offset_of!(gpo_pipeline_options, stage_stride) - 48usize];
    [
        "Offset of field: gpo_pipeline_options::scratch_bytes",
    ][::core::mem::offset_of!(gpo_pipeline_options, scratch_bytes) - 56usize];
    [
        "Offset of field: gpo_pipeline_options::result_bytes",
    ][::core::mem::offset_of!(gpo_pipeline_options, result_bytes) - 64usize];
    [
        "Offset of field: gpo_pipeline_options::max_pinned_bytes",
    ][::core::mem::offset_of!(gpo_pipeline_options, max_pinned_bytes) - 72usize];
    [
        "Offset of field: gpo_pipeline_options::progress",
    ][::core::mem::offset_of!(gpo_pipeline_options, progress) - 80usize];
    [
        "Offset of field: gpo_pipeline_options::progress_user",
    ][::core::mem::offset_of!(gpo_pipeline_options, progress_user) - 88usize];
    [
        "Offset of field: gpo_pipeline_options::progress_ns",
    ][::core::mem::offset_of!(gpo_pipeline_options, progress_ns) - 96usize];
    [
        "Offset of field: gpo_pipeline_options::label",
    ][::core::mem::offset_of!(gpo_pipeline_options, label) - 104usize];
    [
        "Offset of field: gpo_pipeline_options::executor",
    ][::core::mem::offset_of!(gpo_pipeline_options, executor) - 112usize];
    [
        "Offset of field: gpo_pipeline_options::devices",
    ][::core::mem::offset_of!(gpo_pipeline_options, devices) - 120usize];
    [
        "Offset of field: gpo_pipeline_options::device_count",
    ][::core::mem::offset_of!(gpo_pipeline_options, device_count) - 128usize];
    [
        "Offset of field: gpo_pipeline_options::reserved",
    ][::core::mem::offset_of!(gpo_pipeline_options, reserved) - 132usize];
};
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
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of gpo_pipeline_result",
    ][::core::mem::size_of::<gpo_pipeline_result>() - 96usize];
    [
        "Alignment of gpo_pipeline_result",
    ][::core::mem::align_of::<gpo_pipeline_result>() - 8usize];
    [
        "Offset of field: gpo_pipeline_result::struct_size",
    ][::core::mem::offset_of!(gpo_pipeline_result, struct_size) - 0usize];
    [
        "Offset of field: gpo_pipeline_result::status",
    ][::core::mem::offset_of!(gpo_pipeline_result, status) - 4usize];
    [
        "Offset of field: gpo_pipeline_result::bytes_in",
    ][::core::mem::offset_of!(gpo_pipeline_result, bytes_in) - 8usize];
    [
        "Offset of field: gpo_pipeline_result::bytes_out",
    ][::core::mem::offset_of!(gpo_pipeline_result, bytes_out) - 16usize];
    [
        "Offset of field: gpo_pipeline_result::chunks",
    ][::core::mem::offset_of!(gpo_pipeline_result, chunks) - 24usize];
    [
        "Offset of field: gpo_pipeline_result::elapsed_ns",
    ][::core::mem::offset_of!(gpo_pipeline_result, elapsed_ns) - 32usize];
    [
        "Offset of field: gpo_pipeline_result::chunk_bytes",
    ][::core::mem::offset_of!(gpo_pipeline_result, chunk_bytes) - 40usize];
    [
        "Offset of field: gpo_pipeline_result::slots",
    ][::core::mem::offset_of!(gpo_pipeline_result, slots) - 48usize];
    [
        "Offset of field: gpo_pipeline_result::tuned",
    ][::core::mem::offset_of!(gpo_pipeline_result, tuned) - 52usize];
    [
        "Offset of field: gpo_pipeline_result::copy_in_ns",
    ][::core::mem::offset_of!(gpo_pipeline_result, copy_in_ns) - 56usize];
    [
        "Offset of field: gpo_pipeline_result::copy_out_ns",
    ][::core::mem::offset_of!(gpo_pipeline_result, copy_out_ns) - 64usize];
    [
        "Offset of field: gpo_pipeline_result::kernel_ns",
    ][::core::mem::offset_of!(gpo_pipeline_result, kernel_ns) - 72usize];
    [
        "Offset of field: gpo_pipeline_result::copy_hidden_ns",
    ][::core::mem::offset_of!(gpo_pipeline_result, copy_hidden_ns) - 80usize];
    [
        "Offset of field: gpo_pipeline_result::staged_bytes",
    ][::core::mem::offset_of!(gpo_pipeline_result, staged_bytes) - 88usize];
};
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
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of gpo_pipeline_share",
    ][::core::mem::size_of::<gpo_pipeline_share>() - 56usize];
    [
        "Alignment of gpo_pipeline_share",
    ][::core::mem::align_of::<gpo_pipeline_share>() - 8usize];
    [
        "Offset of field: gpo_pipeline_share::struct_size",
    ][::core::mem::offset_of!(gpo_pipeline_share, struct_size) - 0usize];
    [
        "Offset of field: gpo_pipeline_share::reserved",
    ][::core::mem::offset_of!(gpo_pipeline_share, reserved) - 4usize];
    [
        "Offset of field: gpo_pipeline_share::chunks",
    ][::core::mem::offset_of!(gpo_pipeline_share, chunks) - 8usize];
    [
        "Offset of field: gpo_pipeline_share::bytes_in",
    ][::core::mem::offset_of!(gpo_pipeline_share, bytes_in) - 16usize];
    [
        "Offset of field: gpo_pipeline_share::copy_in_ns",
    ][::core::mem::offset_of!(gpo_pipeline_share, copy_in_ns) - 24usize];
    [
        "Offset of field: gpo_pipeline_share::copy_out_ns",
    ][::core::mem::offset_of!(gpo_pipeline_share, copy_out_ns) - 32usize];
    [
        "Offset of field: gpo_pipeline_share::kernel_ns",
    ][::core::mem::offset_of!(gpo_pipeline_share, kernel_ns) - 40usize];
    [
        "Offset of field: gpo_pipeline_share::copy_hidden_ns",
    ][::core::mem::offset_of!(gpo_pipeline_share, copy_hidden_ns) - 48usize];
};
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
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gpo_queue_options"][::core::mem::size_of::<gpo_queue_options>() - 64usize];
    [
        "Alignment of gpo_queue_options",
    ][::core::mem::align_of::<gpo_queue_options>() - 8usize];
    [
        "Offset of field: gpo_queue_options::struct_size",
    ][::core::mem::offset_of!(gpo_queue_options, struct_size) - 0usize];
    [
        "Offset of field: gpo_queue_options::kind",
    ][::core::mem::offset_of!(gpo_queue_options, kind) - 4usize];
    [
        "Offset of field: gpo_queue_options::flags",
    ][::core::mem::offset_of!(gpo_queue_options, flags) - 8usize];
    [
        "Offset of field: gpo_queue_options::batch",
    ][::core::mem::offset_of!(gpo_queue_options, batch) - 12usize];
    [
        "Offset of field: gpo_queue_options::count",
    ][::core::mem::offset_of!(gpo_queue_options, count) - 16usize];
    [
        "Offset of field: gpo_queue_options::capacity",
    ][::core::mem::offset_of!(gpo_queue_options, capacity) - 24usize];
    [
        "Offset of field: gpo_queue_options::task_size",
    ][::core::mem::offset_of!(gpo_queue_options, task_size) - 32usize];
    [
        "Offset of field: gpo_queue_options::priorities",
    ][::core::mem::offset_of!(gpo_queue_options, priorities) - 36usize];
    [
        "Offset of field: gpo_queue_options::answer_size",
    ][::core::mem::offset_of!(gpo_queue_options, answer_size) - 40usize];
    [
        "Offset of field: gpo_queue_options::tenants",
    ][::core::mem::offset_of!(gpo_queue_options, tenants) - 44usize];
    [
        "Offset of field: gpo_queue_options::stream",
    ][::core::mem::offset_of!(gpo_queue_options, stream) - 48usize];
    [
        "Offset of field: gpo_queue_options::label",
    ][::core::mem::offset_of!(gpo_queue_options, label) - 56usize];
};
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_tenant_options {
    pub struct_size: u32,
    pub reserved: u32,
    pub limit: u64,
    pub completions: gpo_cq_t,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of gpo_tenant_options",
    ][::core::mem::size_of::<gpo_tenant_options>() - 24usize];
    [
        "Alignment of gpo_tenant_options",
    ][::core::mem::align_of::<gpo_tenant_options>() - 8usize];
    [
        "Offset of field: gpo_tenant_options::struct_size",
    ][::core::mem::offset_of!(gpo_tenant_options, struct_size) - 0usize];
    [
        "Offset of field: gpo_tenant_options::reserved",
    ][::core::mem::offset_of!(gpo_tenant_options, reserved) - 4usize];
    [
        "Offset of field: gpo_tenant_options::limit",
    ][::core::mem::offset_of!(gpo_tenant_options, limit) - 8usize];
    [
        "Offset of field: gpo_tenant_options::completions",
    ][::core::mem::offset_of!(gpo_tenant_options, completions) - 16usize];
};
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_answer {
    pub struct_size: u32,
    pub status: gpo_status,
    pub user_data: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gpo_answer"][::core::mem::size_of::<gpo_answer>() - 16usize];
    ["Alignment of gpo_answer"][::core::mem::align_of::<gpo_answer>() - 8usize];
    [
        "Offset of field: gpo_answer::struct_size",
    ][::core::mem::offset_of!(gpo_answer, struct_size) - 0usize];
    [
        "Offset of field: gpo_answer::status",
    ][::core::mem::offset_of!(gpo_answer, status) - 4usize];
    [
        "Offset of field: gpo_answer::user_data",
    ][::core::mem::offset_of!(gpo_answer, user_data) - 8usize];
};
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
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gpo_queue_info"][::core::mem::size_of::<gpo_queue_info>() - 112usize];
    ["Alignment of gpo_queue_info"][::core::mem::align_of::<gpo_queue_info>() - 8usize];
    [
        "Offset of field: gpo_queue_info::struct_size",
    ][::core::mem::offset_of!(gpo_queue_info, struct_size) - 0usize];
    [
        "Offset of field: gpo_queue_info::kind",
    ][::core::mem::offset_of!(gpo_queue_info, kind) - 4usize];
    [
        "Offset of field: gpo_queue_info::state",
    ][::core::mem::offset_of!(gpo_queue_info, state) - 8usize];
    [
        "Offset of field: gpo_queue_info::task_size",
    ][::core::mem::offset_of!(gpo_queue_info, task_size) - 12usize];
    [
        "Offset of field: gpo_queue_info::capacity",
    ][::core::mem::offset_of!(gpo_queue_info, capacity) - 16usize];
    [
        "Offset of field: gpo_queue_info::depth",
    ][::core::mem::offset_of!(gpo_queue_info, depth) - 24usize];
    [
        "Offset of field: gpo_queue_info::pushed",
    ][::core::mem::offset_of!(gpo_queue_info, pushed) - 32usize];
    [
        "Offset of field: gpo_queue_info::popped",
    ][::core::mem::offset_of!(gpo_queue_info, popped) - 40usize];
    [
        "Offset of field: gpo_queue_info::done",
    ][::core::mem::offset_of!(gpo_queue_info, done) - 48usize];
    [
        "Offset of field: gpo_queue_info::refused",
    ][::core::mem::offset_of!(gpo_queue_info, refused) - 56usize];
    [
        "Offset of field: gpo_queue_info::device_bytes",
    ][::core::mem::offset_of!(gpo_queue_info, device_bytes) - 64usize];
    [
        "Offset of field: gpo_queue_info::pinned_bytes",
    ][::core::mem::offset_of!(gpo_queue_info, pinned_bytes) - 72usize];
    [
        "Offset of field: gpo_queue_info::posted",
    ][::core::mem::offset_of!(gpo_queue_info, posted) - 80usize];
    [
        "Offset of field: gpo_queue_info::answered",
    ][::core::mem::offset_of!(gpo_queue_info, answered) - 88usize];
    [
        "Offset of field: gpo_queue_info::unanswered",
    ][::core::mem::offset_of!(gpo_queue_info, unanswered) - 96usize];
    [
        "Offset of field: gpo_queue_info::answer_size",
    ][::core::mem::offset_of!(gpo_queue_info, answer_size) - 104usize];
    [
        "Offset of field: gpo_queue_info::tenants",
    ][::core::mem::offset_of!(gpo_queue_info, tenants) - 108usize];
};
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_handler {
    pub struct_size: u32,
    pub graph_count: u32,
    pub name: *const ::core::ffi::c_char,
    pub graphs: *const gpo_graph_t,
    pub task_memory: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gpo_handler"][::core::mem::size_of::<gpo_handler>() - 32usize];
    ["Alignment of gpo_handler"][::core::mem::align_of::<gpo_handler>() - 8usize];
    [
        "Offset of field: gpo_handler::struct_size",
    ][::core::mem::offset_of!(gpo_handler, struct_size) - 0usize];
    [
        "Offset of field: gpo_handler::graph_count",
    ][::core::mem::offset_of!(gpo_handler, graph_count) - 4usize];
    [
        "Offset of field: gpo_handler::name",
    ][::core::mem::offset_of!(gpo_handler, name) - 8usize];
    [
        "Offset of field: gpo_handler::graphs",
    ][::core::mem::offset_of!(gpo_handler, graphs) - 16usize];
    [
        "Offset of field: gpo_handler::task_memory",
    ][::core::mem::offset_of!(gpo_handler, task_memory) - 24usize];
};
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
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of gpo_scheduler_options",
    ][::core::mem::size_of::<gpo_scheduler_options>() - 120usize];
    [
        "Alignment of gpo_scheduler_options",
    ][::core::mem::align_of::<gpo_scheduler_options>() - 8usize];
    [
        "Offset of field: gpo_scheduler_options::struct_size",
    ][::core::mem::offset_of!(gpo_scheduler_options, struct_size) - 0usize];
    [
        "Offset of field: gpo_scheduler_options::form",
    ][::core::mem::offset_of!(gpo_scheduler_options, form) - 4usize];
    [
        "Offset of field: gpo_scheduler_options::queue",
    ][::core::mem::offset_of!(gpo_scheduler_options, queue) - 8usize];
    [
        "Offset of field: gpo_scheduler_options::source",
    ][::core::mem::offset_of!(gpo_scheduler_options, source) - 16usize];
    [
        "Offset of field: gpo_scheduler_options::source_bytes",
    ][::core::mem::offset_of!(gpo_scheduler_options, source_bytes) - 24usize];
    [
        "Offset of field: gpo_scheduler_options::file_name",
    ][::core::mem::offset_of!(gpo_scheduler_options, file_name) - 32usize];
    [
        "Offset of field: gpo_scheduler_options::compile_options",
    ][::core::mem::offset_of!(gpo_scheduler_options, compile_options) - 40usize];
    [
        "Offset of field: gpo_scheduler_options::compile_option_count",
    ][::core::mem::offset_of!(gpo_scheduler_options, compile_option_count) - 48usize];
    [
        "Offset of field: gpo_scheduler_options::workers",
    ][::core::mem::offset_of!(gpo_scheduler_options, workers) - 52usize];
    [
        "Offset of field: gpo_scheduler_options::threads",
    ][::core::mem::offset_of!(gpo_scheduler_options, threads) - 56usize];
    [
        "Offset of field: gpo_scheduler_options::blocks_per_multiprocessor",
    ][::core::mem::offset_of!(gpo_scheduler_options, blocks_per_multiprocessor)
        - 60usize];
    [
        "Offset of field: gpo_scheduler_options::multiprocessors",
    ][::core::mem::offset_of!(gpo_scheduler_options, multiprocessors) - 64usize];
    [
        "Offset of field: gpo_scheduler_options::leave_free",
    ][::core::mem::offset_of!(gpo_scheduler_options, leave_free) - 68usize];
    [
        "Offset of field: gpo_scheduler_options::batch",
    ][::core::mem::offset_of!(gpo_scheduler_options, batch) - 72usize];
    [
        "Offset of field: gpo_scheduler_options::max_errors",
    ][::core::mem::offset_of!(gpo_scheduler_options, max_errors) - 76usize];
    [
        "Offset of field: gpo_scheduler_options::argument",
    ][::core::mem::offset_of!(gpo_scheduler_options, argument) - 80usize];
    [
        "Offset of field: gpo_scheduler_options::dynamic_shared_bytes",
    ][::core::mem::offset_of!(gpo_scheduler_options, dynamic_shared_bytes) - 88usize];
    [
        "Offset of field: gpo_scheduler_options::idle_timeout_ns",
    ][::core::mem::offset_of!(gpo_scheduler_options, idle_timeout_ns) - 96usize];
    [
        "Offset of field: gpo_scheduler_options::sample_interval_ns",
    ][::core::mem::offset_of!(gpo_scheduler_options, sample_interval_ns) - 104usize];
    [
        "Offset of field: gpo_scheduler_options::label",
    ][::core::mem::offset_of!(gpo_scheduler_options, label) - 112usize];
};
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
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of gpo_scheduler_info",
    ][::core::mem::size_of::<gpo_scheduler_info>() - 112usize];
    [
        "Alignment of gpo_scheduler_info",
    ][::core::mem::align_of::<gpo_scheduler_info>() - 8usize];
    [
        "Offset of field: gpo_scheduler_info::struct_size",
    ][::core::mem::offset_of!(gpo_scheduler_info, struct_size) - 0usize];
    [
        "Offset of field: gpo_scheduler_info::form",
    ][::core::mem::offset_of!(gpo_scheduler_info, form) - 4usize];
    [
        "Offset of field: gpo_scheduler_info::state",
    ][::core::mem::offset_of!(gpo_scheduler_info, state) - 8usize];
    [
        "Offset of field: gpo_scheduler_info::last_end",
    ][::core::mem::offset_of!(gpo_scheduler_info, last_end) - 12usize];
    [
        "Offset of field: gpo_scheduler_info::runs",
    ][::core::mem::offset_of!(gpo_scheduler_info, runs) - 16usize];
    [
        "Offset of field: gpo_scheduler_info::tasks",
    ][::core::mem::offset_of!(gpo_scheduler_info, tasks) - 24usize];
    [
        "Offset of field: gpo_scheduler_info::errors",
    ][::core::mem::offset_of!(gpo_scheduler_info, errors) - 32usize];
    [
        "Offset of field: gpo_scheduler_info::refused_pushes",
    ][::core::mem::offset_of!(gpo_scheduler_info, refused_pushes) - 40usize];
    [
        "Offset of field: gpo_scheduler_info::depth",
    ][::core::mem::offset_of!(gpo_scheduler_info, depth) - 48usize];
    [
        "Offset of field: gpo_scheduler_info::steps",
    ][::core::mem::offset_of!(gpo_scheduler_info, steps) - 56usize];
    [
        "Offset of field: gpo_scheduler_info::empty_polls",
    ][::core::mem::offset_of!(gpo_scheduler_info, empty_polls) - 64usize];
    [
        "Offset of field: gpo_scheduler_info::busy_ns",
    ][::core::mem::offset_of!(gpo_scheduler_info, busy_ns) - 72usize];
    [
        "Offset of field: gpo_scheduler_info::worker_ns",
    ][::core::mem::offset_of!(gpo_scheduler_info, worker_ns) - 80usize];
    [
        "Offset of field: gpo_scheduler_info::multiprocessors",
    ][::core::mem::offset_of!(gpo_scheduler_info, multiprocessors) - 88usize];
    [
        "Offset of field: gpo_scheduler_info::blocks",
    ][::core::mem::offset_of!(gpo_scheduler_info, blocks) - 92usize];
    [
        "Offset of field: gpo_scheduler_info::workers",
    ][::core::mem::offset_of!(gpo_scheduler_info, workers) - 96usize];
    [
        "Offset of field: gpo_scheduler_info::handlers",
    ][::core::mem::offset_of!(gpo_scheduler_info, handlers) - 100usize];
    [
        "Offset of field: gpo_scheduler_info::device_bytes",
    ][::core::mem::offset_of!(gpo_scheduler_info, device_bytes) - 104usize];
};
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_handler_info {
    pub struct_size: u32,
    pub reserved: u32,
    pub tasks: u64,
    pub errors: u64,
    pub busy_ns: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gpo_handler_info"][::core::mem::size_of::<gpo_handler_info>() - 32usize];
    [
        "Alignment of gpo_handler_info",
    ][::core::mem::align_of::<gpo_handler_info>() - 8usize];
    [
        "Offset of field: gpo_handler_info::struct_size",
    ][::core::mem::offset_of!(gpo_handler_info, struct_size) - 0usize];
    [
        "Offset of field: gpo_handler_info::reserved",
    ][::core::mem::offset_of!(gpo_handler_info, reserved) - 4usize];
    [
        "Offset of field: gpo_handler_info::tasks",
    ][::core::mem::offset_of!(gpo_handler_info, tasks) - 8usize];
    [
        "Offset of field: gpo_handler_info::errors",
    ][::core::mem::offset_of!(gpo_handler_info, errors) - 16usize];
    [
        "Offset of field: gpo_handler_info::busy_ns",
    ][::core::mem::offset_of!(gpo_handler_info, busy_ns) - 24usize];
};
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
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of gpo_scheduler_block",
    ][::core::mem::size_of::<gpo_scheduler_block>() - 48usize];
    [
        "Alignment of gpo_scheduler_block",
    ][::core::mem::align_of::<gpo_scheduler_block>() - 8usize];
    [
        "Offset of field: gpo_scheduler_block::struct_size",
    ][::core::mem::offset_of!(gpo_scheduler_block, struct_size) - 0usize];
    [
        "Offset of field: gpo_scheduler_block::multiprocessor",
    ][::core::mem::offset_of!(gpo_scheduler_block, multiprocessor) - 4usize];
    [
        "Offset of field: gpo_scheduler_block::workers",
    ][::core::mem::offset_of!(gpo_scheduler_block, workers) - 8usize];
    [
        "Offset of field: gpo_scheduler_block::reserved",
    ][::core::mem::offset_of!(gpo_scheduler_block, reserved) - 12usize];
    [
        "Offset of field: gpo_scheduler_block::tasks",
    ][::core::mem::offset_of!(gpo_scheduler_block, tasks) - 16usize];
    [
        "Offset of field: gpo_scheduler_block::empty_polls",
    ][::core::mem::offset_of!(gpo_scheduler_block, empty_polls) - 24usize];
    [
        "Offset of field: gpo_scheduler_block::busy_ns",
    ][::core::mem::offset_of!(gpo_scheduler_block, busy_ns) - 32usize];
    [
        "Offset of field: gpo_scheduler_block::worker_ns",
    ][::core::mem::offset_of!(gpo_scheduler_block, worker_ns) - 40usize];
};
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_depth_sample {
    pub struct_size: u32,
    pub run: u32,
    pub time_ns: u64,
    pub depth: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gpo_depth_sample"][::core::mem::size_of::<gpo_depth_sample>() - 24usize];
    [
        "Alignment of gpo_depth_sample",
    ][::core::mem::align_of::<gpo_depth_sample>() - 8usize];
    [
        "Offset of field: gpo_depth_sample::struct_size",
    ][::core::mem::offset_of!(gpo_depth_sample, struct_size) - 0usize];
    [
        "Offset of field: gpo_depth_sample::run",
    ][::core::mem::offset_of!(gpo_depth_sample, run) - 4usize];
    [
        "Offset of field: gpo_depth_sample::time_ns",
    ][::core::mem::offset_of!(gpo_depth_sample, time_ns) - 8usize];
    [
        "Offset of field: gpo_depth_sample::depth",
    ][::core::mem::offset_of!(gpo_depth_sample, depth) - 16usize];
};
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
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gpo_task_error"][::core::mem::size_of::<gpo_task_error>() - 40usize];
    ["Alignment of gpo_task_error"][::core::mem::align_of::<gpo_task_error>() - 8usize];
    [
        "Offset of field: gpo_task_error::struct_size",
    ][::core::mem::offset_of!(gpo_task_error, struct_size) - 0usize];
    [
        "Offset of field: gpo_task_error::handler",
    ][::core::mem::offset_of!(gpo_task_error, handler) - 4usize];
    [
        "Offset of field: gpo_task_error::status",
    ][::core::mem::offset_of!(gpo_task_error, status) - 8usize];
    [
        "Offset of field: gpo_task_error::priority",
    ][::core::mem::offset_of!(gpo_task_error, priority) - 12usize];
    [
        "Offset of field: gpo_task_error::position",
    ][::core::mem::offset_of!(gpo_task_error, position) - 16usize];
    [
        "Offset of field: gpo_task_error::task",
    ][::core::mem::offset_of!(gpo_task_error, task) - 24usize];
};
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
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of gpo_symmetric_options",
    ][::core::mem::size_of::<gpo_symmetric_options>() - 32usize];
    [
        "Alignment of gpo_symmetric_options",
    ][::core::mem::align_of::<gpo_symmetric_options>() - 8usize];
    [
        "Offset of field: gpo_symmetric_options::struct_size",
    ][::core::mem::offset_of!(gpo_symmetric_options, struct_size) - 0usize];
    [
        "Offset of field: gpo_symmetric_options::flags",
    ][::core::mem::offset_of!(gpo_symmetric_options, flags) - 4usize];
    [
        "Offset of field: gpo_symmetric_options::alignment",
    ][::core::mem::offset_of!(gpo_symmetric_options, alignment) - 8usize];
    [
        "Offset of field: gpo_symmetric_options::label",
    ][::core::mem::offset_of!(gpo_symmetric_options, label) - 16usize];
    [
        "Offset of field: gpo_symmetric_options::engine",
    ][::core::mem::offset_of!(gpo_symmetric_options, engine) - 24usize];
    [
        "Offset of field: gpo_symmetric_options::reserved",
    ][::core::mem::offset_of!(gpo_symmetric_options, reserved) - 28usize];
};
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
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of gpo_symmetric_info",
    ][::core::mem::size_of::<gpo_symmetric_info>() - 40usize];
    [
        "Alignment of gpo_symmetric_info",
    ][::core::mem::align_of::<gpo_symmetric_info>() - 8usize];
    [
        "Offset of field: gpo_symmetric_info::struct_size",
    ][::core::mem::offset_of!(gpo_symmetric_info, struct_size) - 0usize];
    [
        "Offset of field: gpo_symmetric_info::ranks",
    ][::core::mem::offset_of!(gpo_symmetric_info, ranks) - 4usize];
    [
        "Offset of field: gpo_symmetric_info::bytes",
    ][::core::mem::offset_of!(gpo_symmetric_info, bytes) - 8usize];
    [
        "Offset of field: gpo_symmetric_info::alignment",
    ][::core::mem::offset_of!(gpo_symmetric_info, alignment) - 16usize];
    [
        "Offset of field: gpo_symmetric_info::device_bytes",
    ][::core::mem::offset_of!(gpo_symmetric_info, device_bytes) - 24usize];
    [
        "Offset of field: gpo_symmetric_info::barrier_blocks",
    ][::core::mem::offset_of!(gpo_symmetric_info, barrier_blocks) - 32usize];
    [
        "Offset of field: gpo_symmetric_info::native_atomics",
    ][::core::mem::offset_of!(gpo_symmetric_info, native_atomics) - 36usize];
};
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
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gpo_rank_launch"][::core::mem::size_of::<gpo_rank_launch>() - 56usize];
    [
        "Alignment of gpo_rank_launch",
    ][::core::mem::align_of::<gpo_rank_launch>() - 8usize];
    [
        "Offset of field: gpo_rank_launch::struct_size",
    ][::core::mem::offset_of!(gpo_rank_launch, struct_size) - 0usize];
    [
        "Offset of field: gpo_rank_launch::flags",
    ][::core::mem::offset_of!(gpo_rank_launch, flags) - 4usize];
    [
        "Offset of field: gpo_rank_launch::stream",
    ][::core::mem::offset_of!(gpo_rank_launch, stream) - 8usize];
    [
        "Offset of field: gpo_rank_launch::kernel",
    ][::core::mem::offset_of!(gpo_rank_launch, kernel) - 16usize];
    [
        "Offset of field: gpo_rank_launch::launch",
    ][::core::mem::offset_of!(gpo_rank_launch, launch) - 24usize];
    [
        "Offset of field: gpo_rank_launch::arguments",
    ][::core::mem::offset_of!(gpo_rank_launch, arguments) - 32usize];
    [
        "Offset of field: gpo_rank_launch::sizes",
    ][::core::mem::offset_of!(gpo_rank_launch, sizes) - 40usize];
    [
        "Offset of field: gpo_rank_launch::argument_count",
    ][::core::mem::offset_of!(gpo_rank_launch, argument_count) - 48usize];
    [
        "Offset of field: gpo_rank_launch::reserved",
    ][::core::mem::offset_of!(gpo_rank_launch, reserved) - 52usize];
};
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gpo_trace_options {
    pub struct_size: u32,
    pub flags: u32,
    pub path: *const ::core::ffi::c_char,
    pub picture: *const ::core::ffi::c_char,
    pub title: *const ::core::ffi::c_char,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gpo_trace_options"][::core::mem::size_of::<gpo_trace_options>() - 32usize];
    [
        "Alignment of gpo_trace_options",
    ][::core::mem::align_of::<gpo_trace_options>() - 8usize];
    [
        "Offset of field: gpo_trace_options::struct_size",
    ][::core::mem::offset_of!(gpo_trace_options, struct_size) - 0usize];
    [
        "Offset of field: gpo_trace_options::flags",
    ][::core::mem::offset_of!(gpo_trace_options, flags) - 4usize];
    [
        "Offset of field: gpo_trace_options::path",
    ][::core::mem::offset_of!(gpo_trace_options, path) - 8usize];
    [
        "Offset of field: gpo_trace_options::picture",
    ][::core::mem::offset_of!(gpo_trace_options, picture) - 16usize];
    [
        "Offset of field: gpo_trace_options::title",
    ][::core::mem::offset_of!(gpo_trace_options, title) - 24usize];
};
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
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gpo_trace_info"][::core::mem::size_of::<gpo_trace_info>() - 96usize];
    ["Alignment of gpo_trace_info"][::core::mem::align_of::<gpo_trace_info>() - 8usize];
    [
        "Offset of field: gpo_trace_info::struct_size",
    ][::core::mem::offset_of!(gpo_trace_info, struct_size) - 0usize];
    [
        "Offset of field: gpo_trace_info::running",
    ][::core::mem::offset_of!(gpo_trace_info, running) - 4usize];
    [
        "Offset of field: gpo_trace_info::file_status",
    ][::core::mem::offset_of!(gpo_trace_info, file_status) - 8usize];
    [
        "Offset of field: gpo_trace_info::reserved",
    ][::core::mem::offset_of!(gpo_trace_info, reserved) - 12usize];
    [
        "Offset of field: gpo_trace_info::calls",
    ][::core::mem::offset_of!(gpo_trace_info, calls) - 16usize];
    [
        "Offset of field: gpo_trace_info::operations",
    ][::core::mem::offset_of!(gpo_trace_info, operations) - 24usize];
    [
        "Offset of field: gpo_trace_info::timed",
    ][::core::mem::offset_of!(gpo_trace_info, timed) - 32usize];
    [
        "Offset of field: gpo_trace_info::completions",
    ][::core::mem::offset_of!(gpo_trace_info, completions) - 40usize];
    [
        "Offset of field: gpo_trace_info::dropped",
    ][::core::mem::offset_of!(gpo_trace_info, dropped) - 48usize];
    [
        "Offset of field: gpo_trace_info::file_bytes",
    ][::core::mem::offset_of!(gpo_trace_info, file_bytes) - 56usize];
    [
        "Offset of field: gpo_trace_info::call_cost_ns",
    ][::core::mem::offset_of!(gpo_trace_info, call_cost_ns) - 64usize];
    [
        "Offset of field: gpo_trace_info::operation_cost_ns",
    ][::core::mem::offset_of!(gpo_trace_info, operation_cost_ns) - 72usize];
    [
        "Offset of field: gpo_trace_info::clock_error_ns",
    ][::core::mem::offset_of!(gpo_trace_info, clock_error_ns) - 80usize];
    [
        "Offset of field: gpo_trace_info::callbacks",
    ][::core::mem::offset_of!(gpo_trace_info, callbacks) - 88usize];
};
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
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gpo_api"][::core::mem::size_of::<gpo_api>() - 1888usize];
    ["Alignment of gpo_api"][::core::mem::align_of::<gpo_api>() - 8usize];
    [
        "Offset of field: gpo_api::struct_size",
    ][::core::mem::offset_of!(gpo_api, struct_size) - 0usize];
    [
        "Offset of field: gpo_api::library_version",
    ][::core::mem::offset_of!(gpo_api, library_version) - 4usize];
    [
        "Offset of field: gpo_api::status_name",
    ][::core::mem::offset_of!(gpo_api, status_name) - 8usize];
    [
        "Offset of field: gpo_api::status_text",
    ][::core::mem::offset_of!(gpo_api, status_text) - 16usize];
    [
        "Offset of field: gpo_api::last_error",
    ][::core::mem::offset_of!(gpo_api, last_error) - 24usize];
    [
        "Offset of field: gpo_api::object_get_error",
    ][::core::mem::offset_of!(gpo_api, object_get_error) - 32usize];
    [
        "Offset of field: gpo_api::object_set_label",
    ][::core::mem::offset_of!(gpo_api, object_set_label) - 40usize];
    [
        "Offset of field: gpo_api::object_get_label",
    ][::core::mem::offset_of!(gpo_api, object_get_label) - 48usize];
    [
        "Offset of field: gpo_api::runtime_create",
    ][::core::mem::offset_of!(gpo_api, runtime_create) - 56usize];
    [
        "Offset of field: gpo_api::runtime_shutdown",
    ][::core::mem::offset_of!(gpo_api, runtime_shutdown) - 64usize];
    [
        "Offset of field: gpo_api::runtime_get_driver",
    ][::core::mem::offset_of!(gpo_api, runtime_get_driver) - 72usize];
    [
        "Offset of field: gpo_api::runtime_get_statistics",
    ][::core::mem::offset_of!(gpo_api, runtime_get_statistics) - 80usize];
    [
        "Offset of field: gpo_api::version",
    ][::core::mem::offset_of!(gpo_api, version) - 88usize];
    [
        "Offset of field: gpo_api::runtime_get_device_count",
    ][::core::mem::offset_of!(gpo_api, runtime_get_device_count) - 96usize];
    [
        "Offset of field: gpo_api::runtime_describe_device",
    ][::core::mem::offset_of!(gpo_api, runtime_describe_device) - 104usize];
    [
        "Offset of field: gpo_api::runtime_describe_peer",
    ][::core::mem::offset_of!(gpo_api, runtime_describe_peer) - 112usize];
    [
        "Offset of field: gpo_api::device_open",
    ][::core::mem::offset_of!(gpo_api, device_open) - 120usize];
    [
        "Offset of field: gpo_api::device_close",
    ][::core::mem::offset_of!(gpo_api, device_close) - 128usize];
    [
        "Offset of field: gpo_api::device_get_properties",
    ][::core::mem::offset_of!(gpo_api, device_get_properties) - 136usize];
    [
        "Offset of field: gpo_api::device_wait",
    ][::core::mem::offset_of!(gpo_api, device_wait) - 144usize];
    [
        "Offset of field: gpo_api::device_get_native",
    ][::core::mem::offset_of!(gpo_api, device_get_native) - 152usize];
    [
        "Offset of field: gpo_api::device_get_memory",
    ][::core::mem::offset_of!(gpo_api, device_get_memory) - 160usize];
    [
        "Offset of field: gpo_api::device_enable_peer",
    ][::core::mem::offset_of!(gpo_api, device_enable_peer) - 168usize];
    [
        "Offset of field: gpo_api::device_disable_peer",
    ][::core::mem::offset_of!(gpo_api, device_disable_peer) - 176usize];
    [
        "Offset of field: gpo_api::device_get_limit",
    ][::core::mem::offset_of!(gpo_api, device_get_limit) - 184usize];
    [
        "Offset of field: gpo_api::device_set_limit",
    ][::core::mem::offset_of!(gpo_api, device_set_limit) - 192usize];
    [
        "Offset of field: gpo_api::event_create",
    ][::core::mem::offset_of!(gpo_api, event_create) - 200usize];
    [
        "Offset of field: gpo_api::event_destroy",
    ][::core::mem::offset_of!(gpo_api, event_destroy) - 208usize];
    [
        "Offset of field: gpo_api::event_record",
    ][::core::mem::offset_of!(gpo_api, event_record) - 216usize];
    [
        "Offset of field: gpo_api::event_query",
    ][::core::mem::offset_of!(gpo_api, event_query) - 224usize];
    [
        "Offset of field: gpo_api::event_wait",
    ][::core::mem::offset_of!(gpo_api, event_wait) - 232usize];
    [
        "Offset of field: gpo_api::event_get_elapsed",
    ][::core::mem::offset_of!(gpo_api, event_get_elapsed) - 240usize];
    [
        "Offset of field: gpo_api::event_notify",
    ][::core::mem::offset_of!(gpo_api, event_notify) - 248usize];
    [
        "Offset of field: gpo_api::event_get_native",
    ][::core::mem::offset_of!(gpo_api, event_get_native) - 256usize];
    [
        "Offset of field: gpo_api::timeline_create",
    ][::core::mem::offset_of!(gpo_api, timeline_create) - 264usize];
    [
        "Offset of field: gpo_api::timeline_destroy",
    ][::core::mem::offset_of!(gpo_api, timeline_destroy) - 272usize];
    [
        "Offset of field: gpo_api::timeline_signal",
    ][::core::mem::offset_of!(gpo_api, timeline_signal) - 280usize];
    [
        "Offset of field: gpo_api::timeline_fail",
    ][::core::mem::offset_of!(gpo_api, timeline_fail) - 288usize];
    [
        "Offset of field: gpo_api::timeline_get_value",
    ][::core::mem::offset_of!(gpo_api, timeline_get_value) - 296usize];
    [
        "Offset of field: gpo_api::timeline_wait",
    ][::core::mem::offset_of!(gpo_api, timeline_wait) - 304usize];
    [
        "Offset of field: gpo_api::stream_create",
    ][::core::mem::offset_of!(gpo_api, stream_create) - 312usize];
    [
        "Offset of field: gpo_api::stream_wrap",
    ][::core::mem::offset_of!(gpo_api, stream_wrap) - 320usize];
    [
        "Offset of field: gpo_api::stream_destroy",
    ][::core::mem::offset_of!(gpo_api, stream_destroy) - 328usize];
    [
        "Offset of field: gpo_api::device_get_priority_range",
    ][::core::mem::offset_of!(gpo_api, device_get_priority_range) - 336usize];
    [
        "Offset of field: gpo_api::stream_get_info",
    ][::core::mem::offset_of!(gpo_api, stream_get_info) - 344usize];
    [
        "Offset of field: gpo_api::stream_get_native",
    ][::core::mem::offset_of!(gpo_api, stream_get_native) - 352usize];
    [
        "Offset of field: gpo_api::stream_query",
    ][::core::mem::offset_of!(gpo_api, stream_query) - 360usize];
    [
        "Offset of field: gpo_api::stream_wait",
    ][::core::mem::offset_of!(gpo_api, stream_wait) - 368usize];
    [
        "Offset of field: gpo_api::stream_cancel_held",
    ][::core::mem::offset_of!(gpo_api, stream_cancel_held) - 376usize];
    [
        "Offset of field: gpo_api::stream_wait_event",
    ][::core::mem::offset_of!(gpo_api, stream_wait_event) - 384usize];
    [
        "Offset of field: gpo_api::stream_wait_stream",
    ][::core::mem::offset_of!(gpo_api, stream_wait_stream) - 392usize];
    [
        "Offset of field: gpo_api::stream_wait_timeline",
    ][::core::mem::offset_of!(gpo_api, stream_wait_timeline) - 400usize];
    [
        "Offset of field: gpo_api::stream_signal_timeline",
    ][::core::mem::offset_of!(gpo_api, stream_signal_timeline) - 408usize];
    [
        "Offset of field: gpo_api::stream_pool_create",
    ][::core::mem::offset_of!(gpo_api, stream_pool_create) - 416usize];
    [
        "Offset of field: gpo_api::stream_pool_destroy",
    ][::core::mem::offset_of!(gpo_api, stream_pool_destroy) - 424usize];
    [
        "Offset of field: gpo_api::stream_pool_acquire",
    ][::core::mem::offset_of!(gpo_api, stream_pool_acquire) - 432usize];
    [
        "Offset of field: gpo_api::stream_pool_release",
    ][::core::mem::offset_of!(gpo_api, stream_pool_release) - 440usize];
    [
        "Offset of field: gpo_api::arena_create",
    ][::core::mem::offset_of!(gpo_api, arena_create) - 448usize];
    [
        "Offset of field: gpo_api::arena_destroy",
    ][::core::mem::offset_of!(gpo_api, arena_destroy) - 456usize];
    [
        "Offset of field: gpo_api::arena_allocate",
    ][::core::mem::offset_of!(gpo_api, arena_allocate) - 464usize];
    [
        "Offset of field: gpo_api::arena_free",
    ][::core::mem::offset_of!(gpo_api, arena_free) - 472usize];
    [
        "Offset of field: gpo_api::arena_free_after",
    ][::core::mem::offset_of!(gpo_api, arena_free_after) - 480usize];
    [
        "Offset of field: gpo_api::arena_trim",
    ][::core::mem::offset_of!(gpo_api, arena_trim) - 488usize];
    [
        "Offset of field: gpo_api::arena_get_statistics",
    ][::core::mem::offset_of!(gpo_api, arena_get_statistics) - 496usize];
    [
        "Offset of field: gpo_api::host_register",
    ][::core::mem::offset_of!(gpo_api, host_register) - 504usize];
    [
        "Offset of field: gpo_api::host_unregister",
    ][::core::mem::offset_of!(gpo_api, host_unregister) - 512usize];
    [
        "Offset of field: gpo_api::memory_allocate",
    ][::core::mem::offset_of!(gpo_api, memory_allocate) - 520usize];
    [
        "Offset of field: gpo_api::memory_free",
    ][::core::mem::offset_of!(gpo_api, memory_free) - 528usize];
    [
        "Offset of field: gpo_api::memory_describe",
    ][::core::mem::offset_of!(gpo_api, memory_describe) - 536usize];
    [
        "Offset of field: gpo_api::pool_create",
    ][::core::mem::offset_of!(gpo_api, pool_create) - 544usize];
    [
        "Offset of field: gpo_api::pool_destroy",
    ][::core::mem::offset_of!(gpo_api, pool_destroy) - 552usize];
    [
        "Offset of field: gpo_api::pool_allocate",
    ][::core::mem::offset_of!(gpo_api, pool_allocate) - 560usize];
    [
        "Offset of field: gpo_api::pool_free",
    ][::core::mem::offset_of!(gpo_api, pool_free) - 568usize];
    [
        "Offset of field: gpo_api::pool_trim",
    ][::core::mem::offset_of!(gpo_api, pool_trim) - 576usize];
    [
        "Offset of field: gpo_api::pool_get_statistics",
    ][::core::mem::offset_of!(gpo_api, pool_get_statistics) - 584usize];
    [
        "Offset of field: gpo_api::copy_to_device",
    ][::core::mem::offset_of!(gpo_api, copy_to_device) - 592usize];
    [
        "Offset of field: gpo_api::copy_to_host",
    ][::core::mem::offset_of!(gpo_api, copy_to_host) - 600usize];
    [
        "Offset of field: gpo_api::copy_on_device",
    ][::core::mem::offset_of!(gpo_api, copy_on_device) - 608usize];
    [
        "Offset of field: gpo_api::copy_peer",
    ][::core::mem::offset_of!(gpo_api, copy_peer) - 616usize];
    [
        "Offset of field: gpo_api::copy_batch",
    ][::core::mem::offset_of!(gpo_api, copy_batch) - 624usize];
    [
        "Offset of field: gpo_api::copy_rows",
    ][::core::mem::offset_of!(gpo_api, copy_rows) - 632usize];
    [
        "Offset of field: gpo_api::fill",
    ][::core::mem::offset_of!(gpo_api, fill) - 640usize];
    [
        "Offset of field: gpo_api::fill_rows",
    ][::core::mem::offset_of!(gpo_api, fill_rows) - 648usize];
    [
        "Offset of field: gpo_api::module_compile",
    ][::core::mem::offset_of!(gpo_api, module_compile) - 656usize];
    [
        "Offset of field: gpo_api::last_compile_log",
    ][::core::mem::offset_of!(gpo_api, last_compile_log) - 664usize];
    [
        "Offset of field: gpo_api::module_load",
    ][::core::mem::offset_of!(gpo_api, module_load) - 672usize];
    [
        "Offset of field: gpo_api::module_get_image",
    ][::core::mem::offset_of!(gpo_api, module_get_image) - 680usize];
    [
        "Offset of field: gpo_api::module_load_builtin",
    ][::core::mem::offset_of!(gpo_api, module_load_builtin) - 688usize];
    [
        "Offset of field: gpo_api::module_destroy",
    ][::core::mem::offset_of!(gpo_api, module_destroy) - 696usize];
    [
        "Offset of field: gpo_api::module_get_kernel",
    ][::core::mem::offset_of!(gpo_api, module_get_kernel) - 704usize];
    [
        "Offset of field: gpo_api::kernel_destroy",
    ][::core::mem::offset_of!(gpo_api, kernel_destroy) - 712usize];
    [
        "Offset of field: gpo_api::module_get_symbol",
    ][::core::mem::offset_of!(gpo_api, module_get_symbol) - 720usize];
    [
        "Offset of field: gpo_api::kernel_get_attributes",
    ][::core::mem::offset_of!(gpo_api, kernel_get_attributes) - 728usize];
    [
        "Offset of field: gpo_api::kernel_get_name",
    ][::core::mem::offset_of!(gpo_api, kernel_get_name) - 736usize];
    [
        "Offset of field: gpo_api::kernel_get_native",
    ][::core::mem::offset_of!(gpo_api, kernel_get_native) - 744usize];
    [
        "Offset of field: gpo_api::kernel_set_max_dynamic_shared",
    ][::core::mem::offset_of!(gpo_api, kernel_set_max_dynamic_shared) - 752usize];
    [
        "Offset of field: gpo_api::kernel_get_occupancy",
    ][::core::mem::offset_of!(gpo_api, kernel_get_occupancy) - 760usize];
    [
        "Offset of field: gpo_api::kernel_suggest_shape",
    ][::core::mem::offset_of!(gpo_api, kernel_suggest_shape) - 768usize];
    [
        "Offset of field: gpo_api::stream_launch_kernel",
    ][::core::mem::offset_of!(gpo_api, stream_launch_kernel) - 776usize];
    [
        "Offset of field: gpo_api::cq_create",
    ][::core::mem::offset_of!(gpo_api, cq_create) - 784usize];
    [
        "Offset of field: gpo_api::cq_destroy",
    ][::core::mem::offset_of!(gpo_api, cq_destroy) - 792usize];
    [
        "Offset of field: gpo_api::stream_notify",
    ][::core::mem::offset_of!(gpo_api, stream_notify) - 800usize];
    [
        "Offset of field: gpo_api::stream_notify_timed",
    ][::core::mem::offset_of!(gpo_api, stream_notify_timed) - 808usize];
    [
        "Offset of field: gpo_api::cq_drain",
    ][::core::mem::offset_of!(gpo_api, cq_drain) - 816usize];
    [
        "Offset of field: gpo_api::cq_wait",
    ][::core::mem::offset_of!(gpo_api, cq_wait) - 824usize];
    [
        "Offset of field: gpo_api::cq_wake",
    ][::core::mem::offset_of!(gpo_api, cq_wake) - 832usize];
    [
        "Offset of field: gpo_api::cq_get_error",
    ][::core::mem::offset_of!(gpo_api, cq_get_error) - 840usize];
    [
        "Offset of field: gpo_api::cq_get_statistics",
    ][::core::mem::offset_of!(gpo_api, cq_get_statistics) - 848usize];
    [
        "Offset of field: gpo_api::pipeline_create",
    ][::core::mem::offset_of!(gpo_api, pipeline_create) - 856usize];
    [
        "Offset of field: gpo_api::pipeline_destroy",
    ][::core::mem::offset_of!(gpo_api, pipeline_destroy) - 864usize];
    [
        "Offset of field: gpo_api::pipeline_start",
    ][::core::mem::offset_of!(gpo_api, pipeline_start) - 872usize];
    [
        "Offset of field: gpo_api::pipeline_wait",
    ][::core::mem::offset_of!(gpo_api, pipeline_wait) - 880usize];
    [
        "Offset of field: gpo_api::pipeline_cancel",
    ][::core::mem::offset_of!(gpo_api, pipeline_cancel) - 888usize];
    [
        "Offset of field: gpo_api::pipeline_notify",
    ][::core::mem::offset_of!(gpo_api, pipeline_notify) - 896usize];
    [
        "Offset of field: gpo_api::pipeline_get_progress",
    ][::core::mem::offset_of!(gpo_api, pipeline_get_progress) - 904usize];
    [
        "Offset of field: gpo_api::runtime_get_metrics",
    ][::core::mem::offset_of!(gpo_api, runtime_get_metrics) - 912usize];
    [
        "Offset of field: gpo_api::device_get_metrics",
    ][::core::mem::offset_of!(gpo_api, device_get_metrics) - 920usize];
    [
        "Offset of field: gpo_api::runtime_get_metrics_text",
    ][::core::mem::offset_of!(gpo_api, runtime_get_metrics_text) - 928usize];
    [
        "Offset of field: gpo_api::cq_get_fd",
    ][::core::mem::offset_of!(gpo_api, cq_get_fd) - 936usize];
    [
        "Offset of field: gpo_api::timeline_notify",
    ][::core::mem::offset_of!(gpo_api, timeline_notify) - 944usize];
    [
        "Offset of field: gpo_api::executor_create",
    ][::core::mem::offset_of!(gpo_api, executor_create) - 952usize];
    [
        "Offset of field: gpo_api::executor_destroy",
    ][::core::mem::offset_of!(gpo_api, executor_destroy) - 960usize];
    [
        "Offset of field: gpo_api::executor_run",
    ][::core::mem::offset_of!(gpo_api, executor_run) - 968usize];
    [
        "Offset of field: gpo_api::executor_run_for",
    ][::core::mem::offset_of!(gpo_api, executor_run_for) - 976usize];
    [
        "Offset of field: gpo_api::executor_poll",
    ][::core::mem::offset_of!(gpo_api, executor_poll) - 984usize];
    [
        "Offset of field: gpo_api::executor_get_statistics",
    ][::core::mem::offset_of!(gpo_api, executor_get_statistics) - 992usize];
    [
        "Offset of field: gpo_api::stream_then",
    ][::core::mem::offset_of!(gpo_api, stream_then) - 1000usize];
    [
        "Offset of field: gpo_api::event_then",
    ][::core::mem::offset_of!(gpo_api, event_then) - 1008usize];
    [
        "Offset of field: gpo_api::timeline_then",
    ][::core::mem::offset_of!(gpo_api, timeline_then) - 1016usize];
    [
        "Offset of field: gpo_api::pipeline_then",
    ][::core::mem::offset_of!(gpo_api, pipeline_then) - 1024usize];
    [
        "Offset of field: gpo_api::stream_host_call",
    ][::core::mem::offset_of!(gpo_api, stream_host_call) - 1032usize];
    [
        "Offset of field: gpo_api::host_call_finish",
    ][::core::mem::offset_of!(gpo_api, host_call_finish) - 1040usize];
    [
        "Offset of field: gpo_api::runtime_set_log_executor",
    ][::core::mem::offset_of!(gpo_api, runtime_set_log_executor) - 1048usize];
    [
        "Offset of field: gpo_api::trace_start",
    ][::core::mem::offset_of!(gpo_api, trace_start) - 1056usize];
    [
        "Offset of field: gpo_api::trace_stop",
    ][::core::mem::offset_of!(gpo_api, trace_stop) - 1064usize];
    [
        "Offset of field: gpo_api::trace_get_info",
    ][::core::mem::offset_of!(gpo_api, trace_get_info) - 1072usize];
    [
        "Offset of field: gpo_api::trace_get_summary",
    ][::core::mem::offset_of!(gpo_api, trace_get_summary) - 1080usize];
    [
        "Offset of field: gpo_api::kernel_get_parameter",
    ][::core::mem::offset_of!(gpo_api, kernel_get_parameter) - 1088usize];
    [
        "Offset of field: gpo_api::template_create",
    ][::core::mem::offset_of!(gpo_api, template_create) - 1096usize];
    [
        "Offset of field: gpo_api::template_destroy",
    ][::core::mem::offset_of!(gpo_api, template_destroy) - 1104usize];
    [
        "Offset of field: gpo_api::template_begin",
    ][::core::mem::offset_of!(gpo_api, template_begin) - 1112usize];
    [
        "Offset of field: gpo_api::template_end",
    ][::core::mem::offset_of!(gpo_api, template_end) - 1120usize];
    [
        "Offset of field: gpo_api::template_cancel",
    ][::core::mem::offset_of!(gpo_api, template_cancel) - 1128usize];
    [
        "Offset of field: gpo_api::template_get_last_node",
    ][::core::mem::offset_of!(gpo_api, template_get_last_node) - 1136usize];
    [
        "Offset of field: gpo_api::template_set_last_node",
    ][::core::mem::offset_of!(gpo_api, template_set_last_node) - 1144usize];
    [
        "Offset of field: gpo_api::template_add_kernel",
    ][::core::mem::offset_of!(gpo_api, template_add_kernel) - 1152usize];
    [
        "Offset of field: gpo_api::template_add_copy",
    ][::core::mem::offset_of!(gpo_api, template_add_copy) - 1160usize];
    [
        "Offset of field: gpo_api::template_add_fill",
    ][::core::mem::offset_of!(gpo_api, template_add_fill) - 1168usize];
    [
        "Offset of field: gpo_api::template_add_empty",
    ][::core::mem::offset_of!(gpo_api, template_add_empty) - 1176usize];
    [
        "Offset of field: gpo_api::template_add_event_record",
    ][::core::mem::offset_of!(gpo_api, template_add_event_record) - 1184usize];
    [
        "Offset of field: gpo_api::template_add_event_wait",
    ][::core::mem::offset_of!(gpo_api, template_add_event_wait) - 1192usize];
    [
        "Offset of field: gpo_api::template_add_host_call",
    ][::core::mem::offset_of!(gpo_api, template_add_host_call) - 1200usize];
    [
        "Offset of field: gpo_api::template_add_child",
    ][::core::mem::offset_of!(gpo_api, template_add_child) - 1208usize];
    [
        "Offset of field: gpo_api::template_add_parameter",
    ][::core::mem::offset_of!(gpo_api, template_add_parameter) - 1216usize];
    [
        "Offset of field: gpo_api::template_get_parameter",
    ][::core::mem::offset_of!(gpo_api, template_get_parameter) - 1224usize];
    [
        "Offset of field: gpo_api::template_find_node",
    ][::core::mem::offset_of!(gpo_api, template_find_node) - 1232usize];
    [
        "Offset of field: gpo_api::template_get_native",
    ][::core::mem::offset_of!(gpo_api, template_get_native) - 1240usize];
    [
        "Offset of field: gpo_api::template_clear",
    ][::core::mem::offset_of!(gpo_api, template_clear) - 1248usize];
    [
        "Offset of field: gpo_api::template_get_statistics",
    ][::core::mem::offset_of!(gpo_api, template_get_statistics) - 1256usize];
    [
        "Offset of field: gpo_api::graph_create",
    ][::core::mem::offset_of!(gpo_api, graph_create) - 1264usize];
    [
        "Offset of field: gpo_api::graph_destroy",
    ][::core::mem::offset_of!(gpo_api, graph_destroy) - 1272usize];
    [
        "Offset of field: gpo_api::graph_set",
    ][::core::mem::offset_of!(gpo_api, graph_set) - 1280usize];
    [
        "Offset of field: gpo_api::graph_set_parameter",
    ][::core::mem::offset_of!(gpo_api, graph_set_parameter) - 1288usize];
    [
        "Offset of field: gpo_api::graph_set_all",
    ][::core::mem::offset_of!(gpo_api, graph_set_all) - 1296usize];
    [
        "Offset of field: gpo_api::graph_get",
    ][::core::mem::offset_of!(gpo_api, graph_get) - 1304usize];
    [
        "Offset of field: gpo_api::graph_launch",
    ][::core::mem::offset_of!(gpo_api, graph_launch) - 1312usize];
    [
        "Offset of field: gpo_api::graph_upload",
    ][::core::mem::offset_of!(gpo_api, graph_upload) - 1320usize];
    [
        "Offset of field: gpo_api::graph_update",
    ][::core::mem::offset_of!(gpo_api, graph_update) - 1328usize];
    [
        "Offset of field: gpo_api::template_launch",
    ][::core::mem::offset_of!(gpo_api, template_launch) - 1336usize];
    [
        "Offset of field: gpo_api::template_prepare",
    ][::core::mem::offset_of!(gpo_api, template_prepare) - 1344usize];
    [
        "Offset of field: gpo_api::graph_get_native",
    ][::core::mem::offset_of!(gpo_api, graph_get_native) - 1352usize];
    [
        "Offset of field: gpo_api::template_add_if",
    ][::core::mem::offset_of!(gpo_api, template_add_if) - 1360usize];
    [
        "Offset of field: gpo_api::template_add_while",
    ][::core::mem::offset_of!(gpo_api, template_add_while) - 1368usize];
    [
        "Offset of field: gpo_api::template_add_switch",
    ][::core::mem::offset_of!(gpo_api, template_add_switch) - 1376usize];
    [
        "Offset of field: gpo_api::template_bind_condition",
    ][::core::mem::offset_of!(gpo_api, template_bind_condition) - 1384usize];
    [
        "Offset of field: gpo_api::graph_get_loop",
    ][::core::mem::offset_of!(gpo_api, graph_get_loop) - 1392usize];
    [
        "Offset of field: gpo_api::graph_get_device_handle",
    ][::core::mem::offset_of!(gpo_api, graph_get_device_handle) - 1400usize];
    [
        "Offset of field: gpo_api::graph_get_device_status",
    ][::core::mem::offset_of!(gpo_api, graph_get_device_status) - 1408usize];
    [
        "Offset of field: gpo_api::buckets_create",
    ][::core::mem::offset_of!(gpo_api, buckets_create) - 1416usize];
    [
        "Offset of field: gpo_api::buckets_destroy",
    ][::core::mem::offset_of!(gpo_api, buckets_destroy) - 1424usize];
    [
        "Offset of field: gpo_api::buckets_prepare",
    ][::core::mem::offset_of!(gpo_api, buckets_prepare) - 1432usize];
    [
        "Offset of field: gpo_api::buckets_launch",
    ][::core::mem::offset_of!(gpo_api, buckets_launch) - 1440usize];
    [
        "Offset of field: gpo_api::buckets_get_statistics",
    ][::core::mem::offset_of!(gpo_api, buckets_get_statistics) - 1448usize];
    [
        "Offset of field: gpo_api::template_import",
    ][::core::mem::offset_of!(gpo_api, template_import) - 1456usize];
    [
        "Offset of field: gpo_api::template_get_picture",
    ][::core::mem::offset_of!(gpo_api, template_get_picture) - 1464usize];
    [
        "Offset of field: gpo_api::template_allocate",
    ][::core::mem::offset_of!(gpo_api, template_allocate) - 1472usize];
    [
        "Offset of field: gpo_api::template_allocate_host",
    ][::core::mem::offset_of!(gpo_api, template_allocate_host) - 1480usize];
    [
        "Offset of field: gpo_api::template_add_allocation",
    ][::core::mem::offset_of!(gpo_api, template_add_allocation) - 1488usize];
    [
        "Offset of field: gpo_api::template_add_free",
    ][::core::mem::offset_of!(gpo_api, template_add_free) - 1496usize];
    [
        "Offset of field: gpo_api::queue_create",
    ][::core::mem::offset_of!(gpo_api, queue_create) - 1504usize];
    [
        "Offset of field: gpo_api::queue_destroy",
    ][::core::mem::offset_of!(gpo_api, queue_destroy) - 1512usize];
    [
        "Offset of field: gpo_api::queue_get_device_handle",
    ][::core::mem::offset_of!(gpo_api, queue_get_device_handle) - 1520usize];
    [
        "Offset of field: gpo_api::queue_set_costs",
    ][::core::mem::offset_of!(gpo_api, queue_set_costs) - 1528usize];
    [
        "Offset of field: gpo_api::queue_reset",
    ][::core::mem::offset_of!(gpo_api, queue_reset) - 1536usize];
    [
        "Offset of field: gpo_api::queue_close",
    ][::core::mem::offset_of!(gpo_api, queue_close) - 1544usize];
    [
        "Offset of field: gpo_api::queue_abort",
    ][::core::mem::offset_of!(gpo_api, queue_abort) - 1552usize];
    [
        "Offset of field: gpo_api::queue_get_info",
    ][::core::mem::offset_of!(gpo_api, queue_get_info) - 1560usize];
    [
        "Offset of field: gpo_api::queue_push",
    ][::core::mem::offset_of!(gpo_api, queue_push) - 1568usize];
    [
        "Offset of field: gpo_api::device_get_costs",
    ][::core::mem::offset_of!(gpo_api, device_get_costs) - 1576usize];
    [
        "Offset of field: gpo_api::advise",
    ][::core::mem::offset_of!(gpo_api, advise) - 1584usize];
    [
        "Offset of field: gpo_api::queue_set_tenant",
    ][::core::mem::offset_of!(gpo_api, queue_set_tenant) - 1592usize];
    [
        "Offset of field: gpo_api::queue_post",
    ][::core::mem::offset_of!(gpo_api, queue_post) - 1600usize];
    [
        "Offset of field: gpo_api::queue_take",
    ][::core::mem::offset_of!(gpo_api, queue_take) - 1608usize];
    [
        "Offset of field: gpo_api::queue_wait",
    ][::core::mem::offset_of!(gpo_api, queue_wait) - 1616usize];
    [
        "Offset of field: gpo_api::advise_trace",
    ][::core::mem::offset_of!(gpo_api, advise_trace) - 1624usize];
    [
        "Offset of field: gpo_api::scheduler_create",
    ][::core::mem::offset_of!(gpo_api, scheduler_create) - 1632usize];
    [
        "Offset of field: gpo_api::scheduler_destroy",
    ][::core::mem::offset_of!(gpo_api, scheduler_destroy) - 1640usize];
    [
        "Offset of field: gpo_api::scheduler_start",
    ][::core::mem::offset_of!(gpo_api, scheduler_start) - 1648usize];
    [
        "Offset of field: gpo_api::scheduler_drain",
    ][::core::mem::offset_of!(gpo_api, scheduler_drain) - 1656usize];
    [
        "Offset of field: gpo_api::scheduler_stop",
    ][::core::mem::offset_of!(gpo_api, scheduler_stop) - 1664usize];
    [
        "Offset of field: gpo_api::scheduler_wait",
    ][::core::mem::offset_of!(gpo_api, scheduler_wait) - 1672usize];
    [
        "Offset of field: gpo_api::scheduler_get_info",
    ][::core::mem::offset_of!(gpo_api, scheduler_get_info) - 1680usize];
    [
        "Offset of field: gpo_api::scheduler_get_handler",
    ][::core::mem::offset_of!(gpo_api, scheduler_get_handler) - 1688usize];
    [
        "Offset of field: gpo_api::scheduler_get_blocks",
    ][::core::mem::offset_of!(gpo_api, scheduler_get_blocks) - 1696usize];
    [
        "Offset of field: gpo_api::scheduler_get_samples",
    ][::core::mem::offset_of!(gpo_api, scheduler_get_samples) - 1704usize];
    [
        "Offset of field: gpo_api::scheduler_get_errors",
    ][::core::mem::offset_of!(gpo_api, scheduler_get_errors) - 1712usize];
    [
        "Offset of field: gpo_api::peers_create",
    ][::core::mem::offset_of!(gpo_api, peers_create) - 1720usize];
    [
        "Offset of field: gpo_api::peers_destroy",
    ][::core::mem::offset_of!(gpo_api, peers_destroy) - 1728usize];
    [
        "Offset of field: gpo_api::peers_split",
    ][::core::mem::offset_of!(gpo_api, peers_split) - 1736usize];
    [
        "Offset of field: gpo_api::peers_get_info",
    ][::core::mem::offset_of!(gpo_api, peers_get_info) - 1744usize];
    [
        "Offset of field: gpo_api::peers_get_link",
    ][::core::mem::offset_of!(gpo_api, peers_get_link) - 1752usize];
    [
        "Offset of field: gpo_api::peers_submit",
    ][::core::mem::offset_of!(gpo_api, peers_submit) - 1760usize];
    [
        "Offset of field: gpo_api::symmetric_allocate",
    ][::core::mem::offset_of!(gpo_api, symmetric_allocate) - 1768usize];
    [
        "Offset of field: gpo_api::symmetric_destroy",
    ][::core::mem::offset_of!(gpo_api, symmetric_destroy) - 1776usize];
    [
        "Offset of field: gpo_api::symmetric_get_address",
    ][::core::mem::offset_of!(gpo_api, symmetric_get_address) - 1784usize];
    [
        "Offset of field: gpo_api::symmetric_get_device_handle",
    ][::core::mem::offset_of!(gpo_api, symmetric_get_device_handle) - 1792usize];
    [
        "Offset of field: gpo_api::symmetric_reset",
    ][::core::mem::offset_of!(gpo_api, symmetric_reset) - 1800usize];
    [
        "Offset of field: gpo_api::symmetric_get_info",
    ][::core::mem::offset_of!(gpo_api, symmetric_get_info) - 1808usize];
    [
        "Offset of field: gpo_api::peers_launch",
    ][::core::mem::offset_of!(gpo_api, peers_launch) - 1816usize];
    [
        "Offset of field: gpo_api::peers_make_id",
    ][::core::mem::offset_of!(gpo_api, peers_make_id) - 1824usize];
    [
        "Offset of field: gpo_api::peers_join",
    ][::core::mem::offset_of!(gpo_api, peers_join) - 1832usize];
    [
        "Offset of field: gpo_api::peers_abort",
    ][::core::mem::offset_of!(gpo_api, peers_abort) - 1840usize];
    [
        "Offset of field: gpo_api::memory_export",
    ][::core::mem::offset_of!(gpo_api, memory_export) - 1848usize];
    [
        "Offset of field: gpo_api::memory_import",
    ][::core::mem::offset_of!(gpo_api, memory_import) - 1856usize];
    [
        "Offset of field: gpo_api::event_export",
    ][::core::mem::offset_of!(gpo_api, event_export) - 1864usize];
    [
        "Offset of field: gpo_api::event_import",
    ][::core::mem::offset_of!(gpo_api, event_import) - 1872usize];
    [
        "Offset of field: gpo_api::pipeline_get_share",
    ][::core::mem::offset_of!(gpo_api, pipeline_get_share) - 1880usize];
};
