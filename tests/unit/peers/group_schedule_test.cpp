// Collectives over streams that other threads hold, release, cancel and use, under many schedules. GPUORCH_TEST_SEED=n
// runs one again.
#include <doctest/doctest.h>

#include <cstdlib>
#include <vector>

#include "gpuorch/gpuorch.h"
#include "host/host.h"
#include "support/explore.h"
#include "support/soft.h"

namespace {

using gpo::test::sized;

constexpr int64_t kPatience = 10'000'000'000;
constexpr uint32_t kRanks = 3;
constexpr uint64_t kLarge = 66'000;   // words: an all-reduce of several steps. Fewer are one kernel for each rank
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr uint64_t kSeeds = 100;
#else
constexpr uint64_t kSeeds = 300;
#endif

struct ThreeDevices {
    ThreeDevices() { setenv("GPUORCH_SOFT_DEVICES", "3", 1); }
    ~ThreeDevices() { unsetenv("GPUORCH_SOFT_DEVICES"); }
};

/// A group of three devices with a stream on each, and a timeline that holds the streams. One seed in four makes large
/// all-reduces.
struct Group : private ThreeDevices, gpo::test::SoftRuntime {
    explicit Group(uint64_t seed) : SoftRuntime(seed), count(seed % 4 == 3 ? kLarge : 64) {
        for (uint32_t rank = 0; rank < kRanks; ++rank) {
            auto options = sized<gpo_device_options>();
            options.ordinal = rank;
            REQUIRE(gpo_device_open(runtime, &options, &devices[rank]) == GPO_SUCCESS);
            REQUIRE(gpo_stream_create(devices[rank], nullptr, &streams[rank]) == GPO_SUCCESS);
            REQUIRE(gpo_memory_allocate(devices[rank], count * 4, nullptr, &data[rank]) == GPO_SUCCESS);
            REQUIRE(gpo_fill(streams[rank], data[rank], 1, 4, count) == GPO_SUCCESS);
        }
        REQUIRE(gpo_timeline_create(runtime, nullptr, &timeline) == GPO_SUCCESS);
        REQUIRE(gpo_peers_create(devices, kRanks, nullptr, &peers) == GPO_SUCCESS);
    }
    gpo_status sum() {
        auto what = sized<gpo_collective>();
        what.kind = GPO_COLLECTIVE_ALL_REDUCE;
        what.type = GPO_TYPE_UINT32;
        what.reduction = GPO_REDUCE_SUM;
        what.count = count;
        gpo_rank_part parts[kRanks];
        for (uint32_t rank = 0; rank < kRanks; ++rank) {
            parts[rank] = sized<gpo_rank_part>();
            parts[rank].stream = streams[rank];
            parts[rank].send = parts[rank].receive = data[rank];
        }
        return gpo_peers_submit(peers, &what, parts, sizeof parts[0], kRanks);
    }
    /// Waits for the rank's stream, checks that all words of its data are equal, and returns the word.
    uint32_t word(uint32_t rank) {
        std::vector<uint32_t> out(count);
        REQUIRE(gpo_copy_to_host(streams[rank], out.data(), data[rank], count * 4) == GPO_SUCCESS);
        REQUIRE(gpo_stream_wait(streams[rank], kPatience) == GPO_SUCCESS);
        CHECK(out == std::vector<uint32_t>(count, out[0]));
        return out[0];
    }
    const uint64_t count;
    gpo_device_t devices[kRanks];
    gpo_stream_t streams[kRanks];
    uint64_t data[kRanks];
    gpo_timeline_t timeline = nullptr;
    gpo_peers_t peers = nullptr;
};

}  // namespace

TEST_CASE(
    "collectives of two threads over streams that a third releases come once and in one order, under every schedule") {
    gpo::test::each_seed(kSeeds, [](uint64_t seed) {
        Group group(seed);
        REQUIRE(gpo_stream_wait_timeline(group.streams[seed % kRanks], group.timeline, 1) == GPO_SUCCESS);
        {
            std::vector<gpo::host::Thread> threads;
            for (const char* name : {"one", "other"})
                threads.emplace_back(name, [&] {
                    for (int turn = 0; turn < 2; ++turn) CHECK(group.sum() == GPO_SUCCESS);
                });
            threads.emplace_back("signaller", [&] {
                CHECK(gpo_stream_wait_timeline(group.streams[(seed + 1) % kRanks], group.timeline, 2) == GPO_SUCCESS);
                CHECK(gpo_timeline_signal(group.timeline, 1) == GPO_SUCCESS);
                CHECK(gpo_timeline_signal(group.timeline, 2) == GPO_SUCCESS);
            });
        }
        for (uint32_t rank = 0; rank < kRanks; ++rank) CHECK(group.word(rank) == 81);   // 3 to the 4th
    });
}

TEST_CASE("a collective beside a cancellation runs on all streams or on none, under every schedule") {
    gpo::test::each_seed(kSeeds, [](uint64_t seed) {
        Group group(seed);
        REQUIRE(gpo_stream_wait_timeline(group.streams[0], group.timeline, 1) == GPO_SUCCESS);
        const auto submit = [&] {
            CHECK(group.sum() == GPO_SUCCESS);
            for (uint32_t rank = 0; rank < kRanks; ++rank)
                CHECK(gpo_stream_notify(group.streams[rank], group.queue, rank) == GPO_SUCCESS);
        };
        const bool before = seed % 2;
        if (before) submit();
        {
            std::vector<gpo::host::Thread> threads;
            if (!before) threads.emplace_back("submitter", submit);
            threads.emplace_back("canceller", [&] {
                CHECK(gpo_stream_cancel_held(group.streams[seed % kRanks], nullptr) == GPO_SUCCESS);
            });
            threads.emplace_back("signaller",
                                 [&] { CHECK(gpo_timeline_signal(group.timeline, 1) == GPO_SUCCESS); });
        }
        // The cancellation reached only the wait, or also the stream's part of the collective, or it came too late.
        for (uint32_t rank = 0; rank < kRanks; ++rank) {   // without another call that would look after the streams
            gpo_completion entry{};
            uint64_t taken = 0;
            REQUIRE(gpo_cq_wait(group.queue, kPatience) == GPO_SUCCESS);
            REQUIRE(gpo_cq_drain(group.queue, &entry, sizeof entry, 1, &taken) == GPO_SUCCESS);
        }
        uint32_t failed = 0;
        for (uint32_t rank = 0; rank < kRanks; ++rank) {
            const gpo_status status = gpo_stream_wait(group.streams[rank], kPatience);
            CHECK((status == GPO_SUCCESS || status == GPO_CANCELLED));
            failed += status != GPO_SUCCESS;
        }
        // If the collective was cancelled, only the stream of the cancelled part still works; the other streams failed.
        CHECK((failed == 0 || failed == kRanks - 1));
        if (failed == 0) {
            const uint32_t first = group.word(0);
            CHECK((first == 1 || first == 3));
            for (uint32_t rank = 1; rank < kRanks; ++rank) CHECK(group.word(rank) == first);
        }
    });
}

TEST_CASE("a shutdown beside collectives that are held ends, under every schedule") {
    gpo::test::each_seed(kSeeds, [](uint64_t seed) {
        Group group(seed);
        REQUIRE(gpo_stream_wait_timeline(group.streams[seed % kRanks], group.timeline, 1) == GPO_SUCCESS);
        CHECK(group.sum() == GPO_SUCCESS);
        {
            gpo::host::Thread submitter("submitter", [&] {
                const gpo_status status = group.sum();
                CHECK((status == GPO_SUCCESS || status == GPO_SHUT_DOWN || status == GPO_CANCELLED ||
                       status == GPO_INVALID_HANDLE || status == GPO_STALE_HANDLE));
            });
            CHECK(gpo_runtime_shutdown(group.runtime, kPatience) == GPO_SUCCESS);
        }
        group.runtime = nullptr;
    });
}
