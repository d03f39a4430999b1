// The state that a template shares with the bodies of its conditional nodes while they are built, and the kernel that
// decides conditions by comparing.
//
// A body is a recipe of its own, whose graph belongs to the driver's conditional node. Sealing the template takes the
// nodes and parameters of all bodies into the template's recipe (Recipe::seal), behind its own: graphs know only the
// template's recipe. A recording for a body is a separate recipe until the recording ends (Recipe::take_over).
//
// A while gets two deciding nodes. The first comes before the while: it resets the iteration counter, and decides
// whether the body runs at all. The second comes at the end of the body, behind all other nodes there: it counts the
// iteration, and decides whether the body runs again. Each graph has its own counters.
#pragma once

#include <vector>

#include "graph/node.h"
#include "kernel/kernel.h"

namespace gpo {

class Recipe;

/// Whether gpo_decide runs before the node.
constexpr bool has_decision(const gpo_condition& condition, CUgraphConditionalNodeType type) noexcept {
    return condition.comparison != GPO_COMPARE_KERNEL || type == CU_GRAPH_COND_TYPE_WHILE;
}

/// When gpo_decide (driver/condition.cu) runs.
enum class Decision : uint32_t { once, before_loop, end_of_body };

class Scope final : public Counted {
public:
    host::Mutex building;             // held while any of the recipes is built; taken inside a template's lock
    bool sealed = false;
    bool destroyed = false;           // the template's recipe was destroyed, and the bodies' graphs with it
    uint32_t loops = 0;
    uint32_t recordings = 0;          // of bodies, under way

    /// A kernel argument that is a condition's handle.
    struct Binding {
        Recipe* kernel_in;
        uint32_t kernel;
        uint32_t argument;
        const Recipe* conditional_in;
        uint32_t conditional;
    };
    std::vector<Binding> bindings;

    /// A child whose nodes were added here. Its loops have the numbers of its own scope, plus `first_loop`.
    struct Child {
        const Recipe* in;             // to which the child was added
        Ref<const Scope> scope;       // of the child, or of a child of it
        uint32_t first_loop;
    };
    std::vector<Child> children;

    /// The kernel gpo_decide. Throws.
    Ref<Kernel> decide(Context& context);
    /// Called after nodes were copied from `other` to this scope.
    void know_decisions_of(const Scope& other) noexcept {
        if (!decide_) decide_ = other.decide_;
    }
    /// Whether the node launches gpo_decide.
    bool is_decision(const Node& node) const noexcept { return decide_ && node.owner == Ref<const Counted>(decide_); }

private:
    Ref<Kernel> decide_;
};

/// The kernel gpo_decide, loaded once for a context. Throws.
Ref<Kernel> decide_kernel(Context& context);

/// A launch of gpo_decide. The address of a while's iteration counter is NULL here: each graph sets its own.
KernelNode decision(const Kernel& kernel, const ConditionalNode& conditional, Decision when);
inline constexpr uint32_t kDecisionHandle = 0, kDecisionState = 4;   // arguments

/// Throws Failure(GPO_INVALID_ARGUMENT) if there can't be such a condition.
void check_condition(Context& context, const gpo_condition& condition, CUgraphConditionalNodeType type);

/// Why a body can't have a node like this; "" if it can.
std::string why_not_in_body(const NodeWork& work);

}  // namespace gpo
