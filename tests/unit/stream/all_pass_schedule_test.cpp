// Actions that wait for all streams of a context, while the driver refuses to record the marks that they wait for. A
// schedule's virtual clock makes it certain that work still runs. GPUORCH_TEST_SEED=n repeats one schedule.
#include <doctest/doctest.h>

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "driver/driver.h"
#include "driver/faults.h"
#include "softgpu/machine/rates.h"
#include "stream/streams.h"
#include "support/explore.h"
#include "support/soft.h"

namespace {

namespace faults = gpo::driver::faults;
using gpo::driver::Function;

constexpr int64_t kPatience = 30'000'000'000;
constexpr uint64_t kSeeds = 20;

struct Interposed {
    Interposed() {
        gpo::driver::set_interposer(
            [](std::shared_ptr<gpo::driver::Driver> driver) { return faults::wrap(std::move(driver)); });
    }
    ~Interposed() {
        faults::disarm();
        gpo::driver::set_interposer(nullptr);
    }
};

/// A device on which a fill takes 0.2 s.
struct World : Interposed, gpo::test::SoftRuntime {
    explicit World(uint64_t seed) : SoftRuntime(seed) {
        gpo::softgpu::set_rates({.d2d_bytes_per_s = 4096 * 5});
        REQUIRE(gpo_memory_allocate(device, 4096, nullptr, &memory) == GPO_SUCCESS);
    }
    gpo_stream_t resident_stream() {
        auto options = gpo::test::sized<gpo_stream_options>();
        options.flags = GPO_STREAM_RESIDENT;
        gpo_stream_t made = nullptr;
        REQUIRE(gpo_stream_create(device, &options, &made) == GPO_SUCCESS);
        return made;
    }
    void fill(gpo_stream_t stream) { REQUIRE(gpo_fill(stream, memory, 7, 1, 4096) == GPO_SUCCESS); }
    /// Makes a stream fail, by the driver's answer to a query. Its work goes on.
    void fail(gpo_stream_t stream) {
        faults::arm({Function::cuEventQuery, 1, CUDA_ERROR_INVALID_HANDLE, true});
        gpo_completion entry{};
        uint64_t count = 0;
        CHECK(gpo_stream_notify(stream, queue, 0) == GPO_SUCCESS);
        CHECK(gpo_cq_wait(queue, kPatience) == GPO_SUCCESS);
        CHECK(gpo_cq_drain(queue, &entry, sizeof entry, 1, &count) == GPO_SUCCESS);
        faults::disarm();
        CHECK(entry.status == GPO_DRIVER_ERROR);
        CHECK(gpo_stream_query(stream) == GPO_DRIVER_ERROR);
    }
    /// Has an action run when all streams have passed, and returns what the driver said then of each of `asked`.
    std::vector<CUresult> at_action(const std::vector<gpo_stream_t>& asked) {
        std::vector<CUstream> natives;
        for (gpo_stream_t stream : asked) natives.push_back(gpo::Pin<gpo::Stream>(stream)->native());
        gpo::Context& context = gpo::Pin<gpo::Stream>(asked[0])->context();
        std::vector<CUresult> answers;
        std::atomic<bool> done{false};
        gpo::Streams::of(context).when_all_pass([&](bool ok) {
            CHECK(ok);
            for (CUstream native : natives) answers.push_back(context.table().cuStreamQuery(native));
            done = true;
        });
        const uint64_t deadline = gpo::host::deadline_after(kPatience);
        while (!done && gpo::host::now() < deadline) gpo::host::sleep_until(gpo::host::now() + 100'000);
        REQUIRE(done);
        return answers;
    }
    /// The same, while the driver records no event; or refuses another function, perhaps only its first call.
    std::vector<CUresult> at_action_without_marks(const std::vector<gpo_stream_t>& asked, CUresult refusal,
                                                  Function function = Function::cuEventRecord, bool for_ever = true) {
        faults::arm({function, 1, refusal, for_ever});
        const std::vector<CUresult> answers = at_action(asked);
        CHECK(faults::failed() > 0);
        faults::disarm();
        return answers;
    }

    uint64_t memory = 0;
};

using Answers = std::vector<CUresult>;

}  // namespace

TEST_CASE("what waits for a failed stream waits for its earlier work, though the driver refuses to record its mark") {
    gpo::test::each_seed(kSeeds, [](uint64_t seed) {
        World world(seed);
        const gpo_stream_t stream = world.stream();
        world.fill(stream);
        world.fail(stream);
        CHECK(world.at_action_without_marks({stream}, CUDA_ERROR_INVALID_HANDLE) == Answers{CUDA_SUCCESS});
    });
}

TEST_CASE("what waits for a stream waits for its work, though the driver gives an error in place of not ready") {
    gpo::test::each_seed(kSeeds, [](uint64_t seed) {
        World world(seed);
        const gpo_stream_t stream = world.stream();
        world.fill(stream);
        CHECK(world.at_action_without_marks({stream}, CUDA_ERROR_INVALID_HANDLE, Function::cuEventQuery) ==
              Answers{CUDA_SUCCESS});
        CHECK(gpo_stream_query(stream) == GPO_DRIVER_ERROR);
    });
}

TEST_CASE("what waits for several failed streams waits for the one that still works, whichever it is") {
    for (size_t busy = 0; busy < 3; ++busy) {
        CAPTURE(busy);
        gpo::test::each_seed(kSeeds, [&](uint64_t seed) {
            World world(seed);
            const std::vector<gpo_stream_t> streams{world.stream(), world.stream(), world.stream()};
            world.fill(streams[busy]);
            for (gpo_stream_t stream : streams) world.fail(stream);
            CHECK(world.at_action_without_marks(streams, CUDA_ERROR_INVALID_HANDLE) ==
                  Answers(streams.size(), CUDA_SUCCESS));
        });
    }
}

TEST_CASE("what waits for failed streams doesn't wait for the work of a resident one") {
    gpo::test::each_seed(kSeeds, [](uint64_t seed) {
        World world(seed);
        const gpo_stream_t stream = world.stream(), resident = world.resident_stream();
        world.fill(resident);
        for (gpo_stream_t each : {stream, resident}) world.fail(each);
        CHECK(world.at_action_without_marks({stream, resident}, CUDA_ERROR_INVALID_HANDLE) ==
              Answers{CUDA_SUCCESS, CUDA_ERROR_NOT_READY});
    });
}

TEST_CASE("what waits for a stream waits for its work, though the driver refuses to record its mark") {
    for (const CUresult refusal : {CUDA_ERROR_INVALID_HANDLE, CUDA_ERROR_OUT_OF_MEMORY})
        for (size_t busy = 0; busy < 2; ++busy) {
            CAPTURE(refusal);
            CAPTURE(busy);
            gpo::test::each_seed(kSeeds, [&](uint64_t seed) {
                World world(seed);
                const std::vector<gpo_stream_t> streams{world.stream(), world.stream()};
                world.fill(streams[busy]);
                CHECK(world.at_action_without_marks(streams, refusal, Function::cuEventRecord, false) ==
                      Answers(streams.size(), CUDA_SUCCESS));
            });
        }
}

TEST_CASE(
    "a failed stream that is destroyed stays until its work is over, though the driver refuses to record its mark") {
    gpo::test::each_seed(kSeeds, [](uint64_t seed) {
        World world(seed);
        const gpo_stream_t stream = world.stream(), other = world.stream();
        world.fill(stream);
        world.fail(stream);
        const CUstream native = gpo::Pin<gpo::Stream>(stream)->native();
        gpo::Context& context = gpo::Pin<gpo::Stream>(other)->context();
        faults::arm({Function::cuEventRecord, 1, CUDA_ERROR_INVALID_HANDLE, true});
        CHECK(gpo_stream_destroy(stream) == GPO_SUCCESS);
        std::atomic<bool> done{false};
        CUresult answer = CUDA_ERROR_UNKNOWN;
        gpo::Streams::of(context).when_all_pass([&](bool) {
            answer = context.table().cuStreamQuery(native);
            done = true;
        });
        const uint64_t deadline = gpo::host::deadline_after(kPatience);
        while (!done && gpo::host::now() < deadline) gpo::host::sleep_until(gpo::host::now() + 100'000);
        faults::disarm();
        REQUIRE(done);
        CHECK(answer == CUDA_SUCCESS);   // of a stream that was destroyed: CUDA_ERROR_INVALID_HANDLE
    });
}
