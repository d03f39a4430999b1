// The answer of gpo_advise: the forms of a workload, ranked by the expected time of a round. Pure functions of the
// caller's figures.
#pragma once

#include <vector>

#include "gpuorch/advice.h"

namespace gpo::advice {

struct Answer {
    gpo_diagnosis diagnosis{};
    std::vector<gpo_advice> ranked;  // the best first
};

/// `costs`: complete. Throws Failure(GPO_INVALID_ARGUMENT) that names an impossible figure, std::bad_alloc.
Answer advise(const gpo_workload& workload, const gpo_costs& costs);

}  // namespace gpo::advice
