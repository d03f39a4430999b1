#!/usr/bin/env python3
"""What bindings/lua/generator makes is what it makes of abi.json as it is, and each table of it is used."""
import pathlib
import re
import subprocess
import sys

LUA = pathlib.Path(__file__).resolve().parents[3] / "bindings/lua"


def check(name, problem):
    print(f"FAIL {name}: {problem}" if problem else f"PASS {name}")


def main():
    if not LUA.is_dir():
        print("SKIP Lua's generated files are made from abi.json: a bundle has no sources")
        return
    made = subprocess.run([sys.executable, LUA / "generator/generate.py", "--check"], capture_output=True, text=True)
    check("Lua's generated files are made from abi.json as it is", made.stderr.strip())
    tables = set(re.findall(r"const (?:field|char \*const) (\w+)\[\]", (LUA / "src/records.h").read_text()))
    used = {name for path in LUA.glob("src/*.c") if path.name != "records.c"
            for name in re.findall(r"\b(?:gpo_\w+_fields|words_of_\w+)\b", path.read_text())}
    used |= set(re.findall(r"WORD\(\w+, \w+, (\w+)\)", (LUA / "src/records.c").read_text()))
    check("every generated table is used", ", ".join(sorted(tables - used)))


main()
