// The text that Graphviz makes a picture of. A conditional node is a cluster: its own text, a cluster for each body,
// and a point without looks at its end, which what comes after the node begins at.
#pragma once

#include <string>

#include "graph/picture/diagram.h"

namespace gpo {

/// Throws std::bad_alloc.
std::string dot_of(const Diagram& diagram);

}  // namespace gpo
