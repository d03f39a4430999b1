#!/usr/bin/env python3
"""Waits and futures of the Python package: what they give and raise, in asyncio, in uvloop where it is installed, and in
threads; cancelled, many at once, several loops, loops and runtimes that are closed, signals, fork, exit."""
import asyncio
import concurrent.futures
import contextlib
import functools
import gc
import os
import signal
import struct
import subprocess
import sys
import threading
import time
import weakref

from harness import case, report, run, skip

import gpuorch
from gpuorch import _gpuorch

DEVICE = os.environ.get("GPUORCH_DEVICE", "soft")
try:
    import uvloop
except ImportError:
    uvloop = None


def raises(kind, call, /, *arguments, **named):
    try:
        call(*arguments, **named)
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} was not raised")


async def fails(kind, awaitable):
    try:
        await awaitable
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} was not raised")


async def unwrapped(awaitable):
    """A coroutine of any awaitable."""
    return await awaitable


class World:
    """A runtime with a device and a stream. hold() makes the stream wait for a timeline, which release() signals."""

    def __init__(self):
        self.runtime = gpuorch.Runtime(device=DEVICE)
        self.device = self.runtime.device_open()
        self.stream = self.device.stream_create(label="upload")
        self.timeline = self.runtime.timeline_create(label="go")

    def hold(self, value=1):
        self.stream.wait_timeline(self.timeline, value)
        return self.stream

    def release(self, value=1):
        self.timeline.signal(value)

    def later(self, value=1, seconds=0.05):
        thread = threading.Timer(seconds, self.release, (value,))
        thread.daemon = True
        thread.start()
        return thread

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for one in (self.stream, self.timeline, self.device, self.runtime):
            one.close()


def gone(*references):
    deadline = time.monotonic() + 20
    while gc.collect() >= 0 and any(one() is not None for one in references):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.002)
    return True


def in_loops(function):
    """Runs a test, a coroutine function, in each kind of loop."""
    name = function.__name__.replace("_", " ").strip()

    def in_loop(run_in):
        with World() as w:
            run_in(asyncio.wait_for(function(w), 60))

    for kind, run_in in (("asyncio", asyncio.run), ("uvloop", uvloop and uvloop.run)):
        if run_in is None:
            skip(f"{kind}: {name}", "uvloop isn't installed")
            continue
        one = functools.partial(in_loop, run_in)
        one.__name__ = f"{kind}: {name}"
        case(one)
    return function


# --- waits ---

@case
def what_is_done_is_waited_for_at_once():
    with World() as w:
        assert w.stream.wait() is None and w.stream.wait(0) is None and w.stream.wait(timeout=1.5) is None
        with w.device.event_create() as event:
            event.record(w.stream)
            assert event.wait() is None
        assert w.timeline.wait(0) is None and w.device.wait() is None


@case
def a_wait_ends_when_the_work_does_and_lets_other_threads_run():
    with World() as w, w.device.event_create() as event:
        w.hold()
        event.record(w.stream)
        for number, wait in enumerate((w.stream.wait, event.wait, w.device.wait, functools.partial(w.timeline.wait, 4)), 1):
            w.later(number)
            begun = time.monotonic()
            wait()
            assert 0.02 < time.monotonic() - begun < 5 or wait != w.stream.wait
            w.hold(number + 1)
            event.record(w.stream)
        w.release(5)


@case
def a_timeout_is_raised_in_time_and_the_work_goes_on():
    with World() as w, w.device.event_create(label="half") as event:
        w.hold()
        event.record(w.stream)
        for wait in (w.stream.wait, event.wait, w.device.wait, functools.partial(w.timeline.wait, 1)):
            for seconds in (0, 0.0005, 0.02):
                begun = time.monotonic()
                error = raises(gpuorch.Timeout, wait, timeout=seconds)
                assert seconds <= time.monotonic() - begun < seconds + 2 and isinstance(error, TimeoutError)
        w.release()
        w.stream.wait()


@case
def a_wait_raises_the_failure_and_names_the_culprit():
    for late in (False, True):
        with World() as w:
            w.hold()
            fail = functools.partial(w.timeline.fail, gpuorch.FAILED, "the tap is closed")
            if late:
                threading.Timer(0.05, fail).start()
            else:
                fail()
            for wait in (w.stream.wait, functools.partial(w.timeline.wait, 1)):
                error = raises(gpuorch.Error, wait)
                assert error.status == gpuorch.FAILED and "the tap is closed" in error.message, vars(error)
                assert error.object, vars(error)


@case
def more_waits_that_time_out_than_a_queue_has_room_for_do_no_harm():
    with World() as w:
        w.hold()
        for _ in range(1100):
            raises(gpuorch.Timeout, w.stream.wait, 0.0011)
        w.later()
        w.stream.wait()
        w.hold(2)
        w.later(2)
        w.stream.wait()


@case
def other_threads_wait_too():
    with World() as w:
        w.hold()
        with concurrent.futures.ThreadPoolExecutor() as threads:
            waits = [threads.submit(w.stream.wait) for _ in range(4)] + [threads.submit(w.timeline.wait, 1)]
            late = threads.submit(raises, gpuorch.Timeout, w.stream.wait, 0.01)
            late.result()
            assert not any(one.done() for one in waits)
            w.release()
            assert [one.result() for one in waits] == [None] * 5


@case
def wrong_arguments_of_waits_are_refused():
    with World() as w:
        for wrong in ("1", object(), [1]):
            raises(TypeError, w.stream.wait, wrong)
        raises((ValueError, OverflowError), w.stream.wait, float("nan"))
        raises(OverflowError, w.timeline.wait, -1)
        raises(OverflowError, w.timeline.wait, 1 << 64)
        raises(TypeError, _gpuorch.wait, 7)
        raises(TypeError, _gpuorch.wait)
        raises(TypeError, _gpuorch.await_, w.device, 0, None)
        stream = w.device.stream_create()
        stream.close()
        assert "closed" in str(raises(ValueError, stream.wait))
        assert "closed" in str(raises(ValueError, stream.future))


# --- completion queues ---

@case
def a_wait_for_a_queue_ends_with_an_entry_a_wake_and_the_runtime():
    with World() as w:
        queue = w.runtime.cq_create()
        raises(gpuorch.Timeout, queue.wait, 0.01)
        w.hold()
        w.stream.notify(queue, 7)
        w.later()
        queue.wait()
        assert [one.user_data for one in queue.drain()] == [7]
        threading.Timer(0.05, queue.wake).start()
        queue.wait()
        raises(gpuorch.Timeout, queue.wait, 0.01)  # the wake is used up
        w.hold(2)
        w.stream.notify(queue, 8)
        w.later(2)
        queue.wait()  # the descriptor was readable all along
    assert [one.user_data for one in queue.drain()] == [8]
    assert raises(gpuorch.Error, queue.wait).status == gpuorch.SHUT_DOWN
    queue.close()


@in_loops
async def entries_come_as_they_are_iterated(w):
    queue, seen = w.runtime.cq_create(), []
    for i in range(100):
        w.stream.notify(queue, i)
    w.stream.wait(5)
    async for entry in queue:
        seen.append(entry.user_data)
        if len(seen) == 50:
            break  # the others stay in the queue
    async with asyncio.timeout(30):
        while len(seen) < 100:  # a notification may come after the end of the work
            seen += [entry.user_data for entry in queue.drain()]
            await asyncio.sleep(0)
    assert seen == list(range(100)), seen
    w.hold()
    w.stream.notify(queue, 100)
    w.later()
    async for entry in queue:
        assert (entry.user_data, entry.status, entry.origin) == (100, gpuorch.SUCCESS, gpuorch.ORIGIN_STREAM), entry
        break
    before = len(os.listdir("/proc/self/fd"))
    task = asyncio.ensure_future(anext(aiter(queue)))
    await asyncio.sleep(0.01)
    assert not task.done()
    task.cancel()
    await fails(asyncio.CancelledError, task)
    assert len(os.listdir("/proc/self/fd")) == before
    several = [asyncio.ensure_future(anext(aiter(queue))) for _ in range(5)]
    await asyncio.sleep(0.01)
    for i in range(5):
        w.stream.notify(queue, i)
    assert sorted(entry.user_data for entry in await asyncio.gather(*several)) == list(range(5))
    last = asyncio.ensure_future(anext(aiter(queue)))
    await asyncio.sleep(0.01)
    queue.close()
    await fails(StopAsyncIteration, unwrapped(last))


# While a thread copies to memory that isn't pinned, another call waits for the copy. The copy waits for the kernel, and the
# kernel for a Python thread.
BLOCKED = """
import asyncio, os, sys, threading
import gpuorch
sys.path.append(sys.argv[2])
from harness import wait_until_blocked

SPIN = 'extern "C" __global__ void wait_for(volatile unsigned *flag, unsigned *out) { while (!*flag) {} *out = *flag; }'

async def wait(one):
    await one

with gpuorch.Runtime(device=os.environ.get("GPUORCH_DEVICE", "soft")) as runtime, runtime.device_open() as device:
    stream, event, arena, queue = device.stream_create(), device.event_create(), device.arena_create(), runtime.cq_create()
    timeline, kernel = runtime.timeline_create(), device.module_compile(SPIN).kernel("wait_for")
    flag, out, copied = arena.allocate("u32", 1), device.memory_allocate("u32", 1), bytearray(4)
    stream.notify(queue, 0)  # CUDA makes no events during the copy
    queue.wait()
    flag[0] = 0
    kernel[1, 1, stream](flag, out)
    event.record(stream)
    calls = {"notify": lambda: stream.notify(queue, 1), "event": lambda: event.notify(queue, 1),
             "await": lambda: asyncio.run(wait(stream)), "signal": lambda: timeline.signal(1)}
    call = sys.argv[1]
    if call == "signal":
        stream.wait_timeline(timeline, 1)
        stream.copy_to_host(copied, out)  # held: the signal makes the copy
    else:
        copying = threading.Thread(target=stream.copy_to_host, args=(copied, out), daemon=True)
        copying.start()
        wait_until_blocked(copying)
    threading.Timer(0.1, flag.__setitem__, (0, 5)).start()
    calls[call]()
    stream.wait(20)
    assert copied == b"\\5\\0\\0\\0", copied
    print("done")
"""


@case
def a_call_that_waits_for_a_copy_lets_other_threads_run():
    for call in "notify", "event", "await", "signal":
        ended = run(BLOCKED, call, os.path.dirname(os.path.abspath(__file__)), seconds=60)
        assert ended.returncode == 0 and ended.stdout == "done\n", (call, ended)


@in_loops
async def the_entries_of_a_queue_end_with_the_runtime(w):
    queue = w.runtime.cq_create()
    w.stream.notify(queue, 1)
    w.hold()
    w.stream.notify(queue, 2)
    threading.Timer(0.05, w.runtime.close).start()
    entries = [entry async for entry in queue]
    assert [entry.user_data for entry in entries] == [1, 2] and entries[1].status == gpuorch.CANCELLED, entries
    assert [entry async for entry in queue] == []
    queue.close()
    assert [entry async for entry in queue] == []


# --- asyncio ---

@in_loops
async def what_is_done_is_awaited_without_a_turn_of_the_loop(w):
    with w.device.event_create() as event:
        event.record(w.stream)
        event.wait()
        turns = 0

        def turn():
            nonlocal turns
            turns += 1

        asyncio.get_running_loop().call_soon(turn)
        assert await w.stream is None and await event is None and await w.timeline.reached(0) is None
        assert turns == 0


@in_loops
async def streams_events_and_timelines_are_awaited(w):
    with w.device.event_create() as event:
        w.hold()
        event.record(w.stream)
        waits = [asyncio.ensure_future(one) for one in (w.stream, event, w.timeline.reached(1))]
        await asyncio.sleep(0.02)
        assert not any(one.done() for one in waits)
        w.release()
        assert await asyncio.gather(*waits) == [None] * 3
        w.hold(2)
        w.later(2)
        await w.stream


@in_loops
async def a_failure_is_raised_by_await_and_names_the_culprit(w):
    w.hold()
    waits = [asyncio.ensure_future(one) for one in (w.stream, w.timeline.reached(5))]
    await asyncio.sleep(0)
    w.timeline.fail(gpuorch.FAILED, "the tap is closed")
    for wait in waits:
        error = await fails(gpuorch.Error, wait)
        assert error.status == gpuorch.FAILED and "the tap is closed" in error.message and error.object, vars(error)
    error = await fails(gpuorch.Error, w.stream)  # which has failed before
    assert error.status == gpuorch.FAILED, vars(error)


@in_loops
async def a_cancelled_await_leaves_the_work_and_the_loop_alone(w):
    w.hold()
    task = asyncio.ensure_future(w.stream)
    await asyncio.sleep(0)
    task.cancel()
    await fails(asyncio.CancelledError, task)
    await fails(TimeoutError if sys.version_info >= (3, 11) else asyncio.TimeoutError, asyncio.wait_for(w.stream, 0.01))
    async def bounded():
        async with asyncio.timeout(0.01):
            await w.stream
    await fails(TimeoutError, bounded())
    again = asyncio.ensure_future(w.stream)
    await asyncio.sleep(0)
    w.release()
    await again
    await w.stream


@in_loops
async def a_group_of_tasks_is_cancelled_by_the_failure_of_one(w):
    other = w.device.stream_create()
    never, reached = w.runtime.timeline_create(), []
    other.wait_timeline(never, 1)
    w.hold()

    async def wait(what):
        try:
            await what
        except asyncio.CancelledError:
            reached.append("cancelled")
            raise

    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(wait(other))
            group.create_task(wait(w.stream))
            await asyncio.sleep(0.01)
            w.timeline.fail(gpuorch.FAILED, "no more")
    except BaseExceptionGroup as several:
        assert [one.status for one in several.exceptions] == [gpuorch.FAILED], several
    else:
        raise AssertionError("nothing was raised")
    assert reached == ["cancelled"]
    never.signal(1)
    await other


@in_loops
async def a_thousand_at_once_and_more_than_the_queue_holds(w):
    for value, count in ((1, 1000), (2, 20000)):
        w.hold(value)
        waits = [asyncio.ensure_future(w.stream) for _ in range(count)]
        await asyncio.sleep(0)
        asyncio.get_running_loop().call_later(0.01, w.release, value)
        done = await asyncio.gather(*waits, return_exceptions=True)
        refused = [one for one in done if one is not None]
        # Beyond the queue's room an await says so.
        assert len(refused) == max(0, count - 16384) and all(type(one) is gpuorch.WouldBlock for one in refused), refused[:1]


@in_loops
async def one_queue_and_one_descriptor_serve_a_loop(w):
    w.later()
    await w.hold()
    before = len(os.listdir("/proc/self/fd"))
    for value in range(2, 50):
        asyncio.get_running_loop().call_later(0.0005, w.release, value)
        await w.hold(value)
    assert len(os.listdir("/proc/self/fd")) == before
    loop = asyncio.get_running_loop()
    assert _gpuorch.mailbox(w.stream, loop) is _gpuorch.mailbox(w.device, loop)
    assert _gpuorch.mailbox(w.stream, loop).pending == 0


@in_loops
async def the_runtime_is_closed_with_futures_pending(w):
    w.hold()
    waits = [asyncio.ensure_future(one) for one in (w.stream, w.timeline.reached(9))]
    await asyncio.sleep(0.01)
    w.runtime.close()
    for wait in waits:
        assert (await fails(gpuorch.Error, wait)).status == gpuorch.CANCELLED
    await asyncio.sleep(0.01)
    begun = time.process_time()
    await asyncio.sleep(0.2)  # and the descriptor, readable for good, isn't watched any more
    assert time.process_time() - begun < 0.1
    assert "closed" in str(await fails(ValueError, unwrapped(w.stream)))


@case
def eager_tasks_wait_like_others():
    if sys.version_info < (3, 12):
        skip("eager tasks", "this Python has none")
        return

    async def main():
        asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)
        with World() as w:
            async def wait():
                await w.stream
                return 7
            assert await asyncio.create_task(wait()) == 7
            w.hold()
            tasks = [asyncio.create_task(wait()) for _ in range(3)]
            tasks[0].cancel()
            w.later()
            assert await asyncio.gather(*tasks[1:]) == [7, 7]
            await fails(asyncio.CancelledError, tasks[0])

    asyncio.run(main())


@case
def loops_in_several_threads_have_mailboxes_of_their_own():
    with World() as w:
        streams = [w.device.stream_create() for _ in range(4)]
        found = []

        async def main(stream):
            for value in range(1, 40):
                stream.wait_timeline(w.timeline, value)
                await stream
            found.append(id(_gpuorch.mailbox(stream, asyncio.get_running_loop())))

        def work(stream, kind):
            with asyncio.Runner(loop_factory=kind) as runner:
                runner.run(asyncio.wait_for(main(stream), 60))

        kinds = [asyncio.new_event_loop, uvloop.new_event_loop if uvloop else asyncio.new_event_loop] * 2
        with concurrent.futures.ThreadPoolExecutor() as threads:
            runs = [threads.submit(work, *one) for one in zip(streams, kinds)]
            for value in range(1, 40):
                time.sleep(0.001)
                w.release(value)
            for one in runs:
                one.result()
        assert len(found) == 4


@case
def a_loop_that_is_closed_drops_what_is_pending():
    for kind in (asyncio.new_event_loop, *([uvloop.new_event_loop] if uvloop else [])):
        for closed in (True, False):
            with World() as w:
                raises(gpuorch.Timeout, w.timeline.wait, 99, 0.002)  # now the waits of this thread have their descriptor
                before = len(os.listdir("/proc/self/fd"))
                loop = kind()
                w.hold()

                async def begin():
                    future = asyncio.ensure_future(w.stream)
                    await asyncio.sleep(0)
                    return future

                future = loop.run_until_complete(begin())
                future._log_destroy_pending = False
                there = weakref.ref(loop)
                if closed:
                    loop.close()
                w.release()
                w.stream.wait()
                assert not future.done()
                del future
                if not closed:
                    loop.close()
                del loop
                assert gone(there), kind
                assert len(os.listdir("/proc/self/fd")) == before, kind

                async def again():
                    w.later(2)
                    await w.hold(2)

                asyncio.run(again())


@case
def a_runtime_that_is_collected_isn_t_kept_by_a_loop():
    async def main():
        w = World()
        releases = w.later()
        await w.hold()
        releases.join()  # it keeps the world until it has ended
        there = weakref.ref(w.runtime)
        del w, releases
        gc.collect()
        assert there() is None

    asyncio.run(main())


@case
def an_await_outside_of_a_loop_is_an_error():
    with World() as w:
        raises(RuntimeError, w.stream.__await__)


# --- threads ---

@case
def concurrent_futures_of_all_kinds():
    with World() as w, w.device.event_create() as event:
        assert w.stream.future().result(0) is None  # done already
        w.hold()
        event.record(w.stream)
        futures = [w.stream.future(), event.future(), w.timeline.future(1)]
        assert concurrent.futures.wait(futures, 0.02).done == set()
        called = []
        futures[0].add_done_callback(called.append)
        w.release()
        assert [one.result(20) for one in futures] == [None] * 3
        w.stream.wait()
        for _ in range(1000):
            if called:
                break
            time.sleep(0.001)
        assert called == futures[:1]
        assert sum(one.name == "gpuorch futures" for one in threading.enumerate()) == 1


@case
def a_concurrent_future_fails_with_the_work_and_is_cancelled_alone():
    with World() as w:
        w.hold()
        dropped, kept = w.stream.future(), w.stream.future()
        assert dropped.cancel()
        w.timeline.fail(gpuorch.FAILED, "the tap is closed")
        error = kept.exception(20)
        assert (type(error), error.status) == (gpuorch.Failed, gpuorch.FAILED) and "the tap" in error.message
        assert dropped.cancelled()
    with World() as w:
        w.hold()
        futures = [w.stream.future() for _ in range(1000)]
        w.runtime.close()
        assert {one.exception(20).status for one in futures} == {gpuorch.CANCELLED}
        assert "closed" in str(raises(ValueError, w.timeline.future, 1))
    for _ in range(1000):
        if not any(one.name == "gpuorch futures" for one in threading.enumerate()):
            break
        time.sleep(0.005)
    else:
        raise AssertionError("the thread is still there")


@case
def many_threads_ask_for_futures_at_once():
    with World() as w:
        w.hold()
        with concurrent.futures.ThreadPoolExecutor(8) as threads:
            made = [threads.submit(lambda: [w.stream.future() for _ in range(200)]) for _ in range(8)]
            futures = [one for some in made for one in some.result()]
        w.release()
        assert concurrent.futures.wait(futures, 20).not_done == set()
        assert all(one.result() is None for one in futures)
        assert sum(one.name == "gpuorch futures" for one in threading.enumerate()) == 1


# --- pipelines ---

def caller(w):
    return w.runtime.executor_create(flags=gpuorch.EXECUTOR_CALLER)

def pipeline_of(w, executor=None):
    """A pipeline that copies input to output."""
    def copy(stream, chunk):
        stream.copy_on_device(chunk.output_address, chunk.input_address, chunk.bytes)

    stage = {"kind": gpuorch.STAGE_CALLBACK, "enqueue": copy}
    return w.device.pipeline_create(stages=[stage], executor=executor, label="copying")


@contextlib.contextmanager
def served(executor):
    """A thread that runs an executor until the end of the block. The block gets a list of what callbacks have raised."""
    over, raised = threading.Event(), []

    def serve():
        while not over.is_set():
            try:
                executor.run_for(0.002)
            except Exception as error:
                raised.append(error)
            time.sleep(0.0005)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield raised
    finally:
        over.set()
        thread.join()


@in_loops
async def the_end_of_a_pipeline_is_awaited(w):
    with caller(w) as executor, served(executor) as raised:
        pipeline, output = pipeline_of(w, executor), bytearray(1000)
        sink = {"kind": gpuorch.SINK_MEMORY, "memory": output}
        assert (await fails(gpuorch.InvalidState, unwrapped(pipeline))).function == "gpo_pipeline_notify"
        for source in (bytes(range(250)) * 4, bytes(1000)):
            pipeline.start({"kind": gpuorch.SOURCE_MEMORY, "memory": source}, sink)
            result = await pipeline
            assert (result.status, result.bytes_in, result.bytes_out) == (gpuorch.SUCCESS, 1000, 1000) and output == source
        assert (await pipeline).bytes_in == 1000 and pipeline.wait(0).bytes_in == 1000
        assert pipeline.future().result(20).bytes_in == 1000

        def fill(buffer):
            raise KeyError("mine")
        pipeline.start({"kind": gpuorch.SOURCE_CALLBACK, "fill": fill}, sink)
        error = await fails(gpuorch.CallbackFailed, pipeline)
        assert error.status == gpuorch.CALLBACK_FAILED and "copying" in str(error), vars(error)
        assert [one.args for one in raised] == [("mine",)]
        pipeline.close()


@case
def a_pipeline_is_waited_for_while_another_thread_runs_its_callbacks():
    with World() as w, caller(w) as executor, served(executor), pipeline_of(w, executor) as pipeline:
        output, left = bytearray(1000), [3]

        def fill(buffer):
            left[0] -= 1
            time.sleep(0.01)
            buffer[:300] = bytes([left[0]]) * 300 if left[0] >= 0 else buffer[:300]
            return 300 if left[0] >= 0 else 0

        raises(gpuorch.InvalidState, pipeline.wait)
        pipeline.start({"kind": gpuorch.SOURCE_CALLBACK, "fill": fill}, {"kind": gpuorch.SINK_MEMORY, "memory": output})
        future = pipeline.future()
        raises(gpuorch.Timeout, pipeline.wait, 0.001)
        assert pipeline.wait().bytes_in == 900 and future.result(20).bytes_in == 900
        pipeline.start({"kind": gpuorch.SOURCE_CALLBACK, "fill": fill}, {"kind": gpuorch.SINK_MEMORY, "memory": output})
        future = pipeline.future()
        pipeline.cancel()
        raises(gpuorch.Cancelled, future.result, 20)


@case
def figures_of_a_run_are_none_if_another_has_begun_or_the_pipeline_is_closed():
    from gpuorch import _futures
    with World() as w, caller(w) as executor:
        pipeline = pipeline_of(w, executor)
        pipeline.start({"kind": gpuorch.SOURCE_CALLBACK, "fill": lambda buffer: 0},
                       {"kind": gpuorch.SINK_MEMORY, "memory": bytearray(1000)})
        figures = _futures.figures(pipeline)
        assert figures(0, 0, gpuorch.SUCCESS) is None
        with served(executor):
            pipeline.wait(20)
        assert figures(0, 0, gpuorch.SUCCESS).status == gpuorch.SUCCESS
        pipeline.close()
        assert figures(0, 0, gpuorch.SUCCESS) is None


@case
def a_timeout_names_the_function():
    with World() as w, w.device.event_create() as event, w.runtime.cq_create() as queue, caller(w) as executor:
        w.hold()
        event.record(w.stream)
        pipeline = pipeline_of(w, executor)
        pipeline.start({"kind": gpuorch.SOURCE_CALLBACK, "fill": lambda buffer: 0},
                       {"kind": gpuorch.SINK_MEMORY, "memory": bytearray(1000)})
        for name, wait in (("stream", w.stream.wait), ("event", event.wait), ("cq", queue.wait), ("pipeline", pipeline.wait),
                           ("timeline", functools.partial(w.timeline.wait, 1))):
            for seconds in (0, 0.01):  # the second is longer than the first look
                raises(gpuorch.Timeout, w.device.wait, 0)  # leaves a failure behind, with a name of its own
                error = raises(gpuorch.Timeout, wait, timeout=seconds)
                assert error.function == f"gpo_{name}_wait" and name in str(error), (name, seconds, vars(error))
        error = raises(gpuorch.Timeout, w.device.wait, 0.01)
        assert error.function == "gpo_device_wait", vars(error)
        full = w.runtime.cq_create(capacity=1)
        w.stream.notify(full)
        assert raises(gpuorch.WouldBlock, w.stream.notify, full).function == "gpo_stream_notify"
        w.release()
        executor.run()
        pipeline.wait(20)
        full.close()
        pipeline.close()


# --- callbacks ---

@case
def callbacks_run_on_the_thread_that_runs_the_executor():
    with World() as w, caller(w) as executor, w.device.event_create() as event:
        seen = []

        def note(name):
            return lambda completion, error: seen.append((name, threading.get_ident(), completion.status, error))

        w.hold()
        event.record(w.stream)
        w.stream.then(executor, note("stream"))
        event.then(executor, note("event"))
        w.timeline.then(1, executor, note("timeline"))
        executor.post(note("post"))
        assert executor.poll() == 1 and executor.run_for(0.01) == 0
        w.later()
        assert executor.run() == 3 and executor.run() == 0 and executor.poll() == 0
        assert sorted(one[0] for one in seen) == ["event", "post", "stream", "timeline"]
        assert {one[1:] for one in seen} == {(threading.get_ident(), gpuorch.SUCCESS, None)}


@case
def a_callback_gets_the_failure_of_the_work():
    with World() as w, caller(w) as executor:
        seen = []
        w.hold()
        w.stream.then(executor, lambda completion, error: seen.append((completion.status, error)))
        w.timeline.fail(gpuorch.FAILED, "the tap is closed")
        assert executor.run() == 1
        status, error = seen[0]
        assert status == gpuorch.FAILED and type(error) is gpuorch.Failed and "the tap" in error.message, seen


@case
def what_a_callback_raises_is_raised_by_run():
    with World() as w, caller(w) as executor:
        def fail(*_):
            raise KeyError("mine")
        for run_it in (executor.run, functools.partial(executor.run_for, 1), executor.poll):
            executor.post(fail)
            executor.post(lambda *_: None)
            error = raises(KeyError, run_it)
            assert error.args == ("mine",) and error.__traceback__ is not None
            assert executor.poll() in (0, 1)
        w.stream.then(executor, fail)
        raises(KeyError, executor.run)


@case
def an_executor_with_threads_takes_no_function_of_python():
    with World() as w, w.runtime.executor_create(threads=1) as executor:
        then = functools.partial(w.timeline.then, 1, executor)
        for refused in (functools.partial(w.stream.then, executor), executor.post, then):
            assert "EXECUTOR_CALLER" in str(raises(TypeError, refused, lambda *_: None))
        raises(TypeError, w.stream.then, w.stream, lambda *_: None)
        raises(TypeError, executor.run_for, "soon")
        executor.close()
        assert "closed" in str(raises(ValueError, executor.run))


@case
def callables_are_let_go_when_they_have_been_called():
    with World() as w, caller(w) as executor:
        class Callable:
            def __call__(self, *_):
                pass
        one = Callable()
        there = weakref.ref(one)
        executor.post(one)
        del one
        assert there() is not None
        executor.run()
        assert gone(there)


@case
def host_calls_run_in_the_order_of_the_stream():
    with World() as w, caller(w) as executor:
        seen = []
        w.stream.host_call(executor, lambda call: seen.append(call.status))
        future = w.stream.future()
        assert not future.done()
        executor.run()
        assert future.result(20) is None and seen == [gpuorch.SUCCESS]


# --- admission, batchers, host rings ---

async def entered(admission):
    async with admission.enter():
        return admission.info().held


@in_loops
async def places_of_an_admission_are_awaited(w):
    admission = w.runtime.admission_create(count=1)
    ticket = await admission.enter()
    assert admission.info().held == 1
    waiting = asyncio.ensure_future(entered(admission))
    await asyncio.sleep(0.01)
    assert not waiting.done() and admission.info().waiting == 1
    admission.leave(ticket)
    assert await waiting == 1 and admission.info().held == 0
    async with admission.enter() as ticket:
        late = asyncio.ensure_future(entered(admission))
        await asyncio.sleep(0.01)
        late.cancel()
        await fails(asyncio.CancelledError, late)
        assert admission.info().waiting == 0 and admission.info().cancelled == 1
        w.hold()
        admission.leave_after(ticket, w.stream)
    assert admission.info().held == 1
    next_one = asyncio.ensure_future(entered(admission))
    await asyncio.sleep(0.01)
    assert not next_one.done()
    w.release()
    await next_one
    request = admission.enter()
    admission.leave(await request)
    await fails(RuntimeError, unwrapped(request))
    await fails(gpuorch.LimitExceeded, admission.enter(count=2))
    refused = raises(TypeError, admission.enter, {"count": 1}, count=1)
    assert "not both" in str(refused)
    async with admission.enter() as ticket:  # a task that is cancelled at the moment of its admission gives the place back
        late = asyncio.ensure_future(entered(admission))
        await asyncio.sleep(0.01)
        admission.leave(ticket)
        time.sleep(0.02)
        asyncio.get_running_loop().call_soon(late.cancel)
        await asyncio.sleep(0.01)
        assert late.done() and admission.info().held == 0
    async with admission.enter():
        left = asyncio.ensure_future(entered(admission))
        await asyncio.sleep(0)
        admission.close()
        assert (await fails(gpuorch.Cancelled, left)).status == gpuorch.CANCELLED


@case
def places_in_threads_and_queues():
    with World() as w, w.runtime.admission_create(count=1) as admission, w.runtime.cq_create() as queue:
        first, second = admission.enter(), admission.enter()
        ticket, waiting = first.future().result(20), second.future()
        assert not waiting.done() and waiting.cancel()
        assert admission.info().waiting == 0
        admission.leave(ticket)
        ticket = admission.enter(cq=queue, user_data=5)
        queue.wait(20)
        assert [(one.user_data, one.operation) for one in queue.drain()] == [(5, ticket)]
        admission.leave(ticket)


@contextlib.contextmanager
def batcher_of(w, **options):
    executor = caller(w)
    batcher = w.runtime.batcher(devices=[w.device], executor=executor)

    def copy(stream, batch):
        stream.copy_on_device(batch.output, batch.input, len(batch.members) * 16)

    batcher.add_key(layout=gpuorch.BATCH_ROWS, input_bytes=16, output_bytes=16, work=copy, **options)
    with served(executor):
        try:
            yield batcher
        finally:
            batcher.close()
    executor.close()


@in_loops
async def requests_of_a_batcher_are_awaited(w):
    with batcher_of(w) as batcher:
        output = bytearray(16)
        await batcher.submit(key=0, input=b"a row of a batch", output=output)
        assert output == b"a row of a batch"
        outputs = [bytearray(16) for _ in range(50)]
        await asyncio.gather(*(batcher.submit(key=0, input=bytes([i]) * 16, output=one) for i, one in enumerate(outputs)))
        assert outputs == [bytes([i]) * 16 for i in range(50)]
        await fails(gpuorch.NotFound, batcher.submit(key=7))
        await fails(gpuorch.Timeout, batcher.submit(key=0, input=bytes(16), output=output, deadline_ns=1))
        future = batcher.submit(key=0, input=b"another request!", output=output).future()
        await asyncio.wrap_future(future)
        assert output == b"another request!"


@in_loops
async def a_request_that_is_cancelled_leaves_the_line_and_its_memory_is_kept(w):
    with batcher_of(w, max_batch=100, max_delay_ns=3600 * 10**9) as batcher:
        class Bytes(bytearray):
            pass
        output = Bytes(16)
        there = weakref.ref(output)
        task = asyncio.ensure_future(unwrapped(batcher.submit(key=0, input=bytes(16), output=output)))
        del output
        await asyncio.sleep(0.01)
        assert batcher.info().waiting == 1 and there() is not None
        task.cancel()
        await fails(asyncio.CancelledError, task)
        del task
        for _ in range(1000):
            gc.collect()
            if there() is None and batcher.info().cancelled == 1:
                break
            await asyncio.sleep(0.005)
        assert batcher.info().cancelled == 1 and there() is None
        left = asyncio.ensure_future(unwrapped(batcher.submit(key=0, input=bytes(16), output=bytearray(16))))
        await asyncio.sleep(0.01)
        batcher.close()
        await fails(gpuorch.Cancelled, left)


class Bytes(bytearray):
    """Memory that a weak reference can lead to."""


@case
def memory_of_requests_is_kept_until_their_entries_are_drained():
    with World() as w, batcher_of(w) as batcher, batcher_of(w) as other, w.runtime.cq_create() as queue:
        def submit(batcher, number):
            output = Bytes(16)
            batcher.submit(key=0, input=Bytes([number] * 16), output=output, cq=queue, user_data=number)
            return weakref.ref(output)

        outputs = [submit(one, number) for number in range(1, 9) for one in (batcher, other)]  # the same tickets twice
        while batcher.info().succeeded + other.info().succeeded < 16:
            time.sleep(0.001)
        gc.collect()
        assert [output() for output in outputs] == [bytes([i // 2 + 1]) * 16 for i in range(16)]
        drained = []
        while len(drained) < 16:
            queue.wait(20)
            drained += [entry.user_data for entry in queue.drain(5)]
            kept = [output() for i, output in enumerate(outputs) if drained.count(i // 2 + 1) < 2]
            assert None not in kept, "memory of a request whose entry is still in the queue"
            del kept
        assert gone(*outputs)

        async def iterate():
            output = submit(batcher, 9)
            async for entry in queue:
                assert entry.user_data == 9
                return output
        assert gone(asyncio.run(iterate()))
        raises(gpuorch.NotFound, batcher.submit, key=7, cq=queue)
        begin = _gpuorch.batcher_submit

        def drained_first(*arguments):
            ticket = begin(*arguments)
            queue.wait(20)
            assert len(queue.drain()) == 1
            return ticket

        _gpuorch.batcher_submit = drained_first
        try:
            assert gone(submit(batcher, 10))
        finally:
            _gpuorch.batcher_submit = begin
        assert not queue._requests.tickets and not queue._requests.begun
        for _ in range(3):
            with w.runtime.cq_create() as one:
                batcher.submit(key=0, input=bytes(16), output=bytearray(16), cq=one)
                one.wait(20)
                one.drain()
            del one
        assert len(batcher._requests) == 2, "a queue that is gone leaves nothing with the batcher"


@case
def memory_of_requests_outlives_their_queue_and_their_batcher():
    w = World()
    with batcher_of(w, max_batch=100, max_delay_ns=3600 * 10**9) as batcher:
        output = Bytes(16)
        there, queue = weakref.ref(output), w.runtime.cq_create()
        batcher.submit(key=0, input=bytes(16), output=output, cq=queue)
        del output
        queue.close()
        del queue
        gc.collect()
        assert there() is not None
    del batcher
    gc.collect()
    assert there() is not None
    w.runtime.close()
    assert gone(there)


SERVE = """
#include <gpuorch/device/queue.cuh>
struct sum { unsigned a, b, unused[2]; };
/* Adds; a task whose first number is 7 fails with 51. */
extern "C" __global__ void serve(gpo::host_ring requests) {
    __shared__ gpo::dispatch_memory memory;
    const gpo::bound patience = gpo::nanoseconds(60000000000ull);
    if (blockIdx.x == 0) {
        gpo::dispatch(requests, memory, patience);
        return;
    }
    gpo::host_task<sum> next;
    while (gpo::warp_pop(requests.tasks, next, patience) == gpo::queue_success)
        gpo::warp_answer(requests, next.ticket, next.task.a == 7 ? 51 : 0, next.task.a + next.task.b);
}
"""


def task_of(a, b):
    return struct.pack("IIQ", a, b, 0)


@in_loops
async def tasks_of_a_host_ring_are_awaited(w):
    resident = w.device.stream_create(flags=gpuorch.STREAM_RESIDENT)
    kernel = w.device.module_compile(SERVE).kernel("serve", "host_ring")
    ring = w.device.queue(kind=gpuorch.QUEUE_HOST_RING, task_size=16, answer_size=4, capacity=64, stream=resident)
    kernel[3, 32, resident](ring)
    try:
        assert struct.unpack("I", await ring.ask(task_of(40, 2))) == (42,)
        answers = await asyncio.gather(*(ring.ask(task_of(100, i)) for i in range(50)))
        assert [struct.unpack("I", one)[0] for one in answers] == [100 + i for i in range(50)]
        tasks = (ring.ask(task_of(7 if i % 3 == 0 else 8, i)) for i in range(12))
        several = await asyncio.gather(*tasks, return_exceptions=True)
        assert [getattr(one, "status", 0) for one in several] == [51, 0, 0] * 4, several
        dropped = asyncio.ensure_future(unwrapped(ring.ask(task_of(1, 1))))
        await asyncio.sleep(0)
        dropped.cancel()
        assert struct.unpack("I", await ring.ask(task_of(1, 2))) == (3,)
        assert raises(gpuorch.Timeout, ring.wait, 0, 0.01)
    finally:
        ring.close_ring()
        assert ring.wait(timeout=20) is False
        resident.wait(20)
        ring.close()


# --- processes ---

START = f"""
import asyncio, os, signal, sys, threading, time
import gpuorch
runtime = gpuorch.Runtime(device={DEVICE!r})
device = runtime.device_open()
stream = device.stream_create()
timeline = runtime.timeline_create()
event, queue = device.event_create(), runtime.cq_create()
resident = device.stream_create(flags=gpuorch.STREAM_RESIDENT)
ring = device.queue(kind=gpuorch.QUEUE_HOST_RING, task_size=16, answer_size=4, stream=resident)
pipeline = None
executor = runtime.executor_create(flags=gpuorch.EXECUTOR_CALLER)
stream.wait_timeline(timeline, 1)
event.record(stream)
stream.then(executor, lambda *_: None)

async def wait(what):
    await what

async def entries():
    async for entry in queue:
        pass

def start():  # a pipeline that never ends: nobody runs its source
    global pipeline
    stage = {{"kind": gpuorch.STAGE_CALLBACK, "enqueue": lambda *_: None}}
    pipeline = device.pipeline_create(stages=[stage], executor=executor)
    pipeline.start({{"kind": gpuorch.SOURCE_CALLBACK, "fill": lambda buffer: 1}}, {{"kind": gpuorch.SINK_NONE}})
    return pipeline

def quiet(wait, *arguments):
    try:
        wait(*arguments)
    except gpuorch.Cancelled:
        pass
"""


def start(code):
    return subprocess.Popen([sys.executable, "-c", START + code], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


def outcome(process):
    try:
        out, errors = process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()
        return "hangs", *process.communicate()
    return process.returncode, out, errors


def interrupts():
    """Each wait, begun with all the time in the world, ends soon after Ctrl-C."""
    waits = ["stream.wait()", "event.wait()", "timeline.wait(1)", "queue.wait()", "device.wait()", "executor.run()",
             "executor.run_for(3600)", "stream.wait(timeout=3600)", "asyncio.run(wait(stream))", "asyncio.run(entries())",
             "stream.future().result()", "ring.wait()", "start().wait()", "asyncio.run(wait(start()))"]
    if uvloop:
        waits.append("__import__('uvloop').run(wait(stream))")
    for one in waits:
        process = start(f"""
signal.signal(signal.SIGINT, signal.default_int_handler)
print("waits", flush=True)
try:
    {one}
except KeyboardInterrupt:
    print("interrupted", flush=True)
    timeline.signal(1)
    stream.wait()
    if pipeline:
        pipeline.close()
    else:
        executor.run()
    runtime.close()
    print("closed", flush=True)
""")
        first = process.stdout.readline()
        time.sleep(0.2)
        begun = time.monotonic()
        process.send_signal(signal.SIGINT)
        code, out, errors = outcome(process)
        report(f"Ctrl-C ends {one}", (first, code, out, time.monotonic() - begun < 3),
               ("waits\n", 0, "interrupted\nclosed\n", True), errors)


def handlers():
    process = start("""
def handler(*_):
    print("handled", flush=True)
    try:
        stream.wait(0.01)  # a wait inside of a wait
    except gpuorch.Timeout:
        print("late", flush=True)
    timeline.signal(1)
signal.signal(signal.SIGUSR1, handler)
threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGUSR1)).start()
stream.wait()
print("done", flush=True)
""")
    code, out, errors = outcome(process)
    report("a handler that doesn't raise lets the wait go on", (code, out), (0, "handled\nlate\ndone\n"), errors)


def forks():
    process = start("""
threading.Timer(0.2, timeline.signal, (1,)).start()
future = stream.future()

async def main():
    loop = asyncio.get_running_loop()
    task = asyncio.ensure_future(wait(stream))
    await asyncio.sleep(0)
    child = os.fork()
    if child == 0:
        told = []
        for what in (stream.wait, stream.future):
            try:
                what()
            except gpuorch.Error as error:
                told.append(error.name)
        print(*told, flush=True)
        sys.stdout.flush()
        os._exit(0 if not future.done() else 1)
    await task
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
asyncio.run(main())
future.result(20)
child = os.fork()
if child == 0:
    sys.exit(0)  # with all of the objects
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
print("done", flush=True)
""")
    code, out, errors = outcome(process)
    report("a forked child is told so, and ends", (code, out), (0, "FORKED FORKED\ndone\n"), errors)


def exits():
    """A program ends with something pending, and without a word."""
    pending = {
        "a concurrent future": "future = stream.future()",
        "a concurrent future, from a thread": "threading.Thread(target=stream.future).start(); time.sleep(0.1)",
        "a wait in a daemon thread": """
threading.Thread(target=quiet, args=(stream.wait,), daemon=True).start()
time.sleep(0.1)
""",
        "a loop that was stopped": """
loop = asyncio.new_event_loop()
task = loop.create_task(wait(stream))
task._log_destroy_pending = False
loop.run_until_complete(asyncio.sleep(0.01))
""",
        "a loop in a daemon thread": """
threading.Thread(target=quiet, args=(asyncio.run, wait(stream)), daemon=True).start()
time.sleep(0.1)
""",
        "a callback that was not run": "",
        "os._exit in a task": "loop = asyncio.new_event_loop(); loop.call_later(0.05, os._exit, 0); "
                              "loop.run_until_complete(wait(stream))",
    }
    for name, code in pending.items():
        process = start(code)
        begun = time.monotonic()
        code, out, errors = outcome(process)
        noise = [line for line in errors.splitlines() if "ResourceWarning" not in line]
        report(f"exit with {name} pending", (code, out, noise, time.monotonic() - begun < 20), (0, "", [], True), errors)


interrupts()
handlers()
forks()
exits()
