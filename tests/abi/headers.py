"""The public headers as data: every exported function with its result and parameters, every struct with its fields."""
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
INCLUDE = ROOT / "libgpuorch" / "include" / "gpuorch"


def _texts():
    for path in sorted(INCLUDE.glob("*.h")):
        if path.name not in ("api.h", "gpuorch.h"):
            yield re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)


def functions():
    """{name: (result, [(type, parameter), …])}, in the order of the headers."""
    found = {}
    for text in _texts():
        for match in re.finditer(r"GPO_API\s+([^;]*?)\b(gpo_\w+)\(([^;]*?)\);", text, flags=re.S):
            result, name, parameters = (re.sub(r"\s+", " ", part).strip() for part in match.groups())
            pairs = []
            for parameter in parameters.split(", "):
                if parameter != "void":
                    kind, word = re.fullmatch(r"(.*?)(\w+)", parameter).groups()
                    pairs.append((kind.strip(), word))
            found[name] = (result, pairs)
    return found


def structs():
    """{name: [(type, field), …]} of the structs that begin with their size."""
    found = {}
    for text in _texts():
        for name, body in re.findall(r"typedef struct (\w+) \{(.*?)\} \w+;", text, flags=re.S):
            fields = [re.fullmatch(r"(.*?)(\w+)((?:\[\w+\])?)", re.sub(r"\s+", " ", part).strip()).groups()
                      for part in body.split(";") if part.strip()]
            found[name] = [(kind.strip() + array, field) for kind, field, array in fields]
    return found


def declaration(result, name, parameters):
    inside = ", ".join(f"{kind}{'' if kind.endswith('*') else ' '}{word}" for kind, word in parameters) or "void"
    return f"{result}{'' if result.endswith('*') else ' '}{name}({inside})"
