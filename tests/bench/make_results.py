#!/usr/bin/env python3
"""Puts a benchmark run's table into RESULTS.md, in place of that machine's older table, which moves to history/.

    tests/bench/make_results.py MACHINE BENCH_JSON [--commit ID]

MACHINE names one of the page's tables (h200, two-cores): the lines between <!-- MACHINE DATE --> and <!-- end MACHINE -->.
BENCH_JSON is what tests/bench/run wrote. --commit is the commit that was measured (this tree's HEAD). Targets and verdicts are
the run's, as in its bench.md. misses.txt beside the page has one sentence for each missed row, written by hand, in lines
"MACHINE ROW: sentence": a missed row without a sentence is an error, and then nothing is written. So is a row that failed, and a
run with --quick, which measures nothing.
"""
import argparse
import importlib.machinery
import importlib.util
import json
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
LOADER = importlib.machinery.SourceFileLoader("bench_run", str(HERE / "run"))
HEADING = ("| row | unit | base | ours | ratio | 95 % interval | difference | target | |", "|---|---|---|---|---|---|---|---|---|")


def figure_format():
    """The way in which bench.md writes a figure: tests/bench/run's own."""
    sys.dont_write_bytecode = True
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("bench_run", LOADER))
    LOADER.exec_module(module)
    return module.figure


def table(rows):
    figure, lines = figure_format(), list(HEADING)
    for row in rows:
        if "skipped" in row:
            continue
        if "ratio" in row:
            base, (low, high) = figure(row["base_median"]), row["ratio_interval"]
            ratio, interval, difference = f"{row['ratio']:.3f}", f"{low:.3f} .. {high:.3f}", f"{row['difference']:+,.3g}"
        else:
            low, high = row["ours_interval"]
            base, ratio, interval, difference = "", "", f"{figure(low)} .. {figure(high)}", ""
        verdict = "; ".join(part for part in (row["verdict"], row["notes"]) if part)
        cells = (row["name"], row["unit"], base, figure(row["ours_median"]), ratio, interval, difference, row["target"], verdict)
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def sentences(text, machine):
    """Row -> sentence, of one machine."""
    return dict(re.findall(rf"^{re.escape(machine)} (\w+): (.+)$", text, re.MULTILINE))


def block(machine, report, commit, known):
    """The machine's part of the page. Raises ValueError where the run can't stand there."""
    facts, rows = report["machine"], report["rows"]
    if "quick" in facts:
        raise ValueError("the run was made with --quick, which measures nothing")
    if failed := [row["name"] for row in rows if "failed" in row]:
        raise ValueError("rows failed: " + ", ".join(failed))
    missed = [row["name"] for row in rows if row.get("verdict", "").startswith("missed")]
    if unknown := [name for name in missed if name not in known]:
        raise ValueError(f"misses.txt has no sentence \"{machine} ROW: …\" for " + ", ".join(unknown))
    date = facts["date"].split()[0]
    # Of the driver's line only the version counts. The output paths don't count.
    version = re.search(r"\d+\.\d+(\.\d+)?", facts.get("driver") or "")
    about = {**facts, "driver": f"driver {version[0]}" if version else facts.get("driver")}
    what = "; ".join(about[name] for name in ("device", "driver", "processor") if about.get(name))
    command = re.sub(r" --out \S+", "", facts["command"])
    parts = [f"<!-- {machine} {date} -->", f"{date}, commit {commit}. {what}. `{command}`.", table(rows)]
    if missed:
        parts.append("\n".join(f"- `{name}`: {known[name]}" for name in missed))
    return "\n\n".join(parts) + f"\n\n<!-- end {machine} -->"


def replace(page, machine, new):
    """The page with the machine's new part, the older part's text, and its date."""
    found = re.search(rf"<!-- {re.escape(machine)} ([\d-]+) -->\n(.*?)<!-- end {re.escape(machine)} -->", page, re.DOTALL)
    if not found:
        raise ValueError(f"the page has no part <!-- {machine} DATE --> … <!-- end {machine} -->")
    return page[:found.start()] + new + page[found.end():], found.group(2).strip("\n"), found.group(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("machine")
    parser.add_argument("report", type=pathlib.Path)
    parser.add_argument("--commit")
    parser.add_argument("--page", type=pathlib.Path, default=HERE / "RESULTS.md")
    wanted = parser.parse_args()
    folder, commit = wanted.page.resolve().parent, wanted.commit
    if not commit:
        commit = subprocess.run(["git", "-C", HERE, "rev-parse", "--short", "HEAD"], check=True, text=True,
                                stdout=subprocess.PIPE).stdout.strip()
    misses = (folder / "misses.txt").read_text()
    try:
        new = block(wanted.machine, json.loads(wanted.report.read_text()), commit, sentences(misses, wanted.machine))
        page, old, date = replace(wanted.page.read_text(), wanted.machine, new)
    except ValueError as problem:
        sys.exit(f"make_results.py: {problem}")
    past = folder / "history" / f"{wanted.machine}-{date}.md"
    past.parent.mkdir(exist_ok=True)
    before = past.read_text() if past.exists() else f"# {wanted.machine}, {date}\n"
    past.write_text(f"{before}\n{old}\n")
    wanted.page.write_text(page)
    return 0


if __name__ == "__main__":
    sys.exit(main())
