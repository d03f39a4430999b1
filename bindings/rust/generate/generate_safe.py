#!/usr/bin/env python3
"""Makes gpuorch/src/generated.rs from libgpuorch/abi.json: what of the crate is a plain translation of the C interface, with
the sentences of the C headers as documentation.

    generate_safe.py [--check]     with --check nothing is written, and a difference is an error

- Methods: a function whose first parameter is an object, and whose others are numbers, texts, timeouts and other objects,
  is a method of that object. What it writes (numbers, a struct, a text, rows of structs) is the method's value.
- Setters of builders: a number, a text, a time and a flag of a struct of options.
- Kinds of errors, and structs that the library fills.
names.py says where Rust's names differ from C's, and what isn't plain though it looks so.
"""
import json
import pathlib
import re
import sys
import textwrap

import names
from documents import COLUMNS, GENERATED, SIZED, Documents
from names import BUILDERS, INTEGERS, OBJECTS, ONLY, OPAQUE, SETTERS_BY_HAND, camel

ABI = pathlib.Path(__file__).resolve().parents[3] / "libgpuorch/abi.json"


def is_truth(says):
    """Whether a number is 1 or 0, by its description."""
    return bool(re.match(r"1:|1 during|0:.*; 1:", says))


class Method:
    """A plain function. Raises ValueError for others."""

    def __init__(self, function, figures):
        self.function, self.figures = function, figures
        self.c_name = function["name"].removeprefix("gpo_")
        parameters = function["parameters"]
        if function["returns"] != "gpo_status" or function["name"] in names.FUNCTIONS_BY_HAND \
                or not parameters or parameters[0]["type"] not in OBJECTS or parameters[0]["nullable"]:
            raise ValueError
        # A method that promises an entry belongs to the queue of entries.
        at = next((at for at, one in enumerate(parameters) if one["type"] == "gpo_cq_t"), 0)
        self.receiver, self.itself = parameters[at]["type"], parameters[at]["name"]
        self.object = parameters[0]["type"].removeprefix("gpo_").removesuffix("_t")
        self.arguments, self.inputs, self.prepared, self.outputs, self.text = [], [], [], [], None
        self.timeout, self.stream, self.rows, self.times = False, None, None, {}
        for number, parameter in enumerate(parameters):
            if number == at:
                self.arguments.append("self.as_raw()")
            else:
                self.add(parameter)
        name = names.NAMES.get(function["name"])
        if not name:
            name = self.c_name.removeprefix(f"{self.object}_").removeprefix("get_")
            name = f"{name}_{self.object}" if at else name
        self.name = name

    def add(self, parameter):
        name, type_name = parameter["name"], parameter["type"]
        if name in ("buffer", "capacity", "needed", "stride") and (parameter.get("length") or self.text or self.rows):
            if name == "buffer":
                self.text = "text" if type_name == "char *" else "bytes"
            self.arguments.append({"buffer": "buffer.cast()" if self.text == "bytes" else "buffer", "capacity": "room",
                                   "needed": "needed", "stride": "stride"}[name])
        elif parameter["direction"] == "in":
            self.add_input(name, type_name, parameter.get("nullable"))
        elif self.rows and name == "count":
            self.arguments.append("count")
        elif parameter.get("length") == "capacity" and type_name.removesuffix(" *") in self.figures:
            self.rows = self.figures[type_name.removesuffix(" *")]
            self.arguments.append("first.cast()")
        elif type_name.removesuffix(" *") in self.figures and not parameter.get("length"):
            self.outputs.append((name, self.figures[type_name.removesuffix(" *")]))
            self.arguments.append(f"&mut {name}.0")
        elif type_name.removesuffix(" *") in INTEGERS and not parameter.get("length"):
            self.outputs.append((name, INTEGERS[type_name.removesuffix(" *")]))
            self.arguments.append(f"&mut {name}")
        elif type_name == "void **":
            self.outputs.append((name, "*mut std::ffi::c_void"))
            self.arguments.append(f"&mut {name}")
        else:
            raise ValueError

    def add_input(self, name, type_name, nullable):
        if name == "timeout_ns":
            self.timeout = True
            self.arguments.append("TIMEOUT")
        elif name in names.ENUM_PARAMETERS:
            self.inputs.append((name, names.ENUM_PARAMETERS[name]))
            self.arguments.append(f"{name}.into()")
        elif time := names.duration(name, type_name):
            self.times[name] = time[0]
            self.inputs.append((time[0], "Duration"))
            self.arguments.append(f"{time[1]}({time[0]})")
        elif type_name in INTEGERS and not names.is_address(name) and name != "flags":
            self.inputs.append((name, INTEGERS[type_name]))
            self.arguments.append(name)
        elif type_name in OBJECTS and len(OBJECTS[type_name]) == 1 and not OBJECTS[type_name][0][1] and nullable:
            path = OBJECTS[type_name][0][0]
            self.inputs.append((name, f"Option<&crate::{path}>"))
            self.arguments.append(f"{name}.map_or(std::ptr::null_mut(), crate::{path}::as_raw)")
        elif type_name in OBJECTS and len(OBJECTS[type_name]) == 1 and not OBJECTS[type_name][0][1]:
            self.stream = name if type_name == "gpo_stream_t" and self.receiver != "gpo_cq_t" else self.stream
            path = OBJECTS[type_name][0][0]
            self.inputs.append((name, f"&crate::{path}"))
            self.arguments.append(f"{name}.as_raw()")
        elif type_name == "const char *":
            self.inputs.append((name, "Option<&str>" if nullable else "&str"))
            made = "optional_c_string" if nullable else "c_string"
            self.prepared.append(f'let {name} = {made}({name}, "{self.function["name"]}")?;')
            self.arguments.append(f"pointer(&{name})" if nullable else f"{name}.as_ptr()")
        else:
            raise ValueError

    def says(self):
        says = self.function.get("says") or [f"Calls `{self.function['name']}`."]
        for c_name, name in self.times.items():
            says = [text.replace(f"`{c_name}`", f"`{name}`") for text in says]
        if self.is_query():
            return [re.sub("^GPO_SUCCESS: ", "- `true`: ", re.sub("^GPO_NOT_READY: ", "- `false`: ", text)) for text in says]
        return [text for text in says if not (self.text and text.startswith("GPO_BUFFER_TOO_SMALL: "))]

    def is_query(self):
        return self.c_name.endswith("_query") and not self.outputs

    def variants(self):
        """(name, timeout, inputs, says) of each method."""
        if not self.timeout:
            return [(self.name, None, self.inputs, self.says())]
        passed = [text for text in self.says() if text.startswith("GPO_TIMEOUT: ")]
        forever = [re.sub(r" until the timeout(?= on |\.)", "", text) for text in self.says()
                   if text not in (*passed, "Blocks until the timeout.")]
        bounded = [*self.inputs, ("timeout", "Duration")]
        if self.name.endswith("_for"):
            return [(self.name, "nanoseconds(timeout)", bounded, self.says())]
        like = f"Like {self.function['name']}, with a timeout."
        return [(self.name, "FOR_EVER", self.inputs, forever),
                (f"{self.name}_for", "nanoseconds(timeout)", bounded, [like, *passed])]

    def body(self, timeout):
        """(the type of the value, the lines)"""
        arguments = [timeout if argument == "TIMEOUT" else argument for argument in self.arguments]
        called = f"{self.c_name}({', '.join(arguments)})"
        if self.text:
            return {"text": "String", "bytes": "Vec<u8>"}[self.text], [
                *self.prepared, f"{self.text}(", f"    |buffer, room, needed| status!({called}),",
                f'    "{self.function["name"]}",', ")"]
        if self.rows:
            return f"Vec<{self.rows}>", [*self.prepared, f"rows({self.rows}::empty(), |first, stride, room, count| {{",
                                         f"    call!({called})", "})"]
        if self.is_query():
            return "bool", [*self.prepared, f"match status!({called})? {{", "    sys::GPO_SUCCESS => Ok(true),",
                            "    sys::GPO_NOT_READY => Ok(false),",
                            f'    other => Err(failure(other, "{self.function["name"]}")),', "}"]
        if self.outputs:
            begin = [f"let mut {name} = {empty(kind)};" for name, kind in self.outputs]
            names, kinds = (", ".join(one[part] for one in self.outputs) for part in (0, 1))
            several = len(self.outputs) > 1
            return (f"({kinds})" if several else kinds), [*self.prepared, *begin, f"call!({called})?;",
                                                          f"Ok(({names}))" if several else f"Ok({names})"]
        enqueued = self.enqueued()
        if enqueued:
            return f"Enqueued<{enqueued[1]}>", [*self.prepared, f"call!({called})?;", f"Ok(Enqueued {{ {enqueued[0]} }})"]
        return "()", [*self.prepared, f"call!({called})"]

    def enqueued(self):
        """The stream that has got work, and its lifetime."""
        if self.receiver == "gpo_stream_t" and any(kind.startswith("&crate") for _, kind in self.inputs):
            return "stream: self", "'_"
        return ("stream" if self.stream == "stream" else f"stream: {self.stream}", "'s") if self.stream else None

    def text_of(self, documents):
        lines = []
        for name, timeout, inputs, says in self.variants():
            value, body = self.body(timeout)
            lifetime = "<'s>" if value == "Enqueued<'s>" else ""
            given = ", ".join(["&self", *(f"{word}: {kind}" for word, kind in inputs)])
            if lifetime:
                given = given.replace("&crate::Stream", "&'s crate::Stream")
            lines += [*documents.lines(says, 4, self.itself), f"    pub fn {name}{lifetime}({given}) -> Result<{value}> {{",
                      *(f"        {line}" for line in body), "    }", ""]
        return lines


def empty(kind):
    return "std::ptr::null_mut()" if kind.startswith("*") else "0" if kind in INTEGERS.values() else f"{kind}::empty()"


def methods(abi, figures):
    for function in abi["functions"]:
        try:
            yield Method(function, figures)
        except ValueError:
            pass


def figures(abi):
    """{struct: Rust's name} of the structs that the library fills."""
    filled = {parameter["type"].removesuffix(" *") for function in abi["functions"] for parameter in function["parameters"]
              if parameter["direction"] in ("out", "inout")}
    return {struct["name"]: names.FIGURES.get(struct["name"]) or camel(struct["name"].removeprefix("gpo_"))
            for struct in abi["structs"] if struct["name"] in filled and struct["name"] not in names.FIGURES_BY_HAND}


def shown(struct):
    return [field for field in struct["fields"] if not re.match("struct_size$|reserved", field["name"])]


def is_text(field):
    return field["type"] == "char" and "count" in field


def sentence(text):
    return text[:1].upper() + text[1:]


def figure(struct, name, documents):
    fields, opaque = shown(struct), struct["name"] in OPAQUE
    says = struct.get("says") or [f"What {struct['name']} has."]
    says = [*says] if opaque else [*says, f"The fields of {struct['name']}:", *(
        f"- `{field['name']}`" + (f": {field['says']}" if "says" in field else "")
        for field in fields if not is_text(field))]
    lines = ["figures! {", *documents.lines(says, 4), f"    {name}({struct['name']}) {{"]
    for field in filter(is_text, fields):
        lines += [*documents.lines([sentence(field.get("says", f"`{field['name']}`"))], 8), f"        {field['name']},"]
    plain = [field["name"] for field in fields if field["type"] in (*INTEGERS, "double", "gpo_status", "uint8_t")]
    wrapped = textwrap.wrap(", ".join(plain), COLUMNS, initial_indent=" " * 8, subsequent_indent=" " * 8)
    lines += ["    }", "    {", *wrapped, "    }", "}", ""]
    return lines + (accessors(struct, name, documents) if opaque else [])


def accessors(struct, name, documents):
    lines = [f"impl {name} {{"]
    for field in shown(struct):
        says, field_name = field.get("says", ""), field["name"]
        called = OPAQUE[struct["name"]].get(field_name, field_name)
        if is_text(field) or not called:
            continue
        value = f"self.0.{field_name}"
        if "count" in field:
            kind = f"[{'u8' if field['type'] == 'uint8_t' else INTEGERS[field['type']]}; {field['count']}]"
        elif is_truth(says):
            kind, value, says = "bool", f"{value} != 0", re.sub("^1: ", "whether ", says)
        elif "-1: not known" in says:
            kind, value, says = "Option<u32>", f"u32::try_from({value}).ok()", says.replace("-1:", "`None`:")
        elif field["type"] == "int32_t" and field_name != "native_ordinal":
            kind, value = "u32", f"{value} as u32"
        else:
            kind = INTEGERS[field["type"]]
        lines += [*documents.lines([sentence(says or f"`{field_name}`")], 4), f"    pub fn {called}(&self) -> {kind} {{",
                  f"        {value}", "    }", ""]
    return [*lines[:-1], "}", ""]


def enum_of(says):
    """The enum for a number, by its description."""
    found = re.search(r"\bGPO_[A-Z]+_", says)
    return found and found[0] in names.ENUMS and names.ENUMS[found[0]][0].split("::")[-1]


class Setters:
    """The setters of a struct of options."""

    def __init__(self, struct, constants):
        self.struct, self.constants = struct, constants
        self.by_hand = SETTERS_BY_HAND.get(struct["name"], set())
        self.member = "raw" if struct["name"] in names.RAW else "options"

    def flags(self):
        says = next((field.get("says", "") for field in self.struct["fields"] if field["name"] == "flags"), "")
        for name in re.findall(r"GPO_\w+\*?", says):
            for one in self.constants:
                if (one["name"].startswith(name[:-1]) if name.endswith("*") else one["name"] == name) \
                        and one["name"] not in self.by_hand:
                    prefix = name[:-1] if name.endswith("*") else "_".join(name.split("_")[:2]) + "_"
                    setter = names.SETTERS.get(one["name"]) or one["name"].removeprefix(prefix).lower()
                    yield one["name"], setter, one.get("says", "")

    def made(self):
        """(field or flag, setter, its argument or None, the lines of its body, what it says)"""
        lengths = {field.get("length") for field in self.struct["fields"]}
        for field in shown(self.struct):
            name, type_name = field["name"], field["type"]
            says = field.get("says") or names.SAYS.get(name, "")
            if "count" in field or name in self.by_hand or name in lengths or name == "flags" or name.endswith("_stride") \
                    or names.is_address(name):
                continue
            place = f"self.{self.member}.{name}"
            if self.member == "options" and (time := names.duration(name, type_name)):
                yield name, time[0], "Duration", [f"{place} = {time[1]}(%s);"], says
            elif type_name == "uint32_t" and (enum := enum_of(says)):
                yield name, name, enum, [f"{place} = %s.into();"], says
            elif type_name == "uint32_t" and is_truth(says):
                yield name, name, "bool", [f"{place} = u32::from(%s);"], says
            elif type_name in INTEGERS:
                yield name, name, INTEGERS[type_name], [f"{place} = %s;"], says
            elif type_name == "const char *" and self.member == "options":
                kind, kept = ("std::path::PathBuf", "path") if name in names.PATHS else ("String", "text")
                yield name, name, f"impl Into<{kind}>", [f'{place} = self.options.{kept}("{name}", %s.into());'], says
        for flag, name, says in self.flags():
            yield flag, name, None, [f"self.{self.member}.flags |= sys::{flag};"], says

    def blocks(self):
        """{the head of an impl: its setters}"""
        found = {}
        for one in self.made():
            only = ONLY.get((self.struct["name"], one[0]))
            if only:
                one = (*one[:-1], re.sub("^(?:rings?|range|host ring): ", "", one[-1]))
            for head in only or [BUILDERS[self.struct["name"]]]:
                found.setdefault(head, []).append(one)
        return found


def setters(all_setters, documents):
    lines = []
    for one in all_setters:
        for head, made in one.blocks().items():
            lines.append(f"impl{'' if head.startswith('<') else ' '}{head} {{")
            for place, name, argument, body, says in made:
                if argument:
                    text = f"Sets `{name}`{': ' if says else ''}{says}"
                else:
                    text = sentence(says) or f"Sets the flag {place}"
                given = f", {name}: {argument}" if argument else ""
                lines += [*documents.lines([text], 4), f"    pub fn {name}(mut self{given}) -> Self {{",
                          *(f"        {line.replace('%s', name)}" for line in body), "        self", "    }", ""]
            lines[-1:] = ["}", ""]
    return lines


def text(abi):
    own_figures = figures(abi)
    documents = Documents(abi, own_figures)
    own_methods = list(methods(abi, own_figures))
    own_setters = [Setters(struct, abi["constants"]) for struct in abi["structs"] if struct["name"] in BUILDERS]
    for method in own_methods:
        documents.paths[method.function["name"]] = f"{OBJECTS[method.receiver][0][0]}::{method.name}"
    for one in own_setters:
        for head, made in one.blocks().items():
            path = re.search(r"crate::([\w:]+)", re.sub(r"^<.*?> ", "", head))[1]
            documents.paths.update({place: f"{path}::{name}" for place, name, *_ in made if place.startswith("GPO_")})
            documents.paths.setdefault(one.struct["name"].replace("_options", "_create"), f"{path}::build")
    lines = ["kinds! {"]
    for status in abi["statuses"]:
        if status["name"] != "GPO_SUCCESS":
            lines += [*documents.lines([sentence(status["meaning"])], 4),
                      f"    {documents.kinds[status['name']]} = {status['name']},"]
    lines += ["}", ""]
    for prefix, (path, says) in names.ENUMS.items():
        own = [one for one in names.variants(abi) if one[0]["name"].startswith(prefix)]
        lines += ["constants! {", *documents.lines([says], 4),
                  f"    {path.split('::')[-1]}: {'i32' if prefix == 'GPO_LOG_' else 'u32'} {{"]
        for constant, _, variant in own:
            lines += [*documents.lines([sentence(re.sub("^(?:record|pad): ", "", constant.get("says", variant)))], 8),
                      f"        {variant} = {constant['name']},"]
        lines += ["    }", "}", ""]
    for struct in abi["structs"]:
        if struct["name"] in own_figures:
            lines += figure(struct, own_figures[struct["name"]], documents)
    for receiver, objects in OBJECTS.items():
        for path, given in objects:
            made = [line for method in own_methods
                    if method.receiver == receiver and path in names.KINDS_OF_QUEUES.get(method.function["name"], path)
                    for line in method.text_of(documents)]
            if made:
                parameters = re.sub(r": [\w:]+", "", given)
                lines += [f"impl{given} crate::{path}{parameters} {{", *made[:-1], "}", ""]
    lines += setters(own_setters, documents)
    return "\n".join([
        "//! Methods, setters of builders, structs that the library fills, and kinds of errors. Made from",
        "//! libgpuorch/abi.json by bindings/rust/generate/generate_safe.py.", "",
        *imports(lines), "use gpuorch_sys as sys;", "use std::time::Duration;", "", *lines])


def imports(lines):
    code = "\n".join(line for line in lines if not line.lstrip().startswith("///"))
    for module, own in names.USED.items():
        used = [name for name in own if re.search(rf"\b{name}\b", code)]
        if used:
            yield f"use crate::{module}::{used[0] if len(used) == 1 else '{' + ', '.join(used) + '}'};"


def sized(abi):
    """The list of structs that begin with their size, for gpuorch-sys."""
    own = [struct["name"] for struct in abi["structs"] if struct["fields"][0]["name"] == "struct_size"]
    lines = textwrap.wrap(", ".join(own) + ",", 120, initial_indent="    ", subsequent_indent="    ")
    head = "// Made from libgpuorch/abi.json by bindings/rust/generate/generate_safe.py."
    return "\n".join([head, "structs! {", *lines, "}", ""])


def main():
    abi = json.loads(ABI.read_text())
    for path, made in {GENERATED: text(abi), SIZED: sized(abi)}.items():
        if "--check" not in sys.argv:
            path.write_text(made)
        elif not path.exists() or made != path.read_text():
            sys.exit(f"{path.name} is out of date, run {pathlib.Path(__file__).name}")


if __name__ == "__main__":
    main()
