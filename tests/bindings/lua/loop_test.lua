-- await() under gpuorch.loop, luv and cqueues, and where there is none of them.
local h = dofile(os.getenv "GPUORCH_TEST_HARNESS")
local gpuorch, test, use, same, fails = h.gpuorch, h.test, h.use, h.same, h.fails
local loop = require "gpuorch.loop"

-- Work that is done once the timeline is signalled.
local function held(runtime, device)
    local timeline, stream = assert(runtime:timeline_create()), assert(device:stream_create())
    assert(stream:wait_timeline(timeline, 1))
    return stream, timeline
end

-- Sources to await. Each function returns a function that awaits work, and the timeline whose signal completes the work. A
-- pipeline's await returns the results of wait(), here `true`.
local awaits = {}
function awaits.stream(runtime, device)
    local stream, timeline = held(runtime, device)
    return function() return stream:await() end, timeline
end
function awaits.event(runtime, device)
    local stream, timeline = held(runtime, device)
    local event = assert(device:event_create())
    assert(event:record(stream))
    return function() return event:await() end, timeline
end
function awaits.timeline(runtime)
    local timeline = assert(runtime:timeline_create())
    return function() return timeline:await(1) end, timeline
end
function awaits.operation(runtime, device)
    local stream, timeline = held(runtime, device)
    local operation = assert(stream:notify(assert(runtime:cq_create())))
    return function() return operation:await(60) end, timeline
end
function awaits.pipeline(runtime, device)
    local timeline = assert(runtime:timeline_create())
    local pipeline = assert(device:pipeline_create{chunk_bytes = 4096, stages = {{enqueue = function(stream)
        assert(stream:wait_timeline(timeline, 1))
    end}}})
    assert(pipeline:start{memory = "abcd"})
    return function() return assert(pipeline:await()).bytes_in == 4 end, timeline
end

-- Tests for each loop: spawn(f) starts a coroutine, run() runs until all have ended, sleep(seconds) waits in one. `adapter` is
-- the loop's module, whose on_error can be set.
local function tests_of(name, adapter, spawn, run, sleep)
    test("under " .. name .. " await() lets other coroutines run", function()
        local runtime, device = use()
        local stream, timeline = held(runtime, device)
        local order = {}
        spawn(function()
            order[#order + 1] = "waits"
            same(stream:await(), true)
            order[#order + 1] = "done"
        end)
        spawn(function()
            sleep(0.01)
            order[#order + 1] = "signals"
            assert(timeline:signal(1))
        end)
        run()
        same(table.concat(order, " "), "waits signals done")
    end)

    test("under " .. name .. " await() with a timeout returns false, and the operation is awaited again", function()
        local runtime, device = use()
        local stream, timeline = held(runtime, device)
        local answers = {}
        spawn(function()
            local done = assert(stream:notify())
            local answer, _, why = done:await(0.01)
            answers[1], answers[2] = answer, why
            assert(timeline:signal(1))
            answers[3] = done:await(10)
        end)
        run()
        same(answers[1], false)
        same(answers[2], "GPO_TIMEOUT")
        same(answers[3], true)
    end)

    test("under " .. name .. " what is done after its await has timed out doesn't end a later one", function()
        local runtime, device = use()
        local early, first = held(runtime, device)
        local late, second = held(runtime, device)
        local answers = {}
        spawn(function()
            answers[1] = early:await(0.01)
            answers[2] = late:await()
        end)
        spawn(function()
            sleep(0.03)
            assert(first:signal(1))
            sleep(0.03)
            assert(second:signal(1))
        end)
        run()
        same(answers[1], false)
        same(answers[2], true)
    end)

    test("under " .. name .. " a generator's coroutine waits in place", function()
        local _, _, stream = use()
        local values = {}
        spawn(function()
            local generator = coroutine.wrap(function()
                for i = 1, 3 do
                    same(stream:await(), true)
                    coroutine.yield(i)
                end
            end)
            for i in generator do values[#values + 1] = i end
        end)
        run()
        same(table.concat(values, " "), "1 2 3")
    end)

    test("under " .. name .. " a failure reaches the coroutine that awaits", function()
        local runtime, device = use()
        local stream, timeline = held(runtime, device)
        local got
        spawn(function()
            local _, message, status = stream:await()
            got = status .. ": " .. message
        end)
        spawn(function() assert(timeline:fail("GPO_FAILED", "the sensor is gone")) end)
        run()
        same(got:match("^GPO_FAILED: .*the sensor is gone") ~= nil, true, got)
    end)

    test("under " .. name .. " whoever drains a queue wakes 1000 coroutines that wait for operations on it", function()
        local runtime, device = use()
        local stream, timeline = held(runtime, device)
        local queue = assert(runtime:cq_create())
        local woken = 0
        for _ = 1, 1000 do
            spawn(function()
                same(stream:notify(queue):await(), true)
                woken = woken + 1
            end)
        end
        spawn(function()
            sleep(0.01)
            assert(timeline:signal(1))
            while queue:statistics().drained < 1000 do
                assert(queue:wait(10))
                same(#assert(queue:drain()), 0)
            end
        end)
        run()
        same(woken, 1000)
    end)

    test("under " .. name .. " an error in a coroutine reaches on_error where there is one, and the others go on", function()
        local _, _, stream = use()
        local heard, failed, went_on, of
        same(adapter.on_error, nil)
        adapter.on_error = function(message, thread) heard, of = message, thread end
        failed = spawn(function()
            assert(stream:await())
            error("the coroutine fails")
        end)
        spawn(function()
            assert(stream:await())
            went_on = true
        end)
        run()
        adapter.on_error = nil
        same(went_on, true)
        same(of, failed)
        same(heard and heard:find("the coroutine fails\nstack traceback", 1, true) ~= nil, true, tostring(heard))
    end)

    if coroutine.close then
        test("under " .. name .. " a coroutine that fails closes its variables, and these may await", function()
            local _, _, stream = use()
            local closed, heard
            adapter.on_error = function(message) heard = message end
            spawn(assert(load([[
                local stream, ended = ...
                assert(stream:await())
                local _ <close> = setmetatable({}, {__close = function() ended(stream:await()) end})
                error "the coroutine fails"]])), stream, function(answer) closed = answer end)
            run()
            adapter.on_error = nil
            same(closed, true)
            same(heard and heard:find("the coroutine fails", 1, true) ~= nil, true, tostring(heard))
        end)
    end

    test("under " .. name .. " a coroutine awaits a pipeline whose callbacks are Lua's", function()
        local _, device = use()
        local copy = device:module_load_builtin():kernel("gpo_copy_u32", "ptr ptr u64")
        local pipeline = assert(device:pipeline_create{stages = {{kernel = copy, arguments = {"output", "input", 0}}},
                                                       chunk_bytes = 4096})
        local chunks, result = 0, nil
        spawn(function()
            assert(pipeline:start({memory = ("x"):rep(40960)}, {take = function() chunks = chunks + 1 end}))
            result = assert(pipeline:await())
        end)
        run()
        same(chunks, 10)
        same(result.bytes_in, 40960)
    end)

    test("under " .. name .. " a pipeline's await() gives what its wait() gives: what the run did, or why it failed", function()
        local _, device = use()
        local copy = device:module_load_builtin():kernel("gpo_copy_u32", "ptr ptr u64")
        local pipeline = assert(device:pipeline_create{stages = {{kernel = copy, arguments = {"output", "input", 0}}}})
        local unheard, before = 0, gpuorch.on_error
        gpuorch.on_error = function() unheard = unheard + 1 end
        spawn(function()
            assert(pipeline:start({memory = ("x"):rep(4096)}, {take = function() end}))
            same(pipeline:await().bytes_in, 4096)
            same(pipeline:await().bytes_in, 4096, "of a run that has ended")
            assert(pipeline:start({memory = "abcd"}, {take = function() error("no more disk", 0) end}))
            local run, message, status, failed = pipeline:await()
            same(run, nil)
            same(message, "no more disk")
            same(status, "GPO_CALLBACK_FAILED")
            same(failed.status, "GPO_CALLBACK_FAILED")
            pipeline:close()
        end)
        run()
        gpuorch.on_error = before
        same(unheard, 0)
    end)

    for kind, make in pairs(coroutine.close and awaits or {}) do
        test("under " .. name .. " a coroutine that is closed while it awaits goes, and nothing waits for it: " .. kind, function()
            local runtime, device = use()
            local await, timeline = make(runtime, device)
            local gone = setmetatable({}, {__mode = "k"})
            local dropped = spawn(function()
                await()
                error "the coroutine goes on, though it was closed"
            end)
            gone[dropped] = true
            local heard
            adapter.on_error = function(message) heard = message end
            spawn(function()
                sleep(0.01)
                assert(coroutine.close(dropped))
                dropped = nil
                assert(timeline:signal(1))
                same(await(), true)
            end)
            run()
            adapter.on_error = nil
            await = nil
            h.collect()
            same(heard, nil)
            same(next(gone), nil, "a closed coroutine")
            same(runtime:metrics().completions_pending, 0)
        end)
    end

    test("under " .. name .. " coroutines that have ended are collected", function()
        local _, _, stream = use()
        local there = setmetatable({}, {__mode = "k"})
        for _ = 1, 10 do
            there[spawn(function() same(stream:await(), true) end)] = true
        end
        run()
        h.collect()
        same(next(there), nil)
    end)

    test("under " .. name .. " coroutines that await are told when the runtime is closed", function()
        local runtime, device = use()
        local stream = held(runtime, device)
        local got = {}
        for i = 1, 3 do
            spawn(function()
                local _, _, status = stream:await()
                got[i] = status
            end)
        end
        spawn(function()
            sleep(0.01)
            runtime:close()
        end)
        run()
        same(table.concat(got, " "), "GPO_CANCELLED GPO_CANCELLED GPO_CANCELLED")
    end)
end

tests_of("gpuorch.loop", loop, loop.spawn, loop.run, loop.sleep)

-- Two coroutines that fail and one that goes on, all behind an await.
local function failing(spawn, stream, went_on)
    spawn(function()
        assert(stream:await())
        local function innermost() error "the first fails" end
        innermost()
    end)
    spawn(function()
        assert(stream:await())
        error({code = 7})
    end)
    spawn(function()
        assert(stream:await())
        went_on()
    end)
end

test("an error in a coroutine ends loop.run() with its traceback, and the next loop.run() goes on with the others", function()
    local _, _, stream = use()
    local went_on = 0
    failing(loop.spawn, stream, function() went_on = went_on + 1 end)
    local good, problem = pcall(loop.run)
    same(good, false)
    same(problem:find "the first fails\nstack traceback:\n.*in %a+ .-innermost" ~= nil, true, problem)
    good, problem = pcall(loop.run)
    same(good, false)
    same(type(problem) == "table" and problem.code, 7, tostring(problem))
    loop.run()
    same(went_on, 1)
    loop.run()
end)

local has_luv, uv = pcall(require, "luv")
if has_luv then
    local adapter = require "gpuorch.luv"
    local function sleep(seconds)
        local thread, timer = coroutine.running(), uv.new_timer()
        timer:start(math.ceil(seconds * 1000), 0, function()
            timer:close()
            assert(coroutine.resume(thread))
        end)
        coroutine.yield()
    end
    tests_of("luv", adapter, adapter.spawn, uv.run, sleep)

    test("under luv an error before the first await is raised by spawn()", function()
        local good, problem = pcall(adapter.spawn, function() error "the coroutine fails" end)
        same(good, false)
        same(problem:find("the coroutine fails\nstack traceback", 1, true) ~= nil, true, problem)
    end)
else
    print("SKIP " .. h.interpreter .. ": luv isn't here: " .. tostring(uv):match("[^\n]*"))
end

local has_cqueues, cqueues = pcall(require, "cqueues")
if has_cqueues then
    local adapter, controller = require "gpuorch.cqueues", cqueues.new()
    tests_of("cqueues", adapter, function(...) return adapter.spawn(controller, ...) end, function() assert(controller:loop()) end,
             cqueues.sleep)

    test("under cqueues an error in a coroutine is the controller's loop()'s, and the next loop() goes on with the others", function()
        local _, _, stream = use()
        local went_on, problems = 0, {}
        failing(function(f) return adapter.spawn(controller, f) end, stream, function() went_on = went_on + 1 end)
        for i = 1, 2 do
            local good, problem = controller:loop()
            same(not good, true)
            problems[i] = type(problem) == "table" and problem.code or problem
        end
        same(problems[1]:find("the first fails\nstack traceback", 1, true) ~= nil, true, tostring(problems[1]))
        same(problems[2], 7)
        same(controller:loop(), true)
        same(went_on, 1)
    end)

    test("under cqueues the coroutines of a controller's own wrap() await, and their errors are loop()'s", function()
        local runtime, device = use()
        local stream, timeline = held(runtime, device)
        local order = {}
        controller:wrap(function()
            same(stream:await(), true)
            order[#order + 1] = "done"
            error "the coroutine fails"
        end)
        controller:wrap(function()
            order[#order + 1] = "signals"
            assert(timeline:signal(1))
        end)
        local ended, problem = controller:loop()
        same(not ended and tostring(problem):find("the coroutine fails", 1, true) ~= nil, true, tostring(problem))
        same(table.concat(order, " "), "signals done")
    end)

    for kind, make in pairs(awaits) do
        test("under cqueues a controller that is dropped takes its coroutines along: " .. kind, function()
            local runtime, device = use()
            local await, timeline = make(runtime, device)
            local gone, dropped = setmetatable({}, {__mode = "k"}), cqueues.new()
            gone[adapter.spawn(dropped, await)] = true
            gone[dropped] = true
            assert(dropped:step(0))
            dropped = nil
            assert(timeline:signal(1))
            same(await(), true)
            await = nil
            h.collect()
            same(next(gone), nil, "a dropped coroutine or controller")
            same(runtime:metrics().completions_pending, 0)
        end)
    end

    test("under cqueues what a coroutine is given and what it yields go through", function()
        local sum, answer
        adapter.spawn(controller, function(a, b)
            sum = a + b
            answer = coroutine.yield "for whoever runs the controller"
            cqueues.sleep(0.01)
        end, 2, 3)
        local outer = coroutine.wrap(function() return controller:loop() end)
        same(outer(), "for whoever runs the controller")
        same(outer "an answer", true)
        same(sum, 5)
        same(answer, "an answer")
    end)
else
    print("SKIP " .. h.interpreter .. ": cqueues isn't here: " .. tostring(cqueues):match("[^\n]*"))
end

test("await() outside of any loop waits, on the main coroutine and in others", function()
    local _, _, stream = use()
    same(stream:await(), true)
    same(coroutine.wrap(function() return stream:await() end)(), true)
    same(stream:notify():await(10), true)
end)

test("a pipeline that is awaited: a timeout, a run begun by somebody else, and one that is closed are told apart", function()
    local runtime, device = use()
    local timeline = assert(runtime:timeline_create())
    local passed = 0
    local pipeline = assert(device:pipeline_create{chunk_bytes = 4096, stages = {{enqueue = function(stream)
        passed = passed + 1
        assert(stream:wait_timeline(timeline, passed))
    end}}})
    fails("GPO_INVALID_STATE", pipeline.await, pipeline)
    assert(pipeline:start{memory = "abcd"})
    local again
    loop.spawn(function()
        local answer, _, why = pipeline:await(0.01)
        same(answer, false)
        same(why, "GPO_TIMEOUT")
        assert(timeline:signal(1))
        same(pipeline:await().bytes_in, 4)
        again = true
        assert(pipeline:start{memory = "abcdefgh"})
    end)
    loop.spawn(function() -- hears of the first run, where the second may be running by then
        local run = pipeline:await()
        same(run == true or run.bytes_in == 4, true, tostring(run))
    end)
    loop.spawn(function()
        while not again do loop.sleep(0.001) end
        loop.spawn(function() same(pipeline:await(), nil) end)
        loop.sleep(0.001)
        pipeline:close()
    end)
    loop.run()
end)

for kind, make in pairs(awaits) do
    test("coroutines dropped at any of their awaits are collected once the work is done, and nothing else is lost: " .. kind, function()
        local runtime, device = use()
        local seen = setmetatable({}, {__mode = "k"})
        local resumed = 0
        for dropped_at = 1, 5 do
            local list = {}
            for i = 1, 5 do
                local await, timeline = make(runtime, device)
                list[i] = {await = await, timeline = timeline}
            end
            local thread, due
            local scheduler = {suspend = function(operation)
                operation:when_done(function() due = true end)
                coroutine.yield()
            end}
            thread = coroutine.create(function()
                for i = 1, 5 do
                    if i == dropped_at then thread = nil end
                    list[i].await()
                end
            end)
            seen[thread] = true
            gpuorch.adopt(thread, scheduler)
            assert(coroutine.resume(thread))
            for i = 1, 5 do
                assert(list[i].timeline:signal(1))
                same(list[i].await(), true)
                if due and thread then
                    resumed, due = resumed + 1, false
                    assert(coroutine.resume(thread))
                end
            end
            thread = nil
        end
        h.collect()
        same(next(seen), nil, "a dropped coroutine")
        same(resumed, 0 + 1 + 2 + 3 + 4)
        same(runtime:metrics().completions_pending, 0)
    end)
end
