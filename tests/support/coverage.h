// Every call of an exported function by a test goes through a function made from the headers
// (abi/generate_call_counter.py). The made function counts calls and successes here, and marks the thread as inside the
// library.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

namespace gpo::test {

struct Coverage {
    const char* name;
    std::atomic<uint64_t> calls{0}, successes{0};

    Coverage(const char* function) : name(function) {}
    Coverage(const Coverage& other) : name(other.name) {}
    void note(bool success) noexcept {
        calls.fetch_add(1, std::memory_order_relaxed);
        if (success) successes.fetch_add(1, std::memory_order_relaxed);
    }
};

/// An entry for each exported function, in the order of the headers.
std::vector<Coverage>& coverage();

/// The number of nested library calls on this thread.
inline thread_local int inside_library = 0;
/// Where the outermost of these calls returns to.
inline thread_local const void* called_from = nullptr;

struct Inside {
    explicit Inside(const void* return_address) noexcept {
        if (inside_library++ == 0) called_from = return_address;
    }
    ~Inside() { --inside_library; }
};

}  // namespace gpo::test
