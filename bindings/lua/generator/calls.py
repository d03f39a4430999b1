"""The functions of abi.json that need nothing by hand as methods of Lua's, and src/calls.c.

A function is plain if its parameters are handles, numbers, strings, statuses, options without keys that the module reads by
itself, nodes of a template or a timeout, and its results numbers, handles of the driver's, structs that are tables, texts, a
list of structs or a new object. A plain function that exceptions.BY_HAND doesn't name becomes object:verb.
"""
import exceptions
from tables import Words, base

UNSIGNED = {"uint32_t": "UINT32_MAX", "uint64_t": "UINT64_MAX"}
SIGNED = {"int32_t": "INT32_MIN, INT32_MAX", "int64_t": "INT64_MIN, INT64_MAX"}
# Addresses may be an array's, and flags a table.
NEVER_PLAIN = {"address", "destination", "source", "flags"}
KEYWORDS = set("and break do else elseif end false for function if in local nil not or repeat return then true until "
               "while".split())


class NotPlain(Exception):
    pass


def lua_name(name):
    return name + "_" if name in KEYWORDS else name


def class_of(type_):
    return type_.removeprefix("gpo_").removesuffix("_t")


class Parameter:
    """A parameter in Lua: (name, type, whether it may be left out)."""

    def __init__(self, name, lua, optional=False):
        self.name, self.lua, self.optional = lua_name(name), lua, optional


class Call:
    """A plain function. `checks` are the lines that read its parameters, and `arguments` are C's. `inputs` are (type, name)
    of the values that a helper function gets from a struct, `results` those of what C writes."""

    def __init__(self, abi, tables, function):
        self.abi, self.tables, self.function = abi, tables, function
        self.name = function["name"].removeprefix("gpo_")
        self.says = function.get("says", [])
        self.checks, self.arguments, self.parameters, self.results, self.inputs = [], [], [], [], []
        self.kind, self.record, self.index = "plain", None, 0
        if function["returns"] != "gpo_status":
            raise NotPlain
        given = function["parameters"]
        self.owner = class_of(given[0]["type"]) if given and given[0]["type"] in abi["handles"] else None
        at = 0
        while at < len(given):
            at += self.read(given, at)
        if self.name.endswith("_query") and len(given) == 1:
            self.kind = "query"
        if len(self.results) > 1 and any(type_ in abi["handles"] for type_, _ in self.results) or not self.kind_fits():
            raise NotPlain
        self.method = exceptions.METHODS.get(function["name"]) or lua_name(self.verb())

    def kind_fits(self):
        made = any(type_ in self.abi["handles"] for type_, _ in self.results)
        return not (self.results and self.kind in ("text", "bytes", "list", "wait")) and (not made or self.owner is not None)

    def verb(self):
        """gpo_event_get_elapsed is event:elapsed, gpo_trace_get_info runtime:trace_info."""
        prefix = f"{self.owner}_"
        rest = self.name.removeprefix(prefix) if self.name.startswith(prefix) else self.name.replace("_get_", "_", 1)
        return rest.removeprefix("get_")

    def input(self, type_, name, value, lua, optional=False):
        self.checks.append(f"const {type_} {name} = {value};" if "*" not in type_ else f"{type_}{name} = {value};")
        self.inputs.append((type_, name))
        self.arguments.append(name)
        self.parameters.append(Parameter(name, lua, optional))

    def read(self, given, at):
        """Reads the parameter at a place, and gives how many that were."""
        parameter, rest = given[at], given[at + 1:]
        type_, name = parameter["type"], parameter["name"]
        if name in NEVER_PLAIN and not (parameter["direction"] == "out" and name == "address"):
            raise NotPlain
        if parameter["direction"] == "in":
            return self.read_input(parameter, type_, name, rest)
        return self.read_output(type_, name, rest)

    def read_input(self, parameter, type_, name, rest):
        self.index += 1
        index, key = self.index, (self.function["name"], name)
        nullable = parameter.get("nullable")
        if type_ in self.abi["handles"]:
            word = class_of(type_)
            if nullable and index > 1:
                self.checks.append(f"const object *{name} = optional_object(L, s, {index}, CLASS_{word.upper()});")
                self.arguments.append(f"{name} ? HANDLE({name}, {type_}) : NULL")
                self.parameters.append(Parameter(name, word, True))
                return 1
            self.input(type_, name, f"CHECK_HANDLE({index}, {word})", word)
        elif key in exceptions.PARAMETER_WORDS:
            first, otherwise = exceptions.PARAMETER_WORDS[key]
            words, default = Words(self.abi, first), f'"{otherwise}"' if otherwise else "NULL"
            self.input(type_, name, f"(uint32_t)check_word(L, {index}, {default}, {words.array}) + {first}", str(words),
                       bool(otherwise))
        elif key in exceptions.FROM_1:
            self.input(type_, name, f'(uint32_t)check_from_1(L, {index}, "{exceptions.FROM_1[key]}")', "integer")
        elif type_ == "int64_t" and name == "timeout_ns":
            if rest:
                raise NotPlain
            self.kind = "wait"
            self.checks.append(f"const int64_t timeout_ns = check_timeout(L, {index});")
            self.parameters.append(Parameter("seconds", "number", True))
        elif type_ in UNSIGNED:
            cast = "(uint32_t)" if type_ == "uint32_t" else ""
            optional = key in exceptions.OPTIONAL
            check = f"optional_unsigned(L, {index}, {UNSIGNED[type_]}, 0)" if optional else \
                f"check_unsigned(L, {index}, {UNSIGNED[type_]})"
            self.input(type_, name, cast + check, "gpuorch.exact" if type_ == "uint64_t" else "integer", optional)
        elif type_ in SIGNED:
            cast = "(int32_t)" if type_ == "int32_t" else ""
            self.input(type_, name, f"{cast}check_signed(L, {index}, {SIGNED[type_]})",
                       "gpuorch.exact" if type_ == "int64_t" else "integer")
        elif type_ == "const char *":
            check = f"luaL_optstring(L, {index}, NULL)" if nullable else f"luaL_checkstring(L, {index})"
            self.input(type_, name, check, "string", bool(nullable))
        elif type_ == "gpo_status":
            self.input(type_, name, f"check_status_name(L, s, {index})", "string")
        elif type_ == "void *" and name == "native":
            self.checks.append(f"void *native = (void *)(uintptr_t)check_unsigned(L, {index}, UINTPTR_MAX);")
            self.arguments.append(name)
            self.parameters.append(Parameter(name, "gpuorch.exact"))
        elif type_ == "const void *" and rest and rest[0]["type"] in ("size_t", "uint64_t") and rest[0]["name"] == "bytes":
            self.checks += ["size_t bytes = 0;", f"const char *{name} = luaL_checklstring(L, {index}, &bytes);"]
            self.arguments += [name, "bytes"]
            self.parameters.append(Parameter(name, "string"))
            return 2
        elif type_ == "const uint32_t *" and name == "after":
            self.checks += ["uint32_t one, after_count;",
                            f"const uint32_t *after = check_after(L, {index}, &one, &after_count);"]
            self.arguments += ["after", "after_count"]
            self.parameters.append(Parameter("after", "gpuorch.nodes", True))
            return 2
        elif base(type_).endswith("_options") and type_.startswith("const ") and self.tables.is_plain(base(type_)):
            struct = base(type_)
            self.checks += [f"{struct} {name} = {{.struct_size = sizeof {name}}};",
                            f"read_record(L, {index}, {struct}_fields, &{name});"]
            self.arguments.append(f"&{name}")
            self.parameters.append(Parameter(name, self.tables.lua_type(struct), bool(nullable)))
        else:
            raise NotPlain
        return 1

    def read_output(self, type_, name, rest):
        written = base(type_) if not type_.endswith("**") else type_
        following = [parameter["name"] for parameter in rest]
        if type_ in ("char *", "void *") and following == ["capacity", "needed"]:
            self.kind = "text" if type_ == "char *" else "bytes"
            return 3
        if written in self.tables.fields and following == ["stride", "capacity", "count"]:
            self.kind, self.record = "list", written
            return 4
        if type_ == "void **" and not self.name.endswith("_get_native"):
            raise NotPlain
        if written in (*UNSIGNED, *SIGNED, "gpo_status", *self.abi["handles"], *self.tables.fields) or type_ == "void **":
            self.results.append((written, name))
            if written not in self.abi["handles"]:
                self.arguments.append(f"&{name}")
            return 1
        raise NotPlain

    # --- C ---

    def helper(self, begin, call):
        """A function that gets the inputs from a struct, which is `c` in it."""
        arguments = [f"c->{name}" for _, name in self.inputs]
        members = [f"    {type_}{'' if type_.endswith('*') else ' '}{name};" for type_, name in self.inputs]
        return [f"struct {self.name} {{", *members, "};", *broken(f"static gpo_status {begin} {{"),
                f"    const struct {self.name} *c = context;", *broken(f"    return {call(arguments)};"), "}"]

    def source(self):
        before, body = [], [*self.checks]
        function = f"s->api->{self.name}"
        filled = f"const struct {self.name} c = {{{', '.join(name for _, name in self.inputs)}}};"
        if self.kind in ("text", "bytes"):
            self.inputs.insert(0, ("const gpo_api *", "api"))
            filled = f"const struct {self.name} c = {{{', '.join(['s->api', *(n for _, n in self.inputs[1:])])}}};"
            before = self.helper(
                f"read_{self.name}(void *context, char *buffer, size_t capacity, size_t *needed)",
                lambda all_: f"c->api->{self.name}({', '.join([*all_[1:], 'buffer', 'capacity', 'needed'])})")
            body += [filled, f"return push_text(L, s, read_{self.name}, (void *)&c, {int(self.kind == 'bytes')});"]
        elif self.kind == "list":
            before = self.helper(
                f"read_{self.name}(state *s, const void *context, void *to, uint64_t capacity, uint64_t *count)",
                lambda all_: f"{function}({', '.join([*all_, 'to', f'sizeof({self.record})', 'capacity', 'count'])})")
            body += [filled, f"return push_list(L, s, read_{self.name}, &c, {self.record}_fields, sizeof({self.record}));"]
        elif self.kind == "wait":
            before = self.helper(f"attempt_{self.name}(state *s, void *context, int64_t timeout_ns)",
                                 lambda all_: f"{function}({', '.join([*all_, 'timeout_ns'])})")
            body = ["const noted_hooks hooks = note_hooks(L, s);", *body, filled,
                    f"return result(L, s, wait_by(L, s, hooks, attempt_{self.name}, (void *)&c, timeout_ns));"]
        elif self.results and self.results[0][0] in self.abi["handles"]:
            type_ = self.results[0][0]
            body += [f"object *made = new_object(L, s, CLASS_{class_of(type_).upper()}, 1);",
                     f"return created(L, s, {function}({', '.join([*self.arguments, f'({type_} *)&made->handle'])}));"]
        elif self.results:
            body += [declared(type_, name) for type_, name in self.results]
            body += [f"const gpo_status returned = {function}({', '.join(self.arguments)});",
                     "if (returned != GPO_SUCCESS) return failure(L, s, returned);",
                     *(self.pushed(type_, name) for type_, name in self.results), f"return {len(self.results)};"]
        else:
            push = "query_result" if self.kind == "query" else "result"
            body.append(f"return {push}(L, s, {function}({', '.join(self.arguments)}));")
        return [*before, f"static int {self.name}(lua_State *L) {{", "    state *s = the_state(L);",
                *(line for statement in body for line in broken("    " + statement)), "}", ""]

    def is_truth(self, name):
        return (self.function["name"], name) in exceptions.TRUTHS

    def pushed(self, type_, name):
        if self.is_truth(name):
            return f"lua_pushboolean(L, {name} != 0);"
        if type_ == "uint64_t" and name == "address":
            return f"push_address(L, s, {name});"
        if type_ in UNSIGNED:
            return f"push_unsigned(L, {name});"
        if type_ in SIGNED:
            return f"push_signed(L, {name});"
        if type_ == "gpo_status":
            return f"lua_pushstring(L, s->api->status_name({name}));"
        if type_ == "void **":
            return f"push_unsigned(L, (uint64_t)(uintptr_t){name});"
        return f"push_record(L, s, {type_}_fields, &{name});"

    # --- types ---

    def returns(self):
        """(type, name) of each result in Lua."""
        if self.kind == "query" or self.kind == "wait":
            return [("boolean?", "")]
        if self.kind in ("text", "bytes"):
            return [("string?", "")]
        if self.kind == "list":
            return [(f"{self.tables.lua_type(self.record)}[]?", "")]
        named = len(self.results) > 1
        return [(self.returned(type_, name), name if named else "") for type_, name in self.results] or [("true?", "")]

    def returned(self, type_, name):
        if self.is_truth(name):
            return "boolean?"
        if type_ == "uint64_t" and name == "address":
            return "address?"
        if type_ in self.abi["handles"]:
            return class_of(type_) + "?"
        if type_ in self.tables.fields:
            return self.tables.lua_type(type_) + "?"
        return {"uint32_t": "integer?", "int32_t": "integer?", "gpo_status": "string?"}.get(type_, "gpuorch.exact?")


def declared(type_, name):
    if type_ == "void **":
        return f"void *{name} = NULL;"
    if type_.startswith("gpo_") and type_ != "gpo_status":
        return f"{type_} {name} = {{.struct_size = sizeof {name}}};"
    return f"{type_} {name} = 0;"


def broken(line):
    """A statement in lines of at most 120 columns."""
    if len(line) <= 120:
        return [line]
    at = line.rindex(", ", 0, 119) + 1
    indent = " " * (len(line) - len(line.lstrip()) + 4)
    return [line[:at], *broken(indent + line[at:].strip())]


def plain_calls(abi, tables):
    """The calls of all plain functions but those that end objects, which close() does."""
    ends = {name for function in abi["functions"] for parameter in function["parameters"]
            for name in parameter.get("released_by", [])}
    for function in abi["functions"]:
        if function["name"] not in ends:
            try:
                yield Call(abi, tables, function)
            except NotPlain:
                pass


def calls(abi, tables):
    found = list(plain_calls(abi, tables))
    known = {call.function["name"] for call in found}
    stale = set(exceptions.BY_HAND) - known
    if stale:
        raise SystemExit(f"exceptions.BY_HAND names functions that aren't plain: {', '.join(sorted(stale))}")
    return [call for call in found if call.function["name"] not in exceptions.BY_HAND]


def source(abi, made, head):
    lines = [head("calls.c", "the functions of the library that are plain methods: objects, numbers and texts in and out."),
             '#include "calls.h"', "", '#include "methods.h"', '#include "template.h"', ""]
    for call in made:
        lines += call.source()
    for owner in [*map(class_of, abi["handles"]), None]:
        rows = [f'{{"{call.method}", {call.name}}}' for call in made if call.owner == owner]
        begin = f"static const luaL_Reg {owner}_calls[] = {{" if owner else "const luaL_Reg gpuorch_calls[] = {"
        lines += [begin, *(f"    {row}," for row in [*rows, "{NULL, NULL}"]), "};"]
    lines += ["", "const luaL_Reg *const calls_of_class[CLASS_COUNT] = {",
              *(f"    [CLASS_{word.upper()}] = {word}_calls," for word in map(class_of, abi["handles"])), "};", ""]
    return "\n".join(lines)


def header(abi, head):
    words = list(map(class_of, abi["handles"]))
    return "\n".join([
        head("calls.h", "the methods of calls.c, by classes, and the functions that have no object."),
        "#ifndef GPUORCH_LUA_CALLS_H", "#define GPUORCH_LUA_CALLS_H", "", '#include "binding.h"', "",
        "#pragma GCC visibility push(hidden)", "",
        "enum {", *(f"    CLASS_OF_{word} = CLASS_{word.upper()}," for word in words), "};", "",
        "extern const luaL_Reg *const calls_of_class[CLASS_COUNT]; /* NULL: the class has none */",
        "extern const luaL_Reg gpuorch_calls[];", "", "#pragma GCC visibility pop", "", "#endif", ""])
