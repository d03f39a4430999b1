#!/usr/bin/env python3
"""Comments, headers and documents are plain English: in each folder at most MOST per cent of the sentences (PUBLIC in
what users read) have to be read twice. A sentence counts if it uses private words, opens with a pronoun in place of a
subject, points at things four times (three times if it is short), or has more than 38 words. A hit is a place to look
at, not a verdict.

    tests/abi/check_english.py [--worst [N]] [PATH...]     prints the sentences below these paths

Folders in LIMITS are allowed more than that. Their limits only fall."""
import os
import pathlib
import re
import sys
from collections import defaultdict

ROOT = pathlib.Path(__file__).resolve().parents[2]
MOST, PUBLIC = 8, 6   # per cent
USERS_READ = ("libgpuorch/include", "bindings", "samples")
LIMITS = {
}
LEFT_OUT = ("build", "tests/bench/history", "tests/images", ".git")
FEW = 3   # sentences that a small folder may have in any case

PRIVATE = re.compile(
    r"\b(whoever|whomever|nobody|somebody|whatever|told|tells|gone|let go|lets go|of which|of whom|to whom|one that|the one|ones that|"
    r"those who|he who|that which|likewise|by then|for ever|is said|nor is|as it was|as they were|owed|comes to|sees to it|is to be had|"
    r"be had|was had|has had|give back what|what it is|what they are|for good)\b", re.IGNORECASE)
OPENING = re.compile(r"(Of|What|Who|Whoever|It|One|That|Those|These|They|The same|Likewise|As|Also|But|Else|Nor|Neither|None|Such|So) ")
POINTER = re.compile(r"\b(it|its|that|those|one|ones|which|what|who|whose|there|then|so|such|this|these)\b", re.IGNORECASE)
LICENCE = re.compile(r"copyright|permission is hereby|SPDX", re.IGNORECASE)

SLASHES, HASH, DASHES = (re.compile(text) for text in (r"\s*//[/!<]?\s?(.*)$", r"\s*#(?!!)\s?(.*)$", r"\s*--+\s?(.*)$"))
BEGINS = {suffix: SLASHES for suffix in (".h", ".c", ".cpp", ".hpp", ".cuh", ".cu", ".rs")}
BEGINS |= {suffix: HASH for suffix in (".py", ".cmake", ".sh")} | {".lua": DASHES}
IN_MARKDOWN = re.compile(r"    |\||#|```|<")


def paragraphs(lines, text_of):
    """(number of the first line, text) of each run of lines of which text_of gives a text."""
    block, first = [], 0
    for number, line in enumerate(lines + [""], 1):
        text = text_of(line)
        if text:
            first = first or number
            block.append(text)
        elif block:
            yield first, " ".join(block)
            block, first = [], 0


def markdown_text():
    fenced = False

    def text_of(line):
        nonlocal fenced
        if line.startswith("```"):
            fenced = not fenced
        if fenced or IN_MARKDOWN.match(line):
            return ""
        return re.sub(r"^[-*0-9.]+ ", "", line.strip())
    return text_of


def comments(name, text):
    """(line, text) of each comment of a file, or paragraph of a document."""
    suffix, lines = pathlib.PurePath(name).suffix, text.split("\n")
    if suffix == ".md":
        yield from paragraphs(lines, markdown_text())
        return
    begins = BEGINS.get(suffix)
    if name.endswith("CMakeLists.txt") or (not suffix and text.startswith("#!")):
        begins = HASH
    if not begins:
        return

    def text_of(line):
        found = begins.match(line)
        return found.group(1).strip() if found else ""
    yield from paragraphs(lines, text_of)
    if begins is not SLASHES:
        return
    for number, line in enumerate(lines, 1):
        behind = None if SLASHES.match(line) or "://" in line else re.search(r"\S.*?//[/!<]?\s(.*)$", line)
        if behind:
            yield number, behind.group(1)
    for found in re.finditer(r"/\*(.*?)\*/", text, re.DOTALL):
        body = re.sub(r"\n\s*\*?[ ]?", "\n", found.group(1))
        for part in re.split(r"\n\s*\n|\n(?=\s{2,}\S)", body):
            yield text.count("\n", 0, found.start()) + 1, " ".join(part.split())


def sentences(text):
    for sentence in re.split(r"(?<=[.;:!?])\s+(?=[A-Z`(\"'*])", text):
        sentence = re.sub(r"`[^`]*`", "X", sentence).strip()
        if len(sentence.split()) >= 4 and not LICENCE.search(sentence):
            yield sentence


def faults(sentence):
    """Why a sentence counts."""
    words, private, opening = len(sentence.split()), PRIVATE.search(sentence), OPENING.match(sentence)
    pointers = len(POINTER.findall(sentence))
    return ([f"`{private.group(0)}`"] if private else []) + ([f"opens with `{opening.group(1)}`"] if opening else []) + (
        [f"{pointers} pointers"] if pointers >= (3 if words <= 18 else 4) else []) + ([f"{words} words"] if words > 38 else [])


def files():
    for folder, folders, names in os.walk(ROOT):
        here = pathlib.Path(folder).relative_to(ROOT).as_posix()
        folders[:] = sorted(each for each in folders if f"{here}/{each}".removeprefix("./") not in LEFT_OUT
                            and each not in ("__pycache__", "target"))
        for name in sorted(names):
            yield f"{here}/{name}".removeprefix("./")


def folder_of(name):
    return "/".join(name.split("/")[:-1][:3]) or "."


def limit_of(folder):
    return LIMITS.get(folder, PUBLIC if folder.startswith(USERS_READ) else MOST)


def measure(below=""):
    """{folder: [sentences, those that count]}, and the latter: (file, line, sentence, why)."""
    table, hits = defaultdict(lambda: [0, 0]), []
    for name in files():
        if not name.startswith(below):
            continue
        try:
            text = (ROOT / name).read_text()
        except (OSError, UnicodeDecodeError):
            continue
        for line, comment in comments(name, text):
            for sentence in sentences(comment):
                why = faults(sentence)
                table[folder_of(name)][0] += 1
                table[folder_of(name)][1] += bool(why)
                if why:
                    hits.append((name, line, sentence, ", ".join(why)))
    return table, hits


def problems(table):
    for folder, (count, found) in sorted(table.items()):
        if found > max(FEW, limit_of(folder) * count / 100):
            yield f"{folder}: {found} of {count} sentences, {100 * found / count:.1f} %, where {limit_of(folder)} % may be"
    for folder, limit in LIMITS.items():
        count, found = table.get(folder, (0, 0))
        if 100 * found <= (limit - 1) * count:
            yield f"{folder} has {100 * found / max(1, count):.1f} % now: lower its limit in LIMITS"


def check_itself():
    made_up = {
        "The stream waits for the event.": False, "Of a stream that is captured nothing is timed.": True,
        "The event wakes whoever waits here.": True, "The queue says which one that is then.": True,
        "The lock " + "and the lock " * 13 + "go.": True, "Copies run beside kernels, in the order of their streams.": False,
    }
    wrong = [f"`{sentence[:40]}`: {faults(sentence)}" for sentence, counts in made_up.items() if bool(faults(sentence)) != counts]
    code = "int a;   // The first one that it has.\n// Two lines of\n// a comment here.\n/* A block of words.\n *\n * Another block of words. */\n"
    found = [text for _, text in comments("a.h", code)]
    if found != ["Two lines of a comment here.", "The first one that it has.", "A block of words.", "Another block of words."]:
        wrong.append(f"comments of a text: {found}")
    page = [text for _, text in comments("a.md", "# Title here\n\nSome words of prose\ngo on.\n\n    int code;\n```\nfenced words\n```\n")]
    if page != ["Some words of prose go on."]:
        wrong.append(f"paragraphs of a page: {page}")
    if not list(problems({"a": (100, 9)})) or any("a:" in each for each in problems({"a": (100, 8)})):
        wrong.append("a folder over its limit isn't noticed")
    return wrong


def main():
    if sys.argv[1:]:
        words = [each for each in sys.argv[1:] if not each.startswith("--")]
        most = int(words.pop(0)) if words and words[0].isdigit() else 25
        for below in words or [""]:
            table, hits = measure(below)
            for folder, (count, found) in sorted(table.items()):
                print(f"{folder:44} {count:6} sentences {found:5} found {100 * found / count:5.1f} %")
            for name, line, sentence, why in sorted(hits, key=lambda hit: -hit[3].count(","))[:most]:
                print(f"{name}:{line}: {sentence[:230]}   [{why}]")
        return
    for name, wrong in [("the check of English notices what it should", check_itself()),
                        ("comments and documents are plain English", list(problems(measure()[0])))]:
        print(f"FAIL {name}: {'; '.join(wrong[:8])}" if wrong else f"PASS {name}")


main()
