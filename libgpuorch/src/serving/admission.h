// Admissions: who may use how much of a GPU at a time (gpuorch/admission.h).
//
// A single lock guards everything. Entries are put into their queues under the lock, so that they come in the order of
// admission. After the lock is released, sleepers are woken and callbacks become due (Answers).
//
// The line. Each priority is a line of its own, whose flows take turns (flow_line.h).
//
// Time. An errand (Sweep) ends requests whose deadline has passed, and admits requests when the watched pool has fallen
// to its low watermark. The errand is posted for the earliest deadline.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "core/errands.h"
#include "gpuorch/admission.h"
#include "memory/pool.h"
#include "serving/answers.h"
#include "serving/flow_line.h"

namespace gpo {

class Admission final : public Object, private PoolWatch {
public:
    /// `options` has no AUTO left. `pool`: NULL, or the watched pool. Throws std::bad_alloc, std::system_error.
    Admission(Runtime& runtime, const gpo_admission_options& options, Ref<Pool> pool);

    using Target = gpo::Target;
    /// `request.count` is at least 1. GPO_SUCCESS, GPO_WOULD_BLOCK, GPO_TIMEOUT or GPO_CANCELLED (`target.dropped`).
    /// Writes the ticket under the lock, before another thread can see the request's end. Throws.
    gpo_status enter(const gpo_admission_request& request, Target target, uint64_t* ticket);
    /// For a handler that takes no outcome any more. `ticket`: written by enter(). If `ticket` is still 0, `dropped`
    /// keeps enter() from taking the request.
    /// Returns the ticket.
    uint64_t drop(const uint64_t& ticket, bool& dropped) noexcept;

    void cancel(uint64_t ticket);
    void leave(uint64_t ticket);
    gpo_status leave_after(uint64_t ticket, Stream& stream);
    void set_budget(uint64_t count, uint64_t bytes) noexcept;
    void set_flow(uint64_t flow, uint32_t weight);
    gpo_admission_info info() noexcept;
    /// Number of the admission in the process, from 1 on.
    uint64_t number() const noexcept { return number_; }

    void destroyed() noexcept override { end_line(destroyed_error_); }
    void stop() noexcept override { end_line(shut_down_error_); }
    void close() noexcept override;

private:
    friend class Leaving;
    enum class State : uint8_t { unused, waiting, held, leaving };
    struct Request;
    using Line = FlowLine<Request>;
    /// A request that doesn't wait uses the first cache line alone.
    struct alignas(64) Request {
        uint64_t ticket = 0;  // of its newest use
        State state = State::unused;
        uint32_t priority = 0;
        uint64_t count = 0, bytes = 0;
        uint64_t submitted_ns = 0;
        Line::Flow* flow = nullptr;                    // while waiting
        Request *before = nullptr, *behind = nullptr;  // in the flow; behind: also in the list of unused requests
        // while waiting:
        uint64_t cost = 0;                                     // see cost_of()
        std::multimap<uint64_t, Request*>::iterator deadline;  // valid while `has_deadline`
        bool has_deadline = false;                             // with an entry in deadlines_
        Target target;
    };
    struct Budget {
        uint64_t count, bytes;
    };
    class Sweep final : public Errand {
    public:
        explicit Sweep(Admission& of) noexcept : of_(of) {}
        void run() noexcept override;

    private:
        Admission& of_;
    };

    ~Admission() override;
    void crossed(bool above) noexcept override;
    bool fits(uint64_t count, uint64_t bytes) const noexcept {
        return held_.count <= budget_.count && budget_.count - held_.count >= count && held_.bytes <= budget_.bytes &&
               budget_.bytes - held_.bytes >= bytes;
    }
    bool too_large(uint64_t count, uint64_t bytes) const noexcept {
        return count > budget_.count || bytes > budget_.bytes;
    }

    // Under lock_:
    void refuse_closed() const;
    gpo_status look_at(const gpo_admission_request& request, uint64_t now);
    uint64_t cost_of(const Request& request) const noexcept;
    Request& take_request();
    Request* find(uint64_t ticket) noexcept;
    Request& find_or_fail(uint64_t ticket);
    void forget(Request& request) noexcept;
    void join_line(Request& request, uint64_t number, uint64_t deadline);
    void leave_line(Request& request) noexcept;
    bool first_in_line(uint32_t priority) const noexcept;
    Request* next_in_line() noexcept;
    void hold(Request& request, uint64_t now) noexcept;
    void give_back(Request& request) noexcept;
    void end(Request& request, const ErrorPtr& error, uint64_t now, Answers& answers) noexcept;
    void answer(Request& request, const ErrorPtr& error, uint64_t now, Answers& answers) noexcept;
    void expire(uint64_t now, Answers& answers) noexcept;
    void admit(uint64_t now, Answers& answers) noexcept;
    uint64_t earliest_deadline() const noexcept;

    // Without lock_:
    void end_line(const ErrorPtr& error) noexcept;
    bool end_too_large(size_t& chunk, size_t& i) noexcept;
    void finish_leaving(uint64_t ticket) noexcept;
    /// Admits and expires what can be, until nothing is left to do.
    void serve() noexcept {
        while (serve_some()) {
        }
    }
    /// A step of serve(), of limited length. True if there may be more to do.
    bool serve_some() noexcept;
    void sweep_at(uint64_t due) noexcept;

    const uint64_t number_;
    const uint32_t capacity_;
    const Ref<Pool> pool_;
    // Made ahead: ending a wait must not need memory.
    const ErrorPtr expired_error_, cancelled_error_, too_large_error_, destroyed_error_, shut_down_error_;
    Sweep sweep_{*this};
    std::atomic<bool> swept_{false};  // the errand is posted
    std::atomic<bool> paused_{false};

    // The cache line that each call writes. Threads that call at the same time wait for this line.
    alignas(64) host::Mutex lock_;
    uint32_t waiting_ = 0;  // requests
    Budget budget_, held_{0, 0};
    Request* unused_ = nullptr;
    uint64_t held_requests_ = 0, admitted_ = 0, waited_ = 0;

    alignas(64) ErrorPtr closed_;                       // why no request is accepted any more
    std::vector<Line> lines_;                           // by priority
    std::vector<std::unique_ptr<Request[]>> requests_;  // by the index in their tickets, in chunks
    std::multimap<uint64_t, Request*> deadlines_;       // of waiting requests
    FlowWeights weights_;
    gpo_admission_info counts_{};
};

template <>
struct TypeOf<Admission> {
    static constexpr Type value = Type::admission;
};

}  // namespace gpo
