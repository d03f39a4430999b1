#!/usr/bin/env python3
"""Arrays of the Python package: elements, slices, buffers, numpy, DLPack; what is freed when; memory of others in calls; bad
input. On the device of GPUORCH_DEVICE; tests that need numpy are skipped where it is missing."""
import array
import ctypes
import gc
import math
import mmap
import os
import struct
import sys
import threading
import time
import weakref

from harness import FULL, case, outcome, raises, report, run, skip, wait_until_blocked

import gpuorch
from gpuorch import _gpuorch

DEVICE = os.environ.get("GPUORCH_DEVICE", "soft")
SOFT = DEVICE.startswith("soft")
try:
    import numpy
except ImportError:
    numpy = None
SPIN = """
extern "C" __global__ void wait_for(volatile unsigned *flag, unsigned *out) { while (!*flag) {} *out = *flag; }
extern "C" __global__ void add(unsigned *y, unsigned n) { for (unsigned i = 0; i < n; ++i) ++y[i]; }
"""


def needs_numpy(test):
    if numpy:
        return case(test)
    skip(test.__name__.replace("_", " "), "numpy is missing")
    return test


class World:
    def __init__(self):
        self.runtime = gpuorch.Runtime(device=DEVICE)
        self.device = self.runtime.device_open()
        self.stream = self.device.stream_create(label="upload")
        self.arena = self.device.arena_create(label="pinned")
        self.pool = self.device.pool_create()
        self.made = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for one in (self.stream, self.arena, self.pool, self.device, self.runtime):
            one.close()

    def kernels(self):
        if not self.made:
            module = self.device.module_compile(SPIN)
            self.made = module.kernel("wait_for"), module.kernel("add")
        return self.made

    def in_use(self):
        return self.arena.statistics().in_use


# --- elements and slices ---


@case
def elements_of_every_type_are_kept_exactly():
    limits = {"u8": (0, 255), "i8": (-128, 127), "u16": (0, 65535), "i16": (-32768, 32767), "u32": (0, 2**32 - 1),
              "i32": (-2**31, 2**31 - 1), "u64": (0, 2**64 - 1), "i64": (-2**63, 2**63 - 1)}
    with World() as w:
        for name, (least, most) in limits.items():
            a = w.arena.allocate(name, 3)
            a[0], a[1], a[-1] = least, most, 5
            assert a.tolist() == [least, most, 5] and a.dtype == name, a.tolist()
            assert bytes(a) == struct.pack("3" + a.format, least, most, 5)
            for wrong in (least - 1, most + 1, 2**70, -2**70):
                raises(OverflowError, f"out of range for {name}", a.__setitem__, 0, wrong)
            raises(TypeError, "an int expected", a.__setitem__, 0, 1.5)
            assert a[0] == least
        for name, letter in (("f64", "d"), ("f32", "f"), ("f16", "e")):
            a = w.arena.allocate(letter, 4)
            values = [0.1, -math.inf, 3, -0.0]
            a[:] = values
            assert bytes(a) == struct.pack("4" + letter, *values) and (a.dtype, a.format) == (name, letter), a.tolist()
            a[0] = math.nan
            assert math.isnan(a[0])
            raises(TypeError, "a number expected", a.__setitem__, 0, "1")
        raises(OverflowError, "f32", w.arena.allocate("f32", 1).__setitem__, 0, 1e39)
        flags = w.arena.allocate("bool", 2)
        flags[:] = [True, 0]
        assert flags.tolist() == [True, False] and flags[0] is True
        raises(OverflowError, "bool", flags.__setitem__, 0, 2)


@case
def elements_are_counted_from_the_end_once():
    # The type's sq_item, which gets indices that PySequence_GetItem has added the length to.
    slot = ctypes.pythonapi.PyType_GetSlot
    slot.restype, slot.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_int)
    item = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object, ctypes.c_ssize_t)(slot(_gpuorch.Memory, 44))
    with World() as w:
        a = w.arena.allocate("u8", 6)
        a[:] = range(6)
        assert [item(a, index) for index in range(6)] == list(a) == list(range(6))
        assert [a[index] for index in (0, 5, -1, -6)] == [0, 5, 5, 0]
        for index in (-1, -6, 6, -sys.maxsize - 1):
            raises(IndexError, "no such element", item, a, index)
        for index in (6, -7, -12, sys.maxsize, -sys.maxsize - 1, 2**70, -2**70):
            raises(IndexError, "", a.__getitem__, index)
            raises(IndexError, "", a.__setitem__, index, 1)


@case
def halves_are_rounded_as_struct_does():
    with World() as w:
        a = w.arena.allocate("f16", 1)
        values = [0.0, 1.0, 65504.0, 65519.9, 2.0**-24, 2.0**-25, 2.0**-25 * 1.01, 2.0**-14, 2.0**-14 - 2.0**-26,
                  1 + 2.0**-11, 1 + 3 * 2.0**-11, 1e-30, 0.333251953125, 1023.75]
        for value in values + [-value for value in values]:
            a[0] = value
            assert bytes(a) == struct.pack("e", value) and a[0] == struct.unpack("e", bytes(a))[0], value
        for value in (65520.0, -65520.0, 1e300):
            raises(OverflowError, "f16", a.__setitem__, 0, value)


@case
def slices_share_the_memory_of_their_array():
    with World() as w:
        a = w.arena.allocate("i32", 10)
        a[:] = range(10)
        part = a[2:7]
        assert part.tolist() == [2, 3, 4, 5, 6] and len(part) == 5 and part.base is a and part.address == a.address + 8
        part[0] = 99
        again = part[1:3]
        assert a[2] == 99 and again.tolist() == [3, 4] and again.base is a and list(a[8:]) == [8, 9] and len(a[5:2]) == 0
        a[0:3] = [7, 8, 9]
        a[-2:] = 1
        assert a.tolist() == [7, 8, 9, 3, 4, 5, 6, 7, 1, 1]
        a[1:5] = a[0:4]  # overlapping
        assert a.tolist() == [7, 7, 8, 9, 3, 5, 6, 7, 1, 1]
        raises(ValueError, "step 1", lambda: a[::2])
        raises(ValueError, "2 elements", a.__setitem__, slice(0, 2), [1])
        raises(IndexError, "no such element", lambda: a[10])
        raises(IndexError, "no such element", lambda: a[-11])
        raises(TypeError, "an index or a slice", lambda: a["0"])
        raises(TypeError, "can't be deleted", a.__delitem__, 0)
        raises(ValueError, "a slice can't be freed", part.free)
        a.free()
        for call in (lambda: part[0], part.tolist, lambda: part.address, lambda: memoryview(part), lambda: a[1:2]):
            raises(ValueError, "the array is freed", call)


@case
def buffers_are_copied_into_slices():
    with World() as w:
        a = w.arena.allocate("f32", 4)
        a[:] = array.array("f", [1, 2, 3, 4])
        a[1:3] = memoryview(array.array("f", [9, 8, 7, 6]))[::2]
        assert a.tolist() == [1, 9, 7, 4]
        a[:2] = struct.pack("2f", 5, 6)  # plain bytes
        assert a.tolist() == [5, 6, 7, 4]
        raises(TypeError, "the buffer f64", a.__setitem__, slice(None), array.array("d", [1, 2, 3, 4]))
        raises(ValueError, "has 16 bytes, the buffer 12", a.__setitem__, slice(None), array.array("f", [1, 2, 3]))
        view = memoryview(a)
        assert (view.format, view.shape, view.strides, view.readonly, view.nbytes) == ("f", (4,), (4,), False, 16)
        view[3] = 2.5
        assert a[3] == 2.5
        view.release()
        longs = w.arena.allocate("i64", 2)
        longs[:] = array.array("l", [-1, 2])
        assert longs.tolist() == [-1, 2]


@case
def an_array_may_be_freed_while_a_value_for_it_is_converted():
    class Freeing(list):
        def __index__(self):
            a.free()
            return 1

        def __float__(self):
            a.free()
            return 1.0

        def __iter__(self):
            a.free()
            return iter([1.0] * 8)

    with World() as w:
        for key, value in ((0, Freeing()), (Freeing(), 1.0), (slice(None), Freeing()), (slice(Freeing(), None), 1.0),
                           (slice(Freeing(), None), array.array("f", [1] * 7))):
            a = w.arena.allocate("f32", 8)
            raises(ValueError, "freed", a.__setitem__, key, value)
            assert a.freed and w.in_use() == 0


@case
def device_memory_has_an_address_and_slices_and_no_elements():
    with World() as w:
        for a in (w.device.memory_allocate("f32", 100, label="weights"), w.pool.allocate(w.stream, "f32", 100)):
            assert a.on_device and a.address and a.bytes == 400 and a.count == len(a) == 100 and a.dtype == "f32"
            assert a[10:20].address == a.address + 40 and a[10:20].count == 10 and "on the device" in repr(a)
            for call in (lambda: a[0], lambda: a.__setitem__(0, 1), a.tolist, a.numpy, lambda: list(a)):
                raises(TypeError, "copy it", call)
            raises(BufferError, "copy it", memoryview, a)


@case
def types_counts_and_classes_are_checked():
    with World() as w:
        raises(ValueError, "'f33' is no type of elements", w.arena.allocate, "f33", 1)
        raises(TypeError, "the type of elements is a name", w.arena.allocate, 4, 1)
        raises(ValueError, "count", w.arena.allocate, "f32", 0)
        raises(ValueError, "count", w.arena.allocate, "f32", -1)
        raises(OverflowError, "count", w.arena.allocate, "f64", 2**61)
        raises(TypeError, "integer", w.arena.allocate, "f32", 1.5)
        raises(TypeError, "arrays are made by", gpuorch.Array)
        raises(TypeError, "stream", w.pool.allocate, w.device, "f32", 1)
        raises(gpuorch.OutOfMemory, "", w.device.memory_allocate, "u8", 2**60)
        assert w.arena.allocate("u8", 1, alignment=4096).address % 4096 == 0
        small = w.device.arena_create(max_bytes=1 << 20)
        raises(gpuorch.LimitExceeded, "", small.allocate, "u8", 1 << 21)
        small.close()
        raises(ValueError, "closed", small.allocate, "u8", 1)


# --- freeing ---


@case
def arrays_are_freed_by_free_by_with_and_by_collection():
    with World() as w:
        a = w.arena.allocate("u8", 1000)
        assert w.in_use() >= 1000
        a.free()
        a.free()
        assert w.in_use() == 0 and a.freed and "freed" in repr(a)
        with w.arena.allocate("u8", 1000) as a:
            assert not a.freed
        assert a.freed and w.in_use() == 0
        a = w.arena.allocate("u8", 1000)
        a.me = a  # a cycle
        gone = weakref.ref(a)
        del a
        gc.collect()
        assert gone() is None and w.in_use() == 0
        part = w.arena.allocate("u8", 1000)[10:20]
        assert w.in_use() >= 1000, "the slice keeps the array"
        del part
        assert w.in_use() == 0
        for make in (lambda: w.device.memory_allocate("u8", 1 << 20), lambda: w.pool.allocate(w.stream, "u8", 1 << 20)):
            make().free()
            make()
        w.stream.wait()
        assert w.pool.statistics().in_use == 0
        a = w.arena.allocate("u8", 10)
        w.arena.free(a)
        b = w.pool.allocate(w.stream, "u8", 10)
        w.pool.free(w.stream, b)
        c = w.device.memory_allocate("u8", 10)
        w.device.memory_free(c)
        assert a.freed and b.freed and c.freed


@case
def memory_is_never_freed_while_a_buffer_exists():
    with World() as w:
        a = w.arena.allocate("u8", 1000)
        view = memoryview(a[5:10])
        raises(BufferError, "1 buffer of it still exists", a.free)
        assert not a.freed
        view.release()
        a.free()
        with w.arena.allocate("u8", 1000) as a:
            view = memoryview(a)
        raises(ValueError, "freed", lambda: a[0])
        assert w.in_use() >= 1000
        view[0] = 7  # still there
        view.release()
        assert w.in_use() == 0
        view = memoryview(w.arena.allocate("u8", 1000))
        gc.collect()
        assert w.in_use() >= 1000
        del view
        assert w.in_use() == 0


@case
def a_runtime_stays_open_while_others_use_its_memory():
    w = World()
    a = w.arena.allocate("u8", 1000)
    views = [memoryview(a), memoryview(a[2:4])] + ([a.__dlpack__()] if SOFT else [])
    w.arena.close()
    w.device.close()  # neither frees memory
    while views:
        raises(BufferError, "the runtime can't be closed", w.runtime.close)
        raises(BufferError, "use its memory", w.runtime.shutdown, 1)
        if isinstance(views[0], memoryview):
            views[0][0] = 5
        del views[0]
    assert a[0] == a[2] == 5
    part = a[2:4]
    w.runtime.close()
    assert a.freed
    for call in (lambda: a[0], lambda: a[1:2], lambda: a.__setitem__(0, 1), lambda: part[0], a.tolist, lambda: memoryview(a),
                 lambda: a.address, part.__enter__):
        raises(ValueError, "the array is freed", call)
    a.free()
    if numpy:
        with gpuorch.Runtime(device=DEVICE) as runtime:
            n = runtime.device_open().arena_create().allocate("f32", 10).numpy()
            raises(BufferError, "the runtime can't be closed", runtime.close)
            n[:] = 1
            del n


@case
def a_template_stays_open_while_others_use_its_memory():
    with World() as w:
        template = w.device.template()
        a = template.allocate_host("u32", 10)
        view = memoryview(a)
        raises(BufferError, "the template can't be closed", template.close)
        view[0] = 5
        del view
        template.close()
        raises(ValueError, "the array is freed", lambda: a[0])


@case
def views_that_are_collected_with_their_arena_count_no_more():
    with World() as w:
        arena = w.device.arena_create()
        arena.views = [memoryview(arena.allocate("u8", 100)), arena]
        gone = weakref.ref(arena)
        del arena
        raises(BufferError, "the runtime can't be closed", w.runtime.close)
        gc.collect()
        assert gone() is None


def occupied(w, flag):
    """A stream whose kernel waits for the flag, and the array that the kernel writes to."""
    wait_for, _ = w.kernels()
    stream, out = w.device.stream_create(), w.arena.allocate("u32", 250)
    flag[0] = 0
    wait_for[1, 1, stream](flag, out)
    return stream, out


@case
def memory_is_freed_behind_the_kernels_that_use_it():
    with World() as w:
        flag = w.arena.allocate("u32", 1)
        base = w.in_use()
        for ending in ("collected", "freed", "left"):
            stream, out = occupied(w, flag)
            if ending == "freed":
                out.free()
            elif ending == "left":
                with out:
                    pass
            del out
            gc.collect()
            assert w.arena.statistics().waiting >= 1000, ending
            flag[0] = 1
            stream.wait()
            w.arena.allocate("u8", 1).free()
            assert w.in_use() == base, (ending, w.in_use(), base)
            stream.close()


@case
def memory_that_two_busy_streams_use_is_freed_behind_both():
    with World() as w:
        _, add = w.kernels()
        base = w.in_use()
        for order in (0, 1, 2), (2, 1, 0):
            out, streams = w.arena.allocate("u32", 250), [w.device.stream_create() for _ in range(3)]
            gates = [w.runtime.timeline_create() for _ in streams]
            for gate, stream in zip(gates, streams, strict=True):
                stream.wait_timeline(gate, 1)
                add[1, 1, stream](out, 250)
            del out
            gc.collect()
            for number in order:
                assert w.in_use() > base, (order, number)
                gates[number].signal(1)
                streams[number].wait()
            w.device.wait()
            assert w.in_use() == base, (order, w.in_use(), base)


@case
def a_launch_notes_its_stream_again_if_others_have_used_the_array_since():
    with World() as w:
        _, add = w.kernels()
        base, go, late = w.in_use(), w.runtime.timeline_create(), w.device.stream_create()

        class Number:
            def __index__(self):
                for stream in w.device.stream_create(), w.device.stream_create():
                    add[1, 1, stream](out, 1)  # `late` is idle now, and is forgotten
                    stream.wait()
                late.wait_timeline(go, 1)
                return 250

        out = w.arena.allocate("u32", 250)
        add[1, 1, late](out, Number())
        out.free()
        assert w.in_use() > base
        go.signal(1)
        late.wait()
        w.device.wait()
        assert w.in_use() == base


@case
def memory_of_a_closed_stream_that_works_is_freed_when_the_device_is_idle():
    with World() as w:
        flag = w.arena.allocate("u32", 1)
        base = w.in_use()
        stream, out = occupied(w, flag)
        stream.close()
        del out
        gc.collect()
        assert w.in_use() > base
        w.arena.allocate("u8", 1).free()
        assert w.in_use() > base, "the kernel still runs"
        flag[0] = 1
        w.device.wait()
        w.arena.allocate("u8", 1).free()
        assert w.in_use() == base, (w.in_use(), base)


@case
def pools_free_in_the_order_of_the_stream():
    with World() as w:
        flag = w.arena.allocate("u32", 1)
        _, add = w.kernels()  # loading waits for kernels that run
        stream, out = occupied(w, flag)
        a = w.pool.allocate(w.stream, "u32", 100)
        w.stream.fill(a, 0, 4, 100)
        stream.wait_stream(w.stream)
        add[1, 1, stream](a, 100)
        raises(TypeError, "stream", a.free, w.device)
        a.free()
        b = w.pool.allocate(w.stream, "u32", 100)  # of another stream: not the memory that is waited for
        flag[0] = 1
        b.free(stream)
        stream.wait()
        w.device.wait()
        w.pool.allocate(w.stream, "u8", 1).free()
        assert w.pool.statistics().in_use == 0


@case
def copies_keep_their_memory_until_they_are_done():
    with World() as w:
        flag = w.arena.allocate("u32", 1)
        stream, _ = occupied(w, flag)
        source, target = w.arena.allocate("u32", 100), w.device.memory_allocate("u32", 100)
        back = w.arena.allocate("u32", 100)
        source[:] = range(100)
        stream.copy_to_device(target, source)
        stream.copy_to_host(back, target)
        source.free()
        raises(ValueError, "freed", lambda: source[0])
        fresh = w.arena.allocate("u32", 100)  # mustn't be the memory that the copy still reads
        fresh[:] = 7
        del target
        gc.collect()
        flag[0] = 1
        stream.wait()
        assert back.tolist() == list(range(100)), back.tolist()[:5]


@case
def memory_of_copies_is_freed_in_the_order_of_the_stream():
    with World() as w:
        flag = w.arena.allocate("u32", 1)
        stream, _ = occupied(w, flag)
        source, target = w.arena.allocate("u8", 5000), w.pool.allocate(stream, "u8", 5000)
        waiting = w.arena.statistics().waiting
        stream.copy_to_device(target, source)
        del source, target
        assert w.arena.statistics().waiting >= waiting + 5000  # no later call is needed: the stream frees it
        assert w.pool.statistics().in_use == 0, w.pool.statistics()
        flag[0] = 1
        stream.wait()


@case
def what_calls_keep_does_not_keep_the_runtime_open():
    with World() as w:
        a, target = w.arena.allocate("u8", 1000), w.device.memory_allocate("u8", 1000)
        a[:] = 3
        template = w.device.template()
        template.begin(w.stream)
        w.stream.copy_to_device(target, memoryview(a)[10:20])
        template.end()
        flag = w.arena.allocate("u32", 1)
        stream, _ = occupied(w, flag)
        stream.copy_to_device(target, memoryview(a)[100:200])
        if numpy:
            stream.copy_to_device(target, a.numpy()[100:200])
            stream.copy_to_device(target, a[100:200].numpy()[10:][:20].reshape(4, 5))
        raises(ValueError, "isn't contiguous", stream.copy_to_device, target, memoryview(a)[::2])
        address = a.address
        a.free()  # behind the copies
        assert w.arena.allocate("u8", 1000).address != address
        flag[0] = 1


@case
def recorded_copies_keep_their_memory_as_long_as_the_template():
    with World() as w:
        template, target = w.device.template(), w.device.memory_allocate("u32", 100)
        source = w.arena.allocate("u32", 100)
        source[:] = range(100)
        template.begin(w.stream)
        w.stream.copy_to_device(target, source)
        template.end()
        del source
        gc.collect()
        fresh, back = w.arena.allocate("u32", 100), w.arena.allocate("u32", 100)
        fresh[:] = 7
        template.graph().launch(w.stream)
        w.stream.copy_to_host(back, target)
        w.stream.wait()
        assert back.tolist() == list(range(100)), back.tolist()[:5]


@case
def memory_that_copies_have_used_is_free_once_the_device_is_idle():
    with World() as w:
        host = w.arena.allocate("u8", 1000)
        for make in (lambda: w.device.memory_allocate("u8", 1000), lambda: w.pool.allocate(w.stream, "u8", 1000)):
            device = make()
            w.stream.copy_to_device(device, host)
            w.stream.wait()
            device.free()
        host.free()
        assert w.in_use() == 0 and w.pool.statistics().in_use == 0


@case
def arrays_and_their_owners_may_be_closed_and_collected_in_any_order():
    for round_ in range(6):
        w = World()
        made = [w.arena.allocate("f32", 10), w.device.memory_allocate("f32", 10), w.pool.allocate(w.stream, "f32", 10)]
        parts = [a[2:4] for a in made]
        if round_ % 3 == 0:
            w.arena.close()
            w.pool.close()
            assert made[0][2] == parts[0][0]
            made[0].free()
        elif round_ % 3 == 1:
            view = memoryview(made[0])
            w.stream.close()
            w.device.close()
            del view
        if round_ % 2:
            made[1].free()
        w.stream.close()
        del w, made
        gc.collect()
        del parts
        gc.collect()


@case
def a_closed_runtime_has_freed_its_arrays():
    w = World()
    a, b = w.arena.allocate("f32", 10), w.device.memory_allocate("f32", 10)
    w.runtime.close()
    assert a.freed and b.freed
    for call in (lambda: a[0], lambda: memoryview(a), lambda: a.address, lambda: b.address, lambda: a[1:3]):
        raises(ValueError, "its runtime is closed", call)
    a.free()
    b.free()


@case
def memory_of_a_template_lives_as_long_as_the_template():
    with World() as w:
        template = w.device.template()
        host, device = template.allocate_host("u32", 10), template.allocate("u32", 10)
        host[:] = 5
        raises(ValueError, "the template's", host.free)
        del template
        gc.collect()
        assert host.tolist() == [5] * 10 and device.address
        w.stream.fill(device, 3, 4, 10)
        w.stream.copy_to_host(host, device)
        w.stream.wait()
        assert host.tolist() == [3] * 10
        del host, device


@case
def threads_may_share_arrays():
    with World() as w:
        a, wrong = w.arena.allocate("u32", 64), []

        def work(number):
            try:
                for i in range(200):
                    part = a[number * 8:number * 8 + 8]
                    part[:] = i
                    assert part.tolist() == [i] * 8
                    with w.arena.allocate("u32", 100) as own:
                        own[:] = number
                        assert own[99] == number
            except Exception as error:
                wrong.append(error)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong, wrong


# --- recordings ---


@case
def streams_of_a_recording_share_arrays():
    with World() as w:
        _, add = w.kernels()
        out, back, other = w.device.memory_allocate("u32", 4), w.arena.allocate("u32", 4), w.device.stream_create()
        forth, done, template = w.device.event_create(), w.device.event_create(), w.device.template()
        w.stream.fill(out, 0)
        other.wait_stream(w.stream)
        add[1, 1, other](out, 1)  # the array has been another stream's before
        template.begin(w.stream)
        add[1, 1, w.stream](out, 4)
        forth.record(w.stream)
        other.wait_event(forth)
        add[1, 1, other](out, 3)
        done.record(other)
        w.stream.wait_event(done)
        w.stream.copy_to_host(back, out)
        template.end()
        other.wait()
        template.launch(w.stream)
        w.stream.wait()
        assert back.tolist() == [3, 2, 2, 1], back.tolist()


@case
def memory_is_freed_while_a_template_records():
    with World() as w:
        _, add = w.kernels()
        flag, kept, other = w.arena.allocate("u32", 1), w.arena.allocate("u32", 1), w.device.stream_create()
        base, kept[0] = w.in_use(), 0

        def busy():
            return occupied(w, flag)

        def done(memory):
            add[1, 1, w.stream](memory, 250)
            w.stream.wait()
            return w.stream, memory

        for make in (lambda: done(w.arena.allocate("u32", 250)), lambda: done(w.device.memory_allocate("u32", 250)),
                     lambda: done(w.pool.allocate(other, "u32", 250)), busy):
            stream, left = make()
            template = w.device.template()
            template.begin(w.stream)
            add[1, 1, w.stream](kept, 1)
            del left
            w.arena.allocate("u32", 250).free()
            add[1, 1, w.stream](kept, 1)
            template.end()
            flag[0] = 1
            stream.wait()
            template.launch(w.stream)
            w.stream.wait()
        w.device.wait()
        w.arena.allocate("u8", 1).free()
        assert kept[0] == 8 and w.in_use() == base and w.pool.statistics().in_use == 0, (kept[0], w.in_use(), base)


# --- memory of others ---


@case
def memory_is_registered_and_kept_meanwhile():
    with World() as w:
        memory = bytearray(8192)
        with w.device.host_register(memory) as registration:
            assert not registration.closed
            raises(BufferError, "", memory.extend, b"x")  # it is kept
            raises(gpuorch.InvalidState, "", w.device.host_register, memory)
            target = w.device.memory_allocate("u8", 8192)
            w.stream.fill(target, 9, 1, 8192)
            w.stream.copy_to_host(memory, target)
            w.stream.wait()
        registration.close()
        memory.extend(b"x")
        assert registration.closed and memory[:3] == b"\t\t\t"
        raises(BufferError, "read-only", w.device.host_register, bytes(4096))
        w.device.host_register(bytes(4096), gpuorch.REGISTER_READ_ONLY).close()
        raises(TypeError, "", w.device.host_register, 5)
        with mmap.mmap(-1, 65536) as pages:
            w.device.host_register(pages)  # collected at once
            gc.collect()
        left = w.device.host_register(bytearray(4096))
    assert not left.closed
    left.close()


@case
def threads_may_close_a_registration_at_the_same_time():
    with World() as w:
        references = sys.getrefcount(w.device)
        for _ in range(100):
            memory, start, wrong = bytearray(65536), threading.Barrier(4), []
            registration = w.device.host_register(memory)

            def close():
                start.wait()
                wrong.append(outcome(registration.close))

            threads = [threading.Thread(target=close) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert wrong == [None] * 4 and registration.closed, wrong
            memory.append(1)
        assert sys.getrefcount(w.device) == references


@case
def flags_of_a_registration_are_32_bits():
    with World() as w:
        for flags in (-1, 2**32, 2**32 + gpuorch.REGISTER_READ_ONLY):
            raises(OverflowError, "flags", w.device.host_register, bytearray(4096), flags)
        raises(TypeError, "flags", w.device.host_register, bytearray(4096), "read")


@case
def calls_refuse_memory_that_is_not_contiguous_writable_or_memory():
    with World() as w:
        target, host = w.device.memory_allocate("u8", 100), w.arena.allocate("u8", 100)
        raises(ValueError, "isn't contiguous", w.stream.copy_to_device, target, memoryview(bytearray(200))[::2])
        raises(BufferError, "read-only", w.stream.copy_to_host, bytes(100), target)
        raises(TypeError, "memory of the host", w.stream.copy_to_host, target, target)
        raises(TypeError, "source", w.stream.copy_to_device, target, 12345)
        raises(TypeError, "device memory", w.stream.copy_to_host, host, object())
        raises(OverflowError, "", w.stream.copy_to_host, host, -1)
        raises(TypeError, "", w.stream.copy_to_host, host, 1.5)
        target.free()
        raises(ValueError, "the array is freed", w.stream.copy_to_host, host, target)


@case
def dlpack_lends_host_memory_and_takes_it_back_from_any_thread():
    if not SOFT:
        return
    with World() as w:
        a = w.arena.allocate("i16", 6)
        a[:] = range(6)
        assert a.__dlpack_device__() == (1, 0) and not hasattr(a, "__cuda_array_interface__")
        for named, name in (({}, b"dltensor"), ({"max_version": (0, 8)}, b"dltensor"),
                            ({"max_version": (1, 3)}, b"dltensor_versioned")):
            capsule = a[2:].__dlpack__(**named)
            assert ctypes.pythonapi.PyCapsule_IsValid(ctypes.py_object(capsule), name), name
            raises(BufferError, "still exists", a.free)
            del capsule
        b = gpuorch.from_dlpack(a)
        assert b.tolist() == a.tolist() and b.address == a.address and b.dtype == "i16"
        b[0] = 77
        assert a[0] == 77
        raises(BufferError, "still exists", a.free)
        thread = threading.Thread(target=b.free)
        thread.start()
        thread.join()
        a.free()
        assert b.freed and a.freed
        raises(ValueError, "freed", a.__dlpack__)


@case
def a_borrower_ends_a_loan_without_the_interpreters_lock():
    if not SOFT:
        return
    with World() as w:
        a = w.arena.allocate("f32", 6)
        capsule = a.__dlpack__(max_version=(1, 0))
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
        address = pointer(capsule, b"dltensor_versioned")
        rename = ctypes.pythonapi.PyCapsule_SetName
        rename.argtypes = ctypes.py_object, ctypes.c_char_p
        used = ctypes.create_string_buffer(b"used_dltensor_versioned")
        rename(capsule, ctypes.cast(used, ctypes.c_char_p))
        release = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(ctypes.c_void_p.from_address(address + 16).value)
        raises(BufferError, "still exists", a.free)
        thread = threading.Thread(target=release, args=(address,))  # ctypes gives the lock up
        raises(BufferError, "the runtime can't be closed", w.runtime.close)
        thread.start()
        thread.join()
        w.runtime.close()  # which sees that the loan has ended
        assert a.freed
        del capsule


@case
def a_tensor_is_given_back_when_memory_is_short():
    try:
        import _testcapi
    except ImportError:
        return
    with World() as w:
        a = w.arena.allocate("f32", 6)
        references = sys.getrefcount(a)
        failures = 0
        for number in range(40):
            b = None
            _testcapi.set_nomemory(number, number + 1)
            try:
                b = gpuorch.from_dlpack(a)
            except MemoryError:
                failures += 1
            finally:
                _testcapi.remove_mem_hooks()
        b = None
        w.arena.allocate("f32", 6)  # takes the ended loans back
        assert failures and sys.getrefcount(a) == references, (failures, sys.getrefcount(a), references)
        a.free()


@case
def dlpack_refuses_what_it_cannot_do():
    if not SOFT:
        return
    with World() as w:
        a, b = w.arena.allocate("f32", 6), w.device.memory_allocate("f32", 6)
        raises(BufferError, "stream", a.__dlpack__, stream=1)
        raises(BufferError, "copies", a.__dlpack__, copy=True)
        raises(BufferError, "dl_device", a.__dlpack__, dl_device=(2, 0))
        for wrong in ([1, 0], 5, "cpu", (1,)):
            raises(TypeError, "dl_device", a.__dlpack__, dl_device=wrong)
        a.__dlpack__(stream=-1, copy=False, dl_device=(1, 0))
        for name in ("__dlpack__", "__dlpack_device__", "__cuda_array_interface__"):
            assert not hasattr(b, name), name
        assert not hasattr(w.stream, "__cuda_stream__")
        raises(TypeError, "__dlpack__", gpuorch.from_dlpack, 5)
        raises(TypeError, "native", w.device.stream_wrap, "stream")

        class Cuda:
            def __dlpack_device__(self):
                return (2, 0)

        raises(TypeError, "stream", gpuorch.from_dlpack, Cuda())

        class List:
            def __dlpack_device__(self):
                return [1, 0]

        raises(TypeError, "__dlpack_device__", w.stream.copy_to_device, b, List())

        class Nothing:
            def __dlpack_device__(self):
                return (1, 0)

            def __dlpack__(self, **_):
                return 5

        raises(BufferError, "gave no tensor", gpuorch.from_dlpack, Nothing())


class Described(ctypes.Structure):
    """DLPack's DLTensor."""
    _fields_ = [("data", ctypes.c_void_p), ("kind", ctypes.c_int32), ("device", ctypes.c_int32),
                ("dimensions", ctypes.c_int32), ("element_kind", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("offset", ctypes.c_uint64)]


class Versioned(ctypes.Structure):
    """DLPack's DLManagedTensorVersioned."""
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p),
                ("release", ctypes.CFUNCTYPE(None, ctypes.c_void_p)), ("flags", ctypes.c_uint64), ("tensor", Described)]


LENT, FAIL = ctypes.POINTER(Versioned), ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p)


class Table(ctypes.Structure):
    """DLPack's DLPackExchangeAPI."""
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("previous", ctypes.c_void_p),
                ("allocate", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, FAIL)),
                ("lend", ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(LENT))),
                ("take", ctypes.PYFUNCTYPE(ctypes.c_int, LENT, ctypes.POINTER(ctypes.py_object))),
                ("look", ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(Described))),
                ("stream", ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32,
                                             ctypes.POINTER(ctypes.c_void_p)))]


def exchange_table():
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    return Table.from_address(pointer(gpuorch.Array.__dlpack_c_exchange_api__, b"dlpack_exchange_api"))


def lent_by(table, array_):
    lent = LENT()
    assert table.lend(array_, ctypes.byref(lent)) == 0
    return lent


@case
def arrays_are_lent_by_the_c_exchange_table():
    with World() as w:
        table, t, a = exchange_table(), Described(), w.arena.allocate("i16", 6)
        part = a[2:]
        assert (table.major, table.minor, table.previous) == (1, 3, None)
        assert table.look(part, ctypes.byref(t)) == 0
        assert (t.data, t.kind, t.device) == (a.address + 4, 1 if SOFT else 3, 0)
        assert (t.dimensions, t.shape[0], t.strides[0], t.offset) == (1, 4, 1, 0)
        assert (t.element_kind, t.bits, t.lanes) == (0, 16, 1)
        lent = lent_by(table, a)
        held = lent.contents
        assert (held.major, held.flags, held.tensor.data, held.tensor.shape[0]) == (1, 0, a.address, 6)
        raises(BufferError, "1 buffer of it still exists", a.free)  # and none by look()
        thread = threading.Thread(target=held.release, args=(ctypes.addressof(held),))  # without the lock
        thread.start()
        thread.join()
        a.free()
        for call in (lambda: table.look(a, ctypes.byref(t)), lambda: lent_by(table, a)):
            raises(ValueError, "freed", call)
        raises(TypeError, "an array of gpuorch", table.look, w.stream, ctypes.byref(t))
        stream = ctypes.c_void_p(5)
        assert table.stream(2, 0, ctypes.byref(stream)) == 0 and stream.value is None  # the legacy default stream
        said = []
        assert table.allocate(None, None, 7, FAIL(lambda *what: said.append(what))) == -1
        assert said[0][:2] == (7, b"NotImplementedError") and b"before the call" in said[0][2], said


@case
def device_memory_is_lent_by_the_c_exchange_table_on_cuda_only():
    with World() as w:
        table, t, a = exchange_table(), Described(), w.device.memory_allocate("f32", 10)
        if SOFT:
            for call in (lambda: table.look(a, ctypes.byref(t)), lambda: lent_by(table, a)):
                raises(BufferError, "software GPU", call)
            return
        w.stream.fill(a, 1)
        assert table.look(a, ctypes.byref(t)) == 0
        assert (t.data, t.kind, t.device) == (a.address, 2, w.device.properties().native_ordinal)
        w.stream.wait()


@case
def tensors_are_taken_by_the_c_exchange_table():
    table, released = exchange_table(), []
    release, shape = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(released.append), (ctypes.c_int64 * 2)(4, 1)
    memory = array.array("f", range(4))

    def tensor(**changed):
        fields = {"data": memory.buffer_info()[0], "kind": 1, "dimensions": 1, "element_kind": 2, "bits": 32, "lanes": 1,
                  "shape": shape, **changed}
        return Versioned(major=1, minor=1, release=release, tensor=Described(**fields))

    one, taken = tensor(), ctypes.py_object()
    assert table.take(ctypes.byref(one), ctypes.byref(taken)) == 0
    a = taken.value
    ctypes.pythonapi.Py_DecRef(taken)  # the table's caller owns the reference
    taken = None
    assert type(a) is gpuorch.Array and a.tolist() == [0, 1, 2, 3] and a.__dlpack_device__() == (1, 0)
    a[1] = 7
    assert memory[1] == 7 and not released
    del a
    gc.collect()
    assert released == [ctypes.addressof(one)], released
    elsewhere, taken = tensor(kind=2, device=1), ctypes.py_object()
    assert table.take(ctypes.byref(elsewhere), ctypes.byref(taken)) == 0
    assert taken.value.on_device and taken.value.__dlpack_device__() == (2, 1)  # as it came
    ctypes.pythonapi.Py_DecRef(taken)
    taken = None
    read_only, newer = tensor(), tensor()
    read_only.flags, newer.major = 1, 2
    for wrong, words in ((tensor(dimensions=2), "one dimension"), (tensor(kind=7), "of kind 7"), (read_only, "read-only"),
                         (tensor(element_kind=4, bits=16), "type"), (newer, "version 2")):
        raises(BufferError, words, table.take, ctypes.byref(wrong), ctypes.byref(ctypes.py_object()))
    gc.collect()
    assert len(released) == 2, "tensors that were refused are the caller's"


class Interface:
    """An object of another library's."""

    def __init__(self, address, shape, strides=None, kind="<f4"):
        self.__cuda_array_interface__ = {"shape": shape, "strides": strides, "typestr": kind, "data": (address, False),
                                         "version": 3}


@case
def objects_with_the_cuda_array_interface_are_device_memory():
    with World() as w:
        a, host = w.device.memory_allocate("f32", 12), w.arena.allocate("f32", 12)
        w.stream.copy_to_device(a, array.array("f", range(12)))
        w.stream.copy_to_host(host, Interface(a.address, (3, 4)))
        w.stream.wait()
        assert host.tolist() == list(range(12))
        w.stream.copy_to_host(host, Interface(a.address, (3, 4), (16, 4)))
        w.stream.copy_to_host(host, Interface(a.address, (1, 12), (999, 4)))
        for shape, strides in (((4, 3), (4, 16)), ((3, 2), (16, 4)), ((4,), (8,))):
            wrong = Interface(a.address, shape, strides)
            raises(ValueError, "isn't contiguous", w.stream.copy_to_host, host, wrong)
        for broken in ({}, {"shape": (1,)}, {"shape": (1,), "typestr": "<f4"},
                       {"shape": 5, "typestr": "<f4", "data": (1, 0)}):
            one = Interface(1, (1,))
            one.__cuda_array_interface__ = broken
            assert isinstance(outcome(w.stream.copy_to_host, host, one), (KeyError, TypeError)), broken


class Managed(ctypes.Structure):
    """DLPack's DLManagedTensor."""
    _fields_ = [("data", ctypes.c_void_p), ("kind", ctypes.c_int32), ("device", ctypes.c_int32),
                ("dimensions", ctypes.c_int32), ("element_kind", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p),
                ("offset", ctypes.c_uint64), ("context", ctypes.c_void_p), ("release", ctypes.c_void_p)]


class Tensor:
    """Floats on the host. Nobody is told when the borrower has done with them, so they stay."""
    all = []

    def __init__(self, address, shape):
        self.shape = (ctypes.c_int64 * len(shape))(*shape)
        self.managed = Managed(data=address, kind=1, dimensions=len(shape), element_kind=2, bits=32, lanes=1,
                               shape=ctypes.addressof(self.shape))
        self.all.append(self)

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **_):
        make = ctypes.pythonapi.PyCapsule_New
        make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        return make(ctypes.addressof(self.managed), ctypes.cast(NAME, ctypes.c_char_p), None)


NAME = ctypes.create_string_buffer(b"dltensor")


@case
def shapes_that_are_no_size_of_memory_are_refused():
    with World() as w:
        a, memory = w.device.memory_allocate("f32", 12), ctypes.create_string_buffer(48)
        for shape in ((3, 4), (12,), (2**62, 4), (2**32, 2**32), (2**61, 4), (-1,), (-3, -4), (2**63 - 1,)):
            tensor, interface = (kind(ctypes.addressof(memory), shape) for kind in (Tensor, Interface))
            if math.prod(shape) == 12 and min(shape) > 0:
                w.stream.copy_to_device(a, tensor)
                w.stream.copy_to_host(memory, Interface(a.address, shape))
                continue
            raises(ValueError, "no size of memory", w.stream.copy_to_device, a, tensor)
            raises(ValueError, "no size of memory", gpuorch.from_dlpack, tensor)
            raises(ValueError, "no size of memory", w.stream.copy_on_device, a, interface)
        wide = Interface(ctypes.addressof(memory), (4,), kind="<f9223372036854775807")
        raises(ValueError, "no size of memory", w.stream.copy_on_device, a, wide)
        w.stream.wait()


class Lazy(Interface):
    """Is computed when somebody waits for it, as JAX's arrays are on a GPU."""

    def __init__(self, memory, stream):
        super().__init__(memory.address, (len(memory),))
        self.memory, self.stream, self.waits = memory, stream, 0

    def block_until_ready(self):
        self.waits += 1
        self.stream.copy_to_device(self.memory, array.array("f", range(len(self.memory))))
        self.stream.wait()
        return self


class LazyTensor(Tensor):
    """The same by DLPack: it lends nothing without an order, which is what the stream -1 asks for."""

    def __init__(self, memory, stream):
        super().__init__(memory.address, (len(memory),))
        self.memory, self.stream, self.waits = memory, stream, 0

    def __dlpack_device__(self):
        return (2, 0)

    def __dlpack__(self, *, stream=None, **named):
        if stream == -1:
            raise RuntimeError("no such stream")
        return super().__dlpack__(**named)

    block_until_ready = Lazy.block_until_ready


@case
def arrays_that_are_computed_in_the_background_are_waited_for():
    with World() as w:
        for kind in (Lazy, LazyTensor):
            memory, back = w.device.memory_allocate("f32", 8), array.array("f", [9] * 8)
            w.stream.fill(memory, 0)
            w.stream.wait()
            lazy, a = kind(memory, w.device.stream_create()), w.device.memory_allocate("f32", 8)
            w.stream.copy_on_device(a, lazy)
            w.stream.copy_to_host(back, a)
            w.stream.wait()
            assert back.tolist() == list(range(8)) and lazy.waits == 1, (kind, back, lazy.waits)
            lazy.block_until_ready = lambda: 1 / 0
            raises(ZeroDivisionError, "", w.stream.copy_on_device, a, lazy)
            there = weakref.ref(lazy)
            if lazy in Tensor.all:
                Tensor.all.remove(lazy)
            del lazy
            w.stream.copy_on_device(a, memory)  # behind which what the first copy kept isn't needed
            w.stream.wait()
            gc.collect()
            assert there() is None, kind
        lazy = LazyTensor(memory, w.stream)
        lazy.block_until_ready = None
        raises(TypeError, "", w.stream.copy_on_device, a, lazy)
        named = Lazy(memory, w.stream)
        named.__cuda_array_interface__["stream"] = 1
        w.stream.copy_on_device(a, named)
        w.stream.wait()
        assert named.waits == 0, "the interface names the stream of the work"
        for end in KeyboardInterrupt, MemoryError:
            def ended(*_, end=end, **named):
                raise end
            stopped = type("Stopped", (LazyTensor,), {"__dlpack__": ended})(memory, w.stream)
            raises(end, "", w.stream.copy_on_device, a, stopped)
            assert stopped.waits == 0


class Unbuffered(mmap.mmap):
    """Has a buffer that can't be had, and lends its memory by DLPack: as JAX's arrays of bfloat16 do."""

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()

    def __dlpack__(self, **named):
        return self.tensor.__dlpack__(**named)


@case
def objects_without_a_buffer_are_asked_for_dlpack():
    with World() as w:
        memory, x = array.array("f", range(12)), Unbuffered(-1, 48)
        x.tensor = Tensor(memory.buffer_info()[0], (12,))
        x.close()
        a, back = w.device.memory_allocate("f32", 12), array.array("f", [0] * 12)
        w.stream.copy_to_device(a, x)
        w.stream.copy_to_host(back, a)
        w.stream.wait()
        assert back == memory
        if SOFT:
            _, add = w.kernels()
            add[1, 1, w.stream](x, 2)
            w.stream.wait()
            assert memory[2:] == back[2:] and memory[:2] != back[:2]
        x.tensor = None
        for call in (lambda: w.stream.copy_to_device(a, x), lambda: w.stream.copy_on_device(a, x)):
            raises(ValueError, "mmap closed", call)
        raises(ValueError, "mmap closed", w.device.host_register, x)


@case
def arrays_of_others_are_lent_as_what_they_are():
    memory = array.array("f", range(4))
    tensor = Tensor(memory.buffer_info()[0], (4,))
    tensor.managed.kind, tensor.managed.device = 3, 1
    a = gpuorch.from_dlpack(tensor)
    assert a.tolist() == [0, 1, 2, 3] and a.__dlpack_device__() == (3, 1)


# --- numpy ---


@needs_numpy
def numpy_shares_the_memory_and_keeps_it():
    with World() as w:
        for name in ("uint8 int8 uint16 int16 uint32 int32 uint64 int64 float16 float32 float64 bool").split():
            for kind in (name, numpy.dtype(name), getattr(numpy, name, None) or numpy.bool_):
                a = w.arena.allocate(kind, 5)
                n = a.numpy()
                assert n.dtype == numpy.dtype(name) and n.shape == (5,) and n.ctypes.data == a.address, (name, kind)
        a = w.arena.allocate("f32", 5)
        n = numpy.asarray(a)
        n[:] = [1, 2, 3, 4, 5]
        assert a.tolist() == [1, 2, 3, 4, 5] and numpy.asarray(a[1:3]).tolist() == [2, 3]
        assert not n.flags.owndata and n.flags.writeable
        a[:] = n * 2
        a[0:2] = n[::-2][:2]
        assert a.tolist() == [10, 6, 6, 8, 10], a.tolist()
        a[1] = numpy.float64(0.5)
        a[2] = numpy.int64(3)
        assert a.tolist()[1:3] == [0.5, 3]
        raises(TypeError, "the buffer f64", a.__setitem__, slice(None), numpy.zeros(5))
        raises(BufferError, "still exist", a.free)
        del a
        gc.collect()
        n[4] = 9  # the memory is there as long as numpy's array
        assert n[4] == 9 and w.in_use() >= 20
        del n
        gc.collect()
        raises(TypeError, "copy it", numpy.asarray, w.device.memory_allocate("f32", 5))
        freed = w.arena.allocate("f32", 5)
        freed.free()
        raises(ValueError, "freed", numpy.asarray, freed)
        raises(ValueError, "byte order", w.arena.allocate, numpy.dtype(">f4"), 1)


@needs_numpy
def numpy_and_dlpack():
    if not SOFT:
        return
    with World() as w:
        a = w.arena.allocate("f32", 6)
        a[:] = range(6)
        n = numpy.from_dlpack(a)
        assert n.tolist() == a.tolist() and n.ctypes.data == a.address and n.flags.writeable
        raises(BufferError, "still exists", a.free)
        del n
        gc.collect()
        a.free()
        x = numpy.arange(12, dtype="i4").reshape(3, 4)
        b = gpuorch.from_dlpack(x)
        assert b.tolist() == list(range(12)) and b.dtype == "i32"
        b[5] = 99
        assert x[1, 1] == 99
        count = sys.getrefcount(x)
        b.free()
        assert sys.getrefcount(x) < count
        raises(ValueError, "isn't contiguous", gpuorch.from_dlpack, x.T)
        x.flags.writeable = False
        raises(BufferError, "read", gpuorch.from_dlpack, x)
        raises(BufferError, "type", gpuorch.from_dlpack, numpy.zeros(2, dtype="c8"))


@needs_numpy
def numpy_arrays_are_memory_of_calls():
    with World() as w:
        target, back = w.device.memory_allocate("f32", 12), numpy.zeros((3, 4), dtype="f4")
        source = numpy.arange(12, dtype="f4").reshape(3, 4)
        w.stream.copy_to_device(target, source)
        w.stream.copy_to_host(back, target)
        w.stream.wait()
        assert (back == source).all()
        raises(ValueError, "isn't contiguous in C's order", w.stream.copy_to_device, target, source.T)
        raises(ValueError, "ascontiguousarray", w.stream.copy_to_host, back[:, ::2], target)
        back.flags.writeable = False
        raises(BufferError, "read-only", w.stream.copy_to_host, back, target)
        raises(TypeError, "", w.stream.copy_to_host, numpy.zeros(12, dtype="f4"), numpy.int64(5))


# --- the ends of programs ---


ENDING = """
import gpuorch, sys
r = gpuorch.Runtime(device="soft")
d = r.device_open()
s = d.stream_create()
a = d.arena_create().allocate("f32", 10)
b = d.memory_allocate("f32", 10)
p = d.pool_create().allocate(s, "f32", 10)
k = d.arena_create()
k.me = k.allocate("f32", 10)
part = a[1:3]
"""


AT_EXIT = """
import atexit
def late():
    for use in (host.tolist, lambda: host[0], lambda: memoryview(host), lambda: device.address):
        try:
            use()
        except ValueError as error:
            print(error, flush=True)
atexit.register(late)
import gpuorch
runtime = gpuorch.Runtime(device="soft")
opened = runtime.device_open()
host, device = opened.arena_create().allocate("u8", 4), opened.memory_allocate("u8", 4)
"""


@case
def arrays_are_refused_after_the_runtimes_have_ended_with_the_program():
    ended = run(AT_EXIT)
    assert ended.returncode == 0 and ended.stdout.count("its runtime is being closed") == 4, ended


@case
def threads_may_read_an_array_whose_runtime_is_being_closed():
    for _ in range(100):
        w = World()
        a, start = w.arena.allocate("u8", 4096), threading.Barrier(3)

        def read():
            start.wait()
            while True:
                try:
                    a.tolist()
                except ValueError:
                    return

        threads = [threading.Thread(target=read) for _ in range(2)]
        for thread in threads:
            thread.start()
        start.wait()
        w.runtime.close()
        for thread in threads:
            thread.join()


@case
def a_runtime_is_closed_behind_calls_that_use_its_memory():
    w = World()
    wait_for, add = w.kernels()
    launch = add[1, 1, w.stream]
    flag, out, copied = w.arena.allocate("u32", 1), w.device.memory_allocate("u32", 1), bytearray(4)
    address, go = out.address, ctypes.c_uint32.from_address(flag.address)
    go.value = 0
    wait_for[1, 1, w.stream](flag, out)
    copying = threading.Thread(target=w.stream.copy_to_host, args=(copied, out))
    closing = threading.Thread(target=w.runtime.close)
    copying.start()
    try:
        wait_until_blocked(copying)  # by the kernel, because the memory isn't pinned
        start = time.monotonic()
        error = raises(gpuorch.Timeout, "other threads still use", w.runtime.shutdown, 0.1)
        assert error.status == gpuorch.TIMEOUT and 0.1 <= time.monotonic() - start < 10, error
        raises(gpuorch.Timeout, "other threads still use", w.runtime.shutdown, 0)
        assert copying.is_alive() and w.stream.query() is False
        closing.start()
        while not flag.freed:  # so it is as soon as the close has begun
            time.sleep(0.001)
        raises(ValueError, "runtime is being closed", w.stream.copy_to_host, bytearray(4), address)
        raises(ValueError, "runtime is being closed", w.stream.fill, out, 0)
        raises(ValueError, "runtime is being closed", launch, address, 1)
        assert closing.is_alive()
    finally:
        go.value = 5
        copying.join()
    closing.join()
    assert w.runtime.closed and copied == struct.pack("I", 5), copied


@case
def timeouts_of_waits_hold_while_another_thread_copies():
    with World() as w:
        (wait_for, _), event = w.kernels(), w.device.event_create()
        flag, out, copied = w.arena.allocate("u32", 1), w.device.memory_allocate("u32", 1), bytearray(4)
        flag[0] = 0
        wait_for[1, 1, w.stream](flag, out)
        event.record(w.stream)
        copying = threading.Thread(target=w.stream.copy_to_host, args=(copied, out))
        opener = threading.Timer(20, flag.__setitem__, (0, 5))  # a wait that isn't over by then is a failure, and no hang
        copying.start()
        try:
            wait_until_blocked(copying)  # by the kernel, because the memory isn't pinned
            opener.start()
            for wait in w.stream.wait, event.wait, w.device.wait:
                raises(gpuorch.Timeout, "", wait, 0.2)
            assert copying.is_alive()
        finally:
            opener.cancel()
            flag[0] = 5
            copying.join()
        w.stream.wait(20)
        assert copied == struct.pack("I", 5), copied
        event.close()


def template_memory(w):
    """A template, and 4 bytes of its device memory."""
    template = w.device.template()
    return template, template.allocate("u32", 1)


def buckets_memory(w):
    """Buckets, and 4 bytes of the device memory of a bucket's template."""
    found = []

    def record(stream, work):
        if work.graph_template and not found:
            found.append(work.graph_template.allocate("u32", 1))
        if found:
            stream.fill(found[0], 0)

    buckets = w.device.buckets(shapes=[8], record=record)
    buckets.launch(w.stream, 8)
    w.stream.wait()
    return buckets, found[0]


@case
def templates_and_buckets_are_closed_behind_calls_that_use_their_memory():
    for make in template_memory, buckets_memory:
        with World() as w:
            (wait_for, add), (owner, out) = w.kernels(), make(w)
            launch = add[1, 1, w.device.stream_create()]
            flag, copied = w.arena.allocate("u32", 1), bytearray(4)
            flag[0] = 0
            wait_for[1, 1, w.stream](flag, out)
            copying = threading.Thread(target=w.stream.copy_to_host, args=(copied, out))
            closing = threading.Thread(target=owner.close)
            executor = w.runtime.executor_create(flags=gpuorch.EXECUTOR_CALLER)
            copying.start()
            try:
                wait_until_blocked(copying)  # by the kernel, because the memory isn't pinned
                executor.post(lambda *_: owner.close())
                raises(gpuorch.WouldDeadlock, "callback", executor.run)
                assert not out.freed and not owner.closed
                closing.start()
                while not out.freed:  # so it is as soon as the close has begun
                    time.sleep(0.001)
                assert closing.is_alive() and copying.is_alive() and not owner.closed
                raises(ValueError, "is being closed", w.stream.fill, out, 0)
                raises(ValueError, "is being closed", launch, out, 1)
            finally:
                flag[0] = 7
                copying.join()
            closing.join()
            assert owner.closed and copied == struct.pack("I", 7), copied
            raises(ValueError, "is closed", w.stream.fill, out, 0)


class During:
    """A number that is converted after the memory beside it was read. A thread begins a close meanwhile."""

    def __init__(self, close, array):
        self.thread, self.array = threading.Thread(target=outcome, args=(close,)), array

    def __index__(self):
        self.thread.start()
        while not self.array.freed:
            time.sleep(0.001)
        return 1


@case
def calls_that_are_refused_or_fail_do_not_keep_a_template_open():
    with World() as w:
        (wait_for, add), flag, other = w.kernels(), w.arena.allocate("u32", 1), w.device.stream_create()
        launch, failing = add[1, 1, other], add[1, 1 << 20, other]
        go = ctypes.c_uint32.from_address(flag.address)

        def is_closed(template):
            thread = threading.Thread(target=template.close, daemon=True)
            thread.start()
            thread.join(20)
            return template.closed

        def while_copying(source, work):
            go.value = 0
            wait_for[1, 1, w.stream](flag, source)
            copying = threading.Thread(target=w.stream.copy_to_host, args=(bytearray(4), source))
            copying.start()
            try:
                wait_until_blocked(copying)  # by the kernel, because the memory isn't pinned
                return work()
            finally:
                go.value = 1
                copying.join()

        def refused(call, close, closing):
            during = During(close, closing)
            raises(ValueError, "the call was refused", call, during)
            return during.thread

        template, out = template_memory(w)
        raises(gpuorch.Error, "", failing, out, 1)
        assert is_closed(template), "a launch that failed"
        for name, call in (("launch", lambda number: launch(out, number)), ("fill", lambda number: other.fill(out, number))):
            template, out = template_memory(w)
            while_copying(out, lambda: refused(call, lambda: w.runtime.shutdown(0.2), out).join())
            assert is_closed(template) and not w.runtime.closed, name
        for place in 0, 1:
            (first, a), (second, b) = template_memory(w), template_memory(w)
            pair = (a, b) if place else (b, a)
            closing = while_copying(b, lambda: refused(lambda number: other.copy_on_device(*pair, number), second.close, b))
            closing.join()
            assert second.closed and is_closed(first), place


@case
def views_that_callbacks_make_while_the_runtime_is_closed_outlive_it():
    w = World()
    a, views, executor = w.arena.allocate("u8", 1000), [], w.runtime.executor_create(flags=gpuorch.EXECUTOR_CALLER)
    a[:] = 5

    def late(*_):
        views.extend([memoryview(a), memoryview(a[2:4])])
        if numpy:
            views.append(a.numpy())
        if SOFT:
            views.append(outcome(a.__dlpack__))
        views.append(a.tolist())

    w.stream.then(executor, late)
    w.runtime.close()
    assert w.runtime.closed and a.freed and views[-1] == [5] * 1000
    if SOFT:
        assert isinstance(views[-2], BufferError), views[-2]
    assert [bytes(view) for view in views[:3 if numpy else 2]] == [b"\5" * 1000, b"\5" * 2, b"\5" * 1000][:3 if numpy else 2]


@case
def callbacks_of_other_runtimes_may_not_use_memory_that_is_being_freed():
    w = World()
    (wait_for, _), other = w.kernels(), gpuorch.Runtime(device=DEVICE)
    flag, out, seen = w.arena.allocate("u32", 1), w.device.memory_allocate("u32", 1), []
    go = ctypes.c_uint32.from_address(flag.address)
    go.value = 0
    wait_for[1, 1, w.stream](flag, out)
    copying = threading.Thread(target=w.stream.copy_to_host, args=(bytearray(4), out))
    closing = threading.Thread(target=w.runtime.close)
    copying.start()
    try:
        wait_until_blocked(copying)  # by the kernel, because the memory isn't pinned
        closing.start()
        while not flag.freed:
            time.sleep(0.001)
        executor = other.executor_create(flags=gpuorch.EXECUTOR_CALLER)
        executor.post(lambda *_: seen.extend(outcome(call) for call in (lambda: memoryview(flag), lambda: flag[0],
                                                                        lambda: w.stream.fill(out, 0))))
        executor.run()
        assert [type(one) for one in seen] == [ValueError] * 3, seen
    finally:
        go.value = 1
        copying.join()
        closing.join()
        other.close()


@case
def a_runtime_that_is_closed_while_an_array_is_lent_lends_nothing():
    if not SOFT:
        skip("a runtime that is closed while an array is lent", "needs the software GPU")
        return
    w = World()
    a = w.arena.allocate("u8", 1000)

    class Version:
        def __len__(self):
            return 2

        def __getitem__(self, index):
            w.runtime.close()
            return 1

    raises(ValueError, "runtime is closed", lambda: a.__dlpack__(max_version=Version()))
    there = weakref.ref(a)
    del a
    gc.collect()
    assert w.runtime.closed and there() is None


RACE = """
import gpuorch, sys, threading, time
sys.setswitchinterval(1e-5)
stop, rounds = time.monotonic() + SECONDS, 0
while time.monotonic() < stop or rounds < 3:
    runtime = gpuorch.Runtime(device="DEVICE")
    device = runtime.device_open()
    arena, kernel = device.arena_create(), device.module_load_builtin().kernel("gpo_fill_u32", "ptr u32 u64")
    host, memory = arena.allocate("u8", 4096), device.memory_allocate("u8", 4096)
    def work(number):
        try:
            stream = device.stream_create()
            launch = kernel[1, 64, stream]
            calls = [lambda: stream.copy_to_device(memory, host), lambda: stream.copy_to_host(host, memory),
                     lambda: stream.fill(memory, 1), lambda: launch(host, 7, 1024)]
            while True:
                calls[number]()
        except (ValueError, gpuorch.Error):
            pass
    threads = [threading.Thread(target=work, args=(number,), daemon=AT_EXIT) for number in range(4)]
    for thread in threads:
        thread.start()
    time.sleep(0.002 * (rounds % 5 + 1))
    rounds += 1
    if AT_EXIT:
        break
    runtime.close()
    for thread in threads:
        thread.join()
print("done", flush=True)
"""


def race(seconds, at_exit):
    return RACE.replace("SECONDS", str(seconds)).replace("AT_EXIT", str(at_exit)).replace("DEVICE", DEVICE)


@case
def calls_of_other_threads_may_meet_the_end_of_their_runtime():
    ended = run(race(20 if FULL else 3, False))
    assert ended.returncode == 0 and ended.stdout == "done\n", ended


@case
def calls_of_other_threads_may_meet_the_end_of_the_program():
    for _ in range(20 if FULL else 3):
        ended = run(race(0, True))
        assert ended.returncode == 0 and ended.stdout == "done\n", ended


@case
def programs_end_well_with_arrays_left():
    forks = "import os, gc\nif os.fork() == 0:\n    del a, b, p\n    gc.collect()\nelse:\n    assert os.wait()[1] == 0\n"
    endings = {"plainly": "", "with a buffer": "v = memoryview(a)\n", "with a loan": "c = a.__dlpack__()\n",
               "in a cycle": "a.me = [a, s, part]\nb.me = [b, d]\n", "after the runtime": "r.close()\n",
               "with a registration": "m = d.host_register(bytearray(4096))\n", "forked": forks,
               "with a keeper": "h = k.allocate('f32', 10)\ns.copy_to_device(b, h)\n"}
    for name, more in endings.items():
        ended = run(ENDING + more + "print('done')\n")
        assert ended.returncode == 0 and "done" in ended.stdout and (not ended.stderr or name == "forked"), (name, ended)


LATE = """
import gpuorch
class Late:
    # Objects left at the very end, after all calls that Python makes at exit.
    def __init__(self, view):
        self.view = view
    def __del__(self):
        self.view[0] = 7
        print("late", self.view[0], flush=True)
runtime = gpuorch.Runtime(device="soft")
array = runtime.device_open().arena_create(label="left").allocate("u8", 100)
late = Late(memoryview(array))
late.me = late
import sys
sys.modules["late"] = late
"""


@case
def memory_that_others_use_is_there_until_the_interpreter_has_ended():
    for more in ("", "runtime = array = None\n", "sys.exit(3)\n"):
        ended = run(LATE + more, GPUORCH_LOG="info")
        assert ended.returncode == (3 if "exit" in more else 0) and ended.stdout == "late 7\n", (more, ended)
        # The runtime is shut down all the same, after the interpreter: it reports what is left.
        assert "left" in ended.stderr, (more, ended)
