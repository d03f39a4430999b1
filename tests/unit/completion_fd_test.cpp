// The descriptor of a completion queue: what level- and edge-triggered pollers see of it, and that no interleaving of
// deliveries, drains and wakes leaves an entry behind that nobody is told of.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "completion/queue.h"
#include "support/explore.h"

using namespace gpo;

namespace {

Ref<Runtime> make_runtime() {
    gpo_runtime_options options{};
    options.struct_size = sizeof options;
    return make<Runtime>(options);
}

struct Fixture {
    Ref<Runtime> runtime = make_runtime();
    Ref<CompletionQueue> queue;
    explicit Fixture(uint32_t capacity) : queue(make<CompletionQueue>(*runtime, capacity, "test")) {}
    ~Fixture() {
        queue = nullptr;
        CHECK(runtime->shutdown(host::kForever) == GPO_SUCCESS);
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
    explicit Poller(CompletionQueue& queue, bool edge = false) : descriptor(queue.descriptor()), epoll_(epoll_create1(0)) {
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

// Producers fill a small queue; one poller each drains once, with room for `room`, whenever its descriptor says so; a
// waker disturbs. All entries must come out.
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
                    for (unsigned spins = 0; !fixture.deliver(static_cast<uint64_t>(p) * each + i) && spins < 5000; ++spins)
                        host::step(spins);
            });
        for (int i = 0; i < pollers; ++i)
            threads.emplace_back("poller", [&, i] {
                std::vector<gpo_completion> out(room);
                // Far more turns than any of them needs: a lost wake ends the test, and doesn't hang it.
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

TEST_CASE("a poller drains once a wake and gets every entry, in every schedule") {
    for (bool edge : {false, true})
        test::explore(2500, [&] { poll_everything(edge, 2, 1, 3, 1 + (edge ? 1u : 0u), true); });
}

TEST_CASE("several pollers share a queue's entries and none is left behind, in every schedule") {
    for (bool edge : {false, true})
        test::explore(2500, [&] { poll_everything(edge, 2, 2, 3, 1, false); });
}

TEST_CASE("a queue delivers every entry once under random full, drain and wake, and its accounts say so") {
    const uint64_t total = std::getenv("GPUORCH_TEST_FULL") ? 10'000'000 : 1'000'000;
    constexpr uint64_t kProducers = 3;
    Fixture fixture(256);
    CompletionQueue& queue = *fixture.queue;
    Poller level(queue), edge(queue, true);
    const uint64_t each = total / kProducers;
    std::vector<std::atomic<uint8_t>> seen(each * kProducers);
    std::atomic<uint64_t> drained{0}, refused{0}, empty_wakes{0};
    std::vector<std::thread> threads;
    for (uint64_t p = 0; p < kProducers; ++p)
        threads.emplace_back([&, p] {
            for (uint64_t i = 0; i < each;) {
                if (fixture.deliver(p * each + i)) {
                    ++i;
                } else {
                    ++refused;
                    std::this_thread::yield();
                }
            }
        });
    // One by its descriptor by level, one by edge, one in gpo_cq_wait; each with room for as many as it happens to have.
    for (int kind = 0; kind < 3; ++kind)
        threads.emplace_back([&, kind] {
            std::mt19937 random(static_cast<unsigned>(kind));
            std::vector<gpo_completion> out(300);
            while (drained.load() < each * kProducers) {
                if (kind == 0 && !level.readable(100)) continue;
                if (kind == 1 && !edge.readable(100)) continue;
                if (kind == 2 && queue.wait(host::now() + 1'000'000) != GPO_SUCCESS) continue;
                const uint64_t count = queue.drain(out.data(), sizeof out[0], 1 + random() % out.size());
                for (uint64_t k = 0; k < count; ++k) seen[out[k].user_data].fetch_add(1, std::memory_order_relaxed);
                empty_wakes += count == 0;
                drained.fetch_add(count);
                if (random() % 64 == 0) queue.wake();
            }
            queue.wake();
        });
    for (auto& thread : threads) thread.join();
    bool once = true;
    for (const auto& count : seen) once = once && count == 1;
    CHECK(once);
    const gpo_cq_statistics statistics = queue.statistics();
    CHECK(statistics.accepted == each * kProducers);
    CHECK(statistics.delivered == each * kProducers);
    CHECK(statistics.drained == each * kProducers);
    CHECK(statistics.refused == refused.load());
    CHECK(refused.load() > 0);
    MESSAGE("refused ", refused.load(), ", empty wakes ", empty_wakes.load());
}
