// Rings of numbers: many threads put numbers in, one thread at a time takes them out. The layout moves few cache lines
// between cores. Sixteen successive numbers share a line, and the taker looks only now and then, and writes only its
// position. Many threads put into an Inbox. Lanes have one ring for each pair of threads: putting in takes no locked
// instruction.
//
// Each number carries the *lap* of the ring in which it was written. The lap shows the taker that the number has been
// written.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "host/host.h"

namespace gpo {

template <unsigned kSlots>
class LapRing {
public:
    static constexpr unsigned kItemBits = 24;

    void write(uint64_t at, uint32_t item) noexcept {
        slots_[at % kSlots].store(lap(at) | item, std::memory_order_release);
    }

    /// Calls take(item) for all items written from `at` on, in order. Returns the position of the next item.
    template <class Take>
    uint64_t read(uint64_t at, Take&& take) const noexcept {
        for (;; ++at) {
            const uint32_t value = slots_[at % kSlots].load(std::memory_order_acquire);
            if ((value & ~kItemMask) != lap(at)) return at;
            take(value & kItemMask);
        }
    }

private:
    static constexpr uint32_t kItemMask = (1u << kItemBits) - 1;
    // Differs from the lap before, which a slot keeps until its next write, and from 0 in the first lap.
    static uint32_t lap(uint64_t at) noexcept { return static_cast<uint32_t>(at / kSlots + 1) << kItemBits; }

    std::array<std::atomic<uint32_t>, kSlots> slots_{};
};

class Inbox {
public:
    static constexpr unsigned kSlots = 64, kItemBits = LapRing<kSlots>::kItemBits;

    /// Any thread. `item` has kItemBits. False if the ring is full.
    bool put(uint32_t item) noexcept {
        uint64_t at = in_.load(std::memory_order_relaxed);
        do {
            host::crossing();
            if (static_cast<int64_t>(at - out_.load(std::memory_order_acquire)) >= kSlots) return false;
        } while (!in_.compare_exchange_weak(at, at + 1, std::memory_order_relaxed));
        host::crossing();
        ring_.write(at, item);
        return true;
    }

    /// Calls take(item) for all items, in order. By a single thread at a time.
    template <class Take>
    void take_all(Take&& take) noexcept {
        const uint64_t begin = out_.load(std::memory_order_relaxed), end = ring_.read(begin, take);
        if (end != begin) out_.store(end, std::memory_order_release);
    }

private:
    alignas(128) std::atomic<uint64_t> in_{0};   // slots ever claimed
    std::atomic<uint64_t> out_{0};               // slots ever emptied
    alignas(128) LapRing<kSlots> ring_;
};

class Lanes {
public:
    static constexpr unsigned kSlots = 16, kMostEnds = 64;

    /// Between `ends` (up to kMostEnds) ends. Throws std::bad_alloc.
    explicit Lanes(unsigned ends)
        : ends_(ends), rings_(new Ring[size_t{ends} * ends]), senders_(new Sender[ends]),
          receivers_(new Receiver[ends]) {}

    /// By a single thread at a time for each `from`. False if the ring is full.
    bool put(unsigned from, unsigned to, uint32_t item) noexcept {
        Sender::Lane& lane = senders_[from].to[to];
        Receiver& receiver = receivers_[to];
        if (lane.in - lane.out == kSlots) [[unlikely]] {
            lane.out = receiver.out[from].load(std::memory_order_acquire);
            if (lane.in - lane.out == kSlots) return false;
        }
        if (lane.in == 0) [[unlikely]] receiver.used.fetch_or(uint64_t{1} << from, std::memory_order_relaxed);
        host::crossing();
        ring(from, to).write(lane.in++, item);
        return true;
    }

    /// Calls take(item) for all items, in order from each end. By a single thread at a time for each `to`.
    template <class Take>
    void take_all(unsigned to, Take&& take) noexcept {
        Receiver& receiver = receivers_[to];
        for (uint64_t left = receiver.used.load(std::memory_order_relaxed); left != 0; left &= left - 1) {
            const auto from = static_cast<unsigned>(std::countr_zero(left));
            const uint64_t begin = receiver.out[from].load(std::memory_order_relaxed),
                           end = ring(from, to).read(begin, take);
            if (end != begin) receiver.out[from].store(end, std::memory_order_release);
        }
    }

private:
    struct alignas(64) Ring : LapRing<kSlots> {};
    struct alignas(128) Sender {
        struct Lane {
            uint64_t in = 0, out = 0;   // items put in; items taken out, as of the sender's last look
        };
        std::array<Lane, kMostEnds> to{};
    };
    struct alignas(128) Receiver {
        std::atomic<uint64_t> used{0};   // bits of the ends that ever put an item in
        std::array<std::atomic<uint64_t>, kMostEnds> out{};
    };
    Ring& ring(unsigned from, unsigned to) noexcept { return rings_[size_t{to} * ends_ + from]; }

    const unsigned ends_;
    std::unique_ptr<Ring[]> rings_;
    std::unique_ptr<Sender[]> senders_;
    std::unique_ptr<Receiver[]> receivers_;
};

}  // namespace gpo
