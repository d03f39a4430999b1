#!/usr/bin/env python3
"""The package gpuorch: objects, how they are made, closed and collected in any order, at exit and after fork; failures as
exceptions; which library is used. On the device of GPUORCH_DEVICE; PYTHONPATH leads to the package."""
import ast
import copy
import gc
import inspect
import json
import os
import pathlib
import pickle
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings
import weakref

ROOT = pathlib.Path(__file__).resolve().parents[4]
DEVICE = os.environ.get("GPUORCH_DEVICE", "soft")
import gpuorch

LIBRARY = os.environ.get("GPUORCH_LIBRARY") or gpuorch.library().path
REAL = os.environ.get("GPUORCH_COUNTED_LIBRARY") or LIBRARY  # LIBRARY may be the one that counts calls
START = """
import gc, os, sys, threading, time, warnings, weakref
import gpuorch
"""
OBJECTS = START + f"""
runtime = gpuorch.Runtime(device={DEVICE!r})
device = runtime.device_open()
stream, event, cq = device.stream_create(label="upload"), device.event_create(), runtime.cq_create()
executor = runtime.executor_create()
template = device.template()
memory = device.memory_allocate("u32", 1 << 18)
"""
# Work under way, callbacks that go on for as long as they can, and a pipeline whose source has no end.
BUSY = OBJECTS + """
caller = runtime.executor_create(flags=gpuorch.EXECUTOR_CALLER)
def again(*_, stream=stream, caller=caller):
    try:
        stream.then(caller, again)
    except (gpuorch.Error, ValueError):
        pass
again()
for number in range(20):
    stream.fill(memory, number)
    stream.notify(cq, number)
pipeline = device.pipeline_create(stages=[{"kind": gpuorch.STAGE_CALLBACK, "enqueue": lambda *_: None}], executor=caller)
pipeline.start({"kind": gpuorch.SOURCE_CALLBACK, "fill": lambda *_: time.sleep(0.001)}, {})
"""


class Skip(Exception):
    """A test that can't be done here, and why."""


def raises(kind, call, /, *arguments, **named):
    try:
        call(*arguments, **named)
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} was not raised")


def refused(kind, words, call, /, *arguments, **named):
    """The call raises this kind, and the message has these words."""
    message = str(raises(kind, call, *arguments, **named))
    assert words in message, message


def comes(true, seconds=20):
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            return False
        time.sleep(0.002)
    return True


def run(code, *options, **settings):
    """(exit code, output, errors) of a process."""
    unwanted = ("PYTHONDEVMODE", "PYTHONDONTWRITEBYTECODE")
    environment = {name: value for name, value in os.environ.items() if name not in unwanted}
    done = subprocess.run([sys.executable, *options, "-c", code], env={**environment, **settings}, timeout=60,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


class World:
    def __init__(self):
        self.runtime = gpuorch.Runtime(device=DEVICE)
        self.device = self.runtime.device_open()
        self.stream = self.device.stream_create(label="upload")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for one in (self.stream, self.device, self.runtime):
            one.close()

    def objects(self):
        return self.runtime.statistics().live_objects


class Thing:
    """Something that a weak reference can lead to."""


def held(w, stream=None):
    """A stream that waits for the value 1 of a timeline, with work behind it that uses an object: timeline, stream, and a
    weak reference to the object."""
    timeline, stream = w.runtime.timeline_create(), stream or w.device.stream_create()
    stream.wait_timeline(timeline, 1)
    memory = w.device.memory_allocate("u32", 16)
    source = Bytes(range(64))
    stream.copy_to_device(memory, source)
    return timeline, stream, weakref.ref(source)


class Function:
    """A function that a weak reference can lead to."""
    calls = 0

    def __call__(self, *_):
        self.calls += 1


class Bytes(bytearray):
    """Host memory that a weak reference can lead to."""


# --- what objects are ---


def every_object_says_what_it_is():
    with World() as w:
        texts = [repr(w.runtime), repr(w.device), repr(w.stream), repr(w.runtime.timeline_create(label="steps"))]
        ordinal = w.device.properties().native_ordinal
        assert texts == ["<gpuorch.Runtime>", f"<gpuorch.Device {ordinal}>",
                         f'<gpuorch.Stream "upload" of device {ordinal}>', '<gpuorch.Timeline "steps">'], texts
    assert repr(w.stream) == "<gpuorch.Stream, closed>", repr(w.stream)


def labels_are_read_and_set():
    with World() as w:
        assert w.stream.label == "upload"
        w.stream.label = "höher"
        assert w.stream.label == "höher" and '"höher"' in repr(w.stream)
        w.stream.label = None
        assert w.stream.label == "" and '"' not in repr(w.stream)
        refused(TypeError, "label", setattr, w.stream, "label", 3)
        refused(ValueError, "null", setattr, w.stream, "label", "a\0b")


def objects_have_parents_attributes_weak_references_and_no_copies():
    with World() as w:
        assert w.stream.device is w.device and w.stream.runtime is w.runtime and w.runtime.device is None
        w.stream.mine = 1
        there = weakref.ref(w.stream)
        assert there() is w.stream and w.stream in {w.stream} and w.stream != w.device
        refused(TypeError, "Stream can't be copied or pickled", copy.copy, w.stream)
        refused(TypeError, "Stream can't be copied or pickled", pickle.dumps, w.stream)
        raises(TypeError, gpuorch.Stream)


def a_runtime_is_made_from_keywords():
    refused(TypeError, "nonsense", gpuorch.Runtime, nonsense=1)
    refused(gpuorch.InvalidArgument, "device", gpuorch.Runtime, device="nonsense")

    class Mine(gpuorch.Runtime):
        pass
    with Mine(device=DEVICE, label="mine") as runtime:
        assert type(runtime) is Mine and runtime.label == "mine" and type(runtime.device_open()) is gpuorch.Device


def a_function_of_python_gets_the_log():
    got = []
    with gpuorch.Runtime(device=DEVICE, log=lambda *line: got.append(line), log_level=gpuorch.LOG_DEBUG) as one:
        one.device_open().stream_create()
    assert got and all(level in range(1, 5) and isinstance(text, str) and text for level, text in got), got
    refused(TypeError, "log", gpuorch.Runtime, log="stderr")


# A log function that makes objects, closes one, and collects, in every call that logs.
LOGGING = START + f"""
def log(level, text):
    said.append(text)
    if text.startswith("gpo_"):
        with device.event_create(), other.cq_create():
            gc.collect()
said, other = [], gpuorch.Runtime(device={DEVICE!r})
runtime = gpuorch.Runtime(device={DEVICE!r}, log=log, log_level=gpuorch.LOG_INFO)
device = runtime.device_open()
stream = device.stream_create()
def started():
    pipeline = device.pipeline_create(stages=[{{"kind": gpuorch.STAGE_CALLBACK, "enqueue": lambda *_: None}}],
                                      executor=runtime.executor_create(flags=gpuorch.EXECUTOR_CALLER))
    pipeline.start({{"kind": gpuorch.SOURCE_CALLBACK, "fill": lambda *_: 0}}, {{}})
    return pipeline
"""


def a_log_function_may_make_and_close_objects_inside_every_call():
    odd = pathlib.Path(os.environ.get("GPUORCH_BUILD", "/none")) / "tests/libgpuorch_odd.so"
    if not odd.exists():
        raise Skip(f"{odd} isn't built")

    def said(code):
        code, out, errors = run(LOGGING + code, GPUORCH_LIBRARY=str(odd), GPUORCH_ODD="logging",
                                GPUORCH_COUNTED_LIBRARY=REAL)
        assert code == 0 and not errors, (code, out, errors)
        return out.split()

    assert "gpo_stream_query" in said("""
view = memoryview(device.arena_create().allocate("u8", 64))
stream.copy_to_device(device.memory_allocate("u8", 64), bytes(64))
del said[:]
try:
    runtime.close()
except BufferError:
    print(*set(said))
view.release()
runtime.close()
""")
    assert {"gpo_pipeline_cancel", "gpo_pipeline_destroy"} <= set(said("""
started().close()
runtime.close()
print(*set(said))
"""))
    assert "gpo_pipeline_cancel" in said("""
import atexit
pipeline = started()
atexit.unregister(gpuorch._gpuorch.end)
atexit.register(lambda: print(*set(said)))
atexit.register(gpuorch._gpuorch.end)
""")


def names_of(tree, name):
    """The names that a class of the stubs has, with those of the classes that it is derived from."""
    found = [one for one in tree.body if isinstance(one, ast.ClassDef) and one.name == name]
    names = set()
    for one in found[0].body if found else ():
        names |= {one.name} if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef)) else set()
        names |= {one.target.id} if isinstance(one, ast.AnnAssign) else set()
    return names.union(*(names_of(tree, base.id) for one in found for base in one.bases if isinstance(base, ast.Name)))


def the_stubs_have_the_names_of_the_package():
    # Members of every class of Python's, or of the extension for Python's sake.
    usual = {"__class__", "__slots__", "__del__", "__delitem__", "__init__", "__new__", "__repr__", "__reduce__",
             "__buffer__", "__release_buffer__"}  # 3.12 has the last two of every class with the buffer protocol

    class Plain:
        pass

    usual |= set(dir(Plain)) | set(dir(Exception)) | set(dir(TimeoutError)) | set(dir(MemoryError))
    tree = ast.parse((pathlib.Path(gpuorch.__file__).parent / "__init__.pyi").read_text())
    classes = [one for one in vars(gpuorch).values() if isinstance(one, type)]
    assert len(classes) > 22, classes
    for kind in classes:
        stubs = names_of(tree, kind.__name__)
        there = {name for one in kind.__mro__ for name in vars(one) if name[0] != "_" or name[:2] == "__"}
        of_objects = {"__buffer__", "__init__", "__new__", "function", "message", "native_code", "object", "status"}
        assert not there - stubs - usual, (kind, there - stubs - usual)
        assert not stubs - there - of_objects, (kind, stubs - there - of_objects)


def wrong_types_and_closed_objects_are_named():
    with World() as w:
        event = w.device.event_create()
        refused(TypeError, "event", w.stream.wait_event, w.stream)
        refused(TypeError, "event", w.stream.wait_event, None)
        event.close()
        refused(ValueError, "event is closed", w.stream.wait_event, event)
        w.stream.close()
        for call in (w.stream.query, w.stream.wait, w.stream.error, lambda: w.stream.label, w.stream.__enter__):
            refused(ValueError, "stream is closed", call)


# --- closing ---


def closing_again_is_no_harm():
    with World() as w:
        before = w.objects()
        assert not w.stream.closed
        w.stream.close()
        assert w.stream.closed and w.objects() == before - 1
        w.stream.close()
        with w.device.stream_create() as stream:
            pass
        assert stream.closed and w.objects() == before - 1


def objects_close_in_any_order():
    for order in ((0, 1, 2, 3), (3, 2, 1, 0), (1, 3, 0, 2), (2, 0, 3, 1)):
        w = World()
        made = [w.runtime, w.device, w.stream, w.device.template()]
        for place in order:
            made[place].close()
        assert all(one.closed for one in made), order


def a_runtime_closes_all_that_was_made_from_it():
    w = World()
    cq = w.runtime.cq_create()
    w.stream.notify(cq, 7)
    w.runtime.close()
    assert w.runtime.closed and w.device.closed and w.stream.closed and not cq.closed
    refused(ValueError, "stream is closed", w.stream.query)
    assert [one.user_data for one in cq.drain()] == [7]  # a queue can be drained to its end
    cq.close()
    assert cq.closed


def handles_of_another_runtime_are_refused():
    with World() as w, World() as other:
        event = other.device.event_create()
        error = raises(gpuorch.Error, w.stream.wait_event, event)
        assert error.function == "gpo_stream_wait_event", vars(error)


def a_runtime_that_does_not_end_in_time_stays_open():
    with World() as w:
        timeline, stream, _ = held(w)
        caller = w.runtime.executor_create(flags=gpuorch.EXECUTOR_CALLER)
        went = threading.Event()
        caller.post(lambda *_: went.wait(0.3) and None)
        thread = threading.Thread(target=caller.run)
        thread.start()
        time.sleep(0.05)
        error = raises(gpuorch.Timeout, w.runtime.shutdown, 0.05)
        assert isinstance(error, TimeoutError) and not w.runtime.closed and error.status == gpuorch.TIMEOUT
        refused(gpuorch.ShutDown, "", w.device.stream_create)
        went.set()
        w.runtime.shutdown(20)
        thread.join()
        assert w.runtime.closed
        w.runtime.shutdown(0)
    refused(TypeError, "", World().runtime.shutdown, "soon")


def a_runtime_may_not_be_closed_inside_its_callback():
    with World() as w:
        caller = w.runtime.executor_create(flags=gpuorch.EXECUTOR_CALLER)
        got = []

        def close(*_):
            got.append(raises(gpuorch.WouldDeadlock, w.runtime.close))
        caller.post(close)
        caller.run()
        assert got and not w.runtime.closed


def objects_may_be_closed_and_dropped_inside_callbacks():
    with World() as w:
        before = w.objects()
        caller = w.runtime.executor_create(flags=gpuorch.EXECUTOR_CALLER)
        there = []

        def drop(*_):
            for make in (w.device.stream_create, w.device.template, w.device.event_create):
                made = make()
                there.append(weakref.ref(made))
            made.close()
            caller.close()
        caller.post(drop)
        raises(gpuorch.Cancelled, caller.run)
        assert len(there) == 3 and caller.closed and comes(lambda: not any(one() for one in there))
        assert comes(lambda: w.objects() == before), (w.objects(), before)


def an_object_may_be_closed_while_another_thread_uses_it():
    with World() as w:
        timeline, stream, _ = held(w)
        got = []

        def wait():
            try:
                stream.wait(20)
            except (gpuorch.Error, ValueError) as error:
                got.append(error)
        thread = threading.Thread(target=wait)
        thread.start()
        time.sleep(0.05)
        stream.close()
        timeline.signal(1)
        thread.join(20)
        assert not thread.is_alive(), got
        threads = [threading.Thread(target=one.close) for one in [w.device.stream_create()] * 8 + [w.runtime] * 4]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert w.runtime.closed


def a_stream_of_a_pool_goes_back_to_the_pool():
    with World() as w:
        with w.device.stream_pool_create(streams=1) as pool:
            first = pool.acquire()
            assert type(first) is gpuorch.Stream
            native = first.info()
            first.close()
            first.close()
            assert first.closed
            with pool.acquire() as second:
                second.query()
                del second
            third = pool.acquire()
            assert third.parent is pool
            pool.release(third)
            assert third.closed
            pool.release(third)
            raises(gpuorch.InvalidArgument, pool.release, w.stream)
            raises(TypeError, pool.release, w.device)
            taken = pool.acquire()
        assert native is not None
        taken.close()  # after its pool
        assert taken.closed


# --- collecting ---


def each_kind_of_object_that_is_dropped_is_destroyed():
    kinds = {
        "Device": lambda w: w.runtime.device_open(), "Stream": lambda w: w.device.stream_create(),
        "StreamPool": lambda w: w.device.stream_pool_create(), "Event": lambda w: w.device.event_create(),
        "Timeline": lambda w: w.runtime.timeline_create(), "CompletionQueue": lambda w: w.runtime.cq_create(),
        "Arena": lambda w: w.device.arena_create(), "Pool": lambda w: w.device.pool_create(),
        "Module": lambda w: w.device.module_load_builtin(),
        "Kernel": lambda w: w.device.module_load_builtin().kernel("gpo_fill_u32"),
        "Pipeline": lambda w: pipeline(w), "Executor": lambda w: w.runtime.executor_create(),
        "Template": lambda w: w.device.template(), "Graph": lambda w: w.device.template().graph(),
        "Buckets": lambda w: w.device.buckets(shapes=[1], record=lambda *_: None),
        "Queue": lambda w: w.device.queue(kind=gpuorch.QUEUE_RANGE, count=10),
        "Peers": lambda w: w.runtime.peers([w.device]),
        "Symmetric": lambda w: w.runtime.peers([w.device]).allocate(4096),
        "Admission": lambda w: w.runtime.admission_create(), "Batcher": lambda w: w.runtime.batcher(devices=[w.device]),
    }
    others = {kind.__name__ for kind in vars(gpuorch).values()
              if isinstance(kind, type) and issubclass(kind, gpuorch.Handle)} - kinds.keys()
    assert others == {"Handle", "Runtime", "Scheduler"}, others
    with World() as w:
        before = w.objects()
        for name, make in kinds.items():
            made = make(w)
            there = weakref.ref(made)
            gc.collect()
            assert type(made).__name__ == name and w.objects() > before, name
            del made
            assert there() is None and comes(lambda: w.objects() == before), (name, w.objects(), before)


def what_does_not_wait_is_destroyed_at_once():
    with World() as w:
        for make in (w.device.stream_create, w.device.event_create, w.device.arena_create):
            before, made = w.objects(), make()
            del made
            assert w.objects() == before, make


def a_cycle_is_destroyed_and_its_runtime_last():
    for first in range(3):
        w, node = World(), Thing()
        made = [w.runtime, w.stream, w.device.template()]
        node.made, node.itself = made[first:] + made[:first], node
        w.stream.leads, w.runtime.leads = node, node
        there = [weakref.ref(one) for one in (node, *made)]
        del w, node, made
        assert comes(lambda: gc.collect() >= 0 and not any(one() for one in there)), first
    assert run(START + f"""
for number in range(20):
    runtime = gpuorch.Runtime(device={DEVICE!r})
    device = runtime.device_open()
    runtime.all = [runtime, device, device.stream_create(), device.template(), device.template().graph()]
    del runtime, device
    gc.collect()
""", GPUORCH_LOG="warning") == (0, "", "")  # the log warns of what a runtime has to free by itself


def a_device_works_whose_runtime_was_dropped():
    stream = gpuorch.Runtime(device=DEVICE).device_open().stream_create()
    gc.collect()
    stream.wait()
    stream.close()


def threads_may_drop_at_the_same_time():
    with World() as w:
        before = w.objects()

        def work():
            for _ in range(50):
                kept = [w.device.stream_create(), w.device.template(), w.runtime.timeline_create()]
                kept[0].leads = kept
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert comes(lambda: gc.collect() >= 0 and w.objects() == before), (w.objects(), before)


def the_closing_thread_ends_when_there_is_nothing_to_do():
    def threads():
        return len(os.listdir("/proc/self/task"))

    with World() as w:
        before = threads()
        for _ in range(10):
            w.device.template()
        assert comes(lambda: threads() <= before), (threads(), before)


def functions_are_dropped_once_they_have_run():
    with World() as w, w.runtime.executor_create(flags=gpuorch.EXECUTOR_CALLER) as executor:
        functions = [Function() for _ in range(3)]
        left = [weakref.ref(function) for function in functions]
        executor.post(functions[0])
        w.stream.then(executor, functions[1])
        w.stream.host_call(executor, functions[2])
        assert comes(lambda: executor.poll() is not None and all(function.calls for function in functions))
        functions.clear()
        gc.collect()
        assert not any(one() for one in left), left
        w.stream.wait()


def objects_that_are_made_by_half_are_destroyed():
    try:
        import _testcapi
    except ImportError:
        raise Skip("this Python has no _testcapi") from None
    with World() as w:
        before, failures = w.objects(), 0
        for make in (lambda: w.runtime.executor_create(flags=gpuorch.EXECUTOR_CALLER), w.device.stream_create,
                     lambda: w.device.queue(kind=gpuorch.QUEUE_RING, task_size=16, capacity=64)):
            for number in range(60):
                made = None
                _testcapi.set_nomemory(number, number + 1)
                try:
                    made = make()
                except (MemoryError, gpuorch.Error):
                    failures += 1
                finally:
                    _testcapi.remove_mem_hooks()
        made = None
        gc.collect()
        assert failures and comes(lambda: w.objects() == before), (failures, w.objects(), before)


def tasks_are_counted_by_their_bytes():
    with World() as w, w.device.queue(kind=gpuorch.QUEUE_RING, task_size=16, capacity=64) as queue:
        for count in (3, 4, 2**60 + 2):
            refused(ValueError, "fewer than count", queue.push, w.stream, bytes(32), count=count)
        refused(ValueError, "multiple", queue.push, w.stream, bytes(33))


def callbacks_of_an_executor_that_nobody_can_run_are_called_when_it_is_collected():
    with World() as w, w.runtime.timeline_create() as timeline:
        executor, got = w.runtime.executor_create(flags=gpuorch.EXECUTOR_CALLER), []
        w.stream.wait_timeline(timeline, 1)

        w.stream.then(executor, lambda completion, error: got.append(completion.status))
        executor.leads = executor
        del executor
        gc.collect()
        assert got == [gpuorch.CANCELLED], got
        timeline.signal(1)
        w.stream.wait()


def an_executor_whose_own_callbacks_lead_back_to_it_is_collected():
    with World() as w, w.runtime.timeline_create() as timeline:
        before, got = w.objects(), []
        w.stream.wait_timeline(timeline, 1)

        def leave():
            executor = w.runtime.executor_create(flags=gpuorch.EXECUTOR_CALLER)

            def done(completion, error):
                got.append((completion.status, executor.closed))
            w.stream.then(executor, done)
            w.stream.host_call(executor, lambda call, kept=executor: got.append(call.status))
            return weakref.ref(executor), weakref.ref(done)
        gone = leave()
        gc.collect()
        assert [one() for one in gone] == [None, None] and w.objects() == before, (got, w.objects(), before)
        assert (gpuorch.CANCELLED, True) in got and gpuorch.CANCELLED in got, got
        timeline.signal(1)


def pending_callbacks_outlive_collections_and_may_collect():
    with World() as w:
        executor, got = w.runtime.executor_create(flags=gpuorch.EXECUTOR_CALLER), []

        def add(number):
            def done(completion, error):
                gc.collect()
                got.append((number, completion.status))
            w.stream.then(executor, done)
        for number in range(5):
            add(number)
            gc.collect()
        executor.run()
        assert got == [(number, gpuorch.SUCCESS) for number in range(5)], got


def buckets_and_runs_whose_functions_lead_back_to_them_are_collected():
    with World() as w:
        before = w.objects()

        def leave():
            found = []
            buckets = w.device.buckets(shapes=[1], record=lambda *_: found)
            job = pipeline(w, lambda *_: found)
            found += [buckets, job]
            return [weakref.ref(one) for one in found]
        gone = leave()
        gc.collect()
        assert comes(lambda: w.objects() == before), (w.objects(), before)

        def are_gone():
            w.runtime.timeline_create().close()
            gc.collect()
            return [one() for one in gone] == [None, None]
        # What a thread closes is kept until a later call makes or closes an object. From 3.15 on weak references show that.
        assert comes(are_gone), gone


def pipeline(w, enqueue=lambda *_: None, **options):
    return w.device.pipeline_create(stages=[{"kind": gpuorch.STAGE_CALLBACK, "enqueue": enqueue}],
                                    executor=w.runtime.executor_create(flags=gpuorch.EXECUTOR_CALLER), **options)


def a_pipeline_that_runs_is_not_collected():
    with World() as w:
        before, taken = w.objects(), []
        executor = w.runtime.executor_create(flags=gpuorch.EXECUTOR_CALLER)

        def begin():
            made = w.device.pipeline_create(stages=[{"kind": gpuorch.STAGE_CALLBACK, "enqueue": lambda *_: None}],
                                            executor=executor)
            source = Bytes(64)
            made.start({"kind": gpuorch.SOURCE_MEMORY, "memory": source},
                       {"kind": gpuorch.SINK_CALLBACK, "take": lambda chunk: taken.append(chunk.output_bytes) and None})
            return weakref.ref(made), weakref.ref(source)

        made, source = begin()
        gc.collect()
        assert made() and source()
        end = time.monotonic() + 20
        while made() and time.monotonic() < end:
            executor.run_for(0.01)
            w.device.event_create()
        assert not made() and not source() and taken == [64], taken
        executor.close()
        assert comes(lambda: w.objects() == before), (w.objects(), before)


def a_pipeline_that_is_closed_during_its_run_keeps_its_memory_until_the_end():
    with World() as w:
        executor = w.runtime.executor_create(flags=gpuorch.EXECUTOR_CALLER)
        made = w.device.pipeline_create(stages=[{"kind": gpuorch.STAGE_CALLBACK, "enqueue": lambda *_: None}],
                                        executor=executor)
        source = Bytes(64)
        there = weakref.ref(source)
        made.start({"kind": gpuorch.SOURCE_MEMORY, "memory": source}, {})
        del source
        made.close()
        del made
        gc.collect()
        assert there()
        end = time.monotonic() + 20
        while there() and time.monotonic() < end:
            executor.run_for(0.01)
            w.device.event_create()
        assert not there()


def what_a_program_may_still_use_stays_until_the_runtime_ends():
    w = World()
    before = w.objects()
    queue = w.device.queue(kind=gpuorch.QUEUE_RANGE, count=10)
    assert queue.device_handle()
    del queue
    gc.collect()
    assert not comes(lambda: w.objects() == before, 0.1)
    w.runtime.close()


def an_executor_waits_for_its_callbacks_to_be_collected():
    with World() as w:
        before = w.objects()
        w.runtime.executor_create()
        assert comes(lambda: w.objects() == before)


# --- what work uses ---


def memory_stays_until_the_work_is_done():
    with World() as w:
        timeline, stream, there = held(w)
        gc.collect()
        assert there()
        timeline.signal(1)
        stream.wait()
        assert there() is None


def memory_stays_although_the_stream_is_closed():
    with World() as w:
        for end in (lambda stream: stream.close(), lambda stream: None):
            timeline, stream, there = held(w)
            end(stream)
            del stream
            gc.collect()
            assert there()
            timeline.signal(1)
            assert comes(lambda: w.device.event_create() and there() is None), end


def memory_goes_with_the_runtime():
    w = World()
    timeline, stream, there = held(w)
    w.runtime.close()
    gc.collect()
    assert there() is None


def memory_that_is_recorded_stays_with_the_template():
    with World() as w:
        template, memory = w.device.template(), w.device.memory_allocate("u32", 16)
        source = w.device.arena_create().allocate("u32", 16)  # a copy that is recorded needs pinned memory
        there = weakref.ref(source)
        template.begin(w.stream)
        w.stream.copy_to_device(memory, source)
        template.end()
        del source
        w.stream.wait()
        gc.collect()
        assert there()
        graph = template.graph()
        del template
        gc.collect()
        assert there()
        graph.launch(w.stream)
        w.stream.wait()
        del graph
        assert comes(lambda: w.device.event_create() and there() is None)


def many_calls_keep_little():
    with World() as w:
        memory, there = w.device.memory_allocate("u32", 16), []
        for _ in range(1000):
            source = Bytes(64)
            w.stream.copy_to_device(memory, source)
            there.append(weakref.ref(source))
        w.stream.wait()
        w.stream.copy_to_device(memory, source)
        assert sum(1 for one in there if one()) < 300


# --- failures ---


def each_status_has_an_exception():
    statuses = json.loads((ROOT / "libgpuorch/abi.json").read_text())["statuses"]
    for one in statuses[1:]:
        name = one["name"].removeprefix("GPO_")
        kind = getattr(gpuorch, "".join(word.capitalize() for word in name.split("_")))
        error = kind(message="so")
        assert issubclass(kind, gpuorch.Error) and (error.status, error.name) == (one["value"], name), name
        assert getattr(gpuorch, name) == one["value"] and kind.__module__ == "gpuorch" and str(error) == "so", name
        words = one["meaning"].split()[:3]
        assert kind.__doc__.lower().split()[:2] == [word.lower() for word in words[:2]], (kind.__doc__, words)
    assert issubclass(gpuorch.Timeout, TimeoutError) and issubclass(gpuorch.OutOfMemory, MemoryError)


def a_failure_names_the_culprit():
    with World() as w:
        memory = w.device.memory_allocate("u32", 16)
        memory.close() if hasattr(memory, "close") else None
        error = raises(gpuorch.InvalidArgument, gpuorch.Runtime, device="nonsense")
        assert error.function == "gpo_runtime_create" and error.status == gpuorch.INVALID_ARGUMENT, vars(error)
        error = raises(gpuorch.NotFound, w.device.module_load_builtin().kernel, "nonsense")
        assert error.name == "NOT_FOUND" and error.object.startswith("module"), vars(error)
        assert error.object in str(error) and error.message in str(error)


def failures_can_be_pickled():
    for kind in (gpuorch.Error, gpuorch.NotFound, gpuorch.Timeout, gpuorch.OutOfMemory):
        error = kind(kind.STATUS or 99, "words", "gpo_fill", "stream `x`", 7)
        error.more = 1
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is kind and vars(again) == vars(error) and str(again) == str(error), vars(again)
        again = copy.copy(error)
        assert vars(again) == vars(error)


def an_object_tells_its_failure():
    with World() as w:
        assert w.stream.error() is None
        timeline = w.runtime.timeline_create()
        timeline.fail(gpuorch.FAILED, "it went wrong")
        error = timeline.error()
        assert isinstance(error, gpuorch.Failed) and "it went wrong" in error.message, error


# --- processes ---


def programs_end_in_peace_with_live_objects():
    names = "stream, event, cq, executor, template, memory, device, runtime"
    ends = {"globals": "", "an exit": "sys.exit(0)",
            "a cycle": "cycle = [globals()]\ncycle.append(cycle)\nstream.leads = cycle",
            "dropped just before": f"del {names}", "collected just before": f"del {names}\ngc.collect()",
            "in a thread": "threading.Thread(target=lambda: sys.exit(3)).start()",
            "a daemon": "threading.Thread(target=lambda: [stream.query() for _ in iter(int, 1)], daemon=True).start()\n"
                        "threading.excepthook = lambda _: None",
            "an atexit of its own": "import atexit\n@atexit.register\ndef drop():\n"
                                    "    global runtime, stream, device\n    del runtime, stream, device"}
    for name, code in ends.items():
        for objects in (OBJECTS, BUSY):
            start = time.monotonic()
            got = run(objects + code)
            assert got == (0, "", ""), (name, objects is BUSY, got)
            assert time.monotonic() - start < 15, name


def development_mode_names_what_was_not_closed():
    code = OBJECTS + """
with device.event_create() as closed:
    pass
del closed
del stream  # line
gc.collect()
print('end', file=sys.stderr, flush=True)
runtime.close()
cq.close()
del event, executor, template, device, memory
gc.collect()
"""
    status, _, errors = run(code, "-X", "dev")
    lines = [line for line in errors.split("end\n")[0].splitlines() if "unclosed" in line and "ResourceWarning" in line]
    assert status == 0 and len(lines) == 1 and 'unclosed <gpuorch.Stream "upload" of device' in lines[0], errors
    assert "<string>:" in lines[0] and "unclosed" not in errors.split("end\n")[1], errors
    status, _, errors = run(OBJECTS, "-X", "dev")  # at exit
    for word in ("Runtime", "Device", "Stream", "Event", "CompletionQueue", "Executor", "Template"):
        assert status == 0 and f"unclosed <gpuorch.{word}" in errors, (word, errors)
    assert run(code) == (0, "", "end\n")  # without it: nothing


def modules_and_kernels_made_on_the_way_need_no_close():
    code = OBJECTS + """
source = 'extern "C" __global__ void one(unsigned *x) { *x = 1; }'
device.module_compile(source).kernel("one")[1, 1, stream](memory)
kernel = device.module_compile(source).kernel("one")
stream.wait()
del kernel
kernel = device.module_compile(source).kernel("one")  # open at exit
"""
    status, _, errors = run(code, "-X", "dev")
    assert status == 0 and "unclosed" in errors and "Kernel" not in errors and "Module" not in errors, errors


def a_forked_child_destroys_nothing():
    got = run(OBJECTS + """
warnings.filterwarnings("ignore", ".*use of fork", DeprecationWarning)  # of Python 3.12 and newer, in a process with threads
cycle = Thing = type("Thing", (), {})()
cycle.all = [cycle, device.stream_create()]
child = os.fork()
if child == 0:
    stream.close()
    assert stream.closed
    del stream, event, cq, executor, template, cycle, Thing, memory
    gc.collect()
    try:
        device.stream_create()
    except gpuorch.Forked:
        sys.exit(5)
    sys.exit(6)
print('child', os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
stream.fill(memory, 1)
stream.wait()
objects = runtime.statistics().live_objects
del event
assert runtime.statistics().live_objects == objects - 1
runtime.close()
cq.close()
""")
    assert got == (0, "child 5\n", ""), got


def a_child_that_was_forked_before_the_first_call_works():
    got = run(START + f"""
if os.fork() == 0:
    with gpuorch.Runtime(device={DEVICE!r}) as runtime:
        runtime.device_open().stream_create().wait()
    os._exit(0)
print(os.waitstatus_to_exitcode(os.wait()[1]))
gpuorch.library()
if os.fork() == 0:
    gpuorch.Runtime(device={DEVICE!r}).close()
    os._exit(0)
print(os.waitstatus_to_exitcode(os.wait()[1]))
gpuorch.Runtime(device={DEVICE!r}).close()
""")
    assert got == (0, "0\n0\n", ""), got


def a_deterministic_runtime_that_is_dropped_ends_with_the_program():
    got = run(START + """
stream = gpuorch.Runtime(device="soft", schedule_seed=7).device_open().stream_create()
del stream
gc.collect()
""")
    assert got == (0, "", ""), got


def ctrl_c_ends_a_shutdown():
    got = run(OBJECTS + """
import signal
caller = runtime.executor_create(flags=gpuorch.EXECUTOR_CALLER)
go_on = threading.Event()
caller.post(lambda *_: go_on.wait(20) and None)
thread = threading.Thread(target=caller.run)
thread.start()
time.sleep(0.05)
threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    runtime.close()
except KeyboardInterrupt:
    print('interrupted', runtime.closed)
go_on.set()
thread.join()
runtime.close()
cq.close()
""")
    assert got == (0, "interrupted False\n", ""), got


def a_subinterpreter_is_refused():
    code = START + """
try:
    import _xxsubinterpreters as interpreters
except ImportError:
    try:
        import _interpreters as interpreters
    except ImportError:
        print('none')
        sys.exit()
id = interpreters.create()
error = None
try:
    error = interpreters.run_string(id, "import gpuorch")
except Exception as raised:
    error = raised
print(error)
"""
    status, out, errors = run(code)
    if out == "none\n":
        raise Skip("this Python has no subinterpreters")
    assert status == 0 and "subinterpreter" in out, (out, errors)


def an_import_opens_nothing_and_takes_little_time():
    got = run("import sys\nbefore = set(sys.modules)\nimport gpuorch\n"
              "print(any('libgpuorch' in line or 'libcuda' in line for line in open('/proc/self/maps')))\n"
              "heavy = {'numpy', 'torch', 'cupy', 'asyncio', 'json', 'ctypes', 'typing', 'inspect', 'dataclasses'}\n"
              "print(sorted((set(sys.modules) - before) & heavy))")
    assert got == (0, "False\n[]\n", ""), got
    times = []
    with tempfile.TemporaryDirectory() as folder:  # with the bytecode of the first import, as installed
        for _ in range(6):
            lines = run("import gpuorch", "-X", "importtime", PYTHONPYCACHEPREFIX=folder)[2].splitlines()
            times += [int(line.split("|")[1]) for line in lines if line.split("|")[-1].strip() == "gpuorch"]
    assert min(times) < 60000, times


# --- the library ---


def a_program_can_ask_which_library_it_has():
    info = gpuorch.library()
    assert os.path.samefile(info.path, LIBRARY) and info.version.count(".") == 2, info
    assert gpuorch.library()[0] == info.path


def a_library_that_is_missing_or_another_is_an_import_error():
    use = START + "try:\n    gpuorch.library()\nexcept ImportError as error:\n    print('said:', error)\n"
    assert "/none/libgpuorch.so" in run(use, GPUORCH_LIBRARY="/none/libgpuorch.so")[1]
    assert "it has no gpo_get_api" in run(use, GPUORCH_LIBRARY="libc.so.6")[1]
    with tempfile.NamedTemporaryFile(suffix=".so") as text:
        text.write(b"not a library")
        text.flush()
        assert f"said: {text.name}" in run(use, GPUORCH_LIBRARY=text.name)[1]
    odd = pathlib.Path(os.environ.get("GPUORCH_BUILD", "/none")) / "tests/libgpuorch_odd.so"
    if odd.exists():
        out = run(use, GPUORCH_LIBRARY=str(odd), GPUORCH_ODD="refusing", GPUORCH_COUNTED_LIBRARY=REAL)[1]
        assert "can't serve version" in out, out
        got = run(START + f"runtime = gpuorch.Runtime(device={DEVICE!r})\nruntime.device_open().close()\n"
                  "try:\n    runtime.trace_info()\nexcept NotImplementedError:\n    print('old')\nruntime.close()",
                  GPUORCH_LIBRARY=str(odd), GPUORCH_ODD="truncated",
                  GPUORCH_COUNTED_LIBRARY=REAL)
        assert got == (0, "old\n", ""), got


def a_libstdcxx_that_is_too_old_is_explained():
    """A library that needs a version of GLIBCXX that no system has: dlopen refuses it with the words of an old system."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        raise Skip("there is no compiler")
    with tempfile.TemporaryDirectory() as folder:
        base = pathlib.Path(folder)
        (base / "new.map").write_text("GLIBCXX_3.4.999 { global: newest; };\n")
        (base / "old.map").write_text("GLIBCXX_3.4.1 { global: other; };\n")
        (base / "new.c").write_text("int newest(void) { return 1; }\n")
        (base / "old.c").write_text("int other(void) { return 1; }\n")
        (base / "user.c").write_text("int newest(void);\nint gpo_get_api(void) { return newest(); }\n")

        def build(*arguments):
            subprocess.run([compiler, "-shared", "-fPIC", *map(str, arguments)], check=True, capture_output=True)
        build(base / "new.c", "-o", base / "libstd.so", "-Wl,-soname,libstd.so", f"-Wl,--version-script={base / 'new.map'}")
        build(base / "user.c", "-o", base / "user.so", base / "libstd.so", f"-Wl,-rpath,{folder}")
        build(base / "old.c", "-o", base / "libstd.so", "-Wl,-soname,libstd.so", f"-Wl,--version-script={base / 'old.map'}")
        use = START + "try:\n    gpuorch.library()\nexcept ImportError as error:\n    print(error)\n"
        out = run(use, GPUORCH_LIBRARY=str(base / "user.so"))[1]
        assert "GLIBCXX_3.4.999" in out and "too old" in out and "LD_LIBRARY_PATH" in out, out


def a_library_that_is_loaded_already_is_taken():
    environment = {name: value for name, value in os.environ.items() if name != "GPUORCH_LIBRARY"}
    code = START + f"import ctypes\nctypes.CDLL({REAL!r})\nprint(gpuorch.library().path)"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and os.path.samefile(done.stdout.strip(), REAL), (done.stdout, done.stderr)


def main():
    warnings.simplefilter("ignore", ResourceWarning)
    here = sys.modules[__name__]
    tests = [one for name, one in inspect.getmembers(here, inspect.isfunction)
             if one.__module__ == here.__name__ and name.count("_") > 1 and not inspect.signature(one).parameters]
    wanted = sys.argv[1:]
    for test in sorted(tests, key=lambda one: one.__code__.co_firstlineno):
        name = test.__name__.replace("_", " ")
        if wanted and not any(word in name for word in wanted):
            continue
        try:
            test()
            print(f"PASS {name}", flush=True)
        except Skip as reason:
            print(f"SKIP {name}: {reason}", flush=True)
        except Exception as error:
            lines = [one.lineno for one in traceback.extract_tb(error.__traceback__) if one.filename == __file__]
            print(f"FAIL {name}: lines {lines[1:]}: {type(error).__name__}: {error}", flush=True)


main()
