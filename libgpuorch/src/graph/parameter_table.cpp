#include "graph/parameter_table.h"

#include <algorithm>
#include <cstring>

namespace gpo {

ParameterTable ParameterTable::names_of(const ParameterTable& before) {
    ParameterTable out;
    for (const Parameter& parameter : before.parameters_) out.named(parameter.name);
    return out;
}

Parameter& ParameterTable::named(std::string_view name) {
    if (const auto known = numbers_.find(name); known != numbers_.end()) return parameters_[known->second];
    Parameter made;
    made.name = name;
    parameters_.reserve(parameters_.size() + 1);
    numbers_.emplace(name, static_cast<uint32_t>(parameters_.size()));
    return parameters_.emplace_back(std::move(made));
}

void ParameterTable::cut(const Size& extent) noexcept {
    std::erase_if(numbers_, [&](const auto& known) { return known.second >= extent.parameters; });
    parameters_.erase(parameters_.begin() + static_cast<ptrdiff_t>(extent.parameters), parameters_.end());
    values_.resize(extent.value_bytes);
}

void ParameterTable::add(Context& context, std::string_view name, const Node& node, const NodeField& field) {
    constexpr size_t kLongest = 63;
    if (name.empty() || name.size() > kLongest)
        fail(GPO_INVALID_ARGUMENT, "a parameter's name has 1 to ", kLongest, " bytes");
    const uint32_t bytes = size_of_field(node, field);
    Values value(bytes);
    read_field(node.work, field, value.data());
    NamedField added = named_field(context, node, field);
    Parameter& parameter = named(name);
    if (parameter.bytes && parameter.bytes != bytes)
        fail(GPO_INVALID_ARGUMENT, "parameter `", name, "` has ", parameter.bytes, " bytes, and ", bytes, " in ",
             describe_node(node, field.node));
    parameter.fields.reserve(parameter.fields.size() + 1);
    if (parameter.bytes) {
        added.differs = std::memcmp(values_.data() + parameter.offset, value.data(), bytes) != 0;
    } else {
        constexpr size_t kAlignment = 8;
        const size_t offset = (values_.size() + kAlignment - 1) / kAlignment * kAlignment;
        values_.resize(offset + bytes);
        std::memcpy(values_.data() + offset, value.data(), bytes);
        parameter.offset = offset;
        parameter.bytes = bytes;
    }
    parameter.fields.push_back(std::move(added));
}

void ParameterTable::hide(std::string_view name, uint32_t loop) noexcept {
    Parameter& parameter = parameters_[numbers_.find(name)->second];
    parameter.hidden = true;
    parameter.loop = loop;
}

void ParameterTable::forget_node(uint32_t node) noexcept {
    for (Parameter& parameter : parameters_) {
        std::erase_if(parameter.fields, [&](const NodeField& field) { return field.node == node; });
        if (parameter.fields.empty()) parameter.forget();
    }
}

const Parameter& ParameterTable::settable(uint32_t number, const void* value, uint64_t bytes) const {
    if (number >= parameters_.size() || !parameters_[number].bytes || parameters_[number].hidden)
        fail(GPO_NOT_FOUND, "there is no parameter with the number ", number);
    const Parameter& parameter = parameters_[number];
    if (!value) fail(GPO_INVALID_ARGUMENT, "the value of parameter `", parameter.name, "` is NULL");
    if (bytes != parameter.bytes)
        fail(GPO_INVALID_ARGUMENT, "parameter `", parameter.name, "` has ", parameter.bytes, " bytes, ", bytes,
             " were given");
    return parameter;
}

uint32_t ParameterTable::find(std::string_view name) const {
    const auto found = numbers_.find(name);
    if (found != numbers_.end() && settable(found->second)) return found->second;
    std::string known;
    for (const Parameter& parameter : parameters_)
        if (parameter.bytes && !parameter.hidden) known += text(known.empty() ? "" : ", ", "`", parameter.name, "`");
    fail(GPO_NOT_FOUND, "there is no parameter `", name, "`; there ", known.empty() ? "are none" : "are ", known);
}

}  // namespace gpo
