// The operations that a stream holds back: the stream has accepted them, and the driver doesn't have them yet.
//
// A stream is *held* while its next operation waits for something that isn't submitted to the GPU: a timeline value
// without a submitted signal, or a running host call. Operations put on the stream meanwhile are *held*. Later they are
// *issued* in order by the thread that makes the stream ready (flush), or *dropped* with an error. Each operation is
// issued or dropped exactly once.
//
// Operations that a learning stream *withholds* (stream/learner.h) lie here too, before all held operations. A withheld
// operation is always ready, isn't counted as held, and is never cancelled.
//
// Accepted operations aren't lost. Issuing a held operation takes memory of the library and of the driver. If memory is
// short, the operation stays held, and is tried again by a later call, or by the errands a millisecond later. Dropping
// takes no memory.
#pragma once

#include <list>
#include <memory>

#include "core/errands.h"
#include "stream/operation.h"

namespace gpo {

class Held {
public:
    /// At most `most` operations of the program are held at a time.
    Held(Stream& stream, uint32_t most) noexcept : stream_(stream), most_(most) {}

    struct HeldOperation;
    /// Operations that were issued or dropped. After the submit lock is released, conclude() brings about their
    /// consequences and destroys them. The objects that an operation refers to may need a submit lock at their end (a
    /// module that is unloaded when all streams have passed).
    using Spent = std::list<HeldOperation>;
    struct HeldOperation {
        std::unique_ptr<Operation> operation;
        bool internal = false;  // a mark of the library, or a withheld operation: not counted
        Spent* home = nullptr;  // of a withheld operation: the list to which the operation returns
        ErrorPtr dropped;       // reason of the drop; NULL: held or issued
    };
    static void conclude(Spent& spent) noexcept;

    // --- any thread ---
    /// True if there are held or withheld operations.
    bool any() const noexcept { return count_.load(std::memory_order_acquire) != 0; }
    /// Number of held and withheld operations, with the library's own marks; and number of the program's held
    /// operations.
    uint64_t count() const noexcept { return count_.load(std::memory_order_relaxed); }
    uint64_t users() const noexcept { return users_.load(std::memory_order_relaxed); }
    /// Number of withheld operations.
    uint64_t withheld() const noexcept { return withheld_.load(std::memory_order_acquire); }
    /// Number of times that held operations were dropped.
    uint64_t drops() const noexcept { return drops_.load(std::memory_order_acquire); }

    /// Issues held operations as far as they are ready. Called by the thread that made them ready, with no lock held.
    /// In a host node the errands issue them instead: the holder of the submit lock may be in the driver, waiting for
    /// the host node.
    void flush() noexcept;
    /// Issues the withheld operations. If that isn't possible now, drops them and fails the stream. With no lock held.
    void settle_withheld() noexcept;
    /// Drops the held operations, and returns the number of the program's. With no lock held.
    uint64_t cancel() noexcept;
    /// Like cancel(), but false, and nothing is dropped, if the submit lock isn't free by the deadline. Then
    /// uncancelled() is true until a cancellation succeeds. With no lock held.
    bool cancel_until(uint64_t deadline, uint64_t* count = nullptr) noexcept;
    bool uncancelled() const noexcept { return uncancelled_.load(std::memory_order_acquire); }
    /// Fails the stream and drops all operations. Does nothing if there are none. With no lock held.
    void fail(const ErrorPtr& error) noexcept;
    /// After the stream has failed: has the errands drop all operations.
    void drop_later() noexcept;
    /// The waits of the first held operation, and the operation's number; 0 if nothing is held.
    struct For {
        uint64_t operation = 0;
        Awaits awaits;
    };
    /// False if the submit lock isn't free by the deadline. Throws std::bad_alloc.
    bool what_for(uint64_t deadline, For& out);

    // --- under the submit lock ---
    bool empty() const noexcept { return operations_.empty(); }
    bool full() const noexcept { return users() >= most_; }
    /// Reserves room in the queue of marks: a mark for each held operation, in case all are dropped, and one more.
    /// Throws.
    void reserve_marks();
    /// Adds a copy of an operation at the end, and numbers the copy. Without effect if this throws.
    void add(const Operation& operation, bool internal) {
        Spent prepared = prepare(operation, internal);
        add(prepared);
    }
    /// The two halves of add(). The second half can't fail.
    Spent prepare(const Operation& operation, bool internal);
    void add(Spent& prepared) noexcept;
    /// True if `operation` is the first held operation.
    bool is_first(const Operation& operation) const noexcept {
        return !operations_.empty() && operations_.front().operation.get() == &operation;
    }
    /// Removes the first operation, which a group (stream/group_work.h) has issued.
    void put_first_away(Spent& spent) noexcept;
    /// Issues operations until one isn't ready. Inside a DriverScope.
    void issue_ready(Spent& spent) noexcept;
    /// True if there are no operations but withheld ones.
    bool only_withheld() const noexcept { return operations_.size() == withheld(); }
    /// Withholds an operation that already has its number. Requires only_withheld().
    void withhold(Spent::iterator operation) noexcept;
    /// Returns all operations to their home list, after the driver got them as a graph.
    void end_withholding() noexcept;
    /// Fails the stream and drops all operations.
    void drop(const ErrorPtr& error, Spent& spent) noexcept;
    /// Has the errands call flush() soon.
    void try_again() noexcept;

    // --- for Stream::leave_mark, with no lock held ---
    /// Has the errands call Stream::leave_mark soon.
    void leave_mark_later() noexcept;
    /// True if the stream has yet to leave its last mark: there was no memory for the mark, or a thread was in the
    /// driver with the submit lock. Any thread.
    bool has_pending_mark() const noexcept { return pending_marks_.load(std::memory_order_acquire) != 0; }

private:
    void flush_elsewhere() noexcept;
    void watch_work();
    uint64_t drop_all(const ErrorPtr& error, Spent& spent) noexcept;
    uint64_t drop_from(Spent::iterator first, const ErrorPtr& error, Spent& spent) noexcept;
    void put_away(Spent::iterator done, Spent& spent) noexcept;
    void flush_now() noexcept;
    void count_spent(const HeldOperation& held) noexcept {
        if (!held.internal) users_.store(users() - 1, std::memory_order_relaxed);
    }

    Stream& stream_;
    const uint32_t most_;
    Spent operations_;                        // under the submit lock
    // Written under the submit lock:
    std::atomic<uint64_t> count_{0};          // size of operations_
    std::atomic<uint64_t> users_{0};          // the program's operations, without withheld operations
    std::atomic<uint64_t> withheld_{0};       // number of withheld operations, which are the first of operations_
    std::atomic<uint64_t> drops_{0};
    std::atomic<bool> uncancelled_{false};    // written by threads that cancel
    class Again final : public Errand {
    public:
        explicit Again(Held& held) noexcept : held_(held) {}
        void run() noexcept override;

    private:
        Held& held_;                          // a reference to the stream is held while the errand is posted
    } again_{*this};
    class Failing final : public Errand {
    public:
        explicit Failing(Held& held) noexcept : held_(held) {}
        void run() noexcept override;

    private:
        Held& held_;                          // as in Again
    } failing_{*this};  // drops all operations: posted once, when the stream fails
    class Elsewhere final : public Errand {
    public:
        explicit Elsewhere(Held& held) noexcept : held_(held) {}
        void run() noexcept override;

    private:
        Held& held_;                          // as in Again
    } elsewhere_{*this};  // flushes for a thread that must not
    std::atomic<bool> flushing_elsewhere_{false};   // `elsewhere_` is posted
    bool trying_again_ = false;               // `again_` is posted; under the submit lock
    class LastMark final : public Errand {
    public:
        explicit LastMark(Held& held) noexcept : held_(held) {}
        void run() noexcept override;

    private:
        Held& held_;                          // as in Again
    } last_mark_{*this};  // posted at most once at a time: when the handle is destroyed, and by itself
    std::atomic<uint32_t> pending_marks_{0};  // last marks that aren't left yet
    std::atomic<bool> to_flush_{false};       // the stream is on a thread's list of streams to flush
    Held* next_to_flush_ = nullptr;           // in this list
};

}  // namespace gpo
