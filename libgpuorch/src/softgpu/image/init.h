// Functions that run in the host when an image is loaded and unloaded: ELF's init and fini arrays.
#pragma once

#include <string>
#include <string_view>

namespace gpo::softgpu {

/// Has the compiler made code that initialises variables? `object`: a shared object with its symbols.
bool initializes_variables(std::string_view object) noexcept;

/// Has the dynamic loader run the device header's constructors and destructors, which have __gpo_enter and __gpo_forget
/// in their names, and none of the source's: initialisers of variables, and functions with these attributes. `object`:
/// as the linker made it. False: it isn't made as linkers make objects. Throws std::bad_alloc.
bool keep_own_init_and_fini(std::string& object);

}  // namespace gpo::softgpu
