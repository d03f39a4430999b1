// A kernel that doesn't end: waits time out on time, shutdown with a deadline returns, and the process can leave.
// EXIT: 3
// TIMEOUT: 20
#include <ctime>

#include "process/process.h"

using namespace gpo::test;

namespace {

double seconds() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
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
    const double begin = seconds();
    EXPECT_STATUS(GPO_TIMEOUT, gpo_stream_wait(a.stream, 50'000'000));
    EXPECT_STATUS(GPO_TIMEOUT, gpo_event_wait(event, 50'000'000));
    EXPECT_STATUS(GPO_TIMEOUT, gpo_device_wait(a.device, 50'000'000));
    EXPECT_STATUS(GPO_TIMEOUT, gpo_cq_wait(a.queue, 50'000'000));
    EXPECT_STATUS(GPO_TIMEOUT, gpo_runtime_shutdown(a.runtime, 50'000'000));
    EXPECT(seconds() - begin >= 0.25);  // none returned early; that none is late is the time limit of this test
    EXPECT_OK(gpo_stream_destroy(a.stream));
    std::exit(3);
}
