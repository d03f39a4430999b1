#!/usr/bin/env python3
"""The counting library counts what was called, of all processes and of none twice; and check_counts.py notices what is
missing, what is excused for nothing and what it can't read."""
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ["GPUORCH_BUILD"])
COUNTING = BUILD / "tests" / "libgpuorch_counting.so"
ABI = HERE.parents[2] / "libgpuorch/src/abi"
sys.path.insert(0, str(ABI))
import headers

ORDER = (ABI / "functions.txt").read_text().split()
# Calls through the table by a program of any language: members by number, handles and structs as plain memory.
CALLER = f"""
import ctypes, os, sys
library = ctypes.CDLL({str(COUNTING)!r})
library.gpo_get_api.restype = ctypes.c_void_p
table = library.gpo_get_api(100)
assert not library.gpo_get_api(990000), "a version that the real library refuses"
if not table:
    sys.exit(3)
members = ctypes.cast(table + 8, ctypes.POINTER(ctypes.c_void_p))
ORDER = {ORDER!r}
def call(name, *arguments, result=ctypes.c_int32):
    return ctypes.CFUNCTYPE(result)(members[ORDER.index(name)])(*arguments)
def create():
    runtime = ctypes.c_void_p()
    assert call("gpo_runtime_create", None, ctypes.byref(runtime)) == 0
    return runtime
runtime = create()
"""


def report(name, got, right):
    print(f"PASS {name}" if got == right else f"FAIL {name}: {got!r} in place of {right!r}")


def run(code, counts, library=BUILD / "libgpuorch/libgpuorch.so"):
    environment = {**os.environ, "GPUORCH_COUNTS": str(counts), "GPUORCH_COUNTED_LIBRARY": str(library)}
    return subprocess.run([sys.executable, "-c", CALLER + code], env=environment, capture_output=True, text=True, timeout=60)


def counted(path):
    return sorted(path.read_text().splitlines()) if path.exists() else []


def counting(folder):
    counts = folder / "counts"
    result = run("""
assert call("gpo_runtime_create", None, None) == 10
assert call("gpo_version", result=ctypes.c_uint32) == 100
call("gpo_runtime_shutdown", runtime, ctypes.c_int64(-1))
""", counts)
    report("successes and failures of a process are counted", (result.stderr, counted(counts)),
           ("", ["gpo_runtime_create 1 1", "gpo_runtime_shutdown 1 0", "gpo_version 1 0"]))
    run("call('gpo_runtime_shutdown', runtime, ctypes.c_int64(-1))", counts)
    report("a second process appends its own", len(counted(counts)), 5)

    forked = folder / "forked"
    result = run("""
child = os.fork()
if child == 0:
    assert call("gpo_runtime_shutdown", runtime, ctypes.c_int64(0)) == 71
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
""", forked)
    report("a child tells only what it called itself", (result.stderr, counted(forked)),
           ("", ["gpo_runtime_create 1 0", "gpo_runtime_shutdown 0 1"]))

    missing = run("", folder / "none", folder / "missing.so")
    report("without the real library there is no table, and it is said why",
           (missing.returncode, "missing.so" in missing.stderr, counted(folder / "none")), (3, True, []))


def checking(folder):
    fallible = [name for name, (result, _) in headers.functions().items() if result == "gpo_status"]
    infallible = [name for name in ORDER if name not in fallible]
    whole = "".join(f"{name} 1 0\n{name} 0 2\n" for name in fallible) + "".join(f"{name} 1 0\n" for name in infallible)

    def check(name, counts, reasons, wanted):
        """`wanted`: a part of each line that must be said, in any order; none: all is well."""
        (folder / "counts").write_text(counts)
        (folder / "reasons").write_text(reasons)
        result = subprocess.run([sys.executable, HERE.parent / "check_counts.py", folder / "counts", "--binding", "Latin",
                                 "--reasons", folder / "reasons"], capture_output=True, text=True)
        lines = result.stdout.splitlines()
        good = [line.startswith("PASS Latin: ") for line in lines] == [True] and result.returncode == 0
        told = (len(lines) == len(wanted) and result.returncode == 1 and
                all(any(line.startswith("FAIL Latin: ") and part in line for line in lines) for part in wanted))
        report(f"check_counts.py: {name}", (good, told), (not wanted, bool(wanted)))
        if result.stderr:
            print(result.stderr)

    never_failed = whole.replace("gpo_fill 0 2\n", "")
    excuse = "# why\n\ngpo_fill fails: nobody can make it\n"
    check("all seen", whole, "# nothing\n", [])
    check("one was never seen to fail", never_failed, "", ["gpo_fill was never seen to fail"])
    check("one was never seen at all", whole.replace("gpo_fill 0 2\n", "").replace("gpo_fill 1 0\n", ""), "",
          ["gpo_fill was never seen to fail", "gpo_fill was never seen to succeed"])
    check("a function that can't fail was never called", whole.replace("gpo_version 1 0\n", ""), "",
          ["gpo_version was never seen to succeed"])
    check("no counts at all", "", "", [f"{name} was never seen to succeed" for name in ORDER] +
          [f"{name} was never seen to fail" for name in fallible])
    check("a reason is given", never_failed, excuse, [])
    check("a reason is not needed any more", whole, excuse, ["gpo_fill, which was seen to fail"])
    check("a reason for something else", never_failed, "gpo_fill succeeds: odd\n",
          ["gpo_fill was never seen to fail", "gpo_fill, which was seen to succeed"])
    check("a reason for a function that there isn't", whole, "gpo_none fails: old\n", ["gpo_none fails, which nobody asks for"])
    check("a line without a reason", never_failed, "gpo_fill fails:\n", ["line 1", "gpo_fill was never seen to fail"])


def main():
    with tempfile.TemporaryDirectory() as folder:
        counting(pathlib.Path(folder))
        checking(pathlib.Path(folder))


main()
