--- await() in coroutines of luv's loop.
--
--     local uv, gpu = require "luv", require "gpuorch.luv"
--     gpu.spawn(function() stream:await() print "done" end)
--     uv.run()
--
-- The queues that coroutines wait for are watched by their descriptors. Pipelines' callbacks and log lines run then, too.
-- Ctrl-C, which an interpreter turns into an error where Lua runs next, ends uv.run() and, as every error in a callback of
-- luv's does, the process.
local uv = require "luv"
local gpuorch = require "gpuorch"

local adapter = {}
local running, unpack = coroutine.running, table.unpack or unpack

local tasks = setmetatable({}, {__mode = "k"}) -- coroutine → task
local polls = {}                               -- completion queue → {handle of luv's, how many wait}
local ready, flush_timer = {}, nil
local hook_timer                               -- has Lua run now and then while coroutines wait, so that Ctrl-C is seen
local HOOK_MS = 50

--- What an error in a coroutine is given to: the message with its traceback, and the coroutine.
function adapter.on_error(message, thread) gpuorch.on_error(message, thread) end

local function resume(thread, ...)
    local good, problem = coroutine.resume(thread, ...)
    if not good then adapter.on_error(debug.traceback(thread, tostring(problem)), thread) end
end

local function flush()
    local due = ready
    ready = {}
    for i = 1, #due do resume(due[i]) end
end

-- Whoever drains a queue wakes; the coroutine goes on in a turn of the loop.
local function wake(task)
    if not task.parked then return end
    task.parked = false
    if task.timer then task.timer:stop() end
    ready[#ready + 1] = task.thread
    flush_timer = flush_timer or uv.new_timer()
    if #ready == 1 then flush_timer:start(0, 0, flush) end
end

local function watch(queue)
    local poll = polls[queue]
    if not next(polls) then
        hook_timer = hook_timer or uv.new_timer()
        hook_timer:start(HOOK_MS, HOOK_MS, function() end)
        hook_timer:unref()
    end
    if not poll then
        poll = {handle = assert(uv.new_poll(assert(queue:fd()))), waiting = 0}
        polls[queue] = poll
        poll.handle:start("r", function() queue:pump() end)
    end
    poll.waiting = poll.waiting + 1
end

local function unwatch(queue)
    local poll = polls[queue]
    poll.waiting = poll.waiting - 1
    if poll.waiting > 0 then return end
    polls[queue] = nil
    poll.handle:stop()
    poll.handle:close()
    if not next(polls) then hook_timer:stop() end
end

--- What await() calls in a coroutine that spawn() made.
function adapter.suspend(operation, timeout)
    local task, queue = tasks[running()], operation:cq()
    local function done() -- may come after the timeout, while the task waits for something else
        if task.operation == operation then wake(task) end
    end
    if operation:when_done(done) then
        task.parked, task.operation = true, operation
        if timeout and timeout >= 0 then
            task.timer = task.timer or uv.new_timer()
            task.timer:start(math.ceil(timeout * 1000), 0, function() wake(task) end)
        end
        watch(queue)
        coroutine.yield()
        task.operation = nil
        unwatch(queue)
    end
    if operation:ready() then return operation:result() end
    return false, gpuorch.status_text("GPO_TIMEOUT"), "GPO_TIMEOUT"
end

--- Runs a function with its arguments in a coroutine, at once until it first waits.
function adapter.spawn(f, ...)
    local arguments, count = {...}, select("#", ...)
    local task = {}
    task.thread = coroutine.create(function()
        f(unpack(arguments, 1, count))
        if task.timer then task.timer:close() end
    end)
    tasks[task.thread] = task
    gpuorch.adopt(task.thread, adapter)
    resume(task.thread)
    return task.thread
end

return adapter
