// The forms in which a workload could run, each with the round that is expected of it and a reason.
#pragma once

#include <string>
#include <vector>

#include "queue/advice/round.h"
#include "queue/advice/tasks.h"

namespace gpo::advice {

struct Form {
    uint32_t form = GPO_FORM_LEAVE;
    Round round;        // as it is expected to be
    double surely = 1;  // what may be wrong with it: how many times longer the round may take
    double effort = 1;  // what the form costs the program: it has to be so much better than another one
    uint32_t streams = 0, order = 0, batch = 0;
    std::string reason;
};

/// What is known of a workload.
struct Facts {
    const gpo_workload& workload;
    const gpo_costs& costs;  // complete
    const Now& now;
    const gpo_diagnosis& diagnosis;
    const TaskAdvice& tasks;

    bool has(uint32_t flag) const noexcept { return (workload.flags & flag) != 0; }
};

/// All that can be considered, in no order: GPO_FORM_LEAVE is there. Throws std::bad_alloc.
std::vector<Form> forms_of(const Facts& facts);

}  // namespace gpo::advice
