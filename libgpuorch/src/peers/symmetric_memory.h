// Symmetric memory and its owner. Symmetric::create chooses between allocation by one process for all its devices, by
// processes of the same host that import each other's memory, and by NVSHMEM.
#pragma once

#include <vector>

#include "memory/owned_memory.h"
#include "peers/group.h"

namespace gpo::peers {

/// The memory's layout, equal on all ranks.
struct SymmetricLayout {
    uint64_t bytes = 0, alignment = 0;   // as asked for
    uint32_t ranks = 0;
    uint32_t blocks = 0;                 // number of blocks with barrier words, behind the bytes

    static constexpr uint64_t kAlignment = 256;   // guaranteed by the driver
    uint64_t words() const noexcept;              // offset of the words
    uint32_t block_words() const noexcept;        // stride of the blocks' words, in u32
    uint64_t words_bytes() const noexcept { return uint64_t{blocks} * block_words() * sizeof(uint32_t); }
    uint64_t padded() const noexcept { return words() + words_bytes(); }
    /// Bytes to allocate: enough for padded() bytes from an aligned address on.
    uint64_t allocated() const noexcept { return padded() + (alignment - kAlignment); }
};

class SymmetricMemory : public Counted {
public:
    const SymmetricLayout& layout() const noexcept { return layout_; }
    /// A rank's address in this process.
    uint64_t address(uint32_t rank) const noexcept { return addresses_[rank]; }
    /// True if atomic operations on each other's memory are known to be native for all ranks.
    bool native_atomics() const noexcept { return native_atomics_; }

    /// Zeroed memory on the devices of one process. Throws Failure.
    static Ref<SymmetricMemory> of_one_process(Peers& peers, SymmetricLayout layout, const FixedText<96>& owner);
    /// Memory of processes of one host, all of which make this call. `wrong`: an error in this process's arguments
    /// (NULL: none), reported to all processes. On return the memory is zeroed everywhere. Throws Failure, in all
    /// processes alike.
    static Ref<SymmetricMemory> of_one_host(Peers& peers, SymmetricLayout layout, const FixedText<96>& owner,
                                            const ErrorPtr& wrong);
    /// NVSHMEM's memory (nvshmem_memory.h); all processes make this call. Ranks that this process can't access by an
    /// address have address 0. `wrong`: as for of_one_host. Throws Failure.
    static Ref<SymmetricMemory> of_nvshmem(Peers& peers, SymmetricLayout layout, const FixedText<96>& owner,
                                           ErrorPtr wrong);

protected:
    SymmetricLayout layout_;
    std::vector<uint64_t> addresses_;   // by rank
    bool native_atomics_ = true;
};

}  // namespace gpo::peers
