// Threads as Linux counts them. The library's are those whose names begin with "gpo-".
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

namespace gpo::test {

/// Total number of sleeps so far of all threads with this name prefix. Between two sleeps, a thread was woken or
/// woke by itself.
inline uint64_t sleeps_of(const char* threads) {
    uint64_t sleeps = 0;
    std::error_code gone;   // a thread that has ended meanwhile
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", gone)) {
        std::string name, word;
        std::ifstream(task.path() / "comm") >> name;
        if (!name.starts_with(threads)) continue;
        for (std::ifstream status(task.path() / "status"); status >> word;)
            if (word == "voluntary_ctxt_switches:" && status >> word) sleeps += std::stoull(word);
    }
    return sleeps;
}

/// Number of threads of the process. A joined thread may be counted for a moment longer.
inline uint64_t threads_of_process() {
    std::error_code gone;   // a thread that has ended meanwhile
    uint64_t found = 0;
    for ([[maybe_unused]] const auto& task : std::filesystem::directory_iterator("/proc/self/task", gone)) ++found;
    return found;
}

inline uint64_t sleeps_of_library_threads() { return sleeps_of("gpo-"); }

}  // namespace gpo::test
