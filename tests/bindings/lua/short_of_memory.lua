-- short_of_memory.lua: what a script does with most of the module, for a state whose allocations fail (process_test.lua). Each
-- error is the end of one part only.
local gpuorch = require "gpuorch"
local loop = require "gpuorch.loop"
local runtime, device, stream, memory, copy
local parts = {
    function()
        runtime = assert(gpuorch.runtime_create{device = "soft", log = function() end, label = "short"})
        device = assert(runtime:device_open{label = "short"})
        stream = assert(device:stream_create{label = "short"})
        memory = assert(device:memory_allocate("u32", 1024, "short"))
        copy = assert(device:module_load_builtin()):kernel("gpo_copy_u32", "ptr ptr u64")
    end,
    function()
        local array = gpuorch.array("u32", 1024):fill(3)
        assert(stream:copy_to_device(memory, array))
        assert(stream:copy_batch{{destination = memory:slice(1, 16), source = array:slice(1, 16)},
                                 {destination = memory:slice(17, 32), source = array:slice(17, 32)}})
        assert(stream:launch_kernel(copy, {grid = 1, block = {32, 1}, label = "copy"}, memory, memory, 4))
        assert(#memory:to_string(stream) == 4096)
        array:close()
    end,
    function()
        local queue = assert(runtime:cq_create{capacity = 16})
        for i = 1, 5 do assert(stream:notify(queue, {i})) end
        local done = assert(stream:notify(queue))
        done:when_done(function() return {} end)
        assert(done:wait(10))
        assert(queue:drain())
        local _ = tostring(queue), runtime:metrics(), device:properties(), runtime:metrics_text()
    end,
    function()
        local executor, own = assert(runtime:executor_create()), assert(device:stream_create()) -- held for good, if nobody runs it
        for _ = 1, 3 do assert(own:then_(executor, function(completion) return {completion} end)) end
        assert(own:host_call(executor, function(call) return {call} end))
        assert(executor:run_for(10))
    end,
    function()
        local pool, arena = assert(device:pool_create()), assert(device:arena_create())
        local piece, pinned = assert(pool:allocate(stream, "u8", 100)), assert(arena:allocate("u8", 100))
        assert(stream:copy_to_host(pinned, piece))
        assert(stream:await())
    end,
    function()
        local given = 0
        local pipeline = assert(device:pipeline_create{chunk_bytes = 4096, slots = 2, progress = function(now) return {now} end, stages = {
            {kernel = copy, arguments = {"output", "input", 1024}, label = "copy"}, {enqueue = function(_, chunk) return {chunk} end}}})
        assert(pipeline:start({fill = function(buffer)
            given = given + 1
            return given <= 4 and ("x"):rep(#buffer + given) or nil
        end}, {take = function(chunk) return #chunk.output:to_string() > 0 end}))
        assert(pipeline:wait(20))
        pipeline:close()
    end,
    function()
        local function record(on, work)
            assert(on:launch_kernel(copy, {grid = 1, block = {32, 1}}, work.settings.to or memory, memory, 4))
            if not work.template then return end
            assert(work.template:parameter("to", work.template:last_node(on), "argument", 1))
        end
        local buckets = assert(device:buckets{shapes = {4, 8}, record = record, pad = record, max_buckets = 1})
        for _, size in ipairs{4, 3, 7, 4, 9} do assert(buckets:launch(stream, size, {to = memory})) end
        assert(stream:await())
        buckets:close()
    end,
    function()
        for i = 1, 3 do
            loop.spawn(function()
                assert(stream:await())
                loop.sleep(0.001 * i)
            end)
        end
        loop.run()
    end,
}
gpuorch.on_error = function() end
local ended
for i = 1, #parts do
    local good, message = pcall(parts[i])
    if not good then ended = ended or message end
end
if ended then error(ended, 0) end
