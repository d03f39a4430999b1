"""What there is to run: the parts of the tests, what each needs to be built, and how long it may take."""
import dataclasses
import re
import sys
import typing

import programs
import tally as tallies
from programs import ROOT, TESTS

BUILD = ROOT / "build"
SUITES = ("unit", "abi", "conformance", "faults", "foreign")
PLAIN = ("canary", *SUITES, "process", "checks", "runtimes", "rust", "lua", "python")
SANITIZE = ("asan", "tsan")
FULL = ("ubsan", "driver", "fibers", "clang", "mutation", "docs")
SECTIONS = (*PLAIN, *SANITIZE, *FULL)
NO_BUILD = ""    # of parts that need nothing built

# Seconds of processor time for a part on this project's test machine (2 cores), with room for a slower machine. A part
# that takes half as much again is reported, so that slow tests are found early. Wall time isn't used, because other
# programs may use the processors. Parts without an entry take less than LEAST.
LEAST = 20
BUDGETS = {"conformance": 180, "faults": 320, "unit": 140, "process": 75, "rust": 200, "lua": 70, "process/main_job": 30,
           "docs": 160,
           "lifecycle/lifecycle": 30, "python/main_job": 40, "python": 90, "cpp/objects": 40, "cpp/main_job": 30, "asan conformance": 160, "asan faults": 130, "asan unit": 170,
           "tsan conformance": 400, "tsan faults": 380, "tsan unit": 320}

# Targets that the scripts of a section need.
LIBRARY = ["gpuorch"]
COUNTED = ["gpuorch", "gpuorch_counting", "gpuorch_odd"]
SCRIPT_TARGETS = {"checks": [*COUNTED, "gpuorch-info", "gpuorch-advise", "gpuorch_fake_nvml",
                             "gpuorch_fake_nvtx", "process_joined"],
                  "runtimes": COUNTED, "rust": COUNTED, "lua": COUNTED, "python": COUNTED}
ONLY_FULL = ("check_bench.py", "check_release.py", "check_serve.py")    # they build and measure what no other test needs
SECONDS = 1200    # until a suite is ended; sanitizers get twice that, --full ten times
SCRIPT_SECONDS = 600

# A second run under --full uses no more rounds than tests/run: all rounds each time would take hours.
NOT_FULL = {"GPUORCH_TEST_FULL": None, "GPUORCH_TEST_SEEDS": None}
SANITIZER_SETTINGS = {
    "asan": {"ASAN_OPTIONS": "detect_stack_use_after_return=0:strict_string_checks=1:allocator_may_return_null=1"},
    "ubsan": {"UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1"},
    # TSan keeps memory for every address that was ever used: at 6 GB it is to forget them.
    "tsan": {"TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1:memory_limit_mb=6000"},
}


@dataclasses.dataclass
class Part:
    """`run(tally)` runs it, on any thread, and returns the processor time that it took. `again`: the same tests have been run
    in another part, without what the label begins with."""
    label: str
    build: str
    targets: list
    run: typing.Callable
    again: str = ""

    @property
    def budget(self):
        return BUDGETS.get(self.label, LEAST)


def is_gcc_12(environment):
    """Whether CMake will take GCC 12."""
    outcome = programs.run([environment.get("CXX") or "c++", "-E", "-dM", "-x", "c++", "/dev/null"], 60, environment)
    return "#define __GNUC__ 12\n" in outcome.output and "__clang__" not in outcome.output


class Plan:
    """The parts that are wanted, from the words of the command line."""

    def __init__(self, full, sections, patterns, environment):
        self.full, self.patterns, self.environment = full, patterns, environment
        if sections:
            self.sections = sections
        elif full:
            self.sections = SECTIONS
        else:
            self.sections = PLAIN
        self.parts = []
        if "canary" in self.sections and not patterns:
            self.add("canary", "tests", ["gpuorch_canary"], self.canary)
        for suite in SUITES:
            if suite in self.sections:
                self.suite(suite)
        if "process" in self.sections:
            self.processes()
        for section in ("checks", "runtimes", "rust", "lua", "python"):
            if section in self.sections:
                self.scripts(section)
        # A part of a test's name is looked for in the plain build, unless a section names another one.
        for section in (*SANITIZE, *FULL):
            if section in self.sections and (sections or not patterns):
                getattr(self, section)()

    def add(self, label, build, targets, run, again=""):
        self.parts.append(Part(label, build, targets, run, again))

    def settings(self, changes):
        """The environment with changes; None takes a variable out of it."""
        return {name: value for name, value in {**self.environment, **changes}.items() if value is not None}

    # Suites: doctest programs.

    def names(self, suite):
        """The text in which a part of a test's name is looked for: what the suite's sources say its tests are called."""
        if suite == "abi":  # made from the headers: see generate_bad_calls.py
            sys.path.insert(0, str(ROOT / "libgpuorch/src/abi"))
            import headers
            return [f"{name}: whatever is wrong with an argument is a status" for name in headers.functions()]
        literals = re.compile(r'TEST_CASE\w*\(\s*((?:"(?:[^"\\]|\\.)*"\s*)+)')
        return [re.sub(r'"\s*"', "", name) for source in sorted((TESTS / suite).rglob("*.cpp"))
                for name in literals.findall(source.read_text())]

    def suite(self, name, build="tests", prefix="", changes=None, factor=1):
        if not (TESTS / name).is_dir():
            return
        limit = SECONDS * factor * (10 if self.full else 1)
        program = BUILD / build / "tests" / f"gpuorch_{name}"
        known = self.names(name) if self.patterns else []
        for pattern in self.patterns or [None]:
            # doctest takes no notice of upper and lower case.
            if pattern and not any(pattern.lower() in text.lower() for text in known):
                continue
            self.add(prefix + name, build, [f"gpuorch_{name}"],
                     lambda tally, pattern=pattern: programs.run_doctest(program, prefix + name, tally,
                                                                         self.settings(changes or {}), limit, pattern), prefix)

    def sanitized(self, sanitizer):
        for suite in SUITES:
            # The plain suite and TSan's record without the driver's capture, ASan's with it.
            captured = {"GPUORCH_TEST_NATIVE": "1"} if (sanitizer, suite) == ("asan", "conformance") else {}
            self.suite(suite, sanitizer, f"{sanitizer} ", SANITIZER_SETTINGS[sanitizer] | captured | NOT_FULL, 2)

    def asan(self):
        self.sanitized("asan")
        if self.full and not self.patterns:
            self.script("asan lua", TESTS / "bindings/lua/check_lua.py", ["--sanitized", "--full"], ["gpuorch"], "asan", again="asan ")
            self.script("asan rust", TESTS / "bindings/rust/check_rust.py", ["asan"], ["gpuorch"], "asan", again="asan ")

    def tsan(self):
        self.sanitized("tsan")

    def ubsan(self):
        self.sanitized("ubsan")

    def driver(self):
        """The oldest driver that is supported has none of the functions that came later."""
        self.suite("conformance", prefix="CUDA 12.2 ", changes={"GPUORCH_CUDA_VERSION": "12020"} | NOT_FULL)

    def fibers(self):
        """Every kernel of the software GPU as fibers, those too that would run as plain loops."""
        self.suite("conformance", prefix="fibers ", changes={"GPUORCH_SOFT_FIBERS": "1"} | NOT_FULL)

    def clang(self):
        self.add("clang builds everything", "clang", ["all"], lambda tally: tally.success("clang builds everything") or 0)

    def mutation(self):
        """Whether the tests notice mistakes. It has a build of its own."""
        self.add("mutation", "tests", ["gpuorch"], lambda tally: programs.run_script(
            TESTS / "mutation/run", [], "mutation", tally, self.environment, 10 * SCRIPT_SECONDS))

    def docs(self):
        """The reference in HTML, which takes nothing that is built."""
        self.script("docs", TESTS / "docs/check_docs.py", [], [], NO_BUILD)

    # Programs of their own.

    def processes(self):
        sources = sorted([*(TESTS / "process").glob("*.cpp"), *(TESTS / "process").glob("*.c")])
        wanted = []
        for program in map(programs.Program, sources):
            wanted += [(program, words) for words in program.runs
                       if all(pattern in program.label(words) for pattern in self.patterns)]
        if not wanted:
            return
        folder = BUILD / "tests/tests/process"

        def run(tally):
            return sum(program.run(folder / f"process_{program.name}", words, tally, self.environment, self.full)
                       for program, words in wanted)

        self.add("process", "tests", sorted({f"process_{program.name}" for program, _ in wanted}), run)

    # Scripts.

    def found(self, section):
        bindings = TESTS / "bindings"
        if section == "checks":
            return sorted(set(TESTS.glob("*/check_*.py")) - set(bindings.glob("*")) - set((TESTS / "docs").glob("*")))
        if section == "runtimes":
            return sorted(path for path in bindings.glob("*/check_*.py") if path.parent.name not in ("rust", "lua"))
        if section == "python":  # the package; the module of ctypes is one of the runtimes
            return [bindings / "python/package/run.py"]
        return sorted((bindings / section).glob("check_*.py"))

    def script(self, label, script, arguments, targets, build="tests", changes=None, again=""):
        environment = {**self.environment, "GPUORCH_BUILD": str(BUILD / build), **(changes or {})}
        limit = SCRIPT_SECONDS * (10 if self.full else 1)
        self.add(label, build, targets,
                 lambda tally: programs.run_script(script, arguments, label, tally, environment, limit), again)

    def scripts(self, section):
        """The scripts of a section; of the bindings' what they have called is counted, and compared once they have ended."""
        excuses = TESTS / "bindings" / section / "not_counted.txt"
        counts = BUILD / "tests" / f"calls_from_{section}"
        counts.unlink(missing_ok=True)
        changes = {"GPUORCH_COUNTS": str(counts),
                   "GPUORCH_COUNTED_LIBRARY": str(BUILD / "tests/libgpuorch/libgpuorch.so.0.1")}
        first = len(self.parts)
        for script in self.found(section):
            if script.name in ONLY_FULL and not self.full:
                continue
            label = f"{script.parent.name}/{script.stem.removeprefix('check_')}"
            if all(pattern in label for pattern in self.patterns):
                # All that is installed, the benchmarks too, is looked at under --full.
                targets = ["all"] if self.full and section == "checks" else SCRIPT_TARGETS[section]
                self.script(label, script, ["--full"] if self.full else [], targets, changes=changes)
        if excuses.exists() and not self.patterns:
            # A single part, because the counts are complete only after all scripts.
            parts, self.parts = self.parts[first:], self.parts[:first]
            count = [TESTS / "bindings/check_counts.py", [counts, "--binding", section, "--reasons", excuses]]

            def run(tally):
                cpu = sum(part.run(tally) for part in parts)
                return cpu + programs.run_script(*count, f"{section}/counts", tally, self.environment, SCRIPT_SECONDS)

            self.add(section, "tests", SCRIPT_TARGETS[section], run)

    # The canary.

    def canary(self, tally):
        """Each test goes wrong in its own way; that each is counted is a test here."""
        program = BUILD / "tests/tests/gpuorch_canary"
        expected = {"passes": (1, 0, 0), "fails": (0, 1, 0), "throws": (0, 1, 0), "is skipped": (0, 0, 1),
                    "has no assertion": (0, 1, 0), "crashes": (0, 1, 0), "leaves early": (0, 1, 0), "hangs": (0, 1, 0),
                    None: (1, 6, 1)}  # all together: each is counted, the ones behind a crash too
        cpu = 0
        for name, counts in expected.items():
            noticed = tallies.Tally()
            cpu += programs.run_doctest(program, "canary", noticed, self.environment, 2, name)
            named = all((name or "canary") in text for text in noticed.failed + noticed.skipped)
            self.compare(tally, f"a test that {name or 'is one of all'}", noticed.counts(), counts, named)
        noticed = tallies.Tally()
        cpu += programs.run_doctest(program, "canary", noticed, self.environment, 2, "nothing is called that")
        self.compare(tally, "a suite without a test", noticed.counts(), (0, 1, 0))
        for script, counts in (("prints_nothing", (0, 1, 0)), ("stops_early", (1, 1, 0)), ("raises", (1, 1, 0)),
                               ("exits_with_an_error", (1, 1, 0)), ("reports", (2, 1, 1)), ("hangs", (1, 1, 0))):
            noticed = tallies.Tally()
            cpu += programs.run_script(TESTS / f"canary/{script}.py", [], "canary", noticed, self.environment, 5)
            self.compare(tally, f"a script that {script.replace('_', ' ')}", noticed.counts(), counts)
        return cpu

    @staticmethod
    def compare(tally, what, seen, expected, named=True):
        if seen == expected and named:
            tally.success(f"canary: {what} is counted")
        else:
            tally.fail(f"canary: {what} is counted", f"as {seen}, not {expected}")
