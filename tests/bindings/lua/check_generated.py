#!/usr/bin/env python3
"""The generated files of bindings/lua are made from abi.json as it is, and are used. A new plain function of the ABI gets a
method and a type, and a new option a key, with no line by hand. The module calls every function of the ABI."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.append(str(ROOT / "tests/support"))
import machine

LUA = ROOT / "bindings/lua"
ABI = ROOT / "libgpuorch/abi.json"
# Functions that the module doesn't call; not_counted.txt says why of those that a script could miss.
NOT_CALLED = {"gpo_batcher_submit_then", "gpo_executor_run", "gpo_template_add_host_call"}
FROB = {"name": "gpo_queue_frob", "header": "queue.h", "says": ["Frobs a queue. More about it."],
        "returns": "gpo_status", "parameters": [
            {"name": "queue", "type": "gpo_queue_t", "direction": "in", "nullable": False},
            {"name": "level", "type": "uint32_t", "direction": "in"},
            {"name": "count", "type": "uint64_t *", "direction": "out", "nullable": False}]}
FROB_METHOD = """static int queue_frob(lua_State *L) {
    state *s = the_state(L);
    const gpo_queue_t queue = CHECK_HANDLE(1, queue);
    const uint32_t level = (uint32_t)check_unsigned(L, 2, UINT32_MAX);
    uint64_t count = 0;
    const gpo_status returned = s->api->queue_frob(queue, level, &count);
    if (returned != GPO_SUCCESS) return failure(L, s, returned);
    push_unsigned(L, count);
    return 1;
}
"""
FROB_TYPE = """--- Frobs a queue.
---@param level integer
---@return gpuorch.exact?
function queue:frob(level) end
"""


def check(name, problem):
    print(f"FAIL {name}: {problem}" if problem else f"PASS {name}")


def generate(*arguments):
    """What the generator complains about."""
    return subprocess.run([sys.executable, LUA / "generator/generate.py", *arguments], capture_output=True, text=True).stderr


def compile_calls(folder):
    """Compiles the methods with the made-up function in the table of functions."""
    name, lua = "a new plain function's method compiles", machine.lua()
    if not lua:
        print(f"SKIP {name}: there are no headers of Lua")
        return
    shutil.copytree(ROOT / "libgpuorch/include/gpuorch", folder / "gpuorch")
    header = folder / "gpuorch/api.h"
    header.write_text(header.read_text().replace(
        "} gpo_api;", "    gpo_status (*queue_frob)(gpo_queue_t queue, uint32_t level, uint64_t *count);\n} gpo_api;"))
    flags = subprocess.run(["pkg-config", "--cflags", lua], text=True, capture_output=True).stdout.split()
    compiled = subprocess.run(
        [*os.environ.get("CC", "cc").split(), "-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-fsyntax-only",
         *(flags or [f"-I/usr/include/{lua}"]), f"-I{folder}", f"-I{LUA / 'src'}", folder / "src/calls.c"],
        capture_output=True, text=True)
    check(name, compiled.stderr)


def new_parts():
    """A made-up function, option and flag in a copy of abi.json."""
    abi = json.loads(ABI.read_text())
    abi["functions"].append(FROB)
    options = next(struct for struct in abi["structs"] if struct["name"] == "gpo_stream_options")
    options["fields"].append({"name": "froth", "type": "uint64_t", "offset": 24, "size": 8, "says": "how much"})
    abi["constants"].append({"name": "GPO_STREAM_FROTHY", "value": 8})
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "abi.json").write_text(json.dumps(abi))
        generate("--abi", folder / "abi.json", "--out", folder)
        calls, records, types = ((folder / name).read_text()
                                 for name in ("src/calls.c", "src/records.c", "types/gpuorch_abi.lua"))
        compile_calls(folder)
    check("a new plain function becomes a method", "" if FROB_METHOD in calls and '{"frob", queue_frob}' in calls else calls)
    check("a new plain function gets a type", "" if FROB_TYPE in types else types)
    check("a new field and a new flag become options", "" if "FIELD(gpo_stream_options, froth, U64)" in records and
          'FLAG(gpo_stream_options, "frothy", GPO_STREAM_FROTHY)' in records else records)
    check("a new field and a new flag get types", "" if "---@field froth? gpuorch.exact how much\n" in types and
          "---@field frothy? boolean\n" in types else types)


def parameter(name, type_, direction="in"):
    return {"name": name, "type": type_, "direction": direction, "nullable": False}


def generated_with(function, *parameters):
    """What the generator complains about with one more function, and the methods that it makes."""
    abi = json.loads(ABI.read_text())
    abi["functions"].append({"name": function, "says": [], "returns": "gpo_status", "parameters": list(parameters)})
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "abi.json").write_text(json.dumps(abi))
        problem = generate("--abi", folder / "abi.json", "--out", folder)
        calls = folder / "src/calls.c"
        return problem, calls.read_text() if calls.exists() else ""


def stops():
    """What has to be written by hand isn't made."""
    queue = parameter("queue", "gpo_queue_t")
    problem, calls = generated_with("gpo_queue_hold", queue, parameter("memory", "void *"))
    made = "static int queue_hold(" in calls or '{"hold", queue_hold}' not in calls
    check("what may keep memory is written by hand", problem or (calls if made else ""))
    problem, _ = generated_with("gpo_frobnicate", parameter("what", "gpo_unheard_of"))
    check("a function in no list is named", "" if "gpo_frobnicate" in problem else problem or "the generator went on")
    problem, _ = generated_with("gpo_queue_twin", queue, parameter("options", "const gpo_admission_options *"),
                                parameter("twin", "gpo_queue_t *", "out"))
    check("an object whose slots are in use keeps no options", "" if "slot 2 of a queue" in problem else
          problem or "the generator went on")


def main():
    if not LUA.is_dir():
        print("SKIP Lua's generated files are made from abi.json: a bundle has no sources")
        return
    check("Lua's generated files are made from abi.json as it is", generate("--check"))
    tables = set(re.findall(r"const (?:field|char \*const) (\w+)\[\]", (LUA / "src/records.h").read_text()))
    used = {name for path in LUA.glob("src/*.c") if path.name != "records.c"
            for name in re.findall(r"\b(?:gpo_\w+_fields|words_of_\w+)\b", path.read_text())}
    used |= set(re.findall(r"WORD\(\w+, \w+, (\w+)\)", (LUA / "src/records.c").read_text()))
    check("every generated table is used", ", ".join(sorted(tables - used)))
    text = "".join(path.read_text() for path in LUA.glob("src/*.c"))
    missing = {function["name"] for function in json.loads(ABI.read_text())["functions"]
               if not re.search(rf"->{function['name'].removeprefix('gpo_')}\b", text)}
    check("the module calls every function of the ABI", ", ".join(sorted(missing ^ NOT_CALLED)))
    new_parts()
    stops()


main()
