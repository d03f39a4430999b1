// What a stream holds back: operations that were accepted and that the driver doesn't have yet.
//
// A stream is *held* while its next operation waits for something that isn't on the GPU's way: a timeline value whose
// signal nobody has submitted, a host call that runs. What is put on it meanwhile is *held*, and later *issued* in
// order by whoever makes the stream ready (flush), or *dropped* with an error. Either happens once.
//
// What a stream that learns withholds (stream/learner.h) lies here too, before all else that is held: it is always
// ready, isn't counted as held, and is never cancelled.
//
// What was accepted isn't lost. Held work takes memory when it is issued, ours and the driver's: where there is none it
// stays held and is tried again, by a later call or by the errands a millisecond later. Dropping it takes none.
#pragma once

#include <list>
#include <memory>

#include "core/errands.h"
#include "stream/operation.h"

namespace gpo {

class Held {
public:
    /// Not more than `most` operations of the user's are held at a time.
    Held(Stream& stream, uint32_t most) noexcept : stream_(stream), most_(most) {}

    struct HeldOperation;
    /// Operations that are done with, as Held is: their consequences come after the submit lock is released (conclude).
    /// With an operation goes what it refers to, and that may need a submit lock (a module that is unloaded when all
    /// streams have passed).
    using Spent = std::list<HeldOperation>;
    struct HeldOperation {
        std::unique_ptr<Operation> operation;
        bool internal = false;  // one of the library's own marks, or withheld: not counted
        Spent* home = nullptr;  // of one that is withheld: the list that it goes back to
        ErrorPtr dropped;       // why it was dropped; NULL: it is held, or was issued
    };
    static void conclude(Spent& spent) noexcept;

    // --- any thread ---
    /// Anything is held.
    bool any() const noexcept { return count_.load(std::memory_order_acquire) != 0; }
    /// How many operations, the library's own marks included; and of the user's.
    uint64_t count() const noexcept { return count_.load(std::memory_order_relaxed); }
    uint64_t users() const noexcept { return users_.load(std::memory_order_relaxed); }
    /// How many are withheld.
    uint64_t withheld() const noexcept { return withheld_.load(std::memory_order_acquire); }
    /// How often what was held was dropped.
    uint64_t drops() const noexcept { return drops_.load(std::memory_order_acquire); }

    /// Issues what is held as far as it is ready. Called by whoever made it ready, with no lock held. In a host node the
    /// errands do it: whoever has the submit lock may be in the driver, and wait for the node.
    void flush() noexcept;
    /// Issues what is withheld. If that isn't possible now, it is dropped, and the stream fails. With no lock held.
    void settle_withheld() noexcept;
    /// Drops what is held; how many of the user's operations that were. With no lock held.
    uint64_t cancel() noexcept;
    /// The same, and the stream has failed from then on. Nothing where none is held.
    void fail(const ErrorPtr& error) noexcept;
    /// The stream has failed: the errands drop what is held.
    void drop_later() noexcept;
    /// What the stream is held for now, and the number of the operation that is: 0 if nothing is held. Throws
    /// std::bad_alloc.
    struct For {
        uint64_t operation = 0;
        Awaits awaits;
    };
    For what_for();

    // --- under the submit lock ---
    bool empty() const noexcept { return operations_.empty(); }
    bool full() const noexcept { return users() >= most_; }
    /// Room in the queue of marks for those that would have to be dropped, and one more. Throws.
    void reserve_marks();
    /// Adds a copy of an operation behind what is held, and gives it its number. Throws, and then has had no effect.
    void add(const Operation& operation, bool internal) {
        Spent prepared = prepare(operation, internal);
        add(prepared);
    }
    /// The same in two steps, of which the second can't fail.
    Spent prepare(const Operation& operation, bool internal);
    void add(Spent& prepared) noexcept;
    /// Of what is held, it is what comes first. With put_first_away it was issued: by a group (stream/group_work.h).
    bool is_first(const Operation& operation) const noexcept {
        return !operations_.empty() && operations_.front().operation.get() == &operation;
    }
    void put_first_away(Spent& spent) noexcept;
    /// Inside a DriverScope.
    void issue_ready(Spent& spent) noexcept;
    /// Nothing is held but what is withheld.
    bool only_withheld() const noexcept { return operations_.size() == withheld(); }
    /// Withholds an operation, that has its number, where only_withheld().
    void withhold(Spent::iterator operation) noexcept;
    /// What is withheld has been given to the driver, as a graph: it all goes home.
    void end_withholding() noexcept;
    /// The stream has failed: drops what is held.
    void drop(const ErrorPtr& error, Spent& spent) noexcept;
    /// Calls flush() from the errands, soon; and then also Stream::leave_mark, where `leave_mark`.
    void try_again(bool leave_mark = false) noexcept;
    /// The stream leaves its last mark later, since there was no memory for the mark. Any thread.
    bool owes_mark() const noexcept { return owed_marks_.load(std::memory_order_acquire) != 0; }

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
    std::atomic<uint64_t> count_{0};          // of operations_, and of these the user's: written under the submit lock
    std::atomic<uint64_t> users_{0};
    std::atomic<uint64_t> withheld_{0};       // likewise: the first so many of operations_
    std::atomic<uint64_t> drops_{0};          // likewise
    class Again final : public Errand {
    public:
        explicit Again(Held& held) noexcept : held_(held) {}
        void run() noexcept override;

    private:
        Held& held_;                          // a reference to the stream is held while it is posted
    } again_{*this};
    class Failing final : public Errand {
    public:
        explicit Failing(Held& held) noexcept : held_(held) {}
        void run() noexcept override;

    private:
        Held& held_;                          // likewise
    } failing_{*this};  // drops what is held: posted once, by whoever finds that the stream has failed
    class Elsewhere final : public Errand {
    public:
        explicit Elsewhere(Held& held) noexcept : held_(held) {}
        void run() noexcept override;

    private:
        Held& held_;                          // likewise
    } elsewhere_{*this};  // flushes for a thread that must not
    std::atomic<bool> flushing_elsewhere_{false};   // it is posted
    bool trying_again_ = false;               // `again_` is posted; under the submit lock
    bool leave_mark_ = false;                 // and is to leave the last mark; likewise
    std::atomic<uint32_t> owed_marks_{0};     // such marks that aren't left yet; grows under the submit lock
    std::atomic<bool> to_flush_{false};       // a thread has it on its list, and
    Held* next_to_flush_ = nullptr;           // goes on with this one
};

}  // namespace gpo
