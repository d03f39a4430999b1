"""The types of the structs that methods return: `from gpuorch.records import StreamInfo`. Each is a tuple
whose elements have names.

Made from abi.json by generate/generate.py.
"""
from ._gpuorch import record_type as _record_type


def __getattr__(name):
    try:
        return _record_type(name)
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
