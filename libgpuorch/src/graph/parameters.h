// What can be named in a node and set later, and the parameters of a template: a name, a size, and the fields in nodes
// that get its value.
//
// A field has a *meaning*, which doesn't depend on the recording that it is in: the length of a copy, argument 1 of
// kernel `scale`. A value that was set for one parameter is good for another only if both mean the same
// (graph/carry.h).
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "graph/node.h"
#include "kernel/module.h"

namespace gpo {

/// One thing in a node, by GPO_PARAMETER_* and, of arguments, the index.
struct NodeField {
    uint32_t node = 0;   // of the recipe, from 0
    uint32_t what = 0;
    uint32_t index = 0;
};

/// What an address is of, and which addresses a field takes, by the address that it had when it was named. Only nodes
/// of other libraries refer to pageable memory. Managed memory does for fields of all kinds.
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
    bool differs = false;           // it was recorded with another value than the parameter's
};

struct Parameter {
    std::string name;
    uint32_t bytes = 0;             // 0: the newest recording has no such parameter
    uint64_t offset = 0;            // of the value, in the values of all parameters
    std::vector<NamedField> fields;
    bool hidden = false;            // the library's own: where a while counts, different in each graph
    uint32_t loop = 0;              // of a hidden one: which while

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

/// The values of all parameters, one behind the other.
using Values = std::vector<std::byte>;

/// "argument", "grid", … by GPO_PARAMETER_*.
const char* name_of_field(uint32_t what) noexcept;
/// Bytes of what `field` names in a node. Throws Failure where the node has nothing like that.
uint32_t size_of_field(const Node& node, const NodeField& field);
/// With what it means. Inside a DriverScope. Throws Failure, std::bad_alloc.
NamedField named_field(Context& context, const Node& node, const NodeField& field);
/// "argument 1 of kernel `scale`", "the length of a copy"
std::string meaning_text(const Meaning& meaning);
/// Throws Failure(GPO_INVALID_ARGUMENT) if the value can't be. The driver is asked only about addresses that aren't of
/// the library's memory.
void check_value(Context& context, const LaunchLimits& limits, const Node& node, const NamedField& field,
                 const std::string& name, const void* value);
/// The part of it that time can change: an address has to be of memory of the right kind. For other fields it does
/// nothing.
void check_address(Context& context, const NamedField& field, const std::string& name, const void* value);
/// What the node has there.
void read_field(const NodeWork& work, const NodeField& field, void* value) noexcept;
/// Changes it. GPO_PARAMETER_ENABLED is none of the node's work: it does nothing then.
void write_field(NodeWork& work, const NodeField& field, const void* value) noexcept;

}  // namespace gpo
