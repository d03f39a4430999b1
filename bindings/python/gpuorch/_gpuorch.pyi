# The extension, of which gpuorch's modules are made. Made from abi.json by generate/generate.py.
from typing import Any

def __getattr__(name: str) -> Any: ...
