// A key of a batcher: its options, and its requests that wait.
#pragma once

#include <map>
#include <unordered_map>
#include <vector>

#include "serving/batch_figures.h"
#include "serving/batch_request.h"
#include "serving/batch_times.h"

namespace gpo {

struct BatchKey {
    /// `label`: interned.
    BatchKey(uint32_t number, const gpo_batcher_key_options& options, uint32_t device_count, uint64_t room,
             const char* label)
        : number(number), flags(options.flags), max_batch(options.max_batch), max_elements(options.max_elements),
          input_bytes(options.input_bytes), output_bytes(options.output_bytes), room(room),
          max_delay_ns(options.max_delay_ns), ragged(options.layout == GPO_BATCH_RAGGED), work(options.work),
          user(options.user), release(options.release), label(label) {
        if (options.buckets) buckets.assign(options.buckets, options.buckets + device_count);
    }

    // These don't change.
    const uint32_t number, flags, max_batch;
    const uint64_t max_elements, input_bytes, output_bytes;
    const uint64_t room;          // elements of the largest shape that a batch can get
    const uint64_t max_delay_ns;  // GPO_AUTO: learnt
    const bool ragged;
    std::vector<gpo_buckets_t> buckets;  // by device; empty: `work`
    const gpo_batch_fn work;
    void* const user;
    const gpo_batch_release_fn release;  // or NULL
    const char* const label;

    bool preserves_order() const noexcept { return flags & GPO_BATCHER_PRESERVE_ORDER; }
    bool variable_output() const noexcept { return flags & GPO_BATCHER_VARIABLE_OUTPUT; }

    BatchTimes times;                               // of batches, by their elements
    std::atomic<uint64_t> waiting{0}, elements{0};  // in the line; written under the batcher's lock

    std::atomic<uint64_t> flows{0};  // with requests in the line; written as waiting
    /// Elements in the line, by a hash of their flow; likewise.
    static constexpr size_t kFlowClasses = 256;
    std::atomic<uint64_t> flow_elements[kFlowClasses]{};
    std::atomic<uint64_t>& elements_of(uint64_t flow) noexcept {
        return flow_elements[flow * 0x9e3779b97f4a7c15u >> 56];
    }
    uint64_t elements_of(uint64_t flow) const noexcept {
        return flow_elements[flow * 0x9e3779b97f4a7c15u >> 56].load(std::memory_order_relaxed);
    }
    std::atomic<uint64_t> lead_ns{0};  // mean time that a lane takes to gather a batch and submit it; likewise
    std::atomic<uint64_t> refused_full{0}, refused_deadline{0};

    // Under the batcher's lock:
    BatchRequest::Line line;
    std::multimap<uint64_t, BatchRequest*> deadlines;
    BatchRequest *oldest = nullptr, *youngest = nullptr;
    uint64_t running = 0, running_batches = 0, newest_delay_ns = 0;
    KeyFigures figures;
    /// The requests of a flow that aren't answered, in the order of submission.
    struct Order {
        BatchRequest *first = nullptr, *last = nullptr;
    };
    std::unordered_map<uint64_t, Order> orders;  // with GPO_BATCHER_PRESERVE_ORDER

    bool full() const noexcept {
        return waiting.load(std::memory_order_relaxed) >= max_batch ||
               (ragged && elements.load(std::memory_order_relaxed) >= max_elements);
    }
    /// Elements of the next batch, as far as is known.
    uint64_t next_elements() const noexcept {
        const uint64_t most = ragged ? max_elements : max_batch;
        return std::clamp<uint64_t>(elements.load(std::memory_order_relaxed), 1, most);
    }

    /// How long a lane took to gather a batch and to submit it.
    void note_lead(uint64_t ns) noexcept;
    /// Throws std::bad_alloc, and then nothing was changed.
    void join(BatchRequest& request, const FlowWeights& weights);
    /// For a request that couldn't join: puts it behind the unanswered ones of its flow, if order is preserved and
    /// there are some.
    bool follow(BatchRequest& request) noexcept;
    /// Takes a waiting request out of the line. `in_turn`: line.next() has given it.
    void leave(BatchRequest& request, bool in_turn) noexcept;

private:
    void count(const BatchRequest& request, uint64_t one) noexcept;
};

}  // namespace gpo
