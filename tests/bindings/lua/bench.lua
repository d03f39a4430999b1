-- bench.lua: what a call costs in Lua over the same call in C: query of an idle stream, and launch of a kernel with three
-- arguments and reused options. In one process, alternating, medians of 31 rounds. Garbage is the growth of the heap
-- meanwhile; in a round or two, LuaJIT's compiler adds a trace. tests/bindings/lua/bench builds it and runs it in each Lua.
local gpuorch, bench = require "gpuorch", require "bench"
local ROUNDS, QUERIES, LAUNCHES = 31, 20000, 2000

local runtime = assert(gpuorch.runtime_create())
local device = assert(runtime:device_open())
local stream, memory = assert(device:stream_create()), assert(device:memory_allocate("u32", 1))
local fill = assert(assert(device:module_load_builtin()):kernel("gpo_fill_u32", "ptr u32 u64"))
local shape = gpuorch.launch{grid = 1, block = 1}

local function query(count)
    local start = gpuorch.now()
    for _ = 1, count do stream:query() end
    return (gpuorch.now() - start) / count * 1e9
end

local function launch(count)
    local start = gpuorch.now()
    for i = 1, count do stream:launch_kernel(fill, shape, memory, i, 1) end
    return (gpuorch.now() - start) / count * 1e9
end

local function median(list)
    table.sort(list)
    return list[(#list + 1) / 2]
end

local function row(name, count, in_lua, in_c)
    local of_lua, of_c, over, garbage = {}, {}, {}, {}
    for round = 0, ROUNDS do
        collectgarbage()
        collectgarbage "stop"
        local before = collectgarbage "count"
        local a = in_lua(count)
        local grown = (collectgarbage "count" - before) * 1024
        collectgarbage "restart"
        assert(stream:wait())
        local b = in_c(count)
        bench.wait()
        if round > 0 then -- the first one warms up
            of_lua[round], of_c[round], over[round] = a, b, a - b
            garbage[round] = grown
        end
    end
    print(("%-8s %-22s Lua %7.1f ns   C %7.1f ns   over C %7.1f ns   garbage %.2f bytes a call"):format(
        os.getenv "GPUORCH_TEST_LUA" or _VERSION, name, median(of_lua), median(of_c), median(over), median(garbage) / count))
end
row("query", QUERIES, query, bench.query)
row("launch, 3 arguments", LAUNCHES, launch, bench.launch)
