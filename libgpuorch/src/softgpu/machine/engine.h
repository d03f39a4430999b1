// A thread that performs commands one after the other: a copy engine, or the thread that runs host functions. An idle
// engine parks. A thread that pushes a command to a parked engine wakes the engine after releasing the lock.
#pragma once

#include <atomic>

#include "host/host.h"
#include "softgpu/commands/command.h"

namespace gpo::softgpu {

struct Context;
struct Machine;

class Engine {
public:
    /// Performs a command; called with no lock held.
    using Perform = CUresult (*)(Machine&, Command&);
    /// Throws std::system_error, std::bad_alloc.
    Engine(Machine&, const char* name, Perform);
    /// The queue must be empty: the destructor drops no commands.
    ~Engine();
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    /// Lock held. True when wake() must be called once the lock is free.
    bool push(Command&) noexcept;
    void wake() noexcept { host::wake_one(word_); }

private:
    void run();

    Machine& machine_;
    const Perform perform_;
    Command *head_ = nullptr, *tail_ = nullptr;
    bool parked_ = false, stopping_ = false;
    std::atomic<uint32_t> word_{0};
    host::Thread thread_;
};

/// Completes commands at their time, and watches the values that streams wait for. Started when first needed.
class Clock {
public:
    explicit Clock(Machine&);
    ~Clock();
    Clock(const Clock&) = delete;
    Clock& operator=(const Clock&) = delete;

    /// Lock held: completes the command at `command.due`. True when wake() must be called.
    bool at_due_time(Command&) noexcept;
    /// Lock held: completes the command when the awaited value is in memory. True when wake() must be called.
    bool when_value_holds(Command&) noexcept;
    /// Lock held: the commands of a context (NULL: all) that wait for values, to be completed by the caller.
    Command* take_watched(const Context* only) noexcept;
    void wake() noexcept { host::wake_one(word_); }

private:
    void run();
    Command* take_finished(uint64_t now) noexcept;

    Machine& machine_;
    Command* timed_ = nullptr;       // by due time
    Command* watched_ = nullptr;
    bool stopping_ = false;
    std::atomic<uint32_t> word_{0};
    host::Thread thread_;
};

/// True when the condition of a wait_value command holds.
bool value_holds(const Command&) noexcept;

/// True inside a host function: CUDA calls are not permitted there.
bool in_host_function() noexcept;

CUresult perform_copy(Machine&, Command&);
CUresult perform_host_call(Machine&, Command&);

}  // namespace gpo::softgpu
