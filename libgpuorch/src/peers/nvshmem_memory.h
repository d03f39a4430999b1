// Symmetric memory of NVSHMEM, for a group of several processes: the same number of bytes at the same place of each
// process's symmetric heap.
//
// The world. A process's first symmetric memory initialises NVSHMEM, with a unique id that rank 0 makes and the group's
// transport carries. From then on the group's ranks are the PEs of this process's world, until the process ends.
// NVSHMEM isn't finalised, as that would wait for all other PEs; hence the device's primary context stays too. Another
// group may use the world if it has the same processes in the same order. If the program has initialised NVSHMEM
// itself, its PE numbers have to equal the group's ranks.
//
// Frees. NVSHMEM's free is a call of all PEs, which wait for each other. Hence a process only notes the memory that it
// has released. The next allocation frees memory that all processes have released. Destroying needs no order and waits
// for no other process. The rest is freed with the process.
//
// Each step that can fail in one process alone ends with a handshake: all processes succeed, or all fail with the same
// words. If a process dies while NVSHMEM itself waits for it, NVSHMEM waits without limit.
#pragma once

#include <functional>
#include <vector>

#include "memory/holds.h"
#include "peers/transport.h"

namespace gpo::peers {

class NvshmemMemory final : public Counted {
public:
    /// Allocates zeroed memory. All ranks call this with the same numbers. Blocks until all ranks have called. One call
    /// at a time in a process. `bytes`: not 0. `alignment`: a power of two. `patience`, `check`: as for complete().
    /// `owner`: the memory's name in messages. `wrong`: why this process can't take part (NULL: it can); all processes
    /// then fail with that error. Throws Failure:
    /// GPO_NOT_SUPPORTED: NVSHMEM is missing, refuses, or runs for another group; the message says what to do
    /// GPO_INVALID_ARGUMENT: another rank has passed other numbers
    /// GPO_OUT_OF_MEMORY: the symmetric heap has too little
    /// GPO_PEER_LOST: a rank has died, or hasn't come
    static Ref<NvshmemMemory> allocate(const Ref<Context>& context, Transport& transport, uint64_t bytes,
                                       uint64_t alignment, uint64_t patience, const std::function<void()>& check,
                                       const FixedText<96>& owner, const ErrorPtr& wrong);

    /// Address of a rank's memory for this process's kernels; 0: none, as the rank is on another host, or the devices
    /// can't access each other's memory. Never 0 for the own rank.
    uint64_t address(uint32_t rank) const noexcept { return addresses_[rank]; }

    NvshmemMemory(Ref<Context> context, std::vector<uint64_t> addresses, Holds::Ready free) noexcept
        : context_(std::move(context)), addresses_(std::move(addresses)), free_(std::move(free)) {}

private:
    ~NvshmemMemory() override { Holds::of(context_->runtime()).free(std::move(free_)); }

    const Ref<Context> context_;
    const std::vector<uint64_t> addresses_;   // by rank
    Holds::Ready free_;
};

}  // namespace gpo::peers
