// A kernel that doesn't end: waits time out on time, shutdown with a deadline returns, and the process can leave.
// EXIT: 3
// TIMEOUT: 60
#include <ctime>

#include "process/process.h"

using namespace gpo::test;

namespace {

double seconds() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

/// A wait of 50 ms returns no earlier, and within a time that no busy machine takes: it doesn't wait for the kernel.
template <class Wait>
void expect_timeout(Wait wait) {
    const double begin = seconds();
    EXPECT_STATUS(GPO_TIMEOUT, wait(50'000'000));
    EXPECT(seconds() - begin >= 0.05);
    EXPECT(seconds() - begin < 10);
}

}  // namespace

int main() {
    Opened a;
    gpo_kernel_t gate = compile(a.device, kGateSource, "gate");
    uint32_t* words = pinned(a.device, 16);
    gpo_event_t event = nullptr;
    EXPECT_OK(gpo_event_create(a.device, nullptr, &event));
    EXPECT_OK(launch(a.stream, gate, words));
    EXPECT_OK(gpo_event_record(event, a.stream));
    EXPECT_OK(gpo_stream_notify(a.stream, a.queue, 1));
    expect_timeout([&](int64_t time) { return gpo_stream_wait(a.stream, time); });
    expect_timeout([&](int64_t time) { return gpo_event_wait(event, time); });
    expect_timeout([&](int64_t time) { return gpo_device_wait(a.device, time); });
    expect_timeout([&](int64_t time) { return gpo_cq_wait(a.queue, time); });
    expect_timeout([&](int64_t time) { return gpo_runtime_shutdown(a.runtime, time); });
    EXPECT_OK(gpo_stream_destroy(a.stream));
    std::exit(3);
}
