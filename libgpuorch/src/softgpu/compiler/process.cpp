#include "softgpu/compiler/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <new>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/environment.h"
#include "base/text.h"
#include "host/host.h"

extern char** environ;

namespace gpo::softgpu {

namespace {

constexpr size_t kMostOutput = 4 << 20;   // of a compiler's text; more is dropped

struct Pipe {
    int ends[2] = {-1, -1};
    bool open() { return pipe2(ends, O_CLOEXEC) == 0; }
    void close_end(int which) {
        if (ends[which] >= 0) close(ends[which]);
        ends[which] = -1;
    }
    ~Pipe() {
        close_end(0);
        close_end(1);
    }
};

std::vector<char*> pointers(std::vector<std::string>& strings) {
    std::vector<char*> out;
    for (std::string& string : strings) out.push_back(string.data());
    out.push_back(nullptr);
    return out;
}

/// LD_PRELOAD without sanitizers' runtimes, which take more addresses than the compiler may have.
std::string without_sanitizers(std::string_view preloaded) {
    constexpr std::string_view kRuntimes[] = {"libasan", "libtsan", "liblsan", "libubsan", "libhwasan", "libclang_rt."};
    std::string out;
    while (!preloaded.empty()) {
        const std::string_view path = preloaded.substr(0, preloaded.find_first_of(": "));
        preloaded.remove_prefix(std::min(path.size() + 1, preloaded.size()));
        const std::string_view name = path.substr(path.rfind('/') + 1);
        if (std::any_of(std::begin(kRuntimes), std::end(kRuntimes),
                        [&](auto runtime) { return name.starts_with(runtime); }))
            continue;
        if (!path.empty()) out.append(out.empty() ? "" : ":").append(path);
    }
    return out;
}

/// The program's own environment, except in a set-uid program: there the user could choose by PATH, GCC_EXEC_PREFIX and
/// the like what the compiler runs with the program's rights.
std::vector<std::string> environment_for(const ProcessRequest& request) {
    // GCC's lists of read files are for builds by the user, not for compilations by the library.
    constexpr std::string_view kDropped[] = {"TMPDIR", "LC_ALL", "LANGUAGE", "DEPENDENCIES_OUTPUT",
                                             "SUNPRO_DEPENDENCIES"};
    constexpr std::string_view kIncludePaths[] = {"CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "OBJC_INCLUDE_PATH",
                                                  "OBJCPLUS_INCLUDE_PATH"};
    const auto among = [](std::string_view name, const auto& names) {
        return std::find(std::begin(names), std::end(names), name) != std::end(names);
    };
    std::vector<std::string> out;
    if (environment::ignored()) out.push_back(std::string("PATH=") + kUsualPath);
    else
        for (char** entry = environ; entry && *entry; ++entry) {
            const std::string_view text = *entry, name = text.substr(0, text.find('='));
            if (name == "LD_PRELOAD")
                out.push_back("LD_PRELOAD=" + without_sanitizers(text.substr(std::min(text.size(), name.size() + 1))));
            else if (!among(name, kDropped) && (request.include_paths || !among(name, kIncludePaths)))
                out.emplace_back(text);
        }
    out.push_back("TMPDIR=" + request.folder);
    out.push_back("LC_ALL=C");
    return out;
}

/// The child's data between vfork and exec, prepared before. Until exec the child shares the parent's memory, and so
/// only makes system calls and writes to its stack and `*error`.
struct Start {
    char* const* arguments;
    char* const* environment;
    const char* folder;
    int output;
    uint64_t memory, seconds;
    int* error;   // in memory that the child shares even where vfork is a fork, as it is under sanitizers
};

/// A word that is shared with children. NULL without memory.
class SharedWord {
public:
    SharedWord() : at_(mmap(nullptr, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {}
    ~SharedWord() {
        if (get()) munmap(at_, sizeof(int));
    }
    SharedWord(const SharedWord&) = delete;
    SharedWord& operator=(const SharedWord&) = delete;
    int* get() const { return at_ == MAP_FAILED ? nullptr : static_cast<int*>(at_); }

private:
    void* const at_;
};

/// The soft limit and the hard one, where they aren't lower already.
bool limit(int resource, uint64_t soft, uint64_t hard) {
    rlimit now;
    if (getrlimit(static_cast<__rlimit_resource_t>(resource), &now) != 0) return false;
    now.rlim_max = std::min<rlim_t>(now.rlim_max, hard);
    now.rlim_cur = std::min<rlim_t>(std::min<rlim_t>(now.rlim_cur, soft), now.rlim_max);
    return setrlimit(static_cast<__rlimit_resource_t>(resource), &now) == 0;
}

void become(Start& start) {
    // Signals as a new process expects them: our threads block them all. Sanitizers note what passes through sigaction.
    const unsigned long to_default[8] = {};
    for (int signal = 1; signal <= 64; ++signal)
        if (signal != SIGKILL && signal != SIGSTOP)
            syscall(SYS_rt_sigaction, signal, to_default, nullptr, sizeof(uint64_t));
    const bool limited = limit(RLIMIT_CORE, 0, 0) && limit(RLIMIT_FSIZE, kLargestOutput, kLargestOutput) &&
                         limit(RLIMIT_CPU, start.seconds, start.seconds + 1);
    const int output = fcntl(start.output, F_DUPFD_CLOEXEC, 3);   // it may be one of the three itself
    const int input = open("/dev/null", O_RDONLY | O_CLOEXEC);
    const int safe_input = input < 0 ? -1 : fcntl(input, F_DUPFD_CLOEXEC, 3);
    if (limited && setpgid(0, 0) == 0 && output >= 0 && safe_input >= 0 && dup2(safe_input, 0) == 0 &&
        dup2(output, 1) == 1 && dup2(output, 2) == 2 && chdir(start.folder) == 0) {
        const uint64_t none = 0;
        syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, nullptr, sizeof none);
        // Last, and by the system call itself: a sanitizer has more addresses than this, and wants more for what it
        // notes.
        if (limit(RLIMIT_AS, start.memory, start.memory))
            syscall(SYS_execve, start.arguments[0], start.arguments, start.environment);
    }
    *start.error = errno;
    _exit(127);
}

/// -1 with the error in `*start.error`. A child that can't become the program ends with its error in `*start.error`.
/// (posix_spawn sets no limits; fork copies the page tables of a process that may have mapped all of a GPU.)
__attribute__((noinline)) pid_t launch(Start& start) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);   // no handler runs in the child
    const pid_t child = vfork();
    if (child == 0) become(start);
    if (child < 0) *start.error = errno;
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return child;
}

/// True at the end of the output, which is read as far as there is any now.
bool read_output(int descriptor, ProcessResult& result) noexcept {
    char buffer[16384];
    for (size_t total = 0; total < kMostOutput;) {
        const ssize_t count = read(descriptor, buffer, sizeof buffer);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return errno != EAGAIN;
        if (count == 0) return true;
        total += static_cast<size_t>(count);
        try {
            if (result.output.size() < kMostOutput) result.output.append(buffer, static_cast<size_t>(count));
        } catch (const std::bad_alloc&) {
            // Text that finds no room is dropped too: the process must be waited for all the same.
        }
    }
    return false;
}

/// Until the child has ended, or the deadline.
void watch(pid_t child, int output, uint64_t deadline, ProcessResult& result) noexcept {
    const int end = static_cast<int>(syscall(SYS_pidfd_open, child, 0));   // -1: an older kernel, or no descriptor left
    bool open = true;
    for (;;) {
        siginfo_t info{};
        // ECHILD: the host has its children reaped for it.
        const int asked = waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT);
        if ((asked == 0 && info.si_pid == child) || (asked != 0 && errno == ECHILD)) break;
        const uint64_t now = host::now();
        if (now >= deadline) {
            result.timed_out = true;
            break;
        }
        pollfd waits[] = {{open ? output : -1, POLLIN, 0}, {end, POLLIN, 0}};
        const uint64_t most = end >= 0 ? 1000 : 10;   // ms
        poll(waits, 2, static_cast<int>(std::min<uint64_t>((deadline - now) / 1'000'000 + 1, most)));
        if (open && waits[0].revents) open = !read_output(output, result);
    }
    if (end >= 0) close(end);
}

}  // namespace

ProcessResult run_process(const ProcessRequest& request) {
    ProcessResult result;
    Pipe pipe;
    if (!pipe.open() || fcntl(pipe.ends[0], F_SETFL, O_NONBLOCK) != 0) {
        result.error = errno;
        result.output = std::string("no pipe for the compiler's output: ") + std::strerror(result.error);
        return result;
    }
    std::vector<std::string> words = request.arguments, environment = environment_for(request);
    const std::vector<char*> argv = pointers(words), envp = pointers(environment);
    const uint64_t now = host::now(), left = request.deadline > now ? request.deadline - now : 0;
    const SharedWord error;
    Start start{argv.data(),  envp.data(),    request.folder.c_str(),
                pipe.ends[1], request.memory, left / 1'000'000'000 + 1,
                error.get()};
    const auto fail = [&](int number) {
        result = {};
        result.error = number;
        result.output = words[0] + " could not be started: " + std::strerror(number);
    };
    const pid_t child = start.error ? launch(start) : -1;
    if (child < 0) {
        fail(start.error ? *start.error : ENOMEM);
        return result;
    }
    result.started = true;
    pipe.close_end(1);
    watch(child, pipe.ends[0], request.deadline, result);
    kill(-child, SIGKILL);   // the rest of its group, before waitpid frees the number
    int status = 0;
    pid_t reaped;
    while ((reaped = waitpid(child, &status, 0)) < 0 && errno == EINTR) {}
    if (*start.error != 0) {
        fail(*start.error);
        return result;
    }
    read_output(pipe.ends[0], result);
    result.status_known = reaped == child;
    if (result.status_known) result.status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    return result;
}

namespace {

// Not "gpuorch-cxx-", the name in versions before the lock: their folders in use would look like leftovers.
constexpr std::string_view kFolderName = "gpuorch-compiler-", kLetters = "XXXXXX";   // as mkdtemp wants them

// Takes no memory, and one descriptor only if a subfolder has content: the folder may be removed for lack of memory or
// descriptors. (Without memory std::filesystem::remove_all would end the program, error code or not.)
void remove_content(int root) noexcept {
    alignas(dirent64) char entries[4096];
    char path[PATH_MAX] = "";   // of the folder that is being emptied, below the root
    for (size_t length = 0;;) {
        const int folder = length == 0 ? root : openat(root, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (folder < 0) return;
        bool deeper = false, removed = true;
        while (removed && !deeper && lseek(folder, 0, SEEK_SET) == 0) {
            // After removals a reader's position depends on the file system: read from the start.
            removed = false;
            const ssize_t bytes = getdents64(folder, entries, sizeof entries);
            for (ssize_t at = 0; at < bytes && !deeper;) {
                const auto& entry = *reinterpret_cast<const dirent64*>(entries + at);
                at += entry.d_reclen;
                const std::string_view name = entry.d_name;
                if (name == "." || name == "..") continue;
                if (unlinkat(folder, entry.d_name, 0) == 0 || unlinkat(folder, entry.d_name, AT_REMOVEDIR) == 0) {
                    removed = true;
                } else if (errno == ENOTEMPTY && length + name.size() + 2 < sizeof path) {
                    if (length != 0) path[length++] = '/';
                    std::memcpy(path + length, entry.d_name, name.size() + 1);
                    length += name.size();
                    deeper = true;
                }
            }
        }
        if (folder != root) close(folder);
        if (deeper) continue;
        if (length == 0 || unlinkat(root, path, AT_REMOVEDIR) != 0) return;
        const size_t cut = std::string_view(path, length).rfind('/');
        length = cut == std::string_view::npos ? 0 : cut;
        path[length] = '\0';
    }
}

// A process holds a lock on its folder's descriptor for as long as it lives. The kernel ends the lock with the process.
// Other namespaces, in which the process's number means nothing, see the lock too. Where a file system has no locks,
// nothing is removed.

// Whether only this user and root can rename this user's entries of the folder. Elsewhere an entry with one of our
// names may be another folder of the user's.
bool keeps_names(int folder) noexcept {
    struct stat status;
    return fstat(folder, &status) == 0 && (status.st_uid == geteuid() || status.st_uid == 0) &&
           ((status.st_mode & (S_IWGRP | S_IWOTH)) == 0 || (status.st_mode & S_ISVTX) != 0);
}

// Removes a folder of this user's unless a process has locked it.
void remove_if_left(int parent, const char* name) noexcept {
    const int folder = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0) return;
    struct stat status;
    if (fstat(folder, &status) == 0 && status.st_uid == geteuid() && (status.st_mode & 0777) == 0700 &&
        flock(folder, LOCK_EX | LOCK_NB) == 0) {
        remove_content(folder);
        unlinkat(parent, name, AT_REMOVEDIR);
    }
    close(folder);
}

// Takes no memory.
void remove_left_folders(const char* parent) noexcept {
    const int folder = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return;
    alignas(dirent64) char entries[4096];
    for (ssize_t bytes; keeps_names(folder) && (bytes = getdents64(folder, entries, sizeof entries)) > 0;)
        for (ssize_t at = 0; at < bytes;) {
            const auto& entry = *reinterpret_cast<const dirent64*>(entries + at);
            at += entry.d_reclen;
            const std::string_view name = entry.d_name;
            if (name.starts_with(kFolderName) && name.size() == kFolderName.size() + kLetters.size())
                remove_if_left(folder, entry.d_name);
        }
    close(folder);
}

// Whether the folder stays this process's. Before the lock, another process may have taken the folder for a leftover:
// then that process holds the lock, or the folder no longer exists.
bool keep(int folder) noexcept {
    struct stat status;
    const bool taken = flock(folder, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    return !taken && fstat(folder, &status) == 0 && status.st_nlink != 0;
}

}  // namespace

PrivateFolder::PrivateFolder() {
    static constinit std::atomic<bool> looked{false};
    const char* parent = secure_getenv("TMPDIR");
    if (!parent || !*parent) parent = "/tmp";
    if (!looked.exchange(true)) remove_left_folders(parent);
    const std::string pattern = text(parent, "/", kFolderName, kLetters);
    std::string name;
    for (int tries = 0; tries < 100; ++tries) {
        name = pattern;
        if (!mkdtemp(name.data())) {
            error = errno;
            break;
        }
        folder_ = open(name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        error = folder_ < 0 ? errno : 0;
        if (folder_ >= 0 && keep(folder_)) {
            path = std::move(name);   // which needs no memory
            return;
        }
        if (folder_ >= 0) close(folder_);
        else rmdir(name.c_str());
        if (error != 0 && error != ENOENT) break;
        error = EBUSY;
    }
    folder_ = -1;
    why = "no folder for the compiler could be made in " + name.substr(0, name.rfind('/')) + ": " +
              std::strerror(error);
}

PrivateFolder::~PrivateFolder() {
    if (path.empty()) return;
    remove_content(folder_);
    rmdir(path.c_str());
    close(folder_);
}

int PrivateFolder::write(const std::string& name, std::string_view text) const {
    const std::filesystem::path relative(name);
    if (relative.is_absolute() || std::find(relative.begin(), relative.end(), "..") != relative.end()) return EINVAL;
    const std::filesystem::path whole = std::filesystem::path(path) / relative;
    std::error_code ignored;   // the file can't be opened then
    std::filesystem::create_directories(whole.parent_path(), ignored);
    errno = 0;
    std::ofstream file(whole, std::ios::binary);
    file.write(text.data(), static_cast<std::streamsize>(text.size()));
    file.close();
    if (file.good()) return 0;
    const int number = errno ? errno : EIO;
    // Without a descriptor for the file there may be none to look into its folders by, when they are to go.
    auto parent = relative.parent_path();
    while (!parent.empty() && rmdir((std::filesystem::path(path) / parent).c_str()) == 0) parent = parent.parent_path();
    return number;
}

int PrivateFolder::read(const std::string& name, uint64_t most, std::string& text) const {
    const int file = openat(folder_, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) return errno;
    struct stat status;
    int error = fstat(file, &status) != 0 ? errno : !S_ISREG(status.st_mode) ? EINVAL : 0;
    if (!error && static_cast<uint64_t>(status.st_size) > most) error = EFBIG;
    try {
        if (!error) text.resize(static_cast<size_t>(status.st_size));
    } catch (...) {
        close(file);
        throw;
    }
    for (size_t at = 0; !error && at < text.size();) {
        const ssize_t count = ::read(file, text.data() + at, text.size() - at);
        if (count > 0) at += static_cast<size_t>(count);
        else if (count == 0) text.resize(at);
        else if (errno != EINTR) error = errno;
    }
    close(file);
    return error;
}

}  // namespace gpo::softgpu
