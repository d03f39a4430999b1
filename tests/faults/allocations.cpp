// Replaces the program's allocation functions. They must not allocate, and run before main.
#include "faults/allocations.h"

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <new>

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
    bool armed = false, for_ever = false;
    uint64_t kth = 0, seen = 0, failed = 0;
};
thread_local State state;
thread_local bool counted = false;  // by operator new: the malloc under it is the same allocation

bool fails() noexcept {
    State& s = state;
    if (!s.armed || inside_library == 0) return false;
    ++s.seen;
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

void arm(uint64_t kth, bool for_ever) noexcept { state = {true, for_ever, kth, 0, 0}; }

uint64_t disarm() noexcept {
    state.armed = false;
    return state.seen;
}

uint64_t failed() noexcept { return state.failed; }

}  // namespace gpo::test::allocations

using namespace gpo::test::allocations;

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
