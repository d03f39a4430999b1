#include "softgpu/image/combine.h"

#include <atomic>
#include <cstdint>
#include <utility>

#include "base/combine.h"
#include "base/exchange.h"
#include "softgpu/image/elements.h"

namespace gpo::softgpu {

namespace {

struct Combination {
    uint64_t destination;
    gpo::combine::Sources sources;
    uint32_t source_count, reduction, divisor;

    /// Combines as many elements as whole runs of `count` have, and returns the first that is left.
    template <class Element, unsigned count>
    uint64_t runs(uint64_t from, uint64_t to) const {
        const auto at = [&](uint64_t address) { return reinterpret_cast<typename Element::Stored*>(address) + from; };
        for (; to - from >= count; from += count) {
            gpo::combine::Run<Element, count> run(at(sources.address[0]));
            for (uint32_t source = 1; source < source_count; ++source)
                run.combine(reduction, at(sources.address[source]));
            run.store(reduction, divisor, at(destination));
        }
        return from;
    }
};

// --- a small all-reduce: base/exchange.h ---

using exchange::Mailboxes;
using exchange::Packet;

constexpr unsigned kReads = 64;   // of a packet, before the core goes to another block

// Each half of a packet is one store: the number in it says that its data is there.
std::atomic_ref<uint64_t> half_of(uint64_t packet, uint64_t half) {
    return std::atomic_ref(reinterpret_cast<uint64_t*>(packet)[half]);
}

void put(uint64_t packet, uint64_t data, uint32_t number) {
    const uint64_t above = uint64_t{number} << 32;
    half_of(packet, 0).store((data & UINT32_MAX) | above, std::memory_order_release);
    half_of(packet, 1).store(data >> 32 | above, std::memory_order_release);
}

uint64_t take(gpo_soft_block* block, const exchange::Stop& stop, uint64_t packet, uint32_t number) {
    for (unsigned reads = 1;; ++reads) {
        const uint64_t low = half_of(packet, 0).load(std::memory_order_acquire);
        const uint64_t high = half_of(packet, 1).load(std::memory_order_acquire);
        if (low >> 32 == number && high >> 32 == number) return (low & UINT32_MAX) | high << 32;
        if (reads % kReads != 0) continue;
        if (auto* const word = reinterpret_cast<uint32_t*>(stop.word)) {
            const uint32_t stopped = std::atomic_ref(*word).load(std::memory_order_relaxed);
            if (stopped == stop.launch || stopped == exchange::kEveryLaunch) return 0;
        }
        block->services->yield(block);
    }
}

// The work of a whole block, done by one of its threads: first all sends, then the waits for the other ranks' data.
template <class Element>
struct Exchange {
    gpo_soft_block* const block;
    bool begun = false;   // by the first of the block's threads, which does it for all

    static void of_thread(void* closure) {
        auto& self = *static_cast<Exchange*>(closure);
        if (!std::exchange(self.begun, true)) self.run();
    }

    void run() const {
        const auto boxes = argument<Mailboxes>(block, 0);
        const auto source = argument<uint64_t>(block, 1), destination = argument<uint64_t>(block, 2);
        const auto bytes = argument<uint64_t>(block, 3);
        const auto reduction = argument<uint32_t>(block, 4);
        const auto stop = argument<exchange::Stop>(block, 5);
        const uint64_t first = uint64_t{block->block_index.x} * exchange::kThreads;
        const uint64_t end = std::min<uint64_t>(first + block->block.x, (bytes + 7) / 8);
        uint32_t& last = reinterpret_cast<uint32_t*>(boxes.numbers)[block->block_index.x];
        const uint32_t number = last + 1;
        const uint64_t half = (number & 1) * boxes.ranks * boxes.slots;
        const auto packet = [&](uint32_t to, uint32_t from, uint64_t slot) {
            return boxes.inbox[to] + sizeof(Packet) * (half + from * boxes.slots + slot);
        };
        const auto own = [&](uint64_t slot) { return exchange::load(source + slot * 8, bytes - slot * 8); };
        for (uint64_t slot = first; slot < end; ++slot)
            for (uint32_t to = 0; to < boxes.ranks; ++to)
                if (to != boxes.rank) put(packet(to, boxes.rank, slot), own(slot), number);
        for (uint64_t slot = first; slot < end; ++slot) {
            const auto of = [&](uint32_t rank) {
                return rank == boxes.rank ? own(slot) : take(block, stop, packet(boxes.rank, rank, slot), number);
            };
            union {
                uint64_t bits;
                typename Element::Stored element[8 / sizeof(typename Element::Stored)];
            } unit{of(0)};
            gpo::combine::Run<Element, 8 / sizeof(typename Element::Stored)> run(unit.element);
            for (uint32_t rank = 1; rank < boxes.ranks; ++rank) {
                unit.bits = of(rank);
                run.combine(reduction, unit.element);
            }
            run.store(reduction, boxes.ranks, unit.element);
            exchange::store(destination + slot * 8, bytes - slot * 8, unit.bits);
        }
        last = number;
    }
};

}  // namespace

void combine(gpo_soft_block* block) {
    const Combination combination{argument<uint64_t>(block, 0), argument<gpo::combine::Sources>(block, 1),
                                  argument<uint32_t>(block, 2), argument<uint32_t>(block, 4),
                                  argument<uint32_t>(block, 5)};
    gpo::combine::with_type(argument<uint32_t>(block, 3), [&]<class Element>(Element) {
        for_elements(block, argument<uint64_t>(block, 6), [&](uint64_t from, uint64_t to) {
            combination.runs<Element, 1>(combination.runs<Element, 64>(from, to), to);
        });
    });
}

template <class Element>
void all_reduce_small(gpo_soft_block* block) {
    Exchange<Element> exchange{block};
    block->services->run_threads(block, Exchange<Element>::of_thread, &exchange);
}

#define GPO_DEFINE(name, ...) template void all_reduce_small<gpo::combine::__VA_ARGS__>(gpo_soft_block*);
GPO_EACH_SMALL_ALL_REDUCE(GPO_DEFINE)
#undef GPO_DEFINE

}  // namespace gpo::softgpu
