// The file by which processes of one user join: allowed owners, and the effects of foreign changes to the file.
#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>

#include "host/host.h"
#include "peers/file_transport.h"
#include "support/files.h"

namespace {

using namespace gpo::peers;

constexpr uint64_t kSecond = 1'000'000'000;
constexpr uint64_t kPage = 4096, kSlot = 256;
constexpr uint64_t kFirstRing = 2 * kPage;   // of two ranks: behind the header and two slots

std::unique_ptr<FileTransport> join(const std::string& path, uint32_t rank, uint64_t patience = 10 * kSecond) {
    return FileTransport::join(path, rank, 2, gpo::host::now() + patience, [] {});
}

/// The refusal of rank 1: status and message.
std::string refusal(const std::string& path, uint32_t rank = 1) {
    try {
        join(path, rank, kSecond / 20);
    } catch (const gpo::Failure& failure) {
        return std::to_string(failure.error()->status) + " " + std::string(failure.error()->sentence());
    }
    return "none";
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// A file like one made by rank 0, with a chosen size, and a lock like rank 0's.
struct Forged {
    explicit Forged(const std::string& path, uint64_t bytes, mode_t mode = 0600) {
        file = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
        REQUIRE(file >= 0);
        const struct {
            uint64_t magic = 0x3130737265657067;
            uint32_t ranks = 2, reserved = 0;
        } header;
        REQUIRE(pwrite(file, &header, sizeof header, 0) == sizeof header);
        if (bytes) REQUIRE(ftruncate(file, static_cast<off_t>(bytes)) == 0);
        REQUIRE(fchmod(file, mode) == 0);
        struct flock lock{};
        lock.l_type = F_WRLCK;
        lock.l_start = off_t{1} << 40;
        lock.l_len = 1;
        REQUIRE(fcntl(file, F_OFD_SETLK, &lock) == 0);
    }
    ~Forged() { close(file); }
    int file;
};

/// Two joined ranks, and their file, for tests that change the file.
struct Pair {
    explicit Pair(const std::string& path) {
        std::thread first([&] { ranks[0] = join(path, 0); });
        while ((file = open(path.c_str(), O_RDWR | O_CLOEXEC)) < 0) std::this_thread::yield();
        ranks[1] = join(path, 1);
        first.join();
    }
    ~Pair() { close(file); }
    std::unique_ptr<FileTransport> ranks[2];
    int file = -1;
};

/// Moves one byte between the ranks; returns the outcome as text.
std::string moved(FileTransport& rank, bool sends) {
    std::byte byte{7};
    Transfer transfer;
    transfer.peer = 1 - rank.rank();
    transfer.sends = sends;
    transfer.bytes = &byte;
    transfer.size = 1;
    try {
        rank.advance(transfer);
    } catch (const Broken& broken) {
        return std::to_string(broken.culprit()) + " " + broken.why();
    }
    return transfer.complete ? "complete" : "nothing";
}

}  // namespace

TEST_CASE("a file to join by that others may write to, or that is cut short, is refused and not mapped") {
    gpo::test::Folder folder;
    const std::string path = folder / "group";
    {
        const Forged forged(path, 64 << 20, 0666);
        CHECK(contains(refusal(path), "10 other users may write to the file " + path + ": it has mode 666"));
        CHECK(contains(refusal(path, 0), "it has mode 666"));
    }
    {
        const Forged forged(path, 64 << 20, 0620);
        CHECK(contains(refusal(path), "it has mode 620"));
    }
    {
        const Forged forged(path, 0);   // its header alone
        CHECK(contains(refusal(path), "10 the file " + path + " is cut short: it has 16 bytes"));
    }
    {
        const Forged forged(path, 2 * kPage);
        CHECK(contains(refusal(path), "is cut short: it has 8192 bytes"));
    }
    REQUIRE(unlink(path.c_str()) == 0);
    REQUIRE(mkfifo(path.c_str(), 0600) == 0);
    CHECK(contains(refusal(path), path + " is no file"));
    CHECK(contains(refusal(path, 0), path + " is no file"));
}

TEST_CASE("a file of another user to join by is refused" * doctest::skip(geteuid() != 0)) {
    gpo::test::Folder folder;
    const std::string path = folder / "group";
    const Forged forged(path, 64 << 20);
    REQUIRE(chown(path.c_str(), 65534, 65534) == 0);
    CHECK(contains(refusal(path), "10 the file " + path + " is of user 65534, and this process is user 0's"));
    CHECK(contains(refusal(path, 0), "is of user 65534"));
}

TEST_CASE("a folder in which others may put a file in the place of ours is refused, and a sticky one isn't") {
    gpo::test::Folder folder;
    const std::string shared = folder / "shared";
    REQUIRE(mkdir(shared.c_str(), 0700) == 0);
    const std::string path = shared + "/group";
    REQUIRE(chmod(shared.c_str(), 0777) == 0);
    CHECK(contains(refusal(path, 0), "10 other users may put a file of theirs in the place of " + path));
    CHECK(std::filesystem::is_empty(shared));
    {
        const Forged forged(path, 64 << 20);
        CHECK(contains(refusal(path), "has mode 777 and isn't sticky"));
    }
    REQUIRE(unlink(path.c_str()) == 0);
    REQUIRE(chmod(shared.c_str(), 01777) == 0);
    const Pair pair(path);
    CHECK(moved(*pair.ranks[0], true) == "complete");
    CHECK(moved(*pair.ranks[1], false) == "complete");
    CHECK(refusal(folder / "nowhere/group", 0).substr(0, 2) == "15");
}

TEST_CASE("a file that is cut while its group is there is told, and not touched") {
    gpo::test::Folder folder;
    Pair pair(folder / "group");
    CHECK(moved(*pair.ranks[0], true) == "complete");
    for (const uint64_t left : {kFirstRing, kPage, uint64_t{0}}) {
        REQUIRE(ftruncate(pair.file, static_cast<off_t>(left)) == 0);
        const std::string why = "can't be reached: somebody has cut the file " + (folder / "group") + " to " +
                                std::to_string(left) + " bytes";
        CHECK(moved(*pair.ranks[0], true) == "1 " + why);
        CHECK(moved(*pair.ranks[1], false) == "0 " + why);
        CHECK_THROWS_AS(pair.ranks[0]->look_at(1), Broken);
        const uint32_t alone[] = {0};
        CHECK_THROWS_AS(pair.ranks[0]->split(alone, gpo::host::now() + kSecond, [] {}), Broken);
        pair.ranks[0]->depart(Presence::State::broken, 1, "cut");
    }
}

TEST_CASE("counters in the file that can't be are told, and no byte beyond a ring is touched") {
    gpo::test::Folder folder;
    Pair pair(folder / "group");
    struct stat own{};
    REQUIRE(fstat(pair.file, &own) == 0);
    const uint64_t ring = (static_cast<uint64_t>(own.st_size) - kFirstRing) / 4;
    const auto put = [&](uint64_t at, uint64_t value) {
        REQUIRE(pwrite(pair.file, &value, sizeof value, static_cast<off_t>(at)) == sizeof value);
    };
    const uint64_t first_to_second = kFirstRing + 1 * ring, second_to_first = kFirstRing + 2 * ring;
    put(first_to_second, uint64_t{1} << 50);          // written
    CHECK(contains(moved(*pair.ranks[1], false), "0 has sent more than fits into the file"));
    put(first_to_second, 0);
    CHECK(moved(*pair.ranks[1], false) == "nothing");
    put(second_to_first + 64, 1);                     // taken, though nothing was written
    CHECK(contains(moved(*pair.ranks[1], true), "0 has taken what wasn't sent"));
    put(second_to_first + 64, 0);
    CHECK(moved(*pair.ranks[1], true) == "complete");
    put(second_to_first, uint64_t{1} << 50);          // a rank doesn't read back its own count
    CHECK(moved(*pair.ranks[1], true) == "complete");
    put(second_to_first, 2);
    CHECK(moved(*pair.ranks[0], false) == "complete");
    // A departure with the number of a rank outside the group.
    const uint32_t departure[] = {3, 77};
    REQUIRE(pwrite(pair.file, departure, sizeof departure, kPage + kSlot) == sizeof departure);
    const Presence presence = [&] {
        pair.ranks[1].reset();   // gives up the rank's lock
        REQUIRE(pwrite(pair.file, departure, sizeof departure, kPage + kSlot) == sizeof departure);
        return pair.ranks[0]->look_at(1);
    }();
    CHECK(presence.state == Presence::State::broken);
    CHECK(presence.culprit == 1);
}

TEST_CASE("a second rank 0 is refused while the first waits, whose group comes together then") {
    gpo::test::Folder folder;
    const std::string path = folder / "group";
    std::unique_ptr<FileTransport> ranks[2];
    const auto join_as = [&](uint32_t rank) {
        try {
            ranks[rank] = join(path, rank);
        } catch (const gpo::Failure&) {
        }
    };
    std::thread first(join_as, 0);
    while (access(path.c_str(), F_OK) != 0) std::this_thread::yield();
    const std::string refused = refusal(path, 0);
    join_as(1);
    first.join();
    CHECK(refused == std::to_string(GPO_INVALID_STATE) + " another group is joining by the file " + path +
                         ", and has a rank 0");
    REQUIRE(ranks[0]);
    REQUIRE(ranks[1]);
    CHECK(moved(*ranks[0], true) == "complete");
    CHECK(moved(*ranks[1], false) == "complete");
}

TEST_CASE("a rank 0 that gives up joining leaves a file that another has put in the place of its own") {
    gpo::test::Folder folder;
    const std::string path = folder / "group", another = folder / "another";
    std::atomic<bool> gives_up{false};
    bool given_up = false;
    std::thread first([&] {
        try {
            FileTransport::join(path, 0, 2, gpo::host::now() + 100 * kSecond,
                                [&] { if (gives_up) gpo::fail(GPO_CANCELLED, "given up"); });
        } catch (const gpo::Failure& failure) {
            given_up = failure.error()->status == GPO_CANCELLED;
        }
    });
    while (access(path.c_str(), F_OK) != 0) std::this_thread::yield();
    const Forged forged(another, 64 << 20);
    REQUIRE(rename(another.c_str(), path.c_str()) == 0);
    gives_up = true;
    first.join();
    CHECK(given_up);
    CHECK(std::filesystem::file_size(path) == 64 << 20);
}

TEST_CASE("a rank whose rank 0 dies while it waits for others joins the next one") {
    gpo::test::Folder folder;
    const std::string path = folder / "group";
    std::unique_ptr<FileTransport> ranks[2];
    const auto join_as = [&](uint32_t rank) {
        try {
            ranks[rank] = join(path, rank);
        } catch (const gpo::Failure&) {
        }
    };
    auto dying = std::make_unique<Forged>(path, 64 << 20);
    std::thread second(join_as, 1);
    const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
    const uint32_t here = 1;
    for (uint32_t state = 0; state != here; std::this_thread::yield())
        if (pread(file, &state, sizeof state, kPage + kSlot) != sizeof state) break;
    dying.reset();
    CHECK(pwrite(file, &here, sizeof here, kPage) == sizeof here);
    close(file);
    join_as(0);
    second.join();
    REQUIRE(ranks[0]);
    REQUIRE(ranks[1]);
    CHECK(moved(*ranks[0], true) == "complete");
    CHECK(moved(*ranks[1], false) == "complete");
}

TEST_CASE("of what a rank says as it leaves the first counts") {
    gpo::test::Folder folder;
    Pair pair(folder / "group");
    pair.ranks[0]->depart(Presence::State::broken, 1, "has failed first");
    pair.ranks[0]->depart(Presence::State::broken, 0, "has failed again");
    pair.ranks[0].reset();   // the destructor writes "has left"
    const Presence presence = pair.ranks[1]->look_at(0);
    CHECK(presence.state == Presence::State::broken);
    CHECK(presence.culprit == 1);
    CHECK(presence.why == "has failed first");
}
