#!/usr/bin/env python3
"""Makes builtin.ptx, condition.ptx, push.ptx and combine.ptx from the sources of these names with the pinned nvcc:
make_builtin.py NVCC [FOLDER].

The PTX is for the oldest architecture that this nvcc knows, so that every newer device's driver can translate it. Its
`.version`, which is the compiler's own, is lowered to that of the oldest driver that can use it: 8.2, of CUDA 12.2, and
for conditional nodes 8.3, of CUDA 12.3.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ARCHITECTURE = "compute_75"
PTX_VERSIONS = {"builtin": "8.2", "condition": "8.3", "push": "8.2", "combine": "8.2"}
OPTIONS = {"combine": ["-fmad=false"]}   # the host's compiler doesn't contract either


def make(nvcc, name):
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder) / f"{name}.ptx"
        # Run beside the source: no path of this machine comes into the text.
        subprocess.run([nvcc, "-ptx", f"-arch={ARCHITECTURE}", "-std=c++17", *OPTIONS.get(name, []), "-o", str(output),
                        f"{name}.cu"], cwd=HERE, check=True)
        text = output.read_text()
    return re.sub(r"^\.version .*$", f".version {PTX_VERSIONS[name]}", text, count=1, flags=re.M)


def main():
    folder = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else HERE
    for name in PTX_VERSIONS:
        (folder / f"{name}.ptx").write_text(make(str(pathlib.Path(sys.argv[1]).resolve()), name))


if __name__ == "__main__":
    main()
