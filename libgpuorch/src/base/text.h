// Joins values into a text: text("stream `", name, "` has ", 3, " operations held").
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace gpo {

/// A text in a buffer of fixed size. It allocates no memory, and truncates what doesn't fit.
template <size_t N>
class FixedText {
public:
    FixedText& append(std::string_view piece) noexcept {
        const size_t fitting = piece.size() < N - 1 - size_ ? piece.size() : N - 1 - size_;
        piece.copy(characters_ + size_, fitting);
        size_ += fitting;
        characters_[size_] = '\0';
        return *this;
    }
    void push_back(char piece) noexcept { append({&piece, 1}); }
    const char* c_str() const noexcept { return characters_; }
    operator std::string_view() const noexcept { return {characters_, size_}; }

private:
    size_t size_ = 0;
    char characters_[N] = {};
};

namespace detail {
template <class Out>
void append(Out& out, std::string_view piece) { out.append(piece); }
template <class Out>
void append(Out& out, char piece) { out.push_back(piece); }
template <class Out, class T>
    requires(std::is_integral_v<T> && !std::is_same_v<T, char> && !std::is_same_v<T, bool>)
void append(Out& out, T value) {
    char digits[24];
    auto [end, error] = std::to_chars(digits, digits + sizeof digits, value);
    out.append(std::string_view(digits, static_cast<size_t>(end - digits)));
    static_cast<void>(error);
}
}  // namespace detail

template <class... Pieces>
std::string text(const Pieces&... pieces) {
    std::string out;
    (detail::append(out, pieces), ...);
    return out;
}

/// Like text(), but allocates no memory and truncates the result.
template <size_t N, class... Pieces>
FixedText<N> fixed_text(const Pieces&... pieces) noexcept {
    FixedText<N> out;
    (detail::append(out, pieces), ...);
    return out;
}

/// 0x7f00…, for addresses in messages.
inline FixedText<24> fixed_hex(uint64_t value) noexcept {
    char digits[24];
    auto [end, error] = std::to_chars(digits, digits + sizeof digits, value, 16);
    static_cast<void>(error);
    return fixed_text<24>("0x", std::string_view(digits, static_cast<size_t>(end - digits)));
}
inline std::string hex(uint64_t value) {
    return std::string(std::string_view(fixed_hex(value)));
}

/// Copies `from` into a fixed field of a C struct, truncated if need be, and terminated with NUL.
template <size_t N>
void copy_text(char (&to)[N], std::string_view from) noexcept {
    const size_t length = from.size() < N - 1 ? from.size() : N - 1;
    from.copy(to, length);
    to[length] = '\0';
}

}  // namespace gpo
