#!/usr/bin/env python3
"""Makes include/gpuorch/cpp/*_calls.hpp from abi.json: for each kind of object a base class with its plain calls, from which
the class in cpp/ derives. A function of the ABI is plain if it returns a status and takes

- a handle, to which the member belongs,
- then numbers, handles, strings, options (a struct that it reads), pointers (`void *`),
- then a timeout: the member has an overload without one, which waits without bound,
- then nothing; or numbers, which are returned; a struct that it fills; a text; or an object that the caller owns.

A function that releases an object or memory is not plain. A plain function needs no line by hand: it becomes a member with
the name of the function, less the object and "get_", and with the first sentence of its comment. NAMES has the members that
have another name, SAYS those with another comment, BY_HAND the functions whose members are written by hand in cpp/.

    generate_cpp.py [--check]     with --check nothing is written, and a difference is an error
"""
import json
import pathlib
import re
import sys
import textwrap

HERE = pathlib.Path(__file__).resolve().parent
OUTPUT = HERE.parents[1] / "include/gpuorch/cpp"
COLUMNS = 120
NUMBERS = {"int32_t": "std::int32_t", "uint32_t": "std::uint32_t", "int64_t": "std::int64_t", "uint64_t": "std::uint64_t",
           "size_t": "std::size_t", "float": "float", "double": "double", "gpo_status": "gpo_status", "void *": "void*"}
TEXT = [("char *", "out"), ("size_t", "in"), ("size_t *", "out")]

# Classes with another name than the handle.
CLASSES = {"gpo_cq_t": "completion_queue", "gpo_template_t": "graph_template"}

# Members that each object has for its handle. No generated member may have such a name.
OF_HANDLES = {"get", "release", "reset"}

# Members with another name.
NAMES = {
    "gpo_cq_get_fd": "descriptor",
    "gpo_host_call_finish": "finish_host_call",
    "gpo_host_register": "register_host",
    "gpo_host_unregister": "unregister_host",
    "gpo_memory_describe": "describe_memory",
    "gpo_module_load_builtin": "builtin",
    "gpo_queue_reset": "restart",
    "gpo_symmetric_reset": "reset_barriers",
    "gpo_template_add_parameter": "parameter",
    "gpo_template_import": "import_graph",
    "gpo_trace_start": "start_trace",
    "gpo_trace_stop": "stop_trace",
}

# Members whose comment is not the first sentence of the function's: they return or throw what C writes or returns.
SAYS = {
    "gpo_cq_get_fd": "Returns a file descriptor that is readable when there may be something to drain, for epoll and other "
                     "loops. Each call makes a duplicate, which the caller closes.",
    "gpo_device_get_costs": "Returns what things cost on a device: an H200's costs, with the multiprocessors and the rates of "
                            "memory and arithmetic of this device. With GPO_COSTS_PROBE launches, graphs and copies are "
                            "measured, which serialises the device and blocks on the GPU.",
    "gpo_executor_poll": "Runs the callbacks that are due, and returns how many it has run.",
    "gpo_executor_run": "Runs callbacks on the calling thread until no accepted callback is pending, and returns how many it "
                        "has run.",
    "gpo_pipeline_wait": "Waits for the run to end, and returns its result. Throws the failure of a run that has failed.",
    "gpo_queue_wait": "Waits until an answer of the tenant can be taken. Throws GPO_END if none is left and none will come.",
    "gpo_scheduler_drain": "Asks the run to end when all earlier posted or pushed tasks are done, with the tasks that they "
                           "push, and waits for the end. Throws GPO_CANCELLED if the run has ended with tasks left. If the "
                           "time passes first, the run still drains.",
    "gpo_stream_cancel_held": "Cancels all operations that are held on the stream, and returns how many: they complete with "
                              "GPO_CANCELLED.",
    "gpo_template_import": "Makes a template of a CUgraph of the caller or of another library. The CUgraph is copied, and stays "
                           "the caller's.",
}

# Defaults of parameters; flags are 0, and what may be NULL is.
DEFAULTS = {
    ("gpo_template_add_parameter", "index"): "0",
    ("gpo_template_get_picture", "format"): "GPO_PICTURE_SVG",
}

# Plain functions whose members are written by hand.
BY_HAND = {
    # Memory of a type: elements in place of bytes.
    "gpo_arena_allocate", "gpo_copy_on_device", "gpo_fill", "gpo_memory_allocate", "gpo_pool_allocate",
    "gpo_template_allocate", "gpo_template_allocate_host",
    # Objects that own callables, or that are made in another way.
    "gpo_buckets_create", "gpo_buckets_prepare", "gpo_module_compile", "gpo_peers_join", "gpo_pipeline_create",
    "gpo_pipeline_start", "gpo_stream_pool_acquire",
    # The brackets of graph_template::record, and a launch with settings.
    "gpo_template_begin", "gpo_template_end", "gpo_template_cancel", "gpo_graph_launch",
    # A result that only a failure has.
    "gpo_batcher_submit",
    # Results of another type.
    "gpo_cq_get_error", "gpo_event_get_elapsed", "gpo_executor_run_for", "gpo_module_get_symbol", "gpo_template_get_parameter",
}


def class_of(handle):
    return CLASSES.get(handle, handle.removeprefix("gpo_").removesuffix("_t"))


def wrapped(first, words, end, indent=0):
    """A list of words behind `first`, over several lines if it is long. The lines will be indented by `indent` columns."""
    lines = [first]
    for number, word in enumerate(words):
        piece = word + (end if number == len(words) - 1 else ",")
        if number > 0 and indent + len(lines[-1]) + len(piece) + 1 > COLUMNS:
            lines.append(" " * len(first) + piece)
        else:
            lines[-1] += ("" if number == 0 else " ") + piece
    return "\n".join(lines) if words else first + end


def released_by(abi):
    """The functions that release what others have made."""
    return {name for function in abi["functions"] for one in function["parameters"] for name in one.get("released_by", [])}


class Call:
    """A function as a member. `plain` is false where that needs a hand."""

    def __init__(self, function, abi):
        self.function, self.structs = function["name"], {struct["name"] for struct in abi["structs"]}
        self.handles, self.says = abi["handles"], function.get("says", [])
        parameters = function["parameters"]
        self.handle = parameters[0]["type"] if parameters else ""
        kinds = [(one["type"], one["direction"]) for one in parameters]
        self.text = kinds[-3:] == TEXT
        given = parameters[1:-3] if self.text else [one for one in parameters[1:] if one["direction"] == "in"]
        self.results = [] if self.text else parameters[1 + len(given):]
        self.timeout = bool(given) and given[-1]["name"] == "timeout_ns"
        self.given = given[:-1] if self.timeout else given
        self.plain = (function["returns"] == "gpo_status" and self.handle in self.handles
                      and self.function not in released_by(abi)
                      and all(map(self.can_give, self.given)) and all(map(self.can_return, self.results))
                      and (len(self.results) < 2 or not any(map(self.is_object, self.results)))
                      and (not self.answers() or len(self.results) < 2 and not self.text and not self.made()))

    def can_give(self, one):
        if one["direction"] != "in" or "length" in one and one["type"] != "void *":
            return False
        return one["type"] in NUMBERS or one["type"] in self.handles or one["type"] == "const char *" or self.options(one)

    def can_return(self, one):
        if "length" in one or one["direction"] == "in":
            return False
        kind = one["type"].removesuffix("*").strip()
        return one["type"] == "void **" or kind in NUMBERS or self.is_object(one) and one.get("owner", "caller") == "caller"

    def is_object(self, one):
        return one["type"].removesuffix("*").strip() in {*self.handles, *self.structs}

    def options(self, one):
        """The struct that a parameter points to, if the function reads one."""
        found = re.fullmatch(r"const (\w+) \*", one["type"])
        return found and found[1] in self.structs and found[1]

    def made(self):
        """The handle of the object that the function makes."""
        kinds = [one["type"].removesuffix("*").strip() for one in self.results]
        return kinds[0] if kinds and kinds[0] in self.handles else None

    def name(self):
        if self.function in NAMES:
            return NAMES[self.function]
        words = self.function.removeprefix("gpo_")
        of_made = self.made().removeprefix("gpo_").removesuffix("t") if self.made() else None
        if of_made and words.startswith(of_made):
            return f"{words.removeprefix(of_made)}_{class_of(self.made())}"
        return re.sub(r"\bget_|_get(?=_)", "", words.removeprefix(self.handle.removeprefix("gpo_").removesuffix("t")), count=1)

    def default(self, one):
        if (self.function, one["name"]) in DEFAULTS:
            return DEFAULTS[self.function, one["name"]]
        if one["name"] == "flags":
            return "0"
        if one.get("nullable") and self.options(one):
            return "{}"
        return "nullptr" if one.get("nullable") and one["type"] == "const char *" else None

    def parameters(self):
        """The member's parameters. Those behind which all others have a default have theirs."""
        declared, defaults = [], not self.timeout
        for one in reversed(self.given):
            if self.options(one):
                word = f"const {one['name'].capitalize()}& {one['name']}"
            elif one["type"].endswith("*"):
                word = f"{one['type'].replace(' *', '*')} {one['name']}"
            else:
                word = f"{NUMBERS.get(one['type'], one['type'])} {one['name']}"
            defaults = defaults and self.default(one) is not None
            declared.insert(0, f"{word} = {self.default(one)}" if defaults else word)
        return declared

    def arguments(self):
        return ["get()"] + [f"detail::with_size<{self.options(one)}>({one['name']})" if self.options(one) else one["name"]
                            for one in self.given]

    def value(self):
        """The type of what is returned."""
        if self.text:
            return "std::string"
        if len(self.results) > 1:
            return f"{self.name()}_values"
        kind = self.results[0]["type"] if self.results else ""
        kind = "void *" if kind == "void **" else kind.removesuffix("*").strip()
        if self.made():
            return f"gpuorch::{class_of(kind)}" if class_of(kind) == self.name() else class_of(kind)
        return NUMBERS.get(kind, kind) if kind else None

    def answers(self):
        """The status that says "not yet"."""
        if self.timeout:
            return "GPO_TIMEOUT"
        return "GPO_NOT_READY" if any(re.match(r"GPO_NOT_READY\b[^:]*: ", item) for item in self.says) else None

    def comment(self):
        first = re.match(r".*?\.(?=\s|$)|.*", self.says[0], re.DOTALL)[0] if self.says else ""
        sentence = SAYS.get(self.function, first)
        if self.results or self.text:
            sentence = re.sub(r"^Writes\b", "Returns", sentence)
        return "".join(f"{line}\n" for line in textwrap.wrap(sentence, COLUMNS, initial_indent="    /// ",
                                                             subsequent_indent="    /// "))

    def body(self, time, not_yet):
        arguments = self.arguments() + ([time] if time else [])
        if len(self.results) > 1:
            arguments += [f"&values.{one['name']}" for one in self.results]
            call = wrapped(f"check({self.function}(", arguments, "));", 8)
            return f"{self.value()} values{{}};\n{call}\nreturn values;"
        if self.value():
            how = "detail::text" if self.text else f"detail::{'made' if self.made() else 'got'}<{self.value()}>"
            if not_yet:
                how, arguments = f"detail::got_unless<{self.value()}>", [not_yet, self.function] + arguments
            else:
                arguments = [self.function] + arguments
            return wrapped(f"return {how}(", arguments, ");", 8)
        if not_yet:
            return wrapped(f"return detail::done({self.function}(", arguments, f"), {not_yet});", 8)
        return wrapped(f"check({self.function}(", arguments, "));", 8)

    def overload(self, time=None, parameters=(), not_yet=None):
        value = self.value() or ("bool" if not_yet else "void")
        if self.value() and not_yet:
            value = f"std::optional<{value}>"
        options = [f"class {one['name'].capitalize()} = {self.options(one).removeprefix('gpo_')}" for one in self.given
                   if self.options(one)]
        template = f"    template <{', '.join(options)}>\n" if options else ""
        no_discard = "[[nodiscard]] " if self.made() else ""
        head = wrapped(f"    {no_discard}{value} {self.name()}(", [*self.parameters(), *parameters], ") const {")
        body = self.body(time, not_yet)
        line = f"{head} {body} }}"
        if len(line) <= COLUMNS and "\n" not in line and not options:
            return f"{line}\n"
        return f"{template}{head}\n{textwrap.indent(body, ' ' * 8)}\n    }}\n"

    def member(self):
        text = self.comment()
        if len(self.results) > 1:
            rows = "".join(f"        {NUMBERS.get(one['type'].removesuffix('*').strip(), 'void*')} {one['name']};\n"
                           for one in self.results)
            text = f"    struct {self.value()} {{\n{rows}    }};\n{text}"
        if not self.timeout:
            return text + self.overload(not_yet=self.answers())
        passed = "Empty" if self.value() else "False"
        return (f"{text}{self.overload('-1')}    /// {passed}: the time has passed first.\n" +
                self.overload("detail::timeout(time)", ["std::chrono::nanoseconds time"], self.answers()))


def generated(abi):
    """{handle: calls} of all plain functions that are not written by hand. An object's file includes those of the objects that
    it makes: what leads back to it isn't made here."""
    calls, makes = {handle: [] for handle in abi["handles"]}, {}

    def leads(begin, end):
        return begin == end or any(leads(made, end) for made in makes.get(begin, ()))

    for call in (Call(function, abi) for function in abi["functions"]):
        if not call.plain or call.function in BY_HAND or call.made() and leads(call.made(), call.handle):
            continue
        calls[call.handle].append(call)
        if call.made():
            makes.setdefault(call.handle, set()).add(call.made())
    return calls


STANDARD = {"chrono": "std::chrono", "cstddef": "std::size_t", "cstdint": r"std::u?int", "optional": "std::optional",
            "string": "std::string"}


def text(handle, calls):
    name = class_of(handle)
    body = "".join(f"\n{call.member()}" for call in calls)
    standard = "".join(f"#include <{header}>\n" for header, word in STANDARD.items() if re.search(word, body))
    own = sorted({"object", *(class_of(call.made()) for call in calls if call.made())})
    includes = "\n".join(f'#include "{header}.hpp"' for header in own)
    return f"""// {name}_calls.hpp: the plain calls of class {name}, which derives from them. Made from abi.json by
// src/abi/generate_cpp.py.
#ifndef GPUORCH_CPP_{name.upper()}_CALLS_HPP
#define GPUORCH_CPP_{name.upper()}_CALLS_HPP

{standard}{chr(10) if standard else ""}{includes}

namespace gpuorch {{

struct {name}_calls : ref<{handle}> {{
    using ref::ref;
{body}}};

}}  // namespace gpuorch

#endif
"""


def files(abi):
    """{path: text}"""
    return {OUTPUT / f"{class_of(handle)}_calls.hpp": text(handle, calls) for handle, calls in generated(abi).items()}


def problems(abi):
    """What is wrong with the tables."""
    plain = {call.function for call in (Call(function, abi) for function in abi["functions"]) if call.plain}
    for function in sorted((BY_HAND | NAMES.keys() | SAYS.keys() | {function for function, _ in DEFAULTS}) - plain):
        yield f"the tables name {function}, which is not plain"
    for call in [call for calls in generated(abi).values() for call in calls if call.name() in OF_HANDLES]:
        yield f"the member of {call.function} needs a name in NAMES: each object has a member `{call.name()}`"


def main():
    abi = json.loads((HERE.parents[1] / "abi.json").read_text())
    if wrong := list(problems(abi)):
        sys.exit("\n".join(wrong))
    made, there = files(abi), set(OUTPUT.glob("*_calls.hpp"))
    stale = sorted(path for path in there | made.keys() if path not in there or path.read_text() != made.get(path))
    if "--check" in sys.argv:
        if stale:
            sys.exit(f"out of date, run {pathlib.Path(__file__).name}: {' '.join(path.name for path in stale)}")
        return
    for path in stale:
        if path in made:
            path.write_text(made[path])
        else:
            path.unlink()


if __name__ == "__main__":
    main()
