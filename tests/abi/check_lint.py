#!/usr/bin/env python3
"""Linters, each with a short list of what is always a mistake, where they are installed: shellcheck, ruff, luacheck."""
import pathlib
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = (".ci", "libgpuorch", "bindings", "samples", "tests")


def sources(pattern):
    return sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob(pattern)
                  if path.is_file() and not {"target", "types"} & {*path.parts})


def scripts():
    return [path for path in sources("*") if not path.suffix and path.open("rb").readline().startswith(b"#!/bin/sh")]


LINTERS = (
    # `name= other=` sets variables to nothing.
    ("shellcheck", ["shellcheck", "-f", "gcc", "-S", "warning", "-e", "SC1007"], scripts),
    # Names that nothing defines or uses, and what can't be parsed. Variables may keep an object alive (F841), and be deleted
    # behind the functions that read them.
    ("ruff", ["ruff", "check", "--isolated", "--no-cache", "--quiet", "--output-format", "concise", "--select", "F,E9,PLE",
              "--ignore", "F841", "--per-file-ignores", "check_collecting.py:F821"], lambda: sources("*.py")),
    # Names that nothing defines (starve: of the program that runs the script), local variables that nothing uses.
    ("luacheck", ["luacheck", "-qq", "--no-color", "--codes", "--only", "0", "113", "211", "--read-globals", "starve", "--"],
     lambda: sources("*.lua")),
)


def main():
    for linter, command, files in LINTERS:
        name = f"{linter} finds no mistake"
        if not shutil.which(linter):
            print(f"SKIP {name}: {linter} is not installed")
            continue
        result = subprocess.run([*command, *files()], capture_output=True, text=True)
        said = [line.replace(f"{ROOT}/", "") for line in (result.stdout + result.stderr).splitlines() if line.strip()]
        print(f"FAIL {name}: {'; '.join(said[:8])}" if result.returncode else f"PASS {name}")


main()
