#!/usr/bin/env python3
"""Every benchmark program measures each of its rows, a few small blocks of them, on the software GPU. How fast is not asked.
The ways that lost against executors are still measured."""
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile

PROGRAMS = pathlib.Path(os.environ["GPUORCH_BUILD"]) / "tests"
ROWS = pathlib.Path(__file__).resolve().parent / "rows.txt"
SAMPLES = pathlib.Path(__file__).resolve().parents[2] / "samples"


# Rows that compare executors with alternatives: an event in a query loop, a host function, a number written by the stream, a
# blocking event.
ALTERNATIVES = {f"bench_executor {name}" for name in (
    "callback_spinning", "callback_host_function", "callback_default", "callback_default_loaded", "callback_written_number",
    "callback_sleeping", "callbacks_gpu_time", "host_functions_gpu_time", "written_numbers_gpu_time")}

# Kernels on all cores, a copy as fast as memcpy; the cost of a notify that has to wake the scanner.
SOFTWARE = {"bench_submit soft_kernel_cores", "bench_memory soft_copy"}
IDLING = {"bench_completion notify_after_idling"}

# Time differences, and what is met in time, from a few blocks on a busy machine: any number will do.
DIFFERENCES = {"bench_submit soft_barrier", "bench_memory arena_8_threads", "bench_serving_load batcher_overload",
               "bench_serving_load batcher_overload_missed", "bench_serving_load batcher_small_flow"}


def main():
    environment = {**os.environ, "GPUORCH_DEVICE": "soft", "GPUORCH_LIBRARY": f"{PROGRAMS.parent}/libgpuorch/libgpuorch.so.0.1",
                   "GPUORCH_BENCH_PYTHON": f"{sys.executable} {SAMPLES}/python/stream_files.py"}
    programs = sorted(path for path in PROGRAMS.glob("gpuorch_bench_*") if path.is_file() and path.suffix != ".so")
    if not programs:
        print("FAIL benchmarks: none were built")
    rows = set()
    listed(programs, environment)
    rows_by_name()
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
    for what, names in {"the alternatives to executors": ALTERNATIVES, "the software GPU itself": SOFTWARE,
                        "the first notify after idling": IDLING}.items():
        missing = ", ".join(sorted(names - rows))
        print(f"FAIL {what}: {missing} is missing" if missing else f"PASS {what}: measured")
    fewest_pairs(environment)


def listed(programs, environment):
    """rows.txt is what the programs say that they measure. `check_bench.py --write` writes it."""
    said = "".join(f"{program.name.removeprefix('gpuorch_bench_')} {line}\n" for program in programs if program.name.startswith("gpuorch_bench_")
                   for line in subprocess.run([program, "--list"], env=environment, timeout=60, check=True, text=True,
                                              stdout=subprocess.PIPE).stdout.splitlines())
    if "--write" in sys.argv:
        ROWS.write_text(said)
    print("PASS rows.txt names what the programs measure" if ROWS.read_text() == said else
          "FAIL rows.txt names what the programs measure: it doesn't; GPUORCH_BUILD=... tests/bench/check_bench.py --write writes it")


def rows_by_name():
    """What can be asked without any program."""
    script = ROWS.parent / "run"
    told = subprocess.run([script, "--list"], timeout=60, text=True, capture_output=True)
    wrong = subprocess.run([script, "lanch"], timeout=60, text=True, capture_output=True)
    print("PASS rows are listed, and one that there isn't is refused, without a program"
          if told.returncode == 0 and re.search(r"^launch +\S", told.stdout, re.M) and wrong.returncode == 2 and "there is launch" in wrong.stderr
          else f"FAIL rows are listed, and one that there isn't is refused, without a program: {told}, {wrong}")


def fewest_pairs(environment):
    """No measurement has fewer than 31 pairs, whatever time they take or was asked for."""
    program = PROGRAMS / "gpuorch_bench_submit"
    with tempfile.TemporaryDirectory() as scratch:
        report = pathlib.Path(scratch) / "rows.json"
        command = [program, "--rows", "event_record", "--row-seconds", "0", "--json", report]
        run = subprocess.run([*command, "--pairs", "40"], env=environment, timeout=300, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True)
        pairs = json.loads(report.read_text())["rows"][0].get("pairs") if report.exists() else f"no report: {run.stdout}"
        print("PASS a row that is out of time has 31 pairs" if pairs == 31 else f"FAIL a row that is out of time has 31 pairs: {pairs}")
        run = subprocess.run([*command, "--pairs", "30"], env=environment, timeout=300, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True)
        print("PASS fewer than 31 pairs are refused" if run.returncode == 2 and "31 pairs" in run.stdout else
              f"FAIL fewer than 31 pairs are refused: ended with {run.returncode}, {run.stdout}")


if __name__ == "__main__":
    main()
