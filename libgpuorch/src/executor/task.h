// A task: one call that an executor makes exactly once.
//
// A task is *pending* from acceptance until it has been called, and `owed` until it becomes *due*. A task becomes due
// when the work it waits for is done, or when its executor is torn down. One of the executor's threads *calls* the
// task. A *strand* is the list of tasks that must be called one at a time, in the order in which they became due. The
// executor's lock guards all of that.
#pragma once

#include <cstddef>

#include "completion/mark.h"

namespace gpo {

class Executor;

/// Tasks that run one after the other. Under the executor's lock.
class Strand final : public Counted {
public:
    explicit Strand(Executor& executor) noexcept : executor(executor) {}

    Executor& executor;      // outlives the strand: every task holds the executor
    uint64_t tasks = 0;      // accepted and not called
    class Task* first = nullptr;
    class Task* last = nullptr;
    bool scheduled = false;  // posted, or being run by a thread

    static constexpr size_t kPosted = 64;
    alignas(std::max_align_t) std::byte posted[kPosted];  // Asio's record of the posting: run_queue.h
};

class Task : public CompletionHandler {
public:
    /// Tag of a task that a library thread waits for: accepted beyond the executor's capacity, and abandoned when no
    /// thread is left to run it.
    struct Awaited {};
    static constexpr Awaited awaited{};

    explicit Task(Executor& executor);
    Task(Executor& executor, Awaited);

    /// Makes the task due: the work it waits for is done. Any thread; only the first call counts.
    void on_completed(const Outcome& outcome) noexcept final;
    void fetch_ahead() const noexcept final;

protected:
    ~Task() override;
    Executor& executor() const noexcept { return *executor_; }

private:
    friend class Executor;
    /// Called on a thread that runs the executor, under no lock; exceptions are caught there. `cancelled`: the executor
    /// was torn down before the awaited work was done.
    virtual void call(const Outcome& outcome, bool cancelled) = 0;
    /// Runs instead of call() for an awaited task that is abandoned. Under no lock.
    virtual void abandon() noexcept {}

    enum class State : uint8_t { made, owed, due, called };
    const Ref<Executor> executor_;
    const bool awaited_;
    // Under the executor's lock:
    Ref<Strand> strand_;
    State state_ = State::made;
    bool cancelled_ = false;
    Task* before_ = nullptr;  // in owed_; once due, only of an awaited task: in due_awaited_
    Task* after_ = nullptr;   // in the same list; of other due tasks: the next in the strand
    Outcome outcome_;
};

}  // namespace gpo
