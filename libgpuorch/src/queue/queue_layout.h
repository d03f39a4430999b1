// The part of a queue that host and kernels (gpuorch/device/queue.cuh) share: the values that kernels take as
// arguments, and the places of the words. Words for which many threads contend have 128 bytes each.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace gpo::queue {

inline constexpr uint32_t kVersion = 0x0001'0000;  // 1, in the high half
inline constexpr uint64_t kLine = 128;             // bytes

/// A range: gpo::range. Worker w of W begins with batch number w. Claim c of a launch is batch W + c. The range has a
/// single word, a u64 with the claims of the running launch. The last claim of a launch resets the word to 0.
struct RangeHandle {
    static constexpr uint32_t kMagic = 0x5241'5247;  // "GRAR"
    static constexpr uint32_t kLateClaims = 1;       // in flags
    uint32_t magic = kMagic, version = kVersion;
    uint64_t words = 0;  // device address: kRangeBytes
    uint64_t count = 0;
    uint64_t order = 0;  // device address of `count` u32 numbers; 0: their own order
    uint32_t batch = 1;
    uint32_t flags = 0;
    uint32_t reserved[6] = {};
};
static_assert(sizeof(RangeHandle) == 64);

inline constexpr uint64_t kRangeBytes = 3 * kLine;  // room for words that kernels may need later

/// A ring: gpo::ring. Position p (a u64 that only grows) is in slot p % capacity, in lap p / capacity. The slot's
/// sequence number is 2 * lap while it is free, and 2 * lap + 1 while it has a task. Zeroed slots are therefore free.
struct RingHandle {
    static constexpr uint32_t kMagic = 0x4952'5247;  // "GRRI"
    static constexpr uint32_t kTickets = 1;          // in flags
    uint32_t magic = kMagic, version = kVersion;
    uint64_t words = 0;     // device address: ring_words::kBytes for each priority
    uint64_t sequence = 0;  // device address: a u32 for each slot, priority 0 first
    uint64_t tasks = 0;     // device address: task_size bytes for each slot
    uint32_t capacity_log2 = 0, task_size = 0, priorities = 1, flags = 0;
    uint32_t reserved[12] = {};
};
static_assert(sizeof(RingHandle) == 96);

/// Offsets of the words of one priority of a ring. All are u64, but for the state, which only priority 0 has.
namespace ring_words {
inline constexpr uint64_t kTail = 0;             // positions given to pushes
inline constexpr uint64_t kHead = kLine;         // positions given to pops
inline constexpr uint64_t kRoom = 2 * kLine;     // i64: slots that pushes may still take; at first the capacity
inline constexpr uint64_t kItems = 3 * kLine;    // i64: tasks that pops may still take
inline constexpr uint64_t kDone = 4 * kLine;     // tasks that are done
inline constexpr uint64_t kRefused = 5 * kLine;  // tasks of the host that found no room
inline constexpr uint64_t kState = 6 * kLine;    // u32: State
inline constexpr uint64_t kBytes = 8 * kLine;
}  // namespace ring_words

enum class State : uint32_t { open, closed, aborted };  // as GPO_QUEUE_OPEN, …

/// A host ring: gpo::host_ring. Tasks and answers go through rings of *slots* in pinned memory. A slot consists of u64
/// words. The low half of a word has data, the high half the flag of the lap in which it was written. A single load
/// shows whether the data has arrived: nothing rests on the order of stores or on stores of more than 8 bytes.
struct HostRingHandle {
    static constexpr uint32_t kMagic = 0x4f48'5247;  // "GRHO"
    uint32_t magic = kMagic, version = kVersion;
    RingHandle tasks;           // in device memory: from the block that reads the slots to the blocks that do the tasks
    uint64_t posted_slots = 0;  // device address of pinned memory, as the next two
    uint64_t answer_slots = 0;  // 0: tasks have no answers
    uint64_t control = 0;       // HostControl
    uint64_t device_words = 0;  // for the device alone: kDeviceWordsBytes
    uint32_t task_words = 0;    // of a slot: the ticket and the task
    uint32_t answer_words = 0;  // of a slot: the ticket, the status and the answer; 0: tasks have no answers
    uint32_t capacity_log2 = 0;
    uint32_t reserved[11] = {};
};
static_assert(sizeof(HostRingHandle) == 192);
inline constexpr uint64_t kDeviceWordsBytes = 2 * kLine;

/// Header of a host ring's task in the device ring: the ticket, and padding that keeps the task aligned.
inline constexpr uint32_t kTaskHeaderBytes = 16;

/// Words in pinned memory by which host and device coordinate the slots.
struct alignas(kLine) HostControl {
    std::atomic<uint32_t> state;                    // State. Written by the host
    std::atomic<uint64_t> final_count;              // of all posted tasks, before the state says closed
    alignas(kLine) std::atomic<uint64_t> consumed;  // tasks whose slots are free again. Written by the device
};
static_assert(sizeof(HostControl) == 2 * kLine && sizeof(std::atomic<uint64_t>) == 8);

/// The flag of a lap, from lap 0 on. Never 0, and never the flag of the previous lap.
constexpr uint32_t flag_of_lap(uint64_t lap) noexcept { return static_cast<uint32_t>(lap % 0xffff'ffffu) + 1; }

/// Any of these handles as bytes.
struct HandleBytes {
    size_t size;
    std::byte bytes[192];
};
template <class Handle>
HandleBytes bytes_of(const Handle& handle) noexcept {
    static_assert(sizeof handle <= sizeof HandleBytes::bytes);
    HandleBytes out{sizeof handle, {}};
    std::memcpy(out.bytes, &handle, sizeof handle);
    return out;
}

}  // namespace gpo::queue
