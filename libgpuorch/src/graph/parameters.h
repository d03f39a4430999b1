// What can be named in a node and set later, and the parameters of a template: a name, a size, and the fields in nodes
// that get its value.
#pragma once

#include <cstdint>
#include <string>
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

struct Parameter {
    std::string name;
    uint32_t bytes = 0;             // 0: the newest recording has no such parameter
    uint64_t offset = 0;            // of the value, in the values of all parameters
    std::vector<NodeField> fields;
    bool differs = false;           // the fields were recorded with different values
    bool hidden = false;            // the library's own: where a while counts, different in each graph
    uint32_t loop = 0;              // of a hidden one: which while

    /// All but the name.
    void forget() noexcept {
        bytes = loop = 0;
        differs = hidden = false;
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
/// Throws Failure(GPO_INVALID_ARGUMENT, GPO_NOT_SUPPORTED) if the value can't be, as far as we know without the driver.
void check_value(Context& context, const LaunchLimits& limits, const Node& node, const NodeField& field,
                 const std::string& name, const void* value);
/// What the node has there.
void read_field(const NodeWork& work, const NodeField& field, void* value) noexcept;
/// Changes it. GPO_PARAMETER_ENABLED is none of the node's work: it does nothing then.
void write_field(NodeWork& work, const NodeField& field, const void* value) noexcept;

}  // namespace gpo
