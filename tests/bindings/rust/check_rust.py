#!/usr/bin/env python3
"""The crates in bindings/rust: their tests, over the library that counts calls and linked to the library itself, what the
tools say of them, and the bindings made anew. Cargo's own tests are in the crates.

Run by tests/run; by hand GPUORCH_BUILD=build/dev tests/bindings/rust/check_rust.py [PART]...
"""
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
WORKSPACE = ROOT / "bindings" / "rust"
BUILD = pathlib.Path(os.environ.get("GPUORCH_BUILD", ROOT / "build" / "tests")).resolve()
LIBRARY = BUILD / "libgpuorch"
COUNTING = BUILD / "tests" / "libgpuorch_counting.so"
DEPS = pathlib.Path(os.environ.get("GPUORCH_DEPS", ROOT / "build" / "deps"))
TARGET = ROOT / "build" / "rust"


def environment(**more):
    """What every cargo gets. Nothing leads to another libgpuorch than the one that was built."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("CARGO_", "RUST"))
            or name in ("CARGO_HOME", "RUSTUP_HOME")}
    for name in ("GPUORCH_LIBRARY", "GPUORCH_LIB_DIR", "LD_LIBRARY_PATH", "LD_PRELOAD"):
        kept.pop(name, None)
    return {**kept, "CARGO_TARGET_DIR": str(TARGET), "CARGO_TERM_COLOR": "never", "CARGO_INCREMENTAL": "0", **more}


def cargo(*arguments, program="cargo", limit=540, **more):
    outcome = subprocess.run([program, *arguments], cwd=WORKSPACE, env=environment(**more), text=True, timeout=limit,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return outcome.returncode, outcome.stdout


def say(name, good, text=""):
    """One line of the report; what a tool has said goes above it where it failed."""
    if good:
        print(f"PASS {name}", flush=True)
    else:
        print(text)
        print(f"FAIL {name}", flush=True)


def tests(label, *arguments, **more):
    """cargo test: a line for each test, and one where it didn't come to its end."""
    code, output = cargo("test", "--locked", "--no-fail-fast", *arguments, **more)
    failed = False
    for name, note, verdict in re.findall(r"^test (.+?)( - should panic| - compile fail)? \.\.\. (ok|FAILED|ignored.*)$",
                                          output, re.MULTILINE):
        if verdict.startswith("ignored"):
            print(f"SKIP {label}: {name}: {verdict.partition(', ')[2] or 'it is marked as ignored'}")
        else:
            failed = failed or verdict == "FAILED"
            print(f"{'PASS' if verdict == 'ok' else 'FAIL'} {label}: {name}")
    for name, reason in re.findall(r"^SKIP (\S+): (.+)$", output, re.MULTILINE):
        print(f"SKIP {label}: {name}: {reason}")
    if code != 0:
        print(output)
        if not failed:
            print(f"FAIL {label}: cargo test ended with exit code {code}")


def counted():
    tests("dynamic", "--features", "dynamic-loading", GPUORCH_LIBRARY=str(COUNTING))


def linked():
    tests("linked", "--test", "streams", GPUORCH_LIB_DIR=str(LIBRARY), LD_LIBRARY_PATH=str(LIBRARY))


def bindings():
    code, output = cargo("run", "--locked", "--quiet", "-p", "xtask", "--", "bindings", "--check")
    if "couldn't find any valid shared libraries" in output or "Unable to find libclang" in output:
        print("SKIP bindings: made anew they are the same: there is no libclang")
    else:
        say("bindings: made anew they are the same", code == 0, output)


def clippy():
    for features in ((), ("--features", "dynamic-loading")):
        code, output = cargo("clippy", "--locked", "--workspace", "--all-targets", *features, "--", "-D", "warnings",
                             GPUORCH_LIB_DIR=str(LIBRARY))
        say(" ".join(["clippy:", *features[1:]]).rstrip(":"), code == 0, output)


def documentation():
    code, output = cargo("doc", "--locked", "--no-deps", DOCS_RS="1", RUSTDOCFLAGS="-D warnings")
    say("rustdoc, without the library", code == 0, output)


PARTS = {part.__name__: part for part in (counted, linked, bindings, clippy, documentation)}

if __name__ == "__main__":
    wanted = [word for word in sys.argv[1:] if not word.startswith("-")]
    for name in wanted or PARTS:
        PARTS[name]()
