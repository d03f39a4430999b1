// An executor calls tasks that have become due. Its tasks run on threads of the library, or on threads of the program
// that call gpo_executor_run or gpo_executor_poll. task.h defines the terms.
//
// Strands with a due task are posted to an Asio io_context (run_queue.h), which the threads that run the executor poll.
// This class sleeps through the host seam: the deterministic mode sees every sleep.
// (Measured: running strands through Asio costs 1,196 instructions for a gpo_executor_run of one callback, against 855
// with the list that was there before; the time from gpo_timeline_signal to a callback and back did not change.)
//
// Sleeping. Idle threads wait on `signal_`, which changes with every event that may concern one of them: a strand
// becomes ready, the last task has been called, the executor ends. If the executor spins, one idle thread (`spinning_`)
// checks `ready_` all the time instead, while tasks are pending and for a millisecond after. A thread that makes a
// strand ready then wakes no other. Before the spinner runs a task, it gives up its role. If more strands are ready, it
// wakes one other thread, which does the same before it runs a task.
#pragma once

#include <map>
#include <vector>

#include "core/runtime.h"
#include "executor/run_queue.h"
#include "gpuorch/executor.h"

namespace gpo {

class HostCall;

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

    /// Registers a host call, and writes its number to `number` before another thread can take the call. Throws
    /// std::bad_alloc.
    void add_call(HostCall& call, uint64_t& number);
    void remove_call(uint64_t number) noexcept;
    /// Removes and returns the call with this number: only one caller can finish a call. NULL if there is no such call.
    Ref<HostCall> take_call(uint64_t number) noexcept;

    /// Prefetches the memory that due() will use.
    void fetch_ahead() const noexcept {
        __builtin_prefetch(&lock_, 1);
        run_queue_.fetch_ahead();
    }

    /// True once the executor is being destroyed: it accepts no tasks any more.
    bool closing() const noexcept { return closing_.load(std::memory_order_acquire); }

    void count_refused() noexcept { refused_.fetch_add(1, std::memory_order_relaxed); }
    gpo_executor_statistics statistics() noexcept;

    void destroyed() noexcept override;
    void close() noexcept override;
    void stop() noexcept override;
    bool drain(uint64_t deadline) noexcept override;

    /// Calls the first task of a posted strand. Only RunQueue may call this.
    void run(Ref<Strand> strand) noexcept;

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
    /// Under lock_. True if the task made its strand ready.
    bool become_due(Task& task, const Outcome& outcome, bool cancelled) noexcept;
    void due(Task& task, const Outcome& outcome) noexcept;
    void make_ready(Ref<Strand> strand) noexcept;                                   // under lock_
    Ref<Strand> strand_of(const void* order);                                       // under lock_
    bool run_one() noexcept;
    void call(Task& task, const Outcome& outcome, bool cancelled) noexcept;
    uint64_t serve(Until until, uint64_t deadline, uint64_t most) noexcept;
    uint64_t serve_as_caller(Until until, uint64_t deadline, uint64_t most) noexcept;
    bool done(Until until) const noexcept;
    bool take_spinning() noexcept;
    void sleep(uint32_t seen, Until until, uint64_t deadline) noexcept;
    void wake_one() noexcept;
    void wake_all() noexcept;
    void cancel_waiting() noexcept;
    void cancel_calls() noexcept;
    void abandon_awaited() noexcept;
    void thread() noexcept;

    const uint32_t thread_count_, capacity_;
    const bool spins_;
    const ErrorPtr cancelled_;                       // made ahead: teardown must not need memory

    RunQueue run_queue_;                             // strands with a due task that no thread is calling
    host::Mutex lock_;
    List waiting_;                                      // lock_ guards this and all members up to the empty line
    List due_awaited_;
    std::map<const void*, Ref<Strand>> strands_;     // by `order`; idle strands are erased now and then
    size_t sweep_at_ = 64;
    std::map<uint64_t, Ref<HostCall>> calls_;
    uint64_t last_call_ = 0, accepted_ = 0, called_ = 0, cancelled_count_ = 0, threw_ = 0;
    bool stopped_ = false;

    alignas(64) std::atomic<uint32_t> signal_{0};    // wait word
    std::atomic<uint32_t> none_waiting_{0};             // wait word: changes when the last task was called
    std::atomic<uint32_t> ready_{0};                 // strands in run_queue_
    std::atomic<uint32_t> pending_{0};               // tasks accepted and not called
    std::atomic<uint32_t> sleepers_{0}, spinning_{0}, watchers_{0}, runners_{0};
    std::atomic<uint32_t> serving_callers_{0};       // callers of run() and poll(): run what is left after destruction
    std::atomic<bool> closing_{false};
    std::atomic<uint64_t> refused_{0};
    std::atomic<const Task*> due_last_{nullptr};  // the task and the strand made ready last, only to prefetch:
    std::atomic<const Strand*> ready_last_{nullptr}; // may dangle

    std::unique_ptr<Crew> crew_;                     // the last thread to leave posts it as an errand
    std::atomic<uint32_t> inside_{0};                // threads that have not left thread()
};

template <>
struct TypeOf<Executor> { static constexpr Type value = Type::executor; };

}  // namespace gpo
