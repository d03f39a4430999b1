"""stream_files.py [-o DIR] [--table FILE] [--trace DIR] [FILE]...: streams files through a GPU, or the software GPU where there
is none, and prints the lines that samples/c/stream_files.c does. A kernel (stream_files.cu) counts the bytes of each chunk, maps
them by a table of 256 (by default the complement) and takes the CRC-32 of what comes out; reading, copying and writing beside
it are the pipeline's work, Python only adds up what the chunks give. Without files it takes the largest of the machine's own.
"""
import contextlib
import ctypes
import functools
import math
import os
import pathlib
import signal
import stat
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "bindings/python/ctypes"))  # unless it is installed
import gpuorch

KERNEL = pathlib.Path(__file__).resolve().parents[1] / "stream_files.cu"
LARGEST = ("find /usr/lib /usr/share -type f -readable -size +64k -printf '%s\\t%p\\n' 2>/dev/null | sort -rn | "
           "awk -F '\\t' '{ n = $2; sub(/.*\\//, \"\", n) } !named[n]++ { print $2; if ((sum += $1) >= 67108864) exit }'")


class Result(ctypes.Structure):
    _fields_ = [("histogram", ctypes.c_uint64 * 256), ("crc", ctypes.c_uint32), ("unused", ctypes.c_uint32)]


class Tables(ctypes.Structure):
    _fields_ = [("map", ctypes.c_uint8 * 256), ("powers", ctypes.c_uint32 * 32)]


def multiply(a, b):
    """CRCs are polynomials over GF(2) modulo that of CRC-32; the highest bit is x^0."""
    product = 0
    for bit in range(31, -1, -1):
        if a >> bit & 1:
            product ^= b
        b = b >> 1 ^ (0xedb88320 if b & 1 else 0)
    return product


@functools.cache
def shift(zeros):
    """What a CRC is multiplied by when `zeros` bytes follow it."""
    product, power = 1 << 31, 1 << 23
    while zeros:
        if zeros & 1:
            product = multiply(power, product)
        zeros, power = zeros >> 1, multiply(power, power)
    return product


class Figures:
    """Of a file, or of all. The 256 counts are one number, of 64 bits each: they add up at once, and none runs over."""

    def __init__(self):
        self.counts, self.crc, self.bytes = 0, 0, 0
        self.elapsed_ns = self.copy_ns = self.hidden_ns = 0

    def add(self, counts, crc, count):
        self.counts += counts
        self.crc = multiply(shift(count), self.crc) ^ crc
        self.bytes += count

    def take(self, chunk):
        """Called for each chunk, in order."""
        result = Result.from_address(chunk.result)
        self.add(int.from_bytes(result.histogram, sys.byteorder), result.crc, chunk.bytes)

    def add_run(self, elapsed_ns, copy_ns, hidden_ns):
        self.elapsed_ns += elapsed_ns
        self.copy_ns += copy_ns
        self.hidden_ns += hidden_ns

    def print(self, name):
        histogram = (ctypes.c_uint64 * 256).from_buffer_copy(self.counts.to_bytes(2048, sys.byteorder))
        shares = [count / self.bytes for count in histogram if count]
        entropy = functools.reduce(lambda sum, share: sum - share * math.log2(share), shares, 0.0)
        crc = multiply(shift(self.bytes), 0xffffffff) ^ self.crc ^ 0xffffffff
        Output.say(f"{name}: {self.bytes} bytes, entropy {entropy:.4f}, CRC-32 {crc:08x}, "
                   f"{self.bytes / self.elapsed_ns if self.bytes else 0:.2f} GB/s, "
                   f"{100 * self.hidden_ns / self.copy_ns if self.copy_ns else 0:.0f} % of copying hidden")


class Output:
    """The standard output; the first failure to write there is told."""
    failed = False

    @classmethod
    def say(cls, line):
        try:
            print(line, flush=True)
        except OSError as error:
            complain("standard output", error.strerror)
            cls.failed = True
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is buffered would fail again


def complain(about, message):
    print(f"stream_files: {about}: {message}", file=sys.stderr)


def is_empty(path):
    """Whether a regular file has nothing in it (those of /proc have no size); of one that can't be read the library says why."""
    try:
        about = os.stat(path)
        if not stat.S_ISREG(about.st_mode) or about.st_size != 0:
            return False
        with open(path, "rb", buffering=0) as file:
            return not file.read(1)
    except OSError:
        return False


class Job:
    def __init__(self, gpo, device, table, folder):
        self.gpo, self.folder, self.interrupted = gpo, folder, 0  # interrupted: by which signal
        powers = [1 << 23]
        while len(powers) < 32:
            powers.append(multiply(powers[-1], powers[-1]))
        tables = Tables((ctypes.c_uint8 * 256)(*table), (ctypes.c_uint32 * 32)(*powers))
        options = gpo.CompileOptions(source=KERNEL.read_text(), file_name=KERNEL.name)
        with gpo.module_compile(device, options) as module, gpo.module_get_kernel(module, "stream_files") as kernel:
            kinds = [gpo.ARGUMENT_INPUT, gpo.ARGUMENT_OUTPUT, gpo.ARGUMENT_RESULT, gpo.ARGUMENT_INPUT_BYTES]
            arguments = [gpo.StageArgument(kind=kind) for kind in kinds]
            arguments.append(gpo.StageArgument(kind=gpo.ARGUMENT_VALUE, value=tables))
            stage = gpo.Stage(kind=gpo.STAGE_KERNEL, kernel=kernel, block=(64,), bytes_per_block=64 << 10, arguments=arguments)
            self.pipeline = gpo.pipeline_create(device, gpo.PipelineOptions(
                stages=[stage], flags=gpo.PIPELINE_TIMES, result_bytes=ctypes.sizeof(Result)))

    def interrupt(self, number, _):
        self.interrupted = number
        signal.signal(number, signal.SIG_DFL)

    def stream(self, path):
        """What came of a file; a failure is raised."""
        gpo, figures = self.gpo, Figures()
        if is_empty(path):
            raise gpuorch.Error("INVALID_ARGUMENT", gpo.INVALID_ARGUMENT, "it is empty")
        target = None
        if self.folder is not None:
            target = os.path.join(self.folder, os.path.basename(path))
            if os.path.exists(path) and os.path.exists(target) and os.path.samefile(path, target):
                raise gpuorch.Error("INVALID_ARGUMENT", gpo.INVALID_ARGUMENT, "it would be written over itself")
        sink = gpo.Sink(kind=gpo.SINK_FILE if target else gpo.SINK_CALLBACK, path=target, take=figures.take)
        source = gpo.Source(kind=gpo.SOURCE_FILE, path=path, flags=gpo.SOURCE_UNCHANGED)
        gpo.pipeline_start(self.pipeline, source, sink)
        try:
            run = None
            while run is None:
                try:
                    run = gpo.pipeline_wait(self.pipeline, 100_000_000)
                except gpuorch.Timeout:
                    if self.interrupted:
                        gpo.pipeline_cancel(self.pipeline)
                    self.show_progress(path)
        finally:
            if sys.stderr.isatty():
                print("\r\033[K", end="", file=sys.stderr)
        figures.add_run(run.elapsed_ns, run.copy_in_ns + run.copy_out_ns, run.copy_hidden_ns)
        return figures

    def show_progress(self, path):
        if sys.stderr.isatty():
            now = self.gpo.pipeline_get_progress(self.pipeline)
            done, all_of_it = now.bytes_done * 1e-6, now.bytes_total * 1e-6
            print(f"\r\033[K{path}: {done:.0f} of {all_of_it:.0f} MB", end="", file=sys.stderr, flush=True)


def read_table(path):
    try:
        table = pathlib.Path(path).read_bytes() if path is not None else bytes(255 - i for i in range(256))
    except OSError:
        table = b""
    if len(table) != 256:
        print(f"stream_files: {path} is not a file of 256 bytes", file=sys.stderr)
        sys.exit(2)
    return table


def main(arguments):
    options = {"-o": None, "--table": None, "--trace": None}
    while arguments and arguments[0].startswith("-"):
        if arguments[0] not in options or not "".join(arguments[1:2]):
            print("usage: stream_files.py [-o DIR] [--table FILE] [--trace DIR] [FILE]...", file=sys.stderr)
            return 2
        options[arguments[0]], arguments = arguments[1], arguments[2:]
    table = read_table(options["--table"])
    files = arguments or os.fsdecode(subprocess.run(LARGEST, shell=True, stdout=subprocess.PIPE).stdout).splitlines()
    folder = options["-o"]
    if folder is not None:
        with contextlib.suppress(OSError):  # the library says why nothing can be written there
            os.mkdir(folder)
        named = {}
        for path in files:
            name = os.path.basename(path)
            if name in named:
                print(f"stream_files: {named[name]} and {path} would be one in {folder}", file=sys.stderr)
                return 2
            named[name] = path
    gpo, total, failures = gpuorch.Library(), Figures(), 0
    with gpo.runtime_create() as runtime, gpo.device_open(runtime) as device:
        job = Job(gpo, device, table, folder)
        trace = options["--trace"] and [os.path.join(options["--trace"], name) for name in ("timeline.svg", "trace.json")]
        if trace:
            gpo.trace_start(runtime, gpo.TraceOptions(picture=trace[0], path=trace[1]))
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:  # as nohup leaves it
                signal.signal(number, job.interrupt)
        Output.say(f"device: {gpo.device_get_properties(device).name.decode()}")
        for path in files:
            if job.interrupted or (Output.failed and folder is None):
                break
            try:
                figures = job.stream(path)
            except gpuorch.Error as error:
                complain(path, error.message)
                failures += 1
                continue
            figures.print(path)
            total.add(figures.counts, figures.crc, figures.bytes)
            total.add_run(figures.elapsed_ns, figures.copy_ns, figures.hidden_ns)
        total.print("total")
        if trace:
            gpo.trace_stop(runtime)
            Output.say(f"trace: {', '.join(trace)}")
    return 128 + job.interrupted if job.interrupted else int(failures != 0 or Output.failed)


if __name__ == "__main__":
    sys.stdout.reconfigure(errors="surrogateescape")  # names of files are bytes
    sys.stderr.reconfigure(errors="surrogateescape")
    try:
        sys.exit(main(sys.argv[1:]))
    except (gpuorch.Error, ImportError) as error:
        complain("libgpuorch", error)
        sys.exit(1)
