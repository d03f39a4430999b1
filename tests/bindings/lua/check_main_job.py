#!/usr/bin/env python3
"""The main job in Lua 5.4 and, where it is installed, LuaJIT: what every main job must meet (../main_job.py)."""
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(HERE.parent))
import main_job


def prepare_for(lua):
    def prepare(folder):
        """The sample as it lies in the tree, and the module. A shell that ignores SIGPIPE starts it, as samples/run does."""
        subprocess.run(["make", "-s", "-C", ROOT / "bindings/lua", f"LUA={lua}", f"OUT={folder}/module"], check=True)
        (folder / "samples/lua").mkdir(parents=True)
        shutil.copy(ROOT / "samples/lua/stream_files.lua", folder / "samples/lua")
        shutil.copy(ROOT / "samples/stream_files.cu", folder / "samples")
        os.environ["LUA_CPATH"] = f"{folder}/module/?.so;;"
        return ["/bin/sh", "-c", "trap '' PIPE; exec \"$@\"", "sh", lua, folder / "samples/lua/stream_files.lua"]
    return prepare


main_job.check("Lua 5.4", prepare_for("lua5.4"))
if shutil.which("luajit"):
    main_job.check("LuaJIT", prepare_for("luajit"))
else:
    print("SKIP LuaJIT: it isn't installed")
