"""A comment of a header as reStructuredText. The comments have one style:

    A heading stands alone in its line, without a full stop. What belongs to it is indented by two.
    - begins an item of a list, and GPO_...: a status with its cause.
    term     text    is a row of a list of terms; further lines of the text begin below its first word.
    Code is indented by four, behind an empty line.
    A sentence that ends before the line is full ends its paragraph.
"""
import re
import textwrap

COLUMNS = 120          # the lines of the headers are filled up to here
LONGEST_HEADING = 100
STATUS = re.compile(r"((?:GPO_\w+(?:, GPO_\w+)*(?: \([^)]*\))?)): (.*)|(Any other status\b.*)")
TERM = re.compile(r"(\S(?:.*?\S)?)(  +)(\S.*)")
CODE = re.compile(r";( *$| {2,}\S)|; +//|\{ *$|^ *\}|#include|^ *\w+\(.*\);|\.\.\. *$|^ *while |^ *for ")
RUN_IN = re.compile(r"((?:[A-Z][a-z]+)(?: [a-z]+){0,3})\. (?=[A-Z])")


def text_of(comment):
    """The lines of a comment without its marks. An empty line goes where a paragraph ends in the middle of a line."""
    raw = re.sub(r"\s*\*/\s*$", "", comment).split("\n")
    lines = [re.sub(r"^\s*(?:/\*+|\*|///?) ?", "", line).rstrip() for line in raw]
    found = []
    for number, line in enumerate(lines):
        found.append(line)
        following = lines[number + 1] if number + 1 < len(lines) else ""
        if not line.strip() or not following.strip() or not re.search(r"[.:?!][\"')]*$", line):
            continue
        same = indent(following) == indent(line) or (number and indent(following) == indent(lines[number - 1]))
        if same and len(raw[number]) + 1 + len(following.split()[0]) <= COLUMNS:
            found.append("")
    return found


def indent(line):
    return len(line) - len(line.lstrip())


def dedented(lines):
    return textwrap.dedent("\n".join(lines)).split("\n")


def is_code(lines):
    """Whether an indented block is code."""
    if lines[0].startswith(" ") or any(re.match(r" *- ", line) for line in lines):
        return False
    telling = sum(bool(CODE.search(line)) for line in lines if line.strip())
    return telling * 3 >= sum(bool(line.strip()) for line in lines)


class Parser:
    """Lines to blocks: ("paragraph", text), ("heading", text), ("code" or "table", lines), ("bullets", [blocks, …]),
    ("terms" or "statuses", [(term, blocks), …])."""

    def __init__(self, lines, depth=0):
        self.lines, self.depth, self.at, self.blocks = lines, depth, 0, []

    def parsed(self):
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if not line.strip():
                self.at += 1
            elif line.startswith(" "):
                if self.begins_indented():
                    self.lines[self.at] = line.lstrip()
                else:
                    self.indented()
            elif re.match(r"form {2,}calls", line):
                self.blocks.append(("table", self.while_true(str.strip)))
            elif line.startswith("- ") or re.match(r"\d+\. ", line):
                self.add_item("bullets", Parser(self.hanging(line.index(" ") + 1), self.depth + 1).parsed())
            elif line.startswith("|"):
                self.blocks.append(("rows", self.while_true(lambda text: text.startswith("|"))))
            elif STATUS.match(line):
                self.status()
            elif self.is_term():
                self.term()
            else:
                self.paragraph()
        return self.blocks

    def while_true(self, holds):
        start = self.at
        while self.at < len(self.lines) and holds(self.lines[self.at]):
            self.at += 1
        return self.lines[start:self.at]

    def hanging(self, least):
        """The line without its first characters, and the lines behind it that are indented at least so far."""
        first = self.lines[self.at][least:]
        self.at += 1
        return [first, *self.deeper(least)]

    def deeper(self, least):
        """The lines from here on that are indented at least so far, with that indentation removed."""
        found = []
        while self.at < len(self.lines):
            line = self.lines[self.at]
            following = next((text for text in self.lines[self.at:] if text.strip()), "")
            if indent(line if line.strip() else following) < least or not following:
                break
            found.append(line[least:])
            self.at += 1
        return found

    def add_item(self, kind, item):
        if self.blocks and self.blocks[-1][0] == kind:
            self.blocks[-1][1].append(item)
        else:
            self.blocks.append((kind, [item]))

    def following(self):
        """The next line that isn't empty."""
        return next((line for line in self.lines[self.at + 1:] if line.strip()), "")

    def begins_indented(self):
        """Whether only the first line of a paragraph is indented."""
        line, following = self.lines[self.at], (*self.lines, "")[self.at + 1]
        return bool(following.strip()) and indent(following) == 0 and not re.search(r"[.;:,)]$", line)

    def indented(self):
        lines = self.deeper(1)
        while lines and not lines[-1].strip():
            lines.pop()
        lines = dedented(lines)
        if is_code(lines):
            self.blocks.append(("code", lines))
        else:
            self.blocks += Parser(lines, self.depth + 1).parsed()

    def status(self):
        match = STATUS.match(self.lines[self.at])
        term, first = (match[1], match[2]) if match[1] else ("Any other status", match[3].removeprefix("Any other status"))
        self.at += 1
        rest = dedented(self.deeper(2))
        self.add_item("statuses", (term, Parser([first.lstrip(": "), *rest], self.depth + 1).parsed()))

    def column(self, line):
        match = TERM.fullmatch(line)
        return match.start(3) if match and not re.search(r"[.;:,]$", match[1]) else None

    def is_term(self):
        """Whether a row of a list of terms begins here: another line of the list is in the same column."""
        line, following = self.lines[self.at], self.following()
        column = self.column(line)
        if column is None:
            lone = self.depth and indent(following) >= 4 and not re.search(r"[.;:,]$", line) and "  " not in line
            return bool(lone and re.search(r"\w\)?$", line))
        if self.blocks and self.blocks[-1][0] == "terms":
            return True
        return indent(following) == column or self.column(following) == column

    def term(self):
        line = self.lines[self.at]
        column = self.column(line)
        if column is None:
            self.at += 1
            self.add_item("terms", (line, Parser(dedented(self.deeper(4)), self.depth + 1).parsed()))
            return
        term = TERM.fullmatch(line)[1]
        self.add_item("terms", (term, Parser(self.hanging(column), self.depth + 1).parsed()))

    def paragraph(self):
        start = self.at
        self.at += 1
        self.while_true(lambda line: line.strip() and not line.startswith((" ", "- ", "|")) and not STATUS.match(line))
        lines = self.lines[start:self.at]
        text = " ".join(line.strip() for line in lines)
        alone = len(lines) == 1 and len(text) <= LONGEST_HEADING and not re.search(r"[.:;,!?]$", text)
        begins = text[0].isupper() or self.at < len(self.lines) and self.lines[self.at].startswith(" ")
        kind = "heading" if alone and begins and self.depth == 0 and self.at < len(self.lines) else "paragraph"
        self.blocks.append((kind, text))


def blocks(comment):
    return Parser(text_of(comment)).parsed()


# --- reStructuredText

TOKENS = re.compile(r"`([^`]+)`|\b((?:gpo|GPO)_\w*\*)|(?<![\w*])\*([A-Za-z][\w' -]*)\*(?![\w*])|"
                    r"\"([A-Z][^\"\n]+)\"|(?<=\bsee )([A-Z]\w+)\b|([\\*`|_])")


def inline(text, sections=None):
    """Text with everything escaped that has a meaning in reStructuredText, but for `code` and *emphasis*. A title of a
    section, in quotes or behind "see", is a link. `sections`: {title: label}."""
    def escaped(match):
        code, family, emphasised, quoted, seen, special = match.groups()
        code = code or family
        if code or emphasised:
            return f"\\ ``{code}``\\ " if code else f"\\ *{emphasised}*\\ "
        title = quoted or seen
        if title in (sections or ()):
            return f"\\ :ref:`{title} <{sections[title]}>`\\ "
        return "\\" + special if special else re.sub(r"[\\*`|_]", r"\\\g<0>", match[0])

    found = TOKENS.sub(escaped, text)
    found = re.sub(r"(^| )\\ (?=[`*:])", r"\1", found)
    found = re.sub(r"(?<=[`*])\\ (?=$| )", "", found)
    return re.sub(r"^((?:\w+|#)[.)] |[-+.>:=~\"'(#](?=\W|$))", r"\\\1", found)


def indented(lines, by=3):
    return [" " * by + line if line else "" for line in lines]


def code_like(term):
    return bool(re.search(r"^[\"<]|[(:_{]|^[A-Z_]+$|^\W", term)) and "``" not in term


class Writer:
    """Blocks to lines. `headings(text)` gives the lines of a heading; without it headings are bold paragraphs."""

    def __init__(self, language="c", headings=None, run_in=False, sections=None):
        self.language, self.headings, self.run_in, self.sections = language, headings, run_in, sections

    def inline(self, text):
        return inline(text, self.sections)

    def lines(self, found):
        return [line for kind, content in found for line in getattr(self, kind)(content)]

    def paragraph(self, text):
        match = RUN_IN.match(text) if self.run_in else None
        if match:
            return [f"**{match[1]}.** " + self.inline(text[match.end():]), ""]
        return [self.inline(text), ""]

    def heading(self, text):
        return self.headings(text) if self.headings else [f"**{inline(text)}**", ""]

    def code(self, lines):
        device = any(re.search(r"__global__|__device__|<<<|\bgpo::|\.cuh", line) for line in lines)
        return [f".. code-block:: {'cuda' if device else self.language}", "", *indented(lines), ""]

    def table(self, lines):
        return [".. code-block:: text", "", *indented(lines), ""]

    def bullets(self, items):
        found = []
        for item in items:
            lines = self.lines(item)
            found += ["- " + lines[0], *indented(lines[1:], 2)]
        return [*found, ""]

    def rows(self, lines):
        cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
        found = [".. list-table::", "   :header-rows: 1", ""]
        for row in (row for row in cells if not all(re.fullmatch("-*", cell) for cell in row)):
            found += [f"   {'*' if not number else ' '} - {self.inline(cell)}" for number, cell in enumerate(row)]
        return [*found, ""]

    def pairs(self, name, items):
        found = [f".. rst-class:: {name}", ""]
        for term, content in items:
            text = f"``{term.strip('`')}``" if code_like(term) and name == "terms" else self.inline(term)
            found += [text, *indented(self.lines(content) or ["\\ "]), ""]
        return [*found, ""]

    def terms(self, items):
        return self.pairs("terms", items)

    def statuses(self, items):
        return self.pairs("statuses", items)


def summary(text):
    """The first sentence of a paragraph."""
    match = re.match(r"(.*?[.:])(?= [A-Z\"`(]|$)", text)
    return (match[1] if match else text).rstrip(":.")
