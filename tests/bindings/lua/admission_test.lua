-- Admissions: places that are asked for, awaited, given back, and never lost.
local h = dofile(os.getenv "GPUORCH_TEST_HARNESS")
local test, use, same, raises = h.test, h.use, h.same, h.raises
local gpuorch, loop = require "gpuorch", require "gpuorch.loop"

test("a request that fits is admitted at once, and others wait for the place", function()
    local runtime, _, stream = use()
    local admission = assert(runtime:admission_create{count = 1, label = "door"})
    local first, ticket = admission:enter{flow = 3}
    same(assert(first:wait(20)), true)
    same(first:entry().operation, ticket)
    same(first:entry().origin, "admission")
    local second, other = admission:enter()
    same(second:wait(0), false)
    same(select(3, admission:leave(other)), "GPO_INVALID_STATE")
    same(admission:info().waiting, 1)
    assert(admission:leave_after(ticket, stream))
    same(assert(second:wait(20)), true)
    same(select(3, admission:leave(ticket)), "GPO_NOT_FOUND")
    assert(admission:leave(other))
    same(admission:info().held, 0)
    same(admission:info().admitted, 2)
end)

test("a request ends with the reason why it is not admitted", function()
    local runtime, device, stream = use()
    local admission = assert(runtime:admission_create{count = 1, bytes = 100, capacity = 1})
    same(select(3, admission:enter{count = 2}), "GPO_LIMIT_EXCEEDED")
    same(select(3, admission:enter{bytes = 101}), "GPO_LIMIT_EXCEEDED")
    same(select(3, admission:enter{priority = 1}), "GPO_INVALID_ARGUMENT")
    local _, ticket = admission:enter{bytes = 100}
    local waits, waiting = admission:enter{deadline_ns = ("%.0f"):format((gpuorch.now() + 20) * 1e9)}
    same(select(3, admission:enter()), "GPO_WOULD_BLOCK")
    assert(admission:cancel(waiting))
    same(select(3, waits:wait(20)), "GPO_CANCELLED")
    local late = admission:enter{deadline_ns = ("%.0f"):format((gpuorch.now() + 0.05) * 1e9)}
    same(select(3, late:wait(20)), "GPO_TIMEOUT")
    local larger = admission:enter{bytes = 90}
    assert(admission:set_budget(1, 80))
    same(select(3, larger:wait(20)), "GPO_LIMIT_EXCEEDED")
    assert(admission:set_flow(1, 5))
    same(select(3, admission:set_flow(1, 0)), "GPO_INVALID_ARGUMENT")
    assert(admission:leave(ticket))
    raises("there is no option 'places'", admission.enter, admission, {places = 1})
    local pool = assert(device:pool_create())
    local watching = assert(runtime:admission_create{pool = pool, high_bytes = 1000, low_bytes = 100})
    local piece = assert(pool:allocate(stream, "u8", 2000))
    same(watching:info().paused, true)
    local paused = watching:enter()
    same(paused:wait(0), false)
    assert(pool:free(piece, stream))
    same(assert(paused:wait(20)), true)
end)

test("a queue and a function on an executor get the outcome", function()
    local runtime = use()
    local admission = assert(runtime:admission_create{count = 1})
    local queue = assert(runtime:cq_create())
    local operation, ticket = admission:enter({}, queue, "mine")
    assert(queue:wait(20))
    local entry = assert(queue:drain())[1]
    same(entry.user_data, "mine")
    same(entry.operation, ticket)
    same(operation ~= nil, true)
    local executor = assert(runtime:executor_create())
    local called = {}
    local accepted = admission:enter_then({}, executor, function(completion) called[1] = completion.status end)
    same(accepted ~= nil, true)
    assert(admission:leave(ticket))
    assert(executor:run(20))
    same(called[1], "GPO_SUCCESS")
    admission:close()
    same(select(2, pcall(admission.info, admission)):match "closed" ~= nil, true)
end)

test("a coroutine awaits its place", function()
    local runtime = use()
    local admission = assert(runtime:admission_create{count = 1})
    local order = {}
    local function client(name)
        loop.spawn(function()
            local place, ticket = admission:enter()
            assert(place:await())
            order[#order + 1] = name .. "+"
            loop.sleep(0.001)
            order[#order + 1] = name .. "-"
            assert(admission:leave(ticket))
        end)
    end
    client "a"
    client "b"
    loop.run()
    same(table.concat(order, " "), "a+ a- b+ b-")
end)
