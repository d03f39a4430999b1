#!/usr/bin/env python3
"""Attaches a tool of the test's own through NVTX, as Nsight does, and looks at what it is told."""
import ctypes
import os
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import built

THREADS = {"gpo-scanner", "gpo-exec-0", "gpo-errands"}


def check(name, *facts):
    wrong = [f"{got!r} in place of {right!r}" for got, right in facts if got != right]
    print(f"FAIL {name}: {'; '.join(wrong)[:600]}" if wrong else f"PASS {name}")


class StreamOptions(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("flags", ctypes.c_uint32), ("priority", ctypes.c_int32),
                ("max_held", ctypes.c_uint32), ("label", ctypes.c_char_p)]


def program():
    """What is traced: a stream with a label, a fill, a notify. Says which threads of the library's it has."""
    gpo = ctypes.CDLL(str(built.LIBRARIES / "libgpuorch.so"))
    runtime, device, stream, queue, executor = (ctypes.c_void_p() for _ in range(5))
    address = ctypes.c_uint64()
    options = StreamOptions(ctypes.sizeof(StreamOptions), 0, 0, 0, b"upload")
    for status in (gpo.gpo_runtime_create(None, ctypes.byref(runtime)),
                   gpo.gpo_device_open(runtime, None, ctypes.byref(device)),
                   gpo.gpo_stream_create(device, ctypes.byref(options), ctypes.byref(stream)),
                   gpo.gpo_cq_create(runtime, None, ctypes.byref(queue)),
                   gpo.gpo_executor_create(runtime, None, ctypes.byref(executor)),
                   gpo.gpo_memory_allocate(device, ctypes.c_uint64(4096), None, ctypes.byref(address)),
                   gpo.gpo_fill(stream, address, 1, 1, ctypes.c_uint64(4096)),
                   gpo.gpo_stream_notify(stream, queue, ctypes.c_uint64(7)),
                   gpo.gpo_cq_wait(queue, ctypes.c_int64(-1)),
                   gpo.gpo_memory_free(device, address)):
        if status != 0:
            sys.exit(f"a call returned {status}")
    # A thread has its name once it has begun.
    names, until = set(), time.monotonic() + 10
    while not THREADS <= names and time.monotonic() < until:
        names = {task.read_text().strip() for task in pathlib.Path("/proc/self/task").glob("*/comm")}
    print(*sorted(name for name in names if name.startswith("gpo-")), sep="\n")
    if status := gpo.gpo_runtime_shutdown(runtime, ctypes.c_int64(-1)):
        sys.exit(f"gpo_runtime_shutdown returned {status}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder) / "told"
        environment = {**os.environ, "NVTX_INJECTION64_PATH": str(built.NVTX_TOOL), "FAKE_NVTX_OUTPUT": str(output)}
        done = subprocess.run([sys.executable, __file__, "program"], env=environment, timeout=60, stdout=subprocess.PIPE,
                              text=True)
        told = output.read_text().splitlines() if output.exists() else []
        depth, deepest = 0, 0
        for line in told:
            depth += line.startswith("push ") - line.startswith("pop")
            deepest = max(deepest, depth)
        ranges = [line.removeprefix("push ") for line in told if line.startswith("push ")]
        check("an NVTX tool sees the calls as ranges of the library's domain, and names of streams and threads",
              (done.returncode, 0), ([line for line in told if line.startswith("domain")], ["domain gpuorch"]),
              ([name for name in ("gpo_stream_create", "gpo_fill", "gpo_stream_notify", "gpo_cq_wait") if name not in ranges], []),
              ("stream upload" in told, True), (depth, 0), (deepest >= 1, True),
              ([name for name in ranges if not name.startswith("gpo_")], []))
        threads = done.stdout.split()
        check("it is told the names of all threads of the library's", (THREADS <= set(threads), True),
              ([name for name in threads if f"thread {name}" not in told], []))


if sys.argv[1:] == ["program"]:
    program()
else:
    main()
