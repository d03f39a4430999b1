#!/usr/bin/env python3
"""Makes the source that counts calls: for each exported function one that stands before it (the linker's --wrap) and
notes whether it succeeded. So tests are written against the headers, and yet every call is seen.

    generate_call_counter.py OUTPUT.cpp
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "libgpuorch/src/abi"))
import headers


def main():
    found = headers.functions()
    lines = ["// Made from the public headers by tests/abi/generate_call_counter.py.",
             '#include "gpuorch/gpuorch.h"', '#include "support/coverage.h"', "",
             "namespace gpo::test {", "", "std::vector<Coverage>& coverage() {",
             "    static std::vector<Coverage> all{"]
    lines += [f'        {{"{name}"}},' for name in found]
    lines += ["    };", "    return all;", "}", "", "}  // namespace gpo::test", "", 'extern "C" {', ""]
    for number, (name, (result, parameters)) in enumerate(found.items()):
        arguments = ", ".join(word for _, word in parameters)
        good = "answer == GPO_SUCCESS" if result == "gpo_status" else "answer != 0"
        lines += [headers.declaration(result, "__real_" + name, parameters) + ";",
                  headers.declaration(result, "__wrap_" + name, parameters) + " {",
                  f"    auto& counter = gpo::test::coverage()[{number}];",
                  "    const gpo::test::Inside inside(__builtin_return_address(0));",
                  f"    const auto answer = __real_{name}({arguments});",
                  f"    counter.note({good});",
                  "    return answer;", "}", ""]
    lines += ["}  // extern \"C\""]
    with open(sys.argv[1], "w") as out:
        out.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
