// Memory by which ranks exchange small data from kernel to kernel (base/exchange.h): an inbox on each device, into
// which the others write.
//
// One set of mailboxes serves one collective at a time. A group has one for what is put on streams; each collective
// that is recorded has its own, which the nodes of the template keep.
#pragma once

#include <vector>

#include "base/exchange.h"
#include "memory/owned_memory.h"
#include "peers/collective.h"

namespace gpo::peers {

class Mailboxes final : public Counted {
public:
    /// For data of up to `bytes` of each rank. `recorded`: for a collective that is recorded, whose launches can't be
    /// stopped. Waits until the memory is cleared. Throws Failure.
    Mailboxes(std::span<const Ref<Context>> contexts, uint64_t bytes, bool recorded, const FixedText<96>& owner);
    uint64_t most_bytes() const noexcept { return slots_ * 8; }
    exchange::Mailboxes argument(uint32_t rank) const noexcept;
    /// Of the launch that begin_launch() has begun last.
    exchange::Stop stop_argument(uint32_t rank) const noexcept;
    /// One at a time.
    void begin_launch() noexcept { ++launch_; }
    /// Waiting kernels of the launch begun last give up soon, on the software GPU. No other launch may follow.
    void stop() noexcept;

private:
    std::vector<Ref<OwnedMemory>> memory_;    // by rank
    std::vector<uint64_t> inboxes_, numbers_;
    uint64_t slots_ = 0;
    std::vector<uint32_t*> stopped_;   // by rank; pinned in the rank's own context, which may outlive another one
    uint32_t launch_ = 0;
};

}  // namespace gpo::peers
