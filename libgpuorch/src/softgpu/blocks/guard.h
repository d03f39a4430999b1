// A wild access, an illegal instruction or an integer division by zero inside a kernel ends the launch instead of the
// process. (On a GPU the division is no fault at all.)
//
// The handler of SIGSEGV, SIGBUS, SIGFPE and SIGILL acts only on a worker that is inside a kernel. Every other signal
// goes to the handler that was installed before, as if ours were not there. The handler calls only functions that are
// safe in a signal handler. Its own stack lets the handler catch a stack overflow, too. GPUORCH_SOFT_GUARD=0 installs
// no handler.
#pragma once

#include <cstdint>

#include "softgpu/blocks/block.h"

namespace gpo::softgpu {

/// The handler is installed while a FaultHandler exists. If the host has installed another handler since, which may
/// call ours, our handler stays installed and the library stays loaded.
class FaultHandler {
public:
    FaultHandler();
    ~FaultHandler();
    FaultHandler(const FaultHandler&) = delete;
    FaultHandler& operator=(const FaultHandler&) = delete;
};

/// A worker's part, on the worker's thread: which block runs. The handler's stack lies in the worker's own region.
class GuardedThread {
public:
    GuardedThread(bool on, Region& own) noexcept;
    ~GuardedThread();
    GuardedThread(const GuardedThread&) = delete;
    GuardedThread& operator=(const GuardedThread&) = delete;
    void enter(Block* block) noexcept { running = block; }
    void exit() noexcept { running = nullptr; }

    // For the handler:
    Block* running = nullptr;
    uintptr_t address = 0;   // of the fault
    int signal = 0;

private:
    const bool on_;
};

}  // namespace gpo::softgpu
