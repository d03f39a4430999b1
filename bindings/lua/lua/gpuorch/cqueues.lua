--- await() in coroutines of cqueues' controllers.
--
--     local cqueues = require "cqueues"
--     local gpu = require "gpuorch.cqueues"
--     local controller = cqueues.new()
--     gpu.spawn(controller, function() stream:await() print "done" end)
--     assert(controller:loop())
--
-- await() also works in coroutines that the controller's own wrap() made. If a coroutine raises an error, loop()
-- returns the error, and the next loop() continues the other coroutines. For each queue that a controller's coroutines
-- wait for, an additional coroutine watches the descriptor and drains the queue.
local cqueues = require "cqueues"
local condition = require "cqueues.condition"
local gpuorch = require "gpuorch"

local adapter = {}
local controllers = setmetatable({}, {__mode = "k"}) -- controller → (completion queue → {how many wait, condition})

local function drain(queue, watch)
    local pollable = {pollfd = assert(queue:fd()), events = "r"}
    while watch.waiting > 0 do
        cqueues.poll(pollable, watch.changed)
        if not queue:pump() then return end
    end
end

local function watch_of(controller, queue)
    local queues = controllers[controller]
    if not queues then
        queues = {}
        controllers[controller] = queues
    end
    local watch = queues[queue]
    if not watch then
        watch = {waiting = 0, changed = condition.new()}
        queues[queue] = watch
        controller:wrap(function()
            drain(queue, watch)
            if queues[queue] == watch then queues[queue] = nil end
        end)
    end
    return watch
end

--- await() calls this in a coroutine of a controller. A coroutine closed meanwhile keeps the controller busy until the
--- operation is done.
function adapter.suspend(operation, timeout)
    local woken, watch = condition.new(), nil
    local function finish() -- after a timeout, too
        if not watch then return end
        watch.waiting = watch.waiting - 1
        if watch.waiting == 0 then watch.changed:signal() end
        watch = nil
        woken:signal()
    end
    if operation:when_done(finish) then
        watch = watch_of(cqueues.running(), operation:cq())
        watch.waiting = watch.waiting + 1
        local deadline = timeout and timeout >= 0 and cqueues.monotime() + timeout
        repeat
            cqueues.poll(woken, deadline and math.max(0, deadline - cqueues.monotime()))
        until operation:ready() or deadline and cqueues.monotime() >= deadline
        finish()
    end
    if operation:ready() then return operation:result() end
    return false, gpuorch.status_text("GPO_TIMEOUT"), "GPO_TIMEOUT"
end

--- Where this is a function, it gets the errors in coroutines of spawn(), and loop() goes on: the message with its
--- traceback, and the coroutine.
adapter.on_error = nil

--- Makes a coroutine of a function and its arguments, which the controller runs.
function adapter.spawn(controller, f, ...)
    local thread = coroutine.create(f)
    gpuorch.adopt(thread, adapter)
    local resume
    local function go_on(good, ...) -- yields go to the controller
        if coroutine.status(thread) ~= "dead" then return resume(coroutine.yield(...)) end
        if not good then gpuorch.coroutine_failed(thread, (...), adapter.on_error) end
    end
    function resume(...)
        if coroutine.status(thread) ~= "dead" then return go_on(coroutine.resume(thread, ...)) end -- else it was closed
    end
    controller:wrap(resume, ...)
    return thread
end

-- A coroutine may yield to the controller only if the controller resumed it; a generator inside may not.
gpuorch.add_probe(function()
    local controller, own = cqueues.running()
    return controller and own and adapter
end)

return adapter
