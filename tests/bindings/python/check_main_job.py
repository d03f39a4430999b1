#!/usr/bin/env python3
"""The main job in Python: what every main job must meet (../main_job.py)."""
import pathlib
import shutil
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(HERE.parent))
import main_job


def prepare(folder):
    """The sample as it lies in the tree."""
    (folder / "libgpuorch").mkdir()
    shutil.copy(ROOT / "libgpuorch/abi.json", folder / "libgpuorch")
    shutil.copytree(ROOT / "samples/python", folder / "samples/python", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "samples/stream_files.cu", folder / "samples")
    # One that any user may run, where there is one.
    return [shutil.which("python3", path="/usr/bin:/usr/local/bin") or sys.executable, folder / "samples/python/stream_files.py"]


main_job.check("Python", prepare)
