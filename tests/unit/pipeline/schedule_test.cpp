// Threads that wait for a pipeline's run get the result of that run, under many schedules, even if the next run begins
// and ends before they are scheduled.
#include <doctest/doctest.h>

#include <vector>

#include "gpuorch/gpuorch.h"
#include "host/host.h"
#include "support/explore.h"
#include "support/soft.h"

namespace {

using gpo::test::sized;

constexpr int64_t kPatience = 10'000'000'000;
constexpr size_t kWaiting = 24;   // waiting threads, which read the result one after the other

/// The first run fails once threads wait for it; the second has nothing to read.
void run(uint64_t seed) {
    const gpo_runtime_t runtime = gpo::test::make_soft_runtime(seed);
    gpo_device_t device = nullptr;
    REQUIRE(gpo_device_open(runtime, nullptr, &device) == GPO_SUCCESS);
    gpo_cq_t queue = nullptr;
    REQUIRE(gpo_cq_create(runtime, nullptr, &queue) == GPO_SUCCESS);
    auto stage = sized<gpo_stage>();
    stage.kind = GPO_STAGE_CALLBACK;
    stage.enqueue = [](void*, gpo_stream_t, const gpo_chunk*) -> gpo_status { return GPO_SUCCESS; };
    auto options = sized<gpo_pipeline_options>();
    options.stages = &stage;
    options.stage_stride = sizeof(gpo_stage);
    options.stage_count = 1;
    options.chunk_bytes = 4096;
    gpo_pipeline_t pipeline = nullptr;
    REQUIRE(gpo_pipeline_create(device, &options, &pipeline) == GPO_SUCCESS);

    auto failing = sized<gpo_source>(), empty = sized<gpo_source>();
    failing.kind = empty.kind = GPO_SOURCE_CALLBACK;
    failing.fill = [](void*, void*, uint64_t, uint64_t*) -> gpo_status {
        gpo::host::sleep_until(gpo::host::now() + 1'000'000'000);   // until the waits have begun
        return GPO_IO_ERROR;
    };
    empty.fill = [](void*, void*, uint64_t, uint64_t* bytes) -> gpo_status {
        *bytes = 0;
        return GPO_END;
    };
    const auto nowhere = sized<gpo_sink>();
    std::vector<gpo_status> told(kWaiting);
    {
        REQUIRE(gpo_pipeline_start(pipeline, &failing, &nowhere) == GPO_SUCCESS);
        std::vector<gpo::host::Thread> waiting;
        for (gpo_status& status : told)
            waiting.emplace_back("waits", [&] { status = gpo_pipeline_wait(pipeline, kPatience, nullptr); });
        for (uint64_t turn = 1; turn <= 2; ++turn) {
            REQUIRE(gpo_pipeline_notify(pipeline, queue, turn) == GPO_SUCCESS);
            gpo_completion entry{};
            uint64_t taken = 0;
            REQUIRE(gpo_cq_wait(queue, kPatience) == GPO_SUCCESS);
            REQUIRE(gpo_cq_drain(queue, &entry, sizeof entry, 1, &taken) == GPO_SUCCESS);
            REQUIRE(entry.user_data == turn);
            CHECK((entry.status == GPO_SUCCESS) == (turn == 2));
            if (turn == 1) REQUIRE(gpo_pipeline_start(pipeline, &empty, &nowhere) == GPO_SUCCESS);
        }
    }
    for (const gpo_status status : told) CHECK(status == GPO_CALLBACK_FAILED);
    CHECK(gpo_pipeline_destroy(pipeline) == GPO_SUCCESS);
    CHECK(gpo_cq_destroy(queue) == GPO_SUCCESS);
    CHECK(gpo_device_close(device) == GPO_SUCCESS);
    CHECK(gpo_runtime_shutdown(runtime, kPatience) == GPO_SUCCESS);
}

}  // namespace

TEST_CASE(
    "who waits for a run is told how that one ended, though the next has ended before they look, under every "
    "schedule") {
    gpo::test::each_seed(200, run);
}
