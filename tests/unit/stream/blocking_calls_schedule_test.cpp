// Calls that wait for all kernels, and resident work, under many schedules. GPUORCH_TEST_SEED=n repeats one.
#include <doctest/doctest.h>

#include <vector>

#include "softgpu/machine/rates.h"
#include "stream/streams.h"
#include "support/explore.h"
#include "support/soft.h"

namespace {

constexpr int64_t kPatience = 10'000'000'000;
constexpr uint64_t kSeeds = 500;

/// A resident stream, and memory that is filled in 0.1 ms.
struct Rig : gpo::test::SoftRuntime {
    explicit Rig(uint64_t seed) : SoftRuntime(seed) {
        auto options = gpo::test::sized<gpo_stream_options>();
        options.flags = GPO_STREAM_RESIDENT;
        REQUIRE(gpo_stream_create(device, &options, &resident) == GPO_SUCCESS);
        gpo::softgpu::set_rates({.d2d_bytes_per_s = 4096e4});
        REQUIRE(gpo_memory_allocate(device, 4096, nullptr, &memory) == GPO_SUCCESS);
    }
    gpo::Streams& streams() { return gpo::Streams::of(gpo::Pin<gpo::Stream>(resident)->context()); }
    void fill() { REQUIRE(gpo_fill(resident, memory, 7, 1, 4096) == GPO_SUCCESS); }

    gpo_stream_t resident = nullptr;
    uint64_t memory = 0;
};

/// A call that must find no resident work.
class Call final : public gpo::BlockingCall {
public:
    Call(gpo::Context& context, std::atomic<int>& made) : BlockingCall(context), made_(made) {}

private:
    void call(bool ok) noexcept override {
        CHECK(ok);
        for (int i = 0; i < 3; ++i) {
            CHECK(!gpo::Streams::of(context()).resident_work());
            gpo::host::crossing();
        }
        made_.fetch_add(1, std::memory_order_relaxed);
        delete this;
    }
    std::atomic<int>& made_;
};

}  // namespace

TEST_CASE("a blocking call and resident work exclude each other, and each call is made once, under every schedule") {
    gpo::test::each_seed(kSeeds, [](uint64_t seed) {
        std::atomic<int> made{0};
        constexpr int kCalls = 6;
        {
            Rig rig(seed);
            gpo::Context& context = gpo::Pin<gpo::Stream>(rig.resident)->context();
            std::vector<gpo::host::Thread> threads;
            threads.emplace_back("resident", [&] {
                for (int i = 0; i < 4; ++i) {
                    rig.fill();
                    if (i % 2 == 1) CHECK(gpo_stream_wait(rig.resident, kPatience) == GPO_SUCCESS);
                }
            });
            for (int thread = 0; thread < 2; ++thread)
                threads.emplace_back("calls", [&] {
                    for (int i = 0; i < kCalls / 2; ++i) (new Call(context, made))->make();
                });
        }
        CHECK(made.load() == kCalls);   // the runtime has shut down
    });
}

TEST_CASE("a blocking call that is put off is made soon after the resident work, and counted until then") {
    Rig rig(1);
    std::atomic<int> made{0};
    gpo::Context& context = gpo::Pin<gpo::Stream>(rig.resident)->context();
    gpo::BlockingCalls& calls = rig.streams().blocking_calls();
    rig.fill();
    (new Call(context, made))->make();
    CHECK(made.load() == 0);
    CHECK(calls.waiting() == 1);
    CHECK_THROWS_AS(gpo::BlockingCalls::Now(context, "this"), gpo::Failure);
    CHECK(gpo_device_wait(rig.device, kPatience) == GPO_SUCCESS);   // skips the resident stream
    CHECK(gpo_stream_wait(rig.resident, kPatience) == GPO_SUCCESS);
    while (calls.waiting() != 0) gpo::host::sleep_until(gpo::host::now() + 1'000'000);
    CHECK(made.load() == 1);
    (new Call(context, made))->make();
    CHECK(made.load() == 2);
}
