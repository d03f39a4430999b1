"""A first program: a kernel from source, its data on a stream, and an await in place of a wait for the GPU. The
program runs on CUDA where there is a GPU, else on the software GPU.

    python3 first.py
"""
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "bindings/python/ctypes"))  # unless it is installed

import array
import asyncio
import gpuorch

SOURCE = """extern "C" __global__ void halve(float *x, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= 0.5f; }"""


async def main():
    gpo, host = gpuorch.Library(), array.array("f", range(1 << 20))
    with gpo.runtime_create() as runtime, gpo.device_open(runtime) as device, gpo.stream_create(device) as stream, \
            gpo.module_compile(device, gpo.CompileOptions(source=SOURCE)) as module, \
            gpo.module_get_kernel(module, "halve") as halve, gpuorch.Completions(gpo, runtime) as done:
        gpo.host_register(device, host, flags=0)  # pinned: copies run beside other work
        x = gpo.memory_allocate(device, 4 * len(host))
        gpo.copy_to_device(stream, x, host)
        gpo.launch(stream, halve, [len(host) // 256], [256], x, len(host))
        gpo.copy_to_host(stream, host, x)  # nothing so far has waited for the GPU
        await done.stream(stream)  # the loop goes on meanwhile
        print(f"x[1000] is {host[1000]:g}")


asyncio.run(main())
