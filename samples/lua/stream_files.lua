-- stream_files.lua [-o DIR] [--table FILE] [--trace DIR] [FILE]...: streams files through a GPU, or the software GPU, as the
-- main job in every language does (see samples/c/stream_files.c). Reading, copying and writing beside the kernel is the
-- pipeline's work.
local gpuorch = require "gpuorch"
local xor = bit32 and bit32.bxor or bit and function(a, b) return bit.bxor(a, b) % 2^32 end or load "local a, b = ... return a ~ b"
local floor, failures, interrupted, unwritable, here = math.floor, 0, false, false, arg[0]:match "^(.*/)" or ""
local options, files, map = dofile(here .. "command_line.lua") -- what is asked for: options by name, paths, 256 bytes
local folder, trace = options["-o"], options["--trace"]
local function holds(test) local status = os.execute("test " .. test) return status == true or status == 0 end
local function quoted(path) return "'" .. path:gsub("'", "'\\''") .. "'" end
local terminal, erase, far = holds "-t 2", "\r\27[K", "%s: %.0f of %.0f MB" -- a terminal shows how far it is
local function complain(about, message) io.stderr:write(terminal and erase or "", "stream_files: ", about, ": ", message, "\n") end
local function say(...)
    if unwritable or io.write(string.format(...), "\n") and io.stdout:flush() then return end
    unwritable = true complain("standard output", "not writable")
end
local function multiply(a, b) -- CRCs are polynomials over GF(2) modulo that of CRC-32; the highest bit is x^0
    local product = 0
    for i = 31, 0, -1 do
        if floor(a / 2^i) % 2 == 1 then product = xor(product, b) end
        b = b % 2 == 1 and xor(floor(b / 2), 0xedb88320) or floor(b / 2)
    end
    return product
end
local function with_zeros(crc, zeros, powers) -- bytes behind it
    for k = 0, 52 do if floor(zeros / 2^k) % 2 == 1 then crc = multiply(powers[k % 32 + 1], crc) end end -- x^(8 * 2^32) is x^8
    return crc
end
local tables = gpuorch.array("u32", 96):from_string(map):fill(0x800000, 65) -- the kernel's struct Tables
for k = 2, 32 do tables[64 + k] = multiply(tables[63 + k], tables[63 + k]) end
local signal = gpuorch.interrupt_on("HUP", "TERM")
local powers, runtime = tables:slice(65, 96), assert(gpuorch.runtime_create())
local device = assert(runtime:device_open())
local module = assert(device:module_compile(assert(io.open(here .. "../stream_files.cu")):read "*a"))
local kernel = assert(module:kernel("stream_files", "ptr ptr ptr u64 bytes:384"))
local pipeline = assert(device:pipeline_create{times = true, result_bytes = 2056, stages = {{kernel = kernel, block = 64,
    bytes_per_block = 65536, arguments = {"input", "output", "result", "input_bytes", tables:to_string()}}}})
if trace then assert(runtime:trace_start{picture = trace .. "/timeline.svg", path = trace .. "/trace.json"}) end
local TIMES = {"elapsed_ns", "copy_in_ns", "copy_out_ns", "copy_hidden_ns"}
-- Figures of a file, or of all: how often each byte occurs, at 1 to 256, the CRC and sums; 0 to begin with.
local function figures() return setmetatable({}, {__index = function() return 0 end}) end
local function add(f, counts, crc, bytes, run)
    for i = 1, 256 do f[i] = f[i] + counts[i] end
    f.crc, f.bytes = xor(with_zeros(f.crc, bytes, powers), crc), f.bytes + bytes
    for _, name in ipairs(TIMES) do f[name] = f[name] + (run and run[name] or 0) end
end
local function print_figures(name, f)
    local entropy, ones, copying = 0, 0xffffffff, f.copy_in_ns + f.copy_out_ns
    for i = 1, 256 do if f[i] > 0 then entropy = entropy - f[i] / f.bytes * math.log(f[i] / f.bytes) / math.log(2) end end
    say("%s: %.0f bytes, entropy %.4f, CRC-32 %08x, %.2f GB/s, %.0f %% of copying hidden", name, f.bytes, entropy,
        xor(xor(with_zeros(ones, f.bytes, powers), f.crc), ones), f.bytes > 0 and f.bytes / f.elapsed_ns or 0,
        copying > 0 and 100 * f.copy_hidden_ns / copying or 0)
end
local function stream_file(path)
    local f, target = figures(), folder and folder .. "/" .. path:match "[^/]*$"
    if target and holds(quoted(path) .. " -ef " .. quoted(target)) then return nil, "it would be written over itself" end
    local file = holds("-f " .. quoted(path) .. " && test ! -s " .. quoted(path)) and io.open(path, "rb") -- empty, or one of /proc
    if file and not file:read(0) and not select(2, file:read(0)) then return nil, "it is empty" end
    local function take(chunk) add(f, {chunk.result:as "u64":unpack(1, 256)}, chunk.result:as "u32"[513], chunk.bytes) end -- in order
    local run, why = pipeline:start({path = path, unchanged = true}, {path = target, take = take})
    while run == true or run == false do -- started, or not done yet
        run, why = pipeline:wait(terminal and 0.1 or nil)
        local now = run == false and pipeline:progress()
        if terminal then io.stderr:write(erase, now and far:format(path, now.bytes_done / 1e6, now.bytes_total / 1e6) or "") end
    end
    for _, name in ipairs(TIMES) do f[name] = run and run[name] end
    return run and f, why
end
say("device: %s", device:properties().name) local total = figures()
for _, path in ipairs(files) do
    if unwritable and not folder then break end
    local ended, f, why = pcall(stream_file, path) -- Ctrl-C raises, and so do the signals named above
    if not ended then interrupted, f, why = pipeline:cancel(), pipeline:wait() and nil, "interrupted" end
    if f then print_figures(path, f) add(total, f, f.crc, f.bytes, f) else failures = failures + 1 complain(path, why) end
    if interrupted then break end
end
print_figures("total", total)
if trace then assert(runtime:trace_stop()) say("trace: %s/timeline.svg, %s/trace.json", trace, trace) end
os.exit(interrupted and 128 + (signal() or 2) or (failures > 0 or unwritable) and 1 or 0, true)
