-- Objects: their ends, wrong types, and collection in any order.
local h = dofile(os.getenv "GPUORCH_TEST_HARNESS")
local gpuorch, test, use, same, raises, fails = h.gpuorch, h.test, h.use, h.same, h.raises, h.fails
local w = dofile(os.getenv "GPUORCH_TEST_FILES" .. "/world.lua")

test("close() can be called again, and everything else then says that the object is closed", function()
    local world = w.world()
    world.runtime:close()
    for name, object in pairs(world) do
        if type(object) == "userdata" then
            object:close()
            object:close()
            same(tostring(object):find("closed", 1, true) ~= nil, true, tostring(object))
            local method = ({array = "bytes", host = "bytes", pageable = "bytes"})[name] or "label"
            raises("is closed", object[method], object)
        end
    end
end)

-- Methods allowed on closed objects: a closed operation still completes, and a loop's turn may come after its queue was
-- closed.
local of_the_closed = {["gpuorch.cq:pump"] = true}
for method in ("close wait await ready result entry cq when_done"):gmatch "%S+" do
    of_the_closed["gpuorch.operation:" .. method] = true
end

test("every method of every class refuses a closed object", function()
    local world = w.world()
    world.operation = assert(world.stream:notify())
    world.slice = world.array:slice(1, 2)
    local methods, seen = 0, {}
    local names = {}
    for name, object in pairs(world) do
        if type(object) == "userdata" and object ~= world.runtime then names[#names + 1] = name end
    end
    names[#names + 1] = "runtime" -- its children are closed by then, each by itself
    for _, name in ipairs(names) do
        local object = world[name]
        local class = tostring(getmetatable(object))
        local index = debug.getmetatable(object).__index
        if type(index) == "function" then
            index = select(2, debug.getupvalue(index, 2))
            if not index then -- Lua 5.1 shows no C function's upvalues
                index = {}
                for method in ("slice as type bytes pointer fill unpack to_string from_string read_file write_file"):gmatch "%S+" do
                    index[method] = assert(object[method])
                end
            end
        end
        object:close()
        for method, f in pairs(index) do
            if method ~= "close" and not of_the_closed[class .. ":" .. method] then
                methods = methods + 1
                seen[class] = true
                local good, problem = pcall(f, object)
                if good or not tostring(problem):find("is closed", 1, true) then
                    error(class .. ":" .. method .. ": " .. tostring(problem), 0)
                end
            end
        end
    end
    for _, class in ipairs{"runtime", "device", "stream", "stream_pool", "event", "timeline", "cq", "arena", "pool", "module", "kernel",
                           "pipeline", "template", "graph", "buckets", "executor", "array"} do
        same(seen["gpuorch." .. class], true, class)
    end
    same(methods > 150, true, tostring(methods))
end)

test("a device is opened on a context of somebody else's", function()
    local runtime, device, stream = use()
    local context, ordinal = device:native()
    local other = assert(runtime:device_open{native_context = context, ordinal = ordinal, label = "another library's"})
    same(other:native(), context)
    local there, here = assert(other:memory_allocate("u32", 4)), gpuorch.array("u32", 4)
    assert(stream:fill(there, 7))
    assert(stream:wait())
    local on_other = assert(other:stream_create())
    assert(on_other:copy_to_host(here, there))
    assert(on_other:wait())
    same(here[4], 7)
    fails("GPO_NO_DEVICE", runtime.device_open, runtime, {native_context = context, ordinal = 1000})
    raises("option 'native_context': ", runtime.device_open, runtime, {native_context = device})
end)

test("an object says what it is, with its label", function()
    local _, device = use()
    local stream = assert(device:stream_create{label = "upload"})
    same(tostring(stream), 'gpuorch.stream "upload"')
    assert(stream:set_label("download"))
    same(stream:label(), "download")
    same(tostring(device):match("^gpuorch%.device: ") ~= nil, true)
    same(getmetatable(stream), "gpuorch.stream")
end)

test("objects of another kind, and other values, are refused by the name of what was expected", function()
    local runtime, device, stream = use()
    raises("gpuorch.event expected, got gpuorch.stream", stream.wait_event, stream, stream)
    raises("gpuorch.stream expected, got number", stream.query, 42)
    raises("gpuorch.stream expected, got no value", stream.query)
    raises("gpuorch.stream expected, got ", stream.query, io.stdout)
    raises("gpuorch.stream expected, got gpuorch.device", stream.query, device)
    raises("there is no option 'colour'; there are: blocking, learns, resident, priority, max_held, label", device.stream_create, device, {colour = 1})
    raises("option 'priority': ", device.stream_create, device, {priority = "high"})
    raises("option 'blocking': true or false expected", device.stream_create, device, {blocking = 1})
    raises("option 'completion_mode': one of these expected: balanced, latency", gpuorch.runtime_create, {completion_mode = "fast"})
    raises("option 'quiet_fallback': true or false expected", gpuorch.runtime_create, {quiet_fallback = 1})
    raises("option 'label': the string has a zero byte in it", device.stream_create, device, {label = "a\0b"})
    raises("seconds expected", stream.wait, stream, 0 / 0)
    raises("the number has no integer representation", runtime.describe_device, runtime, 0.5)
    raises("out of range", runtime.describe_device, runtime, -1)
end)

test("a completion queue keeps its entries when its runtime has been shut down, and says when there are no more", function()
    local runtime, _, stream = use()
    local timeline, queue = assert(runtime:timeline_create()), assert(runtime:cq_create())
    assert(stream:wait_timeline(timeline, 5))
    for i = 1, 64 do assert(stream:notify(queue, i)) end -- as many as are drained at once
    local operation = assert(stream:notify())
    assert(runtime:shutdown())
    same(operation:ready(), true)
    same(queue:wait(), true)
    local entries = assert(queue:drain())
    same(#entries, 64)
    same(entries[64].user_data, 64)
    same(entries[64].status, "GPO_CANCELLED")
    fails("GPO_SHUT_DOWN", queue.drain, queue)
    fails("GPO_SHUT_DOWN", queue.wait, queue)
    fails("GPO_SHUT_DOWN", queue.pump, queue)
    queue:close()
    raises("is closed", queue.drain, queue)
end)

test("children keep their parents", function()
    local stream
    do
        local runtime = assert(gpuorch.runtime_create{device = os.getenv "GPUORCH_DEVICE"})
        stream = assert(assert(runtime:device_open()):stream_create())
    end
    h.collect()
    same(stream:query(), true)
    same(stream:await(), true)
    same(stream:device():label(), "")
end)

test("memory outlives the arena, pool and device that it came from, as long as an array is left", function()
    local _, device, stream = use()
    local arena, pool = assert(device:arena_create()), assert(device:pool_create())
    local host, piece = assert(arena:allocate("u32", 16)), assert(pool:allocate(stream, "u32", 16))
    arena:close()
    pool:close()
    device:close()
    raises("the arena is closed", arena.allocate, arena, "u8", 1)
    assert(stream:fill(piece, 9))
    assert(stream:copy_to_host(host, piece))
    assert(stream:await())
    same(host[16], 9)
    host:close()
    piece:close()
end)

test("closing what works in flight use is safe, in any order", function()
    for order = 1, 6 do
        local runtime, device = use()
        local stream, other = assert(device:stream_create()), assert(device:stream_create())
        local timeline = assert(runtime:timeline_create())
        local arena = assert(device:arena_create())
        local host, x = assert(arena:allocate("u32", 2^16)), assert(device:memory_allocate("u32", 2^16))
        assert(stream:wait_timeline(timeline, 1))
        for _, s in ipairs{stream, other} do
            for i = 1, 10 do assert(s:fill(x, i)) assert(s:copy_to_host(host, x)) end
        end
        local done = assert(stream:notify())
        local list = {stream, other, host, x, arena, device}
        for i = 0, #list - 1 do list[(i * (order % 2 == 0 and 5 or 1) + order) % 6 + 1]:close() end
        assert(timeline:signal(1))
        same(done:wait(10), true)
    end
end)

test("streams of a pool are given back when they are closed, collected or released, with their work in flight", function()
    local runtime, device = use()
    local arena, timeline = assert(device:arena_create()), assert(runtime:timeline_create())
    local pool, x = assert(device:stream_pool_create{streams = 1}), assert(device:memory_allocate("u32", 2^16))
    local hosts, done = {}, {}
    for way = 1, 3 do
        local stream = assert(pool:acquire())
        hosts[way] = assert(arena:allocate("u32", 2^16))
        if way == 1 then assert(stream:wait_timeline(timeline, 1)) end
        assert(stream:copy_to_host(hosts[way], x))
        done[way] = assert(stream:notify())
        if way == 1 then stream:close() elseif way == 2 then assert(pool:release(stream)) end
    end
    local other = assert(device:stream_create())
    fails("GPO_INVALID_ARGUMENT", pool.release, pool, other)
    pool:close()
    h.collect()
    raises("the stream_pool is closed", pool.acquire, pool)
    hosts = nil
    h.collect()
    assert(timeline:signal(1))
    for way = 1, 3 do same(done[way]:wait(10), true) end
    same(arena:statistics().in_use <= 3 * 2^18, true)
end)

test("everything may be collected at any time, in any order", function()
    local step = _VERSION == "Lua 5.4" and function() collectgarbage("generational") collectgarbage("incremental") end or function() end
    collectgarbage("setpause", 50)
    for round = 1, 30 do
        local world = w.world()
        assert(world.stream:fill(world.array, 1))
        assert(world.stream:copy_to_host(world.host, world.array))
        assert(world.stream:notify())
        assert(world.stream:notify(world.cq, {}))
        assert(world.stream:then_(world.executor, function() end))
        assert(world.pipeline:start{memory = ("a"):rep(10000)})
        local names = {}
        for name in pairs(world) do names[#names + 1] = name end
        table.sort(names)
        local at = round
        while #names > 0 do
            at = (at * 7 + 3) % #names
            world[table.remove(names, at + 1)] = nil
            if #names % 3 == 0 then collectgarbage(#names % 2 == 0 and "collect" or "step") step() end
        end
    end
    collectgarbage("setpause", os.getenv "GPUORCH_TEST_STRESS" and 1 or 200)
    h.collect()
end)

test("a stream that learns is made by an option, and says what it has learned", function()
    local world = w.world()
    local stream = assert(world.device:stream_create{learns = true})
    local info = stream:info()
    same(info.learns, true)
    same(info.learned, 0)
    same(info.replayed, 0)
    same(world.stream:info().learns, false)
    stream:close()
end)

test("a word that is none of the choices is refused with all of them, wherever one is taken", function()
    local world = w.world()
    local types = "u8, i8, u16, i16, u32, i32, u64, i64, f32, f64"
    local limits = "stack_bytes, printf_bytes, heap_bytes, pending_launches, l2_fetch_bytes, persisting_l2_bytes"
    local fields = "argument, grid, block, shared_bytes, destination, source, bytes, value, enabled"
    local address, built = gpuorch.address(world.array:pointer()), world.built
    local function refuses(choices, f, ...)
        raises("invalid option 'float'; there are: " .. choices, f, ...)
    end
    refuses(types, gpuorch.array, "float", 4)
    refuses(types, world.pageable.as, world.pageable, "float")
    refuses(types, world.device.memory_allocate, world.device, "float", 4)
    refuses(types, world.device.memory_import, world.device, "float", "")
    refuses(types, world.arena.allocate, world.arena, "float", 4)
    refuses(types, world.pool.allocate, world.pool, world.stream, "float", 4)
    refuses(types, world.stream.fill, world.stream, address, 0, "float", 4)
    refuses(types, world.module.symbol, world.module, "counter", "float")
    refuses(types, built.allocate, built, "float", 4)
    refuses(types, built.allocate_host, built, "float", 4)
    refuses(types, built.add_allocation, built, nil, "float", 4)
    refuses(types, built.add_fill, built, nil, address, 0, "float", 4)
    refuses(limits, world.device.limit, world.device, "float")
    refuses(limits, world.device.set_limit, world.device, "float", 1)
    refuses(fields, world.ready.parameter, world.ready, "n", world.node, "float")
    refuses("dot, svg", world.ready.picture, world.ready, "float")
    refuses("HUP, TERM, QUIT", gpuorch.interrupt_on, "HUP", "float")
    for option, f in pairs{log_level = gpuorch.runtime_create, completion_mode = gpuorch.runtime_create,
                           kind = function(...) return world.device:queue(...) end,
                           form = function(...) return world.device:scheduler(...) end,
                           workers = function(...) return world.device:scheduler(...) end,
                           order = function(...) return world.device:advise(...) end} do
        raises("option '" .. option .. "': one of these expected: ", f, {[option] = "float"})
    end
    raises("string expected", gpuorch.array, {}, 4)
    world.runtime:close()
end)

test("Lua 5.4's to-be-closed variables close objects", function()
    if _VERSION ~= "Lua 5.4" then
        print("SKIP " .. h.interpreter .. ": to-be-closed variables: this Lua has none")
        return "skip"
    end
    local runtime = use()
    local kept = assert(load [[
        local runtime = ...
        local kept
        do
            local device <close> = assert(runtime:device_open())
            kept = device
        end
        return kept
    ]])(runtime)
    same(tostring(kept), "gpuorch.device (closed)")
end)
