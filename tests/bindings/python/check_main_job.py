#!/usr/bin/env python3
"""The main job in Python: what every main job must meet (../main_job.py)."""
import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import main_job
from main_job import built


def prepare(folder):
    """The sample and the module, at their places in the tree."""
    for name in ("samples/python", "bindings/python/ctypes"):
        shutil.copytree(built.ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(built.ROOT / "samples/stream_files.cu", folder / "samples")
    # An interpreter that any user may run, if installed.
    return [shutil.which("python3", path="/usr/bin:/usr/local/bin") or sys.executable, folder / "samples/python/stream_files.py"]


main_job.check("Python", prepare)
