"""The samples: a page for each source, and a page that lists them with the first words of their comments."""
import re
import shutil

import c_headers
import c_pages
import comments
import groups
from comments import indented

ROOT = c_headers.ROOT
LANGUAGES = {".c": "c", ".cpp": "cpp", ".cu": "cuda", ".lua": "lua", ".py": "python", ".rs": "rust", ".toml": "toml",
             "": "sh"}
NAMES = {"c": "C", "cpp": "C++", "lua": "Lua", "python/package": "Python",
         "python": "Python, with the module of ctypes", "rust": "Rust",
         "rust/serve": "An HTTP service, in Rust", "": "All languages"}
ORDER = ("c", "cpp", "rust", "lua", "python/package", "python", "rust/serve", "")


def sources():
    """The files that have a page, in the order of the languages."""
    found = [str(path.relative_to(ROOT)) for path in (ROOT / "samples").rglob("*")
             if path.is_file() and path.suffix in LANGUAGES and not path.name.startswith(".") and "target" not in path.parts]
    return sorted(found, key=lambda path: (ORDER.index(group(path)), path))


def group(path):
    folder = path.removeprefix("samples/").rpartition("/")[0]
    return next(name for name in sorted(ORDER, reverse=True) if folder == name or folder.startswith(f"{name}/") or not name)


def docname(path):
    return path


def first_comment(path):
    """The lines of the comment that a source begins with."""
    text = re.sub(r"^#!.*\n", "", (ROOT / path).read_text())
    match = re.match(r'/\*.*?\*/|""".*?"""|(?:(?://[/!]?|--|#)[^\n]*\n)+', text, re.S)
    if not match or path.endswith(".toml"):
        return []
    body = re.sub(r'^"""|"""$|\s*\*/$', "", match[0])
    return [re.sub(r"^(?:/\*| \*|//!|///?|--|#) ?", "", line).rstrip() for line in body.strip("\n").split("\n")]


def described(path):
    """The comment as reStructuredText: what is indented are commands."""
    lines, found = [], []
    for line in first_comment(path):
        is_command = line.startswith("    ")
        if found and (is_command == found[-1][0]) and line:
            found[-1][1].append(line)
        elif line:
            found.append((is_command, [line]))
        elif found:
            found.append((False, []))
    for is_command, text in found:
        if is_command:
            lines += [".. code-block:: sh", "", *indented(comments.dedented(text)), ""]
        elif text:
            lines += [comments.inline(" ".join(part.strip() for part in text)), ""]
    return lines


def uses(path):
    """The handles whose functions a sample calls, or whose classes it names."""
    text = (ROOT / path).read_text()
    if path.endswith((".c", ".cpp")):
        called = re.findall(r"\bgpo_\w+", text)
    else:   # gpo.stream_create in Python, device:stream_create in Lua
        called = [f"gpo_{name}" for name in re.findall(r"[.:](\w+)\(", text)]
    found = {c_pages.object_of(name) for name in called if name in c_pages.FUNCTIONS}
    imported = " ".join(re.findall(r"use gpuorch::[^;]*;", text))
    for handle in c_pages.ABI["handles"]:
        name = handle.removeprefix("gpo_").removesuffix("_t")
        cpp = groups.CPP_NAMES.get(name, name)
        rust = "".join(word.capitalize() for word in cpp.split("_"))
        if path.endswith(".cpp") and re.search(rf"gpuorch::{cpp}\b|\bcreate_{cpp}\(", text):
            found.add(handle)
        if path.endswith(".rs") and re.search(rf"\b{rust}\b", imported):
            found.add(handle)
    return found


def users():
    """{handle: the samples that use it}"""
    found = {}
    for path in sources():
        for handle in uses(path) if path.endswith((".c", ".cpp", ".lua", ".py", ".rs")) else ():
            found.setdefault(handle, []).append(path)
    return found


def short(path):
    return path.removeprefix("samples/")


def source_page(path, folder):
    copied = folder / "sources" / path
    copied.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(ROOT / path, copied)
    language = LANGUAGES[(ROOT / path).suffix]
    title = short(path)
    return [title, "=" * len(title), "", f".. literalinclude:: /sources/{path}", f"   :language: {language}", ""]


def pages(folder):
    """(page, lines) of the samples, with copies of their sources."""
    lines = ["Samples", "=======", "",
             "``samples/run`` sets up, builds and runs the main job, ``stream_files``, in each language:", ""]
    lines += [*described("samples/run"),
              ":doc:`Short programs for Node, Go and Java <other_runtimes>` await a completion by the descriptor of a",
              "queue.", ""]
    members = {}
    for path in sources():
        members.setdefault(group(path), []).append(path)
    for name in (name for name in ORDER if name in members):
        lines += [NAMES[name], "-" * len(NAMES[name]), ""]
        if name == "rust/serve":
            lines += [":doc:`rust/serve/README` says what the service does.", ""]
        for path in members[name]:
            says = ["See above."] if path == "samples/run" else described(path) or ["\\ "]
            lines += [f":doc:`{short(path)} </{docname(path)}>`", *indented(says), ""]
    lines += [".. toctree::", "   :hidden:", "", "   other_runtimes", "   rust/serve/README",
              *(f"   /{docname(path)}" for path in sources()), ""]
    yield "samples/index", lines
    for path in sources():
        yield docname(path), source_page(path, folder)
