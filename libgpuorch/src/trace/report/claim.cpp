#include "trace/report/claim.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

namespace gpo::trace {

namespace {

// Claims whose descriptors a forked child closes: otherwise the child would share the locks, and could outlive this
// process. Claims that don't fit are only unlocked at their end.
constinit std::atomic<Claim*> g_claims[64] = {};
constexpr int kMostNames = 100;

/// Unlocks first: a process that is just being started may have the descriptor until its exec.
void unlock_and_close(int descriptor) noexcept {
    flock(descriptor, LOCK_UN);
    ::close(descriptor);
}

[[noreturn]] void fail_open(const std::string& path, int number, std::string_view why) {
    auto error = std::make_shared<Error>();
    error->status = GPO_IO_ERROR;
    error->native_code = number;
    error->native_domain = GPO_NATIVE_ERRNO;
    error->message = text(path, " can't be written: ", why);
    throw Failure(std::move(error));
}

[[noreturn]] void fail_taken(const std::string& path) {
    fail_open(path, EWOULDBLOCK, "another process, or another runtime of this one, writes its trace to it");
}

// Opens an existing file. A link is followed if it is the user's own, or root's (/dev/stdout): in a shared folder,
// another user's link may lead to any file of ours.
int open_there(const std::string& path) {
    int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW, 0644);
    struct stat link;
    if (descriptor < 0 && errno == ELOOP) {
        if (lstat(path.c_str(), &link) == 0 && S_ISLNK(link.st_mode) && link.st_uid != geteuid() && link.st_uid != 0)
            fail_open(path, ELOOP, text("it is a symbolic link of user ", link.st_uid));
        descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0644);
    }
    if (descriptor < 0 && errno == ENXIO) fail_open(path, ENXIO, "it is a pipe that nobody reads");
    if (descriptor >= 0) fcntl(descriptor, F_SETFL, 0);   // writes to a pipe wait for its reader
    return descriptor;
}

}  // namespace

Claim::Claim(const std::string& path, bool alone) : path_(path) {
    for (int tries = 1;; ++tries) {
        descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, alone ? 0600 : 0644);
        made_ = descriptor_ >= 0;
        if (!made_ && errno == EEXIST && alone) fail_open(path_, EWOULDBLOCK, "it is there already");
        if (!made_ && errno == EEXIST) descriptor_ = open_there(path_);
        if (descriptor_ < 0) fail_errno(GPO_IO_ERROR, errno, text(path_, " can't be written"));
        struct stat opened, now;
        regular_ = fstat(descriptor_, &opened) == 0 && S_ISREG(opened.st_mode);
        if (!regular_) break;
        if (flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
            ::close(descriptor_);
            fail_taken(path_);
        }
        // The earlier holder may just have removed or replaced the file. (On some file systems, inode numbers don't
        // last.)
        if (stat(path_.c_str(), &now) == 0 && now.st_dev == opened.st_dev && now.st_ino == opened.st_ino) break;
        if (tries == kMostNames) break;
        unlock_and_close(descriptor_);
    }
    host::on_fork(in_child);
    for (auto& place : g_claims)
        if (Claim* none = nullptr; place.compare_exchange_strong(none, this)) break;
}

Claim::~Claim() {
    for (auto& place : g_claims)
        if (Claim* self = this; place.compare_exchange_strong(self, nullptr)) break;
    if (host::forked()) return;
    remove_unkept();
    unlock_and_close(descriptor_);
}

void Claim::in_child() noexcept {
    for (auto& place : g_claims)
        if (Claim* claim = place.load()) ::close(std::exchange(claim->descriptor_, -1));
}

bool Claim::is_taken(const Error& error) noexcept {
    return error.status == GPO_IO_ERROR && error.native_domain == GPO_NATIVE_ERRNO && error.native_code == EWOULDBLOCK;
}

void Claim::remove_unkept() noexcept {
    if (std::exchange(made_, false)) unlink(path_.c_str());
}

int Claim::replace(PartFile& part) noexcept {
    int next = fcntl(part.descriptor(), F_DUPFD_CLOEXEC, 0);
    if (next >= 0) flock(next, LOCK_EX | LOCK_NB);
    int number = part.close();
    if (number == 0) number = part.put_in_place();
    if (number == 0) keep_file();
    if (number == 0 && next >= 0) std::swap(descriptor_, next);
    if (next >= 0) unlock_and_close(next);
    return number;
}

int Claim::flush() const noexcept {
    const int same = fcntl(descriptor_, F_DUPFD_CLOEXEC, 0);
    return same < 0 || ::close(same) == 0 ? 0 : errno;
}

}  // namespace gpo::trace
