"""Builds and runs the tests, and ends with the line `N passed, N failed, N skipped`.

    tests/run [--full] [--write-times] [FILTER]...

Without a filter: everything once, plainly built. A filter names a section, or is a part of test names; only what it needs is
built.

  plain         what runs without a filter: the sections from canary to
                python
  sanitize      asan and tsan
  canary        tests that go wrong on purpose, to see that it is noticed
  unit abi conformance faults foreign   doctest programs, tests/<name>/*.cpp
  process       tests/process/*: programs by themselves
  checks        tests/*/check_*.py: scripts that print lines `PASS name`, `FAIL name: text`, `SKIP name: reason`
  runtimes rust lua python   the same of bindings: tests/bindings/rust/check_*.py, tests/bindings/lua/check_*.py, the package's
                (tests/bindings/python/package), and those of all other folders there; what Rust's, Lua's and the package's
                have called is counted (tests/bindings/README.md)
  asan tsan     the doctest programs again, built with AddressSanitizer, and with ThreadSanitizer
  ubsan driver fibers clang   the doctest programs with UndefinedBehaviorSanitizer; conformance with the functions of the oldest
                CUDA driver that is supported, and with every kernel of the software GPU as fibers; a build with Clang
  mutation      mistakes that are made on purpose, one at a time, to see that the tests notice (tests/mutation/run --help)
  docs          the reference in HTML (libgpuorch/docs/build): it is made, and its links are followed; builds nothing else

--full runs all sections, every row of them, and what is random or repeated thousands of times. Only --full runs the benchmarks
once (bench/bench) and sends 100,000 requests to the sample of an HTTP service (rust/serve).
--write-times, with `plain sanitize`, writes what everything took into tests/README.md, if nothing has failed.

A test fails too if its program crashes, ends early or outlives its time limit; the test that ran then is named, and the ones
after it are run all the same. A test without an assertion fails, a suite or a script without a test, a script that doesn't come
to its end. A part that takes half as much processor time again as it may (parts.py) is told, and is no failure: machines differ.
"""
import concurrent.futures
import os
import pathlib
import shutil
import signal
import sys
import tempfile
import time

import parts
import programs
import tally as tallies
import times as timing
from parts import BUILD
from programs import ROOT, TESTS

sys.path.append(str(TESTS / "support"))
import machine

# Variables that the tests see: paths of programs and files, options of set-up, and settings of the tests.
KEPT = ("PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "CC", "CXX", "CUDA_HOME", "CUDA_PATH", "CI", "GPUORCH_DEPS", "GPUORCH_DEVICE",
        "GPUORCH_NVRTC", "GPUORCH_NCCL", "GPUORCH_MPI", "GPUORCH_CUDADEVRT", "GPUORCH_CUBLAS", "GPUORCH_SOFT_FIBERS", "GPUORCH_SOFT_GUARD")
KEPT_BEGINNINGS = ("GPUORCH_TEST_", "CARGO_", "RUSTUP_", "CCACHE_")
LEAST_ROOM = 4 << 30        # bytes of memory for temporary files
AT_A_TIME = 2                # parts; tests wait for each other and for the clock, and leave processors idle

BUILD_OPTIONS = {
    "tests": ["CMAKE_BUILD_TYPE=Testing"],
    "asan": ["CMAKE_BUILD_TYPE=Testing", "GPUORCH_SANITIZE=address"],
    "tsan": ["CMAKE_BUILD_TYPE=Testing", "GPUORCH_SANITIZE=thread"],
    "ubsan": ["CMAKE_BUILD_TYPE=Testing", "GPUORCH_SANITIZE=undefined"],
    "clang": ["CMAKE_BUILD_TYPE=RelWithDebInfo"],
}


def temporary_folder():
    """Where TMPDIR says; else in memory, where there is room and programs can be run. The tests compile thousands of
    kernels, each with some seventy small files, and ext4 gets slower with each file that it has just deleted.
    Every user may write there, since some tests become another user."""
    memory = pathlib.Path("/dev/shm")
    folder = None
    if "TMPDIR" not in os.environ and memory.is_dir() and os.access(memory, os.W_OK):
        state = os.statvfs(memory)
        if state.f_bavail * state.f_frsize >= LEAST_ROOM and not state.f_flag & os.ST_NOEXEC:
            folder = memory
    made = tempfile.mkdtemp(prefix="gpuorch-tests-", dir=folder)
    os.chmod(made, 0o1777)
    return made


def clean_environment(full, temporary):
    """The same on every machine."""
    environment = {name: value for name, value in os.environ.items() if name in KEPT or name.startswith(KEPT_BEGINNINGS)}
    cache = BUILD / "tests" / "cache"
    cache.mkdir(parents=True, exist_ok=True)
    environment |= {"LANG": "C.UTF-8", "XDG_CACHE_HOME": str(cache), "TMPDIR": temporary}
    environment.setdefault("GPUORCH_DEVICE", "soft")
    if full:
        environment["GPUORCH_TEST_FULL"] = "1"
        environment.setdefault("GPUORCH_TEST_SEEDS", "3000")
    return environment


def build(name, targets, full, environment, tally, times):
    """Configures and builds into build/<name>. False, and a failed test, if that goes wrong."""
    folder = BUILD / name
    options = [*BUILD_OPTIONS[name], f"GPUORCH_BENCH={'ON' if full and name == 'tests' else 'OFF'}"]
    if name == "clang":
        compiler = machine.clang()
        if not compiler:
            tally.skip("clang builds everything: there is no Clang from 14 here (.ci/setup full installs it)")
            return False
        # Warnings of newer compilers are ignored.
        options += [f"CMAKE_C_COMPILER={machine.clang_for_c()}", f"CMAKE_CXX_COMPILER={compiler}",
                    f"CMAKE_COMPILE_WARNING_AS_ERROR={machine.major(compiler) == 14}"]
    elif name == "tests" and parts.is_gcc_12(environment):
        # Debian 12's compiler has to be silent. Warnings of other compilers, and of this compiler about sanitizers, are ignored.
        options.append("CMAKE_COMPILE_WARNING_AS_ERROR=ON")
    if shutil.which("ccache"):
        options += ["CMAKE_C_COMPILER_LAUNCHER=ccache", "CMAKE_CXX_COMPILER_LAUNCHER=ccache"]
    if "GPUORCH_DEPS" in os.environ:
        options.append(f"GPUORCH_DEPS={os.environ['GPUORCH_DEPS']}")
    start = time.monotonic()
    for command in (["cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", *(f"-D{option}" for option in options)],
                    ["cmake", "--build", folder, "--target", *sorted(set(targets))]):
        outcome = programs.run(command, 3600, environment)
        if outcome.code != 0:
            tally.say(outcome.tail(100))
            tally.fail(f"build/{name}", outcome.ending())
            return False
    seconds = time.monotonic() - start
    tallies.show(f"build/{name}: built in {seconds:.0f} s")
    times.built(name, seconds)
    return True


def run_part(part, full, times):
    """A part, on a thread of its own; what it has to say is printed when it has ended."""
    tally = tallies.Tally()
    start = time.monotonic()
    cpu = part.run(tally)
    seconds = time.monotonic() - start
    if cpu > 1.5 * part.budget and not full:
        tally.say(f"SLOW {part.label}: it took {cpu:.0f} s of processor time, and {part.budget} s are its budget (runner/parts.py)")
    tallies.show(*tally.output, f"{part.label}: {tallies.words(tally.counts())}, {seconds:.1f} s")
    times.add(part, seconds, cpu)
    return tally


def run_all(plan, everything, times):
    """Each build, then its parts: the longest first, two at a time."""
    for name in (*BUILD_OPTIONS, parts.NO_BUILD):
        wanted = [part for part in plan.parts if part.build == name]
        tally = tallies.Tally()
        targets = [target for part in wanted for target in part.targets]
        built = wanted and (name == parts.NO_BUILD or build(name, targets, plan.full, plan.environment, tally, times))
        tallies.show(*tally.output) if tally.output else None
        everything.add(tally)
        if not built:
            continue
        with concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as beside:
            running = [beside.submit(run_part, part, plan.full, times)
                       for part in sorted(wanted, key=lambda part: -part.budget)]
            for future in concurrent.futures.as_completed(running):
                everything.add(future.result())
        times.over(name)


def close(everything, again, times):
    """What it all came to."""
    if times.table():
        tallies.show(*times.table())
    if everything.skipped:
        tallies.show("", "skipped:", *(f"  {name}" for name in everything.skipped))
    if everything.failed:  # last, where a log that was cut still has it
        tallies.show("", "failed:", *(f"  {name}" for name in everything.failed))
    repeats = sum(name.startswith(again) for name in everything.passed) if again else 0
    tallies.show("", f"{len(everything.passed) - repeats} distinct tests passed, and {repeats} of them again in another way")
    passed, failed, skipped = everything.counts()
    tallies.show(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


def main():
    arguments = sys.argv[1:]
    if "-h" in arguments or "--help" in arguments:
        print(__doc__)
        return 0
    # A shell makes background programs ignore Ctrl-C, and child processes inherit this; tests send the signal to programs.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    unknown = [word for word in arguments if word.startswith("-") and word not in ("--full", "--write-times")]
    if unknown:
        sys.exit(f"tests/run: {unknown[0]} is no option; see tests/run --help")
    full = "--full" in arguments
    writes = "--write-times" in arguments
    if writes and (full or {word for word in arguments if not word.startswith("-")} != {"plain", "sanitize"}):
        sys.exit("tests/run: --write-times is for `tests/run plain sanitize`")
    groups = {"plain": parts.PLAIN, "sanitize": parts.SANITIZE}
    words = [word for word in arguments if not word.startswith("-")]
    sections = [section for word in words for section in groups.get(word, (word,)) if section in parts.SECTIONS]
    patterns = [word for word in words if word not in groups and word not in parts.SECTIONS]
    temporary = temporary_folder()
    plan = parts.Plan(full, sections, patterns, clean_environment(full, temporary))
    everything, times = tallies.Tally(), timing.Times()
    if not plan.parts:
        everything.fail(f"no test is called {' or '.join(patterns)}")
        tallies.show(*everything.output)
    try:
        run_all(plan, everything, times)
    except KeyboardInterrupt:
        programs.Running.end_all()
        tallies.show("tests/run: interrupted")
        shutil.rmtree(temporary, ignore_errors=True)
        os._exit(130)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    if writes and not everything.failed:
        times.write()
    return close(everything, tuple({part.again for part in plan.parts if part.again}), times)


if __name__ == "__main__":
    sys.exit(main())
