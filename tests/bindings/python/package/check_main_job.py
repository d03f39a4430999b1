#!/usr/bin/env python3
"""The main job with the package: what every main job must meet (../../main_job.py)."""
import os
import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
import main_job
from main_job import built


def prepare(folder):
    """The sample and the package, where any user may read them. An interpreter that any user may run, if installed."""
    package = pathlib.Path(os.environ["PYTHONPATH"])
    samples = "samples/python/package"
    for source, target in ((package / "gpuorch", "gpuorch"), (built.ROOT / samples, samples)):
        shutil.copytree(source, folder / target, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(built.ROOT / "samples/stream_files.cu", folder / "samples")
    os.environ["PYTHONPATH"] = str(folder)
    python = sys.executable
    if any(folder.name == "root" for folder in pathlib.Path(python).resolve().parents):
        python = shutil.which("python3", path="/usr/bin:/usr/local/bin") or python
    return [python, folder / "samples/python/package/stream_files.py"]


main_job.check("Python's package", prepare)
