// The cache of compiled kernels. Its folder or an entry is missing, read-only, owned by another user, writable by
// others, truncated, altered, or filled by two processes at once, or files that a source reads have changed. The cache
// must never cause an error. Code from the cache may be executed only if this user owns it, if it is complete, and if
// it matches all files that the source reads.
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
// RUN: files
// TIMEOUT: 120
#include <sys/stat.h>

#include <filesystem>
#include <vector>

#include "kernel/cache.h"
#include "process/process.h"
#include "support/files.h"

using namespace gpo::test;

namespace {

constexpr const char* kSource = R"(
extern "C" __global__ void answer(unsigned *target, unsigned value) { *target = value * 3 + 1; }
)";

constexpr const char* kOtherSource = R"(
extern "C" __global__ void answer(unsigned *target, unsigned value) { *target = value * 3 + 2; }
)";

// Compiles with this cache folder, runs the kernel, and returns its result.
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

std::vector<std::filesystem::path> files_in(const std::string& folder) {
    std::vector<std::filesystem::path> files;
    if (!std::filesystem::exists(folder)) return files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
        if (entry.is_regular_file()) files.push_back(entry.path());
    return files;
}

/// The entries of the cache, without files that the compiler stores there for itself.
std::vector<std::filesystem::path> entries_in(const std::string& cache) {
    auto files = files_in(cache);
    std::erase_if(files, [](const auto& file) { return file.extension() != ".kernel"; });
    return files;
}

void write(const std::filesystem::path& path, const std::string& text) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

// Reads a header in each way that the software GPU's compilers know; `appears.h` isn't there at first.
constexpr const char* kReader = R"(
#include <by_cpath.h>
#include <by_cplus.h>
#import "by_import.h"
%:include "by_digraph.h"
# /* */ include "by_comment.h"
#inc\
lude "by_splice.h"
#include <twice.h>
#if __has_include("appears.h")
#define APPEARS 1
#else
#define APPEARS 0
#endif
extern "C" __global__ void answer(unsigned *target, unsigned value) {
    *target = CPATH_ | CPLUS << 1 | NESTED << 2 | IMPORT << 3 | DIGRAPH << 4 | COMMENT << 5 | SPLICE << 6 | TWICE << 7 |
              APPEARS << 8;
}
)";

/// Checks the reader's answer and the number of entries after each change of a file.
int follow_files(const std::string& cache, const Folder& folder) {
    if (std::getenv("GPUORCH_DEVICE") && std::string(std::getenv("GPUORCH_DEVICE")) != "soft")
        end_skipped("kernel_cache files", "NVRTC knows neither the variables nor all of the spellings");
    for (const char* name : {"cpath", "cplus", "first", "second"}) EXPECT(mkdir((folder / name).c_str(), 0700) == 0);
    setenv("CPATH", ((folder / "cpath") + ":" + (folder / "first") + ":" + (folder / "second")).c_str(), 1);
    setenv("CPLUS_INCLUDE_PATH", (folder / "cplus").c_str(), 1);
    const auto header = [&](const char* file, const char* macro, int value, const char* more = "") {
        write(folder / file, std::string(more) + "#define " + macro + " " + std::to_string(value) + "\n");
    };
    const auto put = [&](unsigned bits) {
        header("cpath/by_cpath.h", "CPATH_", bits & 1, "#include \"nested.h\"\n");
        header("cplus/by_cplus.h", "CPLUS", bits >> 1 & 1);
        header("cpath/nested.h", "NESTED", bits >> 2 & 1);
        header("second/by_import.h", "IMPORT", bits >> 3 & 1);
        header("second/by_digraph.h", "DIGRAPH", bits >> 4 & 1);
        header("second/by_comment.h", "COMMENT", bits >> 5 & 1);
        header("second/by_splice.h", "SPLICE", bits >> 6 & 1);
        header("second/twice.h", "TWICE", 0);
        std::filesystem::remove(folder / "first/twice.h");
        if (bits >> 7 & 1) header("first/twice.h", "TWICE", 1);   // found before the other
        std::filesystem::remove(folder / "second/appears.h");
        if (bits >> 8 & 1) write(folder / "second/appears.h", "");
    };
    auto runtime = sized<gpo_runtime_options>();
    runtime.cache = cache.c_str();
    Opened a(runtime);
    auto options = sized<gpo_compile_options>();
    options.source = kReader;
    uint32_t* const word = pinned(a.device, 1);
    const auto says = [&](unsigned bits, size_t entries) {
        put(bits);
        gpo_module_t module = nullptr;
        gpo_kernel_t kernel = nullptr;
        EXPECT_OK(gpo_module_compile(a.device, &options, &module));
        EXPECT_OK(gpo_module_get_kernel(module, "answer", &kernel));
        EXPECT_OK(launch(a.stream, kernel, word, uint32_t{0}));
        EXPECT_OK(gpo_stream_wait(a.stream, kPatience));
        if (*word != bits)
            end_failed(__FILE__, __LINE__,
                       "the files say " + std::to_string(bits) + ", the kernel " + std::to_string(*word));
        EXPECT_OK(gpo_kernel_destroy(kernel));
        EXPECT_OK(gpo_module_destroy(module));
        EXPECT(entries_in(cache).size() == entries);
    };
    says(0, 1);
    says(0, 1);
    for (unsigned bit = 0; bit < 9; ++bit) says(1u << bit, bit + 2);
    says(0, 10);   // unchanged files: a known entry
    a.shut_down();
    return 0;
}

int use(const std::string& cache) {
    EXPECT(answer(cache) == 16);
    return 0;
}

std::filesystem::path only_entry(const std::string& cache) {
    const auto files = entries_in(cache);
    EXPECT(files.size() == 1);
    return files[0];
}

/// Replaces the kernel's entry, the only one in the cache, by a whole entry with its key and another kernel's code,
/// which answers 17.
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

/// The folder can be read but not written. Root may write everywhere, so a child process gives up root.
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
    // Existing entries are used as usual.
    EXPECT(chmod(cache.c_str(), 0700) == 0);
    use(cache);
    const auto entry = only_entry(cache);
    const std::string before = gpo::test::read_whole(entry);
    EXPECT(chmod(cache.c_str(), 0500) == 0);
    use(cache);
    EXPECT(only_entry(cache) == entry && gpo::test::read_whole(entry) == before);
    EXPECT(chmod(cache.c_str(), 0700) == 0);
    return 0;
}

void use_missing(const Folder& folder) {
    use(folder / "not/there/yet");
    EXPECT(!files_in(folder / "not/there/yet").empty());
    use(folder / "not/there/yet");
}

/// Replaces the entry with a forged one, with the right or a wrong owner and mode, and checks what is executed.
void use_forged(const std::string& kind, const std::string& cache, const Folder& folder) {
    use(cache);
    forge_entry(cache, folder / "workshop");
    const std::string entry = only_entry(cache), forged = gpo::test::read_whole(entry);
    const std::string name = "kernel_cache " + kind;
    if (kind == "others") give_away(entry, name.c_str()), give_away(cache, name.c_str());
    if (kind == "others_entry") give_away(entry, name.c_str());
    if (kind == "writable") EXPECT(chmod(cache.c_str(), 0777) == 0);
    if (kind == "writable_entry") EXPECT(chmod(entry.c_str(), 0666) == 0);
    // With the right owner and mode, the cache would give the forged code.
    EXPECT(answer(cache) == (kind == "ours" ? 17 : 16));
    // The library leaves folders that others can write alone. In the user's own folder it replaces the forged entry.
    if (kind.find("_entry") == std::string::npos) EXPECT(gpo::test::read_whole(only_entry(cache)) == forged);
    else EXPECT(gpo::test::read_whole(only_entry(cache)) != forged);
    EXPECT(answer(cache) == (kind == "ours" ? 17 : 16));
}

/// The entry is a link to a file that must not be written.
void use_link(const std::string& cache, const Folder& folder) {
    use(cache);
    const std::string victim = folder / "victim";
    write(victim, "untouched");
    for (const auto& file : files_in(cache)) {
        std::filesystem::remove(file);
        std::filesystem::create_symlink(victim, file);
    }
    use(cache);
    EXPECT(gpo::test::read_whole(victim) == "untouched");
}

/// The entry was cut short, or one byte of it altered. Another process uses it.
void use_damaged(const std::string& kind, const std::string& cache, const char* self) {
    use(cache);
    for (const auto& file : entries_in(cache)) {
        const std::string whole = gpo::test::read_whole(file);
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
            // The damaged entry was replaced.
            for (const auto& now : entries_in(cache)) EXPECT(gpo::test::read_whole(now).size() > 64);
        }
    }
}

/// Several processes fill the cache at once.
void race(const std::string& cache) {
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

}  // namespace

int main(int argc, char** argv) {
    EXPECT(argc >= 2);
    const std::string kind = argv[1];
    if (kind == "use" && argc == 3) return use(argv[2]);
    char self[4096] = {};
    EXPECT(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
    Folder folder;
    const std::string cache = folder / "cache";
    if (kind == "missing") use_missing(folder);
    if (kind == "read_only") {
        const int ended = in_child([&] { return read_only(cache); });
        if (ended == 77) return 77;
        EXPECT(ended == 0);
    }
    if (kind == "ours" || kind.rfind("others", 0) == 0 || kind.rfind("writable", 0) == 0)
        use_forged(kind, cache, folder);
    if (kind == "link") use_link(cache, folder);
    if (kind == "cut" || kind == "altered") use_damaged(kind, cache, self);
    if (kind == "files") return follow_files(cache, folder);
    if (kind == "race") race(cache);
    return 0;
}
