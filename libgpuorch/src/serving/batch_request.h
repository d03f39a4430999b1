// The requests of a batcher, and where they are kept.
//
// Tickets. A request's place in memory is found by its ticket: a stripe, a number in the stripe, and above them how
// often the place was used. Threads take places from the stripe of their own, so that they rarely meet.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <vector>

#include "gpuorch/batcher.h"
#include "host/host.h"
#include "serving/answers.h"
#include "serving/flow_line.h"

namespace gpo {

struct FlowFigures;

struct alignas(64) BatchRequest {
    using Line = FlowLine<BatchRequest>;
    /// unused → submitted: the submitting thread. submitted → waiting → running → ended: under the batcher's lock.
    enum class State : uint8_t { unused, submitted, waiting, running, ended };

    uint64_t ticket = 0;  // of its newest use
    std::atomic<State> state{State::unused};
    std::atomic<uint64_t> dropped{0};  // ticket of the use whose receiver takes no outcome any more
    bool direct_output = false;        // copied to the program's memory by the device
    bool has_deadline = false;         // with an entry in its key's deadlines
    uint32_t key = 0;
    uint64_t flow_number = 0, elements = 0;
    const void* input = nullptr;
    uint64_t input_address = 0;
    void* output = nullptr;
    uint64_t output_address = 0;
    uint64_t* output_made = nullptr;
    uint64_t deadline = 0, submitted_ns = 0;
    Target target;

    BatchRequest* next = nullptr;  // in the inbox, or in the list of unused requests
    // While waiting:
    Line::Flow* flow = nullptr;
    BatchRequest *before = nullptr, *behind = nullptr;             // in the flow
    BatchRequest *older = nullptr, *younger = nullptr;             // of its key
    uint64_t cost = 0;                                             // its elements
    std::multimap<uint64_t, BatchRequest*>::iterator at_deadline;  // valid while has_deadline
    FlowFigures* figures = nullptr;                                // of its flow
    uint64_t formed_ns = 0;                                        // 0: not yet
    uint32_t track = 0;                                            // its batch's, in a trace
    // With GPO_BATCHER_PRESERVE_ORDER:
    BatchRequest* later = nullptr;  // the next request of the flow that isn't answered
    Outcome outcome;                // of an ended request that waits for earlier ones
};

class BatchRequests {
public:
    /// A place for a request, with a new ticket. Throws std::bad_alloc.
    BatchRequest& take(uint32_t thread) {
        const size_t number = thread % kStripes;
        Stripe& stripe = stripes_[number];
        std::lock_guard lock(stripe.lock);
        if (!stripe.unused) add_chunk(stripe, number);
        BatchRequest& request = *stripe.unused;
        stripe.unused = std::exchange(request.next, nullptr);
        request.ticket += uint64_t{1} << kPlaceBits;
        if (request.ticket >> kPlaceBits == 0) request.ticket += uint64_t{1} << kPlaceBits;  // never 0
        request.state.store(BatchRequest::State::submitted, std::memory_order_relaxed);
        return request;
    }
    void give_back(BatchRequest& request) noexcept {
        Stripe& stripe = stripes_[request.ticket % kStripes];
        std::lock_guard lock(stripe.lock);
        request.state.store(BatchRequest::State::unused, std::memory_order_relaxed);
        request.next = std::exchange(stripe.unused, &request);
    }
    /// The request with this ticket. NULL: it has been given back. Another thread may give it back at any time, unless
    /// the caller prevents it.
    BatchRequest* find(uint64_t ticket) noexcept {
        Stripe& stripe = stripes_[ticket % kStripes];
        const size_t index = (ticket & ((uint64_t{1} << kPlaceBits) - 1)) / kStripes;
        std::lock_guard lock(stripe.lock);
        if (index / kChunk >= stripe.chunks.size()) return nullptr;
        BatchRequest& request = stripe.chunks[index / kChunk][index % kChunk];
        const bool used = request.state.load(std::memory_order_relaxed) != BatchRequest::State::unused;
        return request.ticket == ticket && used ? &request : nullptr;
    }

private:
    static constexpr size_t kStripes = 16, kChunk = 128;
    static constexpr unsigned kPlaceBits = 32;
    struct alignas(64) Stripe {
        host::Mutex lock;
        BatchRequest* unused = nullptr;
        std::vector<std::unique_ptr<BatchRequest[]>> chunks;
    };
    static void add_chunk(Stripe& stripe, size_t number) {
        const size_t first = stripe.chunks.size() * kChunk;
        stripe.chunks.push_back(std::make_unique<BatchRequest[]>(kChunk));
        BatchRequest* chunk = stripe.chunks.back().get();
        for (size_t i = kChunk; i-- > 0;) {
            chunk[i].ticket = (first + i) * kStripes + number;
            chunk[i].next = std::exchange(stripe.unused, &chunk[i]);
        }
    }

    Stripe stripes_[kStripes];
};

}  // namespace gpo
