"""The public headers as data. They are written in one strict style, and are read by it: what a declaration spans and how it
begins; that nothing is overlooked is checked against the compiler (tests/abi/check_abi_json.py)."""
import pathlib
import re

INCLUDE = pathlib.Path(__file__).resolve().parents[2] / "include" / "gpuorch"


def _texts():
    """{header: text without comments}, but for those that are made from or of the others."""
    for path in sorted(INCLUDE.glob("*.h")):
        if path.name not in ("api.h", "gpuorch.h"):
            yield path.name, re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)


def _one_line(text):
    return re.sub(r"\s+", " ", text).strip()


def _parameters(text):
    """[(type, name), …]"""
    return [(kind.strip(), word) for kind, word in
            (re.fullmatch(r"(.*?)(\w+)", part).groups() for part in _one_line(text).split(", ") if part != "void")]


def functions():
    """{name: (result, [(type, parameter), …])}, in the order of the headers."""
    found = {}
    for _, text in _texts():
        for match in re.finditer(r"GPO_API\s+([^;]*?)\b(gpo_\w+)\(([^;]*?)\);", text, flags=re.S):
            found[match[2]] = (_one_line(match[1]), _parameters(match[3]))
    return found


def callbacks():
    """{name: (result, [(type, parameter), …])} of the function pointers that callers give."""
    return {match[2]: (_one_line(match[1]), _parameters(match[3])) for _, text in _texts()
            for match in re.finditer(r"typedef ([^;()]+)\(\*(gpo_\w+)\)\(([^;]*?)\);", text, flags=re.S)}


def structs():
    """{name: [(type, field), …]} of the structs that begin with their size; an array's type ends in [length]."""
    found = {}
    for _, text in _texts():
        for name, body in re.findall(r"typedef struct (\w+) \{(.*?)\} \w+;", text, flags=re.S):
            fields = [re.fullmatch(r"(.*?)(\w+)((?:\[\w+\])?)", _one_line(part)).groups()
                      for part in body.split(";") if part.strip()]
            found[name] = [(kind.strip() + array, field) for kind, field, array in fields]
    return found


def places():
    """{name: the header that declares it} of functions, callbacks and structs."""
    declared = re.compile(r"\b(gpo_\w+)(?=\([^()]*\);)|\(\*(gpo_\w+)\)\(|typedef struct (gpo_\w+) \{")
    return {"".join(names): header for header, text in _texts() for names in declared.findall(text)}


def _items(comment):
    """The paragraphs and list items of a comment, each unwrapped to one line. Lines of code stay as they are."""
    status = re.compile(r"GPO_\w+(, GPO_\w+)*( \([^)]*\))?: |Any other status\b")
    items, before = [], ""
    for line in re.sub(r"\n *\*(?: |(?=\n|$))", "\n", comment).strip().split("\n"):
        line = line.rstrip()
        begins = not before or status.match(line) or re.match(r"- |\d+\. ", line) or items[-1].startswith(" ")
        # What stands at the margin behind an item that is indented, or behind a status, isn't of the item.
        at_margin = before and not line.startswith(" ") and (before.startswith(" ") or status.match(items[-1]))
        if line and (begins or at_margin):
            items.append(line)
        elif line:
            items[-1] += " " + line.strip()
        before = line
    return items


def said():
    """{name: the items of the comment in front} of functions, callbacks and structs; {constant: text}; {(struct, field):
    text}."""
    found = {}
    declared = re.compile(r"^/\*((?:(?!\*/).)*)\*/\n(?:GPO_API [^;/]*?\b(gpo_\w+)\([^;]*?\);|"
                          r"typedef [^;()]+\(\*(gpo_\w+)\)\(|typedef struct (gpo_\w+) \{|"
                          r"#define (GPO_\w+) \d+\n(?!#define))", flags=re.M | re.S)
    for path in sorted(INCLUDE.glob("*.h")):
        if path.name in ("api.h", "gpuorch.h"):
            continue
        text = path.read_text()
        for comment, *names in declared.findall(text):
            items = _items(comment)
            found["".join(names)] = " ".join(items) if names[-1] else items
        for struct, body in re.findall(r"typedef struct (\w+) \{(.*?)\} \w+;", text, flags=re.S):
            for field, comment in re.findall(r"(\w+)(?:\[\w+\])?;\s*/\*(.*?)\*/", body, flags=re.S):
                found[struct, field] = _one_line(comment)
        for constant, comment in re.findall(r"^#define (GPO_\w+) \d+ +/\*(.*?)\*/", text, flags=re.M | re.S):
            found[constant] = _one_line(comment)
    return found


def handles():
    """The types of handles."""
    return [name for _, text in _texts() for name in re.findall(r"typedef struct gpo_\w+_s \*(gpo_\w+_t);", text)]


def constants():
    """{name: value}: all are integers."""
    return {name: int(value) for _, text in _texts()
            for name, value in re.findall(r"^#define (GPO_\w+) (\d+)\s*$", text, flags=re.M)}


def statuses():
    """{name: (value, what it means)}, by value."""
    text = (INCLUDE / "status.h").read_text()
    found = re.findall(r"^#define (GPO_(?!NATIVE_)\w+) (\d+)(?: +/\* (.*?) \*/)?$", text, flags=re.M)
    return {name: (int(value), meaning or "done") for name, value, meaning in found}


def version():
    return constants()["GPO_VERSION"]


def soname():
    return re.search(r'^#define GPO_SONAME "(.*)"$', (INCLUDE / "types.h").read_text(), flags=re.M).group(1)


def declared(kind, word):
    return f"{kind}{'' if kind.endswith('*') else ' '}{word}"


def declaration(result, name, parameters):
    return declared(result, f"{name}({', '.join(declared(*pair) for pair in parameters) or 'void'})")
