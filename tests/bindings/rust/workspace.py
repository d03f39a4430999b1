"""Running cargo in bindings/rust, for the checks in this folder."""
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
# How this machine reaches a registry.
NETWORK = ("CARGO_HTTP_", "CARGO_NET_", "CARGO_REGISTR", "CARGO_SOURCE_")
OLDEST = DEPS / "rust" / "bin" / "cargo"


def environment(**more):
    """What every cargo gets. Nothing leads to another libgpuorch than the one that was built, but to that which stands before
    it as an older or a newer one."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("CARGO_", "RUST"))
            or name in ("CARGO_HOME", "RUSTUP_HOME") or name.startswith(NETWORK)}
    for name in ("GPUORCH_LIBRARY", "GPUORCH_DIR", "LD_LIBRARY_PATH", "LD_PRELOAD"):
        kept.pop(name, None)
    odd = BUILD / "tests" / "libgpuorch_odd.so"
    if odd.exists():
        kept["GPUORCH_TEST_ODD"] = str(odd)
    kept.setdefault("GPUORCH_COUNTED_LIBRARY", str(LIBRARY / "libgpuorch.so.0.1"))
    return {**kept, "CARGO_TARGET_DIR": str(TARGET), "CARGO_TERM_COLOR": "never", "CARGO_INCREMENTAL": "0",
            # A fifth of the time to compile went into debug information. Messages of panics name their lines without.
            "CARGO_PROFILE_DEV_DEBUG": "0", **more}


def version(program):
    """Of a cargo, as numbers; nothing where it can't be run."""
    try:
        said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return ()
    return tuple(map(int, re.match(r"cargo (\d+)\.(\d+)\.(\d+)", said).groups()))


def program():
    """The machine's cargo, or the one that .ci/setup unpacked where that is too old."""
    return "cargo" if version("cargo") >= (1, 85) else OLDEST


def cargo(*arguments, program=None, limit=5400 if os.environ.get("GPUORCH_TEST_FULL") else 540, **more):
    outcome = subprocess.run([program or PROGRAM, *arguments], cwd=WORKSPACE, env=environment(**more), text=True, timeout=limit,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return outcome.returncode, outcome.stdout


PROGRAM = program()


def built(*arguments):
    """cargo build; whoever needs what it makes goes no further without."""
    code, output = cargo("build", "--locked", *arguments)
    if code != 0:
        sys.exit(f"{output}\ncargo build {' '.join(arguments)} ended with exit code {code}")
