// Files that only one trace at a time writes. A second trace, of this process or of another, gets an error.
//
// A claim is a lock (flock) on the file itself. The lock ends with the process, even a killed one; a forked child
// doesn't share it. On a file system without locks every trace gets the claim. Pipes and devices are shared.
#pragma once

#include <string>

#include "core/object.h"
#include "core/part_file.h"

namespace gpo::trace {

class Claim final : public Counted {
public:
    /// Opens the file, or makes it; old content stays. `alone`: makes the file, for this user alone. Throws
    /// Failure(GPO_IO_ERROR) naming the file, also for a pipe without readers and for another user's symbolic link.
    /// The error is_taken() if another trace has the file, or if `alone` and the file exists. Doesn't block.
    explicit Claim(const std::string& path, bool alone = false);
    static bool is_taken(const Error& error) noexcept;

    /// For writing. -1 in a forked child.
    int descriptor() const noexcept { return descriptor_; }
    bool regular() const noexcept { return regular_; }
    /// The file has content now. Without this call, a file that the claim made is removed with the claim.
    void keep_file() noexcept { made_ = false; }
    void remove_unkept() noexcept;
    /// Closes `part`, and puts it in the file's place; then claims the new file. An errno, or 0.
    int replace(PartFile& part) noexcept;
    /// The result that closing the descriptor would have: an errno, or 0.
    int flush() const noexcept;

private:
    ~Claim() override;
    static void in_child() noexcept;

    const std::string path_;
    int descriptor_ = -1;
    bool regular_ = false, made_ = false;
};

}  // namespace gpo::trace
