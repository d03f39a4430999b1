"""Where Lua differs from what abi.json says by itself. Each entry says why."""

# Functions of a plain shape that are written by hand all the same.
BY_HAND = {
    "gpo_arena_create": "takes memory, after a collection if there is too little; a NUMA node sets the flag",
    "gpo_buckets_prepare": "calls Lua back",
    "gpo_cq_create": "the object holds entries and a descriptor",
    "gpo_cq_drain": "gives values of Lua's",
    "gpo_cq_get_error": "error() without a number is every object's method",
    "gpo_cq_get_fd": "the descriptor is closed with the object, not with the queue",
    "gpo_cq_wait": "runs callbacks, and looks for entries that were drained already",
    "gpo_executor_create": "the object holds the functions",
    "gpo_executor_poll": "calls Lua back",
    "gpo_executor_run": "is run_for in short times, so that Ctrl-C ends it",
    "gpo_graph_create": "shares the recipe of its template",
    "gpo_graph_get_device_handle": "gives the string that a kernel takes, too",
    "gpo_graph_launch": "notes the stream of the arrays",
    "gpo_graph_set": "types the value",
    "gpo_graph_set_parameter": "types the value",
    "gpo_graph_update": "takes over the recipe",
    "gpo_host_call_finish": "calls Lua back",
    "gpo_last_error": "nil without a failure",
    "gpo_memory_free": "frees addresses, too",
    "gpo_memory_import": "gives an array",
    "gpo_module_get_kernel": "reads the signature",
    "gpo_module_get_symbol": "gives an array",
    "gpo_pool_free": "the array comes before the stream",
    "gpo_queue_create": "the object knows its kind and sizes",
    "gpo_queue_wait": "the tenant comes last, and answers that were taken are there already",
    "gpo_runtime_get_metrics": "counts errors by their names",
    "gpo_runtime_shutdown": "calls Lua back",
    "gpo_stream_create": "the object knows whether the stream is resident",
    "gpo_stream_pool_acquire": "closing the stream gives it back",
    "gpo_stream_pool_release": "ends the stream's object",
    "gpo_stream_wait_event": "may join a recording",
    "gpo_stream_wait_stream": "may join a recording",
    "gpo_symmetric_allocate": "takes memory, after a collection if there is too little",
    "gpo_template_add_allocation": "gives an array",
    "gpo_template_add_child": "takes over the child's recipe",
    "gpo_template_add_parameter": "types the parameter",
    "gpo_template_begin": "begins a recipe",
    "gpo_template_cancel": "drops a recipe",
    "gpo_template_clear": "drops a recipe",
    "gpo_template_create": "has a recipe",
    "gpo_template_end": "ends a recipe",
    "gpo_template_get_parameter": "notes the number",
    "gpo_template_import": "has a recipe",
}
# Functions by hand whose parameters, results or descriptions differ from what abi.json says: their types are by hand, too.
TYPED_BY_HAND = {"gpo_cq_drain", "gpo_cq_get_error", "gpo_cq_get_fd", "gpo_executor_create", "gpo_graph_get_device_handle",
                 "gpo_graph_set", "gpo_memory_free", "gpo_memory_import", "gpo_module_get_kernel",
                 "gpo_module_get_symbol", "gpo_pool_free", "gpo_queue_wait", "gpo_stream_pool_acquire",
                 "gpo_template_add_allocation"}
# Methods with other names than their functions: close() is every object's, and what makes an object may be called as that.
METHODS = {"gpo_queue_close": "close_ring", "gpo_template_create": "template", "gpo_graph_create": "graph",
           "gpo_buckets_create": "buckets", "gpo_queue_create": "queue", "gpo_scheduler_create": "scheduler",
           "gpo_batcher_create": "batcher", "gpo_peers_create": "peers", "gpo_peers_join": "join",
           "gpo_symmetric_allocate": "allocate"}
# Methods of another object than the first parameter's: devices are in a list.
OWNERS = {"gpo_batcher_create": "runtime", "gpo_peers_create": "runtime"}
# Functions that are no methods: other methods call them, no thread of the driver's may enter Lua (add_host_call), or the
# memory of a request belongs to the operation that gets its entry (submit_then).
NO_METHODS = {"gpo_advise", "gpo_batcher_submit_then", "gpo_graph_set_parameter", "gpo_graph_set_all", "gpo_peers_submit",
              "gpo_template_add_host_call",
              "gpo_template_add_parameter", "gpo_template_get_parameter"}
# Functions without an object in front that aren't plain: all objects' own, those of the module, and what it calls itself.
NO_OBJECT = {"gpo_advise_trace", "gpo_object_get_error", "gpo_object_get_label", "gpo_object_set_label",
             "gpo_runtime_create", "gpo_status_name", "gpo_status_text", "gpo_version"}
# Methods that aren't functions of the library, by their objects; C calls them <object>_<method>.
MORE_METHODS = {
    "runtime": ["completions"], "device": ["advise"], "stream": ["device"], "cq": ["pump"],
    "template": ["record", "parameter"], "symmetric": ["array"],
}
# Objects with more than a handle: their userdata are a struct <object>_object.
STRUCTS = {"runtime", "stream", "cq", "kernel", "pipeline", "executor", "template", "graph", "buckets", "queue", "symmetric",
           "array", "operation", "launch"}
# Objects whose end is more than a call of the library.
ENDS = STRUCTS - {"launch", "kernel", "queue"} | {"batcher", "scheduler"}
# Objects that aren't the library's, and their methods.
MORE_CLASSES = {"array": "array_methods", "operation": "operation_methods", "launch": "NULL"}
# The functions that the library calls back, by their types: each calls the Lua function in an executor.
CALLBACKS = {"gpo_completion_fn": "when_done", "gpo_host_fn": "host_call"}
# The types of the Lua functions that those call.
FUNCTION_TYPES = {"when_done": "fun(completion: gpuorch.completion, failure: gpuorch.failure?)",
                  "host_call": "fun(call: {call: integer, status: string}, failure: gpuorch.failure?): boolean?"}
# Parameters that may be left out, and then are 0, by function or everywhere.
OPTIONAL = {("gpo_runtime_describe_device", "ordinal"), ("gpo_arena_allocate", "alignment"),
            ("gpo_arena_trim", "keep_bytes"), ("gpo_pool_trim", "keep_bytes"),
            ("gpo_kernel_get_occupancy", "dynamic_shared_bytes"), ("gpo_kernel_suggest_shape", "dynamic_shared_bytes"),
            ("gpo_kernel_suggest_shape", "max_threads"), ("gpo_stream_pool_acquire", "priority"),
            ("gpo_host_call_finish", "status")}
# Parameters that count from 1 in Lua, and what they count.
FROM_1 = {("gpo_kernel_get_parameter", "index"): "parameters", ("gpo_template_bind_condition", "index"): "arguments"}
# Parameters that are words, by the first of their constants, and the word that may be left out.
PARAMETER_WORDS = {("gpo_device_get_limit", "limit"): ("GPO_LIMIT_STACK_BYTES", None),
                   ("gpo_device_set_limit", "limit"): ("GPO_LIMIT_STACK_BYTES", None),
                   ("gpo_template_get_picture", "format"): ("GPO_PICTURE_DOT", "svg")}
# Flags that are a parameter, by their constants: the keys of a table.
FLAG_PARAMETERS = {("gpo_device_get_costs", "flags"): "GPO_COSTS_*"}
# Functions that allocate an array, of so many elements of a type in place of bytes, and its kind.
ALLOCATIONS = {"gpo_arena_allocate": "MEMORY_PINNED", "gpo_memory_allocate": "MEMORY_DEVICE",
               "gpo_pool_allocate": "MEMORY_POOL", "gpo_template_allocate": "MEMORY_BORROWED_DEVICE",
               "gpo_template_allocate_host": "MEMORY_BORROWED_HOST"}
# Functions that take memory for a new object: after a collection if there is too little.
RECLAIMING = {"gpo_pool_create"}
# Functions that take the memory of an array only.
ARRAYS_ONLY = {"gpo_memory_export"}
# Functions that look at memory during the call, and neither keep it nor use it on a stream.
LOOKS_ONLY = ARRAYS_ONLY | {"gpo_memory_describe"}
# Results that are 1 or 0.
TRUTHS = {("gpo_graph_get_loop", "limited")}

# The word for 0 where no constant has that value and GPO_AUTO isn't its name.
ZEROS = {"GPO_BOUND_LAUNCH": "unknown", "GPO_FORM_LEAVE": "unknown", "GPO_ORDER_GRID": "default", "GPO_LOG_ERROR": "default"}
# Words of fields whose description lists only some constants, by the first and the last constant.
FIELD_WORDS = {
    ("gpo_peers_options", "engine"): ("GPO_ENGINE_DIRECT", "GPO_ENGINE_HOST"),  # NVSHMEM is for memory only
    ("gpo_join_options", "engine"): ("GPO_ENGINE_DIRECT", "GPO_ENGINE_HOST"),
    ("gpo_symmetric_options", "engine"): ("GPO_ENGINE_DIRECT", "GPO_ENGINE_NVSHMEM"),
}
# Groups of constants that no field's description names: words for parameters.
MORE_WORDS = ("GPO_LIMIT_STACK_BYTES", "GPO_PARAMETER_ARGUMENT", "GPO_PICTURE_DOT", "GPO_ARGUMENT_VALUE")
# The flags are those of gpo_stream_options.
FLAGS = {"gpo_stream_info": "GPO_STREAM_*"}
# Structs whose flags come last in messages that list the keys.
FLAGS_LAST = {"gpo_buckets_options", "gpo_join_options", "gpo_symmetric_options"}
# Fields that are changed by hand once the table is made.
FIELD_TYPES = {("gpo_metrics", "errors"): "table<string, gpuorch.exact>"}
# Flags that the module sets by itself.
UNNAMED_FLAGS = {"GPO_ARENA_NUMA", "GPO_EXECUTOR_CALLER", "GPO_LAUNCH_PRIORITY", "GPO_SOURCE_USE_DESCRIPTOR",
                 "GPO_SINK_USE_DESCRIPTOR"}
# Fields that the module sets by itself. A kind follows from the keys or the method. A size follows from the string, the
# array or the kernel. Threads of an executor can't enter Lua, nor can those of a batcher. The user_data of an entry is a
# value of Lua's.
OMITTED = {("gpo_batcher_key_options", "work"), ("gpo_batcher_key_options", "release"),
           ("gpo_batcher_request", "input_address"), ("gpo_batcher_request", "output_address"),
           ("gpo_collective", "kind"), ("gpo_source", "kind"), ("gpo_sink", "kind"), ("gpo_sink", "bytes"),
           ("gpo_stage", "kind"), ("gpo_executor_options", "threads"), ("gpo_compile_options", "header_texts"),
           ("gpo_compile_options", "source_bytes"), ("gpo_rank_launch", "sizes"),
           ("gpo_scheduler_options", "source_bytes"), ("gpo_completion", "user_data")}
# Lengths that are keys all the same: how much of a file to read.
LENGTHS = {("gpo_source", "bytes")}
# Keys that the module reads by itself though their fields are plain: an array is accepted, too.
READ_BY_HAND = {("gpo_buckets_options", "pad_address"), ("gpo_condition", "word"), ("gpo_handler", "task_memory"),
                ("gpo_stage", "kernel"), ("gpo_compile_options", "header_names"), ("gpo_scheduler_options", "argument"),
                ("gpo_compile_options", "source"), ("gpo_copy", "destination"), ("gpo_copy", "source"),
                ("gpo_copy", "bytes"), ("gpo_copy_2d", "destination"), ("gpo_copy_2d", "source"), ("gpo_rank_part", "send"),
                ("gpo_rank_part", "receive"), ("gpo_rank_part", "send_to"), ("gpo_rank_part", "receive_from")}
# Keys that have to be given: the library refuses 0 or NULL.
REQUIRED = {("gpo_batcher_key_options", "layout"), ("gpo_join_options", "by"), ("gpo_launch", "block"),
            ("gpo_launch", "grid"), ("gpo_queue_options", "kind"),
            ("gpo_rank_launch", "kernel"), ("gpo_rank_launch", "stream"), ("gpo_rank_part", "stream"),
            ("gpo_scheduler_options", "form"), ("gpo_scheduler_options", "queue")}
# Keys with other names than their fields: `headers` maps names to texts.
KEYS = {("gpo_compile_options", "header_names"): "headers"}
# Keys that aren't fields: a parameter beside the struct; the number of a status.
MORE_ROWS = {"gpo_scheduler_options": [('OTHER("handlers")', "handlers", None)],
             "gpo_task_error": [('{"code", FIELD_I32, offsetof(gpo_task_error, status), 0, NULL}', "code", "integer")]}
# Structs that are tables though no function takes one of them alone.
MORE_TABLES = {"gpo_stage"}
# Structs that are no tables: an answer has bytes of the queue's size, a setting a value of the parameter's type.
NO_TABLES = {"gpo_answer", "gpo_setting"}
# The types of the language server that have other names than their structs.
TYPES = {"gpo_launch": "launch_options", "gpo_error": "failure"}
