"""What check_calls.py and check_calls_graphs.py call: a runtime with a device, streams, memory and kernels."""
import os
import struct
import time

import gpuorch

DEVICE = os.environ.get("GPUORCH_DEVICE", "soft")
CALLER = gpuorch.EXECUTOR_CALLER
SOURCE = """
__device__ int table[4];
extern "C" __global__ void add(unsigned *x, unsigned n) { unsigned i = threadIdx.x; if (i < 16) x[i] += n; }
extern "C" __global__ void add_each(const unsigned *in, unsigned *out, unsigned long long bytes, unsigned n) {
    unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < bytes / 4) out[i] = in[i] + n;
}
extern "C" __global__ void decide(unsigned long long condition) {}
"""


class World:
    """A runtime with a device, two streams, memory and kernels."""

    def __init__(self, **options):
        self.runtime = gpuorch.Runtime(device=DEVICE, **options)
        self.device = self.runtime.device_open(label="gpu")
        self.stream = self.device.stream_create(label="work")
        self.other = self.device.stream_create()
        self.array = self.device.memory_allocate("u32", 16, "mine")
        self.second = self.device.memory_allocate("u32", 16)
        self.cq = self.runtime.cq_create(capacity=64)
        self.executor = self.runtime.executor_create(flags=CALLER)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.runtime.close()

    def compile(self):
        self.module = self.device.module_compile(SOURCE, label="module")
        self.kernel = self.module.kernel("add")

    def put(self, *values):
        """Fills the array: with the values, and then 0."""
        self.stream.copy_to_device(self.array, struct.pack("16I", *values, *[0] * (16 - len(values))))

    def get(self, array=None):
        """The numbers in device memory, when all work of the stream is done."""
        out = bytearray(64)
        self.stream.copy_to_host(out, self.array if array is None else array)
        self.stream.wait(10)
        return struct.unpack("16I", out)

    def entries(self, count=1):
        """So many entries of the queue."""
        found = []
        while len(found) < count:
            self.cq.wait(10)
            found += self.cq.drain()
        return found

    def turn(self, executor, done):
        """Runs an executor until something is true."""
        end = time.monotonic() + 20
        while not done():
            assert time.monotonic() < end, "nothing came"
            executor.run_for(0.01)
            time.sleep(0.0005)
