#!/usr/bin/env python3
"""bindings/python/ctypes/gpuorch.py: statuses, texts, structs, callbacks and completions; the samples that use it;
and libraries that are missing, older, newer or something else. On the device of GPUORCH_DEVICE."""
import asyncio
import ctypes
import gc
import inspect
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time
import weakref

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(os.environ.get("GPUORCH_BUILD", "/none"))  # a bundle has none
LIBRARY = BUILD / "libgpuorch/libgpuorch.so.0" if BUILD.exists() else pathlib.Path(os.environ["GPUORCH_LIBRARY"])
DEVICE = os.environ.get("GPUORCH_DEVICE", "soft")
DRIVER = DEVICE.partition(":")[0]
sys.path.insert(0, str(ROOT / "bindings/python/ctypes"))
import gpuorch

gpo = gpuorch.Library(LIBRARY)


def raises(kind, call, *arguments):
    try:
        call(*arguments)
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} was not raised")


class World:
    def __init__(self):
        self.runtime = gpo.runtime_create(gpo.RuntimeOptions(device=DEVICE))
        self.device = gpo.device_open(self.runtime)
        self.stream = gpo.stream_create(self.device, gpo.StreamOptions(label="upload"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for handle in (self.stream, self.device, self.runtime):
            handle.close()


def a_failure_is_an_error_that_names_the_culprit():
    with World() as w:
        error = raises(gpuorch.Error, gpo.fill, w.stream, 7, 0, 4, 100)
        assert (error.name, error.status, error.function) == ("INVALID_ARGUMENT", 10, "gpo_fill"), vars(error)
        assert "element_bytes" in error.message and gpo.object_get_error(w.stream).function == b"gpo_fill", vars(error)
        missing = raises(gpuorch.Error, gpo.module_get_kernel, gpo.module_load_builtin(w.device), "no such kernel")
        assert missing.status == gpo.NOT_FOUND and "gpo_fill_u32" in missing.message, missing


def a_wait_that_runs_out_of_time_is_a_timeout_and_a_query_answers():
    with World() as w, gpo.timeline_create(w.runtime) as timeline:
        before = time.monotonic()
        assert isinstance(raises(TimeoutError, gpo.timeline_wait, timeline, 1, 120_000_000), gpuorch.Error)
        assert 0.12 <= time.monotonic() - before < 5
        gpo.stream_wait_timeline(w.stream, timeline, 1)
        assert gpo.stream_query(w.stream) is False
        gpo.timeline_signal(timeline, 1)
        gpo.stream_wait(w.stream, -1)
        assert gpo.stream_query(w.stream) is True and gpo.timeline_get_value(timeline) == 1


def texts_structs_and_numbers_come_back():
    with World() as w:
        assert gpo.object_get_label(w.stream) == "upload" and gpo.status_name(10) == "GPO_INVALID_ARGUMENT"
        assert "gpuorch_" in gpo.runtime_get_metrics_text(w.runtime) and gpo.version() == 100
        assert gpo.runtime_get_driver(w.runtime).name == DRIVER.encode()
        least, greatest = gpo.device_get_priority_range(w.device)
        assert greatest <= least
        label = "ü" * 20
        gpo.object_set_label(w.stream, label)
        assert gpo.object_get_label(w.stream) == label
        module = gpo.module_compile(w.device, gpo.CompileOptions(source='extern "C" __global__ void one() {}'))
        image = gpo.module_get_image(module)
        again = gpo.module_load(w.device, image, len(image))
        assert gpo.kernel_get_name(gpo.module_get_kernel(again, "one")) and image[:4] == b"\x7fELF"


def a_kernel_is_launched_with_arguments_that_know_their_size():
    with World() as w:
        kernel = gpo.module_get_kernel(gpo.module_load_builtin(w.device), "gpo_fill_u32")
        memory, n = gpo.memory_allocate(w.device, 400), 100
        gpo.launch(w.stream, kernel, [1], [64], ctypes.c_uint64(memory), ctypes.c_uint32(42), ctypes.c_uint64(n))
        values = (ctypes.c_uint32 * n)()
        gpo.copy_to_host(w.stream, values, memory, 400)
        gpo.stream_wait(w.stream, -1)
        assert values[:] == [42] * n
        error = raises(gpuorch.Error, gpo.launch, w.stream, kernel, [1], [64], ctypes.c_uint64(memory), ctypes.c_uint64(42),
                       ctypes.c_uint64(n))
        assert error.status == gpo.INVALID_ARGUMENT, error


def a_prepared_launch_takes_its_values_as_they_are_then():
    with World() as w, gpo.stream_create(w.device) as other:
        kernel = gpo.module_get_kernel(gpo.module_load_builtin(w.device), "gpo_fill_u32")
        memory, n = gpo.memory_allocate(w.device, 400), 100
        value, got = ctypes.c_uint32(1), (ctypes.c_uint32 * n)()
        fill = gpo.prepare(kernel, [1], [64], ctypes.c_uint64(memory), value, ctypes.c_uint64(n))
        gc.collect()
        for stream, value.value in ((w.stream, 41), (other, 42), (w.stream, 43)):
            fill(stream)
            gpo.copy_to_host(stream, got, memory, 400)
            gpo.stream_wait(stream, -1)
            assert got[:] == [value.value] * n
        wrong = gpo.prepare(kernel, [0], [64], ctypes.c_uint64(memory), value, ctypes.c_uint64(n))
        error = raises(gpuorch.Error, wrong, w.stream)
        assert (error.status, error.function) == (gpo.INVALID_ARGUMENT, "gpo_stream_launch_kernel"), vars(error)
        raises(TypeError, fill, w.device)
        raises(TypeError, gpo.prepare, w.stream, [1], [64])
        kernel.close()
        assert raises(gpuorch.Error, fill, w.stream).status == gpo.INVALID_HANDLE


def any_ctypes_object_is_a_stages_value():
    class Pair(ctypes.Structure):
        _fields_ = [("one", ctypes.c_uint32), ("two", ctypes.c_uint32)]

    class Either(ctypes.Union):
        _fields_ = [("number", ctypes.c_uint64), ("bytes", ctypes.c_uint8 * 8)]

    with World() as w:
        source = """
            struct Pair { unsigned one, two; };
            extern "C" __global__ void store(unsigned long long *out, unsigned a, Pair b, unsigned long long c, void *d, double e) {
                out[0] = a; out[1] = b.one + b.two; out[2] = c; out[3] = (unsigned long long)d; out[4] = (unsigned long long)e;
            }"""
        kernel = gpo.module_get_kernel(gpo.module_compile(w.device, gpo.CompileOptions(source=source)), "store")
        values = [ctypes.c_uint32(7), Pair(8, 9), Either(number=10), ctypes.c_void_p(11), ctypes.c_double(12)]
        arguments = [gpo.StageArgument(kind=gpo.ARGUMENT_OUTPUT), *(gpo.StageArgument(kind=gpo.ARGUMENT_VALUE, value=one) for one in values)]
        assert [one.bytes for one in arguments] == [0, 4, 8, 8, 8, 8]
        stage = gpo.Stage(kind=gpo.STAGE_KERNEL, kernel=kernel, block=(1,), grid=(1,), arguments=arguments, argument_count=6)
        taken = []
        with gpo.pipeline_create(w.device, gpo.PipelineOptions(stages=[stage], stage_count=1)) as pipeline:
            gpo.pipeline_start(pipeline, gpo.Source(kind=gpo.SOURCE_MEMORY, memory=bytes(40), bytes=40), gpo.Sink(
                kind=gpo.SINK_CALLBACK, take=lambda chunk: taken.append(ctypes.string_at(chunk.output, 40))))
            gpo.pipeline_wait(pipeline, -1)
        assert taken == [b"".join(number.to_bytes(8, "little") for number in (7, 17, 10, 11, 12))], taken
        byte = ctypes.c_uint8(5)  # where memory is asked for, a pointer stands for where it leads
        for one in (ctypes.pointer(byte), ctypes.cast(ctypes.pointer(byte), ctypes.c_void_p), byte):
            assert gpo.Source(memory=one).memory == ctypes.addressof(byte)


def wrong_types_and_numbers_are_python_errors():
    with World() as w:
        for number in (2**32, -1, 2**64):
            raises(OverflowError, gpo.fill, w.stream, 0, number, 4, 1)
        raises(OverflowError, lambda: gpo.StreamOptions(priority=2**31))
        raises(TypeError, lambda: gpo.StreamOptions(colour=1))
        raises(TypeError, gpo.fill, w.stream)
        raises(TypeError, gpo.fill, w.stream, 1, 2, 3, 4, 5)
        raises((TypeError, ctypes.ArgumentError), gpo.fill, w.stream, 1.5, 2, 4, 1)
        raises((TypeError, ctypes.ArgumentError), gpo.stream_create, w.device, "options")
        raises(AttributeError, lambda: gpo.no_such_function)
        raises(ctypes.ArgumentError, gpo.stream_wait, w.device, 0)
        assert raises(gpuorch.Error, gpo.stream_wait, gpo.Stream(w.device.value), 0).status == gpo.INVALID_HANDLE


def a_closed_handle_is_refused_and_can_be_closed_again():
    with World() as w:
        stream = gpo.stream_create(w.device)
        copy = gpo.Stream(stream.value)
        stream.close()
        stream.close()
        assert raises(gpuorch.Error, gpo.stream_query, stream).status == gpo.INVALID_HANDLE
        assert raises(gpuorch.Error, gpo.stream_query, copy).status == gpo.STALE_HANDLE
        w.device.close()  # its stream goes on
        gpo.stream_wait(w.stream, -1)


def what_a_callback_raises_is_a_status_and_the_rest_goes_on():
    seen, hook = [], sys.excepthook
    sys.excepthook = lambda kind, value, trace: seen.append(value)
    try:
        with World() as w, gpo.executor_create(w.runtime) as executor:
            def fails(call):
                raise ValueError("not today")
            gpo.stream_host_call(w.stream, executor, fails)
            error = raises(gpuorch.Error, gpo.stream_wait, w.stream, -1)
            assert error.status == gpo.CALLBACK_FAILED and [str(one) for one in seen] == ["not today"], (error, seen)
            with gpo.stream_create(w.device) as other:
                called = threading.Event()
                gpo.stream_then(other, executor, lambda *_: called.set())
                assert called.wait(30)
    finally:
        sys.excepthook = hook


def a_callback_may_call_the_library():
    with World() as w, gpo.executor_create(w.runtime) as executor, gpo.stream_create(w.device) as other:
        answers, done = [], threading.Event()
        def inside(completion, error):
            answers.append((completion.status, error, gpo.stream_query(other)))
            try:
                gpo.executor_run(executor)
            except gpuorch.Error as deadlock:
                answers.append(deadlock.status)
            done.set()
        gpo.stream_then(w.stream, executor, inside)
        assert done.wait(30) and answers == [(0, None, True), gpo.WOULD_DEADLOCK], answers


def callbacks_run_where_the_caller_runs_the_executor():
    with World() as w, gpo.executor_create(w.runtime, gpo.ExecutorOptions(flags=gpo.EXECUTOR_CALLER)) as executor:
        threads = []
        for _ in range(3):
            gpo.stream_then(w.stream, executor, lambda *_: threads.append(threading.current_thread()))
        assert gpo.executor_run(executor) == 3 and threads == [threading.main_thread()] * 3


def callbacks_stay_until_they_were_called_and_no_longer():
    with World() as w, gpo.executor_create(w.runtime, gpo.ExecutorOptions(flags=gpo.EXECUTOR_CALLER, capacity=100)) as executor:
        class Given:
            def __call__(self, *_):
                count.append(1)
        count, given = [], [Given() for _ in range(100)]
        there = [weakref.ref(one) for one in given]
        while given:
            gpo.stream_then(w.stream, executor, given.pop())
        assert raises(gpuorch.Error, gpo.stream_then, w.stream, executor, print).status == gpo.WOULD_BLOCK
        gc.collect()
        assert all(one() for one in there)
        gpo.executor_run(executor)
        gpo.stream_then(w.stream, executor, lambda *_: None)  # what was called before goes with the next
        gc.collect()
        assert len(count) == 100 and not any(one() for one in there) and len(gpo.owed) == 1
        gpo.executor_run(executor)


def buckets_say_why_they_call_and_a_warm_up_leaves_what_is_restored():
    with World() as w:
        module = gpo.module_compile(w.device, gpo.CompileOptions(source="""
            extern "C" __global__ void step(unsigned *state, unsigned digit) { *state = *state * 10 + digit; }"""))
        kernel, state = gpo.module_get_kernel(module, "step"), gpo.memory_allocate(w.device, 4)
        gpo.fill(w.stream, state, 0, 4, 1)
        phases, names = [], {gpo.BUCKET_WARM_UP: "warm-up", gpo.BUCKET_RECORDING: "recording", gpo.BUCKET_EAGER: "eager"}

        def record(stream, work):
            phases.append(names[work.phase])
            gpo.launch(stream, kernel, [1], [1], ctypes.c_uint64(state), ctypes.c_uint32(len(phases)))
            return gpo.IO_ERROR if work.phase == gpo.BUCKET_RECORDING and work.shape == 2 else gpo.SUCCESS

        ranges = [gpo.MemoryRange(address=state, bytes=4)]
        options = gpo.BucketsOptions(shapes=[1, 2], shape_count=2, record=record, restored=ranges, restored_count=1,
                                     flags=gpo.BUCKETS_EAGER_FALLBACK)
        with gpo.buckets_create(w.device, options) as buckets:
            assert [gpo.buckets_launch(buckets, w.stream, size, None, 0, 0) for size in (1, 2)] == [1, 0]
            assert phases == ["warm-up", "recording", "warm-up", "recording", "eager"], phases
            seen = (ctypes.c_uint32 * 1)()
            gpo.copy_to_host(w.stream, seen, state, 4)
            gpo.stream_wait(w.stream, -1)
            assert seen[0] == 25, seen[0]  # the second call was recorded, the fifth ran eagerly
            counts = gpo.buckets_get_statistics(buckets)
            assert (counts.failures, counts.fallbacks) == (1, 1) and b"bucket 2" in counts.last_failure, counts.last_failure


class Given:
    """A callback that can be seen to be gone. `answer`: what it returns."""

    def __init__(self, answer=None):
        self.calls, self.answer = [], answer

    def __call__(self, *arguments):
        self.calls.append(arguments)
        return self.answer


def host_nodes(w, call):
    """A template of one host node, and a graph of it; what it calls may make no call of the driver."""
    made = gpo.template_create(w.device)
    gpo.template_add_host_call(made, None, 0, call)
    return made, gpo.graph_create(made)


def a_graphs_host_node_calls_its_own_function_each_time():
    with World() as w:
        log, refused = [], []
        def node(name):
            def called():
                log.append(name)
                refused.append(raises(gpuorch.Error, gpo.stream_query, w.stream).status)
            return host_nodes(w, called)
        graphs = [node(number) for number in range(20)]
        for _ in range(3):
            for built, graph in graphs:
                gpo.graph_launch(graph, w.stream)
            gpo.stream_wait(w.stream, -1)
            others = [node(-1) for _ in range(20)]
            gc.collect()
        built, graph = graphs[7]
        built.close()  # the graph goes on
        gc.collect()
        gpo.graph_launch(graph, w.stream)
        gpo.stream_wait(w.stream, -1)
        assert log == [*range(20)] * 3 + [7] and set(refused) == {gpo.WOULD_DEADLOCK}, log
        del others


def callbacks_in_options_stay_whatever_becomes_of_the_options():
    with World() as w:
        memory, kinds = gpo.memory_allocate(w.device, 4096), []
        def make():
            def record(stream, work):
                kinds.append(work.shape)
                gpo.fill(stream, memory, 7, 4, work.shape)
            return gpo.buckets_create(w.device, gpo.BucketsOptions(shapes=[4, 8], shape_count=2, record=record))
        buckets = make()
        gc.collect()
        others = [make() for _ in range(30)]
        gc.collect()
        for size in (1, 4, 8, 3):
            gpo.buckets_launch(buckets, w.stream, size, None, 0, 0)
        gpo.stream_wait(w.stream, -1)
        assert set(kinds) == {4, 8}, kinds
        for one in (buckets, *others):
            one.close()
        gpo.memory_free(w.device, memory)


def every_callback_stays_as_long_as_abi_json_says():
    """For each: `given` takes the callback and gives what it has been given to, `end` what ends the calls."""
    abi = json.loads(pathlib.Path(gpuorch.Library.find_abi(LIBRARY)).read_text())
    types = {one["name"] for one in abi["callbacks"]}
    said = {(one["name"], each["name"]): each for one in abi["functions"] + abi["structs"]
            for each in one.get("parameters", one.get("fields")) if each["type"] in types}
    assert all(one["stays_until"] and one["called"] in ("once", "often") for one in said.values()), said

    def stage(enqueue):
        return gpo.Stage(kind=gpo.STAGE_CALLBACK, enqueue=enqueue)

    def pipeline(w, **options):
        return gpo.pipeline_create(w.device, gpo.PipelineOptions(stage_count=1, **{"stages": [stage(lambda *_: None)], **options}))

    def run(w, **given):
        made = pipeline(w)
        source = {"kind": gpo.SOURCE_CALLBACK, "fill": given["fill"]} if "fill" in given else {
            "kind": gpo.SOURCE_MEMORY, "memory": (ctypes.c_uint8 * 64)(), "bytes": 64}
        sink = gpo.Sink(kind=gpo.SINK_CALLBACK, take=given.get("take", lambda _: None))
        gpo.pipeline_start(made, gpo.Source(**source), sink)
        return made

    def buckets(w, **options):
        return gpo.buckets_create(w.device, gpo.BucketsOptions(shapes=[4], shape_count=1, **{"record": lambda *_: None, **options}))

    def on_runtime(given):
        return gpo.runtime_create(gpo.RuntimeOptions(device=DEVICE, log=given))

    def waited(made):
        gpo.pipeline_wait(made, -1)
        made.close()

    def closed(made):
        made.close()

    def shut_down(w):
        return lambda _: (w.stream.close(), w.device.close(), w.runtime.close())

    with World() as w, gpo.executor_create(w.runtime, gpo.ExecutorOptions(flags=gpo.EXECUTOR_CALLER)) as executor, \
            gpo.event_create(w.device) as event, gpo.timeline_create(w.runtime) as timeline, run(w) as ended:
        gpo.event_record(event, w.stream)
        last = World()

        def called(_):
            gpo.executor_run(executor)
            gpo.stream_then(w.stream, executor, lambda *_: None)  # what was called before goes with the next
            gpo.executor_run(executor)
        uses = {
            ("gpo_stream_then", "callback"): (lambda given: gpo.stream_then(w.stream, executor, given), called),
            ("gpo_event_then", "callback"): (lambda given: gpo.event_then(event, executor, given), called),
            ("gpo_timeline_then", "callback"): (lambda given: gpo.timeline_then(timeline, 0, executor, given), called),
            ("gpo_pipeline_then", "callback"): (lambda given: gpo.pipeline_then(ended, executor, given), called),
            ("gpo_stream_host_call", "function"): (lambda given: gpo.stream_host_call(w.stream, executor, given), called),
            ("gpo_template_add_host_call", "function"): (lambda given: host_nodes(last, given), shut_down(last)),
            ("gpo_runtime_options", "log"): (on_runtime, closed),
            ("gpo_source", "fill"): (lambda given: run(w, fill=given), waited),
            ("gpo_sink", "take"): (lambda given: run(w, take=given), waited),
            ("gpo_stage", "enqueue"): (lambda given: pipeline(w, stages=[stage(given)]), closed),
            ("gpo_pipeline_options", "progress"): (lambda given: pipeline(w, progress=given), closed),
            ("gpo_buckets_options", "record"): (lambda given: buckets(w, record=given), closed),
            ("gpo_buckets_options", "pad"): (lambda given: buckets(w, pad=given), closed),
        }
        assert uses.keys() == said.keys(), uses.keys() ^ said.keys()
        for what, (give, end) in uses.items():
            given = Given(gpo.END if what == ("gpo_source", "fill") else None)
            there, made = weakref.ref(given), give(given)
            del given
            gc.collect()
            assert there() is not None, what
            end(made)
            del made
            gc.collect()
            assert there() is None, what


def a_pipeline_calls_python_for_its_data_its_stages_and_its_results():
    with World() as w:
        data, taken = bytearray(os.urandom(3_000_001)), []
        def fill(buffer, capacity, count):
            now = data[:min(capacity, 700_000)]
            ctypes.memmove(buffer, bytes(now), len(now))
            count[0] = len(now)
            del data[:len(now)]
            return gpo.SUCCESS if data else gpo.END
        def enqueue(stream, chunk):
            gpo.copy_on_device(stream, chunk.output_address, chunk.input_address, chunk.bytes)
        whole, stage = bytes(data), gpo.Stage(kind=gpo.STAGE_CALLBACK, enqueue=enqueue)
        pipeline = gpo.pipeline_create(w.device, gpo.PipelineOptions(stages=[stage], stage_count=1))
        del stage
        gpo.pipeline_start(pipeline, gpo.Source(kind=gpo.SOURCE_CALLBACK, fill=fill), gpo.Sink(
            kind=gpo.SINK_CALLBACK, take=lambda chunk: taken.append(ctypes.string_at(chunk.output, chunk.output_bytes)) or None))
        del fill, enqueue
        gc.collect()
        assert gpo.pipeline_wait(pipeline, -1).bytes_out == len(whole) and b"".join(taken) == whole
        pipeline.close()


def a_pipeline_keeps_nothing_once_its_run_has_ended_or_it_is_closed():
    class Take:
        def __init__(self, taken):
            self.taken = taken

        def __call__(self, chunk):
            self.taken()

    def there_is(reference):
        gc.collect()
        return reference() is not None

    with World() as w, gpo.timeline_create(w.runtime) as timeline:
        kept = len(gpo.kept), len(gpo.runs)
        def started(take=lambda: None, enqueue=lambda stream, chunk: None):
            data, sink, stage = bytearray(64), Take(take), Take(enqueue)
            memory = (ctypes.c_uint8 * 64).from_buffer(data)
            pipeline = gpo.pipeline_create(w.device, gpo.PipelineOptions(stage_count=1, stages=[
                gpo.Stage(kind=gpo.STAGE_CALLBACK, enqueue=lambda *both: stage.taken(*both))]))
            gpo.pipeline_start(pipeline, gpo.Source(kind=gpo.SOURCE_MEMORY, memory=memory, bytes=64),
                               gpo.Sink(kind=gpo.SINK_CALLBACK, take=sink))
            return pipeline, weakref.ref(memory), weakref.ref(sink), weakref.ref(stage)

        def fail():
            raise ValueError("enough")

        pipeline, memory, sink, stage = started()
        gpo.pipeline_wait(pipeline, -1)
        assert (there_is(memory), there_is(sink), there_is(stage)) == (False, False, True), "a run that was waited for"
        pipeline.close()
        assert not there_is(stage), "a pipeline that is closed"

        hook, sys.excepthook = sys.excepthook, lambda *_: None
        try:
            pipeline, memory, sink, stage = started(take=fail)
            assert raises(gpuorch.Error, gpo.pipeline_wait, pipeline, -1).status == gpo.CALLBACK_FAILED
        finally:
            sys.excepthook = hook
        assert not there_is(memory), "a run that failed"
        pipeline.close()

        # Closed in the middle of a run: all stays until that has ended, and goes with what is done next.
        inside, go_on = threading.Event(), threading.Event()
        pipeline, memory, sink, stage = started(take=lambda: (inside.set(), go_on.wait(30)))
        assert inside.wait(30)
        pipeline.close()
        assert there_is(memory) and there_is(sink) and there_is(stage), "a run that outlives its pipeline"
        go_on.set()
        deadline = time.monotonic() + 30
        while there_is(memory) and time.monotonic() < deadline:
            started()[0].close()
        assert not there_is(memory) and not there_is(stage), "its end"

        pipeline, memory, sink, stage = started()
    assert not there_is(memory) and not there_is(stage), "a runtime that has shut down"
    assert (len(gpo.kept), len(gpo.runs)) <= kept, (gpo.kept, gpo.runs)


def completions_are_futures():
    async def main():
        with World() as w, gpuorch.Completions(gpo, w.runtime) as done, gpo.timeline_create(w.runtime) as timeline:
            reached = done.timeline(timeline, 5)
            gpo.timeline_signal(timeline, 5)
            assert (await reached).operation == 5
            with gpo.event_create(w.device) as event:
                gpo.event_record(event, w.stream)
                await done.event(event)
            gpo.stream_wait_timeline(w.stream, timeline, 6)
            pending = done.stream(w.stream)
            raised = await asyncio.gather(asyncio.wait_for(pending, 0.05), return_exceptions=True)
            assert isinstance(raised[0], TimeoutError) and pending.cancelled()
            later = done.stream(w.stream)
            del pending
            gc.collect()
            gpo.timeline_fail(timeline, gpo.FAILED, "nobody came")
            failed = (await asyncio.gather(later, return_exceptions=True))[0]
            assert isinstance(failed, gpuorch.Error) and failed.status == gpo.FAILED and "nobody came" in failed.message, failed
            never = done.timeline(gpo.timeline_create(w.runtime), 1)
        assert never.cancelled(), "closing the queue ends what waits"

    asyncio.run(main())


def parts_of_a_graph_are_timed_and_each_launch_is_awaited_by_events_that_it_records():
    async def main():
        with World() as w, gpuorch.Completions(gpo, w.runtime) as done:
            flags = gpo.EVENT_TIMING | gpo.EVENT_EXTERNAL
            begin, end = (gpo.event_create(w.device, gpo.EventOptions(flags=flags)) for _ in range(2))
            memory, template = gpo.memory_allocate(w.device, 4096, None), gpo.template_create(w.device)
            gpo.template_begin(template, w.stream)
            gpo.event_record(begin, w.stream)
            gpo.fill(w.stream, memory, 7, 4, 1024)
            gpo.event_record(end, w.stream)
            gpo.template_end(template)
            assert raises(gpuorch.Error, gpo.event_get_elapsed, begin, end).status == gpo.INVALID_STATE
            graph = gpo.graph_create(template)
            assert gpo.template_get_statistics(template).nodes == 3
            for _ in range(2):
                gpo.graph_launch(graph, w.stream)
                assert (await done.event(end)).status == gpo.SUCCESS
                assert gpo.event_get_elapsed(begin, end) >= 0
            gpo.memory_free(w.device, memory)

    asyncio.run(main())


def a_full_queue_says_so_at_once_and_loses_nothing():
    async def main():
        with World() as w, gpuorch.Completions(gpo, w.runtime, capacity=4) as done:
            futures = [done.stream(w.stream) for _ in range(4)]
            assert raises(gpuorch.Error, done.stream, w.stream).status == gpo.WOULD_BLOCK
            await asyncio.gather(*futures)
            await done.stream(w.stream)

    asyncio.run(main())


def handles_and_memory_may_be_collected_in_any_order():
    for _ in range(20):
        w = World()
        made = [gpo.stream_create(w.device), gpo.arena_create(w.device), gpo.cq_create(w.runtime), gpo.executor_create(w.runtime)]
        made.append(gpuorch.Library(LIBRARY))
        w.runtime.close()
        stream, arena, queue, executor, _ = made
        for handle in (stream, arena, executor):
            assert raises(gpuorch.Error, handle.close).status == gpo.INVALID_HANDLE
        queue.close()   # a queue outlives its runtime
        del stream, arena, queue, executor, handle
        del w, made
        gc.collect()


def other_libraries(report):
    """In processes of their own."""
    code = (f"import sys; sys.path.insert(0, {str(ROOT / 'bindings/python/ctypes')!r}); import gpuorch\n"
            "try: gpo = gpuorch.Library()\nexcept ImportError as error: sys.exit(f'said: {error}')\n")
    use = "with gpo.runtime_create() as runtime: print(gpo.runtime_get_driver(runtime).name.decode())\n"

    def told(library, code, **settings):
        environment = {**os.environ, "GPUORCH_LIBRARY": str(library), "GPUORCH_COUNTED_LIBRARY": str(LIBRARY), **settings}
        result = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60)
        return result.returncode, result.stdout + result.stderr

    odd = BUILD / "tests/libgpuorch_odd.so"
    if not odd.exists():
        print(f"SKIP other libraries: there is no {odd.name} here")
        return
    with tempfile.NamedTemporaryFile(suffix=".so") as text:
        text.write(b"not a library")
        text.flush()
        for name, library, settings, words in (
                ("no library", "/none/libgpuorch.so", {}, "/none/libgpuorch.so"),
                ("a file that is none", text.name, {}, text.name),
                ("a library that is another", "libc.so.6", {}, "it has no gpo_get_api"),
                ("one that refuses the version", odd, {"GPUORCH_ODD": "refusing"}, "can't serve version 100")):
            got = told(library, code + use, **settings)
            report(f"{name} is an ImportError that says so", (got[0], words in got[1] and "said: " in got[1]), (1, True), got)
    got = told(odd, code + use + "gpo.trace_start", GPUORCH_ODD="truncated")
    report("an older library does what it can, and what it lacks is named",
           (got[0], f"{DRIVER}\n" in got[1], "has no trace_start" in got[1]), (1, True, True), got)
    got = told(odd, code + use, GPUORCH_ODD="extended")
    report("a newer library does what this one knows", got, (0, f"{DRIVER}\n"))


def samples(report):
    environment = {**os.environ, "GPUORCH_LIBRARY": str(LIBRARY)}
    first = subprocess.run([sys.executable, ROOT / "samples/python/first.py"], env=environment, capture_output=True, text=True,
                           timeout=120)
    report("first.py computes", (first.stdout, first.stderr), ("x[1000] is 500\n", ""))


def main():
    def report(name, got, right, more=""):
        print(f"PASS {name}" if got == right else f"FAIL {name}: {got!r} in place of {right!r} {more}")

    here = sys.modules[__name__]
    tests = [one for name, one in inspect.getmembers(here, inspect.isfunction)
             if one.__module__ == here.__name__ and "_" in name and not inspect.signature(one).parameters]
    for test in sorted(tests, key=lambda one: one.__code__.co_firstlineno):
        name = test.__name__.replace("_", " ")
        try:
            test()
            print(f"PASS {name}")
        except Exception as error:
            line = error.__traceback__.tb_next.tb_lineno if error.__traceback__.tb_next else 0
            print(f"FAIL {name}: line {line}: {type(error).__name__}: {error}")
    other_libraries(report)
    samples(report)


main()
