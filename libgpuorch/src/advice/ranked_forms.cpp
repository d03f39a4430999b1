#include "advice/ranked_forms.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "core/error.h"
#include "advice/forms.h"

namespace gpo::advice {

namespace {

constexpr double kWorthIt = 1.05;     // gain from which another form is better than the present one
constexpr double kAnyFigure = 1.2;    // the given figures are right to a fifth
constexpr double kMostEffort = 1.15;  // in the comparison with GPO_FORM_LEAVE; among better forms, effort counts fully
constexpr uint32_t kFlags = 2 * GPO_WORKLOAD_OVERLAPPED - 1;

uint32_t thousandths(double factor) noexcept { return static_cast<uint32_t>(std::clamp(factor * 1e3 + 0.5, 0.0, 4e9)); }

uint64_t whole_number(double value) noexcept { return static_cast<uint64_t>(std::clamp(value + 0.5, 0.0, 9e18)); }

/// The least come first. Forms that aren't worth the effort come after GPO_FORM_LEAVE.
struct Ranked {
    int place;     // 0: worth the effort; 1: GPO_FORM_LEAVE; 2: not worth it
    double score;  // time of a round, with what the form costs the program
    gpo_advice advice;
    bool operator<(const Ranked& other) const noexcept {
        return place != other.place ? place < other.place : score < other.score;
    }
};

Ranked ranked(const Form& form, const Now& now, const gpo_diagnosis& diagnosis) {
    const double before = std::max(now.time(), 1.0);
    const bool leave = form.form == GPO_FORM_LEAVE;
    const double predicted = form.round.time() * now.scale, idle = now.round.idle;
    // Unexplained time stays, but half of it may go with the work that the form removes.
    const double shortest = leave ? before : std::max(1.0, predicted / kAnyFigure + idle / 2);
    const double longest = leave ? before : std::max(1.0, predicted * form.surely * kAnyFigure + idle);
    const double expected = leave ? before : std::max(1.0, predicted * std::sqrt(form.surely) + idle);
    gpo_advice out{};
    out.struct_size = sizeof out;
    out.form = form.form;
    Round after = form.round;
    out.bound = bound_of(after, diagnosis);
    out.streams = form.streams;
    out.order = form.order;
    out.batch = form.batch;
    out.gain_low = thousandths(before / longest);
    out.gain_high = thousandths(before / shortest);
    out.round_ns = whole_number(expected);
    out.host_calls = whole_number(form.round.calls);
    copy_text(out.reason, form.reason);
    const bool worth = expected * std::min(form.effort, kMostEffort) * kWorthIt < before;
    return {leave ? 1 : worth ? 0 : 2, expected * form.effort, out};
}

void check_flags(const gpo_workload& workload) {
    if (const uint32_t unknown = workload.flags & ~kFlags)
        fail(GPO_INVALID_ARGUMENT, "workload.flags has unknown flags ", hex(unknown));
}

}  // namespace

Answer advise(const gpo_workload& workload, const gpo_costs& costs) {
    check_flags(workload);
    const TaskAdvice tasks = advise_tasks(workload, costs);
    const Now now = round_now(workload, costs);
    Answer out;
    out.diagnosis = diagnose(workload, costs, now);
    const Facts facts{workload, costs, now, out.diagnosis, tasks};
    std::vector<Ranked> all;
    for (const Form& form : forms_of(facts)) all.push_back(ranked(form, now, out.diagnosis));
    std::stable_sort(all.begin(), all.end());
    for (const Ranked& one : all) out.ranked.push_back(one.advice);
    return out;
}

}  // namespace gpo::advice
