#!/usr/bin/env python3
"""Installs the library into an empty prefix, moves it, and builds programs against it as a user would: through
pkg-config and through find_package, in C and in C++."""
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.append(str(ROOT / "tests/support"))
import machine

BUILD = pathlib.Path(os.environ["GPUORCH_BUILD"])


def run(name, *command, **settings):
    """A step; the first that fails is told and ends the script."""
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True, **settings)
    if result.returncode != 0:
        print(result.stdout, result.stderr)
        print(f"FAIL {name}: {pathlib.Path(str(command[0])).name} ended with exit code {result.returncode}")
        raise SystemExit(0)
    return result.stdout


def benchmarks_on_first_use(folder):
    """GPUORCH_BENCH=FIRST_USE, configured in folder/FIRST_USE."""
    name = "with GPUORCH_BENCH=FIRST_USE a build has no benchmark, and the target gpuorch_bench has all"
    build, prefix, tools = folder / "FIRST_USE", folder / "first use", folder / "tools"
    whole, bench = (run(name, "ninja", "-C", build, "-t", "commands", target) for target in ("all", "gpuorch_bench"))
    missing = [path.stem for path in (ROOT / "tests/bench").glob("*.cpp") if f"gpuorch_bench_{path.stem}" not in bench]
    print(f"PASS {name}" if "gpuorch_bench" not in whole and not missing else f"FAIL {name}: not {missing}, or one in {whole}")

    name = "gpuorch-bench lists its rows before its programs are built"
    installed = prefix / "libexec/gpuorch/bench"
    (prefix / "bin").mkdir(parents=True)
    installed.mkdir(parents=True)
    shutil.copy(ROOT / "tests/bench/run", prefix / "bin/gpuorch-bench")
    shutil.copy(ROOT / "tests/bench/rows.txt", installed)
    (installed / "build_folder").write_text((build / "tests/bench/build_folder").read_text())
    tools.mkdir()
    programs = " ".join(f"gpuorch_bench_{path.stem}" for path in (ROOT / "tests/bench").glob("*.cpp"))
    # The programs made by this cmake write their names, and no row.
    (tools / "cmake").write_text(f"""#!/bin/sh
echo "$*" >>'{tools}/asked'
case $* in *--component*) for program in {programs}; do
    cat >'{installed}'/$program <<END
#!/bin/sh
while [ "\\$1" != --json ]; do shift; done
echo '{{"machine": {{"program": "$program"}}, "seed": 1, "rows": []}}' >"\\$2"
END
    chmod +x '{installed}'/$program
done ;; esac
""")
    (tools / "cmake").chmod(0o755)
    environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"}
    ask = [sys.executable, prefix / "bin/gpuorch-bench", "--out", folder / "results of none", "launch"]
    listed = subprocess.run([*ask[:2], "--list"], env=environment, capture_output=True, text=True)
    right = listed.returncode == 0 and re.search(r"^launch +\S", listed.stdout, re.M) and not (tools / "asked").exists()
    print(f"PASS {name}" if right else f"FAIL {name}: {listed}")

    name = "gpuorch-bench has its programs built and installed where it lies, each time that it measures, and says so the first time"
    first, second = (subprocess.run(ask, env=environment, capture_output=True, text=True) for _ in range(2))
    steps = [f"--build {build} --target all gpuorch_bench", f"--install {build} --prefix {prefix}",
             f"--install {build} --prefix {prefix} --component bench"]
    asked = (tools / "asked").read_text().splitlines() if (tools / "asked").exists() else []
    right = (asked == 2 * steps and first.stdout == second.stdout and "- program: gpuorch_bench_submit\n" in first.stdout and
             "building the benchmarks" in first.stderr and second.stderr == "")
    print(f"PASS {name}" if right else f"FAIL {name}: {asked}, {first}, {second}")

    name = "without the folder it measures with the programs that it has, or says what is missing"
    shutil.rmtree(build)
    third = subprocess.run(ask, env=environment, capture_output=True, text=True)
    for program in programs.split():
        (prefix / "libexec/gpuorch/bench" / program).unlink()
    fourth = subprocess.run(ask, env=environment, capture_output=True, text=True)
    right = third.stdout == first.stdout and fourth.returncode == 1 and f"{build}, which is gone" in fourth.stderr
    print(f"PASS {name}" if right else f"FAIL {name}: {third}, {fourth}")


def without_soft(folder, full):
    """GPUORCH_SOFT=OFF: the library without the software GPU."""
    name = "a build without the software GPU has no tests, and says so"
    build = folder / "without soft"
    configure = ["cmake", "-S", ROOT, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Testing", "-DGPUORCH_SOFT=OFF", "-DGPUORCH_BENCH=OFF",
                 "-DGPUORCH_STATIC=ON"]
    if "GPUORCH_DEPS" in os.environ:
        configure.append(f"-DGPUORCH_DEPS={os.environ['GPUORCH_DEPS']}")
    if shutil.which("ccache"):
        configure += ["-DCMAKE_C_COMPILER_LAUNCHER=ccache", "-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"]
    refused = subprocess.run([str(part) for part in configure], capture_output=True, text=True)
    right = refused.returncode != 0 and "The tests need the software GPU" in refused.stderr
    print(f"PASS {name}" if right else f"FAIL {name}: {refused}")

    name = "without the software GPU nothing of it and of Boost.Context is built"
    run(name, *configure, "-DGPUORCH_TESTS=OFF")
    built = run(name, "ninja", "-C", build, "-t", "commands", "all") + "".join(
        path.read_text() for path in build.rglob("unity_*.cxx"))   # what the files are made of that are compiled
    wrong = [word for word in ("src/softgpu/", "softgpu_headers", "libboost_context") if word in built]
    wrong += [f"no {word}" for word in ("src/driver/without_soft.cpp", "src/driver/cuda_driver.cpp") if word not in built]
    print(f"FAIL {name}: there is {wrong}" if wrong else f"PASS {name}")

    if not full:   # to build it takes minutes
        return
    name = "without the software GPU the library loads, and says that it has none"
    run(name, "cmake", "--build", build)
    plain = {key: value for key, value in os.environ.items() if key not in ("LD_LIBRARY_PATH", "GPUORCH_DEVICE")}
    told = run(name, build / "libgpuorch/gpuorch-info", env=plain)
    wanted = [r"driver soft\n  not usable: the software GPU can't be used: this library was built without it \(GPUORCH_SOFT=OFF\)"]
    if "driver cuda\n  usable" not in told:
        wanted.append(r"a runtime with no options has no device: CUDA can't be used: ")
    lacking = [words for words in wanted if not re.search(words, told)]
    print(f"FAIL {name}: it doesn't say {lacking}, but {told}" if lacking else f"PASS {name}")
    static(folder, build)


def static(folder, build):
    """The archive of a build with GPUORCH_STATIC, in a program in C that needs no shared library of ours."""
    name = "programs in C link libgpuorch.a by pkg-config and by CMake, and run where the shared library isn't"
    prefix = folder / "static"
    run(name, "cmake", "--install", build, "--prefix", prefix)
    package = next(prefix.rglob("gpuorch.pc")).parent
    flags = shlex.split(run(name, "pkg-config", "--static", "--cflags", "--libs", "gpuorch", env={**os.environ, "PKG_CONFIG_PATH": str(package)}))
    flags = ["-l:libgpuorch.a" if flag == "-lgpuorch" else flag for flag in flags]
    run(name, "cc", "-std=c11", HERE / "consumer/consumer.c", "-o", folder / "by_pkg_config", *flags)
    project = folder / "static project"
    project.mkdir()
    (project / "CMakeLists.txt").write_text(f"""cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES C)
find_package(gpuorch REQUIRED)
add_executable(by_cmake "{HERE}/consumer/consumer.c")
target_link_libraries(by_cmake PRIVATE gpuorch::gpuorch_static)
""")
    run(name, "cmake", "-S", project, "-B", project / "build", "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}")
    run(name, "cmake", "--build", project / "build")
    for library in prefix.rglob("libgpuorch.so*"):
        library.unlink()
    said = [(run(name, program).strip(), "libgpuorch" in run(name, "ldd", program))
            for program in (folder / "by_pkg_config", project / "build/by_cmake")]
    version = run(name, ROOT / "libgpuorch/release/version").strip()
    print(f"PASS {name}" if said == 2 * [(version, False)] else f"FAIL {name}: {said}")


def benchmarks(folder, prefix, environment):
    """The installed ones."""
    name = "gpuorch-bench measures a row, and writes a table and JSON"
    run(name, prefix / "bin" / "gpuorch-bench", "--device", "soft", "--quick", "--pairs", "2", "--out",
        folder / "results", "launch", "pin", env=environment)
    rows = [row["name"] for row in json.loads((folder / "results" / "bench.json").read_text())["rows"]]
    listed = (folder / "results" / "bench.md").read_text()
    said = (sorted(rows), all(f"`{row}`" in listed for row in rows))
    print(f"PASS {name}" if said == (["launch", "pin"], True) else f"FAIL {name}: {said}")

    name = "gpuorch-bench knows the rows of every program"
    listed = run(name, prefix / "bin" / "gpuorch-bench", "--device", "soft", "--list", env=environment).splitlines()
    programs = [path for path in (prefix / "libexec/gpuorch/bench").glob("gpuorch_bench_*") if path.suffix != ".so"]
    silent = [path.name for path in programs
              if not set(run(name, path, "--list", env={**environment, "GPUORCH_DEVICE": "soft"}).splitlines()).issubset(listed)]
    print(f"PASS {name}" if programs and not silent else f"FAIL {name}: not those of {silent}")


def another_minor_version(folder, program, library, version):
    """`program` is linked with `library`."""
    name = "a program does not start with a library of another minor version"
    symbols = run(name, "readelf", "-dW", "--version-info", library)
    soname = re.search(r"soname: \[(.*?)\]", symbols).group(1)
    node = re.search(r"Name: (GPUORCH_\S+)", symbols).group(1)
    major, minor, _ = version.split(".")
    wanted = (f"libgpuorch.so.{major}.{minor}", f"GPUORCH_{major}.{minor}") if major == "0" else (f"libgpuorch.so.{major}", f"GPUORCH_{major}")
    other, next_node = (text.replace(f"{major}.{minor}", f"{major}.{int(minor) + 1}") for text in wanted)
    functions = (ROOT / "libgpuorch/src/abi/functions.txt").read_text().split()
    (folder / "next.c").write_text("".join(f"int {function}(void) {{ return 0; }}\n" for function in [*functions, "gpo_get_api"]))
    (folder / "next.map").write_text(f"{next_node} {{ global: gpo_*; local: *; }};\n")
    (folder / "next").mkdir()
    (folder / "renamed").mkdir()
    run(name, "cc", "-shared", "-fPIC", "-fno-builtin", "-w", f"-Wl,-soname,{other},--version-script,{folder / 'next.map'}",
        "-o", folder / "next" / other, folder / "next.c")
    shutil.copy(folder / "next" / other, folder / "renamed" / soname)
    said = [subprocess.run([program], env={**os.environ, "LD_LIBRARY_PATH": str(folder / place)}, capture_output=True, text=True)
            for place in ("next", "renamed")]
    right = ((soname, node) == wanted and all(one.returncode for one in said) and f"{soname}: cannot open" in said[0].stderr and
             f"version `{node}' not found" in said[1].stderr)
    print(f"PASS {name}" if right else f"FAIL {name}: {soname}, {node}, {said}")


def main():
    version = run("there is a version", ROOT / "libgpuorch/release/version").strip()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        name = "the library installs"
        run(name, "cmake", "--install", BUILD, "--prefix", folder / "first")
        prefix = (folder / "first").rename(folder / "moved")
        libraries = [path.parent for path in prefix.rglob("libgpuorch.so")]
        have = {str(path.relative_to(prefix / "include")) for path in (prefix / "include").rglob("*") if path.is_file()}
        want = {str(path.relative_to(ROOT / "libgpuorch/include"))
                for path in (ROOT / "libgpuorch/include").rglob("*") if path.is_file()}
        print(f"PASS {name}" if have == want and len(libraries) == 1 else f"FAIL {name}: headers {have ^ want}")

        name = "the ABI as data is installed beside it"
        there = [path.read_bytes() for path in prefix.glob("share/gpuorch/abi.json")]
        print(f"PASS {name}" if there == [(ROOT / "libgpuorch/abi.json").read_bytes()] else f"FAIL {name}: it isn't")

        name = "the modules for Python and Lua, and Lua's types, are installed where those look, and alone by their components"
        languages = {"python": {"share/gpuorch/python/gpuorch.py": ROOT / "bindings/python/ctypes/gpuorch.py"},
                     "lua": {**{f"share/gpuorch/lua/types/{path.name}": path for path in (ROOT / "bindings/lua/types").iterdir()},
                             **{f"share/lua/5.{version}/gpuorch/{path.name}": path
                                for version in (1, 2, 3, 4) for path in (ROOT / "bindings/lua/lua/gpuorch").iterdir()}}}
        wrong = [place for files in languages.values() for place, source in files.items()
                 if not (prefix / place).exists() or (prefix / place).read_bytes() != source.read_bytes()]
        for component, files in languages.items():
            run(name, "cmake", "--install", BUILD, "--prefix", folder / component, "--component", component)
            alone = {str(path.relative_to(folder / component)) for path in (folder / component).rglob("*") if path.is_file()}
            wrong += sorted(alone ^ set(files))
        print(f"FAIL {name}: {wrong}" if wrong else f"PASS {name}")

        name = "the installed Python module finds the installed library"
        told = run(name, sys.executable, "-I", "-c", f"import sys; sys.path.append({str(prefix / 'share/gpuorch/python')!r}); import gpuorch; "
                   "print(gpuorch.Library().version())",
                   env={**os.environ, "LD_LIBRARY_PATH": str(libraries[0])}, cwd=folder).split()
        print(f"PASS {name}" if told == ["100"] else f"FAIL {name}: it says {told}")

        name = "gpuorch-info finds its library where it was moved, and tells of drivers, devices and settings"
        plain = {key: value for key, value in os.environ.items() if key != "LD_LIBRARY_PATH"}
        told = run(name, prefix / "bin" / "gpuorch-info", env={**plain, "GPUORCH_SOFT_DEVICES": "2"})
        wanted = [rf"libgpuorch {version}\n", r"driver cuda\n  (usable, of CUDA \d+\.\d+, \d+ devices?|not usable: .{10,})\n",
                  r"driver soft\n  usable, of CUDA \d+\.\d+, 2 devices\n  device 0: gpuorch software GPU\n",
                  r"device 1: gpuorch software GPU\n", r"multiprocessors +[1-9]\d*, \d+ MHz\n", r"memory +[1-9][\d.]* [GT]iB\n",
                  r"limit: stack of a thread +[\d.]+ [KM]iB\n", r"limit: printf buffer +[\d.]+ [KM]iB\n",
                  r"limit: heap of kernels +[\d.]+ [KM]iB\n", r"compiler of kernels +(GCC|Clang) [1-9]\d*\.\d+\n",
                  r"NVML +the software GPU has no NVML\n", r"topology: .*\n +0 +1\n +0 +- +\w+, rank \d+\n +1 +\w+, rank \d+ +-\n",
                  r'GPUORCH_SOFT_DEVICES = "2"\n', r"GPUORCH_LOG is not set\n"]
        lacking = [words for words in wanted if not re.search(words, told)]
        print(f"FAIL {name}: it doesn't say {lacking}, but {told}" if lacking else f"PASS {name}")

        name = "gpuorch-info tells programs the same"
        odd = 'a"\\'
        told = json.loads(run(name, prefix / "bin" / "gpuorch-info", "--json",
                              env={**plain, "GPUORCH_SOFT_DEVICES": "2", "GPUORCH_LOG": odd}))
        cuda, soft = told["drivers"]
        device = soft["devices"][1]
        right = (cuda["usable"] == (cuda["reason"] is None), soft["usable"], len(soft["devices"]) == 2, device["limits"]["stack_bytes"] >= 1024,
                 device["compute_capability"] == [9, 0], device["now"]["power_mw"] is None, soft["topology"][0][0] is None,
                 soft["topology"][0][1]["accessible"], told["environment"]["GPUORCH_LOG"] == odd, told["environment"]["GPUORCH_TRACE"] is None)
        print(f"PASS {name}" if all(right) else f"FAIL {name}: {right} of {told}")

        name = "gpuorch-info says why a driver or a compiler can't be used"
        broken = folder / "broken" / "libcuda.so.1"
        broken.parent.mkdir()
        broken.write_text("no library")
        told = run(name, prefix / "bin" / "gpuorch-info",
                   env={**plain, "LD_LIBRARY_PATH": str(broken.parent), "GPUORCH_DEVICE": "any", "GPUORCH_CXX": "/nowhere/c++"})
        wanted = [rf"a runtime with no options has no device: CUDA can't be used: .*{broken}", rf"driver cuda\n  not usable: .*{broken}",
                  r"compiler of kernels +none can be used: .*/nowhere/c\+\+"]
        lacking = [words for words in wanted if not re.search(words, told)]
        print(f"FAIL {name}: it doesn't say {lacking}, but {told}" if lacking else f"PASS {name}")

        name = "gpuorch-advise reads a trace, and names the line of one that is none"
        trace, none = folder / "trace.json", folder / "none.json"
        trace.write_text('[\n{"ph":"M","name":"process_name","pid":1,"tid":0,"args":{"name":"host: program"}},\n'
                         '{"ph":"X","name":"blur","cat":"gpu","pid":100,"tid":1,"ts":1.000,"dur":2.000,'
                         '"args":{"engine":"kernel","operation":1}},\n]\n')
        none.write_text("[\n{}\n]\n")
        told = run(name, prefix / "bin" / "gpuorch-advise", trace, env=plain)
        refused = subprocess.run([prefix / "bin" / "gpuorch-advise", none], env=plain, capture_output=True, text=True)
        lacking = [words for words in (r"trace of program: 3.00 us", r"GPU 0: 2.00 us .* most of it kernels", r"1\. leave it: ")
                   if not re.search(words, told)]
        if refused.returncode != 1 or "none.json, line 2: this is no trace" not in refused.stderr:
            lacking.append(f"why it refuses one: {refused.returncode}, {refused.stderr}")
        print(f"FAIL {name}: it doesn't say {lacking}, but {told}" if lacking else f"PASS {name}")

        name = "a build without tests, as the README has it, has gpuorch-bench, and one without that hasn't"
        programs = {"gpuorch-bench", *(f"gpuorch_bench_{path.stem}" for path in (ROOT / "tests/bench").glob("*.cpp"))}
        bench, modules, lua = {}, {}, machine.lua() or ""
        for option in ("ON", "OFF", "FIRST_USE"):
            run(name, "cmake", "-S", ROOT, "-B", folder / option, "-G", "Ninja", "-DGPUORCH_TESTS=OFF", f"-DGPUORCH_BENCH={option}",
                f"-DGPUORCH_LANGUAGES={'ON' if option == 'ON' else 'OFF'}", f"-DGPUORCH_LUA={lua if option == 'ON' else ''}",
                *([f"-DGPUORCH_DEPS={os.environ['GPUORCH_DEPS']}"] if "GPUORCH_DEPS" in os.environ else []))
            rules = "".join(path.read_text() for path in (folder / option).rglob("cmake_install.cmake"))
            modules[option] = {word in rules for word in ("gpuorch.py", "lua/gpuorch", "lua/types")}
            targets = run(name, "ninja", "-C", folder / option, "-t", "targets")
            bench[option] = {program in rules and program in targets + "gpuorch-bench" for program in programs}
        print(f"PASS {name}" if bench == {"ON": {True}, "OFF": {False}, "FIRST_USE": {True}} else f"FAIL {name}: {bench}")
        benchmarks_on_first_use(folder)
        without_soft(folder, "--full" in sys.argv)

        name = "GPUORCH_LANGUAGES=OFF leaves Python's and Lua's modules out"
        print(f"PASS {name}" if modules == {"ON": {True}, "OFF": {False}, "FIRST_USE": {False}} else f"FAIL {name}: {modules}")

        name = "GPUORCH_LUA names a Lua whose module is built and installed where that Lua finds it"
        if not lua:
            print(f"SKIP {name}: there is no Lua with its headers")
        else:
            run(name, "ninja", "-C", folder / "ON", f"gpuorch_{lua}")
            run(name, "cmake", "--install", folder / "ON", "--prefix", folder / "for lua", "--component", "lua")
            of_lua = run(name, lua, "-e", "io.write((_VERSION:gsub('Lua ', '')))")
            binary = [path.parent for path in (folder / "for lua").rglob("gpuorch.so")]
            told = run(name, lua, "-e", "require 'gpuorch.loop' io.write(require 'gpuorch'.version())", cwd=folder, env={
                **os.environ, "LD_LIBRARY_PATH": str(libraries[0]), "LUA_PATH": str(folder / "for lua/share/lua" / of_lua / "?.lua"),
                "LUA_CPATH": ";".join(str(path / "?.so") for path in binary)})
            said = (told, [path.parts[-2:] for path in binary])
            print(f"PASS {name}" if said == ("100", [("lua", of_lua)]) else f"FAIL {name}: {said}")

        if "--full" in sys.argv:   # otherwise the benchmarks aren't built
            benchmarks(folder, prefix, plain)

        environment = {**os.environ, "PKG_CONFIG_PATH": str(libraries[0] / "pkgconfig"),
                       "LD_LIBRARY_PATH": str(libraries[0])}
        name = "pkg-config finds it where it was moved, and a C program runs"
        flags = shlex.split(run(name, "pkg-config", "--cflags", "--libs", "gpuorch", env=environment))
        run(name, "cc", "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", HERE / "consumer" / "consumer.c",
            "-o", folder / "consumer", *flags)
        out = run(name, folder / "consumer", env=environment)
        modversion = run(name, "pkg-config", "--modversion", "gpuorch", env=environment).strip()
        said = (out.strip(), modversion)
        print(f"PASS {name}" if said == (version, version) else f"FAIL {name}: it says {said}")
        another_minor_version(folder, folder / "consumer", libraries[0] / "libgpuorch.so", version)

        name = "find_package(gpuorch) finds it, and C and C++ programs run"
        run(name, "cmake", "-S", HERE / "consumer", "-B", folder / "build", "-G", "Ninja",
            f"-DCMAKE_PREFIX_PATH={prefix}")
        run(name, "cmake", "--build", folder / "build")
        outs = [run(name, folder / "build" / program).strip() for program in ("in_c", "in_cpp")]
        print(f"PASS {name}" if outs == [version, version] else f"FAIL {name}: they say {outs}")

        name = "gpuorch::asio and gpuorch-asio.pc are all that a program with Asio needs"
        if not (folder / "build" / "in_asio").exists():
            print(f"SKIP {name}: there is no Asio where CMake finds it")
            return
        flags = shlex.split(run(name, "pkg-config", "--cflags", "--libs", "gpuorch-asio", env=environment))
        run(name, "c++", "-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Werror", HERE / "consumer" / "asio.cpp", "-o", folder / "in_asio",
            *flags)
        outs = [run(name, program, env={**environment, "GPUORCH_DEVICE": "soft"}).strip()
                for program in (folder / "build" / "in_asio", folder / "in_asio")]
        print(f"PASS {name}" if outs == [version, version] else f"FAIL {name}: they say {outs}")


main()
