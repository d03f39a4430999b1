"""Keeps every engine of a GPU busy: kernels, arrays without copies, pipelines, graphs, and futures of GPU work.

    import gpuorch

    with gpuorch.Runtime() as runtime, runtime.device_open() as device, device.stream_create() as stream:
        module = device.module_compile('extern "C" __global__ void halve(float *x, unsigned n) {'
                                       '    unsigned i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] /= 2; }')
        x = device.memory_allocate("f32", 1024)
        launch = module.kernel("halve")[4, 256, stream]
        launch(x, 1024)
        stream.wait()

The classes of objects, and what makes their objects:

    Runtime          gpuorch.Runtime(), from which all others are made
    Device           runtime.device_open()
    of a runtime     Timeline, CompletionQueue, Executor, Admission, Batcher, Peers: runtime.timeline_create() and so on
    of a device      Stream, StreamPool, Event, Arena, Pool, Module, Pipeline, Template, Buckets, Queue, Scheduler
    of these         Kernel: module.kernel(); Graph: template.graph(); Symmetric: peers.allocate()
    Array            device.memory_allocate(), arena.allocate(), pool.allocate(), template.allocate()

help(gpuorch.Stream) lists the methods of streams. Their names are those of C's functions: gpo_stream_wait is Stream.wait.
Options are keyword arguments, and constants lie here (gpuorch.STREAM_LEARNS). gpuorch.options has the structs that methods
take, and gpuorch.records those that methods return. Failures are exceptions: gpuorch.Error, and a class for each status.
Objects close with close(), at the end of `with`, and when they are collected. Where a description names a header, as in
"(stream.h)", that header of the C library says more.

The library is opened when it is first used. The file is the first of these: the file that GPUORCH_LIBRARY names, a library
that the process has loaded already, the package's own, the system's. gpuorch.library() has its path and version."""
import atexit as _atexit

from . import _constants, _errors, _gpuorch, _objects, records
from ._array import Array, from_dlpack
from ._calls import (
    advise_trace, last_compile_log, last_error, peers_make_id, status_name, status_text, version)
from ._constants import *  # noqa: F403
from ._errors import (
    BufferTooSmall, CallbackFailed, Cancelled, CaptureRefused, CompileFailed, DeviceLost, DriverError, End, Error,
    Failed, Forked, Internal, InvalidArgument, InvalidHandle, InvalidImage, InvalidState, IoError, LimitExceeded,
    NoCompiler, NoDevice, NotFound, NotReady, NotSupported, OutOfMemory, PeerLost, ShutDown, StaleHandle, Timeout,
    WouldBlock, WouldDeadlock)
from ._gpuorch import Handle, library
from ._objects import (
    Admission, Arena, Batcher, Buckets, CompletionQueue, Device, Event, Executor, Graph, Kernel, Module, Peers,
    Pipeline, Pool, Queue, Runtime, Scheduler, Stream, StreamPool, Symmetric, Template, Timeline)
from ._tasks import declaration

__version__ = "0.1.0"
__all__ = [
    "Array", "Handle", "advise_trace", "declaration", "from_dlpack", "last_compile_log", "last_error", "library",
    "options", "peers_make_id", "records",
    "status_name", "status_text", "version", *_errors.__all__, *_objects.__all__,
    *(name for name in vars(_constants) if name.isupper())]

_atexit.register(_gpuorch.end)


def __getattr__(name):
    """The module options is imported when it is first used."""
    if name == "options":
        from importlib import import_module
        return import_module(".options", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
