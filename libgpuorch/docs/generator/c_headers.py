"""The C headers as lists of items, in the order of the text: what each declares, with the comment in front."""
import dataclasses
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "libgpuorch/src/abi"))

import headers  # the parser from which abi.json is made

INCLUDE = headers.INCLUDE
# A rule is a comment that begins a section: /* --- title --- */
KINDS = {
    "comment": r"(?P<comment>/\*.*?)\*/[ \t]*(?=\n)",
    "constants": r"(?:#define GPO_\w+ (?:\d+|\"[^\"\n]*\")(?:[ \t]+/\*(?:(?!\*/).)*\*/)?[ \t]*\n)+",
    "macro": r"#define (?P<macro>GPO_\w+)\((?P<arguments>[^)]*)\)(?:[^\n]*\\\n)*[^\n]*",
    "struct": r"typedef struct (?P<struct>\w+) \{.*?\n\} \w+;",
    "callback": r"typedef [^;()]+\(\*(?P<callback>gpo_\w+)\)\([^;]*?\);",
    "function": r"GPO_API\s[^;]*?\b(?P<function>gpo_\w+)\([^;]*?\);",
    "handle": r"typedef struct gpo_\w+_s \*(?P<handle>gpo_\w+_t);[^\n]*",
    "type": r"typedef int32_t (?P<type>gpo_status);",
    "forward": r"struct gpo_api;",
    "line": r"[^\n]*",
}
ITEM = re.compile("|".join(f"(?P<kind_{kind}>{text})" for kind, text in KINDS.items()), re.S)
RULE = re.compile(r"/\* --- (.*?) ---(.*)", re.S)


@dataclasses.dataclass
class Item:
    """kind: head, text (a comment that stands alone), rule, constants, macro, struct, callback, function, handle, type.
    `names`: what it declares. `comment`: in front of it, or its own text."""
    kind: str
    names: list
    comment: str = ""
    title: str = ""


def items_of(header):
    """The items of a header, the head first."""
    text = (INCLUDE / header).read_text()
    found, comment, at = [], None, 0
    while at < len(text):
        match = ITEM.match(text, at)
        at = match.end() + (text[match.end():match.end() + 1] == "\n")
        kind = next(kind for kind in KINDS if match[f"kind_{kind}"] is not None)
        if kind == "comment":
            if not found:
                found.append(Item("head", [], match["comment"]))
            elif match["comment"].startswith("/* ---"):
                rule = RULE.fullmatch(match["comment"])
                found.append(Item("rule", [], rule[2], rule[1]))
            elif text[at:at + 1] == "\n":
                found.append(Item("text", [], match["comment"]))
            else:
                comment = match["comment"]
            continue
        if kind in ("line", "forward"):
            continue
        names = re.findall(r"#define (GPO_\w+) ", match[0]) if kind == "constants" else [match[kind]]
        if kind == "macro" and names == ["GPO_API"]:
            continue
        if kind == "macro":
            names = [f"{match['macro']}({match['arguments']})"]
        found.append(Item(kind, names, comment or ""))
        comment = None
    return found


def first_sentence(header):
    """What a header's head says of it first: "queues of GPU work"."""
    import comments
    text = comments.blocks(items_of(header)[0].comment)[0][1]
    return comments.summary(text.removeprefix(f"{header}: "))


def all_headers():
    return sorted(path.name for path in INCLUDE.glob("*.h"))


def home_of_handles():
    """{handle: the header that explains it}, as types.h says."""
    text = (INCLUDE / "types.h").read_text()
    return dict(re.findall(r"typedef struct gpo_\w+_s \*(gpo_\w+_t);\s*/\* (\w+\.h) \*/", text))
