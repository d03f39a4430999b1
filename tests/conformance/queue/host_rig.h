// For the tests of queues: functions that create queues and read their memory.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "support/gpu.h"

namespace gpo::test {

/// The layout of gpo::range in kernels.
struct RangeRow {
    uint32_t magic, version;
    uint64_t words, count, order;
    uint32_t batch, flags, reserved[6];
};
/// The layout of gpo::ring in kernels.
struct RingRow {
    uint32_t magic, version;
    uint64_t words, sequence, tasks;
    uint32_t capacity_log2, task_size, priorities, flags, reserved[12];
};

/// The layout of gpo::host_ring in kernels.
struct HostRingRow {
    uint32_t magic, version;
    RingRow tasks;
    uint64_t posted_slots, answer_slots, control, device_words;
    uint32_t task_words, answer_words, capacity_log2, reserved[11];
};

inline gpo_queue_options range_options(uint64_t count, const char* label = nullptr) {
    auto options = sized<gpo_queue_options>();
    options.kind = GPO_QUEUE_RANGE;
    options.count = count;
    options.label = label;
    return options;
}

inline gpo_queue_options ring_options(uint64_t capacity, uint32_t task_size = 16, uint32_t priorities = 0) {
    auto options = sized<gpo_queue_options>();
    options.kind = GPO_QUEUE_RING;
    options.capacity = capacity;
    options.task_size = task_size;
    options.priorities = priorities;
    return options;
}

inline DeviceQueue make_queue(Gpu& gpu, const gpo_queue_options& options) {
    DeviceQueue made;
    REQUIRE_OK(gpo_queue_create(gpu.device, &options, made.out()));
    return made;
}

template <class Row>
Row row_of(gpo_queue_t queue) {
    Row row;
    size_t needed = 0;
    REQUIRE_OK(gpo_queue_get_device_handle(queue, &row, sizeof row, &needed));
    CHECK(needed == sizeof row);
    return row;
}

inline gpo_queue_info queue_info(gpo_queue_t queue) {
    auto info = sized<gpo_queue_info>();
    REQUIRE_OK(gpo_queue_get_info(queue, &info));
    return info;
}

/// Reads device memory after the work on the stream is done.
template <class T>
std::vector<T> device_words(Gpu& gpu, gpo_stream_t stream, uint64_t address, size_t count) {
    auto pinned = gpu.pinned<T>(count);
    REQUIRE_OK(gpo_copy_to_host(stream, pinned.data(), address, count * sizeof(T)));
    REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    return std::vector<T>(pinned.begin(), pinned.end());
}

/// Writes one word of device memory, as work of the stream.
inline void set_word(gpo_stream_t stream, uint64_t address, uint32_t value) {
    REQUIRE_OK(gpo_fill(stream, address, value, sizeof value, 1));
}

inline std::string queue_refusal() {
    auto error = sized<gpo_error>();
    gpo_last_error(&error);
    return error.message;
}

inline bool mentions(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// Whether the address belongs to allocated device memory.
inline bool is_device_memory(Gpu& gpu, uint64_t address) {
    auto info = sized<gpo_memory_info>();
    REQUIRE_OK(gpo_memory_describe(gpu.device, address, &info));
    return info.kind == GPO_MEMORY_DEVICE;
}

}  // namespace gpo::test
