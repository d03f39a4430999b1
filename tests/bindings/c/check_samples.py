#!/usr/bin/env python3
"""C's samples beside the main job: the first program, built as its first lines say, the graph templates, and the one that loads the library
with dlopen, also where that is missing, older, newer or something else. The first programs as README.md shows them, the lines of
samples that the guides show, and samples/run's choice of a language."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.append(str(ROOT / "tests/support"))
import machine

BUILD = pathlib.Path(os.environ["GPUORCH_BUILD"])
LIBRARY = BUILD / "libgpuorch/libgpuorch.so.0.1"
ODD = BUILD / "tests/libgpuorch_odd.so"


def report(name, got, right, more=""):
    print(f"PASS {name}" if got == right else f"FAIL {name}: {got!r} in place of {right!r} {more}")


def build(name, folder, *libraries):
    program = folder / name
    subprocess.run([*os.environ.get("CC", "cc").split(), "-std=c11", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror",
                    f"-I{ROOT}/libgpuorch/include", "-o", program, ROOT / f"samples/c/{name}.c", *libraries], check=True)
    return program


def run(program, *words, **settings):
    return subprocess.run([program, *words], env={**os.environ, **settings}, capture_output=True, text=True, timeout=120)


def shows_lines(guide, heading, sample, languages=("c",), lines=None):
    """The blocks of code below a heading of a guide have only lines of a sample."""
    text = (ROOT / "libgpuorch/docs/guides" / guide).read_text()
    blocks = re.findall(r"```(\w+)\n(.*?)```", text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0], flags=re.S)
    lines = lines or {line.strip() for line in (ROOT / "samples/c" / sample).read_text().splitlines()}
    missing = [line for _, block in blocks for line in block.splitlines() if line.strip() not in lines]
    report(f"{guide} shows lines of {sample}", (tuple(language for language, _ in blocks), missing), (languages, []))


def first(folder):
    for name, right in (("first", "x[1000] is 500\n"), ("completion", "42: GPO_SUCCESS, x[1000] is 500\n")):
        program = build(name, folder, f"-L{LIBRARY.parent}", "-lgpuorch", f"-Wl,-rpath,{LIBRARY.parent}")
        result = run(program)
        report(f"{name}.c computes", (result.returncode, result.stdout, result.stderr), (0, right, ""))
        result = run(program, GPUORCH_DEVICE="nonsense")
        report(f"{name}.c says what failed", (result.returncode, "gpo_runtime_create: " in result.stderr), (1, True), result.stderr)


def recorded(folder):
    program = build("graph_template", folder, f"-L{LIBRARY.parent}", "-lgpuorch", f"-Wl,-rpath,{LIBRARY.parent}")
    result = run(program)
    report("graph_template.c computes", (result.returncode, result.stdout, result.stderr),
           (0, "times 2: x[100] is 200\ntimes 3: x[100] is 600\ntimes 4: x[100] is 2400\n", ""))
    shows_lines("which_object.md", "A graph that is recorded once", "graph_template.c")


def decided(folder):
    program = build("decode_loop", folder, f"-L{LIBRARY.parent}", "-lgpuorch", f"-Wl,-rpath,{LIBRARY.parent}")
    picture = folder / "decode_loop.svg"
    result = run(program, picture)
    ended, limited = "the graph goes on until it has made the end of a sentence.", "the host" + 6 * " waits and" + " wai (the limit)"
    right = (f"by the graph: {ended}\n    49 tokens, 2 host calls, T us\nby the host: {ended}\n    49 tokens, 199 host calls, T us\n"
             f"by the graph: {limited}\n    64 tokens, 2 host calls, T us\nby the host: {limited}\n    64 tokens, 259 host calls, T us\n"
             "host calls per further token: 0 by the graph, 4 by the host\n")
    report("decode_loop.c makes the same by the graph, without the host", (result.returncode, re.sub(r"\d+\.\d us", "T us", result.stdout),
           result.stderr), (0, right, ""))
    texts = ["".join(text.itertext()) for text in xml.etree.ElementTree.parse(picture).iter("{http://www.w3.org/2000/svg}text")]
    report("and draws its graph", [word for word in ("decode", "score", "append", "body", "7 nodes; launched 40 times") if word not in texts], [])


def scheduled(folder):
    program = build("decode_scheduler", folder, f"-L{LIBRARY.parent}", "-lgpuorch", f"-Wl,-rpath,{LIBRARY.parent}")
    result = run(program)
    said = result.stdout
    for figure, word in ((r"\d+\.\d us", "T us"), (r"\d\d host calls", "C host calls"), (r"\d+\.\d\d times", "N times"), (r"\d+ %", "P %")):
        said = re.sub(rf"\b{figure}", word, said)
    waits = "the host" + 6 * " waits and"
    sentences = ("the graph goes on until it has made the end of a sentence.", f"{waits} wai", "it has made the end of a sentence.",
                 "the end of a sentence.", "until it has made the end of a sentence.", "a sentence.", f"{waits} waits",
                 "goes on until it has made the end of a sentence.")
    right = ("by the scheduler: 301 tokens for 8 requests, C host calls, T us\nby the host: 301 tokens for 8 requests, 626 host calls, T us\n" +
             "".join(f"    {sentence}\n" for sentence in sentences) +
             "host calls per further token: 0 by the scheduler, 2 by the host\nthe host's loop takes N times as long\n"
             "the scheduler did 3205 tasks, and was busy for P % of the time\n")
    report("decode_scheduler.c makes the same by the scheduler, without the host, while requests join and leave",
           (result.returncode, said, result.stderr), (0, right, ""))


def handed_out(folder):
    program = build("uneven_work", folder, f"-L{LIBRARY.parent}", "-lgpuorch", f"-Wl,-rpath,{LIBRARY.parent}")
    result = run(program)
    lines = [re.sub(r"\d+\.\d\d ms", "T ms", line) for line in result.stdout.splitlines()]
    report("uneven_work.c draws the same three ways", (result.returncode, lines, result.stderr),
           (0, ["as many rows to each warp: T ms", "a row at a time: T ms", "the longest rows first: T ms"], ""))
    sample = (ROOT / "samples/c/uneven_work.c").read_text()
    lines = {line.strip() for line in sample.replace('\\n"', "").replace('\\"', '"').replace('    "', "").splitlines()}
    lines.add("#include <gpuorch/device/queue.cuh>")
    shows_lines("which_object.md", "A range that a kernel works on", "uneven_work.c", ("c", "cuda"), lines)


def summed(folder):
    program = build("bucketed_allreduce", folder, f"-L{LIBRARY.parent}", "-lgpuorch", f"-Wl,-rpath,{LIBRARY.parent}")
    result = run(program, GPUORCH_SOFT_DEVICES="4")
    said = re.sub(r"\d+\.\d\d ms", "T ms", result.stdout)
    report("bucketed_allreduce.c sums the gradients of four devices", (result.returncode, said, result.stderr),
           (0, "4 devices, 8 buckets of 32768 gradients: T ms a step, T ms with sums beside the next bucket, 0 wrong\n", ""))
    shows_lines("several_gpus.md", "A collective", "bucketed_allreduce.c")


def trained(folder):
    program = build("perceptron", folder, f"-L{LIBRARY.parent}", "-lgpuorch", "-lm", f"-Wl,-rpath,{LIBRARY.parent}")
    for devices in ("1", "4"):
        result = run(program, GPUORCH_SOFT_DEVICES=devices)
        found = re.fullmatch(rf"{devices} devices: loss (\S+) at first, (\S+) after 30 steps, (\S+) after 60\n(.*)\n", result.stdout)
        losses = [float(word) for word in found.groups()[:3]] if found else []
        report(f"perceptron.c learns on {devices} devices as on one",
               (result.returncode, result.stderr, found and found[4], losses == sorted(losses, reverse=True) and len(losses) == 3),
               (0, "", "every device has the weights of one device that trains alone, bit for bit", True), result.stdout)
    picture = pathlib.Path(folder, "training.svg")
    result = run(program, picture, GPUORCH_SOFT_DEVICES="2")
    drawn = picture.read_text() if picture.exists() else ""
    report("perceptron.c draws its steps", (result.returncode, result.stderr, {word for word in ("gradients", "second layer", "first layer", "descend") if f"`{word}`" in drawn}),
           (0, "", {"gradients", "second layer", "first layer", "descend"}), result.stdout)


def served(folder):
    program = build("serve", folder, f"-L{LIBRARY.parent}", "-lgpuorch", "-lm", "-pthread", f"-Wl,-rpath,{LIBRARY.parent}")
    result = run(program, "50")
    found = re.fullmatch(r"(\d+) requests, (\d+) refused, (\d+) in time: \d+ a second, \S+ a batch; p50 \S+ ms, p99 \S+ ms; (\d+) wrong\n",
                         result.stdout)
    requests, refused, in_time, wrong = map(int, found.groups()) if found else (0, 0, 0, 1)
    report("serve.c answers its clients as the CPU does", (result.returncode, result.stderr, requests, refused + in_time <= requests, wrong),
           (0, "", 104, True, 0), result.stdout)
    shows_lines("serving.md", "A batcher", "serve.c")


def joined(folder):
    program = build("ranks", folder, f"-L{LIBRARY.parent}", "-lgpuorch", f"-Wl,-rpath,{LIBRARY.parent}")
    right = [f"rank {rank} of 3: the sum is 6, by the host" for rank in range(3)]
    ranks = [subprocess.Popen([program, str(rank), "3", folder / "group"], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
             for rank in range(3)]
    said = [rank.communicate(timeout=120)[0] for rank in ranks]
    report("ranks.c: three processes have the sum, by a file", ([rank.returncode for rank in ranks], said),
           ([0, 0, 0], [line + "\n" for line in right]))
    mpirun = machine.mpirun(3)
    if not mpirun:
        print("SKIP ranks.c: three processes have the sum, by MPI: there is no mpirun of Open MPI")
        return
    result = run(mpirun[0], *mpirun[1:], program, **machine.MPIRUN_ENVIRONMENT)
    report("ranks.c: three processes have the sum, by MPI", (result.returncode, sorted(re.findall("rank .*host", result.stdout))), (0, right),
           result.stdout + result.stderr)


def loaded(folder):
    program = build("dlopen", folder, "-ldl")
    needed = subprocess.run(["readelf", "-d", program], capture_output=True, text=True, check=True).stdout
    report("dlopen.c doesn't link the library", "gpuorch" in needed, False)
    result = run(program, GPUORCH_LIBRARY=str(LIBRARY))
    report("dlopen.c computes", (result.returncode, result.stdout, result.stderr),
           (0, "driver soft, entry 7: GPO_SUCCESS, the last of 256 is 42\n", ""))
    text = folder / "text.so"
    text.write_text("not a library")
    for name, settings, words in (
            ("no library", {"GPUORCH_LIBRARY": "/none/libgpuorch.so"}, "/none/libgpuorch.so"),
            ("a file that is none", {"GPUORCH_LIBRARY": str(text)}, "text.so"),
            ("a library that is another", {"GPUORCH_LIBRARY": "libc.so.6"}, "no gpo_get_api"),
            ("one that refuses the version", {"GPUORCH_LIBRARY": str(ODD), "GPUORCH_ODD": "refusing"}, "can't serve version 100"),
            ("an older one", {"GPUORCH_LIBRARY": str(ODD), "GPUORCH_ODD": "truncated"}, "older")):
        result = run(program, GPUORCH_COUNTED_LIBRARY=str(LIBRARY), **settings)
        report(f"dlopen.c says so where it finds {name}", (result.returncode, words in result.stderr), (1, True), result.stderr)
    result = run(program, GPUORCH_COUNTED_LIBRARY=str(LIBRARY), GPUORCH_LIBRARY=str(ODD), GPUORCH_ODD="extended")
    report("dlopen.c works with a newer library", (result.returncode, "is 42" in result.stdout), (0, True), result.stderr)


# What a first program may have before the part that README.md shows: comments.
LEFT_OUT = {"c": r"(/\*((?!\*/)[\s\S])*\*/\n)+", "cpp": r"(//.*\n)+", "rust": r"(//!.*\n)+", "lua": r"(--.*\n)+",
            "python": r'"""[^"]*"""\n'}


def readme():
    """README.md is short, and shows each first program as it is, whole and in at most 25 lines."""
    text = (ROOT / "README.md").read_text()
    report("README.md has at most 1,600 words", len(text.split()) <= 1600, True, f"it has {len(text.split())}")
    shown = text[text.index("## A first program"):]
    shown = dict(re.findall(r"```(c|cpp|rust|lua|python)\n(.*?)```", shown[:shown.index("\n## ", 3)], flags=re.S))
    for folder, suffix in (("c", "c"), ("cpp", "cpp"), ("rust", "rs"), ("lua", "lua"), ("python/package", "py")):
        program, language = ROOT / f"samples/{folder}/first.{suffix}", folder.partition("/")[0]
        block, whole = shown.get(language, ""), program.read_text()
        left_out = re.fullmatch(LEFT_OUT[language], whole[:len(whole) - len(block)])
        report(f"README.md shows {program.name} as it is, and all of it",
               (whole.endswith(block), 15 < block.count("\n") <= 25, left_out is not None), (True, True, True))


def languages():
    for words in (["--lang"], ["--lang", "fortran", "x"], ["--lang="]):
        result = subprocess.run([ROOT / "samples/run", *words], capture_output=True, text=True, timeout=60)
        report(f"samples/run {' '.join(words)} names the languages that there are",
               (result.returncode, result.stdout, "one of c, cpp, asio, rust, lua, python" in result.stderr), (2, "", True))


def main():
    with tempfile.TemporaryDirectory() as folder:
        first(pathlib.Path(folder))
        recorded(pathlib.Path(folder))
        decided(pathlib.Path(folder))
        scheduled(pathlib.Path(folder))
        handed_out(pathlib.Path(folder))
        summed(pathlib.Path(folder))
        trained(pathlib.Path(folder))
        served(pathlib.Path(folder))
        joined(pathlib.Path(folder))
        loaded(pathlib.Path(folder))
    readme()
    languages()


main()
