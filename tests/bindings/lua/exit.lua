-- exit.lua WAY: ends in some way while streams, a pipeline and its callbacks are under way (check_lua.py).
local gpuorch
-- An object older than the module is finalized last, after the module's end: the call fails, and doesn't crash.
local _ = setmetatable({}, {__gc = function() gpuorch.runtime_create() end})
gpuorch = require "gpuorch"
local runtime = assert(gpuorch.runtime_create{device = os.getenv "GPUORCH_DEVICE", log = function() end})
local device = assert(runtime:device_open())
local stream = assert(device:stream_create())
local x = assert(device:memory_allocate("u32", 2^16))
local pinned = assert(assert(device:arena_create()):allocate("u32", 2^16))
for i = 1, 50 do
    assert(stream:fill(x, i))
    assert(stream:copy_to_host(pinned, x))
end
local copy = device:module_load_builtin():kernel("gpo_copy_u32", "ptr ptr u64")
local pipeline = assert(device:pipeline_create{stages = {{kernel = copy, arguments = {"output", "input", 1}}}, chunk_bytes = 4096})
local chunks = 0
local way = arg[1]
assert(pipeline:start({fill = function(buffer) return #buffer end}, {take = function()
    chunks = chunks + 1
    if way == "in a callback" and chunks == 3 then os.exit(6) end
end}))
while way == "in a callback" or chunks < 2 do pipeline:wait(0.01) end
if way == "exit" then os.exit(3) end
if way == "at once" then require "process".exit(7) end
if way == "beside another state" then
    require "process".start(os.getenv "GPUORCH_TEST_FILES" .. "/state.lua")
    pipeline:wait(0.01)
    os.exit(8)
end
if way == "exit and close" then os.exit(4, true) end
if way == "close" then runtime:close() os.exit(5) end
if way == "error" then error("the script fails", 0) end
