"""Runs test programs, and reads what they report: doctest programs, programs of their own, and scripts."""
import os
import pathlib
import re
import select
import shlex
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests"
CRASHES_FORGIVEN = 5         # in one doctest program: then its remaining tests are not run
SKIPPED = 77                 # exit code of a program of its own that can't be run here
NO_ASSERTION = "it has no assertion"


class Outcome:
    """How a program ended. `cpu`: seconds of processor time, of the programs that it waited for too."""

    def __init__(self, code, output, seconds, cpu, timed_out):
        self.code, self.output, self.seconds, self.cpu, self.timed_out = code, output, seconds, cpu, timed_out

    def ending(self):
        if self.timed_out:
            return f"ran into its time limit of {self.timed_out} s"
        if self.code < 0:
            return f"died of {signal.Signals(-self.code).name}"
        return f"ended with exit code {self.code}"

    def tail(self, lines=60):
        return "\n".join(self.output.splitlines()[-lines:])


class Running:
    """The sessions that run() has started and that have not ended: an interrupted runner ends them."""
    processes = set()

    @classmethod
    def end_all(cls):
        for process in list(cls.processes):
            end_session(process)


def end_session(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def run(command, limit, environment, cwd=ROOT):
    """Runs a program in a session of its own, which is killed as a whole when the program has ended or the time is up."""
    start = time.monotonic()
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen([str(part) for part in command], stdin=subprocess.DEVNULL, stdout=out,
                                   stderr=subprocess.STDOUT, cwd=cwd, env=environment, start_new_session=True)
        Running.processes.add(process)
        ended = os.pidfd_open(process.pid)
        try:
            timed_out = 0 if select.select([ended], [], [], limit)[0] else limit
        finally:
            os.close(ended)
            end_session(process)  # also what a test left behind
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            Running.processes.discard(process)
        out.seek(0)
        text = out.read().decode(errors="replace")
    return Outcome(process.returncode, text, time.monotonic() - start, usage.ru_utime + usage.ru_stime, timed_out)


def read_report(path):
    """What a doctest program told (tests/support/report.cpp): passes, failures, skips, how many tests began, which one
    had begun and not ended, and whether the program came to its end."""
    passed, failed, skips, begun, running, finished = [], [], [], 0, None, False
    for line in path.read_text().splitlines() if path.exists() else ():
        kind, _, text = line.partition(" ")
        if kind == "start":
            begun, running = begun + 1, text
        elif kind == "skip":
            skips.append(text)
        elif kind == "finish":
            finished = True
        else:
            passed += [text] if kind == "pass" else []
            failed += [(text, NO_ASSERTION if kind == "empty" else "")] if kind in ("fail", "empty") else []
            running = None
    return passed, failed, skips, begun, running, finished


def run_doctest(program, label, tally, environment, limit, pattern=None):
    """Runs a doctest program, or its tests with `pattern` in their names; after a crash goes on behind the test that crashed.
    Where there is no test that fails. Returns the processor time that it took."""
    total, first, cpu = 0, 1, 0
    for attempt in range(CRASHES_FORGIVEN + 1):
        with tempfile.TemporaryDirectory() as folder:
            report = pathlib.Path(folder) / "report"
            command = [program, f"--first={first}", "--no-version", "--no-breaks"]
            if pattern:
                command.append(f"--test-case=*{pattern}*")
            outcome = run(command, limit, {**environment, "GPUORCH_TEST_REPORT": str(report)})
            passed, failed, skips, begun, running, finished = read_report(report)
        total, cpu = total + begun, cpu + outcome.cpu
        for name in passed:
            tally.success(f"{label}: {name}")
        for name, why in failed:
            tally.fail(f"{label}: {name}", why)
        for text in skips:
            tally.skip(f"{label}: {text}")
        failed_by_doctest = any(not why for _, why in failed)
        clean = finished and outcome.code == (1 if failed_by_doctest else 0) and not outcome.timed_out
        if failed_by_doctest or not clean:
            tally.say(outcome.tail())
        if clean:
            break
        tally.fail(f"{label}: {running or 'before the first or after the last test'}", outcome.ending())
        first += begun
        if finished or running is None:
            break
    else:
        tally.fail(f"{label}: all tests after these", "not run: too many crashes")
    if total == 0 and not tally.failed:
        tally.fail(label, f"it has no test called {pattern}" if pattern else "it has no tests")
    return cpu


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


def run_script(script, arguments, label, tally, environment, limit):
    """Runs one script that prints lines PASS, FAIL and SKIP. It fails if it prints none, or doesn't come to its end
    (run_script.py tells). Returns the processor time that it took."""
    end = f"{time.time_ns():x}"
    outcome = run([sys.executable, TESTS / "runner/run_script.py", end, script, *arguments], limit, environment)
    before, rest, ended = tally.counts(), [], False
    for line in outcome.output.splitlines():
        kind, _, text = line.partition(" ")
        if kind == "PASS":
            tally.success(f"{label}: {text}")
        elif kind == "FAIL":
            tally.fail(f"{label}: {text}")
        elif kind == "SKIP":
            tally.skip(f"{label}: {text}")
        elif line == f"END {end}":
            ended = True
        else:
            rest.append(line)
    if outcome.code != 0:
        tally.fail(label, outcome.ending())
    elif not ended:
        tally.fail(label, "it ended before its last line")
    elif tally.counts() == before:
        tally.fail(label, "it reported no test")
    if tally.counts()[1] > before[1]:
        tally.say(*gist(rest))
    return outcome.cpu


class Program:
    """A program of its own, tests/process/*. Its first lines may say
        // RUN: [NAME=VALUE]... [ARGUMENT]...   one run; several lines are several runs
        // EXIT: 0                              the exit code to expect, or the name of a signal
        // TIMEOUT: 60                          seconds
        // REPEAT: 10 1000                      how often: always, and under --full
    Exit code 77, or a line `SKIP name: reason`, is a skip."""

    def __init__(self, source):
        self.name = source.stem
        self.runs, self.code, self.limit, self.repeats = [], "0", 60, (1, 1)
        for line in source.read_text().splitlines()[:40]:
            kind, _, text = line.removeprefix("// ").partition(": ")
            if not line.startswith("// ") or not text:
                continue
            if kind == "RUN":
                self.runs.append(shlex.split(text))
            elif kind == "EXIT":
                self.code = text.strip()
            elif kind == "TIMEOUT":
                self.limit = int(text)
            elif kind == "REPEAT":
                self.repeats = tuple(int(count) for count in text.split())
        self.runs = self.runs or [[]]

    def label(self, words):
        return " ".join([f"process: {self.name}", *words])

    def run(self, program, words, tally, environment, full):
        """One of its runs, as often as is asked for. Returns the processor time that it took."""
        expected = int(self.code) if self.code.isdigit() else -signal.Signals[self.code]
        settings = [word for word in words if "=" in word.split(" ")[0] and not word.startswith("-")]
        arguments = [word for word in words if word not in settings]
        name, repeats, cpu = self.label(words), self.repeats[-1 if full else 0], 0
        for repeat in range(repeats):
            outcome = run([program, *arguments], self.limit, {**environment, **dict(word.split("=", 1) for word in settings)})
            cpu += outcome.cpu
            if outcome.code == SKIPPED:
                reasons = [line for line in outcome.output.splitlines() if line.startswith("SKIP ")]
                tally.skip(f"{name}: {reasons[-1].removeprefix('SKIP ') if reasons else 'no reason given'}")
                return cpu
            if outcome.code != expected or outcome.timed_out:
                tally.say(outcome.tail())
                tally.fail(name, f"{outcome.ending()}, in run {repeat + 1} of {repeats}")
                return cpu
        tally.success(name)
        return cpu
