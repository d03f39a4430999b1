"""Where Python differs from what abi.json says by itself. Each entry says why."""

# Classes with other names than their handles, and methods with other names than their functions, as in Lua: close() is
# every object's, and what makes an object may be called as that.
CLASS_NAMES = {"cq": "CompletionQueue"}
METHODS = {"gpo_queue_close": "close_ring", "gpo_template_create": "template", "gpo_graph_create": "graph",
           "gpo_buckets_create": "buckets", "gpo_queue_create": "queue", "gpo_scheduler_create": "scheduler",
           "gpo_batcher_create": "batcher", "gpo_peers_create": "peers", "gpo_peers_join": "join",
           "gpo_symmetric_allocate": "allocate"}
# Methods of another object than the first parameter's: their devices are in a list.
OWNERS = {"gpo_batcher_create": "runtime", "gpo_peers_create": "runtime"}

# Python's names for things of C that texts mention.
NAMES = {"gpo_runtime_create": "Runtime", "gpo_object_get_label": "label", "gpo_object_set_label": "label",
         "gpo_object_get_error": "error", "gpo_error": "Error", "gpo_bucket_fn": "the function `record`"}

# Fields whose name says it all in C.
FIELD_SAYS = {"label": "a name for errors, logs and traces", "destination_pitch": "bytes", "source_pitch": "bytes",
              "width": "bytes of a row", "height": "rows"}
# Words of descriptions that only C's users need, and Python's words in their place.
BETTER = {" (host pointers converted to uint64_t)": "",
          " or host pointers converted to uint64_t": " or addresses of the host",
          ", up to `capacity`,": "", " to `error`; `error->status` is 0 if there was none": ", or None",
          "The memory and the descriptors of source and sink must exist":
              "The module keeps the memory of source and sink. Their descriptors must stay open",
          "; it must not be destroyed": ", or close it", " The bytes may be freed when the call returns.": "",
          " The structs and paths may be freed when the call returns.": "",
          "`bytes` bytes at `value`, as many as the parameter has":
              "a number, or a value of as many bytes as the parameter has"}

# Functions that are no methods in _calls.py.
MEMORY = "gives or takes memory, which is an Array: gpuorch's memory module has the method"
EVERY = "every object has it: error() and label"
WAITS = "ends at Ctrl-C, and can be awaited: gpuorch's module of waits has the method"
LEFT_OUT = {
    "gpo_arena_allocate": MEMORY, "gpo_arena_free": MEMORY, "gpo_arena_free_after": MEMORY,
    "gpo_memory_allocate": MEMORY, "gpo_memory_free": MEMORY, "gpo_memory_import": MEMORY,
    "gpo_pool_allocate": MEMORY, "gpo_pool_free": MEMORY, "gpo_template_allocate": MEMORY,
    "gpo_template_allocate_host": MEMORY, "gpo_host_register": MEMORY,
    "gpo_host_unregister": "what host_register() returns is closed",
    "gpo_object_get_error": EVERY, "gpo_object_get_label": EVERY, "gpo_object_set_label": EVERY,
    "gpo_runtime_create": "Runtime() makes it", "gpo_runtime_shutdown": "close() and shutdown() are the runtime's own",
    "gpo_stream_launch_kernel": "kernel[grid, block, stream] makes a launch, which packs its arguments once",
    "gpo_stream_pool_release": "closing the stream gives it back",
    "gpo_module_get_kernel": "kernel() takes a signature, too",
    "gpo_module_compile": "module_compile() takes the source first",
    "gpo_cq_get_error": "failure(entry) has it, as an exception",
    "gpo_executor_run": "run() raises what a callback has raised, and ends at Ctrl-C",
    "gpo_executor_run_for": "run_for() does, too",
    "gpo_executor_poll": "poll() raises what a callback has raised",
    **dict.fromkeys(("gpo_device_wait", "gpo_stream_wait", "gpo_event_wait", "gpo_timeline_wait", "gpo_cq_wait",
                     "gpo_cq_drain", "gpo_pipeline_wait", "gpo_queue_wait", "gpo_scheduler_wait", "gpo_scheduler_drain",
                     "gpo_scheduler_stop", "gpo_admission_enter", "gpo_batcher_submit"), WAITS),
}

# Fields that callers neither see nor set beside lengths, strides and `user`: sizes that follow from other values, and what
# frees a callback.
HIDDEN_FIELDS = {("gpo_compile_options", "header_texts"), ("gpo_rank_launch", "sizes"),
                 ("gpo_compile_options", "source_bytes"), ("gpo_scheduler_options", "source_bytes"),
                 ("gpo_batcher_key_options", "release"), ("gpo_stage_argument", "bytes"), ("gpo_batch_request", "reserved")}
# Lengths that are fields all the same: how much of a file to read.
SHOWN_LENGTHS = {("gpo_source", "bytes")}
# Names of fields that differ: `headers` maps names to texts.
FIELD_NAMES = {("gpo_compile_options", "header_names"): "headers"}
# Lengths that abi.json doesn't name.
LENGTHS = {("gpo_stage_argument", "value"): "bytes"}
# Fields that hold an address, and accept an object: by name, and by struct and name if the name alone isn't enough.
ADDRESS_NAMES = {"destination", "source", "address", "pad_address", "input_address", "output_address", "task_memory", "word",
                 "send", "receive"}
ADDRESS_FIELDS = {("gpo_scheduler_options", "argument")}
# Parameters that are addresses of device memory.
ADDRESS_PARAMETERS = {"destination", "source", "address"}
# Host memory that a call reads, whose size abi.json can't say: `count` times a size of the queue.
TASKS = {("gpo_queue_push", "tasks"), ("gpo_queue_post", "tasks")}
# Parameters that may be left out, with their defaults.
OPTIONAL = {("gpo_runtime_describe_device", "ordinal"): 0, ("gpo_arena_allocate", "alignment"): 0,
            ("gpo_arena_trim", "keep_bytes"): 0, ("gpo_pool_trim", "keep_bytes"): 0,
            ("gpo_kernel_get_occupancy", "dynamic_shared_bytes"): 0,
            ("gpo_kernel_suggest_shape", "dynamic_shared_bytes"): 0, ("gpo_kernel_suggest_shape", "max_threads"): 0,
            ("gpo_stream_pool_acquire", "priority"): 0, ("gpo_host_call_finish", "status"): 0,
            ("gpo_device_get_costs", "flags"): 0, ("gpo_host_register", "flags"): 0, ("gpo_queue_push", "priority"): 0,
            ("gpo_queue_post", "tenant"): 0, ("gpo_queue_take", "tenant"): 0, ("gpo_queue_wait", "tenant"): 0,
            ("gpo_template_get_picture", "format"): "PICTURE_SVG", ("gpo_queue_post", "user_data"): 0,
            ("gpo_pipeline_get_share", "device"): 0, ("gpo_fill", "element_bytes"): 4,
            ("gpo_template_add_fill", "element_bytes"): 4, ("gpo_fill", "count"): None,
            ("gpo_template_add_fill", "count"): None}
# A parameter with a default stands behind the parameters without one, so Python's order can differ from C's.
# Results that are 1 or 0.
TRUTHS = {("gpo_graph_get_loop", "limited")}
# Functions whose objects among the parameters have to live as long as the first one.
KEEPING = {"gpo_queue_set_tenant", "gpo_batcher_add_key", "gpo_runtime_set_log_executor", "gpo_template_add_kernel",
           "gpo_template_add_copy", "gpo_template_add_fill", "gpo_template_add_event_record", "gpo_template_add_event_wait",
           "gpo_template_add_child", "gpo_template_add_if", "gpo_template_add_while", "gpo_template_add_switch",
           "gpo_template_add_free"}
# Functions whose memory has to stay until the work that they put on streams is done.
STREAM_KEEPING = {"gpo_copy_to_device", "gpo_copy_to_host", "gpo_copy_on_device", "gpo_copy_peer", "gpo_copy_batch",
                  "gpo_copy_rows", "gpo_fill", "gpo_fill_rows", "gpo_stream_launch_kernel", "gpo_template_launch",
                  "gpo_buckets_launch", "gpo_peers_submit", "gpo_peers_launch"}
# How many elements are asked for, where C can't say how many there are.
CAPACITIES = {"gpo_cq_drain": 256, "gpo_queue_take": 256, "gpo_advise": 32, "gpo_scheduler_get_blocks": 64,
              "gpo_scheduler_get_samples": 1024, "gpo_scheduler_get_errors": 64}
# Functions of CAPACITIES that take elements away: the call is made once, and `capacity` is a parameter. Other functions are
# asked again with more room as long as all room was used.
TAKING = {"gpo_cq_drain", "gpo_queue_take"}
# Callbacks as functions of Python's: their parameters, the type of the result, and what the result means. Callbacks that
# don't stand here are called on the driver's threads, which never enter Python.
STATUS = "None or True: success; False or a status: a failure"
CALLBACKS = {
    "COMPLETION": ("completion: records.Completion, error: Error | None", "object", ""),
    "HOST": ("call: records.HostCall", "int | None",
             "None or True: done; False: not finished yet; a status: a failure"),
    "BATCH": ("stream: Stream, batch: records.Batch", "int | None", STATUS),
    "BUCKET": ("stream: Stream, work: records.BucketWork", "int | None", STATUS),
    "SOURCE": ("memory: memoryview", "int | None", "how many bytes were written; None or 0: there is no more data"),
    "STAGE": ("stream: Stream, chunk: records.Chunk", "int | None", STATUS),
    "SINK": ("chunk: records.Chunk", "int | None", "None or True: go on; False: enough, the run ends; a status: a failure"),
    "PROGRESS": ("progress: records.PipelineProgress", "object", ""),
    "LOG": ("level: int, text: str", "object", "")}
# Functions that keep the GIL: none of them blocks, runs a callback or enters the driver, and giving the GIL away costs more
# than they do. A notify of a stream may block, and a call that releases held work: another thread may copy memory that
# isn't pinned. All `_get_` functions but those below are such, and:
KEEPS_GIL = {
    "gpo_status_name", "gpo_status_text", "gpo_version", "gpo_last_error", "gpo_object_set_label",  # static texts, memory
    "gpo_stream_query", "gpo_event_query",  # read what the scanner has seen
    "gpo_timeline_notify", "gpo_pipeline_notify", "gpo_cq_drain", "gpo_cq_wake",  # rings in memory
    "gpo_queue_post", "gpo_queue_take",  # "Blocks on nothing"
    "gpo_executor_post", "gpo_executor_post_at", "gpo_executor_cancel",
    "gpo_graph_set", "gpo_graph_set_parameter", "gpo_graph_set_all", "gpo_graph_get",  # copies of values
    "gpo_admission_enter", "gpo_admission_cancel", "gpo_admission_leave", "gpo_admission_set_flow",
    "gpo_batcher_cancel", "gpo_batcher_set_flow", "gpo_template_find_node",
    "gpo_peers_make_id",
}
# Functions with `_get_` in their names that may enter the driver, compile, or wait for a lock that is held while the driver
# is called.
GET_RELEASES_GIL = {
    "gpo_runtime_get_driver", "gpo_runtime_get_device_count", "gpo_device_get_memory", "gpo_device_get_limit",
    "gpo_device_get_priority_range", "gpo_device_get_costs", "gpo_module_get_kernel", "gpo_module_get_symbol",
    "gpo_kernel_get_attributes", "gpo_kernel_get_occupancy", "gpo_template_get_picture", "gpo_graph_get_loop",
    "gpo_graph_get_device_handle", "gpo_graph_get_device_status", "gpo_queue_get_info", "gpo_queue_get_device_handle",
    "gpo_symmetric_get_device_handle", "gpo_scheduler_get_info", "gpo_scheduler_get_blocks", "gpo_scheduler_get_samples",
    "gpo_scheduler_get_errors", "gpo_scheduler_get_handler", "gpo_runtime_get_metrics", "gpo_runtime_get_metrics_text",
    "gpo_device_get_metrics", "gpo_trace_get_summary", "gpo_template_get_native", "gpo_graph_get_native",
    "gpo_event_get_elapsed", "gpo_pool_get_statistics", "gpo_arena_get_statistics", "gpo_module_get_image",
}
