// A file that is written under another name until all of it is there: beside its place, under a name that nobody can have
// guessed, so that it is no file of anybody else's, and no link. Both names are in the folder that was there when it was made,
// wherever the program changes to meanwhile.
#pragma once

#include <sys/types.h>

#include <string>

namespace gpo {

class PartFile {
public:
    /// Finds the name. Throws Failure(GPO_IO_ERROR), std::bad_alloc.
    explicit PartFile(const std::string& path);
    /// Removes it, unless it is in its place.
    ~PartFile();
    PartFile(const PartFile&) = delete;
    PartFile& operator=(const PartFile&) = delete;

    // Each once, in this order. They return an errno, or 0.
    int create(mode_t mode) noexcept;
    /// Network file systems and quotas may speak up only now.
    int close() noexcept;
    int put_in_place() noexcept;

    int descriptor() const noexcept { return descriptor_; }

private:
    const std::string folder_name_, base_, name_;
    int folder_ = -1, descriptor_ = -1;
    bool there_ = false;
};

}  // namespace gpo
