#!/usr/bin/env python3
"""samples/cpp/stream_files.cpp meets what every main job must: see bindings/main_job.py."""
import pathlib
import re
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "bindings"))
import main_job
from main_job import built

SAMPLE = built.ROOT / "samples/cpp/stream_files.cpp"


def prepare(folder):
    if built.BUNDLE:
        print("SKIP C++: the sample is shorter than C's and uses gpuorch.hpp only: a bundle has no sources")
    else:
        source, in_c = SAMPLE.read_text(), (built.ROOT / "samples/c/stream_files.c").read_text()
        main_job.report("C++: the sample is shorter than C's and uses gpuorch.hpp only",
                        (len(source) < 0.8 * len(in_c), True),
                        (re.findall(r'#include [<"](gpuorch[^>"]*)', source), ["gpuorch/gpuorch.hpp"]),
                        (re.findall(r"\bgpo_\w+\(", source), []))
    shutil.copy(built.ROOT / "samples/stream_files.cu", folder)
    return [built.cpp_program(SAMPLE, folder, "-Wall", "-Wextra", "-Wpedantic", "-Werror")]


main_job.check("C++", prepare)
