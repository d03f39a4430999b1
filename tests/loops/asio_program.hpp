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

void* operator new(std::size_t bytes) {
    ++allocations;
    if (void* const memory = std::malloc(bytes)) return memory;
    throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
