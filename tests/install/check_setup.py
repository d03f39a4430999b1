#!/usr/bin/env python3
""".ci/setup on distributions that are made up: apt's programs answer from a table of packages, and note what they are asked to
install. And what CMake says of a Boost that lacks its library."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
EVERYWHERE = {"libc6": "2.36-9", "ninja-build": "1.11.1-1", "pkg-config": "1.8.1-1", "python3": "3.11.2-1", "python3-pip": "23.0.1",
              "zlib1g-dev": "1:1.2.13", "make": "4.3-4.1", "gcc": "4:12.2.0-3", "doctest-dev": "2.4.9-1"}


def boost(*versions):
    return {name: f"{version}.0-5" for version in versions
            for name in (f"libboost{version}-dev", f"libboost-context{version}-dev", f"libboost-context{version}.0")}


def lua(*versions):
    return {name: f"{version}.4-1" for version in versions for name in (
        f"lua{version}", "liblua5.1-0-dev" if version == "5.1" else f"liblua{version}-dev")}


DEBIAN_12 = {**EVERYWHERE, **boost("1.74", "1.81"), **lua("5.1", "5.2", "5.3", "5.4"), "g++": "4:12.2.0-3", "cmake": "3.25.1-1",
             "cargo": "0.66.0+ds1-1", "cargo-web": "1.96.0+dfsg1-1 1.85.0+dfsg3-1", "libclang1": "1:14.0-55.7"}
DEBIAN_13 = {**EVERYWHERE, **boost("1.83", "1.88"), **lua("5.1", "5.2", "5.3", "5.4"), "g++": "4:14.2.0-1", "cmake": "3.31.6-2",
             "cargo": "1.85.1+dfsg1-1", "cargo-web": "1.96.0+dfsg1-1", "libclang1": "1:19.0-63", "libclang1-19": "1:19.1.7-3",
             "libclang-common-19-dev": "1:19.1.7-3", "lua-luv": "1.48.0-2", "luajit": "2.1"}
UBUNTU_22 = {**EVERYWHERE, **boost("1.74"), **lua("5.1", "5.2", "5.3", "5.4"), "g++": "4:11.2.0-1ubuntu1", "g++-11": "11.4.0-1ubuntu1",
             "g++-12": "12.3.0-1ubuntu1", "cmake": "3.22.1-1ubuntu1", "cargo": "1.75.0+dfsg0ubuntu1"}

APT_CACHE = r"""#!/bin/sh
case $1 in
policy) version=$(sed -n "s/^$2 \([^ ]*\).*/\1/p" "$PACKAGES"); [ -z "$version" ] || printf '%s:\n  Installed: (none)\n  Candidate: %s\n' "$2" "$version" ;;
pkgnames) sed -n "s/^\($2[^ ]*\) .*/\1/p" "$PACKAGES" ;;
madison) for version in $(sed -n "s/^$2 //p" "$PACKAGES"); do echo " $2 | $version | http://a.mirror stable/main"; done ;;
esac
"""
APT_GET = r"""#!/bin/sh
echo "$*" >>"$ASKED"
[ "$1" != install ] || [ "${FAILS:-}" = no ]
"""


class Machine:
    """A bare one: these programs, no compiler, and the headers of CUDA, so that nothing is fetched."""

    def __init__(self, folder, packages):
        self.folder = pathlib.Path(folder)
        self.bin = self.folder / "bin"
        self.bin.mkdir()
        for tool in ("sh", "sed", "sort", "head", "tail", "mktemp", "rm", "dirname", "ls", "uname", "cat", "mkdir"):
            (self.bin / tool).symlink_to(shutil.which(tool))
        for name, text in (("apt-cache", APT_CACHE), ("apt-get", APT_GET), ("id", "#!/bin/sh\necho 0\n")):
            (self.bin / name).write_text(text)
            (self.bin / name).chmod(0o755)
        (self.folder / "packages").write_text("".join(f"{name} {versions}\n" for name, versions in packages.items()))
        cuda = self.folder / "deps/nvidia/cu13/include"
        (cuda / "nvtx3").mkdir(parents=True)
        (cuda / "cuda.h").write_text("#define CUDA_VERSION 13000\n")
        (cuda / "nvtx3/nvToolsExt.h").touch()

    def set_up(self, *wishes, **settings):
        """What it said, and what apt-get was asked for."""
        asked = self.folder / "asked"
        asked.write_text("")
        environment = {"PATH": str(self.bin), "PACKAGES": str(self.folder / "packages"), "ASKED": str(asked),
                       "GPUORCH_DEPS": str(self.folder / "deps"), **settings}
        outcome = subprocess.run([ROOT / ".ci/setup", *wishes], env=environment, capture_output=True, text=True, timeout=60)
        return outcome.returncode, outcome.stdout + outcome.stderr, asked.read_text().splitlines()


def report(name, good, *said):
    if not good:
        print(*said)
    print(f"{'PASS' if good else 'FAIL'} setup: {name}", flush=True)


def on(packages, *wishes, **settings):
    with tempfile.TemporaryDirectory() as folder:
        return Machine(folder, packages).set_up(*wishes, **settings)


def installs(asked):
    """The packages of each `apt-get install` that isn't a trial."""
    return [{word for word in line.split()[1:] if not word.startswith("-")} for line in asked
            if line.startswith("install ") and " -s " not in line]


def packages_are_the_distributions():
    for system, packages, version in (("Debian 12", DEBIAN_12, "1.81"), ("Debian 13", DEBIAN_13, "1.83")):
        code, said, asked = on(packages, "samples", "lua")
        wanted = {"g++", "cmake", f"libboost{version}-dev", f"libboost-context{version}-dev", "lua5.4", "liblua5.4-dev"}
        taken = (installs(asked) or [set()])[0]
        report(f"{system}'s packages are asked for, with its Boost {version}", wanted <= taken and taken <= packages.keys(), code, said, asked)
    code, said, asked = on({**DEBIAN_13, **boost("1.90")}, "samples", CXX="/usr/bin/c++", Boost_ROOT=str(with_headers("1.88")))
    report("headers of a Boost that are here get their own library", {"libboost1.88-dev", "libboost-context1.88-dev"} <= installs(asked)[0], said, asked)
    only = {**{name: version for name, version in DEBIAN_13.items() if "lua" not in name}, **lua("5.2", "5.3")}
    code, said, asked = on(only, "lua")
    report("the newest Lua is asked for that there is", {"lua5.3", "liblua5.3-dev"} <= installs(asked)[0] <= only.keys(), said, asked)


def what_is_lacking_is_named():
    code, said, asked = on(DEBIAN_13, "full", FAILS="no")
    named = next((line for line in said.splitlines() if "no package here is called" in line), "")
    report("what only tests need and there is no package of is named, not asked for",
           {"lua-cqueues", "luarocks"} <= set(re.split(r"[ :]+", named)) and "lua-luv" not in named.split()
           and installs(asked) != [] and all(taken <= DEBIAN_13.keys() for taken in installs(asked)), said, asked)


def rust_is_the_oldest():
    for system, packages, wanted in (("Debian 12", DEBIAN_12, ["cargo-web=1.85.*", "rustc-web=1.85.*", "libstd-rust-web-dev=1.85.*"]),
                                     ("Debian 13", DEBIAN_13, ["cargo=1.85.*", "rustc=1.85.*", "libstd-rust-dev=1.85.*"])):
        code, said, asked = on(packages, "rust", FAILS="no")
        trial = [line.split() for line in asked if " -s " in line]
        report(f"Rust is {system}'s oldest from 1.85, {wanted[0]}", bool(trial) and set(wanted) <= set(trial[0]), said, asked)
    code, said, asked = on({name: version for name, version in DEBIAN_13.items() if "cargo" not in name}, "rust", FAILS="no")
    report("where there is no package of Rust 1.85 it says where one is", code == 1 and "https://rustup.rs" in said, code, said)


def too_old():
    for wishes in (["samples"], ["tests"], ["full"]):
        code, said, asked = on(UBUNTU_22, *wishes)
        words = ("too old", "GCC 12", "g++-12", "CMake: 3.25", "Boost: 1.81", "Debian 12, Ubuntu 24.04")
        report(f"a system that is too old is told what would do, and nothing is installed: {wishes[0]}",
               code == 1 and all(word in said for word in words) and installs(asked) == [], code, said, asked)


folders = []


def with_headers(version):
    """A folder with the headers of that Boost, as far as they are looked at."""
    folders.append(tempfile.TemporaryDirectory())
    include = pathlib.Path(folders[-1].name) / "include/boost"
    (include / "context").mkdir(parents=True)
    major, minor = version.split(".")
    (include / "version.hpp").write_text(f'#define BOOST_VERSION {int(major) * 1000 + int(minor)}00\n#define BOOST_LIB_VERSION "{major}_{minor}"\n')
    for header in ("asio.hpp", "context/fiber.hpp"):
        (include / header).touch()
    return include.parents[1]


def cmake_names_the_package():
    for version, words in (("1.83", "libboost-context1.83-dev"), ("1.74", "has Boost 1.74, which is too old"), (None, "libboost-context<version>-dev")):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            # CMake ignores the places where Boost is, except in the given folder.
            (folder / "toolchain.cmake").write_text("set(CMAKE_IGNORE_PREFIX_PATH / /usr /usr/local)\n"
                                                    + (f"set(CMAKE_PREFIX_PATH {with_headers(version)})\n" if version else ""))
            cuda = folder / "cuda/include/nvtx3"
            cuda.mkdir(parents=True)
            (cuda / "nvToolsExt.h").touch()
            (cuda.parent / "cuda.h").write_text("#define CUDA_VERSION 13000\n")
            outcome = subprocess.run(["cmake", "-S", ROOT, "-B", folder / "build", "-G", "Ninja", f"-DGPUORCH_DEPS={folder}/deps",
                                      f"-DCMAKE_TOOLCHAIN_FILE={folder}/toolchain.cmake"], capture_output=True, text=True,
                                     env={**os.environ, "CUDA_HOME": str(folder / "cuda")})
            said = " ".join((outcome.stdout + outcome.stderr).split())  # without CMake's line breaks
            report(f"CMake says what Boost lacks where there is {'Boost ' + version + ' without its library' if version else 'none'}",
                   outcome.returncode != 0 and words in said, said)


def main():
    for part in (packages_are_the_distributions, what_is_lacking_is_named, rust_is_the_oldest, too_old, cmake_names_the_package):
        part()


if __name__ == "__main__":
    sys.exit(main())
