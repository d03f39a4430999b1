"""The descriptions of abi.json in Python's words, and docstrings made of them."""
import re
import textwrap

WIDTH = 116


def plain(text):
    """A description with Python's names."""
    text = re.sub(r"\bGPO_(?=[A-Z])", "", text)
    text = re.sub(r"\bgpo_(\w+?)_t\b", r"\1", text)
    text = re.sub(r"\bgpo_(?=[a-z_])", "", text)
    return text.replace("NULL", "None")


# Sentences about what only C has: sizes of structs, strides, pointers for what Python returns.
ONLY_C = re.compile(r"struct_size|`stride`|`capacity`|`needed`|`buffer`|sizeof|`user`|`count` as in|`count`, which may be|"
                    r"bytes apart|No pointer may be|two pointers|`\*count`|^Returns GPO_SUCCESS|"
                    r"^`?\w+`? may be (None|NULL)|`options` may be (None|NULL)|Either pointer|"
                    r"which may be (None|NULL), gets")


def sentences(text):
    """A description without the sentences that concern C alone."""
    found = [one for one in re.split(r"(?<=[.:]) (?=[A-Z`*])", text)]
    told = [one for one in found if not ONLY_C.search(one)]
    return " ".join(told) if told else text


def exception(status):
    """The name of a status's exception: GPO_OUT_OF_MEMORY is OutOfMemory."""
    return "".join(word.capitalize() for word in status.removeprefix("GPO_").split("_"))


def statuses(abi):
    return {status["name"] for status in abi.data["statuses"]}


def wrapped(text, indent, first=None):
    return textwrap.wrap(text, WIDTH, initial_indent=indent if first is None else first, subsequent_indent=indent,
                         break_long_words=False, break_on_hyphens=False)


def paragraphs(abi, function):
    """(paragraphs, exceptions): lines that begin with statuses say when exceptions are raised."""
    known, told, raised = statuses(abi), [], []
    for line in function.says:
        match = re.match(r"((?:GPO_[A-Z_]+(?:, )?)+)(?: \([^)]*\))?(?:, too)?: (.*)", line, re.S)
        names = [name for name in re.findall(r"GPO_[A-Z_]+", match[1])] if match else []
        if not names or not set(names) <= known:
            told.append(plain(sentences(line)))
            continue
        failures = [name for name in names if name not in ("GPO_SUCCESS", "GPO_NOT_READY")]
        if failures == ["GPO_BUFFER_TOO_SMALL"]:
            continue   # Python asks again with a larger one
        if not failures and names == ["GPO_SUCCESS"] and not raised and len(match[2]) < 60:
            continue
        what = ", ".join(exception(name) for name in failures) or "no exception"
        raised.append(f"{what}: {plain(match[2])}")
    return told, raised


def docstring(abi, function, options, indent):
    """The lines of a method's docstring. `options`: the struct whose fields are keyword arguments, and its parameter."""
    told, raised = paragraphs(abi, function)
    lines = []
    for i, text in enumerate(told or [function.name.replace("_", " ") + "."]):
        text = text.replace("\\", "\\\\").replace('"""', "'''")
        lines += ([""] if i else []) + wrapped(text, indent, indent + '"""' if not i else None)
    if options:
        lines += ["", f"{indent}Keywords:"]
        for field in options.visible():
            says = plain(field.says).replace("\\", "\\\\")
            lines += wrapped(field.name + (f": {says}" if says else ""), indent + "    ", indent + "  ")
    if raised:
        lines += ["", f"{indent}Raises:"]
        for text in raised:
            lines += wrapped(text.replace("\\", "\\\\"), indent + "    ", indent + "  ")
    if len(lines) == 1 and len(lines[0]) < WIDTH and not lines[0].endswith('"'):
        lines[0] += '"""'
    else:
        lines.append(indent + '"""')
    return lines
