#include "graph/carry.h"

#include <algorithm>
#include <cstring>

#include "core/error.h"

namespace gpo {

namespace {

bool means(const Parameter& parameter, const Meaning& meaning) {
    return std::any_of(parameter.fields.begin(), parameter.fields.end(),
                       [&](const NamedField& field) { return field.meaning == meaning; });
}

// Why a value that was set for `was` can't be one of `is`, of the recipe `to`; "" if it can.
std::string why_not(const Parameter& was, const Parameter& is, uint32_t number, const void* value, const Recipe& to) {
    if (!is.bytes) return "the new recording has no such parameter";
    for (const NamedField& field : is.fields)
        if (!means(was, field.meaning))
            return text("it was ", meaning_text(was.fields.front().meaning), ", and is ", meaning_text(field.meaning));
    try {
        to.check_setting(number, value, was.bytes);
    } catch (const Failure& failure) {
        if (failure.error()->status != GPO_INVALID_ARGUMENT) throw;   // the device is lost
        const std::string& why = failure.error()->message;
        const std::string subject = text("parameter `", is.name, "`: ");
        return why.starts_with(subject) ? why.substr(subject.size()) : why;
    }
    return "";
}

}  // namespace

SetValues carry_over(const Recipe& from, const SetValues& values, const Recipe& to, Dropped& dropped) {
    SetValues out{to.parameters().values(), std::vector<bool>(to.parameters().size())};
    for (uint32_t i = 0; i < from.parameters().size(); ++i) {
        if (!values.set[i]) continue;
        const Parameter &was = from.parameters()[i], &is = to.parameters()[i];   // a name keeps its number
        const std::byte* value = values.bytes.data() + was.offset;
        std::string why = why_not(was, is, i, value, to);
        if (why.empty()) {
            std::memcpy(out.bytes.data() + is.offset, value, is.bytes);
            out.set[i] = true;
        } else if (dropped.count++ == 0) {
            dropped.parameter = was.name;
            dropped.reason = std::move(why);
        }
    }
    return out;
}

}  // namespace gpo
