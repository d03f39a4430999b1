-- require.lua: loads the module and uses it (check_lua.py).
local gpuorch = require "gpuorch"
local runtime = assert(gpuorch.runtime_create{device = os.getenv "GPUORCH_DEVICE"})
assert(runtime:device_count() > 0)
runtime:close()
