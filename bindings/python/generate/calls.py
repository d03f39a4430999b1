"""gpuorch/_calls.py: a base class for each handle with its plain methods, and their types for the stubs."""
import textwrap

import exceptions
import texts

INT = {"U8", "U32", "I32", "U64", "I64", "SIZE", "STATUS"}
HEAD = '"""{says}\n\nMade from abi.json by generate/generate.py.\n"""\n'


class Method:
    """A function as a method of a class. Parameters that have to be given come first."""

    def __init__(self, abi, function):
        self.abi, self.function = abi, function
        self.owner, self.has_self, self.name = function.owner, function.has_self, function.method
        visible = function.visible()
        self.rest = visible[1:] if self.has_self else visible
        structs = [entry for entry in self.rest if entry.kind == "STRUCT"]
        self.keywords = structs[0] if len(structs) == 1 else None
        self.options = next((one for one in abi.structs if self.keywords and one.id == self.keywords.id), None)
        given = [entry for entry in self.rest if entry is not self.keywords]
        self.given = [e for e in given if e.default is None] + [e for e in given if e.default is not None]
        names = {entry.name for entry in given} | {"self"}
        clash = names & {field.name for field in self.options.visible()} if self.options else set()
        if clash:
            raise ValueError(f"{function.full}: both a parameter and an option are named {clash}")

    def default(self, entry):
        return f"_constants.{entry.default}" if entry.default.isupper() else entry.default

    def signature(self):
        parts = ["self"] if self.owner else []
        parts += [entry.name if entry.default is None else f"{entry.name}={self.default(entry)}" for entry in self.given]
        if self.options:
            parts.append(f"**{self.keywords.name}")
        return parts

    def lines(self, indent="    "):
        arguments = ["self"] if self.has_self else []
        arguments += [entry.name for entry in self.rest]
        call = f"{indent}    return _gpuorch.{self.function.name}("
        head = f"{indent}def {self.name}("
        return [*joined(head, self.signature(), "):"),
                *texts.docstring(self.abi, self.function, self.given, self.options, self.returned(), indent + "    "),
                *joined(call, arguments, ")")]

    def returned(self):
        """A line about the result, or None."""
        found = self.function.results()
        if not found or "QUERY" in self.function.flags:
            return None
        if len(found) > 1:
            return f"Returns: ({', '.join(f'{one.name}: {self.one_result(one)}' for one in found)})"
        name = f" ({found[0].name})" if self.result_type() == "int" else ""
        return f"Returns: {self.result_type()}{name}"

    # --- types ---

    def result_type(self):
        if "QUERY" in self.function.flags:
            return "bool"
        if "FAILURE" in self.function.flags:
            return "Error | None"
        found = [self.one_result(entry) for entry in self.function.results()]
        return "None" if not found else found[0] if len(found) == 1 else f"tuple[{', '.join(found)}]"

    def one_result(self, entry):
        kind = entry.kind
        if kind == "OUT_HANDLE":
            return class_name(self.abi, entry.id) + ("" if entry.hidden else " | None")
        if kind == "OUT_HANDLES":
            return f"list[{class_name(self.abi, entry.id)}]"
        if kind in ("OUT_STRUCT", "OUT_STRUCTS"):
            name = record_name(self.abi, entry.id)
            name = "records." + name
            return name if kind == "OUT_STRUCT" else f"list[{name}]"
        return {"OUT_TEXT": "str", "OUT_STATIC_TEXT": "str", "OUT_BYTES": "bytes", "OUT_VALUE": "bytes",
                "OUT_ANSWERS": "bytes",
                "OUT_TRUTH": "bool"}.get(kind, "int")

    def stub(self, indent="    "):
        parts = ["self"] if self.owner else []
        for entry in self.given:
            default = "" if entry.default is None else " = ..."
            parts.append(f"{entry.name}: {parameter_type(self.abi, entry)}{default}")
        if self.options:
            parts.append("*")
            for field in self.options.visible():
                type_ = field_type(self.abi, field)
                parts.append(f"{field.name}: {type_} = ...")
        return joined(f"{indent}def {self.name}(", parts, f") -> {self.result_type()}: ...")


def parameter_type(abi, entry):
    kind = entry.kind
    if kind in INT:
        base = "int"
    elif kind in ("F32", "F64"):
        base = "float"
    elif kind == "TEXT":
        base = "str"
    elif kind == "TIMEOUT":
        return "float | None"
    elif kind == "HANDLE":
        base = class_name(abi, entry.id)
    elif kind == "HANDLES":
        base = f"Sequence[{class_name(abi, entry.id)}]"
    elif kind in ("NUMBERS", "NUMBER_ARRAY"):
        base = "float | Sequence[float]" if entry.element == "F32" else "int | Sequence[int]"
    elif kind == "TEXTS":
        base = "Sequence[str]"
    elif kind == "HEADERS":
        base = "Mapping[str, str]"
    elif kind == "ADDRESS":
        base = "_Device"
    elif kind in ("HOST_IN", "HOST_OUT", "TASKS"):
        base = "_Host"
    elif kind in ("HOST_ADDRESS", "POINTER"):
        base = "int"
    elif kind == "CALLBACK":
        base = callback_type(entry.id)
    elif kind == "STRUCTS" and entry.id == "STRUCT_SETTING":
        base = "_Settings"
    elif kind in ("STRUCT", "STRUCTS"):
        base = struct_type(abi, entry.id)
        base = base if kind == "STRUCT" else f"Sequence[{base}]"
    elif kind == "ARGUMENTS":
        base = "Sequence[Any]"
    elif kind == "OUT_HANDLE":
        base = "bool"
    else:
        base = "Any"
    return base + (" | None" if entry.default == "None" and base != "Any" else "")


def struct_type(abi, identity):
    """What is taken for a struct: its fields, or a record of another method's. Arguments of stages may be values alone."""
    name = record_name(abi, identity)
    other = " | Any" if identity == "STRUCT_STAGE_ARGUMENT" else f" | records.{name}" if identity in abi.records else ""
    return f"options.{name}{other}"


def callback_type(identity):
    """A function of Python's, or the address of a function of C's."""
    parameters, result, _ = exceptions.CALLBACKS.get(identity.removeprefix("CALLBACK_"), (None, None, None))
    if not parameters:
        return "_CFunction"
    types = [one.partition(": ")[2] for one in parameters.split(", ")]
    return f"Callable[[{', '.join(types)}], {result}] | _CFunction"


def field_type(abi, field):
    type_ = parameter_type(abi, field)
    return type_ if type_ == "Any" or type_.endswith(" | None") else type_ + " | None"


def class_name(abi, identity):
    return next((one.type_name for one in abi.classes if one.id == identity), "Handle")


def record_name(abi, identity):
    return next(one.type_name for one in abi.structs if one.id == identity)


def joined(begin, parts, end):
    """begin + parts + end, in lines."""
    line = begin + ", ".join(parts) + end
    if len(line) <= 120:
        return [line]
    indent = " " * (len(begin) if len(begin) < 60 else 8)
    lines, now = [], begin
    for i, part in enumerate(parts):
        part += ", " if i < len(parts) - 1 else end
        if len((now + part).rstrip()) > 120:
            lines.append(now.rstrip())
            now = indent
        now += part
    return [*lines, now]


def methods(abi):
    found = [Method(abi, function) for function in abi.functions
             if function.full not in exceptions.LEFT_OUT and "DESTROYS" not in function.flags]
    return found


def source(abi):
    lines = [HEAD.format(says="The plain methods of gpuorch's objects, by their classes. The classes of gpuorch's objects "
                              "derive\n"
                              "from these, and add what needs more."),
             "from . import _constants, _gpuorch", ""]
    all_methods = methods(abi)
    for one in abi.classes:
        lines += ["", f"class {one.type_name}Calls:", "    __slots__ = ()"]
        for method in all_methods:
            if method.owner == one.name:
                lines += ["", *method.lines()]
        lines.append("")
    for method in all_methods:
        if not method.owner:
            lines += ["", *method.lines(""), ""]
    return "\n".join(lines).rstrip() + "\n"


def constants(abi):
    """gpuorch/_constants.py."""
    lines = [HEAD.format(says="The library's constants, as in C without GPO_; the statuses come first.")]
    for status in abi.data["statuses"]:
        lines.append(commented(abi, f"{status['name'].removeprefix('GPO_')} = {status['value']}", status.get("meaning")))
    lines.append("")
    for constant in abi.data["constants"]:
        value = constant["value"]
        if isinstance(value, int):
            lines.append(commented(abi, f"{constant['name'].removeprefix('GPO_')} = {value}", constant.get("says")))
    return "\n".join(lines) + "\n"


def commented(abi, line, says):
    if not says:
        return line
    text = texts.plain(abi, says)
    if len(line) + len(text) + 4 <= 120:
        return f"{line}  # {text}"
    return "\n".join([*textwrap.wrap(text, 116, initial_indent="# ", subsequent_indent="# "), line])
