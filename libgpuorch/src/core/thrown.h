// The text of a failure for an exception that has left a user's callback.
#pragma once

#include <exception>

#include "base/text.h"

namespace gpo {

/// For example "a C++ exception: the disk is full", truncated if it is too long. Exceptions of types other than
/// std::exception are described as "a C++ exception".
using ThrownText = FixedText<384>;
inline ThrownText thrown_text(const std::exception& exception) noexcept {
    return fixed_text<384>("a C++ exception: ", exception.what());
}
inline ThrownText thrown_text() noexcept { return fixed_text<384>("a C++ exception"); }

}  // namespace gpo
