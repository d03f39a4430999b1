"""The tables at the end of ctypes/gpuorch.py: the library's statuses, constants, handles, callbacks, structs and functions.

A row is (name, type, facts). Names and texts are Python's: gpo_stream_options is StreamOptions, and types are as in "u32",
"char *" and "StreamOptions *". Facts are named in the module: class Declared."""
import re
import textwrap

import exceptions

BEGIN = "# Made from abi.json by generate/generate.py, from here to the end.\n"
NUMBERS = {"uint8_t": "u8", "uint32_t": "u32", "int32_t": "i32", "uint64_t": "u64", "int64_t": "i64", "size_t": "size",
           "gpo_status": "status", "float": "f32", "double": "f64"}
# After these calls the program or the GPU may use an object's resources without the module's knowledge, as after a call that
# returns what the library owns.
EXPOSES = ("event_export", "queue_push", "queue_reset", "scheduler_start")
STATUS_LINE = re.compile(r"(GPO_\w+(?:, GPO_\w+)*)((?: \([^)]*\))?: )|Any other status\b")
COLUMNS = 100  # of texts


def short(name):
    return name.removeprefix("gpo_").removeprefix("GPO_")


def camel(name):
    """gpo_stream_options: StreamOptions; gpo_stream_t: Stream; gpo_copy_2d: Copy2d."""
    return "".join(word.capitalize() for word in short(name).removesuffix("_t").split("_"))


def filled(text, hanging="", columns=COLUMNS):
    return textwrap.fill(text, columns, subsequent_indent=hanging, break_long_words=False, break_on_hyphens=False)


class Tables:
    def __init__(self, abi):
        self.data = abi.data
        self.structs = {one["name"]: one for one in self.data["structs"]}
        self.callbacks = {one["name"] for one in self.data["callbacks"]}
        self.types = {*self.data["handles"], *self.structs, *self.callbacks}
        self.released = {one["type"].removesuffix(" *"): one["released_by"][0] for function in self.data["functions"]
                         for one in function["parameters"]
                         if one["type"].removesuffix(" *") in self.data["handles"] and "released_by" in one
                         and function["name"] != "gpo_stream_pool_acquire"}
        self.ends = {name for one in self.data["functions"] + self.data["structs"]
                     for each in one.get("parameters", one.get("fields")) for name in each.get("ended_by", ())}

    def words(self, text):
        """A text of the headers with Python's names."""
        text = re.sub(r"\bgpo_\w+", lambda name: "gpo." + (camel if name[0] in self.types else short)(name[0]), text)
        return re.sub(r"\bGPO_(?=\w)", "", re.sub(r"\bNULL\b", "None", text))

    def kind(self, c_type):
        """A type of C's in short."""
        base, stars = re.fullmatch(r"(\w+)( ?\**)", c_type.replace("const", "").replace(" ", "")).groups()
        return (NUMBERS.get(base) or (camel(base) if base.startswith("gpo_") else base)) + (f" {stars}" if stars else "")

    def has_callbacks(self, c_type):
        """Whether a struct, or what its pointers lead to, has callbacks."""
        struct = self.structs.get(c_type.replace("const", "").replace("*", "").strip(), {"fields": ()})
        return any("ended_by" in one or one["type"].endswith("*") and self.has_callbacks(one["type"])
                   for one in struct["fields"])

    # --- rows ---

    def parameter(self, one, parameters):
        is_text = any(each["name"] == "buffer" for each in parameters)
        lengths = {each["length"] for each in parameters if "length" in each}
        given = one["direction"] == "in" or "length" in one or one["type"] == "void *"
        facts = {}
        if is_text and one["name"] in ("buffer", "capacity"):
            facts["hidden"] = True
        elif not given:
            facts["result"] = True
        elif one.get("nullable") or one["name"] in lengths or one["name"] == "stride":
            facts["optional"] = True
        if given and one["direction"] == "out":
            facts["writes"] = True
        if one["direction"] == "out" and one.get("owner") == "caller":
            facts["made"] = True
        if "length" in one and "hidden" not in facts:
            facts["length"] = one["length"]
        if one["type"] == "const void *const *":
            facts["arguments"] = True
        if "handle" in one:
            facts["any_handle"] = True
        if "called" in one:
            facts["called"] = one["called"]
        if "ended_by" in one:
            facts["ended_by"] = tuple(map(short, one["ended_by"]))
        if "stays_until" in one:
            facts["stays_until"] = self.words(one["stays_until"])
        return self.row(one["name"], one["type"], facts)

    def field(self, struct, one, following):
        facts = {name: one[name] for name in ("count", "length") if name in one}
        length = exceptions.LENGTHS.get((struct["name"], one["name"]))
        if length:
            facts["length"] = length
        if following and following["name"].endswith("_stride"):
            facts["stride"] = following["name"]
        if one["type"] == "void *":
            facts["writes"] = True
        if "ended_by" in one:
            facts["ended_by"] = tuple(map(short, one["ended_by"]))
        if "says" in one:
            facts["says"] = self.words(one["says"])
        return self.row(one["name"], one["type"], facts)

    def row(self, name, c_type, facts):
        return (name, self.kind(c_type), facts) if facts else (name, self.kind(c_type))

    def function_facts(self, one):
        name, parameters = short(one["name"]), one["parameters"]
        yield "offset", one["offset"]
        yield "header", one["header"]
        if name in ("stream_pool_release", *map(short, self.released.values())):
            yield "gives_back", int(name == "stream_pool_release")
        if one["name"] in self.ends:
            yield "ends", True
        if any("called" in each or self.has_callbacks(each["type"]) for each in parameters):
            yield "takes_callbacks", True
        of_library = any(each.get("owner") == "library" for each in parameters)
        if of_library or name in EXPOSES or name.endswith("_get_device_handle"):
            yield "exposes", True
        yield "parameters", tuple(self.parameter(each, parameters) for each in parameters)

    def function_texts(self, one):
        """What a function does, and what it raises."""
        says = [filled(self.words(each), "   " if re.match(r"- |\d+\. ", each) else "")
                for each in one["says"] if not STATUS_LINE.match(each)]
        raises = [filled(self.words(each), "    ", COLUMNS - 4) for each in one["says"]
                  if STATUS_LINE.match(each) and not re.match(r"GPO_(SUCCESS|NOT_READY):", each)]
        yield "says", "\n\n".join(says) or f"See {one['name']} in {one['header']}."
        if raises:
            yield "raises", "\n".join(raises)


# --- the text ---

def text_of(value):
    """A value as Python writes it, with double quotes."""
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, dict):
        return "{" + ", ".join(f"{text_of(name)}: {text_of(one)}" for name, one in value.items()) + "}"
    if isinstance(value, tuple):
        return "(" + ", ".join(map(text_of, value)) + ("," if len(value) == 1 else "") + ")"
    return repr(value)


def row_lines(one):
    """A row in lines: its longest text stands last, and may take several lines."""
    line = f"    {text_of(one)},"
    if len(line) <= COLUMNS + 12:
        return [line]
    name, kind, facts = one
    last = max((word for word in facts if isinstance(facts[word], str)), key=lambda word: len(facts[word]))
    head = "".join(f"{text_of(word)}: {text_of(value)}, " for word, value in facts.items() if word != last)
    parts = textwrap.wrap(facts[last], COLUMNS - 8, drop_whitespace=False, break_long_words=False, break_on_hyphens=False)
    return [f"    ({text_of(name)}, {text_of(kind)}, {{{head}{text_of(last)}: (",
            *(f"        {text_of(part)}" for part in parts[:-1]), f"        {text_of(parts[-1])})}}),"]


def rows(prefix, some, end):
    """Rows in parentheses, in lines."""
    return [prefix + "(", *(line for one in some for line in row_lines(one)), ")" + end]


def fact(name, value):
    """A fact of a function or a struct, in lines."""
    if name in ("parameters", "fields"):
        return rows(f'"{name}": ', value, ",")
    if name in ("says", "raises"):
        text = value.replace("\\", "\\\\").replace('"""', "'''")
        return [f'"{name}": """', *text.splitlines(), '""",']
    return [f"{text_of(name)}: {text_of(value)},"]


def described(name, kind, facts):
    """The row of a function, a struct or a callback, in lines."""
    head, rest = [], []
    for word, value in facts:
        lines = fact(word, value)
        (head if len(lines) == 1 else rest).append(lines)
    first = " ".join(line for lines in head for line in lines)
    return [f'    ("{name}", "{kind}", {{', *([f"        {first}"] if first else []),
            *(f"        {line}" if line else "" for lines in rest for line in lines), "    }),"]


def commented(lines, text):
    return [*textwrap.wrap(text, 122, initial_indent="# ", subsequent_indent="# "), *lines]


def source(abi):
    """The tables."""
    tables, data = Tables(abi), abi.data
    lines = ["", f"VERSION = {data['version']}", f'GET_API = "{data["get_api"]}"', "", "STATUSES = {"]
    for one in data["statuses"]:
        lines.append(f'    "{short(one["name"])}": ({one["value"]}, {text_of(tables.words(one["meaning"]))}),')
    lines += ["}", "", "CONSTANTS = {"]
    lines += [f'    "{short(one["name"])}": {one["value"]},' for one in data["constants"]]
    lines += ["}", "", *commented(["HANDLES = {"], "By handle: the function that gives one back.")]
    lines += [f'    "{camel(name)}": "{short(tables.released[name])}",' for name in data["handles"]]
    lines += ["}", "", "CALLBACKS = ("]
    for one in data["callbacks"]:
        parameters = tuple((each["name"], tables.kind(each["type"])) for each in one["parameters"])
        lines += described(camel(one["name"]), tables.kind(one["returns"]), [
            ("parameters", parameters), ("says", filled(tables.words(" ".join(one.get("says", ())))))])
    lines += [")", "", "STRUCTS = ("]
    for one in data["structs"]:
        fields = tuple(tables.field(one, each, following)
                       for each, following in zip(one["fields"], [*one["fields"][1:], None]))
        says = "\n\n".join(filled(tables.words(each)) for each in one.get("says", [f"A struct of {one['header']}."]))
        lines += described(camel(one["name"]), "struct", [("fields", fields), ("says", says)])
    lines += [")", "", "FUNCTIONS = ("]
    for one in data["functions"]:
        lines += described(short(one["name"]), tables.kind(one["returns"]),
                           [*tables.function_facts(one), *tables.function_texts(one)])
    return "\n".join([*lines, ")"]) + "\n"


def module(abi, text):
    """The module: its part that is written by hand, and the tables."""
    before, found, _ = text.partition(BEGIN)
    if not found:
        raise ValueError(f"ctypes/gpuorch.py has no line {BEGIN!r}")
    return before + BEGIN + source(abi)
