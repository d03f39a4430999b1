-- Typed arrays: elements, slices, strings and files; what integers become; memory that runs out.
local h = dofile(os.getenv "GPUORCH_TEST_HARNESS")
local gpuorch, test, use, same, raises, fails = h.gpuorch, h.test, h.use, h.same, h.raises, h.fails

test("elements of every type come back as they went in, and what a type can't hold is refused", function()
    local largest = {u8 = 255, i8 = 127, u16 = 65535, i16 = 32767, u32 = 4294967295, i32 = 2147483647}
    local least = {u8 = 0, i8 = -128, u16 = 0, i16 = -32768, u32 = 0, i32 = -2147483648}
    for type, value in pairs(largest) do
        local array = gpuorch.array(type, 3)
        array[1], array[3] = value, least[type]
        same(array[1], value)
        same(array[2], 0)
        same(array[3], least[type])
        raises("out of range", function() array[1] = value + 1 end)
        raises("out of range", function() array[1] = least[type] - 1 end)
        raises("no integer representation", function() array[1] = 0.5 end)
        raises("an integer expected", function() array[1] = true end)
    end
    local floats = gpuorch.array("f32", 1)
    floats[1] = 0.5
    same(floats[1], 0.5)
    raises("out of range for f32", function() floats[1] = 1e39 end)
    floats[1] = math.huge
    same(floats[1], math.huge)
end)

test("a message of a number out of range is whole, up to the longest numbers", function()
    local _, device = use()
    raises("(out of range: an integer from 0 to 18446744073709551615 expected)", device.memory_allocate, device, "f32", -1)
    raises("out of range: an integer from -9223372036854775808 to 9223372036854775807 expected",
           function() gpuorch.array("i64", 1)[1] = "9223372036854775808" end)
end)

test("64-bit integers are exact, as strings where the interpreter's numbers can't hold them", function()
    local array = gpuorch.array("u64", 1)
    array[1] = "18446744073709551615"
    same(array[1], "18446744073709551615")
    array[1] = "0xffffffffffff"
    same(array[1], 281474976710655)
    array[1] = "9007199254740993"
    same(tostring(array[1]), "9007199254740993")
    raises("more than 64 bits", function() array[1] = "18446744073709551616" end)
    raises("too large to be exact", function() array[1] = 2^60 end)
    raises("a string that is none", function() array[1] = "12 monkeys" end)
    local signed = gpuorch.array("i64", 1)
    signed[1] = "-9223372036854775808"
    same(tostring(signed[1]), "-9223372036854775808")
    raises("out of range", function() signed[1] = "9223372036854775808" end)
    if math.type then
        raises("would be rounded", function() gpuorch.array("f64", 1)[1] = math.maxinteger end)
        raises("would be rounded", function() gpuorch.array("f32", 1)[1] = 16777217 end)
    end
end)

test("elements count from 1 to the length, and nothing else is an element", function()
    local array = gpuorch.array("u16", 4)
    same(#array, 4)
    for _, index in ipairs{0, 5, -1, 1.5, 2^53, math.huge} do
        raises("index", function() return array[index] end)
        raises("index", function() array[index] = 1 end)
    end
    same(array.nonsense, nil)
    raises("elements only", function() array.name = 1 end)
    raises("out of range", gpuorch.array, "u8", 0)
    raises("out of range", gpuorch.array, "f64", "9223372036854775807")
    raises("invalid option", gpuorch.array, "f16", 4)
end)

test("elements are unpacked as values, all or some", function()
    local array = gpuorch.array("u32", 4):fill(7):fill(9, 2, 3)
    same(table.concat({array:unpack()}, " "), "7 9 9 7")
    same(table.concat({array:unpack(3)}, " "), "9 7")
    same(table.concat({array:unpack(2, 2)}, " "), "9")
    same(select("#", array:unpack(3, 2)), 0)
    same(select("#", array:unpack(5)), 0)
    raises("outside", array.unpack, array, 0)
    raises("outside", array.unpack, array, 1, 5)
    raises("too many elements", function() return #{gpuorch.array("u8", 2^21):unpack()} end)
    local exact = gpuorch.array("u64", 2)
    exact[2] = "18446744073709551615"
    same(select(2, exact:unpack()), "18446744073709551615")
    same(table.concat({gpuorch.array("f32", 2):fill(0.5):unpack()}, " "), "0.5 0.5")
    local _, device = use()
    local memory = assert(device:memory_allocate("u32", 4))
    raises("device memory can't be reached", memory.unpack, memory)
    array:close()
    raises("the array is closed", array.unpack, array)
end)

test("slices and views share the memory, and last no longer than it", function()
    local array = gpuorch.array("u32", 8):fill(1):fill(2, 3, 4)
    local slice = array:slice(3, 6)
    same(#slice, 4)
    same(slice[1], 2)
    slice[4] = 7
    same(array[6], 7)
    same(#slice:slice(2), 3)
    same(#array:slice(9), 0)
    raises("outside", array.slice, array, 0, 3)
    raises("outside", array.slice, array, 2, 9)
    raises("outside", array.slice, array, 5, 3)
    local bytes = array:as "u8"
    same(#bytes, 32)
    same(bytes[9], 2)
    raises("no whole number", array:slice(1, 1).as, array:slice(1, 1), "f64")
    raises("aligned", bytes:slice(2, 5).as, bytes:slice(2, 5), "u32")
    array:close()
    raises("the array is closed", function() return slice[1] end)
    raises("the array is closed", function() return bytes:to_string() end)
end)

test("arrays of host and device go to strings and files and back", function()
    local _, device, stream = use()
    local path = os.tmpname()
    local text = ("0123456789abcdef"):rep(1000)
    local host, memory = gpuorch.array("u32", 4000), assert(device:memory_allocate("u32", 4000))
    same(host:from_string(text):to_string(), text)
    same(memory:from_string(stream, text):to_string(stream), text)
    same(host:from_string("XY", 2):to_string():sub(1, 5), "01XY4")
    raises("longer than the array", host.from_string, host, "abc", 15998)
    assert(memory:write_file(stream, path))
    same(host:read_file(path), 4000)
    same(host:to_string(), text)
    local file = assert(io.open(path, "r+b"))
    same(host:fill(0):read_file(file), 4000)
    file:seek("set", 8)
    same(memory:read_file(stream, file), 3998)
    same(memory:to_string(stream):sub(1, 8), "89abcdef")
    file:close()
    raises("closed", host.read_file, host, file)
    fails("GPO_IO_ERROR", host.read_file, host, "/none/file")
    fails("GPO_IO_ERROR", host.write_file, host, "/none/file")
    raises("give a stream first", function() return memory[1] end)
    raises("gpuorch.stream expected", memory.to_string, memory)
    os.remove(path)
end)

test("copies are checked against both ends", function()
    local _, device, stream = use()
    local host, memory = gpuorch.array("u32", 8), assert(device:memory_allocate("u32", 16))
    raises("32 bytes to 64", stream.copy_to_device, stream, memory, host)
    raises("more bytes than an end has", stream.copy_to_device, stream, memory, host, 33)
    raises("a device array expected", stream.copy_to_device, stream, host, host)
    raises("an array of the host's expected", stream.copy_to_host, stream, memory, memory)
    raises("reach beyond the source", stream.copy_rows, stream, {destination = memory, destination_pitch = 8, source = host,
        source_pitch = 8, width = 8, height = 5})
    assert(stream:copy_to_device(memory:slice(1, 8), host))
    assert(stream:copy_to_device(memory, "abcd", 4))
    local address, nowhere = gpuorch.address(memory:pointer()), gpuorch.address "0xffffffffffff0000"
    fails("GPO_INVALID_ARGUMENT", stream.copy_on_device, stream, address, nowhere, "9223372036854775807")
end)

test("a pointer leads LuaJIT's ffi to the memory", function()
    local known, ffi = pcall(require, "ffi")
    if not known then
        print("SKIP " .. h.interpreter .. ": pointers for ffi: this Lua has no ffi")
        return "skip"
    end
    local array = gpuorch.array("f32", 4)
    ffi.cast("float *", array:pointer())[2] = 1.5
    same(array[3], 1.5)
end)

test("bytes held step the collector: garbage arrays don't pile up", function()
    local _, device = use()
    local arena = assert(device:arena_create{max_bytes = 2^30})
    local most = 0
    for _ = 1, 300 do
        local array = assert(arena:allocate("u8", 2^20))
        array[1] = 1
        most = math.max(most, gpuorch.held_bytes())
    end
    same(most < 200 * 2^20, true, "bytes held at most: " .. most)
end)

test("memory that runs out is looked for among the garbage, and behind streams that have yet to pass", function()
    local _, device, stream = use()
    collectgarbage("stop")
    local arena = assert(device:arena_create{max_bytes = 2^20, slab_bytes = 2^20})
    local memory = assert(device:memory_allocate("u8", 2^19))
    for _ = 1, 20 do
        local array = assert(arena:allocate("u8", 2^19))
        assert(stream:copy_to_host(array, memory))
    end
    local kept = {arena:allocate("u8", 2^19), arena:allocate("u8", 2^19)}
    fails("GPO_LIMIT_EXCEEDED", arena.allocate, arena, "u8", 2^19)
    same(#kept, 2)
    collectgarbage("restart")
end)

test("device memory that runs out is looked for among the garbage, where it is allocated plainly and where it is a pool's", function()
    local runtime, device, stream = use()
    local pool = assert(device:pool_create())
    -- Two pieces have room, and a third doesn't.
    local bytes = math.floor(device:memory() * 0.4)
    collectgarbage("stop")
    local function allocations_of(allocate)
        for _ = 1, 6 do assert(allocate()) end
        assert(stream:await())
        h.collect()
        local kept = {allocate(), allocate()}
        same(#kept, 2)
        local before = runtime:metrics().errors.GPO_OUT_OF_MEMORY or 0
        local started = gpuorch.now()
        fails("GPO_OUT_OF_MEMORY", allocate)
        same(runtime:metrics().errors.GPO_OUT_OF_MEMORY - before, 2) -- tried, and tried once more
        same(gpuorch.now() - started < 20, true)
        for i = 1, 2 do kept[i]:close() end
        assert(allocate()):close() -- what was closed a moment ago is there again
    end
    allocations_of(function() return device:memory_allocate("u8", bytes) end)
    h.collect()
    allocations_of(function() return pool:allocate(stream, "u8", bytes) end)
    collectgarbage("restart")
end)

test("a device array is freed behind the streams of another device that use it", function()
    local runtime, device, stream = use()
    if runtime:device_count() < 2 then
        print("SKIP " .. h.interpreter .. ": a device array is freed behind another device's streams: there is one device")
        return "skip"
    end
    local peer = assert(runtime:device_open{ordinal = 1})
    local there = assert(peer:stream_create())
    local timeline = assert(runtime:timeline_create())
    local sevens, copy = assert(device:memory_allocate("u8", 4096)), assert(peer:memory_allocate("u8", 4096))
    assert(stream:fill(sevens, 7))
    assert(stream:wait())
    assert(there:wait_timeline(timeline, 1))
    assert(there:copy_peer(peer, copy, device, sevens))
    sevens:close()
    gpuorch.poll({}, 0.2) -- time to free it too early
    local nines = {}
    for i = 1, 8 do
        nines[i] = assert(device:memory_allocate("u8", 4096))
        assert(stream:fill(nines[i], 9))
    end
    assert(timeline:signal(1))
    assert(there:wait())
    same(copy:to_string(there), ("\7"):rep(4096))
end)

test("an array of a pool goes back though the stream that used it has failed", function()
    local runtime, device, stream = use()
    local pool, timeline = assert(device:pool_create()), assert(runtime:timeline_create())
    local array = assert(pool:allocate(stream, "u8", 4096))
    assert(stream:wait_timeline(timeline, 1))
    assert(timeline:fail("GPO_FAILED", "by the test"))
    same(stream:wait(), nil)
    array:close()
    assert(device:stream_create()):wait()
    same(pool:statistics().in_use, 0)
end)

test("a variable's array lets its module go", function()
    local runtime, device, stream = use()
    local before = runtime:statistics().live_objects
    local module = assert(device:module_compile("__device__ unsigned counter[4];"))
    local counter = assert(module:symbol("counter", "u32"))
    assert(stream:fill(counter, 3))
    assert(stream:wait())
    counter:close()
    module:close()
    same(runtime:statistics().live_objects, before)
end)

test("options are what the table itself has", function()
    local runtime = use()
    local asked = 0
    local options = setmetatable({}, {__index = function() asked = asked + 1 end})
    assert(runtime:executor_create(options))
    same(asked, 0)
end)
