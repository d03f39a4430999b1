// Messages between the processes of an MPI communicator.
//
// The library uses communicators of its own: a duplicate of MPI_COMM_WORLD, and a duplicate of another communicator for
// each group that joins by it. The duplicates stay until MPI is finalised: a late message might be taken for a message
// of the next communicator. Groups of the same communicator have different tags.
//
// MPI may use a buffer until its request completes, and can't be made to release the buffer of a send. Hence messages
// go through the transport's own memory, and a transfer that is given up leaves this memory to MPI, possibly until the
// process ends. Device memory isn't copied (Transfer::device): the transport then holds its owner for the same time.
// A receive begins only when its message has arrived, so few receives are ever given up.
#pragma once

#include <list>
#include <map>

#include "driver/mpi.h"
#include "host/host.h"
#include "peers/transport.h"

namespace gpo::peers {

class MpiTransport final : public Transport {
public:
    /// `communicator`: an MPI_Comm, or NULL: MPI_COMM_WORLD. `rank` and `ranks`: 0, or the values that the communicator
    /// has to have. Throws Failure (GPO_NOT_SUPPORTED, GPO_INVALID_STATE; GPO_PEER_LOST: not all were there by the
    /// deadline).
    static std::unique_ptr<MpiTransport> join(void* communicator, uint32_t rank, uint32_t ranks, uint32_t most,
                                              uint64_t deadline, const std::function<void()>& check);
    ~MpiTransport() override;

    bool takes_device_memory() const override { return mpi_.takes_device_addresses(); }
    bool advance(Transfer& transfer) override;
    void give_up(Transfer& transfer) noexcept override;
    Presence look_at(uint32_t rank) override;
    void depart(Presence::State state, uint32_t culprit, std::string_view why) noexcept override;
    std::unique_ptr<Transport> split(std::span<const uint32_t> ranks, uint64_t deadline,
                                     const std::function<void()>& check) override;

private:
    using Handle = driver::Mpi::Handle;
    struct Communicator;
    struct Expected;
    struct Departure;
    struct SplitTag;
    struct Message;

    MpiTransport(std::shared_ptr<Communicator> communicator, int tag, uint32_t rank, std::vector<int> ranks);
    void check(int result, const char* function) const;
    static bool arrived(const Communicator& in, int from, int tag);
    static void receive(const Communicator& in, int from, int tag, void* to, int bytes);
    void send(int to, int tag, const void* from, size_t bytes);
    std::unique_ptr<Message> message(size_t bytes);
    void begin(Message& message, bool sends, int peer, int tag, size_t bytes) const;
    bool is_done(Message& message) const;
    void collect_left() noexcept;

    const std::shared_ptr<Communicator> communicator_;
    const driver::Mpi& mpi_;
    const int tag_;                       // the first of the group's kTags tags
    const std::vector<int> ranks_;        // in the communicator, by rank
    std::vector<Presence> others_;        // by rank: the last known state
    bool left_ = false;
    std::vector<std::unique_ptr<Message>> spare_;
    std::list<std::unique_ptr<Message>> left_to_mpi_;   // still used by MPI; tested now and then
};

}  // namespace gpo::peers
