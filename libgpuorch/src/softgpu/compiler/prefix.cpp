#include "softgpu/compiler/prefix.h"

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <utility>

namespace gpo::softgpu {

namespace {

constexpr uint64_t kLargestPrecompiled = 256 << 20;                // bytes
constexpr uint64_t kPrecompilingTime = 30'000'000'000;             // ns
constexpr uint64_t kPrecompilingMemory = uint64_t{2} << 30;        // bytes

/// Names what is precompiled: 128 bits of FNV-1a, which meets no adversary here.
std::string name_of(const std::string& prefix, const std::vector<std::string>& command, const std::string& version) {
    unsigned __int128 sum = (static_cast<unsigned __int128>(0x6c62272e07bb0142u) << 64) | 0x62b821756295c58du;
    const unsigned __int128 prime = (static_cast<unsigned __int128>(1) << 88) | 0x13b;
    const auto add = [&](std::string_view text) {
        for (const char c : text) sum = (sum ^ static_cast<unsigned char>(c)) * prime;
        sum *= prime;   // ends the field
    };
    add(version);
    for (const std::string& word : command) add(word);
    add(prefix);
    char name[33];
    snprintf(name, sizeof name, "%016llx%016llx", static_cast<unsigned long long>(sum >> 64),
             static_cast<unsigned long long>(sum));
    return name;
}

/// Where the file with the mark begins. Its line marker goes to the rest, since the rest also has the marker that
/// leaves the file.
size_t cut_of(const std::string& text) {
    const size_t mark = text.find(kPrefixEnd);
    if (mark == std::string::npos) return mark;
    const size_t marker = text.rfind("\n# 1 \"", mark);
    return marker == std::string::npos ? marker : marker + 1;
}

}  // namespace

bool PrecompiledPrefixes::use(driver::Shelf& shelf, const PrivateFolder& folder,
                              const std::vector<std::string>& command, const std::string& version, uint64_t deadline,
                              std::string& text) {
    const size_t cut = cut_of(text);
    if (cut == std::string::npos) return false;
    const std::string prefix = text.substr(0, cut), name = name_of(prefix, command, version);
    {
        host::Lock lock(lock_);
        if (failed_.count(name)) return false;
    }
    if (folder.write(kPrefix, prefix) != 0 || !find_or_make(shelf, folder, command, name, deadline)) return false;
    text.replace(0, cut, "# 0 \"<command-line>\"\n");
    return true;
}

bool PrecompiledPrefixes::find_or_make(driver::Shelf& shelf, const PrivateFolder& folder,
                                       const std::vector<std::string>& command, const std::string& name,
                                       uint64_t deadline) {
    if (const auto known = shelf.take(name)) return folder.write(kPrecompiledPrefix, *known) == 0;
    ProcessRequest request{.arguments = command,
                           .folder = folder.path,
                           .deadline = std::min(deadline, host::now() + kPrecompilingTime),
                           .memory = kPrecompilingMemory,
                           .include_paths = false};
    request.arguments.insert(request.arguments.end(), {"-x", "c++-header", kPrefix, "-o", kPrecompiledPrefix});
    const ProcessResult process = run_process(request);
    std::string made;
    if (!process.failed() && folder.read(kPrecompiledPrefix, kLargestPrecompiled, made) == 0 && !made.empty() &&
        shelf.put(name, made))
        return true;
    host::Lock lock(lock_);
    failed_.insert(name);
    return false;
}

}  // namespace gpo::softgpu
