// Facts about a node, in words for a picture (graph/picture).
#pragma once

#include <string>
#include <vector>

#include "graph/parameters.h"

namespace gpo {

// All throw std::bad_alloc and make no driver calls.

/// "grid 16, block 256", "from 0x7f0000001000", … Empty for conditional nodes: condition_text() says everything.
std::vector<std::string> facts_of(const NodeWork& work);
/// "while word at 0x7f0000001000 < 5, at most 100 times".
std::string condition_text(const ConditionalNode& node);
/// "then", "else", "body", "case 2".
std::string body_title(const ConditionalNode& node, uint32_t index);
/// "argument 1", "grid", …
std::string field_text(const NodeField& field);

}  // namespace gpo
