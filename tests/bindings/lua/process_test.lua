-- Forked children, and several states on several threads.
local h = dofile(os.getenv "GPUORCH_TEST_HARNESS")
local gpuorch, test, use, same, fails = h.gpuorch, h.test, h.use, h.same, h.fails
local process = require "process"
local folder = os.getenv "GPUORCH_TEST_FILES"
local w = dofile(folder .. "/world.lua")

-- The descriptors and threads of the process, once they have been the same for a while: a thread that was joined may still be
-- on its way out.
local function held()
    local last, times = process.held(), 0
    for _ = 1, 1000 do
        gpuorch.poll({}, 0.01)
        local now = process.held()
        times = now == last and times + 1 or 0
        last = now
        if times == 30 then break end
    end
    return last
end

-- Ends a child, with its state. Not under a leak detector: the parent's memory is left alone, and looks leaked.
local function end_child(code)
    if os.getenv "LSAN_OPTIONS" or os.getenv "ASAN_OPTIONS" then process.exit(code) end
    os.exit(code, true)
end

-- The exit code of a child that runs f, or minus the number of the signal that killed the child.
local function of_child(f)
    local child = process.fork()
    if child == 0 then
        process.alarm(20)
        local good, problem = xpcall(f, debug.traceback)
        if not good then io.stderr:write(problem, "\n") end
        end_child(good and 0 or 1)
    end
    return process.wait(child)
end

test("a child that was forked before anything was used has the library to itself", function() -- the first test: nothing was
    same(of_child(function()
        local taken = 0
        for _ = 1, 2 do
            local runtime, device, stream = use()
            local copy = assert(device:module_load_builtin():kernel("gpo_copy_u32", "ptr ptr u64"))
            local pipeline = assert(device:pipeline_create{
                stages = {{kernel = copy, arguments = {"output", "input", 1024}}}, chunk_bytes = 4096})
            assert(pipeline:start({memory = ("x"):rep(8192)}, {take = function() taken = taken + 1 end}))
            assert(pipeline:wait())
            local array = assert(device:memory_allocate("u32", 16))
            assert(stream:fill(array, 1))
            assert(stream:await())
            runtime:close()
            same(stream:query(), nil) -- it was shut down here, and not left alone as a parent's would be
        end
        same(taken, 4)
    end), 0)
end)

test("a child that is forked while a pipeline's functions and log lines come in doesn't wait for them", function()
    local runtime, device, stream = use{device = os.getenv "GPUORCH_DEVICE", log_level = "debug", log = function() end}
    local copy = assert(device:module_load_builtin():kernel("gpo_copy_u32", "ptr ptr u64"))
    local pipeline = assert(device:pipeline_create{
        stages = {{kernel = copy, arguments = {"output", "input", 1024}}}, chunk_bytes = 4096})
    local chunks, calls = 0, 0
    assert(pipeline:start({fill = function(buffer)
        calls = calls + 1
        return #buffer
    end}, {take = function()
        calls = calls + 1
        chunks = chunks + 1
    end}))
    for fork = 1, 30 do
        same(of_child(function()
            local before = calls
            fails("GPO_FORKED", stream.wait, stream, 1)
            fails("GPO_FORKED", pipeline.wait, pipeline)
            fails("GPO_FORKED", stream.await, stream)
            fails("GPO_FORKED", runtime.shutdown, runtime, 1)
            pipeline:close()
            runtime:close()
            h.collect()
            same(calls - before, 0, "the parent's calls that ran in the child")
        end), 0, "fork " .. fork)
        pipeline:wait(0.001 * (fork % 4))
    end
    local before = chunks
    for _ = 1, 1000 do
        if chunks == before then pipeline:wait(0.01) end
    end
    same(chunks > before, true)
end)

test("a callback may fork: its child ends, and what it was called for goes on", function()
    local runtime, device, stream = use()
    local executor = assert(runtime:executor_create())
    local codes = {}
    local function fork()
        codes[#codes + 1] = of_child(function() fails("GPO_FORKED", stream.query, stream) end)
    end
    assert(stream:then_(executor, fork))
    assert(executor:run())
    local copy = assert(device:module_load_builtin():kernel("gpo_copy_u32", "ptr ptr u64"))
    local pipeline = assert(device:pipeline_create{
        stages = {{kernel = copy, arguments = {"output", "input", 1024}}}, chunk_bytes = 4096})
    assert(pipeline:start({memory = ("x"):rep(8192)}, {take = fork}))
    assert(pipeline:wait())
    same(table.concat(codes, " "), "0 0 0")
end)

test("in a forked child every call fails with GPO_FORKED, the child ends cleanly, and the parent goes on", function()
    local world = w.world()
    assert(world.stream:fill(world.array, 1))
    local child = process.fork()
    if child == 0 then
        local wrong = 0
        for _, call in ipairs(w.calls) do
            local value, message, name = call.run(world)
            if value ~= nil or name ~= "GPO_FORKED" then
                wrong = wrong + 1
                io.stderr:write(call.name, ": ", tostring(value), " ", tostring(message), " ", tostring(name), "\n")
            end
        end
        local done, _, why = world.runtime:shutdown(0)
        if done ~= nil or why ~= "GPO_FORKED" then wrong = wrong + 1 end
        world.stream:close()
        world.runtime:close()
        collectgarbage()
        end_child(wrong)
    end
    same(process.wait(child), 0)
    assert(world.stream:copy_to_host(world.host, world.array))
    assert(world.stream:await())
    same(world.host[64], 1)
    world.runtime:close()
end)

test("states that are closed with work in flight, one after the other, leave no descriptor and no thread", function()
    same(process.states(2, folder .. "/in_flight.lua"), nil)
    h.collect()
    local before = held()
    same(process.states(os.getenv "GPUORCH_TEST_FULL" and 1000 or 20, folder .. "/in_flight.lua"), nil)
    same(held(), before)
end)

test("a runtime with work in flight is used on while other states load the library and let it go", function()
    local runtime, device = use()
    local stream, timeline = assert(device:stream_create()), assert(runtime:timeline_create())
    local array, memory = gpuorch.array("u32", 4), assert(device:memory_allocate("u32", 4))
    local function round(i)
        assert(stream:wait_timeline(timeline, i))
        assert(stream:fill(memory, i))
        assert(stream:copy_to_host(array, memory))
        same(process.states(1, folder .. "/require.lua"), nil)
        same(stream:query(), false)
        assert(timeline:signal(i))
        same(stream:await(), true)
        same(array[4], i)
    end
    for i = 1, 2 do round(i) end -- threads that work for the device start when there is work
    local before = held()
    for i = 3, os.getenv "GPUORCH_TEST_FULL" and 1000 or 20 do round(i) end
    same(held(), before)
end)

test("a state of which an allocation fails, or all from one on, goes on as far as it can and leaves nothing behind", function()
    local script = folder .. "/short_of_memory.lua"
    local total, message = process.limited(script, 1, 0)
    same(message, nil)
    h.collect()
    local before, short = held(), 0
    for _, failures in ipairs{1, 2^30} do
        for first = 1 + failures % 7, total, os.getenv "GPUORCH_TEST_FULL" and 1 or 71 do
            local _, why = process.limited(script, first, failures)
            if why then short = short + 1 end
        end
    end
    same(short > 10, true, "scripts that ended for want of memory: " .. short)
    same(held(), before)
end)

test("what a state holds by objects whose finalizers Lua had no memory to call is released when the state is closed", function()
    local script = folder .. "/starved.lua"
    process.limited(script, 1, 0)
    h.collect()
    local before = held()
    local _, message = process.limited(script, 1, 0)
    same(tonumber(message:match "^lost: (%d+)$") > 0, true, message)
    same(held(), before)
end)

test("answers for which Lua finds no memory come with the next take", function()
    local _, message = process.limited(folder .. "/starved_take.lua", 1, 0)
    same(message, "1=2 2=4 3=6")
end)

test("two copies of the library serve two modules in one state", function()
    local library, copy = os.getenv "GPUORCH_LIBRARY", os.tmpname()
    assert(os.execute(("cp '%s' '%s'"):format(os.getenv "GPUORCH_COUNTED_LIBRARY", copy)))
    process.setenv("GPUORCH_LIBRARY", copy)
    package.loaded.gpuorch = nil
    local second = require "gpuorch"
    package.loaded.gpuorch = gpuorch
    process.setenv("GPUORCH_LIBRARY", library)
    os.remove(copy)
    local _, _, stream = use()
    local runtime = assert(second.runtime_create{device = os.getenv "GPUORCH_DEVICE"})
    local other = assert(assert(runtime:device_open()):stream_create())
    same(stream:await(), true)
    same(other:await(), true)
    h.raises("gpuorch.stream expected", stream.wait_stream, stream, other)
    runtime:close()
end)

test("two states on two threads each have their own library, queues and callbacks", function()
    for count = 2, 4, 2 do same(process.threads(count, folder .. "/state.lua"), nil) end
end)
