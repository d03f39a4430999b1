// The engine that leaves collectives to NCCL: one communicator for each rank of this process, which are all ranks, or
// one of a group of several processes (*joined*).
//
// NCCL allows one thread at a time to use a communicator, and launches what a group's calls ask for when the group
// ends. What it sets up for a kind of collective when it first does one, it does by calls that can't be recorded and
// that may wait: so each kind is done once beforehand, on streams of the engine's own (warm_up). Joined engines do
// that when they are made, since all processes have to do it at once.
//
// A joined communicator is nonblocking: what NCCL doesn't do at once is asked for again and again, and can be ended
// meanwhile. When a process is lost, the communicator is aborted: the others' kernels end, with no result.
//
// NCCL's kernels wait for ever for a rank that doesn't come. So a joined engine *watches* collectives by two events:
// the stream has come to it, and it is done. Whoever watches the other processes compares how far all have come. Of
// those that are recorded into graphs nothing is seen.
#pragma once

#include <functional>
#include <vector>

#include "driver/nccl.h"
#include "peers/engine.h"

namespace gpo::peers {

class NcclEngine final : public StreamEngine {
public:
    /// Throws Failure(GPO_NOT_SUPPORTED): NCCL can't be used here.
    explicit NcclEngine(std::span<const Ref<Context>> contexts);
    /// The rank of this process, of a group of several, which all do this at once. `check` is called now and then, and
    /// may throw. Throws Failure; GPO_PEER_LOST after the deadline.
    NcclEngine(Ref<Context> context, const driver::Nccl::UniqueId& id, uint32_t rank, uint32_t ranks, uint64_t deadline,
               const std::function<void()>& check);
    /// Throws Failure(GPO_NOT_SUPPORTED): NCCL can't be used with this context.
    static const driver::Nccl& open(Context& context);
    int version() const noexcept { return nccl_->version(); }

    // --- of a joined one, for the thread that watches the other processes ---
    /// Does each kind once with the other processes. Throws as the constructor.
    void warm_up_all();
    /// The group is broken: what is on its way ends, the streams that may wait for it fail, and nothing is submitted
    /// any more.
    void abort(const ErrorPtr& error) noexcept;
    /// Gives the communicator back once all that is on its way has ended. False: it hasn't yet. Nothing is submitted
    /// any more.
    bool finish() noexcept;
    /// What has failed meanwhile; or NULL.
    ErrorPtr look() noexcept;
    /// How far this rank's streams have come.
    struct Standing {
        uint64_t reached = 0;       // collectives that a stream has come to
        uint64_t number = 0;        // of the first that isn't done though a stream has come to it, from 0
        uint64_t waits_since = 0;   // when that was first seen; 0: there is none
    };
    Standing standing() noexcept;
    /// Gives a collective to the driver on a stream of the caller's, who waits for it. Throws Failure.
    void carry_out(const Collective& collective, const Part& part, CUstream stream);

    gpo_status submit(const Collective& collective, std::span<const Part> parts, const char* label) override;
    Ref<Counted> prepare(const Collective& collective, bool captured) override;
    void issue(const Collective& collective, std::span<const Part> parts, Counted* prepared, void (*begin)(void*),
               void* of) override;

private:
    ~NcclEngine() override;
    void warm_up(const Collective& collective);
    void call(const Collective& collective, std::span<const Part> parts, std::span<const CUstream> streams);
    void check(driver::Nccl::Result result, const char* function) const;
    void settle(driver::Nccl::Result result, const char* function);
    void abort_now() noexcept;
    ErrorPtr why_ended() const;
    void note_stream(Stream& stream);
    struct Watched {
        uint64_t number = 0;
        CUevent come = nullptr, done = nullptr;
        uint64_t since = 0;   // when `come` was seen reached; 0: it hasn't been
    };
    Watched begin_watch(CUstream stream) noexcept;
    void end_watch(const Watched& watched, CUstream stream) noexcept;
    void destroy(const Watched& watched) noexcept;

    const driver::Nccl* nccl_ = nullptr;
    std::vector<Ref<Context>> contexts_;
    std::vector<driver::Nccl::Communicator> communicators_;
    host::Mutex lock_;            // the communicators; taken under submit locks, and a leaf but for NCCL and the driver
    std::vector<bool> warm_;      // by kind and size. Under lock_

    // Of a joined one.
    const bool joined_ = false;
    const uint32_t first_rank_ = 0;
    uint64_t deadline_ = host::kForever;         // of calls that join, which wait
    std::function<void()> check_;                // likewise
    CUdeviceptr scratch_ = 0;                    // for barriers
    bool finishing_ = false;                     // under lock_, as:
    std::vector<Watched> watched_;               // the oldest first, at most kMostWatched
    std::vector<Watched> spare_;                 // events of others
    uint64_t given_ = 0;                         // collectives that the driver has been given
    Standing standing_;
    mutable host::Mutex ending_;                 // a leaf
    ErrorPtr ended_;                             // why it was aborted. Under ending_, as:
    std::vector<Ref<Stream>> streams_;           // that it was used with, as long as others use these
};

}  // namespace gpo::peers
