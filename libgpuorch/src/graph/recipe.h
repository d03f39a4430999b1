// A recipe: one version of a template, with the driver's graph, the nodes as read back from the driver, and parameters.
//
// A recipe is built while it is recorded or while nodes are added. The first graph that is made of a recipe *seals* it:
// nothing changes any more, and any number of threads may read it. A template that is recorded anew gets another
// recipe; its older graphs keep theirs.
//
// The bodies of conditional nodes are recipes too, until the template is sealed. Sealing moves their nodes into the
// template's recipe, where each body is a *section*. A recording for a body is another recipe of the same scope, which
// the body takes over when the recording ends.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "device/context.h"
#include "graph/conditional.h"
#include "graph/memory_nodes.h"
#include "graph/node_tree.h"
#include "graph/parameter_table.h"
#include "graph/recording.h"
#include "graph/sole_executable.h"
#include "stream/launched_events.h"

namespace gpo {

class Recipe final : public Counted {
public:
    /// Names of parameters keep their numbers from `before`, which may be NULL. Throws std::bad_alloc.
    Recipe(Ref<Context> context, const Recipe* before);
    /// A body, with the driver's graph for it; NULL: a recording for a body, or the graph is set later.
    Recipe(Ref<Context> context, Ref<Scope> scope, CUgraph body);

    Context& context() const noexcept { return *context_; }
    CUgraph graph() const noexcept { return graph_; }
    Scope& scope() const noexcept { return *scope_; }
    bool body() const noexcept { return body_; }
    /// Whether the recording is over or was discarded, or the body's conditional node wasn't made.
    bool abandoned() const noexcept { return abandoned_ || (lost_ && lost_->load(std::memory_order_acquire)); }
    const std::vector<Node>& nodes() const noexcept { return tree_.nodes; }
    const ParameterTable& parameters() const noexcept { return parameters_; }
    /// Properties of the driver's graph.
    struct Traits {
        bool fixed = false;            // nodes allocate or free memory: no node can be taken out
        bool strays = false;           // the graph has nodes that must be taken out
        // once it is sealed
        bool sealed = false;
        bool single = false;           // the graph can have only one executable at a time
        bool copyable = false;         // each executable can have its own copy of the graph
        bool leaves_memory = false;    // a recorded node allocates memory that no node frees
    };
    const Traits& traits() const noexcept { return traits_; }

    // --- while it is built. Inside a DriverScope. Throw Failure, std::bad_alloc ---

    /// Gives the driver a graph with all nodes, unless the recipe has one. Once the recipe is sealed, any thread may
    /// call this, and has to before it looks at the graph or at native nodes.
    void make_graph();
    /// Uses a recording's graph, to which nodes are added. The recipe doesn't own the graph before own(). All recorded
    /// nodes were read.
    void borrow(const GraphRecording::Addition& addition) noexcept;
    /// Called when all nodes were added. Reports the added nodes to a direct recording. If there is no memory, removes
    /// these nodes and throws std::bad_alloc.
    void report_added(GraphRecording::Addition& addition);
    /// Reads the nodes that our operations have made since the last call, in order. After a failure the next call
    /// continues there.
    void read_made(GraphRecording& recording);
    /// Takes over the graph, even if this throws, and the nodes. After a direct recording, make_graph() gives the
    /// driver the nodes that it lacks. After a capture, reads all unknown nodes and all dependencies.
    void own(CUgraph graph, GraphRecording& recording);
    /// Copies a graph of the caller or of another library; node numbers stay. Throws Failure(GPO_NOT_SUPPORTED) with
    /// the node that can't be copied.
    void copy(CUgraph original);
    /// The number, from 0, of a node of the graph. An unknown node is added; a known node keeps its label.
    uint32_t see(CUgraphNode native, const char* label, Ref<const Counted> owner,
                 std::optional<LaunchAttributes> attributes = std::nullopt);
    static constexpr uint32_t kNone = UINT32_MAX;
    uint32_t find(CUgraphNode native) const noexcept;
    /// `work`: a record of stream/work.h.
    template <class Work>
    uint32_t add(const Work& work, const char* label, Ref<const Counted> owner, std::vector<uint32_t> after) {
        if (traits_.fixed) {
            const ScratchGraph scratch(*context_);
            const CUgraphNode made = native_of(scratch, {}, work);
            return add_from(made, label, std::move(owner), attributes_of(work), std::move(after));
        }
        const CUgraphNode made = native_of(graph_, natives_of(after), work);
        return add_native(made, label, std::move(owner), attributes_of(work), std::move(after));
    }
    /// Add a node that allocates device memory, and a node that frees it. The address of the memory doesn't change.
    /// Throw Failure(GPO_NOT_SUPPORTED, GPO_INVALID_ARGUMENT).
    uint32_t add_allocation(uint64_t bytes, std::span<const uint32_t> after, uint64_t& address);
    uint32_t add_free(uint64_t address, std::span<const uint32_t> after);
    /// Adds a copy of a node, behind `after`.
    uint32_t add_copy(const NodeWork& work, CUgraphNode original, std::span<const uint32_t> after);
    /// Removes nodes that the driver didn't remove from its graph when their addition failed.
    void take_strays_out();
    /// Adds all nodes of the sealed `child` behind `after`, then an empty node behind them, and returns its number.
    /// Holds a reference to `memory`, the child's. If this throws, no node was added.
    uint32_t add_child(Recipe& child, Ref<const Counted> memory, std::span<const uint32_t> after,
                       const char* prefix);
    /// Moves a recording into this body, which has no nodes; numbers stay. Inner bodies keep their recipes, and their
    /// nodes move to the graphs of the new conditional nodes. If this fails, the caller abandons `recorded`.
    void take_over(Recipe& recorded);
    /// Removes all bindings to nodes of this recipe and of its bodies. Nothing can be added to them any more.
    void abandon() noexcept;
    /// Adds a conditional node with empty bodies, behind `after`.
    uint32_t add_conditional(CUgraphConditionalNodeType type, uint32_t bodies, gpo_condition condition,
                             std::span<const uint32_t> after, std::vector<Ref<Recipe>>& made);
    /// Sets an argument of a kernel to the handle of a condition.
    void bind(uint32_t kernel, uint32_t argument, const Recipe& conditional_in, uint32_t conditional);
    void add_parameter(std::string_view name, const NodeField& field);
    /// Removes the nodes from this number on. Nothing may refer to them yet.
    void remove_from(uint32_t number) noexcept;
    /// Takes in the nodes of all bodies. Nothing changes any more.
    void seal();

    // --- once it is sealed ---
    /// For graphs that can have only one executable.
    SoleExecutable& sole() const noexcept { return sole_; }
    /// Makes another driver's graph like this, with the same node numbers. Inside a DriverScope. Throws
    /// Failure(GPO_NOT_SUPPORTED) if a node can't be copied.
    Ref<Recipe> rebuild();
    /// False if the driver has no graph of the recipe yet.
    bool has_graph() const noexcept { return made_.load(std::memory_order_acquire); }
    /// Held while the driver makes or updates an executable graph of this graph: two threads may not read it at once.
    host::Mutex& instantiating() const noexcept { return instantiating_; }
    /// Throws Failure if a parameter can't have this value.
    void check_setting(uint32_t parameter, const void* value, uint64_t bytes) const;
    /// All nodes, with those of the bodies.
    const NodeTree& tree() const noexcept { return tree_; }
    struct Events {
        EventList recorded, awaited;   // the library's events that nodes record, and the events that nodes wait for

        /// The native graph or an executable graph is given out: others may launch it.
        void note_given_out() const noexcept {
            for (const Ref<Event>& event : recorded) event->note_recorded_by_others();
        }
    };
    const Events& events() const noexcept { return events_; }

    /// The bodies of its conditional nodes, until the recipe is sealed.
    struct Body {
        uint32_t node, index;
        Ref<Recipe> recipe;
        bool closed = false;       // of a while: the deciding node was added
    };
    const std::vector<Body>& bodies() const noexcept { return bodies_; }

private:
    ~Recipe() override;
    /// Keeps a reference to something that nodes use, besides each node's own `owner`.
    void keep(Ref<const Counted> used);
    std::vector<CUgraphNode> natives_of(std::span<const uint32_t> numbers) const;
    template <class Work>
    CUgraphNode native_of(CUgraph in, std::span<const CUgraphNode> after, const Work& work) const {
        CUgraphNode node = nullptr;
        const Issued added = gpo::add(*context_, in, after, work, &node);
        context_->check(added.result, added.function);
        return node;
    }
    /// Notes a node that the driver's graph just got, behind `after`. On failure takes the node out again.
    uint32_t add_native(CUgraphNode native, const char* label, Ref<const Counted> owner,
                        std::optional<LaunchAttributes> attributes, std::vector<uint32_t> after);
    /// Adds a copy of a node of a temporary graph.
    uint32_t add_from(CUgraphNode scratch, const char* label, Ref<const Counted> owner,
                      std::optional<LaunchAttributes> attributes, std::vector<uint32_t> after);
    void own_direct(GraphRecording& recording);
    void place_direct(const GraphRecording& recording);
    void see_unlabelled(CUgraphNode native);
    void read_dependencies();
    void put(Node node);
    uint32_t add_memory(CUgraphNodeParams& params, NodeWork work, std::span<const uint32_t> after);
    uint32_t allocation_at(uint64_t address);
    uint32_t free_of(uint64_t address) const noexcept;
    bool is_behind(uint32_t number, std::span<const uint32_t> after) const;
    void know_memory(const Node& node) noexcept;
    void forget_memory(const Node& node) noexcept;
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
    // Until sealed: a copy of the nodes of this recipe and of all bodies. `recipes` gets each section's recipe.
    NodeTree whole_tree(std::vector<Recipe*>& recipes);
    void gather(NodeTree& tree, std::vector<Recipe*>& recipes);
    void take_in(const Recipe& body, uint32_t offset);
    bool has_unused_handles() const noexcept;
    EventList events_of(bool wait) const;
    void leave_unused_handles();
    Ref<Recipe> rebuild(const char* otherwise);

    const Ref<Context> context_;
    const LaunchLimits limits_;
    const Ref<Scope> scope_;
    const bool body_ = false;
    std::atomic<bool> made_{false};         // make_graph() has nothing to do
    CUgraph graph_ = nullptr;
    bool owned_ = false;
    NodeTree tree_;                         // until sealed: only nodes
    size_t direct_ = 0;                     // number of nodes that came from a direct recording: the first
    size_t placed_ = 0;                     // number of these that have a native node: the first
    std::shared_ptr<const std::atomic<bool>> lost_;   // whether the graph of the recording was destroyed; may be NULL
    ParameterTable parameters_;
    std::vector<Body> bodies_;      // until sealed
    std::vector<Ref<const Counted>> kept_;
    Events events_;                 // once sealed
    Traits traits_;
    bool unused_handles_ = false;   // a conditional node couldn't be added, and the driver keeps the handle made for it
    bool abandoned_ = false;
    mutable SoleExecutable sole_;
    mutable host::Mutex instantiating_;
};

}  // namespace gpo
