// Data exchange of a collective between processes: the ranks send and combine chunks in the group's own memory
// (staging). Staging is in host memory, or in device memory if the transport takes that. The transport may still use a
// buffer after the collective has failed, hence it never gets the callers' memory.
//
// Every rank sends to every other directly, so that all others notice a missing rank. An all-reduce is a
// reduce-scatter, in which each rank combines a piece of the chunk in the order of the ranks, and an all-gather of the
// pieces.
#pragma once

#include "peers/collective.h"
#include "peers/transport.h"

namespace gpo::peers {

/// A copy between the caller's memory and the staging.
struct StagingCopy {
    bool in;                // to the staging
    std::byte* staging;
    uint64_t memory, bytes;
};

struct Staging {
    std::byte* at = nullptr;     // 2 * half bytes
    uint64_t half = 0;
    Counted* device = nullptr;   // not NULL: `at` is device memory with this owner
};

class Exchange {
public:
    using Copies = std::function<void(std::span<const StagingCopy>)>;
    /// Combines `bytes` of each rank's data, in device memory.
    using Combines = std::function<void(std::span<const uint64_t> sources, uint64_t to, uint64_t bytes)>;
    /// `copies` and `combines` return when their work is done. `combines` is for staging on the device. Both may throw,
    /// as may `check` (see complete).
    Exchange(Transport& transport, const Staging& staging, uint64_t patience, Copies copies, Combines combines,
             std::function<void()> check);

    /// All ranks call it with the same collective. Throws what `complete`, `copies` and `check` throw.
    void run(const Collective& collective, const Part& part);

private:
    struct Piece {
        uint64_t first, count;   // elements
    };
    uint64_t bytes(uint64_t elements) const noexcept { return elements * element_; }
    std::byte* sent(uint64_t element) const noexcept { return sent_ + bytes(element); }
    std::byte* received(uint64_t element) const noexcept { return received_ + bytes(element); }
    uint64_t per_chunk(uint64_t pieces) const noexcept { return half_ / element_ / pieces; }
    Piece piece_of(uint32_t rank, uint64_t count) const noexcept;

    void reduce_to(const Collective& collective, const Part& part);
    void reduce_scatter(const Collective& collective, const Part& part);
    void broadcast(const Collective& collective, const Part& part);
    void gather_all(const Collective& collective, const Part& part);
    void to_all(const Collective& collective, const Part& part);
    void send_receive(const Collective& collective, const Part& part);

    void add_copy(bool in, std::byte* staging, uint64_t memory, uint64_t bytes);
    void copy();
    void add_transfer(uint32_t peer, bool sends, std::byte* from, uint64_t bytes);
    void exchange();
    void combine(const Collective& collective, const std::vector<const std::byte*>& sources, std::byte* to,
                 uint64_t count) const;

    Transport& transport_;
    const uint32_t rank_, ranks_;
    std::byte *const sent_, *const received_;
    const uint64_t half_;
    Counted* const device_;
    const uint64_t patience_;
    const Copies copies_;
    const Combines combines_;
    const std::function<void()> check_;
    uint64_t element_ = 1;             // bytes, of the collective at hand
    std::vector<StagingCopy> to_copy_;
    std::vector<Transfer> transfers_;
};

}  // namespace gpo::peers
