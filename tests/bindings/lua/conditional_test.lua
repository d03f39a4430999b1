-- Nodes that decide on the GPU: branches, loops and their bodies; and graphs that kernels launch.
local h = dofile(os.getenv "GPUORCH_TEST_HARNESS")
local gpuorch, test, use, same, raises, fails = h.gpuorch, h.test, h.use, h.same, h.raises, h.fails

local SOURCE = [[
#include <gpuorch/device/graph.cuh>
extern "C" __global__ void add(unsigned *target, unsigned value) { *target += value; }
extern "C" __global__ void count_down(gpo::condition again, unsigned *left, unsigned *runs) {
    ++*runs;
    gpo::set_condition(again, --*left != 0);
}
extern "C" __global__ void launch(gpo::device_graph graph, unsigned times, unsigned *failed) {
    for (unsigned i = 0; i < times; ++i) *failed += gpo::launch_tail(graph) != 0;
}
]]

-- Words in pinned memory, and a kernel that adds to one of them.
local function work()
    local w = {}
    w.runtime, w.device, w.stream = use()
    w.module = assert(w.device:module_compile(SOURCE))
    w.add = assert(w.module:kernel("add", "ptr u32"))
    w.arena = assert(w.device:arena_create())
    w.words = assert(w.arena:allocate("u32", 8)):fill(0)
    w.template = assert(w.device:template())
    function w.at(i) return w.words:slice(i, i) end
    function w.put(template, i, value, after)
        return assert(template:add_kernel(after, w.add, {grid = 1, block = 1}, w.at(i), value))
    end
    function w.run(graph)
        assert(graph:launch(w.stream))
        assert(w.stream:await(30))
        return table.concat({w.words:unpack(1, 4)}, " ")
    end
    return w
end

test("an if runs one of its bodies", function()
    local w = work()
    local node, yes, no = w.template:add_if(nil, {word = w.words, comparison = "less", constant = 2}, true)
    same(tostring(yes):match "^gpuorch%.template", "gpuorch.template")
    w.put(yes, 2, 1)
    w.put(no, 3, 1)
    w.put(w.template, 1, 1, node)
    local only, body, none = w.template:add_if(nil, {word = w.at(4), comparison = "not_equal"})
    same(only > node, true)
    same(none, nil)
    w.put(body, 4, 100)
    yes:close()
    local graph = assert(w.template:graph())
    same(w.run(graph), "1 1 0 0")
    same(w.run(graph), "2 2 0 0")
    same(w.run(graph), "3 2 1 0")
end)

test("a switch runs the body that its word names, counted from 0", function()
    local w = work()
    local node, bodies = w.template:add_switch(nil, {word = w.words, comparison = "value"}, 3)
    same(type(node), "number")
    same(#bodies, 3)
    for i, body in ipairs(bodies) do w.put(body, 2, 10 ^ (i - 1)) end
    local graph = assert(w.template:graph())
    for i = 0, 3 do
        w.words[1] = i
        w.run(graph)
    end
    same(w.words[2], 111)
end)

test("a while runs as long as its word says, and tells how often it ran and what ended it", function()
    local w = work()
    local node, body = w.template:add_while(nil, {word = w.words, comparison = "less", constant = 10})
    local one = w.put(body, 1, 1)
    w.put(body, 2, 3, one)
    local for_ever, another = w.template:add_while(node, {word = w.at(4), comparison = "equal", max_iterations = 5})
    w.put(another, 3, 1)
    local graph = assert(w.template:graph())
    same(w.run(graph), "10 30 5 0")
    local iterations, limited = graph:loop(w.template, node)
    same(iterations, 10)
    same(limited, false)
    iterations, limited = graph:loop(w.template, for_ever)
    same(iterations, 5)
    same(limited, true)
    fails("GPO_INVALID_ARGUMENT", graph.loop, graph, w.template, 99)
end)

test("parameters of bodies are the template's, with their types, and bodies nest", function()
    local w = work()
    local _, outer = w.template:add_while(nil, {word = w.at(1), comparison = "less", constant = 3})
    local reset = assert(outer:add_fill(nil, w.at(2), 0))
    local inside, inner = outer:add_while(reset, {word = w.at(2), comparison = "less", constant = 4})
    w.put(inner, 2, 1)
    local total = w.put(inner, 3, 1)
    assert(inner:parameter("step", total, "argument", 2))
    assert(inner:parameter("total", total, "argument", 1))
    raises("parameter 'step' is of another type already", outer.parameter, outer, "step", reset, "destination")
    w.put(outer, 1, 1, inside)
    local graph = assert(w.template:graph())
    same(w.run(graph), "3 4 12 0")
    w.words:fill(0)
    assert(graph:set("step", 10))
    same(w.run(graph), "3 4 120 0")
    same(graph:get "step", 10)
    same((graph:loop(outer, inside)), 4)
    raises("parameter 'step': out of range", graph.set, graph, "step", -1)
    w.words:fill(0)
    local number = assert(w.template:parameter "total")
    assert(graph:set{[number] = w.at(4), step = 2})
    same(w.run(graph), "3 4 0 24")
    same(w.template:statistics().parameters, 2)
end)

test("a conditional takes its place in a recording, and its body is recorded", function()
    local w = work()
    local other = assert(w.device:stream_create())
    local shape = {grid = 1, block = 1}
    local again = assert(w.arena:allocate("u32", 1)):fill(0)
    assert(w.template:record(w.stream, function(recording)
        assert(w.stream:fill(w.at(1), 0))
        local node, body = recording:add_while(recording:last_node(w.stream),
                                               {word = w.at(1), comparison = "less", constant = 8})
        assert(recording:set_last_node(w.stream, node))
        raises("no", body.record, body, other, function()
            assert(other:launch_kernel(w.add, shape, w.at(1), 100))
            error "no"
        end)
        assert(body:record(other, function(recorded)
            assert(other:launch_kernel(w.add, shape, w.at(1), 2))
            assert(other:launch_kernel(w.add, shape, again, 1))
            assert(recorded:parameter("step", recorded:last_node(other), "argument", 2))
        end))
        assert(w.stream:launch_kernel(w.add, shape, w.at(2), 100))
    end))
    local graph = assert(w.template:graph())
    local held = again
    again = nil
    same(w.run(graph), "8 100 0 0")
    same(held[1], 4)
    held = nil
    h.collect()
    assert(graph:set("step", 5))
    same(w.run(graph), "8 200 0 0")
end)

test("arrays of bodies are kept by graphs, and go with them", function()
    local w = work()
    local shape = {grid = 1, block = 1}
    do
        local _, body = w.template:add_while(nil, {word = w.at(1), comparison = "less", constant = 3})
        local scratch = assert(w.arena:allocate("u32", 1)):fill(5)
        assert(body:add_kernel(nil, w.add, shape, scratch, 1))
        assert(body:add_kernel(1, w.add, shape, w.at(1), 1))
        scratch:close()
    end
    h.collect()
    local held = gpuorch.held_bytes()
    local graph = assert(w.template:graph())
    w.template:close()
    for _ = 1, 5 do assert(w.arena:allocate("u32", 1)):fill(9) end
    same(w.run(graph), "3 0 0 0")
    h.collect()
    same(gpuorch.held_bytes(), held)
    graph:close()
    h.collect()
    same(gpuorch.held_bytes(), held - 4)
end)

test("kernels decide a loop, in each graph of a template", function()
    local w = work()
    local count_down = assert(w.module:kernel("count_down", "u64 ptr ptr"))
    local loop, body = w.template:add_while(nil, {initial = 1})
    local kernel = assert(body:add_kernel(nil, count_down, {grid = 1, block = 1}, 0, w.at(1), w.at(2)))
    assert(body:bind_condition(kernel, 1, w.template, loop))
    fails("GPO_INVALID_ARGUMENT", body.bind_condition, body, kernel, 9, w.template, loop)
    raises("arguments count from 1", body.bind_condition, body, kernel, 0, w.template, loop)
    for runs = 1, 2 do
        local graph = assert(w.template:graph())
        w.words[1] = 5
        same(w.run(graph), "0 " .. 5 * runs .. " 0 0")
    end
end)

test("conditions and bodies that can't be are refused", function()
    local w = work()
    local template = w.template
    raises("option 'comparison': one of these expected: kernel, equal, not_equal, less, greater_equal, value",
           template.add_if, template, nil, {word = w.words, comparison = "more"})
    raises("there is no option 'words'", template.add_if, template, nil, {words = w.words})
    raises("option 'word': an array, an address or nil expected", template.add_while, template, nil, {word = true})
    raises("option 'word': pageable memory", template.add_while, template, nil, {word = gpuorch.array("u32", 1)})
    raises("table expected", template.add_if, template)
    raises("out of range", template.add_switch, template, nil, {word = w.words, comparison = "value"}, 1025)
    fails("GPO_INVALID_ARGUMENT", template.add_switch, template, nil, {word = w.words, comparison = "value"}, 0)
    fails("GPO_INVALID_ARGUMENT", template.add_if, template, nil, {comparison = "equal"})
    fails("GPO_INVALID_ARGUMENT", template.add_while, template, 7, {word = w.words, comparison = "equal"})
    same(template:statistics().nodes, 0)
    local _, body = template:add_if(nil, {word = w.words, comparison = "equal"})
    fails("GPO_INVALID_STATE", body.graph, body)
    fails("GPO_INVALID_STATE", body.clear, body)
    fails("GPO_INVALID_STATE", body.launch, body, w.stream)
    fails("GPO_NOT_SUPPORTED", body.add_event_record, body, nil, assert(w.device:event_create()))
    assert(template:clear())
    fails("GPO_INVALID_STATE", body.add_empty, body)
    fails("GPO_INVALID_STATE", body.add_fill, body, nil, w.at(1), 1)
end)

test("a kernel launches a graph, and one launch too many is told", function()
    local w = work()
    w.put(w.template, 1, 1)
    local child = assert(w.template:graph{device_launch = true})
    local launch = assert(w.module:kernel("launch", "bytes:16 u32 ptr"))
    local bytes, native, status = child:device_handle()
    same(#bytes, 16)
    same(native ~= nil and status ~= nil, true)
    local parent = assert(w.device:template())
    local node = assert(parent:add_kernel(nil, launch, {grid = 1, block = 1}, bytes, 1, w.at(2)))
    assert(parent:parameter("times", node, "argument", 2))
    local graph = assert(parent:graph())
    same(w.run(graph), "1 0 0 0")
    same(child:device_status(), "GPO_SUCCESS")
    assert(graph:set("times", 2))
    same(w.run(graph), "2 1 0 0")
    same(child:device_status(), "GPO_LIMIT_EXCEEDED")
    same(child:device_status(), "GPO_SUCCESS")
    fails("GPO_INVALID_STATE", graph.device_handle, graph)
    fails("GPO_INVALID_STATE", graph.device_status, graph)
    local empty = assert(w.device:template())
    fails("GPO_INVALID_ARGUMENT", empty.graph, empty, {device_launch = true})
end)
