/* records.c: the fields of the structs that the library reads and fills, and their words.
 * Made from abi.json by generator/generate.py. */
#include "binding.h"

const char *const words_of_GPO_ORDER_GRID[] = {
    "default", "grid", "chunks", "strided", "claimed", "longest_first", "claimed_late", NULL,
};
const char *const words_of_GPO_BOUND_LAUNCH[] = {
    "unknown", "launch", "memory", "operations", "kernel", "copy", "decision", "idle", NULL,
};
const char *const words_of_GPO_FORM_LEAVE[] = {
    "unknown", "leave", "more_streams", "fewer_streams", "graph", "buckets", "while", "range", "ring", "host_ring",
    "dynamic_parallelism", "host_launches", "fuse", "pipeline", "batched_copies", NULL,
};
const char *const words_of_GPO_BATCH_ROWS[] = {"none", "rows", "ragged", NULL};
const char *const words_of_GPO_ORIGIN_STREAM[] = {
    "none", "stream", "event", "pipeline", "timeline", "queue", "admission", "batcher", "executor", NULL,
};
const char *const words_of_GPO_MEMORY_PAGEABLE[] = {"none", "pageable", "pinned", "device", "managed", NULL};
const char *const words_of_GPO_ENGINE_DIRECT_to_HOST[] = {"auto", "direct", "nccl", "host", NULL};
const char *const words_of_GPO_JOIN_MPI[] = {"none", "mpi", "file", "id", NULL};
const char *const words_of_GPO_TYPE_INT8[] = {
    "none", "i8", "u8", "i32", "u32", "i64", "u64", "f16", "bf16", "f32", "f64", "f8_e4m3", "f8_e5m2", NULL,
};
const char *const words_of_GPO_REDUCE_SUM[] = {"none", "sum", "product", "minimum", "maximum", "average", NULL};
const char *const words_of_GPO_QUEUE_RANGE[] = {"none", "range", "ring", "host_ring", NULL};
const char *const words_of_GPO_QUEUE_OPEN[] = {"open", "closed", "aborted", NULL};
const char *const words_of_GPO_LOG_ERROR[] = {"default", "error", "warning", "info", "debug", NULL};
const char *const words_of_GPO_COMPLETION_BALANCED[] = {"balanced", "latency", NULL};
const char *const words_of_GPO_SCHEDULER_RESIDENT[] = {"none", "resident", "graphs", "while", NULL};
const char *const words_of_GPO_WORKER_THREAD[] = {"auto", "thread", "warp", "block", NULL};
const char *const words_of_GPO_SCHEDULER_READY[] = {"ready", "running", "draining", "stopping", NULL};
const char *const words_of_GPO_NATIVE_NONE[] = {"none", "cuda", "errno", "nvrtc", "nccl", NULL};
const char *const words_of_GPO_ENGINE_DIRECT_to_NVSHMEM[] = {"auto", "direct", "nccl", "host", "nvshmem", NULL};
const char *const words_of_GPO_COMPARE_KERNEL[] = {
    "kernel", "equal", "not_equal", "less", "greater_equal", "value", NULL,
};
const char *const words_of_GPO_LIMIT_STACK_BYTES[] = {
    "stack_bytes", "printf_bytes", "heap_bytes", "pending_launches", "l2_fetch_bytes", "persisting_l2_bytes", NULL,
};
const char *const words_of_GPO_PARAMETER_ARGUMENT[] = {
    "argument", "grid", "block", "shared_bytes", "destination", "source", "bytes", "value", "enabled", NULL,
};
const char *const words_of_GPO_PICTURE_DOT[] = {"dot", "svg", NULL};
const char *const words_of_GPO_ARGUMENT_VALUE[] = {
    "value", "input", "output", "scratch", "result", "input_bytes", "output_bytes", "index", "offset", "device_value",
    NULL,
};

const field gpo_admission_options_fields[] = {
    FIELD(gpo_admission_options, count, U64),
    FIELD(gpo_admission_options, bytes, U64),
    FIELD(gpo_admission_options, capacity, U32),
    FIELD(gpo_admission_options, priorities, U32),
    OBJECT(gpo_admission_options, pool, CLASS_POOL),
    FIELD(gpo_admission_options, high_bytes, U64),
    FIELD(gpo_admission_options, low_bytes, U64),
    FIELD(gpo_admission_options, label, STRING),
    FIELDS_END,
};

const field gpo_admission_request_fields[] = {
    FIELD(gpo_admission_request, priority, U32),
    FIELD(gpo_admission_request, count, U64),
    FIELD(gpo_admission_request, bytes, U64),
    FIELD(gpo_admission_request, flow, U64),
    FIELD(gpo_admission_request, deadline_ns, U64),
    FIELDS_END,
};

const field gpo_admission_info_fields[] = {
    FIELD(gpo_admission_info, paused, BOOL),
    FIELD(gpo_admission_info, count, U64),
    FIELD(gpo_admission_info, bytes, U64),
    FIELD(gpo_admission_info, held, U64),
    FIELD(gpo_admission_info, held_count, U64),
    FIELD(gpo_admission_info, held_bytes, U64),
    FIELD(gpo_admission_info, waiting, U64),
    FIELD(gpo_admission_info, waiting_bytes, U64),
    FIELD(gpo_admission_info, waiting_flows, U64),
    FIELD(gpo_admission_info, admitted, U64),
    FIELD(gpo_admission_info, refused, U64),
    FIELD(gpo_admission_info, too_large, U64),
    FIELD(gpo_admission_info, expired, U64),
    FIELD(gpo_admission_info, cancelled, U64),
    FIELD(gpo_admission_info, wait_ns, U64),
    FIELD(gpo_admission_info, longest_wait_ns, U64),
    FIELD(gpo_admission_info, wait_times, U64S),
    FIELDS_END,
};

const field gpo_costs_fields[] = {
    FIELD(gpo_costs, measured, BOOL),
    FIELD(gpo_costs, launch_ns, U64),
    FIELD(gpo_costs, wait_ns, U64),
    FIELD(gpo_costs, decision_ns, U64),
    FIELD(gpo_costs, graph_launch_ns, U64),
    FIELD(gpo_costs, graph_node_ns, U64),
    FIELD(gpo_costs, while_turn_ns, U64),
    FIELD(gpo_costs, device_launch_ns, U64),
    FIELD(gpo_costs, doorbell_ns, U64),
    FIELD(gpo_costs, host_tasks_per_second, U64),
    FIELD(gpo_costs, claims_per_second, U64),
    FIELD(gpo_costs, ring_tasks_per_second, U64),
    FIELD(gpo_costs, copy_ns, U64),
    FIELD(gpo_costs, copy_in_rate, U64),
    FIELD(gpo_costs, copy_out_rate, U64),
    FIELD(gpo_costs, copy_both_rate, U64),
    FIELD(gpo_costs, pageable_in_rate, U64),
    FIELD(gpo_costs, pageable_out_rate, U64),
    FIELD(gpo_costs, memory_rate, U64),
    FIELD(gpo_costs, operation_rate, U64),
    FIELD(gpo_costs, multiprocessors, U32),
    FIELDS_END,
};

const field gpo_workload_fields[] = {
    FLAG(gpo_workload, "repeats", GPO_WORKLOAD_REPEATS),
    FLAG(gpo_workload, "shapes_vary", GPO_WORKLOAD_SHAPES_VARY),
    FLAG(gpo_workload, "independent", GPO_WORKLOAD_INDEPENDENT),
    FLAG(gpo_workload, "spawns", GPO_WORKLOAD_SPAWNS),
    FLAG(gpo_workload, "arrives", GPO_WORKLOAD_ARRIVES),
    FLAG(gpo_workload, "pageable", GPO_WORKLOAD_PAGEABLE),
    FLAG(gpo_workload, "in_graph", GPO_WORKLOAD_IN_GRAPH),
    FLAG(gpo_workload, "dynamic_parallelism", GPO_WORKLOAD_DYNAMIC_PARALLELISM),
    FLAG(gpo_workload, "overlapped", GPO_WORKLOAD_OVERLAPPED),
    OTHER("costs"),
    FIELD(gpo_workload, launches, U64),
    FIELD(gpo_workload, round_ns, U64),
    FIELD(gpo_workload, kernel_ns, U64),
    FIELD(gpo_workload, decisions, U64),
    FIELD(gpo_workload, streams, U32),
    FIELD(gpo_workload, blocks, U32),
    FIELD(gpo_workload, bytes, U64),
    FIELD(gpo_workload, operations, U64),
    FIELD(gpo_workload, copies, U64),
    FIELD(gpo_workload, copy_in_bytes, U64),
    FIELD(gpo_workload, copy_out_bytes, U64),
    FIELD(gpo_workload, tasks, U64),
    FIELD(gpo_workload, task_ns, U64),
    WORD(gpo_workload, order, words_of_GPO_ORDER_GRID),
    FIELD(gpo_workload, workers, U32),
    FIELD(gpo_workload, block_workers, U32),
    OTHER("task_costs"),
    FIELD(gpo_workload, cost_deviation, U64),
    FIELD(gpo_workload, cost_max, U64),
    FIELDS_END,
};

const field gpo_diagnosis_fields[] = {
    WORD(gpo_diagnosis, bound, words_of_GPO_BOUND_LAUNCH),
    FIELD(gpo_diagnosis, round_ns, U64),
    FIELD(gpo_diagnosis, launch_ns, U64),
    FIELD(gpo_diagnosis, kernel_ns, U64),
    FIELD(gpo_diagnosis, copy_ns, U64),
    FIELD(gpo_diagnosis, decision_ns, U64),
    FIELD(gpo_diagnosis, idle_ns, U64),
    FIELD(gpo_diagnosis, memory_ns, U64),
    FIELD(gpo_diagnosis, operations_ns, U64),
    FIELD(gpo_diagnosis, intensity, U64),
    FIELD(gpo_diagnosis, ridge, U64),
    FIELD(gpo_diagnosis, roofline_share, U64),
    FIELD(gpo_diagnosis, launch_share, U64),
    FIELDS_END,
};

const field gpo_advice_fields[] = {
    WORD(gpo_advice, form, words_of_GPO_FORM_LEAVE),
    WORD(gpo_advice, bound, words_of_GPO_BOUND_LAUNCH),
    FIELD(gpo_advice, streams, U32),
    WORD(gpo_advice, order, words_of_GPO_ORDER_GRID),
    FIELD(gpo_advice, batch, U32),
    FIELD(gpo_advice, gain_low, U32),
    FIELD(gpo_advice, gain_high, U32),
    FIELD(gpo_advice, round_ns, U64),
    FIELD(gpo_advice, host_calls, U64),
    FIELD(gpo_advice, reason, CHARS),
    FIELDS_END,
};

const field gpo_batcher_options_fields[] = {
    OTHER("devices"),
    FIELD(gpo_batcher_options, lanes, U32),
    FIELD(gpo_batcher_options, capacity, U32),
    OBJECT(gpo_batcher_options, executor, CLASS_EXECUTOR),
    FIELD(gpo_batcher_options, label, STRING),
    FIELDS_END,
};

const field gpo_batcher_key_options_fields[] = {
    FLAG(gpo_batcher_key_options, "preserve_order", GPO_BATCHER_PRESERVE_ORDER),
    FLAG(gpo_batcher_key_options, "variable_output", GPO_BATCHER_VARIABLE_OUTPUT),
    FLAG(gpo_batcher_key_options, "keep_output", GPO_BATCHER_KEEP_OUTPUT),
    WORD(gpo_batcher_key_options, layout, words_of_GPO_BATCH_ROWS),
    FIELD(gpo_batcher_key_options, max_batch, U32),
    FIELD(gpo_batcher_key_options, input_bytes, U64),
    FIELD(gpo_batcher_key_options, output_bytes, U64),
    FIELD(gpo_batcher_key_options, max_elements, U64),
    FIELD(gpo_batcher_key_options, max_delay_ns, U64),
    OTHER("buckets"),
    FIELD(gpo_batcher_key_options, label, STRING),
    FIELDS_END,
};

const field gpo_batcher_request_fields[] = {
    FIELD(gpo_batcher_request, key, U32),
    FIELD(gpo_batcher_request, flow, U64),
    FIELD(gpo_batcher_request, elements, U64),
    OTHER("input"),
    OTHER("output"),
    OTHER("output_made"),
    FIELD(gpo_batcher_request, deadline_ns, U64),
    FIELDS_END,
};

const field gpo_batcher_info_fields[] = {
    FIELD(gpo_batcher_info, keys, U32),
    FIELD(gpo_batcher_info, waiting, U64),
    FIELD(gpo_batcher_info, waiting_elements, U64),
    FIELD(gpo_batcher_info, waiting_flows, U64),
    FIELD(gpo_batcher_info, running, U64),
    FIELD(gpo_batcher_info, running_batches, U64),
    FIELD(gpo_batcher_info, submitted, U64),
    FIELD(gpo_batcher_info, submitted_bytes, U64),
    FIELD(gpo_batcher_info, succeeded, U64),
    FIELD(gpo_batcher_info, failed, U64),
    FIELD(gpo_batcher_info, expired, U64),
    FIELD(gpo_batcher_info, cancelled, U64),
    FIELD(gpo_batcher_info, refused_full, U64),
    FIELD(gpo_batcher_info, refused_deadline, U64),
    FIELD(gpo_batcher_info, late, U64),
    FIELD(gpo_batcher_info, batches, U64),
    FIELD(gpo_batcher_info, batch_elements, U64),
    FIELD(gpo_batcher_info, padded_elements, U64),
    FIELD(gpo_batcher_info, delay_ns, U64),
    FIELD(gpo_batcher_info, wait_ns, U64),
    FIELD(gpo_batcher_info, requests_per_second, F64),
    FIELD(gpo_batcher_info, batches_per_second, F64),
    FIELD(gpo_batcher_info, queue_ns, U64),
    FIELD(gpo_batcher_info, batch_ns, U64),
    FIELD(gpo_batcher_info, request_ns, U64),
    FIELD(gpo_batcher_info, sizes, U64S),
    FIELD(gpo_batcher_info, queue_times, U64S),
    FIELD(gpo_batcher_info, batch_times, U64S),
    FIELD(gpo_batcher_info, request_times, U64S),
    FIELDS_END,
};

const field gpo_batcher_flow_info_fields[] = {
    FIELD(gpo_batcher_flow_info, weight, U32),
    FIELD(gpo_batcher_flow_info, waiting, U64),
    FIELD(gpo_batcher_flow_info, submitted, U64),
    FIELD(gpo_batcher_flow_info, succeeded, U64),
    FIELD(gpo_batcher_flow_info, failed, U64),
    FIELD(gpo_batcher_flow_info, wait_ns, U64),
    FIELD(gpo_batcher_flow_info, longest_wait_ns, U64),
    FIELDS_END,
};

const field gpo_buckets_options_fields[] = {
    OTHER("shapes"),
    FIELD(gpo_buckets_options, max_bytes, U64),
    FIELD(gpo_buckets_options, max_buckets, U32),
    FIELD(gpo_buckets_options, streams, U32),
    OTHER("record"),
    OTHER("pad"),
    OTHER("pad_address"),
    FIELD(gpo_buckets_options, pad_element_bytes, U64),
    FIELD(gpo_buckets_options, label, STRING),
    OTHER("restored"),
    FLAG(gpo_buckets_options, "no_warm_up", GPO_BUCKETS_NO_WARM_UP),
    FLAG(gpo_buckets_options, "eager_fallback", GPO_BUCKETS_EAGER_FALLBACK),
    FIELDS_END,
};

const field gpo_buckets_statistics_fields[] = {
    FIELD(gpo_buckets_statistics, buckets, U32),
    FIELD(gpo_buckets_statistics, bytes, U64),
    FIELD(gpo_buckets_statistics, hits, U64),
    FIELD(gpo_buckets_statistics, misses, U64),
    FIELD(gpo_buckets_statistics, eager, U64),
    FIELD(gpo_buckets_statistics, evictions, U64),
    FIELD(gpo_buckets_statistics, requested, U64),
    FIELD(gpo_buckets_statistics, padded, U64),
    FIELD(gpo_buckets_statistics, failures, U64),
    FIELD(gpo_buckets_statistics, fallbacks, U64),
    FIELD(gpo_buckets_statistics, last_failure, CHARS),
    FIELDS_END,
};

const field gpo_cq_options_fields[] = {
    FIELD(gpo_cq_options, capacity, U32),
    FIELD(gpo_cq_options, label, STRING),
    FIELDS_END,
};

const field gpo_completion_fields[] = {
    FIELD(gpo_completion, status, STATUS),
    WORD(gpo_completion, origin, words_of_GPO_ORIGIN_STREAM),
    FIELD(gpo_completion, operation, U64),
    FIELD(gpo_completion, submitted_ns, U64),
    FIELD(gpo_completion, completed_ns, U64),
    FIELD(gpo_completion, gpu_ns, I64),
    FIELD(gpo_completion, error_id, U64),
    FIELDS_END,
};

const field gpo_cq_statistics_fields[] = {
    FIELD(gpo_cq_statistics, capacity, U32),
    FIELD(gpo_cq_statistics, accepted, U64),
    FIELD(gpo_cq_statistics, delivered, U64),
    FIELD(gpo_cq_statistics, drained, U64),
    FIELD(gpo_cq_statistics, refused, U64),
    FIELDS_END,
};

const field gpo_device_properties_fields[] = {
    FIELD(gpo_device_properties, native_ordinal, I32),
    FIELD(gpo_device_properties, name, CHARS),
    FIELD(gpo_device_properties, uuid, BYTES),
    FIELD(gpo_device_properties, pci_address, CHARS),
    FIELD(gpo_device_properties, numa_node, I32),
    FIELD(gpo_device_properties, compute_capability_major, I32),
    FIELD(gpo_device_properties, compute_capability_minor, I32),
    FIELD(gpo_device_properties, multiprocessors, I32),
    FIELD(gpo_device_properties, copy_engines, I32),
    FIELD(gpo_device_properties, warp_size, I32),
    FIELD(gpo_device_properties, max_threads_per_block, I32),
    FIELD(gpo_device_properties, max_threads_per_multiprocessor, I32),
    FIELD(gpo_device_properties, clock_khz, I32),
    FIELD(gpo_device_properties, memory_clock_khz, I32),
    FIELD(gpo_device_properties, memory_bus_bits, I32),
    FIELD(gpo_device_properties, l2_bytes, I32),
    FIELD(gpo_device_properties, software, BOOL),
    FIELD(gpo_device_properties, memory_bytes, U64),
    FIELD(gpo_device_properties, shared_bytes_per_block, U64),
    FIELD(gpo_device_properties, shared_bytes_per_block_max, U64),
    FIELD(gpo_device_properties, shared_bytes_per_multiprocessor, U64),
    FIELD(gpo_device_properties, max_block, THREE),
    FIELD(gpo_device_properties, max_grid, THREE),
    FIELD(gpo_device_properties, cooperative_launch, BOOL),
    FIELD(gpo_device_properties, cluster_launch, BOOL),
    FIELD(gpo_device_properties, memory_pools, BOOL),
    FIELD(gpo_device_properties, batched_copies, BOOL),
    FIELDS_END,
};

const field gpo_peer_properties_fields[] = {
    FIELD(gpo_peer_properties, accessible, BOOL),
    FIELD(gpo_peer_properties, native_atomics, BOOL),
    FIELD(gpo_peer_properties, performance_rank, I32),
    FIELDS_END,
};

const field gpo_device_options_fields[] = {
    FIELD(gpo_device_options, ordinal, U32),
    FIELD(gpo_device_options, native_context, U64),
    FIELD(gpo_device_options, label, STRING),
    FIELDS_END,
};

const field gpo_event_options_fields[] = {
    FLAG(gpo_event_options, "timing", GPO_EVENT_TIMING),
    FLAG(gpo_event_options, "blocking_sync", GPO_EVENT_BLOCKING_SYNC),
    FLAG(gpo_event_options, "interprocess", GPO_EVENT_INTERPROCESS),
    FLAG(gpo_event_options, "external", GPO_EVENT_EXTERNAL),
    FIELD(gpo_event_options, label, STRING),
    FIELDS_END,
};

const field gpo_executor_options_fields[] = {
    FLAG(gpo_executor_options, "spin", GPO_EXECUTOR_SPIN),
    FLAG(gpo_executor_options, "sleep", GPO_EXECUTOR_SLEEP),
    FIELD(gpo_executor_options, capacity, U32),
    FIELD(gpo_executor_options, label, STRING),
    FIELDS_END,
};

const field gpo_executor_statistics_fields[] = {
    FIELD(gpo_executor_statistics, threads, U32),
    FIELD(gpo_executor_statistics, accepted, U64),
    FIELD(gpo_executor_statistics, called, U64),
    FIELD(gpo_executor_statistics, cancelled, U64),
    FIELD(gpo_executor_statistics, threw, U64),
    FIELD(gpo_executor_statistics, refused, U64),
    FIELD(gpo_executor_statistics, pending, U64),
    FIELDS_END,
};

const field gpo_memory_statistics_fields[] = {
    FIELD(gpo_memory_statistics, slabs, U32),
    FIELD(gpo_memory_statistics, in_use, U64),
    FIELD(gpo_memory_statistics, reserved, U64),
    FIELD(gpo_memory_statistics, peak_in_use, U64),
    FIELD(gpo_memory_statistics, peak_reserved, U64),
    FIELD(gpo_memory_statistics, waiting, U64),
    FIELD(gpo_memory_statistics, allocations, U64),
    FIELD(gpo_memory_statistics, frees, U64),
    FIELD(gpo_memory_statistics, driver_calls, U64),
    FIELDS_END,
};

const field gpo_arena_options_fields[] = {
    FLAG(gpo_arena_options, "write_combined", GPO_ARENA_WRITE_COMBINED),
    FIELD(gpo_arena_options, max_bytes, U64),
    FIELD(gpo_arena_options, slab_bytes, U64),
    FIELD(gpo_arena_options, initial_bytes, U64),
    FIELD(gpo_arena_options, numa_node, I32),
    FIELD(gpo_arena_options, label, STRING),
    FIELDS_END,
};

const field gpo_memory_info_fields[] = {
    WORD(gpo_memory_info, kind, words_of_GPO_MEMORY_PAGEABLE),
    FIELD(gpo_memory_info, device_ordinal, I32),
    FIELD(gpo_memory_info, start, U64),
    FIELD(gpo_memory_info, bytes, U64),
    FIELDS_END,
};

const field gpo_pool_options_fields[] = {
    FLAG(gpo_pool_options, "keep_nothing", GPO_POOL_KEEP_NOTHING),
    FIELD(gpo_pool_options, max_bytes, U64),
    FIELD(gpo_pool_options, keep_bytes, U64),
    FIELD(gpo_pool_options, initial_bytes, U64),
    FIELD(gpo_pool_options, label, STRING),
    FIELDS_END,
};

const field gpo_copy_fields[] = {
    OTHER("destination"),
    OTHER("source"),
    OTHER("bytes"),
    FIELDS_END,
};

const field gpo_copy_2d_fields[] = {
    OTHER("destination"),
    FIELD(gpo_copy_2d, destination_pitch, U64),
    OTHER("source"),
    FIELD(gpo_copy_2d, source_pitch, U64),
    FIELD(gpo_copy_2d, width, U64),
    FIELD(gpo_copy_2d, height, U64),
    FIELDS_END,
};

const field gpo_metrics_fields[] = {
    FIELD(gpo_metrics, devices, U32),
    FIELD(gpo_metrics, streams, U64),
    FIELD(gpo_metrics, operations_pending, U64),
    FIELD(gpo_metrics, operations_held, U64),
    FIELD(gpo_metrics, completions_pending, U64),
    FIELD(gpo_metrics, notifies_refused, U64),
    FIELD(gpo_metrics, arena_in_use, U64),
    FIELD(gpo_metrics, arena_reserved, U64),
    FIELD(gpo_metrics, arena_peak, U64),
    FIELD(gpo_metrics, pool_in_use, U64),
    FIELD(gpo_metrics, pool_reserved, U64),
    FIELD(gpo_metrics, pool_peak, U64),
    FIELD(gpo_metrics, latency_count, U64),
    FIELD(gpo_metrics, latency_sum, U64),
    FIELD(gpo_metrics, latencies, U64S),
    FIELD(gpo_metrics, errors, U64S),
    FIELD(gpo_metrics, executors, U64),
    FIELD(gpo_metrics, executor_threads, U64),
    FIELD(gpo_metrics, callbacks, U64),
    FIELD(gpo_metrics, callbacks_pending, U64),
    FIELD(gpo_metrics, pipeline_pinned, U64),
    FIELDS_END,
};

const field gpo_device_metrics_fields[] = {
    FIELD(gpo_device_metrics, memory_total, I64),
    FIELD(gpo_device_metrics, memory_used, I64),
    FIELD(gpo_device_metrics, utilization, I64),
    FIELD(gpo_device_metrics, memory_utilization, I64),
    FIELD(gpo_device_metrics, power, I64),
    FIELD(gpo_device_metrics, energy, I64),
    FIELD(gpo_device_metrics, temperature, I64),
    FIELD(gpo_device_metrics, sm_clock, I64),
    FIELD(gpo_device_metrics, memory_clock, I64),
    FIELD(gpo_device_metrics, pcie_sent, I64),
    FIELD(gpo_device_metrics, pcie_received, I64),
    FIELD(gpo_device_metrics, reason, CHARS),
    FIELDS_END,
};

const field gpo_compile_options_fields[] = {
    FLAG(gpo_compile_options, "no_cache", GPO_COMPILE_NO_CACHE),
    FLAG(gpo_compile_options, "dynamic_parallelism", GPO_COMPILE_DYNAMIC_PARALLELISM),
    OTHER("source"),
    FIELD(gpo_compile_options, file_name, STRING),
    STRINGS(gpo_compile_options, options, option_count),
    STRINGS(gpo_compile_options, name_expressions, name_expression_count),
    OTHER("headers"),
    FIELD(gpo_compile_options, label, STRING),
    FIELDS_END,
};

const field gpo_kernel_attributes_fields[] = {
    FIELD(gpo_kernel_attributes, max_threads_per_block, U32),
    FIELD(gpo_kernel_attributes, registers_per_thread, U32),
    FIELD(gpo_kernel_attributes, parameter_count, U32),
    FIELD(gpo_kernel_attributes, static_shared_bytes, U64),
    FIELD(gpo_kernel_attributes, constant_bytes, U64),
    FIELD(gpo_kernel_attributes, local_bytes_per_thread, U64),
    FIELD(gpo_kernel_attributes, parameter_bytes, U64),
    FIELD(gpo_kernel_attributes, max_dynamic_shared_bytes, U64),
    FIELD(gpo_kernel_attributes, ptx_version, I32),
    FIELD(gpo_kernel_attributes, binary_version, I32),
    FIELDS_END,
};

const field gpo_launch_fields[] = {
    FLAG(gpo_launch, "cooperative", GPO_LAUNCH_COOPERATIVE),
    FIELD(gpo_launch, grid, THREE),
    FIELD(gpo_launch, block, THREE),
    FIELD(gpo_launch, cluster, THREE),
    FIELD(gpo_launch, priority, I32),
    FIELD(gpo_launch, dynamic_shared_bytes, U64),
    FIELD(gpo_launch, label, STRING),
    FIELDS_END,
};

const field gpo_peers_options_fields[] = {
    WORD(gpo_peers_options, engine, words_of_GPO_ENGINE_DIRECT_to_HOST),
    FIELD(gpo_peers_options, label, STRING),
    FIELDS_END,
};

const field gpo_peers_info_fields[] = {
    FIELD(gpo_peers_info, ranks, U32),
    FIELD(gpo_peers_info, direct, BOOL),
    FIELD(gpo_peers_info, native_atomics, BOOL),
    FIELD(gpo_peers_info, nccl_version, U32),
    FIELD(gpo_peers_info, rank, U32),
    FIELD(gpo_peers_info, local_ranks, U32),
    FIELD(gpo_peers_info, collectives, U64),
    FIELD(gpo_peers_info, direct_collectives, U64),
    FIELD(gpo_peers_info, bytes, U64),
    FIELD(gpo_peers_info, mpi_device, BOOL),
    FIELDS_END,
};

const field gpo_join_options_fields[] = {
    WORD(gpo_join_options, by, words_of_GPO_JOIN_MPI),
    WORD(gpo_join_options, engine, words_of_GPO_ENGINE_DIRECT_to_HOST),
    FIELD(gpo_join_options, rank, U32),
    FIELD(gpo_join_options, ranks, U32),
    FIELD(gpo_join_options, timeout_ns, I64),
    FIELD(gpo_join_options, path, STRING),
    OTHER("id"),
    OTHER("communicator"),
    FIELD(gpo_join_options, label, STRING),
    FLAG(gpo_join_options, "check_order", GPO_JOIN_CHECK_ORDER),
    FIELDS_END,
};

const field gpo_collective_fields[] = {
    WORD(gpo_collective, type, words_of_GPO_TYPE_INT8),
    WORD(gpo_collective, reduction, words_of_GPO_REDUCE_SUM),
    FIELD(gpo_collective, root, U32),
    FIELD(gpo_collective, count, U64),
    FIELD(gpo_collective, label, STRING),
    FIELDS_END,
};

const field gpo_rank_part_fields[] = {
    OBJECT(gpo_rank_part, stream, CLASS_STREAM),
    OTHER("send"),
    OTHER("receive"),
    OTHER("send_to"),
    OTHER("receive_from"),
    FIELDS_END,
};

const field gpo_chunk_fields[] = {
    FIELD(gpo_chunk, slot, U32),
    FIELD(gpo_chunk, index, U64),
    FIELD(gpo_chunk, offset, U64),
    FIELD(gpo_chunk, bytes, U64),
    FIELD(gpo_chunk, output_offset, U64),
    FIELD(gpo_chunk, output_bytes, U64),
    FIELD(gpo_chunk, input_address, ADDRESS),
    FIELD(gpo_chunk, output_address, ADDRESS),
    FIELD(gpo_chunk, scratch_address, ADDRESS),
    FIELD(gpo_chunk, result_address, ADDRESS),
    OTHER("output"),
    OTHER("result"),
    FIELD(gpo_chunk, device, U32),
    FIELDS_END,
};

const field gpo_source_fields[] = {
    OTHER("memory"),
    FIELD(gpo_source, bytes, U64),
    FIELD(gpo_source, path, STRING),
    FIELD(gpo_source, offset, U64),
    OTHER("fill"),
    FIELD(gpo_source, descriptor, I32),
    FLAG(gpo_source, "unchanged", GPO_SOURCE_UNCHANGED),
    FIELDS_END,
};

const field gpo_stage_fields[] = {
    OTHER("kernel"),
    FIELD(gpo_stage, block, THREE),
    FIELD(gpo_stage, grid, THREE),
    FIELD(gpo_stage, bytes_per_block, U64),
    FIELD(gpo_stage, dynamic_shared_bytes, U64),
    OTHER("arguments"),
    FIELD(gpo_stage, max_blocks, U32),
    OTHER("enqueue"),
    FIELD(gpo_stage, label, STRING),
    OTHER("kernels"),
    FIELDS_END,
};

const field gpo_sink_fields[] = {
    OTHER("memory"),
    FIELD(gpo_sink, path, STRING),
    OTHER("take"),
    FIELD(gpo_sink, descriptor, I32),
    FIELDS_END,
};

const field gpo_pipeline_progress_fields[] = {
    FIELD(gpo_pipeline_progress, running, BOOL),
    FIELD(gpo_pipeline_progress, bytes_in, U64),
    FIELD(gpo_pipeline_progress, bytes_done, U64),
    FIELD(gpo_pipeline_progress, bytes_total, U64),
    FIELD(gpo_pipeline_progress, chunks_done, U64),
    FIELD(gpo_pipeline_progress, elapsed_ns, U64),
    FIELDS_END,
};

const field gpo_pipeline_options_fields[] = {
    FLAG(gpo_pipeline_options, "times", GPO_PIPELINE_TIMES),
    FIELD(gpo_pipeline_options, chunk_bytes, U64),
    FIELD(gpo_pipeline_options, granule, U64),
    FIELD(gpo_pipeline_options, slots, U32),
    FIELD(gpo_pipeline_options, output_numerator, U32),
    FIELD(gpo_pipeline_options, output_denominator, U32),
    OTHER("stages"),
    FIELD(gpo_pipeline_options, scratch_bytes, U64),
    FIELD(gpo_pipeline_options, result_bytes, U64),
    FIELD(gpo_pipeline_options, max_pinned_bytes, U64),
    OTHER("progress"),
    FIELD(gpo_pipeline_options, progress_ns, U64),
    FIELD(gpo_pipeline_options, label, STRING),
    OBJECT(gpo_pipeline_options, executor, CLASS_EXECUTOR),
    OTHER("devices"),
    FIELDS_END,
};

const field gpo_pipeline_result_fields[] = {
    FIELD(gpo_pipeline_result, status, STATUS),
    FIELD(gpo_pipeline_result, bytes_in, U64),
    FIELD(gpo_pipeline_result, bytes_out, U64),
    FIELD(gpo_pipeline_result, chunks, U64),
    FIELD(gpo_pipeline_result, elapsed_ns, U64),
    FIELD(gpo_pipeline_result, chunk_bytes, U64),
    FIELD(gpo_pipeline_result, slots, U32),
    FIELD(gpo_pipeline_result, tuned, BOOL),
    FIELD(gpo_pipeline_result, copy_in_ns, U64),
    FIELD(gpo_pipeline_result, copy_out_ns, U64),
    FIELD(gpo_pipeline_result, kernel_ns, U64),
    FIELD(gpo_pipeline_result, copy_hidden_ns, U64),
    FIELD(gpo_pipeline_result, staged_bytes, U64),
    FIELDS_END,
};

const field gpo_pipeline_share_fields[] = {
    FIELD(gpo_pipeline_share, chunks, U64),
    FIELD(gpo_pipeline_share, bytes_in, U64),
    FIELD(gpo_pipeline_share, copy_in_ns, U64),
    FIELD(gpo_pipeline_share, copy_out_ns, U64),
    FIELD(gpo_pipeline_share, kernel_ns, U64),
    FIELD(gpo_pipeline_share, copy_hidden_ns, U64),
    FIELDS_END,
};

const field gpo_queue_options_fields[] = {
    WORD(gpo_queue_options, kind, words_of_GPO_QUEUE_RANGE),
    FLAG(gpo_queue_options, "tickets", GPO_QUEUE_TICKETS),
    FLAG(gpo_queue_options, "no_answers", GPO_QUEUE_NO_ANSWERS),
    FLAG(gpo_queue_options, "late_claims", GPO_QUEUE_LATE_CLAIMS),
    FIELD(gpo_queue_options, batch, U32),
    FIELD(gpo_queue_options, count, U64),
    FIELD(gpo_queue_options, capacity, U64),
    FIELD(gpo_queue_options, task_size, U32),
    FIELD(gpo_queue_options, priorities, U32),
    FIELD(gpo_queue_options, answer_size, U32),
    FIELD(gpo_queue_options, tenants, U32),
    OBJECT(gpo_queue_options, stream, CLASS_STREAM),
    FIELD(gpo_queue_options, label, STRING),
    FIELDS_END,
};

const field gpo_tenant_options_fields[] = {
    FIELD(gpo_tenant_options, limit, U64),
    OBJECT(gpo_tenant_options, completions, CLASS_CQ),
    FIELDS_END,
};

const field gpo_queue_info_fields[] = {
    WORD(gpo_queue_info, kind, words_of_GPO_QUEUE_RANGE),
    WORD(gpo_queue_info, state, words_of_GPO_QUEUE_OPEN),
    FIELD(gpo_queue_info, task_size, U32),
    FIELD(gpo_queue_info, capacity, U64),
    FIELD(gpo_queue_info, depth, U64),
    FIELD(gpo_queue_info, pushed, U64),
    FIELD(gpo_queue_info, popped, U64),
    FIELD(gpo_queue_info, done, U64),
    FIELD(gpo_queue_info, refused, U64),
    FIELD(gpo_queue_info, device_bytes, U64),
    FIELD(gpo_queue_info, pinned_bytes, U64),
    FIELD(gpo_queue_info, posted, U64),
    FIELD(gpo_queue_info, answered, U64),
    FIELD(gpo_queue_info, unanswered, U64),
    FIELD(gpo_queue_info, answer_size, U32),
    FIELD(gpo_queue_info, tenants, U32),
    FIELDS_END,
};

const field gpo_runtime_options_fields[] = {
    FLAG(gpo_runtime_options, "quiet_fallback", GPO_RUNTIME_QUIET_FALLBACK),
    FIELD(gpo_runtime_options, device, STRING),
    OTHER("log"),
    WORD(gpo_runtime_options, log_level, words_of_GPO_LOG_ERROR),
    WORD(gpo_runtime_options, completion_mode, words_of_GPO_COMPLETION_BALANCED),
    FIELD(gpo_runtime_options, schedule_seed, U64),
    FIELD(gpo_runtime_options, cache, STRING),
    FIELD(gpo_runtime_options, label, STRING),
    FIELDS_END,
};

const field gpo_driver_info_fields[] = {
    FIELD(gpo_driver_info, version, I32),
    FIELD(gpo_driver_info, software, BOOL),
    FIELD(gpo_driver_info, device_count, U32),
    FIELD(gpo_driver_info, name, CHARS),
    FIELD(gpo_driver_info, reason, CHARS),
    FIELDS_END,
};

const field gpo_statistics_fields[] = {
    FIELD(gpo_statistics, live_objects, U32),
    FIELD(gpo_statistics, launches, U64),
    FIELD(gpo_statistics, copies, U64),
    FIELD(gpo_statistics, copied_bytes, U64),
    FIELD(gpo_statistics, fills, U64),
    FIELD(gpo_statistics, notifies, U64),
    FIELD(gpo_statistics, completions, U64),
    FIELD(gpo_statistics, failures, U64),
    FIELD(gpo_statistics, holds, U64),
    FIELD(gpo_statistics, device_allocations, U64),
    FIELD(gpo_statistics, host_registrations, U64),
    FIELD(gpo_statistics, pageable_copies, U64),
    FIELD(gpo_statistics, pageable_bytes, U64),
    FIELD(gpo_statistics, legacy_stream_uses, U64),
    FIELD(gpo_statistics, module_loads, U64),
    FIELD(gpo_statistics, put_off, U64),
    FIELDS_END,
};

const field gpo_handler_fields[] = {
    FIELD(gpo_handler, name, STRING),
    OTHER("graphs"),
    OTHER("task_memory"),
    FIELDS_END,
};

const field gpo_scheduler_options_fields[] = {
    WORD(gpo_scheduler_options, form, words_of_GPO_SCHEDULER_RESIDENT),
    OBJECT(gpo_scheduler_options, queue, CLASS_QUEUE),
    FIELD(gpo_scheduler_options, source, STRING),
    FIELD(gpo_scheduler_options, file_name, STRING),
    STRINGS(gpo_scheduler_options, compile_options, compile_option_count),
    WORD(gpo_scheduler_options, workers, words_of_GPO_WORKER_THREAD),
    FIELD(gpo_scheduler_options, threads, U32),
    FIELD(gpo_scheduler_options, blocks_per_multiprocessor, U32),
    FIELD(gpo_scheduler_options, multiprocessors, U32),
    FIELD(gpo_scheduler_options, leave_free, U32),
    FIELD(gpo_scheduler_options, batch, U32),
    FIELD(gpo_scheduler_options, max_errors, U32),
    OTHER("argument"),
    FIELD(gpo_scheduler_options, dynamic_shared_bytes, U64),
    FIELD(gpo_scheduler_options, idle_timeout_ns, U64),
    FIELD(gpo_scheduler_options, sample_interval_ns, U64),
    FIELD(gpo_scheduler_options, label, STRING),
    OTHER("handlers"),
    FIELDS_END,
};

const field gpo_scheduler_info_fields[] = {
    WORD(gpo_scheduler_info, form, words_of_GPO_SCHEDULER_RESIDENT),
    WORD(gpo_scheduler_info, state, words_of_GPO_SCHEDULER_READY),
    FIELD(gpo_scheduler_info, last_end, STATUS),
    FIELD(gpo_scheduler_info, runs, U64),
    FIELD(gpo_scheduler_info, tasks, U64),
    FIELD(gpo_scheduler_info, errors, U64),
    FIELD(gpo_scheduler_info, refused_pushes, U64),
    FIELD(gpo_scheduler_info, depth, U64),
    FIELD(gpo_scheduler_info, steps, U64),
    FIELD(gpo_scheduler_info, empty_polls, U64),
    FIELD(gpo_scheduler_info, busy_ns, U64),
    FIELD(gpo_scheduler_info, worker_ns, U64),
    FIELD(gpo_scheduler_info, multiprocessors, U32),
    FIELD(gpo_scheduler_info, blocks, U32),
    FIELD(gpo_scheduler_info, workers, U32),
    FIELD(gpo_scheduler_info, handlers, U32),
    FIELD(gpo_scheduler_info, device_bytes, U64),
    FIELDS_END,
};

const field gpo_handler_info_fields[] = {
    FIELD(gpo_handler_info, tasks, U64),
    FIELD(gpo_handler_info, errors, U64),
    FIELD(gpo_handler_info, busy_ns, U64),
    FIELDS_END,
};

const field gpo_scheduler_block_fields[] = {
    FIELD(gpo_scheduler_block, multiprocessor, U32),
    FIELD(gpo_scheduler_block, workers, U32),
    FIELD(gpo_scheduler_block, tasks, U64),
    FIELD(gpo_scheduler_block, empty_polls, U64),
    FIELD(gpo_scheduler_block, busy_ns, U64),
    FIELD(gpo_scheduler_block, worker_ns, U64),
    FIELDS_END,
};

const field gpo_depth_sample_fields[] = {
    FIELD(gpo_depth_sample, run, U32),
    FIELD(gpo_depth_sample, time_ns, U64),
    FIELD(gpo_depth_sample, depth, U64),
    FIELDS_END,
};

const field gpo_task_error_fields[] = {
    FIELD(gpo_task_error, handler, U32),
    FIELD(gpo_task_error, status, STATUS),
    FIELD(gpo_task_error, priority, U32),
    FIELD(gpo_task_error, position, U64),
    FIELD(gpo_task_error, task, BYTES),
    {"code", FIELD_I32, offsetof(gpo_task_error, status), 0, NULL},
    FIELDS_END,
};

const field gpo_error_fields[] = {
    FIELD(gpo_error, status, STATUS),
    FIELD(gpo_error, native_code, I32),
    WORD(gpo_error, native_domain, words_of_GPO_NATIVE_NONE),
    FIELD(gpo_error, operation, U64),
    FIELD(gpo_error, function, CHARS),
    FIELD(gpo_error, object, CHARS),
    FIELD(gpo_error, message, CHARS),
    FIELDS_END,
};

const field gpo_stream_options_fields[] = {
    FLAG(gpo_stream_options, "blocking", GPO_STREAM_BLOCKING),
    FLAG(gpo_stream_options, "learns", GPO_STREAM_LEARNS),
    FLAG(gpo_stream_options, "resident", GPO_STREAM_RESIDENT),
    FIELD(gpo_stream_options, priority, I32),
    FIELD(gpo_stream_options, max_held, U32),
    FIELD(gpo_stream_options, label, STRING),
    FIELDS_END,
};

const field gpo_stream_info_fields[] = {
    FLAG(gpo_stream_info, "blocking", GPO_STREAM_BLOCKING),
    FLAG(gpo_stream_info, "learns", GPO_STREAM_LEARNS),
    FLAG(gpo_stream_info, "resident", GPO_STREAM_RESIDENT),
    FIELD(gpo_stream_info, priority, I32),
    FIELD(gpo_stream_info, wrapped, BOOL),
    FIELD(gpo_stream_info, accepted, U64),
    FIELD(gpo_stream_info, completed, U64),
    FIELD(gpo_stream_info, held, U64),
    OTHER("device"),
    FIELD(gpo_stream_info, replayed, U64),
    FIELD(gpo_stream_info, learned, U32),
    FIELDS_END,
};

const field gpo_stream_pool_options_fields[] = {
    FIELD(gpo_stream_pool_options, streams, U32),
    FIELD(gpo_stream_pool_options, priorities, U32),
    FIELD(gpo_stream_pool_options, label, STRING),
    FIELDS_END,
};

const field gpo_symmetric_options_fields[] = {
    FIELD(gpo_symmetric_options, alignment, U64),
    FIELD(gpo_symmetric_options, label, STRING),
    WORD(gpo_symmetric_options, engine, words_of_GPO_ENGINE_DIRECT_to_NVSHMEM),
    FLAG(gpo_symmetric_options, "remote", GPO_SYMMETRIC_REMOTE),
    FIELDS_END,
};

const field gpo_symmetric_info_fields[] = {
    FIELD(gpo_symmetric_info, ranks, U32),
    FIELD(gpo_symmetric_info, bytes, U64),
    FIELD(gpo_symmetric_info, alignment, U64),
    FIELD(gpo_symmetric_info, device_bytes, U64),
    FIELD(gpo_symmetric_info, barrier_blocks, U32),
    FIELD(gpo_symmetric_info, native_atomics, BOOL),
    FIELDS_END,
};

const field gpo_rank_launch_fields[] = {
    OBJECT(gpo_rank_launch, stream, CLASS_STREAM),
    OBJECT(gpo_rank_launch, kernel, CLASS_KERNEL),
    OTHER("launch"),
    OTHER("arguments"),
    FIELDS_END,
};

const field gpo_template_options_fields[] = {
    FIELD(gpo_template_options, max_instances, U32),
    FIELD(gpo_template_options, label, STRING),
    FIELDS_END,
};

const field gpo_condition_fields[] = {
    WORD(gpo_condition, comparison, words_of_GPO_COMPARE_KERNEL),
    OTHER("word"),
    FIELD(gpo_condition, constant, U32),
    FIELD(gpo_condition, initial, U32),
    FIELD(gpo_condition, max_iterations, U64),
    FIELDS_END,
};

const field gpo_template_statistics_fields[] = {
    FIELD(gpo_template_statistics, nodes, U32),
    FIELD(gpo_template_statistics, parameters, U32),
    FIELD(gpo_template_statistics, instances, U32),
    FIELD(gpo_template_statistics, pooled, U32),
    FIELD(gpo_template_statistics, recordings, U32),
    FIELD(gpo_template_statistics, launches, U64),
    FIELD(gpo_template_statistics, patches, U64),
    FIELD(gpo_template_statistics, updates, U64),
    FIELD(gpo_template_statistics, rebuilds, U64),
    FIELD(gpo_template_statistics, instance_bytes, U64),
    FIELD(gpo_template_statistics, waiting_frees, U64),
    FIELD(gpo_template_statistics, last_rebuild, CHARS),
    FIELD(gpo_template_statistics, held_words, U64),
    FIELD(gpo_template_statistics, waiting_for_words, U64),
    FIELD(gpo_template_statistics, dropped, U64),
    FIELD(gpo_template_statistics, last_dropped, CHARS),
    FIELDS_END,
};

const field gpo_graph_options_fields[] = {
    FLAG(gpo_graph_options, "upload", GPO_GRAPH_UPLOAD),
    FLAG(gpo_graph_options, "device_launch", GPO_GRAPH_DEVICE_LAUNCH),
    FIELD(gpo_graph_options, label, STRING),
    FIELDS_END,
};

const field gpo_graph_update_report_fields[] = {
    FIELD(gpo_graph_update_report, rebuilt, BOOL),
    FIELD(gpo_graph_update_report, node, U32),
    FIELD(gpo_graph_update_report, reason, CHARS),
    FIELD(gpo_graph_update_report, dropped, U32),
    FIELD(gpo_graph_update_report, dropped_parameter, CHARS),
    FIELD(gpo_graph_update_report, dropped_reason, CHARS),
    FIELDS_END,
};

const field gpo_timeline_options_fields[] = {
    FIELD(gpo_timeline_options, value, U64),
    FIELD(gpo_timeline_options, label, STRING),
    FIELDS_END,
};

const field gpo_trace_options_fields[] = {
    FLAG(gpo_trace_options, "no_gpu_times", GPO_TRACE_NO_GPU_TIMES),
    FIELD(gpo_trace_options, path, STRING),
    FIELD(gpo_trace_options, picture, STRING),
    FIELD(gpo_trace_options, title, STRING),
    FIELDS_END,
};

const field gpo_trace_info_fields[] = {
    FIELD(gpo_trace_info, running, BOOL),
    FIELD(gpo_trace_info, file_status, STATUS),
    FIELD(gpo_trace_info, calls, U64),
    FIELD(gpo_trace_info, operations, U64),
    FIELD(gpo_trace_info, timed, U64),
    FIELD(gpo_trace_info, completions, U64),
    FIELD(gpo_trace_info, dropped, U64),
    FIELD(gpo_trace_info, file_bytes, U64),
    FIELD(gpo_trace_info, call_cost_ns, U64),
    FIELD(gpo_trace_info, operation_cost_ns, U64),
    FIELD(gpo_trace_info, clock_error_ns, U64),
    FIELD(gpo_trace_info, callbacks, U64),
    FIELDS_END,
};
