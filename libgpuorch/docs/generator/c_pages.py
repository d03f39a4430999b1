"""The pages of the C interface: abi.json says what there is, and the headers in which order and with which words."""
import json
import re

import c_headers
import comments
import groups
from comments import indented, inline

ABI = json.loads((c_headers.ROOT / "libgpuorch/abi.json").read_text())
FUNCTIONS, STRUCTS, CALLBACKS, STATUSES = (
    {entry["name"]: entry for entry in ABI[kind]} for kind in ("functions", "structs", "callbacks", "statuses"))
CONSTANTS = {entry["name"]: entry.get("says", "") for entry in ABI["constants"]}
VALUES = {entry["name"]: entry["value"] for kind in ("constants", "statuses") for entry in ABI[kind]}
HOMES = c_headers.home_of_handles()
SPELLED_FIELDS = c_headers.headers.structs()


def own_page(header):
    """The name of the page that has the head of a header."""
    handles = [handle for handle, home in HOMES.items() if home == header]
    stem = header.removesuffix(".h")
    if header in groups.PAGE_OF_HEADER:
        return groups.PAGE_OF_HEADER[header]
    return stem if len(handles) != 1 else handles[0].removeprefix("gpo_").removesuffix("_t")


def object_of(function):
    """The handle that a function is named after; else the first that it takes."""
    handles = sorted(ABI["handles"], key=len, reverse=True)
    named = [handle for handle in handles if function.startswith(handle.removesuffix("t"))]
    first = [parameter["type"] for parameter in FUNCTIONS[function]["parameters"][:1] if parameter["type"] in handles]
    return (*named, *first, None)[0]


def plain_title(text):
    """A title without what is in brackets behind it."""
    return re.sub(r" \([^)]*\)$", "", text)


def capital(text):
    """A sentence with a capital letter, unless it begins with a name of ours."""
    return text if text.startswith(("libgpuorch", "gpo_")) else text[:1].upper() + text[1:]


class Page:
    """A page before it is written. `items`: of its header, in order; the head is the first where the page has it."""

    def __init__(self, name, header):
        self.name, self.header, self.items = name, header, []
        handle = f"gpo_{name}_t"
        self.handle = handle if handle in HOMES else ""
        self.title = self.handle or header
        self.docname = f"c/{name}"

    @property
    def summary(self):
        return groups.SUMMARIES.get(self.name) or c_headers.first_sentence(self.header)


def pages():
    """{name: page} of all headers."""
    found = {}
    for header in c_headers.all_headers():
        name = own_page(header)
        found.setdefault(name, Page(name, header))
        for item in c_headers.items_of(header):
            begins = (item.title, *item.names, item.comment.removeprefix("/* ") if item.kind == "text" else "")
            for turn, page in groups.TURNS.get(header, {}).items():
                if any(text.startswith(turn) for text in begins):
                    name = page
                    found.setdefault(name, Page(name, header))
            found[name].items.append(item)
    return found


def section_labels(all_pages):
    """{page: {title: label}} of the sections that a comment may refer to by their titles."""
    found = {}
    for page in all_pages.values():
        titles = []
        for item in page.items:
            if item.kind == "rule":
                titles.append(capital(item.title))
            if item.kind in ("head", "text"):
                titles += [text for kind, text in text_blocks(item) if kind == "heading"]
        found[page.name] = {plain_title(title): f"{page.name}-{slug(title)}" for title in titles}
    return found


def slug(title):
    return re.sub(r"\W+", "-", title.lower()).strip("-")


def text_blocks(item):
    """The blocks of a comment that stands alone. "Dynamic parallelism: a source …" begins with its heading."""
    found = comments.blocks(item.comment)
    match = re.match(r"([A-Z]\w+ \w+): (?=\w)", found[0][1]) if item.kind == "text" and found[0][0] == "paragraph" else None
    if match:
        found[:1] = [("heading", match[1]), ("paragraph", capital(found[0][1][match.end():]))]
    return found


# --- what abi.json says of parameters and fields

def facts(entry, member=False):
    """Sentences without their full stops."""
    found = []
    direction = "in" if member else entry.get("direction", "in")
    if "length" in entry:
        found.append(f"``{entry['length']}`` {entry['unit']}")
    if direction == "out":
        found.append("written by the call" if not entry.get("stays_until") else "written by the operation")
    if direction == "inout":
        found.append("written by the call; set its ``struct_size`` before")
    if entry.get("handle") == "any":
        found.append("a handle of any type")
    if entry.get("nullable"):
        found.append("may be NULL")
    if "stays_until" in entry:
        found.append(f"must stay until {inline(entry['stays_until'])}")
    if entry.get("called") == "often":
        found.append(f"called any number of times, at the latest until {inline(' or '.join(entry['ended_by']))}")
    if entry.get("owner") == "caller":
        found.append(f"given back by {inline(' or '.join(entry['released_by']))}")
    if entry.get("owner") == "library":
        found.append("stays the library's")
    return found


def parameters(function):
    rows = [(entry["name"], facts(entry)) for entry in FUNCTIONS[function]["parameters"]]
    rows = [(name, found) for name, found in rows if found]
    if not rows:
        return []
    lines = [".. rst-class:: parameters", ""]
    for name, found in rows:
        lines += [f"``{name}``", f"   {'; '.join(found)}", ""]
    return lines


# --- the items of a page

class PageWriter:
    """The lines of a page. `labels`: {page: {title: label}}; `users`: {handle: samples}."""

    def __init__(self, page, labels, context):
        self.page, self.context, self.unused = page, context, dict(labels[page.name])
        sections = {title: label for titles in labels.values() for title, label in titles.items() if " " in title}
        sections |= {title: label for name, titles in labels.items() if context.pages[name].header == page.header
                     for title, label in titles.items()}
        self.sections = sections
        self.writer = comments.Writer("c", self.heading, sections=sections)
        self.prose = comments.Writer("c", self.heading, run_in=True, sections=sections)

    def heading(self, text, line="-"):
        label = self.unused.pop(plain_title(text), None)
        return [*([f".. _{label}:", ""] if label else []), inline(text), line * len(inline(text)), ""]

    def lines(self):
        page = self.page
        lines = self.heading(page.title, "=")
        head = text_blocks(page.items[0]) if page.items[0].kind == "head" else []
        if head:
            head[0] = ("paragraph", capital(head[0][1].removeprefix(f"{page.header}: ")))
        at = next((number for number, block in enumerate(head) if block[0] == "heading"), len(head))
        lines += [*self.begin(), *self.prose.lines(head[:at]), *self.facts(), *self.overview(), *self.prose.lines(head[at:])]
        items = page.items[1:] if head else page.items
        named = False
        for item in items:
            if item.kind in ("rule", "text"):
                named = True
            elif item.kind != "handle" and not named:
                lines += self.heading("Statuses" if page.name == "status" else "Reference")
                named = True
            lines += getattr(self, item.kind)(item)
        return lines + self.end()

    def begin(self):
        page = self.page
        if not page.handle:
            return []
        link = f":doc:`{page.header} </c/{own_page(page.header)}>`"
        shared = [f"{capital(page.summary)}. See also the beginning of {link}.", ""]
        shared = [] if page.items[0].kind == "head" else shared
        return [f".. c:type:: {page.handle}", "", *shared]

    def facts(self):
        """Who makes and ends a handle, and where more of it is."""
        page = self.page
        made = dict.fromkeys(name for name, entry in FUNCTIONS.items() for parameter in entry["parameters"]
                             if parameter["type"] == f"{page.handle} *" and parameter.get("owner") == "caller")
        ended = dict.fromkeys(name for entry in FUNCTIONS.values() for parameter in entry["parameters"]
                              if parameter["type"] == f"{page.handle} *" for name in parameter.get("released_by", []))
        rows = [("Header", f"``<gpuorch/{page.header}>``")]
        if page.handle:
            rows += [("Made by", inline(", ".join(made))), ("Ended by", inline(", ".join(ended))), *self.context.links(page)]
        return [".. rst-class:: facts", "", *(f":{name}: {text}" for name, text in rows if text), ""]

    def overview(self):
        """The functions of the page, and those of other pages that are called with its handle."""
        here = [name for item in self.page.items if item.kind == "function" for name in item.names]
        rows = [(name, self.context.sentence(name)) for name in here]
        if self.page.name in ("status", "gpuorch", "api"):
            return []
        lines = self.heading("Functions") if rows else []
        if rows:
            lines += [".. list-table::", "   :class: overview", "   :widths: auto", ""]
            for name, text in rows:
                lines += [f"   * - {inline(name)}", f"     - {inline(text, self.sections)}"]
            lines.append("")
        elsewhere = self.context.elsewhere(self.page)
        if elsewhere:
            lines += ["On other pages:", ""]
            for page, names in elsewhere.items():
                lines += [f"- :doc:`{page.title} </{page.docname}>`: {inline(', '.join(names))}"]
            lines.append("")
        return lines

    def end(self):
        return named_by(self) if self.page.name == "status" else handles_table(self) if self.page.name == "types" else []

    def rule(self, item):
        return self.heading(capital(item.title)) + self.text(item)

    def text(self, item):
        return self.prose.lines(text_blocks(item)) if item.comment.strip(" /*") else []

    def handle(self, item):
        return []

    def type(self, item):
        return [f".. c:type:: {item.names[0]}", "",
                "   ``int32_t``. 0 is success; the others are in :doc:`status.h </c/status>`.", ""]

    def commented(self, item):
        found = comments.blocks(item.comment) if item.comment else []
        return indented(comments.Writer("c", sections=self.sections).lines(found))

    def constants(self, item):
        values = [name for name in item.names if name in VALUES]
        own = len(item.names) == 1 and (not values or not CONSTANTS.get(values[0]) or
                                        "".join(CONSTANTS[values[0]].split()) == "".join(self.plain(item.comment).split()))
        lines = [] if own or not item.comment else self.writer.lines(comments.blocks(item.comment))
        if self.page.name == "status" and values and values[0] in STATUSES:
            lines += self.range(VALUES[values[0]])
        for name in item.names:
            says = STATUSES[name]["meaning"] if name in STATUSES else CONSTANTS.get(name, "")
            found = comments.blocks(item.comment) if own and item.comment else [("paragraph", says)] if says else []
            content = comments.Writer("c", sections=self.sections).lines(found)
            if name in VALUES:
                value, first = f"``{VALUES[name]}``", found and found[0][0]
                content = [f"{value}: {content[0]}", *content[1:]] if first == "paragraph" else [value, "", *content]
            lines += [f".. c:macro:: {name}", "", *indented(content), ""]
        return lines

    @staticmethod
    def plain(comment):
        return " ".join(line for line in comments.text_of(comment) if line)

    def range(self, value):
        """What the statuses from a value on have in common, as the head says."""
        terms = next(content for kind, content in text_blocks(self.page.items[0]) if kind == "terms")
        for term, content in terms:
            first, _, last = term.partition("..")
            if int(first) <= value <= int(last or first):
                return [f".. rubric:: {first}{f' to {last}' if last else ''}: {inline(content[0][1])}", ""]
        return []

    def macro(self, item):
        lines = self.writer.lines(comments.blocks(item.comment)) if item.comment else []
        return [*lines, f".. c:macro:: {item.names[0]}", ""]

    def struct(self, item):
        name = item.names[0]
        lines = [f".. c:struct:: {name}", "", *self.commented(item)]
        if name not in STRUCTS:   # gpo_api
            return [*lines, "   ``struct_size`` and ``library_version`` (``uint32_t``), then a pointer to each function. A",
                    "   member has the name of its function without ``gpo_``: ``stream_create`` is gpo_stream_create.", ""]
        for (kind, field), entry in zip(SPELLED_FIELDS[name], STRUCTS[name]["fields"]):
            kind, array = re.fullmatch(r"(.*?)((?:\[\w+\])?)", kind).groups()
            says = [inline(entry["says"], self.sections)] if "says" in entry else []
            more = facts(entry, member=True)
            says += [*([""] if says else []), ".. rst-class:: facts", "", f"{capital('; '.join(more))}."] if more else []
            declared = f"{kind}{'' if kind.endswith('*') else ' '}{field}{array}"
            lines += [f"   .. c:member:: {declared}", "", *indented(says, 6), ""]
        return lines

    def callback(self, item):
        entry = CALLBACKS[item.names[0]]
        declared = ", ".join(f"{p['type']}{'' if p['type'].endswith('*') else ' '}{p['name']}" for p in entry["parameters"])
        return [f".. c:type:: {entry['returns']} (*{entry['name']})({declared})", "", *self.commented(item)]

    def function(self, item):
        name = item.names[0]
        result, pairs = c_headers.headers.functions()[name]
        lines = [f".. c:function:: {c_headers.headers.declaration(result, name, pairs)}", "", *self.commented(item)]
        return lines + (indented(parameters(name)) if name in FUNCTIONS else [])


def named_by(writer):
    """Where each status is named: an index of functions by status."""
    users = {name: [] for name in STATUSES}
    for function, entry in FUNCTIONS.items():
        said = re.sub(r'\("[^"]*"\)|"[^"]*"', "", " ".join(entry.get("says", [])))  # what is quoted is an example
        for name in dict.fromkeys(re.findall(r"GPO_\w+", said)):
            if name in users:
                users[name].append(function)
    lines = [*writer.heading("Functions that name a status"),
             "What their comments say. Beside these, any function that makes or grows something may return "
             + inline("GPO_OUT_OF_MEMORY") + ": nothing has changed then, and the same call succeeds when there is memory. "
             "Statuses that any function may return are at the top of this page.", "",
             ".. rst-class:: terms", ""]
    for name, functions in users.items():
        if functions and name != "GPO_SUCCESS":
            lines += [inline(name), f"   {inline(', '.join(functions))}", ""]
    return lines


def handles_table(writer):
    lines = [*writer.heading("All handles"), ".. list-table::", "   :class: overview", "   :widths: auto", ""]
    for handle in ABI["handles"]:
        page = writer.context.pages[handle.removeprefix("gpo_").removesuffix("_t")]
        lines += [f"   * - {inline(handle)}", f"     - {inline(page.summary)}"]
    return [*lines, ""]
