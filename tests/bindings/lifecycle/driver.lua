-- driver.lua < lifecycle.txt: does what the cases say with the module, and writes the same lines with the outcome of
-- each step. The words: tests/bindings/README.md. A closed thing is refused by raising: that is STALE_HANDLE here.
local gpuorch = require "gpuorch"

local things

local function thing(name)
    return assert(things[name], "there is no " .. tostring(name))
end

-- For each kind how it is made, and a call that needs nothing but the thing.
local kinds = {
    runtime = {function() return gpuorch.runtime_create {device = "soft"} end, "statistics"},
    device = {function(runtime) return runtime:device_open() end, "memory"},
    stream = {function(device) return device:stream_create() end, "query"},
    event = {function(device) return device:event_create() end, "query"},
    timeline = {function(runtime) return runtime:timeline_create() end, "value"},
    queue = {function(runtime) return runtime:cq_create() end, "statistics"},
    arena = {function(device) return device:arena_create() end, "statistics"},
    pool = {function(device) return device:pool_create() end, "statistics"},
    executor = {function(runtime) return runtime:executor_create() end, "statistics"},
    module = {function(device) return device:module_load_builtin() end, "image"},
    kernel = {function(module) return module:kernel("gpo_fill_u32", "ptr u32 u64") end, "attributes"},
    memory = {function(device) return device:memory_allocate("u32", 1024) end, "bytes"},
}
local uses = {}

local function entry(name, timeout)
    local queue = thing(name)
    if timeout then
        local woken, message, status = queue:wait(timeout)
        if not woken and status then return nil, message, status end
    end
    local entries, message, status = queue:drain(1)
    if not entries then return nil, message, status end
    return entries[1] and entries[1].status or "nothing"
end

local steps = {
    close = function(name)
        thing(name):close()
        return "closed"
    end,
    shutdown = function(name) return thing(name):shutdown(30) end,
    use = function(name) return thing(name)[uses[name]](thing(name)) end,
    wait = function(name) return thing(name):wait(30) end,
    briefly = function(name) return thing(name):wait(0.02) end,
    hold = function(stream, timeline, value) return thing(stream):wait_timeline(thing(timeline), tonumber(value)) end,
    after = function(stream, event) return thing(stream):wait_event(thing(event)) end,
    signal = function(timeline, value) return thing(timeline):signal(tonumber(value)) end,
    fail = function(timeline) return thing(timeline):fail("GPO_FAILED", "as the case says") end,
    cancel = function(stream) return thing(stream):cancel_held() end,
    fill = function(stream, memory) return thing(stream):fill(thing(memory), 1) end,
    record = function(event, stream) return thing(event):record(thing(stream)) end,
    notify = function(stream, queue) return thing(stream):notify(thing(queue), 1) end,
    launch = function(stream, kernel, memory)
        return thing(stream):launch_kernel(thing(kernel), {grid = 1, block = 32}, thing(memory), 7, 1024)
    end,
    entry = function(queue) return entry(queue, 30) end,
    drain = function(queue) return entry(queue) end,
}
steps.query = steps.use
for kind, about in pairs(kinds) do
    steps[kind] = function(name, parent)
        local made, message, status = about[1](parent and thing(parent))
        things[name], uses[name] = made, about[2]
        return made, message, status
    end
end

-- The outcome of a step, as the file writes it.
local function outcome(verb, ...)
    local ran, answer, _, status = pcall(steps[verb], ...)
    if not ran then
        return answer:find("is closed", 1, true) and "STALE_HANDLE" or answer
    elseif status then
        answer = status
    elseif answer == false then
        answer = (verb == "use" or verb == "query") and "NOT_READY" or "TIMEOUT"
    elseif type(answer) ~= "string" or answer:find("\127ELF", 1, true) then
        answer = "SUCCESS"
    end
    return (answer:gsub("^GPO_", ""))
end

for line in io.lines() do
    local step = line:match("^([^#].-) %-> ")
    if line:match("^case ") then
        things = {}
        print(line)
    elseif step then
        local words = {}
        for word in step:gmatch("%S+") do words[#words + 1] = word end
        print(step .. " -> " .. outcome(words[1], words[2], words[3], words[4]))
    end
end
