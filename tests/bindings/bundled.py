#!/usr/bin/env python3
"""The bindings' tests and samples on another machine, which has neither Lua nor Rust.

bundled.py --into BUNDLE   puts there what the tests need beside the samples (tests/bundle --bindings does it)
bundled.py --run BUNDLE [WORD]...   runs all on the device of GPUORCH_DEVICE, or those whose name has a word, such as rust;
                           the last line adds the tests up
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LUAS = ("lua5.4", "luajit")


def take_lua(bundle):
    """Beside the interpreters that are there: what the tests need more."""
    for lua in LUAS:
        folder = bundle / lua
        flags = subprocess.run(["pkg-config", "--cflags", lua], text=True, capture_output=True, check=True).stdout.split()
        subprocess.run(["cc", "-std=c11", "-D_GNU_SOURCE", "-O1", "-fPIC", "-shared", *flags, "-o", folder / "process.so",
                        HERE / "lua/process.c"], check=True)
        # luv; cqueues is more than one module, and needs OpenSSL.
        paths = subprocess.run([lua, "-e", "io.write(package.cpath)"], text=True, capture_output=True).stdout.split(";")
        for found in [path for path in paths if pathlib.Path(path.replace("?", "luv")).is_file()][:1]:
            module = found.replace("?", "luv")
            shutil.copy(module, folder)
            said = subprocess.run(["ldd", module], text=True, capture_output=True).stdout
            for needed in re.findall(r"libuv\S+ => (/\S+)", said):
                shutil.copy(needed, folder)


def take_rust(bundle):
    sys.path.insert(0, str(HERE / "rust"))
    import workspace
    folder = bundle / "rust"
    code, output = workspace.cargo("test", "--locked", "--no-run", "--features", "load", "--message-format=json",
                                   "-p", "gpuorch", "-p", "gpuorch-sys")
    if code != 0:
        sys.exit(f"{output}\nthe tests of the crates can't be built")
    for line in output.splitlines():
        if not line.startswith("{"):
            continue
        made = json.loads(line)
        if made.get("executable") and made["profile"]["test"]:
            shutil.copy(made["executable"], folder / f"{made['package_id'].split('/')[-1].split('#')[0]}-{made['target']['name']}-test")


def run_lua(bundle, wanted, tell):
    for lua in LUAS:
        folder = bundle / lua
        interpreter = folder / lua
        settings = {**os.environ, "LUA_PATH": f"{bundle}/share/lua/?.lua;;", "LUA_CPATH": f"{folder}/?.so;;",
                    "LD_LIBRARY_PATH": str(folder), "GPUORCH_TEST_HARNESS": str(HERE / "lua/harness.lua"),
                    "GPUORCH_TEST_LUA": str(interpreter), "GPUORCH_TEST_FILES": str(HERE / "lua")}
        settings["GPUORCH_TEST_VERSION"] = subprocess.run([interpreter, "-e", "io.write((_VERSION:gsub('Lua ', '')))"], text=True,
                                                          capture_output=True, env=settings).stdout
        for script in sorted((HERE / "lua").glob("*_test.lua")):
            if not wanted(f"{lua} {script.name}"):
                continue
            done = subprocess.run([interpreter, script], cwd=HERE / "lua", env=settings, text=True, timeout=120,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace")
            tell(f"{lua} {script.name}", done, re.findall(r"^(PASS|FAIL|SKIP) ", done.stdout, re.MULTILINE))


def run_rust(bundle, wanted, tell):
    for program in sorted((bundle / "rust").glob("*-test")):
        if not wanted(f"Rust {program.name}"):
            continue
        done = subprocess.run([program, "--test-threads=4", "--show-output"], text=True, timeout=240, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace")
        verdicts = {"ok": "PASS", "FAILED": "FAIL", "ignored": "SKIP"}
        skipped = re.findall(r"^SKIP (\S+): ", done.stdout, re.MULTILINE)
        tell(f"Rust {program.name}", done, ["SKIP" if name in skipped else verdicts[word] for name, word in
                                            re.findall(r"^test (.*) \.\.\. (ok|FAILED|ignored)", done.stdout, re.MULTILINE)])


def run_python(wanted, tell):
    if not wanted("Python check_module.py"):
        return
    done = subprocess.run([sys.executable, HERE / "python/check_module.py"], text=True, timeout=120, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace")
    tell("Python check_module.py", done, re.findall(r"^(PASS|FAIL|SKIP) ", done.stdout, re.MULTILINE))


def run(bundle, words):
    os.environ.setdefault("GPUORCH_DEVICE", "cuda")
    os.environ["GPUORCH_LIBRARY"] = os.environ["GPUORCH_COUNTED_LIBRARY"] = str(bundle / "lib/libgpuorch.so")
    counts = {"PASS": 0, "FAIL": 0, "SKIP": 0}
    began = time.monotonic()

    def wanted(name):
        return not words or any(word.lower() in name.lower() for word in words)

    def tell(name, done, verdicts):
        nonlocal began
        took, began = time.monotonic() - began, time.monotonic()
        for verdict in verdicts:
            counts[verdict] += 1
        broken = done.returncode != 0 and "FAIL" not in verdicts
        counts["FAIL"] += broken
        print(f"{name}: {verdicts.count('PASS')} passed, {verdicts.count('FAIL') + broken} failed, "
              f"{verdicts.count('SKIP')} skipped, {took:.1f} s", flush=True)
        if done.returncode != 0 or "FAIL" in verdicts:
            print(done.stdout[-6000:], f"exit code {done.returncode}", flush=True)

    run_lua(bundle, wanted, tell)
    run_rust(bundle, wanted, tell)
    run_python(wanted, tell)
    print(f"{counts['PASS']} passed, {counts['FAIL']} failed, {counts['SKIP']} skipped")
    return counts["FAIL"] != 0


if __name__ == "__main__":
    step, bundle, *words = sys.argv[1:]
    if step == "--run":
        sys.exit(run(pathlib.Path(bundle).resolve(), words))
    take_lua(pathlib.Path(bundle))
    take_rust(pathlib.Path(bundle))
