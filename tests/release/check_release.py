#!/usr/bin/env python3
"""The files of a release: made twice they are the same, and each installs into bare systems. See libgpuorch/release."""
import fnmatch
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
RELEASE, SUMS = ROOT / "libgpuorch/release", ROOT / "build/dist/SHA256SUMS"


def made(name):
    """What `make` leaves in SHA256SUMS, or None after saying why there is nothing."""
    SUMS.unlink(missing_ok=True)
    said = subprocess.run([RELEASE / "make"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if said.returncode == 0 and SUMS.exists():
        return SUMS.read_text()
    print(f"{said.stdout[-3000:]}{said.stderr[-3000:]}\nFAIL {name}: make ended with {said.returncode}")
    return None


def main():
    name = "make leaves the files of a release in build/dist"
    first = made(name)
    if not first:
        return
    kinds = ("docs.tar.gz", "linux-x86_64.tar.gz", ".deb", "-cp311-abi3-manylinux_*.whl", " gpuorch-*.tar.gz", ".src.rock", ".crate")
    missing = [kind for kind in kinds if not any(fnmatch.fnmatch(line, f"*{kind}") for line in first.splitlines())]
    print(f"FAIL {name}: there is no {', '.join(missing)} in\n{first}" if missing else f"PASS {name}")

    name = "made again, they are the same, bit for bit"
    second = made(name)
    if second:
        other = sorted(set(first.splitlines()) ^ set(second.splitlines()), key=lambda line: line.split()[-1])
        print(f"FAIL {name}: {other}" if other else f"PASS {name}")

    if os.getuid() != 0:
        print("SKIP each of them installs into bare systems: only root can make systems")
        return
    subprocess.run([RELEASE / "check", "--tests", pathlib.Path(os.environ["GPUORCH_BUILD"]) / "tests/gpuorch_conformance"],
                   stdin=subprocess.DEVNULL)


main()
