"""Reports, and programs that are run with the Python package, for all checks here."""
import os
import pathlib
import subprocess
import sys
import time
import traceback

ROOT = pathlib.Path(__file__).resolve().parents[4]
BUILD = pathlib.Path(os.environ.get("GPUORCH_BUILD", ROOT / "build/tests")).resolve()
# The real library; GPUORCH_LIBRARY may name the library that counts calls.
LIBRARY = BUILD / "libgpuorch/libgpuorch.so.0.1"
FULL = "--full" in sys.argv


def report(name, got, right, more=""):
    print(f"PASS {name}" if got == right else f"{more}\nFAIL {name}: {got!r} in place of {right!r}", flush=True)


def skip(name, reason):
    print(f"SKIP {name}: {reason}", flush=True)


def case(function):
    """Runs a test that is named after its function, and fails by raising."""
    name = function.__name__.replace("_", " ").strip()
    try:
        function()
        print(f"PASS {name}", flush=True)
    except Exception:
        print(f"{traceback.format_exc()}FAIL {name}: {sys.exc_info()[1]!r}", flush=True)
    return function


def raises(kind, words, call, /, *arguments, **named):
    try:
        call(*arguments, **named)
    except kind as error:
        assert type(error) is kind or kind.__name__ == "Error", error
        assert words in str(error), error
        return error
    raise AssertionError(f"{kind.__name__} was not raised")


def outcome(call, *arguments):
    try:
        return call(*arguments)
    except Exception as error:
        return error


def wait_until_blocked(thread):
    """Until a call of the thread waits: the thread slept at five looks, or it has used more time than a call needs."""
    looks = 0
    while looks < 5:
        state, *rest = pathlib.Path(f"/proc/self/task/{thread.native_id}/stat").read_text().rpartition(")")[2].split()
        ticks = int(rest[10]) + int(rest[11])  # of 10 ms, in the program and in the kernel
        looks = looks + 1 if state == "S" or ticks >= 10 else 0
        time.sleep(0.001)


def run(*words, folder=None, seconds=120, without=(), **settings):
    """A program's outcome: returncode, stdout, stderr. Words that have a line break are Python. `settings` and `without`
    change the environment."""
    words = [sys.executable, "-c", *words] if "\n" in str(words[0]) else list(words)
    environment = {name: value for name, value in os.environ.items() if name not in without}
    return subprocess.run(list(map(str, words)), env={**environment, **settings}, cwd=folder, text=True, timeout=seconds,
                          errors="replace", stdin=subprocess.DEVNULL, capture_output=True)
