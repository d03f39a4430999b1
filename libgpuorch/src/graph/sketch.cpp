#include "graph/sketch.h"

#include <map>
#include <set>

#include "base/quantities.h"
#include "graph/facts.h"

namespace gpo {

namespace {

class Sketch {
public:
    Diagram made(const Recipe& recipe);

private:
    uint32_t add_body(std::string title, bool repeats);
    uint32_t add_body(uint32_t conditional, uint32_t index);
    void add_node(const Recipe& recipe, const Node& node, uint32_t offset, uint32_t body);
    void name(const Parameter& parameter, uint32_t offset);
    void bind(uint32_t kernel, uint32_t conditional);
    void take(const Recipe& recipe, uint32_t body);

    Diagram out_;
    std::vector<const Node*> sources_;  // by number in out_
    std::vector<uint32_t> body_of_;
    std::map<const Recipe*, uint32_t> offsets_;  // in out_.nodes
    std::set<std::string> names_;                // of parameters
};

Diagram::Look look_of(const NodeWork& work) noexcept {
    if (std::get_if<KernelNode>(&work)) return Diagram::Look::kernel;
    if (std::get_if<CopyNode>(&work)) return Diagram::Look::copy;
    if (std::get_if<FillWork>(&work)) return Diagram::Look::fill;
    if (std::get_if<HostNode>(&work)) return Diagram::Look::host_call;
    if (std::get_if<EventWork>(&work)) return Diagram::Look::event;
    if (std::get_if<ConditionalNode>(&work)) return Diagram::Look::conditional;
    return Diagram::Look::other;
}

uint32_t Sketch::add_body(std::string title, bool repeats) {
    out_.bodies.push_back({std::move(title), repeats, {}});
    return static_cast<uint32_t>(out_.bodies.size() - 1);
}

uint32_t Sketch::add_body(uint32_t conditional, uint32_t index) {
    const auto& node = std::get<ConditionalNode>(sources_[conditional]->work);
    const uint32_t made = add_body(body_title(node, index), node.type == CU_GRAPH_COND_TYPE_WHILE);
    out_.nodes[conditional].bodies.push_back(made);
    return made;
}

void Sketch::add_node(const Recipe& recipe, const Node& node, uint32_t offset, uint32_t body) {
    Diagram::Node added;
    std::vector<uint32_t>& beside = out_.bodies[body].nodes;
    added.number = static_cast<uint32_t>(beside.size() + 1);
    for (const uint32_t before : node.after) added.after.push_back(offset + before);
    if (recipe.scope().is_decision(node)) {  // its arguments repeat the condition of the conditional node
        added.look = Diagram::Look::comparison;
        added.kind = "comparison";
    } else {
        const auto* conditional = std::get_if<ConditionalNode>(&node.work);
        added.look = look_of(node.work);
        added.kind = conditional ? condition_text(*conditional) : kind_of(node.work);
        added.label = node.label;
        added.facts = facts_of(node.work);
    }
    beside.push_back(static_cast<uint32_t>(out_.nodes.size()));
    out_.nodes.push_back(std::move(added));
    sources_.push_back(&node);
    body_of_.push_back(body);
}

void Sketch::name(const Parameter& parameter, uint32_t offset) {
    if (!parameter.bytes || parameter.hidden) return;
    names_.insert(parameter.name);
    for (const NodeField& field : parameter.fields)
        out_.nodes[offset + field.node].parameters.push_back(text(parameter.name, " → ", field_text(field)));
}

void Sketch::bind(uint32_t kernel, uint32_t conditional) {
    Diagram::Node& node = out_.nodes[kernel];
    const auto& decided = std::get<ConditionalNode>(sources_[conditional]->work);
    if (node.look == Diagram::Look::comparison && decided.condition.comparison == GPO_COMPARE_KERNEL)
        node.kind = "count of runs";
    const bool outside = body_of_[kernel] != body_of_[conditional];
    node.facts.push_back(text(node.look == Diagram::Look::comparison ? "for node " : "sets the condition of node ",
                              out_.nodes[conditional].number, outside ? " outside" : ""));
}

void Sketch::take(const Recipe& recipe, uint32_t body) {
    const auto offset = static_cast<uint32_t>(out_.nodes.size());
    offsets_[&recipe] = offset;
    std::vector<uint32_t> bodies = {body};  // by section, which come in the order of their nodes
    for (const Node& node : recipe.nodes()) {
        for (auto next = bodies.size(); next <= node.section; ++next)
            bodies.push_back(add_body(recipe.tree().sections[next].node, recipe.tree().sections[next].index));
        add_node(recipe, node, offset, bodies[node.section]);
    }
    for (auto next = bodies.size(); next < recipe.tree().sections.size(); ++next)
        bodies.push_back(add_body(recipe.tree().sections[next].node, recipe.tree().sections[next].index));
    for (const Parameter& parameter : recipe.parameters()) name(parameter, offset);
    for (const Recipe::Body& inner : recipe.bodies()) take(*inner.recipe, add_body(offset + inner.node, inner.index));
}

Diagram Sketch::made(const Recipe& recipe) {
    take(recipe, add_body("", false));
    for (const NodeTree::Bound& bound : recipe.tree().bound) bind(bound.kernel, bound.conditional);
    if (!recipe.traits().sealed)
        for (const Scope::Binding& binding : recipe.scope().bindings) {
            const auto kernel = offsets_.find(binding.kernel_in), conditional = offsets_.find(binding.conditional_in);
            if (kernel != offsets_.end() && conditional != offsets_.end() && binding.conditional != Recipe::kNone)
                bind(kernel->second + binding.kernel, conditional->second + binding.conditional);
        }
    out_.subtitle = count_text(out_.nodes.size(), "node");
    if (!names_.empty()) out_.subtitle += text(", ", count_text(names_.size(), "parameter"));
    return std::move(out_);
}

}  // namespace

Diagram sketch(const Recipe& recipe) { return Sketch().made(recipe); }

}  // namespace gpo
