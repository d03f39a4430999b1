#include "softgpu/executor_guard.h"

#include <signal.h>
#include <ucontext.h>

#include <cstdio>

#include "host/host.h"
#include "softgpu/executor_region.h"

namespace gpo::softgpu {

namespace {

constexpr size_t kSignalStack = 64 << 10;

thread_local Block* running_block = nullptr;
thread_local uintptr_t fault_address = 0;

thread_local int fault_signal = 0;

struct sigaction previous_segv, previous_bus, previous_fpe;

/// Where a faulting kernel goes on: at the top of its block's main stack, whose frames nobody needs any more.
[[noreturn]] GPO_NO_TSAN void landed() {
    Block* block = running_block;
    if (fault_signal == SIGFPE) block->services->fail(block, CUDA_ERROR_LAUNCH_FAILED, "integer division by zero");
    char text[80];
    snprintf(text, sizeof text, "illegal address 0x%llx", static_cast<unsigned long long>(fault_address));
    block->services->fail(block, CUDA_ERROR_ILLEGAL_ADDRESS, text);
    __builtin_unreachable();
}

void pass_on(int signal, siginfo_t* info, void* context) {
    const struct sigaction& previous = signal == SIGSEGV  ? previous_segv
                                       : signal == SIGBUS ? previous_bus
                                                          : previous_fpe;
    if (previous.sa_flags & SA_SIGINFO) {
        previous.sa_sigaction(signal, info, context);
    } else if (previous.sa_handler == SIG_IGN) {
        return;
    } else if (previous.sa_handler != SIG_DFL) {
        previous.sa_handler(signal);
    } else {
        // The access is made again when we return, and then ends the process as it would have without us.
        ::signal(signal, SIG_DFL);
    }
}

void on_fault(int signal, siginfo_t* info, void* context) {
    Block* block = running_block;
    if (!block || info->si_code <= 0) {
        pass_on(signal, info, context);
        return;
    }
    fault_signal = signal;
    fault_address = reinterpret_cast<uintptr_t>(info->si_addr);
    auto* machine = static_cast<ucontext_t*>(context);
    const uintptr_t top = reinterpret_cast<uintptr_t>(block->region().base()) + RegionLayout::kMainStackEnd - 64;
#if defined(__x86_64__)
    machine->uc_mcontext.gregs[REG_RSP] = static_cast<greg_t>(top - 8);   // as after a call
    machine->uc_mcontext.gregs[REG_RIP] = reinterpret_cast<greg_t>(&landed);
#elif defined(__aarch64__)
    machine->uc_mcontext.sp = top;
    machine->uc_mcontext.pc = reinterpret_cast<uintptr_t>(&landed);
#else
    pass_on(signal, info, context);
#endif
}

}  // namespace

void install_guard() {
    static host::Mutex lock;
    static bool installed = false;
    host::Lock hold(lock);
    if (installed) return;
    installed = true;
    struct sigaction action {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigemptyset(&action.sa_mask);
    sigaction(SIGSEGV, &action, &previous_segv);
    sigaction(SIGBUS, &action, &previous_bus);
    sigaction(SIGFPE, &action, &previous_fpe);
}

GuardedThread::GuardedThread(bool on) : on_(on) {
    if (!on_) return;
    stack_ = std::make_unique<char[]>(kSignalStack);
    stack_t stack{};
    stack.ss_sp = stack_.get();
    stack.ss_size = kSignalStack;
    sigaltstack(&stack, nullptr);
}

GuardedThread::~GuardedThread() {
    if (!on_) return;
    stack_t off{};
    off.ss_flags = SS_DISABLE;
    sigaltstack(&off, nullptr);
}

void GuardedThread::enter(Block* block) noexcept {
    if (on_) running_block = block;
}

void GuardedThread::exit() noexcept {
    if (on_) running_block = nullptr;
}

}  // namespace gpo::softgpu
