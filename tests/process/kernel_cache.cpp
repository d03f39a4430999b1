// The cache of compiled kernels: missing, read-only, somebody else's, writable by others, cut short, altered, filled by two
// processes at once. Never an error, and nothing is executed from it unless it is ours and whole.
// LINK: objects
// RUN: missing
// RUN: read_only
// RUN: ours
// RUN: others
// RUN: others_entry
// RUN: writable
// RUN: writable_entry
// RUN: link
// RUN: cut
// RUN: altered
// RUN: race
// TIMEOUT: 120
#include <sys/stat.h>

#include <filesystem>
#include <vector>

#include "kernel/cache.h"
#include "process/process.h"

using namespace gpo::test;

namespace {

constexpr const char* kSource = R"(
extern "C" __global__ void answer(unsigned *target, unsigned value) { *target = value * 3 + 1; }
)";

constexpr const char* kOtherSource = R"(
extern "C" __global__ void answer(unsigned *target, unsigned value) { *target = value * 3 + 2; }
)";

// Compiles with that cache, runs the kernel and says what it did.
uint32_t answer(const std::string& cache, const char* source = kSource) {
    auto options = sized<gpo_runtime_options>();
    options.cache = cache.c_str();
    Opened a(options);
    gpo_kernel_t kernel = compile(a.device, source, "answer");
    uint32_t* word = pinned(a.device, 1);
    const uint32_t value = 5;
    EXPECT_OK(launch(a.stream, kernel, word, value));
    EXPECT_OK(gpo_stream_wait(a.stream, kPatience));
    const uint32_t said = *word;
    a.shut_down();
    return said;
}

int use(const std::string& cache) {
    EXPECT(answer(cache) == 16);
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

std::filesystem::path only_entry(const std::string& cache) {
    const auto files = files_in(cache);
    EXPECT(files.size() == 1);
    return files[0];
}

/// The kernel's entry in a cache that has no other becomes one that is whole and has its key, and another kernel's code: whoever
/// executes it says 17.
void forge_entry(const std::string& cache, const std::string& workshop) {
    EXPECT(answer(workshop, kOtherSource) == 17);
    const auto other = gpo::kernel::Cache(workshop).find(only_entry(workshop).stem());
    EXPECT(other.has_value());
    EXPECT(gpo::kernel::Cache(cache).store(only_entry(cache).stem(), *other));
}

constexpr uid_t kNobody = 65534;

void give_away(const std::string& path, const char* kind) {
    if (geteuid() != 0) end_skipped(kind, "only root can give a file to another user");
    EXPECT(chown(path.c_str(), kNobody, kNobody) == 0);
}

/// The folder may be read and not written. Root may write everywhere, so it becomes somebody else, in a child.
int read_only(const std::string& cache) {
    EXPECT(mkdir(cache.c_str(), 0700) == 0);
    if (geteuid() == 0) {
        EXPECT(chown(cache.c_str(), kNobody, kNobody) == 0);
        EXPECT(chmod(std::filesystem::path(cache).parent_path().c_str(), 0755) == 0);
        EXPECT(setgid(kNobody) == 0 && setuid(kNobody) == 0);
    }
    EXPECT(chmod(cache.c_str(), 0500) == 0);
    if (access(cache.c_str(), W_OK) == 0) end_skipped("kernel_cache read_only", "this user writes where nobody may");
    use(cache);
    EXPECT(files_in(cache).empty());
    // What is there is used as ever.
    EXPECT(chmod(cache.c_str(), 0700) == 0);
    use(cache);
    const auto entry = only_entry(cache);
    const std::string before = content(entry);
    EXPECT(chmod(cache.c_str(), 0500) == 0);
    use(cache);
    EXPECT(only_entry(cache) == entry && content(entry) == before);
    EXPECT(chmod(cache.c_str(), 0700) == 0);
    return 0;
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
        const int ended = in_child([&] { return read_only(cache); });
        if (ended == 77) return 77;
        EXPECT(ended == 0);
    }
    if (kind == "ours" || kind.rfind("others", 0) == 0 || kind.rfind("writable", 0) == 0) {
        use(cache);
        forge_entry(cache, folder / "workshop");
        const std::string entry = only_entry(cache), forged = content(entry);
        const std::string name = "kernel_cache " + kind;
        if (kind == "others") give_away(entry, name.c_str()), give_away(cache, name.c_str());
        if (kind == "others_entry") give_away(entry, name.c_str());
        if (kind == "writable") EXPECT(chmod(cache.c_str(), 0777) == 0);
        if (kind == "writable_entry") EXPECT(chmod(entry.c_str(), 0666) == 0);
        // It is what the cache would give if owner and mode were in order.
        EXPECT(answer(cache) == (kind == "ours" ? 17 : 16));
        // A folder that isn't ours alone is left as it is; in one of ours an entry of ours takes its place.
        if (kind.find("_entry") == std::string::npos) EXPECT(content(only_entry(cache)) == forged);
        else EXPECT(content(only_entry(cache)) != forged);
        EXPECT(answer(cache) == (kind == "ours" ? 17 : 16));
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
