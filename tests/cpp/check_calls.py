#!/usr/bin/env python3
"""The files *_calls.hpp of gpuorch.hpp are what generate_cpp.py makes of abi.json. A plain function that is new in abi.json
becomes a member of its object's class without a line by hand, and a function that is not plain does not."""
import copy
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCE = ROOT / "libgpuorch/src/abi"
INCLUDE = ROOT / "libgpuorch/include"
sys.path.append(str(SOURCE))

CAPACITY = [("char *", "buffer", "out"), ("size_t", "capacity", "in"), ("size_t *", "needed", "out")]
# Made-up functions: of each the parameters behind the handle, and a use of the member.
MADE_UP = {
    "gpo_queue_sift": ([("gpo_stream_t", "stream", "in"), ("uint32_t", "depth", "in")],
                       "static_assert(std::is_void_v<decltype(queue.sift(stream, 3))>);"),
    "gpo_queue_forget_depth": ([], "queue.forget_depth();"),
    "gpo_queue_get_depth": ([("uint64_t *", "depth", "out")], "const std::uint64_t& depth = queue.depth();\n(void)depth;"),
    "gpo_queue_get_bounds": ([("int32_t *", "least", "out"), ("uint64_t *", "most", "out")],
                             "const auto [least, most] = queue.bounds();\n(void)least, (void)most;"),
    "gpo_queue_get_share": ([("uint32_t", "tenant", "in"), ("gpo_queue_info *", "share", "inout")],
                            "(void)queue.share(1).struct_size;"),
    "gpo_queue_get_story": (CAPACITY, "(void)queue.story().size();"),
    "gpo_queue_rest": ([("int64_t", "timeout_ns", "in")],
                       "queue.rest();\nstatic_assert(std::is_same_v<decltype(queue.rest(1ns)), bool>);"),
    "gpo_queue_count_rests": ([("int64_t", "timeout_ns", "in"), ("uint64_t *", "count", "out")],
                              "(void)(queue.count_rests() + *queue.count_rests(1ns));"),
    "gpo_queue_ripen": ([], "if (queue.ripen()) return;"),
    "gpo_queue_tune": ([("const gpo_tenant_options *", "options", "in")],
                       "gpuorch::tenant_options options;\nqueue.tune(options), queue.tune({}), queue.tune();"),
    "gpo_stream_twin": ([("gpo_stream_t", "of", "in"), ("gpo_stream_t *", "stream", "out")],
                        "gpuorch::stream twin = device.twin_stream(stream);"),
}
NOT_PLAIN = {
    "gpo_queue_sort": [("const uint32_t *", "order", "in"), ("uint64_t", "count", "in")],
    "gpo_queue_each": [("gpo_completion_fn", "callback", "in"), ("void *", "user", "in")],
}


def check(name, problem):
    print(f"FAIL {name}: {problem}" if problem else f"PASS {name}", flush=True)


def function(name, parameters):
    """An entry of abi.json."""
    says = ["Is made up. Has a second sentence."] + (["GPO_NOT_READY: it is not ripe"] if name == "gpo_queue_ripen" else [])
    handle = "device" if name == "gpo_stream_twin" else "queue"
    rows = [(f"gpo_{handle}_t", handle, "in"), *parameters]
    return {"name": name, "header": "queue.h", "returns": "gpo_status", "says": says, "parameters": [
        {"name": word, "type": kind, "direction": direction} | ({"length": "count"} if word == "order" else {"nullable": True})
        for kind, word, direction in rows]}


def with_made_up(abi):
    new = copy.deepcopy(abi)
    new["functions"] += [function(name, parameters) for name, (parameters, _) in MADE_UP.items()]
    new["functions"] += [function(name, parameters) for name, parameters in NOT_PLAIN.items()]
    return new


def declared(one):
    return f"{one['returns']} {one['name']}({', '.join(row['type'] + ' ' + row['name'] for row in one['parameters'])});"


def compiled(folder, abi, files):
    """What the compiler says of the uses, with headers of which these files are made anew."""
    shutil.copytree(INCLUDE, folder / "include")
    for path, text in files.items():
        (folder / "include" / path.relative_to(INCLUDE)).write_text(text)
    prototypes = "\n".join(declared(one) for one in abi["functions"] if one["name"] in MADE_UP)
    uses = "\n".join(f"{{\n{use}\n}}" for _, use in MADE_UP.values())
    (folder / "uses.cpp").write_text(
        f"#include <gpuorch/gpuorch.h>\nextern \"C\" {{\n{prototypes}\n}}\n#include <gpuorch/gpuorch.hpp>\n"
        "using namespace std::chrono_literals;\n"
        "void f(gpuorch::queue& queue, gpuorch::device& device, gpuorch::stream& stream) {\n"
        f"(void)device;\n{uses}\n}}\n")
    return subprocess.run([*os.environ.get("CXX", "c++").split(), "-std=c++17", "-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic",
                           "-Werror", "-Wno-unused-variable", f"-I{folder}/include", folder / "uses.cpp"],
                          capture_output=True, text=True).stderr


def made_up(generate_cpp, abi):
    new = with_made_up(abi)
    files = generate_cpp.files(new)
    text = "".join(files.values())
    with tempfile.TemporaryDirectory() as folder:
        check("a plain function that is new in abi.json is a member in C++", compiled(pathlib.Path(folder), new, files)[:2000])
    check("the first sentence of a function's comment is its member's",
          "" if text.count("    /// Is made up.\n") == len(MADE_UP) else text.count("Is made up."))
    check("a function with an array or a callback has no member that is generated",
          ", ".join(name for name in NOT_PLAIN if name in text))


def tables(generate_cpp, abi):
    """Each table names what there is, and complains of what there isn't."""
    check("the tables of members by hand name plain functions", "; ".join(generate_cpp.problems(abi)))
    said = " ".join("".join(generate_cpp.files(abi).values()).replace("///", "").split())
    check("each comment of a table is a member's",
          ", ".join(function for function, sentence in generate_cpp.SAYS.items() if said.count(sentence) != 1))
    hand = "".join(path.read_text() for path in (INCLUDE / "gpuorch/cpp").glob("*.hpp") if not path.name.endswith("_calls.hpp"))
    check("each function whose member is written by hand is called in cpp/",
          ", ".join(sorted(name for name in generate_cpp.BY_HAND if name not in hand)))
    reset = copy.deepcopy(abi)
    reset["functions"] = [one for one in reset["functions"] if one["name"] != "gpo_queue_reset"]
    reset["functions"].append(function("gpo_queue_get_get", [("uint32_t *", "number", "out")]))
    found = list(generate_cpp.problems(reset))
    check("a table's function that is gone is noticed, and a member with a name that each object has",
          "" if len(found) == 2 and "gpo_queue_reset" in found[0] and "`get`" in found[1] else found)


def main():
    if not SOURCE.is_dir():
        print("SKIP the calls of C++ are made from abi.json: a bundle has no sources")
        return
    import generate_cpp
    made = subprocess.run([sys.executable, SOURCE / "generate_cpp.py", "--check"], capture_output=True, text=True)
    check("the calls of C++ are made from abi.json as it is", made.stderr.strip())
    abi = json.loads((ROOT / "libgpuorch/abi.json").read_text())
    made_up(generate_cpp, abi)
    tables(generate_cpp, abi)


main()
