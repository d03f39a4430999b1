// The end of a timeline under many schedules: while signals are refused, arrive or are dropped, every waiter gets a
// result, and no wait is cancelled needlessly.
#include <doctest/doctest.h>

#include <vector>

#include "gpuorch/gpuorch.h"
#include "host/host.h"
#include "support/explore.h"
#include "support/soft.h"

namespace {

constexpr int64_t kPatience = 10'000'000'000;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr uint64_t kSeeds = 300;
#else
constexpr uint64_t kSeeds = 1500;
#endif

struct World : gpo::test::SoftRuntime {
    explicit World(uint64_t seed) : SoftRuntime(seed) {
        for (auto timeline : {&begin, &timeline_})
            REQUIRE(gpo_timeline_create(runtime, nullptr, timeline) == GPO_SUCCESS);
    }
    /// The statuses of the next entries, by user_data.
    std::vector<gpo_status> take(size_t count) {
        std::vector<gpo_status> statuses(count, GPO_INTERNAL);
        for (size_t i = 0; i < count; ++i) {
            gpo_completion entry{};
            uint64_t taken = 0;
            REQUIRE(gpo_cq_wait(queue, kPatience) == GPO_SUCCESS);
            REQUIRE(gpo_cq_drain(queue, &entry, sizeof entry, 1, &taken) == GPO_SUCCESS);
            REQUIRE(taken == 1);
            statuses.at(entry.user_data) = entry.status;
        }
        return statuses;
    }
    gpo_timeline_t begin = nullptr, timeline_ = nullptr;   // never signalled here
};

}  // namespace

TEST_CASE("who waits for a destroyed timeline is told when the last signal for it is refused, under every schedule") {
    gpo::test::each_seed(kSeeds, [](uint64_t seed) {
        World world(seed);
        const gpo_stream_t full = world.stream(1), held = world.stream();
        REQUIRE(gpo_stream_wait_timeline(full, world.begin, 1) == GPO_SUCCESS);
        REQUIRE(gpo_timeline_notify(world.timeline_, 5, world.queue, 0) == GPO_SUCCESS);
        REQUIRE(gpo_stream_wait_timeline(held, world.timeline_, 5) == GPO_SUCCESS);
        REQUIRE(gpo_stream_notify(held, world.queue, 1) == GPO_SUCCESS);
        gpo_status signalled = GPO_INTERNAL, waited = GPO_INTERNAL;
        {
            std::vector<gpo::host::Thread> threads;
            threads.emplace_back("signaller",
                                 [&] { signalled = gpo_stream_signal_timeline(full, world.timeline_, 5); });
            threads.emplace_back("waiter", [&] { waited = gpo_timeline_wait(world.timeline_, 5, kPatience); });
            CHECK(gpo_timeline_destroy(world.timeline_) == GPO_SUCCESS);
        }
        CHECK((signalled == GPO_WOULD_BLOCK || signalled == GPO_STALE_HANDLE || signalled == GPO_FAILED));
        CHECK((waited == GPO_CANCELLED || waited == GPO_STALE_HANDLE));
        const auto told = world.take(2);
        CHECK(told[0] == GPO_CANCELLED);
        CHECK(told[1] == GPO_CANCELLED);
        CHECK(gpo_stream_wait(held, kPatience) == GPO_CANCELLED);
        CHECK(gpo_stream_cancel_held(full, nullptr) == GPO_SUCCESS);
    });
}

TEST_CASE("of those who wait for a destroyed timeline whom a held signal will reach go on, under every schedule") {
    int reached = 0, cancelled = 0;
    gpo::test::each_seed(kSeeds, [&](uint64_t seed) {
        World world(seed);
        const gpo_stream_t signalling = world.stream(), near = world.stream(), far = world.stream();
        REQUIRE(gpo_stream_wait_timeline(signalling, world.begin, 1) == GPO_SUCCESS);
        REQUIRE(gpo_stream_signal_timeline(signalling, world.timeline_, 5) == GPO_SUCCESS);
        REQUIRE(gpo_stream_wait_timeline(near, world.timeline_, 4) == GPO_SUCCESS);
        REQUIRE(gpo_stream_wait_timeline(far, world.timeline_, 6) == GPO_SUCCESS);
        REQUIRE(gpo_stream_notify(near, world.queue, 0) == GPO_SUCCESS);
        REQUIRE(gpo_stream_notify(far, world.queue, 1) == GPO_SUCCESS);
        REQUIRE(gpo_timeline_notify(world.timeline_, 5, world.queue, 2) == GPO_SUCCESS);
        REQUIRE(gpo_timeline_notify(world.timeline_, 6, world.queue, 3) == GPO_SUCCESS);
        gpo_status statuses[2] = {GPO_INTERNAL, GPO_INTERNAL};
        {
            std::vector<gpo::host::Thread> threads;
            for (uint64_t i : {0, 1})
                threads.emplace_back("waiter",
                                     [&, i] { statuses[i] = gpo_timeline_wait(world.timeline_, 5 + i, kPatience); });
            gpo::host::sleep_until(gpo::host::now() + seed % 2);   // in every second run both waits have begun
            CHECK(gpo_timeline_destroy(world.timeline_) == GPO_SUCCESS);
            CHECK(gpo_timeline_signal(world.begin, 1) == GPO_SUCCESS);
        }
        CHECK((statuses[0] == GPO_SUCCESS || statuses[0] == GPO_STALE_HANDLE));
        CHECK((statuses[1] == GPO_CANCELLED || statuses[1] == GPO_STALE_HANDLE));
        reached += statuses[0] == GPO_SUCCESS;
        cancelled += statuses[1] == GPO_CANCELLED;
        const auto told = world.take(4);
        CHECK(told[0] == GPO_SUCCESS);
        CHECK(told[1] == GPO_CANCELLED);
        CHECK(told[2] == GPO_SUCCESS);
        CHECK(told[3] == GPO_CANCELLED);
    });
    if (gpo::test::seeds({1, kSeeds}).count == kSeeds) {
        CHECK(reached > 0);
        CHECK(cancelled > 0);
    }
}

TEST_CASE("shutdown ends every wait for a timeline, destroyed or not, under every schedule") {
    gpo::test::each_seed(kSeeds, [](uint64_t seed) {
        World world(seed);
        const gpo_stream_t signalling = world.stream();
        REQUIRE(gpo_stream_wait_timeline(signalling, world.begin, 1) == GPO_SUCCESS);
        REQUIRE(gpo_stream_signal_timeline(signalling, world.timeline_, 5) == GPO_SUCCESS);
        gpo_status statuses[2] = {GPO_INTERNAL, GPO_INTERNAL};
        {
            std::vector<gpo::host::Thread> threads;
            for (uint64_t i : {0, 1})
                threads.emplace_back("waiter", [&, i] { statuses[i] = gpo_timeline_wait(world.timeline_, 5 + i, -1); });
            if (seed % 2) CHECK(gpo_timeline_destroy(world.timeline_) == GPO_SUCCESS);
            gpo::host::sleep_until(gpo::host::now() + seed / 2 % 2);
            CHECK(gpo_runtime_shutdown(world.runtime, kPatience) == GPO_SUCCESS);
            world.runtime = nullptr;
        }
        for (const gpo_status status : statuses)
            CHECK((status == GPO_CANCELLED || status == GPO_STALE_HANDLE || status == GPO_INVALID_HANDLE));
    });
}

TEST_CASE(
    "when a signal returns no stream is held for it any more, whichever thread has released them, under every "
    "schedule") {
    enum class By { host, stream };
    for (const By by : {By::host, By::stream}) {
        CAPTURE(static_cast<int>(by));
        gpo::test::each_seed(kSeeds / 4, [&](uint64_t seed) {
            World world(seed);
            const gpo_stream_t first = world.stream(), second = world.stream(), third = world.stream(),
                               signals = world.stream();
            gpo_pool_t pool = nullptr;
            uint64_t pieces[3] = {}, filled = 0, allocated = 0;
            REQUIRE(gpo_pool_create(world.device, nullptr, &pool) == GPO_SUCCESS);
            REQUIRE(gpo_memory_allocate(world.device, 64, nullptr, &filled) == GPO_SUCCESS);
            for (auto& piece : pieces) REQUIRE(gpo_memory_allocate(world.device, 64, nullptr, &piece) == GPO_SUCCESS);
            REQUIRE(gpo_stream_wait_timeline(first, world.timeline_, 1) == GPO_SUCCESS);
            REQUIRE(gpo_fill(first, filled, 1, 1, 64) == GPO_SUCCESS);
            REQUIRE(gpo_stream_wait_stream(second, first) == GPO_SUCCESS);
            REQUIRE(gpo_stream_wait_stream(third, second) == GPO_SUCCESS);
            {
                // Puts marks on all streams, and any held operations whose turn has come.
                gpo::host::Thread frees("frees", [&] {
                    for (const uint64_t piece : pieces) CHECK(gpo_memory_free(world.device, piece) == GPO_SUCCESS);
                });
                CHECK((by == By::host ? gpo_timeline_signal(world.timeline_, 1)
                                      : gpo_stream_signal_timeline(signals, world.timeline_, 1)) == GPO_SUCCESS);
                // This is refused on a held stream.
                for (const gpo_stream_t stream : {third, second, first}) {
                    const gpo_status status = gpo_pool_allocate(pool, stream, 64, &allocated);
                    CHECK(status == GPO_SUCCESS);
                    if (status == GPO_SUCCESS) CHECK(gpo_pool_free(pool, stream, allocated) == GPO_SUCCESS);
                }
            }
            for (const gpo_stream_t stream : {first, second, third, signals})
                CHECK(gpo_stream_wait(stream, kPatience) == GPO_SUCCESS);
            REQUIRE(gpo_memory_free(world.device, filled) == GPO_SUCCESS);
            REQUIRE(gpo_pool_destroy(pool) == GPO_SUCCESS);
        });
    }
}

namespace {

/// Puts on a stream, in a thread of its own: a wait for one timeline, behind it the signal of another, and a notify.
struct Putter {
    gpo_status waited = GPO_INTERNAL, signalled = GPO_INTERNAL, notified = GPO_INTERNAL;
    void put(gpo_stream_t stream, gpo_timeline_t awaited, gpo_timeline_t to_signal, gpo_cq_t queue, uint64_t number) {
        waited = gpo_stream_wait_timeline(stream, awaited, 5);
        signalled = gpo_stream_signal_timeline(stream, to_signal, 7);
        notified = gpo_stream_notify(stream, queue, number);
    }
    void check() const {
        for (const gpo_status status : {waited, signalled, notified}) {
            CAPTURE(status);
            CHECK((status == GPO_SUCCESS || status == GPO_SHUT_DOWN || status == GPO_CANCELLED ||
                   status == GPO_STALE_HANDLE || status == GPO_INVALID_HANDLE || status == GPO_FAILED));
        }
    }
};

/// Drains a queue after its runtime's shutdown; returns how often each number came.
std::vector<int> drained(gpo_cq_t queue, size_t numbers) {
    std::vector<int> times(numbers);
    gpo_completion entry{};
    uint64_t count = 0;
    gpo_status status;
    while ((status = gpo_cq_drain(queue, &entry, sizeof entry, 1, &count)) == GPO_SUCCESS) {
        REQUIRE(count == 1);
        ++times.at(entry.user_data);
    }
    CHECK(status == GPO_SHUT_DOWN);
    return times;
}

}  // namespace

TEST_CASE(
    "a wait and a signal behind it that meet a shutdown don't hold it up, and every accepted entry comes, under every "
    "schedule") {
    gpo::test::each_seed(kSeeds, [](uint64_t seed) {
        World world(seed);
        const bool two = seed % 2;   // two streams wait for each other's signal; else one stream waits for its own
        const gpo_stream_t a = world.stream(), b = world.stream();
        Putter one, other;
        {
            std::vector<gpo::host::Thread> threads;
            if (two) {
                threads.emplace_back("one", [&] { one.put(a, world.timeline_, world.begin, world.queue, 0); });
                threads.emplace_back("other", [&] { other.put(b, world.begin, world.timeline_, world.queue, 1); });
            } else {
                // Two threads: both calls may have begun before the shutdown, and put their parts on after the
                // shutdown has cancelled all.
                one.signalled = other.waited = other.notified = GPO_SUCCESS;
                threads.emplace_back("waits", [&] {
                    one.waited = gpo_stream_wait_timeline(a, world.timeline_, 5);
                    one.notified = gpo_stream_notify(a, world.queue, 0);
                });
                threads.emplace_back("signals", [&] {
                    other.signalled = gpo_stream_signal_timeline(a, world.timeline_, 7);
                    other.notified = gpo_stream_notify(a, world.queue, 1);
                });
            }
            for (uint64_t i = 0; i < seed / 2 % 48; ++i) gpo::host::crossing();
            CHECK(gpo_runtime_shutdown(world.runtime, kPatience) == GPO_SUCCESS);
            world.runtime = nullptr;
        }
        one.check();
        other.check();
        const auto times = drained(world.queue, 2);
        CHECK(times[0] == (one.notified == GPO_SUCCESS));
        CHECK(times[1] == (other.notified == GPO_SUCCESS));
    });
}

TEST_CASE(
    "streams that hold each other up are failed once, whoever destroys the last handle beside whom, under every "
    "schedule") {
    int cancelled = 0, signalled = 0;
    gpo::test::each_seed(kSeeds, [&](uint64_t seed) {
        World world(seed);
        const gpo_stream_t a = world.stream(), b = world.stream();
        Putter one, other;
        one.put(a, world.timeline_, world.begin, world.queue, 0);
        other.put(b, world.begin, world.timeline_, world.queue, 1);
        REQUIRE(other.notified == GPO_SUCCESS);
        {
            std::vector<gpo::host::Thread> threads;
            threads.emplace_back("one", [&] {
                CHECK(gpo_stream_destroy(a) == GPO_SUCCESS);
                CHECK(gpo_timeline_destroy(world.begin) == GPO_SUCCESS);
            });
            threads.emplace_back("other", [&] { CHECK(gpo_stream_destroy(b) == GPO_SUCCESS); });
            if (seed % 3 == 0) gpo_timeline_signal(world.timeline_, 6);
            CHECK(gpo_timeline_destroy(world.timeline_) == GPO_SUCCESS);
        }
        const auto told = world.take(2);
        CHECK(told[0] == told[1]);
        CHECK((told[0] == GPO_CANCELLED || (seed % 3 == 0 && told[0] == GPO_SUCCESS)));
        (told[0] == GPO_SUCCESS ? signalled : cancelled) += 1;
        CHECK(gpo_device_wait(world.device, kPatience) == GPO_SUCCESS);
    });
    if (gpo::test::seeds({1, kSeeds}).count == kSeeds) {
        CHECK(cancelled > 0);
        CHECK(signalled > 0);
    }
}
