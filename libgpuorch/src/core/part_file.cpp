#include "core/part_file.h"

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "core/error.h"

namespace gpo {

namespace {

std::string unused_name() {
    uint64_t random = 0;
    if (::getrandom(&random, sizeof random, 0) != sizeof random) fail_errno(GPO_IO_ERROR, errno, "no random numbers");
    return text(".", hex(random).substr(2), ".part");
}

template <class Open>
int opened(Open&& open) noexcept {
    int descriptor;
    do descriptor = open();
    while (descriptor < 0 && errno == EINTR);
    return descriptor;
}

}  // namespace

PartFile::PartFile(const std::string& path)
    : folder_name_(path.substr(0, path.rfind('/') + 1)), base_(path.substr(folder_name_.size())), name_(unused_name()) {}

PartFile::~PartFile() {
    close();
    if (there_) ::unlinkat(folder_, name_.c_str(), 0);
    if (folder_ >= 0) ::close(folder_);
}

int PartFile::create(mode_t mode) noexcept {
    const char* folder = folder_name_.empty() ? "." : folder_name_.c_str();
    folder_ = opened([&] { return ::open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC); });
    if (folder_ < 0) return errno;
    descriptor_ = opened([&] {
        return ::openat(folder_, name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
    });
    there_ = descriptor_ >= 0;
    return there_ ? 0 : errno;
}

int PartFile::close() noexcept {
    const int descriptor = std::exchange(descriptor_, -1);
    return descriptor < 0 || ::close(descriptor) == 0 || errno == EINTR ? 0 : errno;
}

int PartFile::put_in_place() noexcept {
    if (::renameat(folder_, name_.c_str(), folder_, base_.c_str()) != 0) return errno;
    there_ = false;
    return 0;
}

}  // namespace gpo
