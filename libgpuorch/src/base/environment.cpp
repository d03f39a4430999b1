#include "base/environment.h"

#include <sys/auxv.h>

#include <cstdlib>
#include <cstring>

namespace gpo::environment {

bool ignored() noexcept { return getauxval(AT_SECURE) != 0; }

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
