// Formats names, numbers and counts for the picture and the summary.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/quantities.h"
#include "gpuorch/trace.h"

namespace gpo::trace {

/// "kernel `blur`", or "kernel" without a label.
std::string named(const char* kind, const char* label);
/// "41.0 %"
std::string percent(uint64_t part, uint64_t whole);
/// "55.43 GB/s"
std::string speed_text(uint64_t bytes, uint64_t ns);
/// Counts of a trace's records: "14 calls, 205 operations (164 timed), 41 callbacks, 0 completions".
std::string counts_text(const gpo_trace_info& counts);

}  // namespace gpo::trace
