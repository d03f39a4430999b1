#!/usr/bin/env python3
"""Makes one source of several sources of tests, which compile together in half of the time: they read, and instantiate, the
same headers.

    batch.py OUTPUT.cpp SOURCE.cpp...

The headers come first. Then each source has a namespace of its own, so that sources can use the same names. A source that
defines anything for other sources can't be in a batch.
"""
import pathlib
import re
import sys


def headers(source):
    """The #include lines before the first line of code. Later ones are in the text of a kernel."""
    found = []
    for line in source.read_text().splitlines():
        if re.match(r"#include [<\"]", line):
            name = line.split(maxsplit=1)[1]
            beside = source.parent / name.strip('"')
            found.append(f'#include "{beside}"' if name[0] == '"' and beside.is_file() else line)
        elif line.strip() and not line.startswith("//"):
            break
    return found


output, *sources = map(pathlib.Path, sys.argv[1:])
lines = ["// Made by tests/support/batch.py."]
lines += dict.fromkeys(line for source in sources for line in headers(source))
for number, source in enumerate(sources):
    lines += [f"namespace source_{number} {{", f'#include "{source}"', "}"]
output.parent.mkdir(exist_ok=True)
output.write_text("\n".join(lines) + "\n")
