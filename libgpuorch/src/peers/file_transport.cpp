#include "peers/file_transport.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <mutex>

#include "base/digest.h"
#include "gpuorch/peers.h"
#include "host/host.h"

namespace gpo::peers {

namespace {

constexpr uint64_t kMagic = 0x3130737265657067;        // "gpeers01": the layout, too
constexpr uint64_t kPage = 4096, kLine = 64;
constexpr uint64_t kAllRings = 32 << 20, kLeastRing = 16 << 10, kMostRing = 1 << 20;   // bytes
constexpr uint64_t kFirstLock = uint64_t{1} << 40;     // beyond the end of any group's file
constexpr uint64_t kJoinPause = 1'000'000;             // ns

constexpr char kIdMark[8] = {'g', 'p', 'u', 'o', 'r', 'c', 'h', '1'};
constexpr size_t kIdRandom = 24;

enum SlotState : uint32_t { kAbsent, kHere, kLeft, kBroken };

std::string hex_of(const uint8_t* bytes, size_t count) {
    constexpr char kDigits[] = "0123456789abcdef";
    std::string out;
    for (size_t i = 0; i < count; ++i) {
        out += kDigits[bytes[i] >> 4];
        out += kDigits[bytes[i] & 15];
    }
    return out;
}

std::string octal(mode_t mode) {
    char out[8];
    std::snprintf(out, sizeof out, "%03o", static_cast<unsigned>(mode & 07777));
    return out;
}

void fill_random(void* to, size_t bytes) {
    auto* at = static_cast<uint8_t*>(to);
    while (bytes) {
        const ssize_t got = getrandom(at, bytes, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) fail_errno(GPO_IO_ERROR, errno, "getrandom");
        at += got;
        bytes -= static_cast<size_t>(got);
    }
}

struct flock lock_of(uint32_t rank) noexcept {
    struct flock lock{};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    lock.l_start = static_cast<off_t>(kFirstLock + rank);
    lock.l_len = 1;
    return lock;
}

uint64_t round_up(uint64_t bytes, uint64_t to) noexcept { return (bytes + to - 1) / to * to; }

}  // namespace

struct FileTransport::Header {
    std::atomic<uint64_t> magic;
    uint32_t ranks, reserved;
    uint8_t group[16];             // random: identifies the group
};

struct FileTransport::Slot {
    std::atomic<uint32_t> state;   // SlotState; the rest is written before
    uint32_t culprit;
    char why[248];
};

struct FileTransport::Ring {
    alignas(kLine) std::atomic<uint64_t> written;   // bytes in total, by the sender
    alignas(kLine) std::atomic<uint64_t> taken;     // bytes in total, by the receiver
};

struct FileTransport::Layout {
    explicit Layout(uint32_t ranks) noexcept {
        const uint64_t pairs = std::max(uint64_t{1}, uint64_t{ranks} * (ranks - 1));
        ring_bytes = std::clamp(std::bit_floor(kAllRings / pairs), kLeastRing, kMostRing);
        bytes = first_ring(ranks) + uint64_t{ranks} * ranks * (sizeof(Ring) + ring_bytes);
    }
    static uint64_t first_ring(uint32_t ranks) noexcept {
        return round_up(kPage + ranks * sizeof(Slot), kPage);
    }
    uint64_t ring_bytes, bytes;
};

std::string file_of_id(const void* id) {
    static_assert(sizeof kIdMark + kIdRandom <= GPO_PEERS_ID_BYTES);
    if (std::memcmp(id, kIdMark, sizeof kIdMark) != 0)
        fail(GPO_INVALID_ARGUMENT, "options.id is none that gpo_peers_make_id has made");
    return "/dev/shm/gpuorch-" + hex_of(static_cast<const uint8_t*>(id) + sizeof kIdMark, kIdRandom);
}

void make_id(void* id) {
    std::memset(id, 0, GPO_PEERS_ID_BYTES);
    std::memcpy(id, kIdMark, sizeof kIdMark);
    fill_random(static_cast<uint8_t*>(id) + sizeof kIdMark, kIdRandom);
}

// --- bootstrap ---

FileTransport::FileTransport(const std::string& path, uint32_t rank, uint32_t ranks)
    : Transport(rank, ranks), path_(path), written_(ranks), taken_(ranks) {}

FileTransport::~FileTransport() {
    if (memory_) depart(joined_ ? Presence::State::left : Presence::State::broken, rank(), "gave up joining");
    remove_name();
    unmap();
}

void FileTransport::unmap() noexcept {
    if (memory_) munmap(memory_, mapped_);
    memory_ = nullptr;
    if (file_ >= 0) close(file_);
    file_ = -1;
}

void FileTransport::remove_name() noexcept {
    if (!named_) return;
    named_ = false;
    struct stat own{}, there{};
    if (fstat(file_, &own) == 0 && lstat(path_.c_str(), &there) == 0 && own.st_ino == there.st_ino &&
        own.st_dev == there.st_dev)
        unlink(path_.c_str());
}

bool FileTransport::take_lock() noexcept {
    struct flock lock = lock_of(rank());
    return fcntl(file_, F_OFD_SETLK, &lock) == 0;
}

bool FileTransport::holds_lock(uint32_t rank) const {
    struct flock lock = lock_of(rank);
    if (fcntl(file_, F_OFD_GETLK, &lock) != 0) fail_errno(GPO_IO_ERROR, errno, text("the locks of ", path_));
    return lock.l_type != F_UNLCK;
}

void FileTransport::map(uint64_t bytes) {
    void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
    if (memory == MAP_FAILED)
        fail_errno(errno == ENOMEM ? GPO_OUT_OF_MEMORY : GPO_IO_ERROR, errno, text("mapping ", path_));
    memory_ = static_cast<std::byte*>(memory);
    mapped_ = bytes;
}

// A user who may rename files in the folder could replace the group's file.
void FileTransport::check_folder() const {
    const size_t slash = path_.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : path_.substr(0, slash + 1);
    struct stat there{};
    if (stat(folder.c_str(), &there) != 0)
        fail_errno(errno == ENOENT ? GPO_NOT_FOUND : GPO_IO_ERROR, errno, text("the folder of ", path_));
    if ((there.st_mode & (S_IWGRP | S_IWOTH)) && !(there.st_mode & S_ISVTX))
        fail(GPO_INVALID_ARGUMENT, "other users may put a file of theirs in the place of ", path_,
             ": its folder has mode ", octal(there.st_mode), " and isn't sticky");
}

void FileTransport::check_file() const {
    struct stat own{};
    if (fstat(file_, &own) != 0) fail_errno(GPO_IO_ERROR, errno, path_);
    if (!S_ISREG(own.st_mode)) fail(GPO_INVALID_ARGUMENT, path_, " is no file");
    if (own.st_uid != geteuid())
        fail(GPO_INVALID_ARGUMENT, "the file ", path_, " is of user ", own.st_uid, ", and this process is user ",
             geteuid(), "'s");
    if (own.st_mode & (S_IWGRP | S_IWOTH))
        fail(GPO_INVALID_ARGUMENT, "other users may write to the file ", path_, ": it has mode ", octal(own.st_mode));
}

bool FileTransport::is_whole(uint64_t* bytes) const noexcept {
    struct stat own{};
    const uint64_t there = fstat(file_, &own) == 0 ? static_cast<uint64_t>(own.st_size) : 0;
    if (bytes) *bytes = there;
    return there >= mapped_;
}

void FileTransport::check_whole(uint32_t peer) const {
    uint64_t bytes = 0;
    if (!is_whole(&bytes))
        fail_broken(peer, text("can't be reached: somebody has cut the file ", path_, " to ", bytes, " bytes"));
}

// Rank 0 makes the file.
void FileTransport::create() {
    check_folder();
    if (const int old = open(path_.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW); old >= 0) {
        file_ = old;
        check_file();
        uint64_t magic = 0;
        const bool ours = pread(old, &magic, sizeof magic, 0) == sizeof magic && magic == kMagic;
        const bool used = ours && holds_lock(0);
        unmap();
        if (!ours) fail(GPO_INVALID_ARGUMENT, "the file ", path_, " is there already, and was not made by a group");
        if (used) fail(GPO_INVALID_STATE, "another group is joining by the file ", path_, ", and has a rank 0");
    } else if (errno != ENOENT) {
        fail_errno(GPO_IO_ERROR, errno, path_);
    }
    uint8_t random[8];
    fill_random(random, sizeof random);
    const std::string temporary = text(path_, ".", hex_of(random, sizeof random));
    file_ = open(temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file_ < 0) fail_errno(errno == ENOENT ? GPO_NOT_FOUND : GPO_IO_ERROR, errno, path_);
    try {
        const Layout layout(ranks());
        if (const int error = posix_fallocate(file_, 0, static_cast<off_t>(layout.bytes)))   // or a store would crash
            fail_errno(error == ENOSPC ? GPO_OUT_OF_MEMORY : GPO_IO_ERROR, error,
                       text(layout.bytes, " bytes of shared memory in ", path_));
        map(layout.bytes);
        header().ranks = ranks();
        ring_bytes_ = layout.ring_bytes;
        fill_random(header().group, sizeof header().group);
        header().magic.store(kMagic, std::memory_order_release);
        if (!take_lock()) fail_errno(GPO_IO_ERROR, errno, text("a lock of ", path_));
        come();
        if (rename(temporary.c_str(), path_.c_str()) != 0) fail_errno(GPO_IO_ERROR, errno, path_);
        named_ = true;
    } catch (...) {
        unlink(temporary.c_str());
        throw;
    }
}

// Another rank opens the file. False if no file of a living rank 0 exists yet.
bool FileTransport::open_existing() {
    file_ = open(path_.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (file_ < 0) {
        if (errno == ENOENT) return false;
        fail_errno(GPO_IO_ERROR, errno, path_);
    }
    check_folder();
    check_file();
    uint64_t magic = 0;
    if (pread(file_, &magic, sizeof magic, 0) != sizeof magic || magic != kMagic)
        fail(GPO_INVALID_ARGUMENT, "the file ", path_, " is there already, and was not made by a group");
    if (!holds_lock(0)) {   // its rank 0 has died
        unmap();
        return false;
    }
    uint32_t theirs = 0;
    if (pread(file_, &theirs, sizeof theirs, offsetof(Header, ranks)) != sizeof theirs) theirs = 0;
    if (theirs != ranks())
        fail(GPO_INVALID_ARGUMENT, "options.ranks is ", ranks(), ", and rank 0 has ", theirs, " in its options");
    const Layout layout(ranks());
    struct stat own{};
    if (fstat(file_, &own) != 0 || static_cast<uint64_t>(own.st_size) < layout.bytes)
        fail(GPO_INVALID_ARGUMENT, "the file ", path_, " is cut short: it has ", own.st_size, " bytes, and a group of ",
             ranks(), " ranks takes ", layout.bytes);
    map(layout.bytes);
    ring_bytes_ = layout.ring_bytes;
    if (!take_lock()) {
        munmap(memory_, mapped_);   // without a departure: another process has the slot
        memory_ = nullptr;
        fail(GPO_INVALID_STATE, "rank ", rank(), " of the group is there already");
    }
    come();
    return true;
}

void FileTransport::come() noexcept { slot(rank()).state.store(kHere, std::memory_order_release); }

// A rank that has left counts as having come. `*again`: rank 0 has died, and a new rank 0 may come. Throws Broken.
bool FileTransport::all_came(bool* again) {
    bool all = true;
    check_whole(0);
    for (uint32_t other = 0; other < ranks(); ++other) {
        if (other == rank()) continue;
        if (slot(other).state.load(std::memory_order_acquire) == kAbsent) {
            all = false;
            continue;
        }
        const Presence presence = look_at(other);
        if (presence.state == Presence::State::broken) fail_broken(presence.culprit, presence.why);
        if (presence.state != Presence::State::dead) continue;
        if (other != 0) fail_broken(other, "has died");
        return !(*again = true);
    }
    return all;
}

std::string FileTransport::missing() const {
    std::string out;
    for (uint32_t other = 0; other < ranks(); ++other)
        if (other != rank() &&
            (!memory_ || !is_whole() || slot(other).state.load(std::memory_order_acquire) == kAbsent))
            out += text(out.empty() ? "" : ", ", other);
    return out;
}

std::unique_ptr<FileTransport> FileTransport::join(const std::string& path, uint32_t rank, uint32_t ranks,
                                                   uint64_t deadline, const std::function<void()>& check) {
    const uint64_t begun = host::now();
    std::unique_ptr<FileTransport> made(new FileTransport(path, rank, ranks));
    if (rank == 0) made->create();
    for (;;) {
        bool again = false;
        if ((made->memory_ || made->open_existing()) && made->all_came(&again)) break;
        if (again) made->unmap();
        check();
        if (host::now() >= deadline) {
            const std::string missing = made->missing();
            fail(GPO_PEER_LOST, "joining ", path, ": within ", duration(host::now() - begun),
                 missing.find(',') == std::string::npos ? " rank " : " ranks ", missing, " didn't come");
        }
        host::sleep_until(host::now() + kJoinPause);
    }
    made->joined_ = true;
    made->remove_name();
    return made;
}

std::unique_ptr<Transport> FileTransport::split(std::span<const uint32_t> ranks, uint64_t deadline,
                                           const std::function<void()>& check) {
    std::vector<uint32_t> list(ranks.begin(), ranks.end());
    const auto place = std::find(list.begin(), list.end(), rank());
    Digest digest;
    check_whole(rank());
    digest.add(header().group, sizeof header().group);
    {
        std::lock_guard lock(splits_lock_);
        digest.add_field(splits_[list]++);
    }
    for (const uint32_t one : list) digest.add_field(one);
    const std::string name = text(path_, "-", gpo::hex_of(digest.finish()).substr(0, 16));
    return join(name, static_cast<uint32_t>(place - list.begin()), static_cast<uint32_t>(list.size()), deadline, check);
}

// --- what lies where ---

FileTransport::Header& FileTransport::header() const noexcept { return *reinterpret_cast<Header*>(memory_); }

FileTransport::Slot& FileTransport::slot(uint32_t rank) const noexcept {
    return *reinterpret_cast<Slot*>(memory_ + kPage + rank * sizeof(Slot));
}

FileTransport::Ring& FileTransport::ring(uint32_t from, uint32_t to) const noexcept {
    return *reinterpret_cast<Ring*>(memory_ + Layout::first_ring(ranks()) +
                                    (uint64_t{from} * ranks() + to) * (sizeof(Ring) + ring_bytes_));
}

// --- messages ---

bool FileTransport::write(Transfer& transfer) {
    Ring& to = ring(rank(), transfer.peer);
    auto* const bytes = reinterpret_cast<std::byte*>(&to + 1);
    uint64_t& written = written_[transfer.peer];
    const uint64_t waiting = written - to.taken.load(std::memory_order_acquire);
    if (waiting > ring_bytes_) fail_broken(transfer.peer, text("has taken what wasn't sent, by the file ", path_));
    const uint64_t count = std::min(ring_bytes_ - waiting, transfer.size - transfer.done);
    if (count == 0) return false;
    const uint64_t at = written % ring_bytes_, first = std::min(count, ring_bytes_ - at);
    std::memcpy(bytes + at, transfer.bytes + transfer.done, first);
    std::memcpy(bytes, transfer.bytes + transfer.done + first, count - first);
    written += count;
    to.written.store(written, std::memory_order_release);
    transfer.done += count;
    return true;
}

bool FileTransport::read(Transfer& transfer) {
    Ring& from = ring(transfer.peer, rank());
    const auto* const bytes = reinterpret_cast<const std::byte*>(&from + 1);
    uint64_t& taken = taken_[transfer.peer];
    const uint64_t there = from.written.load(std::memory_order_acquire) - taken;
    if (there > ring_bytes_) fail_broken(transfer.peer, text("has sent more than fits into the file ", path_));
    const uint64_t count = std::min(there, transfer.size - transfer.done);
    if (count == 0) return false;
    const uint64_t at = taken % ring_bytes_, first = std::min(count, ring_bytes_ - at);
    std::memcpy(transfer.bytes + transfer.done, bytes + at, first);
    std::memcpy(transfer.bytes + transfer.done + first, bytes, count - first);
    taken += count;
    from.taken.store(taken, std::memory_order_release);
    transfer.done += count;
    return true;
}

bool FileTransport::advance(Transfer& transfer) {
    check_whole(transfer.peer);
    const bool moved = transfer.sends ? write(transfer) : read(transfer);
    transfer.complete = transfer.done == transfer.size;
    return moved;
}

Presence FileTransport::look_at(uint32_t rank) {
    check_whole(rank);
    const Slot& of = slot(rank);
    Presence out;
    uint32_t state = of.state.load(std::memory_order_acquire);
    if (state == kHere) {
        if (holds_lock(rank)) return out;
        state = of.state.load(std::memory_order_acquire);   // a rank departs before its lock is released
    }
    out.state = state == kLeft     ? Presence::State::left
                : state == kBroken ? Presence::State::broken
                                   : Presence::State::dead;
    if (state != kBroken) return out;
    out.culprit = of.culprit < ranks() ? of.culprit : rank;
    out.why.assign(of.why, strnlen(of.why, sizeof of.why));
    return out;
}

void FileTransport::depart(Presence::State state, uint32_t culprit, std::string_view why) noexcept {
    if (!is_whole()) return;
    Slot& own = slot(rank());
    if (own.state.load(std::memory_order_relaxed) != kHere) return;
    own.culprit = culprit;
    copy_text(own.why, why);
    own.state.store(state == Presence::State::broken ? kBroken : kLeft, std::memory_order_release);
}

}  // namespace gpo::peers
