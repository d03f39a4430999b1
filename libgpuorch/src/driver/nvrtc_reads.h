// May NVRTC read files for a request other than the toolkit's?
//
// NVRTC neither lists the files that it has read nor preprocesses on its own. So its caller can only know which
// requests read no other files. Such a request may include: the headers in the request and ours, which NVRTC prefers to
// any file with the same name; and, in angle brackets and if no option names a folder, the toolkit's headers. NVRTC
// reads no environment variable for folders.
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
