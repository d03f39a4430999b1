"""The structs of abi.json as tables of Lua's: their keys, and src/records.c."""
import re

import exceptions

NUMBERS = {"uint32_t": "U32", "int32_t": "I32", "uint64_t": "U64", "int64_t": "I64", "double": "F64",
           "gpo_status": "STATUS"}
TYPES = {"U32": "integer", "I32": "integer", "U64": "gpuorch.exact", "I64": "gpuorch.exact", "F64": "number", "STATUS": "string",
         "BOOL": "boolean", "STRING": "string", "CHARS": "string", "BYTES": "string", "THREE": "gpuorch.three",
         "U64S": "gpuorch.exact[]", "ADDRESS": "address"}


class Words:
    """The words for the values of a field: of constants that follow each other, in lower case, without their prefix."""

    def __init__(self, abi, first, zero=None, last=None):
        constants = abi["constants"]
        start = next(i for i, constant in enumerate(constants) if constant["name"] == first)
        prefix = "_".join(first.split("_")[:2]) + "_"
        self.first, self.value = first, constants[start]["value"]
        self.words = []
        for constant in constants[start:]:
            if not constant["name"].startswith(prefix) or constant["value"] != self.value + len(self.words):
                break
            self.words.append(word(constant["name"].removeprefix(prefix)))
            if constant["name"] == last:
                break
        if zero and self.value == 1:
            self.words.insert(0, zero)
        self.array = f"words_of_{first}" + (f"_to_{last.split('_')[-1]}" if last else "")

    def __str__(self):
        return "|".join(f'"{name}"' for name in self.words)


def word(name):
    """The word of a constant without its prefix. Types of elements have the names that arrays use."""
    name = re.sub(r"^(U?)INT(\d+)$", r"\1I\2", name).replace("UI", "U") if re.match(r"^U?INT\d", name) else name
    return re.sub(r"^(B?F)LOAT(\d)", r"\1\2", name).lower()


class Field:
    """A key of a table: its row in C and its type in Lua. The module reads a key without a type by itself. An object has to
    be kept by the object that is made with the options."""

    def __init__(self, key, row, lua, says="", is_object=False):
        self.key, self.row, self.lua, self.says, self.is_object = key, row, lua, says, is_object


def is_truth(says):
    """Whether a number is 1 or 0, by its description."""
    return bool(re.match(r"1:|1 during|0:.*; 1:", says))


def field_words(abi, struct, field):
    says = field.get("says", "")
    chosen = exceptions.FIELD_WORDS.get((struct, field["name"]))
    if chosen:
        return Words(abi, chosen[0], "auto", chosen[1])
    match = re.match(r"(?:rings: |GPO_AUTO, or )?(GPO_[A-Z0-9]+_)(\*|[A-Z_]+, …)", says)
    if not match or field["type"] not in ("uint32_t", "int32_t"):
        return None
    first = match[1] + match[2].removesuffix(", …")
    if match[2] == "*":
        first = next(constant["name"] for constant in abi["constants"] if constant["name"].startswith(match[1]))
    return Words(abi, first, exceptions.ZEROS.get(first, "auto" if "GPO_AUTO" in says else "none"))


def flags(abi, struct, says):
    """(name, constant) of each flag that a description names."""
    names = re.findall(r"GPO_[A-Z0-9_]+\*?", exceptions.FLAGS.get(struct, says))
    for name in names:
        wanted = [c["name"] for c in abi["constants"] if c["name"].startswith(name[:-1])] if name.endswith("*") else [name]
        for constant in wanted:
            if constant not in exceptions.UNNAMED_FLAGS:
                yield constant.split("_", 2)[2].lower(), constant


def is_skipped(struct, field):
    """Fields beside an array, and those that no caller sets."""
    name = field["name"]
    lengths = {other["length"] for other in struct["fields"]
               if "length" in other and (struct["name"], other["length"]) not in exceptions.LENGTHS}
    return (name == "struct_size" or name.startswith("reserved") and field["type"] == "uint32_t" or name in lengths
            or name.endswith("_stride")
            or name == "user" or name.endswith("_user") or (struct["name"], name) in exceptions.OMITTED
            or name.endswith("_count") and any("*" in other["type"] and "char *" != other["type"][-6:]
                                               for other in struct["fields"]))


def kind_of(field, filled):
    """The kind of a field's row; None: the module reads it by itself."""
    type_, name = field["type"], field["name"]
    if "count" in field:
        if type_ == "uint32_t":
            return "THREE" if field["count"] == 3 else "BYTES"
        return {"char": "CHARS", "uint8_t": "BYTES", "uint64_t": "U64S"}.get(type_)
    if type_ == "const char *":
        return "STRING"
    if type_ == "void *" and name.startswith("native"):
        return "U64"
    if filled and type_ == "uint64_t" and name.endswith("_address"):
        return "ADDRESS"
    return NUMBERS.get(type_)


def fields(abi, struct, filled):
    truth = False   # whether numbers without a description are truth values, by one before
    for field in struct["fields"]:
        name, says = field["name"], field.get("says", "")
        if is_skipped(struct, field):
            continue
        if name == "flags":
            for flag, constant in flags(abi, struct["name"], says):
                yield Field(flag, f'FLAG({struct["name"]}, "{flag}", {constant})', "boolean")
            continue
        kind, words = kind_of(field, filled), field_words(abi, struct["name"], field)
        by_hand = filled or (struct["name"], name) in exceptions.READ_BY_HAND
        if not by_hand and field["type"] in abi["handles"]:
            word = field["type"].removeprefix("gpo_").removesuffix("_t")
            yield Field(name, f"OBJECT({struct['name']}, {name}, CLASS_{word.upper()})", word, says, True)
            continue
        if not by_hand and field["type"] == "const char *const *" and "length" in field:
            yield Field(name, f"STRINGS({struct['name']}, {name}, {field['length']})", "string[]", says)
            continue
        if (struct["name"], name) in exceptions.READ_BY_HAND or not kind:
            key = exceptions.KEYS.get((struct["name"], name), name)
            yield Field(key, f'OTHER("{key}")', None, says)
            continue
        if words:
            yield Field(name, f"WORD({struct['name']}, {name}, {words.array})", str(words), says)
            continue
        if kind == "U32" and filled:
            truth = "the following fields too" in says or truth and not says
            if truth or is_truth(says):
                kind = "BOOL"
        yield Field(name, f"FIELD({struct['name']}, {name}, {kind})",
                    exceptions.FIELD_TYPES.get((struct["name"], name), TYPES[kind]), says)
    for row, key, lua in exceptions.MORE_ROWS.get(struct["name"], []):
        yield Field(key, row, lua)


def base(type_):
    return type_.removeprefix("const ").removesuffix(" *")


class Tables:
    """All structs that are tables: `filled` by the library, or `read` by it."""

    def __init__(self, abi):
        self.abi = abi
        parameters = [parameter for function in abi["functions"] for parameter in function["parameters"]]
        self.filled = {base(p["type"]) for p in parameters if p["direction"] in ("out", "inout")} | {"gpo_chunk"}
        self.read = {base(p["type"]) for p in parameters if p["direction"] == "in"} | exceptions.MORE_TABLES
        self.structs, self.fields = {}, {}
        for struct in abi["structs"]:
            name = struct["name"]
            if name in self.filled | self.read and name not in exceptions.NO_TABLES:
                self.structs[name] = struct
                self.fields[name] = list(fields(abi, struct, name in self.filled))
                if name in exceptions.FLAGS_LAST:
                    self.fields[name].sort(key=lambda field: field.row.startswith("FLAG"))

    def is_plain(self, name):
        """Whether the module needn't read any of its keys by itself."""
        return name in self.fields and all(field.lua for field in self.fields[name])

    def has_objects(self, name):
        return any(field.is_object for field in self.fields[name])

    def lua_type(self, name):
        """The type of the language server."""
        return "gpuorch." + exceptions.TYPES.get(name, name.removeprefix("gpo_"))

    def words(self):
        """All arrays of words."""
        found = {}
        for struct in self.structs.values():
            for field in struct["fields"]:
                words = field_words(self.abi, struct["name"], field)
                if words and (struct["name"], field["name"]) not in exceptions.OMITTED and field["name"] != "flags":
                    found.setdefault(words.array, words)
        for first in exceptions.MORE_WORDS:
            words = Words(self.abi, first)
            found.setdefault(words.array, words)
        return found

    def source(self, head):
        lines = [head("records.c", "the fields of the structs that the library reads and fills, and their words."),
                 '#include "binding.h"', ""]
        for words in self.words().values():
            lines += wrapped(f"const char *const {words.array}[] = {{",
                             [f'"{name}"' for name in words.words] + ["NULL"], "};")
        for name, members in self.fields.items():
            lines += ["", f"const field {name}_fields[] = {{", *(f"    {field.row}," for field in members),
                      "    FIELDS_END,", "};"]
        return "\n".join([*lines, ""])

    def header(self, head):
        lines = [head("records.h", "the tables of records.c. Words are named after the first constant of their group. An\n"
                      " * array of words begins with the word for 0, or with that constant's."),
                 "#ifndef GPUORCH_LUA_RECORDS_H", "#define GPUORCH_LUA_RECORDS_H", "",
                 *(f"extern const char *const {array}[];" for array in self.words()), "",
                 *(f"extern const field {name}_fields[];" for name in self.fields), "", "#endif", ""]
        return "\n".join(lines)


def wrapped(begin, parts, end):
    """The parts between begin and end, in lines of at most 120 columns."""
    line, lines = begin + ", ".join(parts) + end, []
    if len(line) <= 120:
        return [line]
    line = "   "
    for part in parts:
        if len(line) + len(part) + 2 > 118:
            lines.append(line)
            line = "   "
        line += f" {part},"
    return [begin, *lines, line, end]
