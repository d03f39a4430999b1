// Helpers for tests that run as a process of their own: checks, counters and common objects. The exit code is 0 for
// success, 1 for a failure, 77 for a skip.
#pragma once

#include <dirent.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "gpuorch/gpuorch.h"
#include "support/files.h"
#include "support/sized.h"

namespace gpo::test {

inline constexpr int64_t kPatience = 30'000'000'000;

[[noreturn]] inline void end_failed(const char* file, int line, const std::string& text) {
    std::fflush(stdout);
    std::fprintf(stderr, "%s:%d: %s\n", file, line, text.c_str());
    _exit(1);
}

inline std::string last_message() {
    auto error = sized<gpo_error>();
    gpo_last_error(&error);
    return error.message;
}

#define EXPECT(condition) \
    ((condition) ? void() : gpo::test::end_failed(__FILE__, __LINE__, "expected " #condition))

#define EXPECT_STATUS(expected, ...)                                                                               \
    do {                                                                                                           \
        const gpo_status got_ = (__VA_ARGS__);                                                                     \
        if (got_ != (expected))                                                                                    \
            gpo::test::end_failed(__FILE__, __LINE__, std::string(#__VA_ARGS__ " gave ") + gpo_status_name(got_) + \
                                                          ", not " + gpo_status_name(expected) + ": " +            \
                                                          gpo::test::last_message());                              \
    } while (false)

#define EXPECT_OK(...) EXPECT_STATUS(GPO_SUCCESS, __VA_ARGS__)

[[noreturn]] inline void end_skipped(const char* name, const char* reason) {
    std::printf("SKIP %s: %s\n", name, reason);
    std::fflush(stdout);
    _exit(77);
}

/// Whether the test must run all of its cases (--full), which may be thousands.
inline bool full() { return std::getenv("GPUORCH_TEST_FULL") != nullptr; }

inline int entries(const char* folder) {
    int count = 0;
    DIR* directory = opendir(folder);
    if (!directory) return -1;
    while (readdir(directory)) ++count;
    closedir(directory);
    return count;
}
inline int descriptors() { return entries("/proc/self/fd"); }
inline int threads() { return entries("/proc/self/task"); }

/// Resident bytes of this process.
inline long resident() {
    long pages = 0, mapped = 0;
    std::ifstream("/proc/self/statm") >> mapped >> pages;
    return pages * sysconf(_SC_PAGESIZE);
}

/// A runtime, its first device, a stream and a queue.
struct Opened {
    gpo_runtime_t runtime = nullptr;
    gpo_device_t device = nullptr;
    gpo_stream_t stream = nullptr;
    gpo_cq_t queue = nullptr;

    explicit Opened(const gpo_runtime_options& options = sized<gpo_runtime_options>()) {
        EXPECT_OK(gpo_runtime_create(&options, &runtime));
        EXPECT_OK(gpo_device_open(runtime, nullptr, &device));
        EXPECT_OK(gpo_stream_create(device, nullptr, &stream));
        EXPECT_OK(gpo_cq_create(runtime, nullptr, &queue));
    }
    void shut_down() { EXPECT_OK(gpo_runtime_shutdown(runtime, kPatience)); }

    /// Checks that the stream and the queue work: submits a notification and takes its entry.
    void check_works() {
        gpo_completion entry{};
        uint64_t count = 0;
        EXPECT_OK(gpo_stream_notify(stream, queue, 99));
        EXPECT_OK(gpo_cq_wait(queue, kPatience));
        EXPECT_OK(gpo_cq_drain(queue, &entry, sizeof entry, 1, &count));
        EXPECT(count == 1 && entry.user_data == 99 && entry.status == GPO_SUCCESS);
    }
};

inline gpo_kernel_t compile(gpo_device_t device, const char* source, const char* name) {
    auto options = sized<gpo_compile_options>();
    options.source = source;
    gpo_module_t module = nullptr;
    gpo_kernel_t kernel = nullptr;
    EXPECT_OK(gpo_module_compile(device, &options, &module));
    EXPECT_OK(gpo_module_get_kernel(module, name, &kernel));
    EXPECT_OK(gpo_module_destroy(module));
    return kernel;
}

template <class... Arguments>
gpo_status launch_blocks(gpo_stream_t stream, gpo_kernel_t kernel, uint32_t blocks, uint32_t threads,
                         const Arguments&... arguments) {
    auto shape = sized<gpo_launch>();
    shape.grid[0] = blocks;
    shape.block[0] = threads;
    const void* pointers[] = {&arguments..., nullptr};
    const uint32_t sizes[] = {sizeof arguments..., 0};
    return gpo_stream_launch_kernel(stream, kernel, &shape, pointers, sizes, sizeof...(Arguments));
}

/// Launches a kernel with one thread.
template <class... Arguments>
gpo_status launch(gpo_stream_t stream, gpo_kernel_t kernel, const Arguments&... arguments) {
    return launch_blocks(stream, kernel, 1, 1, arguments...);
}

/// Pinned memory for `count` words, zeroed. Its arena is never destroyed, except by the runtime's shutdown.
inline uint32_t* pinned(gpo_device_t device, size_t count) {
    gpo_arena_t arena = nullptr;
    void* memory = nullptr;
    auto options = sized<gpo_arena_options>();
    options.slab_bytes = 1 << 20;
    EXPECT_OK(gpo_arena_create(device, &options, &arena));
    EXPECT_OK(gpo_arena_allocate(arena, count * sizeof(uint32_t), 0, &memory));
    std::memset(memory, 0, count * sizeof(uint32_t));
    return static_cast<uint32_t*>(memory);
}

inline constexpr const char* kGateSource = R"(
extern "C" __global__ void gate(const volatile unsigned *open)
{
    while (*open == 0) { }
}
)";

/// Runs `body` in a child and returns its exit code, or the negative number of the signal that killed it.
template <class Body>
int in_child(Body body) {
    std::fflush(nullptr);
    const pid_t child = fork();
    EXPECT(child >= 0);
    if (child == 0) _exit(body());
    int status = 0;
    EXPECT(waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/// Skips the test if the requested device doesn't exist. A child process checks this, so that the driver isn't
/// initialised in this process yet.
inline void skip_without_device(const char* name) {
    const int code = in_child([] {
        gpo_runtime_t runtime = nullptr;
        gpo_device_t device = nullptr;
        EXPECT_OK(gpo_runtime_create(nullptr, &runtime));
        return gpo_device_open(runtime, nullptr, &device) == GPO_NO_DEVICE ? 2 : 0;
    });
    if (code == 2) end_skipped(name, "there is no such device");
}

}  // namespace gpo::test
