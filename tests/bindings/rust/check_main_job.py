#!/usr/bin/env python3
"""samples/rust/stream_files.rs meets what every main job must: see bindings/main_job.py."""
import pathlib
import shutil
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
    workspace.built("--release", "-p", "gpuorch-samples", "--features", "dynamic-loading")
    return workspace.TARGET / "release/stream_files"


def prepare(folder):
    return [pathlib.Path(shutil.copy(program(), folder))]


main_job.check("Rust", prepare)
