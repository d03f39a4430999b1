#!/usr/bin/env python3
"""samples/rust/serve: the service answers as its README says, ends as it should, and holds through 100,000 requests whose
clients hang up. Only tests/run --full runs this script, since it builds an HTTP server.

By hand: GPUORCH_BUILD=build/dev tests/bindings/rust/check_serve.py [REQUESTS]"""
import contextlib
import http.client
import os
import re
import signal
import socket
import subprocess
import sys
import time

from workspace import LIBRARY, OLDEST, ROOT, TARGET, cargo, environment, version

CRATE = ("--locked", "--manifest-path", str(ROOT / "samples/rust/serve/Cargo.toml"), "--features", "load")
PROGRAMS = TARGET / "release"
REQUESTS = next((int(word) for word in sys.argv[1:] if word.isdigit()), 100_000)
SECONDS = 1200  # for any program
ACCOUNTS = re.compile(r"^serve: (\d+) accepted = (\d+) succeeded \+ (\d+) failed \+ (\d+) expired \+ (\d+) cancelled;", re.M)
SENT = re.compile(r"^all: (\d+) sent = (\d+) answered \+ (\d+) refused \+ (\d+) hung up \+ (\d+) failed; (\d+) wrong$", re.M)
PIXEL = b"P6\n# a comment\n1 1\n255\nabc"


def report(name, got, right, more=""):
    print(f"PASS serve: {name}" if got == right else f"{more}\nFAIL serve: {name}: {got!r} in place of {right!r}", flush=True)


def crate():
    """Whether the programs are there. What else cargo has to say of the crate is reported."""
    code, output = cargo("build", "--release", *CRATE)
    report("the crate builds", code, 0, output)
    if code != 0:
        return False
    tested, output = cargo("test", "--release", *CRATE)
    report("the tests of the crate pass", tested, 0, output)
    if cargo("clippy", "--version")[0] == 0:
        code, output = cargo("clippy", "--all-targets", *CRATE, "--", "-D", "warnings")
        report("clippy has nothing to say", code, 0, output)
    if version(OLDEST)[:2] == (1, 85):
        code, output = cargo("check", "--all-targets", *CRATE, program=OLDEST, CARGO_TARGET_DIR=str(TARGET / "oldest"))
        report("the crate builds with Rust 1.85", code, 0, output)
    else:
        print("SKIP serve: the crate builds with Rust 1.85: it isn't here")
    return True


class Server:
    """The service, on a port of its own."""

    def __init__(self, *options):
        settings = environment(GPUORCH_LIBRARY=str(LIBRARY / "libgpuorch.so.0.1"), GPUORCH_DEVICE=os.environ.get("GPUORCH_DEVICE", "soft"))
        self.process = subprocess.Popen([PROGRAMS / "serve", "--listen", "127.0.0.1:0", *options], env=settings, text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        line = self.process.stdout.readline()
        found = re.fullmatch(r"serve: listening on 127\.0\.0\.1:(\d+)\n", line)
        if not found:
            sys.exit(f"the service doesn't listen: {line}{self.process.communicate()[0]}")
        self.port = int(found[1])

    def ask(self, method, path, body=None):
        """The status, the headers and the body of an answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        with contextlib.closing(connection):
            connection.request(method, path, body)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()

    def kernels(self):
        """How many kernels the library has counted."""
        text = self.ask("GET", "/metrics")[2].decode()
        return int(re.search(r'^gpuorch_operations_total\{.*kind="kernel"\} (\d+)$', text, re.M)[1])

    def begin(self):
        """A connection with a request of which the server has only the header: it has asked for the body."""
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=60)
        connection.sendall(b"POST /blur HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n"
                           b"Content-Length: %d\r\n\r\n" % len(PIXEL))
        if not read_until(connection, b"\r\n\r\n").startswith(b"HTTP/1.1 100 "):
            sys.exit("the service doesn't ask for the body")
        return connection

    def refuses_connections(self):
        """Waits until the service accepts no connection any more. False if it still does."""
        end = time.monotonic() + 60
        while time.monotonic() < end:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=60).close()
            except OSError:
                return True
            time.sleep(0.01)
        return False

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def signal(self):
        self.process.send_signal(signal.SIGTERM)

    def ended(self):
        """The exit status, and what was printed."""
        try:
            output = self.process.communicate(timeout=SECONDS)[0]
        except subprocess.TimeoutExpired:
            self.process.kill()
            output = self.process.communicate()[0] + "\nthe service does not end\n"
        return self.process.returncode, output


def read_until(connection, end):
    data = b""
    while not data.endswith(end):
        piece = connection.recv(4096)
        if not piece:
            break
        data += piece
    return data


def load(server, *options):
    return subprocess.Popen([PROGRAMS / "serve-load", "--port", str(server.port), *map(str, options)], text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def answers():
    server = Server("--side", "8")
    status, headers, body = server.ask("POST", "/blur", PIXEL)
    report("an image of one pixel stays as it is", (status, headers["Content-Type"], body),
           (200, "image/x-portable-pixmap", b"P6\n1 1\n255\nabc"))
    for name, path, body, right in (("no image", "/blur", b"GIF89a", 400), ("half an image", "/blur", PIXEL[:-1], 400),
                                    ("too wide", "/blur", b"P6 9 1 255\n" + bytes(27), 413),
                                    ("too many bytes", "/blur", bytes(8 * 8 * 3 + 1025), 413), ("elsewhere", "/blurred", PIXEL, 404)):
        report(f"a request has the right status: {name}", server.ask("POST", path, body)[0], right)
    report("a request has the right status: no POST", server.ask("GET", "/blur")[0], 405)
    report("it is healthy", server.ask("GET", "/healthz")[::2], (200, b"ok\n"))
    report("its metrics are the library's", server.kernels(), 1)
    server.signal()
    code, output = server.ended()
    report("it ends without requests", (code, ACCOUNTS.findall(output)), (0, [("1", "1", "0", "0", "0")]), output)


def refusals():
    for name, option in (("no time", "--within"), ("no memory", "--memory")):
        server = Server(option, "0")
        status, headers, _ = server.ask("POST", "/blur", PIXEL)
        report(f"with {name} it refuses, and says when to come again", (status, headers["Retry-After"]), (503, "1"))
        server.signal()
        report(f"with {name} it ends as usual", server.ended()[0], 0)


def drain():
    server = Server()
    running = [server.begin() for _ in range(8)]
    server.signal()
    report("after SIGTERM it accepts no connection", server.refuses_connections(), True)
    for connection in running:
        connection.sendall(PIXEL)
    right = b"\r\n\r\nP6\n1 1\n255\nabc"
    received = [read_until(connection, right) for connection in running]
    good = [data.startswith(b"HTTP/1.1 200 ") and data.endswith(right) for data in received]
    report("after SIGTERM it answers the requests that run", good, [True] * 8, received)
    code, output = server.ended()
    report("then it ends", (code, ACCOUNTS.findall(output)), (0, [("8", "8", "0", "0", "0")]), output)
    server = Server("--drain", "0")
    unfinished = server.begin()
    server.signal()
    code, output = server.ended()
    report("a client that sends nothing holds it only as long as --drain says", code, 1, output)
    unfinished.close()


def drain_in_traffic():
    server = Server("--side", "8")
    sending = load(server, "--requests", 10_000, "--rate", 2000, "--side", 8, "--seed", 2)
    while server.kernels() < 100 and sending.poll() is None:
        time.sleep(0.01)
    server.signal()
    code, output = server.ended()
    text = sending.communicate(timeout=SECONDS)[0]
    report("SIGTERM in the middle of traffic: it ends", (code, len(ACCOUNTS.findall(output))), (0, 1), output)
    report("SIGTERM in the middle of traffic: no answer is wrong", (sending.returncode, bool(SENT.search(text))), (0, True), text)


def endurance():
    server = Server("--side", "8", "--waiting", "64", "--within", "2000")
    server.ask("POST", "/blur", PIXEL)
    before = server.descriptors()
    sending = load(server, "--requests", REQUESTS, "--rate", 2000, "--burst", 200, "--hang-up", 10, "--side", 8, "--seed", 5)
    text = sending.communicate(timeout=SECONDS)[0]
    print(text)
    sent, answered, refused, hung_up, failed, wrong = map(int, (SENT.search(text) or [0] * 7).groups())
    name = f"{REQUESTS} requests"
    report(f"{name}: all were sent, none failed, no byte was wrong", (sending.returncode, sent, failed, wrong), (0, REQUESTS, 0, 0), text)
    report(f"{name}: some were answered, some refused, and some clients hung up", (answered > 0, refused > 0, hung_up > 0), (True,) * 3, text)
    end = time.monotonic() + 60
    while server.descriptors() > before and time.monotonic() < end:
        time.sleep(0.01)
    report(f"{name}: no connection is left", server.descriptors() <= before, True)
    server.signal()
    code, output = server.ended()
    print(output)
    report(f"{name}: it ends", code, 0, output)
    accepted, succeeded, failed, expired, cancelled = map(int, (ACCOUNTS.findall(output) or [(0,) * 5])[0])
    report(f"{name}: the batcher's accounts add up", (succeeded + failed + expired + cancelled, failed), (accepted, 0), output)
    report(f"{name}: images of clients that hung up were cancelled, and no others",
           (succeeded >= answered, 0 < cancelled <= hung_up), (True, True), output)


def main():
    if crate():
        answers()
        refusals()
        drain()
        drain_in_traffic()
        endurance()


main()
