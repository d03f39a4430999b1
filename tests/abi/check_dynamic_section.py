#!/usr/bin/env python3
"""What the shared library asks of the machine it is loaded on: nothing of NVIDIA's, nothing of Boost's, no code of ours
before it is called."""
import json
import os
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIBRARY = pathlib.Path(os.environ["GPUORCH_BUILD"]) / "libgpuorch" / "libgpuorch.so"
ALLOWED = re.compile(r"libstdc\+\+\.so\.6|libgcc_s\.so\.1|libc\.so\.6|libm\.so\.6|ld-linux[-a-z0-9_]*\.so\.\d")


def check(name, problem):
    print(f"FAIL {name}: {problem}" if problem else f"PASS {name}")


def main():
    def read(*arguments):
        return subprocess.run([*arguments, LIBRARY], check=True, capture_output=True, text=True).stdout

    dynamic = read("readelf", "-dW")
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)
    check("it needs the C++ runtime and libc alone", [name for name in needed if not ALLOWED.fullmatch(name)])
    soname = re.findall(r"soname: \[(.*)\]", dynamic)
    named = json.loads((ROOT / "libgpuorch/abi.json").read_text())["library"]
    check("its SONAME is the name that abi.json and types.h have", "" if soname == [named] else f"it is {soname}, not {named}")
    check("it is never unloaded", "" if "NODELETE" in dynamic else "NODELETE is not set")
    check("its symbols are bound at load", "" if "NOW" in dynamic else "BIND_NOW is not set")
    check("its code is position independent", "TEXTREL" if "TEXTREL" in dynamic else "")
    check("no path of the build is in it", re.findall(r"\((?:RPATH|RUNPATH)\).*", dynamic))
    unresolved = subprocess.run(["ldd", "-r", LIBRARY], capture_output=True, text=True)
    check("it lacks no symbol", [line for line in (unresolved.stdout + unresolved.stderr).splitlines()
                                 if "undefined symbol" in line][:5])
    size = re.search(r"\(INIT_ARRAYSZ\)\s+(\d+)", dynamic)
    count = int(size.group(1)) // 8 - 1 if size else 0  # the compiler makes one entry (frame_dummy)
    constructors = set(re.findall(r"_GLOBAL__(?:sub_)?I_\S+", read("readelf", "-sW")))
    check("it has no static constructor", list(constructors) or (f"{count} of them" if count > 0 else ""))
    stack = re.search(r"GNU_STACK.*?(RWE?)\s", read("readelf", "-lW"))
    check("its stack is not executable", "" if stack and stack.group(1) == "RW" else "it is")


main()
