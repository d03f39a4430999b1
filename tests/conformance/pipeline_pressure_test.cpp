// A pipeline goes at the pace of its slowest part, without more memory.
#include <algorithm>
#include <atomic>

#include "conformance/pipeline_rig.h"
#include "support/arrivals.h"

using namespace gpo::test;

namespace {

constexpr uint64_t kChunk = 64 << 10;

/// A source that counts the filled chunks, and a sink that keeps the first chunk until `let_go`.
struct Jam {
    std::atomic<uint64_t> filled{0}, taken{0}, most_between{0};
    std::atomic<bool> jammed{true};
    uint64_t chunks;
    Arrivals arrived;

    explicit Jam(uint64_t count) : chunks(count) {}
    void let_go() {
        jammed = false;
        jammed.notify_all();
    }

    static gpo_status fill(void* user, void*, uint64_t capacity, uint64_t* bytes) {
        Jam& jam = *static_cast<Jam*>(user);
        *bytes = capacity;
        const uint64_t filled = ++jam.filled, between = filled - jam.taken;
        if (between > jam.most_between) jam.most_between = between;
        return filled == jam.chunks ? GPO_END : GPO_SUCCESS;
    }
    static gpo_status take(void* user, const gpo_chunk* chunk) {
        Jam& jam = *static_cast<Jam*>(user);
        if (chunk->index == 0) ++jam.arrived;
        jam.jammed.wait(true);
        ++jam.taken;
        return GPO_SUCCESS;
    }
    gpo_source source() {
        auto source = sized<gpo_source>();
        source.kind = GPO_SOURCE_CALLBACK;
        source.fill = fill;
        source.user = this;
        return source;
    }
    gpo_sink sink() {
        auto sink = sized<gpo_sink>();
        sink.kind = GPO_SINK_CALLBACK;
        sink.take = take;
        sink.user = this;
        return sink;
    }
};

}  // namespace

TEST_CASE(
    "a sink that takes nothing stops the source when all slots are full, and the run goes on when it takes again") {
    Gpu gpu;
    for (const uint32_t slots : {1u, 2u, 5u}) {
        CAPTURE(slots);
        ComplementOptions rig(gpu);
        rig.options.chunk_bytes = kChunk;
        rig.options.slots = slots;
        Pipeline pipeline = rig.create(gpu);
        Jam jam(40);
        const auto source = jam.source();
        const auto sink = jam.sink();
        REQUIRE_OK(gpo_pipeline_start(pipeline, &source, &sink));
        REQUIRE(jam.arrived.reach(1));
        // Long enough for a source that isn't stopped to reach its end.
        CHECK_STATUS(GPO_TIMEOUT, gpo_pipeline_wait(pipeline, 50'000'000, nullptr));
        CHECK(jam.filled <= slots);
        CHECK(jam.taken == 0);
        auto progress = sized<gpo_pipeline_progress>();
        REQUIRE_OK(gpo_pipeline_get_progress(pipeline, &progress));
        CHECK(progress.running == 1);
        CHECK(progress.chunks_done == 0);
        CHECK(progress.bytes_in <= slots * kChunk);
        jam.let_go();
        auto result = sized<gpo_pipeline_result>();
        REQUIRE_OK(gpo_pipeline_wait(pipeline, kPatience, &result));
        CHECK(jam.filled == 40);
        CHECK(jam.taken == 40);
        CHECK(jam.most_between <= slots);
        CHECK(result.bytes_out == 40 * kChunk);
    }
}

TEST_CASE("a run can be cancelled, and a pipeline destroyed, while its sink takes nothing") {
    Gpu gpu;
    for (const bool destroyed : {false, true}) {
        CAPTURE(destroyed);
        ComplementOptions rig(gpu);
        rig.options.chunk_bytes = kChunk;
        rig.options.slots = 3;
        Pipeline pipeline = rig.create(gpu);
        Queue queue = gpu.queue();
        Jam jam(UINT64_MAX);
        const auto source = jam.source();
        const auto sink = jam.sink();
        REQUIRE_OK(gpo_pipeline_start(pipeline, &source, &sink));
        REQUIRE_OK(gpo_pipeline_notify(pipeline, queue, 1));
        REQUIRE(jam.arrived.reach(1));
        if (destroyed)
            REQUIRE_OK(gpo_pipeline_destroy(pipeline.release()));
        else
            REQUIRE_OK(gpo_pipeline_cancel(pipeline));
        jam.let_go();
        CHECK_STATUS(GPO_CANCELLED, take(queue, 1)[0].status);
        CHECK(jam.filled <= 4);
        if (!destroyed) CHECK_STATUS(GPO_CANCELLED, gpo_pipeline_wait(pipeline, kPatience, nullptr));
    }
}

namespace {

uint64_t pinned_by_pipelines(Gpu& gpu) {
    auto metrics = sized<gpo_metrics>();
    REQUIRE_OK(gpo_runtime_get_metrics(gpu.runtime, &metrics));
    return metrics.pipeline_pinned;
}

}  // namespace

TEST_CASE("a pipeline pins no more memory than it may, whatever it ran before") {
    constexpr uint64_t kMiB = 1 << 20, kBytes = 48 * kMiB;
    Gpu gpu;
    const auto data = noise(kBytes);
    const auto expected = complement(data);
    Pinned<uint8_t> in = gpu.pinned<uint8_t>(kBytes), out = gpu.pinned<uint8_t>(kBytes);
    std::copy(data.begin(), data.end(), in.data());
    struct Case {
        std::string what;
        uint64_t chunk_bytes, bound;
    };
    // Pages are as large as the system likes: chunks that are no multiple of them must not round the bound up.
    for (const Case& each :
         {Case{"one size", 4 * kMiB, 12 * kMiB}, Case{"an odd size", 3 * kMiB + 4096, 9 * kMiB + 3 * 4096},
          Case{"a size of its own", GPO_AUTO, 20 * kMiB}}) {
        CAPTURE(each.what);
        ComplementOptions rig(gpu);
        rig.options.chunk_bytes = each.chunk_bytes;
        rig.options.slots = 3;
        rig.options.max_pinned_bytes = each.bound;
        Pipeline pipeline = rig.create(gpu);
        const auto stream = [&](const void* from, uint64_t bytes, uint8_t* to, const std::string& how) {
            CAPTURE(how);
            std::fill_n(to, bytes, uint8_t{0});
            REQUIRE_OK(run(pipeline, from_memory(from, bytes), to_memory(to, bytes)));
            CHECK(std::equal(to, to + bytes, expected.begin()));
            CHECK(pinned_by_pipelines(gpu) <= each.bound);
        };
        std::vector<uint8_t> pageable(kBytes);
        // Between pinned buffers a pipeline pins no memory. It does if either side is pageable.
        stream(in.data(), kBytes, out.data(), "pinned to pinned");
        CHECK(pinned_by_pipelines(gpu) == 0);
        stream(data.data(), kBytes, out.data(), "pageable to pinned");
        CHECK(pinned_by_pipelines(gpu) > 0);
        stream(in.data(), kBytes, pageable.data(), "pinned to pageable");
        CHECK(pinned_by_pipelines(gpu) > 0);
        if (each.chunk_bytes == GPO_AUTO) stream(data.data(), kBytes, pageable.data(), "pageable to pageable");
        stream(in.data(), 20 * kMiB, pageable.data(), "pinned to pageable, less");
    }
}
