// The host's side of a host ring: posts tasks into slots of pinned memory, and takes answers out of other slots
// (layout.h). Knows memory and threads, and neither driver nor kernels.
//
// Words
// - A *ticket* stands for a task from its posting until its answer is taken. The ring has as many tickets as places.
//   Free tickets are kept in a ring of their own. Position p, of the p-th posted task, gets the p-th ticket that
//   became free. Posting takes a position and a ticket by a single compare-and-swap on `tail_`.
// - A *tenant* posts and takes under a number of its own. Its *share* is the number of tickets it may have.
// - To *collect* is to read new answers from their slots and to pass them to the tenants. An answer goes into its
//   tenant's list, and as an entry into the tenant's completion queue, if any. Only one thread collects at a time.
//
// Why a slot is free when it is written. The device reads posted slots in order. Position p is given out only while
// fewer tickets than the capacity are in use, so more than p - capacity tasks have been answered. The device has
// therefore read the slot's task of the lap before. Answers have free slots, too: unanswered and uncollected tasks are
// never more than the slots. A ring without answers has no tickets: HostControl::consumed counts the device's reads.
//
// Values from a broken kernel are checked before their use as an index: answers without a ticket in use are dropped.
#pragma once

#include <memory>

#include "completion/completion_queue.h"
#include "gpuorch/queue.h"
#include "host/host.h"
#include "queue/queue_layout.h"

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
    /// The slots' memory is zeroed, and outlives the ring. Throws std::bad_alloc.
    HostRing(const Shape& shape, uint64_t* posted, uint64_t* answers, HostControl* control);

    const Shape& shape() const noexcept { return shape_; }

    // --- tenants ---
    /// `completions`: is notified of the tenant's answers; or NULL. False: the tenant has tickets, or is being set.
    bool set_tenant(uint32_t tenant, uint64_t share, CompletionQueue* completions, gpo_cq_t handle) noexcept;
    /// The `handle` of set_tenant().
    gpo_cq_t completions(uint32_t tenant) const noexcept { return tenants_[tenant].handle; }

    // --- posting. Any thread; takes no lock ---
    /// Takes up to `count` tasks of the tenant's share, for post(). Returns how many; 0: the share is used up.
    uint64_t take_share(uint32_t tenant, uint64_t count) noexcept;
    /// Gives a part of the share back.
    void give_share(uint32_t tenant, uint64_t count) noexcept;
    /// Posts the first tasks, and returns how many; 0: no room, or the ring has ended. The caller has the share for all
    /// tasks, and room in the tenant's completion queue, if any. Gives unused share and room back.
    uint64_t post(uint32_t tenant, const void* tasks, uint64_t count, uint64_t user_data) noexcept;

    // --- answers. Any thread ---
    /// Collects; returns how many answers came. `waits`: for another thread that collects; otherwise returns 0 then.
    uint64_t collect(bool waits) noexcept;
    /// Takes up to `capacity` answers of a tenant, oldest first, and returns how many. Entries are cut to `stride`.
    /// `answers`: answer_bytes() each; or NULL.
    uint64_t take(uint32_t tenant, gpo_answer* entries, size_t stride, void* answers, uint64_t capacity) noexcept;
    bool any_to_take(uint32_t tenant) const noexcept {
        return tenants_[tenant].ready.load(std::memory_order_acquire) != 0;
    }
    /// Whether the tenant has posted tasks whose answers are not taken.
    bool any_in_use(uint32_t tenant) const noexcept {
        return tenants_[tenant].in_use.load(std::memory_order_acquire) != 0;
    }
    /// A wait word that changes when a tenant may have an answer to take, or has none left to wait for.
    const std::atomic<uint32_t>& signal(uint32_t tenant) const noexcept { return tenants_[tenant].signal; }
    /// Counts the threads that wait for the signal. `change`: 1 before a wait, -1 after.
    void add_waiter(uint32_t tenant, int32_t change) noexcept {
        tenants_[tenant].waiters.fetch_add(static_cast<uint32_t>(change), std::memory_order_seq_cst);
    }
    void wake_waiters() noexcept;
    /// Number of pending entries: accepted, but not yet put into completion queues.
    uint64_t outstanding() const noexcept { return outstanding_.load(std::memory_order_seq_cst); }
    /// Delivers all pending entries with this error; their tasks count as answered and taken. While another thread may
    /// be inside post(), entries can be left: call again.
    void fail_outstanding(const ErrorPtr& error) noexcept;

    // --- the end. Any thread ---
    /// Ends posting; the device still gets the posted tasks.
    void close() noexcept;
    /// Ends posting; the device drops tasks that it hasn't begun.
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
        std::atomic<uint64_t> submitted{0};     // host::now(), if the tenant has a completion queue
        std::atomic<uint32_t> tenant{kNobody};  // kNobody: the ticket is free
        bool answered = false;                  // with an answer that isn't taken; under collecting_, as the next two
        gpo_status status = 0;                  // of the answer
        uint32_t next = 0;                      // in its tenant's list
    };
    struct alignas(128) Tenant {
        std::atomic<uint64_t> in_use{0};  // tickets
        std::atomic<uint64_t> share{0};
        CompletionQueue* completions = nullptr;  // lives while entries are outstanding; changed with kBeingSet
        gpo_cq_t handle = nullptr;
        alignas(64) std::atomic<uint64_t> ready{0};  // answers in the list, which is under collecting_:
        uint32_t first = 0, last = 0;
        std::atomic<uint32_t> signal{0}, waiters{0};
    };
    // Entries that were put into completion queues, but not notified yet.
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
    alignas(128) std::atomic<uint64_t> outstanding_{0};
};

}  // namespace gpo::queue
