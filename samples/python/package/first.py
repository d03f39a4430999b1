"""A first program with the package gpuorch: a kernel from source, its data on a stream, and an await in place of a wait for
the GPU. The program runs on CUDA where there is a GPU, else on the software GPU.

    python3 first.py
"""
import asyncio
import gpuorch

N, SOURCE = 1 << 20, """extern "C" __global__ void halve(float *x, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= 0.5f; }"""


async def main() -> None:
    with gpuorch.Runtime() as runtime, runtime.device_open() as device, device.stream_create() as stream:
        halve = device.module_compile(SOURCE).kernel("halve", "ptr u32")
        host = device.arena_create().allocate("f32", N)  # pinned: copies run beside other work
        x = device.memory_allocate("f32", N)
        host[:] = range(N)
        stream.copy_to_device(x, host)
        halve[N // 256, 256, stream](x, N)
        stream.copy_to_host(host, x)  # nothing so far has waited for the GPU
        await stream  # the loop goes on meanwhile
        print(f"x[1000] is {host[1000]:g}")


asyncio.run(main())
