#!/usr/bin/env python3
"""The crates in bindings/rust: their tests, over the library that counts calls and linked to the library itself, what the
tools say of them, and the bindings made anew. Cargo's own tests are in the crates.

Run by tests/run; by hand GPUORCH_BUILD=build/dev tests/bindings/rust/check_rust.py [--full] [PART]...
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import machine
from workspace import COUNTING, DEPS, LIBRARY, OLDEST, PROGRAM, ROOT, TARGET, WORKSPACE, built, cargo, environment, version

LIBRARY_SOURCE = ROOT / "libgpuorch"
VERSION = subprocess.run([LIBRARY_SOURCE / "release/version"], capture_output=True, text=True, check=True).stdout.strip()
MAJOR, MINOR, PATCH = map(int, VERSION.split("."))
PC_FILE = "Name: gpuorch\nDescription: no library\nVersion: {version}\nLibs: -L{folder} -lgpuorch\n"
# The files of the packages, beside those that every package has.
PACKAGED = {"gpuorch": r"src/.*\.rs",
            "gpuorch-sys": r"(build|src)/\w+\.rs|tests/table\.rs|vendor/(CMakeLists\.txt|pkgconfig/\w[^/]*\.in|"
                           r"libgpuorch/(\w+\.(txt|json|cmake|map\.in)|(include|src|tools)/(?!.*(\.(md|pyc?)$|/\.)).*))"}


def say(name, good, text=""):
    """One line of the report; what a tool has said goes above it where it failed."""
    if good:
        print(f"PASS {name}", flush=True)
    else:
        print(text)
        print(f"FAIL {name}", flush=True)


def tests(label, *arguments, command=("test",), runner=None, **more):
    """cargo test: a line for each test, and one where it didn't come to its end."""
    runner = ("--config", f"target.x86_64-unknown-linux-gnu.runner = {runner!r}") if runner else ()
    code, output = cargo(*command, *runner, "--locked", "--no-fail-fast", *arguments, "--", "--show-output", **more)
    failed = False
    skipped = dict(re.findall(r"^SKIP (\S+): (.+)$", output, re.MULTILINE))  # such a test has printed that, and returned
    for name, note, verdict in re.findall(r"^test (.+?)( - should panic| - compile fail)? \.\.\. (ok|FAILED|ignored.*)$",
                                          output, re.MULTILINE):
        if verdict.startswith("ignored"):
            print(f"SKIP {label}: {name}: {verdict.partition(', ')[2] or 'it is marked as ignored'}")
        elif name in skipped:
            print(f"SKIP {label}: {name}: {skipped[name]}")
        else:
            failed = failed or verdict == "FAILED"
            print(f"{'PASS' if verdict == 'ok' else 'FAIL'} {label}: {name}")
    if code != 0:
        print(output)
        if not failed:
            print(f"FAIL {label}: cargo test ended with exit code {code}")


def counted():
    built("-p", "gpuorch-fake", "--features", "gpuorch-sys/load")
    mpirun = machine.mpirun(4)
    mpi = {"GPUORCH_TEST_MPIRUN": " ".join(mpirun), **machine.MPIRUN_ENVIRONMENT} if mpirun else {}
    tests("load", "--features", "load", GPUORCH_LIBRARY=str(COUNTING), GPUORCH_SOFT_DEVICES="2", **mpi)


def linked():
    tests("linked", "-p", "gpuorch", "--test", "streams", "--test", "fake_table", GPUORCH_DIR=str(LIBRARY),
          LD_LIBRARY_PATH=str(LIBRARY))


def bindings():
    code, output = cargo("run", "--locked", "--quiet", "-p", "xtask", "--", "bindings", "--check")
    if "couldn't find any valid shared libraries" in output or "Unable to find libclang" in output:
        print("SKIP bindings: made anew they are the same: there is no libclang")
    elif "'stddef.h' file not found" in output:
        print("SKIP bindings: made anew they are the same: libclang's own headers are missing (Debian's libclang-common-N-dev)")
    else:
        say("bindings: made anew they are the same", code == 0, output)


def layouts():
    """Sizes, alignments and offsets of all structs, as rustc computes them, are those of abi.json, which are C's."""
    abi = json.loads((LIBRARY_SOURCE / "abi.json").read_text())
    lines = ["#![allow(dead_code, non_camel_case_types)]", "use core::mem::{align_of, offset_of};",
             f'include!("{WORKSPACE}/gpuorch-sys/src/bindings.rs");']
    equal = lambda found, value: lines.append(f"const _: () = assert!({found} == {value});")
    for struct in abi["structs"]:
        equal(f"size_of::<{struct['name']}>()", struct["size"])
        equal(f"align_of::<{struct['name']}>()", struct["align"])
        for field in struct["fields"]:
            equal(f"offset_of!({struct['name']}, {'type_' if field['name'] == 'type' else field['name']})", field["offset"])
    for function in abi["functions"]:
        equal(f"offset_of!(gpo_api, {function['name'].removeprefix('gpo_')})", function["offset"])
    folder = TARGET / "layouts"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "layouts.rs").write_text("\n".join(lines) + "\n")
    rustc = "rustc" if PROGRAM == "cargo" else PROGRAM.with_name("rustc")
    outcome = subprocess.run([rustc, "--edition=2024", "--crate-type=lib", "--emit=metadata", "--out-dir", folder,
                              folder / "layouts.rs"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    say("bindings: structs and the table are laid out as in C", outcome.returncode == 0, outcome.stdout)


def clippy():
    code, output = cargo("clippy", "--version")
    if code != 0:
        print("SKIP clippy: it isn't installed")
        return
    for features in ((), ("--features", "load"), ("--all-features",)):
        code, output = cargo("clippy", "--locked", "--workspace", "--all-targets", *features, "--", "-D", "warnings",
                             GPUORCH_DIR=str(LIBRARY))
        say(f"clippy: {features[-1].removeprefix('--') if features else 'no features'}", code == 0, output)


def oldest():
    """All there is, with no feature and with all; the folder of the library keeps `vendored` from building another."""
    here = version(OLDEST)
    if here[:2] != (1, 85):
        print(f"SKIP builds with Rust 1.85: {'the distribution has ' + '.'.join(map(str, here)) if here else 'it could not be fetched'}")
        return
    for features in ((), ("--all-features",)):
        code, output = cargo("check", "--locked", "--workspace", "--all-targets", *features, program=OLDEST,
                             GPUORCH_DIR=str(LIBRARY), CARGO_TARGET_DIR=str(TARGET / "oldest"))
        say(f"builds with Rust 1.85: {'all' if features else 'no'} features", code == 0, output)


def manifests():
    """What crates.io shows of the crates, and what their packages have in them."""
    code, described = cargo("metadata", "--locked", "--no-deps", "--format-version=1")
    packages = {package["name"]: package for package in json.loads(described.splitlines()[-1])["packages"]} if code == 0 else {}
    for crate, belongs in PACKAGED.items():
        fields = ("description", "license", "documentation", "readme", "keywords", "categories", "rust_version")
        missing = [field for field in fields if not packages.get(crate, {}).get(field)]
        say(f"{crate}: its manifest has what crates.io shows", not missing, " ".join(missing) if packages else described)
        links = re.findall(r"\]\(([^)]*)\)", (WORKSPACE / crate / "README.md").read_text())
        elsewhere = [link for link in links if not link.startswith("https://")]
        say(f"{crate}: the links of its README hold on crates.io", not elsewhere, " ".join(elsewhere))
        code, output = cargo("package", "--list", "--locked", "--allow-dirty", "-p", crate)
        every = r"Cargo\.(lock|toml|toml\.orig)|\.cargo_vcs_info\.json|LICENSE|README\.md"
        strangers = [line for line in output.splitlines() if not re.fullmatch(f"{every}|{belongs}", line)]
        say(f"{crate}: its package has only what belongs", code == 0 and not strangers, "\n".join(strangers))


def package():
    """libgpuorch/release/crates, with the machine's cargo and the library, and with the oldest cargo and no library."""
    script, made = LIBRARY_SOURCE / "release/crates", TARGET / "crates"
    runs = [(PROGRAM, made, [LIBRARY])]
    if version(OLDEST)[:2] == (1, 85):
        runs.append((OLDEST, TARGET / "crates-oldest", []))
    for program, out, library in runs:
        shutil.rmtree(out, ignore_errors=True)
        path = os.environ["PATH"] if program == "cargo" else f"{OLDEST.parent}:{os.environ['PATH']}"
        outcome = subprocess.run([script, out, *library], env=environment(PATH=path), text=True,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        name = "the packages are built and used away from the checkout"
        say(f"{name}{', linked and opened' if library else ', by Rust 1.85'}",
            outcome.returncode == 0 and len(list(out.glob("gpuorch*.crate"))) == 2, outcome.stdout)
    name = "the packages are those that cargo publishes"
    if version(PROGRAM) < (1, 90):
        return print(f"SKIP {name}: cargo before 1.90 can't package a crate before the crates that it needs are published")
    code, output = cargo("package", "-p", "gpuorch-sys", "-p", "gpuorch", "--locked", "--allow-dirty", "--no-verify")
    differ = [path.name for path in made.glob("*.crate")
              if code != 0 or path.read_bytes() != (TARGET / "package" / path.name).read_bytes()]
    say(name, code == 0 and not differ, output + " ".join(differ))


def unpacked():
    """gpuorch-sys as it is published: no folder of the checkout's beside it."""
    code, output = cargo("package", "-p", "gpuorch-sys", "--locked", "--allow-dirty", "--no-verify")
    if code != 0:
        sys.exit(f"{output}\ncargo package ended with exit code {code}")
    folder = TARGET / "unpacked"
    shutil.rmtree(folder, ignore_errors=True)
    package = max((TARGET / "package").glob("gpuorch-sys-*.crate"), key=lambda path: path.stat().st_mtime)
    shutil.unpack_archive(package, folder, "gztar")
    return folder / package.stem


def vendored():
    """The library from the sources in the package, as it comes from a registry: minutes, so only in full runs."""
    name = "vendored: libgpuorch.a exports the functions of the headers and nothing else"
    if "--full" not in sys.argv:
        return print(f"SKIP {name}: it builds the library, with --full only")
    target = TARGET / "vendored"
    shutil.rmtree(target, ignore_errors=True)
    for features in ("vendored", "vendored,load"):
        tests(features, "--manifest-path", str(unpacked() / "Cargo.toml"), "--features", features, GPUORCH_DEPS=str(DEPS),
              CARGO_TARGET_DIR=str(target))
    for library in target.rglob("libgpuorch.a"):
        listed = subprocess.run(["nm", "--extern-only", "--defined-only", "--format=posix", library], capture_output=True, text=True)
        exported = {line.split()[0] for line in listed.stdout.splitlines() if len(line.split()) > 1}
        functions = {"gpo_get_api", *(LIBRARY_SOURCE / "src/abi/functions.txt").read_text().split()}
        return say(name, exported == functions, f"too many or too few: {' '.join(exported ^ functions)} {listed.stderr}")
    say(name, False, "there is no libgpuorch.a")


def messages():
    """What the build script says where it can't go on: with `vendored` it names the tools that are missing before it begins,
    and CMake the libraries."""
    folder = TARGET / "tools"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for tool in ("rustc", "rustdoc", "cc", "as", "ld", "ar", "cmake", "c++", "objcopy", "ninja", "make"):
        if found := shutil.which(tool):
            (folder / tool).symlink_to(found)
    # Another Boost may have been unpacked beside CUDA's headers.
    headers = folder / "deps"
    headers.mkdir()
    (headers / "nvidia").symlink_to(DEPS / "nvidia")

    def check(what, words, *features, never=None, **settings):
        code, output = cargo("check", "--locked", "-p", "gpuorch-sys", *features, program=shutil.which(PROGRAM),
                             **{"CARGO_TARGET_DIR": str(TARGET / "messages"), "PATH": str(folder), **settings})
        good = code != 0 and all(word in output for word in words) and not (never and never in output)
        say(f"the build script names what is missing: {what}", good, output)

    check("GPUORCH_DIR names no library's folder", [
        "GPUORCH_DIR is /nowhere, and there is no libgpuorch.so in it",
        f"/nowhere/lib or /nowhere/lib64 or /nowhere/lib/{os.uname().machine}-linux-gnu", "libgpuorch-dev"],
        GPUORCH_DIR="/nowhere")
    check("GPUORCH_DIR is relative", ["GPUORCH_DIR is build/dev, and has to be an absolute path"], GPUORCH_DIR="build/dev")
    not_found = [f"libgpuorch {VERSION} was not found", "libgpuorch-dev", "GPUORCH_DIR", "PKG_CONFIG_PATH", "`load`",
                 "`vendored`"]
    check("there is no pkg-config", [*not_found, "pkg-config command could not be found"])
    (folder / "pkg-config").symlink_to(shutil.which("pkg-config"))
    check("pkg-config knows no libgpuorch", not_found, PKG_CONFIG_LIBDIR="/nowhere", PKG_CONFIG_PATH="")
    for other in ("0.0.1", f"0.{MINOR + 1}.0" if MAJOR == 0 else f"{MAJOR + 1}.0.0"):
        (folder / "gpuorch.pc").write_text(PC_FILE.format(version=other, folder=folder))
        check(f"pkg-config knows libgpuorch {other}", [*not_found, other], PKG_CONFIG_PATH=str(folder))
    vendored = ("--features", "vendored")
    for tool, package in (("cmake", "cmake"), ("c++", "g++"), ("ld", "binutils"), ("objcopy", "binutils")):
        kept = (folder / tool).rename(folder / "not here")
        check(tool, [f"needs {tool} to build libgpuorch (Debian's package {package})"], *vendored)
        kept.rename(folder / tool)
    # CMake must not find the things. Each build begins afresh, since CMake remembers finds.
    toolchain = folder / "toolchain.cmake"
    for what, past, deps, words in (
            ("Boost", "CMAKE_IGNORE_PREFIX_PATH / /usr /usr/local", headers, ["Boost 1.81 or newer was not found"]),
            ("zlib", "CMAKE_IGNORE_PATH /usr/include /usr/local/include", DEPS, ["Could NOT find ZLIB"]),
            ("cuda.h", "CMAKE_IGNORE_PREFIX_PATH /usr/local/cuda", "/nowhere",
             ["cuda.h of CUDA 13.0 or newer was not found", "CUDA_HOME", "GPUORCH_DEPS"])):
        target = TARGET / "without"
        shutil.rmtree(target, ignore_errors=True)
        toolchain.write_text(f"set({past})\n")
        check(what, words, *vendored, CMAKE_TOOLCHAIN_FILE=str(toolchain), CARGO_TARGET_DIR=str(target), GPUORCH_DEPS=str(deps),
              CUDA_HOME="", CUDA_PATH="", never="samples/run")  # which the package hasn't
        shutil.rmtree(target, ignore_errors=True)  # where cargo itself has failed there is none


def places():
    """Which library the build script links, and from where: `(folders, libraries)` as cargo understands it."""
    top = TARGET / "places"
    shutil.rmtree(top, ignore_errors=True)
    found_by_pkg_config = top / "pkg-config"
    found_by_pkg_config.mkdir(parents=True)
    newer = f"{MAJOR}.{MINOR}.{PATCH + 7}"
    (found_by_pkg_config / "gpuorch.pc").write_text(PC_FILE.format(version=newer, folder=found_by_pkg_config))

    def check(what, right, *features, **settings):
        code, output = cargo("check", "--locked", "-p", "gpuorch-sys", "--message-format=json", *features, **{
            "CARGO_TARGET_DIR": str(TARGET / "messages"), "PKG_CONFIG_PATH": str(found_by_pkg_config), **settings})
        lines = [json.loads(line) for line in output.splitlines() if line.startswith('{"reason":"build-script-executed"')]
        linked = [(line["linked_paths"], [library.removeprefix("dylib=") for library in line["linked_libs"]])
                  for line in lines if "gpuorch-sys" in line["package_id"]]
        right = ([f"native={right}"], ["gpuorch"]) if right else ([], [])
        say(f"the build script finds the library: {what}", code == 0 and linked == [right],
            f"{output}\n{linked} in place of {right}")

    for below in ("", "lib", "lib64", f"lib/{os.uname().machine}-linux-gnu"):
        prefix = top / (below.replace("/", "-") or "itself")
        (prefix / below).mkdir(parents=True)
        (prefix / below / "libgpuorch.so").symlink_to(LIBRARY / "libgpuorch.so")
        check(f"{below or 'the folder'} of GPUORCH_DIR, before pkg-config's", prefix / below if below else prefix,
              GPUORCH_DIR=str(prefix))
    check("pkg-config's", found_by_pkg_config)
    check("pkg-config's, if GPUORCH_DIR is empty", found_by_pkg_config, GPUORCH_DIR="")
    check("none with the feature load", None, "--features", "load", GPUORCH_DIR="/nowhere")
    tests("linked by a prefix", "-p", "gpuorch-sys", "--test", "table", GPUORCH_DIR=str(top / "lib64"),
          LD_LIBRARY_PATH=str(LIBRARY))


def load():
    """The feature builds and runs where there is a linker for Rust, and no C++ compiler, CMake or pkg-config."""
    folder = TARGET / "linker"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for tool in ("rustc", "rustdoc", "cc", "as", "ld"):
        if found := shutil.which(tool):
            (folder / tool).symlink_to(found)
    tests("load without a C++ compiler", "-p", "gpuorch-sys", "--features", "load", "--test", "table",
          program=shutil.which(PROGRAM), PATH=str(folder), CARGO_TARGET_DIR=str(TARGET / "messages"),
          GPUORCH_LIBRARY=str(LIBRARY / "libgpuorch.so.0.1"))
    code, output = cargo("tree", "--locked", "-p", "gpuorch", "--features", "load", "--edges", "normal,build",
                         "--prefix", "none")
    needed = {line.split()[0] for line in output.splitlines() if line}
    say("load compiles no crate that builds C++",
        code == 0 and needed == {"gpuorch", "gpuorch-sys", "bytemuck", "futures-core", "libc", "pkg-config"}, output)


def miri():
    code, _ = cargo("miri", "--version")
    if code == 0:
        tests("miri", "-p", "gpuorch", "--test", "fake_table", command=("miri", "test"), GPUORCH_DIR=str(LIBRARY),
              MIRIFLAGS="-Zmiri-disable-isolation -Zmiri-permissive-provenance", CARGO_TARGET_DIR=str(TARGET / "miri"))
    else:
        print("SKIP miri: the bindings over a fake table: Miri isn't installed")


def asan():
    """The suite over the library that was built with ASan, in GPUORCH_BUILD. What Rust's standard library never frees is no
    leak of ours, so leaks aren't looked for here."""
    # ASan is loaded first, and with the C++ runtime, for ASan to see exceptions.
    first = " ".join(subprocess.run(["c++", f"-print-file-name={name}"], capture_output=True, text=True, check=True).stdout.strip()
                     for name in ("libasan.so", "libstdc++.so.6"))
    built("-p", "gpuorch-fake", "--features", "gpuorch-sys/load")
    tests("asan", "-p", "gpuorch", "--tests", "--features", "load", runner=["env", f"LD_PRELOAD={first}"],
          GPUORCH_LIBRARY=str(LIBRARY / "libgpuorch.so.0.1"), GPUORCH_SOFT_DEVICES="2",
          ASAN_OPTIONS="detect_leaks=0:detect_stack_use_after_return=0:allocator_may_return_null=1",
          UBSAN_OPTIONS="print_stacktrace=1:halt_on_error=1")


def documentation():
    """Where there is no library: all crates, and as docs.rs makes those that are published."""
    code, output = cargo("doc", "--locked", "--no-deps", DOCS_RS="1", RUSTDOCFLAGS="-D warnings")
    say("rustdoc, without the library", code == 0, output)
    code, output = cargo("doc", "--locked", "--no-deps", "-p", "gpuorch", "-p", "gpuorch-sys", "--features", "load",
                         DOCS_RS="1", RUSTDOCFLAGS="-D warnings")
    say("rustdoc, with docs.rs's features", code == 0, output)
    code, output = cargo("doc", "--locked", "--no-deps", "-p", "gpuorch", "-p", "gpuorch-sys", "--all-features",
                         DOCS_RS="1", RUSTDOCFLAGS="-D warnings")
    say("rustdoc, with all features", code == 0, output)


PARTS = {part.__name__: part for part in (counted, linked, bindings, layouts, manifests, places, clippy, oldest,
                                          documentation, messages, load, package, vendored, miri, asan)}

ALWAYS = ("counted", "bindings", "layouts", "manifests", "places")  # the others build the crates in other ways, for minutes

if __name__ == "__main__":
    wanted = [word for word in sys.argv[1:] if not word.startswith("-")]
    for name in wanted or ([name for name in PARTS if name != "asan"] if "--full" in sys.argv else ALWAYS):
        PARTS[name]()
