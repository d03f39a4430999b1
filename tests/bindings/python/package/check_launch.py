#!/usr/bin/env python3
"""Kernels of the Python package: signatures given and read from sources, plans, arguments of every type, refusals, closed
and collected objects, threads. On the device of GPUORCH_DEVICE; tests that need numpy are skipped where it is missing."""
import array
import ctypes
import gc
import inspect
import math
import os
import struct
import sys
import threading
import weakref

from harness import case, outcome, raises, run, skip

import gpuorch
from gpuorch import _kernel

DEVICE = os.environ.get("GPUORCH_DEVICE", "soft")
SOFT = DEVICE.startswith("soft")
try:
    import numpy
except ImportError:
    numpy = None

SOURCE = """
#include <stdint.h>
struct pair { float x; int y; };
#define STORE(name, type) extern "C" __global__ void store_##name(type value, type *out) { *out = value; }
STORE(u8, uint8_t) STORE(i8, int8_t) STORE(u16, uint16_t) STORE(i16, int16_t) STORE(u32, uint32_t) STORE(i32, int32_t)
STORE(u64, uint64_t) STORE(i64, int64_t) STORE(f32, float) STORE(f64, double) STORE(bool, bool)
// extern "C" __global__ void saxpy(double wrong);
/* __global__ void saxpy(double wrong); */
extern "C" __global__ void saxpy(unsigned n, float a, const float *__restrict__ x, float *y) {
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = a * x[i] + y[i];
}
extern "C" __global__ void shape(unsigned *out) {
    if (threadIdx.x || threadIdx.y || threadIdx.z || blockIdx.x || blockIdx.y || blockIdx.z) return;
    out[0] = gridDim.x; out[1] = gridDim.y; out[2] = gridDim.z;
    out[3] = blockDim.x; out[4] = blockDim.y; out[5] = blockDim.z;
}
extern "C" __global__ void by_value(pair p, float *out) { out[0] = p.x; out[1] = p.y; }
extern "C" __global__ void nothing() {}
extern "C" __global__ void address(const void *p, unsigned long long *out) { *out = (unsigned long long)p; }
extern "C" __global__ void shared(unsigned *out) { extern __shared__ unsigned s[]; s[99] = 5; *out = s[99]; }
extern "C" __global__ void many(MANY, unsigned *out) { *out = SUM; }
extern "C" __global__ void wait_for(volatile unsigned *flag) { while (!*flag) {} }
""".replace("MANY", ", ".join(f"unsigned a{i}" for i in range(100))).replace("SUM", " + ".join(f"a{i}" for i in range(100)))
ELEMENTS = "u8 i8 u16 i16 u32 i32 u64 i64 f32 f64 bool".split()


def needs_numpy(test):
    if numpy:
        return case(test)
    skip(test.__name__.replace("_", " "), "numpy is missing")
    return test


class World:
    def __init__(self):
        self.runtime = gpuorch.Runtime(device=DEVICE)
        self.device = self.runtime.device_open()
        self.stream = self.device.stream_create(label="work")
        self.arena = self.device.arena_create()
        self.module = self.device.module_compile(SOURCE, file_name="check_launch.cu")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for one in (self.stream, self.arena, self.module, self.device, self.runtime):
            one.close()


# --- signatures ---


@case
def signatures_are_read_from_sources():
    def read(declaration, name="k"):
        return _kernel.signature_of(declaration, name)

    assert read('extern "C" __global__ void k(unsigned n, float a, const float* x, float *__restrict__ y) {') == (
        "u32 f32 ptr ptr", ("n", "a", "x", "y"))
    for type_, kind in (("unsigned long long", "u64"), ("std::size_t", "u64"), ("const int", "i32"), ("int const", "i32"),
                        ("long", "i64"), ("char", "i8"), ("unsigned char", "u8"), ("short", "i16"), ("__half", "f16"),
                        ("std::uint16_t", "u16"), ("double", "f64"), ("bool", "bool"), ("gpo::range", "range"),
                        ("gpo::ring", "ring"), ("gpo::host_ring", "host_ring"), ("float4 *", "ptr"), ("void **", "ptr"),
                        ("const __grid_constant__ int", "i32"), ("pair<int, float> *const", "ptr")):
        assert read(f"__global__ void k({type_} p)") == (kind, ("p",)), (type_, read(f"__global__ void k({type_} p)"))
    assert read("__global__ void k()") == ("", ()) and read("__global__ void k(void)") == ("", ())
    assert read("__global__ void k(int)") == ("i32", None)
    assert read("__global__ void k(float x[], int n)")[0] == "ptr i32"
    assert read("__global__ void __launch_bounds__(256, 2) k(int n)")[0] == "i32"
    assert read("__global__ __launch_bounds__(256) void k(int n)")[0] == "i32"
    assert read("static __global__ void kk(float a) {}\n__global__ void k(int n)")[0] == "i32"
    commented = "// __global__ void k(float a)\n__global__ void k(\n    int n, // comment, with (\n    /* , */ float *x)"
    assert read(commented)[0] == "i32 ptr"
    for source in ("void k(int n)", "__global__ void other(int n)", "template <class T> __global__ void k(T *x)", ""):
        raises(ValueError, "give the signature", read, source)
    raises(ValueError, "`pair p` needs a signature", read, "__global__ void k(int n, pair p)")


@case
def signatures_are_compared_with_the_kernel():
    with World() as w:
        assert w.module.kernel("saxpy").signature == "u32 f32 ptr ptr" and w.module.source == SOURCE
        assert w.module.kernel("saxpy", "i32,f32, ptr\tptr").signature == "i32,f32, ptr\tptr"
        assert w.module.kernel("nothing").signature == ""
        raises(ValueError, "has 4 parameters, the signature \"u32\" has 1", w.module.kernel, "saxpy", "u32")
        raises(ValueError, "has 4 parameters", w.module.kernel, "saxpy", "u32 f32 ptr ptr ptr")
        raises(ValueError, "parameter 2 of kernel `saxpy` has 4 bytes, and 8", w.module.kernel, "saxpy", "u32 f64 ptr ptr")
        raises(ValueError, "has 0 parameters", w.module.kernel, "nothing", "u32")
        for wrong in ("float", "u32*", "bytes:", "bytes:0", "bytes:-1", "bytes:40000", "bytes:1x", "pointer", "u128"):
            raises(ValueError, "is no type of a parameter", w.module.kernel, "saxpy", wrong)
        raises(TypeError, "", w.module.kernel, "saxpy", 5)
        raises(gpuorch.NotFound, "", w.module.kernel, "missing", "")
        raises(ValueError, "`pair p` needs a signature", w.module.kernel, "by_value")
        again = w.device.module_load(w.module.image())
        raises(ValueError, "no source", again.kernel, "saxpy")
        assert again.kernel("saxpy", "u32 f32 ptr ptr")
        builtin = w.device.module_load_builtin()
        for name, signature in _kernel.BUILTIN.items():
            assert builtin.kernel(name).signature == signature


# --- launches ---


@case
def a_kernel_computes():
    with World() as w:
        x, y = w.device.memory_allocate("f32", 1000), w.arena.allocate("f32", 1000)
        y[:] = 2
        w.stream.copy_to_device(x, y)
        launch = w.module.kernel("saxpy")[4, 256, w.stream]
        for _ in range(3):
            launch(1000, 0.5, x, y)
        w.stream.launch_kernel(w.module.kernel("saxpy"), 4, 256, 999, 1, x, y, label="last")
        w.stream.wait()
        assert y.tolist() == [7.0] * 999 + [5.0]
        launch(10, 100, x[5:], y[990:])
        w.stream.wait()
        assert y[989] == 7 and y[990] == 207


@case
def grids_and_blocks_are_ints_or_tuples():
    with World() as w:
        kernel, out = w.module.kernel("shape"), w.arena.allocate("u32", 6)
        for grid, block, right in ((2, 3, [2, 1, 1, 3, 1, 1]), ((2, 3), [4, 5, 6], [2, 3, 1, 4, 5, 6]),
                                   ((1, 1, 7), (8,), [1, 1, 7, 8, 1, 1])):
            launch = kernel[grid, block, w.stream]
            launch(out)
            w.stream.wait()
            plan = launch.__self__
            assert out.tolist() == right == [*plan.grid, *plan.block], out.tolist()
            assert plan.kernel is kernel and plan.stream is w.stream and str(plan.signature) == "ptr"
        for wrong, kind in (((), ValueError), ((1, 1, 1, 1), ValueError), ("4", TypeError), (1.5, TypeError),
                            (-1, OverflowError), (2**32, OverflowError), ((1, None), TypeError)):
            raises(kind, "grid", kernel.plan, wrong, 1, w.stream)
            raises(kind, "block", kernel.plan, 1, wrong, w.stream)
        raises(TypeError, "kernel[grid, block, stream]", lambda: kernel[4, 256])
        raises(TypeError, "kernel[grid, block, stream]", lambda: kernel[4])
        raises(TypeError, "stream", lambda: kernel[4, 256, w.device])
        raises(gpuorch.InvalidArgument, "", kernel[0, 1, w.stream], out)
        raises(gpuorch.InvalidArgument, "", kernel[1, 4096, w.stream], out)
        assert "launches the kernel" in inspect.getdoc(kernel.plan) and "has to exist" in launch.__doc__


@case
def options_are_passed():
    with World() as w:
        out = w.arena.allocate("u32", 1)
        launch = w.module.kernel("shared").plan(1, 1, w.stream, dynamic_shared_bytes=400, priority=0, label="shared memory")
        launch(out)
        w.stream.wait()
        assert out[0] == 5
        kernel = w.module.kernel("nothing")
        kernel.plan(2, 1, w.stream, flags=gpuorch.LAUNCH_COOPERATIVE)()
        raises(gpuorch.InvalidArgument, "", kernel.plan(1, 1, w.stream, flags=1 << 20))
        raises(TypeError, "shared", kernel.plan, 1, 1, w.stream, shared=1)
        for name, wrong, kind in (("dynamic_shared_bytes", -1, OverflowError), ("priority", 2**31, OverflowError),
                                  ("flags", "x", TypeError), ("cluster", "x", TypeError)):
            raises(kind, name, kernel.plan, 1, 1, w.stream, **{name: wrong})
        raises(TypeError, "", kernel.plan, 1, 1, w.stream, label=5)
        raises(TypeError, "kernel", w.stream.launch_kernel, w.stream, 1, 1)
        w.stream.wait()


@case
def numbers_of_every_type_arrive_exactly():
    with World() as w:
        for name in ELEMENTS:
            launch, out = w.module.kernel("store_" + name, f"{name} ptr")[1, 1, w.stream], w.arena.allocate(name, 1)
            if name[0] == "f":
                values, wrong = [0, 1, -2.5, math.inf, -math.inf, 2**20, True, 1e38], []
                wrong = [1e39, -1e39, 10**400] if name == "f32" else [10**400]
            elif name == "bool":
                values, wrong = [True, False, 0, 1], [2, -1]
            else:
                bits = int(name[1:])
                least, most = (0, 2**bits - 1) if name[0] == "u" else (-2**(bits - 1), 2**(bits - 1) - 1)
                values, wrong = [least, most, 1, True], [least - 1, most + 1, 2**64, -2**63 - 1, 10**400]
            for value in values:
                launch(value, out)
                w.stream.wait()
                right = struct.unpack(out.format, struct.pack(out.format, value))[0]
                assert out[0] == right and type(out[0]) is type(right), (name, value, out[0])
            for value in wrong:
                error = raises(OverflowError, f"is out of range for {name}", launch, value, out)
                assert f"argument 1 of kernel `store_{name}`" in str(error), error
            for value in (None, "1", b"1", [1], 1j, out):
                raises(TypeError, f"argument 1 of kernel `store_{name}` is {name}", launch, value, out)
            if name[0] in "ui":
                raises(TypeError, "an int expected", launch, 1.0, out)


class Number:
    def __init__(self, value):
        self.value = value

    def __index__(self):
        return self.value()

    def __float__(self):
        return self.value()


@case
def objects_that_are_numbers_are_converted_and_what_they_raise_passes():
    with World() as w:
        out = w.arena.allocate("u32", 1)
        launch = w.module.kernel("store_u32", "u32 ptr")[1, 1, w.stream]
        launch(Number(lambda: 77), out)
        w.stream.wait()
        assert out[0] == 77
        raises(ZeroDivisionError, "", launch, Number(lambda: 1 // 0), out)
        floats = w.module.kernel("store_f64", "f64 ptr")[1, 1, w.stream]
        raises(ZeroDivisionError, "", floats, Number(lambda: 1 / 0), out)
        # The argument before is freed by the number's conversion.
        pair = w.module.kernel("address", "ptr ptr")[1, 1, w.stream]
        raises(TypeError, "", pair, Number(lambda: 1), out)


@case
def arguments_are_named_in_messages():
    with World() as w:
        x = w.arena.allocate("f32", 10)
        launch = w.module.kernel("saxpy")[1, 1, w.stream]
        raises(OverflowError, "argument 1 (n) of kernel `saxpy`: -1 is out of range for u32", launch, -1, 1.0, x, x)
        raises(OverflowError, "argument 2 (a) of kernel `saxpy`: 1e+300 is out of range for f32", launch, 1, 1e300, x, x)
        raises(TypeError, "argument 3 (x) of kernel `saxpy` takes device memory", launch, 1, 1.0, "x", x)
        raises(TypeError, "takes 4 arguments (u32 f32 ptr ptr), got 3", launch, 1, 1.0, x)
        raises(TypeError, "takes 4 arguments (u32 f32 ptr ptr), got 5", launch, 1, 1.0, x, x, x)
        raises(TypeError, "keyword", launch, 1, 1.0, x, y=x)


@case
def pointers_are_arrays_addresses_none_or_objects_with_an_interface():
    with World() as w:
        kernel, out = w.module.kernel("address"), w.arena.allocate("u64", 1)
        launch = kernel[1, 1, w.stream]

        def stored(value):
            launch(value, out)
            w.stream.wait()
            return out[0]

        device = w.device.memory_allocate("u8", 100)
        assert stored(device) == device.address and stored(device[7:]) == device.address + 7
        assert stored(out) == out.address and stored(None) == 0 and stored(0) == 0 and stored(2**64 - 1) == 2**64 - 1

        class Interface:
            __cuda_array_interface__ = {"shape": (4,), "strides": None, "typestr": "<f4", "data": (4096, False),
                                        "version": 3}

        assert stored(Interface()) == 4096
        raises(OverflowError, "is no address", launch, -1, out)
        raises(OverflowError, "is no address", launch, 2**64, out)
        for wrong in (1.5, True, "x", object(), w.stream):
            raises(TypeError, "argument 1 (p) of kernel `address`", launch, wrong, out)
        device.free()
        raises(ValueError, "the array is freed", launch, device, out)
        raises(ValueError, "the array is freed", launch, device[1:] if not device.freed else device, out)


@case
def host_memory_is_a_pointer_on_the_software_gpu_and_where_it_is_registered():
    with World() as w:
        launch, out = w.module.kernel("store_u32", "u32 ptr")[1, 1, w.stream], bytearray(4096)
        if SOFT:
            launch(7, out)
            w.stream.wait()
            assert out[0] == 7
            cell = ctypes.c_uint32()
            launch(9, cell)
            w.stream.wait()
            assert cell.value == 9
            raises(ValueError, "isn't contiguous", launch, 7, memoryview(out)[::2])
        else:
            raises(TypeError, "memory that the GPU reaches", launch, 7, out)
        with w.device.host_register(out):
            launch(8, out)
            w.stream.wait()
        assert out[0] == 8


@case
def structs_are_bytes_of_their_size():
    with World() as w:
        launch, out = w.module.kernel("by_value", "bytes:8 ptr")[1, 1, w.stream], w.arena.allocate("f32", 2)

        class Pair(ctypes.Structure):
            _fields_ = [("x", ctypes.c_float), ("y", ctypes.c_int)]

        packed = struct.pack("fi", 1.5, -3)
        for value in (packed, bytearray(packed), Pair(1.5, -3), array.array("B", packed)):
            out[:] = 0
            launch(value, out)
            w.stream.wait()
            assert out.tolist() == [1.5, -3]
        raises(ValueError, "has 8 bytes, not 7", launch, bytes(7), out)
        raises(TypeError, "is bytes:8", launch, 5, out)
        raises(BufferError, "", launch, memoryview(bytes(16))[::2], out)


@case
def a_hundred_arguments_are_packed():
    with World() as w:
        launch, out = w.module.kernel("many")[1, 1, w.stream], w.arena.allocate("u32", 1)
        launch(*range(100), out)
        w.stream.wait()
        assert out[0] == 4950
        raises(OverflowError, "argument 100 (a99)", launch, *range(99), -1, out)
        raises(TypeError, "takes 101 arguments", launch, *range(100))


# --- closed and collected objects ---


@case
def closed_objects_are_named():
    w = World()
    kernel, out = w.module.kernel("store_u32", "u32 ptr"), w.arena.allocate("u32", 1)
    stream = w.device.stream_create()
    launch = kernel[1, 1, stream]
    w.module.close()
    launch(1, out)
    stream.wait()
    stream.close()
    raises(ValueError, "stream is closed", launch, 1, out)
    raises(ValueError, "closed", lambda: kernel[1, 1, stream])
    launch = kernel[1, 1, w.stream]
    kernel.close()
    raises(ValueError, "kernel is closed", launch, 1, out)
    raises(ValueError, "closed", lambda: kernel[1, 1, w.stream])
    w.runtime.close()
    assert isinstance(outcome(launch, 1, out), ValueError)


@case
def memory_of_a_closed_template_is_refused_although_it_was_used_before():
    with World() as w:
        template = w.device.template()
        out = template.allocate("u32", 1)
        launch = w.module.kernel("store_u32", "u32 ptr")[1, 1, w.stream]
        launch(1, out)
        launch(2, out)
        w.stream.wait()
        part = out[:]
        template.close()
        raises(ValueError, "its template is closed", launch, 3, out)
        raises(ValueError, "its template is closed", launch, 3, part)


@case
def a_plan_keeps_what_it_needs_and_cycles_are_collected():
    w = World()
    launch, out = w.module.kernel("store_u32", "u32 ptr")[1, 1, w.device.stream_create()], w.arena.allocate("u32", 1)
    gc.collect()
    launch(5, out)
    launch.__self__.stream.wait()
    assert out[0] == 5
    kernel, stream = launch.__self__.kernel, launch.__self__.stream
    kernel.launch, stream.launch = launch, launch  # cycles
    gone = weakref.ref(kernel), weakref.ref(stream)
    del kernel, stream, launch, out  # the array has the stream that used it
    gc.collect()
    assert not any(one() for one in gone)
    kernel = w.module.kernel("nothing")
    count = sys.getrefcount(kernel)
    for _ in range(100):
        launch = kernel[1, 1, w.stream]
        launch()
        outcome(launch, 1)
    del launch
    assert sys.getrefcount(kernel) == count
    w.__exit__()


@case
def arguments_keep_their_reference_counts():
    with World() as w:
        launch, x = w.module.kernel("saxpy")[1, 1, w.stream], w.arena.allocate("f32", 10)
        number, single, memory = 10**6, 0.25, bytearray(64)
        things = x, number, single, memory, w.stream
        launch(1, single, x, x)
        before = [sys.getrefcount(one) for one in things]
        for _ in range(100):
            launch(1, single, x, x)
            outcome(launch, number, single, x, "x")
            outcome(launch, -1, single, x, x)
            if SOFT:
                launch(1, single, memory, memory)
        assert [sys.getrefcount(one) for one in things] == before
        w.stream.wait()


@case
def threads_share_a_plan():
    with World() as w:
        launch, wrong = w.module.kernel("store_u32", "u32 ptr")[1, 1, w.stream], []
        out = w.arena.allocate("u32", 8)

        def work(number):
            try:
                for i in range(300):
                    launch(i, out[number:number + 1])
            except Exception as error:
                wrong.append(error)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        w.stream.wait()
        assert not wrong and out.tolist() == [299] * 8, (wrong, out.tolist())


@case
def launches_are_recorded_and_replayed():
    with World() as w:
        template, out = w.device.template(), w.arena.allocate("u32", 1)
        launch = w.module.kernel("store_u32", "u32 ptr")[1, 1, w.stream]
        template.begin(w.stream)
        launch(41, out)
        template.end()
        assert out[0] == 0
        graph = template.graph()
        graph.launch(w.stream)
        w.stream.wait()
        assert out[0] == 41
        del launch
        out.free()  # the graph still refers to the memory
        graph.launch(w.stream)
        w.stream.wait()


# --- numpy ---


@needs_numpy
def numbers_and_arrays_of_numpy_are_arguments():
    with World() as w:
        for name in ELEMENTS[:-1]:
            launch, out = w.module.kernel("store_" + name, f"{name} ptr")[1, 1, w.stream], w.arena.allocate(name, 1)
            kind = numpy.dtype(out.format).type
            launch(kind(42), out)
            w.stream.wait()
            assert out[0] == 42, name
        launch, out = w.module.kernel("store_u8", "u8 ptr")[1, 1, w.stream], w.arena.allocate("u8", 1)
        raises(OverflowError, "u8", launch, numpy.int64(256), out)
        raises(TypeError, "u8", launch, numpy.float32(1), out)
        raises(TypeError, "argument 2", launch, 1, numpy.int64(5))
        w.module.kernel("store_bool", "bool ptr")[1, 1, w.stream](numpy.bool_(True), out)
        w.stream.wait()
        assert out[0] == 1
        launch = w.module.kernel("saxpy")[1, 32, w.stream]
        x, y = w.arena.allocate("f32", 100).numpy(), w.arena.allocate("f32", 100).numpy()
        x[:], y[:] = numpy.arange(100), 1
        if SOFT:
            launch(100, numpy.float32(2), x, y)
            w.stream.wait()
            assert (y == 2 * numpy.arange(100) + 1).all()
            raises(ValueError, "isn't contiguous", launch, 50, 1.0, x[::2], y)
            launch(100, 1.0, numpy.ones(100, dtype="f4"), y)
            w.stream.wait()
        del x, y  # the runtime stays open as long as they share its memory
        record = numpy.zeros(1, dtype=[("x", "f4"), ("y", "i4")])
        record[0] = (2.5, 7)
        out = w.arena.allocate("f32", 2)
        w.module.kernel("by_value", "bytes:8 ptr")[1, 1, w.stream](record[0], out)
        w.stream.wait()
        assert out.tolist() == [2.5, 7]


@case
def programs_end_well_with_launches_under_way():
    ended = run(f"""
import gpuorch
r = gpuorch.Runtime(device="soft")
d = r.device_open()
s = d.stream_create()
k = d.module_compile({SOURCE!r}).kernel("store_u32", "u32 ptr")
launch = k[1, 1, s]
a = d.arena_create().allocate("u32", 1)
for i in range(1000):
    launch(i, a)
print("done")
""")
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "done\n", ""), ended
