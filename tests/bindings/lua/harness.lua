-- harness.lua: what the test files share. A file ends in _test.lua and begins with
--     local gpuorch, test, use = dofile(HARNESS)
-- test(name, f) runs f and prints a line; use() gives the runtime and device that a test takes, closed behind it.
local gpuorch = require "gpuorch"
local unpack = table.unpack or unpack
local interpreter = os.getenv "GPUORCH_TEST_LUA" or _VERSION
local pattern = os.getenv "GPUORCH_TEST_PATTERN" or ""

-- Under stress the collector runs all the time.
if os.getenv "GPUORCH_TEST_STRESS" then
    collectgarbage("setpause", 1)
    collectgarbage("setstepmul", 10000)
end

local opened = {}

-- use{options of the runtime}: runtime, device, stream.
local function use(options)
    local runtime = assert(gpuorch.runtime_create(options or {device = os.getenv "GPUORCH_DEVICE"}))
    opened[#opened + 1] = runtime
    local device = assert(runtime:device_open())
    return runtime, device, assert(device:stream_create())
end

local function test(name, f, ...)
    if not name:find(pattern, 1, true) then return end
    local arguments, count = {...}, select("#", ...)
    local good, problem = xpcall(function() return f(unpack(arguments, 1, count)) end, debug.traceback)
    while #opened > 0 do
        local closed, why = pcall(function() table.remove(opened):close() end)
        if good and not closed then good, problem = false, why end
    end
    if good and problem == "skip" then return end
    if not good then print(problem) end
    print((good and "PASS " or "FAIL ") .. interpreter .. ": " .. name)
    io.stdout:flush()
end

-- Equal, or raises with both.
local function same(got, wanted, what)
    if got ~= wanted then
        error((what and what .. ": " or "") .. tostring(got) .. " in place of " .. tostring(wanted), 2)
    end
end

-- f raises, and says `part`.
local function raises(part, f, ...)
    local good, message = pcall(f, ...)
    if good then error("nothing was raised; wanted: " .. part, 2) end
    if not tostring(message):find(part, 1, true) then error("raised: " .. tostring(message) .. "; wanted: " .. part, 2) end
end

-- f returns nil, a message and the name of the status.
local function fails(name, f, ...)
    local value, message, got = f(...)
    if value ~= nil or type(message) ~= "string" or got ~= name then
        error("returned " .. tostring(value) .. ", " .. tostring(message) .. ", " .. tostring(got) .. "; wanted: " .. name, 2)
    end
end

local function collect()
    for _ = 1, 3 do collectgarbage() end
end

local function seconds(f)
    local start = os.time()
    f()
    return os.time() - start
end

return {gpuorch = gpuorch, test = test, use = use, same = same, raises = raises, fails = fails, collect = collect,
        seconds = seconds, interpreter = interpreter}
