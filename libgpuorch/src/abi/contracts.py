"""What C's declarations don't say of parameters and fields: which pointers may be NULL, who gives back what comes out, and
what has to stay when the call has returned. A "*" stands for every function."""

# Pointers that may be NULL, by function and parameter. tests/abi calls with NULL in the place of each other one.
MAY_BE_NULL = {
    ("gpo_runtime_create", "options"), ("gpo_device_open", "options"), ("gpo_stream_create", "options"),
    ("gpo_stream_wrap", "options"), ("gpo_stream_pool_create", "options"), ("gpo_event_create", "options"),
    ("gpo_timeline_create", "options"), ("gpo_cq_create", "options"), ("gpo_executor_create", "options"), ("*", "user"),
    ("gpo_host_call_finish", "message"), ("gpo_executor_run", "count"), ("gpo_executor_run_for", "count"),
    ("gpo_executor_poll", "count"), ("gpo_arena_create", "options"),
    ("gpo_pool_create", "options"), ("gpo_object_set_label", "label"), ("*", "needed"), ("*", "buffer"),
    ("gpo_device_get_native", "context"), ("gpo_device_get_native", "ordinal"),
    ("gpo_timeline_fail", "message"), ("gpo_stream_cancel_held", "count"),
    ("gpo_stream_wrap", "native"), ("gpo_memory_allocate", "label"), ("gpo_module_load", "label"),
    ("gpo_memory_import", "label"), ("gpo_event_import", "label"),
    ("gpo_arena_free", "memory"), ("gpo_arena_free_after", "memory"), ("gpo_pipeline_wait", "result"),
    ("gpo_stream_launch_kernel", "sizes"), ("gpo_module_get_symbol", "address"), ("gpo_module_get_symbol", "bytes"),
    ("gpo_device_get_priority_range", "least"), ("gpo_device_get_priority_range", "greatest"),
    ("gpo_trace_start", "options"), ("gpo_kernel_suggest_shape", "threads"), ("gpo_kernel_suggest_shape", "blocks"),
    ("gpo_kernel_get_parameter", "offset"), ("gpo_kernel_get_parameter", "bytes"),
    ("gpo_template_create", "options"), ("gpo_template_import", "options"), ("*", "after"),
    ("gpo_template_add_kernel", "sizes"), ("gpo_template_add_child", "prefix"), ("gpo_template_get_parameter", "parameter"),
    ("gpo_template_get_parameter", "bytes"), ("gpo_template_launch", "settings"), ("gpo_graph_create", "options"),
    ("gpo_graph_set_all", "settings"), ("gpo_graph_update", "report"), ("gpo_buckets_launch", "settings"),
    ("gpo_buckets_launch", "shape"), ("gpo_queue_set_costs", "costs"), ("gpo_queue_take", "answers"),
    ("gpo_advise", "diagnosis"), ("gpo_advise_trace", "workload"), ("gpo_peers_create", "options"),
    ("gpo_peers_split", "options"), ("gpo_symmetric_allocate", "options"), ("gpo_admission_create", "options"),
    ("gpo_admission_enter", "request"), ("gpo_admission_enter_then", "request"),
    ("gpo_executor_post_at", "ticket"), ("gpo_batcher_submit", "wait_ns"), ("gpo_batcher_submit_then", "wait_ns"),
} | {(f"gpo_template_add_{kind}", "node") for kind in
     ("kernel", "copy", "fill", "empty", "event_record", "event_wait", "host_call", "child", "if", "while",
      "switch", "allocation", "free")} | {("gpo_template_add_if", "otherwise"), ("gpo_graph_get_loop", "iterations"),
                    ("gpo_graph_get_loop", "limited")}

# Handles that may be NULL, besides those of functions that end a handle (`ends`).
NO_HANDLE = {("gpo_runtime_set_log_executor", "executor"), ("gpo_advise", "device")}

# Any type of handle.
ANY_HANDLE = {("gpo_object_get_error", "object"), ("gpo_object_set_label", "object"),
              ("gpo_object_get_label", "object")}

# Functions that give back the result of a parameter. A handle not named here is destroyed by gpo_<type>_destroy.
RELEASED_BY = {
    ("gpo_runtime_create", "runtime"): ["gpo_runtime_shutdown"],
    ("gpo_device_open", "device"): ["gpo_device_close"],
    ("gpo_stream_pool_acquire", "stream"): ["gpo_stream_pool_release"],
    ("gpo_arena_allocate", "memory"): ["gpo_arena_free", "gpo_arena_free_after"],
    ("gpo_memory_allocate", "address"): ["gpo_memory_free"],
    ("gpo_memory_import", "address"): ["gpo_memory_free"],
    ("gpo_pool_allocate", "address"): ["gpo_pool_free"],
    ("gpo_cq_get_fd", "descriptor"): ["close"],
}

# Results that stay the library's: valid as long as the handle from which they were asked.
LIBRARYS = {
    ("gpo_device_get_native", "context"), ("gpo_event_get_native", "native"), ("gpo_stream_get_native", "native"),
    ("gpo_kernel_get_native", "function"), ("gpo_module_get_symbol", "address"),
    ("gpo_template_get_native", "native"), ("gpo_graph_get_native", "native"), ("gpo_template_allocate", "address"),
    ("gpo_template_allocate_host", "memory"), ("gpo_template_add_allocation", "address"),
    ("gpo_symmetric_get_address", "address"),
}

# Things that have to stay when the call has returned, and until when; for structs by their name and the field. All other
# memory may be freed.
STAYS = {
    ("gpo_copy_to_device", "source"): "the stream has got past the copy",
    ("gpo_copy_to_host", "destination"): "the stream has got past the copy",
    ("gpo_copy", "destination"): "the stream has got past the copy",
    ("gpo_copy", "source"): "the stream has got past the copy",
    ("gpo_copy_2d", "destination"): "the stream has got past the copy",
    ("gpo_copy_2d", "source"): "the stream has got past the copy",
    ("gpo_host_register", "memory"): "gpo_host_unregister",
    ("gpo_template_add_host_call", "function"): "the template and its graphs are destroyed and done",
    ("gpo_template_add_host_call", "user"): "the template and its graphs are destroyed and done",
    ("gpo_stream_wrap", "native"): "the last work of the handle is done",
    ("gpo_stream_then", "callback"): "it has been called", ("gpo_stream_then", "user"): "the callback has returned",
    ("gpo_event_then", "callback"): "it has been called", ("gpo_event_then", "user"): "the callback has returned",
    ("gpo_timeline_then", "callback"): "it has been called", ("gpo_timeline_then", "user"): "the callback has returned",
    ("gpo_pipeline_then", "callback"): "it has been called", ("gpo_pipeline_then", "user"): "the callback has returned",
    ("gpo_executor_post", "callback"): "it has been called", ("gpo_executor_post", "user"): "the callback has returned",
    ("gpo_executor_post_at", "callback"): "it has been called",
    ("gpo_executor_post_at", "user"): "the callback has returned",
    ("gpo_admission_enter_then", "callback"): "it has been called",
    ("gpo_admission_enter_then", "user"): "the callback has returned",
    ("gpo_batcher_submit_then", "callback"): "it has been called",
    ("gpo_batcher_submit_then", "user"): "the callback has returned",
    ("gpo_batcher_key_options", "work"): "the batcher is destroyed and its requests have ended",
    ("gpo_batcher_key_options", "release"): "it has been called",
    ("gpo_batcher_key_options", "user"): "the batcher is destroyed and its requests have ended",
    ("gpo_batcher_request", "input"): "the request has ended", ("gpo_batcher_request", "output"): "the request has ended",
    ("gpo_batcher_request", "output_made"): "the request has ended",
    ("gpo_stream_host_call", "function"): "it has been called",
    ("gpo_stream_host_call", "user"): "the function has returned",
    ("gpo_runtime_options", "log"): "the runtime is shut down", ("gpo_runtime_options", "log_user"): "the runtime is shut down",
    ("gpo_device_options", "native_context"): "all that was opened from the device is destroyed and its work is done",
    ("gpo_source", "memory"): "the run has ended", ("gpo_source", "fill"): "the run has ended",
    ("gpo_source", "user"): "the run has ended", ("gpo_source", "descriptor"): "the run has ended",
    ("gpo_sink", "memory"): "the run has ended", ("gpo_sink", "take"): "the run has ended",
    ("gpo_sink", "user"): "the run has ended", ("gpo_sink", "descriptor"): "the run has ended",
    ("gpo_stage", "enqueue"): "the pipeline is destroyed", ("gpo_stage", "user"): "the pipeline is destroyed",
    ("gpo_pipeline_options", "progress"): "the pipeline is destroyed",
    ("gpo_pipeline_options", "progress_user"): "the pipeline is destroyed",
    ("gpo_buckets_options", "record"): "the buckets are destroyed",
    ("gpo_buckets_options", "pad"): "the buckets are destroyed",
    ("gpo_buckets_options", "user"): "the buckets are destroyed",
}

# How long callbacks are called, by function and parameter, or struct and field. "once": never again after the first call. A
# list: any number of times, until one of these functions was called for the callback's object and the object's work is done.
# If the last call can't be known otherwise, the list names the runtime's shutdown.
CALLED = {
    ("gpo_stream_then", "callback"): "once", ("gpo_event_then", "callback"): "once",
    ("gpo_timeline_then", "callback"): "once", ("gpo_pipeline_then", "callback"): "once",
    ("gpo_executor_post", "callback"): "once", ("gpo_executor_post_at", "callback"): "once",
    ("gpo_admission_enter_then", "callback"): "once", ("gpo_batcher_submit_then", "callback"): "once",
    ("gpo_batcher_key_options", "work"): ["gpo_runtime_shutdown"],
    ("gpo_batcher_key_options", "release"): ["gpo_runtime_shutdown"],
    ("gpo_stream_host_call", "function"): "once",
    ("gpo_template_add_host_call", "function"): ["gpo_runtime_shutdown"],
    ("gpo_runtime_options", "log"): ["gpo_runtime_shutdown"],
    ("gpo_source", "fill"): ["gpo_pipeline_wait", "gpo_pipeline_destroy"],
    ("gpo_sink", "take"): ["gpo_pipeline_wait", "gpo_pipeline_destroy"],
    ("gpo_stage", "enqueue"): ["gpo_pipeline_destroy"], ("gpo_pipeline_options", "progress"): ["gpo_pipeline_destroy"],
    ("gpo_buckets_options", "record"): ["gpo_buckets_destroy"], ("gpo_buckets_options", "pad"): ["gpo_buckets_destroy"],
}

# Functions that work inside a host node (gpo_host_node_fn): all that return a status and need no driver.
IN_HOST_NODES = {
    "gpo_last_error", "gpo_object_get_error", "gpo_object_set_label", "gpo_object_get_label", "gpo_cq_drain", "gpo_cq_wake",
    "gpo_executor_post", "gpo_executor_post_at", "gpo_executor_cancel", "gpo_executor_get_time",
    "gpo_cq_get_fd", "gpo_cq_get_error", "gpo_cq_get_statistics", "gpo_timeline_signal", "gpo_timeline_fail",
    "gpo_timeline_get_value", "gpo_host_call_finish",
}

# Memory that the call writes, if the type doesn't show that, or if it isn't a struct whose size must be set before.
WRITTEN = {("*", "buffer"), ("gpo_advise", "advice"), ("gpo_copy_to_host", "destination"), ("gpo_cq_drain", "entries"),
           ("gpo_graph_get", "value"),
           ("gpo_queue_take", "entries"), ("gpo_queue_take", "answers"), ("gpo_scheduler_get_blocks", "blocks"),
           ("gpo_scheduler_get_samples", "samples"), ("gpo_scheduler_get_errors", "errors"),
           ("gpo_template_add_switch", "bodies")}

# How much memory a pointer leads to: the parameter with the number, or the field of the same struct, and its unit.
LENGTH = {
    ("*", "buffer"): ("capacity", "bytes"), ("gpo_advise", "advice"): ("capacity", "structs"), ("gpo_cq_drain", "entries"): ("capacity", "structs"),
    ("gpo_copy_batch", "copies"): ("count", "structs"),
    ("gpo_stream_launch_kernel", "arguments"): ("count", "pointers"),
    ("gpo_stream_launch_kernel", "sizes"): ("count", "numbers"), ("gpo_copy_to_device", "source"): ("bytes", "bytes"),
    ("gpo_copy_to_host", "destination"): ("bytes", "bytes"), ("gpo_module_load", "image"): ("bytes", "bytes"),
    ("gpo_host_register", "memory"): ("bytes", "bytes"), ("*", "exported"): ("bytes", "bytes"), ("*", "after"): ("after_count", "numbers"),
    ("gpo_template_add_kernel", "arguments"): ("count", "pointers"),
    ("gpo_template_add_kernel", "sizes"): ("count", "numbers"), ("gpo_graph_set", "value"): ("bytes", "bytes"),
    ("gpo_graph_set_parameter", "value"): ("bytes", "bytes"), ("gpo_graph_get", "value"): ("bytes", "bytes"),
    ("*", "settings"): ("count", "structs"), ("gpo_queue_set_costs", "costs"): ("count", "numbers"),
    ("gpo_queue_take", "entries"): ("capacity", "structs"), ("gpo_scheduler_create", "handlers"): ("count", "structs"),
    ("gpo_scheduler_get_blocks", "blocks"): ("capacity", "structs"),
    ("gpo_scheduler_get_samples", "samples"): ("capacity", "structs"),
    ("gpo_scheduler_get_errors", "errors"): ("capacity", "structs"),
    ("gpo_template_add_switch", "bodies"): ("count", "pointers"), ("gpo_peers_create", "devices"): ("count", "pointers"),
    ("gpo_peers_split", "ranks"): ("count", "numbers"), ("gpo_peers_submit", "parts"): ("count", "structs"),
    ("gpo_peers_launch", "launches"): ("count", "structs"),
    ("gpo_workload", "task_costs"): ("cost_count", "numbers"), ("gpo_bucket_work", "settings"): ("setting_count", "structs"),
    ("gpo_buckets_options", "shapes"): ("shape_count", "numbers"),
    ("gpo_buckets_options", "restored"): ("restored_count", "structs"),
    ("gpo_batcher_options", "devices"): ("device_count", "pointers"),
    ("gpo_batcher_key_options", "buckets"): ("bucket_count", "pointers"), ("gpo_batch", "members"): ("requests", "structs"),
    ("gpo_compile_options", "options"): ("option_count", "pointers"),
    ("gpo_compile_options", "name_expressions"): ("name_expression_count", "pointers"),
    ("gpo_compile_options", "header_names"): ("header_count", "pointers"),
    ("gpo_compile_options", "header_texts"): ("header_count", "pointers"),
    ("gpo_source", "memory"): ("bytes", "bytes"), ("gpo_sink", "memory"): ("bytes", "bytes"),
    ("gpo_stage", "arguments"): ("argument_count", "structs"),
    ("gpo_pipeline_options", "stages"): ("stage_count", "structs"),
    ("gpo_pipeline_options", "devices"): ("device_count", "pointers"),
    ("gpo_handler", "graphs"): ("graph_count", "pointers"),
    ("gpo_scheduler_options", "compile_options"): ("compile_option_count", "pointers"),
    ("gpo_rank_launch", "arguments"): ("argument_count", "pointers"),
    ("gpo_rank_launch", "sizes"): ("argument_count", "numbers"), ("gpo_setting", "value"): ("bytes", "bytes"),
}


def of(table, function, parameter):
    """The table's entry for a parameter; for sets, whether it is there."""
    if isinstance(table, set):
        return (function, parameter) in table or ("*", parameter) in table
    return table.get((function, parameter), table.get(("*", parameter)))


def ends(function):
    """Whether it takes the last of its handle, so that NULL in its place succeeds."""
    return function.endswith("_destroy") or function in ("gpo_runtime_shutdown", "gpo_device_close")
