"""A PyTorch model whose inputs are streamed. A pipeline moves rows of inputs to the GPU and rows of outputs back, in chunks:
the copies run beside the model. The model's work is captured once for each of a few numbers of rows, by gpuorch's buckets.
So a chunk costs the host one launch, and the last chunk, which has fewer rows, is padded up to the next number.

    python3 torch_model.py

Needs PyTorch and a CUDA device. Where they are missing, the program says so and ends with 77.
"""
import importlib
import sys
import time
from typing import Any

import gpuorch
from gpuorch import records

ROWS, WIDTH, CLASSES = 1024, 64, 16  # the most rows of a chunk, and the columns of inputs and of outputs
SHAPES = [64, 256, ROWS]
ROW_BYTES = 4 * WIDTH
try:
    torch: Any = importlib.import_module("torch")
except ImportError:
    torch = None


def why_not() -> str | None:
    if torch is None:
        return "PyTorch is not installed"
    return None if torch.cuda.is_available() else "PyTorch sees no CUDA device"


class Model:
    """Layers of PyTorch's, and memory where captured work finds its inputs and leaves its outputs."""

    def __init__(self, device: gpuorch.Device) -> None:
        torch.manual_seed(1)
        layers = torch.nn.Linear(WIDTH, 256), torch.nn.ReLU(), torch.nn.Linear(256, CLASSES)
        self.layers = torch.nn.Sequential(*layers).cuda().eval()
        self.input = torch.zeros(ROWS, WIDTH, device="cuda")
        self.output = torch.zeros(ROWS, CLASSES, device="cuda")
        self.memory = torch.cuda.MemPool()  # of what lies between the layers: it lives as long as the graphs
        self.buckets = device.buckets(shapes=SHAPES, record=self.record, label="model", pad_address=self.input.data_ptr(),
                                      pad_element_bytes=ROW_BYTES)
        torch.cuda.synchronize()
        with device.stream_create() as stream:
            self.buckets.prepare(stream)
            stream.wait()

    def record(self, stream: gpuorch.Stream, work: records.BucketWork) -> None:
        """Called twice for each number of rows: once the work runs, once it is captured."""
        theirs = torch.cuda.ExternalStream(stream.native())
        with torch.inference_mode(), torch.cuda.use_mem_pool(self.memory), torch.cuda.stream(theirs):
            self.output[:work.shape].copy_(self.layers(self.input[:work.shape]))

    def enqueue(self, stream: gpuorch.Stream, chunk: records.Chunk) -> None:
        """Called for each chunk: puts the chunk's work on the pipeline's stream, and doesn't wait."""
        stream.copy_on_device(self.input, chunk.input_address, chunk.bytes)
        self.buckets.launch(stream, chunk.bytes // ROW_BYTES)
        stream.copy_on_device(chunk.output_address, self.output, chunk.output_bytes)


class Streaming:
    """A pipeline through the model. Its functions of Python's run where the program runs the executor."""

    def __init__(self, runtime: gpuorch.Runtime, device: gpuorch.Device, model: Model) -> None:
        self.arena = device.arena_create()
        self.executor = runtime.executor_create(flags=gpuorch.EXECUTOR_CALLER)
        self.pipeline = device.pipeline_create(
            stages=[{"kind": gpuorch.STAGE_CALLBACK, "enqueue": model.enqueue}], executor=self.executor,
            chunk_bytes=ROWS * ROW_BYTES, output_numerator=CLASSES, output_denominator=WIDTH)

    def tensor(self, rows: int, columns: int) -> tuple[gpuorch.Array, Any]:
        """Pinned memory, also as a tensor."""
        memory = self.arena.allocate("f32", rows * columns)
        return memory, torch.frombuffer(memory, dtype=torch.float32).view(rows, columns)

    def run(self, inputs: gpuorch.Array, outputs: gpuorch.Array) -> None:
        self.pipeline.start({"kind": gpuorch.SOURCE_MEMORY, "memory": inputs},
                            {"kind": gpuorch.SINK_MEMORY, "memory": outputs})
        self.pipeline.then(self.executor, lambda _, error: None)  # so that run() goes on until the end
        self.executor.run()
        self.pipeline.wait()


def main() -> int:
    if reason := why_not():
        print(f"torch_model: {reason}", file=sys.stderr)
        return 77
    worst = 0.0
    with gpuorch.Runtime(device="cuda") as runtime, runtime.device_open() as device:
        model = Model(device)
        streaming = Streaming(runtime, device, model)
        for rows in (1000, 70, 500_000):
            (inputs, x), (outputs, y) = streaming.tensor(rows, WIDTH), streaming.tensor(rows, CLASSES)
            x.normal_()
            begin = time.perf_counter()
            streaming.run(inputs, outputs)
            elapsed = time.perf_counter() - begin
            with torch.inference_mode():
                difference = float((model.layers(x.cuda()).cpu() - y).abs().max())
            worst = max(worst, difference)
            print(f"{rows} rows in {elapsed * 1e3:.1f} ms, largest difference to PyTorch alone: {difference:.1g}")
            del x, y  # the tensors share the memory, which is freed with the last of them
        seen = model.buckets.statistics()
        print(f"{seen.hits + seen.misses} launches of {seen.buckets} graphs, {seen.eager} without one")
    return int(worst > 1e-4)


if __name__ == "__main__":
    sys.exit(main())
