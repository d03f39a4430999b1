// A ring of numbers that many threads put in and one takes out at a time, made for as few cache lines to change hands as
// possible: those who put in one after another share a line of sixteen numbers, and whoever takes them out only looks now
// and then, and writes nothing but how far it came.
//
// Each number carries the *lap* of the ring that it belongs to: that is how the taker knows that it has been written.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "host/host.h"

namespace gpo {

class Inbox {
public:
    static constexpr unsigned kSlots = 64, kItemBits = 24;

    /// Any thread; `item` has kItemBits. False if there is no room.
    bool put(uint32_t item) noexcept {
        uint64_t at = in_.load(std::memory_order_relaxed);
        do {
            host::crossing();
            if (static_cast<int64_t>(at - out_.load(std::memory_order_acquire)) >= kSlots) return false;
        } while (!in_.compare_exchange_weak(at, at + 1, std::memory_order_relaxed));
        host::crossing();
        slots_[at % kSlots].store(lap(at) | item, std::memory_order_release);
        return true;
    }

    /// Calls take(item) for all that is there, in order. One thread at a time.
    template <class Take>
    void take_all(Take&& take) noexcept {
        const uint64_t begin = out_.load(std::memory_order_relaxed);
        uint64_t at = begin;
        for (;; ++at) {
            const uint32_t value = slots_[at % kSlots].load(std::memory_order_acquire);
            if ((value & ~kItemMask) != lap(at)) break;
            take(value & kItemMask);
        }
        if (at != begin) out_.store(at, std::memory_order_release);
    }

private:
    static constexpr uint32_t kItemMask = (1u << kItemBits) - 1;
    // Never the one before it, which is what a slot holds until it is written; nor 0 in the first lap.
    static uint32_t lap(uint64_t at) noexcept { return static_cast<uint32_t>(at / kSlots + 1) << kItemBits; }

    alignas(128) std::atomic<uint64_t> in_{0};   // slots that were ever claimed
    std::atomic<uint64_t> out_{0};               // and emptied
    alignas(128) std::array<std::atomic<uint32_t>, kSlots> slots_{};
};

}  // namespace gpo
