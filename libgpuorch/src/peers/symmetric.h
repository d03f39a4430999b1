// Symmetric memory: as many bytes on each device of a group, which kernels of all of them use. Of a group of several
// processes a process has the memory of its own rank, and addresses of the others' (symmetric_memory.h).
//
// Each device has one allocation (peers/symmetric_memory.h): the user's bytes, and behind them the *words* of the
// barriers, which begin at the same offset on all devices. A block of a kernel has a stretch of words on each rank: one
// for each rank, in which that rank announces that it has come to a barrier, and one for how many barriers the block
// has passed.
#pragma once

#include <vector>

#include "gpuorch/symmetric.h"
#include "peers/symmetric_memory.h"

namespace gpo {

/// What kernels take: gpo::symmetric in gpuorch/device/peer.cuh.
struct SymmetricHandle {
    static constexpr uint32_t kMagic = 0x5953'5247;  // "GRSY"
    uint32_t magic = kMagic, version = 0x0001'0000;
    uint64_t bytes = 0;
    uint32_t rank = 0, ranks = 0;
    uint64_t words = 0;         // offset of the barriers' words
    uint32_t blocks = 0;        // that have words
    uint32_t block_words = 0;   // u32 of a block, from one block to the next
    uint64_t remote = 0;        // ranks without an address
    uint64_t reserved[2] = {};
    uint64_t addresses[32] = {};   // 0: none. Room for more than a group has: its size is ABI
};
static_assert(sizeof(SymmetricHandle) == GPO_SYMMETRIC_HANDLE_BYTES);

/// That the handle has room for.
inline constexpr uint32_t kMostSymmetricRanks = sizeof(SymmetricHandle::addresses) / sizeof(uint64_t);

class Symmetric final : public Object {
public:
    /// Allocates, and waits until it is zeroed; of several processes in all of them. Throws Failure.
    static Ref<Symmetric> create(Peers& peers, uint64_t bytes, const gpo_symmetric_options& options);
    Symmetric(Peers& peers, Ref<peers::SymmetricMemory> memory, const gpo_symmetric_options& options);

    // Throw Failure(GPO_INVALID_ARGUMENT): there is no such rank, or, but for address(), it is another process's.
    uint64_t address(uint32_t rank) const;
    SymmetricHandle handle(uint32_t rank) const;
    /// GPO_SUCCESS or GPO_WOULD_BLOCK. Throws Failure.
    gpo_status reset(uint32_t rank, Stream& stream);
    gpo_symmetric_info info() const;

private:
    ~Symmetric() override = default;
    void require_rank(uint32_t rank) const;
    Context& require_own(uint32_t rank) const;

    const std::vector<Ref<Context>> contexts_;   // of this process's ranks
    const uint32_t first_rank_;
    const bool remote_;                          // kernels reach by NVSHMEM what has no address
    const Ref<peers::SymmetricMemory> memory_;
    SymmetricHandle handle_;                     // of rank 0
};

template <>
struct TypeOf<Symmetric> { static constexpr Type value = Type::symmetric; };

}  // namespace gpo
