// A *part*: a file that has a temporary name until it is complete. The part lies in the folder of the final file. Its
// name cannot be guessed: no other user has put a file or a link there. The folder stays that of the part's making,
// even if the program changes its working folder later.
//
// A process that dies leaves its parts behind. The first part that a process makes in a folder removes the parts of
// dead processes there.
//
// Is a part's process alive? A part is alive while a process holds its lock. The lock is fcntl's lock of the open file.
// The lock ends with the last process that has the file open. Locks work between containers, and between hosts if the
// network's file system has them.
//
// The name, .gpuorch-BOOT-RANDOM.part, identifies the kernel that made the part, by its latest start. The lock of
// another kernel's part may not be visible here: the part is removed only if also nothing has been written to it for a
// day. A part that can't be locked has a name of another form, and other processes never remove it. Parts of other
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

    // Each once, in this order. Each returns an errno, or 0.
    /// Makes the part, and removes those of dead processes, if this process looks into the folder for the first time.
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
    int locked_ = -1;  // the same open file, once descriptor_ is closed: keeps the lock until the file is in place
    bool there_ = false;
};

}  // namespace gpo
