#include "softgpu/compiler_process.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <new>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/environment.h"
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

/// The program's own. Not that of a set-uid program: who started it would choose by PATH, GCC_EXEC_PREFIX and their like what
/// the compiler runs in its name.
std::vector<std::string> environment_for(const std::string& folder) {
    std::vector<std::string> out;
    if (environment::ignored()) out.push_back(std::string("PATH=") + kUsualPath);
    else
        for (char** entry = environ; entry && *entry; ++entry) {
            const std::string_view text = *entry;
            if (!text.starts_with("TMPDIR=") && !text.starts_with("LC_ALL=") && !text.starts_with("LANGUAGE="))
                out.emplace_back(text);
        }
    out.push_back("TMPDIR=" + folder);
    out.push_back("LC_ALL=C");
    return out;
}

/// Signals as a new process expects them: our threads block them all.
void set_signals(posix_spawnattr_t& attributes) {
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    sigdelset(&all, SIGKILL);
    sigdelset(&all, SIGSTOP);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
}

void drain(int descriptor, pid_t child, uint64_t deadline, ProcessResult& result) noexcept {
    char buffer[16384];
    for (;;) {
        const uint64_t now = host::now();
        if (now >= deadline && !result.timed_out) {
            result.timed_out = true;
            kill(-child, SIGKILL);
        }
        pollfd wait{descriptor, POLLIN, 0};
        const uint64_t left = result.timed_out ? 1'000'000'000 : deadline - now;
        const int ready = poll(&wait, 1, static_cast<int>(std::min<uint64_t>(left / 1'000'000 + 1, 1000)));
        if (ready < 0 && errno != EINTR) return;
        if (ready <= 0) {
            if (result.timed_out && ready == 0) return;   // something outlived the kill
            continue;
        }
        const ssize_t count = read(descriptor, buffer, sizeof buffer);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return;
        try {
            if (result.output.size() < kMostOutput) result.output.append(buffer, static_cast<size_t>(count));
        } catch (const std::bad_alloc&) {
            // Text that finds no room is dropped too: the process must be waited for all the same.
        }
    }
}

}  // namespace

ProcessResult run_process(const std::vector<std::string>& arguments, const std::string& folder, uint64_t timeout_ns) {
    ProcessResult result;
    Pipe pipe;
    if (!pipe.open()) {
        result.error = errno;
        result.output = std::string("no pipe for the compiler's output: ") + std::strerror(result.error);
        return result;
    }
    std::vector<std::string> words = arguments, environment = environment_for(folder);
    const std::vector<char*> argv = pointers(words), envp = pointers(environment);
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    int error = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    if (!error) error = posix_spawn_file_actions_adddup2(&actions, pipe.ends[1], 1);
    if (!error) error = posix_spawn_file_actions_adddup2(&actions, pipe.ends[1], 2);
    if (!error) error = posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
    set_signals(attributes);
    pid_t child = -1;
    if (!error)
        error = posix_spawn(&child, words[0].c_str(), &actions, &attributes, argv.data(), envp.data());
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0) {
        result.error = error;
        result.output = words[0] + " could not be started: " + std::strerror(error);
        return result;
    }
    result.started = true;
    pipe.close_end(1);
    drain(pipe.ends[0], child, host::now() + timeout_ns, result);
    int status = 0;
    pid_t reaped;
    while ((reaped = waitpid(child, &status, 0)) < 0 && errno == EINTR) {}
    result.status_known = reaped == child;
    if (result.status_known) result.status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    return result;
}

namespace {

// Takes no memory and one descriptor, none where no folder in it has anything in it: it may be for lack of these that the
// folder goes. (std::filesystem::remove_all would end the program without memory, error code or not.)
void remove_content(int root) noexcept {
    alignas(dirent64) char entries[4096];
    char path[PATH_MAX] = "";   // of the folder that is being emptied, below the root
    for (size_t length = 0;;) {
        const int folder = length == 0 ? root : openat(root, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (folder < 0) return;
        bool deeper = false, removed = true;
        while (removed && !deeper && lseek(folder, 0, SEEK_SET) == 0) {
            // Where in a folder a reader goes on after removals is the file system's affair: from the start.
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

}  // namespace

PrivateFolder::PrivateFolder() {
    const char* parent = secure_getenv("TMPDIR");
    std::string name = std::string(parent && *parent ? parent : "/tmp") + "/gpuorch-cxx-XXXXXX";
    if (mkdtemp(name.data())) {
        folder_ = open(name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (folder_ >= 0) {
            path = std::move(name);   // which needs no memory
            return;
        }
        error = errno;
        rmdir(name.c_str());
    } else {
        error = errno;
    }
    why = "no folder for the compiler could be made in " + name.substr(0, name.rfind('/')) + ": " +
              std::strerror(error);
}

PrivateFolder::~PrivateFolder() {
    if (path.empty()) return;
    remove_content(folder_);
    close(folder_);
    rmdir(path.c_str());
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

int PrivateFolder::read(const std::string& name, std::string& text) const {
    errno = 0;
    std::ifstream file(std::filesystem::path(path) / name, std::ios::binary);
    if (file) text.assign(std::istreambuf_iterator<char>(file), {});
    return file && !file.bad() ? 0 : errno ? errno : EIO;
}

}  // namespace gpo::softgpu
