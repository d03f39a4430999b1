-- A model makes token after token, each from the last one, until a token ends the sentence or the LIMIT is reached. The loop
-- is a while in a graph template: the GPU decides when it ends, and the host launches once, however many tokens come. For
-- comparison, the host drives the same loop, and has to see each token.
--     lua decode_loop.lua
local gpuorch = require "gpuorch"
local LIMIT = 20
local LEARNT = "a graph goes on until it makes the end . the host waits and waits and waits"
local SOURCE = [==[ // A thread for each word: how often did it follow the last one where the model learnt?
extern "C" __global__ void next(const unsigned *follows, unsigned n, unsigned *made, unsigned *last, unsigned *text) {
    __shared__ unsigned best;
    if (threadIdx.x == 0) best = 0;
    __syncthreads();
    atomicMax(&best, (follows[*last * n + threadIdx.x] + 1) * n - threadIdx.x); // the first of several
    __syncthreads();
    if (threadIdx.x == 0) text[(*made)++] = *last = (n - best % n) % n;
}]==]

local calls = 0 -- how often the host has called the library
local function try(object, method, ...)
    calls = calls + 1
    return assert(object[method](object, ...))
end

local runtime = assert(gpuorch.runtime_create()) -- CUDA where there is a GPU, else the software GPU
local device = try(runtime, "device_open")
local stream, arena = try(device, "stream_create"), try(device, "arena_create")
local next_token = try(try(device, "module_compile", SOURCE), "kernel", "next", "ptr u32 ptr ptr ptr")

local words, tokens, learnt = {}, {}, {} -- a token is the number of a word, from 0
for word in LEARNT:gmatch "%S+" do
    if not tokens[word] then words[#words + 1], tokens[word] = word, #words end
    learnt[#learnt + 1] = tokens[word]
end
local follows = try(arena, "allocate", "u32", #words * #words):fill(0) -- pinned memory: kernels read it, too
for i = 2, #learnt do
    local at = learnt[i - 1] * #words + learnt[i] + 1
    follows[at] = follows[at] + 1
end
local END, shape = tokens["."], gpuorch.launch{grid = 1, block = #words}

-- How many tokens there are, the last one, and all of them: on the device, and here.
local state, here = try(device, "memory_allocate", "u32", LIMIT + 2), try(arena, "allocate", "u32", LIMIT + 2)
local made, last, text = state:slice(1, 1), state:slice(2, 2), state:slice(3)

local decode = try(device, "template", {label = "decode"})
local begin = try(decode, "add_copy", nil, {destination = state, source = here})
local goes_on = {word = last, comparison = "not_equal", constant = END, max_iterations = LIMIT}
local loop, body = try(decode, "add_while", begin, goes_on)
try(body, "add_kernel", nil, next_token, shape, follows, #words, made, last, text)
try(decode, "add_copy", loop, {destination = here, source = state})
local graph = try(decode, "graph")

local function by_graph()
    try(graph, "launch", stream)
    try(stream, "wait")
end
local function by_host()
    try(stream, "copy_to_device", state, here)
    repeat
        try(stream, "launch_kernel", next_token, shape, follows, #words, made, last, text)
        try(stream, "copy_to_host", here, state)
        try(stream, "wait")
    until here[2] == END or here[1] == LIMIT
end

for _, way in ipairs{{"by the graph", by_graph}, {"by the host", by_host}} do
    local spent = {}
    for i, first in ipairs{"graph", "host"} do
        here[1], here[2], calls = 0, tokens[first], 0
        way[2]()
        local sentence = {first}
        for token = 1, here[1] do sentence[token + 1] = words[here[token + 2] + 1] end
        print(("%s: %s%s"):format(way[1], table.concat(sentence, " "), here[2] == END and "" or " (the limit)"))
        print(("    %d tokens, %d host calls"):format(here[1], calls))
        spent[i] = {tokens = here[1], calls = calls}
    end
    local further = (spent[2].calls - spent[1].calls) / (spent[2].tokens - spent[1].tokens)
    print(("    %d host calls per further token"):format(further))
end
