#!/usr/bin/env python3
"""Every function of the library fails from Python: the exception's class says why, and `function` says which function of C
it was. On the device of GPUORCH_DEVICE.

The first tests are tables of calls with something wrong. In the last tests code in C has shut a runtime down, or destroyed
an object, which Python doesn't know: then each function of _gpuorch is called, with values that are made from the names of
its parameters, so that a new function can't be forgotten."""
import ctypes
import inspect
import os
import struct
import types

from harness import case, run, skip

import gpuorch
from gpuorch import _gpuorch as raw

DEVICE = os.environ.get("GPUORCH_DEVICE", "soft")
CALLER = gpuorch.EXECUTOR_CALLER
HANDLER = """struct task { unsigned handler, rest[3]; };
__device__ int nothing(gpo::task_context &, const task &) { return 0; }"""


class World:
    """A runtime with an object of each kind."""

    def __init__(self):
        r = self.runtime = gpuorch.Runtime(device=DEVICE, label="world")
        d = self.device = r.device_open()
        self.stream, self.other = d.stream_create(), d.stream_create()
        self.stream_pool = d.stream_pool_create(streams=2)
        self.event = d.event_create()
        self.timeline, self.cq = r.timeline_create(), r.cq_create()
        self.executor = r.executor_create(flags=CALLER)
        self.arena, self.pool = d.arena_create(), d.pool_create()
        self.array = d.memory_allocate("u32", 64)
        self.module = d.module_load_builtin()
        self.kernel = self.module.kernel("gpo_fill_u32")
        self.pipeline = d.pipeline_create(stages=[
            {"kind": gpuorch.STAGE_KERNEL, "kernel": self.kernel, "arguments": [self.array, 1, 64]}])
        self.template = d.template()
        self.node = self.template.add_kernel(self.kernel, [self.array, 7, 64], grid=1, block=64, label="fill")
        self.template.add_parameter("value", self.node, gpuorch.PARAMETER_ARGUMENT, 1)
        self.template.add_parameter("grid", self.node, gpuorch.PARAMETER_GRID, 0)
        self.graph = self.template.graph()
        self.buckets = d.buckets(shapes=[4], record=lambda stream, work: None)
        self.queue = d.queue(kind=gpuorch.QUEUE_RING, task_size=16, capacity=64)
        resident = d.stream_create(flags=gpuorch.STREAM_RESIDENT)
        self.host_ring = d.queue(kind=gpuorch.QUEUE_HOST_RING, task_size=16, answer_size=4, stream=resident)
        self.tasks = d.queue(kind=gpuorch.QUEUE_RING, task_size=16, capacity=64)
        self.scheduler = d.scheduler([{"name": "nothing"}], queue=self.tasks, form=gpuorch.SCHEDULER_RESIDENT,
                                     source=HANDLER, threads=32, multiprocessors=1)
        self.peers = r.peers([d])
        self.symmetric = self.peers.allocate(4096)
        self.admission = r.admission_create(count=1)
        self.batcher = r.batcher(devices=[d])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.runtime.close()


def wrong_with(function, kind, call):
    """What is wrong with the failure of a call, which has to be of a class and a function of C's; None: nothing."""
    try:
        value = call()
    except gpuorch.Error as error:
        good = type(error) is kind and error.function == "gpo_" + function and error.status == kind.STATUS
        return None if good and str(error).startswith(error.message) else f"{function}: {error!r} of {error.function}"
    except Exception as error:
        return f"{function}: {error!r}"
    return f"{function}: no failure, but {value!r}"


def all_fail(*rows):
    """Rows (function, exception, call): all calls fail so."""
    wrong = [text for row in rows if (text := wrong_with(*row))]
    assert not wrong, "\n".join(wrong)


Argument, State, Missing = gpuorch.InvalidArgument, gpuorch.InvalidState, gpuorch.NotFound
Handle, Unsupported = gpuorch.InvalidHandle, gpuorch.NotSupported


def table(name, *rows):
    """A test of rows (function, exception, call of a world)."""
    def test():
        with World() as w:
            all_fail(*((function, kind, lambda call=call: call(w)) for function, kind, call in rows))

    test.__name__ = name
    case(test)


# --- calls with something wrong ---


table(
    "runtimes_and_devices_name_what_is_wrong",
    ("runtime_create", Argument, lambda w: gpuorch.Runtime(device="nonsense")),
    ("runtime_describe_device", gpuorch.NoDevice, lambda w: w.runtime.describe_device(99)),
    ("runtime_describe_peer", gpuorch.NoDevice, lambda w: w.runtime.describe_peer(0, 99)),
    ("device_open", gpuorch.NoDevice, lambda w: w.runtime.device_open(ordinal=99)),
    ("device_get_limit", Argument, lambda w: w.device.limit(99)),
    ("device_set_limit", Argument, lambda w: w.device.set_limit(99, 1)),
    ("device_disable_peer", Argument, lambda w: w.device.disable_peer(w.device)),
    ("device_get_costs", Argument, lambda w: w.device.costs(flags=99)),
    ("advise_trace", Missing, lambda w: gpuorch.advise_trace("there is no such file")),
    ("trace_stop", State, lambda w: w.runtime.trace_stop()),
    ("trace_start", State, lambda w: (w.runtime.trace_start(), w.runtime.trace_start())),
    ("executor_create", Argument, lambda w: w.runtime.executor_create(flags=1 << 20)),
    ("cq_create", Argument, lambda w: w.runtime.cq_create(capacity=2**31)),
    ("timeline_create", Argument, lambda w: w.runtime.timeline_create(flags=99)))

table(
    "streams_events_and_timelines_name_what_is_wrong",
    ("stream_create", Argument, lambda w: w.device.stream_create(flags=1 << 20)),
    ("event_create", Argument, lambda w: w.device.event_create(flags=1 << 20)),
    ("event_get_elapsed", Argument, lambda w: w.event.elapsed(w.event)),
    ("event_export", Argument, lambda w: w.event.export()),
    ("event_import", Argument, lambda w: w.device.event_import(b"nothing")),
    ("timeline_signal", Argument, lambda w: (w.timeline.signal(5), w.timeline.signal(4))),
    ("timeline_fail", Argument, lambda w: w.timeline.fail(1, "not a failure")),
    ("stream_pool_create", Argument, lambda w: w.device.stream_pool_create(flags=99)),
    ("stream_pool_release", Argument, lambda w: w.stream_pool.release(w.stream)),
    ("cq_get_error", Missing, lambda w: raw.cq_get_error(w.cq, 77)),
    ("host_call_finish", Missing, lambda w: w.executor.host_call_finish(77)),
    ("executor_cancel", Missing, lambda w: w.executor.cancel(77)))

table(
    "memory_and_copies_name_what_is_wrong",
    ("arena_allocate", Argument, lambda w: raw.arena_allocate(w.arena, 64, 3)),
    ("arena_create", Argument, lambda w: w.device.arena_create(flags=1 << 20)),
    ("arena_free", Argument, lambda w: raw.arena_free(w.arena, 4096)),
    ("arena_free_after", Argument, lambda w: raw.arena_free_after(w.arena, 4096, w.stream)),
    ("host_unregister", Argument, lambda w: raw.host_unregister(w.device, 4096)),
    ("memory_allocate", Argument, lambda w: raw.memory_allocate(w.device, 0)),
    ("memory_free", Argument, lambda w: w.device.memory_free(4096)),
    ("memory_export", Argument, lambda w: w.device.memory_export(4096)),
    ("memory_import", Argument, lambda w: w.device.memory_import("u8", b"nothing")),
    ("pool_create", Argument, lambda w: w.device.pool_create(flags=1 << 20)),
    ("pool_allocate", gpuorch.LimitExceeded,
     lambda w: w.device.pool_create(max_bytes=2**21).allocate(w.stream, "u8", 2**22)),
    ("pool_free", Argument, lambda w: raw.pool_free(w.pool, w.stream, 4096)),
    ("fill", Argument, lambda w: w.stream.fill(w.array, 1, element_bytes=3, count=1)),
    ("fill_rows", Argument, lambda w: w.stream.fill_rows(w.array, 4, 1, 8, 2)),
    ("copy_rows", Argument, lambda w: w.stream.copy_rows(
        destination=w.array, destination_pitch=4, source=w.array, source_pitch=16, width=8, height=2)),
    ("copy_batch", Argument, lambda w: w.stream.copy_batch([{"destination": w.array, "source": 0, "bytes": 4}])))

table(
    "kernels_and_pipelines_name_what_is_wrong",
    ("module_compile", gpuorch.CompileFailed, lambda w: w.device.module_compile("no C++")),
    ("module_load", gpuorch.InvalidImage, lambda w: w.device.module_load(b"no image")),
    ("module_get_kernel", Missing, lambda w: w.module.kernel("nothing", "")),
    ("module_get_symbol", Missing, lambda w: w.module.symbol("nothing")),
    ("kernel_get_parameter", Argument, lambda w: w.kernel.parameter(99)),
    ("kernel_get_occupancy", Argument, lambda w: w.kernel.occupancy(0)),
    ("kernel_set_max_dynamic_shared", Argument, lambda w: w.kernel.set_max_dynamic_shared(2**40)),
    ("stream_launch_kernel", Argument, lambda w: w.kernel[1, 4096, w.stream](w.array, 1, 64)),
    ("pipeline_create", Argument, lambda w: w.device.pipeline_create(stages=[])),
    ("pipeline_start", Missing, lambda w: w.pipeline.start(
        {"kind": gpuorch.SOURCE_FILE, "path": "there is no such file"}, {"kind": gpuorch.SINK_NONE})),
    ("pipeline_wait", State, lambda w: w.pipeline.wait(1)),
    ("pipeline_notify", State, lambda w: w.pipeline.notify(w.cq)),
    ("pipeline_then", State, lambda w: w.pipeline.then(w.executor, print)),
    ("pipeline_get_share", Argument, lambda w: w.pipeline.share(9)))

table(
    "templates_and_graphs_name_what_is_wrong",
    ("template_create", Argument, lambda w: w.device.template(flags=99)),
    ("template_end", State, lambda w: w.template.end()),
    ("template_cancel", State, lambda w: w.template.cancel()),
    ("template_get_last_node", State, lambda w: w.template.last_node(w.stream)),
    ("template_set_last_node", State, lambda w: w.template.set_last_node(w.stream, w.node)),
    ("template_add_empty", Argument, lambda w: w.device.template().add_empty([99])),
    ("template_add_child", Argument, lambda w: w.template.add_child(w.template)),
    ("template_add_parameter", State, lambda w: w.template.add_parameter("late", 1, gpuorch.PARAMETER_ARGUMENT, 0)),
    ("template_get_parameter", Missing, lambda w: w.template.parameter("nothing")),
    ("template_find_node", Missing, lambda w: w.template.find_node("nothing")),
    ("template_get_picture", Argument, lambda w: w.template.picture(99)),
    ("template_add_switch", Argument, lambda w: w.device.template().add_switch(0, word=w.array, comparison=5)),
    ("template_add_free", Argument, lambda w: w.device.template().add_free(4096)),
    ("template_launch", Missing, lambda w: w.template.launch(w.stream, {"nothing": ("u32", 1)})),
    ("graph_create", Argument, lambda w: w.template.graph(flags=99)),
    ("template_get_parameter", Missing, lambda w: w.graph.set("nothing", 1)),  # asks for its size
    ("graph_set", Argument, lambda w: w.graph.set("grid", struct.pack("3I", 1, 2**31, 1))),
    ("graph_set_parameter", Missing, lambda w: w.graph.set_parameter(99, ("u32", 1))),
    ("graph_set_all", Missing, lambda w: w.graph.set_all({"nothing": ("u32", 1)})),
    ("graph_get", Missing, lambda w: w.graph.get("nothing", 4)),
    ("graph_get_loop", Argument, lambda w: w.graph.loop(w.template, 99)),
    ("graph_get_device_handle", State, lambda w: w.graph.device_handle()),
    ("buckets_create", Argument, lambda w: w.device.buckets(shapes=[4, 4], record=print)),
    ("buckets_launch", Argument, lambda w: w.buckets.launch(w.stream, 0)))

table(
    "queues_and_schedulers_name_what_is_wrong",
    ("queue_create", Argument, lambda w: w.device.queue(kind=99)),
    ("queue_push", Argument, lambda w: w.queue.push(w.stream, bytes(16), priority=99)),
    ("queue_set_costs", Unsupported, lambda w: w.queue.set_costs(w.stream, [1])),
    ("queue_set_tenant", Unsupported, lambda w: w.queue.set_tenant(0, limit=1)),
    ("queue_post", Argument, lambda w: w.host_ring.post(bytes(16), tenant=99)),
    ("queue_take", Argument, lambda w: w.host_ring.take(tenant=99)),
    ("scheduler_create", Argument, lambda w: w.device.scheduler([], queue=w.queue)),
    ("scheduler_get_handler", Argument, lambda w: w.scheduler.handler(9)),
    ("scheduler_start", State, lambda w: (w.scheduler.start(), w.scheduler.start())))

table(
    "groups_admissions_and_batchers_name_what_is_wrong",
    ("peers_create", Argument, lambda w: w.runtime.peers([])),
    ("peers_split", Argument, lambda w: w.peers.split([0, 0])),
    ("peers_get_link", Argument, lambda w: w.peers.link(0, 9)),
    ("peers_submit", Argument, lambda w: w.peers.submit([{"stream": w.stream}], kind=99)),
    ("peers_join", Argument, lambda w: w.device.join(by=99)),
    ("symmetric_allocate", Argument, lambda w: w.peers.allocate(4096, alignment=3)),
    ("symmetric_get_address", Argument, lambda w: w.symmetric.address(9)),
    ("symmetric_get_device_handle", Argument, lambda w: w.symmetric.device_handle(9)),
    ("symmetric_reset", Argument, lambda w: w.symmetric.reset(9, w.stream)),
    ("admission_create", Argument, lambda w: w.runtime.admission_create(flags=99)),
    ("admission_enter", Argument, lambda w: w.admission.enter(cq=w.cq, priority=99)),
    ("admission_cancel", Missing, lambda w: w.admission.cancel(77)),
    ("admission_leave", Missing, lambda w: w.admission.leave(77)),
    ("admission_leave_after", Missing, lambda w: w.admission.leave_after(77, w.stream)),
    ("admission_set_flow", Argument, lambda w: w.admission.set_flow(1, 0)),
    ("batcher_create", Argument, lambda w: w.runtime.batcher(devices=[])),
    ("batcher_add_key", Argument, lambda w: w.batcher.add_key(layout=99)),
    ("batcher_submit", Missing, lambda w: w.batcher.submit(key=9, cq=w.cq)),
    ("batcher_cancel", Missing, lambda w: w.batcher.cancel(77)),
    ("batcher_set_flow", Argument, lambda w: w.batcher.set_flow(1, 0)),
    ("batcher_get_key_info", Missing, lambda w: w.batcher.key_info(9)))


@case
def waits_end_when_their_time_is_over():
    with World() as w:
        w.other.wait_timeline(w.timeline, 1)
        w.event.record(w.other)
        w.scheduler.start()
        for name, wait in {"stream": w.other.wait, "event": w.event.wait, "cq": w.cq.wait, "scheduler": w.scheduler.wait,
                           "timeline": lambda timeout: w.timeline.wait(1, timeout), "device": w.device.wait,
                           "queue": lambda timeout: w.host_ring.wait(timeout=timeout)}.items():
            try:
                wait(0.01)
            except TimeoutError as error:
                assert type(error) is gpuorch.Timeout and error.status == gpuorch.TIMEOUT, name
            else:
                raise AssertionError(f"{name}: the wait ended")
        w.timeline.signal(1)


@case
def memory_that_is_not_there_is_a_memory_error():
    with World() as w:
        try:
            w.device.memory_allocate("u8", 2**46)
        except MemoryError as error:
            assert type(error) is gpuorch.OutOfMemory and error.native_code == 2 and error.function == "cuMemAlloc"
        else:
            raise AssertionError("the memory was there")


@case
def objects_of_another_runtime_are_refused():
    with World() as w, gpuorch.Runtime(device=DEVICE) as runtime, runtime.device_open() as device:
        stream, event, cq = device.stream_create(), device.event_create(), runtime.cq_create()
        timeline, executor = runtime.timeline_create(), runtime.executor_create(flags=CALLER)
        calls = (
                ("event_record", lambda: w.event.record(stream)), ("event_notify", lambda: w.event.notify(cq)),
                ("event_then", lambda: w.event.then(executor, print)), ("stream_notify", lambda: w.stream.notify(cq)),
                ("stream_wait_event", lambda: w.stream.wait_event(event)),
                ("stream_wait_stream", lambda: w.stream.wait_stream(stream)),
                ("stream_wait_timeline", lambda: w.stream.wait_timeline(timeline, 1)),
                ("stream_signal_timeline", lambda: w.stream.signal_timeline(timeline, 1)),
                ("stream_then", lambda: w.stream.then(executor, print)),
                ("stream_host_call", lambda: w.stream.host_call(executor, print)),
                ("timeline_notify", lambda: w.timeline.notify(1, cq)),
                ("timeline_then", lambda: w.timeline.then(1, executor, print)),
                ("runtime_set_log_executor", lambda: w.runtime.set_log_executor(executor)),
                ("graph_launch", lambda: w.graph.launch(stream)),
                ("template_begin", lambda: w.template.begin(stream)), ("queue_reset", lambda: w.queue.reset(stream)),
                ("batcher_submit", lambda: w.batcher.submit(key=0, cq=cq)),
                ("admission_enter", lambda: w.admission.enter(cq=cq)))
        all_fail(*((function, Handle, call) for function, call in calls))


# --- what C has closed, and Python doesn't know ---


c = ctypes.CDLL(os.environ.get("GPUORCH_COUNTED_LIBRARY") or gpuorch.library().path)
ALONE = {"advise_trace", "last_compile_log", "last_error", "peers_make_id", "runtime_create", "status_name", "status_text",
         "version"}  # functions that take no object
ENDS = [name for name in dir(raw) if name.endswith("_destroy")] + ["device_close", "runtime_shutdown"]
COPY = {"destination": 4096, "source": 4096, "bytes": 4}
VALUES = {  # for parameters, by their names; others are objects of the World, or 1
    "after": None, "alignment": 256, "arguments": [], "callback": print, "child": "template", "collective": {},
    "condition": {}, "conditional_in": "template", "copies": [COPY], "copy": COPY, "costs": [1.0], "destination": 4096,
    "destination_device": "device", "devices": ["device"], "end": "event", "exported": bytes(256), "function": print,
    "graph_template": "template", "handlers": [{"name": "nothing"}], "image": b"image", "kernel_in": "template",
    "label": "label", "launch": {"grid": 1, "block": 1}, "launches": [{}], "memory": 4096, "name": "value", "node": 1,
    "object": "event", "options": {}, "parts": [{}], "peer": "device", "ranks": [0], "request": {}, "since": "event",
    "sink": {}, "source": 4096, "source_device": "device", "start": "event", "status": gpuorch.FAILED, "tasks": bytes(16),
    "timeout": 0.01, "workload": {}}
FOR_FUNCTIONS = {  # where a name means something else
    "batcher_create": {"options": {"devices": ["device"]}}, "copy_on_device": {"bytes": 4}, "copy_peer": {"bytes": 4},
    "copy_rows": {"copy": {}}, "copy_to_device": {"source": bytes(64)},
    "copy_to_host": {"destination": bytearray(64)}, "fill": {"count": 1}, "graph_set": {"value": ("u32", 1)},
    "graph_set_parameter": {"value": ("u32", 1)}, "host_register": {"memory": bytearray(64)},
    "module_compile": {"options": {"source": ""}}, "pipeline_start": {"source": {}}, "template_add_fill": {"count": 1},
    "template_add_host_call": {"function": 4096},
    **{name: {"pool": "stream_pool"} for name in dir(raw) if name.startswith("stream_pool_")},
    **{name: {"memory": "symmetric"} for name in dir(raw) if name.startswith("symmetric_")}}


def builtins():
    """The functions of _gpuorch that stand for functions of C's, by their names."""
    return {name: getattr(raw, name) for name in dir(raw) if hasattr(c, "gpo_" + name)}


def value_in(w, given):
    """A value, with objects of the World in place of their names."""
    if isinstance(given, dict):
        return {name: value_in(w, one) for name, one in given.items()}
    if isinstance(given, list):
        return [value_in(w, one) for one in given]
    return getattr(w, given) if isinstance(given, str) and isinstance(getattr(w, given, None), gpuorch.Handle) else given


def arguments_of(w, name):
    """Arguments for a function: its first parameter, and those without a default, by their names."""
    found, special = {}, FOR_FUNCTIONS.get(name, {})
    for parameter, about in inspect.signature(getattr(raw, name)).parameters.items():
        if about.default is about.empty or not found or parameter in special or parameter == "executor":
            known = {**dict.fromkeys(vars(w).keys() & {parameter}, parameter), **VALUES, **special}
            found[parameter] = value_in(w, known.get(parameter, 1))
    return found


def handle_of(one):
    """The handle of an object: the first word behind the head of every object of Python's."""
    return ctypes.c_void_p.from_address(id(one) + object.__basicsize__)


def shut_down_by_c(w):
    assert c.gpo_runtime_shutdown(handle_of(w.runtime), ctypes.c_int64(-1)) == 0


@case
def every_function_says_that_c_has_shut_the_runtime_down():
    w = World()
    shut_down_by_c(w)
    first = {"graph_set": "template_get_parameter"}  # is asked for the size of the value
    rows = [(first.get(name, name), Handle, lambda name=name, function=function: function(**arguments_of(w, name)))
            for name, function in builtins().items()
            if name not in ALONE and name not in ENDS and (not name.startswith("cq_") or name == "cq_create")]
    assert len(rows) > 200
    all_fail(*rows)
    all_fail(("cq_wait", gpuorch.ShutDown, lambda: w.cq.wait(1)), ("cq_drain", gpuorch.ShutDown, lambda: raw.cq_drain(w.cq)))
    w.cq.close()
    w.runtime.close()
    assert w.runtime.closed and w.device.closed and w.cq.closed


@case
def what_c_has_ended_is_stale_and_can_be_closed():
    w = World()
    for name in ENDS:
        kind = name.removesuffix("_destroy").removesuffix("_close").removesuffix("_shutdown")
        one = getattr(w, kind)
        if kind == "runtime":
            shut_down_by_c(w)
        else:
            assert getattr(c, "gpo_" + name)(handle_of(one)) == 0, name
        status = Handle if kind == "runtime" else gpuorch.StaleHandle
        all_fail(("object_get_label", status, lambda one=one: one.label), ("object_get_error", status, one.error))
        if kind == "cq":
            all_fail(*((name, status, lambda name=name: getattr(raw, name)(**arguments_of(w, name)))
                       for name in builtins() if name.startswith("cq_") and name not in ("cq_create", "cq_destroy")))
        assert not one.closed and getattr(raw, name)(one) is None and one.closed, name


# --- memory is short ---


def with_short_memory(function):
    """Tests a function that returns [(call, check of what the call returns)]: each allocation of a call fails once."""
    name = function.__name__
    try:
        import _testcapi
    except ImportError:
        skip(name.replace("_", " "), "this Python has no _testcapi")
        return

    def test():
        with World() as w:
            for call, check in function(w):
                assert check(call()), call
                failures = 0
                for number in range(80):
                    made = None
                    _testcapi.set_nomemory(number, number + 1)
                    try:
                        made = call()
                    except MemoryError:
                        failures += 1
                    finally:
                        _testcapi.remove_mem_hooks()
                    assert made is None or check(made), (call, number)
                assert failures, call

    test.__name__ = name
    case(test)


@with_short_memory
def options_are_whole_or_memory_is_short(w):
    options = {"kind": gpuorch.QUEUE_RING, "task_size": 16, "capacity": 100}
    names = types.SimpleNamespace(**options)
    items = types.MappingProxyType(options)

    def check(queue):
        info = queue.info()
        return (info.kind, info.capacity) == (gpuorch.QUEUE_RING, 128)

    return [(lambda: w.device.queue(**options), check), (lambda: raw.queue_create(w.device, names), check),
            (lambda: raw.queue_create(w.device, items), check)]


@with_short_memory
def memory_of_others_is_read_or_memory_is_short(w):
    class Pinned:
        def __init__(self, of):
            self.__cuda_array_interface__ = {"shape": (64,), "typestr": "<u4", "data": (of.address, False), "version": 3}

    element = types.SimpleNamespace(name="f32", byteorder="=")
    host, other = w.arena.allocate("u32", 64), Pinned(w.array)
    view = memoryview(host)

    def copied(_):
        w.stream.wait(10)
        return True

    return [(lambda: w.stream.copy_to_device(other, view) or True, copied),
            (lambda: w.stream.copy_to_host(view, other) or True, copied),
            (lambda: w.arena.allocate(element, 4), lambda array: array.dtype == "f32"),
            (lambda: w.graph.set("value", 3) or True, copied)]


@case
def keywords_are_found_by_their_letters():
    with World() as w:
        number = "_".join(["element", "bytes"])  # made at run time: another object than the name in a program's calls
        raw.fill(w.stream, **{"".join("destination"): w.array, "".join("value"): 3, number: 4})
        out = bytearray(256)
        w.stream.copy_to_host(out, w.array)
        w.stream.wait(10)
        assert set(struct.unpack("64I", out)) == {3}
        size = "_".join(["task", "size"])
        assert w.device.queue(**{"".join("kind"): gpuorch.QUEUE_RING, size: 16, "capacity": 200}).info().capacity == 256
        for wrong in ("".join("valeu"), "count_"):
            try:
                raw.fill(w.stream, w.array, 3, **{wrong: 4})
            except TypeError as error:
                assert f"unexpected keyword argument '{wrong}'" in str(error), error
            else:
                raise AssertionError(wrong)


# --- functions that need no object ---


@case
def a_long_log_of_the_compiler_is_given_whole():
    with World() as w:
        source = "".join(f"\n__device__ unknown_{'long_' * 20}{i:03} x{i};" for i in range(40))
        all_fail(("module_compile", gpuorch.CompileFailed, lambda: w.device.module_compile(source)))
        log = gpuorch.last_compile_log()
        assert "long_000" in log and "long_039" in log and len(log) > 4096, len(log)


@case
def a_forked_child_is_told_so():
    outcome = run("""
import gpuorch, os, sys
with gpuorch.Runtime() as runtime:
    child = os.fork()
    for call in (gpuorch.peers_make_id, runtime.driver, gpuorch.Runtime) if child == 0 else ():
        try:
            call()
        except gpuorch.Forked as error:
            print(error.function)
    if child == 0:
        sys.exit(0)
    os.waitpid(child, 0)
""")
    assert outcome.stdout.split() == ["gpo_peers_make_id", "gpo_runtime_get_driver", "gpo_runtime_create"], outcome
