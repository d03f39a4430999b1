// The process: number of usable processors, and forks.
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "host/host.h"
#include "host/linux.h"
#include "host/schedule.h"

namespace gpo::host {

namespace {

constexpr unsigned kProcessorsInASchedule = 2;  // the same on every machine, or seeds would not replay

/// Reads a small file whole into `text` and ends it with a zero. False when it can't be read.
bool read_file(const char* path, char* text, size_t size) noexcept {
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    size_t used = 0;
    while (used + 1 < size) {
        const ssize_t got = read(file, text + used, size - 1 - used);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        used += static_cast<size_t>(got);
    }
    close(file);
    text[used] = 0;
    return used > 0;
}

unsigned processors_of_mask() noexcept {
    // The set grows until the kernel's own fits: machines with more than 1,024 processors exist.
    for (int count = CPU_SETSIZE; count <= CPU_SETSIZE * 64; count *= 2) {
        cpu_set_t* set = CPU_ALLOC(count);
        if (set == nullptr) break;
        const size_t size = CPU_ALLOC_SIZE(count);
        const bool known = sched_getaffinity(0, size, set) == 0;
        const int processors = known ? CPU_COUNT_S(size, set) : 0;
        CPU_FREE(set);
        if (known) return static_cast<unsigned>(std::max(processors, 1));
        if (errno != EINVAL) break;
    }
    return static_cast<unsigned>(std::max(sysconf(_SC_NPROCESSORS_ONLN), 1L));
}

/// The number of processors that a quota allows: quota / period, rounded up, at most `most`. `most` without a quota.
unsigned processors_of_quota(long long quota, long long period, unsigned most) noexcept {
    if (quota <= 0 || period <= 0) return most;
    const long long processors = quota / period + (quota % period != 0);
    return static_cast<unsigned>(std::clamp<long long>(processors, 1, most));
}

/// The least quota of the group `path` and of all groups above it. Version 2 keeps quota and period in one file.
unsigned least_quota(const char* root, const char* path, bool version_2, unsigned most) noexcept {
    char group[2048];
    if (std::snprintf(group, sizeof group, "%s", path) >= static_cast<int>(sizeof group)) return most;
    for (;;) {
        char file[4096], text[128];
        long long quota = 0, period = 0;
        if (version_2) {
            std::snprintf(file, sizeof file, "%s%s/cpu.max", root, group);
            if (read_file(file, text, sizeof text) && std::sscanf(text, "%lld %lld", &quota, &period) == 2)
                most = processors_of_quota(quota, period, most);
        } else {
            std::snprintf(file, sizeof file, "%s%s/cpu.cfs_quota_us", root, group);
            if (read_file(file, text, sizeof text)) quota = std::atoll(text);
            std::snprintf(file, sizeof file, "%s%s/cpu.cfs_period_us", root, group);
            if (quota > 0 && read_file(file, text, sizeof text)) period = std::atoll(text);
            most = processors_of_quota(quota, period, most);
        }
        char* slash = std::strrchr(group, '/');
        if (slash == nullptr) return most;
        *slash = 0;
    }
}

unsigned limit_by_groups(unsigned most) noexcept {
    // A line per hierarchy: "0::/path" is version 2, "4:cpu,cpuacct:/path" is version 1.
    char text[8192];
    if (!read_file("/proc/self/cgroup", text, sizeof text)) return most;
    char* rest = nullptr;
    for (char* line = strtok_r(text, "\n", &rest); line != nullptr; line = strtok_r(nullptr, "\n", &rest)) {
        char* controllers = std::strchr(line, ':');
        if (controllers == nullptr) continue;
        char* path = std::strchr(++controllers, ':');
        if (path == nullptr) continue;
        *path++ = 0;
        if (std::strcmp(path, "/") == 0) *path = 0;
        if (*controllers == 0) {
            most = least_quota("/sys/fs/cgroup", path, true, most);
            most = least_quota("/sys/fs/cgroup/unified", path, true, most);
            continue;
        }
        char* names = nullptr;
        for (char* name = strtok_r(controllers, ",", &names); name; name = strtok_r(nullptr, ",", &names)) {
            if (std::strcmp(name, "cpu") != 0) continue;
            most = least_quota("/sys/fs/cgroup/cpu", path, false, most);
            break;
        }
    }
    return most;
}

constinit std::atomic<uint32_t> fork_count{0};
constinit std::atomic<ForkHandler> fork_handler{nullptr};
constinit pthread_once_t watch_once = PTHREAD_ONCE_INIT;

void in_child() noexcept {
    detail::process_flags.unusual.fetch_or(detail::kForked, std::memory_order_relaxed);
    fork_count.fetch_add(1, std::memory_order_relaxed);
    detail::forget_running_threads();
    if (const ForkHandler handler = fork_handler.load(std::memory_order_relaxed)) handler();
}

}  // namespace

unsigned processors() noexcept {
    if (detail::scheduled()) return kProcessorsInASchedule;
    return limit_by_groups(processors_of_mask());
}

void on_fork(ForkHandler handler) noexcept {
    fork_handler.store(handler, std::memory_order_relaxed);
    static_cast<void>(forked());  // registers the fork handler
}

namespace detail {

constinit ProcessFlags process_flags;

bool watch_forks() noexcept {
    // Concurrent first calls wait in pthread_once: no thread continues, and perhaps forks, before this registration.
    if (unusual(kForksUnwatched))
        pthread_once(&watch_once, [] {
            pthread_atfork(nullptr, nullptr, in_child);
            process_flags.unusual.fetch_and(~uint32_t{kForksUnwatched}, std::memory_order_release);
        });
    return unusual(kForked);
}

uint32_t forks() noexcept { return fork_count.load(std::memory_order_relaxed); }

}  // namespace detail

}  // namespace gpo::host
