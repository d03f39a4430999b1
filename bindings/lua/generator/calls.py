"""The functions of abi.json that need nothing by hand as methods of Lua's, and src/calls.c.

A plain function has parameters of these shapes: handles, numbers, words, strings, statuses, memory, nodes of a
template, a timeout, an executor with its function, a queue with the entry's user_data, and structs whose keys are all
plain. Its results are numbers, handles of the driver's, structs that are tables, a text, a list of structs, a new
object (which keeps the objects among its options) or a new array. A plain function that exceptions.BY_HAND doesn't name
becomes object:verb.
"""
import re

import exceptions
from tables import Words, base, flags

UNSIGNED = {"uint32_t": "UINT32_MAX", "uint64_t": "UINT64_MAX"}
SIGNED = {"int32_t": "INT32_MIN, INT32_MAX", "int64_t": "INT64_MIN, INT64_MAX"}
# Both ends of a copy are known before its bytes are; what flags there are is in no parameter.
NEVER_PLAIN = {"destination", "source", "flags"}
KEYWORDS = set("and break do else elseif end false for function if in local nil not or repeat return then true until "
               "while".split())
FIRST_FAILURE = 10   # statuses below it are answers


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

    def __init__(self, abi, tables, function, frees):
        self.abi, self.tables, self.function, self.frees = abi, tables, function, frees
        self.flags, self.kept, self.addresses = [], 0, set()   # `addresses`: inputs that are pointers to the variables
        self.name = function["name"].removeprefix("gpo_")
        self.says = function.get("says", [])
        self.checks, self.arguments, self.parameters, self.results, self.inputs = [], [], [], [], []
        self.kind, self.record, self.index = "plain", None, 0
        if function["returns"] != "gpo_status":
            raise NotPlain
        given = function["parameters"]
        self.owner = class_of(given[0]["type"]) if given and given[0]["type"] in abi["handles"] else None
        self.mark_after = []    # arguments behind those of the queue
        at = 0
        while at < len(given):
            at += self.read(given, at)
        if self.kind == "mark":
            self.index += 2
            self.parameters += [Parameter("queue", "cq", True), Parameter("user_data", "any", True)]
        if self.name.endswith("_query") and len(given) == 1:
            self.kind = "query"
        if len(self.results) > 1 and any(type_ in abi["handles"] for type_, _ in self.results) or not self.kind_fits():
            raise NotPlain
        self.method = method_of(function, self.owner)

    def kind_fits(self):
        made = any(type_ in self.abi["handles"] for type_, _ in self.results)
        if self.results and self.kind != "plain" and (made or self.kind not in ("mark", "callback")):
            return False
        return (not made or self.owner is not None) and (not self.kept or made)

    def input(self, type_, name, value, lua, optional=False):
        self.checks.append(f"const {type_} {name} = {value};" if "*" not in type_ else f"{type_}{name} = {value};")
        self.inputs.append((type_, name))
        (self.mark_after if self.kind == "mark" else self.arguments).append(name)
        self.parameters.append(Parameter(name, lua, optional or (self.function["name"], name) in exceptions.OPTIONAL))

    def read(self, given, at):
        """Reads the parameter at a place, and gives how many that were."""
        parameter, rest = given[at], given[at + 1:]
        type_, name = parameter["type"], parameter["name"]
        if name in NEVER_PLAIN and (self.function["name"], name) not in exceptions.FLAG_PARAMETERS:
            raise NotPlain
        if parameter["direction"] == "in":
            return self.read_input(parameter, type_, name, rest)
        return self.read_output(type_, name, rest)

    def read_input(self, parameter, type_, name, rest):
        if type_ == "gpo_cq_t" and self.index and rest and rest[0]["name"] == "user_data":
            self.kind = "mark"
            return 2
        self.index += 1
        if type_ == "gpo_executor_t" and rest and rest[0]["type"] in exceptions.CALLBACKS:
            self.kind, self.callback = "callback", exceptions.CALLBACKS[rest[0]["type"]]
            self.parameters += [Parameter("executor", "executor"), Parameter("f", exceptions.FUNCTION_TYPES[self.callback])]
            return 3
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
        elif key in exceptions.FLAG_PARAMETERS:
            self.checks += ["uint32_t flags = 0;", f"read_record(L, {index}, flags_of_{self.name}, &flags);"]
            self.arguments.append(name)
            self.flags = list(flags(self.abi, None, exceptions.FLAG_PARAMETERS[key]))
            keys = ", ".join(f"{flag}: boolean?" for flag, _ in self.flags)
            self.parameters.append(Parameter("options", f"{{{keys}}}", True))
        elif name == "address" and type_ == "uint64_t" or name == "memory" and type_ == "void *":
            self.read_memory(index, name, type_)
        elif key in exceptions.FROM_1:
            self.input(type_, name, f'(uint32_t)check_from_1(L, {index}, "{exceptions.FROM_1[key]}")', "integer")
        elif type_ == "int64_t" and name == "timeout_ns":
            if rest:
                raise NotPlain
            self.kind = "wait"
            self.checks.append(f"const int64_t timeout_ns = check_timeout(L, {index});")
            self.parameters.append(Parameter("seconds", "number", True))
        elif name == "bytes" and self.function["name"] in exceptions.ALLOCATIONS:
            self.kind, self.allocated = "allocate", index
            self.index += 1
            self.arguments.append("ARRAY_BYTES(array)")
            self.parameters += [Parameter("type", "gpuorch.element"), Parameter("count", "integer")]
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
        elif type_.startswith("const ") and self.tables.is_plain(base(type_)):
            struct = base(type_)
            if self.tables.has_objects(struct):
                if self.kept:
                    raise NotPlain
                self.kept = index
            self.checks += [f"{struct} {name} = {{.struct_size = sizeof {name}}};",
                            f"read_record(L, {index}, {struct}_fields, &{name});"]
            self.inputs.append((f"const {struct} *", name))
            self.addresses.add(name)
            self.arguments.append(f"&{name}")
            self.parameters.append(Parameter(name, self.tables.lua_type(struct), bool(nullable)))
        else:
            raise NotPlain
        return 1

    def read_memory(self, index, name, type_):
        """An array or an address; what frees memory takes the array that it was allocated as. An array has to know of all
        other uses."""
        if not self.frees and self.function["name"] not in exceptions.LOOKS_ONLY:
            raise NotPlain
        address = "array->address" if self.frees else "address"
        if self.frees:
            self.checks.append(f"array_object *array = check_piece(L, s, {index});")
            self.kind, self.freed = "free", index
        elif self.function["name"] in exceptions.ARRAYS_ONLY:
            self.input("uint64_t", "address", f"check_array(L, s, {index})->address", "array")
            self.arguments.pop()
        else:
            self.input("uint64_t", "address", f"check_memory(L, s, {index})", "array|address")
            self.arguments.pop()
        self.arguments.append(address if type_ == "uint64_t" else f"(void *)(uintptr_t){address}")
        if self.frees:
            self.parameters.append(Parameter("array", "array"))
        else:
            self.parameters[-1].name = "memory"

    def read_output(self, type_, name, rest):
        written = base(type_) if not type_.endswith("**") else type_
        following = [parameter["name"] for parameter in rest]
        if type_ in ("char *", "void *") and following == ["capacity", "needed"]:
            self.kind = "text" if type_ == "char *" else "bytes"
            return 3
        if written in self.tables.fields and following == ["stride", "capacity", "count"]:
            self.kind, self.record = "list", written
            return 4
        if self.kind == "allocate":
            self.checks.append(f"void *{name} = NULL;" if type_ == "void **" else f"uint64_t {name} = 0;")
            self.arguments.append(f"&{name}")
            self.made = name
            return 1
        if type_ == "void **" and not self.name.endswith("_get_native"):
            raise NotPlain
        if written in (*UNSIGNED, *SIGNED, "gpo_status", *self.abi["handles"], *self.tables.fields) or type_ == "void **":
            self.results.append((written, name))
            if written not in self.abi["handles"]:
                (self.mark_after if self.kind in ("mark", "callback") else self.arguments).append(f"&{name}")
            return 1
        raise NotPlain

    # --- C ---

    def check_device(self):
        """A collection waits for the frees of a device: the object in front has to be one, or to be made from one."""
        if not is_below_device(self.abi, self.owner):
            raise SystemExit(f"{self.function['name']}: there is no device above a {self.owner}: write it by hand")

    def helper(self, begin, call):
        """A function that gets the inputs from a struct, which is `c` in it."""
        arguments = [f"c->{name}" for _, name in self.inputs]
        members = [f"    {type_}{'' if type_.endswith('*') else ' '}{name};" for type_, name in self.inputs]
        return [f"struct {self.name} {{", *members, "};", *broken(f"static gpo_status {begin} {{"),
                f"    const struct {self.name} *c = context;", *broken(f"    return {call(arguments)};"), "}"]

    def source(self):
        before, body = [], [*self.checks]
        top = [f"    lua_settop(L, {len(self.parameters)});"] if self.kept else []   # then what was left out is nil
        function = f"s->api->{self.name}"
        if self.kind == "mark":
            body += [declared(type_, name) for type_, name in self.results]
            self.inputs += [(f"{type_} *", name) for type_, name in self.results]
            self.addresses |= {name for _, name in self.results}
        values = ", ".join(f"&{name}" if name in self.addresses else name for _, name in self.inputs)
        filled = f"const struct {self.name} c = {{{values}}};"
        if self.kind in ("text", "bytes"):
            self.inputs.insert(0, ("const gpo_api *", "api"))
            filled = filled.replace("{", "{s->api, ").replace(", }", "}")
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
                    f"return wait_method(L, s, hooks, attempt_{self.name}, mark_{self.notify}, (void *)&c, timeout_ns);"
                    if self.notify else
                    f"return result(L, s, wait_by(L, s, hooks, attempt_{self.name}, (void *)&c, timeout_ns));"]
        elif self.kind == "mark":
            arguments = [*(f"c->{name.lstrip('&')}" for name in self.arguments), "cq", "user_data",
                         *(f"c->{name.lstrip('&')}" for name in self.mark_after)]
            before = self.helper(f"mark_{self.name}(state *s, void *context, gpo_cq_t cq, uint64_t user_data)",
                                 lambda _: f"{function}({', '.join(arguments)})")
            body += [filled, *self.with_results(f"notify_method(L, s, {self.index - 1}, mark_{self.name}, (void *)&c)")]
        elif self.kind == "allocate":
            self.check_device()
            stream = 2 if "stream" in self.arguments else 0
            kind = exceptions.ALLOCATIONS[self.function["name"]]
            body += [f"array_object *array = push_allocation(L, s, {kind}, {self.allocated});",
                     "if (!array) return 3;", "gpo_status returned;",
                     f"WITH_RECLAIM(L, s, device_of(L, -1), returned, {function}({', '.join(self.arguments)}));",
                     f"return allocated(L, s, returned, (uint64_t)(uintptr_t){self.made}, {stream});"]
        elif self.kind == "free":
            body.append(f"return piece_freed(L, s, array, {self.freed}, {function}({', '.join(self.arguments)}));")
        elif self.kind == "callback":
            arguments = [*self.arguments, "executor", self.callback, "owed", *self.mark_after]
            body += ["gpo_executor_t executor;", *(declared(type_, name) for type_, name in self.results),
                     f"struct owed *owed = owe(L, s, {self.index}, &executor);",
                     *self.with_results(f"owing(L, s, {self.index}, owed, {function}({', '.join(arguments)}))")]
        elif self.results and self.results[0][0] in self.abi["handles"]:
            type_ = self.results[0][0]
            call = f"{function}({', '.join([*self.arguments, f'({type_} *)&made->handle'])})"
            body.append(f"object *made = new_object(L, s, CLASS_{class_of(type_).upper()}, 1);")
            if self.kept:   # the options' table has the objects in them
                if class_of(type_) in exceptions.STRUCTS:
                    raise SystemExit(f"{self.function['name']}: slot 2 of a {class_of(type_)} is in use: write it by hand")
                body.append(f"keep(L, -1, 2, {self.kept});")
            if self.function["name"] in exceptions.RECLAIMING:
                self.check_device()
                body += ["gpo_status returned;", f"WITH_RECLAIM(L, s, device_of(L, -1), returned, {call});",
                         "return created(L, s, returned);"]
            else:
                body.append(f"return created(L, s, {call});")
        elif self.results:
            body += [declared(type_, name) for type_, name in self.results]
            body += [f"const gpo_status returned = {function}({', '.join(self.arguments)});",
                     "if (returned != GPO_SUCCESS) return failure(L, s, returned);",
                     *(self.pushed(type_, name) for type_, name in self.results), f"return {len(self.results)};"]
        else:
            push = "query_result" if self.kind == "query" else "result"
            body.append(f"return {push}(L, s, {function}({', '.join(self.arguments)}));")
        if self.flags:
            before += [f"static const field flags_of_{self.name}[] = {{",
                       *(f'    {{"{flag}", FIELD_FLAG, 0, {constant}, NULL}},' for flag, constant in self.flags),
                       "    FIELDS_END,", "};"]
        return [*before, f"static int {self.name}(lua_State *L) {{", *top, "    state *s = the_state(L);",
                *(line for statement in body for line in broken("    " + statement)), "}", ""]

    def with_results(self, call):
        """Returns what a function of the module's returns, and after a success what C wrote."""
        if not self.results:
            return [f"return {call};"]
        return [f"const int count = {call};", "if (count != 1) return count;",
                *(self.pushed(type_, name) for type_, name in self.results), f"return {1 + len(self.results)};"]

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

    @property
    def answers(self):
        """(statuses, description) of the calls that return false. A query says nothing more than that."""
        known = {status["name"] for status in self.abi["statuses"] if 0 < status["value"] < FIRST_FAILURE}
        for says in self.says if self.kind != "query" else []:
            statuses, _, text = says.partition(": ")
            names = [name for name in re.findall(r"GPO_[A-Z_]+", statuses) if name in known]
            if statuses.startswith("GPO_") and names and text:
                yield names, text

    def returns(self):
        """(type, name) of each result in Lua."""
        (type_, name), *others = self.successes()
        if any(self.answers) and "boolean" not in type_:
            type_ = "boolean?" if type_ == "true?" else type_[:-1] + "|boolean?"
        return [(type_, name), *others]

    def successes(self):
        if self.kind in ("query", "wait"):
            return [("boolean?", "")]
        if self.kind in ("mark", "callback"):
            first = "operation|boolean?" if self.kind == "mark" else "boolean?"
            return [(first, ""), *((self.returned(type_, name), name) for type_, name in self.results)]
        if self.kind == "allocate":
            return [("array?", "")]
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


def owner_of(abi, function):
    """The object whose method a function is; None: it is none's."""
    first = function["parameters"][0]["type"] if function["parameters"] else None
    return exceptions.OWNERS.get(function["name"]) or (class_of(first) if first in abi["handles"] else None)


def is_below_device(abi, owner, seen=()):
    """Whether each function that makes such an object makes it from a device, or from an object below one."""
    makers = {owner_of(abi, function) for function in abi["functions"] for parameter in function["parameters"]
              if parameter["direction"] == "out" and parameter["type"] == f"gpo_{owner}_t *"} - {owner, *seen}
    return owner == "device" or bool(makers) and all(
        maker and is_below_device(abi, maker, (*seen, owner)) for maker in makers)


def method_of(function, owner):
    """gpo_event_get_elapsed is event:elapsed, gpo_trace_get_info runtime:trace_info."""
    name = function["name"].removeprefix("gpo_")
    rest = name.removeprefix(f"{owner}_") if name.startswith(f"{owner}_") else name.replace("_get_", "_", 1)
    return exceptions.METHODS.get(function["name"]) or lua_name(rest.removeprefix("get_"))


class Methods:
    """All functions of abi.json as methods. `calls` are made here, `by_hand` (owner, method, C's function) elsewhere. The
    types of `typed` are made here. An object's end is close(), which all objects have."""

    def __init__(self, abi, tables):
        self.calls, self.by_hand, self.typed, self.ends = [], [], [], {}
        released = {name for function in abi["functions"] for parameter in function["parameters"]
                    for name in parameter.get("released_by", [])}
        plain, missed = set(), set()
        for function in abi["functions"]:
            name, owner = function["name"], owner_of(abi, function)
            if name in released and len(function["parameters"]) == 1:
                self.ends[owner] = name.removeprefix("gpo_")
                continue
            try:
                call = Call(abi, tables, function, name in released)
                plain.add(name)
                if name not in exceptions.TYPED_BY_HAND | exceptions.NO_METHODS:
                    self.typed.append(call)
                if name not in exceptions.BY_HAND and name not in exceptions.NO_METHODS:
                    self.calls.append(call)
                    continue
            except NotPlain:
                if not owner and name not in exceptions.NO_METHODS:
                    missed.add(name)
            if owner and name not in exceptions.NO_METHODS:
                self.by_hand.append((owner, method_of(function, owner), name.removeprefix("gpo_")))
        self.by_hand += [(owner, method, f"{owner}_{method}") for owner, methods in exceptions.MORE_METHODS.items()
                         for method in methods]
        self.collectives = [(constant["name"].removeprefix("GPO_COLLECTIVE_").lower(), constant["name"])
                            for constant in abi["constants"] if constant["name"].startswith("GPO_COLLECTIVE_")]
        if stale := set(exceptions.BY_HAND) - plain:
            raise SystemExit(f"exceptions.BY_HAND names functions that aren't plain: {', '.join(sorted(stale))}")
        if wrong := missed ^ exceptions.NO_OBJECT:
            raise SystemExit(f"functions that aren't plain, have no object in front, and aren't exceptions.NO_OBJECT, "
                             f"or the other way round: {', '.join(sorted(wrong))}")
        inputs = {call.name: call.inputs for call in self.calls if call.kind == "mark"}
        for call in self.calls:
            notify = call.name.removesuffix("_wait") + "_notify"
            call.notify = notify if call.kind == "wait" and inputs.get(notify) == call.inputs else None
        self.classes = [*map(class_of, abi["handles"]), *exceptions.MORE_CLASSES]


def source(methods, head):
    lines = [head("calls.c", "the methods that are plain functions of the library, and the classes with all their methods."),
             '#include "calls.h"', "", '#include "buckets.h"', ""]
    for call in sorted(methods.calls, key=lambda call: call.kind != "mark"):  # waits use the functions of marks
        lines += call.source()
    for method, constant in methods.collectives:
        lines += [f"static int peers_{method}(lua_State *L) {{", f"    return peers_submit(L, {constant});", "}", ""]
    for owner in [*methods.classes, None]:
        rows = [f'{{"{call.method}", {call.name}}}' for call in methods.calls if call.owner == owner]
        rows += [f'{{"{method}", {name}}}' for other, method, name in methods.by_hand if other == owner]
        rows += [f'{{"{method}", peers_{method}}}' for method, _ in methods.collectives if owner == "peers"]
        if rows:
            lines += [f"{'static ' if owner else ''}const luaL_Reg {owner or 'gpuorch'}_calls[] = {{",
                      *(f"    {row}," for row in [*rows, "{NULL, NULL}"]), "};"]
    lines.append("")
    for word in methods.classes:
        if word not in exceptions.ENDS:
            end = [f"    s->api->{methods.ends[word]}(HANDLE(o, gpo_{word}_t));"] if word in methods.ends else []
            lines += [f"static void destroy_{word}(lua_State *L, state *s, object *o, int collected) {{",
                      "    (void)L, (void)s, (void)o, (void)collected;", *end, "}", ""]
    lines.append("const class_info classes[CLASS_COUNT] = {")
    for word in methods.classes:
        size = f"{word}_object" if word in exceptions.STRUCTS else "object"
        rows = exceptions.MORE_CLASSES.get(word, f"{word}_calls")
        lines.append(f'    [CLASS_{word.upper()}] = {{"{word}", sizeof({size}), {rows}, destroy_{word}}},')
    return "\n".join([*lines, "};", ""])


def header(methods, head):
    return "\n".join([
        head("calls.h", "the methods that are written by hand, and the functions that are made in calls.c."),
        "#ifndef GPUORCH_LUA_CALLS_H", "#define GPUORCH_LUA_CALLS_H", "", '#include "binding.h"', "",
        "#pragma GCC visibility push(hidden)", "",
        *(f"int {name}(lua_State *L);" for _, _, name in methods.by_hand),
        "int peers_submit(lua_State *L, uint32_t kind);", "",
        *(f"void destroy_{word}(lua_State *L, state *s, object *o, int collected);" for word in methods.classes
          if word in exceptions.ENDS), "",
        "extern const luaL_Reg gpuorch_calls[]; /* functions that are no methods */", "", "#pragma GCC visibility pop", "",
        "#endif", ""])


def classes(methods, head):
    return "\n".join([
        head("classes.h", "the classes of objects: the library's, then the module's own."),
        "#ifndef GPUORCH_LUA_CLASSES_H", "#define GPUORCH_LUA_CLASSES_H", "",
        "enum class_id {", *(f"    CLASS_{word.upper()}," for word in methods.classes), "    CLASS_COUNT", "};",
        "/* For macros that get the name. */",
        "enum {", *(f"    CLASS_OF_{word} = CLASS_{word.upper()}," for word in methods.classes), "};", "", "#endif", ""])
