#include "trace/report/words.h"

#include <algorithm>
#include <cstdio>

#include "base/text.h"

namespace gpo::trace {

std::string number(const char* format, double value) {
    char out[48];
    std::snprintf(out, sizeof out, format, value);
    return out;
}

std::string time_text(double ns) {
    if (ns < 1e3) return number("%.0f ns", ns);
    if (ns < 1e6) return number(ns < 1e4 ? "%.2f us" : "%.1f us", ns / 1e3);
    if (ns < 1e9) return number(ns < 1e7 ? "%.2f ms" : "%.1f ms", ns / 1e6);
    return number("%.2f s", ns / 1e9);
}

std::string bytes_text(double bytes) {
    if (bytes < 1e3) return number("%.0f B", bytes);
    if (bytes < 1e6) return number("%.1f kB", bytes / 1e3);
    if (bytes < 1e9) return number("%.1f MB", bytes / 1e6);
    return number("%.2f GB", bytes / 1e9);
}

std::string percent(uint64_t part, uint64_t whole) {
    return number("%.1f %%", whole ? 100.0 * static_cast<double>(part) / static_cast<double>(whole) : 0.0);
}

std::string speed_text(uint64_t bytes, uint64_t ns) {
    return number("%.2f GB/s", static_cast<double>(bytes) / static_cast<double>(std::max<uint64_t>(ns, 1)));
}

std::string count_text(uint64_t count, std::string_view what) { return text(count, " ", what, count == 1 ? "" : "s"); }

std::string counts_text(const gpo_trace_info& counts) {
    return text(count_text(counts.calls, "call"), ", ", count_text(counts.operations, "operation"), " (", counts.timed,
                " timed), ", count_text(counts.callbacks, "callback"), ", ",
                count_text(counts.completions, "completion"));
}

}  // namespace gpo::trace
