#include "peers/mpi_transport.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <utility>

#include "base/digest.h"
#include "gpuorch/peers.h"

namespace gpo::peers {

namespace {

using driver::Mpi;

// A group's tags.
enum Tag : int { kData, kDeparture, kTags };
// All known MPIs have tags up to 2^20. Each rank of a communicator numbers the groups in which it is the first rank,
// and all ranks number the groups that all have joined.
constexpr int kSplitTag = 1, kFirstTag = 16, kNumbers = 1000;
constexpr int tag_of(uint32_t first, int number) noexcept {
    return kFirstTag + kTags * (static_cast<int>(first) * kNumbers + number);
}
static_assert(tag_of(GPO_PEERS_MOST_JOINED, kNumbers) < 1 << 20);

constexpr uint64_t kSplitPause = 200'000;            // ns
constexpr uint64_t kDeparturePatience = 1'000'000'000;   // ns
constexpr unsigned kDepartureTurns = 1000;            // turns that small messages get to leave

}  // namespace

// The message of a new group's first rank to the other ranks.
struct MpiTransport::SplitTag {
    std::array<uint8_t, 32> group;   // digest of the ranks and of the split's number
    int32_t tag;
};

struct MpiTransport::Communicator {
    explicit Communicator(const Mpi& mpi) noexcept : mpi(mpi) {}
    const Mpi& mpi;
    Handle handle = 0;
    uint32_t rank = 0, ranks = 0;
    host::Mutex lock;                                       // guards the following
    int joined = 0, numbered = 0;                           // groups of all ranks; groups with this first rank
    std::map<std::vector<int>, uint32_t> splits;            // number of splits by list
    std::vector<std::pair<int, SplitTag>> pending;          // other splits' messages, with their senders
};

struct MpiTransport::Departure {
    uint32_t state, culprit;
    char why[248];
};

struct MpiTransport::Message {
    Handle request = 0;
    size_t capacity = 0;
    std::unique_ptr<std::byte[]> bytes;
    std::byte* at = nullptr;   // `bytes`, or device memory
    Ref<Counted> device;       // owner of the device memory
};

namespace {

void check_mpi(const Mpi& mpi, int result, const char* function) {
    if (result != Mpi::kSuccess) fail(GPO_PEER_LOST, mpi.failure(result, function));
}

}  // namespace

// Departures still expected by destroyed groups: when finalised, some MPIs complain about messages that were never
// received.
struct MpiTransport::Expected {
    std::shared_ptr<Communicator> communicator;
    int from, tag;

    struct List {
        host::Mutex lock;
        std::vector<Expected> all;
    };
    static List& list() {
        static List* const made = new List;   // lives until the process ends
        return *made;
    }
    static void add(Expected one) {
        List& those = list();
        std::lock_guard guard(those.lock);
        one.communicator->mpi.before_finalize([]() noexcept { receive_all(); });
        those.all.push_back(std::move(one));
    }
    static void receive_all() noexcept {
        List& those = list();
        std::lock_guard guard(those.lock);
        const uint64_t deadline = host::now() + kDeparturePatience;
        while (!those.all.empty() && host::now() < deadline) {
            try {
                std::erase_if(those.all, [](const Expected& one) {
                    if (!arrived(*one.communicator, one.from, one.tag)) return false;
                    Departure departure;
                    receive(*one.communicator, one.from, one.tag, &departure, sizeof departure);
                    return true;
                });
            } catch (const std::exception&) {
                return;
            }
            host::sleep_until(host::now() + kSplitPause);
        }
    }
};

void MpiTransport::check(int result, const char* function) const { check_mpi(mpi_, result, function); }

// --- bootstrap ---

MpiTransport::MpiTransport(std::shared_ptr<Communicator> communicator, int tag, uint32_t rank, std::vector<int> ranks)
    : Transport(rank, static_cast<uint32_t>(ranks.size())), communicator_(std::move(communicator)),
      mpi_(communicator_->mpi), tag_(tag), ranks_(std::move(ranks)), others_(ranks_.size()) {}

MpiTransport::~MpiTransport() {
    depart(Presence::State::left, rank(), {});
    for (unsigned turn = 0; !left_to_mpi_.empty() && turn < kDepartureTurns; ++turn) {
        collect_left();
        host::step(turn);
    }
    for (auto& message : left_to_mpi_) static_cast<void>(message.release());
    for (uint32_t other = 0; other < ranks(); ++other)
        if (other != rank() && others_[other].state == Presence::State::here)
            Expected::add({communicator_, ranks_[other], tag_ + kDeparture});
}

std::unique_ptr<MpiTransport> MpiTransport::join(void* given, uint32_t rank, uint32_t ranks, uint32_t most,
                                                 uint64_t deadline, const std::function<void()>& check) {
    static host::Mutex world_lock;
    static std::shared_ptr<Communicator> of_world;
    std::string why;
    const Mpi* const mpi = Mpi::open(&why);
    if (!mpi) fail(GPO_NOT_SUPPORTED, why);
    if (!mpi->begin(&why)) fail(GPO_INVALID_STATE, why);
    const Handle parent = given ? reinterpret_cast<Handle>(given) : mpi->world();
    int own_rank = 0, all = 0;
    {
        const Mpi::Calls calls(*mpi);
        check_mpi(*mpi, mpi->MPI_Comm_rank(parent, &own_rank), "MPI_Comm_rank");
        check_mpi(*mpi, mpi->MPI_Comm_size(parent, &all), "MPI_Comm_size");
    }
    const auto known_rank = static_cast<uint32_t>(own_rank), known_ranks = static_cast<uint32_t>(all);
    if (known_ranks > most)
        fail(GPO_INVALID_ARGUMENT, "the communicator has ", known_ranks, " ranks, and a group has at most ", most);
    if (ranks && ranks != known_ranks)
        fail(GPO_INVALID_ARGUMENT, "options.ranks is ", ranks, ", and the communicator has ", known_ranks,
             " ranks: if that is unexpected, the processes may have been started by another MPI's mpirun than that of ",
             mpi->version());
    if (rank && rank != known_rank)
        fail(GPO_INVALID_ARGUMENT, "options.rank is ", rank, ", and in the communicator it is ", known_rank);
    std::lock_guard guard(world_lock);   // a process joins one group at a time, as with MPI's collectives
    std::shared_ptr<Communicator> made = parent == mpi->world() ? of_world : nullptr;
    if (!made) {
        made = std::make_shared<Communicator>(*mpi);
        made->rank = known_rank;
        made->ranks = known_ranks;
        Handle request = 0;
        int done = 0;
        {
            const Mpi::Calls calls(*mpi);
            check_mpi(*mpi, mpi->MPI_Comm_idup(parent, &made->handle, &request), "MPI_Comm_idup");
        }
        for (;;) {
            {
                const Mpi::Calls calls(*mpi);
                check_mpi(*mpi, mpi->MPI_Test(&request, &done, mpi->no_status()), "MPI_Test");
            }
            if (done) break;
            check();
            if (host::now() >= deadline) {
                static_cast<void>(new std::shared_ptr<Communicator>(made));   // leaked: MPI still writes to it
                fail(GPO_PEER_LOST, "not all of the communicator's ", known_ranks, " ranks have joined in time");
            }
            host::sleep_until(host::now() + kSplitPause);
        }
        const Mpi::Calls calls(*mpi);
        check_mpi(*mpi, mpi->MPI_Comm_set_errhandler(made->handle, mpi->errors_return()), "MPI_Comm_set_errhandler");
        if (parent == mpi->world()) of_world = made;
    }
    if (made->joined == kNumbers)
        fail(GPO_LIMIT_EXCEEDED, kNumbers, " groups have been joined by MPI, and there are no more tags");
    std::vector<int> list;
    for (int other = 0; other < all; ++other) list.push_back(other);
    const int tag = tag_of(GPO_PEERS_MOST_JOINED, made->joined++);
    return std::unique_ptr<MpiTransport>(new MpiTransport(std::move(made), tag, known_rank, std::move(list)));
}

// The list's first rank chooses the tags and sends them to the others.
std::unique_ptr<Transport> MpiTransport::split(std::span<const uint32_t> ranks, uint64_t deadline,
                                               const std::function<void()>& check) {
    Communicator& of = *communicator_;
    std::vector<int> list;
    for (const uint32_t one : ranks) list.push_back(ranks_[one]);
    const auto own = static_cast<uint32_t>(std::find(ranks.begin(), ranks.end(), rank()) - ranks.begin());
    SplitTag split{};
    {
        std::lock_guard guard(of.lock);
        Digest digest;
        digest.add_field(static_cast<uint64_t>(tag_));
        digest.add_field(of.splits[list]++);
        for (const int one : list) digest.add_field(static_cast<uint64_t>(one));
        split.group = digest.finish();
        if (own == 0) {
            if (of.numbered == kNumbers)
                fail(GPO_LIMIT_EXCEEDED, "rank ", rank(), " has been the first of ", kNumbers,
                     " groups that were split off, and there are no more tags");
            split.tag = tag_of(of.rank, of.numbered++);
        }
    }
    if (own == 0) {
        std::unique_ptr<MpiTransport> made(new MpiTransport(communicator_, split.tag, own, std::move(list)));
        for (uint32_t other = 1; other < made->ranks(); ++other)
            made->send(made->ranks_[other], kSplitTag, &split, sizeof split);
        return made;
    }
    for (;;) {
        {
            std::lock_guard guard(of.lock);
            while (arrived(of, list[0], kSplitTag)) {
                SplitTag other{};
                receive(of, list[0], kSplitTag, &other, sizeof other);
                of.pending.emplace_back(list[0], other);
            }
            const auto found = std::find_if(of.pending.begin(), of.pending.end(), [&](const auto& one) {
                return one.first == list[0] && one.second.group == split.group;
            });
            if (found != of.pending.end()) {
                split.tag = found->second.tag;
                of.pending.erase(found);
                break;
            }
        }
        check();
        if (host::now() >= deadline)
            fail(GPO_PEER_LOST, "rank ", ranks[0], ", the first of the new group, didn't come in time");
        host::sleep_until(host::now() + kSplitPause);
    }
    return std::unique_ptr<MpiTransport>(new MpiTransport(communicator_, split.tag, own, std::move(list)));
}

// --- messages ---

bool MpiTransport::arrived(const Communicator& in, int from, int tag) {
    const Mpi::Calls calls(in.mpi);
    int there = 0;
    check_mpi(in.mpi, in.mpi.MPI_Iprobe(from, tag, in.handle, &there, in.mpi.no_status()), "MPI_Iprobe");
    return there != 0;
}

// Receives a small message that has arrived.
void MpiTransport::receive(const Communicator& in, int from, int tag, void* to, int bytes) {
    const Mpi& mpi = in.mpi;
    const Mpi::Calls calls(mpi);
    Handle request = 0;
    check_mpi(mpi, mpi.MPI_Irecv(to, bytes, mpi.byte(), from, tag, in.handle, &request), "MPI_Irecv");
    for (int done = 0; !done;) check_mpi(mpi, mpi.MPI_Test(&request, &done, mpi.no_status()), "MPI_Test");
}

std::unique_ptr<MpiTransport::Message> MpiTransport::message(size_t bytes) {
    std::unique_ptr<Message> out;
    if (spare_.empty()) {
        out = std::make_unique<Message>();
    } else {
        out = std::move(spare_.back());
        spare_.pop_back();
    }
    if (out->capacity < bytes) {
        out->bytes = std::make_unique_for_overwrite<std::byte[]>(bytes);
        out->capacity = bytes;
    }
    out->at = out->bytes.get();
    return out;
}

void MpiTransport::begin(Message& message, bool sends, int peer, int tag, size_t bytes) const {
    const Mpi::Calls calls(mpi_);
    const Handle with = communicator_->handle;
    const int count = static_cast<int>(bytes);
    message.request = 0;
    if (sends)
        check(mpi_.MPI_Isend(message.at, count, mpi_.byte(), peer, tag, with, &message.request), "MPI_Isend");
    else
        check(mpi_.MPI_Irecv(message.at, count, mpi_.byte(), peer, tag, with, &message.request), "MPI_Irecv");
}

bool MpiTransport::is_done(Message& message) const {
    const Mpi::Calls calls(mpi_);
    int done = 0;
    check(mpi_.MPI_Test(&message.request, &done, mpi_.no_status()), "MPI_Test");
    return done != 0;
}

// Sends a small message.
void MpiTransport::send(int to, int tag, const void* from, size_t bytes) {
    auto sent = message(bytes);
    std::memcpy(sent->at, from, bytes);
    left_to_mpi_.emplace_back();   // before begin(): nothing may fail after the send
    try {
        begin(*sent, true, to, tag, bytes);
    } catch (...) {
        left_to_mpi_.pop_back();
        throw;
    }
    left_to_mpi_.back() = std::move(sent);
}

void MpiTransport::collect_left() noexcept {
    for (auto message = left_to_mpi_.begin(); message != left_to_mpi_.end();) {
        bool done = true;
        try {
            done = is_done(**message);
        } catch (const std::exception&) {
            static_cast<void>(message->release());   // leaked: MPI may still use it
        }
        message = done ? left_to_mpi_.erase(message) : std::next(message);
    }
}

bool MpiTransport::advance(Transfer& transfer) {
    const int peer = ranks_[transfer.peer], tag = tag_ + kData;
    bool moved = false;
    if (!transfer.begun) {
        if (!transfer.sends && !arrived(*communicator_, peer, tag)) return false;
        auto made = message(transfer.device ? 0 : transfer.size);
        if (transfer.device) {
            made->at = transfer.bytes;
            made->device = Ref<Counted>(transfer.device);
        } else if (transfer.sends) {
            std::memcpy(made->at, transfer.bytes, transfer.size);
        }
        begin(*made, transfer.sends, peer, tag, transfer.size);
        transfer.request = reinterpret_cast<uintptr_t>(made.release());
        transfer.begun = true;
        moved = !transfer.sends;   // an unfinished send is no sign of the peer
    }
    auto* const at_work = reinterpret_cast<Message*>(transfer.request);
    if (!is_done(*at_work)) return moved;
    if (!transfer.sends && !transfer.device) std::memcpy(transfer.bytes, at_work->at, transfer.size);
    at_work->device = nullptr;
    transfer.begun = false;
    transfer.done = transfer.size;
    transfer.complete = true;
    spare_.emplace_back(at_work);
    return true;
}

void MpiTransport::give_up(Transfer& transfer) noexcept {
    if (!std::exchange(transfer.begun, false)) return;
    try {
        left_to_mpi_.emplace_back();
        left_to_mpi_.back().reset(reinterpret_cast<Message*>(transfer.request));
    } catch (const std::bad_alloc&) {
        // Leaked: MPI may still use it.
    }
}

// --- departures ---

Presence MpiTransport::look_at(uint32_t rank) {
    Presence& known = others_[rank];
    if (known.state != Presence::State::here || !arrived(*communicator_, ranks_[rank], tag_ + kDeparture)) return known;
    Departure departure{};
    receive(*communicator_, ranks_[rank], tag_ + kDeparture, &departure, sizeof departure);
    known.state = static_cast<Presence::State>(departure.state);
    known.culprit = departure.culprit;
    known.why.assign(departure.why, strnlen(departure.why, sizeof departure.why));
    return known;
}

void MpiTransport::depart(Presence::State state, uint32_t culprit, std::string_view why) noexcept {
    if (left_) return;
    left_ = true;
    Departure departure{};
    departure.state = static_cast<uint32_t>(state);
    departure.culprit = culprit;
    copy_text(departure.why, why);
    for (uint32_t other = 0; other < ranks(); ++other) {
        if (other == rank()) continue;
        try {
            send(ranks_[other], tag_ + kDeparture, &departure, sizeof departure);
        } catch (const std::exception&) {
            // The other rank notices by its timeout.
        }
    }
    collect_left();
}

}  // namespace gpo::peers
