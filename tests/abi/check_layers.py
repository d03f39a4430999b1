#!/usr/bin/env python3
"""The folders of libgpuorch/src include each other as the table in libgpuorch/README.md, "Layers", says: no other way,
and never in a circle; and above the driver's table no source asks which driver it has. With --table: prints what the
sources say about layers."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = ROOT / "libgpuorch" / "src"
README = ROOT / "libgpuorch" / "README.md"
PUBLIC = "gpuorch"                      # the public headers, as a folder
OF_KERNELS = "softgpu/cuda_device"      # compiled with kernels, not into the library
MOST_IN_A_CIRCLE = 4                    # files
CIRCLES = {"softgpu/machine": 8}        # what folders have today in place of that: it only falls
SUFFIXES = {".h", ".cpp", ".c", ".inc"}


def includes():
    """Each source's name, and what it includes: {"core/error.h": ["base/text.h"]}."""
    found = {}
    for path in sorted(SOURCES.rglob("*")):
        name = str(path.relative_to(SOURCES))
        if path.suffix in SUFFIXES and not name.startswith(f"{OF_KERNELS}/"):
            found[name] = re.findall(r'^\s*#\s*include\s+"([^"]+)"', path.read_text(), re.MULTILINE)
    return found


def folder(name):
    return name.rpartition("/")[0]


def arrows(of_files):
    """{(folder, included folder): one of the files where that stands}."""
    found = {}
    for name, included in of_files.items():
        for other in included:
            if "/" in other and folder(other) != folder(name):
                found.setdefault((folder(name), folder(other)), name)
    return found


def allowed(text):
    """The table of arrows: {(folder, folder it may include)}."""
    _, _, table = text.partition("| folder | may include |\n")
    found = set()
    for line in table.splitlines()[1:]:
        if not line.startswith("|"):
            break
        begin, ends = (cell.replace("`", "") for cell in line.strip("|").split("|"))
        found |= {(begin.strip(), end.strip()) for end in ends.split(",")}
    return found


def cycles(found):
    """The sets of folders that all reach each other."""
    reached = {start: {start} for arrow in found for start in arrow}
    for start, seen in reached.items():
        look_at = [start]
        while look_at:
            at = look_at.pop()
            new = {end for begin, end in found if begin == at} - seen
            seen |= new
            look_at += new
    return {frozenset(other for other in reached[start] if start in reached[other]) for start in reached
            if any(other != start and start in reached[other] for other in reached[start])}


def file_circles(of_files):
    """The sets of files that include each other in a circle; a header and the source of its name are one file."""
    stem = lambda name: name.rpartition(".")[0]
    stems = {stem(name) for name in of_files}
    return cycles({(stem(name), stem(other)): name for name, included in of_files.items() for other in included
                   if stem(other) in stems and stem(other) != stem(name)})


def large_circles(of_files):
    """Those with more files than a reader can hold in mind together."""
    return [f"{', '.join(sorted(circle))} do" for circle in sorted(file_circles(of_files), key=sorted)
            if len(circle) > max(CIRCLES.get(folder(name), MOST_IN_A_CIRCLE) for name in circle)]


def problems(of_files, text):
    """What the files do that the table doesn't say, and the other way round: a list for each of the checks."""
    found, table = arrows(of_files), allowed(text)
    return {
        "folders include only what the table of layers says":
            [f"{begin} includes {end} (in {found[begin, end]})" for begin, end in sorted(found.keys() - table)],
        "every arrow of the table of layers is used":
            [f"{begin} includes nothing of {end}" for begin, end in sorted(table - found.keys())],
        "no folders include each other in a circle":
            [f"{', '.join(sorted(circle))} do" for circle in sorted(cycles(found), key=sorted)],
        f"at most {MOST_IN_A_CIRCLE} files include each other in a circle": large_circles(of_files),
    }


def asks_for_driver(text):
    """The lines of a source that read Driver::software for anything but a property that users see."""
    return [line.strip() for line in text.splitlines()
            if re.search(r"(\.|->)software\b", line.partition("//")[0]) and not re.match(r"\s*out\.software = ", line)]


def sources_that_ask():
    """Of all folders but those of the drivers themselves."""
    return [f"{path.relative_to(SOURCES)}: {line}" for path in sorted(SOURCES.rglob("*"))
            if path.suffix in SUFFIXES and path.relative_to(SOURCES).parts[0] not in {"driver", "softgpu"}
            for line in asks_for_driver(path.read_text())]


def check_itself():
    """Sources and tables made up so that one rule is broken each."""
    text = "| folder | may include |\n|---|---|\n| `above` | `below`, `gpuorch` |\n\n| another | table |\n|---|---|\n| a | b |\n"
    files = {"above/a.h": ["below/b.h", "gpuorch/status.h"], "below/b.h": ["below/c.h"]}
    noticed = lambda of_files, tables: [what for what in problems(of_files, tables).values() if what]
    upward = {**files, "below/deep.cpp": ["above/a.h"]}
    wrong = []
    if noticed(files, text):
        wrong.append(f"sources as the table says them: {noticed(files, text)}")
    for what, of_files, tables, expected in [
            ("an upward include", upward, text,
             [["below includes above (in below/deep.cpp)"], ["above, below do"]]),
            ("a cycle that the table has", upward, text.replace("\n\n", "\n| `below` | `above` |\n\n"), [["above, below do"]]),
            ("a row that nobody uses", {**files, "above/a.h": ["gpuorch/status.h"]}, text,
             [["above includes nothing of below"]])]:
        if noticed(of_files, tables) != expected:
            wrong.append(f"{what}: {noticed(of_files, tables)}")
    circle = {f"below/{n}.cpp": [f"below/{(n + 1) % 5}.h"] for n in range(5)}
    if not large_circles(circle) or large_circles({**circle, "below/4.cpp": []}):
        wrong.append("a circle of five files isn't told from a row")
    for line, asks in [("if (driver.software) return;", True), ("out.software = driver.software;", False),
                       ("x();   // as driver.software says", False)]:
        if bool(asks_for_driver(line)) != asks:
            wrong.append(f"the line \"{line}\" isn't judged rightly")
    return wrong


def check(name, wrong):
    more = f"; and {len(wrong) - 5} more" if len(wrong) > 5 else ""
    print(f"FAIL {name}: {'; '.join(wrong[:5])}{more}" if wrong else f"PASS {name}")


def main():
    files = includes()
    if "--table" in sys.argv:
        found = arrows(files)
        for begin in sorted({begin for begin, _ in found}):
            print(f"| `{begin}` | {', '.join(f'`{end}`' for start, end in sorted(found) if start == begin)} |")
        for circle in sorted(cycles(found), key=sorted):
            print("a cycle:", ", ".join(sorted(circle)))
        return
    check("the check of layers notices what breaks them", check_itself())
    check("no source above the table of driver functions asks which driver it has", sources_that_ask())
    for name, wrong in problems(files, README.read_text()).items():
        check(name, wrong)


main()
