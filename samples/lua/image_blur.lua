-- image_blur.lua [IN.ppm [OUT.ppm]]: blurs a picture with a kernel of its own, in which the threads of a block share a tile and
-- wait for one another. Writes OUT.ppm with the picture before and after, side by side. Without IN.ppm it draws one.
local gpuorch = require "gpuorch"
local RADIUS = 6
local SOURCE = [==[
extern "C" __global__ void blur(const unsigned char *in, unsigned char *out, unsigned width, unsigned height) {
    enum { side = 16, radius = ]==] .. RADIUS .. [==[, reach = side + 2 * radius };
    __shared__ unsigned char tile[reach][reach][3];
    __shared__ float rows[reach][side][3];
    int left = blockIdx.x * side - radius, top = blockIdx.y * side - radius, me = threadIdx.y * side + threadIdx.x;
    for (int i = me; i < reach * reach * 3; i += side * side) {  /* the tile and what lies around it; edges repeat */
        int c = i % 3, x = i / 3 % reach, y = i / 3 / reach, u = left + x, v = top + y;
        u = u < 0 ? 0 : u >= (int)width ? (int)width - 1 : u;
        v = v < 0 ? 0 : v >= (int)height ? (int)height - 1 : v;
        tile[y][x][c] = in[(v * (size_t)width + u) * 3 + c];
    }
    __syncthreads();
    for (int i = me; i < reach * side * 3; i += side * side) {   /* along the rows */
        int c = i % 3, x = i / 3 % side, y = i / 3 / side;
        float sum = 0;
        for (int k = -radius; k <= radius; ++k) sum += tile[y][x + radius + k][c] * (radius + 1 - abs(k));
        rows[y][x][c] = sum;
    }
    __syncthreads();
    unsigned x = blockIdx.x * side + threadIdx.x, y = blockIdx.y * side + threadIdx.y;
    if (x >= width || y >= height) return;
    for (int c = 0; c < 3; ++c) {                                /* and down the columns */
        float sum = 0;
        for (int k = -radius; k <= radius; ++k) sum += rows[threadIdx.y + radius + k][threadIdx.x][c] * (radius + 1 - abs(k));
        out[(y * (size_t)width + x) * 3 + c] = (unsigned char)(sum / ((radius + 1) * (radius + 1) * (radius + 1) * (radius + 1)) + 0.5f);
    }
}]==]

-- Width, height and pixels of a binary PPM with 8 bits a colour.
local function read_ppm(path)
    local file = assert(io.open(path, "rb"))
    local words = {}
    while #words < 4 do
        local line = assert(file:read "*l", path .. ": it ends in its header"):gsub("#.*", "")
        for word in line:gmatch "%S+" do words[#words + 1] = word end
    end
    local width, height = tonumber(words[2]), tonumber(words[3])
    assert(words[1] == "P6" and words[4] == "255" and width and height, path .. " is no PPM (P6) with 255 shades")
    local pixels = gpuorch.array("u8", width * height * 3)
    assert(pixels:read_file(file) == #pixels, path .. ": pixels are missing")
    return width, height, pixels
end

local function draw()
    local width, height, at = 320, 200, 0
    local pixels = gpuorch.array("u8", width * height * 3)
    for y = 0, height - 1 do
        for x = 0, width - 1 do
            local inside = (x - 160)^2 + (y - 100)^2 < 80^2
            local square = (math.floor(x / 20) + math.floor(y / 20)) % 2
            pixels[at + 1], pixels[at + 2], pixels[at + 3] = inside and 255 or 0, square * 255, math.floor(x * 255 / width)
            at = at + 3
        end
    end
    return width, height, pixels
end
local width, height, before
if arg[1] then width, height, before = read_ppm(arg[1]) else width, height, before = draw() end
local runtime = assert(gpuorch.runtime_create())
local device = assert(runtime:device_open())
local stream, row = assert(device:stream_create()), width * 3
local blur = assert(assert(device:module_compile(SOURCE)):kernel("blur", "ptr ptr u32 u32"))
local input, output = assert(device:memory_allocate("u8", #before)), assert(device:memory_allocate("u8", #before))
local after = assert(assert(device:arena_create()):allocate("u8", 2 * #before))
assert(stream:copy_to_device(input, before))
assert(stream:launch_kernel(blur, {grid = {math.ceil(width / 16), math.ceil(height / 16)}, block = {16, 16}}, input, output, width, height))
for side, picture in ipairs{input, output} do
    assert(stream:copy_rows{source = picture, source_pitch = row, destination = after:slice((side - 1) * row + 1),
                            destination_pitch = 2 * row, width = row, height = height})
end
assert(stream:await())
local file = assert(io.open(arg[2] or "image_blur.ppm", "wb"))
assert(file:write(("P6\n%d %d\n255\n"):format(2 * width, height)) and after:write_file(file) and file:close())
print(("%d x %d pixels, before and after: %s"):format(width, height, arg[2] or "image_blur.ppm"))
