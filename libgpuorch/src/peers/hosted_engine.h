// The engine of groups of several processes: data goes through the host's memory and a transport.
//
// A collective holds its stream, as a host call does. Once the earlier work of the stream is done, the collective is
// *ready*. The group's thread (gpo-peers) then copies a chunk to pinned memory, exchanges it (peers/staged_exchange.h),
// and copies the result back, on its own stream. Then the caller's stream goes on. Nothing on the GPU waits for the
// host. If the transport takes device memory (CUDA-aware MPI), chunks stay in device memory and are combined there.
//
// The thread takes collectives in the order in which streams have accepted them, even if a later one is ready first:
// all processes submit in the same order. Before the data the ranks exchange *announcements*: the submitted collective,
// or why the rank can't take part. If the announcements differ, the collective fails in all processes alike, and the
// group goes on.
//
// A group is *broken* when a rank is missing, or fails during a data exchange: others may have half of the data. Then
// all submitted collectives fail, here and, through the departure, in the other processes.
#pragma once

#include <memory>

#include "core/errands.h"
#include "memory/owned_memory.h"
#include "peers/announcement.h"
#include "peers/collective_engine.h"
#include "peers/staged_exchange.h"
#include "peers/handshake.h"
#include "peers/kernels.h"
#include "peers/nccl_engine.h"
#include "peers/progress.h"
#include "stream/room.h"

namespace gpo::peers {

/// Memory and kernels for exchanges in device memory.
struct DeviceStaging {
    Ref<OwnedMemory> memory;
    std::byte* at = nullptr;
    Ref<const PeerKernels> kernels;
    uint32_t combine_blocks = 0;
};

class HostedEngine final : public Engine, private Errand {
public:
    /// Throws Failure.
    static DeviceStaging make_device_staging(const Ref<Context>& context, const FixedText<96>& owner);
    /// `patience`: nanoseconds, or host::kForever. Throws.
    HostedEngine(Ref<Context> context, std::unique_ptr<Transport> transport, uint64_t patience,
                 const FixedText<96>& owner);
    /// Starts the thread. If `nccl` isn't NULL, it executes the group's collectives, and this engine only watches the
    /// other processes. `checked`: this engine executes the collectives all the same, to exchange announcements, and
    /// NCCL only moves the data. `device`: staging in device memory; empty: pinned memory. Throws std::system_error.
    void start(Ref<NcclEngine> nccl, bool checked, DeviceStaging device);
    /// Whether exchanges use device memory.
    bool on_device() const noexcept { return device_.at != nullptr; }
    NcclEngine* nccl() const noexcept { return nccl_.get(); }
    bool checked() const noexcept { return checked_; }
    /// The engine to submit collectives to.
    Engine& collectives() noexcept { return nccl_ && !checked_ ? static_cast<Engine&>(*nccl_) : *this; }

    uint32_t rank() const noexcept { return rank_; }
    uint32_t ranks() const noexcept { return ranks_; }
    uint64_t patience() const noexcept { return patience_; }
    gpo_status submit(const Collective& collective, std::span<const Part> parts, const char* label) override;
    /// Submitted collectives fail with GPO_CANCELLED, in other processes with GPO_PEER_LOST.
    void abort() noexcept;
    /// Leaves the group once all submitted collectives have ended; no more are submitted. The runtime's shutdown
    /// shortens the wait.
    void leave() noexcept;
    /// Why the group can't go on; or NULL.
    ErrorPtr broken() const;
    /// Exchanges the ranks' records. All processes call it, in the same order as their other exchanges. Uses a separate
    /// transport for callers, made by the first call. Blocks until all are there. Throws Broken, Failure.
    template <class Record>
    std::vector<Record> exchange(const Record& own) {
        std::vector<Record> records;
        exchanges([&](Transport& transport, const std::function<void()>& check) {
            records = handshake(transport, own, patience_, check);
        });
        return records;
    }
    /// Calls `act` for several exchanges in a row. `check`: as for peers::complete. Throws what `act` throws.
    using Exchanges = std::function<void(Transport&, const std::function<void()>& check)>;
    void exchanges(const Exchanges& act);
    /// A transport for some of the group's ranks, this rank among them. Throws Failure.
    std::unique_ptr<Transport> split(std::span<const uint32_t> ranks, uint64_t deadline,
                                           const std::function<void()>& check);

private:
    class Work;
    class PartOperation;
    ~HostedEngine() override;

    // --- from streams, under their submit locks ---
    void enqueue(Work& work) noexcept;
    void part_ready(Work& work, const ErrorPtr& error) noexcept;
    void part_dropped(Work& work, const ErrorPtr& error) noexcept;

    // --- the thread ---
    void serve() noexcept;
    Ref<Work> next();
    void watch_others();
    void look_for_stragglers();
    void carry_out(Work& work);
    void move_by_nccl(Work& work);
    void announce(Work& work);
    Transport& callers_transport(const std::function<void()>& check);
    void exchange(Work& work);
    void copy(Work& work, std::span<const StagingCopy> copies, bool on_device);
    void combine(const Collective& collective, std::span<const uint64_t> sources, uint64_t to, uint64_t bytes);
    void check(Work& work);
    void refuse_aborted();
    void finish_nccl() noexcept;
    void refuse_ending();
    void finish(Work& work, const ErrorPtr& error) noexcept;
    void break_up(const ErrorPtr& error, Presence::State state, uint32_t culprit, std::string_view why) noexcept;
    void run() noexcept override;

    const Ref<Context> context_;
    const uint32_t rank_, ranks_;
    const uint64_t patience_;
    const Ref<OwnedMemory> memory_;
    const Staging staging_;
    Room::Share room_;
    CUstream copies_ = nullptr;              // the engine's own stream
    Ref<NcclEngine> nccl_;                   // set before the thread starts, as are:
    bool checked_ = false;
    DeviceStaging device_;

    const std::unique_ptr<Transport> transport_;   // used by the thread, except for split()
    Watch watch_;                            // used by the thread
    std::unique_ptr<Progress> progress_;     // used by the thread, to watch NCCL's collectives
    std::vector<Announcement> announced_;    // by rank, of the current collective
    uint64_t number_ = 0;                    // of that collective, in the group
    host::Mutex copying_;                    // after a drop nothing is copied; taken under submit locks

    host::Mutex calling_;                    // one caller at a time waits for the other processes
    std::unique_ptr<Transport> calls_;       // under calling_
    mutable host::Mutex lock_;               // a leaf
    host::Condition changed_{host::Sleep::light};
    Work *first_ = nullptr, *last_ = nullptr;   // waiting collectives, with a reference each. Under lock_, as:
    ErrorPtr broken_;
    bool aborted_ = false, leaving_ = false, ended_ = false;
    host::Thread thread_;
};

}  // namespace gpo::peers
