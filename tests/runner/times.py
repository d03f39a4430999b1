"""What builds and parts take: the table at the end of a run, and the one in tests/README.md, which --write-times makes anew."""
import datetime
import os
import pathlib
import re
import shutil
import textwrap
import time

import tally as tallies

README = pathlib.Path(__file__).resolve().parents[1] / "README.md"
BEGIN, END = "<!-- what tests/run plain sanitize --write-times has written -->", "<!-- up to here -->"
LEAST = 10                                            # seconds of a row
BUILDS = {"tests": "the library and all programs are built", "asan": "with AddressSanitizer: built",
          "tsan": "with ThreadSanitizer: built"}


class Times:
    """Of each build and each part: what it took; of a part also what it may take."""

    def __init__(self):
        self.rows, self.begun, self.ended = [], time.monotonic(), {}

    def add(self, part, seconds, cpu):
        self.rows.append((part.build, part.label, seconds, cpu, part.budget))

    def built(self, build, seconds):
        self.rows.append((build, None, seconds, None, None))

    def over(self, build):
        """All that the build is for has run."""
        self.ended[build] = time.monotonic() - self.begun

    def table(self):
        rows = [row[1:] for row in self.rows if row[1]]
        if len(rows) < 2:
            return []
        width = max(len(label) for label, *_ in rows)
        return ["", f"{'part':{width}}  seconds  of processors  budget",
                *(f"{label:{width}}  {seconds:7.0f}  {cpu:13.0f}  {budget:6.0f}" for label, seconds, cpu, budget in rows)]

    def text(self):
        """What tests/README.md says."""
        plain, whole = (f"{max(self.ended[build] for build in builds) / 60:.0f} minutes" for builds in (["tests"], self.ended))
        words = (f"On {os.cpu_count()} cores of {processor()}, {system()}, {compiled()}, {datetime.date.today()}: `tests/run` takes "
                 f"{plain}, and all of `.ci/run` {whole}. Two parts run at a time, so the seconds in the table don't add up to that. "
                 f"Parts of less than {LEAST} s are left out.")
        lines = [*textwrap.wrap(words, 139), "", "| part | seconds | processor seconds |", "|---|---|---|"]
        for build in self.ended:
            rows = sorted((row for row in self.rows if row[0] == build), key=lambda row: (row[1] is not None, -row[2]))
            lines += [f"| {label or BUILDS[build]} | {seconds:.0f} | {'' if cpu is None else format(cpu, '.0f')} |"
                      for _, label, seconds, cpu, _ in rows if seconds >= LEAST or not label]
        return "\n".join(lines)

    def write(self):
        before = README.read_text()
        begin, end = before.index(BEGIN) + len(BEGIN), before.index(END)
        README.write_text(f"{before[:begin]}\n{self.text()}\n{before[end:]}")
        tallies.show(f"wrote the times to {README}")


def processor():
    found = re.search(r"^model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text(), re.M)
    return f"a \"{found[1].strip()}\"" if found else "an unknown processor"


def system():
    found = re.search(r'^PRETTY_NAME="?([^"\n]*)', pathlib.Path("/etc/os-release").read_text(), re.M)
    return found[1] if found else "an unknown system"


def compiled():
    return "with ccache" if shutil.which("ccache") and not os.environ.get("CCACHE_DISABLE") else "everything compiled anew"
