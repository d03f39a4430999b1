#!/usr/bin/env python3
"""samples/run --lang c|cpp|rust|lua|python: the same file in each language gives the same lines, times aside; Rust's is linked by
pkg-config. It builds and installs the library for itself, which takes minutes: only in full runs."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
LANGUAGES = ("c", "cpp", "rust", "lua", "python")
TIMES = re.compile(r"[\d.]+ GB/s, \d+ % of copying hidden")


def report(name, got, right, more=""):
    print(f"PASS {name}" if got == right else f"{more}\nFAIL {name}: {got!r} in place of {right!r}", flush=True)


def run(*arguments):
    done = subprocess.run([ROOT / "samples/run", *arguments], text=True, capture_output=True, timeout=3600)
    return done.returncode, TIMES.sub("TIMES", done.stdout), done.stderr


def main():
    with tempfile.TemporaryDirectory() as folder:
        file, empty = pathlib.Path(folder) / "file", pathlib.Path(folder) / "empty"
        file.write_bytes(os.urandom(3_000_001))
        empty.write_bytes(b"")
        said = {}
        for language in LANGUAGES:
            code, said[language], errors = run("--lang", language, file, empty)
            mapped = pathlib.Path(folder) / language
            mapped.mkdir()
            again, _, _ = run(f"--lang={language}", "-o", mapped, file)
            report(f"samples/run --lang {language} streams files", (code, again, [path.name for path in mapped.iterdir()]),
                   (1, 0, ["file"]), errors)
            report(f"samples/run --lang {language} names the empty one", f"{empty}: it is empty" in errors, True, errors)
            report(f"samples/run --lang {language} says what C does", said[language], said["c"])
        report("what samples/run prints names the files and has times", (str(file) in said["c"], "TIMES" in said["c"]), (True, True), said["c"])
        code, out, errors = run("--all")
        kept = [path for path in [*(ROOT / "samples").glob("*/*.*"), *(ROOT / "samples/python/package").glob("*.py")] if path.name != "command_line.lua"]
        skipped = errors.count("torch_model: PyTorch ")  # the only sample that needs more than the library
        report("samples/run --all runs every sample", (code, out.count("== samples/"), out.splitlines()[-1:]),
               (0, len(kept), [f"{len(kept) - skipped} samples ran, 0 failed, {skipped} skipped"]), errors)
        code, out, errors = run("--lang", "cobol", file)
        named = "c, cpp, asio, rust, lua, python" in errors
        report("samples/run names the languages there are", (code, out, named), (2, "", True), errors)


if "--full" in sys.argv:
    main()
else:
    print("SKIP samples/run in every language, one after the other: it builds a release of each, with --full only")
