#include "core/part_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <string_view>
#include <utility>

#include "host/host.h"

namespace gpo {

namespace {

constexpr std::string_view kLockable = ".gpuorch-", kEnd = ".part";
constexpr size_t kBootDigits = 8, kRandomDigits = 16;
constexpr size_t kNameLength = kLockable.size() + kBootDigits + 1 + kRandomDigits + kEnd.size();
constexpr time_t kDay = 24 * 60 * 60;
constexpr int kTries = 8;
constexpr size_t kEntries = 100'000;  // most entries of a folder that are looked at

bool is_digit(char c) noexcept { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

template <class Open>
int opened(Open&& open) noexcept {
    int descriptor;
    do descriptor = open();
    while (descriptor < 0 && errno == EINTR);
    return descriptor;
}

/// The first digits of the kernel's boot id; all 0 if it can't be read.
const char* boot_digits() noexcept {
    static const std::array<char, kBootDigits + 1> digits = [] {
        std::array<char, kBootDigits + 1> out;
        out.fill('0');
        out[kBootDigits] = '\0';
        const int file = opened([] { return ::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC); });
        if (file < 0) return out;
        char read_now[kBootDigits];
        if (::read(file, read_now, sizeof read_now) == sizeof read_now &&
            std::all_of(read_now, read_now + sizeof read_now, is_digit))
            std::copy(read_now, read_now + sizeof read_now, out.begin());
        ::close(file);
        return out;
    }();
    return digits.data();
}

bool lock(int descriptor, short kind) noexcept {
    struct flock whole{};
    whole.l_type = kind;
    whole.l_whence = SEEK_SET;
    return ::fcntl(descriptor, F_OFD_SETLK, &whole) == 0;
}

bool is_lockable(std::string_view name) noexcept {
    const auto digits = [](std::string_view text) {
        return std::all_of(text.begin(), text.end(), is_digit);
    };
    return name.size() == kNameLength && name.starts_with(kLockable) && name.ends_with(kEnd) &&
           digits(name.substr(kLockable.size(), kBootDigits)) && name[kLockable.size() + kBootDigits] == '-' &&
           digits(name.substr(kLockable.size() + kBootDigits + 1, kRandomDigits));
}

/// `now`: time of the folder's host, in seconds.
void remove_if_stale(int folder, const char* name, time_t now) noexcept {
    struct stat about, opened_file;
    const auto may_go = [&](const struct stat& file) {
        return S_ISREG(file.st_mode) && file.st_uid == ::geteuid() && file.st_nlink == 1;
    };
    if (::fstatat(folder, name, &about, AT_SYMLINK_NOFOLLOW) != 0 || !may_go(about)) return;
    const bool of_this_kernel = std::strncmp(name + kLockable.size(), boot_digits(), kBootDigits) == 0;
    if (!of_this_kernel && now - about.st_mtim.tv_sec < kDay) return;
    const int file =
        opened([&] { return ::openat(folder, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY); });
    if (file < 0) return;
    // The file may be new and not locked yet: its process notices the unlinking later, and makes another file. If the
    // file has been moved to its final place meanwhile, this name no longer refers to it.
    if (lock(file, F_WRLCK) && ::fstat(file, &opened_file) == 0 && may_go(opened_file) &&
        opened_file.st_dev == about.st_dev && opened_file.st_ino == about.st_ino)
        ::unlinkat(folder, name, 0);
    ::close(file);
}

void remove_stale(int folder, time_t now) noexcept {
    const int readable = opened([&] { return ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
    if (readable < 0) return;
    DIR* const entries = ::fdopendir(readable);
    if (!entries) {
        ::close(readable);
        return;
    }
    for (size_t count = 0; count < kEntries; ++count) {
        const dirent* const entry = ::readdir(entries);
        if (!entry) break;
        if (is_lockable(entry->d_name)) remove_if_stale(folder, entry->d_name, now);
    }
    ::closedir(entries);
}

/// Whether this process still has to search the folder for stale parts. It remembers only the latest folders, and
/// searches others again.
bool is_new(int folder) noexcept {
    using Number =
        std::array<uint64_t, 5>;  // includes the creation time: a later folder may have the same device and inode
    static host::Mutex lock;
    static std::array<Number, 64> known;
    static size_t count = 0;
    struct statx about;
    if (::statx(folder, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &about) != 0) return false;
    const bool born = about.stx_mask & STATX_BTIME;
    const Number number{about.stx_dev_major, about.stx_dev_minor, about.stx_ino,
                        born ? static_cast<uint64_t>(about.stx_btime.tv_sec) : 0, born ? about.stx_btime.tv_nsec : 0};
    std::lock_guard guard(lock);
    const auto end = known.begin() + static_cast<std::ptrdiff_t>(std::min(count, known.size()));
    if (std::find(known.begin(), end, number) != end) return false;
    known[count++ % known.size()] = number;
    return true;
}

}  // namespace

PartFile::PartFile(const std::string& path)
    : folder_name_(path.substr(0, path.rfind('/') + 1)), base_(path.substr(folder_name_.size())) {}

PartFile::~PartFile() {
    if (there_) ::unlinkat(folder_, name_, 0);
    for (const int descriptor : {descriptor_, locked_, folder_})
        if (descriptor >= 0) ::close(descriptor);
}

int PartFile::create_as(const char* beginning, mode_t mode) noexcept {
    uint64_t random = 0;
    if (::getrandom(&random, sizeof random, 0) != sizeof random) return errno;
    std::snprintf(name_, sizeof name_, "%s%016" PRIx64 "%s", beginning, random, kEnd.data());
    descriptor_ = opened([&] {
        return ::openat(folder_, name_, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
    });
    there_ = descriptor_ >= 0;
    return there_ ? 0 : errno;
}

int PartFile::create(mode_t mode) noexcept {
    const char* folder = folder_name_.empty() ? "." : folder_name_.c_str();
    folder_ = opened([&] { return ::open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC); });
    if (folder_ < 0) return errno;
    const int number = create_locked(mode);
    struct stat about;
    // Take the current time from the new file: a file server's clock may differ from this host's.
    if (number == 0 && is_new(folder_) && ::fstat(descriptor_, &about) == 0)
        remove_stale(folder_, about.st_ctim.tv_sec);
    return number;
}

int PartFile::create_locked(mode_t mode) noexcept {
    char beginning[32];
    std::snprintf(beginning, sizeof beginning, "%s%s-", kLockable.data(), boot_digits());
    for (int tries = 0; tries < kTries; ++tries) {
        if (const int number = create_as(beginning, mode)) return number;
        struct stat about;
        // Shared: no conflict with the lock of another user, who may lock readable files.
        const bool locked = lock(descriptor_, F_RDLCK);
        if (locked && ::fstat(descriptor_, &about) == 0 && about.st_nlink == 1) return 0;
        // Another process has removed the part as stale, or is checking it. Or the file system has no locks.
        const bool again = locked || errno == EAGAIN || errno == EACCES;
        ::unlinkat(folder_, name_, 0);
        there_ = false;
        ::close(std::exchange(descriptor_, -1));
        if (!again) break;
    }
    return create_as(".", mode);
}

int PartFile::close() noexcept {
    const int descriptor = std::exchange(descriptor_, -1);
    if (descriptor < 0) return 0;
    locked_ = ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
    return ::close(descriptor) == 0 || errno == EINTR ? 0 : errno;
}

int PartFile::put_in_place() noexcept {
    if (::renameat(folder_, name_, folder_, base_.c_str()) != 0) return errno;
    there_ = false;
    return 0;
}

}  // namespace gpo
