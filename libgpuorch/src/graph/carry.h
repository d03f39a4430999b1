// What becomes of values when another recipe takes the place of the one that they were set for.
//
// A value goes on to the parameter of the same name, if it was set, if the parameter means the same, and if it can be a
// value there: an address may be of another kind of memory now, or of none. What goes on nowhere is *dropped*. Values
// that were never set don't go on: the new recipe has its own.
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

/// The values that found no place.
struct Dropped {
    uint32_t count = 0;
    std::string parameter, reason;   // of the first
};

/// `values` are of `from`. Throws std::bad_alloc, and Failure if the device is lost: a value that can't be is dropped.
SetValues carry_over(const Recipe& from, const SetValues& values, const Recipe& to, Dropped& dropped);

}  // namespace gpo
