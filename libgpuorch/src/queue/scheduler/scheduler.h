// Schedulers: kernels that stay on the GPU and do the tasks of a queue.
//
// A run is a launch on a resident stream, followed by a mark whose completion wakes waiting threads. A run uses the
// scheduler's *assets*. The stream keeps these until the run has ended (stream/residence.h), even if all handles are
// destroyed.
//
// A request to a run is a word in device memory, which the memory's control stream writes while the run goes on. Words
// on the device carry the number of their run: nothing has to be cleared between runs, and a stop overtakes no start.
#pragma once

#include "core/errands.h"
#include "core/struct_array.h"
#include "graph/instance.h"
#include "kernel/launch.h"
#include "queue/scheduler/scheduler_layout.h"
#include "queue/scheduler/scheduler_plan.h"

namespace gpo {

class Device;

namespace scheduler {

/// Everything that runs use.
class Assets final : public Counted {
public:
    /// Takes the queue and multiprocessors for the scheduler. Throws Failure.
    Assets(Ref<DeviceQueue> queue, const Plan& plan, Ref<Kernel> kernel, const FixedText<96>& owner);

    const Ref<DeviceQueue> queue;
    const Ref<Kernel> kernel;
    const Ref<queue::Memory> memory;
    Ref<Graph> graph;  // launched by a run; NULL: a run launches the kernel
    std::vector<Ref<Graph>> children;  // graphs that `graph` launches
    uint32_t multiprocessors = 0, blocks = 0;
    Work work;
    std::atomic<uint32_t>* asked = nullptr;  // pinned
    uint64_t block_bytes = 0;  // of a Block with its Counts

private:
    ~Assets() override;
    void take_multiprocessors(const Plan& plan);
};

/// Makes assets.graph, a while around the kernel. Throws Failure.
void make_loop(Assets& assets, const gpo_launch& launch, const char* label);

/// Makes assets.graph, which launches the plan's graphs. Throws Failure.
void make_step(Assets& assets, const Plan& plan, const char* label);
/// Throws Failure unless kernels of the context may launch the plan's graphs.
void check_graphs(const Plan& plan, const Context& context);

/// A run, for the threads that wait for its end.
class Run final : public CompletionHandler, private Errand {
public:
    Run(uint32_t number, Stream& stream) noexcept : number(number), stream_(stream) {}
    /// Puts the mark that ends the run behind its launch. After a lack of memory the errands make the mark. Throws
    /// Failure.
    void mark();
    void on_completed(const Outcome& outcome) noexcept override;
    bool ended() const noexcept { return ended_.load(std::memory_order_acquire); }
    /// Why the run failed; NULL: it didn't. After its end.
    const ErrorPtr& error() const noexcept { return error_; }
    /// Makes waiting threads look again.
    void wake() noexcept;
    const std::atomic<uint32_t>& signal() const noexcept { return signal_; }

    const uint32_t number;
    std::atomic<uint32_t> asked{0};  // Mode: the greatest that was asked for

private:
    void run() noexcept override;
    void try_again() noexcept;

    Stream& stream_;  // kept by the mark on it, or while the errand is posted
    std::atomic<uint32_t> signal_{0};
    std::atomic<bool> ended_{false};
    ErrorPtr error_;
};

}  // namespace scheduler

class Scheduler final : public Object {
public:
    /// Throws Failure.
    static Ref<Scheduler> create(Device& device, gpo_device_t handle, const gpo_scheduler_options& options,
                                 const StructArray<gpo_handler>& handlers, uint32_t count, Ref<DeviceQueue> queue);

    // Throw Failure.
    void start();
    gpo_status drain_run(uint64_t deadline);
    gpo_status stop_run(uint64_t deadline);
    gpo_status wait(uint64_t deadline);

    gpo_scheduler_info info();
    gpo_handler_info handler_info(uint32_t handler);
    std::vector<gpo_scheduler_block> blocks(uint64_t capacity);
    std::vector<gpo_depth_sample> samples(uint64_t capacity);
    std::vector<gpo_task_error> errors(uint64_t capacity);

    // --- for core/object.h ---
    void destroyed() noexcept override;
    void stop() noexcept override { stop_quietly(); }
    bool drain(uint64_t deadline) noexcept override;
    void shutdown_timed_out() noexcept override;
    void close() noexcept override;

    Scheduler(const gpo_scheduler_options& options, const scheduler::Plan& plan, Ref<scheduler::Assets> assets,
              Ref<Stream> stream, bool own_stream);

private:
    ~Scheduler() override = default;
    Ref<scheduler::Run> newest() const;
    void refuse_ended_queue() const;
    void launch(uint32_t run);
    void ask(scheduler::Run& run, scheduler::Mode mode);
    void stop_quietly() noexcept;
    gpo_status wait_for(scheduler::Run& run, uint64_t deadline);
    scheduler::Words words() const;
    std::vector<std::byte> block_rows() const;

    const scheduler::Plan plan_;
    const Ref<scheduler::Assets> assets_;
    Ref<Stream> stream_;
    const bool own_stream_;
    std::atomic<bool> destroyed_{false};
    host::Mutex starting_;     // taken before lock_
    uint32_t runs_ = 0;        // under starting_
    mutable host::Mutex lock_;
    Ref<scheduler::Run> run_;  // the newest; under lock_
};

template <>
struct TypeOf<Scheduler> {
    static constexpr Type value = Type::scheduler;
};

}  // namespace gpo
