#include "trace/report/words.h"

#include <algorithm>

#include "base/text.h"

namespace gpo::trace {

std::string named(const char* kind, const char* label) {
    return *label ? text(kind, " `", label, "`") : std::string(kind);
}

std::string percent(uint64_t part, uint64_t whole) {
    return formatted("%.1f %%", whole ? 100.0 * static_cast<double>(part) / static_cast<double>(whole) : 0.0);
}

std::string speed_text(uint64_t bytes, uint64_t ns) {
    return formatted("%.2f GB/s", static_cast<double>(bytes) / static_cast<double>(std::max<uint64_t>(ns, 1)));
}

std::string counts_text(const gpo_trace_info& counts) {
    return text(count_text(counts.calls, "call"), ", ", count_text(counts.operations, "operation"), " (", counts.timed,
                " timed), ", count_text(counts.callbacks, "callback"), ", ",
                count_text(counts.completions, "completion"));
}

}  // namespace gpo::trace
