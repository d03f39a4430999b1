#!/usr/bin/env python3
"""The Python package beside C, cuda.core, CuPy and PyTorch, in one process.

    tests/bench/python/compare.py [--pairs N] [--quick] [--list] [--json FILE] [ROW]...

Prints a table: ours is the package, base what it is compared with. Needs the package on the path, a C compiler for the row
of C's loop, and GPUORCH_LIBRARY if the library isn't found otherwise. A row that needs a module or a GPU that isn't there is
skipped.

Blocks alternate as in all benchmarks (../README.md): 31 pairs or more, of which each arm is first in one of two. The
interval is that of the median of the pairs' ratios. The exit code says whether the rows could be measured, never how fast
they were.
"""
import argparse
import asyncio
import concurrent.futures
import ctypes
import functools
import gc
import importlib
import itertools
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import timeit

import gpuorch  # before torch_buckets, which imports the module of ctypes that has the same name

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/bench"))
import torch_buckets
import torch_pipeline
from torch_buckets import FEWEST_PAIRS, interval, require

MIB = 1 << 20
KERNEL = r"""
extern "C" __global__ void store(float *x, unsigned long long n, double a)
{
    const unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = (float)a;
}
"""
C_LOOP = r"""
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include <gpuorch/api.h>

static const gpo_api *gpo;
static gpo_runtime_t runtime;
static gpo_device_t device;
static gpo_module_t module;
static gpo_kernel_t kernel;
static gpo_stream_t stream;
static uint64_t memory;

int open_all(const char *library, const char *source)
{
    const gpo_api *(*get)(uint32_t);
    void *file = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!file) return -1;
    *(void **)&get = dlsym(file, "gpo_get_api");
    gpo = get(GPO_VERSION);
    if (!gpo) return -1;
    gpo_compile_options options = {.struct_size = sizeof options, .source = source};
    int status = gpo->runtime_create(NULL, &runtime);
    if (!status) status = gpo->device_open(runtime, 0, &device);
    if (!status) status = gpo->module_compile(device, &options, &module);
    if (!status) status = gpo->module_get_kernel(module, "store", &kernel);
    if (!status) status = gpo->stream_create(device, NULL, &stream);
    if (!status) status = gpo->memory_allocate(device, 1024, NULL, &memory);
    return status;
}

int finish(void) { return gpo->device_wait(device, -1); }

int close_all(void) { return gpo->runtime_shutdown(runtime, -1); }

/* Nanoseconds that `count` launches take; -1: one has failed. */
int64_t launch(uint32_t count)
{
    struct timespec begin, end;
    const gpo_launch shape = {.struct_size = sizeof shape, .grid = {1}, .block = {32}};
    uint64_t n = 1;
    double a = 1.5;
    const void *arguments[] = {&memory, &n, &a};
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (uint32_t i = 0; i < count; i++)
        if (gpo->stream_launch_kernel(stream, kernel, &shape, arguments, NULL, 3)) return -1;
    clock_gettime(CLOCK_MONOTONIC, &end);
    return (end.tv_sec - begin.tv_sec) * 1000000000 + end.tv_nsec - begin.tv_nsec;
}

/* --- threads --- */

enum { MOST_THREADS = 64 };

static struct worker {
    gpo_stream_t stream;
    uint64_t memory;
    uint32_t count;
    int failed;
    int64_t begin, end;
} workers[MOST_THREADS];
static pthread_barrier_t together;

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000 + time.tv_nsec;
}

static void *work(void *at)
{
    struct worker *one = at;
    const gpo_launch shape = {.struct_size = sizeof shape, .grid = {1}, .block = {32}};
    uint64_t n = 1;
    double a = 1.5;
    const void *arguments[] = {&one->memory, &n, &a};
    pthread_barrier_wait(&together);
    one->begin = now();
    for (uint32_t i = 0; i < one->count && !one->failed; i++)
        one->failed = gpo->stream_launch_kernel(one->stream, kernel, &shape, arguments, NULL, 3);
    one->end = now();
    return NULL;
}

int open_workers(uint32_t threads)
{
    int status = 0;
    for (uint32_t i = 0; i < threads && !status; i++) {
        status = gpo->stream_create(device, NULL, &workers[i].stream);
        if (!status) status = gpo->memory_allocate(device, 1024, NULL, &workers[i].memory);
    }
    return status;
}

/* Nanoseconds from the first thread's first launch to the last thread's last one; each makes `count`. -1: one failed. */
int64_t launch_at_once(uint32_t threads, uint32_t count)
{
    pthread_t started[MOST_THREADS];
    pthread_barrier_init(&together, NULL, threads);
    for (uint32_t i = 0; i < threads; i++) {
        workers[i].count = count;
        if (pthread_create(&started[i], NULL, work, &workers[i])) return -1;
    }
    int64_t begin = INT64_MAX, end = 0;
    int failed = 0;
    for (uint32_t i = 0; i < threads; i++) {
        pthread_join(started[i], NULL);
        if (workers[i].begin < begin) begin = workers[i].begin;
        if (workers[i].end > end) end = workers[i].end;
        failed |= workers[i].failed;
    }
    pthread_barrier_destroy(&together);
    return failed ? -1 : end - begin;
}
"""


class Skip(Exception):
    """A row can't be measured here."""


def needs(name):
    """A module of others."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise Skip(f"{name} can't be imported: {error}") from None


def needs_torch():
    if torch_buckets.why_not():
        raise Skip(torch_buckets.why_not())
    return torch_buckets.torch


# --- blocks ---


def per_call(statement, finish, count, **names):
    """A block: nanoseconds of the host for a statement. The GPU is waited for outside of the time."""
    timer = timeit.Timer(statement, globals=names)

    def block():
        finish()
        seconds = timer.timeit(count)
        finish()
        return seconds * 1e9 / count
    return block


def measured(base, ours, pairs):
    """The figures of the blocks of both arms."""
    draw, blocks = random.Random(), {base: [], ours: []}
    for arm in (base, ours, base, ours):
        arm()
    gc.collect()
    gc.disable()
    for pair in range(pairs):
        if pair % 2 == 0:
            order = draw.choice([(base, ours), (ours, base)])
        for arm in order if pair % 2 == 0 else reversed(order):
            blocks[arm].append(arm())
    gc.enable()
    return blocks[base], blocks[ours]


class Result:
    """The measured blocks of a row; its targets are of the ratio, of the difference, or of our own figure."""

    def __init__(self, name, unit, versus, blocks, targets=(), note=""):
        self.name, self.unit, self.versus, self.targets, self.note = name, unit, versus, targets, note
        self.base, self.ours = blocks
        self.values = {"ratio": [o / b for b, o in zip(self.base, self.ours)], "ours": self.ours,
                       "difference": [o - b for b, o in zip(self.base, self.ours)]}

    def median(self, what):
        return statistics.median(self.values[what])

    def verdict(self, what, relation, limit):
        """A target is (what, "<=" or ">=", number)."""
        low, high = interval(self.values[what])
        met = self.median(what) <= limit if relation == "<=" else self.median(what) >= limit
        return ("met" if met else "missed") + (" (within the interval)" if low <= limit <= high else "")

    def target(self, what, relation, limit):
        number = f"{limit:,g}"
        return {"ratio": f"{relation} {number}x", "difference": f"{relation} + {number} {self.unit}",
                "ours": f"{relation} {number} {self.unit}"}[what]

    def line(self):
        low, high = interval(self.values["ratio"])
        targets = ", ".join(self.target(*one) for one in self.targets)
        verdicts = ", ".join(self.verdict(*one) for one in self.targets)
        return (f"| {self.name} | {self.versus} | {self.unit} | {figure(statistics.median(self.base))} | "
                f"{figure(self.median('ours'))} | {self.median('ratio'):.3f} | {low:.3f} .. {high:.3f} | "
                f"{self.median('difference'):+,.3g} | {len(self.ours)} | {targets} | "
                f"{'; '.join(part for part in (verdicts, self.note) if part)} |")


def figure(value):
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


# --- the arms ---


class World:
    """What rows share, made when it is first needed. Each library has a stream and memory of its own."""

    def __init__(self, quick, pairs):
        self.quick, self.pairs, self.count = quick, pairs, 20 if quick else 500
        self.runtimes = []

    def cuda(self):
        with self.device.stream_create() as stream:
            if not hasattr(stream, "__cuda_stream__"):
                raise Skip("needs a CUDA device")

    def opened(self, **options):
        """(device, launch, stream, array) of a new runtime."""
        runtime = gpuorch.Runtime(**options)
        self.runtimes.append(runtime)
        device = runtime.device_open()
        stream = device.stream_create()
        launch = device.module_compile(KERNEL).kernel("store")[1, 32, stream]
        return device, launch, stream, device.memory_allocate("f32", 256)

    @functools.cached_property
    def ours(self):
        return self.opened()

    @property
    def device(self):
        return self.ours[0]

    def launches(self, argument=None):
        """Our launch; by default with an address."""
        _, launch, stream, array = self.ours
        argument = array.address if argument is None else argument
        return per_call("launch(x, 1, 1.5)", stream.wait, self.count, launch=launch, x=argument)

    @functools.cached_property
    def cuda_core(self):
        """(names for a statement, finish) of cuda.core."""
        self.cuda()
        core = needs("cuda.core")
        device = core.Device(0)
        device.set_current()
        stream = device.create_stream()
        program = core.Program(KERNEL, "c++", core.ProgramOptions(arch=f"sm_{device.arch}"))
        kernel = program.compile("cubin").get_kernel("store")
        memory = device.allocate(1024, stream=stream)
        names = {"launch": core.launch, "stream": stream, "config": core.LaunchConfig(grid=1, block=32), "kernel": kernel,
                 "memory": memory, "x": int(memory.handle)}
        return names, stream.sync

    @functools.cached_property
    def cupy(self):
        """(cupy, kernel, stream, array) of CuPy."""
        self.cuda()
        cupy = needs("cupy")
        return cupy, cupy.RawKernel(KERNEL, "store"), cupy.cuda.Stream(non_blocking=True), cupy.zeros(256, "float32")

    def close(self):
        for runtime in self.runtimes:
            runtime.close()


class CLoop:
    """Launches by a loop in C, through the table of the library that the package has opened."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()
        source, built = (pathlib.Path(self.folder.name) / name for name in ("loop.c", "loop.so"))
        source.write_text(C_LOOP)
        try:
            subprocess.run([os.environ.get("CC", "cc"), "-std=c11", "-D_GNU_SOURCE", "-O2", "-fPIC", "-shared", "-pthread", "-o",
                            built, source, f"-I{ROOT}/libgpuorch/include", "-ldl"], check=True)
        except OSError as error:
            raise Skip(f"no C compiler: {error}") from None
        self.c = ctypes.CDLL(str(built))
        self.c.launch.restype = self.c.launch_at_once.restype = ctypes.c_int64
        status = self.c.open_all(os.fsencode(gpuorch.library().path), KERNEL.encode())
        require(status == 0, f"C's loop can't be set up: {status}")

    def block(self, count):
        def block():
            self.finish()
            elapsed = self.c.launch(count)
            require(elapsed > 0, "a launch in C has failed")
            self.finish()
            return elapsed / count
        return block

    def block_at_once(self, threads, count):
        require(self.c.open_workers(threads) == 0, "C's streams can't be made")

        def block():
            self.finish()
            elapsed = self.c.launch_at_once(threads, count)
            require(elapsed > 0, "a launch in C has failed")
            self.finish()
            return threads * count / elapsed * 1e3
        return block

    def finish(self):
        require(self.c.finish() == 0, "C's device has failed")

    def close(self):
        self.c.close_all()
        self.folder.cleanup()


# --- the rows ---

ROWS = {}


def row(what):
    def added(function):
        ROWS[function.__name__] = function, what
        return function
    return added


@row("a launch with 3 arguments, of which one is an address, over the same calls by a loop in C")
def launch_c(world):
    world.device.wait()  # the library is open now, and its path is known
    loop = CLoop()
    try:
        blocks = measured(loop.block(world.count), world.launches(), world.pairs)
    finally:
        loop.close()
    yield Result("launch_c", "ns", "a loop in C", blocks, [("difference", "<=", 250)])


@row("the same over cuda.core's launch, with the same Python numbers")
def launch_cuda_core(world):
    names, finish = world.cuda_core
    base = per_call("launch(stream, config, kernel, x, 1, 1.5)", finish, world.count, **names)
    blocks = measured(base, world.launches(), world.pairs)
    yield Result("launch_cuda_core", "ns", "cuda.core", blocks, [("ratio", "<=", 0.9)])


@row("the same over CuPy's RawKernel, with the same Python numbers")
def launch_cupy(world):
    cupy, kernel, stream, array = world.cupy
    with stream:
        base = per_call("kernel(grid, block, (x, 1, 1.5))", stream.synchronize, world.count, kernel=kernel, grid=(1,),
                        block=(32,), x=array.data.ptr)
        yield Result("launch_cupy", "ns", "CuPy", measured(base, world.launches(), world.pairs), [("ratio", "<=", 0.6)])
    require(float(array[0]) == 1.5, "CuPy's kernel has stored something else")


def launches_at_once(world, pool, threads, count):
    """A block: millions of launches in a second by threads that have a plan, a stream and memory of their own."""
    device, launch, *_ = world.ours
    streams = [device.stream_create() for _ in range(threads)]
    plans = [launch.__self__.kernel[1, 32, stream] for stream in streams]
    arrays = [device.memory_allocate("f32", 256) for _ in streams]
    together = threading.Barrier(threads)

    def work(launch, x):
        together.wait()
        begin = time.perf_counter_ns()
        for _ in itertools.repeat(None, count):
            launch(x, 1, 1.5)
        return begin, time.perf_counter_ns()

    def block():
        device.wait()
        begins, ends = zip(*pool.map(work, plans, [array.address for array in arrays]))
        device.wait()
        return threads * count / (max(ends) - min(begins)) * 1e3
    return block


@row("8 threads of a free-threaded Python, each with a plan, a stream and memory of its own: all launches, over C's")
def launch_threads(world):
    if getattr(sys, "_is_gil_enabled", lambda: True)():
        raise Skip("needs a free-threaded Python, which lets threads run at the same time")
    world.device.wait()  # the library is open now, and its path is known
    loop, threads, count = CLoop(), 8, 10 * world.count
    try:
        with concurrent.futures.ThreadPoolExecutor(threads) as pool:
            blocks = measured(loop.block_at_once(threads, count), launches_at_once(world, pool, threads, count), world.pairs)
    finally:
        loop.close()
    yield Result("launch_threads", "M/s", "8 threads in C", blocks, [("ratio", ">=", 0.9)], f"{os.cpu_count()} cores")


def array_added(world, name, array):
    blocks = measured(world.launches(), world.launches(array), world.pairs)
    return Result(name, "ns", "an address in its place", blocks, [("difference", "<=", 100)])


@row("a torch tensor in place of an address, in our launch")
def array_torch(world):
    world.cuda()
    tensor = needs_torch().zeros(256, device="cuda")
    yield array_added(world, "array_torch", tensor)
    require(float(tensor[0]) == 1.5, "the kernel has stored something else")


@row("a CuPy array in place of an address, in our launch")
def array_cupy(world):
    cupy, *_ = world.cupy
    array = cupy.zeros(256, "float32")
    yield array_added(world, "array_cupy", array)
    require(float(array[0]) == 1.5, "the kernel has stored something else")


@row("an array of the package in place of an address, in our launch")
def array_own(world):
    yield array_added(world, "array_own", world.ours[3])


@row("our launch with a torch tensor over cuda.core's launch with the pointer of its StridedMemoryView")
def array_torch_cuda_core(world):
    names, finish = world.cuda_core
    view, tensor = needs("cuda.core.utils").StridedMemoryView, needs_torch().zeros(256, device="cuda")
    base = per_call("launch(stream, config, kernel, view(x, stream_ptr=-1).ptr, 1, 1.5)", finish, world.count,
                    **{**names, "x": tensor, "view": view.from_any_interface})
    yield Result("array_torch_cuda_core", "ns", "cuda.core", measured(base, world.launches(tensor), world.pairs))


def futures(world, loop, launch, stream, array):
    """A block: the median of the times from before a launch until the task goes on."""
    x, count = array.address, world.count // 2

    async def run():
        times = []
        for _ in range(count):
            begin = time.perf_counter_ns()
            launch(x, 1, 1.5)
            await stream
            times.append(time.perf_counter_ns() - begin)
        return statistics.median(times)
    return lambda: loop.run_until_complete(run())


def cupy_futures(world, loop):
    _, kernel, stream, array = world.cupy
    arguments, count = (array.data.ptr, 1, 1.5), world.count // 2

    def done(future):
        loop.call_soon_threadsafe(future.set_result, None)

    async def run():
        times = []
        with stream:
            for _ in range(count):
                begin = time.perf_counter_ns()
                future = loop.create_future()
                kernel((1,), (32,), arguments)
                stream.launch_host_func(done, future)
                await future
                times.append(time.perf_counter_ns() - begin)
        return statistics.median(times)
    return lambda: loop.run_until_complete(run())


def future_row(world, name, loop, most_us, ours, note=""):
    try:
        blocks = [[ns * 1e-3 for ns in arm]
                  for arm in measured(cupy_futures(world, loop), futures(world, loop, *ours[1:]), world.pairs)]
    finally:
        loop.close()
    targets = [("ours", "<=", most_us), ("ratio", "<=", 0.5)] if most_us else []
    return Result(name, "us", "CuPy's launch_host_func, call_soon_threadsafe", blocks, targets, note)


@row("from before a launch until the task that awaits the stream goes on, in asyncio")
def future_asyncio(world):
    yield future_row(world, "future_asyncio", asyncio.new_event_loop(), 35, world.ours)


@row("the same in uvloop")
def future_uvloop(world):
    uvloop = needs("uvloop")
    yield future_row(world, "future_uvloop", uvloop.new_event_loop(), 30, world.ours, f"uvloop {uvloop.__version__}")


@row("the same in asyncio, with a runtime in the latency mode")
def future_latency(world):
    world.cuda()
    ours = world.opened(completion_mode=gpuorch.COMPLETION_LATENCY)
    yield future_row(world, "future_latency", asyncio.new_event_loop(), None, ours)


@row("1 MiB of pinned memory, allocated and freed, over PyTorch's cache")
def pinned(world):
    world.cuda()
    torch = needs_torch()
    with world.device.arena_create() as arena:
        base = per_call("empty(MIB, dtype=u8, pin_memory=True)", torch.cuda.synchronize, world.count, empty=torch.empty,
                        MIB=MIB, u8=torch.uint8)
        for name, statement, targets in (("pinned", "allocate('u8', MIB).free()", [("ratio", "<=", 0.6)]),
                                         ("pinned_dropped", "allocate('u8', MIB)", [])):
            ours = per_call(statement, world.device.wait, world.count, allocate=arena.allocate, MIB=MIB)
            yield Result(name, "ns", "torch.empty(pin_memory=True)", measured(base, ours, world.pairs), targets)


class Pipeline:
    """Our pipeline, from and to numpy arrays. Its first run, which finds the size of chunks, is not measured."""

    def __init__(self, kind, memory, device):
        self.name, self.kind = f"libgpuorch, {kind}", kind
        self.input, self.output = getattr(memory, kind)
        kernel = device.module_compile(torch_pipeline.KERNEL).kernel("complement")
        kinds = gpuorch.ARGUMENT_INPUT, gpuorch.ARGUMENT_OUTPUT, gpuorch.ARGUMENT_INPUT_BYTES
        self.pipeline = device.pipeline_create(stages=[{
            "kind": gpuorch.STAGE_KERNEL, "kernel": kernel, "block": 256, "bytes_per_block": 64 << 10,
            "arguments": [{"kind": one} for one in kinds]}])
        self.source = {"kind": gpuorch.SOURCE_MEMORY, "memory": self.input.numpy()}
        self.sink = {"kind": gpuorch.SINK_MEMORY, "memory": self.output.numpy()}

    def run(self):
        self.pipeline.start(self.source, self.sink)
        self.pipeline.wait()


class PipelineMemory:
    """Input and output, of each kind, as tensors that share the memory of numpy arrays."""

    def __init__(self, numpy, torch, arena, size):
        self.pinned = [torch.from_numpy(arena.allocate("u8", size).numpy()) for _ in range(2)]
        self.pageable = [torch.from_numpy(numpy.zeros(size, "uint8")) for _ in range(2)]
        self.pinned[0].copy_(torch.randint(0, 256, (size,), dtype=torch.uint8, device="cuda"))
        self.pageable[0].copy_(self.pinned[0])
        self.pageable[1].zero_()  # each page is there
        self.right = self.pinned[0].bitwise_not()


@row("2 GiB numpy to kernel to numpy, both ways together, over PyTorch one step after the other and by three streams")
def pipeline(world):
    world.cuda()
    torch, numpy, size = needs_torch(), needs("numpy"), (128 if world.quick else 2048) * MIB
    memory = PipelineMemory(numpy, torch, world.device.arena_create(), size)
    buffer = torch.empty(size, dtype=torch.uint8, device="cuda")
    bases = {"pipeline": (torch_pipeline.InTurn("pinned", memory, buffer), 1.7)}
    for chunk, count in ((16, 3), (4, 3), (32, 4)):
        bases[f"pipeline_by_hand_{chunk}m"] = torch_pipeline.ByHand(memory, buffer, chunk * MIB, count), 1.02
    bases["pipeline_pageable"] = torch_pipeline.InTurn("pageable", memory, buffer), 4
    ours = {kind: Pipeline(kind, memory, world.device) for kind in ("pinned", "pageable")}
    arms = [*(base for base, _ in bases.values()), *ours.values()]
    for _ in range(2):
        torch_pipeline.check(arms, memory)
    rates = torch_pipeline.measured(arms, size, world.pairs)
    torch_pipeline.check(arms, memory)
    for name, (base, least) in bases.items():
        yield Result(name, "GB/s", base.name, (rates[base], rates[ours[base.kind]]), [("ratio", ">=", least)])


class Buckets(torch_buckets.Ours):
    """The arm of torch_buckets.py with the package in place of ctypes."""

    def __init__(self, layers, inputs, device):
        self.layers, self.templates, self.launched = layers, [], 0
        self.input, self.output = torch_buckets.floats(torch_buckets.MOST, -1), torch_buckets.floats(torch_buckets.MOST)
        torch_buckets.torch.cuda.synchronize()
        self.stream = device.stream_create()
        self.buckets = device.buckets(shapes=list(torch_buckets.SHAPES), record=self.record, label="torch_buckets",
                                      pad_address=self.input.data_ptr(), pad_element_bytes=torch_buckets.ROW_BYTES)
        self.buckets.prepare(self.stream)
        self.finish()
        self.requests = {size: (rows.data_ptr(), size * torch_buckets.ROW_BYTES) for size, rows in inputs.items()}

    def record(self, stream, work):
        torch = torch_buckets.torch
        with torch.cuda.stream(torch.cuda.ExternalStream(stream.native())):
            self.layers(self.input[:work.shape], self.output[:work.shape])

    def submit(self, sizes):
        copy, launch, stream = self.stream.copy_on_device, self.buckets.launch, self.stream
        into, requests = self.input.data_ptr(), self.requests
        for size in sizes:
            rows, count = requests[size]
            copy(into, rows, count)
            launch(stream, size)
        self.launched += len(sizes)

    def finish(self):
        self.stream.wait()

    def close(self):
        self.buckets.close()
        self.stream.close()


@row("the host's cost of a request of 1 to 128 rows through 10 small kernels, over a torch.cuda.CUDAGraph for each bucket")
def buckets(world):
    world.cuda()
    torch = needs_torch()
    with torch.inference_mode():
        inputs = {size: torch_buckets.floats(size, float(size)) for size in range(1, torch_buckets.MOST + 1)}
        layers = torch_buckets.Layers()
        base, ours = torch_buckets.Torchs(layers, inputs), Buckets(layers, inputs, world.device)
        try:
            for arm in (base, ours):
                torch_buckets.check(arm, layers, inputs)
            blocks = torch_buckets.measured(base, ours, world.pairs, *((100, 4) if world.quick else (2000, 40)))
            for arm in (base, ours):
                torch_buckets.check(arm, layers, inputs)
            seen = ours.buckets.statistics()
            require(seen.hits == ours.launched and seen.misses == seen.eager == seen.evictions == 0, f"buckets: {seen}")
        finally:
            ours.close()
    rates = [[1e3 / ns for ns in arm] for arm in blocks]
    yield Result("buckets", "M/s", "torch.cuda.CUDAGraph for each bucket", rates, [("ratio", ">=", 1.8)])


def imports(name):
    """A block: milliseconds of an import in a process of its own."""
    program = (f"import time; begin = time.perf_counter_ns(); import {name}; print(time.perf_counter_ns() - begin); "
               "print('libcuda.' in open('/proc/self/maps').read())")

    def block():
        run = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, check=True)
        elapsed, driver = run.stdout.split()
        require(name != "gpuorch" or driver == "False", "libcuda was loaded")
        return int(elapsed) * 1e-6
    return block


@row("import, in a process of its own, over that of cuda.core; fails if the package loads libcuda")
def import_time(world):
    needs("cuda.core")
    yield Result("import_time", "ms", "import cuda.core", measured(imports("cuda.core"), imports("gpuorch"), world.pairs),
                 [("ours", "<=", 60)])


# --- the program ---


def versions():
    found = [f"Python {sys.version.split()[0]}", f"gpuorch {gpuorch.__version__}"]
    for name in ("torch", "cupy", "cuda.core", "numpy"):
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        found.append(f"{name} {module.__version__}")
    return ", ".join(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", metavar="ROW")
    parser.add_argument("--pairs", type=int, default=FEWEST_PAIRS)
    parser.add_argument("--quick", action="store_true", help="few and small blocks: no measurement")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--json", type=pathlib.Path, help="where every block's figure is written")
    wanted = parser.parse_args()
    if wanted.list:
        print("\n".join(f"{name:24}{what}" for name, (_, what) in ROWS.items()))
        return 0
    if wanted.pairs < FEWEST_PAIRS:
        parser.error(f"a measurement has {FEWEST_PAIRS} pairs or more; --quick takes fewer, and is none")
    if unknown := set(wanted.rows) - ROWS.keys():
        parser.error(f"no such row: {', '.join(sorted(unknown))}")
    world, results, skipped, failed = World(wanted.quick, 4 if wanted.quick else wanted.pairs), [], [], 0
    for name in wanted.rows or ROWS:
        try:
            for result in ROWS[name][0](world):
                results.append(result)
                print(result.line(), file=sys.stderr, flush=True)
        except Skip as why:
            skipped.append(f"SKIP {name}: {why}")
        except Exception as error:
            skipped.append(f"FAIL {name}: {type(error).__name__}: {error}")
            failed = 1
    print(f"{versions()}; {world.device.properties().name}; {gpuorch.library().path}\n")
    print("| row | base | unit | base | ours | ratio | 95 % interval | difference | pairs | target | |\n|" + "---|" * 11)
    print("\n".join([*(result.line() for result in results), "", *skipped]))
    if wanted.json:
        wanted.json.write_text(json.dumps([{"name": one.name, "unit": one.unit, "base": one.base, "ours": one.ours}
                                           for one in results]))
    world.close()
    return failed


if __name__ == "__main__":
    sys.exit(main())
