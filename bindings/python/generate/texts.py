"""The descriptions of abi.json in Python's words, and docstrings made of them."""
import re
import textwrap

import exceptions

WIDTH = 116


def plain(abi, text):
    """A description with Python's names."""
    text = re.sub(r"\bStatuses as\b", "Exceptions as", text.replace("Same statuses as", "Raises the same as"))
    text = re.sub(r"\bgpo_\w+", lambda name: abi.names.get(name[0], name[0]), text)
    return re.sub(r"\bGPO_(?=[A-Z])", "", text).replace("NULL", "None")


# Sentences about what only C has: sizes of structs, strides, pointers for what Python returns.
ONLY_C = re.compile(r"struct_size|`stride`|`capacity`|`needed`|`buffer`|sizeof|`user`|`count` as in|`count`, which may be|"
                    r"bytes apart|No pointer may be|two pointers|`\*count`|^Returns GPO_SUCCESS|"
                    r"^`?\w+`? may be (None|NULL)|`options` may be (None|NULL)|Either pointer|"
                    r"which may be (None|NULL), gets|`\*\w+`|^an array of `\w+` structs")


def split(text):
    return re.split(r"(?<=[.:]) (?=[A-Z`*])", text)


def sentences(text):
    """A description without the sentences that concern C alone."""
    for said, better in exceptions.BETTER.items():
        text = text.replace(said, better)
    return " ".join(one for one in split(text) if not ONLY_C.search(one))


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
            told.append(plain(abi, sentences(line)))
            continue
        failures = [name for name in names if name not in ("GPO_SUCCESS", "GPO_NOT_READY")]
        if failures == ["GPO_BUFFER_TOO_SMALL"]:
            continue   # Python asks again with a larger one
        if not failures and names == ["GPO_SUCCESS"] and not raised and len(match[2]) < 60:
            continue
        what = ", ".join(exception(name) for name in failures) or "no exception"
        raised.append(f"{what}: {plain(abi, match[2])}")
    told = [text for text in told if text] or [plain(abi, text) for text in function.says[:1]]
    return [re.sub(r"^Writes ", "Returns ", text) if function.results() else text for text in told], raised


def taken(abi, entry):
    """What a parameter or a field takes, of callbacks and structs, or "": the name and the description say it."""
    if entry.kind in ("STRUCT", "STRUCTS"):
        name = next(one.type_name for one in abi.structs if one.id == entry.id)
        return f"options.{name}" if entry.kind == "STRUCT" else f"a list of options.{name}"
    if entry.kind != "CALLBACK":
        return ""
    parameters, _, result = exceptions.CALLBACKS.get(entry.id.removeprefix("CALLBACK_"), (None, None, None))
    if not parameters:
        return "the address of a function of C's, alone or in a tuple with its `user`"
    return f"a function ({parameters})" + (f". It returns {result}" if result else "")


def field(abi, entry):
    """A line about a keyword argument or another field."""
    says = plain(abi, sentences(entry.says)) or exceptions.FIELD_SAYS.get(entry.name, "")
    what = taken(abi, entry)
    text = f"{what}. {says[:1].upper()}{says[1:]}" if what and says else what or says
    return f"{entry.name}: {text}" if text else entry.name


def section(title, lines, indent):
    """Lines below a title."""
    found = [line for text in lines for line in wrapped(text.replace("\\", "\\\\"), indent + "    ", indent + "  ")]
    return ["", f"{indent}{title}:", *found] if found else []


def docstring(abi, function, given, options, returned, indent):
    """The lines of a method's docstring. `given`: its parameters; `options`: the struct whose fields are keyword arguments;
    `returned`: a sentence about the result."""
    told, raised = paragraphs(abi, function)
    lines = []
    if options:
        told += [plain(abi, sentences(text)) for text in options.says]
    for i, text in enumerate(told or [function.name.replace("_", " ") + "."]):
        text = text.replace("\\", "\\\\").replace('"""', "'''")
        lines += ([""] if i else []) + wrapped(text, indent, indent + '"""' if not i else None)
    lines += section("Parameters", [f"{one.name}: {text}" for one in given if (text := taken(abi, one))], indent)
    lines += section("Keywords", [field(abi, one) for one in options.visible()] if options else [], indent)
    if returned:
        lines += ["", indent + returned]
    lines += section("Raises", raised, indent)
    if len(lines) == 1 and len(lines[0]) < WIDTH and not lines[0].endswith('"'):
        lines[0] += '"""'
    else:
        lines.append(indent + '"""')
    return lines
