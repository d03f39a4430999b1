#!/usr/bin/env python3
"""The samples of the Python package beside the main job, and the README's examples."""
import os
import pathlib
import re
import sys

from harness import ROOT, report, run

SAMPLES, README = ROOT / "samples/python/package", ROOT / "bindings/python/README.md"
OTHERS, THREADS = README.parent / "others.md", README.parent / "threads.md"
OUT = pathlib.Path(os.environ["GPUORCH_TEST_OUT"])
WORDS = 900  # of the README, its examples not counted


def first():
    result = run(sys.executable, SAMPLES / "first.py")
    report("first.py computes", (result.returncode, result.stdout, result.stderr), (0, "x[1000] is 500\n", ""))
    result = run(sys.executable, "-X", "dev", SAMPLES / "first.py")
    said = result.returncode, result.stdout
    report("first.py runs in development mode", said, (0, "x[1000] is 500\n"), result.stderr)
    result = run(sys.executable, SAMPLES / "first.py", GPUORCH_DEVICE="nonsense")
    said = result.returncode, "nonsense" in result.stderr, result.stdout
    report("first.py says what failed", said, (1, True, ""), result.stderr)


def decided():
    result = run(sys.executable, "-W", "error", SAMPLES / "decode_loop.py")
    texts = {"graph goes on until it makes the end .": 8, "host" + 10 * " waits and" + " (the limit)": 20}
    right = "".join(f"by the graph: {text}\nby the host:  {text}\n"
                    f"    {count} tokens, 1 launch by the graph, {count} by the host\n" for text, count in texts.items())
    report("decode_loop.py makes the same by the graph and by the host", (result.returncode, result.stdout, result.stderr),
           (0, right, ""))
    lines = {path.name: count for path in SAMPLES.glob("*.py") if (count := path.read_text().count("\n")) > 125}
    report("all samples but the main job are short", list(lines), ["stream_files.py"], lines)


def others():
    """Samples that need only the package print something and end well. The others name their needs."""
    for path in sorted(SAMPLES.glob("*.py")):
        if path.name not in ("first.py", "stream_files.py", "decode_loop.py"):
            result = run(sys.executable, path)
            if result.returncode == 77:
                print(f"SKIP {path.name} runs: {result.stderr.strip()}")
            else:
                report(f"{path.name} runs", (result.returncode, bool(result.stdout)), (0, True), result.stderr)


def without_code(text):
    return re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)


def examples(page):
    """Each ```python block of a page by itself; a comment `#> text` is what the line before it prints."""
    text = page.read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)
    for number, code in enumerate(blocks, 1):
        path = OUT / f"example_{number}.py"
        path.write_text(code)
        result = run(sys.executable, path, folder=OUT)
        printed = "".join(f"{line}\n" for line in re.findall(r"#> (.*)", code))
        said = result.returncode, result.stdout, result.stderr
        report(f"example {number} of {page.name} prints what it says", said, (0, printed, ""))
    text = without_code(text)
    missing = [link for link in re.findall(r"\]\((?!https?:)([^)#]+)", text) if not (page.parent / link).exists()]
    report(f"the links of {page.name} lead somewhere", missing, [])


def length():
    words = len(without_code(README.read_text()).split())
    report(f"the README has at most {WORDS} words", words <= WORDS, True, words)


def main():
    first()
    decided()
    others()
    for page in (README, OTHERS, THREADS):
        examples(page)
    length()


main()
