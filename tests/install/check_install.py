#!/usr/bin/env python3
"""Installs the library into an empty prefix, moves it, and builds programs against it as a user would: through
pkg-config and through find_package, in C and in C++."""
import json
import os
import pathlib
import re
import shlex
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = pathlib.Path(os.environ["GPUORCH_BUILD"])


def run(name, *command, **settings):
    """A step; the first that fails is told and ends the script."""
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True, **settings)
    if result.returncode != 0:
        print(result.stdout, result.stderr)
        print(f"FAIL {name}: {pathlib.Path(str(command[0])).name} ended with exit code {result.returncode}")
        raise SystemExit(0)
    return result.stdout


def main():
    version = re.search(r"project\(gpuorch VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text()).group(1)
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

        name = "gpuorch-info says why a driver or a compiler can't be used"
        broken = folder / "broken" / "libcuda.so.1"
        broken.parent.mkdir()
        broken.write_text("no library")
        told = run(name, prefix / "bin" / "gpuorch-info",
                   env={**plain, "LD_LIBRARY_PATH": str(broken.parent), "GPUORCH_DEVICE": "any", "GPUORCH_CXX": "/nowhere/c++"})
        wanted = [rf"uses: soft\n  because CUDA can't be used: .*{broken}", rf"driver cuda\n  not usable: .*{broken}",
                  r"compiler of kernels +none can be used: .*/nowhere/c\+\+"]
        lacking = [words for words in wanted if not re.search(words, told)]
        print(f"FAIL {name}: it doesn't say {lacking}, but {told}" if lacking else f"PASS {name}")

        name = "a build without tests, as the README has it, has gpuorch-bench, and one without that hasn't"
        programs = {"gpuorch-bench", *(f"gpuorch_bench_{path.stem}" for path in (ROOT / "tests/bench").glob("*.cpp"))}
        bench = {}
        for option in ("ON", "OFF"):
            run(name, "cmake", "-S", ROOT, "-B", folder / option, "-G", "Ninja", "-DGPUORCH_TESTS=OFF", f"-DGPUORCH_BENCH={option}",
                *([f"-DGPUORCH_DEPS={os.environ['GPUORCH_DEPS']}"] if "GPUORCH_DEPS" in os.environ else []))
            rules = "".join(path.read_text() for path in (folder / option).rglob("cmake_install.cmake"))
            targets = run(name, "ninja", "-C", folder / option, "-t", "targets")
            bench[option] = {program in rules and program in targets + "gpuorch-bench" for program in programs}
        print(f"PASS {name}" if bench == {"ON": {True}, "OFF": {False}} else f"FAIL {name}: {bench}")

        name = "gpuorch-bench measures a row, and writes a table and JSON"
        run(name, prefix / "bin" / "gpuorch-bench", "--device", "soft", "--quick", "--pairs", "2", "--out",
            folder / "results", "launch", "pin", env=plain)
        rows = [row["name"] for row in json.loads((folder / "results" / "bench.json").read_text())["rows"]]
        listed = (folder / "results" / "bench.md").read_text()
        said = (sorted(rows), all(f"`{row}`" in listed for row in rows))
        print(f"PASS {name}" if said == (["launch", "pin"], True) else f"FAIL {name}: {said}")

        name = "gpuorch-bench knows the rows of every program"
        listed = run(name, prefix / "bin" / "gpuorch-bench", "--device", "soft", "--list", env=plain).splitlines()
        programs = [path for path in (prefix / "libexec/gpuorch/bench").glob("gpuorch_bench_*") if path.suffix != ".so"]
        silent = [path.name for path in programs
                  if not set(run(name, path, "--list", env={**plain, "GPUORCH_DEVICE": "soft"}).splitlines()).issubset(listed)]
        print(f"PASS {name}" if programs and not silent else f"FAIL {name}: not those of {silent}")

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

        name = "find_package(gpuorch) finds it, and C and C++ programs run"
        run(name, "cmake", "-S", HERE / "consumer", "-B", folder / "build", "-G", "Ninja",
            f"-DCMAKE_PREFIX_PATH={prefix}")
        run(name, "cmake", "--build", folder / "build")
        outs = [run(name, folder / "build" / program).strip() for program in ("in_c", "in_cpp")]
        print(f"PASS {name}" if outs == [version, version] else f"FAIL {name}: they say {outs}")


main()
