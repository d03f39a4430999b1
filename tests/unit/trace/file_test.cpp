// The trace's file on a full disk: at any size, the rest is well-formed, or no file is left. Second, which trace owns
// the file.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <string>

#include "support/files.h"
#include "trace/report/trace_file.h"

using gpo::test::read_whole;
using gpo::trace::File;

namespace {

/// Limits files of this process to `bytes` during its lifetime.
class SizeLimit {
public:
    explicit SizeLimit(rlim_t bytes) {
        getrlimit(RLIMIT_FSIZE, &outer_);
        before_ = std::signal(SIGXFSZ, SIG_IGN);
        const rlimit limit{bytes, outer_.rlim_max};
        setrlimit(RLIMIT_FSIZE, &limit);
    }
    ~SizeLimit() {
        setrlimit(RLIMIT_FSIZE, &outer_);
        std::signal(SIGXFSZ, before_);
    }

private:
    rlimit outer_{};
    void (*before_)(int);
};

/// The output of a gzip reader; "broken" after an error.
std::string unpacked(const std::string& path) {
    gzFile file = gzopen(path.c_str(), "rb");
    std::string out, room(1 << 16, '\0');
    int got;
    while ((got = gzread(file, room.data(), static_cast<unsigned>(room.size()))) > 0)
        out.append(room, 0, static_cast<size_t>(got));
    return gzclose(file) == Z_OK && got == 0 ? out : "broken";
}

std::string line(int number) { return "{" + std::to_string(number * 2654435761u) + "},\n"; }

}  // namespace

TEST_CASE("a trace file on a disk that fills up keeps whole lines and its end, or is removed") {
    char path[] = "/tmp/gpuorch-test-file-XXXXXX";
    close(mkstemp(path));
    for (const bool packed : {false, true}) {
        const std::string name = std::string(path) + (packed ? ".gz" : ".json");
        size_t most = 0, removed = 0;
        for (rlim_t size = 0; size < 60'000; size += 1777) {
            INFO((packed ? "gzipped, " : "plain, ") << size << " bytes of room");
            gpo::ErrorPtr error;
            uint64_t bytes;
            {
                SizeLimit limit(size);
                File file(name, "[\n", "{}\n]\n");
                for (int i = 0, next = 0; i < 40; ++i) {
                    std::string text;
                    while (text.size() < 4000) text += line(next++);
                    file.append(text);
                }
                file.close();
                error = file.error();
                bytes = file.bytes();
            }
            REQUIRE(error);
            CHECK(error->status == GPO_IO_ERROR);
            CHECK(error->message.find(name) != std::string::npos);
            if (access(name.c_str(), F_OK) != 0) {
                ++removed;
                CHECK(bytes == 0);
                continue;
            }
            CHECK(read_whole(name).size() == bytes);
            const std::string text = packed ? unpacked(name) : read_whole(name);
            std::string expected = "[\n";
            for (int next = 0; expected.size() + 5 < text.size(); ++next) expected += line(next);
            CHECK(text == expected + "{}\n]\n");
            most = std::max(most, text.size());
            unlink(name.c_str());
        }
        CHECK(most > 30'000);
        CHECK(removed >= 1);
        CHECK(removed <= 2);  // where there was no room for anything
    }
    unlink(path);
}

TEST_CASE(
    "a trace file is whole after each append, as a process that is killed leaves it, and no byte of the old end is "
    "left") {
    char path[] = "/tmp/gpuorch-test-file-XXXXXX";
    close(mkstemp(path));
    for (const std::string& name : {std::string(path) + ".json", std::string(path) + ".json.gz"}) {
        File file(name, "[\n", "{\"a last event\"}\n]\n");
        std::string expected = "[\n";
        for (int i = 0; i < 300; ++i) {
            INFO(name << ", append " << i);
            // Shorter than the end, as long, and longer than what the packer gives at a time.
            std::string text = i % 3 == 0 ? "{},\n" : line(i);
            for (int next = 0; i % 100 == 99 && text.size() < 300'000;) text += line(i * 100'000 + next++);
            file.append(text);
            expected += text;
            REQUIRE((name.ends_with(".gz") ? unpacked(name) : read_whole(name)) ==
                    expected + "{\"a last event\"}\n]\n");
        }
        const std::string before = read_whole(name);
        file.close();
        CHECK_FALSE(file.error());
        CHECK(read_whole(name) == before);
        CHECK(file.bytes() == before.size());
        unlink(name.c_str());
    }
    unlink(path);
}

TEST_CASE("a trace file that is written in small pieces keeps nearly all of them when the disk fills up") {
    char path[] = "/tmp/gpuorch-test-file-XXXXXX";
    close(mkstemp(path));
    for (const std::string& name : {std::string(path) + ".json", std::string(path) + ".json.gz"}) {
        SizeLimit limit(40'000);
        File file(name, "[\n", "{}\n]\n");
        int next = 0;
        while (!file.error()) file.append(line(next++));
        file.close();
        CHECK(read_whole(name).size() == file.bytes());
        CHECK(file.bytes() > 39'000);
        const std::string text = name.ends_with(".gz") ? unpacked(name) : read_whole(name);
        std::string expected = "[\n";
        for (int i = 0; expected.size() + 5 < text.size(); ++i) expected += line(i);
        CHECK(text == expected + "{}\n]\n");
        unlink(name.c_str());
    }
    unlink(path);
}

TEST_CASE("a trace that goes into a pipe gets its end once, when it is closed") {
    char path[] = "/tmp/gpuorch-test-file-XXXXXX";
    close(mkstemp(path));
    for (const std::string& name : {std::string(path) + ".json", std::string(path) + ".json.gz"}) {
        REQUIRE(mkfifo(name.c_str(), 0600) == 0);
        const int reader = open(name.c_str(), O_RDONLY | O_NONBLOCK);
        {
            File file(name, "[\n", "{}\n]\n");
            for (int i = 0; i < 3; ++i) file.append(line(i));
            file.close();
            CHECK_FALSE(file.error());
        }
        std::string got(4096, '\0');
        got.resize(static_cast<size_t>(std::max<ssize_t>(read(reader, got.data(), got.size()), 0)));
        close(reader);
        unlink(name.c_str());
        std::ofstream(name, std::ios::binary) << got;
        const std::string whole = name.ends_with(".gz") ? unpacked(name) : read_whole(name);
        CHECK(whole == "[\n" + line(0) + line(1) + line(2) + "{}\n]\n");
        unlink(name.c_str());
    }
    unlink(path);
}

TEST_CASE("a trace file that nothing was written to, and one that all was written to, are whole") {
    char path[] = "/tmp/gpuorch-test-file-XXXXXX";
    close(mkstemp(path));
    const std::string plain = std::string(path) + ".json", packed = plain + ".gz";
    for (const bool some : {false, true}) {
        for (const std::string& name : {plain, packed}) {
            File file(name, "[\n", "{}\n]\n");
            if (some)
                for (int i = 0; i < 1000; ++i) file.append(line(i));
            file.close();
            file.append("{too late},\n");
            CHECK_FALSE(file.error());
        }
        std::string expected = "[\n";
        for (int i = 0; some && i < 1000; ++i) expected += line(i);
        CHECK(read_whole(plain) == expected + "{}\n]\n");
        CHECK(unpacked(packed) == expected + "{}\n]\n");
    }
    for (const std::string& name : {plain, packed, std::string(path)}) unlink(name.c_str());
}

TEST_CASE(
    "a file is one trace's at a time, also where its name leads through a link, and pipes and devices are anybody's") {
    char path[] = "/tmp/gpuorch-test-file-XXXXXX";
    close(mkstemp(path));
    const std::string link = std::string(path) + ".link";
    REQUIRE(symlink(path, link.c_str()) == 0);
    for (const std::string& other : {std::string(path), link}) {
        INFO(other);
        {
            const File file(path, "[\n", "{}\n]\n");
            try {
                File second(other, "[\n", "{}\n]\n");
                FAIL("both have it");
            } catch (const gpo::Failure& failure) {
                CHECK(gpo::trace::Claim::is_taken(*failure.error()));
                CHECK(failure.error()->status == GPO_IO_ERROR);
                CHECK(failure.error()->message.find(other + " can't be written: another process") == 0);
            }
        }
        File next(other, "[\n", "{}\n]\n");
        next.close();
        CHECK_FALSE(next.error());
        CHECK(read_whole(path) == "[\n{}\n]\n");
    }
    const File null("/dev/null", "[\n", "{}\n]\n"), same("/dev/null", "[\n", "{}\n]\n");
    for (const std::string& name : {link, std::string(path)}) unlink(name.c_str());
}

TEST_CASE("a file that is put in place of a claimed one is claimed, and one that was made and never written to goes") {
    char folder[] = "/tmp/gpuorch-test-claim-XXXXXX";
    REQUIRE(mkdtemp(folder) != nullptr);
    const std::string path = std::string(folder) + "/timeline.svg";
    const auto taken = [&] {
        try {
            gpo::make<gpo::trace::Claim>(path);
            return false;
        } catch (const gpo::Failure& failure) {
            return gpo::trace::Claim::is_taken(*failure.error());
        }
    };
    {
        const auto claim = gpo::make<gpo::trace::Claim>(path);
        CHECK(taken());
        gpo::trace::write_whole(path, "drawn", claim.get());
        CHECK(read_whole(path) == "drawn");
        CHECK(taken());
    }
    CHECK_FALSE(taken());
    CHECK(read_whole(path) == "drawn");
    unlink(path.c_str());
    CHECK_FALSE(taken());
    CHECK(access(path.c_str(), F_OK) != 0);
    CHECK(rmdir(folder) == 0);
}
