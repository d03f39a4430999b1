// A round of a workload: the host's submissions, the GPU's work, the waits in between, and the time that all take. A
// form of work changes a round.
#pragma once

#include "gpuorch/advice.h"

namespace gpo::advice {

/// Times are nanoseconds.
struct Round {
    // The host
    double calls = 0;    // launches and copies that the host submits
    double call_ns = 0;  // time of each
    double events = 0;   // that order streams, recorded and waited for
    // The GPU
    double kernels = 0;       // all kernels, where they run one after the other
    double beside = 1;        // how many run at a time
    double in = 0, out = 0;   // copies, each way by itself
    double both = 0;          // copies of both ways at a time: the least time
    bool overlapped = false;  // copies beside kernels
    // Between them
    double waits = 0;    // how often the host waits for a result
    double wait_ns = 0;  // per wait: time in which neither host nor GPU works
    double lead_ns = 0;  // per wait: how much later the GPU begins afterwards
    double idle = 0;     // time that nothing above explains

    double host() const noexcept;
    double copying() const noexcept;
    double gpu() const noexcept;
    double waiting() const noexcept { return waits * wait_ns; }
    double time() const noexcept;
    /// GPO_BOUND_*: GPO_BOUND_KERNEL for all kernels.
    uint32_t bound() const noexcept;
};

/// The round as it is now. `costs`: complete. If the workload's round_ns is known, `idle` is the part that the model
/// doesn't explain. If the model takes longer than round_ns, `scale` (at most 1) corrects the model's times.
struct Now {
    Round round;
    double scale = 1;
    double time() const noexcept { return round.time() * scale + round.idle; }
};
Now round_now(const gpo_workload& workload, const gpo_costs& costs) noexcept;

/// Least and greatest number of launches that can run beside each other on the GPU.
struct Room {
    double least = 1, most = 8;
};
Room room_of(const gpo_workload& workload, const gpo_costs& costs) noexcept;

/// The roofline, and where the time goes.
gpo_diagnosis diagnose(const gpo_workload& workload, const gpo_costs& costs, const Now& now) noexcept;
/// round.bound(), but GPO_BOUND_MEMORY or GPO_BOUND_OPERATIONS for kernels near such a limit.
uint32_t bound_of(const Round& round, const gpo_diagnosis& roofline) noexcept;

}  // namespace gpo::advice
