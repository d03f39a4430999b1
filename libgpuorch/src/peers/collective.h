// A collective as a checked value: what each rank sends and receives.
#pragma once

#include <span>

#include "gpuorch/peers.h"
#include "stream/stream.h"

namespace gpo::peers {

struct Part {
    Stream* stream = nullptr;
    uint64_t send = 0, receive = 0;                        // addresses of device memory
    uint32_t send_to = GPO_NO_RANK, receive_from = GPO_NO_RANK;
};

enum class Kind : uint32_t {
    all_reduce = GPO_COLLECTIVE_ALL_REDUCE,
    reduce = GPO_COLLECTIVE_REDUCE,
    reduce_scatter = GPO_COLLECTIVE_REDUCE_SCATTER,
    broadcast = GPO_COLLECTIVE_BROADCAST,
    all_gather = GPO_COLLECTIVE_ALL_GATHER,
    all_to_all = GPO_COLLECTIVE_ALL_TO_ALL,
    send_receive = GPO_COLLECTIVE_SEND_RECEIVE,
    barrier = GPO_COLLECTIVE_BARRIER,
};
/// Static text: "all-reduce".
const char* kind_name(Kind kind) noexcept;

/// GPO_TYPE_* are 1 to this.
inline constexpr uint32_t kTypes = GPO_TYPE_FLOAT8_E5M2;

struct Collective {
    /// Checks everything but the ranks' parts. Throws Failure(GPO_INVALID_ARGUMENT).
    Collective(const gpo_collective& given, uint32_t ranks);

    Kind kind;
    uint32_t type, reduction, root, ranks;
    uint64_t count;          // elements
    uint32_t element_bytes;  // 0 of a barrier

    bool reduces() const noexcept;
    uint64_t bytes() const noexcept { return count * element_bytes; }
    /// Bytes in the send buffer, and in the receive buffer, of rank `rank`. 0: no buffer.
    uint64_t sent(uint32_t rank) const noexcept;
    uint64_t received(uint32_t rank) const noexcept;

    /// Checks the ranks' streams, buffers and partners. Asks the driver about memory that isn't the library's. `first`:
    /// the rank of the first part. Throws Failure(GPO_INVALID_ARGUMENT, GPO_INVALID_HANDLE).
    void check(std::span<const Part> parts, std::span<const Ref<Context>> contexts, uint32_t first = 0) const;

private:
    void check_buffers(const Part& part, uint32_t rank, Context& context) const;
    void check_partners(std::span<const Part> parts, uint32_t first) const;
};

}  // namespace gpo::peers
