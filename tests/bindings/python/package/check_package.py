#!/usr/bin/env python3
"""The Python package as a whole: effects of the import, made files that are up to date, stubs that match the modules,
the wheel in an environment of its own, the C module's file."""
import ast
import base64
import hashlib
import importlib
import inspect
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import zipfile

from harness import BUILD, FULL, LIBRARY, ROOT, report, run, skip

SOURCE, WHEELS = ROOT / "bindings/python", ROOT / "libgpuorch/release/wheels.py"
OUT = pathlib.Path(os.environ["GPUORCH_TEST_OUT"])
IMPORT = """import time
begun = time.perf_counter()
import gpuorch
print(time.perf_counter() - begun)
print(*sorted({line.split()[-1] for line in open("/proc/self/maps") if "libgpuorch" in line or "libcuda" in line}))
import threading, sys
print(threading.active_count(), len(__import__("os").listdir("/proc/self/task")))
print(*sorted({"numpy", "torch", "cupy", "ctypes"} & set(sys.modules)))
"""


def importing():
    """Nothing of the library is opened, no thread begins, and neither ctypes nor a module of arrays is imported."""
    seconds = []
    for _ in range(7):
        result = run(IMPORT, without=("PYTHONDONTWRITEBYTECODE",))  # as installed: the first of these imports compiles
        if result.returncode:
            report("import gpuorch", result.returncode, 0, result.stderr)
            return
        time, libraries, threads, modules = result.stdout.split("\n")[:4]
        seconds.append(float(time))
    print(f"import gpuorch took {statistics.median(seconds) * 1000:.1f} ms, the median of {len(seconds)}")
    report("import opens neither the library nor the driver", libraries, "")
    report("import begins no thread", threads, "1 1")
    report("import leaves modules that aren't needed yet alone", modules, "")
    result = run("import gpuorch\nprint(gpuorch.__name__)", GPUORCH_LIBRARY="/none/libgpuorch.so")
    report("import works without the library", (result.returncode, result.stdout, result.stderr), (0, "gpuorch\n", ""))


def generated():
    script = SOURCE / "generate/generate.py"
    result = run(sys.executable, script, "--check")
    report("generate.py --check finds all files current", (result.returncode, result.stdout + result.stderr), (0, ""))


# Stubs: each name of a .pyi is there at run time, and each public name of the module is in its .pyi.

def names_of(body):
    """{name: node} of what a stub's module or class declares; overloads once."""
    found = {}
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found[node.name] = node
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found[node.target.id] = node
        elif isinstance(node, ast.Assign):
            found |= {target.id: node for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, (ast.ImportFrom, ast.Import)):  # `import x as x` declares x again; others are the stub's own
            found |= {alias.asname: node for alias in node.names if alias.asname and alias.asname == alias.name}
        elif isinstance(node, ast.If):
            found |= names_of(node.body) | names_of(node.orelse)
    return found


def parameters_of(node):
    """The names of a stub's function, without self, or None for overloads and *args."""
    overloaded = any(getattr(word, "id", getattr(word, "attr", "")) == "overload" for word in node.decorator_list)
    if overloaded or node.args.vararg or node.args.kwarg:
        return None
    found = [argument.arg for argument in node.args.posonlyargs + node.args.args + node.args.kwonlyargs]
    return found[1:] if found[:1] in (["self"], ["cls"]) else found


def parameters_at_run_time(function):
    """Like parameters_of, for a Python function. Other objects and *args: None."""
    if not inspect.isfunction(function):
        return None
    values = inspect.signature(function).parameters.values()
    if any(value.kind in (value.VAR_POSITIONAL, value.VAR_KEYWORD) for value in values):
        return None
    found = [value.name for value in values]
    return found[1:] if found[:1] in (["self"], ["cls"]) else found


def typing_only(name, node):
    """True for names that only a stub has: types for the type checker. By convention their names are private."""
    if name.startswith("_") and not name.endswith("__") or name == "__getattr__":
        return True
    if name == "__buffer__":  # from 3.12 on a method, before in C alone
        return sys.version_info < (3, 12)
    if isinstance(node, ast.Assign):
        value = ast.unparse(node.value)
        return value.startswith(("TypeVar", "ParamSpec", "Union[", "Literal[", "Callable["))
    if isinstance(node, ast.AnnAssign):
        return ast.unparse(node.annotation).endswith("TypeAlias")
    return isinstance(node, ast.ClassDef) and any(ast.unparse(base).split("[")[0].split(".")[-1] in ("Protocol", "TypedDict")
                                                  for base in node.bases)


def compare_stub(where, body, thing, wrong):
    declared = names_of(body)
    for name, node in declared.items():
        if typing_only(name, node) or isinstance(node, (ast.Import, ast.ImportFrom)) and not hasattr(thing, name):
            continue
        if not hasattr(thing, name):
            # Attributes of objects are only annotated; the class has no such name.
            if not (inspect.isclass(thing) and isinstance(node, ast.AnnAssign)):
                wrong.append(f"{where}.{name} isn't there")
            continue
        # A module may make its names when they are asked for.
        there = inspect.getattr_static(thing, name, getattr(thing, name))
        there = there.__func__ if isinstance(there, (staticmethod, classmethod)) else there
        if isinstance(node, ast.ClassDef) and inspect.isclass(there):
            compare_stub(f"{where}.{name}", node.body, there, wrong)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            said, real = parameters_of(node), parameters_at_run_time(there)
            if said is not None and real is not None and said != real:
                wrong.append(f"{where}.{name}({', '.join(said)}) is ({', '.join(real)})")
    return declared


def members(name, classes, seen=()):
    """The names that a stub declares for a class and its bases."""
    node = classes.get(name)
    if not isinstance(node, ast.ClassDef) or name in seen:
        return set()
    bases = {ast.unparse(base).split(".")[-1].split("[")[0] for base in node.bases}
    return set(names_of(node.body)).union(*(members(base, classes, (*seen, name)) for base in bases))


def stubs():
    """Stubs and modules have the same names, by their files, since a type checker runs nothing."""
    package = pathlib.Path(importlib.import_module("gpuorch").__file__).parent
    report("the package is marked as typed", (package / "py.typed").exists(), True)
    paths = sorted(package.glob("*.pyi"))
    report("the package has stubs", "__init__.pyi" in [path.name for path in paths], True)
    trees = {path.stem: ast.parse(path.read_text()) for path in paths}
    everywhere = {name: node for tree in trees.values() for name, node in names_of(tree.body).items()
                  if isinstance(node, ast.ClassDef)}
    for stem, tree in trees.items():
        name = "gpuorch" if stem == "__init__" else f"gpuorch.{stem}"
        try:
            module, wrong = importlib.import_module(name), []
        except ImportError as error:
            report(f"{stem}.pyi is of a module that is there", str(error), "")
            continue
        declared = set(compare_stub(name, tree.body, module, wrong))
        if stem.startswith("_") and stem != "__init__":  # of the package itself: it declares what type checkers need
            report(f"{stem}.pyi has nothing but what {name} has", wrong, [])
            continue
        starred = {there for node in tree.body if isinstance(node, ast.ImportFrom) and node.names[0].name == "*"
                   for there in (names_of(trees[node.module].body) if node.module in trees else
                                 vars(importlib.import_module(f"gpuorch.{node.module}")))}
        public = {key for key, value in vars(module).items() if not key.startswith("_") and not inspect.ismodule(value) and
                  getattr(value, "__module__", name).partition(".")[0] in ("gpuorch", "_gpuorch")}
        public = {key for key in getattr(module, "__all__", public) if not inspect.ismodule(getattr(module, key))}
        wrong += [f"{name}.{key} isn't declared" for key in sorted(public - declared - starred)]
        for key in sorted(public):
            value, classes = getattr(module, key), everywhere | names_of(tree.body)
            if inspect.isclass(value) and key in classes and value.__module__ in (name, "gpuorch"):
                own = {member for base in value.__mro__ if base.__module__.partition(".")[0] == "gpuorch"
                       for member in vars(base) if not member.startswith("_")}
                wrong += [f"{name}.{key}.{member} isn't declared" for member in sorted(own - members(key, classes))]
        report(f"{stem}.pyi has the names and parameters of {name}", wrong, [])


def type_checkers():
    """mypy and pyright on the samples and on a program that is wrong in many lines, where they are installed."""
    programs = [*sorted((ROOT / "samples/python/package").glob("*.py")), pathlib.Path(__file__).with_name("typed_program.py")]
    for words in (["mypy", "--strict", "--cache-dir", OUT / "mypy"], ["pyright"]):
        if not shutil.which(words[0]):
            skip(f"{words[0]} finds what is wrong, and nothing else", "it isn't installed")
            continue
        if words[0] == "pyright":
            settings = {"typeCheckingMode": "strict", "extraPaths": [os.environ["PYTHONPATH"]],
                        "reportUnnecessaryTypeIgnoreComment": True}
            (OUT / "pyrightconfig.json").write_text(json.dumps(settings))
            words += ["--project", OUT / "pyrightconfig.json"]
        result = run(*words, *programs, folder=OUT, seconds=200, MYPYPATH=os.environ["PYTHONPATH"])
        said = (result.stdout + result.stderr)[-4000:]
        report(f"{words[0]} finds what is wrong, and nothing else", result.returncode, 0, said)


def module_file():
    module, = pathlib.Path(importlib.import_module("gpuorch").__file__).parent.glob("_gpuorch.*.so")
    dynamic = run("readelf", "--dynamic", "--wide", module).stdout
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic))
    more = needed - {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2"}
    report("the module is linked to the C library alone", more, set(), dynamic)
    symbols = [line.split()[-1] for line in run("nm", "-D", "--defined-only", module).stdout.splitlines()]
    right = "PyModExport__gpuorch" if module.name == "_gpuorch.abi3t.so" else "PyInit__gpuorch"
    report("the module exports PyInit__gpuorch and nothing else", symbols, [right])
    lines = [line.split() for line in run("nm", "-D", "--undefined-only", module).stdout.splitlines()]
    others = [name for kind, name in lines if kind == "U" and "@" not in name and not re.match(r"_?Py", name)]
    report("the module calls nothing but Python and the C library", others, [])
    # Headers from Python 3.13 on don't heed PY_SSIZE_T_CLEAN, without which 3.11 and 3.12 refuse formats with #.
    lines = "\n".join(path.read_text() for path in sorted((SOURCE / "src").glob("*.c"))).splitlines()
    sized = [line for line in lines if re.search(r'"[^"]*[suyz]#[^"]*"', line)]
    report("a module built with newer headers runs in Python 3.11: no format has #", sized, [])


def sum_of(content):
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def wheel():
    """Two builds make the same wheel. Installed away from this tree, the wheel runs the first program with its library."""
    made = []
    for name in ("dist", "again"):
        result = run(sys.executable, WHEELS, "--here", "--python", sys.executable, LIBRARY, OUT / name, seconds=200)
        made.append(sorted((OUT / name).glob("*.whl")))  # of Python 3.15 and later: one for all GILs, too
        if result.returncode or not made[-1]:
            report("the wheel is made", result.returncode, 0, result.stdout + result.stderr)
            return
    contents = [[path.read_bytes() for path in paths] for paths in made]
    report("the wheel, made again, is the same, bit for bit", contents[0] == contents[1], True)
    report("the wheel has at most 10 MB", max(map(len, contents[0])) <= 10_000_000, True)
    path = made[0][0]
    with zipfile.ZipFile(path) as archive:
        inside = {name: archive.read(name) for name in archive.namelist()}
    record = next(name for name in inside if name.endswith("/RECORD"))
    lines = {line.rsplit(",", 2)[0]: line.rsplit(",", 2)[1:] for line in inside[record].decode().splitlines()}
    right = {name: [f"sha256={sum_of(content)}", str(len(content))] for name, content in inside.items()} | {record: ["", ""]}
    report("the wheel's record has the sum of each file", lines, right)
    for python in ("_gpuorch.", "libgpuorch.so.", "__init__.py", "__init__.pyi", "py.typed"):
        report(f"the wheel has {python}", any(name.startswith(f"gpuorch/{python}") for name in inside), True)
    install(path)


def install(path):
    venv = OUT / "venv"
    result = run(sys.executable, "-m", "venv", venv, seconds=200, without=("PYTHONPATH",))
    if result.returncode:
        skip("the wheel installs into a fresh environment", "python3 can't make one (on Debian the package python3-venv)")
        return
    clean = dict(without=("PYTHONPATH", "GPUORCH_LIBRARY", "LD_LIBRARY_PATH"), folder=venv)
    words = ("install", "--quiet", "--no-index", "--disable-pip-version-check", path)
    result = run(venv / "bin/pip", *words, seconds=200, **clean)
    report("the wheel installs into a fresh environment", (result.returncode, result.stdout), (0, ""), result.stderr)
    result = run(venv / "bin/python", ROOT / "samples/python/package/first.py", **clean)
    said = result.returncode, result.stdout
    report("the first program runs with the wheel", said, (0, "x[1000] is 500\n"), result.stderr)
    script = "import gpuorch, pathlib\nprint(gpuorch.__file__)\ngpuorch.Runtime(device='soft')\n" \
             "print(*sorted({line.split()[-1] for line in open('/proc/self/maps') if 'libgpuorch' in line}))"
    result = run(venv / "bin/python", "-c", script, **clean)
    places = [line.startswith(str(venv)) for line in result.stdout.splitlines()]
    said = result.stdout + result.stderr
    report("the wheel's package opens the wheel's library", (result.returncode, places), (0, [True, True]), said)
    result = run(venv / "bin/pip", "uninstall", "--quiet", "--yes", "gpuorch", **clean)
    left = [file for file in venv.rglob("*gpuorch*") if file.is_file() and file.suffix != ".pyc"]
    report("the wheel is taken away whole", (result.returncode, left), (0, []), result.stderr)


def sdist():
    """With --full: scikit-build-core builds the module from the archive, where it is installed."""
    name = "the sdist builds a wheel by scikit-build-core"
    if not FULL:
        return
    if importlib.util.find_spec("scikit_build_core") is None:
        skip(name, "scikit-build-core isn't installed")
        return
    result = run(sys.executable, WHEELS, "--here", "--sdist", LIBRARY, OUT / "sdist", seconds=200)
    archive = next((OUT / "sdist").glob("*.tar.gz"), None)
    if result.returncode or not archive:
        report(name, result.returncode, 0, result.stdout + result.stderr)
        return
    result = run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index",
                 "-C", "cmake.define.GPUORCH_PYTHON_WITH_LIBRARY=OFF", "-w", OUT / "built", archive, seconds=400)
    inside = [entry for path in (OUT / "built").glob("*.whl") for entry in zipfile.ZipFile(path).namelist()]
    report(name, (result.returncode, [part for part in ("__init__.py", "_gpuorch.") if not any(
        entry.startswith(f"gpuorch/{part}") for entry in inside)]), (0, []), result.stdout + result.stderr)


def main():
    importing()
    if not (SOURCE / "generate").is_dir():
        skip("generate.py --check finds all files current", "a bundle has no sources")
    else:
        generated()
    stubs()
    type_checkers()
    module_file()
    wheel()
    sdist()


main()
