#!/usr/bin/env python3
"""Every benchmark program measures each of its rows, a few small blocks of them, on the software GPU. How fast is not asked.
The ways that lost against executors are still measured."""
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

PROGRAMS = pathlib.Path(os.environ["GPUORCH_BUILD"]) / "tests"
SAMPLES = pathlib.Path(__file__).resolve().parents[2] / "samples"


# An event asked all the time, a host function, a number that the stream writes, an event that blocks.
ALTERNATIVES = {f"bench_executor {name}" for name in (
    "callback_spinning", "callback_host_function", "callback_written_number", "callback_sleeping",
    "callbacks_gpu_time", "host_functions_gpu_time", "written_numbers_gpu_time")}

# What one thing takes more than another, in a few blocks on a busy machine: any number will do.
DIFFERENCES = {"bench_submit soft_barrier", "bench_memory arena_8_threads"}


def main():
    environment = {**os.environ, "GPUORCH_DEVICE": "soft", "GPUORCH_LIBRARY": f"{PROGRAMS.parent}/libgpuorch/libgpuorch.so.0",
                   "GPUORCH_BENCH_PYTHON": f"{sys.executable} {SAMPLES}/python/stream_files.py"}
    programs = sorted(path for path in PROGRAMS.glob("gpuorch_bench_*") if path.is_file() and path.suffix != ".so")
    if not programs:
        print("FAIL benchmarks: none were built")
    rows = set()
    for program in programs:
        with tempfile.TemporaryDirectory() as scratch:
            report = pathlib.Path(scratch) / "rows.json"
            run = subprocess.run([program, "--quick", "--pairs", "2", "--json", report], env=environment, timeout=300,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            if not report.exists():
                print(f"FAIL {program.name}: ended with {run.returncode} and no report")
                print(run.stdout)
                continue
            for row in json.loads(report.read_text())["rows"]:
                name = f"{program.name.removeprefix('gpuorch_')} {row['name']}"
                rows.add(name)
                if "failed" in row or "skipped" in row:
                    print(f"{'FAIL' if 'failed' in row else 'SKIP'} {name}: {row.get('failed') or row['skipped']}")
                else:
                    ours = row["ours_median"]
                    measured = math.isfinite(ours) if name in DIFFERENCES else ours > 0
                    print(f"PASS {name}" if measured else f"FAIL {name}: {ours} {row['unit']}")
    missing = ", ".join(sorted(ALTERNATIVES - rows))
    print(f"FAIL the alternatives to executors are measured: {missing} is missing" if missing else
          "PASS the alternatives to executors are measured")


if __name__ == "__main__":
    main()
