/* tables.c: the tables of tables.h, and a call for each function of the library.
 * Made from abi.json by generate/generate.py. */

#include "tables.h"

#include <stddef.h>

#define ROW(...) {__VA_ARGS__}
#define FIELD(name, offset, size, kind) ROW(name, offset, size, 0, KIND_##kind, KIND_NONE, 0, 0, -1, -1, -1)
#define FIELD_OF(name, offset, size, kind, flags, id) \
    ROW(name, offset, size, 0, KIND_##kind, KIND_NONE, flags, id, -1, -1, -1)
#define STRUCT_SIZE FIELD_OF("struct_size", 0, 4, U32, ENTRY_HIDDEN | ENTRY_STRUCT_SIZE, 0)
#define GIVEN(name, kind) ROW(name, 0, KIND_##kind, KIND_NONE, 0, 0, -1, -1, -1)
#define GIVEN_OF(name, kind, flags, id) ROW(name, 0, KIND_##kind, KIND_NONE, flags, id, -1, -1, -1)
#define COUNT(array) (sizeof(array) / sizeof *(array))
#define STRUCT(name, type_name) ROW(#name, type_name, sizeof(gpo_##name), COUNT(fields_of_##name), fields_of_##name)
#define CALL(name) static gpo_status call_##name(const gpo_api *api, word *a)
#define FUNCTION(name, flags, signature) \
    ROW(#name, call_##name, given_to_##name, COUNT(given_to_##name), flags, \
        offsetof(gpo_api, name) + sizeof(void *), #name signature "\n--\n\n")
#define DESTROY(name, function, ...) \
    static gpo_status destroy_##name(const gpo_api *api, void *handle) { return api->function(__VA_ARGS__); }
#define CLASS(name, type_name) ROW(#name, type_name, destroy_##name)

static const field_entry fields_of_admission_options[] = {
    STRUCT_SIZE,
    FIELD("flags", 4, 4, U32),
    FIELD("count", 8, 8, U64),
    FIELD("bytes", 16, 8, U64),
    FIELD("capacity", 24, 4, U32),
    FIELD("priorities", 28, 4, U32),
    FIELD_OF("pool", 32, 8, HANDLE, 0, CLASS_POOL),
    FIELD("high_bytes", 40, 8, U64),
    FIELD("low_bytes", 48, 8, U64),
    FIELD("label", 56, 8, TEXT),
};

static const field_entry fields_of_admission_request[] = {
    STRUCT_SIZE,
    FIELD("priority", 4, 4, U32),
    FIELD("count", 8, 8, U64),
    FIELD("bytes", 16, 8, U64),
    FIELD("flow", 24, 8, U64),
    FIELD("deadline_ns", 32, 8, U64),
};

static const field_entry fields_of_admission_info[] = {
    STRUCT_SIZE,
    FIELD("paused", 4, 4, U32),
    FIELD("count", 8, 8, U64),
    FIELD("bytes", 16, 8, U64),
    FIELD("held", 24, 8, U64),
    FIELD("held_count", 32, 8, U64),
    FIELD("held_bytes", 40, 8, U64),
    FIELD("waiting", 48, 8, U64),
    FIELD("waiting_bytes", 56, 8, U64),
    FIELD("waiting_flows", 64, 8, U64),
    FIELD("admitted", 72, 8, U64),
    FIELD("refused", 80, 8, U64),
    FIELD("too_large", 88, 8, U64),
    FIELD("expired", 96, 8, U64),
    FIELD("cancelled", 104, 8, U64),
    FIELD("wait_ns", 112, 8, U64),
    FIELD("longest_wait_ns", 120, 8, U64),
    {"wait_times", 128, 256, 32, KIND_NUMBER_ARRAY, KIND_U64, 0, 0, -1, -1, -1},
};

static const field_entry fields_of_costs[] = {
    STRUCT_SIZE,
    FIELD("measured", 4, 4, U32),
    FIELD("launch_ns", 8, 8, U64),
    FIELD("wait_ns", 16, 8, U64),
    FIELD("decision_ns", 24, 8, U64),
    FIELD("graph_launch_ns", 32, 8, U64),
    FIELD("graph_node_ns", 40, 8, U64),
    FIELD("while_turn_ns", 48, 8, U64),
    FIELD("device_launch_ns", 56, 8, U64),
    FIELD("doorbell_ns", 64, 8, U64),
    FIELD("host_tasks_per_second", 72, 8, U64),
    FIELD("claims_per_second", 80, 8, U64),
    FIELD("ring_tasks_per_second", 88, 8, U64),
    FIELD("copy_ns", 96, 8, U64),
    FIELD("copy_in_rate", 104, 8, U64),
    FIELD("copy_out_rate", 112, 8, U64),
    FIELD("copy_both_rate", 120, 8, U64),
    FIELD("pageable_in_rate", 128, 8, U64),
    FIELD("pageable_out_rate", 136, 8, U64),
    FIELD("memory_rate", 144, 8, U64),
    FIELD("operation_rate", 152, 8, U64),
    FIELD("multiprocessors", 160, 4, U32),
    FIELD_OF("reserved", 164, 4, U32, ENTRY_HIDDEN, 0),
};

static const field_entry fields_of_workload[] = {
    STRUCT_SIZE,
    FIELD("flags", 4, 4, U32),
    FIELD_OF("costs", 8, 8, STRUCT, 0, STRUCT_COSTS),
    FIELD("launches", 16, 8, U64),
    FIELD("round_ns", 24, 8, U64),
    FIELD("kernel_ns", 32, 8, U64),
    FIELD("decisions", 40, 8, U64),
    FIELD("streams", 48, 4, U32),
    FIELD("blocks", 52, 4, U32),
    FIELD("bytes", 56, 8, U64),
    FIELD("operations", 64, 8, U64),
    FIELD("copies", 72, 8, U64),
    FIELD("copy_in_bytes", 80, 8, U64),
    FIELD("copy_out_bytes", 88, 8, U64),
    FIELD("tasks", 96, 8, U64),
    FIELD("task_ns", 104, 8, U64),
    FIELD("order", 112, 4, U32),
    FIELD("workers", 116, 4, U32),
    FIELD("block_workers", 120, 4, U32),
    FIELD_OF("reserved", 124, 4, U32, ENTRY_HIDDEN, 0),
    {"task_costs", 128, 8, 0, KIND_NUMBERS, KIND_F32, 0, 0, 22, 21, -1},
    FIELD_OF("cost_stride", 136, 8, U64, ENTRY_HIDDEN, 0),
    FIELD_OF("cost_count", 144, 8, U64, ENTRY_HIDDEN, 0),
    FIELD("cost_deviation", 152, 8, U64),
    FIELD("cost_max", 160, 8, U64),
};

static const field_entry fields_of_diagnosis[] = {
    STRUCT_SIZE,
    FIELD("bound", 4, 4, U32),
    FIELD("round_ns", 8, 8, U64),
    FIELD("launch_ns", 16, 8, U64),
    FIELD("kernel_ns", 24, 8, U64),
    FIELD("copy_ns", 32, 8, U64),
    FIELD("decision_ns", 40, 8, U64),
    FIELD("idle_ns", 48, 8, U64),
    FIELD("memory_ns", 56, 8, U64),
    FIELD("operations_ns", 64, 8, U64),
    FIELD("intensity", 72, 8, U64),
    FIELD("ridge", 80, 8, U64),
    FIELD("roofline_share", 88, 8, U64),
    FIELD("launch_share", 96, 8, U64),
};

static const field_entry fields_of_advice[] = {
    STRUCT_SIZE,
    FIELD("form", 4, 4, U32),
    FIELD("bound", 8, 4, U32),
    FIELD("streams", 12, 4, U32),
    FIELD("order", 16, 4, U32),
    FIELD("batch", 20, 4, U32),
    FIELD("gain_low", 24, 4, U32),
    FIELD("gain_high", 28, 4, U32),
    FIELD("round_ns", 32, 8, U64),
    FIELD("host_calls", 40, 8, U64),
    {"reason", 48, 512, 512, KIND_TEXT_ARRAY, KIND_U8, 0, 0, -1, -1, -1},
};

static const field_entry fields_of_batch_request[] = {
    STRUCT_SIZE,
    FIELD_OF("reserved", 4, 4, U32, ENTRY_HIDDEN, 0),
    FIELD("user_data", 8, 8, U64),
    FIELD("flow", 16, 8, U64),
    FIELD("elements", 24, 8, U64),
    FIELD("first", 32, 8, U64),
    FIELD("input_bytes", 40, 8, U64),
    FIELD("output_bytes", 48, 8, U64),
};

static const field_entry fields_of_batch[] = {
    STRUCT_SIZE,
    FIELD_OF("requests", 4, 4, U32, ENTRY_HIDDEN, 0),
    FIELD("elements", 8, 8, U64),
    FIELD("shape", 16, 8, U64),
    FIELD("input", 24, 8, U64),
    FIELD("output", 32, 8, U64),
    FIELD("offsets", 40, 8, U64),
    FIELD("made", 48, 8, U64),
    FIELD("key", 56, 8, U64),
    FIELD("device", 64, 4, U32),
    FIELD("lane", 68, 4, U32),
    {"members", 72, 8, 0, KIND_STRUCTS, KIND_NONE, 0, STRUCT_BATCH_REQUEST, 1, 12, -1},
    FIELD_OF("member_stride", 80, 8, U64, ENTRY_HIDDEN, 0),
};

static const field_entry fields_of_batcher_options[] = {
    STRUCT_SIZE,
    FIELD("flags", 4, 4, U32),
    {"devices", 8, 8, 0, KIND_HANDLES, KIND_NONE, 0, CLASS_DEVICE, 3, -1, -1},
    FIELD_OF("device_count", 16, 8, U64, ENTRY_HIDDEN, 0),
    FIELD("lanes", 24, 4, U32),
    FIELD("capacity", 28, 4, U32),
    FIELD_OF("executor", 32, 8, HANDLE, 0, CLASS_EXECUTOR),
    FIELD("label", 40, 8, TEXT),
};

static const field_entry fields_of_batcher_key_options[] = {
    STRUCT_SIZE,
    FIELD("flags", 4, 4, U32),
    FIELD("layout", 8, 4, U32),
    FIELD("max_batch", 12, 4, U32),
    FIELD("input_bytes", 16, 8, U64),
    FIELD("output_bytes", 24, 8, U64),
    FIELD("max_elements", 32, 8, U64),
    FIELD("max_delay_ns", 40, 8, U64),
    {"buckets", 48, 8, 0, KIND_HANDLES, KIND_NONE, 0, CLASS_BUCKETS, 9, -1, -1},
    FIELD_OF("bucket_count", 56, 8, U64, ENTRY_HIDDEN, 0),
    {"work", 64, 8, 0, KIND_CALLBACK, KIND_NONE, 0, CALLBACK_BATCH, -1, -1, 11},
    FIELD_OF("user", 72, 8, POINTER, ENTRY_HIDDEN, 0),
    FIELD("label", 80, 8, TEXT),
    {"release", 88, 8, 0, KIND_CALLBACK, KIND_NONE, ENTRY_HIDDEN, CALLBACK_BATCH_RELEASE, -1, -1, 11},
};

static const field_entry fields_of_batcher_request[] = {
    STRUCT_SIZE,
    FIELD("key", 4, 4, U32),
    FIELD("flow", 8, 8, U64),
    FIELD("elements", 16, 8, U64),
    FIELD("input", 24, 8, HOST_IN),
    FIELD("input_address", 32, 8, ADDRESS),
    FIELD("output", 40, 8, HOST_OUT),
    FIELD("output_address", 48, 8, ADDRESS),
    FIELD("output_made", 56, 8, HOST_OUT),
    FIELD("deadline_ns", 64, 8, U64),
};

static const field_entry fields_of_batcher_info[] = {
    STRUCT_SIZE,
    FIELD("keys", 4, 4, U32),
    FIELD("waiting", 8, 8, U64),
    FIELD("waiting_elements", 16, 8, U64),
    FIELD("waiting_flows", 24, 8, U64),
    FIELD("running", 32, 8, U64),
    FIELD("running_batches", 40, 8, U64),
    FIELD("submitted", 48, 8, U64),
    FIELD("submitted_bytes", 56, 8, U64),
    FIELD("succeeded", 64, 8, U64),
    FIELD("failed", 72, 8, U64),
    FIELD("expired", 80, 8, U64),
    FIELD("cancelled", 88, 8, U64),
    FIELD("refused_full", 96, 8, U64),
    FIELD("refused_deadline", 104, 8, U64),
    FIELD("late", 112, 8, U64),
    FIELD("batches", 120, 8, U64),
    FIELD("batch_elements", 128, 8, U64),
    FIELD("padded_elements", 136, 8, U64),
    FIELD("delay_ns", 144, 8, U64),
    FIELD("wait_ns", 152, 8, U64),
    FIELD("requests_per_second", 160, 8, F64),
    FIELD("batches_per_second", 168, 8, F64),
    FIELD("queue_ns", 176, 8, U64),
    FIELD("batch_ns", 184, 8, U64),
    FIELD("request_ns", 192, 8, U64),
    {"sizes", 200, 136, 17, KIND_NUMBER_ARRAY, KIND_U64, 0, 0, -1, -1, -1},
    {"queue_times", 336, 256, 32, KIND_NUMBER_ARRAY, KIND_U64, 0, 0, -1, -1, -1},
    {"batch_times", 592, 256, 32, KIND_NUMBER_ARRAY, KIND_U64, 0, 0, -1, -1, -1},
    {"request_times", 848, 256, 32, KIND_NUMBER_ARRAY, KIND_U64, 0, 0, -1, -1, -1},
};

static const field_entry fields_of_batcher_flow_info[] = {
    STRUCT_SIZE,
    FIELD("weight", 4, 4, U32),
    FIELD("waiting", 8, 8, U64),
    FIELD("submitted", 16, 8, U64),
    FIELD("succeeded", 24, 8, U64),
    FIELD("failed", 32, 8, U64),
    FIELD("wait_ns", 40, 8, U64),
    FIELD("longest_wait_ns", 48, 8, U64),
};

static const field_entry fields_of_bucket_work[] = {
    STRUCT_SIZE,
    FIELD_OF("reserved", 4, 4, U32, ENTRY_HIDDEN, 0),
    FIELD("size", 8, 8, U64),
    FIELD("shape", 16, 8, U64),
    FIELD_OF("graph_template", 24, 8, HANDLE, 0, CLASS_TEMPLATE),
    {"settings", 32, 8, 0, KIND_STRUCTS, KIND_NONE, 0, STRUCT_SETTING, 7, 6, -1},
    FIELD_OF("setting_stride", 40, 8, U64, ENTRY_HIDDEN, 0),
    FIELD_OF("setting_count", 48, 8, U64, ENTRY_HIDDEN, 0),
    FIELD("phase", 56, 4, U32),
    FIELD_OF("reserved2", 60, 4, U32, ENTRY_HIDDEN, 0),
};

static const field_entry fields_of_memory_range[] = {
    STRUCT_SIZE,
    FIELD_OF("reserved", 4, 4, U32, ENTRY_HIDDEN, 0),
    FIELD("address", 8, 8, ADDRESS),
    FIELD("bytes", 16, 8, U64),
};

static const field_entry fields_of_buckets_options[] = {
    STRUCT_SIZE,
    FIELD("flags", 4, 4, U32),
    {"shapes", 8, 8, 0, KIND_NUMBERS, KIND_U64, 0, 0, 3, -1, -1},
    FIELD_OF("shape_count", 16, 8, U64, ENTRY_HIDDEN, 0),
    FIELD("max_bytes", 24, 8, U64),
    FIELD("max_buckets", 32, 4, U32),
    FIELD("streams", 36, 4, U32),
    {"record", 40, 8, 0, KIND_CALLBACK, KIND_NONE, 0, CALLBACK_BUCKET, -1, -1, 9},
    {"pad", 48, 8, 0, KIND_CALLBACK, KIND_NONE, 0, CALLBACK_BUCKET, -1, -1, 9},
    FIELD_OF("user", 56, 8, POINTER, ENTRY_HIDDEN, 0),
    FIELD("pad_address", 64, 8, ADDRESS),
    FIELD("pad_element_bytes", 72, 8, U64),
    FIELD("label", 80, 8, TEXT),
    {"restored", 88, 8, 0, KIND_STRUCTS, KIND_NONE, 0, STRUCT_MEMORY_RANGE, 15, 14, -1},
    FIELD_OF("restored_stride", 96, 8, U64, ENTRY_HIDDEN, 0),
    FIELD_OF("restored_count", 104, 8, U64, ENTRY_HIDDEN, 0),
};

static const field_entry fields_of_buckets_statistics[] = {
    STRUCT_SIZE,
    FIELD("buckets", 4, 4, U32),
    FIELD("bytes", 8, 8, U64),
    FIELD("hits", 16, 8, U64),
    FIELD("misses", 24, 8, U64),
    FIELD("eager", 32, 8, U64),
    FIELD("evictions", 40, 8, U64),
    FIELD("requested", 48, 8, U64),
    FIELD("padded", 56, 8, U64),
    FIELD("failures", 64, 8, U64),
    FIELD("fallbacks", 72, 8, U64),
    {"last_failure", 80, 256, 256, KIND_TEXT_ARRAY, KIND_U8, 0, 0, -1, -1, -1},
};

static const field_entry fields_of_cq_options[] = {
    STRUCT_SIZE,
    FIELD("flags", 4, 4, U32),
    FIELD("capacity", 8, 4, U32),
    FIELD_OF("reserved", 12, 4, U32, ENTRY_HIDDEN, 0),
    FIELD("label", 16, 8, TEXT),
};

static const field_entry fields_of_completion[] = {
    STRUCT_SIZE,
    FIELD("status", 4, 4, STATUS),
    FIELD("user_data", 8, 8, U64),
    FIELD("origin", 16, 4, U32),
    FIELD_OF("reserved", 20, 4, U32, ENTRY_HIDDEN, 0),
    FIELD("operation", 24, 8, U64),
    FIELD("submitted_ns", 32, 8, U64),
    FIELD("completed_ns", 40, 8, U64),
    FIELD("gpu_ns", 48, 8, I64),
    FIELD("error_id", 56, 8, U64),
};

static const field_entry fields_of_cq_statistics[] = {
    STRUCT_SIZE,
    FIELD("capacity", 4, 4, U32),
    FIELD("accepted", 8, 8, U64),
    FIELD("delivered", 16, 8, U64),
    FIELD("drained", 24, 8, U64),
    FIELD("refused", 32, 8, U64),
};

static const field_entry fields_of_device_properties[] = {
    STRUCT_SIZE,
    FIELD("native_ordinal", 4, 4, I32),
    {"name", 8, 128, 128, KIND_TEXT_ARRAY, KIND_U8, 0, 0, -1, -1, -1},
    {"uuid", 136, 16, 16, KIND_BYTE_ARRAY, KIND_U8, 0, 0, -1, -1, -1},
    {"pci_address", 152, 32, 32, KIND_TEXT_ARRAY, KIND_U8, 0, 0, -1, -1, -1},
    FIELD("numa_node", 184, 4, I32),
    FIELD("compute_capability_major", 188, 4, I32),
    FIELD("compute_capability_minor", 192, 4, I32),
    FIELD("multiprocessors", 196, 4, I32),
    FIELD("copy_engines", 200, 4, I32),
    FIELD("warp_size", 204, 4, I32),
    FIELD("max_threads_per_block", 208, 4, I32),
    FIELD("max_threads_per_multiprocessor", 212, 4, I32),
    FIELD("clock_khz", 216, 4, I32),
    FIELD("memory_clock_khz", 220, 4, I32),
    FIELD("memory_bus_bits", 224, 4, I32),
    FIELD("l2_bytes", 228, 4, I32),
    FIELD("software", 232, 4, U32),
    FIELD("memory_bytes", 240, 8, U64),
    FIELD("shared_bytes_per_block", 248, 8, U64),
    FIELD("shared_bytes_per_block_max", 256, 8, U64),
    FIELD("shared_bytes_per_multiprocessor", 264, 8, U64),
    {"max_block", 272, 12, 3, KIND_NUMBER_ARRAY, KIND_U32, 0, 0, -1, -1, -1},
    {"max_grid", 284, 12, 3, KIND_NUMBER_ARRAY, KIND_U32, 0, 0, -1, -1, -1},
    FIELD("cooperative_launch", 296, 4, U32),
    FIELD("cluster_launch", 300, 4, U32),
    FIELD("memory_pools", 304, 4, U32),
    FIELD("batched_copies", 308, 4, U32),
};

static const field_entry fields_of_peer_properties[] = {
    STRUCT_SIZE,
    FIELD("accessible", 4, 4, U32),
    FIELD("native_atomics", 8, 4, U32),
    FIELD("performance_rank", 12, 4, I32),
};

static const field_entry fields_of_device_options[] = {
    STRUCT_SIZE,
    FIELD("flags", 4, 4, U32),
    FIELD("ordinal", 8, 4, U32),
    FIELD_OF("reserved", 12, 4, U32, ENTRY_HIDDEN, 0),
    FIELD("native_context", 16, 8, POINTER),
    FIELD("label", 24, 8, TEXT),
};

static const field_entry fields_of_event_options[] = {
    STRUCT_SIZE,
    FIELD("flags", 4, 4, U32),
    FIELD("label", 8, 8, TEXT),
};

static const field_entry fields_of_executor_options[] = {
    STRUCT_SIZE,
    FIELD("flags", 4, 4, U32),
    FIELD("threads", 8, 4, U32),
    FIELD("capacity", 12, 4, U32),
    FIELD("label", 16, 8, TEXT),
};

static const field_entry fields_of_executor_statistics[] = {
    STRUCT_SIZE,
    FIELD("threads", 4, 4, U32),
    FIELD("accepted", 8, 8, U64),
    FIELD("called", 16, 8, U64),
    FIELD("cancelled", 24, 8, U64),
    FIELD("threw", 32, 8, U64),
    FIELD("refused", 40, 8, U64),
    FIELD("pending", 48, 8, U64),
};

static const field_entry fields_of_host_call[] = {
    STRUCT_SIZE,
    FIELD("status", 4, 4, STATUS),
    FIELD("call", 8, 8, U64),
    FIELD_OF("error", 16, 8, STRUCT, 0, STRUCT_ERROR),
};

static const field_entry fields_of_memory_statistics[] = {
    STRUCT_SIZE,
    FIELD("slabs", 4, 4, U32),
    FIELD("in_use", 8, 8, U64),
    FIELD_OF("reserved", 16, 8, U64, ENTRY_HIDDEN, 0),
    FIELD("peak_in_use", 24, 8, U64),
    FIELD("peak_reserved", 32, 8, U64),
    FIELD("waiting", 40, 8, U64),
    FIELD("allocations", 48, 8, U64),
    FIELD("frees", 56, 8, U64),
    FIELD("driver_calls", 64, 8, U64),
};

static const field_entry fields_of_arena_options[] = {
    STRUCT_SIZE,
    FIELD("flags", 4, 4, U32),
    FIELD("max_bytes", 8, 8, U64),
    FIELD("slab_bytes", 16, 8, U64),
    FIELD("initial_bytes", 24, 8, U64),
    FIELD("numa_node", 32, 4, I32),
    FIELD_OF("reserved", 36, 4, U32, ENTRY_HIDDEN, 0),
    FIELD("label", 40, 8, TEXT),
};

static const field_entry fields_of_memory_info[] = {
    STRUCT_SIZE,
    FIELD("kind", 4, 4, U32),
    FIELD("device_ordinal", 8, 4, I32),
    FIELD_OF("reserved", 12, 4, U32, ENTRY_HIDDEN, 0),
    FIELD("start", 16, 8, U64),
    FIELD("bytes", 24, 8, U64),
};

static const field_entry fields_of_pool_options[] = {
    STRUCT_SIZE,
    FIELD("flags", 4, 4, U32),
    FIELD("max_bytes", 8, 8, U64),
    FIELD("keep_bytes", 16, 8, U64),
    FIELD("initial_bytes", 24, 8, U64),
    FIELD("label", 32, 8, TEXT),
};

static const field_entry fields_of_copy[] = {
    STRUCT_SIZE,
    FIELD("flags", 4, 4, U32),
    FIELD("destination", 8, 8, ADDRESS),
    FIELD("source", 16, 8, ADDRESS),
    FIELD("bytes", 24, 8, U64),
};

static const field_entry fields_of_copy_2d[] = {
    STRUCT_SIZE,
    FIELD("flags", 4, 4, U32),
    FIELD("destination", 8, 8, ADDRESS),
    FIELD("destination_pitch", 16, 8, U64),
    FIELD("source", 24, 8, ADDRESS),
    FIELD("source_pitch", 32, 8, U64),
    FIELD("width", 40, 8, U64),
    FIELD("height", 48, 8, U64),
};

static const field_entry fields_of_metrics[] = {
    STRUCT_SIZE,
    FIELD("devices", 4, 4, U32),
    FIELD("streams", 8, 8, U64),
    FIELD("operations_pending", 16, 8, U64),
    FIELD("operations_held", 24, 8, U64),
    FIELD("completions_pending", 32, 8, U64),
    FIELD("notifies_refused", 40, 8, U64),
    FIELD("arena_in_use", 48, 8, U64),
    FIELD("arena_reserved", 56, 8, U64),
    FIELD("arena_peak", 64, 8, U64),
    FIELD("pool_in_use", 72, 8, U64),
    FIELD("pool_reserved", 80, 8, U64),
    FIELD("pool_peak", 88, 8, U64),
    FIELD("latency_count", 96, 8, U64),
    FIELD("latency_sum", 104, 8, U64),
    {"latencies", 112, 256, 32, KIND_NUMBER_ARRAY, KIND_U64, 0, 0, -1, -1, -1},
    {"errors", 368, 768, 96, KIND_NUMBER_ARRAY, KIND_U64, 0, 0, -1, -1, -1},
    FIELD("executors", 1136, 8, U64),
    FIELD("executor_threads", 1144, 8, U64),
    FIELD("callbacks", 1152, 8, U64),
    FIELD("callbacks_pending", 1160, 8, U64),
    FIELD("pipeline_pinned", 1168, 8, U64),
};

static const field_entry fields_of_device_metrics[] = {
    STRUCT_SIZE,
    FIELD_OF("reserved", 4, 4, U32, ENTRY_HIDDEN, 0),
    FIELD("memory_total", 8, 8, I64),
    FIELD("memory_used", 16, 8, I64),
    FIELD("utilization", 24, 8, I64),
    FIELD("memory_utilization", 32, 8, I64),
    FIELD("power", 40, 8, I64),
    FIELD("energy", 48, 8, I64),
    FIELD("temperature", 56, 8, I64),
    FIELD("sm_clock", 64, 8, I64),
    FIELD("memory_clock", 72, 8, I64),
    FIELD("pcie_sent", 80, 8, I64),
    FIELD("pcie_received", 88, 8, I64),
    {"reason", 96, 160, 160, KIND_TEXT_ARRAY, KIND_U8, 0, 0, -1, -1, -1},
};

static const field_entry fields_of_compile_options[] = {
    STRUCT_SIZE,
    FIELD("flags", 4, 4, U32),
    FIELD("source", 8, 8, TEXT),
    FIELD_OF("source_bytes", 16, 8, U64, ENTRY_HIDDEN, 0),
    FIELD("file_name", 24, 8, TEXT),
    {"options", 32, 8, 0, KIND_TEXTS, KIND_NONE, 0, 0, 6, -1, -1},
    FIELD_OF("option_count", 40, 4, U32, ENTRY_HIDDEN, 0),
    FIELD_OF("name_expression_count", 44, 4, U32, ENTRY_HIDDEN, 0),
    {"name_expressions", 48, 8, 0, KIND_TEXTS, KIND_NONE, 0, 0, 7, -1, -1},
    {"headers", 56, 8, 0, KIND_HEADERS, KIND_NONE, 0, 0, 11, -1, -1},
    {"header_texts", 64, 8, 0, KIND_TEXTS, KIND_NONE, ENTRY_HIDDEN, 0, 11, -1, -1},
    FIELD_OF("header_count", 72, 4, U32, ENTRY_HIDDEN, 0),
    FIELD_OF("reserved", 76, 4, U32, ENTRY_HIDDEN, 0),
    FIELD("label", 80, 8, TEXT),
};

static const field_entry fields_of_kernel_attributes[] = {
    STRUCT_SIZE,
    FIELD("max_threads_per_block", 4, 4, U32),
    FIELD("registers_per_thread", 8, 4, U32),
    FIELD("parameter_count", 12, 4, U32),
    FIELD("static_shared_bytes", 16, 8, U64),
    FIELD("constant_bytes", 24, 8, U64),
    FIELD("local_bytes_per_thread", 32, 8, U64),
    FIELD("parameter_bytes", 40, 8, U64),
    FIELD("max_dynamic_shared_bytes", 48, 8, U64),
    FIELD("ptx_version", 56, 4, I32),
    FIELD("binary_version", 60, 4, I32),
};

static const field_entry fields_of_launch[] = {
    STRUCT_SIZE,
    FIELD("flags", 4, 4, U32),
    {"grid", 8, 12, 3, KIND_NUMBER_ARRAY, KIND_U32, 0, 0, -1, -1, -1},
    {"block", 20, 12, 3, KIND_NUMBER_ARRAY, KIND_U32, 0, 0, -1, -1, -1},
    {"cluster", 32, 12, 3, KIND_NUMBER_ARRAY, KIND_U32, 0, 0, -1, -1, -1},
    FIELD("priority", 44, 4, I32),
    FIELD("dynamic_shared_bytes", 48, 8, U64),
    FIELD("label", 56, 8, TEXT),
};

static const field_entry fields_of_peers_options[] = {
    STRUCT_SIZE,
    FIELD("flags", 4, 4, U32),
    FIELD("engine", 8, 4, U32),
    FIELD_OF("reserved", 12, 4, U32, ENTRY_HIDDEN, 0),
    FIELD("label", 16, 8, TEXT),
};

static const field_entry fields_of_peers_info[] = {
    STRUCT_SIZE,
    FIELD("ranks", 4, 4, U32),
    FIELD("direct", 8, 4, U32),
    FIELD("native_atomics", 12, 4, U32),
    FIELD("nccl_version", 16, 4, U32),
    FIELD("rank", 20, 4, U32),
    FIELD("local_ranks", 24, 4, U32),
    FIELD_OF("reserved", 28, 4, U32, ENTRY_HIDDEN, 0),
    FIELD("collectives", 32, 8, U64),
    FIELD("direct_collectives", 40, 8, U64),
    FIELD("bytes", 48, 8, U64),
    FIELD("mpi_device", 56, 4, U32),
    FIELD_OF("reserved1", 60, 4, U32, ENTRY_HIDDEN, 0),
};

static const field_entry fields_of_join_options[] = {
    STRUCT_SIZE,
    FIELD("flags", 4, 4, U32),
    FIELD("by", 8, 4, U32),
    FIELD("engine", 12, 4, U32),
    FIELD("rank", 16, 4, U32),
    FIELD("ranks", 20, 4, U32),
    FIELD("timeout_ns", 24, 8, I64),
    FIELD("path", 32, 8, TEXT),
    FIELD("id", 40, 8, HOST_IN),
    FIELD("communicator", 48, 8, POINTER),
    FIELD("label", 56, 8, TEXT),
};

static const field_entry fields_of_collective[] = {
    STRUCT_SIZE,
    FIELD("kind", 4, 4, U32),
    FIELD("type", 8, 4, U32),
    FIELD("reduction", 12, 4, U32),
    FIELD("root", 16, 4, U32),
    FIELD("flags", 20, 4, U32),
    FIELD("count", 24, 8, U64),
    FIELD("label", 32, 8, TEXT),
};

static const field_entry fields_of_rank_part[] = {
    STRUCT_SIZE,
    FIELD_OF("reserved", 4, 4, U32, ENTRY_HIDDEN, 0),
    FIELD_OF("stream", 8, 8, HANDLE, 0, CLASS_STREAM),
    FIELD("send", 16, 8, ADDRESS),
    FIELD("receive", 24, 8, ADDRESS),
    FIELD("send_to", 32, 4, U32),
    FIELD("receive_from", 36, 4, U32),
};

static const field_entry fields_of_chunk[] = {
    STRUCT_SIZE,
    FIELD("slot", 4, 4, U32),
    FIELD("index", 8, 8, U64),
    FIELD("offset", 16, 8, U64),
    FIELD("bytes", 24, 8, U64),
    FIELD("output_offset", 32, 8, U64),
    FIELD("output_bytes", 40, 8, U64),
    FIELD("input_address", 48, 8, ADDRESS),
    FIELD("output_address", 56, 8, ADDRESS),
    FIELD("scratch_address", 64, 8, U64),
    FIELD("result_address", 72, 8, U64),
    FIELD("output", 80, 8, POINTER),
    FIELD("result", 88, 8, POINTER),
    FIELD("device", 96, 4, U32),
    FIELD_OF("reserved", 100, 4, U32, ENTRY_HIDDEN, 0),
};

static const field_entry fields_of_source[] = {
    STRUCT_SIZE,
    FIELD("kind", 4, 4, U32),
    {"memory", 8, 8, 0, KIND_HOST_IN, KIND_NONE, 0, 0, 3, -1, -1},
    FIELD("bytes", 16, 8, U64),
    FIELD("path", 24, 8, TEXT),
    FIELD("offset", 32, 8, U64),
    {"fill", 40, 8, 0, KIND_CALLBACK, KIND_NONE, 0, CALLBACK_SOURCE, -1, -1, 7},
    FIELD_OF("user", 48, 8, POINTER, ENTRY_HIDDEN, 0),
    FIELD("descriptor", 56, 4, I32),
    FIELD("flags", 60, 4, U32),
};

static const field_entry fields_of_stage_argument[] = {
    STRUCT_SIZE,
    FIELD("kind", 4, 4, U32),
    {"value", 8, 8, 0, KIND_VALUE, KIND_NONE, 0, 0, 3, -1, -1},
    FIELD_OF("bytes", 16, 8, U64, ENTRY_HIDDEN, 0),
};

static const field_entry fields_of_stage[] = {
    STRUCT_SIZE,
    FIELD("kind", 4, 4, U32),
    FIELD_OF("kernel", 8, 8, HANDLE, 0, CLASS_KERNEL),
    {"block", 16, 12, 3, KIND_NUMBER_ARRAY, KIND_U32, 0, 0, -1, -1, -1},
    {"grid", 28, 12, 3, KIND_NUMBER_ARRAY, KIND_U32, 0, 0, -1, -1, -1},
    FIELD("bytes_per_block", 40, 8, U64),
    FIELD("dynamic_shared_bytes", 48, 8, U64),
    {"arguments", 56, 8, 0, KIND_STRUCTS, KIND_NONE, 0, STRUCT_STAGE_ARGUMENT, 9, 8, -1},
    FIELD_OF("argument_stride", 64, 8, U64, ENTRY_HIDDEN, 0),
    FIELD_OF("argument_count", 72, 4, U32, ENTRY_HIDDEN, 0),
    FIELD("max_blocks", 76, 4, U32),
    {"enqueue", 80, 8, 0, KIND_CALLBACK, KIND_NONE, 0, CALLBACK_STAGE, -1, -1, 12},
    FIELD_OF("user", 88, 8, POINTER, ENTRY_HIDDEN, 0),
    FIELD("label", 96, 8, TEXT),
    FIELD_OF("kernels", 104, 8, HANDLES, 0, CLASS_KERNEL),
};

static const field_entry fields_of_sink[] = {
    STRUCT_SIZE,
    FIELD("kind", 4, 4, U32),
    {"memory", 8, 8, 0, KIND_HOST_OUT, KIND_NONE, 0, 0, 3, -1, -1},
    FIELD_OF("bytes", 16, 8, U64, ENTRY_HIDDEN, 0),
    FIELD("path", 24, 8, TEXT),
    {"take", 32, 8, 0, KIND_CALLBACK, KIND_NONE, 0, CALLBACK_SINK, -1, -1, 6},
    FIELD_OF("user", 40, 8, POINTER, ENTRY_HIDDEN, 0),
    FIELD("descriptor", 48, 4, I32),
    FIELD("flags", 52, 4, U32),
};

static const field_entry fields_of_pipeline_progress[] = {
    STRUCT_SIZE,
    FIELD("running", 4, 4, U32),
    FIELD("bytes_in", 8, 8, U64),
    FIELD("bytes_done", 16, 8, U64),
    FIELD("bytes_total", 24, 8, U64),
    FIELD("chunks_done", 32, 8, U64),
    FIELD("elapsed_ns", 40, 8, U64),
};

static const field_entry fields_of_pipeline_options[] = {
    STRUCT_SIZE,
    FIELD("flags", 4, 4, U32),
    FIELD("chunk_bytes", 8, 8, U64),
    FIELD("granule", 16, 8, U64),
    FIELD("slots", 24, 4, U32),
    FIELD("output_numerator", 28, 4, U32),
    FIELD("output_denominator", 32, 4, U32),
    FIELD_OF("stage_count", 36, 4, U32, ENTRY_HIDDEN, 0),
    {"stages", 40, 8, 0, KIND_STRUCTS, KIND_NONE, 0, STRUCT_STAGE, 7, 9, -1},
    FIELD_OF("stage_stride", 48, 8, U64, ENTRY_HIDDEN, 0),
    FIELD("scratch_bytes", 56, 8, U64),
    FIELD("result_bytes", 64, 8, U64),
    FIELD("max_pinned_bytes", 72, 8, U64),
    {"progress", 80, 8, 0, KIND_CALLBACK, KIND_NONE, 0, CALLBACK_PROGRESS, -1, -1, 14},
    FIELD_OF("progress_user", 88, 8, POINTER, ENTRY_HIDDEN, 0),
    FIELD("progress_ns", 96, 8, U64),
    FIELD("label", 104, 8, TEXT),
    FIELD_OF("executor", 112, 8, HANDLE, 0, CLASS_EXECUTOR),
    {"devices", 120, 8, 0, KIND_HANDLES, KIND_NONE, 0, CLASS_DEVICE, 19, -1, -1},
    FIELD_OF("device_count", 128, 4, U32, ENTRY_HIDDEN, 0),
    FIELD_OF("reserved", 132, 4, U32, ENTRY_HIDDEN, 0),
};

static const field_entry fields_of_pipeline_result[] = {
    STRUCT_SIZE,
    FIELD("status", 4, 4, STATUS),
    FIELD("bytes_in", 8, 8, U64),
    FIELD("bytes_out", 16, 8, U64),
    FIELD("chunks", 24, 8, U64),
    FIELD("elapsed_ns", 32, 8, U64),
    FIELD("chunk_bytes", 40, 8, U64),
    FIELD("slots", 48, 4, U32),
    FIELD("tuned", 52, 4, U32),
    FIELD("copy_in_ns", 56, 8, U64),
    FIELD("copy_out_ns", 64, 8, U64),
    FIELD("kernel_ns", 72, 8, U64),
    FIELD("copy_hidden_ns", 80, 8, U64),
    FIELD("staged_bytes", 88, 8, U64),
};

static const field_entry fields_of_pipeline_share[] = {
    STRUCT_SIZE,
    FIELD_OF("reserved", 4, 4, U32, ENTRY_HIDDEN, 0),
    FIELD("chunks", 8, 8, U64),
    FIELD("bytes_in", 16, 8, U64),
    FIELD("copy_in_ns", 24, 8, U64),
    FIELD("copy_out_ns", 32, 8, U64),
    FIELD("kernel_ns", 40, 8, U64),
    FIELD("copy_hidden_ns", 48, 8, U64),
};

static const field_entry fields_of_queue_options[] = {
    STRUCT_SIZE,
    FIELD("kind", 4, 4, U32),
    FIELD("flags", 8, 4, U32),
    FIELD("batch", 12, 4, U32),
    FIELD("count", 16, 8, U64),
    FIELD("capacity", 24, 8, U64),
    FIELD("task_size", 32, 4, U32),
    FIELD("priorities", 36, 4, U32),
    FIELD("answer_size", 40, 4, U32),
    FIELD("tenants", 44, 4, U32),
    FIELD_OF("stream", 48, 8, HANDLE, 0, CLASS_STREAM),
    FIELD("label", 56, 8, TEXT),
};

static const field_entry fields_of_tenant_options[] = {
    STRUCT_SIZE,
    FIELD_OF("reserved", 4, 4, U32, ENTRY_HIDDEN, 0),
    FIELD("limit", 8, 8, U64),
    FIELD_OF("completions", 16, 8, HANDLE, 0, CLASS_CQ),
};

static const field_entry fields_of_answer[] = {
    STRUCT_SIZE,
    FIELD("status", 4, 4, STATUS),
    FIELD("user_data", 8, 8, U64),
};

static const field_entry fields_of_queue_info[] = {
    STRUCT_SIZE,
    FIELD("kind", 4, 4, U32),
    FIELD("state", 8, 4, U32),
    FIELD("task_size", 12, 4, U32),
    FIELD("capacity", 16, 8, U64),
    FIELD("depth", 24, 8, U64),
    FIELD("pushed", 32, 8, U64),
    FIELD("popped", 40, 8, U64),
    FIELD("done", 48, 8, U64),
    FIELD("refused", 56, 8, U64),
    FIELD("device_bytes", 64, 8, U64),
    FIELD("pinned_bytes", 72, 8, U64),
    FIELD("posted", 80, 8, U64),
    FIELD("answered", 88, 8, U64),
    FIELD("unanswered", 96, 8, U64),
    FIELD("answer_size", 104, 4, U32),
    FIELD("tenants", 108, 4, U32),
};

static const field_entry fields_of_runtime_options[] = {
    STRUCT_SIZE,
    FIELD("flags", 4, 4, U32),
    FIELD("device", 8, 8, TEXT),
    {"log", 16, 8, 0, KIND_CALLBACK, KIND_NONE, 0, CALLBACK_LOG, -1, -1, 4},
    FIELD_OF("log_user", 24, 8, POINTER, ENTRY_HIDDEN, 0),
    FIELD("log_level", 32, 4, I32),
    FIELD("completion_mode", 36, 4, U32),
    FIELD("schedule_seed", 40, 8, U64),
    FIELD("cache", 48, 8, TEXT),
    FIELD("label", 56, 8, TEXT),
};

static const field_entry fields_of_driver_info[] = {
    STRUCT_SIZE,
    FIELD("version", 4, 4, I32),
    FIELD("software", 8, 4, U32),
    FIELD("device_count", 12, 4, U32),
    {"name", 16, 16, 16, KIND_TEXT_ARRAY, KIND_U8, 0, 0, -1, -1, -1},
    {"reason", 32, 256, 256, KIND_TEXT_ARRAY, KIND_U8, 0, 0, -1, -1, -1},
};

static const field_entry fields_of_statistics[] = {
    STRUCT_SIZE,
    FIELD("live_objects", 4, 4, U32),
    FIELD("launches", 8, 8, U64),
    FIELD("copies", 16, 8, U64),
    FIELD("copied_bytes", 24, 8, U64),
    FIELD("fills", 32, 8, U64),
    FIELD("notifies", 40, 8, U64),
    FIELD("completions", 48, 8, U64),
    FIELD("failures", 56, 8, U64),
    FIELD("holds", 64, 8, U64),
    FIELD("device_allocations", 72, 8, U64),
    FIELD("host_registrations", 80, 8, U64),
    FIELD("pageable_copies", 88, 8, U64),
    FIELD("pageable_bytes", 96, 8, U64),
    FIELD("legacy_stream_uses", 104, 8, U64),
    FIELD("module_loads", 112, 8, U64),
    FIELD("put_off", 120, 8, U64),
};

static const field_entry fields_of_handler[] = {
    STRUCT_SIZE,
    FIELD_OF("graph_count", 4, 4, U32, ENTRY_HIDDEN, 0),
    FIELD("name", 8, 8, TEXT),
    {"graphs", 16, 8, 0, KIND_HANDLES, KIND_NONE, 0, CLASS_GRAPH, 1, -1, -1},
    FIELD("task_memory", 24, 8, ADDRESS),
};

static const field_entry fields_of_scheduler_options[] = {
    STRUCT_SIZE,
    FIELD("form", 4, 4, U32),
    FIELD_OF("queue", 8, 8, HANDLE, 0, CLASS_QUEUE),
    FIELD("source", 16, 8, TEXT),
    FIELD_OF("source_bytes", 24, 8, U64, ENTRY_HIDDEN, 0),
    FIELD("file_name", 32, 8, TEXT),
    {"compile_options", 40, 8, 0, KIND_TEXTS, KIND_NONE, 0, 0, 7, -1, -1},
    FIELD_OF("compile_option_count", 48, 4, U32, ENTRY_HIDDEN, 0),
    FIELD("workers", 52, 4, U32),
    FIELD("threads", 56, 4, U32),
    FIELD("blocks_per_multiprocessor", 60, 4, U32),
    FIELD("multiprocessors", 64, 4, U32),
    FIELD("leave_free", 68, 4, U32),
    FIELD("batch", 72, 4, U32),
    FIELD("max_errors", 76, 4, U32),
    FIELD("argument", 80, 8, ADDRESS),
    FIELD("dynamic_shared_bytes", 88, 8, U64),
    FIELD("idle_timeout_ns", 96, 8, U64),
    FIELD("sample_interval_ns", 104, 8, U64),
    FIELD("label", 112, 8, TEXT),
};

static const field_entry fields_of_scheduler_info[] = {
    STRUCT_SIZE,
    FIELD("form", 4, 4, U32),
    FIELD("state", 8, 4, U32),
    FIELD("last_end", 12, 4, STATUS),
    FIELD("runs", 16, 8, U64),
    FIELD("tasks", 24, 8, U64),
    FIELD("errors", 32, 8, U64),
    FIELD("refused_pushes", 40, 8, U64),
    FIELD("depth", 48, 8, U64),
    FIELD("steps", 56, 8, U64),
    FIELD("empty_polls", 64, 8, U64),
    FIELD("busy_ns", 72, 8, U64),
    FIELD("worker_ns", 80, 8, U64),
    FIELD("multiprocessors", 88, 4, U32),
    FIELD("blocks", 92, 4, U32),
    FIELD("workers", 96, 4, U32),
    FIELD("handlers", 100, 4, U32),
    FIELD("device_bytes", 104, 8, U64),
};

static const field_entry fields_of_handler_info[] = {
    STRUCT_SIZE,
    FIELD_OF("reserved", 4, 4, U32, ENTRY_HIDDEN, 0),
    FIELD("tasks", 8, 8, U64),
    FIELD("errors", 16, 8, U64),
    FIELD("busy_ns", 24, 8, U64),
};

static const field_entry fields_of_scheduler_block[] = {
    STRUCT_SIZE,
    FIELD("multiprocessor", 4, 4, U32),
    FIELD("workers", 8, 4, U32),
    FIELD_OF("reserved", 12, 4, U32, ENTRY_HIDDEN, 0),
    FIELD("tasks", 16, 8, U64),
    FIELD("empty_polls", 24, 8, U64),
    FIELD("busy_ns", 32, 8, U64),
    FIELD("worker_ns", 40, 8, U64),
};

static const field_entry fields_of_depth_sample[] = {
    STRUCT_SIZE,
    FIELD("run", 4, 4, U32),
    FIELD("time_ns", 8, 8, U64),
    FIELD("depth", 16, 8, U64),
};

static const field_entry fields_of_task_error[] = {
    STRUCT_SIZE,
    FIELD("handler", 4, 4, U32),
    FIELD("status", 8, 4, STATUS),
    FIELD("priority", 12, 4, U32),
    FIELD("position", 16, 8, U64),
    {"task", 24, 16, 4, KIND_NUMBER_ARRAY, KIND_U32, 0, 0, -1, -1, -1},
};

static const field_entry fields_of_error[] = {
    STRUCT_SIZE,
    FIELD("status", 4, 4, STATUS),
    FIELD("native_code", 8, 4, I32),
    FIELD("native_domain", 12, 4, U32),
    FIELD("operation", 16, 8, U64),
    {"function", 24, 64, 64, KIND_TEXT_ARRAY, KIND_U8, 0, 0, -1, -1, -1},
    {"object", 88, 64, 64, KIND_TEXT_ARRAY, KIND_U8, 0, 0, -1, -1, -1},
    {"message", 152, 512, 512, KIND_TEXT_ARRAY, KIND_U8, 0, 0, -1, -1, -1},
};

static const field_entry fields_of_stream_options[] = {
    STRUCT_SIZE,
    FIELD("flags", 4, 4, U32),
    FIELD("priority", 8, 4, I32),
    FIELD("max_held", 12, 4, U32),
    FIELD("label", 16, 8, TEXT),
};

static const field_entry fields_of_stream_info[] = {
    STRUCT_SIZE,
    FIELD("flags", 4, 4, U32),
    FIELD("priority", 8, 4, I32),
    FIELD("wrapped", 12, 4, U32),
    FIELD("accepted", 16, 8, U64),
    FIELD("completed", 24, 8, U64),
    FIELD("held", 32, 8, U64),
    FIELD_OF("device", 40, 8, HANDLE, 0, CLASS_DEVICE),
    FIELD("replayed", 48, 8, U64),
    FIELD("learned", 56, 4, U32),
    FIELD_OF("reserved", 60, 4, U32, ENTRY_HIDDEN, 0),
};

static const field_entry fields_of_stream_pool_options[] = {
    STRUCT_SIZE,
    FIELD("flags", 4, 4, U32),
    FIELD("streams", 8, 4, U32),
    FIELD("priorities", 12, 4, U32),
    FIELD("label", 16, 8, TEXT),
};

static const field_entry fields_of_symmetric_options[] = {
    STRUCT_SIZE,
    FIELD("flags", 4, 4, U32),
    FIELD("alignment", 8, 8, U64),
    FIELD("label", 16, 8, TEXT),
    FIELD("engine", 24, 4, U32),
    FIELD_OF("reserved", 28, 4, U32, ENTRY_HIDDEN, 0),
};

static const field_entry fields_of_symmetric_info[] = {
    STRUCT_SIZE,
    FIELD("ranks", 4, 4, U32),
    FIELD("bytes", 8, 8, U64),
    FIELD("alignment", 16, 8, U64),
    FIELD("device_bytes", 24, 8, U64),
    FIELD("barrier_blocks", 32, 4, U32),
    FIELD("native_atomics", 36, 4, U32),
};

static const field_entry fields_of_rank_launch[] = {
    STRUCT_SIZE,
    FIELD("flags", 4, 4, U32),
    FIELD_OF("stream", 8, 8, HANDLE, 0, CLASS_STREAM),
    FIELD_OF("kernel", 16, 8, HANDLE, 0, CLASS_KERNEL),
    FIELD_OF("launch", 24, 8, STRUCT, 0, STRUCT_LAUNCH),
    {"arguments", 32, 8, 0, KIND_ARGUMENTS, KIND_NONE, 0, 0, 7, -1, -1},
    {"sizes", 40, 8, 0, KIND_NUMBERS, KIND_U32, ENTRY_HIDDEN, 0, 7, -1, -1},
    FIELD_OF("argument_count", 48, 4, U32, ENTRY_HIDDEN, 0),
    FIELD_OF("reserved", 52, 4, U32, ENTRY_HIDDEN, 0),
};

static const field_entry fields_of_template_options[] = {
    STRUCT_SIZE,
    FIELD("flags", 4, 4, U32),
    FIELD("max_instances", 8, 4, U32),
    FIELD_OF("reserved", 12, 4, U32, ENTRY_HIDDEN, 0),
    FIELD("label", 16, 8, TEXT),
};

static const field_entry fields_of_condition[] = {
    STRUCT_SIZE,
    FIELD("comparison", 4, 4, U32),
    FIELD("word", 8, 8, ADDRESS),
    FIELD("constant", 16, 4, U32),
    FIELD("initial", 20, 4, U32),
    FIELD("max_iterations", 24, 8, U64),
};

static const field_entry fields_of_template_statistics[] = {
    STRUCT_SIZE,
    FIELD("nodes", 4, 4, U32),
    FIELD("parameters", 8, 4, U32),
    FIELD("instances", 12, 4, U32),
    FIELD("pooled", 16, 4, U32),
    FIELD("recordings", 20, 4, U32),
    FIELD("launches", 24, 8, U64),
    FIELD("patches", 32, 8, U64),
    FIELD("updates", 40, 8, U64),
    FIELD("rebuilds", 48, 8, U64),
    FIELD("instance_bytes", 56, 8, U64),
    FIELD("waiting_frees", 64, 8, U64),
    {"last_rebuild", 72, 256, 256, KIND_TEXT_ARRAY, KIND_U8, 0, 0, -1, -1, -1},
    FIELD("held_words", 328, 8, U64),
    FIELD("waiting_for_words", 336, 8, U64),
    FIELD("dropped", 344, 8, U64),
    {"last_dropped", 352, 256, 256, KIND_TEXT_ARRAY, KIND_U8, 0, 0, -1, -1, -1},
};

static const field_entry fields_of_graph_options[] = {
    STRUCT_SIZE,
    FIELD("flags", 4, 4, U32),
    FIELD("label", 8, 8, TEXT),
};

static const field_entry fields_of_setting[] = {
    STRUCT_SIZE,
    FIELD("parameter", 4, 4, U32),
    FIELD("name", 8, 8, TEXT),
    {"value", 16, 8, 0, KIND_VALUE, KIND_NONE, 0, 0, 4, -1, -1},
    FIELD_OF("bytes", 24, 8, U64, ENTRY_HIDDEN, 0),
};

static const field_entry fields_of_graph_update_report[] = {
    STRUCT_SIZE,
    FIELD("rebuilt", 4, 4, U32),
    FIELD("node", 8, 4, U32),
    FIELD_OF("reserved", 12, 4, U32, ENTRY_HIDDEN, 0),
    {"reason", 16, 256, 256, KIND_TEXT_ARRAY, KIND_U8, 0, 0, -1, -1, -1},
    FIELD("dropped", 272, 4, U32),
    {"dropped_parameter", 276, 64, 64, KIND_TEXT_ARRAY, KIND_U8, 0, 0, -1, -1, -1},
    {"dropped_reason", 340, 256, 256, KIND_TEXT_ARRAY, KIND_U8, 0, 0, -1, -1, -1},
};

static const field_entry fields_of_timeline_options[] = {
    STRUCT_SIZE,
    FIELD("flags", 4, 4, U32),
    FIELD("value", 8, 8, U64),
    FIELD("label", 16, 8, TEXT),
};

static const field_entry fields_of_trace_options[] = {
    STRUCT_SIZE,
    FIELD("flags", 4, 4, U32),
    FIELD("path", 8, 8, TEXT),
    FIELD("picture", 16, 8, TEXT),
    FIELD("title", 24, 8, TEXT),
};

static const field_entry fields_of_trace_info[] = {
    STRUCT_SIZE,
    FIELD("running", 4, 4, U32),
    FIELD("file_status", 8, 4, STATUS),
    FIELD_OF("reserved", 12, 4, U32, ENTRY_HIDDEN, 0),
    FIELD("calls", 16, 8, U64),
    FIELD("operations", 24, 8, U64),
    FIELD("timed", 32, 8, U64),
    FIELD("completions", 40, 8, U64),
    FIELD("dropped", 48, 8, U64),
    FIELD("file_bytes", 56, 8, U64),
    FIELD("call_cost_ns", 64, 8, U64),
    FIELD("operation_cost_ns", 72, 8, U64),
    FIELD("clock_error_ns", 80, 8, U64),
    FIELD("callbacks", 88, 8, U64),
};

const struct_entry struct_entries[STRUCT_COUNT] = {
    STRUCT(admission_options, "AdmissionOptions"),
    STRUCT(admission_request, "AdmissionRequest"),
    STRUCT(admission_info, "AdmissionInfo"),
    STRUCT(costs, "Costs"),
    STRUCT(workload, "Workload"),
    STRUCT(diagnosis, "Diagnosis"),
    STRUCT(advice, "Advice"),
    STRUCT(batch_request, "BatchRequest"),
    STRUCT(batch, "Batch"),
    STRUCT(batcher_options, "BatcherOptions"),
    STRUCT(batcher_key_options, "BatcherKeyOptions"),
    STRUCT(batcher_request, "BatcherRequest"),
    STRUCT(batcher_info, "BatcherInfo"),
    STRUCT(batcher_flow_info, "BatcherFlowInfo"),
    STRUCT(bucket_work, "BucketWork"),
    STRUCT(memory_range, "MemoryRange"),
    STRUCT(buckets_options, "BucketsOptions"),
    STRUCT(buckets_statistics, "BucketsStatistics"),
    STRUCT(cq_options, "CqOptions"),
    STRUCT(completion, "Completion"),
    STRUCT(cq_statistics, "CqStatistics"),
    STRUCT(device_properties, "DeviceProperties"),
    STRUCT(peer_properties, "PeerProperties"),
    STRUCT(device_options, "DeviceOptions"),
    STRUCT(event_options, "EventOptions"),
    STRUCT(executor_options, "ExecutorOptions"),
    STRUCT(executor_statistics, "ExecutorStatistics"),
    STRUCT(host_call, "HostCall"),
    STRUCT(memory_statistics, "MemoryStatistics"),
    STRUCT(arena_options, "ArenaOptions"),
    STRUCT(memory_info, "MemoryInfo"),
    STRUCT(pool_options, "PoolOptions"),
    STRUCT(copy, "Copy"),
    STRUCT(copy_2d, "Copy2d"),
    STRUCT(metrics, "Metrics"),
    STRUCT(device_metrics, "DeviceMetrics"),
    STRUCT(compile_options, "CompileOptions"),
    STRUCT(kernel_attributes, "KernelAttributes"),
    STRUCT(launch, "Launch"),
    STRUCT(peers_options, "PeersOptions"),
    STRUCT(peers_info, "PeersInfo"),
    STRUCT(join_options, "JoinOptions"),
    STRUCT(collective, "Collective"),
    STRUCT(rank_part, "RankPart"),
    STRUCT(chunk, "Chunk"),
    STRUCT(source, "Source"),
    STRUCT(stage_argument, "StageArgument"),
    STRUCT(stage, "Stage"),
    STRUCT(sink, "Sink"),
    STRUCT(pipeline_progress, "PipelineProgress"),
    STRUCT(pipeline_options, "PipelineOptions"),
    STRUCT(pipeline_result, "PipelineResult"),
    STRUCT(pipeline_share, "PipelineShare"),
    STRUCT(queue_options, "QueueOptions"),
    STRUCT(tenant_options, "TenantOptions"),
    STRUCT(answer, "Answer"),
    STRUCT(queue_info, "QueueInfo"),
    STRUCT(runtime_options, "RuntimeOptions"),
    STRUCT(driver_info, "DriverInfo"),
    STRUCT(statistics, "Statistics"),
    STRUCT(handler, "Handler"),
    STRUCT(scheduler_options, "SchedulerOptions"),
    STRUCT(scheduler_info, "SchedulerInfo"),
    STRUCT(handler_info, "HandlerInfo"),
    STRUCT(scheduler_block, "SchedulerBlock"),
    STRUCT(depth_sample, "DepthSample"),
    STRUCT(task_error, "TaskError"),
    STRUCT(error, "Error"),
    STRUCT(stream_options, "StreamOptions"),
    STRUCT(stream_info, "StreamInfo"),
    STRUCT(stream_pool_options, "StreamPoolOptions"),
    STRUCT(symmetric_options, "SymmetricOptions"),
    STRUCT(symmetric_info, "SymmetricInfo"),
    STRUCT(rank_launch, "RankLaunch"),
    STRUCT(template_options, "TemplateOptions"),
    STRUCT(condition, "Condition"),
    STRUCT(template_statistics, "TemplateStatistics"),
    STRUCT(graph_options, "GraphOptions"),
    STRUCT(setting, "Setting"),
    STRUCT(graph_update_report, "GraphUpdateReport"),
    STRUCT(timeline_options, "TimelineOptions"),
    STRUCT(trace_options, "TraceOptions"),
    STRUCT(trace_info, "TraceInfo"),
};

CALL(status_name) { a[1].p = (void *)api->status_name((gpo_status)a[0].i); return GPO_SUCCESS; }
static const parameter_entry given_to_status_name[] = {
    GIVEN("status", STATUS),
    GIVEN_OF("text", OUT_STATIC_TEXT, ENTRY_HIDDEN, 0),
};

CALL(status_text) { a[1].p = (void *)api->status_text((gpo_status)a[0].i); return GPO_SUCCESS; }
static const parameter_entry given_to_status_text[] = {
    GIVEN("status", STATUS),
    GIVEN_OF("text", OUT_STATIC_TEXT, ENTRY_HIDDEN, 0),
};

CALL(last_error) { return api->last_error(a[0].p); }
static const parameter_entry given_to_last_error[] = {
    GIVEN_OF("error", OUT_STRUCT, ENTRY_HIDDEN, STRUCT_ERROR),
};

CALL(object_get_error) { return api->object_get_error(a[0].p, a[1].p); }
static const parameter_entry given_to_object_get_error[] = {
    GIVEN_OF("object", HANDLE, 0, CLASS_ANY),
    GIVEN_OF("error", OUT_STRUCT, ENTRY_HIDDEN, STRUCT_ERROR),
};

CALL(object_set_label) { return api->object_set_label(a[0].p, a[1].p); }
static const parameter_entry given_to_object_set_label[] = {
    GIVEN_OF("object", HANDLE, 0, CLASS_ANY),
    GIVEN_OF("label", TEXT, ENTRY_NULLABLE | ENTRY_OPTIONAL, 0),
};

CALL(object_get_label) { return api->object_get_label(a[0].p, a[1].p, a[2].u, a[3].p); }
static const parameter_entry given_to_object_get_label[] = {
    GIVEN_OF("object", HANDLE, 0, CLASS_ANY),
    {"buffer", 0, KIND_OUT_TEXT, KIND_NONE, ENTRY_HIDDEN | ENTRY_NULLABLE, 0, 2, -1, -1},
    GIVEN_OF("capacity", SIZE, ENTRY_HIDDEN, 0),
    {"needed", 0, KIND_NEEDED, KIND_SIZE, ENTRY_HIDDEN | ENTRY_NULLABLE, 0, -1, -1, -1},
};

CALL(runtime_create) { return api->runtime_create(a[0].p, a[1].p); }
static const parameter_entry given_to_runtime_create[] = {
    GIVEN_OF("options", STRUCT, ENTRY_NULLABLE | ENTRY_OPTIONAL, STRUCT_RUNTIME_OPTIONS),
    GIVEN_OF("runtime", OUT_HANDLE, ENTRY_HIDDEN, CLASS_RUNTIME),
};

CALL(runtime_shutdown) { return api->runtime_shutdown(a[0].p, a[1].i); }
static const parameter_entry given_to_runtime_shutdown[] = {
    GIVEN_OF("runtime", HANDLE, ENTRY_NULLABLE | ENTRY_OPTIONAL, CLASS_RUNTIME),
    GIVEN_OF("timeout", TIMEOUT, ENTRY_OPTIONAL, 0),
};

CALL(runtime_get_driver) { return api->runtime_get_driver(a[0].p, a[1].p); }
static const parameter_entry given_to_runtime_get_driver[] = {
    GIVEN_OF("runtime", HANDLE, 0, CLASS_RUNTIME),
    GIVEN_OF("info", OUT_STRUCT, ENTRY_HIDDEN, STRUCT_DRIVER_INFO),
};

CALL(runtime_get_statistics) { return api->runtime_get_statistics(a[0].p, a[1].p); }
static const parameter_entry given_to_runtime_get_statistics[] = {
    GIVEN_OF("runtime", HANDLE, 0, CLASS_RUNTIME),
    GIVEN_OF("statistics", OUT_STRUCT, ENTRY_HIDDEN, STRUCT_STATISTICS),
};

CALL(version) { *(uint32_t *)a[0].p = api->version(); return GPO_SUCCESS; }
static const parameter_entry given_to_version[] = {
    {"number", 0, KIND_OUT_NUMBER, KIND_U32, ENTRY_HIDDEN, 0, -1, -1, -1},
};

CALL(runtime_get_device_count) { return api->runtime_get_device_count(a[0].p, a[1].p); }
static const parameter_entry given_to_runtime_get_device_count[] = {
    GIVEN_OF("runtime", HANDLE, 0, CLASS_RUNTIME),
    {"count", 0, KIND_OUT_NUMBER, KIND_U32, ENTRY_HIDDEN, 0, -1, -1, -1},
};

CALL(runtime_describe_device) { return api->runtime_describe_device(a[0].p, (uint32_t)a[1].u, a[2].p); }
static const parameter_entry given_to_runtime_describe_device[] = {
    GIVEN_OF("runtime", HANDLE, 0, CLASS_RUNTIME),
    GIVEN_OF("ordinal", U32, ENTRY_OPTIONAL, 0),
    GIVEN_OF("properties", OUT_STRUCT, ENTRY_HIDDEN, STRUCT_DEVICE_PROPERTIES),
};

CALL(runtime_describe_peer) { return api->runtime_describe_peer(a[0].p, (uint32_t)a[1].u, (uint32_t)a[2].u, a[3].p); }
static const parameter_entry given_to_runtime_describe_peer[] = {
    GIVEN_OF("runtime", HANDLE, 0, CLASS_RUNTIME),
    GIVEN("from_", U32),
    GIVEN("to", U32),
    GIVEN_OF("properties", OUT_STRUCT, ENTRY_HIDDEN, STRUCT_PEER_PROPERTIES),
};

CALL(device_open) { return api->device_open(a[0].p, a[1].p, a[2].p); }
static const parameter_entry given_to_device_open[] = {
    GIVEN_OF("runtime", HANDLE, 0, CLASS_RUNTIME),
    GIVEN_OF("options", STRUCT, ENTRY_NULLABLE | ENTRY_OPTIONAL, STRUCT_DEVICE_OPTIONS),
    GIVEN_OF("device", OUT_HANDLE, ENTRY_HIDDEN, CLASS_DEVICE),
};

CALL(device_close) { return api->device_close(a[0].p); }
static const parameter_entry given_to_device_close[] = {
    GIVEN_OF("device", HANDLE, ENTRY_NULLABLE | ENTRY_OPTIONAL, CLASS_DEVICE),
};

CALL(device_get_properties) { return api->device_get_properties(a[0].p, a[1].p); }
static const parameter_entry given_to_device_get_properties[] = {
    GIVEN_OF("device", HANDLE, 0, CLASS_DEVICE),
    GIVEN_OF("properties", OUT_STRUCT, ENTRY_HIDDEN, STRUCT_DEVICE_PROPERTIES),
};

CALL(device_wait) { return api->device_wait(a[0].p, a[1].i); }
static const parameter_entry given_to_device_wait[] = {
    GIVEN_OF("device", HANDLE, 0, CLASS_DEVICE),
    GIVEN_OF("timeout", TIMEOUT, ENTRY_OPTIONAL, 0),
};

CALL(device_get_native) { return api->device_get_native(a[0].p, a[1].p, a[2].p); }
static const parameter_entry given_to_device_get_native[] = {
    GIVEN_OF("device", HANDLE, 0, CLASS_DEVICE),
    GIVEN_OF("context", OUT_POINTER, ENTRY_HIDDEN | ENTRY_NULLABLE, 0),
    {"ordinal", 0, KIND_OUT_NUMBER, KIND_I32, ENTRY_HIDDEN | ENTRY_NULLABLE, 0, -1, -1, -1},
};

CALL(device_get_memory) { return api->device_get_memory(a[0].p, a[1].p, a[2].p); }
static const parameter_entry given_to_device_get_memory[] = {
    GIVEN_OF("device", HANDLE, 0, CLASS_DEVICE),
    {"free_bytes", 0, KIND_OUT_NUMBER, KIND_U64, ENTRY_HIDDEN, 0, -1, -1, -1},
    {"total_bytes", 0, KIND_OUT_NUMBER, KIND_U64, ENTRY_HIDDEN, 0, -1, -1, -1},
};

CALL(device_enable_peer) { return api->device_enable_peer(a[0].p, a[1].p); }
static const parameter_entry given_to_device_enable_peer[] = {
    GIVEN_OF("device", HANDLE, 0, CLASS_DEVICE),
    GIVEN_OF("peer", HANDLE, 0, CLASS_DEVICE),
};

CALL(device_disable_peer) { return api->device_disable_peer(a[0].p, a[1].p); }
static const parameter_entry given_to_device_disable_peer[] = {
    GIVEN_OF("device", HANDLE, 0, CLASS_DEVICE),
    GIVEN_OF("peer", HANDLE, 0, CLASS_DEVICE),
};

CALL(device_get_limit) { return api->device_get_limit(a[0].p, (uint32_t)a[1].u, a[2].p); }
static const parameter_entry given_to_device_get_limit[] = {
    GIVEN_OF("device", HANDLE, 0, CLASS_DEVICE),
    GIVEN("limit", U32),
    {"value", 0, KIND_OUT_NUMBER, KIND_U64, ENTRY_HIDDEN, 0, -1, -1, -1},
};

CALL(device_set_limit) { return api->device_set_limit(a[0].p, (uint32_t)a[1].u, a[2].u); }
static const parameter_entry given_to_device_set_limit[] = {
    GIVEN_OF("device", HANDLE, 0, CLASS_DEVICE),
    GIVEN("limit", U32),
    GIVEN("value", U64),
};

CALL(event_create) { return api->event_create(a[0].p, a[1].p, a[2].p); }
static const parameter_entry given_to_event_create[] = {
    GIVEN_OF("device", HANDLE, 0, CLASS_DEVICE),
    GIVEN_OF("options", STRUCT, ENTRY_NULLABLE | ENTRY_OPTIONAL, STRUCT_EVENT_OPTIONS),
    GIVEN_OF("event", OUT_HANDLE, ENTRY_HIDDEN, CLASS_EVENT),
};

CALL(event_destroy) { return api->event_destroy(a[0].p); }
static const parameter_entry given_to_event_destroy[] = {
    GIVEN_OF("event", HANDLE, ENTRY_NULLABLE | ENTRY_OPTIONAL, CLASS_EVENT),
};

CALL(event_record) { return api->event_record(a[0].p, a[1].p); }
static const parameter_entry given_to_event_record[] = {
    GIVEN_OF("event", HANDLE, 0, CLASS_EVENT),
    GIVEN_OF("stream", HANDLE, 0, CLASS_STREAM),
};

CALL(event_query) { return api->event_query(a[0].p); }
static const parameter_entry given_to_event_query[] = {
    GIVEN_OF("event", HANDLE, 0, CLASS_EVENT),
};

CALL(event_wait) { return api->event_wait(a[0].p, a[1].i); }
static const parameter_entry given_to_event_wait[] = {
    GIVEN_OF("event", HANDLE, 0, CLASS_EVENT),
    GIVEN_OF("timeout", TIMEOUT, ENTRY_OPTIONAL, 0),
};

CALL(event_get_elapsed) { return api->event_get_elapsed(a[0].p, a[1].p, a[2].p); }
static const parameter_entry given_to_event_get_elapsed[] = {
    GIVEN_OF("start", HANDLE, 0, CLASS_EVENT),
    GIVEN_OF("end", HANDLE, 0, CLASS_EVENT),
    {"nanoseconds", 0, KIND_OUT_NUMBER, KIND_I64, ENTRY_HIDDEN, 0, -1, -1, -1},
};

CALL(event_notify) { return api->event_notify(a[0].p, a[1].p, a[2].u); }
static const parameter_entry given_to_event_notify[] = {
    GIVEN_OF("event", HANDLE, 0, CLASS_EVENT),
    GIVEN_OF("cq", HANDLE, 0, CLASS_CQ),
    GIVEN_OF("user_data", U64, ENTRY_OPTIONAL, 0),
};

CALL(event_get_native) { return api->event_get_native(a[0].p, a[1].p); }
static const parameter_entry given_to_event_get_native[] = {
    GIVEN_OF("event", HANDLE, 0, CLASS_EVENT),
    GIVEN_OF("native", OUT_POINTER, ENTRY_HIDDEN, 0),
};

CALL(timeline_create) { return api->timeline_create(a[0].p, a[1].p, a[2].p); }
static const parameter_entry given_to_timeline_create[] = {
    GIVEN_OF("runtime", HANDLE, 0, CLASS_RUNTIME),
    GIVEN_OF("options", STRUCT, ENTRY_NULLABLE | ENTRY_OPTIONAL, STRUCT_TIMELINE_OPTIONS),
    GIVEN_OF("timeline", OUT_HANDLE, ENTRY_HIDDEN, CLASS_TIMELINE),
};

CALL(timeline_destroy) { return api->timeline_destroy(a[0].p); }
static const parameter_entry given_to_timeline_destroy[] = {
    GIVEN_OF("timeline", HANDLE, ENTRY_NULLABLE | ENTRY_OPTIONAL, CLASS_TIMELINE),
};

CALL(timeline_signal) { return api->timeline_signal(a[0].p, a[1].u); }
static const parameter_entry given_to_timeline_signal[] = {
    GIVEN_OF("timeline", HANDLE, 0, CLASS_TIMELINE),
    GIVEN("value", U64),
};

CALL(timeline_fail) { return api->timeline_fail(a[0].p, (gpo_status)a[1].i, a[2].p); }
static const parameter_entry given_to_timeline_fail[] = {
    GIVEN_OF("timeline", HANDLE, 0, CLASS_TIMELINE),
    GIVEN("status", STATUS),
    GIVEN_OF("message", TEXT, ENTRY_NULLABLE | ENTRY_OPTIONAL, 0),
};

CALL(timeline_get_value) { return api->timeline_get_value(a[0].p, a[1].p); }
static const parameter_entry given_to_timeline_get_value[] = {
    GIVEN_OF("timeline", HANDLE, 0, CLASS_TIMELINE),
    {"value", 0, KIND_OUT_NUMBER, KIND_U64, ENTRY_HIDDEN, 0, -1, -1, -1},
};

CALL(timeline_wait) { return api->timeline_wait(a[0].p, a[1].u, a[2].i); }
static const parameter_entry given_to_timeline_wait[] = {
    GIVEN_OF("timeline", HANDLE, 0, CLASS_TIMELINE),
    GIVEN("value", U64),
    GIVEN_OF("timeout", TIMEOUT, ENTRY_OPTIONAL, 0),
};

CALL(stream_create) { return api->stream_create(a[0].p, a[1].p, a[2].p); }
static const parameter_entry given_to_stream_create[] = {
    GIVEN_OF("device", HANDLE, 0, CLASS_DEVICE),
    GIVEN_OF("options", STRUCT, ENTRY_NULLABLE | ENTRY_OPTIONAL, STRUCT_STREAM_OPTIONS),
    GIVEN_OF("stream", OUT_HANDLE, ENTRY_HIDDEN, CLASS_STREAM),
};

CALL(stream_wrap) { return api->stream_wrap(a[0].p, a[1].p, a[2].p, a[3].p); }
static const parameter_entry given_to_stream_wrap[] = {
    GIVEN_OF("device", HANDLE, 0, CLASS_DEVICE),
    GIVEN_OF("native", POINTER, ENTRY_NULLABLE | ENTRY_OPTIONAL, 0),
    GIVEN_OF("options", STRUCT, ENTRY_NULLABLE | ENTRY_OPTIONAL, STRUCT_STREAM_OPTIONS),
    GIVEN_OF("stream", OUT_HANDLE, ENTRY_HIDDEN, CLASS_STREAM),
};

CALL(stream_destroy) { return api->stream_destroy(a[0].p); }
static const parameter_entry given_to_stream_destroy[] = {
    GIVEN_OF("stream", HANDLE, ENTRY_NULLABLE | ENTRY_OPTIONAL, CLASS_STREAM),
};

CALL(device_get_priority_range) { return api->device_get_priority_range(a[0].p, a[1].p, a[2].p); }
static const parameter_entry given_to_device_get_priority_range[] = {
    GIVEN_OF("device", HANDLE, 0, CLASS_DEVICE),
    {"least", 0, KIND_OUT_NUMBER, KIND_I32, ENTRY_HIDDEN | ENTRY_NULLABLE, 0, -1, -1, -1},
    {"greatest", 0, KIND_OUT_NUMBER, KIND_I32, ENTRY_HIDDEN | ENTRY_NULLABLE, 0, -1, -1, -1},
};

CALL(stream_get_info) { return api->stream_get_info(a[0].p, a[1].p); }
static const parameter_entry given_to_stream_get_info[] = {
    GIVEN_OF("stream", HANDLE, 0, CLASS_STREAM),
    GIVEN_OF("info", OUT_STRUCT, ENTRY_HIDDEN, STRUCT_STREAM_INFO),
};

CALL(stream_get_native) { return api->stream_get_native(a[0].p, a[1].p); }
static const parameter_entry given_to_stream_get_native[] = {
    GIVEN_OF("stream", HANDLE, 0, CLASS_STREAM),
    GIVEN_OF("native", OUT_POINTER, ENTRY_HIDDEN, 0),
};

CALL(stream_query) { return api->stream_query(a[0].p); }
static const parameter_entry given_to_stream_query[] = {
    GIVEN_OF("stream", HANDLE, 0, CLASS_STREAM),
};

CALL(stream_wait) { return api->stream_wait(a[0].p, a[1].i); }
static const parameter_entry given_to_stream_wait[] = {
    GIVEN_OF("stream", HANDLE, 0, CLASS_STREAM),
    GIVEN_OF("timeout", TIMEOUT, ENTRY_OPTIONAL, 0),
};

CALL(stream_cancel_held) { return api->stream_cancel_held(a[0].p, a[1].p); }
static const parameter_entry given_to_stream_cancel_held[] = {
    GIVEN_OF("stream", HANDLE, 0, CLASS_STREAM),
    {"count", 0, KIND_OUT_NUMBER, KIND_U64, ENTRY_HIDDEN | ENTRY_NULLABLE, 0, -1, -1, -1},
};

CALL(stream_wait_event) { return api->stream_wait_event(a[0].p, a[1].p); }
static const parameter_entry given_to_stream_wait_event[] = {
    GIVEN_OF("stream", HANDLE, 0, CLASS_STREAM),
    GIVEN_OF("event", HANDLE, 0, CLASS_EVENT),
};

CALL(stream_wait_stream) { return api->stream_wait_stream(a[0].p, a[1].p); }
static const parameter_entry given_to_stream_wait_stream[] = {
    GIVEN_OF("stream", HANDLE, 0, CLASS_STREAM),
    GIVEN_OF("other", HANDLE, 0, CLASS_STREAM),
};

CALL(stream_wait_timeline) { return api->stream_wait_timeline(a[0].p, a[1].p, a[2].u); }
static const parameter_entry given_to_stream_wait_timeline[] = {
    GIVEN_OF("stream", HANDLE, 0, CLASS_STREAM),
    GIVEN_OF("timeline", HANDLE, 0, CLASS_TIMELINE),
    GIVEN("value", U64),
};

CALL(stream_signal_timeline) { return api->stream_signal_timeline(a[0].p, a[1].p, a[2].u); }
static const parameter_entry given_to_stream_signal_timeline[] = {
    GIVEN_OF("stream", HANDLE, 0, CLASS_STREAM),
    GIVEN_OF("timeline", HANDLE, 0, CLASS_TIMELINE),
    GIVEN("value", U64),
};

CALL(stream_pool_create) { return api->stream_pool_create(a[0].p, a[1].p, a[2].p); }
static const parameter_entry given_to_stream_pool_create[] = {
    GIVEN_OF("device", HANDLE, 0, CLASS_DEVICE),
    GIVEN_OF("options", STRUCT, ENTRY_NULLABLE | ENTRY_OPTIONAL, STRUCT_STREAM_POOL_OPTIONS),
    GIVEN_OF("pool", OUT_HANDLE, ENTRY_HIDDEN, CLASS_STREAM_POOL),
};

CALL(stream_pool_destroy) { return api->stream_pool_destroy(a[0].p); }
static const parameter_entry given_to_stream_pool_destroy[] = {
    GIVEN_OF("pool", HANDLE, ENTRY_NULLABLE | ENTRY_OPTIONAL, CLASS_STREAM_POOL),
};

CALL(stream_pool_acquire) { return api->stream_pool_acquire(a[0].p, (int32_t)a[1].i, a[2].p); }
static const parameter_entry given_to_stream_pool_acquire[] = {
    GIVEN_OF("pool", HANDLE, 0, CLASS_STREAM_POOL),
    GIVEN_OF("priority", I32, ENTRY_OPTIONAL, 0),
    GIVEN_OF("stream", OUT_HANDLE, ENTRY_HIDDEN, CLASS_STREAM),
};

CALL(stream_pool_release) { return api->stream_pool_release(a[0].p, a[1].p); }
static const parameter_entry given_to_stream_pool_release[] = {
    GIVEN_OF("pool", HANDLE, 0, CLASS_STREAM_POOL),
    GIVEN_OF("stream", HANDLE, 0, CLASS_STREAM),
};

CALL(arena_create) { return api->arena_create(a[0].p, a[1].p, a[2].p); }
static const parameter_entry given_to_arena_create[] = {
    GIVEN_OF("device", HANDLE, 0, CLASS_DEVICE),
    GIVEN_OF("options", STRUCT, ENTRY_NULLABLE | ENTRY_OPTIONAL, STRUCT_ARENA_OPTIONS),
    GIVEN_OF("arena", OUT_HANDLE, ENTRY_HIDDEN, CLASS_ARENA),
};

CALL(arena_destroy) { return api->arena_destroy(a[0].p); }
static const parameter_entry given_to_arena_destroy[] = {
    GIVEN_OF("arena", HANDLE, ENTRY_NULLABLE | ENTRY_OPTIONAL, CLASS_ARENA),
};

CALL(arena_allocate) { return api->arena_allocate(a[0].p, a[1].u, a[2].u, a[3].p); }
static const parameter_entry given_to_arena_allocate[] = {
    GIVEN_OF("arena", HANDLE, 0, CLASS_ARENA),
    GIVEN("bytes", U64),
    GIVEN_OF("alignment", U64, ENTRY_OPTIONAL, 0),
    GIVEN_OF("memory", OUT_POINTER, ENTRY_HIDDEN, 0),
};

CALL(arena_free) { return api->arena_free(a[0].p, a[1].p); }
static const parameter_entry given_to_arena_free[] = {
    GIVEN_OF("arena", HANDLE, 0, CLASS_ARENA),
    GIVEN_OF("memory", HOST_ADDRESS, ENTRY_NULLABLE | ENTRY_OPTIONAL, 0),
};

CALL(arena_free_after) { return api->arena_free_after(a[0].p, a[1].p, a[2].p); }
static const parameter_entry given_to_arena_free_after[] = {
    GIVEN_OF("arena", HANDLE, 0, CLASS_ARENA),
    GIVEN_OF("memory", HOST_ADDRESS, ENTRY_NULLABLE | ENTRY_OPTIONAL, 0),
    GIVEN_OF("stream", HANDLE, 0, CLASS_STREAM),
};

CALL(arena_trim) { return api->arena_trim(a[0].p, a[1].u); }
static const parameter_entry given_to_arena_trim[] = {
    GIVEN_OF("arena", HANDLE, 0, CLASS_ARENA),
    GIVEN_OF("keep_bytes", U64, ENTRY_OPTIONAL, 0),
};

CALL(arena_get_statistics) { return api->arena_get_statistics(a[0].p, a[1].p); }
static const parameter_entry given_to_arena_get_statistics[] = {
    GIVEN_OF("arena", HANDLE, 0, CLASS_ARENA),
    GIVEN_OF("statistics", OUT_STRUCT, ENTRY_HIDDEN, STRUCT_MEMORY_STATISTICS),
};

CALL(host_register) { return api->host_register(a[0].p, a[1].p, a[2].u, (uint32_t)a[3].u); }
static const parameter_entry given_to_host_register[] = {
    GIVEN_OF("device", HANDLE, 0, CLASS_DEVICE),
    {"memory", 0, KIND_HOST_OUT, KIND_NONE, 0, 0, 2, -1, -1},
    GIVEN_OF("bytes", U64, ENTRY_HIDDEN, 0),
    GIVEN_OF("flags", U32, ENTRY_OPTIONAL, 0),
};

CALL(host_unregister) { return api->host_unregister(a[0].p, a[1].p); }
static const parameter_entry given_to_host_unregister[] = {
    GIVEN_OF("device", HANDLE, 0, CLASS_DEVICE),
    GIVEN("memory", HOST_ADDRESS),
};

CALL(memory_allocate) { return api->memory_allocate(a[0].p, a[1].u, a[2].p, a[3].p); }
static const parameter_entry given_to_memory_allocate[] = {
    GIVEN_OF("device", HANDLE, 0, CLASS_DEVICE),
    GIVEN("bytes", U64),
    GIVEN_OF("label", TEXT, ENTRY_NULLABLE | ENTRY_OPTIONAL, 0),
    {"address", 0, KIND_OUT_NUMBER, KIND_U64, ENTRY_HIDDEN, 0, -1, -1, -1},
};

CALL(memory_free) { return api->memory_free(a[0].p, a[1].u); }
static const parameter_entry given_to_memory_free[] = {
    GIVEN_OF("device", HANDLE, 0, CLASS_DEVICE),
    GIVEN("address", ADDRESS),
};

CALL(memory_describe) { return api->memory_describe(a[0].p, a[1].u, a[2].p); }
static const parameter_entry given_to_memory_describe[] = {
    GIVEN_OF("device", HANDLE, 0, CLASS_DEVICE),
    GIVEN("address", ADDRESS),
    GIVEN_OF("info", OUT_STRUCT, ENTRY_HIDDEN, STRUCT_MEMORY_INFO),
};

CALL(pool_create) { return api->pool_create(a[0].p, a[1].p, a[2].p); }
static const parameter_entry given_to_pool_create[] = {
    GIVEN_OF("device", HANDLE, 0, CLASS_DEVICE),
    GIVEN_OF("options", STRUCT, ENTRY_NULLABLE | ENTRY_OPTIONAL, STRUCT_POOL_OPTIONS),
    GIVEN_OF("pool", OUT_HANDLE, ENTRY_HIDDEN, CLASS_POOL),
};

CALL(pool_destroy) { return api->pool_destroy(a[0].p); }
static const parameter_entry given_to_pool_destroy[] = {
    GIVEN_OF("pool", HANDLE, ENTRY_NULLABLE | ENTRY_OPTIONAL, CLASS_POOL),
};

CALL(pool_allocate) { return api->pool_allocate(a[0].p, a[1].p, a[2].u, a[3].p); }
static const parameter_entry given_to_pool_allocate[] = {
    GIVEN_OF("pool", HANDLE, 0, CLASS_POOL),
    GIVEN_OF("stream", HANDLE, 0, CLASS_STREAM),
    GIVEN("bytes", U64),
    {"address", 0, KIND_OUT_NUMBER, KIND_U64, ENTRY_HIDDEN, 0, -1, -1, -1},
};

CALL(pool_free) { return api->pool_free(a[0].p, a[1].p, a[2].u); }
static const parameter_entry given_to_pool_free[] = {
    GIVEN_OF("pool", HANDLE, 0, CLASS_POOL),
    GIVEN_OF("stream", HANDLE, 0, CLASS_STREAM),
    GIVEN("address", ADDRESS),
};

CALL(pool_trim) { return api->pool_trim(a[0].p, a[1].u); }
static const parameter_entry given_to_pool_trim[] = {
    GIVEN_OF("pool", HANDLE, 0, CLASS_POOL),
    GIVEN_OF("keep_bytes", U64, ENTRY_OPTIONAL, 0),
};

CALL(pool_get_statistics) { return api->pool_get_statistics(a[0].p, a[1].p); }
static const parameter_entry given_to_pool_get_statistics[] = {
    GIVEN_OF("pool", HANDLE, 0, CLASS_POOL),
    GIVEN_OF("statistics", OUT_STRUCT, ENTRY_HIDDEN, STRUCT_MEMORY_STATISTICS),
};

CALL(copy_to_device) { return api->copy_to_device(a[0].p, a[1].u, a[2].p, a[3].u); }
static const parameter_entry given_to_copy_to_device[] = {
    GIVEN_OF("stream", HANDLE, 0, CLASS_STREAM),
    GIVEN("destination", ADDRESS),
    {"source", 0, KIND_HOST_IN, KIND_NONE, ENTRY_STREAM_KEEPS, 0, 3, -1, -1},
    GIVEN_OF("bytes", U64, ENTRY_HIDDEN, 0),
};

CALL(copy_to_host) { return api->copy_to_host(a[0].p, a[1].p, a[2].u, a[3].u); }
static const parameter_entry given_to_copy_to_host[] = {
    GIVEN_OF("stream", HANDLE, 0, CLASS_STREAM),
    {"destination", 0, KIND_HOST_OUT, KIND_NONE, ENTRY_STREAM_KEEPS, 0, 3, -1, -1},
    GIVEN("source", ADDRESS),
    GIVEN_OF("bytes", U64, ENTRY_HIDDEN, 0),
};

CALL(copy_on_device) { return api->copy_on_device(a[0].p, a[1].u, a[2].u, a[3].u); }
static const parameter_entry given_to_copy_on_device[] = {
    GIVEN_OF("stream", HANDLE, 0, CLASS_STREAM),
    GIVEN("destination", ADDRESS),
    GIVEN("source", ADDRESS),
    GIVEN_OF("bytes", U64, ENTRY_OPTIONAL, 0),
};

CALL(copy_peer) { return api->copy_peer(a[0].p, a[1].p, a[2].u, a[3].p, a[4].u, a[5].u); }
static const parameter_entry given_to_copy_peer[] = {
    GIVEN_OF("stream", HANDLE, 0, CLASS_STREAM),
    GIVEN_OF("destination_device", HANDLE, 0, CLASS_DEVICE),
    GIVEN("destination", ADDRESS),
    GIVEN_OF("source_device", HANDLE, 0, CLASS_DEVICE),
    GIVEN("source", ADDRESS),
    GIVEN_OF("bytes", U64, ENTRY_OPTIONAL, 0),
};

CALL(copy_batch) { return api->copy_batch(a[0].p, a[1].p, a[2].u, a[3].u); }
static const parameter_entry given_to_copy_batch[] = {
    GIVEN_OF("stream", HANDLE, 0, CLASS_STREAM),
    {"copies", 0, KIND_STRUCTS, KIND_NONE, 0, STRUCT_COPY, 3, 2, -1},
    GIVEN_OF("stride", U64, ENTRY_HIDDEN, 0),
    GIVEN_OF("count", U64, ENTRY_HIDDEN, 0),
};

CALL(copy_rows) { return api->copy_rows(a[0].p, a[1].p); }
static const parameter_entry given_to_copy_rows[] = {
    GIVEN_OF("stream", HANDLE, 0, CLASS_STREAM),
    GIVEN_OF("copy", STRUCT, 0, STRUCT_COPY_2D),
};

CALL(fill) { return api->fill(a[0].p, a[1].u, (uint32_t)a[2].u, (uint32_t)a[3].u, a[4].u); }
static const parameter_entry given_to_fill[] = {
    GIVEN_OF("stream", HANDLE, 0, CLASS_STREAM),
    GIVEN("destination", ADDRESS),
    GIVEN("value", U32),
    {"element_bytes", 4, KIND_U32, KIND_NONE, ENTRY_OPTIONAL, 0, -1, -1, -1},
    GIVEN_OF("count", U64, ENTRY_OPTIONAL, 0),
};

CALL(fill_rows) { return api->fill_rows(a[0].p, a[1].u, a[2].u, (uint32_t)a[3].u, a[4].u, a[5].u); }
static const parameter_entry given_to_fill_rows[] = {
    GIVEN_OF("stream", HANDLE, 0, CLASS_STREAM),
    GIVEN("destination", ADDRESS),
    GIVEN("pitch", U64),
    GIVEN("value", U32),
    GIVEN("width", U64),
    GIVEN("height", U64),
};

CALL(module_compile) { return api->module_compile(a[0].p, a[1].p, a[2].p); }
static const parameter_entry given_to_module_compile[] = {
    GIVEN_OF("device", HANDLE, 0, CLASS_DEVICE),
    GIVEN_OF("options", STRUCT, 0, STRUCT_COMPILE_OPTIONS),
    GIVEN_OF("module", OUT_HANDLE, ENTRY_HIDDEN, CLASS_MODULE),
};

CALL(last_compile_log) { return api->last_compile_log(a[0].p, a[1].u, a[2].p); }
static const parameter_entry given_to_last_compile_log[] = {
    {"buffer", 0, KIND_OUT_TEXT, KIND_NONE, ENTRY_HIDDEN | ENTRY_NULLABLE, 0, 1, -1, -1},
    GIVEN_OF("capacity", SIZE, ENTRY_HIDDEN, 0),
    {"needed", 0, KIND_NEEDED, KIND_SIZE, ENTRY_HIDDEN | ENTRY_NULLABLE, 0, -1, -1, -1},
};

CALL(module_load) { return api->module_load(a[0].p, a[1].p, a[2].u, a[3].p, a[4].p); }
static const parameter_entry given_to_module_load[] = {
    GIVEN_OF("device", HANDLE, 0, CLASS_DEVICE),
    {"image", 0, KIND_HOST_IN, KIND_NONE, 0, 0, 2, -1, -1},
    GIVEN_OF("bytes", U64, ENTRY_HIDDEN, 0),
    GIVEN_OF("label", TEXT, ENTRY_NULLABLE | ENTRY_OPTIONAL, 0),
    GIVEN_OF("module", OUT_HANDLE, ENTRY_HIDDEN, CLASS_MODULE),
};

CALL(module_get_image) { return api->module_get_image(a[0].p, a[1].p, a[2].u, a[3].p); }
static const parameter_entry given_to_module_get_image[] = {
    GIVEN_OF("module", HANDLE, 0, CLASS_MODULE),
    {"buffer", 0, KIND_OUT_BYTES, KIND_NONE, ENTRY_HIDDEN | ENTRY_NULLABLE, 0, 2, -1, -1},
    GIVEN_OF("capacity", SIZE, ENTRY_HIDDEN, 0),
    {"needed", 0, KIND_NEEDED, KIND_SIZE, ENTRY_HIDDEN | ENTRY_NULLABLE, 0, -1, -1, -1},
};

CALL(module_load_builtin) { return api->module_load_builtin(a[0].p, a[1].p); }
static const parameter_entry given_to_module_load_builtin[] = {
    GIVEN_OF("device", HANDLE, 0, CLASS_DEVICE),
    GIVEN_OF("module", OUT_HANDLE, ENTRY_HIDDEN, CLASS_MODULE),
};

CALL(module_destroy) { return api->module_destroy(a[0].p); }
static const parameter_entry given_to_module_destroy[] = {
    GIVEN_OF("module", HANDLE, ENTRY_NULLABLE | ENTRY_OPTIONAL, CLASS_MODULE),
};

CALL(module_get_kernel) { return api->module_get_kernel(a[0].p, a[1].p, a[2].p); }
static const parameter_entry given_to_module_get_kernel[] = {
    GIVEN_OF("module", HANDLE, 0, CLASS_MODULE),
    GIVEN("name", TEXT),
    GIVEN_OF("kernel", OUT_HANDLE, ENTRY_HIDDEN, CLASS_KERNEL),
};

CALL(kernel_destroy) { return api->kernel_destroy(a[0].p); }
static const parameter_entry given_to_kernel_destroy[] = {
    GIVEN_OF("kernel", HANDLE, ENTRY_NULLABLE | ENTRY_OPTIONAL, CLASS_KERNEL),
};

CALL(module_get_symbol) { return api->module_get_symbol(a[0].p, a[1].p, a[2].p, a[3].p); }
static const parameter_entry given_to_module_get_symbol[] = {
    GIVEN_OF("module", HANDLE, 0, CLASS_MODULE),
    GIVEN("name", TEXT),
    {"address", 0, KIND_OUT_NUMBER, KIND_U64, ENTRY_HIDDEN | ENTRY_NULLABLE, 0, -1, -1, -1},
    {"bytes", 0, KIND_OUT_NUMBER, KIND_U64, ENTRY_HIDDEN | ENTRY_NULLABLE, 0, -1, -1, -1},
};

CALL(kernel_get_attributes) { return api->kernel_get_attributes(a[0].p, a[1].p); }
static const parameter_entry given_to_kernel_get_attributes[] = {
    GIVEN_OF("kernel", HANDLE, 0, CLASS_KERNEL),
    GIVEN_OF("attributes", OUT_STRUCT, ENTRY_HIDDEN, STRUCT_KERNEL_ATTRIBUTES),
};

CALL(kernel_get_name) { return api->kernel_get_name(a[0].p, a[1].p, a[2].u, a[3].p); }
static const parameter_entry given_to_kernel_get_name[] = {
    GIVEN_OF("kernel", HANDLE, 0, CLASS_KERNEL),
    {"buffer", 0, KIND_OUT_TEXT, KIND_NONE, ENTRY_HIDDEN | ENTRY_NULLABLE, 0, 2, -1, -1},
    GIVEN_OF("capacity", SIZE, ENTRY_HIDDEN, 0),
    {"needed", 0, KIND_NEEDED, KIND_SIZE, ENTRY_HIDDEN | ENTRY_NULLABLE, 0, -1, -1, -1},
};

CALL(kernel_get_native) { return api->kernel_get_native(a[0].p, a[1].p); }
static const parameter_entry given_to_kernel_get_native[] = {
    GIVEN_OF("kernel", HANDLE, 0, CLASS_KERNEL),
    GIVEN_OF("function", OUT_POINTER, ENTRY_HIDDEN, 0),
};

CALL(kernel_set_max_dynamic_shared) { return api->kernel_set_max_dynamic_shared(a[0].p, a[1].u); }
static const parameter_entry given_to_kernel_set_max_dynamic_shared[] = {
    GIVEN_OF("kernel", HANDLE, 0, CLASS_KERNEL),
    GIVEN("bytes", U64),
};

CALL(kernel_get_occupancy) { return api->kernel_get_occupancy(a[0].p, (uint32_t)a[1].u, a[2].u, a[3].p); }
static const parameter_entry given_to_kernel_get_occupancy[] = {
    GIVEN_OF("kernel", HANDLE, 0, CLASS_KERNEL),
    GIVEN("threads", U32),
    GIVEN_OF("dynamic_shared_bytes", U64, ENTRY_OPTIONAL, 0),
    {"blocks", 0, KIND_OUT_NUMBER, KIND_U32, ENTRY_HIDDEN, 0, -1, -1, -1},
};

CALL(kernel_suggest_shape) { return api->kernel_suggest_shape(a[0].p, a[1].u, (uint32_t)a[2].u, a[3].p, a[4].p); }
static const parameter_entry given_to_kernel_suggest_shape[] = {
    GIVEN_OF("kernel", HANDLE, 0, CLASS_KERNEL),
    GIVEN_OF("dynamic_shared_bytes", U64, ENTRY_OPTIONAL, 0),
    GIVEN_OF("max_threads", U32, ENTRY_OPTIONAL, 0),
    {"threads", 0, KIND_OUT_NUMBER, KIND_U32, ENTRY_HIDDEN | ENTRY_NULLABLE, 0, -1, -1, -1},
    {"blocks", 0, KIND_OUT_NUMBER, KIND_U32, ENTRY_HIDDEN | ENTRY_NULLABLE, 0, -1, -1, -1},
};

CALL(stream_launch_kernel) {
    return api->stream_launch_kernel(a[0].p, a[1].p, a[2].p, a[3].p, a[4].p, (uint32_t)a[5].u);
}
static const parameter_entry given_to_stream_launch_kernel[] = {
    GIVEN_OF("stream", HANDLE, 0, CLASS_STREAM),
    GIVEN_OF("kernel", HANDLE, 0, CLASS_KERNEL),
    GIVEN_OF("launch", STRUCT, 0, STRUCT_LAUNCH),
    {"arguments", 0, KIND_ARGUMENTS, KIND_NONE, 0, 0, 5, 4, -1},
    {"sizes", 0, KIND_SIZES, KIND_U32, ENTRY_HIDDEN | ENTRY_NULLABLE, 0, 5, -1, -1},
    GIVEN_OF("count", U32, ENTRY_HIDDEN, 0),
};

CALL(cq_create) { return api->cq_create(a[0].p, a[1].p, a[2].p); }
static const parameter_entry given_to_cq_create[] = {
    GIVEN_OF("runtime", HANDLE, 0, CLASS_RUNTIME),
    GIVEN_OF("options", STRUCT, ENTRY_NULLABLE | ENTRY_OPTIONAL, STRUCT_CQ_OPTIONS),
    GIVEN_OF("cq", OUT_HANDLE, ENTRY_HIDDEN, CLASS_CQ),
};

CALL(cq_destroy) { return api->cq_destroy(a[0].p); }
static const parameter_entry given_to_cq_destroy[] = {
    GIVEN_OF("cq", HANDLE, ENTRY_NULLABLE | ENTRY_OPTIONAL, CLASS_CQ),
};

CALL(stream_notify) { return api->stream_notify(a[0].p, a[1].p, a[2].u); }
static const parameter_entry given_to_stream_notify[] = {
    GIVEN_OF("stream", HANDLE, 0, CLASS_STREAM),
    GIVEN_OF("cq", HANDLE, 0, CLASS_CQ),
    GIVEN_OF("user_data", U64, ENTRY_OPTIONAL, 0),
};

CALL(stream_notify_timed) { return api->stream_notify_timed(a[0].p, a[1].p, a[2].u, a[3].p); }
static const parameter_entry given_to_stream_notify_timed[] = {
    GIVEN_OF("stream", HANDLE, 0, CLASS_STREAM),
    GIVEN_OF("cq", HANDLE, 0, CLASS_CQ),
    GIVEN_OF("user_data", U64, ENTRY_OPTIONAL, 0),
    GIVEN_OF("since", HANDLE, 0, CLASS_EVENT),
};

CALL(cq_drain) { return api->cq_drain(a[0].p, a[1].p, a[2].u, a[3].u, a[4].p); }
static const parameter_entry given_to_cq_drain[] = {
    GIVEN_OF("cq", HANDLE, 0, CLASS_CQ),
    {"entries", 0, KIND_OUT_STRUCTS, KIND_NONE, ENTRY_HIDDEN, STRUCT_COMPLETION, 3, 2, -1},
    GIVEN_OF("stride", U64, ENTRY_HIDDEN, 0),
    {"capacity", 256, KIND_U64, KIND_NONE, ENTRY_OPTIONAL, 0, -1, -1, -1},
    {"count", 0, KIND_COUNT, KIND_U64, ENTRY_HIDDEN, 0, -1, -1, -1},
};

CALL(cq_wait) { return api->cq_wait(a[0].p, a[1].i); }
static const parameter_entry given_to_cq_wait[] = {
    GIVEN_OF("cq", HANDLE, 0, CLASS_CQ),
    GIVEN_OF("timeout", TIMEOUT, ENTRY_OPTIONAL, 0),
};

CALL(cq_wake) { return api->cq_wake(a[0].p); }
static const parameter_entry given_to_cq_wake[] = {
    GIVEN_OF("cq", HANDLE, 0, CLASS_CQ),
};

CALL(cq_get_error) { return api->cq_get_error(a[0].p, a[1].u, a[2].p); }
static const parameter_entry given_to_cq_get_error[] = {
    GIVEN_OF("cq", HANDLE, 0, CLASS_CQ),
    GIVEN("error_id", U64),
    GIVEN_OF("error", OUT_STRUCT, ENTRY_HIDDEN, STRUCT_ERROR),
};

CALL(cq_get_statistics) { return api->cq_get_statistics(a[0].p, a[1].p); }
static const parameter_entry given_to_cq_get_statistics[] = {
    GIVEN_OF("cq", HANDLE, 0, CLASS_CQ),
    GIVEN_OF("statistics", OUT_STRUCT, ENTRY_HIDDEN, STRUCT_CQ_STATISTICS),
};

CALL(pipeline_create) { return api->pipeline_create(a[0].p, a[1].p, a[2].p); }
static const parameter_entry given_to_pipeline_create[] = {
    GIVEN_OF("device", HANDLE, 0, CLASS_DEVICE),
    GIVEN_OF("options", STRUCT, 0, STRUCT_PIPELINE_OPTIONS),
    GIVEN_OF("pipeline", OUT_HANDLE, ENTRY_HIDDEN, CLASS_PIPELINE),
};

CALL(pipeline_destroy) { return api->pipeline_destroy(a[0].p); }
static const parameter_entry given_to_pipeline_destroy[] = {
    GIVEN_OF("pipeline", HANDLE, ENTRY_NULLABLE | ENTRY_OPTIONAL, CLASS_PIPELINE),
};

CALL(pipeline_start) { return api->pipeline_start(a[0].p, a[1].p, a[2].p); }
static const parameter_entry given_to_pipeline_start[] = {
    GIVEN_OF("pipeline", HANDLE, 0, CLASS_PIPELINE),
    GIVEN_OF("source", STRUCT, 0, STRUCT_SOURCE),
    GIVEN_OF("sink", STRUCT, 0, STRUCT_SINK),
};

CALL(pipeline_wait) { return api->pipeline_wait(a[0].p, a[1].i, a[2].p); }
static const parameter_entry given_to_pipeline_wait[] = {
    GIVEN_OF("pipeline", HANDLE, 0, CLASS_PIPELINE),
    GIVEN_OF("timeout", TIMEOUT, ENTRY_OPTIONAL, 0),
    GIVEN_OF("result", OUT_STRUCT, ENTRY_HIDDEN | ENTRY_NULLABLE, STRUCT_PIPELINE_RESULT),
};

CALL(pipeline_cancel) { return api->pipeline_cancel(a[0].p); }
static const parameter_entry given_to_pipeline_cancel[] = {
    GIVEN_OF("pipeline", HANDLE, 0, CLASS_PIPELINE),
};

CALL(pipeline_notify) { return api->pipeline_notify(a[0].p, a[1].p, a[2].u); }
static const parameter_entry given_to_pipeline_notify[] = {
    GIVEN_OF("pipeline", HANDLE, 0, CLASS_PIPELINE),
    GIVEN_OF("cq", HANDLE, 0, CLASS_CQ),
    GIVEN_OF("user_data", U64, ENTRY_OPTIONAL, 0),
};

CALL(pipeline_get_progress) { return api->pipeline_get_progress(a[0].p, a[1].p); }
static const parameter_entry given_to_pipeline_get_progress[] = {
    GIVEN_OF("pipeline", HANDLE, 0, CLASS_PIPELINE),
    GIVEN_OF("progress", OUT_STRUCT, ENTRY_HIDDEN, STRUCT_PIPELINE_PROGRESS),
};

CALL(runtime_get_metrics) { return api->runtime_get_metrics(a[0].p, a[1].p); }
static const parameter_entry given_to_runtime_get_metrics[] = {
    GIVEN_OF("runtime", HANDLE, 0, CLASS_RUNTIME),
    GIVEN_OF("metrics", OUT_STRUCT, ENTRY_HIDDEN, STRUCT_METRICS),
};

CALL(device_get_metrics) { return api->device_get_metrics(a[0].p, a[1].p); }
static const parameter_entry given_to_device_get_metrics[] = {
    GIVEN_OF("device", HANDLE, 0, CLASS_DEVICE),
    GIVEN_OF("metrics", OUT_STRUCT, ENTRY_HIDDEN, STRUCT_DEVICE_METRICS),
};

CALL(runtime_get_metrics_text) { return api->runtime_get_metrics_text(a[0].p, a[1].p, a[2].u, a[3].p); }
static const parameter_entry given_to_runtime_get_metrics_text[] = {
    GIVEN_OF("runtime", HANDLE, 0, CLASS_RUNTIME),
    {"buffer", 0, KIND_OUT_TEXT, KIND_NONE, ENTRY_HIDDEN | ENTRY_NULLABLE, 0, 2, -1, -1},
    GIVEN_OF("capacity", SIZE, ENTRY_HIDDEN, 0),
    {"needed", 0, KIND_NEEDED, KIND_SIZE, ENTRY_HIDDEN | ENTRY_NULLABLE, 0, -1, -1, -1},
};

CALL(cq_get_fd) { return api->cq_get_fd(a[0].p, a[1].p); }
static const parameter_entry given_to_cq_get_fd[] = {
    GIVEN_OF("cq", HANDLE, 0, CLASS_CQ),
    {"descriptor", 0, KIND_OUT_NUMBER, KIND_I32, ENTRY_HIDDEN, 0, -1, -1, -1},
};

CALL(timeline_notify) { return api->timeline_notify(a[0].p, a[1].u, a[2].p, a[3].u); }
static const parameter_entry given_to_timeline_notify[] = {
    GIVEN_OF("timeline", HANDLE, 0, CLASS_TIMELINE),
    GIVEN("value", U64),
    GIVEN_OF("cq", HANDLE, 0, CLASS_CQ),
    GIVEN_OF("user_data", U64, ENTRY_OPTIONAL, 0),
};

CALL(executor_create) { return api->executor_create(a[0].p, a[1].p, a[2].p); }
static const parameter_entry given_to_executor_create[] = {
    GIVEN_OF("runtime", HANDLE, 0, CLASS_RUNTIME),
    GIVEN_OF("options", STRUCT, ENTRY_NULLABLE | ENTRY_OPTIONAL, STRUCT_EXECUTOR_OPTIONS),
    GIVEN_OF("executor", OUT_HANDLE, ENTRY_HIDDEN, CLASS_EXECUTOR),
};

CALL(executor_destroy) { return api->executor_destroy(a[0].p); }
static const parameter_entry given_to_executor_destroy[] = {
    GIVEN_OF("executor", HANDLE, ENTRY_NULLABLE | ENTRY_OPTIONAL, CLASS_EXECUTOR),
};

CALL(executor_run) { return api->executor_run(a[0].p, a[1].p); }
static const parameter_entry given_to_executor_run[] = {
    GIVEN_OF("executor", HANDLE, 0, CLASS_EXECUTOR),
    {"count", 0, KIND_OUT_NUMBER, KIND_U64, ENTRY_HIDDEN | ENTRY_NULLABLE, 0, -1, -1, -1},
};

CALL(executor_run_for) { return api->executor_run_for(a[0].p, a[1].i, a[2].p); }
static const parameter_entry given_to_executor_run_for[] = {
    GIVEN_OF("executor", HANDLE, 0, CLASS_EXECUTOR),
    GIVEN_OF("timeout", TIMEOUT, ENTRY_OPTIONAL, 0),
    {"count", 0, KIND_OUT_NUMBER, KIND_U64, ENTRY_HIDDEN | ENTRY_NULLABLE, 0, -1, -1, -1},
};

CALL(executor_poll) { return api->executor_poll(a[0].p, a[1].p); }
static const parameter_entry given_to_executor_poll[] = {
    GIVEN_OF("executor", HANDLE, 0, CLASS_EXECUTOR),
    {"count", 0, KIND_OUT_NUMBER, KIND_U64, ENTRY_HIDDEN | ENTRY_NULLABLE, 0, -1, -1, -1},
};

CALL(executor_get_statistics) { return api->executor_get_statistics(a[0].p, a[1].p); }
static const parameter_entry given_to_executor_get_statistics[] = {
    GIVEN_OF("executor", HANDLE, 0, CLASS_EXECUTOR),
    GIVEN_OF("statistics", OUT_STRUCT, ENTRY_HIDDEN, STRUCT_EXECUTOR_STATISTICS),
};

CALL(stream_then) { return api->stream_then(a[0].p, a[1].p, (gpo_completion_fn)a[2].f, a[3].p); }
static const parameter_entry given_to_stream_then[] = {
    GIVEN_OF("stream", HANDLE, 0, CLASS_STREAM),
    GIVEN_OF("executor", HANDLE, 0, CLASS_EXECUTOR),
    {"callback", 0, KIND_CALLBACK, KIND_NONE, 0, CALLBACK_COMPLETION, -1, -1, 3},
    GIVEN_OF("user", USER, ENTRY_HIDDEN | ENTRY_NULLABLE, 0),
};

CALL(event_then) { return api->event_then(a[0].p, a[1].p, (gpo_completion_fn)a[2].f, a[3].p); }
static const parameter_entry given_to_event_then[] = {
    GIVEN_OF("event", HANDLE, 0, CLASS_EVENT),
    GIVEN_OF("executor", HANDLE, 0, CLASS_EXECUTOR),
    {"callback", 0, KIND_CALLBACK, KIND_NONE, 0, CALLBACK_COMPLETION, -1, -1, 3},
    GIVEN_OF("user", USER, ENTRY_HIDDEN | ENTRY_NULLABLE, 0),
};

CALL(timeline_then) { return api->timeline_then(a[0].p, a[1].u, a[2].p, (gpo_completion_fn)a[3].f, a[4].p); }
static const parameter_entry given_to_timeline_then[] = {
    GIVEN_OF("timeline", HANDLE, 0, CLASS_TIMELINE),
    GIVEN("value", U64),
    GIVEN_OF("executor", HANDLE, 0, CLASS_EXECUTOR),
    {"callback", 0, KIND_CALLBACK, KIND_NONE, 0, CALLBACK_COMPLETION, -1, -1, 4},
    GIVEN_OF("user", USER, ENTRY_HIDDEN | ENTRY_NULLABLE, 0),
};

CALL(pipeline_then) { return api->pipeline_then(a[0].p, a[1].p, (gpo_completion_fn)a[2].f, a[3].p); }
static const parameter_entry given_to_pipeline_then[] = {
    GIVEN_OF("pipeline", HANDLE, 0, CLASS_PIPELINE),
    GIVEN_OF("executor", HANDLE, 0, CLASS_EXECUTOR),
    {"callback", 0, KIND_CALLBACK, KIND_NONE, 0, CALLBACK_COMPLETION, -1, -1, 3},
    GIVEN_OF("user", USER, ENTRY_HIDDEN | ENTRY_NULLABLE, 0),
};

CALL(stream_host_call) { return api->stream_host_call(a[0].p, a[1].p, (gpo_host_fn)a[2].f, a[3].p); }
static const parameter_entry given_to_stream_host_call[] = {
    GIVEN_OF("stream", HANDLE, 0, CLASS_STREAM),
    GIVEN_OF("executor", HANDLE, 0, CLASS_EXECUTOR),
    {"function", 0, KIND_CALLBACK, KIND_NONE, 0, CALLBACK_HOST, -1, -1, 3},
    GIVEN_OF("user", USER, ENTRY_HIDDEN | ENTRY_NULLABLE, 0),
};

CALL(host_call_finish) { return api->host_call_finish(a[0].p, a[1].u, (gpo_status)a[2].i, a[3].p); }
static const parameter_entry given_to_host_call_finish[] = {
    GIVEN_OF("executor", HANDLE, 0, CLASS_EXECUTOR),
    GIVEN("call", U64),
    GIVEN_OF("status", STATUS, ENTRY_OPTIONAL, 0),
    GIVEN_OF("message", TEXT, ENTRY_NULLABLE | ENTRY_OPTIONAL, 0),
};

CALL(runtime_set_log_executor) { return api->runtime_set_log_executor(a[0].p, a[1].p); }
static const parameter_entry given_to_runtime_set_log_executor[] = {
    GIVEN_OF("runtime", HANDLE, 0, CLASS_RUNTIME),
    GIVEN_OF("executor", HANDLE, ENTRY_NULLABLE | ENTRY_OPTIONAL, CLASS_EXECUTOR),
};

CALL(trace_start) { return api->trace_start(a[0].p, a[1].p); }
static const parameter_entry given_to_trace_start[] = {
    GIVEN_OF("runtime", HANDLE, 0, CLASS_RUNTIME),
    GIVEN_OF("options", STRUCT, ENTRY_NULLABLE | ENTRY_OPTIONAL, STRUCT_TRACE_OPTIONS),
};

CALL(trace_stop) { return api->trace_stop(a[0].p); }
static const parameter_entry given_to_trace_stop[] = {
    GIVEN_OF("runtime", HANDLE, 0, CLASS_RUNTIME),
};

CALL(trace_get_info) { return api->trace_get_info(a[0].p, a[1].p); }
static const parameter_entry given_to_trace_get_info[] = {
    GIVEN_OF("runtime", HANDLE, 0, CLASS_RUNTIME),
    GIVEN_OF("info", OUT_STRUCT, ENTRY_HIDDEN, STRUCT_TRACE_INFO),
};

CALL(trace_get_summary) { return api->trace_get_summary(a[0].p, a[1].p, a[2].u, a[3].p); }
static const parameter_entry given_to_trace_get_summary[] = {
    GIVEN_OF("runtime", HANDLE, 0, CLASS_RUNTIME),
    {"buffer", 0, KIND_OUT_TEXT, KIND_NONE, ENTRY_HIDDEN | ENTRY_NULLABLE, 0, 2, -1, -1},
    GIVEN_OF("capacity", SIZE, ENTRY_HIDDEN, 0),
    {"needed", 0, KIND_NEEDED, KIND_SIZE, ENTRY_HIDDEN | ENTRY_NULLABLE, 0, -1, -1, -1},
};

CALL(kernel_get_parameter) { return api->kernel_get_parameter(a[0].p, (uint32_t)a[1].u, a[2].p, a[3].p); }
static const parameter_entry given_to_kernel_get_parameter[] = {
    GIVEN_OF("kernel", HANDLE, 0, CLASS_KERNEL),
    GIVEN("index", U32),
    {"offset", 0, KIND_OUT_NUMBER, KIND_U64, ENTRY_HIDDEN | ENTRY_NULLABLE, 0, -1, -1, -1},
    {"bytes", 0, KIND_OUT_NUMBER, KIND_U64, ENTRY_HIDDEN | ENTRY_NULLABLE, 0, -1, -1, -1},
};

CALL(template_create) { return api->template_create(a[0].p, a[1].p, a[2].p); }
static const parameter_entry given_to_template_create[] = {
    GIVEN_OF("device", HANDLE, 0, CLASS_DEVICE),
    GIVEN_OF("options", STRUCT, ENTRY_NULLABLE | ENTRY_OPTIONAL, STRUCT_TEMPLATE_OPTIONS),
    GIVEN_OF("graph_template", OUT_HANDLE, ENTRY_HIDDEN, CLASS_TEMPLATE),
};

CALL(template_destroy) { return api->template_destroy(a[0].p); }
static const parameter_entry given_to_template_destroy[] = {
    GIVEN_OF("graph_template", HANDLE, ENTRY_NULLABLE | ENTRY_OPTIONAL, CLASS_TEMPLATE),
};

CALL(template_begin) { return api->template_begin(a[0].p, a[1].p); }
static const parameter_entry given_to_template_begin[] = {
    GIVEN_OF("graph_template", HANDLE, 0, CLASS_TEMPLATE),
    GIVEN_OF("stream", HANDLE, 0, CLASS_STREAM),
};

CALL(template_end) { return api->template_end(a[0].p); }
static const parameter_entry given_to_template_end[] = {
    GIVEN_OF("graph_template", HANDLE, 0, CLASS_TEMPLATE),
};

CALL(template_cancel) { return api->template_cancel(a[0].p); }
static const parameter_entry given_to_template_cancel[] = {
    GIVEN_OF("graph_template", HANDLE, 0, CLASS_TEMPLATE),
};

CALL(template_get_last_node) { return api->template_get_last_node(a[0].p, a[1].p, a[2].p); }
static const parameter_entry given_to_template_get_last_node[] = {
    GIVEN_OF("graph_template", HANDLE, 0, CLASS_TEMPLATE),
    GIVEN_OF("stream", HANDLE, 0, CLASS_STREAM),
    {"node", 0, KIND_OUT_NUMBER, KIND_U32, ENTRY_HIDDEN, 0, -1, -1, -1},
};

CALL(template_set_last_node) { return api->template_set_last_node(a[0].p, a[1].p, (uint32_t)a[2].u); }
static const parameter_entry given_to_template_set_last_node[] = {
    GIVEN_OF("graph_template", HANDLE, 0, CLASS_TEMPLATE),
    GIVEN_OF("stream", HANDLE, 0, CLASS_STREAM),
    GIVEN("node", U32),
};

CALL(template_add_kernel) {
    return api->template_add_kernel(a[0].p, a[1].p, (uint32_t)a[2].u, a[3].p, a[4].p, a[5].p, a[6].p,
                                    (uint32_t)a[7].u, a[8].p);
}
static const parameter_entry given_to_template_add_kernel[] = {
    GIVEN_OF("graph_template", HANDLE, 0, CLASS_TEMPLATE),
    {"after", 0, KIND_NUMBERS, KIND_U32, ENTRY_NULLABLE | ENTRY_OPTIONAL, 0, 2, -1, -1},
    GIVEN_OF("after_count", U32, ENTRY_HIDDEN, 0),
    GIVEN_OF("kernel", HANDLE, 0, CLASS_KERNEL),
    GIVEN_OF("launch", STRUCT, 0, STRUCT_LAUNCH),
    {"arguments", 0, KIND_ARGUMENTS, KIND_NONE, 0, 0, 7, 6, -1},
    {"sizes", 0, KIND_SIZES, KIND_U32, ENTRY_HIDDEN | ENTRY_NULLABLE, 0, 7, -1, -1},
    GIVEN_OF("count", U32, ENTRY_HIDDEN, 0),
    {"node", 0, KIND_OUT_NUMBER, KIND_U32, ENTRY_HIDDEN | ENTRY_NULLABLE, 0, -1, -1, -1},
};

CALL(template_add_copy) { return api->template_add_copy(a[0].p, a[1].p, (uint32_t)a[2].u, a[3].p, a[4].p); }
static const parameter_entry given_to_template_add_copy[] = {
    GIVEN_OF("graph_template", HANDLE, 0, CLASS_TEMPLATE),
    {"after", 0, KIND_NUMBERS, KIND_U32, ENTRY_NULLABLE | ENTRY_OPTIONAL, 0, 2, -1, -1},
    GIVEN_OF("after_count", U32, ENTRY_HIDDEN, 0),
    GIVEN_OF("copy", STRUCT, 0, STRUCT_COPY),
    {"node", 0, KIND_OUT_NUMBER, KIND_U32, ENTRY_HIDDEN | ENTRY_NULLABLE, 0, -1, -1, -1},
};

CALL(template_add_fill) {
    return api->template_add_fill(a[0].p, a[1].p, (uint32_t)a[2].u, a[3].u, (uint32_t)a[4].u, (uint32_t)a[5].u,
                                  a[6].u, a[7].p);
}
static const parameter_entry given_to_template_add_fill[] = {
    GIVEN_OF("graph_template", HANDLE, 0, CLASS_TEMPLATE),
    {"after", 0, KIND_NUMBERS, KIND_U32, ENTRY_NULLABLE | ENTRY_OPTIONAL, 0, 2, -1, -1},
    GIVEN_OF("after_count", U32, ENTRY_HIDDEN, 0),
    GIVEN("destination", ADDRESS),
    GIVEN("value", U32),
    {"element_bytes", 4, KIND_U32, KIND_NONE, ENTRY_OPTIONAL, 0, -1, -1, -1},
    GIVEN_OF("count", U64, ENTRY_OPTIONAL, 0),
    {"node", 0, KIND_OUT_NUMBER, KIND_U32, ENTRY_HIDDEN | ENTRY_NULLABLE, 0, -1, -1, -1},
};

CALL(template_add_empty) { return api->template_add_empty(a[0].p, a[1].p, (uint32_t)a[2].u, a[3].p); }
static const parameter_entry given_to_template_add_empty[] = {
    GIVEN_OF("graph_template", HANDLE, 0, CLASS_TEMPLATE),
    {"after", 0, KIND_NUMBERS, KIND_U32, ENTRY_NULLABLE | ENTRY_OPTIONAL, 0, 2, -1, -1},
    GIVEN_OF("after_count", U32, ENTRY_HIDDEN, 0),
    {"node", 0, KIND_OUT_NUMBER, KIND_U32, ENTRY_HIDDEN | ENTRY_NULLABLE, 0, -1, -1, -1},
};

CALL(template_add_event_record) {
    return api->template_add_event_record(a[0].p, a[1].p, (uint32_t)a[2].u, a[3].p, a[4].p);
}
static const parameter_entry given_to_template_add_event_record[] = {
    GIVEN_OF("graph_template", HANDLE, 0, CLASS_TEMPLATE),
    {"after", 0, KIND_NUMBERS, KIND_U32, ENTRY_NULLABLE | ENTRY_OPTIONAL, 0, 2, -1, -1},
    GIVEN_OF("after_count", U32, ENTRY_HIDDEN, 0),
    GIVEN_OF("event", HANDLE, 0, CLASS_EVENT),
    {"node", 0, KIND_OUT_NUMBER, KIND_U32, ENTRY_HIDDEN | ENTRY_NULLABLE, 0, -1, -1, -1},
};

CALL(template_add_event_wait) { return api->template_add_event_wait(a[0].p, a[1].p, (uint32_t)a[2].u, a[3].p, a[4].p); }
static const parameter_entry given_to_template_add_event_wait[] = {
    GIVEN_OF("graph_template", HANDLE, 0, CLASS_TEMPLATE),
    {"after", 0, KIND_NUMBERS, KIND_U32, ENTRY_NULLABLE | ENTRY_OPTIONAL, 0, 2, -1, -1},
    GIVEN_OF("after_count", U32, ENTRY_HIDDEN, 0),
    GIVEN_OF("event", HANDLE, 0, CLASS_EVENT),
    {"node", 0, KIND_OUT_NUMBER, KIND_U32, ENTRY_HIDDEN | ENTRY_NULLABLE, 0, -1, -1, -1},
};

CALL(template_add_host_call) {
    return api->template_add_host_call(a[0].p, a[1].p, (uint32_t)a[2].u, (gpo_host_node_fn)a[3].f, a[4].p, a[5].p);
}
static const parameter_entry given_to_template_add_host_call[] = {
    GIVEN_OF("graph_template", HANDLE, 0, CLASS_TEMPLATE),
    {"after", 0, KIND_NUMBERS, KIND_U32, ENTRY_NULLABLE | ENTRY_OPTIONAL, 0, 2, -1, -1},
    GIVEN_OF("after_count", U32, ENTRY_HIDDEN, 0),
    {"function", 0, KIND_CALLBACK, KIND_NONE, 0, CALLBACK_HOST_NODE, -1, -1, 4},
    GIVEN_OF("user", USER, ENTRY_HIDDEN | ENTRY_NULLABLE, 0),
    {"node", 0, KIND_OUT_NUMBER, KIND_U32, ENTRY_HIDDEN | ENTRY_NULLABLE, 0, -1, -1, -1},
};

CALL(template_add_child) { return api->template_add_child(a[0].p, a[1].p, (uint32_t)a[2].u, a[3].p, a[4].p, a[5].p); }
static const parameter_entry given_to_template_add_child[] = {
    GIVEN_OF("graph_template", HANDLE, 0, CLASS_TEMPLATE),
    {"after", 0, KIND_NUMBERS, KIND_U32, ENTRY_NULLABLE | ENTRY_OPTIONAL, 0, 2, -1, -1},
    GIVEN_OF("after_count", U32, ENTRY_HIDDEN, 0),
    GIVEN_OF("child", HANDLE, 0, CLASS_TEMPLATE),
    GIVEN_OF("prefix", TEXT, ENTRY_NULLABLE | ENTRY_OPTIONAL, 0),
    {"node", 0, KIND_OUT_NUMBER, KIND_U32, ENTRY_HIDDEN | ENTRY_NULLABLE, 0, -1, -1, -1},
};

CALL(template_add_parameter) {
    return api->template_add_parameter(a[0].p, a[1].p, (uint32_t)a[2].u, (uint32_t)a[3].u, (uint32_t)a[4].u);
}
static const parameter_entry given_to_template_add_parameter[] = {
    GIVEN_OF("graph_template", HANDLE, 0, CLASS_TEMPLATE),
    GIVEN("name", TEXT),
    GIVEN("node", U32),
    GIVEN("what", U32),
    GIVEN("index", U32),
};

CALL(template_get_parameter) { return api->template_get_parameter(a[0].p, a[1].p, a[2].p, a[3].p); }
static const parameter_entry given_to_template_get_parameter[] = {
    GIVEN_OF("graph_template", HANDLE, 0, CLASS_TEMPLATE),
    GIVEN("name", TEXT),
    {"parameter", 0, KIND_OUT_NUMBER, KIND_U32, ENTRY_HIDDEN | ENTRY_NULLABLE, 0, -1, -1, -1},
    {"bytes", 0, KIND_OUT_NUMBER, KIND_U64, ENTRY_HIDDEN | ENTRY_NULLABLE, 0, -1, -1, -1},
};

CALL(template_find_node) { return api->template_find_node(a[0].p, a[1].p, a[2].p); }
static const parameter_entry given_to_template_find_node[] = {
    GIVEN_OF("graph_template", HANDLE, 0, CLASS_TEMPLATE),
    GIVEN("label", TEXT),
    {"node", 0, KIND_OUT_NUMBER, KIND_U32, ENTRY_HIDDEN, 0, -1, -1, -1},
};

CALL(template_get_native) { return api->template_get_native(a[0].p, a[1].p); }
static const parameter_entry given_to_template_get_native[] = {
    GIVEN_OF("graph_template", HANDLE, 0, CLASS_TEMPLATE),
    GIVEN_OF("native", OUT_POINTER, ENTRY_HIDDEN, 0),
};

CALL(template_clear) { return api->template_clear(a[0].p); }
static const parameter_entry given_to_template_clear[] = {
    GIVEN_OF("graph_template", HANDLE, 0, CLASS_TEMPLATE),
};

CALL(template_get_statistics) { return api->template_get_statistics(a[0].p, a[1].p); }
static const parameter_entry given_to_template_get_statistics[] = {
    GIVEN_OF("graph_template", HANDLE, 0, CLASS_TEMPLATE),
    GIVEN_OF("statistics", OUT_STRUCT, ENTRY_HIDDEN, STRUCT_TEMPLATE_STATISTICS),
};

CALL(graph_create) { return api->graph_create(a[0].p, a[1].p, a[2].p); }
static const parameter_entry given_to_graph_create[] = {
    GIVEN_OF("graph_template", HANDLE, 0, CLASS_TEMPLATE),
    GIVEN_OF("options", STRUCT, ENTRY_NULLABLE | ENTRY_OPTIONAL, STRUCT_GRAPH_OPTIONS),
    GIVEN_OF("graph", OUT_HANDLE, ENTRY_HIDDEN, CLASS_GRAPH),
};

CALL(graph_destroy) { return api->graph_destroy(a[0].p); }
static const parameter_entry given_to_graph_destroy[] = {
    GIVEN_OF("graph", HANDLE, ENTRY_NULLABLE | ENTRY_OPTIONAL, CLASS_GRAPH),
};

CALL(graph_set) { return api->graph_set(a[0].p, a[1].p, a[2].p, a[3].u); }
static const parameter_entry given_to_graph_set[] = {
    GIVEN_OF("graph", HANDLE, 0, CLASS_GRAPH),
    GIVEN("name", TEXT),
    {"value", 0, KIND_VALUE, KIND_NONE, 0, 0, 3, -1, -1},
    GIVEN_OF("bytes", U64, ENTRY_HIDDEN, 0),
};

CALL(graph_set_parameter) { return api->graph_set_parameter(a[0].p, (uint32_t)a[1].u, a[2].p, a[3].u); }
static const parameter_entry given_to_graph_set_parameter[] = {
    GIVEN_OF("graph", HANDLE, 0, CLASS_GRAPH),
    GIVEN("parameter", U32),
    {"value", 0, KIND_VALUE, KIND_NONE, 0, 0, 3, -1, -1},
    GIVEN_OF("bytes", U64, ENTRY_HIDDEN, 0),
};

CALL(graph_set_all) { return api->graph_set_all(a[0].p, a[1].p, a[2].u, a[3].u); }
static const parameter_entry given_to_graph_set_all[] = {
    GIVEN_OF("graph", HANDLE, 0, CLASS_GRAPH),
    {"settings", 0, KIND_STRUCTS, KIND_NONE, ENTRY_NULLABLE | ENTRY_OPTIONAL, STRUCT_SETTING, 3, 2, -1},
    GIVEN_OF("stride", U64, ENTRY_HIDDEN, 0),
    GIVEN_OF("count", U64, ENTRY_HIDDEN, 0),
};

CALL(graph_get) { return api->graph_get(a[0].p, a[1].p, a[2].p, a[3].u); }
static const parameter_entry given_to_graph_get[] = {
    GIVEN_OF("graph", HANDLE, 0, CLASS_GRAPH),
    GIVEN("name", TEXT),
    {"value", 0, KIND_OUT_VALUE, KIND_NONE, ENTRY_HIDDEN, 0, 3, -1, -1},
    GIVEN_OF("bytes", U64, ENTRY_OPTIONAL, 0),
};

CALL(graph_launch) { return api->graph_launch(a[0].p, a[1].p); }
static const parameter_entry given_to_graph_launch[] = {
    GIVEN_OF("graph", HANDLE, 0, CLASS_GRAPH),
    GIVEN_OF("stream", HANDLE, 0, CLASS_STREAM),
};

CALL(graph_upload) { return api->graph_upload(a[0].p, a[1].p); }
static const parameter_entry given_to_graph_upload[] = {
    GIVEN_OF("graph", HANDLE, 0, CLASS_GRAPH),
    GIVEN_OF("stream", HANDLE, 0, CLASS_STREAM),
};

CALL(graph_update) { return api->graph_update(a[0].p, a[1].p); }
static const parameter_entry given_to_graph_update[] = {
    GIVEN_OF("graph", HANDLE, 0, CLASS_GRAPH),
    GIVEN_OF("report", OUT_STRUCT, ENTRY_HIDDEN | ENTRY_NULLABLE, STRUCT_GRAPH_UPDATE_REPORT),
};

CALL(template_launch) { return api->template_launch(a[0].p, a[1].p, a[2].p, a[3].u, a[4].u); }
static const parameter_entry given_to_template_launch[] = {
    GIVEN_OF("graph_template", HANDLE, 0, CLASS_TEMPLATE),
    GIVEN_OF("stream", HANDLE, 0, CLASS_STREAM),
    {"settings", 0, KIND_STRUCTS, KIND_NONE, ENTRY_NULLABLE | ENTRY_OPTIONAL, STRUCT_SETTING, 4, 3, -1},
    GIVEN_OF("stride", U64, ENTRY_HIDDEN, 0),
    GIVEN_OF("count", U64, ENTRY_HIDDEN, 0),
};

CALL(template_prepare) { return api->template_prepare(a[0].p, (uint32_t)a[1].u, a[2].p); }
static const parameter_entry given_to_template_prepare[] = {
    GIVEN_OF("graph_template", HANDLE, 0, CLASS_TEMPLATE),
    GIVEN("count", U32),
    GIVEN_OF("stream", HANDLE, 0, CLASS_STREAM),
};

CALL(graph_get_native) { return api->graph_get_native(a[0].p, a[1].p); }
static const parameter_entry given_to_graph_get_native[] = {
    GIVEN_OF("graph", HANDLE, 0, CLASS_GRAPH),
    GIVEN_OF("native", OUT_POINTER, ENTRY_HIDDEN, 0),
};

CALL(template_add_if) { return api->template_add_if(a[0].p, a[1].p, (uint32_t)a[2].u, a[3].p, a[4].p, a[5].p, a[6].p); }
static const parameter_entry given_to_template_add_if[] = {
    GIVEN_OF("graph_template", HANDLE, 0, CLASS_TEMPLATE),
    {"after", 0, KIND_NUMBERS, KIND_U32, ENTRY_NULLABLE | ENTRY_OPTIONAL, 0, 2, -1, -1},
    GIVEN_OF("after_count", U32, ENTRY_HIDDEN, 0),
    GIVEN_OF("condition", STRUCT, 0, STRUCT_CONDITION),
    GIVEN_OF("body", OUT_HANDLE, ENTRY_HIDDEN, CLASS_TEMPLATE),
    GIVEN_OF("otherwise", OUT_HANDLE, ENTRY_NULLABLE | ENTRY_OPTIONAL, CLASS_TEMPLATE),
    {"node", 0, KIND_OUT_NUMBER, KIND_U32, ENTRY_HIDDEN | ENTRY_NULLABLE, 0, -1, -1, -1},
};

CALL(template_add_while) { return api->template_add_while(a[0].p, a[1].p, (uint32_t)a[2].u, a[3].p, a[4].p, a[5].p); }
static const parameter_entry given_to_template_add_while[] = {
    GIVEN_OF("graph_template", HANDLE, 0, CLASS_TEMPLATE),
    {"after", 0, KIND_NUMBERS, KIND_U32, ENTRY_NULLABLE | ENTRY_OPTIONAL, 0, 2, -1, -1},
    GIVEN_OF("after_count", U32, ENTRY_HIDDEN, 0),
    GIVEN_OF("condition", STRUCT, 0, STRUCT_CONDITION),
    GIVEN_OF("body", OUT_HANDLE, ENTRY_HIDDEN, CLASS_TEMPLATE),
    {"node", 0, KIND_OUT_NUMBER, KIND_U32, ENTRY_HIDDEN | ENTRY_NULLABLE, 0, -1, -1, -1},
};

CALL(template_add_switch) {
    return api->template_add_switch(a[0].p, a[1].p, (uint32_t)a[2].u, a[3].p, a[4].p, (uint32_t)a[5].u, a[6].p);
}
static const parameter_entry given_to_template_add_switch[] = {
    GIVEN_OF("graph_template", HANDLE, 0, CLASS_TEMPLATE),
    {"after", 0, KIND_NUMBERS, KIND_U32, ENTRY_NULLABLE | ENTRY_OPTIONAL, 0, 2, -1, -1},
    GIVEN_OF("after_count", U32, ENTRY_HIDDEN, 0),
    GIVEN_OF("condition", STRUCT, 0, STRUCT_CONDITION),
    {"bodies", 0, KIND_OUT_HANDLES, KIND_NONE, ENTRY_HIDDEN, CLASS_TEMPLATE, 5, -1, -1},
    GIVEN("count", U32),
    {"node", 0, KIND_OUT_NUMBER, KIND_U32, ENTRY_HIDDEN | ENTRY_NULLABLE, 0, -1, -1, -1},
};

CALL(template_bind_condition) {
    return api->template_bind_condition(a[0].p, (uint32_t)a[1].u, (uint32_t)a[2].u, a[3].p, (uint32_t)a[4].u);
}
static const parameter_entry given_to_template_bind_condition[] = {
    GIVEN_OF("kernel_in", HANDLE, 0, CLASS_TEMPLATE),
    GIVEN("kernel_node", U32),
    GIVEN("index", U32),
    GIVEN_OF("conditional_in", HANDLE, 0, CLASS_TEMPLATE),
    GIVEN("conditional", U32),
};

CALL(graph_get_loop) { return api->graph_get_loop(a[0].p, a[1].p, (uint32_t)a[2].u, a[3].p, a[4].p); }
static const parameter_entry given_to_graph_get_loop[] = {
    GIVEN_OF("graph", HANDLE, 0, CLASS_GRAPH),
    GIVEN_OF("conditional_in", HANDLE, 0, CLASS_TEMPLATE),
    GIVEN("node", U32),
    {"iterations", 0, KIND_OUT_NUMBER, KIND_U64, ENTRY_HIDDEN | ENTRY_NULLABLE, 0, -1, -1, -1},
    {"limited", 0, KIND_OUT_TRUTH, KIND_U32, ENTRY_HIDDEN | ENTRY_NULLABLE, 0, -1, -1, -1},
};

CALL(graph_get_device_handle) { return api->graph_get_device_handle(a[0].p, a[1].p, a[2].p); }
static const parameter_entry given_to_graph_get_device_handle[] = {
    GIVEN_OF("graph", HANDLE, 0, CLASS_GRAPH),
    {"native", 0, KIND_OUT_NUMBER, KIND_U64, ENTRY_HIDDEN, 0, -1, -1, -1},
    {"status", 0, KIND_OUT_NUMBER, KIND_U64, ENTRY_HIDDEN, 0, -1, -1, -1},
};

CALL(graph_get_device_status) { return api->graph_get_device_status(a[0].p, a[1].p); }
static const parameter_entry given_to_graph_get_device_status[] = {
    GIVEN_OF("graph", HANDLE, 0, CLASS_GRAPH),
    {"device_status", 0, KIND_OUT_NUMBER, KIND_STATUS, ENTRY_HIDDEN, 0, -1, -1, -1},
};

CALL(buckets_create) { return api->buckets_create(a[0].p, a[1].p, a[2].p); }
static const parameter_entry given_to_buckets_create[] = {
    GIVEN_OF("device", HANDLE, 0, CLASS_DEVICE),
    GIVEN_OF("options", STRUCT, 0, STRUCT_BUCKETS_OPTIONS),
    GIVEN_OF("buckets", OUT_HANDLE, ENTRY_HIDDEN, CLASS_BUCKETS),
};

CALL(buckets_destroy) { return api->buckets_destroy(a[0].p); }
static const parameter_entry given_to_buckets_destroy[] = {
    GIVEN_OF("buckets", HANDLE, ENTRY_NULLABLE | ENTRY_OPTIONAL, CLASS_BUCKETS),
};

CALL(buckets_prepare) { return api->buckets_prepare(a[0].p, a[1].p); }
static const parameter_entry given_to_buckets_prepare[] = {
    GIVEN_OF("buckets", HANDLE, 0, CLASS_BUCKETS),
    GIVEN_OF("stream", HANDLE, 0, CLASS_STREAM),
};

CALL(buckets_launch) { return api->buckets_launch(a[0].p, a[1].p, a[2].u, a[3].p, a[4].u, a[5].u, a[6].p); }
static const parameter_entry given_to_buckets_launch[] = {
    GIVEN_OF("buckets", HANDLE, 0, CLASS_BUCKETS),
    GIVEN_OF("stream", HANDLE, 0, CLASS_STREAM),
    GIVEN("size", U64),
    {"settings", 0, KIND_STRUCTS, KIND_NONE, ENTRY_NULLABLE | ENTRY_OPTIONAL, STRUCT_SETTING, 5, 4, -1},
    GIVEN_OF("stride", U64, ENTRY_HIDDEN, 0),
    GIVEN_OF("count", U64, ENTRY_HIDDEN, 0),
    {"shape", 0, KIND_OUT_NUMBER, KIND_U64, ENTRY_HIDDEN | ENTRY_NULLABLE, 0, -1, -1, -1},
};

CALL(buckets_get_statistics) { return api->buckets_get_statistics(a[0].p, a[1].p); }
static const parameter_entry given_to_buckets_get_statistics[] = {
    GIVEN_OF("buckets", HANDLE, 0, CLASS_BUCKETS),
    GIVEN_OF("statistics", OUT_STRUCT, ENTRY_HIDDEN, STRUCT_BUCKETS_STATISTICS),
};

CALL(template_import) { return api->template_import(a[0].p, a[1].p, a[2].p, a[3].p); }
static const parameter_entry given_to_template_import[] = {
    GIVEN_OF("device", HANDLE, 0, CLASS_DEVICE),
    GIVEN("native", POINTER),
    GIVEN_OF("options", STRUCT, ENTRY_NULLABLE | ENTRY_OPTIONAL, STRUCT_TEMPLATE_OPTIONS),
    GIVEN_OF("graph_template", OUT_HANDLE, ENTRY_HIDDEN, CLASS_TEMPLATE),
};

CALL(template_get_picture) { return api->template_get_picture(a[0].p, (uint32_t)a[1].u, a[2].p, a[3].u, a[4].p); }
static const parameter_entry given_to_template_get_picture[] = {
    GIVEN_OF("graph_template", HANDLE, 0, CLASS_TEMPLATE),
    {"format", 2, KIND_U32, KIND_NONE, ENTRY_OPTIONAL, 0, -1, -1, -1},
    {"buffer", 0, KIND_OUT_TEXT, KIND_NONE, ENTRY_HIDDEN | ENTRY_NULLABLE, 0, 3, -1, -1},
    GIVEN_OF("capacity", SIZE, ENTRY_HIDDEN, 0),
    {"needed", 0, KIND_NEEDED, KIND_SIZE, ENTRY_HIDDEN | ENTRY_NULLABLE, 0, -1, -1, -1},
};

CALL(template_allocate) { return api->template_allocate(a[0].p, a[1].u, a[2].p); }
static const parameter_entry given_to_template_allocate[] = {
    GIVEN_OF("graph_template", HANDLE, 0, CLASS_TEMPLATE),
    GIVEN("bytes", U64),
    {"address", 0, KIND_OUT_NUMBER, KIND_U64, ENTRY_HIDDEN, 0, -1, -1, -1},
};

CALL(template_allocate_host) { return api->template_allocate_host(a[0].p, a[1].u, a[2].p); }
static const parameter_entry given_to_template_allocate_host[] = {
    GIVEN_OF("graph_template", HANDLE, 0, CLASS_TEMPLATE),
    GIVEN("bytes", U64),
    GIVEN_OF("memory", OUT_POINTER, ENTRY_HIDDEN, 0),
};

CALL(template_add_allocation) {
    return api->template_add_allocation(a[0].p, a[1].p, (uint32_t)a[2].u, a[3].u, a[4].p, a[5].p);
}
static const parameter_entry given_to_template_add_allocation[] = {
    GIVEN_OF("graph_template", HANDLE, 0, CLASS_TEMPLATE),
    {"after", 0, KIND_NUMBERS, KIND_U32, ENTRY_NULLABLE | ENTRY_OPTIONAL, 0, 2, -1, -1},
    GIVEN_OF("after_count", U32, ENTRY_HIDDEN, 0),
    GIVEN("bytes", U64),
    {"address", 0, KIND_OUT_NUMBER, KIND_U64, ENTRY_HIDDEN, 0, -1, -1, -1},
    {"node", 0, KIND_OUT_NUMBER, KIND_U32, ENTRY_HIDDEN | ENTRY_NULLABLE, 0, -1, -1, -1},
};

CALL(template_add_free) { return api->template_add_free(a[0].p, a[1].p, (uint32_t)a[2].u, a[3].u, a[4].p); }
static const parameter_entry given_to_template_add_free[] = {
    GIVEN_OF("graph_template", HANDLE, 0, CLASS_TEMPLATE),
    {"after", 0, KIND_NUMBERS, KIND_U32, ENTRY_NULLABLE | ENTRY_OPTIONAL, 0, 2, -1, -1},
    GIVEN_OF("after_count", U32, ENTRY_HIDDEN, 0),
    GIVEN("address", ADDRESS),
    {"node", 0, KIND_OUT_NUMBER, KIND_U32, ENTRY_HIDDEN | ENTRY_NULLABLE, 0, -1, -1, -1},
};

CALL(queue_create) { return api->queue_create(a[0].p, a[1].p, a[2].p); }
static const parameter_entry given_to_queue_create[] = {
    GIVEN_OF("device", HANDLE, 0, CLASS_DEVICE),
    GIVEN_OF("options", STRUCT, 0, STRUCT_QUEUE_OPTIONS),
    GIVEN_OF("queue", OUT_HANDLE, ENTRY_HIDDEN, CLASS_QUEUE),
};

CALL(queue_destroy) { return api->queue_destroy(a[0].p); }
static const parameter_entry given_to_queue_destroy[] = {
    GIVEN_OF("queue", HANDLE, ENTRY_NULLABLE | ENTRY_OPTIONAL, CLASS_QUEUE),
};

CALL(queue_get_device_handle) { return api->queue_get_device_handle(a[0].p, a[1].p, a[2].u, a[3].p); }
static const parameter_entry given_to_queue_get_device_handle[] = {
    GIVEN_OF("queue", HANDLE, 0, CLASS_QUEUE),
    {"buffer", 0, KIND_OUT_BYTES, KIND_NONE, ENTRY_HIDDEN | ENTRY_NULLABLE, 0, 2, -1, -1},
    GIVEN_OF("capacity", SIZE, ENTRY_HIDDEN, 0),
    {"needed", 0, KIND_NEEDED, KIND_SIZE, ENTRY_HIDDEN | ENTRY_NULLABLE, 0, -1, -1, -1},
};

CALL(queue_set_costs) { return api->queue_set_costs(a[0].p, a[1].p, a[2].p, a[3].u); }
static const parameter_entry given_to_queue_set_costs[] = {
    GIVEN_OF("queue", HANDLE, 0, CLASS_QUEUE),
    GIVEN_OF("stream", HANDLE, 0, CLASS_STREAM),
    {"costs", 0, KIND_NUMBERS, KIND_F32, ENTRY_NULLABLE | ENTRY_OPTIONAL, 0, 3, -1, -1},
    GIVEN_OF("count", U64, ENTRY_HIDDEN, 0),
};

CALL(queue_reset) { return api->queue_reset(a[0].p, a[1].p); }
static const parameter_entry given_to_queue_reset[] = {
    GIVEN_OF("queue", HANDLE, 0, CLASS_QUEUE),
    GIVEN_OF("stream", HANDLE, 0, CLASS_STREAM),
};

CALL(queue_close) { return api->queue_close(a[0].p); }
static const parameter_entry given_to_queue_close[] = {
    GIVEN_OF("queue", HANDLE, 0, CLASS_QUEUE),
};

CALL(queue_abort) { return api->queue_abort(a[0].p); }
static const parameter_entry given_to_queue_abort[] = {
    GIVEN_OF("queue", HANDLE, 0, CLASS_QUEUE),
};

CALL(queue_get_info) { return api->queue_get_info(a[0].p, a[1].p); }
static const parameter_entry given_to_queue_get_info[] = {
    GIVEN_OF("queue", HANDLE, 0, CLASS_QUEUE),
    GIVEN_OF("info", OUT_STRUCT, ENTRY_HIDDEN, STRUCT_QUEUE_INFO),
};

CALL(queue_push) { return api->queue_push(a[0].p, a[1].p, a[2].p, a[3].u, (uint32_t)a[4].u); }
static const parameter_entry given_to_queue_push[] = {
    GIVEN_OF("queue", HANDLE, 0, CLASS_QUEUE),
    GIVEN_OF("stream", HANDLE, 0, CLASS_STREAM),
    {"tasks", 0, KIND_TASKS, KIND_NONE, 0, 0, 3, -1, -1},
    GIVEN_OF("count", U64, ENTRY_OPTIONAL, 0),
    GIVEN_OF("priority", U32, ENTRY_OPTIONAL, 0),
};

CALL(device_get_costs) { return api->device_get_costs(a[0].p, (uint32_t)a[1].u, a[2].p); }
static const parameter_entry given_to_device_get_costs[] = {
    GIVEN_OF("device", HANDLE, 0, CLASS_DEVICE),
    GIVEN_OF("flags", U32, ENTRY_OPTIONAL, 0),
    GIVEN_OF("costs", OUT_STRUCT, ENTRY_HIDDEN, STRUCT_COSTS),
};

CALL(advise) { return api->advise(a[0].p, a[1].p, a[2].p, a[3].p, a[4].u, a[5].u, a[6].p); }
static const parameter_entry given_to_advise[] = {
    GIVEN_OF("device", HANDLE, ENTRY_NULLABLE | ENTRY_OPTIONAL, CLASS_DEVICE),
    GIVEN_OF("workload", STRUCT, 0, STRUCT_WORKLOAD),
    GIVEN_OF("diagnosis", OUT_STRUCT, ENTRY_HIDDEN | ENTRY_NULLABLE, STRUCT_DIAGNOSIS),
    {"advice", 0, KIND_OUT_STRUCTS, KIND_NONE, ENTRY_HIDDEN, STRUCT_ADVICE, 5, 4, -1},
    GIVEN_OF("stride", U64, ENTRY_HIDDEN, 0),
    {"capacity", 32, KIND_U64, KIND_NONE, ENTRY_HIDDEN, 0, -1, -1, -1},
    {"count", 0, KIND_COUNT, KIND_U64, ENTRY_HIDDEN, 0, -1, -1, -1},
};

CALL(queue_set_tenant) { return api->queue_set_tenant(a[0].p, (uint32_t)a[1].u, a[2].p); }
static const parameter_entry given_to_queue_set_tenant[] = {
    GIVEN_OF("queue", HANDLE, 0, CLASS_QUEUE),
    GIVEN("tenant", U32),
    GIVEN_OF("options", STRUCT, 0, STRUCT_TENANT_OPTIONS),
};

CALL(queue_post) { return api->queue_post(a[0].p, (uint32_t)a[1].u, a[2].p, a[3].u, a[4].u, a[5].p); }
static const parameter_entry given_to_queue_post[] = {
    GIVEN_OF("queue", HANDLE, 0, CLASS_QUEUE),
    GIVEN_OF("tenant", U32, ENTRY_OPTIONAL, 0),
    {"tasks", 0, KIND_TASKS, KIND_NONE, 0, 0, 3, -1, -1},
    GIVEN_OF("count", U64, ENTRY_OPTIONAL, 0),
    GIVEN_OF("user_data", U64, ENTRY_OPTIONAL, 0),
    {"posted", 0, KIND_OUT_NUMBER, KIND_U64, ENTRY_HIDDEN, 0, -1, -1, -1},
};

CALL(queue_take) { return api->queue_take(a[0].p, (uint32_t)a[1].u, a[2].p, a[3].u, a[4].p, a[5].u, a[6].p); }
static const parameter_entry given_to_queue_take[] = {
    GIVEN_OF("queue", HANDLE, 0, CLASS_QUEUE),
    GIVEN_OF("tenant", U32, ENTRY_OPTIONAL, 0),
    {"entries", 0, KIND_OUT_STRUCTS, KIND_NONE, ENTRY_HIDDEN, STRUCT_ANSWER, 5, 3, -1},
    GIVEN_OF("stride", U64, ENTRY_HIDDEN, 0),
    GIVEN_OF("answers", OUT_ANSWERS, ENTRY_HIDDEN | ENTRY_NULLABLE, 0),
    {"capacity", 256, KIND_U64, KIND_NONE, ENTRY_OPTIONAL, 0, -1, -1, -1},
    {"count", 0, KIND_COUNT, KIND_U64, ENTRY_HIDDEN, 0, -1, -1, -1},
};

CALL(queue_wait) { return api->queue_wait(a[0].p, (uint32_t)a[1].u, a[2].i); }
static const parameter_entry given_to_queue_wait[] = {
    GIVEN_OF("queue", HANDLE, 0, CLASS_QUEUE),
    GIVEN_OF("tenant", U32, ENTRY_OPTIONAL, 0),
    GIVEN_OF("timeout", TIMEOUT, ENTRY_OPTIONAL, 0),
};

CALL(advise_trace) { return api->advise_trace(a[0].p, a[1].p, a[2].p, a[3].u, a[4].p); }
static const parameter_entry given_to_advise_trace[] = {
    GIVEN("path", TEXT),
    GIVEN_OF("workload", OUT_STRUCT, ENTRY_HIDDEN | ENTRY_NULLABLE, STRUCT_WORKLOAD),
    {"buffer", 0, KIND_OUT_TEXT, KIND_NONE, ENTRY_HIDDEN | ENTRY_NULLABLE, 0, 3, -1, -1},
    GIVEN_OF("capacity", SIZE, ENTRY_HIDDEN, 0),
    {"needed", 0, KIND_NEEDED, KIND_SIZE, ENTRY_HIDDEN | ENTRY_NULLABLE, 0, -1, -1, -1},
};

CALL(scheduler_create) { return api->scheduler_create(a[0].p, a[1].p, a[2].p, a[3].u, (uint32_t)a[4].u, a[5].p); }
static const parameter_entry given_to_scheduler_create[] = {
    GIVEN_OF("device", HANDLE, 0, CLASS_DEVICE),
    GIVEN_OF("options", STRUCT, 0, STRUCT_SCHEDULER_OPTIONS),
    {"handlers", 0, KIND_STRUCTS, KIND_NONE, 0, STRUCT_HANDLER, 4, 3, -1},
    GIVEN_OF("stride", U64, ENTRY_HIDDEN, 0),
    GIVEN_OF("count", U32, ENTRY_HIDDEN, 0),
    GIVEN_OF("scheduler", OUT_HANDLE, ENTRY_HIDDEN, CLASS_SCHEDULER),
};

CALL(scheduler_destroy) { return api->scheduler_destroy(a[0].p); }
static const parameter_entry given_to_scheduler_destroy[] = {
    GIVEN_OF("scheduler", HANDLE, ENTRY_NULLABLE | ENTRY_OPTIONAL, CLASS_SCHEDULER),
};

CALL(scheduler_start) { return api->scheduler_start(a[0].p); }
static const parameter_entry given_to_scheduler_start[] = {
    GIVEN_OF("scheduler", HANDLE, 0, CLASS_SCHEDULER),
};

CALL(scheduler_drain) { return api->scheduler_drain(a[0].p, a[1].i); }
static const parameter_entry given_to_scheduler_drain[] = {
    GIVEN_OF("scheduler", HANDLE, 0, CLASS_SCHEDULER),
    GIVEN_OF("timeout", TIMEOUT, ENTRY_OPTIONAL, 0),
};

CALL(scheduler_stop) { return api->scheduler_stop(a[0].p, a[1].i); }
static const parameter_entry given_to_scheduler_stop[] = {
    GIVEN_OF("scheduler", HANDLE, 0, CLASS_SCHEDULER),
    GIVEN_OF("timeout", TIMEOUT, ENTRY_OPTIONAL, 0),
};

CALL(scheduler_wait) { return api->scheduler_wait(a[0].p, a[1].i); }
static const parameter_entry given_to_scheduler_wait[] = {
    GIVEN_OF("scheduler", HANDLE, 0, CLASS_SCHEDULER),
    GIVEN_OF("timeout", TIMEOUT, ENTRY_OPTIONAL, 0),
};

CALL(scheduler_get_info) { return api->scheduler_get_info(a[0].p, a[1].p); }
static const parameter_entry given_to_scheduler_get_info[] = {
    GIVEN_OF("scheduler", HANDLE, 0, CLASS_SCHEDULER),
    GIVEN_OF("info", OUT_STRUCT, ENTRY_HIDDEN, STRUCT_SCHEDULER_INFO),
};

CALL(scheduler_get_handler) { return api->scheduler_get_handler(a[0].p, (uint32_t)a[1].u, a[2].p); }
static const parameter_entry given_to_scheduler_get_handler[] = {
    GIVEN_OF("scheduler", HANDLE, 0, CLASS_SCHEDULER),
    GIVEN("handler", U32),
    GIVEN_OF("info", OUT_STRUCT, ENTRY_HIDDEN, STRUCT_HANDLER_INFO),
};

CALL(scheduler_get_blocks) { return api->scheduler_get_blocks(a[0].p, a[1].p, a[2].u, a[3].u, a[4].p); }
static const parameter_entry given_to_scheduler_get_blocks[] = {
    GIVEN_OF("scheduler", HANDLE, 0, CLASS_SCHEDULER),
    {"blocks", 0, KIND_OUT_STRUCTS, KIND_NONE, ENTRY_HIDDEN, STRUCT_SCHEDULER_BLOCK, 3, 2, -1},
    GIVEN_OF("stride", U64, ENTRY_HIDDEN, 0),
    {"capacity", 64, KIND_U64, KIND_NONE, ENTRY_HIDDEN, 0, -1, -1, -1},
    {"count", 0, KIND_COUNT, KIND_U64, ENTRY_HIDDEN, 0, -1, -1, -1},
};

CALL(scheduler_get_samples) { return api->scheduler_get_samples(a[0].p, a[1].p, a[2].u, a[3].u, a[4].p); }
static const parameter_entry given_to_scheduler_get_samples[] = {
    GIVEN_OF("scheduler", HANDLE, 0, CLASS_SCHEDULER),
    {"samples", 0, KIND_OUT_STRUCTS, KIND_NONE, ENTRY_HIDDEN, STRUCT_DEPTH_SAMPLE, 3, 2, -1},
    GIVEN_OF("stride", U64, ENTRY_HIDDEN, 0),
    {"capacity", 1024, KIND_U64, KIND_NONE, ENTRY_HIDDEN, 0, -1, -1, -1},
    {"count", 0, KIND_COUNT, KIND_U64, ENTRY_HIDDEN, 0, -1, -1, -1},
};

CALL(scheduler_get_errors) { return api->scheduler_get_errors(a[0].p, a[1].p, a[2].u, a[3].u, a[4].p); }
static const parameter_entry given_to_scheduler_get_errors[] = {
    GIVEN_OF("scheduler", HANDLE, 0, CLASS_SCHEDULER),
    {"errors", 0, KIND_OUT_STRUCTS, KIND_NONE, ENTRY_HIDDEN, STRUCT_TASK_ERROR, 3, 2, -1},
    GIVEN_OF("stride", U64, ENTRY_HIDDEN, 0),
    {"capacity", 64, KIND_U64, KIND_NONE, ENTRY_HIDDEN, 0, -1, -1, -1},
    {"count", 0, KIND_COUNT, KIND_U64, ENTRY_HIDDEN, 0, -1, -1, -1},
};

CALL(peers_create) { return api->peers_create(a[0].p, (uint32_t)a[1].u, a[2].p, a[3].p); }
static const parameter_entry given_to_peers_create[] = {
    {"devices", 0, KIND_HANDLES, KIND_NONE, 0, CLASS_DEVICE, 1, -1, -1},
    GIVEN_OF("count", U32, ENTRY_HIDDEN, 0),
    GIVEN_OF("options", STRUCT, ENTRY_NULLABLE | ENTRY_OPTIONAL, STRUCT_PEERS_OPTIONS),
    GIVEN_OF("peers", OUT_HANDLE, ENTRY_HIDDEN, CLASS_PEERS),
};

CALL(peers_destroy) { return api->peers_destroy(a[0].p); }
static const parameter_entry given_to_peers_destroy[] = {
    GIVEN_OF("peers", HANDLE, ENTRY_NULLABLE | ENTRY_OPTIONAL, CLASS_PEERS),
};

CALL(peers_split) { return api->peers_split(a[0].p, a[1].p, (uint32_t)a[2].u, a[3].p, a[4].p); }
static const parameter_entry given_to_peers_split[] = {
    GIVEN_OF("peers", HANDLE, 0, CLASS_PEERS),
    {"ranks", 0, KIND_NUMBERS, KIND_U32, 0, 0, 2, -1, -1},
    GIVEN_OF("count", U32, ENTRY_HIDDEN, 0),
    GIVEN_OF("options", STRUCT, ENTRY_NULLABLE | ENTRY_OPTIONAL, STRUCT_PEERS_OPTIONS),
    GIVEN_OF("part", OUT_HANDLE, ENTRY_HIDDEN, CLASS_PEERS),
};

CALL(peers_get_info) { return api->peers_get_info(a[0].p, a[1].p); }
static const parameter_entry given_to_peers_get_info[] = {
    GIVEN_OF("peers", HANDLE, 0, CLASS_PEERS),
    GIVEN_OF("info", OUT_STRUCT, ENTRY_HIDDEN, STRUCT_PEERS_INFO),
};

CALL(peers_get_link) { return api->peers_get_link(a[0].p, (uint32_t)a[1].u, (uint32_t)a[2].u, a[3].p); }
static const parameter_entry given_to_peers_get_link[] = {
    GIVEN_OF("peers", HANDLE, 0, CLASS_PEERS),
    GIVEN("from_", U32),
    GIVEN("to", U32),
    GIVEN_OF("link", OUT_STRUCT, ENTRY_HIDDEN, STRUCT_PEER_PROPERTIES),
};

CALL(peers_submit) { return api->peers_submit(a[0].p, a[1].p, a[2].p, a[3].u, (uint32_t)a[4].u); }
static const parameter_entry given_to_peers_submit[] = {
    GIVEN_OF("peers", HANDLE, 0, CLASS_PEERS),
    GIVEN_OF("collective", STRUCT, 0, STRUCT_COLLECTIVE),
    {"parts", 0, KIND_STRUCTS, KIND_NONE, 0, STRUCT_RANK_PART, 4, 3, -1},
    GIVEN_OF("stride", U64, ENTRY_HIDDEN, 0),
    GIVEN_OF("count", U32, ENTRY_HIDDEN, 0),
};

CALL(symmetric_allocate) { return api->symmetric_allocate(a[0].p, a[1].u, a[2].p, a[3].p); }
static const parameter_entry given_to_symmetric_allocate[] = {
    GIVEN_OF("peers", HANDLE, 0, CLASS_PEERS),
    GIVEN("bytes", U64),
    GIVEN_OF("options", STRUCT, ENTRY_NULLABLE | ENTRY_OPTIONAL, STRUCT_SYMMETRIC_OPTIONS),
    GIVEN_OF("memory", OUT_HANDLE, ENTRY_HIDDEN, CLASS_SYMMETRIC),
};

CALL(symmetric_destroy) { return api->symmetric_destroy(a[0].p); }
static const parameter_entry given_to_symmetric_destroy[] = {
    GIVEN_OF("memory", HANDLE, ENTRY_NULLABLE | ENTRY_OPTIONAL, CLASS_SYMMETRIC),
};

CALL(symmetric_get_address) { return api->symmetric_get_address(a[0].p, (uint32_t)a[1].u, a[2].p); }
static const parameter_entry given_to_symmetric_get_address[] = {
    GIVEN_OF("memory", HANDLE, 0, CLASS_SYMMETRIC),
    GIVEN("rank", U32),
    {"address", 0, KIND_OUT_NUMBER, KIND_U64, ENTRY_HIDDEN, 0, -1, -1, -1},
};

CALL(symmetric_get_device_handle) {
    return api->symmetric_get_device_handle(a[0].p, (uint32_t)a[1].u, a[2].p, a[3].u, a[4].p);
}
static const parameter_entry given_to_symmetric_get_device_handle[] = {
    GIVEN_OF("memory", HANDLE, 0, CLASS_SYMMETRIC),
    GIVEN("rank", U32),
    {"buffer", 0, KIND_OUT_BYTES, KIND_NONE, ENTRY_HIDDEN | ENTRY_NULLABLE, 0, 3, -1, -1},
    GIVEN_OF("capacity", SIZE, ENTRY_HIDDEN, 0),
    {"needed", 0, KIND_NEEDED, KIND_SIZE, ENTRY_HIDDEN | ENTRY_NULLABLE, 0, -1, -1, -1},
};

CALL(symmetric_reset) { return api->symmetric_reset(a[0].p, (uint32_t)a[1].u, a[2].p); }
static const parameter_entry given_to_symmetric_reset[] = {
    GIVEN_OF("memory", HANDLE, 0, CLASS_SYMMETRIC),
    GIVEN("rank", U32),
    GIVEN_OF("stream", HANDLE, 0, CLASS_STREAM),
};

CALL(symmetric_get_info) { return api->symmetric_get_info(a[0].p, a[1].p); }
static const parameter_entry given_to_symmetric_get_info[] = {
    GIVEN_OF("memory", HANDLE, 0, CLASS_SYMMETRIC),
    GIVEN_OF("info", OUT_STRUCT, ENTRY_HIDDEN, STRUCT_SYMMETRIC_INFO),
};

CALL(peers_launch) { return api->peers_launch(a[0].p, a[1].p, a[2].u, (uint32_t)a[3].u); }
static const parameter_entry given_to_peers_launch[] = {
    GIVEN_OF("peers", HANDLE, 0, CLASS_PEERS),
    {"launches", 0, KIND_STRUCTS, KIND_NONE, 0, STRUCT_RANK_LAUNCH, 3, 2, -1},
    GIVEN_OF("stride", U64, ENTRY_HIDDEN, 0),
    GIVEN_OF("count", U32, ENTRY_HIDDEN, 0),
};

CALL(peers_make_id) { return api->peers_make_id(a[0].p, a[1].u, a[2].p); }
static const parameter_entry given_to_peers_make_id[] = {
    {"buffer", 0, KIND_OUT_BYTES, KIND_NONE, ENTRY_HIDDEN | ENTRY_NULLABLE, 0, 1, -1, -1},
    GIVEN_OF("capacity", SIZE, ENTRY_HIDDEN, 0),
    {"needed", 0, KIND_NEEDED, KIND_SIZE, ENTRY_HIDDEN | ENTRY_NULLABLE, 0, -1, -1, -1},
};

CALL(peers_join) { return api->peers_join(a[0].p, a[1].p, a[2].p); }
static const parameter_entry given_to_peers_join[] = {
    GIVEN_OF("device", HANDLE, 0, CLASS_DEVICE),
    GIVEN_OF("options", STRUCT, 0, STRUCT_JOIN_OPTIONS),
    GIVEN_OF("peers", OUT_HANDLE, ENTRY_HIDDEN, CLASS_PEERS),
};

CALL(peers_abort) { return api->peers_abort(a[0].p); }
static const parameter_entry given_to_peers_abort[] = {
    GIVEN_OF("peers", HANDLE, 0, CLASS_PEERS),
};

CALL(memory_export) { return api->memory_export(a[0].p, a[1].u, a[2].p, a[3].u, a[4].p); }
static const parameter_entry given_to_memory_export[] = {
    GIVEN_OF("device", HANDLE, 0, CLASS_DEVICE),
    GIVEN("address", ADDRESS),
    {"buffer", 0, KIND_OUT_BYTES, KIND_NONE, ENTRY_HIDDEN | ENTRY_NULLABLE, 0, 3, -1, -1},
    GIVEN_OF("capacity", SIZE, ENTRY_HIDDEN, 0),
    {"needed", 0, KIND_NEEDED, KIND_SIZE, ENTRY_HIDDEN | ENTRY_NULLABLE, 0, -1, -1, -1},
};

CALL(memory_import) { return api->memory_import(a[0].p, a[1].p, a[2].u, a[3].p, a[4].p, a[5].p); }
static const parameter_entry given_to_memory_import[] = {
    GIVEN_OF("device", HANDLE, 0, CLASS_DEVICE),
    {"exported", 0, KIND_HOST_IN, KIND_NONE, 0, 0, 2, -1, -1},
    GIVEN_OF("bytes", SIZE, ENTRY_HIDDEN, 0),
    GIVEN_OF("label", TEXT, ENTRY_NULLABLE | ENTRY_OPTIONAL, 0),
    {"address", 0, KIND_OUT_NUMBER, KIND_U64, ENTRY_HIDDEN, 0, -1, -1, -1},
    {"size", 0, KIND_OUT_NUMBER, KIND_U64, ENTRY_HIDDEN, 0, -1, -1, -1},
};

CALL(event_export) { return api->event_export(a[0].p, a[1].p, a[2].u, a[3].p); }
static const parameter_entry given_to_event_export[] = {
    GIVEN_OF("event", HANDLE, 0, CLASS_EVENT),
    {"buffer", 0, KIND_OUT_BYTES, KIND_NONE, ENTRY_HIDDEN | ENTRY_NULLABLE, 0, 2, -1, -1},
    GIVEN_OF("capacity", SIZE, ENTRY_HIDDEN, 0),
    {"needed", 0, KIND_NEEDED, KIND_SIZE, ENTRY_HIDDEN | ENTRY_NULLABLE, 0, -1, -1, -1},
};

CALL(event_import) { return api->event_import(a[0].p, a[1].p, a[2].u, a[3].p, a[4].p); }
static const parameter_entry given_to_event_import[] = {
    GIVEN_OF("device", HANDLE, 0, CLASS_DEVICE),
    {"exported", 0, KIND_HOST_IN, KIND_NONE, 0, 0, 2, -1, -1},
    GIVEN_OF("bytes", SIZE, ENTRY_HIDDEN, 0),
    GIVEN_OF("label", TEXT, ENTRY_NULLABLE | ENTRY_OPTIONAL, 0),
    GIVEN_OF("event", OUT_HANDLE, ENTRY_HIDDEN, CLASS_EVENT),
};

CALL(pipeline_get_share) { return api->pipeline_get_share(a[0].p, (uint32_t)a[1].u, a[2].p); }
static const parameter_entry given_to_pipeline_get_share[] = {
    GIVEN_OF("pipeline", HANDLE, 0, CLASS_PIPELINE),
    GIVEN_OF("device", U32, ENTRY_OPTIONAL, 0),
    GIVEN_OF("share", OUT_STRUCT, ENTRY_HIDDEN, STRUCT_PIPELINE_SHARE),
};

CALL(admission_create) { return api->admission_create(a[0].p, a[1].p, a[2].p); }
static const parameter_entry given_to_admission_create[] = {
    GIVEN_OF("runtime", HANDLE, 0, CLASS_RUNTIME),
    GIVEN_OF("options", STRUCT, ENTRY_NULLABLE | ENTRY_OPTIONAL, STRUCT_ADMISSION_OPTIONS),
    GIVEN_OF("admission", OUT_HANDLE, ENTRY_HIDDEN, CLASS_ADMISSION),
};

CALL(admission_destroy) { return api->admission_destroy(a[0].p); }
static const parameter_entry given_to_admission_destroy[] = {
    GIVEN_OF("admission", HANDLE, ENTRY_NULLABLE | ENTRY_OPTIONAL, CLASS_ADMISSION),
};

CALL(admission_enter) { return api->admission_enter(a[0].p, a[1].p, a[2].p, a[3].u, a[4].p); }
static const parameter_entry given_to_admission_enter[] = {
    GIVEN_OF("admission", HANDLE, 0, CLASS_ADMISSION),
    GIVEN_OF("request", STRUCT, ENTRY_NULLABLE | ENTRY_OPTIONAL, STRUCT_ADMISSION_REQUEST),
    GIVEN_OF("cq", HANDLE, 0, CLASS_CQ),
    GIVEN_OF("user_data", U64, ENTRY_OPTIONAL, 0),
    {"ticket", 0, KIND_OUT_NUMBER, KIND_U64, ENTRY_HIDDEN, 0, -1, -1, -1},
};

CALL(admission_enter_then) {
    return api->admission_enter_then(a[0].p, a[1].p, a[2].p, (gpo_completion_fn)a[3].f, a[4].p, a[5].p);
}
static const parameter_entry given_to_admission_enter_then[] = {
    GIVEN_OF("admission", HANDLE, 0, CLASS_ADMISSION),
    GIVEN_OF("request", STRUCT, ENTRY_NULLABLE | ENTRY_OPTIONAL, STRUCT_ADMISSION_REQUEST),
    GIVEN_OF("executor", HANDLE, 0, CLASS_EXECUTOR),
    {"callback", 0, KIND_CALLBACK, KIND_NONE, 0, CALLBACK_COMPLETION, -1, -1, 4},
    GIVEN_OF("user", USER, ENTRY_HIDDEN | ENTRY_NULLABLE, 0),
    {"ticket", 0, KIND_OUT_NUMBER, KIND_U64, ENTRY_HIDDEN, 0, -1, -1, -1},
};

CALL(admission_cancel) { return api->admission_cancel(a[0].p, a[1].u); }
static const parameter_entry given_to_admission_cancel[] = {
    GIVEN_OF("admission", HANDLE, 0, CLASS_ADMISSION),
    GIVEN("ticket", U64),
};

CALL(admission_leave) { return api->admission_leave(a[0].p, a[1].u); }
static const parameter_entry given_to_admission_leave[] = {
    GIVEN_OF("admission", HANDLE, 0, CLASS_ADMISSION),
    GIVEN("ticket", U64),
};

CALL(admission_leave_after) { return api->admission_leave_after(a[0].p, a[1].u, a[2].p); }
static const parameter_entry given_to_admission_leave_after[] = {
    GIVEN_OF("admission", HANDLE, 0, CLASS_ADMISSION),
    GIVEN("ticket", U64),
    GIVEN_OF("stream", HANDLE, 0, CLASS_STREAM),
};

CALL(admission_set_budget) { return api->admission_set_budget(a[0].p, a[1].u, a[2].u); }
static const parameter_entry given_to_admission_set_budget[] = {
    GIVEN_OF("admission", HANDLE, 0, CLASS_ADMISSION),
    GIVEN("count", U64),
    GIVEN("bytes", U64),
};

CALL(admission_set_flow) { return api->admission_set_flow(a[0].p, a[1].u, (uint32_t)a[2].u); }
static const parameter_entry given_to_admission_set_flow[] = {
    GIVEN_OF("admission", HANDLE, 0, CLASS_ADMISSION),
    GIVEN("flow", U64),
    GIVEN("weight", U32),
};

CALL(admission_get_info) { return api->admission_get_info(a[0].p, a[1].p); }
static const parameter_entry given_to_admission_get_info[] = {
    GIVEN_OF("admission", HANDLE, 0, CLASS_ADMISSION),
    GIVEN_OF("info", OUT_STRUCT, ENTRY_HIDDEN, STRUCT_ADMISSION_INFO),
};

CALL(batcher_create) { return api->batcher_create(a[0].p, a[1].p); }
static const parameter_entry given_to_batcher_create[] = {
    GIVEN_OF("options", STRUCT, 0, STRUCT_BATCHER_OPTIONS),
    GIVEN_OF("batcher", OUT_HANDLE, ENTRY_HIDDEN, CLASS_BATCHER),
};

CALL(batcher_destroy) { return api->batcher_destroy(a[0].p); }
static const parameter_entry given_to_batcher_destroy[] = {
    GIVEN_OF("batcher", HANDLE, ENTRY_NULLABLE | ENTRY_OPTIONAL, CLASS_BATCHER),
};

CALL(batcher_add_key) { return api->batcher_add_key(a[0].p, a[1].p, a[2].p); }
static const parameter_entry given_to_batcher_add_key[] = {
    GIVEN_OF("batcher", HANDLE, 0, CLASS_BATCHER),
    GIVEN_OF("options", STRUCT, 0, STRUCT_BATCHER_KEY_OPTIONS),
    {"key", 0, KIND_OUT_NUMBER, KIND_U32, ENTRY_HIDDEN, 0, -1, -1, -1},
};

CALL(batcher_submit) { return api->batcher_submit(a[0].p, a[1].p, a[2].p, a[3].u, a[4].p, a[5].p); }
static const parameter_entry given_to_batcher_submit[] = {
    GIVEN_OF("batcher", HANDLE, 0, CLASS_BATCHER),
    GIVEN_OF("request", STRUCT, 0, STRUCT_BATCHER_REQUEST),
    GIVEN_OF("cq", HANDLE, 0, CLASS_CQ),
    GIVEN_OF("user_data", U64, ENTRY_OPTIONAL, 0),
    {"ticket", 0, KIND_OUT_NUMBER, KIND_U64, ENTRY_HIDDEN, 0, -1, -1, -1},
    {"wait_ns", 0, KIND_OUT_NUMBER, KIND_U64, ENTRY_HIDDEN | ENTRY_NULLABLE, 0, -1, -1, -1},
};

CALL(batcher_submit_then) {
    return api->batcher_submit_then(a[0].p, a[1].p, a[2].p, (gpo_completion_fn)a[3].f, a[4].p, a[5].p, a[6].p);
}
static const parameter_entry given_to_batcher_submit_then[] = {
    GIVEN_OF("batcher", HANDLE, 0, CLASS_BATCHER),
    GIVEN_OF("request", STRUCT, 0, STRUCT_BATCHER_REQUEST),
    GIVEN_OF("executor", HANDLE, 0, CLASS_EXECUTOR),
    {"callback", 0, KIND_CALLBACK, KIND_NONE, 0, CALLBACK_COMPLETION, -1, -1, 4},
    GIVEN_OF("user", USER, ENTRY_HIDDEN | ENTRY_NULLABLE, 0),
    {"ticket", 0, KIND_OUT_NUMBER, KIND_U64, ENTRY_HIDDEN, 0, -1, -1, -1},
    {"wait_ns", 0, KIND_OUT_NUMBER, KIND_U64, ENTRY_HIDDEN | ENTRY_NULLABLE, 0, -1, -1, -1},
};

CALL(batcher_cancel) { return api->batcher_cancel(a[0].p, a[1].u); }
static const parameter_entry given_to_batcher_cancel[] = {
    GIVEN_OF("batcher", HANDLE, 0, CLASS_BATCHER),
    GIVEN("ticket", U64),
};

CALL(batcher_set_flow) { return api->batcher_set_flow(a[0].p, a[1].u, (uint32_t)a[2].u); }
static const parameter_entry given_to_batcher_set_flow[] = {
    GIVEN_OF("batcher", HANDLE, 0, CLASS_BATCHER),
    GIVEN("flow", U64),
    GIVEN("weight", U32),
};

CALL(batcher_get_info) { return api->batcher_get_info(a[0].p, a[1].p); }
static const parameter_entry given_to_batcher_get_info[] = {
    GIVEN_OF("batcher", HANDLE, 0, CLASS_BATCHER),
    GIVEN_OF("info", OUT_STRUCT, ENTRY_HIDDEN, STRUCT_BATCHER_INFO),
};

CALL(batcher_get_key_info) { return api->batcher_get_key_info(a[0].p, (uint32_t)a[1].u, a[2].p); }
static const parameter_entry given_to_batcher_get_key_info[] = {
    GIVEN_OF("batcher", HANDLE, 0, CLASS_BATCHER),
    GIVEN("key", U32),
    GIVEN_OF("info", OUT_STRUCT, ENTRY_HIDDEN, STRUCT_BATCHER_INFO),
};

CALL(batcher_get_flow_info) { return api->batcher_get_flow_info(a[0].p, a[1].u, a[2].p); }
static const parameter_entry given_to_batcher_get_flow_info[] = {
    GIVEN_OF("batcher", HANDLE, 0, CLASS_BATCHER),
    GIVEN("flow", U64),
    GIVEN_OF("info", OUT_STRUCT, ENTRY_HIDDEN, STRUCT_BATCHER_FLOW_INFO),
};

CALL(executor_post) { return api->executor_post(a[0].p, (gpo_completion_fn)a[1].f, a[2].p); }
static const parameter_entry given_to_executor_post[] = {
    GIVEN_OF("executor", HANDLE, 0, CLASS_EXECUTOR),
    {"callback", 0, KIND_CALLBACK, KIND_NONE, 0, CALLBACK_COMPLETION, -1, -1, 2},
    GIVEN_OF("user", USER, ENTRY_HIDDEN | ENTRY_NULLABLE, 0),
};

CALL(executor_post_at) { return api->executor_post_at(a[0].p, a[1].u, (gpo_completion_fn)a[2].f, a[3].p, a[4].p); }
static const parameter_entry given_to_executor_post_at[] = {
    GIVEN_OF("executor", HANDLE, 0, CLASS_EXECUTOR),
    GIVEN("time_ns", U64),
    {"callback", 0, KIND_CALLBACK, KIND_NONE, 0, CALLBACK_COMPLETION, -1, -1, 3},
    GIVEN_OF("user", USER, ENTRY_HIDDEN | ENTRY_NULLABLE, 0),
    {"ticket", 0, KIND_OUT_NUMBER, KIND_U64, ENTRY_HIDDEN | ENTRY_NULLABLE, 0, -1, -1, -1},
};

CALL(executor_cancel) { return api->executor_cancel(a[0].p, a[1].u); }
static const parameter_entry given_to_executor_cancel[] = {
    GIVEN_OF("executor", HANDLE, 0, CLASS_EXECUTOR),
    GIVEN("ticket", U64),
};

CALL(executor_get_time) { return api->executor_get_time(a[0].p, a[1].p); }
static const parameter_entry given_to_executor_get_time[] = {
    GIVEN_OF("executor", HANDLE, 0, CLASS_EXECUTOR),
    {"time_ns", 0, KIND_OUT_NUMBER, KIND_U64, ENTRY_HIDDEN, 0, -1, -1, -1},
};

const function_entry function_entries[FUNCTION_COUNT] = {
    FUNCTION(status_name, FUNCTION_KEEPS_GIL, "($module, status)"),
    FUNCTION(status_text, FUNCTION_KEEPS_GIL, "($module, status)"),
    FUNCTION(last_error, FUNCTION_FAILURE | FUNCTION_KEEPS_GIL, "($module)"),
    FUNCTION(object_get_error, FUNCTION_FAILURE | FUNCTION_KEEPS_GIL, "($module, object)"),
    FUNCTION(object_set_label, FUNCTION_KEEPS_GIL, "($module, object, label=None)"),
    FUNCTION(object_get_label, FUNCTION_KEEPS_GIL, "($module, object)"),
    FUNCTION(runtime_create, 0, "($module, options=None)"),
    FUNCTION(runtime_shutdown, FUNCTION_DESTROYS, "($module, runtime=None, timeout=None)"),
    FUNCTION(runtime_get_driver, 0, "($module, runtime)"),
    FUNCTION(runtime_get_statistics, FUNCTION_KEEPS_GIL, "($module, runtime)"),
    FUNCTION(version, FUNCTION_KEEPS_GIL, "($module)"),
    FUNCTION(runtime_get_device_count, 0, "($module, runtime)"),
    FUNCTION(runtime_describe_device, 0, "($module, runtime, ordinal=0)"),
    FUNCTION(runtime_describe_peer, 0, "($module, runtime, from_, to)"),
    FUNCTION(device_open, 0, "($module, runtime, options=None)"),
    FUNCTION(device_close, FUNCTION_DESTROYS, "($module, device=None)"),
    FUNCTION(device_get_properties, FUNCTION_KEEPS_GIL, "($module, device)"),
    FUNCTION(device_wait, 0, "($module, device, timeout=None)"),
    FUNCTION(device_get_native, FUNCTION_KEEPS_GIL, "($module, device)"),
    FUNCTION(device_get_memory, 0, "($module, device)"),
    FUNCTION(device_enable_peer, 0, "($module, device, peer)"),
    FUNCTION(device_disable_peer, 0, "($module, device, peer)"),
    FUNCTION(device_get_limit, 0, "($module, device, limit)"),
    FUNCTION(device_set_limit, 0, "($module, device, limit, value)"),
    FUNCTION(event_create, 0, "($module, device, options=None)"),
    FUNCTION(event_destroy, FUNCTION_DESTROYS, "($module, event=None)"),
    FUNCTION(event_record, 0, "($module, event, stream)"),
    FUNCTION(event_query, FUNCTION_KEEPS_GIL | FUNCTION_QUERY, "($module, event)"),
    FUNCTION(event_wait, 0, "($module, event, timeout=None)"),
    FUNCTION(event_get_elapsed, 0, "($module, start, end)"),
    FUNCTION(event_notify, 0, "($module, event, cq, user_data=0)"),
    FUNCTION(event_get_native, FUNCTION_KEEPS_GIL, "($module, event)"),
    FUNCTION(timeline_create, 0, "($module, runtime, options=None)"),
    FUNCTION(timeline_destroy, FUNCTION_DESTROYS, "($module, timeline=None)"),
    FUNCTION(timeline_signal, 0, "($module, timeline, value)"),
    FUNCTION(timeline_fail, 0, "($module, timeline, status, message=None)"),
    FUNCTION(timeline_get_value, FUNCTION_KEEPS_GIL, "($module, timeline)"),
    FUNCTION(timeline_wait, 0, "($module, timeline, value, timeout=None)"),
    FUNCTION(stream_create, 0, "($module, device, options=None)"),
    FUNCTION(stream_wrap, 0, "($module, device, native=None, options=None)"),
    FUNCTION(stream_destroy, FUNCTION_DESTROYS, "($module, stream=None)"),
    FUNCTION(device_get_priority_range, 0, "($module, device)"),
    FUNCTION(stream_get_info, FUNCTION_KEEPS_GIL, "($module, stream)"),
    FUNCTION(stream_get_native, FUNCTION_KEEPS_GIL, "($module, stream)"),
    FUNCTION(stream_query, FUNCTION_KEEPS_GIL | FUNCTION_QUERY, "($module, stream)"),
    FUNCTION(stream_wait, 0, "($module, stream, timeout=None)"),
    FUNCTION(stream_cancel_held, 0, "($module, stream)"),
    FUNCTION(stream_wait_event, 0, "($module, stream, event)"),
    FUNCTION(stream_wait_stream, 0, "($module, stream, other)"),
    FUNCTION(stream_wait_timeline, 0, "($module, stream, timeline, value)"),
    FUNCTION(stream_signal_timeline, 0, "($module, stream, timeline, value)"),
    FUNCTION(stream_pool_create, 0, "($module, device, options=None)"),
    FUNCTION(stream_pool_destroy, FUNCTION_DESTROYS, "($module, pool=None)"),
    FUNCTION(stream_pool_acquire, 0, "($module, pool, priority=0)"),
    FUNCTION(stream_pool_release, FUNCTION_DESTROYS, "($module, pool, stream)"),
    FUNCTION(arena_create, 0, "($module, device, options=None)"),
    FUNCTION(arena_destroy, FUNCTION_DESTROYS, "($module, arena=None)"),
    FUNCTION(arena_allocate, 0, "($module, arena, bytes, alignment=0)"),
    FUNCTION(arena_free, 0, "($module, arena, memory=None)"),
    FUNCTION(arena_free_after, 0, "($module, arena, memory, stream)"),
    FUNCTION(arena_trim, 0, "($module, arena, keep_bytes=0)"),
    FUNCTION(arena_get_statistics, 0, "($module, arena)"),
    FUNCTION(host_register, 0, "($module, device, memory, flags=0)"),
    FUNCTION(host_unregister, 0, "($module, device, memory)"),
    FUNCTION(memory_allocate, 0, "($module, device, bytes, label=None)"),
    FUNCTION(memory_free, 0, "($module, device, address)"),
    FUNCTION(memory_describe, 0, "($module, device, address)"),
    FUNCTION(pool_create, 0, "($module, device, options=None)"),
    FUNCTION(pool_destroy, FUNCTION_DESTROYS, "($module, pool=None)"),
    FUNCTION(pool_allocate, 0, "($module, pool, stream, bytes)"),
    FUNCTION(pool_free, 0, "($module, pool, stream, address)"),
    FUNCTION(pool_trim, 0, "($module, pool, keep_bytes=0)"),
    FUNCTION(pool_get_statistics, 0, "($module, pool)"),
    FUNCTION(copy_to_device, FUNCTION_STREAM_KEEPS, "($module, stream, destination, source)"),
    FUNCTION(copy_to_host, FUNCTION_STREAM_KEEPS, "($module, stream, destination, source)"),
    FUNCTION(copy_on_device, FUNCTION_STREAM_KEEPS, "($module, stream, destination, source, bytes=None)"),
    FUNCTION(copy_peer, FUNCTION_STREAM_KEEPS,
             "($module, stream, destination_device, destination, source_device, source, bytes=None)"),
    FUNCTION(copy_batch, FUNCTION_STREAM_KEEPS, "($module, stream, copies)"),
    FUNCTION(copy_rows, FUNCTION_STREAM_KEEPS, "($module, stream, copy)"),
    FUNCTION(fill, FUNCTION_STREAM_KEEPS, "($module, stream, destination, value, element_bytes=4, count=None)"),
    FUNCTION(fill_rows, FUNCTION_STREAM_KEEPS, "($module, stream, destination, pitch, value, width, height)"),
    FUNCTION(module_compile, 0, "($module, device, options)"),
    FUNCTION(last_compile_log, 0, "($module)"),
    FUNCTION(module_load, 0, "($module, device, image, label=None)"),
    FUNCTION(module_get_image, 0, "($module, module)"),
    FUNCTION(module_load_builtin, 0, "($module, device)"),
    FUNCTION(module_destroy, FUNCTION_DESTROYS, "($module, module=None)"),
    FUNCTION(module_get_kernel, 0, "($module, module, name)"),
    FUNCTION(kernel_destroy, FUNCTION_DESTROYS, "($module, kernel=None)"),
    FUNCTION(module_get_symbol, 0, "($module, module, name)"),
    FUNCTION(kernel_get_attributes, 0, "($module, kernel)"),
    FUNCTION(kernel_get_name, FUNCTION_KEEPS_GIL, "($module, kernel)"),
    FUNCTION(kernel_get_native, FUNCTION_KEEPS_GIL, "($module, kernel)"),
    FUNCTION(kernel_set_max_dynamic_shared, 0, "($module, kernel, bytes)"),
    FUNCTION(kernel_get_occupancy, 0, "($module, kernel, threads, dynamic_shared_bytes=0)"),
    FUNCTION(kernel_suggest_shape, 0, "($module, kernel, dynamic_shared_bytes=0, max_threads=0)"),
    FUNCTION(stream_launch_kernel, FUNCTION_STREAM_KEEPS, "($module, stream, kernel, launch, arguments)"),
    FUNCTION(cq_create, 0, "($module, runtime, options=None)"),
    FUNCTION(cq_destroy, FUNCTION_DESTROYS, "($module, cq=None)"),
    FUNCTION(stream_notify, 0, "($module, stream, cq, user_data=0)"),
    FUNCTION(stream_notify_timed, 0, "($module, stream, cq, user_data, since)"),
    FUNCTION(cq_drain, FUNCTION_KEEPS_GIL | FUNCTION_TAKES, "($module, cq, capacity=256)"),
    FUNCTION(cq_wait, 0, "($module, cq, timeout=None)"),
    FUNCTION(cq_wake, FUNCTION_KEEPS_GIL, "($module, cq)"),
    FUNCTION(cq_get_error, FUNCTION_FAILURE | FUNCTION_KEEPS_GIL, "($module, cq, error_id)"),
    FUNCTION(cq_get_statistics, FUNCTION_KEEPS_GIL, "($module, cq)"),
    FUNCTION(pipeline_create, 0, "($module, device, options)"),
    FUNCTION(pipeline_destroy, FUNCTION_DESTROYS, "($module, pipeline=None)"),
    FUNCTION(pipeline_start, 0, "($module, pipeline, source, sink)"),
    FUNCTION(pipeline_wait, 0, "($module, pipeline, timeout=None)"),
    FUNCTION(pipeline_cancel, 0, "($module, pipeline)"),
    FUNCTION(pipeline_notify, FUNCTION_KEEPS_GIL, "($module, pipeline, cq, user_data=0)"),
    FUNCTION(pipeline_get_progress, FUNCTION_KEEPS_GIL, "($module, pipeline)"),
    FUNCTION(runtime_get_metrics, 0, "($module, runtime)"),
    FUNCTION(device_get_metrics, 0, "($module, device)"),
    FUNCTION(runtime_get_metrics_text, 0, "($module, runtime)"),
    FUNCTION(cq_get_fd, FUNCTION_KEEPS_GIL, "($module, cq)"),
    FUNCTION(timeline_notify, FUNCTION_KEEPS_GIL, "($module, timeline, value, cq, user_data=0)"),
    FUNCTION(executor_create, 0, "($module, runtime, options=None)"),
    FUNCTION(executor_destroy, FUNCTION_DESTROYS, "($module, executor=None)"),
    FUNCTION(executor_run, 0, "($module, executor)"),
    FUNCTION(executor_run_for, 0, "($module, executor, timeout=None)"),
    FUNCTION(executor_poll, 0, "($module, executor)"),
    FUNCTION(executor_get_statistics, FUNCTION_KEEPS_GIL, "($module, executor)"),
    FUNCTION(stream_then, 0, "($module, stream, executor, callback)"),
    FUNCTION(event_then, 0, "($module, event, executor, callback)"),
    FUNCTION(timeline_then, 0, "($module, timeline, value, executor, callback)"),
    FUNCTION(pipeline_then, 0, "($module, pipeline, executor, callback)"),
    FUNCTION(stream_host_call, 0, "($module, stream, executor, function)"),
    FUNCTION(host_call_finish, 0, "($module, executor, call, status=0, message=None)"),
    FUNCTION(runtime_set_log_executor, FUNCTION_KEEPS, "($module, runtime, executor=None)"),
    FUNCTION(trace_start, 0, "($module, runtime, options=None)"),
    FUNCTION(trace_stop, 0, "($module, runtime)"),
    FUNCTION(trace_get_info, FUNCTION_KEEPS_GIL, "($module, runtime)"),
    FUNCTION(trace_get_summary, 0, "($module, runtime)"),
    FUNCTION(kernel_get_parameter, FUNCTION_KEEPS_GIL, "($module, kernel, index)"),
    FUNCTION(template_create, 0, "($module, device, options=None)"),
    FUNCTION(template_destroy, FUNCTION_DESTROYS, "($module, graph_template=None)"),
    FUNCTION(template_begin, 0, "($module, graph_template, stream)"),
    FUNCTION(template_end, 0, "($module, graph_template)"),
    FUNCTION(template_cancel, 0, "($module, graph_template)"),
    FUNCTION(template_get_last_node, FUNCTION_KEEPS_GIL, "($module, graph_template, stream)"),
    FUNCTION(template_set_last_node, 0, "($module, graph_template, stream, node)"),
    FUNCTION(template_add_kernel, FUNCTION_KEEPS, "($module, graph_template, after, kernel, launch, arguments)"),
    FUNCTION(template_add_copy, FUNCTION_KEEPS, "($module, graph_template, after, copy)"),
    FUNCTION(template_add_fill, FUNCTION_KEEPS,
             "($module, graph_template, after, destination, value, element_bytes=4, count=None)"),
    FUNCTION(template_add_empty, 0, "($module, graph_template, after=None)"),
    FUNCTION(template_add_event_record, FUNCTION_KEEPS, "($module, graph_template, after, event)"),
    FUNCTION(template_add_event_wait, FUNCTION_KEEPS, "($module, graph_template, after, event)"),
    FUNCTION(template_add_host_call, 0, "($module, graph_template, after, function)"),
    FUNCTION(template_add_child, FUNCTION_KEEPS, "($module, graph_template, after, child, prefix=None)"),
    FUNCTION(template_add_parameter, 0, "($module, graph_template, name, node, what, index)"),
    FUNCTION(template_get_parameter, FUNCTION_KEEPS_GIL, "($module, graph_template, name)"),
    FUNCTION(template_find_node, FUNCTION_KEEPS_GIL, "($module, graph_template, label)"),
    FUNCTION(template_get_native, 0, "($module, graph_template)"),
    FUNCTION(template_clear, 0, "($module, graph_template)"),
    FUNCTION(template_get_statistics, FUNCTION_KEEPS_GIL, "($module, graph_template)"),
    FUNCTION(graph_create, 0, "($module, graph_template, options=None)"),
    FUNCTION(graph_destroy, FUNCTION_DESTROYS, "($module, graph=None)"),
    FUNCTION(graph_set, FUNCTION_KEEPS_GIL, "($module, graph, name, value)"),
    FUNCTION(graph_set_parameter, FUNCTION_KEEPS_GIL, "($module, graph, parameter, value)"),
    FUNCTION(graph_set_all, FUNCTION_KEEPS_GIL, "($module, graph, settings=None)"),
    FUNCTION(graph_get, FUNCTION_KEEPS_GIL, "($module, graph, name, bytes=None)"),
    FUNCTION(graph_launch, 0, "($module, graph, stream)"),
    FUNCTION(graph_upload, 0, "($module, graph, stream)"),
    FUNCTION(graph_update, 0, "($module, graph)"),
    FUNCTION(template_launch, FUNCTION_STREAM_KEEPS, "($module, graph_template, stream, settings=None)"),
    FUNCTION(template_prepare, 0, "($module, graph_template, count, stream)"),
    FUNCTION(graph_get_native, 0, "($module, graph)"),
    FUNCTION(template_add_if, FUNCTION_KEEPS, "($module, graph_template, after, condition, otherwise=False)"),
    FUNCTION(template_add_while, FUNCTION_KEEPS, "($module, graph_template, after, condition)"),
    FUNCTION(template_add_switch, FUNCTION_KEEPS, "($module, graph_template, after, condition, count)"),
    FUNCTION(template_bind_condition, 0, "($module, kernel_in, kernel_node, index, conditional_in, conditional)"),
    FUNCTION(graph_get_loop, 0, "($module, graph, conditional_in, node)"),
    FUNCTION(graph_get_device_handle, 0, "($module, graph)"),
    FUNCTION(graph_get_device_status, 0, "($module, graph)"),
    FUNCTION(buckets_create, 0, "($module, device, options)"),
    FUNCTION(buckets_destroy, FUNCTION_DESTROYS, "($module, buckets=None)"),
    FUNCTION(buckets_prepare, 0, "($module, buckets, stream)"),
    FUNCTION(buckets_launch, FUNCTION_STREAM_KEEPS, "($module, buckets, stream, size, settings=None)"),
    FUNCTION(buckets_get_statistics, FUNCTION_KEEPS_GIL, "($module, buckets)"),
    FUNCTION(template_import, 0, "($module, device, native, options=None)"),
    FUNCTION(template_get_picture, 0, "($module, graph_template, format=2)"),
    FUNCTION(template_allocate, 0, "($module, graph_template, bytes)"),
    FUNCTION(template_allocate_host, 0, "($module, graph_template, bytes)"),
    FUNCTION(template_add_allocation, 0, "($module, graph_template, after, bytes)"),
    FUNCTION(template_add_free, FUNCTION_KEEPS, "($module, graph_template, after, address)"),
    FUNCTION(queue_create, 0, "($module, device, options)"),
    FUNCTION(queue_destroy, FUNCTION_DESTROYS, "($module, queue=None)"),
    FUNCTION(queue_get_device_handle, 0, "($module, queue)"),
    FUNCTION(queue_set_costs, 0, "($module, queue, stream, costs=None)"),
    FUNCTION(queue_reset, 0, "($module, queue, stream)"),
    FUNCTION(queue_close, 0, "($module, queue)"),
    FUNCTION(queue_abort, 0, "($module, queue)"),
    FUNCTION(queue_get_info, 0, "($module, queue)"),
    FUNCTION(queue_push, 0, "($module, queue, stream, tasks, count=None, priority=0)"),
    FUNCTION(device_get_costs, 0, "($module, device, flags=0)"),
    FUNCTION(advise, 0, "($module, device, workload)"),
    FUNCTION(queue_set_tenant, FUNCTION_KEEPS, "($module, queue, tenant, options)"),
    FUNCTION(queue_post, FUNCTION_KEEPS_GIL, "($module, queue, tenant, tasks, count=None, user_data=0)"),
    FUNCTION(queue_take, FUNCTION_KEEPS_GIL | FUNCTION_TAKES, "($module, queue, tenant=0, capacity=256)"),
    FUNCTION(queue_wait, 0, "($module, queue, tenant=0, timeout=None)"),
    FUNCTION(advise_trace, 0, "($module, path)"),
    FUNCTION(scheduler_create, 0, "($module, device, options, handlers)"),
    FUNCTION(scheduler_destroy, FUNCTION_DESTROYS, "($module, scheduler=None)"),
    FUNCTION(scheduler_start, 0, "($module, scheduler)"),
    FUNCTION(scheduler_drain, 0, "($module, scheduler, timeout=None)"),
    FUNCTION(scheduler_stop, 0, "($module, scheduler, timeout=None)"),
    FUNCTION(scheduler_wait, 0, "($module, scheduler, timeout=None)"),
    FUNCTION(scheduler_get_info, 0, "($module, scheduler)"),
    FUNCTION(scheduler_get_handler, 0, "($module, scheduler, handler)"),
    FUNCTION(scheduler_get_blocks, 0, "($module, scheduler)"),
    FUNCTION(scheduler_get_samples, 0, "($module, scheduler)"),
    FUNCTION(scheduler_get_errors, 0, "($module, scheduler)"),
    FUNCTION(peers_create, 0, "($module, devices, options=None)"),
    FUNCTION(peers_destroy, FUNCTION_DESTROYS, "($module, peers=None)"),
    FUNCTION(peers_split, 0, "($module, peers, ranks, options=None)"),
    FUNCTION(peers_get_info, FUNCTION_KEEPS_GIL, "($module, peers)"),
    FUNCTION(peers_get_link, FUNCTION_KEEPS_GIL, "($module, peers, from_, to)"),
    FUNCTION(peers_submit, FUNCTION_STREAM_KEEPS, "($module, peers, collective, parts)"),
    FUNCTION(symmetric_allocate, 0, "($module, peers, bytes, options=None)"),
    FUNCTION(symmetric_destroy, FUNCTION_DESTROYS, "($module, memory=None)"),
    FUNCTION(symmetric_get_address, FUNCTION_KEEPS_GIL, "($module, memory, rank)"),
    FUNCTION(symmetric_get_device_handle, 0, "($module, memory, rank)"),
    FUNCTION(symmetric_reset, 0, "($module, memory, rank, stream)"),
    FUNCTION(symmetric_get_info, FUNCTION_KEEPS_GIL, "($module, memory)"),
    FUNCTION(peers_launch, FUNCTION_STREAM_KEEPS, "($module, peers, launches)"),
    FUNCTION(peers_make_id, FUNCTION_KEEPS_GIL, "($module)"),
    FUNCTION(peers_join, 0, "($module, device, options)"),
    FUNCTION(peers_abort, 0, "($module, peers)"),
    FUNCTION(memory_export, 0, "($module, device, address)"),
    FUNCTION(memory_import, 0, "($module, device, exported, label=None)"),
    FUNCTION(event_export, 0, "($module, event)"),
    FUNCTION(event_import, 0, "($module, device, exported, label=None)"),
    FUNCTION(pipeline_get_share, FUNCTION_KEEPS_GIL, "($module, pipeline, device=0)"),
    FUNCTION(admission_create, 0, "($module, runtime, options=None)"),
    FUNCTION(admission_destroy, FUNCTION_DESTROYS, "($module, admission=None)"),
    FUNCTION(admission_enter, FUNCTION_KEEPS_GIL, "($module, admission, request, cq, user_data=0)"),
    FUNCTION(admission_enter_then, 0, "($module, admission, request, executor, callback)"),
    FUNCTION(admission_cancel, FUNCTION_KEEPS_GIL, "($module, admission, ticket)"),
    FUNCTION(admission_leave, FUNCTION_KEEPS_GIL, "($module, admission, ticket)"),
    FUNCTION(admission_leave_after, 0, "($module, admission, ticket, stream)"),
    FUNCTION(admission_set_budget, 0, "($module, admission, count, bytes)"),
    FUNCTION(admission_set_flow, FUNCTION_KEEPS_GIL, "($module, admission, flow, weight)"),
    FUNCTION(admission_get_info, FUNCTION_KEEPS_GIL, "($module, admission)"),
    FUNCTION(batcher_create, 0, "($module, options)"),
    FUNCTION(batcher_destroy, FUNCTION_DESTROYS, "($module, batcher=None)"),
    FUNCTION(batcher_add_key, FUNCTION_KEEPS, "($module, batcher, options)"),
    FUNCTION(batcher_submit, 0, "($module, batcher, request, cq, user_data=0)"),
    FUNCTION(batcher_submit_then, 0, "($module, batcher, request, executor, callback)"),
    FUNCTION(batcher_cancel, FUNCTION_KEEPS_GIL, "($module, batcher, ticket)"),
    FUNCTION(batcher_set_flow, FUNCTION_KEEPS_GIL, "($module, batcher, flow, weight)"),
    FUNCTION(batcher_get_info, FUNCTION_KEEPS_GIL, "($module, batcher)"),
    FUNCTION(batcher_get_key_info, FUNCTION_KEEPS_GIL, "($module, batcher, key)"),
    FUNCTION(batcher_get_flow_info, FUNCTION_KEEPS_GIL, "($module, batcher, flow)"),
    FUNCTION(executor_post, FUNCTION_KEEPS_GIL, "($module, executor, callback)"),
    FUNCTION(executor_post_at, FUNCTION_KEEPS_GIL, "($module, executor, time_ns, callback)"),
    FUNCTION(executor_cancel, FUNCTION_KEEPS_GIL, "($module, executor, ticket)"),
    FUNCTION(executor_get_time, FUNCTION_KEEPS_GIL, "($module, executor)"),
};

DESTROY(runtime, runtime_shutdown, handle, 0)
DESTROY(device, device_close, handle)
DESTROY(stream, stream_destroy, handle)
DESTROY(stream_pool, stream_pool_destroy, handle)
DESTROY(event, event_destroy, handle)
DESTROY(timeline, timeline_destroy, handle)
DESTROY(cq, cq_destroy, handle)
DESTROY(arena, arena_destroy, handle)
DESTROY(pool, pool_destroy, handle)
DESTROY(module, module_destroy, handle)
DESTROY(kernel, kernel_destroy, handle)
DESTROY(pipeline, pipeline_destroy, handle)
DESTROY(executor, executor_destroy, handle)
DESTROY(template, template_destroy, handle)
DESTROY(graph, graph_destroy, handle)
DESTROY(buckets, buckets_destroy, handle)
DESTROY(queue, queue_destroy, handle)
DESTROY(scheduler, scheduler_destroy, handle)
DESTROY(peers, peers_destroy, handle)
DESTROY(symmetric, symmetric_destroy, handle)
DESTROY(admission, admission_destroy, handle)
DESTROY(batcher, batcher_destroy, handle)

const class_entry class_entries[CLASS_COUNT] = {
    CLASS(runtime, "Runtime"),
    CLASS(device, "Device"),
    CLASS(stream, "Stream"),
    CLASS(stream_pool, "StreamPool"),
    CLASS(event, "Event"),
    CLASS(timeline, "Timeline"),
    CLASS(cq, "CompletionQueue"),
    CLASS(arena, "Arena"),
    CLASS(pool, "Pool"),
    CLASS(module, "Module"),
    CLASS(kernel, "Kernel"),
    CLASS(pipeline, "Pipeline"),
    CLASS(executor, "Executor"),
    CLASS(template, "Template"),
    CLASS(graph, "Graph"),
    CLASS(buckets, "Buckets"),
    CLASS(queue, "Queue"),
    CLASS(scheduler, "Scheduler"),
    CLASS(peers, "Peers"),
    CLASS(symmetric, "Symmetric"),
    CLASS(admission, "Admission"),
    CLASS(batcher, "Batcher"),
};
