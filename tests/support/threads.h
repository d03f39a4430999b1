// Threads as Linux counts them. The library's are those whose names begin with "gpo-".
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

namespace gpo::test {

/// How often those whose names begin so have gone to sleep so far, all together: each is woken, or wakes by itself,
/// once between two of them.
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

/// All threads of the process. One that has been joined may be counted for a moment more.
inline uint64_t threads_of_process() {
    std::error_code gone;   // a thread that has ended meanwhile
    uint64_t found = 0;
    for ([[maybe_unused]] const auto& task : std::filesystem::directory_iterator("/proc/self/task", gone)) ++found;
    return found;
}

inline uint64_t sleeps_of_library_threads() { return sleeps_of("gpo-"); }

}  // namespace gpo::test
