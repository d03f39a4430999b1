// Look-ups in the folders of CUDA's toolkits and Python packages.
#pragma once

#include <string>
#include <vector>

namespace gpo::driver {

/// Is there a file of that name, and no folder?
bool has_file(const std::string& folder, const char* name);

/// Sorted paths of a folder's entries without hidden ones. Empty if the folder doesn't exist.
std::vector<std::string> paths_in(const std::string& folder);

/// The path without links and ".."; "" if no file is there.
std::string real_path(const std::string& path);

/// The packages in the `nvidia` folder of Python's packages, if `library_folder` belongs to one of them; else none.
std::vector<std::string> packages_beside(const std::string& library_folder);

}  // namespace gpo::driver
