"""Makes the files of a release: see make, which sets up what this needs."""
import datetime
import gzip
import hashlib
import io
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import time
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
WORK, DIST = ROOT / "build/release", ROOT / "build/dist"
DEPS = pathlib.Path(os.environ.get("GPUORCH_DEPS", ROOT / "build/deps"))
VERSION = subprocess.run([sys.executable, HERE / "version"], check=True, capture_output=True, text=True).stdout.strip()
ABI = re.search(r'GPO_SONAME "libgpuorch\.so\.(.*)"', (ROOT / "libgpuorch/include/gpuorch/types.h").read_text()).group(1)
# The oldest C and C++ runtimes that the binaries may need: what PEP 600 calls manylinux_2_34.
FLOORS = {"GLIBC": (2, 34), "GLIBCXX": (3, 4, 29), "CXXABI": (1, 3, 13)}
PLATFORM = "manylinux_2_34_x86_64"
HAS_GIT = bool((ROOT / ".git").exists() and shutil.which("git"))  # a source tarball and a bare system haven't


def say(text):
    print(f"release: {text}", flush=True)


def run(*command, **settings):
    """Its output is shown only if it fails."""
    said = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          **settings)
    if said.returncode:
        sys.exit(f"{said.stdout[-6000:]}\nrelease: {' '.join(map(str, command[:3]))} ended with {said.returncode}")
    return said.stdout


def date():
    """Of all files, in seconds."""
    if given := os.environ.get("SOURCE_DATE_EPOCH"):
        return int(given)
    if HAS_GIT:
        return int(run("git", "log", "-1", "--format=%ct", cwd=ROOT))
    return int((ROOT / "README.md").stat().st_mtime)


EPOCH = date()


def sources():
    """The files of the source tree: those that git tracks, or where there is no git all but what was built."""
    if HAS_GIT:
        return sorted(run("git", "ls-files", cwd=ROOT).splitlines())
    found = []
    for folder, folders, files in os.walk(ROOT):
        folders[:] = [name for name in folders if name != "__pycache__" and pathlib.Path(folder, name) not in
                      (ROOT / "build", ROOT / "bindings/rust/target")]
        links = [name for name in folders if pathlib.Path(folder, name).is_symlink()]
        found += [str(pathlib.Path(folder, name).relative_to(ROOT)) for name in files + links]
    return sorted(found)


def write_tar(target, files):
    """files: [(path inside, file)]. Nothing but names, contents and the permission to execute is taken over."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for name, file in sorted(files):
            entry = archive.gettarinfo(file, name)
            entry.uid = entry.gid = 0
            entry.uname = entry.gname = "root"
            entry.mtime = EPOCH
            entry.mode = 0o755 if entry.mode & 0o100 else 0o644
            if entry.issym():
                archive.addfile(entry)
            elif entry.isreg() or entry.islnk():
                entry.type, entry.size = tarfile.REGTYPE, file.stat().st_size
                with open(file, "rb") as content:
                    archive.addfile(entry, content)
    with open(target, "wb") as out, gzip.GzipFile(filename="", mode="wb", fileobj=out, mtime=EPOCH) as squeezed:
        squeezed.write(packed.getvalue())


def write_zip(target, files):
    """files: [(path inside, bytes)]"""
    moment = datetime.datetime.fromtimestamp(max(EPOCH, 315619200), datetime.timezone.utc).timetuple()[:6]
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content in files:
            entry = zipfile.ZipInfo(name, moment)
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)


def source_tarball():
    name = f"libgpuorch-{VERSION}"
    write_tar(DIST / f"{name}.tar.gz", [(f"{name}/{path}", ROOT / path) for path in sources()])


def debian_packages():
    """From the source tarball; what it leaves in the folder that it returns is built."""
    folder = WORK / f"libgpuorch-{VERSION}"
    with tarfile.open(DIST / f"libgpuorch-{VERSION}.tar.gz") as archive:
        archive.extractall(WORK, filter="tar") if hasattr(tarfile, "data_filter") else archive.extractall(WORK)
    moment = datetime.datetime.fromtimestamp(EPOCH, datetime.timezone.utc).strftime("%a, %d %b %Y %H:%M:%S +0000")
    name, address = (os.environ.get("DEBFULLNAME", "libgpuorch"), os.environ.get("DEBEMAIL", "maintainer@libgpuorch.invalid"))
    words = {"@VERSION@": VERSION, "@ABI@": ABI, "@DATE@": moment, "@MAINTAINER@": f"{name} <{address}>"}
    shutil.copytree(HERE / "debian", folder / "debian")
    for path in (folder / "debian").glob("*.in"):
        text = path.read_text()
        for word, value in words.items():
            text = text.replace(word, value)
        path.with_name(re.sub(r"^libgpuorch(?=\.)", f"libgpuorch{ABI}", path.stem)).write_text(text)
        path.unlink()
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(EPOCH), "GPUORCH_DEPS": str(DEPS), "LC_ALL": "C.UTF-8",
                   "DEB_BUILD_OPTIONS": f"parallel={len(os.sched_getaffinity(0))} noautodbgsym"}
    run("dpkg-buildpackage", "--build=binary", "--no-sign", "--no-check-builddeps", cwd=folder, env=environment)
    packages = sorted(WORK.glob("*.deb"))
    run("lintian", "--fail-on", "error,warning", "--tag-display-limit", "0", "--allow-root", *packages)
    for package in packages:
        shutil.copy(package, DIST)
    return folder


def installed(folder):
    """The same build, installed as below /usr/local: in one lib folder, and its tools find the library from their place."""
    build = next(folder.glob("obj-*"))
    run("cmake", "-S", folder, "-B", build, "-DCMAKE_INSTALL_LIBDIR=lib", "-DCMAKE_SKIP_INSTALL_RPATH=OFF", "-DCMAKE_INSTALL_PREFIX=/usr/local")
    run("cmake", "--build", build)
    prefix = WORK / "prefix"
    run("cmake", "--install", build, "--prefix", prefix)
    for path in sorted(prefix.rglob("*")):
        if path.is_file() and not path.is_symlink() and (path.read_bytes()[:4] == b"\x7fELF" or path.suffix == ".a"):
            run("strip", "--enable-deterministic-archives", "--strip-debug" if path.suffix == ".a" else "--strip-unneeded",
                "--remove-section=.comment", path)
    documents = prefix / "share/doc/gpuorch"
    documents.mkdir(parents=True)
    for name in ("LICENSE", "README.md", "CHANGELOG.md"):
        shutil.copy(ROOT / name, documents)
    return prefix


def check_floors(prefix):
    for path in sorted(prefix.rglob("*")):
        if path.is_file() and not path.is_symlink() and path.read_bytes()[:4] == b"\x7fELF":
            wanted = re.findall(r"\b(GLIBC|GLIBCXX|CXXABI)_([\d.]+)", run("objdump", "-T", path))
            newer = sorted({f"{kind}_{number}" for kind, number in wanted if tuple(map(int, number.split("."))) > FLOORS[kind]})
            if newer:
                sys.exit(f"release: {path.relative_to(prefix)} needs {', '.join(newer)}, which {PLATFORM} hasn't")


def binary_tarball(prefix):
    name = f"libgpuorch-{VERSION}-linux-x86_64"
    write_tar(DIST / f"{name}.tar.gz", [(f"{name}/{path.relative_to(prefix)}", path) for path in prefix.rglob("*")
                                        if path.is_symlink() or path.is_file()])


def python_package(prefix):
    """The wheels and the sdist: a wheel for a Python with a GIL whose headers are here, and for each free-threaded one."""
    found = subprocess.run(["sh", "-c", ". .ci/look.sh && find_python"], cwd=ROOT, capture_output=True,
                           text=True).stdout.strip()
    if not found:
        sys.exit("release: there is no Python 3.11 or newer with its headers: .ci/setup python installs them")
    run(sys.executable, HERE / "wheels.py", "--python", found, "--more", "--sdist", prefix, DIST)


def rock():
    """A source rock holds the rockspec and the archive that it names. The headers are in it: it builds where the library isn't."""
    binding, name = ROOT / "bindings/lua", f"gpuorch-lua-{VERSION}"
    files = [(f"{name}/{path.relative_to(binding)}", path) for folder in ("lua", "src", "types") for path in (binding / folder).rglob("*")
             if path.is_file()]
    files += [(f"{name}/include/gpuorch/{path.name}", path) for path in (ROOT / "libgpuorch/include/gpuorch").glob("*.h")]
    files += [(f"{name}/LICENSE", ROOT / "LICENSE"), (f"{name}/README.md", binding / "README.md")]
    write_tar(WORK / f"{name}.tar.gz", files)
    text = (binding / f"gpuorch-{VERSION}-1.rockspec").read_text()
    text = re.sub(r"source = \{.*?\n\}", f'source = {{\n   url = "file://{name}.tar.gz",\n   dir = "{name}",\n}}', text, flags=re.S)
    text = re.sub(r"\nexternal_dependencies = \{.*?\n\}", "", text, flags=re.S)
    text = text.replace('"$(GPUORCH_INCDIR)"', '"include"')
    write_zip(DIST / f"gpuorch-{VERSION}-1.src.rock", [(f"gpuorch-{VERSION}-1.rockspec", text.encode()),
                                                      (f"{name}.tar.gz", (WORK / f"{name}.tar.gz").read_bytes())])


def reference():
    """The pages in HTML, with the guides: docs/index.html."""
    name, pages = f"libgpuorch-{VERSION}-docs", WORK / "docs"
    run(ROOT / "libgpuorch/docs/build", pages, env={**os.environ, "SOURCE_DATE_EPOCH": str(EPOCH)})
    write_tar(DIST / f"{name}.tar.gz", [(f"{name}/{path.relative_to(pages)}", path) for path in pages.rglob("*") if path.is_file()])


def crates(prefix):
    run(HERE / "crates", DIST, env={**os.environ, "GPUORCH_DIR": str(prefix)})


def main():
    began = time.monotonic()
    for folder in (WORK, DIST):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    say("the source tarball")
    source_tarball()
    say("Debian's packages: the library is built, in some minutes")
    folder = debian_packages()
    say("the binary tarball, the Python package, the rock, the crates and the reference")
    prefix = installed(folder)
    check_floors(prefix)
    binary_tarball(prefix)
    python_package(prefix)
    rock()
    crates(prefix)
    reference()
    files = sorted(DIST.iterdir())
    (DIST / "SHA256SUMS").write_text("".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files))
    for path in files:
        print(f"{path.stat().st_size:>10}  {path.relative_to(ROOT)}")
    say(f"{len(files)} files and SHA256SUMS, after {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
