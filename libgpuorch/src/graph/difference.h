// The nodes in which two recipes of one shape differ, if nothing else differs.
//
// To update an executable graph, the driver looks at all nodes. If few nodes have changed, as in a recording with
// another argument, comparing all nodes here and patching the changed ones is much less work.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "graph/recipe.h"

namespace gpo {

/// The work of a recipe's nodes, for an executable graph that was made of `built`: kernels that set conditions have the
/// handles of that graph. Refers to the recipe.
class Works {
public:
    /// Throws std::bad_alloc.
    Works(const Recipe& recipe, const Recipe& built);
    const NodeWork& operator[](uint32_t node) const noexcept;

private:
    const Recipe& recipe_;
    std::map<uint32_t, NodeWork> changed_;
};

/// The numbers of the nodes whose work in `next`, that of `is`, differs from `now`. Patching them turns a graph with
/// the nodes of `was` into a graph with the nodes of `is`. `now`: each node's present work, which differs from `was`
/// where parameters were set. nullopt: something else differs or may differ, such as an attribute of another library's
/// kernel. Throws std::bad_alloc.
std::optional<std::vector<uint32_t>> patchable_differences(const Recipe& was, const Recipe& is,
                                                           std::span<const NodeWork* const> now, const Works& next);

}  // namespace gpo
