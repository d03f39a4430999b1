#!/usr/bin/env python3
"""PyTorch and libgpuorch on one GPU: streams of each in the other, tensors in our copies and kernels, our memory in tensors, our
launches in torch's graphs, torch's graphs and torch's work in our templates, and an await for torch's work. Needs PyTorch and a
CUDA device; from a bundle: run check_torch."""
import asyncio
import ctypes
import inspect
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "bindings/python/ctypes"))
import gpuorch

LIBRARY = os.environ.get("GPUORCH_LIBRARY") or f"{os.environ['GPUORCH_BUILD']}/libgpuorch/libgpuorch.so.0.1"
NAME = "PyTorch"
N = 1 << 20
LONG = 100_000_000  # GPU cycles, some 50 ms: what is ordered wrongly comes before they have passed

try:
    import torch
except ImportError:
    torch = None


class Skip(Exception):
    """A test that can't be done here, and why."""


class World:
    """Our device and stream beside torch's current ones: both use the primary context."""

    def __init__(self):
        self.gpo = gpuorch.Library(LIBRARY)
        self.runtime = self.gpo.runtime_create(self.gpo.RuntimeOptions(device="cuda"))
        self.device = self.gpo.device_open(self.runtime)
        self.stream = self.gpo.stream_create(self.device)
        self.module = self.gpo.module_load_builtin(self.device)
        self.scale_add = self.gpo.module_get_kernel(self.module, "gpo_scale_add_f32")  # y = a * x + y

    def launch_scale_add(self, stream, y, x, a):
        self.gpo.launch(stream, self.scale_add, [1024], [256], ctypes.c_uint64(y.data_ptr()), ctypes.c_uint64(x.data_ptr()),
                        ctypes.c_float(a), ctypes.c_uint64(y.numel()))

    def as_torchs(self):
        return torch.cuda.ExternalStream(self.gpo.stream_get_native(self.stream))


def torch_works_on_our_stream(w):
    x, y = torch.zeros(N, device="cuda"), torch.zeros(N, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.stream(w.as_torchs()):
        torch.cuda._sleep(LONG)
        x.fill_(3)
    w.launch_scale_add(w.stream, y, x, 2.0)  # behind torch's fill, and nothing has waited
    with torch.cuda.stream(w.as_torchs()):
        y.add_(1)
    w.gpo.stream_wait(w.stream, -1)
    assert bool((y == 7).all()), y[:4]


def we_work_on_torchs_stream(w):
    theirs = torch.cuda.Stream()
    x, y = torch.zeros(N, device="cuda"), torch.zeros(N, device="cuda")
    torch.cuda.synchronize()
    with w.gpo.stream_wrap(w.device, theirs.cuda_stream) as wrapped:
        with torch.cuda.stream(theirs):
            torch.cuda._sleep(LONG)
            x.fill_(5)
            w.gpo.copy_on_device(wrapped, y.data_ptr(), x.data_ptr(), 4 * N)
            y.mul_(2)
        w.gpo.stream_wait(wrapped, -1)
    assert bool((y == 10).all()) and theirs.query(), y[:4]


def we_work_on_the_stream_that_torch_uses_unless_told(w):
    x, y = torch.zeros(N, device="cuda"), torch.zeros(N, device="cuda")
    torch.cuda._sleep(LONG)
    x.fill_(4)
    with w.gpo.stream_wrap(w.device, torch.cuda.current_stream().cuda_stream) as wrapped:
        w.launch_scale_add(wrapped, y, x, 0.5)
        y.add_(1)
        w.gpo.stream_wait(wrapped, -1)
    assert bool((y == 3).all()), y[:4]


def events_order_streams_of_both(w):
    theirs, x, y = torch.cuda.Stream(), torch.zeros(N, device="cuda"), torch.zeros(N, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.stream(theirs):
        torch.cuda._sleep(LONG)
        x.fill_(2)
        happened = theirs.record_event()
    w.as_torchs().wait_event(happened)  # ours behind theirs, by torch's event
    w.launch_scale_add(w.stream, y, x, 3.0)
    with w.gpo.event_create(w.device) as event, w.gpo.stream_wrap(w.device, theirs.cuda_stream) as wrapped:
        w.gpo.event_record(event, w.stream)
        w.gpo.stream_wait_event(wrapped, event)  # theirs behind ours, by our event
        with torch.cuda.stream(theirs):
            y.add_(1)
        w.gpo.stream_wait(wrapped, -1)
    assert bool((y == 7).all()), y[:4]


def tensors_are_memory_like_any_other(w):
    gpo, tensor, pinned = w.gpo, torch.zeros(N, device="cuda"), torch.arange(N, dtype=torch.float32).pin_memory()
    torch.cuda.synchronize()
    assert gpo.memory_describe(w.device, tensor.data_ptr()).kind == gpo.MEMORY_DEVICE
    assert gpo.memory_describe(w.device, pinned.data_ptr()).kind == gpo.MEMORY_PINNED
    before = gpo.runtime_get_statistics(w.runtime).pageable_copies
    back = torch.zeros(N).pin_memory()
    gpo.copy_to_device(w.stream, tensor.data_ptr(), pinned.data_ptr(), 4 * N)
    w.launch_scale_add(w.stream, tensor, tensor, 1.0)
    gpo.copy_to_host(w.stream, back.data_ptr(), tensor.data_ptr(), 4 * N)
    gpo.stream_wait(w.stream, -1)
    assert bool((back == 2 * pinned).all()) and gpo.runtime_get_statistics(w.runtime).pageable_copies == before
    error = None
    try:
        gpo.copy_to_host(w.stream, back.data_ptr(), tensor.data_ptr(), 1 << 50)
    except gpuorch.Error as refused:
        error = refused
    assert error and error.status == gpo.INVALID_ARGUMENT, error
    assert float(torch.ones(4, device="cuda").sum()) == 4, "torch goes on"


def our_memory_can_be_a_tensor(w):
    gpo = w.gpo
    with gpo.arena_create(w.device) as arena:
        memory = gpo.arena_allocate(arena, 4 * N, gpo.AUTO)
        host = torch.frombuffer((ctypes.c_float * N).from_address(memory), dtype=torch.float32)
        assert host.is_pinned()
        host.fill_(1.5)
        with torch.cuda.stream(w.as_torchs()):
            there = host.to("cuda", non_blocking=True)
            there.mul_(2)
            host.copy_(there, non_blocking=True)
        gpo.stream_wait(w.stream, -1)
        assert float(host.sum()) == 3 * N
        gpo.arena_free(arena, memory)


def our_launches_are_captured_into_torchs_graphs(w):
    x, y = torch.ones(N, device="cuda"), torch.zeros(N, device="cuda")
    w.launch_scale_add(w.stream, y, x, 0.0)  # loads the kernel
    w.gpo.stream_wait(w.stream, -1)
    busy, graph = w.gpo.stream_create(w.device), torch.cuda.CUDAGraph()
    with w.gpo.cq_create(w.runtime) as cq, torch.cuda.graph(graph, stream=w.as_torchs()):
        w.gpo.stream_notify(busy, cq, 1)  # our scanner works beside the capture
        x.add_(1)
        w.launch_scale_add(w.stream, y, x, 1.0)
        w.gpo.cq_wait(cq, 10_000_000_000)
    torch.cuda.synchronize()
    assert float(y.sum()) == 0, "captured, not run"
    for _ in range(3):
        graph.replay()
    torch.cuda.synchronize()
    assert bool((y == 2 + 3 + 4).all()), y[:4]
    w.gpo.stream_wait(w.stream, -1)
    busy.close()


class Arguments:
    """All arguments of the kernels of a template, each a parameter. The template has had no graph yet."""

    def __init__(self, gpo, template):
        self.gpo, self.names = gpo, []
        for node in range(1, gpo.template_get_statistics(template).nodes + 1):
            index = 0
            while self.name(template, node, index):
                index += 1

    def name(self, template, node, index):
        name = f"{node}.{index}"
        try:
            self.gpo.template_add_parameter(template, name, node, self.gpo.PARAMETER_ARGUMENT, index)
        except gpuorch.Error:
            return False  # no such argument, no kernel, or sizes that the driver can't tell
        self.names.append((name, self.gpo.template_get_parameter(template, name)[1]))
        return True

    def replace(self, graph, before, after):
        """One address by another, within structs too. Returns in how many places."""
        places, before, after = 0, before.to_bytes(8, "little"), after.to_bytes(8, "little")
        for name, size in self.names:
            room = (ctypes.c_char * size)()
            self.gpo.graph_get(graph, name, room, size)
            pieces = [room.raw[at:at + 8] for at in range(0, size, 8)]
            if before in pieces:
                places += pieces.count(before)
                value = b"".join(after if piece == before else piece for piece in pieces)
                self.gpo.graph_set(graph, name, value, size)
        return places


def run(w, graph):
    w.gpo.graph_launch(graph, w.stream)
    w.gpo.stream_wait(w.stream, -1)


def a_region_that_torch_captured_is_a_template_of_ours(w):
    if not hasattr(torch.cuda.CUDAGraph, "raw_cuda_graph"):
        raise Skip("this PyTorch doesn't give its graphs out")
    gpo, theirs = w.gpo, torch.cuda.CUDAGraph(keep_graph=True)  # whose memory the nodes use
    x, other, y = torch.ones(N, device="cuda"), torch.full((N,), 5.0, device="cuda"), torch.zeros(N, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.graph(theirs):
        y.copy_((x * 3 + 1).sqrt())
    torch.cuda.synchronize()
    assert float(y.sum()) == 0, "captured, not run"
    with gpo.template_import(w.device, theirs.raw_cuda_graph(), gpo.TemplateOptions(label="torch's")) as template:
        arguments = Arguments(gpo, template)
        graph = gpo.graph_create(template)
    with graph:
        run(w, graph)
        assert bool((y == 2).all()), y[:4]
        places = arguments.replace(graph, x.data_ptr(), other.data_ptr())
        print(f"the input's address is in {places} places of the kernels' arguments")
        if places:
            run(w, graph)
            assert bool((y == 4).all()), y[:4]
        (other if places else x).fill_(8)
        torch.cuda.synchronize()
        run(w, graph)
        assert bool((y == 5).all()), y[:4]
    theirs.replay()  # torch's own copy is what it was
    torch.cuda.synchronize()
    assert bool((y == (2 if places else 5)).all()), y[:4]


def torchs_work_is_recorded_in_a_template_of_ours(w):
    gpo = w.gpo
    a = torch.arange(64 * 64, device="cuda", dtype=torch.float32).reshape(64, 64) % 7
    b, c = torch.eye(64, device="cuda") * 2, torch.zeros(64, 64, device="cuda")

    def work():
        torch.matmul(a, b, out=c)
        c.add_(1)

    torch.cuda.synchronize()
    with torch.cuda.stream(w.as_torchs()):
        work()  # loads the kernels, and gives cuBLAS its workspace on this stream
        gpo.stream_wait(w.stream, -1)
        with gpo.template_create(w.device) as template:
            gpo.template_begin(template, w.stream)
            work()
            gpo.template_end(template)
            assert gpo.template_get_statistics(template).nodes >= 2
            graph = gpo.graph_create(template)
    with graph:
        for factor in (3, 4):
            a.fill_(factor)
            c.zero_()
            torch.cuda.synchronize()
            run(w, graph)
            assert bool((c == 2 * factor + 1).all()), c[:2]


def torchs_recorded_work_runs_on_several_streams_of_ours(w):
    gpo, x = w.gpo, torch.ones(N, device="cuda")
    torch.cuda.synchronize()
    streams = [gpo.stream_create(w.device) for _ in range(3)]
    with torch.cuda.stream(w.as_torchs()), gpo.template_create(w.device) as template:
        gpo.template_begin(template, w.stream)
        x.add_(1)
        gpo.template_end(template)
        for stream in streams:
            gpo.template_launch(template, stream, None, 0, 0)
            gpo.stream_wait(stream, -1)
        assert gpo.template_get_statistics(template).pooled == len(streams)
    assert bool((x == 1 + len(streams)).all()), x[:4]
    for stream in streams:
        stream.close()


def torchs_work_can_be_awaited(w):
    async def main():
        theirs, x = torch.cuda.Stream(), torch.zeros(N, device="cuda")
        torch.cuda.synchronize()
        with gpuorch.Completions(w.gpo, w.runtime) as done, w.gpo.stream_wrap(w.device, theirs.cuda_stream) as wrapped:
            turns = 0

            async def others():
                nonlocal turns
                while True:
                    turns += 1
                    await asyncio.sleep(0.001)

            beside = asyncio.create_task(others())
            with torch.cuda.stream(theirs):
                torch.cuda._sleep(LONG)
                x.fill_(6)
            await done.stream(wrapped)
            beside.cancel()
            assert theirs.query() and turns > 3 and float(x.sum()) == 6 * N, turns

    asyncio.run(main())


def why_not():
    if torch is None:
        return "PyTorch is not installed"
    if not torch.cuda.is_available():
        return "PyTorch sees no CUDA device"
    return None


def main():
    if why_not():
        print(f"SKIP {NAME}: {why_not()}")
        return
    print(f"{NAME} {torch.__version__}, {torch.cuda.get_device_name()}")
    here = sys.modules[__name__]
    tests = [one for _, one in inspect.getmembers(here, inspect.isfunction)
             if one.__module__ == here.__name__ and list(inspect.signature(one).parameters) == ["w"]]
    failed = 0
    for test in sorted(tests, key=lambda one: one.__code__.co_firstlineno):
        name = f"{NAME}: {test.__name__.replace('_', ' ')}"
        w = World()
        try:
            test(w)
            print(f"PASS {name}")
        except Skip as reason:
            print(f"SKIP {name}: {reason}")
        except Exception as error:
            failed += 1
            line = error.__traceback__.tb_next.tb_lineno if error.__traceback__.tb_next else 0
            print(f"FAIL {name}: line {line}: {type(error).__name__}: {error}")
        for handle in (w.scale_add, w.module, w.stream, w.device, w.runtime):
            handle.close()
    return 1 if failed else 0


sys.exit(main())
