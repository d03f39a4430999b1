"""gpuorch/__init__.pyi: the types of the package, from by_hand.pyi and abi.json; gpuorch/records.py and .pyi: the
structs that methods return; gpuorch/_gpuorch.pyi: the extension."""
import pathlib
import re

import calls
import texts

BY_HAND = pathlib.Path(__file__).resolve().parent / "by_hand.pyi"
MADE = "Made from abi.json by generate/generate.py."


def hand_written(abi):
    """(what stands before the classes of objects, {class: its lines}), with the fields of options filled in: {options} as
    keyword arguments, {options,} behind others that are keyword arguments already."""
    options = {struct.name: struct for struct in abi.structs}
    text = re.sub(r"\A(#.*\n)+", "", BY_HAND.read_text())

    def keywords(match):
        struct = options[match[1]]
        given = [field for field in struct.visible() if not (struct.name == "compile_options" and field.name == "source")]
        text = ", ".join(f"{field.name}: {calls.field_type(abi, field)} = ..." for field in given)
        return text if match[2] else "*, " + text

    text = re.sub(r"\{(\w+)(,?)\}", keywords, text)
    head, classes, now = [], {}, None
    names = {one.type_name for one in abi.classes}
    for line in text.splitlines():
        match = re.match(r"class (\w+):", line)
        if match and match[1] in names:
            now = classes[match[1]] = []
        elif now is None:
            head.append(line)
        elif line:
            now.append(line)
    return head, classes


def package(abi):
    head, classes = hand_written(abi)
    lines = [f"# The types of the package. {MADE}", *head]
    for status in abi.data["statuses"][1:]:
        base = {"GPO_TIMEOUT": "Error, TimeoutError", "GPO_OUT_OF_MEMORY": "Error, MemoryError"}.get(status["name"], "Error")
        lines.append(f"class {texts.exception(status['name'])}({base}): ...")
    all_methods = calls.methods(abi)
    for one in abi.classes:
        mine = classes.get(one.type_name, [])
        defined = set(re.findall(r"def (\w+)\(", "\n".join(mine)))
        body = [*mine, *(line for method in all_methods if method.owner == one.name and method.name not in defined
                         for line in method.stub())]
        lines += ["", f"class {one.type_name}(Handle):", *(body or ["    ..."])]
    lines.append("")
    for method in all_methods:
        if not method.owner:
            lines += method.stub("")
    return "\n".join([wrapped for line in lines for wrapped in shorter(line)]) + "\n"


def shorter(line):
    """A definition that is longer than a line, in several."""
    if len(line) <= 120 or "(" not in line:
        return [line]
    begin, end = line.index("(") + 1, line.rindex(")")
    parts = re.split(r", (?=\*?\w+(?:: |,)|\*(?:,|$)|/)", line[begin:end])
    return calls.joined(line[:begin], parts, line[end:])


def records_stub(abi):
    lines = [f"# The structs that methods return, as named tuples. {MADE}", "from typing import Any", "",
             "from . import Error, Template", ""]
    for struct in abi.structs:
        if struct.id not in abi.records:
            continue
        lines.append(f"class {struct.type_name}(tuple[Any, ...]):")
        for field in struct.visible():
            method = "  # type: ignore[override]" if field.name in ("count", "index") else ""   # tuples have such methods
            lines += ["    @property", f"    def {field.name}(self) -> {record_type(abi, struct, field)}: ...{method}"]
        lines.append("")
    return "\n".join(lines)


def record_type(abi, struct, field):
    kind = field.kind
    if struct.name == "host_call" and field.name == "error":
        return "Error | None"
    if kind == "HANDLE" and field.name == "graph_template":
        return "Template | None"
    if struct.name == "chunk" and kind == "POINTER":
        return "memoryview | int | None"
    if kind in ("TEXT", "TEXT_ARRAY"):
        return "str" if kind == "TEXT_ARRAY" else "str | None"
    if kind in ("BYTE_ARRAY", "VALUE"):
        return "bytes"
    if kind == "NUMBER_ARRAY":
        return "tuple[int, ...]"
    if kind in ("F32", "F64"):
        return "float"
    if kind == "STRUCTS":
        return f"list[{calls.record_name(abi, field.id)}]"
    return "Any" if kind in ("STRUCT", "POINTER") else "int"


def records(abi):
    return (f'"""The types of the structs that methods return: `from gpuorch.records import StreamInfo`. Each is a tuple\n'
            f'whose elements have names.\n\n{MADE}\n"""\n'
            'from ._gpuorch import record_type as _record_type\n\n\n'
            'def __getattr__(name):\n'
            '    try:\n'
            '        return _record_type(name)\n'
            '    except KeyError:\n'
            '        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None\n')


def extension(abi):
    return (f"# The extension, of which gpuorch's modules are made. {MADE}\nfrom typing import Any\n\n"
            "def __getattr__(name: str) -> Any: ...\n")
