// The host's side of a host ring: posts tasks into slots of pinned memory, and takes answers out of others. It knows
// memory and threads, and neither driver nor kernels. layout.h has the slots.
//
// Words
// - A *ticket* stands for a task from when it is posted until its answer is taken. There are as many as the ring's
//   capacity. A free ticket lies in the ring of free tickets. Position p, of the p-th task that is posted, has the p-th
//   ticket that became free. So posting takes a position and a ticket by one compare-and-swap on `tail_`.
// - A *tenant* posts and takes under a number of its own. Its *share* is how many tickets it may have.
// - To *collect* is to read what has come in the answers' slots, and to give it to the tenants: into the tenant's list,
//   and as an entry into its completion queue, if it has one. One thread collects at a time.
//
// Why slots are free when they are written. The device reads posted slots in their order. A position is given out only
// if fewer tickets than the capacity are in use, so the task one lap before has been answered, and was read before.
// Likewise an answer has a free slot: no more tasks are unanswered, or answered and not collected, than there are
// slots. In a ring without answers there are no tickets, and the device says what it has read (HostControl::consumed).
//
// What a broken kernel writes into the slots is never used as an index unchecked: an answer of no ticket in use is
// dropped.
#pragma once

#include <memory>

#include "completion/queue.h"
#include "gpuorch/queue.h"
#include "host/host.h"
#include "queue/layout.h"

namespace gpo::queue {

class HostRing {
public:
    struct Shape {
        uint32_t capacity_log2;
        uint32_t task_words;    // of a slot
        uint32_t answer_words;  // of a slot; 0: no answers
        uint32_t tenants;
        uint64_t capacity() const noexcept { return uint64_t{1} << capacity_log2; }
        uint32_t task_bytes() const noexcept { return (task_words - 1) * 4; }
        uint32_t answer_bytes() const noexcept { return answer_words ? (answer_words - 2) * 4 : 0; }
    };
    /// Zeroed memory of the slots, which stays for as long as this. Throws std::bad_alloc.
    HostRing(const Shape& shape, uint64_t* posted, uint64_t* answers, HostControl* control);

    const Shape& shape() const noexcept { return shape_; }

    // --- tenants ---
    /// `completions` is notified of the tenant's answers; or NULL. False: the tenant has tickets, or is being set.
    bool set_tenant(uint32_t tenant, uint64_t share, CompletionQueue* completions, gpo_cq_t handle) noexcept;
    /// As it was set.
    gpo_cq_t completions(uint32_t tenant) const noexcept { return tenants_[tenant].handle; }

    // --- posting. Any thread; takes no lock ---
    /// A part of the tenant's share, of up to `count` tasks; 0: it is used up. To be used up by post().
    uint64_t take_share(uint32_t tenant, uint64_t count) noexcept;
    /// Gives a part of the share back.
    void give_share(uint32_t tenant, uint64_t count) noexcept;
    /// How many of the tasks were posted, from the first on, of which the caller has the share, and room in the
    /// tenant's completion queue if it has one: what isn't posted is given back. 0: there is no room, or ended().
    uint64_t post(uint32_t tenant, const void* tasks, uint64_t count, uint64_t user_data) noexcept;

    // --- answers. Any thread ---
    /// Collects; how many answers came. `waits`: for a thread that collects just now; else it may be left to that.
    uint64_t collect(bool waits) noexcept;
    /// Takes up to `capacity` answers of a tenant, oldest first, with what of `entries` the stride has room for and
    /// `answers` of answer_bytes() each, which may be NULL.
    uint64_t take(uint32_t tenant, gpo_answer* entries, size_t stride, void* answers, uint64_t capacity) noexcept;
    bool any_to_take(uint32_t tenant) const noexcept {
        return tenants_[tenant].ready.load(std::memory_order_acquire) != 0;
    }
    /// Whether the tenant has posted tasks whose answers are not taken.
    bool any_in_use(uint32_t tenant) const noexcept {
        return tenants_[tenant].in_use.load(std::memory_order_acquire) != 0;
    }
    /// A wait word that changes when a tenant may have something to take, or has nothing to wait for.
    const std::atomic<uint32_t>& signal(uint32_t tenant) const noexcept { return tenants_[tenant].signal; }
    /// Whoever waits for the signal says so meanwhile.
    void add_waiter(uint32_t tenant, int32_t change) noexcept {
        tenants_[tenant].waiters.fetch_add(static_cast<uint32_t>(change), std::memory_order_seq_cst);
    }
    void wake_waiters() noexcept;
    /// Entries that completion queues are still to get.
    uint64_t owed() const noexcept { return owed_.load(std::memory_order_seq_cst); }
    /// Entries that are owed come with this error, and their tasks count as answered and taken. Called again while
    /// calls of post() may be inside.
    void fail_owed(const ErrorPtr& error) noexcept;

    // --- the end. Any thread ---
    /// No task is posted any more; the device gets those that were.
    void close() noexcept;
    /// The device drops what it hasn't begun.
    void abort() noexcept;
    State state() const noexcept { return static_cast<State>(control_.state.load(std::memory_order_acquire)); }

    struct Counts {
        uint64_t posted = 0, answered = 0, unanswered = 0;
    };
    Counts counts() const noexcept;

private:
    static constexpr uint64_t kEnded = uint64_t{1} << 63;     // in tail_
    static constexpr uint64_t kBeingSet = uint64_t{1} << 63;  // in Tenant::in_use
    static constexpr uint32_t kNobody = UINT32_MAX;

    struct alignas(32) Ticket {
        std::atomic<uint64_t> user_data{0};
        std::atomic<uint64_t> submitted{0};     // host::now(), where an entry is owed
        std::atomic<uint32_t> tenant{kNobody};  // kNobody: the ticket is free
        bool answered = false;                  // and not taken; under collecting_, as:
        gpo_status status = 0;                  // of the answer
        uint32_t next = 0;                      // in its tenant's list
    };
    struct alignas(128) Tenant {
        std::atomic<uint64_t> in_use{0};  // tickets
        std::atomic<uint64_t> share{0};
        CompletionQueue* completions = nullptr;  // lives while entries are owed; changed with kBeingSet
        gpo_cq_t handle = nullptr;
        alignas(64) std::atomic<uint64_t> ready{0};  // answers in the list, which is under collecting_:
        uint32_t first = 0, last = 0;
        std::atomic<uint32_t> signal{0}, waiters{0};
    };
    // Entries that were put into one queue after the other, and not yet notified of.
    class Notices;

    uint64_t take_places(uint64_t count, uint64_t* first) noexcept;
    uint64_t room(uint64_t tail) const noexcept;
    void write_task(uint64_t position, uint32_t ticket, const void* task) noexcept;
    bool read_answer(uint64_t position, uint32_t* words) const noexcept;
    void add_answer(Ticket& ticket, uint32_t number, Tenant& tenant, Notices& notices) noexcept;
    void put_entry(const Ticket& ticket, const Tenant& tenant, const ErrorPtr& error, Notices& notices) noexcept;
    void release(uint32_t number, Tenant& tenant) noexcept;
    uint64_t collect_locked() noexcept;
    void signal_to(Tenant& tenant) noexcept;
    uint32_t* answer_of(uint32_t number) const noexcept {
        return &answers_copied_[size_t{number} * answer_data_words_];
    }

    const Shape shape_;
    const uint64_t mask_;
    const uint32_t answer_data_words_;
    uint64_t* const posted_;
    uint64_t* const answers_;
    HostControl& control_;
    const std::unique_ptr<Ticket[]> tickets_;
    const std::unique_ptr<std::atomic<uint32_t>[]> free_;  // numbers of tickets, by position
    const std::unique_ptr<uint32_t[]> answers_copied_;     // by ticket
    const std::unique_ptr<Tenant[]> tenants_;

    alignas(128) std::atomic<uint64_t> tail_{0};  // positions given out
    alignas(128) std::atomic<uint64_t> freed_;    // tickets that ever became free
    std::atomic<uint64_t> collected_{0};          // answers
    host::Mutex collecting_;
    alignas(128) std::atomic<uint64_t> owed_{0};
};

}  // namespace gpo::queue
