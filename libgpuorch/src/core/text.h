// Putting sentences together: text("stream `", name, "` has ", 3, " operations held").
#pragma once

#include <charconv>
#include <string>
#include <string_view>
#include <type_traits>

namespace gpo {

namespace detail {
inline void append(std::string& out, std::string_view piece) { out.append(piece); }
inline void append(std::string& out, char piece) { out.push_back(piece); }
template <class T>
    requires(std::is_integral_v<T> && !std::is_same_v<T, char> && !std::is_same_v<T, bool>)
void append(std::string& out, T value) {
    char digits[24];
    auto [end, error] = std::to_chars(digits, digits + sizeof digits, value);
    out.append(digits, end);
    static_cast<void>(error);
}
}  // namespace detail

template <class... Pieces>
std::string text(const Pieces&... pieces) {
    std::string out;
    (detail::append(out, pieces), ...);
    return out;
}

/// 0x7f00…, for addresses in messages.
inline std::string hex(uint64_t value) {
    char digits[24];
    auto [end, error] = std::to_chars(digits, digits + sizeof digits, value, 16);
    static_cast<void>(error);
    return std::string("0x").append(digits, end);
}

/// Copies `from` into a fixed field of a C struct, cut to fit and terminated.
template <size_t N>
void copy_text(char (&to)[N], std::string_view from) noexcept {
    const size_t length = from.size() < N - 1 ? from.size() : N - 1;
    from.copy(to, length);
    to[length] = '\0';
}

}  // namespace gpo
