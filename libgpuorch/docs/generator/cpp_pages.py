"""The pages of the C++ headers and of the headers for kernels: the text at their heads, and what they declare."""
import re

import c_headers
import c_pages
import comments
import synopsis
from comments import indented, inline

INCLUDE = c_headers.INCLUDE
FOLDERS = {"cpp": ("gpuorch.hpp", "cpp/*.hpp"), "asio": ("asio.hpp", "asio/*.hpp"), "device": ("", "device/*.cuh")}


def docnames():
    """{header, below include/gpuorch: page}"""
    found = {"gpuorch.hpp": "cpp/index", "options.hpp": "cpp/options", "asio.hpp": "asio/index"}
    for folder, (_, pattern) in FOLDERS.items():
        found |= {path: re.sub(r"(_calls)?\.(hpp|cuh)$", "", path) for path in below(pattern)}
    return found


def below(pattern):
    return sorted(str(path.relative_to(INCLUDE)) for path in INCLUDE.glob(pattern))


def head_of(path):
    text = (INCLUDE / path).read_text()
    match = re.match(r"(?://[^\n]*\n)+|/\*.*?\*/", text, re.S)
    found = comments.blocks(match[0])
    title, _, rest = found[0][1].partition(": ")
    found[0] = ("paragraph", c_pages.capital(rest))
    return found


def device_headers():
    """{header in C: the headers for kernels whose heads name it first}"""
    found = {}
    for path in below("device/*.cuh"):
        match = re.search(r"\(gpuorch/(\w+\.h)\)", head_of(path)[0][1])
        if match:
            found.setdefault(match[1], []).append(path.removeprefix("device/"))
    return found


def names():
    """{name with its namespace: page} of what the heads of the headers for kernels name, and of the classes in C++."""
    found = {}
    for path in below("device/*.cuh"):
        text = (INCLUDE / path).read_text()
        head = text[:text.index("*/")]
        if "Part of " not in head:
            found |= {name: docnames()[path] for name in re.findall(r"\bgpo::\w+", head) if name not in found}
    for path in (*below("cpp/*.hpp"), *below("asio/*.hpp"), "asio.hpp"):
        for entry in synopsis.entries((INCLUDE / path).read_text()):
            if entry.members is not None and entry.name:
                found[f"gpuorch::{re.sub('<.*', '', entry.name)}"] = docnames()[path]
    return found


def heading(text, line="-"):
    return [inline(text), line * len(inline(text)), ""]


def code(found, language):
    lines = synopsis.lines(found, c_pages.FUNCTIONS)
    return [f".. code-block:: {language}", "", *indented(lines), ""] if lines else []


def prose(found, language="cpp"):
    """Headings of a head are sections."""
    return comments.Writer(language, heading, run_in=True).lines(found)


def declarations(path):
    """A section for each class, and one for everything else between two classes."""
    lines, others = [], []

    def flush():
        if any(entry.text for entry in others):
            lines.extend(heading("Functions and types") if "Functions and types" not in lines else [])
            lines.extend(code(others, "cpp"))
        others.clear()

    for entry in synopsis.entries((INCLUDE / path).read_text()):
        if entry.members is None or not (entry.comment or re.search(r"(^|>\s)class\b", entry.text)):
            others.append(entry)
            continue
        flush()
        name = re.sub(r"<.*", "", entry.name)
        lines += heading(f"gpuorch::{name}")
        lines += comments.Writer("cpp").lines(comments.blocks(entry.comment)) if entry.comment else []
        entry.comment = ""
        lines += code([entry], "cpp")
    flush()
    return lines


def plain_calls(path):
    entries = synopsis.entries((INCLUDE / path).read_text())
    if not any(entry.members for entry in entries):
        return []
    return [*heading("Plain calls"),
            "Members that only call their function of the C interface. The class above derives from them.", "",
            *code(entries, "cpp")]


def header_page(path, include):
    lines = [*heading(path, "="), f"``#include <gpuorch/{include}>``", "", *prose(head_of(path))]
    if path.endswith(".cuh"):
        found = synopsis.entries((INCLUDE / path).read_text())
        return lines + ([*heading("Declarations"), *code(found, "cuda")] if any(entry.text for entry in found) else [])
    lines += declarations(path)
    calls = path.replace(".hpp", "_calls.hpp")
    return lines + (plain_calls(calls) if (INCLUDE / calls).exists() else [])


def contents(members):
    return [".. toctree::", "   :maxdepth: 1", "", *(f"   {member}" for member in members), ""]


def cpp_index(folder, top):
    members = sorted({docname.partition("/")[2] for path, docname in docnames().items()
                      if docname.startswith(f"{folder}/") and docname != f"{folder}/index"})
    return [*heading(f"{'C++' if folder == 'cpp' else 'Asio'}: {top}", "="), f"``#include <gpuorch/{top}>``", "",
            *prose(head_of(top)), *declarations(top), *heading("Headers"), *contents(members)]


def device_index():
    """Those that programs include first, then their parts."""
    paths = below("device/*.cuh")
    part = {path: "Part of " in " ".join(text for kind, text in head_of(path) if kind == "paragraph") for path in paths}
    about = {path: f":doc:`{path} </{docnames()[path]}>`" for path in paths}
    says = {path: inline(comments.summary(head_of(path)[0][1])) for path in paths}
    lines = [*heading("Headers for kernels", "="),
             "CUDA C++ that kernels include. gpo_module_compile finds these headers by itself, for CUDA and for the",
             "software GPU.", "", ".. list-table::", "   :class: overview", "   :widths: auto", ""]
    for path in (path for path in paths if not part[path]):
        lines += [f"   * - {about[path]}", f"     - {says[path]}"]
    lines += ["", "Parts of these, which they include:", ""]
    lines += [f"- {about[path]}: {says[path]}" for path in paths if part[path]]
    order = sorted(paths, key=lambda path: (part[path], path))
    members = [docnames()[path].removeprefix("device/") for path in order]
    return [*lines, "", ".. toctree::", "   :hidden:", "", *(f"   {member}" for member in members), ""]


def pages():
    """(page, lines) of all these headers."""
    yield "cpp/index", cpp_index("cpp", "gpuorch.hpp")
    yield "asio/index", cpp_index("asio", "asio.hpp")
    yield "device/index", device_index()
    options = synopsis.entries((INCLUDE / "options.hpp").read_text())
    yield "cpp/options", [*heading("options.hpp", "="), "``#include <gpuorch/gpuorch.hpp>``", "",
                          *prose(head_of("options.hpp")), *heading("Structs"), *code(options, "cpp")]
    for path in (*below("cpp/*.hpp"), *below("asio/*.hpp"), *below("device/*.cuh")):
        if not path.endswith("_calls.hpp"):
            include = "gpuorch.hpp" if path.startswith("cpp/") else path
            yield docnames()[path], header_page(path, include)
