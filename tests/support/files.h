// Files as tests see them.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <system_error>

namespace gpo::test {

/// A file's bytes; "" if it can't be read. (Not by stream iterators, which take a call for each byte.)
inline std::string read_whole(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::string whole;
    char buffer[65536];
    while (file.read(buffer, sizeof buffer) || file.gcount() > 0)
        whole.append(buffer, static_cast<size_t>(file.gcount()));
    return whole;
}

/// A new folder for temporary files, deleted with its contents at the end.
struct Folder {
    /// `parent`: for files that other users have to reach; TMPDIR may be closed to them.
    explicit Folder(const std::string& parent = std::filesystem::temp_directory_path()) : path(make(parent)) {}
    ~Folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path, ignored);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;

    std::string operator/(const std::string& name) const { return path + "/" + name; }
    /// Names of all its entries.
    std::set<std::string> names() const {
        std::set<std::string> found;
        for (const auto& entry : std::filesystem::directory_iterator(path)) found.insert(entry.path().filename());
        return found;
    }

    const std::string path;

private:
    static std::string make(const std::string& parent) {
        std::string name = parent + "/gpuorch-test-XXXXXX";
        if (!mkdtemp(name.data())) throw std::system_error(errno, std::generic_category(), name);
        return name;
    }
};

}  // namespace gpo::test
