#!/usr/bin/env python3
"""Makes the test that calls every exported function with everything that can be wrong about its handles, pointers and
structs, one thing at a time; and with nothing wrong, from outside and from inside all that the library calls: a callback, a
host call, a pipeline's callback, the log function, host nodes of graphs that were built and imported. Functions that take a
stream are called in a recording of it too: if one is refused, the recording can't end well.

    generate_bad_calls.py OUTPUT.cpp

For each function there is a good call, made of the values below and of what abi/world.h has. In a copy of it one argument
after the other is replaced: a handle by NULL, random numbers, a handle of another type, one that was destroyed, one of
another runtime, one of a runtime that was shut down; a pointer by NULL; a struct by one of size 0, by a smaller one, by
every smaller one that ends inside a field, by a larger one whose tail is zero or not, by one with unknown flags or with
reserved fields set. What must come of it follows
from the rules in types.h; where a function has its own, the tables below say so. A call that is refused says whose object is to
blame: one of those that it was given.
"""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "libgpuorch/src/abi"))
import contracts
import headers

HANDLE = re.compile(r"gpo_(\w+)_t")

# The values of a good call that aren't handles, pointers to be written or structs, by function (or "*") and parameter.
# `w` is the world.
VALUES = {
    ("*", "timeout_ns"): "0", ("*", "label"): '"label"', ("*", "user_data"): "7", ("*", "bytes"): "64",
    ("*", "flags"): "0", ("*", "value"): "w.next()", ("*", "ordinal"): "0", ("*", "from"): "0", ("*", "to"): "0",
    ("*", "limit"): "GPO_LIMIT_PRINTF_BYTES", ("*", "message"): '"message"', ("*", "priority"): "0",
    ("*", "capacity"): "w.room.size()", ("*", "buffer"): "w.room.data()", ("*", "alignment"): "0", ("*", "keep_bytes"): "UINT64_MAX",
    ("*", "destination"): "w.memory", ("*", "source"): "w.memory + 2048", ("*", "element_bytes"): "4",
    ("*", "count"): "4", ("*", "pitch"): "64", ("*", "width"): "16", ("*", "height"): "2", ("*", "name"): '"two"',
    ("*", "threads"): "32", ("*", "dynamic_shared_bytes"): "0", ("*", "max_threads"): "0", ("*", "error_id"): "1",
    ("*", "version"): "GPO_VERSION", ("*", "native"): "w.native_stream", ("*", "arguments"): "w.arguments",
    ("*", "sizes"): "w.sizes", ("*", "image"): "w.image.data()",
    ("*", "user"): "nullptr", ("*", "callback"): "no_completion", ("*", "function"): "no_host_call", ("*", "call"): "99",
    ("gpo_host_call_finish", "status"): "GPO_SUCCESS", ("gpo_timeline_notify", "value"): "0",
    ("gpo_timeline_then", "value"): "0",
    ("gpo_status_name", "status"): "GPO_SUCCESS", ("gpo_status_text", "status"): "GPO_SUCCESS",
    ("gpo_timeline_fail", "status"): "GPO_FAILED", ("gpo_device_set_limit", "value"): "w.printf_bytes",
    ("gpo_fill", "value"): "1", ("gpo_fill_rows", "value"): "1", ("gpo_stream_wait_timeline", "value"): "0",
    ("gpo_pipeline_get_share", "device"): "0",
    ("gpo_timeline_wait", "value"): "0", ("gpo_cq_drain", "capacity"): "1",
    ("gpo_cq_drain", "stride"): "sizeof(gpo_completion)", ("gpo_copy_batch", "stride"): "sizeof(gpo_copy)",
    ("gpo_copy_batch", "count"): "1", ("gpo_copy_to_device", "source"): "w.pinned.data()",
    ("gpo_copy_to_host", "destination"): "w.pinned.data()", ("gpo_stream_launch_kernel", "count"): "2",
    ("gpo_module_load", "bytes"): "w.image.size()", ("gpo_module_get_symbol", "name"): '"symbol"',
    ("gpo_host_register", "memory"): "w.pages", ("gpo_host_register", "bytes"): "4096",
    ("gpo_host_unregister", "memory"): "w.pages", ("gpo_arena_free", "memory"): "w.piece()",
    ("gpo_arena_free_after", "memory"): "w.piece()", ("gpo_memory_free", "address"): "w.allocation()",
    ("gpo_memory_describe", "address"): "w.memory", ("gpo_pool_free", "address"): "w.pooled()",
    ("gpo_kernel_set_max_dynamic_shared", "bytes"): "1024",
    ("gpo_copy_peer", "destination_device"): "w.device", ("gpo_copy_peer", "source_device"): "w.device",
    ("gpo_device_enable_peer", "peer"): "w.second_device", ("gpo_device_disable_peer", "peer"): "w.second_device",
    ("gpo_stream_pool_release", "stream"): "w.pooled_stream()", ("gpo_event_get_elapsed", "start"): "w.timing",
    ("gpo_event_get_elapsed", "end"): "w.timing", ("gpo_stream_notify_timed", "since"): "w.timing",
    ("gpo_object_get_error", "object"): "w.stream", ("gpo_object_set_label", "object"): "w.stream",
    ("gpo_object_get_label", "object"): "w.stream", ("gpo_kernel_get_parameter", "index"): "1",
    ("*", "after"): "&w.first_node", ("*", "after_count"): "1", ("*", "index"): "0",
    ("*", "what"): "GPO_PARAMETER_VALUE", ("*", "prefix"): '"child."', ("*", "parameter"): "0",
    ("gpo_template_add_free", "graph_template"): "w.allocating()", ("gpo_template_add_free", "address"): "w.allocated()",
    ("gpo_template_set_last_node", "node"): "w.first_node", ("gpo_template_add_parameter", "node"): "w.first_node",
    ("gpo_template_add_host_call", "function"): "no_host_node", ("gpo_template_add_kernel", "count"): "2",
    ("gpo_template_get_picture", "format"): "GPO_PICTURE_SVG",
    ("gpo_template_add_fill", "value"): "1", ("gpo_template_begin", "graph_template"): "w.building()",
    ("gpo_template_clear", "graph_template"): "w.building()", ("gpo_graph_set", "value"): "&w.launch_value",
    ("gpo_graph_set", "bytes"): "4", ("gpo_graph_set_parameter", "value"): "&w.launch_value",
    ("gpo_graph_set_parameter", "bytes"): "4", ("gpo_graph_get", "value"): "w.room.data()", ("gpo_graph_get", "bytes"): "4",
    ("gpo_graph_set_all", "stride"): "sizeof(gpo_setting)", ("gpo_graph_set_all", "count"): "1",
    ("gpo_template_launch", "stride"): "sizeof(gpo_setting)", ("gpo_template_launch", "count"): "1",
    ("gpo_template_add_switch", "count"): "1", ("gpo_template_bind_condition", "kernel_in"): "w.deciding",
    ("gpo_template_bind_condition", "kernel_node"): "2", ("gpo_template_bind_condition", "conditional_in"): "w.deciding",
    ("gpo_template_bind_condition", "conditional"): "3", ("gpo_graph_get_loop", "graph"): "w.looping_graph",
    ("gpo_graph_get_loop", "conditional_in"): "w.looping", ("gpo_graph_get_loop", "node"): "w.loop_node",
    ("gpo_graph_get_device_handle", "graph"): "w.device_graph", ("gpo_template_import", "native"): "w.native_graph",
    ("gpo_graph_get_device_status", "graph"): "w.device_graph",
    ("gpo_buckets_launch", "stride"): "sizeof(gpo_setting)", ("gpo_buckets_launch", "count"): "1",
    ("gpo_buckets_launch", "size"): "3",
    ("gpo_queue_set_costs", "queue"): "w.range", ("gpo_queue_set_costs", "costs"): "w.costs",
    ("*", "tasks"): "w.room.data()", ("gpo_queue_set_tenant", "queue"): "w.host_queue",
    ("gpo_queue_post", "queue"): "w.host_queue", ("gpo_queue_take", "queue"): "w.host_queue",
    ("gpo_queue_wait", "queue"): "w.host_queue", ("*", "tenant"): "0", ("gpo_queue_set_tenant", "tenant"): "1",
    ("gpo_queue_take", "stride"): "sizeof(gpo_answer)", ("gpo_queue_take", "capacity"): "1",
    ("gpo_queue_take", "answers"): "w.room.data()",
    ("gpo_scheduler_create", "stride"): "sizeof(gpo_handler)", ("gpo_scheduler_create", "count"): "1",
    ("gpo_scheduler_start", "scheduler"): "w.stopped_scheduler()", ("gpo_scheduler_wait", "scheduler"): "w.stopped_scheduler()",
    ("gpo_scheduler_drain", "scheduler"): "w.running_scheduler()", ("*", "handler"): "0",
    ("gpo_scheduler_get_blocks", "stride"): "sizeof(gpo_scheduler_block)", ("gpo_scheduler_get_blocks", "capacity"): "1",
    ("gpo_scheduler_get_samples", "stride"): "sizeof(gpo_depth_sample)", ("gpo_scheduler_get_samples", "capacity"): "1",
    ("gpo_scheduler_get_errors", "stride"): "sizeof(gpo_task_error)", ("gpo_scheduler_get_errors", "capacity"): "1",
    ("gpo_scheduler_drain", "timeout_ns"): "kPatience", ("gpo_scheduler_stop", "timeout_ns"): "kPatience",
    ("gpo_advise", "stride"): "sizeof(gpo_advice)", ("gpo_advise", "capacity"): "1",
    ("gpo_advise_trace", "path"): "w.trace.c_str()",
    ("gpo_peers_create", "devices"): "&w.device", ("gpo_peers_create", "count"): "1", ("*", "ranks"): "&w.rank",
    ("gpo_peers_split", "count"): "1", ("gpo_peers_submit", "count"): "1",
    ("gpo_peers_submit", "stride"): "sizeof(gpo_rank_part)", ("*", "rank"): "w.rank",
    ("gpo_symmetric_allocate", "bytes"): "4096", ("gpo_peers_launch", "count"): "1",
    ("gpo_peers_launch", "stride"): "sizeof(gpo_rank_launch)", ("gpo_memory_export", "address"): "w.memory",
    ("*", "exported"): "w.room.data()", ("gpo_memory_import", "bytes"): "GPO_EXPORT_BYTES",
    ("gpo_event_import", "bytes"): "GPO_EXPORT_BYTES", ("gpo_event_export", "event"): "w.between",
    ("*", "ticket"): "w.held_ticket()", ("gpo_admission_cancel", "ticket"): "w.waiting_ticket()",
    ("*", "time_ns"): "0", ("gpo_executor_cancel", "executor"): "w.timed_executor",
    ("gpo_executor_cancel", "ticket"): "w.timed_callback()",
    ("gpo_admission_cancel", "admission"): "w.full_admission", ("*", "flow"): "7", ("*", "weight"): "2",
    ("*", "key"): "0", ("gpo_batcher_cancel", "ticket"): "w.waiting_request()", ("gpo_batcher_cancel", "batcher"): "w.slow_batcher",
    ("gpo_admission_set_budget", "count"): "UINT64_MAX", ("gpo_admission_set_budget", "bytes"): "UINT64_MAX",
} | {
    (f"gpo_template_add_{node}", "graph_template"): "w.building()"
    for node in ("kernel", "copy", "fill", "empty", "event_record", "event_wait", "host_call", "child", "parameter", "if", "while",
                 "switch", "allocation")
} | {
    (f"gpo_template_{function}", "graph_template"): "w.recording()"
    for function in ("end", "cancel", "get_last_node", "set_last_node")
}

# Good calls that this world can't make, or that would end it, with their result instead of success.
GOOD_CALL = {
    "gpo_cq_wait": "GPO_TIMEOUT", "gpo_queue_wait": "GPO_TIMEOUT", "gpo_cq_get_error": "GPO_NOT_FOUND", "gpo_host_call_finish": "GPO_NOT_FOUND",
    "gpo_runtime_shutdown": None,
    "gpo_device_enable_peer": None, "gpo_device_disable_peer": None, "gpo_host_unregister": None,
    "gpo_timeline_fail": None, "gpo_trace_stop": "GPO_INVALID_STATE",
    "gpo_peers_abort": "GPO_NOT_SUPPORTED",   # of one process
    # Only another process could have exported something: tests/process/interprocess.cpp.
    "gpo_memory_import": "GPO_INVALID_ARGUMENT", "gpo_event_import": "GPO_INVALID_ARGUMENT",
}
# Result of a call with a struct that ends before its last field, where the field is mandatory.
SMALLER = {("gpo_template_add_copy", "copy"): "GPO_INVALID_ARGUMENT"}
# Results that differ inside: the device still has the calling host call to wait for.
INSIDE = {("gpo_device_wait", "host_call"): "GPO_TIMEOUT"}
# Calls for a template, whose refusal leaves its recording unchanged.
OF_TEMPLATES = {"gpo_template_get_last_node", "gpo_template_set_last_node"}
# Code that gives back the result of a good call, by function; {0} is the number of the output parameter.
GIVEN_BACK = {"gpo_cq_get_fd": "if (out{0} > 0) close(out{0});"}
DESTROYS = re.compile(r"gpo_\w+_destroy|gpo_device_close")
# Arguments that may be NULL only if another argument is 0.
NOT_ALONE = {"buffer": "GPO_INVALID_ARGUMENT", "after": "GPO_INVALID_ARGUMENT", "settings": "GPO_INVALID_ARGUMENT"}
# Arrays, whose structs have a stride beside their size, or are the library's to fill: by hand, in tests/conformance.
ARRAYS = {("gpo_cq_drain", "entries"), ("gpo_copy_batch", "copies"), ("gpo_graph_set_all", "settings"),
          ("gpo_template_launch", "settings"), ("gpo_buckets_launch", "settings"), ("gpo_advise", "advice"), ("gpo_queue_take", "entries"),
          ("gpo_scheduler_create", "handlers"), ("gpo_scheduler_get_blocks", "blocks"), ("gpo_scheduler_get_samples", "samples"),
          ("gpo_scheduler_get_errors", "errors"), ("gpo_peers_submit", "parts"), ("gpo_peers_launch", "launches")}
# The world's name for an object of a type whose own name is a word of C++.
OBJECT = {"template": "graph_template"}
# Names of objects in messages, by the world's name of their type; other objects have their type's name.
CALLED = {"graph_template": "template", "cq": "completion queue", "stream_pool": "stream pool", "symmetric": "symmetric memory"}


def value(function, name):
    found = VALUES.get((function, name), VALUES.get(("*", name)))
    if found is None:
        sys.exit(f"generate_bad_calls.py: there is no value for {name} of {function}")
    return found


class Function:
    def __init__(self, name, result, parameters, structs):
        self.name, self.result, self.parameters, self.structs = name, result, parameters, structs
        self.setup, self.good = [], []
        for number, (kind, word) in enumerate(parameters):
            self.good.append(self.good_argument(number, kind, word))

    def is_handle(self, number):
        kind, word = self.parameters[number]
        return (self.name, word) in contracts.ANY_HANDLE or bool(HANDLE.fullmatch(kind))

    def handle_type(self, number):
        kind, word = self.parameters[number]
        if (self.name, word) in contracts.ANY_HANDLE:
            return "stream"
        type_ = HANDLE.fullmatch(kind).group(1)
        return OBJECT.get(type_, type_)

    def struct_of(self, number):
        match = re.fullmatch(r"(const )?(gpo_\w+) \*", self.parameters[number][0])
        return (match.group(2), bool(match.group(1))) if match and match.group(2) in self.structs else (None, False)

    def good_argument(self, number, kind, word):
        if self.is_handle(number):
            special = VALUES.get((self.name, word))
            if special:
                return special
            if DESTROYS.fullmatch(self.name):
                return f"w.fresh_{self.handle_type(number)}()"
            return f"w.{self.handle_type(number)}"
        struct, is_input = self.struct_of(number)
        if struct:
            self.setup.append(f"[[maybe_unused]] auto s{number} = w.good_{struct}();" if is_input else f"[[maybe_unused]] auto s{number} = sized<{struct}>();")
            return f"&s{number}"
        match = re.fullmatch(r"(gpo_\w+_t|gpo_status|u?int\d+_t|size_t|void \*) ?\*", kind)
        if match and (self.name, word) not in VALUES:
            out = match.group(1)
            self.setup.append(f"[[maybe_unused]] {out}{'' if out.endswith('*') else ' '}out{number}{{}};")
            return f"&out{number}"
        return value(self.name, word)

    def call(self, replaced=None):
        arguments = list(self.good)
        if replaced:
            arguments[replaced[0]] = replaced[1]
        return f"{self.name}({', '.join(arguments)})"

    def given(self, arguments, other=None):
        """The handles that a call is given, as a list of world.h. `other`: the type that is given in the place of another, by
        its parameter's number."""
        types = {n: self.handle_type(n) for n in range(len(self.parameters)) if self.is_handle(n)} | (other or {})
        return "{" + ", ".join(f'{{"{CALLED.get(type_, type_)}", {arguments[n]}}}' for n, type_ in types.items()) + "}"

    def block(self, what, expected, number=None, argument=None, before=(), after=(), inside=None, other=None):
        """One call. What it made is given up again; and where it was refused, it may have made nothing. `inside`: what it is
        made in, a name of Inside. `other`: of which type the argument is."""
        arguments, handles = list(self.good), []
        if number is not None:
            arguments[number] = argument
        for n, (kind, word) in enumerate(self.parameters):
            if self.is_handle(n):
                any_type = (self.name, word) in contracts.ANY_HANDLE
                handles.append(f"{headers.declared('void *' if any_type else kind, f'h{n}')} = {arguments[n]};")
                arguments[n] = f"h{n}"
        given = self.given(arguments, {number: other} if other else None)
        lines = [*self.setup, *before, *handles, f"const Handles given{given};",
                 f'CHECK_CALL("{what}", {expected}, given, {self.name}({", ".join(arguments)}));', *after]
        for out, (kind, _) in enumerate(self.parameters):
            if out != number and re.fullmatch(r"gpo_\w+_t ?\*", kind):
                pooled = self.name == "gpo_stream_pool_acquire"
                lines.append(f"w.keep{'_pooled' if pooled else ''}(out{out});" if expected == "GPO_SUCCESS"
                             else f"CHECK(out{out} == nullptr);")
        if self.name in GIVEN_BACK and expected == "GPO_SUCCESS":
            lines.append(GIVEN_BACK[self.name].format(len(self.parameters) - 1))
        begin, end = (f"w.inside(Inside::{inside}, [&] {{", "});") if inside else ("{", "}")
        return [f"    {begin}", *(f"        {line}" for line in lines), "        w.renew();", f"    {end}"]

    def arguments(self, replaced=None):
        """Lines that make the arguments of a call first, and the call with these."""
        lines, words = list(self.setup), []
        for number, ((kind, _), argument) in enumerate(zip(self.parameters, self.good)):
            lines.append(f"[[maybe_unused]] {headers.declared(kind, f'a{number}')} = {argument};")
            words.append("nullptr" if number == replaced else f"a{number}")
        return lines, f"{self.name}({', '.join(words)})"

    def made(self, of):
        """What `of` does with each handle that was made, whose number is {}."""
        pooled = "_pooled" if self.name == "gpo_stream_pool_acquire" else ""
        return [of.format(out, pooled) for out, (kind, _) in enumerate(self.parameters) if re.fullmatch(r"gpo_\w+_t ?\*", kind)]

    def host_node_block(self, inside, expected):
        """In a host node, where it is refused unless it needs no driver. What is refused there has no effect: the same call
        outside does what it does."""
        lines, call = self.arguments()
        works = self.name in contracts.IN_HOST_NODES
        lines += [f"const Handles given{self.given([f'a{n}' for n in range(len(self.parameters))])};",
                  f"w.inside(Inside::{inside}, [&] {{",
                  f'    CHECK_CALL("inside a host node", {expected if works else "GPO_WOULD_DEADLOCK"}, given, {call});', "});"]
        if not works:
            lines += self.made("CHECK(out{} == nullptr);")
            lines.append(f'CHECK_CALL("behind the host node", {expected}, given, {call});')
        if expected == "GPO_SUCCESS":
            lines += self.made("w.keep{1}(out{0});")
        if self.name in GIVEN_BACK and expected == "GPO_SUCCESS":
            lines.append(GIVEN_BACK[self.name].format(len(self.parameters) - 1))
        return ["    {", *(f"        {line}" for line in lines), "        w.renew();", "    }"]

    def recording_block(self, replaced=None):
        """In a recording of its stream."""
        lines, call = self.arguments(replaced)
        own = next((f"a{i}" for i, argument in enumerate(self.good) if argument == "w.recording()"), "w.recording()")
        ended = "GPO_SUCCESS" if self.name in OF_TEMPLATES else "got >= 10 ? GPO_CAPTURE_REFUSED : GPO_SUCCESS"
        lines += [f"const gpo_template_t recorded = {own};", f"const gpo_status got = {call};",
                  'const Handles given{{"template", recorded}};',
                  *self.made("if (got == GPO_SUCCESS) w.keep{1}(out{0});"),
                  'INFO("in a recording: ", std::string(gpo_status_name(got)));',
                  f'CHECK_CALL("of what it may lack", {ended}, given, gpo_template_end(recorded));']
        return ["    {", *(f"        {line}" for line in lines), "        w.renew();", "    }"]

    def handle_blocks(self, number):
        kind, word = self.parameters[number]
        cast = kind if not (self.name, word) in contracts.ANY_HANDLE else "void *"
        type_ = self.handle_type(number)
        lines = []
        null = "GPO_SUCCESS" if contracts.ends(self.name) or (self.name, word) in contracts.NO_HANDLE else "GPO_INVALID_HANDLE"
        lines += self.block(f"{word} is NULL", null, number, "nullptr")
        lines += self.block(f"{word} is random", "GPO_INVALID_HANDLE", number, f"reinterpret_cast<{cast}>(w.random())")
        if cast != "void *":
            other = "w.event" if type_ != "event" else "w.stream"
            lines += self.block(f"{word} is of another type", "GPO_INVALID_HANDLE", number, f"reinterpret_cast<{cast}>({other})",
                                other="event" if type_ != "event" else "stream")
        if type_ != "runtime":
            lines += self.block(f"{word} was destroyed", "GPO_STALE_HANDLE", number, f"w.stale_{type_}")
            others = [i for i in range(len(self.parameters)) if i != number and self.is_handle(i)]
            if others:
                lines += self.block(f"{word} is of another runtime", "GPO_INVALID_HANDLE", number, f"w.other->{type_}")
        # Queues outlive their runtime: what they give then is in tests/conformance.
        if type_ != "cq" or not self.name.startswith("gpo_cq_"):
            lines += self.block(f"{word} is of a runtime that was shut down", "GPO_INVALID_HANDLE", number, f"w.gone_{type_}")
        return lines

    def struct_blocks(self, number):
        struct, is_input = self.struct_of(number)
        word = self.parameters[number][1]
        fields = [field for _, field in self.structs[struct]]
        made = f"w.good_{struct}()" if is_input else f"sized<{struct}>()"
        lines = self.block(f"{word} has size 0", "GPO_INVALID_ARGUMENT", number, f"&s{number}",
                           [f"s{number}.struct_size = 0;"])
        lines += self.block(f"{word} has size 3", "GPO_INVALID_ARGUMENT", number, f"&s{number}",
                            [f"s{number}.struct_size = 3;"])
        spans = ", ".join(f"{{offsetof({struct}, {field}), sizeof({struct}::{field})}}" for field in fields)
        lines += [f"    for (const uint32_t size : sizes_that_cut(sizeof({struct}), {{{spans}}})) {{",
                  *(f"        {line}" for line in self.setup), f"        s{number}.struct_size = size;",
                  '        INFO("struct_size is ", size);',
                  f'        CHECK_CALL("{word} ends inside a field", GPO_INVALID_ARGUMENT, Handles(), {self.call((number, f"&s{number}"))});',
                  "    }"]
        if GOOD_CALL.get(self.name, "") is not None:
            good = GOOD_CALL.get(self.name, "GPO_SUCCESS")
            lines += self.block(f"{word} is larger, with zeros", good, number, f"&l{number}.value",
                                [f"Larger<{struct}> l{number}{{{made}, {{}}}};",
                                 f"l{number}.value.struct_size = sizeof l{number};"])
            if not is_input:  # only as much is written as the caller has room for
                size = f"offsetof({struct}, {fields[-1]})"
                lines += self.block(f"{word} is smaller", good, number, f"&l{number}.value",
                                    [f"Larger<{struct}> l{number}{{{made}, {{}}}};",
                                     f"l{number}.value.struct_size = {size};", f"l{number}.guard({size});"],
                                    [f"CHECK(l{number}.guarded({size}));"])
            else:
                smaller = SMALLER.get((self.name, word), good)
                lines += self.block(f"{word} is smaller", smaller, number, f"&s{number}",
                                    [f"s{number}.struct_size = offsetof({struct}, {fields[-1]});",
                                     f"std::memset(&s{number}.{fields[-1]}, 0xee, sizeof s{number}.{fields[-1]});"])
        if is_input:
            lines += self.block(f"{word} is larger, with something in it", "GPO_INVALID_ARGUMENT", number, f"&l{number}.value",
                                [f"Larger<{struct}> l{number}{{{made}, {{}}}};",
                                 f"l{number}.value.struct_size = sizeof l{number};", f"l{number}.tail[7] = 1;"])
            if "flags" in fields:
                lines += self.block(f"{word} has unknown flags", "GPO_INVALID_ARGUMENT", number, f"&s{number}",
                                    [f"s{number}.flags |= 0x80000000u;"])
            if "reserved" in fields:
                lines += self.block(f"{word} has its reserved field set", "GPO_INVALID_ARGUMENT", number, f"&s{number}",
                                    [f"s{number}.reserved = 1;"])
        return lines

    def test(self):
        lines = [f'TEST_CASE("{self.name}: whatever is wrong with an argument is a status") {{', "    World& w = world();"]
        if "second_device" in " ".join(self.good):
            lines.append("    if (!w.second_device) return skip(\"needs two devices\");")
        count = len(lines)
        expected = GOOD_CALL.get(self.name, "GPO_SUCCESS")
        if expected is not None:
            lines += self.block("nothing is wrong", expected)
            for inside in ("callback", "host_call", "pipeline", "log"):
                status = INSIDE.get((self.name, inside), expected)
                lines += self.block(f"nothing is wrong, inside a {inside.replace('_', ' ')}", status, inside=inside)
            for inside in ("host_node", "imported_node"):
                lines += self.host_node_block(inside, expected)
            if any(kind == "gpo_stream_t" and argument == "w.stream" for (kind, _), argument in zip(self.parameters, self.good)):
                lines += self.recording_block()
                for number, (kind, word) in enumerate(self.parameters):
                    if self.is_handle(number) and word not in ("stream", "graph_template") or "*" in kind or kind.endswith("_fn"):
                        lines += self.recording_block(number)
        for number, (kind, word) in enumerate(self.parameters):
            if self.is_handle(number):
                lines += self.handle_blocks(number)
                continue
            if "*" in kind or kind.endswith("_fn"):
                if contracts.of(contracts.MAY_BE_NULL, self.name, word):
                    if expected is not None:
                        lines += self.block(f"{word} is NULL, which may be", NOT_ALONE.get(word, expected), number, "nullptr")
                    continue
                lines += self.block(f"{word} is NULL", "GPO_INVALID_ARGUMENT", number, "nullptr")
            if self.struct_of(number)[0] and (self.name, word) not in ARRAYS:
                lines += self.struct_blocks(number)
        return lines + ["}", ""] if len(lines) > count else []


def main():
    structs = headers.structs()
    lines = ["// Made from the public headers by tests/abi/generate_bad_calls.py.", "#include <unistd.h>", "", "#include <cstddef>", "#include <cstring>",
             "#include <string>", "", '#include "abi/world.h"', '#include "support/report.h"', "", "using namespace gpo::test;", ""]
    for name, (result, parameters) in headers.functions().items():
        if result == "gpo_status":
            lines += Function(name, result, parameters, structs).test()
    lines += ['TEST_CASE("after all bad calls everything can still be used and shut down") { end_world(); }', ""]
    with open(sys.argv[1], "w") as out:
        out.write("\n".join(lines))


if __name__ == "__main__":
    main()
