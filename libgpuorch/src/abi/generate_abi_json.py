#!/usr/bin/env python3
"""Makes libgpuorch/abi.json: the whole C ABI as data, for those who bind it without a C compiler. Installed as
share/gpuorch/abi.json. With --check nothing is written, and a difference is an error.

What is in it
  version, library    GPO_VERSION and the file to load, whose only entry needed is `get_api`
  pointer_bytes       sizes and offsets are those of 64-bit machines
  statuses            name, value, meaning
  constants           all others, as values; `says` is the comment, as one text. There may be none
  handles             opaque pointers, not to be read
  callbacks           function pointers that the caller gives
  structs             size, alignment, and of each field type, offset and size (`count` for arrays); the caller sets
                      struct_size
  functions           in the order of the table of get_api; `offset` is the member's there
Of a callback, struct or function
  header              the header that declares and explains it: "stream.h" for <gpuorch/stream.h>
  says                the header's comment: a list of paragraphs and items. An item that begins with statuses and ": "
                      says when the function returns them. Of a field: its comment, as one text. There may be none
Of a parameter
  direction           in; out: written by the call; inout: a struct whose struct_size is to be set before
  nullable            whether NULL may be given
  stays_until         memory, of the caller's, that must stay after the call, and until when; else it may go
  called, ended_by    of callbacks, and of fields that are: "once", until it has been called; "often", until one of these functions
                      was called for the object that it was given to (or that was made with it), and that object's work is done
  owner, released_by  of what comes out: "caller", who gives it back by one of these functions; "library", whose it stays.
                      Neither: a plain value
  length, unit        the parameter that says how much memory it leads to; of a field, the field of the same struct
"""
import json
import pathlib
import re
import sys

import contracts
import headers

HERE = pathlib.Path(__file__).resolve().parent
OUTPUT = HERE.parents[1] / "abi.json"
SIZES = {"char": 1, "int8_t": 1, "uint8_t": 1, "int16_t": 2, "uint16_t": 2, "int32_t": 4, "uint32_t": 4, "int64_t": 8,
         "uint64_t": 8, "size_t": 8, "double": 8, "gpo_status": 4}
POINTER = 8


def called(function, word):
    """How long a callback is called."""
    ended_by = contracts.CALLED[function, word]
    return {"called": "once"} if ended_by == "once" else {"called": "often", "ended_by": ended_by}


def size_of(kind, handles, callbacks):
    return POINTER if kind.endswith("*") or kind in handles or kind in callbacks else SIZES[kind]


def layout(name, fields, constants, handles, callbacks, said):
    """Every member at the next multiple of its size, as all ABIs for which this is have it."""
    at, align, placed = 0, 1, []
    for kind, field in fields:
        kind, length = re.fullmatch(r"(.*?)(?:\[(\w+)\])?", kind).groups()
        size = size_of(kind, handles, callbacks)
        at = -(-at // size) * size
        count = int(length) if length and length.isdigit() else constants[length] if length else 1
        placed.append({"name": field, "type": kind, "offset": at, "size": size * count} | ({"count": count} if length else {}))
        if (name, field) in contracts.LENGTH:
            placed[-1]["length"], placed[-1]["unit"] = contracts.LENGTH[name, field]
        stays = contracts.STAYS.get((name, field))
        if stays:
            placed[-1]["stays_until"] = stays
        if kind in callbacks:
            placed[-1] |= called(name, field)
        if (name, field) in said:
            placed[-1]["says"] = said[name, field]
        at, align = at + size * count, max(align, size)
    return {"size": -(-at // align) * align, "align": align, "fields": placed}


def direction(kind, structs):
    if not kind.endswith("*") or kind.startswith("const ") or kind == "void *":
        return "in"
    return "inout" if kind.removesuffix(" *") in structs else "out"


def parameter(function, kind, word, structs, handles, callbacks):
    pointer, handle = kind.endswith("*"), kind in handles
    told = {"name": word, "type": kind, "direction": direction(kind, structs)}
    if (function, word) in contracts.ANY_HANDLE:
        told["handle"] = "any"
    if contracts.of(contracts.LENGTH, function, word):
        told["length"], told["unit"] = contracts.of(contracts.LENGTH, function, word)
    if contracts.of(contracts.WRITTEN, function, word):
        told["direction"] = "out"
    if pointer or handle or kind in callbacks:
        told["nullable"] = bool(contracts.of(contracts.MAY_BE_NULL, function, word) or (function, word) in contracts.NO_HANDLE or
                                handle and contracts.ends(function))
    if contracts.STAYS.get((function, word)):
        told["stays_until"] = contracts.STAYS[function, word]
    if kind in callbacks:
        told |= called(function, word)
    made = kind.removesuffix("*").strip()
    released = contracts.RELEASED_BY.get((function, word))
    if told["direction"] == "out" and made in handles and not released:
        released = [made.removesuffix("_t") + "_destroy"]
    if released:
        told |= {"owner": "caller", "released_by": released}
    elif (function, word) in contracts.LIBRARYS:
        told["owner"] = "library"
    return told


def described():
    functions, structs, callbacks = headers.functions(), headers.structs(), headers.callbacks()
    constants, handles, statuses, places = headers.constants(), headers.handles(), headers.statuses(), headers.places()
    order, said = (HERE / "functions.txt").read_text().split(), headers.said()

    def declared(name):
        return {"name": name, "header": places[name]} | ({"says": said[name]} if name in said else {})

    def parameters(name):
        return [parameter(name, kind, word, structs, handles, callbacks) for kind, word in functions[name][1]]

    return {
        "version": headers.version(), "library": headers.soname(), "get_api": "gpo_get_api", "pointer_bytes": POINTER,
        "statuses": [{"name": name, "value": value, "meaning": meaning} for name, (value, meaning) in statuses.items()],
        "constants": [{"name": name, "value": value} | ({"says": said[name]} if name in said else {})
                      for name, value in constants.items() if name not in statuses],
        "handles": handles,
        "callbacks": [{**declared(name), "returns": result,
                       "parameters": [{"name": word, "type": kind} for kind, word in pairs]}
                      for name, (result, pairs) in callbacks.items()],
        "structs": [{**declared(name), **layout(name, fields, constants, handles, callbacks, said)}
                    for name, fields in structs.items()],
        "functions": [{**declared(name), "offset": 2 * 4 + POINTER * number, "returns": functions[name][0],
                       "parameters": parameters(name)} for number, name in enumerate(order)],
    }


def text(value, indent=0):
    """JSON with a line for each thing that has a name."""
    def nested(inner):
        return isinstance(inner, list) and bool(inner) and isinstance(inner[0], dict)

    space, end = " " * (indent + 1), " " * indent
    if isinstance(value, dict) and any(map(nested, value.values())):
        members = [f"{space}{json.dumps(key)}: {text(inner, indent + 1)}" for key, inner in value.items()]
        return "{\n" + ",\n".join(members) + f"\n{end}}}"
    if nested(value):
        return "[\n" + ",\n".join(space + text(inner, indent + 1) for inner in value) + f"\n{end}]"
    return json.dumps(value)


def made():
    return text(described()) + "\n"


def main():
    if "--check" in sys.argv:
        if not OUTPUT.exists() or OUTPUT.read_text() != made():
            sys.exit(f"{OUTPUT.name} is out of date, run {pathlib.Path(__file__).name}")
    else:
        OUTPUT.write_text(made())


if __name__ == "__main__":
    main()
