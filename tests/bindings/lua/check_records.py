#!/usr/bin/env python3
"""The fields of Lua's tables are those of the structs: records.h is what generate_records.py makes of abi.json, and every
struct in it is used."""
import pathlib
import re
import subprocess
import sys

LUA = pathlib.Path(__file__).resolve().parents[3] / "bindings/lua"
# Read field by field: by user data, and by answers of the task's type.
BY_HAND = {"gpo_completion", "gpo_answer"}


def check(name, problem):
    print(f"FAIL {name}: {problem}" if problem else f"PASS {name}")


def main():
    if not LUA.is_dir():
        print("SKIP Lua's records are made from abi.json: a bundle has no sources")
        return
    made = subprocess.run([sys.executable, LUA / "generate_records.py", "--check"], capture_output=True, text=True)
    check("Lua's records are made from abi.json as it is", made.stderr.strip())
    records = set(re.findall(r"#define FIELDS_OF_(\w+)", (LUA / "src/records.h").read_text()))
    used = {name for path in LUA.glob("src/*.c") for name in re.findall(r"\bFIELDS_OF_(\w+)", path.read_text())}
    check("every struct that the library fills is a table of Lua's", ", ".join(sorted(records - used - BY_HAND)))


main()
