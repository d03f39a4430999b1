// Queues as kernels see them: the host's view of what gpuorch/device/handles.cuh lays out.
#pragma once

#include <cstdint>

#include "gpuorch/gpuorch.h"

namespace gpo::test {

/// Return values of queue calls in kernels.
enum QueueStatus : int {
    kQueueSuccess = GPO_SUCCESS,
    kQueueTimeout = GPO_TIMEOUT,
    kQueueWouldBlock = GPO_WOULD_BLOCK,
    kQueueEnd = 4,
    kQueueInvalid = GPO_INVALID_ARGUMENT,
    kQueueAborted = 50,
};

inline constexpr uint32_t kQueueVersion = 0x00010000;

/// gpo::range.
struct DeviceRange {
    uint32_t magic = 0x52415247, version = kQueueVersion;
    uint64_t words = 0, count = 0, order = 0;
    uint32_t batch = 1, flags = 0, reserved[6] = {};
};
static_assert(sizeof(DeviceRange) == 64);

inline constexpr uint32_t kRangeLateClaims = 1;

/// gpo::ring.
struct DeviceRing {
    uint32_t magic = 0x49525247, version = kQueueVersion;
    uint64_t words = 0, sequence = 0, tasks = 0;
    uint32_t capacity_log2 = 0, task_size = 0, priorities = 1, flags = 0, reserved[12] = {};
};
static_assert(sizeof(DeviceRing) == 96);

inline constexpr uint32_t kRingTickets = 1;

enum RingLine { kTail, kHead, kRoom, kItems, kDone, kRefused, kState };
enum RingState : uint32_t { kOpen, kClosed, kIsAborted };

/// gpo::host_ring.
struct DeviceHostRing {
    uint32_t magic = 0x4f485247, version = kQueueVersion;
    DeviceRing tasks;
    uint64_t posted_slots = 0, answer_slots = 0, control = 0, device_words = 0;
    uint32_t task_words = 0, answer_words = 0, capacity_log2 = 0, reserved[11] = {};
};
static_assert(sizeof(DeviceHostRing) == 192);

/// Answers the first task that was posted to a host queue, with success and no data, as a kernel would.
inline void answer_first_task(const DeviceHostRing& ring) {
    const uint64_t* const posted = reinterpret_cast<const uint64_t*>(ring.posted_slots);
    uint64_t* const answers = reinterpret_cast<uint64_t*>(ring.answer_slots);
    // The first word is the ticket, the second the status. The upper half of each word is the lap's flag.
    for (int word = 2; word >= 0; --word)
        __atomic_store_n(&answers[word], word == 0 ? posted[0] : uint64_t{1} << 32, __ATOMIC_RELEASE);
}

}  // namespace gpo::test
