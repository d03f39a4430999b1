// May NVRTC read files for a request other than the toolkit's?
//
// NVRTC neither lists the files read nor offers a separate preprocessor. A caller can only know that certain requests
// read no other files: they include only headers in the request and the library's own, which NVRTC prefers to any file
// with the same name. If no option names a folder, toolkit headers in angle brackets are allowed too. NVRTC reads no
// environment variable for folders.
//
// "true" may be wrong, "false" is never wrong. For the answer "false", every line with a `#` (or a digraph or trigraph
// for it) and the letters "include" or "import" must be an include of the kind above; lines that a backslash continues
// are joined first. A text without these letters can read no file: macros never make the names of directives or
// __has_include.
#pragma once

#include "driver/driver.h"

namespace gpo::driver::nvrtc {

bool may_read_files(const CompileRequest& request);

}  // namespace gpo::driver::nvrtc
