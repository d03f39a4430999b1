#!/usr/bin/env python3
"""Makes what counting.c includes: for each function of the table one that calls the real one and counts, and the table.

    generate_counting.py OUTPUT.h
"""
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "libgpuorch/src/abi"))
import headers


def main():
    found = headers.functions()
    order = (ROOT / "libgpuorch/src/abi/functions.txt").read_text().split()
    lines = ["/* Made from the public headers by tests/bindings/counting/generate_counting.py. */",
             "static struct count counts[] = {"]
    lines += [f'    {{"{name}", 0, 0}},' for name in order]
    lines += ["};", "static const size_t counts_size = sizeof counts / sizeof counts[0];", ""]
    for number, name in enumerate(order):
        result, parameters = found[name]
        member = name.removeprefix("gpo_")
        call = f"real->{member}({', '.join(word for _, word in parameters)})"
        lines.append(f"static {headers.declaration(result, 'counted_' + member, parameters)} {{")
        if result == "gpo_status":
            lines.append(f"    return counted(&counts[{number}], {call});")
        else:
            lines += [f"    called(&counts[{number}]);", f"    return {call};"]
        lines += ["}", ""]
    lines.append("static const gpo_api counting_table = {")
    lines += [f"    .{member} = counted_{member}," for member in (name.removeprefix("gpo_") for name in order)]
    lines.append("};")
    pathlib.Path(sys.argv[1]).write_text("\n".join(lines) + "\n")


main()
