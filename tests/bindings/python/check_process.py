#!/usr/bin/env python3
"""What becomes of a Python process: Ctrl-C in every wait, fork, every way out with work in flight, unloading and loading again,
two copies of the library. Each case is a process of its own, whose exit code and last words are asserted; each way
out is taken 5 times, with --full 100."""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(os.environ["GPUORCH_BUILD"])
LIBRARY = BUILD / "libgpuorch/libgpuorch.so.0.1"
FULL = "--full" in sys.argv
START = f"""
import asyncio, ctypes, os, sys, threading, time
sys.path.insert(0, {str(ROOT / 'bindings/python/ctypes')!r})
import gpuorch
gpo = gpuorch.Library()
runtime = gpo.runtime_create(gpo.RuntimeOptions(device="soft"))
device = gpo.device_open(runtime)
stream = gpo.stream_create(device)
"""
# A stream that waits for a timeline without a signal, and a pipeline whose source never ends.
STUCK = """
timeline = gpo.timeline_create(runtime)
event, cq = gpo.event_create(device), gpo.cq_create(runtime)
executor = gpo.executor_create(runtime, gpo.ExecutorOptions(flags=gpo.EXECUTOR_CALLER))
gpo.stream_wait_timeline(stream, timeline, 1)
gpo.event_record(event, stream)
gpo.stream_then(stream, executor, lambda *_: None)
stage = gpo.Stage(kind=gpo.STAGE_CALLBACK, enqueue=lambda *_: None)
pipeline = gpo.pipeline_create(device, gpo.PipelineOptions(stages=[stage], stage_count=1))
def start_pipeline():
    gpo.pipeline_start(pipeline, gpo.Source(kind=gpo.SOURCE_CALLBACK, fill=lambda *_: time.sleep(0.001)), gpo.Sink())
"""
# Kernels, copies and completions under way, and Python functions that the library's threads call.
BUSY = """
cq = gpo.cq_create(runtime)
memory = gpo.memory_allocate(device, 1 << 22)
executor = gpo.executor_create(runtime)
def again(*_):
    time.sleep(0.0002)
    try:
        gpo.stream_then(stream, executor, again)
    except gpuorch.Error:
        pass
gpo.stream_then(stream, executor, again)
for i in range(20):
    gpo.fill(stream, memory, i, 4, 1 << 20)
    gpo.stream_notify(stream, cq, i)
"""


def report(name, got, right, more=""):
    print(f"PASS {name}" if got == right else f"FAIL {name}: {got!r} in place of {right!r} {more}")


def begin(code):
    # Python without settings: a line stays in the buffer until it is flushed.
    plain = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return subprocess.Popen([sys.executable, "-c", START + code], env={**plain, "GPUORCH_LIBRARY": str(LIBRARY)},
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def end(process):
    try:
        out, errors = process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()
        out, errors = process.communicate()
        return "hangs", out, errors
    return process.returncode, out, errors


def interrupts():
    """Each wait, begun with all the time in the world, ends soon after Ctrl-C."""
    waits = ["gpo.stream_wait(stream, -1)", "gpo.event_wait(event, -1)", "gpo.timeline_wait(timeline, 1, -1)",
             "gpo.cq_wait(cq, -1)", "gpo.device_wait(device, 3600 * 10**9)", "gpo.executor_run(executor)", "gpo.executor_run_for(executor, -1)",
             "start_pipeline(); gpo.pipeline_wait(pipeline, -1)", "gpo.runtime_shutdown(runtime, -1)",
             "asyncio.run(gpuorch_wait())"]
    wait_in_loop = """
async def gpuorch_wait():
    with gpuorch.Completions(gpo, runtime) as done:
        await done.stream(stream)
"""
    # A shutdown cancels held work, and so only waits for a callback.
    slow = """
gpo.stream_then(gpo.stream_create(device), gpo.executor_create(runtime), lambda *_: time.sleep(2))
time.sleep(0.1)
"""
    for wait in waits:
        process = begin(STUCK + wait_in_loop + (slow if "shutdown" in wait else "") + f"""
print('waits', flush=True)
try:
    {wait}
except KeyboardInterrupt:
    print('interrupted', flush=True)
    os._exit(0)
""")
        assert process.stdout.readline() == "waits\n", process.stderr.read()
        time.sleep(0.1)
        start = time.monotonic()
        process.send_signal(signal.SIGINT)
        code, out, errors = end(process)
        report(f"Ctrl-C ends {wait}", (code, out, time.monotonic() - start < 1.5), (0, "interrupted\n", True), errors)


def interrupt_in_callback():
    process = begin(STUCK + """
def here(*_):
    print('called', flush=True)
    time.sleep(30)
other = gpo.stream_create(device)
gpo.stream_then(other, executor, here)  # which owes another call that never comes
try:
    gpo.executor_run(executor)
except KeyboardInterrupt:
    print('interrupted', flush=True)
    os._exit(0)
""")
    process.stdout.readline()
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    code, out, errors = end(process)
    report("Ctrl-C in a callback ends the wait that runs it", (code, out), (0, "interrupted\n"), errors)


def forks():
    code, out, errors = end(begin(BUSY + """
child = os.fork()
if child == 0:
    try:
        gpo.stream_query(stream)
    except gpuorch.Error as error:
        print(error.name, flush=True)
    sys.exit(5)
print('child', os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
gpo.fill(stream, memory, 0, 4, 1 << 20)
executor.close()
gpo.stream_wait(stream, -1)
runtime.close()
print('parent done')
"""))
    report("a forked child is told so and exits by itself, the parent is unharmed", (code, out),
           (0, "FORKED\nchild 5\nparent done\n"), errors)


def ways_out():
    ways = {"the end of the program": ("", 0), "sys.exit": ("sys.exit(7)", 7), "os._exit": ("os._exit(8)", 8),
            "an exception": ("raise ValueError('x')", 1), "sys.exit on another thread, then the end": (
                "threading.Thread(target=sys.exit).start()", 0),
            "a loop that is left": ("async def main():\n    done = gpuorch.Completions(gpo, runtime)\n"
                                    "    done.stream(stream)\n    sys.exit(9)\nasyncio.run(main())", 9),
            "the death of a signal": ("os.kill(os.getpid(), 15)", -15),
            "sys.exit with a pipeline under way": (STUCK + "start_pipeline()\nsys.exit(6)", 6)}
    for name, (code, right) in ways.items():
        runs = 100 if FULL else 5
        wrong = []
        for _ in range(runs):
            got, _, errors = end(begin(BUSY + code))
            if got != right or "Fatal" in errors:
                wrong.append((got, errors[-400:]))
        report(f"work is in flight at {name}: the exit code is kept", len(wrong), 0, wrong[:1])


def unloading():
    times = 1000 if FULL else 100
    code, out, errors = end(begin(BUSY + f"""
import _ctypes
def counts():
    return len(os.listdir('/proc/self/fd')), len(os.listdir('/proc/self/task'))
for i in range({times}):
    library = ctypes.CDLL(os.environ["GPUORCH_LIBRARY"])
    _ctypes.dlclose(library._handle)
    again = gpuorch.Library()
    again.fill(again.Stream(stream.value), memory, i, 4, 1 << 18)
    if i == 10:
        before = counts()
executor.close()
gpo.stream_wait(stream, -1)
assert counts() <= before, (before, counts())
runtime.close()
print('done')
"""))
    report(f"the library is closed and loaded again {times} times while its work goes on", (code, out), (0, "done\n"), errors)


def two_copies():
    with tempfile.TemporaryDirectory() as folder:
        copy = shutil.copy(LIBRARY, pathlib.Path(folder) / "copy.so")
        code, out, errors = end(begin(f"""
other = gpuorch.Library({str(copy)!r})
second = other.runtime_create(other.RuntimeOptions(device="soft"))
with second, other.device_open(second) as its, other.stream_create(its) as work:
    for library, one, where in ((gpo, stream, device), (other, work, its)):
        memory = library.memory_allocate(where, 4096)
        library.fill(one, memory, 3, 4, 1024)
        library.stream_wait(one, -1)
        library.memory_free(where, memory)
    try:
        other.stream_wait(other.Stream(stream.value), 0)
    except gpuorch.Error as error:
        print(error.name)
runtime.close()
"""))
    report("two copies of the library work in one process, and tell each other's handles apart",
           (code, out), (0, "INVALID_HANDLE\n"), errors)


def main():
    # Programs that a shell starts in the background ignore Ctrl-C, and so do their children.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for part in (interrupts, interrupt_in_callback, forks, ways_out, unloading, two_copies):
        part()


main()
