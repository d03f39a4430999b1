// Whether NVRTC may read files for a request that aren't the toolkit's.
//
// NVRTC neither lists the files that it has read nor preprocesses on its own, so its caller can only know which requests read
// none. What such a request may include: the headers in the request and ours, which NVRTC takes before any file of that name,
// and, in angle brackets and where no option names a folder, the toolkit's. NVRTC asks no environment variable for folders.
//
// The answer errs to one side: "true" may be wrong, "false" is not. Every line with a `#` (or a digraph or trigraph for it)
// and the letters "include" or "import", after lines that a backslash continues are joined, has to be an include of that
// kind. No file can be read by a text without those letters: the names of directives and __has_include are never made by
// macros.
#pragma once

#include "driver/driver.h"

namespace gpo::driver::nvrtc {

bool may_read_files(const CompileRequest& request);

}  // namespace gpo::driver::nvrtc
