"""The page of environment variables, from the list that gpuorch-info prints."""
import re

import c_headers
from comments import inline

LIST = c_headers.ROOT / "libgpuorch/src/base/environment.h"


def variables():
    """[(name, what it means), …]"""
    return re.findall(r'\bX\((GPUORCH_\w+),\s*"((?:[^"\\]|\\.)*)"\)', LIST.read_text())


def lines():
    found = ["Environment variables", "=====================", "",
             "The library reads these variables, and ignores all of them in set-uid programs. ``gpuorch-info`` prints the",
             "list with the values that are set.", ""]
    for name, meaning in variables():
        found += [f".. envvar:: {name}", "", f"   {inline(meaning)}", ""]
    return found
