#!/usr/bin/env python3
"""Compares the ABI of the library with the dump that was accepted last (gpuorch.abi, written by tests/abi/accept)."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
DUMP = HERE / "gpuorch.abi"


def dump(library, output):
    subprocess.run(["abidw", "--headers-dir", ROOT / "libgpuorch" / "include", "--drop-private-types",
                    "--exported-interfaces-only", "--no-corpus-path", "--no-comp-dir-path", "--no-show-locs",
                    "--type-id-style", "hash", "--out-file", output, library], check=True)
    output.write_text(output.read_text().replace(f"{ROOT}/", ""))  # where it was built is nobody's business


def main():
    library = pathlib.Path(os.environ.get("GPUORCH_BUILD", ROOT / "build" / "tests")) / "tests" / "libgpuorch_described.so"
    if "--accept" in sys.argv:
        dump(library, DUMP)
        print(f"accepted: {DUMP.relative_to(ROOT)} describes {library}")
        return
    name = "the ABI is the one accepted last"
    if not shutil.which("abidiff"):
        print(f"SKIP {name}: abidiff is not installed")
        return
    if not DUMP.exists():
        print(f"FAIL {name}: none was accepted yet; tests/abi/accept does it")
        return
    with tempfile.TemporaryDirectory() as folder:
        now = pathlib.Path(folder) / "now.abi"
        dump(library, now)
        result = subprocess.run(["abidiff", DUMP, now], capture_output=True, text=True)
    if result.returncode == 0:
        print(f"PASS {name}")
        return
    print(result.stdout, result.stderr)
    kind = "an incompatible change" if result.returncode & 8 else "a change"
    print(f"FAIL {name}: {kind}; if it is meant, say so in CHANGELOG.md and run tests/abi/accept")


main()
