#!/usr/bin/env python3
"""Lua's samples beside the main job, the README's examples, the rock and the types."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
SOURCE = ROOT / "bindings/lua"
sys.path.append(str(ROOT / "tests/support"))
import machine

LIBRARY = pathlib.Path(os.environ["GPUORCH_BUILD"]).resolve() / "libgpuorch/libgpuorch.so.0.1"
RADIUS = 6


def report(name, got, right, more=""):
    print(f"PASS {name}" if got == right else f"{more}\nFAIL {name}: {got!r} in place of {right!r}", flush=True)


def module(folder, lua):
    subprocess.run(["make", "-s", "-C", SOURCE, f"LUA={lua}", f"OUT={folder}/{lua}"], check=True)


def run(folder, lua, *arguments, **more):
    environment = {**os.environ, "GPUORCH_LIBRARY": str(LIBRARY), "GPUORCH_DEVICE": "soft",
                   "LUA_PATH": f"{SOURCE}/lua/?.lua;;", "LUA_CPATH": f"{folder}/{lua}/?.so;;", **more}
    return subprocess.run([lua, *arguments], env=environment, cwd=folder, capture_output=True, text=True, timeout=120)


def blurred(width, height, pixels):
    """What the sample's kernel computes: weights that fall off linearly, along rows and columns; edges repeat."""
    def pass_(values, stride, count, rest):
        out = list(values)
        for start in rest:
            line = [values[start + i * stride] for i in range(count)]
            for i in range(count):
                out[start + i * stride] = sum(line[min(max(i + k, 0), count - 1)] * (RADIUS + 1 - abs(k))
                                              for k in range(-RADIUS, RADIUS + 1))
        return out
    rows = pass_(pixels, 3, width, [y * width * 3 + c for y in range(height) for c in range(3)])
    both = pass_(rows, width * 3, height, [x * 3 + c for x in range(width) for c in range(3)])
    return bytes(int(value / (RADIUS + 1) ** 4 + 0.5) for value in both)


def image(folder, lua):
    width, height = 37, 29  # no multiples of a block
    pixels = bytes((x * 7 + y * 13 + c * 50) % 256 for y in range(height) for x in range(width) for c in range(3))
    (folder / "in.ppm").write_bytes(b"P6\n# a comment\n%d %d\n255\n" % (width, height) + pixels)
    result = run(folder, lua, ROOT / "samples/lua/image_blur.lua", "in.ppm", "out.ppm")
    after, row = blurred(width, height, pixels), width * 3
    right = b"P6\n%d %d\n255\n" % (2 * width, height) + b"".join(
        picture[y * row:(y + 1) * row] for y in range(height) for picture in (pixels, after))
    report(f"{lua}: image_blur.lua writes the picture before and after", (result.returncode, (folder / "out.ppm").exists() and
           (folder / "out.ppm").read_bytes() == right), (0, True), result.stdout + result.stderr)
    (folder / "cut.ppm").write_bytes((folder / "in.ppm").read_bytes()[:-1])
    for name, words in (("cut.ppm", "pixels are missing"), ("none.ppm", "none.ppm")):
        result = run(folder, lua, ROOT / "samples/lua/image_blur.lua", name, "bad.ppm")
        report(f"{lua}: image_blur.lua says what is wrong with {name}", (result.returncode, words in result.stderr), (1, True), result.stderr)
    result = run(folder, lua, ROOT / "samples/lua/image_blur.lua")
    report(f"{lua}: image_blur.lua draws a picture where it is given none", (result.returncode, result.stderr), (0, ""), result.stderr)


def first(folder, lua):
    result = run(folder, lua, ROOT / "samples/lua/first.lua")
    report(f"{lua}: first.lua computes", (result.returncode, result.stdout, result.stderr), (0, "x[1000] is 500\n", ""))
    result = run(folder, lua, ROOT / "samples/lua/first.lua", GPUORCH_DEVICE="nonsense")
    report(f"{lua}: first.lua says what failed", (result.returncode, "nonsense" in result.stderr, "x[1000]" in result.stdout),
           (1, True, False), result.stderr)


def decided(folder, lua):
    result = run(folder, lua, ROOT / "samples/lua/decode_loop.lua")
    ended, limited = "graph goes on until it makes the end .", "host" + 10 * " waits and" + " (the limit)"
    right = "".join(f"{way}: {ended}\n    8 tokens, {calls(8)} host calls\n{way}: {limited}\n    20 tokens, {calls(20)} host calls\n"
                    f"    {calls(1) - calls(0)} host calls per further token\n"
                    for way, calls in (("by the graph", lambda tokens: 2), ("by the host", lambda tokens: 1 + 3 * tokens)))
    report(f"{lua}: decode_loop.lua makes the same by the graph, without the host", (result.returncode, result.stdout, result.stderr),
           (0, right, ""))


def lengths():
    long = {path.name: lines for path in (ROOT / "samples/lua").glob("*.lua") if (lines := path.read_text().count("\n")) >= 80}
    report("Lua's samples have under 80 lines", long, {})


def examples(folder, lua):
    """Each ```lua block of the README by itself; a comment `--> text` is what the line before it prints."""
    for number, code in enumerate(re.findall(r"^```lua\n(.*?)^```", (SOURCE / "README.md").read_text(), re.M | re.S), 1):
        (folder / "example.lua").write_text(code)
        printed = "".join(f"{text}\n" for text in re.findall(r"--> (.*)", code))
        result = run(folder, lua, "example.lua")
        report(f"{lua}: example {number} of the README runs", (result.returncode, result.stdout, result.stderr), (0, printed, ""))


def rock(folder):
    """`luarocks make` with nothing to download; the module is then found where a user's Lua looks for it. With --full for the
    oldest Lua, too."""
    newest = (machine.lua() or "lua5.4").removeprefix("lua")
    for version in sorted({"5.1", newest} if "--full" in sys.argv else {newest}):
        name = f"luarocks make for Lua {version} installs a module that loads"
        if why_not := "luarocks isn't installed" if not shutil.which("luarocks") else machine.lua_lacks(f"lua{version}"):
            print(f"SKIP {name}: {why_not}")
            continue
        tree = folder / f"tree{version}"
        build = folder / f"rock{version}"
        shutil.copytree(SOURCE, build)
        made = subprocess.run(["luarocks", f"--lua-version={version}", "--tree", tree, "make", "--deps-mode=none",
                               f"GPUORCH_INCDIR={ROOT}/libgpuorch/include"], cwd=build, capture_output=True, text=True, timeout=240,
                              env={**os.environ, "http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9"})
        script = 'require "gpuorch.loop" print(require "gpuorch".version())'
        found = subprocess.run([f"lua{version}", "-e", script], capture_output=True, text=True, cwd=folder, env={
            **os.environ, "GPUORCH_LIBRARY": str(LIBRARY), "LUA_PATH": f"{tree}/share/lua/{version}/?.lua;;",
            "LUA_CPATH": f"{tree}/lib/lua/{version}/?.so;;"})
        report(name, (made.returncode, found.stdout, found.stderr),
               (0, "100\n", ""), made.stdout + made.stderr)
        where = subprocess.run(["luarocks", f"--lua-version={version}", "--tree", tree, "show", "--rock-dir", "gpuorch"],
                               capture_output=True, text=True, env={**os.environ, "HOME": str(folder)}).stdout.strip()
        wrong = [path.name for path in (SOURCE / "types").glob("*.lua") if where == "" or
                 not (installed := pathlib.Path(where) / "types" / path.name).exists() or installed.read_text() != path.read_text()]
        report(f"the rock for Lua {version} has the types where luarocks says that it is", wrong, [], f"{where} {made.stdout}")


def bound():
    """What the C sources bind: "gpuorch.f" for functions, "class:m" for methods."""
    text = "".join(path.read_text() for path in (SOURCE / "src").glob("*.c"))
    sets = {name: re.findall(r'\{"(\w+)", \w+\}', body)
            for name, body in re.findall(r"luaL_Reg (\w+)\[\] = \{(.*?)\{NULL, NULL\}", text, re.S)}
    found = {f"gpuorch.{name}" for part in ("functions", "status_functions", "gpuorch_calls") for name in sets[part]}
    for name, methods in re.findall(r'\{"(\w+)", sizeof\(\w+\), (\w+_(?:calls|methods)), destroy', text):
        found |= {f"{name}:{method}" for method in sets[methods]}
    found |= {f"address:{method}" for method in sets["address_methods"]}
    awaited = re.findall(r"methods\.(\w+)\.await", text)
    return found | {f"{name}:await" for name in awaited} | {f"gpuorch.{name}" for name in ("adopt", "add_probe", "coroutine_failed")}


def types(lua):
    """Every function and method has one type, and every type is of a function or method that there is."""
    have, files = bound(), sorted((SOURCE / "types").glob("*.lua"))
    typed = [name for path in files for name in re.findall(r"^function ([\w.:]+)\(", path.read_text(), re.M)
             if name not in {f"object:{name}" for name in ("close", "error", "label", "set_label")}]
    report(f"{lua}: the types are those of what the module has", (sorted(have - set(typed)), sorted(set(typed) - have)), ([], []))
    fields = [f"{name}.{field}" for path in files for name, members in
              re.findall(r"^---@class (gpuorch\.\w+).*\n((?:---.*\n)*)", path.read_text(), re.M)
              for field in re.findall(r"^---@field (\w+)", members, re.M)]
    report(f"{lua}: no field has two types", sorted(name for name in set(fields) if fields.count(name) > 1), [])
    report(f"{lua}: no function has two types", sorted(name for name in set(typed) if typed.count(name) > 1), [])
    for path in files:
        code = subprocess.run([lua, "-e", f"assert(loadfile '{path}')"], capture_output=True, text=True)
        report(f"{lua}: types/{path.name} is Lua", (code.returncode, code.stderr), (0, ""))


def main():
    with tempfile.TemporaryDirectory() as path:
        folder = pathlib.Path(path)
        lengths()
        newest = machine.lua()
        for lua in (newest or "lua5.4", *(["luajit"] if "--full" in sys.argv else [])):
            if why_not := machine.lua_lacks(lua):
                print(f"SKIP {lua}: {why_not}")
                continue
            module(folder, lua)
            first(folder, lua)
            image(folder, lua)
            decided(folder, lua)
            examples(folder, lua)
            types(lua)
        rock(folder)


main()
