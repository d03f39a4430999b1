// The direct engine: kernels and copies of the library's own, over memory of other devices that a device reaches.
//
// A collective is a few phases. In each, every rank does something of its own with what others have; between two of
// them, and before the first and behind the last, all streams wait for each other (join). So nobody waits on the GPU
// for what isn't on its way, and no number of multiprocessors is needed. Reductions take the ranks in their order: an
// all-reduce reduces a piece of the data on each rank, and then each rank copies the pieces of the others.
//
// A small all-reduce is one kernel for each rank, which exchange the data themselves (mailboxes.h). They wait for each
// other on the GPU, as NCCL's do: each is on its way when the others are, and needs few multiprocessors.
#pragma once

#include <vector>

#include "peers/engine.h"
#include "peers/kernels.h"
#include "peers/mailboxes.h"
#include "peers/stream_barrier.h"

namespace gpo::peers {

class DirectEngine final : public StreamEngine {
public:
    /// The ranks' devices, which reach each other. Throws.
    /// `owner`: as the group is called.
    DirectEngine(std::span<const Ref<Context>> contexts, const FixedText<96>& owner);
    /// Up to how many bytes an all-reduce is one kernel for each rank; 0: none is.
    uint64_t small_bytes() const noexcept { return small_bytes_; }
    Ref<Counted> prepare(const Collective& collective, bool captured) override;
    void issue(const Collective& collective, std::span<const Part> parts, Counted* prepared, void (*begin)(void*),
               void* of) override;

private:
    struct Rank {
        Ref<Context> context;
        Ref<const PeerKernels> kernels;   // NULL of a single rank, which has nothing to combine
        CUevent last = nullptr;   // recorded behind the last small all-reduce that isn't part of a recording
        bool last_recorded = false;
        uint32_t blocks = 1;      // that fill the device
    };
    class Issue;
    ~DirectEngine() override;
    bool small(const Collective& collective) const noexcept {
        return collective.kind == Kind::all_reduce && collective.bytes() - 1 < small_bytes_;
    }
    void launch_small(const Collective& collective, std::span<const Part> parts, const Mailboxes& boxes, bool captured,
                      uint32_t& launched);
    void issue_small(const Collective& collective, std::span<const Part> parts, Mailboxes& boxes, bool captured);
    void give_up(Mailboxes& boxes, bool some_are_missing) noexcept;

    const FixedText<96> owner_;
    uint64_t small_bytes_ = 0;
    host::Mutex lock_;            // barrier_, ranks_; taken under submit locks, and a leaf but for driver calls
    StreamBarrier barrier_;
    std::vector<Rank> ranks_;
    Ref<Mailboxes> boxes_;        // for what isn't recorded; made anew when they are too small. Under lock_
};

}  // namespace gpo::peers
