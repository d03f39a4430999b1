// The library handles faults of kernels on the software GPU, without any setting: the device is lost, and the message
// names the kernel. The host's signal handlers get all other faults, as they would without the library, and are
// restored after a shutdown.
// RUN: GPUORCH_DEVICE=soft kernel
// RUN: GPUORCH_DEVICE=soft handler
// RUN: GPUORCH_DEVICE=soft usual
// RUN: GPUORCH_DEVICE=soft ignored
// RUN: GPUORCH_DEVICE=soft GPUORCH_SOFT_GUARD=0 untouched
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#include "process/process.h"

using namespace gpo::test;

namespace {

constexpr const char* kSource = R"(
extern "C" __global__ void stray(float *p, unsigned n) { p[n] = 1; }
extern "C" __global__ void unmapped(float *p, unsigned n) { ((float *)8)[n] = *p; }
)";

sigjmp_buf back;
volatile sig_atomic_t seen = 0;
void* volatile seen_address = nullptr;
volatile bool usr1_blocked = false;

void on_segv(int, siginfo_t* info, void*) {
    sigset_t blocked;
    pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
    usr1_blocked = sigismember(&blocked, SIGUSR1) == 1;
    seen = seen + 1;
    seen_address = info->si_addr;
    siglongjmp(back, 1);
}

struct sigaction action_of(int signal) {
    struct sigaction now {};
    EXPECT(sigaction(signal, nullptr, &now) == 0);
    return now;
}

void* unreadable() {
    void* page = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT(page != MAP_FAILED);
    return page;
}

void expect_lost(Opened& a, const char* name, unsigned at) {
    uint64_t memory = 0;
    EXPECT_OK(gpo_memory_allocate(a.device, 1024, nullptr, &memory));
    EXPECT_OK(launch_blocks(a.stream, compile(a.device, kSource, name), 1, 1, memory, at));
    EXPECT_STATUS(GPO_DEVICE_LOST, gpo_stream_wait(a.stream, kPatience));
    const std::string message = last_message();
    std::printf("%s\n", message.c_str());
    EXPECT(message.find("illegal address") != std::string::npos);
    EXPECT(message.find(std::string("kernel ") + name) != std::string::npos);
    a.shut_down();
}

void kernel_faults() {
    for (const char* name : {"stray", "unmapped"}) {
        Opened a;
        a.check_works();
        expect_lost(a, name, 1u << 30);
    }
    EXPECT(action_of(SIGSEGV).sa_handler == SIG_DFL);
    Opened again;
    again.check_works();
    again.shut_down();
}

void host_has_a_handler() {
    struct sigaction own {};
    own.sa_sigaction = on_segv;
    own.sa_flags = SA_SIGINFO;
    sigaddset(&own.sa_mask, SIGUSR1);
    EXPECT(sigaction(SIGSEGV, &own, nullptr) == 0);
    void* page = unreadable();
    Opened a;
    a.check_works();
    for (int i = 1; i <= 3; ++i) {
        if (sigsetjmp(back, 1) == 0) *static_cast<volatile char*>(page) = 1;
        EXPECT(seen == i);
        EXPECT(seen_address == page);
        EXPECT(usr1_blocked);
    }
    expect_lost(a, "unmapped", 0);
    EXPECT(seen == 3);
    EXPECT(action_of(SIGSEGV).sa_sigaction == on_segv);
}

/// Without handlers, a fault or a sent signal ends the process by that signal.
void host_has_none() {
    EXPECT(in_child([] {
               Opened a;
               *static_cast<volatile char*>(unreadable()) = 1;
               return 0;
           }) == -SIGSEGV);
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL})
        EXPECT(in_child([signal] {
                   Opened a;
                   a.check_works();
                   kill(getpid(), signal);
                   pause();
                   return 0;
               }) == -signal);
}

/// With SIG_IGN, sent signals are ignored; faults of the processor can't be.
void host_ignores_them() {
    signal(SIGSEGV, SIG_IGN);
    EXPECT(in_child([] {
               Opened a;
               *static_cast<volatile char*>(unreadable()) = 1;
               return 0;
           }) == -SIGSEGV);
    Opened a;
    EXPECT(raise(SIGSEGV) == 0);
    a.check_works();
    a.shut_down();
    EXPECT(action_of(SIGSEGV).sa_handler == SIG_IGN);
}

void switched_off() {
    Opened a;
    a.check_works();
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) EXPECT(action_of(signal).sa_handler == SIG_DFL);
    a.shut_down();
}

}  // namespace

int main(int argc, char** argv) {
    EXPECT(argc == 2);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    end_skipped("host_signals", "sanitizers have handlers of these signals themselves");
#endif
    const std::string kind = argv[1];
    if (kind == "kernel") kernel_faults();
    if (kind == "handler") host_has_a_handler();
    if (kind == "usual") host_has_none();
    if (kind == "ignored") host_ignores_them();
    if (kind == "untouched") switched_off();
    return 0;
}
