// A joined group's part in a collective, cancelled while the group's thread copies from or to the caller's memory. The
// copies are the library's, on its own stream.
#include <doctest/doctest.h>

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "driver/wrapper.h"
#include "gpuorch/gpuorch.h"
#include "support/soft.h"
#include "support/threads.h"

namespace {

using gpo::driver::Function;
using gpo::test::sized;

constexpr int64_t kPatience = 30'000'000'000;
constexpr uint64_t kCount = 64;
constexpr const char* kCanceller = "canceller";

template <class Condition>
void await(Condition condition) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::nanoseconds(kPatience);
    while (!condition() && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
}

/// Holds up one copy until the cancelling call has returned or sleeps; counts the copies that begin after the call.
struct LateCopy {
    template <class Call>
    static CUresult around(Function function, Call&& call) noexcept {
        if (cancelled && (function == Function::cuMemcpyDtoHAsync || function == Function::cuMemcpyHtoDAsync)) ++late;
        if (function == which && armed.exchange(false)) {
            held = true;
            await([] { return cancelled || (cancels && gpo::test::sleeps_of(kCanceller) > sleeps); });
            cancelled_amid = cancelled.load();
        }
        return call();
    }
    static inline std::atomic<Function> which{Function::count};
    static inline std::atomic<uint64_t> sleeps{0};   // the cancelling thread's sleeps before the call
    static inline std::atomic<unsigned> late{0};
    static inline std::atomic<bool> armed{false}, held{false}, cancels{false}, cancelled{false}, cancelled_amid{false};
};

struct LateCopies {
    LateCopies() {
        gpo::driver::set_interposer([](std::shared_ptr<gpo::driver::Driver> driver) {
            return std::make_shared<gpo::driver::Wrapper<LateCopy>>(std::move(driver));
        });
    }
    ~LateCopies() { gpo::driver::set_interposer({}); }
};

/// A group of one process. Its collectives use the host engine, like those of larger groups.
struct Alone : private LateCopies, gpo::test::SoftRuntime {
    Alone() : on(stream()) {
        uint8_t id[GPO_PEERS_ID_BYTES];
        REQUIRE(gpo_peers_make_id(id, sizeof id, nullptr) == GPO_SUCCESS);
        auto options = sized<gpo_join_options>();
        options.by = GPO_JOIN_ID;
        options.engine = GPO_ENGINE_HOST;
        options.ranks = 1;
        options.id = id;
        REQUIRE(gpo_peers_join(device, &options, &peers) == GPO_SUCCESS);
        REQUIRE(gpo_memory_allocate(device, kCount * 4, nullptr, &data) == GPO_SUCCESS);
    }
    gpo_status sum() {
        auto what = sized<gpo_collective>();
        what.kind = GPO_COLLECTIVE_ALL_REDUCE;
        what.type = GPO_TYPE_UINT32;
        what.reduction = GPO_REDUCE_SUM;
        what.count = kCount;
        auto part = sized<gpo_rank_part>();
        part.stream = on;
        part.send = part.receive = data;
        return gpo_peers_submit(peers, &what, &part, sizeof part, 1);
    }

    gpo_stream_t on;
    gpo_peers_t peers = nullptr;
    uint64_t data = 0;
};

}  // namespace

TEST_CASE("a part that is cancelled leaves the caller's memory alone once the call has returned") {
    for (const Function which : {Function::cuMemcpyDtoHAsync, Function::cuMemcpyHtoDAsync}) {
        CAPTURE(static_cast<int>(which));
        Alone alone;
        LateCopy::which = which;
        LateCopy::held = LateCopy::cancels = LateCopy::cancelled = LateCopy::cancelled_amid = false;
        LateCopy::late = 0;
        LateCopy::armed = true;
        REQUIRE(alone.sum() == GPO_SUCCESS);
        await([] { return LateCopy::held.load(); });
        REQUIRE(LateCopy::held);
        uint64_t count = 0;
        std::thread canceller([&] {
            pthread_setname_np(pthread_self(), kCanceller);
            LateCopy::sleeps = gpo::test::sleeps_of(kCanceller);
            LateCopy::cancels = true;
            CHECK(gpo_stream_cancel_held(alone.on, &count) == GPO_SUCCESS);
            LateCopy::cancelled = true;
        });
        canceller.join();
        CHECK(count == 1);
        CHECK(gpo_memory_free(alone.device, alone.data) == GPO_SUCCESS);
        CHECK(gpo_stream_wait(alone.on, kPatience) == GPO_SUCCESS);
        CHECK(gpo_peers_destroy(alone.peers) == GPO_SUCCESS);
        CHECK(gpo_runtime_shutdown(alone.runtime, kPatience) == GPO_SUCCESS);
        alone.runtime = nullptr;
        CHECK_FALSE(LateCopy::cancelled_amid);
        CHECK(LateCopy::late == 0);
    }
}
