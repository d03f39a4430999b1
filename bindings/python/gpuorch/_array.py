"""Arrays: memory of arenas, devices, pools and templates; memory of other libraries; streams for other libraries."""
from . import _gpuorch


class Array(_gpuorch.Memory):
    """Typed memory of the library's, one-dimensional.

    An array on the host (arena.allocate) is pinned: kernels reach it at the same address. An array on the host has elements,
    slices and the buffer protocol: array.numpy() and numpy.asarray(array) share its memory. An array of device memory
    (device.memory_allocate, pool.allocate) has an address and slices; its elements are copied to the host first. A slice
    shares the memory of its array. Other libraries take arrays on CUDA devices by __dlpack__, __cuda_array_interface__ or
    DLPack's C functions (__dlpack_c_exchange_api__). The C functions make the legacy default stream wait for the work of
    this package's that uses the array. torch takes arrays on the host by torch.frombuffer().

    free(), `with` and collection free the memory behind all work of this package's that uses it; work of other libraries has
    to be done. Memory is never freed while numpy arrays, memoryviews or tensors share it: free() raises BufferError, and
    `with` frees the memory after the last of them has ended."""
    __slots__ = ()


_gpuorch._register_array(Array)


class ArenaArrays:
    """The arrays that an arena allocates."""
    __slots__ = ()

    def allocate(self, dtype, count, alignment=0):
        """An array of `count` elements on the host, pinned. `dtype`: "f32", "u8" and so on, a letter of the module struct,
        or a dtype of numpy. `alignment`: bytes, a power of two up to 1 MiB; 0: 256.

        LimitExceeded: the arena would exceed `max_bytes`. OutOfMemory: the driver has no more pinned memory."""
        return _gpuorch._arena_array(self, dtype, count, alignment)

    def free(self, array):
        """array.free()."""
        array.free()

    def free_after(self, array, stream):
        """Frees the array behind all work that `stream` has now."""
        array.free(stream)


class DeviceArrays:
    """Memory that a device allocates and pins."""
    __slots__ = ()

    def memory_allocate(self, dtype, count, label=None):
        """An array of `count` elements of device memory, for memory that lives long: pools are faster. `dtype`: "f32", "u8"
        and so on, a letter of the module struct, or a dtype of numpy.

        OutOfMemory: the device has no more memory."""
        return _gpuorch._device_array(self, dtype, count, label)

    def memory_free(self, array):
        """array.free(), or the same for the address of memory that no array stands for."""
        if isinstance(array, Array):
            array.free()
        else:
            _gpuorch.memory_free(self, array)

    def memory_import(self, dtype, exported, label=None):
        """An array of device memory of another process, from the bytes that memory_export() gave there. Freeing the array
        ends the use of the memory here; the other process owns it.

        ValueError: the memory is no whole number of elements."""
        return _gpuorch._imported_array(self, dtype, exported, label)

    def host_register(self, buffer, flags=0):
        """Pins the memory of a buffer (a numpy array, a bytearray, an mmap), so that copies run while other work does, and
        kernels reach it. The buffer is kept until close() of what is returned, or the end of `with`. `flags`:
        REGISTER_READ_ONLY: the GPU only reads. Takes about 0.1 ms for each MiB.

            with device.host_register(array):
                stream.copy_to_device(memory, array)
                stream.wait()

        ValueError: the buffer isn't contiguous. BufferError: it is read-only, without the flag. InvalidState: it is
        registered already."""
        return _gpuorch._host_register(self, buffer, flags)


class PoolArrays:
    """The arrays that a pool allocates."""
    __slots__ = ()

    def allocate(self, stream, dtype, count):
        """An array of `count` elements of device memory. Later work on `stream` may use it; other streams have to wait for
        `stream` first. `dtype`: "f32", "u8" and so on, a letter of the module struct, or a dtype of numpy.

        LimitExceeded: the pool would exceed `max_bytes`. CaptureRefused: the stream is in capture."""
        return _gpuorch._pool_array(self, stream, dtype, count)

    def free(self, stream, array):
        """Frees the array behind all work that `stream` has now."""
        array.free(stream)


class TemplateArrays:
    """The arrays that a template allocates. The memory lives as long as the template and its graphs."""
    __slots__ = ()

    def allocate(self, dtype, count):
        """An array of `count` elements of device memory."""
        return _gpuorch._template_array(self, dtype, count, False)

    def allocate_host(self, dtype, count):
        """An array of `count` elements of pinned memory on the host."""
        return _gpuorch._template_array(self, dtype, count, True)


class StreamForOthers:
    """A stream in other libraries. On a CUDA device only: on the software GPU the attribute doesn't exist."""
    __slots__ = ()

    @property
    def __cuda_stream__(self):
        """The protocol of cuda.core: torch and CuPy take the stream by it. Keep the stream open, since they don't."""
        native = _gpuorch._native_stream(self)
        return lambda: (0, native)


class DeviceStreams:
    """Streams of other libraries."""
    __slots__ = ()

    def stream_wrap(self, native, **options):
        """A stream object for a stream of another library. `native`: an object with __cuda_stream__ (cuda.core,
        torch.cuda.Stream, CuPy's), which is kept; the address of a CUstream, which has to exist until its last work is
        done; or None for the legacy default stream. `label` is the only option."""
        stream = super().stream_wrap(native_stream(native), **options)
        stream._wrapped = native
        return stream


def native_stream(stream):
    """The address of the CUstream of an object of another library's."""
    if stream is None or isinstance(stream, int):
        return stream
    if hasattr(stream, "__cuda_stream__"):
        return stream.__cuda_stream__()[1]
    for name in ("cuda_stream", "ptr"):  # older versions of torch and of CuPy
        if isinstance(getattr(stream, name, None), int):
            return getattr(stream, name)
    raise TypeError("native: a stream with __cuda_stream__ or the address of a CUstream expected, "
                    f"not {type(stream).__name__}")


def from_dlpack(x, stream=None):
    """An array that shares the memory of a tensor of another library (torch, CuPy, JAX, numpy). The tensor is kept, and
    has to be contiguous. The array has one dimension.

    `stream`: the stream of this package that will use the memory, and that waits for the other library's work. Memory on a
    device needs a stream; memory of the host has none.

    BufferError: the tensor is read-only, or its elements have a type that arrays don't have."""
    if not hasattr(x, "__dlpack_device__"):
        raise TypeError(f"x: an object with __dlpack__ expected, not {type(x).__name__}")
    kind, _ = x.__dlpack_device__()
    if kind in (1, 3):  # memory of the host
        return _gpuorch._from_dlpack(x, 0)
    if stream is None:
        raise TypeError("stream: memory on a device needs the stream that will use it")
    return _gpuorch._from_dlpack(x, _gpuorch._native_stream(stream))
