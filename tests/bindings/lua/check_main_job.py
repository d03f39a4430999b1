#!/usr/bin/env python3
"""The main job in the newest Lua and, where it is installed, LuaJIT: what every main job must meet (../main_job.py)."""
import os
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import main_job
import machine  # tests/support, to which main_job leads
from main_job import built


def interpreter_for(lua, folder):
    """The module in folder/module, and what starts the interpreter: of a bundle, the one beside it and what it needs."""
    if built.BUNDLE:
        shutil.copytree(built.BUNDLE / lua, folder / "module")
        return ["env", f"LD_LIBRARY_PATH={built.library_path(folder, folder / 'module')}", folder / "module" / lua]
    subprocess.run(["make", "-s", "-C", built.ROOT / "bindings/lua", f"LUA={lua}", f"OUT={folder}/module"], check=True)
    return [lua]


def prepare_for(lua):
    def prepare(folder):
        """The sample as it lies in the tree, and the module. A shell that ignores SIGPIPE starts it, as samples/run does."""
        interpreter = interpreter_for(lua, folder)
        (folder / "samples/lua").mkdir(parents=True)
        for name in ("stream_files.lua", "command_line.lua"):
            shutil.copy(built.ROOT / "samples/lua" / name, folder / "samples/lua")
        shutil.copy(built.ROOT / "samples/stream_files.cu", folder / "samples")
        os.environ["LUA_CPATH"] = f"{folder}/module/?.so;;"
        return ["/bin/sh", "-c", "trap '' PIPE; exec \"$@\"", "sh", *interpreter, folder / "samples/lua/stream_files.lua"]
    return prepare


newest = "lua5.4" if built.BUNDLE else machine.lua()
if newest:
    main_job.check(newest.replace("lua", "Lua "), prepare_for(newest))
else:
    print("SKIP Lua: there is none with its headers")
if built.BUNDLE or "--full" in sys.argv:
    why_not = None if built.BUNDLE else machine.lua_lacks("luajit")
    if why_not:
        print(f"SKIP LuaJIT: {why_not}")
    else:
        main_job.check("LuaJIT", prepare_for("luajit"))
