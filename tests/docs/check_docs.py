#!/usr/bin/env python3
"""The reference in HTML (libgpuorch/docs/build): it is made without a warning, twice the same, has an entry for each name of
abi.json, and no link of it leads nowhere. Links to other sites are listed, and not followed."""
import filecmp
import html.parser
import json
import os
import pathlib
import re
import subprocess
import tempfile
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "libgpuorch/docs/build"
INCLUDE = ROOT / "libgpuorch/include/gpuorch"
LOADING = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href", "object": "data"}
NAMES = ("the reference is made without a warning", "each name of abi.json has one entry",
         "each header, each sample and each guide has a page", "no link leads nowhere",
         "no page loads anything from another site", "the guides name nothing that the C interface hasn't",
         "the same sources make the same files")


class Page(html.parser.HTMLParser):
    """The anchors of a page, the links in it, and the files that it loads."""

    def __init__(self, text):
        super().__init__()
        self.anchors, self.links, self.loaded = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.anchors += [values["id"]] if "id" in values else []
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        # A <link> to the next page or to the index loads nothing.
        loads = tag in LOADING and values.get(LOADING[tag])
        if loads and (tag != "link" or {"stylesheet", "icon"} & set(values["rel"].split())):
            self.loaded.append(values[LOADING[tag]])
        elif tag == "link" and values.get("href"):
            self.links.append(values["href"])

    handle_startendtag = handle_starttag


class Site:
    """All pages below a folder, by their paths."""

    def __init__(self, folder):
        self.folder = folder
        self.pages = {path.relative_to(folder).as_posix(): Page(path.read_text()) for path in sorted(folder.rglob("*.html"))}

    def broken(self):
        """The links that lead to no file or to no anchor."""
        found = []
        for path, page in self.pages.items():
            for link in dict.fromkeys(page.links + page.loaded):
                parts = urllib.parse.urlsplit(link)
                if parts.scheme or parts.netloc:
                    continue
                file, fragment = urllib.parse.unquote(parts.path), urllib.parse.unquote(parts.fragment)
                target = os.path.normpath(os.path.join(os.path.dirname(path), file)) if file else path
                if not (self.folder / target).is_file():
                    found.append(f"{path}: {link}: there is no such file")
                elif fragment and fragment not in self.pages[target].anchors:
                    found.append(f"{path}: {link}: there is no such anchor")
        return found

    def foreign(self):
        """What pages and their style sheets load from other sites."""
        found = [f"{path}: {file}" for path, page in self.pages.items() for file in page.loaded
                 if urllib.parse.urlsplit(file).scheme not in ("", "data") or file.startswith("//")]
        for path in sorted(self.folder.rglob("*.css")):
            found += [f"{path.name}: {part[:60]}" for part in path.read_text().replace("@import", "url(").split("url(")[1:]
                      if part.strip("'\" ").startswith(("http:", "https:", "//"))]
        return found

    def outside(self):
        """Addresses of other sites that links lead to."""
        return sorted({link for page in self.pages.values() for link in page.links if urllib.parse.urlsplit(link).netloc})

    def count(self, anchor):
        return sum(page.anchors.count(anchor) for page in self.pages.values())


def say(name, problems):
    print(f"FAIL {name}: {len(problems)}: {'; '.join(problems[:5])}" if problems else f"PASS {name}", flush=True)


def the_check_itself():
    """Pages that are made up, with what has to be noticed."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "a.html").write_text(
            '<p id="here"></p><a href="b.html#there">1</a><a href="#here">2</a><a href="c.html">3</a>'
            '<a href="b.html#nowhere">4</a><a href="https://a.site/">5</a><img src="lost.png">')
        (folder / "b.html").write_text(
            '<p id="there"></p><script src="https://a.site/x.js"></script><link rel="stylesheet" href="s.css">')
        (folder / "s.css").write_text("@font-face { src: url('https://a.site/font'); }")
        site = Site(folder)
        good = (len(site.broken()) == 3 and len(site.foreign()) == 2 and site.outside() == ["https://a.site/"])
        say("broken links, and what comes from other sites, are noticed", [] if good else [*site.broken(), *site.foreign()])


def expected_anchors():
    abi = json.loads((ROOT / "libgpuorch/abi.json").read_text())
    named = [entry["name"] for kind in ("statuses", "constants", "callbacks", "structs", "functions") for entry in abi[kind]]
    fields = [f"{struct['name']}.{field['name']}" for struct in abi["structs"] for field in struct["fields"]]
    return [f"c.{name}" for name in named + abi["handles"] + fields]


def missing_pages(site):
    """Headers, samples and guides whose names are on no page's title."""
    titles = {path.removesuffix(".html") for path in site.pages}
    text = "\n".join((site.folder / path).read_text() for path in site.pages)
    found = [f"<gpuorch/{path.name}>" for path in INCLUDE.glob("*.h") if f"&lt;gpuorch/{path.name}&gt;" not in text]
    found += [path.name for folder in ("device", "asio") for path in INCLUDE.glob(f"{folder}/*")
              if f"{folder}/{path.stem}" not in titles]
    found += [path.name for path in INCLUDE.glob("cpp/*") if f"cpp/{path.stem.removesuffix('_calls')}" not in titles]
    found += [path.stem for path in (ROOT / "libgpuorch/docs/guides").glob("*.md") if f"guides/{path.stem}" not in titles]
    found += [path.name for path in (ROOT / "samples").rglob("*") if path.suffix in (".c", ".cpp", ".lua", ".py", ".rs")
              and "target" not in path.parts and path.relative_to(ROOT).as_posix() not in titles]
    return found


def unknown_names(site):
    """Names in the guides that no page explains. Families (gpo_template_add_*) and built-in kernels are left out."""
    known = {anchor.removeprefix("c.") for page in site.pages.values() for anchor in page.anchors if anchor.startswith("c.")}
    found = []
    for path in sorted((ROOT / "libgpuorch/docs/guides").glob("*.md")):
        names = re.findall(r"\b(?:gpo|GPO)_\w+", path.read_text())
        found += [f"{path.name}: {name}" for name in dict.fromkeys(names)
                  if name not in known and not name.endswith("_") and not re.search(r"_[uf](8|32)$", name)]
    return found


def differing(one, other):
    """Files that only one of two folders has, or that differ."""
    files = [{path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
             for folder in (one, other)]
    return sorted(files[0] ^ files[1]) + filecmp.cmpfiles(one, other, sorted(files[0] & files[1]), shallow=False)[1]


def make(out):
    """What the build has said if it has failed or warned, by lines."""
    outcome = subprocess.run([BUILD, out], capture_output=True, text=True)
    said = [line for line in (outcome.stdout + outcome.stderr).splitlines() if line.strip() and line != f"{out}/index.html"]
    return said or ([f"it ended with {outcome.returncode}"] if outcome.returncode else [])


def main():
    the_check_itself()
    if subprocess.run([BUILD, "--python"], capture_output=True).returncode:
        for name in NAMES:
            print(f"SKIP {name}: Sphinx, Furo or MyST is missing (.ci/setup docs installs them)")
        return
    with tempfile.TemporaryDirectory() as folder:
        first, second = pathlib.Path(folder, "first"), pathlib.Path(folder, "second")
        said = make(first)
        say(NAMES[0], said)
        if not first.is_dir():
            return
        site = Site(first)
        say(NAMES[1], [f"{anchor}: {site.count(anchor)} times" for anchor in expected_anchors() if site.count(anchor) != 1])
        say(NAMES[2], missing_pages(site))
        say(NAMES[3], site.broken())
        say(NAMES[4], site.foreign())
        say(NAMES[5], unknown_names(site))
        make(second)
        say(NAMES[6], differing(first, second))
        print("links to other sites, not followed:", *site.outside(), sep="\n  ")


main()
