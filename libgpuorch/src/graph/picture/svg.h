// The SVG of a diagram, which needs no other file, no script and no font, and follows the viewer's preference for dark
// or light.
#pragma once

#include <string>

#include "graph/picture/diagram.h"

namespace gpo {

/// Throws std::bad_alloc.
std::string svg_of(Diagram diagram);

}  // namespace gpo
