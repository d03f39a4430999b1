#!/usr/bin/env python3
"""Makes include/gpuorch/api.h, include/gpuorch/options.hpp, src/abi/api_table.cpp, src/core/struct_fields.h and abi.json
from the public headers.

src/abi/functions.txt holds the order of the table: one name a line, append-only, since a position in the table is ABI.
New functions in the headers are appended to it. With --check nothing is written, and a difference is an error.
"""
import pathlib
import re
import sys

import generate_abi_json
import headers

HERE = pathlib.Path(__file__).resolve().parent
NOT_IN_TABLE = {"gpo_get_api"}


def wrapped(result, name, parameters):
    text = f"    {headers.declared(result, f'(*{name})(')}"
    indent = " " * len(text)
    words = [headers.declared(*pair) for pair in parameters] or ["void"]
    for piece in [word + ", " for word in words[:-1]] + [words[-1] + ");"]:
        if len(text.split("\n")[-1]) + len(piece.rstrip()) > 120:
            text = text.rstrip() + "\n" + indent
        text += piece
    return text


def struct_fields():
    structs = []
    for name, fields in headers.structs().items():
        rows = "\n".join(f"    GPO_FIELD({name}, {field})," for _, field in fields)
        structs.append(f"template <>\ninline constexpr StructField kStructFields<{name}>[] = {{\n{rows}\n}};\n")
    return f"""// Where each field of each public struct begins and ends. Made from the public headers by src/abi/generate_api.py.
#pragma once

#include <cstddef>

#include "gpuorch/gpuorch.h"

namespace gpo {{

struct StructField {{
    const char* name;
    size_t begin, end;  // bytes from the struct's begin
}};

/// The fields of struct T in their order. A struct that no public header declares has none.
template <class T>
inline constexpr int kStructFields = 0;

#define GPO_FIELD(type, field) {{#field, offsetof(type, field), offsetof(type, field) + sizeof(type::field)}}

{chr(10).join(structs)}
#undef GPO_FIELD

}}  // namespace gpo
"""


# Structs that callers fill in, for which gpuorch.hpp has a class.
HAVE_A_CLASS = {"gpo_setting", "gpo_sink", "gpo_source", "gpo_stage"}


def filled_in():
    """The structs that functions only read, and those that these point to."""
    structs = headers.structs()
    found, new = set(), {kind for _, parameters in headers.functions().values() for kind, _ in parameters}
    while new:
        names = {match[1] for kind in new if (match := re.fullmatch(r"const (\w+) \*", kind))} & structs.keys() - found
        found |= names
        new = {kind for name in names for kind, _ in structs[name]}
    return found - HAVE_A_CLASS


def with_default(name, kind, field):
    default = f" = sizeof({name})" if field == "struct_size" else "{}"
    kind, length = re.fullmatch(r"(.*?)((?:\[\w+\])?)", kind).groups()
    return f"    {headers.declared(kind, field)}{length}{default};"


def options():
    made = []
    for name, fields in headers.structs().items():
        if name not in filled_in():
            continue
        rows = "\n".join(with_default(name, *pair) for pair in fields)
        made.append(f"""struct {name.removeprefix("gpo_")} {{
{rows}
    operator {name}() const noexcept {{ return detail::same<{name}>(*this); }}
}};
""")
    return f"""// options.hpp: the C structs that a C++ program fills in, with a default for each field. gpuorch.hpp includes it.
//
//     device.create_stream({{.priority = -1}});                                     // C++20
//     const gpo_stream_options options = gpuorch::stream_options{{.priority = -1}};  // for functions of C
//
// A gpuorch::NAME has the fields of the C struct gpo_NAME in their order, and converts to that struct. Its size is set.
// GCC's -Wextra reports fields of a C struct that a designated initialiser doesn't name, and none of these structs. The
// C headers say what the fields mean. Made from the public headers by src/abi/generate_api.py.
#ifndef GPUORCH_OPTIONS_HPP
#define GPUORCH_OPTIONS_HPP

#include <cstring>
#include <type_traits>

#include "gpuorch.h"

namespace gpuorch {{

namespace detail {{

/// The C struct with the same fields.
template <class Struct, class Options>
Struct same(const Options& options) noexcept {{
    static_assert(sizeof(Struct) == sizeof(Options) && std::is_trivially_copyable_v<Options>);
    Struct out;
    std::memcpy(&out, &options, sizeof out);
    return out;
}}

}}  // namespace detail

{chr(10).join(made)}
}}  // namespace gpuorch

#endif
"""


def main():
    found = headers.functions()
    order_file = HERE / "functions.txt"
    order = order_file.read_text().split() if order_file.exists() else []
    gone = [name for name in order if name not in found]
    if gone:
        sys.exit(f"functions.txt names functions that no header declares: {' '.join(gone)}")
    order += [name for name in found if name not in order and name not in NOT_IN_TABLE]
    members = "\n".join(wrapped(found[n][0], n.removeprefix("gpo_"), found[n][1]) for n in order)
    entries = "\n".join(f"    {n}," for n in order)
    api = f"""/* api.h: every function of the library as a member of one table, for programs that load it with dlopen:
 *
 *     const gpo_api *(*get)(uint32_t) = dlsym(dlopen(GPO_SONAME, RTLD_NOW | RTLD_LOCAL), "gpo_get_api");
 *     const gpo_api *gpo = get(GPO_VERSION);
 *
 * Members are only ever appended: `struct_size` tells how many this library has. Made from the other headers by
 * src/abi/generate_api.py.
 */
#ifndef GPUORCH_API_H
#define GPUORCH_API_H

#include "admission.h"
#include "advice.h"
#include "batcher.h"
#include "buckets.h"
#include "executor.h"
#include "interprocess.h"
#include "metrics.h"
#include "peers.h"
#include "pipeline.h"
#include "scheduler.h"
#include "symmetric.h"
#include "trace.h"

#ifdef __cplusplus
extern "C" {{
#endif

typedef struct gpo_api {{
    uint32_t struct_size;
    uint32_t library_version; /* GPO_VERSION of the library */
{members}
}} gpo_api;

#ifdef __cplusplus
}}
#endif

#endif
"""
    table = f"""// The table of all functions. Made from the public headers by generate_api.py.
#include "gpuorch/api.h"

namespace {{

constexpr gpo_api kApi = {{
    sizeof(gpo_api),
    GPO_VERSION,
{entries}
}};

}}  // namespace

extern "C" GPO_API const gpo_api* gpo_get_api(uint32_t version) {{
    // Before 1.0 a minor version may break the ABI; from then on only the major one does.
    const bool served = version / 10000 == GPO_VERSION_MAJOR &&
                        (GPO_VERSION_MAJOR > 0 || version / 100 == GPO_VERSION / 100) && version <= GPO_VERSION;
    return served ? &kApi : nullptr;
}}
"""
    outputs = {order_file: "\n".join(order) + "\n", headers.INCLUDE / "api.h": api,
               headers.INCLUDE / "options.hpp": options(), HERE / "api_table.cpp": table,
               HERE.parent / "core" / "struct_fields.h": struct_fields()}
    stale = [path for path, text in outputs.items() if not path.exists() or path.read_text() != text]
    if "--check" in sys.argv:
        if stale:
            sys.exit(f"out of date, run {pathlib.Path(__file__).name}: {' '.join(p.name for p in stale)}")
        return
    for path in stale:
        path.write_text(outputs[path])
    generate_abi_json.OUTPUT.write_text(generate_abi_json.made())


if __name__ == "__main__":
    main()
