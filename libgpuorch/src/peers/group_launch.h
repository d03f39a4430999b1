// Launches a kernel on each rank; the kernels may wait for each other.
//
// All streams wait for each other before the kernels. Hence no kernel occupies a device, or uses up the bounds of its
// waits, while another rank's stream is still busy. All launches are cooperative: the driver starts a kernel when there
// is room for all its blocks.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "device/context.h"
#include "host/host.h"
#include "kernel/kernel.h"
#include "peers/stream_barrier.h"
#include "stream/stream.h"

namespace gpo::peers {

/// A rank's launch. Everything here outlives the call.
struct RankLaunch {
    Stream* stream = nullptr;
    Kernel* kernel = nullptr;
    gpo_launch launch{};
    const void* const* arguments = nullptr;
    const uint32_t* sizes = nullptr;
    uint32_t count = 0;
};

class Launcher final : public Counted {
public:
    /// `contexts`: the devices of this process's ranks, from `first_rank` on. Throws.
    explicit Launcher(std::span<const Ref<Context>> contexts, uint32_t first_rank = 0);
    /// GPO_SUCCESS or GPO_WOULD_BLOCK. Throws Failure, std::bad_alloc.
    gpo_status submit(std::span<const RankLaunch> launches);

private:
    class Work;
    ~Launcher() override = default;
    std::unique_ptr<Operation> made(const RankLaunch& launch, uint32_t place) const;

    std::vector<Ref<Context>> contexts_;  // by rank, of this process's ranks
    const uint32_t first_rank_;
    host::Mutex lock_;                    // barrier_; taken under submit locks; only driver calls under it
    StreamBarrier barrier_;
};

}  // namespace gpo::peers
