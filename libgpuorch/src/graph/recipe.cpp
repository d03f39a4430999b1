#include "graph/recipe.h"

#include <algorithm>
#include <cstring>

namespace gpo {

namespace {

/// Reserves room, so that the next push_back needs no memory.
template <class T>
void make_room(std::vector<T>& in) {
    if (in.size() == in.capacity()) in.reserve(2 * in.size() + 8);
}

}  // namespace

/// Places of a sealed child's nodes in the recipes that get its sections. Section 0 comes behind `first` other nodes.
class Recipe::Places {
public:
    Places(const Recipe& child, uint32_t first)
        : child_(child), first_(first), begins_(begins_of(child.nodes(), child.tree().sections.size())) {}
    uint32_t section_of(uint32_t number) const noexcept { return child_.nodes()[number].section; }
    uint32_t of(uint32_t number) const noexcept {
        const uint32_t section = section_of(number);
        return number - begins_[section] + (section ? 0 : first_);
    }

private:
    const Recipe& child_;
    const uint32_t first_;
    const std::vector<uint32_t> begins_;
};

Recipe::Recipe(Ref<Context> context, const Recipe* before)
    : context_(std::move(context)), limits_(launch_limits(*context_)), scope_(make<Scope>()) {
    if (before) parameters_ = ParameterTable::names_of(before->parameters_);
}

Recipe::Recipe(Ref<Context> context, Ref<Scope> scope, CUgraph body)
    : context_(std::move(context)), limits_(launch_limits(*context_)), scope_(std::move(scope)), body_(true),
      graph_(body) {}

Recipe::~Recipe() {
    if (!body_) {
        std::lock_guard lock(scope_->building);
        scope_->destroyed = true;
    }
    for (const Node& node : tree_.nodes) forget_memory(node);
    if (!graph_ || !owned_) return;
    DriverTry scope(*context_);
    if (scope.entered()) context_->table().cuGraphDestroy(graph_);
}

// --- nodes ---

void Recipe::make_graph() {
    if (has_graph()) return;
    std::lock_guard lock(instantiating_);
    if (has_graph()) return;
    if (!graph_) {
        CUgraph made = nullptr;
        context_->check(context_->table().cuGraphCreate(&made, 0), "cuGraphCreate");
        try {
            add_recorded(*context_, tree_.nodes, 0, made);
        } catch (...) {
            for (Node& node : tree_.nodes) {
                node.native = nullptr;
                node.attributes_due = false;
            }
            context_->table().cuGraphDestroy(made);
            throw;
        }
        graph_ = made;
        owned_ = true;
    } else {
        add_recorded(*context_, tree_.nodes, placed_, graph_);
    }
    made_.store(true, std::memory_order_release);
}

void Recipe::read_made(GraphRecording& recording) {
    for (Node& node : recording.direct_nodes(direct_)) {
        tree_.nodes.push_back(std::move(node));
        ++direct_;
    }
    place_direct(recording);
    while (auto made = recording.next_made()) {
        see(made->node, made->label, std::move(made->owner), made->attributes);
        recording.passed();
    }
}

// Nodes of a direct recording get native nodes in their order.
void Recipe::place_direct(const GraphRecording& recording) {
    while (placed_ < direct_ && recording.place(static_cast<uint32_t>(placed_), tree_.nodes[placed_])) ++placed_;
}

void Recipe::borrow(const GraphRecording::Addition& addition) noexcept {
    graph_ = addition.graph();
    lost_ = addition.lost();
    for (; placed_ < direct_; ++placed_) {
        tree_.nodes[placed_].native = addition.nodes()[placed_].native;
        tree_.nodes[placed_].attributes_due = false;
    }
}

void Recipe::report_added(GraphRecording::Addition& addition) {
    if (!addition.direct()) return;
    try {
        addition.note({tree_.nodes.begin() + static_cast<ptrdiff_t>(direct_), tree_.nodes.end()});
    } catch (...) {
        remove_from(static_cast<uint32_t>(direct_));
        throw;
    }
    direct_ = placed_ = tree_.nodes.size();
}

void Recipe::own(CUgraph graph, GraphRecording& recording) {
    graph_ = graph;
    owned_ = graph != nullptr;
    if (recording.direct()) return own_direct(recording);
    made_.store(true, std::memory_order_release);
    read_made(recording);
    for (const CUgraphNode native : native_nodes(*context_, graph_)) see_unlabelled(native);
    read_dependencies();
}

void Recipe::own_direct(GraphRecording& recording) {
    place_direct(recording);
    std::vector<Node> nodes = recording.take_direct_nodes(direct_);
    if (tree_.nodes.empty()) tree_.nodes.swap(nodes);
    else
        tree_.nodes.insert(tree_.nodes.end(), std::make_move_iterator(nodes.begin()),
                           std::make_move_iterator(nodes.end()));
    for (Node& node : tree_.nodes)
        if (!*node.label) node.label = native_label(*context_, node.work);
}

void Recipe::see_unlabelled(CUgraphNode native) {
    Node& node = tree_.nodes[see(native, "", nullptr)];
    if (!*node.label) node.label = native_label(*context_, node.work);
}

// If the driver can't report the edges to a node, `order_known` is false, and only the driver's graph has these edges.
void Recipe::read_dependencies() {
    for (Node& node : tree_.nodes) {
        const auto before = native_dependencies(*context_, node.native);
        node.order_known = before.has_value();
        if (!before) continue;
        node.after.clear();
        for (const CUgraphNode native : *before)
            if (const uint32_t number = find(native); number != kNone) node.after.push_back(number);
    }
}

uint32_t Recipe::find(CUgraphNode native) const noexcept {
    for (size_t i = tree_.nodes.size(); i-- > 0;)   // as a rule a recent node
        if (tree_.nodes[i].native == native) return static_cast<uint32_t>(i);
    return kNone;
}

uint32_t Recipe::see(CUgraphNode native, const char* label, Ref<const Counted> owner,
                     std::optional<LaunchAttributes> attributes) {
    if (const uint32_t known = find(native); known != kNone) return known;
    Node node{
        read_node(*context_, native, dynamic_cast<const Kernel*>(owner.get())), native, {}, label, std::move(owner)};
    node.attributes = attributes;
    put(std::move(node));
    return static_cast<uint32_t>(tree_.nodes.size() - 1);
}

void Recipe::put(Node node) {
    tree_.nodes.push_back(std::move(node));
    if (!is_memory(tree_.nodes.back().work)) return;
    traits_.fixed = true;
    know_memory(tree_.nodes.back());
}

// --- adding: all or nothing ---

std::vector<CUgraphNode> Recipe::natives_of(std::span<const uint32_t> numbers) const {
    std::vector<CUgraphNode> out;
    for (const uint32_t number : numbers) out.push_back(tree_.nodes[number].native);
    return out;
}

void Recipe::take_out(CUgraphNode native) noexcept {
    traits_.strays |= context_->table().cuGraphDestroyNode(native) != CUDA_SUCCESS;
}

void Recipe::take_strays_out() {
    if (!traits_.strays) return;
    if (traits_.fixed)
        fail(GPO_INVALID_STATE, "a node couldn't be added for want of memory, and the driver takes no node out of a ",
             "graph that allocates: clear the template, or record it anew");
    for (const CUgraphNode native : native_nodes(*context_, graph_))
        if (find(native) == kNone) context_->check(context_->table().cuGraphDestroyNode(native), "cuGraphDestroyNode");
    traits_.strays = false;
}

uint32_t Recipe::add_native(CUgraphNode native, const char* label, Ref<const Counted> owner,
                            std::optional<LaunchAttributes> attributes, std::vector<uint32_t> after) {
    try {
        const uint32_t number = see(native, label, std::move(owner), attributes);
        tree_.nodes[number].after = std::move(after);
        return number;
    } catch (...) {
        take_out(native);
        throw;
    }
}

uint32_t Recipe::add_from(CUgraphNode scratch, const char* label, Ref<const Counted> owner,
                          std::optional<LaunchAttributes> attributes, std::vector<uint32_t> after) {
    const NodeWork work = read_node(*context_, scratch, dynamic_cast<const Kernel*>(owner.get()));
    const uint32_t number = add_copy(work, scratch, after);
    tree_.nodes[number].label = label;
    tree_.nodes[number].owner = std::move(owner);
    tree_.nodes[number].attributes = attributes;
    return number;
}

uint32_t Recipe::add_child(Recipe& child, Ref<const Counted> memory, std::span<const uint32_t> after,
                           const char* prefix) {
    child.make_graph();
    TreeCopy copy(child.tree_);
    for (uint32_t i = 0; i < child.tree_.nodes.size(); ++i) {
        if (const std::string why = why_not_copied(child.tree_.nodes[i]); !why.empty())
            fail(GPO_NOT_SUPPORTED, "of the child, ", describe_node(copy.tree, i), ", can't be copied: ", why);
        if (const std::string why = body_ ? why_not_in_body(child.tree_.nodes[i].work) : std::string(); !why.empty())
            fail(GPO_NOT_SUPPORTED, "of the child, ", describe_node(copy.tree, i), ", can't be in a body: ", why);
    }
    const auto first = static_cast<uint32_t>(tree_.nodes.size());
    const uint32_t loops = scope_->loops;
    const size_t children = scope_->children.size(), kept = kept_.size();
    const ParameterTable::Size parameters = parameters_.extent();
    try {
        keep(std::move(memory));
        for (const Ref<const Counted>& used : child.kept_) keep(used);
        const Places places(child, first);
        const std::vector<Ref<Recipe>> recipes = room_for(child, copy, after);
        add_anew(copy, after);
        put_nodes_of(child, copy, recipes, places, after);
        add_child_parameters(child, recipes, places, prefix ? prefix : "", loops);
        std::vector<uint32_t> last = child.ends();
        for (uint32_t& end : last) end += first;
        return add_copy(EmptyNode{}, nullptr, last.empty() ? after : std::span<const uint32_t>(last));
    } catch (...) {
        remove_from(first);
        scope_->children.erase(scope_->children.begin() + static_cast<ptrdiff_t>(children), scope_->children.end());
        scope_->loops = loops;
        kept_.erase(kept_.begin() + static_cast<ptrdiff_t>(kept), kept_.end());
        parameters_.cut(parameters);
        throw;
    }
}

void Recipe::keep(Ref<const Counted> used) {
    if (std::find(kept_.begin(), kept_.end(), used) == kept_.end()) kept_.push_back(std::move(used));
}

// All or nothing: after a failure the nodes that were added are taken out.
void Recipe::add_anew(TreeCopy& copy, std::span<const uint32_t> after) {
    const std::vector<CUgraphNode> behind = natives_of(after);
    try {
        copy.add_to(*context_, graph_, behind);
    } catch (...) {
        take_out(copy);
        throw;
    }
}

void Recipe::take_out(const TreeCopy& copy) noexcept {
    unused_handles_ |= copy.handles;
    for (size_t i = copy.added.size(); i-- > 0;) take_out(copy.added[i]);
}

// Makes recipes for the sections of a child; the first is this recipe. Reserves all memory, so that put_nodes_of()
// can't fail.
std::vector<Ref<Recipe>> Recipe::room_for(const Recipe& child, TreeCopy& copy, std::span<const uint32_t> after) {
    std::vector<Ref<Recipe>> out{Ref<Recipe>(this)};
    while (out.size() < child.tree_.sections.size()) out.push_back(make<Recipe>(context_, scope_, nullptr));
    std::vector<size_t> nodes(out.size()), bodies(out.size());
    for (Node& node : copy.tree.nodes) {
        ++nodes[node.section];
        if (!node.section && node.after.empty()) node.after.reserve(after.size());
    }
    for (size_t i = 1; i < out.size(); ++i) ++bodies[child.tree_.nodes[child.tree_.sections[i].node].section];
    for (size_t i = 0; i < out.size(); ++i) {
        out[i]->tree_.nodes.reserve(out[i]->tree_.nodes.size() + nodes[i]);
        out[i]->bodies_.reserve(out[i]->bodies_.size() + bodies[i]);
    }
    scope_->bindings.reserve(scope_->bindings.size() + child.tree_.bound.size());
    scope_->children.reserve(scope_->children.size() + child.scope_->children.size() + 1);
    return out;
}

// Notes the nodes that the driver's graph has got, with the child's numbers, behind the nodes that were here.
void Recipe::put_nodes_of(const Recipe& child, TreeCopy& copy, std::span<const Ref<Recipe>> recipes,
                          const Places& places, std::span<const uint32_t> after) noexcept {
    const auto in = [&](uint32_t number) { return recipes[places.section_of(number)].get(); };
    for (size_t i = 1; i < recipes.size(); ++i) {
        const NodeTree::Section& section = child.tree_.sections[i];
        recipes[i]->graph_ = copy.graphs[i];
        recipes[i]->lost_ = lost_;
        in(section.node)->bodies_.push_back({places.of(section.node), section.index, recipes[i], true});
    }
    for (const NodeTree::Bound& bound : child.tree_.bound)
        scope_->bindings.push_back({in(bound.kernel), places.of(bound.kernel), bound.argument, in(bound.conditional),
                                    places.of(bound.conditional)});
    for (uint32_t i = 0; i < child.tree_.nodes.size(); ++i) {
        Node& node = copy.tree.nodes[i];
        if (auto* conditional = std::get_if<ConditionalNode>(&node.work)) conditional->loop += scope_->loops;
        if (!node.section && node.after.empty()) node.after.assign(after.begin(), after.end());
        else
            for (uint32_t& before : node.after) before = places.of(before);
        node.section = 0;
        in(i)->tree_.nodes.push_back(std::move(node));
    }
    scope_->know_decisions_of(*child.scope_);
    for (const Scope::Child& inner : child.scope_->children)
        scope_->children.push_back({this, inner.scope, scope_->loops + inner.first_loop});
    scope_->children.push_back({this, child.scope_, scope_->loops});
    scope_->loops += child.scope_->loops;
}

// Nodes that no other comes after.
std::vector<uint32_t> Recipe::ends() const {
    std::vector<bool> followed(tree_.nodes.size());
    for (const Node& node : tree_.nodes)
        for (const uint32_t before : node.after) followed[before] = true;
    std::vector<uint32_t> out;
    for (uint32_t i = 0; i < followed.size(); ++i)
        if (!followed[i] && !tree_.nodes[i].section) out.push_back(i);
    return out;
}

uint32_t Recipe::add_copy(const NodeWork& work, CUgraphNode original, std::span<const uint32_t> after) {
    const std::vector<CUgraphNode> before = natives_of(after);
    if (const std::string why = body_ ? why_not_in_body(work) : std::string(); !why.empty())
        fail(GPO_NOT_SUPPORTED, why);
    Node node{work, nullptr, {after.begin(), after.end()}, "", nullptr};
    make_room(tree_.nodes);
    node.native = copy_node(*context_, work, graph_, before);
    CUresult result = copy_attributes(*context_, work, original, node.native);
    if (result != CUDA_SUCCESS && traits_.fixed)   // the node stays: one more try
        result = copy_attributes(*context_, work, original, node.native);
    if (result != CUDA_SUCCESS) take_out(node.native);
    context_->check(result, "cuGraphKernelNodeCopyAttributes");
    tree_.nodes.push_back(std::move(node));
    return static_cast<uint32_t>(tree_.nodes.size() - 1);
}

// --- parameters ---

void Recipe::add_child_parameters(const Recipe& child, std::span<const Ref<Recipe>> recipes, const Places& places,
                                  std::string_view prefix, uint32_t loops) {
    for (const Parameter& parameter : child.parameters_)
        for (const NodeField& field : parameter.fields) {
            Recipe& in = *recipes[places.section_of(field.node)];
            const uint32_t node = places.of(field.node);
            if (parameter.hidden) in.add_count(node, loops + parameter.loop);
            else in.add_parameter(text(prefix, parameter.name), {node, field.what, field.index});
        }
}

void Recipe::add_parameter(std::string_view name, const NodeField& field) {
    parameters_.add(*context_, name, tree_.nodes[field.node], field);
}

void Recipe::check_setting(uint32_t number, const void* value, uint64_t bytes) const {
    const Parameter& parameter = parameters_.settable(number, value, bytes);
    for (const NamedField& field : parameter.fields)
        check_value(*context_, limits_, tree_.nodes[field.node], field, parameter.name, value);
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
    const auto first = static_cast<uint32_t>(tree_.nodes.size());
    try {
        std::vector<uint32_t> behind(after.begin(), after.end());
        const bool loop = type == CU_GRAPH_COND_TYPE_WHILE;
        if (has_decision(condition, type))
            behind = {add_decision(node, kNone, *this, loop ? Decision::before_loop : Decision::once, after)};
        const std::vector<CUgraphNode> before = natives_of(behind);
        std::vector<CUgraph> graphs;
        make_room(tree_.nodes);
        Node entry{node, gpo::add_conditional(*context_, node, graph_, before, graphs), std::move(behind), "", nullptr};
        tree_.nodes.push_back(std::move(entry));
        const auto number = static_cast<uint32_t>(tree_.nodes.size() - 1);
        for (Scope::Binding& binding : scope_->bindings)
            if (binding.conditional_in == this && binding.conditional == kNone) binding.conditional = number;
        for (uint32_t i = 0; i < bodies; ++i) {
            made.push_back(make<Recipe>(context_, scope_, graphs[i]));
            made.back()->lost_ = lost_;
            bodies_.push_back({number, i, made.back()});
        }
        scope_->loops += loop;
        return number;
    } catch (...) {
        unused_handles_ = true;
        remove_from(first);
        throw;
    }
}

// `number`: of the conditional node in `in`; kNone: that node is added next.
uint32_t Recipe::add_decision(const ConditionalNode& conditional, uint32_t number, const Recipe& in, Decision when,
                              std::span<const uint32_t> after) {
    const Ref<Kernel> kernel = scope_->decide(*context_);
    scope_->bindings.reserve(scope_->bindings.size() + 1);
    const uint32_t made = add_copy(decision(*kernel, conditional, when), nullptr, after);
    tree_.nodes[made].label = kernel->label();
    tree_.nodes[made].owner = Ref<const Counted>(kernel.get());
    tree_.nodes[made].attributes = LaunchAttributes{};
    scope_->bindings.push_back({this, made, kDecisionHandle, &in, number});
    if (when == Decision::once) return made;
    try {
        add_count(made, conditional.loop);
    } catch (...) {
        remove_from(made);
        throw;
    }
    return made;
}

// Makes the address of the loop's iteration counter a parameter of the deciding kernel. Each graph sets the parameter.
void Recipe::add_count(uint32_t kernel, uint32_t loop) {
    const std::string name = text('\0', "loop ", loop);   // users' names never begin with a NUL
    add_parameter(name, {kernel, GPO_PARAMETER_ARGUMENT, kDecisionState});
    parameters_.hide(name, loop);
}

void Recipe::bind(uint32_t kernel, uint32_t argument, const Recipe& conditional_in, uint32_t conditional) {
    const auto* work = std::get_if<KernelNode>(&tree_.nodes[kernel].work);
    const auto* decided = std::get_if<ConditionalNode>(&conditional_in.tree_.nodes[conditional].work);
    if (!decided || decided->condition.comparison != GPO_COMPARE_KERNEL)
        fail(GPO_INVALID_ARGUMENT, describe_node(conditional_in.tree_.nodes[conditional], conditional),
             ", is no conditional node that a kernel decides");
    if (!work || !work->arguments_known() || argument >= work->arguments() ||
        work->argument_bytes(argument) != sizeof(CUgraphConditionalHandle))
        fail(GPO_INVALID_ARGUMENT, describe_node(tree_.nodes[kernel], kernel), ", has no argument ", argument,
             " of 8 bytes");
    scope_->bindings.reserve(scope_->bindings.size() + 1);
    set_handle(kernel, argument, decided->handle);
    scope_->bindings.push_back({this, kernel, argument, &conditional_in, conditional});
}

void Recipe::set_handle(uint32_t kernel, uint32_t argument, CUgraphConditionalHandle handle) {
    KernelNode changed = std::get<KernelNode>(tree_.nodes[kernel].work);
    std::memcpy(changed.argument(argument), &handle, sizeof handle);
    context_->check(context_->table().cuGraphKernelNodeSetParams(tree_.nodes[kernel].native, &changed.params()),
                    "cuGraphKernelNodeSetParams");
    tree_.nodes[kernel].work = std::move(changed);
}

void Recipe::remove_from(uint32_t number) noexcept {
    while (tree_.nodes.size() > number) {
        const auto last = static_cast<uint32_t>(tree_.nodes.size() - 1);
        unused_handles_ |= std::get_if<ConditionalNode>(&tree_.nodes[last].work) != nullptr;
        for (const Body& body : bodies_)
            if (body.node == last) body.recipe->abandon();
        std::erase_if(bodies_, [&](const Body& body) { return body.node == last; });
        std::erase_if(scope_->bindings, [&](const Scope::Binding& binding) {
            return (binding.kernel_in == this && binding.kernel == last) ||
                   (binding.conditional_in == this && (binding.conditional == last || binding.conditional == kNone));
        });
        parameters_.forget_node(last);
        forget_memory(tree_.nodes.back());
        take_out(tree_.nodes.back().native);
        tree_.nodes.pop_back();
    }
}

void Recipe::abandon() noexcept {
    abandoned_ = true;
    std::erase_if(scope_->bindings, [&](const Scope::Binding& binding) {
        return binding.kernel_in == this || binding.conditional_in == this;
    });
    std::erase_if(scope_->children, [&](const Scope::Child& child) { return child.in == this; });
    for (const Body& body : bodies_) body.recipe->abandon();
}

// --- the recording for a body ---

void Recipe::take_over(Recipe& recorded) {
    std::vector<Recipe*> recipes;
    TreeCopy copy(recorded.whole_tree(recipes));
    for (uint32_t i = 0; i < copy.tree.nodes.size(); ++i) {
        if (const std::string why = why_not_in_body(copy.tree.nodes[i].work); !why.empty())
            fail(GPO_CAPTURE_REFUSED, describe_node(copy.tree, i), ", can't be in a body: ", why);
        if (const std::string why = why_not_copied(copy.tree.nodes[i]); !why.empty())
            fail(GPO_CAPTURE_REFUSED, describe_node(copy.tree, i),
                 ", can't be copied from the recording to the body: ", why);
    }
    const auto is_in = [&](const Recipe* recipe) {
        return std::find(recipes.begin(), recipes.end(), recipe) != recipes.end();
    };
    std::vector<Scope::Binding> outside;   // kernels elsewhere that set conditions of these nodes
    for (const Scope::Binding& binding : scope_->bindings)
        if (is_in(binding.conditional_in) && !is_in(binding.kernel_in)) outside.push_back(binding);
    const std::vector<uint32_t> begins = begins_of(copy.tree.nodes, recipes.size());
    kept_.reserve(kept_.size() + recorded.kept_.size());
    add_anew(copy, {});
    size_t set = 0;
    try {
        for (; set < outside.size(); ++set) {
            const Scope::Binding& binding = outside[set];
            const auto section = std::find(recipes.begin(), recipes.end(), binding.conditional_in) - recipes.begin();
            const Node& decided = copy.tree.nodes[begins[static_cast<size_t>(section)] + binding.conditional];
            binding.kernel_in->set_handle(binding.kernel, binding.argument,
                                          std::get<ConditionalNode>(decided.work).handle);
        }
    } catch (...) {
        take_out(copy);
        throw;
    }
    for (size_t i = 0; i < recipes.size(); ++i) {
        Recipe& recipe = *recipes[i];
        for (size_t node = 0; node < recipe.tree_.nodes.size(); ++node) {
            recipe.tree_.nodes[node].native = copy.tree.nodes[begins[i] + node].native;
            recipe.tree_.nodes[node].work = std::move(copy.tree.nodes[begins[i] + node].work);
        }
        if (i == 0) continue;
        recipe.graph_ = copy.graphs[i];
        recipe.traits_.strays = recipe.unused_handles_ = false;
        recipe.lost_ = nullptr;
    }
    tree_.nodes.swap(recorded.tree_.nodes);
    std::swap(parameters_, recorded.parameters_);
    bodies_.swap(recorded.bodies_);
    for (const Ref<const Counted>& used : recorded.kept_) keep(used);
    for (Scope::Binding& binding : scope_->bindings) {
        if (binding.kernel_in == &recorded) binding.kernel_in = this;
        if (binding.conditional_in == &recorded) binding.conditional_in = this;
    }
    for (Scope::Child& child : scope_->children)
        if (child.in == &recorded) child.in = this;
}

// --- sealing ---

void Recipe::seal() {
    if (traits_.sealed) return;
    check_frees();
    close_loops();
    std::vector<Recipe*> recipes;
    NodeTree whole;
    if (!bodies_.empty()) whole = whole_tree(recipes);
    ParameterTable parameters = parameters_;
    const auto exchange = [&]() noexcept {
        if (!bodies_.empty()) std::swap(tree_, whole);
    };
    const std::vector<uint32_t> begins = begins_of(whole.nodes, whole.sections.size());
    exchange();
    try {
        for (size_t i = 1; i < recipes.size(); ++i) take_in(*recipes[i], begins[i]);
        leave_unused_handles();
        events_ = {events_of(false), events_of(true)};
    } catch (...) {
        exchange();
        std::swap(parameters_, parameters);
        throw;
    }
    traits_.copyable = true;
    for (const Node& node : tree_.nodes) {
        const auto* other = std::get_if<OtherNode>(&node.work);
        traits_.single |= std::get_if<ConditionalNode>(&node.work) != nullptr || is_memory(node.work) ||
                   (other && other->type == CU_GRAPH_NODE_TYPE_CONDITIONAL);
        traits_.copyable &= why_not_copied(node).empty();
    }
    bodies_.clear();
    scope_->sealed = traits_.sealed = true;
}

EventList Recipe::events_of(bool wait) const {
    EventList out;
    for (const Node& node : tree_.nodes) {
        const auto* event = std::get_if<EventWork>(&node.work);
        // Nodes refer to const objects, but a launch makes the event's newest recording.
        auto* ours = const_cast<Event*>(dynamic_cast<const Event*>(node.owner.get()));
        if (event && event->wait == wait && ours) out.push_back(Ref<Event>(ours));
    }
    std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return std::less<>()(a.get(), b.get()); });
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
}

// Adds, at the end of each while's body, the node that decides whether the body runs again.
void Recipe::close_loops() {
    take_strays_out();
    for (Body& body : bodies_) {
        body.recipe->close_loops();
        const auto& conditional = std::get<ConditionalNode>(tree_.nodes[body.node].work);
        if (conditional.type != CU_GRAPH_COND_TYPE_WHILE || body.closed) continue;
        body.recipe->add_decision(conditional, body.node, *this, Decision::end_of_body, body.recipe->ends());
        body.closed = true;
    }
}

NodeTree Recipe::whole_tree(std::vector<Recipe*>& recipes) {
    NodeTree out;
    gather(out, recipes);
    const std::vector<uint32_t> begins = begins_of(out.nodes, recipes.size());
    std::map<const Recipe*, uint32_t> offsets;
    for (size_t i = 0; i < recipes.size(); ++i) offsets[recipes[i]] = begins[i];
    for (const Scope::Binding& binding : scope_->bindings) {
        const auto kernel = offsets.find(binding.kernel_in), conditional = offsets.find(binding.conditional_in);
        if (kernel == offsets.end() || conditional == offsets.end()) continue;
        out.bound.push_back(
            {kernel->second + binding.kernel, binding.argument, conditional->second + binding.conditional});
    }
    return out;
}

void Recipe::gather(NodeTree& tree, std::vector<Recipe*>& recipes) {
    const auto section = static_cast<uint32_t>(recipes.size()), offset = static_cast<uint32_t>(tree.nodes.size());
    recipes.push_back(this);
    for (const Node& each : tree_.nodes) {
        Node& node = tree.nodes.emplace_back(each);
        node.section = section;
        for (uint32_t& before : node.after) before += offset;
    }
    for (const Body& body : bodies_) {
        tree.sections.push_back({offset + body.node, body.index});
        body.recipe->gather(tree, recipes);
    }
}

// Takes a body's references and parameters. The body's nodes are here already, from `offset` on.
void Recipe::take_in(const Recipe& body, uint32_t offset) {
    for (const Ref<const Counted>& used : body.kept_) keep(used);
    for (const Parameter& parameter : body.parameters_)
        for (const NodeField& field : parameter.fields) {
            add_parameter(parameter.name, {offset + field.node, field.what, field.index});
            if (parameter.hidden) parameters_.hide(parameter.name, parameter.loop);
        }
}

bool Recipe::has_unused_handles() const noexcept {
    return unused_handles_ || std::any_of(bodies_.begin(), bodies_.end(), [](const Body& body) {
               return body.recipe->has_unused_handles();
           });
}

// The driver can't instantiate a graph with a handle that no node has, and takes no handle back. Therefore the nodes
// move to another graph.
void Recipe::leave_unused_handles() {
    if (!has_unused_handles()) return;
    if (traits_.fixed)
        fail(GPO_INVALID_STATE, "a conditional node couldn't be added, and what the driver keeps of it can't be taken ",
             "out of a graph that allocates: clear the template, or record it anew");
    const Ref<Recipe> other = rebuild("a conditional node couldn't be added, and what the driver keeps of it can't be "
                                      "taken out of the graph; the template can't move to another one");
    std::swap(graph_, other->graph_);
    std::swap(owned_, other->owned_);
    tree_.nodes.swap(other->tree_.nodes);
    unused_handles_ = false;
}

// --- another driver's graph like it ---

Ref<Recipe> Recipe::rebuild() {
    return rebuild("only one graph at a time can be made of this template, which has conditional or memory nodes");
}

Ref<Recipe> Recipe::rebuild(const char* otherwise) {
    make_graph();
    TreeCopy copy(tree_);
    for (uint32_t i = 0; i < tree_.nodes.size(); ++i)
        if (const std::string why = why_not_copied(tree_.nodes[i]); !why.empty())
            fail(GPO_NOT_SUPPORTED, otherwise, ", because ", describe_node(copy.tree, i), ", can't be copied: ", why);
    auto out = make<Recipe>(context_, nullptr);
    out->parameters_ = parameters_;
    out->tree_.sections = tree_.sections;
    out->tree_.bound = tree_.bound;
    out->kept_ = kept_;
    out->traits_.sealed = out->traits_.single = true;
    out->sole_.claim();
    out->make_graph();   // an empty one
    copy.add_to(*context_, out->graph_, {});
    out->tree_.nodes = std::move(copy.tree.nodes);
    return out;
}

}  // namespace gpo
