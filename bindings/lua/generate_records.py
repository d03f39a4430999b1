#!/usr/bin/env python3
"""Makes src/records.h from libgpuorch/abi.json: the fields of each struct that the library fills, as Lua's tables get them.

    generate_records.py [--check]     with --check nothing is written, and a difference is an error
"""
import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
OUTPUT = HERE / "src/records.h"
KINDS = {"uint32_t": "U32", "int32_t": "I32", "uint64_t": "U64", "int64_t": "I64", "gpo_status": "STATUS"}
ARRAYS = {"char": "CHARS", "uint8_t": "BYTES", "uint32_t": "THREE", "uint64_t": "U64S"}


def is_truth(says):
    """Whether a number is 1 or 0, by its description."""
    return bool(re.match(r"1:|1 during|0:.*; 1:", says))


def fields(struct):
    """(name, kind) of each field. The kind is None for a number that names something: its words are given by the user of the
    macro. Raises ValueError where a field has no place in a table: an address of host memory, a handle."""
    truth = False   # whether numbers without a description are truth values, by one before
    for field in struct["fields"]:
        name, says = field["name"], field.get("says", "")
        if name == "struct_size" or field["type"] == "uint32_t" and name.startswith("reserved"):
            continue
        kinds = ARRAYS if "count" in field else KINDS
        if field["type"] not in kinds or kinds is ARRAYS and field["type"] == "uint32_t" and field["count"] != 3:
            raise ValueError(name)
        kind = kinds[field["type"]]
        if kind == "U32":
            truth = "the following fields too" in says or truth and not says
            if truth or is_truth(says):
                kind = "BOOL"
            elif re.search(r"\bGPO_[A-Z_]+(_\*|, …)", says):
                kind = None
        yield name, kind


def records(abi):
    filled = {parameter["type"].removesuffix(" *") for function in abi["functions"] for parameter in function["parameters"]
              if parameter["direction"] in ("out", "inout")}
    for struct in abi["structs"]:
        if struct["name"] not in filled:
            continue
        try:
            yield struct["name"], list(fields(struct))
        except ValueError:
            pass


def text(abi):
    lines = [
        "/* records.h: the fields of structs that the library fills. Made from abi.json by generate_records.py. A macro's",
        " * parameters are the words for the numbers of a field. */",
        "#ifndef GPUORCH_LUA_RECORDS_H", "#define GPUORCH_LUA_RECORDS_H", ""]
    for struct, members in records(abi):
        words = [name for name, kind in members if kind is None]
        entries = [f"WORD({struct}, {name}, {name}_words)" if kind is None else f"FIELD({struct}, {name}, {kind})"
                   for name, kind in members]
        parameters = f"({', '.join(f'{name}_words' for name in words)})" if words else ""
        lines += [f"#define FIELDS_OF_{struct}{parameters} \\", ", \\\n".join(f"    {entry}" for entry in entries), ""]
    return "\n".join([*lines, "#endif", ""])


def main():
    made = text(json.loads((HERE.parents[1] / "libgpuorch/abi.json").read_text()))
    if "--check" not in sys.argv:
        OUTPUT.write_text(made)
    elif made != OUTPUT.read_text():
        sys.exit(f"{OUTPUT.name} is out of date, run {pathlib.Path(__file__).name}")


if __name__ == "__main__":
    main()
