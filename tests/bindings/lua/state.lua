-- state.lua: what a Lua state does on a thread of its own, beside others (process_test.lua).
local gpuorch = require "gpuorch"
local loop = require "gpuorch.loop"
for round = 1, 3 do
    local runtime = assert(gpuorch.runtime_create{device = os.getenv "GPUORCH_DEVICE", log = function() end, log_level = "debug"})
    local device = assert(runtime:device_open())
    local copy = assert(device:module_load_builtin():kernel("gpo_copy_u32", "ptr ptr u64"))
    local pipeline = assert(device:pipeline_create{stages = {{kernel = copy, arguments = {"output", "input", 1024}}},
                                                   chunk_bytes = 4096})
    local chunks, woken = 0, 0
    for _ = 1, 20 do
        loop.spawn(function()
            local stream = assert(device:stream_create())
            local array = assert(device:memory_allocate("u8", 4096))
            assert(stream:fill(array, round))
            assert(stream:await())
            assert(array:to_string(stream) == string.char(round):rep(4096))
            woken = woken + 1
        end)
    end
    loop.spawn(function()
        assert(pipeline:start({memory = ("y"):rep(40960)}, {take = function() chunks = chunks + 1 end}))
        assert(pipeline:await())
    end)
    loop.run()
    assert(chunks == 10 and woken == 20)
    if round ~= 2 then runtime:close() end
end
