#!/usr/bin/env python3
"""bindings/lua: the module is built for the newest Lua there is, with --full for each, and each runs every *_test.lua here over
the library that counts calls.

Run by tests/run; by hand GPUORCH_BUILD=build/dev tests/bindings/lua/check_lua.py [--full] [--sanitized] [INTERPRETER | PART]...
"""
import concurrent.futures
import functools
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
SOURCE = ROOT / "bindings/lua"
sys.path.append(str(ROOT / "tests/support"))
import machine

BUILD = pathlib.Path(os.environ.get("GPUORCH_BUILD", ROOT / "build/tests")).resolve()
LIBRARY = BUILD / "libgpuorch/libgpuorch.so.0.1"
COUNTING = BUILD / "tests/libgpuorch_counting.so"
MODULES = ROOT / "build/lua"
FULL = "--full" in sys.argv
LUAS = ("lua5.1", "lua5.2", "lua5.3", "lua5.4", "luajit")


def build(lua, folder, *settings):
    """The module for one Lua, in a folder of its own, and what a script can't do by itself (process.c). What the compiler
    said, if it failed or warned."""
    said = ""
    (folder / "gpuorch.so").unlink(missing_ok=True)
    folder.mkdir(parents=True, exist_ok=True)
    flags = subprocess.run(["pkg-config", "--cflags", lua], text=True, capture_output=True).stdout.split()
    for command in (["make", "-s", "-C", SOURCE, f"LUA={lua}", f"OUT={folder}", *settings],
                    [*os.environ.get("CC", "cc").split(), "-std=c11", "-D_GNU_SOURCE", "-O1", "-Wall", "-Wextra", "-fPIC",
                     "-shared", *flags, "-o", folder / "process.so", HERE / "process.c"]):
        outcome = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        said += outcome.stdout + ("" if outcome.returncode == 0 else f"{command[0]} ended with {outcome.returncode}\n")
    return said


@functools.cache
def version_of(lua):
    return subprocess.run([lua, "-e", "io.write((_VERSION:gsub('Lua ', '')))"], text=True, capture_output=True).stdout


def environment(lua, folder, **more):
    library = COUNTING if COUNTING.exists() else LIBRARY
    return {**os.environ, "GPUORCH_LIBRARY": str(library), "GPUORCH_COUNTED_LIBRARY": str(LIBRARY), "GPUORCH_DEVICE": "soft",
            "GPUORCH_SOFT_DEVICES": os.environ.get("GPUORCH_SOFT_DEVICES", "2"), "GPUORCH_TEST_HARNESS": str(HERE / "harness.lua"), "GPUORCH_TEST_LUA": lua, "GPUORCH_TEST_FILES": str(HERE),
            "GPUORCH_TEST_VERSION": version_of(lua),
            "LUA_PATH": f"{SOURCE}/lua/?.lua;;", "LUA_CPATH": f"{folder}/?.so;;", **more}


def run(lua, script, folder, limit=600 if FULL else 200, **more):
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


def outcome(lua, folder, script, *arguments, interrupt_after=None, before=(), **more):
    """Exit code and all that a script said. `interrupt_after`: Ctrl-C once it has printed that line. `before`: what starts the
    interpreter."""
    process = subprocess.Popen([*before, lua, HERE / script, *arguments], env=environment(lua, folder, **more), text=True, cwd=HERE,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    said = ""
    try:
        if interrupt_after:
            said = process.stdout.readline()
            time.sleep(0.1)  # into the wait
            process.send_signal(signal.SIGINT)
        said += process.communicate(timeout=60)[0]
    except subprocess.TimeoutExpired:
        process.kill()
        said += process.communicate()[0] + "(no end within 60 s)"
    return process.returncode, said


def report(name, got, right, more=""):
    print(f"PASS {name}" if got == right else f"{more}\nFAIL {name}: {got!r} in place of {right!r}", flush=True)


def ends(lua, folder):
    """Processes that end with work in flight, 10 times in each way, with --full 1,000 times; the library may not count there
    what it never gets to tell."""
    real = {"GPUORCH_LIBRARY": str(LIBRARY)}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as beside:
        for way, code in (("exit", 3), ("exit and close", 4), ("close", 5), ("in a callback", 6), ("error", 1), ("return", 0),
                          ("at once", 7), ("beside another state", 8)):
            results = list(beside.map(lambda _: outcome(lua, folder, "exit.lua", way, **real), range(1000 if FULL else 10)))
            report(f"{lua}: a process with work in flight ends with its exit code: {way}", {code for code, _ in results}, {code},
                   "".join(said for ended, said in results if ended != code)[-4000:])


def finalizers(lua, folder):
    """Finalizers that come at any time while a state is closed: an answer or an error, never a crash or a wait for ever."""
    code, said = outcome(lua, folder, "late.lua", GPUORCH_LIBRARY=str(LIBRARY))
    for place in ("everything", "the streams", "the device", "the runtime", "the module"):
        report(f"{lua}: a finalizer from behind {place} ends, when the state is closed", f"behind {place}: ended\n" in said, True, said)
    report(f"{lua}: a finalizer from before the module hears that the state is being closed", (code, "before the module: ended\n" in said), (0, True), said)


def has(lua, module):
    return subprocess.run([lua, "-e", f"require '{module}'"], capture_output=True).returncode == 0


def interrupts(lua, folder):
    """Ctrl-C ends every wait, as the interpreter's own error; luv makes of that, as of any in a callback, exit code 255."""
    codes = {"luv": 255}
    waits = ["stream", "event", "timeline", "device", "pipeline", "operation", "await", "queue", "answer", "drain", "poll", "executor", "run_for",
             "loop", "luv", "cqueues", "coroutine", "to_string", "from_string", "write_file", "read_file", "shutdown", "close",
             "callback", "as a pipeline's begins", "as a stream's beside a pipeline begins", "as a coroutine of the loop works",
             "as a coroutine of luv works", "as a coroutine of cqueues works"]
    for module in ("luv", "cqueues"):
        if not has(lua, module):
            print(f"SKIP {lua}: Ctrl-C ends the wait: {module}: it isn't here")
            waits = [wait for wait in waits if module not in wait]
    with concurrent.futures.ThreadPoolExecutor(6) as beside:
        results = beside.map(lambda wait: outcome(lua, folder, "interrupt.lua", wait, interrupt_after=None if wait.startswith("as ") else "waiting",
                                                  GPUORCH_LIBRARY=str(LIBRARY)), waits)
        for wait, (code, said) in zip(waits, results):
            report(f"{lua}: Ctrl-C ends the wait: {wait}", (code, "interrupted!" in said, "it came" in said),
                   (codes.get(wait, 1), True, False), said)


def failures(lua, folder):
    """An error in a coroutine that nothing catches ends the script, with a traceback; luv itself ends the process."""
    for loop, code in (("loop", 1), ("luv", 255), ("cqueues", 1)):
        name = f"{lua}: an error in a coroutine ends the script: {loop}"
        if loop != "loop" and not has(lua, loop):
            print(f"SKIP {name}: {loop} isn't here")
            continue
        ended, said = outcome(lua, folder, "failing.lua", loop)
        report(name, (ended, "the sensor is unplugged" in said, "innermost" in said, "it went on" in said),
               (code, True, True, False), said)


def logs(lua, folder):
    """Lines that come while the state doesn't wait are kept, up to 1000; how many there were beyond is told."""
    _, said = outcome(lua, folder, "log.lua", GPUORCH_LIBRARY=str(BUILD / "tests/libgpuorch_odd.so"), GPUORCH_ODD="talkative")
    report(f"{lua}: lines of log that found no room are counted", said.split("\n")[0],
           "1001\tinfo line 1\tinfo line 1000\twarning 500 lines of log found no room", said)


def libraries(lua, folder):
    """No library, another one, an older and a newer one: a message, never a crash."""
    odd = BUILD / "tests/libgpuorch_odd.so"
    text = folder / "text.so"
    text.write_text("no library")
    for name, settings, good, words in (
            ("none", {"GPUORCH_LIBRARY": "/none/libgpuorch.so"}, False, "/none/libgpuorch.so"),
            ("a file that is none", {"GPUORCH_LIBRARY": str(text)}, False, "text.so"),
            ("another library", {"GPUORCH_LIBRARY": "libc.so.6"}, False, "it has no gpo_get_api"),
            ("one that refuses the version", {"GPUORCH_LIBRARY": str(odd), "GPUORCH_ODD": "refusing"}, False, "this module was made for"),
            ("an older one, with a shorter table", {"GPUORCH_LIBRARY": str(odd), "GPUORCH_ODD": "truncated"}, False, "a newer library"),
            ("a newer one, with a longer table", {"GPUORCH_LIBRARY": str(odd), "GPUORCH_ODD": "extended"}, True, "")):
        code, said = outcome(lua, folder, "require.lua", **settings)
        report(f"{lua}: require where the library is {name}", (code, words in said), (0 if good else 1, True), said)


def mpi(lua, folder):
    """A group of four processes that mpirun starts."""
    name = f"{lua}: four processes under mpirun have the sum"
    command = machine.mpirun(4)
    if not command:
        print(f"SKIP {name}: there is no mpirun of Open MPI")
        return
    code, said = outcome(lua, folder, "mpi.lua", before=command, GPUORCH_LIBRARY=str(LIBRARY), **machine.MPIRUN_ENVIRONMENT)
    report(name, (code, sorted(re.findall(r"rank \d of \d has the sum", said))), (0, [f"rank {rank} of 4 has the sum" for rank in range(4)]), said)


def module(lua, folder):
    """What is in the module's file, and what requiring it leaves behind."""
    dynamic = subprocess.run(["readelf", "-d", folder / "gpuorch.so"], text=True, capture_output=True).stdout
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic))
    report(f"{lua}: the module is linked to the C library alone", ("libc.so.6" in needed, needed - {"libc.so.6", "ld-linux-x86-64.so.2"}),
           (True, set()), dynamic)
    symbols = subprocess.run(["nm", "-D", "--defined-only", folder / "gpuorch.so"], text=True, capture_output=True).stdout
    report(f"{lua}: the module exports luaopen_gpuorch and nothing else", [line.split()[-1] for line in symbols.splitlines()],
           ["luaopen_gpuorch"])
    _, said = outcome(lua, folder, "globals.lua")
    report(f"{lua}: require leaves no globals behind", said, "gpuorch gpuorch.loop\n")


def plain(luas, parts):
    for lua in luas:
        if why_not := machine.lua_lacks(lua):
            print(f"SKIP {lua}: {why_not}")
            continue
        said = build(lua, MODULES / lua)
        report(f"{lua}: the module is built without a warning", said, "")
        if not (MODULES / lua / "gpuorch.so").exists():
            continue
        for script in sorted(HERE.glob("*_test.lua")):
            if any(part in script.name for part in parts):
                run(lua, script, MODULES / lua)
        for check in (module, ends, finalizers, interrupts, failures, logs, libraries, mpi):
            if any(part in check.__name__ for part in parts):
                check(lua, MODULES / lua)


def sanitized(luas, parts):
    """The test files, with the collector always at work, over a library (GPUORCH_BUILD) and a module built with ASan and UBSan. The interpreter wasn't: it
    gets their libraries, and a C++ runtime for ASan to find, by LD_PRELOAD."""
    folder = ROOT / "build/lua-asan"
    folder.mkdir(parents=True, exist_ok=True)
    preloaded = " ".join(subprocess.run([*os.environ.get("CXX", "c++").split(), f"-print-file-name={name}"], text=True,
                                        capture_output=True, check=True).stdout.strip()
                         for name in ("libasan.so", "libstdc++.so.6"))
    for lua in luas:
        if why_not := machine.lua_lacks(lua):
            print(f"SKIP asan {lua}: {why_not}")
            continue
        flags = "-O1 -g -fsanitize=address,undefined -fno-omit-frame-pointer -fno-sanitize-recover=undefined"
        said = build(lua, folder / lua, f"CFLAGS={flags}")
        report(f"asan {lua}: the module is built", said, "")
        for script in sorted(HERE.glob("*_test.lua")):
            if any(part in script.name for part in parts):
                run(lua, script, folder / lua, 300, GPUORCH_TEST_LUA=f"asan {lua}", GPUORCH_LIBRARY=str(LIBRARY),
                    LD_PRELOAD=preloaded, GPUORCH_TEST_STRESS="1",
                    ASAN_OPTIONS="allocator_may_return_null=1:strict_string_checks=1",
                    UBSAN_OPTIONS="print_stacktrace=1:halt_on_error=1")


def main():
    # Programs that a shell starts in the background ignore Ctrl-C, and so do their children.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    wishes = [word for word in sys.argv[1:] if not word.startswith("-")]
    parts = [word for word in wishes if word not in LUAS] or [""]
    if "--sanitized" in sys.argv:
        sanitized([lua for lua in LUAS if lua in wishes] or (LUAS if FULL else ("lua5.1", "lua5.4")), parts)
    else:
        plain([lua for lua in LUAS if lua in wishes] or (LUAS if FULL else (machine.lua() or "lua5.4",)), parts)


main()
