// Where each field of each public struct begins and ends. Made from the public headers by src/abi/generate_api.py.
#pragma once

#include <cstddef>

#include "gpuorch/gpuorch.h"

namespace gpo {

struct StructField {
    const char* name;
    size_t begin, end;  // bytes from the struct's begin
};

/// The fields of struct T in their order. A struct that no public header declares has none.
template <class T>
inline constexpr int kStructFields = 0;

#define GPO_FIELD(type, field) {#field, offsetof(type, field), offsetof(type, field) + sizeof(type::field)}

template <>
inline constexpr StructField kStructFields<gpo_admission_options>[] = {
    GPO_FIELD(gpo_admission_options, struct_size),
    GPO_FIELD(gpo_admission_options, flags),
    GPO_FIELD(gpo_admission_options, count),
    GPO_FIELD(gpo_admission_options, bytes),
    GPO_FIELD(gpo_admission_options, capacity),
    GPO_FIELD(gpo_admission_options, priorities),
    GPO_FIELD(gpo_admission_options, pool),
    GPO_FIELD(gpo_admission_options, high_bytes),
    GPO_FIELD(gpo_admission_options, low_bytes),
    GPO_FIELD(gpo_admission_options, label),
};

template <>
inline constexpr StructField kStructFields<gpo_admission_request>[] = {
    GPO_FIELD(gpo_admission_request, struct_size),
    GPO_FIELD(gpo_admission_request, priority),
    GPO_FIELD(gpo_admission_request, count),
    GPO_FIELD(gpo_admission_request, bytes),
    GPO_FIELD(gpo_admission_request, flow),
    GPO_FIELD(gpo_admission_request, deadline_ns),
};

template <>
inline constexpr StructField kStructFields<gpo_admission_info>[] = {
    GPO_FIELD(gpo_admission_info, struct_size),
    GPO_FIELD(gpo_admission_info, paused),
    GPO_FIELD(gpo_admission_info, count),
    GPO_FIELD(gpo_admission_info, bytes),
    GPO_FIELD(gpo_admission_info, held),
    GPO_FIELD(gpo_admission_info, held_count),
    GPO_FIELD(gpo_admission_info, held_bytes),
    GPO_FIELD(gpo_admission_info, waiting),
    GPO_FIELD(gpo_admission_info, waiting_bytes),
    GPO_FIELD(gpo_admission_info, waiting_flows),
    GPO_FIELD(gpo_admission_info, admitted),
    GPO_FIELD(gpo_admission_info, refused),
    GPO_FIELD(gpo_admission_info, too_large),
    GPO_FIELD(gpo_admission_info, expired),
    GPO_FIELD(gpo_admission_info, cancelled),
    GPO_FIELD(gpo_admission_info, wait_ns),
    GPO_FIELD(gpo_admission_info, longest_wait_ns),
    GPO_FIELD(gpo_admission_info, wait_times),
};

template <>
inline constexpr StructField kStructFields<gpo_costs>[] = {
    GPO_FIELD(gpo_costs, struct_size),
    GPO_FIELD(gpo_costs, measured),
    GPO_FIELD(gpo_costs, launch_ns),
    GPO_FIELD(gpo_costs, wait_ns),
    GPO_FIELD(gpo_costs, decision_ns),
    GPO_FIELD(gpo_costs, graph_launch_ns),
    GPO_FIELD(gpo_costs, graph_node_ns),
    GPO_FIELD(gpo_costs, while_turn_ns),
    GPO_FIELD(gpo_costs, device_launch_ns),
    GPO_FIELD(gpo_costs, doorbell_ns),
    GPO_FIELD(gpo_costs, host_tasks_per_second),
    GPO_FIELD(gpo_costs, claims_per_second),
    GPO_FIELD(gpo_costs, ring_tasks_per_second),
    GPO_FIELD(gpo_costs, copy_ns),
    GPO_FIELD(gpo_costs, copy_in_rate),
    GPO_FIELD(gpo_costs, copy_out_rate),
    GPO_FIELD(gpo_costs, copy_both_rate),
    GPO_FIELD(gpo_costs, pageable_in_rate),
    GPO_FIELD(gpo_costs, pageable_out_rate),
    GPO_FIELD(gpo_costs, memory_rate),
    GPO_FIELD(gpo_costs, operation_rate),
    GPO_FIELD(gpo_costs, multiprocessors),
    GPO_FIELD(gpo_costs, reserved),
};

template <>
inline constexpr StructField kStructFields<gpo_workload>[] = {
    GPO_FIELD(gpo_workload, struct_size),
    GPO_FIELD(gpo_workload, flags),
    GPO_FIELD(gpo_workload, costs),
    GPO_FIELD(gpo_workload, launches),
    GPO_FIELD(gpo_workload, round_ns),
    GPO_FIELD(gpo_workload, kernel_ns),
    GPO_FIELD(gpo_workload, decisions),
    GPO_FIELD(gpo_workload, streams),
    GPO_FIELD(gpo_workload, blocks),
    GPO_FIELD(gpo_workload, bytes),
    GPO_FIELD(gpo_workload, operations),
    GPO_FIELD(gpo_workload, copies),
    GPO_FIELD(gpo_workload, copy_in_bytes),
    GPO_FIELD(gpo_workload, copy_out_bytes),
    GPO_FIELD(gpo_workload, tasks),
    GPO_FIELD(gpo_workload, task_ns),
    GPO_FIELD(gpo_workload, order),
    GPO_FIELD(gpo_workload, workers),
    GPO_FIELD(gpo_workload, block_workers),
    GPO_FIELD(gpo_workload, reserved),
    GPO_FIELD(gpo_workload, task_costs),
    GPO_FIELD(gpo_workload, cost_stride),
    GPO_FIELD(gpo_workload, cost_count),
    GPO_FIELD(gpo_workload, cost_deviation),
    GPO_FIELD(gpo_workload, cost_max),
};

template <>
inline constexpr StructField kStructFields<gpo_diagnosis>[] = {
    GPO_FIELD(gpo_diagnosis, struct_size),
    GPO_FIELD(gpo_diagnosis, bound),
    GPO_FIELD(gpo_diagnosis, round_ns),
    GPO_FIELD(gpo_diagnosis, launch_ns),
    GPO_FIELD(gpo_diagnosis, kernel_ns),
    GPO_FIELD(gpo_diagnosis, copy_ns),
    GPO_FIELD(gpo_diagnosis, decision_ns),
    GPO_FIELD(gpo_diagnosis, idle_ns),
    GPO_FIELD(gpo_diagnosis, memory_ns),
    GPO_FIELD(gpo_diagnosis, operations_ns),
    GPO_FIELD(gpo_diagnosis, intensity),
    GPO_FIELD(gpo_diagnosis, ridge),
    GPO_FIELD(gpo_diagnosis, roofline_share),
    GPO_FIELD(gpo_diagnosis, launch_share),
};

template <>
inline constexpr StructField kStructFields<gpo_advice>[] = {
    GPO_FIELD(gpo_advice, struct_size),
    GPO_FIELD(gpo_advice, form),
    GPO_FIELD(gpo_advice, bound),
    GPO_FIELD(gpo_advice, streams),
    GPO_FIELD(gpo_advice, order),
    GPO_FIELD(gpo_advice, batch),
    GPO_FIELD(gpo_advice, gain_low),
    GPO_FIELD(gpo_advice, gain_high),
    GPO_FIELD(gpo_advice, round_ns),
    GPO_FIELD(gpo_advice, host_calls),
    GPO_FIELD(gpo_advice, reason),
};

template <>
inline constexpr StructField kStructFields<gpo_batch_request>[] = {
    GPO_FIELD(gpo_batch_request, struct_size),
    GPO_FIELD(gpo_batch_request, reserved),
    GPO_FIELD(gpo_batch_request, user_data),
    GPO_FIELD(gpo_batch_request, flow),
    GPO_FIELD(gpo_batch_request, elements),
    GPO_FIELD(gpo_batch_request, first),
    GPO_FIELD(gpo_batch_request, input_bytes),
    GPO_FIELD(gpo_batch_request, output_bytes),
};

template <>
inline constexpr StructField kStructFields<gpo_batch>[] = {
    GPO_FIELD(gpo_batch, struct_size),
    GPO_FIELD(gpo_batch, requests),
    GPO_FIELD(gpo_batch, elements),
    GPO_FIELD(gpo_batch, shape),
    GPO_FIELD(gpo_batch, input),
    GPO_FIELD(gpo_batch, output),
    GPO_FIELD(gpo_batch, offsets),
    GPO_FIELD(gpo_batch, made),
    GPO_FIELD(gpo_batch, key),
    GPO_FIELD(gpo_batch, device),
    GPO_FIELD(gpo_batch, lane),
    GPO_FIELD(gpo_batch, members),
    GPO_FIELD(gpo_batch, member_stride),
};

template <>
inline constexpr StructField kStructFields<gpo_batcher_options>[] = {
    GPO_FIELD(gpo_batcher_options, struct_size),
    GPO_FIELD(gpo_batcher_options, flags),
    GPO_FIELD(gpo_batcher_options, devices),
    GPO_FIELD(gpo_batcher_options, device_count),
    GPO_FIELD(gpo_batcher_options, lanes),
    GPO_FIELD(gpo_batcher_options, capacity),
    GPO_FIELD(gpo_batcher_options, executor),
    GPO_FIELD(gpo_batcher_options, label),
};

template <>
inline constexpr StructField kStructFields<gpo_batcher_key_options>[] = {
    GPO_FIELD(gpo_batcher_key_options, struct_size),
    GPO_FIELD(gpo_batcher_key_options, flags),
    GPO_FIELD(gpo_batcher_key_options, layout),
    GPO_FIELD(gpo_batcher_key_options, max_batch),
    GPO_FIELD(gpo_batcher_key_options, input_bytes),
    GPO_FIELD(gpo_batcher_key_options, output_bytes),
    GPO_FIELD(gpo_batcher_key_options, max_elements),
    GPO_FIELD(gpo_batcher_key_options, max_delay_ns),
    GPO_FIELD(gpo_batcher_key_options, buckets),
    GPO_FIELD(gpo_batcher_key_options, bucket_count),
    GPO_FIELD(gpo_batcher_key_options, work),
    GPO_FIELD(gpo_batcher_key_options, user),
    GPO_FIELD(gpo_batcher_key_options, label),
    GPO_FIELD(gpo_batcher_key_options, release),
};

template <>
inline constexpr StructField kStructFields<gpo_batcher_request>[] = {
    GPO_FIELD(gpo_batcher_request, struct_size),
    GPO_FIELD(gpo_batcher_request, key),
    GPO_FIELD(gpo_batcher_request, flow),
    GPO_FIELD(gpo_batcher_request, elements),
    GPO_FIELD(gpo_batcher_request, input),
    GPO_FIELD(gpo_batcher_request, input_address),
    GPO_FIELD(gpo_batcher_request, output),
    GPO_FIELD(gpo_batcher_request, output_address),
    GPO_FIELD(gpo_batcher_request, output_made),
    GPO_FIELD(gpo_batcher_request, deadline_ns),
};

template <>
inline constexpr StructField kStructFields<gpo_batcher_info>[] = {
    GPO_FIELD(gpo_batcher_info, struct_size),
    GPO_FIELD(gpo_batcher_info, keys),
    GPO_FIELD(gpo_batcher_info, waiting),
    GPO_FIELD(gpo_batcher_info, waiting_elements),
    GPO_FIELD(gpo_batcher_info, waiting_flows),
    GPO_FIELD(gpo_batcher_info, running),
    GPO_FIELD(gpo_batcher_info, running_batches),
    GPO_FIELD(gpo_batcher_info, submitted),
    GPO_FIELD(gpo_batcher_info, submitted_bytes),
    GPO_FIELD(gpo_batcher_info, succeeded),
    GPO_FIELD(gpo_batcher_info, failed),
    GPO_FIELD(gpo_batcher_info, expired),
    GPO_FIELD(gpo_batcher_info, cancelled),
    GPO_FIELD(gpo_batcher_info, refused_full),
    GPO_FIELD(gpo_batcher_info, refused_deadline),
    GPO_FIELD(gpo_batcher_info, late),
    GPO_FIELD(gpo_batcher_info, batches),
    GPO_FIELD(gpo_batcher_info, batch_elements),
    GPO_FIELD(gpo_batcher_info, padded_elements),
    GPO_FIELD(gpo_batcher_info, delay_ns),
    GPO_FIELD(gpo_batcher_info, wait_ns),
    GPO_FIELD(gpo_batcher_info, requests_per_second),
    GPO_FIELD(gpo_batcher_info, batches_per_second),
    GPO_FIELD(gpo_batcher_info, queue_ns),
    GPO_FIELD(gpo_batcher_info, batch_ns),
    GPO_FIELD(gpo_batcher_info, request_ns),
    GPO_FIELD(gpo_batcher_info, sizes),
    GPO_FIELD(gpo_batcher_info, queue_times),
    GPO_FIELD(gpo_batcher_info, batch_times),
    GPO_FIELD(gpo_batcher_info, request_times),
};

template <>
inline constexpr StructField kStructFields<gpo_batcher_flow_info>[] = {
    GPO_FIELD(gpo_batcher_flow_info, struct_size),
    GPO_FIELD(gpo_batcher_flow_info, weight),
    GPO_FIELD(gpo_batcher_flow_info, waiting),
    GPO_FIELD(gpo_batcher_flow_info, submitted),
    GPO_FIELD(gpo_batcher_flow_info, succeeded),
    GPO_FIELD(gpo_batcher_flow_info, failed),
    GPO_FIELD(gpo_batcher_flow_info, wait_ns),
    GPO_FIELD(gpo_batcher_flow_info, longest_wait_ns),
};

template <>
inline constexpr StructField kStructFields<gpo_bucket_work>[] = {
    GPO_FIELD(gpo_bucket_work, struct_size),
    GPO_FIELD(gpo_bucket_work, reserved),
    GPO_FIELD(gpo_bucket_work, size),
    GPO_FIELD(gpo_bucket_work, shape),
    GPO_FIELD(gpo_bucket_work, graph_template),
    GPO_FIELD(gpo_bucket_work, settings),
    GPO_FIELD(gpo_bucket_work, setting_stride),
    GPO_FIELD(gpo_bucket_work, setting_count),
    GPO_FIELD(gpo_bucket_work, phase),
    GPO_FIELD(gpo_bucket_work, reserved2),
};

template <>
inline constexpr StructField kStructFields<gpo_memory_range>[] = {
    GPO_FIELD(gpo_memory_range, struct_size),
    GPO_FIELD(gpo_memory_range, reserved),
    GPO_FIELD(gpo_memory_range, address),
    GPO_FIELD(gpo_memory_range, bytes),
};

template <>
inline constexpr StructField kStructFields<gpo_buckets_options>[] = {
    GPO_FIELD(gpo_buckets_options, struct_size),
    GPO_FIELD(gpo_buckets_options, flags),
    GPO_FIELD(gpo_buckets_options, shapes),
    GPO_FIELD(gpo_buckets_options, shape_count),
    GPO_FIELD(gpo_buckets_options, max_bytes),
    GPO_FIELD(gpo_buckets_options, max_buckets),
    GPO_FIELD(gpo_buckets_options, streams),
    GPO_FIELD(gpo_buckets_options, record),
    GPO_FIELD(gpo_buckets_options, pad),
    GPO_FIELD(gpo_buckets_options, user),
    GPO_FIELD(gpo_buckets_options, pad_address),
    GPO_FIELD(gpo_buckets_options, pad_element_bytes),
    GPO_FIELD(gpo_buckets_options, label),
    GPO_FIELD(gpo_buckets_options, restored),
    GPO_FIELD(gpo_buckets_options, restored_stride),
    GPO_FIELD(gpo_buckets_options, restored_count),
};

template <>
inline constexpr StructField kStructFields<gpo_buckets_statistics>[] = {
    GPO_FIELD(gpo_buckets_statistics, struct_size),
    GPO_FIELD(gpo_buckets_statistics, buckets),
    GPO_FIELD(gpo_buckets_statistics, bytes),
    GPO_FIELD(gpo_buckets_statistics, hits),
    GPO_FIELD(gpo_buckets_statistics, misses),
    GPO_FIELD(gpo_buckets_statistics, eager),
    GPO_FIELD(gpo_buckets_statistics, evictions),
    GPO_FIELD(gpo_buckets_statistics, requested),
    GPO_FIELD(gpo_buckets_statistics, padded),
    GPO_FIELD(gpo_buckets_statistics, failures),
    GPO_FIELD(gpo_buckets_statistics, fallbacks),
    GPO_FIELD(gpo_buckets_statistics, last_failure),
};

template <>
inline constexpr StructField kStructFields<gpo_cq_options>[] = {
    GPO_FIELD(gpo_cq_options, struct_size),
    GPO_FIELD(gpo_cq_options, flags),
    GPO_FIELD(gpo_cq_options, capacity),
    GPO_FIELD(gpo_cq_options, reserved),
    GPO_FIELD(gpo_cq_options, label),
};

template <>
inline constexpr StructField kStructFields<gpo_completion>[] = {
    GPO_FIELD(gpo_completion, struct_size),
    GPO_FIELD(gpo_completion, status),
    GPO_FIELD(gpo_completion, user_data),
    GPO_FIELD(gpo_completion, origin),
    GPO_FIELD(gpo_completion, reserved),
    GPO_FIELD(gpo_completion, operation),
    GPO_FIELD(gpo_completion, submitted_ns),
    GPO_FIELD(gpo_completion, completed_ns),
    GPO_FIELD(gpo_completion, gpu_ns),
    GPO_FIELD(gpo_completion, error_id),
};

template <>
inline constexpr StructField kStructFields<gpo_cq_statistics>[] = {
    GPO_FIELD(gpo_cq_statistics, struct_size),
    GPO_FIELD(gpo_cq_statistics, capacity),
    GPO_FIELD(gpo_cq_statistics, accepted),
    GPO_FIELD(gpo_cq_statistics, delivered),
    GPO_FIELD(gpo_cq_statistics, drained),
    GPO_FIELD(gpo_cq_statistics, refused),
};

template <>
inline constexpr StructField kStructFields<gpo_device_properties>[] = {
    GPO_FIELD(gpo_device_properties, struct_size),
    GPO_FIELD(gpo_device_properties, native_ordinal),
    GPO_FIELD(gpo_device_properties, name),
    GPO_FIELD(gpo_device_properties, uuid),
    GPO_FIELD(gpo_device_properties, pci_address),
    GPO_FIELD(gpo_device_properties, numa_node),
    GPO_FIELD(gpo_device_properties, compute_capability_major),
    GPO_FIELD(gpo_device_properties, compute_capability_minor),
    GPO_FIELD(gpo_device_properties, multiprocessors),
    GPO_FIELD(gpo_device_properties, copy_engines),
    GPO_FIELD(gpo_device_properties, warp_size),
    GPO_FIELD(gpo_device_properties, max_threads_per_block),
    GPO_FIELD(gpo_device_properties, max_threads_per_multiprocessor),
    GPO_FIELD(gpo_device_properties, clock_khz),
    GPO_FIELD(gpo_device_properties, memory_clock_khz),
    GPO_FIELD(gpo_device_properties, memory_bus_bits),
    GPO_FIELD(gpo_device_properties, l2_bytes),
    GPO_FIELD(gpo_device_properties, software),
    GPO_FIELD(gpo_device_properties, memory_bytes),
    GPO_FIELD(gpo_device_properties, shared_bytes_per_block),
    GPO_FIELD(gpo_device_properties, shared_bytes_per_block_max),
    GPO_FIELD(gpo_device_properties, shared_bytes_per_multiprocessor),
    GPO_FIELD(gpo_device_properties, max_block),
    GPO_FIELD(gpo_device_properties, max_grid),
    GPO_FIELD(gpo_device_properties, cooperative_launch),
    GPO_FIELD(gpo_device_properties, cluster_launch),
    GPO_FIELD(gpo_device_properties, memory_pools),
    GPO_FIELD(gpo_device_properties, batched_copies),
};

template <>
inline constexpr StructField kStructFields<gpo_peer_properties>[] = {
    GPO_FIELD(gpo_peer_properties, struct_size),
    GPO_FIELD(gpo_peer_properties, accessible),
    GPO_FIELD(gpo_peer_properties, native_atomics),
    GPO_FIELD(gpo_peer_properties, performance_rank),
};

template <>
inline constexpr StructField kStructFields<gpo_device_options>[] = {
    GPO_FIELD(gpo_device_options, struct_size),
    GPO_FIELD(gpo_device_options, flags),
    GPO_FIELD(gpo_device_options, ordinal),
    GPO_FIELD(gpo_device_options, reserved),
    GPO_FIELD(gpo_device_options, native_context),
    GPO_FIELD(gpo_device_options, label),
};

template <>
inline constexpr StructField kStructFields<gpo_event_options>[] = {
    GPO_FIELD(gpo_event_options, struct_size),
    GPO_FIELD(gpo_event_options, flags),
    GPO_FIELD(gpo_event_options, label),
};

template <>
inline constexpr StructField kStructFields<gpo_executor_options>[] = {
    GPO_FIELD(gpo_executor_options, struct_size),
    GPO_FIELD(gpo_executor_options, flags),
    GPO_FIELD(gpo_executor_options, threads),
    GPO_FIELD(gpo_executor_options, capacity),
    GPO_FIELD(gpo_executor_options, label),
};

template <>
inline constexpr StructField kStructFields<gpo_executor_statistics>[] = {
    GPO_FIELD(gpo_executor_statistics, struct_size),
    GPO_FIELD(gpo_executor_statistics, threads),
    GPO_FIELD(gpo_executor_statistics, accepted),
    GPO_FIELD(gpo_executor_statistics, called),
    GPO_FIELD(gpo_executor_statistics, cancelled),
    GPO_FIELD(gpo_executor_statistics, threw),
    GPO_FIELD(gpo_executor_statistics, refused),
    GPO_FIELD(gpo_executor_statistics, pending),
};

template <>
inline constexpr StructField kStructFields<gpo_host_call>[] = {
    GPO_FIELD(gpo_host_call, struct_size),
    GPO_FIELD(gpo_host_call, status),
    GPO_FIELD(gpo_host_call, call),
    GPO_FIELD(gpo_host_call, error),
};

template <>
inline constexpr StructField kStructFields<gpo_memory_statistics>[] = {
    GPO_FIELD(gpo_memory_statistics, struct_size),
    GPO_FIELD(gpo_memory_statistics, slabs),
    GPO_FIELD(gpo_memory_statistics, in_use),
    GPO_FIELD(gpo_memory_statistics, reserved),
    GPO_FIELD(gpo_memory_statistics, peak_in_use),
    GPO_FIELD(gpo_memory_statistics, peak_reserved),
    GPO_FIELD(gpo_memory_statistics, waiting),
    GPO_FIELD(gpo_memory_statistics, allocations),
    GPO_FIELD(gpo_memory_statistics, frees),
    GPO_FIELD(gpo_memory_statistics, driver_calls),
};

template <>
inline constexpr StructField kStructFields<gpo_arena_options>[] = {
    GPO_FIELD(gpo_arena_options, struct_size),
    GPO_FIELD(gpo_arena_options, flags),
    GPO_FIELD(gpo_arena_options, max_bytes),
    GPO_FIELD(gpo_arena_options, slab_bytes),
    GPO_FIELD(gpo_arena_options, initial_bytes),
    GPO_FIELD(gpo_arena_options, numa_node),
    GPO_FIELD(gpo_arena_options, reserved),
    GPO_FIELD(gpo_arena_options, label),
};

template <>
inline constexpr StructField kStructFields<gpo_memory_info>[] = {
    GPO_FIELD(gpo_memory_info, struct_size),
    GPO_FIELD(gpo_memory_info, kind),
    GPO_FIELD(gpo_memory_info, device_ordinal),
    GPO_FIELD(gpo_memory_info, reserved),
    GPO_FIELD(gpo_memory_info, start),
    GPO_FIELD(gpo_memory_info, bytes),
};

template <>
inline constexpr StructField kStructFields<gpo_pool_options>[] = {
    GPO_FIELD(gpo_pool_options, struct_size),
    GPO_FIELD(gpo_pool_options, flags),
    GPO_FIELD(gpo_pool_options, max_bytes),
    GPO_FIELD(gpo_pool_options, keep_bytes),
    GPO_FIELD(gpo_pool_options, initial_bytes),
    GPO_FIELD(gpo_pool_options, label),
};

template <>
inline constexpr StructField kStructFields<gpo_copy>[] = {
    GPO_FIELD(gpo_copy, struct_size),
    GPO_FIELD(gpo_copy, flags),
    GPO_FIELD(gpo_copy, destination),
    GPO_FIELD(gpo_copy, source),
    GPO_FIELD(gpo_copy, bytes),
};

template <>
inline constexpr StructField kStructFields<gpo_copy_2d>[] = {
    GPO_FIELD(gpo_copy_2d, struct_size),
    GPO_FIELD(gpo_copy_2d, flags),
    GPO_FIELD(gpo_copy_2d, destination),
    GPO_FIELD(gpo_copy_2d, destination_pitch),
    GPO_FIELD(gpo_copy_2d, source),
    GPO_FIELD(gpo_copy_2d, source_pitch),
    GPO_FIELD(gpo_copy_2d, width),
    GPO_FIELD(gpo_copy_2d, height),
};

template <>
inline constexpr StructField kStructFields<gpo_metrics>[] = {
    GPO_FIELD(gpo_metrics, struct_size),
    GPO_FIELD(gpo_metrics, devices),
    GPO_FIELD(gpo_metrics, streams),
    GPO_FIELD(gpo_metrics, operations_pending),
    GPO_FIELD(gpo_metrics, operations_held),
    GPO_FIELD(gpo_metrics, completions_pending),
    GPO_FIELD(gpo_metrics, notifies_refused),
    GPO_FIELD(gpo_metrics, arena_in_use),
    GPO_FIELD(gpo_metrics, arena_reserved),
    GPO_FIELD(gpo_metrics, arena_peak),
    GPO_FIELD(gpo_metrics, pool_in_use),
    GPO_FIELD(gpo_metrics, pool_reserved),
    GPO_FIELD(gpo_metrics, pool_peak),
    GPO_FIELD(gpo_metrics, latency_count),
    GPO_FIELD(gpo_metrics, latency_sum),
    GPO_FIELD(gpo_metrics, latencies),
    GPO_FIELD(gpo_metrics, errors),
    GPO_FIELD(gpo_metrics, executors),
    GPO_FIELD(gpo_metrics, executor_threads),
    GPO_FIELD(gpo_metrics, callbacks),
    GPO_FIELD(gpo_metrics, callbacks_pending),
    GPO_FIELD(gpo_metrics, pipeline_pinned),
};

template <>
inline constexpr StructField kStructFields<gpo_device_metrics>[] = {
    GPO_FIELD(gpo_device_metrics, struct_size),
    GPO_FIELD(gpo_device_metrics, reserved),
    GPO_FIELD(gpo_device_metrics, memory_total),
    GPO_FIELD(gpo_device_metrics, memory_used),
    GPO_FIELD(gpo_device_metrics, utilization),
    GPO_FIELD(gpo_device_metrics, memory_utilization),
    GPO_FIELD(gpo_device_metrics, power),
    GPO_FIELD(gpo_device_metrics, energy),
    GPO_FIELD(gpo_device_metrics, temperature),
    GPO_FIELD(gpo_device_metrics, sm_clock),
    GPO_FIELD(gpo_device_metrics, memory_clock),
    GPO_FIELD(gpo_device_metrics, pcie_sent),
    GPO_FIELD(gpo_device_metrics, pcie_received),
    GPO_FIELD(gpo_device_metrics, reason),
};

template <>
inline constexpr StructField kStructFields<gpo_compile_options>[] = {
    GPO_FIELD(gpo_compile_options, struct_size),
    GPO_FIELD(gpo_compile_options, flags),
    GPO_FIELD(gpo_compile_options, source),
    GPO_FIELD(gpo_compile_options, source_bytes),
    GPO_FIELD(gpo_compile_options, file_name),
    GPO_FIELD(gpo_compile_options, options),
    GPO_FIELD(gpo_compile_options, option_count),
    GPO_FIELD(gpo_compile_options, name_expression_count),
    GPO_FIELD(gpo_compile_options, name_expressions),
    GPO_FIELD(gpo_compile_options, header_names),
    GPO_FIELD(gpo_compile_options, header_texts),
    GPO_FIELD(gpo_compile_options, header_count),
    GPO_FIELD(gpo_compile_options, reserved),
    GPO_FIELD(gpo_compile_options, label),
};

template <>
inline constexpr StructField kStructFields<gpo_kernel_attributes>[] = {
    GPO_FIELD(gpo_kernel_attributes, struct_size),
    GPO_FIELD(gpo_kernel_attributes, max_threads_per_block),
    GPO_FIELD(gpo_kernel_attributes, registers_per_thread),
    GPO_FIELD(gpo_kernel_attributes, parameter_count),
    GPO_FIELD(gpo_kernel_attributes, static_shared_bytes),
    GPO_FIELD(gpo_kernel_attributes, constant_bytes),
    GPO_FIELD(gpo_kernel_attributes, local_bytes_per_thread),
    GPO_FIELD(gpo_kernel_attributes, parameter_bytes),
    GPO_FIELD(gpo_kernel_attributes, max_dynamic_shared_bytes),
    GPO_FIELD(gpo_kernel_attributes, ptx_version),
    GPO_FIELD(gpo_kernel_attributes, binary_version),
};

template <>
inline constexpr StructField kStructFields<gpo_launch>[] = {
    GPO_FIELD(gpo_launch, struct_size),
    GPO_FIELD(gpo_launch, flags),
    GPO_FIELD(gpo_launch, grid),
    GPO_FIELD(gpo_launch, block),
    GPO_FIELD(gpo_launch, cluster),
    GPO_FIELD(gpo_launch, priority),
    GPO_FIELD(gpo_launch, dynamic_shared_bytes),
    GPO_FIELD(gpo_launch, label),
};

template <>
inline constexpr StructField kStructFields<gpo_peers_options>[] = {
    GPO_FIELD(gpo_peers_options, struct_size),
    GPO_FIELD(gpo_peers_options, flags),
    GPO_FIELD(gpo_peers_options, engine),
    GPO_FIELD(gpo_peers_options, reserved),
    GPO_FIELD(gpo_peers_options, label),
};

template <>
inline constexpr StructField kStructFields<gpo_peers_info>[] = {
    GPO_FIELD(gpo_peers_info, struct_size),
    GPO_FIELD(gpo_peers_info, ranks),
    GPO_FIELD(gpo_peers_info, direct),
    GPO_FIELD(gpo_peers_info, native_atomics),
    GPO_FIELD(gpo_peers_info, nccl_version),
    GPO_FIELD(gpo_peers_info, rank),
    GPO_FIELD(gpo_peers_info, local_ranks),
    GPO_FIELD(gpo_peers_info, reserved),
    GPO_FIELD(gpo_peers_info, collectives),
    GPO_FIELD(gpo_peers_info, direct_collectives),
    GPO_FIELD(gpo_peers_info, bytes),
    GPO_FIELD(gpo_peers_info, mpi_device),
    GPO_FIELD(gpo_peers_info, reserved1),
};

template <>
inline constexpr StructField kStructFields<gpo_join_options>[] = {
    GPO_FIELD(gpo_join_options, struct_size),
    GPO_FIELD(gpo_join_options, flags),
    GPO_FIELD(gpo_join_options, by),
    GPO_FIELD(gpo_join_options, engine),
    GPO_FIELD(gpo_join_options, rank),
    GPO_FIELD(gpo_join_options, ranks),
    GPO_FIELD(gpo_join_options, timeout_ns),
    GPO_FIELD(gpo_join_options, path),
    GPO_FIELD(gpo_join_options, id),
    GPO_FIELD(gpo_join_options, communicator),
    GPO_FIELD(gpo_join_options, label),
};

template <>
inline constexpr StructField kStructFields<gpo_collective>[] = {
    GPO_FIELD(gpo_collective, struct_size),
    GPO_FIELD(gpo_collective, kind),
    GPO_FIELD(gpo_collective, type),
    GPO_FIELD(gpo_collective, reduction),
    GPO_FIELD(gpo_collective, root),
    GPO_FIELD(gpo_collective, flags),
    GPO_FIELD(gpo_collective, count),
    GPO_FIELD(gpo_collective, label),
};

template <>
inline constexpr StructField kStructFields<gpo_rank_part>[] = {
    GPO_FIELD(gpo_rank_part, struct_size),
    GPO_FIELD(gpo_rank_part, reserved),
    GPO_FIELD(gpo_rank_part, stream),
    GPO_FIELD(gpo_rank_part, send),
    GPO_FIELD(gpo_rank_part, receive),
    GPO_FIELD(gpo_rank_part, send_to),
    GPO_FIELD(gpo_rank_part, receive_from),
};

template <>
inline constexpr StructField kStructFields<gpo_chunk>[] = {
    GPO_FIELD(gpo_chunk, struct_size),
    GPO_FIELD(gpo_chunk, slot),
    GPO_FIELD(gpo_chunk, index),
    GPO_FIELD(gpo_chunk, offset),
    GPO_FIELD(gpo_chunk, bytes),
    GPO_FIELD(gpo_chunk, output_offset),
    GPO_FIELD(gpo_chunk, output_bytes),
    GPO_FIELD(gpo_chunk, input_address),
    GPO_FIELD(gpo_chunk, output_address),
    GPO_FIELD(gpo_chunk, scratch_address),
    GPO_FIELD(gpo_chunk, result_address),
    GPO_FIELD(gpo_chunk, output),
    GPO_FIELD(gpo_chunk, result),
    GPO_FIELD(gpo_chunk, device),
    GPO_FIELD(gpo_chunk, reserved),
};

template <>
inline constexpr StructField kStructFields<gpo_source>[] = {
    GPO_FIELD(gpo_source, struct_size),
    GPO_FIELD(gpo_source, kind),
    GPO_FIELD(gpo_source, memory),
    GPO_FIELD(gpo_source, bytes),
    GPO_FIELD(gpo_source, path),
    GPO_FIELD(gpo_source, offset),
    GPO_FIELD(gpo_source, fill),
    GPO_FIELD(gpo_source, user),
    GPO_FIELD(gpo_source, descriptor),
    GPO_FIELD(gpo_source, flags),
};

template <>
inline constexpr StructField kStructFields<gpo_stage_argument>[] = {
    GPO_FIELD(gpo_stage_argument, struct_size),
    GPO_FIELD(gpo_stage_argument, kind),
    GPO_FIELD(gpo_stage_argument, value),
    GPO_FIELD(gpo_stage_argument, bytes),
};

template <>
inline constexpr StructField kStructFields<gpo_stage>[] = {
    GPO_FIELD(gpo_stage, struct_size),
    GPO_FIELD(gpo_stage, kind),
    GPO_FIELD(gpo_stage, kernel),
    GPO_FIELD(gpo_stage, block),
    GPO_FIELD(gpo_stage, grid),
    GPO_FIELD(gpo_stage, bytes_per_block),
    GPO_FIELD(gpo_stage, dynamic_shared_bytes),
    GPO_FIELD(gpo_stage, arguments),
    GPO_FIELD(gpo_stage, argument_stride),
    GPO_FIELD(gpo_stage, argument_count),
    GPO_FIELD(gpo_stage, max_blocks),
    GPO_FIELD(gpo_stage, enqueue),
    GPO_FIELD(gpo_stage, user),
    GPO_FIELD(gpo_stage, label),
    GPO_FIELD(gpo_stage, kernels),
};

template <>
inline constexpr StructField kStructFields<gpo_sink>[] = {
    GPO_FIELD(gpo_sink, struct_size),
    GPO_FIELD(gpo_sink, kind),
    GPO_FIELD(gpo_sink, memory),
    GPO_FIELD(gpo_sink, bytes),
    GPO_FIELD(gpo_sink, path),
    GPO_FIELD(gpo_sink, take),
    GPO_FIELD(gpo_sink, user),
    GPO_FIELD(gpo_sink, descriptor),
    GPO_FIELD(gpo_sink, flags),
};

template <>
inline constexpr StructField kStructFields<gpo_pipeline_progress>[] = {
    GPO_FIELD(gpo_pipeline_progress, struct_size),
    GPO_FIELD(gpo_pipeline_progress, running),
    GPO_FIELD(gpo_pipeline_progress, bytes_in),
    GPO_FIELD(gpo_pipeline_progress, bytes_done),
    GPO_FIELD(gpo_pipeline_progress, bytes_total),
    GPO_FIELD(gpo_pipeline_progress, chunks_done),
    GPO_FIELD(gpo_pipeline_progress, elapsed_ns),
};

template <>
inline constexpr StructField kStructFields<gpo_pipeline_options>[] = {
    GPO_FIELD(gpo_pipeline_options, struct_size),
    GPO_FIELD(gpo_pipeline_options, flags),
    GPO_FIELD(gpo_pipeline_options, chunk_bytes),
    GPO_FIELD(gpo_pipeline_options, granule),
    GPO_FIELD(gpo_pipeline_options, slots),
    GPO_FIELD(gpo_pipeline_options, output_numerator),
    GPO_FIELD(gpo_pipeline_options, output_denominator),
    GPO_FIELD(gpo_pipeline_options, stage_count),
    GPO_FIELD(gpo_pipeline_options, stages),
    GPO_FIELD(gpo_pipeline_options, stage_stride),
    GPO_FIELD(gpo_pipeline_options, scratch_bytes),
    GPO_FIELD(gpo_pipeline_options, result_bytes),
    GPO_FIELD(gpo_pipeline_options, max_pinned_bytes),
    GPO_FIELD(gpo_pipeline_options, progress),
    GPO_FIELD(gpo_pipeline_options, progress_user),
    GPO_FIELD(gpo_pipeline_options, progress_ns),
    GPO_FIELD(gpo_pipeline_options, label),
    GPO_FIELD(gpo_pipeline_options, executor),
    GPO_FIELD(gpo_pipeline_options, devices),
    GPO_FIELD(gpo_pipeline_options, device_count),
    GPO_FIELD(gpo_pipeline_options, reserved),
};

template <>
inline constexpr StructField kStructFields<gpo_pipeline_result>[] = {
    GPO_FIELD(gpo_pipeline_result, struct_size),
    GPO_FIELD(gpo_pipeline_result, status),
    GPO_FIELD(gpo_pipeline_result, bytes_in),
    GPO_FIELD(gpo_pipeline_result, bytes_out),
    GPO_FIELD(gpo_pipeline_result, chunks),
    GPO_FIELD(gpo_pipeline_result, elapsed_ns),
    GPO_FIELD(gpo_pipeline_result, chunk_bytes),
    GPO_FIELD(gpo_pipeline_result, slots),
    GPO_FIELD(gpo_pipeline_result, tuned),
    GPO_FIELD(gpo_pipeline_result, copy_in_ns),
    GPO_FIELD(gpo_pipeline_result, copy_out_ns),
    GPO_FIELD(gpo_pipeline_result, kernel_ns),
    GPO_FIELD(gpo_pipeline_result, copy_hidden_ns),
    GPO_FIELD(gpo_pipeline_result, staged_bytes),
};

template <>
inline constexpr StructField kStructFields<gpo_pipeline_share>[] = {
    GPO_FIELD(gpo_pipeline_share, struct_size),
    GPO_FIELD(gpo_pipeline_share, reserved),
    GPO_FIELD(gpo_pipeline_share, chunks),
    GPO_FIELD(gpo_pipeline_share, bytes_in),
    GPO_FIELD(gpo_pipeline_share, copy_in_ns),
    GPO_FIELD(gpo_pipeline_share, copy_out_ns),
    GPO_FIELD(gpo_pipeline_share, kernel_ns),
    GPO_FIELD(gpo_pipeline_share, copy_hidden_ns),
};

template <>
inline constexpr StructField kStructFields<gpo_queue_options>[] = {
    GPO_FIELD(gpo_queue_options, struct_size),
    GPO_FIELD(gpo_queue_options, kind),
    GPO_FIELD(gpo_queue_options, flags),
    GPO_FIELD(gpo_queue_options, batch),
    GPO_FIELD(gpo_queue_options, count),
    GPO_FIELD(gpo_queue_options, capacity),
    GPO_FIELD(gpo_queue_options, task_size),
    GPO_FIELD(gpo_queue_options, priorities),
    GPO_FIELD(gpo_queue_options, answer_size),
    GPO_FIELD(gpo_queue_options, tenants),
    GPO_FIELD(gpo_queue_options, stream),
    GPO_FIELD(gpo_queue_options, label),
};

template <>
inline constexpr StructField kStructFields<gpo_tenant_options>[] = {
    GPO_FIELD(gpo_tenant_options, struct_size),
    GPO_FIELD(gpo_tenant_options, reserved),
    GPO_FIELD(gpo_tenant_options, limit),
    GPO_FIELD(gpo_tenant_options, completions),
};

template <>
inline constexpr StructField kStructFields<gpo_answer>[] = {
    GPO_FIELD(gpo_answer, struct_size),
    GPO_FIELD(gpo_answer, status),
    GPO_FIELD(gpo_answer, user_data),
};

template <>
inline constexpr StructField kStructFields<gpo_queue_info>[] = {
    GPO_FIELD(gpo_queue_info, struct_size),
    GPO_FIELD(gpo_queue_info, kind),
    GPO_FIELD(gpo_queue_info, state),
    GPO_FIELD(gpo_queue_info, task_size),
    GPO_FIELD(gpo_queue_info, capacity),
    GPO_FIELD(gpo_queue_info, depth),
    GPO_FIELD(gpo_queue_info, pushed),
    GPO_FIELD(gpo_queue_info, popped),
    GPO_FIELD(gpo_queue_info, done),
    GPO_FIELD(gpo_queue_info, refused),
    GPO_FIELD(gpo_queue_info, device_bytes),
    GPO_FIELD(gpo_queue_info, pinned_bytes),
    GPO_FIELD(gpo_queue_info, posted),
    GPO_FIELD(gpo_queue_info, answered),
    GPO_FIELD(gpo_queue_info, unanswered),
    GPO_FIELD(gpo_queue_info, answer_size),
    GPO_FIELD(gpo_queue_info, tenants),
};

template <>
inline constexpr StructField kStructFields<gpo_runtime_options>[] = {
    GPO_FIELD(gpo_runtime_options, struct_size),
    GPO_FIELD(gpo_runtime_options, flags),
    GPO_FIELD(gpo_runtime_options, device),
    GPO_FIELD(gpo_runtime_options, log),
    GPO_FIELD(gpo_runtime_options, log_user),
    GPO_FIELD(gpo_runtime_options, log_level),
    GPO_FIELD(gpo_runtime_options, completion_mode),
    GPO_FIELD(gpo_runtime_options, schedule_seed),
    GPO_FIELD(gpo_runtime_options, cache),
    GPO_FIELD(gpo_runtime_options, label),
};

template <>
inline constexpr StructField kStructFields<gpo_driver_info>[] = {
    GPO_FIELD(gpo_driver_info, struct_size),
    GPO_FIELD(gpo_driver_info, version),
    GPO_FIELD(gpo_driver_info, software),
    GPO_FIELD(gpo_driver_info, device_count),
    GPO_FIELD(gpo_driver_info, name),
    GPO_FIELD(gpo_driver_info, reason),
};

template <>
inline constexpr StructField kStructFields<gpo_statistics>[] = {
    GPO_FIELD(gpo_statistics, struct_size),
    GPO_FIELD(gpo_statistics, live_objects),
    GPO_FIELD(gpo_statistics, launches),
    GPO_FIELD(gpo_statistics, copies),
    GPO_FIELD(gpo_statistics, copied_bytes),
    GPO_FIELD(gpo_statistics, fills),
    GPO_FIELD(gpo_statistics, notifies),
    GPO_FIELD(gpo_statistics, completions),
    GPO_FIELD(gpo_statistics, failures),
    GPO_FIELD(gpo_statistics, holds),
    GPO_FIELD(gpo_statistics, device_allocations),
    GPO_FIELD(gpo_statistics, host_registrations),
    GPO_FIELD(gpo_statistics, pageable_copies),
    GPO_FIELD(gpo_statistics, pageable_bytes),
    GPO_FIELD(gpo_statistics, legacy_stream_uses),
    GPO_FIELD(gpo_statistics, module_loads),
    GPO_FIELD(gpo_statistics, put_off),
};

template <>
inline constexpr StructField kStructFields<gpo_handler>[] = {
    GPO_FIELD(gpo_handler, struct_size),
    GPO_FIELD(gpo_handler, graph_count),
    GPO_FIELD(gpo_handler, name),
    GPO_FIELD(gpo_handler, graphs),
    GPO_FIELD(gpo_handler, task_memory),
};

template <>
inline constexpr StructField kStructFields<gpo_scheduler_options>[] = {
    GPO_FIELD(gpo_scheduler_options, struct_size),
    GPO_FIELD(gpo_scheduler_options, form),
    GPO_FIELD(gpo_scheduler_options, queue),
    GPO_FIELD(gpo_scheduler_options, source),
    GPO_FIELD(gpo_scheduler_options, source_bytes),
    GPO_FIELD(gpo_scheduler_options, file_name),
    GPO_FIELD(gpo_scheduler_options, compile_options),
    GPO_FIELD(gpo_scheduler_options, compile_option_count),
    GPO_FIELD(gpo_scheduler_options, workers),
    GPO_FIELD(gpo_scheduler_options, threads),
    GPO_FIELD(gpo_scheduler_options, blocks_per_multiprocessor),
    GPO_FIELD(gpo_scheduler_options, multiprocessors),
    GPO_FIELD(gpo_scheduler_options, leave_free),
    GPO_FIELD(gpo_scheduler_options, batch),
    GPO_FIELD(gpo_scheduler_options, max_errors),
    GPO_FIELD(gpo_scheduler_options, argument),
    GPO_FIELD(gpo_scheduler_options, dynamic_shared_bytes),
    GPO_FIELD(gpo_scheduler_options, idle_timeout_ns),
    GPO_FIELD(gpo_scheduler_options, sample_interval_ns),
    GPO_FIELD(gpo_scheduler_options, label),
};

template <>
inline constexpr StructField kStructFields<gpo_scheduler_info>[] = {
    GPO_FIELD(gpo_scheduler_info, struct_size),
    GPO_FIELD(gpo_scheduler_info, form),
    GPO_FIELD(gpo_scheduler_info, state),
    GPO_FIELD(gpo_scheduler_info, last_end),
    GPO_FIELD(gpo_scheduler_info, runs),
    GPO_FIELD(gpo_scheduler_info, tasks),
    GPO_FIELD(gpo_scheduler_info, errors),
    GPO_FIELD(gpo_scheduler_info, refused_pushes),
    GPO_FIELD(gpo_scheduler_info, depth),
    GPO_FIELD(gpo_scheduler_info, steps),
    GPO_FIELD(gpo_scheduler_info, empty_polls),
    GPO_FIELD(gpo_scheduler_info, busy_ns),
    GPO_FIELD(gpo_scheduler_info, worker_ns),
    GPO_FIELD(gpo_scheduler_info, multiprocessors),
    GPO_FIELD(gpo_scheduler_info, blocks),
    GPO_FIELD(gpo_scheduler_info, workers),
    GPO_FIELD(gpo_scheduler_info, handlers),
    GPO_FIELD(gpo_scheduler_info, device_bytes),
};

template <>
inline constexpr StructField kStructFields<gpo_handler_info>[] = {
    GPO_FIELD(gpo_handler_info, struct_size),
    GPO_FIELD(gpo_handler_info, reserved),
    GPO_FIELD(gpo_handler_info, tasks),
    GPO_FIELD(gpo_handler_info, errors),
    GPO_FIELD(gpo_handler_info, busy_ns),
};

template <>
inline constexpr StructField kStructFields<gpo_scheduler_block>[] = {
    GPO_FIELD(gpo_scheduler_block, struct_size),
    GPO_FIELD(gpo_scheduler_block, multiprocessor),
    GPO_FIELD(gpo_scheduler_block, workers),
    GPO_FIELD(gpo_scheduler_block, reserved),
    GPO_FIELD(gpo_scheduler_block, tasks),
    GPO_FIELD(gpo_scheduler_block, empty_polls),
    GPO_FIELD(gpo_scheduler_block, busy_ns),
    GPO_FIELD(gpo_scheduler_block, worker_ns),
};

template <>
inline constexpr StructField kStructFields<gpo_depth_sample>[] = {
    GPO_FIELD(gpo_depth_sample, struct_size),
    GPO_FIELD(gpo_depth_sample, run),
    GPO_FIELD(gpo_depth_sample, time_ns),
    GPO_FIELD(gpo_depth_sample, depth),
};

template <>
inline constexpr StructField kStructFields<gpo_task_error>[] = {
    GPO_FIELD(gpo_task_error, struct_size),
    GPO_FIELD(gpo_task_error, handler),
    GPO_FIELD(gpo_task_error, status),
    GPO_FIELD(gpo_task_error, priority),
    GPO_FIELD(gpo_task_error, position),
    GPO_FIELD(gpo_task_error, task),
};

template <>
inline constexpr StructField kStructFields<gpo_error>[] = {
    GPO_FIELD(gpo_error, struct_size),
    GPO_FIELD(gpo_error, status),
    GPO_FIELD(gpo_error, native_code),
    GPO_FIELD(gpo_error, native_domain),
    GPO_FIELD(gpo_error, operation),
    GPO_FIELD(gpo_error, function),
    GPO_FIELD(gpo_error, object),
    GPO_FIELD(gpo_error, message),
};

template <>
inline constexpr StructField kStructFields<gpo_stream_options>[] = {
    GPO_FIELD(gpo_stream_options, struct_size),
    GPO_FIELD(gpo_stream_options, flags),
    GPO_FIELD(gpo_stream_options, priority),
    GPO_FIELD(gpo_stream_options, max_held),
    GPO_FIELD(gpo_stream_options, label),
};

template <>
inline constexpr StructField kStructFields<gpo_stream_info>[] = {
    GPO_FIELD(gpo_stream_info, struct_size),
    GPO_FIELD(gpo_stream_info, flags),
    GPO_FIELD(gpo_stream_info, priority),
    GPO_FIELD(gpo_stream_info, wrapped),
    GPO_FIELD(gpo_stream_info, accepted),
    GPO_FIELD(gpo_stream_info, completed),
    GPO_FIELD(gpo_stream_info, held),
    GPO_FIELD(gpo_stream_info, device),
    GPO_FIELD(gpo_stream_info, replayed),
    GPO_FIELD(gpo_stream_info, learned),
    GPO_FIELD(gpo_stream_info, reserved),
};

template <>
inline constexpr StructField kStructFields<gpo_stream_pool_options>[] = {
    GPO_FIELD(gpo_stream_pool_options, struct_size),
    GPO_FIELD(gpo_stream_pool_options, flags),
    GPO_FIELD(gpo_stream_pool_options, streams),
    GPO_FIELD(gpo_stream_pool_options, priorities),
    GPO_FIELD(gpo_stream_pool_options, label),
};

template <>
inline constexpr StructField kStructFields<gpo_symmetric_options>[] = {
    GPO_FIELD(gpo_symmetric_options, struct_size),
    GPO_FIELD(gpo_symmetric_options, flags),
    GPO_FIELD(gpo_symmetric_options, alignment),
    GPO_FIELD(gpo_symmetric_options, label),
    GPO_FIELD(gpo_symmetric_options, engine),
    GPO_FIELD(gpo_symmetric_options, reserved),
};

template <>
inline constexpr StructField kStructFields<gpo_symmetric_info>[] = {
    GPO_FIELD(gpo_symmetric_info, struct_size),
    GPO_FIELD(gpo_symmetric_info, ranks),
    GPO_FIELD(gpo_symmetric_info, bytes),
    GPO_FIELD(gpo_symmetric_info, alignment),
    GPO_FIELD(gpo_symmetric_info, device_bytes),
    GPO_FIELD(gpo_symmetric_info, barrier_blocks),
    GPO_FIELD(gpo_symmetric_info, native_atomics),
};

template <>
inline constexpr StructField kStructFields<gpo_rank_launch>[] = {
    GPO_FIELD(gpo_rank_launch, struct_size),
    GPO_FIELD(gpo_rank_launch, flags),
    GPO_FIELD(gpo_rank_launch, stream),
    GPO_FIELD(gpo_rank_launch, kernel),
    GPO_FIELD(gpo_rank_launch, launch),
    GPO_FIELD(gpo_rank_launch, arguments),
    GPO_FIELD(gpo_rank_launch, sizes),
    GPO_FIELD(gpo_rank_launch, argument_count),
    GPO_FIELD(gpo_rank_launch, reserved),
};

template <>
inline constexpr StructField kStructFields<gpo_template_options>[] = {
    GPO_FIELD(gpo_template_options, struct_size),
    GPO_FIELD(gpo_template_options, flags),
    GPO_FIELD(gpo_template_options, max_instances),
    GPO_FIELD(gpo_template_options, reserved),
    GPO_FIELD(gpo_template_options, label),
};

template <>
inline constexpr StructField kStructFields<gpo_condition>[] = {
    GPO_FIELD(gpo_condition, struct_size),
    GPO_FIELD(gpo_condition, comparison),
    GPO_FIELD(gpo_condition, word),
    GPO_FIELD(gpo_condition, constant),
    GPO_FIELD(gpo_condition, initial),
    GPO_FIELD(gpo_condition, max_iterations),
};

template <>
inline constexpr StructField kStructFields<gpo_template_statistics>[] = {
    GPO_FIELD(gpo_template_statistics, struct_size),
    GPO_FIELD(gpo_template_statistics, nodes),
    GPO_FIELD(gpo_template_statistics, parameters),
    GPO_FIELD(gpo_template_statistics, instances),
    GPO_FIELD(gpo_template_statistics, pooled),
    GPO_FIELD(gpo_template_statistics, recordings),
    GPO_FIELD(gpo_template_statistics, launches),
    GPO_FIELD(gpo_template_statistics, patches),
    GPO_FIELD(gpo_template_statistics, updates),
    GPO_FIELD(gpo_template_statistics, rebuilds),
    GPO_FIELD(gpo_template_statistics, instance_bytes),
    GPO_FIELD(gpo_template_statistics, waiting_frees),
    GPO_FIELD(gpo_template_statistics, last_rebuild),
    GPO_FIELD(gpo_template_statistics, held_words),
    GPO_FIELD(gpo_template_statistics, waiting_for_words),
    GPO_FIELD(gpo_template_statistics, dropped),
    GPO_FIELD(gpo_template_statistics, last_dropped),
};

template <>
inline constexpr StructField kStructFields<gpo_graph_options>[] = {
    GPO_FIELD(gpo_graph_options, struct_size),
    GPO_FIELD(gpo_graph_options, flags),
    GPO_FIELD(gpo_graph_options, label),
};

template <>
inline constexpr StructField kStructFields<gpo_setting>[] = {
    GPO_FIELD(gpo_setting, struct_size),
    GPO_FIELD(gpo_setting, parameter),
    GPO_FIELD(gpo_setting, name),
    GPO_FIELD(gpo_setting, value),
    GPO_FIELD(gpo_setting, bytes),
};

template <>
inline constexpr StructField kStructFields<gpo_graph_update_report>[] = {
    GPO_FIELD(gpo_graph_update_report, struct_size),
    GPO_FIELD(gpo_graph_update_report, rebuilt),
    GPO_FIELD(gpo_graph_update_report, node),
    GPO_FIELD(gpo_graph_update_report, reserved),
    GPO_FIELD(gpo_graph_update_report, reason),
    GPO_FIELD(gpo_graph_update_report, dropped),
    GPO_FIELD(gpo_graph_update_report, dropped_parameter),
    GPO_FIELD(gpo_graph_update_report, dropped_reason),
};

template <>
inline constexpr StructField kStructFields<gpo_timeline_options>[] = {
    GPO_FIELD(gpo_timeline_options, struct_size),
    GPO_FIELD(gpo_timeline_options, flags),
    GPO_FIELD(gpo_timeline_options, value),
    GPO_FIELD(gpo_timeline_options, label),
};

template <>
inline constexpr StructField kStructFields<gpo_trace_options>[] = {
    GPO_FIELD(gpo_trace_options, struct_size),
    GPO_FIELD(gpo_trace_options, flags),
    GPO_FIELD(gpo_trace_options, path),
    GPO_FIELD(gpo_trace_options, picture),
    GPO_FIELD(gpo_trace_options, title),
};

template <>
inline constexpr StructField kStructFields<gpo_trace_info>[] = {
    GPO_FIELD(gpo_trace_info, struct_size),
    GPO_FIELD(gpo_trace_info, running),
    GPO_FIELD(gpo_trace_info, file_status),
    GPO_FIELD(gpo_trace_info, reserved),
    GPO_FIELD(gpo_trace_info, calls),
    GPO_FIELD(gpo_trace_info, operations),
    GPO_FIELD(gpo_trace_info, timed),
    GPO_FIELD(gpo_trace_info, completions),
    GPO_FIELD(gpo_trace_info, dropped),
    GPO_FIELD(gpo_trace_info, file_bytes),
    GPO_FIELD(gpo_trace_info, call_cost_ns),
    GPO_FIELD(gpo_trace_info, operation_cost_ns),
    GPO_FIELD(gpo_trace_info, clock_error_ns),
    GPO_FIELD(gpo_trace_info, callbacks),
};

#undef GPO_FIELD

}  // namespace gpo
