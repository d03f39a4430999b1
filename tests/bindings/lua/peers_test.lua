-- Groups of devices: collectives, launches on all ranks, symmetric memory, and groups of several processes.
local h = dofile(os.getenv "GPUORCH_TEST_HARNESS")
local gpuorch, test, use, same, raises, fails, collect = h.gpuorch, h.test, h.use, h.same, h.raises, h.fails, h.collect
local process = require "process"

-- The exit code of a child that runs f, or minus the number of the signal that killed the child.
local function fork(f)
    local child = process.fork()
    if child ~= 0 then return child end
    process.alarm(60)
    local good, problem = xpcall(f, debug.traceback)
    if not good then io.stderr:write(problem, "\n") end
    process.exit(good and 0 or 1)
end

-- All ranks of a group that two processes have joined by a file, in each: an exchange, and what a rank that leaves does.
local function with_two_processes(path, rank)
    local runtime, device, stream = use{device = "soft"}
    local peers = assert(device:join{by = "file", path = path, rank = rank, ranks = 2, engine = "host", label = "pair",
                                     timeout_ns = 30 * 1000000000})
    local info = peers:info()
    same(info.ranks .. " " .. info.rank .. " " .. info.local_ranks, "2 " .. rank .. " 1")
    local words = assert(device:memory_allocate("i32", 100))
    assert(stream:fill(words, 10 + rank))
    assert(peers:all_reduce{{stream = stream, send = words, receive = words}, reduction = "sum"})
    assert(stream:wait(30))
    same(words:to_string(stream), gpuorch.pack("i32", 21):rep(100))
    local there = assert(device:memory_allocate("i32", 1))
    assert(stream:fill(words, 100 + rank))
    assert(peers:send_receive{{stream = stream, send = words:slice(1, 1), send_to = 1 - rank, receive = there, receive_from = 1 - rank}})
    assert(stream:wait(30))
    same(gpuorch.unpack("i32", there:to_string(stream)), 101 - rank)
    fails("GPO_NOT_SUPPORTED", peers.link, peers, rank, 1 - rank)
    -- Rank 1 imports rank 0's exports, by a file.
    local function meet()
        assert(peers:barrier{stream})
        assert(stream:wait(30))
    end
    local event
    if rank == 0 then
        event = assert(device:event_create{interprocess = true})
        local file = assert(io.open(path .. ".exported", "wb"))
        file:write(assert(device:memory_export(words)), assert(event:export()))
        file:close()
    end
    meet()
    if rank == 1 then
        local file = assert(io.open(path .. ".exported", "rb"))
        local exported = file:read "*a"
        file:close()
        os.remove(path .. ".exported")
        local theirs = assert(device:memory_import("i32", exported:sub(1, 256), "theirs"))
        event = assert(device:event_import(exported:sub(257), "step"))
        same(#theirs, 100)
        assert(stream:fill(theirs, 77))
        assert(event:record(stream))
    end
    meet()
    assert(event:wait(30))
    if rank == 0 then same(words:to_string(stream), gpuorch.pack("i32", 77):rep(100)) end
    -- And symmetric memory: each finds what the other has written.
    local pages = assert(peers:allocate(400))
    assert(stream:fill(pages:array(1 - rank, "i32"), 30 + rank))
    meet()
    same(pages:array(rank, "i32"):to_string(stream), gpuorch.pack("i32", 31 - rank):rep(100))
    assert(pages:device_handle(rank))
    fails("GPO_INVALID_ARGUMENT", pages.device_handle, pages, 1 - rank)
    meet()
    if rank == 1 then return runtime:close() end
    -- The other leaves, whose part is missing.
    local failed, message, name = peers:barrier{stream}
    if failed then failed, message, name = stream:wait(30) end
    same(name, "GPO_PEER_LOST", message)
    same(failed, nil)
    same(tostring(message):find("rank 1", 1, true) ~= nil, true, message)
    fails("GPO_PEER_LOST", peers.barrier, peers, {assert(device:stream_create())})
    same(runtime:metrics().errors.GPO_PEER_LOST ~= nil, true)
end

test("two processes join by a file, exchange, and the one learns that the other has left", function() -- the first test:
    local path = os.tmpname()                                                           -- the child has the library to itself
    os.remove(path)
    local child = fork(function() with_two_processes(path, 1) end)
    local good, problem = pcall(with_two_processes, path, 0)
    same(process.wait(child), 0)
    if not good then error(problem, 0) end
end)

-- The group of two devices, with a stream and 1000 words for each rank: rank r's have its number plus 1. Nil: there is one.
local function pair(options)
    local w = {streams = {}, words = {}, devices = {}}
    w.runtime = use()
    if w.runtime:device_count() < 2 then
        print("SKIP " .. h.interpreter .. ": groups of two devices: there is one device")
        return nil
    end
    local list = {label = "pair"}
    for key, value in pairs(options or {}) do list[key] = value end
    for i = 1, 2 do
        w.devices[i] = assert(w.runtime:device_open{ordinal = i - 1})
        list[i] = w.devices[i]
        w.streams[i] = assert(w.devices[i]:stream_create())
        w.words[i] = assert(w.devices[i]:memory_allocate("u32", 1000))
        assert(w.streams[i]:fill(w.words[i], i))
    end
    w.peers = assert(w.runtime:peers(list))
    function w.text(i, array) return (array or w.words[i]):to_string(w.streams[i]) end
    function w.array(i, count, value)
        local array = assert(w.devices[i]:memory_allocate("u32", count))
        assert(w.streams[i]:fill(array, value or 0))
        return array
    end
    return w
end

local function u32(...) -- value, how often, ...
    local text = ""
    for i = 1, select("#", ...), 2 do text = text .. gpuorch.pack("u32", (select(i, ...))):rep((select(i + 1, ...))) end
    return text
end

test("an all-reduce in place leaves the exact sum on all devices", function()
    local w = pair()
    if not w then return "skip" end
    local floats = {}
    for i = 1, 2 do
        floats[i] = assert(w.devices[i]:memory_allocate("f32", 4096))
        assert(w.streams[i]:fill(floats[i], i * 0.25))
    end
    assert(w.peers:all_reduce{type = "f32", reduction = "sum", count = 4095, label = "sum",
                              {stream = w.streams[1], send = floats[1], receive = floats[1]},
                              {stream = w.streams[2], send = floats[2], receive = floats[2]}})
    for i = 1, 2 do -- one element is beyond the count
        same(floats[i]:to_string(w.streams[i]), gpuorch.pack("f32", 0.75):rep(4095) .. gpuorch.pack("f32", i * 0.25))
    end
    -- By addresses, with all that has to be said of them.
    local one, two = gpuorch.address(floats[1]:pointer()), gpuorch.address(floats[2]:pointer())
    assert(w.peers:all_reduce{type = "f32", reduction = "maximum", count = 4096,
                              {stream = w.streams[1], send = one, receive = one},
                              {stream = w.streams[2], send = two, receive = two}})
    raises("number 1: field 'send': an integer is no pointer: pass the array, or gpuorch.address(n)", w.peers.all_reduce, w.peers,
           {type = "f32", reduction = "maximum", count = 4096, {stream = w.streams[1], send = floats[1]:pointer()}})
    for i = 1, 2 do same(floats[i]:to_string(w.streams[i]), gpuorch.pack("f32", 0.75):rep(4095) .. gpuorch.pack("f32", 0.5)) end
    local info = w.peers:info()
    same(info.ranks, 2)
    same(info.direct, true)
    same(info.collectives, 2)
    same(info.rank .. " " .. info.local_ranks, "0 2")
    same(w.peers:label(), "pair")
    same(tostring(w.peers), 'gpuorch.peers "pair"')
end)

test("each collective moves what its kind says; type and count are those of the arrays", function()
    local w = pair()
    if not w then return "skip" end
    local s, x = w.streams, w.words
    local function both(method, out, more)
        local call = {{stream = s[1], send = x[1], receive = out[1]}, {stream = s[2], send = x[2], receive = out[2]}}
        for key, value in pairs(more or {}) do call[key] = value end
        assert(w.peers[method](w.peers, call))
    end
    local out = {w.array(1, 1000), w.array(2, 1000)}
    both("all_reduce", out, {reduction = "product"})
    for i = 1, 2 do same(w.text(i, out[i]), u32(2, 1000), "all_reduce") end

    out = {nil, w.array(2, 1000)}
    both("reduce", out, {reduction = "minimum", root = 1})
    same(w.text(2, out[2]), u32(1, 1000), "reduce")

    out = {w.array(1, 500), w.array(2, 500)}
    both("reduce_scatter", out, {reduction = "sum"})
    for i = 1, 2 do same(w.text(i, out[i]), u32(3, 500), "reduce_scatter") end

    out = {w.array(1, 2000), w.array(2, 2000)}
    both("all_gather", out)
    for i = 1, 2 do same(w.text(i, out[i]), u32(1, 1000, 2, 1000), "all_gather") end

    out = {w.array(1, 1000, 5), w.array(2, 1000, 6)} -- in place, by slices
    assert(w.peers:all_gather{{stream = s[1], send = out[1]:slice(1, 500), receive = out[1]},
                              {stream = s[2], send = out[2]:slice(501), receive = out[2]}})
    for i = 1, 2 do same(w.text(i, out[i]), u32(5, 500, 6, 500), "all_gather in place") end
    assert(w.peers:reduce_scatter{reduction = "sum", {stream = s[1], send = out[1], receive = out[1]:slice(1, 500)},
                                  {stream = s[2], send = out[2], receive = out[2]:slice(501)}})
    same(w.text(1, out[1]), u32(10, 500, 6, 500), "reduce_scatter in place")
    same(w.text(2, out[2]), u32(5, 500, 12, 500), "reduce_scatter in place")

    out = {w.array(1, 1000), w.array(2, 1000)}
    both("all_to_all", out)
    for i = 1, 2 do same(w.text(i, out[i]), u32(1, 500, 2, 500), "all_to_all") end

    out = {w.array(1, 1000), w.array(2, 1000)}
    assert(w.peers:broadcast{root = 1, {stream = s[1], receive = out[1]}, {stream = s[2], send = x[2], receive = out[2]}})
    for i = 1, 2 do same(w.text(i, out[i]), u32(2, 1000), "broadcast") end

    out = {w.array(1, 1000, 9), w.array(2, 1000, 9)}
    assert(w.peers:send_receive{{stream = s[1], send = x[1], send_to = 1}, {stream = s[2], receive = out[2], receive_from = 0}})
    same(w.text(1, out[1]), u32(9, 1000), "send_receive")
    same(w.text(2, out[2]), u32(1, 1000), "send_receive")

    assert(w.peers:barrier{s[1], {stream = s[2]}})
    for i = 1, 2 do assert(s[i]:await(10)) end
    -- Nothing is sent, and nothing is missing.
    assert(w.peers:all_reduce{type = "f64", reduction = "average", count = 0, s[1], s[2]})
    same(w.peers:info().collectives, 11)
end)

test("types that arrays don't have are named", function()
    local w = pair()
    if not w then return "skip" end
    local halves = {}
    for i = 1, 2 do -- 1.0 and 2.0
        halves[i] = assert(w.devices[i]:memory_allocate("u16", 64))
        assert(w.streams[i]:fill(halves[i], i == 1 and 0x3c00 or 0x4000))
    end
    local call = {reduction = "sum", {stream = w.streams[1], send = halves[1], receive = halves[1]},
                  {stream = w.streams[2], send = halves[2], receive = halves[2]}}
    raises("option 'type' expected, since there is none for arrays of u16", w.peers.all_reduce, w.peers, call)
    call.type = "f16"
    assert(w.peers:all_reduce(call))
    for i = 1, 2 do same(halves[i]:to_string(w.streams[i]), gpuorch.pack("u16", 0x4200):rep(64)) end
end)

test("what is wrong with a collective is raised, or returned as the library says it", function()
    local w = pair()
    if not w then return "skip" end
    local s, x, peers = w.streams, w.words, w.peers
    local function all_reduce(more, one, other)
        local call = {one or {stream = s[1], send = x[1], receive = x[1]}, other or {stream = s[2], send = x[2], receive = x[2]}}
        for key, value in pairs(more) do call[key] = value end
        return peers:all_reduce(call)
    end
    local function refused(part, name, ...)
        local value, message, got = all_reduce(...)
        same(value, nil)
        same(got, name, message)
        same(message:find(part, 1, true) ~= nil, true, message)
    end
    refused("reduction", "GPO_INVALID_ARGUMENT", {})
    refused("root", "GPO_INVALID_ARGUMENT", {reduction = "sum", root = 1})
    refused("rank 1", "GPO_INVALID_ARGUMENT", {reduction = "sum"}, nil, {stream = s[1], send = x[2], receive = x[2]})
    refused("rank 1", "GPO_INVALID_ARGUMENT", {reduction = "sum", count = 900}, nil, {stream = s[2], send = x[2]:slice(1, 900), receive = x[2]:slice(101)})
    fails("GPO_INVALID_ARGUMENT", peers.all_reduce, peers, {reduction = "sum", {stream = s[1], send = x[1], receive = x[1]}})
    fails("GPO_INVALID_ARGUMENT", peers.broadcast, peers, {root = 2, type = "u8", count = 0, s[1], s[2]})
    raises("option 'reduction': one of these expected: none, sum, product, minimum, maximum, average", all_reduce, {reduction = "mean"})
    raises("option 'type': one of these expected: none, i8, u8,", all_reduce, {type = "float"})
    raises("there is no option 'kind'; there are: type, reduction, root, count, label", all_reduce, {kind = 1})
    raises("number 2: field 'send': 4000 bytes expected, and the array has 3996", all_reduce, {reduction = "sum"}, nil,
           {stream = s[2], send = x[2]:slice(2), receive = x[2]})
    raises("number 2: field 'receive': a device array expected, got one of the host's", all_reduce, {reduction = "sum"}, nil,
           {stream = s[2], send = x[2], receive = gpuorch.array("u32", 1000)})
    raises("number 1: field 'send': a device array or an address expected", all_reduce, {reduction = "sum"}, {stream = s[1], send = "x"})
    raises("number 1: field 'stream': a stream that is open expected", all_reduce, {reduction = "sum"}, {send = x[1]})
    raises("number 2: a stream, or a table with one, expected", all_reduce, {reduction = "sum"}, nil, 7)
    raises("there is no field 'sent'", all_reduce, {reduction = "sum"}, {stream = s[1], sent = x[1]})
    raises("number 1: field 'send_to': a rank expected", peers.send_receive, peers, {{stream = s[1], send = x[1], send_to = "next"}, s[2]})
    raises("table expected", peers.barrier, peers, s[1])
    local closed = assert(w.devices[2]:memory_allocate("u32", 1000))
    closed:close()
    raises("number 2: field 'send': the array is closed", all_reduce, {reduction = "sum"}, nil, {stream = s[2], send = closed, receive = x[2]})
    same(peers:info().collectives, 0)
    -- More elements than addresses have bytes.
    fails("GPO_INVALID_ARGUMENT", all_reduce, {reduction = "sum", count = "18446744073709551615"})
    for i = 1, 2 do
        assert(s[i]:wait(10))
        same(w.text(i), u32(i, 1000))
    end
end)

test("what is wrong with a group is raised, or returned as the library says it", function()
    local runtime, device = use()
    local other, theirs = use()
    fails("GPO_INVALID_ARGUMENT", runtime.peers, runtime, {})
    fails("GPO_INVALID_ARGUMENT", runtime.peers, runtime, {device, device})
    raises("number 1: a device that is open expected", runtime.peers, runtime, {other})
    raises("number 2: the device is of another runtime", runtime.peers, runtime, {device, theirs})
    raises("there is no option 'devices'; there are: engine, label", runtime.peers, runtime, {devices = {device}})
    raises("option 'engine': one of these expected: auto, direct, nccl, host", runtime.peers, runtime, {device, engine = "mpi"})
    fails("GPO_INVALID_ARGUMENT", runtime.peers, runtime, {device, engine = "host"})
    local peers = assert(runtime:peers{device, engine = "direct"})
    fails("GPO_NOT_SUPPORTED", peers.abort, peers)
    fails("GPO_INVALID_ARGUMENT", peers.link, peers, 0, 1)
    fails("GPO_INVALID_ARGUMENT", peers.split, peers, {1})
    fails("GPO_INVALID_ARGUMENT", peers.split, peers, {0, 0})
    raises("number 1: a rank expected", peers.split, peers, {"first"})
    same(peers:link(0, 0).accessible, true)
    peers:close()
    raises("the peers is closed", peers.info, peers)
end)

test("a part of a group is a group of its own", function()
    local w = pair()
    if not w then return "skip" end
    local part = assert(w.peers:split{1, 0, label = "turned"})
    w.peers:close()
    local there = {w.array(1, 2), w.array(2, 2)}
    assert(part:all_gather{count = 1, {stream = w.streams[2], send = w.words[2], receive = there[2]},
                           {stream = w.streams[1], send = w.words[1], receive = there[1]}})
    for i = 1, 2 do same(w.text(i, there[i]), u32(2, 1, 1, 1)) end
    local link = part:link(0, 1)
    same(link.accessible, true)
    same(part:label(), "turned")
    same(assert(part:split{1}):info().ranks, 1)
end)

test("a held collective is held on all streams, and its arrays may be closed", function()
    local w = pair()
    if not w then return "skip" end
    local timeline = assert(w.runtime:timeline_create())
    local sum = {w.array(1, 1000), w.array(2, 1000)}
    assert(w.streams[2]:wait_timeline(timeline, 1))
    assert(w.peers:all_reduce{reduction = "sum", {stream = w.streams[1], send = w.words[1], receive = sum[1]},
                              {stream = w.streams[2], send = w.words[2], receive = sum[2]}})
    for i = 1, 2 do w.words[i]:close() end
    local others = {}
    for i = 1, 16 do
        others[i] = assert(w.devices[i % 2 + 1]:memory_allocate("u32", 1000))
        assert(assert(w.devices[i % 2 + 1]:stream_create()):fill(others[i], 77))
    end
    same(w.streams[1]:wait(0.02), false)
    assert(timeline:signal(1))
    for i = 1, 2 do same(w.text(i, sum[i]), u32(3, 1000)) end
end)

test("a collective is recorded, and replayed with what its arrays have then", function()
    local w = pair()
    if not w then return "skip" end
    local s = w.streams
    local template = assert(w.devices[1]:template())
    local event, back = assert(w.devices[1]:event_create()), assert(w.devices[2]:event_create())
    assert(s[1]:wait(10) and s[2]:wait(10))
    local recorded, message = template:record(s[1], function()
        assert(event:record(s[1]))
        assert(s[2]:wait_event(event))
        assert(w.peers:all_reduce{reduction = "sum", {stream = s[1], send = w.words[1], receive = w.words[1]},
                                  {stream = s[2], send = w.words[2], receive = w.words[2]}})
        assert(back:record(s[2]))
        assert(s[1]:wait_event(back))
        return true
    end)
    same(recorded, true, message)
    local graph = assert(template:graph())
    collect()
    for _ = 1, 3 do assert(graph:launch(s[1])) end
    assert(s[1]:wait(10))
    for i = 1, 2 do same(w.text(i), u32(12, 1000)) end
end)

test("a launch on all ranks is recorded, and its kernels have parameters", function()
    local w = pair()
    if not w then return "skip" end
    local s = w.streams
    local template = assert(w.devices[1]:template())
    local event, back = assert(w.devices[1]:event_create()), assert(w.devices[2]:event_create())
    local kernels, own = {}, nil
    for i = 1, 2 do
        kernels[i] = assert(assert(w.devices[i]:module_compile(
            'extern "C" __global__ void add(unsigned *words, unsigned by) { words[threadIdx.x] += by; }')):kernel("add", "ptr u32"))
        assert(s[i]:wait(10))
    end
    assert(template:record(s[1], function()
        assert(event:record(s[1]))
        assert(s[2]:wait_event(event))
        local launches = {}
        for i = 1, 2 do
            launches[i] = {stream = s[i], kernel = kernels[i], launch = {grid = 1, block = 10}, arguments = {w.words[i], 10 * i}}
        end
        assert(w.peers:launch(launches))
        own = assert(template:last_node(s[1]))
        assert(template:parameter("by 1", own, "argument", 2))
        assert(back:record(s[2]))
        assert(s[1]:wait_event(back))
    end))
    -- last_node takes no stream of another device than the template's: of two nodes, rank 1's is the other one.
    assert(template:parameter("by 2", 3 - own, "argument", 2, "u32"))
    local graph = assert(template:graph())
    kernels = nil
    collect()
    assert(graph:launch(s[1]))
    assert(graph:set{["by 2"] = 300})
    assert(graph:launch(s[1]))
    assert(s[1]:wait(10))
    same(w.text(1), u32(21, 10, 1, 990))
    same(w.text(2), u32(322, 10, 2, 990))
end)

local MEET = [==[
#include <gpuorch/device/peer.cuh>
extern "C" __global__ void meet(gpo::symmetric memory, unsigned value, unsigned *wrong) {
    const int status = [&] {
        for (unsigned rank = threadIdx.x; rank < memory.ranks; rank += blockDim.x)
            *gpo::pointer<unsigned>(memory, rank, 256 + memory.rank * 4ull) = value;
        return gpo::barrier(memory, gpo::nanoseconds(20000000000ull));
    }();
    if (threadIdx.x == 0) *wrong = (unsigned)status;
}]==]

test("kernels of all ranks meet in symmetric memory", function()
    local w = pair()
    if not w then return "skip" end
    local memory = assert(w.peers:allocate(4096, {alignment = 4096, label = "met"}))
    same(tostring(memory), 'gpuorch.symmetric "met"')
    local info = memory:info()
    same(info.ranks .. " " .. info.bytes .. " " .. info.alignment, "2 4096 4096")
    same(info.device_bytes >= 4096 and info.barrier_blocks > 0, true)
    same(type(info.native_atomics), "boolean")
    local function launch(value, shape)
        local launches = {}
        for i = 1, 2 do
            w.kernels = w.kernels or {}
            w.kernels[i] = w.kernels[i] or assert(assert(w.devices[i]:module_compile(MEET)):kernel("meet", "bytes:320 u32 ptr"))
            launches[i] = {stream = w.streams[i], kernel = w.kernels[i], launch = shape or {grid = 1, block = 32, label = "meet"},
                           arguments = {memory:device_handle(i - 1), value + i, w.words[i]}}
        end
        return w.peers:launch(launches)
    end
    for _, shape in ipairs{{grid = 1, block = 32}, gpuorch.launch{grid = 1, block = 64, label = "reused"}} do
        assert(launch(100, shape))
        for i = 1, 2 do
            local array = assert(memory:array(i - 1, "u32", 256, 3))
            same(gpuorch.address(array:pointer()), memory:address(i - 1) + 256)
            same(w.text(i, array), u32(101, 1, 102, 1, 0, 1))
            same(w.text(i), u32(0, 1, i, 999))
            assert(w.streams[i]:fill(array, 0))
        end
    end
    for i = 1, 2 do
        assert(memory:reset(i - 1, w.streams[i]))
        assert(w.streams[i]:wait(10))
    end
    assert(launch(200))
    memory:close() -- with a launch in flight
    for i = 1, 2 do assert(w.streams[i]:await(10)) end
    for i = 1, 2 do same(w.text(i), u32(0, 1, i, 999)) end
    raises("the symmetric is closed", launch, 1)
    -- What is wrong.
    local stream, kernel = w.streams[1], w.kernels[1]
    local shape = {grid = 1, block = 32}
    local function peers_launch(...) return w.peers:launch{...} end
    raises("number 1: a table expected", peers_launch, stream)
    raises("there is no field 'grid'; there are: stream, kernel, launch, arguments", peers_launch, {grid = 1})
    raises("number 1: field 'launch': a launch, or a table of its options, expected", peers_launch, {stream = stream, kernel = kernel})
    raises("number 1: field 'kernel': a kernel that is open expected", peers_launch, {stream = stream, launch = shape})
    raises("number 1: field 'stream': a stream that is open expected", peers_launch, {kernel = kernel, launch = shape})
    raises("number 1: the kernel has 3 parameters, got 0 arguments", peers_launch, {stream = stream, kernel = kernel, launch = shape})
    raises("parameter 1 (bytes:320) of the kernel: the string has another size than the parameter", peers_launch,
           {stream = stream, kernel = kernel, launch = shape, arguments = {"", 1, 0}})
    raises("table expected", w.peers.launch, w.peers, stream)
    local nothing = {}
    for i = 1, 2 do nothing[i] = assert(assert(w.devices[i]:module_compile('extern "C" __global__ void nothing() {}')):kernel("nothing")) end
    fails("GPO_INVALID_ARGUMENT", peers_launch, {stream = stream, kernel = nothing[1], launch = shape})
    fails("GPO_INVALID_ARGUMENT", peers_launch, {stream = stream, kernel = nothing[1], launch = shape},
          {stream = w.streams[2], kernel = nothing[1], launch = shape})
    local many = {grid = 1000000, block = 1024}
    local refused, message, name = peers_launch({stream = stream, kernel = nothing[1], launch = shape},
                                                {stream = w.streams[2], kernel = nothing[2], launch = many})
    same(refused, nil)
    same(name, "GPO_LIMIT_EXCEEDED")
    same(message:find("rank 1", 1, true) ~= nil, true, message)
    assert(peers_launch({stream = stream, kernel = nothing[1], launch = shape}, {stream = w.streams[2], kernel = nothing[2], launch = shape}))
end)

test("symmetric memory is checked, and goes with the collector", function()
    local runtime, device, stream = use()
    local peers = assert(runtime:peers{device})
    collect()
    local before, held = runtime:statistics().live_objects, gpuorch.held_bytes()
    local memory = assert(peers:allocate(1000))
    same(gpuorch.held_bytes() - held >= 1000, true)
    same(#memory:device_handle(0), 320)
    fails("GPO_INVALID_ARGUMENT", memory.address, memory, 1)
    fails("GPO_INVALID_ARGUMENT", memory.device_handle, memory, 1)
    fails("GPO_INVALID_ARGUMENT", memory.array, memory, 1, "u8")
    fails("GPO_INVALID_ARGUMENT", memory.reset, memory, 1, stream)
    fails("GPO_INVALID_ARGUMENT", peers.allocate, peers, 0)
    fails("GPO_INVALID_ARGUMENT", peers.allocate, peers, 8, {alignment = 3})
    fails("GPO_OUT_OF_MEMORY", peers.allocate, peers, 2^47)
    fails("GPO_NOT_SUPPORTED", peers.allocate, peers, 8, {engine = "nvshmem", remote = true})
    raises("option 'engine': one of these expected: auto, direct, nccl, host, nvshmem", peers.allocate, peers, 8, {engine = "mpi"})
    raises("there is no option 'size'; there are: alignment, label, engine, remote", peers.allocate, peers, 8, {size = 3})
    assert(peers:allocate(8, {engine = "direct", remote = true})):close()
    raises("the offset isn't aligned for these elements", memory.array, memory, 0, "u32", 2)
    raises("the offset is outside the memory", memory.array, memory, 0, "u8", 1000)
    raises("the elements reach beyond the memory, or there are none", memory.array, memory, 0, "u64", 0, 126)
    raises("the elements reach beyond the memory, or there are none", memory.array, memory, 0, "u64", 0, 0)
    same(#memory:array(0, "u64"), 125)
    same(#memory:array(0, "u64", 8), 124)
    local array = memory:array(0, "u8", 10, 3)
    assert(array:from_string(stream, "abc"))
    same(memory:array(0, "u8", 9, 5):to_string(stream), "\0abc\0")
    array:close() -- frees nothing
    same(memory:array(0, "u8", 9, 5):to_string(stream), "\0abc\0")
    array = memory:array(0, "u8")
    memory = nil
    collect()
    same(#array:to_string(stream), 1000) -- the array keeps the memory
    array = nil
    collect()
    same(runtime:statistics().live_objects, before)
    same(gpuorch.held_bytes(), held)
    memory = assert(peers:allocate(1000))
    array = memory:array(0, "u8")
    memory:close()
    raises("the array is closed", array.bytes, array)
    peers:close()
end)

test("groups go with the collector, and a group keeps its devices and its runtime", function()
    local function made()
        local runtime = assert(gpuorch.runtime_create{device = os.getenv "GPUORCH_DEVICE"})
        return runtime:peers{assert(runtime:device_open{label = "only"})}
    end
    local peers = assert(made())
    collect()
    same(peers:info().ranks, 1)
    same(#assert(assert(peers:allocate(64)):device_handle(0)), 320)
    peers = nil
    collect()
    local runtime, device = use()
    collect()
    local before = runtime:statistics().live_objects
    for _ = 1, 20 do assert(assert(runtime:peers{device}):split{0}) end
    collect()
    same(runtime:statistics().live_objects, before)
end)

test("a group of one by id", function()
    local runtime, device, stream = use{device = "soft"}
    local id = assert(gpuorch.peers_make_id())
    same(#id, 128)
    same(id ~= gpuorch.peers_make_id(), true)
    local before = runtime:statistics().live_objects
    local peers = assert(device:join{by = "id", id = id, rank = 0, ranks = 1, engine = "host", timeout_ns = -1, label = "alone", check_order = true})
    local words = assert(device:memory_allocate("f64", 10))
    words:from_string(stream, gpuorch.pack("f64", 1.5):rep(10))
    assert(peers:all_reduce{{stream = stream, send = words, receive = words}, reduction = "average"})
    assert(stream:await(10))
    same(words:to_string(stream), gpuorch.pack("f64", 1.5):rep(10))
    same(peers:info().bytes >= 0, true)
    same(assert(peers:split{0}):info().ranks, 1)
    same(peers:abort(), true)
    local fallen, message, name = peers:barrier{stream}
    if fallen then fallen, message, name = stream:wait(10) end
    same(fallen, nil)
    same(name, "GPO_CANCELLED", message)
    words:close()
    peers:close()
    collect()
    same(runtime:statistics().live_objects, before)
end)

test("what is wrong with joining is raised, or returned as the library says it", function()
    local _, device = use{device = "soft"}
    local id = assert(gpuorch.peers_make_id())
    local function join(options) return device:join(options) end
    fails("GPO_INVALID_ARGUMENT", join, {})
    fails("GPO_INVALID_ARGUMENT", join, {by = "id", rank = 0, ranks = 1})
    fails("GPO_INVALID_ARGUMENT", join, {by = "id", id = ("x"):rep(128), rank = 0, ranks = 1})
    fails("GPO_INVALID_ARGUMENT", join, {by = "id", id = id, rank = 1, ranks = 1})
    fails("GPO_INVALID_ARGUMENT", join, {by = "id", id = id, rank = 0, ranks = 1, engine = "direct"})
    fails("GPO_INVALID_ARGUMENT", join, {by = "file", rank = 0, ranks = 1})
    same(join{by = "file", path = "/none/there", rank = 0, ranks = 1}, nil)
    fails("GPO_INVALID_ARGUMENT", join, {by = "file", path = os.getenv "GPUORCH_TEST_FILES" .. "/peers_test.lua", rank = 0, ranks = 1})
    local missing, message, name = join{by = "id", id = id, rank = 0, ranks = 3, engine = "host", timeout_ns = 50000000}
    same(missing, nil)
    same(name, "GPO_PEER_LOST")
    same(message:find("1", 1, true) ~= nil and message:find("2", 1, true) ~= nil, true, message)
    raises("option 'id': a string of peers_make_id expected", join, {by = "id", id = "short"})
    raises("option 'by': one of these expected: none, mpi, file, id", join, {by = "name"})
    raises("option 'timeout_ns':", join, {by = "id", timeout_ns = 1.5})
    raises("option 'communicator': an MPI_Comm as an integer expected", join, {by = "mpi", communicator = {}})
    raises("table expected", join)
end)
