// Symmetric memory of NVSHMEM, for a group of several processes: as many bytes at the same place of each process's
// symmetric heap.
//
// The world. NVSHMEM begins with the first such memory of a process, by a unique id that rank 0 makes and the group's
// transport carries. From then on the group's ranks are the PEs of this process's world, until its end; NVSHMEM isn't
// finalised, for that would wait for all the others. So the device's primary context stays too. Another group may use
// the world if it has the same processes in the same order. A program that has begun NVSHMEM itself has to have given
// its processes the numbers of the group's ranks.
//
// Frees. NVSHMEM's free is a call of all PEs, which wait for each other. So memory that a process has let go of is only
// noted, and freed in the next allocation if all processes have let go of it: destroying needs no order, and waits for
// nobody. What is left is freed with the process.
//
// Each step that can fail in one process alone ends with a greeting: so all processes succeed, or all fail with the
// same words. But while NVSHMEM itself waits for a process that has died meanwhile, it waits for ever.
#pragma once

#include <functional>
#include <vector>

#include "memory/holds.h"
#include "peers/transport.h"

namespace gpo::peers {

class NvshmemMemory final : public Counted {
public:
    /// All ranks call it with the same numbers. Blocks until all have; one at a time in a process. `bytes`: not 0.
    /// `alignment`: a power of two. `patience`, `check`: as for complete(). `owner`: as the memory is called in
    /// messages. Zeroed. Throws Failure:
    /// GPO_NOT_SUPPORTED: NVSHMEM isn't there, refuses, or runs for another group; the message says what to do
    /// GPO_INVALID_ARGUMENT: another rank asks for something else
    /// GPO_OUT_OF_MEMORY: the symmetric heap has too little
    /// GPO_PEER_LOST: a rank has died, or hasn't come
    static Ref<NvshmemMemory> allocate(const Ref<Context>& context, Transport& transport, uint64_t bytes,
                                       uint64_t alignment, uint64_t patience, const std::function<void()>& check,
                                       const FixedText<96>& owner);

    /// Where this process's kernels find a rank's memory; 0: nowhere, it is of another host, or the devices don't reach
    /// each other. The own rank's is never 0.
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
