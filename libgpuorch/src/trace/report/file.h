// The file of a trace: text, plain or gzipped, that is written while it is made and is well-formed at every moment,
// whatever happens to the process and to the disk.
//
// Each append ends at a *boundary*, a place where the file could be closed. The same write call that appends also
// writes the closing text behind the boundary, and the next append overwrites that text. So a process that is killed
// leaves a complete file. (Killed within that call, it leaves a file that ends early: behind a boundary, or within the
// text that was being appended.) If a write fails, the file is closed at the last boundary, or cut back to an earlier
// boundary so that the closing text fits into the space that becomes free. If even that fails, the file is removed.
// Pipes and devices get the closing text when they are closed.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "trace/report/claim.h"

namespace gpo::trace {

class File {
public:
    /// Claims the file; gzipped if the name ends in ".gz". It begins with `opening` and ends with `closing`, whatever
    /// comes between. Writes nothing yet: what the file held goes with the first thing that is written. Throws as
    /// Claim does.
    File(const std::string& path, std::string opening, std::string closing, bool alone = false);
    /// One that wasn't closed, and to which nothing was written, is left as it was; removed, if it was made.
    ~File();
    File(const File&) = delete;
    File& operator=(const File&) = delete;

    /// Writes text that ends at a boundary, and the closing text. After a failure nothing is written any more.
    void append(std::string_view text) noexcept;
    /// Closes it. Appending ends.
    void close() noexcept;

    /// The first failure: NULL if all is well.
    const ErrorPtr& error() const noexcept { return error_; }
    /// Of what was appended so far; of the whole file, once it is closed.
    uint64_t bytes() const noexcept { return offset_; }
    const Ref<Claim>& claim() const noexcept { return claim_; }

private:
    struct Boundary {
        uint64_t offset;  // of the file
        uint32_t check;  // gzip: CRC-32 and length of the text before it
        uint32_t length;
    };
    bool write(std::string_view data, std::string_view behind = {}) noexcept;
    bool empty() noexcept;
    int close_descriptor() noexcept;
    bool put(std::string_view text, bool to_boundary) noexcept;
    bool deflate_all(std::string_view text, bool to_boundary) noexcept;
    std::string_view ending(const Boundary& at) noexcept;
    bool close_at(const Boundary& at) noexcept;
    void rescue() noexcept;
    void fail(int number) noexcept;

    const std::string path_, opening_, closing_;
    Ref<Claim> claim_;
    int descriptor_ = -1;  // the claim's; -1: closed
    bool gzip_ = false;
    z_stream stream_{};
    uint32_t check_ = 0, length_ = 0;
    uint64_t offset_ = 0;
    std::vector<Boundary> boundaries_;  // the latest, some before it that are a block and more apart, and the first
    std::vector<unsigned char> packed_;
    std::string ending_;  // has room for any
    ErrorPtr error_;
};

/// Writes a whole file at once, beside its name first, then in its place; a pipe or device that is `claim`ed as it is.
/// Throws Failure(GPO_IO_ERROR) naming it.
void write_whole(const std::string& path, std::string_view text, Claim* claim = nullptr, bool alone = false);

/// Throws Failure(GPO_IO_ERROR) if a file couldn't be written so. Leaves nothing behind.
void check_writable(const std::string& path, const Claim* claim = nullptr);

}  // namespace gpo::trace
