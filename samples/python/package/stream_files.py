"""stream_files.py [-o DIR] [--table FILE] [--trace DIR] [FILE]...: streams files through a GPU, or the software GPU where
there is none, and prints the lines that samples/c/stream_files.c does, with the package gpuorch. A kernel (stream_files.cu)
counts the bytes of each chunk, maps them by a table of 256 (by default the complement) and takes the CRC-32 of what comes
out; reading, copying and writing beside it are the pipeline's work, Python only adds up what the chunks give. Without files
it takes the largest of the machine's own.
"""
from __future__ import annotations

import contextlib
import functools
import math
import os
import pathlib
import signal
import stat
import struct
import subprocess
import sys

import gpuorch
from gpuorch import records

KERNEL = pathlib.Path(__file__).resolve().parents[2] / "stream_files.cu"
RESULT, TABLES = struct.Struct("256QII"), struct.Struct("256B32I")  # as in stream_files.cu
LARGEST = ("find /usr/lib /usr/share -type f -readable -size +64k -printf '%s\\t%p\\n' 2>/dev/null | sort -rn | "
           "awk -F '\\t' '{ n = $2; sub(/.*\\//, \"\", n) } !named[n]++ { print $2; if ((sum += $1) >= 67108864) exit }'")


def multiply(a: int, b: int) -> int:
    """CRCs are polynomials over GF(2) modulo that of CRC-32; the highest bit is x^0."""
    product = 0
    for bit in range(31, -1, -1):
        if a >> bit & 1:
            product ^= b
        b = b >> 1 ^ (0xedb88320 if b & 1 else 0)
    return product


@functools.cache
def shift(zeros: int) -> int:
    """What a CRC is multiplied by when `zeros` bytes follow it."""
    product, power = 1 << 31, 1 << 23
    while zeros:
        if zeros & 1:
            product = multiply(power, product)
        zeros, power = zeros >> 1, multiply(power, power)
    return product


class Figures:
    """Of a file, or of all."""

    def __init__(self) -> None:
        self.counts, self.crc, self.bytes = [0] * 256, 0, 0
        self.elapsed_ns = self.copy_ns = self.hidden_ns = 0

    def add(self, counts: list[int], crc: int, count: int) -> None:
        self.counts = [a + b for a, b in zip(self.counts, counts)]
        self.crc = multiply(shift(count), self.crc) ^ crc
        self.bytes += count

    def take(self, chunk: records.Chunk) -> None:
        """Called for each chunk, in order."""
        assert isinstance(chunk.result, memoryview)  # of the host, as sinks get it
        *counts, crc, _ = RESULT.unpack(chunk.result)
        self.add(counts, crc, chunk.bytes)

    def add_run(self, elapsed_ns: int, copy_ns: int, hidden_ns: int) -> None:
        self.elapsed_ns += elapsed_ns
        self.copy_ns += copy_ns
        self.hidden_ns += hidden_ns

    def print(self, name: str) -> None:
        shares = [count / self.bytes for count in self.counts if count]
        entropy = functools.reduce(lambda sum, share: sum - share * math.log2(share), shares, 0.0)
        crc = multiply(shift(self.bytes), 0xffffffff) ^ self.crc ^ 0xffffffff
        Output.say(f"{name}: {self.bytes} bytes, entropy {entropy:.4f}, CRC-32 {crc:08x}, "
                   f"{self.bytes / self.elapsed_ns if self.bytes else 0:.2f} GB/s, "
                   f"{100 * self.hidden_ns / self.copy_ns if self.copy_ns else 0:.0f} % of copying hidden")


class Output:
    """The standard output; the first failure to write there is told."""
    failed = False

    @classmethod
    def say(cls, line: str) -> None:
        try:
            print(line, flush=True)
        except OSError as error:
            complain("standard output", error.strerror)
            cls.failed = True
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is buffered would fail again


def complain(about: str, message: object) -> None:
    print(f"stream_files: {about}: {message}", file=sys.stderr)


def why_not(path: str, target: str | None) -> str | None:
    """Why a file isn't streamed: nothing is in it (those of /proc have no size), or it would be written over itself. Of one
    that can't be read the library says why."""
    with contextlib.suppress(OSError):
        about = os.stat(path)
        if stat.S_ISREG(about.st_mode) and about.st_size == 0:
            with open(path, "rb", buffering=0) as file:
                if not file.read(1):
                    return "it is empty"
        if target and os.path.samefile(path, target):
            return "it would be written over itself"
    return None


class Job:
    """Functions that a pipeline calls run where this program runs the pipeline's executor: no other thread enters Python."""

    def __init__(self, runtime: gpuorch.Runtime, device: gpuorch.Device, table: bytes, folder: str | None) -> None:
        self.folder, self.interrupted = folder, 0  # interrupted: by which signal
        powers = [1 << 23]
        while len(powers) < 32:
            powers.append(multiply(powers[-1], powers[-1]))
        module = device.module_compile(KERNEL.read_text(), file_name=KERNEL.name)
        kernel = module.kernel("stream_files", "ptr ptr ptr u64 bytes:384")
        kinds = gpuorch.ARGUMENT_INPUT, gpuorch.ARGUMENT_OUTPUT, gpuorch.ARGUMENT_RESULT, gpuorch.ARGUMENT_INPUT_BYTES
        self.executor = runtime.executor_create(flags=gpuorch.EXECUTOR_CALLER)
        self.pipeline = device.pipeline_create(
            flags=gpuorch.PIPELINE_TIMES, result_bytes=RESULT.size, executor=self.executor, stages=[{
                "kind": gpuorch.STAGE_KERNEL, "kernel": kernel, "block": 64, "bytes_per_block": 64 << 10,
                "arguments": [*({"kind": kind} for kind in kinds), TABLES.pack(*table, *powers)]}])

    def interrupt(self, number: int, _: object) -> None:
        self.interrupted = number
        signal.signal(number, signal.SIG_DFL)

    def stream(self, path: str, target: str | None) -> Figures:
        """What came of a file; a failure is raised."""
        figures = Figures()
        sink = gpuorch.SINK_FILE if target else gpuorch.SINK_CALLBACK
        self.pipeline.start({"kind": gpuorch.SOURCE_FILE, "path": path, "flags": gpuorch.SOURCE_UNCHANGED},
                            {"kind": sink, "path": target, "take": figures.take})
        # So that the executor has something to wait for until the end.
        self.pipeline.then(self.executor, lambda _, error: None)
        try:
            while self.pipeline.progress().running:
                self.executor.run_for(0.1)
                if self.interrupted:
                    self.pipeline.cancel()
                self.show_progress(path)
            run = self.pipeline.wait()
            assert run is not None  # no other run has begun
        finally:
            if sys.stderr.isatty():
                print("\r\033[K", end="", file=sys.stderr)
        figures.add_run(run.elapsed_ns, run.copy_in_ns + run.copy_out_ns, run.copy_hidden_ns)
        return figures

    def show_progress(self, path: str) -> None:
        if sys.stderr.isatty():
            now = self.pipeline.progress()
            done, all_of_it = now.bytes_done * 1e-6, now.bytes_total * 1e-6
            print(f"\r\033[K{path}: {done:.0f} of {all_of_it:.0f} MB", end="", file=sys.stderr, flush=True)

    def stream_all(self, files: list[str]) -> int:
        """Prints the figures of each file and of all; returns how many failed."""
        total, failures = Figures(), 0
        for path in files:
            if self.interrupted or (Output.failed and self.folder is None):
                break
            target = os.path.join(self.folder, os.path.basename(path)) if self.folder is not None else None
            try:
                if problem := why_not(path, target):
                    raise ValueError(problem)
                figures = self.stream(path, target)
            except (gpuorch.Error, ValueError) as error:
                complain(path, error.message if isinstance(error, gpuorch.Error) else error)
                failures += 1
                continue
            figures.print(path)
            total.add(figures.counts, figures.crc, figures.bytes)
            total.add_run(figures.elapsed_ns, figures.copy_ns, figures.hidden_ns)
        total.print("total")
        return failures


def read_table(path: str | None) -> bytes:
    try:
        table = pathlib.Path(path).read_bytes() if path is not None else bytes(255 - i for i in range(256))
    except OSError:
        table = b""
    if len(table) != 256:
        print(f"stream_files: {path} is not a file of 256 bytes", file=sys.stderr)
        sys.exit(2)
    return table


def command_line(arguments: list[str]) -> tuple[dict[str, str | None], list[str]]:
    """The options, and the files."""
    options: dict[str, str | None] = {"-o": None, "--table": None, "--trace": None}
    while arguments and arguments[0].startswith("-"):
        if arguments[0] not in options or not "".join(arguments[1:2]):
            print("usage: stream_files.py [-o DIR] [--table FILE] [--trace DIR] [FILE]...", file=sys.stderr)
            sys.exit(2)
        options[arguments[0]], arguments = arguments[1], arguments[2:]
    return options, arguments or os.fsdecode(subprocess.run(LARGEST, shell=True, stdout=subprocess.PIPE).stdout).splitlines()


def make_folder(folder: str, files: list[str]) -> None:
    with contextlib.suppress(OSError):  # the library says why nothing can be written there
        os.mkdir(folder)
    named: dict[str, str] = {}
    for path in files:
        name = os.path.basename(path)
        if name in named:
            print(f"stream_files: {named[name]} and {path} would be one in {folder}", file=sys.stderr)
            sys.exit(2)
        named[name] = path


def main(arguments: list[str]) -> int:
    options, files = command_line(arguments)
    table, folder, trace = read_table(options["--table"]), options["-o"], options["--trace"]
    if folder is not None:
        make_folder(folder, files)
    with gpuorch.Runtime() as runtime, runtime.device_open() as device:
        job = Job(runtime, device, table, folder)
        paths = [os.path.join(trace, name) for name in ("timeline.svg", "trace.json")] if trace else []
        if paths:
            runtime.trace_start(picture=paths[0], path=paths[1])
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:  # as nohup leaves it
                signal.signal(number, job.interrupt)
        Output.say(f"device: {device.properties().name}")
        failures = job.stream_all(files)
        if paths:
            runtime.trace_stop()
            Output.say(f"trace: {', '.join(paths)}")
    return 128 + job.interrupted if job.interrupted else int(failures != 0 or Output.failed)


if __name__ == "__main__":
    sys.stdout.reconfigure(errors="surrogateescape")  # type: ignore[union-attr]  # names of files are bytes
    sys.stderr.reconfigure(errors="surrogateescape")  # type: ignore[union-attr]
    try:
        sys.exit(main(sys.argv[1:]))
    except (gpuorch.Error, ImportError) as error:
        complain("libgpuorch", error)
        sys.exit(1)
