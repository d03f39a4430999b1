// A task: a function that an executor calls once, unless the task is withdrawn or abandoned.
//
// A task is *pending* from its acceptance until its function has returned. Accepted tasks are `waiting` until they
// become *due*: when the awaited work is done, when their time has come, or when the executor is destroyed. A thread
// that runs the executor *calls* a due task. A *strand* is a list of tasks that must be called one at a time, in the
// order in which they became due. The executor's lock guards these states and lists.
#pragma once

#include "completion/mark.h"

namespace gpo {

class Executor;
class Task;

/// A thread takes a turn from the executor: it stands for one task, or for the tasks of a strand, of which the thread
/// calls the first. Under the executor's lock.
struct Turn {
    Turn* after = nullptr;   // in the list of turns that are ready, or in the inbox
    Task* first = nullptr;   // due and not taken, in order
    Task* last = nullptr;
    bool scheduled = false;  // ready, or a thread is calling its task
};

/// Tasks that run one after the other. Under the executor's lock.
struct Strand : Turn {
    uint64_t tasks = 0;  // accepted and not called
};

class Task : public CompletionHandler {
public:
    /// Marks a task that a library thread waits for. A full executor accepts the task too, and abandons it when no
    /// thread is left to run it.
    struct Awaited {};
    static constexpr Awaited awaited{};

    explicit Task(Executor& executor);
    Task(Executor& executor, Awaited);

    /// Makes the task due: the work it waits for is done. Any thread; only the first call counts.
    void on_completed(const Outcome& outcome) noexcept final;
    void fetch_ahead() const noexcept final;

protected:
    /// Of a task that is used again and again (posted.h): it holds no reference to an executor.
    Task() noexcept;
    ~Task() override;
    Executor& executor() const noexcept { return *executor_; }

private:
    friend class Executor;
    friend class FreePosted;
    /// Called on a thread that runs the executor, under no lock; exceptions are caught there. `cancelled`: the executor
    /// was torn down before the awaited work was done.
    virtual void call(const Outcome& outcome, bool cancelled) = 0;
    /// Called in place of call() when an awaited task is abandoned. Under no lock.
    virtual void abandon() noexcept {}

    enum class State : uint8_t { made, waiting, due, called };
    // Under the executor's lock. What a thread reads to take the task is on one cache line.
    alignas(64) Turn own_;
    Strand* strand_ = nullptr;  // NULL: the task has a turn of its own
    Task* after_ = nullptr;     // in the list of before_; of other due tasks: the next in the strand
    const bool awaited_;
    State state_ = State::made;
    bool cancelled_ = false;
    Task* before_ = nullptr;  // in waiting_; once due, only of an awaited task: in due_awaited_
    Executor* executor_;
    const Ref<Executor> held_;  // NULL: Posted
    Outcome outcome_;
};

}  // namespace gpo
