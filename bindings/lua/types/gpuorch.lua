---@meta gpuorch
-- Types of the module for the Lua language server. The C headers say what each function does: object:verb here is
-- gpo_<object>_<verb> in libgpuorch/include/gpuorch/*.h. A failure returns nil, message, name of the status. An answer
-- such as GPO_TIMEOUT or GPO_WOULD_BLOCK returns false, message, name. A mistake in the call raises an error. Times that
-- are passed are in seconds. Times that are returned are in nanoseconds if their name ends in _ns. The file
-- gpuorch_abi.lua has the methods, and the fields of options and results, that follow from the ABI alone.

---@alias gpuorch.element "u8"|"i8"|"u16"|"i16"|"u32"|"i32"|"u64"|"i64"|"f32"|"f64"
---@alias gpuorch.exact integer|string an integer; a decimal string if the interpreter's numbers can't hold it
---@alias gpuorch.three integer|integer[] one to three numbers

---@class gpuorch.completion
---@field user_data any the value that notify() got

--- Memory that is no array. An integer is never taken for an address. address + n is n bytes further
---@class address
---@operator add(gpuorch.exact): address
local address = {}

--- the address as an integer
---@return gpuorch.exact
function address:pointer() end

---@class gpuorch.stage
---@field kernel kernel?
---@field kernels kernel[]? instead of `kernel`, in a pipeline over several devices: one for each
--- {device = {value, ...}} is another value on each device
---@field arguments any[]? values, and the words input, output, scratch, result, input_bytes, output_bytes, index, offset
---@field enqueue fun(stream: stream, chunk: gpuorch.chunk)? instead of a kernel

---@class gpuorch.pipeline_options
---@field stages gpuorch.stage[]
---@field progress fun(progress: gpuorch.pipeline_progress)?
---@field devices device[]? several devices that share the work; the first is the device whose method is called

---@class gpuorch.source one of path, descriptor, memory and fill
---@field memory array|string?
---@field fill (fun(buffer: array): integer|string|nil)? bytes put into the buffer, a string, or nil at the end

---@class gpuorch.sink at most one of path, descriptor and memory
---@field memory array?
---@field take (fun(chunk: gpuorch.chunk): boolean?)? returning false ends the run with success

---@class gpuorch.chunk
---@field output array? of bytes; for sinks, valid during the call
---@field result array? of bytes; for sinks, valid during the call

---@alias gpuorch.nodes integer|integer[] the nodes that a new node comes after
---@alias gpuorch.values table<string|integer, any> values of parameters, by their names or numbers

---@class gpuorch.condition
---@field word? array|address

--- A round of work that the program repeats. Fields that aren't given count as unknown.
---@class gpuorch.workload
---@field costs? gpuorch.costs
---@field task_costs? number[]

---@class launch
local launch = {}

--- All objects below have these methods too, except arrays and operations.
---@class object
local object = {}

--- closes the object; may be called again; the garbage collector and Lua 5.4's <close> call it too
function object:close() end

--- the object's sticky failure; without one, the failure of the last failed call on it
---@return gpuorch.failure?
function object:error() end

---@return string
function object:label() end

---@param label? string
---@return true?
function object:set_label(label) end

---@class runtime: object
local runtime = {}

--- the queue of operations for which no other queue was given
---@return cq
function runtime:completions() end

--- a group of devices of this process: the device at i of the list has rank i - 1
---@param options gpuorch.peers_options
---@return peers?
function runtime:peers(options) end

--- puts small requests together into large batches
---@param options gpuorch.batcher_options
---@return batcher?
function runtime:batcher(options) end

--- the executor's callbacks run in run(), run_for() and poll()
---@param options? gpuorch.executor_options
---@return executor?
function runtime:executor_create(options) end

---@class device: object
local device = {}

---@param memory array|address
---@return true?
function device:memory_free(memory) end

--- a device array of memory that another process has exported
---@param type gpuorch.element
---@param exported string
---@param label? string
---@return array?
function device:memory_import(type, exported, label) end

--- an array takes its options second
---@param memory array|address
---@param bytes? integer
---@param options? {read_only: boolean?}
---@return true?
function device:host_register(memory, bytes, options) end

--- ends a registration
---@param memory array|address
---@return true?
function device:host_unregister(memory) end

--- CUDA C++
---@param source string|table
---@param options? gpuorch.compile_options
---@return module?
function device:module_compile(source, options) end

---@param options gpuorch.pipeline_options
---@return pipeline?
function device:pipeline_create(options) end

---@param options gpuorch.buckets_options
---@return buckets?
function device:buckets(options) end

---@param options gpuorch.scheduler_options
---@return scheduler?
function device:scheduler(options) end

--- a group of several processes; blocks until all have joined, and Ctrl-C doesn't end that
---@param options gpuorch.join_options
---@return peers?
function device:join(options) end

--- which forms of work fit the workload, the best first; and what a round's time goes to
---@param workload gpuorch.workload
---@return gpuorch.advice[]?, gpuorch.diagnosis?
function device:advise(workload) end

---@class stream: object
local stream = {}

---@return device
function stream:device() end

--- yields in coroutines of gpuorch.loop, luv and cqueues; waits anywhere else
---@param seconds? number
---@return boolean?
function stream:await(seconds) end

---@param destination array|address
---@param source array|string|address
---@param bytes? integer
---@return true?
function stream:copy_to_device(destination, source, bytes) end

---@param destination array|address
---@param source array|address
---@param bytes? integer
---@return true?
function stream:copy_to_host(destination, source, bytes) end

---@param destination array|address
---@param source array|address
---@param bytes? integer
---@return true?
function stream:copy_on_device(destination, source, bytes) end

---@param destination_device device
---@param destination array|address
---@param source_device device
---@param source array|address
---@param bytes? integer
---@return true?
function stream:copy_peer(destination_device, destination, source_device, source, bytes) end

---@param copies {destination: array|address, source: array|address, bytes: integer?}[]
---@return true?
function stream:copy_batch(copies) end

--- in bytes
---@param copy {destination: array|address, destination_pitch: integer, source: array|address, source_pitch: integer, width: integer, height: integer}
---@return true?
function stream:copy_rows(copy) end

--- type and count only with an address
---@param destination array|address
---@param value number|string
---@param type? gpuorch.element
---@param count? integer
---@return true?
function stream:fill(destination, value, type, count) end

--- bytes
---@param destination array|address
---@param pitch integer
---@param value integer
---@param width integer
---@param height integer
---@return true?
function stream:fill_rows(destination, pitch, value, width, height) end

--- arguments are converted by the kernel's signature
---@param kernel kernel
---@param launch launch|gpuorch.launch_options
---@param ... any
---@return true?
function stream:launch_kernel(kernel, launch, ...) end

---@class stream_pool: object
local stream_pool = {}

--- closing the stream gives it back to the pool
---@param priority? integer
---@return stream?
function stream_pool:acquire(priority) end

---@class event: object
local event = {}

---@param seconds? number
---@return boolean?
function event:await(seconds) end

---@class timeline: object
local timeline = {}

---@param value gpuorch.exact
---@param seconds? number
---@return boolean?
function timeline:await(value, seconds) end

--- A completion queue.
---@class cq: object
local cq = {}

--- returns entries with user_data, and completes operations. "GPO_SHUT_DOWN" if the runtime is shut down and no entry is left
---@param max? integer
---@return gpuorch.completion[]?
function cq:drain(max) end

--- completes operations and runs callbacks, returns no entries: for event loops
---@return boolean?
function cq:pump() end

--- a descriptor, readable when pump() or drain() may have something to do; the queue closes it
---@return integer?
function cq:fd() end

---@param error_id? integer
---@return gpuorch.failure?
function cq:error(error_id) end

--- A point in a stream that can be waited for. Closing the operation leaves the work unchanged.
---@class operation
local operation = {}

---@return boolean
function operation:ready() end

--- false: not ready
---@return boolean?
function operation:result() end

---@return gpuorch.completion|false
function operation:entry() end

---@param seconds? number
---@return boolean?
function operation:wait(seconds) end

---@param seconds? number
---@return boolean?
function operation:await(seconds) end

---@return cq
function operation:cq() end

--- f is called when the queue is drained; returns false if the operation is done already, and then f isn't called
---@param f fun(operation: operation)
---@return boolean
function operation:when_done(f) end

--- Pinned memory.
---@class arena: object
local arena = {}

--- Device memory in stream order.
---@class pool: object
local pool = {}

---@param array array
---@param stream stream
---@return true?
function pool:free(array, stream) end

--- Typed memory of the host or a device. On the host array[i] goes from 1 to #array. For a device array the methods for strings and
--- files take a stream as their first argument.
---@class array
local array = {}

---@param value number|string
---@param first? integer
---@param last? integer
---@return array
function array:fill(value, first, last) end

--- shares the memory
---@param first integer
---@param last? integer
---@return array
function array:slice(first, last) end

--- the same memory as another type
---@param type gpuorch.element
---@return array
function array:as(type) end

--- the elements as values
---@param first? integer
---@param last? integer
---@return gpuorch.exact ...
function array:unpack(first, last) end

---@return gpuorch.element
function array:type() end

---@return integer
function array:bytes() end

--- for ffi.cast; the array must stay alive
---@return gpuorch.exact
function array:pointer() end

---@param stream? stream
---@return string?
function array:to_string(stream) end

--- [stream,] bytes [, byte offset from 0]
---@param ... stream|string|integer
---@return array?
function array:from_string(...) end

--- [stream,] file or path: elements read
---@param ... stream|string|file*
---@return integer?
function array:read_file(...) end

--- [stream,] file or path
---@param ... stream|string|file*
---@return array?
function array:write_file(...) end

---@class module: object
local module = {}

--- words u8 to u64, i8 to i64, f32, f64, ptr, bytes:N
---@param name string
---@param signature? string
---@return kernel?
function module:kernel(name, signature) end

--- address and bytes, or with a type a device array
---@param name string
---@param type? gpuorch.element
---@return address|array?, gpuorch.exact?
function module:symbol(name, type) end

---@class kernel: object
local kernel = {}

--- A graph template: work that is recorded once, or built node by node, and launched many times. The template keeps the
--- arrays of its nodes.
---@class template: object
local template = {}

--- records what f puts on the stream; an error of f's discards the recording and is raised again. Returns true and what
--- f returned
---@param stream stream
---@param f fun(template: template): any
---@return true?, any ...
function template:record(stream, f) end

---@param after? gpuorch.nodes
---@param kernel kernel
---@param launch launch|gpuorch.launch_options
---@param ... any
---@return integer? node
function template:add_kernel(after, kernel, launch, ...) end

---@param after? gpuorch.nodes
---@param copy {destination: array|address, source: array|address, bytes: integer?}
---@return integer? node
function template:add_copy(after, copy) end

--- type and count only with an address
---@param after? gpuorch.nodes
---@param destination array|address
---@param value number|string
---@param type? gpuorch.element
---@param count? integer
---@return integer? node
function template:add_fill(after, destination, value, type, count) end

--- the bodies are templates to be recorded or built
---@param after? gpuorch.nodes
---@param condition gpuorch.condition
---@param with_otherwise? boolean
---@return integer? node, template? body, template? otherwise
function template:add_if(after, condition, with_otherwise) end

---@param after? gpuorch.nodes
---@param condition gpuorch.condition
---@return integer? node, template? body
function template:add_while(after, condition) end

--- the word 0 names the first of the bodies
---@param after? gpuorch.nodes
---@param condition gpuorch.condition
---@param count integer
---@return integer? node, template[]? bodies
function template:add_switch(after, condition, count) end

--- names a parameter of a node. For an argument of a kernel, pass its number, from 1, and its type if the type differs from
--- the signature's. For the value of a fill, pass its type in place of the number if the type differs from the array's. With
--- the name alone: returns the parameter's number and size in bytes
---@param name string
---@param node? integer
---@param what? "argument"|"grid"|"block"|"shared_bytes"|"destination"|"source"|"bytes"|"value"|"enabled"
---@param number? integer|gpuorch.element
---@param type? string a word of a signature
---@return true|integer?, integer?
function template:parameter(name, node, what, number, type) end

--- a node, and device memory that exists while the graph runs, from this node to that of add_free; for nodes only
---@param after integer|integer[]|nil
---@param type gpuorch.element
---@param count integer
---@return integer? node, array? memory
function template:add_allocation(after, type, count) end

--- all nodes that use the memory have to come before
---@param after integer|integer[]|nil
---@param memory array|address
---@return integer? node
function template:add_free(after, memory) end

--- each stream gets a graph of its own; parameters without a value have what was recorded
---@param stream stream
---@param values? gpuorch.values
---@return true?
function template:launch(stream, values) end

--- An instance of a template, with values of its own. The graph keeps arrays among the values.
---@class graph: object
local graph = {}

--- a parameter by its name or number and a value, or a table of them, which are set together or not at all
---@param parameter string|integer|gpuorch.values
---@param value? any
---@return true?
function graph:set(parameter, value) end

--- the value that the next launch uses; of an array its address
---@param name string
---@return any
function graph:get(name) end

--- what a kernel takes as a gpo::device_graph, for a parameter of the type bytes:16; and the two numbers that it is made of
---@return string?, gpuorch.exact?, gpuorch.exact?
function graph:device_handle() end

--- The work that a function of buckets puts on its stream. `settings` has the values of the request's parameters by name.
--- `template` is set when the work is recorded, for the function to name parameters. `phase` says why the function is
--- called: "warm_up", "recording", "eager" or "padding".
---@alias gpuorch.bucket_work {phase: string, size: integer, shape: integer, settings: table<string, any>, template: template?}

--- `record` puts the work for work.shape elements on the stream, and `pad` writes the elements from work.size to work.shape.
--- With `pad_address`, zeros are written there; an element is one of the array's, or has `pad_element_bytes`. A warm-up
--- restores the arrays of `restored`; `no_warm_up` omits the warm-up. With `eager_fallback`, a request runs eagerly if its
--- bucket can't be recorded.
---@class gpuorch.buckets_options
---@field shapes integer[]
---@field record fun(stream: stream, work: gpuorch.bucket_work)
---@field pad? fun(stream: stream, work: gpuorch.bucket_work)
---@field pad_address? array|address
---@field restored? array[]

--- A template for each shape of a table, recorded when it is needed. Buckets hold references to the arrays of their
--- templates.
---@class buckets: object
local buckets = {}

--- runs a request in the smallest bucket that it fits into; returns the bucket's shape, or 0 if the request ran eagerly
---@param stream stream
---@param size integer
---@param values? table<string, any> for this request; all others are as recorded
---@return integer? shape
function buckets:launch(stream, size, values) end

--- Options of one kind are refused for another.
---@class gpuorch.queue_options

--- `status` is the name of what the kernel gave, and `code` the number
---@alias gpuorch.answer {user_data: gpuorch.exact, status: string, code: integer, answer: string}

--- A queue that kernels take their work from: an argument for a parameter of the type range, ring or host_ring. Tasks
--- and answers are packed strings, see gpuorch.pack. close() destroys it, and ends the kernel of its resident stream.
---@class queue: object
local queue = {}

--- range: the numbers with the greatest costs come first; without costs they come in their own order
---@param stream stream
---@param costs? number[]|array
---@return true?
function queue:set_costs(stream, costs) end

--- ring: as work of the stream
---@param stream stream
---@param tasks string|array
---@param priority? integer
---@return true?
function queue:push(stream, tasks, priority) end

--- host ring: without a limit the tenant may take all places; tenants count from 0
---@param tenant integer
---@param options? gpuorch.tenant_options
---@return true?
function queue:set_tenant(tenant, options) end

--- host ring: returns how many were posted, from the first on; false if none
---@param tasks string|array
---@param user_data? gpuorch.exact of the first task
---@param tenant? integer
---@return integer|boolean?
function queue:post(tasks, user_data, tenant) end

--- host ring: the answers that are there, 64 at most
---@param most? integer
---@param tenant? integer
---@return gpuorch.answer[]?
function queue:take(most, tenant) end

--- host ring: until there is an answer; false, with GPO_END as the third result, if none will come any more
---@param seconds? number
---@param tenant? integer
---@return boolean?
function queue:wait(seconds, tenant) end

--- With the form "graphs": a launch of any of the graphs does a task. Graph i finds its task at (i - 1) * task_size bytes of
--- `task_memory`, which is device memory.
---@class gpuorch.handler
---@field graphs? graph[]
---@field task_memory? array|address

--- Options of one form are refused for another.
---@class gpuorch.scheduler_options
---@field handlers (string|gpuorch.handler)[] a task that begins with the number 0 is for the first
---@field argument? array|address handlers get its address

--- A scheduler stays on the GPU and does the tasks of a queue. The scheduler keeps its queue, graphs and arrays. close()
--- stops the scheduler, and waits for two seconds at most for tasks that have begun.
---@class scheduler: object
local scheduler = {}

---@class gpuorch.batcher_options
---@field devices device[]

--- Threads of the library launch the buckets, and can't enter Lua: the buckets have to be prepared, and have no `pad`.
--- Their templates have the parameters `input` and `output`.
---@class gpuorch.batcher_key_options
---@field buckets buckets[] for each device of the batcher

--- Arrays in host or device memory. Without `elements` a ragged request has as many as the input.
---@class gpuorch.batcher_request
---@field input? array
---@field output? array
---@field output_made? array of u64 in host memory: gets the number of bytes of output

--- A batcher keeps the buckets of its keys.
---@class batcher: object
local batcher = {}

--- adds a key, and returns its number, which counts from 0
---@param options gpuorch.batcher_key_options
---@return integer?
function batcher:add_key(options) end

--- submits a request; the operation keeps its arrays until it is done. Returns the operation and the ticket. If the deadline
--- can't be met: false, the message, "GPO_TIMEOUT" and the predicted seconds until the request would have been done.
---@param request gpuorch.batcher_request
---@param queue? cq
---@return operation?, gpuorch.exact
function batcher:submit(request, queue) end

---@class gpuorch.peers_options
---@field [integer] device|integer a device of this process, or for split() a rank of the group

---@class gpuorch.join_options
---@field id? string of gpuorch.peers_make_id
---@field communicator? gpuorch.exact an MPI_Comm as an integer

--- A rank's part of a collective. Arrays are checked to hold what the rank sends and receives.
---@class gpuorch.rank_part
---@field send? array|address on the device
---@field receive? array|address
---@field send_to? integer send_receive: a rank; without one the rank sends nothing
---@field receive_from? integer send_receive: a rank; without one the rank receives nothing

--- The list has a part for each rank, or in a group of several processes the part of this process.
---@class gpuorch.collective
---@field [integer] gpuorch.rank_part|stream

---@class gpuorch.rank_launch
---@field launch gpuorch.launch_options|launch
---@field arguments? any[] as those of launch_kernel; a null pointer is gpuorch.address(0)

--- A group of devices that work together. Ranks count from 0. A collective is put on the streams of all ranks, or on none.
---@class peers: object
local peers = {}

--- a group of some ranks of this one
---@param options gpuorch.peers_options
---@return peers?
function peers:split(options) end

---@param collective gpuorch.collective
---@return boolean?
function peers:all_reduce(collective) end

---@param collective gpuorch.collective
---@return boolean?
function peers:reduce(collective) end

--- each rank sends a piece for each rank, and receives one piece
---@param collective gpuorch.collective
---@return boolean?
function peers:reduce_scatter(collective) end

---@param collective gpuorch.collective
---@return boolean?
function peers:broadcast(collective) end

--- each rank sends one piece, and receives a piece of each rank
---@param collective gpuorch.collective
---@return boolean?
function peers:all_gather(collective) end

--- each rank sends a piece for each rank, and receives a piece of each rank
---@param collective gpuorch.collective
---@return boolean?
function peers:all_to_all(collective) end

---@param collective gpuorch.collective
---@return boolean?
function peers:send_receive(collective) end

--- no stream goes on before all streams are there: peers:barrier{stream, stream}
---@param collective gpuorch.collective
---@return boolean?
function peers:barrier(collective) end

--- a kernel on a stream of each rank; the kernels may wait for each other
---@param launches gpuorch.rank_launch[]
---@return boolean?
function peers:launch(launches) end

--- Memory that the kernels of all devices of a group use together. close() doesn't wait: the memory is freed behind the
--- streams' work at that time. Templates don't keep the memory.
---@class symmetric: object
local symmetric = {}

--- memory of a rank as a device array, for all streams of the group; invalid once the memory is closed
---@param rank integer
---@param type gpuorch.element
---@param offset? gpuorch.exact in bytes, from 0
---@param count? gpuorch.exact elements; without it up to the end
---@return array?
function symmetric:array(rank, type, offset, count) end

---@class executor: object
local executor = {}

--- calls `f` at a time of gpuorch.now() in nanoseconds, or at once if that has passed. "18446744073709551615": never. Times
--- come inside the functions that run the executor. Returns true and the ticket, for cancel(). False, with
--- "GPO_WOULD_BLOCK" as the third result, if the executor has no room
---@param time_ns gpuorch.exact
---@param f fun(completion: gpuorch.completion, failure: gpuorch.failure?)
---@return boolean?, gpuorch.exact? ticket
function executor:post_at(time_ns, f) end

---@param seconds? number
---@return integer|boolean?
function executor:run_for(seconds) end

---@class pipeline: object
local pipeline = {}

---@param source gpuorch.source
---@param sink? gpuorch.sink
---@return true?
function pipeline:start(source, sink) end

--- returns the run's results. After a failure they are the fourth result; `traceback` there has a callback's error with its
--- traceback
---@param seconds? number
---@return gpuorch.pipeline_result|boolean?
---@return string? message
---@return string? status
---@return gpuorch.pipeline_result? run
function pipeline:wait(seconds) end

--- returns the same as wait()
---@param seconds? number
---@return gpuorch.pipeline_result|boolean?
---@return string? message
---@return string? status
---@return gpuorch.pipeline_result? run
function pipeline:await(seconds) end

---@class gpuorch
local gpuorch = {}

---@class gpuorch.runtime_options
---@field log? fun(level: string, line: string) called while the script waits

---@class gpuorch.compile_options
---@field source? string in place of the argument
---@field headers? table<string, string> texts by names

---@param options? gpuorch.runtime_options
---@return runtime?
function gpuorch.runtime_create(options) end

--- pageable host memory, zeroed
---@param type gpuorch.element
---@param count integer
---@return array?
function gpuorch.array(type, count) end

--- an address of memory that another library allocated; 0 is a null pointer. The memory must stay until the work is done
---@param integer gpuorch.exact
---@return address
function gpuorch.address(integer) end

--- a launch shape that is read once and used for many launches
---@param options gpuorch.launch_options
---@return launch
function gpuorch.launch(options) end

--- values as the bytes of a C struct, with the types of a signature: for bytes:N and tasks
---@param types string
---@param ... any
---@return string
function gpuorch.pack(types, ...) end

--- the values, and the position behind them
---@param types string
---@param bytes string
---@param position? integer
---@return any ...
function gpuorch.unpack(types, bytes, position) end

--- with the costs of an H200
---@param workload gpuorch.workload
---@return gpuorch.advice[]?, gpuorch.diagnosis?
function gpuorch.advise(workload) end

--- where a trace's time went and how to change that; and the traced workload
---@param path string
---@return string?, gpuorch.workload?
function gpuorch.advise_trace(path) end

--- these signals end waits as Ctrl-C does, once each; the returned function returns the number of the newest signal that came
---@param ... "HUP"|"TERM"|"QUIT"
---@return fun(): integer?
function gpuorch.interrupt_on(...) end

---@return integer
function gpuorch.version() end

---@param status integer
---@return string
function gpuorch.status_name(status) end

---@param status string|integer
---@return string
function gpuorch.status_text(status) end

--- bytes of all arrays that are alive
---@return integer
function gpuorch.held_bytes() end

--- seconds on the clock of timeouts
---@return number
function gpuorch.now() end

--- gets errors in callbacks; assign your own function. An error in a coroutine of gpuorch.loop ends loop.run(), which
--- raises the error with its traceback; the next loop.run() goes on with the other coroutines. In luv such an error ends
--- the process, and under cqueues it is the result of the controller's loop(). All three modules have an
--- on_error(message, coroutine) that is nil; where a function is assigned to it, the function gets the error, and the
--- loop goes on
---@param message string
function gpuorch.on_error(message) end

--- waits until one of the queues may have an entry
---@param queues cq[]
---@param seconds? number
---@return boolean
function gpuorch.poll(queues, seconds) end

--- for event loops: await() in this coroutine calls the given scheduler
---@param coroutine thread
---@param scheduler {suspend: fun(operation: operation, seconds: number?): any}
function gpuorch.adopt(coroutine, scheduler) end

--- for event loops that make coroutines themselves: the probe returns the scheduler of the running coroutine
---@param probe? fun(): table
function gpuorch.add_probe(probe) end

--- for event loops: a coroutine has ended with the error `problem`. Closes the variables of the coroutine, then raises the
--- error with its traceback, or calls on_error if one is given
---@param coroutine thread
---@param problem any
---@param on_error? fun(message: string, coroutine: thread)
function gpuorch.coroutine_failed(coroutine, problem, on_error) end

return gpuorch
