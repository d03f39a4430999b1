#include "queue/host_ring.h"

#include <algorithm>
#include <cstring>

namespace gpo::queue {

namespace {

constexpr uint32_t kMostAnswerWords = 2 + 64;  // ticket, status, 256 bytes

constexpr uint64_t with_flag(uint32_t data, uint64_t flag) noexcept { return flag << 32 | data; }

std::atomic_ref<uint64_t> shared(uint64_t& word) noexcept { return std::atomic_ref(word); }

}  // namespace

// Used under the lock under which entries are put.
class HostRing::Notices {
public:
    Notices() = default;
    ~Notices() { send(); }
    Notices(const Notices&) = delete;
    Notices& operator=(const Notices&) = delete;
    void add(CompletionQueue& queue) noexcept {
        if (queue_ != &queue) send();
        queue_ = &queue;
        ++count_;
    }

private:
    void send() noexcept {
        if (queue_) queue_->notify(count_);
        count_ = 0;
    }
    CompletionQueue* queue_ = nullptr;  // lives until it was notified
    uint64_t count_ = 0;
};

HostRing::HostRing(const Shape& shape, uint64_t* posted, uint64_t* answers, HostControl* control)
    : shape_(shape), mask_(shape.capacity() - 1), answer_data_words_(shape.answer_bytes() / 4), posted_(posted),
      answers_(answers), control_(*control), tickets_(new Ticket[shape.answer_words ? shape.capacity() : 0]),
      free_(new std::atomic<uint32_t>[shape.answer_words ? shape.capacity() : 0]),
      answers_copied_(new uint32_t[shape.capacity() * answer_data_words_]), tenants_(new Tenant[shape.tenants]),
      freed_(shape.capacity()) {
    for (uint32_t number = 0; shape.answer_words && number < shape.capacity(); ++number)
        free_[number].store(number, std::memory_order_relaxed);
    for (uint32_t tenant = 0; tenant < shape.tenants; ++tenant)
        tenants_[tenant].share.store(shape.capacity(), std::memory_order_relaxed);
}

// --- tenants ---

bool HostRing::set_tenant(uint32_t tenant, uint64_t share, CompletionQueue* completions, gpo_cq_t handle) noexcept {
    Tenant& own = tenants_[tenant];
    uint64_t none = 0;
    if (!own.in_use.compare_exchange_strong(none, kBeingSet, std::memory_order_acquire)) return false;
    own.share.store(share, std::memory_order_relaxed);
    own.completions = completions;
    own.handle = handle;
    own.in_use.store(0, std::memory_order_release);
    return true;
}

uint64_t HostRing::take_share(uint32_t tenant, uint64_t count) noexcept {
    if (!shape_.answer_words) return count;
    Tenant& own = tenants_[tenant];
    uint64_t in_use = own.in_use.load(std::memory_order_relaxed), taken = 0;
    do {
        const uint64_t share = own.share.load(std::memory_order_relaxed);
        taken = std::min(count, share - std::min(share, in_use));
        if (taken == 0) return 0;  // used up, or the tenant is being set
    } while (!own.in_use.compare_exchange_weak(in_use, in_use + taken, std::memory_order_acquire,
                                               std::memory_order_relaxed));
    return taken;
}

void HostRing::give_share(uint32_t tenant, uint64_t count) noexcept {
    if (shape_.answer_words && count) tenants_[tenant].in_use.fetch_sub(count, std::memory_order_release);
}

// --- posting ---

// `tail` was read with acquire: this thread sees the room that the thread moving the tail had seen.
uint64_t HostRing::room(uint64_t tail) const noexcept {
    if (shape_.answer_words) return freed_.load(std::memory_order_acquire) - tail;
    const uint64_t consumed = std::min(control_.consumed.load(std::memory_order_acquire), tail);
    return shape_.capacity() - std::min(tail - consumed, shape_.capacity());
}

uint64_t HostRing::take_places(uint64_t count, uint64_t* first) noexcept {
    uint64_t tail = tail_.load(std::memory_order_acquire), places = 0;
    do {
        if (tail & kEnded) return 0;
        places = std::min(count, room(tail));
        if (places == 0) return 0;
    } while (!tail_.compare_exchange_weak(tail, tail + places, std::memory_order_acq_rel, std::memory_order_acquire));
    *first = tail;
    return places;
}

uint64_t HostRing::post(uint32_t tenant, const void* tasks, uint64_t count, uint64_t user_data) noexcept {
    Tenant& own = tenants_[tenant];
    uint64_t first = 0;
    const uint64_t places = take_places(count, &first);
    host::crossing();
    if (places < count) {
        for (uint64_t i = places; own.completions && i < count; ++i) own.completions->unreserve();
        give_share(tenant, count - places);
    }
    if (places == 0) return 0;
    uint64_t now = 0;
    if (own.completions) {
        outstanding_.fetch_add(places, std::memory_order_seq_cst);
        now = host::now();
    }
    const auto* task = static_cast<const std::byte*>(tasks);
    for (uint64_t i = 0; i < places; ++i, task += shape_.task_bytes()) {
        uint32_t number = 0;
        if (shape_.answer_words) {
            number = free_[(first + i) & mask_].load(std::memory_order_relaxed);
            Ticket& ticket = tickets_[number];
            ticket.user_data.store(user_data + i, std::memory_order_relaxed);
            ticket.submitted.store(now, std::memory_order_relaxed);
            ticket.tenant.store(tenant, std::memory_order_release);
        }
        host::crossing();
        write_task(first + i, number, task);
    }
    return places;
}

// The word with the ticket is stored last: a reader that has all words sees the ticket's fields.
void HostRing::write_task(uint64_t position, uint32_t ticket, const void* task) noexcept {
    uint64_t* const slot = posted_ + (position & mask_) * shape_.task_words;
    const uint64_t flag = flag_of_lap(position >> shape_.capacity_log2);
    for (uint32_t word = 1; word < shape_.task_words; ++word) {
        uint32_t data;
        std::memcpy(&data, static_cast<const std::byte*>(task) + (word - 1) * sizeof data, sizeof data);
        shared(slot[word]).store(with_flag(data, flag), std::memory_order_relaxed);
    }
    shared(slot[0]).store(with_flag(ticket, flag), std::memory_order_release);
}

// --- answers. All but the public functions run under collecting_ ---

bool HostRing::read_answer(uint64_t position, uint32_t* words) const noexcept {
    uint64_t* const slot = answers_ + (position & mask_) * shape_.answer_words;
    const uint64_t flag = flag_of_lap(position >> shape_.capacity_log2);
    for (uint32_t word = 0; word < shape_.answer_words; ++word) {
        const uint64_t value = shared(slot[word]).load(std::memory_order_acquire);
        if (value >> 32 != flag) return false;
        words[word] = static_cast<uint32_t>(value);
    }
    return true;
}

uint64_t HostRing::collect_locked() noexcept {
    if (!shape_.answer_words) return 0;
    Notices notices;
    uint32_t words[kMostAnswerWords];
    uint64_t position = collected_.load(std::memory_order_relaxed), count = 0;
    // A lap at most, so that a thread doesn't collect for others without end.
    for (; count < shape_.capacity() && read_answer(position, words); ++count, ++position) {
        host::crossing();
        const uint32_t number = words[0];
        if (number >= shape_.capacity()) continue;
        Ticket& ticket = tickets_[number];
        const uint32_t tenant = ticket.tenant.load(std::memory_order_acquire);
        if (tenant == kNobody || ticket.answered) continue;
        ticket.status = static_cast<gpo_status>(words[1]);
        if (answer_data_words_) std::memcpy(answer_of(number), words + 2, answer_data_words_ * sizeof words[0]);
        add_answer(ticket, number, tenants_[tenant], notices);
    }
    collected_.store(position, std::memory_order_release);
    return count;
}

void HostRing::add_answer(Ticket& ticket, uint32_t number, Tenant& tenant, Notices& notices) noexcept {
    if (tenant.completions) {
        put_entry(ticket, tenant, nullptr, notices);
        if (!answer_data_words_) return release(number, tenant);
    }
    ticket.answered = true;
    const uint64_t ready = tenant.ready.load(std::memory_order_relaxed);
    if (ready == 0)
        tenant.first = number;
    else
        tickets_[tenant.last].next = number;
    tenant.last = number;
    tenant.ready.store(ready + 1, std::memory_order_release);
    signal_to(tenant);
}

void HostRing::put_entry(const Ticket& ticket, const Tenant& tenant, const ErrorPtr& error, Notices& notices) noexcept {
    gpo_completion entry{};
    entry.struct_size = sizeof entry;
    entry.status = error ? error->status : ticket.status;
    entry.user_data = ticket.user_data.load(std::memory_order_relaxed);
    entry.origin = GPO_ORIGIN_QUEUE;
    entry.operation = static_cast<uint64_t>(&tenant - tenants_.get());
    entry.submitted_ns = ticket.submitted.load(std::memory_order_relaxed);
    entry.completed_ns = host::now();
    entry.gpu_ns = -1;
    CompletionQueue& queue = *tenant.completions;
    queue.runtime().counters.count_completion(entry.completed_ns - entry.submitted_ns, entry.status);
    queue.put(entry, error);
    notices.add(queue);
    outstanding_.fetch_sub(1, std::memory_order_seq_cst);
}

void HostRing::release(uint32_t number, Tenant& tenant) noexcept {
    tickets_[number].answered = false;
    tickets_[number].tenant.store(kNobody, std::memory_order_relaxed);
    const uint64_t freed = freed_.load(std::memory_order_relaxed);
    free_[freed & mask_].store(number, std::memory_order_relaxed);
    freed_.store(freed + 1, std::memory_order_release);
    if (tenant.in_use.fetch_sub(1, std::memory_order_acq_rel) == 1) signal_to(tenant);
}

void HostRing::signal_to(Tenant& tenant) noexcept {
    tenant.signal.fetch_add(1, std::memory_order_seq_cst);
    if (tenant.waiters.load(std::memory_order_seq_cst) != 0) host::wake_all(tenant.signal);
}

uint64_t HostRing::collect(bool waits) noexcept {
    std::unique_lock lock(collecting_, std::defer_lock);
    if (waits)
        lock.lock();
    else if (!lock.try_lock())
        return 0;
    return collect_locked();
}

uint64_t HostRing::take(uint32_t tenant, gpo_answer* entries, size_t stride, void* answers,
                        uint64_t capacity) noexcept {
    Tenant& own = tenants_[tenant];
    std::lock_guard lock(collecting_);
    if (own.ready.load(std::memory_order_relaxed) < capacity) collect_locked();
    const uint64_t count = std::min(own.ready.load(std::memory_order_relaxed), capacity);
    const auto size = static_cast<uint32_t>(std::min(stride, sizeof(gpo_answer)));
    for (uint64_t i = 0; i < count; ++i) {
        const uint32_t number = own.first;
        const Ticket& ticket = tickets_[number];
        const gpo_answer entry{size, ticket.status, ticket.user_data.load(std::memory_order_relaxed)};
        std::memcpy(reinterpret_cast<std::byte*>(entries) + i * stride, &entry, size);
        if (answers)
            std::memcpy(static_cast<std::byte*>(answers) + i * shape_.answer_bytes(), answer_of(number),
                        shape_.answer_bytes());
        own.first = ticket.next;
        own.ready.store(own.ready.load(std::memory_order_relaxed) - 1, std::memory_order_release);
        release(number, own);
    }
    return count;
}

void HostRing::fail_outstanding(const ErrorPtr& error) noexcept {
    tail_.fetch_or(kEnded, std::memory_order_acq_rel);
    std::lock_guard lock(collecting_);
    Notices notices;
    for (uint32_t number = 0; outstanding_.load(std::memory_order_seq_cst) != 0 && number < shape_.capacity();
         ++number) {
        const uint32_t tenant = tickets_[number].tenant.load(std::memory_order_acquire);
        if (tenant == kNobody || tickets_[number].answered || !tenants_[tenant].completions) continue;
        put_entry(tickets_[number], tenants_[tenant], error, notices);
        release(number, tenants_[tenant]);
    }
}

void HostRing::wake_waiters() noexcept {
    for (uint32_t tenant = 0; tenant < shape_.tenants; ++tenant) {
        tenants_[tenant].signal.fetch_add(1, std::memory_order_seq_cst);
        host::wake_all(tenants_[tenant].signal);
    }
}

// --- the end ---

// Threads that have taken positions write them soon. The device waits for that many tasks.
void HostRing::close() noexcept {
    const uint64_t posted = tail_.fetch_or(kEnded, std::memory_order_acq_rel) & ~kEnded;
    control_.final_count.store(posted, std::memory_order_release);
    auto open = static_cast<uint32_t>(State::open);
    control_.state.compare_exchange_strong(open, static_cast<uint32_t>(State::closed), std::memory_order_seq_cst);
    wake_waiters();
}

void HostRing::abort() noexcept {
    tail_.fetch_or(kEnded, std::memory_order_acq_rel);
    control_.state.store(static_cast<uint32_t>(State::aborted), std::memory_order_seq_cst);
    wake_waiters();
}

HostRing::Counts HostRing::counts() const noexcept {
    Counts out;
    out.answered = collected_.load(std::memory_order_acquire);
    out.posted = tail_.load(std::memory_order_acquire) & ~kEnded;
    const uint64_t over = shape_.answer_words ? out.answered : control_.consumed.load(std::memory_order_acquire);
    out.unanswered = out.posted - std::min(over, out.posted);
    return out;
}

}  // namespace gpo::queue
