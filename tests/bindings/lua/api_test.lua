-- Every function of the library succeeds and fails through Lua.
local h = dofile(os.getenv "GPUORCH_TEST_HARNESS")
local gpuorch, test, same, fails = h.gpuorch, h.test, h.same, h.fails
local w = dofile(os.getenv "GPUORCH_TEST_FILES" .. "/world.lua")

test("every call succeeds in a live world", function()
    local world = w.world()
    for _, call in ipairs(w.calls) do
        local value, message, name = call.run(world)
        if not value then error(call.name .. ": " .. tostring(message) .. " " .. tostring(name)) end
    end
    world.runtime:close()
end)

test("every call on what is left of a runtime that was shut down fails and says why, and closing it does no harm", function()
    local world = w.world()
    same(world.runtime:shutdown(10), true)
    -- A queue and its entries outlive the runtime. This queue is empty.
    local of_queues = {cq_wait = "GPO_SHUT_DOWN", cq_drain = "GPO_SHUT_DOWN", cq_wake = true, cq_get_fd = true,
                       cq_get_statistics = true}
    for _, call in ipairs(w.calls) do
        if not w.of_runtime[call.name] then
            local good, value, message, name = pcall(call.run, world)
            local right = of_queues[call.name]
            if right == true then
                same(good and value ~= nil, true, call.name .. ": " .. tostring(message))
            elseif right then
                same(name, right, call.name)
            elseif not good then -- its array's memory has gone
                same(tostring(value):find("the array is closed", 1, true) ~= nil, true, call.name .. ": " .. tostring(value))
            elseif value ~= nil or type(message) ~= "string" or name ~= "GPO_INVALID_HANDLE" then
                error(call.name .. ": " .. tostring(value) .. ", " .. tostring(message) .. ", " .. tostring(name))
            end
        end
    end
    for _, object in pairs(world) do
        if type(object) == "userdata" and object.close then object:close() end -- an address has nothing to close
    end
end)

test("a shutdown that runs into its timeout can be made again", function()
    local world = w.world()
    assert(world.timeline:signal(1))
    local call
    assert(world.stream:host_call(world.executor, function(host_call) call = host_call.call return false end))
    repeat assert(world.executor:poll()) until call
    local done, _, why = world.runtime:shutdown(0)
    if not done then
        same(why, "GPO_TIMEOUT")
        assert(world.runtime:shutdown(20))
    end
end)

test("failures that need no object name their reason", function()
    fails("GPO_INVALID_ARGUMENT", gpuorch.runtime_create, {device = "nonsense"})
    same(gpuorch.last_error().status, "GPO_INVALID_ARGUMENT")
    same(gpuorch.last_error()["function"], "gpo_runtime_create")
    same(gpuorch.status_name(30), "GPO_OUT_OF_MEMORY")
    same(gpuorch.status_text("GPO_TIMEOUT"), gpuorch.status_text(2))
    same(type(gpuorch.last_compile_log()), "string")
    same(gpuorch.version() >= 100, true)
end)
