-- The command line of stream_files.lua, from `arg`: options by name, the files, and the table of 256 bytes to map by. Makes
-- the folder of -o. Ends the program with a message if something is wrong.
local LARGEST = [[find /usr/lib /usr/share -type f -readable -size +64k -printf '%s\t%p\n' 2>/dev/null | sort -rn 2>/dev/null | ]] ..
                [[awk -F '\t' '{ n = $2; sub(/.*\//, "", n) } !named[n]++ { print $2; if ((sum += $1) >= 67108864) exit }']]
local options, files, named, first = {}, {}, {}, 1
local usage = "usage: stream_files.lua [-o DIR] [--table FILE] [--trace DIR] [FILE]...\n"
local function refuse(...) io.stderr:write(...) os.exit(2, true) end
while (arg[first] or ""):find "^%-" do
    if (arg[first + 1] or "") == "" or not usage:find("[" .. arg[first] .. " ", 1, true) then refuse(usage) end
    options[arg[first]], first = arg[first + 1], first + 2
end
for i = first, #arg do files[#files + 1] = arg[i] end
if #files == 0 then for line in io.popen(LARGEST):lines() do files[#files + 1] = line end end
local folder = options["-o"]
if folder then os.execute("mkdir -- '" .. folder:gsub("'", "'\\''") .. "' 2>/dev/null") end
for _, path in ipairs(folder and files or {}) do
    local name = path:match "[^/]*$"
    if named[name] then refuse("stream_files: ", named[name], " and ", path, " would be one in ", folder, "\n") end
    named[name] = path
end
local map = string.rep(".", 256):gsub("().", function(i) return string.char(256 - i) end) -- the complement
if options["--table"] then map = (io.open(options["--table"], "rb") or io.open "/dev/null"):read "*a" or "" end
if #map ~= 256 then refuse("stream_files: ", options["--table"], " is not a file of 256 bytes\n") end
return options, files, map
