#!/usr/bin/env python3
"""Pictures of graph templates, as their viewers take them: the SVG as XML, whose boxes don't overlap and whose lines cross
none of them; and the text for Graphviz, by Graphviz itself where it is installed."""
import ctypes
import pathlib
import random
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import built

sys.path.append(str(built.ROOT / "bindings/python/ctypes"))
import gpuorch

SVG = "{http://www.w3.org/2000/svg}"
HARD = 'a <&>"\\\'\t\x01\\n\\'  # what XML and Graphviz write otherwise, or can't


def check(name, *facts):
    wrong = [f"{got!r} in place of {right!r}" for got, right in facts if got != right]
    print(f"FAIL {name}: {'; '.join(wrong)[:800]}" if wrong else f"PASS {name}")


class Drawn:
    """An SVG: boxes of nodes and bodies as (left, top, right, bottom), and lines as lists of points."""

    def __init__(self, text):
        self.root = xml.etree.ElementTree.fromstring(text)
        self.nodes, self.bodies, self.lines, self.texts = [], [], [], []
        for element in self.root.iter():
            kind, look = element.tag.removeprefix(SVG), element.get("class")
            if kind == "rect" and look in ("n", "b"):
                left, top, width, height = (int(element.get(word)) for word in ("x", "y", "width", "height"))
                (self.nodes if look == "n" else self.bodies).append((left, top, left + width, top + height))
            elif kind == "path" and look == "e":
                self.lines.append(points_of(element.get("d")))
            elif kind == "text":
                self.texts.append("".join(element.itertext()))

    def box_of(self, label):
        """Of the node that is called so."""
        for group in self.root.iter(f"{SVG}g"):
            title = group.find(f"{SVG}title")
            if title is not None and title.text.endswith(f"`{label}`"):
                box = group.find(f"{SVG}rect")
                left, top, width, height = (int(box.get(word)) for word in ("x", "y", "width", "height"))
                return left, top, left + width, top + height
        raise KeyError(label)

    def overlaps(self):
        boxes = self.nodes + self.bodies
        return [(one, other) for i, one in enumerate(boxes) for other in boxes[:i]
                if one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3] and
                not inside(one, other) and not inside(other, one)]

    def crossings(self):
        """Lines that come into a box that they neither begin in nor end at."""
        found = []
        for line in self.lines:
            begin, end = line[0], line[-1]
            for box in self.nodes + self.bodies:
                around = all(within(box, point) for point in (begin, end))
                if not around and any(within(box, point, 1) for point in line):
                    found.append((line[0], line[-1], box))
        return found

    def backward(self):
        return [line for line in self.lines if any(b[1] < a[1] for a, b in zip(line, line[1:]))]

    def fine(self):
        return (self.overlaps(), []), (self.crossings(), []), (self.backward(), [])


def inside(one, other):
    return other[0] <= one[0] and one[2] <= other[2] and other[1] <= one[1] and one[3] <= other[3]


def within(box, point, margin=0):
    return box[0] + margin < point[0] < box[2] - margin and box[1] + margin < point[1] < box[3] - margin


def points_of(path):
    words = path.split()
    points, at = [], 0
    while at < len(words):
        count = {"M": 2, "V": 1, "C": 6}[words[at]]
        values = [int(word) for word in words[at + 1:at + 1 + count]]
        if words[at] == "M":
            points.append(tuple(values))
        elif words[at] == "V":
            points.append((points[-1][0], values[0]))
        else:
            a, b, c, d = points[-1], values[0:2], values[2:4], values[4:6]
            for step in range(1, 21):
                t = step / 20
                points.append(tuple((1 - t) ** 3 * a[i] + 3 * (1 - t) ** 2 * t * b[i] + 3 * (1 - t) * t * t * c[i] + t ** 3 * d[i]
                                    for i in (0, 1)))
        at += 1 + count
    return points


class Gpu:
    def __init__(self):
        self.gpo = gpo = gpuorch.Library(str(built.LIBRARIES / "libgpuorch.so.0.1"))
        self.runtime = gpo.runtime_create()
        self.device = gpo.device_open(self.runtime)
        self.kernel = gpo.module_get_kernel(gpo.module_load_builtin(self.device), "gpo_fill_u32")
        self.memory = gpo.memory_allocate(self.device, 1 << 16)

    def template(self, label="step"):
        return self.gpo.template_create(self.device, self.gpo.TemplateOptions(label=label))

    def launch(self, to, label, *after):
        values = ctypes.c_uint64(self.memory), ctypes.c_uint32(7), ctypes.c_uint64(64)
        addresses = (ctypes.c_void_p * 3)(*map(ctypes.addressof, values))
        shape = self.gpo.Launch(grid=(4,), block=(64,), label=label)
        return self.gpo.template_add_kernel(to, *nodes(after), self.kernel, shape, addresses,
                                            (ctypes.c_uint32 * 3)(*map(ctypes.sizeof, values)), 3)

    def condition(self, comparison, **more):
        return self.gpo.Condition(comparison=comparison, word=self.memory, **more)

    def picture(self, of):
        return Drawn(self.gpo.template_get_picture(of, self.gpo.PICTURE_SVG))

    def dot(self, of):
        return self.gpo.template_get_picture(of, self.gpo.PICTURE_DOT)


def nodes(after):
    return (ctypes.c_uint32 * len(after))(*after) if after else None, len(after)


def chain(gpu):
    made, last = gpu.template(), ()
    for i in range(6):
        last = (gpu.launch(made, f"k{i}", *last),)
    drawn = gpu.picture(made)
    boxes = [drawn.box_of(f"k{i}") for i in range(6)]
    check("a chain is straight, from above to below", *drawn.fine(), (len(drawn.lines), 5),
          ([upper[3] < lower[1] for upper, lower in zip(boxes, boxes[1:])], 5 * [True]),
          (len({line[i][0] for line in drawn.lines for i in (0, -1)}), 1))
    return made


def diamond(gpu):
    made = gpu.template()
    top = gpu.launch(made, "top")
    sides = [gpu.launch(made, side, top) for side in ("left", "right")]
    gpu.launch(made, "bottom", *sides)
    drawn = gpu.picture(made)
    left, right, bottom = (drawn.box_of(label) for label in ("left", "right", "bottom"))
    check("a diamond has its sides beside each other", *drawn.fine(), (left[1], right[1]), (left[2] < right[0], True),
          (abs((left[0] + right[2]) - (bottom[0] + bottom[2])) <= 4, True), (len(drawn.lines), 4))
    return made


def past_others(gpu):
    made, all_of_them = gpu.template(), []
    for i in range(8):
        all_of_them.append(gpu.launch(made, f"k{i}", *all_of_them[max(0, i - 4):]))
    drawn = gpu.picture(made)
    check("lines that pass other nodes go around them", *drawn.fine(), (len(drawn.lines), 4 * 4 + 6))
    return made


def at_random(gpu):
    wrong = []
    for seed in range(12):
        chance, made, all_of_them = random.Random(seed), gpu.template(), []
        for i in range(30):
            after = chance.sample(all_of_them, min(len(all_of_them), chance.choice((0, 1, 1, 2, 3))))
            all_of_them.append(gpu.launch(made, "x" * chance.randrange(1, 40), *after))
        drawn = gpu.picture(made)
        wrong += [(seed, got) for got, right in drawn.fine() if got != right]
    check("whatever comes after what, no line crosses a box", (wrong, []))


def nested(gpu):
    gpo, made = gpu.gpo, gpu.template("decode")
    first = gpu.launch(made, "prefill")
    body, loop = gpo.template_add_while(made, *nodes((first,)), gpu.condition(gpo.COMPARE_LESS, constant=5, max_iterations=100))
    step = gpu.launch(body, "step")
    yes, no, choice = gpo.template_add_if(body, *nodes((step,)), gpu.condition(gpo.COMPARE_EQUAL, constant=3))
    gpu.launch(yes, "yes")
    gpu.launch(body, "next", choice)
    gpo.template_add_parameter(body, "value", step, gpo.PARAMETER_ARGUMENT, 1)
    gpu.launch(made, "last", loop)
    for moment in ("is built", "has a graph"):
        drawn = gpu.picture(made)
        boxes = {label: drawn.box_of(label) for label in ("prefill", "step", "yes", "next", "last")}
        around = [box for box in drawn.nodes if inside(boxes["step"], box) and box != boxes["step"]]
        texts = drawn.texts
        words = f"while word at {gpu.memory:#x} < 5, at most 100 times"
        check(f"a loop is a box around its body, and an if in the body is a box around its two, when the template {moment}",
              *drawn.fine(), (len(around), 1), (inside(boxes["yes"], around[0]), True), (inside(boxes["last"], around[0]), False),
              (sum(words in text for text in texts), 1), (sum(f"if word at {gpu.memory:#x} == 3" in text for text in texts), 1),
              ([texts.count(title) for title in ("body", "then", "else", "value → argument 1")], 4 * [1]))
        graph = gpo.graph_create(made, None)
    graph.close()
    return made


def hard_names(gpu):
    made = gpu.template(HARD)
    gpu.launch(made, HARD)
    gpu.gpo.template_add_parameter(made, HARD, 1, gpu.gpo.PARAMETER_ARGUMENT, 1)
    drawn = gpu.picture(made)
    shown = 'a <&>"\\\'\ufffd\ufffd\\n\\'
    check("labels are as they were given, whatever is in them", (drawn.root.find(f"{SVG}title").text, shown),
          (drawn.texts.count(shown), 2), (drawn.texts.count(f"{shown} → argument 1"), 1))
    return made


def by_itself(gpu, made):
    text = gpu.gpo.template_get_picture(made, gpu.gpo.PICTURE_SVG)
    root = xml.etree.ElementTree.fromstring(text)
    others = {element.tag for element in root.iter()} - {SVG + tag for tag in ("svg", "title", "style", "rect", "text", "tspan", "path", "g")}
    links = re.findall(r"href|url\(|@import|<script", text)
    sizes = [int(root.get(word)) for word in ("width", "height")]
    drawn = gpu.picture(made)
    outside = [box for box in drawn.nodes if box[2] > sizes[0] or box[3] > sizes[1] or min(box) < 0]
    check("an SVG needs nothing else, and has a size and colours for dark and light", (others, set()), (links, []),
          (root.get("viewBox"), f"0 0 {sizes[0]} {sizes[1]}"), (outside, []), ("prefers-color-scheme:dark" in text, True))


def by_graphviz(gpu, scenes):
    dot = shutil.which("dot")
    if not dot:
        print("SKIP Graphviz makes a picture of the text for it: no `dot` is installed (Debian: graphviz)")
        return
    said, missing = [], []
    for name, made in scenes.items():
        done = subprocess.run([dot, "-Tsvg"], input=gpu.dot(made), capture_output=True, text=True, timeout=60)
        said += [(name, done.returncode, done.stderr)] if done.returncode or done.stderr else []
        words = "".join(xml.etree.ElementTree.fromstring(done.stdout).itertext()) if done.returncode == 0 else ""
        missing += [(name, text) for text in EXPECTED[name] if text not in words.replace("\xa0", " ")]
    check("Graphviz makes a picture of the text for it, with everything that is in it", (said, []), (missing, []))


EXPECTED = {"chain": ["k0", "k5", "kernel", "grid 4, block 64"], "diamond": ["top", "left", "right", "bottom"], "past": ["k7"],
            "nested": ["decode", "prefill", "at most 100 times", "then", "else", "value → argument 1"],
            "hard": ['a <&>"\\\'\ufffd\ufffd\\n\\', "→ argument 1"]}


def main():
    gpu = Gpu()
    scenes = {"chain": chain(gpu), "diamond": diamond(gpu), "past": past_others(gpu), "nested": nested(gpu), "hard": hard_names(gpu)}
    at_random(gpu)
    by_itself(gpu, scenes["nested"])
    by_graphviz(gpu, scenes)
    if "--keep" in sys.argv:  # to look at
        folder = pathlib.Path(sys.argv[sys.argv.index("--keep") + 1])
        for name, made in scenes.items():
            (folder / f"{name}.svg").write_text(gpu.gpo.template_get_picture(made, gpu.gpo.PICTURE_SVG))
            (folder / f"{name}.dot").write_text(gpu.dot(made))


main()
