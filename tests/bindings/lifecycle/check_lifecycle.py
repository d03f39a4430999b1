#!/usr/bin/env python3
"""The cases of lifecycle.txt, by a driver in each language: each transcript is the file itself."""
import difflib
import os
import pathlib
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
BUILD = pathlib.Path(os.environ["GPUORCH_BUILD"])
CASES = HERE.parent / "lifecycle.txt"


def c(folder):
    program = folder / "driver"
    subprocess.run([*os.environ.get("CC", "cc").split(), "-std=c11", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror",
                    f"-I{ROOT}/libgpuorch/include", "-o", program, HERE / "driver.c", f"-L{BUILD}/libgpuorch", "-lgpuorch",
                    f"-Wl,-rpath,{BUILD}/libgpuorch"], check=True)
    return [program]


DRIVERS = {"C": c}


def lines(text):
    """{case: its steps}, without comments."""
    cases, name = {}, None
    for line in text.splitlines():
        if line.startswith("case "):
            name = line.removeprefix("case ")
            cases[name] = []
        elif line.strip() and not line.startswith("#"):
            cases[name].append(line)
    return cases


def transcript(command, text):
    result = subprocess.run(command, input=text, capture_output=True, text=True, timeout=120)
    return result.returncode, lines(result.stdout), result.stderr


def main():
    text = CASES.read_text()
    wanted = lines(text)
    with tempfile.TemporaryDirectory() as folder:
        for language, prepare in DRIVERS.items():
            command = prepare(pathlib.Path(folder))
            code, got, errors = transcript(command, text)
            for name, steps in wanted.items():
                difference = [line for line in difflib.ndiff(steps, got.get(name, [])) if line[0] in "-+"]
                print(f"FAIL {language}: {name}: {'; '.join(difference[:6])}" if difference else f"PASS {language}: {name}")
            if code != 0 or got.keys() - wanted.keys():
                print(f"FAIL {language}: the driver comes to its end: exit code {code} {errors[-400:]}")
            # Where a step comes to something else, the transcript says so.
            other = "case canary\nruntime r -> SUCCESS\nuse r -> TIMEOUT\nshutdown r -> CANCELLED\n"
            told = transcript(command, other)[1].get("canary")
            right = ["runtime r -> SUCCESS", "use r -> SUCCESS", "shutdown r -> SUCCESS"]
            print(f"PASS {language}: what didn't come true is not said" if told == right else
                  f"FAIL {language}: what didn't come true is not said: {told}")


main()
