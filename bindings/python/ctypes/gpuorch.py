"""libgpuorch for Python: everything is declared from abi.json, nothing has to be built.

    gpo = gpuorch.Library()
    with gpo.runtime_create() as runtime, gpo.device_open(runtime) as device:
        print(gpo.device_get_properties(device).name.decode())

The names are C's without their prefix: functions gpo.stream_create, constants gpo.STREAM_BLOCKING, structs
gpo.StreamOptions(priority=-1), whose size is set. What a function writes it returns: handles, numbers, structs, texts.
A status that says "no" is an Error; gpo.stream_query and gpo.event_query return whether all is done. Waits can be
interrupted: Ctrl-C ends each of them.

Arguments may be named. Those that may be NULL may be left out. Memory is an object with the buffer protocol (bytearray, mmap, an
array of numpy), a ctypes object, or an address; arrays are lists too. Then their lengths may be left out. A kernel's arguments
are Python numbers, which get the size of the kernel's parameter, or objects that have a size: ctypes objects, numbers of numpy,
and buffers, whose bytes are the value. An int is passed as an integer: write 2.0 for a float's 2.

Handles close with close() or `with`, and when Python collects them: see help(gpuorch.Handle).

Callbacks are Python functions, without C's `user`; structs come as they are. They are kept as long as they may be called, which
abi.json says of each ("called", "ended_by"). What one raises is printed, and is the status CALLBACK_FAILED. A pipeline keeps the
memory of its source and sink until its run has ended. Memory that other work still uses is the caller's to keep: the target of
copy_to_host until the stream has done the copy.

A launch that is made often is prepared once: gpo.prepare(kernel, grid, block, *values) gives what gpo.launch would build each time.

The library is the one that the environment variable GPUORCH_LIBRARY names, else the one beside this file, else
libgpuorch.so.0.1.
"""
import asyncio
import atexit
import collections
import ctypes
import inspect
import json
import keyword
import operator
import os
import pathlib
import queue
import re
import sys
import textwrap
import _thread
import threading
import time
import warnings
import weakref

SONAME = "libgpuorch.so.0.1"
SLICE_NS = 50_000_000  # a wait on the main thread looks for signals this often
SHUTDOWN_NS = 1_000_000_000  # what is left at exit gets this long, so that no callback meets an interpreter that is gone
CLOSING_NS = 10_000_000  # one try of the closing thread at a runtime's shutdown
PAUSES = (0.001, 0.1)  # seconds between two tries of the closing thread: at first, and at most
INTEGERS = {"int32_t": ctypes.c_int32, "uint32_t": ctypes.c_uint32, "int64_t": ctypes.c_int64, "uint64_t": ctypes.c_uint64,
            "uint8_t": ctypes.c_uint8, "size_t": ctypes.c_size_t, "gpo_status": ctypes.c_int32}
INTEGER_KINDS = frozenset(INTEGERS.values())
CTYPES_OBJECT = ctypes.Structure.__base__  # of all that ctypes has
BYREF = type(ctypes.byref(ctypes.c_int()))  # has no documentation, and is no class of this module
POINTERS = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_wchar_p, ctypes._Pointer, ctypes._CFuncPtr)
# A pointer for C, the number of bytes or elements that it points to (None: unknown), and an object whose life keeps the
# memory valid.
Memory = collections.namedtuple("Memory", "passed count kept")
NULL = Memory(None, None, None)


class Error(Exception):
    """A call that failed, or work that did.

    status        the number: error.status == gpo.NOT_FOUND
    name          its name: "NOT_FOUND"; help(gpo) has all names and their meanings
    message       one sentence that says what was wrong
    function      the function of C's that failed
    object        the object that is to blame, with its label: "stream `upload`"
    native_code   the number of the driver's or the system's error, or 0

    Any call may raise INVALID_ARGUMENT, INVALID_HANDLE and STALE_HANDLE (a handle of another type, or of an object that
    was destroyed), OUT_OF_MEMORY, DEVICE_LOST, FORKED (after a fork) and SHUT_DOWN. A wait whose time has passed raises
    Timeout. Arguments that Python can't pass raise TypeError, ValueError or OverflowError."""

    def __init__(self, name, status, message="", function="", object="", native_code=0):
        super().__init__(f"{name}: {message}" if message else name)
        self.name, self.status, self.message = name, status, message
        self.function, self.object, self.native_code = function, object, native_code


class Timeout(Error, TimeoutError):
    """The timeout passed before the result was there. `result` is what the call wrote until then."""
    result = None


class Closing:
    """Jobs that finalisers put off. A finaliser runs on any thread, between any two steps of the program. Therefore a
    finaliser neither waits nor takes a lock. A thread does the jobs: it starts with the first job, and ends when no job
    is left."""

    def __init__(self):
        self.begin()

    def begin(self):
        """No thread, and no jobs."""
        self.process, self.jobs, self.ended = os.getpid(), queue.SimpleQueue(), False
        self.running = _thread.allocate_lock()  # locked while the thread exists

    def do(self, job):
        """`job` is called until it returns true."""
        if self.process != os.getpid():  # a forked child has no such thread
            self.begin()
        self.jobs.put(job)
        self.start()

    def start(self):
        """Starts the thread, if it doesn't exist."""
        if not self.ended and self.running.acquire(False):
            try:
                _thread.start_new_thread(self.work, ())
            except RuntimeError:  # the system has no thread to give: the next job tries again
                self.running.release()

    def work(self):
        """What the thread does."""
        jobs, pause = [], PAUSES[0]
        while not self.ended:
            jobs += [self.jobs.get() for _ in range(self.jobs.qsize())]
            before = len(jobs)
            jobs = [job for job in jobs if self.ended or not self.done(job)]
            if not jobs and self.jobs.empty():
                break
            pause = PAUSES[0] if len(jobs) < before else min(2 * pause, PAUSES[1])
            try:
                jobs.append(self.jobs.get(timeout=pause))
            except queue.Empty:
                pass
        self.running.release()
        if not self.jobs.empty():
            self.start()

    @staticmethod
    def done(job):
        """Whether a job is done now. A job that fails is done too."""
        try:
            return job()
        except Exception:
            sys.excepthook(*sys.exc_info())
            return True

    def end(self):
        """At exit. A job that is under way gets a second."""
        if self.process == os.getpid():
            self.ended = True
            self.jobs.put(lambda: True)
            if self.running.acquire(timeout=SHUTDOWN_NS / 1e9):
                self.running.release()


CLOSING = Closing()


class Owned:
    """What has to be given back for a handle.

    runtime, root   the runtime's handle, which stays open meanwhile, and the Owned of that handle
    pool            of a stream that was acquired from a pool: the pool
    calls           callbacks that the object calls, with all that their calls need
    owed, caller    of an executor that the program runs: the callbacks that wait there; and that it is such an executor
    exposed         the program may have something that is valid only as long as the object exists
    run_outlives    of a pipeline: it is closed during a run
    Of a runtime:
    children        weak references to the Owned of each object that is open
    cq              gets an entry when the run of a closed pipeline has ended
    log_executor    the executor that calls the log function
    ended           the runtime has shut down"""
    pool, caller, exposed, run_outlives, cq, log_executor, ended = None, False, False, False, None, None, False

    def __init__(self, runtime, root):
        self.runtime, self.root, self.process = runtime, root, os.getpid()
        self.calls, self.children, self.owed = [], {}, {}


class Owed:
    """A callback that the library calls once. Until then the callback is in `home`, and keeps its executor."""
    made, executor, called = None, None, False

    def __init__(self, home):
        self.home = home

    def forget(self):
        """The library won't call the callback again."""
        self.home.pop(id(self), None)
        self.made = self.executor = None


class Documented:
    """`__doc__` of a class whose objects have a documentation each. It is made from abi.json when help() asks for it.

    own    the documentation of the class itself"""

    def __init__(self, own):
        self.own = own

    def __get__(self, one, kind=None):
        return self.own if one is None else one.documentation()

    def __set__(self, one, value):
        raise AttributeError("the documentation is made from abi.json")


class HandleKind(type(ctypes.c_void_p)):
    __doc__ = Documented("""The type of the classes of handles.""")

    def documentation(cls):
        """What help(gpo.Stream) shows."""
        return cls.__dict__["__doc__"] or cls._library and Manual(cls._library).handle(cls)


class StructKind(type(ctypes.Structure)):
    __doc__ = Documented("""The type of the classes of structs.""")

    def documentation(cls):
        """What help(gpo.StreamOptions) shows."""
        return cls.__dict__["__doc__"] or cls._library and Manual(cls._library).struct(cls)


class Handle(ctypes.c_void_p, metaclass=HandleKind):
    """A handle of an object. close() gives the object back, and may be called again. `with` calls close() at its end.

    A handle that Python collects is closed. As after close(), work that was given to the object goes on. A runtime is
    closed after everything that was made from the runtime. A pipeline isn't collected during a run, and an executor
    isn't collected while a callback waits for work or for its time. If only the program can run the executor
    (EXECUTOR_CALLER), the executor is collected with its callbacks: then they are called with the result, or with
    CANCELLED.

    Collecting never waits. A thread of the module closes what may have to wait: runtimes, groups of peers, graphs,
    templates, buckets, executors with waiting callbacks, and everything that is collected inside a callback.

    Some objects stay open until their runtime is closed, because the module can't see when they are used last:
    - objects that the program has asked for an address, a native object, a device handle or an export
    - queues that were pushed to or reset, and schedulers that were started.
    A deterministic runtime stays open until the program calls close() or ends.

    After fork() nothing is closed in the child. In development mode (python3 -X dev) a ResourceWarning names each
    handle that the program did not close.

    Memory is a number and no handle: gpo.memory_free and other functions free it, or else the end of the runtime."""
    _library, released_by, owned = None, (), None

    def close(self):
        """Gives the object back, and may be called again. The work of the object goes on, but close() of a runtime waits for
        all work.

        Raises Error: INVALID_HANDLE, if the runtime of the object was closed before; WOULD_DEADLOCK, if a callback
        closes its own runtime."""
        if self.value and self.owned and self.owned.pool:
            self._library.stream_pool_release(self.owned.pool, self)
        else:
            end = getattr(self._library, self.released_by[0].removeprefix("gpo_"))
            end(self, *[-1] * (len(end.given) - 1))
        self.value = None

    def __enter__(self):
        """The handle itself: `with` closes it."""
        return self

    def __exit__(self, *_):
        """Calls close()."""
        self.close()

    def __del__(self):
        owned = self.owned
        if owned and not self._library.exits:
            self.owned = None
            self._library.collected(self, owned)

    def __repr__(self):
        return f"<gpuorch {type(self).__name__} {self.value or 0:#x}>"


def checked(kind, value):
    """An integer for C: ctypes cuts integers silently, and refuses those of numpy."""
    if hasattr(value, "__index__"):
        value = operator.index(value)
        if kind(value).value != value:
            raise OverflowError(f"{value} doesn't fit {kind.__name__}")
    return value


class Buffer(ctypes.Structure):
    """Py_buffer."""
    _fields_ = [("address", ctypes.c_void_p), ("owner", ctypes.c_void_p), ("bytes", ctypes.c_ssize_t), ("item", ctypes.c_ssize_t),
                ("readonly", ctypes.c_int), ("dimensions", ctypes.c_int), ("rest", ctypes.c_void_p * 5)]


def viewed(value, name, writes=False):
    """(memoryview, address) of an object with the buffer protocol. The memory stays there as long as the view exists."""
    try:
        view = memoryview(value)
    except TypeError:
        raise TypeError(f"{name} takes memory: an object with the buffer protocol, a ctypes object or an address, "
                        f"not {type(value).__name__}") from None
    if not view.c_contiguous:
        raise ValueError(f"{name} takes contiguous memory in C's order: give a copy of this {type(value).__name__}")
    if writes and view.readonly:
        raise TypeError(f"{name} is written to, and this {type(value).__name__} is read-only")
    buffer = Buffer()
    ctypes.pythonapi.PyObject_GetBuffer(ctypes.py_object(view), ctypes.byref(buffer), 0)
    ctypes.pythonapi.PyBuffer_Release(ctypes.byref(buffer))
    return view, buffer.address


def memory(value, name, writes=False):
    """What `void *` takes: an address, a ctypes object, or an object with the buffer protocol. A pointer of ctypes' stands for
    where it leads."""
    if value is None:
        return NULL
    if isinstance(value, Handle):
        return Memory(value.value, None, value)
    if isinstance(value, POINTERS):
        return Memory(ctypes.cast(value, ctypes.c_void_p).value, None, value)
    if isinstance(value, CTYPES_OBJECT):
        return Memory(ctypes.addressof(value), ctypes.sizeof(value), value)
    if isinstance(value, (int, BYREF)):
        return Memory(value, None, value)
    view, address = viewed(value, name, writes)
    return Memory(address, view.nbytes, view)


def array(kind, value, name):
    """What a pointer to numbers, structs, handles or texts takes: a list, a ctypes array, or a buffer of such numbers."""
    element = kind._type_
    if value is None:
        return NULL
    if isinstance(value, Struct):
        return Memory(ctypes.pointer(value), 1, value)
    if isinstance(value, ctypes.Array):
        return Memory(value, len(value), value)
    if isinstance(value, (CTYPES_OBJECT, BYREF)):
        return Memory(value, None, value)
    if isinstance(value, (list, tuple, range)):
        if element in INTEGER_KINDS:
            value = [checked(element, one) for one in value]
        elif element is ctypes.c_char_p:
            value = [os.fsencode(one) for one in value]
        return Memory((element * len(value))(*value), len(value), tuple(value))
    if element not in (ctypes.c_float, *INTEGER_KINDS):
        raise TypeError(f"{name} takes a list of {element.__name__}, not {type(value).__name__}")
    view, address = viewed(value, name)
    code, wanted = view.format.lstrip("@=<"), element._type_
    if (code in ("f", "d"), code.isupper(), view.itemsize) != (wanted == "f", wanted.isupper(), ctypes.sizeof(element)):
        raise TypeError(f"{name} takes a list, or memory of {element.__name__}, and this {type(value).__name__} has the format "
                        f"{view.format}")
    return Memory(ctypes.cast(address, kind), len(view.cast("B")) // view.itemsize, view)


def is_number(value):
    """Numbers of numpy aren't meant: they have a size of their own."""
    return isinstance(value, (int, float)) and not hasattr(value, "dtype")


def number(value, size, name):
    """A Python number as a ctypes object of `size` bytes."""
    if size not in (4, 8):
        raise TypeError(f"{name} has {size} bytes, and {value} may be several types of that size: "
                        "give a ctypes object, such as ctypes.c_uint8(1), or a number of numpy")
    if isinstance(value, float):
        return (ctypes.c_float if size == 4 else ctypes.c_double)(value)
    kind = (ctypes.c_int32 if size == 4 else ctypes.c_int64) if value < 0 else ctypes.c_uint32 if size == 4 else ctypes.c_uint64
    if kind(value).value != value:
        raise OverflowError(f"{name} has {size} bytes, and {value} doesn't fit")
    return kind(value)


# Calls after which the program or the GPU may use an object's resources without the module's knowledge.
EXPOSES = ("event_export", "queue_push", "queue_reset", "scheduler_start")


class Struct(ctypes.Structure, metaclass=StructKind):
    """A struct. Fields may be given by name: gpo.StreamOptions(priority=-1). Fields that aren't given are 0, which selects
    the defaults. struct_size is set; texts may be str or paths, arrays lists, whose strides and counts are set; what a
    pointer leads to is kept alive."""
    _library = None

    def __init__(self, **fields):
        super().__init__(struct_size=ctypes.sizeof(self))
        if "arguments" in fields:  # last: the kernel says their sizes
            fields["arguments"] = fields.pop("arguments")
        for name, value in fields.items():
            if name not in self.kinds:
                raise TypeError(f"{type(self).__name__} has no field {name}")
            setattr(self, name, value)

    def __setattr__(self, name, value):
        kind = self.kinds.get(name)
        if kind in INTEGER_KINDS:
            value = checked(kind, value)
            if name in self.lengths.values():
                self._check_length(name, value)
        elif kind is ctypes.c_char_p and value is not None:
            value = os.fsencode(value)
        elif kind is ctypes.c_void_p:
            label = f"{type(self).__name__}.{name}"
            value = self._hold(name, self._stage_value(value) or memory(value, label, name in self.written))
        elif kind in self._library.callbacks and value is not None:
            value = self._library.callback(kind, value)
        elif kind and issubclass(kind, Handle):
            self.kept()[name] = Memory(None, None, value)
        elif kind and issubclass(kind, ctypes._Pointer):
            if name == "arguments" and isinstance(value, (list, tuple)):
                value = self._library.arguments_of(self, value)
            value = self._hold(name, array(kind, value, f"{type(self).__name__}.{name}"))
        elif kind and issubclass(kind, ctypes.Array) and isinstance(value, (list, tuple)):
            if len(value) > kind._length_:
                raise TypeError(f"{type(self).__name__}.{name} has {kind._length_} elements, not {len(value)}")
            value = kind(*(checked(kind._type_, one) if kind._type_ in INTEGER_KINDS else one for one in value))
        super().__setattr__(name, value)

    def __repr__(self):
        """The fields that aren't 0."""
        values = {name: getattr(self, name) for name in self.kinds if name != "struct_size"}
        values = {name: list(value) if isinstance(value, ctypes.Array) else value for name, value in values.items()}
        values = {name: value for name, value in values.items() if (any(value) if isinstance(value, list) else value)}
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in values.items())})"

    def _stage_value(self, value):
        """Of a stage's argument, if it is no address: a number, whose size the kernel says later, or any ctypes object, be it a
        pointer's."""
        if not isinstance(self, self._library.StageArgument):
            return None
        self.__dict__["number"] = value if is_number(value) else None
        if isinstance(value, CTYPES_OBJECT):
            return Memory(ctypes.addressof(value), ctypes.sizeof(value), value)
        return NULL if isinstance(value, float) else None

    def _hold(self, name, given):
        """The pointer to what is given; its stride and its length are set, if they weren't."""
        before, self.kept()[name] = self.kept().get(name, NULL), given
        if name in self.strides and isinstance(given.passed, ctypes.Array):
            super().__setattr__(self.strides[name], ctypes.sizeof(given.passed._type_))
        length = self.lengths.get(name)
        if length and given.count is not None:
            if getattr(self, length) in (0, before.count):
                super().__setattr__(length, given.count)
            self._check_length(length, getattr(self, length))
        return given.passed

    def _check_length(self, name, value):
        for pointer, length in self.lengths.items():
            count = self.kept().get(pointer, NULL).count
            if length == name and count is not None and value > count:
                raise ValueError(f"{type(self).__name__}.{name} is {value}, and {pointer} has {count}")

    def kept(self):
        """By field: what the field's pointer leads to."""
        return self.__dict__.setdefault("_kept", {})


class Function:
    __doc__ = Documented("""One function of the library: gpo.stream_wait(stream, timeout_ns).

    Arguments may be named, and arguments that may be None may be left out. What the function writes is returned. Each
    function has a documentation of its own: help(gpo.stream_wait).""")

    def __init__(self, library, described, pointer):
        self.described = described
        self.library, self.name = library, described["name"].removeprefix("gpo_")
        self.parameters = described["parameters"]
        self.words = [one["name"] for one in self.parameters]
        self.kinds = [library.kind(one["type"]) for one in self.parameters]
        self.returns_status = described["returns"] == "gpo_status"
        self.call = ctypes.CFUNCTYPE(library.kind(described["returns"]), *self.kinds)(pointer)
        # For arguments that already have ctypes' types: a conversion would take as long as a short call.
        self.unconverted = ctypes.CFUNCTYPE(library.kind(described["returns"]))(pointer)
        self.before = library.before.get(self.name)
        # Steps after a call (Library.keep).
        self.makes = [i for i, one in enumerate(self.parameters) if one["direction"] == "out" and one.get("owner") == "caller"]
        self.ended_by = {i: one["ended_by"] for i, one in enumerate(self.parameters) if one.get("called") == "often"}
        self.takes_callbacks = any("called" in one or library.calls(one["type"]) for one in self.parameters)
        self.ends, self.gives_back = self.name in library.ends, library.gives_back.get(self.name)
        self.exposes = self.name in EXPOSES or self.name.endswith("_get_device_handle") or any(
            one.get("owner") == "library" for one in self.parameters)
        self.keeps = bool(self.makes or self.takes_callbacks or self.ends) or self.gives_back is not None
        self.timeout = self.words.index("timeout_ns") if "timeout_ns" in self.words else None
        self.is_text = "buffer" in self.words
        # Indices of the parameters that the caller passes. The function writes the others, and the module makes them.
        hidden = ("buffer", "capacity") if self.is_text else ()
        self.given = [i for i, one in enumerate(self.parameters) if one["name"] not in hidden and
                      (one["direction"] == "in" or "length" in one or one["type"] == "void *")]
        self.written = [i for i in range(len(self.words)) if i not in self.given]
        # Indices of the parameters that are pointers to memory; of each pointer's length; of strides, with the default
        # stride;
        # and of a kernel's arguments.
        self.memories = [i for i in self.given if self.kinds[i] is ctypes.c_void_p or "length" in self.parameters[i]]
        self.lengths = {i: self.words.index(self.parameters[i]["length"]) for i in self.given if "length" in self.parameters[i]}
        self.strides = {i: ctypes.sizeof(self.kinds[i - 1]._type_) for i in self.given if self.words[i] == "stride"}
        self.arguments = next((i for i in self.memories if self.parameters[i]["type"] == "const void *const *"), None)
        self.optional = {*(i for i in self.given if self.parameters[i].get("nullable")), *self.lengths.values(), *self.strides}
        self.converters = [self.converter(i, self.kinds[i], f"{self.name}: {self.words[i]}") for i in self.given]

    def __call__(self, *arguments, **named):
        given = arguments if len(arguments) == len(self.given) and not named else self.completed(arguments, named)
        values = [None] * len(self.kinds)
        try:
            for i, convert, value in zip(self.given, self.converters, given):
                values[i] = convert(value) if convert else value
            kept = self.measured(values)
            if self.exposes:
                self.library.expose(given[0])
            if self.is_text:
                return self.text(values)
            if self.before:
                self.before(*given)
            written = [self.kinds[i]._type_() for i in self.written]
            for i, value in zip(self.written, written):
                values[i] = ctypes.byref(value)
            answer = self.wait(values, written) if self.timeout is not None else self.call(*values)
        except BaseException:
            self.library.forget(values)
            raise
        if not self.returns_status:
            return answer.decode() if isinstance(answer, bytes) else answer
        result = [value.value if type(value).__base__ is ctypes._SimpleCData else value for value in written]
        result = result[0] if len(result) == 1 else tuple(result) or None
        if self.name.endswith("_query") and answer == self.library.NOT_READY:
            return False
        if answer != self.library.SUCCESS:
            self.library.forget(values)
        if self.keeps:
            self.library.keep(self, given, values, result, answer)
        del kept
        self.library.check(answer, result)
        return True if self.name.endswith("_query") else result

    __name__ = property(lambda self: self.name)

    @property
    def __signature__(self):
        return Manual(self.library).signature(self)

    def documentation(self):
        """What help() shows, made from abi.json."""
        return Manual(self.library).function(self)

    def __repr__(self):
        return f"<gpuorch function {self.name}>"

    def completed(self, arguments, named):
        """The given parameters' values, None for what was left out."""
        names = ", ".join(self.words[i] for i in self.given)
        if len(arguments) > len(self.given):
            raise TypeError(f"{self.name}({names}) was given {len(arguments)} arguments")
        named = {name.rstrip("_"): value for name, value in named.items()}  # a parameter is called `from`
        for name in named:
            if name not in [self.words[i] for i in self.given[len(arguments):]]:
                wrong = f"was given {name} twice" if name in self.words else f"has no {name}"
                raise TypeError(f"{self.name}({names}) {wrong}")
        left_out = [self.words[i] for i in self.given[len(arguments):] if self.words[i] not in named and i not in self.optional]
        if left_out:
            raise TypeError(f"{self.name}({names}) was not given {', '.join(left_out)}")
        return [*arguments, *(named.get(self.words[i]) for i in self.given[len(arguments):])]

    def converter(self, i, kind, label):
        """What makes of a caller's value what ctypes takes, or Memory."""
        writes, library = self.parameters[i]["direction"] == "out", self.library
        if kind is ctypes.c_void_p:
            return lambda value: memory(value, label, writes)
        if i == self.arguments:
            return lambda value: value if isinstance(value, (list, tuple)) else array(kind, value, label)
        if i in self.lengths:
            return lambda value: array(kind, value, label)
        if kind in INTEGER_KINDS:
            return lambda value: checked(kind, value)
        if kind in library.callbacks:
            return lambda value: value if value is None else library.callback(kind, value, once=i not in self.ended_by)
        if kind is ctypes.c_char_p:
            return lambda value: value.encode() if isinstance(value, str) else value
        if issubclass(kind, ctypes._Pointer):
            return lambda value: ctypes.byref(value) if isinstance(value, Struct) else value
        return None

    def measured(self, values):
        """Sets the lengths that were left out, and puts pointers in the place of memory. Returns what has to stay meanwhile."""
        if not self.memories:
            return None
        if self.arguments is not None and isinstance(values[self.arguments], (list, tuple)):
            self.arguments_of_kernel(values)
        kept = []
        for i in self.memories:
            values[i], count, keeps = values[i]
            kept.append(keeps)
            length = self.lengths.get(i)
            if length is None or values[i] is None or count is None:
                continue
            if values[length] is None:
                values[length] = count
            elif values[length] > count:
                raise ValueError(f"{self.name}: {self.words[length]} is {values[length]}, and {self.words[i]} has {count}")
        for i, length in self.lengths.items():
            if values[length] is None:
                if values[i] is not None:
                    raise TypeError(f"{self.name} was not given {self.words[length]}, which {self.words[i]} doesn't say")
                values[length] = 0
        for i, stride in self.strides.items():
            values[i] = stride if values[i] is None else values[i]
        return kept

    def arguments_of_kernel(self, values):
        """Puts a kernel's arguments, and their sizes, in the place of the list that was given."""
        objects = self.library.arguments(values[self.words.index("kernel")], values[self.arguments])
        count, sizes = len(objects), self.arguments + 1
        values[self.arguments] = Memory((ctypes.c_void_p * count)(*map(ctypes.addressof, objects)), count, objects)
        if values[sizes] is NULL:
            values[sizes] = Memory((ctypes.c_uint32 * count)(*map(ctypes.sizeof, objects)), count, None)

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
        buffer = self.words.index("buffer")
        needed = ctypes.c_size_t(0)
        while True:
            room = ctypes.create_string_buffer(needed.value)
            values[buffer:] = [ctypes.cast(room, self.kinds[buffer]) if needed.value else None, needed.value,
                               ctypes.byref(needed)]
            answer = self.call(*values)
            if answer != self.library.BUFFER_TOO_SMALL and len(room) >= needed.value:
                self.library.check(answer)
                return room.raw if self.kinds[buffer] is ctypes.c_void_p else room.value.decode()


class Forever(Function):
    """gpo.executor_run: C's function has no timeout. The call is made of short calls, so that Ctrl-C ends it."""
    __doc__ = Documented(__doc__)

    def __call__(self, executor):
        return self.library.executor_run_for(executor, -1)


class Library:
    __doc__ = Documented("""libgpuorch, loaded with dlopen, as the table of gpo_get_api gives it.

    path: the library's file; None: the file that GPUORCH_LIBRARY names, else libgpuorch.so.0.1, which a wheel carries
    abi: the file abi.json; None: the module looks beside itself, in the source tree, and where the library is installed

    The library's functions, structs, handles and constants are attributes, with C's names without their prefix.
    Programs also use launch(), prepare() and drain(). help(gpo) lists all functions and statuses, help(gpo.stream_wait)
    explains one function, help(gpo.Stream) a handle with its functions, help(gpo.StreamOptions) a struct.

    ImportError: there is no such library, or it can't serve this version of the ABI""")

    def __init__(self, path=None, abi=None):
        trusted = os.getuid() == os.geteuid() and os.getgid() == os.getegid()
        beside = pathlib.Path(__file__).resolve().with_name(SONAME)  # in a wheel
        path = path or trusted and os.environ.get("GPUORCH_LIBRARY") or (beside if beside.exists() else SONAME)
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
        self.types, self.interrupt = {"void": None, **INTEGERS, "char": ctypes.c_char, "float": ctypes.c_float,
                                      "double": ctypes.c_double}, None
        # The types of callbacks; callbacks that are called once, before that call and after it; and threads in callbacks.
        self.callbacks, self.owed, self.returned, self.inside = set(), {}, [], []
        # By the value of a handle: the handle's owner; a pipeline's newest run; and, for a closed pipeline, the objects that
        # its last run needs. By run: the pipeline's owner, and the objects that the run needs.
        self.handles, self.newest, self.outlived, self.runs = weakref.WeakValueDictionary(), {}, {}, {}
        # The handles of open runtimes; objects that are never dropped, as their owner is unknown; whether the program exits.
        self.runtimes, self.unknown, self.exits = set(), [], False
        self.before = {"pipeline_destroy": self.before_the_end}
        self.declare(abi)
        self.loaded_version = ctypes.c_uint32.from_address(table + 4).value
        size = ctypes.c_uint32.from_address(table).value
        for one in abi["functions"]:  # an older library has fewer
            if one["offset"] + abi["pointer_bytes"] <= size:
                pointer = ctypes.c_void_p.from_address(table + one["offset"]).value
                kind = Forever if one["name"] == "gpo_executor_run" else Function
                setattr(self, one["name"].removeprefix("gpo_"), kind(self, one, pointer))
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

    def documentation(self):
        """What help(gpo) shows."""
        return Manual(self).library_text()

    def declare(self, abi):
        """Makes the constants, and the classes of handles, structs and callbacks."""
        self.abi = abi
        self.statuses = {one["value"]: one["name"].removeprefix("GPO_") for one in abi["statuses"]}
        for one in abi["statuses"] + abi["constants"]:
            setattr(self, one["name"].removeprefix("GPO_"), one["value"])
        released = {parameter["type"].removesuffix(" *"): parameter["released_by"] for one in abi["functions"]
                    for parameter in one["parameters"] if "released_by" in parameter and one["name"] != "gpo_stream_pool_acquire"}
        for name in abi["handles"]:
            self.add(name, type(camel(name), (Handle,), {"_library": self, "released_by": released[name]}))
        # The functions that destroy or release a handle, and the index of the parameter that is the handle.
        self.gives_back = {name.removeprefix("gpo_"): 0 for kind in abi["handles"] for name in released[kind]}
        self.gives_back["stream_pool_release"] = 1
        self.blocking = self.Graph, self.Template, self.Buckets, self.Peers  # destroying one may wait
        for one in abi["structs"]:
            self.add(one["name"], type(camel(one["name"]), (Struct,), {"_library": self}))
        for one in abi["callbacks"]:
            kinds = [self.kind(parameter["type"]) for parameter in one["parameters"]]
            self.add(one["name"], type(camel(one["name"]), (ctypes._CFuncPtr,), {
                "_restype_": self.kind(one["returns"]), "_argtypes_": kinds, "_flags_": ctypes.CFUNCTYPE(None)._flags_,
                "__doc__": Manual(self).words(" ".join(one.get("says", ())))}))
            self.callbacks.add(self.types[one["name"]])
        self.ends = {name.removeprefix("gpo_") for one in abi["functions"] + abi["structs"]
                     for each in one.get("parameters", one.get("fields")) for name in each.get("ended_by", ())}
        # For each function that ends callbacks: the type of its first parameter.
        self.ended = {one["name"]: self.types[one["parameters"][0]["type"]] for one in abi["functions"]
                      if one["name"].removeprefix("gpo_") in self.ends}
        self.fields = {one["name"]: one["fields"] for one in abi["structs"]}
        for one in abi["structs"]:
            struct = self.types[one["name"]]
            struct.kinds, struct.ended_by = {}, {each["name"]: each["ended_by"] for each in one["fields"] if "ended_by" in each}
            struct.written = {each["name"] for each in one["fields"] if each["type"] == "void *"}
            struct.lengths = {each["name"]: each["length"] for each in one["fields"] if "length" in each}
            struct.strides = {pointer["name"]: each["name"] for pointer, each in zip(one["fields"], one["fields"][1:])
                              if each["name"].endswith("_stride")}
            for field in one["fields"]:
                kind = self.kind(field["type"])
                struct.kinds[field["name"]] = kind * field["count"] if "count" in field else kind
            struct._fields_ = list(struct.kinds.items())
        self.StageArgument.lengths = {"value": "bytes"}  # abi.json doesn't say so, since a DEVICE_VALUE has several

    def add(self, name, kind):
        """The class for a type of C's."""
        self.types[name] = kind
        setattr(self, camel(name), kind)

    def kind(self, c_type):
        """The type of ctypes for a type of C's."""
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
        """The Error for a status, with the details of a struct gpo.Error."""
        texts = [getattr(details, word).decode(errors="replace") for word in ("message", "function", "object")] if details else []
        error = (Timeout if status == self.TIMEOUT else Error)(
            self.statuses.get(status, str(status)), status, *texts, **{"native_code": details.native_code} if details else {})
        error.result = result
        return error

    def callback(self, kind, function, once=False):
        """`function` for C. One that is called once is kept until it has been."""
        failed, owed = self.CALLBACK_FAILED if kind._restype_ else None, Owed(self.owed) if once else None
        holder = [function]  # what was called once is emptied, for the rest may have to stay

        def guarded(_, *arguments):
            here = _thread.get_ident()
            self.inside.append(here)
            try:
                function = holder.pop() if once else holder[0]
                answer = function(*(getattr(value, "contents", value) if value else None for value in arguments)
                                  if kind is not self.SourceFn else arguments)
                return (answer or 0) if kind._restype_ else None
            except KeyboardInterrupt as interrupt:  # for the wait that this is inside of
                self.interrupt = interrupt
            except BaseException:
                sys.excepthook(*sys.exc_info())
            finally:
                function = arguments = None
                if once:
                    self.returned.append(owed.made)
                    owed.called = True
                    owed.forget()
                self.inside.remove(here)
            return failed

        del function
        self.returned.clear()  # not by themselves: they were still running
        made = kind(guarded)
        if once:
            made.owed, owed.made = owed, made
            self.owed[id(owed)] = owed
        return made

    def forget(self, values):
        """Callbacks that weren't accepted aren't owed."""
        for value in values:
            owed = getattr(value, "owed", None)
            if isinstance(owed, Owed):
                owed.forget()

    def owner(self, handle):
        """The object that owns what a handle stands for, which may be a copy of it. None: there is none."""
        return handle if handle.owned else self.handles.get(handle.value)

    def owners(self, arguments):
        """The same of all handles among arguments."""
        for one in arguments:
            if isinstance(one, (list, tuple)) or isinstance(one, ctypes.Array) and issubclass(one._type_, Handle):
                yield from self.owners(one)
            elif isinstance(one, Handle) and self.owner(one):
                yield self.owner(one)

    def expose(self, handle):
        """Notes that the program has something that is valid only as long as the object exists."""
        owner = self.owner(handle) if isinstance(handle, Handle) else None
        if owner:
            owner.owned.exposed = True

    def keep(self, function, given, passed, result, answer):
        """What has to stay after a call, and what hasn't any more."""
        name, first = function.name, given[0] if given else None
        if answer != self.SUCCESS and (name != "pipeline_wait" or answer in (self.TIMEOUT, self.WOULD_DEADLOCK)):
            return
        results = result if isinstance(result, tuple) else (result,)
        made = [one for one in results if isinstance(one, Handle) and one.value]
        for handle in made:
            self.own(function, handle, given)
        # Holds the object behind a byref(): the garbage collector doesn't see the reference inside.
        needed = [getattr(passed[i], "_obj", passed[i]) for i in function.given if not isinstance(passed[i], Handle)]
        if name == "pipeline_start":  # the run before has ended
            self.end_run(first.value)
            number, run = first.value, object()
            self.runs[run], self.newest[number] = (self.owner(first), needed), run
            CLOSING.do(lambda: self.run_has_ended(number, run))
        elif name in ("pipeline_create", "batcher_create"):  # with its executor
            made[0].owned.calls.append(needed)
        elif name == "runtime_set_log_executor" and self.owner(first):
            self.owner(first).owned.log_executor = given[1]
        elif function.takes_callbacks:
            self.keep_owed(given, needed)
            ended_by = [one for i, one in function.ended_by.items() if passed[i]]
            for one in [*ended_by, *self.ended_by(given)]:
                self.keep_until(one, [*made, *given], needed)
            if name == "batcher_add_key" and self.owner(first):  # its buckets
                self.owner(first).owned.calls.append(needed)
        if name == "pipeline_wait":
            self.end_run(first.value)
        elif function.gives_back is not None:
            handle = given[function.gives_back]
            owner = self.owner(handle) if isinstance(handle, Handle) and handle.value else None
            if name == "runtime_shutdown" and handle is not None:
                self.runtimes.discard(handle.value)
            if owner:
                self.gone(owner, owner.owned, owner.value)

    def own(self, function, handle, given):
        """Makes the handle that a call has made close itself when Python collects it."""
        of_options = [each.kept for one in given if isinstance(one, Struct) for each in one.kept().values()]
        parent = next(self.owners([*given, *of_options]), None)
        if isinstance(parent, self.Runtime):
            runtime, root = parent, parent.owned
        else:
            runtime, root = (parent.owned.runtime, parent.owned.root) if parent else (None, None)
        owned = Owned(runtime, root)
        if isinstance(handle, self.Runtime):
            self.runtimes.add(handle.value)
        elif root:
            root.children[id(owned)] = weakref.ref(owned)
        if function.name == "stream_pool_acquire":
            owned.pool = given[0]
        elif function.name == "executor_create":
            options = getattr(given[1], "_obj", given[1])
            owned.caller = bool(getattr(options, "flags", 0) & self.EXECUTOR_CALLER)
        handle.owned = owned
        self.handles[handle.value] = handle

    def keep_owed(self, given, values):
        """A callback keeps its executor until the call. If only the program can run the executor, the executor keeps
        the callback instead: once the program has lost the executor, both may be collected."""
        for owed in [value.owed for value in values if isinstance(getattr(value, "owed", None), Owed)]:
            executor = next((one for one in self.owners(given) if isinstance(one, self.Executor)), None)
            if not executor:
                continue
            if executor.owned.caller:
                owed.home.pop(id(owed), None)
                owed.home = executor.owned.owed
                owed.home[id(owed)] = owed
            else:
                owed.executor = executor
            if owed.called:
                owed.forget()

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

    def keep_until(self, ended_by, handles, needed):
        """Until one of these functions is called: with the object that the function takes, if the call has that object,
        or else with the runtime. If the runtime isn't known either, what is needed is never dropped."""
        kind, owners = self.ended[ended_by[0]], list(self.owners(handles))
        owned = next((one.owned for one in owners if isinstance(one, kind)), owners[0].owned.root if owners else None)
        calls = owned.calls if owned else self.unknown
        if not any(one is needed for one in calls):
            calls.append(needed)

    def drop(self, *things):
        """Drops what callbacks needed that have ended, as soon as no thread is inside a callback."""
        if self.inside and any(things):
            CLOSING.do(lambda: not (self.inside and things))

    def collected(self, handle, owned):
        """What the finaliser of a handle does, on any thread and at any time."""
        if owned.process != os.getpid():
            return
        if isinstance(handle, self.Runtime):
            CLOSING.do(lambda: self.shut_down(handle, owned))
        elif self.went(handle, owned):
            return
        elif owned.exposed:
            if owned.root:
                owned.root.calls.append(owned.calls)
                owned.root.children.pop(id(owned), None)
        elif owned.owed or isinstance(handle, self.blocking) or _thread.get_ident() in self.inside:
            CLOSING.do(lambda: self.give_back(handle, owned))
        else:
            self.give_back(handle, owned)
        warnings.warn(f"unclosed {handle!r}", ResourceWarning, 3, handle)  # where the program dropped the handle

    def went(self, handle, owned):
        """Whether an object was closed with its runtime. Completion queues are not."""
        return owned.root and owned.root.ended and not isinstance(handle, self.Cq)

    def give_back(self, handle, owned):
        """Destroys an object whose handle was collected."""
        if owned.pool:
            self.stream_pool_release.call(owned.pool, handle)
        else:
            getattr(self, handle.released_by[0].removeprefix("gpo_")).call(handle)
        self.gone(handle, owned, handle.value)
        return True

    def shut_down(self, handle, owned):
        """Tries to shut down a runtime whose handle was collected. Returns whether that is done."""
        if owned.children:  # their finalisers come first
            return False
        answer = self.runtime_shutdown.call(handle, CLOSING_NS)
        if answer == self.TIMEOUT:
            return False
        if answer == self.INVALID_STATE:  # deterministic: only the thread that made it may end it
            self.unknown.append(owned)
            return True
        self.runtimes.discard(handle.value)
        self.gone(handle, owned, handle.value)
        return True

    def gone(self, handle, owned, number):
        """After an object was given back: drops what the object needed."""
        handle.owned, (calls, owned.calls) = None, (owned.calls, [])
        if owned.root:
            owned.root.children.pop(id(owned), None)
        if isinstance(handle, self.Runtime):
            owned.ended = True
            for child in filter(None, [reference() for reference in list(owned.children.values())]):
                calls, child.calls = calls + child.calls, []
            calls += [self.outlived.pop(one, None) for one, (root, _) in list(self.outlived.items()) if root is owned]
            calls += [self.runs.pop(run, None) for run, (of, _) in list(self.runs.items())
                      if of and of.owned and of.owned.root is owned]
            if owned.cq:
                self.cq_destroy.call(owned.cq)
        elif isinstance(handle, self.Pipeline):
            calls.append(self.runs.pop(self.newest.pop(number, None), None))
            if owned.run_outlives and owned.root and owned.root.cq:
                self.outlived[number] = owned.root, calls
                CLOSING.do(lambda: self.drained(number, owned.root))
            elif owned.run_outlives:
                (owned.root.calls if owned.root else self.unknown).append(calls)
        self.drop(*calls)

    def end_run(self, number):
        """Drops what a pipeline's newest run needed."""
        self.drop(self.runs.pop(self.newest.pop(number, None), None))

    def run_has_ended(self, number, run):
        """Drops what a run needed, and the pipeline, if the run has ended. The program may have waited for the end."""
        if run not in self.runs:
            return True
        if self.pipeline_wait.call(self.Pipeline(number), 0, None) in (self.TIMEOUT, self.WOULD_DEADLOCK):
            return False
        self.drop(self.runs.pop(run, None))
        return True

    def before_the_end(self, pipeline):
        """A pipeline that is closed during a run goes on to call, and to use memory, until the run has ended. An entry in
        a queue says when. If there can be no entry, everything stays until the runtime has shut down."""
        owner = self.owner(pipeline) if isinstance(pipeline, Handle) else None
        if not owner or self.pipeline_wait.call(pipeline, 0, None) not in (self.TIMEOUT, self.WOULD_DEADLOCK):
            return
        owner.owned.run_outlives, root = True, owner.owned.root
        if not root:
            return
        if not root.cq:
            cq = self.Cq()
            self.cq_create.call(owner.owned.runtime, None, ctypes.byref(cq))
            root.cq = cq if cq.value else None
        if root.cq:
            self.pipeline_notify.call(pipeline, root.cq, pipeline.value)

    def drained(self, number, root):
        """Drops what the runs of closed pipelines needed, as far as the runs have ended."""
        try:
            entries = [] if root.ended else self.drain(root.cq)
        except Error:  # a shutdown: it drops all of them
            return True
        for entry in entries:
            self.drop(self.outlived.pop(entry.user_data, None))
        return number not in self.outlived

    def arguments(self, kernel, values):
        """A kernel's arguments as ctypes objects. Numbers get the size of the parameter; buffers are copied."""
        return [self.argument(kernel, i, value) for i, value in enumerate(values)]

    def argument(self, kernel, i, value):
        """One of them."""
        if isinstance(value, CTYPES_OBJECT):
            return value
        if is_number(value):
            return number(value, self.parameter_bytes(kernel, i), f"argument {i}")
        try:
            view = memoryview(value)
        except TypeError:
            raise TypeError(f"argument {i} takes a number, a ctypes object or a buffer, not {type(value).__name__}") from None
        return (ctypes.c_char * view.nbytes).from_buffer_copy(view)

    def parameter_bytes(self, kernel, i):
        """The size of a kernel's parameter."""
        if not isinstance(kernel, self.Kernel):
            raise TypeError(f"a kernel expected, not {kernel!r}")
        known = kernel.__dict__.setdefault("parameter_bytes", {})
        if i not in known:
            size = ctypes.c_uint64()
            answer = self.kernel_get_parameter.call(kernel, i, None, ctypes.byref(size))
            if answer == self.NOT_SUPPORTED:
                raise TypeError(f"the driver can't tell the size of argument {i}: give a ctypes object, such as ctypes.c_int(1)")
            self.check(answer)
            known[i] = size.value
        return known[i]

    def arguments_of(self, struct, values):
        """The list for the field `arguments` of a stage or of a rank's launch. The kernel was set before."""
        kernel = struct.kernel or (struct.kernels[0] if hasattr(struct, "kernels") and struct.kernels else None)
        if isinstance(struct, self.RankLaunch):
            values = self.arguments(kernel, values)
            struct.kept()["values"] = Memory(None, None, values)
            struct.sizes = list(map(ctypes.sizeof, values))
            return list(map(ctypes.addressof, values))
        return [self.StageArgument(kind=one.kind, value=self.argument(kernel, i, one.__dict__["number"]))
                if one.kind == self.ARGUMENT_VALUE and one.__dict__.get("number") is not None and not one.bytes else one
                for i, one in enumerate(values)]

    def launch(self, stream, kernel, grid, block, *values, **options):
        """Launches a kernel. `values` are its arguments: numbers, ctypes objects, and buffers, whose bytes are the value. Other
        fields of Launch may be named: gpo.launch(stream, kernel, [4], [256], x, 7, label="scale")."""
        self.prepare(kernel, grid, block, *values, **options)(stream)

    def prepare(self, kernel, grid, block, *values, **options):
        """The same as an object that is called with a stream, any number of times. Each call takes the values as they are then:
        `values[1].value = 7` changes one."""
        return Prepared(self, kernel, self.Launch(grid=tuple(grid), block=tuple(block), **options), values)

    def drain(self, cq, capacity=256):
        """What is in a completion queue by now. SHUT_DOWN is raised where the runtime is shut down and nothing is left."""
        entries = (self.Completion * capacity)()
        return entries[:self.cq_drain(cq, entries)]

    def at_exit(self):
        """Shuts down all runtimes, so that no callback meets an interpreter that has ended."""
        for handle in list(self.handles.values()):
            owned = handle.owned
            if owned and owned.process == os.getpid() and not self.went(handle, owned):
                warnings.warn(f"unclosed {handle!r}", ResourceWarning, source=handle)
        CLOSING.end()
        self.exits = True
        for runtime in list(self.runtimes):
            self.runtime_shutdown.call(runtime, SHUTDOWN_NS)


class Prepared:
    """A launch whose arguments were converted once: see Library.prepare."""

    def __init__(self, library, kernel, launch, values):
        function = library.stream_launch_kernel
        if not isinstance(kernel, function.kinds[1]):
            raise TypeError(f"a kernel expected, not {kernel!r}")
        values = library.arguments(kernel, values)
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


class Manual:
    """Documentation from abi.json, in Python's words."""
    UNITS = {"ns": "nanoseconds", "bytes": "bytes"}

    def __init__(self, library):
        self.library, self.abi = library, library.abi

    def words(self, text):
        """The names of C's in a text of the headers as Python has them."""
        types = {*self.abi["handles"], *(one["name"] for one in self.abi["structs"] + self.abi["callbacks"])}
        text = re.sub(r"\bgpo_\w+", lambda name: "gpo." + (camel(name[0]) if name[0] in types else name[0][4:]), text)
        return re.sub(r"\bGPO_(?=\w)", "", re.sub(r"\bNULL\b", "None", text))

    def first_sentence(self, described):
        """The first sentence of what the headers say."""
        says = described.get("says") or [""]
        return self.words(re.match(r"(.*?)(?:[.:](?= [A-Z`])|\.?$|\. )", says[0])[1] + "." if says[0] else "")

    @staticmethod
    def filled(text, indent="", hanging=""):
        """A paragraph in lines of 100 columns."""
        return textwrap.fill(text, 100, initial_indent=indent, subsequent_indent=indent + hanging,
                             break_long_words=False, break_on_hyphens=False)

    def type_of(self, one):
        """What a parameter, a field or a result is for Python."""
        c_type, base = one["type"], one["type"].replace("const", "").replace("*", "").strip()
        kind, several = self.library.types[base], "length" in one
        if base in ("void", "char") and c_type.count("*") == 1:
            what = "str" if base == "char" else "memory"
        elif kind in INTEGER_KINDS:
            what = "int"
        elif base in ("float", "double", "char", "void"):
            what = {"char": "str", "void": "value"}.get(base, "float")
        else:
            what = f"gpo.{camel(base)}" if kind not in self.library.callbacks else self.callback(base)
        unit = next((words for word, words in self.UNITS.items() if re.search(f"(^|_){word}$", one["name"])), None)
        if what == "int" and unit and not several:
            what += f", {unit}" + (", below 0: no limit" if one["name"] == "timeout_ns" else "")
        return f"list of {what}" if several and what != "memory" else what

    def callback(self, name):
        """The parameters of a callback."""
        one = next(one for one in self.abi["callbacks"] if one["name"] == name)
        return f"function({', '.join(each['name'] for each in one['parameters'][1:])}), see gpo.{camel(name)}"

    @staticmethod
    def shown(function):
        """The parameters that Python's callers give: not C's `user`."""
        return [i for i in function.given if function.words[i] != "user"]

    def signature(self, function):
        """Parameters have a default where all that follow may be left out too."""
        parameters, default = [], None
        for i in reversed(self.shown(function)):
            default = None if default is None and i in function.optional else inspect.Parameter.empty
            word = function.words[i] + ("_" if keyword.iskeyword(function.words[i]) else "")
            parameters.insert(0, inspect.Parameter(word, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default))
        return inspect.Signature(parameters)

    def function(self, function):
        """The documentation of a function."""
        statuses = re.compile(r"(GPO_\w+(?:, GPO_\w+)*)((?: \([^)]*\))?: )|Any other status\b")
        says = function.described.get("says", ())
        text = [self.filled(self.words(one), hanging="   " if re.match(r"- |\d+\. ", one) else "")
                for one in says if not statuses.match(one)]
        name = function.described["name"]
        blocks = ["\n\n".join(text) or f"See {name} in {function.described['header']}."]
        given = [self.parameter(function, i) for i in self.shown(function)]
        if given:
            blocks.append("Parameters:\n" + "\n".join(given))
        blocks.append("Returns: " + self.returned(function))
        raised = [self.filled(self.words(one), "    ", "    ") for one in says
                  if statuses.match(one) and not re.match(r"GPO_(SUCCESS|NOT_READY):", one)]
        if function.returns_status:
            blocks.append("\n".join(["Raises gpuorch.Error with a status: see help(gpuorch.Error)" +
                                     (". Here these mean" if raised else ""), *raised]))
        return "\n\n".join(blocks)

    def parameter(self, function, i):
        """A parameter: its type, its unit, and how long what is given has to stay."""
        one = function.parameters[i]
        text = f"{function.words[i]}: {'a handle' if 'handle' in one else self.type_of(one)}"
        if one["direction"] == "out":
            text += ", written to"
        if i in function.lengths.values() or i in function.strides:
            text += ". Is taken from the memory or list if left out"
        elif i in function.optional:
            text += ", or None"
        if "stays_until" in one:
            by_module = "called" in one
            text += f". {'The module keeps it' if by_module else 'Has to stay'} until {self.words(one['stays_until'])}"
        return self.filled(text, "    ", "    ")

    def returned(self, function):
        """What a function returns."""
        if function.name.endswith("_query"):
            return "True if all is done, else False"
        if function.is_text:
            return "bytes" if function.kinds[function.words.index("buffer")] is ctypes.c_void_p else "str"
        if not function.returns_status:
            return self.type_of({"name": "", "type": function.described["returns"]})
        results = [f"{function.words[i]} ({self.type_of(function.parameters[i])})" for i in function.written]
        return ", ".join(results) or "None"

    def call(self, function):
        """A function with its parameters."""
        return f"gpo.{function.name}{self.signature(function)}"

    def listed(self, functions):
        """Functions, each with a sentence."""
        return "\n".join(f"    {self.call(one)}\n" + self.filled(self.first_sentence(one.described), "        ")
                         for one in functions)

    def functions(self):
        """All functions of the library."""
        return [one for one in vars(self.library).values() if isinstance(one, Function)]

    def handle(self, kind):
        """The documentation of a class of handles."""
        name = next(name for name in self.abi["handles"] if self.library.types[name] is kind)
        made = [one for one in self.functions() if any(i in one.makes and one.parameters[i]["type"] == f"{name} *"
                                                       for i in range(len(one.words)))]
        used = [one for one in self.functions()
                if one not in made and name in {each["type"] for each in one.parameters}]
        noun = name[4:-2].replace("_", " ")
        return (f"A handle of {'an' if noun[0] in 'aeiou' else 'a'} {noun}. "
                f"close() calls gpo.{kind.released_by[0][4:]}; see help(gpuorch.Handle).\n\n"
                f"Made by:\n{self.listed(made)}\n\nUsed by:\n{self.listed(used)}")

    def struct(self, kind):
        """The documentation of a class of structs."""
        one = next(one for one in self.abi["structs"] if self.library.types[one["name"]] is kind)
        text = [self.filled(self.words(each)) for each in one.get("says", [f"A struct of {one['header']}."])]
        fields = [self.field(each) for each in one["fields"]
                  if each["name"] not in ("struct_size", "reserved") and not each["name"].endswith("user")]
        return "\n\n".join([*text, "Fields:\n" + "\n".join(fields)])

    def field(self, one):
        """A field of a struct."""
        count = f"[{one['count']}]" if "count" in one else ""
        says = f". {self.words(one['says'])}" if "says" in one else ""
        return self.filled(f"{one['name']}: {self.type_of(one)}{count}{says}", "    ", "    ")

    def library_text(self):
        """The documentation of the library: all functions and statuses."""
        headers = {}
        for one in self.functions():
            headers.setdefault(one.described["header"], []).append(one)
        statuses = [f"    {one['name'][4:]}: {self.words(one['meaning'])}" for one in self.abi["statuses"]]
        return (f"libgpuorch {self.library.loaded_version}. help(gpo.stream_wait) explains one function.\n\n" +
                "\n\n".join(f"{header}\n{self.listed(some)}" for header, some in headers.items()) +
                "\n\nStatuses (gpuorch.Error.name)\n" + "\n".join(statuses))


class Place:
    """A place of an admission for a block: see Completions.place."""

    def __init__(self, completions, admission, request):
        self.completions, self.gpo, self.admission, self.request = completions, completions.gpo, admission, request

    async def __aenter__(self):
        future = self.completions.marked(self.ask)
        try:
            await future
        except BaseException:  # the task is cancelled or collected, or the request has failed
            future.cancel()
            try:
                self.gpo.admission_cancel(self.admission, self.ticket)
            except Error:  # it was admitted at this moment, or has ended
                self.leave()
            raise
        return self.ticket

    async def __aexit__(self, *_):
        self.leave()

    def ask(self, cq, number):
        """Joins the line."""
        self.ticket = self.gpo.admission_enter(self.admission, self.request, cq, number)

    def leave(self):
        """Gives the place back, unless the program has done so, or has destroyed the admission."""
        try:
            self.gpo.admission_leave(self.admission, self.ticket)
        except Error as end:
            if end.status not in (self.gpo.NOT_FOUND, self.gpo.INVALID_STATE, self.gpo.STALE_HANDLE, self.gpo.INVALID_HANDLE):
                raise


class Submitted:
    """A request of a batcher: see Completions.submit. `what` is all that its batch needs."""

    def __init__(self, gpo, batcher, request):
        self.gpo, self.batcher, self.request = gpo, batcher, request
        self.what = batcher, list(request.kept().values())

    def submit(self, cq, number):
        """Joins the line."""
        self.ticket, _ = self.gpo.batcher_submit(self.batcher, self.request, cq, number)

    def given_up(self, future):
        """Takes the request out of the line if its future was cancelled."""
        if future.cancelled():
            try:
                self.gpo.batcher_cancel(self.batcher, self.ticket)
            except Error:  # its batch was formed, or it has ended
                pass


class Completions:
    """Futures of asyncio for GPU work: a completion queue whose descriptor the running loop watches.

        done = gpuorch.Completions(gpo, runtime)
        completion = await done.stream(stream)
    """

    def __init__(self, gpo, runtime, **options):
        self.gpo, self.waiting, self.last, self.process = gpo, {}, 0, os.getpid()
        self.submitted = {}  # requests of batchers, until their entries have come
        self.loop = asyncio.get_running_loop()
        self.cq = gpo.cq_create(runtime, gpo.CqOptions(**options))
        self.descriptor = gpo.cq_get_fd(self.cq)
        self.loop.add_reader(self.descriptor, self.drain)

    def stream(self, stream):
        """A future of all work that is on a stream now (gpo.stream_notify)."""
        return self.marked(self.gpo.stream_notify, stream)

    def event(self, event):
        """A future of the newest recording of an event (gpo.event_notify)."""
        return self.marked(self.gpo.event_notify, event)

    def timeline(self, timeline, value):
        """A future of the moment when a timeline reaches a value (gpo.timeline_notify)."""
        return self.marked(self.gpo.timeline_notify, timeline, value)

    def pipeline(self, pipeline):
        """A future of the end of a pipeline's run (gpo.pipeline_notify)."""
        return self.marked(self.gpo.pipeline_notify, pipeline)

    def place(self, admission, request=None):
        """A place of an admission, given back at the end of the block (gpo.admission_enter):

            async with done.place(admission, gpo.AdmissionRequest(bytes=size)) as ticket:
                ...
                gpo.admission_leave_after(admission, ticket, stream)    # in stream order instead

        A task that is cancelled while it waits takes its request out of the line."""
        return Place(self, admission, request)

    def submit(self, batcher, request):
        """A future of the end of a request (gpo.batcher_submit):

            await done.submit(batcher, gpo.BatcherRequest(key=key, input=image, output=scores))

        The memory of the request is kept until the request has ended, also if the future is cancelled, which takes a request
        that still waits out of the line. A request that is refused raises at once: WOULD_BLOCK, or Timeout, whose `result`
        has the predicted time in nanoseconds as its second value."""
        one = Submitted(self.gpo, batcher, request)
        future = self.marked(one.submit)
        self.submitted[self.last] = one
        future.add_done_callback(one.given_up)
        return future

    def leave(self):
        """No entry comes any more: what batches may still use stays until the end of the runtime."""
        for one in self.submitted.values():
            self.gpo.keep_until(["gpo_runtime_shutdown"], [one.batcher], one.what)
        self.submitted.clear()

    def marked(self, notify, *what):
        """A future that ends with the completion, or with the failure of the work. One that is cancelled or forgotten is no
        harm. WOULD_BLOCK is raised at once where the queue is full."""
        notify(*what, self.cq, self.last + 1)
        self.last += 1
        future = self.waiting[self.last] = self.loop.create_future()
        return future

    def drain(self):
        """Takes entries out of the queue, and ends their futures. The loop calls this."""
        try:
            entries = self.gpo.drain(self.cq)
        except Error as end:
            if end.status != self.gpo.SHUT_DOWN:
                raise
            self.loop.remove_reader(self.descriptor)  # which is readable for good
            return
        for entry in entries:
            future = self.waiting.pop(entry.user_data)
            self.submitted.pop(entry.user_data, None)
            if future.done():
                continue
            if entry.status == self.gpo.SUCCESS:
                future.set_result(entry)
            else:
                future.set_exception(self.gpo.error(entry.status, self.details(entry)))

    def details(self, entry):
        """The details of a failure, a struct gpo.Error. None: the queue has forgotten them."""
        try:
            return self.gpo.cq_get_error(self.cq, entry.error_id)
        except Error:
            return None  # only the newest failures have details

    def __del__(self):
        if getattr(self, "descriptor", None) is not None and not self.gpo.exits and self.process == os.getpid():
            os.close(self.descriptor)  # the loop was collected too
            self.leave()
            warnings.warn(f"unclosed {self!r}", ResourceWarning, 2, self)

    def close(self):
        """Futures that wait are cancelled; the work goes on."""
        if self.descriptor is None:
            return
        self.loop.remove_reader(self.descriptor)
        os.close(self.descriptor)
        self.descriptor = None
        self.cq.close()
        self.leave()
        for future in self.waiting.values():
            future.cancel()
        self.waiting.clear()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
