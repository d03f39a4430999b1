// Memory by which ranks exchange small data from kernel to kernel (gpo_all_reduce_small in driver/combine.cu): an inbox
// on each device, into which the others write.
//
// One set of mailboxes serves one collective at a time. A group has one for what is put on streams; each collective
// that is recorded has its own, which the nodes of the template keep.
#pragma once

#include <vector>

#include "memory/owned_memory.h"
#include "peers/collective.h"

namespace gpo::peers {

/// As the kernel takes it, by value.
struct MailboxesArgument {
    static constexpr uint32_t kMostRanks = 8, kThreads = 256;   // threads of a block, each with 8 bytes
    uint64_t inbox[kMostRanks] = {};
    uint64_t numbers = 0, slots = 0;
    uint32_t ranks = 0, rank = 0;
};

class Mailboxes final : public Counted {
public:
    /// For data of up to `bytes` of each rank. Waits until the memory is cleared. Throws Failure.
    Mailboxes(std::span<const Ref<Context>> contexts, uint64_t bytes, const FixedText<96>& owner);
    uint64_t most_bytes() const noexcept { return slots_ * 8; }
    MailboxesArgument argument(uint32_t rank) const noexcept;

private:
    std::vector<Ref<OwnedMemory>> memory_;    // by rank
    std::vector<uint64_t> inboxes_, numbers_;
    uint64_t slots_ = 0;
};

}  // namespace gpo::peers
