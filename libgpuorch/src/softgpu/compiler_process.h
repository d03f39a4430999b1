// Runs the machine's C++ compiler: no shell, its output drained, ended with all its children when it takes too long.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gpo::softgpu {

/// Where programs are looked for when nobody says where.
inline constexpr char kUsualPath[] = "/usr/local/bin:/usr/bin:/bin";

struct ProcessResult {
    bool started = false;      // false: `output` says why, and `error` is the system's number of it
    int error = 0;
    bool timed_out = false;
    bool status_known = false; // false when the host reaps all children itself
    int status = 0;            // exit code; -signal
    std::string output;        // stdout and stderr
    bool failed() const { return !started || timed_out || (status_known && status != 0); }
};

/// `arguments[0]` is the program's path. Runs in `folder`, with TMPDIR there and LC_ALL=C, and
/// in a set-uid program with no other environment than kUsualPath. Throws std::bad_alloc.
ProcessResult run_process(const std::vector<std::string>& arguments, const std::string& folder, uint64_t timeout_ns);

/// A folder that only this user can reach, gone with this object: it keeps the descriptor that takes. `path` is empty, and
/// `why` and `error` tell, when it can't be made.
class PrivateFolder {
public:
    PrivateFolder();
    ~PrivateFolder();
    PrivateFolder(const PrivateFolder&) = delete;
    PrivateFolder& operator=(const PrivateFolder&) = delete;
    std::string path, why;
    int error = 0;

    /// Writes `name` (with folders, relative, no "..") below the folder. 0, or the system's error; EINVAL for another name.
    int write(const std::string& name, std::string_view text) const;
    int read(const std::string& name, std::string& text) const;

private:
    int folder_ = -1;
};

}  // namespace gpo::softgpu
