// An executor calls tasks that have become due. Its tasks run on threads of the library, or on threads of the program
// that call gpo_executor_run or gpo_executor_poll. task.h defines the terms.
//
// Ready turns form a list under the executor's lock. A thread ends its task and takes the next turn under the lock at
// once. Posted callbacks come through an inbox, a stack that needs no lock, whose turns the next thread that has the
// lock moves to the list, in their order. Threads sleep through the host seam,
// until the next time in the timetable (timetable.h) at most. The deterministic mode thus sees every sleep, and times
// are times of its clock.
// (An io_context of Asio would be no replacement: its threads sleep inside Asio, by the machine's clock, and posting
// costs more. tests/bench/RESULTS.md, "Asio", compares both. asio/executor.hpp gives an executor Asio's concepts.)
//
// Sleeping. Idle threads wait on `signal_`. A thread that makes a turn ready wakes one sleeper, unless as many sleepers
// were woken already as turns are ready. The sleeper that *keeps the time* sleeps until the timetable's next time.
// If the executor spins, one idle thread (`spinning_`) checks `ready_` all the time instead, while work is pending and
// for a millisecond after. A thread that makes a turn ready then wakes no other. Before the spinner takes a task, it
// gives up its role, and wakes another thread if more turns are ready.
#pragma once

#include <map>
#include <vector>

#include "core/runtime.h"
#include "executor/timetable.h"
#include "gpuorch/executor.h"

namespace gpo {

class HostCall;
class Posted;

class Executor final : public Object {
public:
    Executor(Runtime& runtime, uint32_t threads, uint32_t capacity, bool spins, const char* label);
    /// Starts the threads, all or none. Throws Failure(GPO_SHUT_DOWN), std::system_error, std::bad_alloc.
    void start();

    /// Returns GPO_SUCCESS, or GPO_WOULD_BLOCK if the executor is full. An accepted task is called once, unless it is
    /// withdrawn or abandoned. Tasks with the same `order` (not NULL) are called one at a time, in the order in which
    /// they become due. Throws if the executor accepts no more tasks.
    gpo_status accept(Task& task, const void* order);
    /// Removes an accepted task that won't become due: the executor won't call the task. False if the executor was
    /// destroyed meanwhile and calls the task. The caller must hold a pin on the executor.
    bool withdraw(Task& task) noexcept;

    /// Runs tasks on the calling thread until none is pending or the deadline passes. Throws
    /// Failure(GPO_WOULD_DEADLOCK, GPO_CANCELLED).
    gpo_status run(uint64_t deadline, uint64_t* count);
    uint64_t poll();

    /// Calls `callback` as soon as a thread is free. Returns GPO_SUCCESS or GPO_WOULD_BLOCK, and throws as accept().
    gpo_status post(gpo_completion_fn callback, void* user);
    /// Like post(), at a time of host::now(); kForever: never. Writes the ticket before the callback can run.
    gpo_status post_at(uint64_t time_ns, gpo_completion_fn callback, void* user, uint64_t* ticket);
    /// Calls the callback with GPO_CANCELLED soon, if its time has not come. False: no such callback waits.
    bool cancel(uint64_t ticket) noexcept;

    /// Registers a host call, and writes its number to `number` before another thread can take the call. Throws
    /// std::bad_alloc.
    void add_call(HostCall& call, uint64_t& number);
    void remove_call(uint64_t number) noexcept;
    /// Removes and returns the call with this number: only one caller can finish a call. NULL if there is no such call.
    Ref<HostCall> take_call(uint64_t number) noexcept;

    /// Prefetches the memory that due() will use.
    void fetch_ahead() const noexcept { __builtin_prefetch(&lock_, 1); }

    /// True once the executor is being destroyed: it accepts no tasks any more.
    bool closing() const noexcept { return closing_.load(std::memory_order_acquire); }

    void count_refused() noexcept { refused_.fetch_add(1, std::memory_order_relaxed); }
    gpo_executor_statistics statistics() noexcept;

    void destroyed() noexcept override;
    void close() noexcept override;
    void stop() noexcept override;
    bool drain(uint64_t deadline) noexcept override;

private:
    friend class Task;
    enum class Until : uint8_t { none_waiting, none_ready, ended };
    /// The threads, and the errand that joins them.
    struct Crew final : Errand {
        std::vector<host::Thread> threads;
        void run() noexcept override { delete this; }
    };

    ~Executor() override;
    /// A list of tasks by before_ and after_, under lock_.
    struct List {
        Task* first = nullptr;
        Task* last = nullptr;
        void add(Task& task) noexcept;
        void remove(Task& task) noexcept;
    };
    void refuse_ended(bool awaited) const;
    gpo_status admit(bool awaited);
    void leave() noexcept;
    // Under lock_:
    void look_at_times() noexcept;
    void become_due(Task& task, const Outcome& outcome, bool cancelled) noexcept;
    void make_ready(Turn& turn) noexcept;
    void empty_inbox() noexcept;
    void take_out(const Turn& turn) noexcept;
    Strand* strand_of(const void* order);
    Task* take() noexcept;
    bool finish(Task& task) noexcept;
    void ring(uint64_t now) noexcept;
    void cancel_timed() noexcept;
    bool wake_for(bool something) noexcept;
    bool wake_for_jobs() noexcept;

    void due(Task& task, const Outcome& outcome) noexcept;
    Task* next(Task* finished, bool take_one) noexcept;
    void call(Task& task, const Outcome& outcome, bool cancelled) noexcept;
    uint64_t call_ready(uint64_t most, uint64_t deadline) noexcept;
    uint64_t serve(Until until, uint64_t deadline, uint64_t most) noexcept;
    uint64_t serve_as_caller(Until until, uint64_t deadline, uint64_t most) noexcept;
    Outcome cancelled_outcome(const Task& task, const ErrorPtr& why) const noexcept;
    bool anything_to_do() const noexcept;
    bool working() const noexcept;
    bool done(Until until) const noexcept;
    bool done(Until until, bool closing) const noexcept;
    bool take_spinning() noexcept;
    void sleep(Until until, uint64_t deadline, bool unless_working) noexcept;
    void wake_all() noexcept;
    void cancel_waiting() noexcept;
    void cancel_calls() noexcept;
    void abandon_awaited() noexcept;
    void thread() noexcept;

    const uint32_t thread_count_, capacity_;
    const bool spins_;
    const ErrorPtr cancelled_, withdrawn_;           // made ahead: teardown must not need memory

    // A thread that posts needs this cache line alone.
    alignas(64) std::atomic<Turn*> inbox_{nullptr};  // the newest one; turns of posted tasks
    std::atomic<uint32_t> pending_{0};               // tasks accepted and not called
    std::atomic<uint32_t> sleepers_{0};              // changes under lock_
    std::atomic<uint32_t> spinning_{0};
    std::atomic<bool> closing_{false}, stopped_{false};  // change under lock_

    // lock_ guards all members up to the empty line. The atomics among them are read without the lock, too.
    alignas(64) host::Mutex lock_;
    std::atomic<uint32_t> signal_{0};                // wait word of idle threads
    std::atomic<uint32_t> ready_{0};                 // turns in the list; near lock_, which its readers take next
    uint32_t woken_ = 0;                             // of the sleepers, were woken and are on their way
    Turn* ready_first_ = nullptr;
    Turn* ready_last_ = nullptr;
    uint64_t called_ = 0;
    std::atomic<uint64_t> next_time_{host::kForever};// of the timetable
    std::atomic<uint32_t> timed_{0};                 // tasks in the timetable
    uint64_t kept_ = host::kForever;                 // until when the sleeper that keeps the time sleeps
    uint64_t accepted_ = 0, cancelled_count_ = 0, threw_ = 0;
    Timetable timetable_;
    List waiting_;
    List due_awaited_;
    std::map<const void*, Strand> strands_;          // by `order`; idle strands are erased now and then
    size_t sweep_at_ = 64;
    std::map<uint64_t, Ref<HostCall>> calls_;
    uint64_t last_call_ = 0;

    alignas(64) std::atomic<uint32_t> none_waiting_{0};  // wait word: changes when the last task was called
    std::atomic<uint32_t> watchers_{0}, runners_{0};
    std::atomic<uint32_t> serving_callers_{0};       // callers of run() and poll(): run what is left after destruction
    std::atomic<uint64_t> refused_{0};
    std::atomic<const Task*> due_last_{nullptr};     // the task that became due last, only to prefetch: may dangle

    std::unique_ptr<Crew> crew_;                     // the last thread to leave posts it as an errand
    std::atomic<uint32_t> inside_{0};                // threads that have not left thread()
};

template <>
struct TypeOf<Executor> { static constexpr Type value = Type::executor; };

}  // namespace gpo
