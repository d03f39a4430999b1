// Completion queues under load: producers that meet a full queue, drains of any size, wakes for nothing; ten million
// entries with GPUORCH_TEST_FULL.
#include <sys/epoll.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

#include "support/gpu.h"

using namespace gpo::test;

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr uint64_t kEntries = 200'000;
#else
constexpr uint64_t kEntries = 1'000'000;
#endif

/// A queue's descriptor in an epoll set.
class Poller {
public:
    Poller(gpo_cq_t queue, uint32_t edge) : set_(epoll_create1(EPOLL_CLOEXEC)) {
        REQUIRE_OK(gpo_cq_get_fd(queue, &descriptor_));
        epoll_event event{};
        event.events = EPOLLIN | edge;
        REQUIRE(epoll_ctl(set_, EPOLL_CTL_ADD, descriptor_, &event) == 0);
    }
    ~Poller() {
        close(set_);
        close(descriptor_);
    }
    bool readable() const {
        epoll_event event{};
        return epoll_wait(set_, &event, 1, 100) == 1;
    }

private:
    const int set_;
    int32_t descriptor_ = -1;
};

}  // namespace

TEST_CASE("a queue delivers every entry once under random full, drain and wake, and its accounts say so") {
    constexpr uint64_t kProducers = 4, kCapacity = 256;
    const uint64_t total = std::getenv("GPUORCH_TEST_FULL") ? 10'000'000 : kEntries;
    Gpu gpu;
    const Queue queue = gpu.queue(kCapacity);
    const Timeline timeline = gpu.timeline();
    const Poller level(queue, 0), edge(queue, EPOLLET);
    std::vector<std::atomic<uint8_t>> seen(total);
    std::atomic<uint64_t> drained{0}, refused{0}, wrong{0};
    // The queue is full once before the first drain. The timeline has reached the value: entries come at once.
    for (uint64_t number = 0; number < kCapacity; ++number) REQUIRE_OK(gpo_timeline_notify(timeline, 0, queue, number));
    REQUIRE(gpo_timeline_notify(timeline, 0, queue, kCapacity) == GPO_WOULD_BLOCK);
    ++refused;
    std::vector<std::thread> threads;
    for (uint64_t producer = 0; producer < kProducers; ++producer)
        threads.emplace_back([&, producer] {
            for (uint64_t number = kCapacity + producer; number < total;) {
                const gpo_status status = gpo_timeline_notify(timeline, 0, queue, number);
                if (status == GPO_SUCCESS) {
                    number += kProducers;
                } else {
                    wrong += status != GPO_WOULD_BLOCK;
                    ++refused;
                    std::this_thread::yield();
                }
            }
        });
    // Consumers: a level-triggered descriptor, an edge-triggered descriptor, and gpo_cq_wait; each drains with room for
    // a random number of entries.
    for (int kind = 0; kind < 3; ++kind)
        threads.emplace_back([&, kind] {
            std::mt19937 random(static_cast<unsigned>(kind));
            std::vector<gpo_completion> out(300);
            while (drained < total) {
                if (kind == 0 && !level.readable()) continue;
                if (kind == 1 && !edge.readable()) continue;
                if (kind == 2 && gpo_cq_wait(queue, 1'000'000) != GPO_SUCCESS) continue;
                uint64_t count = 0;
                wrong +=
                    gpo_cq_drain(queue, out.data(), sizeof out[0], 1 + random() % out.size(), &count) != GPO_SUCCESS;
                for (uint64_t i = 0; i < count; ++i) {
                    seen[out[i].user_data].fetch_add(1, std::memory_order_relaxed);
                    wrong += out[i].status != GPO_SUCCESS;
                }
                drained += count;
                if (random() % 64 == 0) wrong += gpo_cq_wake(queue) != GPO_SUCCESS;
            }
            gpo_cq_wake(queue);
        });
    for (auto& thread : threads) thread.join();
    uint64_t not_once = 0;
    for (const auto& times : seen) not_once += times != 1;
    CHECK(not_once == 0);
    CHECK(wrong == 0);
    auto statistics = sized<gpo_cq_statistics>();
    REQUIRE_OK(gpo_cq_get_statistics(queue, &statistics));
    CHECK(statistics.accepted == total);
    CHECK(statistics.delivered == total);
    CHECK(statistics.drained == total);
    CHECK(statistics.refused == refused);
}
