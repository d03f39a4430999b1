// The slab heap over ordinary memory: bad frees, the cap, growth and trim, statistics, many threads, and failing
// sources.
#include <doctest/doctest.h>

#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <future>
#include <map>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "core/error.h"
#include "memory/heap.h"

using gpo::kGranule;
using gpo::RangeMap;
using gpo::SlabHeap;

namespace {

constexpr uint64_t kMiB = 1 << 20;

/// Ordinary pages, counted; refuses requests above `most` bytes.
class Pages final : public gpo::SlabSource {
public:
    ~Pages() override { CHECK(taken == given); }
    void* take(uint64_t bytes) override {
        if (bytes > most) gpo::fail(GPO_OUT_OF_MEMORY, "no more than ", most.load(), " bytes at once");
        void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) gpo::fail(GPO_OUT_OF_MEMORY, "mmap");
        ++taken;
        return memory;
    }
    void give(void* memory, uint64_t bytes) noexcept override {
        ++giving;
        while (hold.load()) std::this_thread::yield();
        munmap(memory, bytes);
        ++given;
    }
    std::atomic<unsigned> taken{0}, giving{0}, given{0};
    std::atomic<bool> hold{false};   // give() waits while true
    std::atomic<uint64_t> most{UINT64_MAX};
};

struct Heap {
    Pages pages;
    RangeMap ranges;
    SlabHeap heap;
    explicit Heap(const SlabHeap::Options& options) : heap(pages, ranges, options) {
        gpo::host::look_at_fences();   // soon a shard's owner takes its own path
    }

    void* take(uint64_t bytes, uint64_t alignment = kGranule) {
        void* memory = heap.allocate(bytes, alignment);
        return memory ? memory : heap.allocate_hard(bytes, alignment);
    }
    /// Frees in one step or in two; both must work.
    bool free(void* memory) {
        const auto address = reinterpret_cast<uint64_t>(memory);
        if (address / kGranule % 2 == 0) return heap.free(address);
        SlabHeap::Piece piece;
        if (!heap.claim(address, piece)) return false;
        heap.release(piece);
        return true;
    }
};

SlabHeap::Options options(uint64_t max_bytes, uint64_t slab_bytes, unsigned shards) {
    return {max_bytes, slab_bytes, shards};
}

}  // namespace

TEST_CASE("what can't be one slab is refused, and slabs are no larger than can be counted in") {
    Heap heap({.slab_bytes = UINT64_MAX});
    for (const uint64_t bytes : {UINT64_MAX, UINT64_MAX - 4096, uint64_t{1} << 40})
        CHECK_THROWS_AS(heap.heap.reserve(bytes), gpo::Failure);
    CHECK(heap.pages.taken == 0);
    CHECK(heap.heap.totals().reserved == 0);
    try {
        void* piece = heap.take(1);
        CHECK(heap.heap.totals().reserved < uint64_t{1} << 40);
        CHECK(heap.free(piece));
    } catch (const gpo::Failure& failure) {
        CHECK(failure.error()->status == GPO_OUT_OF_MEMORY);   // a machine without spare addresses
    }
}

TEST_CASE("pieces are aligned, don't overlap, and are reused after they were freed") {
    for (unsigned shards : {1u, 4u}) {
        Heap h(options(0, 8 * kMiB, shards));
        auto* a = static_cast<char*>(h.take(1000));
        auto* b = static_cast<char*>(h.take(1000, kMiB));
        auto* c = static_cast<char*>(h.take(3 * kMiB, 4096));
        CHECK(reinterpret_cast<uintptr_t>(a) % 256 == 0);
        CHECK(reinterpret_cast<uintptr_t>(b) % kMiB == 0);
        CHECK(reinterpret_cast<uintptr_t>(c) % 4096 == 0);
        std::memset(a, 1, 1000);
        std::memset(b, 2, 1000);
        std::memset(c, 3, 3 * kMiB);
        CHECK(a[999] == 1);
        CHECK(b[0] == 2);
        CHECK(h.heap.totals().in_use == 1024 + 1024 + 3 * kMiB);
        CHECK(h.free(a));
        CHECK(h.free(b));
        CHECK(h.free(c));
        CHECK(h.heap.totals().in_use == 0);
        CHECK(h.pages.taken == 1);
        CHECK(h.heap.consistent());
    }
}

TEST_CASE("a free of what is not an allocated start is refused and changes nothing") {
    for (unsigned shards : {1u, 4u}) {
        Heap h(options(0, 8 * kMiB, shards));
        int outside = 0;
        auto* a = static_cast<char*>(h.take(1000));
        auto* big = static_cast<char*>(h.take(4 * kMiB));
        CHECK_FALSE(h.free(&outside));
        CHECK_FALSE(h.free(a + 1));
        CHECK_FALSE(h.free(a + 256));
        CHECK_FALSE(h.free(a + 768));
        CHECK_FALSE(h.free(big + kMiB));
        CHECK_FALSE(h.free(reinterpret_cast<void*>(~uint64_t{255})));
        CHECK(h.heap.totals().frees == 0);
        CHECK(h.free(a));
        CHECK_FALSE(h.free(a));
        CHECK(h.free(big));
        CHECK_FALSE(h.free(big));
        h.heap.trim(0);
        CHECK_FALSE(h.free(a));
        CHECK(h.heap.totals().frees == 2);
        CHECK(h.heap.totals().allocations == 2);

        Heap other(options(0, 8 * kMiB, shards));
        void* foreign = other.take(1000);
        CHECK_FALSE(h.free(foreign));
        CHECK(other.free(foreign));
    }
}

TEST_CASE("a claimed piece stays out of reach, in use, until it is released or given back") {
    Heap h(options(0, 8 * kMiB, 2));
    void* a = h.take(5000);
    SlabHeap::Piece piece, again;
    REQUIRE(h.heap.claim(reinterpret_cast<uint64_t>(a), piece));
    CHECK(piece.bytes == 5120);
    CHECK_FALSE(h.heap.claim(reinterpret_cast<uint64_t>(a), again));
    CHECK(h.heap.totals().in_use == 5120);
    h.heap.unclaim(piece);
    REQUIRE(h.heap.claim(reinterpret_cast<uint64_t>(a), piece));
    h.heap.release(piece);
    CHECK(h.heap.totals().in_use == 0);
}

TEST_CASE("the cap is never passed, and what it leaves can be used to the last page") {
    for (unsigned shards : {1u, 8u}) {
        Heap h(options(10 * kMiB, 4 * kMiB, shards));
        std::vector<void*> pieces;
        while (void* piece = h.take(64 << 10)) pieces.push_back(piece);
        CHECK(pieces.size() == 160);
        CHECK(h.heap.totals().reserved == 10 * kMiB);
        CHECK(h.heap.totals().slabs == 3);
        CHECK(h.take(1) == nullptr);
        CHECK(h.free(pieces.back()));
        CHECK(h.take(64 << 10) == pieces.back());
        for (void* piece : pieces) CHECK(h.free(piece));
        // The heap frees empty slabs itself to make room for a large piece.
        void* large = h.take(10 * kMiB);
        REQUIRE(large);
        CHECK(h.heap.totals().slabs == 1);
        CHECK(h.take(10 * kMiB + 1) == nullptr);
        CHECK(h.free(large));
        CHECK(h.take(UINT64_MAX) == nullptr);
        CHECK(h.heap.totals().peak_reserved == 10 * kMiB);
    }
}

TEST_CASE("trim gives empty slabs back, and only those") {
    Heap h(options(0, kMiB, 4));
    void* small = h.take(300);
    void* large = h.take(3 * kMiB);
    CHECK(h.heap.totals().slabs == 2);
    h.heap.trim(0);
    CHECK(h.heap.totals().slabs == 2);
    CHECK(h.free(large));
    h.heap.trim(4 * kMiB);
    CHECK(h.heap.totals().slabs == 2);
    h.heap.trim(kMiB);
    CHECK(h.heap.totals().slabs == 1);
    CHECK(h.free(small));
    h.heap.trim(0);
    CHECK(h.heap.totals().reserved == 0);
    CHECK(h.heap.totals().source_calls == 4);
    CHECK(h.take(300) != nullptr);
}

TEST_CASE("who needs the room of a slab that is just being given back waits for it") {
    Heap h(options(kMiB, kMiB, 4));
    CHECK(h.free(h.take(300)));
    h.pages.hold = true;
    std::thread trims([&] { h.heap.trim(0); });
    while (h.pages.giving == 0) std::this_thread::yield();
    auto taken = std::async(std::launch::async, [&] { return h.take(300); });
    CHECK(taken.wait_for(std::chrono::milliseconds(50)) == std::future_status::timeout);
    h.pages.hold = false;
    trims.join();
    void* const piece = taken.get();
    REQUIRE(piece);
    CHECK(h.free(piece));
}

TEST_CASE("slabs come and go many times over without their descriptors piling up") {
    Heap h(options(0, kMiB, 2));
    for (int i = 0; i < 1000; ++i) {
        void* piece = h.take(i % 2 ? 256 : 2 * kMiB);
        REQUIRE(h.free(piece));
        h.heap.trim(0);
    }
    CHECK(h.heap.totals().reserved == 0);
    CHECK(h.pages.taken == 1000);
}

TEST_CASE("a source that has no slab left gives a smaller one, or fails without a trace") {
    Heap h(options(0, 8 * kMiB, 2));
    h.pages.most = 2 * kMiB;
    void* piece = h.take(kMiB);
    REQUIRE(piece);
    CHECK(h.heap.totals().reserved == kMiB);
    CHECK_THROWS_AS(h.take(3 * kMiB), gpo::Failure);
    CHECK_THROWS_AS(h.take(uint64_t{1} << 46), gpo::Failure);
    CHECK_THROWS_AS(h.take(UINT64_MAX), gpo::Failure);
    CHECK(h.heap.totals().reserved == kMiB);
    CHECK(h.heap.totals().allocations == 1);
    h.pages.most = UINT64_MAX;
    void* large = h.take(3 * kMiB);
    CHECK(large);
    CHECK(h.free(large));
    CHECK(h.free(piece));
}

TEST_CASE("what was reserved ahead is used before anything is taken") {
    Heap h(options(0, kMiB, 1));
    CHECK(h.heap.reserve(16 * kMiB));
    CHECK(h.pages.taken == 1);
    void* piece = h.take(16 * kMiB);
    CHECK(h.pages.taken == 1);
    CHECK(h.free(piece));
    Heap capped(options(kMiB, kMiB, 1));
    CHECK_FALSE(capped.heap.reserve(2 * kMiB));
    CHECK(capped.heap.totals().reserved == 0);
}

TEST_CASE("one thread's random operations agree with a model, in sizes, content and statistics") {
    for (uint32_t seed = 1; seed <= 6; ++seed) {
        std::mt19937 random(seed);
        Heap h(options(seed % 2 ? 0 : 48 * kMiB, 4 * kMiB, seed % 3 == 0 ? 1 : 4));
        struct Live {
            uint64_t bytes;
            unsigned char fill;
        };
        std::map<char*, Live> live;
        uint64_t used = 0, peak = 0, allocations = 0, frees = 0;
        for (int step = 0; step < 5000; ++step) {
            if (random() % 9 < 5) {
                const uint64_t bytes = 1 + (random() % 16 ? random() % 20'000 : random() % (2 * kMiB));
                const uint64_t alignment = random() % 8 ? kGranule : kGranule << random() % 13;
                auto* memory = static_cast<char*>(h.take(bytes, alignment));
                if (!memory) {
                    REQUIRE(h.heap.max_bytes() != 0);
                    continue;
                }
                REQUIRE(reinterpret_cast<uintptr_t>(memory) % alignment == 0);
                const auto next = live.lower_bound(memory);
                if (next != live.end()) REQUIRE(memory + bytes <= next->first);
                if (next != live.begin()) REQUIRE(std::prev(next)->first + std::prev(next)->second.bytes <= memory);
                const auto fill = static_cast<unsigned char>(random());
                std::memset(memory, fill, bytes);
                live[memory] = {bytes, fill};
                used += (bytes + kGranule - 1) / kGranule * kGranule;
                peak = std::max(peak, used);
                ++allocations;
            } else if (!live.empty()) {
                auto victim = std::next(live.begin(), static_cast<ptrdiff_t>(random() % live.size()));
                const auto& [bytes, fill] = victim->second;
                REQUIRE(static_cast<unsigned char>(victim->first[0]) == fill);
                REQUIRE(static_cast<unsigned char>(victim->first[bytes - 1]) == fill);
                REQUIRE(h.free(victim->first));
                REQUIRE_FALSE(h.free(victim->first));
                used -= (bytes + kGranule - 1) / kGranule * kGranule;
                ++frees;
                live.erase(victim);
            }
            if (step % 100 == 0) {
                const auto totals = h.heap.totals();
                REQUIRE(totals.in_use == used);
                REQUIRE(totals.peak_in_use == peak);
                REQUIRE(totals.allocations == allocations);
                REQUIRE(totals.frees == frees);
                REQUIRE(h.heap.consistent());
            }
        }
        for (const auto& [memory, piece] : live) REQUIRE(h.free(memory));
        CHECK(h.heap.consistent());
        h.heap.trim(0);
        CHECK(h.heap.totals().reserved == 0);
        CHECK(h.heap.totals().in_use == 0);
    }
}

TEST_CASE("threads that allocate, fill and free each other's pieces find them whole") {
    constexpr unsigned kThreads = 4, kSteps = 4000;
    Heap h(options(0, 16 * kMiB, kThreads));
    struct Shared {
        std::mutex lock;
        std::vector<std::pair<char*, uint64_t>> pieces;
    } shared;
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < kThreads; ++t)
        threads.emplace_back([&, t] {
            std::mt19937 random(t);
            std::vector<std::pair<char*, uint64_t>> mine;
            const auto free_one = [&](std::pair<char*, uint64_t> piece) {
                for (const uint64_t at : {uint64_t{0}, piece.second - 1})
                    if (static_cast<unsigned char>(piece.first[at]) != static_cast<unsigned char>(piece.second))
                        ++wrong;
                if (!h.free(piece.first)) ++wrong;
            };
            for (unsigned step = 0; step < kSteps; ++step) {
                const uint64_t bytes = 256 + random() % (random() % 8 ? 8192 : kMiB);
                auto* memory = static_cast<char*>(h.take(bytes));
                memory[0] = memory[bytes - 1] = static_cast<char>(bytes);
                mine.emplace_back(memory, bytes);
                if (mine.size() < 50) continue;
                std::swap(mine[random() % mine.size()], mine.back());
                auto piece = mine.back();
                mine.pop_back();
                if (step % 4 == 0) {
                    std::lock_guard lock(shared.lock);
                    shared.pieces.push_back(piece);
                    std::swap(shared.pieces[random() % shared.pieces.size()], shared.pieces.back());
                    piece = shared.pieces.back();
                    shared.pieces.pop_back();
                }
                free_one(piece);
            }
            for (const auto& piece : mine) free_one(piece);
        });
    for (auto& thread : threads) thread.join();
    for (const auto& piece : shared.pieces) CHECK(h.free(piece.first));
    CHECK(wrong == 0);
    const auto totals = h.heap.totals();
    CHECK(totals.in_use == 0);
    CHECK(totals.allocations == kThreads * kSteps);
    CHECK(totals.frees == kThreads * kSteps);
    CHECK(h.heap.consistent());
    h.heap.trim(0);
    CHECK(h.heap.totals().reserved == 0);
}

TEST_CASE("of many threads that free one piece at once, one succeeds") {
    Heap h(options(0, 4 * kMiB, 4));
    for (int round = 0; round < 200; ++round) {
        void* piece = h.take(round % 2 ? 256 : 2 * kMiB);
        std::atomic<int> freed{0};
        std::vector<std::thread> threads;
        for (int t = 0; t < 4; ++t)
            threads.emplace_back([&] { freed += h.free(piece); });
        for (auto& thread : threads) thread.join();
        REQUIRE(freed == 1);
    }
    CHECK(h.heap.totals().in_use == 0);
}

TEST_CASE("seventy thousand small pieces live side by side") {
    Heap h(options(0, 4 * kMiB, 2));
    std::vector<void*> pieces;
    for (int i = 0; i < 70'000; ++i) pieces.push_back(h.take(256));
    CHECK(h.heap.totals().in_use == 70'000 * 256);
    CHECK(std::set<void*>(pieces.begin(), pieces.end()).size() == pieces.size());
    for (void* piece : pieces) REQUIRE(h.free(piece));
    CHECK(h.heap.consistent());
}

TEST_CASE("what isn't allocated is refused while the slab that it lay in goes") {
    for (int round = 0; round < 20; ++round) {
        Heap h(options(0, kMiB, 64));
        std::atomic<uint64_t> address{0};
        std::atomic<bool> stop{false};
        std::atomic<uint64_t> refused{0}, freed{0};
        std::thread other([&] {
            gpo::handle::take_thread_number();            // owns a shard, remembers where it freed last
            while (!stop) {
                const uint64_t inside = address.load();   // an address within a live or freed piece, not its begin
                if (inside) ++(h.heap.free(inside) ? freed : refused);
            }
        });
        // Other ranges are added and removed all the time, so that cached look-ups of the slab become invalid.
        std::atomic<int> wrong{0};
        std::thread changes([&] {
            const gpo::Range elsewhere{4096, 8192, 7, &h};
            while (!stop) wrong += !h.ranges.insert(elsewhere) || !h.ranges.erase(elsewhere.start, &h);
        });
        for (int i = 0; i < 100; ++i) {
            void* piece = h.take(kMiB / 2);
            address = reinterpret_cast<uint64_t>(piece) + kGranule;
            if (i % 8 == 0) std::this_thread::yield();
            CHECK(h.free(piece));
            h.heap.trim(0);
        }
        while (refused == 0) std::this_thread::yield();
        stop = true;
        other.join();
        changes.join();
        CHECK(wrong == 0);
        CHECK(freed == 0);
        CHECK(h.heap.totals().reserved == 0);
    }
}

TEST_CASE("what threads freed that have ended, and what they had taken and left, is there for those that come after") {
    Heap h(options(16 * kMiB, 4 * kMiB, 4));
    void* left = nullptr;
    for (int generation = 0; generation < 40; ++generation) {
        std::thread([&] {
            if (left) REQUIRE(h.free(left));
            std::vector<void*> pieces;
            for (int i = 0; i < 300; ++i) pieces.push_back(h.take(16 << 10));  // 4.7 MiB of the 16
            left = pieces.back();
            pieces.pop_back();
            for (void* piece : pieces) REQUIRE(h.free(piece));
        }).join();
        REQUIRE(h.heap.totals().in_use == 16 << 10);
    }
    REQUIRE(h.free(left));
    h.heap.trim(0);
    CHECK(h.heap.totals().reserved == 0);
    CHECK(h.heap.totals().allocations == 40 * 300);
    CHECK(h.heap.totals().frees == 40 * 300);
}

TEST_CASE("pieces that other threads free, far more than an inbox holds, all come back to the shard that they are of") {
    Heap h(options(0, 16 * kMiB, 4));
    std::vector<void*> pieces;
    for (int i = 0; i < 2000; ++i) pieces.push_back(h.take(512));
    std::thread([&] {
        for (void* piece : pieces) REQUIRE(h.free(piece));
        for (void* piece : pieces) REQUIRE_FALSE(h.free(piece));
    }).join();
    CHECK(h.heap.totals().in_use == 0);
    CHECK(h.heap.totals().frees == 2000);
    CHECK(h.heap.totals().peak_in_use == 2000 * 512);
    CHECK(h.heap.consistent());
}

TEST_CASE("the peak of one thread that allocates is exact whoever frees") {
    Heap h(options(0, 16 * kMiB, 4));
    std::vector<void*> pieces;
    for (int round = 0; round < 50; ++round) {
        for (int i = 0; i < 10; ++i) pieces.push_back(h.take(4096));
        std::thread([&] {
            for (void* piece : pieces) REQUIRE(h.free(piece));
        }).join();
        pieces.clear();
    }
    CHECK(h.heap.totals().peak_in_use == 10 * 4096);
}
