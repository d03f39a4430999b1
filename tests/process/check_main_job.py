#!/usr/bin/env python3
"""Builds samples/c/stream_files.c and has it meet what every main job must: see bindings/main_job.py."""
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "samples/c/stream_files.c"
sys.path.insert(0, str(ROOT / "tests/bindings"))
import main_job


def compiled(source, folder, *more):
    program = folder / source.stem
    subprocess.run([*os.environ.get("CC", "cc").split(), "-std=c11", "-O2", "-Wall", "-Wextra", "-Werror",
                    f"-I{ROOT}/libgpuorch/include", "-o", program, source, f"-L{main_job.BUILD}/libgpuorch", "-lgpuorch",
                    "-lm", *more], check=True)
    return [program]


def words(text):
    """Of C, without comments: names, numbers, strings, and each other character."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.S)
    return re.findall(r'"[^"]*"|\w+|\S', text)


def kernel_text(folder):
    """The kernel that the sample carries."""
    source = folder / "print_kernel.c"
    source.write_text(f'#define main sample\n#include "{SAMPLE}"\n#undef main\nint main(void) {{ puts(kernel_source); }}\n')
    return subprocess.run(compiled(source, folder), env={**os.environ, "LD_LIBRARY_PATH": f"{main_job.BUILD}/libgpuorch"},
                          check=True, capture_output=True, text=True).stdout


def prepare(folder):
    source = SAMPLE.read_text()
    main_job.report("C: the sample is short and uses the public headers only", (source.count("\n") < 180, True),
                    (re.findall(r'#include [<"](gpuorch[^>"]*)', source), ["gpuorch/gpuorch.h"]))
    main_job.report("C: its kernel is the one that the other samples read",
                    (words(kernel_text(folder)), words((ROOT / "samples/stream_files.cu").read_text())))
    return compiled(SAMPLE, folder)


main_job.check("C", prepare)
