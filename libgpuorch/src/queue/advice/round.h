// A round of a workload: what the host submits, what the GPU does, where the one waits for the other; and how long that
// takes. A form of work is a change of a round.
#pragma once

#include "gpuorch/advice.h"

namespace gpo::advice {

/// Times are nanoseconds.
struct Round {
    // The host
    double calls = 0;    // launches and copies that it submits
    double call_ns = 0;  // what each takes
    double events = 0;   // that order streams, recorded and waited for
    // The GPU
    double kernels = 0;       // all kernels, where they run one after the other
    double beside = 1;        // how many run at a time
    double in = 0, out = 0;   // copies, each way by itself
    double both = 0;          // copies of both ways at a time: the least time
    bool overlapped = false;  // copies beside kernels
    // Between them
    double waits = 0;    // how often the host waits for a result
    double wait_ns = 0;  // of such a wait: what neither host nor GPU work in
    double lead_ns = 0;  // and how much later the GPU begins after it
    double idle = 0;     // what nothing of all this explains

    double host() const noexcept;
    double copying() const noexcept;
    double gpu() const noexcept;
    double waiting() const noexcept { return waits * wait_ns; }
    double time() const noexcept;
    /// GPO_BOUND_*: GPO_BOUND_KERNEL for all kernels.
    uint32_t bound() const noexcept;
};

/// As it is now. `costs`: complete. Where the workload's round_ns is known, `idle` is what the parts don't explain;
/// less than they explain is not possible, and `scale` says by how much the model is too slow then (at most 1).
struct Now {
    Round round;
    double scale = 1;
    double time() const noexcept { return round.time() * scale + round.idle; }
};
Now round_now(const gpo_workload& workload, const gpo_costs& costs) noexcept;

/// How many launches can run beside each other on the GPU: from, to.
struct Room {
    double least = 1, most = 8;
};
Room room_of(const gpo_workload& workload, const gpo_costs& costs) noexcept;

/// The roofline, and where the time goes.
gpo_diagnosis diagnose(const gpo_workload& workload, const gpo_costs& costs, const Now& now) noexcept;
/// GPO_BOUND_MEMORY or GPO_BOUND_OPERATIONS for kernels that are near one of these limits.
uint32_t bound_of(const Round& round, const gpo_diagnosis& roofline) noexcept;

}  // namespace gpo::advice
