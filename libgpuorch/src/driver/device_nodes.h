// The device nodes that NVIDIA's kernel driver makes: they tell that a machine has an NVIDIA GPU, whether its driver
// library can be used or not.
#pragma once

#include <string>

namespace gpo::driver {

/// The path of one that is there: /dev/nvidia0 if there is one, else another /dev/nvidia*. "": there is none.
std::string nvidia_node();

}  // namespace gpo::driver
