// Reads and writes files with POSIX calls. A regular file is read up to its size at opening: shrinking is an error, and
// a part added later is not read. With GPO_SOURCE_UNCHANGED any change is an error.
#include "pipeline/data_file.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "core/part_file.h"
#include "pipeline/range_source.h"

namespace gpo::pipeline {

namespace {

constexpr uint64_t kCallBytes = uint64_t{1} << 30;  // Linux moves at most 2 GiB - 4 KiB by one call

template <class Call>
auto retry(Call&& call) noexcept {
    decltype(call()) result;
    do result = call();
    while (result < 0 && errno == EINTR);
    return result;
}

gpo_status open_status(int number) noexcept {
    return number == ENOENT || number == ENOTDIR ? GPO_NOT_FOUND : GPO_IO_ERROR;
}

[[noreturn]] void fail_file(gpo_status status, int number, const std::string& name, const char* what) {
    fail_errno(status, number, text(name, " ", what));
}

/// A file is given by its path or by its descriptor. `what`: "source" or "sink", `flag`: its GPO_…_USE_DESCRIPTOR.
void check_given(const char* what, const char* path, bool by_descriptor, int descriptor, const char* flag) {
    if (path && by_descriptor) fail(GPO_INVALID_ARGUMENT, what, ".path is given, and ", what, ".flags has ", flag);
    if (path || by_descriptor) return;
    if (descriptor != 0)
        fail(GPO_INVALID_ARGUMENT, what, ".descriptor is ", descriptor, ", and ", what, ".flags lacks ", flag);
    fail(GPO_INVALID_ARGUMENT, what, ".path is NULL, and ", what, ".flags has no ", flag);
}

std::string quoted(const char* path, int descriptor) {
    return path ? text("file `", path, "`") : text("descriptor ", descriptor);
}

/// An input file, with its state at opening. If `watched`, a regular file must still have this state at its end.
class InputFile {
public:
    InputFile(Descriptor file, std::string name, const struct stat& opened, bool watched)
        : file_(std::move(file)), name_(std::move(name)), opened_(opened),
          watched_(watched && S_ISREG(opened.st_mode)) {}

    int get() const noexcept { return file_.get(); }
    [[noreturn]] void fail(int number) const { fail_file(GPO_IO_ERROR, number, name_, "can't be read"); }
    [[noreturn]] void fail_shrunk() const { gpo::fail(GPO_IO_ERROR, name_, " shrank while it was read"); }

    void check_end() const {
        if (!watched_) return;
        struct stat now;
        if (::fstat(file_.get(), &now) != 0) fail(errno);
        if (now.st_size < opened_.st_size) fail_shrunk();
        if (now.st_size > opened_.st_size)
            gpo::fail(GPO_IO_ERROR, name_, " grew while it was read: ", now.st_size - opened_.st_size, " bytes more");
        if (now.st_nlink < opened_.st_nlink)
            gpo::fail(GPO_IO_ERROR, name_, now.st_nlink == 0 ? " was" : " had a name that was",
                      " deleted while it was read");
        if (now.st_mtim.tv_sec != opened_.st_mtim.tv_sec || now.st_mtim.tv_nsec != opened_.st_mtim.tv_nsec)
            gpo::fail(GPO_IO_ERROR, name_, " was written to while it was read");
    }

private:
    Descriptor file_;
    std::string name_;
    struct stat opened_;
    bool watched_;
};

class FileRange final : public Bytes {
public:
    explicit FileRange(InputFile file) : file_(std::move(file)) {}

    int fetch(char* to, uint64_t at, uint64_t bytes) const noexcept override {
        while (bytes != 0) {
            const auto got = retry([&] {
                return ::pread(file_.get(), to, std::min(bytes, kCallBytes), static_cast<off_t>(at));
            });
            if (got < 0) return errno;
            if (got == 0) return kShrank;
            to += got;
            at += static_cast<uint64_t>(got);
            bytes -= static_cast<uint64_t>(got);
        }
        return 0;
    }
    void fail(int error) const override {
        if (error == kShrank) file_.fail_shrunk();
        file_.fail(error);
    }
    void check_end() const override { file_.check_end(); }

private:
    static constexpr int kShrank = -1;

    const InputFile file_;
};

/// Pipes, sockets, terminals, and files that don't know their size (/proc).
class StreamSource final : public SerialSource {
public:
    StreamSource(InputFile file, uint64_t most) : file_(std::move(file)), left_(most) {}

    void interrupt() noexcept override { interrupt_.raise(); }

private:
    uint64_t fill(void* buffer, uint64_t capacity) override {
        uint64_t filled = 0;
        capacity = std::min(capacity, left_);
        while (filled < capacity) {
            if (!interrupt_.wait(file_.get(), POLLIN)) break;
            const auto got = retry([&] {
                char* const to = static_cast<char*>(buffer) + filled;
                return ::read(file_.get(), to, std::min(capacity - filled, kCallBytes));
            });
            if (got < 0 && errno == EAGAIN) continue;
            if (got < 0) file_.fail(errno);
            if (got == 0) {
                left_ = filled;   // the end for this run, even if a pipe or a terminal gets more data later
                break;
            }
            filled += static_cast<uint64_t>(got);
        }
        left_ -= filled;
        if (filled < capacity || left_ == 0) file_.check_end();  // an interrupted run ignores the failure
        return filled;
    }

    const InputFile file_;
    uint64_t left_;
    Interrupt interrupt_;
};

/// Writes to an existing descriptor: the caller's, a device's or a pipe's.
class StreamSink final : public Sink {
public:
    StreamSink(Descriptor file, std::string name) : file_(std::move(file)), name_(std::move(name)) {
        // After poll, a pipe takes a page at once. A larger write may block, and can't be interrupted.
        struct stat about;
        if (::fstat(file_.get(), &about) == 0 && S_ISREG(about.st_mode)) most_ = kCallBytes;
    }

    void put(const void* output, uint64_t, uint64_t bytes) override {
        auto from = static_cast<const char*>(output);
        while (bytes != 0) {
            if (!interrupt_.wait(file_.get(), POLLOUT)) fail(GPO_CANCELLED, name_, ": writing was cancelled");
            const auto put = retry([&] { return ::write(file_.get(), from, std::min(bytes, most_)); });
            if (put < 0 && errno == EAGAIN) continue;
            if (put < 0) fail_file(GPO_IO_ERROR, errno, name_, "can't be written");
            from += put;
            bytes -= static_cast<uint64_t>(put);
        }
    }

    void interrupt() noexcept override { interrupt_.raise(); }

private:
    const Descriptor file_;
    const std::string name_;
    uint64_t most_ = PIPE_BUF;  // bytes by one call
    Interrupt interrupt_;
};

/// A new file, with another name until it is complete. The file stays in its folder even if the program changes its
/// working directory meanwhile.
class FileSink final : public Sink {
public:
    FileSink(const char* path, std::string name) : name_(std::move(name)), file_(path) {
        if (const int number = file_.create(0666)) fail_file(open_status(number), number, name_, "can't be created");
    }

    void put(const void* output, uint64_t, uint64_t bytes) override {
        auto from = static_cast<const char*>(output);
        while (bytes != 0) {
            const auto put = retry([&] { return ::write(file_.descriptor(), from, std::min(bytes, kCallBytes)); });
            if (put < 0) fail_file(GPO_IO_ERROR, errno, name_, "can't be written");
            from += put;
            bytes -= static_cast<uint64_t>(put);
        }
    }

    void commit() override {
        if (const int number = file_.close()) fail_file(GPO_IO_ERROR, number, name_, "can't be written");
        if (const int number = file_.put_in_place()) fail_file(GPO_IO_ERROR, number, name_, "can't be put in place");
    }

private:
    const std::string name_;
    PartFile file_;
};

}  // namespace

Descriptor::~Descriptor() { close(); }

int Descriptor::close() noexcept {
    if (!owned_) return 0;
    owned_ = false;
    return ::close(number_) == 0 || errno == EINTR ? 0 : errno;
}

Interrupt::Interrupt() : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), true) {
    if (event_.get() < 0) fail_errno(GPO_LIMIT_EXCEEDED, errno, "no descriptor is left");
}

void Interrupt::raise() noexcept {
    const uint64_t one = 1;
    // Fails only after some 2^64 raises.
    if (::write(event_.get(), &one, sizeof one) < 0) return;
}

bool Interrupt::wait(int descriptor, short events) noexcept {
    pollfd both[2] = {{descriptor, events, 0}, {event_.get(), POLLIN, 0}};
    // The read or write that follows reports errors and hang-ups.
    retry([&] { return ::poll(both, 2, -1); });
    return both[1].revents == 0;
}

std::unique_ptr<Source> open_file_source(const gpo_source& source, Team& team) {
    check_given("source", source.path, source.flags & GPO_SOURCE_USE_DESCRIPTOR, source.descriptor,
                "GPO_SOURCE_USE_DESCRIPTOR");
    std::string name = quoted(source.path, source.descriptor);
    int number = source.descriptor;
    if (source.path) {
        // Non-blocking: opening a named pipe without a writer doesn't wait; the reads do.
        number = retry([&] { return ::open(source.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); });
        if (number < 0) {
            const int error = errno;
            fail_file(open_status(error), error, name, "can't be opened");
        }
    }
    Descriptor file(number, source.path != nullptr);
    struct stat about;
    if (::fstat(file.get(), &about) != 0) fail_file(GPO_IO_ERROR, errno, name, "can't be read");
    if (S_ISDIR(about.st_mode)) fail_file(GPO_IO_ERROR, EISDIR, name, "can't be read");
    const uint64_t most = source.bytes != 0 ? source.bytes : UINT64_MAX;
    const bool watched = source.flags & GPO_SOURCE_UNCHANGED;
    if (!S_ISREG(about.st_mode) || about.st_size == 0) {
        if (source.offset != 0 && !S_ISREG(about.st_mode))
            fail(GPO_INVALID_ARGUMENT, name, " has no offsets to begin at");
        return std::make_unique<StreamSource>(InputFile(std::move(file), std::move(name), about, watched), most);
    }
    ::posix_fadvise(file.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
    const auto size = static_cast<uint64_t>(about.st_size);
    const uint64_t offset = std::min(source.offset, size);
    InputFile input(std::move(file), std::move(name), about, watched);
    return read_range(std::make_unique<FileRange>(std::move(input)), offset, std::min(size - offset, most), team);
}

std::unique_ptr<Sink> open_file_sink(const gpo_sink& sink) {
    check_given("sink", sink.path, sink.flags & GPO_SINK_USE_DESCRIPTOR, sink.descriptor, "GPO_SINK_USE_DESCRIPTOR");
    std::string name = quoted(sink.path, sink.descriptor);
    if (!sink.path) {
        if (::fcntl(sink.descriptor, F_GETFD) < 0) fail_file(GPO_IO_ERROR, errno, name, "can't be written");
        return std::make_unique<StreamSink>(Descriptor(sink.descriptor, false), std::move(name));
    }
    struct stat about;
    if (::stat(sink.path, &about) != 0) return std::make_unique<FileSink>(sink.path, std::move(name));
    if (S_ISREG(about.st_mode)) {
        // The target of a link is replaced, not the link.
        const std::unique_ptr<char, decltype(&std::free)> path(::realpath(sink.path, nullptr), std::free);
        if (!path) fail_file(GPO_IO_ERROR, errno, name, "can't be replaced");
        return std::make_unique<FileSink>(path.get(), std::move(name));
    }
    // A device or a named pipe is written to, and not replaced. Non-blocking: a pipe without a reader is an error.
    const int number = retry([&] { return ::open(sink.path, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK); });
    if (number < 0) fail_file(GPO_IO_ERROR, errno, name, "can't be written");
    return std::make_unique<StreamSink>(Descriptor(number, true), std::move(name));
}

}  // namespace gpo::pipeline
