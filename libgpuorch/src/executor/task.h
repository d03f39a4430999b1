// A task: a function that an executor calls once, unless the task is withdrawn or abandoned.
//
// A task is *pending* from its acceptance until its function has returned. Accepted tasks are `waiting` until they
// become *due*: when the awaited work is done, or the executor is destroyed. A thread that runs the executor *calls* a
// due task. A *strand* is a list of tasks that must be called one at a time, in the order in which they became due. The
// executor's lock guards these states and lists.
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
    ~Task() override;
    Executor& executor() const noexcept { return *executor_; }

private:
    friend class Executor;
    /// Called on a thread that runs the executor, under no lock; exceptions are caught there. `cancelled`: the executor
    /// was torn down before the awaited work was done.
    virtual void call(const Outcome& outcome, bool cancelled) = 0;
    /// Called in place of call() when an awaited task is abandoned. Under no lock.
    virtual void abandon() noexcept {}

    enum class State : uint8_t { made, waiting, due, called };
    const Ref<Executor> executor_;
    const bool awaited_;
    // Under the executor's lock:
    Ref<Strand> strand_;
    State state_ = State::made;
    bool cancelled_ = false;
    Task* before_ = nullptr;  // in waiting_; once due, only of an awaited task: in due_awaited_
    Task* after_ = nullptr;   // in the same list; of other due tasks: the next in the strand
    Outcome outcome_;
};

}  // namespace gpo
