#!/usr/bin/env python3
"""The cases of lifecycle.txt, by a driver in each language: each transcript is the file itself."""
import difflib
import functools
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "rust"))
sys.path.append(str(HERE.parents[1] / "support"))
import machine
import workspace

ROOT = HERE.parents[2]
BUILD = pathlib.Path(os.environ["GPUORCH_BUILD"])
CASES = HERE.parent / "lifecycle.txt"


class NotHere(Exception):
    """Why a language can't be tried on this machine."""


def run(*command):
    outcome = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if outcome.returncode != 0:
        raise RuntimeError(outcome.stdout)


# Each gives the command of its driver.

def c(folder):
    program = folder / "driver"
    run(*os.environ.get("CC", "cc").split(), "-std=c11", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror",
        f"-I{ROOT}/libgpuorch/include", "-o", program, HERE / "driver.c", f"-L{BUILD}/libgpuorch", "-lgpuorch",
        f"-Wl,-rpath,{BUILD}/libgpuorch")
    return [program]


def rust(_):
    if not shutil.which(workspace.PROGRAM):
        raise NotHere("there is no cargo (.ci/setup rust installs it)")
    code, output = workspace.cargo("build", "--locked", "-p", "gpuorch-samples", "--bin", "lifecycle",
                                   "--features", "load")
    if code != 0:
        raise RuntimeError(output)
    return [workspace.TARGET / "debug/lifecycle"]


def lua(interpreter, folder):
    if why_not := machine.lua_lacks(interpreter):
        raise NotHere(f"{interpreter}: {why_not} (.ci/setup gets it where the distribution has it)")
    run("make", "-s", "-C", ROOT / "bindings/lua", f"LUA={interpreter}", f"OUT={folder / interpreter}")
    return ["env", f"LUA_CPATH={folder / interpreter}/?.so", interpreter, HERE / "driver.lua"]


NEWEST = machine.lua() or "lua5.4"
DRIVERS = {"C": c, "Rust": rust, NEWEST.replace("lua", "Lua "): functools.partial(lua, NEWEST), "LuaJIT": functools.partial(lua, "luajit")}


def lines(text):
    """{case: its steps}, without comments."""
    cases, name = {}, None
    for line in text.splitlines():
        if line.startswith("case "):
            name = line.removeprefix("case ")
            cases[name] = []
        elif line.strip() and not line.startswith("#"):
            cases[name].append(line)
    return cases


def transcript(command, text):
    result = subprocess.run(command, input=text, capture_output=True, text=True, timeout=120,
                            env={**os.environ, "GPUORCH_LIBRARY": str(BUILD / "libgpuorch/libgpuorch.so.0.1")})
    return result.returncode, lines(result.stdout), result.stderr


def main():
    text = CASES.read_text()
    wanted = lines(text)
    with tempfile.TemporaryDirectory() as folder:
        for language, prepare in DRIVERS.items():
            try:
                command = prepare(pathlib.Path(folder))
            except NotHere as reason:
                print(f"SKIP {language}: {reason}")
                continue
            except RuntimeError as error:
                print(error)
                print(f"FAIL {language}: the driver is built")
                continue
            code, got, errors = transcript(command, text)
            for name, steps in wanted.items():
                difference = [line for line in difflib.ndiff(steps, got.get(name, [])) if line[0] in "-+"]
                print(f"FAIL {language}: {name}: {'; '.join(difference[:6])}" if difference else f"PASS {language}: {name}")
            if code != 0 or got.keys() - wanted.keys():
                print(f"FAIL {language}: the driver comes to its end: exit code {code} {errors[-400:]}")
            # A step with another outcome shows in the transcript.
            other = "case canary\nruntime r -> SUCCESS\nuse r -> TIMEOUT\nshutdown r -> CANCELLED\n"
            told = transcript(command, other)[1].get("canary")
            right = ["runtime r -> SUCCESS", "use r -> SUCCESS", "shutdown r -> SUCCESS"]
            print(f"PASS {language}: what didn't come true is not said" if told == right else
                  f"FAIL {language}: what didn't come true is not said: {told}")


main()
