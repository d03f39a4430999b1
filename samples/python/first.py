"""A first program: a kernel from source, its data on a stream, and a completion in place of a wait for the GPU.

    python3 first.py
"""
import asyncio
import ctypes
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "bindings/python/ctypes"))  # unless it is installed
import gpuorch

N = 1 << 20
SOURCE = """
extern "C" __global__ void halve(float *x, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= 0.5f;
}
"""


async def main():
    gpo = gpuorch.Library()
    with gpo.runtime_create() as runtime, gpo.device_open(runtime) as device, gpo.stream_create(device) as stream, \
            gpo.arena_create(device) as arena, gpuorch.Completions(gpo, runtime) as done:
        with gpo.module_compile(device, gpo.CompileOptions(source=SOURCE)) as module:
            halve = gpo.module_get_kernel(module, "halve")
        memory = gpo.arena_allocate(arena, 4 * N, gpo.AUTO)  # pinned: copies run beside other work
        x = gpo.memory_allocate(device, 4 * N, "x")
        host = (ctypes.c_float * N).from_address(memory)
        host[:] = range(N)

        gpo.copy_to_device(stream, x, host)
        gpo.launch(stream, halve, [N // 256], [256], x, N)
        gpo.copy_to_host(stream, host, x)
        await done.stream(stream)  # the loop goes on meanwhile; nothing above has waited for the GPU
        print(f"x[1000] is {host[1000]:g}")

        halve.close()
        gpo.memory_free(device, x)
        gpo.arena_free(arena, memory)


asyncio.run(main())
