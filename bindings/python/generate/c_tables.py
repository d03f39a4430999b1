"""src/tables.h and src/tables.c: the library's classes, structs and functions as tables of C."""
import re

KINDS = ["NONE", "U8", "U32", "I32", "U64", "I64", "SIZE", "STATUS", "F32", "F64",
         ("TEXT", "const char *, a str"), ("TEXT_ARRAY", "char[n]"), ("BYTE_ARRAY", "uint8_t[n]"),
         ("NUMBER_ARRAY", "uint32_t[n], uint64_t[n]"), ("ADDRESS", "uint64_t, an address of device memory or an object"),
         ("HANDLE", "id: its class"), ("HANDLES", "an array of them"), ("STRUCT", "a pointer to a struct; id: which"),
         ("STRUCTS", "an array of structs, `stride` bytes apart"), ("NUMBERS", "an array of numbers; element: their kind"),
         ("TEXTS", "const char *[n]"), ("HEADERS", "names, and texts in the field behind"),
         ("ARGUMENTS", "a kernel's arguments, and their sizes"), ("VALUE", "the bytes of one value"),
         ("TASKS", "tasks of a queue"), ("HOST_IN", "host memory that is read"), ("HOST_OUT", "host memory that is written"),
         ("HOST_ADDRESS", "the address of host memory"), ("POINTER", "any pointer, an int"),
         ("CALLBACK", "id: which function"), ("USER", "what a callback gets"), ("TIMEOUT", "int64_t, seconds in Python"),
         ("SIZES", "sizes of arguments"), ("COUNT", "how many were written"), ("NEEDED", "how much there is"),
         ("OUT_NUMBER", "element: its kind"), ("OUT_TRUTH", "1 or 0"), ("OUT_POINTER", "void *"),
         ("OUT_HANDLE", "a new one"),
         ("OUT_HANDLES", "several new ones"), "OUT_STRUCT", "OUT_STRUCTS", ("OUT_TEXT", "char[capacity], asked for twice"),
         ("OUT_BYTES", "the same for void *"), ("OUT_VALUE", "the bytes of one value"), ("OUT_ANSWERS", "of a queue"),
         ("OUT_STATIC_TEXT", "what the function returns")]
FIELD_FLAGS = ["HIDDEN", "NULLABLE", "STRUCT_SIZE", "STREAM_KEEPS", "OPTIONAL"]
# Flags of a function: the GIL stays; the first object keeps the others; NOT_READY is False; the struct that is
# written is an exception; the object is closed; elements are taken away; memory stays until work on streams is done.
FUNCTION_FLAGS = ["KEEPS_GIL", "KEEPS", "QUERY", "FAILURE", "DESTROYS", "TAKES", "STREAM_KEEPS"]

HEAD = """/* {name}: {says}
 * Made from abi.json by generate/generate.py. */
"""


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def enum(name, members, lines):
    lines.append(f"enum {name} {{")
    for member in members:
        comment = ""
        if isinstance(member, tuple):
            member, comment = member[0], f" /* {member[1]} */"
        lines.append(f"    {member},{comment}")
    lines += ["};", ""]


def header(abi):
    lines = [HEAD.format(name="tables.h", says="the library's classes, structs and functions, as tables for marshal.c."),
             "#ifndef GPUORCH_PYTHON_TABLES_H", "#define GPUORCH_PYTHON_TABLES_H", "",
             "#include <gpuorch/gpuorch.h>", "#include <stdint.h>", ""]
    enum("class_id", [one.id for one in abi.classes] + ["CLASS_COUNT", ("CLASS_ANY", "a parameter that takes all")], lines)
    enum("struct_id", [one.id for one in abi.structs] + ["STRUCT_COUNT"], lines)
    enum("callback_id", [abi.callback_id(name) for name in abi.callbacks] + ["CALLBACK_COUNT"], lines)
    enum("function_id", ["FUNCTION_" + one.name.upper() for one in abi.functions] + ["FUNCTION_COUNT"], lines)
    enum("value_kind", [("KIND_" + kind[0], kind[1]) if isinstance(kind, tuple) else "KIND_" + kind for kind in KINDS],
         lines)
    enum("entry_flag", [f"ENTRY_{flag} = {1 << i}" for i, flag in enumerate(FIELD_FLAGS)], lines)
    enum("function_flag", [f"FUNCTION_{flag} = {1 << i}" for i, flag in enumerate(FUNCTION_FLAGS)], lines)
    lines.append(TYPES)
    return "\n".join(lines) + "\n"


TYPES = """\
/* A field of a struct. `length`, `stride` and `user` are the places of fields that belong to it, or -1. */
typedef struct field_entry {
    const char *name;      /* Python's */
    uint16_t offset, size; /* bytes */
    uint16_t count;        /* elements of an array, else 0 */
    uint8_t kind, element; /* enum value_kind */
    uint8_t flags;         /* enum entry_flag */
    uint8_t id;            /* enum class_id, struct_id or callback_id */
    int8_t length, stride, user;
} field_entry;

typedef struct struct_entry {
    const char *name;      /* "stream_info" */
    const char *type_name; /* "StreamInfo" */
    uint32_t size;         /* bytes */
    uint32_t count;        /* of fields */
    const field_entry *fields;
} struct_entry;

extern const struct_entry struct_entries[STRUCT_COUNT];

/* An argument of a C function. */
typedef union word {
    void *p;
    uint64_t u;
    int64_t i;
    double d;
    void (*f)(void);
} word;

/* A parameter of a function. `length`, `stride` and `user` are the places of parameters that belong to it, or -1. */
typedef struct parameter_entry {
    const char *name;      /* Python's */
    int64_t value;         /* the value of an optional number that isn't given */
    uint8_t kind, element; /* enum value_kind */
    uint8_t flags;         /* enum entry_flag */
    uint8_t id;            /* enum class_id, struct_id or callback_id */
    int8_t length, stride, user;
} parameter_entry;

typedef struct function_entry {
    const char *name; /* without gpo_ */
    gpo_status (*call)(const gpo_api *api, word *a);
    const parameter_entry *parameters;
    uint8_t count;    /* of parameters; a result that C returns is one, too */
    uint8_t flags;    /* enum function_flag */
    uint32_t least;   /* bytes of gpo_api that have the function */
    const char *doc;  /* the signature; _calls.py has the descriptions */
} function_entry;

extern const function_entry function_entries[FUNCTION_COUNT];

typedef struct class_entry {
    const char *name;      /* "stream" */
    const char *type_name; /* "Stream" */
    /* Destroys, closes or, for a runtime, shuts down with a timeout of 0. */
    gpo_status (*destroy)(const gpo_api *api, void *handle);
} class_entry;

extern const class_entry class_entries[CLASS_COUNT];

#endif"""


def flags(prefix, names):
    return " | ".join(sorted(prefix + name for name in names)) or "0"


# Rows of the tables: plain rows, rows with flags or an id, and rows with all values of an entry.
MACROS = """\
#define ROW(...) {__VA_ARGS__}
#define FIELD(name, offset, size, kind) ROW(name, offset, size, 0, KIND_##kind, KIND_NONE, 0, 0, -1, -1, -1)
#define FIELD_OF(name, offset, size, kind, flags, id) \\
    ROW(name, offset, size, 0, KIND_##kind, KIND_NONE, flags, id, -1, -1, -1)
#define STRUCT_SIZE FIELD_OF("struct_size", 0, 4, U32, ENTRY_HIDDEN | ENTRY_STRUCT_SIZE, 0)
#define GIVEN(name, kind) ROW(name, 0, KIND_##kind, KIND_NONE, 0, 0, -1, -1, -1)
#define GIVEN_OF(name, kind, flags, id) ROW(name, 0, KIND_##kind, KIND_NONE, flags, id, -1, -1, -1)
#define COUNT(array) (sizeof(array) / sizeof *(array))
#define STRUCT(name, type_name) ROW(#name, type_name, sizeof(gpo_##name), COUNT(fields_of_##name), fields_of_##name)
#define CALL(name) static gpo_status call_##name(const gpo_api *api, word *a)
#define FUNCTION(name, flags, signature) \\
    ROW(#name, call_##name, given_to_##name, COUNT(given_to_##name), flags, \\
        offsetof(gpo_api, name) + sizeof(void *), #name signature "\\n--\\n\\n")
#define DESTROY(name, function, ...) \\
    static gpo_status destroy_##name(const gpo_api *api, void *handle) { return api->function(__VA_ARGS__); }
#define CLASS(name, type_name) ROW(#name, type_name, destroy_##name)
"""


def row(prefix, name, before, entry, wanted, places, value=None):
    """A row of a table, as a macro where the rest is as usual."""
    wanted, middle = flags("ENTRY_", wanted), "".join(f"{number}, " for number in before)
    others = places != [-1, -1, -1] or entry.element != "NONE" or value not in (None, "0") or getattr(entry, "count", 0)
    if others:
        before = [*before, *([entry.count] if value is None else [value])]
        rest = [f"KIND_{entry.kind}", f"KIND_{entry.element}", wanted, entry.id, *places]
        return f'    {{"{name}", {", ".join(map(str, [*before, *rest]))}}},'
    if wanted == "0" and entry.id == "0":
        return f'    {prefix}("{name}", {middle}{entry.kind}),'
    return f'    {prefix}_OF("{name}", {middle}{entry.kind}, {wanted}, {entry.id}),'


def field_row(struct, field):
    place = {one.name_in_c: i for i, one in enumerate(struct.fields)}
    wanted = set(field.flags) | ({"HIDDEN"} if field.hidden else set())
    if field.name == "struct_size":
        return "    STRUCT_SIZE,"
    places = [place.get(other, -1) for other in (field.length, field.stride, field.user)]
    return row("FIELD", field.name, [field.offset, field.size], field, wanted, places)


def passed(parameter, i):
    """Argument i of C's function, from its word."""
    type_ = parameter["type"]
    if type_.endswith("_fn"):
        return f"({type_})a[{i}].f"
    if type_ in ("int32_t", "int64_t", "gpo_status"):
        return f"({type_})a[{i}].i" if type_ != "int64_t" else f"a[{i}].i"
    if type_ in ("uint32_t", "uint64_t", "size_t"):
        return f"({type_})a[{i}].u" if type_ == "uint32_t" else f"a[{i}].u"
    return f"a[{i}].p"


def trampoline(function):
    arguments = ", ".join(passed(p, i) for i, p in enumerate(function.c_parameters))
    call = f"api->{function.name}({arguments})"
    last = len(function.c_parameters)
    if function.returns == "const char *":
        body = [f"a[{last}].p = (void *){call};", "return GPO_SUCCESS;"]
    elif function.returns == "uint32_t":
        body = [f"*(uint32_t *)a[{last}].p = {call};", "return GPO_SUCCESS;"]
    else:
        body = [f"return {call};"]
    text = f"CALL({function.name}) {{ {' '.join(body)} }}"
    if len(text) <= 120:
        return [text]
    return [f"CALL({function.name}) {{", *(part for line in body for part in split(f"    {line}")), "}"]


def split(line):
    """A call that is longer than a line, in several."""
    if len(line) <= 118:
        return [line]
    begin = line.index("(") + 1
    parts, lines, now = line[begin:].split(", "), [], line[:begin]
    for i, part in enumerate(parts):
        part += ", " if i < len(parts) - 1 else ""
        if len(now + part.rstrip()) > 118:
            lines.append(now.rstrip())
            now = " " * begin
        now += part
    return [*lines, now]


def parameter_row(function, entry, constants):
    wanted = set(entry.flags) | ({"HIDDEN"} if entry.hidden else set())
    if entry.default is not None and not entry.hidden:
        wanted.add("OPTIONAL")
    value = entry.default if entry.default not in (None, "None", "False") else "0"
    value = str(constants.get("GPO_" + value, value))
    places = [function.index(other) for other in (entry.length, entry.stride, entry.user)]
    return row("GIVEN", entry.name, [], entry, wanted, places, value)


def signature(function, constants):
    """Python's parameters of a builtin, as help() reads them."""
    parts = ["$module"]
    required = [i for i, entry in enumerate(function.visible()) if entry.default is None]
    last = required[-1] if required else -1
    for i, entry in enumerate(function.visible()):
        default = entry.default
        if default is not None and i >= last:
            default = constants.get(f"GPO_{default}", default)
            parts.append(f"{entry.name}={default}")
        else:
            parts.append(entry.name)
    return f"({', '.join(parts)})"


def function_rows(function, constants):
    rest = f'FUNCTION({function.name}, {flags("FUNCTION_", function.flags)}, '
    text = quoted(signature(function, constants))
    if len(rest + text) <= 113:
        return [f"    {rest}{text}),"]
    return [f"    {rest.rstrip()}", *(f"             {part}" for part in strings(text)[:-1]),
            f"             {strings(text)[-1]}),"]


def strings(text):
    """A string of C, in lines."""
    lines, now = [], ""
    for word in re.split(r"(?<=, )", text[1:-1]):
        if len(now + word) > 100:
            lines.append(f'"{now}"')
            now = ""
        now += word
    return [*lines, f'"{now}"']


def source(abi):
    constants = {constant["name"]: constant["value"] for constant in abi.data["constants"]}
    lines = [HEAD.format(name="tables.c", says="the tables of tables.h, and a call for each function of the library."),
             '#include "tables.h"', "", "#include <stddef.h>", "", MACROS]
    for struct in abi.structs:
        lines.append(f"static const field_entry fields_of_{struct.name}[] = {{")
        lines += [field_row(struct, field) for field in struct.fields]
        lines += ["};", ""]
    lines.append("const struct_entry struct_entries[STRUCT_COUNT] = {")
    lines += [f'    STRUCT({struct.name}, "{struct.type_name}"),' for struct in abi.structs]
    lines += ["};", ""]
    for function in abi.functions:
        lines += trampoline(function)
        lines.append(f"static const parameter_entry given_to_{function.name}[] = {{")
        lines += [parameter_row(function, entry, constants) for entry in function.parameters]
        lines += ["};", ""]
    lines.append("const function_entry function_entries[FUNCTION_COUNT] = {")
    for function in abi.functions:
        lines += function_rows(function, constants)
    lines += ["};", ""]
    for one in abi.classes:
        name = one.destroy.removeprefix("gpo_")
        lines.append(f"DESTROY({one.name}, {name}, handle{', 0' if one.name == 'runtime' else ''})")
    lines += ["", "const class_entry class_entries[CLASS_COUNT] = {"]
    lines += [f'    CLASS({one.name}, "{one.type_name}"),' for one in abi.classes]
    lines += ["};", ""]
    return "\n".join(lines)
