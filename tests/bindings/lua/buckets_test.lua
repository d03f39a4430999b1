-- Shape buckets: the bucket of a request, its settings, padding, errors, and the lifetime of arrays.
local h = dofile(os.getenv "GPUORCH_TEST_HARNESS")
local gpuorch, test, use, same, raises, fails, collect = h.gpuorch, h.test, h.use, h.same, h.raises, h.fails, h.collect

local SOURCE = [[
extern "C" __global__ void scale(unsigned *to, const unsigned *from, unsigned count, unsigned factor) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) to[i] = from[i] * factor + 1;
}
]]
local MOST = 64

-- Buckets that write as many elements as the shape has: 10 * factor + 1, where the factor is 3 if a request gives none.
local function work(options)
    local w = {calls = {}}
    w.runtime, w.device, w.stream = use()
    w.kernel = assert(assert(w.device:module_compile(SOURCE)):kernel("scale", "ptr ptr u32 u32"))
    w.arena = assert(w.device:arena_create())
    w.from, w.to = assert(w.arena:allocate("u32", MOST)):fill(10), assert(w.arena:allocate("u32", MOST)):fill(0)
    function w.record(stream, piece)
        local how = piece.template and " recorded" or stream == w.stream and " eagerly" or ""
        w.calls[#w.calls + 1] = piece.shape .. how
        assert(stream:launch_kernel(w.kernel, {grid = 1, block = MOST}, piece.settings.to or w.to, w.from,
                                    math.min(piece.shape, MOST), piece.settings.factor or 3))
        if piece.template then
            local node = assert(piece.template:last_node(stream))
            assert(piece.template:parameter("to", node, "argument", 1))
            assert(piece.template:parameter("factor", node, "argument", 4))
        end
        if w.also then w.also(stream, piece) end
    end
    options = options or {}
    options.shapes, options.record = options.shapes or {16, 4, 64}, w.record
    options.label = "scaler"
    w.buckets = assert(w.device:buckets(options))
    -- How many elements have the value, from the first on; then all are 0 again.
    function w.written(value, to)
        assert(w.stream:await(30))
        to = to or w.to
        local count = 0
        while count < MOST and to[count + 1] == value do count = count + 1 end
        to:fill(0)
        return count
    end
    function w.counts(...)
        local statistics, texts = w.buckets:statistics(), {}
        for i, name in ipairs{...} do texts[i] = statistics[name] end
        return table.concat(texts, " ")
    end
    return w
end

test("a request runs in the smallest bucket that it fits into, or eagerly", function()
    local w = work{max_buckets = 1}
    same(#w.calls, 0)
    same(assert(w.buckets:launch(w.stream, 3)), 4)
    same(w.written(31), 4)
    same(table.concat(w.calls, ", "), "4, 4 recorded")
    same(assert(w.buckets:launch(w.stream, 4)), 4)
    same(w.written(31), 4)
    same(assert(w.buckets:launch(w.stream, 99, {factor = 2})), 0)
    same(w.written(21), MOST)
    same(assert(w.buckets:launch(w.stream, 5)), 16)
    same(w.written(31), 16)
    same(table.concat(w.calls, ", "), "4, 4 recorded, 99 eagerly, 16, 16 recorded")
    same(w.counts("hits", "misses", "eager", "evictions", "buckets"), "1 2 1 1 1")
    same(w.counts("requested", "padded"), (3 + 4 + 99 + 5) .. " " .. (1 + 11))
end)

test("the settings of a request hold for that request alone, also for the first of its bucket", function()
    local w = work()
    local other = assert(w.device:memory_allocate("u32", MOST))
    local back = gpuorch.array("u32", MOST)
    same(assert(w.buckets:launch(w.stream, 4, {factor = 7})), 4)
    same(w.written(71), 4)
    same(assert(w.buckets:launch(w.stream, 4)), 4)
    same(w.written(31), 4)
    assert(w.stream:fill(other, 0))
    same(assert(w.buckets:launch(w.stream, 9, {to = other, factor = 5})), 16)
    assert(w.stream:copy_to_host(back, other))
    same(w.written(51, back), 16)
    assert(w.stream:fill(other, 0))
    same(assert(w.buckets:launch(w.stream, 99, {to = other, factor = 2})), 0)
    assert(w.stream:copy_to_host(back, other))
    same(w.written(21, back), MOST)
end)

-- Buckets that append a digit, 1 if a request gives none, to a number.
local function steps(options)
    local w = {phases = {}}
    w.runtime, w.device, w.stream = use()
    w.arena = assert(w.device:arena_create())
    local kernel = assert(assert(w.device:module_compile[[
        extern "C" __global__ void step(unsigned *state, unsigned digit) { *state = *state * 10 + digit; }]]):kernel(
        "step", "ptr u32"))
    w.state, w.pieces = assert(w.arena:allocate("u32", 4)):fill(0), assert(w.device:memory_allocate("u32", 4))
    w.extra = assert(w.arena:allocate("u32", 1024))
    assert(w.stream:fill(w.pieces, 8))
    function options.record(stream, piece)
        w.phases[#w.phases + 1] = piece.phase
        assert(stream:launch_kernel(kernel, {grid = 1, block = 1}, w.state, piece.settings.digit or 1))
        if piece.phase == "warm_up" then assert(stream:fill(w.pieces, 9)) end
        if piece.template then
            assert(piece.template:parameter("digit", piece.template:last_node(stream), "argument", 2))
            if w.fails then error "no recording" end
        end
    end
    options.shapes = {1, 2}
    if options.restored then options.restored = {w.state, w.pieces, w.extra} end
    w.buckets = assert(w.device:buckets(options))
    function w.number()
        assert(w.stream:await(30))
        return w.state[1]
    end
    return w
end

test("record is told why it is called, and a warm-up leaves the arrays as they were that are restored", function()
    local w = steps{restored = true}
    for digit = 1, 3 do same(assert(w.buckets:launch(w.stream, 1, {digit = digit})), 1) end
    same(assert(w.buckets:launch(w.stream, 3, {digit = 4})), 0)
    same(w.number(), 1234)
    same(table.concat(w.phases, " "), "warm_up recording eager")
    local back = gpuorch.array("u32", 4)
    assert(w.stream:copy_to_host(back, w.pieces))
    assert(w.stream:await(30))
    same(back[1] .. back[4], "88")
end)

test("arrays that are restored stay for as long as their buckets", function()
    local w = steps{restored = true}
    local before = w.arena:statistics().in_use
    w.extra:close()
    same(assert(w.buckets:launch(w.stream, 1)), 1)
    assert(w.stream:await(30))
    same(w.arena:statistics().in_use, before)
    w.buckets:close()
    assert(w.device:wait(30))
    same(before - w.arena:statistics().in_use >= 4096, true)
end)

test("a warm-up can be left out, and what is given with that or isn't an array is refused", function()
    local w = steps{no_warm_up = true}
    same(assert(w.buckets:launch(w.stream, 1, {digit = 7})), 1)
    same(w.number(), 7)
    same(table.concat(w.phases, " "), "recording")
    local function record() end
    fails("GPO_INVALID_ARGUMENT", w.device.buckets, w.device,
          {shapes = {1}, record = record, restored = {w.state}, no_warm_up = true})
    for _, bad in ipairs{7, {7}, {w.stream}} do
        raises("option 'restored'", w.device.buckets, w.device, {shapes = {1}, record = record, restored = bad})
    end
end)

test("a bucket that can't be recorded runs eagerly where that is asked for, and the reason can be read", function()
    local w = steps{restored = true, eager_fallback = true}
    w.fails = true
    for digit = 1, 2 do same(assert(w.buckets:launch(w.stream, 1, {digit = digit})), 0) end
    same(w.number(), 12)
    same(table.concat(w.phases, " "), "warm_up recording eager eager")
    local statistics = w.buckets:statistics()
    same(statistics.failures .. " " .. statistics.fallbacks, "1 2")
    same(statistics.last_failure:find("bucket 1 of", 1, true) ~= nil, true, statistics.last_failure)
    w.fails = false
    assert(w.buckets:prepare(w.stream))
    same(assert(w.buckets:launch(w.stream, 1, {digit = 3})), 1)
    same(w.number(), 123)
end)

test("a setting that a bucket doesn't have is refused by name, and one of another type is a mistake", function()
    local w = work()
    fails("GPO_NOT_FOUND", w.buckets.launch, w.buckets, w.stream, 4, {facto = 1})
    local _, message = w.buckets:launch(w.stream, 4, {facto = 1})
    same(message:find("bucket 4 of buckets `scaler`", 1, true) ~= nil, true, message)
    raises("parameter 'factor': ", w.buckets.launch, w.buckets, w.stream, 4, {factor = "seven"})
    raises("parameter 'factor': ", w.buckets.launch, w.buckets, w.stream, 16, {factor = -1})
    raises("known by their names", w.buckets.launch, w.buckets, w.stream, 4, {7})
    same(w.counts("buckets", "requested"), "1 0")
    w.written(31) -- of warm-ups
    fails("GPO_INVALID_ARGUMENT", w.buckets.launch, w.buckets, w.stream, 0)
    same(assert(w.buckets:launch(w.stream, 16, {factor = 1})), 16)
    same(w.written(11), 16)
end)

test("what was prepared is not recorded again", function()
    local w = work{streams = 2}
    local other = assert(w.device:stream_create())
    assert(w.buckets:prepare(w.stream))
    local recorded = "64, 64 recorded, 16, 16 recorded, 4, 4 recorded"
    same(table.concat(w.calls, ", "), recorded)
    same(w.written(31), MOST)
    for size = 1, MOST do
        local stream = size % 2 == 0 and w.stream or other
        same(assert(w.buckets:launch(stream, size, {factor = size})), size <= 4 and 4 or size <= 16 and 16 or 64)
    end
    assert(other:await(30))
    assert(w.stream:await(30))
    same(table.concat(w.calls, ", "), recorded)
    same(w.counts("hits", "misses", "eager"), MOST .. " 0 0")
end)

-- --- padding ---

test("elements between the size and the shape are padded with zeros", function()
    local w = work()
    local buckets = assert(w.device:buckets{shapes = {16}, record = w.record, pad_address = w.from})
    assert(buckets:prepare(w.stream))
    same(w.written(31), 16)
    same(assert(buckets:launch(w.stream, 10, {factor = 2})), 16)
    assert(w.stream:await(30))
    same(table.concat({w.to:unpack(10, 17)}, " "), "21 1 1 1 1 1 1 0")
    same(table.concat({w.from:unpack(10, 17)}, " "), "10 0 0 0 0 0 0 10")
    same(buckets:statistics().padded, 6)
    local wide = assert(w.device:buckets{shapes = {16}, record = w.record, pad_address = w.from, pad_element_bytes = 8})
    same(wide:launch(w.stream, 15), 16)
    assert(w.stream:await(30))
    same(table.concat({w.from:unpack(30, 33)}, " "), "10 0 0 10")
    raises("shorter than the largest shape", w.device.buckets, w.device,
           {shapes = {4, 65}, record = w.record, pad_address = w.from})
end)

test("a function pads on the caller's stream, and only where there is something to pad", function()
    local pads = {}
    local w
    w = work{pad = function(stream, piece)
        same(stream, w.stream)
        same(piece.template, nil)
        pads[#pads + 1] = piece.size .. " of " .. piece.shape .. " by " .. piece.settings.factor
        assert(stream:fill(w.from:slice(piece.size + 1, piece.shape), 100))
    end}
    same(assert(w.buckets:launch(w.stream, 16, {factor = 2})), 16)
    same(w.written(21), 16)
    same(assert(w.buckets:launch(w.stream, 14, {factor = 2})), 16)
    assert(w.stream:await(30))
    same(table.concat({w.to:unpack(13, 17)}, " "), "21 21 201 201 0")
    same(table.concat(pads, ", "), "14 of 16 by 2")
end)

-- --- errors ---

test("an error of a function is raised again, and the next request for the bucket is a first one", function()
    local w
    w = work{pad = function() error("no padding") end}
    local thrown = {}
    w.also = function(_, piece) if piece.template then error(thrown) end end
    local good, raised = pcall(w.buckets.launch, w.buckets, w.stream, 4)
    same(good, false)
    same(raised, thrown)
    w.also = function() error("not today") end
    raises("not today", w.buckets.prepare, w.buckets, w.stream)
    raises("not today", w.buckets.launch, w.buckets, w.stream, 99)
    w.also = nil
    same(w.counts("buckets", "misses", "eager", "requested"), "0 0 0 0")
    w.written(31) -- of warm-ups
    same(assert(w.buckets:launch(w.stream, 4)), 4)
    same(w.written(31), 4)
    raises("no padding", w.buckets.launch, w.buckets, w.stream, 3)
    same(w.written(31), 0)
    same(w.counts("hits", "misses"), "0 1")
end)

test("what can't be recorded is refused with the bucket's name", function()
    local w = work()
    w.also = function(stream, piece) if piece.template then stream:notify() end end
    fails("GPO_CAPTURE_REFUSED", w.buckets.launch, w.buckets, w.stream, 16)
    local _, message = w.buckets:launch(w.stream, 16)
    same(message:find("bucket 16 of buckets `scaler`", 1, true) ~= nil, true, message)
    w.also = nil
    same(assert(w.buckets:launch(w.stream, 16)), 16)
end)

test("bad options are mistakes, and bad tables are refused", function()
    local _, device = use()
    local record = function() end
    raises("option 'shapes': a table of numbers expected", device.buckets, device, {record = record})
    raises("option 'shapes': ", device.buckets, device, {shapes = {4, -1}, record = record})
    raises("option 'record': a function expected", device.buckets, device, {shapes = {4}, record = 7})
    raises("option 'pad': a function expected", device.buckets, device, {shapes = {4}, record = record, pad = 7})
    raises("there is no option 'shape'", device.buckets, device, {shape = {4}})
    fails("GPO_INVALID_ARGUMENT", device.buckets, device, {shapes = {4}})
    fails("GPO_INVALID_ARGUMENT", device.buckets, device, {shapes = {}, record = record})
    fails("GPO_INVALID_ARGUMENT", device.buckets, device, {shapes = {8, 4, 8}, record = record})
    fails("GPO_INVALID_ARGUMENT", device.buckets, device, {shapes = {4}, record = record, streams = 65})
    fails("GPO_INVALID_ARGUMENT", device.buckets, device, {shapes = {4}, record = record, pad_element_bytes = 4})
end)

-- --- what functions may do ---

test("a function can't end its runtime, yield, or wait for its own recording", function()
    local w = work()
    w.also = function(stream, piece)
        if piece.template then return end
        raises("can't be closed from inside one of its callbacks", w.runtime.close, w.runtime)
        fails("GPO_WOULD_DEADLOCK", w.runtime.shutdown, w.runtime)
        raises("", coroutine.yield)
        fails("GPO_INVALID_STATE", w.buckets.prepare, w.buckets, w.stream)
    end
    local inside = coroutine.wrap(function() return w.buckets:launch(w.stream, 4) end)
    same(inside(), 4)
    same(w.written(31), 4)
end)

test("a request inside a function runs eagerly, and one of other buckets as ever", function()
    local w, seen = work(), {}
    local stream = assert(w.device:stream_create())
    local plain = assert(w.device:buckets{shapes = {8}, record = function() end})
    w.also = function(_, piece)
        if piece.template or #seen > 0 then return end
        seen[1] = 0
        seen[1] = w.buckets:launch(stream, 4, {factor = 5})
        seen[2] = plain:launch(stream, 5)
        assert(stream:await(30))
    end
    same(assert(w.buckets:launch(w.stream, 16, {factor = 2})), 16)
    same(table.concat(seen, " "), "0 8")
    same(w.written(21), 16)
    same(w.counts("misses", "eager"), "1 1")
end)

test("the stream of a recording is closed behind it, and a bucket's template is usable until it is evicted", function()
    local w = work{max_buckets = 1}
    local stream, template
    w.also = function(on, piece) stream, template = on, piece.template or template end
    same(assert(w.buckets:launch(w.stream, 4)), 4)
    raises("the stream is closed", function() stream:query() end)
    same(template:statistics().nodes, 1)
    same(tostring(template):match "scaler 4", "scaler 4")
    same(assert(w.buckets:launch(w.stream, 16)), 16)
    local of_16 = template
    same(assert(w.buckets:launch(w.stream, 4)), 4)
    fails("GPO_STALE_HANDLE", of_16.statistics, of_16)
    of_16:close()
    of_16:close()
    same(w.written(31), 16)
end)

test("buckets that are closed in their own function finish the request", function()
    local w = work()
    w.also = function() w.buckets:close() end
    same(assert(w.buckets:launch(w.stream, 4, {factor = 2})), 4)
    same(w.written(21), 4)
    raises("the buckets is closed", w.buckets.launch, w.buckets, w.stream, 4)
end)

-- --- arrays ---

-- Records into an array of its own, which is closed and forgotten at once.
local function with_own_arrays(w, options)
    local weak = setmetatable({}, {__mode = "v"})
    options.record = function(stream, piece)
        local own = weak[piece.shape] or assert(w.arena:allocate("u32", piece.shape * 1024))
        weak[piece.shape] = own
        assert(stream:fill(own, piece.shape))
        assert(stream:launch_kernel(w.kernel, {grid = 1, block = MOST}, w.to, own, piece.shape, 1))
        if piece.template then own:close() end
    end
    return assert(w.device:buckets(options)), weak
end

test("arrays that a bucket uses stay with it, though they were closed, and go when it is evicted", function()
    local w = work()
    local before = w.arena:statistics().in_use
    local buckets = with_own_arrays(w, {shapes = {64, 16}, max_buckets = 1})
    same(assert(buckets:launch(w.stream, 64)), 64)
    collect()
    same(w.arena:statistics().in_use > before, true)
    same(w.written(65), 64)
    same(assert(buckets:launch(w.stream, 60)), 64)
    collect()
    same(w.written(65), 64)
    local largest = w.arena:statistics().in_use
    same(assert(buckets:launch(w.stream, 16)), 16)
    same(w.written(17), 16)
    collect()
    assert(w.device:wait(30))
    same(w.arena:statistics().in_use < largest, true)
    buckets:close()
    collect()
    assert(w.device:wait(30))
    same(w.arena:statistics().in_use, before)
end)

test("buckets that are collected let go of everything", function()
    local w = work()
    local live = w.runtime:statistics().live_objects
    do
        local buckets = with_own_arrays(w, {shapes = {8}, pad_address = assert(w.arena:allocate("u8", 8))})
        same(assert(buckets:launch(w.stream, 8)), 8)
        same(w.written(9), 8)
        same(assert(buckets:launch(w.stream, 7)), 8)
    end
    assert(w.stream:await(30))
    collect()
    assert(w.device:wait(30))
    same(w.runtime:statistics().live_objects, live)
end)

local function used_array(w, stream)
    local array = assert(w.arena:allocate("u32", MOST))
    assert(stream:fill(array, 1))
    return array
end

test("an array that is collected while a bucket's recording begins doesn't spoil it", function()
    local w = work()
    local pause, multiplier = collectgarbage("setpause", 1), collectgarbage("setstepmul", 10000)
    local collected = setmetatable({}, {__mode = "v"})
    local function record(stream, piece)
        assert(stream:launch_kernel(w.kernel, {grid = 1, block = MOST}, w.to, w.from, piece.shape, 3))
        if piece.phase ~= "warm_up" then return end
        collect()
        collectgarbage("stop")
        collected[piece.shape] = used_array(w, stream)
        collectgarbage("restart") -- with the next object that is made, which is one for the recording
    end
    local buckets = assert(w.device:buckets{shapes = {8, 16, 32}, record = record})
    for _, shape in ipairs{8, 16, 32} do
        same(assert(buckets:launch(w.stream, shape)), shape)
        same(collected[shape], nil)
        same(w.written(31), shape)
    end
    collectgarbage("setpause", pause)
    collectgarbage("setstepmul", multiplier)
end)

test("an array that a warm-up has used may be collected in the recording", function()
    local w = work()
    local collected = setmetatable({}, {__mode = "v"})
    local function record(stream, piece)
        if piece.phase == "warm_up" then collected[piece.shape] = used_array(w, stream)
        else collect() end
        assert(stream:launch_kernel(w.kernel, {grid = 1, block = MOST}, w.to, w.from, piece.shape, 3))
    end
    local buckets = assert(w.device:buckets{shapes = {8, 16}, record = record})
    for _, shape in ipairs{8, 16} do
        same(assert(buckets:launch(w.stream, shape)), shape)
        same(collected[shape], nil)
        same(w.written(31), shape)
    end
end)

test("an array that is closed in the recording of one bucket doesn't spoil the next one's", function()
    local w = work()
    local arrays = {}
    for _, shape in ipairs{8, 16, 32} do arrays[shape] = used_array(w, w.stream) end
    local before = w.arena:statistics().in_use
    local function record(stream, piece)
        arrays[piece.shape]:close()
        assert(stream:launch_kernel(w.kernel, {grid = 1, block = MOST}, w.to, w.from, piece.shape, 3))
    end
    local buckets = assert(w.device:buckets{shapes = {8, 16, 32}, record = record, no_warm_up = true})
    assert(buckets:prepare(w.stream))
    for _, shape in ipairs{8, 16, 32} do
        same(assert(buckets:launch(w.stream, shape)), shape)
        same(w.written(31), shape)
    end
    assert(w.device:wait(30))
    same(w.arena:statistics().in_use < before, true)
end)
