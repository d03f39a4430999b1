"""asyncio through bindings/python/ctypes: the queue's descriptor is watched with add_reader, and each completion ends the
future that its user_data leads to.

    loop_asyncio.py LIBGPUORCH.so
"""
import asyncio
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bindings/python/ctypes"))
import gpuorch

STREAMS, EACH, UNDER_WAY = 4, 2500, 8


async def main():
    gpo = gpuorch.Library(sys.argv[1])
    with gpo.runtime_create() as runtime, gpo.device_open(runtime) as device, gpuorch.Completions(gpo, runtime) as done:
        memory = gpo.memory_allocate(device, 4096 * STREAMS, None)

        async def worker(number):
            with gpo.stream_create(device) as stream:
                under_way, last = [], 0
                for value in range(EACH):
                    if len(under_way) == UNDER_WAY:
                        completion = await asyncio.wait_for(under_way.pop(0), 60)
                        assert completion.operation > last, "in the stream's order"
                        last = completion.operation
                    gpo.fill(stream, memory + 4096 * number, value, 4, 256)
                    under_way.append(done.stream(stream))
                await asyncio.wait_for(asyncio.gather(*under_way), 60)

        await asyncio.gather(*(worker(number) for number in range(STREAMS)))
        assert not done.waiting and gpo.cq_get_statistics(done.cq).delivered == done.last, "each of them once"
        print(done.last, "completions")
        gpo.memory_free(device, memory)


asyncio.run(main())
