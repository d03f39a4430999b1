// Constants of gpuorch/peers.h, as messages name them.
#pragma once

#include <cstdint>
#include <string>

#include "peers/collective.h"

namespace gpo::peers {

// Unknown numbers, for example from another process, are shown as numbers.

/// "float32".
std::string type_name(uint32_t type);
/// "sum".
std::string reduction_name(uint32_t reduction);
/// "GPO_ENGINE_HOST".
std::string engine_name(uint32_t engine);

/// The submitted collective as text: "all-reduce `layer 1` (sum of 4096 float32)". `label`: "" or NULL: none.
std::string describe(Kind kind, const char* label, uint32_t type, uint32_t reduction, uint32_t root, uint64_t count);

}  // namespace gpo::peers
