// What gpo_advise answers: the forms of a workload, ranked by the time that a round is expected to take. Pure functions
// of what the caller knows.
#pragma once

#include <vector>

#include "gpuorch/advice.h"

namespace gpo::advice {

struct Answer {
    gpo_diagnosis diagnosis{};
    std::vector<gpo_advice> ranked;  // the best first
};

/// `costs`: complete. Throws Failure(GPO_INVALID_ARGUMENT) that names a figure which can't be, and std::bad_alloc.
Answer advise(const gpo_workload& workload, const gpo_costs& costs);

}  // namespace gpo::advice
