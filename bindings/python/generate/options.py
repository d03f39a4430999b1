"""gpuorch/options.py: the structs that methods take, as types for keyword arguments."""
import re

import calls
import texts

HEAD = '''"""The structs that methods take, with their fields as keyword arguments. Each makes a dict:

    from gpuorch import options

    sum_up = options.Stage(kind=gpuorch.STAGE_KERNEL, kernel=kernel, block=256)
    device.pipeline_create(stages=[sum_up])

A method takes {"kind": gpuorch.STAGE_KERNEL, ...} as well. With the names of this module editors and type checkers know the
fields. Fields that are left out have their defaults.

Made from abi.json by generate/generate.py.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
'''


# Structs whose fields are keyword arguments of methods that are written by hand.
KEYWORDS_OF = {"gpo_runtime_options": "Runtime", "gpo_compile_options": "Device.module_compile",
               "gpo_admission_request": "Admission.enter", "gpo_batcher_request": "Batcher.submit"}


def taken(abi):
    """The structs that methods take, as keyword arguments or inside other structs."""
    structs, found = {struct.id: struct for struct in abi.structs}, set()
    todo = [entry for function in abi.functions for entry in function.parameters if entry.kind in ("STRUCT", "STRUCTS")]
    while todo:
        entry = todo.pop()
        if entry.id not in found:
            found.add(entry.id)
            todo += [field for field in structs[entry.id].visible() if field.kind in ("STRUCT", "STRUCTS")]
    return [struct for struct in abi.structs if struct.id in found]


def uses(abi, struct):
    """Where a struct is taken: "Device.pipeline_create", "`stages` of Device.pipeline_create"."""
    keywords = [KEYWORDS_OF[struct.type]] if struct.type in KEYWORDS_OF else []
    parts = []
    for method in calls.methods(abi):
        name = f"{calls.class_name(abi, 'CLASS_' + method.owner.upper())}.{method.name}" if method.owner else method.name
        if method.options is struct:
            keywords.append(name)
        parts += [f"`{entry.name}` of {name}" for entry in method.given if entry.id == struct.id]
        parts += [f"`{field.name}` of {name}" for field in (method.options.visible() if method.options else ())
                  if field.id == struct.id]
    parts += [f"`{field.name}` of {one.type_name}" for one in abi.structs for field in one.visible()
              if field.id == struct.id]
    return keywords, parts


def described(abi, struct):
    """What a struct is, or where it is taken."""
    if struct.says:
        return " ".join(texts.plain(abi, texts.sentences(one)) for one in struct.says)
    keywords, parts = uses(abi, struct)
    return f"Keyword arguments of {', '.join(keywords)}." if keywords else f"For {parts[0]}."


def class_lines(abi, struct):
    says = described(abi, struct)
    lines = ["", "", f"class {struct.type_name}(TypedDict, total=False):", *texts.wrapped(says, "    ", '    """'), ""]
    for field in struct.visible():
        lines += texts.wrapped(texts.field(abi, field), "      ", "    ")
    lines.append('    """')
    lines += [f"    {field.name}: {calls.field_type(abi, field).replace('options.', '')}" for field in struct.visible()]
    return [line.replace("\\", "\\\\") for line in lines]


def source(abi):
    lines = [line for struct in taken(abi) for line in class_lines(abi, struct)]
    used = set(re.findall(r"\w+", " ".join(line for line in lines if re.match(r"    \w+: .*\bNone$", line))))
    collections = [name for name in ("Callable", "Mapping", "Sequence") if name in used]
    classes = sorted({one.type_name for one in abi.classes} | {"Error"} | {"_CFunction", "_Device", "_Host", "_Settings"})
    imported = calls.joined("    from . import (", [*(name for name in classes if name in used), "records"], ")")
    return HEAD + "\n".join([f"    from collections.abc import {', '.join(collections)}", "", *imported, *lines]) + "\n"
