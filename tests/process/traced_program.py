#!/usr/bin/env python3
"""What check_trace.py traces besides the main job, by GPUORCH_TRACE or as its arguments say:

    mixed          a little of everything, on streams with names that are hard to write down
    many           10,000 operations, of kinds that alternate
    two            two runtimes, one after the other
    after          one that calls and is called back long after its last work on the GPU
    moved FOLDER [PATH PICTURE]   one that goes to another folder while it is traced
    told           whatever its standard input says, line by line (see there); it answers each line
    stop PATH...   a trace into the first path, with the picture in the second, whose end is told by a status

FILE_LIMIT in the environment: bytes that fit into a file once the device is open.
"""
import ctypes
import os
import pathlib
import resource
import sys
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "bindings/python/ctypes"))
import gpuorch

HARD = 's0 <&>"\\\t\x01'  # what JSON and XML write otherwise, or can't


def device_of(gpo):
    runtime = gpo.runtime_create()
    device = gpo.device_open(runtime)
    if limit := int(os.environ.get("FILE_LIMIT", 0)):
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    return runtime, device


def close(*handles):
    for handle in handles:
        handle.close()


def mixed(gpo):
    runtime, device = device_of(gpo)
    queue, executor, timeline = gpo.cq_create(runtime), gpo.executor_create(runtime), gpo.timeline_create(runtime)
    streams = [gpo.stream_create(device, gpo.StreamOptions(label=label)) for label in (HARD, "s1", "s2")]
    memory, host = gpo.memory_allocate(device, 1 << 16), (ctypes.c_uint8 * (1 << 16))()
    for number in range(12):
        stream = streams[number % 3]
        gpo.fill(stream, memory, number, 4, 1 << 12)
        gpo.stream_notify(stream, queue, number)
    for stream in streams:
        gpo.stream_wait(stream, -1)
    gpo.copy_to_device(streams[1], memory, host, len(host))
    step = gpo.template_create(device, gpo.TemplateOptions(label=HARD))
    for number in range(3):
        gpo.template_add_fill(step, None, 0, memory, number, 4, 1 << 12)
    gpo.template_launch(step, streams[2], None, 0, 0)
    # Held for a timeline, then for a host call, whose end a callback hears of.
    gpo.stream_wait_timeline(streams[0], timeline, 1)
    gpo.fill(streams[0], memory, 1, 1, 4096)
    gpo.timeline_signal(timeline, 1)
    gpo.stream_host_call(streams[1], executor, lambda call: time.sleep(0.002) or gpo.SUCCESS)
    gpo.fill(streams[1], memory, 2, 1, 4096)
    gpo.stream_then(streams[1], executor, lambda completion, error: gpo.stream_query(streams[1]))
    for _ in range(3):
        try:
            gpo.fill(streams[2], memory, 1, 3, 4)
        except gpuorch.Error as error:
            if error.status != gpo.INVALID_ARGUMENT:
                raise
    gpo.executor_run_for(executor, -1)
    for stream in streams:
        gpo.stream_wait(stream, -1)
    drained, entries = 0, (gpo.Completion * 16)()
    while drained < 12:
        gpo.cq_wait(queue, -1)
        drained += gpo.cq_drain(queue, entries, ctypes.sizeof(gpo.Completion), 16)
    step.close()
    gpo.memory_free(device, memory)
    close(*streams, timeline, executor, queue, device, runtime)


def many(gpo):
    runtime, device = device_of(gpo)
    streams = [gpo.stream_create(device) for _ in range(4)]
    memory = gpo.memory_allocate(device, 1 << 16)
    for number in range(2500):
        for stream in streams:
            if number % 2:
                gpo.fill(stream, memory, number, 4, 1 << 12)
            else:
                gpo.copy_on_device(stream, memory, memory + (1 << 15), 1 << 14)
        if number % 100 == 99:
            for stream in streams:
                gpo.stream_wait(stream, -1)
    gpo.memory_free(device, memory)
    close(*streams, device, runtime)


def two(gpo):
    for _ in range(2):
        runtime, device = device_of(gpo)
        stream, memory = gpo.stream_create(device), gpo.memory_allocate(device, 4096)
        gpo.fill(stream, memory, 1, 4, 1024)
        gpo.stream_wait(stream, -1)
        gpo.memory_free(device, memory)
        close(stream, device, runtime)


def after(gpo):
    runtime, device = device_of(gpo)
    executor, stream, memory = gpo.executor_create(runtime), gpo.stream_create(device), gpo.memory_allocate(device, 4096)
    gpo.fill(stream, memory, 1, 4, 1024)
    gpo.stream_wait(stream, -1)
    time.sleep(0.05)
    for _ in range(7):
        gpo.stream_then(stream, executor, lambda completion, error: gpo.stream_query(stream))
    gpo.executor_run_for(executor, 20_000_000)
    gpo.memory_free(device, memory)
    close(executor, stream, device, runtime)


def moved(gpo, folder, path=None, picture=None):
    runtime, device = device_of(gpo)
    if path:
        gpo.trace_start(runtime, gpo.TraceOptions(path=path, picture=picture))
    os.chdir(folder)
    close(device, runtime)


def told(gpo):
    """open LABEL: a runtime with some work on a stream of that name; start PATH [PICTURE], stop: a trace of it; close: it ends;
    fork: a child that does nothing, and whose number is the answer; exit: the process ends as it is."""
    def open_with(label):
        runtime, device = device_of(gpo)
        stream, memory = gpo.stream_create(device, gpo.StreamOptions(label=label)), gpo.memory_allocate(device, 4096)
        gpo.fill(stream, memory, 1, 4, 1024)
        gpo.stream_wait(stream, -1)
        return runtime, device, stream, memory

    def close_all(runtime, device, stream, memory):
        gpo.memory_free(device, memory)
        close(stream, device, runtime)

    def fork():
        begun, begins = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(begins, b"!")  # until here it has what its parent has open
            time.sleep(120)
            os._exit(0)
        os.read(begun, 1)
        os.close(begun)
        os.close(begins)
        return child

    for line in sys.stdin:
        command, *arguments = line.split()
        try:
            if command == "open":
                opened = open_with(*arguments)
            answer = {"open": lambda: None, "close": lambda: close_all(*opened), "fork": fork,
                      "start": lambda path, picture=None: gpo.trace_start(opened[0], gpo.TraceOptions(path=path, picture=picture)),
                      "exit": lambda: os._exit(0), "stop": lambda: gpo.trace_stop(opened[0])}[command](*(arguments if command == "start" else []))
            print(answer or "SUCCESS", flush=True)
        except gpuorch.Error as error:
            print(error.name, error, flush=True)


def stop(gpo, path, picture):
    runtime, device = device_of(gpo)
    gpo.trace_start(runtime, gpo.TraceOptions(path=path, picture=picture))
    stream, memory = gpo.stream_create(device), gpo.memory_allocate(device, 4096)
    for value in range(2000):
        gpo.fill(stream, memory, value, 4, 1024)
    gpo.stream_wait(stream, -1)
    try:
        gpo.trace_stop(runtime)
        print("SUCCESS")
    except gpuorch.Error as error:
        print(error.name)
    gpo.memory_free(device, memory)
    close(stream, device, runtime)


if __name__ == "__main__":
    {"mixed": mixed, "many": many, "two": two, "after": after, "moved": moved, "told": told, "stop": stop}[sys.argv[1]](gpuorch.Library(), *sys.argv[2:])
