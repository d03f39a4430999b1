// Finds the CUDA toolkit's headers for NVRTC, which has only the most basic ones built in.
#pragma once

#include <string>
#include <vector>

namespace gpo::driver::nvrtc {

struct Includes {
    std::vector<std::string> folders;   // in the order of their search
    std::vector<std::string> tried;     // folders searched
};

/// Finds the folders with the toolkit's headers and with CUDA's C++ core libraries (`nv/target`, `cuda/std`), which the
/// toolkit's headers need and Python wheels keep in a folder of their own. Looks beside NVRTC in `library_folder` (of a
/// toolkit or a wheel), then in toolkits below `local` (/usr/local), those of NVRTC's `major` version first.
Includes find_includes(const std::string& library_folder, int major, const std::string& local);

/// Explains a log with "cannot open source file" for a header of the toolkit or the core libraries: a sentence with the
/// header's name, its origin and the folders searched. "" for any other log.
std::string missing_header(const std::string& log, const Includes& includes);

}  // namespace gpo::driver::nvrtc
