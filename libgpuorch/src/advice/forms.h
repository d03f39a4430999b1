// The forms in which a workload could run, each with its expected round and a reason.
#pragma once

#include <string>
#include <vector>

#include "advice/round.h"
#include "advice/tasks.h"

namespace gpo::advice {

struct Form {
    uint32_t form = GPO_FORM_LEAVE;
    Round round;        // as expected
    double surely = 1;  // uncertainty: how many times longer the round may take
    double effort = 1;  // cost to the program: the factor by which the form has to be better
    uint32_t streams = 0, order = 0, batch = 0;
    std::string reason;
};

/// The facts about a workload.
struct Facts {
    const gpo_workload& workload;
    const gpo_costs& costs;  // complete
    const Now& now;
    const gpo_diagnosis& diagnosis;
    const TaskAdvice& tasks;

    bool has(uint32_t flag) const noexcept { return (workload.flags & flag) != 0; }
};

/// All applicable forms, in no order. GPO_FORM_LEAVE is always there. Throws std::bad_alloc.
std::vector<Form> forms_of(const Facts& facts);

}  // namespace gpo::advice
