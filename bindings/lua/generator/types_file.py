"""types/gpuorch_abi.lua: the structs that are tables, and the generated methods, for the Lua language server."""
import re
import textwrap

from calls import class_of

HEAD = """---@meta _
-- Types that follow from libgpuorch's ABI alone. Made from abi.json by generator/generate.py. The file gpuorch.lua has all
-- other types, and says what failures and answers return.
"""
CONSTANTS = r"^(GPO_AUTO, or )?GPO_[A-Z0-9_]+(\*|, …)[:,;]? ?"   # of a field that is a word
WORDS = 34   # of a paragraph of fields
SENTENCE = r"(?<=[^.]\.) (?=[A-Z`])"


def first_sentence(says):
    """The first sentence of a description, in lines."""
    sentence = re.split(SENTENCE, says, maxsplit=1)[0]
    return textwrap.wrap(sentence, 116, break_long_words=False, break_on_hyphens=False)


def struct(tables, name):
    filled = name in tables.filled - tables.read
    lines, words = [f"---@class {tables.lua_type(name)}"], 2
    for field in tables.fields[name]:
        if field.lua:
            says = re.sub(CONSTANTS, "", field.says) if '"' in field.lua else field.says
            says = re.split(SENTENCE, says, maxsplit=1)[0].rstrip(".")
            line = f"---@field {field.key}{'' if filled else '?'} {field.lua} {says}".rstrip()
            words += len(line.split())
            if words > WORDS:
                lines.append("---")
                words = len(line.split())
            lines.append(line)
    return [*lines, ""]


def method(call):
    lines = [f"--- {line}" for line in first_sentence(call.says[0])] if call.says else []
    for parameter in call.parameters[1 if call.owner else 0:]:
        lines.append(f"---@param {parameter.name}{'?' if parameter.optional else ''} {parameter.lua}")
    lines.append("---@return " + ", ".join(f"{type_} {name}".strip() for type_, name in call.returns()))
    names = ", ".join(parameter.name for parameter in call.parameters[1 if call.owner else 0:])
    return [*lines, f"function {f'{call.owner}:' if call.owner else 'gpuorch.'}{call.method}({names}) end", ""]


def text(abi, tables, made):
    lines = [HEAD]
    for name in tables.fields:
        if any(field.lua for field in tables.fields[name]):
            lines += struct(tables, name)
    for owner in [*map(class_of, abi["handles"]), None]:
        calls = [call for call in made if call.owner == owner]
        if calls:
            lines += [f"---@class {owner or 'gpuorch'}", f"local {owner or 'gpuorch'} = {{}}", ""]
            for call in calls:
                lines += method(call)
    return "\n".join([*lines, "return gpuorch", ""])
