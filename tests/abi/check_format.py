#!/usr/bin/env python3
"""Lines of C and C++ have at most 120 columns, as .clang-format says. Kernel sources inside raw strings are left out, and
files in LIMITS may have that many longer lines; the limits only fall. No source has tabs or blanks at the end of a line.

    tests/abi/check_format.py [--list]     prints the longer lines"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("libgpuorch", "bindings", "samples", "tests")
COLUMNS = 120
C = {".h", ".c", ".cpp", ".hpp", ".cu", ".cuh"}
SOURCES = C | {".py", ".rs", ".lua", ".toml", ".cmake"}
LIMITS = {
    "libgpuorch/src/softgpu/cuda_device/gpo_cluster.h": 3,
    "libgpuorch/src/softgpu/cuda_device/gpo_lanes.h": 25,
    "libgpuorch/src/softgpu/cuda_device/gpo_launches.h": 2,
    "libgpuorch/src/softgpu/cuda_device/gpo_math.h": 13,
    "libgpuorch/src/softgpu/cuda_device/gpo_narrow.h": 6,
    "libgpuorch/src/softgpu/cuda_device/gpo_spaces.h": 8,
    "libgpuorch/src/softgpu/cuda_device/gpo_special.h": 62,
    "libgpuorch/src/softgpu/cuda_device/gpo_thread.h": 3,
    "libgpuorch/src/softgpu/cuda_device/include/cooperative_groups.h": 24,
    "libgpuorch/src/softgpu/cuda_device/include/cuda_bf16.h": 2,
    "libgpuorch/src/softgpu/cuda_device/include/cuda_fp16.h": 1,
    "tests/conformance/negative_pipeline_rows.cpp": 4,
    "tests/conformance/negative_rows.cpp": 7,
}

RAW = re.compile(r'R"([^(\s]*)\(.*?\)\1"', re.DOTALL)


def long_lines(text):
    """The numbers of the longer lines."""
    raw = set()
    for match in RAW.finditer(text):
        first = text.count("\n", 0, match.start()) + 1
        raw.update(range(first, first + match.group().count("\n") + 1))
    return [number for number, line in enumerate(text.split("\n"), 1) if len(line) > COLUMNS and number not in raw]


def sources():
    return sorted(str(path.relative_to(ROOT)) for folder in FOLDERS for path in (ROOT / folder).rglob("*")
                  if path.suffix in SOURCES and path.is_file() and "target" not in path.parts)


def say(name, problems):
    print(f"FAIL {name}: {'; '.join(problems[:5])}" if problems else f"PASS {name}")


def main():
    sample = "a" * 121 + "\nchar x[] = R\"(\n" + "b" * 130 + "\n)\";\n" + "c" * 120 + "\n"
    say("the check of columns finds a long line, and not those of a kernel in a string", [] if long_lines(sample) == [1] else ["no"])
    found, blanks = {}, []
    for path in sources():
        text = (ROOT / path).read_text()
        blanks += [f"{path}:{number}" for number, line in enumerate(text.split("\n"), 1)
                   if line != line.rstrip() or "\t" in line]
        if pathlib.Path(path).suffix in C and (numbers := long_lines(text)):
            found[path] = numbers
    if "--list" in sys.argv:
        print(*(f"{path}:{number}" for path, numbers in found.items() for number in numbers), sep="\n")
    say(f"lines of C and C++ have at most {COLUMNS} columns", [
        f"{path}:{numbers[0]} and {len(numbers) - 1} more" for path, numbers in found.items() if len(numbers) > LIMITS.get(path, 0)])
    say("the limits of longer lines are used up", [
        f"{path}: {len(found.get(path, []))} of {limit}" for path, limit in LIMITS.items() if len(found.get(path, [])) < limit])
    say("no source has tabs, or blanks at the end of a line", blanks)


main()
