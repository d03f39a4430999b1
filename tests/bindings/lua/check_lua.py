#!/usr/bin/env python3
"""bindings/lua: the module is built for each Lua there is, and each runs every *_test.lua here over the library that counts
calls.

Run by tests/run; by hand GPUORCH_BUILD=build/dev tests/bindings/lua/check_lua.py [INTERPRETER | PART]...
"""
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
SOURCE = ROOT / "bindings/lua"
BUILD = pathlib.Path(os.environ.get("GPUORCH_BUILD", ROOT / "build/tests")).resolve()
LIBRARY = BUILD / "libgpuorch/libgpuorch.so.0"
COUNTING = BUILD / "tests/libgpuorch_counting.so"
MODULES = ROOT / "build/lua"
LUAS = ("lua5.1", "lua5.2", "lua5.3", "lua5.4", "luajit")


def build(lua, folder, **settings):
    """The module for one Lua, in a folder of its own. What the compiler said, if it failed or warned."""
    command = ["make", "-s", "-C", SOURCE, f"LUA={lua}", f"OUT={folder}", *(f"{name}={value}" for name, value in settings.items())]
    outcome = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return outcome.stdout if outcome.returncode != 0 or outcome.stdout else ""


def environment(lua, folder, **more):
    library = COUNTING if COUNTING.exists() else LIBRARY
    version = subprocess.run([lua, "-e", "io.write((_VERSION:gsub('Lua ', '')))"], text=True, capture_output=True).stdout
    return {**os.environ, "GPUORCH_LIBRARY": str(library), "GPUORCH_COUNTED_LIBRARY": str(LIBRARY), "GPUORCH_DEVICE": "soft",
            "GPUORCH_TEST_HARNESS": str(HERE / "harness.lua"), "GPUORCH_TEST_LUA": lua, "GPUORCH_TEST_FILES": str(HERE),
            "GPUORCH_TEST_VERSION": version,
            "LUA_PATH": f"{SOURCE}/lua/?.lua;;", "LUA_CPATH": f"{folder}/?.so;;", **more}


def run(lua, script, folder, limit=60, **more):
    """Runs a test file; its lines are the report. A file that doesn't come to its end has failed."""
    try:
        outcome = subprocess.run([lua, script], env=environment(lua, folder, **more), text=True, timeout=limit, cwd=HERE,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace")
        output, code = outcome.stdout, outcome.returncode
    except subprocess.TimeoutExpired as late:
        output, code = (late.stdout or b"").decode(errors="replace"), f"no end within {limit} s"
    print(output, end="", flush=True)
    if code != 0:
        print(f"FAIL {lua}: {script.name} ended with {code}", flush=True)


def main():
    wishes = [word for word in sys.argv[1:] if not word.startswith("-")]
    luas = [lua for lua in LUAS if lua in wishes] or LUAS
    parts = [word for word in wishes if word not in LUAS] or [""]
    for lua in luas:
        if not shutil.which(lua):
            print(f"SKIP {lua}: it isn't installed")
            continue
        said = build(lua, MODULES / lua)
        print(f"FAIL {lua}: the module is built without a warning\n{said}" if said else f"PASS {lua}: the module is built without a warning")
        for script in sorted(HERE.glob("*_test.lua")):
            if any(part in script.name for part in parts):
                run(lua, script, MODULES / lua)


main()
