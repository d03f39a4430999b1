// The two-level segregated fit allocator: blocks don't overlap and are aligned, free blocks coalesce, and little space
// is wasted.
#include <doctest/doctest.h>

#include <map>
#include <random>
#include <vector>

#include "memory/tlsf.h"

using gpo::Tlsf;

TEST_CASE("a region that was cut and given back is one free block again") {
    Tlsf heap;
    const auto first = heap.add(3, 16, 1000, 42);
    CHECK(heap.whole(first));
    const auto a = heap.allocate(10, 1), b = heap.allocate(20, 1), c = heap.allocate(970, 1);
    REQUIRE(a);
    REQUIRE(b);
    REQUIRE(c);
    CHECK(heap.at(b).slab == 3);
    CHECK(heap.at(b).origin == 42);
    CHECK(heap.free_granules() == 0);
    CHECK(heap.allocate(1, 1) == 0);
    heap.free(b);
    CHECK_FALSE(heap.whole(first));
    heap.free(a);
    CHECK(heap.whole(heap.free(c)));
    CHECK(heap.whole(first));
    CHECK(heap.free_blocks() == 1);
    heap.remove(first);
    CHECK(heap.free_granules() == 0);
    CHECK(heap.consistent());
}

TEST_CASE("a block that fits exactly is found though its size class holds smaller ones too") {
    Tlsf heap;
    heap.add(0, 0, 4100, 0);
    const auto all = heap.allocate(4100, 1);
    REQUIRE(all);
    heap.free(all);
    CHECK(heap.allocate(4101, 1) == 0);
    CHECK(heap.allocate(4099, 1) != 0);
}

TEST_CASE("alignment counts from the origin and leaves the gap usable") {
    Tlsf heap;
    heap.add(0, 5, 100, 0);
    const auto aligned = heap.allocate(32, 64);
    REQUIRE(aligned);
    CHECK(heap.at(aligned).offset == 64);
    const auto gap = heap.allocate(59, 1);
    REQUIRE(gap);
    CHECK(heap.at(gap).offset == 5);
    heap.free(aligned);
    heap.free(gap);
    CHECK(heap.free_blocks() == 1);
    // Only an unpadded fit is left: 105 - 96 = 9 granules from offset 96 on.
    const auto front = heap.allocate(91, 1);
    REQUIRE(front);
    const auto exact = heap.allocate(9, 32);
    REQUIRE(exact);
    CHECK(heap.at(exact).offset == 96);
}

TEST_CASE("random allocations never overlap, and all frees leave one block a region") {
    for (uint32_t seed = 1; seed <= 12; ++seed) {
        std::mt19937 random(seed);
        Tlsf heap;
        struct Live {
            Tlsf::Index block;
            uint32_t size;
        };
        std::map<std::pair<unsigned, uint32_t>, Live> live;  // by slab and offset
        const uint32_t size = seed % 3 == 0 ? 3000 : 200'000, regions = 1 + seed % 3;
        for (uint32_t r = 0; r < regions; ++r) heap.add(static_cast<uint16_t>(r), r * 7, size, r);
        uint64_t used = 0;
        for (int step = 0; step < 4000; ++step) {
            if (random() % 5 < 3) {
                const uint32_t want = 1 + (random() % 4 ? random() % 64 : random() % (size / 8));
                const uint32_t alignment = random() % 4 ? 1 : 1u << random() % 10;
                const auto index = heap.allocate(want, alignment);
                if (!index) continue;
                const auto& block = heap.at(index);
                REQUIRE(block.size == want);
                REQUIRE(block.offset % alignment == 0);
                REQUIRE(block.offset >= block.slab * 7u);
                REQUIRE(block.offset + want <= block.slab * 7u + size);
                const auto next = live.lower_bound({block.slab, block.offset});
                if (next != live.end() && next->first.first == block.slab)
                    REQUIRE(block.offset + want <= next->first.second);
                if (next != live.begin()) {
                    const auto& [key, before] = *std::prev(next);
                    if (key.first == block.slab) REQUIRE(key.second + before.size <= block.offset);
                }
                live[{block.slab, block.offset}] = {index, want};
                used += want;
            } else if (!live.empty()) {
                auto victim = live.lower_bound({random() % regions, random() % size});
                if (victim == live.end()) victim = live.begin();
                used -= victim->second.size;
                heap.free(victim->second.block);
                live.erase(victim);
            }
            REQUIRE(heap.free_granules() == uint64_t{size} * regions - used);
            if (step % 64 == 0) REQUIRE(heap.consistent());
        }
        for (const auto& [key, piece] : live) heap.free(piece.block);
        CHECK(heap.consistent());
        CHECK(heap.free_blocks() == regions);
    }
}
