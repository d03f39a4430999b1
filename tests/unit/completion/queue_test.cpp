#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <thread>
#include <vector>

#include "completion/completion_queue.h"
#include "runtime/shutdown.h"
#include "support/explore.h"

using namespace gpo;

namespace {

struct Fixture {
    Ref<Runtime> runtime;
    Ref<CompletionQueue> queue;
    explicit Fixture(uint32_t capacity) {
        gpo_runtime_options options{};
        options.struct_size = sizeof options;
        runtime = make<Runtime>(options);
        queue = make<CompletionQueue>(*runtime, capacity, "test");
    }
    ~Fixture() {
        queue = nullptr;
        CHECK(gpo::shut_down(*runtime, host::kForever) == GPO_SUCCESS);
    }
};

gpo_completion entry(uint64_t user_data) {
    gpo_completion out{};
    out.user_data = user_data;
    return out;
}

}  // namespace

TEST_CASE("a queue with room for one or a few entries gives each out once, in every schedule") {
    for (const uint32_t capacity : {1u, 2u, 3u})
        test::explore(1000, [&] {
            constexpr uint64_t kEntries = 8;
            Fixture fixture(capacity);
            std::vector<uint64_t> seen[2];
            std::atomic<uint64_t> drained{0};
            std::atomic<bool> stuck{false};
            {
                std::vector<host::Thread> threads;
                threads.emplace_back("fills", [&] {
                    for (uint64_t i = 0; i < kEntries; ++i) {
                        for (unsigned spins = 0; !fixture.queue->reserve(); ++spins) {
                            if (spins == 5000) {
                                stuck = true;
                                return;
                            }
                            host::step(spins);
                        }
                        fixture.queue->deliver(entry(i), nullptr);
                    }
                });
                for (auto& mine : seen)
                    threads.emplace_back("drains", [&] {
                        gpo_completion out;
                        for (unsigned spins = 0; drained.load() < kEntries && spins < 5000; ++spins) {
                            if (fixture.queue->drain(&out, sizeof out, 1) == 1) {
                                mine.push_back(out.user_data);
                                ++drained;
                            }
                            host::step(spins);
                        }
                    });
            }
            REQUIRE_FALSE(stuck.load());
            std::vector<uint64_t> all(seen[0]);
            all.insert(all.end(), seen[1].begin(), seen[1].end());
            std::sort(all.begin(), all.end());
            std::vector<uint64_t> expected(kEntries);
            std::iota(expected.begin(), expected.end(), uint64_t{0});
            REQUIRE(all == expected);
        });
}

TEST_CASE("a queue takes as many entries as its capacity, and refuses the next until one is drained") {
    Fixture fixture(3);
    for (int i = 0; i < 3; ++i) CHECK(fixture.queue->reserve());
    CHECK_FALSE(fixture.queue->reserve());
    for (uint64_t i = 0; i < 3; ++i) fixture.queue->deliver(entry(i), nullptr);
    CHECK_FALSE(fixture.queue->reserve());
    gpo_completion out[4];
    CHECK(fixture.queue->drain(out, sizeof out[0], 1) == 1);
    CHECK(out[0].user_data == 0);
    CHECK(fixture.queue->reserve());
    fixture.queue->deliver(entry(3), nullptr);
    CHECK(fixture.queue->drain(out, sizeof out[0], 4) == 3);
    CHECK(out[2].user_data == 3);
    CHECK(fixture.queue->statistics().refused == 2);
    CHECK(fixture.queue->statistics().drained == 4);
}

TEST_CASE("an entry of an older, smaller kind is filled as far as it goes") {
    Fixture fixture(1);
    REQUIRE(fixture.queue->reserve());
    fixture.queue->deliver(entry(42), nullptr);
    struct Old {
        uint32_t struct_size;
        int32_t status;
        uint64_t user_data;
        uint32_t source, reserved;
        uint64_t guard;
    } old{0, 0, 0, 0, 0, 77};
    CHECK(fixture.queue->drain(reinterpret_cast<gpo_completion*>(&old), 24, 1) == 1);
    CHECK(old.struct_size == 24);
    CHECK(old.user_data == 42);
    CHECK(old.guard == 77);
}

TEST_CASE("every entry is drained exactly once by several threads while several deliver") {
    constexpr int kThreads = 3;
    constexpr uint64_t kEach = 20'000;
    Fixture fixture(64);
    std::vector<std::atomic<int>> seen(kThreads * kEach);
    std::atomic<uint64_t> drained{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t)
        threads.emplace_back([&, t] {
            for (uint64_t i = 0; i < kEach; ++i) {
                while (!fixture.queue->reserve()) std::this_thread::yield();
                fixture.queue->deliver(entry(static_cast<uint64_t>(t) * kEach + i), nullptr);
            }
        });
    for (int t = 0; t < kThreads; ++t)
        threads.emplace_back([&] {
            gpo_completion out[16];
            while (drained < kThreads * kEach) {
                if (fixture.queue->wait(host::now() + 1'000'000) != GPO_SUCCESS) continue;
                const uint64_t count = fixture.queue->drain(out, sizeof out[0], 16);
                for (uint64_t i = 0; i < count; ++i) ++seen[out[i].user_data];
                drained += count;
            }
        });
    for (auto& thread : threads) thread.join();
    bool once = true;
    for (auto& count : seen) once = once && count == 1;
    CHECK(once);
}

TEST_CASE("a wake makes one wait return, and wakes don't add up") {
    Fixture fixture(1);
    CHECK(fixture.queue->wait(0) == GPO_TIMEOUT);
    fixture.queue->wake();
    fixture.queue->wake();
    CHECK(fixture.queue->wait(host::kForever) == GPO_SUCCESS);
    CHECK(fixture.queue->wait(0) == GPO_TIMEOUT);
    std::thread waker([&] { fixture.queue->wake(); });
    CHECK(fixture.queue->wait(host::kForever) == GPO_SUCCESS);
    waker.join();
}

TEST_CASE("the details of the last 256 failures can be asked for, older ones not") {
    Fixture fixture(1);
    auto error = std::make_shared<Error>();
    error->status = GPO_DEVICE_LOST;
    uint64_t last = 0;
    for (int i = 0; i < 300; ++i) {
        REQUIRE(fixture.queue->reserve());
        fixture.queue->deliver(entry(0), error);
        gpo_completion out;
        REQUIRE(fixture.queue->drain(&out, sizeof out, 1) == 1);
        last = out.error_id;
    }
    CHECK(last == 300);
    CHECK(fixture.queue->failure(last));
    CHECK(fixture.queue->failure(last - 255));
    CHECK_FALSE(fixture.queue->failure(last - 256));
    CHECK_FALSE(fixture.queue->failure(0));
    CHECK_FALSE(fixture.queue->failure(last + 1));
}
