// The engine that leaves collectives to NCCL. Its communicators are for all ranks of a group of one process, or for
// this process's rank in a group of several processes (*joined*).
//
// NCCL allows one thread at a time to use a communicator, and launches the work of grouped calls when the group ends.
// At the first collective of a kind, NCCL makes calls that can't be recorded and that may wait. Hence the engine
// executes each kind once beforehand, on its own streams (warm_up). Joined engines do so when they are made, since all
// processes have to do it at once.
//
// A joined communicator is nonblocking: the engine polls NCCL until a call is complete, and can abort it in between.
// When a process is lost, the communicator is aborted: the other ranks' kernels end without a result.
//
// NCCL's kernels wait without limit for a rank that doesn't come. Hence a joined engine *watches* collectives by two
// events: one when the stream reaches the collective, one when it is done. The hosted engine's thread compares the
// ranks' progress. Collectives recorded into graphs aren't watched.
#pragma once

#include <functional>
#include <vector>

#include "driver/nccl.h"
#include "peers/collective_engine.h"

namespace gpo::peers {

class NcclEngine final : public StreamEngine {
public:
    /// Throws Failure(GPO_NOT_SUPPORTED): NCCL can't be used here.
    explicit NcclEngine(std::span<const Ref<Context>> contexts);
    /// Makes a joined engine for this process's rank; all processes of the group do so at once. `check` is called now
    /// and then, and may throw. Throws Failure; GPO_PEER_LOST after the deadline.
    NcclEngine(Ref<Context> context, const driver::Nccl::UniqueId& id, uint32_t rank, uint32_t ranks, uint64_t deadline,
               const std::function<void()>& check);
    /// Throws Failure(GPO_NOT_SUPPORTED): NCCL can't be used with this context.
    static const driver::Nccl& open(Context& context);
    int version() const noexcept { return nccl_->version(); }

    // --- joined engines only, for the thread that watches the other processes ---
    /// Executes each kind once with the other processes. Throws as the constructor.
    void warm_up_all();
    /// Called when the group is broken: ends the collectives in progress, fails the streams that may wait for these
    /// collectives, and refuses new collectives.
    void abort(const ErrorPtr& error) noexcept;
    /// Destroys the communicator once all collectives have ended. False: not all have ended. Nothing may be submitted
    /// after the first call.
    bool finish() noexcept;
    /// The communicator's asynchronous error; NULL: none.
    ErrorPtr look() noexcept;
    /// How far this rank's streams have come.
    struct Standing {
        uint64_t reached = 0;       // number of collectives that a stream has reached
        uint64_t number = 0;        // of the first reached collective that isn't done, from 0
        uint64_t waits_since = 0;   // when it was first seen reached; 0: none
    };
    Standing standing() noexcept;
    /// Submits a collective to a stream of the caller, who waits for its end. Throws Failure.
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
        uint64_t since = 0;   // when `come` was seen reached; 0: not yet
    };
    Watched begin_watch(CUstream stream) noexcept;
    void end_watch(const Watched& watched, CUstream stream) noexcept;
    void destroy(const Watched& watched) noexcept;

    const driver::Nccl* nccl_ = nullptr;
    std::vector<Ref<Context>> contexts_;
    std::vector<driver::Nccl::Communicator> communicators_;
    host::Mutex lock_;            // the communicators; taken under submit locks; only NCCL and driver calls under it
    std::vector<bool> warm_;      // by kind and size. Under lock_

    // Joined engines only:
    const bool joined_ = false;
    const uint32_t first_rank_ = 0;
    uint64_t deadline_ = host::kForever;         // of calls made while joining, which wait
    std::function<void()> check_;                // while joining
    CUdeviceptr scratch_ = 0;                    // for barriers
    bool finishing_ = false;                     // under lock_, as are:
    std::vector<Watched> watched_;               // the oldest first, at most kMostWatched
    std::vector<Watched> spare_;                 // events to use again
    uint64_t given_ = 0;                         // collectives issued so far, without recorded ones
    Standing standing_;
    mutable host::Mutex ending_;                 // a leaf
    ErrorPtr ended_;                             // why the communicator was aborted. Under ending_, as:
    std::vector<Ref<Stream>> streams_;           // that the engine has used and that have other users
};

}  // namespace gpo::peers
