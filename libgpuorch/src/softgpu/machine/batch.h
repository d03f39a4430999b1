// A Batch is one change of the machine's state. The constructor takes the lock. finish() advances the streams that
// became ready, releases the lock, and only then submits kernels and wakes threads.
#pragma once

#include "softgpu/machine/machine.h"

namespace gpo::softgpu {

/// The context whose device performs the command.
Context& context_of(const Command&) noexcept;

struct ChildGrid;

class Batch {
public:
    explicit Batch(Machine& machine) : machine_(machine), lock_(machine.lock) {}
    ~Batch() { finish(); }
    Batch(const Batch&) = delete;
    Batch& operator=(const Batch&) = delete;

    /// The stream may have a command to start.
    void ready(Stream&) noexcept;
    /// Appends a command to the stream, which owns it from here on.
    void append(Stream&, Command&) noexcept;
    /// Called when an engine or the multiprocessors have finished a command: stores its outcome and starts its
    /// successors.
    void completed(Command&, CUresult, const char* text) noexcept;
    /// Called at the first failure of a kernel: all devices become lost.
    void fail(const Command&, CUresult, const char* text) noexcept;
    // Called when a kernel of `by` launches an executable graph, after the checks in machine/kernel_calls.cpp.
    void launch_tail(GraphRun& by, std::shared_ptr<GraphRun>) noexcept;
    /// Launches into the environment of `by`; if `sibling`, into the environment that contains `by`.
    void launch_beside(GraphRun& by, std::shared_ptr<GraphRun>, bool sibling) noexcept;
    /// Called when a kernel launches a child, after the checks in machine/kernel_calls.cpp. Throws std::bad_alloc
    /// without effects.
    void launch_child(std::unique_ptr<ChildGrid>);
    /// Ends the waits for values and marks in a context's streams (NULL: in all streams).
    void give_up_waits(const Context* only) noexcept;
    void mark_done(Mark&) noexcept;
    /// Signals the listeners for events of the context.
    void notify(const Context&) noexcept;
    /// Wakes the host threads that wait for the stream.
    void wake_waiters(Stream&) noexcept;
    /// Advances all ready streams, without releasing the lock.
    void settle() noexcept;
    void finish() noexcept;
    host::Lock& lock() noexcept { return lock_; }

private:
    enum class Started : uint8_t { done, running, inside };   // inside: a body of the conditional node has begun
    void advance(Stream&) noexcept;
    Started start(Command&) noexcept;
    void drop(Command&) noexcept;
    void start_kernel(Command&, Device&) noexcept;
    void give_up_wait(Command&) noexcept;
    void begin_run(Command&) noexcept;
    void end_run(Command&) noexcept;
    /// Starts all nodes of a graph's run that can start. True if the run is over.
    bool advance_run(GraphRun&) noexcept;
    // Conditional nodes, and runs that belong together (machine/graph_runs.cpp).
    Started start_run(Command&) noexcept;
    void node_done(GraphRun&, uint32_t node) noexcept;
    Started decide(Command& node, bool again) noexcept;
    bool repeat(Command& node) noexcept;
    bool finish_run(GraphRun&) noexcept;
    void release_run(GraphRun&) noexcept;
    void start_again(Command&) noexcept;
    // Grids that kernels have launched (machine/children.cpp).
    Command* grid_ended(Command&) noexcept;
    bool family_goes_on(Command&) noexcept;
    bool start_child(ChildGrid&) noexcept;
    void leave_family(ChildGrid&) noexcept;
    void discard_child(ChildGrid&) noexcept;
    /// The stream's current command is over.
    void retire(Stream&) noexcept;
    void wake_later(std::atomic<uint32_t>& word) noexcept;
    void push(Engine*, Command&) noexcept;

    static constexpr int kWakes = 32;
    Machine& machine_;
    host::Lock lock_;
    Stream *ready_first_ = nullptr, *ready_last_ = nullptr;
    Command* woken_ = nullptr;            // commands whose mark is done, by Command::next
    Command* kernels_ = nullptr;
    Command** kernels_last_ = &kernels_;
    std::atomic<uint32_t>* wakes_[kWakes] = {};
    int wake_count_ = 0;
    Engine* engines_[8] = {};
    int engine_count_ = 0;
    bool wake_clock_ = false;
    bool stop_multiprocessors_ = false;
    bool finished_ = false;
};

}  // namespace gpo::softgpu
