// Held streams that are cancelled, or lose their device, under many schedules. GPUORCH_TEST_SEED=n repeats one.
#include <doctest/doctest.h>

#include <memory>
#include <utility>
#include <vector>

#include "gpuorch/gpuorch.h"
#include "softgpu/machine/rates.h"
#include "stream/stream.h"
#include "support/explore.h"
#include "support/soft.h"

namespace {

constexpr int64_t kPatience = 10'000'000'000;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr uint64_t kSeeds = 300;
#else
constexpr uint64_t kSeeds = 1500;
#endif

/// A stream with a fill, held behind the fill for a timeline that is never signalled.
struct Held : gpo::test::SoftRuntime {
    explicit Held(uint64_t seed) : SoftRuntime(seed), stream(SoftRuntime::stream()) {
        REQUIRE(gpo_timeline_create(runtime, nullptr, &timeline) == GPO_SUCCESS);
        gpo::softgpu::set_rates({.d2d_bytes_per_s = 4096e4});   // 0.1 ms
        uint64_t memory = 0;
        REQUIRE(gpo_memory_allocate(device, 4096, nullptr, &memory) == GPO_SUCCESS);
        REQUIRE(gpo_fill(stream, memory, 7, 1, 4096) == GPO_SUCCESS);
        REQUIRE(gpo_stream_wait_timeline(stream, timeline, 1) == GPO_SUCCESS);
    }
    gpo_timeline_t timeline = nullptr;
    const gpo_stream_t stream;
};

}  // namespace

TEST_CASE("a wait that times out beside a cancellation leaves the next wait nothing of that, under every schedule") {
    gpo::test::each_seed(kSeeds, [](uint64_t seed) {
        Held held(seed);
        gpo_status waited = GPO_INTERNAL;
        {
            std::vector<gpo::host::Thread> threads;
            threads.emplace_back("waiter", [&] { waited = gpo_stream_wait(held.stream, 1); });
            threads.emplace_back("canceller",
                                 [&] { CHECK(gpo_stream_cancel_held(held.stream, nullptr) == GPO_SUCCESS); });
        }
        CHECK((waited == GPO_TIMEOUT || waited == GPO_CANCELLED || waited == GPO_SUCCESS));
        CHECK(gpo_stream_wait(held.stream, kPatience) == GPO_SUCCESS);
    });
}

TEST_CASE(
    "a notify on a stream whose device has just been lost comes behind those that were held, under every schedule") {
    gpo::test::each_seed(kSeeds, [](uint64_t seed) {
        Held held(seed);
        for (uint64_t i = 0; i < 2; ++i) REQUIRE(gpo_stream_notify(held.stream, held.queue, i) == GPO_SUCCESS);
        gpo::Pin<gpo::Stream>(held.stream)->context().lose(gpo::make_error(GPO_DEVICE_LOST, "lost"), false);
        REQUIRE(gpo_stream_notify(held.stream, held.queue, 2) == GPO_SUCCESS);
        for (uint64_t i = 0; i < 3; ++i) {
            gpo_completion entry{};
            uint64_t taken = 0;
            REQUIRE(gpo_cq_wait(held.queue, kPatience) == GPO_SUCCESS);
            REQUIRE(gpo_cq_drain(held.queue, &entry, sizeof entry, 1, &taken) == GPO_SUCCESS);
            REQUIRE(taken == 1);
            CHECK(entry.user_data == i);
            CHECK(entry.status == GPO_DEVICE_LOST);
        }
    });
}

TEST_CASE(
    "a wait for the device tells no failure of a stream's, whatever is cancelled or fails meanwhile, under every "
    "schedule") {
    gpo::test::each_seed(kSeeds / 3, [](uint64_t seed) {
        Held held(seed);
        uint64_t memory = 0;
        REQUIRE(gpo_memory_allocate(held.device, 64, nullptr, &memory) == GPO_SUCCESS);
        std::vector<gpo_status> waited;
        {
            std::vector<gpo::host::Thread> threads;
            threads.emplace_back("waiter", [&] {
                for (const int64_t timeout : {int64_t{100'000}, int64_t{0}, kPatience, int64_t{10'000}, kPatience})
                    waited.push_back(gpo_device_wait(held.device, timeout));
            });
            threads.emplace_back("canceller", [&] {
                for (int i = 0; i < 4; ++i) {
                    CHECK(gpo_stream_cancel_held(held.stream, nullptr) == GPO_SUCCESS);
                    gpo_stream_wait_timeline(held.stream, held.timeline, 1);
                    gpo_fill(held.stream, memory, 7, 1, 64);
                }
                // Finally either make the stream fail, or let it continue.
                if (seed % 2)
                    CHECK(gpo_timeline_fail(held.timeline, GPO_FAILED, "on purpose") == GPO_SUCCESS);
                else
                    CHECK(gpo_stream_cancel_held(held.stream, nullptr) == GPO_SUCCESS);
            });
        }
        for (const gpo_status status : waited) {
            CAPTURE(status);
            CHECK((status == GPO_SUCCESS || status == GPO_TIMEOUT));
        }
        CHECK(waited.size() == 5);
        CHECK(waited.back() == GPO_SUCCESS);
    });
}

namespace {

/// An operation that is never ready. It makes the submitting call sleep after the call has checked the runtime's state,
/// and before it takes the stream's lock.
class Slow final : public gpo::HookedOperation {
public:
    struct Counts {
        int held = 0, dropped = 0;
    };
    explicit Slow(Counts& counts) : HookedOperation("slow", nullptr), counts_(counts) {}
    bool plain() const noexcept override {
        if (!slept_) gpo::host::sleep_until(gpo::host::now() + 1'000'000'000);
        slept_ = true;
        return true;
    }
    bool ready(gpo::Stream&) override { return false; }
    void issue(gpo::Stream&) override {}
    std::unique_ptr<Operation> held_copy() const override {
        ++counts_.held;
        return std::make_unique<Slow>(*this);
    }
    void drop(gpo::Stream&, const gpo::ErrorPtr&) noexcept override { ++counts_.dropped; }

private:
    Counts& counts_;
    mutable bool slept_ = false;
};

}  // namespace

TEST_CASE(
    "what a call would hold when a shutdown has cancelled all that was held is refused, and what was held before is "
    "dropped") {
    gpo::test::each_seed(20, [](uint64_t seed) {
        Slow::Counts counts;
        gpo_status status = GPO_SUCCESS;
        gpo_cq_t queue = nullptr;
        {
            Held held(seed);
            queue = std::exchange(held.queue, nullptr);
            gpo_stream_t stream = nullptr;
            REQUIRE(gpo_stream_create(held.device, nullptr, &stream) == GPO_SUCCESS);
            gpo::host::Thread late("late", [&] {
                gpo::Pin<gpo::Stream> pinned(stream);
                Slow slow(counts);
                try {
                    status = pinned->submit(slow);
                } catch (const gpo::Failure& failure) {
                    status = failure.error()->status;
                }
            });
            // At this time the thread either sleeps in its call, or hasn't begun and will be refused.
            for (uint64_t i = 0; i < seed % 21 * 4; ++i) gpo::host::crossing();
            CHECK(gpo_runtime_shutdown(std::exchange(held.runtime, nullptr), kPatience) == GPO_SUCCESS);
        }
        CHECK((status == GPO_SHUT_DOWN || status == GPO_INVALID_HANDLE || status == GPO_STALE_HANDLE));
        CHECK(counts.held == counts.dropped);
        CHECK(gpo_cq_destroy(queue) == GPO_SUCCESS);
    });
}
