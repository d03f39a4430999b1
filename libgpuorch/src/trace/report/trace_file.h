// The file of a trace: plain or gzipped text that is written in steps. After each step the file is well-formed, even if
// the process is killed or the disk is full.
//
// Each append ends at a *boundary*, a place where the file could be closed. The write call of an append also writes the
// closing text behind the boundary; the next append overwrites the closing text. A killed process therefore leaves a
// complete file. A kill within the write call leaves a file that ends early: behind a boundary, or within the appended
// text. If a write fails, the file is closed at the last boundary, or cut back to an earlier boundary to free space for
// the closing text. If even that fails, the file is removed.
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
    /// Claims the file; gzipped if the name ends in ".gz". The file will begin with `opening` and end with `closing`.
    /// Writes nothing yet: the first write removes the file's old content. Throws as Claim does.
    File(const std::string& path, std::string opening, std::string closing, bool alone = false);
    /// A file that was neither written nor closed keeps its old content; a new file is removed.
    ~File();
    File(const File&) = delete;
    File& operator=(const File&) = delete;

    /// Writes text that ends at a boundary, and the closing text. After a failure nothing is written any more.
    void append(std::string_view text) noexcept;
    /// Closes the file. Later appends do nothing.
    void close() noexcept;

    /// The first failure: NULL if all is well.
    const ErrorPtr& error() const noexcept { return error_; }
    /// Bytes that were appended so far; of the whole file, once closed.
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
    std::vector<Boundary> boundaries_;  // the latest, some before that are a block or more apart, and the first
    std::vector<unsigned char> packed_;
    std::string ending_;  // has room for any ending
    ErrorPtr error_;
};

/// Writes a whole file under a temporary name, and moves it into place. A claimed pipe or device is written directly.
/// Throws Failure(GPO_IO_ERROR) naming the file.
void write_whole(const std::string& path, std::string_view text, Claim* claim = nullptr, bool alone = false);

/// Throws Failure(GPO_IO_ERROR) if write_whole() would fail to make a file. Leaves nothing behind.
void check_writable(const std::string& path, const Claim* claim = nullptr);

}  // namespace gpo::trace
