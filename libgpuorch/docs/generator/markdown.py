"""The pages that are Markdown in the repository: guides, what composes, results, changes. Their links to other files become
links to the pages of these files, and plain text where there is no page."""
import pathlib
import posixpath
import re
import shutil

import c_headers
import groups
from docutils import nodes

ROOT = c_headers.ROOT
GUIDES = ROOT / "libgpuorch/docs/guides"
OTHERS = {"libgpuorch/COMPOSES.md": "composes", "tests/bench/RESULTS.md": "results", "CHANGELOG.md": "changelog",
          "samples/other_runtimes.md": "samples/other_runtimes", "samples/rust/serve/README.md": "samples/rust/serve/README"}
# Code, which stays as it is, or a link or an image.
PARTS = re.compile(r"^```.*?^```|(`+)(?!`).*?(?<!`)\1(?!`)|"
                   r"(?P<image>!?)\[(?P<text>(?:`[^`]*`|[^\[\]`])*)\]\((?P<to>[^()\s]+)\)|"
                   r"(?P<tag><img\b[^>]*?\bsrc=\")(?P<src>[^\"]+)", re.S | re.M)


def guides():
    """The guides' files, in the order of the table of contents."""
    found = {path.stem: path for path in GUIDES.glob("*.md")}
    order = [name for name in groups.GUIDES if name in found] + sorted(set(found) - set(groups.GUIDES))
    return [found[name] for name in order]


def docnames():
    """{file of the repository: page}"""
    return {str(path.relative_to(ROOT)): f"guides/{path.stem}" for path in guides()} | OTHERS


def title(path):
    match = re.search(r"^# (.*)$", path.read_text(), re.M)
    return match[1] if match else path.stem


def anchors(path):
    """{a heading's anchor on GitHub: its anchor here}"""
    found = {}
    for text in re.findall(r"^#+ (.*?)\s*$", re.sub(r"^```.*?^```", "", path.read_text(), flags=re.S | re.M), re.M):
        plain = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", text)
        found[re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")] = nodes.make_id(plain)
    return found


class Rewriter:
    """The links of one file. `places`: {file: page}."""

    def __init__(self, path, folder, places):
        self.path, self.folder, self.places = pathlib.PurePosixPath(path), folder, places

    def target(self, link):
        """"page:NAME#anchor" for a file with a page, the link itself for an address, None for any other file."""
        if re.match(r"\w+:", link):
            return link
        file, _, fragment = link.partition("#")
        path = posixpath.normpath(posixpath.join(self.path.parent, file)) if file else str(self.path)
        if not (ROOT / path).exists():
            raise SystemExit(f"{self.path}: {link}: there is no such file")
        if path not in self.places:
            return None
        if fragment and path.endswith(".md") and path in docnames():
            fragment = anchors(ROOT / path).get(fragment, fragment)
        elif not path.endswith(".md"):
            fragment = ""
        return f"page:{self.places[path]}" + (f"#{fragment}" if fragment and self.places[path] != "index" else "")

    def image(self, link):
        """Copies the image beside the pages, and returns its address from a page."""
        if re.match(r"\w+:", link):
            return link
        source = ROOT / posixpath.normpath(posixpath.join(self.path.parent, link))
        copied = self.folder / "static" / source.name
        copied.parent.mkdir(exist_ok=True)
        shutil.copyfile(source, copied)
        return copied.name

    def replaced(self, match):
        if match["tag"]:
            depth = self.places[str(self.path)].count("/")
            return match["tag"] + "../" * depth + "_static/" + self.image(match["src"])
        if match["to"] is None:
            return match[0]
        if match["image"]:
            return f"![{match['text']}](/static/{self.image(match['to'])})"
        target = self.target(match["to"])
        return f"[{match['text']}]({target})" if target else match["text"]


def copy(folder, places):
    """Writes the pages, and returns the lines of the guides' table of contents."""
    for path, docname in docnames().items():
        page = folder / f"{docname}.md"
        page.parent.mkdir(parents=True, exist_ok=True)
        rewriter = Rewriter(path, folder, places)
        page.write_text(PARTS.sub(rewriter.replaced, (ROOT / path).read_text()))
    names = [f"/guides/{path.stem}" for path in guides()]
    if not names:
        return []
    installing = ["To install the library, see :doc:`/guides/installing`.", ""] if "/guides/installing" in names else []
    return [*installing, "Guides", "------", "", *(f"- :doc:`{name}`" for name in names), "", ".. toctree::", "   :hidden:",
            "   :caption: Guides", "", *(f"   {name}" for name in names), ""]
