"""libgpuorch for Python, by ctypes: this file and the library are all that is needed.

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

Callbacks are Python functions, without C's `user`; structs come as they are. They are kept as long as they may be called.
What one raises is printed, and is the status CALLBACK_FAILED. A pipeline keeps the memory of its source and sink until its
run has ended. Memory that other work still uses is the caller's to keep: the target of copy_to_host until the stream has
done the copy.

A launch that is made often is prepared once: gpo.prepare(kernel, grid, block, *values) gives what gpo.launch would build
each time.

The library is the one that the environment variable GPUORCH_LIBRARY names, else the one beside this file, else
libgpuorch.so.0.1.
"""
import asyncio
import atexit
import collections
import ctypes
import inspect
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
# The types of C that the tables at the end of this file name, without handles, structs and callbacks.
INTEGERS = {"i32": ctypes.c_int32, "u32": ctypes.c_uint32, "i64": ctypes.c_int64, "u64": ctypes.c_uint64,
            "u8": ctypes.c_uint8, "size": ctypes.c_size_t, "status": ctypes.c_int32}
TYPES = {**INTEGERS, "f32": ctypes.c_float, "f64": ctypes.c_double, "char": ctypes.c_char, "char *": ctypes.c_char_p,
         "void": None, "void *": ctypes.c_void_p}
INTEGER_KINDS = frozenset(INTEGERS.values())
CTYPES_OBJECT = ctypes.Structure.__base__  # of all that ctypes has
BYREF = type(ctypes.byref(ctypes.c_int()))  # has no documentation, and is no class of this module
POINTERS = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_wchar_p, ctypes._Pointer, ctypes._CFuncPtr)
# A pointer for C, the number of bytes or elements that it points to (None: unknown), and an object whose life keeps the
# memory valid.
Memory = collections.namedtuple("Memory", "passed count kept")
NULL = Memory(None, None, None)


class Declared:
    """A row of the tables at the end of this file: a function, a struct, a callback, or one of their parameters and fields.

    name, kind          the type of C in short: "u32", "char *" (a text), "Stream" (a handle), "StreamOptions *" (a struct).
                        Of a function: the type of the result
    says                a description
    Of a function:
    offset, header      the place in the table of gpo_get_api; the header that describes the function
    parameters          rows
    raises              the statuses that mean something special
    gives_back          the index of the parameter whose object the function destroys, closes or releases
    ends                other objects may need callbacks until this function is called
    takes_callbacks     a parameter is a callback or leads to callbacks
    exposes             the program, or the GPU, may use the object without the module's knowledge after the call
    Of a parameter or a field:
    hidden, result      the module makes it; the function writes it, and Python's function returns it
    made                a handle that the caller has to give back
    optional            may be left out
    writes              memory that the function writes to
    length, stride      the names of the parameters or fields that have these of an array
    count               elements of an array inside a struct
    arguments           of a kernel
    any_handle          a handle of any class
    called              of a callback: "once" or "often"
    ended_by            the functions that end the calls of a callback
    stays_until         how long what is given has to exist"""
    says = header = raises = gives_back = length = stride = count = called = stays_until = None
    ends = takes_callbacks = exposes = hidden = result = made = optional = writes = arguments = any_handle = False
    parameters = ended_by = ()

    def __init__(self, name, kind, facts={}):
        self.name, self.kind = name, kind
        self.__dict__.update(facts)


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
    """`__doc__` of a class whose objects have a documentation each. It is made when help() asks for it.

    own    the documentation of the class itself"""

    def __init__(self, own):
        self.own = own

    def __get__(self, one, kind=None):
        return self.own if one is None else one.documentation()

    def __set__(self, one, value):
        raise AttributeError("the documentation is made from the tables")


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
    _library, released_by, owned = None, None, None

    def close(self):
        """Gives the object back, and may be called again. The work of the object goes on, but close() of a runtime waits for
        all work.

        Raises Error: INVALID_HANDLE, if the runtime of the object was closed before; WOULD_DEADLOCK, if a callback
        closes its own runtime."""
        if self.value and self.owned and self.owned.pool:
            self._library.stream_pool_release(self.owned.pool, self)
        else:
            end = getattr(self._library, self.released_by)
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

    def __init__(self, library, declared, pointer):
        self.library, self.declared, self.name = library, declared, declared.name
        self.parameters = parameters = [Declared(*one) for one in declared.parameters]
        self.words = [one.name for one in parameters]
        self.kinds = [library.kind(one.kind) for one in parameters]
        self.returns_status = declared.kind == "status"
        result = library.kind(declared.kind)
        self.call = ctypes.CFUNCTYPE(result, *self.kinds)(pointer)
        # For arguments that already have ctypes' types: a conversion would take as long as a short call.
        self.unconverted = ctypes.CFUNCTYPE(result)(pointer)
        self.before = library.before.get(self.name)
        # Steps after a call (Library.keep).
        self.makes = [i for i, one in enumerate(parameters) if one.made]
        self.ended_by = {i: one.ended_by for i, one in enumerate(parameters) if one.ended_by}
        self.keeps = bool(self.makes or declared.takes_callbacks or declared.ends) or declared.gives_back is not None
        self.timeout = self.words.index("timeout_ns") if "timeout_ns" in self.words else None
        self.is_text = "buffer" in self.words
        # Indices of the parameters that the caller passes. The function writes the others, and the module makes them.
        self.given = [i for i, one in enumerate(parameters) if not one.result and not one.hidden]
        self.written = [i for i, one in enumerate(parameters) if one.result]
        # Indices of the parameters that are pointers to memory; of each pointer's length; of strides, with the default
        # stride; and of a kernel's arguments.
        self.memories = [i for i in self.given if self.kinds[i] is ctypes.c_void_p or parameters[i].length]
        self.lengths = {i: self.words.index(parameters[i].length) for i in self.given if parameters[i].length}
        self.strides = {i: ctypes.sizeof(self.kinds[i - 1]._type_) for i in self.given if self.words[i] == "stride"}
        self.arguments = next((i for i in self.memories if parameters[i].arguments), None)
        self.optional = {i for i in self.given if parameters[i].optional}
        self.converters = [self.converter(i, self.kinds[i], f"{self.name}: {self.words[i]}") for i in self.given]

    def __call__(self, *arguments, **named):
        given = arguments if len(arguments) == len(self.given) and not named else self.completed(arguments, named)
        values = [None] * len(self.kinds)
        try:
            for i, convert, value in zip(self.given, self.converters, given):
                values[i] = convert(value) if convert else value
            kept = self.measured(values)
            if self.declared.exposes:
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
        """What help() shows."""
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
        writes, library = self.parameters[i].writes, self.library
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

    path: the library's file; None: the file that GPUORCH_LIBRARY names, else libgpuorch.so.0.1 beside the module, else the
    system's

    The library's functions, structs, handles and constants are attributes, with C's names without their prefix.
    Programs also use launch(), prepare() and drain(). help(gpo) lists all functions and statuses, help(gpo.stream_wait)
    explains one function, help(gpo.Stream) a handle with its functions, help(gpo.StreamOptions) a struct.

    ImportError: there is no such library, or it can't serve this version of the ABI""")

    def __init__(self, path=None):
        trusted = os.getuid() == os.geteuid() and os.getgid() == os.getegid()
        beside = pathlib.Path(__file__).resolve().with_name(SONAME)  # in a wheel
        path = path or trusted and os.environ.get("GPUORCH_LIBRARY") or (beside if beside.exists() else SONAME)
        try:
            library = ctypes.CDLL(str(path))
        except OSError as error:
            raise ImportError(f"{error} (GPUORCH_LIBRARY can name it)") from None
        if not hasattr(library, GET_API):
            raise ImportError(f"{path} is not libgpuorch: it has no {GET_API}")
        table = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint32)((GET_API, library))(VERSION)
        if not table:
            raise ImportError(f"{path} can't serve version {VERSION} of the ABI")
        self.types, self.interrupt = dict(TYPES), None
        # The types of callbacks; callbacks that are called once, before that call and after it; and threads in callbacks.
        self.callbacks, self.owed, self.returned, self.inside = set(), {}, [], []
        # By the value of a handle: the handle's owner; a pipeline's newest run; and, for a closed pipeline, the objects that
        # its last run needs. By run: the pipeline's owner, and the objects that the run needs.
        self.handles, self.newest, self.outlived, self.runs = weakref.WeakValueDictionary(), {}, {}, {}
        # The handles of open runtimes; objects that are never dropped, as their owner is unknown; whether the program exits.
        self.runtimes, self.unknown, self.exits = set(), [], False
        self.before = {"pipeline_destroy": self.before_the_end}
        self.declare()
        self.loaded_version = ctypes.c_uint32.from_address(table + 4).value
        size = ctypes.c_uint32.from_address(table).value
        for one in self.declared:
            if one.offset + ctypes.sizeof(ctypes.c_void_p) <= size:  # an older library has fewer
                pointer = ctypes.c_void_p.from_address(table + one.offset).value
                setattr(self, one.name, (Forever if one.name == "executor_run" else Function)(self, one, pointer))
        atexit.register(self.at_exit)

    def __getattr__(self, name):
        raise AttributeError(f"libgpuorch {self.loaded_version} has no {name}")

    def documentation(self):
        """What help(gpo) shows."""
        return Manual(self).library_text()

    def declare(self):
        """Makes the constants, and the classes of handles, structs and callbacks."""
        self.statuses = {number: name for name, (number, _) in STATUSES.items()}
        self.__dict__.update(CONSTANTS, **{name: number for name, (number, _) in STATUSES.items()})
        self.declared = [Declared(*one) for one in FUNCTIONS]
        for name, function in HANDLES.items():
            self.add(name, type(name, (Handle,), {"_library": self, "released_by": function}))
        self.blocking = self.Graph, self.Template, self.Buckets, self.Peers  # destroying one may wait
        for name, _, facts in STRUCTS:
            self.add(name, type(name, (Struct,), {"_library": self, "says": facts["says"]}))
        for name, kind, facts in CALLBACKS:
            self.add(name, type(name, (ctypes._CFuncPtr,), {
                "_restype_": self.kind(kind), "_argtypes_": [self.kind(one[1]) for one in facts["parameters"]],
                "_flags_": ctypes.CFUNCTYPE(None)._flags_, "__doc__": inspect.cleandoc(facts["says"])}))
            self.callbacks.add(self.types[name])
        # For each function that ends callbacks: the type of its first parameter.
        self.ended = {one.name: self.kind(one.parameters[0][1]) for one in self.declared if one.ends}
        for name, _, facts in STRUCTS:
            self.declare_fields(self.types[name], [Declared(*one) for one in facts["fields"]])

    def declare_fields(self, struct, fields):
        """The fields of a class for a struct."""
        struct.fields, struct.kinds = fields, {}
        struct.ended_by = {one.name: one.ended_by for one in fields if one.ended_by}
        struct.written = {one.name for one in fields if one.writes}
        struct.lengths = {one.name: one.length for one in fields if one.length}
        struct.strides = {one.name: one.stride for one in fields if one.stride}
        for one in fields:
            struct.kinds[one.name] = self.kind(one.kind) * one.count if one.count else self.kind(one.kind)
        struct._fields_ = list(struct.kinds.items())

    def add(self, name, kind):
        """The class for a type of C's."""
        self.types[name] = kind
        setattr(self, name, kind)

    def kind(self, name):
        """The type of ctypes for a type that the tables name."""
        if name not in self.types:
            self.types[name] = ctypes.POINTER(self.kind(name[:-1].rstrip()))
        return self.types[name]

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
        elif function.declared.takes_callbacks:
            self.keep_owed(given, needed)
            ended_by = [one for i, one in function.ended_by.items() if passed[i]]
            for one in [*ended_by, *self.ended_by(given)]:
                self.keep_until(one, [*made, *given], needed)
            if name == "batcher_add_key" and self.owner(first):  # its buckets
                self.owner(first).owned.calls.append(needed)
        if name == "pipeline_wait":
            self.end_run(first.value)
        elif function.declared.gives_back is not None:
            handle = given[function.declared.gives_back]
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
            getattr(self, handle.released_by).call(handle)
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


class Manual:
    """Documentation from the tables."""
    UNITS = {"ns": "nanoseconds", "bytes": "bytes"}

    def __init__(self, library):
        self.library = library

    @staticmethod
    def first_sentence(declared):
        """The first sentence of a description."""
        text = " ".join(declared.says.partition("\n\n")[0].split())
        return re.match(r"(.*?)(?:[.:](?= [A-Z`])|\.?$|\. )", text)[1] + "."

    @staticmethod
    def filled(text, indent="", hanging=""):
        """A paragraph in lines of 100 columns."""
        return textwrap.fill(text, 100, initial_indent=indent, subsequent_indent=indent + hanging,
                             break_long_words=False, break_on_hyphens=False)

    def type_of(self, one):
        """What a parameter, a field or a result is for Python."""
        base, stars = one.kind.rstrip(" *"), one.kind.count("*")
        kind, several = self.library.types[base], one.length
        if base in ("void", "char") and stars == 1:
            what = "str" if base == "char" else "memory"
        elif kind in INTEGER_KINDS:
            what = "int"
        elif base in TYPES:
            what = {"char": "str", "void": "value"}.get(base, "float")
        else:
            what = f"gpo.{base}" if kind not in self.library.callbacks else self.callback(base)
        unit = next((words for word, words in self.UNITS.items() if re.search(f"(^|_){word}$", one.name)), None)
        if what == "int" and unit and not several:
            what += f", {unit}" + (", below 0: no limit" if one.name == "timeout_ns" else "")
        return f"list of {what}" if several and what != "memory" else what

    @staticmethod
    def callback(name):
        """The parameters of a callback."""
        parameters = next(facts["parameters"] for each, _, facts in CALLBACKS if each == name)
        return f"function({', '.join(one[0] for one in parameters[1:])}), see gpo.{name}"

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
        blocks = [inspect.cleandoc(function.declared.says)]
        given = [self.parameter(function, i) for i in self.shown(function)]
        if given:
            blocks.append("Parameters:\n" + "\n".join(given))
        blocks.append("Returns: " + self.returned(function))
        raised = function.declared.raises
        if function.returns_status:
            text = "Raises gpuorch.Error with a status: see help(gpuorch.Error)"
            if raised:
                text += ". Here these mean\n" + textwrap.indent(inspect.cleandoc(raised), "    ")
            blocks.append(text)
        return "\n\n".join(blocks)

    def parameter(self, function, i):
        """A parameter: its type, its unit, and how long what is given has to stay."""
        one = function.parameters[i]
        text = f"{one.name}: {'a handle' if one.any_handle else self.type_of(one)}"
        if one.writes:
            text += ", written to"
        if i in function.lengths.values() or i in function.strides:
            text += ". Is taken from the memory or list if left out"
        elif one.optional:
            text += ", or None"
        if one.stays_until:
            text += f". {'The module keeps it' if one.called else 'Has to stay'} until {one.stays_until}"
        return self.filled(text, "    ", "    ")

    def returned(self, function):
        """What a function returns."""
        if function.name.endswith("_query"):
            return "True if all is done, else False"
        if function.is_text:
            return "bytes" if function.kinds[function.words.index("buffer")] is ctypes.c_void_p else "str"
        if not function.returns_status:
            return self.type_of(Declared("", function.declared.kind))
        results = [f"{function.words[i]} ({self.type_of(function.parameters[i])})" for i in function.written]
        return ", ".join(results) or "None"

    def call(self, function):
        """A function with its parameters."""
        return f"gpo.{function.name}{self.signature(function)}"

    def listed(self, functions):
        """Functions, each with a sentence."""
        return "\n".join(f"    {self.call(one)}\n" + self.filled(self.first_sentence(one.declared), "        ")
                         for one in functions)

    def functions(self):
        """All functions of the library."""
        return [one for one in vars(self.library).values() if isinstance(one, Function)]

    def handle(self, kind):
        """The documentation of a class of handles."""
        name = kind.__name__
        made = [one for one in self.functions() if any(one.parameters[i].kind == f"{name} *" for i in one.makes)]
        used = [one for one in self.functions() if one not in made and name in {each.kind for each in one.parameters}]
        noun = re.sub(r"(?<!^)(?=[A-Z])", " ", name).lower()
        return (f"A handle of {'an' if noun[0] in 'aeiou' else 'a'} {noun}. "
                f"close() calls gpo.{kind.released_by}; see help(gpuorch.Handle).\n\n"
                f"Made by:\n{self.listed(made)}\n\nUsed by:\n{self.listed(used)}")

    def struct(self, kind):
        """The documentation of a class of structs."""
        fields = [self.field(one) for one in kind.fields
                  if one.name not in ("struct_size", "reserved") and not one.name.endswith("user")]
        return "\n\n".join([inspect.cleandoc(kind.says), "Fields:\n" + "\n".join(fields)])

    def field(self, one):
        """A field of a struct."""
        count = f"[{one.count}]" if one.count else ""
        says = f". {one.says}" if one.says else ""
        return self.filled(f"{one.name}: {self.type_of(one)}{count}{says}", "    ", "    ")

    def library_text(self):
        """The documentation of the library: all functions and statuses."""
        headers = {}
        for one in self.functions():
            headers.setdefault(one.declared.header, []).append(one)
        statuses = [f"    {name}: {meaning}" for name, (_, meaning) in STATUSES.items()]
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
            self.gpo.keep_until(["runtime_shutdown"], [one.batcher], one.what)
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


# Made from abi.json by generate/generate.py, from here to the end.

VERSION = 100
GET_API = "gpo_get_api"

STATUSES = {
    "SUCCESS": (0, "done"),
    "NOT_READY": (1, "the work that was asked about is not done yet"),
    "TIMEOUT": (2, "the timeout passed before the result was there"),
    "WOULD_BLOCK": (3, "a bounded queue is full: take entries out, then try again"),
    "END": (4, "returned by a source callback: there is no more data"),
    "INVALID_ARGUMENT": (10, "a value out of range, None for a needed pointer, or an unknown flag"),
    "INVALID_HANDLE": (11, "a handle that is None, random, of another type, or of an unknown runtime"),
    "STALE_HANDLE": (12, "a handle of an object that has been destroyed"),
    "INVALID_STATE": (13, "the object is in a state that forbids the call: the message names it"),
    "NOT_SUPPORTED": (14, "not supported by this device, driver or kind of object"),
    "NOT_FOUND": (15, "there is no kernel, symbol or file of that name"),
    "WOULD_DEADLOCK": (16, "a wait inside a callback, for that callback; or a call inside a host node"),
    "BUFFER_TOO_SMALL": (17, "the caller's buffer is too small: `needed` has the size"),
    "CAPTURE_REFUSED": (18, "not possible with a stream in capture, or an event recorded on one"),
    "OUT_OF_MEMORY": (30, "host, pinned or device memory: the message says which"),
    "LIMIT_EXCEEDED": (31, "a limit that the caller or the system (threads, descriptors) has set"),
    "NO_DEVICE": (32, "no usable driver, or no such device: the message says why"),
    "NO_COMPILER": (33, "no NVRTC, or no C++ compiler for the software GPU: the message says which were tried"),
    "COMPILE_FAILED": (34, "the kernel source has errors: gpo.last_compile_log() has the compiler's text"),
    "INVALID_IMAGE": (35, "the image is cut short, not an image, or for another device"),
    "IO_ERROR": (36, "a file or pipe failed: native_code is the errno"),
    "CANCELLED": (50, "on request, or because an object that was needed was destroyed or shut down"),
    "FAILED": (51, "the caller failed a timeline or host call so, or signals a failed timeline"),
    "CALLBACK_FAILED": (52, "a callback of the caller returned an error or threw"),
    "DEVICE_LOST": (70, "a kernel crashed or the context was destroyed: all devices of that driver are lost"),
    "FORKED": (71, "the process was forked after the library's first call: fork earlier, or exec"),
    "SHUT_DOWN": (72, "the runtime has shut down or is shutting down"),
    "PEER_LOST": (73, "another process has died, left its group, hangs or can't go on: the message names it"),
    "DRIVER_ERROR": (80, "another error of the driver: native_code is the CUresult"),
    "INTERNAL": (81, "a defect of the library: please report the message"),
}

CONSTANTS = {
    "ADMISSION_TIMES": 32,
    "COSTS_PROBE": 1,
    "WORKLOAD_REPEATS": 1,
    "WORKLOAD_SHAPES_VARY": 2,
    "WORKLOAD_INDEPENDENT": 4,
    "WORKLOAD_SPAWNS": 8,
    "WORKLOAD_ARRIVES": 16,
    "WORKLOAD_PAGEABLE": 32,
    "WORKLOAD_IN_GRAPH": 64,
    "WORKLOAD_DYNAMIC_PARALLELISM": 128,
    "WORKLOAD_OVERLAPPED": 256,
    "ORDER_GRID": 1,
    "ORDER_CHUNKS": 2,
    "ORDER_STRIDED": 3,
    "ORDER_CLAIMED": 4,
    "ORDER_LONGEST_FIRST": 5,
    "ORDER_CLAIMED_LATE": 6,
    "BOUND_LAUNCH": 1,
    "BOUND_MEMORY": 2,
    "BOUND_OPERATIONS": 3,
    "BOUND_KERNEL": 4,
    "BOUND_COPY": 5,
    "BOUND_DECISION": 6,
    "BOUND_IDLE": 7,
    "FORM_LEAVE": 1,
    "FORM_MORE_STREAMS": 2,
    "FORM_FEWER_STREAMS": 3,
    "FORM_GRAPH": 4,
    "FORM_BUCKETS": 5,
    "FORM_WHILE": 6,
    "FORM_RANGE": 7,
    "FORM_RING": 8,
    "FORM_HOST_RING": 9,
    "FORM_DYNAMIC_PARALLELISM": 10,
    "FORM_HOST_LAUNCHES": 11,
    "FORM_FUSE": 12,
    "FORM_PIPELINE": 13,
    "FORM_BATCHED_COPIES": 14,
    "BATCH_ROWS": 1,
    "BATCH_RAGGED": 2,
    "BATCHER_PRESERVE_ORDER": 1,
    "BATCHER_VARIABLE_OUTPUT": 2,
    "BATCHER_KEEP_OUTPUT": 4,
    "BATCHER_TIMES": 32,
    "BATCHER_SIZES": 17,
    "BUCKET_WARM_UP": 1,
    "BUCKET_RECORDING": 2,
    "BUCKET_EAGER": 3,
    "BUCKET_PADDING": 4,
    "BUCKETS_NO_WARM_UP": 1,
    "BUCKETS_EAGER_FALLBACK": 2,
    "ORIGIN_STREAM": 1,
    "ORIGIN_EVENT": 2,
    "ORIGIN_PIPELINE": 3,
    "ORIGIN_TIMELINE": 4,
    "ORIGIN_QUEUE": 5,
    "ORIGIN_ADMISSION": 6,
    "ORIGIN_BATCHER": 7,
    "ORIGIN_EXECUTOR": 8,
    "LIMIT_STACK_BYTES": 1,
    "LIMIT_PRINTF_BYTES": 2,
    "LIMIT_HEAP_BYTES": 3,
    "LIMIT_PENDING_LAUNCHES": 4,
    "LIMIT_L2_FETCH_BYTES": 5,
    "LIMIT_PERSISTING_L2_BYTES": 6,
    "EVENT_TIMING": 1,
    "EVENT_BLOCKING_SYNC": 2,
    "EVENT_INTERPROCESS": 4,
    "EVENT_EXTERNAL": 8,
    "EXECUTOR_CALLER": 1,
    "EXECUTOR_SPIN": 2,
    "EXECUTOR_SLEEP": 4,
    "EXPORT_BYTES": 256,
    "ARENA_WRITE_COMBINED": 1,
    "ARENA_NUMA": 2,
    "REGISTER_READ_ONLY": 1,
    "MEMORY_PAGEABLE": 1,
    "MEMORY_PINNED": 2,
    "MEMORY_DEVICE": 3,
    "MEMORY_MANAGED": 4,
    "POOL_KEEP_NOTHING": 1,
    "METRICS_LATENCIES": 32,
    "METRICS_ERRORS": 96,
    "COMPILE_NO_CACHE": 1,
    "COMPILE_DYNAMIC_PARALLELISM": 2,
    "LAUNCH_COOPERATIVE": 1,
    "LAUNCH_PRIORITY": 2,
    "PEERS_MOST_RANKS": 16,
    "ENGINE_DIRECT": 1,
    "ENGINE_NCCL": 2,
    "ENGINE_HOST": 3,
    "ENGINE_NVSHMEM": 4,
    "JOIN_MPI": 1,
    "JOIN_FILE": 2,
    "JOIN_ID": 3,
    "PEERS_MOST_JOINED": 256,
    "PEERS_ID_BYTES": 128,
    "JOIN_CHECK_ORDER": 1,
    "TYPE_INT8": 1,
    "TYPE_UINT8": 2,
    "TYPE_INT32": 3,
    "TYPE_UINT32": 4,
    "TYPE_INT64": 5,
    "TYPE_UINT64": 6,
    "TYPE_FLOAT16": 7,
    "TYPE_BFLOAT16": 8,
    "TYPE_FLOAT32": 9,
    "TYPE_FLOAT64": 10,
    "TYPE_FLOAT8_E4M3": 11,
    "TYPE_FLOAT8_E5M2": 12,
    "REDUCE_SUM": 1,
    "REDUCE_PRODUCT": 2,
    "REDUCE_MINIMUM": 3,
    "REDUCE_MAXIMUM": 4,
    "REDUCE_AVERAGE": 5,
    "COLLECTIVE_ALL_REDUCE": 1,
    "COLLECTIVE_REDUCE": 2,
    "COLLECTIVE_REDUCE_SCATTER": 3,
    "COLLECTIVE_BROADCAST": 4,
    "COLLECTIVE_ALL_GATHER": 5,
    "COLLECTIVE_ALL_TO_ALL": 6,
    "COLLECTIVE_SEND_RECEIVE": 7,
    "COLLECTIVE_BARRIER": 8,
    "NO_RANK": 4294967295,
    "SOURCE_MEMORY": 1,
    "SOURCE_FILE": 2,
    "SOURCE_CALLBACK": 3,
    "SOURCE_USE_DESCRIPTOR": 2,
    "SOURCE_UNCHANGED": 1,
    "STAGE_KERNEL": 1,
    "STAGE_CALLBACK": 2,
    "ARGUMENT_VALUE": 0,
    "ARGUMENT_INPUT": 1,
    "ARGUMENT_OUTPUT": 2,
    "ARGUMENT_SCRATCH": 3,
    "ARGUMENT_RESULT": 4,
    "ARGUMENT_INPUT_BYTES": 5,
    "ARGUMENT_OUTPUT_BYTES": 6,
    "ARGUMENT_INDEX": 7,
    "ARGUMENT_OFFSET": 8,
    "ARGUMENT_DEVICE_VALUE": 9,
    "SINK_NONE": 0,
    "SINK_MEMORY": 1,
    "SINK_FILE": 2,
    "SINK_CALLBACK": 3,
    "SINK_USE_DESCRIPTOR": 1,
    "PIPELINE_TIMES": 1,
    "QUEUE_RANGE": 1,
    "QUEUE_RING": 2,
    "QUEUE_HOST_RING": 3,
    "QUEUE_TICKETS": 1,
    "QUEUE_NO_ANSWERS": 2,
    "QUEUE_LATE_CLAIMS": 4,
    "QUEUE_HANDLE_BYTES": 192,
    "QUEUE_OPEN": 0,
    "QUEUE_CLOSED": 1,
    "QUEUE_ABORTED": 2,
    "LOG_ERROR": 1,
    "LOG_WARNING": 2,
    "LOG_INFO": 3,
    "LOG_DEBUG": 4,
    "COMPLETION_BALANCED": 0,
    "COMPLETION_LATENCY": 1,
    "RUNTIME_QUIET_FALLBACK": 1,
    "SCHEDULER_RESIDENT": 1,
    "SCHEDULER_GRAPHS": 2,
    "SCHEDULER_WHILE": 3,
    "WORKER_THREAD": 1,
    "WORKER_WARP": 2,
    "WORKER_BLOCK": 3,
    "SCHEDULER_READY": 0,
    "SCHEDULER_RUNNING": 1,
    "SCHEDULER_DRAINING": 2,
    "SCHEDULER_STOPPING": 3,
    "NATIVE_NONE": 0,
    "NATIVE_CUDA": 1,
    "NATIVE_ERRNO": 2,
    "NATIVE_NVRTC": 3,
    "NATIVE_NCCL": 4,
    "STREAM_BLOCKING": 1,
    "STREAM_LEARNS": 2,
    "STREAM_RESIDENT": 4,
    "SYMMETRIC_REMOTE": 1,
    "SYMMETRIC_HANDLE_BYTES": 320,
    "STEAL_BYTES": 384,
    "COMPARE_KERNEL": 0,
    "COMPARE_EQUAL": 1,
    "COMPARE_NOT_EQUAL": 2,
    "COMPARE_LESS": 3,
    "COMPARE_GREATER_EQUAL": 4,
    "COMPARE_VALUE": 5,
    "PARAMETER_ARGUMENT": 1,
    "PARAMETER_GRID": 2,
    "PARAMETER_BLOCK": 3,
    "PARAMETER_SHARED_BYTES": 4,
    "PARAMETER_DESTINATION": 5,
    "PARAMETER_SOURCE": 6,
    "PARAMETER_BYTES": 7,
    "PARAMETER_VALUE": 8,
    "PARAMETER_ENABLED": 9,
    "PICTURE_DOT": 1,
    "PICTURE_SVG": 2,
    "GRAPH_UPLOAD": 1,
    "GRAPH_DEVICE_LAUNCH": 2,
    "TRACE_NO_GPU_TIMES": 1,
    "VERSION_MAJOR": 0,
    "VERSION_MINOR": 1,
    "VERSION_PATCH": 0,
    "VERSION": 100,
    "AUTO": 0,
}

# By handle: the function that gives one back.
HANDLES = {
    "Runtime": "runtime_shutdown",
    "Device": "device_close",
    "Stream": "stream_destroy",
    "StreamPool": "stream_pool_destroy",
    "Event": "event_destroy",
    "Timeline": "timeline_destroy",
    "Cq": "cq_destroy",
    "Arena": "arena_destroy",
    "Pool": "pool_destroy",
    "Module": "module_destroy",
    "Kernel": "kernel_destroy",
    "Pipeline": "pipeline_destroy",
    "Executor": "executor_destroy",
    "Template": "template_destroy",
    "Graph": "graph_destroy",
    "Buckets": "buckets_destroy",
    "Queue": "queue_destroy",
    "Scheduler": "scheduler_destroy",
    "Peers": "peers_destroy",
    "Symmetric": "symmetric_destroy",
    "Admission": "admission_destroy",
    "Batcher": "batcher_destroy",
}

CALLBACKS = (
    ("BatchFn", "status", {
        "parameters": (
            ("user", "void *"),
            ("stream", "Stream"),
            ("batch", "Batch *"),
        ),
        "says": """
        Puts the work of a batch on `stream` and returns SUCCESS. It may use other streams only if `stream`
        waits for them again, by events, and must not wait for the work. With another status or a C++
        exception the batch fails with CALLBACK_FAILED. Runs on the batcher's executor, for each lane one
        call at a time. `stream` may be used during the call only.
        """,
    }),
    ("BatchReleaseFn", "void", {
        "parameters": (
            ("user", "void *"),
        ),
        "says": """
        Frees what a key's `work` needed. Called once, when `work` is called no more: during
        gpo.batcher_destroy or later, at the latest during gpo.runtime_shutdown. The thread may be any, also
        one of the library's. It must return soon, wait for nothing and throw nothing.
        """,
    }),
    ("BucketFn", "status", {
        "parameters": (
            ("user", "void *"),
            ("stream", "Stream"),
            ("work", "BucketWork *"),
        ),
        "says": """
        Puts work on `stream` and returns SUCCESS. Must not wait for the work, and may use other streams
        only if `stream` waits for them again, by events. With any other status, or a C++ exception, the
        call of the library that runs the function fails with CALLBACK_FAILED. `stream` may be used, and a
        recording's own stream exists, only during the call.
        """,
    }),
    ("CompletionFn", "void", {
        "parameters": (
            ("user", "void *"),
            ("completion", "Completion *"),
            ("error", "Error *"),
        ),
        "says": """
        `completion->user_data` is `user` as a number. `error` has the details of a failure; it is None if
        there is none. Both are valid during the call.
        """,
    }),
    ("HostFn", "status", {
        "parameters": (
            ("user", "void *"),
            ("call", "HostCall *"),
        ),
        "says": """
        The function of a host call returns: SUCCESS: the work is done, and the stream goes on NOT_READY:
        the work is not finished yet, and the stream stays held until gpo.host_call_finish Any other status:
        the work has failed, and the stream fails with CALLBACK_FAILED
        """,
    }),
    ("SourceFn", "status", {
        "parameters": (
            ("user", "void *"),
            ("buffer", "void *"),
            ("capacity", "u64"),
            ("bytes", "u64 *"),
        ),
        "says": """
        Fills `buffer`, which is pinned, with up to `capacity` bytes, and sets `*bytes`. Called until a
        whole chunk is there. Runs on a thread of the pipeline, one call at a time, and may block. Returns
        SUCCESS: more may come; after 0 bytes the function is called again END: these were the last bytes;
        `*bytes` may still be above 0 Any other status: the run fails with CALLBACK_FAILED
        """,
    }),
    ("StageFn", "status", {
        "parameters": (
            ("user", "void *"),
            ("stream", "Stream"),
            ("chunk", "Chunk *"),
        ),
        "says": """
        Puts the stage's work for a chunk on `stream` and returns. Must not wait for the work, and may use
        another stream only if `stream` waits for it again, by events. If it returns another status than
        SUCCESS, the run fails with CALLBACK_FAILED. Runs on a thread of the pipeline.
        """,
    }),
    ("SinkFn", "status", {
        "parameters": (
            ("user", "void *"),
            ("chunk", "Chunk *"),
        ),
        "says": """
        Takes a finished chunk, in order. `chunk->output` and `chunk->result` can be read during the call.
        Runs on a thread of the pipeline, one call at a time, and may block. Returns SUCCESS: go on END:
        that is enough; the run ends with success Any other status: the run fails with CALLBACK_FAILED
        """,
    }),
    ("ProgressFn", "void", {
        "parameters": (
            ("user", "void *"),
            ("progress", "PipelineProgress *"),
        ),
        "says": """
        Called on a thread of the pipeline, at most once every `progress_ns`, and once at the end.
        """,
    }),
    ("LogFn", "void", {
        "parameters": (
            ("user", "void *"),
            ("level", "i32"),
            ("text", "char *"),
        ),
        "says": """
        Receives one line of the log, without a newline. `text` is valid during the call. The library may
        call the function on any thread, and on several threads at once. The library holds no lock
        meanwhile, so the function may call any function of the library except gpo.runtime_shutdown.
        """,
    }),
    ("HostNodeFn", "void", {
        "parameters": (
            ("user", "void *"),
        ),
        "says": """
        Called for a host node, on a thread of the driver. The function must not block, must not throw, and
        must not call CUDA. A host node may call the functions of this library that need no driver: the
        functions of status.h; gpo.timeline_signal, _fail and _get_value; gpo.host_call_finish;
        gpo.executor_post, _post_at, _cancel and _get_time; gpo.cq_drain, _wake, _get_fd, _get_error and
        _get_statistics. Streams that such a call releases go on from another thread, soon after the call.
        Every other function returns WOULD_DEADLOCK, and has no effect. The functions of host nodes that the
        library didn't make (gpo.template_import, other libraries' calls in a recording) are unknown to the
        library. Their calls return WOULD_DEADLOCK where the driver refuses them, which CUDA doesn't
        promise; the refusal loses no device. A C++ exception that leaves the function is logged, and the
        graph goes on.
        """,
    }),
)

STRUCTS = (
    ("AdmissionOptions", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("flags", "u32", {"says": "0: there are none yet"}),
            ("count", "u64", {"says": "budget: places; AUTO: unlimited"}),
            ("bytes", "u64", {"says": "budget: bytes; AUTO: unlimited"}),
            ("capacity", "u32", {"says": "how many requests may wait at a time; AUTO: 65536; at most 2^20"}),
            ("priorities", "u32", {"says": "1 to 16; AUTO: 1"}),
            ("pool", "Pool", {"says": "a pool of device memory that is watched; None: none"}),
            ("high_bytes", "u64", {"says": "bytes in use of the pool, above which admissions pause"}),
            ("low_bytes", "u64", {"says": (
                "bytes in use of the pool, at or below which they go on; at most high_bytes; AUTO: nine "
                "tenths of high_bytes")}),
            ("label", "char *"),
        ),
        "says": """
        A struct of admission.h.
        """,
    }),
    ("AdmissionRequest", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("priority", "u32", {"says": "0 goes first; below the admission's number of priorities"}),
            ("count", "u64", {"says": "places; AUTO: 1"}),
            ("bytes", "u64", {"says": "0: none"}),
            ("flow", "u64", {"says": "any number"}),
            ("deadline_ns", "u64", {"says": (
                "CLOCK_MONOTONIC; 0 and UINT64_MAX: none. A request that still waits then ends with TIMEOUT, "
                "soon after that time")}),
        ),
        "says": """
        A struct of admission.h.
        """,
    }),
    ("AdmissionInfo", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("paused", "u32", {"says": "1: the watched pool has too much in use, and no request is admitted"}),
            ("count", "u64", {"says": "the budgets; UINT64_MAX: unlimited"}),
            ("bytes", "u64"),
            ("held", "u64", {"says": "requests that hold places now"}),
            ("held_count", "u64", {"says": "their places"}),
            ("held_bytes", "u64", {"says": "their bytes"}),
            ("waiting", "u64", {"says": "requests that wait now"}),
            ("waiting_bytes", "u64", {"says": "their bytes"}),
            ("waiting_flows", "u64", {"says": "flows with waiting requests, counted for each priority"}),
            ("admitted", "u64", {"says": "requests since the admission was created: admitted"}),
            ("refused", "u64", {"says": "refused with WOULD_BLOCK, because the line had no room"}),
            ("too_large", "u64", {"says": "refused or ended with LIMIT_EXCEEDED"}),
            ("expired", "u64", {"says": "refused or ended with TIMEOUT"}),
            ("cancelled", "u64", {"says": "ended with CANCELLED"}),
            ("wait_ns", "u64", {"says": "time that the admitted requests waited, added up"}),
            ("longest_wait_ns", "u64", {"says": "the longest one of these times"}),
            ("wait_times", "u64", {"count": 32, "says": "these times, counted by their length"}),
        ),
        "says": """
        A struct of admission.h.
        """,
    }),
    ("Costs", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("measured", "u32", {"says": (
                "1: launches, graphs and copies were measured on this device. 0: all costs are an H200's, "
                "except figures from the device's properties")}),
            ("launch_ns", "u64", {"says": "launch of a kernel"}),
            ("wait_ns", "u64", {"says": (
                "from the launch of an empty kernel until the host, which waits, knows its end")}),
            ("decision_ns", "u64", {"says": (
                "a turn of a loop that the host decides: an empty kernel, a small copy back, a wait")}),
            ("graph_launch_ns", "u64", {"says": "launch of a graph"}),
            ("graph_node_ns", "u64", {"says": (
                "GPU time of an empty kernel in a graph that waits for the previous one")}),
            ("while_turn_ns", "u64", {"says": "GPU time of a turn of a while node with an empty kernel"}),
            ("device_launch_ns", "u64", {"says": "GPU time of a launch by a kernel (dynamic parallelism)"}),
            ("doorbell_ns", "u64", {"says": "from the host to a resident kernel and back, through pinned memory"}),
            ("host_tasks_per_second", "u64", {"says": "tasks that one thread posts to a resident kernel"}),
            ("claims_per_second", "u64", {"says": "claims of one counter in device memory, by all multiprocessors"}),
            ("ring_tasks_per_second", "u64", {"says": (
                "tasks that are pushed into a ring in device memory and popped again")}),
            ("copy_ns", "u64", {"says": "time of a small copy, without the time for its bytes; in a batch: a sixth"}),
            ("copy_in_rate", "u64", {"says": "bytes per second from pinned memory to the device"}),
            ("copy_out_rate", "u64", {"says": "bytes per second from the device to pinned memory"}),
            ("copy_both_rate", "u64", {"says": "bytes per second of both ways together"}),
            ("pageable_in_rate", "u64", {"says": "bytes per second from memory that isn't pinned"}),
            ("pageable_out_rate", "u64", {"says": "bytes per second to memory that isn't pinned"}),
            ("memory_rate", "u64", {"says": "bytes per second that kernels read and write"}),
            ("operation_rate", "u64", {"says": "floating-point operations per second, single precision"}),
            ("multiprocessors", "u32"),
            ("reserved", "u32", {"says": "0"}),
        ),
        "says": """
        What things cost. Times are nanoseconds of the host, unless said otherwise.
        """,
    }),
    ("Workload", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("flags", "u32", {"says": "WORKLOAD_*"}),
            ("costs", "Costs *", {"says": "a cost of 0 stands for the device's. None: all costs are the device's"}),
            ("launches", "u64", {"says": "kernels that are launched in a round"}),
            ("round_ns", "u64", {"says": "time of a round, from its begin to the next one's"}),
            ("kernel_ns", "u64", {"says": "GPU time of all kernels of a round together"}),
            ("decisions", "u64", {"says": (
                "how often in a round the host waits for a result of the GPU before it can go on")}),
            ("streams", "u32", {"says": "streams that the launches are spread over now; 0: one"}),
            ("blocks", "u32", {"says": "blocks of a launch: launches with few blocks leave room beside them"}),
            ("bytes", "u64", {"says": "bytes that the kernels of a round read and write in device memory"}),
            ("operations", "u64", {"says": "floating-point operations of the kernels of a round"}),
            ("copies", "u64", {"says": "copies of a round; 0: one for each direction that has bytes"}),
            ("copy_in_bytes", "u64", {"says": "bytes that a round copies from the host to the device"}),
            ("copy_out_bytes", "u64", {"says": "bytes that a round copies from the device to the host"}),
            ("tasks", "u64", {"says": "tasks of a round: independent pieces of work, many in one kernel"}),
            ("task_ns", "u64", {"says": (
                "time of a mean task on its worker while all workers work; 0: found from kernel_ns")}),
            ("order", "u32", {"says": "ORDER_*: how tasks are handed out now; 0: ORDER_GRID"}),
            ("workers", "u32", {"says": "workers at a time on the GPU; 0: 64 warps on each multiprocessor"}),
            ("block_workers", "u32", {"says": "workers of a block; 0: 8 warps, or 1 if `workers` is given"}),
            ("reserved", "u32", {"says": "0"}),
            ("task_costs", "f32 *", {"length": "cost_count", "stride": "cost_stride", "says": (
                "cost of each task, in any unit, in the tasks' order: a sample of neighbours will do. None is"
                " negative. None: only the following two are known")}),
            ("cost_stride", "u64", {"says": (
                "bytes from one cost to the next: sizeof(float), or the size of a struct of yours")}),
            ("cost_count", "u64", {"says": "at most 2^20"}),
            ("cost_deviation", "u64", {"says": "standard deviation of the costs, in thousandths of their mean"}),
            ("cost_max", "u64", {"says": "cost of the longest task, in thousandths of the mean"}),
        ),
        "says": """
        A workload, described by one *round*: the work that the program repeats. 0 stands for "not known" in
        every field but for flags. Copies and kernels of the round that aren't described are left out of
        account.
        """,
    }),
    ("Diagnosis", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("bound", "u32", {"says": "BOUND_*"}),
            ("round_ns", "u64", {"says": "as given, or predicted"}),
            ("launch_ns", "u64", {"says": "host time of launches"}),
            ("kernel_ns", "u64", {"says": "GPU time of kernels, as far as they don't run at the same time"}),
            ("copy_ns", "u64", {"says": "time of copies"}),
            ("decision_ns", "u64", {"says": "waits for results"}),
            ("idle_ns", "u64", {"says": "of round_ns: more than all that was described explains"}),
            ("memory_ns", "u64", {"says": "the least time in which the device reads and writes `bytes`"}),
            ("operations_ns", "u64", {"says": "the least time in which the device does `operations`"}),
            ("intensity", "u64", {"says": "operations per byte, in thousandths; 0: not known"}),
            ("ridge", "u64", {"says": (
                "the intensity at which memory and arithmetic take the same time, in thousandths")}),
            ("roofline_share", "u64", {"says": "the greater of both least times, in thousandths of kernel_ns"}),
            ("launch_share", "u64", {"says": "host time of launches, in thousandths of round_ns"}),
        ),
        "says": """
        A round as it is now. Times are nanoseconds.
        """,
    }),
    ("Advice", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("form", "u32", {"says": "FORM_*"}),
            ("bound", "u32", {"says": "BOUND_*: the main use of a round's time in this form"}),
            ("streams", "u32", {"says": "how many streams; 0: as now"}),
            ("order", "u32", {"says": "ORDER_*, with FORM_RANGE and FORM_RING; else 0"}),
            ("batch", "u32", {"says": "tasks that a worker claims at a time; 0: it claims none"}),
            ("gain_low", "u32", {"says": "how many times faster a round would be, in thousandths: at least;"}),
            ("gain_high", "u32", {"says": "and at most"}),
            ("round_ns", "u64", {"says": "expected time of a round"}),
            ("host_calls", "u64", {"says": "launches and copies that the host would submit in a round"}),
            ("reason", "char", {"count": 512, "says": "one or two sentences, with the figures behind the advice"}),
        ),
        "says": """
        A form in which a workload could run.
        """,
    }),
    ("BatchRequest", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("reserved", "u32"),
            ("user_data", "u64", {"says": "of the submission; with gpo.batcher_submit_then: `user`"}),
            ("flow", "u64"),
            ("elements", "u64", {"says": "rows: 1"}),
            ("first", "u64", {"says": "sum of the elements of the members before it: where it begins, in elements"}),
            ("input_bytes", "u64", {"says": "bytes of its input, and of its room for output"}),
            ("output_bytes", "u64"),
        ),
        "says": """
        A member of a batch.
        """,
    }),
    ("Batch", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("requests", "u32", {"says": "number of members"}),
            ("elements", "u64", {"says": "of all members; rows: `requests`"}),
            ("shape", "u64", {"says": "elements to work on; with `work` there is no padding: `elements`"}),
            ("input", "u64", {"says": "device address: `elements` times the key's `input_bytes`"}),
            ("output", "u64", {"says": (
                "device address: `elements` times the key's `output_bytes`; zeros at first, unless the key "
                "has BATCHER_KEEP_OUTPUT")}),
            ("offsets", "u64", {"says": (
                "device address: uint32_t[requests + 1], exclusive sums of the members' elements")}),
            ("made", "u64", {"says": (
                "device address: uint32_t[requests], zeros at first. The work may write how many bytes of "
                "output it made for a member. 0: all of its room. 0 without BATCHER_VARIABLE_OUTPUT")}),
            ("key", "u64"),
            ("device", "u32", {"says": "the place of the device in gpo.BatcherOptions.devices"}),
            ("lane", "u32", {"says": "number of the lane, from 0. Batches of a lane run one after the other"}),
            ("members", "BatchRequest *", {"length": "requests", "stride": "member_stride", "says": (
                "`requests` structs, `member_stride` bytes apart; valid during the call")}),
            ("member_stride", "u64"),
        ),
        "says": """
        A batch, for the work that runs it. The memory is the batcher's, and valid for work in the order of
        the stream.
        """,
    }),
    ("BatcherOptions", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("flags", "u32", {"says": "0: there are none yet"}),
            ("devices", "Device *", {"length": "device_count", "says": "handles of different devices of one runtime"}),
            ("device_count", "u64", {"says": "1 to 64"}),
            ("lanes", "u32", {"says": "lanes of each device; AUTO: 1; at most 16"}),
            ("capacity", "u32", {"says": (
                "how many requests may wait at a time, of all keys; AUTO: 65536; at most 2^20")}),
            ("executor", "Executor", {"says": (
                "forms batches and calls `work`; None: the batcher has one of its own, with a thread for each"
                " lane. It has to have as many threads as lanes are to work at a time. While requests wait, "
                "gpo.executor_run doesn't return")}),
            ("label", "char *"),
        ),
        "says": """
        A struct of batcher.h.
        """,
    }),
    ("BatcherKeyOptions", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("flags", "u32", {"says": "BATCHER_PRESERVE_ORDER, BATCHER_VARIABLE_OUTPUT, BATCHER_KEEP_OUTPUT"}),
            ("layout", "u32", {"says": "BATCH_*"}),
            ("max_batch", "u32", {"says": (
                "most members of a batch, up to 65536; AUTO: rows with buckets: the largest shape, else 64. "
                "1: requests run alone, spread over the lanes")}),
            ("input_bytes", "u64", {"says": "of a row or an element, in and out; not both are 0"}),
            ("output_bytes", "u64"),
            ("max_elements", "u64", {"says": (
                "ragged: most elements of a batch, and of a request; up to 2^32 - 1; AUTO: with buckets the "
                "largest shape. Rows: 0")}),
            ("max_delay_ns", "u64", {"says": (
                "how long a request may wait for others; AUTO: learnt, see below; 1: never")}),
            ("buckets", "Buckets *", {"length": "bucket_count", "says": (
                "the work: one for each device, in the order of the devices. None: `work`")}),
            ("bucket_count", "u64", {"says": "number of devices; without `buckets` 0"}),
            ("work", "BatchFn", {"ended_by": ("runtime_shutdown",), "says": "None: `buckets`"}),
            ("user", "void *", {"writes": True, "says": "passed to `work`"}),
            ("label", "char *", {"says": "names the key in failures and figures; None: \"key 0\", by its number"}),
            ("release", "BatchReleaseFn", {"ended_by": ("runtime_shutdown",), "says": (
                "None, or called with `user` once when `work` is called no more")}),
        ),
        "says": """
        A struct of batcher.h.
        """,
    }),
    ("BatcherRequest", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("key", "u32"),
            ("flow", "u64", {"says": "any number: a tenant, a connection"}),
            ("elements", "u64", {"says": "ragged: 1 up to the key's max_elements. Rows: 0 or 1"}),
            ("input", "void *", {"says": "host memory, or"}),
            ("input_address", "u64", {"says": (
                "device memory: as many bytes as the key and `elements` say; one of the two, unless the key "
                "has no bytes in")}),
            ("output", "void *", {"writes": True, "says": "host memory, or"}),
            ("output_address", "u64", {"says": "device memory, likewise"}),
            ("output_made", "u64 *", {"says": (
                "None, or gets the number of bytes of output before the entry comes. Device memory is always "
                "written as far as the room reaches")}),
            ("deadline_ns", "u64", {"says": "CLOCK_MONOTONIC; 0 and UINT64_MAX: none"}),
        ),
        "says": """
        A struct of batcher.h.
        """,
    }),
    ("BatcherInfo", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("keys", "u32", {"says": "keys of the batcher"}),
            ("waiting", "u64", {"says": "requests: wait now"}),
            ("waiting_elements", "u64"),
            ("waiting_flows", "u64", {"says": "flows with waiting requests, counted for each key"}),
            ("running", "u64", {"says": "requests in batches that run now"}),
            ("running_batches", "u64"),
            ("submitted", "u64", {"says": "requests that were accepted"}),
            ("submitted_bytes", "u64", {"says": "their input and room for output"}),
            ("succeeded", "u64", {"says": "requests: ended with SUCCESS"}),
            ("failed", "u64", {"says": "with the failure of a batch"}),
            ("expired", "u64", {"says": "with TIMEOUT"}),
            ("cancelled", "u64", {"says": "with CANCELLED"}),
            ("refused_full", "u64", {"says": "refused: as many requests waited as may"}),
            ("refused_deadline", "u64", {"says": "refused: the deadline couldn't be met"}),
            ("late", "u64", {"says": "of `succeeded`: ended after their deadline"}),
            ("batches", "u64", {"says": "batches that ended"}),
            ("batch_elements", "u64", {"says": "their elements"}),
            ("padded_elements", "u64", {"says": "elements of padding that ran with them; with `work`: 0"}),
            ("delay_ns", "u64", {"says": "key: how long its newest batch has waited for members; batcher: 0"}),
            ("wait_ns", "u64", {"says": (
                "predicted time until a request that is submitted now would be done, with the margin; "
                "batcher: the longest of its keys")}),
            ("requests_per_second", "f64", {"says": "requests that ended with SUCCESS, over the last seconds"}),
            ("batches_per_second", "f64"),
            ("queue_ns", "u64", {"says": "the times that are counted below, added up"}),
            ("batch_ns", "u64"),
            ("request_ns", "u64"),
            ("sizes", "u64", {"count": 17}),
            ("queue_times", "u64", {"count": 32, "says": "of requests: from submission to the forming of the batch"}),
            ("batch_times", "u64", {"count": 32, "says": "of batches: from forming to the end of the copy back"}),
            ("request_times", "u64", {"count": 32, "says": "of requests with SUCCESS: from submission to the entry"}),
        ),
        "says": """
        Figures of a key, or of a batcher. Counters begin with the batcher.
        """,
    }),
    ("BatcherFlowInfo", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("weight", "u32"),
            ("waiting", "u64", {"says": "requests of all keys: wait now"}),
            ("submitted", "u64", {"says": "requests since the flow was first seen: accepted"}),
            ("succeeded", "u64", {"says": "ended with SUCCESS"}),
            ("failed", "u64", {"says": "ended otherwise"}),
            ("wait_ns", "u64", {"says": "time that requests waited until their batches were formed, added up"}),
            ("longest_wait_ns", "u64"),
        ),
        "says": """
        A struct of batcher.h.
        """,
    }),
    ("BucketWork", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("reserved", "u32"),
            ("size", "u64", {"says": "elements of the request; in a warm-up and a recording: `shape`"}),
            ("shape", "u64", {"says": (
                "number of elements to work on: a shape of the table, or `size` in an eager run")}),
            ("graph_template", "Template", {"says": (
                "record: None: the work runs; else it is recorded into this template, whose recording the "
                "library begins and ends. pad: the bucket's. The template is the library's to destroy; its "
                "handle is valid until the bucket is evicted")}),
            ("settings", "Setting *", {"length": "setting_count", "stride": "setting_stride", "says": (
                "of the request; none in a warm-up and a recording")}),
            ("setting_stride", "u64"),
            ("setting_count", "u64"),
            ("phase", "u32", {"says": "BUCKET_*; an older library's struct ends before it (struct_size)"}),
            ("reserved2", "u32"),
        ),
        "says": """
        The work that `record` or `pad` puts on the stream. Valid during the call.
        """,
    }),
    ("MemoryRange", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("reserved", "u32", {"says": "0"}),
            ("address", "u64"),
            ("bytes", "u64"),
        ),
        "says": """
        Memory from `address` on.
        """,
    }),
    ("BucketsOptions", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("flags", "u32", {"says": "BUCKETS_*"}),
            ("shapes", "u64 *", {"length": "shape_count", "says": (
                "numbers of elements, in any order; none is 0, none comes twice")}),
            ("shape_count", "u64", {"says": "1 to 4096"}),
            ("max_bytes", "u64", {"says": (
                "device memory that all buckets may take; 0: any. A bucket takes as much as the device's free"
                " memory went down by while the bucket was recorded and its graphs were made. Allocations of "
                "`record` count, and also other allocations at that time")}),
            ("max_buckets", "u32", {"says": (
                "most buckets that are recorded at a time; the least recently used bucket makes room for "
                "another; 0: all")}),
            ("streams", "u32", {"says": (
                "graphs of each bucket from the start, one for each launching stream; AUTO: 1; at most 64")}),
            ("record", "BucketFn", {"ended_by": ("buckets_destroy",)}),
            ("pad", "BucketFn", {"ended_by": ("buckets_destroy",), "says": (
                "writes the elements from `size` to `shape`. None: `pad_address`")}),
            ("user", "void *", {"writes": True, "says": "passed to `record` and `pad`"}),
            ("pad_address", "u64", {"says": (
                "element 0 in device memory: zeros are written instead of a call of `pad`. 0: no padding is "
                "needed. 0 with `pad`")}),
            ("pad_element_bytes", "u64", {"says": "size of an element there; 0 without `pad_address`"}),
            ("label", "char *"),
            ("restored", "MemoryRange *", {"length": "restored_count", "stride": "restored_stride", "says": (
                "`restored_count` structs, `restored_stride` bytes apart: memory, of the device or pinned, "
                "that a warm-up leaves unchanged. The memory is read and written in the order of the caller's"
                " stream, and not at the same time by other work. Copies take as much device memory again "
                "while a bucket is recorded")}),
            ("restored_stride", "u64"),
            ("restored_count", "u64", {"says": "at most 4096"}),
        ),
        "says": """
        A struct of buckets.h.
        """,
    }),
    ("BucketsStatistics", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("buckets", "u32", {"says": "recorded, and not evicted"}),
            ("bytes", "u64", {"says": "device memory that these take, as for max_bytes"}),
            ("hits", "u64", {"says": "requests that found their bucket recorded"}),
            ("misses", "u64", {"says": "requests for which a bucket was recorded"}),
            ("eager", "u64", {"says": "requests that ran eagerly"}),
            ("evictions", "u64", {"says": "buckets that were evicted"}),
            ("requested", "u64", {"says": "elements of all these requests"}),
            ("padded", "u64", {"says": "elements of padding that ran with them"}),
            ("failures", "u64", {"says": (
                "attempts to record a bucket that failed, in the warm-up or in the recording")}),
            ("fallbacks", "u64", {"says": (
                "of `eager`, requests whose bucket's recording had failed (BUCKETS_EAGER_FALLBACK)")}),
            ("last_failure", "char", {"count": 256, "says": (
                "cause of the last failure, with its bucket; \"\" if there was none")}),
        ),
        "says": """
        Counters of buckets and their requests.
        """,
    }),
    ("CqOptions", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("flags", "u32", {"says": "0: there are none yet"}),
            ("capacity", "u32", {"says": (
                "entries in the queue and accepted notifies together; AUTO: 4096; at most 2^24")}),
            ("reserved", "u32", {"says": "0"}),
            ("label", "char *"),
        ),
        "says": """
        A struct of completion.h.
        """,
    }),
    ("Completion", "struct", {
        "fields": (
            ("struct_size", "u32", {"says": "set by the library"}),
            ("status", "status", {"says": "SUCCESS, or the failure of the work"}),
            ("user_data", "u64", {"says": "the number that was given to the notify"}),
            ("origin", "u32", {"says": "ORIGIN_*"}),
            ("reserved", "u32"),
            ("operation", "u64", {"says": (
                "stream: number of the newest operation before the mark; timeline: the value; queue: the "
                "tenant; admission and batcher: the ticket; event and pipeline: meaningless")}),
            ("submitted_ns", "u64", {"says": "CLOCK_MONOTONIC at the notify, or at the post"}),
            ("completed_ns", "u64", {"says": "CLOCK_MONOTONIC when the library saw that the work was done"}),
            ("gpu_ns", "i64", {"says": "gpo.stream_notify_timed: GPU time since the given event; otherwise -1"}),
            ("error_id", "u64", {"says": "if the work has failed: for gpo.cq_get_error"}),
        ),
        "says": """
        A struct of completion.h.
        """,
    }),
    ("CqStatistics", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("capacity", "u32"),
            ("accepted", "u64", {"says": "notifies accepted"}),
            ("delivered", "u64", {"says": "entries put into the queue"}),
            ("drained", "u64", {"says": "entries taken out"}),
            ("refused", "u64", {"says": "notifies refused because the queue was full"}),
        ),
        "says": """
        Counters of a completion queue.
        """,
    }),
    ("DeviceProperties", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("native_ordinal", "i32", {"says": "the driver's own number of the device"}),
            ("name", "char", {"count": 128, "says": "the driver's name for the device"}),
            ("uuid", "u8", {"count": 16, "says": "the UUID of the device"}),
            ("pci_address", "char", {"count": 32, "says": "\"0000:1b:00.0\""}),
            ("numa_node", "i32", {"says": "the host's NUMA node nearest to the device; -1: not known"}),
            ("compute_capability_major", "i32", {"says": "9 for 9.0"}),
            ("compute_capability_minor", "i32", {"says": "0 for 9.0"}),
            ("multiprocessors", "i32", {"says": "how many multiprocessors the device has"}),
            ("copy_engines", "i32", {"says": "how many copies can run at the same time, beside kernels"}),
            ("warp_size", "i32", {"says": "how many threads a warp has"}),
            ("max_threads_per_block", "i32", {"says": "most threads of a block"}),
            ("max_threads_per_multiprocessor", "i32", {"says": "most threads that a multiprocessor runs at a time"}),
            ("clock_khz", "i32", {"says": "clock rate of the multiprocessors"}),
            ("memory_clock_khz", "i32", {"says": "clock rate of the memory"}),
            ("memory_bus_bits", "i32", {"says": "width of the memory's bus"}),
            ("l2_bytes", "i32", {"says": "size of the L2 cache"}),
            ("software", "u32", {"says": "1: it is the software GPU"}),
            ("memory_bytes", "u64", {"says": "size of the device memory; gpo.device_get_memory says how much is free"}),
            ("shared_bytes_per_block", "u64", {"says": "shared memory that a block of every kernel may use"}),
            ("shared_bytes_per_block_max", "u64", {"says": (
                "the same after gpo.kernel_set_max_dynamic_shared (module.h)")}),
            ("shared_bytes_per_multiprocessor", "u64", {"says": "shared memory that a multiprocessor has"}),
            ("max_block", "u32", {"count": 3, "says": "most threads of a block in each dimension"}),
            ("max_grid", "u32", {"count": 3, "says": "most blocks of a launch in each dimension"}),
            ("cooperative_launch", "u32", {"says": "1: kernels can be launched with LAUNCH_COOPERATIVE (module.h)"}),
            ("cluster_launch", "u32", {"says": "1: blocks of a launch can form clusters"}),
            ("memory_pools", "u32", {"says": "1: the driver has memory pools, which gpo.pool_create needs"}),
            ("batched_copies", "u32", {"says": "1: the driver takes many copies with one call (gpo.copy_batch)"}),
        ),
        "says": """
        Properties of a device.
        """,
    }),
    ("PeerProperties", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("accessible", "u32", {"says": "1: kernels and copies on `from` can reach memory of `to` directly"}),
            ("native_atomics", "u32", {"says": "1: atomic operations on that memory are native"}),
            ("performance_rank", "i32", {"says": "the driver's rank of the connection: lower is faster"}),
        ),
        "says": """
        How one device of a runtime reaches another's memory.
        """,
    }),
    ("DeviceOptions", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("flags", "u32", {"says": "0: there are none yet"}),
            ("ordinal", "u32", {"says": "from 0"}),
            ("reserved", "u32", {"says": "0"}),
            ("native_context", "void *", {"writes": True, "says": (
                "None: the device's primary context, which is retained; its flags stay as they are. Not None:"
                " the caller's CUcontext on that device, which must exist until all objects that were made "
                "from the device are destroyed and their work is done")}),
            ("label", "char *"),
        ),
        "says": """
        A struct of device.h.
        """,
    }),
    ("EventOptions", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("flags", "u32", {"says": "EVENT_*"}),
            ("label", "char *"),
        ),
        "says": """
        A struct of event.h.
        """,
    }),
    ("ExecutorOptions", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("flags", "u32", {"says": "EXECUTOR_*"}),
            ("threads", "u32", {"says": "the executor's own threads; AUTO: 2; at most 256. 0 with EXECUTOR_CALLER"}),
            ("capacity", "u32", {"says": (
                "how many callbacks may be accepted and not run; AUTO: 65536; at most 2^24. Beyond that "
                "functions return WOULD_BLOCK")}),
            ("label", "char *"),
        ),
        "says": """
        A struct of executor.h.
        """,
    }),
    ("ExecutorStatistics", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("threads", "u32"),
            ("accepted", "u64", {"says": "callbacks, host calls and log lines that were accepted"}),
            ("called", "u64", {"says": "called, and returned"}),
            ("cancelled", "u64", {"says": "called with CANCELLED: the executor was destroyed, or gpo.executor_cancel"}),
            ("threw", "u64", {"says": "left by a C++ exception"}),
            ("refused", "u64", {"says": "refused for lack of room, with log lines"}),
            ("pending", "u64", {"says": "accepted and not returned yet"}),
        ),
        "says": """
        Counters of an executor.
        """,
    }),
    ("HostCall", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("status", "status", {"says": (
                "SUCCESS: do the work. Otherwise the work before the host call has failed or was cancelled: "
                "the function must not do its work, but only release its resources, and its result is ignored")}),
            ("call", "u64", {"says": "the call's number, for gpo.host_call_finish"}),
            ("error", "Error *", {"says": "details of `status`; None if that is SUCCESS. Valid during the call"}),
        ),
        "says": """
        A struct of executor.h.
        """,
    }),
    ("MemoryStatistics", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("slabs", "u32", {"says": "arenas: how many slabs there are; pools: 0"}),
            ("in_use", "u64", {"says": "allocated and not freed"}),
            ("reserved", "u64", {"says": "taken from the driver"}),
            ("peak_in_use", "u64"),
            ("peak_reserved", "u64"),
            ("waiting", "u64", {"says": (
                "arenas: the part of in_use whose free waits for a stream or a graph. Pools: 0, since a piece"
                " is no longer in use once its free was submitted to the stream")}),
            ("allocations", "u64", {"says": "how many, since creation"}),
            ("frees", "u64", {"says": "how many, since creation"}),
            ("driver_calls", "u64", {"says": "how many calls took memory from the driver or gave memory back"}),
        ),
        "says": """
        Figures of an arena or a pool. Amounts are in bytes.
        """,
    }),
    ("ArenaOptions", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("flags", "u32", {"says": "ARENA_*"}),
            ("max_bytes", "u64", {"says": "most bytes that the arena takes from the driver; 0: no limit"}),
            ("slab_bytes", "u64", {"says": "least size of a slab; AUTO: 64 MiB, or max_bytes if that is less"}),
            ("initial_bytes", "u64", {"says": (
                "bytes that gpo.arena_create takes; 0: none, the first allocation takes a slab")}),
            ("numa_node", "i32", {"says": "with ARENA_NUMA: 0 to 1023; otherwise 0"}),
            ("reserved", "u32", {"says": "0"}),
            ("label", "char *"),
        ),
        "says": """
        A struct of memory.h.
        """,
    }),
    ("MemoryInfo", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("kind", "u32", {"says": "MEMORY_*"}),
            ("device_ordinal", "i32", {"says": "the driver's own number of the device; -1 for host memory"}),
            ("reserved", "u32"),
            ("start", "u64", {"says": "address of the allocation or registration; 0 for pageable memory"}),
            ("bytes", "u64", {"says": "its size"}),
        ),
        "says": """
        The kind of memory at an address.
        """,
    }),
    ("PoolOptions", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("flags", "u32", {"says": "POOL_KEEP_NOTHING"}),
            ("max_bytes", "u64", {"says": "most bytes in use; 0: no limit"}),
            ("keep_bytes", "u64", {"says": (
                "how much unused memory the pool keeps instead of giving it back to the system; AUTO: all, "
                "until gpo.pool_trim. To keep none, set POOL_KEEP_NOTHING")}),
            ("initial_bytes", "u64", {"says": (
                "bytes that gpo.pool_create takes, to make the first allocations fast; at most max_bytes")}),
            ("label", "char *"),
        ),
        "says": """
        A struct of memory.h.
        """,
    }),
    ("Copy", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("flags", "u32", {"says": "0: there are none yet"}),
            ("destination", "u64"),
            ("source", "u64"),
            ("bytes", "u64"),
        ),
        "says": """
        A copy of a batch. `destination` and `source` may be device addresses or host pointers converted to
        uint64_t.
        """,
    }),
    ("Copy2d", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("flags", "u32", {"says": "0: there are none yet"}),
            ("destination", "u64"),
            ("destination_pitch", "u64"),
            ("source", "u64"),
            ("source_pitch", "u64"),
            ("width", "u64"),
            ("height", "u64"),
        ),
        "says": """
        A copy of `height` rows of `width` bytes. A pitch is the distance from one row to the next in bytes,
        at least `width`.
        """,
    }),
    ("Metrics", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("devices", "u32", {"says": "devices on which an object was opened"}),
            ("streams", "u64"),
            ("operations_pending", "u64", {"says": (
                "operations accepted and not yet known to be done. The library learns that a stream's "
                "operations are done only when the program waits for the stream, queries it or has a notify "
                "on it. Operations of a failed stream stay counted. A pipeline checks its own streams with "
                "each chunk")}),
            ("operations_held", "u64", {"says": (
                "pending operations that are held on the host now (stream.h); gpo.Statistics.holds counts all"
                " since the beginning")}),
            ("completions_pending", "u64", {"says": "entries accepted by completion queues and not drained"}),
            ("notifies_refused", "u64", {"says": "counter: notifies refused because the queue was full"}),
            ("arena_in_use", "u64", {"says": "bytes, all existing pinned arenas together"}),
            ("arena_reserved", "u64"),
            ("arena_peak", "u64", {"says": "sum of the arenas' own peaks of in_use"}),
            ("pool_in_use", "u64", {"says": "bytes, all existing device pools together"}),
            ("pool_reserved", "u64"),
            ("pool_peak", "u64"),
            ("latency_count", "u64", {"says": (
                "completions delivered. Their latency is the time from notify to delivery:")}),
            ("latency_sum", "u64", {"says": "nanoseconds"}),
            ("latencies", "u64", {"count": 32, "says": (
                "[i]: how many took at most 2^i microseconds and more than half that; the last element: all "
                "longer ones")}),
            ("errors", "u64", {"count": 96, "says": (
                "[status]: calls on live objects, and completions, that failed with status")}),
            ("executors", "u64"),
            ("executor_threads", "u64", {"says": (
                "the library's threads of all executors; threads of the program aren't known")}),
            ("callbacks", "u64", {"says": (
                "counter: callbacks run by executors, with host calls and pipelines' callbacks")}),
            ("callbacks_pending", "u64", {"says": (
                "callbacks accepted by executors and not run yet, whether due or not")}),
            ("pipeline_pinned", "u64", {"says": "bytes of pinned memory of pipelines, which belong to no arena"}),
        ),
        "says": """
        Figures of a runtime.
        """,
    }),
    ("DeviceMetrics", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("reserved", "u32", {"says": "0"}),
            ("memory_total", "i64", {"says": "bytes"}),
            ("memory_used", "i64", {"says": "bytes, by all processes; on the software GPU by this process"}),
            ("utilization", "i64", {"says": "per cent of NVML's last sampling period in which a kernel ran"}),
            ("memory_utilization", "i64", {"says": (
                "per cent of that period in which device memory was read or written")}),
            ("power", "i64", {"says": "milliwatts"}),
            ("energy", "i64", {"says": "millijoules, since the driver was loaded"}),
            ("temperature", "i64", {"says": "degrees Celsius"}),
            ("sm_clock", "i64", {"says": "Hz"}),
            ("memory_clock", "i64", {"says": "Hz"}),
            ("pcie_sent", "i64", {"says": "bytes that the device has sent since the driver was loaded"}),
            ("pcie_received", "i64", {"says": "bytes that the device has received since the driver was loaded"}),
            ("reason", "char", {"count": 160, "says": "why NVML isn't used; \"\" if it is"}),
        ),
        "says": """
        Figures from a device. On CUDA devices they come from NVML (libnvidia-ml.so.1, loaded by the first
        call). A number that isn't available is -1. The software GPU has only the numbers about memory.
        """,
    }),
    ("CompileOptions", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("flags", "u32", {"says": "COMPILE_*"}),
            ("source", "char *", {"says": "CUDA C++"}),
            ("source_bytes", "u64", {"says": "0: the source ends with a NUL"}),
            ("file_name", "char *", {"says": "name of the source in the compiler's messages; None: \"kernel.cu\""}),
            ("options", "char **", {"length": "option_count", "says": (
                "in NVRTC's spelling: \"-DN=4\", \"--std=c++17\", \"-I/usr/include/mine\"")}),
            ("option_count", "u32"),
            ("name_expression_count", "u32"),
            ("name_expressions", "char **", {"length": "name_expression_count", "says": (
                "template kernels to instantiate, \"scale<float>\"; the expression is then a name for "
                "gpo.module_get_kernel")}),
            ("header_names", "char **", {"length": "header_count", "says": (
                "headers that the source may include: names as in its #include lines")}),
            ("header_texts", "char **", {"length": "header_count", "says": "the text of each of them"}),
            ("header_count", "u32"),
            ("reserved", "u32", {"says": "0"}),
            ("label", "char *"),
        ),
        "says": """
        A struct of module.h.
        """,
    }),
    ("KernelAttributes", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("max_threads_per_block", "u32"),
            ("registers_per_thread", "u32"),
            ("parameter_count", "u32", {"says": (
                "0: the kernel has none, or the driver is older than CUDA 12.4 and can't tell")}),
            ("static_shared_bytes", "u64"),
            ("constant_bytes", "u64"),
            ("local_bytes_per_thread", "u64"),
            ("parameter_bytes", "u64", {"says": "size of all parameters with their padding; 0 as for parameter_count"}),
            ("max_dynamic_shared_bytes", "u64"),
            ("ptx_version", "i32"),
            ("binary_version", "i32"),
        ),
        "says": """
        The resources that a kernel needs.
        """,
    }),
    ("Launch", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("flags", "u32", {"says": "LAUNCH_*"}),
            ("grid", "u32", {"count": 3, "says": "blocks in each dimension; 0 counts as 1, except in grid[0]"}),
            ("block", "u32", {"count": 3, "says": "threads in each dimension; 0 counts as 1, except in block[0]"}),
            ("cluster", "u32", {"count": 3, "says": (
                "blocks of a cluster; all 0: as the kernel's __cluster_dims__ says, else none")}),
            ("priority", "i32", {"says": "with LAUNCH_PRIORITY"}),
            ("dynamic_shared_bytes", "u64", {"says": "dynamic shared memory of a block"}),
            ("label", "char *", {"says": "the operation's label; None: the kernel's"}),
        ),
        "says": """
        A struct of module.h.
        """,
    }),
    ("PeersOptions", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("flags", "u32", {"says": "0: there are none yet"}),
            ("engine", "u32", {"says": "ENGINE_* for all collectives of the group; AUTO: one for each collective"}),
            ("reserved", "u32", {"says": "0"}),
            ("label", "char *"),
        ),
        "says": """
        A struct of peers.h.
        """,
    }),
    ("PeersInfo", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("ranks", "u32", {"says": "how many"}),
            ("direct", "u32", {"says": (
                "1: every device reaches the memory of every other. 0 in groups of several processes")}),
            ("native_atomics", "u32", {"says": (
                "1: atomic operations on that memory are native for all of them. 0 likewise")}),
            ("nccl_version", "u32", {"says": "22809 for 2.28.9; 0: the group doesn't use NCCL"}),
            ("rank", "u32", {"says": "the first rank of this process"}),
            ("local_ranks", "u32", {"says": "how many ranks this process has"}),
            ("reserved", "u32"),
            ("collectives", "u64", {"says": "submitted, held ones included"}),
            ("direct_collectives", "u64", {"says": "of these, given to the direct engine"}),
            ("bytes", "u64", {"says": "that ranks of this process have sent, by the collectives' counts"}),
            ("mpi_device", "u32", {"says": "1: MPI gets the data in device memory (JOIN_MPI)"}),
            ("reserved1", "u32"),
        ),
        "says": """
        Properties and counters of a group.
        """,
    }),
    ("JoinOptions", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("flags", "u32", {"says": "JOIN_CHECK_ORDER: the same for all ranks"}),
            ("by", "u32", {"says": "JOIN_*"}),
            ("engine", "u32", {"says": (
                "ENGINE_NCCL or ENGINE_HOST, the same for all ranks; AUTO: NCCL where all ranks have CUDA "
                "devices and NCCL, and the host engine elsewhere")}),
            ("rank", "u32", {"says": "this process's, from 0. By MPI: 0, or the rank in the communicator"}),
            ("ranks", "u32", {"says": "how many. By MPI: 0, or the communicator's size"}),
            ("timeout_ns", "i64", {"says": (
                "how long joining may take, and how long a rank may keep a collective waiting once this "
                "process's stream has come to it. 0: 60 s; negative: no limit")}),
            ("path", "char *", {"says": (
                "JOIN_FILE: nothing has to be there. The file is made, readable and writable to its user "
                "alone, and removed when all have joined. The file of a group whose processes have died is "
                "replaced. All ranks are processes of one user")}),
            ("id", "void *", {"says": "JOIN_ID: PEERS_ID_BYTES bytes"}),
            ("communicator", "void *", {"writes": True, "says": (
                "JOIN_MPI: the program's MPI_Comm, cast to void *; None: MPI_COMM_WORLD")}),
            ("label", "char *"),
        ),
        "says": """
        A struct of peers.h.
        """,
    }),
    ("Collective", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("kind", "u32", {"says": "COLLECTIVE_*"}),
            ("type", "u32", {"says": "TYPE_*; 0 for a barrier"}),
            ("reduction", "u32", {"says": "REDUCE_*; 0 for those that reduce nothing"}),
            ("root", "u32", {"says": "REDUCE, BROADCAST: a rank; 0 for others"}),
            ("flags", "u32", {"says": "0: there are none yet"}),
            ("count", "u64", {"says": (
                "elements: see above. 0: nothing is sent, but streams wait for each other all the same")}),
            ("label", "char *", {"says": (
                "for failures and traces, and to tell equal collectives of a group of several processes apart"
                " (see above); may be None")}),
        ),
        "says": """
        A struct of peers.h.
        """,
    }),
    ("RankPart", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("reserved", "u32", {"says": "0"}),
            ("stream", "Stream", {"says": "of the rank's device"}),
            ("send", "u64", {"says": "address of device memory; 0 where the rank sends nothing"}),
            ("receive", "u64", {"says": "likewise"}),
            ("send_to", "u32", {"says": "SEND_RECEIVE: a rank, or NO_RANK; 0 for others"}),
            ("receive_from", "u32", {"says": "likewise"}),
        ),
        "says": """
        What one rank brings.
        """,
    }),
    ("Chunk", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("slot", "u32", {"says": "the slot that the chunk is in: 0 to slots - 1, of its device"}),
            ("index", "u64", {"says": "number of the chunk, from 0"}),
            ("offset", "u64", {"says": "position of its first byte in the input"}),
            ("bytes", "u64", {"says": "bytes of input; the last chunk may have fewer than the others"}),
            ("output_offset", "u64", {"says": "position of its first byte in the output"}),
            ("output_bytes", "u64"),
            ("input_address", "u64", {"says": "device memory, for stage callbacks, as the next three"}),
            ("output_address", "u64", {"says": "0 if the pipeline has no output"}),
            ("scratch_address", "u64"),
            ("result_address", "u64"),
            ("output", "void *", {"says": "host memory with output_bytes, for sink callbacks; None otherwise"}),
            ("result", "void *", {"says": "host memory with result_bytes, for sink callbacks; None otherwise"}),
            ("device", "u32", {"says": (
                "the chunk's device: a place in gpo.PipelineOptions.devices; 0 if there is one device")}),
            ("reserved", "u32", {"says": "0"}),
        ),
        "says": """
        A chunk, as callbacks get it. Valid during the call.
        """,
    }),
    ("Source", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("kind", "u32", {"says": "SOURCE_MEMORY, SOURCE_FILE or SOURCE_CALLBACK"}),
            ("memory", "void *", {"length": "bytes", "says": (
                "MEMORY: the input. Pinned memory (of an arena, or registered) is copied from directly; other"
                " memory is staged by threads")}),
            ("bytes", "u64", {"says": "MEMORY: its size. FILE: how many bytes to read at most; 0: up to the end"}),
            ("path", "char *", {"says": (
                "FILE: a regular file or a pipe, which the run opens and closes. A regular file is read up to"
                " its size at the opening; if fewer bytes are left, the run fails with IO_ERROR. A FILE "
                "source has either a path or SOURCE_USE_DESCRIPTOR, else INVALID_ARGUMENT")}),
            ("offset", "u64", {"says": (
                "FILE: where to begin in a regular file; beyond its end there is no input. Must be 0 for "
                "pipes and devices (else INVALID_ARGUMENT), which are read from where they stand. Regular "
                "files that report 0 bytes (as in /proc) are read alike, for any `offset`")}),
            ("fill", "SourceFn", {"ended_by": ("pipeline_wait", "pipeline_destroy"), "says": "CALLBACK"}),
            ("user", "void *", {"writes": True, "says": "passed to `fill`"}),
            ("descriptor", "i32", {"says": (
                "FILE with SOURCE_USE_DESCRIPTOR: read, not closed. A regular file is read from `offset`; the"
                " descriptor's own position is neither used nor changed")}),
            ("flags", "u32", {"says": "SOURCE_UNCHANGED, SOURCE_USE_DESCRIPTOR; 0 unless FILE"}),
        ),
        "says": """
        A struct of pipeline.h.
        """,
    }),
    ("StageArgument", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("kind", "u32", {"says": "ARGUMENT_VALUE to ARGUMENT_DEVICE_VALUE"}),
            ("value", "void *", {"length": "bytes", "says": "VALUE, DEVICE_VALUE"}),
            ("bytes", "u64", {"says": "VALUE: 1 to 4096; DEVICE_VALUE: 1 to 4096 for each device"}),
        ),
        "says": """
        A struct of pipeline.h.
        """,
    }),
    ("Stage", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("kind", "u32", {"says": "STAGE_KERNEL or STAGE_CALLBACK"}),
            ("kernel", "Kernel", {"says": "KERNEL; None where `kernels` is given"}),
            ("block", "u32", {"count": 3, "says": "threads; all 0: as gpo.kernel_suggest_shape suggests"}),
            ("grid", "u32", {"count": 3, "says": "blocks; all 0: computed, input bytes / bytes_per_block, rounded up"}),
            ("bytes_per_block", "u64", {"says": (
                "input bytes for each block; 0: one byte for each thread. Must be 0 with a given grid")}),
            ("dynamic_shared_bytes", "u64", {"says": "dynamic shared memory of a block"}),
            ("arguments", "StageArgument *", {"length": "argument_count", "stride": "argument_stride", "says": (
                "an array of `argument_count` structs, `argument_stride` bytes apart")}),
            ("argument_stride", "u64", {"says": "sizeof(gpo.StageArgument); see gpo.PipelineOptions.stage_stride"}),
            ("argument_count", "u32", {"says": "at most 4096"}),
            ("max_blocks", "u32", {"says": (
                "greatest grid[0] that is computed, for kernels that loop; 0: no limit. Must be 0 with a "
                "given grid")}),
            ("enqueue", "StageFn", {"ended_by": ("pipeline_destroy",), "says": "CALLBACK"}),
            ("user", "void *", {"writes": True, "says": "passed to `enqueue`"}),
            ("label", "char *"),
            ("kernels", "Kernel *", {"says": (
                "KERNEL, on several devices: one for each, in the order of gpo.PipelineOptions.devices")}),
        ),
        "says": """
        A struct of pipeline.h.
        """,
    }),
    ("Sink", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("kind", "u32", {"says": "SINK_NONE, SINK_MEMORY, SINK_FILE or SINK_CALLBACK"}),
            ("memory", "void *", {"length": "bytes", "writes": True, "says": (
                "MEMORY: where the output goes. Pinned memory is copied to directly; threads move the output "
                "to other memory")}),
            ("bytes", "u64", {"says": "MEMORY: its size. If there is more output, the run fails with LIMIT_EXCEEDED"}),
            ("path", "char *", {"says": (
                "FILE: the output is written to a temporary file beside it, which gets this name when the run"
                " has succeeded; after a failure nothing is left. If the path is a symbolic link to a file, "
                "that file is replaced. Devices and pipes are written to directly. A FILE sink has either a "
                "path or SINK_USE_DESCRIPTOR, else INVALID_ARGUMENT")}),
            ("take", "SinkFn", {"ended_by": ("pipeline_wait", "pipeline_destroy"), "says": (
                "CALLBACK; with the other kinds it may be set too, and runs after a chunk was written")}),
            ("user", "void *", {"writes": True, "says": "passed to `take`"}),
            ("descriptor", "i32", {"says": "FILE with SINK_USE_DESCRIPTOR: written from where it stands, not closed"}),
            ("flags", "u32", {"says": "SINK_USE_DESCRIPTOR; 0 unless FILE"}),
        ),
        "says": """
        A struct of pipeline.h.
        """,
    }),
    ("PipelineProgress", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("running", "u32", {"says": "1 during a run"}),
            ("bytes_in", "u64", {"says": "input bytes read from the source"}),
            ("bytes_done", "u64", {"says": "input bytes of chunks that are through the sink"}),
            ("bytes_total", "u64", {"says": "size of the input; 0: not known"}),
            ("chunks_done", "u64"),
            ("elapsed_ns", "u64"),
        ),
        "says": """
        How far a run is.
        """,
    }),
    ("PipelineOptions", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("flags", "u32", {"says": "PIPELINE_*"}),
            ("chunk_bytes", "u64", {"says": (
                "input bytes of a chunk: a multiple of `granule`, at most 1 TiB. AUTO: the first run measures"
                " which size is best (64 KiB to 64 MiB), and the pipeline remembers it")}),
            ("granule", "u64", {"says": "all chunks except the last are multiples of it; 0: 4096; at most 1 TiB"}),
            ("slots", "u32", {"says": (
                "chunks under way at a time on each device, 1 to 1024; AUTO: 3, or up to 6 if host code takes"
                " part")}),
            ("output_numerator", "u32", {"says": (
                "output bytes = input bytes * numerator / denominator, rounded up; at most 4096 times the "
                "input. Numerator 0 with a denominator: no output. Both 0: as many output bytes as input "
                "bytes")}),
            ("output_denominator", "u32"),
            ("stage_count", "u32", {"says": "1 to 64"}),
            ("stages", "Stage *", {"length": "stage_count", "stride": "stage_stride", "says": (
                "an array of `stage_count` structs, `stage_stride` bytes apart")}),
            ("stage_stride", "u64", {"says": (
                "sizeof(gpo.Stage). Must be a multiple of 8 and at least the struct_size of every element, "
                "else INVALID_ARGUMENT")}),
            ("scratch_bytes", "u64", {"says": "device memory for each chunk, not cleared; at most 1 TiB"}),
            ("result_bytes", "u64", {"says": (
                "result of a chunk: a block that is zeroed before the stages run, and that the sink gets; at "
                "most 1 MiB")}),
            ("max_pinned_bytes", "u64", {"says": (
                "most pinned memory for staging, for all devices together; AUTO: 1 GiB for each device")}),
            ("progress", "ProgressFn", {"ended_by": ("pipeline_destroy",), "says": "may be None"}),
            ("progress_user", "void *", {"writes": True, "says": "passed to `progress`"}),
            ("progress_ns", "u64", {"says": "least time between two calls of `progress`; 0: 100 ms"}),
            ("label", "char *"),
            ("executor", "Executor", {"says": (
                "runs the callbacks of sources, stages and sinks and `progress` (executor.h): one of each "
                "kind at a time, while a thread of the pipeline waits. None: threads of the pipeline run "
                "them. If the executor is destroyed during a run, the run ends with CANCELLED. A thread that "
                "runs the executor must not wait for the pipeline, except by gpo.pipeline_then")}),
            ("devices", "Device *", {"length": "device_count", "says": (
                "several devices that share the work: `device_count` of them, all different and of one "
                "runtime; the first is the `device` that gpo.pipeline_create gets. None: that device alone")}),
            ("device_count", "u32", {"says": "1 to 64; 0 if `devices` is None"}),
            ("reserved", "u32", {"says": "0"}),
        ),
        "says": """
        A struct of pipeline.h.
        """,
    }),
    ("PipelineResult", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("status", "status", {"says": "how the run ended"}),
            ("bytes_in", "u64"),
            ("bytes_out", "u64"),
            ("chunks", "u64"),
            ("elapsed_ns", "u64", {"says": "from gpo.pipeline_start until the last chunk was through the sink"}),
            ("chunk_bytes", "u64", {"says": "the size of chunks at the end of the run"}),
            ("slots", "u32", {"says": "of each device"}),
            ("tuned", "u32", {"says": "1: a part of this run was spent on measuring chunk sizes"}),
            ("copy_in_ns", "u64", {"says": (
                "with PIPELINE_TIMES: how long the copies in were busy on the GPU; of several devices this "
                "and the next three are sums")}),
            ("copy_out_ns", "u64", {"says": "… the copies out"}),
            ("kernel_ns", "u64", {"says": "… the kernels"}),
            ("copy_hidden_ns", "u64", {"says": (
                "the part of copy_in_ns + copy_out_ns in which the other direction or a kernel was busy too")}),
            ("staged_bytes", "u64", {"says": (
                "bytes that host threads moved between the caller's memory and pinned buffers")}),
        ),
        "says": """
        The figures of a run that has ended.
        """,
    }),
    ("PipelineShare", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("reserved", "u32", {"says": "0"}),
            ("chunks", "u64", {"says": "that ran there and are through the sink"}),
            ("bytes_in", "u64", {"says": "input bytes of them"}),
            ("copy_in_ns", "u64", {"says": "with PIPELINE_TIMES: as in gpo.PipelineResult, of this device"}),
            ("copy_out_ns", "u64"),
            ("kernel_ns", "u64"),
            ("copy_hidden_ns", "u64"),
        ),
        "says": """
        A device's share of a run.
        """,
    }),
    ("QueueOptions", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("kind", "u32", {"says": "QUEUE_RANGE, …"}),
            ("flags", "u32", {"says": "QUEUE_TICKETS, QUEUE_NO_ANSWERS, QUEUE_LATE_CLAIMS"}),
            ("batch", "u32", {"says": "range: numbers in a batch; AUTO: 1"}),
            ("count", "u64", {"says": "range: how many numbers there are, 1 to 2^48. A kernel may use fewer"}),
            ("capacity", "u64", {"says": (
                "rings: how many tasks fit, for each priority, at most 2^26; rounded up to a power of two "
                "from 64 on; AUTO: 65536, in a host ring 4096")}),
            ("task_size", "u32", {"says": "rings: bytes of a task, 16 to 256, a multiple of 16"}),
            ("priorities", "u32", {"says": (
                "ring: 1 to 8, with QUEUE_TICKETS 1; AUTO: 1. Pops look at priority 0 first")}),
            ("answer_size", "u32", {"says": (
                "host ring: bytes of an answer, 0 to 256, a multiple of 4; beside them an answer has a status")}),
            ("tenants", "u32", {"says": "host ring: 1 to 64; AUTO: 1; with QUEUE_NO_ANSWERS there is 1"}),
            ("stream", "Stream", {"says": (
                "the resident stream (stream.h) of a kernel that uses the queue: see \"Memory\". None: there is"
                " none; a host ring needs one")}),
            ("label", "char *"),
        ),
        "says": """
        A struct of queue.h.
        """,
    }),
    ("TenantOptions", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("reserved", "u32", {"says": "0"}),
            ("limit", "u64", {"says": "most places of the ring that the tenant may take at a time; AUTO: all"}),
            ("completions", "Cq", {"says": (
                "gets an entry for each answer: the task's user_data, the answer's status, origin "
                "ORIGIN_QUEUE. None: none")}),
        ),
        "says": """
        A struct of queue.h.
        """,
    }),
    ("Answer", "struct", {
        "fields": (
            ("struct_size", "u32", {"says": "set by the library"}),
            ("status", "status", {"says": "that the kernel gave"}),
            ("user_data", "u64", {"says": "of the task"}),
        ),
        "says": """
        An answer of a kernel to a task.
        """,
    }),
    ("QueueInfo", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("kind", "u32", {"says": "QUEUE_RANGE, …"}),
            ("state", "u32", {"says": "rings: QUEUE_OPEN, …"}),
            ("task_size", "u32"),
            ("capacity", "u64", {"says": (
                "rings: tasks that fit, for each priority; range: how many numbers there are")}),
            ("depth", "u64", {"says": "rings: tasks in device memory that wait for a pop"}),
            ("pushed", "u64", {"says": (
                "rings: tasks pushed. This and the next three: since the ring was created or reset")}),
            ("popped", "u64"),
            ("done", "u64"),
            ("refused", "u64", {"says": "tasks of gpo.queue_push that were left out"}),
            ("device_bytes", "u64", {"says": "device memory that the queue has"}),
            ("pinned_bytes", "u64", {"says": "pinned memory that the host ring has"}),
            ("posted", "u64", {"says": "host ring: tasks posted"}),
            ("answered", "u64", {"says": "host ring: answers that came and were seen"}),
            ("unanswered", "u64", {"says": (
                "host ring: posted, and not answered; without answers: not read by the kernel")}),
            ("answer_size", "u32"),
            ("tenants", "u32"),
        ),
        "says": """
        The state and the counters of a queue.
        """,
    }),
    ("RuntimeOptions", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("flags", "u32", {"says": "RUNTIME_*"}),
            ("device", "char *", {"says": (
                "\"any\", \"soft\", \"cuda\", \"cuda:N\" or \"soft:N\" (above); \"any\" takes the software GPU only where"
                " there is no NVIDIA GPU. None: what GPUORCH_DEVICE says")}),
            ("log", "LogFn", {"ended_by": ("runtime_shutdown",), "says": (
                "gets log lines. None: no log, unless GPUORCH_LOG names a level (to stderr). With or without "
                "a log, stderr reports once: the trace of GPUORCH_TRACE can't be written; the folder in "
                "GPUORCH_CACHE can't be used; a variable has a value that it can't have; the software GPU "
                "stands in")}),
            ("log_user", "void *", {"writes": True, "says": "passed to `log`"}),
            ("log_level", "i32", {"says": "LOG_*; 0: the level that GPUORCH_LOG names, else LOG_WARNING"}),
            ("completion_mode", "u32", {"says": "COMPLETION_*"}),
            ("schedule_seed", "u64", {"says": (
                "not 0: deterministic mode. Threads and clock follow one schedule, the same for the same "
                "seed. Needs the software GPU, and no other runtime in the process")}),
            ("cache", "char *", {"says": (
                "folder for compiled kernels. None: the folder in GPUORCH_CACHE, else the user's cache "
                "folder. \"\": no cache")}),
            ("label", "char *", {"says": (
                "the label that metrics of this runtime carry (metrics.h). None or \"\": none")}),
        ),
        "says": """
        A struct of runtime.h.
        """,
    }),
    ("DriverInfo", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("version", "i32", {"says": "13000 for CUDA 13.0"}),
            ("software", "u32", {"says": "1: the software GPU"}),
            ("device_count", "u32", {"says": "devices that this runtime shows"}),
            ("name", "char", {"count": 16, "says": "\"cuda\" or \"soft\""}),
            ("reason", "char", {"count": 256, "says": (
                "why CUDA is not used; \"\" if it is used, or was not asked for")}),
        ),
        "says": """
        Which driver a runtime uses.
        """,
    }),
    ("Statistics", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("live_objects", "u32", {"says": "handles that have not been destroyed"}),
            ("launches", "u64"),
            ("copies", "u64"),
            ("copied_bytes", "u64"),
            ("fills", "u64"),
            ("notifies", "u64"),
            ("completions", "u64"),
            ("failures", "u64", {"says": "operations that completed with a failure"}),
            ("holds", "u64", {"says": "operations that were held on the host for a while (stream.h)"}),
            ("device_allocations", "u64", {"says": (
                "serialising: plain device allocations, and frees that wait for kernels")}),
            ("host_registrations", "u64", {"says": (
                "serialising: slabs of pinned memory allocated and freed, and memory registered and "
                "unregistered")}),
            ("pageable_copies", "u64", {"says": "serialising: copies from or to memory that is not pinned"}),
            ("pageable_bytes", "u64", {"says": "bytes of these copies"}),
            ("legacy_stream_uses", "u64", {"says": "serialising: work on blocking streams and on the legacy stream"}),
            ("module_loads", "u64", {"says": "serialising: modules loaded and unloaded, lazy loads included"}),
            ("put_off", "u64", {"says": (
                "not a sum: how many calls that give pinned memory and modules back to the driver wait now "
                "for resident work to end (stream.h)")}),
        ),
        "says": """
        Counters since the runtime was created. *Serialising* calls make the device or the driver wait for
        other work. After warm-up a well-built program makes none.
        """,
    }),
    ("Handler", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("graph_count", "u32", {"says": "SCHEDULER_GRAPHS: how many graphs there are, at least 1; else 0"}),
            ("name", "char *", {"says": "the device function's; SCHEDULER_GRAPHS: in messages, and may be None"}),
            ("graphs", "Graph *", {"length": "graph_count", "says": (
                "SCHEDULER_GRAPHS: a launch of any of these does a task. A graph has one launch at a time, so"
                " a step does up to graph_count tasks of the handler. The graphs stay while the scheduler "
                "needs them, even if their handles are destroyed")}),
            ("task_memory", "u64", {"says": (
                "SCHEDULER_GRAPHS: device memory of graph_count * task_size bytes, at a multiple of 16: graph"
                " i finds its task at i * task_size. 0: graphs don't read their tasks")}),
        ),
        "says": """
        A struct of scheduler.h.
        """,
    }),
    ("SchedulerOptions", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("form", "u32", {"says": "SCHEDULER_RESIDENT, …"}),
            ("queue", "Queue", {"says": "a ring without QUEUE_TICKETS, or a host ring, of the same device"}),
            ("source", "char *", {"says": "CUDA C++ with the handlers' functions; SCHEDULER_GRAPHS: None"}),
            ("source_bytes", "u64", {"says": "0: the source ends with a NUL"}),
            ("file_name", "char *", {"says": "name of the source in the compiler's messages; None: \"handlers.cu\""}),
            ("compile_options", "char **", {"length": "compile_option_count", "says": "as gpo.CompileOptions.options"}),
            ("compile_option_count", "u32"),
            ("workers", "u32", {"says": "WORKER_THREAD, …; AUTO: WORKER_WARP"}),
            ("threads", "u32", {"says": "threads of a block, a multiple of 32 up to 1024; AUTO: 128"}),
            ("blocks_per_multiprocessor", "u32", {"says": "blocks on each multiprocessor; AUTO: 1"}),
            ("multiprocessors", "u32", {"says": (
                "number for the scheduler's blocks; AUTO: all that no other scheduler has, less `leave_free`")}),
            ("leave_free", "u32", {"says": (
                "multiprocessors to be left to other work. With `multiprocessors` given, at least this many "
                "must remain")}),
            ("batch", "u32", {"says": (
                "SCHEDULER_WHILE: tasks of a worker in a turn, AUTO: 16; SCHEDULER_GRAPHS: tasks of a step, "
                "up to 120, AUTO: 120")}),
            ("max_errors", "u32", {"says": (
                "how many errors are stored, the first ones, up to 4096; AUTO: 64. All are counted")}),
            ("argument", "u64", {"says": "value that handlers get by argument<T>(): an address, or any number"}),
            ("dynamic_shared_bytes", "u64", {"says": "shared memory of each block, for handlers"}),
            ("idle_timeout_ns", "u64", {"says": "the run ends after this time with nothing to do; 0: never"}),
            ("sample_interval_ns", "u64", {"says": "how often the queue's depth is noted; AUTO: a millisecond"}),
            ("label", "char *"),
        ),
        "says": """
        A struct of scheduler.h.
        """,
    }),
    ("SchedulerInfo", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("form", "u32", {"says": "SCHEDULER_RESIDENT, …"}),
            ("state", "u32", {"says": "SCHEDULER_READY, …"}),
            ("last_end", "status", {"says": (
                "why the last run ended: SUCCESS: drained; END: the queue is at its end; CANCELLED: stopped, "
                "or the queue was aborted; TIMEOUT: idle; LIMIT_EXCEEDED: the while has turned 2^32 - 1 "
                "times; NOT_READY: no run has ended")}),
            ("runs", "u64", {"says": "runs that were started"}),
            ("tasks", "u64", {"says": "tasks that were done, failed ones included"}),
            ("errors", "u64", {"says": "tasks that failed"}),
            ("refused_pushes", "u64", {"says": "pushes by handlers that found no room, or the queue aborted"}),
            ("depth", "u64", {"says": "tasks in the queue's device memory that wait"}),
            ("steps", "u64", {"says": "turns of a while, or of a step graph"}),
            ("empty_polls", "u64", {"says": "how often a worker looked and found nothing"}),
            ("busy_ns", "u64", {"says": "time in handlers, of all workers together"}),
            ("worker_ns", "u64", {"says": (
                "time of all workers together on the GPU: busy_ns / worker_ns is the busy share")}),
            ("multiprocessors", "u32", {"says": "that the scheduler takes"}),
            ("blocks", "u32"),
            ("workers", "u32", {"says": "that do tasks, in all blocks together"}),
            ("handlers", "u32"),
            ("device_bytes", "u64", {"says": "device memory that the scheduler has, without its queue's"}),
        ),
        "says": """
        Properties and counters of a scheduler.
        """,
    }),
    ("HandlerInfo", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("reserved", "u32"),
            ("tasks", "u64", {"says": "that the handler did, failed ones included"}),
            ("errors", "u64", {"says": "number of failed tasks"}),
            ("busy_ns", "u64", {"says": "time in the handler, of all workers together; SCHEDULER_GRAPHS: 0"}),
        ),
        "says": """
        Counters of a scheduler's handler.
        """,
    }),
    ("SchedulerBlock", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("multiprocessor", "u32", {"says": "that the block ran on last"}),
            ("workers", "u32", {"says": (
                "of the block; 0: the block hands out the host's tasks, or is the step of a graph")}),
            ("reserved", "u32"),
            ("tasks", "u64"),
            ("empty_polls", "u64"),
            ("busy_ns", "u64", {"says": "time in handlers, of the block's workers together"}),
            ("worker_ns", "u64", {"says": "time of the block's workers together on the GPU"}),
        ),
        "says": """
        A block of the scheduler.
        """,
    }),
    ("DepthSample", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("run", "u32", {"says": "from 1"}),
            ("time_ns", "u64", {"says": "since the run began, by the GPU's clock"}),
            ("depth", "u64"),
        ),
        "says": """
        How many tasks waited at a moment.
        """,
    }),
    ("TaskError", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("handler", "u32", {"says": "the number that the task begins with"}),
            ("status", "status", {"says": (
                "that the handler returned; NOT_FOUND: there is no handler of that number; TIMEOUT: only some"
                " of the worker's threads called answer() or again(); LIMIT_EXCEEDED, INVALID_ARGUMENT: a "
                "graph couldn't be launched")}),
            ("priority", "u32", {"says": "of the ring"}),
            ("position", "u64", {"says": (
                "the task's place in the order in which its priority's tasks were taken, from 0, since the "
                "queue was created or reset")}),
            ("task", "u32", {"count": 4, "says": "its first 16 bytes"}),
        ),
        "says": """
        A task that failed.
        """,
    }),
    ("Error", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("status", "status"),
            ("native_code", "i32", {"says": "0 if there is none"}),
            ("native_domain", "u32", {"says": "NATIVE_*"}),
            ("operation", "u64", {"says": "number of the failed operation on its stream, from 1; 0: none"}),
            ("function", "char", {"count": 64, "says": (
                "the function that was called, or the driver's function that failed")}),
            ("object", "char", {"count": 64, "says": (
                "type and label of the culprit: \"stream `upload`\", \"kernel `blur`\"")}),
            ("message", "char", {"count": 512, "says": (
                "one sentence; for a lost device with the operations that may have caused the loss")}),
        ),
        "says": """
        The details of a failure. Texts are cut to fit, and always terminated.

        `object` is never empty where a call was refused (10 to 49) that was given a valid handle: if
        nothing else is to blame, it is the object of the first of the call's handles that is valid.
        """,
    }),
    ("StreamOptions", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("flags", "u32", {"says": "STREAM_*"}),
            ("priority", "i32", {"says": (
                "0 is the default; lower numbers run first; clamped to gpo.device_get_priority_range")}),
            ("max_held", "u32", {"says": (
                "how many operations may be held; AUTO: 65536. Beyond that calls give WOULD_BLOCK")}),
            ("label", "char *"),
        ),
        "says": """
        A struct of stream.h.
        """,
    }),
    ("StreamInfo", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("flags", "u32"),
            ("priority", "i32", {"says": "that the driver gave the stream"}),
            ("wrapped", "u32", {"says": "1: made by gpo.stream_wrap"}),
            ("accepted", "u64", {"says": "number of the newest operation"}),
            ("completed", "u64", {"says": "number of the newest operation that the library has seen completed"}),
            ("held", "u64", {"says": "how many operations are held now"}),
            ("device", "Device", {"says": "the handle that the stream was made from; may be stale"}),
            ("replayed", "u64", {"says": (
                "how many operations of a stream that learns were launched as parts of learned sequences")}),
            ("learned", "u32", {"says": "how many operations the learned sequence has; 0: no sequence is learned now"}),
            ("reserved", "u32", {"says": "0"}),
        ),
        "says": """
        Properties and counters of a stream.
        """,
    }),
    ("StreamPoolOptions", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("flags", "u32", {"says": "0: there are none yet"}),
            ("streams", "u32", {"says": "streams for each priority; AUTO: 4"}),
            ("priorities", "u32", {"says": (
                "how many priorities, from 0 upwards to greater ones; AUTO: 1; at most as many as the device "
                "has")}),
            ("label", "char *"),
        ),
        "says": """
        A struct of stream.h.
        """,
    }),
    ("SymmetricOptions", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("flags", "u32", {"says": "SYMMETRIC_REMOTE, or 0"}),
            ("alignment", "u64", {"says": (
                "of the memory's address on each device: a power of two, 256 to 2097152; AUTO: 256")}),
            ("label", "char *"),
            ("engine", "u32", {"says": (
                "ENGINE_DIRECT, or for a group of several processes ENGINE_NVSHMEM; AUTO: direct")}),
            ("reserved", "u32", {"says": "0"}),
        ),
        "says": """
        A struct of symmetric.h.
        """,
    }),
    ("SymmetricInfo", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("ranks", "u32", {"says": "how many"}),
            ("bytes", "u64", {"says": "of each rank, as requested"}),
            ("alignment", "u64", {"says": "of each rank's address"}),
            ("device_bytes", "u64", {"says": "allocated on each device, with the barriers' part"}),
            ("barrier_blocks", "u32", {"says": (
                "most blocks of a kernel that uses barriers: as many as fit on the largest of the devices at "
                "once")}),
            ("native_atomics", "u32", {"says": "1: atomic operations on each other's memory are native for all ranks"}),
        ),
        "says": """
        Properties of symmetric memory.
        """,
    }),
    ("RankLaunch", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("flags", "u32", {"says": "0: there are none yet"}),
            ("stream", "Stream", {"says": "of the rank's device"}),
            ("kernel", "Kernel", {"says": "of the rank's device"}),
            ("launch", "Launch *", {"says": "the shape; launched as with LAUNCH_COOPERATIVE"}),
            ("arguments", "void **", {"length": "argument_count", "says": "copied before the call returns"}),
            ("sizes", "u32 *", {"length": "argument_count", "says": (
                "may be None where the driver knows the kernel's parameters (CUDA 12.4)")}),
            ("argument_count", "u32"),
            ("reserved", "u32", {"says": "0"}),
        ),
        "says": """
        A rank's part of a launch. `arguments` and `sizes` are as for gpo.stream_launch_kernel (module.h).
        """,
    }),
    ("TemplateOptions", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("flags", "u32", {"says": "0: there are none yet"}),
            ("max_instances", "u32", {"says": "most graphs that gpo.template_launch makes; AUTO: 64"}),
            ("reserved", "u32", {"says": "0"}),
            ("label", "char *"),
        ),
        "says": """
        A struct of template.h.
        """,
    }),
    ("Condition", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("comparison", "u32", {"says": "COMPARE_*"}),
            ("word", "u64", {"says": "address of the word, a multiple of 4, in device or pinned memory"}),
            ("constant", "u32"),
            ("initial", "u32", {"says": "with COMPARE_KERNEL: the condition when the graph starts"}),
            ("max_iterations", "u64", {"says": (
                "of a while: after that many the loop ends; AUTO: 2^32 - 1; at most that")}),
        ),
        "says": """
        A struct of template.h.
        """,
    }),
    ("TemplateStatistics", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("nodes", "u32", {"says": "with those of bodies, once it has a graph"}),
            ("parameters", "u32"),
            ("instances", "u32", {"says": "graphs that exist now, those of gpo.template_launch included"}),
            ("pooled", "u32", {"says": "how many of the instances are those of gpo.template_launch"}),
            ("recordings", "u32", {"says": "how often it was recorded"}),
            ("launches", "u64", {"says": "of all its graphs"}),
            ("patches", "u64", {"says": "nodes that a launch gave the driver anew"}),
            ("updates", "u64", {"says": "graphs that took over a new recording in place"}),
            ("rebuilds", "u64", {"says": "graphs that had to be instantiated anew for a new recording"}),
            ("instance_bytes", "u64", {"says": (
                "by how much free device memory fell while the newest graph with GRAPH_UPLOAD or "
                "GRAPH_DEVICE_LAUNCH was made; 0: by nothing, or there was none")}),
            ("waiting_frees", "u64", {"says": "frees of memory that wait for graphs of this template (see Lifetime)"}),
            ("last_rebuild", "char", {"count": 256, "says": (
                "why the last graph was rebuilt: the node and what differs; \"\" if none was")}),
            ("held_words", "u64", {"says": (
                "words of arguments larger than 8 bytes that hold memory for graphs now (see Lifetime)")}),
            ("waiting_for_words", "u64", {"says": (
                "the waiting_frees that only held words hold up: addresses, or numbers that happen to be "
                "addresses. The log names the kernel, the argument and the word")}),
            ("dropped", "u64", {"says": (
                "values that were set, in graphs or for held launches, and that a new recording had no place "
                "for (see Parameters)")}),
            ("last_dropped", "char", {"count": 256, "says": (
                "the parameter of the newest dropped value, and why; \"\" if there was none")}),
        ),
        "says": """
        The size of a template, and counters of its graphs.
        """,
    }),
    ("GraphOptions", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("flags", "u32", {"says": "GRAPH_*"}),
            ("label", "char *"),
        ),
        "says": """
        A struct of template.h.
        """,
    }),
    ("Setting", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("parameter", "u32", {"says": "number of gpo.template_get_parameter; with a name: 0"}),
            ("name", "char *", {"says": "None: `parameter` says which"}),
            ("value", "void *", {"length": "bytes"}),
            ("bytes", "u64"),
        ),
        "says": """
        A struct of template.h.
        """,
    }),
    ("GraphUpdateReport", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("rebuilt", "u32", {"says": "0: updated in place, or it was up to date; 1: instantiated anew"}),
            ("node", "u32", {"says": (
                "of the new recording: the first that differs in kind or place; 0: none, or none to name")}),
            ("reserved", "u32"),
            ("reason", "char", {"count": 256, "says": "why it was rebuilt: node, old, new; \"\" if it wasn't"}),
            ("dropped", "u32", {"says": (
                "values that were set in the graph and that the new recording has no place for")}),
            ("dropped_parameter", "char", {"count": 64, "says": (
                "the first of their parameters; \"\" if there is none")}),
            ("dropped_reason", "char", {"count": 256, "says": "why it was dropped; \"\" if no value was"}),
        ),
        "says": """
        How a graph was updated to the newest recording.
        """,
    }),
    ("TimelineOptions", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("flags", "u32", {"says": "0: there are none yet"}),
            ("value", "u64", {"says": "the initial value"}),
            ("label", "char *"),
        ),
        "says": """
        A struct of timeline.h.
        """,
    }),
    ("TraceOptions", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("flags", "u32", {"says": "TRACE_*"}),
            ("path", "char *", {"says": (
                "the trace's file, replaced if it exists, and gzipped if its name ends in .gz. None: no file,"
                " only the summary or the picture. The folder of this file and of the picture is created if "
                "its parent folder exists")}),
            ("picture", "char *", {"says": "the SVG's file, written when the trace ends. None: none"}),
            ("title", "char *", {"says": "heading of the picture; None: the program's name"}),
        ),
        "says": """
        A struct of trace.h.
        """,
    }),
    ("TraceInfo", "struct", {
        "fields": (
            ("struct_size", "u32"),
            ("running", "u32", {"says": "1: a trace is running"}),
            ("file_status", "status", {"says": "SUCCESS; IO_ERROR once a file could not be written any more"}),
            ("reserved", "u32"),
            ("calls", "u64", {"says": (
                "calls of the library recorded by the newest trace. All fields below are of this trace")}),
            ("operations", "u64", {"says": (
                "operations of streams: copies, fills, kernels and graphs, and what orders them (waits, "
                "signals, host calls)")}),
            ("timed", "u64", {"says": "copies, fills, kernels and graphs among them whose GPU times are known by now"}),
            ("completions", "u64"),
            ("dropped", "u64", {"says": "records lost because a thread's buffer was full or there was no memory"}),
            ("file_bytes", "u64", {"says": "bytes written to `path`"}),
            ("call_cost_ns", "u64", {"says": "time that recording a call costs its thread, measured at the start"}),
            ("operation_cost_ns", "u64", {"says": (
                "the same for an operation with its GPU times; 0 while no device is open")}),
            ("clock_error_ns", "u64", {"says": (
                "greatest error of GPU times on the host's clock; 0: no device is open yet")}),
            ("callbacks", "u64", {"says": "functions of the program that the library called, with those of pipelines"}),
        ),
        "says": """
        The extent of a trace.
        """,
    }),
)

FUNCTIONS = (
    ("status_name", "char *", {
        "offset": 8, "header": "status.h",
        "parameters": (
            ("status", "status"),
        ),
        "says": """
        The name of a status ("OUT_OF_MEMORY"), or "UNKNOWN" for a number that is no status. Static text,
        never None.
        """,
    }),
    ("status_text", "char *", {
        "offset": 16, "header": "status.h",
        "parameters": (
            ("status", "status"),
        ),
        "says": """
        A sentence that says what a status means. Static text, never None.
        """,
    }),
    ("last_error", "status", {
        "offset": 24, "header": "status.h",
        "parameters": (
            ("error", "Error *", {"result": True}),
        ),
        "says": """
        Writes the last failure of a call that the calling thread made to `error`; `error->status` is 0 if
        there was none. A call that succeeds leaves the last failure as it is. A call that returns an answer
        (1 to 9) does too, unless the function's comment says otherwise (gpo.device_wait). Set
        `error->struct_size` before the call. Returns SUCCESS or INVALID_ARGUMENT.
        """,
    }),
    ("object_get_error", "status", {
        "offset": 32, "header": "status.h",
        "parameters": (
            ("object", "void *", {"any_handle": True}),
            ("error", "Error *", {"result": True}),
        ),
        "says": """
        Writes the failure that an object carries to `error`; `error->status` is 0 if there is none.
        `object` is any handle. Any thread can read it, so language runtimes whose tasks move between
        threads need no thread-local state.

        - Stream, timeline: its first sticky failure; if there is none, the failure of the last failed call
           on it.

        - Device: its loss, once it is lost; before that, the failure of the last failed call on its handle.

        - Pipeline: the failure of its newest failed run, or of a failed call since.

        - Completion queue, executor, stream pool: none.

        - All others: the failure of the last failed call on the object.
        """,
    }),
    ("object_set_label", "status", {
        "offset": 40, "header": "status.h",
        "parameters": (
            ("object", "void *", {"any_handle": True}),
            ("label", "char *", {"optional": True}),
        ),
        "says": """
        Sets an object's label, its name in errors, logs, statistics and traces. `object` is any handle. At
        most 63 bytes of the label are stored. None or "" removes the label. Options structs take a label
        too.
        """,
    }),
    ("object_get_label", "status", {
        "offset": 48, "header": "status.h",
        "parameters": (
            ("object", "void *", {"any_handle": True}),
            ("buffer", "char *", {"hidden": True, "writes": True}),
            ("capacity", "size", {"hidden": True}),
            ("needed", "size *", {"result": True}),
        ),
        "says": """
        Writes an object's label, "" if it has none.
        """,
    }),
    ("runtime_create", "status", {
        "offset": 56, "header": "runtime.h", "takes_callbacks": True,
        "parameters": (
            ("options", "RuntimeOptions *", {"optional": True}),
            ("runtime", "Runtime *", {"result": True, "made": True}),
        ),
        "says": """
        Creates a runtime. Loads no driver, touches no device and makes no context. `options` may be None:
        the defaults.
        """,
        "raises": """
        INVALID_ARGUMENT: `options->device` is none of the known strings
        INVALID_STATE: this runtime or another one of the process is deterministic, and a deterministic
            runtime must be the only one
        """,
    }),
    ("runtime_shutdown", "status", {
        "offset": 64, "header": "runtime.h", "gives_back": 0, "ends": True,
        "parameters": (
            ("runtime", "Runtime", {"optional": True}),
            ("timeout_ns", "i64"),
        ),
        "says": """
        Ends a runtime. None succeeds. In this order:

        1. The runtime accepts no new work (SHUT_DOWN). Operations held on the host are cancelled.

        2. Running work is waited for, until the timeout. Every pending completion is delivered to its
           queue, and every pending callback is called.

        3. Threads are joined. Objects and memory that are left are reported to the log, by label, and
           freed.

        4. Every handle of the runtime becomes invalid, except handles of completion queues. A completion
           queue keeps its entries: gpo.cq_wait, gpo.cq_drain and queries work until gpo.cq_destroy, before
           or after this call (completion.h, "The end of a queue").

        Other threads that wait in a call get CANCELLED, unless the result that they wait for is there.
        gpo.cq_wait and gpo.cq_drain return SHUT_DOWN once the queue is empty and no entry will come any
        more.

        If another thread is already shutting the runtime down, this call waits for the other call until its
        own timeout, and returns INVALID_HANDLE if the other call has finished.

        Blocks until the timeout on the GPU, on running callbacks and on another thread's shutdown. While
        another thread is inside a copy with pageable memory (memory.h), CUDA may block this call beyond the
        timeout: it makes no events.
        """,
        "raises": """
        TIMEOUT: something still runs. The runtime accepts no work; call again to go on waiting
        WOULD_DEADLOCK: called from inside a callback of this runtime
        INVALID_STATE: the runtime is deterministic, and another thread created it; the call had no
            effect
        """,
    }),
    ("runtime_get_driver", "status", {
        "offset": 72, "header": "runtime.h",
        "parameters": (
            ("runtime", "Runtime"),
            ("info", "DriverInfo *", {"result": True}),
        ),
        "says": """
        Says which driver the runtime uses, and loads the driver if that has not happened yet.
        """,
        "raises": """
        NO_DEVICE: the requested driver can't be used, or an NVIDIA GPU is there and can't be used
            (above); the message says why
        """,
    }),
    ("runtime_get_statistics", "status", {
        "offset": 80, "header": "runtime.h",
        "parameters": (
            ("runtime", "Runtime"),
            ("statistics", "Statistics *", {"result": True}),
        ),
        "says": """
        Reads the counters. Blocks on nothing. The counters are read one after the other while work goes on,
        so they may be from slightly different moments.
        """,
    }),
    ("version", "u32", {
        "offset": 88, "header": "runtime.h",
        "parameters": (
        ),
        "says": """
        The version of the loaded library: the VERSION of its own headers.
        """,
    }),
    ("runtime_get_device_count", "status", {
        "offset": 96, "header": "device.h",
        "parameters": (
            ("runtime", "Runtime"),
            ("count", "u32 *", {"result": True}),
        ),
        "says": """
        Says how many devices the runtime shows. The first call loads the driver.
        """,
        "raises": """
        NO_DEVICE: the driver that was asked for can't be used; the message says why
        """,
    }),
    ("runtime_describe_device", "status", {
        "offset": 104, "header": "device.h",
        "parameters": (
            ("runtime", "Runtime"),
            ("ordinal", "u32"),
            ("properties", "DeviceProperties *", {"result": True}),
        ),
        "says": """
        Describes device `ordinal` (from 0), which need not be open. Makes no context.
        """,
        "raises": """
        NO_DEVICE: there is no device with this ordinal
        """,
    }),
    ("runtime_describe_peer", "status", {
        "offset": 112, "header": "device.h",
        "parameters": (
            ("runtime", "Runtime"),
            ("from", "u32"),
            ("to", "u32"),
            ("properties", "PeerProperties *", {"result": True}),
        ),
        "says": """
        Describes how device `from` reaches device `to`. Both are ordinals; neither device need be open.
        Makes no context.
        """,
        "raises": """
        NO_DEVICE: `from` or `to` is not the ordinal of a device
        """,
    }),
    ("device_open", "status", {
        "offset": 120, "header": "device.h",
        "parameters": (
            ("runtime", "Runtime"),
            ("options", "DeviceOptions *", {"optional": True}),
            ("device", "Device *", {"result": True, "made": True}),
        ),
        "says": """
        Opens a device. `options` may be None: the first device. Opening a device twice gives two handles to
        one context.

        Blocks on the driver while it makes the context.
        """,
        "raises": """
        NO_DEVICE: there is no device with this ordinal; or the driver can't be used (runtime.h, "Which
            driver"), and the message says why
        INVALID_ARGUMENT: `native_context` is of another device
        """,
    }),
    ("device_close", "status", {
        "offset": 128, "header": "device.h", "gives_back": 0,
        "parameters": (
            ("device", "Device", {"optional": True}),
        ),
        "says": """
        Closes a device's handle. The device stays in use until all streams, memory and other objects that
        were made from the handle are destroyed.
        """,
    }),
    ("device_get_properties", "status", {
        "offset": 136, "header": "device.h",
        "parameters": (
            ("device", "Device"),
            ("properties", "DeviceProperties *", {"result": True}),
        ),
        "says": """
        Describes an open device, as gpo.runtime_describe_device does.
        """,
    }),
    ("device_wait", "status", {
        "offset": 144, "header": "device.h",
        "parameters": (
            ("device", "Device"),
            ("timeout_ns", "i64"),
        ),
        "says": """
        Waits until all work that was put on the device's streams before the call is done, and until memory
        that was freed behind this work is free. Held work, and the work of streams that have been
        destroyed, is included. If a stream has failed, the work that the GPU was given before the failure
        is waited for too; the failure isn't returned. Resident streams (stream.h) are left out.

        The call may be made during a stream capture. A stream that is being captured runs nothing and is
        passed over. A wrapped legacy stream is passed over while any blocking stream is being captured.
        Memory that was freed during a capture is released when the capture ends; this call doesn't wait for
        that.

        Blocks on the GPU until the timeout.
        """,
        "raises": """
        TIMEOUT: the timeout passed. If streams hold each other up (stream.h), gpo.last_error names them
        DEVICE_LOST: the device was lost
        CANCELLED: the runtime was shut down meanwhile
        WOULD_DEADLOCK: called in a host call (executor.h) on one of the device's streams, or in a log
            function on the library's thread that frees memory
        """,
    }),
    ("device_get_native", "status", {
        "offset": 152, "header": "device.h", "exposes": True,
        "parameters": (
            ("device", "Device"),
            ("context", "void **", {"result": True}),
            ("ordinal", "i32 *", {"result": True}),
        ),
        "says": """
        Writes the CUcontext and the CUdevice behind a handle, for use with other libraries. Either pointer
        may be None.
        """,
    }),
    ("device_get_memory", "status", {
        "offset": 160, "header": "device.h",
        "parameters": (
            ("device", "Device"),
            ("free_bytes", "u64 *", {"result": True}),
            ("total_bytes", "u64 *", {"result": True}),
        ),
        "says": """
        Writes the free and the total bytes of device memory, as the driver sees them now. No pointer may be
        None.
        """,
    }),
    ("device_enable_peer", "status", {
        "offset": 168, "header": "device.h",
        "parameters": (
            ("device", "Device"),
            ("peer", "Device"),
        ),
        "says": """
        Lets kernels and copies on `device` access the memory of `peer`. Succeeds if they can already.

        Serialises both devices (runtime.h).
        """,
        "raises": """
        NOT_SUPPORTED: these two devices can't reach each other
        INVALID_HANDLE: the devices are of different runtimes
        """,
    }),
    ("device_disable_peer", "status", {
        "offset": 176, "header": "device.h",
        "parameters": (
            ("device", "Device"),
            ("peer", "Device"),
        ),
        "says": """
        Ends the access of kernels and copies on `device` to the memory of `peer`.

        Serialises both devices (runtime.h).
        """,
        "raises": """
        INVALID_STATE: `device` has no access to the memory of `peer`
        INVALID_ARGUMENT: both are the same device, which always reaches its own memory
        """,
    }),
    ("device_get_limit", "status", {
        "offset": 184, "header": "device.h",
        "parameters": (
            ("device", "Device"),
            ("limit", "u32"),
            ("value", "u64 *", {"result": True}),
        ),
        "says": """
        Reads the value of `limit` (LIMIT_*) that is in force now.
        """,
        "raises": """
        INVALID_ARGUMENT: `limit` is none of these numbers
        NOT_SUPPORTED: the device doesn't have this limit
        """,
    }),
    ("device_set_limit", "status", {
        "offset": 192, "header": "device.h",
        "parameters": (
            ("device", "Device"),
            ("limit", "u32"),
            ("value", "u64"),
        ),
        "says": """
        Sets a limit. The driver may round the value: read it back with gpo.device_get_limit. Same statuses
        as there. INVALID_ARGUMENT, too: on a CUDA device the limits of printf and of the heap can't be set,
        not even to the same value, once a kernel that uses printf, or malloc, has been launched in the
        context (cuCtxSetLimit)
        """,
        "raises": """
        INVALID_STATE: `limit` is LIMIT_STACK_BYTES, and there is resident work (stream.h), which the
            driver would wait for; the message names its stream
        """,
    }),
    ("event_create", "status", {
        "offset": 200, "header": "event.h",
        "parameters": (
            ("device", "Device"),
            ("options", "EventOptions *", {"optional": True}),
            ("event", "Event *", {"result": True, "made": True}),
        ),
        "says": """
        Creates an event, which is not recorded yet. `options` may be None: no timing.

        With EVENT_INTERPROCESS it serialises the device (runtime.h).
        """,
        "raises": """
        INVALID_ARGUMENT: EVENT_INTERPROCESS is set, and EVENT_TIMING or EVENT_EXTERNAL too
        NOT_SUPPORTED: EVENT_INTERPROCESS in a deterministic runtime
        """,
    }),
    ("event_destroy", "status", {
        "offset": 208, "header": "event.h", "gives_back": 0,
        "parameters": (
            ("event", "Event", {"optional": True}),
        ),
        "says": """
        Destroys an event. Threads in gpo.event_wait return CANCELLED. Streams that wait for a recording of
        the event go on waiting for it, and entries that gpo.event_notify promised still come.
        """,
    }),
    ("event_record", "status", {
        "offset": 216, "header": "event.h",
        "parameters": (
            ("event", "Event"),
            ("stream", "Stream"),
        ),
        "says": """
        Records the event behind all work that was put on the stream before the call. Waits for an earlier
        recording still wait for that recording. On a held stream (stream.h) the recording is held too, and
        the event is incomplete meanwhile. On a stream in capture the event marks a point in the graph, or
        becomes a node of it (see above).
        """,
        "raises": """
        INVALID_ARGUMENT: event and stream are of different devices
        """,
    }),
    ("event_query", "status", {
        "offset": 224, "header": "event.h",
        "parameters": (
            ("event", "Event"),
        ),
        "says": """
        Says whether the newest recording is complete.
        """,
        "raises": """
        CAPTURE_REFUSED: it was made in a capture (see above)
        Any other status: the failure of the work before the recording
        """,
    }),
    ("event_wait", "status", {
        "offset": 232, "header": "event.h",
        "parameters": (
            ("event", "Event"),
            ("timeout_ns", "i64"),
        ),
        "says": """
        Waits until the newest recording is complete. Statuses as gpo.event_query, except NOT_READY, and:

        Blocks on the GPU until the timeout.
        """,
        "raises": """
        TIMEOUT: the timeout passed
        CANCELLED: the event was destroyed or the runtime shut down meanwhile
        WOULD_DEADLOCK: called with a timeout other than 0 in a host call (executor.h), and the newest
            recording is behind that host call on its stream
        """,
    }),
    ("event_get_elapsed", "status", {
        "offset": 240, "header": "event.h",
        "parameters": (
            ("start", "Event"),
            ("end", "Event"),
            ("nanoseconds", "i64 *", {"result": True}),
        ),
        "says": """
        Writes the GPU time from the newest recording of `start` to that of `end`, in nanoseconds, with the
        driver's resolution (about 0.5 us). Negative if `end` was complete first.
        """,
        "raises": """
        INVALID_ARGUMENT: an event was made without EVENT_TIMING, or the events are of different devices
        INVALID_STATE: an event was never recorded
        CAPTURE_REFUSED: a recording was made in a capture (see above)
        """,
    }),
    ("event_notify", "status", {
        "offset": 248, "header": "event.h",
        "parameters": (
            ("event", "Event"),
            ("cq", "Cq"),
            ("user_data", "u64"),
        ),
        "says": """
        Puts an entry into `cq` (completion.h) when the newest recording is complete, at once if the event
        was never recorded. The entry has `user_data` and a status: SUCCESS, or the failure if the work
        before that recording fails or has failed or the device is lost.
        """,
        "raises": """
        WOULD_BLOCK: the queue is full; no entry will come
        CAPTURE_REFUSED: the recording was made in a capture (see above)
        """,
    }),
    ("event_get_native", "status", {
        "offset": 256, "header": "event.h", "exposes": True,
        "parameters": (
            ("event", "Event"),
            ("native", "void **", {"result": True}),
        ),
        "says": """
        Writes the CUevent behind the handle. The library owns it: don't destroy it.
        """,
        "raises": """
        NOT_SUPPORTED: the event was made with EVENT_INTERPROCESS, or is imported
        """,
    }),
    ("timeline_create", "status", {
        "offset": 264, "header": "timeline.h",
        "parameters": (
            ("runtime", "Runtime"),
            ("options", "TimelineOptions *", {"optional": True}),
            ("timeline", "Timeline *", {"result": True, "made": True}),
        ),
        "says": """
        Creates a timeline. `options` may be None: the initial value is 0.
        """,
    }),
    ("timeline_destroy", "status", {
        "offset": 272, "header": "timeline.h", "gives_back": 0,
        "parameters": (
            ("timeline", "Timeline", {"optional": True}),
        ),
        "says": """
        Destroys a timeline. A wait ends with CANCELLED if its value is not reached and no signal that was
        put on a stream will reach it. All other waits go on, those in gpo.timeline_wait too. A signal that
        is held behind a wait for itself reaches nothing: see "Streams that hold each other up" in stream.h.
        """,
    }),
    ("timeline_signal", "status", {
        "offset": 280, "header": "timeline.h",
        "parameters": (
            ("timeline", "Timeline"),
            ("value", "u64"),
        ),
        "says": """
        Raises the timeline to `value` from the host, and releases the waits for it. When the call returns,
        no stream is held for this value any more, nor for work that was held behind such a wait on another
        stream.
        """,
        "raises": """
        INVALID_ARGUMENT: `value` is not above the value reached; or not above every signal that the GPU
            has been given; or a stream is on the way to signal exactly this value
        FAILED: the timeline has failed; gpo.timeline_get_value returns the status it has failed with
        """,
    }),
    ("timeline_fail", "status", {
        "offset": 288, "header": "timeline.h",
        "parameters": (
            ("timeline", "Timeline"),
            ("status", "status"),
            ("message", "char *", {"optional": True}),
        ),
        "says": """
        Fails the timeline with `status`, which must be 50 or above (else INVALID_ARGUMENT), and a sentence,
        which may be None. If the timeline has failed before, the first failure stays.

        Waits for values that are not reached fail with `status`. Later waits of streams for these values
        fail too, even if a signal that would reach the value was submitted before. Only waits that the GPU
        has been given already go on.
        """,
    }),
    ("timeline_get_value", "status", {
        "offset": 296, "header": "timeline.h",
        "parameters": (
            ("timeline", "Timeline"),
            ("value", "u64 *", {"result": True}),
        ),
        "says": """
        Writes the value that has been reached. If the timeline has failed, returns the status of that
        failure instead.
        """,
    }),
    ("timeline_wait", "status", {
        "offset": 304, "header": "timeline.h",
        "parameters": (
            ("timeline", "Timeline"),
            ("value", "u64"),
            ("timeout_ns", "i64"),
        ),
        "says": """
        Waits on the host until `value` is reached.

        Blocks until the timeout.
        """,
        "raises": """
        TIMEOUT: the timeout passed
        CANCELLED: the runtime was shut down meanwhile; or the timeline was destroyed, and no signal
            that was put on a stream will reach `value`
        Any other status: the timeline has failed with it
        """,
    }),
    ("stream_create", "status", {
        "offset": 312, "header": "stream.h",
        "parameters": (
            ("device", "Device"),
            ("options", "StreamOptions *", {"optional": True}),
            ("stream", "Stream *", {"result": True, "made": True}),
        ),
        "says": """
        Creates a stream. `options` may be None: priority 0, and no waiting between this stream and the
        legacy default stream. A device's first resident stream also loads kernels of the library's own,
        which is serialising (runtime.h): two small kernels and, while several devices of the runtime are
        open, the kernels of groups (peers.h). The driver translates the kernels of groups when they are
        first loaded on a machine.
        """,
        "raises": """
        NOT_SUPPORTED: two of the flags STREAM_BLOCKING, STREAM_LEARNS and STREAM_RESIDENT together
        """,
    }),
    ("stream_wrap", "status", {
        "offset": 320, "header": "stream.h",
        "parameters": (
            ("device", "Device"),
            ("native", "void *", {"optional": True, "stays_until": "the last work of the handle is done"}),
            ("options", "StreamOptions *", {"optional": True}),
            ("stream", "Stream *", {"result": True, "made": True}),
        ),
        "says": """
        Makes a handle for a CUstream of the caller or of another library. `native` is a stream of this
        device's context, or None or 1 for the legacy default stream. Only the label of `options` is used;
        `options` may be None.

        The CUstream must exist until the handle is destroyed and the last work put on the handle is done.
        The library never destroys the CUstream.

        The stream may be in capture. The legacy stream counts as in capture while any blocking stream of
        its context is. If the handle is destroyed during a capture, the library no longer waits for the
        work that the stream was given before the capture.
        """,
        "raises": """
        INVALID_ARGUMENT: the stream is of another context
        NOT_SUPPORTED: `native` is 2, the per-thread default stream: it is a different stream in every
            thread, and the library's threads would get their own; or options.flags has STREAM_LEARNS or
            STREAM_RESIDENT
        """,
    }),
    ("stream_destroy", "status", {
        "offset": 328, "header": "stream.h", "gives_back": 0,
        "parameters": (
            ("stream", "Stream", {"optional": True}),
        ),
        "says": """
        Destroys a stream's handle. Work that was put on the stream still runs. Held work is still released
        or failed later; for held work that no handle can release, see "Streams that hold each other up".
        gpo.device_wait and gpo.runtime_shutdown wait for the stream's work as before. Blocks on nothing.
        """,
        "raises": """
        INVALID_STATE: the stream belongs to a pool, or is the stream that a pipeline gives to its
            stages
        """,
    }),
    ("device_get_priority_range", "status", {
        "offset": 336, "header": "stream.h",
        "parameters": (
            ("device", "Device"),
            ("least", "i32 *", {"result": True}),
            ("greatest", "i32 *", {"result": True}),
        ),
        "says": """
        Writes the least and the greatest priority that streams of the device can have. Lower numbers are
        greater priorities, so greatest <= least. Both are 0 if the device has no priorities. Either pointer
        may be None.
        """,
    }),
    ("stream_get_info", "status", {
        "offset": 344, "header": "stream.h",
        "parameters": (
            ("stream", "Stream"),
            ("info", "StreamInfo *", {"result": True}),
        ),
        "says": """
        Writes what the library knows of a stream. Doesn't ask the driver.
        """,
    }),
    ("stream_get_native", "status", {
        "offset": 352, "header": "stream.h", "exposes": True,
        "parameters": (
            ("stream", "Stream"),
            ("native", "void **", {"result": True}),
        ),
        "says": """
        Writes the CUstream behind the handle. Don't destroy the CUstream: the library owns it, unless the
        stream was wrapped. Work that is put on the CUstream directly is not held back while the stream is
        held (see "Held streams").
        """,
    }),
    ("stream_query", "status", {
        "offset": 360, "header": "stream.h",
        "parameters": (
            ("stream", "Stream"),
        ),
        "says": """
        Says whether all work that was put on the stream is done.
        """,
        "raises": """
        CAPTURE_REFUSED: the stream is in capture
        Any other status: the stream has failed with it, even if earlier work still runs
        """,
    }),
    ("stream_wait", "status", {
        "offset": 368, "header": "stream.h",
        "parameters": (
            ("stream", "Stream"),
            ("timeout_ns", "i64"),
        ),
        "says": """
        Waits for all work that was put on the stream before the call.

        Blocks on the GPU until the timeout.
        """,
        "raises": """
        TIMEOUT: the timeout passed. A failed stream returns this too, even with timeout 0, until the
            work that the GPU was given before the failure has ended
        WOULD_DEADLOCK: called in a host call (executor.h) on this stream, with a timeout other than 0
        CAPTURE_REFUSED: the stream is in capture
        Any other status: the stream has failed with it, and the work that the GPU was given before has
            ended
        """,
    }),
    ("stream_cancel_held", "status", {
        "offset": 376, "header": "stream.h",
        "parameters": (
            ("stream", "Stream"),
            ("count", "u64 *", {"result": True}),
        ),
        "says": """
        Cancels all operations that are held on the stream: they complete with CANCELLED. The stream can be
        used again. `count`, which may be None, gets the number of operations that were cancelled.
        """,
    }),
    ("stream_wait_event", "status", {
        "offset": 384, "header": "stream.h",
        "parameters": (
            ("stream", "Stream"),
            ("event", "Event"),
        ),
        "says": """
        Makes later work on the stream wait, on the GPU, until the event's newest recording is complete. The
        host doesn't wait. An event that was never recorded counts as complete. The event may be of another
        device of the same runtime. A stream that waits for an event recorded in a capture joins that
        capture. On a stream in capture an event with EVENT_EXTERNAL becomes a node of the graph instead,
        which waits at each launch (event.h).
        """,
        "raises": """
        CAPTURE_REFUSED: the stream is in capture, and the event was recorded outside of that capture;
            or the event's newest recording was made in a capture that has ended. The stream is
            unchanged
        """,
    }),
    ("stream_wait_stream", "status", {
        "offset": 392, "header": "stream.h",
        "parameters": (
            ("stream", "Stream"),
            ("other", "Stream"),
        ),
        "says": """
        Makes later work on `stream` wait, on the GPU, until all work that was put on `other` before the
        call is done. The host doesn't wait. If `other` is in capture, `stream` joins that capture.
        """,
        "raises": """
        CAPTURE_REFUSED: only `stream` is in capture, or the two are in different captures
        """,
    }),
    ("stream_wait_timeline", "status", {
        "offset": 400, "header": "stream.h",
        "parameters": (
            ("stream", "Stream"),
            ("timeline", "Timeline"),
            ("value", "u64"),
        ),
        "says": """
        Makes later work on the stream wait until the timeline reaches `value`. If the signal has been
        submitted to some stream, the GPU waits. Otherwise the stream is held (see "Held streams"). The host
        doesn't wait.
        """,
        "raises": """
        NOT_SUPPORTED: the stream is wrapped and would have to be held
        CAPTURE_REFUSED: the stream is in capture, and the value is not reached
        Any other status: the timeline has failed with it, and the value is not reached
        """,
    }),
    ("stream_signal_timeline", "status", {
        "offset": 408, "header": "stream.h",
        "parameters": (
            ("stream", "Stream"),
            ("timeline", "Timeline"),
            ("value", "u64"),
        ),
        "says": """
        Raises the timeline to `value` when all work that was put on the stream before the call is done. If
        the timeline is already higher at that moment, nothing changes. If the work before fails, the
        timeline fails with the same failure.
        """,
        "raises": """
        INVALID_ARGUMENT, FAILED: as gpo.timeline_signal
        CAPTURE_REFUSED: the stream is in capture
        """,
    }),
    ("stream_pool_create", "status", {
        "offset": 416, "header": "stream.h",
        "parameters": (
            ("device", "Device"),
            ("options", "StreamPoolOptions *", {"optional": True}),
            ("pool", "StreamPool *", {"result": True, "made": True}),
        ),
        "says": """
        Creates a pool and all of its streams: `streams` for each of `priorities`. `options` may be None: 4
        streams of priority 0.
        """,
        "raises": """
        INVALID_ARGUMENT: that would be more than 1024 streams
        """,
    }),
    ("stream_pool_destroy", "status", {
        "offset": 424, "header": "stream.h", "gives_back": 0,
        "parameters": (
            ("pool", "StreamPool", {"optional": True}),
        ),
        "says": """
        Destroys a pool. Its streams are destroyed when their work is done. Handles of streams that are
        acquired become stale.
        """,
    }),
    ("stream_pool_acquire", "status", {
        "offset": 432, "header": "stream.h",
        "parameters": (
            ("pool", "StreamPool"),
            ("priority", "i32"),
            ("stream", "Stream *", {"result": True, "made": True}),
        ),
        "says": """
        Acquires a stream of the priority nearest to `priority`: a stream with the fewest users and, among
        several, with the least pending work. Several users may share a stream, so a call never blocks and
        never fails for lack of streams. Give the stream back with gpo.stream_pool_release; it must not be
        destroyed.
        """,
    }),
    ("stream_pool_release", "status", {
        "offset": 440, "header": "stream.h", "gives_back": 1,
        "parameters": (
            ("pool", "StreamPool"),
            ("stream", "Stream"),
        ),
        "says": """
        Gives an acquired stream back. Its work goes on.
        """,
        "raises": """
        INVALID_ARGUMENT: the stream was not acquired from this pool
        """,
    }),
    ("arena_create", "status", {
        "offset": 448, "header": "memory.h",
        "parameters": (
            ("device", "Device"),
            ("options", "ArenaOptions *", {"optional": True}),
            ("arena", "Arena *", {"result": True, "made": True}),
        ),
        "says": """
        Creates an arena. `options` may be None: no limit, the defaults.

        Serialises the device if `initial_bytes` is not 0.
        """,
        "raises": """
        INVALID_ARGUMENT: `slab_bytes` or `initial_bytes` is above `max_bytes`
        """,
    }),
    ("arena_destroy", "status", {
        "offset": 456, "header": "memory.h", "gives_back": 0,
        "parameters": (
            ("arena", "Arena", {"optional": True}),
        ),
        "says": """
        Destroys an arena's handle. Frees that wait for a stream still happen, and the arena's memory is
        released with the last one. Pieces that were not freed can't be freed any more, since the handle is
        stale, but stay usable until gpo.runtime_shutdown reports them by label and frees them. Blocks on
        nothing.
        """,
    }),
    ("arena_allocate", "status", {
        "offset": 464, "header": "memory.h",
        "parameters": (
            ("arena", "Arena"),
            ("bytes", "u64"),
            ("alignment", "u64"),
            ("memory", "void **", {"result": True, "made": True}),
        ),
        "says": """
        Allocates a piece of `bytes` (1 or more), aligned to `alignment` (a power of two up to 1 MiB; AUTO:
        256). The memory is pinned for every device of the runtime. Kernels read and write it at the same
        address as the host.

        A piece that fits into the arena's slabs needs no driver call. A new slab serialises the device.
        """,
        "raises": """
        LIMIT_EXCEEDED: the arena would exceed `max_bytes`
        OUT_OF_MEMORY: the driver has no more pinned memory
        """,
    }),
    ("arena_free", "status", {
        "offset": 472, "header": "memory.h",
        "parameters": (
            ("arena", "Arena"),
            ("memory", "void *", {"optional": True}),
        ),
        "says": """
        Frees a piece at once: no GPU may be using it. None succeeds. Any thread may free any piece. A piece
        that graphs refer to is freed later: after the last reference has ended, when all work then on the
        runtime's streams is done.
        """,
        "raises": """
        INVALID_ARGUMENT: `memory` is not the start of an allocated piece of this arena (it was never
            allocated, is freed already, or points into a piece)
        """,
    }),
    ("arena_free_after", "status", {
        "offset": 480, "header": "memory.h",
        "parameters": (
            ("arena", "Arena"),
            ("memory", "void *", {"optional": True}),
            ("stream", "Stream"),
        ),
        "says": """
        Frees a piece when all work that is on `stream` now is done: for memory that a copy still reads. If
        the stream is in capture, the piece is freed when the capture has ended too. A piece that a graph
        refers to is freed later, as with gpo.arena_free. Statuses as gpo.arena_free.
        """,
    }),
    ("arena_trim", "status", {
        "offset": 488, "header": "memory.h",
        "parameters": (
            ("arena", "Arena"),
            ("keep_bytes", "u64"),
        ),
        "says": """
        Gives empty slabs back to the driver until at most `keep_bytes` are reserved. Serialises the device.
        Beside resident work (stream.h) the driver gets them when that work has ended, and until then they
        count nowhere in the arena.
        """,
    }),
    ("arena_get_statistics", "status", {
        "offset": 496, "header": "memory.h",
        "parameters": (
            ("arena", "Arena"),
            ("statistics", "MemoryStatistics *", {"result": True}),
        ),
        "says": """
        Reads the arena's figures.
        """,
    }),
    ("host_register", "status", {
        "offset": 504, "header": "memory.h",
        "parameters": (
            ("device", "Device"),
            ("memory", "void *", {"length": "bytes", "stays_until": "gpo.host_unregister"}),
            ("bytes", "u64", {"optional": True}),
            ("flags", "u32"),
        ),
        "says": """
        Pins memory of the caller, to make copies from and to it asynchronous. `flags`: REGISTER_READ_ONLY
        or 0. Takes about 0.1 ms for each MiB.

        Serialises the device.
        """,
        "raises": """
        INVALID_ARGUMENT: `memory` is None or `bytes` is 0
        INVALID_STATE: a part of the memory is registered already
        OUT_OF_MEMORY: the system refuses to pin the memory
        """,
    }),
    ("host_unregister", "status", {
        "offset": 512, "header": "memory.h",
        "parameters": (
            ("device", "Device"),
            ("memory", "void *"),
        ),
        "says": """
        Ends a registration. No copy may be using the memory.
        """,
        "raises": """
        INVALID_ARGUMENT: `memory` was not registered through this device's runtime
        INVALID_STATE: there is resident work (stream.h), which the driver would wait for. The memory
            stays registered: end that work first. The message names its stream
        """,
    }),
    ("memory_allocate", "status", {
        "offset": 520, "header": "memory.h",
        "parameters": (
            ("device", "Device"),
            ("bytes", "u64"),
            ("label", "char *", {"optional": True}),
            ("address", "u64 *", {"result": True, "made": True}),
        ),
        "says": """
        Allocates device memory: `bytes` (1 or more), aligned to 256 or more. `label` may be None.
        Serialises the device: meant for memory that lives long.
        """,
        "raises": """
        OUT_OF_MEMORY: nothing has changed, and work goes on. The call succeeds when there is memory
            again: after gpo.memory_free, or gpo.pool_trim, which gives back what pools keep
        """,
    }),
    ("memory_free", "status", {
        "offset": 528, "header": "memory.h",
        "parameters": (
            ("device", "Device"),
            ("address", "u64"),
        ),
        "says": """
        Frees memory of gpo.memory_allocate. Returns at once. The memory is freed when all work is done that
        is now on the device's streams of this runtime, resident streams (stream.h) left out. Memory that
        graphs refer to is freed later: after the last reference has ended, when all work then on the
        runtime's streams is done. Address 0 succeeds.
        """,
        "raises": """
        INVALID_ARGUMENT: `address` is not the start of an allocation of this device that exists
        INVALID_STATE: the memory is a graph template's (gpo.template_allocate) or a queue's, which the
            message names
        """,
    }),
    ("memory_describe", "status", {
        "offset": 536, "header": "memory.h",
        "parameters": (
            ("device", "Device"),
            ("address", "u64"),
            ("info", "MemoryInfo *", {"result": True}),
        ),
        "says": """
        Says what kind of memory `address` (not 0) points to. The address may be of host or device memory,
        allocated by the library or by other code. The memory must not be freed meanwhile: drivers may crash
        then (580 has).
        """,
    }),
    ("pool_create", "status", {
        "offset": 544, "header": "memory.h",
        "parameters": (
            ("device", "Device"),
            ("options", "PoolOptions *", {"optional": True}),
            ("pool", "Pool *", {"result": True, "made": True}),
        ),
        "says": """
        Creates a pool of device memory. Allocations and frees are operations of a stream. On an H200 an
        allocation and a free together take the host about 1 us, including 0.7 us in the driver. `options`
        may be None: no limit, the defaults.
        """,
        "raises": """
        NOT_SUPPORTED: the device has no memory pools (gpo.DeviceProperties.memory_pools)
        """,
    }),
    ("pool_destroy", "status", {
        "offset": 552, "header": "memory.h", "gives_back": 0,
        "parameters": (
            ("pool", "Pool", {"optional": True}),
        ),
        "says": """
        Destroys a pool's handle. Frees that were put on streams before still happen. Pieces that were not
        freed can't be freed any more, since the handle is stale, but stay usable until gpo.runtime_shutdown
        reports them by label and frees them.
        """,
    }),
    ("pool_allocate", "status", {
        "offset": 560, "header": "memory.h",
        "parameters": (
            ("pool", "Pool"),
            ("stream", "Stream"),
            ("bytes", "u64"),
            ("address", "u64 *", {"result": True, "made": True}),
        ),
        "says": """
        Allocates a piece of `bytes` (1 or more). Later work on `stream` may use the memory. Work on other
        streams may use it after waiting for an event or timeline that was recorded or signalled on `stream`
        later.
        """,
        "raises": """
        LIMIT_EXCEEDED: the pool would exceed `max_bytes`
        INVALID_STATE: the stream is held (stream.h), so the address isn't known yet
        CAPTURE_REFUSED: the stream is in capture
        """,
    }),
    ("pool_free", "status", {
        "offset": 568, "header": "memory.h",
        "parameters": (
            ("pool", "Pool"),
            ("stream", "Stream"),
            ("address", "u64"),
        ),
        "says": """
        Frees a piece when all work that was put on `stream` before is done. Make `stream` wait for uses on
        other streams first. A free that is held and then cancelled or failed has not happened: the piece
        can be freed again. A piece that graphs refer to is freed in the order of `stream` too, but later:
        after the last reference has ended, when all work then on the runtime's streams is done. Address 0
        succeeds.
        """,
        "raises": """
        INVALID_ARGUMENT: `address` is not the start of an allocated piece of this pool
        CAPTURE_REFUSED: the stream is in capture
        """,
    }),
    ("pool_trim", "status", {
        "offset": 576, "header": "memory.h",
        "parameters": (
            ("pool", "Pool"),
            ("keep_bytes", "u64"),
        ),
        "says": """
        Gives unused memory back to the system until at most `keep_bytes` are reserved. Serialises the
        device. Memory that was freed on a stream with unfinished work, or in capture, stays reserved.
        Looking at such a stream takes up to 0.5 ms.
        """,
    }),
    ("pool_get_statistics", "status", {
        "offset": 584, "header": "memory.h",
        "parameters": (
            ("pool", "Pool"),
            ("statistics", "MemoryStatistics *", {"result": True}),
        ),
        "says": """
        Reads the pool's figures.
        """,
    }),
    ("copy_to_device", "status", {
        "offset": 592, "header": "memory.h",
        "parameters": (
            ("stream", "Stream"),
            ("destination", "u64"),
            ("source", "void *", {"length": "bytes", "stays_until": "the stream has got past the copy"}),
            ("bytes", "u64", {"optional": True}),
        ),
        "says": """
        Copies from the host to the device.
        """,
    }),
    ("copy_to_host", "status", {
        "offset": 600, "header": "memory.h",
        "parameters": (
            ("stream", "Stream"),
            ("destination", "void *", {"writes": True, "length": "bytes", "stays_until": (
                "the stream has got past the copy")}),
            ("source", "u64"),
            ("bytes", "u64", {"optional": True}),
        ),
        "says": """
        Copies from the device to the host.
        """,
    }),
    ("copy_on_device", "status", {
        "offset": 608, "header": "memory.h",
        "parameters": (
            ("stream", "Stream"),
            ("destination", "u64"),
            ("source", "u64"),
            ("bytes", "u64"),
        ),
        "says": """
        Copies between two ranges of the stream's device.
        """,
    }),
    ("copy_peer", "status", {
        "offset": 616, "header": "memory.h",
        "parameters": (
            ("stream", "Stream"),
            ("destination_device", "Device"),
            ("destination", "u64"),
            ("source_device", "Device"),
            ("source", "u64"),
            ("bytes", "u64"),
        ),
        "says": """
        Copies between two devices of one runtime: directly if the devices can reach each other, otherwise
        through the host.
        """,
        "raises": """
        INVALID_HANDLE: the stream or one of the devices is of another runtime
        """,
    }),
    ("copy_batch", "status", {
        "offset": 624, "header": "memory.h",
        "parameters": (
            ("stream", "Stream"),
            ("copies", "Copy *", {"length": "count"}),
            ("stride", "u64", {"optional": True}),
            ("count", "u64", {"optional": True}),
        ),
        "says": """
        Submits many copies with one call of the driver. Worthwhile for copies of 256 KiB and less. The
        copies have no order among themselves. `copies` is an array of `count` structs, `stride` bytes apart
        (a multiple of 8, at least sizeof(gpo.Copy)). If the driver can't batch (before CUDA 12.8, in a
        capture, on the default stream), the copies are submitted one by one.

        All copies are checked before the first is submitted. Ranges of different copies must not overlap;
        the library doesn't check that.
        """,
        "raises": """
        INVALID_ARGUMENT: source and destination of a copy overlap, or a range is too long (as above)
        """,
    }),
    ("copy_rows", "status", {
        "offset": 632, "header": "memory.h",
        "parameters": (
            ("stream", "Stream"),
            ("copy", "Copy2d *"),
        ),
        "says": """
        Copies rows. Source and destination must not overlap; the library doesn't check that. Pageable
        memory as above.
        """,
    }),
    ("fill", "status", {
        "offset": 640, "header": "memory.h",
        "parameters": (
            ("stream", "Stream"),
            ("destination", "u64"),
            ("value", "u32"),
            ("element_bytes", "u32"),
            ("count", "u64"),
        ),
        "says": """
        Sets `count` elements of `element_bytes` (1, 2 or 4) bytes to the low bytes of `value`.
        `destination` must be a multiple of `element_bytes`.
        """,
    }),
    ("fill_rows", "status", {
        "offset": 648, "header": "memory.h",
        "parameters": (
            ("stream", "Stream"),
            ("destination", "u64"),
            ("pitch", "u64"),
            ("value", "u32"),
            ("width", "u64"),
            ("height", "u64"),
        ),
        "says": """
        Sets `height` rows of `width` bytes, which lie `pitch` bytes apart, to the low byte of `value`.
        """,
    }),
    ("module_compile", "status", {
        "offset": 656, "header": "module.h",
        "parameters": (
            ("device", "Device"),
            ("options", "CompileOptions *"),
            ("module", "Module *", {"result": True, "made": True}),
        ),
        "says": """
        Compiles a module for the device, or takes the result from the cache on disk.

        For a CUDA device NVRTC of CUDA 12 or newer compiles: the file that GPUORCH_NVRTC names, else a
        library that the loader finds or that is below /usr/local/cuda. For the software GPU the machine's
        C++ compiler does: the command that GPUORCH_CXX names, else c++, g++ or clang++.

        Blocks on the compiler: milliseconds to seconds. Loading the result is serialising (runtime.h).
        """,
        "raises": """
        COMPILE_FAILED: the source has errors. The message is the first error; gpo.last_compile_log has
            the whole text
        NO_COMPILER: no compiler was found
        LIMIT_EXCEEDED, IO_ERROR: the system has no descriptor, no process or no disk space for the
            compiler
        """,
    }),
    ("last_compile_log", "status", {
        "offset": 664, "header": "module.h",
        "parameters": (
            ("buffer", "char *", {"hidden": True, "writes": True}),
            ("capacity", "size", {"hidden": True}),
            ("needed", "size *", {"result": True}),
        ),
        "says": """
        Writes the compiler's text, with warnings, from the last gpo.module_compile or gpo.module_load of
        the calling thread; "" if the compiler had nothing to say.
        """,
    }),
    ("module_load", "status", {
        "offset": 672, "header": "module.h",
        "parameters": (
            ("device", "Device"),
            ("image", "void *", {"length": "bytes"}),
            ("bytes", "u64", {"optional": True}),
            ("label", "char *", {"optional": True}),
            ("module", "Module *", {"result": True, "made": True}),
        ),
        "says": """
        Loads a module from an image: for a CUDA device a cubin, fatbin or PTX; for the software GPU a
        shared object that the library made for it (gpo.module_get_image). The bytes may be freed when the
        call returns. `label` may be None.
        """,
        "raises": """
        INVALID_IMAGE: the driver refuses the image; the message has the driver's text. Images of the
            software GPU carry a digest: a damaged image, or one of another version of the library, is
            refused
        """,
    }),
    ("module_get_image", "status", {
        "offset": 680, "header": "module.h",
        "parameters": (
            ("module", "Module"),
            ("buffer", "void *", {"hidden": True, "writes": True}),
            ("capacity", "size", {"hidden": True}),
            ("needed", "size *", {"result": True}),
        ),
        "says": """
        Copies the image that a module was made from into `buffer`, to be stored and loaded again. The image
        is not a string and has no terminator. `needed`, if not None, gets its size in bytes. A None buffer
        with capacity 0 only asks for `needed`.
        """,
        "raises": """
        BUFFER_TOO_SMALL: the image is larger than `capacity`; nothing is written to `buffer`
        """,
    }),
    ("module_load_builtin", "status", {
        "offset": 688, "header": "module.h",
        "parameters": (
            ("device", "Device"),
            ("module", "Module *", {"result": True, "made": True}),
        ),
        "says": """
        Loads the module of built-in kernels, which need no compiler. All loop over n, so any grid and block
        will do: gpo.fill_u32(uint32_t *y, uint32_t value, uint64_t n)                         y = value
        gpo.copy_u32(uint32_t *y, const uint32_t *x, uint64_t n)                      y = x
        gpo.scale_add_f32(float *y, const float *x, float a, uint64_t n)              y = a * x + y
        gpo.add_f32(float *z, const float *x, const float *y, uint64_t n)             z = x + y
        gpo.histogram_u8(uint64_t *bins, const uint8_t *x, uint64_t n)                adds to bins[256]
        gpo.reduce_add_f32(float *sum, const float *x, uint64_t n)                    adds to *sum
        """,
    }),
    ("module_destroy", "status", {
        "offset": 696, "header": "module.h", "gives_back": 0,
        "parameters": (
            ("module", "Module", {"optional": True}),
        ),
        "says": """
        Destroys a module's handle. The module stays loaded while kernels made from it exist. Running
        kernels go on.
        """,
    }),
    ("module_get_kernel", "status", {
        "offset": 704, "header": "module.h",
        "parameters": (
            ("module", "Module"),
            ("name", "char *"),
            ("kernel", "Kernel *", {"result": True, "made": True}),
        ),
        "says": """
        Makes a handle for a kernel of the module. `name` is the name in the source if the kernel is extern
        "C" or is neither a template nor overloaded; or a name expression that was given to
        gpo.module_compile; or the mangled symbol.
        """,
        "raises": """
        NOT_FOUND: there is no such kernel; the message lists the module's kernels
        """,
    }),
    ("kernel_destroy", "status", {
        "offset": 712, "header": "module.h", "gives_back": 0,
        "parameters": (
            ("kernel", "Kernel", {"optional": True}),
        ),
        "says": """
        Destroys a kernel's handle. Launches that were put on streams go on.
        """,
    }),
    ("module_get_symbol", "status", {
        "offset": 720, "header": "module.h", "exposes": True,
        "parameters": (
            ("module", "Module"),
            ("name", "char *"),
            ("address", "u64 *", {"result": True}),
            ("bytes", "u64 *", {"result": True}),
        ),
        "says": """
        Writes the device address and the size in bytes of a __device__ or __constant__ variable. The
        variable can be copied to and from like any device memory. Either pointer may be None.
        """,
        "raises": """
        NOT_FOUND: there is no such variable
        """,
    }),
    ("kernel_get_attributes", "status", {
        "offset": 728, "header": "module.h",
        "parameters": (
            ("kernel", "Kernel"),
            ("attributes", "KernelAttributes *", {"result": True}),
        ),
        "says": """
        Writes what the driver says of a kernel.
        """,
    }),
    ("kernel_get_name", "status", {
        "offset": 736, "header": "module.h",
        "parameters": (
            ("kernel", "Kernel"),
            ("buffer", "char *", {"hidden": True, "writes": True}),
            ("capacity", "size", {"hidden": True}),
            ("needed", "size *", {"result": True}),
        ),
        "says": """
        Writes the function's name in the image.
        """,
    }),
    ("kernel_get_native", "status", {
        "offset": 744, "header": "module.h", "exposes": True,
        "parameters": (
            ("kernel", "Kernel"),
            ("function", "void **", {"result": True}),
        ),
        "says": """
        Writes the CUfunction behind the handle. The library owns it.
        """,
    }),
    ("kernel_set_max_dynamic_shared", "status", {
        "offset": 752, "header": "module.h",
        "parameters": (
            ("kernel", "Kernel"),
            ("bytes", "u64"),
        ),
        "says": """
        Allows launches of this kernel to use up to `bytes` of dynamic shared memory. The setting holds for
        all handles of the kernel. A launch whose static and dynamic shared memory together exceed 48 KiB
        needs this call first.
        """,
        "raises": """
        INVALID_ARGUMENT: a block can't have that much on this device
        """,
    }),
    ("kernel_get_occupancy", "status", {
        "offset": 760, "header": "module.h",
        "parameters": (
            ("kernel", "Kernel"),
            ("threads", "u32"),
            ("dynamic_shared_bytes", "u64"),
            ("blocks", "u32 *", {"result": True}),
        ),
        "says": """
        Writes how many blocks of `threads` threads, each with `dynamic_shared_bytes`, fit on a
        multiprocessor at once.
        """,
        "raises": """
        INVALID_ARGUMENT: `threads` is 0, or more than a block can have on this device
        """,
    }),
    ("kernel_suggest_shape", "status", {
        "offset": 768, "header": "module.h",
        "parameters": (
            ("kernel", "Kernel"),
            ("dynamic_shared_bytes", "u64"),
            ("max_threads", "u32"),
            ("threads", "u32 *", {"result": True}),
            ("blocks", "u32 *", {"result": True}),
        ),
        "says": """
        Suggests a launch shape: `threads` gets the block size with the best occupancy, at most
        `max_threads` (0: no bound), and `blocks` the fewest blocks that fill the device. Either of these
        two pointers may be None.
        """,
        "raises": """
        INVALID_ARGUMENT: no block fits with that much dynamic shared memory
        """,
    }),
    ("stream_launch_kernel", "status", {
        "offset": 776, "header": "module.h",
        "parameters": (
            ("stream", "Stream"),
            ("kernel", "Kernel"),
            ("launch", "Launch *"),
            ("arguments", "void **", {"length": "count", "arguments": True}),
            ("sizes", "u32 *", {"optional": True, "length": "count"}),
            ("count", "u32", {"optional": True}),
        ),
        "says": """
        Puts a kernel on a stream. Kernel and stream must be of the same device (context).

        `arguments[i]` points to the value of parameter i: a number, an address, a struct. The values are
        copied before the call returns. `sizes[i]` is the size of that value in bytes; `sizes` may be None.
        `count` is the number of arguments. `count` and `sizes` are checked against the kernel's parameters
        if the driver knows them (CUDA 12.4).
        """,
        "raises": """
        INVALID_ARGUMENT: count or a size is wrong (the message names the parameter), or the device or
            the kernel can't have this grid, block or cluster
        LIMIT_EXCEEDED: the blocks of a cooperative launch don't fit on the device at the same time
        NOT_SUPPORTED: the device has no cooperative launches or no clusters; or the stream is held
            (stream.h), and neither the driver nor `sizes` has the sizes of the parameters; or the
            kernel launches graphs (gpuorch/device/graph.cuh), which works only in a graph: record the
            launch into a template, or add the kernel there (gpo.template_add_kernel). A held stream
            accepts the launch of such a kernel, and then fails
        """,
    }),
    ("cq_create", "status", {
        "offset": 784, "header": "completion.h",
        "parameters": (
            ("runtime", "Runtime"),
            ("options", "CqOptions *", {"optional": True}),
            ("cq", "Cq *", {"result": True, "made": True}),
        ),
        "says": """
        Creates a queue of a runtime, for work of all its devices. `options` may be None: the defaults.
        """,
        "raises": """
        INVALID_ARGUMENT: `capacity` is above 2^24
        """,
    }),
    ("cq_destroy", "status", {
        "offset": 792, "header": "completion.h", "gives_back": 0,
        "parameters": (
            ("cq", "Cq", {"optional": True}),
        ),
        "says": """
        Destroys a queue, before or after its runtime's shutdown. Entries that were not drained are dropped,
        and so are entries of accepted notifies that have not come yet. Threads in gpo.cq_wait return
        CANCELLED. After the runtime's shutdown the handle of a destroyed queue gives INVALID_HANDLE.
        """,
    }),
    ("stream_notify", "status", {
        "offset": 800, "header": "completion.h",
        "parameters": (
            ("stream", "Stream"),
            ("cq", "Cq"),
            ("user_data", "u64"),
        ),
        "says": """
        Puts a mark behind all work that is on the stream now. When that work is done, `cq` gets an entry
        with `user_data`. `cq` must be of the stream's runtime.

        If the stream fails or has failed, the entry has that failure. The entry comes when the work that
        the GPU was given before the failure has ended. Memory that the work used can then be reused.
        """,
        "raises": """
        WOULD_BLOCK: the queue is full: accepted notifies count as long as their entries have not been
            drained. No mark was put and no entry will come
        CAPTURE_REFUSED: the stream is in capture
        """,
    }),
    ("stream_notify_timed", "status", {
        "offset": 808, "header": "completion.h",
        "parameters": (
            ("stream", "Stream"),
            ("cq", "Cq"),
            ("user_data", "u64"),
            ("since", "Event"),
        ),
        "says": """
        Like gpo.stream_notify, and the entry's `gpu_ns` has the GPU time from the newest recording of
        `since` to the mark. `gpu_ns` is -1 if that recording is not complete before the mark, or if the
        event is recorded again before the library sees the mark: use several events for several
        measurements at a time. Costs the GPU two time stamps, about 1 us.

        Statuses as gpo.stream_notify, and:
        """,
        "raises": """
        INVALID_ARGUMENT: `since` was made without EVENT_TIMING, or was not recorded on the same device
        CAPTURE_REFUSED: `since` was recorded in a capture
        """,
    }),
    ("cq_drain", "status", {
        "offset": 816, "header": "completion.h",
        "parameters": (
            ("cq", "Cq"),
            ("entries", "Completion *", {"writes": True, "length": "capacity"}),
            ("stride", "u64", {"optional": True}),
            ("capacity", "u64", {"optional": True}),
            ("count", "u64 *", {"result": True}),
        ),
        "says": """
        Takes up to `capacity` entries out of the queue and writes them to the array `entries`. `stride` is
        the distance of the array's elements in bytes: sizeof(gpo.Completion), or the smaller size of an
        older header, at least 24. `*count` gets the number of entries taken. Never blocks. Several threads
        may drain a queue; each entry goes to one of them.
        """,
        "raises": """
        SHUT_DOWN: the queue is empty (`*count` is 0) and no entry will come: the runtime is shutting
            down or has shut down, and every accepted entry has been drained
        """,
    }),
    ("cq_wait", "status", {
        "offset": 824, "header": "completion.h",
        "parameters": (
            ("cq", "Cq"),
            ("timeout_ns", "i64"),
        ),
        "says": """
        Waits until the queue has an entry or gpo.cq_wake is called. While the runtime shuts down and
        entries are still to come, the call waits for them. In a runtime with COMPLETION_LATENCY the thread
        spins for a while before it sleeps.

        SHUT_DOWN, at once: the queue is empty, the runtime is shutting down or has shut down, and no entry
        will come

        Blocks until the timeout.
        """,
        "raises": """
        TIMEOUT: the timeout passed
        CANCELLED: the queue is empty and was destroyed meanwhile; or, while the runtime shuts down, the
            shutdown timed out before an entry came, or this call was made in a callback of the runtime,
            which the shutdown waits for
        """,
    }),
    ("cq_wake", "status", {
        "offset": 832, "header": "completion.h",
        "parameters": (
            ("cq", "Cq"),
        ),
        "says": """
        Makes one gpo.cq_wait, in progress or the next, return SUCCESS, and makes the descriptor readable.
        Any thread may call it. Several wakes before a wait count as one.
        """,
    }),
    ("cq_get_error", "status", {
        "offset": 840, "header": "completion.h",
        "parameters": (
            ("cq", "Cq"),
            ("error_id", "u64"),
            ("error", "Error *", {"result": True}),
        ),
        "says": """
        Writes the details of a failed entry. The queue stores them for its last 256 failures.
        """,
        "raises": """
        NOT_FOUND: there are no details with this number, or not any more
        """,
    }),
    ("cq_get_statistics", "status", {
        "offset": 848, "header": "completion.h",
        "parameters": (
            ("cq", "Cq"),
            ("statistics", "CqStatistics *", {"result": True}),
        ),
        "says": """
        Reads the counts since the queue was created. Blocks on nothing.
        """,
    }),
    ("pipeline_create", "status", {
        "offset": 856, "header": "pipeline.h", "takes_callbacks": True,
        "parameters": (
            ("device", "Device"),
            ("options", "PipelineOptions *"),
            ("pipeline", "Pipeline *", {"result": True, "made": True}),
        ),
        "says": """
        Creates a pipeline. All options are checked and copied, with the kernels' arguments. The first run
        makes buffers and streams.
        """,
        "raises": """
        INVALID_ARGUMENT: a value is out of range, a device is in the list twice, or a kernel is of
            another device than its place says; the message names it
        INVALID_HANDLE: also a device or an executor of another runtime
        """,
    }),
    ("pipeline_destroy", "status", {
        "offset": 864, "header": "pipeline.h", "gives_back": 0, "ends": True,
        "parameters": (
            ("pipeline", "Pipeline", {"optional": True}),
        ),
        "says": """
        Destroys a pipeline. A run that is under way is cancelled; the pipeline is freed when it has ended.
        Blocks neither on the run nor on the pipeline's threads.
        """,
    }),
    ("pipeline_start", "status", {
        "offset": 872, "header": "pipeline.h", "takes_callbacks": True,
        "parameters": (
            ("pipeline", "Pipeline"),
            ("source", "Source *"),
            ("sink", "Sink *"),
        ),
        "says": """
        Starts a run. The memory and the descriptors of source and sink must exist until the run has ended.
        The structs and paths may be freed when the call returns.
        """,
        "raises": """
        INVALID_STATE: another run of this pipeline is under way
        NOT_FOUND, IO_ERROR: a file can't be opened; the message names it
        LIMIT_EXCEEDED: the slots need more than `max_pinned_bytes`, or the system has no thread left
        """,
    }),
    ("pipeline_wait", "status", {
        "offset": 880, "header": "pipeline.h", "ends": True,
        "parameters": (
            ("pipeline", "Pipeline"),
            ("timeout_ns", "i64"),
            ("result", "PipelineResult *", {"result": True}),
        ),
        "says": """
        Waits for the run to end, and returns its status. `result` may be None. The pipeline can be started
        again, unless the device is lost.

        Blocks until the timeout.
        """,
        "raises": """
        TIMEOUT: the timeout passed
        INVALID_STATE: the pipeline was never started
        WOULD_DEADLOCK: called in a callback of this pipeline
        Any other status is the run's: SUCCESS, IO_ERROR (the message names the file), CALLBACK_FAILED,
            CANCELLED, LIMIT_EXCEEDED, DEVICE_LOST and others
        """,
    }),
    ("pipeline_cancel", "status", {
        "offset": 888, "header": "pipeline.h",
        "parameters": (
            ("pipeline", "Pipeline"),
        ),
        "says": """
        Ends the run early: no further chunk is begun, chunks under way are finished and their output is
        dropped, and the run's status is CANCELLED. Succeeds if no run is under way. Any thread may call it,
        also in a callback.
        """,
    }),
    ("pipeline_notify", "status", {
        "offset": 896, "header": "pipeline.h",
        "parameters": (
            ("pipeline", "Pipeline"),
            ("cq", "Cq"),
            ("user_data", "u64"),
        ),
        "says": """
        Puts an entry into `cq` (completion.h) when the run has ended, at once if it has.
        """,
        "raises": """
        INVALID_STATE: the pipeline was never started
        WOULD_BLOCK: the queue is full; no entry will come
        """,
    }),
    ("pipeline_get_progress", "status", {
        "offset": 904, "header": "pipeline.h",
        "parameters": (
            ("pipeline", "Pipeline"),
            ("progress", "PipelineProgress *", {"result": True}),
        ),
        "says": """
        Says how far the run is, or how far the last run came. Any thread may call it, also in a callback.
        Blocks on nothing.
        """,
    }),
    ("runtime_get_metrics", "status", {
        "offset": 912, "header": "metrics.h",
        "parameters": (
            ("runtime", "Runtime"),
            ("metrics", "Metrics *", {"result": True}),
        ),
        "says": """
        Reads the metrics of a runtime. Set `metrics->struct_size` before the call. Blocks on nothing.
        """,
    }),
    ("device_get_metrics", "status", {
        "offset": 920, "header": "metrics.h",
        "parameters": (
            ("device", "Device"),
            ("metrics", "DeviceMetrics *", {"result": True}),
        ),
        "says": """
        Reads the metrics of a device. Blocks on the driver for less than a millisecond; the first call
        blocks until NVML is loaded. May be called during stream captures.
        """,
    }),
    ("runtime_get_metrics_text", "status", {
        "offset": 928, "header": "metrics.h",
        "parameters": (
            ("runtime", "Runtime"),
            ("buffer", "char *", {"hidden": True, "writes": True}),
            ("capacity", "size", {"hidden": True}),
            ("needed", "size *", {"result": True}),
        ),
        "says": """
        Writes the statistics and metrics of the runtime, and the metrics of every device on which an object
        was opened, in Prometheus' text format 0.0.4. Names begin with gpuorch_. Units are seconds and
        bytes; ratios go from 0 to 1.

        Each sample has a label "runtime", to distinguish the runtimes of a process. The value is the
        runtime's own label (gpo.RuntimeOptions.label), or without a label the runtime's number in this
        process, "1" for the first created.

        The text is a complete page. To show several runtimes on one page, group the samples of each metric
        together.

        Blocks as gpo.device_get_metrics does.
        """,
        "raises": """
        BUFFER_TOO_SMALL: `needed` has the size; the text may be longer at the next call
        """,
    }),
    ("cq_get_fd", "status", {
        "offset": 936, "header": "completion.h",
        "parameters": (
            ("cq", "Cq"),
            ("descriptor", "i32 *", {"result": True, "made": True}),
        ),
        "says": """
        Writes a file descriptor that is readable when there may be something to drain, for epoll, poll,
        kqueue-like loops, libuv, asyncio, Go's poller and others. Each call makes a duplicate, which the
        caller closes; closing it does the queue no harm. The descriptor is non-blocking and is closed on
        exec.

        - Watch the descriptor for reading. Never read or write the descriptor: gpo.cq_drain does all that
           is needed.

        - Readability is a hint: a wake may stand for many entries, or for none. Only the result of
           gpo.cq_drain counts.

        - A single drain per wake is enough, with any capacity: if the drain leaves entries in the queue,
           the descriptor becomes readable again. Level-triggered and edge-triggered pollers both work. More
           drains do no harm.

        - Any number of threads may poll duplicates and drain. Each entry goes to one of them, so
           `user_data` should identify the waiter.

        - gpo.cq_wake, from any thread, makes the descriptor readable until the next drain.

        - At the end of the queue the descriptor stays readable: drains return the entries that are left,
           then SHUT_DOWN. After gpo.cq_destroy the descriptor stays readable too: the next drain returns
           STALE_HANDLE, or INVALID_HANDLE if the runtime was shut down before.

        Delivering entries costs a system call only for the first entry after a drain, and none before the
        first call of this function.
        """,
        "raises": """
        LIMIT_EXCEEDED: the process has no descriptor left
        """,
    }),
    ("timeline_notify", "status", {
        "offset": 944, "header": "completion.h",
        "parameters": (
            ("timeline", "Timeline"),
            ("value", "u64"),
            ("cq", "Cq"),
            ("user_data", "u64"),
        ),
        "says": """
        Puts an entry into `cq` when the timeline reaches `value`, at once if it has. If the timeline fails,
        or has failed, the entry has its failure. If the timeline is destroyed and no signal that was put on
        a stream will reach `value`, the entry has CANCELLED.
        """,
        "raises": """
        WOULD_BLOCK: the queue is full; no entry will come
        """,
    }),
    ("executor_create", "status", {
        "offset": 952, "header": "executor.h",
        "parameters": (
            ("runtime", "Runtime"),
            ("options", "ExecutorOptions *", {"optional": True}),
            ("executor", "Executor *", {"result": True, "made": True}),
        ),
        "says": """
        Creates an executor and starts its threads. `options` may be None: the defaults.
        """,
        "raises": """
        LIMIT_EXCEEDED: the system has no thread left
        """,
    }),
    ("executor_destroy", "status", {
        "offset": 960, "header": "executor.h", "gives_back": 0,
        "parameters": (
            ("executor", "Executor", {"optional": True}),
        ),
        "says": """
        Destroys an executor. Every accepted callback is still called: with the result if the work is done,
        otherwise with CANCELLED (the work itself goes on).

        If the executor has threads, they call the callbacks and then end, and this function returns at
        once. With EXECUTOR_CALLER, the callbacks are called inside this function; if another thread is
        inside gpo.executor_run, gpo.executor_run_for or gpo.executor_poll on this executor, the callbacks
        are called inside that function.

        Host calls that are not finished end with CANCELLED, and so does the work behind them on their
        streams.

        gpo.runtime_shutdown waits, until its timeout, for the pending callbacks of all executors. For an
        executor with EXECUTOR_CALLER that no other thread runs, gpo.runtime_shutdown runs the callbacks
        itself.
        """,
    }),
    ("executor_run", "status", {
        "offset": 968, "header": "executor.h",
        "parameters": (
            ("executor", "Executor"),
            ("count", "u64 *", {"result": True}),
        ),
        "says": """
        Runs callbacks on the calling thread until no accepted callback is pending. Several threads may run
        an executor, also an executor with threads of its own. `count`, which may be None, gets how many
        callbacks this call has run.

        Blocks on the GPU and in callbacks.
        """,
        "raises": """
        CANCELLED: the executor was destroyed meanwhile
        WOULD_DEADLOCK: called in a callback of the same executor
        """,
    }),
    ("executor_run_for", "status", {
        "offset": 976, "header": "executor.h",
        "parameters": (
            ("executor", "Executor"),
            ("timeout_ns", "i64"),
            ("count", "u64 *", {"result": True}),
        ),
        "says": """
        Like gpo.executor_run, but ends after `timeout_ns`. A callback that is running at that time is
        finished first.
        """,
        "raises": """
        TIMEOUT: callbacks are still pending
        """,
    }),
    ("executor_poll", "status", {
        "offset": 984, "header": "executor.h",
        "parameters": (
            ("executor", "Executor"),
            ("count", "u64 *", {"result": True}),
        ),
        "says": """
        Runs the callbacks that are due and returns SUCCESS, also if there was none. `count` as in
        gpo.executor_run. Blocks only in callbacks.
        """,
    }),
    ("executor_get_statistics", "status", {
        "offset": 992, "header": "executor.h",
        "parameters": (
            ("executor", "Executor"),
            ("statistics", "ExecutorStatistics *", {"result": True}),
        ),
        "says": """
        Reads the counts since the executor was created. Blocks on nothing.
        """,
    }),
    ("stream_then", "status", {
        "offset": 1000, "header": "executor.h", "takes_callbacks": True,
        "parameters": (
            ("stream", "Stream"),
            ("executor", "Executor"),
            ("callback", "CompletionFn", {"called": "once", "stays_until": "it has been called"}),
            ("user", "void *", {"optional": True, "stays_until": "the callback has returned"}),
        ),
        "says": """
        Calls `callback` when all work that is on the stream now is done: as gpo.stream_notify.
        """,
        "raises": """
        WOULD_BLOCK (here and in the next three functions): the executor has no room; the callback is
            never called
        """,
    }),
    ("event_then", "status", {
        "offset": 1008, "header": "executor.h", "takes_callbacks": True,
        "parameters": (
            ("event", "Event"),
            ("executor", "Executor"),
            ("callback", "CompletionFn", {"called": "once", "stays_until": "it has been called"}),
            ("user", "void *", {"optional": True, "stays_until": "the callback has returned"}),
        ),
        "says": """
        Calls `callback` when the event's newest recording is complete or has failed: as gpo.event_notify.
        """,
    }),
    ("timeline_then", "status", {
        "offset": 1016, "header": "executor.h", "takes_callbacks": True,
        "parameters": (
            ("timeline", "Timeline"),
            ("value", "u64"),
            ("executor", "Executor"),
            ("callback", "CompletionFn", {"called": "once", "stays_until": "it has been called"}),
            ("user", "void *", {"optional": True, "stays_until": "the callback has returned"}),
        ),
        "says": """
        Calls `callback` when the timeline reaches `value` or can't reach it any more: as
        gpo.timeline_notify.
        """,
    }),
    ("pipeline_then", "status", {
        "offset": 1024, "header": "executor.h", "takes_callbacks": True,
        "parameters": (
            ("pipeline", "Pipeline"),
            ("executor", "Executor"),
            ("callback", "CompletionFn", {"called": "once", "stays_until": "it has been called"}),
            ("user", "void *", {"optional": True, "stays_until": "the callback has returned"}),
        ),
        "says": """
        Calls `callback` when the pipeline's run has ended: as gpo.pipeline_notify.
        """,
    }),
    ("stream_host_call", "status", {
        "offset": 1032, "header": "executor.h", "takes_callbacks": True,
        "parameters": (
            ("stream", "Stream"),
            ("executor", "Executor"),
            ("function", "HostFn", {"called": "once", "stays_until": "it has been called"}),
            ("user", "void *", {"optional": True, "stays_until": "the function has returned"}),
        ),
        "says": """
        Puts a host call on a stream: `function` runs on the executor when all work before it on the stream
        is done. Work behind it is held on the host until the host call is finished (stream.h), so the GPU
        itself never waits for it. The function may call CUDA. If the function fails, all work behind the
        host call completes with this failure and never runs.

        The function is called exactly once, even if it must not do its work (gpo.HostCall.status). In both
        cases the call comes after the work that the GPU was given before has ended, so memory that the work
        used can be reused. Only when the executor is destroyed does the call come at once.

        gpo.stream_cancel_held cancels a host call that has not begun. For a running host call, it ends the
        stream's wait.
        """,
        "raises": """
        NOT_SUPPORTED: the stream is wrapped and so can't be held
        CAPTURE_REFUSED: the stream is in capture
        WOULD_BLOCK: the executor or the stream has no room
        """,
    }),
    ("host_call_finish", "status", {
        "offset": 1040, "header": "executor.h",
        "parameters": (
            ("executor", "Executor"),
            ("call", "u64"),
            ("status", "status"),
            ("message", "char *", {"optional": True}),
        ),
        "says": """
        Finishes a host call, from any thread, also before its function has returned. `status` is SUCCESS,
        or a failure from 50 to 89, with which the stream then fails. `message` may be None.
        """,
        "raises": """
        INVALID_ARGUMENT: `status` is none of these
        NOT_FOUND: this executor has no host call with the number `call`, or the call has been finished
        """,
    }),
    ("runtime_set_log_executor", "status", {
        "offset": 1048, "header": "executor.h",
        "parameters": (
            ("runtime", "Runtime"),
            ("executor", "Executor", {"optional": True}),
        ),
        "says": """
        Lets the runtime's log function be called on `executor` from now on, in the order of the lines. With
        None, the initial state, the function is called on the thread on which a line arises. Destroying the
        executor restores this state. If the executor is full, lines are dropped and counted in
        gpo.ExecutorStatistics.refused.
        """,
    }),
    ("trace_start", "status", {
        "offset": 1056, "header": "trace.h",
        "parameters": (
            ("runtime", "Runtime"),
            ("options", "TraceOptions *", {"optional": True}),
        ),
        "says": """
        Starts a trace of all devices of a runtime. `options` may be None: only the summary.

        Blocks while the files are opened and the clock of each device is compared with the host's (some 100
        us each).
        """,
        "raises": """
        INVALID_STATE: a trace of the runtime is running
        IO_ERROR: a file can't be written, is a pipe without a reader or another user's symbolic link,
            or another trace, of this process or of another, is writing it (then the native code is
            EWOULDBLOCK); the message names the file. All files are unchanged
        """,
    }),
    ("trace_stop", "status", {
        "offset": 1064, "header": "trace.h",
        "parameters": (
            ("runtime", "Runtime"),
        ),
        "says": """
        Stops the trace: writes what was recorded, and closes the files. gpo.runtime_shutdown does so too.
        The call doesn't wait for the GPU: operations that still run are in the trace without their GPU
        times.

        Blocks until the files are written.
        """,
        "raises": """
        INVALID_STATE: no trace of the runtime is running
        IO_ERROR: a file could not be written completely, for instance because the disk is full. The
            trace has ended all the same. The file is well-formed and ends early, or is deleted. The
            failure was logged when it happened, and the program's work went on
        WOULD_DEADLOCK: called in the log function, on the trace's own thread
        """,
    }),
    ("trace_get_info", "status", {
        "offset": 1072, "header": "trace.h",
        "parameters": (
            ("runtime", "Runtime"),
            ("info", "TraceInfo *", {"result": True}),
        ),
        "says": """
        Describes the running trace, or the last one if none is running. Blocks on nothing.
        """,
    }),
    ("trace_get_summary", "status", {
        "offset": 1080, "header": "trace.h",
        "parameters": (
            ("runtime", "Runtime"),
            ("buffer", "char *", {"hidden": True, "writes": True}),
            ("capacity", "size", {"hidden": True}),
            ("needed", "size *", {"result": True}),
        ),
        "says": """
        Writes a few lines of text about the running trace, as far as it has come, or about the last one.
        The text says how long each engine was busy, the bytes and speed of copies, and how much of the
        copying was hidden behind other work. Then come the longest gaps in which no engine worked, with the
        work before each, and serialising calls.
        """,
        "raises": """
        INVALID_STATE: the runtime was never traced
        """,
    }),
    ("kernel_get_parameter", "status", {
        "offset": 1088, "header": "module.h",
        "parameters": (
            ("kernel", "Kernel"),
            ("index", "u32"),
            ("offset", "u64 *", {"result": True}),
            ("bytes", "u64 *", {"result": True}),
        ),
        "says": """
        Writes the offset and the size, both in bytes, of parameter `index` (from 0) in the kernel's
        parameters. Either pointer may be None. The library knows both already, so the call doesn't block.
        """,
        "raises": """
        INVALID_ARGUMENT: the kernel has no such parameter; the message says how many it has
        NOT_SUPPORTED: the driver is older than CUDA 12.4 and can't tell
        """,
    }),
    ("template_create", "status", {
        "offset": 1096, "header": "template.h",
        "parameters": (
            ("device", "Device"),
            ("options", "TemplateOptions *", {"optional": True}),
            ("graph_template", "Template *", {"result": True, "made": True}),
        ),
        "says": """
        Creates an empty template for graphs on `device`. `options` may be None.
        """,
    }),
    ("template_destroy", "status", {
        "offset": 1104, "header": "template.h", "gives_back": 0,
        "parameters": (
            ("graph_template", "Template", {"optional": True}),
        ),
        "says": """
        Destroys a template's handle. A recording is discarded. Graphs of the template remain usable.
        """,
        "raises": """
        INVALID_STATE: the template belongs to buckets (buckets.h), and is destroyed with them
        """,
    }),
    ("template_begin", "status", {
        "offset": 1112, "header": "template.h",
        "parameters": (
            ("graph_template", "Template"),
            ("stream", "Stream"),
        ),
        "says": """
        Begins a recording: until gpo.template_end, work that is put on `stream` is recorded and doesn't
        run. If the template has nodes already, the recording replaces them when it ends (see
        gpo.graph_update).
        """,
        "raises": """
        INVALID_STATE: the template is being recorded already; or the stream is held (stream.h); or the
            template is a body that has nodes, or to which nothing can be added any more
        CAPTURE_REFUSED: the stream is in capture, or is the legacy default stream
        INVALID_ARGUMENT: template and stream are of different devices
        """,
    }),
    ("template_end", "status", {
        "offset": 1120, "header": "template.h",
        "parameters": (
            ("graph_template", "Template"),
        ),
        "says": """
        Ends the recording. Parameters of an earlier recording are dropped.
        """,
        "raises": """
        CAPTURE_REFUSED: a call that names a stream of the recording, or adds a node, was refused: the
            message names the first such call, its object and why. Or a call of another library broke
            the recording. Or a stream of the recording doesn't join the first stream again. Or the
            recording of a body has a node that a body can't have or that can't be copied: the message
            names the node
        OUT_OF_MEMORY: the first refused call was refused for lack of memory, or this call has none
        INVALID_STATE: no recording was begun, or another thread began it
        """,
    }),
    ("template_cancel", "status", {
        "offset": 1128, "header": "template.h",
        "parameters": (
            ("graph_template", "Template"),
        ),
        "says": """
        Discards the recording. The streams can be used as before. Any thread.
        """,
    }),
    ("template_get_last_node", "status", {
        "offset": 1136, "header": "template.h",
        "parameters": (
            ("graph_template", "Template"),
            ("stream", "Stream"),
            ("node", "u32 *", {"result": True}),
        ),
        "says": """
        During a recording: writes the node that was recorded last on `stream`; 0 if there is none, or if
        the stream waits for several nodes.
        """,
        "raises": """
        INVALID_STATE: the stream isn't in the template's recording
        """,
    }),
    ("template_set_last_node", "status", {
        "offset": 1144, "header": "template.h",
        "parameters": (
            ("graph_template", "Template"),
            ("stream", "Stream"),
            ("node", "u32"),
        ),
        "says": """
        During a recording: later work on `stream` comes after `node` instead of the stream's last nodes.
        Use it to put nodes that the functions below add, a conditional for example, at their place in a
        recording. `stream` must be in the recording.
        """,
    }),
    ("template_add_kernel", "status", {
        "offset": 1152, "header": "template.h",
        "parameters": (
            ("graph_template", "Template"),
            ("after", "u32 *", {"optional": True, "length": "after_count"}),
            ("after_count", "u32", {"optional": True}),
            ("kernel", "Kernel"),
            ("launch", "Launch *"),
            ("arguments", "void **", {"length": "count", "arguments": True}),
            ("sizes", "u32 *", {"optional": True, "length": "count"}),
            ("count", "u32", {"optional": True}),
            ("node", "u32 *", {"result": True}),
        ),
        "says": """
        A kernel: as gpo.stream_launch_kernel.
        """,
    }),
    ("template_add_copy", "status", {
        "offset": 1160, "header": "template.h",
        "parameters": (
            ("graph_template", "Template"),
            ("after", "u32 *", {"optional": True, "length": "after_count"}),
            ("after_count", "u32", {"optional": True}),
            ("copy", "Copy *"),
            ("node", "u32 *", {"result": True}),
        ),
        "says": """
        A copy. Addresses may be of device memory or of pinned host memory (host pointers converted to
        uint64_t).
        """,
        "raises": """
        INVALID_ARGUMENT: an address is of pageable memory; or as gpo.copy_batch
        """,
    }),
    ("template_add_fill", "status", {
        "offset": 1168, "header": "template.h",
        "parameters": (
            ("graph_template", "Template"),
            ("after", "u32 *", {"optional": True, "length": "after_count"}),
            ("after_count", "u32", {"optional": True}),
            ("destination", "u64"),
            ("value", "u32"),
            ("element_bytes", "u32"),
            ("count", "u64"),
            ("node", "u32 *", {"result": True}),
        ),
        "says": """
        A fill: as gpo.fill.
        """,
    }),
    ("template_add_empty", "status", {
        "offset": 1176, "header": "template.h",
        "parameters": (
            ("graph_template", "Template"),
            ("after", "u32 *", {"optional": True, "length": "after_count"}),
            ("after_count", "u32", {"optional": True}),
            ("node", "u32 *", {"result": True}),
        ),
        "says": """
        A node that does nothing, to join others.
        """,
    }),
    ("template_add_event_record", "status", {
        "offset": 1184, "header": "template.h",
        "parameters": (
            ("graph_template", "Template"),
            ("after", "u32 *", {"optional": True, "length": "after_count"}),
            ("after_count", "u32", {"optional": True}),
            ("event", "Event"),
            ("node", "u32 *", {"result": True}),
        ),
        "says": """
        Each launch of the graph records `event` (event.h) when it reaches this node. Streams, the host and
        other graphs can wait for the recording, be notified of it and time it. A stream in the recording of
        a template adds such a node by gpo.event_record of an event with EVENT_EXTERNAL. If the event is
        recorded while such a launch is held (stream.h), the recording made meanwhile stays the newest, also
        once the launch has been given to the GPU. If the graph is updated while a launch of it is held, and
        has no such node any more, the recording is complete when the launch is.
        """,
        "raises": """
        NOT_SUPPORTED: the event was made with EVENT_INTERPROCESS, or is imported; or the template is a
            body
        """,
    }),
    ("template_add_event_wait", "status", {
        "offset": 1192, "header": "template.h",
        "parameters": (
            ("graph_template", "Template"),
            ("after", "u32 *", {"optional": True, "length": "after_count"}),
            ("after_count", "u32", {"optional": True}),
            ("event", "Event"),
            ("node", "u32 *", {"result": True}),
        ),
        "says": """
        Later nodes wait, on the GPU, for the recording of `event` that is the newest when the graph is
        launched. If the recording or the launch is held (stream.h), the whole launch waits for the
        recording. The launch fails as gpo.stream_wait_event would: CAPTURE_REFUSED if the newest recording
        was made in a capture, or with the failure of a held recording. A stream in the recording of a
        template adds such a node by gpo.stream_wait_event of an event with EVENT_EXTERNAL.
        """,
        "raises": """
        NOT_SUPPORTED: as gpo.template_add_event_record
        """,
    }),
    ("template_add_host_call", "status", {
        "offset": 1200, "header": "template.h", "takes_callbacks": True,
        "parameters": (
            ("graph_template", "Template"),
            ("after", "u32 *", {"optional": True, "length": "after_count"}),
            ("after_count", "u32", {"optional": True}),
            ("function", "HostNodeFn", {"called": "often", "ended_by": ("runtime_shutdown",), "stays_until": (
                "the template and its graphs are destroyed and done")}),
            ("user", "void *", {"optional": True, "stays_until": "the template and its graphs are destroyed and done"}),
            ("node", "u32 *", {"result": True}),
        ),
        "says": """
        Calls `function` on the host. The launch of a graph with host nodes may block until the graph's
        earlier launch is done. `function` and `user` must stay valid until the template and its graphs are
        destroyed and done.
        """,
    }),
    ("template_add_child", "status", {
        "offset": 1208, "header": "template.h",
        "parameters": (
            ("graph_template", "Template"),
            ("after", "u32 *", {"optional": True, "length": "after_count"}),
            ("after_count", "u32", {"optional": True}),
            ("child", "Template"),
            ("prefix", "char *", {"optional": True}),
            ("node", "u32 *", {"result": True}),
        ),
        "says": """
        Adds copies of all nodes of `child`, with conditional nodes and their bodies, after `after`. `node`
        gets an empty node behind all copies. Parameters of `child` become parameters of this template,
        named `prefix` followed by the name in the child. `prefix` may be None: the same name. Parameters of
        several children with one name are set together. Nothing can be added to `child` any more.
        gpo.graph_get_loop finds loops of a child by the child's handle, and those of its bodies by theirs.
        """,
        "raises": """
        NOT_SUPPORTED: `child` has a node that can't be copied: an allocation or free of memory, or a
            node of another library that the driver doesn't describe in full (an unknown kind of node; a
            kernel whose argument sizes the driver can't report; a node behind a programmatic launch).
            Or this template is a body, and `child` has a node that a body can't have. The message names
            the node
        INVALID_ARGUMENT: `child` is this template, or this template is a body of `child`
        """,
    }),
    ("template_add_parameter", "status", {
        "offset": 1216, "header": "template.h",
        "parameters": (
            ("graph_template", "Template"),
            ("name", "char *"),
            ("node", "u32"),
            ("what", "u32"),
            ("index", "u32"),
        ),
        "says": """
        Names a field of a node as a parameter. `index` is 0 except for arguments. If a field already has
        the name, both are set together, and must have the same size.
        """,
        "raises": """
        INVALID_ARGUMENT: the node has no such field, the sizes differ, or `name` is empty or longer
            than 63 bytes
        NOT_SUPPORTED: the driver can't tell the size of the argument (before CUDA 12.4), or it can't be
            changed (the message says why)
        INVALID_STATE: as for nodes
        """,
    }),
    ("template_get_parameter", "status", {
        "offset": 1224, "header": "template.h",
        "parameters": (
            ("graph_template", "Template"),
            ("name", "char *"),
            ("parameter", "u32 *", {"result": True}),
            ("bytes", "u64 *", {"result": True}),
        ),
        "says": """
        Writes a number by which gpo.graph_set_parameter finds the parameter faster than by its name.
        Numbers stay the same when the template is recorded anew.
        """,
        "raises": """
        NOT_FOUND: there is no such parameter; the message lists the template's parameters
        """,
    }),
    ("template_find_node", "status", {
        "offset": 1232, "header": "template.h",
        "parameters": (
            ("graph_template", "Template"),
            ("label", "char *"),
            ("node", "u32 *", {"result": True}),
        ),
        "says": """
        Finds a node by its label: that of gpo.Launch, or the kernel's.
        """,
        "raises": """
        NOT_FOUND: no node has this label; INVALID_ARGUMENT: several have it
        """,
    }),
    ("template_get_native", "status", {
        "offset": 1240, "header": "template.h", "exposes": True,
        "parameters": (
            ("graph_template", "Template"),
            ("native", "void **", {"result": True}),
        ),
        "says": """
        Writes the CUgraph behind the template. The library owns the CUgraph: read, copy or instantiate it,
        but don't change it. The CUgraph is valid until the template is recorded anew, cleared or destroyed.
        Nothing can be added to the template any more.
        """,
        "raises": """
        INVALID_STATE: the template is being recorded, or is a body
        """,
    }),
    ("template_clear", "status", {
        "offset": 1248, "header": "template.h",
        "parameters": (
            ("graph_template", "Template"),
        ),
        "says": """
        Removes all nodes and parameters, so that the template can be built anew. Its graphs keep what they
        have until gpo.graph_update.
        """,
        "raises": """
        INVALID_STATE: the template is being recorded
        """,
    }),
    ("template_get_statistics", "status", {
        "offset": 1256, "header": "template.h",
        "parameters": (
            ("graph_template", "Template"),
            ("statistics", "TemplateStatistics *", {"result": True}),
        ),
        "says": """
        Reads the size of a template, and the counters of its graphs.
        """,
    }),
    ("graph_create", "status", {
        "offset": 1264, "header": "template.h",
        "parameters": (
            ("graph_template", "Template"),
            ("options", "GraphOptions *", {"optional": True}),
            ("graph", "Graph *", {"result": True, "made": True}),
        ),
        "says": """
        Makes a graph of the template as it is now. `options` may be None.

        Blocks on the GPU until the upload is done, with GRAPH_UPLOAD and GRAPH_DEVICE_LAUNCH.
        """,
        "raises": """
        INVALID_STATE: the template or a body of it is being recorded; or the template is a body; or no
            node frees an allocation of the template (gpo.template_add_allocation): the message names
            the node
        NOT_SUPPORTED: with GRAPH_DEVICE_LAUNCH, the template has a node that such a graph can't have
            (only kernels, copies of device and pinned memory, and fills): the message names the node.
            Or it has conditional nodes or memory nodes and a graph already, and a node that can't be
            copied
        INVALID_ARGUMENT: an empty template with GRAPH_DEVICE_LAUNCH
        """,
    }),
    ("graph_destroy", "status", {
        "offset": 1272, "header": "template.h", "gives_back": 0,
        "parameters": (
            ("graph", "Graph", {"optional": True}),
        ),
        "says": """
        Destroys a graph's handle. Launches that were accepted still run.
        """,
    }),
    ("graph_set", "status", {
        "offset": 1280, "header": "template.h",
        "parameters": (
            ("graph", "Graph"),
            ("name", "char *"),
            ("value", "void *", {"length": "bytes"}),
            ("bytes", "u64", {"optional": True}),
        ),
        "says": """
        Sets a parameter for later launches: `bytes` bytes at `value`, as many as the parameter has. Costs
        no call of the driver, except for the source or destination of a copy or fill in memory that isn't
        the library's: then the driver is asked what the memory is.
        """,
        "raises": """
        NOT_FOUND: there is no such parameter
        INVALID_ARGUMENT: another size; or a value that can't be: a grid or block beyond the device's
            limits, a length of 0, an address of another kind of memory or of none that the GPU can use.
            The message names the parameter
        """,
    }),
    ("graph_set_parameter", "status", {
        "offset": 1288, "header": "template.h",
        "parameters": (
            ("graph", "Graph"),
            ("parameter", "u32"),
            ("value", "void *", {"length": "bytes"}),
            ("bytes", "u64", {"optional": True}),
        ),
        "says": """
        Sets the parameter with this number of gpo.template_get_parameter, otherwise as gpo.graph_set.
        """,
    }),
    ("graph_set_all", "status", {
        "offset": 1296, "header": "template.h",
        "parameters": (
            ("graph", "Graph"),
            ("settings", "Setting *", {"optional": True, "length": "count"}),
            ("stride", "u64", {"optional": True}),
            ("count", "u64", {"optional": True}),
        ),
        "says": """
        Sets several parameters, all or none. `settings` is an array of `count` structs, `stride` bytes
        apart.
        """,
    }),
    ("graph_get", "status", {
        "offset": 1304, "header": "template.h",
        "parameters": (
            ("graph", "Graph"),
            ("name", "char *"),
            ("value", "void *", {"writes": True, "length": "bytes"}),
            ("bytes", "u64", {"optional": True}),
        ),
        "says": """
        Writes the value that the next launch will use.
        """,
    }),
    ("graph_launch", "status", {
        "offset": 1312, "header": "template.h",
        "parameters": (
            ("graph", "Graph"),
            ("stream", "Stream"),
        ),
        "says": """
        Puts all of the graph's work on a stream, as one operation. On a held stream (stream.h) the launch
        is held with the values of this moment. If the graph is updated before a held launch is given to the
        GPU, the launch is of the new recording, and of these values those that were set stay as in
        gpo.graph_update.

        May block in the driver if the graph has host nodes or copies.
        """,
        "raises": """
        CAPTURE_REFUSED: the stream is in capture, where the driver launches no graphs;
            gpo.template_add_child adds the nodes of a template to a recording
        INVALID_ARGUMENT: graph and stream are of different devices; or the driver refuses a value that
            was set: then nothing was launched, the message names the node, and the graph can be
            launched with other values; or the memory at an address that was set has been freed: then
            too nothing was launched, and the message names the parameter. A held launch fails later,
            with the same status
        INVALID_STATE: the graph frees memory that another graph allocates and that isn't allocated now
        """,
    }),
    ("graph_upload", "status", {
        "offset": 1320, "header": "template.h",
        "parameters": (
            ("graph", "Graph"),
            ("stream", "Stream"),
        ),
        "says": """
        Uploads the graph in stream order, so that the next launch needn't.
        """,
        "raises": """
        CAPTURE_REFUSED: the stream is in capture
        """,
    }),
    ("graph_update", "status", {
        "offset": 1328, "header": "template.h",
        "parameters": (
            ("graph", "Graph"),
            ("report", "GraphUpdateReport *", {"result": True}),
        ),
        "says": """
        Brings the graph to the template's newest recording: in place if its shape is the same, else by
        instantiating it anew. Values that were set stay for parameters that mean the same (see Parameters),
        and others are dropped. If it fails, the graph can be launched as before, and no value is dropped.
        `report` may be None. Graphs of gpo.template_launch are updated by themselves.
        """,
    }),
    ("template_launch", "status", {
        "offset": 1336, "header": "template.h",
        "parameters": (
            ("graph_template", "Template"),
            ("stream", "Stream"),
            ("settings", "Setting *", {"optional": True, "length": "count"}),
            ("stride", "u64", {"optional": True}),
            ("count", "u64", {"optional": True}),
        ),
        "says": """
        Launches the template on `stream`, with the values of `settings` (as for gpo.graph_set_all), and
        what was recorded for all other parameters. Each stream gets a graph of its own, made at the first
        launch there. Launches on different streams therefore run beside each other, and any number of them
        can be in flight. Beyond `max_instances` streams, streams share graphs, and launches of one graph
        run one after the other. The library updates all these graphs to the newest recording. A launch that
        is held meanwhile is of the newest recording too: see gpo.graph_launch. Statuses as
        gpo.graph_create, gpo.graph_set_all, gpo.graph_launch. Doesn't wait for the GPU.
        """,
    }),
    ("template_prepare", "status", {
        "offset": 1344, "header": "template.h",
        "parameters": (
            ("graph_template", "Template"),
            ("count", "u32"),
            ("stream", "Stream"),
        ),
        "says": """
        Makes graphs for gpo.template_launch in advance, until there are `count`, and uploads them on
        `stream`.
        """,
    }),
    ("graph_get_native", "status", {
        "offset": 1352, "header": "template.h", "exposes": True,
        "parameters": (
            ("graph", "Graph"),
            ("native", "void **", {"result": True}),
        ),
        "says": """
        Writes the CUgraphExec behind the graph, with all values that were set in it. The library owns the
        CUgraphExec, which is valid until the graph is updated or destroyed.
        """,
    }),
    ("template_add_if", "status", {
        "offset": 1360, "header": "template.h",
        "parameters": (
            ("graph_template", "Template"),
            ("after", "u32 *", {"optional": True, "length": "after_count"}),
            ("after_count", "u32", {"optional": True}),
            ("condition", "Condition *"),
            ("body", "Template *", {"result": True, "made": True}),
            ("otherwise", "Template *", {"result": True, "made": True}),
            ("node", "u32 *", {"result": True}),
        ),
        "says": """
        Runs `body` if the condition isn't 0, else `otherwise`, if `otherwise` isn't None. The condition is
        evaluated when the graph gets to the node.
        """,
        "raises": """
        NOT_SUPPORTED: the driver has no conditional nodes (before CUDA 12.3), or no else (before 12.8)
        """,
    }),
    ("template_add_while", "status", {
        "offset": 1368, "header": "template.h",
        "parameters": (
            ("graph_template", "Template"),
            ("after", "u32 *", {"optional": True, "length": "after_count"}),
            ("after_count", "u32", {"optional": True}),
            ("condition", "Condition *"),
            ("body", "Template *", {"result": True, "made": True}),
            ("node", "u32 *", {"result": True}),
        ),
        "says": """
        Runs `body` again and again as long as the condition isn't 0. The condition is evaluated when the
        graph gets to the node, and at the end of each run of the body. gpo.graph_get_loop says how often it
        ran. A looping graph can't be stopped, and destroying it blocks until the loop ends: set
        condition.max_iterations. A graph that is launched on a resident stream (stream.h) is freed when the
        loop has ended, and destroying it doesn't block.
        """,
    }),
    ("template_add_switch", "status", {
        "offset": 1376, "header": "template.h",
        "parameters": (
            ("graph_template", "Template"),
            ("after", "u32 *", {"optional": True, "length": "after_count"}),
            ("after_count", "u32", {"optional": True}),
            ("condition", "Condition *"),
            ("bodies", "Template *", {"writes": True, "made": True, "length": "count"}),
            ("count", "u32", {"optional": True}),
            ("node", "u32 *", {"result": True}),
        ),
        "says": """
        Runs the body whose number, from 0, equals the condition; no body if the condition is `count` or
        more. `bodies` gets `count` templates (1 to 1024).
        """,
        "raises": """
        NOT_SUPPORTED: the driver has no switch nodes (before CUDA 12.8)
        """,
    }),
    ("template_bind_condition", "status", {
        "offset": 1384, "header": "template.h",
        "parameters": (
            ("kernel_in", "Template"),
            ("kernel_node", "u32"),
            ("index", "u32"),
            ("conditional_in", "Template"),
            ("conditional", "u32"),
        ),
        "says": """
        Gives a kernel node the condition of a node that was made with COMPARE_KERNEL: argument `index`
        becomes the handle that gpo::set_condition takes (gpuorch/device/graph.cuh; 8 bytes, of type
        gpo::condition). The kernel must come before the conditional node, or be in the body of the while
        that it decides. `kernel_in` and `conditional_in` are the templates that the nodes were added to:
        one template or bodies of it. Copies of both nodes, in children and in further graphs, have
        conditions of their own.
        """,
        "raises": """
        INVALID_ARGUMENT: a node isn't what it has to be, or the kernel has no such argument of 8 bytes;
            or the templates don't belong together
        INVALID_STATE: as for nodes; or the recording that had the conditional node was discarded
        """,
    }),
    ("graph_get_loop", "status", {
        "offset": 1392, "header": "template.h",
        "parameters": (
            ("graph", "Graph"),
            ("conditional_in", "Template"),
            ("node", "u32"),
            ("iterations", "u64 *", {"result": True}),
            ("limited", "u32 *", {"result": True}),
        ),
        "says": """
        How often the body of a while ran in the newest launch that is done, and whether `max_iterations`
        ended it. `conditional_in` is the template that `node` was added to: the graph's, or a body; or a
        child, or a body of a child, however deep. Either pointer may be None. With a condition that a
        kernel sets, `limited` is 1 also if the kernel ended the loop just then.

        Blocks for a copy from the device.
        """,
        "raises": """
        INVALID_ARGUMENT: `node` is no while; or `conditional_in` wasn't in the graph's template when
            the graph was made or updated; or the template has the child more than once, and the call
            can't distinguish the copies (make a template for each)
        """,
    }),
    ("graph_get_device_handle", "status", {
        "offset": 1400, "header": "template.h", "exposes": True,
        "parameters": (
            ("graph", "Graph"),
            ("native", "u64 *", {"result": True}),
            ("status", "u64 *", {"result": True}),
        ),
        "says": """
        Writes the handle by which kernels launch the graph: `native` names the graph, and `status` is the
        address of a word that gets the last failure of such a launch. A kernel takes both as one argument
        of 16 bytes, a gpo::device_graph (gpuorch/device/graph.cuh). Both are valid until the graph is
        rebuilt or destroyed. Set values and updates reach launches by kernels with the next
        gpo.graph_upload or launch by the host.
        """,
        "raises": """
        INVALID_STATE: the graph was made without GRAPH_DEVICE_LAUNCH
        """,
    }),
    ("graph_get_device_status", "status", {
        "offset": 1408, "header": "template.h",
        "parameters": (
            ("graph", "Graph"),
            ("device_status", "status *", {"result": True}),
        ),
        "says": """
        Reads that word: the last failure of a device launch by this handle since the last call; SUCCESS if
        there was none. LIMIT_EXCEEDED: one launch too many: one run of a graph may make 120 fire-and-forget
        and 255 tail launches, and this graph can be launched once at a time. INVALID_ARGUMENT: anything
        else
        """,
    }),
    ("buckets_create", "status", {
        "offset": 1416, "header": "buckets.h", "takes_callbacks": True,
        "parameters": (
            ("device", "Device"),
            ("options", "BucketsOptions *"),
            ("buckets", "Buckets *", {"result": True, "made": True}),
        ),
        "says": """
        Makes buckets without recording any. `record`, `pad` and `user` must stay valid until the buckets
        are destroyed, and the memory at `pad_address` and of `restored` until their launches are done.
        """,
        "raises": """
        INVALID_ARGUMENT: `record` is None, there are no shapes, a shape is 0 or comes twice,
            `pad_address` doesn't go with the rest; a range of `restored` is empty, at None, or runs
            past the end of addresses, there are too many, or there are some with BUCKETS_NO_WARM_UP
        """,
    }),
    ("buckets_destroy", "status", {
        "offset": 1424, "header": "buckets.h", "gives_back": 0, "ends": True,
        "parameters": (
            ("buckets", "Buckets", {"optional": True}),
        ),
        "says": """
        Destroys them with their templates. Launches that were accepted still run.
        """,
    }),
    ("buckets_prepare", "status", {
        "offset": 1432, "header": "buckets.h",
        "parameters": (
            ("buckets", "Buckets"),
            ("stream", "Stream"),
        ),
        "says": """
        Records all buckets that aren't recorded yet, the largest first, as far as `max_bytes` and
        `max_buckets` allow: a bucket that doesn't fit is left out, and none is evicted for it. The warm-ups
        come after what is on `stream`. If it fails, the buckets that were recorded before stay. With
        BUCKETS_EAGER_FALLBACK a bucket whose recording fails is left out, and the call goes on to the next;
        buckets whose recording had failed before are tried again.
        """,
        "raises": """
        CALLBACK_FAILED: see gpo.BucketFn; the message names the bucket, and what was refused in a
            recording
        CAPTURE_REFUSED: a recording has failed (see gpo.template_end); or `stream` is in capture
        OUT_OF_MEMORY: for the copies of `restored`, with which nothing has run yet; or for a graph
        INVALID_ARGUMENT: a range of `restored` is in pageable memory, or runs past the end of its
            allocation
        INVALID_STATE: a bucket is being recorded, by another thread or around this call; or `stream` is
            held
        """,
    }),
    ("buckets_launch", "status", {
        "offset": 1440, "header": "buckets.h",
        "parameters": (
            ("buckets", "Buckets"),
            ("stream", "Stream"),
            ("size", "u64"),
            ("settings", "Setting *", {"optional": True, "length": "count"}),
            ("stride", "u64", {"optional": True}),
            ("count", "u64", {"optional": True}),
            ("shape", "u64 *", {"result": True}),
        ),
        "says": """
        Runs a request of `size` elements on `stream`: pads, and launches the graph of the smallest bucket
        that it fits into with `settings` (as gpo.template_launch). If the bucket isn't recorded it is
        recorded now, and `settings` are read after that. If `max_bytes` or `max_buckets` are exceeded then,
        the buckets that were not used for the longest time are evicted: their templates are destroyed, and
        their launches that were accepted still run. `shape`, which may be None, gets the bucket's shape; 0:
        the request ran eagerly.

        Work that `record` or `pad` put on the stream before a failure stays. Memory of `restored` is as
        before the warm-up after any failure, unless the message says that the memory couldn't be restored:
        if the device is lost, or `record` has made the library's stream fail. Doesn't wait for the GPU.
        """,
        "raises": """
        NOT_FOUND: the bucket has no parameter of that name; the message names both
        INVALID_ARGUMENT: `size` is 0; or as gpo.template_launch
        CALLBACK_FAILED, CAPTURE_REFUSED: as gpo.buckets_prepare: the bucket isn't recorded, and the
            next request for it tries again
        OUT_OF_MEMORY, INVALID_ARGUMENT: as gpo.buckets_prepare, too
        """,
    }),
    ("buckets_get_statistics", "status", {
        "offset": 1448, "header": "buckets.h",
        "parameters": (
            ("buckets", "Buckets"),
            ("statistics", "BucketsStatistics *", {"result": True}),
        ),
        "says": """
        Reads the counters of the buckets and their requests.
        """,
    }),
    ("template_import", "status", {
        "offset": 1456, "header": "template.h",
        "parameters": (
            ("device", "Device"),
            ("native", "void *"),
            ("options", "TemplateOptions *", {"optional": True}),
            ("graph_template", "Template *", {"result": True, "made": True}),
        ),
        "says": """
        Makes a template of a CUgraph of the caller or of another library. The graph is copied: it stays the
        caller's, and later changes of it don't change the template. The kernels and memory that the nodes
        use must stay valid for as long as graphs of the template may run: the library knows only its own
        memory among them (see Lifetime). Nodes have numbers in the order in which cuGraphGetNodes lists
        those of `native`. A kernel node's label is the kernel's name, as the driver has it.
        """,
        "raises": """
        INVALID_ARGUMENT: `native` is None, or the driver doesn't know it
        NOT_SUPPORTED: the graph, or a child graph in it, has a node with which the driver copies no
            graph (a conditional, an allocation, a free): the message says which
        """,
    }),
    ("template_get_picture", "status", {
        "offset": 1464, "header": "template.h",
        "parameters": (
            ("graph_template", "Template"),
            ("format", "u32"),
            ("buffer", "char *", {"hidden": True, "writes": True}),
            ("capacity", "size", {"hidden": True}),
            ("needed", "size *", {"result": True}),
        ),
        "says": """
        Draws the template: its nodes with their labels, operations and parameters, the order between them,
        and bodies inside of their conditional nodes. The picture also has the number of launches of the
        template's graphs, and the duration of the newest launch that a trace (trace.h) has timed, if there
        is one. Nodes have the numbers of the template or body that they were added to. A string (types.h).
        Values are shown as they were recorded.
        """,
        "raises": """
        INVALID_STATE: the template is being recorded, or a body of it, or another body of the template
            that it belongs to
        INVALID_ARGUMENT: an unknown format
        """,
    }),
    ("template_allocate", "status", {
        "offset": 1472, "header": "template.h", "exposes": True,
        "parameters": (
            ("graph_template", "Template"),
            ("bytes", "u64"),
            ("address", "u64 *", {"result": True}),
        ),
        "says": """
        Device memory that the template owns. The memory keeps its address and is freed with the last of:
        the template's handle, the graphs of the template and of templates that have it as a child, and the
        launches of these graphs. Recorded addresses therefore can't become stale. gpo.memory_free refuses
        the memory. Memory of a body's handle is the memory of the template that the body belongs to.
        Aligned, and serialising, as gpo.memory_allocate.
        """,
        "raises": """
        OUT_OF_MEMORY: the device has no `bytes` (1 or more) left
        """,
    }),
    ("template_allocate_host", "status", {
        "offset": 1480, "header": "template.h", "exposes": True,
        "parameters": (
            ("graph_template", "Template"),
            ("bytes", "u64"),
            ("memory", "void **", {"result": True}),
        ),
        "says": """
        Pinned host memory with the same lifetime, which kernels of all devices use at the same address as
        the host.
        """,
    }),
    ("template_add_allocation", "status", {
        "offset": 1488, "header": "template.h", "exposes": True,
        "parameters": (
            ("graph_template", "Template"),
            ("after", "u32 *", {"optional": True, "length": "after_count"}),
            ("after_count", "u32", {"optional": True}),
            ("bytes", "u64"),
            ("address", "u64 *", {"result": True}),
            ("node", "u32 *", {"result": True}),
        ),
        "says": """
        Device memory that exists while the graph runs, from this node to a node of gpo.template_add_free.
        Its address is the same in every launch. Graphs that don't run at once may share the physical
        memory. Each allocation needs a free: without one no graph of the template can be made. A template
        with such nodes has one graph at a time, which all streams of gpo.template_launch share; a new
        recording always rebuilds the graph. The template can't be a child. Kernels can't launch its graph.

        Allocations in stream order that other libraries make in a recording (cuMemAllocAsync) become such
        nodes, too. A recording may allocate memory and not free it: then the memory is still allocated when
        a launch is done. The next launch of the same graph begins by freeing the memory. After the last
        launch the program has to free the memory (cuMemFreeAsync).
        """,
        "raises": """
        NOT_SUPPORTED: the device has no memory pools, or the template is a body
        """,
    }),
    ("template_add_free", "status", {
        "offset": 1496, "header": "template.h",
        "parameters": (
            ("graph_template", "Template"),
            ("after", "u32 *", {"optional": True, "length": "after_count"}),
            ("after_count", "u32", {"optional": True}),
            ("address", "u64"),
            ("node", "u32 *", {"result": True}),
        ),
        "says": """
        Frees such memory. All nodes that use the memory have to be in `after`, or before nodes in `after`.
        """,
        "raises": """
        INVALID_ARGUMENT: no node of the template allocates memory at `address`, a node frees it
            already, or the new node would not come after the allocation
        NOT_SUPPORTED: the template is a body
        """,
    }),
    ("queue_create", "status", {
        "offset": 1504, "header": "queue.h",
        "parameters": (
            ("device", "Device"),
            ("options", "QueueOptions *"),
            ("queue", "Queue *", {"result": True, "made": True}),
        ),
        "says": """
        Creates a queue. Any stream may use it when the call returns.

        Blocks on the GPU for some microseconds, while the memory is initialised; not on work of other
        streams. Allocating is serialising (runtime.h). A device's first ring also loads the kernel of
        gpo.queue_push, unless an earlier resident stream has loaded the kernel. Loading is serialising too.
        The kernel stays loaded until the runtime shuts down, and later rings load nothing.
        """,
        "raises": """
        INVALID_ARGUMENT: an option is out of range, or is one of another kind, which has to be 0: the
            message names it; or the stream is of another device, or isn't resident
        INVALID_HANDLE: the stream is of another runtime
        OUT_OF_MEMORY: there is no device memory, or no pinned memory
        """,
    }),
    ("queue_destroy", "status", {
        "offset": 1512, "header": "queue.h", "gives_back": 0,
        "parameters": (
            ("queue", "Queue", {"optional": True}),
        ),
        "says": """
        Destroys a queue: see "Memory" above. Blocks on nothing.
        """,
    }),
    ("queue_get_device_handle", "status", {
        "offset": 1520, "header": "queue.h", "exposes": True,
        "parameters": (
            ("queue", "Queue"),
            ("buffer", "void *", {"hidden": True, "writes": True}),
            ("capacity", "size", {"hidden": True}),
            ("needed", "size *", {"result": True}),
        ),
        "says": """
        Writes the value that kernels take as an argument: a gpo::range (64 bytes), gpo::ring (96 bytes) or
        gpo::host_ring (192 bytes) of device/queue.cuh. `buffer`, `capacity` and `needed` are as for strings
        (types.h), without a terminator.
        """,
    }),
    ("queue_set_costs", "status", {
        "offset": 1528, "header": "queue.h",
        "parameters": (
            ("queue", "Queue"),
            ("stream", "Stream"),
            ("costs", "f32 *", {"optional": True, "length": "count"}),
            ("count", "u64", {"optional": True}),
        ),
        "says": """
        Range: later work on the stream gets the numbers with the greatest costs first. Uneven work takes
        the least time if the longest tasks begin first. `costs` has `count` elements, as many as the range
        has numbers, at most 2^32. Element i is the expected cost of number i, in any unit. Equal costs keep
        the order of their numbers. `costs` None: the numbers come in their own order again, and `count` is
        ignored.

        The new order is copied as work of `stream`. No other work that uses the range may run at that time.
        The first call that gives costs changes the device handle: read it again.
        """,
        "raises": """
        INVALID_ARGUMENT: `count` isn't the range's; a cost is NaN (the message says which); the stream
            is of another device
        NOT_SUPPORTED: the queue is no range, or has more than 2^32 numbers
        CAPTURE_REFUSED: the stream is in capture
        WOULD_BLOCK: the stream holds as many operations as it may
        """,
    }),
    ("queue_reset", "status", {
        "offset": 1536, "header": "queue.h", "exposes": True,
        "parameters": (
            ("queue", "Queue"),
            ("stream", "Stream"),
        ),
        "says": """
        Makes a ring empty and open, or has a range begin anew although workers of the previous launch left
        it early; as work of the stream. No other work that uses the queue may run at that time. May be
        recorded.
        """,
        "raises": """
        INVALID_ARGUMENT: the stream is of another device
        WOULD_BLOCK: the stream holds as many operations as it may; a part of the work may have been put
            on it
        """,
    }),
    ("queue_close", "status", {
        "offset": 1544, "header": "queue.h",
        "parameters": (
            ("queue", "Queue"),
        ),
        "says": """
        Closes a ring or host ring: see "The end of a ring" and "Host rings". Takes effect at once, beside
        running kernels. Has no effect on a ring that is closed or aborted.

        Blocks on the GPU for some microseconds, for a ring; not on work of other streams.
        """,
        "raises": """
        NOT_SUPPORTED: the queue is a range, which ends by itself
        """,
    }),
    ("queue_abort", "status", {
        "offset": 1552, "header": "queue.h",
        "parameters": (
            ("queue", "Queue"),
        ),
        "says": """
        Aborts a ring or host ring, also a closed one. Otherwise as gpo.queue_close, but blocks on nothing.
        """,
    }),
    ("queue_get_info", "status", {
        "offset": 1560, "header": "queue.h",
        "parameters": (
            ("queue", "Queue"),
            ("info", "QueueInfo *", {"result": True}),
        ),
        "says": """
        Describes a queue. The numbers are those of one moment only if no kernel uses the queue. Blocks on
        the GPU for some microseconds, while the numbers are copied; not on work of other streams.
        """,
    }),
    ("queue_push", "status", {
        "offset": 1568, "header": "queue.h", "exposes": True,
        "parameters": (
            ("queue", "Queue"),
            ("stream", "Stream"),
            ("tasks", "void *"),
            ("count", "u64"),
            ("priority", "u32"),
        ),
        "says": """
        Pushes tasks into a ring, as work of the stream, in their order. Tasks that find no room when the
        GPU executes the push, or find the ring closed or aborted, are left out and counted
        (gpo.QueueInfo.refused): the last of the tasks. Kernels that pop may run before, behind or beside
        the push. `tasks` are count * task_size bytes, which may be reused when the call returns. `priority`
        is below the ring's priorities.
        """,
        "raises": """
        INVALID_ARGUMENT: there is no such priority; the stream is of another device
        NOT_SUPPORTED: the queue is no ring
        OUT_OF_MEMORY: there is no pinned memory for a copy of the tasks
        CAPTURE_REFUSED: the stream is in capture
        WOULD_BLOCK: the stream holds as many operations as it may
        """,
    }),
    ("device_get_costs", "status", {
        "offset": 1576, "header": "advice.h",
        "parameters": (
            ("device", "Device"),
            ("flags", "u32"),
            ("costs", "Costs *", {"result": True}),
        ),
        "says": """
        Writes what things cost on a device: an H200's costs, with the multiprocessors and the rates of
        memory and arithmetic of this device.

        With COSTS_PROBE launches, graphs and copies are measured, on streams of the library's own. The
        probe loads a small module, allocates 4 MiB of device memory and 4 MiB of pinned memory and frees
        them: it serialises the device (runtime.h). Other work on the device and on the host makes the costs
        greater.

        May be called during stream captures. Blocks on the GPU with COSTS_PROBE, otherwise on nothing.
        """,
        "raises": """
        INVALID_STATE: with COSTS_PROBE, there is resident work (stream.h)
        """,
    }),
    ("advise", "status", {
        "offset": 1584, "header": "advice.h",
        "parameters": (
            ("device", "Device", {"optional": True}),
            ("workload", "Workload *"),
            ("diagnosis", "Diagnosis *", {"result": True}),
            ("advice", "Advice *", {"writes": True, "length": "capacity"}),
            ("stride", "u64", {"optional": True}),
            ("capacity", "u64", {"optional": True}),
            ("count", "u64 *", {"result": True}),
        ),
        "says": """
        Says which forms fit a workload, the best first. FORM_LEAVE is always in the list; forms behind it
        are expected to gain too little. `device` may be None: costs that `workload->costs` doesn't have are
        then an H200's. `diagnosis` may be None.

        Writes at most `capacity` elements to `advice`, `stride` bytes apart, and their number to `*count`.
        Set the struct_size of each element before the call.

        Takes up to some microseconds for each task cost. Blocks on nothing.
        """,
        "raises": """
        INVALID_ARGUMENT: also if a figure is impossible (a cost is negative or no number, a block has
            more workers than there are in all, ...); the message names it
        """,
    }),
    ("queue_set_tenant", "status", {
        "offset": 1592, "header": "queue.h",
        "parameters": (
            ("queue", "Queue"),
            ("tenant", "u32"),
            ("options", "TenantOptions *"),
        ),
        "says": """
        Sets up a tenant. Before, each tenant may take all places and has no completion queue. Answers with
        bytes (answer_size) wait for gpo.queue_take even with a completion queue. An answer without bytes is
        taken with its entry.
        """,
        "raises": """
        INVALID_ARGUMENT: there is no such tenant, or `limit` is above the ring's capacity
        INVALID_HANDLE: `completions` is of another runtime
        INVALID_STATE: tasks of the tenant are not answered, or answers not taken
        NOT_SUPPORTED: the queue is no host ring, or one without answers
        LIMIT_EXCEEDED: the system has no thread for the completion queues of a host ring
        """,
    }),
    ("queue_post", "status", {
        "offset": 1600, "header": "queue.h",
        "parameters": (
            ("queue", "Queue"),
            ("tenant", "u32"),
            ("tasks", "void *"),
            ("count", "u64"),
            ("user_data", "u64"),
            ("posted", "u64 *", {"result": True}),
        ),
        "says": """
        Posts tasks to the kernel, from any thread. `tasks` are count * task_size bytes, which may be reused
        when the call returns. `*posted` gets how many were posted, from the first on: fewer than `count` if
        the ring, the tenant's share or its completion queue is full. Task i comes back with user_data + i.

        Blocks on nothing. Several threads may post at once: the tasks of a call stay in their order.
        """,
        "raises": """
        WOULD_BLOCK: no task was posted: there is no room
        INVALID_ARGUMENT: there is no such tenant
        INVALID_STATE: the queue is closed or aborted
        NOT_SUPPORTED: the queue is no host ring
        STALE_HANDLE: the tenant's completion queue was destroyed: the message says so
        """,
    }),
    ("queue_take", "status", {
        "offset": 1608, "header": "queue.h",
        "parameters": (
            ("queue", "Queue"),
            ("tenant", "u32"),
            ("entries", "Answer *", {"writes": True, "length": "capacity"}),
            ("stride", "u64", {"optional": True}),
            ("answers", "void *", {"optional": True, "writes": True}),
            ("capacity", "u64", {"optional": True}),
            ("count", "u64 *", {"result": True}),
        ),
        "says": """
        Takes up to `capacity` answers of a tenant, in the order in which they came. `entries` is an array
        with `stride` bytes from one element to the next: sizeof(gpo.Answer). `answers`, which may be None,
        gets answer_size bytes of each, one behind the other. `*count` gets how many were taken, possibly 0.
        Never blocks.
        """,
        "raises": """
        INVALID_ARGUMENT: there is no such tenant
        NOT_SUPPORTED: the queue is no host ring
        """,
    }),
    ("queue_wait", "status", {
        "offset": 1616, "header": "queue.h",
        "parameters": (
            ("queue", "Queue"),
            ("tenant", "u32"),
            ("timeout_ns", "i64"),
        ),
        "says": """
        Waits until an answer of the tenant can be taken.

        Blocks on the GPU until the timeout. In a runtime with COMPLETION_LATENCY the thread looks for
        answers without sleeping for a millisecond, otherwise for 20 microseconds.
        """,
        "raises": """
        TIMEOUT: the timeout passed
        END: no answer is left, and none will come: the queue is closed, and all tasks of the tenant are
            answered
        CANCELLED: no answer is left, and the queue was aborted or destroyed
        INVALID_ARGUMENT: there is no such tenant
        INVALID_STATE: no answer can ever be taken: answers have no bytes and go to the tenant's
            completion queue
        NOT_SUPPORTED: the queue is no host ring, or one without answers
        Any other status: the queue's stream has failed with it
        """,
    }),
    ("advise_trace", "status", {
        "offset": 1624, "header": "advice.h",
        "parameters": (
            ("path", "char *"),
            ("workload", "Workload *", {"result": True}),
            ("buffer", "char *", {"hidden": True, "writes": True}),
            ("capacity", "size", {"hidden": True}),
            ("needed", "size *", {"result": True}),
        ),
        "says": """
        Reads a trace file of the library (trace.h), gzipped or not, and writes a text. For each GPU the
        text shows the use of its time (kernels, copies, launches, waits of the host, the host's other
        work), its longest gaps, and possible improvements, with the expected gain. `workload`, which may be
        None, gets the traced work of the GPU with the most work, to be completed and given to gpo.advise.
        Its round is a turn of the repeated sequence of operations, or the whole trace if no sequence
        repeats.

        If a trace ends early, because its process was killed, the existing part is read, and the text says
        so.

        Blocks on the file.
        """,
        "raises": """
        NOT_FOUND: the file doesn't exist
        IO_ERROR: the file can't be read
        INVALID_ARGUMENT: the file is no trace of this library, or was damaged; the message names the
            line
        LIMIT_EXCEEDED: the trace has more than 2^22 operations
        """,
    }),
    ("scheduler_create", "status", {
        "offset": 1632, "header": "scheduler.h",
        "parameters": (
            ("device", "Device"),
            ("options", "SchedulerOptions *"),
            ("handlers", "Handler *", {"length": "count"}),
            ("stride", "u64", {"optional": True}),
            ("count", "u32", {"optional": True}),
            ("scheduler", "Scheduler *", {"result": True, "made": True}),
        ),
        "says": """
        Creates a scheduler, compiles its handlers, and loads and allocates everything for its runs.
        `handlers` is an array of `count` structs (1 to 256), `stride` bytes apart: sizeof(gpo.Handler). A
        task whose first four bytes are i is for handlers[i].

        Blocks on the compiler, and as gpo.queue_create. Loading and allocating are serialising (runtime.h).
        """,
        "raises": """
        INVALID_ARGUMENT: an option is out of range, or is one of another form, which has to be 0: the
            message names it; the queue or a graph is of another device; a handler's name is missing or
            no identifier; `leave_free` leaves no multiprocessor; a graph is given twice
        INVALID_HANDLE: the queue or a graph is of another runtime
        INVALID_STATE: the queue has a scheduler already: the message names it; or a graph was made
            without GRAPH_DEVICE_LAUNCH; or there is resident work (stream.h), for example of a running
            scheduler: create all schedulers before the first is started
        NOT_SUPPORTED: the queue is a range, or has tickets, or the form isn't for host rings
        COMPILE_FAILED: the source has errors; or a handler isn't there, isn't of the form int
            (gpo::task_context &, const task &), or its task is larger than the queue's:
            gpo.last_compile_log has the whole text
        NO_COMPILER: as gpo.module_compile
        LIMIT_EXCEEDED: other schedulers have the multiprocessors, or blocks_per_multiprocessor blocks
            with these handlers don't fit on a multiprocessor at a time: the message has the numbers
        """,
    }),
    ("scheduler_destroy", "status", {
        "offset": 1640, "header": "scheduler.h", "gives_back": 0,
        "parameters": (
            ("scheduler", "Scheduler", {"optional": True}),
        ),
        "says": """
        Stops a scheduler and destroys its handle: see "Lifetime". Blocks on nothing.
        """,
    }),
    ("scheduler_start", "status", {
        "offset": 1648, "header": "scheduler.h", "exposes": True,
        "parameters": (
            ("scheduler", "Scheduler"),
        ),
        "says": """
        Begins a run. Figures (gpo.SchedulerInfo and the others below) count on from earlier runs.

        Blocks on the GPU for some microseconds, while the queue's state is read.
        """,
        "raises": """
        INVALID_STATE: a run goes on; or the queue is a ring that is closed with nothing in it, or was
            aborted: the message says which. Over a host ring that is closed a run begins, and ends at
            once
        Any other status: the scheduler's stream has failed with it
        """,
    }),
    ("scheduler_drain", "status", {
        "offset": 1656, "header": "scheduler.h",
        "parameters": (
            ("scheduler", "Scheduler"),
            ("timeout_ns", "i64"),
        ),
        "says": """
        Asks the run to end when all earlier posted or pushed tasks are done, with the tasks that they push,
        and waits for the end. Tasks that others push or post meanwhile may be done or left in the queue. If
        the timeout passes, the run still drains: call again, or gpo.scheduler_stop.

        Blocks on the GPU until the timeout.
        """,
        "raises": """
        TIMEOUT: the timeout passed
        CANCELLED: the run has ended with tasks left: the queue was aborted, or the scheduler stopped or
            destroyed
        INVALID_STATE: the scheduler was never started
        Any other status: the scheduler's stream has failed with it
        """,
    }),
    ("scheduler_stop", "status", {
        "offset": 1664, "header": "scheduler.h",
        "parameters": (
            ("scheduler", "Scheduler"),
            ("timeout_ns", "i64"),
        ),
        "says": """
        Asks the run to end, and waits for the end: handlers that have begun return, and no other begins.
        Tasks that are left stay in the queue. A scheduler that doesn't run is stopped already.

        Blocks on the GPU until the timeout.
        """,
        "raises": """
        TIMEOUT: the timeout passed, and a handler has still not returned. The run ends when it does
        Any other status: the scheduler's stream has failed with it
        """,
    }),
    ("scheduler_wait", "status", {
        "offset": 1672, "header": "scheduler.h",
        "parameters": (
            ("scheduler", "Scheduler"),
            ("timeout_ns", "i64"),
        ),
        "says": """
        Waits until the run has ended, without asking it to.

        Blocks on the GPU until the timeout.
        """,
        "raises": """
        TIMEOUT: the timeout passed
        Any other status: the scheduler's stream has failed with it
        """,
    }),
    ("scheduler_get_info", "status", {
        "offset": 1680, "header": "scheduler.h",
        "parameters": (
            ("scheduler", "Scheduler"),
            ("info", "SchedulerInfo *", {"result": True}),
        ),
        "says": """
        Describes a scheduler. During a run the numbers are not from a single moment. Blocks on the GPU for
        some microseconds, while the numbers are copied; not on work of other streams. The functions below
        block alike.
        """,
    }),
    ("scheduler_get_handler", "status", {
        "offset": 1688, "header": "scheduler.h",
        "parameters": (
            ("scheduler", "Scheduler"),
            ("handler", "u32"),
            ("info", "HandlerInfo *", {"result": True}),
        ),
        "says": """
        Writes what was done by the handler of a number.
        """,
        "raises": """
        INVALID_ARGUMENT: there is no such handler
        """,
    }),
    ("scheduler_get_blocks", "status", {
        "offset": 1696, "header": "scheduler.h",
        "parameters": (
            ("scheduler", "Scheduler"),
            ("blocks", "SchedulerBlock *", {"writes": True, "length": "capacity"}),
            ("stride", "u64", {"optional": True}),
            ("capacity", "u64", {"optional": True}),
            ("count", "u64 *", {"result": True}),
        ),
        "says": """
        Writes the figures of the blocks in their order. `blocks`, `stride`, `capacity` and `count` are as
        in gpo.scheduler_get_errors.
        """,
    }),
    ("scheduler_get_samples", "status", {
        "offset": 1704, "header": "scheduler.h",
        "parameters": (
            ("scheduler", "Scheduler"),
            ("samples", "DepthSample *", {"writes": True, "length": "capacity"}),
            ("stride", "u64", {"optional": True}),
            ("capacity", "u64", {"optional": True}),
            ("count", "u64 *", {"result": True}),
        ),
        "says": """
        Writes the newest samples of the queue's depth, oldest first; at most 1024 are stored. `samples`,
        `stride`, `capacity` and `count` are as in gpo.scheduler_get_errors.
        """,
    }),
    ("scheduler_get_errors", "status", {
        "offset": 1712, "header": "scheduler.h",
        "parameters": (
            ("scheduler", "Scheduler"),
            ("errors", "TaskError *", {"writes": True, "length": "capacity"}),
            ("stride", "u64", {"optional": True}),
            ("capacity", "u64", {"optional": True}),
            ("count", "u64 *", {"result": True}),
        ),
        "says": """
        Writes the first errors since the scheduler was created, up to `capacity`, in the order in which
        they were found. `errors` is an array with `stride` bytes from one element to the next, and may be
        None if `capacity` is 0. `*count` gets how many were written.
        """,
    }),
    ("peers_create", "status", {
        "offset": 1720, "header": "peers.h",
        "parameters": (
            ("devices", "Device *", {"length": "count"}),
            ("count", "u32", {"optional": True}),
            ("options", "PeersOptions *", {"optional": True}),
            ("peers", "Peers *", {"result": True, "made": True}),
        ),
        "says": """
        Creates a group of `count` devices (1 to PEERS_MOST_RANKS) of one runtime. `options` may be None.
        Devices that can reach each other get permanent access to each other's memory
        (gpo.device_enable_peer).

        DRIVER_ERROR, too: a thread captures in the mode CU_STREAM_CAPTURE_MODE_GLOBAL. NCCL's threads then
        make calls that the driver forbids, and the capture becomes invalid. Create the group before the
        capture

        Serialises the devices (runtime.h).
        """,
        "raises": """
        INVALID_ARGUMENT: a device is in the list twice
        INVALID_HANDLE: a device is of another runtime than the first
        NOT_SUPPORTED: the engine that is asked for can't be used: two devices can't reach each other's
            memory (direct), or NCCL isn't there, is too old or refuses (NCCL); the message says which,
            and what to install or set. Where AUTO finds neither engine, the message says it of both
        INVALID_STATE: a device has resident work (stream.h), which the driver would wait for while it
            loads kernels of the group; the message names the stream. A group of one device needs none.
            Those of the direct engine are there already if a group of several devices was made before,
            or if several devices of the runtime were open when the device's resident stream was made.
            NCCL can't be begun beside resident work: where AUTO leaves the choice, the group does
            without it
        """,
    }),
    ("peers_destroy", "status", {
        "offset": 1728, "header": "peers.h", "gives_back": 0,
        "parameters": (
            ("peers", "Peers", {"optional": True}),
        ),
        "says": """
        Destroys a group's handle. Collectives that were submitted go on, and recorded ones can be launched.
        If the group uses NCCL, the call may block until the group's collectives, and resident work of its
        devices (stream.h), are done. Then the process leaves a group of several processes, and for the
        others the group is broken (PEER_LOST) as soon as they need it.
        """,
    }),
    ("peers_split", "status", {
        "offset": 1736, "header": "peers.h",
        "parameters": (
            ("peers", "Peers"),
            ("ranks", "u32 *", {"length": "count"}),
            ("count", "u32", {"optional": True}),
            ("options", "PeersOptions *", {"optional": True}),
            ("part", "Peers *", {"result": True, "made": True}),
        ),
        "says": """
        Creates a group of some ranks of another: rank i of the new group is rank `ranks[i]` of `peers`. The
        two groups don't depend on each other. `options` may be None. Statuses as gpo.peers_create. For a
        group of several processes: the processes whose ranks are in the list call the function, with the
        same list. The call blocks until all of them have called, and has the statuses of gpo.peers_join
        too. A broken group can be split as well, so that the remaining processes go on without the lost
        one.
        """,
        "raises": """
        INVALID_ARGUMENT: the list has a number that is no rank, or a rank twice; or this process has no
            rank in it
        """,
    }),
    ("peers_get_info", "status", {
        "offset": 1744, "header": "peers.h",
        "parameters": (
            ("peers", "Peers"),
            ("info", "PeersInfo *", {"result": True}),
        ),
        "says": """
        Describes a group.
        """,
    }),
    ("peers_get_link", "status", {
        "offset": 1752, "header": "peers.h",
        "parameters": (
            ("peers", "Peers"),
            ("from", "u32"),
            ("to", "u32"),
            ("link", "PeerProperties *", {"result": True}),
        ),
        "says": """
        Says how rank `from` reaches the memory of rank `to`.
        """,
        "raises": """
        INVALID_ARGUMENT: there is no such rank
        NOT_SUPPORTED: the rank is of another process
        """,
    }),
    ("peers_submit", "status", {
        "offset": 1760, "header": "peers.h",
        "parameters": (
            ("peers", "Peers"),
            ("collective", "Collective *"),
            ("parts", "RankPart *", {"length": "count"}),
            ("stride", "u64", {"optional": True}),
            ("count", "u32", {"optional": True}),
        ),
        "says": """
        Puts a collective on the streams of its ranks: part r, of `count` in all, is that of rank r.
        `stride`: bytes from one part to the next, sizeof(gpo.RankPart). In a group of several processes
        `count` is 1: the part of this process.

        Addresses are multiples of the element's size. `send` and `receive` of a rank may be the same (in
        place) for ALL_REDUCE, REDUCE and BROADCAST; for ALL_GATHER `send` may be the rank's own piece of
        `receive`, and for REDUCE_SCATTER `receive` the rank's own piece of `send`. Otherwise they must not
        overlap, nor the buffers of two ranks.

        A failure has no effect, except where the driver or NCCL refuses the collective when some of its
        work is on its way already: then all of its streams have failed.
        """,
        "raises": """
        INVALID_ARGUMENT: a number, address or count is wrong; the message names it, and its rank
        INVALID_HANDLE: a stream is of another runtime
        WOULD_BLOCK: a stream already holds the most operations that it can hold
        PEER_LOST, CANCELLED: the group is broken, or was aborted
        CAPTURE_REFUSED: some of the streams are being captured and others are not
        INVALID_STATE: NCCL does the first collective of this kind and size in a group of one process,
            and a device has resident work (stream.h), which the driver would wait for while NCCL loads
            kernels
        NOT_SUPPORTED: the collective would have to be held on a stream that can't be held (a wrapped
            one)
        """,
    }),
    ("symmetric_allocate", "status", {
        "offset": 1768, "header": "symmetric.h",
        "parameters": (
            ("peers", "Peers"),
            ("bytes", "u64"),
            ("options", "SymmetricOptions *", {"optional": True}),
            ("memory", "Symmetric *", {"result": True, "made": True}),
        ),
        "says": """
        Allocates `bytes` (1 to 2^48) of memory, zeroed, on each device of the group. Any stream of these
        devices may use it when the call returns. `options` may be None. The memory doesn't need the group
        any more: it stays when the group is destroyed. In a group of several processes all of them make the
        call, which returns when the memory of all ranks is zeroed. A failure there is returned in all
        processes, and names the rank.

        Blocks on the GPUs while the memory is zeroed, not on work of other streams; and on the other
        processes. By NVSHMEM one call at a time in a process. Serialises the devices (runtime.h).
        """,
        "raises": """
        INVALID_ARGUMENT: `bytes`, the alignment or another option is out of range, or not the same in
            all processes; or two ranks have labelled the memory, and not alike: they allocate in
            another order, which the message says
        NOT_SUPPORTED: two devices of the group can't reach each other's memory; the message names their
            ranks. Or the processes are on several hosts, or don't see each other's devices or process
            numbers; or the group has more than 32 ranks. NVSHMEM can't be used, or has begun with other
            processes, or the group is of one process: the message says what to do
        OUT_OF_MEMORY: a device has too little memory, or NVSHMEM's heap has; the message names its
            rank, and nothing is allocated
        PEER_LOST, CANCELLED: the group is broken, or was aborted; a process has died, or hasn't come
            within the group's timeout
        INVALID_STATE: NVSHMEM allocates, and a process has resident work on its device (stream.h); the
            message names the rank
        SHUT_DOWN: the runtime shuts down while other processes are waited for
        """,
    }),
    ("symmetric_destroy", "status", {
        "offset": 1776, "header": "symmetric.h", "gives_back": 0,
        "parameters": (
            ("memory", "Symmetric", {"optional": True}),
        ),
        "says": """
        Destroys the handle. The memory is freed behind all earlier work on streams of the runtime, resident
        ones excepted: their work with the memory must have ended. A template doesn't keep the memory alive:
        destroy the template's graphs first. Blocks on nothing. Memory of NVSHMEM is freed in the next
        allocation after all processes have destroyed it: other ranks may use this rank's part until they
        destroy the memory themselves.
        """,
    }),
    ("symmetric_get_address", "status", {
        "offset": 1784, "header": "symmetric.h", "exposes": True,
        "parameters": (
            ("memory", "Symmetric"),
            ("rank", "u32"),
            ("address", "u64 *", {"result": True}),
        ),
        "says": """
        Writes the address of a rank's memory, for copies, fills and kernels' arguments. Memory of one rank
        can be used on the streams of all. The address is valid in this process. Memory of another process's
        rank has another address there, and the requested alignment holds for the address in the rank's own
        process.
        """,
        "raises": """
        INVALID_ARGUMENT: there is no such rank
        NOT_SUPPORTED: with NVSHMEM, this process has no address of the rank's memory
        """,
    }),
    ("symmetric_get_device_handle", "status", {
        "offset": 1792, "header": "symmetric.h", "exposes": True,
        "parameters": (
            ("memory", "Symmetric"),
            ("rank", "u32"),
            ("buffer", "void *", {"hidden": True, "writes": True}),
            ("capacity", "size", {"hidden": True}),
            ("needed", "size *", {"result": True}),
        ),
        "says": """
        Writes the value that kernels of this rank take as an argument, a gpo::symmetric of device/peer.cuh.
        `buffer`, `capacity` and `needed` are as for strings (types.h), without a terminator. The value
        stays the same for as long as the memory lives, so it can be recorded in templates.
        """,
        "raises": """
        INVALID_ARGUMENT: there is no such rank, or the rank is another process's
        NOT_SUPPORTED: with NVSHMEM, the rank lacks an address of some rank's memory, and
            SYMMETRIC_REMOTE wasn't set
        """,
    }),
    ("symmetric_reset", "status", {
        "offset": 1800, "header": "symmetric.h",
        "parameters": (
            ("memory", "Symmetric"),
            ("rank", "u32"),
            ("stream", "Stream"),
        ),
        "says": """
        Puts a rank's barriers back to their begin, as work of the stream. The memory's bytes stay as they
        are. Before kernels use barriers again, all ranks have to be reset, while no kernel uses the memory.
        May be recorded.
        """,
        "raises": """
        INVALID_ARGUMENT: there is no such rank, or the rank is another process's; the stream is of
            another device than the rank
        INVALID_HANDLE: the stream is of another runtime
        WOULD_BLOCK: the stream holds as many operations as it may
        """,
    }),
    ("symmetric_get_info", "status", {
        "offset": 1808, "header": "symmetric.h",
        "parameters": (
            ("memory", "Symmetric"),
            ("info", "SymmetricInfo *", {"result": True}),
        ),
        "says": """
        Describes the memory.
        """,
    }),
    ("peers_launch", "status", {
        "offset": 1816, "header": "symmetric.h",
        "parameters": (
            ("peers", "Peers"),
            ("launches", "RankLaunch *", {"length": "count"}),
            ("stride", "u64", {"optional": True}),
            ("count", "u32", {"optional": True}),
        ),
        "says": """
        Puts one kernel on a stream of each rank, on all of them or on none: element r of `launches`, of
        `count` in all, is rank r's. In a group of several processes `count` is 1: the launch of this
        process's rank alone. The library doesn't hold or begin it together with launches of other
        processes: kernels that wait for other ranks need all processes to launch theirs, within the bounds
        of their waits. The kernels may wait for each other, and may differ. `stride`: bytes from one
        element to the next, sizeof(gpo.RankLaunch).

        No kernel begins before all of the streams have done what was put on them before: so the kernels
        begin at about the same time, and two launches on the same streams never overlap, on any device. All
        blocks of each kernel are on the device at the same time, once the device's other work has left room
        for them. If one of the streams is held (stream.h), the launch is held on all of them, as a
        collective is (peers.h). Streams that are being recorded into a graph template take the launch as
        other work; all of them must be in the recording.

        A failure has no effect, with one exception: if the driver refuses a kernel when a part of the
        launch is submitted already, all streams of the launch have failed.
        """,
        "raises": """
        INVALID_ARGUMENT: an element is wrong; the message names its rank
        INVALID_HANDLE: a stream or a kernel is of another runtime
        LIMIT_EXCEEDED: not all blocks of a kernel fit on its device at the same time; the message names
            the rank, how many blocks fit, and how many were asked for
        NOT_SUPPORTED: a device has no cooperative launches, or a stream is resident; or a kernel
            launches graphs (module.h, gpo.stream_launch_kernel); or the launch would have to be held on
            a wrapped stream; or neither the driver nor `sizes` gives the sizes of the parameters
        WOULD_BLOCK, CAPTURE_REFUSED: as gpo.peers_submit
        """,
    }),
    ("peers_make_id", "status", {
        "offset": 1824, "header": "peers.h",
        "parameters": (
            ("buffer", "void *", {"hidden": True, "writes": True}),
            ("capacity", "size", {"hidden": True}),
            ("needed", "size *", {"result": True}),
        ),
        "says": """
        Makes an id for one group and writes it to `buffer`: PEERS_ID_BYTES bytes, which one process passes
        to the others by any means of its own. They are no secret of the others' user: files that are made
        by the id are readable to that user alone. `capacity`: bytes of the buffer. `needed`, which may be
        None, is set to PEERS_ID_BYTES.
        """,
        "raises": """
        BUFFER_TOO_SMALL: the buffer is smaller than that
        """,
    }),
    ("peers_join", "status", {
        "offset": 1832, "header": "peers.h",
        "parameters": (
            ("device", "Device"),
            ("options", "JoinOptions *"),
            ("peers", "Peers *", {"result": True, "made": True}),
        ),
        "says": """
        Joins a group with a device. All processes of the group call it; it blocks until all are there.

        By MPI: the library is loaded when it is first needed (Open MPI 4 or 5: libmpi.so.40; MPICH 4 and
        those that have its ABI: libmpi.so.12, libmpich.so.12; the environment's GPUORCH_MPI may name the
        file). If the program has initialised MPI, it has asked for MPI_THREAD_MULTIPLE, or it has got
        MPI_THREAD_SERIALIZED and makes no MPI call as long as such a group exists; and it finalises MPI
        after the group is destroyed. If it hasn't, the library initialises MPI, and finalises it at the
        exit of the process. MPI_Init waits for all processes of the job, whatever timeout_ns says.
        """,
        "raises": """
        INVALID_ARGUMENT: a field is wrong, or differs from what rank 0 has; `path` is a file of another
            kind, of another user, cut short, or one that others may write to; or its folder lets others
            put a file in its place (they may write there, and it isn't sticky as /tmp is)
        INVALID_STATE: this rank is there already; another group is joining by the same file; the
            program has finalised MPI, or has initialised it for fewer threads
        PEER_LOST: ranks were missing when the timeout passed, and the message names them; or a rank has
            died or given up
        NOT_SUPPORTED: MPI or NCCL is needed and can't be used, the message says what to install or set;
            or the runtime is deterministic; or the engine has to be NCCL, and a process has resident
            work on its device (stream.h)
        NOT_FOUND: the folder of the file doesn't exist
        IO_ERROR: a file can't be made, opened or mapped
        """,
    }),
    ("peers_abort", "status", {
        "offset": 1840, "header": "peers.h",
        "parameters": (
            ("peers", "Peers"),
        ),
        "says": """
        Breaks a group of several processes. Submitted collectives fail with CANCELLED here, and within a
        tenth of a second with PEER_LOST in the other processes.
        """,
        "raises": """
        NOT_SUPPORTED: the group is of one process: gpo.stream_cancel_held cancels its held collectives
        """,
    }),
    ("memory_export", "status", {
        "offset": 1848, "header": "interprocess.h",
        "parameters": (
            ("device", "Device"),
            ("address", "u64"),
            ("buffer", "void *", {"hidden": True, "writes": True}),
            ("capacity", "size", {"hidden": True}),
            ("needed", "size *", {"result": True}),
        ),
        "says": """
        Writes the bytes by which another process imports memory of gpo.memory_allocate. `address` is the
        start of an allocation. `buffer`, `capacity` and `needed` are as for strings (types.h), without a
        terminator. May be called repeatedly; the memory stays this process's.
        """,
        "raises": """
        INVALID_ARGUMENT: `address` is not the start of an allocation of this device (but inside an
            allocation, or of a pool, whose memory can't be exported), or the memory is imported
        INVALID_STATE: the memory belongs to a queue or a template. The message names its owner
        NOT_SUPPORTED: the system or the driver can't share memory between processes, or the runtime is
            deterministic
        """,
    }),
    ("memory_import", "status", {
        "offset": 1856, "header": "interprocess.h",
        "parameters": (
            ("device", "Device"),
            ("exported", "void *", {"length": "bytes"}),
            ("bytes", "size", {"optional": True}),
            ("label", "char *", {"optional": True}),
            ("address", "u64 *", {"result": True, "made": True}),
            ("size", "u64 *", {"result": True}),
        ),
        "says": """
        Maps memory that another process has exported: `exported`, of `bytes` bytes (EXPORT_BYTES). Writes
        the memory's address in this process and its size. The memory stays on its device, and `device` gets
        permanent access to it. gpo.memory_free ends the import, behind the device's work as with other
        memory. Until then the memory is reported at shutdown by `label` (may be None), like other memory.
        Memory that is imported twice may get the same address: each import has to be ended, and the first
        label is kept.

        Serialises the device (runtime.h).
        """,
        "raises": """
        INVALID_ARGUMENT: the bytes are not from gpo.memory_export, are damaged, or are of this process
            or of another driver (the message names that driver); or the memory was freed
        PEER_LOST: the process that exported the memory has ended. The message names the process
        NOT_SUPPORTED: the device can't reach the memory, this process doesn't see the memory's device,
            or the runtime is deterministic
        OUT_OF_MEMORY: there are too few addresses
        """,
    }),
    ("event_export", "status", {
        "offset": 1864, "header": "interprocess.h", "exposes": True,
        "parameters": (
            ("event", "Event"),
            ("buffer", "void *", {"hidden": True, "writes": True}),
            ("capacity", "size", {"hidden": True}),
            ("needed", "size *", {"result": True}),
        ),
        "says": """
        Writes the bytes by which another process imports an event that was made with EVENT_INTERPROCESS.
        The rest as for gpo.memory_export. The process destroys the event when the others have destroyed
        theirs.
        """,
        "raises": """
        INVALID_ARGUMENT: the event was made without EVENT_INTERPROCESS, or is imported itself
        """,
    }),
    ("event_import", "status", {
        "offset": 1872, "header": "interprocess.h",
        "parameters": (
            ("device", "Device"),
            ("exported", "void *", {"length": "bytes"}),
            ("bytes", "size", {"optional": True}),
            ("label", "char *", {"optional": True}),
            ("event", "Event *", {"result": True, "made": True}),
        ),
        "says": """
        Makes a handle for an event that another process has exported. This process records the event on
        streams of `device`; streams of all devices can wait for it. `label` may be None. Destroy the handle
        like any event's. Statuses as gpo.memory_import. Serialises the device (runtime.h).
        """,
    }),
    ("pipeline_get_share", "status", {
        "offset": 1880, "header": "pipeline.h",
        "parameters": (
            ("pipeline", "Pipeline"),
            ("device", "u32"),
            ("share", "PipelineShare *", {"result": True}),
        ),
        "says": """
        Reads a device's share of the work in the run that ended last. `device` is its place in
        gpo.PipelineOptions.devices; 0 for a pipeline of one device. Any thread may call it, also in a
        callback. Blocks on nothing.
        """,
        "raises": """
        INVALID_ARGUMENT: the pipeline hasn't so many devices
        INVALID_STATE: no run has ended
        """,
    }),
    ("admission_create", "status", {
        "offset": 1888, "header": "admission.h",
        "parameters": (
            ("runtime", "Runtime"),
            ("options", "AdmissionOptions *", {"optional": True}),
            ("admission", "Admission *", {"result": True, "made": True}),
        ),
        "says": """
        Creates an admission. `options` may be None: nothing is limited, until gpo.admission_set_budget.

        The watched pool is looked at on each of its allocations and frees. Destroying the pool's handle
        ends the watch.
        """,
        "raises": """
        INVALID_ARGUMENT: an option is out of range, or there are watermarks without a pool, or a pool
            without `high_bytes`
        INVALID_HANDLE: the pool is of another runtime
        """,
    }),
    ("admission_destroy", "status", {
        "offset": 1896, "header": "admission.h", "gives_back": 0,
        "parameters": (
            ("admission", "Admission", {"optional": True}),
        ),
        "says": """
        Destroys an admission. Waiting requests end with CANCELLED. Places that are held need not be given
        back any more. gpo.runtime_shutdown, too, ends all waiting requests with CANCELLED.
        """,
    }),
    ("admission_enter", "status", {
        "offset": 1904, "header": "admission.h",
        "parameters": (
            ("admission", "Admission"),
            ("request", "AdmissionRequest *", {"optional": True}),
            ("cq", "Cq"),
            ("user_data", "u64"),
            ("ticket", "u64 *", {"result": True}),
        ),
        "says": """
        Asks for a place. `request` may be None: one place, no bytes, flow 0. `cq` gets one entry with
        `user_data`, the origin ORIGIN_ADMISSION and the ticket in `operation`, perhaps before the call
        returns. Statuses of the entry: SUCCESS: the request was admitted, and holds its place until
        gpo.admission_leave or _leave_after TIMEOUT: its deadline passed first CANCELLED:
        gpo.admission_cancel, the admission or the queue was destroyed, or the runtime shuts down
        LIMIT_EXCEEDED: a budget was lowered below what the request asks for

        After a failure the ticket is invalid. `*ticket` is never 0.

        The call itself can fail, without an entry and without effect.
        """,
        "raises": """
        WOULD_BLOCK: the line has no room, or the queue is full
        TIMEOUT: the deadline has passed already
        LIMIT_EXCEEDED: the request asks for more than a whole budget, or 2^24 requests wait or hold
            places
        INVALID_ARGUMENT: there is no such priority
        """,
    }),
    ("admission_enter_then", "status", {
        "offset": 1912, "header": "admission.h", "takes_callbacks": True,
        "parameters": (
            ("admission", "Admission"),
            ("request", "AdmissionRequest *", {"optional": True}),
            ("executor", "Executor"),
            ("callback", "CompletionFn", {"called": "once", "stays_until": "it has been called"}),
            ("user", "void *", {"optional": True, "stays_until": "the callback has returned"}),
            ("ticket", "u64 *", {"result": True}),
        ),
        "says": """
        Like gpo.admission_enter, but calls `callback` on `executor` (executor.h) in place of an entry. If
        the executor is destroyed while the request waits, the callback gets CANCELLED and the request has
        left the line. `*ticket` is written before the callback can run. If the executor is destroyed during
        this call, `*ticket` may stay as it was.
        """,
        "raises": """
        WOULD_BLOCK: the line or the executor has no room; the callback is never called
        """,
    }),
    ("admission_cancel", "status", {
        "offset": 1920, "header": "admission.h",
        "parameters": (
            ("admission", "Admission"),
            ("ticket", "u64"),
        ),
        "says": """
        Takes a waiting request out of the line. Its entry has CANCELLED.
        """,
        "raises": """
        INVALID_STATE: the request was admitted: give its place back
        NOT_FOUND: no request with this ticket waits or holds a place
        """,
    }),
    ("admission_leave", "status", {
        "offset": 1928, "header": "admission.h",
        "parameters": (
            ("admission", "Admission"),
            ("ticket", "u64"),
        ),
        "says": """
        Gives a place back at once. Waiting requests that fit now are admitted before the call returns.
        """,
        "raises": """
        INVALID_STATE: the request still waits; or its place is being given back behind a stream
        NOT_FOUND: no request with this ticket waits or holds a place
        """,
    }),
    ("admission_leave_after", "status", {
        "offset": 1936, "header": "admission.h",
        "parameters": (
            ("admission", "Admission"),
            ("ticket", "u64"),
            ("stream", "Stream"),
        ),
        "says": """
        Gives a place back in stream order: when all work that is on the stream now has ended, also by a
        failure. The stream must be of the admission's runtime. A failed call has no effect: the place is
        still held.

        Statuses as gpo.admission_leave, and:
        """,
        "raises": """
        CAPTURE_REFUSED: the stream is in capture
        WOULD_BLOCK: the stream holds as many operations as it may
        """,
    }),
    ("admission_set_budget", "status", {
        "offset": 1944, "header": "admission.h",
        "parameters": (
            ("admission", "Admission"),
            ("count", "u64"),
            ("bytes", "u64"),
        ),
        "says": """
        Changes the budgets: `count` places and `bytes` bytes, UINT64_MAX: unlimited. A raised budget admits
        waiting requests before the call returns. A lowered budget takes effect as places come back. Waiting
        requests that ask for more than a lowered budget end with LIMIT_EXCEEDED: with a `count` of 0, all
        of them.
        """,
    }),
    ("admission_set_flow", "status", {
        "offset": 1952, "header": "admission.h",
        "parameters": (
            ("admission", "Admission"),
            ("flow", "u64"),
            ("weight", "u32"),
        ),
        "says": """
        Sets the weight of a flow, 1 to 2^16, from its next turn on. Flows have the weight 1 at first.
        """,
        "raises": """
        INVALID_ARGUMENT: `weight` is out of range
        LIMIT_EXCEEDED: 65536 flows have other weights than 1
        """,
    }),
    ("admission_get_info", "status", {
        "offset": 1960, "header": "admission.h",
        "parameters": (
            ("admission", "Admission"),
            ("info", "AdmissionInfo *", {"result": True}),
        ),
        "says": """
        Describes an admission at one moment.
        """,
    }),
    ("batcher_create", "status", {
        "offset": 1968, "header": "batcher.h",
        "parameters": (
            ("options", "BatcherOptions *"),
            ("batcher", "Batcher *", {"result": True, "made": True}),
        ),
        "says": """
        Creates a batcher without keys. If `executor` is destroyed, waiting requests end with CANCELLED,
        later submissions fail with CANCELLED, and batches that run are brought to their end by the library.
        """,
        "raises": """
        INVALID_ARGUMENT: an option is out of range, or a device comes twice
        INVALID_HANDLE: the devices and the executor are of different runtimes
        """,
    }),
    ("batcher_destroy", "status", {
        "offset": 1976, "header": "batcher.h", "gives_back": 0,
        "parameters": (
            ("batcher", "Batcher", {"optional": True}),
        ),
        "says": """
        Destroys a batcher. Waiting requests end with CANCELLED. Batches that run go on to their end, and
        their requests get their outcome. gpo.runtime_shutdown ends waiting requests so too, and waits for
        the batches.
        """,
    }),
    ("batcher_add_key", "status", {
        "offset": 1984, "header": "batcher.h", "takes_callbacks": True,
        "parameters": (
            ("batcher", "Batcher"),
            ("options", "BatcherKeyOptions *"),
            ("key", "u32 *", {"result": True}),
        ),
        "says": """
        Adds a key, and writes its number. Keys stay as long as the batcher. At most 256. `work` may be
        called until the last batch has ended: also after gpo.batcher_destroy, but not after
        gpo.runtime_shutdown. If this call fails, `release` isn't called.

        Buckets (buckets.h) get the batch's size, requests of rows or elements of ragged batches, and these
        settings: `input` and `output` (device addresses, 8 bytes), which their templates must have as
        parameters if the key has such bytes; and, if their templates have them, `offsets`, `made` (device
        addresses), `count` and `elements` (uint64_t: members of the batch and their elements). Callbacks
        that run a batch eagerly get all of them. The buckets must stay until the batcher is destroyed:
        without them, batches fail with STALE_HANDLE. Keys may share buckets. The batcher's streams don't
        wait for the warm-ups of gpo.buckets_prepare: wait for its stream before the first request, if
        buckets share memory. Between a batch's last element and the shape, input and output are what
        earlier batches have left there. `pad` of the buckets may write them. No request gets them.

        With `max_delay_ns` AUTO a lane that has nothing to do takes what is there. While a batch runs,
        requests wait for others until its measured time is nearly over, less the time that gathering and
        copying of the next takes: waiting longer would leave the GPU idle, and waiting less makes smaller
        batches.

        OUT_OF_MEMORY is the status of requests if there is no memory for a batch's buffers.
        """,
        "raises": """
        INVALID_ARGUMENT: an option is out of range; neither or both of `buckets` and `work`
        INVALID_HANDLE: buckets are of another device
        LIMIT_EXCEEDED: the batcher has 256 keys, or a batch would have more than 2^40 bytes
        """,
    }),
    ("batcher_submit", "status", {
        "offset": 1992, "header": "batcher.h",
        "parameters": (
            ("batcher", "Batcher"),
            ("request", "BatcherRequest *"),
            ("cq", "Cq"),
            ("user_data", "u64"),
            ("ticket", "u64 *", {"result": True}),
            ("wait_ns", "u64 *", {"result": True}),
        ),
        "says": """
        Submits a request. `cq` gets one entry with `user_data`, the origin ORIGIN_BATCHER and the ticket in
        `operation`, perhaps before the call returns. Statuses of the entry: SUCCESS: the output is written
        TIMEOUT: the deadline passed, or couldn't be met any more, before the request's batch was formed
        CANCELLED: gpo.batcher_cancel, the batcher or its executor was destroyed, or the runtime shuts down
        others: the failure of its batch; gpo.cq_get_error names the culprit

        `*ticket` is never 0.

        The call itself can fail, without an entry and without effect.
        """,
        "raises": """
        WOULD_BLOCK: as many requests wait as may, or the queue is full
        TIMEOUT: the deadline has passed, or can't be met. `*wait_ns` (None: not asked) gets the
            predicted time until the request would have been done, and a quarter of it as a margin; 0
            after any other result
        NOT_FOUND: there is no such key
        INVALID_ARGUMENT: `elements` is out of range; input or output is missing, given twice, or not of
            this device; device memory in a batcher of several devices
        DEVICE_LOST: the last device was lost
        """,
    }),
    ("batcher_submit_then", "status", {
        "offset": 2000, "header": "batcher.h", "takes_callbacks": True,
        "parameters": (
            ("batcher", "Batcher"),
            ("request", "BatcherRequest *"),
            ("executor", "Executor"),
            ("callback", "CompletionFn", {"called": "once", "stays_until": "it has been called"}),
            ("user", "void *", {"optional": True, "stays_until": "the callback has returned"}),
            ("ticket", "u64 *", {"result": True}),
            ("wait_ns", "u64 *", {"result": True}),
        ),
        "says": """
        Like gpo.batcher_submit, but calls `callback` on `executor` (executor.h) in place of an entry.
        `*ticket` is written before the callback can run. If the executor is destroyed, the callback gets
        CANCELLED at once. A request whose batch is not formed then leaves the line. A batch that was formed
        may still read the input and write the output, until gpo.batcher_get_info says that none runs.
        """,
        "raises": """
        WOULD_BLOCK: as many requests wait as may, or the executor is full; the callback is never called
        """,
    }),
    ("batcher_cancel", "status", {
        "offset": 2008, "header": "batcher.h",
        "parameters": (
            ("batcher", "Batcher"),
            ("ticket", "u64"),
        ),
        "says": """
        Takes a waiting request out of the line. Its entry has CANCELLED.
        """,
        "raises": """
        INVALID_STATE: its batch was formed
        NOT_FOUND: no request with this ticket waits or runs
        """,
    }),
    ("batcher_set_flow", "status", {
        "offset": 2016, "header": "batcher.h",
        "parameters": (
            ("batcher", "Batcher"),
            ("flow", "u64"),
            ("weight", "u32"),
        ),
        "says": """
        Sets the weight of a flow, 1 to 2^16, in all keys, from its next turn on. Flows have the weight 1 at
        first.
        """,
        "raises": """
        INVALID_ARGUMENT: `weight` is out of range
        LIMIT_EXCEEDED: 65536 flows have other weights than 1
        """,
    }),
    ("batcher_get_info", "status", {
        "offset": 2024, "header": "batcher.h",
        "parameters": (
            ("batcher", "Batcher"),
            ("info", "BatcherInfo *", {"result": True}),
        ),
        "says": """
        Describes a batcher, all of its keys together.
        """,
    }),
    ("batcher_get_key_info", "status", {
        "offset": 2032, "header": "batcher.h",
        "parameters": (
            ("batcher", "Batcher"),
            ("key", "u32"),
            ("info", "BatcherInfo *", {"result": True}),
        ),
        "says": """
        Describes a key.
        """,
        "raises": """
        NOT_FOUND: there is no such key
        """,
    }),
    ("batcher_get_flow_info", "status", {
        "offset": 2040, "header": "batcher.h",
        "parameters": (
            ("batcher", "Batcher"),
            ("flow", "u64"),
            ("info", "BatcherFlowInfo *", {"result": True}),
        ),
        "says": """
        Describes a flow. The figures of 4096 flows are kept: those that were seen least recently are
        forgotten.
        """,
        "raises": """
        NOT_FOUND: no figures of such a flow are kept, or there was no memory for them
        """,
    }),
    ("executor_post", "status", {
        "offset": 2048, "header": "executor.h", "takes_callbacks": True,
        "parameters": (
            ("executor", "Executor"),
            ("callback", "CompletionFn", {"called": "once", "stays_until": "it has been called"}),
            ("user", "void *", {"optional": True, "stays_until": "the callback has returned"}),
        ),
        "says": """
        Calls `callback` as soon as a thread runs the executor and is free, with SUCCESS and the origin
        ORIGIN_EXECUTOR. Never calls it inside this function, unless the executor is destroyed meanwhile and
        has no threads (gpo.executor_destroy). Callbacks begin in the order in which they were posted;
        several may run at the same time on different threads. Any thread may call this, also a callback,
        and a host node of a graph.
        """,
        "raises": """
        WOULD_BLOCK: the executor has no room; the callback is never called
        SHUT_DOWN: the runtime is shutting down
        """,
    }),
    ("executor_post_at", "status", {
        "offset": 2056, "header": "executor.h", "takes_callbacks": True,
        "parameters": (
            ("executor", "Executor"),
            ("time_ns", "u64"),
            ("callback", "CompletionFn", {"called": "once", "stays_until": "it has been called"}),
            ("user", "void *", {"optional": True, "stays_until": "the callback has returned"}),
            ("ticket", "u64 *", {"result": True}),
        ),
        "says": """
        Calls `callback` when it is `time_ns` of CLOCK_MONOTONIC (gpo.executor_get_time), at once if that
        has passed. UINT64_MAX: never; such a callback keeps gpo.executor_run inside until it is cancelled.
        `*ticket`, for gpo.executor_cancel, is written before the callback can run, and is never 0; `ticket`
        may be None. A callback may be late, because no thread is free or a thread wakes up late, but never
        early. With EXECUTOR_CALLER, times come inside the functions that run the executor.
        gpo.executor_destroy and gpo.runtime_shutdown don't wait for times: callbacks that still wait for
        one then get CANCELLED.
        """,
        "raises": """
        WOULD_BLOCK, SHUT_DOWN: as in gpo.executor_post
        """,
    }),
    ("executor_cancel", "status", {
        "offset": 2064, "header": "executor.h",
        "parameters": (
            ("executor", "Executor"),
            ("ticket", "u64"),
        ),
        "says": """
        Lets a callback that still waits for its time be called at once, with CANCELLED, as if it had been
        posted now.
        """,
        "raises": """
        NOT_FOUND: no callback with this ticket waits for a time: its time has come, or it was cancelled
        """,
    }),
    ("executor_get_time", "status", {
        "offset": 2072, "header": "executor.h",
        "parameters": (
            ("executor", "Executor"),
            ("time_ns", "u64 *", {"result": True}),
        ),
        "says": """
        The time now, by the clock of gpo.executor_post_at: CLOCK_MONOTONIC, and in deterministic mode
        (gpo.RuntimeOptions.schedule_seed) the virtual clock.
        """,
    }),
)
