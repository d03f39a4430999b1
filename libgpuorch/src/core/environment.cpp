#include "core/environment.h"

#include <cstdlib>
#include <cstring>

namespace gpo::environment {

const char* get(const char* name) noexcept {
    return secure_getenv(name);
}

bool flag(const char* name) noexcept {
    const char* value = get(name);
    if (!value) return false;
    for (const char* yes : {"1", "on", "yes", "true"})
        if (std::strcmp(value, yes) == 0) return true;
    return false;
}

}  // namespace gpo::environment
