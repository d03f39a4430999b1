"""types/gpuorch_abi.lua: the structs that are tables, and the generated methods, for the Lua language server."""
import re
import textwrap

import exceptions
from calls import class_of

HEAD = """---@meta _
-- Types that follow from libgpuorch's ABI alone. Made from abi.json by generator/generate.py. The file gpuorch.lua has all
-- other types, and says what failures and answers return.
"""
CONSTANTS = r"^(GPO_AUTO, or )?GPO_[A-Z0-9_]+(\*|, …)[:,;]? ?"   # of a field that is a word
WORDS = 34   # of a paragraph of fields
SENTENCE = r"(?<=[^.]\.) (?=[A-Z`])"


def first_sentence(says):
    """The first sentence of a description, without references to other parts of the header."""
    sentence = re.split(SENTENCE, says, maxsplit=1)[0]
    sentence = re.sub(r'[:,;]? see "[^"]+"(?: and "[^"]+")*| \(see "[^"]+"\)', "", sentence)
    return re.sub(r"\bGPO_AUTO:? ", "by default ", sentence)


def answers(call):
    """A sentence for each description of an answer: of a status with which false is returned."""
    for names, text in call.answers:
        yield f"False, with {' or '.join(names)} as the third result: {first_sentence(text).rstrip('.')}."


def struct(tables, name):
    filled = name in tables.filled - tables.read
    lines, words = [f"---@class {tables.lua_type(name)}"], 2
    for field in tables.fields[name]:
        if field.lua:
            says = re.sub(CONSTANTS, "", field.says) if '"' in field.lua else field.says
            given = filled or (name, field.key) in exceptions.REQUIRED
            lua = field.lua if filled or not given else field.lua.replace('"none"|', "").replace('"unknown"|', "")
            line = f"---@field {field.key}{'' if given else '?'} {lua} {first_sentence(says).rstrip('.')}".rstrip()
            words += len(line.split())
            if words > WORDS:
                lines.append("---")
                words = len(line.split())
            lines.append(line)
    return [*lines, ""]


def method(call):
    said = " ".join([first_sentence(call.says[0]), *answers(call)]) if call.says else ""
    lines = [f"--- {line}" for line in textwrap.wrap(said, 116, break_long_words=False, break_on_hyphens=False)]
    for parameter in call.parameters[1 if call.owner else 0:]:
        lines.append(f"---@param {parameter.name}{'?' if parameter.optional else ''} {parameter.lua}")
    lines.append("---@return " + ", ".join(f"{type_} {name}".strip() for type_, name in call.returns()))
    names = ", ".join(parameter.name for parameter in call.parameters[1 if call.owner else 0:])
    return [*lines, f"function {f'{call.owner}:' if call.owner else 'gpuorch.'}{call.method}({names}) end", ""]


def text(abi, tables, made, by_hand):
    """`by_hand`: the text of gpuorch.lua, which says of most classes what they are."""
    lines = [HEAD]
    for name in tables.fields:
        if any(field.lua for field in tables.fields[name]):
            lines += struct(tables, name)
    for owner in [*map(class_of, abi["handles"]), None]:
        calls = [call for call in made if call.owner == owner]
        if calls:
            own = owner and not re.search(rf"^---@class {owner}\b", by_hand, re.MULTILINE)
            lines += [f"---@class {owner or 'gpuorch'}{': object' if own else ''}", f"local {owner or 'gpuorch'} = {{}}", ""]
            for call in calls:
                lines += method(call)
    return "\n".join([*lines, "return gpuorch", ""])
