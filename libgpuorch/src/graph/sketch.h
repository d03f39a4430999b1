// What a picture of a recipe shows. Whether it is sealed or not: before, its bodies are recipes of their own.
#pragma once

#include "graph/picture/diagram.h"
#include "graph/recipe.h"

namespace gpo {

/// Without a title. Calls nothing of the driver. Throws std::bad_alloc.
Diagram sketch(const Recipe& recipe);

}  // namespace gpo
