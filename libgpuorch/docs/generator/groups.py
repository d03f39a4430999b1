"""Which pages there are, in groups, and what of a header is on which page."""

# The pages of the C interface. "stream" is the page of gpo_stream_t; a page without a handle has the name of its header.
GROUPS = [
    ("Rules for all calls", ["types", "status"]),
    ("Runtime and devices", ["runtime", "device"]),
    ("Streams and memory", ["stream", "stream_pool", "event", "timeline", "memory", "arena", "pool", "interprocess"]),
    ("Kernels and graphs", ["module", "kernel", "template", "graph", "buckets"]),
    ("Pipelines", ["pipeline"]),
    ("Completion and executors", ["cq", "executor"]),
    ("Queues and schedulers on the GPU", ["queue", "scheduler"]),
    ("Several GPUs", ["peers", "symmetric"]),
    ("Serving", ["admission", "batcher"]),
    ("Observation", ["metrics", "trace", "advice"]),
    ("All functions at once", ["gpuorch", "api"]),
]

# The page of a header that explains several handles or is called otherwise.
PAGE_OF_HEADER = {"completion.h": "cq"}

# Headers with several pages. A header begins on its own page. At an item that begins with one of these words (the title of
# a rule, a paragraph, a name) the page changes to the given one.
TURNS = {
    "stream.h": {"pools: ": "stream_pool", "Resident streams": "stream"},
    "memory.h": {"pinned arenas": "arena", "pinning memory": "memory", "GPO_POOL_KEEP_NOTHING": "pool",
                 "copies and fills": "memory"},
    "module.h": {"gpo_kernel_destroy": "kernel", "gpo_module_get_symbol": "module", "gpo_kernel_attributes": "kernel"},
    "template.h": {"graphs: ": "graph"},
}

# The subjects of pages whose headers have no short description.
SUMMARIES = {
    "stream_pool": "a number of streams that users share",
    "arena": "pinned host memory, handed out in pieces of a few large slabs",
    "pool": "device memory whose allocations and frees are operations of a stream",
    "kernel": "a function of a module, launched on a stream",
    "graph": "an instance of a template, launched with one call",
    "runtime": "the root object, which owns drivers, threads and statistics",
    "event": "a point in a stream",
    "timeline": "a 64-bit number that only rises, on which streams and the host wait for one another",
    "module": "kernels: compiled from CUDA C++ source, loaded from prebuilt images, or built in",
    "gpuorch": "all headers, in the order in which to read them",
    "api": "every function as a member of one table, for programs that load the library with dlopen",
}

# The class of the C++ header that has a handle's calls, where it is called otherwise.
CPP_NAMES = {"cq": "completion_queue", "template": "graph_template"}

GUIDES = ["from_cuda", "which_object", "what_composes", "waiting_and_threads", "several_gpus", "software_gpu", "installing",
          "languages", "serving", "compiling_kernels"]
