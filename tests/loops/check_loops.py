#!/usr/bin/env python3
"""Completions reach every kind of event loop: programs written as their users would, each of which drives 10,000
completions from four streams through a loop and checks that each comes once and in order (epoll:
process/epoll_loop.cpp, Asio as it is here: process/asio_loop.cpp, asio_operations.cpp and asio_executor.cpp). asyncio's
always; with --full those of other loops, and gpuorch/asio.hpp and gpuorch/asio/executor.hpp with each Asio that they are
for, as C++17 and as C++20, by GCC and by Clang, and with the first of them as C++23 and header by header."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.append(str(HERE.parent / "support"))
import machine

BUILD = pathlib.Path(os.environ.get("GPUORCH_BUILD", ROOT / "build" / "tests"))
DEPS = pathlib.Path(os.environ.get("GPUORCH_DEPS", ROOT / "build" / "deps"))
LIBRARY = pathlib.Path(os.environ.get("GPUORCH_LIBRARY", BUILD / "libgpuorch" / "libgpuorch.so"))
INCLUDE = ROOT / "libgpuorch" / "include"
COMMON = ["-O1", "-Wall", "-Wextra", "-Werror", "-pthread", "-I", INCLUDE]
LINK = ["-L", LIBRARY.parent, "-lgpuorch", f"-Wl,-rpath,$ORIGIN/../lib:{LIBRARY.parent}"]
BESIDE = DEPS / "boost" / "usr" / "include"           # where .ci/setup unpacked what the library is built with, beside another
OLDER = DEPS / "boost-older" / "usr" / "include"      # and an older one's headers


def report(name, result, also=(), last="10000 completions"):
    missing = [line for line in (last, *also) if line not in result.stdout.splitlines()]
    if result.returncode == 0 and not missing:
        print(f"PASS {name}")
    else:
        print(f"FAIL {name}: exit code {result.returncode}{', without ' + missing[0] if missing else ''}")
        print(result.stdout, result.stderr)


def run(command, **settings):
    try:
        return subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=300, **settings)
    except subprocess.TimeoutExpired as expired:
        return subprocess.CompletedProcess(command, -1, (expired.stdout or b"").decode(), "it ran into its time limit")


def build(name, file, source, folder, compiler, libraries=(), also=(), **last):
    """One program, beside which a line of programs.json says what it is."""
    built = run([*compiler, *COMMON, HERE / source, "-o", folder / file, *LINK, *libraries])
    if built.returncode != 0:
        print(f"FAIL {name}: it does not compile")
        print(built.stderr[:4000])
        return
    note(folder, name, file, also, **last)


def note(folder, name, file, also=(), last="10000 completions"):
    with (folder / "programs.json").open("a") as programs:
        programs.write(json.dumps([name, file, list(also), last]) + "\n")


def found(header, *flags):
    return run(["c++", *flags, "-x", "c++", "-E", "-o", os.devnull, "-"], input=f"#include <{header}>\n").returncode == 0


def versions(*flags):
    """Of Boost and of its Asio, as the compiler finds them."""
    source = "#include <boost/version.hpp>\n#include <boost/asio/version.hpp>\n= BOOST_VERSION BOOST_ASIO_VERSION\n"
    numbers = re.findall(r"^= (\d+) (\d+)$", run(["c++", *flags, "-x", "c++", "-E", "-P", "-"], input=source).stdout, re.M)
    if not numbers:
        return None, None
    boost, asio = map(int, numbers[0])
    return f"Boost {boost // 100000}.{boost // 100 % 1000}", f"Asio {asio // 100000}.{asio // 100 % 1000}"


def programs_of_asio(folder, name, file, compiler, also):
    build(name, file, "asio.cpp", folder, compiler, also=also)
    build(f"the operations of {name}", f"{file}_operations", "asio_operations.cpp", folder, compiler, last="all operations")
    build(f"the executor of {name}", f"{file}_executor", "asio_executor.cpp", folder, compiler, last="one of Asio's executors")


def compiles(name, *command):
    """That there is no warning. Nothing is built."""
    result = run([*command, *COMMON, "-fsyntax-only"])
    if result.returncode == 0:
        print(f"PASS {name}")
    else:
        print(f"FAIL {name}: it does not compile")
        print(result.stderr[:4000])


def as_it_is_read(kind, flags, sources):
    """What need not run: the programs as C++23, and each header alone."""
    for by, compiler in (("", "c++"), (" with Clang", machine.clang())):
        if not compiler:
            print(f"SKIP C++23 and asio's headers one by one with {kind}{by}: there is no Clang from 14 here")
            continue
        for source in sources:
            compiles(f"{source.name} with {kind} as C++23{by}", compiler, "-std=c++2b", *flags, source)
        for header in sorted((INCLUDE / "gpuorch/asio").glob("*.hpp")):
            compiles(f"asio/{header.name} alone with {kind}{by}", compiler, "-std=c++17", *flags, "-Wpedantic",
                     "-include", header, "-x", "c++", os.devnull)


def asio(folder):
    full = "--full" in sys.argv
    beside, older = (["-isystem", place] if place.is_dir() else [] for place in (BESIDE, OLDER))
    (boost, its_asio), (old_boost, old_asio) = versions(*beside), versions(*older)
    kinds = [(boost or "Boost", beside, its_asio, boost),
             (old_boost if older else "a Boost from 1.74 to 1.80", older, old_asio, older and old_boost),
             ("standalone Asio", ["-DGPUORCH_ASIO_STANDALONE"], None, found("asio/version.hpp"))]
    for kind, flags, version, there in kinds:
        for standard in ("17", "20"):
            name = f"asio.hpp with {kind} as C++{standard}"
            if not there:
                print(f"SKIP {name}: it is not here (.ci/setup gets it where the distribution has it)")
                continue
            also = [line for line in (version, "with co_await" if standard == "20" else None) if line]
            file = f"asio_{kind.split()[-1]}_{standard}"
            programs_of_asio(folder, name, file, ["c++", f"-std=c++{standard}", *flags], also)
            if full and not machine.clang():
                print(f"SKIP {name} with Clang: there is no Clang from 14 here")
            elif full:
                # Asio 1.18 and 1.22 take no coroutines of Clang 14's: all but those is there.
                lines = [line for line in also if kind == boost or line == version]
                programs_of_asio(folder, f"{name} with Clang", f"{file}_clang", [machine.clang(), f"-std=c++{standard}", *flags], lines)
    if full and boost:
        sources = [*sorted(HERE.glob("asio*.cpp")), ROOT / "samples/cpp/asio_server.cpp"]
        as_it_is_read(boost, beside, sources)


def go(folder):
    name = "Go's poller, through dlopen"
    if not shutil.which("go"):
        print(f"SKIP {name}: there is no Go here (.ci/setup installs it)")
        return
    environment = {**os.environ, "CGO_ENABLED": "1", "CGO_CFLAGS": f"-I{ROOT / 'libgpuorch' / 'include'}",
                   "GOFLAGS": "-mod=mod", "GOTOOLCHAIN": "local", "GOPROXY": "off"}
    environment.setdefault("GOCACHE", str(BUILD / "go-cache"))
    built = run(["go", "build", "-o", folder / "go_loop", "."], cwd=HERE / "go", env=environment)
    if built.returncode != 0:
        print(f"FAIL {name}: it does not compile")
        print(built.stderr)
        return
    note(folder, name, "go_loop")


def build_all(folder):
    if found("uv.h"):
        # Static: another machine may not have it. The file's name differs from release to release.
        static = run(["pkg-config", "--libs", "libuv-static"]).stdout.split() or ["-luv"]
        build("libuv", "libuv", "uv.cpp", folder, ["c++", "-std=c++17"], [*static, "-ldl"])
    else:
        print("SKIP libuv: uv.h is not here (.ci/setup installs libuv1-dev)")
    go(folder)
    asio(folder)


def run_all(folder):
    report("asyncio, through dlopen", run([sys.executable, HERE / "loop_asyncio.py", LIBRARY]))
    for line in (folder / "programs.json").read_text().splitlines():
        name, file, also, last = json.loads(line)
        report(name, run([folder / file, LIBRARY]), also, last)


def main():
    """Alone: asyncio, which needs nothing built. --full: builds and runs all. --build FOLDER, --run FOLDER: one of the two."""
    if "--build" in sys.argv or "--run" in sys.argv:
        step, folder = sys.argv[-2:]
        (build_all if step == "--build" else run_all)(pathlib.Path(folder))
        return
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "programs.json").touch()
        if "--full" in sys.argv:
            build_all(pathlib.Path(folder))
        run_all(pathlib.Path(folder))


main()
