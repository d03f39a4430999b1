"""asyncio through ctypes: the library is loaded with dlopen, its queue's descriptor watched with add_reader, and each
completion ends the future that its user_data leads to.

    loop_asyncio.py LIBGPUORCH.so
"""
import asyncio
import ctypes
import os
import sys

STREAMS, EACH, UNDER_WAY = 4, 2500, 8
gpo = ctypes.CDLL(sys.argv[1])


class Completion(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("status", ctypes.c_int32), ("user_data", ctypes.c_uint64),
                ("source", ctypes.c_uint32), ("reserved", ctypes.c_uint32)]


def check(status):
    if status != 0:
        gpo.gpo_status_name.restype = ctypes.c_char_p
        raise RuntimeError(gpo.gpo_status_name(status).decode())


def made(create, *arguments):
    handle = ctypes.c_void_p()
    check(create(*arguments, ctypes.byref(handle)))
    return handle


class Queue:
    def __init__(self, runtime):
        self.handle = made(gpo.gpo_cq_create, runtime, None)
        descriptor = ctypes.c_int32()
        check(gpo.gpo_cq_fd(self.handle, ctypes.byref(descriptor)))
        self.descriptor, self.waiting, self.last = descriptor.value, {}, 0
        asyncio.get_running_loop().add_reader(self.descriptor, self.drain)

    def drain(self):
        entries, count = (Completion * UNDER_WAY)(), ctypes.c_uint64()
        check(gpo.gpo_cq_drain(self.handle, entries, ctypes.c_uint64(ctypes.sizeof(Completion)), ctypes.c_uint64(UNDER_WAY),
                               ctypes.byref(count)))
        for entry in entries[:count.value]:
            self.waiting.pop(entry.user_data).set_result(entry.status)  # a KeyError: it came twice

    def done(self, stream):
        self.last += 1
        future = self.waiting[self.last] = asyncio.get_running_loop().create_future()
        check(gpo.gpo_stream_notify(stream, self.handle, ctypes.c_uint64(self.last)))
        return future

    def close(self):
        asyncio.get_running_loop().remove_reader(self.descriptor)
        os.close(self.descriptor)
        check(gpo.gpo_cq_destroy(self.handle))


async def main():
    runtime = made(gpo.gpo_runtime_create, None)
    device = made(gpo.gpo_device_open, runtime, None)
    memory = ctypes.c_uint64()
    check(gpo.gpo_memory_allocate(device, ctypes.c_uint64(4096 * STREAMS), None, ctypes.byref(memory)))
    queue = Queue(runtime)

    async def worker(number):
        stream, under_way = made(gpo.gpo_stream_create, device, None), []
        for value in range(EACH):
            if len(under_way) == UNDER_WAY:
                assert await asyncio.wait_for(under_way.pop(0), 60) == 0
            check(gpo.gpo_fill(stream, ctypes.c_uint64(memory.value + 4096 * number), ctypes.c_uint32(value),
                               ctypes.c_uint32(4), ctypes.c_uint64(256)))
            under_way.append(queue.done(stream))
        assert await asyncio.wait_for(asyncio.gather(*under_way), 60) == [0] * len(under_way)
        check(gpo.gpo_stream_destroy(stream))

    await asyncio.gather(*(worker(number) for number in range(STREAMS)))
    assert not queue.waiting
    queue.close()
    check(gpo.gpo_memory_free(device, memory))
    check(gpo.gpo_device_destroy(device))
    check(gpo.gpo_runtime_shutdown(runtime, ctypes.c_int64(30_000_000_000)))
    print(queue.last, "completions")


asyncio.run(main())
