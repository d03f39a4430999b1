--- An event loop for programs that have none: runs coroutines, and sleeps while all of them wait for GPU work.
--
--     local loop = require "gpuorch.loop"
--     loop.spawn(function() stream:await() print "done" end)
--     loop.run()
--
-- In a coroutine of the loop await() lets the others run. In any other, a generator inside one for instance, it waits.
local gpuorch = require "gpuorch"

local loop = {}
local running = coroutine.running

local ready, first, last = {}, 1, 0 -- tasks to be resumed, in order
local sleepers = {}                 -- task → when it is woken at the latest
local watched = {}                  -- completion queue → how many tasks wait for it to be drained
local tasks = {}                    -- coroutine → task
local alive = 0

-- Makes a task ready to go on; a second wake-up meanwhile has no effect.
local function wake(task)
    if not task.parked then return end
    ready[last + 1] = task -- the one step that may fail comes first
    last = last + 1
    task.parked = false
    sleepers[task] = nil
end

local function park(task, timeout)
    task.parked = true
    if timeout and timeout >= 0 then sleepers[task] = gpuorch.now() + timeout end
    coroutine.yield()
end

--- await() calls this in a coroutine of the loop. A coroutine closed meanwhile counts until the operation is done.
function loop.suspend(operation, timeout)
    local task, queue = tasks[running()], operation:cq()
    local pending = true
    local function finish() -- comes after the timeout too, while the task may wait for something else
        if not pending then return end
        pending = false
        watched[queue] = watched[queue] > 1 and watched[queue] - 1 or nil
        wake(task)
    end
    if operation:when_done(finish) then
        watched[queue] = (watched[queue] or 0) + 1
        park(task, timeout)
        finish()
    end
    if operation:ready() then return operation:result() end
    return false, gpuorch.status_text("GPO_TIMEOUT"), "GPO_TIMEOUT"
end

--- Makes a coroutine of a function and its arguments, which loop.run() starts.
function loop.spawn(f, ...)
    local thread = coroutine.create(f)
    local task = {thread = thread, arguments = {...}, count = select("#", ...)}
    tasks[thread] = task
    gpuorch.adopt(thread, loop)
    task.parked = true
    wake(task)
    alive = alive + 1
    return thread
end

--- Lets the other coroutines run for some seconds.
function loop.sleep(seconds)
    local task = tasks[running()]
    if not task then error("loop.sleep is for coroutines of the loop", 2) end
    park(task, seconds)
end

--- An error in a coroutine ends run(), which raises it with its traceback. Where loop.on_error is a function, it gets
--- the message with the traceback, and the coroutine, and run() goes on.
loop.on_error = nil

local unpack = table.unpack or unpack

local function resume(task)
    local good, problem = true, nil
    if coroutine.status(task.thread) ~= "dead" then -- else it was closed
        good, problem = coroutine.resume(task.thread, unpack(task.arguments or {}, 1, task.count or 0))
    end
    task.arguments, task.count = nil, nil
    if coroutine.status(task.thread) == "dead" then
        tasks[task.thread] = nil
        alive = alive - 1
        if not good then gpuorch.coroutine_failed(task.thread, problem, loop.on_error) end
    elseif not task.parked then -- it yielded by itself: its turn comes again
        task.parked = true
        wake(task)
    end
end

-- Wakes the sleepers whose time has come. Returns the seconds until the next wake-up, or nil.
local function wake_sleepers()
    local now, soonest, late = gpuorch.now(), nil, {}
    for task, deadline in pairs(sleepers) do
        if deadline <= now then late[#late + 1] = task
        elseif not soonest or deadline < soonest then soonest = deadline end
    end
    for i = 1, #late do wake(late[i]) end
    return soonest and soonest - now
end

local function wait(timeout)
    local queues = {}
    for queue in pairs(watched) do queues[#queues + 1] = queue end
    if #queues == 0 and not timeout then error("all coroutines wait for something that isn't the loop's", 0) end
    if #queues == 1 then queues[1]:wait(timeout) else gpuorch.poll(queues, timeout) end
    for i = 1, #queues do queues[i]:pump() end
end

--- Runs until every coroutine has ended, or one has failed. The others then stay where they are: the next run() goes
--- on with them. Work that they have put on streams goes on by itself.
function loop.run()
    while alive > 0 do
        for _ = first, last do
            local task = ready[first]
            ready[first], first = nil, first + 1
            resume(task)
        end
        local timeout = wake_sleepers()
        if alive > 0 and first > last then wait(timeout) end
    end
end

return loop
