-- world.lua: every function of the library's table, called through Lua: world() makes one object of each kind, and `calls`
-- has a call for each function. In a live world all calls succeed; after a shutdown, or in a forked child, all fail. On a
-- machine with one device, calls that take two devices are left out, and a line reports them.
local gpuorch = require "gpuorch"

local calls = {}
local function call(name, f) calls[#calls + 1] = {name = name, run = f} end
local of_two_devices = {device_enable_peer = true, device_disable_peer = true}

local function leave_out_peers()
    for i = #calls, 1, -1 do
        if of_two_devices[calls[i].name] then
            print("SKIP " .. table.remove(calls, i).name .. " in " .. arg[0]:match "[^/]*$" .. ": there is one device")
        end
    end
end

-- Options of a scheduler.
local function scheduled(queue)
    return {form = "resident", queue = queue, threads = 32, multiprocessors = 1, handlers = {"nothing"}, source = [==[
        #include <gpuorch/device/scheduler.cuh>
        struct task { unsigned handler, rest[3]; };
        __device__ int nothing(gpo::task_context &, const task &) { return 0; }]==]}
end

local function world()
    local w = {}
    w.runtime = assert(gpuorch.runtime_create{device = os.getenv "GPUORCH_DEVICE", label = "world", log_level = "debug",
                                              log = function() if w.tell then w.tell() end end})
    w.device = assert(w.runtime:device_open{ordinal = 0, label = "device"})
    if w.runtime:device_count() > 1 then w.peer = assert(w.runtime:device_open{ordinal = 1}) else leave_out_peers() end
    w.stream = assert(w.device:stream_create{label = "stream"})
    w.other = assert(w.device:stream_create())
    w.streams = assert(w.device:stream_pool_create())
    w.event = assert(w.device:event_create{timing = true})
    w.late = assert(w.device:event_create{timing = true})
    w.between = assert(w.device:event_create{interprocess = true})
    w.timeline = assert(w.runtime:timeline_create())
    w.cq = assert(w.runtime:cq_create())
    w.admission, w.unlimited = assert(w.runtime:admission_create{count = 1}), assert(w.runtime:admission_create())
    w.arena = assert(w.device:arena_create())
    w.pool = assert(w.device:pool_create())
    w.module = assert(w.device:module_compile("__device__ unsigned counter[4];\nextern \"C\" __global__ void nothing() {}\n"))
    w.kernel = assert(w.module:kernel("nothing"))
    w.fill = assert(assert(w.device:module_load_builtin()):kernel("gpo_fill_u32", "ptr u32 u64"))
    w.executor = assert(w.runtime:executor_create())
    w.pipeline = assert(w.device:pipeline_create{stages = {{kernel = w.kernel}}})
    w.host = assert(w.arena:allocate("u32", 64))
    w.array = assert(w.device:memory_allocate("u32", 64))
    w.pageable = gpuorch.array("u32", 1024)
    w.built = assert(w.device:template{label = "built"})
    w.recorded = assert(w.device:template())
    w.ready = assert(w.device:template())
    w.node = assert(w.ready:add_kernel(nil, w.fill, {grid = 1, block = 64, label = "fill"}, w.array, 7, 64))
    assert(w.ready:parameter("value", w.node, "argument", 2))
    w.number = assert(w.ready:parameter("value"))
    w.graph = assert(w.ready:graph())
    w.decided, w.loops = assert(w.device:template()), assert(w.device:template())
    w.decide = assert(assert(w.device:module_compile(
        "extern \"C\" __global__ void decide(unsigned long long) {}")):kernel("decide", "u64"))
    w.loop = assert(w.loops:add_while(nil, {word = w.array, comparison = "less", constant = 7}))
    w.looping = assert(w.loops:graph())
    w.launched = assert(w.ready:graph{device_launch = true})
    w.buckets = assert(w.device:buckets{shapes = {4}, record = function() end})
    w.batched = assert(w.device:buckets{shapes = {4}, record = function(stream, work)
        assert(stream:launch_kernel(w.fill, {grid = 1, block = 64}, w.array, 7, work.shape))
        if work.template then assert(work.template:parameter("output", work.template:last_node(stream), "argument", 1)) end
    end})
    assert(w.batched:prepare(w.stream))
    w.batcher = assert(w.runtime:batcher{devices = {w.device}, label = "batcher"})
    w.key = assert(w.batcher:add_key{layout = "rows", output_bytes = 4, buckets = {w.batched}})
    w.slow = assert(w.batcher:add_key{layout = "rows", output_bytes = 4, buckets = {w.batched}, max_delay_ns = "3600000000000"})
    w.range = assert(w.device:queue{kind = "range", count = 3, label = "range"})
    w.ring = assert(w.device:queue{kind = "ring", task_size = 16, capacity = 64})
    w.resident = assert(w.device:stream_create{resident = true})
    w.requests = assert(w.device:queue{kind = "host_ring", task_size = 16, answer_size = 4, stream = w.resident})
    w.tasks = assert(w.device:queue{kind = "ring", task_size = 16, capacity = 64})
    w.scheduler = assert(w.device:scheduler(scheduled(w.tasks)))
    w.peers = assert(w.runtime:peers{w.device})
    w.symmetric = assert(w.peers:allocate(4096, {label = "symmetric"}))
    w.joined = assert(w.device:join{by = "id", id = gpuorch.peers_make_id(), rank = 0, ranks = 1, engine = "host"})
    w.value = 0
    return w
end

-- Calls that need another process: peers_test.lua.
local function of_nobody(found, message, name)
    if name == "GPO_INVALID_ARGUMENT" then return true end
    return found, message, name
end

-- Calls of the runtime: not in a world that was shut down, where the runtime is closed.
local of_runtime = {}
local function runtime_call(name, f)
    of_runtime[name] = true
    call(name, function(w) return f(w, w.runtime) end)
end
runtime_call("runtime_get_driver", function(_, r) return r:driver() end)
runtime_call("runtime_get_statistics", function(_, r) return r:statistics() end)
runtime_call("runtime_get_metrics", function(_, r) return r:metrics() end)
runtime_call("runtime_get_metrics_text", function(_, r) return r:metrics_text() end)
runtime_call("runtime_get_device_count", function(_, r) return r:device_count() end)
runtime_call("runtime_describe_device", function(_, r) return r:describe_device(0) end)
runtime_call("runtime_describe_peer", function(_, r) return r:describe_peer(0, 0) end)
runtime_call("device_open", function(_, r) return r:device_open() end)
runtime_call("timeline_create", function(_, r) return r:timeline_create{value = 5} end)
runtime_call("admission_create", function(_, r) return r:admission_create{count = 2, bytes = 2 ^ 20} end)
runtime_call("batcher_create", function(w, r) return r:batcher{devices = {w.device}, lanes = 2} end)
runtime_call("cq_create", function(_, r) return r:cq_create{capacity = 8} end)
runtime_call("executor_create", function(_, r) return r:executor_create{capacity = 8, label = "x"} end)
runtime_call("runtime_set_log_executor", function(w, r) return r:set_log_executor(w.executor) end)
runtime_call("trace_start", function(_, r) return r:trace_start() end)
runtime_call("trace_get_info", function(_, r) return r:trace_info() end)
runtime_call("trace_get_summary", function(_, r) return r:trace_summary() end)
runtime_call("trace_stop", function(_, r) return r:trace_stop() end)

runtime_call("peers_create", function(w, r) return r:peers{w.device, engine = "direct", label = "p"} end)
runtime_call("peers_make_id", function() return gpuorch.peers_make_id() end) -- needs no runtime

call("object_set_label", function(w) return w.event:set_label("begin") end)
call("object_get_label", function(w) return w.event:label() end)
call("object_get_error", function(w)
    local found, message, name = w.device:error()
    if name then return found, message, name end
    return true
end)

call("device_get_properties", function(w) return w.device:properties() end)
call("device_get_native", function(w) return w.device:native() end)
call("device_get_memory", function(w) return w.device:memory() end)
call("device_get_metrics", function(w) return w.device:metrics() end)
call("device_enable_peer", function(w) return w.device:enable_peer(w.peer) end)
call("device_disable_peer", function(w) return w.device:disable_peer(w.peer) end)
call("device_get_limit", function(w) return w.device:limit("stack_bytes") end)
call("device_set_limit", function(w) return w.device:set_limit("stack_bytes", 2048) end)
call("device_wait", function(w) return w.device:wait(10) end)
call("device_get_priority_range", function(w) return w.device:priority_range() end)

call("stream_create", function(w) return w.device:stream_create{priority = -1, max_held = 16} end)
call("stream_get_native", function(w)
    local native, message, name = w.stream:native()
    w.native_stream = native
    return native, message, name
end)
call("stream_wrap", function(w) return w.device:stream_wrap(w.native_stream or 0) end)
call("stream_get_info", function(w) return w.stream:info() end)
call("stream_query", function(w) return w.other:query() end)
call("event_create", function(w) return w.device:event_create{blocking_sync = true} end)
call("event_record", function(w) return w.event:record(w.stream) end)
call("stream_launch_kernel", function(w) return w.stream:launch_kernel(w.kernel, {grid = 1, block = 1}) end)
call("fill", function(w) return w.stream:fill(w.array, 7) end)
call("fill_rows", function(w) return w.stream:fill_rows(w.array, 64, 1, 32, 4) end)
call("copy_to_device", function(w) return w.stream:copy_to_device(w.array, w.host) end)
call("copy_to_host", function(w) return w.stream:copy_to_host(w.host, w.array) end)
call("copy_on_device", function(w) return w.stream:copy_on_device(w.array:slice(1, 32), w.array:slice(33, 64)) end)
call("copy_peer", function(w) return w.stream:copy_peer(w.device, w.array:slice(1, 32), w.device, w.array:slice(33)) end)
call("copy_batch", function(w) return w.stream:copy_batch{{destination = w.array, source = w.host}} end)
call("copy_rows", function(w)
    return w.stream:copy_rows{destination = w.array, destination_pitch = 16, source = w.host, source_pitch = 16, width = 16, height = 4}
end)
call("event_record", function(w) return w.late:record(w.stream) end)
call("stream_wait_event", function(w) return w.other:wait_event(w.late) end)
call("stream_wait_stream", function(w) return w.other:wait_stream(w.stream) end)
call("stream_signal_timeline", function(w)
    w.value = w.value + 1
    return w.stream:signal_timeline(w.timeline, w.value)
end)
call("stream_wait_timeline", function(w) return w.other:wait_timeline(w.timeline, w.value) end)
call("stream_wait", function(w) return w.other:wait(10) end)
call("event_wait", function(w) return w.late:wait(10) end)
call("event_query", function(w) return w.late:query() end)
call("event_get_elapsed", function(w) return w.event:elapsed(w.late) end)
call("event_get_native", function(w) return w.event:native() end)
call("event_export", function(w) return w.between:export() end)
call("event_import", function(w) return of_nobody(w.device:event_import(("x"):rep(256))) end)
call("timeline_wait", function(w) return w.timeline:wait(w.value, 10) end)
call("timeline_get_value", function(w) return w.timeline:value() end)
call("timeline_signal", function(w)
    w.value = w.value + 1
    return w.timeline:signal(w.value)
end)
call("stream_cancel_held", function(w) return w.stream:cancel_held() end)
call("stream_notify", function(w) return w.stream:notify(w.cq, "a value") end)
call("stream_notify_timed", function(w) return w.stream:notify_timed(w.event, w.cq, 42) end)
call("event_notify", function(w) return w.event:notify(w.cq, {}) end)
call("timeline_notify", function(w) return w.timeline:notify(w.value, w.cq, 1.5) end)
call("admission_set_budget", function(w) return w.admission:set_budget(1, 2 ^ 20) end)
call("admission_set_flow", function(w) return w.admission:set_flow(3, 2) end)
call("admission_get_info", function(w) return w.admission:info() end)
call("admission_enter", function(w)
    local operation, ticket, name = w.admission:enter({flow = 3}, w.cq, 4)
    w.ticket = operation and ticket or 0
    return operation, ticket, name
end)
call("admission_enter_then", function(w)
    local accepted, ticket, name = w.admission:enter_then({flow = 3}, w.executor, function() end)
    w.waiting = accepted and ticket or 0
    return accepted, ticket, name
end)
call("admission_cancel", function(w) return w.admission:cancel(w.waiting or 0) end)
call("admission_leave_after", function(w) return w.admission:leave_after(w.ticket or 0, w.stream) end)
call("admission_leave", function(w)
    local operation, ticket, name = w.unlimited:enter()
    if not operation then return operation, ticket, name end
    return w.unlimited:leave(ticket)
end)
call("batcher_add_key", function(w)
    return w.batcher:add_key{layout = "ragged", output_bytes = 4, buckets = {w.batched}, variable_output = true}
end)
call("batcher_submit", function(w) return w.batcher:submit{key = w.key, output = w.host, flow = 3} end)
call("batcher_cancel", function(w)
    local operation, ticket, name = w.batcher:submit{key = w.slow, output = w.host}
    if not operation then return operation, ticket, name end
    return w.batcher:cancel(ticket)
end)
call("batcher_set_flow", function(w) return w.batcher:set_flow(3, 2) end)
call("batcher_get_info", function(w) return w.batcher:info() end)
call("batcher_get_key_info", function(w) return w.batcher:key_info(w.key) end)
call("batcher_get_flow_info", function(w) return w.batcher:flow_info(3) end)
call("cq_wait", function(w) return w.cq:wait(10) end)
call("cq_drain", function(w) return w.cq:drain() end)
call("cq_wake", function(w) return w.cq:wake() end)
call("cq_get_fd", function(w) return w.cq:fd() end)
call("cq_get_statistics", function(w) return w.cq:statistics() end)
call("stream_pool_create", function(w) return w.device:stream_pool_create{streams = 2} end)
call("stream_pool_acquire", function(w)
    local stream, message, name = w.streams:acquire()
    w.acquired = stream or w.stream
    return stream, message, name
end)
call("stream_pool_release", function(w) return w.streams:release(w.acquired) end)

call("arena_create", function(w) return w.device:arena_create{max_bytes = 2^20, slab_bytes = 2^20} end)
call("arena_allocate", function(w)
    local array, message, name = w.arena:allocate("f32", 16, 512)
    w.piece = array or w.host
    return array, message, name
end)
call("arena_free", function(w) return w.arena:free(w.piece) end)
call("arena_free_after", function(w) return w.arena:free_after(w.arena:allocate("u8", 1) or w.host, w.stream) end)
call("arena_trim", function(w) return w.arena:trim(0) end)
call("arena_get_statistics", function(w) return w.arena:statistics() end)
call("host_register", function(w) return w.device:host_register(w.pageable) end)
call("host_unregister", function(w) return w.device:host_unregister(w.pageable) end)
call("memory_allocate", function(w)
    local array, message, name = w.device:memory_allocate("u8", 100, "scratch")
    w.scratch = array or w.array
    return array, message, name
end)
call("memory_describe", function(w) return w.device:memory_describe(w.scratch) end)
call("memory_export", function(w) return w.device:memory_export(w.scratch) end)
call("memory_import", function(w) return of_nobody(w.device:memory_import("u32", ("x"):rep(256))) end)
call("memory_free", function(w) return w.device:memory_free(w.scratch) end)
call("pool_create", function(w) return w.device:pool_create{keep_nothing = true} end)
call("pool_allocate", function(w)
    local array, message, name = w.pool:allocate(w.stream, "u8", 100)
    w.pooled = array or w.array
    return array, message, name
end)
call("pool_free", function(w) return w.pool:free(w.pooled, w.stream) end)
call("pool_trim", function(w) return w.pool:trim() end)
call("pool_get_statistics", function(w) return w.pool:statistics() end)

call("module_compile", function(w) return w.device:module_compile("extern \"C\" __global__ void nothing() {}\n") end)
call("module_get_image", function(w)
    local image, message, name = w.module:image()
    w.image = image
    return image, message, name
end)
call("module_load", function(w) return w.device:module_load(w.image or "none", "loaded") end)
call("module_load_builtin", function(w) return w.device:module_load_builtin() end)
call("module_get_kernel", function(w) return w.module:kernel("nothing", "") end)
call("module_get_symbol", function(w) return w.module:symbol("counter", "u32") end)
call("kernel_get_attributes", function(w) return w.kernel:attributes() end)
call("kernel_get_name", function(w) return w.kernel:name() end)
call("kernel_get_parameter", function(w) return w.fill:parameter(1) end)
call("kernel_get_native", function(w) return w.kernel:native() end)
call("kernel_set_max_dynamic_shared", function(w) return w.kernel:set_max_dynamic_shared(1024) end)
call("kernel_get_occupancy", function(w) return w.kernel:occupancy(64) end)
call("kernel_suggest_shape", function(w) return w.kernel:suggest_shape() end)

call("template_create", function(w) return w.device:template{max_instances = 2, label = "another"} end)
call("template_begin", function(w) return w.recorded:begin(w.other) end)
call("template_set_last_node", function(w)
    local node = w.recorded:add_empty() or 1
    return w.recorded:set_last_node(w.other, node)
end)
call("template_get_last_node", function(w) return w.recorded:last_node(w.other) end)
call("template_end", function(w) return w.recorded:end_() end)
call("template_cancel", function(w)
    w.recorded:begin(w.other)
    return w.recorded:cancel()
end)
call("template_add_empty", function(w) return w.built:add_empty() end)
call("template_add_kernel", function(w) return w.built:add_kernel(1, w.kernel, {grid = 1, block = 1}) end)
call("template_add_copy", function(w) return w.built:add_copy({1, 2}, {destination = w.host, source = w.array}) end)
call("template_add_fill", function(w) return w.built:add_fill(nil, w.array, 7) end)
call("template_add_event_record", function(w) return w.built:add_event_record(nil, w.event) end)
call("template_add_event_wait", function(w) return w.built:add_event_wait(nil, w.event) end)
call("template_add_child", function(w) return w.built:add_child(nil, w.ready, "child ") end)
call("template_add_allocation", function(w)
    local node, memory, name = w.built:add_allocation(nil, "u32", 64)
    w.allocation, w.allocated = node or 1, node and memory or gpuorch.address(4096)
    return node, memory, name
end)
call("template_add_free", function(w) return w.built:add_free(w.allocation, w.allocated) end)
call("template_add_parameter", function(w) return w.built:parameter("grid", 2, "grid") end)
call("template_get_parameter", function(w) return w.built:parameter("grid") end)
call("template_add_if", function(w)
    local node, body, name = w.built:add_if(nil, {word = w.array, comparison = "equal", constant = 7})
    w.conditional, w.body = node or 1, node and body
    return node, body, name
end)
call("template_add_while", function(w) return w.built:add_while(nil, {word = w.array, comparison = "less", constant = 7}) end)
call("template_add_switch", function(w) return w.built:add_switch(nil, {word = w.array, comparison = "value"}, 2) end)
call("template_bind_condition", function(w)
    local again, body, name = w.decided:add_while(nil, {initial = 1})
    if not again then return again, body, name end
    return body:bind_condition(assert(body:add_kernel(nil, w.decide, {grid = 1, block = 1}, 0)), 1, w.decided, again)
end)
call("template_find_node", function(w) return w.ready:find_node("fill") end)
call("template_get_native", function(w) return w.ready:native() end)
call("template_get_statistics", function(w) return w.ready:statistics() end)
call("template_import", function(w) return w.device:template_import(w.ready:native() or 1, {label = "imported"}) end)
call("template_get_picture", function(w) return w.ready:picture "dot" end)
call("template_allocate", function(w) return w.built:allocate("u32", 4) end)
call("template_allocate_host", function(w) return w.built:allocate_host("u32", 4) end)
call("template_prepare", function(w) return w.ready:prepare(1, w.other) end)
call("template_launch", function(w) return w.ready:launch(w.other, {value = 3}) end)
call("graph_create", function(w) return w.ready:graph{upload = true, label = "g"} end)
call("graph_set", function(w) return w.graph:set("value", 1) end)
call("graph_set_parameter", function(w) return w.graph:set(w.number, 2) end)
call("graph_set_all", function(w) return w.graph:set{value = 3} end)
call("graph_get", function(w) return w.graph:get "value" end)
call("graph_upload", function(w) return w.graph:upload(w.other) end)
call("graph_launch", function(w) return w.graph:launch(w.other) end)
call("graph_update", function(w) return w.graph:update() end)
call("graph_get_loop", function(w) return w.looping:loop(w.loops, w.loop) end)
call("graph_get_device_handle", function(w) return w.launched:device_handle() end)
call("graph_get_device_status", function(w) return w.launched:device_status() end)
call("graph_get_native", function(w) return w.graph:native() end)
call("buckets_create", function(w) return w.device:buckets{shapes = {8, 4}, record = function() end} end)
call("buckets_prepare", function(w) return w.buckets:prepare(w.other) end)
call("buckets_launch", function(w) return w.buckets:launch(w.other, 3) end)
call("buckets_get_statistics", function(w) return w.buckets:statistics() end)
call("template_clear", function(w) return w.built:clear() end)
call("stream_wait", function(w) return w.other:wait(10) end)

local task = ("\0"):rep(16)
call("queue_create", function(w) return w.device:queue{kind = "range", count = 1, batch = 2} end)
call("queue_get_device_handle", function(w) return w.range:device_handle() end)
call("queue_set_costs", function(w) return w.range:set_costs(w.other, {1, 2, 3}) end)
call("queue_push", function(w) return w.ring:push(w.other, task) end)
call("queue_reset", function(w) return w.ring:reset(w.other) end)
call("queue_close", function(w) return w.ring:close_ring() end)
call("queue_abort", function(w) return w.ring:abort() end)
call("queue_get_info", function(w) return w.ring:info() end)
call("queue_set_tenant", function(w) return w.requests:set_tenant(0, {limit = 8}) end)
call("queue_post", function(w) return w.requests:post(task) end)
call("queue_take", function(w) return w.requests:take() end)
call("queue_wait", function(w)
    local there, message, name = w.requests:wait(0)
    if name == "GPO_TIMEOUT" then return true end -- nobody answers
    return there, message, name
end)
call("scheduler_create", function(w)
    local ring = w.device:queue{kind = "ring", task_size = 16, capacity = 64} or w.ring
    return w.device:scheduler(scheduled(ring))
end)
call("scheduler_start", function(w) return w.scheduler:start() end)
call("scheduler_drain", function(w) return w.scheduler:drain(10) end)
call("scheduler_stop", function(w) return w.scheduler:stop(10) end)
call("scheduler_wait", function(w) return w.scheduler:wait(10) end)
call("scheduler_get_info", function(w) return w.scheduler:info() end)
call("scheduler_get_handler", function(w) return w.scheduler:handler(0) end)
call("scheduler_get_blocks", function(w) return w.scheduler:blocks() end)
call("scheduler_get_samples", function(w) return w.scheduler:samples() end)
call("scheduler_get_errors", function(w) return w.scheduler:errors() end)
call("peers_split", function(w) return w.peers:split{0} end)
call("peers_get_info", function(w) return w.peers:info() end)
call("peers_get_link", function(w) return w.peers:link(0, 0) end)
call("peers_submit", function(w) return w.peers:all_reduce{{stream = w.other, send = w.array, receive = w.array}, reduction = "sum"} end)
call("peers_launch", function(w) return w.peers:launch{{stream = w.other, kernel = w.kernel, launch = {grid = 1, block = 1}}} end)
call("peers_join", function(w)
    return w.device:join{by = "id", id = gpuorch.peers_make_id(), rank = 0, ranks = 1, engine = "host"}
end)
call("peers_abort", function(w) return w.joined:abort() end)
call("symmetric_allocate", function(w) return w.peers:allocate(4096, {alignment = 512}) end)
call("symmetric_get_address", function(w) return w.symmetric:address(0) end)
call("symmetric_get_device_handle", function(w) return w.symmetric:device_handle(0) end)
call("symmetric_reset", function(w) return w.symmetric:reset(0, w.other) end)
call("symmetric_get_info", function(w) return w.symmetric:info() end)
call("device_get_costs", function(w) return w.device:costs() end)
call("advise", function(w) return w.device:advise{launches = 10} end)

call("pipeline_create", function(w) return w.device:pipeline_create{stages = {{kernel = w.kernel}}, chunk_bytes = 4096} end)
call("pipeline_start", function(w) return w.pipeline:start{memory = ("a"):rep(10000)} end)
call("pipeline_notify", function(w) return w.pipeline:notify(w.cq, "the run") end)
call("pipeline_wait", function(w) return w.pipeline:wait(10) end)
call("pipeline_get_progress", function(w) return w.pipeline:progress() end)
call("pipeline_get_share", function(w) return w.pipeline:share(0) end)
call("pipeline_cancel", function(w) return w.pipeline:cancel() end)
call("pipeline_then", function(w) return w.pipeline:then_(w.executor, function() end) end)
call("stream_then", function(w) return w.stream:then_(w.executor, function() end) end)
call("event_then", function(w) return w.event:then_(w.executor, function() end) end)
call("timeline_then", function(w) return w.timeline:then_(w.value, w.executor, function() end) end)
call("stream_host_call", function(w)
    return w.other:host_call(w.executor, function(host_call)
        w.host_call = host_call.call
        return false
    end)
end)
call("executor_post", function(w) return w.executor:post(function() end) end)
call("executor_post_at", function(w)
    local accepted, ticket, name = w.executor:post_at("18446744073709551615", function() end)
    w.timed = accepted and ticket or 0
    return accepted, ticket, name
end)
call("executor_get_time", function(w) return w.executor:time() end)
call("executor_cancel", function(w) return w.executor:cancel(w.timed or 0) end)
call("executor_run_for", function(w)
    local count, message, name
    repeat count, message, name = w.executor:run_for(10) until w.host_call or not count
    return count, message, name
end)
call("host_call_finish", function(w) return w.executor:host_call_finish(w.host_call or 1) end)
call("executor_poll", function(w) return w.executor:poll() end)
call("executor_run", function(w) return w.executor:run() end)
call("executor_get_statistics", function(w) return w.executor:statistics() end)
call("timeline_fail", function(w) return w.timeline:fail("GPO_CANCELLED", "enough") end)

return {world = world, calls = calls, of_runtime = of_runtime}
