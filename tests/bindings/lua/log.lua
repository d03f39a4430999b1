-- log.lua: a runtime that logs more lines than are kept between waits (check_lua.py; ../odd has the library).
local gpuorch = require "gpuorch"
local lines = {}
local runtime = assert(gpuorch.runtime_create{device = "soft", log = function(level, text) lines[#lines + 1] = level .. " " .. text end})
assert(#lines == 0)
local stream = assert(assert(runtime:device_open()):stream_create())
assert(stream:wait())
print(#lines, lines[1], lines[1000], lines[1001])
runtime:close()
