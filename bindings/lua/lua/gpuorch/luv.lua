--- await() in coroutines of luv's loop.
--
--     local uv, gpu = require "luv", require "gpuorch.luv"
--     gpu.spawn(function() stream:await() print "done" end)
--     uv.run()
--
-- luv watches the descriptors of the queues that coroutines wait for. Callbacks of pipelines run then, and log lines
-- are delivered. An error in a coroutine is an error in a callback of luv's, which ends the process with a traceback.
-- Ctrl-C has the same effect: an interpreter raises it as an error where Lua runs next.
local uv = require "luv"
local gpuorch = require "gpuorch"

local adapter = {}
local running = coroutine.running

local timers = setmetatable({}, {__mode = "k"}) -- coroutine → handle of luv's, once it has needed one
local polls = {}                               -- completion queue → {handle of luv's, how many wait}
local ready, flush_timer = {}, nil
local hook_timer                               -- has Lua run now and then while coroutines wait, so that Ctrl-C is seen
local HOOK_MS = 50

--- Where this is a function, it gets the errors in coroutines, and the process goes on: the message with its traceback,
--- and the coroutine.
adapter.on_error = nil

local function resume(thread, ...)
    local good, problem = true, nil
    if coroutine.status(thread) ~= "dead" then -- else it was closed
        good, problem = coroutine.resume(thread, ...)
    end
    if coroutine.status(thread) == "dead" and timers[thread] then
        timers[thread]:close()
        timers[thread] = nil
    end
    if not good then gpuorch.coroutine_failed(thread, problem, adapter.on_error) end
end

local flush

-- Called while a queue is drained; the coroutine goes on in a turn of the loop.
local function wake(thread)
    ready[#ready + 1] = thread
    flush_timer = flush_timer or uv.new_timer()
    if #ready == 1 then flush_timer:start(0, 0, flush) end
end

function flush()
    local due = ready
    ready = {}
    for i = 1, #due do
        local good, problem = pcall(resume, due[i])
        if not good then -- there are hosts of luv that go on: the rest has its turn then
            for j = i + 1, #due do wake(due[j]) end
            error(problem, 0)
        end
    end
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

--- await() calls this in a coroutine that spawn() made. A coroutine closed meanwhile keeps the loop until the operation is
--- done.
function adapter.suspend(operation, timeout)
    local thread, queue = running(), operation:cq()
    local timer = timers[thread]
    local pending = true
    local function finish() -- the operation's end and the timeout both come: the second does nothing
        if not pending then return end
        pending = false
        if timer then timer:stop() end
        unwatch(queue)
        wake(thread)
    end
    if operation:when_done(finish) then
        if timeout and timeout >= 0 then
            timer = timer or uv.new_timer()
            timers[thread] = timer
            timer:start(math.ceil(timeout * 1000), 0, finish)
        end
        watch(queue)
        coroutine.yield()
    end
    if operation:ready() then return operation:result() end
    return false, gpuorch.status_text("GPO_TIMEOUT"), "GPO_TIMEOUT"
end

--- Runs a function with its arguments in a coroutine, at once until it first waits. An error before that is raised here.
function adapter.spawn(f, ...)
    local thread = coroutine.create(f)
    gpuorch.adopt(thread, adapter)
    resume(thread, ...)
    return thread
end

return adapter
