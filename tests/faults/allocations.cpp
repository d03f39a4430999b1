// Replaces the program's allocation functions. The replacements must not allocate, and run before main.
#include "faults/allocations.h"

#include <execinfo.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <new>

#include "faults/places.h"
#include "support/coverage.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define GPO_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define GPO_SANITIZED 1
#endif
#endif

namespace gpo::test::allocations {

namespace {

struct State {
    bool armed = false, for_ever = false, watched = false;
    uint64_t kth = 0, seen = 0, failed = 0;
};
thread_local State state;
thread_local bool counted = false;  // by operator new: the malloc under it is the same allocation

/// State of the faults on the threads that the library has started.
struct Threads {
    std::atomic<bool> armed{false};
    std::atomic<uint64_t> kth{0}, spell_ns{0}, seen{0}, failed{0};
    std::atomic<uint64_t> until{0};     // end of the spell; 0: it has not begun
    // The first allocation that failed:
    std::atomic<int> depth{0};
    void* stack[32]{};
    char thread[16]{};
};
constinit Threads threads;
thread_local bool of_library = false;   // is this thread the library's?

uint64_t now() noexcept {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

bool fails_on_thread() noexcept {
    if (!threads.armed.load(std::memory_order_acquire)) return false;
    const uint64_t number = threads.seen.fetch_add(1) + 1;
    if (number == threads.kth) {
        pthread_getname_np(pthread_self(), threads.thread, sizeof threads.thread);
        threads.depth.store(backtrace(threads.stack, static_cast<int>(std::size(threads.stack))),
                            std::memory_order_release);
        threads.until = now() + threads.spell_ns;
    } else if (const uint64_t until = threads.until; until == 0 || now() >= until) {
        return false;
    }
    threads.failed.fetch_add(1);
    return true;
}

bool fails() noexcept {
    if (of_library && fails_on_thread()) return true;
    State& s = state;
    if (!s.armed || inside_library == 0) return false;
    ++s.seen;
    if (s.watched) places::note(0, s.seen);
    if (s.seen == s.kth || (s.for_ever && s.seen > s.kth)) {
        ++s.failed;
        return true;
    }
    return false;
}

void* allocate(size_t size, size_t alignment) noexcept {
    if (fails()) return nullptr;
    counted = true;
    void* memory = nullptr;
    if (alignment <= alignof(std::max_align_t)) {
        memory = std::malloc(size ? size : 1);
    } else if (posix_memalign(&memory, alignment, size) != 0) {
        memory = nullptr;
    }
    counted = false;
    return memory;
}

void* allocate_or_throw(size_t size, size_t alignment) {
    if (void* memory = allocate(size, alignment)) return memory;
    throw std::bad_alloc();
}

}  // namespace

void arm(uint64_t kth, bool for_ever) noexcept { state = {true, for_ever, false, kth, 0, 0}; }

void watch() noexcept {
    places::begin();
    state = {true, false, true, UINT64_MAX, 0, 0};
}

uint64_t disarm() noexcept {
    state.armed = false;
    return state.seen;
}

uint64_t failed() noexcept { return state.failed; }

void arm_threads(uint64_t kth, uint64_t spell_ns) noexcept {
    [[maybe_unused]] static const auto before = [] {
        // Its first use loads a library.
        void* here[1];
        backtrace(here, 1);
        return std::set_terminate([] {
            const int depth = threads.depth.load(std::memory_order_acquire);
            std::fprintf(stderr, "an allocation on thread `%s` had failed:\n", depth ? threads.thread : "");
            backtrace_symbols_fd(threads.stack, depth, STDERR_FILENO);
            std::abort();
        });
    }();
    threads.kth = kth;
    threads.spell_ns = spell_ns;
    threads.seen = threads.failed = threads.until = 0;
    threads.depth = 0;
    threads.armed.store(true, std::memory_order_release);
}

uint64_t disarm_threads() noexcept {
    threads.armed = false;
    return threads.seen;
}

uint64_t failed_on_threads() noexcept { return threads.failed; }

std::string where_on_threads() {
    const int depth = threads.depth.load(std::memory_order_acquire);
    if (depth == 0) return {};
    std::string where = "an allocation failed on thread `" + std::string(threads.thread) + "`:";
    const std::unique_ptr<char*, void (*)(void*)> lines(backtrace_symbols(threads.stack, depth), std::free);
    for (int i = 0; lines && i < depth; ++i) where += std::string("\n    ") + lines.get()[i];
    return where;
}

}  // namespace gpo::test::allocations

using namespace gpo::test::allocations;

// The library's calls of pthread_create arrive here (--wrap).
extern "C" {

int __real_pthread_create(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);

int __wrap_pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*), void* argument) {
    struct Begin {
        void* (*body)(void*);
        void* argument;
    };
    // Not an allocation of the library's.
    counted = true;
    auto* begin = static_cast<Begin*>(std::malloc(sizeof(Begin)));
    counted = false;
    if (!begin) return EAGAIN;
    *begin = {body, argument};
    const auto run = [](void* given) -> void* {
        const Begin begun = *static_cast<Begin*>(given);
        std::free(given);
        of_library = true;
        return begun.body(begun.argument);
    };
    const int error = __real_pthread_create(thread, attributes, run, begin);
    if (error != 0) std::free(begin);
    return error;
}

}  // extern "C"

void* operator new(size_t size) { return allocate_or_throw(size, 1); }
void* operator new[](size_t size) { return allocate_or_throw(size, 1); }
void* operator new(size_t size, std::align_val_t to) { return allocate_or_throw(size, static_cast<size_t>(to)); }
void* operator new[](size_t size, std::align_val_t to) { return allocate_or_throw(size, static_cast<size_t>(to)); }
void* operator new(size_t size, const std::nothrow_t&) noexcept { return allocate(size, 1); }
void* operator new[](size_t size, const std::nothrow_t&) noexcept { return allocate(size, 1); }
void* operator new(size_t size, std::align_val_t to, const std::nothrow_t&) noexcept {
    return allocate(size, static_cast<size_t>(to));
}
void* operator new[](size_t size, std::align_val_t to, const std::nothrow_t&) noexcept {
    return allocate(size, static_cast<size_t>(to));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }

#ifndef GPO_SANITIZED

// Seen by the C library, too.
#pragma GCC visibility push(default)
extern "C" {

void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);

static bool refused() noexcept {
    if (counted || !fails()) return false;
    errno = ENOMEM;
    return true;
}

void* malloc(size_t size) { return refused() ? nullptr : __libc_malloc(size); }
void* calloc(size_t count, size_t size) { return refused() ? nullptr : __libc_calloc(count, size); }
void* realloc(void* old, size_t size) { return refused() ? nullptr : __libc_realloc(old, size); }
void* aligned_alloc(size_t alignment, size_t size) { return refused() ? nullptr : __libc_memalign(alignment, size); }
int posix_memalign(void** memory, size_t alignment, size_t size) {
    if (refused()) return ENOMEM;
    *memory = __libc_memalign(alignment, size);
    return *memory ? 0 : ENOMEM;
}

}  // extern "C"
#pragma GCC visibility pop

#endif
