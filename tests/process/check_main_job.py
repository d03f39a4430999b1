#!/usr/bin/env python3
"""samples/c/stream_files.c meets what every main job must: see bindings/main_job.py."""
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "bindings"))
import main_job
from main_job import built

SAMPLE = built.ROOT / "samples/c/stream_files.c"


def compiled(source, folder):
    return built.c_program(source, folder, "-Wall", "-Wextra", "-Werror")


def words(text):
    """Of C, without comments and conditions: names, numbers, strings, and each other character."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*|^#(ifdef|endif)[^\n]*", " ", text, flags=re.S | re.M)
    return re.findall(r'"[^"]*"|\w+|\S', text)


def kernel_text(folder):
    """The kernel that the sample carries."""
    source = folder / "print_kernel.c"
    source.write_text(f'#define main sample\n#include "{SAMPLE}"\n#undef main\nint main(void) {{ puts(kernel_source); }}\n')
    environment = {"LD_LIBRARY_PATH": built.library_path(built.LIBRARIES)}
    return subprocess.run(compiled(source, folder), env=environment, check=True, capture_output=True, text=True).stdout


def look_at_source(folder):
    source = SAMPLE.read_text()
    main_job.report("C: the sample is short and uses the public headers only", (source.count("\n") < 180, True),
                    (re.findall(r'#include [<"](gpuorch[^>"]*)', source), ["gpuorch/gpuorch.h"]))
    main_job.report("C: its kernel is the one that the other samples read",
                    (words(kernel_text(folder)), words((built.ROOT / "samples/stream_files.cu").read_text())))


def prepare(folder):
    if built.BUNDLE:
        print("SKIP C: the sample is short and uses the public headers only: a bundle has no sources")
    else:
        look_at_source(folder)
    return [compiled(SAMPLE, folder)]


main_job.check("C", prepare)
