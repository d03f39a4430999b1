"""The contents of abi.json in the form that the tables need. Each parameter and each field gets a kind. Values that follow
from others (lengths, strides, `user`, sizes) are hidden. exceptions.py adds facts that abi.json can't express."""
import json
import keyword

import exceptions

NUMBERS = {"uint8_t": "U8", "uint32_t": "U32", "int32_t": "I32", "uint64_t": "U64", "int64_t": "I64", "size_t": "SIZE",
           "gpo_status": "STATUS", "float": "F32", "double": "F64"}
UNSIGNED, SIGNED, REAL = {"U8", "U32", "U64", "SIZE"}, {"I32", "I64", "STATUS"}, {"F32", "F64"}


def snake(type_):
    return type_.removeprefix("gpo_").removesuffix("_t")


def bare(type_):
    """The type without const and one pointer: `const gpo_x *` and `const gpo_x_t *` are gpo_x and gpo_x_t."""
    return type_.removesuffix("*").strip().removeprefix("const ").strip()


def python_name(name):
    return name + "_" if keyword.iskeyword(name) else name


class Class:
    def __init__(self, handle, functions):
        self.handle, self.name = handle, snake(handle)
        self.type_name = exceptions.CLASS_NAMES.get(self.name, "".join(w.capitalize() for w in self.name.split("_")))
        self.id = "CLASS_" + self.name.upper()
        releasing = [name for function in functions for p in function["parameters"]
                     if p["type"] == handle + " *" and "released_by" in p for name in p["released_by"]]
        self.destroy = next(name for name in releasing if name.endswith(("_destroy", "_close", "_shutdown")))


class Entry:
    """A field or a parameter. `kind` and `element` are enum value_kind without KIND_, `id` a class, struct or callback."""

    def __init__(self, name, kind="POINTER", element="NONE", identity="0", hidden=False):
        self.name, self.kind, self.element, self.id, self.hidden = name, kind, element, identity, hidden
        self.length = self.stride = self.user = None   # names of others
        self.flags = set()
        self.default = None                            # None: has to be given. Else the text of a value of Python's


class Abi:
    def __init__(self, path):
        self.data = json.loads(path.read_text())
        self.classes = [Class(handle, self.data["functions"]) for handle in self.data["handles"]]
        self.class_of = {one.handle: one for one in self.classes}
        self.callbacks = [callback["name"] for callback in self.data["callbacks"]]
        self.structs = [Struct(self, struct) for struct in self.data["structs"]]
        self.struct_of = {struct.type: struct for struct in self.structs}
        self.functions = [Function(self, function) for function in self.data["functions"]]
        self.records = self.structs_of_results()
        self.names = self.python_names()

    def structs_of_results(self):
        """The ids of structs that methods return, or that callbacks get."""
        found = {entry.id for function in self.functions for entry in function.parameters
                 if entry.kind.startswith("OUT_STRUCT")}
        found |= {self.struct_id(bare(one["type"])) for callback in self.data["callbacks"] for one in callback["parameters"]
                  if self.is_struct(bare(one["type"]))}
        found |= {self.struct_id(name) for name in ("gpo_batch_request", "gpo_setting")}  # elements of these
        return found - {"STRUCT_ERROR"}  # a failure is an exception

    def python_names(self):
        """What texts call the functions, classes and structs: Stream.wait, Stream, options.StreamOptions."""
        classes = {one.name: one.type_name for one in self.classes}
        names = {one.full: f"{classes[one.owner]}.{one.method}" if one.owner else one.method for one in self.functions}
        names |= {one.destroy: f"{one.type_name}.close" for one in self.classes}
        names |= {one.handle: one.type_name for one in self.classes}
        names |= {one.type: ("records." if one.id in self.records else "options.") + one.type_name for one in self.structs}
        return {**names, **exceptions.NAMES}

    def is_struct(self, type_):
        return any(struct["name"] == type_ for struct in self.data["structs"])

    def struct_id(self, type_):
        return "STRUCT_" + snake(type_).upper()

    def callback_id(self, type_):
        return "CALLBACK_" + type_.removeprefix("gpo_").removesuffix("_fn").upper()


class Struct:
    def __init__(self, abi, struct):
        self.abi, self.type, self.name, self.size = abi, struct["name"], snake(struct["name"]), struct["size"]
        self.id, self.says = abi.struct_id(self.type), struct.get("says", [])
        self.header = struct["header"]
        self.type_name = "".join(word.capitalize() for word in self.name.split("_"))
        self.fields = [self.field(struct, field) for field in struct["fields"]]
        named = {field.name_in_c: field for field in self.fields}
        for field in self.fields:
            for other in (field.length, field.stride, field.user):
                if other and (self.type, other) not in exceptions.SHOWN_LENGTHS:
                    named[other].hidden = True

    def visible(self):
        return [field for field in self.fields if not field.hidden]

    def field(self, struct, field):
        type_, name = field["type"], field["name"]
        key = (self.type, name)
        entry = Entry(python_name(exceptions.FIELD_NAMES.get(key, name)))
        entry.name_in_c, entry.offset, entry.size, entry.count = name, field["offset"], field["size"], field.get("count", 0)
        entry.says, entry.type = field.get("says", ""), type_
        entry.length = exceptions.LENGTHS.get(key, field.get("length"))
        names = {other["name"] for other in struct["fields"]}
        # task_costs has cost_stride, stages has stage_stride
        stem = entry.length.removesuffix("_count") if entry.length else ""
        for stride in (f"{stem}_stride", "member_stride" if name == "members" else ""):
            if stem and stride in names:
                entry.stride = stride
        entry.hidden = name == "struct_size" or name.startswith("reserved") or key in exceptions.HIDDEN_FIELDS
        if name == "struct_size":
            entry.flags.add("STRUCT_SIZE")
        self.classify(entry, key, names)
        return entry

    def classify(self, entry, key, names):
        abi, type_, name = self.abi, entry.type, entry.name_in_c
        if entry.count:
            entry.kind = {"char": "TEXT_ARRAY", "uint8_t": "BYTE_ARRAY"}.get(type_, "NUMBER_ARRAY")
            entry.element = NUMBERS.get(type_, "U8")
        elif type_ == "uint64_t" and (name in exceptions.ADDRESS_NAMES or key in exceptions.ADDRESS_FIELDS):
            entry.kind = "ADDRESS"
        elif type_ in NUMBERS:
            entry.kind = NUMBERS[type_]
        elif type_ == "const char *":
            entry.kind = "TEXT"
        elif type_ in abi.class_of:
            entry.kind, entry.id = "HANDLE", abi.class_of[type_].id
        elif type_ in abi.callbacks:
            entry.kind, entry.id = "CALLBACK", abi.callback_id(type_)
            entry.user = next((user for user in (name + "_user", "user") if user in names), None)
        elif bare(type_) in abi.class_of:
            entry.kind, entry.id = "HANDLES", abi.class_of[bare(type_)].id
        elif abi.is_struct(bare(type_)):
            entry.kind, entry.id = "STRUCTS" if entry.length else "STRUCT", abi.struct_id(bare(type_))
        elif type_ == "const char *const *":
            entry.kind = "HEADERS" if name == "header_names" else "TEXTS"
        elif type_ == "const void *const *":
            entry.kind = "ARGUMENTS"
        elif entry.length and bare(type_) in NUMBERS:
            entry.kind, entry.element = "NUMBERS", NUMBERS[bare(type_)]
        elif key in (("gpo_setting", "value"), ("gpo_stage_argument", "value")):
            entry.kind = "VALUE"
        elif key in (("gpo_batcher_request", "input"), ("gpo_join_options", "id")) or entry.length and "const" in type_:
            entry.kind = "HOST_IN"
        elif key in (("gpo_batcher_request", "output"), ("gpo_batcher_request", "output_made")) or entry.length:
            entry.kind = "HOST_OUT"
        else:
            entry.kind = "POINTER"


class Function:
    def __init__(self, abi, function):
        self.abi, self.full, self.name = abi, function["name"], function["name"].removeprefix("gpo_")
        self.says, self.returns, self.header = function["says"], function["returns"], function["header"]
        self.c_parameters = function["parameters"]
        self.flags = set()
        if self.full in exceptions.KEEPS_GIL or "_get_" in self.full and self.full not in exceptions.GET_RELEASES_GIL:
            self.flags.add("KEEPS_GIL")
        if self.full in exceptions.KEEPING:
            self.flags.add("KEEPS")
        if self.name.endswith("_query"):
            self.flags.add("QUERY")
        if self.full in exceptions.STREAM_KEEPING:
            self.flags.add("STREAM_KEEPS")
        if self.full in ("gpo_last_error", "gpo_object_get_error", "gpo_cq_get_error"):
            self.flags.add("FAILURE")
        if self.full in [one.destroy for one in abi.classes] + ["gpo_stream_pool_release"]:
            self.flags.add("DESTROYS")
        if self.full in exceptions.TAKING:
            self.flags.add("TAKES")
        self.parameters = [self.parameter(p) for p in function["parameters"]]
        if self.returns == "const char *":
            self.parameters.append(Entry("text", "OUT_STATIC_TEXT"))
        if self.returns == "uint32_t":
            self.parameters.append(Entry("number", "OUT_NUMBER", "U32"))
        for entry in self.parameters:
            entry.name_in_c = getattr(entry, "name_in_c", entry.name)
        self.hide()
        first = self.parameters[0] if self.parameters else None
        self.owner = exceptions.OWNERS.get(self.full)
        self.has_self = self.owner is None and first is not None and first.kind == "HANDLE" and first.id != "CLASS_ANY"
        if self.has_self:
            self.owner = first.id.removeprefix("CLASS_").lower()
        self.method = self.method_name()

    def method_name(self):
        """gpo_event_get_elapsed is event.elapsed(), gpo_trace_get_info runtime.trace_info(), as in Lua."""
        if self.owner and self.name.startswith(f"{self.owner}_"):
            rest = self.name.removeprefix(f"{self.owner}_")
        else:
            rest = self.name.replace("_get_", "_", 1)
        return exceptions.METHODS.get(self.full) or rest.removeprefix("get_")

    def named(self, name):
        return next((entry for entry in self.parameters if entry.name_in_c == name), None)

    def parameter(self, p):
        abi, type_, name, direction = self.abi, p["type"], p["name"], p["direction"]
        entry = Entry(python_name(name))
        entry.name_in_c, entry.type, entry.length = name, type_, p.get("length")
        key = (self.full, name)
        if p.get("nullable"):
            entry.flags.add("NULLABLE")
        if p.get("stays_until") == "the stream has got past the copy":
            entry.flags.add("STREAM_KEEPS")
        if direction != "in":
            self.output(entry, p, key)
            return entry
        if name == "timeout_ns":
            entry.kind, entry.name, entry.default = "TIMEOUT", "timeout", "None"
        elif key in exceptions.OPTIONAL or name == "user_data":
            entry.default = str(exceptions.OPTIONAL.get(key, 0))
        if entry.kind == "TIMEOUT":
            pass
        elif p.get("handle") == "any":
            entry.kind, entry.id = "HANDLE", "CLASS_ANY"
        elif type_ in abi.class_of:
            entry.kind, entry.id = "HANDLE", abi.class_of[type_].id
        elif type_ == "uint64_t" and name in exceptions.ADDRESS_PARAMETERS:
            entry.kind = "ADDRESS"
        elif type_ in NUMBERS:
            entry.kind = NUMBERS[type_]
        elif type_ == "const char *":
            entry.kind = "TEXT"
        elif type_ in abi.callbacks:
            entry.kind, entry.id = "CALLBACK", abi.callback_id(type_)
        elif bare(type_) in abi.class_of:
            entry.kind, entry.id = "HANDLES", abi.class_of[bare(type_)].id
        elif abi.is_struct(bare(type_)):
            entry.kind, entry.id = "STRUCTS" if entry.length else "STRUCT", abi.struct_id(bare(type_))
        elif type_ == "const void *const *":
            entry.kind = "ARGUMENTS"
        elif entry.length and bare(type_) in NUMBERS:
            entry.kind, entry.element = "NUMBERS", NUMBERS[bare(type_)]
        elif key in exceptions.TASKS:
            entry.kind = "TASKS"
        elif self.full in ("gpo_graph_set", "gpo_graph_set_parameter"):
            entry.kind = "VALUE"
        elif entry.length:
            entry.kind = "HOST_IN" if "const" in type_ else "HOST_OUT"
        elif name == "user":
            entry.kind = "USER"
        elif name == "memory":
            entry.kind = "HOST_ADDRESS"
        else:
            entry.kind = "POINTER"
        if "NULLABLE" in entry.flags and entry.default is None:
            entry.default = "None"
        return entry

    def output(self, entry, p, key):
        abi, type_ = self.abi, p["type"]
        pointed = bare(type_)
        if pointed in abi.class_of:
            entry.kind, entry.id = "OUT_HANDLES" if entry.length else "OUT_HANDLE", abi.class_of[pointed].id
        elif abi.is_struct(pointed):
            entry.kind, entry.id = "OUT_STRUCTS" if entry.length else "OUT_STRUCT", abi.struct_id(pointed)
        elif type_ == "void **":
            entry.kind = "OUT_POINTER"
        elif pointed in NUMBERS and not entry.length:
            entry.kind, entry.element = "OUT_NUMBER", NUMBERS[pointed]
            if key in exceptions.TRUTHS:
                entry.kind = "OUT_TRUTH"
        elif entry.length == "capacity":
            entry.kind = "OUT_TEXT" if type_ == "char *" else "OUT_BYTES"
        elif "STREAM_KEEPS" in entry.flags:
            entry.kind = "HOST_OUT"
        elif entry.length:
            entry.kind = "OUT_VALUE"
        elif self.full == "gpo_queue_take":
            entry.kind = "OUT_ANSWERS"
        else:
            raise ValueError(f"{self.full}: {type_} {entry.name}")

    def hide(self):
        """Hides what follows from other parameters, and gives the rest its defaults."""
        for entry in self.parameters:
            length = self.named(entry.length) if entry.length else None
            if entry.kind.startswith("OUT_") and entry.kind not in ("OUT_VALUE",):
                entry.hidden = True
            if entry.kind == "OUT_HANDLE" and "NULLABLE" in entry.flags:
                entry.hidden, entry.default = False, "False"   # asked for by True
            if length and entry.kind != "OUT_HANDLES":
                length.hidden = True
                if entry.kind == "OUT_VALUE":
                    length.hidden, length.default, entry.hidden = False, "None", True
                if entry.kind == "OUT_STRUCTS":
                    length.hidden, length.default = "TAKES" not in self.flags, str(exceptions.CAPACITIES[self.full])
            if entry.kind in ("STRUCTS", "OUT_STRUCTS"):
                entry.stride = "stride"
                self.named("stride").hidden = True
            if entry.kind == "OUT_STRUCTS":
                self.named("count").hidden, self.named("count").kind = True, "COUNT"
            if entry.kind in ("OUT_TEXT", "OUT_BYTES"):
                self.named("needed").hidden, self.named("needed").kind = True, "NEEDED"
            if entry.kind == "CALLBACK":
                entry.user = "user"
                self.named("user").hidden = True
            if entry.kind == "ARGUMENTS":
                self.named("sizes").hidden, self.named("sizes").kind = True, "SIZES"
                entry.stride = "sizes"      # the field's place for what belongs to it
            if entry.kind == "TASKS":
                entry.length, self.named("count").default = "count", "None"
            if entry.kind == "OUT_STRUCT":
                entry.hidden = True
        if self.full in ("gpo_copy_on_device", "gpo_copy_peer"):
            self.named("bytes").default = "None"

    def visible(self):
        return [entry for entry in self.parameters if not entry.hidden]

    def results(self):
        wanted = [entry for entry in self.parameters if entry.kind.startswith("OUT_")]
        return wanted

    def index(self, name):
        return next((i for i, entry in enumerate(self.parameters) if entry.name_in_c == name), -1) if name else -1
