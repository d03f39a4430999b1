// The wall clock jumps by an hour, back and forth: nobody in the library looks at it, and timeouts are what they were.
// TIMEOUT: 30
#include <dlfcn.h>
#include <sys/time.h>

#include <atomic>
#include <cerrno>
#include <ctime>

#include "process/process.h"

using namespace gpo::test;

namespace {

std::atomic<bool> jumping{false};
std::atomic<int> looks{0};

timespec jumped() {
    static std::atomic<int> hours{0};
    ++looks;
    const int hour = (hours += 1) % 3 - 1;
    return {1'000'000'000 + hour * 3600, 0};
}

}  // namespace

// These stand before the C library's, and have to be seen by the library for that.
#define SEEN __attribute__((visibility("default")))
extern "C" SEEN int clock_gettime(clockid_t clock, timespec* time) {
    using Get = int(clockid_t, timespec*);
    static auto* const get = reinterpret_cast<Get*>(dlsym(RTLD_NEXT, "clock_gettime"));
    if (jumping && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        *time = jumped();
        return 0;
    }
    return get(clock, time);
}
extern "C" SEEN int gettimeofday(timeval* time, void*) noexcept {
    if (jumping) {
        const timespec now = jumped();
        *time = {now.tv_sec, 0};
        return 0;
    }
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    *time = {now.tv_sec, now.tv_nsec / 1000};
    return 0;
}
extern "C" SEEN time_t time(time_t* out) noexcept {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    if (out) *out = now.tv_sec;
    return now.tv_sec;
}

int main() {
    EXPECT(time(nullptr) > 0);
    jumping = true;
    EXPECT(time(nullptr) < 1'000'010'000 && looks == 1);  // the trick works
    jumping = false;
    looks = 0;
    Opened a;
    gpo_timeline_t timeline = nullptr;
    EXPECT_OK(gpo_timeline_create(a.runtime, nullptr, &timeline));
    a.check_works();
    jumping = true;
    for (int i = 0; i < 20; ++i) {
        timespec begin{}, end{};
        clock_gettime(CLOCK_MONOTONIC, &begin);
        EXPECT_STATUS(GPO_TIMEOUT, gpo_cq_wait(a.queue, 2'000'000));
        EXPECT_STATUS(GPO_TIMEOUT, gpo_timeline_wait(timeline, 1, 2'000'000));
        clock_gettime(CLOCK_MONOTONIC, &end);
        const int64_t passed = (end.tv_sec - begin.tv_sec) * 1'000'000'000 + end.tv_nsec - begin.tv_nsec;
        EXPECT(passed >= 4'000'000);  // and not an hour: that is this test's time limit
        a.check_works();
    }
    gpo_driver_info driver{};
    driver.struct_size = sizeof driver;
    EXPECT_OK(gpo_runtime_driver(a.runtime, &driver));
    a.shut_down();
    jumping = false;
    EXPECT(looks == 0 || !driver.software);  // CUDA's own threads do look at it
    return 0;
}
