#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <set>
#include <thread>
#include <vector>

#include "completion/completion_queue.h"
#include "core/runtime.h"
#include "host/schedule.h"
#include "runtime/shutdown.h"
#include "support/explore.h"

using namespace gpo;

namespace {

struct Probe final : Object {
    Probe(Runtime& runtime, std::atomic<int>& closed, std::atomic<int>& gone)
        : Object(runtime, Type::event, "probe"), closed(closed), gone(gone) {}
    ~Probe() override { ++gone; }
    void close() noexcept override { ++closed; }
    std::atomic<int>&closed, &gone;
};

Ref<Runtime> quiet_runtime() {
    gpo_runtime_options options{};
    options.struct_size = sizeof options;
    return make<Runtime>(options);
}

struct Fixture {
    Ref<Runtime> runtime = quiet_runtime();
    Runtime::Use use{*runtime};   // like a call in progress
    std::atomic<int> closed{0}, gone{0};
    uint64_t insert() {
        auto probe = make<Probe>(*runtime, closed, gone);
        return runtime->handles().insert(*probe);
    }
    ~Fixture() {
        const gpo_status status = gpo::shut_down(*runtime, host::kForever);
        CHECK((status == GPO_SUCCESS || status == GPO_INVALID_HANDLE));   // a test may have shut it down
    }
};

gpo_status pin_status(uint64_t handle, Type type = Type::event) {
    handle::Note* note;
    gpo_status status = GPO_SUCCESS;
    if (auto* slot = handle::pin(handle, type, &note, &status)) {
        handle::unpin(*slot, *note);
        return GPO_SUCCESS;
    }
    return status;
}

}  // namespace

TEST_CASE("a stale handle is refused, and the slot's new owner is untouched") {
    Fixture fixture;
    const uint64_t first = fixture.insert();
    REQUIRE(handle::destroy(first, Type::event) == GPO_SUCCESS);
    const uint64_t second = fixture.insert();
    CHECK((first & 0xfffff) == (second & 0xfffff));
    CHECK(pin_status(first) == GPO_STALE_HANDLE);
    CHECK(handle::destroy(first, Type::event) == GPO_STALE_HANDLE);
    CHECK(pin_status(second) == GPO_SUCCESS);
    CHECK(fixture.gone == 1);
}

TEST_CASE("a visit of all objects that throws leaves none of them pinned") {
    Fixture fixture;
    const uint64_t handle = fixture.insert();
    CHECK_THROWS_AS(fixture.runtime->for_each([](Object& object) {
        if (object.type() == Type::event) throw std::bad_alloc();
    }), std::bad_alloc);
    CHECK(handle::destroy(handle, Type::event) == GPO_SUCCESS);
    CHECK(fixture.gone == 1);
}

TEST_CASE("NULL, random and mistyped handles are invalid") {
    Fixture fixture;
    const uint64_t handle = fixture.insert();
    CHECK(pin_status(0) == GPO_INVALID_HANDLE);
    CHECK(pin_status(handle, Type::stream) == GPO_INVALID_HANDLE);
    CHECK(pin_status(handle | 0xfffff) == GPO_INVALID_HANDLE);  // a slot that no runtime has ever used
    uint64_t number = 0x9e3779b97f4a7c15;
    for (int i = 0; i < 100'000; ++i) {
        number = number * 6364136223846793005 + 1442695040888963407;
        if (number != handle) CHECK(pin_status(number) != GPO_SUCCESS);
    }
}

TEST_CASE("of 64 threads that destroy one handle at once exactly one succeeds") {
    Fixture fixture;
    for (int round = 0; round < 20; ++round) {
        const uint64_t handle = fixture.insert();
        std::atomic<int> successes{0}, stale{0}, ready{0};
        std::vector<std::thread> threads;
        for (int i = 0; i < 64; ++i)
            threads.emplace_back([&] {
                ++ready;
                while (ready < 64) std::this_thread::yield();
                const gpo_status status = handle::destroy(handle, Type::event);
                ++(status == GPO_SUCCESS ? successes : stale);
            });
        for (auto& thread : threads) thread.join();
        CHECK(successes == 1);
        CHECK(stale == 63);
        CHECK(fixture.gone == round + 1);
    }
}

TEST_CASE("hundreds of threads have a number each, keep it while they run, and others have it after them") {
    // Occupy half of the places for ledgers with a thread pointer that no thread has.
    constexpr int kThreads = 300;
    constexpr uintptr_t kAnother = 1;
    std::vector<handle::detail::Place*> occupied;
    for (size_t i = 0; i < std::size(handle::detail::g_places); i += 2) {
        uintptr_t nobody = 0;
        if (handle::detail::g_places[i].thread.compare_exchange_strong(nobody, kAnother))
            occupied.push_back(&handle::detail::g_places[i]);
    }
    Fixture f;
    const uint64_t handle = f.insert();
    uint32_t greatest = 0;
    for (int round = 0; round < 3; ++round) {
        std::vector<uint32_t> numbers(kThreads, handle::kNoThread);
        std::atomic<int> wrong{0}, placed{0};
        std::barrier all(kThreads);
        {
            std::vector<std::jthread> threads;
            for (int i = 0; i < kThreads; ++i)
                threads.emplace_back([&, i] {
                    numbers[i] = handle::take_thread_number();
                    all.arrive_and_wait();
                    handle::Note* note = nullptr;
                    gpo_status status = GPO_SUCCESS;
                    handle::Slot* const slot = handle::pin(handle, Type::event, &note, &status);
                    wrong += !slot || handle::Ledger::of(*note).number != numbers[i] ||
                             handle::thread_number() != numbers[i] || handle::take_thread_number() != numbers[i];
                    if (slot) handle::unpin(*slot, *note);
                    const uintptr_t thread = handle::detail::thread_pointer();
                    placed += handle::detail::place_of(thread).thread == thread;
                    all.arrive_and_wait();
                });
        }
        CHECK(wrong == 0);
        CHECK(placed < kThreads);
        if (handle::detail::thread_pointer() != handle::detail::kNoPointer) CHECK(placed > 0);
        const std::set<uint32_t> different(numbers.begin(), numbers.end());
        CHECK(different.size() == kThreads);
        CHECK(different.count(handle::kNoThread) == 0);
        if (round > 0) CHECK(*different.rbegin() <= greatest);
        greatest = std::max(greatest, *different.rbegin());
    }
    for (handle::detail::Place* place : occupied) place->thread = 0;
    CHECK(handle::destroy(handle, Type::event) == GPO_SUCCESS);
}

TEST_CASE("an object is closed when the last call inside it has returned") {
    Fixture fixture;
    const uint64_t handle = fixture.insert();
    handle::Note* note;
    gpo_status status;
    auto* slot = handle::pin(handle, Type::event, &note, &status);
    REQUIRE(slot);
    CHECK(handle::destroy(handle, Type::event) == GPO_SUCCESS);
    CHECK(fixture.closed == 0);
    CHECK(pin_status(handle) == GPO_STALE_HANDLE);
    CHECK(fixture.closed == 0);
    handle::unpin(*slot, *note);
    CHECK(fixture.closed == 1);
    CHECK(fixture.gone == 1);
}

TEST_CASE("pins and destroys that race close each object exactly once") {
    Fixture fixture;
    std::atomic<uint64_t> current{0};
    std::atomic<bool> stop{false};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([&] {
            while (!stop) pin_status(current.load());
        });
    constexpr int kRounds = 2000;
    for (int i = 0; i < kRounds; ++i) {
        const uint64_t handle = fixture.insert();
        current = handle;
        CHECK(handle::destroy(handle, Type::event) == GPO_SUCCESS);
    }
    stop = true;
    for (auto& thread : threads) thread.join();
    CHECK(fixture.closed == kRounds);
    CHECK(fixture.gone == kRounds);
}

TEST_CASE("a call that leaves a destroyed object doesn't close the next one in its slot") {
    gpo::test::explore(3000, [] {
        Fixture fixture;
        std::atomic<int> closed{0}, gone{0};
        const uint64_t first = fixture.insert();
        std::atomic<uint64_t> second{0};
        host::Thread leaving("leaving", [&] {
            handle::Note* note;
            gpo_status status;
            auto* slot = handle::pin(first, Type::event, &note, &status);
            if (!slot) return;
            for (int steps = 0; steps < 4; ++steps) host::crossing();
            handle::unpin(*slot, *note);
        });
        host::Thread replacing("replacing", [&] {
            handle::destroy(first, Type::event);
            second = fixture.runtime->handles().insert(*make<Probe>(*fixture.runtime, closed, gone));
            for (int steps = 0; steps < 4; ++steps) host::crossing();
            handle::destroy(second, Type::event);
        });
        host::Thread inside("inside", [&] {
            for (int steps = 0; steps < 8 && second == 0; ++steps) host::crossing();
            handle::Note* note;
            gpo_status status;
            auto* slot = handle::pin(second, Type::event, &note, &status);
            if (!slot) return;
            for (int steps = 0; steps < 4; ++steps) {
                host::crossing();
                CHECK(closed == 0);
                CHECK(slot->object != nullptr);
            }
            handle::unpin(*slot, *note);
        });
        for (host::Thread* thread : {&leaving, &replacing, &inside}) thread->join();
        CHECK(fixture.closed == 1);
        CHECK(closed == 1);
        CHECK(gone == 1);
    });
}

TEST_CASE("a runtime that has closed its objects takes no more") {
    Fixture fixture;
    fixture.insert();
    REQUIRE(gpo::shut_down(*fixture.runtime, host::kForever) == GPO_SUCCESS);
    CHECK_THROWS_AS(fixture.insert(), Failure);
    CHECK(fixture.closed == 1);
}

TEST_CASE("a slot whose generation would wrap is retired, so that no two objects ever share a handle") {
    Fixture fixture;
    fixture.runtime->handles().set_generation_limit(16);
    std::set<uint64_t> seen;
    for (int i = 0; i < 200; ++i) {
        const uint64_t handle = fixture.insert();
        CHECK(seen.insert(handle).second);
        CHECK(handle::destroy(handle, Type::event) == GPO_SUCCESS);
    }
    for (uint64_t handle : seen) CHECK(pin_status(handle) == GPO_STALE_HANDLE);
}

TEST_CASE("handles of another runtime and of one that was shut down are invalid") {
    uint64_t left = 0;
    {
        Fixture gone;
        left = gone.insert();
        CHECK(pin_status(left) == GPO_SUCCESS);
    }
    CHECK(pin_status(left) == GPO_INVALID_HANDLE);
    Fixture one;
    Fixture other;
    const uint64_t handle = one.insert();
    CHECK((handle >> 40) != (other.insert() >> 40));
    CHECK(pin_status(left) != GPO_SUCCESS);
}

TEST_CASE(
    "the handle of a completion queue outlives its runtime, and the next runtime of the table knows nothing of it") {
    const auto insert_queue = [](Runtime& runtime) {
        return runtime.handles().insert(*make<CompletionQueue>(runtime, 2u, nullptr));
    };
    uint64_t left = 0, index = 0, position = 0;
    {
        Fixture gone;
        left = insert_queue(*gone.runtime);
        index = left & 0xfffff;
        position = gone.runtime->handles().tag() & 0xfff;
    }
    CHECK(pin_status(left, Type::cq) == GPO_SUCCESS);
    CHECK(pin_status(left, Type::event) == GPO_INVALID_HANDLE);
    {
        Fixture next;
        REQUIRE((next.runtime->handles().tag() & 0xfff) == position);
        CHECK(next.runtime->handles().live() == 1);
        int visited = 0;
        next.runtime->for_each([&](Object&) { ++visited; });
        CHECK(visited == 1);   // itself
        const uint64_t own = insert_queue(*next.runtime);
        CHECK((own & 0xfffff) != index);
        CHECK(next.runtime->handles().live() == 2);
        // A thread without an earlier call of the library uses another lookup.
        gpo_status elsewhere = GPO_INTERNAL;
        std::thread([&] { elsewhere = pin_status(left, Type::cq); }).join();
        CHECK(elsewhere == GPO_SUCCESS);
        CHECK(handle::destroy(left, Type::cq) == GPO_SUCCESS);
        CHECK(pin_status(left, Type::cq) == GPO_INVALID_HANDLE);
        CHECK(next.runtime->handles().live() == 2);
        CHECK(pin_status(own, Type::cq) == GPO_SUCCESS);
        REQUIRE(gpo::shut_down(*next.runtime, host::kForever) == GPO_SUCCESS);
        CHECK(next.runtime->handles().live() == 1);
        CHECK(handle::destroy(own, Type::cq) == GPO_SUCCESS);
        CHECK(next.runtime->handles().live() == 0);
    }
}

TEST_CASE("a runtime takes slots in ascending order, whatever order the one before gave them back in") {
    const auto slots = [] {
        Fixture fixture;
        std::vector<uint64_t> handles, indices;
        for (int i = 0; i < 20; ++i) handles.push_back(fixture.insert());
        for (const uint64_t handle : handles) indices.push_back(handle & 0xfffff);
        for (size_t i = 0; i < handles.size(); ++i)   // neither forwards nor backwards
            REQUIRE(handle::destroy(handles[(i * 7) % handles.size()], Type::event) == GPO_SUCCESS);
        return indices;
    };
    slots();
    const auto again = slots();
    CHECK(std::is_sorted(again.begin(), again.end()));
}

TEST_CASE("open and shut down, over and over, makes no new handle tables") {
    std::set<uint64_t> positions;
    for (int i = 0; i < 1000; ++i) {
        auto runtime = quiet_runtime();
        positions.insert(runtime->handles().tag() & 0xfff);
        CHECK(gpo::shut_down(*runtime, host::kForever) == GPO_SUCCESS);
    }
    CHECK(positions.size() == 1);
}
