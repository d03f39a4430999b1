// The direct engine: kernels and copies of the library's own, over memory of other devices that a device reaches.
//
// A collective has a few phases. In a phase each rank works on its own, with the data of other ranks. Before the first
// phase, between phases and after the last, all streams wait for each other (join). Therefore no kernel waits on the
// GPU for another kernel, and no minimum of multiprocessors is needed. Reductions combine the ranks in their order: in
// an all-reduce each rank reduces a piece of the data, then copies the pieces of the other ranks.
//
// A small all-reduce has one kernel for each rank. These kernels exchange the data themselves (mailboxes.h). They wait
// for each other on the GPU, as NCCL's do: all of them are submitted at once, and each needs few multiprocessors.
#pragma once

#include <vector>

#include "peers/collective_engine.h"
#include "peers/kernels.h"
#include "peers/mailboxes.h"
#include "peers/stream_barrier.h"

namespace gpo::peers {

class DirectEngine final : public StreamEngine {
public:
    /// The ranks' devices, which reach each other. Throws.
    /// `owner`: the group's name in messages.
    DirectEngine(std::span<const Ref<Context>> contexts, const FixedText<96>& owner);
    /// The most bytes for which an all-reduce is one kernel for each rank; 0: no all-reduce is.
    uint64_t small_bytes() const noexcept { return small_bytes_; }
    Ref<Counted> prepare(const Collective& collective, bool captured) override;
    void issue(const Collective& collective, std::span<const Part> parts, Counted* prepared, void (*begin)(void*),
               void* of) override;

private:
    struct Rank {
        Ref<Context> context;
        Ref<const PeerKernels> kernels;   // NULL if the group has a single rank: there is nothing to combine
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
    Ref<Mailboxes> boxes_;        // for collectives that aren't recorded; replaced if too small. Under lock_
};

}  // namespace gpo::peers
