"""The sentences of the C headers as those of Rust's documentation."""
import pathlib
import re
import textwrap

from names import LINKS, NOUNS, OBJECTS, kind, variants

SOURCES = pathlib.Path(__file__).resolve().parents[1] / "gpuorch/src"
GENERATED = SOURCES / "generated.rs"
SIZED = SOURCES.parents[1] / "gpuorch-sys/src/sized.rs"
COLUMNS = 120


class Documents:
    """Comments of Rust, with links to what is named."""

    # Sentences about pointers that only the C functions have.
    OF_C = r"`(?:buffer|capacity|needed|stride|\*\w+)`|->struct_size\b|\bmay be NULL\b"

    def __init__(self, abi, own_figures):
        self.figures = own_figures
        self.kinds = {status["name"]: kind(status["name"]) for status in abi["statuses"]}
        self.paths = {**LINKS, **{struct["name"]: f"sys::{struct['name']}" for struct in abi["structs"]}, **hand_written()}
        for constant, path, variant in variants(abi):
            self.paths[constant["name"]] = f"{path}::{variant}"

    def link(self, match):
        name = match[1]
        if name == "GPO_SUCCESS":
            return "`Ok`"
        if name in self.kinds:
            return f"[`ErrorKind::{self.kinds[name]}`]"
        if name in self.figures:
            return f"[`{self.figures[name]}`]"
        if name in self.paths:
            return f"[`{'::'.join(self.paths[name].split('::')[-2:])}`](crate::{self.paths[name]})"
        return f"`{name}`"

    def of(self, text, itself=""):
        """One paragraph or item."""
        text = re.sub(r" \((?:see )?(?:above|below|[A-Z]\w+|\w+\.h(?:, \"[^\"]*\")?|\"[^\"]*\")\)", "", text)
        text = re.sub(r"([;:,] )(?:GPO_AUTO|NULL): ", r"\1by default ", text)
        text = re.sub(r"(^|\. )(?:GPO_AUTO|NULL): ", r"\1By default ", text)
        text = re.sub(r"`\w+`, (?:which may be|if not) NULL, gets|`\w+`(?= as in )", "The value is", text)
        for of_c, of_rust in (("With NULL", "With `None`"), ("`timeout_ns`", "`timeout`"), (" into `buffer`,", ","),
                              (", up to `capacity`", ""), (", NULL for a needed pointer, or", " or"),
                              ("that is NULL, random, of", "of"), ('NULL or "": ', "Empty: ")):
            text = text.replace(of_c, of_rust)
        parts = re.sub(r"\b__\w+__\b|\b\w+<\w+>(?:\(\))?", r"`\g<0>`", text).split("`")
        text = "`".join(part if at % 2 else re.sub(r"[][]", r"\\\g<0>", part) for at, part in enumerate(parts))
        text = re.sub(r"^(?:Writes|Says|Reads) (?=how |the |what |a )", "Returns ", text)
        if itself:
            text = " ".join(one for one in re.split(r"(?<=\.) ", text) if not re.search(self.OF_C, one))
            text = re.sub(rf"(\. |^)`{itself}`", rf"\1This {NOUNS.get(itself, itself)}", text)
            text = text.replace(f"`{itself}`", f"this {NOUNS.get(itself, itself)}")
        text = text.replace("Any other status", "Any other error")
        return re.sub(r"(?<![`\w.])((?:gpo_|GPO_)\w+\*?)(?:\(\))?", self.link, text)

    def lines(self, says, indent, itself=""):
        """The lines of a comment."""
        found, item = [], False
        for text in says:
            begins_item = bool(re.match(r"GPO_\w+[^:.]*: |Any other status|- ", text))
            made = self.of(text, itself)
            if not made:
                continue
            if found and not (item and begins_item):
                found.append("")
            made = ("- " if begins_item and not text.startswith("- ") else "") + made
            made = made if made.endswith((".", ":")) else made + "."
            found += textwrap.wrap(made, COLUMNS - indent - 4, subsequent_indent="  " if begins_item else "",
                                   break_long_words=False, break_on_hyphens=False)
            item = begins_item
        return [f"{' ' * indent}/// {line}".rstrip() for line in found]


def hand_written():
    """{function: the method that calls it} of methods by hand, by the path of an object of the crate."""
    paths = {path.split("::")[-1]: path for objects in OBJECTS.values() for path, _ in objects}
    found = {}
    for source in sorted(SOURCES.rglob("*.rs")):
        if source == GENERATED:
            continue
        owner = method = None
        for line in source.read_text().split("\n"):
            if match := re.match(r"impl(?:<[^{]*?>)? (?:\w+::)*(\w+)(?:<.*>)? \{", line):
                owner, method = paths.get(match[1]), None
            elif match := re.match(r"    (pub )?(?:unsafe )?fn (\w+)", line):
                method = match[2] if match[1] else None
            for function in re.findall(r"(?:call|status)!\((\w+)\(", line):
                if owner and method:
                    found.setdefault(f"gpo_{function}", f"{owner}::{method}")
    return found
