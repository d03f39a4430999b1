"""Kernels: their signatures, plans of launches, and launches."""
import re

from . import _gpuorch

TYPES = {
    "i8": "char|signed char|int8_t", "u8": "unsigned char|uint8_t", "i16": "short|short int|signed short|int16_t",
    "u16": "unsigned short|unsigned short int|uint16_t|ushort", "i32": "int|signed|signed int|int32_t",
    "u32": "unsigned|unsigned int|uint32_t|uint", "f16": "half|__half", "f32": "float", "f64": "double", "bool": "bool",
    "i64": "long|long int|long long|long long int|signed long|signed long long|int64_t|ptrdiff_t|ssize_t",
    "u64": "unsigned long|unsigned long int|unsigned long long|unsigned long long int|uint64_t|size_t|uintptr_t",
    "range": "gpo::range", "ring": "gpo::ring", "host_ring": "gpo::host_ring"}
NAMES = {name: letters for letters, names in TYPES.items() for name in names.split("|")}
QUALIFIERS = r"\b(?:const|volatile|__restrict__|__restrict|restrict|__grid_constant__)\b|\bstd\s*::"
COMMENTS = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
BUILTIN = {  # of device.module_load_builtin()
    "gpo_fill_u32": "ptr u32 u64", "gpo_copy_u32": "ptr ptr u64", "gpo_scale_add_f32": "ptr ptr f32 u64",
    "gpo_add_f32": "ptr ptr ptr u64", "gpo_histogram_u8": "ptr ptr u64", "gpo_reduce_add_f32": "ptr ptr u64"}


def split(text):
    """The parts between the commas that are in no brackets."""
    parts, depth, start = [], 0, 0
    for at, letter in enumerate(text):
        depth += (letter in "(<[{") - (letter in ")>]}")
        if letter == "," and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    return [part.strip() for part in parts + [text[start:]] if part.strip()]


def parameters_of(source, name):
    """The text between the brackets of a kernel's declaration, or None: there is none, or it is a template."""
    source = COMMENTS.sub(lambda found: found[0] if found[0][0] == '"' else " ", source)
    found = re.search(r"__global__\b[^;{}()]*(?:\([^()]*\)[^;{}()]*)*?\b" + re.escape(name) + r"\s*\(", source)
    if not found:
        return None
    depth, at = 1, found.end()
    while depth and at < len(source):
        depth += (source[at] == "(") - (source[at] == ")")
        at += 1
    before = source[:found.start()].rstrip()
    return None if depth or before.endswith(">") else source[found.end():at - 1]


def read_parameter(text, kernel):
    """(type, name) of a parameter: "u32", "n"."""
    text = text.partition("=")[0].strip()
    name = re.search(r"(\w+)\s*(?:\[\s*\w*\s*\])?$", text)
    plain = " ".join(re.sub(QUALIFIERS, " ", text).split())
    called = name[1] if name and plain not in NAMES else ""
    if "*" in text or "[" in text:
        return "ptr", called
    kind = plain.removesuffix(called).strip() if called else plain
    if kind not in NAMES:
        raise ValueError(f"kernel `{kernel}`: the parameter `{text}` needs a signature, \"bytes:N\" for a struct: "
                         f"module.kernel(\"{kernel}\", \"...\")")
    return NAMES[kind], called


def signature_of(source, kernel):
    """("u32 f32 ptr", ("n", "a", "x")) of a kernel in a source; ValueError: it can't be read."""
    text = parameters_of(source, kernel)
    if text is None:
        raise ValueError(f"kernel `{kernel}`: the source has no such declaration that can be read: give the signature, "
                         f"as in module.kernel(\"{kernel}\", \"u32 f32 ptr\")")
    read = [read_parameter(one, kernel) for one in split(text) if one != "void"]
    names = tuple(name for _, name in read)
    return " ".join(kind for kind, _ in read), names if all(names) else None


class DeviceModules:
    """Modules that know their source."""
    __slots__ = ()

    def module_compile(self, source, **options):
        """Compiles CUDA C++ for the device, or takes the result from the cache on disk. The module remembers its source,
        from which module.kernel(name) reads the types of parameters.

        file_name           name of the source in the compiler's messages
        options             of the compiler, as NVRTC spells them: ["-DN=4", "--std=c++17"]
        name_expressions    template kernels to instantiate: ["scale<float>"]
        headers             headers that the source may include: {"name.h": text}
        flags               COMPILE_NO_CACHE, COMPILE_DYNAMIC_PARALLELISM
        label               the module's name

        CompileFailed: the source has errors; gpuorch.last_compile_log() has the whole text. NoCompiler: there is none. Takes
        milliseconds to seconds."""
        module = _gpuorch.module_compile(self, {**options, "source": source})
        module.source = source
        return module

    def module_load_builtin(self):
        """The module of built-in kernels, which need no compiler: gpo_fill_u32, gpo_copy_u32, gpo_scale_add_f32,
        gpo_add_f32, gpo_histogram_u8, gpo_reduce_add_f32. All loop over n, so any grid and block will do."""
        module = _gpuorch.module_load_builtin(self)
        module.signatures = BUILTIN
        return module


class ModuleKernels:
    """Kernels of a module."""
    __slots__ = ()
    source = None      # what module_compile() was given
    signatures = {}    # of kernels whose source isn't known

    def kernel(self, name, signature=None):
        """A kernel of the module. `signature`: the types of its parameters, in order: u8 i8 u16 i16 u32 i32 u64 i64 f16 f32
        f64 bool, ptr (memory), bytes:N (a struct), range ring host_ring (queues). Without one the types are read from the
        source of module_compile(), where they are plain types and pointers.

            kernel = module.kernel("saxpy", "u32 f32 ptr ptr")
            launch = kernel[grid, block, stream]
            launch(n, 2.0, x, y)

        ValueError: the signature doesn't fit the kernel, or can't be read. NotFound: there is no such kernel."""
        kernel = _gpuorch.module_get_kernel(self, name)
        names = None
        try:
            if signature is None:
                signature = self.signatures.get(name)
            if signature is None:
                if self.source is None:
                    raise ValueError(f"kernel `{name}`: the module has no source: give the signature, as in "
                                     f"module.kernel(\"{name}\", \"u32 f32 ptr\")")
                signature, names = signature_of(self.source, name)
            kernel._signature = _gpuorch._signature(kernel, name, signature, names)
        except BaseException:
            kernel.close()
            raise
        return kernel


class KernelPlans:
    """Launches of a kernel."""
    __slots__ = ()

    @property
    def signature(self):
        """The types of the parameters: "u32 f32 ptr"."""
        return str(self._signature)

    def __getitem__(self, shape):
        """kernel[grid, block, stream] launches the kernel in this shape: see plan()."""
        if not isinstance(shape, tuple) or len(shape) != 3:
            raise TypeError("kernel[grid, block, stream] expected")
        return _gpuorch._plan(self, self._signature, *shape, None, None, 0, 0, None)

    def plan(self, grid, block, stream, *, cluster=None, priority=None, dynamic_shared_bytes=0, flags=0, label=None):
        """A function that launches the kernel: launch(n, a, x, y). Keep it for launches that are repeated: a call packs the
        arguments and calls the library, nothing else.

        grid, block, cluster   blocks of the launch, threads of a block, blocks of a cluster: an int, or one to three ints
        stream                 a stream of the kernel's device
        priority               of this launch, in place of its stream's
        dynamic_shared_bytes   dynamic shared memory of a block
        flags                  LAUNCH_COOPERATIVE: all blocks run at the same time
        label                  the operation's name in errors and traces, in place of the kernel's

        Arguments: an int or a float as the signature says (OverflowError: a number doesn't fit). For ptr: an Array, an
        address, None (NULL), or an object with __cuda_array_interface__ or __dlpack__ (torch, CuPy). For bytes:N: a buffer
        of N bytes (bytes, a struct of ctypes). For a queue: a Queue. Arrays of other libraries have to exist until the
        kernel has run, and their streams have to be ordered with this one; gpuorch.from_dlpack(x, stream) orders them."""
        return _gpuorch._plan(self, self._signature, grid, block, stream, cluster, priority, dynamic_shared_bytes, flags,
                              label)


class StreamLaunches:
    """Launches on a stream."""
    __slots__ = ()

    def launch_kernel(self, kernel, grid, block, *arguments, **options):
        """Launches a kernel once: kernel.plan(grid, block, stream, **options)(*arguments)."""
        if not isinstance(kernel, KernelPlans):
            raise TypeError(f"kernel: a Kernel expected, not {type(kernel).__name__}")
        kernel.plan(grid, block, self, **options)(*arguments)
