"""What a C++ or CUDA header declares, with its comments and without bodies of functions, private members, details and
directives of the preprocessor. The headers have one strict style; only what occurs in it is understood."""
import dataclasses
import re
import textwrap

COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
LITERAL = re.compile(r'R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'', re.S)
DIRECTIVE = re.compile(r"#[^\n]*(?:(?<=\\)\n[^\n]*)*")
ACCESS = re.compile(r"(public|protected|private):")
NAMESPACE = re.compile(r"(?:inline )?namespace (\w*) ?")
CLASS = re.compile(r"(?:template <.*?>\s+)?(?:class|struct|union)\b(?: alignas\(\w+\))?(?: (\w+))?(?: final)?[^()=]*", re.S)
MACRO = re.compile(r"[A-Z][A-Z0-9_]+\([^;{}]*?\)[ \t]*\n")
HIDDEN_NAMESPACES = ("detail", "asio_detail")
LEFT_OUT = re.compile(r"using [\w:]+::\w+;|friend\b|static_assert\b|(?:class|struct) \w+;|"
                      r"(?:template <.*>\s+)?\w+\([^{}]*\) ->", re.S)
INITIALISERS = re.compile(r"\)( noexcept)?\s*")
COLUMNS = 88   # of comments
OPEN, CLOSED = "([{", ")]}"


@dataclasses.dataclass
class Entry:
    """`text`: the declaration, dedented. `comment`: the lines in front of it; `behind`: in the same line. `members`: of a
    class. `calls`: functions of the C interface in the body. `apart`: whether an empty line is in front."""
    text: str
    comment: str = ""
    behind: str = ""
    name: str = ""
    members: list = None
    calls: list = dataclasses.field(default_factory=list)
    apart: bool = False


class Scanner:
    def __init__(self, text):
        self.text, self.at = text, 0

    def skip_literal(self, at):
        """Behind the comment, literal or directive that begins here; else None."""
        match = COMMENT.match(self.text, at) or LITERAL.match(self.text, at)
        return match.end() if match else None

    def matching(self, at):
        """The bracket that closes the one here."""
        depth = 0
        while at < len(self.text):
            behind = self.skip_literal(at)
            if behind:
                at = behind
                continue
            depth += (self.text[at] in OPEN) - (self.text[at] in CLOSED)
            if depth == 0:
                return at
            at += 1
        raise ValueError("a bracket isn't closed")

    def end_of_head(self):
        """The `;` or `{` that ends the declaration here, and the text in front of a constructor's initialisers."""
        at, cut = self.at, None
        while True:
            behind = self.skip_literal(at)
            if behind:
                at = behind
                continue
            letter = self.text[at]
            if letter == ";":
                return at, cut or at
            if letter == "{":
                if cut is None or not re.search(r"[\w>]$", self.text[self.at:at]):
                    return at, cut or at
                at = self.matching(at)
            elif letter in "([":
                at = self.matching(at)
            elif self.text.startswith(": ", at) and cut is None and INITIALISERS.fullmatch(
                    self.text[self.text.rfind(")", self.at, at):at]):
                cut = at
            at += 1

    def behind_line(self):
        """The comment behind a declaration, in the same line."""
        match = re.compile(r"[ \t]*(//[^\n]*|/\*[^\n]*\*/)").match(self.text, self.at)
        if not match:
            return ""
        self.at = match.end()
        return match[1]

    def declaration(self):
        """The entry that begins here, or a list of entries of a namespace, or None."""
        begin = self.at
        end, cut = self.end_of_head()
        head = self.text[begin:cut].rstrip()
        if self.text[end] == ";":
            self.at = end + 1
            return Entry(dedented(self.text, begin, head + ";"))
        namespace = NAMESPACE.fullmatch(head + " ") or NAMESPACE.fullmatch(head)
        if namespace:
            self.at = end + 1
            found = self.scope(True)
            return [] if namespace[1] in HIDDEN_NAMESPACES else found
        closing = self.matching(end)
        if head.startswith('extern "C"') and head.endswith('"C"'):
            self.at = end + 1
            return self.scope(True)
        kind = CLASS.fullmatch(head)
        if kind:
            self.at = end + 1
            members = self.scope(not head.lstrip().startswith("class") and not re.search(r">\s+class\b", head))
            self.at = self.text.index(";", closing) + 1
            return Entry(dedented(self.text, begin, head), name=kind[1] or "", members=members)
        if re.match(r"enum\b|.*=$", head, re.S):
            self.at = self.text.index(";", closing) + 1
            return Entry(dedented(self.text, begin, self.text[begin:self.at]))
        self.at = closing + 1
        if self.text[self.at:self.at + 1] == ";":
            self.at += 1
        calls = list(dict.fromkeys(re.findall(r"\bgpo_\w+(?=[(,])", self.text[end:closing])))
        return Entry(dedented(self.text, begin, head + ";"), calls=calls)

    def scope(self, visible):
        """The entries up to the closing bracket, or the end of the text."""
        found, comment, apart = [], [], False
        while self.at < len(self.text):
            space = re.compile(r"\s*").match(self.text, self.at)[0]
            self.at += len(space)
            if space.count("\n") > 1:
                if comment and visible:
                    found.append(Entry("", "\n".join(comment), apart=apart))
                comment, apart = [], True
            if self.at == len(self.text):
                break
            if self.text[self.at] == "}":
                self.at += 1
                break
            special = DIRECTIVE.match(self.text, self.at) or ACCESS.match(self.text, self.at)
            if special:
                self.at = special.end()
                visible = special[1] == "public" if special.re is ACCESS else visible
                continue
            remark = COMMENT.match(self.text, self.at)
            if remark:
                comment.append(dedented(self.text, self.at, remark[0]))
                self.at = remark.end()
                continue
            macro = MACRO.match(self.text, self.at)
            if macro:
                self.at = macro.end() - 1
                entry = Entry(macro[0].rstrip())
            else:
                entry = self.declaration()
            if isinstance(entry, list):
                self.behind_line()   # } // namespace
                found += entry
            elif visible and not LEFT_OUT.match(entry.text):
                entry.comment, entry.behind, entry.apart = "\n".join(comment), self.behind_line(), apart
                found.append(entry)
            else:
                self.behind_line()
            comment, apart = [], False
        return found


def dedented(text, begin, part):
    """A part of the text without the indentation of the line that it begins in."""
    column = begin - (text.rfind("\n", 0, begin) + 1)
    return "\n".join(line if not number else line[min(column, len(line) - len(line.lstrip())):]
                     for number, line in enumerate(part.split("\n")))


def entries(text):
    """The entries of a header, without the comment at its head."""
    scanner = Scanner(text)
    head = re.match(r"(?://[^\n]*\n)+|/\*.*?\*/", text, re.S)
    scanner.at = head.end() if head else 0
    return scanner.scope(True)


def wrapped(comment):
    """A comment of // or /// in shorter lines, if it is plain paragraphs."""
    match = re.match(r"///? ", comment)
    texts = [re.sub(r"^///? ?", "", line) for line in comment.split("\n")]
    if not match or any(re.match(r"$|-|\s", text) for text in texts):
        return comment
    return textwrap.fill(" ".join(texts), COLUMNS, initial_indent=match[0], subsequent_indent=match[0],
                         break_long_words=False, break_on_hyphens=False)


def lines(found, known, by=0):
    """Entries as code. A function that calls one or two functions of the C interface, `known`, says so."""
    code = []
    for entry in found:
        if entry.apart and code:
            code.append("")
        block = [wrapped(entry.comment)] if entry.comment else []
        if entry.members is not None:
            inner = lines(entry.members, known, 4)
            if inner and re.search(r"(^|>\s)class\b", entry.text):
                inner.insert(0, "public:")
            block.append(f"{entry.text} {{}};" if not inner else "\n".join([f"{entry.text} {{", *inner, "};"]))
        elif entry.text:
            calls = [name for name in entry.calls if name in known]
            named = f"  // {', '.join(calls)}" if 0 < len(calls) <= 2 else ""
            block.append(entry.text + ("  " + entry.behind if entry.behind else named))
        code += textwrap.indent("\n".join(block), " " * by).split("\n")
    return code
