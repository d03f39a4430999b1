/* records.h: the tables of records.c. Words are named after the first constant of their group. An
 * array of words begins with the word for 0, or with that constant's.
 * Made from abi.json by generator/generate.py. */
#ifndef GPUORCH_LUA_RECORDS_H
#define GPUORCH_LUA_RECORDS_H

extern const char *const words_of_GPO_ORDER_GRID[];
extern const char *const words_of_GPO_BOUND_LAUNCH[];
extern const char *const words_of_GPO_FORM_LEAVE[];
extern const char *const words_of_GPO_ORIGIN_STREAM[];
extern const char *const words_of_GPO_MEMORY_PAGEABLE[];
extern const char *const words_of_GPO_ENGINE_DIRECT_to_HOST[];
extern const char *const words_of_GPO_JOIN_MPI[];
extern const char *const words_of_GPO_TYPE_INT8[];
extern const char *const words_of_GPO_REDUCE_SUM[];
extern const char *const words_of_GPO_QUEUE_RANGE[];
extern const char *const words_of_GPO_QUEUE_OPEN[];
extern const char *const words_of_GPO_LOG_ERROR[];
extern const char *const words_of_GPO_COMPLETION_BALANCED[];
extern const char *const words_of_GPO_SCHEDULER_RESIDENT[];
extern const char *const words_of_GPO_WORKER_THREAD[];
extern const char *const words_of_GPO_SCHEDULER_READY[];
extern const char *const words_of_GPO_NATIVE_NONE[];
extern const char *const words_of_GPO_ENGINE_DIRECT_to_NVSHMEM[];
extern const char *const words_of_GPO_COMPARE_KERNEL[];
extern const char *const words_of_GPO_LIMIT_STACK_BYTES[];
extern const char *const words_of_GPO_PARAMETER_ARGUMENT[];
extern const char *const words_of_GPO_PICTURE_DOT[];
extern const char *const words_of_GPO_ARGUMENT_VALUE[];

extern const field gpo_costs_fields[];
extern const field gpo_workload_fields[];
extern const field gpo_diagnosis_fields[];
extern const field gpo_advice_fields[];
extern const field gpo_buckets_options_fields[];
extern const field gpo_buckets_statistics_fields[];
extern const field gpo_cq_options_fields[];
extern const field gpo_completion_fields[];
extern const field gpo_cq_statistics_fields[];
extern const field gpo_device_properties_fields[];
extern const field gpo_peer_properties_fields[];
extern const field gpo_device_options_fields[];
extern const field gpo_event_options_fields[];
extern const field gpo_executor_options_fields[];
extern const field gpo_executor_statistics_fields[];
extern const field gpo_memory_statistics_fields[];
extern const field gpo_arena_options_fields[];
extern const field gpo_memory_info_fields[];
extern const field gpo_pool_options_fields[];
extern const field gpo_copy_fields[];
extern const field gpo_copy_2d_fields[];
extern const field gpo_metrics_fields[];
extern const field gpo_device_metrics_fields[];
extern const field gpo_compile_options_fields[];
extern const field gpo_kernel_attributes_fields[];
extern const field gpo_launch_fields[];
extern const field gpo_peers_options_fields[];
extern const field gpo_peers_info_fields[];
extern const field gpo_join_options_fields[];
extern const field gpo_collective_fields[];
extern const field gpo_rank_part_fields[];
extern const field gpo_chunk_fields[];
extern const field gpo_source_fields[];
extern const field gpo_stage_fields[];
extern const field gpo_sink_fields[];
extern const field gpo_pipeline_progress_fields[];
extern const field gpo_pipeline_options_fields[];
extern const field gpo_pipeline_result_fields[];
extern const field gpo_pipeline_share_fields[];
extern const field gpo_queue_options_fields[];
extern const field gpo_tenant_options_fields[];
extern const field gpo_queue_info_fields[];
extern const field gpo_runtime_options_fields[];
extern const field gpo_driver_info_fields[];
extern const field gpo_statistics_fields[];
extern const field gpo_handler_fields[];
extern const field gpo_scheduler_options_fields[];
extern const field gpo_scheduler_info_fields[];
extern const field gpo_handler_info_fields[];
extern const field gpo_scheduler_block_fields[];
extern const field gpo_depth_sample_fields[];
extern const field gpo_task_error_fields[];
extern const field gpo_error_fields[];
extern const field gpo_stream_options_fields[];
extern const field gpo_stream_info_fields[];
extern const field gpo_stream_pool_options_fields[];
extern const field gpo_symmetric_options_fields[];
extern const field gpo_symmetric_info_fields[];
extern const field gpo_rank_launch_fields[];
extern const field gpo_template_options_fields[];
extern const field gpo_condition_fields[];
extern const field gpo_template_statistics_fields[];
extern const field gpo_graph_options_fields[];
extern const field gpo_graph_update_report_fields[];
extern const field gpo_timeline_options_fields[];
extern const field gpo_trace_options_fields[];
extern const field gpo_trace_info_fields[];

#endif
