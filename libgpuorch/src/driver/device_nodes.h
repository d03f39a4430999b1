// The device nodes that NVIDIA's kernel driver makes: a machine with such a node has an NVIDIA GPU, even if the driver
// library can't be used.
#pragma once

#include <string>

namespace gpo::driver {

/// The path of an existing node: /dev/nvidia0, else /dev/nvidiactl, else the first /dev/nvidia* by name; "" if none.
std::string nvidia_node();

}  // namespace gpo::driver
