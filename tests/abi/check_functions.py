#!/usr/bin/env python3
"""No function of C or C++ has more than MOST lines. Functions in LIMITS may have more; their limits only fall.

    tests/abi/check_functions.py [--longest [N]]     prints the longest functions"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("libgpuorch", "bindings", "samples", "tests")
SUFFIXES = {".h", ".c", ".cpp", ".hpp", ".cu", ".cuh"}
MOST = 70   # lines, with the signature
LIMITS = {}

IGNORED = re.compile(r"""^[ \t]*\#(?:[^\n]*\\\n)*[^\n]*|//[^\n]*|/\*.*?\*/|R"([^(\s]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])*'""", re.DOTALL | re.MULTILINE)
NO_FUNCTION = re.compile(r"\b(namespace|class|struct|union|enum)\b[^()]*$|\bextern\s*$|=\s*$|\]\s*$")
MEMBER = re.compile(r"\)\s*(noexcept\s*)?:[^:;].*[\w>]\s*$", re.DOTALL)   # that a constructor initialises with braces
NAME = re.compile(r"([\w:~]+(?:\s*<[^()]*>)?|operator\s*[^\s\w]+)\s*\(")


def blank(match):
    """A comment, string or directive without its characters, but with its lines."""
    return re.sub(r"[^\n]", " ", match.group())


def name_of(head):
    """The name of the function with this head, or None."""
    head = re.sub(r"^\s*(?:(?:public|private|protected)\s*:|template\s*<[^;{}]*?>\s*(?=\w))", "", head)
    found = NAME.search(head)
    return found.group(1) if found and not NO_FUNCTION.search(head[:found.start()]) else None


def functions(text):
    """(name, first line, lines) of each function; those inside of another count as part of that one."""
    text = IGNORED.sub(blank, text)
    begin, depth, inside, member = 0, 0, None, None   # `inside`: (name, first line, depth) of the function around
    for match in re.finditer(r"[{};]", text):
        at, sign = match.start(), match.group()
        if sign == "{":
            depth += 1
            head = text[begin:at]
            if not inside and not member and MEMBER.search(head):
                member = depth
            elif not inside and not member and (name := name_of(head)):
                inside = name, text.count("\n", 0, begin + len(head) - len(head.lstrip())) + 1, depth
        elif sign == "}":
            if inside and inside[2] == depth:
                yield inside[0], inside[1], text.count("\n", 0, at) + 2 - inside[1]
                inside = None
            depth -= 1
            if member and depth < member:
                member = None
                continue
        if not inside and not member:
            begin = at + 1


def all_functions():
    """(lines, "file:name", first line), the longest first."""
    found = []
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in SUFFIXES and not {"build", "target"} & set(path.relative_to(ROOT).parts):
                for name, first, lines in functions(path.read_text()):
                    found.append((lines, f"{path.relative_to(ROOT)}:{name}", first))
    return sorted(found, reverse=True)


def problems(found):
    """Functions above their limits, and limits above their functions."""
    longest = {}
    for lines, place, first in found:
        longest[place] = max(longest.get(place, 0), lines)
        if lines > LIMITS.get(place, MOST):
            yield f"{place} (line {first}) has {lines} lines, and {LIMITS.get(place, MOST)} are allowed"
    for place, limit in LIMITS.items():
        if longest.get(place, 0) < limit:
            yield f"{place} has {longest.get(place, 0)} lines: lower its limit of {limit}"


def check_itself():
    code = """#define LIST(X) { \\
    X }
namespace a {
constexpr int kTable[] = {
    1,
};
template <class T>
int first(T x) noexcept {
    if (x) { return 1; }   // }
    const auto inner = [] { return "}"; };
    return inner();
}
struct B {
    B() : one{1}, two(2) {
    }
    int one, two;
};
TEST_CASE("a case {") {
}
}
"""
    found = list(functions(code))
    expected = [("first", 7, 6), ("B", 14, 2), ("TEST_CASE", 18, 2)]
    wrong = [] if found == expected else [f"functions of a text: {found}"]
    if not list(problems([(MOST + 1, "a:b", 1)])) or list(problems([(MOST, "a:b", 1)])):
        wrong.append("a function over its limit isn't noticed")
    return wrong


def main():
    found = all_functions()
    if sys.argv[1:]:
        for lines, place, first in found[:int((sys.argv[2:] + ["40"])[0])]:
            print(lines, place, first)
        return
    for name, wrong in [("the check of functions finds them", check_itself()),
                        (f"no function has more than {MOST} lines", list(problems(found)))]:
        print(f"FAIL {name}: {'; '.join(wrong[:8])}" if wrong else f"PASS {name}")


main()
