"""The library's constants, as in C without GPO_; the statuses come first.

Made from abi.json by generate/generate.py.
"""

SUCCESS = 0  # done
NOT_READY = 1  # the work that was asked about is not done yet
TIMEOUT = 2  # the timeout passed before the result was there
WOULD_BLOCK = 3  # a bounded queue is full: take entries out, then try again
END = 4  # returned by a source callback: there is no more data
INVALID_ARGUMENT = 10  # a value out of range, None for a needed pointer, or an unknown flag
INVALID_HANDLE = 11  # a handle that is None, random, of another type, or of an unknown runtime
STALE_HANDLE = 12  # a handle of an object that has been destroyed
INVALID_STATE = 13  # the object is in a state that forbids the call: the message names it
NOT_SUPPORTED = 14  # not supported by this device, driver or kind of object
NOT_FOUND = 15  # there is no kernel, symbol or file of that name
WOULD_DEADLOCK = 16  # a wait inside a callback, for that callback; or a call inside a host node
BUFFER_TOO_SMALL = 17  # the caller's buffer is too small: `needed` has the size
CAPTURE_REFUSED = 18  # not possible with a stream in capture, or an event recorded on one
OUT_OF_MEMORY = 30  # host, pinned or device memory: the message says which
LIMIT_EXCEEDED = 31  # a limit that the caller or the system (threads, descriptors) has set
NO_DEVICE = 32  # no usable driver, or no such device: the message says why
NO_COMPILER = 33  # no NVRTC, or no C++ compiler for the software GPU: the message says which were tried
COMPILE_FAILED = 34  # the kernel source has errors: last_compile_log() has the compiler's text
INVALID_IMAGE = 35  # the image is cut short, not an image, or for another device
IO_ERROR = 36  # a file or pipe failed: native_code is the errno
CANCELLED = 50  # on request, or because an object that was needed was destroyed or shut down
FAILED = 51  # the caller failed a timeline or host call so, or signals a failed timeline
CALLBACK_FAILED = 52  # a callback of the caller returned an error or threw
DEVICE_LOST = 70  # a kernel crashed or the context was destroyed: all devices of that driver are lost
FORKED = 71  # the process was forked after the library's first call: fork earlier, or exec
SHUT_DOWN = 72  # the runtime has shut down or is shutting down
PEER_LOST = 73  # another process has died, left its group, hangs or can't go on: the message names it
DRIVER_ERROR = 80  # another error of the driver: native_code is the CUresult
INTERNAL = 81  # a defect of the library: please report the message

# [i] counts times of at most 2^i microseconds and more than half that; [0]: up to 1 microsecond; the last: longer
ADMISSION_TIMES = 32
COSTS_PROBE = 1  # measures launches, graphs and copies on the device
WORKLOAD_REPEATS = 1  # every round launches the same sequence
WORKLOAD_SHAPES_VARY = 2  # the sequence's sizes change from round to round
WORKLOAD_INDEPENDENT = 4  # no launch of a round needs the result of another one
WORKLOAD_SPAWNS = 8  # tasks make tasks, and only the GPU knows how many
WORKLOAD_ARRIVES = 16  # tasks come from the host one by one, and each answer is waited for
WORKLOAD_PAGEABLE = 32  # copies are from or to memory that isn't pinned
WORKLOAD_IN_GRAPH = 64  # now: the launches are in a graph
WORKLOAD_DYNAMIC_PARALLELISM = 128  # now: kernels launch all kernels but the first one
WORKLOAD_OVERLAPPED = 256  # now: copies run beside kernels
ORDER_GRID = 1  # one worker for each task: the GPU starts blocks as others end
ORDER_CHUNKS = 2  # each worker has as many neighbouring tasks as the others
ORDER_STRIDED = 3  # worker i of n has the tasks i, i + n, i + 2n ...
ORDER_CLAIMED = 4  # workers claim batches of tasks from a counter, as a range queue does
ORDER_LONGEST_FIRST = 5  # the same, and the tasks are sorted by their costs
# as ORDER_CLAIMED, and a worker claims a batch when it is through with the previous batch: QUEUE_LATE_CLAIMS
ORDER_CLAIMED_LATE = 6
BOUND_LAUNCH = 1  # the host's launches
BOUND_MEMORY = 2  # kernels, and in these reads and writes of device memory
BOUND_OPERATIONS = 3  # kernels, and in these arithmetic
BOUND_KERNEL = 4  # kernels: which of the two is not known, or neither is near its limit
BOUND_COPY = 5  # copies between host and device
BOUND_DECISION = 6  # waits of the host for results by which it decides
BOUND_IDLE = 7  # nothing that was described: the host does other things
FORM_LEAVE = 1  # as it is
FORM_MORE_STREAMS = 2  # launches spread over more streams (stream.h)
FORM_FEWER_STREAMS = 3
FORM_GRAPH = 4  # a graph template (template.h)
FORM_BUCKETS = 5  # a graph template for each of a few shapes (buckets.h)
FORM_WHILE = 6  # a graph template with conditional nodes: the GPU decides (template.h)
FORM_RANGE = 7  # tasks are handed out on the GPU: see `order` and `batch`
FORM_RING = 8  # tasks are pushed and popped on the GPU
FORM_HOST_RING = 9  # a resident kernel takes tasks from the host
FORM_DYNAMIC_PARALLELISM = 10  # kernels launch kernels
FORM_HOST_LAUNCHES = 11  # the host launches what kernels launch now
FORM_FUSE = 12  # fewer kernels, which do more each
FORM_PIPELINE = 13  # copies in chunks beside kernels (pipeline.h), from and to pinned memory
FORM_BATCHED_COPIES = 14  # many copies by one call (memory.h)
BATCH_ROWS = 1  # each request is one row of fixed size
BATCH_RAGGED = 2  # each request has a number of elements; inputs lie one behind the other
# Entries of a flow come in the order of its submissions. An entry then waits for those before it.
BATCHER_PRESERVE_ORDER = 1
BATCHER_VARIABLE_OUTPUT = 2  # Members of a batch have a word in `made`: outputs have different sizes.
# The output buffer isn't filled with zeros before the work, which saves a fill for each batch. The work must then
# write all output of every member: what it leaves out is output of an earlier batch, perhaps of another client.
BATCHER_KEEP_OUTPUT = 4
BATCHER_TIMES = 32  # [i] counts times of at most 2^i microseconds and more than half that; the last: longer
BATCHER_SIZES = 17  # [i] counts batches of at most 2^i members and more than half that
BUCKET_WARM_UP = 1  # record: the work runs once, before it is recorded
BUCKET_RECORDING = 2  # record: the work is recorded
BUCKET_EAGER = 3  # record: the work of a request runs
BUCKET_PADDING = 4  # pad: the elements from `size` to `shape` are to be written
BUCKETS_NO_WARM_UP = 1  # `record` isn't called for a warm-up. Not with `restored`.
# If a bucket can't be recorded, its requests run eagerly instead of failing: this request, and all later ones,
# without another attempt. Only Buckets.prepare tries again. A bucket can't be recorded if a call can't be recorded,
# `record` fails in the recording, the driver refuses the graph, or device memory for a graph or for the copies of
# `restored` is missing. The failure is counted and logged as a warning; Buckets.statistics has its text. A request
# still fails if `record` fails in the warm-up, if `restored` can't be restored after the warm-up, if the host has
# no memory, if the stream has failed, or if the device is lost.
BUCKETS_EAGER_FALLBACK = 2
ORIGIN_STREAM = 1
ORIGIN_EVENT = 2
ORIGIN_PIPELINE = 3
ORIGIN_TIMELINE = 4
ORIGIN_QUEUE = 5  # an answer to a task of a host ring: queue.h
ORIGIN_ADMISSION = 6  # a request for a place: admission.h
ORIGIN_BATCHER = 7  # a request of a batcher: batcher.h
ORIGIN_EXECUTOR = 8  # a callback that was posted: executor.h
LIMIT_STACK_BYTES = 1  # stack of each thread of a kernel, bytes
LIMIT_PRINTF_BYTES = 2  # buffer of printf in kernels, bytes
LIMIT_HEAP_BYTES = 3  # heap of malloc in kernels, bytes
LIMIT_PENDING_LAUNCHES = 4  # launches by kernels (module.h) that may be pending: a count
LIMIT_L2_FETCH_BYTES = 5  # granularity of fetches into the L2 cache, bytes
LIMIT_PERSISTING_L2_BYTES = 6  # part of the L2 cache for persisting accesses, bytes
EVENT_TIMING = 1  # records GPU times; an event without them costs the GPU less
EVENT_BLOCKING_SYNC = 2  # a thread that waits for the event sleeps at once and doesn't spin first
EVENT_INTERPROCESS = 4  # other processes can import it (interprocess.h); with none but EVENT_BLOCKING_SYNC
EVENT_EXTERNAL = 8  # on a stream in capture it becomes a node of the graph (see above)
EXECUTOR_CALLER = 1  # no threads: callbacks run in Executor.run, Executor.run_for and Executor.poll
EXECUTOR_SPIN = 2  # while callbacks are pending, one idle thread spins: faster, but uses a core
# idle threads sleep. EXECUTOR_SPIN and this exclude each other; without both it is EXECUTOR_SPIN in a runtime with
# COMPLETION_LATENCY, else this
EXECUTOR_SLEEP = 4
EXPORT_BYTES = 256  # Bytes of something exported.
ARENA_WRITE_COMBINED = 1  # memory that the GPU reads faster, and that the host reads very slowly
ARENA_NUMA = 2  # slabs are on `numa_node`; without this flag they are near the device
REGISTER_READ_ONLY = 1  # the GPU will only read the memory
MEMORY_PAGEABLE = 1  # plain host memory
MEMORY_PINNED = 2  # pinned host memory, which GPUs can access
MEMORY_DEVICE = 3  # device memory
MEMORY_MANAGED = 4  # CUDA's managed memory
# Unused memory goes back to the system when any code next has the driver wait for a stream, an event or the context
# (cuStreamSynchronize and its like). The library's own waits don't count; Pool.trim gives the memory back at once.
# `keep_bytes` must be 0.
POOL_KEEP_NOTHING = 1
METRICS_LATENCIES = 32
METRICS_ERRORS = 96
COMPILE_NO_CACHE = 1  # don't use the cache on disk: neither read from it nor add to it
COMPILE_DYNAMIC_PARALLELISM = 2  # the source's kernels may launch kernels: see below
LAUNCH_COOPERATIVE = 1  # all blocks run at the same time and may wait for one another
LAUNCH_PRIORITY = 2  # this launch has `priority` instead of its stream's
PEERS_MOST_RANKS = 16  # Most ranks of a group in one process.
# groups of one process: the library's own kernels and copies, which use memory of other devices directly.
# Reductions combine the ranks in their order: all ranks and all runs get the same bits
ENGINE_DIRECT = 1
ENGINE_NCCL = 2  # NVIDIA's library, which is loaded when it is first needed
ENGINE_HOST = 3  # groups of several processes: through the host's memory, and MPI or shared memory
# NVIDIA's library for memory that the kernels of several processes use: for symmetric memory alone (symmetric.h)
ENGINE_NVSHMEM = 4
JOIN_MPI = 1  # they are the processes of an MPI communicator: rank and number are the communicator's
JOIN_FILE = 2  # on one host: by the name of a file, in a folder of a file system with shared mappings
JOIN_ID = 3  # on one host: by an id that one of them has made (peers_make_id)
PEERS_MOST_JOINED = 256  # Most ranks of a group of several processes; 64 by JOIN_FILE or JOIN_ID.
PEERS_ID_BYTES = 128  # Bytes of an id.
# For programs that are being developed: before NCCL executes a collective, the ranks compare what they have
# submitted, and its label. A collective that differs fails as described above. With this flag collectives hold
# their streams and can't be recorded, as with the host engine, which always compares. Groups that are split off
# compare too.
JOIN_CHECK_ORDER = 1
TYPE_INT8 = 1
TYPE_UINT8 = 2
TYPE_INT32 = 3
TYPE_UINT32 = 4
TYPE_INT64 = 5
TYPE_UINT64 = 6
TYPE_FLOAT16 = 7
TYPE_BFLOAT16 = 8
TYPE_FLOAT32 = 9
TYPE_FLOAT64 = 10
TYPE_FLOAT8_E4M3 = 11
TYPE_FLOAT8_E5M2 = 12
REDUCE_SUM = 1  # the sum
REDUCE_PRODUCT = 2  # the product
REDUCE_MINIMUM = 3  # the least element
REDUCE_MAXIMUM = 4  # the greatest element
REDUCE_AVERAGE = 5  # the sum, divided by the number of ranks
COLLECTIVE_ALL_REDUCE = 1
COLLECTIVE_REDUCE = 2
COLLECTIVE_REDUCE_SCATTER = 3
COLLECTIVE_BROADCAST = 4
COLLECTIVE_ALL_GATHER = 5
COLLECTIVE_ALL_TO_ALL = 6
COLLECTIVE_SEND_RECEIVE = 7
COLLECTIVE_BARRIER = 8
NO_RANK = 4294967295  # SEND_RECEIVE: this rank sends, or receives, nothing
SOURCE_MEMORY = 1
SOURCE_FILE = 2
SOURCE_CALLBACK = 3
# Flag of a FILE source: the bytes come from `descriptor` and not from `path`. Why a flag, and not a special value
# of `descriptor`: descriptor 0 is standard input, and a struct with a forgotten path is refused instead of reading
# it.
SOURCE_USE_DESCRIPTOR = 2
# Flag of a FILE source: the run fails with IO_ERROR if a regular file changes while it is read. A change is: the
# file grows, shrinks, is written to, or loses a name (is deleted), between its opening (for a descriptor: the start
# of the run) and the reading of its last byte. The message says which. All of the file counts, even if only a part
# of it is read. The file is checked once, when its last byte has been read. A change right after the check isn't
# seen, and neither is a write that leaves the modification time unchanged (a second write within a tick of the
# clock, or a write through a mapping). Pipes and the like aren't checked.
SOURCE_UNCHANGED = 1
STAGE_KERNEL = 1
STAGE_CALLBACK = 2
ARGUMENT_VALUE = 0  # the `bytes` bytes that `value` points to, copied when the pipeline is created
ARGUMENT_INPUT = 1  # device address of the chunk's input
ARGUMENT_OUTPUT = 2  # device address of its output
ARGUMENT_SCRATCH = 3  # device address of its scratch
ARGUMENT_RESULT = 4  # device address of its result
ARGUMENT_INPUT_BYTES = 5  # uint64_t: bytes of input in this chunk
ARGUMENT_OUTPUT_BYTES = 6  # uint64_t: bytes of output in this chunk
ARGUMENT_INDEX = 7  # uint64_t: number of the chunk
ARGUMENT_OFFSET = 8  # uint64_t: position of the chunk's first byte in the input
# as VALUE, but different on each device (for example the address of a table): `value` points to `bytes` bytes for
# each of the pipeline's devices, in their order and one behind the other
ARGUMENT_DEVICE_VALUE = 9
SINK_NONE = 0  # the output is not copied out; results are copied out if there is a callback
SINK_MEMORY = 1
SINK_FILE = 2
SINK_CALLBACK = 3
# Flag of a FILE sink: the bytes go to `descriptor` and not to `path`. See SOURCE_USE_DESCRIPTOR for the reason.
SINK_USE_DESCRIPTOR = 1
# measure GPU times for records.PipelineResult. Costs some 6 us a chunk, since an event with a time delays a copy
# engine (with 16 MiB chunks 2 % of an H200's bandwidth, both ways)
PIPELINE_TIMES = 1
QUEUE_RANGE = 1
QUEUE_RING = 2
QUEUE_HOST_RING = 3
# ring: a push or a pop takes a place first and then waits for it, which is two to three times as fast as asking for
# room first. Kernels then have no calls that give up at once (try_), and a wait beyond its bound aborts the ring
QUEUE_TICKETS = 1
QUEUE_NO_ANSWERS = 2  # host ring: tasks have no answers. A place is free again when the kernel has read the task
# range: a worker claims a batch when it asks for the batch. Without the flag it claims when it begins the previous
# batch: no claim is waited for, but the batch stays with the worker however long the previous batch takes. For
# tasks so uneven, or so few for each worker, that a batch behind a long batch would begin last
QUEUE_LATE_CLAIMS = 4
QUEUE_HANDLE_BYTES = 192  # Most bytes that a device handle has.
QUEUE_OPEN = 0
QUEUE_CLOSED = 1
QUEUE_ABORTED = 2
LOG_ERROR = 1  # something has failed
LOG_WARNING = 2  # something does not work as intended
LOG_INFO = 3  # a choice of the library, and the reason
LOG_DEBUG = 4  # everything else
COMPLETION_BALANCED = 0  # sleep between checks
COMPLETION_LATENCY = 1  # check all the time: notified within single microseconds, but uses one core each
RUNTIME_QUIET_FALLBACK = 1  # stderr doesn't say that the software GPU stands in
SCHEDULER_RESIDENT = 1
SCHEDULER_GRAPHS = 2
SCHEDULER_WHILE = 3
WORKER_THREAD = 1
WORKER_WARP = 2
WORKER_BLOCK = 3
SCHEDULER_READY = 0  # may be started
SCHEDULER_RUNNING = 1
SCHEDULER_DRAINING = 2  # running, and asked to drain
SCHEDULER_STOPPING = 3  # running, and asked to stop
NATIVE_NONE = 0
NATIVE_CUDA = 1  # CUresult
NATIVE_ERRNO = 2  # errno
NATIVE_NVRTC = 3  # nvrtcResult
NATIVE_NCCL = 4  # ncclResult_t
STREAM_BLOCKING = 1  # this stream and the legacy default stream wait for each other's work, as in CUDA
STREAM_LEARNS = 2  # experimental: see "Streams that learn" below
STREAM_RESIDENT = 4  # for kernels that stay on the GPU: see "Resident streams" below
# The kernels that get device handles of this memory were compiled with GPUORCH_NVSHMEM: they reach all ranks.
SYMMETRIC_REMOTE = 1
SYMMETRIC_HANDLE_BYTES = 320  # Bytes of a device handle.
# Bytes that a range of numbers shared by the kernels of a group takes of each rank's memory (device/steal.cuh).
STEAL_BYTES = 384
COMPARE_KERNEL = 0  # no comparison: a kernel sets the condition (Template.bind_condition)
COMPARE_EQUAL = 1  # the word == constant
COMPARE_NOT_EQUAL = 2  # the word != constant
COMPARE_LESS = 3  # the word < constant, both unsigned
COMPARE_GREATER_EQUAL = 4  # the word >= constant, both unsigned
COMPARE_VALUE = 5  # the word itself: which body of a switch
PARAMETER_ARGUMENT = 1  # argument `index` of a kernel, as many bytes as it has
PARAMETER_GRID = 2  # of a kernel: uint32_t[3]
PARAMETER_BLOCK = 3  # of a kernel: uint32_t[3]
PARAMETER_SHARED_BYTES = 4  # of a kernel: uint32_t, bytes of dynamic shared memory
PARAMETER_DESTINATION = 5  # of a copy or fill: uint64_t, an address of the same kind of memory
PARAMETER_SOURCE = 6  # of a copy: uint64_t, an address of the same kind of memory
PARAMETER_BYTES = 7  # of a copy of one row or of a fill: uint64_t; a fill: whole elements. Not 0
PARAMETER_VALUE = 8  # of a fill: uint32_t
PARAMETER_ENABLED = 9  # of a kernel, copy or fill: uint32_t, 0: the node does nothing
PICTURE_DOT = 1  # text for Graphviz
PICTURE_SVG = 2  # a picture that needs no other file, and follows the viewer's preference for dark or light
GRAPH_UPLOAD = 1  # upload to the device when created, so that the first launch is as fast as others
GRAPH_DEVICE_LAUNCH = 2  # kernels may launch it (Graph.device_handle); uploads it too
TRACE_NO_GPU_TIMES = 1  # no GPU times: shows only the submission of GPU work, which costs the GPU nothing
VERSION_MAJOR = 0
VERSION_MINOR = 1
VERSION_PATCH = 0
VERSION = 100  # major * 10000 + minor * 100 + patch
AUTO = 0  # In a field, or an argument, whose comment names AUTO: the library chooses, or takes the default given there.
