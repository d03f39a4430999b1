#!/usr/bin/env python3
"""What a request of any size costs the host: PyTorch with a CUDA graph for each bucket, and libgpuorch's buckets, in one process.

    tests/bench/torch_buckets.py [--pairs N] [--quick] [--into BENCH_JSON]
    DIR/run torch_buckets [...]        in a folder that tests/bundle made

Needs PyTorch and a CUDA device, and is skipped elsewhere. A request of 1 to 128 rows, drawn at random, is copied into a fixed
input, the rows up to its bucket's are set to zero, and the bucket's graph of 10 small kernels is launched. The kernels are
PyTorch's in both arms: ours records what PyTorch puts on our stream. PyTorch's arm has its slices of tensors made beforehand,
and ours calls the library through ctypes alone (gpo.buckets_launch.call).

Blocks alternate as in all benchmarks (README.md): 31 pairs or more, of which each arm is first in one of two. A block is the host's
time for its requests; the GPU is waited for outside of it. --into adds the row to a bench.json that tests/bench/run has written.
The exit code says whether it could be measured, never how fast it was.
"""
import argparse
import contextlib
import ctypes
import gc
import json
import math
import os
import pathlib
import random
import statistics
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bindings/python/ctypes"))
import gpuorch

try:
    import torch
except ImportError:
    torch = None

LIBRARY = os.environ.get("GPUORCH_LIBRARY") or f"{ROOT}/build/bench/libgpuorch/libgpuorch.so.0.1"
SHAPES = (1, 2, 4, 8, 16, 32, 64, 128)
MOST, WIDTH, LAYERS = SHAPES[-1], 64, 5
ROW_BYTES = 4 * WIDTH
FEWEST_PAIRS, TARGET = 31, 1.5


def floats(rows, value=0.0):
    return torch.full((rows, WIDTH), value, dtype=torch.float32, device="cuda")


def bucket_of(size):
    return next(shape for shape in SHAPES if shape >= size)


class Layers:
    """Ten small kernels, which allocate nothing."""

    def __init__(self):
        self.biases = [torch.full((WIDTH,), float(i + 1), device="cuda") for i in range(LAYERS)]
        self.factors = [torch.full((WIDTH,), 2.0 if i % 2 else 0.5, device="cuda") for i in range(LAYERS)]

    def __call__(self, x, y):
        for bias, factor in zip(self.biases, self.factors):
            torch.add(x, bias, out=y)
            torch.mul(y, factor, out=y)
            x = y


class Torchs:
    """PyTorch's arm."""
    name = "PyTorch"

    def __init__(self, layers, inputs):
        self.input, self.output, self.stream = floats(MOST, -1), floats(MOST), torch.cuda.Stream()
        torch.cuda.synchronize()
        graphs = {shape: self.captured(layers, shape) for shape in reversed(SHAPES)}
        self.requests = {}
        for size, rows in inputs.items():
            shape = bucket_of(size)
            padding = self.input[size:shape] if shape > size else None
            self.requests[size] = self.input[:size], rows, padding, graphs[shape]

    def captured(self, layers, shape):
        x, y = self.input[:shape], self.output[:shape]
        with torch.cuda.stream(self.stream):
            layers(x, y)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=self.stream):
            layers(x, y)
        torch.cuda.synchronize()
        return graph

    def ready(self):
        """Around requests: the current stream is this arm's."""
        return torch.cuda.stream(self.stream)

    def submit(self, sizes):
        requests = self.requests
        for size in sizes:
            into, rows, padding, graph = requests[size]
            into.copy_(rows)
            if padding is not None:
                padding.zero_()
            graph.replay()

    def finish(self):
        self.stream.synchronize()


class Ours:
    """The library's arm. It uses the primary context, as PyTorch does."""
    name = "libgpuorch"

    def __init__(self, layers, inputs):
        self.input, self.output, self.layers, self.templates = floats(MOST, -1), floats(MOST), layers, []
        torch.cuda.synchronize()
        self.gpo = gpo = gpuorch.Library(LIBRARY)
        self.runtime = gpo.runtime_create(gpo.RuntimeOptions(device="cuda"))
        self.device = gpo.device_open(self.runtime)
        self.stream = gpo.stream_create(self.device)
        # Kept alive, because it owns the callback.
        self.options = gpo.BucketsOptions(shapes=list(SHAPES), shape_count=len(SHAPES), record=self.record, label="torch_buckets",
                                          pad_address=self.input.data_ptr(), pad_element_bytes=ROW_BYTES)
        self.buckets = gpo.buckets_create(self.device, self.options)
        gpo.buckets_prepare(self.buckets, self.stream)
        self.finish()
        self.requests = {size: (rows.data_ptr(), size * ROW_BYTES) for size, rows in inputs.items()}
        self.launched = 0

    def record(self, stream, work):
        with torch.cuda.stream(torch.cuda.ExternalStream(self.gpo.stream_get_native(stream))):
            self.layers(self.input[:work.shape], self.output[:work.shape])
        if work.graph_template:
            self.templates.append(type(work.graph_template)(work.graph_template.value))

    def ready(self):
        return contextlib.nullcontext()

    def submit(self, sizes):
        copy, launch, check = self.gpo.copy_on_device.call, self.gpo.buckets_launch.call, self.gpo.check
        buckets, stream, into, requests = self.buckets, self.stream, self.input.data_ptr(), self.requests
        stride = ctypes.sizeof(self.gpo.Setting)
        for size in sizes:
            rows, count = requests[size]
            status = copy(stream, into, rows, count) or launch(buckets, stream, size, None, stride, 0, None)
            if status:
                check(status)
        self.launched += len(sizes)

    def finish(self):
        self.gpo.stream_wait(self.stream, -1)

    def close(self):
        for handle in (self.buckets, self.stream, self.device, self.runtime):
            handle.close()


def cost(arm, sizes, rounds):
    """Nanoseconds of the host for a request."""
    total = 0
    with arm.ready():
        arm.finish()
        for i in range(rounds):
            now = sizes[i::rounds]
            begin = time.perf_counter_ns()
            arm.submit(now)
            total += time.perf_counter_ns() - begin
            arm.finish()
    return total / len(sizes)


def measured(base, ours, pairs, requests, rounds):
    """The blocks of both arms."""
    draw, blocks = random.Random(), {base: [], ours: []}
    sizes = [draw.randint(1, MOST) for _ in range(requests)]
    for arm in (base, ours, base, ours):
        cost(arm, sizes, rounds)
    gc.collect()
    gc.disable()
    for pair in range(pairs):
        if pair % 2 == 0:
            order = draw.choice([(base, ours), (ours, base)])
        for arm in order if pair % 2 == 0 else reversed(order):
            blocks[arm].append(cost(arm, sizes, rounds))
    gc.enable()
    return blocks[base], blocks[ours]


def interval(values):
    """Order statistics between which the median lies with 95 % or more, as in harness/pairs.cpp."""
    values, n, below, k = sorted(values), len(values), 0.0, 0
    while k < n // 2 and below + math.comb(n, k) / 2**n <= 0.025:
        below += math.comb(n, k) / 2**n
        k += 1
    return values[max(k, 1) - 1], values[n - max(k, 1)]


def require(right, what):
    if not right:
        raise RuntimeError(what)


def check(arm, layers, inputs):
    """What requests leave is what the layers make of the padded rows."""
    for size in (1, 2, 3, 37, 64, 65, 127, MOST):
        shape, right = bucket_of(size), floats(bucket_of(size))
        padded = floats(shape)
        padded[:size].copy_(inputs[size])
        layers(padded, right)
        torch.cuda.synchronize()
        with arm.ready():
            arm.submit([size])
            arm.finish()
        require(torch.equal(arm.output[:shape], right), f"{arm.name}: a request of {size} rows is wrong")


def check_statistics(ours):
    gpo = ours.gpo
    seen = gpo.buckets_get_statistics(ours.buckets)
    require(seen.hits == ours.launched and seen.misses == seen.eager == seen.evictions == 0,
            f"{ours.launched} requests, {seen.hits} hits, {seen.misses} misses, {seen.eager} eager, {seen.evictions} evictions")
    for one in ours.templates:
        graphs = gpo.template_get_statistics(one)
        require((graphs.instances, graphs.recordings, graphs.rebuilds) == (1, 1, 0),
                f"a bucket has {graphs.instances} graphs of {graphs.recordings} recordings, {graphs.rebuilds} made anew")


def row_of(base, ours, seconds):
    """As tests/bench/run writes rows: requests for which a second of the host is enough, in millions."""
    ratios = [b / o for b, o in zip(base, ours)]
    rates = {"base": [1e3 / ns for ns in base], "ours": [1e3 / ns for ns in ours]}
    differences = [o - b for b, o in zip(rates["base"], rates["ours"])]
    ratio, (low, high) = statistics.median(ratios), interval(ratios)
    verdict = ("met" if ratio >= TARGET else "missed") + (" (within the interval)" if low <= TARGET <= high else "")
    return {"program": "torch_buckets", "seed": 0, "name": "torch_buckets",
            "what": "requests of 1 to 128 rows through 10 small kernels by buckets, host cost", "unit": "M/s", "better": "high",
            "base": "torch.cuda.CUDAGraph for each bucket", "seconds": seconds, "pairs": len(base),
            "ours_median": statistics.median(rates["ours"]), "ours_interval": interval(rates["ours"]),
            "base_median": statistics.median(rates["base"]), "ratio": ratio, "ratio_interval": (low, high),
            "difference": statistics.median(differences), "difference_interval": interval(differences),
            "target": f">= {TARGET:g}x", "verdict": verdict, "notes": f"PyTorch {torch.__version__}",
            "base_blocks": rates["base"], "ours_blocks": rates["ours"]}


def add(row, path):
    report = json.loads(path.read_text())
    report["rows"] = [one for one in report["rows"] if one["name"] != row["name"]] + [row]
    rows = ",\n".join(json.dumps(one) for one in report["rows"])
    path.write_text(f'{{"machine": {json.dumps(report["machine"], indent=1)},\n"rows": [\n{rows}\n]}}\n')


def why_not():
    if torch is None:
        return "PyTorch is not installed"
    if not torch.cuda.is_available():
        return "PyTorch sees no CUDA device"
    return None


def measure(wanted):
    begin, quick = time.monotonic(), wanted.quick
    layers, inputs = Layers(), {size: floats(size, float(size)) for size in range(1, MOST + 1)}
    base, ours = Torchs(layers, inputs), Ours(layers, inputs)
    try:
        for arm in (base, ours):
            check(arm, layers, inputs)
        blocks = measured(base, ours, 4 if quick else wanted.pairs, 100 if quick else 2000, 4 if quick else 40)
        for arm in (base, ours):
            check(arm, layers, inputs)
        check_statistics(ours)
    finally:
        ours.close()
    return row_of(*blocks, time.monotonic() - begin)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=FEWEST_PAIRS)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--into", type=pathlib.Path)
    wanted = parser.parse_args()
    if wanted.pairs < FEWEST_PAIRS or (wanted.quick and wanted.into):
        parser.error(f"a measurement has {FEWEST_PAIRS} pairs or more; --quick takes fewer, and is none")
    if why_not():
        print(f"SKIP torch_buckets: {why_not()}")
        return 0
    with torch.inference_mode():
        row = measure(wanted)
    print(f"PyTorch {torch.__version__}, {torch.cuda.get_device_name()}, {row['pairs']} pairs")
    for arm in ("base", "ours"):
        print(f"{'PyTorch' if arm == 'base' else 'libgpuorch':12}{statistics.median(1e3 / rate for rate in row[arm + '_blocks']):10.0f} ns"
              " of the host for a request")
    low, high = row["ratio_interval"]
    print(f"PyTorch / libgpuorch {row['ratio']:.3f} (95 % interval {low:.3f} .. {high:.3f}), target {row['target']}: {row['verdict']}")
    if wanted.into:
        add(row, wanted.into)
    return 0


if __name__ == "__main__":
    sys.exit(main())
