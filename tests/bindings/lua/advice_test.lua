-- Advice on workloads and traces.
local h = dofile(os.getenv "GPUORCH_TEST_HARNESS")
local gpuorch, test, use, same, raises, fails = h.gpuorch, h.test, h.use, h.same, h.raises, h.fails

test("short kernels that repeat are advised to become a graph", function()
    local _, device = use()
    local workload = {repeats = true, launches = 100, kernel_ns = 109000}
    for _, advised in ipairs{{device:advise(workload)}, {gpuorch.advise(workload)}} do
        local forms, diagnosis = advised[1], advised[2]
        same(forms[1].form .. " " .. diagnosis.bound, "graph launch")
        same(forms[1].gain_low > 1000 and forms[1].gain_low <= forms[1].gain_high, true)
        same(forms[1].reason:find("graph", 1, true) ~= nil, true, forms[1].reason)
    end
end)

test("costs of the program's own replace the device's", function()
    local _, device = use()
    local workload = {repeats = true, launches = 100, kernel_ns = 109000, costs = {launch_ns = 1, wait_ns = 1, graph_launch_ns = 1000000}}
    same(assert(device:advise(workload))[1].form, "leave")
    same(device:costs().measured, false)
    local measured = assert(device:costs{probe = true})
    same(measured.measured and measured.launch_ns > 0, true)
end)

test("uneven tasks are advised to be handed out in another way", function()
    local costs = {}
    for i = 1, 4096 do costs[i] = i <= 64 and 300 or 1 end
    local best = assert(gpuorch.advise{launches = 1, tasks = 4096, kernel_ns = 10000000, order = "chunks", workers = 256,
                                       task_costs = costs})[1]
    same(best.form, "range")
    same(best.order ~= "chunks" and best.gain_low > 1000, true, best.reason)
end)

test("tasks that wait behind long ones in a batch are advised to be claimed late, and then to stay so", function()
    local costs = {}
    for i = 1, 32768 do costs[i] = (i - 1) % 256 * 16 end
    local function best(order)
        return assert(gpuorch.advise{launches = 1, tasks = #costs, kernel_ns = 10000000, order = order, workers = 1024,
                                     block_workers = 32, task_costs = costs})[1]
    end
    same(best "chunks".form .. " " .. best "chunks".order, "range claimed_late")
    same(best "claimed_late".form, "leave")
end)

test("figures that can't be are named", function()
    fails("GPO_INVALID_ARGUMENT", gpuorch.advise, {tasks = 2, task_costs = {1, -1}})
    raises("there is no option 'launch'", gpuorch.advise, {launch = 1})
    raises("option 'task_costs': a table of numbers expected", gpuorch.advise, {task_costs = 7})
    raises("number 2: a number expected", gpuorch.advise, {task_costs = {1, "two"}})
    raises("one of these expected: default, grid", gpuorch.advise, {order = "none"})
    raises("table expected", gpuorch.advise)
    fails("GPO_NOT_FOUND", gpuorch.advise_trace, "/no/such/file")
    fails("GPO_INVALID_ARGUMENT", gpuorch.advise_trace, os.getenv "GPUORCH_TEST_HARNESS")
end)

test("a trace is read back", function()
    local runtime, device, stream = use()
    local path = os.tmpname()
    assert(runtime:trace_start{path = path})
    local fill = assert(assert(device:module_load_builtin()):kernel("gpo_fill_u32", "ptr u32 u64"))
    local memory = assert(device:memory_allocate("u32", 64))
    for i = 1, 20 do assert(stream:launch_kernel(fill, {grid = 1, block = 64}, memory, i, 64)) end
    assert(stream:await(20))
    assert(runtime:trace_stop())
    local text, workload = assert(gpuorch.advise_trace(path))
    os.remove(path)
    same(text:find("kernels", 1, true) ~= nil, true, text)
    same(workload.launches > 0 and workload.round_ns > 0, true)
    workload.repeats = true
    assert(gpuorch.advise(workload))
end)
