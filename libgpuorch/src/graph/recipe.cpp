#include "graph/recipe.h"

#include <algorithm>
#include <cstring>

namespace gpo {

Recipe::Recipe(Ref<Context> context, const Recipe* before)
    : context_(std::move(context)), limits_(launch_limits(*context_)) {
    if (!before) return;
    for (const Parameter& parameter : before->parameters_) named(parameter.name);
}

Recipe::~Recipe() {
    if (!graph_ || !owned_) return;
    DriverTry scope(*context_);
    if (scope.entered()) context_->table().cuGraphDestroy(graph_);
}

std::string Recipe::why_single() const {
    for (uint32_t i = 0; i < nodes_.size(); ++i) {
        const auto* other = std::get_if<OtherNode>(&nodes_[i].work);
        if (other && (other->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC || other->type == CU_GRAPH_NODE_TYPE_MEM_FREE ||
                      other->type == CU_GRAPH_NODE_TYPE_CONDITIONAL))
            return describe_node(nodes_[i], i);
    }
    return "";
}

// --- nodes ---

void Recipe::make_graph() {
    if (graph_) return;
    context_->check(context_->table().cuGraphCreate(&graph_, 0), "cuGraphCreate");
    owned_ = true;
}

void Recipe::own(CUgraph graph, std::vector<GraphRecording::Made> made) {
    graph_ = graph;
    owned_ = true;
    for (GraphRecording::Made& each : made) see(each.node, each.label, std::move(each.owner));
    const driver::Table& table = context_->table();
    size_t count = 0;
    context_->check(table.cuGraphGetNodes(graph_, nullptr, &count), "cuGraphGetNodes");
    std::vector<CUgraphNode> all(count);
    if (count) context_->check(table.cuGraphGetNodes(graph_, all.data(), &count), "cuGraphGetNodes");
    for (const CUgraphNode native : all) see(native, "", nullptr);
    read_dependencies();
}

void Recipe::read_dependencies() {
    const driver::Table& table = context_->table();
    for (Node& node : nodes_) {
        size_t count = 0;
        // Edges with data, which programmatic launches make, aren't shown in this form: the node then has none here,
        // and the driver's graph has them.
        if (table.cuGraphNodeGetDependencies(node.native, nullptr, &count) != CUDA_SUCCESS) continue;
        std::vector<CUgraphNode> before(count);
        if (count)
            context_->check(table.cuGraphNodeGetDependencies(node.native, before.data(), &count),
                            "cuGraphNodeGetDependencies");
        node.after.clear();
        for (const CUgraphNode native : before)
            if (const uint32_t number = find(native); number != kNone) node.after.push_back(number);
    }
}

uint32_t Recipe::find(CUgraphNode native) const noexcept {
    for (size_t i = nodes_.size(); i-- > 0;)   // it is one of the last, as a rule
        if (nodes_[i].native == native) return static_cast<uint32_t>(i);
    return kNone;
}

uint32_t Recipe::see(CUgraphNode native, const char* label, Ref<const Counted> owner) {
    if (const uint32_t known = find(native); known != kNone) return known;
    Node node{read_node(*context_, native), native, {}, label, std::move(owner)};
    nodes_.push_back(std::move(node));
    return static_cast<uint32_t>(nodes_.size() - 1);
}

uint32_t Recipe::find(std::string_view label) const {
    uint32_t found = kNone;
    for (uint32_t i = 0; i < nodes_.size(); ++i) {
        if (label != nodes_[i].label) continue;
        if (found != kNone)
            fail(GPO_INVALID_ARGUMENT, "several nodes are called `", label, "`: nodes ", found + 1, " and ", i + 1);
        found = i;
    }
    if (found == kNone || label.empty()) fail(GPO_NOT_FOUND, "no node is called `", label, "`");
    return found;
}

uint32_t Recipe::checked(uint32_t number, const char* what) const {
    if (number == 0 || number > nodes_.size())
        fail(GPO_INVALID_ARGUMENT, what, " is ", number, ": the template has ", nodes_.size(), " nodes");
    return number - 1;
}

std::vector<uint32_t> Recipe::numbers_of(std::span<const uint32_t> nodes) const {
    std::vector<uint32_t> out;
    out.reserve(nodes.size());
    for (const uint32_t node : nodes) {
        const uint32_t number = checked(node, "a node of after");
        if (std::find(out.begin(), out.end(), number) != out.end())
            fail(GPO_INVALID_ARGUMENT, "node ", node, " is named twice in after");
        out.push_back(number);
    }
    return out;
}

uint32_t Recipe::add(CUgraphNode native, const char* label, Ref<const Counted> owner, std::vector<uint32_t> after) {
    const uint32_t number = see(native, label, std::move(owner));
    nodes_[number].after = std::move(after);
    return number;
}

// Numbers such that each node comes behind those that it is after.
std::vector<uint32_t> Recipe::order() const {
    std::vector<uint32_t> out;
    std::vector<bool> placed(nodes_.size());
    out.reserve(nodes_.size());
    while (out.size() < nodes_.size()) {
        const size_t before = out.size();
        for (uint32_t i = 0; i < nodes_.size(); ++i) {
            const auto& after = nodes_[i].after;
            if (placed[i] || !std::all_of(after.begin(), after.end(), [&](uint32_t node) { return placed[node]; }))
                continue;
            placed[i] = true;
            out.push_back(i);
        }
        if (out.size() == before) fail(GPO_INTERNAL, "the graph's nodes come after one another in a circle");
    }
    return out;
}

uint32_t Recipe::add_child(const Recipe& child, std::span<const uint32_t> after, const char* prefix) {
    for (uint32_t i = 0; i < child.nodes_.size(); ++i)
        if (const std::string why = why_not_copied(child.nodes_[i].work); !why.empty())
            fail(GPO_NOT_SUPPORTED, "of the child, ", describe_node(child.nodes_[i], i), ", can't be copied: ", why);
    std::vector<uint32_t> numbers(child.nodes_.size());   // here, by the child's
    std::vector<bool> followed(child.nodes_.size());
    for (const uint32_t i : child.order()) {
        const Node& node = child.nodes_[i];
        std::vector<uint32_t> before;
        for (const uint32_t each : node.after) {
            before.push_back(numbers[each]);
            followed[each] = true;
        }
        numbers[i] = add_copy(node.work, node.native, before.empty() ? after : std::span<const uint32_t>(before));
        nodes_[numbers[i]].label = node.label;
        nodes_[numbers[i]].owner = node.owner;
    }
    std::vector<uint32_t> ends;
    for (uint32_t i = 0; i < numbers.size(); ++i)
        if (!followed[i]) ends.push_back(numbers[i]);
    add_child_parameters(child, numbers, prefix ? prefix : "");
    return add_copy(EmptyNode{}, nullptr, ends.empty() ? after : std::span<const uint32_t>(ends));
}

uint32_t Recipe::add_copy(const NodeWork& work, CUgraphNode original, std::span<const uint32_t> after) {
    std::vector<CUgraphNode> before;
    for (const uint32_t number : after) before.push_back(nodes_[number].native);
    const uint32_t number = see(copy_node(*context_, work, original, graph_, before), "", nullptr);
    nodes_[number].after.assign(after.begin(), after.end());
    return number;
}

// --- parameters ---

void Recipe::add_child_parameters(const Recipe& child, std::span<const uint32_t> numbers, std::string_view prefix) {
    for (const Parameter& parameter : child.parameters_)
        for (const NodeField& field : parameter.fields)
            add_parameter(text(prefix, parameter.name).c_str(), {numbers[field.node], field.what, field.index});
}

Parameter& Recipe::named(std::string_view name) {
    if (const auto known = numbers_.find(name); known != numbers_.end()) return parameters_[known->second];
    Parameter made{std::string(name), 0, 0, {}, false};
    parameters_.reserve(parameters_.size() + 1);
    numbers_.emplace(name, static_cast<uint32_t>(parameters_.size()));
    return parameters_.emplace_back(std::move(made));
}

void Recipe::add_parameter(const char* name, const NodeField& field) {
    constexpr size_t kLongest = 63;
    const size_t length = strnlen(name, kLongest + 1);
    if (length == 0 || length > kLongest)
        fail(GPO_INVALID_ARGUMENT, "a parameter's name has 1 to ", kLongest, " bytes");
    const Node& node = nodes_[field.node];
    const uint32_t bytes = size_of_field(node, field);
    Values value(bytes);
    read_field(node.work, field, value.data());
    Parameter& parameter = named(name);
    if (parameter.bytes && parameter.bytes != bytes)
        fail(GPO_INVALID_ARGUMENT, "parameter `", name, "` has ", parameter.bytes, " bytes, and ", bytes, " in ",
             describe_node(node, field.node));
    parameter.fields.reserve(parameter.fields.size() + 1);
    if (parameter.bytes) {
        parameter.differs |= std::memcmp(values_.data() + parameter.offset, value.data(), bytes) != 0;
    } else {
        constexpr size_t kAlignment = 8;
        const size_t offset = (values_.size() + kAlignment - 1) / kAlignment * kAlignment;
        values_.resize(offset + bytes);
        std::memcpy(values_.data() + offset, value.data(), bytes);
        parameter.offset = offset;
        parameter.bytes = bytes;
    }
    parameter.fields.push_back(field);
}

void Recipe::check_setting(uint32_t number, const void* value, uint64_t bytes) const {
    if (number >= parameters_.size() || !parameters_[number].bytes)
        fail(GPO_NOT_FOUND, "there is no parameter with the number ", number);
    const Parameter& parameter = parameters_[number];
    if (!value) fail(GPO_INVALID_ARGUMENT, "the value of parameter `", parameter.name, "` is NULL");
    if (bytes != parameter.bytes)
        fail(GPO_INVALID_ARGUMENT, "parameter `", parameter.name, "` has ", parameter.bytes, " bytes, ", bytes,
             " were given");
    for (const NodeField& field : parameter.fields)
        check_value(*context_, limits_, nodes_[field.node], field, parameter.name, value);
}

uint32_t Recipe::parameter(std::string_view name) const {
    const auto found = numbers_.find(name);
    if (found != numbers_.end() && parameters_[found->second].bytes) return found->second;
    std::string known;
    for (const Parameter& parameter : parameters_)
        if (parameter.bytes) known += text(known.empty() ? "" : ", ", "`", parameter.name, "`");
    fail(GPO_NOT_FOUND, "there is no parameter `", name, "`; there ", known.empty() ? "are none" : "are ", known);
}

}  // namespace gpo
