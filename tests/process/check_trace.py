#!/usr/bin/env python3
"""Traces the main job, and checks the trace as its viewers would: every event whole, spans of one thread nested, arrows
that begin and end in spans, bytes that add up with what was streamed; and the picture as XML. The same for a program
with completions, callbacks, failures and hard names (traced_program.py), and for one with 10,000 operations. Then what
happens to the files when the disk is full, the path can't be written, another process writes them, or the program is killed;
and that GPUORCH_TRACE needs no new program."""
import collections
import errno
import fcntl
import gzip
import json
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import built

SVG = "{http://www.w3.org/2000/svg}"


def check(name, *facts):
    wrong = [f"{got!r} in place of {right!r}" for got, right in facts if got != right]
    print(f"FAIL {name}: {'; '.join(wrong)[:800]}" if wrong else f"PASS {name}")


class Job:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.program = built.c_program(built.ROOT / "samples/c/stream_files.c", self.folder)
        self.environment = {**os.environ, "LD_LIBRARY_PATH": built.library_path(built.LIBRARIES)}
        self.files = [self.folder / "small", self.folder / "large"]
        for path, size in zip(self.files, (70_001, 90_000_000)):
            path.write_bytes(random.Random(size).randbytes(size))
        self.many = 64 * self.files[:1]  # a chunk or more of each, whatever the size of chunks is
        self.bytes = sum(path.stat().st_size for path in self.files)

    def run(self, *arguments, trace=None, log="info", **settings):
        environment = {**self.environment, **({"GPUORCH_TRACE": str(trace)} if trace else {}),
                       **({"GPUORCH_LOG": log} if trace and log else {})}
        done = subprocess.run([self.program, *arguments, *self.files], env=environment, capture_output=True, text=True,
                              timeout=120, stdin=subprocess.DEVNULL, **settings)
        return done.returncode, done.stdout, done.stderr


def begun(*arguments, trace=None, limit=None, **settings):
    """traced_program.py, which runs. `limit`: bytes that fit into a file."""
    environment = {**os.environ, "GPUORCH_LIBRARY": str(built.LIBRARIES / "libgpuorch.so.0.1"), "PYTHONDONTWRITEBYTECODE": "1",
                   "GPUORCH_LOG": "info", "LD_LIBRARY_PATH": built.library_path(built.LIBRARIES)}
    if trace:
        environment["GPUORCH_TRACE"] = str(trace)
    if limit:
        environment["FILE_LIMIT"] = str(limit)
    return subprocess.Popen([sys.executable, pathlib.Path(__file__).with_name("traced_program.py"), *map(str, arguments)],
                            env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **settings)


def program(*arguments, **settings):
    """Its exit code and what it says."""
    process = begun(*arguments, **settings)
    said, errors = process.communicate(timeout=120)
    return process.returncode, said, errors


class Told:
    """A program that does what it is told."""
    def __init__(self, trace=None):
        self.process = begun("told", trace=trace, stdin=subprocess.PIPE)
        self.id = self.process.pid

    def __call__(self, *words):
        print(*words, file=self.process.stdin, flush=True)
        return self.process.stdout.readline().strip()

    def end(self):
        _, errors = self.process.communicate(timeout=120)
        return self.process.returncode, errors


def spans_of(events):
    """{(process, thread): [(begin, end, event), …]} in nanoseconds, in the order of their beginning, longest first."""
    found = collections.defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            begin = round(event["ts"] * 1000)
            found[event["pid"], event["tid"]].append((begin, begin + round(event["dur"] * 1000), event))
    for spans in found.values():
        spans.sort(key=lambda span: (span[0], -span[1]))
    return found


def not_nested(spans):
    """Spans that begin inside another of their thread and end outside."""
    wrong = []
    for thread, all_of_it in spans.items():
        open_ones = []
        for begin, end, event in all_of_it:
            while open_ones and open_ones[-1] <= begin:
                open_ones.pop()
            if open_ones and end > open_ones[-1]:
                wrong.append((thread, event["name"], begin, end, open_ones[-1]))
            open_ones.append(end)
    return wrong


def loose_arrows(events, spans):
    """Arrows that don't begin and end once each, go back in time, or have an end that is in no span."""
    ends = collections.defaultdict(list)
    wrong = []
    for event in events:
        if event["ph"] in "sf":
            at = round(event["ts"] * 1000)
            ends[event["cat"], event["id"]].append((event["ph"], at))
            around = [(end, span["name"]) for begin, end, span in spans[event["pid"], event["tid"]] if begin <= at < end]
            if not around:
                wrong.append(event)
            elif event["ph"] == "f" and event["cat"] == "submit" and around[-1][0] != at + 1:
                wrong.append((event, "not in the last moment of", around[-1]))
            elif event["ph"] == "f" and event["cat"] == "completion" and around[-1][1] != "completion":
                wrong.append((event, "ends in", around[-1]))
    for arrow, points in ends.items():
        kinds = [kind for kind, _ in sorted(points, key=lambda point: point[0], reverse=True)]
        times = dict(points)
        if kinds != ["s", "f"] or times["s"] > times["f"]:
            wrong.append((arrow, points))
    return wrong


def well_formed(name, events):
    needed = {"X": {"name", "cat", "pid", "tid", "ts", "dur"}, "s": {"id", "ts", "pid", "tid"}, "f": {"id", "ts", "pid", "tid", "bp"},
              "C": {"name", "ts", "pid", "args"}, "M": {"name", "pid", "args"}, "i": {"name", "ts", "s", "pid", "tid"}}
    check(f"{name}: every event is of a known kind and whole",
          ([event for event in events if not needed.get(event["ph"], {"?"}) <= event.keys()], []),
          (min(event.get("ts", 0) for event in events) >= 0, True), (min(event.get("dur", 0) for event in events) >= 0, True))
    spans = spans_of(events)
    check(f"{name}: spans of one thread nest", (not_nested(spans), []))
    check(f"{name}: every arrow begins and ends once, in a span, and never goes back in time: from the call to the end of the "
          "GPU's work, from the notify to the completion", (loose_arrows(events, spans), []))
    named = {(event["pid"], event["tid"]) for event in events if event["name"] == "thread_name"}
    check(f"{name}: every thread and stream has a name", (set(spans) - named, set()))
    return spans


def whole_trace(job):
    out = job.folder / "traced"
    out.mkdir()
    code, said, errors = job.run("--trace", out)
    check("the main job says where its trace is", (code, 0), (errors, ""),
          (said.splitlines()[-1:], [f"trace: {out}/timeline.svg, {out}/trace.json"]))
    events = json.loads((out / "trace.json").read_text())
    spans = well_formed("the main job's trace", events)
    check("the main job's trace has arrows", (sum(event["ph"] == "s" for event in events) > 20, True))
    gpu = [event for all_of_it in spans.values() for _, _, event in all_of_it if event["cat"] == "gpu"]
    copied = collections.Counter()
    for event in gpu:
        copied[event["args"]["engine"]] += event["args"].get("bytes", 0)
    launches = sum(event["args"]["engine"] == "kernel" for event in gpu)
    results = launches * (256 * 8 + 8)
    check("the bytes of the copies are those of the files, and of a result for each kernel",
          (copied["copy in"], job.bytes), (copied["copy out"], job.bytes + results))
    rates = [(event["args"]["bytes"] / max(event["dur"] * 1000, 1), event["args"]["GB/s"]) for event in gpu
             if "GB/s" in event["args"]]
    check("each copy has its speed", ([pair for pair in rates if abs(pair[0] - pair[1]) > 0.01 + 0.01 * pair[0]], []))
    about = next(event["args"] for event in events if event["name"] == "gpuorch")
    check("the trace says what it holds, what it lost and what it cost", (about["timed"], len(gpu)), (about["dropped"], 0),
          (about["unfinished"], 0), (about["call_cost_ns"] > 0, True), (about["operation_cost_ns"] > 0, True))
    counters, of_the_host = collections.defaultdict(list), collections.defaultdict(list)
    for event in events:
        if event["ph"] == "C":
            (of_the_host if event["pid"] == 1 else counters)[event["name"]].append((event["ts"], *event["args"].values()))
    check("what is on its way never is less than nothing, and comes to an end",
          (sorted(counters), ["on the way", "queue depth"]), ([min(v for _, v in of) for of in counters.values()], [0, 0]),
          ([of[-1][1] for of in counters.values()], [0, 0]), ([of == sorted(of, key=lambda p: p[0]) for of in counters.values()], [True, True]))
    pending = [value for _, value in of_the_host["operations pending"]]
    check("what is pending is never more than a pipeline has under way, five operations for each of six chunks, and comes "
          "to an end", (pending and max(pending) <= 30, True), (pending[-1:], [0]))
    picture("the main job's picture", out / "timeline.svg", ["GPU 0: ", "copy in", "kernel", "copy out", "stream pipeline/stages", "Host", "stream_files"])


def picture(name, path, words):
    root = xml.etree.ElementTree.parse(path).getroot()
    texts = [element.text or "" for element in root.iter(f"{SVG}text")]
    titles = [element.text or "" for element in root.iter(f"{SVG}title")]
    outside = [element.attrib for element in root.iter(f"{SVG}rect") if "x" in element.attrib and
               int(element.attrib["x"]) + int(element.attrib["width"]) > 100_100]
    foreign = {element.tag for element in root.iter()} - {SVG + tag for tag in ("svg", "rect", "text", "title", "style", "g", "line")}
    check(f"{name} is an SVG by itself, with lanes, titles, and nothing outside",
          (root.tag, f"{SVG}svg"), ([word for word in words if not any(text.startswith(word) for text in texts)], []),
          (any("GB/s" in title for title in titles), True), (outside, []), (foreign, set()),
          ("prefers-color-scheme:dark" in path.read_text(), True))


def mixed_program(job):
    folder = job.folder / "mixed"
    code, _, errors = program("mixed", trace=f"{folder}/")
    check("a program with a little of everything is traced", (code, 0), (errors, ""))
    events = json.loads((folder / "trace.json").read_text())
    spans = well_formed("its trace", events)
    found = collections.defaultdict(list)
    for all_of_it in spans.values():
        for begin, end, event in all_of_it:
            found[event["cat"]].append((event["name"], end - begin, event.get("args", {})))
    names = [event["args"]["name"] for event in events if event["name"] == "thread_name"]
    shown = 's0 <&>"\\\t\x01'  # traced_program.py's name for it
    check("a stream's name is as it was given, whatever is in it", (names.count(shown), 1), (names.count(f"{shown} held"), 1))
    check("a launch of a graph is there, as its template is called, with its nodes",
          ([(name, took > 0, args["template"], args["nodes"], args["engine"]) for name, took, args in found["graph"]],
           [(shown, True, shown, 3, "graph")]))
    told = sorted(int(args["user_data"]) for _, _, args in found["completion"] if args["status"] == "GPO_SUCCESS")
    arrows = collections.Counter((event["ph"], event["cat"]) for event in events if event["ph"] in "sf")
    check("each completion is there, with its number (a callback's has none), and an arrow", (told, sorted([0, *range(12)])),
          (arrows["s", "completion"], 13), (arrows["f", "completion"], 13))
    check("the host call and the callback are there as long as they ran",
          (sorted(name for name, _, _ in found["callback"]), ["completion callback", "host call"]),
          (max([took for name, took, _ in found["callback"] if name == "host call"], default=0) >= 2_000_000, True))
    failed = [name for name, _, args in found["call"] if args.get("status") == "GPO_INVALID_ARGUMENT"]
    check("a call that failed says with what", (failed, 3 * ["gpo_fill"]))
    check("held streams and what serialises are there, with their times", (len(found["held"]) >= 2, True),
          ({name: took > 0 for name, took, _ in found["serialising"]}, {"serialising: device allocation": True}))
    picture("its picture", folder / "timeline.svg",
            ["GPU 0: ", 'stream s0 <&>"\\\ufffd\ufffd', "stream s1", "graph", "held on the host", "failed call", "callback", "completion",
             "serialising call", "serialising calls"])


def many_operations(job):
    folder = job.folder / "many"
    code, _, errors = program("many", trace=f"{folder}/")
    path = folder / "timeline.svg"
    pieces = [element for element in xml.etree.ElementTree.parse(path).getroot().iter(f"{SVG}rect")
              if element.find(f"{SVG}title") is not None]
    joined = [piece for piece in pieces if re.match(r"\d+ x ", piece.find(f"{SVG}title").text)]
    outlined = [piece.attrib for piece in joined if piece.get("class").endswith(" b")]
    operations = sum(int(piece.find(f"{SVG}title").text.split()[0]) for piece in joined if piece.get("class").startswith("c8"))
    check("10,000 operations are a picture that a browser shows at once: few pieces, none of which looks like a gap",
          (code, 0), (errors, ""), (len(pieces) <= 3500, True), (path.stat().st_size < 900_000, True), (outlined, []))
    check("where kinds alternate too fast to be seen they are joined, and the legend says so", (operations > 1000, True))
    picture("its picture", path, ["GPU 0: ", "fill", "copy on device", "several kinds", "paler: many short ones", "stream 4"])


def two_runtimes(job):
    folder = job.folder / "two"
    code, _, _ = program("two", trace=f"{folder}/")
    check("a second runtime's files have a number", (code, 0), (sorted(path.name for path in folder.iterdir()),
          ["summary-2.txt", "summary.txt", "timeline-2.svg", "timeline.svg", "trace-2.json", "trace.json"]),
          ([len(json.loads((folder / name).read_text())) > 10 for name in ("trace.json", "trace-2.json")], [True, True]))
    code, _, _ = program("two", trace=job.folder / "of.two.json.gz")
    check("also where a name has several endings", (code, 0),
          ([len(json.loads(gzip.decompress((job.folder / name).read_bytes()))) > 10 for name in ("of.two.json.gz", "of-2.two.json.gz")],
           [True, True]))


def by_environment(job):
    folder = job.folder / "all"
    code, _, errors = job.run(trace=f"{folder}/")
    check("GPUORCH_TRACE traces a program as it is, into a folder that it makes", (code, 0), ("nothing is traced" in errors, False),
          (sorted(path.name for path in folder.iterdir()), ["summary.txt", "timeline.svg", "trace.json"]),
          ("of the copying was hidden" in (folder / "summary.txt").read_text(), True),
          (len(json.loads((folder / "trace.json").read_text())) > 50, True))
    shared, mine = job.folder / "shared", job.folder / "mine"
    shared.mkdir()
    shared.chmod(0o1777)
    mine.write_text("mine")
    (shared / "trace.json").symlink_to(mine)
    code, _, errors = job.run(trace=shared)
    made = sorted(path for path in shared.iterdir() if not path.is_symlink())
    check("in a folder that other users may write to the names have the process's id, and the files are its user's alone",
          (code, 0),
          ([re.sub(r"[0-9]+", "N", path.name) for path in made], ["summary-N.txt", "timeline-N.svg", "trace-N.json"]),
          ([oct(path.stat().st_mode & 0o777) for path in made], ["0o600"] * 3), (mine.read_text(), "mine"),
          (len(json.loads(made[2].read_text())) > 50, True))
    packed = job.folder / "packed.json.gz"
    code, _, _ = job.run(trace=packed)
    check("and gzipped", (code, 0), (len(json.loads(gzip.decompress(packed.read_bytes()))) > 50, True))
    for log in (None, "error", "info"):
        code, said, errors = job.run(trace="/nowhere/at/all/trace.json", log=log)
        lines = [line for line in errors.splitlines() if "GPUORCH_TRACE" in line or "nowhere" in line]
        check(f"a path that can't be written is named on stderr, once, and the job is done all the same (GPUORCH_LOG={log})", (code, 0),
              (lines, ["gpuorch warning: GPUORCH_TRACE: nothing is traced: /nowhere/at/all/trace.json can't be written: " +
                       os.strerror(errno.ENOENT)]), ("total: " in said, True))
    code, _, errors = job.run(trace="/dev/full", log=None)
    check("so is a trace that can't be written any more", (code, 0),
          (errors, f"gpuorch error: trace: /dev/full can't be written any more, and ends early: {os.strerror(errno.ENOSPC)}\n"))


def events_of(path):
    """None if it isn't whole."""
    try:
        return json.loads(gzip.decompress(path.read_bytes()) if path.name.endswith(".gz") else path.read_text())
    except (OSError, ValueError):
        return None


def traced(folder):
    """What is in a folder: of each file the streams that it names; None if it isn't whole."""
    found = {}
    for path in folder.iterdir():
        if ".json" in path.name:
            events = events_of(path)
            names = events and {event["args"]["name"] for event in events if event["name"] == "thread_name"}
        else:
            try:
                text = path.read_text()
                names = set(re.findall(r"\bof_\w+", text if path.suffix == ".txt" else "".join(xml.etree.ElementTree.fromstring(text).itertext())))
            except xml.etree.ElementTree.ParseError:
                names = None
        found[path.name] = names and sorted(name for name in names if name.startswith("of_"))
    return found


def two_processes(job):
    for form, names in (("{}/", ["trace.json", "timeline.svg"]), ("{}/a.trace.json.gz", ["a.trace.json.gz"]), ("{}/drawn.svg", ["drawn.svg"])):
        folder = job.folder / "apart"
        folder.mkdir()
        path = form.format(folder)
        one, other = Told(path), Told(path)
        added = {name: name.replace(".", f"-{other.id}.", 1) for name in names}
        one("open", "of_one")
        other("open", "of_other")
        one("close")
        early = Told(path)  # comes when `one` has ended a trace, not itself
        for label, process in (("of_early", early), ("of_second", one)):
            process("open", label)
            process("close")
        other("close")
        ends = [process.end() for process in (one, other, early)]
        expected = {}
        for name in names:
            for label, addition in (("of_one", ""), ("of_other", f"-{other.id}"), ("of_early", f"-{early.id}"), ("of_second", "-2")):
                expected[name.replace(".", f"{addition}.", 1)] = [label]
        found = traced(folder)
        check(f"processes that trace to {form.format('DIR')} at the same time have files of their own, while they live",
              ([code for code, _ in ends], 3 * [0]),
              ([f"this process's trace is {folder}/{added[names[0]]}" in errors for _, errors in ends],
               [False, True, False]),
              ({name: labels for name, labels in found.items() if not name.startswith("summary")}, expected),
              (sum(name.startswith("summary") for name in found), 4 if form == "{}/" else 0))
        last = Told(path)
        last("open", "of_last")
        last("close")
        last.end()
        now = traced(folder)
        check("a trace whose process has ended is replaced", (len(now), len(found)), ([now[name] for name in names], len(names) * [["of_last"]]))
        shutil.rmtree(folder)


def one_number_for_two(job):
    """As of two containers that share a folder: the names with the process's own number are another's too."""
    folder = job.folder / "numbers"
    folder.mkdir()
    one = Told(f"{folder}/")
    with open(folder / "trace.json", "w") as plain, open(folder / f"trace-{one.id}.json", "w") as numbered:
        for file in (plain, numbered):
            fcntl.flock(file, fcntl.LOCK_EX)
        one("open", "of_one")
        one("close")
        ended = one.end()[0]
    found = traced(folder)
    names = sorted(re.sub(f"-{one.id}-[0-9]+[.]", f"-{one.id}-TIME.", name) for name in found)
    check("a process whose number another one has too, in another container, has files of its own all the same", (ended, 0),
          (names, sorted([*(f"{name[0]}-{one.id}-TIME.{name[1]}" for name in (("summary", "txt"), ("timeline", "svg"), ("trace", "json"))),
                          f"trace-{one.id}.json", "trace.json"])),
          ([(folder / name).stat().st_size for name in ("trace.json", f"trace-{one.id}.json")], [0, 0]))


def one_path_for_two(job):
    folder = job.folder / "claimed"
    folder.mkdir()
    path, picture = folder / "trace.json", folder / "timeline.svg"
    one, other = Told(), Told()
    for process in (one, other):
        process("open", "of_it")
    begin = one("start", path, picture)
    same_path, same_picture = other("start", path, folder / "other.svg"), other("start", folder / "other.json", picture)
    check("a path that another process writes is refused by its name, and nothing of it is touched", (begin, "SUCCESS"),
          *((said.startswith("IO_ERROR") and f"{name} can't be written: another" in said, True)
            for said, name in ((same_path, path), (same_picture, picture))),
          (sorted(name.name for name in folder.iterdir()), ["timeline.svg", "trace.json"]))
    check("until that one has ended its trace", ([one("stop"), other("start", path, picture), other("stop")], 3 * ["SUCCESS"]),
          (len(events_of(path) or []) > 2, True), (picture.read_text().endswith("</svg>\n"), True))
    children = [int(one("fork"))]
    one("start", path, picture)
    children.append(int(one("fork")))
    check("a forked child has no part in it: the path is free when the trace ends",
          ([one("stop"), one("start", path, picture)], 2 * ["SUCCESS"]))
    children.append(int(one("fork")))
    one.process.kill()
    one.process.wait()
    check("and when the process that traces dies", ([other("start", path, picture), other("stop")], 2 * ["SUCCESS"]))
    for child in children:
        os.kill(child, signal.SIGKILL)
    other.end()
    for each in (one.process.stdin, one.process.stdout, one.process.stderr):
        each.close()


def moved(job):
    folder = job.folder / "relative"
    for path, names in (("relative/", ["summary.txt", "timeline.svg", "trace.json"]), ("relative/drawn.svg", ["drawn.svg"]),
                        (None, ["by call.json", "by call.svg"])):
        folder.mkdir()
        elsewhere = job.folder / "elsewhere"
        elsewhere.mkdir()
        code, _, errors = program("moved", elsewhere, *(f"relative/{name}" for name in names if not path), trace=path, cwd=job.folder)
        check(f"{path or 'a path of a call'} is where the program was when its trace began, wherever it goes", (code, 0), (errors, ""),
              (sorted(file.name for file in folder.iterdir()), names), (list(elsewhere.iterdir()), []))
        for place in (folder, elsewhere):
            shutil.rmtree(place)


def full_disk(job):
    # The limit also holds for files of the driver and the software GPU: set it after their kernels are loaded.
    pipe = job.folder / "late"
    os.mkfifo(pipe)
    wrong, kept = [], []
    # How much of the trace a limit leaves depends on the writer's progress when the limit is set: a busy machine may leave nothing.
    for size in 5 * (66_000, 90_000):
        if max(kept, default=0) > 20:
            break
        path = job.folder / "full.json"
        process = subprocess.Popen([job.program, pipe, *job.many],
                                   env={**job.environment, "GPUORCH_TRACE": str(path), "GPUORCH_LOG": "info"}, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        writer = os.open(pipe, os.O_WRONLY)  # returns when the job has opened the pipe
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (size, size))
        os.close(writer)
        said, errors = process.communicate(timeout=120)
        code = process.returncode
        if "full.json can't be written any more" not in errors:
            wrong.append((size, "nothing was logged", errors))
        if code != 0 or "total: " not in said:
            wrong.append((size, code))
        if path.exists():
            try:
                kept.append(len(json.loads(path.read_text())))
            except ValueError as error:
                wrong.append((size, str(error)))
            path.unlink()
    check("on a full disk the trace is well-formed or gone, it is logged, and the job is done", (wrong, []),
          (max(kept, default=0) > 20, True))
    code, _, errors = job.run(trace="/dev/full")
    check("and a device that is full stays where it is", (code, 0), ("/dev/full can't be written any more" in errors, True),
          (os.path.exists("/dev/full"), True))


def full_disk_for_each_file(job):
    folder = job.folder / "little"
    code, _, errors = program("mixed", trace=f"{folder}/", limit=100)
    told = [line for line in errors.splitlines() if "can't be written" in line]
    check("each file that finds no room is named, only a trace that is well-formed is left, and the runtime shuts down", (code, 0),
          ([any(name in line for line in told) for name in ("trace.json", "timeline.svg", "summary.txt")], 3 * [True]),
          ([json.loads(path.read_text()) != [] for path in folder.iterdir()], [True]))
    code, _, errors = program("mixed", trace=f"{folder}/", limit=12_000)
    whole = {path.name for path in folder.iterdir()}
    check("the picture goes where it finds no room, what does find room stays", (code, 0),
          ("timeline.svg can't be written" in errors, True), ("summary.txt" in whole, True), ("timeline.svg" in whole, False),
          (json.loads((folder / "trace.json").read_text()) != [], True))
    path, drawn = job.folder / "explicit.json.gz", job.folder / "explicit.svg"
    for limit, status in ((10_000_000, "SUCCESS"), (8_000, "IO_ERROR")):
        code, said, _ = program("stop", path, drawn, limit=limit)
        events = json.loads(gzip.decompress(path.read_bytes())) if path.exists() else []
        check(f"the end of a gzipped trace, with {limit} bytes of room, says {status}, and what is there is well-formed",
              (code, 0), (said.split(), [status]), (len(events) > (1000 if status == "SUCCESS" else -1), True))


def killed(job):
    path = job.folder / "killed.json"
    pipe = job.folder / "pipe"
    os.mkfifo(pipe)
    process = subprocess.Popen([job.program, *job.many, pipe], env={**job.environment, "GPUORCH_TRACE": str(path)},
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 60
    while (not path.exists() or path.stat().st_size < 30_000) and time.monotonic() < until:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    text = path.read_text()
    text = text[:text.rindex("},\n") + 1] + "]"  # as viewers read an array whose end the signal forestalled
    check("of a program that was killed there is what had been written", (len(json.loads(text)) > 100, True))


def ended(job):
    """A program that has done little and waits, so that nothing is being written, then ends in some way."""
    for name in ("ended.json", "ended.json.gz"):
        for way in (signal.SIGKILL, signal.SIGABRT, None):
            path = job.folder / name
            process = Told(path)
            process("open", "of_ended")
            until = time.monotonic() + 60
            done = {"gpo_device_open", "gpo_fill", "fill", "gpo_stream_wait"}
            while done - {event["name"] for event in events_of(path) or []} and time.monotonic() < until:
                time.sleep(0.01)
            if way:
                process.process.send_signal(way)
            else:
                process("exit")
            code, _ = process.end()
            events = events_of(path) or []
            names = {event["name"] for event in events if event["ph"] == "X"}
            check(f"of a program that ends by {way.name if way else '_exit'} {name} is whole, with all that it had done",
                  (code, -way if way else 0), (done - names, set()))
            well_formed(f"{name} of {way.name if way else '_exit'}", events)
            path.unlink()


def figures_agree(job):
    """The picture, the summary and the trace say the same of what was done, where the picture shows a part of it too."""
    folder = job.folder / "agreed"
    for name, run in (("the main job", lambda: job.run(trace=f"{folder}/")[0]), ("a program", lambda: program("mixed", trace=f"{folder}/")[0]),
                      ("one that goes on without GPU work", lambda: program("after", trace=f"{folder}/")[0])):
        code = run()
        events = json.loads((folder / "trace.json").read_text())
        texts = ["".join(text.itertext()) for text in xml.etree.ElementTree.parse(folder / "timeline.svg").getroot().iter(f"{SVG}text")]
        summary = (folder / "summary.txt").read_text()
        about = next(event["args"] for event in events if event["name"] == "gpuorch")
        kinds = collections.Counter(event["cat"] for event in events if event["ph"] == "X")

        def plural(count, what):
            return f"{count} {what}{'' if count == 1 else 's'}"
        said = (f"{plural(about['calls'], 'call')}, {plural(about['operations'], 'operation')} ({about['timed']} timed), "
                f"{plural(about['callbacks'], 'callback')}, {plural(about['completions'], 'completion')}")
        check(f"{name}: the trace's figures are of what is in it", (code, 0),
              ([about[each] for each in ("calls", "timed", "callbacks", "completions")],
               [kinds["call"], kinds["gpu"] + kinds["graph"], kinds["callback"], kinds["completion"]]), (about["dropped"], 0))
        check(f"{name}: the summary and the picture begin with them", (said in summary.splitlines()[0], True),
              ([text.startswith(said + " in ") for text in texts[:20] if "timed)" in text], [True]))

        def of_threads(what):
            return sum(int(count) for text in texts if "timed)" not in text
                       for count in re.findall(rf"(?:^|; )(\d+) {what}s?, ", text))
        streams = [int(right.split()[0]) for left, right in zip(texts, texts[1:]) if left.startswith("stream ") and "timed" in right]
        check(f"{name}: those of the picture's lanes add up to them", (sum(streams), about["timed"]),
              (of_threads("callback"), about["callbacks"]), (of_threads("call"), about["calls"]))
        shutil.rmtree(folder)


def main():
    with tempfile.TemporaryDirectory() as folder:
        job = Job(folder)
        for part in (whole_trace, mixed_program, many_operations, by_environment, two_runtimes, two_processes,
                     one_number_for_two, one_path_for_two, moved, full_disk, full_disk_for_each_file, killed, ended, figures_agree):
            part(job)


main()
