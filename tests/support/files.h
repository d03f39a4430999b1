// Files as tests see them.
#pragma once

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>

namespace gpo::test {

/// A file's bytes; "" if it can't be read. (Not by stream iterators, which take a call for each byte.)
inline std::string read_whole(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::string whole;
    char buffer[65536];
    while (file.read(buffer, sizeof buffer) || file.gcount() > 0) whole.append(buffer, static_cast<size_t>(file.gcount()));
    return whole;
}

}  // namespace gpo::test
