// Made from libgpuorch/abi.json by bindings/rust/generate/generate_safe.py.
structs! {
    gpo_admission_options, gpo_admission_request, gpo_admission_info, gpo_costs, gpo_workload, gpo_diagnosis,
    gpo_advice, gpo_batch_request, gpo_batch, gpo_batcher_options, gpo_batcher_key_options, gpo_batcher_request,
    gpo_batcher_info, gpo_batcher_flow_info, gpo_bucket_work, gpo_memory_range, gpo_buckets_options,
    gpo_buckets_statistics, gpo_cq_options, gpo_completion, gpo_cq_statistics, gpo_device_properties,
    gpo_peer_properties, gpo_device_options, gpo_event_options, gpo_executor_options, gpo_executor_statistics,
    gpo_host_call, gpo_memory_statistics, gpo_arena_options, gpo_memory_info, gpo_pool_options, gpo_copy, gpo_copy_2d,
    gpo_metrics, gpo_device_metrics, gpo_compile_options, gpo_kernel_attributes, gpo_launch, gpo_peers_options,
    gpo_peers_info, gpo_join_options, gpo_collective, gpo_rank_part, gpo_chunk, gpo_source, gpo_stage_argument,
    gpo_stage, gpo_sink, gpo_pipeline_progress, gpo_pipeline_options, gpo_pipeline_result, gpo_pipeline_share,
    gpo_queue_options, gpo_tenant_options, gpo_answer, gpo_queue_info, gpo_runtime_options, gpo_driver_info,
    gpo_statistics, gpo_handler, gpo_scheduler_options, gpo_scheduler_info, gpo_handler_info, gpo_scheduler_block,
    gpo_depth_sample, gpo_task_error, gpo_error, gpo_stream_options, gpo_stream_info, gpo_stream_pool_options,
    gpo_symmetric_options, gpo_symmetric_info, gpo_rank_launch, gpo_template_options, gpo_condition,
    gpo_template_statistics, gpo_graph_options, gpo_setting, gpo_graph_update_report, gpo_timeline_options,
    gpo_trace_options, gpo_trace_info,
}
