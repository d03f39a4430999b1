// Runs the machine's C++ compiler: without a shell, with its output drained, within limits of time, memory and size,
// and ended together with all its children.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gpo::softgpu {

/// The default search path for programs.
inline constexpr char kUsualPath[] = "/usr/local/bin:/usr/bin:/bin";

struct ProcessResult {
    bool started = false;      // false: `output` says why, and `error` is the errno
    int error = 0;
    bool timed_out = false;
    bool status_known = false; // false when the host reaps all children itself
    int status = 0;            // exit code; -signal
    std::string output;        // stdout and stderr
    bool failed() const { return !started || timed_out || (status_known && status != 0); }
};

struct ProcessRequest {
    std::vector<std::string> arguments = {};   // the first is the program's absolute path
    std::string folder = {};              // working folder and TMPDIR
    uint64_t deadline = 0;                // by host::now()
    uint64_t memory = uint64_t{8} << 30;  // bytes of address space, for each of its processes
    /// Whether the process gets CPATH and the like. A preprocessed source needs no include folders.
    bool include_paths = true;
};

/// Runs a process until it ends or the deadline passes, no matter which processes have its output open. Then kills the
/// rest of its process group. Files that the process writes can't grow beyond kLargestOutput. Its locale is C, and in a
/// set-uid program its environment consists only of kUsualPath. Throws std::bad_alloc.
ProcessResult run_process(const ProcessRequest& request);

inline constexpr uint64_t kLargestOutput = uint64_t{1} << 30;   // bytes

/// A folder that only this user can access. The object keeps a descriptor, and its destructor removes the folder. If
/// the folder can't be made, `path` is empty, and `why` and `error` have the reason. The first object in a process also
/// removes the folders left by dead processes of this user.
class PrivateFolder {
public:
    PrivateFolder();
    ~PrivateFolder();
    PrivateFolder(const PrivateFolder&) = delete;
    PrivateFolder& operator=(const PrivateFolder&) = delete;
    std::string path, why;
    int error = 0;

    /// Writes `name` (with folders, relative, no "..") below the folder. 0, or the system's error; EINVAL for another
    /// name.
    int write(const std::string& name, std::string_view text) const;
    /// 0, or the system's error; EFBIG for a file of more than `most` bytes, EINVAL for a file that isn't regular.
    int read(const std::string& name, uint64_t most, std::string& text) const;

private:
    int folder_ = -1;
};

}  // namespace gpo::softgpu
