#include "host/shared_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace gpo::host {

namespace {

constexpr uint64_t kPage = 4096;
constexpr char kFileName[] = "gpuorch";                 // /proc shows /memfd:gpuorch
constexpr uint64_t kMagic = 0x3165'7261'6873'7067;      // "gpshare1"
constexpr int kStartField = 22;                         // of /proc/PID/stat, from 1

struct Key {
    uint64_t magic, key;
};

// 0: there is no such process.
uint64_t start_of(int32_t number) noexcept {
    char path[32], text[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", number);
    const int file = ::open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    const ssize_t got = read(file, text, sizeof text - 1);
    ::close(file);
    if (got <= 0) return 0;
    text[got] = 0;
    const char* at = strrchr(text, ')');   // ends field 2, the name, which may contain parentheses and spaces
    for (int field = 2; at && field < kStartField; ++field) at = strchr(at + 1, ' ');
    return at ? strtoull(at + 1, nullptr, 10) : 0;
}

uint64_t random_key() noexcept {
    uint64_t key = 0;
    while (getrandom(&key, sizeof key, 0) < 0 && errno == EINTR) {}
    return key;
}

}  // namespace

Process this_process() noexcept {
    const auto number = static_cast<int32_t>(getpid());
    const uint64_t start = start_of(number);
    return start ? Process{number, start} : Process{};
}

bool has_ended(const Process& process) noexcept {
#ifdef SYS_pidfd_open
    // An ended process still has its number and start in /proc until its parent collects the exit status.
    const auto descriptor = static_cast<int>(syscall(SYS_pidfd_open, process.number, 0));
    if (descriptor >= 0) {
        pollfd ended{descriptor, POLLIN, 0};
        const bool over = poll(&ended, 1, 0) == 1 || start_of(process.number) != process.start;
        ::close(descriptor);
        return over;
    }
    if (errno == ESRCH) return true;
#endif
    return start_of(process.number) != process.start;
}

void describe_place(char* to, size_t size) noexcept {
    char boot[64] = {}, numbers[64] = {};
    if (const int file = ::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC); file >= 0) {
        const ssize_t got = read(file, boot, sizeof boot - 1);
        boot[got > 0 ? got - 1 : 0] = 0;   // without the newline
        ::close(file);
    }
    const ssize_t length = readlink("/proc/self/ns/pid", numbers, sizeof numbers - 1);
    numbers[length > 0 ? length : 0] = 0;
    snprintf(to, size, "%s %s", boot, numbers);
}

void SharedFile::swap(SharedFile& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    std::swap(bytes_, other.bytes_);
    std::swap(key_, other.key_);
}

bool SharedFile::create(uint64_t bytes) noexcept {
    close();
    rlimit most{};   // a larger file brings SIGXFSZ
    if (getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur != RLIM_INFINITY && bytes + kPage > most.rlim_cur) {
        errno = EFBIG;
        return false;
    }
    descriptor_ = memfd_create(kFileName, MFD_CLOEXEC);
    if (descriptor_ < 0) return false;
    bytes_ = bytes;
    key_ = random_key();
    const Key key{kMagic, key_};
    if (ftruncate(descriptor_, static_cast<off_t>(bytes + kPage)) == 0 &&
        pwrite(descriptor_, &key, sizeof key, static_cast<off_t>(bytes)) == sizeof key)
        return true;
    const int error = errno;
    close();
    errno = error;
    return false;
}

bool SharedFile::open(const SharedFileName& name) noexcept {
    close();
    char path[64], target[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", name.process, name.descriptor);
    // The descriptor may be another file's by now. Don't open that: opening a device or a pipe may have effects.
    const ssize_t length = readlink(path, target, sizeof target - 1);
    if (length < 0) return false;
    target[length] = 0;
    errno = ENOENT;
    constexpr char kPrefix[] = "/memfd:";
    if (strncmp(target, kPrefix, sizeof kPrefix - 1) != 0 ||
        strncmp(target + sizeof kPrefix - 1, kFileName, sizeof kFileName - 1) != 0)
        return false;
    descriptor_ = ::open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (descriptor_ < 0) return false;
    struct stat about{};
    Key key{};
    if (fstat(descriptor_, &about) == 0 && about.st_size > static_cast<off_t>(kPage) &&
        pread(descriptor_, &key, sizeof key, about.st_size - static_cast<off_t>(kPage)) == sizeof key &&
        key.magic == kMagic && key.key == name.key) {
        bytes_ = static_cast<uint64_t>(about.st_size) - kPage;
        key_ = key.key;
        return true;
    }
    close();
    errno = ENOENT;
    return false;
}

void SharedFile::close() noexcept {
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = -1;
}

SharedFileName SharedFile::name() const noexcept { return {static_cast<int32_t>(getpid()), descriptor_, key_}; }

void* SharedFile::map() const noexcept {
    void* const memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
    return memory == MAP_FAILED ? nullptr : memory;
}

}  // namespace gpo::host
