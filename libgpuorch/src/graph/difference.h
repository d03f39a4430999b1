// In which nodes two recipes of one shape differ, where that is all in which they differ.
//
// A driver that is to update an executable graph looks at all nodes. Where few have changed, as in a recording with
// another argument, it is much less work to compare them here and to patch those.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "graph/recipe.h"

namespace gpo {

/// The numbers of the nodes of `is` whose work isn't what it is in `now`, where patching these makes a graph with the
/// nodes of `was` one with the nodes of `is`. `now`: the work of each node, which may not be what `was` has: parameters
/// may have been set. nullopt: something else differs or may differ, such as an attribute of another library's kernel.
/// Throws std::bad_alloc.
std::optional<std::vector<uint32_t>> patchable_differences(const Recipe& was, const Recipe& is,
                                                           std::span<const NodeWork* const> now);

}  // namespace gpo
