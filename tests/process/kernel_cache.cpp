// The cache of compiled kernels: missing, read-only, somebody else's, writable by others, cut short, altered, filled by two
// processes at once. Never an error, and nothing is executed from it unless it is ours and whole.
// RUN: missing
// RUN: read_only
// RUN: others
// RUN: writable
// RUN: link
// RUN: cut
// RUN: altered
// RUN: race
// TIMEOUT: 120
#include <sys/stat.h>

#include <filesystem>
#include <vector>

#include "process/process.h"

using namespace gpo::test;

namespace {

constexpr const char* kSource = R"(
extern "C" __global__ void answer(unsigned *target, unsigned value) { *target = value * 3 + 1; }
)";

// Compiles with that cache, runs the kernel and looks at what it did.
int use(const std::string& cache) {
    auto options = sized<gpo_runtime_options>();
    options.cache = cache.c_str();
    Opened a(options);
    gpo_kernel_t kernel = compile(a.device, kSource, "answer");
    uint32_t* word = pinned(a.device, 1);
    const uint32_t value = 5;
    EXPECT_OK(launch(a.stream, kernel, word, value));
    EXPECT_OK(gpo_stream_wait(a.stream, kPatience));
    EXPECT(*word == 16);
    a.shut_down();
    return 0;
}

std::vector<std::filesystem::path> files_in(const std::string& folder) {
    std::vector<std::filesystem::path> files;
    if (!std::filesystem::exists(folder)) return files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
        if (entry.is_regular_file()) files.push_back(entry.path());
    return files;
}

std::string content(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

void write(const std::filesystem::path& path, const std::string& text) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

}  // namespace

int main(int argc, char** argv) {
    EXPECT(argc >= 2);
    const std::string kind = argv[1];
    if (kind == "use" && argc == 3) return use(argv[2]);
    char self[4096] = {};
    EXPECT(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
    Folder folder;
    const std::string cache = folder / "cache";
    if (kind == "missing") {
        use(folder / "not/there/yet");
        EXPECT(!files_in(folder / "not/there/yet").empty());
        use(folder / "not/there/yet");
    }
    if (kind == "read_only") {
        EXPECT(mkdir(cache.c_str(), 0500) == 0);
        use(cache);
        EXPECT(chmod(cache.c_str(), 0700) == 0);
    }
    if (kind == "others") {
        if (geteuid() != 0) end_skipped("kernel_cache others", "only root can make a folder of another user");
        use(cache);
        const auto before = files_in(cache);
        EXPECT(!before.empty());
        // Poisoned by its new owner: an entry that would crash whoever runs it.
        for (const auto& file : before) write(file, std::string(content(file).size(), '\xcc'));
        EXPECT(std::system(("chown -R 65534 '" + cache + "'").c_str()) == 0);
        use(cache);
    }
    if (kind == "writable") {
        use(cache);
        EXPECT(chmod(cache.c_str(), 0777) == 0);
        for (const auto& file : files_in(cache)) {
            EXPECT(chmod(file.c_str(), 0666) == 0);
            write(file, std::string(content(file).size(), '\xcc'));
        }
        use(cache);
    }
    if (kind == "link") {
        // The entry is a link to a file that must not be written.
        use(cache);
        const std::string victim = folder / "victim";
        write(victim, "untouched");
        for (const auto& file : files_in(cache)) {
            std::filesystem::remove(file);
            std::filesystem::create_symlink(victim, file);
        }
        use(cache);
        EXPECT(content(victim) == "untouched");
    }
    if (kind == "cut" || kind == "altered") {
        use(cache);
        for (const auto& file : files_in(cache)) {
            const std::string whole = content(file);
            EXPECT(whole.size() > 64);
            for (size_t at : {size_t{0}, size_t{1}, size_t{40}, whole.size() / 2, whole.size() - 1}) {
                std::string other = whole;
                if (kind == "cut") {
                    other.resize(at);
                } else {
                    other[at] = static_cast<char>(other[at] ^ 0x41);
                }
                write(file, other);
                const std::string again = "'" + std::string(self) + "' use '" + cache + "'";
                EXPECT(std::system(again.c_str()) == 0);
                // And it was put right.
                for (const auto& now : files_in(cache)) EXPECT(content(now).size() > 64);
            }
        }
    }
    if (kind == "race") {
        for (int turn = 0; turn < (full() ? 50 : 3); ++turn) {
            std::filesystem::remove_all(cache);
            std::vector<pid_t> children;
            for (int i = 0; i < 3; ++i) {
                const pid_t child = fork();
                EXPECT(child >= 0);
                if (child == 0) _exit(use(cache));
                children.push_back(child);
            }
            for (pid_t child : children) {
                int status = 0;
                EXPECT(waitpid(child, &status, 0) == child);
                EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
            }
        }
    }
    return 0;
}
