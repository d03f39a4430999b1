#!/usr/bin/env python3
"""Builds the Python package for the running Python, with --full for each Python of the machine from 3.11. Each Python then
runs every check_*.py of this folder with the package, over the library that counts calls.

Run by tests/run; by hand GPUORCH_BUILD=build/dev tests/bindings/python/package/run.py [--full] [PYTHON | PART]...

A PART is a part of a script's name. The scripts get: PYTHONPATH, which leads to the package; GPUORCH_LIBRARY; and
GPUORCH_TEST_OUT, a folder of their own that exists as long as they run."""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[3]
BUILD = pathlib.Path(os.environ.get("GPUORCH_BUILD", ROOT / "build/tests")).resolve()
LIBRARY = BUILD / "libgpuorch/libgpuorch.so.0.1"
COUNTING = BUILD / "tests/libgpuorch_counting.so"
FULL = "--full" in sys.argv
OTHERS = [f"python3.{minor}{free}" for minor in range(11, 20) for free in ("", "t") if minor >= 14 or not free]
SECONDS = 600 if FULL else 240
ABOUT = """import os, sys, sysconfig
print("%d.%d" % sys.version_info[:2] + ("t" if sysconfig.get_config_var("Py_GIL_DISABLED") else ""))
print(sysconfig.get_path("include"))
"""


def about(python):
    """The version of an interpreter and the folder of its headers, or None if the interpreter can't be run."""
    try:
        said = subprocess.run([python, "-c", ABOUT], capture_output=True, text=True).stdout.splitlines()
    except OSError:
        return None
    return said if len(said) == 2 else None


def lacks(python):
    """Why nothing can be built for an interpreter, or None."""
    found = about(python)
    if not found:
        return "it can't be run"
    version, include = found
    if int(version.rstrip("t").split(".")[1]) < 11:
        return f"it is Python {version}, and 3.11 is needed"
    if not (pathlib.Path(include) / "Python.h").exists():
        return f"its headers aren't installed: there is no {include}/Python.h (on Debian the package python3-dev has it)"
    return None


def show(label, line):
    """A line of a script, with the script's name in front. Returns whether the line reports a test."""
    kind, _, text = line.partition(" ")
    reports = kind in ("PASS", "FAIL", "SKIP")
    print(f"{kind} {label}: {text}" if reports else line, flush=True)
    return reports


def run(python, label, script, environment):
    """Runs a script. A script that breaks off, or reports nothing, has failed."""
    end = f"{time.time_ns():x}"
    command = [python, ROOT / "tests/runner/run_script.py", end, script, *(["--full"] if FULL else [])]
    with tempfile.TemporaryDirectory() as folder:
        try:
            outcome = subprocess.run(command, env={**environment, "GPUORCH_TEST_OUT": folder}, cwd=folder, text=True,
                                     timeout=SECONDS, errors="replace", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                     stderr=subprocess.STDOUT)
            output, code = outcome.stdout, outcome.returncode
        except subprocess.TimeoutExpired as late:
            output, code = (late.stdout or b"").decode(errors="replace"), f"no end within {SECONDS} s"
    lines = output.splitlines()
    ended = f"END {end}" in lines
    count = sum([show(label, line) for line in lines if line != f"END {end}"])
    if code != 0:
        print(f"FAIL {label}: it ended with {code}", flush=True)
    elif not ended:
        print(f"FAIL {label}: it ended before its last line", flush=True)
    elif count == 0:
        print(f"FAIL {label}: it reported no test", flush=True)


def check(python, name, parts):
    """Builds the package for an interpreter, in a folder for its version, and runs the scripts with it."""
    folder = BUILD / f"python/{name}"
    made = subprocess.run([sys.executable, ROOT / "bindings/python/build", "--python", python, folder], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    print(made.stdout, end="")
    good = made.returncode == 0 and not made.stdout
    print(f"{'PASS' if good else 'FAIL'} {name}: the package is built without a warning", flush=True)
    if made.returncode != 0:
        return
    library = COUNTING if COUNTING.exists() else LIBRARY
    environment = {**os.environ, "PYTHONPATH": str(folder), "GPUORCH_BUILD": str(BUILD), "GPUORCH_LIBRARY": str(library),
                   "GPUORCH_COUNTED_LIBRARY": str(LIBRARY), "GPUORCH_DEVICE": os.environ.get("GPUORCH_DEVICE", "soft"),
                   "GPUORCH_SOFT_DEVICES": os.environ.get("GPUORCH_SOFT_DEVICES", "2")}
    for script in sorted(HERE.glob("check_*.py")):
        if any(part in script.name for part in parts):
            run(python, f"{name} {script.stem.removeprefix('check_')}", script, environment)


def wanted():
    """{how an interpreter is called in the report, by its version: the interpreter}"""
    named = [word for word in sys.argv[1:] if word.startswith("python") or "/" in word]
    paths = [shutil.which(word) or word for word in named] or [sys.executable]
    if FULL and not named:
        paths += [path for name in OTHERS if (path := shutil.which(name)) and not lacks(path)]
    found = {}
    for path in paths:  # each version once; the Python that runs this script comes first
        found.setdefault(f"python{what[0]}" if (what := about(path)) else pathlib.Path(path).name, path)
    return found


def main():
    # Programs that a shell starts in the background ignore Ctrl-C, and so do their children.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    parts = [word for word in sys.argv[1:] if not word.startswith(("-", "python")) and "/" not in word] or [""]
    for name, python in wanted().items():
        if why_not := lacks(python):
            print(f"SKIP {name}: the package: {why_not}", flush=True)
        else:
            check(python, name, parts)


main()
