#!/usr/bin/env python3
"""bindings/python/ctypes/gpuorch.py: handles that the program drops close themselves, in the right order, whatever their
callbacks lead to; in a forked child and at exit nothing happens; python3 -X dev names what was not closed.

Finalisers, the closing thread and the library's threads have no common order. Each check of what they do asks again and
again, for at most 20 seconds."""
import array
import asyncio
import ctypes
import gc
import inspect
import os
import pathlib
import re
import subprocess
import sys
import threading
import time
import weakref

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(os.environ["GPUORCH_BUILD"])
LIBRARY = BUILD / "libgpuorch/libgpuorch.so.0.1"
DEVICE = os.environ.get("GPUORCH_DEVICE", "soft")
sys.path.insert(0, str(ROOT / "bindings/python/ctypes"))
import gpuorch

gpo = gpuorch.Library(LIBRARY)
START = f"""
import array, asyncio, gc, os, sys, threading, time, warnings
sys.path.insert(0, {str(ROOT / 'bindings/python/ctypes')!r})
import gpuorch
gpo = gpuorch.Library({str(LIBRARY)!r})
"""
OBJECTS = f"""
runtime = gpo.runtime_create(gpo.RuntimeOptions(device={DEVICE!r}))
device = gpo.device_open(runtime)
stream, event, cq = gpo.stream_create(device), gpo.event_create(device), gpo.cq_create(runtime)
executor = gpo.executor_create(runtime)
graph = gpo.graph_create(gpo.template_create(device))
memory = gpo.memory_allocate(device, 1 << 20)
"""
# Work that is under way, callbacks that go on for as long as they can, and a pipeline whose source has no end.
BUSY = OBJECTS + """
def again(*_):
    try:
        gpo.stream_then(stream, executor, again)
    except Exception:
        pass
gpo.stream_then(stream, executor, again)
for number in range(20):
    gpo.fill(stream, memory, number, 4, 1 << 18)
    gpo.stream_notify(stream, cq, number)
stage = gpo.Stage(kind=gpo.STAGE_CALLBACK, enqueue=lambda *_: None)
pipeline = gpo.pipeline_create(device, gpo.PipelineOptions(stages=[stage]))
gpo.pipeline_start(pipeline, gpo.Source(kind=gpo.SOURCE_CALLBACK, fill=lambda *_: time.sleep(0.001)), gpo.Sink())
"""


def comes(true, seconds=20):
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            return False
        time.sleep(0.002)
    return True


def goes(*references):
    """What weak references lead to is collected."""
    return comes(lambda: gc.collect() >= 0 and not any(one() for one in references))


def is_closed(copy):
    try:
        gpo.object_get_label(copy)
    except gpuorch.Error as error:
        return error.status in (gpo.STALE_HANDLE, gpo.INVALID_HANDLE)
    return False


def copied(handle):
    """A handle that owns nothing."""
    return type(handle)(handle.value)


def raises(status, call, *arguments):
    try:
        call(*arguments)
    except gpuorch.Error as error:
        assert error.status == status, error
        return
    raise AssertionError(f"{status} was not raised")


class World:
    """A runtime with a device and a stream. `log`: the lines of its log."""

    def __init__(self):
        log = self.log = []
        self.runtime = gpo.runtime_create(gpo.RuntimeOptions(
            device=DEVICE, log=lambda level, text: log.append(text.decode()), log_level=gpo.LOG_WARNING))
        self.device = gpo.device_open(self.runtime)
        self.stream = gpo.stream_create(self.device)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for handle in (self.stream, self.device, self.runtime):
            handle.close()

    def objects(self):
        return gpo.runtime_get_statistics(self.runtime).live_objects


def pipeline(w, enqueue=lambda *_: None):
    stage = gpo.Stage(kind=gpo.STAGE_CALLBACK, enqueue=enqueue)
    return gpo.pipeline_create(w.device, gpo.PipelineOptions(stages=[stage]))


def each_kind_of_handle_that_is_dropped_is_destroyed():
    def graph(w):
        return gpo.graph_create(gpo.template_create(w.device))

    def symmetric(w):
        return gpo.symmetric_allocate(gpo.peers_create([w.device]), 4096)

    def scheduler(w):
        queue = gpo.queue_create(w.device, gpo.QueueOptions(kind=gpo.QUEUE_RING, task_size=16))
        source = """#include <gpuorch/device/scheduler.cuh>
            struct task { unsigned handler; };
            __device__ int visit(gpo::task_context &, const task &) { return 0; }"""
        options = gpo.SchedulerOptions(form=gpo.SCHEDULER_RESIDENT, queue=queue, source=source, multiprocessors=1)
        return gpo.scheduler_create(w.device, options, [gpo.Handler(name="visit")])

    kinds = {
        "Device": lambda w: gpo.device_open(w.runtime), "Stream": lambda w: gpo.stream_create(w.device),
        "StreamPool": lambda w: gpo.stream_pool_create(w.device), "Event": lambda w: gpo.event_create(w.device),
        "Timeline": lambda w: gpo.timeline_create(w.runtime), "Cq": lambda w: gpo.cq_create(w.runtime),
        "Arena": lambda w: gpo.arena_create(w.device), "Pool": lambda w: gpo.pool_create(w.device),
        "Module": lambda w: gpo.module_load_builtin(w.device),
        "Kernel": lambda w: gpo.module_get_kernel(gpo.module_load_builtin(w.device), "gpo_fill_u32"),
        "Pipeline": pipeline, "Executor": lambda w: gpo.executor_create(w.runtime),
        "Template": lambda w: gpo.template_create(w.device), "Graph": graph,
        "Buckets": lambda w: gpo.buckets_create(w.device, gpo.BucketsOptions(shapes=[1], record=lambda *_: None)),
        "Queue": lambda w: gpo.queue_create(w.device, gpo.QueueOptions(kind=gpo.QUEUE_RANGE, count=10)),
        "Scheduler": scheduler, "Peers": lambda w: gpo.peers_create([w.device]), "Symmetric": symmetric,
        "Admission": lambda w: gpo.admission_create(w.runtime),
        "Batcher": lambda w: gpo.batcher_create(gpo.BatcherOptions(devices=[w.device])),
    }
    all_kinds = {kind.__name__ for kind in gpuorch.Handle.__subclasses__() if kind._library is gpo}
    assert kinds.keys() | {"Runtime"} == all_kinds
    with World() as w:
        before = w.objects()
        for name, make in kinds.items():
            made = make(w)
            copy = copied(made)
            gc.collect()
            assert type(made).__name__ == name and not is_closed(copy) and w.objects() > before, name
            del made
            assert comes(lambda: is_closed(copy) and w.objects() == before), (name, w.objects(), before)
        left = w.log[:]
    assert not left and not w.log, (left, w.log)


def what_does_not_wait_is_destroyed_at_once():
    with World() as w:
        for make in (gpo.stream_create, gpo.event_create, gpo.arena_create):
            made = make(w.device)
            copy = copied(made)
            del made
            assert is_closed(copy), make


def a_runtime_ends_after_all_that_was_made_from_it():
    log = []
    for order in ((0, 1, 2, 3), (3, 2, 1, 0), (1, 3, 0, 2)):
        w = World()
        made = [w.runtime, w.device, w.stream, gpo.graph_create(gpo.template_create(w.device))]
        runtime, graph, log = copied(w.runtime), copied(made[3]), w.log
        del w
        for place in order:
            assert not is_closed(runtime), order
            made[place] = None
        assert comes(lambda: is_closed(runtime)) and is_closed(graph), order
        assert not log, log
    w = World()
    log, stream = w.log, w.stream
    w.runtime.close()  # the log does say what a runtime has to free by itself
    assert any("stream" in line for line in log), log


def a_cycle_is_destroyed_in_the_right_order_too():
    class Node:
        pass

    for first in range(3):
        w, node = World(), Node()
        options = gpo.BucketsOptions(shapes=[1], record=lambda *_: node)
        made = [w.runtime, w.stream, gpo.buckets_create(w.device, options)]
        del options
        node.made, node.itself = made[first:] + made[:first], node
        runtime, log, there = copied(w.runtime), w.log, weakref.ref(node)
        del w, node, made
        assert goes(there) and comes(lambda: is_closed(runtime)) and not log, (first, log)


def a_device_works_whose_runtime_was_dropped():
    stream = gpo.stream_create(gpo.device_open(gpo.runtime_create(gpo.RuntimeOptions(device=DEVICE))))
    gc.collect()
    gpo.stream_wait(stream, -1)
    stream.close()


def a_handle_that_was_closed_is_not_destroyed_again():
    with World() as w:
        closed, destroyed, by_copy = (gpo.stream_create(w.device) for _ in range(3))
        closed.close()
        closed.close()
        gpo.stream_destroy(destroyed)
        gpo.stream_destroy(copied(by_copy))
        with gpo.stream_create(w.device) as left:
            pass
        raises(gpo.INVALID_ARGUMENT, gpo.fill, w.stream, 7, 0, 4, 100)
        del closed, destroyed, by_copy, left
        gc.collect()
        error = gpo.Error()
        gpo.last_error.call(ctypes.byref(error))
        assert error.function == b"gpo_fill", error.function  # no call has failed since
    w.runtime.close()


def a_copy_owns_nothing():
    with World() as w:
        copy = copied(w.stream)
        del copy
        gc.collect()
        gpo.stream_wait(w.stream, -1)


def what_options_name_stays_until_they_are_used():
    with World() as w:
        def builtin():
            return gpo.module_get_kernel(gpo.module_load_builtin(w.device), "gpo_fill_u32")

        device, host = gpo.memory_allocate(w.device, 64), array.array("I", bytes(64))
        with gpo.peers_create([gpo.device_open(w.runtime)]) as peers:
            stream = gpo.stream_create(w.device)
            launch = gpo.RankLaunch(kernel=builtin(), stream=stream, arguments=[device, 7, 16],
                                    launch=gpo.Launch(grid=(1,), block=(16,)))
            copy = copied(stream)
            del stream
            gc.collect()
            gpo.peers_launch(peers, [launch])
            del launch
            gc.collect()
            assert is_closed(copy)
        gpo.device_wait(w.device, -1)
        gpo.copy_to_host(w.stream, host, device)
        gpo.stream_wait(w.stream, -1)
        assert set(host) == {7}, host


def a_stream_of_a_pool_goes_back_to_the_pool():
    with World() as w:
        with gpo.stream_pool_create(w.device, gpo.StreamPoolOptions()) as pool:
            taken = gpo.stream_pool_acquire(pool, 0)
            copy = copied(taken)
            taken.close()
            raises(gpo.INVALID_ARGUMENT, gpo.stream_pool_release, pool, copy)
            taken = gpo.stream_pool_acquire(pool, 0)
            copy = copied(taken)
            gpo.stream_query(copy)
            del taken
            raises(gpo.INVALID_ARGUMENT, gpo.stream_pool_release, pool, copy)
        pool = gpo.stream_pool_create(w.device)
        taken = gpo.stream_pool_acquire(pool, 0)
        del pool
        gc.collect()
        gpo.stream_wait(taken, -1)


def a_pending_callback_keeps_its_executor():
    with World() as w, gpo.timeline_create(w.runtime) as timeline:
        got, called = [], threading.Event()
        gpo.stream_wait_timeline(w.stream, timeline, 1)
        gpo.stream_then(w.stream, gpo.executor_create(w.runtime),
                        lambda completion, _: (got.append(completion.status), called.set()))
        before = w.objects()
        gc.collect()
        assert w.objects() == before
        gpo.timeline_signal(timeline, 1)
        assert called.wait(20) and got == [gpo.SUCCESS], got
        assert comes(lambda: w.objects() == before - 1), "the executor"


def a_callback_that_waits_for_its_time_keeps_its_executor():
    with World() as w:
        got, called, before = [], threading.Event(), w.objects()
        copy = copied(executor := gpo.executor_create(w.runtime))
        ticket = gpo.executor_post_at(executor, 2**64 - 1,
                                      lambda completion, _: (got.append(completion.status), called.set()))
        del executor
        gc.collect()
        assert w.objects() == before + 1 and not called.is_set()
        gpo.executor_cancel(copy, ticket)
        assert called.wait(20) and got == [gpo.CANCELLED], got
        assert comes(lambda: w.objects() == before), "the executor"


def callbacks_of_an_executor_that_nobody_can_run_are_called_when_it_is_collected():
    with World() as w, gpo.timeline_create(w.runtime) as timeline:
        executor = gpo.executor_create(w.runtime, gpo.ExecutorOptions(flags=gpo.EXECUTOR_CALLER))
        copy, got, here = copied(executor), [], threading.get_ident()
        gpo.stream_wait_timeline(w.stream, timeline, 1)

        def call(completion, error, cycle=[executor]):
            got.append((completion.status, threading.get_ident() == here))
        gpo.stream_then(w.stream, executor, call)
        there = weakref.ref(call)
        del executor, call
        assert goes(there) and comes(lambda: is_closed(copy)) and got == [(gpo.CANCELLED, False)], got
        gpo.timeline_signal(timeline, 1)
        gpo.stream_wait(w.stream, -1)


class Leads:
    """A callback that leads to what calls it. `answer`: what it returns."""

    def __init__(self, answer=None):
        self.to, self.calls, self.answer = [], 0, answer

    def __call__(self, *_):
        self.calls += 1
        return self.answer


def an_object_that_its_own_callbacks_lead_to_is_collected():
    def then(w, call):
        executor = gpo.executor_create(w.runtime)
        gpo.stream_then(w.stream, executor, call)
        gpo.event_record(event := gpo.event_create(w.device), w.stream)
        gpo.event_then(event, executor, call)
        return [executor, event], 2

    def host_call(w, call):
        executor = gpo.executor_create(w.runtime)
        gpo.stream_host_call(w.stream, executor, call)
        return [executor], 1

    def host_node(w, call):
        template = gpo.template_create(w.device)
        gpo.template_add_host_call(template, None, 0, call)
        graph = gpo.graph_create(template)
        gpo.graph_launch(graph, w.stream)
        return [template, graph], 1

    def recorded(w, call):
        buckets = gpo.buckets_create(w.device, gpo.BucketsOptions(shapes=[4], record=call))
        gpo.buckets_launch(buckets, w.stream, 1, None, 0, 0)
        return [buckets], 1

    def ran(w, call):
        made = pipeline(w, call)
        gpo.pipeline_start(made, gpo.Source(memory=bytes(64), kind=gpo.SOURCE_MEMORY),
                           gpo.Sink(kind=gpo.SINK_CALLBACK, take=call))
        return [made], 2

    def logged(w, call):
        runtime = gpo.runtime_create(gpo.RuntimeOptions(device=DEVICE, log=call, log_level=gpo.LOG_DEBUG))
        gpo.stream_wait(gpo.stream_create(gpo.device_open(runtime)), -1)
        return [runtime], 1

    for use in (then, host_call, host_node, recorded, ran, logged):
        w, call = World(), Leads()
        made, calls = use(w, call)
        call.to = [w, call, made]
        runtime, there = copied(w.runtime), [weakref.ref(one) for one in (call, w, *made)]
        del w, made
        assert comes(lambda: call.calls >= calls), (use, call.calls)
        del call
        assert goes(*there) and comes(lambda: is_closed(runtime)), use
    assert comes(lambda: not gpo.owed and not gpo.runs), (gpo.owed, gpo.runs)


def a_pipeline_that_runs_is_not_collected():
    with World() as w:
        before, taken, begun, go_on = w.objects(), [], threading.Event(), threading.Event()

        def start():
            def enqueue(stream, chunk):
                gpo.launch(stream, kernel, [1], [1], chunk.output_address, 5, chunk.bytes // 4)

            def take(chunk):
                begun.set()
                go_on.wait(20)
                taken.append((ctypes.string_at(chunk.output, chunk.output_bytes), made.value and True))
            kernel = gpo.module_get_kernel(gpo.module_load_builtin(w.device), "gpo_fill_u32")
            made = pipeline(w, enqueue)
            gpo.pipeline_start(made, gpo.Source(memory=bytes(64), kind=gpo.SOURCE_MEMORY),
                               gpo.Sink(kind=gpo.SINK_CALLBACK, take=take))
            return weakref.ref(take), weakref.ref(made)

        there = start()
        assert begun.wait(20)
        gc.collect()
        assert all(one() for one in there)
        go_on.set()
        assert goes(*there) and taken == [(b"\5\0\0\0" * 16, True)], taken
        assert comes(lambda: w.objects() == before)


def what_a_program_may_still_use_stays_until_the_runtime_ends():
    """The module can't see what uses an address, a native object or a device's handle."""
    def queue(w):
        made = gpo.queue_create(w.device, gpo.QueueOptions(kind=gpo.QUEUE_RANGE, count=10))
        return made, gpo.queue_get_device_handle(made)

    def symmetric(w):
        made = gpo.symmetric_allocate(gpo.peers_create([w.device]), 4096)
        return made, gpo.symmetric_get_address(made, 0)

    def template(w):
        made = gpo.template_create(w.device)
        return made, gpo.template_allocate(made, 4096)

    def ring(w):
        made = gpo.queue_create(w.device, gpo.QueueOptions(kind=gpo.QUEUE_RING, task_size=16))
        return made, gpo.queue_push(made, w.stream, bytes(16), count=1, priority=0) is None

    for make in (queue, ring, symmetric, template):
        w = World()
        made, told = make(w)
        assert told, make
        copy, runtime = copied(made), copied(w.runtime)
        del made
        gc.collect()
        assert not comes(lambda: is_closed(copy), 0.2), make
        del w
        assert comes(lambda: is_closed(copy) and is_closed(runtime)), make


def handles_may_be_dropped_inside_callbacks():
    with World() as w:
        before, copies = w.objects(), []

        def drop(*_):
            for make in (gpo.stream_create, gpo.template_create, gpo.event_create):
                copies.append(copied(make(w.device)))
        executor = gpo.executor_create(w.runtime)
        gpo.stream_then(w.stream, executor, drop)
        assert comes(lambda: len(copies) == 3 and all(map(is_closed, copies)))

        held = [gpo.stream_create(w.device), gpo.event_create(w.device)]  # in a host node most calls are refused
        copies = [copied(one) for one in held]
        template = gpo.template_create(w.device)
        gpo.template_add_host_call(template, None, 0, held.clear)
        gpo.graph_launch(gpo.graph_create(template), w.stream)
        assert comes(lambda: all(map(is_closed, copies)))
        del template, executor
        assert comes(lambda: w.objects() == before), (w.objects(), before)


def a_runtime_may_be_dropped_inside_its_own_callback():
    def start():
        w = World()
        gpo.stream_then(w.stream, gpo.executor_create(w.runtime), lambda *_: dropped.append(w))
        return copied(w.runtime)

    dropped = []
    runtime = start()
    assert comes(lambda: dropped)
    assert not is_closed(runtime)
    dropped.clear()
    assert comes(lambda: gc.collect() >= 0 and is_closed(runtime))


def threads_may_drop_at_the_same_time():
    with World() as w:
        before = w.objects()

        def work():
            for _ in range(50):
                kept = [gpo.stream_create(w.device), gpo.template_create(w.device), gpo.executor_create(w.runtime)]
                kept.append(kept)
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert comes(lambda: gc.collect() >= 0 and w.objects() == before), (w.objects(), before)


def completions_that_are_dropped_close_their_descriptor():
    def descriptors():
        return len(os.listdir("/proc/self/fd"))

    async def leave():
        await gpuorch.Completions(gpo, w.runtime).stream(w.stream)

    with World() as w:
        before, objects = descriptors(), w.objects()
        asyncio.run(leave())
        assert comes(lambda: gc.collect() >= 0 and descriptors() == before and w.objects() == objects), w.objects()


def the_closing_thread_ends_when_there_is_nothing_to_do():
    def threads():
        return len(os.listdir("/proc/self/task"))

    with World() as w:
        before = threads()
        for _ in range(10):
            gpo.template_create(w.device)
        assert comes(lambda: threads() <= before), (threads(), before)


def run(code, *options, **settings):
    """(exit code, output, errors) of a process."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run([sys.executable, *options, "-c", START + code], env={**plain, **settings}, timeout=60,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def a_forked_child_destroys_nothing():
    for options in ((), ("-X", "dev")):
        got = run(OBJECTS + """
import warnings
warnings.filterwarnings("ignore", ".*use of fork", DeprecationWarning)  # of Python 3.12 and newer, in a process with threads
cycle = [gpo.stream_create(device)]
cycle.append(cycle)
sys.stdout.flush()
child = os.fork()
if child == 0:
    del stream, event, cq, executor, graph, cycle, device, runtime
    gc.collect()
    sys.exit(5)
print('child', os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
gpo.fill(stream, memory, 1, 4, 1 << 18)
gpo.stream_wait(stream, -1)
gpo.graph_launch(graph, stream)
cycle.clear()
objects = gpo.runtime_get_statistics(runtime).live_objects
del event
assert gpo.runtime_get_statistics(runtime).live_objects == objects - 1
runtime.close()
cq.close()
""", *options)
        assert got[:2] == (0, "child 5\n"), got
        assert "Traceback" not in got[2] and (options or not got[2]), got[2]
        assert got[2].count(": unclosed") == (3 if options else 0), got[2]  # in the parent: template, stream, event


def programs_end_in_peace_with_live_objects():
    ends = {"globals": "", "a cycle": "cycle = [globals()]\ncycle.append(cycle)", "an exit": "sys.exit(0)",
            "dropped just before": "del stream, event, cq, executor, graph, device, runtime",
            "collected just before": "del stream, event, cq, executor, graph, device, runtime\ngc.collect()",
            "on another thread": "threading.Thread(target=lambda: sys.exit(3)).start()",
            "with an atexit of its own": "import atexit\n@atexit.register\ndef drop():\n"
                                         "    global runtime, stream, device\n    del runtime, stream, device"}
    # Loops on all processors, so that threads are slow to end.
    load = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
    try:
        for name, code in ends.items():
            for objects in (OBJECTS, BUSY):
                wrong = [got for got in (run(objects + code) for _ in range(20 if objects is BUSY and not code else 2))
                         if got != (0, "", "")]
                assert not wrong, (name, wrong[0], len(wrong))
    finally:
        for one in load:
            one.kill()
            one.wait()


def development_mode_names_what_was_not_closed():
    code = OBJECTS + """
number = f"{stream.value:#x}"
with gpo.stream_create(device) as closed:
    pass
explicit = gpo.event_create(device)
gpo.event_destroy(explicit)
del closed, explicit
print(number)
del stream  # line
gc.collect()
print('end', file=sys.stderr, flush=True)
runtime.close()
cq.close()
del event, executor, graph, device  # these were closed with the runtime
gc.collect()
"""
    code_, out, errors = run(code, "-X", "dev")
    lines = [line for line in errors.split("end\n")[0].splitlines() if ": unclosed" in line]
    number = out.strip()
    assert code_ == 0 and len(lines) == 2, (code_, errors)  # the template was dropped first
    assert "ResourceWarning: unclosed <gpuorch Template 0x" in lines[0], lines
    assert f"ResourceWarning: unclosed <gpuorch Stream {number}>" in lines[1], lines
    assert "<string>:" in lines[1], lines  # the line of the program
    assert "unclosed" not in errors.split("end\n")[1], errors
    code_, out, errors = run(OBJECTS, "-X", "dev")  # at exit
    names = " ".join(sorted(re.findall(r": unclosed <gpuorch (\w+)", errors)))
    assert code_ == 0 and names == "Cq Device Event Executor Graph Runtime Stream Template", errors
    assert run(code)[::2] == (0, "end\n")  # without it: nothing
    code_, out, errors = run(code.replace("gc.collect()", ""), "-W", "error")
    assert code_ == 0 and "Exception ignored" in errors and "Stream" in errors, errors


def a_deterministic_runtime_that_is_dropped_ends_with_the_program():
    got = run("""
runtime = gpo.runtime_create(gpo.RuntimeOptions(device="soft", schedule_seed=7))
stream = gpo.stream_create(gpo.device_open(runtime))
del runtime, stream
gc.collect()
""")
    assert got == (0, "", ""), got


def main():
    here = sys.modules[__name__]
    tests = [one for name, one in inspect.getmembers(here, inspect.isfunction)
             if one.__module__ == here.__name__ and name.count("_") > 1 and not inspect.signature(one).parameters]
    for test in sorted(tests, key=lambda one: one.__code__.co_firstlineno):
        name = test.__name__.replace("_", " ")
        if len(sys.argv) > 1 and sys.argv[1] not in name:
            continue
        try:
            test()
            print(f"PASS {name}", flush=True)
        except Exception as error:
            line = error.__traceback__.tb_next.tb_lineno if error.__traceback__.tb_next else 0
            print(f"FAIL {name}: line {line}: {type(error).__name__}: {error}", flush=True)


main()
