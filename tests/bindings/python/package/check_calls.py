#!/usr/bin/env python3
"""Functions of the library succeed from Python: what the calls give and do, by the objects' methods, and by the functions of
_gpuorch where no method calls them. On the device of GPUORCH_DEVICE. Here: the library, devices, streams, executors, memory,
kernels. check_calls_graphs.py has the others, and in check_calls_fail.py every function fails. check_counts.py says which
functions are missing."""
import ctypes
import os
import pathlib
import struct

from calls_world import DEVICE, World
from harness import case, run

import gpuorch
from gpuorch import _gpuorch as raw

# --- the library, runtimes, devices ---


@case
def the_library_describes_itself_and_its_statuses():
    assert gpuorch.version() >= 100 and gpuorch.library().version.count(".") == 2
    assert gpuorch.status_name(gpuorch.NOT_FOUND).endswith("NOT_FOUND")
    assert gpuorch.status_text(gpuorch.TIMEOUT) != gpuorch.status_text(gpuorch.NOT_FOUND) != ""
    assert len(gpuorch.peers_make_id()) == gpuorch.PEERS_ID_BYTES
    assert gpuorch.peers_make_id() != gpuorch.peers_make_id()


@case
def a_runtime_describes_its_devices_and_counts():
    lines = []
    with World(label="counted", log=lambda level, text: lines.append(text), log_level=gpuorch.LOG_DEBUG) as w:
        r = w.runtime
        assert r.driver().software == (DEVICE.startswith("soft")) and r.driver().device_count == r.device_count() >= 1
        about = r.describe_device(0)
        assert about.name == w.device.properties().name != "" and about.warp_size == 32
        assert r.describe_peer(0, 0).accessible in (0, 1)
        w.stream.fill(w.array, 1)
        w.stream.wait(10)
        assert r.statistics().fills == 1 and r.statistics().device_allocations == 2
        metrics = r.metrics()
        assert metrics.devices == 1 and metrics.streams == 2
        assert 'runtime="counted"' in r.metrics_text() and r.metrics_text().startswith("#")
        assert lines and all(isinstance(line, str) for line in lines)
        r.set_log_executor(w.executor)
        before = len(lines)
        w.compile()
        assert len(lines) == before
        w.turn(w.executor, lambda: len(lines) > before)
        r.set_log_executor(None)


@case
def a_device_describes_itself_and_takes_limits():
    with World() as w:
        d = w.device
        free, total = d.memory()
        assert 0 < free <= total == d.properties().memory_bytes
        context, ordinal = d.native()
        assert ordinal == 0 and context != 0
        assert d.metrics().memory_total > 0
        least, greatest = d.priority_range()
        assert greatest <= least
        d.set_limit(gpuorch.LIMIT_STACK_BYTES, 2048)
        assert d.limit(gpuorch.LIMIT_STACK_BYTES) == 2048
        costs = d.costs()
        assert costs.multiprocessors == d.properties().multiprocessors
        assert d.wait(10) is None
        with w.runtime.device_open() as again:
            assert again.properties().uuid == d.properties().uuid
        assert again.closed and not d.closed


@case
def devices_reach_each_other():
    with World() as w:
        two = w.runtime.device_count() > 1
        peer = w.runtime.device_open(ordinal=1) if two else w.device
        if two and w.runtime.describe_peer(0, 1).accessible:
            w.device.enable_peer(peer)
            w.device.disable_peer(peer)
        there, stream, out = peer.memory_allocate("u32", 16), peer.stream_create(), bytearray(64)
        w.put(5, 6)
        w.stream.copy_peer(peer, there, w.device, w.array, 64)
        w.stream.wait(10)
        stream.copy_to_host(out, there)
        stream.wait(10)
        assert struct.unpack("16I", out)[:3] == (5, 6, 0)


@case
def advice_comes_from_numbers_and_from_traces():
    with World() as w:
        diagnosis, advice = w.device.advise(launches=1000, round_ns=10**7, kernel_ns=10**6)
        assert diagnosis.round_ns == 10**7 and advice and all(one.reason for one in advice)
        w.compile()
        path = pathlib.Path("calls.trace.json")
        w.runtime.trace_start(path=str(path))
        assert w.runtime.trace_info().running == 1
        launch = w.kernel[1, 32, w.stream]
        for _ in range(20):
            launch(w.array, 1)
        w.stream.wait(10)
        w.runtime.trace_stop()
        assert w.runtime.trace_info().running == 0 and w.runtime.trace_info().operations == 20
        assert "add" in w.runtime.trace_summary()
        workload, text = gpuorch.advise_trace(str(path))
        assert workload.launches >= 1 and "GPU" in text


@case
def objects_have_labels_and_failures():
    with World() as w:
        event = w.device.event_create(label="first")
        assert event.label == "first" and event.error() is None
        event.label = "second"
        assert event.label == "second" and "second" in repr(event)
        timeline = w.runtime.timeline_create(value=3)
        timeline.fail(gpuorch.FAILED, "on purpose")
        failure = timeline.error()
        assert isinstance(failure, gpuorch.Failed) and failure.message == "on purpose"


# --- streams, events, timelines, queues ---


@case
def streams_and_events_order_work():
    with World() as w:
        start, end = (w.device.event_create(flags=gpuorch.EVENT_TIMING) for _ in range(2))
        start.record(w.stream)
        w.stream.fill(w.array, 3)
        end.record(w.stream)
        end.wait(10)
        assert end.query() is True and start.elapsed(end) >= 0
        w.other.wait_event(end)
        w.other.wait_stream(w.stream)
        w.other.wait(10)
        assert w.other.query() is True and w.stream.info().accepted >= 1
        assert start.native() != end.native() and w.stream.native() != w.other.native()
        wrapped = w.device.stream_wrap(None, label="theirs")
        assert wrapped.info().wrapped == 1
        wrapped.close()
        pool = w.device.stream_pool_create(streams=2)
        first, second = pool.acquire(), pool.acquire()
        first.fill(w.second, 4, count=16)
        first.wait(10)
        assert w.get(w.second) == (4,) * 16
        pool.release(first)
        raw.stream_pool_release(pool, second)
        assert first.closed and second.closed
        pool.close()


@case
def timelines_hold_streams_and_follow_them():
    with World() as w:
        timeline = w.runtime.timeline_create(value=3)
        assert timeline.value() == 3
        w.stream.wait_timeline(timeline, 5)
        w.stream.fill(w.array, 9)
        w.stream.signal_timeline(timeline, 6)
        assert w.stream.query() is False
        timeline.signal(5)
        timeline.wait(6, 10)
        assert timeline.value() == 6 and w.get() == (9,) * 16
        w.other.wait_timeline(timeline, 7)
        w.other.fill(w.second, 1)
        w.other.notify(w.cq, 1)
        assert w.other.cancel_held() >= 2
        assert [entry.status for entry in w.entries()] == [gpuorch.CANCELLED] and w.other.query() is True


@case
def queues_get_entries():
    with World() as w:
        event = w.device.event_create(flags=gpuorch.EVENT_TIMING)
        timeline = w.runtime.timeline_create()
        event.record(w.stream)
        event.notify(w.cq, 1)
        w.stream.notify(w.cq, 2)
        w.stream.notify_timed(w.cq, event, 3)
        timeline.notify(4, w.cq, 4)
        timeline.signal(4)
        entries = {entry.user_data: entry for entry in w.entries(4)}
        assert sorted(entries) == [1, 2, 3, 4] and not any(entry.status for entry in entries.values())
        assert entries[4].origin == gpuorch.ORIGIN_TIMELINE
        w.cq.wake()
        w.cq.wait(10)
        assert w.cq.drain() == []
        assert w.cq.statistics().drained == 4 == w.cq.statistics().accepted
        descriptor = w.cq.fd()
        os.close(descriptor)
        timeline.notify(9, w.cq, 5)
        timeline.fail(gpuorch.FAILED, "no more")
        entry, = w.entries()
        assert entry.status == gpuorch.FAILED
        assert raw.cq_get_error(w.cq, entry.error_id).status == gpuorch.FAILED
        assert w.cq.failure(entry).message == "no more"
        assert raw.cq_drain(w.cq) == []


# --- executors ---


@case
def executors_call_functions():
    with World() as w:
        x, got = w.executor, []
        event, timeline = w.device.event_create(), w.runtime.timeline_create()
        event.record(w.stream)

        def tells(name):
            return lambda entry, failure: got.append((name, entry.status, failure))

        w.stream.then(x, tells("stream"))
        event.then(x, tells("event"))
        x.post(tells("post"))
        timeline.then(2, x, tells("timeline"))
        timeline.signal(2)
        w.turn(x, lambda: len(got) == 4)
        assert sorted(got) == [(name, 0, None) for name in ("event", "post", "stream", "timeline")]
        x.post_at(x.time(), lambda *_: got.append("now"))
        never = x.post_at(2**64 - 1, lambda entry, failure: got.append(type(failure)))
        w.turn(x, lambda: "now" in got)
        x.cancel(never)
        assert raw.executor_run(x) == 1 and got[-1] is gpuorch.Cancelled
        x.post(lambda *_: got.append("polled"))
        assert x.poll() == 1 and got[-1] == "polled"
        x.post(lambda *_: got.append("polled by C's name"))
        assert raw.executor_poll(x) == 1 and got[-1] == "polled by C's name"
        assert raw.executor_run_for(x, 0) == 0 and x.run() == 0
        assert x.statistics().called == 8 and x.statistics().cancelled == 1


@case
def streams_call_the_host_and_wait_for_it():
    with World() as w:
        calls = []

        def on_host(call):
            calls.append(call.call)
            return False  # goes on until host_call_finish

        w.stream.host_call(w.executor, on_host)
        w.stream.fill(w.array, 2)
        w.turn(w.executor, lambda: calls)
        assert w.stream.query() is False
        w.executor.host_call_finish(calls[0])
        assert w.get() == (2,) * 16


# --- memory ---


@case
def arenas_and_pools_allocate():
    with World() as w:
        arena, pool = w.device.arena_create(label="host"), w.device.pool_create()
        array = arena.allocate("f32", 16, 512)
        assert array.address % 512 == 0 and arena.statistics().in_use >= 64
        array[0] = 2.5
        assert array[0] == 2.5
        arena.free_after(array, w.stream)
        assert array.freed
        address = raw.arena_allocate(arena, 4096)
        assert w.device.memory_describe(address).kind == gpuorch.MEMORY_PINNED
        raw.arena_free(arena, address)
        address = raw.arena_allocate(arena, 4096)
        raw.arena_free_after(arena, address, w.stream)
        w.stream.wait(10)
        arena.trim()
        assert arena.statistics().in_use == 0 == arena.statistics().slabs
        piece = pool.allocate(w.stream, "u32", 16)
        w.stream.fill(piece, 8)
        assert w.get(piece) == (8,) * 16
        pool.free(w.stream, piece)
        address = raw.pool_allocate(pool, w.stream, 1024)
        raw.pool_free(pool, w.stream, address)
        w.stream.wait(10)
        pool.trim()
        assert pool.statistics().allocations == 2 == pool.statistics().frees


@case
def memory_is_described_and_pinned():
    with World() as w:
        about = w.device.memory_describe(w.array)
        assert about.kind == gpuorch.MEMORY_DEVICE and about.start <= w.array.address and about.bytes >= 64
        address = raw.memory_allocate(w.device, 256, "by its address")
        assert w.device.memory_describe(address).start == address
        w.device.memory_free(address)
        buffer = bytearray(b"pinned, " * 512)
        with w.device.host_register(buffer):
            here = ctypes.addressof(ctypes.c_char.from_buffer(buffer))
            assert w.device.memory_describe(here).kind == gpuorch.MEMORY_PINNED
        buffer.extend(b"it is free again")


@case
def copies_and_fills_move_bytes():
    with World() as w:
        s, a, b = w.stream, w.array, w.second
        w.put(*range(16))
        s.copy_on_device(b, a)
        assert w.get(b) == tuple(range(16))
        out = bytearray(64)
        s.copy_batch([{"destination": out, "source": b, "bytes": 64}, {"destination": a, "source": b[8:], "bytes": 16}])
        s.wait(10)
        assert struct.unpack("16I", out) == tuple(range(16)) and w.get()[:5] == (8, 9, 10, 11, 4)
        s.fill(a, 0)
        s.copy_rows(destination=a, destination_pitch=16, source=b, source_pitch=32, width=8, height=2)
        assert w.get()[:6] == (0, 1, 0, 0, 8, 9)
        s.fill_rows(b, 32, 1, 4, 2)  # bytes
        assert w.get(b)[:10] == (0x01010101, 1, 2, 3, 4, 5, 6, 7, 0x01010101, 9)
        s.copy_peer(w.device, a, w.device, b, 64)
        assert w.get() == w.get(b)


@case
def memory_and_events_reach_another_process():
    with World() as w:
        event = w.device.event_create(flags=gpuorch.EVENT_INTERPROCESS)
        w.put(11, 12)
        event.record(w.stream)
        w.stream.wait(10)
        memory, exported = w.device.memory_export(w.array), event.export()
        child = run(f"""
import gpuorch, struct
with gpuorch.Runtime(device={DEVICE!r}) as runtime, runtime.device_open() as device, device.stream_create() as stream:
    array = device.memory_import("u32", bytes.fromhex({memory.hex()!r}), "theirs")
    event = device.event_import(bytes.fromhex({exported.hex()!r}), "theirs")
    event.wait(10)
    out = bytearray(array.bytes)
    stream.copy_to_host(out, array)
    stream.wait(10)
    print(struct.unpack_from("3I", out), event.label)
    stream.fill(array, 21, 4, 1)
    stream.wait(10)
    array.free()
""")
        assert child.stdout == "(11, 12, 0) theirs\n", child
        assert w.get()[:2] == (21, 12)


# --- kernels ---


@case
def modules_and_kernels_describe_themselves():
    with World() as w:
        w.compile()
        log = gpuorch.last_compile_log()
        assert isinstance(log, str)
        image = w.module.image()
        assert len(image) > 100
        again = w.device.module_load(image, "again").kernel("add", "ptr u32")
        w.put(1, 2)
        again[1, 32, w.stream](w.array, 5)
        assert w.get()[:3] == (6, 7, 5)
        address, size = w.module.symbol("table")
        assert size == 16 and w.device.memory_describe(address).kind == gpuorch.MEMORY_DEVICE
        k = w.kernel
        assert k.name() == "add" and k.attributes().parameter_count == 2
        assert k.parameter(0) == (0, 8) and k.parameter(1) == (8, 4)
        assert k.occupancy(64) >= 1
        threads, blocks = k.suggest_shape()
        assert 1 <= threads <= 1024 and blocks >= 1
        k.set_max_dynamic_shared(1024)
        assert k.native() not in (None, 0)
        raw.stream_launch_kernel(w.stream, k, {"grid": 1, "block": 32, "label": "by the raw function"}, [w.array, 1])
        assert w.get()[:3] == (7, 8, 6)
        fill = w.device.module_load_builtin().kernel("gpo_fill_u32")
        fill[1, 32, w.stream](w.array, 4, 16)
        assert w.get() == (4,) * 16


@case
def pipelines_move_data_through_kernels():
    with World() as w:
        w.compile()
        pipeline = w.device.pipeline_create(chunk_bytes=1 << 16, stages=[
            {"kind": gpuorch.STAGE_KERNEL, "kernel": w.module.kernel("add_each"), "bytes_per_block": 1024, "arguments": [
                {"kind": gpuorch.ARGUMENT_INPUT}, {"kind": gpuorch.ARGUMENT_OUTPUT},
                {"kind": gpuorch.ARGUMENT_INPUT_BYTES}, 3]}])
        data, out, got = struct.pack("65536I", *range(65536)), bytearray(1 << 18), []
        pipeline.start({"kind": gpuorch.SOURCE_MEMORY, "memory": data}, {"kind": gpuorch.SINK_MEMORY, "memory": out})
        pipeline.notify(w.cq, 7)
        pipeline.then(w.executor, lambda entry, failure: got.append(failure))
        result = pipeline.wait(20)
        assert struct.unpack("65536I", out) == tuple(range(3, 65539))
        assert (result.status, result.bytes_in, result.bytes_out, result.chunks) == (0, 1 << 18, 1 << 18, 4)
        assert [entry.user_data for entry in w.entries()] == [7]
        w.turn(w.executor, lambda: got)
        assert got == [None] and pipeline.progress().bytes_done == 1 << 18
        assert pipeline.share().chunks == 4 and pipeline.share(0).bytes_in == 1 << 18
        pipeline.cancel()  # no run is under way
        pipeline.close()
