// A callback and a host call that never return: other streams and callbacks go on, shutdown returns at its deadline, also
// when the executor was destroyed, and the process can leave.
// RUN: kept
// RUN: destroyed
// EXIT: 3
// TIMEOUT: 30
#include <atomic>

#include "process/process.h"

using namespace gpo::test;

namespace {

std::atomic<int> stuck{0}, came{0};

void never_returns(void*, const gpo_completion*, const gpo_error*) {
    ++stuck;
    for (;;) pause();
}

gpo_status never_finishes(void*, const gpo_host_call*) {
    ++stuck;
    for (;;) pause();
}

void counts(void*, const gpo_completion* completion, const gpo_error*) { came += completion->status == GPO_SUCCESS; }

template <class Done>
bool soon(Done done) {
    for (int i = 0; i < 10'000; ++i) {
        if (done()) return true;
        usleep(1000);
    }
    return false;
}

}  // namespace

int main(int argc, char** argv) {
    Opened a;
    gpo_stream_t other = nullptr, third = nullptr;
    EXPECT_OK(gpo_stream_create(a.device, nullptr, &other));
    EXPECT_OK(gpo_stream_create(a.device, nullptr, &third));
    auto options = sized<gpo_executor_options>();
    options.threads = 3;
    gpo_executor_t executor = nullptr;
    EXPECT_OK(gpo_executor_create(a.runtime, &options, &executor));
    EXPECT_OK(gpo_stream_then(a.stream, executor, never_returns, nullptr));
    EXPECT_OK(gpo_stream_host_call(other, executor, never_finishes, nullptr));
    EXPECT_OK(gpo_stream_notify(other, a.queue, 1));
    EXPECT(soon([] { return stuck == 2; }));
    for (int i = 0; i < 100; ++i) EXPECT_OK(gpo_stream_then(third, executor, counts, nullptr));
    EXPECT(soon([] { return came == 100; }));
    EXPECT_OK(gpo_stream_wait(a.stream, kPatience));
    EXPECT_STATUS(GPO_TIMEOUT, gpo_stream_wait(other, 20'000'000));
    if (argc > 1 && std::strcmp(argv[1], "destroyed") == 0) {
        EXPECT_OK(gpo_executor_destroy(executor));
        // The stream no longer waits for the host call: what was behind it has ended with its end.
        EXPECT_OK(gpo_cq_wait(a.queue, kPatience));
        gpo_completion entry;
        uint64_t count = 0;
        EXPECT_OK(gpo_cq_drain(a.queue, &entry, sizeof entry, 1, &count));
        EXPECT(count == 1 && entry.status == GPO_CANCELLED);
    }
    EXPECT_STATUS(GPO_TIMEOUT, gpo_runtime_shutdown(a.runtime, 50'000'000));
    EXPECT_STATUS(GPO_TIMEOUT, gpo_runtime_shutdown(a.runtime, 0));
    std::exit(3);
}
