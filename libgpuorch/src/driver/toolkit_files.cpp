#include "driver/toolkit_files.h"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "base/text.h"

namespace gpo::driver {

bool has_file(const std::string& folder, const char* name) {
    struct stat status;
    return stat(text(folder, "/", name).c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

std::vector<std::string> paths_in(const std::string& folder) {
    std::vector<std::string> names;
    DIR* const listing = opendir(folder.c_str());
    if (!listing) return names;
    try {
        while (const dirent* entry = readdir(listing))
            if (entry->d_name[0] != '.') names.push_back(text(folder, "/", entry->d_name));
    } catch (...) {
        closedir(listing);
        throw;
    }
    closedir(listing);
    std::sort(names.begin(), names.end());
    return names;
}

std::string real_path(const std::string& path) {
    char* const found = realpath(path.c_str(), nullptr);
    if (!found) return {};
    const std::unique_ptr<char, void (*)(void*)> owned(found, std::free);
    return found;
}

std::vector<std::string> packages_beside(const std::string& library_folder) {
    const std::string packages = real_path(library_folder + "/../..");
    return packages.ends_with("/nvidia") ? paths_in(packages) : std::vector<std::string>();
}

}  // namespace gpo::driver
