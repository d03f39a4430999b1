-- A rank of a program that mpirun starts: the sum of the ranks' numbers plus 1, and an exchange with the neighbouring ranks.
local gpuorch = require "gpuorch"

local runtime = assert(gpuorch.runtime_create{device = "soft"})
local device = assert(runtime:device_open())
local stream = assert(device:stream_create())
local peers = assert(device:join{by = "mpi", engine = "host", timeout_ns = 30 * 1000000000})
local info = peers:info()
local ranks, rank = info.ranks, info.rank

local words, came = assert(device:memory_allocate("i32", 1000)), assert(device:memory_allocate("i32", 1000))
assert(stream:fill(words, rank + 1))
assert(peers:send_receive{{stream = stream, send = words, send_to = (rank + 1) % ranks, receive = came,
                           receive_from = (rank - 1) % ranks}})
assert(peers:all_reduce{{stream = stream, send = words, receive = words}, reduction = "sum"})
assert(stream:wait(30))
assert(words:to_string(stream) == gpuorch.pack("i32", ranks * (ranks + 1) / 2):rep(1000))
assert(came:to_string(stream) == gpuorch.pack("i32", (rank - 1) % ranks + 1):rep(1000))
runtime:close()
io.write("rank ", rank, " of ", ranks, " has the sum\n")
