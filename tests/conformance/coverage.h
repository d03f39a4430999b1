// Which exported functions the conformance tests have called, and which of them succeeded.
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

/// One for each exported function, in the order of the headers.
std::vector<Coverage>& coverage();

}  // namespace gpo::test
