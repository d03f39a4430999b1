// Messages between processes of one host, through shared memory.
//
// The memory is a file that all ranks map. The file has a byte ring for each ordered pair of ranks, with one writer and
// one reader, and a *slot* for each rank, with the rank's state and departure. A rank holds a lock of the open file on
// a byte of its own. If the lock is free and the slot has no departure, the rank's process has died. (A child that was
// forked and hasn't called exec() holds the lock too.)
//
// Bootstrap. Rank 0 makes the file under a random name, takes its lock, and renames the file to the name that the ranks
// have agreed on. The others retry to open that name until they find a file whose rank 0 lives: hence a file left by a
// dead group does no harm. When all have come, rank 0 removes the name.
//
// Trust. All ranks belong to one user, and so does the file: a file that other users may write to or replace is
// refused. File size and counters are checked before each use all the same, since another program of the user may have
// changed them.
#pragma once

#include <map>

#include "host/host.h"
#include "peers/transport.h"

namespace gpo::peers {

class FileTransport final : public Transport {
public:
    static constexpr uint32_t kMostRanks = 64;   // the file has kMostRanks^2 rings

    /// Returns when all ranks are there. `check` is called now and then, and may throw. Throws Failure
    /// (GPO_PEER_LOST: a rank was missing at the deadline, or has left).
    static std::unique_ptr<FileTransport> join(const std::string& path, uint32_t rank, uint32_t ranks,
                                               uint64_t deadline, const std::function<void()>& check);
    ~FileTransport() override;

    bool advance(Transfer& transfer) override;
    void give_up(Transfer&) noexcept override {}
    Presence look_at(uint32_t rank) override;
    void depart(Presence::State state, uint32_t culprit, std::string_view why) noexcept override;
    std::unique_ptr<Transport> split(std::span<const uint32_t> ranks, uint64_t deadline,
                                           const std::function<void()>& check) override;

private:
    struct Header;
    struct Slot;
    struct Ring;
    struct Layout;

    FileTransport(const std::string& path, uint32_t rank, uint32_t ranks);
    void create();
    bool open_existing();
    bool take_lock() noexcept;
    bool holds_lock(uint32_t rank) const;
    void map(uint64_t bytes);
    void unmap() noexcept;
    void check_folder() const;
    void check_file() const;
    bool is_whole(uint64_t* bytes = nullptr) const noexcept;
    void check_whole(uint32_t peer) const;
    void come() noexcept;
    bool all_came(bool* again);
    void remove_name() noexcept;
    std::string missing() const;
    Header& header() const noexcept;
    Slot& slot(uint32_t rank) const noexcept;
    Ring& ring(uint32_t from, uint32_t to) const noexcept;
    bool write(Transfer& transfer);
    bool read(Transfer& transfer);

    const std::string path_;
    int file_ = -1;
    std::byte* memory_ = nullptr;
    uint64_t mapped_ = 0, ring_bytes_ = 0;
    std::vector<uint64_t> written_, taken_;                // by peer: bytes in total, sent and received
    bool joined_ = false;                                  // all ranks have come
    bool named_ = false;                                   // rank 0: the name still exists
    host::Mutex splits_lock_;
    std::map<std::vector<uint32_t>, uint32_t> splits_;     // number of splits by list. Under splits_lock_
};

/// The file's name for an id. Throws Failure(GPO_INVALID_ARGUMENT): not an id.
std::string file_of_id(const void* id);
/// Makes an id. Throws Failure.
void make_id(void* id);

}  // namespace gpo::peers
