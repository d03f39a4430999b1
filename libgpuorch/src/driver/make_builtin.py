#!/usr/bin/env python3
"""Makes builtin.ptx from builtin.cu with the pinned nvcc: make_builtin.py NVCC [OUTPUT].

The PTX is for the oldest architecture that this nvcc knows, so that every newer device's driver can translate it, and
its `.version`, which is the compiler's own, is lowered to 8.2: the floor is the driver of CUDA 12.2, and nothing newer
is used.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ARCHITECTURE, PTX_VERSION = "compute_75", "8.2"


def make(nvcc):
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder) / "builtin.ptx"
        # Run beside the source: no path of this machine comes into the text.
        subprocess.run([nvcc, "-ptx", f"-arch={ARCHITECTURE}", "-std=c++17", "-o", str(output), "builtin.cu"], cwd=HERE,
                       check=True)
        text = output.read_text()
    return re.sub(r"^\.version .*$", f".version {PTX_VERSION}", text, count=1, flags=re.M)


def main():
    output = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else HERE / "builtin.ptx"
    output.write_text(make(str(pathlib.Path(sys.argv[1]).resolve())))


if __name__ == "__main__":
    main()
