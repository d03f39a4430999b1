// Symmetric memory: the same number of bytes on each device of a group, for kernels of all devices. In a group of
// several processes, each process has its own rank's memory and the addresses of the other ranks' (symmetric_memory.h).
//
// Each device has one allocation (peers/symmetric_memory.h): the user's bytes, followed by the *words* of the barriers,
// which begin at the same offset on all devices. Each block of a kernel has a range of words on each rank. A word per
// rank announces that the rank has come to a barrier, and another word counts the barriers that the block has passed.
#pragma once

#include <vector>

#include "gpuorch/symmetric.h"
#include "peers/symmetric_memory.h"

namespace gpo {

/// The kernels' argument: gpo::symmetric in gpuorch/device/peer.cuh.
struct SymmetricHandle {
    static constexpr uint32_t kMagic = 0x5953'5247;  // "GRSY"
    uint32_t magic = kMagic, version = 0x0001'0000;
    uint64_t bytes = 0;
    uint32_t rank = 0, ranks = 0;
    uint64_t words = 0;         // offset of the barriers' words
    uint32_t blocks = 0;        // number of blocks with words
    uint32_t block_words = 0;   // stride of the blocks' words, in u32
    uint64_t remote = 0;        // number of ranks without an address
    uint64_t reserved[2] = {};
    uint64_t addresses[32] = {};   // 0: none. The size is ABI, and more than a group needs
};
static_assert(sizeof(SymmetricHandle) == GPO_SYMMETRIC_HANDLE_BYTES);

/// Number of ranks that the handle has room for.
inline constexpr uint32_t kMostSymmetricRanks = sizeof(SymmetricHandle::addresses) / sizeof(uint64_t);

class Symmetric final : public Object {
public:
    /// Allocates zeroed memory and waits for the zeroing, in all processes of the group. Throws Failure.
    static Ref<Symmetric> create(Peers& peers, uint64_t bytes, const gpo_symmetric_options& options);
    Symmetric(Peers& peers, Ref<peers::SymmetricMemory> memory, const gpo_symmetric_options& options);

    // Both throw Failure(GPO_INVALID_ARGUMENT): no such rank, or, except for address(), a rank of another process.
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
    const bool remote_;                          // kernels use NVSHMEM for ranks without an address
    const Ref<peers::SymmetricMemory> memory_;
    SymmetricHandle handle_;                     // of rank 0
};

template <>
struct TypeOf<Symmetric> { static constexpr Type value = Type::symmetric; };

}  // namespace gpo
