// Shared by every loop's test: four streams, each with 2,500 pieces of work, a few under way at a time. Each completion
// must come once. If that held, a program ends with 0 and the line "10000 completions".
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "gpuorch/gpuorch.h"

namespace loop {

inline constexpr std::uint64_t kStreams = 4, kEach = 2500, kUnderWay = 8;

inline void check(gpo_status status, const char* call) {
    if (status == GPO_SUCCESS) return;
    gpo_error error;
    std::memset(&error, 0, sizeof error);
    error.struct_size = sizeof error;
    gpo_last_error(&error);
    std::printf("%s gave %s: %s\n", call, gpo_status_name(status), error.message);
    std::exit(1);
}
#define LOOP_CHECK(...) ::loop::check(__VA_ARGS__, #__VA_ARGS__)

inline void require(bool holds, const char* what) {
    if (holds) return;
    std::printf("not so: %s\n", what);
    std::exit(1);
}
#define LOOP_REQUIRE(...) ::loop::require(__VA_ARGS__, #__VA_ARGS__)

/// A device with four streams and memory that their work touches.
class Gpu {
public:
    Gpu() {
        LOOP_CHECK(gpo_runtime_create(nullptr, &runtime));
        LOOP_CHECK(gpo_device_open(runtime, nullptr, &device));
        LOOP_CHECK(gpo_memory_allocate(device, 4096 * kStreams, nullptr, &memory));
        for (auto& stream : streams) LOOP_CHECK(gpo_stream_create(device, nullptr, &stream));
    }
    ~Gpu() { end(); }
    Gpu(const Gpu&) = delete;
    Gpu& operator=(const Gpu&) = delete;

    void work(std::uint64_t stream) {
        LOOP_CHECK(
            gpo_fill(streams[stream], memory + 4096 * stream, static_cast<std::uint32_t>(submitted[stream]), 4, 256));
        ++submitted[stream];
    }
    void end() {
        if (!runtime) return;
        for (auto stream : streams) LOOP_CHECK(gpo_stream_destroy(stream));
        LOOP_CHECK(gpo_memory_free(device, memory));
        LOOP_CHECK(gpo_device_close(device));
        LOOP_CHECK(gpo_runtime_shutdown(runtime, 30'000'000'000));
        runtime = nullptr;
    }

    gpo_runtime_t runtime = nullptr;
    gpo_device_t device = nullptr;
    gpo_stream_t streams[kStreams] = {};
    std::uint64_t memory = 0;
    std::uint64_t submitted[kStreams] = {};
};

/// Which completions have come, by stream and number; each stream's must come in order.
class Accounts {
public:
    void came(std::uint64_t stream, std::uint64_t number, gpo_status status) {
        LOOP_REQUIRE(stream < kStreams && number == next_[stream] && status == GPO_SUCCESS);
        ++next_[stream];
        ++count_;
    }
    bool all() const { return count_ == kStreams * kEach; }
    int finish() const {
        LOOP_REQUIRE(all());
        std::printf("%llu completions\n", static_cast<unsigned long long>(count_));
        return 0;
    }

private:
    std::uint64_t next_[kStreams] = {}, count_ = 0;
};

/// The test with a completion queue: `notify` submits, and `drain` is to be called when its descriptor is readable.
class Queue {
public:
    explicit Queue(Gpu& gpu) : gpu_(gpu) {
        gpo_cq_options options;
        std::memset(&options, 0, sizeof options);
        options.struct_size = sizeof options;
        options.capacity = kStreams * kUnderWay;
        LOOP_CHECK(gpo_cq_create(gpu.runtime, &options, &queue));
        LOOP_CHECK(gpo_cq_get_fd(queue, &descriptor));
    }
    void begin() {
        for (std::uint64_t stream = 0; stream < kStreams; ++stream)
            for (std::uint64_t i = 0; i < kUnderWay; ++i) next(stream);
    }
    /// Once, with less room than there may be entries.
    void drain() {
        gpo_completion entries[kUnderWay];
        std::uint64_t count = 0;
        LOOP_CHECK(gpo_cq_drain(queue, entries, sizeof entries[0], kUnderWay, &count));
        for (std::uint64_t i = 0; i < count; ++i) {
            const std::uint64_t stream = entries[i].user_data / kEach;
            accounts.came(stream, entries[i].user_data % kEach, entries[i].status);
            next(stream);
        }
    }

    gpo_cq_t queue = nullptr;
    std::int32_t descriptor = -1;
    Accounts accounts;

private:
    void next(std::uint64_t stream) {
        const std::uint64_t number = gpu_.submitted[stream];
        if (number == kEach) return;
        gpu_.work(stream);
        LOOP_CHECK(gpo_stream_notify(gpu_.streams[stream], queue, stream * kEach + number));
    }
    Gpu& gpu_;
};

}  // namespace loop
