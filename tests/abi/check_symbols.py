#!/usr/bin/env python3
"""The exported symbols, the headers, functions.txt and the table of gpo_get_api name the same functions."""
import ctypes
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
ABI = ROOT / "libgpuorch" / "src" / "abi"
LIBRARY = pathlib.Path(os.environ["GPUORCH_BUILD"]) / "libgpuorch" / "libgpuorch.so"


def check(name, problems):
    more = f"; and {len(problems) - 5} more" if len(problems) > 5 else ""
    print(f"FAIL {name}: {'; '.join(problems[:5])}{more}" if problems else f"PASS {name}")


def main():
    lines = subprocess.run(["nm", "-D", "--defined-only", LIBRARY], check=True, capture_output=True, text=True).stdout
    symbols = [line.split()[-1].split("@") for line in lines.splitlines()]
    exported = {words[0] for words in symbols if len(words) > 1}  # the version node itself has no version
    listed = (ABI / "functions.txt").read_text().split()
    check("nothing but gpo_* is exported",
          [symbol for symbol in exported if not re.fullmatch(r"gpo_[a-z0-9_]+", symbol)])
    check("what is exported is listed, and what is listed is exported",
          [f"{name} is not listed" for name in sorted(exported - {*listed, "gpo_get_api"})] +
          [f"{name} is not exported" for name in sorted({*listed, "gpo_get_api"} - exported)])
    needed = subprocess.run(["nm", "-D", "--undefined-only", LIBRARY], check=True, capture_output=True, text=True).stdout
    check("no object of a thread has a destructor: glibc ends the process where it has no memory to note one",
          re.findall(r"__cxa_thread_atexit\w*", needed))
    made = subprocess.run([sys.executable, ABI / "generate_api.py", "--check"], capture_output=True, text=True)
    check("the table is made from the headers as they are", [made.stderr.strip()] if made.returncode else [])

    # The members behind the two counters, one pointer each, in the order of the list.
    library = ctypes.CDLL(str(LIBRARY))
    if not hasattr(library, "gpo_get_api"):
        print("FAIL the table holds each function at its place: there is no gpo_get_api")
        return
    version = int(re.search(r"#define GPO_VERSION (\d+)",
                            (ROOT / "libgpuorch/include/gpuorch/types.h").read_text()).group(1))
    library.gpo_get_api.restype = ctypes.c_void_p
    table = library.gpo_get_api(ctypes.c_uint32(version))
    size = ctypes.c_uint32.from_address(table).value
    pointers = (ctypes.c_void_p * len(listed)).from_address(table + 8)
    problems = [] if size == 8 + 8 * len(listed) else [f"struct_size is {size} for {len(listed)} functions"]
    problems += [name for name, pointer in zip(listed, pointers) if not problems and
                 (not hasattr(library, name) or ctypes.cast(getattr(library, name), ctypes.c_void_p).value != pointer)]
    check("the table holds each function at its place", problems)
    unknown = library.gpo_get_api(ctypes.c_uint32(4000000000))
    check("an unknown version gets no table", [] if unknown is None else ["it got one"])


main()
