-- Batchers: requests that are submitted, awaited, refused and cancelled, and the lifetime of their arrays.
local h = dofile(os.getenv "GPUORCH_TEST_HARNESS")
local gpuorch, test, use, same, raises, collect = h.gpuorch, h.test, h.use, h.same, h.raises, h.collect

local SOURCE = [[
extern "C" __global__ void add(const unsigned *x, unsigned *y, unsigned count) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) y[i] = x[i] + 1;
}
]]
local MOST, HOUR = 64, "3600000000000"

-- A batcher with a key of rows of one u32, to which the work adds 1; and the same with ragged requests.
local function world(options)
    local w = {}
    w.runtime, w.device, w.stream = use()
    w.kernel = assert(assert(w.device:module_compile(SOURCE)):kernel("add", "ptr ptr u32"))
    w.x, w.y = assert(w.device:memory_allocate("u32", MOST)), assert(w.device:memory_allocate("u32", MOST))
    w.buckets = assert(w.device:buckets{shapes = {4, MOST}, record = function(stream, work)
        assert(stream:launch_kernel(w.kernel, {grid = 1, block = MOST}, w.x, w.y, work.shape))
        if work.template then
            local node = assert(work.template:last_node(stream))
            assert(work.template:parameter("input", node, "argument", 1))
            assert(work.template:parameter("output", node, "argument", 2))
        end
    end})
    assert(w.buckets:prepare(w.stream))
    options = options or {}
    options.devices, options.label = {w.device}, "front"
    w.batcher = assert(w.runtime:batcher(options))
    function w.key(more)
        local key = {layout = "rows", input_bytes = 4, output_bytes = 4, buckets = {w.buckets}}
        for name, value in pairs(more or {}) do key[name] = value end
        return assert(w.batcher:add_key(key))
    end
    function w.submit(key, value, more)
        local request = {key = key, input = gpuorch.array("u32", 1):fill(value), output = gpuorch.array("u32", 1)}
        for name, what in pairs(more or {}) do request[name] = what end
        local operation, ticket, name, seconds = w.batcher:submit(request)
        return operation, ticket, name, seconds, request.output
    end
    return w
end

test("requests get their own part of a batch's output", function()
    local w = world()
    local key, all = w.key(), {}
    same(key, 0)
    for i = 1, 30 do
        local operation, _, _, _, output = w.submit(key, i, {flow = i % 3})
        all[i] = {operation = assert(operation), output = output}
    end
    for i, one in ipairs(all) do
        assert(one.operation:await(30))
        same(one.output[1], i + 1)
    end
    same(all[1].operation:entry().origin, "batcher")
    local info = w.batcher:info()
    same(info.keys .. " " .. info.succeeded .. " " .. info.waiting .. " " .. #info.sizes, "1 30 0 17")
    same(type(info.requests_per_second), "number")
    same(w.batcher:key_info(0).succeeded, 30)
    same(w.batcher:flow_info(2).succeeded, 10)
    assert(w.batcher:set_flow(2, 7))
    same(w.batcher:flow_info(2).weight, 7)
    same(select(3, w.batcher:key_info(1)), "GPO_NOT_FOUND")
end)

test("ragged requests have as many elements as their input, on the host or on the device", function()
    local w = world()
    local key = w.key{layout = "ragged", variable_output = true}
    local input, output = gpuorch.array("u32", 5):fill(8), gpuorch.array("u32", 6):fill(1)
    local made = gpuorch.array("u64", 1)
    local operation, ticket = assert(w.batcher:submit{key = key, input = input, output = output, output_made = made})
    assert(operation:await(30))
    same(operation:entry().operation, ticket)
    same(table.concat({output:unpack()}, " ") .. " " .. made[1], "9 9 9 9 9 1 20")
    local on_device, back = assert(w.device:memory_allocate("u32", 3)), assert(w.device:memory_allocate("u32", 3))
    assert(w.stream:fill(on_device, 3))
    assert(w.stream:await(30))
    operation = assert(w.batcher:submit{key = key, input = on_device:slice(1, 2), output = back})
    assert(operation:await(30))
    same(gpuorch.array("u32", 3):from_string(back:to_string(w.stream)):slice(1, 2)[2], 4)
    raises("shorter than the request", w.batcher.submit, w.batcher, {key = key, input = input, output = made})
    same(select(3, w.batcher:submit{key = key, elements = 65, input = gpuorch.array("u32", 65),
                                    output = gpuorch.array("u32", 65)}), "GPO_INVALID_ARGUMENT")
end)

test("what is refused or cancelled says so", function()
    local w = world{capacity = 1}
    local fast, slow = w.key(), w.key{max_delay_ns = HOUR}
    local late, _, name, seconds = w.submit(fast, 1, {deadline_ns = 1})
    same(late, false)
    same(name, "GPO_TIMEOUT")
    same(seconds == nil or seconds > 0, true)
    local operation, ticket = w.submit(slow, 1)
    same(operation:ready(), false)
    same(select(3, w.submit(slow, 2)), "GPO_WOULD_BLOCK")
    assert(w.batcher:cancel(ticket))
    same(select(3, operation:await(30)), "GPO_CANCELLED")
    same(select(3, w.batcher:cancel(ticket)), "GPO_NOT_FOUND")
    local left = w.submit(slow, 3)
    w.batcher:close()
    same(select(3, left:await(30)), "GPO_CANCELLED")
    raises("closed", w.batcher.info, w.batcher)
end)

test("a request keeps its arrays, and a batcher its buckets", function()
    local w = world()
    local key = w.key()
    local output = gpuorch.array("u32", 1)
    local operation = assert(w.batcher:submit{key = key, input = gpuorch.array("u32", 1):fill(6), output = output:slice(1, 1)})
    collect()
    w.buckets:close()
    assert(operation:await(30))
    same(output[1], 7)
    local queue = assert(w.runtime:cq_create())
    local input, closed = gpuorch.array("u32", 1):fill(9), gpuorch.array("u32", 1)
    operation = assert(w.batcher:submit({key = key, input = input, output = closed}, queue))
    input:close()
    closed:close()
    assert(operation:await(30))
end)

test("buckets that aren't prepared fail their batches, since no thread of a batcher enters Lua", function()
    local w = world()
    local called = false
    local fresh = assert(w.device:buckets{shapes = {4}, record = function() called = true end})
    local key = w.key{buckets = {fresh}}
    same(select(3, w.submit(key, 1):await(30)), "GPO_CALLBACK_FAILED")
    same(called, false)
end)

test("mistakes in options are errors", function()
    local w = world()
    raises("'devices': a table of devices expected", w.runtime.batcher, w.runtime, {})
    raises("number 1: a device that is open expected", w.runtime.batcher, w.runtime, {devices = {w.stream}})
    same(select(3, w.batcher:add_key{layout = "rows", buckets = {}}), "GPO_INVALID_ARGUMENT")
    raises("a table with buckets", w.batcher.add_key, w.batcher, {layout = "rows"})
    raises("there is no option 'work'", w.batcher.add_key, w.batcher, {layout = "rows", work = function() end})
    raises("an array expected", w.batcher.submit, w.batcher, {key = w.key(), input = gpuorch.address(8)})
    same(select(3, w.batcher:submit{key = 9}), "GPO_NOT_FOUND")
end)
