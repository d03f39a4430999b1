#!/usr/bin/env python3
"""The version stands in one place, libgpuorch/release/version writes it everywhere else, and a change of the ABI is told."""
import copy
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]


def check(name, problem):
    print(f"FAIL {name}: {problem}" if problem else f"PASS {name}")


def version(root, *arguments):
    return subprocess.run([sys.executable, root / "libgpuorch/release/version", *arguments], capture_output=True, text=True)


def copy_of_tree(folder):
    """The files that can name a version."""
    for place, folders, files in os.walk(ROOT):
        left_out = {".git", "__pycache__", "target"} | ({"build"} if pathlib.Path(place) == ROOT else set())
        folders[:] = [name for name in folders if name not in left_out]
        for source in (pathlib.Path(place, name) for name in files):
            if not source.is_symlink() and source.stat().st_size < 1 << 20:
                target = folder / source.relative_to(ROOT)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(source, target)
    return folder


def named_by_packages(tree, version):
    """The manifests, locks and texts that give this version to a package of ours."""
    texts = [path for pattern in ("bindings/*/*.rockspec", "README.md", "libgpuorch/docs/guides/*.md", "bindings/*/README.md",
                                  "bindings/rust/*/Cargo.toml", "samples/rust/*/Cargo.toml", "bindings/rust/Cargo.toml",
                                  "bindings/python/pyproject.toml") for path in tree.glob(pattern)]
    found = [f"{path.relative_to(tree)}: {line.strip()}" for path in texts for line in path.read_text().splitlines()
             if version in line and ("gpuorch" in line or re.match(r'version = "', line))]
    for path in [*tree.glob("bindings/rust/Cargo.lock"), *tree.glob("samples/rust/*/Cargo.lock")]:
        found += [f"{path.name}: {one['name']}" for one in tomllib.loads(path.read_text())["package"]
                  if one["name"].startswith("gpuorch") and version in one["version"]]
    return found


def gate():
    """What libgpuorch/release/abi_changes says of changes of an ABI."""
    loader = importlib.machinery.SourceFileLoader("abi_changes", str(ROOT / "libgpuorch/release/abi_changes"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    abi = json.loads((ROOT / "libgpuorch/abi.json").read_text())
    before = module.lines(abi)
    end = abi["functions"][-1]["offset"]
    added, gone, shorter, longer, inserted, another = (copy.deepcopy(abi) for _ in range(6))
    added["functions"].append({**abi["functions"][-1], "name": "gpo_made_up", "offset": end + 8})
    del gone["functions"][7]
    struct = next(i for i, one in enumerate(abi["structs"]) if one["name"] == "gpo_launch")
    fields = abi["structs"][struct]["fields"]
    shorter["structs"][struct]["fields"] = [*fields[:-1], {**fields[-1], "name": "made_up"}]
    longer["structs"][struct]["fields"] = [*fields, {**fields[-1], "name": "made_up", "offset": fields[-1]["offset"] + 8}]
    inserted["structs"][struct]["fields"] = [*fields[:2], {**fields[1], "name": "made_up", "offset": fields[1]["offset"] + 1}, *fields[2:]]
    another["functions"][3]["parameters"][0]["type"] = "int"
    word = another["functions"][3]["name"]
    heading = "\n\n## 0.1.0\n"
    # (the change, the changed ABI, the new version, CHANGELOG.md, does it pass)
    cases = [("nothing", abi, "0.1.0", "", True), ("a new function, told", added, "0.1.1", "- ABI: gpo_made_up is new" + heading, True),
             ("a new function, told by a pattern", added, "0.1.1", "ABI: new:\n  `gpo_made_*`." + heading, True),
             ("a new function, not told", added, "0.1.1", "- gpo_made_up is new" + heading, False),
             ("a new function, told of the release", added, "0.1.1", heading + "- ABI: gpo_made_up is new", False),
             ("another new function, told", added, "0.1.1", "ABI: gpo_made_ups is new" + heading, False),
             ("a field behind the last, told", longer, "0.1.1", "ABI: `gpo_launch.made_up`." + heading, True),
             ("a field between others, told", inserted, "0.1.1", "ABI: `gpo_launch.made_up`." + heading, False),
             ("a field with another name, told", shorter, "0.1.1", "ABI: gpo_launch" + heading, False),
             ("a field with another name, told, in a new minor version", shorter, "0.2.0", "ABI: gpo_launch" + heading, True),
             ("a function that is gone, told", gone, "0.1.9", f"ABI: {abi['functions'][7]['name']}" + heading, False),
             ("another parameter, told", another, "0.1.1", f"ABI: {word}" + heading, False),
             ("another parameter, told, in a new minor version", another, "0.2.0", f"ABI: {word}" + heading, True),
             ("another parameter, not told, in a new minor version", another, "0.2.0", heading, False)]
    check("a change of the ABI passes if it is told, and what breaks programs only in a new minor version",
          [what for what, now, version, changelog, passes in cases
           if passes != (not module.complaints("0.1.0", before, now, version, changelog))])
    from_one = [module.complaints("1.4.0", before, another, version, f"ABI: {word}") for version in ("1.5.0", "2.0.0")]
    check("from 1.0 on what breaks programs takes a new major version", "" if from_one[0] and not from_one[1] else from_one)


def main():
    told = subprocess.run([sys.executable, ROOT / "libgpuorch/release/abi_changes"], capture_output=True, text=True)
    check("the ABI is that of the last release, or CHANGELOG.md tells what has changed", told.stderr.strip())
    gate()
    told = version(ROOT, "--check")
    check("every file has the version and the SONAME of types.h", told.stderr.strip() or told.stdout.strip())
    with tempfile.TemporaryDirectory() as folder:
        tree = copy_of_tree(pathlib.Path(folder))
        here = version(tree).stdout.strip()
        major, minor, patch = here.split(".")
        other = f"{major}.{int(minor) + 22}.7"
        written = version(tree, other)
        told = version(tree, "--check")
        left = [str(path.relative_to(tree)) for path in tree.rglob("*") if path.is_file() and path.name not in ("CHANGELOG.md", "abi.json")
                and f"libgpuorch.so.{major}.{minor}".encode() in path.read_bytes() and "release/abi" not in str(path)]
        left += named_by_packages(tree, here)
        check("another version is written everywhere", written.stderr or told.stderr or left or
              ("" if version(tree).stdout.strip() == other and (tree / f"bindings/lua/gpuorch-{other}-1.rockspec").exists() else "it isn't there"))
        for name, before, after in (("bindings/rust/gpuorch/Cargo.toml", other, here), ("bindings/lua/README.md", f".so.{major}.", ".so.7."),
                                    ("libgpuorch/include/gpuorch/types.h", "_PATCH 7", "_PATCH 8")):
            path = tree / name
            text = path.read_text()
            path.write_text(text.replace(before, after, 1))
            told = version(tree, "--check")
            check(f"a version that is wrong in {pathlib.Path(name).name} is named", "" if told.returncode and name in told.stderr else told.stderr or "it isn't")
            path.write_text(text)


main()
