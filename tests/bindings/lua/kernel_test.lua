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
