#include "softgpu/blocks/guard.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <cstdio>

#include "host/host.h"
#include "softgpu/blocks/region.h"

namespace gpo::softgpu {

namespace {

constexpr std::array kFaults = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};

/// Key of the calling thread's GuardedThread, if the thread is a worker. Not a thread_local: a thread's first use of a
/// thread_local may take memory, which is forbidden in a signal handler. With the initial-exec model a process would
/// have room for few copies of the library. glibc's pthread_getspecific only reads a table of the thread.
pthread_key_t guarded_key;
constinit bool has_guarded_key = false;    // under the lock; never reset

GuardedThread* guarded_here() noexcept { return static_cast<GuardedThread*>(pthread_getspecific(guarded_key)); }

struct sigaction previous_handlers[kFaults.size()];
constinit host::Mutex handler_lock;
constinit unsigned handler_users = 0;      // under the lock
constinit bool handler_installed = false;  // under the lock; may stay set without users

/// Where a faulting kernel goes on: at the top of its block's main stack, whose frames are no longer needed.
[[noreturn]] GPO_NO_TSAN void landed() {
    GuardedThread& thread = *guarded_here();
    Block* block = thread.running;
    if (thread.signal == SIGFPE) block->services->fail(block, CUDA_ERROR_LAUNCH_FAILED, "integer division by zero");
    if (thread.signal == SIGILL) block->services->fail(block, CUDA_ERROR_ILLEGAL_INSTRUCTION, "illegal instruction");
    char text[80];
    snprintf(text, sizeof text, "illegal address 0x%llx", static_cast<unsigned long long>(thread.address));
    block->services->fail(block, CUDA_ERROR_ILLEGAL_ADDRESS, text);
    __builtin_unreachable();
}

/// Does what would have happened without our handler.
void pass_on(int signal, siginfo_t* info, void* context) {
    size_t which = 0;
    while (kFaults[which] != signal) ++which;
    const struct sigaction& previous = previous_handlers[which];
    const bool sent = info->si_code <= 0;   // by kill() or its like; else the access is made again when we return
    if (!(previous.sa_flags & SA_SIGINFO) && (previous.sa_handler == SIG_DFL || previous.sa_handler == SIG_IGN)) {
        if (sent && previous.sa_handler == SIG_IGN) return;
        struct sigaction usual {};   // a fault ends the process even where it is ignored
        usual.sa_handler = SIG_DFL;
        sigaction(signal, &usual, nullptr);
        if (sent) raise(signal);
        return;
    }
    sigset_t blocked = previous.sa_mask, before;
    if (!(previous.sa_flags & SA_NODEFER)) sigaddset(&blocked, signal);
    pthread_sigmask(SIG_BLOCK, &blocked, &before);
    if (previous.sa_flags & SA_SIGINFO) previous.sa_sigaction(signal, info, context);
    else previous.sa_handler(signal);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void on_fault(int signal, siginfo_t* info, void* context) {
    GuardedThread* thread = guarded_here();
    Block* block = thread ? thread->running : nullptr;
    if (!block || info->si_code <= 0) {
        pass_on(signal, info, context);
        return;
    }
    thread->signal = signal;
    thread->address = reinterpret_cast<uintptr_t>(info->si_addr);
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

bool is_ours(const struct sigaction& action) {
    return (action.sa_flags & SA_SIGINFO) && action.sa_sigaction == on_fault;
}

/// This library is never unloaded any more.
void stay_loaded() {
    Dl_info self{};
    if (dladdr(reinterpret_cast<void*>(&on_fault), &self) != 0 && self.dli_fname)
        dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

}  // namespace

FaultHandler::FaultHandler() {
    host::Lock hold(handler_lock);
    if (handler_users++ != 0 || handler_installed) return;
    has_guarded_key = has_guarded_key || pthread_key_create(&guarded_key, nullptr) == 0;
    if (!has_guarded_key) return;   // faults end the process, as without the handler
    handler_installed = true;
    struct sigaction action {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < kFaults.size(); ++i) {
        sigaction(kFaults[i], nullptr, &previous_handlers[i]);
        sigaction(kFaults[i], &action, nullptr);
    }
}

FaultHandler::~FaultHandler() {
    host::Lock hold(handler_lock);
    if (--handler_users != 0 || !handler_installed) return;
    std::array<struct sigaction, kFaults.size()> now{};
    bool covered = false;
    for (size_t i = 0; i < kFaults.size(); ++i) {
        sigaction(kFaults[i], nullptr, &now[i]);
        covered = covered || !is_ours(now[i]);
    }
    if (covered) {
        stay_loaded();
        return;
    }
    for (size_t i = 0; i < kFaults.size(); ++i) sigaction(kFaults[i], &previous_handlers[i], nullptr);
    handler_installed = false;
}

GuardedThread::GuardedThread(bool on, Region& own) noexcept
    : on_(on && has_guarded_key && pthread_setspecific(guarded_key, this) == 0) {
    if (!on_) return;
    stack_t stack{};
    stack.ss_sp = own.base() + RegionLayout::kSignalStack;
    stack.ss_size = RegionLayout::kSignalStackEnd - RegionLayout::kSignalStack;
    sigaltstack(&stack, nullptr);
}

GuardedThread::~GuardedThread() {
    if (!on_) return;
    pthread_setspecific(guarded_key, nullptr);
    stack_t off{};
    off.ss_flags = SS_DISABLE;
    sigaltstack(&off, nullptr);
}

}  // namespace gpo::softgpu
