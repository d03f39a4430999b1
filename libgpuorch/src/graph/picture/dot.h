// The text from which Graphviz makes a picture. A conditional node is a cluster: its own text, a cluster for each body,
// and an invisible point at the end, where the lines to later nodes begin.
#pragma once

#include <string>

#include "graph/picture/diagram.h"

namespace gpo {

/// Throws std::bad_alloc.
std::string dot_of(const Diagram& diagram);

}  // namespace gpo
