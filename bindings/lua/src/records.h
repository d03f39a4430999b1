/* records.h: the fields of structs that the library fills. Made from abi.json by generate_records.py. A macro's
 * parameters are the words for the numbers of a field. */
#ifndef GPUORCH_LUA_RECORDS_H
#define GPUORCH_LUA_RECORDS_H

#define FIELDS_OF_gpo_admission_info \
    FIELD(gpo_admission_info, paused, BOOL), \
    FIELD(gpo_admission_info, count, U64), \
    FIELD(gpo_admission_info, bytes, U64), \
    FIELD(gpo_admission_info, held, U64), \
    FIELD(gpo_admission_info, held_count, U64), \
    FIELD(gpo_admission_info, held_bytes, U64), \
    FIELD(gpo_admission_info, waiting, U64), \
    FIELD(gpo_admission_info, waiting_bytes, U64), \
    FIELD(gpo_admission_info, waiting_flows, U64), \
    FIELD(gpo_admission_info, admitted, U64), \
    FIELD(gpo_admission_info, refused, U64), \
    FIELD(gpo_admission_info, too_large, U64), \
    FIELD(gpo_admission_info, expired, U64), \
    FIELD(gpo_admission_info, cancelled, U64), \
    FIELD(gpo_admission_info, wait_ns, U64), \
    FIELD(gpo_admission_info, longest_wait_ns, U64)

#define FIELDS_OF_gpo_costs \
    FIELD(gpo_costs, measured, BOOL), \
    FIELD(gpo_costs, launch_ns, U64), \
    FIELD(gpo_costs, wait_ns, U64), \
    FIELD(gpo_costs, decision_ns, U64), \
    FIELD(gpo_costs, graph_launch_ns, U64), \
    FIELD(gpo_costs, graph_node_ns, U64), \
    FIELD(gpo_costs, while_turn_ns, U64), \
    FIELD(gpo_costs, device_launch_ns, U64), \
    FIELD(gpo_costs, doorbell_ns, U64), \
    FIELD(gpo_costs, host_tasks_per_second, U64), \
    FIELD(gpo_costs, claims_per_second, U64), \
    FIELD(gpo_costs, ring_tasks_per_second, U64), \
    FIELD(gpo_costs, copy_ns, U64), \
    FIELD(gpo_costs, copy_in_rate, U64), \
    FIELD(gpo_costs, copy_out_rate, U64), \
    FIELD(gpo_costs, copy_both_rate, U64), \
    FIELD(gpo_costs, pageable_in_rate, U64), \
    FIELD(gpo_costs, pageable_out_rate, U64), \
    FIELD(gpo_costs, memory_rate, U64), \
    FIELD(gpo_costs, operation_rate, U64), \
    FIELD(gpo_costs, multiprocessors, U32)

#define FIELDS_OF_gpo_diagnosis(bound_words) \
    WORD(gpo_diagnosis, bound, bound_words), \
    FIELD(gpo_diagnosis, round_ns, U64), \
    FIELD(gpo_diagnosis, launch_ns, U64), \
    FIELD(gpo_diagnosis, kernel_ns, U64), \
    FIELD(gpo_diagnosis, copy_ns, U64), \
    FIELD(gpo_diagnosis, decision_ns, U64), \
    FIELD(gpo_diagnosis, idle_ns, U64), \
    FIELD(gpo_diagnosis, memory_ns, U64), \
    FIELD(gpo_diagnosis, operations_ns, U64), \
    FIELD(gpo_diagnosis, intensity, U64), \
    FIELD(gpo_diagnosis, ridge, U64), \
    FIELD(gpo_diagnosis, roofline_share, U64), \
    FIELD(gpo_diagnosis, launch_share, U64)

#define FIELDS_OF_gpo_advice(form_words, bound_words, order_words) \
    WORD(gpo_advice, form, form_words), \
    WORD(gpo_advice, bound, bound_words), \
    FIELD(gpo_advice, streams, U32), \
    WORD(gpo_advice, order, order_words), \
    FIELD(gpo_advice, batch, U32), \
    FIELD(gpo_advice, gain_low, U32), \
    FIELD(gpo_advice, gain_high, U32), \
    FIELD(gpo_advice, round_ns, U64), \
    FIELD(gpo_advice, host_calls, U64), \
    FIELD(gpo_advice, reason, CHARS)

#define FIELDS_OF_gpo_buckets_statistics \
    FIELD(gpo_buckets_statistics, buckets, U32), \
    FIELD(gpo_buckets_statistics, bytes, U64), \
    FIELD(gpo_buckets_statistics, hits, U64), \
    FIELD(gpo_buckets_statistics, misses, U64), \
    FIELD(gpo_buckets_statistics, eager, U64), \
    FIELD(gpo_buckets_statistics, evictions, U64), \
    FIELD(gpo_buckets_statistics, requested, U64), \
    FIELD(gpo_buckets_statistics, padded, U64), \
    FIELD(gpo_buckets_statistics, failures, U64), \
    FIELD(gpo_buckets_statistics, fallbacks, U64), \
    FIELD(gpo_buckets_statistics, last_failure, CHARS)

#define FIELDS_OF_gpo_completion(origin_words) \
    FIELD(gpo_completion, status, STATUS), \
    FIELD(gpo_completion, user_data, U64), \
    WORD(gpo_completion, origin, origin_words), \
    FIELD(gpo_completion, operation, U64), \
    FIELD(gpo_completion, submitted_ns, U64), \
    FIELD(gpo_completion, completed_ns, U64), \
    FIELD(gpo_completion, gpu_ns, I64), \
    FIELD(gpo_completion, error_id, U64)

#define FIELDS_OF_gpo_cq_statistics \
    FIELD(gpo_cq_statistics, capacity, U32), \
    FIELD(gpo_cq_statistics, accepted, U64), \
    FIELD(gpo_cq_statistics, delivered, U64), \
    FIELD(gpo_cq_statistics, drained, U64), \
    FIELD(gpo_cq_statistics, refused, U64)

#define FIELDS_OF_gpo_device_properties \
    FIELD(gpo_device_properties, native_ordinal, I32), \
    FIELD(gpo_device_properties, name, CHARS), \
    FIELD(gpo_device_properties, uuid, BYTES), \
    FIELD(gpo_device_properties, pci_address, CHARS), \
    FIELD(gpo_device_properties, numa_node, I32), \
    FIELD(gpo_device_properties, compute_capability_major, I32), \
    FIELD(gpo_device_properties, compute_capability_minor, I32), \
    FIELD(gpo_device_properties, multiprocessors, I32), \
    FIELD(gpo_device_properties, copy_engines, I32), \
    FIELD(gpo_device_properties, warp_size, I32), \
    FIELD(gpo_device_properties, max_threads_per_block, I32), \
    FIELD(gpo_device_properties, max_threads_per_multiprocessor, I32), \
    FIELD(gpo_device_properties, clock_khz, I32), \
    FIELD(gpo_device_properties, memory_clock_khz, I32), \
    FIELD(gpo_device_properties, memory_bus_bits, I32), \
    FIELD(gpo_device_properties, l2_bytes, I32), \
    FIELD(gpo_device_properties, software, BOOL), \
    FIELD(gpo_device_properties, memory_bytes, U64), \
    FIELD(gpo_device_properties, shared_bytes_per_block, U64), \
    FIELD(gpo_device_properties, shared_bytes_per_block_max, U64), \
    FIELD(gpo_device_properties, shared_bytes_per_multiprocessor, U64), \
    FIELD(gpo_device_properties, max_block, THREE), \
    FIELD(gpo_device_properties, max_grid, THREE), \
    FIELD(gpo_device_properties, cooperative_launch, BOOL), \
    FIELD(gpo_device_properties, cluster_launch, BOOL), \
    FIELD(gpo_device_properties, memory_pools, BOOL), \
    FIELD(gpo_device_properties, batched_copies, BOOL)

#define FIELDS_OF_gpo_peer_properties \
    FIELD(gpo_peer_properties, accessible, BOOL), \
    FIELD(gpo_peer_properties, native_atomics, BOOL), \
    FIELD(gpo_peer_properties, performance_rank, I32)

#define FIELDS_OF_gpo_executor_statistics \
    FIELD(gpo_executor_statistics, threads, U32), \
    FIELD(gpo_executor_statistics, accepted, U64), \
    FIELD(gpo_executor_statistics, called, U64), \
    FIELD(gpo_executor_statistics, cancelled, U64), \
    FIELD(gpo_executor_statistics, threw, U64), \
    FIELD(gpo_executor_statistics, refused, U64), \
    FIELD(gpo_executor_statistics, pending, U64)

#define FIELDS_OF_gpo_memory_statistics \
    FIELD(gpo_memory_statistics, slabs, U32), \
    FIELD(gpo_memory_statistics, in_use, U64), \
    FIELD(gpo_memory_statistics, reserved, U64), \
    FIELD(gpo_memory_statistics, peak_in_use, U64), \
    FIELD(gpo_memory_statistics, peak_reserved, U64), \
    FIELD(gpo_memory_statistics, waiting, U64), \
    FIELD(gpo_memory_statistics, allocations, U64), \
    FIELD(gpo_memory_statistics, frees, U64), \
    FIELD(gpo_memory_statistics, driver_calls, U64)

#define FIELDS_OF_gpo_memory_info(kind_words) \
    WORD(gpo_memory_info, kind, kind_words), \
    FIELD(gpo_memory_info, device_ordinal, I32), \
    FIELD(gpo_memory_info, start, U64), \
    FIELD(gpo_memory_info, bytes, U64)

#define FIELDS_OF_gpo_metrics \
    FIELD(gpo_metrics, devices, U32), \
    FIELD(gpo_metrics, streams, U64), \
    FIELD(gpo_metrics, operations_pending, U64), \
    FIELD(gpo_metrics, operations_held, U64), \
    FIELD(gpo_metrics, completions_pending, U64), \
    FIELD(gpo_metrics, notifies_refused, U64), \
    FIELD(gpo_metrics, arena_in_use, U64), \
    FIELD(gpo_metrics, arena_reserved, U64), \
    FIELD(gpo_metrics, arena_peak, U64), \
    FIELD(gpo_metrics, pool_in_use, U64), \
    FIELD(gpo_metrics, pool_reserved, U64), \
    FIELD(gpo_metrics, pool_peak, U64), \
    FIELD(gpo_metrics, latency_count, U64), \
    FIELD(gpo_metrics, latency_sum, U64), \
    FIELD(gpo_metrics, latencies, U64S), \
    FIELD(gpo_metrics, errors, U64S), \
    FIELD(gpo_metrics, executors, U64), \
    FIELD(gpo_metrics, executor_threads, U64), \
    FIELD(gpo_metrics, callbacks, U64), \
    FIELD(gpo_metrics, callbacks_pending, U64), \
    FIELD(gpo_metrics, pipeline_pinned, U64)

#define FIELDS_OF_gpo_device_metrics \
    FIELD(gpo_device_metrics, memory_total, I64), \
    FIELD(gpo_device_metrics, memory_used, I64), \
    FIELD(gpo_device_metrics, utilization, I64), \
    FIELD(gpo_device_metrics, memory_utilization, I64), \
    FIELD(gpo_device_metrics, power, I64), \
    FIELD(gpo_device_metrics, energy, I64), \
    FIELD(gpo_device_metrics, temperature, I64), \
    FIELD(gpo_device_metrics, sm_clock, I64), \
    FIELD(gpo_device_metrics, memory_clock, I64), \
    FIELD(gpo_device_metrics, pcie_sent, I64), \
    FIELD(gpo_device_metrics, pcie_received, I64), \
    FIELD(gpo_device_metrics, reason, CHARS)

#define FIELDS_OF_gpo_kernel_attributes \
    FIELD(gpo_kernel_attributes, max_threads_per_block, U32), \
    FIELD(gpo_kernel_attributes, registers_per_thread, U32), \
    FIELD(gpo_kernel_attributes, parameter_count, U32), \
    FIELD(gpo_kernel_attributes, static_shared_bytes, U64), \
    FIELD(gpo_kernel_attributes, constant_bytes, U64), \
    FIELD(gpo_kernel_attributes, local_bytes_per_thread, U64), \
    FIELD(gpo_kernel_attributes, parameter_bytes, U64), \
    FIELD(gpo_kernel_attributes, max_dynamic_shared_bytes, U64), \
    FIELD(gpo_kernel_attributes, ptx_version, I32), \
    FIELD(gpo_kernel_attributes, binary_version, I32)

#define FIELDS_OF_gpo_peers_info \
    FIELD(gpo_peers_info, ranks, U32), \
    FIELD(gpo_peers_info, direct, BOOL), \
    FIELD(gpo_peers_info, native_atomics, BOOL), \
    FIELD(gpo_peers_info, nccl_version, U32), \
    FIELD(gpo_peers_info, rank, U32), \
    FIELD(gpo_peers_info, local_ranks, U32), \
    FIELD(gpo_peers_info, collectives, U64), \
    FIELD(gpo_peers_info, direct_collectives, U64), \
    FIELD(gpo_peers_info, bytes, U64), \
    FIELD(gpo_peers_info, mpi_device, BOOL)

#define FIELDS_OF_gpo_pipeline_progress \
    FIELD(gpo_pipeline_progress, running, BOOL), \
    FIELD(gpo_pipeline_progress, bytes_in, U64), \
    FIELD(gpo_pipeline_progress, bytes_done, U64), \
    FIELD(gpo_pipeline_progress, bytes_total, U64), \
    FIELD(gpo_pipeline_progress, chunks_done, U64), \
    FIELD(gpo_pipeline_progress, elapsed_ns, U64)

#define FIELDS_OF_gpo_pipeline_result \
    FIELD(gpo_pipeline_result, status, STATUS), \
    FIELD(gpo_pipeline_result, bytes_in, U64), \
    FIELD(gpo_pipeline_result, bytes_out, U64), \
    FIELD(gpo_pipeline_result, chunks, U64), \
    FIELD(gpo_pipeline_result, elapsed_ns, U64), \
    FIELD(gpo_pipeline_result, chunk_bytes, U64), \
    FIELD(gpo_pipeline_result, slots, U32), \
    FIELD(gpo_pipeline_result, tuned, BOOL), \
    FIELD(gpo_pipeline_result, copy_in_ns, U64), \
    FIELD(gpo_pipeline_result, copy_out_ns, U64), \
    FIELD(gpo_pipeline_result, kernel_ns, U64), \
    FIELD(gpo_pipeline_result, copy_hidden_ns, U64), \
    FIELD(gpo_pipeline_result, staged_bytes, U64)

#define FIELDS_OF_gpo_pipeline_share \
    FIELD(gpo_pipeline_share, chunks, U64), \
    FIELD(gpo_pipeline_share, bytes_in, U64), \
    FIELD(gpo_pipeline_share, copy_in_ns, U64), \
    FIELD(gpo_pipeline_share, copy_out_ns, U64), \
    FIELD(gpo_pipeline_share, kernel_ns, U64), \
    FIELD(gpo_pipeline_share, copy_hidden_ns, U64)

#define FIELDS_OF_gpo_answer \
    FIELD(gpo_answer, status, STATUS), \
    FIELD(gpo_answer, user_data, U64)

#define FIELDS_OF_gpo_queue_info(kind_words, state_words) \
    WORD(gpo_queue_info, kind, kind_words), \
    WORD(gpo_queue_info, state, state_words), \
    FIELD(gpo_queue_info, task_size, U32), \
    FIELD(gpo_queue_info, capacity, U64), \
    FIELD(gpo_queue_info, depth, U64), \
    FIELD(gpo_queue_info, pushed, U64), \
    FIELD(gpo_queue_info, popped, U64), \
    FIELD(gpo_queue_info, done, U64), \
    FIELD(gpo_queue_info, refused, U64), \
    FIELD(gpo_queue_info, device_bytes, U64), \
    FIELD(gpo_queue_info, pinned_bytes, U64), \
    FIELD(gpo_queue_info, posted, U64), \
    FIELD(gpo_queue_info, answered, U64), \
    FIELD(gpo_queue_info, unanswered, U64), \
    FIELD(gpo_queue_info, answer_size, U32), \
    FIELD(gpo_queue_info, tenants, U32)

#define FIELDS_OF_gpo_driver_info \
    FIELD(gpo_driver_info, version, I32), \
    FIELD(gpo_driver_info, software, BOOL), \
    FIELD(gpo_driver_info, device_count, U32), \
    FIELD(gpo_driver_info, name, CHARS), \
    FIELD(gpo_driver_info, reason, CHARS)

#define FIELDS_OF_gpo_statistics \
    FIELD(gpo_statistics, live_objects, U32), \
    FIELD(gpo_statistics, launches, U64), \
    FIELD(gpo_statistics, copies, U64), \
    FIELD(gpo_statistics, copied_bytes, U64), \
    FIELD(gpo_statistics, fills, U64), \
    FIELD(gpo_statistics, notifies, U64), \
    FIELD(gpo_statistics, completions, U64), \
    FIELD(gpo_statistics, failures, U64), \
    FIELD(gpo_statistics, holds, U64), \
    FIELD(gpo_statistics, device_allocations, U64), \
    FIELD(gpo_statistics, host_registrations, U64), \
    FIELD(gpo_statistics, pageable_copies, U64), \
    FIELD(gpo_statistics, pageable_bytes, U64), \
    FIELD(gpo_statistics, legacy_stream_uses, U64), \
    FIELD(gpo_statistics, module_loads, U64), \
    FIELD(gpo_statistics, put_off, U64)

#define FIELDS_OF_gpo_scheduler_info(form_words, state_words) \
    WORD(gpo_scheduler_info, form, form_words), \
    WORD(gpo_scheduler_info, state, state_words), \
    FIELD(gpo_scheduler_info, last_end, STATUS), \
    FIELD(gpo_scheduler_info, runs, U64), \
    FIELD(gpo_scheduler_info, tasks, U64), \
    FIELD(gpo_scheduler_info, errors, U64), \
    FIELD(gpo_scheduler_info, refused_pushes, U64), \
    FIELD(gpo_scheduler_info, depth, U64), \
    FIELD(gpo_scheduler_info, steps, U64), \
    FIELD(gpo_scheduler_info, empty_polls, U64), \
    FIELD(gpo_scheduler_info, busy_ns, U64), \
    FIELD(gpo_scheduler_info, worker_ns, U64), \
    FIELD(gpo_scheduler_info, multiprocessors, U32), \
    FIELD(gpo_scheduler_info, blocks, U32), \
    FIELD(gpo_scheduler_info, workers, U32), \
    FIELD(gpo_scheduler_info, handlers, U32), \
    FIELD(gpo_scheduler_info, device_bytes, U64)

#define FIELDS_OF_gpo_handler_info \
    FIELD(gpo_handler_info, tasks, U64), \
    FIELD(gpo_handler_info, errors, U64), \
    FIELD(gpo_handler_info, busy_ns, U64)

#define FIELDS_OF_gpo_scheduler_block \
    FIELD(gpo_scheduler_block, multiprocessor, U32), \
    FIELD(gpo_scheduler_block, workers, U32), \
    FIELD(gpo_scheduler_block, tasks, U64), \
    FIELD(gpo_scheduler_block, empty_polls, U64), \
    FIELD(gpo_scheduler_block, busy_ns, U64), \
    FIELD(gpo_scheduler_block, worker_ns, U64)

#define FIELDS_OF_gpo_depth_sample \
    FIELD(gpo_depth_sample, run, U32), \
    FIELD(gpo_depth_sample, time_ns, U64), \
    FIELD(gpo_depth_sample, depth, U64)

#define FIELDS_OF_gpo_error(native_domain_words) \
    FIELD(gpo_error, status, STATUS), \
    FIELD(gpo_error, native_code, I32), \
    WORD(gpo_error, native_domain, native_domain_words), \
    FIELD(gpo_error, operation, U64), \
    FIELD(gpo_error, function, CHARS), \
    FIELD(gpo_error, object, CHARS), \
    FIELD(gpo_error, message, CHARS)

#define FIELDS_OF_gpo_symmetric_info \
    FIELD(gpo_symmetric_info, ranks, U32), \
    FIELD(gpo_symmetric_info, bytes, U64), \
    FIELD(gpo_symmetric_info, alignment, U64), \
    FIELD(gpo_symmetric_info, device_bytes, U64), \
    FIELD(gpo_symmetric_info, barrier_blocks, U32), \
    FIELD(gpo_symmetric_info, native_atomics, BOOL)

#define FIELDS_OF_gpo_template_statistics \
    FIELD(gpo_template_statistics, nodes, U32), \
    FIELD(gpo_template_statistics, parameters, U32), \
    FIELD(gpo_template_statistics, instances, U32), \
    FIELD(gpo_template_statistics, pooled, U32), \
    FIELD(gpo_template_statistics, recordings, U32), \
    FIELD(gpo_template_statistics, launches, U64), \
    FIELD(gpo_template_statistics, patches, U64), \
    FIELD(gpo_template_statistics, updates, U64), \
    FIELD(gpo_template_statistics, rebuilds, U64), \
    FIELD(gpo_template_statistics, instance_bytes, U64), \
    FIELD(gpo_template_statistics, waiting_frees, U64), \
    FIELD(gpo_template_statistics, last_rebuild, CHARS), \
    FIELD(gpo_template_statistics, held_words, U64), \
    FIELD(gpo_template_statistics, waiting_for_words, U64), \
    FIELD(gpo_template_statistics, dropped, U64), \
    FIELD(gpo_template_statistics, last_dropped, CHARS)

#define FIELDS_OF_gpo_graph_update_report \
    FIELD(gpo_graph_update_report, rebuilt, BOOL), \
    FIELD(gpo_graph_update_report, node, U32), \
    FIELD(gpo_graph_update_report, reason, CHARS), \
    FIELD(gpo_graph_update_report, dropped, U32), \
    FIELD(gpo_graph_update_report, dropped_parameter, CHARS), \
    FIELD(gpo_graph_update_report, dropped_reason, CHARS)

#define FIELDS_OF_gpo_trace_info \
    FIELD(gpo_trace_info, running, BOOL), \
    FIELD(gpo_trace_info, file_status, STATUS), \
    FIELD(gpo_trace_info, calls, U64), \
    FIELD(gpo_trace_info, operations, U64), \
    FIELD(gpo_trace_info, timed, U64), \
    FIELD(gpo_trace_info, completions, U64), \
    FIELD(gpo_trace_info, dropped, U64), \
    FIELD(gpo_trace_info, file_bytes, U64), \
    FIELD(gpo_trace_info, call_cost_ns, U64), \
    FIELD(gpo_trace_info, operation_cost_ns, U64), \
    FIELD(gpo_trace_info, clock_error_ns, U64), \
    FIELD(gpo_trace_info, callbacks, U64)

#endif
