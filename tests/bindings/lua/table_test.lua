-- Tables that calls read: the values stay until the call returns, even if the script's metamethods and finalizers change the
-- table.
local h = dofile(os.getenv "GPUORCH_TEST_HARNESS")
local gpuorch, test, use, same, raises = h.gpuorch, h.test, h.use, h.same, h.raises

-- Runs call(change) with change() coming from finalizers, at any step of the collector's: often in the middle of the call.
local function with_finalizers(times, change, call)
    local changing = false
    local function once() -- it may collect, and so be called again
        if changing then return end
        changing = true
        change()
        changing = false
    end
    local function plant()
        if newproxy then getmetatable(newproxy(true)).__gc = once else setmetatable({}, {__gc = once}) end
    end
    collectgarbage("setpause", 1)
    collectgarbage("setstepmul", 10000)
    for _ = 1, times do
        for _ = 1, 5 do plant() end
        call()
    end
    collectgarbage("setpause", os.getenv "GPUORCH_TEST_STRESS" and 1 or 200)
    collectgarbage("setstepmul", os.getenv "GPUORCH_TEST_STRESS" and 10000 or 200)
end

local function clear(t)
    for key in pairs(t) do t[key] = nil end
end

test("pieces of a batch are what the tables themselves have", function()
    local _, device, stream = use()
    local memory = assert(device:memory_allocate("u8", 4096))
    local made = setmetatable({}, {__index = function(_, key)
        if key == "destination" then return memory end
        if key == "source" then return gpuorch.array("u8", 4096) end
    end})
    raises("field 'destination': an array or an address expected", stream.copy_batch, stream, {made})
    raises("field 'source': an array or an address expected", stream.copy_batch, stream, {{destination = memory}})
    raises("field 'source': an array or an address expected", stream.copy_rows, stream, {destination = memory})
    raises("field 'bytes': more bytes than an end has", stream.copy_batch, stream,
           {{destination = memory, source = gpuorch.array("u8", 4096), bytes = 4097}})
    raises("there is no field 'sauce'", stream.copy_batch, stream, {{sauce = memory}})
    raises("there is no field 'number'", stream.copy_batch, stream, {{12}})
end)

test("a batch is what it was when it was given, though finalizers take its tables apart or close its arrays", function()
    local _, device, stream = use()
    local memory, target = assert(device:memory_allocate("u8", 64 * 4096)), gpuorch.array("u8", 4096)
    local batch = {}
    local closing = false
    with_finalizers(100, function()
        for i, piece in pairs(batch) do
            if closing and type(piece.source) == "userdata" then piece.source:close() end
            clear(piece)
            batch[i] = nil
        end
        closing = not closing
        gpuorch.array("u8", 4096):fill(9):close()
    end, function()
        for i = 1, 64 do
            local from = (i - 1) * 4096
            batch[i] = {destination = memory:slice(from + 1, from + 4096), source = gpuorch.array("u8", 4096):fill(7)}
        end
        local given = #batch
        local good, done = pcall(stream.copy_batch, stream, batch)
        if good and done and given == 64 then
            for i = 1, given do
                assert(stream:copy_to_host(target, memory:slice(i * 4096 - 4095, i * 4096)))
                assert(stream:wait())
                local byte = target[1]
                same(byte == 7 and target[4096] == 7, true, "piece " .. i)
            end
        end
        clear(batch)
    end)
end)

test("options are what they were when they were given, though finalizers take their tables apart", function()
    local runtime, device = use()
    local options, inner, number = {}, {}, 0
    local function change()
        clear(options)
        clear(inner)
        collectgarbage()
        local others = {}
        for i = 1, 20 do others[i] = ("%040d"):format(i) end
    end
    with_finalizers(200, change, function()
        number = number + 1
        options.label = ("label %034d"):format(number)
        options.capacity = 16
        local wanted = options.label
        local queue = assert(runtime:cq_create(options))
        local label = queue:label()
        same(label == wanted or label == "", true, label)
        queue:close()
        clear(options)
    end)
    with_finalizers(10, change, function()
        options.source = "#include \"one.h\"\nextern \"C\" __global__ void nothing() {}\n"
        options.headers = inner
        inner["one.h"] = "#define NUMBER " .. ("1"):rep(40) .. "\n"
        local good, problem = pcall(device.module_compile, device, options)
        same(good or problem:find("'source': a string expected", 1, true) ~= nil, true, problem) -- the finalizer came first
        clear(options)
    end)
end)

test("a pipeline's stages are what they were when they were given, though finalizers take their tables apart", function()
    local _, device = use()
    local copy = assert(device:module_load_builtin():kernel("gpo_copy_u32", "ptr ptr u64"))
    local options, stage, arguments = {}, {}, {}
    with_finalizers(100, function()
        clear(options)
        clear(stage)
        clear(arguments)
        collectgarbage()
        gpuorch.array("u8", 4096):fill(9):close()
    end, function()
        arguments[1], arguments[2], arguments[3] = "output", gpuorch.array("u8", 4096):fill(7), 1024
        stage.kernel, stage.arguments, stage.label = copy, arguments, ("a stage with a label of %d bytes"):format(31)
        options.stages = {stage}
        local good, pipeline = pcall(device.pipeline_create, device, options)
        if good and pipeline then pipeline:close() end
    end)
end)

test("a collective and a launch on all ranks are what they were when they were given, though finalizers take their tables apart", function()
    local runtime, device, stream = use()
    local peers = assert(runtime:peers{device})
    local nothing = assert(device:module_load_builtin():kernel("gpo_fill_u32", "ptr u32 u64"))
    local options, part, arguments, shape = {}, {}, {}, {}
    with_finalizers(200, function()
        for _, array in ipairs{part.send, arguments[1]} do if type(array) == "userdata" then array:close() end end
        clear(options)
        clear(part)
        clear(arguments)
        clear(shape)
        collectgarbage()
        gpuorch.array("u8", 4096):fill(9):close()
    end, function()
        local source, target = assert(device:memory_allocate("u8", 4096)), assert(device:memory_allocate("u8", 4096))
        assert(stream:fill(source, 7))
        part.stream, part.send, part.receive = stream, source, target
        options[1], options.label = part, ("a collective with a label of %d bytes"):format(36)
        local good, done = pcall(peers.all_gather, peers, options)
        if good and done then same(target:to_string(stream), ("\7"):rep(4096)) end
        clear(options)
        clear(part)
        arguments[1], arguments[2], arguments[3] = target, 0x08080808, 1024
        shape.grid, shape.block, shape.label = 1, 64, ("a launch with a label of %d bytes"):format(33)
        part.stream, part.kernel, part.launch, part.arguments = stream, nothing, shape, arguments
        options[1] = part
        good, done = pcall(peers.launch, peers, options)
        if good and done then
            good, done = pcall(target.to_string, target, stream) -- it may have been closed since
            if good then same(done, ("\8"):rep(4096)) end
        end
        for _, table_ in ipairs{options, part, arguments, shape} do clear(table_) end
    end)
end)
