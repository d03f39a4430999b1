// What there is in the folders of CUDA's toolkits and Python packages.
#pragma once

#include <string>
#include <vector>

namespace gpo::driver {

/// Is there a file of that name, and no folder?
bool has_file(const std::string& folder, const char* name);

/// The paths of what is in a folder, sorted; nothing that is hidden. Empty where there is no such folder.
std::vector<std::string> paths_in(const std::string& folder);

/// The path without links and "..". "" if nothing is there.
std::string real_path(const std::string& path);

/// The `nvidia` folder of the Python packages of which one has its library in this folder: its folders; else none.
std::vector<std::string> packages_beside(const std::string& library_folder);

}  // namespace gpo::driver
