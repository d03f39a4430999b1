// The cache of compiled kernels on disk: one file for each compilation, named by a digest of everything that went into
// it.
//
// Every file that the source reads is part of the digest: the compiler reads the files before the cache is asked
// (driver::Compilation::inputs). A header that changes, appears or disappears therefore changes the name.
//
// Trust. The folder must be a real folder (no link), belong to the user, and be writable by no other user; the cache
// creates it so. An entry is used only if it is whole and unaltered: each carries its length and a SHA-256 of itself.
// Any other file is removed, and the kernel is compiled again. Files that a compiler stores beside the entries (a
// precompiled header) are checked by a sum, because a SHA-256 would take as long as the file saves.
//
// Entries appear by rename, so several processes can share the folder without a lock. Nothing here makes a compilation
// fail: without a usable folder there is no cache, and `refused` says why.
#pragma once

#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>

#include "driver/driver.h"

namespace gpo::kernel {

/// The entry's name: a digest of the request, of all inputs besides (driver::Compilation::inputs), and of the compiler
/// and the driver.
std::string cache_key(const driver::CompileRequest& request, const std::string& inputs, const std::string& compiler,
                      const char* driver);

class Cache final : public driver::Shelf {
public:
    static constexpr uint64_t kCapacity = 512u << 20;

    /// Opens the folder, and makes it if necessary. Throws nothing but std::bad_alloc.
    explicit Cache(const std::string& folder, uint64_t capacity = kCapacity);
    ~Cache() override;
    Cache(const Cache&) = delete;
    Cache& operator=(const Cache&) = delete;

    /// Why there is no cache; "" if there is one.
    const std::string& refused() const noexcept { return refused_; }

    /// The entry, if it is whole and the user owns the file. A broken entry is removed.
    std::optional<driver::CompileResult> find(const std::string& key);
    /// Adds or replaces an entry, then removes the oldest beyond the capacity. False if it couldn't be written.
    bool store(const std::string& key, const driver::CompileResult& result);
    void remove(const std::string& key) noexcept;

    /// A compiler's own files. Evicted like entries, the longest unused first; a broken file is removed.
    std::optional<std::string> take(const std::string& name) override;
    bool put(const std::string& name, std::string_view bytes) override;

private:
    /// The whole content of a file in the folder. The file is removed if it isn't a regular file of the user, or is too
    /// large.
    std::optional<std::string> read(const std::string& name);
    /// Writes both pieces to a file, which appears by rename.
    bool write(const std::string& name, std::string_view first, std::string_view second);
    /// `now`: by the clock of the folder's file system.
    void evict(time_t now);
    const uint64_t capacity_;
    int folder_ = -1;
    std::string refused_;
};

}  // namespace gpo::kernel
