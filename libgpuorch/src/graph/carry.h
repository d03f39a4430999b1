// Carries values over when another recipe replaces the recipe that they were set for.
//
// A value that was set goes on to the parameter of the same name, if the parameter means the same and can have the
// value: memory may be of another kind now, or freed. Otherwise the value is *dropped*. Values that were never set
// don't go on: the new recipe has its own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/recipe.h"

namespace gpo {

/// Values for a recipe, and which of its parameters they were set for.
struct SetValues {
    Values bytes;
    std::vector<bool> set;   // by parameter
};

/// The values that were dropped.
struct Dropped {
    uint32_t count = 0;
    std::string parameter, reason;   // of the first
};

/// `values`: for `from`. Values that `to` refuses are dropped. Throws std::bad_alloc; Failure if the device is lost.
SetValues carry_over(const Recipe& from, const SetValues& values, const Recipe& to, Dropped& dropped);

}  // namespace gpo
