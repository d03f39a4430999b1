#!/usr/bin/env python3
"""gpuorch.hpp as its users have it. objects.cpp compiles without a warning as C++17 and as C++20, by GCC and, with
--full, by Clang; its tests pass. What must not compile doesn't, and the compiler's message says why. The first program
computes."""
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE.parent / "support"), str(HERE.parents[1] / "libgpuorch/src/abi")]
import built
import headers
import machine

FLAGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-pthread", f"-I{built.ROOT}/libgpuorch/include"]
LINK = [f"-L{built.LIBRARIES}", "-lgpuorch", f"-Wl,-rpath,{built.LIBRARIES}"]
DEPS = pathlib.Path(os.environ.get("GPUORCH_DEPS", built.ROOT / "build" / "deps"))
ENVIRONMENT = {**os.environ, "LD_LIBRARY_PATH": built.library_path(built.LIBRARIES)}

# Code that must not compile, and a part of the message.
REFUSED = {
    "a host's pointer as a kernel's argument":
        ("float *x = nullptr; kernel.launch(stream, 1, 1, x);", "can't follow a pointer"),
    "a null pointer as a kernel's argument": ("kernel.launch(stream, 1, 1, nullptr);", "can't follow a pointer"),
    "an array as a kernel's argument": ("kernel.launch(stream, 1, 1, \"text\");", "can't follow a pointer"),
    "an argument that can't be copied as bytes": ("kernel.launch(stream, 1, 1, std::string());", "copied as bytes"),
    "a host's pointer as a stage's argument":
        ("float x = 0; auto stage = gpuorch::kernel_stage(kernel, &x);", "can't follow a pointer"),
    "a callable for then that takes no status": ("stream.then(executor, [] {});", "then takes a callable with"),
    "a host call that drops its status":
        ("stream.host_call(executor, [](const gpo_host_call&) {});", "host_call takes a callable"),
    "a C handle of an object that is about to go": ("gpo_stream_query(gpuorch::stream());", "deleted"),
    "a host's pointer as a graph's value":
        ("gpuorch::graph graph; float x = 0; graph.set(\"x\", &x);", "can't follow a pointer"),
    "a recording that takes something else":
        ("gpuorch::graph_template().record(stream, [](int) {});", "record takes a callable with"),
    "buckets whose callable takes something else":
        ("(void)device.create_buckets({1}, [](gpuorch::stream_ref) {});", "buckets take callables with"),
    "a key of a batcher whose callable takes something else":
        ("gpuorch::batcher().add_key({}, [](gpuorch::stream_ref) {});", "a key takes a callable with"),
    "a copy of an object": ("gpuorch::stream other(stream);", "deleted"),
    "to drop what is made": ("device.create_stream();", "nodiscard"),
}


def report(name, right, more=""):
    print(f"PASS {name}" if right else f"FAIL {name}: {str(more)[-2000:]}", flush=True)


def compiled(compiler, *words):
    return subprocess.run([*compiler.split(), *map(str, words)], capture_output=True, text=True)


def gcc():
    return os.environ.get("CXX", "c++")


def compilers():
    yield "", gcc()
    if "--full" in sys.argv:
        if machine.clang():
            yield " with Clang", machine.clang()
        else:
            print("SKIP gpuorch.hpp with Clang: there is no Clang from 14 here")


def objects(program, kind):
    """The tests in the program, each as one of this kind."""
    done = subprocess.run([program], env=ENVIRONMENT, capture_output=True, text=True, timeout=300)
    lines = done.stdout.splitlines()
    for line in lines:
        if line.startswith(("PASS ", "FAIL ", "SKIP ")):
            print(line[:5] + f"{kind}: " + line[5:])
    report(f"{kind}: the program ends as it should", (done.returncode, lines[-1:]) == (0, ["END"]), done)


def standards(folder):
    for name, compiler in compilers():
        for standard in (17, 20):
            kind = f"C++{standard}{name}"
            result = compiled(compiler, f"-std=c++{standard}", *FLAGS, HERE / "objects.cpp", "-o", folder / "objects",
                              *LINK)
            report(f"{kind}: gpuorch.hpp compiles without a warning", result.returncode == 0, result.stderr)
            if result.returncode == 0:
                objects(folder / "objects", kind)


def designated(folder):
    """Each field of each struct of options.hpp is named alone, as C++20. The C struct that comes of it has the default of every
    other field."""
    structs = headers.structs()
    named = re.findall(r"^struct (\w+) \{", (headers.INCLUDE / "options.hpp").read_text(), re.M)
    uses = "".join(f"void f_{name}(gpo_{name} (&out)[{len(structs['gpo_' + name])}]) {{\n" + "".join(
        f"    static_assert(offsetof(gpuorch::{name}, {field}) == offsetof(gpo_{name}, {field}));\n"
        f"    out[{place}] = gpuorch::{name}{{.{field} = {{}}}};\n"
        for place, (_, field) in enumerate(structs["gpo_" + name])) + "}\n" for name in named)
    source = folder / "designated.cpp"
    source.write_text(f"#include <cstddef>\n#include <gpuorch/gpuorch.hpp>\n{uses}")
    for name, compiler in compilers():
        result = compiled(compiler, "-std=c++20", "-fsyntax-only", *FLAGS, source)
        report(f"a designated initialiser of any field of options compiles without a warning{name}",
               result.returncode == 0 and len(named) > 20, result.stderr)


def refused(folder):
    source = folder / "refused.cpp"
    begin = ("#include <gpuorch/gpuorch.hpp>\n"
             "void f(gpuorch::device& device, gpuorch::stream& stream, gpuorch::kernel& kernel,\n"
             "       gpuorch::executor& executor) {\n"
             "(void)device, (void)stream, (void)kernel, (void)executor;\n")

    def said_of(code):
        source.write_text(f"{begin}{code}\n}}\n")
        result = compiled(gcc(), "-std=c++17", "-fsyntax-only", *FLAGS, source)
        return result.stderr if result.returncode != 0 else ""

    report("the code around what is to be refused compiles", said_of("stream.wait();") == "")
    for name, (code, words) in REFUSED.items():
        said = said_of(code)
        report(f"the compiler refuses {name}", words in said, said or "it compiles")


def first(folder):
    """As the sample's first lines say."""
    program = folder / "first"
    result = compiled(gcc(), "-std=c++17", "-O1", *FLAGS, built.ROOT / "samples/cpp/first.cpp", "-o", program, *LINK)
    report("first.cpp compiles without a warning", result.returncode == 0, result.stderr)
    for device, right in ((None, (0, "GPO_SUCCESS, x[1000] is 500\n")), ("nonsense", (1, ""))):
        done = subprocess.run([program], env={**ENVIRONMENT, **({"GPUORCH_DEVICE": device} if device else {})},
                              capture_output=True, text=True, timeout=120)
        said = "gpo_runtime_create: " in done.stderr and "nonsense" in done.stderr if device else done.stderr == ""
        report(f"first.cpp ends as it should on {device or 'the device'}",
               (done.returncode, done.stdout) == right and said, done)


def searched(folder):
    """The same; how often nodes are visited again depends on who comes first."""
    program = folder / "breadth_first"
    result = compiled(gcc(), "-std=c++17", "-O1", *FLAGS, built.ROOT / "samples/cpp/breadth_first.cpp", "-o", program, *LINK)
    report("breadth_first.cpp compiles without a warning", result.returncode == 0, result.stderr)
    done = subprocess.run([program], env=ENVIRONMENT, capture_output=True, text=True, timeout=120)
    right = r"16384 nodes, 49152 edges: 15903 reached in 5 steps by (\d+) visits, as by a search on the host\n"
    found = re.fullmatch(right, done.stdout)
    report("breadth_first.cpp finds what a search on the host finds",
           done.returncode == 0 and done.stderr == "" and found and int(found[1]) >= 15903, done)


def stolen(folder):
    """The same, with as many devices as there are; who does how many tasks depends on who comes first."""
    program = folder / "steal"
    result = compiled(gcc(), "-std=c++17", "-O1", *FLAGS, built.ROOT / "samples/cpp/steal.cpp", "-o", program, *LINK)
    report("steal.cpp compiles without a warning", result.returncode == 0, result.stderr)
    done = subprocess.run([program], env=ENVIRONMENT, capture_output=True, text=True, timeout=120)
    shares = [int(share) for share in re.findall(r"^device \d+ did (\d+) of 16000 tasks$", done.stdout, flags=re.M)]
    report("steal.cpp has each task done once, by any device",
           done.returncode == 0 and done.stderr == "" and sum(shares) == 16000 and
           done.stdout.endswith("\neach task was done once, and all results are right\n"), done)


def sockets(process):
    found = []
    for one in pathlib.Path(f"/proc/{process.pid}/fd").iterdir():
        try:
            found += [link for link in [os.readlink(one)] if link.startswith("socket:")]
        except FileNotFoundError:  # closed meanwhile
            pass
    return found


def until(holds):
    end = time.monotonic() + 60
    while not holds() and time.monotonic() < end:
        time.sleep(0.005)


def served(folder):
    """The server with Asio: by its own clients, and by ours, one of which breaks off. SIGTERM waits for who is there."""
    program, boost = folder / "asio_server", DEPS / "boost/usr/include"
    beside = ["-isystem", boost] if boost.is_dir() else []
    source = built.ROOT / "samples/cpp/asio_server.cpp"
    result = compiled(gcc(), "-std=c++20", "-O1", *FLAGS, *beside, source, "-o", program, *LINK)
    report("asio_server.cpp compiles without a warning", result.returncode == 0, result.stderr)
    shutil.copy(built.ROOT / "samples/stream_files.cu", folder)
    done = subprocess.run([program, "4"], env=ENVIRONMENT, capture_output=True, text=True, timeout=120)
    report("asio_server.cpp answers its clients right", done.returncode == 0 and done.stdout.endswith("; 12 of 12 answers are right\n"), done)
    with subprocess.Popen([program, "--serve", "0"], env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        port = int(server.stdout.readline().split()[1])
        data = bytes(i * 7 % 256 for i in range(3_000_001))
        with socket.create_connection(("127.0.0.1", port)) as gone:
            gone.sendall(len(data).to_bytes(8, "little") + data[:100_000])
        right = []
        for whole in (data, b"", b"x"):
            with socket.create_connection(("127.0.0.1", port)) as client:
                client.settimeout(60)
                client.sendall(len(whole).to_bytes(8, "little") + whole[:len(whole) // 2])
                sender = threading.Thread(target=client.sendall, args=(whole[len(whole) // 2:],))
                sender.start()
                got = bytearray()
                while part := client.recv(1 << 16):
                    got += part
                sender.join()
                right.append(got == bytes(255 - byte for byte in whole))
        until(lambda: len(sockets(server)) <= 1)  # the door alone
        idle = len(sockets(server))
        with socket.create_connection(("127.0.0.1", port)) as last:
            last.settimeout(60)
            last.sendall((2).to_bytes(8, "little") + b"a")
            until(lambda: len(sockets(server)) > idle)  # it has the connection
            server.terminate()
            until(lambda: len(sockets(server)) <= idle)  # it has closed the door
            waits = server.poll() is None
            last.sendall(b"b")
            right.append(last.recv(2) == bytes((255 - ord("a"), 255 - ord("b"))))
        try:
            code = server.wait(60)
        except subprocess.TimeoutExpired:
            server.kill()
            code = "it doesn't end"
        said = server.stderr.read()
    report("asio_server.cpp serves others, outlives one that breaks off, and ends by SIGTERM when the last was answered",
           right == [True] * 4 and waits and code == 0 and said.count("a client: ") == 1, (right, waits, code, said))


def main():
    if built.BUNDLE:
        return objects(built.BUNDLE / "cpp/objects", "C++17")
    with tempfile.TemporaryDirectory() as folder:
        standards(pathlib.Path(folder))
        designated(pathlib.Path(folder))
        refused(pathlib.Path(folder))
        first(pathlib.Path(folder))
        searched(pathlib.Path(folder))
        stolen(pathlib.Path(folder))
        served(pathlib.Path(folder))


main()
