// Finds the CUDA toolkit's headers for NVRTC, which has only the most basic ones built in.
#pragma once

#include <string>
#include <vector>

namespace gpo::driver::nvrtc {

struct Includes {
    std::vector<std::string> folders;   // in the order of their search
    std::vector<std::string> tried;     // where they were looked for
};

/// The folder with the toolkit's headers, and those with CUDA's C++ core libraries (`nv/target`, `cuda/std`), which the
/// toolkit's need, and which wheels for Python put into a folder of their own: beside NVRTC in `library_folder` (of a
/// toolkit, or of a wheel), or in a toolkit below `local` (/usr/local), one of NVRTC's major version first.
Includes find_includes(const std::string& library_folder, int major, const std::string& local);

/// What a log means that says "cannot open source file" of a header that is in neither: a sentence that names the
/// header, where it comes from and where it was looked for. "" for any other log.
std::string missing_header(const std::string& log, const Includes& includes);

}  // namespace gpo::driver::nvrtc
