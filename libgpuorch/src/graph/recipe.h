// A recipe: one version of a template, that is, the driver's graph, its nodes as they were read back, and the parameters.
//
// A recipe is built while it is recorded or while nodes are added. With the first graph that is made of it, it is
// *sealed*: from then on nothing of it changes, and any number of threads may read it. A template that is recorded anew
// gets another recipe; graphs keep the one that they were made of.
#pragma once

#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "device/context.h"
#include "graph/node.h"
#include "graph/parameters.h"
#include "graph/recording.h"

namespace gpo {

class Recipe final : public Counted {
public:
    /// Names of parameters keep their numbers from `before`, which may be NULL. Throws std::bad_alloc.
    Recipe(Ref<Context> context, const Recipe* before);

    Context& context() const noexcept { return *context_; }
    CUgraph graph() const noexcept { return graph_; }
    const std::vector<Node>& nodes() const noexcept { return nodes_; }
    const std::vector<Parameter>& parameters() const noexcept { return parameters_; }
    /// What was recorded for them.
    const Values& values() const noexcept { return values_; }
    const LaunchLimits& limits() const noexcept { return limits_; }
    bool empty() const noexcept { return nodes_.empty(); }

    bool sealed() const noexcept { return sealed_; }
    void seal() noexcept { sealed_ = true; }
    /// "": any number of graphs can be made of it at a time. Otherwise why only one can.
    std::string why_single() const;

    // --- while it is built. Inside a DriverScope. Throw Failure, std::bad_alloc ---

    /// An empty graph of its own, unless it has one.
    void make_graph();
    /// A graph that is being captured: it isn't ours before own().
    void borrow(CUgraph capturing) noexcept { graph_ = capturing; }
    /// It is ours now, whether this throws or not: reads all nodes that aren't known yet, those that operations made
    /// first, and what comes after what.
    void own(CUgraph graph, std::vector<GraphRecording::Made> made);
    /// The number, from 0, of a node of the graph; added if it isn't known. What is known already keeps its label.
    uint32_t see(CUgraphNode native, const char* label, Ref<const Counted> owner);
    static constexpr uint32_t kNone = UINT32_MAX;
    uint32_t find(CUgraphNode native) const noexcept;
    /// By its label.
    uint32_t find(std::string_view label) const;
    /// Numbers from 0 of nodes by the caller's, from 1; checked.
    std::vector<uint32_t> numbers_of(std::span<const uint32_t> nodes) const;
    /// A node that the graph has got, behind others.
    uint32_t add(CUgraphNode native, const char* label, Ref<const Counted> owner, std::vector<uint32_t> after);
    /// A copy of a node, behind others.
    uint32_t add_copy(const NodeWork& work, CUgraphNode original, std::span<const uint32_t> after);
    /// Throws Failure(GPO_INVALID_ARGUMENT) if there is no such node. From 0.
    uint32_t checked(uint32_t number, const char* what) const;
    /// All nodes of `child` behind `after`, and one node behind all of them, whose number is returned.
    uint32_t add_child(const Recipe& child, std::span<const uint32_t> after, const char* prefix);
    void add_parameter(const char* name, const NodeField& field);

    // --- once it is sealed ---
    /// To be held while the driver makes or updates an executable graph of it: two threads may not read one at a time.
    host::Mutex& instantiating() const noexcept { return instantiating_; }
    /// Throws Failure if a parameter can't have this value.
    void check_setting(uint32_t parameter, const void* value, uint64_t bytes) const;

    /// The number of a parameter that there is. Throws Failure(GPO_NOT_FOUND), with a list of those there are.
    uint32_t parameter(std::string_view name) const;

private:
    ~Recipe() override;
    Parameter& named(std::string_view name);
    void read_dependencies();
    std::vector<uint32_t> order() const;
    void add_child_parameters(const Recipe& child, std::span<const uint32_t> numbers, std::string_view prefix);

    const Ref<Context> context_;
    const LaunchLimits limits_;
    CUgraph graph_ = nullptr;
    bool owned_ = false;
    std::vector<Node> nodes_;
    std::vector<Parameter> parameters_;
    Values values_;
    std::map<std::string, uint32_t, std::less<>> numbers_;   // of parameters_, by name
    bool sealed_ = false;
    mutable host::Mutex instantiating_;
};

}  // namespace gpo
