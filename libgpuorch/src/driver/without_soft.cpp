// Replaces softgpu/ in a library built without the software GPU (GPUORCH_SOFT=OFF).
#include "driver/driver.h"

namespace gpo::driver {

bool has_soft() noexcept { return false; }

std::shared_ptr<Driver> open_soft(std::string* why) {
    if (why) *why = "this library was built without it (GPUORCH_SOFT=OFF)";
    return nullptr;
}

}  // namespace gpo::driver
