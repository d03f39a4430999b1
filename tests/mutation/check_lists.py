#!/usr/bin/env python3
"""The lists of mutants match the sources: each text to be changed is there once. Whether the tests catch the mutants is
what `tests/mutation/run` says, which takes far longer."""
import pathlib
import subprocess
import sys

NAME = "every text of the lists of mutants is in the sources once"
outcome = subprocess.run([sys.executable, pathlib.Path(__file__).with_name("run"), "--list"], stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
if outcome.returncode == 0 and outcome.stdout:
    print(f"PASS {NAME}")
else:
    print(f"{outcome.stdout[-2000:]}\nFAIL {NAME}")
