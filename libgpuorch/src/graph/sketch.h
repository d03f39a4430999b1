// The picture of a recipe, sealed or not. Before sealing, its bodies are recipes of their own.
#pragma once

#include "graph/picture/diagram.h"
#include "graph/recipe.h"

namespace gpo {

/// Without a title. Makes no driver calls. Throws std::bad_alloc.
Diagram sketch(const Recipe& recipe);

}  // namespace gpo
