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
    while (file.read(buffer, sizeof buffer) || file.gcount() > 0) whole.append(buffer, static_cast<size_t>(file.gcount()));
    return whole;
}

/// A new folder for temporary files; it goes with all that is in it.
class Folder {
public:
    Folder() {
        if (!mkdtemp(name_.data())) throw std::system_error(errno, std::generic_category(), name_);
    }
    ~Folder() { std::filesystem::remove_all(name_); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;

    const std::string& path() const noexcept { return name_; }
    std::string operator/(const std::string& name) const { return name_ + "/" + name; }
    /// Names of all that is in it.
    std::set<std::string> names() const {
        std::set<std::string> found;
        for (const auto& entry : std::filesystem::directory_iterator(name_)) found.insert(entry.path().filename());
        return found;
    }

private:
    std::string name_ = (std::filesystem::temp_directory_path() / "gpuorch-XXXXXX").string();
};

}  // namespace gpo::test
