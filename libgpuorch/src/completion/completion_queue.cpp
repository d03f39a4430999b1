// The ring is Dmitry Vyukov's bounded queue for many producers and consumers: each cell carries the turn at which a
// thread may fill or drain the cell. Producers and consumers need no lock.
#include "completion/completion_queue.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>

namespace gpo {

namespace {
constexpr size_t kFailuresKept = 256;
// ns that a waiter in latency mode spins before it sleeps: as long as the scanner keeps asking after the last mark.
constexpr uint64_t kSpinsFor = 1'000'000;
constexpr unsigned kScheduledSpins = 8000;  // under the deterministic scheduler, whose clock stands still meanwhile
}  // namespace

CompletionQueue::CompletionQueue(Runtime& runtime, uint32_t capacity, const char* label)
    : Object(runtime, Type::cq, label), capacity_(capacity),
      mask_(std::bit_ceil(std::max(uint64_t{capacity}, uint64_t{2})) - 1), cells_(new Cell[mask_ + 1]) {
    for (uint64_t i = 0; i <= mask_; ++i) cells_[i].turn.store(i, std::memory_order_relaxed);
    failures_.reserve(kFailuresKept);
}

gpo_completion entry_of(const Outcome& outcome, uint64_t user_data, uint32_t origin) noexcept {
    gpo_completion entry{};
    entry.struct_size = sizeof entry;
    entry.status = outcome.status();
    entry.user_data = user_data;
    entry.origin = origin;
    entry.operation = outcome.operation;
    entry.submitted_ns = outcome.submitted_ns;
    entry.completed_ns = outcome.completed_ns;
    entry.gpu_ns = outcome.gpu_ns;
    return entry;
}

bool CompletionQueue::reserve_slowly() noexcept {
    uint64_t reserved = reserved_.load(std::memory_order_relaxed);
    do {
        if (reserved - drained_seen_.load(std::memory_order_relaxed) >= capacity_) {
            const uint64_t drained = tail_.load(std::memory_order_acquire);
            drained_seen_.store(drained, std::memory_order_relaxed);
            // If `reserved` is older than `drained`, the difference is negative.
            if (static_cast<int64_t>(reserved - drained) >= static_cast<int64_t>(capacity_)) {
                refused_.fetch_add(1, std::memory_order_relaxed);
                return false;
            }
        }
    } while (
        !reserved_.compare_exchange_weak(reserved, reserved + 1, std::memory_order_seq_cst, std::memory_order_relaxed));
    return true;
}

void CompletionQueue::unreserve() noexcept {
    reserved_.fetch_sub(1, std::memory_order_acq_rel);
}

// No call is inside the queue any more, so room is neither reserved nor given back from now on. The queue is kept until
// the last reserved entry is delivered.
void CompletionQueue::close() noexcept {
    retain();
    const uint64_t closing = kKept - reserved_.load(std::memory_order_acquire);
    if (delivered_.fetch_add(closing, std::memory_order_acq_rel) + closing == kKept) release();
}

void CompletionQueue::put(const gpo_completion& entry, ErrorPtr error) noexcept {
    uint64_t error_id = 0;
    if (error) {
        std::lock_guard lock(failures_lock_);
        error_id = ++failure_count_;
        if (failures_.size() < kFailuresKept)
            failures_.push_back(std::move(error));
        else
            failures_[(error_id - 1) % kFailuresKept].swap(error);
    }
    const uint64_t turn = head_.fetch_add(1, std::memory_order_relaxed);
    Cell& cell = cells_[turn & mask_];
    // Room was reserved, so a thread has already begun to drain this cell: it has only the copy left to do.
    for (unsigned spins = 0; cell.turn.load(std::memory_order_acquire) != turn; ++spins) host::step(spins);
    cell.entry = entry;
    cell.entry.error_id = error_id;
    cell.turn.store(turn + 1, std::memory_order_release);
}

void CompletionQueue::notify(uint64_t count) noexcept {
    signal_.fetch_add(1, std::memory_order_seq_cst);
    if (waiters_.load(std::memory_order_seq_cst) != 0) host::wake_all(signal_);
    if (belled_.load(std::memory_order_seq_cst)) announce();
    // The last access to the queue. After close(), the last entry releases the queue.
    if (delivered_.fetch_add(count, std::memory_order_acq_rel) + count == kKept) release();
}

// A drain makes room before it has copied the entry. The thread that fills this room waits for the copy, because each
// value of a cell's turn means "filled" or "free" for a single turn. The ring needs two cells: with one cell, the same
// value would mean "filled" for one turn and "free" for the next.
uint64_t CompletionQueue::take(gpo_completion* entries, size_t stride, size_t capacity) noexcept {
    uint64_t count = 0;
    auto* out = reinterpret_cast<unsigned char*>(entries);
    const auto size = static_cast<uint32_t>(std::min(stride, sizeof(gpo_completion)));
    const bool belled = belled_.load(std::memory_order_acquire) && capacity != 0;
    if (belled) hush();
    uint64_t turn = tail_.load(std::memory_order_relaxed);
    while (count < capacity) {
        Cell& cell = cells_[turn & mask_];
        const uint64_t filled = cell.turn.load(std::memory_order_acquire);
        if (filled != turn + 1) {
            if (filled > turn + 1) {  // another thread drained it
                turn = tail_.load(std::memory_order_relaxed);
                continue;
            }
            break;
        }
        if (!tail_.compare_exchange_weak(turn, turn + 1, std::memory_order_relaxed)) continue;
        host::crossing();  // room is free already, and the entry is still in its cell
        gpo_completion entry = cell.entry;
        cell.turn.store(turn + mask_ + 1, std::memory_order_release);
        entry.struct_size = size;
        std::memcpy(out + count * stride, &entry, size);
        ++count;
        ++turn;
    }
    if (belled && (filled() || destroyed_.load(std::memory_order_acquire) || at_end())) announce();
    return count;
}

uint64_t CompletionQueue::drain(gpo_completion* entries, size_t stride, size_t capacity) {
    const uint64_t count = take(entries, stride, capacity);
    if (count == 0 && life_.load(std::memory_order_seq_cst) != Life::open) [[unlikely]]
        if (at_end() && !filled()) fail_at_end();
    return count;
}

// A thread that has reserved room checks whether the runtime shuts down, and gives the room back if so. Room that is
// reserved when at_end() sees the shutdown therefore either gets an entry or is about to be given back, and room that
// is reserved later gets no entry. At the end of the runtime all entries have been delivered. Before the end, an entry
// is counted a moment after it can be taken out.
bool CompletionQueue::at_end() const noexcept {
    switch (life_.load(std::memory_order_seq_cst)) {
        case Life::open: return false;
        case Life::over: return true;
        case Life::ending:
        case Life::stalled: break;
    }
    const uint64_t delivered = delivered_.load(std::memory_order_seq_cst);
    return delivered == reserved_.load(std::memory_order_seq_cst);
}

void CompletionQueue::fail_at_end() const {
    gpo::fail(GPO_SHUT_DOWN, describe(), " is empty, and its runtime is shut down: nothing more comes");
}

bool CompletionQueue::filled() const noexcept {
    const uint64_t turn = tail_.load(std::memory_order_relaxed);
    return cells_[turn & mask_].turn.load(std::memory_order_acquire) >= turn + 1;
}

// Why no entry is stranded. A thread that fills a cell, or leaves a filled cell behind, sets announced_, and rings if
// announced_ wasn't set. A drain first reads the descriptor, then clears announced_, then looks into the cells. Each
// read is followed by a clear on the same thread: after the last clear, the next thread that sets announced_ rings, and
// no thread reads this ring away. If a filler found announced_ set, the thread that clears announced_ sees the entry,
// because the look follows the clear. A drain may skip the read only while announced_ is clear and no ring is unread: a
// ring may come after the clear that belongs to it. A destroyed queue, or a queue at its end, acts like a queue with an
// entry that no thread takes: a drain that reads the ring away rings again.
void CompletionQueue::announce() noexcept {
    host::crossing();
    if (announced_.exchange(1, std::memory_order_acq_rel) != 0) return;
    bell_.ring();
    rings_.fetch_add(1, std::memory_order_release);
}

void CompletionQueue::hush() noexcept {
    const uint32_t rings = rings_.load(std::memory_order_acquire);
    if (announced_.load(std::memory_order_acquire) == 0 && rings == heard_.load(std::memory_order_relaxed)) return;
    bell_.hush();
    heard_.store(rings, std::memory_order_relaxed);
    announced_.exchange(0, std::memory_order_acq_rel);
    host::crossing();
}

int CompletionQueue::descriptor() {
    std::lock_guard lock(bell_lock_);
    if (!bell_.opened()) {
        bell_.open();
        belled_.store(true, std::memory_order_seq_cst);
        // A delivery before this store has not rung; a later delivery rings.
        std::atomic_thread_fence(std::memory_order_seq_cst);
        if (filled() || destroyed_.load(std::memory_order_seq_cst) || at_end()) announce();
    }
    return bell_.duplicate();
}

gpo_status CompletionQueue::wait(uint64_t deadline) {
    const auto something = [&] {
        return filled() ||
               (woken_.load(std::memory_order_relaxed) && woken_.exchange(false, std::memory_order_seq_cst));
    };
    // The wait may also end without an entry. Each check then looks for an entry once more, so that no entry that came
    // before is missed.
    const auto refuse = [&] {
        const Life life = life_.load(std::memory_order_seq_cst);
        if (life == Life::open) [[likely]] return;
        if (at_end() && !something()) fail_at_end();
        // The calling thread is in a callback that the shutdown waits for.
        const bool inside = Runtime::in_callback_of(&runtime());
        if ((life == Life::stalled || inside) && !something())
            gpo::fail(GPO_CANCELLED, describe(),
                      inside ? ": a callback of the runtime that shuts down can't wait for it"
                             : ": a shutdown of the runtime has timed out before the entry has come");
    };
    if (something()) return GPO_SUCCESS;
    refuse();
    if (deadline == 0) return something() ? GPO_SUCCESS : GPO_TIMEOUT;
    if (runtime().latency_mode()) {
        const uint64_t until = host::now() + kSpinsFor;
        for (unsigned spins = 1; !host::detail::scheduled() || spins <= kScheduledSpins; ++spins) {
            if (something()) return GPO_SUCCESS;
            host::step(spins % 256 == 0 ? 64 : 0);  // now and then a yield
            if (spins % 64 != 0) continue;
            const uint64_t now = host::now();
            if (now >= deadline) return GPO_TIMEOUT;
            if (now >= until || life_.load(std::memory_order_relaxed) != Life::open) break;
        }
    }
    struct Waiter {
        explicit Waiter(std::atomic<uint32_t>& count) : count(count) { count.fetch_add(1, std::memory_order_seq_cst); }
        ~Waiter() { count.fetch_sub(1, std::memory_order_seq_cst); }
        std::atomic<uint32_t>& count;
    } waiter(waiters_);
    std::optional<Runtime::Blocking> blocking;
    if (host::now() < deadline) blocking.emplace(runtime());
    for (;;) {
        const uint32_t seen = signal_.load(std::memory_order_seq_cst);
        host::crossing();
        if (something()) return GPO_SUCCESS;
        if (destroyed_.load(std::memory_order_seq_cst)) gpo::fail(GPO_CANCELLED, describe(), " was destroyed");
        refuse();
        if (!host::wait(signal_, seen, deadline, host::Sleep::light)) return something() ? GPO_SUCCESS : GPO_TIMEOUT;
    }
}

void CompletionQueue::wake() noexcept {
    woken_.store(true, std::memory_order_seq_cst);
    wake_waiters();
}

void CompletionQueue::destroyed() noexcept {
    destroyed_.store(true, std::memory_order_seq_cst);
    wake_waiters();
}

void CompletionQueue::set_life(Life life) noexcept {
    life_.store(life, std::memory_order_seq_cst);
    wake_waiters();
}

void CompletionQueue::wake_waiters() noexcept {
    signal_.fetch_add(1, std::memory_order_seq_cst);
    host::wake_all(signal_);
    if (belled_.load(std::memory_order_seq_cst)) announce();
}

ErrorPtr CompletionQueue::failure(uint64_t error_id) const {
    std::lock_guard lock(failures_lock_);
    if (error_id == 0 || error_id > failure_count_ || error_id + kFailuresKept <= failure_count_) return nullptr;
    return failures_[(error_id - 1) % kFailuresKept];
}

gpo_cq_statistics CompletionQueue::statistics() const noexcept {
    gpo_cq_statistics out{};
    out.capacity = capacity_;
    out.delivered = head_.load(std::memory_order_acquire);
    out.drained = tail_.load(std::memory_order_acquire);
    out.accepted = reserved_.load(std::memory_order_acquire);
    out.refused = refused_.load(std::memory_order_relaxed);
    return out;
}

}  // namespace gpo
