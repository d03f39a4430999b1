// Admissions under many schedules: threads that enter, cancel and leave, deadlines, an executor and an admission that
// are destroyed at any moment. Each accepted request is answered once, and no budget is passed.
#include <doctest/doctest.h>

#include <cstdlib>
#include <map>
#include <random>
#include <vector>

#include "gpuorch/gpuorch.h"
#include "host/host.h"
#include "support/explore.h"
#include "support/soft.h"

namespace {

constexpr int64_t kPatience = 10'000'000'000;
uint64_t seeds_of(uint64_t quick) { return std::getenv("GPUORCH_TEST_FULL") ? 10'000 : quick; }

struct World : gpo::test::SoftRuntime {
    World(uint64_t seed, uint64_t count, uint64_t bytes, uint32_t capacity) : SoftRuntime(seed) {
        auto options = gpo::test::sized<gpo_admission_options>();
        options.count = count;
        options.bytes = bytes;
        options.capacity = capacity;
        options.priorities = 2;
        REQUIRE(gpo_admission_create(runtime, &options, &admission) == GPO_SUCCESS);
    }
    gpo_admission_info info() {
        auto out = gpo::test::sized<gpo_admission_info>();
        CHECK(gpo_admission_get_info(admission, &out) == GPO_SUCCESS);
        return out;
    }
    gpo_admission_t admission = nullptr;
};

/// Clients that enter and cancel, and a server that gives places back in any order.
struct Shop {
    static constexpr uint64_t kClients = 3, kEach = 12, kPlaces = 4, kBytes = 100;

    Shop(uint64_t seed, std::map<gpo_status, uint64_t>& seen)
        : seed(seed), seen(seen), world(seed, kPlaces, kBytes, 6) {}

    void client(uint64_t thread) {
        std::mt19937_64 random(seed * kClients + thread);
        uint64_t newest = 0;
        for (uint64_t number = thread * kEach; number < (thread + 1) * kEach; ++number) {
            auto request = gpo::test::sized<gpo_admission_request>();
            request.priority = random() % 2;
            request.count = counts[number] = 1 + random() % 3;
            request.bytes = bytes[number] = random() % 60;
            request.flow = random() % 3;
            if (random() % 2) request.deadline_ns = gpo::host::now() + 1 + random() % 3000;
            const gpo_status status = gpo_admission_enter(world.admission, &request, world.queue, number, &newest);
            CHECK((status == GPO_SUCCESS || status == GPO_WOULD_BLOCK));
            {
                std::lock_guard held(lock);
                ++seen[status];
                accepted += status == GPO_SUCCESS;
            }
            if (random() % 3 == 0) {
                const gpo_status cancelled = gpo_admission_cancel(world.admission, newest);
                CHECK((cancelled == GPO_SUCCESS || cancelled == GPO_INVALID_STATE || cancelled == GPO_NOT_FOUND));
            }
            if (random() % 4 == 0) gpo::host::sleep_until(gpo::host::now() + random() % 2000);
        }
        std::lock_guard held(lock);
        ++ended;
    }
    void take() {
        gpo_completion entries[4];
        uint64_t count = 0;
        REQUIRE(gpo_cq_drain(world.queue, entries, sizeof entries[0], 4, &count) == GPO_SUCCESS);
        std::lock_guard held(lock);
        for (uint64_t i = 0; i < count; ++i) {
            CHECK(++answers[entries[i].user_data] == 1);
            ++answered;
            ++seen[entries[i].status];
            if (entries[i].status != GPO_SUCCESS) continue;
            inside.push_back(entries[i]);
            CHECK((places_held += counts[entries[i].user_data]) <= kPlaces);
            CHECK((bytes_held += bytes[entries[i].user_data]) <= kBytes);
        }
    }
    void server() {
        std::mt19937_64 random(seed);
        for (;;) {
            take();
            if (!inside.empty()) {
                const size_t at = random() % inside.size();
                const gpo_completion one = inside[at];
                inside.erase(inside.begin() + static_cast<ptrdiff_t>(at));
                places_held -= counts[one.user_data];
                bytes_held -= bytes[one.user_data];
                CHECK(gpo_admission_leave(world.admission, one.operation) == GPO_SUCCESS);
                continue;
            }
            {
                std::lock_guard held(lock);
                if (ended == kClients && answered == accepted) return;
            }
            gpo_cq_wait(world.queue, 1'000'000);
        }
    }

    const uint64_t seed;
    std::map<gpo_status, uint64_t>& seen;
    World world;
    gpo::host::Mutex lock;  // of `seen` and the accounts
    uint64_t accepted = 0, answered = 0, ended = 0;
    uint64_t places_held = 0, bytes_held = 0;
    int answers[kClients * kEach] = {};
    uint64_t counts[kClients * kEach] = {}, bytes[kClients * kEach] = {};
    std::vector<gpo_completion> inside;  // the server's
};

}  // namespace

TEST_CASE("every accepted request is answered once, and the accounts are exact, under every schedule") {
    std::map<gpo_status, uint64_t> seen;
    gpo::test::each_seed(seeds_of(200), [&](uint64_t seed) {
        Shop shop(seed, seen);
        {
            std::vector<gpo::host::Thread> threads;
            for (uint64_t thread = 0; thread < Shop::kClients; ++thread)
                threads.emplace_back("client", [&, thread] { shop.client(thread); });
            threads.emplace_back("server", [&] { shop.server(); });
        }
        const gpo_admission_info info = shop.world.info();
        CHECK(info.held == 0);
        CHECK(info.held_count == 0);
        CHECK(info.held_bytes == 0);
        CHECK(info.waiting == 0);
        CHECK(info.waiting_bytes == 0);
        CHECK(info.waiting_flows == 0);
        CHECK(info.admitted + info.expired + info.cancelled == shop.accepted);
    });
    if (gpo::test::seeds({1, 200}).count >= 20)
        for (gpo_status status : {GPO_SUCCESS, GPO_TIMEOUT, GPO_CANCELLED, GPO_WOULD_BLOCK}) CHECK(seen[status] > 0);
}

TEST_CASE("an executor may be destroyed while its requests enter, and no place is lost, under every schedule") {
    uint64_t cancelled = 0, admitted = 0;
    gpo::test::each_seed(seeds_of(400), [&](uint64_t seed) {
        World world(seed, 1, 0, 8);
        gpo_executor_t executor = nullptr;
        REQUIRE(gpo_executor_create(world.runtime, nullptr, &executor) == GPO_SUCCESS);
        struct Call {
            gpo_admission_t admission;
            gpo_status status = GPO_INTERNAL;
            int times = 0;
        };
        std::vector<Call> calls(4, Call{world.admission});
        std::vector<gpo_status> accepted(4, GPO_INTERNAL);
        {
            std::vector<gpo::host::Thread> threads;
            for (size_t i = 0; i < calls.size(); ++i)
                threads.emplace_back("client", [&, i] {
                    uint64_t ticket = 0;
                    accepted[i] = gpo_admission_enter_then(
                        world.admission, nullptr, executor,
                        [](void* user, const gpo_completion* completion, const gpo_error*) {
                            auto& call = *static_cast<Call*>(user);
                            ++call.times;
                            call.status = completion->status;
                            if (completion->status == GPO_SUCCESS)
                                CHECK(gpo_admission_leave(call.admission, completion->operation) == GPO_SUCCESS);
                        },
                        &calls[i], &ticket);
                });
            gpo::host::sleep_until(gpo::host::now() + seed % 3);
            CHECK(gpo_executor_destroy(executor) == GPO_SUCCESS);
        }
        for (int turns = 0; turns < 1000; ++turns) {  // the executor's threads still call
            bool all = true;
            for (size_t i = 0; i < calls.size(); ++i) all = all && calls[i].times == (accepted[i] == GPO_SUCCESS);
            if (all && world.info().held == 0 && world.info().waiting == 0) break;
            gpo::host::sleep_until(gpo::host::now() + 1'000'000);
        }
        for (size_t i = 0; i < calls.size(); ++i) {
            CHECK(calls[i].times == (accepted[i] == GPO_SUCCESS));
            cancelled += calls[i].status == GPO_CANCELLED;
            admitted += calls[i].status == GPO_SUCCESS;
        }
        CHECK(world.info().held == 0);
        CHECK(world.info().waiting == 0);
    });
    if (gpo::test::seeds({1, 400}).count >= 100) {
        CHECK(cancelled > 0);
        CHECK(admitted > 0);
    }
}

TEST_CASE("an admission may be destroyed while its requests enter and leave, under every schedule") {
    gpo::test::each_seed(seeds_of(300), [](uint64_t seed) {
        World world(seed, 1, 0, 8);
        const gpo_stream_t stream = world.stream();
        uint64_t accepted = 0, answered = 0;
        gpo::host::Mutex lock;
        {
            std::vector<gpo::host::Thread> threads;
            for (uint64_t thread = 0; thread < 3; ++thread)
                threads.emplace_back("client", [&, thread] {
                    auto request = gpo::test::sized<gpo_admission_request>();
                    if (thread == 1) request.deadline_ns = gpo::host::now() + 500;
                    uint64_t ticket = 0;
                    for (uint64_t i = 0; i < 3; ++i) {
                        const gpo_status status =
                            gpo_admission_enter(world.admission, &request, world.queue, i, &ticket);
                        CHECK((status == GPO_SUCCESS || status == GPO_TIMEOUT || status == GPO_STALE_HANDLE ||
                               status == GPO_CANCELLED));
                        if (status != GPO_SUCCESS) return;
                        std::lock_guard held(lock);
                        ++accepted;
                    }
                    const gpo_status left = thread ? gpo_admission_leave(world.admission, ticket)
                                                   : gpo_admission_leave_after(world.admission, ticket, stream);
                    CHECK((left == GPO_SUCCESS || left == GPO_STALE_HANDLE || left == GPO_INVALID_STATE ||
                           left == GPO_NOT_FOUND));
                });
            gpo::host::sleep_until(gpo::host::now() + seed % 5);
            CHECK(gpo_admission_destroy(world.admission) == GPO_SUCCESS);
        }
        while (answered < accepted) {
            gpo_completion entries[16];
            uint64_t count = 0;
            REQUIRE(gpo_cq_wait(world.queue, kPatience) == GPO_SUCCESS);
            REQUIRE(gpo_cq_drain(world.queue, entries, sizeof entries[0], 16, &count) == GPO_SUCCESS);
            answered += count;
        }
        CHECK(answered == accepted);
    });
}
