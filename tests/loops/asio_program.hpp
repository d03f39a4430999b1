// What the programs for gpuorch/asio share: Asio's headers by name, and a count of allocations. For one source file.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "gpuorch/asio.hpp"
#include "loop.hpp"

// clang-format off
#if defined(GPUORCH_ASIO_STANDALONE)
#define NET_HEADER(name) <asio/name>
#else
#define NET_HEADER(name) <boost/asio/name>
#endif
// clang-format on
#if (defined(ASIO_HAS_CO_AWAIT) || defined(BOOST_ASIO_HAS_CO_AWAIT)) && GPUORCH_ASIO_VERSION >= 102400
#define HAS_CO_AWAIT
#endif

namespace net = gpuorch::net;

inline std::atomic<std::uint64_t> allocations{0};
// Of this thread. Below 0, no allocation fails; otherwise this many succeed, and the next one fails.
inline thread_local std::uint64_t own_allocations = 0;
inline thread_local std::int64_t until_failure = -1;

void* operator new(std::size_t bytes) {
    ++allocations;
    ++own_allocations;
    if (until_failure >= 0 && until_failure-- == 0) throw std::bad_alloc();
    if (void* const memory = std::malloc(bytes)) return memory;
    throw std::bad_alloc();
}
// AddressSanitizer's nothrow operator new doesn't call the operator above.
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept try {
    return ::operator new(bytes);
} catch (const std::bad_alloc&) {
    return nullptr;
}
// Not inlined: GCC would see malloc's memory freed where it sees operator new, and warn.
__attribute__((noinline)) void operator delete(void* memory) noexcept { std::free(memory); }
__attribute__((noinline)) void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
