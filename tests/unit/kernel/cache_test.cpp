// The disk cache of compiled kernels: trust in folders and entries, and evictions when the cache is full.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "kernel/cache.h"
#include "support/files.h"
#include "support/report.h"

using namespace gpo::kernel;
using gpo::driver::CompileRequest;
using gpo::driver::CompileResult;
using gpo::test::Folder;
namespace fs = std::filesystem;

namespace {

CompileResult result_with(std::string text, size_t bytes = 1000) {
    CompileResult result;
    result.ok = true;
    result.log = std::move(text);
    result.image.assign(bytes, std::byte{42});
    result.lowered = {{"scale<float>", "_Z5scaleIfEvPT_"}, {"", ""}};
    return result;
}

std::string entry_of(const std::string& folder) {
    for (const auto& entry : fs::directory_iterator(folder))
        if (entry.path().extension() == ".kernel") return entry.path();
    return {};
}

size_t files_in(const std::string& folder) {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

const std::string kKey(64, 'a');

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("what is stored is found again, whole") {
    Folder folder;
    CHECK(Cache(folder / "a/b").store(kKey, result_with("warning: 7")));
    Cache cache(folder / "a/b");
    const auto found = cache.find(kKey);
    REQUIRE(found);
    CHECK(found->ok);
    CHECK(found->log == "warning: 7");
    CHECK(found->image == result_with("").image);
    CHECK(found->lowered == result_with("").lowered);
    CHECK_FALSE(cache.find(std::string(64, 'b')));
}

TEST_CASE("the folder and the entries are for their user only") {
    Folder folder;
    const mode_t mask = umask(0);
    Cache(folder / "made").store(kKey, result_with(""));
    umask(mask);
    CHECK((fs::status(folder / "made").permissions() & fs::perms::mask) == fs::perms::owner_all);
    CHECK((fs::status(entry_of(folder / "made")).permissions() & fs::perms::mask) ==
          (fs::perms::owner_read | fs::perms::owner_write));
}

TEST_CASE("a folder that others may write to, a link and a file are refused") {
    Folder folder;
    fs::create_directory(folder / "shared");
    REQUIRE(chmod((folder / "shared").c_str(), 0777) == 0);
    CHECK(contains(Cache(folder / "shared").refused(), "may be written to by other users"));
    REQUIRE(chmod((folder / "shared").c_str(), 0770) == 0);
    CHECK(contains(Cache(folder / "shared").refused(), "may be written to by other users"));
    REQUIRE(chmod((folder / "shared").c_str(), 0755) == 0);
    CHECK(Cache(folder / "shared").refused().empty());
    fs::create_directory_symlink(folder / "shared", folder / "link");
    CHECK(contains(Cache(folder / "link").refused(), "not a folder, or a link"));
    std::ofstream(folder / "file") << "x";
    CHECK(contains(Cache(folder / "file").refused(), "not a folder, or a link"));
    CHECK_FALSE(Cache("").refused().empty());
    CHECK_FALSE(Cache("/proc/none/such").refused().empty());
}

TEST_CASE("a refused folder finds and stores nothing, and that is no error") {
    Folder folder;
    fs::create_directory(folder / "shared");
    REQUIRE(chmod((folder / "shared").c_str(), 0777) == 0);
    Cache cache(folder / "shared");
    CHECK_FALSE(cache.store(kKey, result_with("")));
    CHECK_FALSE(cache.find(kKey));
    cache.remove(kKey);
    CHECK(files_in(folder / "shared") == 0);
}

TEST_CASE("an entry of another user's folder is never used") {
    if (geteuid() != 0) return gpo::test::skip("only root can make one");
    Folder folder;
    Cache(folder / "theirs").store(kKey, result_with(""));
    REQUIRE(chown((folder / "theirs").c_str(), 65534, 65534) == 0);
    CHECK(contains(Cache(folder / "theirs").refused(), "belongs to another user"));
    REQUIRE(chown((folder / "theirs").c_str(), 0, 0) == 0);
    REQUIRE(chown(entry_of(folder / "theirs").c_str(), 65534, 65534) == 0);
    Cache cache(folder / "theirs");
    CHECK_FALSE(cache.find(kKey));
    CHECK(entry_of(folder / "theirs").empty());
}

TEST_CASE("an entry that was cut short or altered at any place is removed and not used") {
    Folder folder;
    Cache cache(folder.path);
    REQUIRE(cache.store(kKey, result_with("log", 300)));
    const std::string path = entry_of(folder.path);
    const std::string whole = gpo::test::read_whole(path);
    for (size_t at = 0; at < whole.size(); at += 7) {
        CAPTURE(at);
        std::string altered = whole;
        altered[at] = static_cast<char>(altered[at] ^ 0x10);
        std::ofstream(path, std::ios::binary) << altered;
        chmod(path.c_str(), 0600);
        REQUIRE_FALSE(cache.find(kKey));
        REQUIRE_FALSE(fs::exists(path));
        std::ofstream(path, std::ios::binary) << whole.substr(0, at);
        chmod(path.c_str(), 0600);
        REQUIRE_FALSE(cache.find(kKey));
        REQUIRE_FALSE(fs::exists(path));
    }
    std::ofstream(path, std::ios::binary) << whole << "x";
    chmod(path.c_str(), 0600);
    CHECK_FALSE(cache.find(kKey));
    std::ofstream(path, std::ios::binary) << whole;
    chmod(path.c_str(), 0600);
    CHECK(cache.find(kKey));
}

TEST_CASE("an entry that others may write to, a link and a pipe in its place are not used") {
    Folder folder;
    Cache cache(folder.path);
    REQUIRE(cache.store(kKey, result_with("")));
    const std::string path = entry_of(folder.path);
    REQUIRE(chmod(path.c_str(), 0666) == 0);
    CHECK_FALSE(cache.find(kKey));
    REQUIRE(cache.store(kKey, result_with("")));
    fs::rename(path, folder / "elsewhere");
    fs::create_symlink(folder / "elsewhere", path);
    CHECK_FALSE(cache.find(kKey));
    fs::remove(path);
    REQUIRE(mkfifo(path.c_str(), 0600) == 0);
    CHECK_FALSE(cache.find(kKey));
    CHECK(cache.store(kKey, result_with("")));
    CHECK(cache.find(kKey));
}

TEST_CASE("an entry under another key is not taken for it") {
    Folder folder;
    Cache cache(folder.path);
    REQUIRE(cache.store(kKey, result_with("")));
    const std::string other(64, 'b');
    fs::rename(entry_of(folder.path), folder / (other + ".kernel"));
    CHECK_FALSE(cache.find(other));
}

TEST_CASE("a read-only folder is read and never written") {
    Folder folder;
    REQUIRE(Cache(folder.path).store(kKey, result_with("")));
    REQUIRE(chmod(folder.path.c_str(), 0500) == 0);
    Cache cache(folder.path);
    CHECK(cache.find(kKey));
    if (geteuid() == 0)
        gpo::test::skip("root writes where nobody may; process/kernel_cache.cpp becomes another user", "storing");
    else CHECK_FALSE(cache.store(std::string(64, 'b'), result_with("")));
    REQUIRE(chmod(folder.path.c_str(), 0700) == 0);
}

TEST_CASE("beyond the capacity the entries that were used longest ago go") {
    Folder folder;
    Cache cache(folder.path, 10'000);
    const auto key = [](int i) { return std::string(63, 'a') + static_cast<char>('a' + i); };
    for (int i = 0; i < 8; ++i) {
        REQUIRE(cache.store(key(i), result_with("", 1000)));
        const timespec times[2] = {{1000 + i, 0}, {1000 + i, 0}};
        REQUIRE(utimensat(AT_FDCWD, (folder / (key(i) + ".kernel")).c_str(), times, 0) == 0);
    }
    CHECK(cache.find(key(0)));   // used now
    REQUIRE(cache.store(key(8), result_with("", 1000)));
    REQUIRE(cache.store(key(9), result_with("", 1000)));
    CHECK(cache.find(key(0)));
    CHECK_FALSE(cache.find(key(1)));
    CHECK(cache.find(key(9)));
    uint64_t total = 0;
    for (const auto& entry : fs::directory_iterator(folder.path)) total += entry.file_size();
    CHECK(total <= 10'000);
    CHECK_FALSE(cache.store(key(1), result_with("", 20'000)));
}

TEST_CASE("two processes that fill the cache at once leave whole entries and no rubbish") {
    Folder folder;
    const auto fill = [&] {
        Cache cache(folder.path);
        for (int i = 0; i < 200; ++i) {
            const std::string key = std::string(63, 'a') + static_cast<char>('a' + i % 5);
            cache.store(key, result_with("log", 50'000));
            const auto found = cache.find(key);
            if (found && found->image.size() != 50'000) return 1;
        }
        return 0;
    };
    const pid_t child = fork();
    if (child == 0) _exit(fill());
    CHECK(fill() == 0);
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
    CHECK(files_in(folder.path) == 5);
}

TEST_CASE("everything that a compilation depends on is in its key") {
    CompileRequest request;
    request.source = "source";
    request.file_name = "kernel.cu";
    request.options = {"-DA", "-DB"};
    request.name_expressions = {"f<int>"};
    request.headers = {{"a.h", "text"}};
    request.compute_capability = 90;
    const std::string key = cache_key(request, "text of files", "compiler 1", "cuda");
    CHECK(key == cache_key(request, "text of files", "compiler 1", "cuda"));
    CHECK(key != cache_key(request, "text of others", "compiler 1", "cuda"));
    CHECK(key != cache_key(request, "text of files", "compiler 2", "cuda"));
    CHECK(key != cache_key(request, "text of files", "compiler 1", "soft"));
    const auto differs = [&](auto change) {
        CompileRequest other = request;
        change(other);
        return cache_key(other, "text of files", "compiler 1", "cuda") != key;
    };
    CHECK(differs([](auto& r) { r.source += " "; }));
    CHECK(differs([](auto& r) { r.file_name = "other.cu"; }));
    CHECK(differs([](auto& r) { r.options = {"-DA-DB"}; }));
    CHECK(differs([](auto& r) { r.options = {"-DA"}, r.name_expressions = {"-DB", "f<int>"}; }));
    CHECK(differs([](auto& r) { r.name_expressions.clear(); }));
    CHECK(differs([](auto& r) { r.headers[0].second = "other"; }));
    CHECK(differs([](auto& r) { r.headers[0].first = "b.h"; }));
    CHECK(differs([](auto& r) { r.compute_capability = 100; }));
}

TEST_CASE("what a compiler keeps is taken whole or not at all, and goes when the cache is full") {
    Folder folder;
    Cache cache(folder.path, 10'000);
    const std::string bytes(3'001, 'x'), path = folder / "name.kept";
    CHECK_FALSE(cache.take("name"));
    REQUIRE(cache.put("name", bytes));
    CHECK(cache.take("name") == bytes);
    const std::string whole = gpo::test::read_whole(path);
    for (size_t at = 0; at < whole.size(); at += 97) {
        CAPTURE(at);
        std::string altered = whole;
        altered[at] = static_cast<char>(altered[at] ^ 0x10);
        for (const std::string& broken : {altered, whole.substr(0, at)}) {
            std::ofstream(path, std::ios::binary) << broken;
            chmod(path.c_str(), 0600);
            REQUIRE_FALSE(cache.take("name"));
            REQUIRE_FALSE(fs::exists(path));
        }
    }
    REQUIRE(cache.put("name", bytes));
    fs::rename(path, folder / "other.kept");
    CHECK_FALSE(cache.take("other"));
    REQUIRE(cache.put("name", bytes));
    REQUIRE(chmod(path.c_str(), 0666) == 0);
    CHECK_FALSE(cache.take("name"));
    REQUIRE(cache.put("name", bytes));
    const timespec long_ago[2] = {{1000, 0}, {1000, 0}};
    REQUIRE(utimensat(AT_FDCWD, path.c_str(), long_ago, 0) == 0);
    for (int i = 0; i < 3; ++i)
        REQUIRE(cache.store(std::string(63, 'a') + static_cast<char>('a' + i), result_with("", 2'500)));
    CHECK_FALSE(cache.take("name"));
    CHECK_FALSE(cache.put("name", std::string(20'000, 'x')));
    CHECK_FALSE(Cache("").put("name", bytes));
    CHECK_FALSE(Cache("").take("name"));
}
