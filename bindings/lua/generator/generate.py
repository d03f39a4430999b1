#!/usr/bin/env python3
"""Makes from libgpuorch/abi.json what Lua's binding doesn't need by hand: structs as tables (src/records.*),
plain functions as methods (src/calls.*), and the types of both (types/gpuorch_abi.lua).

    generate.py [--check] [--abi FILE] [--out DIR]     with --check nothing is written, and a difference is an error
"""
import argparse
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import calls
import tables
import types_file

LUA = HERE.parent


def head(name, says):
    return f"/* {name}: {says}\n * Made from abi.json by generator/generate.py. */"


def files(abi):
    """The text of each file, by its path in bindings/lua."""
    structs = tables.Tables(abi)
    methods = calls.Methods(abi, structs)
    return {"src/records.c": structs.source(head), "src/records.h": structs.header(head),
            "src/calls.c": calls.source(methods, head), "src/calls.h": calls.header(methods, head),
            "src/classes.h": calls.classes(methods, head),
            "types/gpuorch_abi.lua": types_file.text(abi, structs, methods.typed,
                                                      (LUA / "types/gpuorch.lua").read_text())}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--abi", type=pathlib.Path, default=LUA.parents[1] / "libgpuorch/abi.json")
    parser.add_argument("--out", type=pathlib.Path, default=LUA)
    wishes = parser.parse_args()
    late = []
    for name, text in files(json.loads(wishes.abi.read_text())).items():
        path = wishes.out / name
        if not wishes.check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            late.append(name)
    if late:
        sys.exit(f"out of date, run {pathlib.Path(__file__).name}: {', '.join(late)}")


if __name__ == "__main__":
    main()
