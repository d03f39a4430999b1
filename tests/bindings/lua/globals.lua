-- globals.lua: prints what require leaves behind: modules, and other changes in the interpreter's tables.
local function contents(table, path, into, seen)
    seen[table] = true
    for key, value in pairs(table) do
        into[path .. tostring(key)] = value
        if type(value) == "table" and not seen[value] then contents(value, path .. tostring(key) .. ".", into, seen) end
    end
    return into
end
local modules = {gpuorch = true, ["gpuorch.loop"] = true}
local function now()
    local hidden = {}
    for name in pairs(modules) do hidden[name], package.loaded[name] = package.loaded[name], nil end
    local found = contents(_G, "", {}, {})
    for name, module in pairs(hidden) do package.loaded[name] = module end
    return found
end
local before = now()
require "gpuorch.loop"
local left = {}
for name in pairs(modules) do left[#left + 1] = package.loaded[name] and name end
for name, value in pairs(now()) do
    if before[name] ~= value then left[#left + 1] = name end
end
table.sort(left)
print(table.concat(left, " "))
