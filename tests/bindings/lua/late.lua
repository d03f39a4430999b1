-- late.lua: finalizers that use the module's objects while the state is closed (check_lua.py). The last one made runs first,
-- with everything open; the first one made runs last, when the module itself has ended. Each prints its end; the last to run
-- also checks for calls that wrongly succeed.
local gpuorch, world
local names, metatable = {}, debug.getmetatable

-- The result that a wait for a completed operation still gives, and the methods allowed on closed objects.
local operations_end = {["operation that is done:wait"] = true, ["operation that is done:await"] = true}
local always = {close = true, ready = true, result = true, entry = true, cq = true, when_done = true}

local function methods_of(object)
    local index = metatable(object).__index
    if type(index) == "table" then return index end
    local methods = {}
    for name in ("close fill slice as type bytes pointer to_string from_string read_file write_file"):gmatch "%S+" do
        methods[name] = assert(object[name])
    end
    return methods
end

local function each_call(seconds, all_closed, call)
    for _, name in ipairs(names) do
        local object = world[name]
        tostring(object)
        if name:find "array" then
            call(name .. "[1]", function() return object[1] end)
            call(name .. "[1] =", function() object[1] = 1 return object end)
            call("#" .. name, function() return #object end)
        end
        for method, f in pairs(methods_of(object)) do
            call(name .. ":" .. method, f, object, seconds)
            if all_closed then call(name .. ":" .. method, f, object) end
            call(name .. ":" .. method, f, object, world.other or object, seconds)
            call(name .. ":" .. method, f, object, world.kernel or object, {grid = 1, block = 1})
            call(name .. ":" .. method, f, object, {}, seconds)
            call(name .. ":" .. method, f, object, world.executor or object, function() end)
        end
    end
end

local function finalizer(place, ended)
    local function use()
        local wrong = {}
        each_call(0, ended, function(name, f, ...)
            local good, value = pcall(f, ...)
            local method = name:match ":(.*)"
            if ended and good and value and not always[method] and value ~= operations_end[name] then
                wrong[#wrong + 1] = name
            end
        end)
        if ended then
            for name, f in pairs{array = gpuorch.array, launch = gpuorch.launch} do
                if pcall(f, name == "array" and "u8" or {grid = 1, block = 1}, 1) then wrong[#wrong + 1] = name end
            end
            local runtime, message, why = gpuorch.runtime_create()
            if runtime or why ~= "GPO_SHUT_DOWN" then wrong[#wrong + 1] = "runtime_create: " .. tostring(message) end
        else -- nobody finalizes what this makes, in some Luas
            local runtime = gpuorch and gpuorch.runtime_create{device = "soft", log = function() end}
            if runtime then
                world["stream from " .. place] = assert(assert(runtime:device_open()):stream_create())
                names[#names + 1] = "stream from " .. place
            end
        end
        print(place .. ": " .. (#wrong == 0 and "ended" or table.concat(wrong, ", ")))
    end
    local function reported() -- some Luas keep errors in finalizers to themselves
        local good, problem = xpcall(use, debug.traceback)
        if not good then print(problem) end
    end
    if newproxy then
        local proxy = newproxy(true)
        getmetatable(proxy).__gc = reported
        return proxy
    end
    return setmetatable({}, {__gc = reported})
end

late = {} -- a global: nothing of it goes before the state
late[1] = finalizer("before the module", true)
gpuorch = require "gpuorch"
late[2] = finalizer "behind the module"
world = {}
late.world = world
local function add(name, object)
    world[name] = assert(object)
    names[#names + 1] = name
    return object
end
local runtime = add("runtime", gpuorch.runtime_create{device = os.getenv "GPUORCH_DEVICE", log = function() end})
late[3] = finalizer "behind the runtime"
local device = add("device", runtime:device_open())
late[4] = finalizer "behind the device"
local stream, other = add("stream", device:stream_create()), add("other", device:stream_create())
local timeline = add("timeline", runtime:timeline_create())
late[5] = finalizer "behind the streams"
local arena, pool = add("arena", device:arena_create()), add("pool", device:pool_create())
local executor, cq = add("executor", runtime:executor_create()), add("completions", runtime:cq_create())
add("event", device:event_create())
add("stream_pool", device:stream_pool_create())
add("pinned array", arena:allocate("u32", 1024))
add("pooled array", pool:allocate(other, "u32", 1024))
local array = add("host array", gpuorch.array("u32", 1024))
local memory = add("device array", device:memory_allocate("u32", 1024))
add("slice of an array", array:slice(2, 3))
local module = add("module", device:module_load_builtin())
local copy = add("kernel", module:kernel("gpo_copy_u32", "ptr ptr u64"))
assert(stream:wait_timeline(timeline, 1))
assert(stream:copy_to_host(array, memory))
add("operation", stream:notify())
add("operation of a queue", stream:notify(cq))
assert(stream:notify(cq, "a value"))
assert(stream:then_(executor, function() error "called when nobody runs it" end))
local ready = add("operation that is done", other:notify())
assert(ready:wait())
local pipeline = add("pipeline", device:pipeline_create{stages = {{kernel = copy, arguments = {"output", "input", 1}}}, chunk_bytes = 4096})
assert(pipeline:start({fill = function(buffer) return #buffer end}, {take = function() end}))
pipeline:wait(0.005)
add("operation of a run", pipeline:notify())
late[6] = finalizer "behind everything"
