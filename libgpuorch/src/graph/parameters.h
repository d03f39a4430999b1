// Fields of nodes that can be named and set later, and the parameters of a template: a name, a size, and the fields to
// set.
//
// A field has a *meaning*, which doesn't depend on the recording: the length of a copy, argument 1 of kernel `scale`. A
// value of one parameter fits another parameter only if both mean the same (graph/carry.h).
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "graph/node.h"
#include "kernel/module.h"

namespace gpo {

/// A field of a node, by GPO_PARAMETER_* and, for arguments, the index.
struct NodeField {
    uint32_t node = 0;   // of the recipe, from 0
    uint32_t what = 0;
    uint32_t index = 0;
};

/// The kind of memory at an address. A field takes addresses of the kind that it had when it was named; managed memory
/// fits fields of all kinds. Only nodes of other libraries refer to pageable memory.
enum class AddressKind : uint8_t { none, device, host, managed, pageable };

struct Meaning {
    std::string_view kind;          // of the node, by kind_of()
    uint32_t what = 0, index = 0;   // as in NodeField
    std::string kernel;             // of a kernel node: the function's name and the sizes of its arguments; else ""
    bool operator==(const Meaning&) const = default;
};

/// A field that a parameter names.
struct NamedField : NodeField {
    Meaning meaning;
    AddressKind address = AddressKind::none;
    bool differs = false;           // recorded with another value than the parameter's
};

struct Parameter {
    std::string name;
    uint32_t bytes = 0;             // 0: the newest recording has no such parameter
    uint64_t offset = 0;            // of the value, in the values of all parameters
    std::vector<NamedField> fields;
    bool hidden = false;            // the library's own: address where a while counts, different in each graph
    uint32_t loop = 0;              // of a hidden parameter: number of the while

    /// Whether the fields were recorded with different values.
    bool differs() const noexcept {
        return std::any_of(fields.begin(), fields.end(), [](const NamedField& field) { return field.differs; });
    }
    /// All but the name.
    void forget() noexcept {
        bytes = loop = 0;
        hidden = false;
        fields.clear();
    }
};

/// A parameter, by its number, and its new value.
struct Setting {
    uint32_t parameter;
    const void* value;
    uint64_t bytes;
};

/// The values of all parameters, at their offsets.
using Values = std::vector<std::byte>;

/// "argument", "grid", … by GPO_PARAMETER_*.
const char* name_of_field(uint32_t what) noexcept;
/// Size of a field in bytes. Throws Failure if the node has no such field.
uint32_t size_of_field(const Node& node, const NodeField& field);
/// Adds the field's meaning. Inside a DriverScope. Throws Failure, std::bad_alloc.
NamedField named_field(Context& context, const Node& node, const NodeField& field);
/// "argument 1 of kernel `scale`", "the length of a copy"
std::string meaning_text(const Meaning& meaning);
/// Throws Failure(GPO_INVALID_ARGUMENT) if the field can't have the value. Asks the driver only about addresses outside
/// the library's memory.
void check_value(Context& context, const LaunchLimits& limits, const Node& node, const NamedField& field,
                 const std::string& name, const void* value);
/// The part of check_value() whose result can change with time: an address must be in memory of the right kind. Does
/// nothing for other fields.
void check_address(Context& context, const NamedField& field, const std::string& name, const void* value);
/// Reads the field's value.
void read_field(const NodeWork& work, const NodeField& field, void* value) noexcept;
/// Sets the field's value. No effect for GPO_PARAMETER_ENABLED, which isn't part of the work.
void write_field(NodeWork& work, const NodeField& field, const void* value) noexcept;

}  // namespace gpo
