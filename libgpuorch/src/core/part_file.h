// A *part*: a file that has a temporary name until it is complete. The part lies in the folder of the final file. Its
// name is random: other users can't place a file or a link there in advance. The folder is opened once, so that a later
// change of the working directory has no effect.
//
// A process that dies leaves its parts behind. The first part that a process makes in a folder removes the parts of
// dead processes there.
//
// A part is in use while a process holds the lock on it. The lock is an fcntl lock of the open file description, which
// ends when the last process closes the file or dies. Locks work between containers, and between hosts if the network
// file system supports locks.
//
// A part's name is .gpuorch-BOOT-RANDOM.part. BOOT identifies the boot of the host that made the part. Locks of other
// hosts may be invisible here: their parts are removed only if, in addition, nothing was written to them for a day.
// Where files can't be locked, parts get names of another form, which other processes never remove. Parts of other
// users are never removed.
#pragma once

#include <sys/types.h>

#include <string>

namespace gpo {

class PartFile {
public:
    /// Throws std::bad_alloc.
    explicit PartFile(const std::string& path);
    /// Removes the part, unless it was put in place.
    ~PartFile();
    PartFile(const PartFile&) = delete;
    PartFile& operator=(const PartFile&) = delete;

    // Call each of these once, in this order. Each returns an errno, or 0.
    /// Makes the part. On the first part in a folder, the process also removes the parts of dead processes there.
    int create(mode_t mode) noexcept;
    /// Network file systems and quotas may report errors only here.
    int close() noexcept;
    int put_in_place() noexcept;

    int descriptor() const noexcept { return descriptor_; }

private:
    int create_as(const char* beginning, mode_t mode) noexcept;
    int create_locked(mode_t mode) noexcept;

    const std::string folder_name_, base_;
    char name_[64];
    int folder_ = -1, descriptor_ = -1;
    int locked_ = -1;  // a duplicate of descriptor_, which holds the lock until the file is in place
    bool there_ = false;
};

}  // namespace gpo
