#!/usr/bin/env python3
"""samples/rust/stream_files.rs meets what every main job must: see bindings/main_job.py. And first.rs computes."""
import os
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import main_job
from main_job import built


def program():
    if built.BUNDLE:
        return built.BUNDLE / "rust/stream_files"
    import workspace
    for source in sorted((built.ROOT / "samples/rust").glob("*.rs")):
        text = source.read_text()
        unsafe = [line for line in text.splitlines() if "unsafe " in line]
        main_job.report(f"Rust: {source.stem} is unsafe in nothing but binding a kernel",
                        ([line for line in unsafe if "bind::<" not in line], []))
    workspace.built("--release", "-p", "gpuorch-samples", "--features", "load")
    return workspace.TARGET / "release/stream_files"


def first(folder, program):
    """The first program, beside the other; the folder has the library."""
    for device, right in ((os.environ.get("GPUORCH_DEVICE", "soft"), (0, "x[1000] is 500\n", "")), ("nonsense", (1, "", "nonsense"))):
        done = subprocess.run([program], capture_output=True, text=True, timeout=120, env={
            **os.environ, "GPUORCH_DEVICE": device, "GPUORCH_LIBRARY": str(folder / "libgpuorch.so.0.1"),
            "LD_LIBRARY_PATH": built.library_path(folder)})
        said = right[2] if right[2] and right[2] in done.stderr else done.stderr
        main_job.report(f"Rust: first ends as it should on device {device}", ((done.returncode, done.stdout, said), right))


def prepare(folder):
    sample = program()
    first(folder, sample.parent / "first")
    return [pathlib.Path(shutil.copy(sample, folder))]


main_job.check("Rust", prepare)
