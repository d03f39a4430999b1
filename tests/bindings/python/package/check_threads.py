#!/usr/bin/env python3
"""Eight threads that use the Python package at once, on one runtime: launches through one plan and through plans of their
own, arrays, streams, graphs, futures, objects that another thread closes. Runs on every Python; on a free-threaded one the
threads run at the same time, and the import has to leave the GIL off."""
import asyncio
import os
import sys
import sysconfig
import threading

from harness import case, raises, run, skip

import gpuorch

DEVICE = os.environ.get("GPUORCH_DEVICE", "soft")
THREADS, TURNS, N = 8, 50, 256
SECONDS = 60  # a thread that takes longer hangs
SOURCE = """
extern "C" __global__ void add(unsigned long long *sum, unsigned long long value) { atomicAdd(sum, value); }
extern "C" __global__ void step(unsigned *x, unsigned n, unsigned factor, unsigned more) {
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) x[i] = x[i] * factor + more;
}
"""


class World:
    def __init__(self):
        self.runtime = gpuorch.Runtime(device=DEVICE)
        self.device = self.runtime.device_open()
        self.stream = self.device.stream_create()
        module = self.device.module_compile(SOURCE, file_name="check_threads.cu")
        self.add, self.step = module.kernel("add", "ptr u64"), module.kernel("step", "ptr u32 u32 u32")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.runtime.close()

    def array(self, dtype="u64", count=1):
        """An array of zeros."""
        array = self.device.memory_allocate(dtype, count)
        self.stream.fill(array, 0)
        self.stream.wait(SECONDS)
        return array

    def read(self, array):
        """The elements, after all work of the device."""
        self.device.wait(SECONDS)
        content = bytearray(array.nbytes)
        self.stream.copy_to_host(content, array)
        self.stream.wait(SECONDS)
        return memoryview(content).cast(array.format).tolist()


def at_once(work, count=THREADS):
    """Runs work(number) in threads that start together. Their results; raises what the first of them raised."""
    begin, results, errors = threading.Barrier(count), [None] * count, []

    def one(number):
        try:
            begin.wait(SECONDS)
            results[number] = work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=one, args=(number,), daemon=True) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)
    if errors:
        raise errors[0]
    assert not any(thread.is_alive() for thread in threads), "a thread hangs"
    return results


def stepped(number, turns=TURNS):
    """What the kernel `step` makes of 0 with factor 3 and number + turn."""
    value = 0
    for turn in range(turns):
        value = (value * 3 + number + turn) % (1 << 32)
    return value


if sysconfig.get_config_var("Py_GIL_DISABLED"):
    @case
    def the_import_leaves_the_gil_off():
        program = "import sys, gpuorch\ngpuorch.Runtime(device='soft').close()\nprint(sys._is_gil_enabled())"
        said = run(program, PYTHON_GIL="0", without=("PYTHON_GIL",))
        assert said.stdout == "False\n", said
        said = run(program, without=("PYTHON_GIL",))
        assert said.stdout == "False\n" and "GIL" not in said.stderr, said
else:
    skip("the import leaves the gil off", "this Python has a GIL")


@case
def threads_launch_through_one_plan():
    with World() as w:
        total = w.array()
        launch = w.add[1, 1, w.stream]

        def work(number):
            for turn in range(TURNS):
                launch(total, 1000 * number + turn)

        at_once(work)
        right = sum(1000 * number + turn for number in range(THREADS) for turn in range(TURNS))
        assert w.read(total) == [right]
        raises(TypeError, "takes 2 arguments", launch, total)


@case
def threads_launch_through_plans_of_their_own():
    with World() as w:
        def work(number):
            stream, x = w.device.stream_create(), w.device.memory_allocate("u32", N)
            stream.fill(x, 0)
            for turn in range(TURNS):
                launch = w.step[1, 64, stream]
                launch(x, N, 3, number + turn)
                if turn % 10 == 0:
                    raises(OverflowError, "argument 2", launch, x, -1, 3, 0)
            content = bytearray(x.nbytes)
            stream.copy_to_host(content, x)
            stream.wait(SECONDS)
            return set(memoryview(content).cast("I"))

        assert at_once(work) == [{stepped(number)} for number in range(THREADS)]


@case
def threads_use_one_array_on_streams_of_their_own():
    """The array is freed behind the work of all streams, though the streams are closed before."""
    with World() as w:
        gate = w.runtime.timeline_create()
        total, shared = w.array(), w.array("u32", N)

        def work(number):
            stream = w.device.stream_create()
            add, step = w.add[1, 1, stream], w.step[1, 64, stream]
            for turn in range(TURNS):
                add(total, number)
            stream.wait_timeline(gate, 1)
            step(shared, N, 1, 1)
            stream.close()

        at_once(work)
        right = sum(range(THREADS)) * TURNS
        w.stream.wait_timeline(gate, 1)
        w.add[1, 1, w.stream](total, 1)
        shared.free()  # the streams still wait
        others = [w.device.memory_allocate("u32", N) for _ in range(4)]
        with w.device.stream_create() as stream:
            for other in others:
                stream.fill(other, 7)
            stream.wait(SECONDS)
        gate.signal(1)
        assert w.read(total) == [right + 1]
        assert [set(w.read(other)) for other in others] == [{7}] * 4


@case
def threads_make_and_drop_streams_arrays_and_views():
    with World() as w:
        arena, pool, total = w.device.arena_create(), w.device.pool_create(), w.array()

        def work(number):
            for turn in range(TURNS // 2):
                with w.device.stream_create(label=f"{number}") as stream:
                    host = arena.allocate("u32", N)
                    host[:] = [number] * N
                    x, y = pool.allocate(stream, "u32", N), w.device.memory_allocate("u32", N)
                    stream.copy_to_device(x, host)
                    stream.copy_on_device(y[:N // 2], x[N // 2:])
                    stream.copy_to_host(host[N // 2:], y[:N // 2])
                    w.add[1, 1, stream](total, 1)
                    if turn % 2:
                        x.free(stream)
                    assert stream.label == f"{number}" and repr(stream).startswith('<gpuorch.Stream "')
                    stream.wait(SECONDS)
                    assert set(host.tolist()) == {number}

        at_once(work)
        assert w.read(total) == [THREADS * (TURNS // 2)]
        w.device.wait(SECONDS)


@case
def threads_patch_graphs_of_one_template():
    with World() as w:
        total = w.array()
        template = w.device.template()
        node = template.add_kernel(w.add, [total, 0], grid=1, block=1)
        template.add_parameter("value", node, gpuorch.PARAMETER_ARGUMENT, 1)
        shared = template.graph()

        def work(number):
            graph, stream = template.graph(), w.device.stream_create()
            for turn in range(TURNS // 5):
                graph.set("value", number + turn)
                graph.launch(stream)
                shared.set("value", 0)
                template.launch(stream, {"value": 1})
            stream.wait(SECONDS)

        at_once(work)
        shared.set("value", 5)
        shared.launch(w.stream)
        turns = range(TURNS // 5)
        assert w.read(total) == [5 + sum(number + turn + 1 for number in range(THREADS) for turn in turns)]


@case
def threads_await_in_loops_of_their_own():
    with World() as w:
        async def tasks(number):
            streams = [w.device.stream_create() for _ in range(4)]
            arrays = [w.device.memory_allocate("u32", N) for _ in streams]

            async def task(stream, x):
                stream.fill(x, 0)
                launch = w.step[1, 64, stream]
                for turn in range(TURNS // 5):
                    launch(x, N, 3, number + turn)
                    await stream
                host = bytearray(x.nbytes)
                stream.copy_to_host(host, x)
                await stream
                return set(memoryview(host).cast("I"))

            return set.union(*await asyncio.gather(*map(task, streams, arrays)))

        assert at_once(lambda number: asyncio.run(tasks(number))) == [{stepped(n, TURNS // 5)} for n in range(THREADS)]


@case
def threads_share_the_futures_of_a_runtime():
    with World() as w:
        gate, total = w.runtime.timeline_create(), w.array()
        launch = w.add[1, 1, w.stream]

        def work(number):
            futures = [gate.future(1)]
            for _ in range(TURNS // 2):
                launch(total, 1)
                futures.append(w.stream.future())
            gate.signal(1) if number == 0 else gate.wait(1, SECONDS)
            return [future.result(SECONDS) for future in futures]

        assert at_once(work) == [[None] * (TURNS // 2 + 1)] * THREADS
        assert w.read(total) == [THREADS * (TURNS // 2)]


@case
def a_thread_closes_what_others_launch_on():
    """Each launch runs or is refused. What was closed and what runs don't mix."""
    with World() as w:
        total, stream = w.array(), w.device.stream_create()
        launch, going = w.add[1, 1, stream], threading.Barrier(THREADS)

        def work(number):
            count = 0
            launch(total, 1)
            going.wait(SECONDS)
            if number == 0:
                stream.close()
                return 1
            while True:
                try:
                    launch(total, 1)
                    count += 1
                except (ValueError, gpuorch.Error):
                    assert stream.closed
                    return count + 1

        counts = at_once(work)
        assert w.read(total) == [sum(counts)]
        raises(ValueError, "stream is closed", launch, total, 1)


@case
def a_thread_closes_the_runtime_that_others_use():
    for _ in range(3):
        with World() as w:
            total, arena = w.array(), w.device.arena_create()
            going, ended = threading.Barrier(THREADS), []

            def work(number):
                going.wait(SECONDS)
                if number == 0:
                    w.runtime.close()
                    return
                try:
                    stream = w.device.stream_create()
                    launch = w.add[1, 1, stream]
                    while True:
                        launch(total, 1)
                        stream.copy_to_host(arena.allocate("u64", 1), total)
                except (ValueError, gpuorch.Error) as error:
                    ended.append(error)

            at_once(work)
            assert len(ended) == THREADS - 1 and w.runtime.closed
            raises(ValueError, "closed", w.device.stream_create)


FREED = """
import gpuorch, threading, time
device = gpuorch.Runtime(device="soft").device_open()
memory = device.arena_create().allocate("u8", 64)
class Lender:
    def __dlpack_device__(self):
        return 1, 0
    def __dlpack__(self, **named):
        return memory.__dlpack__(max_version=named.get("max_version"))
newest, ended = gpuorch.from_dlpack(Lender()), False
def look(call):
    while not ended:
        array = newest
        try:
            for _ in range(20):
                call(array)
        except ValueError:
            pass
threads = [threading.Thread(target=look, args=(call,))
           for call in (lambda array: array.__dlpack_device__(), lambda array: array[5], lambda array: array.freed)]
for thread in threads:
    thread.start()
end, turn = time.monotonic() + 2, 0
while time.monotonic() < end:
    for _ in range(turn % 300):
        pass
    turn += 1
    newest.free()
    newest = gpuorch.from_dlpack(Lender())
ended = True
for thread in threads:
    thread.join()
print("whole")
"""


@case
def threads_look_at_the_array_of_a_tensor_that_another_frees():
    said = run(FREED, PYTHONMALLOC="debug")  # which shows uses of memory that was freed
    assert (said.returncode, said.stdout) == (0, "whole\n"), (said.returncode, said.stderr[:500])


@case
def threads_read_one_dict_of_options_that_changes():
    with World() as w:
        options = {"label": "a", "priority": 0}

        def work(number):
            for turn in range(TURNS):
                if number == 0:
                    options.pop("label", None)
                    options["label"] = f"label {turn}"
                else:
                    gpuorch._gpuorch.stream_create(w.device, options).close()

        at_once(work)
