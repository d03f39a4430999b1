#!/usr/bin/env python3
"""Whether a binding's tests have seen every exported function succeed and fail.

    check_counts.py COUNTS --binding NAME --reasons LIST

COUNTS is the file that libgpuorch_counting.so appends to, with lines "function successes failures"; functions that return
no status can't fail. LIST gives the functions that are left out: lines "function succeeds|fails: reason", '#' begins a
comment. A line of the list that isn't needed any more is a failure as well.
"""
import argparse
import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "libgpuorch/src/abi"))
import headers


def seen(path):
    """{function: [successes, failures]}, summed over the processes that appended."""
    sums = collections.defaultdict(lambda: [0, 0])
    for line in path.read_text().splitlines():
        name, *numbers = line.split()
        sums[name] = [sum(pair) for pair in zip(sums[name], map(int, numbers), strict=True)]
    return sums


def wanted():
    """(function, "succeeds" or "fails") for all that must be seen."""
    pairs = set()
    for name, (result, _) in headers.functions().items():
        if name != "gpo_get_api":
            pairs |= {(name, "succeeds"), (name, "fails")} if result == "gpo_status" else {(name, "succeeds")}
    return pairs


def reasons(path):
    """{(function, outcome): reason}, and what is wrong with the list."""
    found, wrong = {}, []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        match = re.fullmatch(r"(\w+) (succeeds|fails): +(\S.*)", line.strip())
        if match and (match[1], match[2]) not in found:
            found[match[1], match[2]] = match[3]
        elif line.strip() and not line.startswith("#"):
            wrong.append(f"{path.name}, line {number}: " +
                         ("said already" if match else 'not of the form "function succeeds|fails: reason"'))
    return found, wrong


def main():
    options = argparse.ArgumentParser()
    options.add_argument("counts", type=pathlib.Path)
    options.add_argument("--binding", required=True)
    options.add_argument("--reasons", type=pathlib.Path, required=True)
    options = options.parse_args()
    sums, must = seen(options.counts) if options.counts.exists() else {}, wanted()
    excused, wrong = reasons(options.reasons)
    have = {(name, outcome) for name, (good, bad) in sums.items()
            for outcome, count in (("succeeds", good), ("fails", bad)) if count}
    wrong += [f"{name} was never seen to {outcome.removesuffix('s')}" for name, outcome in sorted(must - have - excused.keys())]
    for name, outcome in sorted(excused):
        if (name, outcome) not in must:
            wrong.append(f"{options.reasons.name} excuses {name} {outcome}, which nobody asks for")
        elif (name, outcome) in have:
            wrong.append(f"{options.reasons.name} excuses {name}, which was seen to {outcome.removesuffix('s')}: "
                         "take the line out")
    for text in wrong:
        print(f"FAIL {options.binding}: {text}")
    if not wrong:
        print(f"PASS {options.binding}: every exported function was seen to succeed and to fail, but for {len(excused)} "
              "with a reason")
    return 1 if wrong else 0


sys.exit(main())
