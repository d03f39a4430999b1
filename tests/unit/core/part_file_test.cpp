// Part files have another name until complete. Files of dead processes are removed; files of living processes stay.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <utility>

#include "core/part_file.h"
#include "support/files.h"

using gpo::PartFile;
using gpo::test::Folder;

namespace {

/// Name of the folder's only entry.
std::string only_name(const Folder& folder) {
    const auto names = folder.names();
    REQUIRE(names.size() == 1);
    return *names.begin();
}

/// A process with an unfinished part in the folder, until it is killed.
class Writer {
public:
    explicit Writer(const Folder& folder) {
        int ready[2];
        REQUIRE(pipe(ready) == 0);
        id_ = fork();
        if (id_ == 0) {
            PartFile part(folder.path + "/out");
            const char created = part.create(0600) == 0 ? '!' : '?';
            if (write(ready[1], &created, 1) == 1) pause();
            _exit(0);
        }
        char created = 0;
        CHECK(read(ready[0], &created, 1) == 1);
        CHECK(created == '!');
        for (const int end : ready) close(end);
    }
    ~Writer() { end(); }
    void end() {
        if (id_ <= 0) return;
        kill(id_, SIGKILL);
        waitpid(std::exchange(id_, 0), nullptr, 0);
    }

private:
    pid_t id_;
};

}  // namespace

TEST_CASE("a dead process's part goes when the next one makes a part in its folder, and a living one's stays") {
    const Folder folder, other;
    Writer dead(folder);
    const std::string stale = only_name(folder);
    Writer elsewhere(other);
    Writer living(folder);   // another process, which also searches the folder for stale parts
    CHECK(folder.names().size() == 2);
    dead.end();
    elsewhere.end();
    {
        PartFile part(folder.path + "/out");
        REQUIRE(part.create(0600) == 0);
        const auto names = folder.names();
        CHECK(names.size() == 2);
        CHECK_FALSE(names.contains(stale));
        CHECK(other.names().size() == 1);
        REQUIRE(part.close() == 0);
        REQUIRE(part.put_in_place() == 0);
    }
    CHECK(folder.names().contains("out"));
    CHECK(folder.names().size() == 2);
}

TEST_CASE("a part is alive until it is in its place, also when it has been closed") {
    const Folder folder;
    PartFile part(folder.path + "/out");
    REQUIRE(part.create(0600) == 0);
    REQUIRE(write(part.descriptor(), "all", 3) == 3);
    REQUIRE(part.close() == 0);
    Writer other(folder);  // looks through the folder
    CHECK(folder.names().size() == 2);
    REQUIRE(part.put_in_place() == 0);
    std::string text;
    std::ifstream(folder.path + "/out") >> text;
    CHECK(text == "all");
}

TEST_CASE("what isn't a dead process's part for sure is left alone") {
    const Folder folder;
    std::string made;
    {
        Writer dead(folder);
        made = only_name(folder);
    }
    const std::string stale = folder.path + "/" + made;
    const auto boot = made.find('-') + 1;
    const auto with = [&](size_t at, const std::string& what) {
        return std::string(made).replace(at, what.size(), what);
    };
    struct Case {
        const char* what;
        std::string name;
        bool goes, is_old;
    };
    const Case cases[] = {
        {"another process's, of this kernel", with(made.size() - 9, "0123"), true, false},
        {"another kernel's, written today", with(boot, "01234567"), false, false},
        {"another kernel's, of long ago", with(boot, "76543210"), true, true},
        {"a name with another beginning", with(1, "GPUORCH"), false, true},
        {"a name with another end", made + "s", false, true},
        {"a name whose number isn't one", with(made.size() - 9, "xyz"), false, true},
        {"the form of those that can't be locked", ".0123456789abcdef.part", false, true},
    };
    for (const Case& each : cases) {
        const std::string path = folder.path + "/" + each.name;
        std::ofstream(path) << "x";
        const timespec times[2] = {{1000, 0}, {1000, 0}};
        if (each.is_old) REQUIRE(utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
    }
    const std::string linked = with(made.size() - 9, "aaaa"), link = with(made.size() - 9, "bbbb"),
                      subfolder = with(made.size() - 9, "cccc");
    std::ofstream(folder.path + "/keep") << "x";
    REQUIRE(::link((folder.path + "/keep").c_str(), (folder.path + "/" + linked).c_str()) == 0);
    REQUIRE(symlink("keep", (folder.path + "/" + link).c_str()) == 0);
    REQUIRE(mkdir((folder.path + "/" + subfolder).c_str(), 0700) == 0);
    PartFile part(folder.path + "/out");
    REQUIRE(part.create(0600) == 0);
    const auto names = folder.names();
    CHECK_FALSE(names.contains(made));
    for (const Case& each : cases) {
        INFO(each.what);
        CHECK(names.contains(each.name) == !each.goes);
    }
    for (const std::string& name : {std::string("keep"), linked, link, subfolder}) CHECK(names.contains(name));
}
