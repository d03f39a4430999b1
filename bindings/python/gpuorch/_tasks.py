"""Structs of ctypes in CUDA C++, and schedulers whose handlers know the structs of their tasks."""
from . import _calls

NUMBERS = {"c_bool": "bool", "c_float": "float", "c_double": "double", "c_char": "char", "c_void_p": "void *",
           "c_byte": "signed char", "c_ubyte": "unsigned char", "c_short": "short", "c_ushort": "unsigned short",
           "c_int": "int", "c_uint": "unsigned int", "c_long": "long", "c_ulong": "unsigned long",
           "c_longlong": "long long", "c_ulonglong": "unsigned long long"}

# NVRTC has no offsetof, but what its front end makes offsetof of. The software GPU's compiler has the builtin function.
OFFSET = """#if defined(__CUDACC_RTC__) && !defined(__GPUORCH_SOFT__)
#define GPUORCH_OFFSET(type, field) __INTADDR__(&static_cast<type *>(0)->field)
#else
#define GPUORCH_OFFSET(type, field) __builtin_offsetof(type, field)
#endif
"""


def declaration(struct):
    """The declaration of a class of ctypes.Structure in CUDA C++: for tasks of queues, and for structs that kernels get.
    A source in which the struct has another layout doesn't compile.

        class Node(ctypes.Structure):
            _fields_ = [("handler", ctypes.c_uint32), ("number", ctypes.c_uint32)]

        module = device.module_compile(gpuorch.declaration(Node) + source)

    TypeError: a field is neither a number, c_void_p, an array nor another struct."""
    declared = {}
    add_declaration(struct, declared)
    return in_front(declared)


def in_front(declared):
    return OFFSET + "".join(text for _, text in declared.values())


def add_declaration(struct, declared):
    """Adds (class, text) by the struct's name, behind those of the structs in it."""
    import ctypes
    if not isinstance(struct, type) or not issubclass(struct, ctypes.Structure):
        raise TypeError(f"a class of ctypes.Structure expected, not {struct!r}")
    name = struct.__name__
    if name in declared:
        if declared[name][0] is not struct:
            raise TypeError(f"two structs are named {name}")
        return
    members, right = [], [f"sizeof({name}) == {ctypes.sizeof(struct)}"]
    fields = [field for base in reversed(struct.__mro__) for field in vars(base).get("_fields_", ())]
    for field, kind, *bits in fields:
        counts = ""
        while issubclass(kind, ctypes.Array):
            kind, counts = kind._type_, f"{counts}[{kind._length_}]"
        if issubclass(kind, ctypes.Structure):
            add_declaration(kind, declared)
        elif bits or kind.__name__ not in NUMBERS:
            raise TypeError(f"{name}.{field}: a number, c_void_p, an array or a struct of ctypes expected")
        members.append(f"    {NUMBERS.get(kind.__name__, kind.__name__)} {field}{counts};\n")
        right.append(f"GPUORCH_OFFSET({name}, {field}) == {getattr(struct, field).offset}")
    declared[name] = struct, (f"struct {name} {{\n{''.join(members)}}};\n"
                              f'static_assert({" && ".join(right)}, "{name} is as in Python");\n')


class DeviceSchedulers:
    """Schedulers with handlers by name."""
    __slots__ = ()

    def scheduler(self, handlers, *, source=None, **options):
        if hasattr(handlers, "keys"):
            declared = {}
            for struct in handlers.values():
                if struct is not None:
                    add_declaration(struct, declared)
            if declared and source is not None:
                source = in_front(declared) + "#line 1\n" + source
        handlers = [{"name": one} if isinstance(one, str) else one for one in handlers]
        return super().scheduler(handlers, **options, source=source)
    scheduler.__doc__ = """A scheduler, which stays on the GPU and calls a handler for each task of a queue. A task begins
        with four bytes, the number of its handler.

        `handlers`: the names of device functions, in the order of their numbers. Or by name the struct of the handler's
        tasks, a class of ctypes.Structure, which is declared in front of the source:

            class Node(ctypes.Structure):
                _fields_ = [("handler", ctypes.c_uint32), ("number", ctypes.c_uint32), ("rest", ctypes.c_uint64)]

            scheduler = device.scheduler({"visit": Node}, queue=ring, form=gpuorch.SCHEDULER_RESIDENT, source='''
                __device__ int visit(gpo::task_context &at, const Node &node) { ... }''')
            scheduler.start()
            ring.push(stream, Node(0, 7))

        Or, with SCHEDULER_GRAPHS, options.Handler(graphs=[...], task_memory=array).

        """ + _calls.DeviceCalls.scheduler.__doc__.replace(": a list of options.Handler", ": see above")
