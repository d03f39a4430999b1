// What gpo_advise_trace answers: a text about a trace, and the work in it as a workload.
#pragma once

#include <string>

#include "gpuorch/advice.h"
#include "queue/advice/trace_facts.h"

namespace gpo::advice {

struct TraceAdvice {
    std::string text;
    gpo_workload workload{};  // of the GPU that had the most to do; all 0 where there was none
};

/// Of what a GPU did: one turn of the sequence that repeats.
gpo_workload workload_of(const GpuFacts& facts, const trace::TraceRead& trace) noexcept;
/// Throws std::bad_alloc.
TraceAdvice advise_trace(const trace::TraceRead& trace);

}  // namespace gpo::advice
