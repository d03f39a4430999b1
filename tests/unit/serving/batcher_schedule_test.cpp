// Batchers under many schedules: clients that submit and cancel, deadlines, batches that fail; an executor, a batcher,
// a queue and a runtime that end at any moment. Each accepted request is answered once, with its own output or with
// none.
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

using gpo::test::sized;

constexpr int64_t kPatience = 10'000'000'000;
constexpr uint64_t kUntouched = 0xa5a5a5a5a5a5a5a5;
uint64_t seeds_of(uint64_t quick) { return std::getenv("GPUORCH_TEST_FULL") ? 10'000 : quick; }

enum Key : uint32_t { rows, ragged, ordered, failing, keys };

/// A batcher whose work copies each input to its output, and its requests.
struct World : gpo::test::SoftRuntime {
    static constexpr uint64_t kMost = 4;
    struct Asked {
        uint64_t in[kMost] = {}, out[kMost] = {};
        uint64_t elements = 1, flow = 0, ticket = 0;
        uint32_t key = 0;
        int answers = 0;
        gpo_status status = GPO_INTERNAL, accepted = GPO_INTERNAL;
    };

    World(uint64_t seed, uint64_t count, uint32_t lanes, uint32_t capacity, gpo_executor_t executor = nullptr)
        : SoftRuntime(seed), asked(count) {
        auto options = sized<gpo_batcher_options>();
        options.devices = &device;
        options.device_count = 1;
        options.lanes = lanes;
        options.capacity = capacity;
        options.executor = executor;
        create(options);
    }
    World(uint64_t seed, uint64_t count, const gpo_executor_options& executor_options)
        : SoftRuntime(seed), asked(count) {
        REQUIRE(gpo_executor_create(runtime, &executor_options, &executor) == GPO_SUCCESS);
        auto options = sized<gpo_batcher_options>();
        options.devices = &device;
        options.device_count = 1;
        options.executor = executor;
        create(options);
    }
    void create(const gpo_batcher_options& options) {
        REQUIRE(gpo_batcher_create(&options, &batcher) == GPO_SUCCESS);
        for (uint32_t key = 0; key < keys; ++key) {
            auto made = sized<gpo_batcher_key_options>();
            made.layout = key == ragged ? GPO_BATCH_RAGGED : GPO_BATCH_ROWS;
            made.max_batch = 3;
            made.input_bytes = made.output_bytes = 8;
            made.max_elements = key == ragged ? 6 : 0;
            made.max_delay_ns = key == rows ? GPO_AUTO : key == ordered ? 1 : 2000;
            made.flags = key == ordered ? GPO_BATCHER_PRESERVE_ORDER : 0;
            made.work = copy;
            uint32_t number = 0;
            REQUIRE(gpo_batcher_add_key(batcher, &made, &number) == GPO_SUCCESS);
            REQUIRE(number == key);
        }
    }
    static gpo_status copy(void*, gpo_stream_t stream, const gpo_batch* batch) {
        if (batch->key == failing && batch->members[0].user_data % 2 == 0) return GPO_FAILED;
        return gpo_copy_on_device(stream, batch->output, batch->input, batch->elements * 8);
    }

    /// Submits request `number`. Returns what the call returned.
    gpo_status submit(std::mt19937_64& random, uint64_t number) {
        Asked& one = asked[number];
        one.key = static_cast<uint32_t>(random() % keys);
        one.flow = random() % 2;
        one.elements = one.key == ragged ? 1 + random() % kMost : 1;
        for (uint64_t i = 0; i < kMost; ++i) {
            one.in[i] = number * 100 + i + 1;
            one.out[i] = kUntouched;
        }
        auto request = sized<gpo_batcher_request>();
        request.key = one.key;
        request.flow = one.flow;
        request.elements = one.key == ragged ? one.elements : 0;
        request.input = one.in;
        request.output = one.out;
        if (random() % 3 == 0) request.deadline_ns = gpo::host::now() + 1 + random() % 60'000;
        uint64_t wait_ns = 0;
        one.accepted = gpo_batcher_submit(batcher, &request, queue, number, &one.ticket, &wait_ns);
        if (one.accepted != GPO_SUCCESS && one.accepted != GPO_TIMEOUT) CHECK(wait_ns == 0);
        return one.accepted;
    }
    void take(const gpo_completion& entry) {
        REQUIRE(entry.user_data < asked.size());
        Asked& one = asked[entry.user_data];
        CHECK(++one.answers == 1);
        CHECK(entry.origin == GPO_ORIGIN_BATCHER);
        one.status = entry.status;
        const uint64_t written = entry.status == GPO_SUCCESS ? one.elements : 0;
        for (uint64_t i = 0; i < kMost; ++i) CHECK(one.out[i] == (i < written ? one.in[i] : kUntouched));
        order.push_back(entry.user_data);
    }
    /// Takes what is there. Returns the number of entries.
    uint64_t drain() {
        gpo_completion entries[8];
        uint64_t count = 0;
        const gpo_status status = gpo_cq_drain(queue, entries, sizeof entries[0], 8, &count);
        CHECK((status == GPO_SUCCESS || status == GPO_SHUT_DOWN));
        for (uint64_t i = 0; i < count; ++i) take(entries[i]);
        return count;
    }
    void take_until(uint64_t count) {
        while (order.size() < count) {
            REQUIRE(gpo_cq_wait(queue, kPatience) == GPO_SUCCESS);
            drain();
        }
    }
    uint64_t accepted() const {
        uint64_t count = 0;
        for (const Asked& one : asked) count += one.accepted == GPO_SUCCESS;
        return count;
    }
    gpo_batcher_info info() {
        auto out = sized<gpo_batcher_info>();
        CHECK(gpo_batcher_get_info(batcher, &out) == GPO_SUCCESS);
        return out;
    }
    /// Whether this comes true soon.
    template <class Condition>
    bool comes_true(Condition condition) {
        for (int turns = 0; turns < 1000; ++turns) {
            if (condition()) return true;
            gpo::host::sleep_until(gpo::host::now() + 1'000'000);
        }
        return false;
    }
    void check_sums() {
        CHECK(comes_true([&] { return info().running == 0; }));
        const gpo_batcher_info info = this->info();
        std::map<gpo_status, uint64_t> ended;
        for (const Asked& one : asked) ended[one.status] += one.answers != 0;
        CHECK(info.waiting + info.waiting_elements + info.waiting_flows + info.running_batches == 0);
        CHECK(info.submitted == accepted());
        CHECK(info.succeeded == ended[GPO_SUCCESS]);
        CHECK(info.failed == ended[GPO_CALLBACK_FAILED]);
        CHECK(info.expired == ended[GPO_TIMEOUT]);
        CHECK(info.cancelled == ended[GPO_CANCELLED]);
    }
    /// Each accepted request was answered once, and the others not at all.
    void check_answers() {
        for (const Asked& one : asked) CHECK(one.answers == (one.accepted == GPO_SUCCESS));
    }

    std::vector<Asked> asked;
    std::vector<uint64_t> order;  // user_data of the entries
    gpo_executor_t executor = nullptr;
    gpo_batcher_t batcher = nullptr;
};

/// Clients that submit and cancel.
struct Clients {
    static constexpr uint64_t kClients = 3;
    Clients(World& world, uint64_t seed, uint64_t each) : world(world), seed(seed), each(each) {}

    void client(uint64_t client) {
        std::mt19937_64 random(seed * kClients + client);
        for (uint64_t number = client * each; number < (client + 1) * each; ++number) {
            const gpo_status status = world.submit(random, number);
            if (status == GPO_SUCCESS && random() % 4 == 0) {
                const gpo_status cancelled = gpo_batcher_cancel(world.batcher, world.asked[number].ticket);
                CHECK((cancelled == GPO_SUCCESS || cancelled == GPO_INVALID_STATE || cancelled == GPO_NOT_FOUND ||
                       cancelled == GPO_STALE_HANDLE || cancelled == GPO_SHUT_DOWN));
            }
            if (random() % 4 == 0) gpo::host::sleep_until(gpo::host::now() + random() % 20'000);
        }
        std::lock_guard held(lock);
        ++ended;
    }
    std::vector<gpo::host::Thread> start() {
        std::vector<gpo::host::Thread> threads;
        for (uint64_t client = 0; client < kClients; ++client)
            threads.emplace_back("client", [this, client] { this->client(client); });
        return threads;
    }
    bool all_ended() {
        std::lock_guard held(lock);
        return ended == kClients;
    }

    World& world;
    const uint64_t seed, each;
    gpo::host::Mutex lock;
    uint64_t ended = 0;
};

}  // namespace

TEST_CASE("every request of a batcher is answered once, with its own output, under every schedule") {
    std::map<gpo_status, uint64_t> seen;
    gpo::test::each_seed(seeds_of(200), [&](uint64_t seed) {
        constexpr uint64_t kEach = 12;
        World world(seed, Clients::kClients * kEach, 1 + seed % 2, 6);
        Clients clients(world, seed, kEach);
        {
            const auto threads = clients.start();
            while (!clients.all_ended()) {
                gpo_cq_wait(world.queue, 1'000'000);
                world.drain();
            }
        }
        world.take_until(world.accepted());
        world.check_answers();
        world.check_sums();
        for (const World::Asked& one : world.asked) {
            ++seen[one.accepted];
            if (one.answers) ++seen[one.status];
        }
        // Entries of an ordered flow come in the order of each client.
        std::map<uint64_t, uint64_t> last;
        for (const uint64_t number : world.order) {
            const World::Asked& one = world.asked[number];
            if (one.key != ordered) continue;
            uint64_t& before = last[number / kEach * 2 + one.flow];
            CHECK(number >= before);
            before = number;
        }
    });
    if (gpo::test::seeds({1, 200}).count >= 20)
        for (gpo_status status : {GPO_SUCCESS, GPO_TIMEOUT, GPO_CANCELLED, GPO_WOULD_BLOCK, GPO_CALLBACK_FAILED}) {
            CAPTURE(status);
            CHECK(seen[status] > 0);
        }
}

TEST_CASE("a batcher may be destroyed while its requests wait and run, under every schedule") {
    uint64_t succeeded = 0, cancelled = 0;
    gpo::test::each_seed(seeds_of(200), [&](uint64_t seed) {
        constexpr uint64_t kEach = 5;
        World world(seed, Clients::kClients * kEach, 1 + seed % 2, 8);
        Clients clients(world, seed, kEach);
        {
            const auto threads = clients.start();
            gpo::host::sleep_until(gpo::host::now() + seed % 50 * 1000);
            CHECK(gpo_batcher_destroy(world.batcher) == GPO_SUCCESS);
        }
        world.take_until(world.accepted());
        world.check_answers();
        for (const World::Asked& one : world.asked) {
            CHECK((one.accepted == GPO_SUCCESS || one.accepted == GPO_WOULD_BLOCK || one.accepted == GPO_TIMEOUT ||
                   one.accepted == GPO_STALE_HANDLE || one.accepted == GPO_CANCELLED));
            succeeded += one.status == GPO_SUCCESS;
            cancelled += one.status == GPO_CANCELLED;
        }
    });
    if (gpo::test::seeds({1, 200}).count >= 20) {
        CHECK(succeeded > 0);
        CHECK(cancelled > 0);
    }
}

TEST_CASE("a batcher's executor may be destroyed while its requests wait and run, under every schedule") {
    uint64_t succeeded = 0, cancelled = 0;
    gpo::test::each_seed(seeds_of(200), [&](uint64_t seed) {
        constexpr uint64_t kEach = 5;
        auto options = sized<gpo_executor_options>();
        options.threads = seed % 2 ? 1 : 0;
        options.flags = seed % 2 ? 0 : GPO_EXECUTOR_CALLER;
        World world(seed, Clients::kClients * kEach, options);
        Clients clients(world, seed, kEach);
        {
            const auto threads = clients.start();
            const uint64_t end = gpo::host::now() + seed % 50 * 1000;
            if (seed % 2)
                gpo::host::sleep_until(end);
            else
                while (gpo::host::now() < end) {
                    CHECK(gpo_executor_poll(world.executor, nullptr) == GPO_SUCCESS);
                    gpo::host::sleep_until(gpo::host::now() + 1000);
                }
            CHECK(gpo_executor_destroy(world.executor) == GPO_SUCCESS);
        }
        world.take_until(world.accepted());
        world.check_answers();
        world.check_sums();
        for (const World::Asked& one : world.asked) {
            CHECK((one.accepted == GPO_SUCCESS || one.accepted == GPO_WOULD_BLOCK || one.accepted == GPO_TIMEOUT ||
                   one.accepted == GPO_CANCELLED));
            succeeded += one.status == GPO_SUCCESS;
            cancelled += one.status == GPO_CANCELLED;
        }
        std::mt19937_64 random(seed);
        World::Asked& late = world.asked[0];
        const World::Asked before = late;
        const gpo_status status = world.submit(random, 0);
        CAPTURE(status);
        CHECK((status == GPO_CANCELLED || status == GPO_TIMEOUT));
        late = before;
    });
    if (gpo::test::seeds({1, 200}).count >= 20) {
        CHECK(succeeded > 0);
        CHECK(cancelled > 0);
    }
}

TEST_CASE("a runtime may be shut down while requests of a batcher wait and run, under every schedule") {
    uint64_t succeeded = 0, cancelled = 0;
    gpo::test::each_seed(seeds_of(200), [&](uint64_t seed) {
        constexpr uint64_t kEach = 5;
        World world(seed, Clients::kClients * kEach, 1 + seed % 2, 0);
        Clients clients(world, seed, kEach);
        {
            const auto threads = clients.start();
            gpo::host::sleep_until(gpo::host::now() + seed % 50 * 1000);
            while (!clients.all_ended() && seed % 3) gpo::host::sleep_until(gpo::host::now() + 1000);
            CHECK(gpo_runtime_shutdown(world.runtime, 30'000'000'000) == GPO_SUCCESS);
            world.runtime = nullptr;
        }
        while (world.drain() != 0) {
        }
        world.check_answers();
        for (const World::Asked& one : world.asked) {
            if (!one.answers) continue;
            CHECK((one.status == GPO_SUCCESS || one.status == GPO_CANCELLED || one.status == GPO_TIMEOUT ||
                   one.status == GPO_CALLBACK_FAILED));
            succeeded += one.status == GPO_SUCCESS;
            cancelled += one.status == GPO_CANCELLED;
        }
    });
    if (gpo::test::seeds({1, 200}).count >= 20) {
        CHECK(succeeded > 0);
        CHECK(cancelled > 0);
    }
}

TEST_CASE("callbacks of requests come once, also if their executor is destroyed, under every schedule") {
    uint64_t succeeded = 0, cancelled = 0;
    gpo::test::each_seed(seeds_of(200), [&](uint64_t seed) {
        struct Call {
            uint64_t in = 7, out = 0, ticket = 0;
            gpo_status accepted = GPO_INTERNAL, status = GPO_INTERNAL;
            int times = 0;
        };
        std::vector<Call> calls(8);  // outlive the runtime: a batch may still write an output
        World world(seed, 1, 1, 0);
        gpo_executor_t told = nullptr;
        REQUIRE(gpo_executor_create(world.runtime, nullptr, &told) == GPO_SUCCESS);
        {
            std::vector<gpo::host::Thread> threads;
            for (size_t i = 0; i < calls.size(); ++i)
                threads.emplace_back("client", [&, i] {
                    auto request = sized<gpo_batcher_request>();
                    request.key = rows;
                    request.input = &calls[i].in;
                    request.output = &calls[i].out;
                    calls[i].accepted = gpo_batcher_submit_then(
                        world.batcher, &request, told,
                        [](void* user, const gpo_completion* completion, const gpo_error*) {
                            auto& call = *static_cast<Call*>(user);
                            ++call.times;
                            call.status = completion->status;
                            CHECK(completion->operation == call.ticket);
                            if (completion->status == GPO_SUCCESS) CHECK(call.out == 7);
                        },
                        &calls[i], &calls[i].ticket, nullptr);
                });
            gpo::host::sleep_until(gpo::host::now() + seed % 40 * 1000);
            CHECK(gpo_executor_destroy(told) == GPO_SUCCESS);
        }
        const auto all_called = [&] {
            for (const Call& call : calls)
                if (call.times != (call.accepted == GPO_SUCCESS)) return false;
            return true;
        };
        CHECK(world.comes_true(all_called));
        CHECK(world.comes_true([&] { return world.info().waiting + world.info().running == 0; }));
        CHECK(all_called());
        CHECK(gpo_runtime_shutdown(world.runtime, 30'000'000'000) == GPO_SUCCESS);
        world.runtime = nullptr;
        for (const Call& call : calls) {
            CHECK((call.accepted == GPO_SUCCESS || call.accepted == GPO_STALE_HANDLE));
            succeeded += call.status == GPO_SUCCESS;
            cancelled += call.status == GPO_CANCELLED;
        }
    });
    if (gpo::test::seeds({1, 200}).count >= 20) {
        CHECK(succeeded > 0);
        CHECK(cancelled > 0);
    }
}

TEST_CASE("a batch leaves before a deadline passes, after its delay, or when it is full, under every schedule") {
    uint64_t late = 0, all = 0;
    gpo::test::each_seed(seeds_of(200), [&](uint64_t seed) {
        World world(seed, 12, 1, 0);
        auto options = sized<gpo_batcher_key_options>();
        options.layout = GPO_BATCH_ROWS;
        options.max_batch = 3;
        options.input_bytes = options.output_bytes = 8;
        options.max_delay_ns = 3'600'000'000'000;
        options.work = World::copy;
        uint32_t key = 0;
        REQUIRE(gpo_batcher_add_key(world.batcher, &options, &key) == GPO_SUCCESS);
        const auto submit = [&](uint64_t number, uint64_t deadline) {
            World::Asked& one = world.asked[number];
            std::fill(std::begin(one.out), std::end(one.out), kUntouched);
            one.in[0] = number;
            auto request = sized<gpo_batcher_request>();
            request.key = key;
            request.input = one.in;
            request.output = one.out;
            request.deadline_ns = deadline;
            one.accepted = gpo_batcher_submit(world.batcher, &request, world.queue, number, &one.ticket, nullptr);
            return one.accepted;
        };
        for (uint64_t i = 0; i < 9; ++i) REQUIRE(submit(i, 0) == GPO_SUCCESS);
        world.take_until(9);
        for (uint64_t i = 0; i < 9; ++i) CHECK(world.asked[i].status == GPO_SUCCESS);
        // An hour's delay, and a deadline in 50 ms. A stall of the schedule may be in the way, or was measured.
        REQUIRE(submit(9, 0) == GPO_SUCCESS);
        ++all;
        if (submit(10, gpo::host::now() + 50'000'000) != GPO_SUCCESS) {
            CHECK(world.asked[10].accepted == GPO_TIMEOUT);
            ++late;
            return;
        }
        while (world.asked[10].answers == 0) world.take_until(world.order.size() + 1);
        if (world.asked[10].status == GPO_TIMEOUT) {
            ++late;
            return;
        }
        world.take_until(11);
        CHECK(world.asked[9].status == GPO_SUCCESS);
        CHECK(world.asked[10].status == GPO_SUCCESS);
    });
    CHECK(late * 3 <= all);  // a quarter of the schedules have stalls
}
