// Constants of gpuorch/peers.h, as messages name them.
#pragma once

#include <cstdint>
#include <string>

#include "peers/collective.h"

namespace gpo::peers {

// A number that is no such constant, or that another process may have sent, stands for itself.

/// "float32".
std::string type_name(uint32_t type);
/// "sum".
std::string reduction_name(uint32_t reduction);
/// "GPO_ENGINE_HOST".
std::string engine_name(uint32_t engine);

/// What was submitted: "all-reduce `layer 1` (sum of 4096 float32)". `label`: "" or NULL if there is none.
std::string describe(Kind kind, const char* label, uint32_t type, uint32_t reduction, uint32_t root, uint64_t count);

}  // namespace gpo::peers
