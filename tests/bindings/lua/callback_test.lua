-- Lua functions that the library calls: executors, host calls, pipelines, log lines.
local h = dofile(os.getenv "GPUORCH_TEST_HARNESS")
local gpuorch, test, use, same, raises, fails = h.gpuorch, h.test, h.use, h.same, h.raises, h.fails
local w = dofile(os.getenv "GPUORCH_TEST_FILES" .. "/world.lua")

-- Runs f with a gpuorch.on_error that keeps the messages.
local function heard(f)
    local messages, before = {}, gpuorch.on_error
    gpuorch.on_error = function(message) messages[#messages + 1] = message end
    local good, problem = pcall(f)
    gpuorch.on_error = before
    if not good then error(problem, 0) end
    return messages
end

local function copy_pipeline(device, options)
    local copy = assert(device:module_load_builtin():kernel("gpo_copy_u32", "ptr ptr u64"))
    options = options or {}
    options.stages = options.stages or {{kernel = copy, arguments = {"output", "input", 1024}}}
    options.chunk_bytes = options.chunk_bytes or 4096
    return device:pipeline_create(options)
end

test("callbacks run where the executor is run, in order, each once, with what became of the work", function()
    local runtime, _, stream = use()
    local executor = assert(runtime:executor_create())
    local order = {}
    for i = 1, 5 do
        assert(stream:then_(executor, function(completion, problem)
            same(completion.status, "GPO_SUCCESS")
            same(problem, nil)
            order[#order + 1] = i
        end))
    end
    assert(stream:wait())
    same(#order, 0)
    same(executor:run(), 5)
    same(table.concat(order), "12345")
end)

-- A time so many seconds from now, as the library takes it; and the time that never comes.
local function ahead(seconds) return ("%.0f"):format((gpuorch.now() + seconds) * 1e9) end
local NEVER = "18446744073709551615"

test("posted functions run where the executor is run, in order, each once, and those that they post behind them", function()
    local runtime = use()
    local executor = assert(runtime:executor_create())
    local order = {}
    for i = 1, 4 do
        same(executor:post(function(completion, problem)
            same(completion.status, "GPO_SUCCESS")
            same(completion.origin, "executor")
            same(problem, nil)
            order[#order + 1] = i
            if i == 2 then assert(executor:post(function() order[#order + 1] = 5 end)) end
        end), true)
    end
    same(#order, 0)
    same(executor:run(), 5)
    same(table.concat(order), "12345")
    same(executor:run(), 0)
    raises("function expected", executor.post, executor, 5)
end)

test("a function runs at its time, in the order of the times and never early", function()
    local runtime = use()
    local executor = assert(runtime:executor_create())
    local order, start = {}, gpuorch.now()
    for _, i in ipairs{3, 1, 2} do
        local accepted, ticket = executor:post_at(ahead(i * 0.01), function(completion)
            order[#order + 1] = completion.status == "GPO_SUCCESS" and gpuorch.now() - start >= i * 0.01 - 1e-6 and i
        end)
        same(accepted, true)
        same(ticket ~= 0, true)
    end
    assert(executor:post_at(0, function() order[#order + 1] = "passed" end))
    same(executor:poll(), 1)
    same(executor:run(), 3)
    same(order[1], "passed")
    for i = 1, 3 do same(order[1 + i], i) end
    raises("an integer expected", executor.post_at, executor, "soon", function() end)
    raises("function expected", executor.post_at, executor, 0)
    raises("#2", executor.post_at, executor, -1, function() end)
end)

test("a function that waits for its time is cancelled once, and keeps a run inside until then", function()
    local runtime = use()
    local executor, ended = assert(runtime:executor_create()), {}
    local accepted, ticket = executor:post_at(NEVER, function(completion, problem)
        ended[#ended + 1] = completion.status .. " " .. problem.status
    end)
    same(accepted, true)
    same(executor:poll(), 0)
    same(select(3, executor:run_for(0.01)), "GPO_TIMEOUT")
    same(#ended, 0)
    assert(executor:post(function() same(executor:cancel(ticket), true) end))
    same(executor:run(), 2)
    same(table.concat(ended), "GPO_CANCELLED GPO_CANCELLED")
    fails("GPO_NOT_FOUND", executor.cancel, executor, ticket)
    accepted, ticket = executor:post_at(0, function(completion) ended[2] = completion.status end)
    same(accepted, true)
    same(executor:run(), 1)
    fails("GPO_NOT_FOUND", executor.cancel, executor, ticket)
    same(ended[2], "GPO_SUCCESS")
    same(executor:statistics().cancelled, 1)
end)

test("functions that wait for their time get GPO_CANCELLED from close() and shutdown(), which don't wait for it", function()
    local runtime = use()
    local closed, shut, ended = assert(runtime:executor_create()), assert(runtime:executor_create()), {}
    local function note(completion) ended[#ended + 1] = completion.status end
    assert(closed:post_at(ahead(3600), note))
    assert(shut:post_at(NEVER, note))
    closed:close()
    same(table.concat(ended, " "), "GPO_CANCELLED")
    assert(runtime:shutdown(10))
    same(table.concat(ended, " "), "GPO_CANCELLED GPO_CANCELLED")
    same((shut:post(note)), nil)
    same((shut:post_at(0, note)), nil)
    same((shut:cancel(1)), nil)
end)

test("an executor keeps no function that was refused, was called, or is collected with it", function()
    local runtime = use()
    local executor = assert(runtime:executor_create{capacity = 1})
    local functions = setmetatable({}, {__mode = "v"})
    local function made(i)
        local called = 0
        functions[i] = function() called = called + 1 end
        return functions[i]
    end
    same(executor:post(made(1)), true)
    same(select(3, executor:post(made(2))), "GPO_WOULD_BLOCK")
    same(select(3, executor:post_at(NEVER, made(3))), "GPO_WOULD_BLOCK")
    same(functions[1] ~= nil, true)
    same(executor:run(), 1)
    h.collect()
    for i = 1, 3 do same(functions[i], nil, "function " .. i) end
    same(executor:post_at(NEVER, made(4)), true)
    h.collect()
    same(functions[4] ~= nil, true)
    executor = nil
    h.collect()
    same(functions[4], nil)
end)

test("a pipeline over two devices has a kernel and values for each, and chunks say where they were", function()
    local runtime, device = use()
    local devices, kernels, tables = {device, assert(runtime:device_open{ordinal = 1})}, {}, {}
    for i = 1, 2 do
        local module = assert(devices[i]:module_compile[[
            extern "C" __global__ void add(const unsigned *x, unsigned *y, unsigned long long bytes, const unsigned *table,
                                           unsigned more) {
                const unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x;
                if (i < bytes / 4) y[i] = x[i] + table[0] + more;
            }]])
        kernels[i] = assert(module:kernel("add", "ptr ptr u64 ptr u32"))
        tables[i] = assert(devices[i]:memory_allocate("u32", 1))
        local stream = assert(devices[i]:stream_create())
        assert(stream:fill(tables[i], i * 100))
        assert(stream:wait())
    end
    local arguments = {"input", "output", "input_bytes", {device = tables}, {device = {1, 2}}}
    local function create(change)
        local options = {devices = devices, chunk_bytes = 4096,
                         stages = {{kernels = kernels, arguments = arguments, block = 64, bytes_per_block = 256}}}
        if change then change(options, options.stages[1]) end
        return device:pipeline_create(options)
    end
    local pipeline, output, on = assert(create()), {}, {[0] = 0, [1] = 0}
    assert(pipeline:start({memory = gpuorch.pack("u32", 7):rep(20 * 1024)}, {take = function(chunk)
        on[chunk.device] = on[chunk.device] + 1
        output[#output + 1] = chunk.output:to_string() == gpuorch.pack("u32", chunk.device == 0 and 108 or 209):rep(1024)
    end}))
    assert(pipeline:wait(30))
    same(#output, 20)
    for i = 1, 20 do same(output[i], true) end
    same(on[0] > 0 and on[1] > 0, true)
    same(pipeline:share(0).chunks, on[0])
    same(pipeline:share(1).bytes_in, on[1] * 4096)
    fails("GPO_INVALID_ARGUMENT", pipeline.share, pipeline, 2)
    raises("one for each of 2 devices", create, function(_, stage) stage.kernels = {kernels[1]} end)
    raises("a kernel or a function", create, function(_, stage) stage.kernels = {kernels[1], 5} end)
    raises("with a value for each device", create, function(_, stage) stage.arguments = {"input", "output", "input_bytes", {}} end)
    raises("device 1: it is missing", create,
           function(_, stage) stage.arguments = {"input", "output", "input_bytes", tables[1], {device = {1}}} end)
    raises("number 2: a device that is open", create, function(options) options.devices = {device, 1} end)
    raises("1 to 64", create, function(options) options.devices = {} end)
    raises("option 'executor': an executor that is open expected", create, function(options) options.executor = 5 end)
    fails("GPO_INVALID_ARGUMENT", create, function(options) options.devices = {device, device} end)
end)

test("a host call runs in the order of its stream, and its failure is the stream's", function()
    local runtime, _, stream = use()
    local executor = assert(runtime:executor_create())
    local ran = 0
    assert(stream:host_call(executor, function(call) same(call.status, "GPO_SUCCESS") ran = ran + 1 end))
    same(executor:run(), 1)
    same(ran, 1)
    same(stream:await(), true)
    local messages = heard(function()
        assert(stream:host_call(executor, function() error("the callback fails") end))
        executor:run()
    end)
    same(messages[1]:find("the callback fails", 1, true) ~= nil, true)
    fails("GPO_CALLBACK_FAILED", stream.wait, stream)
    same(stream:error().status, "GPO_CALLBACK_FAILED")
end)

test("a callback that raises is reported, and the others run", function()
    local runtime, _, stream = use()
    local executor = assert(runtime:executor_create())
    local ran = 0
    local messages = heard(function()
        for i = 1, 4 do
            assert(stream:then_(executor, function()
                ran = ran + 1
                if i % 2 == 0 then error("number " .. i) end
                if i == 3 then error({}) end
            end))
        end
        same(executor:run(), 4)
    end)
    same(ran, 4)
    same(#messages, 3)
    same(messages[1]:find("number 2", 1, true) ~= nil, true)
end)

test("a callback may close its own stream, executor and queue", function()
    local runtime, device, stream = use()
    local executor, cq = assert(runtime:executor_create()), assert(runtime:cq_create())
    local heard_of = {}
    assert(stream:then_(executor, function()
        stream:close()
        cq:close()
        executor:close()
        heard_of[1] = "first"
    end))
    local other = assert(device:stream_create())
    assert(other:then_(executor, function(completion) heard_of[2] = completion.status end))
    executor:run()
    same(heard_of[1], "first")
    same(heard_of[2] == "GPO_SUCCESS" or heard_of[2] == "GPO_CANCELLED", true, tostring(heard_of[2]))
    local operation = assert(other:notify())
    operation:when_done(function(done) done:cq():close() end)
    same(operation:wait(10), true)
end)

test("a callback calls back into everything, and what would wait for itself says so", function()
    local runtime, device, stream = use()
    local executor = assert(runtime:executor_create())
    local answers = {}
    assert(stream:then_(executor, function()
        answers[1] = select(3, executor:run())
        answers[2] = select(3, runtime:shutdown(0))
        answers[3] = stream:wait(10)
        answers[4] = stream:await(10)
        answers[5] = #assert(runtime:cq_create():drain())
    end))
    executor:run()
    same(answers[1], "GPO_WOULD_DEADLOCK")
    same(answers[2], "GPO_WOULD_DEADLOCK")
    same(answers[3], true)
    same(answers[4], true)
    same(answers[5], 0)
    local pipeline, inside = nil, {}
    pipeline = assert(copy_pipeline(device))
    assert(pipeline:start({memory = ("z"):rep(8192)}, {take = function()
        inside[1] = select(3, pipeline:wait())
        inside[2] = select(3, runtime:shutdown(0))
        inside[3] = assert(device:stream_create()):await()
        inside[4] = pipeline:progress().running
        inside[5] = select(2, pcall(runtime.close, runtime))
        inside[6] = select(3, pipeline:await())
    end}))
    assert(pipeline:wait())
    same(inside[1], "GPO_WOULD_DEADLOCK")
    same(inside[2], "GPO_WOULD_DEADLOCK")
    same(inside[3], true)
    same(inside[4], true)
    same(inside[5]:find("from inside", 1, true) ~= nil, true)
    same(inside[6], "GPO_WOULD_DEADLOCK")
end)

-- Each has f called once, from a callback of that kind, in the world's runtime.
local from = {}
function from.then_(world, f)
    local executor = assert(world.runtime:executor_create())
    assert(assert(world.device:stream_create()):then_(executor, f))
    assert(executor:run())
end
function from.timeline_then(world, f)
    local executor, timeline = assert(world.runtime:executor_create()), assert(world.runtime:timeline_create())
    assert(timeline:then_(1, executor, f))
    assert(timeline:signal(1))
    assert(executor:run())
end
function from.post(world, f)
    local executor = assert(world.runtime:executor_create())
    assert(executor:post(f))
    assert(executor:run())
end
function from.post_at(world, f)
    local executor = assert(world.runtime:executor_create())
    assert(executor:post_at(ahead(0.001), f))
    assert(executor:run())
end
function from.host_call(world, f)
    local executor = assert(world.runtime:executor_create())
    assert(assert(world.device:stream_create()):host_call(executor, f))
    assert(executor:run())
end
function from.when_done(world, f)
    local operation = assert(assert(world.device:stream_create()):notify())
    operation:when_done(f)
    assert(operation:wait())
end
function from.source(world, f)
    local called = false
    local pipeline = assert(copy_pipeline(world.device))
    assert(pipeline:start({fill = function()
        if called then return nil end
        called = true
        f()
        return "abcd"
    end}))
    assert(pipeline:wait())
end
function from.stage(world, f)
    local pipeline = assert(copy_pipeline(world.device, {stages = {{enqueue = function() f() end}}}))
    assert(pipeline:start{memory = "abcd"})
    assert(pipeline:wait())
end
function from.sink(world, f)
    local pipeline = assert(copy_pipeline(world.device))
    assert(pipeline:start({memory = "abcd"}, {take = function() f() end}))
    assert(pipeline:wait())
end
function from.progress(world, f)
    local called = false
    local pipeline = assert(copy_pipeline(world.device, {progress = function()
        if not called then called = true f() end
    end}))
    assert(pipeline:start{memory = "abcd"})
    assert(pipeline:wait())
end
function from.log(world, f)
    assert(world.runtime:trace_start{path = "/dev/full"}) -- which is an error that is logged
    world.tell = f
    world.runtime:trace_stop()
    assert(world.stream:wait())
end

for kind, call_from in pairs(from) do
    test("every function can be called from a callback: " .. kind, function()
        local world, called = w.world(), 0
        local messages = heard(function()
            call_from(world, function()
                world.tell = nil
                called = called + 1
                for _, call in ipairs(w.calls) do
                    local value, message, name = call.run(world)
                    local deadlock = kind == "host_call" and call.name == "device_wait" -- which waits for the call itself
                    if deadlock then same(name, "GPO_WOULD_DEADLOCK")
                    elseif not value then error(call.name .. ": " .. tostring(message) .. " " .. tostring(name), 0)
                    end
                end
            end)
            world.runtime:close()
        end)
        same(#messages, 0, messages[1])
        same(called, 1)
    end)
end

test("a pipeline with a source, a stage, a sink and progress in Lua gives what went in, in order", function()
    local _, device = use()
    local text = {}
    for i = 1, 100 do text[i] = ("chunk %04d "):format(i):rep(100) end
    text = {table.concat(text)} -- more than a chunk: what has no room is asked for again
    for i = 2, 51 do text[i] = ("line %04d "):format(i):rep(20) end
    local given, taken, seen, stages = 0, {}, 0, 0
    local pipeline = assert(copy_pipeline(device, {progress = function(now) seen = now.bytes_done end, result_bytes = 8, stages = {
        {enqueue = function(stream, chunk)
            stages = stages + 1
            same(tostring(stream):match("^gpuorch.stream") ~= nil, true)
            assert(stream:copy_on_device(chunk.output_address, chunk.input_address, chunk.bytes))
            assert(stream:fill(chunk.result_address, chunk.index, "u32", 2))
        end}}}))
    local borrowed
    assert(pipeline:start({fill = function(buffer)
        given = given + 1
        if given > 51 then return nil end
        if given % 2 == 1 or #text[given] > #buffer then return text[given] end
        buffer:slice(1, #text[given]):from_string(text[given])
        return #text[given]
    end}, {take = function(chunk)
        taken[#taken + 1] = chunk.output:to_string()
        same(chunk.result:as "u32"[1], chunk.index)
        borrowed = chunk.output
    end}))
    local result = assert(pipeline:wait())
    same(table.concat(taken), table.concat(text))
    same(result.bytes_in, #table.concat(text))
    same(stages, result.chunks)
    same(seen, result.bytes_in)
    raises("the array is closed", function() return borrowed[1] end)
end)

test("what a pipeline's callback raises ends the run and is its message; the pipeline can be started again", function()
    local _, device = use()
    local pipeline = assert(copy_pipeline(device))
    for _, ends in ipairs{{{fill = function() error("no more sensor") end}, {}},
                          {{fill = function() return {} end}, {}},
                          {{memory = "abcd"}, {take = function() error("no more sensor") end}}} do
        heard(function()
            assert(pipeline:start(ends[1], ends[2]))
            local run, message, name, result = pipeline:wait()
            same(run, nil)
            same(name, "GPO_CALLBACK_FAILED")
            same(message:find("no more sensor", 1, true) ~= nil or message:find("no number of bytes", 1, true) ~= nil, true, message)
            same(result.status, "GPO_CALLBACK_FAILED")
        end)
    end
    assert(pipeline:start({memory = "abcd"}, {take = function() return false end}))
    same(pipeline:wait().bytes_in, 4)
end)

-- How often a text is in another.
local function count(text, part)
    return select(2, text:gsub(part:gsub("%p", "%%%0"), ""))
end

for _, where in ipairs{"sink", "source", "stage"} do
    test("what a pipeline's callback raises is whoever waits' alone, with one traceback: " .. where, function()
        local _, device = use()
        local function fail() error("two\nlines", 0) end
        local messages = heard(function()
            local pipeline = assert(copy_pipeline(device, where == "stage" and {stages = {{enqueue = fail}}} or nil))
            assert(pipeline:start(where == "source" and {fill = fail} or {memory = "abcd"}, {take = where == "sink" and fail or nil}))
            local _, message, _, run = pipeline:wait()
            same(message, "two\nlines")
            same(count(run.traceback, "two\nlines"), 1)
            same(count(run.traceback, "stack traceback:"), 1)
            same(run.traceback:find("callback_test.lua", 1, true) ~= nil, true, run.traceback)
            same(select(4, pipeline:wait()).traceback, run.traceback)
            pipeline:close()
        end)
        same(#messages, 0, messages[1])
    end)
end

test("what a pipeline's callback raises is reported once, with one traceback, where nobody asks for it", function()
    local _, device, stream = use()
    local function failing(pipeline, text)
        assert(pipeline:start({memory = "abcd"}, {take = function() error(text, 0) end}))
        local operation = assert(pipeline:notify())
        same(select(3, operation:wait()), "GPO_CALLBACK_FAILED")
    end
    for _, ends in ipairs{"closed", "started", "collected"} do
        local messages = heard(function()
            local pipeline = assert(copy_pipeline(device))
            failing(pipeline, ends)
            if ends == "closed" then pipeline:close() end
            if ends == "started" then
                failing(pipeline, "the second")
                same(select(2, pipeline:wait()), "the second")
            end
            pipeline = nil
            h.collect()
            assert(stream:wait()) -- what is collected calls nobody: the next wait does
        end)
        same(#messages, 1, ends)
        same(count(messages[1], ends .. "\nstack traceback:"), 1, messages[1])
        same(count(messages[1], "stack traceback:"), 1)
    end
end)

test("a pipeline's callbacks run in an executor where it has one", function()
    local runtime, device = use()
    local executor = assert(runtime:executor_create())
    local pipeline = assert(copy_pipeline(device, {executor = executor}))
    local chunks, ended = 0, nil
    assert(pipeline:start({memory = ("w"):rep(20480)}, {take = function() chunks = chunks + 1 end}))
    assert(pipeline:then_(executor, function(completion) ended = completion.status end))
    assert(executor:run())
    same(chunks, 5)
    same(ended, "GPO_SUCCESS")
end)

test("a pipeline that is closed, or collected, in the middle of a run ends, and its memory is safe", function()
    local _, device = use()
    for way = 1, 3 do
        local pipeline = assert(copy_pipeline(device))
        local memory, chunks = gpuorch.array("u8", 2^20), 0
        if way == 3 then
            assert(pipeline:start({memory = memory}, {memory = gpuorch.array("u8", 2^20)}))
        else
            assert(pipeline:start({fill = function(buffer) return #buffer end}, {take = function() chunks = chunks + 1 end}))
            while chunks < 2 do pipeline:wait(0.01) end
        end
        if way == 1 then pipeline:close() end
        pipeline, memory = nil, nil
        h.collect()
    end
end)

test("a file that has to stay unchanged may not be deleted while it is read", function()
    local _, device = use()
    local pipeline, path = assert(copy_pipeline(device)), os.tmpname()
    local file = assert(io.open(path, "wb"))
    file:write(("four"):rep(2^18))
    file:close()
    assert(pipeline:start{path = path, unchanged = true})
    same(assert(pipeline:wait()).bytes_in, 2^20)
    local function delete(chunk) if chunk.index == 0 then os.remove(path) end end
    assert(pipeline:start({path = path, unchanged = true}, {take = delete}))
    local value, message, name = pipeline:wait()
    same(value, nil)
    same(name, "GPO_IO_ERROR")
    same(message:find(path .. "` was deleted while it was read", 1, true) ~= nil, true, message)
    fails("GPO_INVALID_ARGUMENT", pipeline.start, pipeline, {memory = "y", unchanged = true})
    raises("option 'unchanged': true or false expected", pipeline.start, pipeline, {path = path, unchanged = 1})
end)

test("misuse of a pipeline is raised before anything is started", function()
    local _, device = use()
    local pipeline = assert(copy_pipeline(device))
    raises("a source has one of", pipeline.start, pipeline, {})
    raises("a source has one of", pipeline.start, pipeline, {path = "x", memory = "y"})
    raises("a sink has at most one of", pipeline.start, pipeline, {memory = "y"}, {path = "x", descriptor = 1})
    raises("more than the memory has", pipeline.start, pipeline, {memory = "y", bytes = 2})
    raises("there is no option 'pat'", pipeline.start, pipeline, {pat = "y"})
    fails("GPO_NOT_FOUND", pipeline.start, pipeline, {path = "/none"})
    fails("GPO_INVALID_STATE", pipeline.wait, pipeline)
    local copy = device:module_load_builtin():kernel("gpo_copy_u32", "ptr ptr u64")
    for wrong, words in pairs{
        ["argument 1 (ptr) of the stage's kernel: 'outputs' is no word for it; there are: input, output, scratch, result"] = {"outputs", "input", 1},
        ["argument 2 (ptr) of the stage's kernel: 'index' is no word for it; there are: input, "] = {"output", "index", 1},
        ["argument 3 (u64) of the stage's kernel: 'bytes' is no word for it; there are: input_bytes, output_bytes, index, offset"] =
            {"output", "input", "bytes"}} do
        raises(wrong, device.pipeline_create, device, {stages = {{kernel = copy, arguments = words}}})
    end
    local fill = device:module_load_builtin():kernel("gpo_fill_u32", "ptr u32 u64")
    raises("argument 2 (u32) of the stage's kernel: 'index' is no value of its type, and words stand for ptr and u64",
           device.pipeline_create, device, {stages = {{kernel = fill, arguments = {"output", "index", 1}}}})
    assert(device:pipeline_create{stages = {{kernel = fill, arguments = {"output", "7", "0x10"}}}}):close()
    raises("argument 3 (u64) of the stage's kernel: it is missing", device.pipeline_create, device,
           {stages = {{kernel = copy, arguments = {"output", "input"}}}})
    raises("stage 1: a kernel or a function", device.pipeline_create, device, {stages = {{}}})
end)

test("a runtime with a seeded schedule calls no function of Lua's from its threads, and says so", function()
    local _, device, stream = use{device = "soft", schedule_seed = 7}
    same(stream:await(), true)
    fails("GPO_NOT_SUPPORTED", copy_pipeline, device, {progress = function() end})
    local pipeline = assert(copy_pipeline(device))
    fails("GPO_NOT_SUPPORTED", pipeline.start, pipeline, {memory = "abcd"}, {take = function() end})
end)

test("a runtime with a seeded schedule calls a pipeline's functions in an executor, in the same order each time", function()
    local function order_of_calls(seed)
        local runtime = assert(gpuorch.runtime_create{device = "soft", schedule_seed = seed})
        local device, executor = assert(runtime:device_open()), assert(runtime:executor_create())
        local order, given, ended = {}, 0, nil
        local pipeline = assert(copy_pipeline(device, {executor = executor}))
        assert(pipeline:start({fill = function()
            given = given + 1
            order[#order + 1] = "fill"
            return given <= 20 and ("s"):rep(4096) or nil
        end}, {take = function(chunk)
            order[#order + 1] = "take"
            same(chunk.output:to_string(), ("s"):rep(4096))
        end}))
        assert(pipeline:then_(executor, function(completion) ended = completion.status end))
        assert(executor:run())
        same(ended, "GPO_SUCCESS")
        runtime:close()
        return table.concat(order, " ")
    end
    local order = order_of_calls(7)
    same(select(2, order:gsub("take", "")), 20)
    for _ = 1, 3 do same(order_of_calls(7), order) end
end)

test("log lines come to the script while it waits, on its own thread", function()
    local lines = {}
    local runtime, device, stream = use{device = os.getenv "GPUORCH_DEVICE", log_level = "debug", log = function(level, text)
        lines[#lines + 1] = level .. " " .. text
    end}
    assert(device:stream_create{label = "never closed"})
    same(stream:await(), true)
    runtime:close()
    same(#lines > 0, true)
    same(lines[1]:match("^%a+ .") ~= nil, true, lines[1])
    local raised = heard(function()
        local other = assert(gpuorch.runtime_create{device = os.getenv "GPUORCH_DEVICE", log_level = "debug", log = function() error("no log") end})
        assert(assert(other:device_open()):stream_create()):await()
        other:close()
    end)
    same(#raised > 0 and raised[1]:find("no log", 1, true) ~= nil, true)
end)

test("entries of a queue carry any value, and failures their error", function()
    local runtime, device, stream = use()
    local cq, timeline = assert(runtime:cq_create{capacity = 4}), assert(runtime:timeline_create())
    local key = {}
    for _, value in ipairs{key, "text", 3.5, false} do assert(stream:notify(cq, value)) end
    local refused, _, name = stream:notify(cq, 5)
    same(refused, false)
    same(name, "GPO_WOULD_BLOCK")
    local entries = {}
    while #entries < 4 do
        assert(cq:wait(10))
        for _, entry in ipairs(assert(cq:drain(1))) do entries[#entries + 1] = entry end
    end
    same(entries[1].user_data, key)
    same(entries[2].user_data, "text")
    same(entries[3].user_data, 3.5)
    same(entries[4].user_data, false)
    same(entries[1].origin, "stream")
    local other = assert(device:stream_create())
    assert(other:wait_timeline(timeline, 1))
    assert(other:notify(cq, "fails"))
    assert(timeline:fail("GPO_FAILED", "because"))
    assert(cq:wait(10))
    local entry = assert(cq:drain())[1]
    same(entry.status, "GPO_FAILED")
    fails("GPO_NOT_FOUND", cq.error, cq, 12345)
    same(cq:error(entry.error_id).message:find("because", 1, true) ~= nil, true)
end)

test("who is told of an operation may drain the same queue, however full it is", function()
    local runtime, device = use()
    local cq, timeline, stream = assert(runtime:cq_create()), assert(runtime:timeline_create()), assert(device:stream_create())
    assert(stream:wait_timeline(timeline, 1))
    local drained, told = 0, 0
    for i = 1, 1000 do
        assert(stream:notify(cq, i))
        if i % 50 == 1 then
            assert(stream:notify(cq)):when_done(function(operation)
                told = told + 1
                local entries = assert(operation:cq():drain(i % 100 == 1 and 7 or nil))
                drained = drained + #entries
            end)
        end
    end
    assert(timeline:signal(1))
    assert(stream:wait())
    while drained < 1000 do
        assert(cq:wait(10))
        local entries = assert(cq:drain()) -- meanwhile others may be told, and drain
        drained = drained + #entries
    end
    same(drained, 1000)
    same(told, 20)
end)

test("what a stage has used on its stream is freed behind it, though the stage has returned", function()
    local runtime, device = use()
    local arena, timeline = assert(device:arena_create()), assert(runtime:timeline_create())
    local waiting
    local pipeline = assert(device:pipeline_create{chunk_bytes = 4096, stages = {{enqueue = function(stream, chunk)
        local sevens = assert(arena:allocate("u8", 4096)):fill(7)
        assert(stream:wait_timeline(timeline, 1))
        assert(stream:copy_to_device(chunk.output_address, sevens, chunk.bytes))
        waiting = sevens
    end}}})
    local taken
    local before = arena:statistics().in_use
    assert(pipeline:start({memory = ("x"):rep(4096)}, {take = function(chunk) taken = chunk.output:to_string() end}))
    while not waiting do same(pipeline:wait(0.01), false) end
    waiting:close()
    local nines = assert(arena:allocate("u8", 4096)):fill(9)
    assert(timeline:signal(1))
    assert(pipeline:wait(10))
    same(taken, ("\7"):rep(4096))
    nines:close()
    pipeline:close()
    assert(device:wait(10))
    same(arena:statistics().in_use, before)
end)

test("a run keeps the memory that it was started with, whatever becomes of the tables that named it", function()
    local _, device = use()
    local pipeline = assert(copy_pipeline(device, {slots = 2, stages = {{enqueue = function(stream, chunk)
        assert(stream:copy_on_device(chunk.output_address, chunk.input_address, chunk.bytes))
    end}}}))
    local kept = setmetatable({}, {__mode = "v"})
    local source, sink = {memory = gpuorch.array("u8", 65536):fill(7)}, {memory = gpuorch.array("u8", 65536)}
    kept.source, kept.sink = source.memory, sink.memory
    assert(pipeline:start(source, sink))
    source.memory, sink.memory = nil, nil
    h.collect()
    same(kept.source ~= nil and kept.sink ~= nil, true) -- it stands still before its first stage is called here
    local filled = kept.sink
    assert(pipeline:wait())
    same(filled:to_string(), ("\7"):rep(65536))
end)

test("memory that is closed while a run uses it stays until the run has ended", function()
    local _, device = use()
    local arena = assert(device:arena_create())
    local before = arena:statistics().in_use
    for _, how in ipairs{"pinned", "pageable", "sliced"} do
        local function array()
            if how == "pageable" then return gpuorch.array("u8", 65536) end
            return assert(arena:allocate("u8", 65536))
        end
        local add = assert(device:module_compile[[
            extern "C" __global__ void add(const unsigned char *in, unsigned char *out, const unsigned char *by) {
                unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
                out[i] = in[i] + by[0];
            }]])
        local source, sink, taken = array():fill(7), array(), {}
        local ten = assert(arena:allocate("u8", 65536)):fill(10)  -- a kernel of a GPU reads no pageable memory
        local go = false
        local pipeline = assert(device:pipeline_create{chunk_bytes = 4096, slots = 2, stages = {
            {enqueue = function() go = true end},
            {kernel = assert(add:kernel("add", "ptr ptr ptr")), grid = 4, block = 1024, arguments = {"input", "output", ten}}}})
        local from, to = source, sink
        if how == "sliced" then from, to = source:slice(1, 32768), sink:slice(1, 32768) end
        assert(pipeline:start({memory = from}, {memory = to, take = function(chunk)
            taken[#taken + 1] = chunk.output:to_string()
        end}))
        source:close()
        sink:close()
        ten:close()
        raises("the array is closed", function() return source[1] end)
        local others = {}
        for i = 1, 3 do others[i] = array():fill(9) end -- where closed arrays were, if they are gone
        assert(pipeline:wait())
        same(go, true)
        same(table.concat(taken) == ("\17"):rep(how == "sliced" and 32768 or 65536), true)
        for i = 1, 3 do same(others[i]:to_string() == ("\9"):rep(65536), true) others[i]:close() end
        pipeline:close()
    end
    assert(device:wait(10))
    same(arena:statistics().in_use, before)
end)

test("nobody is said to be inside a call that was a mistake", function()
    local runtime, _, stream = use()
    for _ = 1, 50 do
        coroutine.wrap(function()
            local executor = assert(runtime:executor_create())
            assert(stream:then_(executor, function() error("called in a coroutine that is gone") end))
            assert(stream:wait())
            raises("string expected", executor.host_call_finish, executor, 1, "GPO_CANCELLED", {})
        end)()
        h.collect()
    end
end)
