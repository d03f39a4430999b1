// What an image runs in the host as it is loaded.
#pragma once

#include <string>
#include <string_view>

namespace gpo::softgpu {

/// Has the compiler made code that initialises variables? `object`: a shared object with its symbols.
bool initializes_variables(std::string_view object) noexcept;

/// Of the functions that the dynamic loader would run at the start, has it run those with __gpo_enter in their names, which are
/// the device header's, and none of the source's: initialisers, and functions with the attribute constructor. `object`: as the
/// linker made it. False: it isn't made as linkers make objects.
bool keep_own_constructors(std::string& object);

}  // namespace gpo::softgpu
