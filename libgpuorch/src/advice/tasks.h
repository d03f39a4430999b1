// The best way and batch size to hand out the tasks of a workload to workers.
#pragma once

#include <string>

#include "gpuorch/advice.h"
#include "advice/costs.h"
#include "advice/makespan.h"

namespace gpo::advice {

struct TaskAdvice {
    bool known = false;  // false: nothing is known of the tasks
    uint32_t order = 0;  // GPO_ORDER_*
    uint32_t batch = 0;
    double ratio = 1;     // predicted time of the tasks over the present time
    double idle_now = 0;  // share of the workers' time without work, now
    double longest = 1;   // cost of the longest task over the mean
    std::string tried;    // "static chunks 1.9 ms, strided 1.5 ms, claimed by 1: 1.2 ms"
};

/// `costs`: complete. Throws Failure(GPO_INVALID_ARGUMENT) that names an impossible figure, and std::bad_alloc.
TaskAdvice advise_tasks(const gpo_workload& workload, const gpo_costs& costs);

}  // namespace gpo::advice
