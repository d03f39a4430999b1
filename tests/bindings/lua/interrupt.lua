-- interrupt.lua WAIT: waits for what never comes, in some way (check_lua.py sends Ctrl-C; for "as ..." it comes by itself).
local gpuorch, process = require "gpuorch", require "process"
local runtime = assert(gpuorch.runtime_create{device = os.getenv "GPUORCH_DEVICE"})
local device = assert(runtime:device_open())
local stream, event = assert(device:stream_create()), assert(device:event_create())
local timeline, cq, executor = assert(runtime:timeline_create()), assert(runtime:cq_create()), assert(runtime:executor_create())
assert(stream:wait_timeline(timeline, 1))
assert(event:record(stream))
local memory = assert(device:memory_allocate("u8", 4096))

-- Has a kernel run until the flag is set.
local function spin()
    local flag = assert(assert(device:arena_create()):allocate("u32", 1)):fill(0)
    local kernel = assert(device:module_compile[[
        extern "C" __global__ void spin(volatile unsigned *flag) { while (*flag == 0) {} }
    ]]):kernel("spin", "ptr")
    assert(assert(device:stream_create()):launch_kernel(kernel, {grid = 1, block = 1}, flag))
    return flag
end

-- A pipeline that calls Lua, and never ends.
local function endless(fill, source)
    local copy = device:module_load_builtin():kernel("gpo_copy_u32", "ptr ptr u64")
    local pipeline = assert(device:pipeline_create{stages = {{kernel = copy, arguments = {"output", "input", 1}}}})
    assert(pipeline:start(source or {fill = fill or function() return "x" end}, {take = function() end}))
    return pipeline
end

-- A scheduler that runs, with a task that ends when the scheduler is stopped.
local function busy()
    local ring = assert(device:queue{kind = "ring", task_size = 16})
    local made = assert(device:scheduler{form = "resident", queue = ring, threads = 32, multiprocessors = 1,
                                         handlers = {"stay"}, source = [==[
        #include <gpuorch/device/scheduler.cuh>
        struct task { unsigned handler, rest[3]; };
        __device__ int stay(gpo::task_context &at, const task &) { while (!at.stopping()) {} return 0; }]==]})
    local pushing = assert(device:stream_create())
    assert(ring:push(pushing, ("\0"):rep(16)))
    assert(pushing:wait())
    assert(made:start())
    return made
end
local scheduler = arg[1] == "drain" and busy() -- compiled before the wait

local waits = {
    stream = function() return stream:wait() end,
    event = function() return event:wait() end,
    timeline = function() return timeline:wait(1) end,
    device = function() return device:wait() end,
    operation = function() return stream:notify():wait() end,
    await = function() return stream:await() end,
    queue = function() return cq:wait() end,
    answer = function() -- of a host ring without a kernel
        local resident = assert(device:stream_create{resident = true})
        return assert(device:queue{kind = "host_ring", task_size = 16, answer_size = 4, stream = resident}):wait()
    end,
    drain = function() return scheduler:drain() end,
    poll = function()
        local queues = {cq, runtime:completions()}
        gpuorch.poll(queues, 0) -- a descriptor that is new is readable once
        for _, queue in ipairs(queues) do queue:pump() end
        return gpuorch.poll(queues)
    end,
    coroutine = function() return coroutine.wrap(function() return stream:await() end)() end,
    executor = function()
        assert(stream:then_(executor, function() end))
        return executor:run()
    end,
    pipeline = function() return endless():wait() end,
    callback = function()
        local pipeline = endless(function() for _ = 1, 1e4 do local _ = {} end return "x" end)
        pipeline:wait() -- raises, and not only in the callback
        return true
    end,
    ["as a pipeline's begins"] = function()
        local path = os.tmpname()
        os.remove(path)
        assert(os.execute("mkfifo " .. path))
        local writer = assert(io.open(path, "r+")) -- nothing is written: nobody calls
        local pipeline = endless(nil, {path = path})
        os.remove(path)
        process.interrupt_allocation()
        return pipeline:wait(), writer
    end,
    ["as a stream's beside a pipeline begins"] = function()
        local pipeline = endless()
        process.interrupt_allocation()
        return stream:wait(), pipeline
    end,
    loop = function()
        local loop = require "gpuorch.loop"
        loop.spawn(function() stream:await() end)
        return loop.run()
    end,
    ["as a coroutine of the loop works"] = function()
        local loop = require "gpuorch.loop"
        loop.spawn(function()
            process.interrupt_allocation()
            local _ = {}
            stream:await()
        end)
        loop.run() -- raises, and not only in the coroutine
        return true
    end,
    ["as a coroutine of luv works"] = function()
        require "gpuorch.luv".spawn(function()
            process.interrupt_allocation()
            local _ = {}
            stream:await()
        end)
        require "luv".run() -- raises, and not only in the coroutine
        return true
    end,
    ["as a coroutine of cqueues works"] = function()
        local controller = require "cqueues".new()
        require "gpuorch.cqueues".spawn(controller, function()
            process.interrupt_allocation()
            local _ = {}
            stream:await()
        end)
        assert(controller:loop()) -- its error, and not only the coroutine's
        return true
    end,
    luv = function()
        require "gpuorch.luv".spawn(function() stream:await() end)
        return require "luv".run()
    end,
    cqueues = function()
        local controller = require "cqueues".new()
        require "gpuorch.cqueues"
        controller:wrap(function() stream:await() end)
        return controller:loop()
    end,
    to_string = function() return memory:to_string(stream) end,
    from_string = function() return memory:from_string(stream, ("x"):rep(4096)) end,
    write_file = function() return memory:write_file(stream, "/dev/null") end,
    read_file = function() return memory:read_file(stream, "/dev/zero") end,
    run_for = function()
        assert(stream:then_(executor, function() end))
        return executor:run_for(1e6)
    end,
    close = function()
        spin()
        runtime:close()
        return true
    end,
    shutdown = function()
        local flag = spin()
        local good, message = pcall(function()
            local done, why = runtime:shutdown()
            return done and "shut down" or why
        end)
        flag[1] = 1
        return not good and error(message, 0)
    end,
}
local wait = assert(waits[arg[1]])
io.write "waiting\n"
io.flush()
assert(wait())
print "it came"
