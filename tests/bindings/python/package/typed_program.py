"""What type checkers know of the package: options, nested structs, functions that are called, handlers. check_package.py gives
this file to mypy and pyright. A line with an `ignore` is wrong on purpose, and a checker that doesn't see that complains.
The program is never run."""
import ctypes

import gpuorch
from gpuorch import options, records


class Node(ctypes.Structure):
    _fields_ = [("handler", ctypes.c_uint32), ("number", ctypes.c_uint32)]


def line(level: int, text: str) -> None:
    print(level, text)


def done(completion: records.Completion, error: gpuorch.Error | None) -> None:
    print(completion.user_data, error.name if error else "")


def host(call: records.HostCall) -> bool:
    return call.status == 0


def fill(memory: memoryview) -> int | None:
    memory[:] = bytes(len(memory))
    return len(memory)


def stage(stream: gpuorch.Stream, chunk: records.Chunk) -> None:
    print(stream.label, chunk.index)


def take(chunk: records.Chunk) -> bool:
    return chunk.index < 9


def record(stream: gpuorch.Stream, work: records.BucketWork) -> None:
    print(stream.label, work.size)


def number(value: int) -> int:
    return value


def callbacks(runtime: gpuorch.Runtime, device: gpuorch.Device, stream: gpuorch.Stream, executor: gpuorch.Executor) -> None:
    gpuorch.Runtime(device="soft", log=line, log_level=gpuorch.LOG_INFO)
    gpuorch.Runtime(log=number)  # type: ignore
    gpuorch.Runtime(colour="red")  # type: ignore
    stream.then(executor, done)
    stream.then(executor, lambda completion, error: print(completion.status, error))
    stream.then(executor, number)  # type: ignore
    stream.host_call(executor, host)
    stream.host_call(executor, done)  # type: ignore
    executor.post(done)
    executor.post(callback=done)
    executor.post_at(time_ns=0, callback=done)
    runtime.timeline_create().then(value=1, executor=executor, callback=done)
    device.template().add_host_call(0x1000)
    device.template().add_host_call(host)  # type: ignore  # host nodes run on the driver's threads
    device.buckets(shapes=[8, 16], record=record)
    device.buckets(shapes=[8, 16], record=take)  # type: ignore


def structs(device: gpuorch.Device, kernel: gpuorch.Kernel, executor: gpuorch.Executor) -> None:
    one = options.Stage(kind=gpuorch.STAGE_KERNEL, kernel=kernel, block=256,
                        arguments=[options.StageArgument(kind=gpuorch.ARGUMENT_INPUT), 2.5])
    pipeline = device.pipeline_create(stages=[one, {"kind": gpuorch.STAGE_CALLBACK, "enqueue": stage}], executor=executor)
    pipeline.start({"kind": gpuorch.SOURCE_CALLBACK, "fill": fill}, options.Sink(kind=gpuorch.SINK_CALLBACK, take=take))
    pipeline.start(source=options.Source(kind=gpuorch.SOURCE_CALLBACK, fill=fill), sink={"kind": gpuorch.SINK_NONE})
    options.Stage(kernle=kernel)  # type: ignore
    options.Stage(enqueue=take)  # type: ignore
    pipeline.start({"kind": "callback"}, {})  # type: ignore
    device.pipeline_create(stages=[{"kernel": kernel, "grids": 1}])  # type: ignore
    streams: options.StreamOptions = {"priority": -1, "label": "upload"}
    device.stream_create(**streams)
    device.stream_create(priority="high")  # type: ignore


def schedulers(device: gpuorch.Device, ring: gpuorch.Queue, graph: gpuorch.Graph) -> None:
    device.scheduler(["visit", "fail"], queue=ring, form=gpuorch.SCHEDULER_RESIDENT, source="...")
    device.scheduler({"visit": Node, "fail": None}, queue=ring, source=gpuorch.declaration(Node))
    device.scheduler([options.Handler(graphs=[graph])], queue=ring, form=gpuorch.SCHEDULER_GRAPHS)
    device.scheduler({"visit": 16}, queue=ring)  # type: ignore
    device.scheduler([options.Handler(graph=graph)], queue=ring)  # type: ignore
