-- A first program: a kernel from source, its data on a stream, and an await in place of a wait for the GPU. The program
-- runs on CUDA where there is a GPU, else on the software GPU.
--     lua first.lua
local gpuorch, loop = require "gpuorch", require "gpuorch.loop"
local N, SOURCE = 2^20, [==[extern "C" __global__ void halve(float *x, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= 0.5f; }]==]

loop.spawn(function()
    local runtime = assert(gpuorch.runtime_create())
    local device = assert(runtime:device_open())
    local stream = assert(device:stream_create())
    local halve = assert(assert(device:module_compile(SOURCE)):kernel("halve", "ptr u32"))
    local arena = assert(device:arena_create())
    local host = assert(arena:allocate("f32", N)) -- pinned: copies run beside other work
    local x = assert(device:memory_allocate("f32", N))
    for i = 1, N do host[i] = i - 1 end
    assert(stream:copy_to_device(x, host))
    assert(stream:launch_kernel(halve, {grid = N / 256, block = 256}, x, N))
    assert(stream:copy_to_host(host, x)) -- nothing so far has waited for the GPU
    assert(stream:await()) -- other coroutines run meanwhile
    print(("x[1000] is %g"):format(host[1001])) -- elements count from 1
end)
loop.run()
