// A task: one call that an executor makes exactly once.
//
// A task is *owed* from the moment when it is accepted until it has been called. It becomes *due* when what it waits
// for has happened, or when its executor is torn down. It is *called* by one of the executor's threads. A *strand* is
// the list of tasks that must be called one at a time, in the order in which they became due. The executor's lock
// guards all of that.
#pragma once

#include <cstddef>

#include "completion/mark.h"

namespace gpo {

class Executor;

/// Tasks that run one after the other. Under the executor's lock.
class Strand final : public Counted {
public:
    explicit Strand(Executor& executor) noexcept : executor(executor) {}

    Executor& executor;      // outlives it: every task holds the executor
    uint64_t tasks = 0;      // accepted and not called
    class Task* first = nullptr;
    class Task* last = nullptr;
    bool scheduled = false;  // posted to be run, or at a thread

    static constexpr size_t kPosted = 64;
    alignas(std::max_align_t) std::byte posted[kPosted];  // what Asio notes while it is posted: run_queue.h
};

class Task : public CompletionHandler {
public:
    /// Of a task that a thread of the library's waits for: it is accepted beyond the executor's capacity, and abandoned
    /// when nobody is left to run it.
    struct Awaited {};
    static constexpr Awaited awaited{};

    explicit Task(Executor& executor);
    Task(Executor& executor, Awaited);

    /// What it waits for has happened. Any thread; the first time counts.
    void on_completed(const Outcome& outcome) noexcept final;
    void fetch_ahead() const noexcept final;

protected:
    ~Task() override;
    Executor& executor() const noexcept { return *executor_; }

private:
    friend class Executor;
    /// On a thread that runs the executor, under no lock. What it throws is caught there. `cancelled`: what it waited
    /// for has not happened, the executor was torn down.
    virtual void call(const Outcome& outcome, bool cancelled) = 0;
    /// Of an awaited task, instead: it won't be called. Under no lock.
    virtual void abandon() noexcept {}

    enum class State : uint8_t { made, owed, due, called };
    const Ref<Executor> executor_;
    const bool awaited_;
    // Under the executor's lock:
    Ref<Strand> strand_;
    State state_ = State::made;
    bool cancelled_ = false;
    Task* before_ = nullptr;  // in the list of those owed, then, of an awaited one, of those due
    Task* after_ = nullptr;   // else the next in its strand
    Outcome outcome_;
};

}  // namespace gpo
