// Numbers with their units, in a form that people read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gpo {

/// printf's format for one number.
std::string formatted(const char* format, double number);
/// "12.3 ms"
std::string time_text(double ns);
/// "1.07 GB"
std::string bytes_text(double bytes);
/// "1 callback", "2 callbacks"
std::string count_text(uint64_t count, std::string_view what);

}  // namespace gpo
