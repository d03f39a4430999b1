-- Queues that kernels take their work from, and the packing of tasks.
local h = dofile(os.getenv "GPUORCH_TEST_HARNESS")
local gpuorch, test, use, same, raises, fails, collect = h.gpuorch, h.test, h.use, h.same, h.raises, h.fails, h.collect

local source = [==[
#include <gpuorch/device/queue.cuh>

extern "C" __global__ void count(gpo::range rows, unsigned *seen, unsigned n) {
    gpo::thread_range mine(rows);
    unsigned long long first, last;
    while (mine.next(first, last) == gpo::queue_success)
        for (unsigned long long i = first; i < last; ++i)
            if (mine.number(i) < n) atomicAdd(&seen[mine.number(i)], 1);
}

extern "C" __global__ void order(gpo::range rows, unsigned *to, unsigned n) {
    gpo::thread_range mine(rows);
    unsigned long long first, last, at = 0;
    while (mine.next(first, last) == gpo::queue_success)
        for (unsigned long long i = first; i < last && at < n; ++i) to[at++] = mine.number(i);
}

struct node { unsigned height, value; unsigned long long unused; };

/* Each task of a height above 0 pushes two of the height below, and adds its value. */
__device__ void visit(gpo::ring tasks, node which, unsigned *sum) {
    atomicAdd(sum, which.value);
    if (which.height == 0) return;
    for (int i = 0; i < 2; ++i) {
        const node child = {which.height - 1, which.value, 0};
        if (gpo::try_push(tasks, child) != gpo::queue_success) visit(tasks, child, sum);
    }
}
extern "C" __global__ void tree(gpo::ring tasks, unsigned *sum, int *end) {
    node next;
    int status;
    while ((status = gpo::pop(tasks, next, gpo::nanoseconds(20000000000ull))) == gpo::queue_success ||
           status == gpo::queue_would_block) {
        if (status == gpo::queue_would_block) continue;
        visit(tasks, next, sum);
        gpo::done(tasks);
    }
    *end = status;
}

/* Adds; a task whose first number is 7 fails with 13. */
struct sum { unsigned a, b, unused[2]; };
extern "C" __global__ void serve(gpo::host_ring requests) {
    __shared__ gpo::dispatch_memory memory;
    const gpo::bound patience = gpo::nanoseconds(60000000000ull);
    if (blockIdx.x == 0) {
        gpo::dispatch(requests, memory, patience);
        return;
    }
    gpo::host_task<sum> next;
    while (gpo::warp_pop(requests.tasks, next, patience) == gpo::queue_success)
        gpo::warp_answer(requests, next.ticket, next.task.a == 7 ? 13 : 0, next.task.a + next.task.b);
}

extern "C" __global__ void stay(gpo::ring ring, unsigned *to) {
    while (((volatile unsigned *)ring.words)[gpo::ring_state * 32] != gpo::queue_is_aborted) {}
    *to = 1;
}
]==]

local function kernel(device, name, signature)
    return assert(assert(device:module_compile(source)):kernel(name, signature))
end

local function numbers(array, stream)
    return table.concat({gpuorch.array("u32", #array):from_string(assert(array:to_string(stream))):unpack()}, " ")
end

-- --- packing ---

test("values are packed as a C struct has them, and come back", function()
    local types = "u8 u32 f32 u64 bytes:3 i16 f64"
    local bytes = gpuorch.pack(types, 200, 7, 0.5, "18446744073709551615", "abc", -2, 1.25)
    same(#bytes, 40)
    same(bytes:sub(1, 1):byte(), 200)
    same(bytes:sub(2, 4), "\0\0\0")
    same(bytes:sub(5, 8), "\7\0\0\0")
    same(bytes:sub(25, 27), "abc")
    local values = {gpuorch.unpack(types, bytes)}
    same(values[1] .. " " .. values[2] .. " " .. values[3] .. " " .. values[5] .. " " .. values[6] .. " " .. values[7],
         "200 7 0.5 abc -2 1.25")
    same(tostring(values[4]), "18446744073709551615")
    same(values[8], 41)
    local two = gpuorch.pack("u32", 1) .. gpuorch.pack("u32", 2)
    same(select(1, gpuorch.unpack("u32", two, 5)), 2)
    same(gpuorch.pack "", "")
    raises("2 values expected, got 1", gpuorch.pack, "u8 u8", 1)
    raises("out of range", gpuorch.pack, "u8 u8", 1, 256)
    raises("'range' is no type of a value", gpuorch.pack, "range", 1)
    raises("'word' is no type of a value", gpuorch.unpack, "word", "")
    raises("the string is too short", gpuorch.unpack, "u64", "1234567")
    raises("the string is too short", gpuorch.unpack, "u32", "12345678", 6)
end)

-- --- ranges ---

test("a range's numbers are handed out once in each launch", function()
    local _, device, stream = use()
    local count = kernel(device, "count", "range ptr u32")
    local rows = assert(device:queue{kind = "range", count = 101, batch = 7, label = "rows"})
    local late = assert(device:queue{kind = "range", count = 101, batch = 7, late_claims = true})
    local seen = assert(device:memory_allocate("u32", 101))
    assert(stream:fill(seen, 0))
    for _ = 1, 3 do assert(stream:launch_kernel(count, {grid = 2, block = 40}, rows, seen, 101)) end
    same(numbers(seen, stream), ("3 "):rep(100) .. "3")
    for _ = 1, 2 do assert(stream:launch_kernel(count, {grid = 2, block = 40}, late, seen, 101)) end
    same(numbers(seen, stream), ("5 "):rep(100) .. "5")
    local function flags(range) return (gpuorch.unpack("u32", range:device_handle(), 37)) end
    same(flags(rows) .. " " .. flags(late), "0 1")
    local info = assert(rows:info())
    same(rows:label() .. " " .. info.kind .. " " .. info.capacity, "rows range 101")
end)

test("the longest tasks come first until the numbers have their own order again", function()
    local _, device, stream = use()
    local order = kernel(device, "order", "range ptr u32")
    local rows, to = assert(device:queue{kind = "range", count = 5}), assert(device:memory_allocate("u32", 5))
    local function run()
        assert(stream:launch_kernel(order, {grid = 1, block = 1}, rows, to, 5))
        return numbers(to, stream)
    end
    same(run(), "0 1 2 3 4")
    assert(rows:set_costs(stream, {1, 5, 3, 5, 0.5}))
    same(run(), "1 3 2 0 4")
    local costs = gpuorch.array("f32", 5)
    for i = 1, 5 do costs[i] = i end
    assert(rows:set_costs(stream, costs))
    same(run(), "4 3 2 1 0")
    assert(rows:set_costs(stream))
    same(run(), "0 1 2 3 4")
    assert(rows:reset(stream))
    same(run(), "0 1 2 3 4")
    fails("GPO_INVALID_ARGUMENT", rows.set_costs, rows, stream, {1, 2})
    fails("GPO_INVALID_ARGUMENT", rows.set_costs, rows, stream, {1, 2, 0 / 0, 3, 4})
    raises("number 2: a number expected", rows.set_costs, rows, stream, {1, "two", 3, 4, 5})
    raises("an array of f32 expected", rows.set_costs, rows, stream, gpuorch.array("u32", 5))
    raises("gpuorch.array expected, got number", rows.set_costs, rows, stream, 7)
end)

test("a template keeps the queues that its nodes use, also if they are closed", function()
    local _, device, stream = use()
    local count = kernel(device, "count", "range ptr u32")
    local seen = assert(device:memory_allocate("u32", 50))
    assert(stream:fill(seen, 0))
    local built, recorded = assert(device:template()), assert(device:template())
    do
        local one = assert(device:queue{kind = "range", count = 50})
        local two = assert(device:queue{kind = "range", count = 50})
        assert(built:add_kernel(nil, count, {grid = 1, block = 32}, one, seen, 50))
        assert(recorded:record(stream, function(recording)
            assert(stream:launch_kernel(count, {grid = 1, block = 32}, two, seen, 50))
            assert(recording:parameter("rows", recording:last_node(stream), "argument", 1))
        end))
        one:close()
    end
    collect()
    local graph, again = assert(built:graph()), assert(recorded:graph())
    built:close()
    recorded:close()
    collect()
    for _ = 1, 2 do
        assert(graph:launch(stream))
        assert(again:launch(stream))
    end
    same(numbers(seen, stream), ("4 "):rep(49) .. "4")
    -- A parameter is set by what a kernel gets.
    local half = assert(device:queue{kind = "range", count = 25})
    same(#again:get "rows", 64)
    assert(again:set("rows", half:device_handle()))
    assert(again:launch(stream))
    same(numbers(seen, stream), ("5 "):rep(25) .. ("4 "):rep(24) .. "4")
end)

test("a queue that is closed while kernels use it stays until they are done", function()
    local runtime, device, stream = use()
    local count = kernel(device, "count", "range ptr u32")
    local seen, timeline = assert(device:memory_allocate("u32", 10)), assert(runtime:timeline_create())
    assert(stream:fill(seen, 0))
    assert(stream:wait_timeline(timeline, 1))
    for _ = 1, 3 do
        local rows = assert(device:queue{kind = "range", count = 10})
        assert(stream:launch_kernel(count, {grid = 1, block = 32}, rows, seen, 10))
        rows:close()
    end
    assert(timeline:signal(1))
    same(numbers(seen, stream), ("3 "):rep(9) .. "3")
end)

-- --- rings ---

test("tasks push tasks until a ring is closed and all are done", function()
    local _, device, stream = use()
    local tree = kernel(device, "tree", "ring ptr ptr")
    local ring = assert(device:queue{kind = "ring", task_size = 16, capacity = 64})
    local sum, ended = assert(device:memory_allocate("u32", 1)), assert(device:memory_allocate("u32", 1))
    assert(stream:fill(sum, 0))
    assert(ring:push(stream, gpuorch.pack("u32 u32 u64", 5, 1, 0) .. gpuorch.pack("u32 u32 u64", 2, 100, 0)))
    local array = gpuorch.array("u32", 4):fill(0)
    array[2] = 1000
    assert(ring:push(stream, array))
    assert(stream:await(20))
    same(ring:info().depth, 3)
    assert(ring:close_ring())
    assert(stream:launch_kernel(tree, {grid = 2, block = 32}, ring, sum, ended))
    same(numbers(sum, stream), tostring(63 + 700 + 1000))
    same(numbers(ended, stream), "4") -- GPO_END
    local info = ring:info()
    same(info.state .. " " .. info.depth, "closed 0")
    same(info.done, info.pushed)
    assert(ring:reset(stream))
    assert(stream:await(20))
    same(ring:info().state, "open")
end)

test("a ring counts what finds no room, has priorities, and is aborted", function()
    local _, device, stream = use()
    local ring = assert(device:queue{kind = "ring", task_size = 32, capacity = 64, priorities = 2})
    local task = ("\1"):rep(32)
    assert(ring:push(stream, task:rep(60)))
    assert(ring:push(stream, task:rep(6), 1))
    assert(ring:push(stream, task:rep(6)))
    assert(ring:push(stream, ""))
    assert(stream:await(20))
    local info = ring:info()
    same(info.pushed .. " " .. info.refused .. " " .. info.capacity .. " " .. info.task_size, "70 2 64 32")
    fails("GPO_INVALID_ARGUMENT", ring.push, ring, stream, task, 2)
    raises("tasks of 32 bytes expected, got 33 bytes", ring.push, ring, stream, task .. "x")
    raises("gpuorch.array expected, got number", ring.push, ring, stream, 7)
    raises("an array on the host expected", ring.push, ring, stream, assert(device:memory_allocate("u32", 8)))
    assert(ring:abort())
    local deadline = gpuorch.now() + 20
    while ring:info().state ~= "aborted" and gpuorch.now() < deadline do end
    same(ring:info().state, "aborted")
end)

-- --- host rings ---

local function server(options)
    local runtime, device, stream = use()
    local resident = assert(device:stream_create{resident = true})
    local given = {kind = "host_ring", task_size = 16, answer_size = 4, capacity = 64, stream = resident}
    for key, value in pairs(options or {}) do given[key] = value end
    local requests = assert(device:queue(given))
    assert(resident:launch_kernel(kernel(device, "serve", "host_ring"), {grid = 3, block = 32}, requests))
    return requests, resident, runtime, device, stream
end

local function sum(a, b) return gpuorch.pack("u32 u32 u64", a, b, 0) end

test("a resident kernel answers what the host posts", function()
    local requests, resident, _, device = server()
    same(requests:post(sum(1, 2) .. sum(40, 2), 100), 2)
    same(requests:post "", 0)
    local answers = {}
    local function gather()
        for _, answer in ipairs(assert(requests:take())) do
            same(answer.status, "GPO_SUCCESS")
            answers[answer.user_data] = gpuorch.unpack("u32", answer.answer)
        end
    end
    while not answers[100] or not answers[101] do
        assert(requests:wait(20))
        gather()
    end
    same(answers[100] .. " " .. answers[101], "3 42")
    same(requests:wait(0.01), false)
    same(#requests:take(), 0)
    assert(device:wait(20)) -- which leaves the resident stream out
    same(resident:query(), false)
    same(requests:post(sum(7, 0), 9), 1)
    assert(requests:close_ring())
    fails("GPO_INVALID_STATE", requests.post, requests, sum(1, 1))
    assert(requests:wait(20))
    local failed = requests:take(1)[1]
    same(failed.user_data .. " " .. failed.code, "9 13")
    local over, _, why = requests:wait(20)
    same(over, false)
    same(why, "GPO_END")
    assert(resident:wait(20))
    local info = requests:info()
    same(info.posted .. " " .. info.answered .. " " .. info.kind, "3 3 host_ring")
end)

test("more is posted than fits at once, and all of it is answered", function()
    local requests = server()
    local posted, answered, total = 0, 0, 0
    while answered < 300 do
        if posted < 300 then
            local tasks = {}
            for i = posted, math.min(299, posted + 49) do tasks[#tasks + 1] = sum(i + 8, 1) end
            local count, _, name = requests:post(table.concat(tasks), posted)
            if count then posted = posted + count else same(name, "GPO_WOULD_BLOCK") end
        end
        for _, answer in ipairs(requests:take(64)) do
            same(gpuorch.unpack("u32", answer.answer), answer.user_data + 9)
            answered, total = answered + 1, total + answer.user_data
        end
    end
    same(total, 300 * 299 / 2)
end)

test("tenants have their shares and their answers, and a completion queue is told of them", function()
    local requests, _, runtime = server{tenants = 3}
    local cq = assert(runtime:cq_create())
    fails("GPO_INVALID_ARGUMENT", requests.set_tenant, requests, 3)
    fails("GPO_INVALID_ARGUMENT", requests.set_tenant, requests, 1, {limit = 65})
    raises("there is no option 'cq'", requests.set_tenant, requests, 1, {cq = cq})
    assert(requests:set_tenant(1, {limit = 2, completions = cq}))
    same(requests:post(sum(1, 1):rep(5), 50, 1), 2)
    fails("GPO_INVALID_STATE", requests.set_tenant, requests, 1)
    local seen = {}
    while #seen < 2 do
        assert(cq:wait(20))
        for _, entry in ipairs(cq:drain()) do
            same(entry.origin .. " " .. entry.status, "queue GPO_SUCCESS")
            seen[#seen + 1] = entry.user_data
        end
    end
    table.sort(seen)
    same(table.concat(seen, " "), "50 51")
    local full, _, name = requests:post(sum(1, 1), 60, 1)
    same(full, false)
    same(name, "GPO_WOULD_BLOCK")
    same(#requests:take(64, 0), 0)
    same(#requests:take(64, 1), 2)
    same(requests:post(sum(1, 1), 60, 1), 1)
    fails("GPO_INVALID_ARGUMENT", requests.post, requests, sum(1, 1), 0, 3)
end)

test("a queue that is closed, or collected, ends its resident kernel", function()
    local requests, resident = server()
    assert(requests:post(sum(1, 1)))
    assert(requests:wait(20))
    requests:close()
    raises("the queue is closed", requests.post, requests, sum(1, 1))
    assert(resident:wait(20))
    do
        local device = resident:device()
        local ring = assert(device:queue{kind = "ring", task_size = 16, stream = resident})
        local to = assert(device:memory_allocate("u32", 1))
        assert(resident:launch_kernel(kernel(device, "stay", "ring ptr"), {grid = 1, block = 1}, ring, to))
        same(resident:query(), false)
    end
    collect()
    assert(resident:wait(20))
end)

test("an array that a resident kernel uses is freed when the kernel has ended", function()
    local _, device = use()
    local resident = assert(device:stream_create{resident = true})
    same(resident:info().resident, true)
    local ring = assert(device:queue{kind = "ring", task_size = 16, stream = resident})
    local to = assert(device:memory_allocate("u32", 1))
    local address = gpuorch.address(to:pointer())
    assert(resident:launch_kernel(kernel(device, "stay", "ring ptr"), {grid = 1, block = 1}, ring, to))
    to:close()
    same(resident:query(), false)
    same(device:memory_describe(address).kind, "device")
    assert(ring:abort())
    assert(resident:wait(20))
    assert(device:wait(20))
end)

test("an aborted host ring has no more answers, and one without answers takes none", function()
    local requests, resident = server()
    assert(requests:abort())
    assert(resident:wait(20))
    fails("GPO_CANCELLED", requests.wait, requests, 20)
    local silent = assert(resident:device():queue{kind = "host_ring", task_size = 16, no_answers = true, stream = resident})
    fails("GPO_NOT_SUPPORTED", silent.wait, silent, 1)
    fails("GPO_NOT_SUPPORTED", silent.set_tenant, silent, 0)
    same(silent:post(sum(1, 1)), 1)
end)

-- --- bad input ---

test("options that are out of range, and queues of other kinds, are named", function()
    local runtime, device, stream = use()
    for _, one in ipairs{{{kind = "range"}, "options.count"}, {{kind = "ring"}, "options.task_size"},
                         {{kind = "ring", task_size = 24}, "options.task_size"},
                         {{kind = "ring", task_size = 16, count = 1}, "options.count"},
                         {{kind = "ring", task_size = 16, priorities = 9}, "options.priorities"},
                         {{kind = "host_ring", task_size = 16}, "options.stream"}, {{}, "options.kind"}} do
        local made, message, name = device:queue(one[1])
        same(made, nil)
        same(name, "GPO_INVALID_ARGUMENT")
        same(message:find(one[2], 1, true) ~= nil, true, message)
    end
    raises("one of these expected: none, range, ring, host_ring", device.queue, device, {kind = "rang"})
    raises("there is no option 'size'", device.queue, device, {kind = "range", size = 1})
    raises("option 'stream': a stream that is open expected", device.queue, device, {kind = "range", count = 1, stream = 7})
    fails("GPO_INVALID_ARGUMENT", device.queue, device, {kind = "range", count = 1, stream = stream})
    local range, ring = assert(device:queue{kind = "range", count = 1}), assert(device:queue{kind = "ring", task_size = 16})
    for _, method in ipairs{"close_ring", "abort"} do fails("GPO_NOT_SUPPORTED", range[method], range) end
    fails("GPO_NOT_SUPPORTED", range.push, range, stream, "")
    fails("GPO_NOT_SUPPORTED", ring.post, ring, ("\0"):rep(16))
    fails("GPO_NOT_SUPPORTED", ring.take, ring)
    fails("GPO_NOT_SUPPORTED", ring.set_costs, ring, stream, {1})
    same(range:device_handle():sub(1, 4) .. #range:device_handle(), "GRAR64")
    same(ring:device_handle():sub(1, 4) .. #ring:device_handle(), "GRRI96")
    local count = kernel(device, "count", "range ptr u32")
    local one, seen = {grid = 1, block = 32}, assert(device:memory_allocate("u32", 10))
    raises("parameter 1 (range) of the kernel: the queue is of another kind", stream.launch_kernel, stream, count, one, ring, seen, 1)
    raises("parameter 1 (range) of the kernel: a queue expected", stream.launch_kernel, stream, count, one, "range", seen, 1)
    local resident = assert(device:stream_create{resident = true})
    raises("the queue was made without it", resident.launch_kernel, resident, count, one, range, seen, 1)
    local elsewhere = select(2, use())
    local theirs, template = assert(elsewhere:queue{kind = "range", count = 10}), assert(device:template())
    raises("the queue is of another device", stream.launch_kernel, stream, count, one, theirs, seen, 10)
    raises("the queue is of another device", template.add_kernel, template, nil, count, one, theirs, seen, 10)
    -- A second handle of a device is the same device.
    local again = assert(assert(runtime:device_open()):queue{kind = "range", count = 10})
    assert(stream:fill(seen, 0))
    assert(stream:launch_kernel(count, one, again, seen, 10))
    same(numbers(seen, stream), ("1 "):rep(9) .. "1")
    range:close()
    raises("the queue is closed", stream.launch_kernel, stream, count, one, range, seen, 1)
    raises("a queue, which the function 'enqueue' can pass", device.pipeline_create, device,
           {stages = {{kernel = count, arguments = {ring, "input", 1}}}})
end)

test("kernels launch kernels if their module says so", function()
    local _, device, stream = use()
    local nested = [==[
        __global__ void child(unsigned *x) { x[threadIdx.x] = threadIdx.x; }
        extern "C" __global__ void parent(unsigned *x) { child<<<1, 8>>>(x); }]==]
    fails("GPO_COMPILE_FAILED", device.module_compile, device, nested)
    local module, message, name = device:module_compile(nested, {dynamic_parallelism = true})
    if name == "GPO_NO_COMPILER" then
        print("SKIP kernels launch kernels if their module says so: " .. message)
        return "skip"
    end
    local x = assert(device:memory_allocate("u32", 8))
    assert(stream:launch_kernel(assert(assert(module):kernel("parent", "ptr")), {grid = 1, block = 1}, x))
    same(numbers(x, stream), "0 1 2 3 4 5 6 7")
end)
