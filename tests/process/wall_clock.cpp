// The wall clock jumps by an hour, back and forth: the library never reads it, and timeouts keep their length.
// TIMEOUT: 30
#include <dlfcn.h>
#include <sys/time.h>

#include <atomic>
#include <cerrno>
#include <ctime>
#include <functional>

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

int64_t monotonic() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

// Replacements of the C library's functions, exported for the library to see.
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

namespace {

/// A source that gives nothing until `open` is set.
struct Dam {
    std::atomic<bool> open{false};
    static gpo_status give(void* user, void*, uint64_t, uint64_t* produced) {
        auto& dam = *static_cast<Dam*>(user);
        dam.open.wait(false);
        *produced = 0;
        return GPO_END;
    }
};

gpo_pipeline_t make_pipeline(const Opened& a) {
    auto stage = sized<gpo_stage>();
    stage.kind = GPO_STAGE_CALLBACK;
    stage.enqueue = [](void*, gpo_stream_t, const gpo_chunk*) -> gpo_status { return GPO_SUCCESS; };
    auto pipeline_options = sized<gpo_pipeline_options>();
    pipeline_options.chunk_bytes = 4096;
    pipeline_options.stage_stride = sizeof(gpo_stage);
    pipeline_options.stage_count = 1;
    pipeline_options.stages = &stage;
    gpo_pipeline_t pipeline = nullptr;
    EXPECT_OK(gpo_pipeline_create(a.device, &pipeline_options, &pipeline));
    return pipeline;
}

}  // namespace

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

    // All waits of the API, none of which ends before the timeline's signal and the dam's opening.
    gpo_stream_t held = nullptr;
    gpo_event_t event = nullptr;
    EXPECT_OK(gpo_stream_create(a.device, nullptr, &held));
    EXPECT_OK(gpo_event_create(a.device, nullptr, &event));
    EXPECT_OK(gpo_stream_wait_timeline(held, timeline, 1));
    EXPECT_OK(gpo_event_record(event, held));
    auto executor_options = sized<gpo_executor_options>();
    executor_options.flags = GPO_EXECUTOR_CALLER;
    gpo_executor_t executor = nullptr;
    EXPECT_OK(gpo_executor_create(a.runtime, &executor_options, &executor));
    EXPECT_OK(gpo_stream_then(held, executor, [](void*, const gpo_completion*, const gpo_error*) {}, nullptr));
    const gpo_pipeline_t pipeline = make_pipeline(a);
    Dam dam;
    auto source = sized<gpo_source>();
    source.kind = GPO_SOURCE_CALLBACK;
    source.fill = Dam::give;
    source.user = &dam;
    const auto sink = sized<gpo_sink>();
    EXPECT_OK(gpo_pipeline_start(pipeline, &source, &sink));

    auto driver = sized<gpo_driver_info>();
    EXPECT_OK(gpo_runtime_get_driver(a.runtime, &driver));

    constexpr int64_t kShort = 1'000'000;
    const std::function<gpo_status()> waits[] = {
        [&] { return gpo_cq_wait(a.queue, kShort); },
        [&] { return gpo_timeline_wait(timeline, 1, kShort); },
        [&] { return gpo_stream_wait(held, kShort); },
        [&] { return gpo_event_wait(event, kShort); },
        [&] { return gpo_device_wait(a.device, kShort); },
        [&] { return gpo_executor_run_for(executor, kShort, nullptr); },
        [&] { return gpo_pipeline_wait(pipeline, kShort, nullptr); },
    };
    jumping = true;
    for (int i = 0; i < 20; ++i) {
        for (const auto& wait : waits) {
            const int64_t begin = monotonic();
            EXPECT_STATUS(GPO_TIMEOUT, wait());
            EXPECT(monotonic() - begin >= kShort);  // if it waited for an hour, the test would exceed its time limit
        }
        a.check_works();
    }
    const int64_t begin = monotonic();
    EXPECT_STATUS(GPO_TIMEOUT, gpo_runtime_shutdown(a.runtime, kShort));   // the source's callback still runs
    EXPECT(monotonic() - begin >= kShort);
    dam.open = true;
    dam.open.notify_all();
    EXPECT_OK(gpo_runtime_shutdown(a.runtime, kPatience));
    jumping = false;
    EXPECT(looks == 0 || !driver.software);  // CUDA's own threads read the wall clock
    return 0;
}
