"""A decode loop whose end is decided on the GPU: a model makes token after token, each from the last one, until a token ends
the sentence or LIMIT tokens are made. The loop is a while in a graph template, so the host launches once, however many
tokens come. For comparison, the host drives the same loop, and has to see each token. Both have to make the same text.

    python3 decode_loop.py
"""
import asyncio
from collections.abc import Awaitable, Callable
import sys

import gpuorch

LIMIT = 20
LEARNT = "a graph goes on until it makes the end . the host waits and waits and waits".split()
# A thread for each word: how often did the word follow the last one where the model learnt?
SOURCE = """
extern "C" __global__ void next(const unsigned *follows, unsigned n, unsigned *made, unsigned *last, unsigned *text) {
    __shared__ unsigned best;
    if (threadIdx.x == 0) best = 0;
    __syncthreads();
    atomicMax(&best, (follows[*last * n + threadIdx.x] + 1) * n - threadIdx.x); // the first of several
    __syncthreads();
    if (threadIdx.x == 0) text[(*made)++] = *last = (n - best % n) % n;
}"""
WORDS = list(dict.fromkeys(LEARNT))  # a token is the number of a word
TOKENS = {word: token for token, word in enumerate(WORDS)}
END = TOKENS["."]


class Decoder:
    """The model, and its state: how many tokens there are, the last one, and all of them."""

    def __init__(self, device: gpuorch.Device) -> None:
        self.stream, arena, n = device.stream_create(), device.arena_create(), len(WORDS)
        follows = arena.allocate("u32", n * n)  # pinned memory: kernels read it, too
        follows[:] = 0
        for before, after in zip(LEARNT, LEARNT[1:]):
            follows[TOKENS[before] * n + TOKENS[after]] += 1
        self.state, self.here = device.memory_allocate("u32", LIMIT + 2), arena.allocate("u32", LIMIT + 2)
        made, last, text = self.state[0:1], self.state[1:2], self.state[2:]
        kernel = device.module_compile(SOURCE).kernel("next")
        launch = kernel[1, n, self.stream]
        self.make_token: Callable[[], None] = lambda: launch(follows, n, made, last, text)

        # The copy of the state to the device, the loop, and the copy back are one graph. Only the token that the sentence
        # begins with changes from launch to launch: it lies in pinned memory, which the first node reads.
        decode = device.template(label="decode")
        begin = decode.add_copy(destination=self.state, source=self.here, bytes=self.here.bytes)
        body, self.loop = decode.add_while(begin, word=last, comparison=gpuorch.COMPARE_NOT_EQUAL, constant=END,
                                           max_iterations=LIMIT)
        with body:  # which is done then, and belongs to the while
            body.add_kernel(kernel, [follows, n, made, last, text], grid=1, block=n)
        decode.add_copy(self.loop, destination=self.here, source=self.state, bytes=self.here.bytes)
        self.decode, self.graph = decode, decode.graph(flags=gpuorch.GRAPH_UPLOAD)

    async def by_graph(self) -> None:
        self.graph.launch(self.stream)
        await self.stream
        ran, limited = self.graph.loop(self.decode, self.loop)
        assert (ran, limited) == (self.here[0], self.here[1] != END), "the GPU counts the runs of the loop itself"

    async def by_host(self) -> None:
        self.stream.copy_to_device(self.state, self.here)
        while self.here[1] != END and self.here[0] < LIMIT:
            self.make_token()
            self.stream.copy_to_host(self.here, self.state)
            await self.stream

    async def sentence(self, first: str, loop: Callable[[], Awaitable[None]]) -> str:
        self.here[0], self.here[1] = 0, TOKENS[first]
        await loop()
        made: list[int] = self.here[2:2 + self.here[0]].tolist()
        return " ".join([first, *(WORDS[token] for token in made)]) + ("" if self.here[1] == END else " (the limit)")


async def main() -> int:
    with gpuorch.Runtime() as runtime, runtime.device_open() as device:
        decoder, same = Decoder(device), True
        for first in ("graph", "host"):
            by_graph = await decoder.sentence(first, decoder.by_graph)
            by_host = await decoder.sentence(first, decoder.by_host)
            print(f"by the graph: {by_graph}\nby the host:  {by_host}")
            print(f"    {decoder.here[0]} tokens, 1 launch by the graph, {decoder.here[0]} by the host")
            same &= by_graph == by_host
    return int(not same)


sys.exit(asyncio.run(main()))
