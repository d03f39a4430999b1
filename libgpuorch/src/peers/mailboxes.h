// Memory by which ranks exchange small data from kernel to kernel (base/exchange.h): an inbox on each device, into
// which the others write.
//
// One set of mailboxes serves one collective at a time. A group has one set for collectives that aren't recorded. Each
// recorded collective has its own set, to which the nodes of the template hold references.
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
    /// The argument by which kernels of the newest launch notice stop().
    exchange::Stop stop_argument(uint32_t rank) const noexcept;
    /// Begins a launch. One launch at a time.
    void begin_launch() noexcept { ++launch_; }
    /// Makes waiting kernels of the newest launch give up soon. Has an effect only on the software GPU. No other launch
    /// may follow.
    void stop() noexcept { stop(launch_); }

private:
    ~Mailboxes() override;
    void stop(uint32_t launch) noexcept;

    std::vector<Ref<Context>> contexts_;      // by rank
    std::vector<Ref<OwnedMemory>> memory_;
    std::vector<uint64_t> inboxes_, numbers_;
    uint64_t slots_ = 0;
    std::vector<uint32_t*> stopped_;   // by rank; pinned in the rank's own context
    uint32_t launch_ = 0;
};

}  // namespace gpo::peers
