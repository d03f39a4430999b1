// Symmetric memory and its owner: allocated by one process for all of its devices, by processes of the same host that
// import each other's, or by NVSHMEM. Symmetric::create chooses.
#pragma once

#include <vector>

#include "memory/owned_memory.h"
#include "peers/group.h"

namespace gpo::peers {

/// What all ranks have alike.
struct SymmetricLayout {
    uint64_t bytes = 0, alignment = 0;   // as asked for
    uint32_t ranks = 0;
    uint32_t blocks = 0;                 // that have words of barriers, behind the bytes

    static constexpr uint64_t kAlignment = 256;   // the driver's own, at least
    uint64_t words() const noexcept;              // their offset
    uint32_t block_words() const noexcept;        // u32 of a block, from one block to the next
    uint64_t words_bytes() const noexcept { return uint64_t{blocks} * block_words() * sizeof(uint32_t); }
    uint64_t padded() const noexcept { return words() + words_bytes(); }
    /// What is allocated, so that an aligned address in it has all that behind it.
    uint64_t allocated() const noexcept { return padded() + (alignment - kAlignment); }
};

class SymmetricMemory : public Counted {
public:
    const SymmetricLayout& layout() const noexcept { return layout_; }
    /// In this process.
    uint64_t address(uint32_t rank) const noexcept { return addresses_[rank]; }
    /// Atomic operations on each other's memory are known to be native for all ranks.
    bool native_atomics() const noexcept { return native_atomics_; }

    /// Of the devices of one process. Zeroed. Throws Failure.
    static Ref<SymmetricMemory> of_one_process(Peers& peers, SymmetricLayout layout, const FixedText<96>& owner);
    /// Of processes of one host, all of which call it; what `wrong` says of the arguments of this one's call (NULL:
    /// nothing) they all learn. Zeroed everywhere when it returns. Throws Failure, in all processes alike.
    static Ref<SymmetricMemory> of_one_host(Peers& peers, SymmetricLayout layout, const FixedText<96>& owner,
                                            const ErrorPtr& wrong);
    /// Of processes that use NVSHMEM, all of which call it (nvshmem_memory.h): ranks that this process doesn't reach
    /// have no address, 0. Throws Failure.
    static Ref<SymmetricMemory> of_nvshmem(Peers& peers, SymmetricLayout layout, const FixedText<96>& owner);

protected:
    SymmetricLayout layout_;
    std::vector<uint64_t> addresses_;   // by rank
    bool native_atomics_ = true;
};

}  // namespace gpo::peers
