// What a failure says of an exception that has left a callback of the user's.
#pragma once

#include <exception>

#include "base/text.h"

namespace gpo {

/// "a C++ exception: the disk is full", cut where it is long. An exception of another type says nothing more of itself.
using ThrownText = FixedText<384>;
inline ThrownText thrown_text(const std::exception& exception) noexcept {
    return fixed_text<384>("a C++ exception: ", exception.what());
}
inline ThrownText thrown_text() noexcept { return fixed_text<384>("a C++ exception"); }

}  // namespace gpo
