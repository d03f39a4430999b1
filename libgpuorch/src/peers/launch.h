// Launches of one kernel on each rank, which may wait for each other.
//
// Before the kernels all streams wait for each other. So no kernel takes up a device, or uses up the bounds of its
// waits, while another rank's stream is still busy. Each kernel is launched as a cooperative one: the driver begins it
// when there is room for all of its blocks.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "device/context.h"
#include "host/host.h"
#include "kernel/kernel.h"
#include "peers/meeting.h"
#include "stream/stream.h"

namespace gpo::peers {

/// What one rank brings. All of it outlives the call.
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
    /// The devices of this process's ranks, of which the first is `first_rank`. Throws.
    explicit Launcher(std::span<const Ref<Context>> contexts, uint32_t first_rank = 0);
    /// GPO_SUCCESS or GPO_WOULD_BLOCK. Throws Failure, std::bad_alloc.
    gpo_status submit(std::span<const RankLaunch> launches);

private:
    class Work;
    ~Launcher() override = default;
    std::unique_ptr<Operation> made(const RankLaunch& launch, uint32_t place) const;

    std::vector<Ref<Context>> contexts_;  // by rank, of this process's
    const uint32_t first_rank_;
    host::Mutex lock_;                    // meeting_; taken under submit locks, and a leaf but for driver calls
    Meeting meeting_;
};

}  // namespace gpo::peers
