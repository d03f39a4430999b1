// What ranks of a group of processes send each other for a collective, and how they combine it: in the host's memory, a
// chunk at a time.
//
// Every rank sends to every other directly, so that a rank which doesn't come is seen by all others. An all-reduce is a
// reduce-scatter, in which each rank combines a piece of the chunk in the order of the ranks, and an all-gather of the
// pieces.
#pragma once

#include "peers/collective.h"
#include "peers/transport.h"

namespace gpo::peers {

/// Between the host's memory and the device's.
struct HostCopy {
    bool to_host;
    std::byte* host;
    uint64_t device, bytes;
};

class Exchange {
public:
    static constexpr uint64_t kStaging = 4 << 20;   // bytes of each of two buffers

    using Copies = std::function<void(std::span<const HostCopy>)>;
    /// `staging`: 2 * kStaging bytes, which `copies` copies to and from, and has when it returns. `copies` and `check`
    /// (see complete) may throw.
    Exchange(Transport& transport, std::byte* staging, uint64_t patience, Copies copies, std::function<void()> check);

    /// All ranks have submitted the same. Throws what `complete`, `copies` and `check` throw.
    void run(const Collective& collective, const Part& part);

private:
    struct Piece {
        uint64_t first, count;   // elements
    };
    uint64_t bytes(uint64_t elements) const noexcept { return elements * element_; }
    std::byte* sent(uint64_t element) const noexcept { return sent_ + bytes(element); }
    std::byte* received(uint64_t element) const noexcept { return received_ + bytes(element); }
    uint64_t per_chunk(uint64_t pieces) const noexcept { return kStaging / element_ / pieces; }
    Piece piece_of(uint32_t rank, uint64_t count) const noexcept;

    void reduce_to(const Collective& collective, const Part& part);
    void reduce_scatter(const Collective& collective, const Part& part);
    void broadcast(const Collective& collective, const Part& part);
    void gather_all(const Collective& collective, const Part& part);
    void to_all(const Collective& collective, const Part& part);
    void send_receive(const Collective& collective, const Part& part);

    void add_copy(bool to_host, std::byte* host, uint64_t device, uint64_t bytes);
    void copy();
    void add_transfer(uint32_t peer, bool sends, std::byte* from, uint64_t bytes);
    void exchange();
    void combine(const Collective& collective, const std::vector<const std::byte*>& sources, std::byte* to,
                 uint64_t count) const;

    Transport& transport_;
    const uint32_t rank_, ranks_;
    std::byte *const sent_, *const received_;
    const uint64_t patience_;
    const Copies copies_;
    const std::function<void()> check_;
    uint64_t element_ = 1;             // bytes, of the collective at hand
    std::vector<HostCopy> to_copy_;
    std::vector<Transfer> transfers_;
};

}  // namespace gpo::peers
