// The host's side of a host ring. The kernel is the test's own: a thread that reads tasks and writes answers.
#include "queue/host_ring.h"

#include <doctest/doctest.h>

#include <deque>
#include <vector>

#include "runtime/shutdown.h"
#include "support/explore.h"

using namespace gpo;
using queue::HostRing;

namespace {

using Words = std::vector<uint32_t>;

/// Memory of a ring, and the kernel's operations on it.
struct RingOnHost {
    explicit RingOnHost(const HostRing::Shape& shape)
        : shape(shape), posted(shape.capacity() * shape.task_words), answers(shape.capacity() * shape.answer_words),
          ring(shape, posted.data(), answers.data(), &control) {}

    struct Task {
        uint32_t ticket;
        Words words;
    };
    /// The next task, if present.
    bool read(Task& task) {
        uint64_t* slot = &posted[(taken & (shape.capacity() - 1)) * shape.task_words];
        const uint64_t flag = queue::flag_of_lap(taken >> shape.capacity_log2);
        task.words.clear();
        for (uint32_t i = 0; i < shape.task_words; ++i) {
            const uint64_t word = std::atomic_ref(slot[i]).load();
            host::crossing();
            if (word >> 32 != flag) return false;
            if (i == 0)
                task.ticket = static_cast<uint32_t>(word);
            else
                task.words.push_back(static_cast<uint32_t>(word));
        }
        ++taken;
        return true;
    }
    void answer(uint32_t ticket, gpo_status status, const Words& words = {}) {
        uint64_t* slot = &answers[(answered & (shape.capacity() - 1)) * shape.answer_words];
        const uint64_t flag = uint64_t{queue::flag_of_lap(answered >> shape.capacity_log2)} << 32;
        ++answered;
        for (uint32_t i = shape.answer_words; i-- > 0;) {
            host::crossing();
            const uint32_t data = i == 0 ? ticket : i == 1 ? static_cast<uint32_t>(status) : words[i - 2];
            std::atomic_ref(slot[i]).store(flag | data);
        }
    }

    uint64_t post(uint32_t tenant, const Words& task, uint64_t user_data) {
        if (ring.take_share(tenant, 1) == 0) return 0;
        return ring.post(tenant, task.data(), 1, user_data);
    }

    const HostRing::Shape shape;
    std::vector<uint64_t> posted, answers;
    queue::HostControl control{};
    uint64_t taken = 0, answered = 0;
    HostRing ring;
};

/// Two words to a task, one to an answer.
constexpr HostRing::Shape kSmall{1, 3, 3, 2};

Words task_of(uint32_t number) { return {number, ~number}; }

struct RuntimeAndQueue {
    explicit RuntimeAndQueue(uint32_t capacity) {
        gpo_runtime_options options{};
        options.struct_size = sizeof options;
        runtime = make<Runtime>(options);
        completions = make<CompletionQueue>(*runtime, capacity, "test");
    }
    ~RuntimeAndQueue() {
        completions = nullptr;
        CHECK(gpo::shut_down(*runtime, host::kForever) == GPO_SUCCESS);
    }
    Ref<Runtime> runtime;
    Ref<CompletionQueue> completions;
};

}  // namespace

TEST_CASE("the flag of a lap is never 0, and never that of the lap before") {
    CHECK(queue::flag_of_lap(0) == 1);
    for (uint64_t around : {uint64_t{1}, uint64_t{1} << 32, uint64_t{3} << 32, (uint64_t{1} << 58) + 77})
        for (uint64_t lap = around; lap < around + 8; ++lap) {
            CHECK(queue::flag_of_lap(lap - 4) != 0);
            CHECK(queue::flag_of_lap(lap) != queue::flag_of_lap(lap - 1));
        }
}

TEST_CASE("tasks of two tenants go once round a ring with two places, whole and to their tenant, in every schedule") {
    test::explore(2000, [] {
        constexpr uint32_t kTasks = 5;
        RingOnHost on(kSmall);
        std::vector<uint64_t> taken[2];
        bool wrong = false;
        {
            std::vector<host::Thread> threads;
            threads.emplace_back("kernel", [&] {
                std::deque<RingOnHost::Task> open;
                RingOnHost::Task task;
                for (unsigned spins = 0; on.answered < 2 * kTasks; host::step(++spins)) {
                    while (on.read(task)) {
                        if (task.words[1] != ~task.words[0]) wrong = true;
                        open.push_front(task);  // the newest is answered first
                    }
                    if (open.empty()) continue;
                    on.answer(open.front().ticket, 7, {open.front().words[0] + 1});
                    open.pop_front();
                }
            });
            for (uint32_t tenant = 0; tenant < 2; ++tenant) {
                threads.emplace_back("posts", [&, tenant] {
                    for (uint32_t i = 0; i < kTasks; ++i)
                        for (unsigned spins = 0; on.post(tenant, task_of(100 * tenant + i), 100 * tenant + i) == 0;)
                            host::step(++spins);
                });
                threads.emplace_back("takes", [&, tenant] {
                    for (unsigned spins = 0; taken[tenant].size() < kTasks; host::step(++spins)) {
                        gpo_answer entry{};
                        uint32_t answer = 0;
                        if (on.ring.take(tenant, &entry, sizeof entry, &answer, 1) == 0) continue;
                        if (answer != entry.user_data + 1 || entry.status != 7) wrong = true;
                        taken[tenant].push_back(entry.user_data);
                    }
                });
            }
            for (auto& thread : threads) thread.join();
        }
        CHECK_FALSE(wrong);
        for (uint32_t tenant = 0; tenant < 2; ++tenant) {
            std::sort(taken[tenant].begin(), taken[tenant].end());
            for (uint32_t i = 0; i < kTasks; ++i) CHECK(taken[tenant][i] == 100 * tenant + i);
            CHECK_FALSE(on.ring.any_in_use(tenant));
        }
    });
}

TEST_CASE("a task that takes long holds up its own place alone") {
    RingOnHost on({2, 3, 2, 1});
    RingOnHost::Task slow, task;
    REQUIRE(on.post(0, task_of(0), 0) == 1);
    REQUIRE(on.read(slow));
    for (uint32_t round = 0; round < 50; ++round) {
        for (uint32_t i = 0; i < 3; ++i) REQUIRE(on.post(0, task_of(i), 10 * round + i) == 1);
        CHECK(on.post(0, task_of(9), 9) == 0);
        for (uint32_t i = 0; i < 3; ++i) {
            REQUIRE(on.read(task));
            on.answer(task.ticket, 0);
        }
        gpo_answer entries[4];
        REQUIRE(on.ring.take(0, entries, sizeof entries[0], nullptr, 4) == 3);
        for (uint32_t i = 0; i < 3; ++i) CHECK(entries[i].user_data == 10 * round + i);
    }
    on.answer(slow.ticket, 5);
    gpo_answer entry{};
    REQUIRE(on.ring.take(0, &entry, sizeof entry, nullptr, 1) == 1);
    CHECK(entry.status == 5);
}

TEST_CASE("a batch is posted as far as there is room, and the share that isn't used is there again") {
    RingOnHost on({2, 3, 2, 2});
    const uint32_t tasks[12] = {};
    REQUIRE(on.ring.set_tenant(0, 3, nullptr, nullptr));
    REQUIRE(on.ring.take_share(0, 6) == 3);
    REQUIRE(on.ring.post(0, tasks, 3, 0) == 3);
    CHECK(on.ring.take_share(0, 1) == 0);
    REQUIRE(on.ring.take_share(1, 6) == 4);
    CHECK(on.ring.post(1, tasks, 4, 0) == 1);
    CHECK(on.ring.take_share(1, 6) == 3);
    on.ring.give_share(1, 3);
    CHECK_FALSE(on.ring.set_tenant(1, 1, nullptr, nullptr));
}

TEST_CASE("room in a completion queue for tasks that are not posted is given back") {
    RuntimeAndQueue with(8);
    RingOnHost on({2, 3, 2, 1});
    const uint32_t tasks[12] = {};
    REQUIRE(on.ring.set_tenant(0, 4, with.completions.get(), nullptr));
    for (int i = 0; i < 4; ++i) REQUIRE(with.completions->reserve());
    REQUIRE(on.ring.take_share(0, 4) == 4);
    REQUIRE(on.ring.post(0, tasks, 4, 0) == 4);
    on.ring.fail_outstanding(bare_error(GPO_CANCELLED));
    CHECK(with.completions->statistics().accepted == 4);
    // The ring now takes no more tasks.
    for (int i = 0; i < 3; ++i) REQUIRE(with.completions->reserve());
    REQUIRE(on.ring.take_share(0, 3) == 3);
    CHECK(on.ring.post(0, tasks, 3, 0) == 0);
    CHECK(on.ring.outstanding() == 0);
    CHECK(with.completions->statistics().accepted == 4);
    CHECK_FALSE(on.ring.any_in_use(0));
}

TEST_CASE("what a broken kernel answers is dropped, and harms no other task") {
    RingOnHost on({2, 3, 2, 1});
    RingOnHost::Task task;
    on.answer(77, 1);  // there is no such ticket
    on.answer(0xffffffff, 1);
    on.answer(2, 1);  // the ticket is free
    CHECK(on.ring.collect(true) == 3);
    CHECK_FALSE(on.ring.any_to_take(0));
    REQUIRE(on.post(0, task_of(1), 50) == 1);
    REQUIRE(on.read(task));
    on.answer(task.ticket, 3);
    on.answer(task.ticket, 4);  // twice
    gpo_answer entries[2] = {};
    REQUIRE(on.ring.take(0, entries, sizeof entries[0], nullptr, 2) == 1);
    CHECK(entries[0].user_data == 50);
    CHECK(entries[0].status == 3);
    CHECK_FALSE(on.ring.any_in_use(0));
}

TEST_CASE("a ring that was closed tells how many tasks were posted, in every schedule") {
    test::explore(1000, [] {
        RingOnHost on({2, 3, 2, 1});
        uint64_t posted = 0;
        host::Thread posts("posts", [&] {
            for (uint32_t i = 0; i < 4; ++i) posted += on.post(0, task_of(i), i);
        });
        on.ring.close();
        CHECK(on.control.state.load() == 1);
        const uint64_t final_count = on.control.final_count.load();
        posts.join();
        CHECK(posted == final_count);
        RingOnHost::Task task;
        for (uint64_t i = 0; i < final_count; ++i) CHECK(on.read(task));
        CHECK_FALSE(on.read(task));
        CHECK(on.post(0, task_of(1), 1) == 0);
        on.ring.abort();
        on.ring.close();
        CHECK(on.control.state.load() == 2);
    });
}

TEST_CASE("a ring without answers has room again when the kernel has read") {
    RingOnHost on({2, 3, 0, 1});
    for (uint32_t round = 0; round < 20; ++round) {
        for (uint32_t i = 0; i < 4; ++i) REQUIRE(on.post(0, task_of(i), 0) == 1);
        CHECK(on.post(0, task_of(9), 0) == 0);
        RingOnHost::Task task;
        for (uint32_t i = 0; i < 4; ++i) {
            REQUIRE(on.read(task));
            CHECK(task.words == task_of(i));
        }
        CHECK(on.post(0, task_of(9), 0) == 0);
        on.control.consumed.store(on.taken);
    }
    CHECK(on.ring.counts().posted == 80);
    CHECK(on.ring.counts().unanswered == 0);
    on.control.consumed.store(1'000'000);  // as by a broken kernel
    CHECK(on.post(0, task_of(9), 0) == 1);
    CHECK(on.ring.counts().unanswered == 0);
}

TEST_CASE("each answer is an entry of the tenant's completion queue, once, and what is owed fails, in every schedule") {
    test::explore(1000, [] {
        RuntimeAndQueue with(8);
        RingOnHost on({2, 3, 2, 2});
        REQUIRE(on.ring.set_tenant(1, 4, with.completions.get(), nullptr));
        for (uint32_t i = 0; i < 4; ++i) REQUIRE(with.completions->reserve());
        REQUIRE(on.ring.take_share(1, 4) == 4);
        const uint32_t tasks[8] = {};
        REQUIRE(on.ring.post(1, tasks, 4, 20) == 4);
        CHECK(on.ring.outstanding() == 4);
        {
            host::Thread kernel("kernel", [&] {
                RingOnHost::Task task;
                for (uint32_t i = 0; i < 2; ++i)
                    if (on.read(task)) on.answer(task.ticket, static_cast<gpo_status>(i));
            });
            host::Thread collects("collects", [&] { on.ring.collect(true); });
            on.ring.collect(false);
        }
        on.ring.collect(true);
        CHECK(on.ring.outstanding() == 2);
        on.ring.fail_outstanding(bare_error(GPO_CANCELLED));
        CHECK(on.ring.outstanding() == 0);
        gpo_completion entries[5];
        REQUIRE(with.completions->drain(entries, sizeof entries[0], 5) == 4);
        for (uint32_t i = 0; i < 4; ++i) {
            CHECK(entries[i].status == (i < 2 ? static_cast<gpo_status>(i) : GPO_CANCELLED));
            CHECK(entries[i].origin == GPO_ORIGIN_QUEUE);
            CHECK(entries[i].operation == 1);
        }
        CHECK(entries[0].user_data == 20);
        CHECK(entries[1].user_data == 21);
        CHECK(entries[2].user_data + entries[3].user_data == 45);
        CHECK_FALSE(on.ring.any_in_use(1));
    });
}

TEST_CASE("an answer that was told and not taken isn't told again when what is owed fails") {
    RuntimeAndQueue with(8);
    RingOnHost on({2, 3, 3, 2});
    REQUIRE(on.ring.set_tenant(0, 4, with.completions.get(), nullptr));
    RingOnHost::Task tasks[3];
    for (uint32_t i = 0; i < 3; ++i) {
        REQUIRE(with.completions->reserve());
        REQUIRE(on.post(0, task_of(i), 20 + i) == 1);
        REQUIRE(on.read(tasks[i]));
    }
    on.answer(tasks[1].ticket, 5, {77});
    REQUIRE(on.ring.collect(true) == 1);
    for (int turn = 0; turn < 2; ++turn) on.ring.fail_outstanding(bare_error(GPO_CANCELLED));
    CHECK(on.ring.outstanding() == 0);
    gpo_completion entries[4];
    REQUIRE(with.completions->drain(entries, sizeof entries[0], 4) == 3);
    CHECK(entries[0].user_data == 21);
    CHECK(entries[0].status == 5);
    CHECK(entries[1].user_data + entries[2].user_data == 20 + 22);
    for (uint32_t i = 1; i < 3; ++i) CHECK(entries[i].status == GPO_CANCELLED);
    gpo_answer answer{};
    uint32_t word = 0;
    REQUIRE(on.ring.take(0, &answer, sizeof answer, &word, 1) == 1);
    CHECK(answer.user_data == 21);
    CHECK(word == 77);
    CHECK_FALSE(on.ring.any_in_use(0));
}

TEST_CASE("a completion queue is at its end when all answers that were collected together are drained") {
    RuntimeAndQueue with(8);
    RingOnHost on({2, 3, 2, 1});
    REQUIRE(on.ring.set_tenant(0, 4, with.completions.get(), nullptr));
    for (uint32_t i = 0; i < 3; ++i) {
        RingOnHost::Task task;
        REQUIRE(with.completions->reserve());
        REQUIRE(on.post(0, task_of(i), i) == 1);
        REQUIRE(on.read(task));
        on.answer(task.ticket, 0);
    }
    REQUIRE(on.ring.collect(true) == 3);
    with.completions->stop();  // its runtime ends
    gpo_completion entries[4];
    CHECK(with.completions->drain(entries, sizeof entries[0], 4) == 3);
    CHECK_THROWS_AS(with.completions->drain(entries, sizeof entries[0], 4), Failure);
}

TEST_CASE("answers that are collected together are told to the waiters of each tenant's queue, in every schedule") {
    test::explore(300, [](uint64_t seed) {
        RuntimeAndQueue with(4);
        Ref<CompletionQueue> queues[] = {with.completions, make<CompletionQueue>(*with.runtime, 4, "second")};
        RingOnHost on({2, 3, 2, 2});
        RingOnHost::Task task;
        const bool fails = seed % 2;
        for (uint32_t tenant = 0; tenant < 2; ++tenant) {
            REQUIRE(on.ring.set_tenant(tenant, 4, queues[tenant].get(), nullptr));
            REQUIRE(queues[tenant]->reserve());
            REQUIRE(on.post(tenant, task_of(tenant), tenant) == 1);
            REQUIRE(on.read(task));
            if (!fails) on.answer(task.ticket, 0);
        }
        {
            std::vector<host::Thread> waiters;
            for (const auto& queue : queues)
                waiters.emplace_back("waiter", [&] { CHECK(queue->wait(host::kForever) == GPO_SUCCESS); });
            if (fails)
                on.ring.fail_outstanding(bare_error(GPO_CANCELLED));
            else
                on.ring.collect(true);
        }
        for (const auto& queue : queues) CHECK(queue->statistics().delivered == 1);
    });
}
