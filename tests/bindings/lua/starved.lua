-- starved.lua: objects of every kind whose finalizers Lua can't call, since it finds no memory for the call
-- (process_test.lua). Lua counts such a finalizer as run. The script ends with how many objects the library still has of
-- those.
local gpuorch = require "gpuorch"
local runtime = assert(gpuorch.runtime_create{device = "soft"})
local device = assert(runtime:device_open())
local module = assert(device:module_load_builtin())

local function garbage()
    local stream, timeline, queue = assert(device:stream_create()), assert(runtime:timeline_create()), assert(runtime:cq_create())
    assert(queue:fd())
    for value = 1, 3 do assert(stream:notify(queue, value)) end
    local failed = assert(timeline:notify(1, queue))
    assert(timeline:fail("GPO_CANCELLED", "a message"))
    assert(failed:wait(10) == nil)
    local memory, executor = assert(device:memory_allocate("u32", 16)), assert(runtime:executor_create())
    assert(#memory:to_string(stream) == 64)
    assert(stream:then_(executor, function() end))
    local kernel = assert(module:kernel("gpo_copy_u32", "ptr ptr u64"))
    local function run(take)
        local pipeline = assert(device:pipeline_create{chunk_bytes = 4096, stages = {
            {kernel = kernel, arguments = {"output", "input", 1024}}}})
        assert(pipeline:start({memory = ("x"):rep(2^20)}, {take = take}))
        return pipeline
    end
    local broken = run(function() error "raised where nobody asks" end)
    assert(broken:notify():wait(10) == nil)
    local other = assert(gpuorch.runtime_create{device = "soft"})
    return {stream, timeline, queue, failed, memory, executor, kernel, broken, run(function() end), gpuorch.array("u32", 1024),
            assert(assert(assert(other:device_open()):arena_create()):allocate("u32", 16))}
end

local objects
local function collect_at(depth)
    if depth > 0 then return (collect_at(depth - 1)) end
    objects = nil
    pcall(type, 1)
    starve(true)
    for _ = 1, 100 do pcall(collectgarbage) end -- the first lost finalizer is an error that ends it, in most Luas
end

gpuorch.on_error = function() end
for _ = 1, 3 do collectgarbage() end
local before, lost = runtime:statistics().live_objects, 0
for depth = 10, 100 do -- each deeper than any before: a finalizer is one call more, or goes beyond the end of the stack
    objects = garbage()
    pcall(collect_at, depth)
    starve(false)
    lost = runtime:statistics().live_objects - before
    if lost > 0 then break end
end
error("lost: " .. lost, 0)
