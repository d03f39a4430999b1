#!/usr/bin/env python3
"""Builds and runs all tests, and ends with the line `N passed, N failed, N skipped`.

    tests/run [--full] [FILTER]...

A filter names a section (canary, unit, abi, conformance, faults, foreign, process, checks, runtimes, rust, lua, asan, tsan,
clang) or is a part of test names; without one everything runs. --full asks for the counts of thousands and adds a build with
Clang.

A test fails too if its program crashes, ends early or outlives its time limit; the test that ran then is named, and the
ones after it are run all the same. Sections:

  canary        tests that go wrong on purpose, to see that it is noticed
  unit abi conformance faults foreign   doctest programs, tests/<name>/*.cpp; conformance also with the functions of the
                oldest CUDA driver that is supported
  process       tests/process/*: programs by themselves. Their first lines may say
                    // RUN: [NAME=VALUE]... [ARGUMENT]...   one run; several lines are several runs
                    // EXIT: 0                              the exit code to expect, or the name of a signal
                    // TIMEOUT: 60                          seconds
                    // REPEAT: 10 1000                      how often: always, and under --full
                exit code 77, or a line `SKIP name: reason`, is a skip
  checks        tests/*/check_*.py: scripts that print lines `PASS name`, `FAIL name: text`, `SKIP name: reason`
  runtimes rust lua   the same of bindings: tests/bindings/rust/check_*.py, tests/bindings/lua/check_*.py, and those of all
                other folders there; what Rust's and Lua's have called is counted (tests/bindings/README.md)
  asan tsan     the doctest programs again, built with ASan and UBSan, and with TSan; with the former, Lua's tests too
"""
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
TESTS = ROOT / "tests"
sys.path.append(str(TESTS / "support"))
import machine

BUILD = ROOT / "build"
SECTIONS = ("canary", "unit", "abi", "conformance", "faults", "foreign", "process", "checks", "runtimes", "rust", "lua", "asan",
            "tsan", "clang")
SUITE_SECONDS = 300          # for one doctest program; sanitizers get twice that, --full ten times
CRASHES_FORGIVEN = 5         # in one program: then its remaining tests are not run
SKIPPED = 77


def is_gcc_12():
    """Whether CMake will take GCC 12."""
    outcome = subprocess.run([os.environ.get("CXX") or "c++", "-E", "-dM", "-x", "c++", "/dev/null"], capture_output=True, text=True)
    return "#define __GNUC__ 12\n" in outcome.stdout and "__clang__" not in outcome.stdout


class Tally:
    def __init__(self):
        self.passed, self.failed, self.skipped = 0, [], []

    def fail(self, name, text=""):
        self.failed.append(name)
        print(f"FAILED {name}" + (f": {text}" if text else ""), flush=True)

    def skip(self, name):
        self.skipped.append(name)
        print(f"skipped {name}", flush=True)

    def counts(self):
        return self.passed, len(self.failed), len(self.skipped)

    def report(self, label, before, seconds):
        """The line that ends a part of the tests; `before` is what counts() was when it began."""
        counts = [f"{now - then} {word}" for now, then, word in zip(self.counts(), before, ("passed", "failed", "skipped"))
                  if now - then or word == "passed"]
        print(f"{label}: {', '.join(counts)}, {seconds:.1f} s", flush=True)


class Outcome:
    def __init__(self, code, output, seconds, timed_out):
        self.code, self.output, self.seconds, self.timed_out = code, output, seconds, timed_out

    def ending(self):
        if self.timed_out:
            return f"ran into its time limit of {self.timed_out} s"
        if self.code < 0:
            return f"died of {signal.Signals(-self.code).name}"
        return f"ended with exit code {self.code}"

    def tail(self, lines=60):
        return "\n".join(self.output.splitlines()[-lines:])


def run(command, limit, environment=None, cwd=ROOT):
    """Runs a program in a session of its own, which is killed as a whole when the time is up."""
    start = time.monotonic()
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen([str(part) for part in command], stdin=subprocess.DEVNULL, stdout=out,
                                   stderr=subprocess.STDOUT, cwd=cwd, env=environment, start_new_session=True)
        timed_out = 0
        try:
            process.wait(limit)
        except subprocess.TimeoutExpired:
            timed_out = limit
        finally:  # Ctrl-C too: it doesn't reach another session
            try:
                os.killpg(process.pid, signal.SIGKILL)  # also what a test left behind
            except ProcessLookupError:
                pass
            process.wait()
        out.seek(0)
        text = out.read().decode(errors="replace")
    return Outcome(process.returncode, text, time.monotonic() - start, timed_out)


def read_report(path):
    """What a doctest program told (tests/support/report.cpp): passes, failures, skips, how many tests began, which one
    had begun and not ended, and whether the program came to its end."""
    passed, failed, skips, begun, running, finished = 0, [], [], 0, None, False
    for line in path.read_text().splitlines() if path.exists() else ():
        kind, _, text = line.partition(" ")
        if kind == "start":
            begun, running = begun + 1, text
        elif kind == "skip":
            skips.append(text)
        elif kind == "finish":
            finished = True
        else:
            passed += kind == "pass"
            failed += [text] if kind == "fail" else []
            running = None
    return passed, failed, skips, begun, running, finished


def run_doctest(program, label, tally, environment, limit, pattern=None):
    """Runs a doctest program; after a crash goes on behind the test that crashed. Returns how many tests began."""
    total, first, seconds = 0, 1, 0
    before = tally.counts()
    for attempt in range(CRASHES_FORGIVEN + 1):
        with tempfile.TemporaryDirectory() as folder:
            report = pathlib.Path(folder) / "report"
            command = [program, f"--first={first}", "--no-version", "--no-breaks"]
            if pattern:
                command.append(f"--test-case=*{pattern}*")
            outcome = run(command, limit, {**environment, "GPUORCH_TEST_REPORT": str(report)})
            passed, failed, skips, begun, running, finished = read_report(report)
        total, seconds = total + begun, seconds + outcome.seconds
        tally.passed += passed
        for name in failed:
            tally.fail(f"{label}: {name}")
        for text in skips:
            tally.skip(f"{label}: {text}")
        clean = finished and outcome.code == (1 if failed else 0) and not outcome.timed_out
        if failed or not clean:
            print(outcome.tail(), flush=True)
        if clean:
            break
        tally.fail(f"{label}: {running or 'before the first or after the last test'}", outcome.ending())
        first += begun
        if finished or running is None:
            break
    else:
        tally.fail(f"{label}: all tests after these", "not run: too many crashes")
    if total:
        tally.report(label, before, seconds)
    return total


TROUBLE = re.compile(r"panicked|ERROR|Error|WARNING: ThreadSanitizer|SUMMARY|FAILED|Traceback|assert")


def gist(lines, most=300):
    """The beginning, the end, and what was said around each line that tells of trouble: at most about so many lines."""
    near = set(range(20)) | set(range(len(lines) - 40, len(lines)))
    for at, line in enumerate(lines):
        if len(near) < most and TROUBLE.search(line):
            near.update(range(at - 3, at + 16))
    shown, before = [], -1
    for at in sorted(at for at in near if 0 <= at < len(lines)):
        shown += ["[...]", lines[at]] if at != before + 1 else [lines[at]]
        before = at
    return shown


def check(tally, label, command, limit, environment):
    """One script that prints lines PASS, FAIL and SKIP."""
    outcome = run(command, limit, environment)
    before, rest = tally.counts(), []
    for line in outcome.output.splitlines():
        kind, _, text = line.partition(" ")
        if kind == "PASS":
            tally.passed += 1
        elif kind == "FAIL":
            tally.fail(f"{label}: {text}")
        elif kind == "SKIP":
            tally.skip(f"{label}: {text}")
        else:
            rest.append(line)
    failed = tally.counts()[1] > before[1]
    if failed or outcome.code != 0:
        print(*gist(rest), sep="\n")
    if outcome.code != 0 and not failed:
        tally.fail(label, outcome.ending())
    tally.report(label, before, outcome.seconds)


class Session:
    def __init__(self, full, filters):
        self.full = full
        self.sections = [word for word in filters if word in SECTIONS]
        self.patterns = [word for word in filters if word not in SECTIONS]
        self.tally = Tally()
        self.matched = 0
        cache = BUILD / "tests" / "cache"
        cache.mkdir(parents=True, exist_ok=True)
        self.environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
        self.environment.setdefault("GPUORCH_DEVICE", "soft")
        if full:
            self.environment["GPUORCH_TEST_FULL"] = "1"
            self.environment.setdefault("GPUORCH_TEST_SEEDS", "10000")

    def wants(self, section):
        if self.sections:
            return section in self.sections
        # A part of a test's name is looked for in the plain builds only.
        return not self.patterns or section not in ("canary", "asan", "tsan", "clang")

    def wants_plain_build(self):
        return any(self.wants(section) for section in SECTIONS if section not in ("asan", "tsan", "clang"))

    def build(self, name, *options):
        """Configures and builds into build/<name>. False, and a failed test, if that goes wrong."""
        folder = BUILD / name
        options = [f"-D{option}" for option in options]
        if shutil.which("ccache"):
            options += ["-DCMAKE_C_COMPILER_LAUNCHER=ccache", "-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"]
        if "GPUORCH_DEPS" in os.environ:
            options.append(f"-DGPUORCH_DEPS={os.environ['GPUORCH_DEPS']}")
        start = time.monotonic()
        for command in (["cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", *options], ["cmake", "--build", folder]):
            outcome = run(command, 3600)
            if outcome.code != 0:
                print(outcome.tail(100))
                self.tally.fail(f"build/{name}", outcome.ending())
                return False
        print(f"build/{name}: built in {time.monotonic() - start:.0f} s", flush=True)
        return True

    def suites(self, build, label, factor=1, environment=None, only=None):
        """The doctest programs of a build. `environment` is put over the session's; None takes a variable out of it."""
        limit = SUITE_SECONDS * factor * (10 if self.full else 1)
        settings = {name: value for name, value in {**self.environment, **(environment or {})}.items() if value is not None}
        for program in sorted((BUILD / build / "tests").glob("gpuorch_*")):
            name = program.name.removeprefix("gpuorch_")
            if not program.is_file() or name == "canary" or name.startswith("bench_"):
                continue
            if only and name != only:
                continue
            if build == "tests" and not self.wants(name):
                continue
            for pattern in self.patterns or [None]:
                self.matched += run_doctest(program, label + name, self.tally, settings, limit, pattern)

    def canary(self):
        """Each test of the canary suite goes wrong in its own way; that each is counted is a test here."""
        program = BUILD / "tests" / "tests" / "gpuorch_canary"
        expected = {"passes": (1, 0, 0), "fails": (0, 1, 0), "throws": (0, 1, 0), "is skipped": (0, 0, 1),
                    "crashes": (0, 1, 0), "leaves early": (0, 1, 0), "hangs": (0, 1, 0),
                    None: (1, 5, 1)}  # all together: each is counted, the ones behind a crash too
        for name, counts in expected.items():
            self.matched += 1
            noticed = Tally()
            with open(os.devnull, "w") as nowhere:
                stdout, sys.stdout = sys.stdout, nowhere
                try:
                    run_doctest(program, "canary", noticed, self.environment, 2, name)
                finally:
                    sys.stdout = stdout
            seen = noticed.counts()
            named = all((name or "canary") in text for text in noticed.failed + noticed.skipped)
            if seen == counts and named:
                self.tally.passed += 1
            else:
                self.tally.fail(f"canary: a test that {name or 'is one of all'} is counted", f"as {seen}, not {counts}")
        print(f"canary: {len(expected)} tests that go wrong were run", flush=True)

    def processes(self):
        before, start = self.tally.counts(), time.monotonic()
        for source in sorted([*(TESTS / "process").glob("*.cpp"), *(TESTS / "process").glob("*.c")]):
            runs, code, limit, repeats = [], "0", 60, (1, 1)
            for line in source.read_text().splitlines()[:40]:
                kind, _, text = line.removeprefix("// ").partition(": ")
                if not line.startswith("// ") or not text:
                    continue
                if kind == "RUN":
                    runs.append(shlex.split(text))
                elif kind == "EXIT":
                    code = text.strip()
                elif kind == "TIMEOUT":
                    limit = int(text)
                elif kind == "REPEAT":
                    repeats = tuple(int(count) for count in text.split())
            expected = int(code) if code.isdigit() else -signal.Signals[code]
            for words in runs or [[]]:
                name = " ".join([f"process: {source.stem}", *words])
                if any(pattern not in name for pattern in self.patterns):
                    continue
                self.matched += 1
                self.one_process(source.stem, name, words, expected, limit, repeats[-1 if self.full else 0])
        if self.tally.counts() != before:
            self.tally.report("process", before, time.monotonic() - start)

    def one_process(self, stem, name, words, expected, limit, repeats):
        settings = [word for word in words if "=" in word.split(" ")[0] and not word.startswith("-")]
        arguments = [word for word in words if word not in settings]
        environment = {**self.environment, **dict(word.split("=", 1) for word in settings)}
        program = BUILD / "tests" / "tests" / "process" / f"process_{stem}"
        for repeat in range(repeats):
            outcome = run([program, *arguments], limit, environment)
            if outcome.code == SKIPPED:
                reasons = [line for line in outcome.output.splitlines() if line.startswith("SKIP ")]
                self.tally.skip(f"{name}: {reasons[-1].removeprefix('SKIP ') if reasons else 'no reason given'}")
                return
            if outcome.code != expected or outcome.timed_out:
                print(outcome.tail())
                self.tally.fail(name, f"{outcome.ending()}, in run {repeat + 1} of {repeats}")
                return
        self.tally.passed += 1

    def scripts(self, section):
        bindings = TESTS / "bindings"
        if section == "checks":
            return sorted(set(TESTS.glob("*/check_*.py")) - set(bindings.glob("*")))
        if section == "runtimes":
            return sorted(path for path in bindings.glob("*/check_*.py") if path.parent.name not in ("rust", "lua"))
        return sorted((bindings / section).glob("check_*.py"))

    def checks(self, section):
        environment = {**self.environment, "GPUORCH_BUILD": str(BUILD / "tests")}
        excuses = TESTS / "bindings" / section / "not_counted.txt"
        counts = BUILD / "tests" / f"calls_from_{section}"
        counts.unlink(missing_ok=True)
        environment["GPUORCH_COUNTS"] = str(counts)
        environment["GPUORCH_COUNTED_LIBRARY"] = str(BUILD / "tests" / "libgpuorch" / "libgpuorch.so.0")
        for script in self.scripts(section):
            label = f"{script.parent.name}/{script.stem.removeprefix('check_')}"
            if all(pattern in label for pattern in self.patterns):
                self.check(label, [sys.executable, script] + (["--full"] if self.full else []), environment)
        if excuses.exists() and not self.patterns:
            self.check(f"{section}/counts", [sys.executable, TESTS / "bindings" / "check_counts.py", counts,
                                             "--binding", section, "--reasons", excuses], environment)

    def check(self, label, command, environment):
        self.matched += 1
        check(self.tally, label, command, 600 * (10 if self.full else 1), environment)

    def everything(self):
        # Debian 12's compiler has nothing to say; what others find to warn of is theirs.
        strict = ["CMAKE_COMPILE_WARNING_AS_ERROR=ON"] if is_gcc_12() else []
        if self.wants_plain_build() and self.build("tests", "CMAKE_BUILD_TYPE=RelWithDebInfo", *strict):
            if self.wants("canary"):
                self.canary()
            self.suites("tests", "")
            # The oldest driver that is supported has none of the functions that came later.
            self.suites("tests", "CUDA 12.2 ", environment={"GPUORCH_CUDA_VERSION": "12020"}, only="conformance")
            if self.wants("process"):
                self.processes()
            for section in ("checks", "runtimes", "rust", "lua"):
                if self.wants(section):
                    self.checks(section)
        if self.wants("asan") and self.build("asan", "CMAKE_BUILD_TYPE=RelWithDebInfo",
                                             "GPUORCH_SANITIZE=address;undefined"):
            self.suites("asan", "asan ", 2, {
                "ASAN_OPTIONS": "detect_stack_use_after_return=0:strict_string_checks=1:allocator_may_return_null=1",
                "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1"})
            if not self.patterns:
                self.check("asan lua", [sys.executable, TESTS / "bindings" / "lua" / "check_lua.py", "--sanitized"]
                           + (["--full"] if self.full else []),
                           {**self.environment, "GPUORCH_BUILD": str(BUILD / "asan")})
                self.check("asan rust", [sys.executable, TESTS / "bindings" / "rust" / "check_rust.py", "asan"],
                           {**self.environment, "GPUORCH_BUILD": str(BUILD / "asan")})
        if self.wants("tsan") and self.build("tsan", "CMAKE_BUILD_TYPE=RelWithDebInfo", "GPUORCH_SANITIZE=thread"):
            # Threads in a schedule run one at a time, and each hands the turn to the next: TSan finds no race among them, and --full
            # asks for no more schedules than the tests do. TSan keeps memory for every address that was ever used, more than 22 GB
            # for those of faults under --full: at 6 GB it is to forget them.
            self.suites("tsan", "tsan ", 2, {"TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1:memory_limit_mb=6000",
                                             "GPUORCH_TEST_SEEDS": os.environ.get("GPUORCH_TEST_SEEDS")})
        if self.full and self.wants("clang"):
            self.matched += 1
            compiler = machine.clang()
            if not compiler:
                self.tally.skip("build/clang: there is no Clang from 14 here")
            # What newer ones find to warn of is theirs.
            elif self.build("clang", "CMAKE_BUILD_TYPE=RelWithDebInfo", f"CMAKE_C_COMPILER={machine.clang_for_c()}",
                            f"CMAKE_CXX_COMPILER={compiler}", f"CMAKE_COMPILE_WARNING_AS_ERROR={machine.major(compiler) == 14}"):
                self.tally.passed += 1


def main():
    arguments = sys.argv[1:]
    if "-h" in arguments or "--help" in arguments:
        print(__doc__)
        return 0
    # A shell has what it starts in the background ignore Ctrl-C, and programs inherit that; tests send it to programs.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    filters = [word for word in arguments if not word.startswith("-")]
    unknown = [word for word in arguments if word.startswith("-") and word != "--full"]
    if unknown:
        sys.exit(f"tests/run: {unknown[0]} is no option; see tests/run --help")
    session = Session("--full" in arguments, filters)
    session.everything()
    tally = session.tally
    if filters and session.matched == 0 and not tally.failed:
        tally.fail(f"no test is called {' or '.join(filters)}")
    if tally.failed:
        print("\nfailed:", *tally.failed, sep="\n  ")
    if tally.skipped:
        print("\nskipped:", *tally.skipped, sep="\n  ")
    print(f"\n{tally.passed} passed, {len(tally.failed)} failed, {len(tally.skipped)} skipped")
    return 1 if tally.failed else 0


if __name__ == "__main__":
    sys.exit(main())
