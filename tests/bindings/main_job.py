"""What must hold of the main job in every language: what it says and writes is compared with Python's zlib and
collections; then it meets files that can't be read, disks that are full, pipes that are closed and Ctrl-C.

    main_job.check("Lua", prepare)

prepare(folder) puts what the program needs besides libgpuorch into `folder`, where any user may read it, and returns the
command; libgpuorch lies there too, and LD_LIBRARY_PATH and GPUORCH_LIBRARY lead to it.
"""
import collections
import errno
import json
import math
import os
import pathlib
import pty
import random
import re
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zlib

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import built

COMPLEMENT = bytes(255 - i for i in range(256))
LINE = re.compile(r"(.*): (\d+) bytes, entropy ([\d.]+), CRC-32 ([0-9a-f]{8}), ([\d.]+) GB/s, "
                  r"(\d+) % of copying hidden")


def figures(data, table):
    """Bytes, entropy and CRC-32, as the sample prints them."""
    entropy = sum(n / len(data) * math.log2(len(data) / n) for n in collections.Counter(data).values())
    return str(len(data)), f"{entropy:.4f}", f"{zlib.crc32(data.translate(table)):08x}"


def said(output):
    """What the sample printed of each file and of all."""
    return {match[1]: (match[2], match[3], match[4]) for match in map(LINE.fullmatch, output.splitlines()) if match}


def besides(output):
    """The other lines."""
    return [line for line in output.splitlines() if not LINE.fullmatch(line)]


class Folder:
    """Files to stream, a folder for the output, the program and its library, where any user may reach them."""

    def __init__(self, path, language, prepare):
        self.language = language
        self.path = pathlib.Path(path)
        self.path.chmod(0o755)
        self.out = self.path / "out"
        self.out.mkdir()
        for library in built.LIBRARIES.glob("libgpuorch.so*"):
            shutil.copy(library, self.path, follow_symlinks=False)
        self.device = f"device: {built.device_name()}"
        self.command = prepare(self.path)
        self.environment = {**os.environ, "LD_LIBRARY_PATH": built.library_path(self.path),
                            "GPUORCH_LIBRARY": str(self.path / "libgpuorch.so.0.1")}
        numbers = random.Random(5)
        self.files = {}
        for name, data in {
            "one": b"\0", "tail": b"abcdefghijklmno", "zeros": bytes(70_000),
            "block": numbers.randbytes(1 << 16),
            "odd": numbers.randbytes(100_001), "text": (b"the same words again and again\n" * 200_000)[:5_000_001],
            "large": numbers.randbytes(9_000_000),
        }.items():
            (self.path / name).write_bytes(data)
            self.files[str(self.path / name)] = data

    def start(self, *arguments, **settings):
        return subprocess.Popen([*self.command, *arguments], env=self.environment, stdin=subprocess.DEVNULL,
                                text=True, **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **settings})

    def run(self, *arguments, **settings):
        process = self.start(*arguments, **settings)
        out, errors = process.communicate(timeout=120)
        return process.returncode, out, errors

    def report(self, name, *facts):
        report(f"{self.language}: {name}", *facts)

    def leftovers(self):
        names = sorted(path.name for path in self.out.iterdir())
        for path in self.out.iterdir():
            path.unlink()
        return names


def report(name, *facts):
    """Each fact: (what was got, what is right)."""
    wrong = [f"{got!r} in place of {right!r}" for got, right in facts if got != right]
    print(f"FAIL {name}: {'; '.join(wrong)[:600]}" if wrong else f"PASS {name}")


def whole(folder, table, *options):
    code, out, errors = folder.run("-o", folder.out, *options, *folder.files)
    right = {name: figures(data, table) for name, data in folder.files.items()}
    right["total"] = figures(b"".join(folder.files.values()), table)
    outputs = {folder.out / pathlib.Path(name).name: data.translate(table) for name, data in folder.files.items()}
    written = {path.is_file() and path.read_bytes() == right for path, right in outputs.items()}
    names = folder.leftovers()
    return ((code, 0), (said(out), right), (besides(out), [folder.device]), (written, {True}),
            (len(names), len(right) - 1), (errors, ""))


def figures_and_files(folder):
    folder.report("the figures are those of zlib and collections, the files are the complement", *whole(folder, COMPLEMENT))
    table = bytes(random.Random(9).choices(range(256), k=256))
    (folder.path / "table").write_bytes(table)
    folder.report("--table maps by another table", *whole(folder, table, "--table", folder.path / "table"))
    code, _, errors = folder.run("--table", folder.path / "odd", folder.path / "one")
    folder.report("a table of another size is refused", (code, 2),
                  (errors, f"stream_files: {folder.path / 'odd'} is not a file of 256 bytes\n"))


def bad_files(folder):
    secret = folder.path / "secret"
    secret.write_bytes(b"x")
    secret.chmod(0)
    bad = [folder.path / "none", folder.path, secret]
    good = [str(folder.path / "odd"), str(folder.path / "text")]
    folder.out.chmod(0o777)
    user = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
    code, out, errors = folder.run("-o", folder.out, good[0], *bad, good[1], **user)
    reasons = [f"opened: {os.strerror(errno.ENOENT)}", f"read: {os.strerror(errno.EISDIR)}", f"opened: {os.strerror(errno.EACCES)}"]
    folder.report("files that can't be read are named, the others are done, the exit code says so",
                  (code, 1), (set(said(out)), {*good, "total"}),
                  (errors.splitlines(), [f"stream_files: {path}: file `{path}` can't be {reason}" for path, reason in zip(bad, reasons)]),
                  (folder.leftovers(), ["odd", "text"]))
    empty = folder.path / "empty"
    empty.write_bytes(b"")
    code, out, errors = folder.run("-o", folder.out, good[0], empty, good[1])
    folder.report("an empty file is named and leaves nothing, the others are done",
                  (code, 1), (set(said(out)), {*good, "total"}), (errors, f"stream_files: {empty}: it is empty\n"),
                  (folder.leftovers(), ["odd", "text"]))
    others = folder.path / "others"
    others.mkdir()
    (others / "odd").write_bytes(b"others")
    code, out, errors = folder.run("-o", folder.out, good[0], good[1], others / "odd")
    folder.report("two files that would be written to one are refused", (code, 2), (out, ""), (folder.leftovers(), []),
                  (errors, f"stream_files: {good[0]} and {others / 'odd'} would be one in {folder.out}\n"))
    code, _, errors = folder.run("-o", others / "made", good[0])
    folder.report("-o makes the folder", (code, 0), (errors, ""), ([path.name for path in (others / "made").iterdir()], ["odd"]))
    for arguments in (["--help"], ["-o"], ["-o", ""], ["--table", ""], ["--trace", ""], ["--other", "x"]):
        code, out, errors = folder.run(*arguments)
        words = " ".join(str(word) or "nothing" for word in arguments)
        folder.report(f"{words} gives the usage", (code, 2), (out, ""), (errors.startswith("usage: stream_files"), True))
    named = folder.path / "\udcff"  # a byte that is no UTF-8
    named.write_bytes(b"any bytes name a file")
    code, out, errors = folder.run("-o", folder.out, named, errors="replace")
    folder.report("a name may be any bytes", (code, 0), (errors, ""), (set(said(out)), {f"{folder.path}/\ufffd", "total"}),
                  (folder.leftovers(), [named.name]))
    same = folder.path / "odd"
    code, _, errors = folder.run("-o", folder.path, same)
    folder.report("a file isn't written over itself", (code, 1),
                  (errors, f"stream_files: {same}: it would be written over itself\n"), (same.read_bytes() == folder.files[str(same)], True))


def full_disk(folder):
    # The disk becomes full once the kernel is loaded: the limit also holds for files that the driver writes.
    pipe = folder.path / "late"
    os.mkfifo(pipe)
    name = str(folder.path / "large")
    process = folder.start("-o", folder.out, pipe, name, folder.path / "odd")
    writer = os.open(pipe, os.O_WRONLY)  # returns when the sample has opened the pipe
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (6_000_000, 6_000_000))
    os.close(writer)
    out, errors = process.communicate(timeout=120)
    code = process.returncode
    folder.report("an output that has no room is named and taken away, the next one is written",
                  (code, 1), (str(folder.out / "large") in errors, True), (name in said(out), False),
                  (folder.leftovers(), ["late", "odd"]))
    with open("/dev/full", "w") as full:
        code, _, errors = folder.run(folder.path / "odd", stdout=full)
        folder.report("a full disk under the standard output is an error", (code, 1), ("standard output" in errors, True))
        code, _, errors = folder.run("-o", folder.out, folder.path / "odd", folder.path / "text", stdout=full)
    folder.report("a full disk under the standard output is said once, the files are written", (code, 1),
                  (errors.count("standard output"), 1), (errors.count("\n"), 1), (folder.leftovers(), ["odd", "text"]))


def closed_pipe(folder):
    process = folder.start(folder.path / "large", folder.path / "large")
    process.stdout.close()
    errors = process.stderr.read()
    folder.report("a closed pipe is an error, not a signal", (process.wait(60), 1), ("standard output" in errors, True))
    process = folder.start("-o", folder.out, folder.path / "odd", folder.path / "text")
    process.stdout.close()
    errors = process.stderr.read()
    folder.report("with a closed pipe the files are written all the same", (process.wait(60), 1), (errors.count("\n"), 1),
                  (folder.leftovers(), ["odd", "text"]))


def empty_pipe(folder):
    pipe = folder.path / "nothing"
    os.mkfifo(pipe)
    process = folder.start("-o", folder.out, pipe)
    os.close(os.open(pipe, os.O_WRONLY))  # once the sample has opened the pipe
    out, errors = process.communicate(timeout=120)
    folder.report("a pipe may be empty", (process.returncode, 0), (errors, ""), (said(out).get(str(pipe)), figures(b"", COMPLEMENT)),
                  (folder.leftovers(), ["nothing"]))


def begun_from_pipe(folder, hangup=signal.SIG_DFL):
    """The job, within the second of three files, of which it has the first 50,000 bytes; that file, and its writing end.
    `hangup`: what it does on SIGHUP until it says otherwise, which is what the tests' own starter was told otherwise."""
    pipe = folder.path / "pipe"
    if not pipe.exists():
        os.mkfifo(pipe)
    process = folder.start("-o", folder.out, folder.path / "odd", pipe, folder.path / "text",
                           preexec_fn=lambda: [signal.signal(number, signal.SIG_DFL) for number in (signal.SIGINT, signal.SIGTERM)]
                           and signal.signal(signal.SIGHUP, hangup))
    writer = os.open(pipe, os.O_WRONLY)  # returns when the sample has opened the pipe
    os.write(writer, bytes(50_000))
    while not any(name.name.endswith(".part") for name in folder.out.iterdir()):
        time.sleep(0.001)
    return process, pipe, writer


def interrupted(folder):
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        process, pipe, writer = begun_from_pipe(folder)
        process.send_signal(number)
        out, errors = process.communicate(timeout=60)
        os.close(writer)
        folder.report(f"{number.name} ends it cleanly, and the file that it ended is named",
                      (process.returncode, 128 + number), (set(said(out)), {str(folder.path / "odd"), "total"}),
                      (errors.count("\n"), 1), (errors.startswith(f"stream_files: {pipe}: "), True),
                      (folder.leftovers(), ["odd"]))
    process, pipe, writer = begun_from_pipe(folder, hangup=signal.SIG_IGN)
    process.send_signal(signal.SIGHUP)
    os.close(writer)
    out, errors = process.communicate(timeout=60)
    folder.report("where SIGHUP is ignored, as by nohup, it goes on", (process.returncode, 0), (errors, ""),
                  (said(out).get(str(pipe)), figures(bytes(50_000), COMPLEMENT)), (folder.leftovers(), ["odd", "pipe", "text"]))


def killed(folder):
    process, _, writer = begun_from_pipe(folder)
    process.kill()
    process.communicate(timeout=60)
    os.close(writer)
    left = [name for name in os.listdir(folder.out) if name.endswith(".part")]
    other, _, writer = begun_from_pipe(folder)
    alive = [name for name in os.listdir(folder.out) if name.endswith(".part")]
    code, _, errors = folder.run("-o", folder.out, folder.path / "one")
    now = [name for name in os.listdir(folder.out) if name.endswith(".part")]
    os.close(writer)
    other.communicate(timeout=60)
    folder.report("what one that was killed left behind is taken away by the next run, what one that runs is writing isn't",
                  (len(left), 1), (len(alive), 1), (left != alive, True), (code, 0), (errors, ""), (now, alive), (other.returncode, 0),
                  (folder.leftovers(), ["odd", "one", "pipe", "text"]))


def files_of_proc(folder):
    """They say that they have no size."""
    file = pathlib.Path("/proc/version")
    code, out, errors = folder.run("-o", folder.out, file)
    written = (folder.out / "version").read_bytes() if (folder.out / "version").exists() else None
    folder.report("a file of /proc is streamed like any other", (code, 0), (errors, ""),
                  (said(out).get(str(file)), figures(file.read_bytes(), COMPLEMENT)), (written, file.read_bytes().translate(COMPLEMENT)),
                  (folder.leftovers(), ["version"]))


def stopped_within(folder, name, change):
    """Has the job stream a large file between two small ones, and stops it within that, when some of its output is there, for
    `change` to happen. A file through which it has got sooner is made larger."""
    small = [str(folder.path / "odd"), str(folder.path / "text")]
    file, size = folder.path / name, 192 << 20
    while True:
        with file.open("wb") as made:
            made.truncate(size)
        process = folder.start("-o", folder.out, small[0], file, small[1])
        written = 0
        while process.poll() is None and not written:
            if (folder.out / "odd").exists():
                written = sum(part.stat().st_size for part in folder.out.glob(".*.part"))
            time.sleep(0.001)
        process.send_signal(signal.SIGSTOP)
        if 0 < written < size // 2 and not (folder.out / name).exists():  # what is read is ahead of what is written
            break
        process.kill()
        process.communicate()
        folder.leftovers()
        size *= 2
    change(file)
    process.send_signal(signal.SIGCONT)
    out, errors = process.communicate(timeout=300)
    return process.returncode, said(out), errors, small


def grow(path):
    with path.open("ab") as file:
        file.write(b"more" * 1_000_000)


def write_over(path):
    with path.open("r+b") as file:
        file.write(b"over")


def changing_files(folder):
    for name, change, what in (
            ("shrinking", lambda path: os.truncate(path, 4096), "shrank while it was read"),
            ("growing", grow, "grew while it was read: 4000000 bytes more"),
            ("changing", write_over, "was written to while it was read"),
            ("deleted", pathlib.Path.unlink, "was deleted while it was read")):
        code, lines, errors, small = stopped_within(folder, name, change)
        path = folder.path / name
        folder.report(f"a file that {what.partition(':')[0]} is named and leaves nothing, the others are done",
                      (code, 1), (errors, f"stream_files: {path}: file `{path}` {what}\n"), (set(lines), {*small, "total"}),
                      ({path: lines.get(path) for path in small}, {path: figures(folder.files[path], COMPLEMENT) for path in small}),
                      (folder.leftovers(), ["odd", "text"]))
        path.unlink(missing_ok=True)


def progress(folder):
    """On a terminal: a line that is written over again and again, and taken away at the end."""
    pipe = folder.path / "slow"
    os.mkfifo(pipe)
    ours, theirs = pty.openpty()
    process = folder.start(pipe, stderr=theirs)
    os.close(theirs)
    writer = os.open(pipe, os.O_WRONLY)
    os.write(writer, bytes(60_000))
    shown = b""
    while shown.count(b"MB") < 3 and select.select([ours], [], [], 60)[0]:   # it goes on as long as the file does
        shown += os.read(ours, 4096)
    os.close(writer)
    out, _ = process.communicate(timeout=60)
    try:
        while more := os.read(ours, 4096):
            shown += more
    except OSError:   # how the end of a terminal is told
        pass
    os.close(ours)
    erase = b"\r\033[K"
    lines = shown.split(erase)
    folder.report("on a terminal a line says how far it is, and goes at the end",
                  (process.returncode, 0), (said(out).get(str(pipe)), figures(bytes(60_000), COMPLEMENT)),
                  (lines[0], b""), (lines[-1], b""), (len(lines) > 4, True),
                  ([line for line in lines[1:-1] if not re.fullmatch(re.escape(str(pipe)) + r": \d+ of \d+ MB", line.decode())], []))


def own_files(folder):
    code, out, errors = folder.run()
    lines = said(out)
    total = lines.pop("total", ("0",))
    name = next(iter(lines), None)
    folder.report("without files it takes the machine's largest", (code, 0), (errors, ""), (int(total[0]) >= 64 << 20, True),
                  (lines.get(name), figures(pathlib.Path(name).read_bytes(), COMPLEMENT) if name else None))


def traced(folder):
    shown = folder.path / "shown"
    code, out, errors = folder.run("--trace", shown, folder.path / "text")
    picture, trace = shown / "timeline.svg", shown / "trace.json"
    folder.report("--trace draws what happened, into a folder that it makes", (code, 0), (errors, ""),
                  (besides(out), [folder.device, f"trace: {picture}, {trace}"]),
                  (picture.read_text().startswith("<svg"), True), (len(json.loads(trace.read_text())) > 10, True))
    nowhere = folder.path / "no" / "such"
    code, out, errors = folder.run("--trace", nowhere, folder.path / "one")
    folder.report("a trace that can't be written is an error", (code, 1), (str(nowhere) in errors, True))


def more_than_32_bits(folder):
    """With --full: half a minute."""
    size = (1 << 32) + 7
    with (folder.path / "long").open("wb") as long:
        long.truncate(size)
    crc, ones = 0, b"\xff" * (1 << 24)
    for _ in range(1 << 8):
        crc = zlib.crc32(ones, crc)
    crc = zlib.crc32(ones[:7], crc)
    code, out, errors = folder.run(folder.path / "long")
    right = (str(size), "0.0000", f"{crc:08x}")
    folder.report("a file of more than 4 GiB", (code, 0), (said(out), {str(folder.path / "long"): right, "total": right}), (errors, ""))
    (folder.path / "long").unlink()


def check(language, prepare):
    # Programs that a shell starts in the background ignore Ctrl-C, and so do their children.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with tempfile.TemporaryDirectory() as path:
        folder = Folder(path, language, prepare)
        for part in (figures_and_files, bad_files, full_disk, closed_pipe, empty_pipe, files_of_proc, interrupted, killed, changing_files, progress, traced, own_files):
            part(folder)
        if "--full" in sys.argv:
            more_than_32_bits(folder)
