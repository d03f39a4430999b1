// A kernel that uses an invalid address loses the devices of its own driver only. On the other driver, running and
// later work completes, and runtimes can still be opened. Without a GPU, a second software GPU takes its place.
// RUN: GPUORCH_SOFT_GUARD=1 cuda
// RUN: GPUORCH_SOFT_GUARD=1 soft
#include <dlfcn.h>

#include <vector>

#include "process/process.h"

using namespace gpo::test;

namespace {

constexpr uint64_t kWords = 1 << 20, kRounds = 50;

gpo_runtime_options on(const char* device) {
    auto options = sized<gpo_runtime_options>();
    options.device = device;
    return options;
}

/// A runtime on one of the drivers, and the built-in kernel that fills memory.
struct Side : Opened {
    explicit Side(const char* device) : Opened(on(device)) {
        gpo_module_t module = nullptr;
        EXPECT_OK(gpo_module_load_builtin(this->device, &module));
        EXPECT_OK(gpo_module_get_kernel(module, "gpo_fill_u32", &fill));
        EXPECT_OK(gpo_module_destroy(module));
        EXPECT_OK(gpo_memory_allocate(this->device, kWords * sizeof(uint32_t), nullptr, &memory));
        EXPECT_OK(gpo_timeline_create(runtime, nullptr, &timeline));
    }

    gpo_status put(uint64_t address, uint32_t value, uint64_t count) {
        return launch(stream, fill, address, value, count);
    }

    /// Submits long work and a notification for each part; the second half is held until the timeline is signalled.
    void put_rounds() {
        for (uint64_t i = 1; i <= kRounds; ++i) {
            if (i == kRounds / 2) EXPECT_OK(gpo_stream_wait_timeline(stream, timeline, 1));
            EXPECT_OK(put(memory, static_cast<uint32_t>(i), kWords));
            EXPECT_OK(gpo_stream_notify(stream, queue, i));
        }
    }

    void take_rounds(gpo_status expected) {
        for (uint64_t next = 1; next <= kRounds;) {
            gpo_completion entry{};
            uint64_t count = 0;
            EXPECT_OK(gpo_cq_wait(queue, kPatience));
            EXPECT_OK(gpo_cq_drain(queue, &entry, sizeof entry, 1, &count));
            if (count == 0) continue;
            EXPECT(entry.user_data == next);
            if (expected == GPO_SUCCESS && entry.status != expected)
                end_failed(__FILE__, __LINE__, gpo_status_name(entry.status));
            EXPECT(entry.status == expected || entry.status == GPO_SUCCESS);   // what was done before is done
            if (next++ == kRounds) EXPECT(entry.status == expected);
        }
    }

    void check_memory(uint32_t value) {
        std::vector<uint32_t> back(kWords);
        EXPECT_OK(gpo_copy_to_host(stream, back.data(), memory, kWords * sizeof(uint32_t)));
        EXPECT_OK(gpo_stream_wait(stream, kPatience));
        for (uint32_t word : back) EXPECT(word == value);
    }

    gpo_kernel_t fill = nullptr;
    gpo_timeline_t timeline = nullptr;
    uint64_t memory = 0;
};

}  // namespace

int main(int argc, char** argv) {
    EXPECT(argc == 2);
    const std::string lost = argv[1];
    const char* const other = lost == "cuda" ? "soft" : "cuda";
    if (!dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL) && !dlopen(GPUORCH_SOFT_LIBCUDA, RTLD_NOW | RTLD_LOCAL))
        end_skipped("two_drivers", "no libcuda here");

    Side falls(lost.c_str()), stays(other);
    stays.put_rounds();
    falls.put_rounds();
    constexpr uint64_t kNobodys = 64, kOne = 1;
    gpo_stream_t culprit = nullptr;
    EXPECT_OK(gpo_stream_create(falls.device, nullptr, &culprit));
    EXPECT_OK(launch(culprit, falls.fill, kNobodys, uint32_t{1}, kOne));
    EXPECT_STATUS(GPO_DEVICE_LOST, gpo_stream_wait(culprit, kPatience));
    std::printf("%s\n", last_message().c_str());
    EXPECT_STATUS(GPO_DEVICE_LOST, gpo_stream_wait(falls.stream, kPatience));
    EXPECT_STATUS(GPO_DEVICE_LOST, falls.put(falls.memory, 1, kOne));
    falls.take_rounds(GPO_DEVICE_LOST);

    // The other driver is unaffected: running, held and new work.
    EXPECT_OK(gpo_timeline_signal(stays.timeline, 1));
    stays.take_rounds(GPO_SUCCESS);
    stays.check_memory(kRounds);
    EXPECT_OK(stays.put(stays.memory, 77, kWords));
    stays.check_memory(77);
    {
        Side later(other);
        later.put_rounds();
        EXPECT_OK(gpo_timeline_signal(later.timeline, 1));
        later.take_rounds(GPO_SUCCESS);
        later.check_memory(kRounds);
        later.shut_down();
    }
    auto error = sized<gpo_error>();
    EXPECT_OK(gpo_object_get_error(stays.device, &error));
    EXPECT(error.status == GPO_SUCCESS);
    EXPECT_STATUS(GPO_DEVICE_LOST, gpo_device_wait(falls.device, kPatience));
    falls.shut_down();
    stays.check_works();
    EXPECT_OK(gpo_device_wait(stays.device, kPatience));
    stays.shut_down();
    return 0;
}
