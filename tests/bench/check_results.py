#!/usr/bin/env python3
"""make_results.py makes the page's table from a run's bench.json, moves the older table to history/, and refuses a run that can't
stand on the page."""
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
PAGE = """# Results

<!-- h200 2026-01-02 -->

the table before

<!-- end h200 -->

behind the table
"""
MET = {"name": "launch", "unit": "ns", "ours_median": 3194, "base_median": 3054, "ratio": 1.0371, "ratio_interval": [1.028, 1.0434],
       "difference": 112.3, "target": "≤ 1.05×", "verdict": "met", "notes": ""}
MISSED = {"name": "notify", "unit": "ns", "ours_median": 483.62, "base_median": 286.8, "ratio": 1.725,
          "ratio_interval": [1.636, 1.777], "difference": 201, "target": "≤ + 100 ns", "verdict": "missed", "notes": "p99 1 us"}
ALONE = {"name": "pin", "unit": "ns", "ours_median": 3.1, "ours_interval": [3.079, 3.132], "target": "", "verdict": "", "notes": ""}
SKIPPED = {"name": "soft_wait", "unit": "us", "skipped": "needs the software GPU"}
FAILED = {"name": "epoll", "unit": "ns", "failed": "no such driver"}
SENTENCES = "two-cores notify: of another machine\nh200 notify: the scanner's cache lines\n"


def make(rows, misses=SENTENCES, **machine):
    """What make_results.py did: exit code, page, history, and what it said."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        (folder / "RESULTS.md").write_text(PAGE)
        (folder / "misses.txt").write_text(misses)
        facts = {"date": "2026-03-04 05:06 UTC", "device": "H200 (sm_90)", "driver": "580", "command": "tests/bench/run launch", **machine}
        (folder / "bench.json").write_text(json.dumps({"machine": facts, "rows": rows}))
        run = subprocess.run([sys.executable, HERE / "make_results.py", "h200", folder / "bench.json", "--commit", "abc1234",
                              "--page", folder / "RESULTS.md"], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        past = {path.name: path.read_text() for path in folder.glob("history/*")}
        return run.returncode, (folder / "RESULTS.md").read_text(), past, run.stdout


def check(name, seen, *wanted):
    lacking = [text for text in wanted if text not in seen]
    print(f"FAIL {name}: {lacking[0]!r} is not in {seen!r}" if lacking else f"PASS {name}")


def refused(name, why, rows, **more):
    code, page, past, said = make(rows, **more)
    good = code == 1 and page == PAGE and not past and why in said
    print(f"PASS {name}" if good else f"FAIL {name}: ended with {code}, {said!r}, {page!r}, {past!r}")


def main():
    code, page, past, said = make([MET, MISSED, ALONE, SKIPPED])
    check("a run becomes a table", f"{code} {said} {page}", "0 ", "2026-03-04, commit abc1234. H200 (sm_90); 580. `tests/bench/run launch`.",
          "| launch | ns | 3,054 | 3,194 | 1.037 | 1.028 .. 1.043 | +112 | ≤ 1.05× | met |",
          "| notify | ns | 286.8 | 483.6 | 1.725 | 1.636 .. 1.777 | +201 | ≤ + 100 ns | missed; p99 1 us |",
          "| pin | ns |  | 3.100 |  | 3.079 .. 3.132 |  |  |  |", "<!-- h200 2026-03-04 -->", "<!-- end h200 -->\n\nbehind the table\n")
    print("FAIL a skipped row isn't in the table" if "soft_wait" in page else "PASS a skipped row isn't in the table")
    check("a miss has its machine's sentence", page, "- `notify`: the scanner's cache lines\n")
    check("the older table is in the history", json.dumps(past), "h200-2026-01-02.md", "the table before")
    print("FAIL the older table has left the page" if "the table before" in page else "PASS the older table has left the page")
    refused("a miss without a sentence is refused", "no sentence", [MET, MISSED], misses="two-cores notify: of another machine\n")
    refused("a run with a failed row is refused", "epoll", [MET, FAILED])
    refused("a quick run is refused", "--quick", [MET], quick="no measurement")


if __name__ == "__main__":
    main()
