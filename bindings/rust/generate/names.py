"""Where Rust's names differ from C's, and what isn't plain though it looks so."""

# The type of an object: its path in the crate, and its parameters. A method of a queue is one of each kind of queue.
OBJECTS = {
    "gpo_admission_t": [("Admission", "")], "gpo_batcher_t": [("batcher::Batcher", "")],
    "gpo_runtime_t": [("Runtime", "")], "gpo_device_t": [("Device", "")], "gpo_stream_t": [("Stream", "")],
    "gpo_stream_pool_t": [("StreamPool", "")], "gpo_event_t": [("Event", "")], "gpo_timeline_t": [("Timeline", "")],
    "gpo_cq_t": [("CompletionQueue", "")], "gpo_executor_t": [("Executor", "")], "gpo_arena_t": [("Arena", "")],
    "gpo_pool_t": [("Pool", "")], "gpo_module_t": [("Module", "")], "gpo_kernel_t": [("Kernel", "")],
    "gpo_pipeline_t": [("Pipeline", "")], "gpo_template_t": [("Template", "")], "gpo_graph_t": [("Graph", "")],
    "gpo_buckets_t": [("Buckets", "")], "gpo_scheduler_t": [("scheduler::Scheduler", "")],
    "gpo_peers_t": [("peers::Peers", "")], "gpo_symmetric_t": [("peers::Symmetric", "<T: bytemuck::Pod>")],
    "gpo_queue_t": [("queue::Range", ""), ("queue::Ring", "<T: crate::queue::Task>"),
                    ("queue::HostRing", "<T: crate::queue::Task, A: crate::queue::Answer>")],
}
# Names of methods. Other methods have the function's name without the object and `get`.
NAMES = {
    "gpo_event_query": "is_done", "gpo_kernel_suggest_shape": "suggest",
    "gpo_runtime_describe_peer": "describe_peers", "gpo_stream_notify": "notify", "gpo_stream_notify_timed": "notify_timed",
    "gpo_stream_query": "is_done", "gpo_trace_get_info": "trace_info", "gpo_trace_get_summary": "trace_summary",
    "gpo_trace_stop": "stop_trace",
}
# The kinds of queues that have a method, where not all have it.
KINDS_OF_QUEUES = {"gpo_queue_reset": ("queue::Range", "queue::Ring")}
# Functions that look plain, and for which the crate does more: it holds memory, counts uses, or gives other types.
FUNCTIONS_BY_HAND = {
    "gpo_arena_allocate", "gpo_buckets_prepare", "gpo_cq_get_fd", "gpo_device_get_priority_range", "gpo_event_export",
    "gpo_event_get_elapsed", "gpo_graph_get_device_handle", "gpo_graph_get_loop", "gpo_memory_allocate",
    "gpo_pipeline_get_share", "gpo_pipeline_wait", "gpo_pool_allocate", "gpo_queue_abort", "gpo_queue_close",
    "gpo_queue_get_device_handle", "gpo_queue_wait", "gpo_stream_pool_release", "gpo_symmetric_get_device_handle",
    "gpo_template_add_parameter", "gpo_template_allocate", "gpo_template_allocate_host", "gpo_template_begin",
    "gpo_template_bind_condition", "gpo_template_cancel", "gpo_template_end", "gpo_template_find_node",
    "gpo_template_get_last_node", "gpo_template_get_parameter", "gpo_template_set_last_node",
}
# The names of structs that the library fills, where they aren't C's.
FIGURES = {
    "gpo_cq_statistics": "QueueStatistics", "gpo_graph_update_report": "UpdateReport", "gpo_handler_info": "HandlerInfo",
    "gpo_pipeline_progress": "Progress", "gpo_pipeline_result": "RunSummary", "gpo_pipeline_share": "RunShare",
    "gpo_scheduler_block": "BlockInfo",
}
FIGURES_BY_HAND = {"gpo_answer", "gpo_completion", "gpo_error", "gpo_workload"}
# Structs whose fields are methods, with the names of methods that differ from the field's. None: the method is by hand.
OPAQUE = {"gpo_device_properties": {
    "software": "is_software", "compute_capability_major": None, "compute_capability_minor": None}}
KINDS = {"GPO_DRIVER_ERROR": "Driver", "GPO_IO_ERROR": "Io"}
# Enums: the beginning of their constants' names, the path in the crate, and the documentation.
ENUMS = {
    "GPO_BUCKET_": ("template::BucketPhase", "Why a closure of buckets is called."),
    "GPO_ENGINE_": ("peers::Engine", "The mechanism that exchanges the data of a group."),
    "GPO_LIMIT_": ("DeviceLimit", "A limit of a device's context."),
    "GPO_LOG_": ("LogLevel", "The level of a log line."),
    "GPO_PICTURE_": ("template::PictureFormat", "How a template is drawn."),
    "GPO_REDUCE_": ("peers::Reduction", "How the elements of the ranks are combined."),
}
ENUM_PARAMETERS = {"limit": "DeviceLimit", "format": "PictureFormat"}
# The builder of a struct of options.
BUILDERS = {
    "gpo_admission_options": "crate::AdmissionBuilder<'_>", "gpo_batcher_options": "crate::batcher::BatcherBuilder<'_>",
    "gpo_batcher_key_options": "<I: bytemuck::Pod, O: bytemuck::Pod> crate::batcher::KeyBuilder<'_, I, O>",
    "gpo_arena_options": "crate::ArenaBuilder<'_>", "gpo_buckets_options": "crate::template::BucketsBuilder<'_>",
    "gpo_compile_options": "crate::Compile<'_>", "gpo_device_options": "crate::DeviceBuilder<'_>",
    "gpo_event_options": "crate::EventBuilder<'_>", "gpo_executor_options": "crate::ExecutorBuilder<'_>",
    "gpo_graph_options": "crate::template::GraphBuilder<'_>", "gpo_join_options": "crate::peers::JoinBuilder<'_>",
    "gpo_launch": "crate::Launch<'_>", "gpo_peers_options": "crate::peers::PeersBuilder<'_>",
    "gpo_pipeline_options": "crate::pipeline::PipelineBuilder<'_>", "gpo_pool_options": "crate::PoolBuilder<'_>",
    "gpo_queue_options": "<Q> crate::queue::QueueBuilder<'_, Q>", "gpo_runtime_options": "crate::RuntimeBuilder",
    "gpo_scheduler_options": "<F> crate::scheduler::SchedulerBuilder<'_, F>",
    "gpo_stream_options": "crate::StreamBuilder<'_>",
    "gpo_stage": "crate::pipeline::Stage", "gpo_stream_pool_options": "crate::StreamPoolBuilder<'_>",
    "gpo_symmetric_options": "<T: bytemuck::Pod> crate::peers::SymmetricBuilder<'_, T>",
    "gpo_template_options": "crate::template::TemplateBuilder<'_>", "gpo_trace_options": "crate::Trace<'_>",
    "gpo_workload": "crate::advice::Workload<'_>",
}
# Structs of builders that copy: no text of their own, and times as numbers.
RAW = {"gpo_launch", "gpo_stage", "gpo_workload"}
# Fields and flags that only builders of some kind have.
FUNCTIONS = "<F: crate::scheduler::sealed::Functions> crate::scheduler::SchedulerBuilder<'_, F>"
RANGE, RING, HOST_RING = (f"{given} crate::queue::QueueBuilder<'_, {kind}>".strip() for given, kind in (
    ("", "crate::queue::Range"), ("<T: crate::queue::Task>", "crate::queue::Ring<T>"),
    ("<T: crate::queue::Task, A: crate::queue::Answer>", "crate::queue::HostRing<T, A>")))
ONLY = {
    ("gpo_scheduler_options", "batch"): ["<F: crate::scheduler::sealed::Turns> crate::scheduler::SchedulerBuilder<'_, F>"],
    **{("gpo_scheduler_options", field): [FUNCTIONS] for field in (
        "file_name", "threads", "blocks_per_multiprocessor", "multiprocessors", "leave_free", "dynamic_shared_bytes",
        "argument")},
    ("gpo_queue_options", "batch"): [RANGE], ("gpo_queue_options", "GPO_QUEUE_LATE_CLAIMS"): [RANGE],
    ("gpo_queue_options", "priorities"): [RING], ("gpo_queue_options", "GPO_QUEUE_TICKETS"): [RING],
    ("gpo_queue_options", "capacity"): [RING, HOST_RING], ("gpo_queue_options", "tenants"): [HOST_RING],
    ("gpo_queue_options", "GPO_QUEUE_NO_ANSWERS"): [
        "<T: crate::queue::Task> crate::queue::QueueBuilder<'_, crate::queue::HostRing<T, ()>>"],
}
# Functions that are no methods of an object.
LINKS = {"gpo_last_compile_log": "compile_log", "gpo_last_error": "Error::message"}
SETTERS = {
    "GPO_COMPILE_NO_CACHE": "uncached", "GPO_EXECUTOR_CALLER": "run_by_caller",
    "GPO_TRACE_NO_GPU_TIMES": "without_gpu_times",
}
# Fields and flags that look plain, and that the crate sets: by the types and arguments of other methods, or by an enum.
# Setters with a text of Rust's own, about ownership or closures, are here too.
SETTERS_BY_HAND = {
    "gpo_batcher_key_options": {"layout", "input_bytes", "output_bytes", "max_elements"},
    "gpo_buckets_options": {"pad_element_bytes", "GPO_BUCKETS_NO_WARM_UP"},
    "gpo_event_options": {"GPO_EVENT_EXTERNAL"}, "gpo_graph_options": {"GPO_GRAPH_DEVICE_LAUNCH"},
    "gpo_device_options": {"ordinal"}, "gpo_arena_options": {"numa_node", "GPO_ARENA_NUMA"},
    "gpo_compile_options": {"source_bytes", "GPO_COMPILE_DYNAMIC_PARALLELISM"},
    "gpo_join_options": {"by", "rank", "ranks", "path", "timeout_ns", "GPO_JOIN_CHECK_ORDER"},
    "gpo_launch": {"priority", "GPO_LAUNCH_PRIORITY"},
    "gpo_pipeline_options": {"output_numerator", "output_denominator", "progress_ns"},
    "gpo_queue_options": {"kind", "count", "task_size", "answer_size"},
    "gpo_runtime_options": {"log_level", "completion_mode"},
    "gpo_scheduler_options": {"form", "source_bytes", "workers"},
    "gpo_stream_options": {"GPO_STREAM_LEARNS", "GPO_STREAM_RESIDENT"}, "gpo_stage": {"kind"},
}
# Texts that name files.
PATHS = {"path", "picture"}
NOUNS = {"cq": "queue", "graph_template": "template"}
USED = {
    "builder": ["constants"], "call": ["bytes", "call", "rows", "status", "text"], "done": ["Enqueued"],
    "error": ["Result", "failure", "kinds"],
    "figures": ["figures"],
    "handle": ["FOR_EVER", "c_string", "nanoseconds", "nanoseconds_from", "optional_c_string", "pointer"],
}
SAYS = {"label": "the name for errors, logs, statistics and traces"}
INTEGERS = {"uint32_t": "u32", "int32_t": "i32", "uint64_t": "u64", "int64_t": "i64"}
ADDRESSES = {"address", "destination", "source", "memory", "word"}


def is_address(name):
    """Whether a number is an address, by its name."""
    return name.split("_")[-1] in ADDRESSES


def duration(name, type_name):
    """(Rust's name, the function that makes the number) of a time in nanoseconds. None for other numbers."""
    made = {"uint64_t": "nanoseconds_from", "int64_t": "nanoseconds"}.get(type_name)
    return (name.removesuffix("_ns"), made) if made and name.endswith("_ns") else None


def camel(name):
    return "".join(word.capitalize() for word in name.split("_"))


def kind(status):
    return KINDS.get(status) or camel(status.removeprefix("GPO_").lower())


def variants(abi):
    """(constant, the path of its enum, its name there)"""
    for constant in abi["constants"]:
        for prefix, (path, _) in ENUMS.items():
            if constant["name"].startswith(prefix):
                yield constant, path, camel(constant["name"].removeprefix(prefix).removesuffix("_BYTES").lower())
