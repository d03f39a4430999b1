#include "base/quantities.h"

#include <cstdio>

#include "base/text.h"

namespace gpo {

std::string formatted(const char* format, double number) {
    char out[48];
    std::snprintf(out, sizeof out, format, number);
    return out;
}

std::string time_text(double ns) {
    if (ns < 1e3) return formatted("%.0f ns", ns);
    if (ns < 1e6) return formatted(ns < 1e4 ? "%.2f us" : "%.1f us", ns / 1e3);
    if (ns < 1e9) return formatted(ns < 1e7 ? "%.2f ms" : "%.1f ms", ns / 1e6);
    return formatted("%.2f s", ns / 1e9);
}

std::string bytes_text(double bytes) {
    if (bytes < 1e3) return formatted("%.0f B", bytes);
    if (bytes < 1e6) return formatted("%.1f kB", bytes / 1e3);
    if (bytes < 1e9) return formatted("%.1f MB", bytes / 1e6);
    return formatted("%.2f GB", bytes / 1e9);
}

std::string count_text(uint64_t count, std::string_view what) { return text(count, " ", what, count == 1 ? "" : "s"); }

}  // namespace gpo
