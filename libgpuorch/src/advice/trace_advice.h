// The answer of gpo_advise_trace: a text about a trace, and the trace's work as a workload.
#pragma once

#include <string>

#include "gpuorch/advice.h"
#include "advice/trace_facts.h"

namespace gpo::advice {

struct TraceAdvice {
    std::string text;
    gpo_workload workload{};  // of the GPU with the most work; all 0 if there is none
};

/// A GPU's work as a workload: one turn of the sequence that repeats.
gpo_workload workload_of(const GpuFacts& facts, const trace::TraceRead& trace) noexcept;
/// Throws std::bad_alloc.
TraceAdvice advise_trace(const trace::TraceRead& trace);

}  // namespace gpo::advice
