#include "trace/report/json_line.h"

#include <algorithm>
#include <charconv>

namespace gpo::trace {

namespace {

constexpr int kDeepest = 8;
constexpr uint64_t kLongest = UINT64_MAX / 4000;  // microseconds: sums of a few times fit

/// Appends the code point as UTF-8.
void append_code_point(std::string& out, uint32_t code) {
    const auto tail = [&](int shift) { out += static_cast<char>(0x80 | ((code >> shift) & 0x3f)); };
    if (code < 0x80) {
        out += static_cast<char>(code);
    } else if (code < 0x800) {
        out += static_cast<char>(0xc0 | (code >> 6));
        tail(0);
    } else if (code < 0x10000) {
        out += static_cast<char>(0xe0 | (code >> 12));
        tail(6);
        tail(0);
    } else {
        out += static_cast<char>(0xf0 | (code >> 18));
        tail(12);
        tail(6);
        tail(0);
    }
}

bool of_word(char c) noexcept {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '+' || c == '-' ||
           c == '.';
}

std::optional<uint64_t> whole(std::string_view digits) noexcept {
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (digits.empty() || error != std::errc() || end != digits.data() + digits.size()) return {};
    return value;
}

}  // namespace

bool JsonLine::parse(std::string_view text) {
    rest_ = text;
    members_.clear();
    skip_space();
    if (!object(0, "")) return false;
    skip_space();
    return rest_.empty();
}

void JsonLine::skip_space() noexcept {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size()));
}

bool JsonLine::take(char expected) noexcept {
    skip_space();
    if (rest_.empty() || rest_.front() != expected) return false;
    rest_.remove_prefix(1);
    return true;
}

bool JsonLine::object(int depth, const std::string& prefix) {
    if (depth == kDeepest || !take('{')) return false;
    if (take('}')) return true;
    do {
        std::string name = prefix;
        skip_space();
        if (!string_literal(name) || !take(':') || !value(depth, name)) return false;
    } while (take(','));
    return take('}');
}

bool JsonLine::value(int depth, const std::string& name) {
    skip_space();
    if (rest_.empty()) return false;
    if (rest_.front() == '{') return object(depth + 1, name + '.');
    if (rest_.front() == '[') return array(depth + 1);
    Member member{name, "", rest_.front() == '"'};
    if (!(member.is_string ? string_literal(member.value) : word(member.value))) return false;
    members_.push_back(std::move(member));
    return true;
}

bool JsonLine::array(int depth) {
    if (depth == kDeepest || !take('[')) return false;
    if (take(']')) return true;
    const size_t members = members_.size();
    do {
        if (!value(depth, "")) return false;
    } while (take(','));
    members_.resize(members);
    return take(']');
}

bool JsonLine::string_literal(std::string& out) {
    if (!take('"')) return false;
    for (;;) {
        const size_t plain = rest_.find_first_of("\"\\");
        if (plain == std::string_view::npos) return false;
        out.append(rest_.substr(0, plain));
        const bool ends = rest_[plain] == '"';
        rest_.remove_prefix(plain + 1);
        if (ends) return true;
        if (!escape(out)) return false;
    }
}

bool JsonLine::escape(std::string& out) {
    constexpr std::string_view kEscapes = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
    if (rest_.empty()) return false;
    const char c = rest_.front();
    rest_.remove_prefix(1);
    if (const size_t known = kEscapes.find(c); known != std::string_view::npos) {
        out += kMeanings[known];
        return true;
    }
    uint32_t code = 0, low = 0;
    if (c != 'u' || !code_unit(code)) return false;
    if (code >= 0xd800 && code < 0xdc00 && rest_.substr(0, 2) == "\\u") {
        rest_.remove_prefix(2);
        if (!code_unit(low) || low < 0xdc00 || low > 0xdfff) return false;
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    append_code_point(out, code >= 0xd800 && code < 0xe000 ? 0xfffd : code);
    return true;
}

bool JsonLine::code_unit(uint32_t& unit) {
    if (rest_.size() < 4) return false;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + 4, unit, 16);
    if (error != std::errc() || end != rest_.data() + 4) return false;
    rest_.remove_prefix(4);
    return true;
}

bool JsonLine::word(std::string& out) {
    const auto end = std::find_if_not(rest_.begin(), rest_.end(), of_word);
    const auto length = static_cast<size_t>(end - rest_.begin());
    out.assign(rest_.substr(0, length));
    rest_.remove_prefix(length);
    return length != 0;
}

const JsonLine::Member* JsonLine::find(std::string_view name, bool is_string) const noexcept {
    const auto found = std::find_if(members_.begin(), members_.end(), [&](const Member& member) {
        return member.name == name && member.is_string == is_string;
    });
    return found == members_.end() ? nullptr : &*found;
}

std::string_view JsonLine::string(std::string_view name) const noexcept {
    const Member* const found = find(name, true);
    return found ? std::string_view(found->value) : std::string_view();
}

std::optional<uint64_t> JsonLine::number(std::string_view name) const noexcept {
    const Member* const found = find(name, false);
    return found ? whole(found->value) : std::nullopt;
}

std::optional<uint64_t> JsonLine::time(std::string_view name) const noexcept {
    const Member* const found = find(name, false);
    if (!found) return {};
    const std::string_view text = found->value;
    const size_t point = std::min(text.find('.'), text.size());
    const auto us = whole(text.substr(0, point));
    if (!us || *us > kLongest) return {};
    uint64_t ns = *us * 1000;
    if (point == text.size()) return ns;
    const std::string_view decimals = text.substr(point + 1);
    const auto part = whole(decimals);
    if (!part || decimals.size() > 3) return {};
    return ns + *part * (decimals.size() == 1 ? 100 : decimals.size() == 2 ? 10 : 1);
}

}  // namespace gpo::trace
