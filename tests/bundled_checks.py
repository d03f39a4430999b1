#!/usr/bin/env python3
"""Runs the checks that need no build, in a folder that tests/bundle made. GPUORCH_DEVICE chooses the device.

    run --device cuda checks [NAME]...     all checks, or those with a NAME in their names: "process/trace",
                                           "process/pictures", "process/metrics", "process/nvtx", "process/main_job",
                                           "cpp/objects", "cpp/main_job", "python/main_job", "rust/main_job",
                                           "lua/main_job"

The last line has the numbers of passed, failed and skipped tests.
"""
import os
import pathlib
import sys

TESTS = pathlib.Path(__file__).resolve().parent
sys.path.append(str(TESTS / "runner"))
import programs
import tally as tallies

CHECKS = ("process/trace", "process/pictures", "process/metrics", "process/nvtx", "process/main_job", "cpp/objects", "cpp/main_job",
          "python/main_job", "rust/main_job", "lua/main_job")


def script(label):
    folder, name = label.split("/")
    return TESTS / (folder if folder in ("process", "cpp") else f"bindings/{folder}") / f"check_{name}.py"


def main(names):
    wanted = [label for label in CHECKS if not names or any(name in label for name in names)]
    if not wanted:
        sys.exit(f"checks: none is called {' or '.join(names)}; there are {', '.join(CHECKS)}")
    tally = tallies.Tally()
    for label in wanted:
        programs.run_script(script(label), [], label, tally, dict(os.environ), 300)
    passed, failed, skipped = tally.counts()
    print(*tally.output, f"{passed} passed, {failed} failed, {skipped} skipped", sep="\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
