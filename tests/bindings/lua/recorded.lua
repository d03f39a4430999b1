-- recorded.lua: what tests of templates and graphs work with.
local h = dofile(os.getenv "GPUORCH_TEST_HARNESS")
local use, same = h.use, h.same

local SOURCE = [[
extern "C" __global__ void affine(float *words, float factor, unsigned n, int offset) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) words[i] = words[i] * factor + offset;
}
struct three { unsigned a, b, c; };
extern "C" __global__ void wide(unsigned long long *out, unsigned long long u, long long i, double d, three t) {
    out[0] = u; out[1] = i; out[2] = (long long)(d * 4); out[3] = t.a * 10000 + t.b * 100 + t.c;
}
]]

-- 64 floats on the device and in pinned memory, and a recording that fills, computes and copies, with everything named.
local function work(options)
    local w = {}
    w.runtime, w.device, w.stream = use(options)
    w.affine = assert(assert(w.device:module_compile(SOURCE)):kernel("affine", "ptr f32 u32 i32"))
    w.arena = assert(w.device:arena_create())
    w.memory, w.host = assert(w.device:memory_allocate("f32", 64)), assert(w.arena:allocate("f32", 64))
    w.template = assert(w.device:template{label = "work"})
    function w.record(factor, more)
        return w.template:record(w.stream, function(recording)
            same(recording, w.template)
            assert(w.stream:fill(w.memory, 1))
            w.fill = assert(recording:last_node(w.stream))
            assert(w.stream:launch_kernel(w.affine, {grid = 2, block = 32, label = "affine"}, w.memory, factor, 64, 5))
            w.node = assert(recording:last_node(w.stream))
            if more then assert(w.stream:launch_kernel(w.affine, {grid = 2, block = 32}, w.memory, 1, 64, 1000)) end
            assert(w.stream:copy_to_host(w.host, w.memory))
            w.copy = assert(recording:last_node(w.stream))
            assert(recording:parameter("factor", w.node, "argument", 2))
            assert(recording:parameter("offset", w.node, "argument", 4))
            assert(recording:parameter("grid", w.node, "grid"))
            assert(recording:parameter("block", w.node, "block"))
            assert(recording:parameter("shared", w.node, "shared_bytes"))
            assert(recording:parameter("on", w.node, "enabled"))
            assert(recording:parameter("begin", w.fill, "value"))
            assert(recording:parameter("memory", w.fill, "destination"))
            assert(recording:parameter("memory", w.node, "argument", 1))
            assert(recording:parameter("memory", w.copy, "source"))
            assert(recording:parameter("bytes", w.copy, "bytes"))
            return w.node
        end)
    end
    function w.run(graph)
        w.host:fill(0)
        assert(graph:launch(w.stream))
        assert(w.stream:await(30))
        return w.host[1] .. " " .. w.host[64]
    end
    return w
end

-- Text of numbers, equal in every Lua.
local function numbers(text) return (text:gsub("%.0", "")) end

return {work = work, numbers = numbers, source = SOURCE}
