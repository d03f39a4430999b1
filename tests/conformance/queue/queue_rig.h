// Queues that tests lay out by hand in plain device memory.
#pragma once

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "conformance/program.h"
#include "support/device_queue.h"

namespace gpo::test {

/// The memory of a range: the counter of claims, and the order of the numbers if the range has an order.
class RangeMemory {
public:
    RangeMemory(Gpu& gpu, gpo_stream_t stream, uint64_t count, uint32_t batch, const std::vector<uint32_t>& order = {},
                uint32_t flags = 0)
        : stream_(stream), words_(gpu.memory(384)) {
        const std::vector<uint64_t> zeros(48);
        REQUIRE_OK(gpo_copy_to_device(stream, words_, zeros.data(), 384));
        if (!order.empty()) {
            order_ = gpu.memory(order.size() * 4);
            REQUIRE_OK(gpo_copy_to_device(stream, order_, order.data(), order.size() * 4));
        }
        REQUIRE_OK(gpo_stream_wait(stream, kPatience));
        handle.words = words_;
        handle.order = order_;
        handle.count = count;
        handle.batch = batch;
        handle.flags = flags;
    }

    /// The counter of claims. The counter is 0 again after each launch, unless the launch was ended in the middle.
    uint64_t claims() const {
        uint64_t claims = 0;
        REQUIRE_OK(gpo_copy_to_host(stream_, &claims, words_, 8));
        REQUIRE_OK(gpo_stream_wait(stream_, kPatience));
        return claims;
    }

    DeviceRange handle;

private:
    gpo_stream_t stream_;
    Memory words_, order_;
};

/// The memory of a ring that is empty and open.
class RingMemory {
public:
    struct Options {
        uint32_t capacity_log2 = 6, task_size = 16, priorities = 1, flags = 0;
        uint64_t start = 0;  // position of the first push and of the first pop
    };

    RingMemory(Gpu& gpu, gpo_stream_t stream, Options options)
        : stream_(stream), words_(gpu.memory(options.priorities * 1024)),
          sequence_(gpu.memory((uint64_t{options.priorities} << options.capacity_log2) * 4)),
          tasks_(gpu.memory((uint64_t{options.priorities} << options.capacity_log2) * options.task_size)) {
        handle.words = words_;
        handle.sequence = sequence_;
        handle.tasks = tasks_;
        handle.capacity_log2 = options.capacity_log2;
        handle.task_size = options.task_size;
        handle.priorities = options.priorities;
        handle.flags = options.flags;
        const uint64_t capacity = uint64_t{1} << options.capacity_log2;
        std::vector<uint64_t> words(options.priorities * 128);
        std::vector<uint32_t> sequence(options.priorities * capacity);
        for (uint32_t p = 0; p < options.priorities; ++p) {
            words[p * 128 + kTail * 16] = words[p * 128 + kHead * 16] = options.start;
            words[p * 128 + kRoom * 16] = capacity;
            words[kDone * 16] += options.start;
            for (uint64_t at = options.start; at < options.start + capacity; ++at)
                sequence[p * capacity + at % capacity] = static_cast<uint32_t>(2 * (at / capacity));
        }
        REQUIRE_OK(gpo_copy_to_device(stream, words_, words.data(), words_.bytes()));
        REQUIRE_OK(gpo_copy_to_device(stream, sequence_, sequence.data(), sequence_.bytes()));
        REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    }

    uint64_t word(RingLine line, uint32_t priority = 0) const {
        uint64_t word = 0;
        REQUIRE_OK(gpo_copy_to_host(stream_, &word, words_ + priority * 1024 + line * 128, 8));
        REQUIRE_OK(gpo_stream_wait(stream_, kPatience));
        return word;
    }

    DeviceRing handle;

private:
    gpo_stream_t stream_;
    Memory words_, sequence_, tasks_;
};

}  // namespace gpo::test
