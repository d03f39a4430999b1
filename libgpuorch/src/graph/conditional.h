// What a template and the bodies of its conditional nodes have in common while they are built, and the kernel that
// decides conditions by comparing.
//
// A body is a recipe of its own, whose graph belongs to the driver's conditional node. When the template is sealed, the
// nodes and parameters of all bodies are taken into its recipe (Recipe::seal), behind its own: graphs know only that
// one. What is recorded for a body is a recipe beside it until the recording ends (Recipe::take_over). A while gets a
// node before it, which decides if its body runs at all, and one at the end of its body, behind all other nodes there;
// both count in memory that each graph has for itself.
#pragma once

#include <vector>

#include "graph/node.h"
#include "kernel/kernel.h"

namespace gpo {

class Recipe;

/// When gpo_decide (driver/condition.cu) runs.
enum class Decision : uint32_t { once, before_loop, end_of_body };

class Scope final : public Counted {
public:
    host::Mutex building;             // held by whoever adds to any of the recipes, outside of the templates' locks
    bool sealed = false;
    bool gone = false;                // the template's recipe was destroyed, and the bodies' graphs with it
    uint32_t loops = 0;
    uint32_t recordings = 0;          // of bodies, which go on

    /// An argument of a kernel that is the handle of a condition.
    struct Binding {
        Recipe* kernel_in;
        uint32_t kernel;
        uint32_t argument;
        const Recipe* conditional_in;
        uint32_t conditional;
    };
    std::vector<Binding> bindings;

    /// A child's nodes in here, whose loops have the numbers of its scope and `first_loop`.
    struct Child {
        const Recipe* in;             // that it was added to
        Ref<const Scope> scope;       // of the child, or of a child of it
        uint32_t first_loop;
    };
    std::vector<Child> children;

    /// The kernel gpo_decide. Throws.
    Ref<Kernel> decide(Context& context);
    /// Nodes of `other` were copied to here.
    void know_decisions_of(const Scope& other) noexcept {
        if (!decide_) decide_ = other.decide_;
    }
    /// Whether the node is a launch of it.
    bool is_decision(const Node& node) const noexcept { return decide_ && node.owner == Ref<const Counted>(decide_); }

private:
    Ref<Kernel> decide_;
};

/// The kernel gpo_decide, loaded once for a context. Throws.
Ref<Kernel> decide_kernel(Context& context);

/// A launch of gpo_decide; without the address at which a while counts, which each graph sets.
KernelNode decision(const Kernel& kernel, const ConditionalNode& conditional, Decision when);
inline constexpr uint32_t kDecisionHandle = 0, kDecisionState = 4;   // arguments

/// Throws Failure(GPO_INVALID_ARGUMENT) if there can't be such a condition.
void check_condition(Context& context, const gpo_condition& condition, CUgraphConditionalNodeType type);

/// Why a body can't have a node like this; "" if it can.
std::string why_not_in_body(const NodeWork& work);

}  // namespace gpo
