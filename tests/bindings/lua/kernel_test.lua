-- Modules, kernels, signatures and launches.
local h = dofile(os.getenv "GPUORCH_TEST_HARNESS")
local gpuorch, test, use, same, raises, fails = h.gpuorch, h.test, h.use, h.same, h.raises, h.fails

local SAXPY = [[
extern "C" __global__ void saxpy(unsigned n, float a, const float *x, float *y) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
extern "C" __global__ void nothing() {}
]]

test("a kernel from CUDA C++ in the script runs, and an operation says when", function()
    local _, device, stream = use()
    local arena = assert(device:arena_create())
    local n = 1000
    local x, y = assert(arena:allocate("f32", n)), assert(arena:allocate("f32", n))
    for i = 1, n do x[i], y[i] = i, 1 end
    local dx, dy = assert(device:memory_allocate("f32", n)), assert(device:memory_allocate("f32", n))
    local saxpy = assert(device:module_compile(SAXPY)):kernel("saxpy", "u32 f32 ptr ptr")
    assert(stream:copy_to_device(dx, x))
    assert(stream:copy_to_device(dy, y))
    assert(stream:launch_kernel(saxpy, {grid = 8, block = 128}, n, 2, dx, dy))
    assert(stream:copy_to_host(y, dy))
    local done = assert(stream:notify())
    same(done:await(), true)
    same(done:entry().status, "GPO_SUCCESS")
    for i = 1, n do same(y[i], 2 * i + 1, "element " .. i) end
end)

test("a kernel takes no array that a GPU can't reach, until it is pinned", function()
    local _, device, stream = use()
    local saxpy = assert(device:module_compile(SAXPY)):kernel("saxpy", "u32 f32 ptr ptr")
    local x, y = gpuorch.array("f32", 4):fill(3), gpuorch.array("f32", 4):fill(1)
    local one = gpuorch.launch{grid = 1, block = 4}
    raises("parameter 3 (ptr) of the kernel: pageable memory", stream.launch_kernel, stream, saxpy, one, 4, 2, x, y)
    raises("argument 3 (ptr) of the stage's kernel: pageable memory", device.pipeline_create, device,
           {stages = {{kernel = saxpy, grid = 1, block = 4, arguments = {4, 2, x, "output"}}}})
    for _, array in ipairs{x, y} do assert(device:host_register(array)) end
    assert(stream:launch_kernel(saxpy, one, 4, 2, x:slice(1, 4), y))
    assert(stream:wait())
    same(y[4], 7)
    for _, array in ipairs{x, y} do assert(device:host_unregister(array)) end
    raises("pageable memory", stream.launch_kernel, stream, saxpy, one, 4, 2, x, y)
end)

local STORE = [[
struct triple { int a; float b; unsigned char c[4]; };
struct all {
    unsigned long long u64; long long i64; double f64; const void *first, *second;
    unsigned u32; int i32; float f32; struct triple bytes;
    unsigned short u16; short i16; unsigned char u8; signed char i8;
};
extern "C" __global__ void store(struct all *out, unsigned char u8, signed char i8, unsigned short u16, short i16, unsigned u32,
                                 int i32, unsigned long long u64, long long i64, float f32, double f64, struct triple bytes,
                                 const void *first, const void *second) {
    struct all given = {u64, i64, f64, first, second, u32, i32, f32, bytes, u16, i16, u8, i8};
    *out = given;
}
extern "C" __global__ void sum(unsigned *out, unsigned n) {
    extern __shared__ unsigned values[];
    unsigned total = 0;
    for (unsigned i = 0; i < n; ++i) values[i] = i;
    for (unsigned i = 0; i < n; ++i) total += values[i];
    out[blockIdx.x] = total;
}
]]

test("every type of a signature arrives as it was given, up to its largest and least value", function()
    local _, device, stream = use()
    local store = assert(device:module_compile(STORE)):kernel("store",
        "ptr u8 i8 u16 i16 u32 i32 u64 i64 f32 f64 bytes:12 ptr ptr")
    local out = assert(device:memory_allocate("u8", 72))
    local one = gpuorch.launch{grid = 1, block = 1}
    local function stored(...)
        assert(stream:launch_kernel(store, one, out, ...))
        local host = gpuorch.array("u8", 72):from_string(out:to_string(stream))
        local at = 0
        local function take(type, count)
            local size = #gpuorch.array(type, 1):as "u8"
            at = at + size * count
            return host:slice(at - size * count + 1, at):as(type):unpack()
        end
        local values = {}
        values.u64, values.i64, values.f64 = take("u64", 1), take("i64", 1), take("f64", 1)
        values.first, values.second = take("u64", 2)
        values.u32, values.i32, values.f32 = take("u32", 1), take("i32", 1), take("f32", 1)
        values.bytes = host:slice(at + 1, at + 12):to_string()
        at = at + 12
        values.u16, values.i16, values.u8, values.i8 = take("u16", 1), take("i16", 1), take("u8", 1), take("i8", 1)
        return values
    end
    local struct = "\1\0\0\0\0\0\128\63abcd"
    local most = stored(255, 127, 65535, 32767, 4294967295, 2147483647, "18446744073709551615", "9223372036854775807", 0.5, 0.1,
                        struct, out:slice(9), nil)
    same(most.u8, 255) same(most.i8, 127) same(most.u16, 65535) same(most.i16, 32767)
    same(most.u32, 4294967295) same(most.i32, 2147483647)
    same(most.u64, "18446744073709551615") same(tostring(most.i64), "9223372036854775807")
    same(most.f32, 0.5) same(most.f64, 0.1) same(most.bytes, struct)
    same(most.first, out:pointer() + 8) same(most.second, 0)
    local least = stored(0, -128, 0, -32768, 0, -2147483648, 0, "-9223372036854775808", -math.huge, -1e308, struct, gpuorch.address(4096),
                         gpuorch.address "0x1000")
    same(least.u8, 0) same(least.i8, -128) same(least.u16, 0) same(least.i16, -32768) same(least.u32, 0)
    same(least.i32, -2147483648) same(least.u64, 0) same(tostring(least.i64), "-9223372036854775808")
    same(least.f32, -math.huge) same(least.f64, -1e308)
    same(least.first, 4096) same(least.second, 4096)
    same(stored(0, 0, 0, 0, 0, 0, "9007199254740993", "-9007199254740993", 0.1, 0, struct, nil, nil).u64 .. "", "9007199254740993")
    same(stored(0, 0, 0, 0, 0, 0, 0, "-9007199254740993", 0.1, 0, struct, nil, nil).i64 .. "", "-9007199254740993")
end)

test("an argument that its parameter can't hold is refused by its number and type, and nothing is launched", function()
    local runtime, device, stream = use()
    local store = assert(device:module_compile(STORE)):kernel("store",
        "ptr u8 i8 u16 i16 u32 i32 u64 i64 f32 f64 bytes:12 ptr ptr")
    local out = assert(device:memory_allocate("u8", 72))
    local good = {out, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, ("x"):rep(12), out, out}
    local types = {"ptr", "u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "f32", "f64", "bytes:12", "ptr", "ptr"}
    local function refused(which, value, part)
        local arguments = {}
        for i = 1, 14 do arguments[i] = good[i] end
        arguments[which] = value
        raises(("parameter %d (%s) of the kernel: "):format(which, types[which]) .. part, function()
            stream:launch_kernel(store, {grid = 1, block = 1}, (table.unpack or unpack)(arguments, 1, 14))
        end)
    end
    local before = runtime:statistics().launches
    for which, past in pairs{[2] = {256, -1}, [3] = {128, -129}, [4] = {65536, -1}, [5] = {32768, -32769}, [6] = {2^32, -1},
                             [7] = {2147483648, -2147483649}, [8] = {-1, "-1"},
                             [9] = {"9223372036854775808", "-9223372036854775809"}} do
        for i = 1, 2 do refused(which, past[i], "out of range") end
        refused(which, 0.5, "the number has no integer representation")
        refused(which, true, "an integer expected")
        refused(which, nil, "an integer expected")
        refused(which, "seven", "an integer expected, got a string that is none")
    end
    refused(8, "18446744073709551616", "the integer has more than 64 bits")
    refused(8, 2^60, "the number is too large to be exact")
    refused(9, -2^60, "the number is too large to be exact")
    refused(10, 1e39, "the number is out of range for f32")
    refused(10, "1", "a number expected")
    refused(11, {}, "a number expected")
    if math.type then
        refused(10, 16777217, "the integer would be rounded")
        refused(11, math.maxinteger, "the integer would be rounded")
    end
    refused(12, ("x"):rep(11), "the string has another size")
    refused(12, 7, "a string of bytes expected")
    refused(13, true, "an array, an address or nil expected")
    refused(13, stream, "an array, an address or nil expected")
    for _, integer in ipairs{0, 4096, -1, "4096", "0x1000"} do
        refused(13, integer, "an integer is no pointer: pass the array, or gpuorch.address(n)")
    end
    local closed = assert(device:memory_allocate("u8", 4))
    closed:close()
    refused(14, closed, "the array is closed")
    same(runtime:statistics().launches, before)
end)

test("a signature that isn't the kernel's is refused, and so are words that are no types", function()
    local _, device, stream = use()
    local module = assert(device:module_compile(STORE))
    for _, word in ipairs{"u33", "float", "bytes", "bytes:", "bytes:0", "bytes:-1", "bytes:99999", "bytes:1x", "PTR"} do
        raises("'" .. word .. "' is no type of a parameter", module.kernel, module, "sum", "ptr " .. word)
    end
    raises("kernel 'sum' has 2 parameters, the signature 3", module.kernel, module, "sum", "ptr u32 u32")
    raises("kernel 'sum' has 2 parameters, the signature 0", module.kernel, module, "sum")
    fails("GPO_NOT_FOUND", module.kernel, module, "product", "ptr u32")
    local sum, one = assert(module:kernel("sum", " ptr,\tu32\n")), {grid = 1, block = 1}
    raises("the kernel has 2 parameters, got 1 arguments", stream.launch_kernel, stream, sum, one, nil)
    raises("the kernel has 2 parameters, got 3 arguments", stream.launch_kernel, stream, sum, one, nil, 1, 2)
    local wrong = assert(module:kernel("sum", "u32 u32"))
    fails("GPO_INVALID_ARGUMENT", stream.launch_kernel, stream, wrong, one, 1, 1)
end)

test("a kernel tells where its parameters are", function()
    local _, device = use()
    local fill = assert(device:module_load_builtin():kernel("gpo_fill_u32", "ptr u32 u64"))
    same(table.concat({fill:parameter(1)}, " ") .. ", " .. table.concat({fill:parameter(2)}, " ") .. ", " ..
         table.concat({fill:parameter(3)}, " "), "0 8, 8 4, 16 8")
    fails("GPO_INVALID_ARGUMENT", fill.parameter, fill, 4)
    raises("parameters count from 1", fill.parameter, fill, 0)
end)

test("a launch has dynamic shared memory, clusters, a priority and a label, as a table or read once", function()
    local runtime, device, stream = use()
    local sum = assert(device:module_compile(STORE)):kernel("sum", "ptr u32")
    local out, path = assert(device:memory_allocate("u32", 4)), os.tmpname()
    local function sums(shape)
        assert(stream:fill(out, 0))
        assert(stream:launch_kernel(sum, shape, out, 1000))
        return table.concat({gpuorch.array("u32", 4):from_string(out:to_string(stream)):unpack()}, " ")
    end
    assert(runtime:trace_start{path = path})
    for label, read in pairs{["as a table"] = function(shape) return shape end, ["read once"] = gpuorch.launch} do
        same(sums(read{grid = 2, block = 1, dynamic_shared_bytes = 4000, label = label}), "499500 499500 0 0")
        same(sums(read{grid = {4}, block = {1, 1, 1}, cluster = 2, dynamic_shared_bytes = 4000, priority = -1}),
             "499500 499500 499500 499500")
        fails("GPO_INVALID_ARGUMENT", stream.launch_kernel, stream, sum, read{grid = 4, block = 1, cluster = 3}, out, 0)
        fails("GPO_INVALID_ARGUMENT", stream.launch_kernel, stream, sum, read{grid = 1, block = 1, dynamic_shared_bytes = 1e9}, out, 0)
        fails("GPO_INVALID_ARGUMENT", stream.launch_kernel, stream, sum, read{grid = 1, block = 2048}, out, 0)
        fails("GPO_INVALID_ARGUMENT", stream.launch_kernel, stream, sum, read{}, out, 0)
        local launch = function(shape) stream:launch_kernel(sum, read(shape), out, 0) end
        raises("option 'grid': the number has no integer representation", launch, {grid = 0.5, block = 1})
        raises("option 'grid': out of range", launch, {grid = -1, block = 1})
        raises("option 'cluster': one to three numbers expected", launch, {grid = 1, block = 1, cluster = {1, 1, 1, 1}})
        raises("there is no option 'blocks'", launch, {grid = 1, blocks = 1})
        raises("option 'label': a string expected", launch, {grid = 1, block = 1, label = {}})
    end
    raises("table expected", stream.launch_kernel, stream, sum, nil, out, 0)
    raises("table expected", gpuorch.launch)
    assert(runtime:trace_stop())
    local trace = assert(io.open(path, "rb")):read "*a"
    for _, label in ipairs{"as a table", "read once"} do same(trace:find(label, 1, true) ~= nil, true, label) end
    os.remove(path)
end)
