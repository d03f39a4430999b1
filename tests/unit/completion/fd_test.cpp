// The descriptor of a completion queue, with level- and edge-triggered pollers. No interleaving of deliveries, drains
// and wakes may leave an entry without a notification.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "completion/completion_queue.h"
#include "runtime/shutdown.h"
#include "support/explore.h"

using namespace gpo;

namespace {

// Seeds for each of two or four scenarios of a test.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr uint64_t kSeeds = 1000;
#else
constexpr uint64_t kSeeds = 5000;
#endif

Ref<Runtime> make_runtime(uint32_t mode) {
    gpo_runtime_options options{};
    options.struct_size = sizeof options;
    options.completion_mode = mode;
    return make<Runtime>(options);
}

struct Fixture {
    Ref<Runtime> runtime;
    Ref<CompletionQueue> queue;
    explicit Fixture(uint32_t capacity, uint32_t mode = GPO_COMPLETION_BALANCED)
        : runtime(make_runtime(mode)), queue(make<CompletionQueue>(*runtime, capacity, "test")) {}
    ~Fixture() {
        queue = nullptr;
        CHECK(gpo::shut_down(*runtime, host::kForever) == GPO_SUCCESS);
    }
    bool deliver(uint64_t user_data) {
        if (!queue->reserve()) return false;
        gpo_completion entry{};
        entry.user_data = user_data;
        queue->deliver(entry, nullptr);
        return true;
    }
};

/// A duplicate of the queue's descriptor in an epoll set of its own.
class Poller {
public:
    explicit Poller(CompletionQueue& queue, bool edge = false)
        : descriptor(queue.descriptor()), epoll_(epoll_create1(0)) {
        epoll_event event{};
        event.events = EPOLLIN | (edge ? EPOLLET : 0u);
        REQUIRE(epoll_ctl(epoll_, EPOLL_CTL_ADD, descriptor, &event) == 0);
    }
    ~Poller() {
        close(epoll_);
        if (descriptor >= 0) close(descriptor);
    }
    bool readable(int timeout_ms = 0) const {
        epoll_event event{};
        return epoll_wait(epoll_, &event, 1, timeout_ms) == 1;
    }
    int descriptor;

private:
    const int epoll_;
};

uint64_t drain(CompletionQueue& queue, uint64_t capacity) {
    std::vector<gpo_completion> out(capacity);
    return queue.drain(out.data(), sizeof out[0], capacity);
}

// Producers fill a small queue. Each poller drains up to `room` entries once, whenever its descriptor is readable. If
// `wakes`, another thread wakes the queue meanwhile. All entries must come out.
void poll_everything(bool edge, int producers, int pollers, uint64_t each, uint64_t room, bool wakes) {
    Fixture fixture(4);
    CompletionQueue& queue = *fixture.queue;
    const uint64_t total = static_cast<uint64_t>(producers) * each;
    std::vector<int> seen(total);
    std::atomic<uint64_t> drained{0};
    {
        std::vector<std::unique_ptr<Poller>> watches;
        for (int i = 0; i < pollers; ++i) watches.push_back(std::make_unique<Poller>(queue, edge));
        std::vector<host::Thread> threads;
        for (int p = 0; p < producers; ++p)
            threads.emplace_back("producer", [&, p] {
                for (uint64_t i = 0; i < each; ++i)
                    for (unsigned spins = 0; !fixture.deliver(static_cast<uint64_t>(p) * each + i) && spins < 5000;
                         ++spins)
                        host::step(spins);
            });
        for (int i = 0; i < pollers; ++i)
            threads.emplace_back("poller", [&, i] {
                std::vector<gpo_completion> out(room);
                // Far more turns than are needed: after a lost wake the test fails instead of hanging.
                for (unsigned spins = 0; drained.load() < total && spins < 5000; ++spins) {
                    if (watches[static_cast<size_t>(i)]->readable()) {
                        const uint64_t count = queue.drain(out.data(), sizeof out[0], room);
                        for (uint64_t k = 0; k < count; ++k) ++seen[out[k].user_data];
                        drained.fetch_add(count);
                    }
                    host::step(spins);
                }
            });
        if (wakes)
            threads.emplace_back("waker", [&] {
                for (int i = 0; i < 3; ++i) queue.wake();
            });
    }
    REQUIRE(drained.load() == total);
    bool once = true;
    for (int count : seen) once = once && count == 1;
    REQUIRE(once);
}

// Producers fill a small queue; each waiter drains one entry per wait. A waker makes waits return early, and wakes
// again only when it has seen the effect of its last wake. All entries must come out, and each wake must end a wait:
// waits have no timeout.
void wait_for_everything(uint32_t mode, int waiters, int producers, uint64_t each) {
    constexpr int kWakes = 3;
    Fixture fixture(4, mode);
    CompletionQueue& queue = *fixture.queue;
    const uint64_t total = static_cast<uint64_t>(producers) * each;
    std::vector<int> seen(total);
    std::atomic<uint64_t> drained{0};
    std::atomic<int> returned{0}, lost{0};
    std::atomic<bool> awake{false};
    {
        std::vector<host::Thread> threads;
        for (int p = 0; p < producers; ++p)
            threads.emplace_back("producer", [&, p] {
                for (uint64_t i = 0; i < each; ++i)
                    for (unsigned spins = 0; !fixture.deliver(static_cast<uint64_t>(p) * each + i) && spins < 5000;
                         ++spins)
                        host::step(spins);
            });
        for (int i = 0; i < waiters; ++i)
            threads.emplace_back("waiter", [&] {
                while (drained.load() < total || !awake.load()) {
                    if (queue.wait(host::kForever) != GPO_SUCCESS) break;
                    gpo_completion entry;
                    if (queue.drain(&entry, sizeof entry, 1) != 0) {
                        ++seen[entry.user_data];
                        drained.fetch_add(1);
                    }
                    ++returned;  // no step from here to the next look at `awake`: the last wake is for a thread that
                                 // waits once more
                }
                queue.wake();  // the next waiter
            });
        threads.emplace_back("waker", [&] {
            for (int i = 0; i < kWakes; ++i) {
                const int before = returned.load();
                if (i == kWakes - 1) awake = true;
                queue.wake();
                unsigned spins = 0;
                for (; returned.load() == before && spins < 5000; ++spins) host::step(spins);
                lost += returned.load() == before;
            }
        });
    }
    REQUIRE(lost.load() == 0);
    REQUIRE(drained.load() == total);
    bool once = true;
    for (int count : seen) once = once && count == 1;
    REQUIRE(once);
}

}  // namespace

TEST_CASE("the descriptor is readable from an entry's delivery to the drain") {
    Fixture fixture(8);
    Poller poller(*fixture.queue);
    CHECK_FALSE(poller.readable());
    REQUIRE(fixture.deliver(1));
    CHECK(poller.readable());
    CHECK(poller.readable());
    REQUIRE(fixture.deliver(2));
    CHECK(drain(*fixture.queue, 8) == 2);
    CHECK_FALSE(poller.readable());
    CHECK(drain(*fixture.queue, 8) == 0);
    CHECK_FALSE(poller.readable());
    REQUIRE(fixture.deliver(3));
    CHECK(poller.readable());
    CHECK(drain(*fixture.queue, 8) == 1);
}

TEST_CASE("entries delivered before the first call are announced by it") {
    Fixture fixture(8);
    REQUIRE(fixture.deliver(1));
    Poller poller(*fixture.queue);
    CHECK(poller.readable());
}

TEST_CASE("a drain that leaves entries behind makes the descriptor readable anew, by level and by edge") {
    for (bool edge : {false, true}) {
        CAPTURE(edge);
        Fixture fixture(8);
        Poller poller(*fixture.queue, edge);
        for (uint64_t i = 0; i < 5; ++i) REQUIRE(fixture.deliver(i));
        uint64_t drained = 0;
        for (int wakes = 0; wakes < 3; ++wakes) {
            REQUIRE(poller.readable());
            drained += drain(*fixture.queue, 2);
        }
        CHECK(drained == 5);
        CHECK_FALSE(poller.readable());
    }
}

TEST_CASE("drains without a wake, and room for nothing, leave the descriptor as it should be") {
    Fixture fixture(8);
    Poller poller(*fixture.queue, true);
    for (uint64_t i = 0; i < 3; ++i) REQUIRE(fixture.deliver(i));
    CHECK(fixture.queue->drain(nullptr, sizeof(gpo_completion), 0) == 0);
    CHECK(poller.readable());
    CHECK(drain(*fixture.queue, 1) == 1);
    CHECK(drain(*fixture.queue, 1) == 1);
    CHECK(drain(*fixture.queue, 1) == 1);
    static_cast<void>(poller.readable());  // one spurious wake is allowed
    CHECK_FALSE(poller.readable());
    REQUIRE(fixture.deliver(4));
    CHECK(poller.readable());
}

TEST_CASE("a wake makes the descriptor readable until the next drain") {
    Fixture fixture(8);
    Poller level(*fixture.queue), edge(*fixture.queue, true);
    fixture.queue->wake();
    fixture.queue->wake();
    CHECK(level.readable());
    CHECK(edge.readable());
    CHECK(drain(*fixture.queue, 4) == 0);
    CHECK_FALSE(level.readable());
    CHECK_FALSE(edge.readable());
    std::thread waker([&] { fixture.queue->wake(); });
    CHECK(level.readable(30'000));
    waker.join();
}

TEST_CASE("each call gives a duplicate of the caller's own, which it may close") {
    Fixture fixture(8);
    Poller first(*fixture.queue), second(*fixture.queue);
    CHECK(first.descriptor != second.descriptor);
    CHECK((fcntl(first.descriptor, F_GETFD) & FD_CLOEXEC) != 0);
    CHECK((fcntl(first.descriptor, F_GETFL) & O_NONBLOCK) != 0);
    close(first.descriptor);
    first.descriptor = -1;
    REQUIRE(fixture.deliver(1));
    CHECK(second.readable());
    CHECK(drain(*fixture.queue, 8) == 1);
    REQUIRE(fixture.deliver(2));
    CHECK(second.readable());
}

TEST_CASE("a destroyed queue's descriptor is readable for good") {
    Fixture fixture(8);
    Poller poller(*fixture.queue);
    fixture.queue->destroyed();
    CHECK(poller.readable());
    fixture.queue = nullptr;
    CHECK(poller.readable());
}

TEST_CASE("a queue destroyed while others drain it leaves its descriptor readable for good, in every schedule") {
    test::explore(kSeeds, [] {
        Fixture fixture(4);
        Poller poller(*fixture.queue);
        REQUIRE(fixture.deliver(1));
        {
            std::vector<host::Thread> threads;
            for (int i = 0; i < 2; ++i) threads.emplace_back("drains", [&] { drain(*fixture.queue, 4); });
            fixture.queue->destroyed();
        }
        REQUIRE(poller.readable());
    });
}

TEST_CASE("a poller drains once a wake and gets every entry, in every schedule") {
    for (bool edge : {false, true})
        test::explore(kSeeds, [&] { poll_everything(edge, 2, 1, 3, 1 + (edge ? 1u : 0u), true); });
}

TEST_CASE("several pollers share a queue's entries and none is left behind, in every schedule") {
    for (bool edge : {false, true})
        test::explore(kSeeds, [&] { poll_everything(edge, 2, 2, 3, 1, true); });
}

TEST_CASE("whoever is in gpo_cq_wait misses no entry and no wake, in every schedule") {
    for (const uint32_t mode : {unsigned{GPO_COMPLETION_BALANCED}, unsigned{GPO_COMPLETION_LATENCY}})
        for (const int waiters : {1, 2}) test::explore(kSeeds / 2, [&] { wait_for_everything(mode, waiters, 2, 3); });
}
