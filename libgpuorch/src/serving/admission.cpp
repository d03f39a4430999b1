#include "serving/admission.h"

#include <algorithm>
#include <bit>
#include <iterator>

#include "serving/histogram.h"
#include "serving/serving_trace.h"

namespace gpo {

namespace {

constexpr unsigned kIndexBits = 24;         // of a ticket; above them the number of its request's use
constexpr size_t kChunk = 256;              // requests
constexpr uint64_t kWholeBudget = 1 << 20;  // a cost
constexpr size_t kAtATime = 4096;           // requests that are looked at under one hold of the lock

std::atomic<uint64_t> g_admissions{0};  // ever made

constexpr size_t index_of(uint64_t ticket) { return ticket & ((1u << kIndexBits) - 1); }

/// The part of a budget, at least 1; 0 of a budget without a limit.
uint64_t share(uint64_t part, uint64_t budget) noexcept {
    if (part == 0 || budget == UINT64_MAX) return 0;
    if (part >= budget) return kWholeBudget;
    const auto exact = static_cast<double>(part) / static_cast<double>(budget) * kWholeBudget;
    return std::min(static_cast<uint64_t>(exact) + 1, kWholeBudget);
}

}  // namespace

// Gives a place back when a stream has got past a point.
class Leaving final : public CompletionHandler {
public:
    Leaving(Admission& admission, uint64_t ticket) noexcept : admission_(&admission), ticket_(ticket) {}
    void on_completed(const Outcome&) noexcept override { admission_->finish_leaving(ticket_); }

private:
    const Ref<Admission> admission_;
    const uint64_t ticket_;
};

Admission::Admission(Runtime& runtime, const gpo_admission_options& options, Ref<Pool> pool)
    : Object(runtime, Type::admission, options.label), PoolWatch(options.high_bytes, options.low_bytes),
      number_(g_admissions.fetch_add(1, std::memory_order_relaxed) + 1), capacity_(options.capacity),
      pool_(std::move(pool)),
      expired_error_(make_error(GPO_TIMEOUT, "the request's deadline passed before there was room")),
      cancelled_error_(make_error(GPO_CANCELLED, "the request was cancelled")),
      too_large_error_(make_error(GPO_LIMIT_EXCEEDED, "the request asks for more than the lowered budget")),
      destroyed_error_(make_error(GPO_CANCELLED, "the admission was destroyed")),
      shut_down_error_(make_error(GPO_CANCELLED, "the runtime is shutting down")), budget_{options.count,
                                                                                           options.bytes},
      lines_(options.priorities) {
    runtime.errands().start();
    if (pool_) pool_->watch(*this);
}

Admission::~Admission() = default;

void Admission::close() noexcept {
    if (pool_) pool_->unwatch(*this);
}

void Admission::refuse_closed() const {
    if (closed_ == destroyed_error_) fail(GPO_STALE_HANDLE, describe(), " was destroyed");
    if (closed_ || runtime().shutting_down()) fail(GPO_SHUT_DOWN, "the runtime is shutting down");
}

uint64_t Admission::cost_of(const Request& request) const noexcept {
    return std::max({share(request.count, budget_.count), share(request.bytes, budget_.bytes), uint64_t{1}});
}

Admission::Request& Admission::take_request() {
    if (!unused_) {
        const size_t first = requests_.size() * kChunk;
        if (first >> kIndexBits) fail(GPO_LIMIT_EXCEEDED, "2^24 requests wait or hold places of ", describe());
        requests_.push_back(std::make_unique<Request[]>(kChunk));
        Request* chunk = requests_.back().get();
        for (size_t i = kChunk; i-- > 0;) {
            chunk[i].ticket = first + i;
            chunk[i].behind = std::exchange(unused_, &chunk[i]);
        }
    }
    Request& request = *unused_;
    unused_ = std::exchange(request.behind, nullptr);
    request.ticket += uint64_t{1} << kIndexBits;
    if (request.ticket >> kIndexBits == 0) request.ticket += uint64_t{1} << kIndexBits;  // never 0
    return request;
}

Admission::Request* Admission::find(uint64_t ticket) noexcept {
    const size_t index = index_of(ticket);
    if (index / kChunk >= requests_.size()) return nullptr;
    Request& request = requests_[index / kChunk][index % kChunk];
    return request.ticket == ticket && request.state != State::unused ? &request : nullptr;
}

Admission::Request& Admission::find_or_fail(uint64_t ticket) {
    Request* request = find(ticket);
    if (!request) fail(GPO_NOT_FOUND, describe(), ": no request with the ticket ", ticket, " waits or holds a place");
    return *request;
}

void Admission::forget(Request& request) noexcept {
    request.state = State::unused;
    request.behind = std::exchange(unused_, &request);
}

// Throws std::bad_alloc, and then nothing was changed.
void Admission::join_line(Request& request, uint64_t number, uint64_t deadline) {
    request.cost = cost_of(request);
    if (deadline) request.deadline = deadlines_.emplace(deadline, &request);
    Line& line = lines_[request.priority];
    const size_t flows = line.flows();
    try {
        line.join(request, number, weights_);
    } catch (...) {
        if (deadline) deadlines_.erase(request.deadline);
        throw;
    }
    request.has_deadline = deadline != 0;
    request.state = State::waiting;
    ++waiting_;
    counts_.waiting_bytes += request.bytes;
    counts_.waiting_flows += line.flows() - flows;
}

void Admission::leave_line(Request& request) noexcept {
    Line& line = lines_[request.priority];
    const size_t flows = line.flows();
    line.leave(request);
    if (std::exchange(request.has_deadline, false)) deadlines_.erase(request.deadline);
    --waiting_;
    counts_.waiting_bytes -= request.bytes;
    counts_.waiting_flows -= flows - line.flows();
}

bool Admission::first_in_line(uint32_t priority) const noexcept {
    for (uint32_t i = 0; i <= priority; ++i)
        if (!lines_[i].empty()) return false;
    return true;
}

// The next request to admit. NULL: no request waits.
Admission::Request* Admission::next_in_line() noexcept {
    for (Line& line : lines_)
        if (Request* request = line.next()) return request;
    return nullptr;
}

void Admission::hold(Request& request, uint64_t now) noexcept {
    request.state = State::held;
    held_.count += request.count;
    held_.bytes += request.bytes;
    ++held_requests_;
    ++admitted_;
    const uint64_t waited = now - request.submitted_ns;
    if (waited == 0) return;
    counts_.wait_ns += waited;
    counts_.longest_wait_ns = std::max(counts_.longest_wait_ns, waited);
    ++counts_.wait_times[histogram_place(waited / 1000, GPO_ADMISSION_TIMES)];
    ++waited_;
}

void Admission::give_back(Request& request) noexcept {
    held_.count -= request.count;
    held_.bytes -= request.bytes;
    --held_requests_;
    forget(request);
}

void Admission::answer(Request& request, const ErrorPtr& error, uint64_t now, Answers& answers) noexcept {
    Outcome outcome;
    outcome.error = error;
    outcome.operation = request.ticket;
    outcome.submitted_ns = request.submitted_ns;
    outcome.completed_ns = now;
    serving_trace::request(runtime(), {"wait for a place of", label(), trace::kOfAdmission | number_, request.ticket,
                                       request.target.user_data, request.submitted_ns, 0, now, 0, outcome.status()});
    if (error) runtime().counters.count_error(error->status);
    answers.put(request.target, std::move(outcome));
}

// Ends a wait without a place.
void Admission::end(Request& request, const ErrorPtr& error, uint64_t now, Answers& answers) noexcept {
    leave_line(request);
    ++(error->status == GPO_TIMEOUT          ? counts_.expired
       : error->status == GPO_LIMIT_EXCEEDED ? counts_.too_large
                                             : counts_.cancelled);
    answer(request, error, now, answers);
    forget(request);
}

void Admission::expire(uint64_t now, Answers& answers) noexcept {
    while (!answers.full() && !deadlines_.empty() && deadlines_.begin()->first <= now)
        end(*deadlines_.begin()->second, expired_error_, now, answers);
}

void Admission::admit(uint64_t now, Answers& answers) noexcept {
    while (!answers.full()) {
        Request* request = next_in_line();
        if (!request) return;
        if (request->target.queue && request->target.queue->was_destroyed()) {
            end(*request, cancelled_error_, now, answers);  // no program would give the place back
            continue;
        }
        if (paused_.load(std::memory_order_relaxed) || !fits(request->count, request->bytes)) return;
        request->flow->deficit -= request->cost;
        leave_line(*request);
        hold(*request, now);
        answer(*request, nullptr, now, answers);
    }
}

uint64_t Admission::earliest_deadline() const noexcept { return deadlines_.empty() ? 0 : deadlines_.begin()->first; }

bool Admission::serve_some() noexcept {
    Answers answers(GPO_ORIGIN_ADMISSION);
    bool more;
    {
        std::lock_guard lock(lock_);
        if (waiting_ == 0) return false;
        const uint64_t now = host::now();
        expire(now, answers);
        admit(now, answers);
        more = answers.full();
    }
    answers.give();
    return more;
}

// Whether the request may be admitted or wait: GPO_SUCCESS, or why not. Throws.
gpo_status Admission::look_at(const gpo_admission_request& request, uint64_t now) {
    refuse_closed();
    if (request.priority >= lines_.size())
        fail(GPO_INVALID_ARGUMENT, "request.priority is ", request.priority, ", and ", describe(), " has ",
             lines_.size(), " priorities");
    if (request.deadline_ns && request.deadline_ns <= now) {
        ++counts_.expired;
        return GPO_TIMEOUT;
    }
    if (too_large(request.count, request.bytes)) {
        ++counts_.too_large;
        const bool places = request.count > budget_.count;
        fail(GPO_LIMIT_EXCEEDED, "the request asks for ", places ? request.count : request.bytes,
             places ? " places of " : " bytes of ", places ? budget_.count : budget_.bytes, ", the whole budget of ",
             describe());
    }
    return GPO_SUCCESS;
}

gpo_status Admission::enter(const gpo_admission_request& request, Target target, uint64_t* ticket) {
    const uint64_t now = host::now();
    Outcome outcome;  // of a request that doesn't wait
    outcome.submitted_ns = outcome.completed_ns = now;
    uint64_t sweep = 0;
    const uint64_t deadline = request.deadline_ns == UINT64_MAX ? 0 : request.deadline_ns;
    bool passes = false;
    {
        std::lock_guard lock(lock_);
        if (target.dropped && *target.dropped) return GPO_CANCELLED;
        if (const gpo_status refused = look_at(request, now)) return refused;
        passes = !paused_.load(std::memory_order_relaxed) && fits(request.count, request.bytes) &&
                 (waiting_ == 0 || first_in_line(request.priority));
        if (!passes && waiting_ >= capacity_) {
            ++counts_.refused;
            return GPO_WOULD_BLOCK;
        }
        Request& taken = take_request();
        taken.priority = request.priority;
        taken.count = request.count;
        taken.bytes = request.bytes;
        taken.submitted_ns = now;
        outcome.operation = taken.ticket;
        if (passes) {
            *ticket = taken.ticket;
            if (target.ticket) *target.ticket = taken.ticket;
            hold(taken, now);
            if (target.queue) target.queue->put(entry_of(outcome, target.user_data, GPO_ORIGIN_ADMISSION), nullptr);
        } else {
            try {
                join_line(taken, request.flow, deadline);
            } catch (...) {
                forget(taken);
                throw;
            }
            *ticket = taken.ticket;
            if (target.ticket) *target.ticket = taken.ticket;
            taken.target = std::move(target);
            if (deadline && earliest_deadline() == deadline) sweep = deadline;
        }
    }
    if (passes && target.queue)
        target.queue->notify(1);
    else if (passes)
        target.handler->on_completed(outcome);
    if (sweep) sweep_at(sweep);
    return GPO_SUCCESS;
}

uint64_t Admission::drop(const uint64_t& ticket, bool& dropped) noexcept {
    uint64_t number;
    {
        std::lock_guard lock(lock_);
        dropped = true;
        number = ticket;
        Request* request = find(number);
        if (!request || request->state == State::leaving) return number;
        if (request->state == State::waiting) {
            leave_line(*request);
            request->target = {};
            forget(*request);
        } else {
            --admitted_;
            give_back(*request);
        }
        ++counts_.cancelled;
    }
    serve();
    return number;
}

void Admission::cancel(uint64_t ticket) {
    Answers answers(GPO_ORIGIN_ADMISSION);
    {
        std::lock_guard lock(lock_);
        Request& request = find_or_fail(ticket);
        if (request.state != State::waiting)
            fail(GPO_INVALID_STATE, "the request ", ticket, " of ", describe(), " was admitted: give its place back");
        end(request, cancelled_error_, host::now(), answers);
    }
    answers.give();
    serve();  // requests may have waited behind the cancelled request
}

void Admission::leave(uint64_t ticket) {
    bool waiting;
    {
        std::lock_guard lock(lock_);
        Request& request = find_or_fail(ticket);
        if (request.state == State::waiting)
            fail(GPO_INVALID_STATE, "the request ", ticket, " of ", describe(), " still waits");
        if (request.state == State::leaving)
            fail(GPO_INVALID_STATE, "the place of the request ", ticket, " of ", describe(),
                 " is being given back behind a stream");
        give_back(request);
        waiting = waiting_ != 0;
    }
    if (waiting) serve();
}

gpo_status Admission::leave_after(uint64_t ticket, Stream& stream) {
    if (&stream.runtime() != &runtime())
        fail(GPO_INVALID_HANDLE, stream.describe(), " is of another runtime than ", describe());
    const auto leaving = make<Leaving>(*this, ticket);
    const auto change = [&](State from, State to) {
        std::lock_guard lock(lock_);
        Request& request = find_or_fail(ticket);
        if (request.state != from)
            fail(GPO_INVALID_STATE, "the request ", ticket, " of ", describe(),
                 request.state == State::waiting ? " still waits" : " gives its place back behind a stream already");
        request.state = to;
    };
    change(State::held, State::leaving);
    try {
        const gpo_status status = stream.then(leaving);
        if (status != GPO_SUCCESS) change(State::leaving, State::held);
        return status;
    } catch (...) {
        change(State::leaving, State::held);
        throw;
    }
}

void Admission::finish_leaving(uint64_t ticket) noexcept {
    {
        std::lock_guard lock(lock_);
        Request* request = find(ticket);
        if (!request) return;
        give_back(*request);
    }
    if (serve_some()) sweep_at(0);  // the calling thread, a stream's scanner, has other work
}

void Admission::set_budget(uint64_t count, uint64_t bytes) noexcept {
    bool lowered;
    {
        std::lock_guard lock(lock_);
        lowered = count < budget_.count || bytes < budget_.bytes;
        budget_ = {count, bytes};
        for (Line& line : lines_) line.set_costs([&](const Request& request) { return cost_of(request); });
    }
    if (lowered)
        for (size_t chunk = 0, i = 0; end_too_large(chunk, i);) {
        }
    serve();
}

// Looks at requests from one place on. False when all were looked at.
bool Admission::end_too_large(size_t& chunk, size_t& i) noexcept {
    Answers answers(GPO_ORIGIN_ADMISSION);
    bool more = false;
    {
        std::lock_guard lock(lock_);
        if (waiting_ == 0) return false;
        const uint64_t now = host::now();
        for (size_t looked = 0; chunk < requests_.size() && !more; more = answers.full() || ++looked == kAtATime) {
            Request& request = requests_[chunk][i];
            if (request.state == State::waiting && too_large(request.count, request.bytes))
                end(request, too_large_error_, now, answers);
            if (++i == kChunk) {
                i = 0;
                ++chunk;
            }
        }
    }
    answers.give();
    return more;
}

void Admission::set_flow(uint64_t flow, uint32_t weight) {
    std::lock_guard lock(lock_);
    if (!weights_.set(flow, weight))
        fail(GPO_LIMIT_EXCEEDED, FlowWeights::kMost, " flows of ", describe(), " have other weights than 1");
    for (Line& line : lines_) line.set_weight(flow, weight);
}

gpo_admission_info Admission::info() noexcept {
    std::lock_guard lock(lock_);
    gpo_admission_info out = counts_;
    out.struct_size = sizeof out;
    out.paused = paused_.load(std::memory_order_relaxed);
    out.count = budget_.count;
    out.bytes = budget_.bytes;
    out.held = held_requests_;
    out.held_count = held_.count;
    out.held_bytes = held_.bytes;
    out.waiting = waiting_;
    out.admitted = admitted_;
    out.wait_times[0] += admitted_ - waited_;
    return out;
}

void Admission::end_line(const ErrorPtr& error) noexcept {
    for (bool more = true; more;) {
        Answers answers(GPO_ORIGIN_ADMISSION);
        {
            std::lock_guard lock(lock_);
            if (!closed_) closed_ = error;
            const uint64_t now = host::now();
            while (!answers.full()) {
                const auto line = std::find_if(lines_.begin(), lines_.end(), [](auto& one) { return !one.empty(); });
                if (line == lines_.end()) break;
                end(line->any(), error, now, answers);
            }
            more = answers.full();
        }
        answers.give();
    }
    // The errand has no deadline to wait for any more. It has a reference to the admission.
    if (swept_.load(std::memory_order_relaxed)) sweep_at(0);
}

// Called under the pool's lock for watches, perhaps under a stream's lock.
void Admission::crossed(bool above) noexcept {
    paused_.store(above, std::memory_order_relaxed);
    if (!above) sweep_at(0);
}

void Admission::sweep_at(uint64_t due) noexcept {
    retain();  // for the posted errand
    swept_.store(true, std::memory_order_relaxed);
    if (!runtime().errands().advance(sweep_, due)) release();
}

void Admission::Sweep::run() noexcept {
    of_.swept_.store(false, std::memory_order_relaxed);
    of_.serve();
    uint64_t next;
    {
        std::lock_guard lock(of_.lock_);
        next = of_.earliest_deadline();
    }
    if (next) of_.sweep_at(next);
    of_.release();
}

}  // namespace gpo
