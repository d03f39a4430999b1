--- await() in coroutines of cqueues' controllers.
--
--     local cqueues = require "cqueues"
--     require "gpuorch.cqueues"
--     local controller = cqueues.new()
--     controller:wrap(function() stream:await() print "done" end)
--     assert(controller:loop())
--
-- Each queue that coroutines of a controller wait for has one coroutine there that watches its descriptor and drains.
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

--- What await() calls in a coroutine of a controller.
function adapter.suspend(operation, timeout)
    local woken = condition.new()
    if operation:when_done(function() woken:signal() end) then
        local watch = watch_of(cqueues.running(), operation:cq())
        local deadline = timeout and timeout >= 0 and cqueues.monotime() + timeout
        watch.waiting = watch.waiting + 1
        repeat
            cqueues.poll(woken, deadline and math.max(0, deadline - cqueues.monotime()))
        until operation:ready() or deadline and cqueues.monotime() >= deadline
        watch.waiting = watch.waiting - 1
        if watch.waiting == 0 then watch.changed:signal() end
    end
    if operation:ready() then return operation:result() end
    return false, gpuorch.status_text("GPO_TIMEOUT"), "GPO_TIMEOUT"
end

-- The coroutine that a controller resumed itself may yield to it; one inside it, a generator, may not.
gpuorch.add_probe(function()
    local controller, own = cqueues.running()
    return controller and own and adapter
end)

return adapter
