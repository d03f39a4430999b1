-- starved_take.lua: Lua finds no memory for the answers that a take gives it (process_test.lua). The next take has them.
local gpuorch = require "gpuorch"
local runtime = assert(gpuorch.runtime_create{device = "soft"})
local device = assert(runtime:device_open())
local resident = assert(device:stream_create{resident = true})
local module = assert(device:module_compile[==[
#include <gpuorch/device/queue.cuh>
struct task { unsigned number, unused[3]; };
extern "C" __global__ void serve(gpo::host_ring requests) {
    gpo::host_taker taker(requests);
    gpo::host_task<task> next;
    while (taker.take(next, gpo::nanoseconds(60000000000ull)) == gpo::queue_success)
        gpo::answer(requests, next.ticket, 0, next.task.number * 2);
}
]==])
local requests = assert(device:queue{kind = "host_ring", task_size = 16, answer_size = 4, stream = resident})
assert(resident:launch_kernel(assert(module:kernel("serve", "host_ring")), {grid = 1, block = 1}, requests))
local function post(number) assert(requests:post(gpuorch.pack("u32 u32 u64", number, 0, 0), number) == 1) end

post(20)
assert(requests:wait(20))
requests:take() -- from now on there is room for what is taken
for number = 1, 3 do post(number) end
assert(requests:wait(20))
starve(true)
local whole = pcall(requests.take, requests)
starve(false)
assert(not whole)
assert(requests:wait(0) == true)
local got = {}
while #got < 3 do
    assert(requests:wait(20))
    for _, answer in ipairs(assert(requests:take(2))) do
        got[#got + 1] = answer.user_data .. "=" .. gpuorch.unpack("u32", answer.answer)
    end
end
assert(requests:close_ring())
error(table.concat(got, " "), 0)
