"""A Sphinx extension: names of the C interface and of headers become links, in prose and in code. The generator says where
each name is explained (names.json). Links of Markdown pages to pages ("page:NAME#anchor") are resolved, too."""
import html
import json
import pathlib
import re

from docutils import nodes
from sphinx import addnodes

NAME = re.compile(r"(?<![\w./-])(?:gpuorch/)?((?:device|asio|cpp)/\w+\.(?:cuh|hpp)|"
                  r"(?:gpuorch|asio|options)\.hpp|[a-z]\w*\.(?:h|cuh)|"
                  r"gpo_\w+(?:\.\w+)?|(?:GPO|GPUORCH)_\w+|(?:gpo|gpuorch)::\w+)(?![\w/])")
UNTOUCHED = (nodes.literal, nodes.literal_block, nodes.reference, nodes.title, nodes.raw, nodes.comment, nodes.rubric,
             addnodes.desc_signature, addnodes.pending_xref, addnodes.toctree, addnodes.index)
BLOCK = re.compile(r'<div class="highlight"><pre>.*?</pre></div>', re.S)
WORD = re.compile(r'<span class="(\w+)">([^<]*)</span>')
IN_COMMENTS = ("c", "c1", "cm", "ch", "sd")


class Names:
    """Where names are explained. A name on its own page, in its own entry, is no link."""

    def __init__(self, app):
        self.app = app
        self.places = json.loads((pathlib.Path(app.srcdir) / "names.json").read_text())

    def found(self, name):
        """The name, or its part in front of a full stop, that is explained somewhere."""
        name = name if name in self.places else name.partition(".")[0]
        return name if name in self.places else None

    def address(self, name, docname):
        page, anchor = self.places[name]
        if page == docname and not anchor:
            return None
        relative = "" if page == docname else self.app.builder.get_relative_uri(docname, page)
        return relative + (f"#{anchor}" if anchor else "")

    def reference(self, name, text, docname, own=()):
        """A link to the name, else None."""
        known = self.found(name)
        if not known or self.places[known][1] in own:
            return None
        address = self.address(known, docname)
        if not address:
            return None
        literal = nodes.literal("", text)
        return nodes.reference("", "", literal, refuri=address, internal=True)


def own_anchors(node):
    """The anchors of the entries that a node is in."""
    found = []
    while node is not None:
        if isinstance(node, addnodes.desc):
            signatures = [child for child in node.children if isinstance(child, addnodes.desc_signature)]
            found += [anchor for child in signatures for anchor in child["ids"]]
        node = node.parent
    return found


def is_within(node, kinds):
    while node is not None:
        if isinstance(node, kinds):
            return True
        node = node.parent
    return False


def link_text(node, names, docname):
    """Replaces a text by its parts."""
    text, parts, at = node.astext(), [], 0
    own = own_anchors(node)
    for match in NAME.finditer(text):
        known = names.found(match[1])
        if not known:
            continue
        rest = match[0] if known == match[1] else match[0][:match[0].index(known) + len(known)]
        reference = names.reference(known, rest, docname, own) or nodes.literal("", rest)
        parts += [nodes.Text(text[at:match.start()]), reference]
        at = match.start() + len(rest)
    if parts:
        parts.append(nodes.Text(text[at:]))
        node.parent.replace(node, [part for part in parts if part.astext()])


def link_pages(app, doctree, docname):
    """"page:NAME#anchor" as an address that is relative to this page."""
    for node in doctree.findall(nodes.reference):
        address = node.get("refuri", "")
        if address.startswith("page:"):
            page, _, fragment = address.removeprefix("page:").partition("#")
            relative = "" if page == docname and fragment else app.builder.get_relative_uri(docname, page)
            node["refuri"] = relative + (f"#{fragment}" if fragment else "")
            node["internal"] = True
            node["classes"] = [name for name in node["classes"] if name != "external"]


def resolve(app, doctree, docname):
    link_pages(app, doctree, docname)
    names = app.gpuorch_names
    for node in list(doctree.findall(nodes.literal)):
        match = NAME.fullmatch(node.astext().removesuffix("()"))
        if match and not is_within(node.parent, UNTOUCHED):
            reference = names.reference(match[1], node.astext(), docname, own_anchors(node))
            if reference:
                node.parent.replace(node, reference)
    for node in list(doctree.findall(nodes.Text)):
        if not is_within(node.parent, UNTOUCHED):
            link_text(node, names, docname)


def link_code(app, pagename, templatename, context, doctree):
    """Links in highlighted code, where Pygments has made an element of each word."""
    if "body" not in context or doctree is None:
        return
    names = app.gpuorch_names

    def linked(name, text):
        known = names.found(name)
        address = names.address(known, pagename) if known == name else None
        return f'<a href="{html.escape(address)}">{text}</a>' if address else text

    def replaced(match):
        kind, text = match.groups()
        if kind in IN_COMMENTS:
            text = NAME.sub(lambda name: linked(name[1], name[0]), text)
        elif re.fullmatch(r"gpo_\w+|GPO_\w+", text):
            text = linked(text, text)
        return f'<span class="{kind}">{text}</span>'

    context["body"] = BLOCK.sub(lambda block: WORD.sub(replaced, block[0]), context["body"])


def begin(app):
    app.gpuorch_names = Names(app)


def setup(app):
    app.connect("builder-inited", begin)
    app.connect("doctree-resolved", resolve)
    app.connect("html-page-context", link_code)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
