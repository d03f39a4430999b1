#include "serving/batcher.h"

#include <algorithm>

#include "core/handles.h"
#include "memory/place.h"
#include "serving/serving_trace.h"

namespace gpo {

namespace {

constexpr uint32_t kExecutorTasks = 1u << 20;
constexpr uint64_t kMargin = 100'000;  // ns before a deadline that are kept for the host's part of a batch
constexpr uint64_t kStale =
    10'000'000;  // ns after which a measured time refuses no request of a key whose line is empty
constexpr uint64_t kHostTime = 10'000;  // ns of a turn, beside what is measured

std::atomic<uint64_t> g_batchers{0};  // ever made

constexpr auto kRelaxed = std::memory_order_relaxed;

bool is_stale(const BatchTimes::Time& time, uint64_t now) noexcept {
    return now - std::min(now, time.measured) > std::max(kStale, 4 * time.mean);
}

uint64_t batches_of(uint64_t count, uint64_t most) noexcept { return (count + most - 1) / most; }

}  // namespace

/// A task that is never due: it is called when the executor is destroyed.
class ExecutorWatch final : public Task {
public:
    ExecutorWatch(Executor& executor, Batcher& batcher) : Task(executor, awaited), batcher_(&batcher) {}

private:
    void call(const Outcome&, bool) override { abandon(); }
    void abandon() noexcept override {
        batcher_->note_executor_gone();
        batcher_->end_without_executor();
    }

    const Ref<Batcher> batcher_;
};

Batcher::Batcher(Runtime& runtime, const std::vector<On>& devices, uint32_t lanes, uint32_t capacity,
                 Ref<Executor> executor, const char* label)
    : Object(runtime, Type::batcher, label), number_(g_batchers.fetch_add(1, kRelaxed) + 1),
      device_count_(static_cast<uint32_t>(devices.size())), capacity_(capacity), own_executor_(!executor),
      executor_(executor ? std::move(executor)
                         : make<Executor>(runtime, lanes * device_count_, kExecutorTasks, false, label)),
      created_ns_(host::now()),
      expired_error_(make_error(GPO_TIMEOUT, "the deadline passed, or could not be met, before the batch was formed")),
      cancelled_error_(make_error(GPO_CANCELLED, "the request was cancelled")),
      destroyed_error_(make_error(GPO_CANCELLED, "the batcher was destroyed")),
      shut_down_error_(make_error(GPO_CANCELLED, "the runtime is shutting down")),
      executor_error_(make_error(GPO_CANCELLED, "the batcher's executor runs no tasks any more")),
      memory_error_(bare_error(GPO_OUT_OF_MEMORY)) {
    runtime.errands().start();
    gpo_arena_options arena{};
    arena.struct_size = sizeof arena;
    for (uint32_t place = 0; place < device_count_; ++place) {
        const Ref<Arena> staging = make<Arena>(devices[place].context, arena);
        for (uint32_t i = 0; i < lanes; ++i)
            lanes_.push_back(std::make_unique<BatchLane>(*this, devices[place].context, devices[place].device, place,
                                                         place * lanes + i, staging));
    }
    publish_lanes();
}

Batcher::~Batcher() {
    lanes_.clear();
    for (auto& slot : keys_) {
        const std::unique_ptr<BatchKey> key(slot.load(kRelaxed));
        if (key && key->release) key->release(key->user);
    }
}

void Batcher::start() {
    if (own_executor_) executor_->start();
}

void Batcher::close() noexcept {
    if (!own_executor_) return;
    note_executor_gone();
    executor_->close();
}

bool Batcher::drain(uint64_t deadline) noexcept {
    host::Lock lock(lock_);
    return answered_.wait(lock, deadline, [&] { return unanswered_ == 0; });
}

void Batcher::refuse_closed() const {
    if (runtime().shutting_down()) fail(GPO_SHUT_DOWN, "the runtime is shutting down");
    if (!own_executor_ && executor_->closing()) throw Failure(executor_error_);
    if (!closed_.load(std::memory_order_acquire)) return;
    if (closed_error_ == destroyed_error_) fail(GPO_STALE_HANDLE, describe(), " was destroyed");
    throw Failure(closed_error_);
}

BatchKey& Batcher::key(uint32_t number) const {
    BatchKey* key = number < kMostKeys ? keys_[number].load(std::memory_order_acquire) : nullptr;
    if (!key) fail(GPO_NOT_FOUND, describe(), " has no key ", number, ", but ", keys(), " keys");
    return *key;
}

uint32_t Batcher::add_key(const gpo_batcher_key_options& options, uint64_t room) {
    std::lock_guard lock(lock_);
    const uint32_t number = keys();
    if (number == kMostKeys) fail(GPO_LIMIT_EXCEEDED, describe(), " has ", kMostKeys, " keys already");
    const std::string label = options.label && *options.label ? std::string(options.label) : text("key ", number);
    auto made = std::make_unique<BatchKey>(number, options, device_count_, room, runtime().intern(label));
    largest_batch_.store(std::max(largest_batch_.load(kRelaxed), options.max_batch), kRelaxed);
    keys_[number].store(made.release(), std::memory_order_release);
    key_count_.store(number + 1, std::memory_order_release);
    return number;
}

// --- submitting ---

void Batcher::check_side(const BatchKey& key, const char* which, const void* memory, uint64_t address,
                         uint64_t bytes) const {
    if (memory && address)
        fail(GPO_INVALID_ARGUMENT, "request.", which, " and request.", which, "_address are both given");
    if (bytes && !memory && !address)
        fail(GPO_INVALID_ARGUMENT, "request.", which, " is NULL, and `", key.label, "` of ", describe(), " has ", bytes,
             " bytes there");
    if (!address) return;
    if (device_count_ > 1)
        fail(GPO_INVALID_ARGUMENT, "request.", which, "_address is device memory, and ", describe(), " has ",
             device_count_, " devices");
    Context& context = lanes_.front()->context();
    const Range known = Registry::of(runtime()).device.find(address);
    if (known && bytes <= known.end - address && runtime().ordinals().size() == 1) return;  // without the driver
    DriverScope scope(context);
    const Place place = place_of(context, address);
    const bool elsewhere = place.kind == GPO_MEMORY_DEVICE && place.ordinal != context.ordinal();
    if (place.pageable() || elsewhere)
        fail(GPO_INVALID_ARGUMENT, "request.", which, "_address: ", hex(address), " is ",
             elsewhere ? "memory of another device than " : "no device memory of ", describe());
    if (place.bytes && !place.holds(address, bytes))
        fail(GPO_INVALID_ARGUMENT, "request.", which, "_address: ", bytes, " bytes at ", hex(address),
             " run past the end of the allocation at ", hex(place.start + place.bytes));
}

void Batcher::check(const gpo_batcher_request& request, const BatchKey& key) const {
    const uint64_t most = key.ragged ? key.max_elements : 1;
    if (request.elements > most || (key.ragged && request.elements == 0))
        fail(GPO_INVALID_ARGUMENT, "request.elements is ", request.elements, ", and `", key.label, "` of ", describe(),
             key.ragged ? " takes 1 to " : " takes 0 or ", most);
    const uint64_t elements = key.ragged ? request.elements : 1;
    check_side(key, "input", request.input, request.input_address, elements * key.input_bytes);
    check_side(key, "output", request.output, request.output_address, elements * key.output_bytes);
}

// How long a request that is submitted now will take, by the measured times: the batches in front of it, and its own.
// Flows take turns. The request therefore waits for what its flow has in line, times the number of flows. This can be
// more than the whole line, because later requests of other flows pass it. A quarter more is a margin: under overload
// the line is then shorter, hardly any admitted request is late, and no fewer are in time (tests/bench/RESULTS.md).
uint64_t Batcher::predict(const BatchKey& key, uint64_t flow, uint64_t elements, uint64_t now) const noexcept {
    const uint64_t lanes = std::max<uint32_t>(living_.load(kRelaxed), 1),
                   most = key.ragged ? key.max_elements : UINT64_MAX;
    const uint64_t free_at = free_at_.load(kRelaxed), all = waiting_.load(kRelaxed),
                   absorbed = in_lines_.load(kRelaxed);
    const uint64_t arrived = all - std::min(all, absorbed);  // not in a line yet: taken for requests of this key
    uint64_t requests = key.waiting.load(kRelaxed) + arrived, ahead = key.elements.load(kRelaxed) + arrived * elements;
    if (ahead && !weighted_.load(kRelaxed)) {
        const uint64_t mine = key.elements_of(flow), flows = key.flows.load(kRelaxed) + (mine ? 0 : 1);
        const auto in_turn = static_cast<unsigned __int128>(mine + arrived * elements + elements) * flows;
        const auto capped = static_cast<uint64_t>(std::min<unsigned __int128>(in_turn, 2 * ahead));
        requests = static_cast<uint64_t>(static_cast<unsigned __int128>(requests) * capped / ahead);
        ahead = capped;
    }
    const uint64_t full = std::max(requests / key.max_batch, ahead / most);
    const uint64_t own = std::min(key.ragged ? key.max_elements : key.max_batch, ahead + elements);
    const BatchTimes::Time time = key.times.of(own);
    uint64_t wait = time.most + key.lead_ns.load(kRelaxed) + kHostTime;
    if (free_at > now) wait += free_at - now + time.most - time.mean;
    if (full) wait += batches_of(full, lanes) * key.times.of(key.ragged ? key.max_elements : key.max_batch).most;
    for (uint32_t i = 0; keys() > 1 && i < keys(); ++i) {
        const BatchKey& other = *keys_[i].load(std::memory_order_acquire);
        const uint64_t waiting = other.waiting.load(kRelaxed);
        if (&other == &key || waiting == 0) continue;
        const uint64_t each = other.times.of(other.elements.load(kRelaxed)).mean;
        wait += batches_of(batches_of(waiting, other.max_batch), lanes) * each;
    }
    return wait + wait / 4;
}

// Whether the request's deadline has passed or can't be met. `*wait` gets the predicted time.
bool Batcher::misses(const BatchKey& key, const gpo_batcher_request& request, uint64_t now,
                     uint64_t* wait) const noexcept {
    const BatchTimes::Time time = key.times.of(key.next_elements());
    *wait = predict(key, request.flow, std::max<uint64_t>(request.elements, 1), now);
    if (request.deadline_ns <= now) return true;
    if (time.mean == 0) return false;
    if (key.waiting.load(kRelaxed) == 0 && is_stale(time, now)) return false;
    return *wait > request.deadline_ns - now;
}

gpo_status Batcher::submit(const gpo_batcher_request& request, uint32_t thread, Target& target,
                           std::atomic<uint64_t>* number, const std::atomic<bool>* dropped, uint64_t* ticket,
                           uint64_t* wait_ns) {
    refuse_closed();
    BatchKey& of = key(request.key);
    check(request, of);
    const uint64_t now = host::now();
    const uint64_t deadline = request.deadline_ns == UINT64_MAX ? 0 : request.deadline_ns;
    if (uint64_t wait; deadline && misses(of, request, now, &wait)) {
        if (wait_ns) *wait_ns = std::max<uint64_t>(wait, 1);
        of.refused_deadline.fetch_add(1, kRelaxed);
        return GPO_TIMEOUT;
    }
    if (waiting_.fetch_add(1, kRelaxed) >= capacity_) {
        waiting_.fetch_sub(1, kRelaxed);
        of.refused_full.fetch_add(1, kRelaxed);
        return GPO_WOULD_BLOCK;
    }
    BatchRequest* place;
    try {
        place = &requests_.take(thread);
    } catch (...) {
        waiting_.fetch_sub(1, kRelaxed);
        throw;
    }
    BatchRequest& taken = *place;
    taken.key = request.key;
    taken.flow_number = request.flow;
    taken.elements = of.ragged ? request.elements : 1;
    taken.input = request.input;
    taken.input_address = request.input_address;
    taken.output = request.output;
    taken.output_address = request.output_address;
    taken.output_made = request.output_made;
    taken.deadline = deadline;
    taken.submitted_ns = now;
    taken.formed_ns = 0;
    *ticket = taken.ticket;
    if (number) number->store(taken.ticket, std::memory_order_seq_cst);
    if (dropped && dropped->load(std::memory_order_seq_cst)) {
        waiting_.fetch_sub(1, kRelaxed);
        requests_.give_back(taken);
        return GPO_CANCELLED;
    }
    taken.target = std::move(target);
    serving_trace::submission(runtime(), number_, taken.ticket);
    push(taken);
    return GPO_SUCCESS;
}

void Batcher::push(BatchRequest& request) noexcept {
    const uint64_t deadline = request.deadline;
    BatchRequest* first = inbox_.load(kRelaxed);
    do request.next = first;
    while (!inbox_.compare_exchange_weak(first, &request, std::memory_order_seq_cst, kRelaxed));
    // From here on the request may have ended.
    host::crossing();
    if (closed_.load(std::memory_order_seq_cst)) [[unlikely]]
        return end_line(nullptr);
    if (!first && rooms_.load(std::memory_order_seq_cst) && !turns_.load(std::memory_order_seq_cst)) return look();
    if (deadline && deadline < looks_at_.load(kRelaxed)) look_at(deadline);
}

void Batcher::absorb(Answers& answers) noexcept {
    BatchRequest* newest = inbox_.exchange(nullptr, std::memory_order_seq_cst);
    BatchRequest* oldest = nullptr;
    while (newest) newest = std::exchange(newest->next, std::exchange(oldest, newest));
    while (oldest) {
        BatchRequest& request = *std::exchange(oldest, oldest->next);
        BatchKey& key = *keys_[request.key].load(kRelaxed);
        ++key.figures.counts.submitted;
        key.figures.counts.submitted_bytes += request.elements * (key.input_bytes + key.output_bytes);
        request.figures = nullptr;
        const uint64_t flows = key.line.flows();
        try {
            request.figures = &flows_.see(request.flow_number);
            ++request.figures->unended;
            ++request.figures->counts.submitted;
            key.join(request, weights_);
        } catch (const std::bad_alloc&) {
            waiting_.fetch_sub(1, kRelaxed);
            const uint64_t now = host::now();
            count_end(key, request, memory_error_, now);
            Outcome outcome{memory_error_, request.ticket, request.submitted_ns, now};
            if (key.follow(request))
                conclude(key, request, std::move(outcome), answers);
            else
                answer(request, std::move(outcome), answers);
            continue;
        }
        ++request.figures->counts.waiting;
        key.figures.counts.waiting_flows += key.line.flows() - flows;
        request.state.store(BatchRequest::State::waiting, kRelaxed);
        in_lines_.store(in_lines_.load(kRelaxed) + 1, kRelaxed);
        if (request.dropped.load(kRelaxed) == request.ticket) end(request, cancelled_error_, host::now(), answers);
        watch_executor();
    }
}

// --- the ends of requests ---

void Batcher::answer(BatchRequest& request, Outcome outcome, Answers& answers) noexcept {
    serving_trace::request(runtime(), {"request", keys_[request.key].load(kRelaxed)->label, number_, request.ticket,
                                       request.target.user_data, request.submitted_ns, request.formed_ns,
                                       outcome.completed_ns, request.track, outcome.status()});
    if (answers.full()) answers.give();
    answers.put(request.target, std::move(outcome));
    requests_.give_back(request);
}

void Batcher::conclude(BatchKey& key, BatchRequest& request, Outcome outcome, Answers& answers) noexcept {
    if (!key.preserves_order()) return answer(request, std::move(outcome), answers);
    request.outcome = std::move(outcome);
    request.state.store(BatchRequest::State::ended, kRelaxed);
    const auto of = key.orders.find(request.flow_number);
    BatchKey::Order& order = of->second;
    while (order.first && order.first->state.load(kRelaxed) == BatchRequest::State::ended) {
        BatchRequest& first = *std::exchange(order.first, order.first->later);
        answer(first, std::exchange(first.outcome, {}), answers);
    }
    if (!order.first) key.orders.erase(of);
}

void Batcher::count_end(BatchKey& key, BatchRequest& request, const ErrorPtr& error, uint64_t now) noexcept {
    auto& counts = key.figures.counts;
    if (!error)
        key.figures.add_success(now - std::min(now, request.submitted_ns), request.deadline && now > request.deadline);
    else
        ++(error == expired_error_          ? counts.expired
           : error->status == GPO_CANCELLED ? counts.cancelled
                                            : counts.failed);
    if (error) runtime().counters.count_error(error->status);
    if (!request.figures) return;
    FlowFigures& flow = *std::exchange(request.figures, nullptr);
    --flow.unended;
    ++(error ? flow.counts.failed : flow.counts.succeeded);
}

void Batcher::leave_line(BatchKey& key, BatchRequest& request, bool in_turn) noexcept {
    const uint64_t flows = key.line.flows();
    key.leave(request, in_turn);
    key.figures.counts.waiting_flows -= flows - key.line.flows();
    in_lines_.store(in_lines_.load(kRelaxed) - 1, kRelaxed);
    waiting_.fetch_sub(1, kRelaxed);
    if (request.figures) --request.figures->counts.waiting;
    watch_executor();
}

void Batcher::watch_executor() noexcept {
    const bool wanted = !own_executor_ && in_lines_.load(kRelaxed) != 0 && executor();
    if (wanted == static_cast<bool>(executor_watch_)) return;
    if (!wanted) {
        executor_->withdraw(*executor_watch_);
        executor_watch_ = nullptr;
        return;
    }
    try {
        const auto watch = make<ExecutorWatch>(*executor_, *this);
        static_cast<void>(executor_->accept(*watch, nullptr));
        executor_watch_ = watch;
    } catch (const Failure&) {
        note_executor_gone();
        look_at(0);
    } catch (const std::bad_alloc&) {  // the next request tries again
    }
}

void Batcher::end(BatchRequest& request, const ErrorPtr& error, uint64_t now, Answers& answers) noexcept {
    BatchKey& key = *keys_[request.key].load(kRelaxed);
    leave_line(key, request, false);
    count_end(key, request, error, now);
    conclude(key, request, {error, request.ticket, request.submitted_ns, now}, answers);
}

void Batcher::expire(uint64_t now, Answers& answers) noexcept {
    for (uint32_t i = 0; i < keys(); ++i) {
        auto& deadlines = keys_[i].load(kRelaxed)->deadlines;
        while (!answers.full() && !deadlines.empty() && deadlines.begin()->first <= now)
            end(*deadlines.begin()->second, expired_error_, now, answers);
    }
}

uint64_t Batcher::earliest_deadline() const noexcept {
    uint64_t earliest = UINT64_MAX;
    for (uint32_t i = 0; i < keys(); ++i) {
        const auto& deadlines = keys_[i].load(kRelaxed)->deadlines;
        if (!deadlines.empty()) earliest = std::min(earliest, deadlines.begin()->first);
    }
    return earliest;
}

void Batcher::cancel(uint64_t ticket) {
    const host::NoCancel no_cancel;  // as in look()
    Answers answers(GPO_ORIGIN_BATCHER);
    {
        std::lock_guard lock(lock_);
        absorb(answers);
        BatchRequest* request = requests_.find(ticket);
        const auto state = request ? request->state.load(kRelaxed) : BatchRequest::State::unused;
        if (state != BatchRequest::State::waiting && state != BatchRequest::State::running)
            fail(GPO_NOT_FOUND, describe(), ": no request with the ticket ", ticket, " waits or runs");
        if (state == BatchRequest::State::running)
            fail(GPO_INVALID_STATE, "the batch of the request ", ticket, " of ", describe(), " was formed");
        end(*request, cancelled_error_, host::now(), answers);
    }
    answers.give();
    look();
}

void Batcher::drop(uint64_t ticket) noexcept {
    Answers answers(GPO_ORIGIN_BATCHER);
    {
        std::lock_guard lock(lock_);
        absorb(answers);
        BatchRequest* request = requests_.find(ticket);
        const auto state = request ? request->state.load(kRelaxed) : BatchRequest::State::unused;
        if (state == BatchRequest::State::waiting)
            end(*request, cancelled_error_, host::now(), answers);  // its handler ignores this
        else if (state == BatchRequest::State::submitted)
            request->dropped.store(ticket, kRelaxed);
    }
    answers.give();
    look();
}

void Batcher::end_line(const ErrorPtr& error) noexcept {
    for (bool more = true; more;) {
        Answers answers(GPO_ORIGIN_BATCHER);
        std::lock_guard lock(lock_);
        if (!closed_error_) {
            closed_error_ = error;
            closed_.store(true, std::memory_order_seq_cst);
        }
        absorb(answers);
        const uint64_t now = host::now();
        for (uint32_t i = 0; i < keys(); ++i) {
            BatchKey& key = *keys_[i].load(kRelaxed);
            while (key.oldest && !answers.full()) end(*key.oldest, closed_error_, now, answers);
        }
        more = answers.full();
    }
    // The errand, which has a reference to the batcher, has nothing to wait for any more.
    if (looks_at_.load(kRelaxed) != UINT64_MAX) look_at(0);
}

// --- forming batches ---

BatchLane* Batcher::freest_lane() noexcept {
    BatchLane* found = nullptr;
    for (const auto& lane : lanes_)
        if (lane->has_room() && (!found || lane->busy() < found->busy())) found = lane.get();
    return found;
}

void Batcher::publish_lanes() noexcept {
    uint32_t rooms = 0, living = 0;
    uint64_t free_at = UINT64_MAX;
    for (const auto& lane : lanes_) {
        rooms += lane->has_room();
        living += lane->alive();
        if (lane->alive()) free_at = std::min(free_at, lane->free_at());
    }
    free_at_.store(living ? free_at : 0, kRelaxed);
    living_.store(living, kRelaxed);
    rooms_.store(rooms, std::memory_order_seq_cst);
}

// When a batch of the key is to be formed for the lane; UINT64_MAX: no request waits.
uint64_t Batcher::due_at(const BatchKey& key, const BatchLane& lane) const noexcept {
    if (!key.oldest) return UINT64_MAX;
    const uint64_t since = key.oldest->submitted_ns;
    if (key.full()) return since;
    uint64_t due = since;
    if (key.max_delay_ns != GPO_AUTO) {
        due = key.max_delay_ns > UINT64_MAX - since ? UINT64_MAX - 1 : since + key.max_delay_ns;
    } else if (lane.busy() != 0) {
        const uint64_t lead = 2 * key.lead_ns.load(kRelaxed) + kHostTime, free_at = lane.free_at();
        due = std::max(since, free_at - std::min(free_at, lead));
    }
    if (!key.deadlines.empty()) {
        const BatchTimes::Time measured = key.times.of(key.next_elements());
        if (measured.mean == 0) return since;
        const uint64_t deadline = key.deadlines.begin()->first;
        // A thread that sleeps for longer wakes later.
        const uint64_t late = kMargin + (deadline - std::min(deadline, since)) / 64;
        const uint64_t time = measured.most + key.lead_ns.load(kRelaxed) + late;
        due = std::min(due, std::max(since, deadline - std::min(deadline, time)));
    }
    return due;
}

Batcher::Due Batcher::earliest_due(const BatchLane& lane) const noexcept {
    Due earliest;
    for (uint32_t i = 0; i < keys(); ++i) {
        BatchKey* key = keys_[i].load(kRelaxed);
        if (const uint64_t at = due_at(*key, lane); at < earliest.at) earliest = {key, at};
    }
    return earliest;
}

void Batcher::start_member(BatchKey& key, BatchRequest& request, uint64_t now, uint32_t track) noexcept {
    request.formed_ns = now;
    request.track = track;
    leave_line(key, request, true);
    request.state.store(BatchRequest::State::running, kRelaxed);
    const uint64_t waited = now - std::min(now, request.submitted_ns);
    key.figures.add_queue_time(waited);
    if (request.figures) request.figures->add_wait(waited);
}

// False: all requests that could be taken have expired.
bool Batcher::take_members(BatchLane& lane, BatchKey& key, uint64_t now, Batch& batch, Answers& answers) noexcept {
    const BatchTimes::Time time = key.times.of(key.next_elements());
    const uint64_t most = key.ragged ? key.max_elements : key.max_batch;
    const uint64_t ready = std::max(now, lane.free_at()) + time.mean;  // 0 mean: not known
    const bool judges = time.mean != 0 && !is_stale(time, now);
    key.newest_delay_ns = now - std::min(now, key.oldest->submitted_ns);
    batch.elements = 0;
    const size_t room = std::min<size_t>(key.max_batch, batch.members.capacity());
    while (batch.members.size() < room && !answers.full()) {
        BatchRequest* request = key.line.next();
        if (!request || batch.elements + request->elements > most) break;
        if (judges && request->deadline && ready > request->deadline) {
            end(*request, expired_error_, now, answers);
            continue;
        }
        batch.elements += request->elements;
        batch.members.push_back(request);  // there is room: form() has reserved it
        start_member(key, *request, now, batch.track);
    }
    if (batch.members.empty()) return false;
    batch.key = &key;
    batch.formed_ns = now;
    batch.padding = 0;
    batch.error = nullptr;
    key.running += batch.members.size();
    ++key.running_batches;
    ++unanswered_;
    batch.expected_ns = time.mean;
    lane.note_formed(now, time.mean);
    publish_lanes();
    return true;
}

bool Batcher::form(BatchLane& lane, Batch& batch) noexcept {
    try {
        batch.members.reserve(largest_batch_.load(kRelaxed));
    } catch (const std::bad_alloc&) {
        look_at(host::now() + Errands::kTryAgain);
        return false;
    }
    for (bool again = true, formed = false; again;) {
        Answers answers(GPO_ORIGIN_BATCHER);
        BatchLane* other = nullptr;
        uint64_t next = UINT64_MAX;
        {
            std::lock_guard lock(lock_);
            absorb(answers);
            const uint64_t now = host::now();
            expire(now, answers);
            again = answers.full();
            // Also for the other lanes, since submissions rely on posted turns: this one may be busy, or its device
            // lost.
            if (BatchLane* freest = freest_lane()) {
                const Due due = earliest_due(*freest);
                if (due.at > now)
                    next = due.at;
                else if (lane.has_room() && lane.busy() == freest->busy())
                    again = !(formed = take_members(lane, *due.key, now, batch, answers));
                else
                    other = freest;
                if (formed && (other = freest_lane()) && other != &lane && earliest_due(*other).at > now)
                    other = nullptr;
            }
            next = std::min(next, earliest_deadline());
        }
        answers.give();
        if (other && other != &lane) other->kick();
        if (next != UINT64_MAX) look_at(next);
        if (formed) return true;
    }
    return false;
}

void Batcher::look() noexcept {
    const host::NoCancel no_cancel;  // rings a queue's descriptor
    for (bool more = true; more;) {
        Answers answers(GPO_ORIGIN_BATCHER);
        BatchLane* lane;
        uint64_t next = UINT64_MAX;
        {
            std::lock_guard lock(lock_);
            absorb(answers);
            const uint64_t now = host::now();
            expire(now, answers);
            more = answers.full();
            lane = freest_lane();
            if (lane) next = earliest_due(*lane).at;
            if (next > now) lane = nullptr;
            if (next <= now) next = UINT64_MAX;
            next = std::min(next, earliest_deadline());
        }
        answers.give();
        if (lane) lane->kick();
        if (next != UINT64_MAX) look_at(next);
    }
}

void Batcher::look_at(uint64_t due) noexcept {
    uint64_t known = looks_at_.load(std::memory_order_seq_cst);
    do
        if (known <= due) return;
    while (!looks_at_.compare_exchange_weak(known, due, std::memory_order_seq_cst));
    retain();  // for the posted errand
    if (!runtime().errands().advance(sweep_, due)) release();
}

void Batcher::Sweep::run() noexcept {
    of_.looks_at_.store(UINT64_MAX, std::memory_order_seq_cst);
    if (!of_.executor()) of_.end_without_executor();
    of_.look();
    of_.release();
}

// --- ended batches ---

void Batcher::finish(BatchLane& lane, Batch& batch) noexcept {
    BatchKey& key = *std::exchange(batch.key, nullptr);
    ErrorPtr error = std::move(batch.error);
    // A function of the program fails, too, if its calls are refused: because the device is lost, or by a shutdown.
    if (error && error->status == GPO_CALLBACK_FAILED && lane.context().lost()) error = lane.context().loss();
    const bool shut_down = error && (error->status == GPO_SHUT_DOWN ||
                                     (error->status == GPO_CALLBACK_FAILED && runtime().shutting_down()));
    if (error) error = shut_down ? shut_down_error_ : of_batch(key, batch, *error);
    const uint64_t now = host::now();
    const auto outcome_of = [&](const BatchRequest& request) {
        return Outcome{error, request.ticket, request.submitted_ns, now};
    };
    Answers answers(GPO_ORIGIN_BATCHER);
    {
        std::lock_guard lock(lock_);
        const uint64_t worked = lane.note_ended(batch, now);
        if (!error) key.note_lead(batch.submitted_ns - std::min(batch.submitted_ns, batch.formed_ns));
        if (!error && !batch.first && worked) key.times.add(batch.elements, worked, now);
        key.running -= batch.members.size();
        --key.running_batches;
        key.figures.add_batch(batch.members.size(), batch.elements, batch.padding, now - batch.formed_ns, now);
        if (!error) key.figures.requests.add(batch.members.size(), now);
        for (BatchRequest* request : batch.members) count_end(key, *request, error, now);
        publish_lanes();
    }
    for (size_t i = 0; key.preserves_order() && i < batch.members.size(); answers.give()) {
        std::lock_guard lock(lock_);
        for (; i < batch.members.size() && !answers.full(); ++i)
            conclude(key, *batch.members[i], outcome_of(*batch.members[i]), answers);
    }
    serving_trace::batch(runtime(), {key.label, label(), number_, batch.members.size(), batch.elements, batch.formed_ns,
                                     now, batch.track, error ? error->status : GPO_SUCCESS});
    if (!key.preserves_order())
        for (BatchRequest* request : batch.members) answer(*request, outcome_of(*request), answers);
    answers.give();
    batch.members.clear();
    std::lock_guard lock(lock_);
    if (--unanswered_ == 0) answered_.notify_all();
}

// The failure of a batch, as its requests get it.
ErrorPtr Batcher::of_batch(const BatchKey& key, const Batch& batch, const Error& error) const noexcept {
    try {
        auto named = std::make_shared<Error>(error);
        if (named->object.empty()) named->object = text(describe());
        named->message = text("a batch of ", batch.members.size(), " requests of `", key.label, "` of ", describe(),
                              " failed: ", error.sentence());
        return named;
    } catch (const std::bad_alloc&) {
        return bare_error(error.status);
    }
}

void Batcher::note_settles(BatchLane& lane) noexcept {
    std::lock_guard lock(lock_);
    lane.note_settles();
    publish_lanes();
}

void Batcher::note_lost(BatchLane& lane) noexcept {
    bool all;
    {
        std::lock_guard lock(lock_);
        for (const auto& one : lanes_)
            if (&one->context() == &lane.context()) one->note_lost();  // also an idle one, which would not find out
        publish_lanes();
        all = std::none_of(lanes_.begin(), lanes_.end(), [](const auto& one) { return one->alive(); });
    }
    if (all) end_line(lane.context().loss());
}

// --- figures ---

void Batcher::set_flow(uint64_t flow, uint32_t weight) {
    std::lock_guard lock(lock_);
    if (!weights_.set(flow, weight))
        fail(GPO_LIMIT_EXCEEDED, FlowWeights::kMost, " flows of ", describe(), " have other weights than 1");
    weighted_.store(true, kRelaxed);
    for (uint32_t i = 0; i < keys(); ++i) keys_[i].load(kRelaxed)->line.set_weight(flow, weight);
}

// Adds a key's figures.
void Batcher::add_info(const BatchKey& key, uint64_t now, gpo_batcher_info& out) const noexcept {
    const gpo_batcher_info& counts = key.figures.counts;
    out.waiting += key.waiting.load(kRelaxed);
    out.waiting_elements += key.elements.load(kRelaxed);
    out.running += key.running;
    out.running_batches += key.running_batches;
    out.refused_full += key.refused_full.load(kRelaxed);
    out.refused_deadline += key.refused_deadline.load(kRelaxed);
    out.wait_ns = std::max(out.wait_ns, predict(key, 0, 1, now));
    out.requests_per_second += key.figures.requests.at(now, created_ns_);
    out.batches_per_second += key.figures.batches.at(now, created_ns_);
    using Info = gpo_batcher_info;
    for (const auto field :
         {&Info::waiting_flows, &Info::submitted, &Info::submitted_bytes, &Info::succeeded, &Info::failed,
          &Info::expired, &Info::cancelled, &Info::late, &Info::batches, &Info::batch_elements, &Info::padded_elements,
          &Info::queue_ns, &Info::batch_ns, &Info::request_ns})
        out.*field += counts.*field;
    for (size_t i = 0; i < GPO_BATCHER_SIZES; ++i) out.sizes[i] += counts.sizes[i];
    for (size_t i = 0; i < GPO_BATCHER_TIMES; ++i) {
        out.queue_times[i] += counts.queue_times[i];
        out.batch_times[i] += counts.batch_times[i];
        out.request_times[i] += counts.request_times[i];
    }
}

gpo_batcher_info Batcher::info() noexcept {
    Answers answers(GPO_ORIGIN_BATCHER);
    std::lock_guard lock(lock_);
    absorb(answers);
    gpo_batcher_info out{};
    out.struct_size = sizeof out;
    out.keys = keys();
    const uint64_t now = host::now();
    for (uint32_t i = 0; i < keys(); ++i) add_info(*keys_[i].load(kRelaxed), now, out);
    return out;
}

gpo_batcher_info Batcher::key_info(uint32_t number) {
    const BatchKey& of = key(number);
    Answers answers(GPO_ORIGIN_BATCHER);
    std::lock_guard lock(lock_);
    absorb(answers);
    gpo_batcher_info out{};
    out.struct_size = sizeof out;
    out.keys = keys();
    out.delay_ns = of.newest_delay_ns;
    add_info(of, host::now(), out);
    return out;
}

gpo_batcher_flow_info Batcher::flow_info(uint64_t flow) {
    Answers answers(GPO_ORIGIN_BATCHER);
    std::lock_guard lock(lock_);
    absorb(answers);
    const FlowFigures* figures = flows_.find(flow);
    if (!figures) fail(GPO_NOT_FOUND, describe(), " keeps no figures of a flow ", flow);
    gpo_batcher_flow_info out = figures->counts;
    out.struct_size = sizeof out;
    out.weight = static_cast<uint32_t>(weights_.of(flow));
    return out;
}

}  // namespace gpo
