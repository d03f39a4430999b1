"""libgpuorch for Python: everything is declared from abi.json, nothing has to be built.

    gpo = gpuorch.Library()
    with gpo.runtime_create() as runtime, gpo.device_open(runtime) as device:
        print(gpo.device_get_properties(device).name.decode())

The names are C's without their prefix: functions gpo.stream_create, constants gpo.STREAM_BLOCKING, structs
gpo.StreamOptions(priority=-1), whose size is set. What a function writes it returns: handles, numbers, structs, texts.
Arguments that may be NULL may be left out, at the end. A status that says "no" is an Error; gpo.stream_query and
gpo.event_query return whether all is done. Handles close with close() or `with`. Waits can be interrupted: Ctrl-C ends each
of them.

Callbacks are Python functions, without C's `user`; structs come as they are. They are kept as long as they may be called, which
abi.json says of each ("called", "ended_by"). What one raises is printed, and is the status CALLBACK_FAILED. A pipeline keeps the memory of its source and sink until its run has ended;
memory that other work still uses is the caller's to keep.

A launch that is made often is prepared once: gpo.prepare(kernel, grid, block, *values) gives what gpo.launch would build each time.

The library is the one that the environment variable GPUORCH_LIBRARY names, else libgpuorch.so.0.
"""
import asyncio
import atexit
import ctypes
import json
import os
import pathlib
import sys
import threading
import time

SLICE_NS = 50_000_000  # a wait on the main thread looks for signals this often
SHUTDOWN_NS = 1_000_000_000  # what is left at exit gets this long, so that no callback meets an interpreter that is gone
INTEGERS = {"int32_t": ctypes.c_int32, "uint32_t": ctypes.c_uint32, "int64_t": ctypes.c_int64, "uint64_t": ctypes.c_uint64,
            "uint8_t": ctypes.c_uint8, "size_t": ctypes.c_size_t, "gpo_status": ctypes.c_int32}
CTYPES_OBJECT = ctypes.Structure.__base__  # of all that ctypes has
POINTERS = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_wchar_p, ctypes._Pointer, ctypes._CFuncPtr)


class Error(Exception):
    """A call that failed, or work that did: `status` is the number, `name` its name without GPO_."""

    def __init__(self, name, status, message="", function="", object="", native_code=0):
        super().__init__(f"{name}: {message}" if message else name)
        self.name, self.status, self.message = name, status, message
        self.function, self.object, self.native_code = function, object, native_code


class Timeout(Error, TimeoutError):
    """The time passed first; `result` is what the call wrote all the same."""
    result = None


class Handle(ctypes.c_void_p):
    """A handle. close() gives it back, and can be called again."""
    library, released_by = None, ()

    def close(self):
        """Of a runtime: waits until all is done."""
        end = getattr(self.library, self.released_by[0].removeprefix("gpo_"))
        end(self, *[-1] * (len(end.given) - 1))
        self.value = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __repr__(self):
        return f"<gpuorch {type(self).__name__} {self.value or 0:#x}>"


def checked(kind, value):
    """ctypes cuts numbers silently."""
    if isinstance(value, int) and kind(value).value != value:
        raise OverflowError(f"{value} doesn't fit {kind.__name__}")
    return value


def address(value):
    """What `void *` takes: an address, bytes, or any ctypes object. A pointer of ctypes' stands for where it leads."""
    if isinstance(value, bytes):
        return ctypes.cast(ctypes.c_char_p(value), ctypes.c_void_p).value
    if isinstance(value, POINTERS):
        return ctypes.cast(value, ctypes.c_void_p).value
    return ctypes.addressof(value) if isinstance(value, CTYPES_OBJECT) else value


class Struct(ctypes.Structure):
    """struct_size is set; texts may be str or paths, arrays lists, whose strides are set; what a pointer leads to is kept alive."""

    def __init__(self, **fields):
        super().__init__(struct_size=ctypes.sizeof(self))
        for name, value in fields.items():
            if name not in self.kinds:
                raise TypeError(f"{type(self).__name__} has no field {name}")
            setattr(self, name, value)

    def __setattr__(self, name, value):
        kind = self.kinds.get(name)
        if kind is ctypes.c_char_p and value is not None:
            value = os.fsencode(value)
        elif kind is ctypes.c_void_p:
            self.kept()[name] = value
            if isinstance(self, self.library.StageArgument) and isinstance(value, CTYPES_OBJECT):  # a value, be it a pointer's
                super().__setattr__("bytes", ctypes.sizeof(value))
                value = ctypes.addressof(value)
            value = address(value)
        elif isinstance(value, list):  # an array that a pointer leads to
            self.kept()[name], value = value, (kind._type_ * len(value))(*value)
            stride = name.removesuffix("s") + "_stride"
            if stride in self.kinds:
                super().__setattr__(stride, ctypes.sizeof(kind._type_))
        elif kind in self.library.callbacks and value is not None:
            value = self.library.callback(kind, value)
        elif kind in INTEGERS.values():
            checked(kind, value)
        super().__setattr__(name, value)

    def kept(self):
        return self.__dict__.setdefault("_kept", {})


class Function:
    """One function of the table, with what Python's callers needn't say."""

    def __init__(self, library, described, pointer):
        self.library, self.name = library, described["name"].removeprefix("gpo_")
        self.parameters = described["parameters"]
        self.kinds = [library.kind(one["type"]) for one in self.parameters]
        self.returns_status = described["returns"] == "gpo_status"
        self.call = ctypes.CFUNCTYPE(library.kind(described["returns"]), *self.kinds)(pointer)
        # For arguments that are of the right types already: converting them takes as long as a short call.
        self.unconverted = ctypes.CFUNCTYPE(library.kind(described["returns"]))(pointer)
        self.before = library.before.get(self.name)
        # Steps after a call (Library.keep).
        self.makes = [i for i, one in enumerate(self.parameters) if one["direction"] == "out" and one.get("owner") == "caller"]
        self.ended_by = {i: one["ended_by"] for i, one in enumerate(self.parameters) if one.get("called") == "often"}
        self.takes_callbacks = bool(self.ended_by) or any(library.calls(one["type"]) for one in self.parameters)
        self.ends = self.name in library.ends
        words = [one["name"] for one in self.parameters]
        self.timeout = words.index("timeout_ns") if "timeout_ns" in words else None
        self.is_text = "buffer" in words
        # The parameters that the caller gives; the others are written, and made here.
        self.given = [i for i, one in enumerate(self.parameters)
                      if one["direction"] == "in" or "length" in one and not self.is_text]
        if self.is_text:
            self.given = [i for i in self.given if words[i] != "capacity"]

    def __call__(self, *arguments):
        at_least = len(self.given)
        while at_least and self.parameters[self.given[at_least - 1]].get("nullable"):
            at_least -= 1
        if not at_least <= len(arguments) <= len(self.given):
            names = ", ".join(self.parameters[i]["name"] for i in self.given)
            raise TypeError(f"{self.name}({names}) was given {len(arguments)} arguments")
        values = [None] * len(self.parameters)
        for i, value in zip(self.given, arguments):
            values[i] = self.converted(i, value)
        if self.is_text:
            return self.text(values)
        if self.before:
            self.before(*arguments)
        written = [i for i in range(len(values)) if i not in self.given]
        for i in written:
            values[i] = self.kinds[i]._type_()
        passed = [ctypes.byref(value) if i in written else value for i, value in enumerate(values)]
        answer = self.wait(passed, [values[i] for i in written]) if self.timeout is not None else self.call(*passed)
        if not self.returns_status:
            return answer.decode() if isinstance(answer, bytes) else answer
        result = [value.value if type(value).__base__ is ctypes._SimpleCData else value for value in (values[i] for i in written)]
        result = result[0] if len(result) == 1 else tuple(result) or None
        if self.name.endswith("_query") and answer == self.library.NOT_READY:
            return False
        if answer != self.library.SUCCESS:
            for value in passed:  # a callback that wasn't accepted isn't owed
                self.library.owed.pop(id(value), None)
        if self.makes or self.takes_callbacks or self.ends:
            self.library.keep(self, arguments, passed, result, answer)
        self.library.check(answer, result)
        return True if self.name.endswith("_query") else result

    def converted(self, number, value):
        kind = self.kinds[number]
        if isinstance(value, str):
            return value.encode()
        if isinstance(value, Struct):
            return ctypes.byref(value)
        if kind in INTEGERS.values():
            return checked(kind, value)
        if kind in self.library.callbacks and value is not None:
            return self.library.callback(kind, value, once=number not in self.ended_by)
        if kind is ctypes.c_void_p and isinstance(value, Handle):
            return value.value
        return address(value) if kind is ctypes.c_void_p else value

    def wait(self, passed, written):
        """In slices where signals arrive: on the main thread Ctrl-C ends it. Counts of all slices are summed."""
        left = passed[self.timeout]
        if threading.current_thread() is not threading.main_thread():
            return self.call(*passed)
        end, sums = time.monotonic_ns() + left, [0] * len(written)
        while True:
            passed[self.timeout] = SLICE_NS if left < 0 else min(left, SLICE_NS)
            answer = self.call(*passed)
            for i, value in enumerate(written):
                if not isinstance(value, Struct):
                    value.value = sums[i] = sums[i] + value.value
            if left >= 0:
                left = max(end - time.monotonic_ns(), 0)
            if answer != self.library.TIMEOUT or left == 0 or self.library.interrupt:
                return answer

    def text(self, values):
        """Texts come as str, images as bytes."""
        buffer = next(i for i, one in enumerate(self.parameters) if one["name"] == "buffer")
        needed = ctypes.c_size_t(0)
        while True:
            room = ctypes.create_string_buffer(needed.value)
            values[buffer:] = [ctypes.cast(room, self.kinds[buffer]) if needed.value else None, needed.value,
                               ctypes.byref(needed)]
            answer = self.call(*values)
            if answer != self.library.BUFFER_TOO_SMALL and len(room) >= needed.value:
                self.library.check(answer)
                return room.raw if self.kinds[buffer] is ctypes.c_void_p else room.value.decode()


class Library:
    """libgpuorch, loaded with dlopen, as the table of gpo_get_api gives it."""

    def __init__(self, path=None, abi=None):
        trusted = os.getuid() == os.geteuid() and os.getgid() == os.getegid()
        path = path or trusted and os.environ.get("GPUORCH_LIBRARY") or "libgpuorch.so.0"
        try:
            library = ctypes.CDLL(str(path))
        except OSError as error:
            raise ImportError(f"{error} (GPUORCH_LIBRARY can name it)") from None
        abi = json.loads(pathlib.Path(abi or self.find_abi(path)).read_text())
        if not hasattr(library, abi["get_api"]):
            raise ImportError(f"{path} is not libgpuorch: it has no {abi['get_api']}")
        table = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint32)((abi["get_api"], library))(abi["version"])
        if not table:
            raise ImportError(f"{path} can't serve version {abi['version']} of the ABI")
        self.types, self.interrupt = {"void": None, **INTEGERS, "char": ctypes.c_char, "float": ctypes.c_float}, None
        self.callbacks, self.owed, self.returned, self.dropped, self.inside = set(), {}, [], [], []
        # By the numbers of handles: what is called until they end, and pipelines' runs.
        self.runtimes, self.kept, self.runs = set(), {}, {}
        self.before = {"pipeline_destroy": self.before_the_end}
        self.declare(abi)
        self.loaded_version = ctypes.c_uint32.from_address(table + 4).value
        size = ctypes.c_uint32.from_address(table).value
        for one in abi["functions"]:  # an older library has fewer
            if one["offset"] + abi["pointer_bytes"] <= size:
                pointer = ctypes.c_void_p.from_address(table + one["offset"]).value
                setattr(self, one["name"].removeprefix("gpo_"), Function(self, one, pointer))
        # The only wait without a timeout; run_for has slices.
        self.executor_run = lambda executor: self.executor_run_for(executor, -1)
        atexit.register(self.at_exit)

    def __getattr__(self, name):
        raise AttributeError(f"libgpuorch {self.loaded_version} has no {name}")

    @staticmethod
    def find_abi(path):
        """Beside this file, in the source tree, or where it or the library was installed."""
        here, prefix = pathlib.Path(__file__).resolve().parent, pathlib.Path(path).resolve().parent.parent
        prefixes = [prefix, prefix.parent, pathlib.Path("/usr/local"), pathlib.Path("/usr")]
        places = [here / "abi.json", here.parent / "abi.json", here.parent.parent.parent / "libgpuorch/abi.json",
                  *(folder / "share/gpuorch/abi.json" for folder in prefixes)]
        for place in places:
            if place.exists():
                return place
        raise ImportError(f"abi.json is in none of {', '.join(map(str, places))}")

    def declare(self, abi):
        self.statuses = {one["value"]: one["name"].removeprefix("GPO_") for one in abi["statuses"]}
        for one in abi["statuses"] + abi["constants"]:
            setattr(self, one["name"].removeprefix("GPO_"), one["value"])
        released = {parameter["type"].removesuffix(" *"): parameter["released_by"] for one in abi["functions"]
                    for parameter in one["parameters"] if "released_by" in parameter and one["name"] != "gpo_stream_pool_acquire"}
        for name in abi["handles"]:
            self.add(name, type(camel(name), (Handle,), {"library": self, "released_by": released[name]}))
        for one in abi["structs"]:
            self.add(one["name"], type(camel(one["name"]), (Struct,), {"library": self}))
        for one in abi["callbacks"]:
            kinds = [self.kind(parameter["type"]) for parameter in one["parameters"]]
            self.add(one["name"], ctypes.CFUNCTYPE(self.kind(one["returns"]), *kinds))
            self.callbacks.add(self.types[one["name"]])
        self.ends = {name.removeprefix("gpo_") for one in abi["functions"] + abi["structs"]
                     for each in one.get("parameters", one.get("fields")) for name in each.get("ended_by", ())}
        # The arguments of a function that ends callbacks.
        self.ended = {one["name"]: self.types[one["parameters"][0]["type"]] for one in abi["functions"]
                      if one["name"].removeprefix("gpo_") in self.ends}
        self.fields = {one["name"]: one["fields"] for one in abi["structs"]}
        for one in abi["structs"]:
            struct = self.types[one["name"]]
            struct.kinds, struct.ended_by = {}, {each["name"]: each["ended_by"] for each in one["fields"] if "ended_by" in each}
            for field in one["fields"]:
                kind = self.kind(field["type"])
                struct.kinds[field["name"]] = kind * field["count"] if "count" in field else kind
            struct._fields_ = list(struct.kinds.items())

    def add(self, name, kind):
        self.types[name] = kind
        setattr(self, camel(name), kind)

    def kind(self, c_type):
        base = c_type.replace("const", "").replace("*", "").strip()
        stars = c_type.count("*")
        kind = self.types[base]
        if stars and base in ("void", "char"):
            kind, stars = ctypes.c_void_p if base == "void" else ctypes.c_char_p, stars - 1
        for _ in range(stars):
            kind = ctypes.POINTER(kind)
        return kind

    def calls(self, c_type):
        """Whether a struct, or what its pointers lead to, has callbacks."""
        base = c_type.replace("const", "").replace("*", "").strip()
        return any("ended_by" in one or one["type"].endswith("*") and self.calls(one["type"]) for one in self.fields.get(base, ()))

    def check(self, status, result=None):
        """Raises what the status says, and first what a callback couldn't."""
        if self.interrupt:
            interrupt, self.interrupt = self.interrupt, None
            raise interrupt
        if status != self.SUCCESS:
            error = self.Error()
            self.last_error.call(ctypes.byref(error))
            raise self.error(status, error if error.status == status else None, result)

    def error(self, status, details=None, result=None):
        texts = [getattr(details, word).decode(errors="replace") for word in ("message", "function", "object")] if details else []
        error = (Timeout if status == self.TIMEOUT else Error)(
            self.statuses.get(status, str(status)), status, *texts, **{"native_code": details.native_code} if details else {})
        error.result = result
        return error

    def callback(self, kind, function, once=False):
        """`function` for C. One that is called once is kept until it has been."""
        failed = self.CALLBACK_FAILED if kind._restype_ else None

        def guarded(_, *arguments):
            self.inside.append(made)
            try:
                answer = function(*(getattr(value, "contents", value) if value else None for value in arguments)
                                  if kind is not self.SourceFn else arguments)
                return (answer or 0) if kind._restype_ else None
            except KeyboardInterrupt as interrupt:  # for the wait that this is inside of
                self.interrupt = interrupt
            except BaseException:
                sys.excepthook(*sys.exc_info())
            finally:
                self.inside.remove(made)
                if once:
                    self.returned.append(made)
                    del self.owed[id(made)]
            return failed

        self.returned.clear()  # not by themselves: they were still running
        made = kind(guarded)
        if once:
            self.owed[id(made)] = made
        return made

    def keep(self, function, arguments, passed, result, answer):
        """What has to stay after a call, and what hasn't any more."""
        name = function.name
        if answer != self.SUCCESS and (name != "pipeline_wait" or answer in (self.TIMEOUT, self.WOULD_DEADLOCK)):
            return
        of = arguments[0] if arguments else None
        first = getattr(of, "value", None)
        runtime = first if isinstance(of, self.Runtime) else getattr(of, "runtime", None)
        made = [one for one in (result if isinstance(result, tuple) else (result,)) if isinstance(one, Handle)]
        for handle in made:
            handle.runtime = handle.value if isinstance(handle, self.Runtime) else runtime
        if name == "runtime_create":
            self.runtimes.add(result.value)
        elif name == "pipeline_create":
            self.drop_ended()
        if name == "pipeline_start":  # the run before has ended
            self.runs[first] = passed
        elif function.takes_callbacks:
            ended_by = [one for i, one in function.ended_by.items() if passed[i]]
            for one in [*ended_by, *self.ended_by(arguments)]:
                self.keep_until(one, [*made, *arguments], runtime, passed)
        if name == "runtime_create" or name == "pipeline_create":  # drop_ended() wants to know of all
            self.kept.setdefault(result.value, Kept(result.runtime))
        elif name == "pipeline_wait":
            self.runs.pop(first, None)
        elif name == "pipeline_destroy":
            if first in self.kept and not self.kept[first].outlived:
                self.drop(first)
            self.drop_ended()
        elif function.ends:
            if name == "runtime_shutdown":
                self.runtimes.discard(first)
                for number in [number for number, kept in self.kept.items() if kept.runtime == first]:
                    self.drop(number)
            self.drop(first)

    def ended_by(self, value):
        """What ends the calls of the callbacks that structs lead to."""
        if isinstance(value, Struct):
            yield from (ends for field, ends in value.ended_by.items() if getattr(value, field))
            yield from self.ended_by(list(value.kept().values()))
        elif isinstance(value, (list, tuple, ctypes.Array)):
            for one in value:
                yield from self.ended_by(one)
        elif isinstance(value, ctypes._Pointer) and value:
            yield from self.ended_by(value.contents)

    def keep_until(self, ended_by, handles, runtime, passed):
        """With the object that one of these functions takes: one of the call's, or else its runtime. What isn't known to be of a
        runtime stays for good."""
        kind = self.ended[ended_by[0]]
        number = next((one.value for one in handles if isinstance(one, kind)), runtime)
        kept = self.kept.setdefault(number, Kept(runtime))
        if not any(one is passed for one in kept.calls):
            kept.calls.append(passed)

    def drop(self, number):
        kept = self.kept.pop(number, None)
        if kept and kept.cq:
            self.cq_destroy.call(kept.cq)
        self.dropped.append((kept, self.runs.pop(number, None)))
        if not self.inside:  # no thread is in one of them
            self.dropped.clear()

    def before_the_end(self, pipeline):
        """A pipeline that is closed during its run calls, and uses memory, until the run has ended: an entry in a queue says
        when. Where there can be no entry, all stays until the runtime has shut down."""
        kept = self.kept.get(pipeline.value)
        if not kept or self.pipeline_wait.call(pipeline, 0, None) not in (self.TIMEOUT, self.WOULD_DEADLOCK):
            return
        kept.outlived, runtime = True, self.kept.get(kept.runtime)
        if not runtime:
            return
        if not runtime.cq:
            cq = self.Cq()
            self.cq_create.call(self.Runtime(kept.runtime), None, ctypes.byref(cq))
            runtime.cq = cq if cq.value else None
        if runtime.cq:
            self.pipeline_notify.call(pipeline, runtime.cq, pipeline.value)

    def drop_ended(self):
        """Of pipelines that were closed during a run that has ended since."""
        for cq in [kept.cq for kept in self.kept.values() if kept.cq]:
            try:
                entries = self.drain(cq)
            except Error as end:
                if end.status != self.SHUT_DOWN:
                    raise
                continue  # a shutdown that has timed out: all of them have been taken
            for entry in entries:
                self.drop(entry.user_data)

    def launch(self, stream, kernel, grid, block, *values, **options):
        """A kernel with arguments that know their size: ctypes numbers and structs."""
        self.prepare(kernel, grid, block, *values, **options)(stream)

    def prepare(self, kernel, grid, block, *values, **options):
        """The same as an object that is called with a stream, any number of times. Each call takes the values as they are then:
        `values[1].value = 7` changes one."""
        return Prepared(self, kernel, self.Launch(grid=tuple(grid), block=tuple(block), **options), values)

    def drain(self, cq, capacity=256):
        """What is in a completion queue by now. SHUT_DOWN is raised where the runtime is shut down and nothing is left."""
        entries = (self.Completion * capacity)()
        return entries[:self.cq_drain(cq, entries, ctypes.sizeof(self.Completion), capacity)]

    def at_exit(self):
        for runtime in list(self.runtimes):
            self.runtime_shutdown.call(runtime, SHUTDOWN_NS)


class Kept:
    """What is called until an object ends: the arguments of calls that gave it. `runtime`: the object's. `cq`, of a runtime:
    where pipelines that were closed say that their run has ended."""

    def __init__(self, runtime):
        self.calls, self.runtime, self.cq, self.outlived = [], runtime, None, False


class Prepared:
    """A launch whose arguments were converted once: see Library.prepare."""

    def __init__(self, library, kernel, launch, values):
        function = library.stream_launch_kernel
        if not isinstance(kernel, function.kinds[1]):
            raise TypeError(f"a kernel expected, not {kernel!r}")
        self.library, self.kind, self.values, self.kept = library, function.kinds[0], values, (kernel, launch)
        self.call = function.unconverted
        self.passed = (kernel, ctypes.byref(launch), (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values)),
                       (ctypes.c_uint32 * len(values))(*map(ctypes.sizeof, values)), len(values))

    def __call__(self, stream):
        if not isinstance(stream, self.kind):
            raise TypeError(f"a stream expected, not {stream!r}")
        answer = self.call(stream, *self.passed)
        if answer:
            self.library.check(answer)


def camel(name):
    """gpo_stream_options: StreamOptions; gpo_stream_t: Stream; gpo_copy_2d: Copy2d."""
    return "".join(word.capitalize() for word in name.removeprefix("gpo_").removesuffix("_t").split("_"))


class Completions:
    """Futures of asyncio for GPU work: a completion queue whose descriptor the running loop watches.

        done = gpuorch.Completions(gpo, runtime)
        completion = await done.stream(stream)
    """

    def __init__(self, gpo, runtime, **options):
        self.gpo, self.waiting, self.last, self.loop = gpo, {}, 0, asyncio.get_running_loop()
        self.cq = gpo.cq_create(runtime, gpo.CqOptions(**options))
        self.descriptor = gpo.cq_get_fd(self.cq)
        self.loop.add_reader(self.descriptor, self.drain)

    def stream(self, stream):
        return self.marked(self.gpo.stream_notify, stream)

    def event(self, event):
        return self.marked(self.gpo.event_notify, event)

    def timeline(self, timeline, value):
        return self.marked(self.gpo.timeline_notify, timeline, value)

    def pipeline(self, pipeline):
        return self.marked(self.gpo.pipeline_notify, pipeline)

    def marked(self, notify, *what):
        """A future that ends with the completion, or with the failure of the work. One that is cancelled or forgotten is no
        harm. WOULD_BLOCK is raised at once where the queue is full."""
        notify(*what, self.cq, self.last + 1)
        self.last += 1
        future = self.waiting[self.last] = self.loop.create_future()
        return future

    def drain(self):
        try:
            entries = self.gpo.drain(self.cq)
        except Error as end:
            if end.status != self.gpo.SHUT_DOWN:
                raise
            self.loop.remove_reader(self.descriptor)  # which is readable for good
            return
        for entry in entries:
            future = self.waiting.pop(entry.user_data)
            if future.done():
                continue
            if entry.status == self.gpo.SUCCESS:
                future.set_result(entry)
            else:
                future.set_exception(self.gpo.error(entry.status, self.details(entry)))

    def details(self, entry):
        try:
            return self.gpo.cq_get_error(self.cq, entry.error_id)
        except Error:
            return None  # only the newest failures have details

    def close(self):
        """Futures that wait are cancelled; the work goes on."""
        if self.descriptor is None:
            return
        self.loop.remove_reader(self.descriptor)
        os.close(self.descriptor)
        self.descriptor = None
        self.cq.close()
        for future in self.waiting.values():
            future.cancel()
        self.waiting.clear()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
