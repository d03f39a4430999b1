#include "graph/recipe.h"

#include <algorithm>
#include <cstring>

namespace gpo {

namespace {

/// So that the next push_back needs no memory.
template <class T>
void make_room(std::vector<T>& in) {
    if (in.size() == in.capacity()) in.reserve(2 * in.size() + 8);
}

}  // namespace

Recipe::Recipe(Ref<Context> context, const Recipe* before)
    : context_(std::move(context)), limits_(launch_limits(*context_)), scope_(make<Scope>()) {
    if (!before) return;
    for (const Parameter& parameter : before->parameters_) named(parameter.name).hidden = parameter.hidden;
}

Recipe::Recipe(Ref<Context> context, Ref<Scope> scope, CUgraph body)
    : context_(std::move(context)), limits_(launch_limits(*context_)), scope_(std::move(scope)), body_(true),
      graph_(body) {}

Recipe::~Recipe() {
    if (!body_) {
        std::lock_guard lock(scope_->building);
        scope_->gone = true;
    }
    forget_memory();
    if (!graph_ || !owned_) return;
    DriverTry scope(*context_);
    if (scope.entered()) context_->table().cuGraphDestroy(graph_);
}

// --- nodes ---

void Recipe::make_graph() {
    if (graph_) return;
    context_->check(context_->table().cuGraphCreate(&graph_, 0), "cuGraphCreate");
    owned_ = true;
}

void Recipe::read_made(GraphRecording& recording) {
    while (auto made = recording.next_made()) {
        see(made->node, made->label, std::move(made->owner), made->attributes);
        recording.passed();
    }
}

void Recipe::own(CUgraph graph, GraphRecording& recording) {
    graph_ = graph;
    owned_ = true;
    read_made(recording);
    for (const CUgraphNode native : native_nodes(*context_, graph_)) see_unlabelled(native);
    read_dependencies();
}

void Recipe::see_unlabelled(CUgraphNode native) {
    Node& node = nodes_[see(native, "", nullptr)];
    if (!*node.label) node.label = native_label(*context_, node.work);
}

// A node whose edges the driver doesn't show has none here, and the driver's graph has them.
void Recipe::read_dependencies() {
    for (Node& node : nodes_) {
        const auto before = native_dependencies(*context_, node.native);
        if (!before) continue;
        node.after.clear();
        for (const CUgraphNode native : *before)
            if (const uint32_t number = find(native); number != kNone) node.after.push_back(number);
    }
}

uint32_t Recipe::find(CUgraphNode native) const noexcept {
    for (size_t i = nodes_.size(); i-- > 0;)   // it is one of the last, as a rule
        if (nodes_[i].native == native) return static_cast<uint32_t>(i);
    return kNone;
}

uint32_t Recipe::see(CUgraphNode native, const char* label, Ref<const Counted> owner,
                     std::optional<LaunchAttributes> attributes) {
    if (const uint32_t known = find(native); known != kNone) return known;
    Node node{
        read_node(*context_, native, dynamic_cast<const Kernel*>(owner.get())), native, {}, label, std::move(owner)};
    node.attributes = attributes;
    put(std::move(node));
    return static_cast<uint32_t>(nodes_.size() - 1);
}

void Recipe::put(Node node) {
    nodes_.push_back(std::move(node));
    if (!is_memory(nodes_.back().work)) return;
    fixed_ = true;
    know_memory(nodes_.back());
}

uint32_t Recipe::find(std::string_view label) const {
    uint32_t found = kNone;
    label = Runtime::cut_label(label);
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

// --- adding: all or nothing ---

void Recipe::take_out(CUgraphNode native) noexcept {
    strays_ |= context_->table().cuGraphDestroyNode(native) != CUDA_SUCCESS;
}

void Recipe::take_strays_out() {
    if (!strays_) return;
    if (fixed_)
        fail(GPO_INVALID_STATE, "a node couldn't be added for want of memory, and the driver takes no node out of a ",
             "graph that allocates: clear the template, or record it anew");
    for (const CUgraphNode native : native_nodes(*context_, graph_))
        if (find(native) == kNone) context_->check(context_->table().cuGraphDestroyNode(native), "cuGraphDestroyNode");
    strays_ = false;
}

uint32_t Recipe::add(CUgraphNode native, const char* label, Ref<const Counted> owner, std::vector<uint32_t> after) {
    try {
        const uint32_t number = see(native, label, std::move(owner));
        nodes_[number].after = std::move(after);
        return number;
    } catch (...) {
        take_out(native);
        throw;
    }
}

uint32_t Recipe::add_from(CUgraphNode scratch, const char* label, Ref<const Counted> owner,
                          std::vector<uint32_t> after) {
    const NodeWork work = read_node(*context_, scratch, dynamic_cast<const Kernel*>(owner.get()));
    const uint32_t number = add_copy(work, scratch, after);
    nodes_[number].label = label;
    nodes_[number].owner = std::move(owner);
    return number;
}

// Numbers of a section's nodes such that each comes behind those that it is after.
std::vector<uint32_t> Recipe::order(uint32_t section) const {
    std::vector<uint32_t> out;
    std::vector<bool> placed(nodes_.size());
    for (bool found = true; found;) {
        found = false;
        for (uint32_t i = 0; i < nodes_.size(); ++i) {
            const auto& after = nodes_[i].after;
            if (nodes_[i].section != section || placed[i] ||
                !std::all_of(after.begin(), after.end(), [&](uint32_t node) { return placed[node]; }))
                continue;
            placed[i] = found = true;
            out.push_back(i);
        }
    }
    return out;
}

uint32_t Recipe::add_child(const Recipe& child, std::span<const uint32_t> after, const char* prefix) {
    for (uint32_t i = 0; i < child.nodes_.size(); ++i)
        if (const std::string why =
                child.nodes_[i].section || std::get_if<ConditionalNode>(&child.nodes_[i].work)
                    ? std::string("a conditional node belongs to one template")
                    : why_not_copied(child.nodes_[i].work);
            !why.empty())
            fail(GPO_NOT_SUPPORTED, "of the child, ", describe_node(child.nodes_[i], i), ", can't be copied: ", why);
    for (const Ref<const Counted>& used : child.kept_) keep(used);
    const auto first = static_cast<uint32_t>(nodes_.size());
    try {
        const std::vector<uint32_t> numbers = add_nodes_of(child, after), ends = child.ends();
        std::vector<uint32_t> last(after.begin(), after.end());
        if (!ends.empty()) last.clear();
        for (const uint32_t end : ends) last.push_back(numbers[end]);
        add_child_parameters(child, numbers, prefix ? prefix : "");
        return add_copy(EmptyNode{}, nullptr, last);
    } catch (...) {
        remove_from(first);
        throw;
    }
}

void Recipe::keep(Ref<const Counted> used) {
    if (std::find(kept_.begin(), kept_.end(), used) == kept_.end()) kept_.push_back(std::move(used));
}

// The numbers here, by the child's.
std::vector<uint32_t> Recipe::add_nodes_of(const Recipe& child, std::span<const uint32_t> after) {
    std::vector<uint32_t> numbers(child.nodes_.size());
    for (const uint32_t i : child.order(0)) {
        const Node& node = child.nodes_[i];
        std::vector<uint32_t> before;
        for (const uint32_t each : node.after) before.push_back(numbers[each]);
        numbers[i] = add_copy(node.work, node.native, before.empty() ? after : std::span<const uint32_t>(before));
        nodes_[numbers[i]].label = node.label;
        nodes_[numbers[i]].owner = node.owner;
    }
    return numbers;
}

// Nodes that no other comes after.
std::vector<uint32_t> Recipe::ends() const {
    std::vector<bool> followed(nodes_.size());
    for (const Node& node : nodes_)
        for (const uint32_t before : node.after) followed[before] = true;
    std::vector<uint32_t> out;
    for (uint32_t i = 0; i < followed.size(); ++i)
        if (!followed[i]) out.push_back(i);
    return out;
}

uint32_t Recipe::add_copy(const NodeWork& work, CUgraphNode original, std::span<const uint32_t> after) {
    std::vector<CUgraphNode> before;
    for (const uint32_t number : after) before.push_back(nodes_[number].native);
    if (const std::string why = body_ ? why_not_in_body(work) : std::string(); !why.empty())
        fail(GPO_NOT_SUPPORTED, why);
    Node node{work, nullptr, {after.begin(), after.end()}, "", nullptr};
    make_room(nodes_);
    node.native = copy_node(*context_, work, graph_, before);
    CUresult result = copy_attributes(*context_, work, original, node.native);
    if (result != CUDA_SUCCESS && fixed_)   // the node stays: one more try
        result = copy_attributes(*context_, work, original, node.native);
    if (result != CUDA_SUCCESS) take_out(node.native);
    context_->check(result, "cuGraphKernelNodeCopyAttributes");
    nodes_.push_back(std::move(node));
    return static_cast<uint32_t>(nodes_.size() - 1);
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
    if (number >= parameters_.size() || !parameters_[number].bytes || parameters_[number].hidden)
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
    if (found != numbers_.end() && parameters_[found->second].bytes && !parameters_[found->second].hidden)
        return found->second;
    std::string known;
    for (const Parameter& parameter : parameters_)
        if (parameter.bytes && !parameter.hidden) known += text(known.empty() ? "" : ", ", "`", parameter.name, "`");
    fail(GPO_NOT_FOUND, "there is no parameter `", name, "`; there ", known.empty() ? "are none" : "are ", known);
}

// --- conditional nodes ---

uint32_t Recipe::add_conditional(CUgraphConditionalNodeType type, uint32_t bodies, gpo_condition condition,
                                 std::span<const uint32_t> after, std::vector<Ref<Recipe>>& made) {
    const auto create = context_->table().cuGraphConditionalHandleCreate;
    if (!create) fail(GPO_NOT_SUPPORTED, "conditional nodes need a driver of CUDA 12.3 or newer");
    check_condition(*context_, condition, type);
    if (!condition.max_iterations) condition.max_iterations = UINT32_MAX;
    ConditionalNode node{type, 0, bodies, condition, type == CU_GRAPH_COND_TYPE_WHILE ? scope_->loops : 0};
    context_->check(create(&node.handle, graph_, context_->native(), condition.initial, CU_GRAPH_COND_ASSIGN_DEFAULT),
                    "cuGraphConditionalHandleCreate");
    const auto first = static_cast<uint32_t>(nodes_.size());
    try {
        std::vector<uint32_t> behind(after.begin(), after.end());
        const bool loop = type == CU_GRAPH_COND_TYPE_WHILE;
        if (condition.comparison != GPO_COMPARE_KERNEL || loop)
            behind = {add_decision(node, kNone, *this, loop ? Decision::before_loop : Decision::once, after)};
        std::vector<CUgraphNode> before;
        for (const uint32_t number : behind) before.push_back(nodes_[number].native);
        std::vector<CUgraph> graphs;
        make_room(nodes_);
        Node entry{node, gpo::add_conditional(*context_, node, graph_, before, graphs), std::move(behind), "", nullptr};
        nodes_.push_back(std::move(entry));
        const auto number = static_cast<uint32_t>(nodes_.size() - 1);
        for (Scope::Binding& binding : scope_->bindings)
            if (binding.conditional_in == this && binding.conditional == kNone) binding.conditional = number;
        for (uint32_t i = 0; i < bodies; ++i) {
            made.push_back(make<Recipe>(context_, scope_, graphs[i]));
            bodies_.push_back({number, i, made.back()});
        }
        scope_->loops += loop;
        return number;
    } catch (...) {
        scope_->unused_handles = true;
        remove_from(first);
        throw;
    }
}

// `number` of the conditional node in `in`; kNone: it comes next.
uint32_t Recipe::add_decision(const ConditionalNode& conditional, uint32_t number, const Recipe& in, Decision when,
                              std::span<const uint32_t> after) {
    const Ref<Kernel> kernel = scope_->decide(*context_);
    scope_->bindings.reserve(scope_->bindings.size() + 1);
    const std::string name = text("\1loop ", conditional.loop);
    const uint32_t made = add_copy(decision(*kernel, conditional, when), nullptr, after);
    nodes_[made].label = kernel->label();
    nodes_[made].owner = Ref<const Counted>(kernel.get());
    scope_->bindings.push_back({this, made, kDecisionHandle, &in, number});
    if (when == Decision::once) return made;
    try {
        add_parameter(name.c_str(), {made, GPO_PARAMETER_ARGUMENT, kDecisionState});
    } catch (...) {
        remove_from(made);
        throw;
    }
    named(name).hidden = true;
    named(name).loop = conditional.loop;
    return made;
}

void Recipe::bind(uint32_t kernel, uint32_t argument, const Recipe& conditional_in, uint32_t conditional) {
    auto* work = std::get_if<KernelNode>(&nodes_[kernel].work);
    const auto* decided = std::get_if<ConditionalNode>(&conditional_in.nodes_[conditional].work);
    if (!decided || decided->condition.comparison != GPO_COMPARE_KERNEL)
        fail(GPO_INVALID_ARGUMENT, describe_node(conditional_in.nodes_[conditional], conditional),
             ", is no conditional node that a kernel decides");
    if (!work || !work->arguments_known() || argument >= work->arguments() ||
        work->argument_bytes(argument) != sizeof(CUgraphConditionalHandle))
        fail(GPO_INVALID_ARGUMENT, describe_node(nodes_[kernel], kernel), ", has no argument ", argument,
             " of 8 bytes");
    scope_->bindings.reserve(scope_->bindings.size() + 1);
    KernelNode changed = *work;
    std::memcpy(changed.argument(argument), &decided->handle, sizeof decided->handle);
    context_->check(context_->table().cuGraphKernelNodeSetParams(nodes_[kernel].native, &changed.params()),
                    "cuGraphKernelNodeSetParams");
    *work = std::move(changed);
    scope_->bindings.push_back({this, kernel, argument, &conditional_in, conditional});
}

void Recipe::remove_from(uint32_t number) noexcept {
    while (nodes_.size() > number) {
        const auto last = static_cast<uint32_t>(nodes_.size() - 1);
        scope_->unused_handles |= std::get_if<ConditionalNode>(&nodes_[last].work) != nullptr;
        std::erase_if(bodies_, [&](const Body& body) { return body.node == last; });
        std::erase_if(scope_->bindings, [&](const Scope::Binding& binding) {
            return (binding.kernel_in == this && binding.kernel == last) ||
                   (binding.conditional_in == this && (binding.conditional == last || binding.conditional == kNone));
        });
        for (Parameter& parameter : parameters_) {
            std::erase_if(parameter.fields, [&](const NodeField& field) { return field.node == last; });
            if (parameter.fields.empty()) parameter.bytes = 0;
        }
        take_out(nodes_.back().native);
        nodes_.pop_back();
    }
}

// --- sealing ---

void Recipe::seal() {
    if (sealed_) return;
    check_frees();
    close_loops();
    const auto own = static_cast<ptrdiff_t>(nodes_.size());
    std::vector<Parameter> parameters = parameters_;
    auto numbers = numbers_;
    try {
        take_in_bodies();
        leave_unused_handles();
    } catch (...) {
        nodes_.erase(nodes_.begin() + own, nodes_.end());
        parameters_.swap(parameters);
        numbers_.swap(numbers);
        sections_.resize(1);
        bound_.clear();
        throw;
    }
    copyable_ = true;
    for (const Node& node : nodes_) {
        const auto* other = std::get_if<OtherNode>(&node.work);
        single_ |= std::get_if<ConditionalNode>(&node.work) != nullptr || is_memory(node.work) ||
                   (other && other->type == CU_GRAPH_NODE_TYPE_CONDITIONAL);
        copyable_ &= why_not_copied(node.work).empty();
    }
    bodies_.clear();
    scope_->sealed = sealed_ = true;
}

void Recipe::take_in_bodies() {
    std::map<const Recipe*, uint32_t> offsets{{this, 0}};
    for (const Body& body : bodies_) take_in(*body.recipe, body.node, body.index, offsets);
    for (const Scope::Binding& binding : scope_->bindings)
        bound_.push_back({offsets.at(binding.kernel_in) + binding.kernel, binding.argument,
                          offsets.at(binding.conditional_in) + binding.conditional});
}

// At the end of each body of a while it is decided whether it runs again.
void Recipe::close_loops() {
    take_strays_out();
    for (Body& body : bodies_) {
        body.recipe->close_loops();
        const auto& conditional = std::get<ConditionalNode>(nodes_[body.node].work);
        if (conditional.type != CU_GRAPH_COND_TYPE_WHILE || body.closed) continue;
        body.recipe->add_decision(conditional, body.node, *this, Decision::end_of_body, body.recipe->ends());
        body.closed = true;
    }
}

void Recipe::take_in(const Recipe& body, uint32_t node, uint32_t index, std::map<const Recipe*, uint32_t>& offsets) {
    const auto offset = static_cast<uint32_t>(nodes_.size()), section = static_cast<uint32_t>(sections_.size());
    sections_.push_back({node, index});
    offsets[&body] = offset;
    for (const Ref<const Counted>& used : body.kept_) keep(used);
    for (const Node& each : body.nodes_) {
        nodes_.push_back(each);
        nodes_.back().section = section;
        for (uint32_t& before : nodes_.back().after) before += offset;
    }
    for (const Parameter& parameter : body.parameters_)
        for (const NodeField& field : parameter.fields) {
            add_parameter(parameter.name.c_str(), {offset + field.node, field.what, field.index});
            named(parameter.name).hidden = parameter.hidden;
            named(parameter.name).loop = parameter.loop;
        }
    for (const Body& inner : body.bodies_) take_in(*inner.recipe, offset + inner.node, inner.index, offsets);
}

// The driver makes no executable graph of a graph with a handle that no node has, and takes no handle back: the nodes
// move to another graph.
void Recipe::leave_unused_handles() {
    if (!scope_->unused_handles) return;
    if (fixed_)
        fail(GPO_INVALID_STATE, "a conditional node couldn't be added, and what the driver keeps of it can't be taken ",
             "out of a graph that allocates: clear the template, or record it anew");
    const Ref<Recipe> other = rebuild();
    std::swap(graph_, other->graph_);
    std::swap(owned_, other->owned_);
    nodes_.swap(other->nodes_);
    scope_->unused_handles = false;
}

// --- another driver's graph like it ---

Ref<Recipe> Recipe::rebuild() const {
    for (uint32_t i = 0; i < nodes_.size(); ++i)
        if (const std::string why = why_not_copied(nodes_[i].work); !why.empty())
            fail(GPO_NOT_SUPPORTED, "only one graph at a time can be made of this template, which has conditional or ",
                 "memory nodes, because ", describe_node(nodes_[i], i), ", can't be copied: ", why);
    auto out = make<Recipe>(context_, nullptr);
    out->nodes_ = nodes_;
    out->parameters_ = parameters_;
    out->numbers_ = numbers_;
    out->values_ = values_;
    out->sections_ = sections_;
    out->bound_ = bound_;
    out->kept_ = kept_;
    out->sealed_ = out->single_ = out->claimed_ = true;
    out->make_graph();
    out->build(0, out->graph_, *this);
    return out;
}

// The nodes of a section, in `graph`. Handles of conditions first: kernels that come before the node set them.
void Recipe::build(uint32_t section, CUgraph graph, const Recipe& like) {
    for (uint32_t i = 0; i < nodes_.size(); ++i) {
        auto* conditional = nodes_[i].section == section ? std::get_if<ConditionalNode>(&nodes_[i].work) : nullptr;
        if (!conditional) continue;
        context_->check(
            context_->table().cuGraphConditionalHandleCreate(&conditional->handle, graph, context_->native(),
                                                             conditional->condition.initial,
                                                             CU_GRAPH_COND_ASSIGN_DEFAULT),
            "cuGraphConditionalHandleCreate");
        for (const Bound& bound : bound_)
            if (bound.conditional == i)
                std::memcpy(std::get<KernelNode>(nodes_[bound.kernel].work).argument(bound.argument),
                            &conditional->handle, sizeof conditional->handle);
    }
    for (const uint32_t i : order(section)) {
        std::vector<CUgraphNode> before;
        for (const uint32_t number : nodes_[i].after) before.push_back(nodes_[number].native);
        const auto* conditional = std::get_if<ConditionalNode>(&nodes_[i].work);
        if (!conditional) {
            const CUgraphNode made = copy_node(*context_, nodes_[i].work, graph, before);
            context_->check(copy_attributes(*context_, nodes_[i].work, like.nodes_[i].native, made),
                            "cuGraphKernelNodeCopyAttributes");
            nodes_[i].native = made;
            continue;
        }
        std::vector<CUgraph> bodies;
        nodes_[i].native = gpo::add_conditional(*context_, *conditional, graph, before, bodies);
        for (uint32_t inner = 1; inner < sections_.size(); ++inner)
            if (sections_[inner].node == i) build(inner, bodies[sections_[inner].index], like);
    }
}

}  // namespace gpo
