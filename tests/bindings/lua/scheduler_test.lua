-- Schedulers, which stay on the GPU and do the tasks of a queue.
local h = dofile(os.getenv "GPUORCH_TEST_HARNESS")
local gpuorch, test, use, same, raises, fails, collect = h.gpuorch, h.test, h.use, h.same, h.raises, h.fails, h.collect

local source = [==[
#include <gpuorch/device/scheduler.cuh>
struct node { unsigned handler, number, rest[2]; };

// Adds its number, and pushes its two children of a tree of 127 nodes.
__device__ int visit(gpo::task_context &at, const node &task) {
    if (at.thread() == 0) atomicAdd(at.argument<unsigned>(), task.number);
    if (task.number >= 64 || at.thread() >= 2) return 0;
    return at.push(node{0, 2 * task.number + at.thread(), {}});
}

__device__ int refuse(gpo::task_context &at, const node &task) { return (int)task.number; }

// Waits for the host, or for the scheduler to be stopped.
__device__ int linger(gpo::task_context &at, const node &task) {
    volatile unsigned *const words = at.argument<volatile unsigned>();
    if (at.thread() == 0) atomicAdd((unsigned *)&words[1], 1u);
    while (words[0] == 0 && !at.stopping()) {}
    return 0;
}
]==]

local function task(handler, number) return gpuorch.pack("u32 u32 u64", handler, number, 0) end

-- options, with what all of the tests give: few workers, since the tests run beside others.
local function with(options)
    for name, value in pairs{form = "resident", source = source, handlers = {"visit", "refuse", "linger"}, threads = 64,
                             multiprocessors = 1} do
        if options[name] == nil then options[name] = value end
    end
    return options
end

local function push(ring, stream, ...)
    assert(ring:push(stream, table.concat{...}))
    assert(stream:wait(20))
end

local function zeros(device, count)
    return assert(assert(device:arena_create()):allocate("u32", count)):fill(0)
end

-- Waits for what has to come soon.
local function comes(condition)
    local deadline = gpuorch.now() + 20
    while not condition() and gpuorch.now() < deadline do end
    same(condition(), true)
end

-- --- runs ---

test("tasks push tasks, and a scheduler that drains does all of them, run after run", function()
    local _, device, stream = use()
    local ring = assert(device:queue{kind = "ring", task_size = 16, capacity = 256})
    local sum = zeros(device, 1)
    local scheduler = assert(device:scheduler(with{queue = ring, argument = sum, label = "tree", workers = "warp"}))
    same(scheduler:label(), "tree")
    same(scheduler:info().state .. " " .. scheduler:info().last_end, "ready GPO_NOT_READY")
    fails("GPO_INVALID_STATE", scheduler.drain, scheduler, 20)
    for run = 1, 2 do
        assert(scheduler:start())
        push(ring, stream, task(0, 1))
        same(scheduler:drain(20), true)
        same(sum[1], run * 127 * 128 / 2)
        local info = scheduler:info()
        same(info.state .. " " .. info.last_end .. " " .. info.form, "ready GPO_SUCCESS resident")
        same(info.runs .. " " .. info.tasks, run .. " " .. run * 127)
        same(info.errors .. " " .. info.depth, "0 0")
        same(info.workers .. " " .. info.blocks .. " " .. info.handlers, "2 1 3")
        same(info.busy_ns > 0 and info.busy_ns <= info.worker_ns, true)
    end
    local first, second = scheduler:handler(0), scheduler:handler(1)
    same(first.tasks .. " " .. first.errors .. " " .. second.tasks, "254 0 0")
    fails("GPO_INVALID_ARGUMENT", scheduler.handler, scheduler, 3)
    local blocks, total = scheduler:blocks(), 0
    for _, block in ipairs(blocks) do total = total + block.tasks end
    same(#blocks .. " " .. total .. " " .. blocks[1].workers, "1 254 2")
    same(#scheduler:errors(), 0)
end)

test("a while does the tasks, too, and the depth of the queue is sampled", function()
    local _, device, stream = use()
    local ring = assert(device:queue{kind = "ring", task_size = 16, capacity = 256})
    local sum = zeros(device, 1)
    local scheduler = assert(device:scheduler(with{form = "while", queue = ring, argument = sum, batch = 2,
                                                   workers = "thread", handlers = {"visit", {name = "refuse"}},
                                                   sample_interval_ns = 1}))
    push(ring, stream, task(1, 0), task(1, 0))
    assert(scheduler:start())
    assert(scheduler:drain(20))
    local info = scheduler:info()
    same(info.form .. " " .. info.tasks .. " " .. tostring(info.steps > 0), "while 2 true")
    local samples = scheduler:samples()
    same(#samples > 0 and #samples <= 1024, true, #samples)
    for i, sample in ipairs(samples) do
        same(sample.run == 1 and sample.depth <= 2 and sample.time_ns >= (i > 1 and samples[i - 1].time_ns or 0), true)
    end
end)

test("tasks that fail and tasks of no handler are errors, which have the task", function()
    local _, device, stream = use()
    local ring = assert(device:queue{kind = "ring", task_size = 16, capacity = 256})
    local scheduler = assert(device:scheduler(with{queue = ring, argument = zeros(device, 1), max_errors = 80}))
    push(ring, stream, task(1, 40), task(7, 1), task(1, 0))
    assert(scheduler:start())
    assert(scheduler:drain(20))
    local errors = assert(scheduler:errors())
    same(#errors, 2)
    table.sort(errors, function(a, b) return a.position < b.position end)
    same(errors[1].handler .. " " .. errors[1].code .. " " .. errors[1].status .. " " .. errors[1].position .. " " ..
         errors[1].priority, "1 40 " .. gpuorch.status_name(40) .. " 0 0")
    same(errors[1].task, task(1, 40))
    same(errors[2].handler .. " " .. errors[2].status .. " " .. errors[2].position, "7 GPO_NOT_FOUND 1")
    same(errors[2].task, task(7, 1))
    local refuse = scheduler:handler(1)
    same(refuse.tasks .. " " .. refuse.errors, "2 1")
    -- All that are stored come, and all are counted.
    assert(scheduler:start())
    push(ring, stream, task(9, 0):rep(100))
    assert(scheduler:drain(20))
    same(#scheduler:errors() .. " " .. scheduler:info().errors, "80 102")
end)

test("a scheduler that is stopped leaves the tasks that haven't begun, and one that is idle ends", function()
    local _, device, stream = use()
    local ring = assert(device:queue{kind = "ring", task_size = 16, capacity = 64})
    local words = zeros(device, 2)
    local scheduler = assert(device:scheduler(with{queue = ring, argument = words, threads = 32,
                                                   idle_timeout_ns = 10000000}))
    push(ring, stream, task(2, 0), task(2, 0), task(2, 0))
    assert(scheduler:start())
    fails("GPO_INVALID_STATE", scheduler.start, scheduler)
    comes(function() return words[2] == 1 end)
    same(scheduler:info().state, "running")
    for _, method in ipairs{"wait", "drain"} do
        local over, _, why = scheduler[method](scheduler, 0.001)
        same(tostring(over) .. " " .. why, "false GPO_TIMEOUT")
    end
    same(scheduler:info().state, "draining")
    same(scheduler:stop(20), true)
    local info = scheduler:info()
    same(info.state .. " " .. info.last_end .. " " .. info.tasks .. " " .. info.depth, "ready GPO_CANCELLED 1 2")
    fails("GPO_CANCELLED", scheduler.drain, scheduler, 20)
    -- The rest is done by the next run, which ends by itself.
    words[1] = 1
    assert(scheduler:start())
    same(scheduler:wait(20), true)
    info = scheduler:info()
    same(info.last_end .. " " .. info.tasks .. " " .. info.depth, "GPO_TIMEOUT 3 0")
    same(scheduler:stop(), true)
end)

test("a scheduler of a host ring answers what the host posts", function()
    local _, device = use()
    local resident = assert(device:stream_create{resident = true})
    local requests = assert(device:queue{kind = "host_ring", task_size = 16, answer_size = 4, capacity = 64,
                                         stream = resident})
    -- Counts down, a turn at a time, and adds its number in each.
    local scheduler = assert(device:scheduler(with{queue = requests, handlers = {"count"}, file_name = "count.cu",
                                                   compile_options = {"-DSTATUS=3"}, source = [==[
        #include <gpuorch/device/scheduler.cuh>
        struct request { unsigned handler, number, left, sum; };
        __device__ int count(gpo::task_context &at, const request &task) {
            request next = task;
            next.sum += task.number;
            if (next.left-- == 0) return at.answer(next.sum, STATUS);
            return at.again(next);
        }]==], multiprocessors = 2}))
    assert(scheduler:start())
    local function request(number, left) return gpuorch.pack("u32 u32 u32 u32", 0, number, left, 0) end
    assert(requests:post(request(5, 3) .. request(7, 0), 100))
    local answers, codes = {}, {}
    while not answers[100] or not answers[101] do
        assert(requests:wait(20))
        for _, answer in ipairs(requests:take()) do
            answers[answer.user_data], codes[answer.code] = gpuorch.unpack("u32", answer.answer), true
        end
    end
    same(answers[100] .. " " .. answers[101] .. " " .. tostring(codes[3]), "20 7 true")
    assert(requests:close_ring())
    same(scheduler:wait(20), true)
    same(scheduler:info().last_end, "GPO_END")
end)

-- --- graphs ---

local nodes = [==[
struct task { unsigned handler, number, rest[2]; };
extern "C" __global__ void add(const task *mine, unsigned *sum) { atomicAdd(sum, mine->number); }
]==]

local function graphs_of(device, memory, sum, count)
    local add = assert(assert(device:module_compile(nodes)):kernel("add", "ptr ptr"))
    local graphs = {}
    for i = 1, count do
        local template = assert(device:template())
        assert(template:add_kernel(nil, add, {grid = 1, block = 1}, memory:slice(4 * i - 3, 4 * i), sum))
        graphs[i] = assert(template:graph{device_launch = true})
    end
    return graphs
end

test("a scheduler launches a graph for each task, and keeps the graphs and their memory", function()
    local _, device, stream = use()
    local ring = assert(device:queue{kind = "ring", task_size = 16, capacity = 64})
    local memory, sum = assert(device:memory_allocate("u32", 8)), zeros(device, 1)
    local graphs = graphs_of(device, memory, sum, 2)
    local scheduler = assert(device:scheduler{form = "graphs", queue = ring, batch = 8,
                                              handlers = {{name = "add", graphs = graphs, task_memory = memory}}})
    local address = gpuorch.address(memory:pointer())
    for _, graph in ipairs(graphs) do graph:close() end
    memory:close()
    graphs, memory = nil, nil
    collect()
    assert(scheduler:start())
    push(ring, stream, task(0, 3), task(0, 4), task(0, 5), task(1, 0))
    assert(scheduler:drain(20))
    same(sum[1], 12)
    local info = scheduler:info()
    same(info.form .. " " .. info.tasks .. " " .. info.errors .. " " .. tostring(info.steps >= 2), "graphs 4 1 true")
    same(device:memory_describe(address).kind, "device")
    scheduler:close()
    collect() -- the graphs' templates
    -- The scheduler releases its graphs a moment after close() returns, and the memory is freed after the graphs.
    comes(function() return device:memory_describe(address).kind == "pageable" end)
end)

-- --- lifetime ---

test("a scheduler that is closed or collected is stopped, and its argument stays until then", function()
    local _, device, stream = use()
    for _, way in ipairs{"close", "collect"} do
        local ring = assert(device:queue{kind = "ring", task_size = 16, capacity = 64})
        local words, memory = zeros(device, 2), assert(device:memory_allocate("u32", 2))
        local address = gpuorch.address(memory:pointer())
        assert(stream:fill(memory, 0))
        local scheduler = assert(device:scheduler(with{queue = ring, argument = memory, threads = 32}))
        push(ring, stream, task(2, 0), task(2, 0))
        assert(scheduler:start())
        memory:close()
        comes(function() return scheduler:info().depth == 1 end)
        same(device:memory_describe(address).kind, "device")
        if way == "close" then
            scheduler:close()
            scheduler:close()
            same(tostring(scheduler), "gpuorch.scheduler (closed)")
            raises("the scheduler is closed", scheduler.start, scheduler)
            raises("the scheduler is closed", scheduler.drain, scheduler)
        end
        scheduler = nil
        collect()
        local info = ring:info()
        same(info.depth .. " " .. info.done, "1 1")
        -- The queue is there for the next one.
        words[1] = 1
        local other = assert(device:scheduler(with{queue = ring, argument = words, threads = 32}))
        assert(other:start())
        assert(other:drain(20))
        same(words[2], 1)
    end
end)

test("a scheduler keeps its queue, and does the tasks of one that was closed", function()
    local _, device, stream = use()
    local scheduler, ring
    do
        ring = assert(device:queue{kind = "ring", task_size = 16, capacity = 256})
        scheduler = assert(device:scheduler(with{queue = ring, argument = zeros(device, 1)}))
        push(ring, stream, task(0, 64))
        ring = nil
    end
    collect() -- neither the queue nor the argument
    assert(scheduler:start())
    assert(scheduler:drain(20))
    same(scheduler:info().tasks, 1)
    local other, words = assert(device:queue{kind = "ring", task_size = 16, capacity = 64}), zeros(device, 2)
    local second = assert(device:scheduler(with{queue = other, argument = words, threads = 32}))
    push(other, stream, task(2, 0), task(2, 0))
    assert(second:start())
    other:close()
    words[1] = 1
    assert(second:drain(20))
    same(second:info().tasks .. " " .. words[2], "2 2")
    raises("option 'queue': a queue that is open expected", device.scheduler, device, with{queue = other})
end)

test("what a handler uses that doesn't return stays when its scheduler is closed", function()
    local runtime, device, stream = use()
    local ring = assert(device:queue{kind = "ring", task_size = 16, capacity = 64})
    local flag, memory = zeros(device, 1), assert(device:memory_allocate("u32", 2))
    local address = gpuorch.address(memory:pointer())
    local scheduler = assert(device:scheduler{form = "resident", queue = ring, argument = memory, threads = 32,
                                              multiprocessors = 1, handlers = {"hold"}, source = [==[
        #include <gpuorch/device/scheduler.cuh>
        struct task { unsigned handler, unused; const volatile unsigned *flag; };
        __device__ int hold(gpo::task_context &at, const task &mine) {
            while (*mine.flag == 0) {}
            if (at.thread() == 0) *at.argument<unsigned>() = 1;
            return 0;
        }]==]})
    push(ring, stream, gpuorch.pack("u32 u32 ptr", 0, 0, flag))
    assert(scheduler:start())
    comes(function() return ring:info().depth == 0 end)
    memory:close()
    scheduler:close()
    scheduler, memory = nil, nil
    collect()
    same(device:memory_describe(address).kind, "device")
    same(runtime:shutdown(0.01), false)
    flag[1] = 1
    same(runtime:shutdown(20), true)
end)

test("a runtime is closed while a scheduler runs", function()
    local runtime, device, stream = use()
    local ring = assert(device:queue{kind = "ring", task_size = 16, capacity = 64})
    local scheduler = assert(device:scheduler(with{queue = ring, argument = zeros(device, 2), threads = 32}))
    push(ring, stream, task(2, 0))
    assert(scheduler:start())
    same(runtime:shutdown(20), true)
    fails("GPO_INVALID_HANDLE", scheduler.info, scheduler)
    scheduler:close()
end)

-- --- bad input ---

test("options that are out of range, and handlers that can't be, are named", function()
    local _, device, stream = use()
    local ring = assert(device:queue{kind = "ring", task_size = 16, capacity = 64})
    local function refused(options, part, status)
        local made, message, name = device:scheduler(options)
        same(made, nil)
        same(name, status or "GPO_INVALID_ARGUMENT")
        same(message:find(part, 1, true) ~= nil, true, message)
    end
    refused({handlers = {"visit"}, queue = ring, source = source}, "options.form")
    refused(with{}, "options.queue")
    refused(with{queue = ring, threads = 33}, "options.threads")
    refused(with{queue = ring, batch = 2}, "options.batch")
    refused(with{queue = ring, handlers = {}}, "count")
    refused(with{queue = ring, handlers = {"visit", "not so"}}, "handlers[1]")
    refused(with{queue = ring, handlers = {"missing"}}, "missing", "GPO_COMPILE_FAILED")
    refused(with{queue = ring, multiprocessors = 100000}, "multiprocessors", "GPO_LIMIT_EXCEEDED")
    local range = assert(device:queue{kind = "range", count = 4})
    refused(with{queue = range}, "range", "GPO_NOT_SUPPORTED")
    local scheduler = assert(device:scheduler(with{queue = ring, label = "first"}))
    refused(with{queue = ring}, "first", "GPO_INVALID_STATE")
    scheduler:close()

    local function wrong(options, part) raises(part, device.scheduler, device, options) end
    wrong(with{queue = ring, form = "kernel"}, "one of these expected: none, resident, graphs, while")
    wrong(with{queue = ring, workers = "grid"}, "one of these expected: auto, thread, warp, block")
    wrong(with{queue = ring, stream = stream}, "there is no option 'stream'")
    wrong(with{queue = stream}, "option 'queue': a queue that is open expected")
    wrong(with{queue = ring, handlers = "visit"}, "option 'handlers': a table of names or tables expected")
    wrong(with{queue = ring, handlers = {"visit", 7}}, "option 'handlers': number 2: a name or a table expected")
    wrong(with{queue = ring, handlers = {{name = "visit", graph = 1}}}, "there is no option 'graph'")
    wrong(with{queue = ring, handlers = {{graphs = ring}}}, "option 'graphs': a table of graphs expected")
    wrong(with{queue = ring, handlers = {{graphs = {ring}}}},
          "option 'graphs': number 1: a graph that is open expected")
    wrong(with{queue = ring, argument = gpuorch.array("u32", 4)}, "option 'argument': pageable memory")
    wrong(with{queue = ring, argument = "somewhere"}, "option 'argument': an array, an address or nil expected")
    wrong(with{queue = ring, compile_options = {1}}, "option 'compile_options': a table of strings expected")
    raises("table expected", device.scheduler, device)
    local memory, sum = assert(device:memory_allocate("u32", 8)), zeros(device, 1)
    local graphs = graphs_of(device, memory, sum, 2)
    wrong({form = "graphs", queue = ring, handlers = {{graphs = graphs, task_memory = memory:slice(1, 4)}}},
          "option 'task_memory': 2 graphs with tasks of 16 bytes don't fit into the array")
    graphs[2]:close()
    wrong({form = "graphs", queue = ring, handlers = {{graphs = graphs, task_memory = memory}}},
          "option 'graphs': number 2: a graph that is open expected")
end)
