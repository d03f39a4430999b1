// A line of requests whose flows take turns: deficit round robin (M. Shreedhar and G. Varghese, 1995).
//
// The flows with requests form a ring, and each flow is a list of its requests. The flow at the front of the ring is at
// turn. A turn adds a quantum to the flow's deficit once, and takes requests of the flow as long as the deficit covers
// their cost. The quantum is about the largest cost of a request in the line. Each turn therefore takes a request, and
// equal requests of equal flows alternate.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <unordered_map>
#include <utility>

namespace gpo {

/// The weights of flows. All have the weight 1 at first.
class FlowWeights {
public:
    static constexpr size_t kMost = 65536;

    uint64_t of(uint64_t flow) const noexcept {
        const auto known = weights_.find(flow);
        return known == weights_.end() ? 1 : known->second;
    }
    /// False: kMost flows have other weights than 1. Throws std::bad_alloc.
    bool set(uint64_t flow, uint32_t weight) {
        if (weight == 1) {
            weights_.erase(flow);
        } else if (const auto known = weights_.find(flow); known != weights_.end()) {
            known->second = weight;
        } else {
            if (weights_.size() >= kMost) return false;
            weights_.emplace(flow, weight);
        }
        return true;
    }

private:
    std::unordered_map<uint64_t, uint32_t> weights_;
};

/// Request has the members `flow` (a Flow*, of the line it is in), `before` and `behind` (Request*, in the flow), and
/// `cost` (1 to 2^kCostBits - 1).
template <class Request>
class FlowLine {
public:
    static constexpr unsigned kCostBits = 32;
    struct Flow {
        uint64_t number = 0, weight = 1, deficit = 0;
        bool paid = false;  // got its quantum in this turn
        Request *first = nullptr, *last = nullptr;
        Flow *before = nullptr, *behind = nullptr;  // in the ring
    };

    bool empty() const noexcept { return !at_turn_; }
    /// Number of flows with requests.
    size_t flows() const noexcept { return flows_.size(); }
    /// Any request. Not of an empty line.
    Request& any() const noexcept { return *at_turn_->first; }

    /// Throws std::bad_alloc, and then nothing was changed.
    void join(Request& request, uint64_t number, const FlowWeights& weights) {
        const auto [place, fresh] = flows_.try_emplace(number);
        Flow& flow = place->second;
        request.flow = &flow;
        request.before = flow.last;
        request.behind = nullptr;
        (flow.last ? flow.last->behind : flow.first) = &request;
        flow.last = &request;
        add(request.cost);
        if (!fresh) return;
        flow.number = number;
        flow.weight = weights.of(number);
        if (!at_turn_) {
            flow.before = flow.behind = at_turn_ = &flow;
        } else {  // at the ring's end
            flow.behind = at_turn_;
            flow.before = at_turn_->before;
            flow.before->behind = flow.behind->before = &flow;
        }
    }

    void leave(Request& request) noexcept {
        Flow& flow = *std::exchange(request.flow, nullptr);
        (request.before ? request.before->behind : flow.first) = request.behind;
        (request.behind ? request.behind->before : flow.last) = request.before;
        request.before = request.behind = nullptr;
        --costs_[std::bit_width(request.cost)].requests;
        if (flow.first) return;
        if (flow.behind == &flow) {
            at_turn_ = nullptr;
        } else {
            flow.before->behind = flow.behind;
            flow.behind->before = flow.before;
            if (at_turn_ == &flow) at_turn_ = flow.behind;
        }
        flows_.erase(flow.number);
    }

    /// The request whose turn it is; NULL: the line is empty. The deficit of its flow covers its cost.
    Request* next() noexcept {
        while (Flow* flow = at_turn_) {
            if (!std::exchange(flow->paid, true)) flow->deficit += flow->weight * quantum();
            if (flow->first->cost <= flow->deficit) return flow->first;
            flow->paid = false;
            at_turn_ = flow->behind;
        }
        return nullptr;
    }
    /// Takes the request of next() out of the line, at the cost of its flow's deficit.
    void take(Request& request) noexcept {
        request.flow->deficit -= request.cost;
        leave(request);
    }

    /// Requests cost `cost(request)` from now on. Flows' deficits, which were of other costs, are dropped.
    template <class Cost>
    void set_costs(Cost&& cost) noexcept {
        std::fill(std::begin(costs_), std::end(costs_), Costs());
        for (auto& [number, flow] : flows_) {
            flow.deficit = 0;
            flow.paid = false;
            for (Request* request = flow.first; request; request = request->behind) add(request->cost = cost(*request));
        }
    }
    void set_weight(uint64_t number, uint64_t weight) noexcept {
        if (const auto found = flows_.find(number); found != flows_.end()) found->second.weight = weight;
    }

private:
    /// Requests whose cost has a certain number of bits, and the largest cost since the class was last empty.
    struct Costs {
        uint32_t requests = 0;
        uint64_t largest = 0;
    };
    void add(uint64_t cost) noexcept {
        Costs& of = costs_[std::bit_width(cost)];
        if (of.requests++ == 0) of.largest = 0;
        of.largest = std::max(of.largest, cost);
    }
    /// At least the cost of each request in the line, and less than twice the largest.
    uint64_t quantum() const noexcept {
        for (unsigned bits = kCostBits; bits > 0; --bits)
            if (costs_[bits].requests) return costs_[bits].largest;
        return 0;
    }

    std::unordered_map<uint64_t, Flow> flows_;
    Flow* at_turn_ = nullptr;
    Costs costs_[kCostBits + 1];
};

}  // namespace gpo
