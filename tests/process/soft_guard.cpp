// With GPUORCH_SOFT_GUARD=1, a kernel on the software GPU that leaves its memory gets the sticky error, and the process
// goes on: beyond the end, before the start, in freed memory, in a pool's freed memory. Accesses inside the memory are
// fine.
// RUN: GPUORCH_DEVICE=soft GPUORCH_SOFT_GUARD=1 end
// RUN: GPUORCH_DEVICE=soft GPUORCH_SOFT_GUARD=1 start
// RUN: GPUORCH_DEVICE=soft GPUORCH_SOFT_GUARD=1 freed
// RUN: GPUORCH_DEVICE=soft GPUORCH_SOFT_GUARD=1 pool
#include "process/process.h"

using namespace gpo::test;

int main(int argc, char** argv) {
    EXPECT(argc == 2);
    const std::string kind = argv[1];
    Opened a;
    gpo_kernel_t touch = compile(a.device,
                                 "extern \"C\" __global__ void touch(unsigned char *memory, long long at)"
                                 "{ memory[at] = memory[at] + 1; }",
                                 "touch");
    constexpr long long kBytes = 8192;
    uint64_t memory = 0;
    gpo_pool_t pool = nullptr;
    if (kind == "pool") {
        EXPECT_OK(gpo_pool_create(a.device, nullptr, &pool));
        EXPECT_OK(gpo_pool_allocate(pool, a.stream, kBytes, &memory));
    } else {
        EXPECT_OK(gpo_memory_allocate(a.device, kBytes, nullptr, &memory));
    }
    const long long first = 0, last = kBytes - 1;
    EXPECT_OK(launch(a.stream, touch, memory, first));
    EXPECT_OK(launch(a.stream, touch, memory, last));
    EXPECT_OK(gpo_stream_wait(a.stream, kPatience));

    long long at = 0;
    if (kind == "end") at = kBytes;
    if (kind == "start") at = -1;
    if (kind == "freed") {
        uint64_t before = 0, now = 0, total = 0;
        EXPECT_OK(gpo_device_get_memory(a.device, &before, &total));
        EXPECT_OK(gpo_memory_free(a.device, memory));
        // The library's own thread frees it.
        for (; now <= before; usleep(1000)) EXPECT_OK(gpo_device_get_memory(a.device, &now, &total));
    }
    if (kind == "pool") {
        EXPECT_OK(gpo_pool_free(pool, a.stream, memory));
        EXPECT_OK(gpo_stream_wait(a.stream, kPatience));
        EXPECT_OK(gpo_pool_trim(pool, 0));
    }
    EXPECT_OK(launch(a.stream, touch, memory, at));
    EXPECT_STATUS(GPO_DEVICE_LOST, gpo_stream_wait(a.stream, kPatience));
    const std::string message = last_message();
    std::printf("%s\n", message.c_str());
    EXPECT(message.find("illegal address") != std::string::npos);
    EXPECT(message.find("touch") != std::string::npos);
    a.shut_down();

    // The driver was closed with its last runtime, and the next one starts afresh.
    Opened again;
    again.check_works();
    again.shut_down();
    return 0;
}
