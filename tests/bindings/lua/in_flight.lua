-- in_flight.lua: leaves its state to be closed with a held stream, a pipeline and its callbacks under way (process_test.lua).
local gpuorch = require "gpuorch"
local runtime = assert(gpuorch.runtime_create{device = "soft", log = function() end})
local device = assert(runtime:device_open())
local stream, timeline = assert(device:stream_create()), assert(runtime:timeline_create())
local array = assert(assert(device:arena_create()):allocate("u32", 2^12))
local memory = assert(device:memory_allocate("u32", 2^12))
assert(stream:wait_timeline(timeline, 1))
assert(stream:copy_to_host(array, memory))
assert(stream:notify())
local copy = device:module_load_builtin():kernel("gpo_copy_u32", "ptr ptr u64")
local pipeline = assert(device:pipeline_create{stages = {{kernel = copy, arguments = {"output", "input", 1}}}, chunk_bytes = 4096})
assert(pipeline:start({fill = function(buffer) return #buffer end}, {take = function() end}))
pipeline:wait(0.005)
