#!/usr/bin/env python3
"""Builds samples/rust/stream_files.rs and has it meet what every main job must: see bindings/main_job.py."""
import pathlib
import shutil
import sys

import workspace
sys.path.insert(0, str(workspace.ROOT / "tests/bindings"))
import main_job

SAMPLES = workspace.ROOT / "samples/rust"


def prepare(folder):
    for source in sorted(SAMPLES.glob("*.rs")):
        text = source.read_text()
        unsafe = [line for line in text.splitlines() if "unsafe " in line]
        main_job.report(f"Rust: {source.stem} is unsafe in nothing but binding a kernel",
                        ([line for line in unsafe if "bind::<" not in line], []))
    workspace.built("--release", "-p", "gpuorch-samples", "--features", "dynamic-loading")
    return [pathlib.Path(shutil.copy(workspace.TARGET / "release/stream_files", folder))]


main_job.check("Rust", prepare)
