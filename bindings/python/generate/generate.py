#!/usr/bin/env python3
"""Makes from libgpuorch/abi.json what the Python package doesn't need by hand: tables of C (src/tables.*), a base class with
the plain methods of each handle (gpuorch/_calls.py), the constants (gpuorch/_constants.py), the structs that methods
take (gpuorch/options.py), and the stubs (gpuorch/*.pyi); and the tables at the end of ctypes/gpuorch.py.

    generate.py [--check] [--abi FILE] [--out DIR]     with --check nothing is written, and a difference is an error
"""
import argparse
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import abi as abi_module
import c_tables
import calls
import ctypes_tables
import options
import stubs

PYTHON = HERE.parent


def files(abi):
    """The text of each file, by its path in bindings/python."""
    return {"src/tables.h": c_tables.header(abi), "src/tables.c": c_tables.source(abi),
            "gpuorch/_calls.py": calls.source(abi), "gpuorch/_constants.py": calls.constants(abi),
            "gpuorch/records.py": stubs.records(abi), "gpuorch/records.pyi": stubs.records_stub(abi),
            "gpuorch/options.py": options.source(abi), "gpuorch/__init__.pyi": stubs.package(abi),
            "gpuorch/_gpuorch.pyi": stubs.extension(abi), "gpuorch/py.typed": "",
            "ctypes/gpuorch.py": ctypes_tables.module(abi, (PYTHON / "ctypes/gpuorch.py").read_text())}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--abi", type=pathlib.Path, default=PYTHON.parents[1] / "libgpuorch/abi.json")
    parser.add_argument("--out", type=pathlib.Path, default=PYTHON)
    wishes = parser.parse_args()
    late = []
    for name, text in files(abi_module.Abi(wishes.abi)).items():
        path = wishes.out / name
        if path.exists() and path.read_text() == text:
            continue
        if wishes.check:
            late.append(name)
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    if late:
        sys.exit(f"out of date, run {pathlib.Path(__file__).name}: {', '.join(late)}")


if __name__ == "__main__":
    main()
