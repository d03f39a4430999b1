// A recipe: one version of a template, that is, the driver's graph, its nodes as they were read back, and parameters.
//
// A recipe is built while it is recorded or while nodes are added. With the first graph that is made of it, it is
// *sealed*: from then on nothing of it changes, and any number of threads may read it. A template that is recorded anew
// gets another recipe; graphs keep the one that they were made of.
//
// The bodies of conditional nodes are recipes too, until the template is sealed: then their nodes become nodes of this
// recipe, each body a *section* of them. What is recorded for a body is another recipe of the same scope, which the
// body takes over when the recording ends.
#pragma once

#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "device/context.h"
#include "graph/conditional.h"
#include "graph/node_tree.h"
#include "graph/parameters.h"
#include "graph/recording.h"
#include "stream/launched_events.h"

namespace gpo {

class Recipe final : public Counted {
public:
    /// Names of parameters keep their numbers from `before`, which may be NULL. Throws std::bad_alloc.
    Recipe(Ref<Context> context, const Recipe* before);
    /// A body, whose graph belongs to the driver; or, with NULL, what is recorded for one.
    Recipe(Ref<Context> context, Ref<Scope> scope, CUgraph body);

    Context& context() const noexcept { return *context_; }
    CUgraph graph() const noexcept { return graph_; }
    Scope& scope() const noexcept { return *scope_; }
    bool body() const noexcept { return body_; }
    /// What it was recorded or built for is no more: the recording was discarded, or the conditional node wasn't made.
    bool abandoned() const noexcept { return abandoned_; }
    const std::vector<Node>& nodes() const noexcept { return nodes_; }
    const std::vector<Parameter>& parameters() const noexcept { return parameters_; }
    /// What was recorded for them.
    const Values& values() const noexcept { return values_; }
    const LaunchLimits& limits() const noexcept { return limits_; }

    // --- while it is built. Inside a DriverScope. Throw Failure, std::bad_alloc ---

    /// An empty graph of its own, unless it has one.
    void make_graph();
    /// A graph that is being captured: it isn't ours before own().
    void borrow(CUgraph capturing) noexcept { graph_ = capturing; }
    /// Reads the nodes that operations of ours have made since the last call, in that order. If it fails, the next call
    /// goes on where it failed.
    void read_made(GraphRecording& recording);
    /// The graph is ours now, whether this throws or not: reads all nodes that aren't known yet, and what comes after
    /// what.
    void own(CUgraph graph, GraphRecording& recording);
    /// Copies a graph of somebody else's; numbers are those of its nodes there. Throws Failure(GPO_NOT_SUPPORTED) with
    /// the node that can't be copied.
    void copy(CUgraph original);
    /// The number, from 0, of a node of the graph; added if it isn't known. What is known already keeps its label.
    uint32_t see(CUgraphNode native, const char* label, Ref<const Counted> owner,
                 std::optional<LaunchAttributes> attributes = std::nullopt);
    static constexpr uint32_t kNone = UINT32_MAX;
    uint32_t find(CUgraphNode native) const noexcept;
    /// By its label.
    uint32_t find(std::string_view label) const;
    /// Numbers from 0 of nodes by the caller's, from 1; checked.
    std::vector<uint32_t> numbers_of(std::span<const uint32_t> nodes) const;
    /// A node that the graph was just given, behind others. If this fails, the graph hasn't got it any more.
    uint32_t add(CUgraphNode native, const char* label, Ref<const Counted> owner, std::vector<uint32_t> after);
    /// The same of a node of a graph that goes again (ScratchGraph): a copy is added.
    uint32_t add_from(CUgraphNode scratch, const char* label, Ref<const Counted> owner, std::vector<uint32_t> after);
    /// Device memory between two nodes; its address doesn't change. Throw Failure(GPO_NOT_SUPPORTED,
    /// GPO_INVALID_ARGUMENT).
    uint32_t add_allocation(uint64_t bytes, std::span<const uint32_t> after, uint64_t& address);
    uint32_t add_free(uint64_t address, std::span<const uint32_t> after);
    /// Has nodes that allocate or free: the driver takes no node out of the graph.
    bool fixed() const noexcept { return fixed_; }
    /// A copy of a node, behind others.
    uint32_t add_copy(const NodeWork& work, CUgraphNode original, std::span<const uint32_t> after);
    /// Takes nodes out of the graph that couldn't be taken out when their addition had failed.
    void take_strays_out();
    bool has_strays() const noexcept { return strays_; }
    /// Throws Failure(GPO_INVALID_ARGUMENT) if there is no such node. From 0.
    uint32_t checked(uint32_t number, const char* what) const;
    /// All nodes of `child`, which is sealed, behind `after`, and one node behind all of them, whose number is
    /// returned; and keeps `memory`, which is the child's. All or nothing.
    uint32_t add_child(const Recipe& child, Ref<const Counted> memory, std::span<const uint32_t> after,
                       const char* prefix);
    /// A body without nodes gets what was recorded for it, with the same numbers. The bodies in it stay the recipes
    /// that they are, and their nodes move to the graphs of the new conditional nodes. If it fails, `recorded` is left
    /// to be abandoned.
    void take_over(Recipe& recorded);
    /// Nothing refers any more to what is in it or in its bodies, to which nothing can be added.
    void abandon() noexcept;
    /// A conditional node behind `after`, with empty bodies.
    uint32_t add_conditional(CUgraphConditionalNodeType type, uint32_t bodies, gpo_condition condition,
                             std::span<const uint32_t> after, std::vector<Ref<Recipe>>& made);
    /// An argument of a kernel becomes the handle of a condition.
    void bind(uint32_t kernel, uint32_t argument, const Recipe& conditional_in, uint32_t conditional);
    void add_parameter(std::string_view name, const NodeField& field);
    /// Keeps what its nodes use, beside what each of them has itself.
    void keep(Ref<const Counted> used);
    /// Removes the nodes from this number on, which nothing refers to yet.
    void remove_from(uint32_t number) noexcept;
    /// Takes in the bodies; nothing changes any more.
    void seal();

    // --- once it is sealed ---
    bool sealed() const noexcept { return sealed_; }
    /// Whether only one executable graph can be made of the driver's graph at a time.
    bool single() const noexcept { return single_; }
    /// Whether several can be, each of a driver's graph of its own.
    bool copyable() const noexcept { return copyable_; }
    /// Whether something that was recorded allocates memory that no node frees.
    bool leaves_memory() const noexcept { return leaves_memory_; }
    /// Of one that is single: true for the first who asks, until give_back().
    bool claim() const noexcept { return !claimed_.exchange(true, std::memory_order_acq_rel); }
    void give_back() const noexcept { claimed_.store(false, std::memory_order_release); }
    /// Leaves the claimed recipe's executable to be destroyed. The one caller that takes it has the claim.
    void leave(CUgraphExec executable) const noexcept { left_.store(executable, std::memory_order_release); }
    CUgraphExec take_left() const noexcept { return left_.exchange(nullptr, std::memory_order_acq_rel); }
    /// Held while an executable of a recipe that is single is destroyed, until the recipe is given back.
    host::Mutex& ending() const noexcept { return ending_; }
    /// Another driver's graph like this, with the same numbers of nodes. Inside a DriverScope. Throws
    /// Failure(GPO_NOT_SUPPORTED) if a node can't be copied.
    Ref<Recipe> rebuild() const;
    /// To be held while the driver makes or updates an executable graph of it: two threads may not read one at a time.
    host::Mutex& instantiating() const noexcept { return instantiating_; }
    /// Throws Failure if a parameter can't have this value.
    void check_setting(uint32_t parameter, const void* value, uint64_t bytes) const;
    /// The number of a parameter that there is. Throws Failure(GPO_NOT_FOUND), with a list of those there are.
    uint32_t parameter(std::string_view name) const;
    const std::vector<NodeTree::Section>& sections() const noexcept { return sections_; }
    const std::vector<NodeTree::Bound>& bound() const noexcept { return bound_; }
    /// The events of the library's that its nodes record, and that they wait for.
    const EventList& recorded_events() const noexcept { return recorded_events_; }
    const EventList& awaited_events() const noexcept { return awaited_events_; }
    /// The native graph, or one made of it, is given out: others may launch it.
    void note_given_out() const noexcept {
        for (const Ref<Event>& event : recorded_events_) event->note_recorded_by_others();
    }

    /// Until it is sealed: the bodies of its conditional nodes.
    struct Body {
        uint32_t node, index;
        Ref<Recipe> recipe;
        bool closed = false;       // of a while: it has the node that decides
    };
    const std::vector<Body>& bodies() const noexcept { return bodies_; }

private:
    ~Recipe() override;
    Parameter& named(std::string_view name);
    void forget_names_from(size_t number) noexcept;
    void see_unlabelled(CUgraphNode native);
    void read_dependencies();
    void put(Node node);
    uint32_t add_memory(CUgraphNodeParams& params, NodeWork work, std::span<const uint32_t> after);
    uint32_t allocation_at(uint64_t address);
    uint32_t free_of(uint64_t address) const noexcept;
    bool is_behind(uint32_t number, std::span<const uint32_t> after) const;
    void know_memory(const Node& node) noexcept;
    void forget_memory() noexcept;
    void check_frees();
    std::vector<uint32_t> ends() const;
    void take_out(CUgraphNode native) noexcept;
    void add_anew(TreeCopy& copy, std::span<const uint32_t> after);
    void take_out(const TreeCopy& copy) noexcept;
    class Places;
    std::vector<Ref<Recipe>> room_for(const Recipe& child, TreeCopy& copy, std::span<const uint32_t> after);
    void put_nodes_of(const Recipe& child, TreeCopy& copy, std::span<const Ref<Recipe>> recipes, const Places& places,
                      std::span<const uint32_t> after) noexcept;
    void add_child_parameters(const Recipe& child, std::span<const Ref<Recipe>> recipes, const Places& places,
                              std::string_view prefix, uint32_t loops);
    uint32_t add_decision(const ConditionalNode& conditional, uint32_t number, const Recipe& in, Decision when,
                          std::span<const uint32_t> after);
    void add_count(uint32_t kernel, uint32_t loop);
    void set_handle(uint32_t kernel, uint32_t argument, CUgraphConditionalHandle handle);
    void close_loops();
    // Until it is sealed: a copy of its nodes and those of all bodies. `recipes` gets those of the sections.
    NodeTree tree(std::vector<Recipe*>& recipes);
    void gather(NodeTree& tree, std::vector<Recipe*>& recipes);
    void take_in(const Recipe& body, uint32_t offset);
    bool has_unused_handles() const noexcept;
    EventList events_of(bool wait) const;
    void leave_unused_handles();
    Ref<Recipe> rebuild(const char* otherwise) const;

    const Ref<Context> context_;
    const LaunchLimits limits_;
    const Ref<Scope> scope_;
    const bool body_ = false;
    CUgraph graph_ = nullptr;
    bool owned_ = false;
    std::vector<Node> nodes_;
    std::vector<Parameter> parameters_;
    Values values_;
    std::map<std::string, uint32_t, std::less<>> numbers_;   // of parameters_, by name
    std::vector<Body> bodies_;                               // until it is sealed
    std::vector<NodeTree::Section> sections_ = {{0, 0}};
    std::vector<NodeTree::Bound> bound_;
    std::vector<Ref<const Counted>> kept_;
    EventList recorded_events_, awaited_events_;             // once it is sealed
    bool sealed_ = false, single_ = false, copyable_ = false, leaves_memory_ = false;
    bool fixed_ = false;
    bool strays_ = false;                                    // the graph has nodes that have to go
    bool unused_handles_ = false;   // a conditional node couldn't be added, and the driver keeps the handle made for it
    bool abandoned_ = false;
    mutable std::atomic<CUgraphExec> left_{nullptr};
    mutable std::atomic<bool> claimed_{false};
    mutable host::Mutex ending_, instantiating_;
};

}  // namespace gpo
