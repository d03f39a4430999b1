// Parses a line of a trace file: a JSON object without duplicate names. A member of an inner object gets the outer name
// as a prefix ("args.bytes").
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpo::trace {

class JsonLine {
public:
    /// False if the text is no JSON object, or is nested deeper than lines of a trace. Ignores the content of arrays.
    /// Throws std::bad_alloc.
    bool parse(std::string_view text);

    /// A string, without its quotes and escapes; "" if there is none of that name.
    std::string_view string(std::string_view name) const noexcept;
    /// A number without sign, fraction and exponent; nullopt if there is none of that name.
    std::optional<uint64_t> number(std::string_view name) const noexcept;
    /// Nanoseconds: in the file, times are microseconds with at most three decimals.
    std::optional<uint64_t> time(std::string_view name) const noexcept;

private:
    struct Member {
        std::string name, value;
        bool is_string = false;
    };
    bool object(int depth, const std::string& prefix);
    bool value(int depth, const std::string& name);
    bool array(int depth);
    bool string_literal(std::string& out);
    bool escape(std::string& out);
    bool code_unit(uint32_t& unit);
    bool word(std::string& out);
    void skip_space() noexcept;
    bool take(char expected) noexcept;
    const Member* find(std::string_view name, bool is_string) const noexcept;

    std::string_view rest_;
    std::vector<Member> members_;
};

}  // namespace gpo::trace
