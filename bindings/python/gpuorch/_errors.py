"""The failures of the library as exceptions: a class for each status."""
from . import _gpuorch


class Error(Exception):
    """A call that failed, or work that did.

    status        the number: error.status == gpuorch.NOT_FOUND
    name          its name: "NOT_FOUND"
    message       a sentence about the cause
    function      the function of C's that failed: "gpo_fill"
    object        the object to blame, with its label: "stream `upload`"
    native_code   the number of the driver's or the system's error, or 0

    Each status has a class of its own: `except gpuorch.NotFound`. Any call may raise InvalidArgument, InvalidHandle and
    StaleHandle, OutOfMemory, DeviceLost, Forked and ShutDown. Arguments that Python can't pass raise TypeError, ValueError
    or OverflowError."""
    STATUS = 0

    def __init__(self, status=None, message="", function="", object="", native_code=0):
        self.status = type(self).STATUS if status is None else status
        self.message, self.function, self.object, self.native_code = message, function, object, native_code
        where = ", ".join(word for word in (function, object) if word)
        super().__init__(f"{message} ({where})" if message and where else message or where or self.name)

    @property
    def name(self):
        """The name of the status, as in C without GPO_."""
        return NAMES.get(self.status, f"status {self.status}")

    def __reduce__(self):
        return type(self), (self.status, self.message, self.function, self.object, self.native_code), self.__dict__


class NotReady(Error):
    """The work that was asked about is not done yet."""
    STATUS = 1


class Timeout(Error, TimeoutError):
    """The timeout passed before the result was there."""
    STATUS = 2


class WouldBlock(Error):
    """A bounded queue is full: take entries out, then try again."""
    STATUS = 3


class End(Error):
    """Returned by a source callback: there is no more data."""
    STATUS = 4


class InvalidArgument(Error):
    """A value out of range, None for a needed pointer, or an unknown flag."""
    STATUS = 10


class InvalidHandle(Error):
    """A handle that is None, random, of another type, or of an unknown runtime."""
    STATUS = 11


class StaleHandle(Error):
    """A handle of an object that has been destroyed."""
    STATUS = 12


class InvalidState(Error):
    """The object is in a state that forbids the call: the message names it."""
    STATUS = 13


class NotSupported(Error):
    """Not supported by this device, driver or kind of object."""
    STATUS = 14


class NotFound(Error):
    """There is no kernel, symbol or file of that name."""
    STATUS = 15


class WouldDeadlock(Error):
    """A wait inside a callback, for that callback; or a call inside a host node."""
    STATUS = 16


class BufferTooSmall(Error):
    """The caller's buffer is too small: needed has the size."""
    STATUS = 17


class CaptureRefused(Error):
    """Not possible with a stream in capture, or an event recorded on one."""
    STATUS = 18


class OutOfMemory(Error, MemoryError):
    """Host, pinned or device memory: the message says which."""
    STATUS = 30


class LimitExceeded(Error):
    """A limit that the caller or the system (threads, descriptors) has set."""
    STATUS = 31


class NoDevice(Error):
    """No usable driver, or no such device: the message says why."""
    STATUS = 32


class NoCompiler(Error):
    """No NVRTC, or no C++ compiler for the software GPU: the message says which were tried."""
    STATUS = 33


class CompileFailed(Error):
    """The kernel source has errors: gpuorch.last_compile_log() has the compiler's text."""
    STATUS = 34


class InvalidImage(Error):
    """The image is cut short, not an image, or for another device."""
    STATUS = 35


class IoError(Error):
    """A file or pipe failed: native_code is the errno."""
    STATUS = 36


class Cancelled(Error):
    """On request, or because an object that was needed was destroyed or shut down."""
    STATUS = 50


class Failed(Error):
    """The caller failed a timeline or host call so, or signals a failed timeline."""
    STATUS = 51


class CallbackFailed(Error):
    """A callback of the caller returned an error or threw."""
    STATUS = 52


class DeviceLost(Error):
    """A kernel crashed or the context was destroyed: all devices of that driver are lost."""
    STATUS = 70


class Forked(Error):
    """The process was forked after the library's first call: fork earlier, or exec."""
    STATUS = 71


class ShutDown(Error):
    """The runtime has shut down or is shutting down."""
    STATUS = 72


class PeerLost(Error):
    """Another process has died, left its group, hangs or can't go on: the message names it."""
    STATUS = 73


class DriverError(Error):
    """Another error of the driver: native_code is the CUresult."""
    STATUS = 80


class Internal(Error):
    """A defect of the library: please report the message."""
    STATUS = 81


def _register():
    """The classes by status. Their module is gpuorch, where pickles and tracebacks look for them."""
    names = {}
    _gpuorch.register_error(0, Error)
    Error.__module__ = "gpuorch"
    for kind in Error.__subclasses__():
        words = "".join("_" + letter if letter.isupper() else letter for letter in kind.__name__)
        names[kind.STATUS] = words[1:].upper()
        kind.__module__ = "gpuorch"
        _gpuorch.register_error(kind.STATUS, kind)
    return names


NAMES = _register()
__all__ = ["Error", *(kind.__name__ for kind in Error.__subclasses__())]
