#!/usr/bin/env python3
"""libgpuorch/release/wheels.py [--python PYTHON]... [--more] [--sdist] [--here] LIBRARY [OUT]

Makes in OUT, by default build/dist:

    gpuorch-VERSION-cp311-abi3-manylinux_2_34_x86_64.whl      the Python package with the library, for 3.11 and later
    gpuorch-VERSION-cp314-cp314t-*.whl                        the same for a free-threaded 3.14
    gpuorch-VERSION-cp315-abi3.abi3t-*.whl                    the same for 3.15 and later, with a GIL and without
    gpuorch-VERSION.tar.gz                                    with --sdist: the sources of both

LIBRARY is a built libgpuorch.so, or the prefix that it was installed under. The first wheel is made with the headers of a
Python that has a GIL, the second with those of a free-threaded 3.14, the third with those of any 3.15 or later. Without
--python the first is made with the Python that runs this script, and the others if python3.14t, python3.15t or python3.15
is found. With --python those are made that a PYTHON has the headers for; --more looks for the others, too.

A second run makes the same files, bit for bit. Each wheel is looked at before it is put into OUT: which versions of the C
and C++ runtimes its files need, what the module exports and links, that all of it is at most 10 MB, and, where they are
installed, by abi3audit and auditwheel. With --here the wheels are for this machine and those like it: which versions they
need isn't looked at, and their tag is linux_x86_64."""
import argparse
import base64
import hashlib
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import artefacts
from artefacts import ABI, PLATFORM, ROOT, VERSION, run, say

PYTHON = ROOT / "bindings/python"
SONAME = f"libgpuorch.so.{ABI}"
MOST_BYTES = 10_000_000
SUMMARY = "Keeps every engine of a GPU busy: kernels, arrays, pipelines, and futures for asyncio"
# The sdist has the files that CMake reads, and the sources.
PLACES = ("CMakeLists.txt", "LICENSE", "CHANGELOG.md", "pkgconfig/", "libgpuorch/", "bindings/python/")
NOT_NEEDED = ("libgpuorch/docs/", "libgpuorch/release/", "bindings/python/ctypes/")


def metadata():
    # Links into the tree would lead nowhere.
    text = re.sub(r"\]\((?!https?:)[^)]*\)", "]", (PYTHON / "README.md").read_text())
    return f"""Metadata-Version: 2.1
Name: gpuorch
Version: {VERSION}
Summary: {SUMMARY}
License: Apache-2.0
Requires-Python: >=3.11
Description-Content-Type: text/markdown

{text}""".encode()


def library_of(place):
    """The file, from the file or a prefix."""
    found = place if place.is_file() else place / "lib" / SONAME
    if not found.is_file():
        sys.exit(f"wheels: there is no {found}")
    return found


def built(python, abi3t, folder, library):
    """The package as it will be in the wheel, and its module."""
    objects = ROOT / "build/wheels"
    run(PYTHON / "build", "--strip", *(["--abi3t"] if abi3t else []), "--python", python, objects)
    package = pathlib.Path(shutil.copytree(objects / "gpuorch", folder / "gpuorch"))
    shutil.copy(library, package / SONAME)
    module, = package.glob("_gpuorch.*.so")
    for path in (module, package / SONAME):
        path.chmod(0o755)
        run("strip", "--strip-unneeded", "--remove-section=.comment", path)
    return package, module


def tag_of(module):
    """What pip calls the Pythons that the module is for."""
    if module.name == "_gpuorch.abi3t.so":
        return "cp315-abi3.abi3t"
    free = re.fullmatch(r"_gpuorch\.cpython-(\d+)t(?:-.*)?\.so", module.name)
    return f"cp{free[1]}-cp{free[1]}t" if free else "cp311-abi3"


def check_module(module):
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "--dynamic", "--wide", module)))
    if more := needed - {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2"}:
        sys.exit(f"wheels: {module.name} is linked to {', '.join(sorted(more))}")
    exported = [line.split()[-1] for line in run("nm", "--dynamic", "--defined-only", module).splitlines()]
    right = "PyModExport__gpuorch" if module.name == "_gpuorch.abi3t.so" else "PyInit__gpuorch"
    if exported != [right]:
        sys.exit(f"wheels: {module.name} exports {', '.join(exported)}, and {right} alone is to be exported")


def outside_of_api(path):
    """What abi3audit finds outside of the Limited API. Its version 0.0.26 takes the name by which Python 3.15 finds a module
    for a function of Python's."""
    said = subprocess.run(["abi3audit", "--report", path], capture_output=True, text=True)
    if not said.stdout:
        sys.exit(f"wheels: abi3audit says: {said.stderr}")
    results = [one["result"] for spec in json.loads(said.stdout)["specs"].values() for one in spec["wheel"]]
    found = {name for one in results for name in [*one["non_abi3_symbols"], *one["future_abi3_objects"]]}
    return sorted(found - {"PyModExport__gpuorch"}) if results else ["no module"]


def check_by_tools(path, tag):
    """By the tools of Python's packagers, in words that say what they found."""
    if "abi3" in tag and shutil.which("abi3audit"):
        if found := outside_of_api(path):
            sys.exit(f"wheels: abi3audit finds {', '.join(found)}")
        say(f"abi3audit finds nothing outside of the Limited API of 3.{tag[3:5]}")
    if shutil.which("auditwheel"):
        said = " ".join(run("auditwheel", "show", path).split())
        if not re.search(rf'consistent with the following platform tag: "{PLATFORM}"', said):
            sys.exit(f"wheels: auditwheel says: {said}")
        say(f"auditwheel finds {PLATFORM}")


def wheel(python, abi3t, library, out, here):
    with tempfile.TemporaryDirectory() as folder:
        package, module = built(python, abi3t, pathlib.Path(folder), library)
        check_module(module)
        if not here:
            artefacts.check_floors(package)
        tag = f"{tag_of(module)}-{'linux_x86_64' if here else PLATFORM}"
        which, abis, platform = tag.split("-")
        tags = "".join(f"Tag: {which}-{abi}-{platform}\n" for abi in abis.split("."))
        label = f"Wheel-Version: 1.0\nGenerator: libgpuorch\nRoot-Is-Purelib: false\n{tags}"
        about = f"gpuorch-{VERSION}.dist-info"
        files = [(f"gpuorch/{path.name}", path.read_bytes()) for path in sorted(package.iterdir())]
        files += [(f"{about}/METADATA", metadata()), (f"{about}/WHEEL", label.encode()),
                  (f"{about}/LICENSE", (ROOT / "LICENSE").read_bytes())]
        record = "".join(f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b'=').decode()},"
                         f"{len(content)}\n" for name, content in files)
        files.append((f"{about}/RECORD", f"{record}{about}/RECORD,,\n".encode()))
        made = pathlib.Path(folder) / f"gpuorch-{VERSION}-{tag}.whl"
        artefacts.write_zip(made, files)
        if made.stat().st_size > MOST_BYTES:
            sys.exit(f"wheels: {made.name} has {made.stat().st_size} bytes, and {MOST_BYTES} are the most")
        if not here:
            check_by_tools(made, tag_of(module))
        shutil.copy(made, out)
    say(f"{out / made.name}: {(out / made.name).stat().st_size} bytes")


def about(python):
    """(version, whether it has no GIL) of an interpreter."""
    minor, free = run(python, "-c", "import sys, sysconfig; print(sys.version_info[1], "
                                    "sysconfig.get_config_var('Py_GIL_DISABLED') or 0)").split()
    return (3, int(minor)), free == "1"


def chosen(named, more):
    """(name of the interpreter, whether the module is for abi3t), for each wheel once."""
    free = [] if named and not more else filter(None, map(shutil.which, ("python3.14t", "python3.15t", "python3.15")))
    found = {}
    for python in [*(named or [sys.executable]), *free]:
        version, is_free = about(python)
        if not is_free:
            found.setdefault("abi3", (python, False))
        if version >= (3, 15):
            found.setdefault("abi3t", (python, True))
        elif is_free:
            found.setdefault(version, (python, False))
    return found.values()


def sdist(out):
    """What pip builds where no wheel fits. pyproject.toml moves to the root, and names the place of CMakeLists.txt."""
    listed = artefacts.sources()
    if artefacts.HAS_GIT:  # what isn't committed yet, too
        listed += run("git", "ls-files", "--others", "--exclude-standard", "--", "bindings/python", cwd=ROOT).splitlines()
    name = f"gpuorch-{VERSION}"
    with tempfile.TemporaryDirectory() as folder:
        moved = {path: pathlib.Path(folder) / path for path in ("pyproject.toml", "PKG-INFO", "README.md")}
        moved["pyproject.toml"].write_text((PYTHON / "pyproject.toml").read_text().replace(
            'cmake.source-dir = "."', 'cmake.source-dir = "bindings/python"'))
        moved["PKG-INFO"].write_bytes(metadata())
        shutil.copy(PYTHON / "README.md", moved["README.md"])
        files = [(f"{name}/{path}", ROOT / path) for path in sorted(set(listed))
                 if path.startswith(PLACES) and not path.startswith(NOT_NEEDED)]
        artefacts.write_tar(out / f"{name}.tar.gz", files + [(f"{name}/{path}", file) for path, file in moved.items()])
    say(f"{out / name}.tar.gz: {(out / f'{name}.tar.gz').stat().st_size} bytes")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", action="append", help="a Python to build the module for; may be repeated")
    parser.add_argument("--more", action="store_true", help="wheels for the free-threaded Pythons that are found, too")
    parser.add_argument("--sdist", action="store_true", help="make the archive of the sources, too")
    parser.add_argument("--here", action="store_true", help="make wheels for this machine alone")
    parser.add_argument("library", metavar="LIBRARY", type=pathlib.Path)
    parser.add_argument("out", metavar="OUT", nargs="?", type=pathlib.Path, default=ROOT / "build/dist")
    options = parser.parse_args()
    library, out = library_of(options.library.resolve()), options.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    for python, abi3t in chosen(options.python, options.more):
        wheel(python, abi3t, library, out, options.here)
    if options.sdist:
        sdist(out)


if __name__ == "__main__":
    main()
