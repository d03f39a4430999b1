// Numbers in a form that people read, for the picture and the summary.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "gpuorch/trace.h"

namespace gpo::trace {

/// printf's format for one number.
std::string number(const char* format, double value);
/// "12.3 ms"
std::string time_text(double ns);
/// "1.07 GB"
std::string bytes_text(double bytes);
/// "41.0 %"
std::string percent(uint64_t part, uint64_t whole);
/// "55.43 GB/s"
std::string speed_text(uint64_t bytes, uint64_t ns);
/// "1 callback", "2 callbacks"
std::string count_text(uint64_t count, std::string_view what);
/// What a trace recorded: "14 calls, 205 operations (164 timed), 41 callbacks, 0 completions".
std::string counts_text(const gpo_trace_info& counts);

}  // namespace gpo::trace
