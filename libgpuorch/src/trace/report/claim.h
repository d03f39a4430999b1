// Files that only one trace at a time writes. A second trace, of this process or of another, gets an error.
//
// A claim is a lock (flock) on the file itself. It ends with its process, however that ends; a forked child doesn't
// share it. On a file system without locks every trace gets the claim. Pipes and devices are shared.
#pragma once

#include <string>

#include "core/object.h"
#include "core/part_file.h"

namespace gpo::trace {

class Claim final : public Counted {
public:
    /// Opens the file, or makes it; what it holds stays. `alone`: it is made, for this user alone. Throws
    /// Failure(GPO_IO_ERROR) naming it: for a pipe that nobody reads, and for another user's symbolic link, too; if
    /// another trace has it, or `alone` and it is there, one that is_taken(). Doesn't block.
    explicit Claim(const std::string& path, bool alone = false);
    static bool is_taken(const Error& error) noexcept;

    /// For writing. -1 in a forked child.
    int descriptor() const noexcept { return descriptor_; }
    bool regular() const noexcept { return regular_; }
    /// Something is in it now. Until then it is removed with the claim, if the claim made it.
    void keep_file() noexcept { made_ = false; }
    void remove_unkept() noexcept;
    /// Closes `part`, and puts it where the file is; it is the one that is claimed then. An errno, or 0.
    int replace(PartFile& part) noexcept;
    /// What closing the descriptor would say: an errno, or 0.
    int flush() const noexcept;

private:
    ~Claim() override;
    static void in_child() noexcept;

    const std::string path_;
    int descriptor_ = -1;
    bool regular_ = false, made_ = false;
};

}  // namespace gpo::trace
