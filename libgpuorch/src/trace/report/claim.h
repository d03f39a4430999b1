// A claim gives one trace the exclusive right to write a file. A second trace that claims the file, in this process or
// another, gets an error.
//
// A claim is a lock (flock) on the file itself. The lock ends with the process, even if the process is killed. Forked
// children don't share it. On file systems without locks, several traces can claim the same file. Pipes and devices
// aren't locked.
#pragma once

#include <string>

#include "core/object.h"
#include "core/part_file.h"

namespace gpo::trace {

class Claim final : public Counted {
public:
    /// Opens or makes the file, and leaves its content. `alone`: the file must be new, and only this user can read it.
    /// Throws Failure(GPO_IO_ERROR) naming the file, also for a pipe without readers and for another user's symbolic
    /// link. is_taken() holds for the error if another trace has claimed the file, or if the file exists in spite of
    /// `alone`. Doesn't block.
    explicit Claim(const std::string& path, bool alone = false);
    static bool is_taken(const Error& error) noexcept;

    /// For writing. -1 in a forked child.
    int descriptor() const noexcept { return descriptor_; }
    bool regular() const noexcept { return regular_; }
    /// Call this when the file has content: otherwise the destructor removes the file if the claim has made it.
    void keep_file() noexcept { made_ = false; }
    void remove_unkept() noexcept;
    /// Closes `part`, replaces the file with it, and claims the new file. Returns an errno, or 0.
    int replace(PartFile& part) noexcept;
    /// Reports the error that closing the descriptor would report: an errno, or 0.
    int flush() const noexcept;

private:
    ~Claim() override;
    static void in_child() noexcept;

    const std::string path_;
    int descriptor_ = -1;
    bool regular_ = false, made_ = false;
};

}  // namespace gpo::trace
