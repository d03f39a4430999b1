---@meta _
-- Types that follow from libgpuorch's ABI alone. Made from abi.json by generator/generate.py. The file gpuorch.lua has all
-- other types, and says what failures and answers return.

---@class gpuorch.admission_options
---@field count? gpuorch.exact budget: places; by default unlimited
---@field bytes? gpuorch.exact budget: bytes; by default unlimited
---
---@field capacity? integer how many requests may wait at a time; by default 65536; at most 2^20
---@field priorities? integer 1 to 16; by default 1
---
---@field pool? pool a pool of device memory that is watched; NULL: none
---@field high_bytes? gpuorch.exact bytes in use of the pool, above which admissions pause
---
---@field low_bytes? gpuorch.exact bytes in use of the pool, at or below which they go on; at most high_bytes; by default nine tenths of high_bytes
---@field label? string

---@class gpuorch.admission_request
---@field priority? integer 0 goes first; below the admission's number of priorities
---@field count? gpuorch.exact places; by default 1
---@field bytes? gpuorch.exact 0: none
---@field flow? gpuorch.exact any number
---
---@field deadline_ns? gpuorch.exact CLOCK_MONOTONIC; 0 and UINT64_MAX: none

---@class gpuorch.admission_info
---@field paused boolean 1: the watched pool has too much in use, and no request is admitted
---@field count gpuorch.exact the budgets; UINT64_MAX: unlimited
---@field bytes gpuorch.exact
---
---@field held gpuorch.exact requests that hold places now
---@field held_count gpuorch.exact their places
---@field held_bytes gpuorch.exact their bytes
---@field waiting gpuorch.exact requests that wait now
---@field waiting_bytes gpuorch.exact their bytes
---
---@field waiting_flows gpuorch.exact flows with waiting requests, counted for each priority
---@field admitted gpuorch.exact requests since the admission was created: admitted
---@field refused gpuorch.exact refused with GPO_WOULD_BLOCK, because the line had no room
---
---@field too_large gpuorch.exact refused or ended with GPO_LIMIT_EXCEEDED
---@field expired gpuorch.exact refused or ended with GPO_TIMEOUT
---@field cancelled gpuorch.exact ended with GPO_CANCELLED
---@field wait_ns gpuorch.exact time that the admitted requests waited, added up
---
---@field longest_wait_ns gpuorch.exact the longest one of these times
---@field wait_times gpuorch.exact[] these times, counted by their length

---@class gpuorch.costs
---@field measured boolean 1: launches, graphs and copies were measured on this device. 0: all costs are an H200's, except figures from the device's properties
---@field launch_ns gpuorch.exact launch of a kernel
---
---@field wait_ns gpuorch.exact from the launch of an empty kernel until the host, which waits, knows its end
---
---@field decision_ns gpuorch.exact a turn of a loop that the host decides: an empty kernel, a small copy back, a wait
---@field graph_launch_ns gpuorch.exact launch of a graph
---
---@field graph_node_ns gpuorch.exact GPU time of an empty kernel in a graph that waits for the previous one
---@field while_turn_ns gpuorch.exact GPU time of a turn of a while node with an empty kernel
---
---@field device_launch_ns gpuorch.exact GPU time of a launch by a kernel (dynamic parallelism)
---@field doorbell_ns gpuorch.exact from the host to a resident kernel and back, through pinned memory
---
---@field host_tasks_per_second gpuorch.exact tasks that one thread posts to a resident kernel
---@field claims_per_second gpuorch.exact claims of one counter in device memory, by all multiprocessors
---
---@field ring_tasks_per_second gpuorch.exact tasks that are pushed into a ring in device memory and popped again
---
---@field copy_ns gpuorch.exact time of a small copy, without the time for its bytes; in a batch: a sixth
---@field copy_in_rate gpuorch.exact bytes per second from pinned memory to the device
---
---@field copy_out_rate gpuorch.exact bytes per second from the device to pinned memory
---@field copy_both_rate gpuorch.exact bytes per second of both ways together
---@field pageable_in_rate gpuorch.exact bytes per second from memory that isn't pinned
---
---@field pageable_out_rate gpuorch.exact bytes per second to memory that isn't pinned
---@field memory_rate gpuorch.exact bytes per second that kernels read and write
---@field operation_rate gpuorch.exact floating-point operations per second, single precision
---@field multiprocessors integer

---@class gpuorch.workload
---@field repeats? boolean
---@field shapes_vary? boolean
---@field independent? boolean
---@field spawns? boolean
---@field arrives? boolean
---@field pageable? boolean
---@field in_graph? boolean
---@field dynamic_parallelism? boolean
---@field overlapped? boolean
---
---@field launches? gpuorch.exact kernels that are launched in a round
---@field round_ns? gpuorch.exact time of a round, from its begin to the next one's
---
---@field kernel_ns? gpuorch.exact GPU time of all kernels of a round together
---@field decisions? gpuorch.exact how often in a round the host waits for a result of the GPU before it can go on
---
---@field streams? integer streams that the launches are spread over now; 0: one
---@field blocks? integer blocks of a launch: launches with few blocks leave room beside them
---
---@field bytes? gpuorch.exact bytes that the kernels of a round read and write in device memory
---@field operations? gpuorch.exact floating-point operations of the kernels of a round
---
---@field copies? gpuorch.exact copies of a round; 0: one for each direction that has bytes
---@field copy_in_bytes? gpuorch.exact bytes that a round copies from the host to the device
---
---@field copy_out_bytes? gpuorch.exact bytes that a round copies from the device to the host
---@field tasks? gpuorch.exact tasks of a round: independent pieces of work, many in one kernel
---
---@field task_ns? gpuorch.exact time of a mean task on its worker while all workers work; 0: found from kernel_ns
---@field order? "default"|"grid"|"chunks"|"strided"|"claimed"|"longest_first"|"claimed_late" how tasks are handed out now; 0: GPO_ORDER_GRID
---
---@field workers? integer workers at a time on the GPU; 0: 64 warps on each multiprocessor
---@field block_workers? integer workers of a block; 0: 8 warps, or 1 if `workers` is given
---
---@field cost_deviation? gpuorch.exact standard deviation of the costs, in thousandths of their mean
---@field cost_max? gpuorch.exact cost of the longest task, in thousandths of the mean

---@class gpuorch.diagnosis
---@field bound "unknown"|"launch"|"memory"|"operations"|"kernel"|"copy"|"decision"|"idle"
---@field round_ns gpuorch.exact as given, or predicted
---@field launch_ns gpuorch.exact host time of launches
---
---@field kernel_ns gpuorch.exact GPU time of kernels, as far as they don't run at the same time
---@field copy_ns gpuorch.exact time of copies
---@field decision_ns gpuorch.exact waits for results
---
---@field idle_ns gpuorch.exact of round_ns: more than all that was described explains
---@field memory_ns gpuorch.exact the least time in which the device reads and writes `bytes`
---
---@field operations_ns gpuorch.exact the least time in which the device does `operations`
---@field intensity gpuorch.exact operations per byte, in thousandths; 0: not known
---
---@field ridge gpuorch.exact the intensity at which memory and arithmetic take the same time, in thousandths
---@field roofline_share gpuorch.exact the greater of both least times, in thousandths of kernel_ns
---
---@field launch_share gpuorch.exact host time of launches, in thousandths of round_ns

---@class gpuorch.advice
---@field form "unknown"|"leave"|"more_streams"|"fewer_streams"|"graph"|"buckets"|"while"|"range"|"ring"|"host_ring"|"dynamic_parallelism"|"host_launches"|"fuse"|"pipeline"|"batched_copies"
---@field bound "unknown"|"launch"|"memory"|"operations"|"kernel"|"copy"|"decision"|"idle" the main use of a round's time in this form
---@field streams integer how many streams; 0: as now
---
---@field order "default"|"grid"|"chunks"|"strided"|"claimed"|"longest_first"|"claimed_late" with GPO_FORM_RANGE and GPO_FORM_RING; else 0
---@field batch integer tasks that a worker claims at a time; 0: it claims none
---
---@field gain_low integer how many times faster a round would be, in thousandths: at least;
---@field gain_high integer and at most
---@field round_ns gpuorch.exact expected time of a round
---
---@field host_calls gpuorch.exact launches and copies that the host would submit in a round
---@field reason string one or two sentences, with the figures behind the advice

---@class gpuorch.batcher_options
---@field lanes? integer lanes of each device; by default 1; at most 16
---
---@field capacity? integer how many requests may wait at a time, of all keys; by default 65536; at most 2^20
---
---@field executor? executor forms batches and calls `work`; NULL: the batcher has one of its own, with a thread for each lane
---@field label? string

---@class gpuorch.batcher_key_options
---@field preserve_order? boolean
---@field variable_output? boolean
---@field keep_output? boolean
---@field layout "rows"|"ragged"
---
---@field max_batch? integer most members of a batch, up to 65536; by default rows with buckets: the largest shape, else 64. 1: requests run alone, spread over the lanes
---
---@field input_bytes? gpuorch.exact of a row or an element, in and out; not both are 0
---@field output_bytes? gpuorch.exact
---
---@field max_elements? gpuorch.exact ragged: most elements of a batch, and of a request; up to 2^32 - 1; by default with buckets the largest shape
---
---@field max_delay_ns? gpuorch.exact how long a request may wait for others; by default learnt, see below; 1: never
---@field label? string names the key in failures and figures; NULL: "key 0", by its number

---@class gpuorch.batcher_request
---@field key? integer
---@field flow? gpuorch.exact any number: a tenant, a connection
---@field elements? gpuorch.exact ragged: 1 up to the key's max_elements
---@field deadline_ns? gpuorch.exact CLOCK_MONOTONIC; 0 and UINT64_MAX: none

---@class gpuorch.batcher_info
---@field keys integer keys of the batcher
---@field waiting gpuorch.exact requests: wait now
---@field waiting_elements gpuorch.exact
---@field waiting_flows gpuorch.exact flows with waiting requests, counted for each key
---
---@field running gpuorch.exact requests in batches that run now
---@field running_batches gpuorch.exact
---@field submitted gpuorch.exact requests that were accepted
---@field submitted_bytes gpuorch.exact their input and room for output
---
---@field succeeded gpuorch.exact requests: ended with GPO_SUCCESS
---@field failed gpuorch.exact with the failure of a batch
---@field expired gpuorch.exact with GPO_TIMEOUT
---@field cancelled gpuorch.exact with GPO_CANCELLED
---
---@field refused_full gpuorch.exact refused: as many requests waited as may
---@field refused_deadline gpuorch.exact refused: the deadline couldn't be met
---@field late gpuorch.exact of `succeeded`: ended after their deadline
---@field batches gpuorch.exact batches that ended
---
---@field batch_elements gpuorch.exact their elements
---@field padded_elements gpuorch.exact elements of padding that ran with them; with `work`: 0
---@field delay_ns gpuorch.exact key: how long its newest batch has waited for members; batcher: 0
---
---@field wait_ns gpuorch.exact predicted time until a request that is submitted now would be done, with the margin; batcher: the longest of its keys
---
---@field requests_per_second number requests that ended with GPO_SUCCESS, over the last seconds
---@field batches_per_second number
---@field queue_ns gpuorch.exact the times that are counted below, added up
---@field batch_ns gpuorch.exact
---@field request_ns gpuorch.exact
---
---@field sizes gpuorch.exact[]
---@field queue_times gpuorch.exact[] of requests: from submission to the forming of the batch
---@field batch_times gpuorch.exact[] of batches: from forming to the end of the copy back
---
---@field request_times gpuorch.exact[] of requests with GPO_SUCCESS: from submission to the entry

---@class gpuorch.batcher_flow_info
---@field weight integer
---@field waiting gpuorch.exact requests of all keys: wait now
---@field submitted gpuorch.exact requests since the flow was first seen: accepted
---@field succeeded gpuorch.exact ended with GPO_SUCCESS
---
---@field failed gpuorch.exact ended otherwise
---@field wait_ns gpuorch.exact time that requests waited until their batches were formed, added up
---@field longest_wait_ns gpuorch.exact

---@class gpuorch.buckets_options
---@field max_bytes? gpuorch.exact device memory that all buckets may take; 0: any
---
---@field max_buckets? integer most buckets that are recorded at a time; the least recently used bucket makes room for another; 0: all
---
---@field streams? integer graphs of each bucket from the start, one for each launching stream; by default 1; at most 64
---@field pad_element_bytes? gpuorch.exact size of an element there; 0 without `pad_address`
---
---@field label? string
---@field no_warm_up? boolean
---@field eager_fallback? boolean

---@class gpuorch.buckets_statistics
---@field buckets integer recorded, and not evicted
---@field bytes gpuorch.exact device memory that these take, as for max_bytes
---@field hits gpuorch.exact requests that found their bucket recorded
---
---@field misses gpuorch.exact requests for which a bucket was recorded
---@field eager gpuorch.exact requests that ran eagerly
---@field evictions gpuorch.exact buckets that were evicted
---@field requested gpuorch.exact elements of all these requests
---
---@field padded gpuorch.exact elements of padding that ran with them
---@field failures gpuorch.exact attempts to record a bucket that failed, in the warm-up or in the recording
---
---@field fallbacks gpuorch.exact of `eager`, requests whose bucket's recording had failed (GPO_BUCKETS_EAGER_FALLBACK)
---@field last_failure string cause of the last failure, with its bucket; "" if there was none

---@class gpuorch.cq_options
---@field capacity? integer entries in the queue and accepted notifies together; by default 4096; at most 2^24
---@field label? string

---@class gpuorch.completion
---@field status string GPO_SUCCESS, or the failure of the work
---@field origin "none"|"stream"|"event"|"pipeline"|"timeline"|"queue"|"admission"|"batcher"|"executor"
---
---@field operation gpuorch.exact stream: number of the newest operation before the mark; timeline: the value; queue: the tenant; admission and batcher: the ticket; event and pipeline: meaningless
---
---@field submitted_ns gpuorch.exact CLOCK_MONOTONIC at the notify, or at the post
---@field completed_ns gpuorch.exact CLOCK_MONOTONIC when the library saw that the work was done
---
---@field gpu_ns gpuorch.exact gpo_stream_notify_timed: GPU time since the given event; otherwise -1
---@field error_id gpuorch.exact if the work has failed: for gpo_cq_get_error

---@class gpuorch.cq_statistics
---@field capacity integer
---@field accepted gpuorch.exact notifies accepted
---@field delivered gpuorch.exact entries put into the queue
---@field drained gpuorch.exact entries taken out
---@field refused gpuorch.exact notifies refused because the queue was full

---@class gpuorch.device_properties
---@field native_ordinal integer the driver's own number of the device
---@field name string the driver's name for the device
---@field uuid string the UUID of the device
---@field pci_address string "0000:1b:00.0"
---
---@field numa_node integer the host's NUMA node nearest to the device; -1: not known
---@field compute_capability_major integer 9 for 9.0
---@field compute_capability_minor integer 0 for 9.0
---
---@field multiprocessors integer how many multiprocessors the device has
---@field copy_engines integer how many copies can run at the same time, beside kernels
---@field warp_size integer how many threads a warp has
---
---@field max_threads_per_block integer most threads of a block
---@field max_threads_per_multiprocessor integer most threads that a multiprocessor runs at a time
---@field clock_khz integer clock rate of the multiprocessors
---
---@field memory_clock_khz integer clock rate of the memory
---@field memory_bus_bits integer width of the memory's bus
---@field l2_bytes integer size of the L2 cache
---@field software boolean 1: it is the software GPU
---
---@field memory_bytes gpuorch.exact size of the device memory; gpo_device_get_memory says how much is free
---@field shared_bytes_per_block gpuorch.exact shared memory that a block of every kernel may use
---
---@field shared_bytes_per_block_max gpuorch.exact the same after gpo_kernel_set_max_dynamic_shared (module.h)
---@field shared_bytes_per_multiprocessor gpuorch.exact shared memory that a multiprocessor has
---@field max_block gpuorch.three most threads of a block in each dimension
---
---@field max_grid gpuorch.three most blocks of a launch in each dimension
---@field cooperative_launch boolean 1: kernels can be launched with GPO_LAUNCH_COOPERATIVE (module.h)
---@field cluster_launch boolean 1: blocks of a launch can form clusters
---
---@field memory_pools boolean 1: the driver has memory pools, which gpo_pool_create needs
---@field batched_copies boolean 1: the driver takes many copies with one call (gpo_copy_batch)

---@class gpuorch.peer_properties
---@field accessible boolean 1: kernels and copies on `from` can reach memory of `to` directly
---@field native_atomics boolean 1: atomic operations on that memory are native
---
---@field performance_rank integer the driver's rank of the connection: lower is faster

---@class gpuorch.device_options
---@field ordinal? integer from 0
---@field native_context? gpuorch.exact NULL: the device's primary context, which is retained; its flags stay as they are
---@field label? string

---@class gpuorch.event_options
---@field timing? boolean
---@field blocking_sync? boolean
---@field interprocess? boolean
---@field external? boolean
---@field label? string

---@class gpuorch.executor_options
---@field spin? boolean
---@field sleep? boolean
---@field capacity? integer how many callbacks may be accepted and not run; by default 65536; at most 2^24
---@field label? string

---@class gpuorch.executor_statistics
---@field threads integer
---@field accepted gpuorch.exact callbacks, host calls and log lines that were accepted
---@field called gpuorch.exact called, and returned
---
---@field cancelled gpuorch.exact called with GPO_CANCELLED: the executor was destroyed, or gpo_executor_cancel
---@field threw gpuorch.exact left by a C++ exception
---@field refused gpuorch.exact refused for lack of room, with log lines
---
---@field pending gpuorch.exact accepted and not returned yet

---@class gpuorch.memory_statistics
---@field slabs integer arenas: how many slabs there are; pools: 0
---@field in_use gpuorch.exact allocated and not freed
---@field reserved gpuorch.exact taken from the driver
---@field peak_in_use gpuorch.exact
---@field peak_reserved gpuorch.exact
---
---@field waiting gpuorch.exact arenas: the part of in_use whose free waits for a stream or a graph
---@field allocations gpuorch.exact how many, since creation
---@field frees gpuorch.exact how many, since creation
---
---@field driver_calls gpuorch.exact how many calls took memory from the driver or gave memory back

---@class gpuorch.arena_options
---@field write_combined? boolean
---@field max_bytes? gpuorch.exact most bytes that the arena takes from the driver; 0: no limit
---
---@field slab_bytes? gpuorch.exact least size of a slab; by default 64 MiB, or max_bytes if that is less
---@field initial_bytes? gpuorch.exact bytes that gpo_arena_create takes; 0: none, the first allocation takes a slab
---
---@field numa_node? integer with GPO_ARENA_NUMA: 0 to 1023; otherwise 0
---@field label? string

---@class gpuorch.memory_info
---@field kind "none"|"pageable"|"pinned"|"device"|"managed"
---@field device_ordinal integer the driver's own number of the device; -1 for host memory
---@field start gpuorch.exact address of the allocation or registration; 0 for pageable memory
---
---@field bytes gpuorch.exact its size

---@class gpuorch.pool_options
---@field keep_nothing? boolean
---@field max_bytes? gpuorch.exact most bytes in use; 0: no limit
---
---@field keep_bytes? gpuorch.exact how much unused memory the pool keeps instead of giving it back to the system; by default all, until gpo_pool_trim
---
---@field initial_bytes? gpuorch.exact bytes that gpo_pool_create takes, to make the first allocations fast; at most max_bytes
---@field label? string

---@class gpuorch.copy_2d
---@field destination_pitch? gpuorch.exact
---@field source_pitch? gpuorch.exact
---@field width? gpuorch.exact
---@field height? gpuorch.exact

---@class gpuorch.metrics
---@field devices integer devices on which an object was opened
---@field streams gpuorch.exact
---@field operations_pending gpuorch.exact operations accepted and not yet known to be done
---
---@field operations_held gpuorch.exact pending operations that are held on the host now (stream.h); gpo_statistics.holds counts all since the beginning
---@field completions_pending gpuorch.exact entries accepted by completion queues and not drained
---
---@field notifies_refused gpuorch.exact counter: notifies refused because the queue was full
---@field arena_in_use gpuorch.exact bytes, all existing pinned arenas together
---@field arena_reserved gpuorch.exact
---@field arena_peak gpuorch.exact sum of the arenas' own peaks of in_use
---
---@field pool_in_use gpuorch.exact bytes, all existing device pools together
---@field pool_reserved gpuorch.exact
---@field pool_peak gpuorch.exact
---@field latency_count gpuorch.exact completions delivered
---@field latency_sum gpuorch.exact nanoseconds
---
---@field latencies gpuorch.exact[] [i]: how many took at most 2^i microseconds and more than half that; the last element: all longer ones
---
---@field errors table<string, gpuorch.exact> [status]: calls on live objects, and completions, that failed with status
---@field executors gpuorch.exact
---@field executor_threads gpuorch.exact the library's threads of all executors; threads of the program aren't known
---
---@field callbacks gpuorch.exact counter: callbacks run by executors, with host calls and pipelines' callbacks
---@field callbacks_pending gpuorch.exact callbacks accepted by executors and not run yet, whether due or not
---
---@field pipeline_pinned gpuorch.exact bytes of pinned memory of pipelines, which belong to no arena

---@class gpuorch.device_metrics
---@field memory_total gpuorch.exact bytes
---@field memory_used gpuorch.exact bytes, by all processes; on the software GPU by this process
---
---@field utilization gpuorch.exact per cent of NVML's last sampling period in which a kernel ran
---@field memory_utilization gpuorch.exact per cent of that period in which device memory was read or written
---
---@field power gpuorch.exact milliwatts
---@field energy gpuorch.exact millijoules, since the driver was loaded
---@field temperature gpuorch.exact degrees Celsius
---@field sm_clock gpuorch.exact Hz
---@field memory_clock gpuorch.exact Hz
---
---@field pcie_sent gpuorch.exact bytes that the device has sent since the driver was loaded
---@field pcie_received gpuorch.exact bytes that the device has received since the driver was loaded
---
---@field reason string why NVML isn't used; "" if it is

---@class gpuorch.compile_options
---@field no_cache? boolean
---@field dynamic_parallelism? boolean
---@field file_name? string name of the source in the compiler's messages; NULL: "kernel.cu"
---@field options? string[] in NVRTC's spelling: "-DN=4", "--std=c++17", "-I/usr/include/mine"
---
---@field name_expressions? string[] template kernels to instantiate, "scale<float>"; the expression is then a name for gpo_module_get_kernel
---@field label? string

---@class gpuorch.kernel_attributes
---@field max_threads_per_block integer
---@field registers_per_thread integer
---@field parameter_count integer 0: the kernel has none, or the driver is older than CUDA 12.4 and can't tell
---@field static_shared_bytes gpuorch.exact
---@field constant_bytes gpuorch.exact
---
---@field local_bytes_per_thread gpuorch.exact
---@field parameter_bytes gpuorch.exact size of all parameters with their padding; 0 as for parameter_count
---@field max_dynamic_shared_bytes gpuorch.exact
---@field ptx_version integer
---@field binary_version integer

---@class gpuorch.launch_options
---@field cooperative? boolean
---@field grid gpuorch.three blocks in each dimension; 0 counts as 1, except in grid[0]
---@field block gpuorch.three threads in each dimension; 0 counts as 1, except in block[0]
---
---@field cluster? gpuorch.three blocks of a cluster; all 0: as the kernel's __cluster_dims__ says, else none
---@field priority? integer with GPO_LAUNCH_PRIORITY
---@field dynamic_shared_bytes? gpuorch.exact dynamic shared memory of a block
---
---@field label? string the operation's label; NULL: the kernel's

---@class gpuorch.peers_options
---@field engine? "auto"|"direct"|"nccl"|"host" for all collectives of the group; by default one for each collective
---@field label? string

---@class gpuorch.peers_info
---@field ranks integer how many
---@field direct boolean 1: every device reaches the memory of every other. 0 in groups of several processes
---
---@field native_atomics boolean 1: atomic operations on that memory are native for all of them. 0 likewise
---@field nccl_version integer 22809 for 2.28.9; 0: the group doesn't use NCCL
---
---@field rank integer the first rank of this process
---@field local_ranks integer how many ranks this process has
---@field collectives gpuorch.exact submitted, held ones included
---
---@field direct_collectives gpuorch.exact of these, given to the direct engine
---@field bytes gpuorch.exact that ranks of this process have sent, by the collectives' counts
---
---@field mpi_device boolean 1: MPI gets the data in device memory (GPO_JOIN_MPI)

---@class gpuorch.join_options
---@field by "mpi"|"file"|"id"
---@field engine? "auto"|"direct"|"nccl"|"host" GPO_ENGINE_NCCL or GPO_ENGINE_HOST, the same for all ranks; by default NCCL where all ranks have CUDA devices and NCCL, and the host engine elsewhere
---
---@field rank? integer this process's, from 0
---@field ranks? integer how many
---
---@field timeout_ns? gpuorch.exact how long joining may take, and how long a rank may keep a collective waiting once this process's stream has come to it. 0: 60 s; negative: no limit
---
---@field path? string GPO_JOIN_FILE: nothing has to be there
---@field label? string
---@field check_order? boolean

---@class gpuorch.collective
---@field type? "none"|"i8"|"u8"|"i32"|"u32"|"i64"|"u64"|"f16"|"bf16"|"f32"|"f64"|"f8_e4m3"|"f8_e5m2" 0 for a barrier
---@field reduction? "none"|"sum"|"product"|"minimum"|"maximum"|"average" 0 for those that reduce nothing
---@field root? integer REDUCE, BROADCAST: a rank; 0 for others
---
---@field count? gpuorch.exact elements: see above. 0: nothing is sent, but streams wait for each other all the same
---
---@field label? string for failures and traces, and to tell equal collectives of a group of several processes apart (see above); may be NULL

---@class gpuorch.rank_part
---@field stream stream of the rank's device

---@class gpuorch.chunk
---@field slot integer the slot that the chunk is in: 0 to slots - 1, of its device
---@field index gpuorch.exact number of the chunk, from 0
---
---@field offset gpuorch.exact position of its first byte in the input
---@field bytes gpuorch.exact bytes of input; the last chunk may have fewer than the others
---
---@field output_offset gpuorch.exact position of its first byte in the output
---@field output_bytes gpuorch.exact
---@field input_address address device memory, for stage callbacks, as the next three
---
---@field output_address address 0 if the pipeline has no output
---@field scratch_address address
---@field result_address address
---@field device integer the chunk's device: a place in gpo_pipeline_options.devices; 0 if there is one device

---@class gpuorch.source
---@field bytes? gpuorch.exact MEMORY: its size
---@field path? string FILE: a regular file or a pipe, which the run opens and closes
---
---@field offset? gpuorch.exact FILE: where to begin in a regular file; beyond its end there is no input
---@field descriptor? integer FILE with GPO_SOURCE_USE_DESCRIPTOR: read, not closed
---@field unchanged? boolean

---@class gpuorch.stage
---@field block? gpuorch.three threads; all 0: as gpo_kernel_suggest_shape suggests
---@field grid? gpuorch.three blocks; all 0: computed, input bytes / bytes_per_block, rounded up
---
---@field bytes_per_block? gpuorch.exact input bytes for each block; 0: one byte for each thread
---@field dynamic_shared_bytes? gpuorch.exact dynamic shared memory of a block
---
---@field max_blocks? integer greatest grid[0] that is computed, for kernels that loop; 0: no limit
---@field label? string

---@class gpuorch.sink
---@field path? string FILE: the output is written to a temporary file beside it, which gets this name when the run has succeeded; after a failure nothing is left
---
---@field descriptor? integer FILE with GPO_SINK_USE_DESCRIPTOR: written from where it stands, not closed

---@class gpuorch.pipeline_progress
---@field running boolean 1 during a run
---@field bytes_in gpuorch.exact input bytes read from the source
---@field bytes_done gpuorch.exact input bytes of chunks that are through the sink
---
---@field bytes_total gpuorch.exact size of the input; 0: not known
---@field chunks_done gpuorch.exact
---@field elapsed_ns gpuorch.exact

---@class gpuorch.pipeline_options
---@field times? boolean
---@field chunk_bytes? gpuorch.exact input bytes of a chunk: a multiple of `granule`, at most 1 TiB
---
---@field granule? gpuorch.exact all chunks except the last are multiples of it; 0: 4096; at most 1 TiB
---
---@field slots? integer chunks under way at a time on each device, 1 to 1024; by default 3, or up to 6 if host code takes part
---
---@field output_numerator? integer output bytes = input bytes * numerator / denominator, rounded up; at most 4096 times the input
---@field output_denominator? integer
---
---@field scratch_bytes? gpuorch.exact device memory for each chunk, not cleared; at most 1 TiB
---
---@field result_bytes? gpuorch.exact result of a chunk: a block that is zeroed before the stages run, and that the sink gets; at most 1 MiB
---
---@field max_pinned_bytes? gpuorch.exact most pinned memory for staging, for all devices together; by default 1 GiB for each device
---@field progress_ns? gpuorch.exact least time between two calls of `progress`; 0: 100 ms
---
---@field label? string
---@field executor? executor runs the callbacks of sources, stages and sinks and `progress` (executor.h): one of each kind at a time, while a thread of the pipeline waits

---@class gpuorch.pipeline_result
---@field status string how the run ended
---@field bytes_in gpuorch.exact
---@field bytes_out gpuorch.exact
---@field chunks gpuorch.exact
---@field elapsed_ns gpuorch.exact from gpo_pipeline_start until the last chunk was through the sink
---
---@field chunk_bytes gpuorch.exact the size of chunks at the end of the run
---@field slots integer of each device
---@field tuned boolean 1: a part of this run was spent on measuring chunk sizes
---
---@field copy_in_ns gpuorch.exact with GPO_PIPELINE_TIMES: how long the copies in were busy on the GPU; of several devices this and the next three are sums
---@field copy_out_ns gpuorch.exact … the copies out
---
---@field kernel_ns gpuorch.exact … the kernels
---@field copy_hidden_ns gpuorch.exact the part of copy_in_ns + copy_out_ns in which the other direction or a kernel was busy too
---
---@field staged_bytes gpuorch.exact bytes that host threads moved between the caller's memory and pinned buffers

---@class gpuorch.pipeline_share
---@field chunks gpuorch.exact that ran there and are through the sink
---@field bytes_in gpuorch.exact input bytes of them
---@field copy_in_ns gpuorch.exact with GPO_PIPELINE_TIMES: as in gpo_pipeline_result, of this device
---@field copy_out_ns gpuorch.exact
---
---@field kernel_ns gpuorch.exact
---@field copy_hidden_ns gpuorch.exact

---@class gpuorch.queue_options
---@field kind "range"|"ring"|"host_ring"
---@field tickets? boolean
---@field no_answers? boolean
---@field late_claims? boolean
---@field batch? integer range: numbers in a batch; by default 1
---
---@field count? gpuorch.exact range: how many numbers there are, 1 to 2^48
---
---@field capacity? gpuorch.exact rings: how many tasks fit, for each priority, at most 2^26; rounded up to a power of two from 64 on; by default 65536, in a host ring 4096
---
---@field task_size? integer rings: bytes of a task, 16 to 256, a multiple of 16
---@field priorities? integer ring: 1 to 8, with GPO_QUEUE_TICKETS 1; by default 1
---
---@field answer_size? integer host ring: bytes of an answer, 0 to 256, a multiple of 4; beside them an answer has a status
---
---@field tenants? integer host ring: 1 to 64; by default 1; with GPO_QUEUE_NO_ANSWERS there is 1
---@field stream? stream the resident stream (stream.h) of a kernel that uses the queue
---@field label? string

---@class gpuorch.tenant_options
---@field limit? gpuorch.exact most places of the ring that the tenant may take at a time; by default all
---
---@field completions? cq gets an entry for each answer: the task's user_data, the answer's status, origin GPO_ORIGIN_QUEUE

---@class gpuorch.queue_info
---@field kind "none"|"range"|"ring"|"host_ring"
---@field state "open"|"closed"|"aborted" rings: GPO_QUEUE_OPEN, …
---@field task_size integer
---@field capacity gpuorch.exact rings: tasks that fit, for each priority; range: how many numbers there are
---
---@field depth gpuorch.exact rings: tasks in device memory that wait for a pop
---@field pushed gpuorch.exact rings: tasks pushed
---@field popped gpuorch.exact
---@field done gpuorch.exact
---
---@field refused gpuorch.exact tasks of gpo_queue_push that were left out
---@field device_bytes gpuorch.exact device memory that the queue has
---@field pinned_bytes gpuorch.exact pinned memory that the host ring has
---
---@field posted gpuorch.exact host ring: tasks posted
---@field answered gpuorch.exact host ring: answers that came and were seen
---@field unanswered gpuorch.exact host ring: posted, and not answered; without answers: not read by the kernel
---
---@field answer_size integer
---@field tenants integer

---@class gpuorch.runtime_options
---@field quiet_fallback? boolean
---@field device? string "any", "soft", "cuda", "cuda:N" or "soft:N" (above); "any" takes the software GPU only where there is no NVIDIA GPU
---
---@field log_level? "default"|"error"|"warning"|"info"|"debug" 0: the level that GPUORCH_LOG names, else GPO_LOG_WARNING
---@field completion_mode? "balanced"|"latency"
---@field schedule_seed? gpuorch.exact not 0: deterministic mode
---@field cache? string folder for compiled kernels
---
---@field label? string the label that metrics of this runtime carry (metrics.h)

---@class gpuorch.driver_info
---@field version integer 13000 for CUDA 13.0
---@field software boolean 1: the software GPU
---@field device_count integer devices that this runtime shows
---@field name string "cuda" or "soft"
---
---@field reason string why CUDA is not used; "" if it is used, or was not asked for

---@class gpuorch.statistics
---@field live_objects integer handles that have not been destroyed
---@field launches gpuorch.exact
---@field copies gpuorch.exact
---@field copied_bytes gpuorch.exact
---@field fills gpuorch.exact
---@field notifies gpuorch.exact
---@field completions gpuorch.exact
---
---@field failures gpuorch.exact operations that completed with a failure
---@field holds gpuorch.exact operations that were held on the host for a while (stream.h)
---
---@field device_allocations gpuorch.exact serialising: plain device allocations, and frees that wait for kernels
---@field host_registrations gpuorch.exact serialising: slabs of pinned memory allocated and freed, and memory registered and unregistered
---
---@field pageable_copies gpuorch.exact serialising: copies from or to memory that is not pinned
---@field pageable_bytes gpuorch.exact bytes of these copies
---@field legacy_stream_uses gpuorch.exact serialising: work on blocking streams and on the legacy stream
---
---@field module_loads gpuorch.exact serialising: modules loaded and unloaded, lazy loads included
---
---@field put_off gpuorch.exact not a sum: how many calls that give pinned memory and modules back to the driver wait now for resident work to end (stream.h)

---@class gpuorch.handler
---@field name? string the device function's; GPO_SCHEDULER_GRAPHS: in messages, and may be NULL

---@class gpuorch.scheduler_options
---@field form "resident"|"graphs"|"while"
---@field queue queue a ring without GPO_QUEUE_TICKETS, or a host ring, of the same device
---@field source? string CUDA C++ with the handlers' functions; GPO_SCHEDULER_GRAPHS: NULL
---
---@field file_name? string name of the source in the compiler's messages; NULL: "handlers.cu"
---@field compile_options? string[] as gpo_compile_options.options
---@field workers? "auto"|"thread"|"warp"|"block" by default GPO_WORKER_WARP
---
---@field threads? integer threads of a block, a multiple of 32 up to 1024; by default 128
---@field blocks_per_multiprocessor? integer blocks on each multiprocessor; by default 1
---
---@field multiprocessors? integer number for the scheduler's blocks; by default all that no other scheduler has, less `leave_free`
---@field leave_free? integer multiprocessors to be left to other work
---
---@field batch? integer GPO_SCHEDULER_WHILE: tasks of a worker in a turn, by default 16; GPO_SCHEDULER_GRAPHS: tasks of a step, up to 120, by default 120
---
---@field max_errors? integer how many errors are stored, the first ones, up to 4096; by default 64
---@field dynamic_shared_bytes? gpuorch.exact shared memory of each block, for handlers
---
---@field idle_timeout_ns? gpuorch.exact the run ends after this time with nothing to do; 0: never
---@field sample_interval_ns? gpuorch.exact how often the queue's depth is noted; by default a millisecond
---@field label? string

---@class gpuorch.scheduler_info
---@field form "none"|"resident"|"graphs"|"while"
---@field state "ready"|"running"|"draining"|"stopping"
---
---@field last_end string why the last run ended: GPO_SUCCESS: drained; GPO_END: the queue is at its end; GPO_CANCELLED: stopped, or the queue was aborted; GPO_TIMEOUT: idle; GPO_LIMIT_EXCEEDED: the while has turned 2^32 - 1 times; GPO_NOT_READY: no run has ended
---
---@field runs gpuorch.exact runs that were started
---@field tasks gpuorch.exact tasks that were done, failed ones included
---@field errors gpuorch.exact tasks that failed
---
---@field refused_pushes gpuorch.exact pushes by handlers that found no room, or the queue aborted
---@field depth gpuorch.exact tasks in the queue's device memory that wait
---
---@field steps gpuorch.exact turns of a while, or of a step graph
---@field empty_polls gpuorch.exact how often a worker looked and found nothing
---@field busy_ns gpuorch.exact time in handlers, of all workers together
---
---@field worker_ns gpuorch.exact time of all workers together on the GPU: busy_ns / worker_ns is the busy share
---@field multiprocessors integer that the scheduler takes
---@field blocks integer
---
---@field workers integer that do tasks, in all blocks together
---@field handlers integer
---@field device_bytes gpuorch.exact device memory that the scheduler has, without its queue's

---@class gpuorch.handler_info
---@field tasks gpuorch.exact that the handler did, failed ones included
---@field errors gpuorch.exact number of failed tasks
---@field busy_ns gpuorch.exact time in the handler, of all workers together; GPO_SCHEDULER_GRAPHS: 0

---@class gpuorch.scheduler_block
---@field multiprocessor integer that the block ran on last
---@field workers integer of the block; 0: the block hands out the host's tasks, or is the step of a graph
---
---@field tasks gpuorch.exact
---@field empty_polls gpuorch.exact
---@field busy_ns gpuorch.exact time in handlers, of the block's workers together
---@field worker_ns gpuorch.exact time of the block's workers together on the GPU

---@class gpuorch.depth_sample
---@field run integer from 1
---@field time_ns gpuorch.exact since the run began, by the GPU's clock
---@field depth gpuorch.exact

---@class gpuorch.task_error
---@field handler integer the number that the task begins with
---
---@field status string that the handler returned; GPO_NOT_FOUND: there is no handler of that number; GPO_TIMEOUT: only some of the worker's threads called answer() or again(); GPO_LIMIT_EXCEEDED, GPO_INVALID_ARGUMENT: a graph couldn't be launched
---
---@field priority integer of the ring
---@field position gpuorch.exact the task's place in the order in which its priority's tasks were taken, from 0, since the queue was created or reset
---
---@field task string its first 16 bytes
---@field code integer

---@class gpuorch.failure
---@field status string
---@field native_code integer 0 if there is none
---@field native_domain "none"|"cuda"|"errno"|"nvrtc"|"nccl"
---@field operation gpuorch.exact number of the failed operation on its stream, from 1; 0: none
---
---@field function string the function that was called, or the driver's function that failed
---@field object string type and label of the culprit: "stream `upload`", "kernel `blur`"
---
---@field message string one sentence; for a lost device with the operations that may have caused the loss

---@class gpuorch.stream_options
---@field blocking? boolean
---@field learns? boolean
---@field resident? boolean
---@field priority? integer 0 is the default; lower numbers run first; clamped to gpo_device_get_priority_range
---
---@field max_held? integer how many operations may be held; by default 65536
---@field label? string

---@class gpuorch.stream_info
---@field blocking boolean
---@field learns boolean
---@field resident boolean
---@field priority integer that the driver gave the stream
---@field wrapped boolean 1: made by gpo_stream_wrap
---
---@field accepted gpuorch.exact number of the newest operation
---@field completed gpuorch.exact number of the newest operation that the library has seen completed
---@field held gpuorch.exact how many operations are held now
---
---@field replayed gpuorch.exact how many operations of a stream that learns were launched as parts of learned sequences
---@field learned integer how many operations the learned sequence has; 0: no sequence is learned now

---@class gpuorch.stream_pool_options
---@field streams? integer streams for each priority; by default 4
---
---@field priorities? integer how many priorities, from 0 upwards to greater ones; by default 1; at most as many as the device has
---@field label? string

---@class gpuorch.symmetric_options
---@field alignment? gpuorch.exact of the memory's address on each device: a power of two, 256 to 2097152; by default 256
---@field label? string
---
---@field engine? "auto"|"direct"|"nccl"|"host"|"nvshmem" GPO_ENGINE_DIRECT, or for a group of several processes GPO_ENGINE_NVSHMEM; by default direct
---@field remote? boolean

---@class gpuorch.symmetric_info
---@field ranks integer how many
---@field bytes gpuorch.exact of each rank, as requested
---@field alignment gpuorch.exact of each rank's address
---@field device_bytes gpuorch.exact allocated on each device, with the barriers' part
---
---@field barrier_blocks integer most blocks of a kernel that uses barriers: as many as fit on the largest of the devices at once
---
---@field native_atomics boolean 1: atomic operations on each other's memory are native for all ranks

---@class gpuorch.rank_launch
---@field stream stream of the rank's device
---@field kernel kernel of the rank's device

---@class gpuorch.template_options
---@field max_instances? integer most graphs that gpo_template_launch makes; by default 64
---@field label? string

---@class gpuorch.condition
---@field comparison? "kernel"|"equal"|"not_equal"|"less"|"greater_equal"|"value"
---@field constant? integer
---@field initial? integer with GPO_COMPARE_KERNEL: the condition when the graph starts
---
---@field max_iterations? gpuorch.exact of a while: after that many the loop ends; by default 2^32 - 1; at most that

---@class gpuorch.template_statistics
---@field nodes integer with those of bodies, once it has a graph
---@field parameters integer
---@field instances integer graphs that exist now, those of gpo_template_launch included
---
---@field pooled integer how many of the instances are those of gpo_template_launch
---@field recordings integer how often it was recorded
---@field launches gpuorch.exact of all its graphs
---
---@field patches gpuorch.exact nodes that a launch gave the driver anew
---@field updates gpuorch.exact graphs that took over a new recording in place
---
---@field rebuilds gpuorch.exact graphs that had to be instantiated anew for a new recording
---
---@field instance_bytes gpuorch.exact by how much free device memory fell while the newest graph with GPO_GRAPH_UPLOAD or GPO_GRAPH_DEVICE_LAUNCH was made; 0: by nothing, or there was none
---
---@field waiting_frees gpuorch.exact frees of memory that wait for graphs of this template (see Lifetime)
---@field last_rebuild string why the last graph was rebuilt: the node and what differs; "" if none was
---
---@field held_words gpuorch.exact words of arguments larger than 8 bytes that hold memory for graphs now (see Lifetime)
---
---@field waiting_for_words gpuorch.exact the waiting_frees that only held words hold up: addresses, or numbers that happen to be addresses
---
---@field dropped gpuorch.exact values that were set, in graphs or for held launches, and that a new recording had no place for (see Parameters)
---
---@field last_dropped string the parameter of the newest dropped value, and why; "" if there was none

---@class gpuorch.graph_options
---@field upload? boolean
---@field device_launch? boolean
---@field label? string

---@class gpuorch.graph_update_report
---@field rebuilt boolean 0: updated in place, or it was up to date; 1: instantiated anew
---
---@field node integer of the new recording: the first that differs in kind or place; 0: none, or none to name
---
---@field reason string why it was rebuilt: node, old, new; "" if it wasn't
---@field dropped integer values that were set in the graph and that the new recording has no place for
---
---@field dropped_parameter string the first of their parameters; "" if there is none
---@field dropped_reason string why it was dropped; "" if no value was

---@class gpuorch.timeline_options
---@field value? gpuorch.exact the initial value
---@field label? string

---@class gpuorch.trace_options
---@field no_gpu_times? boolean
---@field path? string the trace's file, replaced if it exists, and gzipped if its name ends in .gz
---@field picture? string the SVG's file, written when the trace ends
---
---@field title? string heading of the picture; NULL: the program's name

---@class gpuorch.trace_info
---@field running boolean 1: a trace is running
---@field file_status string GPO_SUCCESS; GPO_IO_ERROR once a file could not be written any more
---
---@field calls gpuorch.exact calls of the library recorded by the newest trace
---@field operations gpuorch.exact operations of streams: copies, fills, kernels and graphs, and what orders them (waits, signals, host calls)
---
---@field timed gpuorch.exact copies, fills, kernels and graphs among them whose GPU times are known by now
---@field completions gpuorch.exact
---
---@field dropped gpuorch.exact records lost because a thread's buffer was full or there was no memory
---@field file_bytes gpuorch.exact bytes written to `path`
---
---@field call_cost_ns gpuorch.exact time that recording a call costs its thread, measured at the start
---@field operation_cost_ns gpuorch.exact the same for an operation with its GPU times; 0 while no device is open
---
---@field clock_error_ns gpuorch.exact greatest error of GPU times on the host's clock; 0: no device is open yet
---@field callbacks gpuorch.exact functions of the program that the library called, with those of pipelines

---@class runtime
local runtime = {}

--- Ends a runtime. False, with GPO_TIMEOUT as the third result: something still runs.
---@param seconds? number
---@return boolean?
function runtime:shutdown(seconds) end

--- Says which driver the runtime uses, and loads the driver if that has not happened yet.
---@return gpuorch.driver_info?
function runtime:driver() end

--- Reads the counters.
---@return gpuorch.statistics?
function runtime:statistics() end

--- Says how many devices the runtime shows.
---@return integer?
function runtime:device_count() end

--- Describes device `ordinal` (from 0), which need not be open.
---@param ordinal? integer
---@return gpuorch.device_properties?
function runtime:describe_device(ordinal) end

--- Describes how device `from` reaches device `to`.
---@param from integer
---@param to integer
---@return gpuorch.peer_properties?
function runtime:describe_peer(from, to) end

--- Opens a device.
---@param options? gpuorch.device_options
---@return device?
function runtime:device_open(options) end

--- Creates a timeline.
---@param options? gpuorch.timeline_options
---@return timeline?
function runtime:timeline_create(options) end

--- Creates a queue of a runtime, for work of all its devices.
---@param options? gpuorch.cq_options
---@return cq?
function runtime:cq_create(options) end

--- Reads the metrics of a runtime.
---@return gpuorch.metrics?
function runtime:metrics() end

--- Writes the statistics and metrics of the runtime, and the metrics of every device on which an object was opened, in
--- Prometheus' text format 0.0.4.
---@return string?
function runtime:metrics_text() end

--- Lets the runtime's log function be called on `executor` from now on, in the order of the lines.
---@param executor? executor
---@return true?
function runtime:set_log_executor(executor) end

--- Starts a trace of all devices of a runtime.
---@param options? gpuorch.trace_options
---@return true?
function runtime:trace_start(options) end

--- Stops the trace: writes what was recorded, and closes the files. gpo_runtime_shutdown does so too.
---@return true?
function runtime:trace_stop() end

--- Describes the running trace, or the last one if none is running.
---@return gpuorch.trace_info?
function runtime:trace_info() end

--- Writes a few lines of text about the running trace, as far as it has come, or about the last one.
---@return string?
function runtime:trace_summary() end

--- Creates an admission.
---@param options? gpuorch.admission_options
---@return admission?
function runtime:admission_create(options) end

---@class device
local device = {}

--- Describes an open device, as gpo_runtime_describe_device does.
---@return gpuorch.device_properties?
function device:properties() end

--- Waits until all work that was put on the device's streams before the call is done, and until memory that was freed
--- behind this work is free. False, with GPO_TIMEOUT as the third result: the timeout passed.
---@param seconds? number
---@return boolean?
function device:wait(seconds) end

--- Writes the CUcontext and the CUdevice behind a handle, for use with other libraries.
---@return gpuorch.exact? context, integer? ordinal
function device:native() end

--- Writes the free and the total bytes of device memory, as the driver sees them now.
---@return gpuorch.exact? free_bytes, gpuorch.exact? total_bytes
function device:memory() end

--- Lets kernels and copies on `device` access the memory of `peer`.
---@param peer device
---@return true?
function device:enable_peer(peer) end

--- Ends the access of kernels and copies on `device` to the memory of `peer`.
---@param peer device
---@return true?
function device:disable_peer(peer) end

--- Reads the value of `limit` (GPO_LIMIT_*) that is in force now.
---@param limit "stack_bytes"|"printf_bytes"|"heap_bytes"|"pending_launches"|"l2_fetch_bytes"|"persisting_l2_bytes"
---@return gpuorch.exact?
function device:limit(limit) end

--- Sets a limit.
---@param limit "stack_bytes"|"printf_bytes"|"heap_bytes"|"pending_launches"|"l2_fetch_bytes"|"persisting_l2_bytes"
---@param value gpuorch.exact
---@return true?
function device:set_limit(limit, value) end

--- Creates an event, which is not recorded yet.
---@param options? gpuorch.event_options
---@return event?
function device:event_create(options) end

--- Creates a stream.
---@param options? gpuorch.stream_options
---@return stream?
function device:stream_create(options) end

--- Makes a handle for a CUstream of the caller or of another library.
---@param native gpuorch.exact
---@param options? gpuorch.stream_options
---@return stream?
function device:stream_wrap(native, options) end

--- Writes the least and the greatest priority that streams of the device can have.
---@return integer? least, integer? greatest
function device:priority_range() end

--- Creates a pool and all of its streams: `streams` for each of `priorities`.
---@param options? gpuorch.stream_pool_options
---@return stream_pool?
function device:stream_pool_create(options) end

--- Creates an arena.
---@param options? gpuorch.arena_options
---@return arena?
function device:arena_create(options) end

--- Allocates device memory: `bytes` (1 or more), aligned to 256 or more.
---@param type gpuorch.element
---@param count integer
---@param label? string
---@return array?
function device:memory_allocate(type, count, label) end

--- Says what kind of memory `address` (not 0) points to.
---@param memory array|address
---@return gpuorch.memory_info?
function device:memory_describe(memory) end

--- Creates a pool of device memory.
---@param options? gpuorch.pool_options
---@return pool?
function device:pool_create(options) end

--- Loads a module from an image: for a CUDA device a cubin, fatbin or PTX; for the software GPU a shared object that
--- the library made for it (gpo_module_get_image).
---@param image string
---@param label? string
---@return module?
function device:module_load(image, label) end

--- Loads the module of built-in kernels, which need no compiler.
---@return module?
function device:module_load_builtin() end

--- Reads the metrics of a device.
---@return gpuorch.device_metrics?
function device:metrics() end

--- Creates an empty template for graphs on `device`.
---@param options? gpuorch.template_options
---@return template?
function device:template(options) end

--- Makes a template of a CUgraph of the caller or of another library.
---@param native gpuorch.exact
---@param options? gpuorch.template_options
---@return template?
function device:template_import(native, options) end

--- Creates a queue.
---@param options gpuorch.queue_options
---@return queue?
function device:queue(options) end

--- Writes what things cost on a device: an H200's costs, with the multiprocessors and the rates of memory and
--- arithmetic of this device.
---@param options? {probe: boolean?}
---@return gpuorch.costs?
function device:costs(options) end

--- Writes the bytes by which another process imports memory of gpo_memory_allocate.
---@param memory array
---@return string?
function device:memory_export(memory) end

--- Makes a handle for an event that another process has exported.
---@param exported string
---@param label? string
---@return event?
function device:event_import(exported, label) end

---@class stream
local stream = {}

--- Writes what the library knows of a stream.
---@return gpuorch.stream_info?
function stream:info() end

--- Writes the CUstream behind the handle.
---@return gpuorch.exact?
function stream:native() end

--- Says whether all work that was put on the stream is done.
---@return boolean?
function stream:query() end

--- Waits for all work that was put on the stream before the call. False, with GPO_TIMEOUT as the third result: the
--- timeout passed.
---@param seconds? number
---@return boolean?
function stream:wait(seconds) end

--- Cancels all operations that are held on the stream: they complete with GPO_CANCELLED.
---@return gpuorch.exact?
function stream:cancel_held() end

--- Makes later work on the stream wait, on the GPU, until the event's newest recording is complete.
---@param event event
---@return true?
function stream:wait_event(event) end

--- Makes later work on `stream` wait, on the GPU, until all work that was put on `other` before the call is done.
---@param other stream
---@return true?
function stream:wait_stream(other) end

--- Makes later work on the stream wait until the timeline reaches `value`.
---@param timeline timeline
---@param value gpuorch.exact
---@return true?
function stream:wait_timeline(timeline, value) end

--- Raises the timeline to `value` when all work that was put on the stream before the call is done.
---@param timeline timeline
---@param value gpuorch.exact
---@return true?
function stream:signal_timeline(timeline, value) end

--- Puts a mark behind all work that is on the stream now. False, with GPO_WOULD_BLOCK as the third result: the queue is
--- full: accepted notifies count as long as their entries have not been drained.
---@param queue? cq
---@param user_data? any
---@return operation|boolean?
function stream:notify(queue, user_data) end

--- Like gpo_stream_notify, and the entry's `gpu_ns` has the GPU time from the newest recording of `since` to the mark.
---@param since event
---@param queue? cq
---@param user_data? any
---@return operation|boolean?
function stream:notify_timed(since, queue, user_data) end

--- Calls `callback` when all work that is on the stream now is done: as gpo_stream_notify. False, with GPO_WOULD_BLOCK
--- as the third result: the executor has no room; the callback is never called.
---@param executor executor
---@param f fun(completion: gpuorch.completion, failure: gpuorch.failure?)
---@return boolean?
function stream:then_(executor, f) end

--- Puts a host call on a stream: `function` runs on the executor when all work before it on the stream is done. False,
--- with GPO_WOULD_BLOCK as the third result: the executor or the stream has no room.
---@param executor executor
---@param f fun(call: {call: integer, status: string}, failure: gpuorch.failure?): boolean?
---@return boolean?
function stream:host_call(executor, f) end

---@class stream_pool
local stream_pool = {}

--- Gives an acquired stream back.
---@param stream stream
---@return true?
function stream_pool:release(stream) end

---@class event
local event = {}

--- Records the event behind all work that was put on the stream before the call.
---@param stream stream
---@return true?
function event:record(stream) end

--- Says whether the newest recording is complete.
---@return boolean?
function event:query() end

--- Waits until the newest recording is complete. False, with GPO_TIMEOUT as the third result: the timeout passed.
---@param seconds? number
---@return boolean?
function event:wait(seconds) end

--- Writes the GPU time from the newest recording of `start` to that of `end`, in nanoseconds, with the driver's
--- resolution (about 0.5 us). False, with GPO_NOT_READY as the third result: a recording is not complete.
---@param end_ event
---@return gpuorch.exact|boolean?
function event:elapsed(end_) end

--- Puts an entry into `cq` (completion.h) when the newest recording is complete, at once if the event was never
--- recorded. False, with GPO_WOULD_BLOCK as the third result: the queue is full; no entry will come.
---@param queue? cq
---@param user_data? any
---@return operation|boolean?
function event:notify(queue, user_data) end

--- Writes the CUevent behind the handle.
---@return gpuorch.exact?
function event:native() end

--- Calls `callback` when the event's newest recording is complete or has failed: as gpo_event_notify.
---@param executor executor
---@param f fun(completion: gpuorch.completion, failure: gpuorch.failure?)
---@return boolean?
function event:then_(executor, f) end

--- Writes the bytes by which another process imports an event that was made with GPO_EVENT_INTERPROCESS.
---@return string?
function event:export() end

---@class timeline
local timeline = {}

--- Raises the timeline to `value` from the host, and releases the waits for it.
---@param value gpuorch.exact
---@return true?
function timeline:signal(value) end

--- Fails the timeline with `status`, which must be 50 or above (else GPO_INVALID_ARGUMENT), and a sentence, which may
--- be NULL.
---@param status string
---@param message? string
---@return true?
function timeline:fail(status, message) end

--- Writes the value that has been reached.
---@return gpuorch.exact?
function timeline:value() end

--- Waits on the host until `value` is reached. False, with GPO_TIMEOUT as the third result: the timeout passed.
---@param value gpuorch.exact
---@param seconds? number
---@return boolean?
function timeline:wait(value, seconds) end

--- Puts an entry into `cq` when the timeline reaches `value`, at once if it has. False, with GPO_WOULD_BLOCK as the
--- third result: the queue is full; no entry will come.
---@param value gpuorch.exact
---@param queue? cq
---@param user_data? any
---@return operation|boolean?
function timeline:notify(value, queue, user_data) end

--- Calls `callback` when the timeline reaches `value` or can't reach it any more: as gpo_timeline_notify.
---@param value gpuorch.exact
---@param executor executor
---@param f fun(completion: gpuorch.completion, failure: gpuorch.failure?)
---@return boolean?
function timeline:then_(value, executor, f) end

---@class cq
local cq = {}

--- Waits until the queue has an entry or gpo_cq_wake is called. False, with GPO_TIMEOUT as the third result: the
--- timeout passed.
---@param seconds? number
---@return boolean?
function cq:wait(seconds) end

--- Makes one gpo_cq_wait, in progress or the next, return GPO_SUCCESS, and makes the descriptor readable.
---@return true?
function cq:wake() end

--- Reads the counts since the queue was created.
---@return gpuorch.cq_statistics?
function cq:statistics() end

---@class arena
local arena = {}

--- Allocates a piece of `bytes` (1 or more), aligned to `alignment` (a power of two up to 1 MiB; by default 256).
---@param type gpuorch.element
---@param count integer
---@param alignment? gpuorch.exact
---@return array?
function arena:allocate(type, count, alignment) end

--- Frees a piece at once: no GPU may be using it.
---@param array array
---@return true?
function arena:free(array) end

--- Frees a piece when all work that is on `stream` now is done: for memory that a copy still reads.
---@param array array
---@param stream stream
---@return true?
function arena:free_after(array, stream) end

--- Gives empty slabs back to the driver until at most `keep_bytes` are reserved.
---@param keep_bytes? gpuorch.exact
---@return true?
function arena:trim(keep_bytes) end

--- Reads the arena's figures.
---@return gpuorch.memory_statistics?
function arena:statistics() end

---@class pool
local pool = {}

--- Allocates a piece of `bytes` (1 or more).
---@param stream stream
---@param type gpuorch.element
---@param count integer
---@return array?
function pool:allocate(stream, type, count) end

--- Gives unused memory back to the system until at most `keep_bytes` are reserved.
---@param keep_bytes? gpuorch.exact
---@return true?
function pool:trim(keep_bytes) end

--- Reads the pool's figures.
---@return gpuorch.memory_statistics?
function pool:statistics() end

---@class module
local module = {}

--- Copies the image that a module was made from into `buffer`, to be stored and loaded again.
---@return string?
function module:image() end

---@class kernel
local kernel = {}

--- Writes what the driver says of a kernel.
---@return gpuorch.kernel_attributes?
function kernel:attributes() end

--- Writes the function's name in the image.
---@return string?
function kernel:name() end

--- Writes the CUfunction behind the handle.
---@return gpuorch.exact?
function kernel:native() end

--- Allows launches of this kernel to use up to `bytes` of dynamic shared memory.
---@param bytes gpuorch.exact
---@return true?
function kernel:set_max_dynamic_shared(bytes) end

--- Writes how many blocks of `threads` threads, each with `dynamic_shared_bytes`, fit on a multiprocessor at once.
---@param threads integer
---@param dynamic_shared_bytes? gpuorch.exact
---@return integer?
function kernel:occupancy(threads, dynamic_shared_bytes) end

--- Suggests a launch shape: `threads` gets the block size with the best occupancy, at most `max_threads` (0: no bound),
--- and `blocks` the fewest blocks that fill the device.
---@param dynamic_shared_bytes? gpuorch.exact
---@param max_threads? integer
---@return integer? threads, integer? blocks
function kernel:suggest_shape(dynamic_shared_bytes, max_threads) end

--- Writes the offset and the size, both in bytes, of parameter `index` (from 0) in the kernel's parameters.
---@param index integer
---@return gpuorch.exact? offset, gpuorch.exact? bytes
function kernel:parameter(index) end

---@class pipeline
local pipeline = {}

--- Ends the run early: no further chunk is begun, chunks under way are finished and their output is dropped, and the
--- run's status is GPO_CANCELLED.
---@return true?
function pipeline:cancel() end

--- Puts an entry into `cq` (completion.h) when the run has ended, at once if it has. False, with GPO_WOULD_BLOCK as the
--- third result: the queue is full; no entry will come.
---@param queue? cq
---@param user_data? any
---@return operation|boolean?
function pipeline:notify(queue, user_data) end

--- Says how far the run is, or how far the last run came.
---@return gpuorch.pipeline_progress?
function pipeline:progress() end

--- Calls `callback` when the pipeline's run has ended: as gpo_pipeline_notify.
---@param executor executor
---@param f fun(completion: gpuorch.completion, failure: gpuorch.failure?)
---@return boolean?
function pipeline:then_(executor, f) end

--- Reads a device's share of the work in the run that ended last.
---@param device integer
---@return gpuorch.pipeline_share?
function pipeline:share(device) end

---@class executor
local executor = {}

--- Runs callbacks on the calling thread until no accepted callback is pending.
---@return gpuorch.exact?
function executor:run() end

--- Runs the callbacks that are due and returns GPO_SUCCESS, also if there was none.
---@return gpuorch.exact?
function executor:poll() end

--- Reads the counts since the executor was created.
---@return gpuorch.executor_statistics?
function executor:statistics() end

--- Finishes a host call, from any thread, also before its function has returned.
---@param call gpuorch.exact
---@param status? string
---@param message? string
---@return true?
function executor:host_call_finish(call, status, message) end

--- Calls `callback` as soon as a thread runs the executor and is free, with GPO_SUCCESS and the origin
--- GPO_ORIGIN_EXECUTOR. False, with GPO_WOULD_BLOCK as the third result: the executor has no room; the callback is
--- never called.
---@param f fun(completion: gpuorch.completion, failure: gpuorch.failure?)
---@return boolean?
function executor:post(f) end

--- Lets a callback that still waits for its time be called at once, with GPO_CANCELLED, as if it had been posted now.
---@param ticket gpuorch.exact
---@return true?
function executor:cancel(ticket) end

--- The time now, by the clock of gpo_executor_post_at: CLOCK_MONOTONIC, and in deterministic mode
--- (gpo_runtime_options.schedule_seed) the virtual clock.
---@return gpuorch.exact?
function executor:time() end

---@class template
local template = {}

--- Begins a recording: until gpo_template_end, work that is put on `stream` is recorded and doesn't run.
---@param stream stream
---@return true?
function template:begin(stream) end

--- Ends the recording.
---@return true?
function template:end_() end

--- Discards the recording.
---@return true?
function template:cancel() end

--- During a recording: writes the node that was recorded last on `stream`; 0 if there is none, or if the stream waits
--- for several nodes.
---@param stream stream
---@return integer?
function template:last_node(stream) end

--- During a recording: later work on `stream` comes after `node` instead of the stream's last nodes.
---@param stream stream
---@param node integer
---@return true?
function template:set_last_node(stream, node) end

--- A node that does nothing, to join others.
---@param after? gpuorch.nodes
---@return integer?
function template:add_empty(after) end

--- Each launch of the graph records `event` (event.h) when it reaches this node.
---@param after? gpuorch.nodes
---@param event event
---@return integer?
function template:add_event_record(after, event) end

--- Later nodes wait, on the GPU, for the recording of `event` that is the newest when the graph is launched.
---@param after? gpuorch.nodes
---@param event event
---@return integer?
function template:add_event_wait(after, event) end

--- Adds copies of all nodes of `child`, with conditional nodes and their bodies, after `after`.
---@param after? gpuorch.nodes
---@param child template
---@param prefix? string
---@return integer?
function template:add_child(after, child, prefix) end

--- Finds a node by its label: that of gpo_launch, or the kernel's.
---@param label string
---@return integer?
function template:find_node(label) end

--- Writes the CUgraph behind the template.
---@return gpuorch.exact?
function template:native() end

--- Removes all nodes and parameters, so that the template can be built anew.
---@return true?
function template:clear() end

--- Reads the size of a template, and the counters of its graphs.
---@return gpuorch.template_statistics?
function template:statistics() end

--- Makes a graph of the template as it is now.
---@param options? gpuorch.graph_options
---@return graph?
function template:graph(options) end

--- Makes graphs for gpo_template_launch in advance, until there are `count`, and uploads them on `stream`.
---@param count integer
---@param stream stream
---@return true?
function template:prepare(count, stream) end

--- Gives a kernel node the condition of a node that was made with GPO_COMPARE_KERNEL: argument `index` becomes the
--- handle that gpo::set_condition takes (gpuorch/device/graph.cuh; 8 bytes, of type gpo::condition).
---@param kernel_node integer
---@param index integer
---@param conditional_in template
---@param conditional integer
---@return true?
function template:bind_condition(kernel_node, index, conditional_in, conditional) end

--- Draws the template: its nodes with their labels, operations and parameters, the order between them, and bodies
--- inside of their conditional nodes.
---@param format? "dot"|"svg"
---@return string?
function template:picture(format) end

--- Device memory that the template owns.
---@param type gpuorch.element
---@param count integer
---@return array?
function template:allocate(type, count) end

--- Pinned host memory with the same lifetime, which kernels of all devices use at the same address as the host.
---@param type gpuorch.element
---@param count integer
---@return array?
function template:allocate_host(type, count) end

---@class graph
local graph = {}

--- Puts all of the graph's work on a stream, as one operation.
---@param stream stream
---@return true?
function graph:launch(stream) end

--- Uploads the graph in stream order, so that the next launch needn't.
---@param stream stream
---@return true?
function graph:upload(stream) end

--- Brings the graph to the template's newest recording: in place if its shape is the same, else by instantiating it
--- anew.
---@return gpuorch.graph_update_report?
function graph:update() end

--- Writes the CUgraphExec behind the graph, with all values that were set in it.
---@return gpuorch.exact?
function graph:native() end

--- How often the body of a while ran in the newest launch that is done, and whether `max_iterations` ended it.
---@param conditional_in template
---@param node integer
---@return gpuorch.exact? iterations, boolean? limited
function graph:loop(conditional_in, node) end

--- Reads that word: the last failure of a device launch by this handle since the last call; GPO_SUCCESS if there was
--- none.
---@return string?
function graph:device_status() end

---@class buckets
local buckets = {}

--- Records all buckets that aren't recorded yet, the largest first, as far as `max_bytes` and `max_buckets` allow: a
--- bucket that doesn't fit is left out, and none is evicted for it.
---@param stream stream
---@return true?
function buckets:prepare(stream) end

--- Reads the counters of the buckets and their requests.
---@return gpuorch.buckets_statistics?
function buckets:statistics() end

---@class queue
local queue = {}

--- Writes the value that kernels take as an argument: a gpo::range (64 bytes), gpo::ring (96 bytes) or gpo::host_ring
--- (192 bytes) of device/queue.cuh.
---@return string?
function queue:device_handle() end

--- Makes a ring empty and open, or has a range begin anew although workers of the previous launch left it early; as
--- work of the stream. False, with GPO_WOULD_BLOCK as the third result: the stream holds as many operations as it may;
--- a part of the work may have been put on it.
---@param stream stream
---@return boolean?
function queue:reset(stream) end

--- Closes a ring or host ring.
---@return true?
function queue:close_ring() end

--- Aborts a ring or host ring, also a closed one.
---@return true?
function queue:abort() end

--- Describes a queue.
---@return gpuorch.queue_info?
function queue:info() end

---@class scheduler
local scheduler = {}

--- Begins a run.
---@return true?
function scheduler:start() end

--- Asks the run to end when all earlier posted or pushed tasks are done, with the tasks that they push, and waits for
--- the end. False, with GPO_TIMEOUT as the third result: the timeout passed.
---@param seconds? number
---@return boolean?
function scheduler:drain(seconds) end

--- Asks the run to end, and waits for the end: handlers that have begun return, and no other begins. False, with
--- GPO_TIMEOUT as the third result: the timeout passed, and a handler has still not returned.
---@param seconds? number
---@return boolean?
function scheduler:stop(seconds) end

--- Waits until the run has ended, without asking it to. False, with GPO_TIMEOUT as the third result: the timeout
--- passed.
---@param seconds? number
---@return boolean?
function scheduler:wait(seconds) end

--- Describes a scheduler.
---@return gpuorch.scheduler_info?
function scheduler:info() end

--- Writes what was done by the handler of a number.
---@param handler integer
---@return gpuorch.handler_info?
function scheduler:handler(handler) end

--- Writes the figures of the blocks in their order.
---@return gpuorch.scheduler_block[]?
function scheduler:blocks() end

--- Writes the newest samples of the queue's depth, oldest first; at most 1024 are stored.
---@return gpuorch.depth_sample[]?
function scheduler:samples() end

--- Writes the first errors since the scheduler was created, up to `capacity`, in the order in which they were found.
---@return gpuorch.task_error[]?
function scheduler:errors() end

---@class peers
local peers = {}

--- Describes a group.
---@return gpuorch.peers_info?
function peers:info() end

--- Says how rank `from` reaches the memory of rank `to`.
---@param from integer
---@param to integer
---@return gpuorch.peer_properties?
function peers:link(from, to) end

--- Allocates `bytes` (1 to 2^48) of memory, zeroed, on each device of the group.
---@param bytes gpuorch.exact
---@param options? gpuorch.symmetric_options
---@return symmetric?
function peers:allocate(bytes, options) end

--- Breaks a group of several processes.
---@return true?
function peers:abort() end

---@class symmetric
local symmetric = {}

--- Writes the address of a rank's memory, for copies, fills and kernels' arguments.
---@param rank integer
---@return address?
function symmetric:address(rank) end

--- Writes the value that kernels of this rank take as an argument, a gpo::symmetric of device/peer.cuh.
---@param rank integer
---@return string?
function symmetric:device_handle(rank) end

--- Puts a rank's barriers back to their begin, as work of the stream. False, with GPO_WOULD_BLOCK as the third result:
--- the stream holds as many operations as it may.
---@param rank integer
---@param stream stream
---@return boolean?
function symmetric:reset(rank, stream) end

--- Describes the memory.
---@return gpuorch.symmetric_info?
function symmetric:info() end

---@class admission: object
local admission = {}

--- Asks for a place. False, with GPO_WOULD_BLOCK as the third result: the line has no room, or the queue is full.
--- False, with GPO_TIMEOUT as the third result: the deadline has passed already.
---@param request? gpuorch.admission_request
---@param queue? cq
---@param user_data? any
---@return operation|boolean?, gpuorch.exact? ticket
function admission:enter(request, queue, user_data) end

--- Like gpo_admission_enter, but calls `callback` on `executor` (executor.h) in place of an entry. False, with
--- GPO_WOULD_BLOCK as the third result: the line or the executor has no room; the callback is never called.
---@param request? gpuorch.admission_request
---@param executor executor
---@param f fun(completion: gpuorch.completion, failure: gpuorch.failure?)
---@return boolean?, gpuorch.exact? ticket
function admission:enter_then(request, executor, f) end

--- Takes a waiting request out of the line.
---@param ticket gpuorch.exact
---@return true?
function admission:cancel(ticket) end

--- Gives a place back at once.
---@param ticket gpuorch.exact
---@return true?
function admission:leave(ticket) end

--- Gives a place back in stream order: when all work that is on the stream now has ended, also by a failure. False,
--- with GPO_WOULD_BLOCK as the third result: the stream holds as many operations as it may.
---@param ticket gpuorch.exact
---@param stream stream
---@return boolean?
function admission:leave_after(ticket, stream) end

--- Changes the budgets: `count` places and `bytes` bytes, UINT64_MAX: unlimited.
---@param count gpuorch.exact
---@param bytes gpuorch.exact
---@return true?
function admission:set_budget(count, bytes) end

--- Sets the weight of a flow, 1 to 2^16, from its next turn on.
---@param flow gpuorch.exact
---@param weight integer
---@return true?
function admission:set_flow(flow, weight) end

--- Describes an admission at one moment.
---@return gpuorch.admission_info?
function admission:info() end

---@class batcher
local batcher = {}

--- Takes a waiting request out of the line.
---@param ticket gpuorch.exact
---@return true?
function batcher:cancel(ticket) end

--- Sets the weight of a flow, 1 to 2^16, in all keys, from its next turn on.
---@param flow gpuorch.exact
---@param weight integer
---@return true?
function batcher:set_flow(flow, weight) end

--- Describes a batcher, all of its keys together.
---@return gpuorch.batcher_info?
function batcher:info() end

--- Describes a key.
---@param key integer
---@return gpuorch.batcher_info?
function batcher:key_info(key) end

--- Describes a flow.
---@param flow gpuorch.exact
---@return gpuorch.batcher_flow_info?
function batcher:flow_info(flow) end

---@class gpuorch
local gpuorch = {}

--- Writes the last failure of a call that the calling thread made to `error`; `error->status` is 0 if there was none.
---@return gpuorch.failure?
function gpuorch.last_error() end

--- Writes the compiler's text, with warnings, from the last gpo_module_compile or gpo_module_load of the calling
--- thread; "" if the compiler had nothing to say.
---@return string?
function gpuorch.last_compile_log() end

--- Makes an id for one group and writes it to `buffer`: GPO_PEERS_ID_BYTES bytes, which one process passes to the
--- others by any means of its own.
---@return string?
function gpuorch.peers_make_id() end

return gpuorch
