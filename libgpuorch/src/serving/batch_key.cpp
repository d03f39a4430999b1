#include "serving/batch_key.h"

namespace gpo {

void BatchKey::note_lead(uint64_t ns) noexcept {
    const uint64_t lead = lead_ns.load(std::memory_order_relaxed);
    const uint64_t more = ns > lead ? std::min(ns - lead, lead) / 8 : 0, less = ns < lead ? (lead - ns) / 4 : 0;
    lead_ns.store(lead == 0 ? ns : lead + more - less, std::memory_order_relaxed);
}

void BatchKey::join(BatchRequest& request, const FlowWeights& weights) {
    Order* order = preserves_order() ? &orders[request.flow_number] : nullptr;
    request.cost = request.elements;
    request.has_deadline = false;
    try {
        if (request.deadline) {
            request.at_deadline = deadlines.emplace(request.deadline, &request);
            request.has_deadline = true;
        }
        line.join(request, request.flow_number, weights);
    } catch (...) {
        if (std::exchange(request.has_deadline, false)) deadlines.erase(request.at_deadline);
        if (order && !order->first) orders.erase(request.flow_number);
        throw;
    }
    if (order) {
        request.later = nullptr;
        (order->last ? order->last->later : order->first) = &request;
        order->last = &request;
    }
    request.older = youngest;
    request.younger = nullptr;
    (youngest ? youngest->younger : oldest) = &request;
    youngest = &request;
    count(request, 1);
}

bool BatchKey::follow(BatchRequest& request) noexcept {
    const auto of = preserves_order() ? orders.find(request.flow_number) : orders.end();
    if (of == orders.end()) return false;
    request.later = nullptr;
    of->second.last->later = &request;
    of->second.last = &request;
    return true;
}

// `one`: 1 or, modulo 2^64, -1.
void BatchKey::count(const BatchRequest& request, uint64_t one) noexcept {
    const auto add = [](std::atomic<uint64_t>& to, uint64_t count) {
        to.store(to.load(std::memory_order_relaxed) + count, std::memory_order_relaxed);
    };
    add(waiting, one);
    add(elements, one * request.elements);
    add(elements_of(request.flow_number), one * request.elements);
    flows.store(line.flows(), std::memory_order_relaxed);
}

void BatchKey::leave(BatchRequest& request, bool in_turn) noexcept {
    if (in_turn)
        line.take(request);
    else
        line.leave(request);
    if (std::exchange(request.has_deadline, false)) deadlines.erase(request.at_deadline);
    (request.older ? request.older->younger : oldest) = request.younger;
    (request.younger ? request.younger->older : youngest) = request.older;
    request.older = request.younger = nullptr;
    count(request, UINT64_MAX);
}

}  // namespace gpo
