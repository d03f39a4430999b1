// A file that is written under another name until all of it is there: beside its place, under a name that nobody can have
// guessed, so that it is no file of anybody else's, and no link. Both names are in the folder that was there when it was made,
// wherever the program changes to meanwhile.
//
// A process that dies leaves its parts behind. The first part that a process makes in a folder removes those of dead
// processes. A part is alive as long as somebody holds its lock. The lock is fcntl's, of the open file: it ends with the
// last process that has the file open, and holds between containers, and between hosts where a network's file system has
// locks. The name, .gpuorch-BOOT-RANDOM.part, says which kernel made the part, since which start of it. The lock of another
// kernel's part may not be seen here: such a part is removed only if nothing has been written to it for a day, too. A part
// that can't be locked has a name of another form, and is never removed by others; nor is a part of another user.
#pragma once

#include <sys/types.h>

#include <string>

namespace gpo {

class PartFile {
public:
    /// Throws std::bad_alloc.
    explicit PartFile(const std::string& path);
    /// Removes it, unless it is in its place.
    ~PartFile();
    PartFile(const PartFile&) = delete;
    PartFile& operator=(const PartFile&) = delete;

    // Each once, in this order. They return an errno, or 0.
    /// Makes the part, and removes those of dead processes, if this process looks into the folder for the first time.
    int create(mode_t mode) noexcept;
    /// Network file systems and quotas may speak up only now.
    int close() noexcept;
    int put_in_place() noexcept;

    int descriptor() const noexcept { return descriptor_; }

private:
    int create_as(const char* beginning, mode_t mode) noexcept;
    int create_locked(mode_t mode) noexcept;

    const std::string folder_name_, base_;
    char name_[64];
    int folder_ = -1, descriptor_ = -1;
    int locked_ = -1;  // the same open file, once descriptor_ is closed: the lock lasts until the file is in its place
    bool there_ = false;
};

}  // namespace gpo
