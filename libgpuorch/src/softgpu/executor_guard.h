// GPUORCH_SOFT_GUARD=1: a wild access inside a kernel ends the launch instead of the process.
//
// Division of an integer by zero, which on a GPU is no fault at all, ends the launch too.
//
// The handler of SIGSEGV, SIGBUS and SIGFPE acts only on a worker that is inside a kernel, and passes everything else
// on to the handler that was there before. It lies on a stack of its own, so that a stack that has run over is caught
// too.
#pragma once

#include <memory>

#include "softgpu/executor_block.h"

namespace gpo::softgpu {

/// Installs the handler, once for the process.
void install_guard();

/// A worker's part: an alternate signal stack, and which block runs.
class GuardedThread {
public:
    explicit GuardedThread(bool on);
    ~GuardedThread();
    GuardedThread(const GuardedThread&) = delete;
    GuardedThread& operator=(const GuardedThread&) = delete;
    void enter(Block* block) noexcept;
    void exit() noexcept;

private:
    bool on_;
    std::unique_ptr<char[]> stack_;
};

}  // namespace gpo::softgpu
