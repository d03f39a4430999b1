#!/usr/bin/env python3
"""2 GiB in, complement, 2 GiB out: PyTorch and libgpuorch's pipeline, in one process.

    tests/bench/torch_pipeline.py [--pairs N] [--quick] [--json] [--into BENCH_JSON]
    DIR/run torch_pipeline [...]       in a folder that tests/bundle made

Needs PyTorch, NVRTC and a CUDA device, and is skipped elsewhere. The arms, from and to pinned memory: PyTorch with
one step after the other on one stream; PyTorch with three streams and events by hand, by chunks of 16 MiB and of 4
MiB in three buffers, and of 32 MiB in four; the library's pipeline with no option set but its kernel. From and to
pageable memory: PyTorch with one step after the other, and the same pipeline. Rates count the bytes of both ways.

A block is one run. Blocks of all arms alternate (README.md): each round has one of each arm in an order drawn at
random, and the next round has the reverse. --pairs is the number of rounds, 31 if it isn't given. Outputs are checked
before and after. --into adds the rows to a bench.json that tests/bench/run has written, and takes 31 rounds or more;
--json prints the rows. The exit code says whether it could be measured, never how fast it was.
"""
import argparse
import ctypes
import gc
import json
import pathlib
import random
import statistics
import sys
import time

from torch_buckets import FEWEST_PAIRS, LIBRARY, add, gpuorch, interval, require, torch, why_not

MIB = 1 << 20
KERNEL = r"""
extern "C" __global__ void complement(const uint4 *x, uint4 *y, unsigned long long bytes)
{
    const unsigned long long count = bytes / sizeof(uint4), step = (unsigned long long)gridDim.x * blockDim.x;
    for (unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
        const uint4 v = x[i];
        y[i] = make_uint4(~v.x, ~v.y, ~v.z, ~v.w);
    }
}
"""


class Memory:
    """Input and output, of each kind: tensors of bytes, and the addresses of these."""

    def __init__(self, gpo, device, size):
        self.gpo, self.size = gpo, size
        self.arena, self.addresses = gpo.arena_create(device), []
        self.pinned = [self.allocated() for _ in range(2)]
        self.pageable = [torch.empty(size, dtype=torch.uint8) for _ in range(2)]
        self.pinned[0].copy_(torch.randint(0, 256, (size,), dtype=torch.uint8))
        self.pageable[0].copy_(self.pinned[0])
        self.pageable[1].zero_()  # each page is there
        self.right = self.pinned[0].bitwise_not()

    def allocated(self):
        address = self.gpo.arena_allocate(self.arena, self.size, self.gpo.AUTO)
        self.addresses.append(address)
        return torch.frombuffer((ctypes.c_uint8 * self.size).from_address(address), dtype=torch.uint8)

    def close(self):
        for address in self.addresses:
            self.gpo.arena_free(self.arena, address)
        self.arena.close()


class InTurn:
    """PyTorch with one step after the other."""

    def __init__(self, kind, memory, buffer):
        self.name, self.kind, self.buffer = f"PyTorch, one step after the other, {kind}", kind, buffer
        self.input, self.output = getattr(memory, kind)

    def run(self):
        self.buffer.copy_(self.input, non_blocking=True)
        torch.bitwise_not(self.buffer, out=self.buffer)
        self.output.copy_(self.buffer, non_blocking=True)
        torch.cuda.synchronize()


class ByHand:
    """PyTorch with a stream for each step, and events between them."""
    kind = "pinned"

    def __init__(self, memory, buffer, chunk, count):
        self.name = f"PyTorch, three streams by hand, {count} buffers of {chunk // MIB} MiB, pinned"
        self.input, self.output = memory.pinned
        self.chunk, self.buffers = chunk, [buffer[i * chunk:(i + 1) * chunk] for i in range(count)]
        self.streams = [torch.cuda.Stream() for _ in range(3)]
        self.events = [[torch.cuda.Event() for _ in range(3)] for _ in range(count)]

    def run(self):
        into, works, out = self.streams
        used = [False] * len(self.buffers)
        for number, begin in enumerate(range(0, self.input.numel(), self.chunk)):
            slot = number % len(self.buffers)
            size = min(self.chunk, self.input.numel() - begin)
            buffer, (copied_in, worked, copied_out) = self.buffers[slot][:size], self.events[slot]
            with torch.cuda.stream(into):
                if used[slot]:
                    into.wait_event(copied_out)
                buffer.copy_(self.input[begin:begin + size], non_blocking=True)
                copied_in.record(into)
            with torch.cuda.stream(works):
                works.wait_event(copied_in)
                torch.bitwise_not(buffer, out=buffer)
                worked.record(works)
            with torch.cuda.stream(out):
                out.wait_event(worked)
                self.output[begin:begin + size].copy_(buffer, non_blocking=True)
                copied_out.record(out)
            used[slot] = True
        out.synchronize()


class Ours:
    """The library's pipeline, one for each kind of memory. Its first run, which finds the size of chunks, is not measured."""

    def __init__(self, kind, memory, gpo, device, kernel):
        self.name, self.kind, self.gpo = f"libgpuorch, {kind}", kind, gpo
        self.input, self.output = getattr(memory, kind)
        kinds = (gpo.ARGUMENT_INPUT, gpo.ARGUMENT_OUTPUT, gpo.ARGUMENT_INPUT_BYTES)
        self.arguments = [gpo.StageArgument(kind=one) for one in kinds]
        self.stage = gpo.Stage(kind=gpo.STAGE_KERNEL, kernel=kernel, block=(256,), bytes_per_block=64 << 10,
                               arguments=self.arguments, argument_count=len(self.arguments))
        self.pipeline = gpo.pipeline_create(device, gpo.PipelineOptions(stages=[self.stage], stage_count=1, label="torch_pipeline"))
        size = self.input.numel()
        self.source = gpo.Source(kind=gpo.SOURCE_MEMORY, memory=self.input.data_ptr(), bytes=size)
        self.sink = gpo.Sink(kind=gpo.SINK_MEMORY, memory=self.output.data_ptr(), bytes=size)

    def run(self):
        self.gpo.pipeline_start(self.pipeline, self.source, self.sink)
        self.gpo.pipeline_wait(self.pipeline, -1)


def check(arms, memory):
    for arm in arms:
        arm.output.zero_()
        arm.run()
        require(torch.equal(arm.output, memory.right), f"{arm.name}: the output is wrong")


def measured(arms, size, rounds):
    """GB/s of both ways, for each arm in the order of the rounds."""
    draw, rates = random.Random(), {arm: [] for arm in arms}
    gc.collect()
    gc.disable()
    for number in range(rounds):
        if number % 2 == 0:
            order = draw.sample(arms, len(arms))
        for arm in order if number % 2 == 0 else reversed(order):
            begin = time.perf_counter_ns()
            arm.run()
            rates[arm].append(2 * size / (time.perf_counter_ns() - begin))
    gc.enable()
    return rates


def row_of(name, base, ours, rates, seconds):
    """As tests/bench/run writes rows."""
    ratios = [o / b for b, o in zip(rates[base], rates[ours])]
    differences = [o - b for b, o in zip(rates[base], rates[ours])]
    return {"program": "torch_pipeline", "seed": 0, "name": name,
            "what": f"2 GiB in, complement, 2 GiB out, {ours.kind} memory, both ways together", "unit": "GB/s", "better": "high",
            "base": base.name, "seconds": seconds, "pairs": len(ratios),
            "ours_median": statistics.median(rates[ours]), "ours_interval": interval(rates[ours]),
            "base_median": statistics.median(rates[base]), "base_interval": interval(rates[base]),
            "ratio": statistics.median(ratios), "ratio_interval": interval(ratios),
            "difference": statistics.median(differences), "difference_interval": interval(differences),
            "target": "", "verdict": "", "notes": f"PyTorch {torch.__version__}",
            "base_blocks": rates[base], "ours_blocks": rates[ours]}


def measure(size, rounds):
    begin = time.monotonic()
    gpo = gpuorch.Library(LIBRARY)
    with gpo.runtime_create(gpo.RuntimeOptions(device="cuda")) as runtime, gpo.device_open(runtime) as device:
        with gpo.module_compile(device, gpo.CompileOptions(source=KERNEL)) as module:
            kernel = gpo.module_get_kernel(module, "complement")
        memory, buffer = Memory(gpo, device, size), torch.empty(size, dtype=torch.uint8, device="cuda")
        bases = {"torch_pipeline": InTurn("pinned", memory, buffer)}
        for chunk, count in ((16, 3), (4, 3), (32, 4)):
            bases[f"torch_pipeline_by_hand_{chunk}m"] = ByHand(memory, buffer, chunk * MIB, count)
        bases["torch_pipeline_pageable"] = InTurn("pageable", memory, buffer)
        ours = {kind: Ours(kind, memory, gpo, device, kernel) for kind in ("pinned", "pageable")}
        arms = [*bases.values(), *ours.values()]
        try:
            for _ in range(2):
                check(arms, memory)
            rates = measured(arms, size, rounds)
            check(arms, memory)
        finally:
            for arm in ours.values():
                arm.pipeline.close()
            kernel.close()
            memory.close()
        seconds = time.monotonic() - begin
        return [row_of(name, base, ours[base.kind], rates, seconds) for name, base in bases.items()]


def show(rows):
    print(f"PyTorch {torch.__version__}, {torch.cuda.get_device_name()}, {rows[0]['pairs']} pairs; GB/s, both ways together")
    for row in rows:
        (low, high), (base_low, base_high) = row["ratio_interval"], row["base_interval"]
        print(f"{row['base']:66}{row['base_median']:7.1f} ({base_low:.1f} .. {base_high:.1f})   libgpuorch / it {row['ratio']:.3f} "
              f"(95 % interval {low:.3f} .. {high:.3f})")
    for row in (rows[0], rows[-1]):
        low, high = row["ours_interval"]
        kind = "pageable" if row["name"].endswith("pageable") else "pinned"
        print(f"{'libgpuorch, ' + kind:66}{row['ours_median']:7.1f} ({low:.1f} .. {high:.1f})")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=FEWEST_PAIRS)
    parser.add_argument("--quick", action="store_true", help="128 MiB and 4 rounds: no measurement")
    parser.add_argument("--json", action="store_true", help="prints the rows")
    parser.add_argument("--into", type=pathlib.Path)
    wanted = parser.parse_args()
    if wanted.pairs < 1:
        parser.error("--pairs takes 1 or more")
    if wanted.into and (wanted.quick or wanted.pairs < FEWEST_PAIRS):
        parser.error(f"a measurement that is kept has {FEWEST_PAIRS} pairs or more")
    if why_not():
        print(f"SKIP torch_pipeline: {why_not()}")
        return 0
    with torch.inference_mode():
        rows = measure(128 * MIB if wanted.quick else 2048 * MIB, 4 if wanted.quick else wanted.pairs)
    if wanted.json:
        print(json.dumps(rows))
    else:
        show(rows)
    for row in rows if wanted.into else ():
        add(row, wanted.into)
    return 0


if __name__ == "__main__":
    sys.exit(main())
