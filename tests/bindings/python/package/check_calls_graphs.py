#!/usr/bin/env python3
"""Functions of the library succeed from Python, as in check_calls.py. Here: graphs, buckets, queues and schedulers of the
GPU, groups of GPUs, admissions, batchers, and what destroys objects."""
import ctypes
import struct

from calls_world import CALLER, World
from harness import case, raises

import gpuorch
from gpuorch import _gpuorch as raw

HANDLER = """struct node { unsigned handler, left, right, n; };
__device__ int visit(gpo::task_context &at, const node &task) { return task.n == 7 ? 55 : 0; }"""
SERVE = """#include <gpuorch/device/queue.cuh>
struct sum { unsigned a, b, unused[2]; };
extern "C" __global__ void serve(gpo::host_ring requests) {
    __shared__ gpo::dispatch_memory memory;
    const gpo::bound patience = gpo::nanoseconds(60000000000ull);
    if (blockIdx.x == 0) {
        gpo::dispatch(requests, memory, patience);
        return;
    }
    gpo::host_task<sum> next;
    while (gpo::warp_pop(requests.tasks, next, patience) == gpo::queue_success)
        gpo::warp_answer(requests, next.ticket, 0, next.task.a + next.task.b);
}"""


# --- graphs ---


@case
def templates_are_built_node_by_node():
    with World() as w:
        w.compile()
        t = w.device.template(label="built")
        node = t.add_kernel(w.kernel, [w.array, 16], grid=1, block=32, label="adds")
        copy = t.add_copy([node], destination=w.second, source=w.array, bytes=64)
        filled = t.add_fill(w.array, 5, copy, count=4)
        event = w.device.event_create()
        t.add_event_record(event, filled)
        before = w.device.event_create()
        before.record(w.stream)
        t.add_event_wait(before)
        t.add_empty([filled])
        child = w.device.template()
        inner = child.add_fill(w.array[8:], 1, count=1)
        child.add_parameter("value", inner, gpuorch.PARAMETER_VALUE, 0)
        t.add_child(child, filled, "child.")
        t.add_parameter("n", node, gpuorch.PARAMETER_ARGUMENT, 1)
        number, size = t.parameter("n")
        assert size == 4 and t.find_node("adds") == node and t.parameter("child.value")[0] != number
        assert t.statistics().nodes >= 7 and t.statistics().parameters == 2
        w.put(1)
        t.launch(w.stream, {"n": 2, "child.value": 3})
        assert w.get(w.second)[:2] == (3, 2) and w.get()[:9] == (5, 5, 5, 5, 2, 2, 2, 2, 3)
        event.wait(10)
        assert t.picture(gpuorch.PICTURE_DOT).startswith("digraph") and "<svg" in t.picture()
        t.prepare(2, w.stream)
        assert t.statistics().instances >= 2
        imported = w.device.template_import(t.native(), label="imported")
        assert imported.statistics().nodes >= 7
        imported.clear()
        assert imported.statistics().nodes == 0


@case
def templates_have_memory_and_call_c_on_the_host():
    with World() as w:
        t = w.device.template()
        array, host = t.allocate("u32", 4), t.allocate_host("u32", 4)
        node = t.add_fill(array, 6)
        node = t.add_copy(node, destination=host, source=array, bytes=16)
        free = ctypes.cast(ctypes.CDLL(None).free, ctypes.c_void_p).value
        t.add_host_call((free, 0), node)
        address, allocated = t.add_allocation(256)
        filled = t.add_fill(address, 1, allocated, count=64)
        t.add_free(address, filled)
        t.launch(w.stream)
        w.stream.wait(10)
        assert host.tolist() == [6] * 4


@case
def templates_are_recorded_from_streams():
    with World() as w:
        w.compile()
        t = w.device.template()
        launch = w.kernel[1, 32, w.stream]
        t.begin(w.stream)
        launch(w.array, 1)
        node = t.last_node(w.stream)
        joined = t.add_empty(node)
        t.set_last_node(w.stream, joined)
        assert t.last_node(w.stream) == joined
        t.end()
        w.put()
        for _ in range(3):
            t.launch(w.stream)
        assert w.get() == (3,) * 16
        t.clear()
        t.begin(w.stream)
        t.cancel()
        assert t.statistics().nodes == 0


@case
def graphs_take_values_and_follow_their_template():
    with World() as w:
        w.compile()
        t = w.device.template()
        node = t.add_kernel(w.kernel, [w.array, 1], grid=1, block=32)
        t.add_parameter("n", node, gpuorch.PARAMETER_ARGUMENT, 1)
        g = t.graph(label="g")
        g.set("n", 3)
        assert g.get("n") == struct.pack("I", 3)
        g.set_parameter(t.parameter("n")[0], ("u32", 4))
        assert g.get("n") == struct.pack("I", 4)
        g.set_all({"n": 5})
        w.put()
        g.upload(w.stream)
        g.launch(w.stream)
        assert w.get() == (5,) * 16
        assert g.update().rebuilt == 0 and g.native() != t.native()
        device_launched = t.graph(flags=gpuorch.GRAPH_DEVICE_LAUNCH)
        native, status = device_launched.device_handle()
        assert native and status and device_launched.device_status() == 0
        g.close()


@case
def nodes_are_switched_off_and_on():
    with World() as w:
        w.compile()
        t = w.device.template()
        added = t.add_kernel(w.kernel, [w.array, 1], grid=1, block=32)
        copied = t.add_copy(added, destination=w.second, source=w.array, bytes=64)
        filled = t.add_fill(w.array, 5, copied, count=4)
        for name, node in (("added", added), ("copied", copied), ("filled", filled)):
            t.add_parameter(name, node, gpuorch.PARAMETER_ENABLED, 0)
        g, other = t.graph(), t.graph()

        def launched(graph):
            w.put(1, 2)
            w.stream.fill(w.second, 0)
            graph.launch(w.stream)
            return w.get()[:5], w.get(w.second)[:5]

        on, without = ((5, 5, 5, 5, 1), (2, 3, 1, 1, 1)), {
            "added": ((5, 5, 5, 5, 0), (1, 2, 0, 0, 0)), "copied": ((5, 5, 5, 5, 1), (0, 0, 0, 0, 0)),
            "filled": ((2, 3, 1, 1, 1), (2, 3, 1, 1, 1))}
        assert launched(g) == on
        for name, left in without.items():
            g.set(name, False)
            assert struct.unpack("I", g.get(name)) == (0,) and launched(g) == left, (name, launched(g))
            assert launched(other) == on, "each graph has switches of its own"
            g.set(name, True)
            assert launched(g) == on, name
        w.put(1, 2)
        t.launch(w.stream, dict.fromkeys(without, 0))
        assert w.get()[:3] == (1, 2, 0)
        rest = w.device.template()
        for node in (rest.add_empty(), rest.add_event_record(w.device.event_create()), rest.add_child(t, None, "t.")):
            raises(gpuorch.InvalidArgument, "no switch", rest.add_parameter, "x", node, gpuorch.PARAMETER_ENABLED, 0)


@case
def fields_of_nodes_change_between_launches():
    with World() as w:
        w.compile()
        t, third = w.device.template(), w.device.memory_allocate("u32", 16)
        k = t.add_kernel(w.kernel, [w.array, 1], grid=1, block=32)
        c = t.add_copy(k, destination=w.second, source=w.array, bytes=64)
        f = t.add_fill(w.array, 5, c, count=4)
        for name, node, what, index in (
                ("x", k, gpuorch.PARAMETER_ARGUMENT, 0), ("n", k, gpuorch.PARAMETER_ARGUMENT, 1),
                ("grid", k, gpuorch.PARAMETER_GRID, 0), ("block", k, gpuorch.PARAMETER_BLOCK, 0),
                ("shared", k, gpuorch.PARAMETER_SHARED_BYTES, 0), ("to", c, gpuorch.PARAMETER_DESTINATION, 0),
                ("from", c, gpuorch.PARAMETER_SOURCE, 0), ("bytes", c, gpuorch.PARAMETER_BYTES, 0),
                ("at", f, gpuorch.PARAMETER_DESTINATION, 0), ("value", f, gpuorch.PARAMETER_VALUE, 0),
                ("size", f, gpuorch.PARAMETER_BYTES, 0)):
            t.add_parameter(name, node, what, index)
        g = t.graph()
        w.put(1, 2, 3)
        w.stream.fill(w.second, 0)
        w.stream.fill(third, 0)
        g.set_all({"x": third, "n": 7, "grid": struct.pack("3I", 1, 1, 1), "block": struct.pack("3I", 8, 1, 1),
                   "shared": 128, "to": w.second[2:], "from": third, "bytes": 16, "at": third, "value": 9, "size": 8})
        g.launch(w.stream)
        assert w.get(third) == (9, 9, 7, 7, 7, 7, 7, 7) + 8 * (0,)
        assert w.get(w.second)[:7] == (0, 0, 7, 7, 7, 7, 0) and w.get()[:4] == (1, 2, 3, 0)


@case
def graphs_take_over_other_kernels_events_host_calls_and_children():
    with World() as w:
        w.compile()
        other = w.device.module_compile("""extern "C" __global__ void subtract(unsigned *x, unsigned n) {
            if (threadIdx.x < 16) x[threadIdx.x] -= n; }""").kernel("subtract")
        free = ctypes.cast(ctypes.CDLL(None).free, ctypes.c_void_p).value
        events = [w.device.event_create() for _ in range(2)]
        children = [w.device.template() for _ in range(2)]
        for value, child in enumerate(children):
            child.add_fill(w.second, value + 1, count=4)
        t = w.device.template()

        def build(kernel, event, child):
            t.clear()
            node = t.add_kernel(kernel, [w.array, 1], grid=1, block=32)
            t.add_event_wait(event)
            t.add_event_record(event, t.add_child(child, t.add_host_call((free, 0), node)))

        build(w.kernel, events[0], children[0])
        g = t.graph()
        build(other, events[1], children[1])
        w.put(5)
        g.launch(w.stream)
        assert w.get()[0] == 6 and w.get(w.second)[:4] == (1, 1, 1, 1), "not updated yet"
        g.update()
        g.launch(w.stream)
        events[1].wait(10)
        assert w.get()[0] == 5 and w.get(w.second)[:5] == (2, 2, 2, 2, 0), (w.get()[0], w.get(w.second)[:5])


@case
def graphs_decide_and_loop():
    with World() as w:
        w.compile()
        t = w.device.template()
        body, other, node = t.add_if(None, True, word=w.array, comparison=gpuorch.COMPARE_EQUAL, constant=5)
        body.add_fill(w.second, 1, count=1)
        other.add_fill(w.second, 2, count=1)
        body, loop = t.add_while(node, word=w.array, comparison=gpuorch.COMPARE_LESS, constant=9, max_iterations=30)
        body.add_kernel(w.kernel, [w.array, 1], grid=1, block=32)
        bodies, _ = t.add_switch(2, loop, word=w.array[1:], comparison=gpuorch.COMPARE_VALUE)
        bodies[0].add_fill(w.second[1:], 3, count=1)
        bodies[1].add_fill(w.second[1:], 4, count=1)
        w.put(4, 2**32 - 4)
        g = t.graph()
        g.launch(w.stream)
        assert w.get()[:2] == (9, 1) and w.get(w.second)[:2] == (2, 4)
        assert g.loop(t, loop) == (5, False)
        decided = w.device.template()
        body, again = decided.add_while(None, initial=1)
        inner = body.add_kernel(w.module.kernel("decide", "u64"), [0], grid=1, block=1)
        body.bind_condition(inner, 0, decided, again)
        assert body.statistics().nodes == 1


@case
def buckets_record_a_graph_for_each_shape():
    with World() as w:
        w.compile()
        recorded, padded = [], []
        kernel = w.kernel

        def record(stream, work):
            recorded.append(work.shape)
            kernel[1, 32, stream](w.array, 1)
            if work.graph_template:
                work.graph_template.add_parameter("n", work.graph_template.last_node(stream), gpuorch.PARAMETER_ARGUMENT, 1)

        buckets = w.device.buckets(shapes=[8, 16], record=record, pad=lambda stream, work: padded.append(work.size))
        w.put()
        buckets.prepare(w.stream)
        assert buckets.launch(w.stream, 5, {"n": ("u32", 4)}) == 8
        assert buckets.launch(w.stream, 16, {"n": ("u32", 6)}) == 16
        assert set(recorded) == {8, 16} and 5 in padded
        w.stream.fill(w.array, 0)
        for size, n in ((8, 7), (9, 3)):
            buckets.launch(w.stream, size, {"n": ("u32", n)})
        assert set(w.get()) == {10}
        statistics = buckets.statistics()
        assert statistics.buckets == 2 and statistics.hits >= 2 and statistics.requested == 38
        buckets.close()


@case
def a_function_that_a_call_runs_cannot_close_the_runtime_under_the_call():
    with World() as w:
        refused = []

        def record(stream, work):
            try:
                w.runtime.close()
            except gpuorch.WouldDeadlock as error:
                refused.append(error.function)
            stream.fill(w.array, 7)

        buckets = w.device.buckets(shapes=[8], record=record)
        buckets.launch(w.stream, 8)
        assert refused and set(refused) == {"gpo_runtime_shutdown"} and set(w.get()) == {7}, (refused, w.get())
        buckets.close()


@case
def a_function_that_a_call_runs_may_close_another_runtime():
    with World() as w:
        other = World()

        def record(stream, work):
            other.runtime.close()
            stream.fill(w.array, 7)

        buckets = w.device.buckets(shapes=[8], record=record)
        buckets.launch(w.stream, 8)
        assert other.runtime.closed and set(w.get()) == {7}
        buckets.close()


# --- queues of the GPU, schedulers ---


@case
def rings_and_ranges_take_tasks():
    with World() as w:
        ring = w.device.queue(kind=gpuorch.QUEUE_RING, task_size=16, capacity=64, label="ring")
        ring.push(w.stream, bytes(32))
        w.stream.wait(10)
        assert ring.info().pushed == 2 == ring.info().depth
        assert 0 < len(ring.device_handle()) <= gpuorch.QUEUE_HANDLE_BYTES
        ring.close_ring()
        assert ring.info().state == gpuorch.QUEUE_CLOSED
        ring.reset(w.stream)
        w.stream.wait(10)
        assert ring.info().depth == 0 and ring.info().state == gpuorch.QUEUE_OPEN
        ring.abort()
        assert ring.info().state == gpuorch.QUEUE_ABORTED
        costs = w.device.queue(kind=gpuorch.QUEUE_RANGE, count=4)
        costs.set_costs(w.stream, [1, 2.5, 3, 4])
        w.stream.wait(10)
        assert costs.info().kind == gpuorch.QUEUE_RANGE


@case
def a_scheduler_runs_tasks_and_reports_errors():
    with World() as w:
        ring = w.device.queue(kind=gpuorch.QUEUE_RING, task_size=16, capacity=64)
        scheduler = w.device.scheduler([{"name": "visit"}], queue=ring, form=gpuorch.SCHEDULER_RESIDENT, source=HANDLER,
                                       threads=32, multiprocessors=1)
        tasks = struct.pack("12I", *(0, 0, 0, 1), *(0, 0, 0, 7), *(0, 0, 0, 2))
        ring.push(w.stream, tasks)
        w.stream.wait(10)
        scheduler.start()
        scheduler.drain(20)
        assert scheduler.handler(0).tasks == 3
        error, = scheduler.errors()
        assert (error.handler, error.status) == (0, 55) and scheduler.info().errors == 1
        assert len(scheduler.blocks()) == scheduler.info().blocks and isinstance(scheduler.samples(), list)
        ring.reset(w.stream)
        w.stream.wait(10)
        scheduler.start()
        scheduler.stop(20)
        scheduler.wait(20)
        assert scheduler.info().runs == 2
        scheduler.close()


SPIN = """struct turn { unsigned handler, unused; volatile unsigned *flag; };
__device__ int spin(gpo::task_context &, const turn &task) {
    while (!*task.flag) {}
    return 0;
}"""


@case
def timeouts_of_schedulers_and_rings_name_their_function():
    with World() as w:
        ring, flag = w.device.queue(kind=gpuorch.QUEUE_RING, task_size=16), w.device.arena_create().allocate("u32", 1)
        scheduler = w.device.scheduler(["spin"], queue=ring, form=gpuorch.SCHEDULER_RESIDENT, source=SPIN, threads=32,
                                       multiprocessors=1)
        flag[0] = 0
        ring.push(w.stream, struct.pack("2IQ", 0, 0, flag.address))
        w.stream.wait(10)
        scheduler.start()
        try:
            for name in "wait", "drain", "stop":
                assert raises(gpuorch.Timeout, "", getattr(scheduler, name), 0.01).function == f"gpo_scheduler_{name}"
        finally:
            flag[0] = 1
            scheduler.wait(20)
        resident = w.device.stream_create(flags=gpuorch.STREAM_RESIDENT)
        host = w.device.queue(kind=gpuorch.QUEUE_HOST_RING, task_size=16, answer_size=4, stream=resident, capacity=64)
        assert raises(gpuorch.Timeout, "", host.wait, timeout=0.01).function == "gpo_queue_wait"


class Place(ctypes.Structure):
    _fields_ = [("row", ctypes.c_uint8), ("column", ctypes.c_int16)]


class Visit(ctypes.Structure):
    _fields_ = [("handler", ctypes.c_uint32), ("weights", ctypes.c_float * 2 * 2), ("places", Place * 2),
                ("sum", ctypes.c_void_p)]


class Head(ctypes.Structure):
    _fields_ = [("handler", ctypes.c_uint32), ("letter", ctypes.c_char)]


class Longer(Head):
    """In C++ `text` follows `letter` at once, and the size is the same."""
    _fields_ = [("text", ctypes.c_char * 8)]


class Odd(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("handler", ctypes.c_uint32), ("letter", ctypes.c_char), ("sum", ctypes.c_uint64)]


VISIT = """__device__ int visit(gpo::task_context &at, const Visit &task) {
    if (at.thread() == 0)
        atomicAdd((float *)task.sum, task.weights[1][0] + task.places[1].column + (float)(sizeof(Visit) == 40));
    return 0;
}
__device__ int fail(gpo::task_context &, const Place &) { return 13; }"""


@case
def handlers_know_the_structs_of_their_tasks():
    with World() as w:
        ring = w.device.queue(kind=gpuorch.QUEUE_RING, task_size=48, capacity=64)
        total = w.device.arena_create().allocate("f32", 1)
        total[0] = 0
        scheduler = w.device.scheduler({"visit": Visit, "fail": Place}, queue=ring, form=gpuorch.SCHEDULER_RESIDENT,
                                       source=VISIT, threads=32, multiprocessors=1)
        task = Visit(handler=0, weights=((0, 0), (2.5, 0)), sum=total.address)
        task.places[1].column = -100
        ring.push(w.stream, bytes(task).ljust(48, b"\0") + bytes([1]).ljust(48, b"\0"))
        w.stream.wait(10)
        scheduler.start()
        scheduler.drain(20)
        assert total[0] == -96.5, total[0]
        error, = scheduler.errors()
        assert (error.handler, error.status) == (1, 13)
        scheduler.close()
        ring.reset(w.stream)
        w.stream.wait(10)
        with w.device.scheduler(["visit", {"name": "fail"}], queue=ring, form=gpuorch.SCHEDULER_RESIDENT,
                                source=gpuorch.declaration(Visit) + VISIT) as other:
            assert other.info().handlers == 2


@case
def a_struct_that_cuda_lays_out_otherwise_is_refused():
    with World() as w:
        for struct_ in Odd, Longer:
            raises(gpuorch.CompileFailed, "", w.device.module_compile, gpuorch.declaration(struct_))
            assert f"{struct_.__name__} is as in Python" in gpuorch.last_compile_log()
        for wrong in (type("Bits", (ctypes.Structure,), {"_fields_": [("a", ctypes.c_uint32, 3)]}), ctypes.c_uint32, Odd(),
                      type("Text", (ctypes.Structure,), {"_fields_": [("a", ctypes.c_char_p)]})):
            raises(TypeError, " of ctypes", gpuorch.declaration, wrong)
        same = type("Outer", (ctypes.Structure,), {"_fields_": [
            ("a", Place), ("b", type("Place", (ctypes.Structure,), {"_fields_": [("row", ctypes.c_uint8)]}))]})
        raises(TypeError, "two structs are named Place", gpuorch.declaration, same)


@case
def structs_of_the_module_options_are_dicts():
    options = gpuorch.options
    assert options.Handler(name="visit") == {"name": "visit"}
    for name, one in vars(options).items():
        if isinstance(one, type) and one.__module__ == "gpuorch.options":
            assert one.__doc__ and one() == {}, name


@case
def a_host_ring_takes_tasks_and_gives_answers():
    with World() as w:
        resident = w.device.stream_create(flags=gpuorch.STREAM_RESIDENT)
        ring = w.device.queue(kind=gpuorch.QUEUE_HOST_RING, task_size=16, answer_size=4, stream=resident, capacity=64)
        ring.set_tenant(0, limit=8)
        assert ring.take() == ([], b"")
        w.device.module_compile(SERVE).kernel("serve", "host_ring")[2, 32, resident](ring)
        assert ring.post(struct.pack("8I", 40, 2, 0, 0, 1, 2, 0, 0), user_data=5) == 2 and ring.info().posted == 2
        entries, answers = [], b""
        while len(entries) < 2:
            assert ring.wait(timeout=20) is True
            entries, answers = (before + new for before, new in zip((entries, answers), ring.take(), strict=True))
        assert [(entry.status, entry.user_data) for entry in entries] == [(0, 5), (0, 6)]
        assert struct.unpack("2I", answers) == (42, 3)
        ring.close_ring()
        assert ring.wait(timeout=20) is False
        resident.wait(20)


# --- groups of GPUs ---


@case
def a_group_of_gpus_adds_up_and_shares_memory():
    with World() as w:
        w.compile()
        peers = w.runtime.peers([w.device], label="group")
        assert peers.info().ranks == 1 and peers.link(0, 0).accessible == 1
        assert peers.split([0]).info().ranks == 1
        w.put(1, 2)
        peers.submit([{"stream": w.stream, "send": w.array, "receive": w.second}], kind=gpuorch.COLLECTIVE_ALL_REDUCE,
                     type=gpuorch.TYPE_UINT32, reduction=gpuorch.REDUCE_SUM, count=16)
        assert w.get(w.second)[:3] == (1, 2, 0) and peers.info().collectives == 1
        peers.launch([{"stream": w.stream, "kernel": w.kernel, "launch": {"grid": 1, "block": 32},
                       "arguments": [w.array, 5]}])
        assert w.get()[:3] == (6, 7, 5)
        memory = peers.allocate(4096, alignment=512, label="shared")
        assert memory.address(0) % 512 == 0 and memory.info().bytes == 4096 and memory.info().ranks == 1
        assert len(memory.device_handle(0)) > 0
        memory.reset(0, w.stream)
        w.stream.wait(10)
        memory.close()
        joined = w.device.join(by=gpuorch.JOIN_ID, id=gpuorch.peers_make_id(), rank=0, ranks=1, engine=gpuorch.ENGINE_HOST)
        assert joined.info().rank == 0
        joined.abort()
        joined.close()
        peers.close()


# --- admission, batches ---


@case
def an_admission_lets_in_as_many_as_it_may():
    with World() as w:
        a, got = w.runtime.admission_create(count=1), []
        first = a.enter(cq=w.cq, user_data=3)
        assert [entry.user_data for entry in w.entries()] == [3] and a.info().held_count == 1
        second, third = a.enter(cq=w.cq, user_data=4), a.enter(cq=w.cq, user_data=5)
        assert a.info().waiting == 2
        a.cancel(third)
        cancelled, = w.entries()
        assert (cancelled.user_data, cancelled.status) == (5, gpuorch.CANCELLED)
        a.set_flow(1, 2)
        a.set_budget(2, 0)
        assert a.info().count == 2 and [entry.user_data for entry in w.entries()] == [4]
        a.leave(first)
        a.leave_after(second, w.stream)
        last = a.enter_then(w.executor, lambda entry, failure: got.append(failure), flow=1)
        w.turn(w.executor, lambda: got)
        assert got == [None] and a.info().admitted == 3
        a.leave(last)


@case
def a_batcher_gathers_requests():
    with World() as w:
        got = []
        batcher = w.runtime.batcher(devices=[w.device], executor=w.executor, label="batcher")

        def work(stream, batch):
            stream.copy_on_device(batch.output, batch.input, batch.elements * 16)

        key = batcher.add_key(layout=gpuorch.BATCH_ROWS, input_bytes=16, output_bytes=16, work=work, max_batch=4,
                              max_delay_ns=10**6, label="key")
        slow = batcher.add_key(layout=gpuorch.BATCH_ROWS, input_bytes=16, output_bytes=16, work=work, max_batch=4,
                               max_delay_ns=3600 * 10**9)
        first, second = bytearray(16), bytearray(16)
        batcher.set_flow(3, 2)
        batcher.submit(key=key, flow=3, input=b"0123456789abcdef", output=first, cq=w.cq, user_data=8)
        batcher.submit_then(w.executor, lambda entry, failure: got.append(failure), key=key, input=b"fedcba9876543210",
                            output=second)
        w.turn(w.executor, lambda: got)
        assert got == [None] and [entry.user_data for entry in w.entries()] == [8]
        assert bytes(first + second) == b"0123456789abcdeffedcba9876543210"
        ticket, _ = batcher.submit(key=slow, input=bytes(16), output=bytearray(16), cq=w.cq, user_data=9)
        batcher.cancel(ticket)
        w.turn(w.executor, lambda: batcher.info().waiting == 0)
        cancelled, = w.entries()
        assert (cancelled.user_data, cancelled.status) == (9, gpuorch.CANCELLED)
        assert batcher.info().succeeded == 2 and batcher.key_info(key).succeeded == 2
        assert batcher.flow_info(3).weight == 2 and batcher.flow_info(3).succeeded == 1
        batcher.close()


@case
def what_is_destroyed_by_c_names_is_closed():
    with World() as w:
        w.compile()
        ring = w.device.queue(kind=gpuorch.QUEUE_RING, task_size=16, capacity=64)
        group = w.runtime.peers([w.device])
        template = w.device.template()
        template.add_empty()
        fill = w.device.module_load_builtin().kernel("gpo_fill_u32")
        made = {"event": w.device.event_create(), "timeline": w.runtime.timeline_create(), "stream": w.other,
                "stream_pool": w.device.stream_pool_create(), "arena": w.device.arena_create(), "queue": ring,
                "pool": w.device.pool_create(), "kernel": w.kernel, "module": w.module, "graph": template.graph(),
                "template": template, "symmetric": group.allocate(4096), "peers": group,
                "buckets": w.device.buckets(shapes=[4], record=lambda *_: None),
                "pipeline": w.device.pipeline_create(stages=[{"kind": gpuorch.STAGE_KERNEL, "kernel": fill,
                                                             "arguments": [w.array, 1, 16]}]),
                "admission": w.runtime.admission_create(), "batcher": w.runtime.batcher(devices=[w.device]),
                "executor": w.runtime.executor_create(flags=CALLER), "cq": w.runtime.cq_create()}
        for name, one in made.items():
            assert not one.closed, name
            assert getattr(raw, f"{name}_destroy")(one) is None, name
            assert one.closed, name
        raw.memory_free(w.device, raw.memory_allocate(w.device, 256))
        extra = w.runtime.device_open()
        raw.device_close(extra)
        assert extra.closed
        raw.runtime_shutdown(w.runtime, 10)
        assert w.runtime.closed and w.device.closed
