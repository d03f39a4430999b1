#!/usr/bin/env python3
"""bindings/python/ctypes/gpuorch.py: arguments, statuses, texts, structs, callbacks and completions; the samples that use it; and
libraries that are missing, older, newer or something else. On the device of GPUORCH_DEVICE."""
import array
import asyncio
import ctypes
import gc
import inspect
import json
import mmap
import os
import pathlib
import pydoc
import re
import struct
import subprocess
import sys
import tempfile
import threading
import time
import weakref

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(os.environ.get("GPUORCH_BUILD", "/none"))  # a bundle has none
LIBRARY = BUILD / "libgpuorch/libgpuorch.so.0.1" if BUILD.exists() else pathlib.Path(os.environ["GPUORCH_LIBRARY"])
DEVICE = os.environ.get("GPUORCH_DEVICE", "soft")
DRIVER = DEVICE.partition(":")[0]
ABI = next(path for path in (ROOT / "libgpuorch/abi.json", ROOT / "share/gpuorch/abi.json") if path.exists())  # there in a bundle
sys.path.insert(0, str(ROOT / "bindings/python/ctypes"))
import gpuorch

gpo = gpuorch.Library(LIBRARY)


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


def gone(*references):
    """What weak references lead to is collected, in the end: other threads may use it for a moment."""
    deadline = time.monotonic() + 20
    while gc.collect() >= 0 and any(one() is not None for one in references):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.002)
    return True


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


def memory_of_any_kind_knows_its_size():
    with World() as w, mmap.mmap(-1, 4096) as mapped, tempfile.TemporaryFile() as file:
        data = bytes(range(256)) * 16
        file.write(data)
        file.flush()
        device = gpo.memory_allocate(w.device, 4096)
        sources = [data, bytearray(data), memoryview(data), array.array("d", data),
                   (ctypes.c_uint16 * 2048).from_buffer_copy(data),
                   mmap.mmap(file.fileno(), 4096, access=mmap.ACCESS_READ), memoryview(bytearray(data)).cast("B", (64, 64))]
        targets = [bytearray(4096), memoryview(bytearray(4096)), array.array("H", bytes(4096)), (ctypes.c_double * 512)(), mapped,
                   memoryview(bytearray(4096)).cast("f", (32, 32)), ctypes.create_string_buffer(4096)]
        for source, target in zip(sources, targets):
            gpo.fill(w.stream, device, 0, 4, 1024)
            gpo.copy_to_device(w.stream, device, source)
            gpo.copy_to_host(w.stream, target, device)
            gpo.stream_wait(w.stream, -1)
            assert bytes(target[:] if target is mapped else target) == data, type(source)
        part = memoryview(bytearray(100))[50:60]
        gpo.copy_to_host(w.stream, part, device + 7, 5)  # fewer than there are
        gpo.stream_wait(w.stream, -1)
        assert bytes(part) == data[7:12] + bytes(5) and bytes(part.obj[:50]) == bytes(50)
        gpo.copy_to_device(w.stream, device, b"")
        module = gpo.module_compile(w.device, gpo.CompileOptions(source='extern "C" __global__ void one() {}'))
        image = gpo.module_get_image(module)
        assert gpo.module_get_kernel(gpo.module_load(w.device, memoryview(image)), "one")


def memory_that_is_wrong_is_refused_in_words():
    with World() as w, tempfile.TemporaryFile() as file:
        file.write(bytes(64))
        file.flush()
        device = gpo.memory_allocate(w.device, 64)
        mapped = mmap.mmap(file.fileno(), 64, access=mmap.ACCESS_READ)
        for read_only in (bytes(64), memoryview(bytes(64)), memoryview(bytearray(64)).toreadonly(), mapped):
            refused(TypeError, "copy_to_host: destination is written to, and this " + type(read_only).__name__ + " is read-only",
                    gpo.copy_to_host, w.stream, read_only, device)
            refused(TypeError, "Sink.memory is written to", gpo.Sink, kind=gpo.SINK_MEMORY, memory=read_only)
            gpo.copy_to_device(w.stream, device, read_only)
        scattered = memoryview(bytearray(128))[::2]
        refused(ValueError, "contiguous memory", gpo.copy_to_host, w.stream, scattered, device)
        refused(ValueError, "contiguous memory", gpo.copy_to_device, w.stream, device, scattered)
        refused(ValueError, "copy_to_host: bytes is 65, and destination has 64",
                gpo.copy_to_host, w.stream, bytearray(64), device, 65)
        refused(ValueError, "copy_to_device: bytes is 65, and source has 64",
                gpo.copy_to_device, w.stream, device, bytes(64), 65)
        for wrong in (1.5, "text", [1, 2], object()):
            refused(TypeError, "copy_to_device: source takes memory", gpo.copy_to_device, w.stream, device, wrong)
        host = bytearray(64)
        address = ctypes.addressof(ctypes.c_char.from_buffer(host))
        for unknown in (address, ctypes.c_void_p(address), ctypes.pointer(ctypes.c_char.from_buffer(host))):
            refused(TypeError, "was not given bytes, which source doesn't say", gpo.copy_to_device, w.stream, device, unknown)
            gpo.copy_to_device(w.stream, device, unknown, 64)
        gpo.stream_wait(w.stream, -1)


def arguments_may_be_named_and_lengths_left_out():
    with World() as w:
        stream = gpo.stream_create(device=w.device, options=gpo.StreamOptions(label="named"))
        assert gpo.object_get_label(object=stream) == "named"
        assert gpo.runtime_describe_device(w.runtime, ordinal=0).name and gpo.stream_wait(stream, timeout_ns=0) is None
        raises(gpuorch.Error, gpo.runtime_describe_peer, w.runtime, from_=0, to=99)
        memory = bytearray(4096)
        gpo.host_register(w.device, memory, flags=0)
        gpo.host_unregister(w.device, memory)
        refused(TypeError, "was not given flags", gpo.host_register, w.device, memory)
        refused(TypeError, "was not given ordinal", gpo.runtime_describe_device, w.runtime)
        refused(TypeError, "has no colour", gpo.stream_create, w.device, colour=1)
        refused(TypeError, "was given device twice", gpo.stream_create, w.device, device=w.device)
        refused(TypeError, "stream_wait(stream, timeout_ns) was given 3 arguments", gpo.stream_wait, stream, 0, 0)


def lists_are_arrays_and_know_their_length():
    with World() as w:
        template, device, host = gpo.template_create(w.device), gpo.memory_allocate(w.device, 64), bytearray(16)
        first, second = (gpo.template_add_fill(template, destination=device + at, value=7, element_bytes=4, count=4)
                         for at in (0, 16))
        joined = gpo.template_add_empty(template, [first, second])
        last = gpo.template_add_fill(template, array.array("I", [joined]), destination=device, value=9, element_bytes=4, count=1)
        gpo.template_add_parameter(template, "value", last, gpo.PARAMETER_VALUE, 0)
        gpo.template_add_parameter(template, "bytes", last, gpo.PARAMETER_BYTES, 0)
        graph = gpo.graph_create(template)
        gpo.graph_set_all(graph, [gpo.Setting(name="value", value=ctypes.c_uint32(5)),
                                  gpo.Setting(name="bytes", value=ctypes.c_uint64(8))])
        gpo.graph_launch(graph, w.stream)
        gpo.copy_to_host(w.stream, host, device)
        gpo.stream_wait(w.stream, -1)
        assert array.array("I", host).tolist() == [5, 5, 7, 7], host
        value = bytearray(4)
        gpo.graph_get(graph, "value", value)
        assert value == b"\5\0\0\0"
        refused(TypeError, "graph_get: value is written to", gpo.graph_get, graph, "value", bytes(4))
        refused(ValueError, "after_count is 3, and after has 2", gpo.template_add_empty, template, [first, second], 3)
        refused(TypeError, "this array has the format q", gpo.template_add_empty, template, array.array("q", [1]))
        refused(TypeError, "takes a list of Setting, not bytes", gpo.graph_set_all, graph, b"12345678")
        raises(OverflowError, gpo.template_add_empty, template, [2**32])
        gpo.copy_batch(w.stream, [gpo.Copy(destination=device + at, source=device, bytes=8) for at in (32, 48)])
        gpo.copy_to_host(w.stream, host, device + 40)
        gpo.stream_wait(w.stream, -1)
        assert array.array("I", host)[2:].tolist() == [5, 5], host
        assert gpo.peers_get_info(gpo.peers_create([w.device])).ranks == 1


def structs_know_how_long_their_arrays_are():
    with World() as w:
        options = gpo.BucketsOptions(shapes=[1, 2], record=lambda *_: None, restored=[gpo.MemoryRange(address=1, bytes=4)])
        assert (options.shape_count, options.restored_count, options.restored_stride) == (2, 1, 24)
        options.shapes = array.array("Q", [4, 8, 16])
        assert options.shape_count == 3 and options.shapes[2] == 16
        assert gpo.BucketsOptions(shapes=[1, 2], shape_count=1).shape_count == 1
        source = gpo.Source(memory=bytes(40))
        assert source.bytes == 40 and gpo.Source(memory=bytes(40), bytes=10).bytes == 10
        source.memory = bytearray(30)
        assert source.bytes == 30
        refused(ValueError, "Source.bytes is 31, and memory has 30", setattr, source, "bytes", 31)
        refused(ValueError, "BucketsOptions.shape_count is 3, and shapes has 2", gpo.BucketsOptions, shapes=[1, 2], shape_count=3)
        refused(ValueError, "shape_count is 3, and shapes has 2", gpo.BucketsOptions, shape_count=3, shapes=[1, 2])
        refused(ValueError, "header_count is 2, and header_texts has 1",
                gpo.CompileOptions, header_names=["a", "b"], header_texts=["1"])
        text = '#include "n.h"\nextern "C" __global__ void set(int *out) { *out = N * M; }'
        module = gpo.module_compile(w.device, gpo.CompileOptions(
            source=text, options=["-DM=3"], header_names=["n.h"], header_texts=["#define N 14"]))
        device, host = gpo.memory_allocate(w.device, 4), array.array("i", [0])
        gpo.launch(w.stream, gpo.module_get_kernel(module, "set"), [1], [1], device)
        gpo.copy_to_host(w.stream, host, device)
        gpo.stream_wait(w.stream, -1)
        assert host[0] == 42


def a_struct_takes_lists_for_its_arrays_and_shows_what_is_set():
    launch = gpo.Launch(grid=[4], block=(256, 2), label="blur")
    assert (list(launch.grid), list(launch.block)) == ([4, 0, 0], [256, 2, 0])
    assert repr(launch) == "Launch(grid=[4, 0, 0], block=[256, 2, 0], label=b'blur')", repr(launch)
    refused(TypeError, "Launch.grid has 3 elements, not 4", gpo.Launch, grid=[1, 1, 1, 1])
    raises(TypeError, gpo.Launch, grid=[1.5])
    raises(OverflowError, gpo.Launch, grid=[-1])
    assert repr(gpo.StreamOptions()) == "StreamOptions()" and "value=" in repr(gpo.StageArgument(value=7))


def what_a_queue_answers_is_written_to_memory():
    with World() as w, gpo.stream_create(w.device, gpo.StreamOptions(flags=gpo.STREAM_RESIDENT)) as resident:
        options = gpo.QueueOptions(kind=gpo.QUEUE_HOST_RING, task_size=16, answer_size=4, stream=resident)
        with gpo.queue_create(w.device, options) as queue:
            entries = (gpo.Answer * 4)()
            assert gpo.queue_take(queue, 0, entries) == gpo.queue_take(queue, 0, entries, answers=bytearray(16)) == 0
            refused(TypeError, "queue_take: answers is written to", gpo.queue_take, queue, 0, entries, answers=bytes(16))
            assert gpo.queue_post(queue, 0, bytearray(32), count=2, user_data=5) == 2


KINDS = """
    struct Pair { int one; float two; };
    extern "C" __global__ void kinds(double *out, int a, unsigned b, long long c, unsigned long long d, float e, double f, Pair g,
                                     unsigned char h, short i) {
        double all[] = {double(a), double(b), double(c), double(d), e, f, double(g.one), g.two, double(h), double(i)};
        for (int n = 0; n < 10; ++n) out[n] = all[n];
    }"""
NUMBERS = (-7, 2**32 - 1, -2**40, 2**63, 0.25, 1e300, struct.pack("if", -3, 1.5), ctypes.c_uint8(200), array.array("h", [-9]))
SEEN = [-7, 2**32 - 1, -2**40, 2**63, 0.25, 1e300, -3, 1.5, 200, -9]


def numbers_and_buffers_are_arguments_of_kernels():
    with World() as w:
        kernel = gpo.module_get_kernel(gpo.module_compile(w.device, gpo.CompileOptions(source=KINDS)), "kinds")
        device, host = gpo.memory_allocate(w.device, 80), array.array("d", bytes(80))

        def computes(call, *arguments):
            gpo.fill(w.stream, device, 0, 4, 20)
            call(*arguments)
            gpo.copy_to_host(w.stream, host, device)
            gpo.stream_wait(w.stream, -1)
            return host.tolist()

        launch = gpo.Launch(grid=(1,), block=(1,))
        assert computes(gpo.launch, w.stream, kernel, [1], [1], device, *NUMBERS) == SEEN, host
        assert computes(gpo.stream_launch_kernel, w.stream, kernel, launch, (device, *NUMBERS)) == SEEN, host
        prepared = gpo.prepare(kernel, [1], [1], device, *NUMBERS)
        gc.collect()
        assert computes(prepared, w.stream) == SEEN, host
        prepared.values[1].value, prepared.values[5].value = 12, 0.5
        assert computes(prepared, w.stream) == [12, *SEEN[1:4], 0.5, *SEEN[5:]], host
        with gpo.template_create(w.device) as template:
            node = gpo.template_add_kernel(template, kernel=kernel, launch=launch, arguments=[device, *NUMBERS])
            gpo.template_add_kernel(template, [node], None, kernel, launch, [device, 5, *NUMBERS[1:]])
            assert computes(gpo.graph_launch, gpo.graph_create(template), w.stream) == [5, *SEEN[1:]], host
        with gpo.peers_create([w.device]) as peers:
            ranks = [gpo.RankLaunch(arguments=[device, *NUMBERS], stream=w.stream, kernel=kernel, launch=launch)]
            assert computes(gpo.peers_launch, peers, ranks) == SEEN, host


def numbers_are_values_of_a_pipelines_stage():
    with World() as w:
        kernel = gpo.module_get_kernel(gpo.module_compile(w.device, gpo.CompileOptions(source=KINDS)), "kinds")
        values = [gpo.StageArgument(kind=gpo.ARGUMENT_VALUE, value=one) for one in NUMBERS]
        stage = gpo.Stage(kind=gpo.STAGE_KERNEL, arguments=[gpo.StageArgument(kind=gpo.ARGUMENT_OUTPUT), *values],
                          kernel=kernel, block=(1,), grid=(1,))
        taken = []
        with gpo.pipeline_create(w.device, gpo.PipelineOptions(stages=[stage])) as pipeline:
            gc.collect()
            gpo.pipeline_start(pipeline, gpo.Source(kind=gpo.SOURCE_MEMORY, memory=bytes(80)), gpo.Sink(
                kind=gpo.SINK_CALLBACK, take=lambda chunk: taken.append(ctypes.string_at(chunk.output, 80))))
            gpo.pipeline_wait(pipeline, -1)
        assert array.array("d", taken[0]).tolist() == SEEN, taken
        address = ctypes.addressof(NUMBERS[7])
        assert gpo.StageArgument(value=address, bytes=1).value == address  # a number with a size is one
        refused(TypeError, "a kernel expected", gpo.Stage, arguments=[gpo.StageArgument(kind=gpo.ARGUMENT_VALUE, value=1.5)])


def numbers_that_could_mean_several_things_are_refused_in_words():
    with World() as w:
        kernel = gpo.module_get_kernel(gpo.module_compile(w.device, gpo.CompileOptions(source=KINDS)), "kinds")
        device = gpo.memory_allocate(w.device, 80)

        def given(**changed):
            values = [device, *NUMBERS]
            for place, value in changed.items():
                values[int(place[1:])] = value
            return gpo.prepare, kernel, [1], [1], *values

        refused(TypeError, "argument 8 has 1 bytes, and 200 may be several types of that size: give a ctypes", *given(_8=200))
        refused(TypeError, "argument 9 has 2 bytes, and 0.5 may be several types", *given(_9=0.5))
        for value in (2**32, -2**31 - 1):
            refused(OverflowError, f"argument 1 has 4 bytes, and {value} doesn't fit", *given(_1=value))
        for value in (2**64, -2**63 - 1):
            refused(OverflowError, f"argument 3 has 8 bytes, and {value} doesn't fit", *given(_3=value))
        for value in ("text", None, [1], object()):
            words = f"argument 1 takes a number, a ctypes object or a buffer, not {type(value).__name__}"
            refused(TypeError, words, *given(_1=value))
        assert "has 10" in str(raises(gpuorch.Error, gpo.prepare, kernel, [1], [1], device, *NUMBERS, 5))
        wrong = gpo.prepare(kernel, [1], [1], device, b"12345", *NUMBERS[1:])
        assert raises(gpuorch.Error, wrong, w.stream).status == gpo.INVALID_ARGUMENT
        real = gpo.kernel_get_parameter
        kernel = gpo.module_get_kernel(gpo.module_load_builtin(w.device), "gpo_fill_u32")
        try:  # as a driver before CUDA 12.4
            gpo.kernel_get_parameter = type("Old", (), {"call": staticmethod(lambda *_: gpo.NOT_SUPPORTED)})
            refused(TypeError, "the driver can't tell the size of argument 1: give a ctypes object, such as ctypes.c_int(1)",
                    gpo.prepare, kernel, [1], [1], ctypes.c_uint64(device), 5, ctypes.c_uint64(20))
            gpo.launch(w.stream, kernel, [1], [1], ctypes.c_uint64(device), ctypes.c_uint32(5), ctypes.c_uint64(20))
        finally:
            gpo.kernel_get_parameter = real


def with_numpy():
    try:
        import numpy
        return numpy
    except ImportError:
        raise Skip("numpy is not installed") from None


def arrays_of_numpy_are_memory():
    numpy = with_numpy()
    with World() as w:
        device, data = gpo.memory_allocate(w.device, 4096), numpy.arange(1024, dtype=numpy.float32)
        for shape in ((1024,), (32, 32), (2, 16, 32)):
            back = numpy.zeros(shape, numpy.float32)
            gpo.copy_to_device(w.stream, device, data.reshape(shape))
            gpo.copy_to_host(w.stream, back, device)
            gpo.stream_wait(w.stream, -1)
            assert (back.ravel() == data).all()
        gpo.copy_to_device(w.stream, device, data[100:200])
        gpo.copy_to_host(w.stream, back := numpy.zeros(100, numpy.float32), device)
        gpo.stream_wait(w.stream, -1)
        assert (back == data[100:200]).all()
        for scattered in (data[::2], data.reshape(32, 32).T, data.reshape(32, 32)[:, :4]):
            refused(ValueError, "contiguous memory in C's order: give a copy of this ndarray",
                    gpo.copy_to_device, w.stream, device, scattered)
        data.flags.writeable = False
        gpo.copy_to_device(w.stream, device, data)
        refused(TypeError, "destination is written to, and this ndarray is read-only", gpo.copy_to_host, w.stream, data, device)
        assert gpo.BucketsOptions(shapes=numpy.array([4, 8], numpy.uint64)).shape_count == 2
        refused(TypeError, "BucketsOptions.shapes takes a list, or memory of c_ulong, and this ndarray has the format d",
                gpo.BucketsOptions, shapes=numpy.array([4.0, 8.0]))
        gpo.stream_wait(w.stream, -1)


def numbers_of_numpy_have_a_size_of_their_own():
    numpy = with_numpy()
    with World() as w:
        kernel = gpo.module_get_kernel(gpo.module_compile(w.device, gpo.CompileOptions(source=KINDS)), "kinds")
        device, host = gpo.memory_allocate(w.device, 80), numpy.zeros(10)
        pair = numpy.array((-3, 1.5), [("one", numpy.int32), ("two", numpy.float32)])
        values = (numpy.int32(-7), numpy.uint32(2**32 - 1), numpy.int64(-2**40), numpy.uint64(2**63), numpy.float32(0.25),
                  numpy.float64(1e300), pair, numpy.uint8(200), numpy.int16(-9))
        gpo.launch(w.stream, kernel, [1], [1], numpy.uint64(device), *values)
        gpo.copy_to_host(w.stream, host, device)
        gpo.stream_wait(w.stream, -1)
        assert host.tolist() == SEEN, host
        wrong = gpo.prepare(kernel, [1], [1], device, *values[:4], numpy.float64(0.25), *values[5:])
        assert "argument 5 of kernel" in str(raises(gpuorch.Error, wrong, w.stream))
        gpo.fill(w.stream, numpy.uint64(device), numpy.int16(7), numpy.int64(4), numpy.uint8(20))
        raises(OverflowError, gpo.fill, w.stream, device, numpy.int16(-1), 4, 20)
        gpo.stream_wait(w.stream, -1)


def numpy_is_never_imported():
    code = (f"import sys; sys.path.insert(0, {str(ROOT / 'bindings/python/ctypes')!r}); import gpuorch\n"
            f"gpo = gpuorch.Library({str(LIBRARY)!r})\nruntime = gpo.runtime_create(gpo.RuntimeOptions(device={DEVICE!r}))\n"
            "device = gpo.device_open(runtime)\nstream = gpo.stream_create(device)\nmemory = gpo.memory_allocate(device, 8)\n"
            "gpo.copy_to_device(stream, memory, bytearray(8))\ngpo.stream_wait(stream, -1)\n"
            "kernel = gpo.module_get_kernel(gpo.module_load_builtin(device), 'gpo_fill_u32')\n"
            "gpo.launch(stream, kernel, [1], [1], memory, 7, 2)\nprint('numpy' in sys.modules)")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "False\n", done


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


def a_posted_callback_is_called_at_once_or_at_its_time_or_is_cancelled():
    with World() as w, gpo.executor_create(w.runtime, gpo.ExecutorOptions(flags=gpo.EXECUTOR_CALLER)) as executor:
        got, start, never, origin = [], time.monotonic_ns(), 2**64 - 1, gpo.ORIGIN_EXECUTOR

        def note(name):
            return lambda completion, error: got.append((name, completion.status, completion.origin, error and error.status))
        tickets = [gpo.executor_post_at(executor, start + 10_000_000 * name, note(name)) for name in (3, 1, 2)]
        cancelled = gpo.executor_post_at(executor, never, note("cancelled"))
        assert len({*tickets, cancelled, 0}) == 5
        assert gpo.executor_post(executor, note("posted")) is None and got == []
        gpo.executor_cancel(executor, cancelled)
        assert raises(gpuorch.Error, gpo.executor_cancel, executor, cancelled).status == gpo.NOT_FOUND
        assert gpo.executor_run(executor) == 5 and time.monotonic_ns() >= start + 30_000_000
        assert got == [("posted", gpo.SUCCESS, origin, None), ("cancelled", gpo.CANCELLED, origin, gpo.CANCELLED),
                       *((name, gpo.SUCCESS, origin, None) for name in (1, 2, 3))], got
        gpo.executor_post_at(executor, never, note("left"))
        raises(gpuorch.Timeout, gpo.executor_run_for, executor, 1_000_000)
        executor.close()
        assert got[5:] == [("left", gpo.CANCELLED, origin, gpo.CANCELLED)], got


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
        assert len(count) == 100 and gone(*there)
        gpo.stream_then(w.stream, executor, lambda *_: None)
        assert len(executor.owned.owed) == 1
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


def batcher_of(w, work, **options):
    """A batcher with a key of rows of 16 bytes."""
    batcher = gpo.batcher_create(gpo.BatcherOptions(devices=[w.device]))
    key = gpo.BatcherKeyOptions(layout=gpo.BATCH_ROWS, input_bytes=16, output_bytes=16, work=work, **options)
    assert gpo.batcher_add_key(batcher, key) == 0
    return batcher


def every_callback_stays_as_long_as_abi_json_says():
    """For each: `given` takes the callback and gives what it has been given to, `end` what ends the calls."""
    abi = json.loads(ABI.read_text())
    types = {one["name"] for one in abi["callbacks"]}
    said = {(one["name"], each["name"]): each for one in abi["functions"] + abi["structs"]
            for each in one.get("parameters", one.get("fields")) if each["type"] in types}
    assert all(one["stays_until"] and one["called"] in ("once", "often") for one in said.values()), said

    def stage(enqueue):
        return gpo.Stage(kind=gpo.STAGE_CALLBACK, enqueue=enqueue)

    def pipeline(w, **options):
        return gpo.pipeline_create(w.device, gpo.PipelineOptions(stage_count=1, **{"stages": [stage(lambda *_: None)], **options}))

    go_on = threading.Event()

    class Last(Given):
        def __call__(self, *arguments):
            go_on.wait(20)
            return gpo.END

    def run(w, **given):
        go_on.clear()
        made = pipeline(w, stages=[stage(lambda *_: go_on.wait(20) and None)])
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
        go_on.set()
        gpo.pipeline_wait(made, -1)
        made.close()

    def closed(made):
        made.close()

    def shut_down(w):
        return lambda _: (w.stream.close(), w.device.close(), w.runtime.close())

    with World() as w, gpo.executor_create(w.runtime, gpo.ExecutorOptions(flags=gpo.EXECUTOR_CALLER)) as executor, \
            gpo.event_create(w.device) as event, gpo.timeline_create(w.runtime) as timeline, \
            gpo.admission_create(w.runtime) as admission, batcher_of(w, lambda *_: None) as batcher, run(w) as ended:
        gpo.event_record(event, w.stream)
        go_on.set()
        last, later, newest = World(), World(), World()
        line = gpo.BatcherRequest(input=bytes(16), output=bytearray(16))

        def called(_):
            gpo.executor_run(executor)
        uses = {
            ("gpo_stream_then", "callback"): (lambda given: gpo.stream_then(w.stream, executor, given), called),
            ("gpo_event_then", "callback"): (lambda given: gpo.event_then(event, executor, given), called),
            ("gpo_timeline_then", "callback"): (lambda given: gpo.timeline_then(timeline, 0, executor, given), called),
            ("gpo_pipeline_then", "callback"): (lambda given: gpo.pipeline_then(ended, executor, given), called),
            ("gpo_executor_post", "callback"): (lambda given: gpo.executor_post(executor, given), called),
            ("gpo_executor_post_at", "callback"): (
                lambda given: gpo.executor_post_at(executor, time.monotonic_ns() + 1_000_000, given), called),
            ("gpo_admission_enter_then", "callback"): (
                lambda given: gpo.admission_enter_then(admission, None, executor, given), called),
            ("gpo_batcher_submit_then", "callback"): (
                lambda given: gpo.batcher_submit_then(batcher, line, executor, given), called),
            ("gpo_batcher_key_options", "work"): (lambda given: batcher_of(later, given), shut_down(later)),
            ("gpo_batcher_key_options", "release"): (
                lambda given: batcher_of(newest, lambda *_: None, release=given), shut_down(newest)),
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
            given = Last() if what == ("gpo_source", "fill") else Given()
            there, made = weakref.ref(given), give(given)
            del given
            gc.collect()
            assert there() is not None, what
            end(made)
            del made
            assert gone(there), what


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
        kept = len(gpo.outlived), len(gpo.runs)
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
        assert gone(memory, sink) and there_is(stage), "a run that was waited for"
        pipeline.close()
        assert gone(stage), "a pipeline that is closed"

        hook, sys.excepthook = sys.excepthook, lambda *_: None
        try:
            pipeline, memory, sink, stage = started(take=fail)
            assert raises(gpuorch.Error, gpo.pipeline_wait, pipeline, -1).status == gpo.CALLBACK_FAILED
        finally:
            sys.excepthook = hook
        assert gone(memory), "a run that failed"
        pipeline.close()

        # Closed in the middle of a run: all stays until the run has ended.
        inside, go_on = threading.Event(), threading.Event()
        pipeline, memory, sink, stage = started(take=lambda: (inside.set(), go_on.wait(30)))
        assert inside.wait(30)
        pipeline.close()
        assert there_is(memory) and there_is(sink) and there_is(stage), "a run that outlives its pipeline"
        go_on.set()
        assert gone(memory, sink, stage), "its end"

        pipeline, memory, sink, stage = started()
    assert gone(memory, sink, stage), "a runtime that has shut down"
    assert (len(gpo.outlived), len(gpo.runs)) <= kept, (gpo.outlived, gpo.runs)


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


def places_of_an_admission_are_awaited_and_come_back():
    async def main():
        with World() as w, gpuorch.Completions(gpo, w.runtime) as done, \
                gpo.admission_create(w.runtime, gpo.AdmissionOptions(count=1)) as admission:
            def now():
                info = gpo.admission_get_info(admission)
                return info.held, info.waiting

            async def entered(**request):
                async with done.place(admission, gpo.AdmissionRequest(**request) if request else None) as ticket:
                    return ticket

            async with done.place(admission) as ticket:
                assert ticket and now() == (1, 0)
                waiting = asyncio.ensure_future(entered(bytes=5))
                await asyncio.sleep(0)
                assert now() == (1, 1)
                late = await asyncio.gather(entered(deadline_ns=time.monotonic_ns() + 10**7), return_exceptions=True)
                assert late[0].status == gpo.TIMEOUT, late
                dropped = asyncio.ensure_future(entered())
                await asyncio.sleep(0)
                dropped.cancel()
                assert isinstance((await asyncio.gather(dropped, return_exceptions=True))[0], asyncio.CancelledError)
                assert now() == (1, 1)
            assert await waiting != ticket and now() == (0, 0)
            # Cancelled when the place was held already, but the task did not know yet.
            there = asyncio.ensure_future(entered())
            await asyncio.sleep(0)
            assert now() == (1, 0)
            there.cancel()
            await asyncio.gather(there, return_exceptions=True)
            assert now() == (0, 0)
            async with done.place(admission) as ticket:
                gpo.admission_leave_after(admission, ticket, w.stream)
            await done.stream(w.stream)
            async with done.place(admission):
                assert raises(gpuorch.Error, gpo.admission_leave, admission, ticket).status == gpo.NOT_FOUND
            async with done.place(admission):
                waits = entered()
                waits.send(None)
                assert now() == (1, 1)
                waits.close()   # as the collector does
                assert now() == (1, 0)
            refused = await asyncio.gather(entered(count=2), return_exceptions=True)
            assert refused[0].status == gpo.LIMIT_EXCEEDED
            with gpo.admission_create(w.runtime) as other:
                async with done.place(other):
                    other.close()

    asyncio.run(main())


def requests_of_a_batcher_are_awaited_and_keep_their_memory():
    async def main():
        def copy(stream, batch):
            gpo.copy_on_device(stream, batch.output, batch.input, batch.requests * 16)

        with World() as w, gpuorch.Completions(gpo, w.runtime) as done, batcher_of(w, copy) as batcher, \
                batcher_of(w, copy, max_batch=100, max_delay_ns=3600 * 10**9) as slow:
            def request(text, **more):
                output = bytearray(16)
                return gpo.BatcherRequest(input=text, output=output, **more), output

            one, output = request(b"a row of a batch")
            entry = await done.submit(batcher, one)
            assert (entry.status, entry.origin, output) == (gpo.SUCCESS, gpo.ORIGIN_BATCHER, b"a row of a batch")
            several = [request(bytes([i]) * 16, flow=i) for i in range(50)]
            await asyncio.gather(*(done.submit(batcher, one) for one, _ in several))
            assert [output for _, output in several] == [bytes([i]) * 16 for i in range(50)]
            info = gpo.batcher_get_info(batcher)
            assert (info.succeeded, info.waiting, info.keys, type(info.requests_per_second)) == (51, 0, 1, float)
            late = raises(gpuorch.Timeout, done.submit, batcher, request(bytes(16), deadline_ns=1)[0])
            assert late.status == gpo.TIMEOUT and len(late.result) == 2
            assert raises(gpuorch.Error, done.submit, batcher, gpo.BatcherRequest(key=7)).status == gpo.NOT_FOUND

            dropped, output = request(bytes(16))
            there = weakref.ref(dropped.kept()["output"].kept)
            waiting = asyncio.ensure_future(done.submit(slow, dropped))
            del dropped
            await asyncio.sleep(0)
            assert gpo.batcher_get_info(slow).waiting == 1 and there()
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
            while done.submitted:
                await asyncio.sleep(0.001)
            assert gpo.batcher_get_info(slow).cancelled == 1
            left = done.submit(slow, request(bytes(16))[0])
            slow.close()
            assert (await asyncio.gather(left, return_exceptions=True))[0].status == gpo.CANCELLED

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


def shown(thing):
    """What help() shows."""
    return pydoc.render_doc(thing, renderer=pydoc.plaintext)


def every_public_name_has_documentation():
    def missing(owner, names):
        def documented(one):
            kinds = property, gpuorch.Function, staticmethod
            return inspect.isclass(one) or inspect.isroutine(one) or isinstance(one, kinds)

        return [f"{owner} {name}" for name, one in names.items()
                if not name.startswith("_") and one is not gpuorch.BYREF and documented(one) and not inspect.getdoc(one)]

    own = {name: one for name, one in vars(gpuorch).items() if getattr(one, "__module__", "") == "gpuorch"}
    wrong = missing("gpuorch", own)
    for name, one in vars(gpuorch).items():
        if inspect.isclass(one) and one.__module__ == "gpuorch":
            wrong += missing(name, vars(one))
    wrong += missing("gpo", vars(gpo))
    assert not wrong, wrong
    abi = json.loads(ABI.read_text())
    kinds = [one for one in vars(gpo).values() if isinstance(one, type)]
    assert len(kinds) == len(abi["handles"] + abi["structs"] + abi["callbacks"])
    texts = [shown(kind) for kind in kinds]
    for one in abi["functions"]:
        function = getattr(gpo, one["name"].removeprefix("gpo_"))
        text = shown(function)
        texts.append(text)
        assert all(f"    {word}: " in text for word in inspect.signature(function).parameters if word != "from_"), text
        assert one.get("says", ["See "])[0][:20].partition("gpo_")[0].partition("NULL")[0] in text, (one["name"], text)
    assert len(texts) > 300
    found = [re.search(r"\b(GPO_[A-Z]\w*|NULL)\b.*", text) for text in texts]
    left = [one[0] for one in found if one]
    assert not left, left  # names of C's


def structs_constants_and_functions_are_those_of_abi_json():
    abi = json.loads(ABI.read_text())
    for one in abi["statuses"] + abi["constants"]:
        assert getattr(gpo, one["name"].removeprefix("GPO_")) == one["value"], one
    structs = {name.lower(): kind for name, kind in vars(gpo).items() if isinstance(kind, type) and issubclass(kind, ctypes.Structure)}
    assert len(structs) == len(abi["structs"])
    for one in abi["structs"]:
        struct = structs[one["name"].removeprefix("gpo_").replace("_", "")]
        fields = {name: (getattr(struct, name).offset, getattr(struct, name).size) for name, _ in struct._fields_}
        assert fields == {each["name"]: (each["offset"], each["size"]) for each in one["fields"]}, one["name"]
        assert ctypes.sizeof(struct) == one["size"], one["name"]
    sizes = {"uint32_t": 4, "int32_t": 4, "gpo_status": 4}
    for one in abi["functions"]:
        call = getattr(gpo, one["name"].removeprefix("gpo_")).call
        assert [ctypes.sizeof(kind) for kind in call.argtypes] == [sizes.get(each["type"], 8) for each in one["parameters"]], one
        assert ctypes.sizeof(call.restype) == sizes.get(one["returns"], 8), one


def help_shows_parameters_with_units_and_what_is_raised():
    text = shown(gpo.stream_wait)
    for words in ("Waits for all work", "    stream: gpo.Stream\n", "timeout_ns: int, nanoseconds, below 0: no limit\n",
                  "Returns: None", "Raises gpuorch.Error", "    TIMEOUT: the timeout passed", "    CAPTURE_REFUSED: "):
        assert words in text, (words, text)
    assert str(inspect.signature(gpo.stream_wait)) == "(stream, timeout_ns)"
    assert str(inspect.signature(gpo.copy_to_host)) == "(stream, destination, source, bytes=None)"
    assert str(inspect.signature(gpo.stream_then)) == "(stream, executor, callback)"  # without C's `user`
    assert str(inspect.signature(gpo.runtime_describe_peer)) == "(runtime, from_, to)"
    for function, words in ((gpo.copy_to_host, "destination: memory, written to. Has to stay until the stream has got past"),
                            (gpo.stream_query, "Returns: True if all is done, else False"),
                            (gpo.object_get_label, "Returns: str"), (gpo.module_get_image, "Returns: bytes"),
                            (gpo.stream_create, "Returns: stream (gpo.Stream)"), (gpo.stream_then, "function(completion, error)"),
                            (gpo.device_get_priority_range, "Returns: least (int), greatest (int)"),
                            (gpo.template_add_empty, "after: list of int, or None"), (gpo.executor_run, "Returns: count (int)")):
        assert words in shown(function), (words, shown(function))
    text = shown(gpo.Stream)
    for words in ("A handle of a stream. close() calls gpo.stream_destroy", "Made by:", "gpo.stream_create(device, options=None)",
                  "Used by:", "gpo.stream_wait(stream, timeout_ns)\n |          Waits for all work", "close(self)"):
        assert words in text, (words, text)
    text = shown(gpo.StreamOptions)
    assert "priority: int. 0 is the default; lower numbers run first" in text and "struct_size: " not in text, text
    text = shown(gpo)
    assert "gpo.fill(" in text and "NOT_FOUND: there is no kernel, symbol or file of that name" in text, text


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
    pages = (ROOT / "bindings/python/ctypes/README.md").read_text()
    environment.update(GPUORCH_DEVICE=DEVICE, PYTHONPATH=str(ROOT / "bindings/python/ctypes"))
    for number, code in enumerate(re.findall(r"```python\n(.*?)```", pages, re.DOTALL), 1):
        told = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120)
        right = re.findall(r"print\(.*\) # (.*)", code)
        report(f"example {number} of the README prints what it says",
               (told.stdout.splitlines()[:len(right)], told.returncode, told.stderr), (right, 0, ""))


def main():
    def report(name, got, right, more=""):
        print(f"PASS {name}" if got == right else f"FAIL {name}: {got!r} in place of {right!r} {more}")

    here = sys.modules[__name__]
    tests = [one for name, one in inspect.getmembers(here, inspect.isfunction)
             if one.__module__ == here.__name__ and name.count("_") > 1 and not inspect.signature(one).parameters]
    for test in sorted(tests, key=lambda one: one.__code__.co_firstlineno):
        name = test.__name__.replace("_", " ")
        try:
            test()
            print(f"PASS {name}")
        except Skip as reason:
            print(f"SKIP {name}: {reason}")
        except Exception as error:
            line = error.__traceback__.tb_next.tb_lineno if error.__traceback__.tb_next else 0
            print(f"FAIL {name}: line {line}: {type(error).__name__}: {error}")
    other_libraries(report)
    samples(report)


main()
