"""Writes the sources of the reference, for Sphinx, into a folder.

    python3 libgpuorch/docs/generator FOLDER

What comes from where is in libgpuorch/docs/README.md. Beside the pages, names.json says which name of the C interface or
which header is explained where: {name: [page, anchor]}. Sphinx's configuration (conf.py) makes links of it."""
import json
import pathlib
import re
import shutil
import sys

import c_headers
import c_pages
import comments
import cpp_pages
import environment
import groups
import markdown
import samples

ROOT = c_headers.ROOT
DOCS = ROOT / "libgpuorch/docs"


class Context:
    """What the pages of the C interface know of each other and of the other pages."""

    def __init__(self, pages, users, device_headers):
        self.pages, self.users, self.device_headers = pages, users, device_headers
        self.page_of = {name: page for page in pages.values() for item in page.items for name in item.names
                        if item.kind == "function"}
        self.sentences = {name: item.comment for page in pages.values() for item in page.items for name in item.names}

    def sentence(self, function):
        found = comments.blocks(self.sentences[function]) if self.sentences[function] else [("paragraph", "")]
        return comments.summary(found[0][1])

    def elsewhere(self, page):
        """{page: [function, …]} of the functions of a handle that other pages explain."""
        found = {}
        for name in c_pages.FUNCTIONS:
            if page.handle and self.page_of[name] is not page and page.handle == c_pages.object_of(name):
                found.setdefault(self.page_of[name], []).append(name)
        return found

    def links(self, page):
        """Rows of (what, links) for a handle's page."""
        name = page.name
        headers = self.device_headers.get(page.header, []) if page.items[0].kind == "head" or name == "graph" else []
        device = [f":doc:`device/{header} </device/{header.removesuffix('.cuh')}>`" for header in headers]
        cpp = groups.CPP_NAMES.get(name, name)
        rows = [("In kernels", ", ".join(device)), ("In C++", f":doc:`cpp/{cpp}.hpp </cpp/{cpp}>`")]
        users = [f":doc:`{samples.short(path)} </{samples.docname(path)}>`" for path in self.users.get(page.handle, [])]
        return [*rows, ("Samples", ", ".join(users))]


def names(pages):
    """{name: [page, anchor]} of everything that a text may name."""
    found = {}
    for page in pages.values():
        if page.handle:
            found[page.handle] = [page.docname, f"c.{page.handle}"]
        for item in page.items:
            for name in (name.partition("(")[0] for name in item.names if item.kind != "handle"):
                found[name] = [page.docname, f"c.{name}"]
            for field in c_pages.STRUCTS.get(item.names[0], {"fields": []})["fields"] if item.kind == "struct" else []:
                found[f"{item.names[0]}.{field['name']}"] = [page.docname, f"c.{item.names[0]}.{field['name']}"]
    for header in c_headers.all_headers():
        found[header] = [pages[c_pages.own_page(header)].docname, ""]
    for name, docname in (cpp_pages.docnames() | cpp_pages.names()).items():
        found[name] = [docname, ""]
    return found | {name: ["environment", f"envvar-{name}"] for name, _ in environment.variables()}


def places(pages):
    """{file of the repository: page} for the links in Markdown."""
    include = "libgpuorch/include/gpuorch"
    found = {f"{include}/{header}": pages[c_pages.own_page(header)].docname for header in c_headers.all_headers()}
    found |= {f"{include}/{path}": docname for path, docname in cpp_pages.docnames().items()}
    found |= {path: samples.docname(path) for path in samples.sources()}
    found |= {"README.md": "index", include: "c/gpuorch", "samples": "samples/index", "libgpuorch/abi.json": "c/types"}
    return found | markdown.docnames()


def write(folder, docname, lines):
    path = folder / f"{docname}.rst"
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "\n".join(lines).rstrip() + "\n"
    path.write_text(re.sub(r"\n{3,}", "\n\n", text))


def map_of(pages):
    """The table of contents of the C interface, for index.rst."""
    lines = []
    for title, members in groups.GROUPS:
        lines += [f"**{title}**", "", ".. list-table::", "   :class: overview", "   :widths: auto", ""]
        for name in members:
            page = pages[name]
            lines += [f"   * - :doc:`{page.title} </{page.docname}>`",
                      f"     - {comments.inline(c_pages.capital(page.summary))}"]
        lines.append("")
    return lines


def contents(pages):
    """The tables of contents at the left, in the order of the groups."""
    lines = []
    for title, members in groups.GROUPS:
        lines += [".. toctree::", "   :hidden:", f"   :caption: {title}", ""]
        lines += [*(f"   {pages[name].docname}" for name in members), ""]
    return lines


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    pages = c_pages.pages()
    listed = [name for _, members in groups.GROUPS for name in members]
    if sorted(listed) != sorted(pages):
        sys.exit(f"groups.py and the headers differ: {sorted(set(listed) ^ set(pages))}")
    context = Context(pages, samples.users(), cpp_pages.device_headers())
    labels = c_pages.section_labels(pages)
    for page in pages.values():
        write(folder, page.docname, c_pages.PageWriter(page, labels, context).lines())
    for docname, lines in (*cpp_pages.pages(), *samples.pages(folder), ("environment", environment.lines())):
        write(folder, docname, lines)
    guides = markdown.copy(folder, places(pages))
    write(folder, "parts/map", map_of(pages))
    write(folder, "parts/contents", contents(pages))
    write(folder, "parts/guides", guides)
    for name in ("conf.py", "link_names.py", "index.rst"):
        shutil.copy(DOCS / name, folder / name)
    (folder / "static").mkdir(exist_ok=True)
    shutil.copy(DOCS / "custom.css", folder / "static/custom.css")
    (folder / "names.json").write_text(json.dumps(names(pages), indent=0, sort_keys=True))


main()
