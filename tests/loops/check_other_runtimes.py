#!/usr/bin/env python3
"""The programs of samples/other_runtimes.md run as the page says, where the runtime is here: the page's code is put into files,
named by the first line of each, and the page's commands build and start the program."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "support"))
import built

PAGE = built.ROOT / "samples/other_runtimes.md"
SAYS = {"Node": "GPO_SUCCESS GPO_SUCCESS\n", "Go": "42 GPO_SUCCESS\n", "Java": "42 status 0\n"}


def sections():
    """{heading: [(language, code), …]}"""
    _, *parts = re.split(r"^## (.*)\n", PAGE.read_text(), flags=re.M)
    return {name: re.findall(r"^```(\w+)\n(.*?)^```", text, re.M | re.S) for name, text in zip(parts[::2], parts[1::2])}


def node():
    if not shutil.which("node"):
        return "there is no Node here", {}
    include = subprocess.run(["node", "-p", 'path.resolve(process.execPath, "../../include/node")'], capture_output=True, text=True)
    there = all(pathlib.Path(include.stdout.strip(), header).exists() for header in ("node_api.h", "uv.h"))
    return "" if there else "Node's headers aren't here", {}


def go():
    if not shutil.which("go"):
        return "there is no Go here (.ci/setup installs it)", {}
    return "", {"CGO_ENABLED": "1", "GOTOOLCHAIN": "local", "GOPROXY": "off", "GOFLAGS": "-mod=mod",
                "GOCACHE": os.environ.get("GOCACHE", str(built.BUILD.resolve() / "go-cache"))}


def java():
    """The java that the path leads to, or another one of this machine's."""
    for home in [shutil.which("java"), *sorted(pathlib.Path("/usr/lib/jvm").glob("*/bin/java"), reverse=True)]:
        said = subprocess.run([home, "--version"], capture_output=True, text=True).stdout if home else ""
        found = re.match(r"\S+ (\d+)", said)
        if found and int(found[1]) >= 22 and (pathlib.Path(home).resolve().parent / "javac").exists():
            return "", {"PATH": f"{pathlib.Path(home).parent}:{os.environ['PATH']}"}
    return "there is no JDK 22 or newer here", {}


def run(name, blocks, settings, folder):
    for language, code in blocks:
        if language != "sh":
            (folder / re.match(r"// (\S+)\n", code)[1]).write_text(code)
    (folder / "gpuorch.pc").write_text(
        "Name: gpuorch\nDescription: of the build\nVersion: 0\n"
        f"Libs: -L{built.LIBRARIES.resolve()} -lgpuorch\nCflags: -I{built.ROOT}/libgpuorch/include\n")
    commands = "".join(code for language, code in blocks if language == "sh")
    environment = {**os.environ, "PKG_CONFIG_PATH": str(folder), "GPUORCH_DEVICE": "soft",
                   "LD_LIBRARY_PATH": built.library_path(built.LIBRARIES.resolve()), **settings}
    try:
        outcome = subprocess.run(["sh", "-e", "-c", commands], cwd=folder, env=environment, text=True, timeout=300,
                                 capture_output=True)
        right, said = (outcome.returncode, outcome.stdout) == (0, SAYS[name]), f"{outcome.stdout}{outcome.stderr}"
    except subprocess.TimeoutExpired as late:
        right, said = False, f"{late.stdout} {late.stderr} (no end within 300 s)"
    report(name, right, said)


def report(name, right, said=""):
    title = f"{name}: the program of other_runtimes.md awaits a completion"
    print(f"PASS {title}" if right else f"{said[-4000:]}\nFAIL {title}", flush=True)


def offsets():
    """The numbers in the Java program are those of abi.json."""
    structs = {one["name"]: one for one in json.loads(built.ABI.read_text())["structs"]}
    entry = structs["gpo_completion"]
    fields = {field["name"]: field["offset"] for field in entry["fields"]}
    right = (entry["size"], fields["status"], fields["user_data"]) == (64, 4, 8)
    print(f"{'PASS' if right else 'FAIL'} the offsets in other_runtimes.md are those of abi.json{'' if right else ': ' + str(entry)}")


def main():
    found = sections()
    offsets()
    for name, needs in (("Node", node), ("Go", go), ("Java", java)):
        why_not, settings = needs()
        if why_not:
            print(f"SKIP {name}: the program of other_runtimes.md awaits a completion: {why_not}")
            continue
        with tempfile.TemporaryDirectory() as folder:
            run(name, found[name], settings, pathlib.Path(folder))


main()
