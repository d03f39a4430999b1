#!/usr/bin/env python3
"""abi.json says what the headers say: it is what generate_abi_json.py makes of them, the compiler agrees with each number
and type in it, and nothing that the headers declare is missing."""
import copy
import ctypes
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCE = ROOT / "libgpuorch/src/abi"
INCLUDE = ROOT / "libgpuorch/include"
LIBRARY = pathlib.Path(os.environ["GPUORCH_BUILD"]) / "libgpuorch/libgpuorch.so"
sys.path.insert(0, str(SOURCE))
import contracts


def check(name, problems):
    more = f"; and {len(problems) - 5} more" if len(problems) > 5 else ""
    print(f"FAIL {name}: {'; '.join(problems[:5])}{more}" if problems else f"PASS {name}")


def difference(said, there):
    return [f"{word} is missing" for word in sorted(there - said)] + [f"there is no {word}" for word in sorted(said - there)]


def assertions(abi):
    """A C source that compiles if all is as abi.json says."""
    lines = ["#include <gpuorch/gpuorch.h>", '#define SAME(a, b) _Static_assert((a) == (b), #a " is " #b)',
             f"SAME(GPO_VERSION, {abi['version']});", f"SAME(sizeof(void *), {abi['pointer_bytes']});"]
    lines += [f"SAME({one['name']}, {one['value']});" for one in abi["statuses"] + abi["constants"]]
    for handle in abi["handles"]:
        lines += [f"SAME(sizeof({handle}), {abi['pointer_bytes']});"]
    for struct in abi["structs"]:
        name = struct["name"]
        lines += [f"SAME(sizeof({name}), {struct['size']});", f"SAME(_Alignof({name}), {struct['align']});"]
        for field in struct["fields"]:
            array = f"[{field['count']}]" if "count" in field else ""
            lines += [f"SAME(offsetof({name}, {field['name']}), {field['offset']});",
                      f"SAME(sizeof((({name} *)0)->{field['name']}), {field['size']});",
                      f"extern {field['type']} {name}_{field['name']}_type{array};",
                      f"extern __typeof__((({name} *)0)->{field['name']}) {name}_{field['name']}_type;"]
    for callback in abi["callbacks"]:
        types = ", ".join(one["type"] for one in callback["parameters"])
        lines += [f"extern {callback['returns']} (*{callback['name']}_type)({types});",
                  f"extern {callback['name']} {callback['name']}_type;"]
    for function in abi["functions"]:
        types = ", ".join(one["type"] for one in function["parameters"]) or "void"
        lines += [f"{function['returns']} {function['name']}({types});",
                  f"SAME(offsetof(gpo_api, {function['name'].removeprefix('gpo_')}), {function['offset']});"]
    lines += [f"SAME(sizeof(gpo_api), {abi['functions'][-1]['offset'] + abi['pointer_bytes']});"]
    return "\n".join(lines) + "\n"


def complaints(abi):
    compiler = [*os.environ.get("CC", "cc").split(), "-std=gnu11", "-Werror", "-fsyntax-only", f"-I{INCLUDE}", "-x", "c", "-"]
    result = subprocess.run(compiler, input=assertions(abi), capture_output=True, text=True)
    return re.findall(r"error: (.*)", result.stderr) or ([result.stderr] if result.returncode else [])


def changed(abi, what, *path):
    """A copy in which one thing is another."""
    other = copy.deepcopy(abi)
    place = other
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = what
    return other


def compiler(abi):
    check("the compiler agrees with each value, offset, size and type", complaints(abi))
    struct = next(i for i, one in enumerate(abi["structs"]) if one["name"] == "gpo_launch")
    callback = next(i for i, one in enumerate(abi["callbacks"]) if one["returns"] != "void")
    wrong = [changed(abi, 7, "constants", 3, "value"), changed(abi, 7, "statuses", 3, "value"),
             changed(abi, 4, "structs", struct, "fields", 4, "offset"), changed(abi, 4, "structs", struct, "size"),
             changed(abi, "int32_t", "structs", struct, "fields", 1, "type"), changed(abi, "void", "callbacks", callback, "returns"),
             changed(abi, "int32_t", "functions", 9, "parameters", 0, "type"), changed(abi, 0, "functions", 9, "offset")]
    check("the compiler notices whatever is another value, offset, size or type",
          [f"number {i}" for i, one in enumerate(wrong) if not complaints(one)])


def declared():
    """The types that the headers declare, from the compiler's debugging information: the structs with the names of their
    fields, and the names of all typedefs."""
    structs, typedefs = {}, set()
    with tempfile.TemporaryDirectory() as folder:
        made = pathlib.Path(folder) / "types.o"
        compile_types = [*os.environ.get("CC", "cc").split(), "-std=gnu11", "-g", "-gdwarf-4",
                         "-fno-eliminate-unused-debug-types", f"-I{INCLUDE}", "-c", "-o", made, "-x", "c", "-"]
        subprocess.run(compile_types, input="#include <gpuorch/gpuorch.h>\n", check=True, text=True)
        dump = subprocess.run(["readelf", "--wide", "--debug-dump=info", made],
                              check=True, capture_output=True, text=True).stdout
    open_struct = tag = None
    for line in dump.splitlines():
        if entry := re.match(r" *<(\d+)><\w+>: Abbrev Number: \d+(?: \((DW_TAG_\w+)\))?", line):
            tag = entry[2]
            if entry[1] == "1":
                open_struct = None
        elif name := re.match(r" *<\w+> +DW_AT_name +:.*?(\w+)\s*$", line):
            if tag == "DW_TAG_structure_type":
                open_struct = structs.setdefault(name[1], set())
            elif tag == "DW_TAG_member" and open_struct is not None:
                open_struct.add(name[1])
            elif tag == "DW_TAG_typedef":
                typedefs.add(name[1])
    return structs, typedefs


def completeness(abi):
    symbols = subprocess.run(["nm", "-D", "--defined-only", LIBRARY], check=True, capture_output=True, text=True).stdout
    exported = set(re.findall(r"\bgpo_\w+", symbols)) - {abi["get_api"]}
    check("every exported function is there", difference({one["name"] for one in abi["functions"]}, exported))
    macros = subprocess.run([*os.environ.get("CC", "cc").split(), f"-I{INCLUDE}", "-E", "-dM", INCLUDE / "gpuorch/gpuorch.h"],
                            check=True, capture_output=True, text=True).stdout
    defined = {name for name in re.findall(r"^#define (GPO_\w+) ", macros, flags=re.M)} - {"GPO_API", "GPO_SONAME"}
    check("every constant is there", difference({one["name"] for one in abi["constants"] + abi["statuses"]}, defined))
    structs, typedefs = declared()
    seen = {name: fields for name, fields in structs.items() if name.startswith("gpo_") and fields}
    seen.pop("gpo_api")
    said = {one["name"]: {field["name"] for field in one["fields"]} for one in abi["structs"]}
    check("every struct is there, with every field", difference(said.keys(), seen.keys()) + [
        f"{name}: {text}" for name in said.keys() & seen.keys() for text in difference(said[name], seen[name])])
    typedefs = {name for name in typedefs if name.startswith("gpo_")}
    check("every handle and callback is there", difference(
        {*abi["handles"], *(one["name"] for one in abi["callbacks"]), *said, "gpo_status"}, typedefs - {"gpo_api"}))


def statuses(abi):
    library = ctypes.CDLL(str(LIBRARY))
    library.gpo_status_name.restype = ctypes.c_char_p
    named = {number: name for number in range(-1, 256)
             if (name := library.gpo_status_name(number).decode()) != "GPO_UNKNOWN"}
    check("the library knows the same statuses", difference(
        {f"{one['name']} {one['value']}" for one in abi["statuses"]}, {f"{name} {number}" for number, name in named.items()}))


def places(abi):
    """The headers are read without their comments."""
    texts = {path.name: re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S) for path in INCLUDE.glob("gpuorch/*.h")
             if path.name not in ("api.h", "gpuorch.h")}
    forms = {"functions": r"GPO_API\b[^;(]*\b{}\(", "callbacks": r"typedef [^;]*\(\*{}\)\(", "structs": r"\}} {};"}
    wrong = [f"{one['name']} in {one['header']}" for kind, form in forms.items() for one in abi[kind]
             if [name for name, text in texts.items() if re.search(form.format(one["name"]), text)] != [one["header"]]]
    check("every function, callback and struct names the header that declares it", wrong)
    counts = [(one["name"], each, one.get("parameters", one.get("fields"))) for one in abi["functions"] + abi["structs"]
              for each in one.get("parameters", one.get("fields")) if "length" in each]
    check("what says the length of memory is an integer of the same call or struct", [
        f"{each['length']} for {name}'s {each['name']}" for name, each, beside in counts
        if [one["type"] for one in beside if one["name"] == each["length"]] not in (["uint32_t"], ["uint64_t"], ["size_t"])])
    unsaid = {f"{one['name']}'s {field['name']}" for one in abi["structs"] for field in one["fields"]
              if "length" not in field and re.fullmatch(r"(const )?gpo_\w+ \*", field["type"])}
    single = {"gpo_workload's costs", "gpo_host_call's error", "gpo_rank_launch's launch"}
    check("fields that lead to structs or handles say how many", difference(unsaid, single | {"gpo_stage's kernels"}))


def meanings(abi):
    functions = {one["name"]: one for one in abi["functions"]}
    released = {name for one in abi["functions"] for parameter in one["parameters"] for name in parameter.get("released_by", ())}
    check("what gives something back is a function", sorted(released - functions.keys() - {"close"}))
    handed = [f"{name}'s {parameter['name']}" for name, one in functions.items() for parameter in one["parameters"]
              if parameter["type"].removesuffix(" *") in abi["handles"] and parameter["direction"] == "out"
              and parameter.get("owner") != "caller"]
    check("every handle that comes out has an owner", handed)
    calls = [(one["name"], each) for one in abi["functions"] for each in one["parameters"]]
    calls += [(one["name"], field) for one in abi["structs"] for field in one["fields"]]
    types = {one["name"] for one in abi["callbacks"]}
    unsaid = [f"{name}'s {one['name']}" for name, one in calls if one["type"] in types and not (
        one.get("stays_until") and (one.get("called") == "once" or one.get("called") == "often" and one.get("ended_by")))]
    check("of every callback it is said how often it is called and how long it stays", unsaid)
    ends = {name for _, one in calls for name in one.get("ended_by", ())}
    check("what ends a callback's calls is a function that takes the object", sorted(
        name for name in ends if name not in functions or functions[name]["parameters"][0]["type"] not in abi["handles"]))
    check("contracts.py speaks of functions that there are", sorted(contracts.IN_HOST_NODES - functions.keys()))
    parameters = {(name, parameter["name"]) for name, one in functions.items() for parameter in one["parameters"]}
    fields = {(one["name"], field["name"]) for one in abi["structs"] for field in one["fields"]}
    anywhere = {("*", word) for _, word in parameters}
    tables = (contracts.MAY_BE_NULL, contracts.NO_HANDLE, contracts.ANY_HANDLE, contracts.RELEASED_BY, contracts.LIBRARYS,
              contracts.STAYS, contracts.CALLED, contracts.WRITTEN, contracts.LENGTH)
    check("contracts.py speaks of parameters and fields that there are",
          [" ".join(pair) for table in tables for pair in table if pair not in parameters | fields | anywhere])


# Functions named for an operation, or for an object without a handle: types.h, "Names".
FAMILIES = r"gpo_(advise|copy|fill|memory|host|host_call|trace|object)(_|$)"


def names(abi):
    """Functions whose names don't begin with an object that they take first or make."""
    wrong = []
    for function in abi["functions"]:
        name, parameters = function["name"], function["parameters"]
        made = {one["type"].removesuffix(" *") for one in parameters if one.get("owner") == "caller"}
        objects = {kind.removesuffix("_t") for kind in {*made, *(one["type"] for one in parameters[:1])} & {*abi["handles"]}}
        if objects and not re.match(FAMILIES, name) and not any(name.startswith(f"{one}_") for one in objects):
            wrong.append(name)
    check("functions are named for the objects that they take first or make", wrong)


def main():
    made = subprocess.run([sys.executable, SOURCE / "generate_abi_json.py", "--check"], capture_output=True, text=True)
    check("abi.json is made from the headers as they are", [made.stderr.strip()] if made.returncode else [])
    abi = json.loads((ROOT / "libgpuorch/abi.json").read_text())
    for part in (compiler, completeness, statuses, places, meanings, names):
        part(abi)


main()
