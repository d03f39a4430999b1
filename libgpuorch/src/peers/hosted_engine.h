// The engine of groups of several processes: data goes through the host's memory and a transport.
//
// A collective holds its stream, as a host call does. When the work before it is done, it is *ready*, and the group's
// thread (gpo-peers) exchanges the data: it copies a chunk to pinned memory, has it exchanged (peers/exchange.h), and
// copies the result back, on a stream of its own. Then the caller's stream goes on. Nothing on the GPU waits for the
// host. Where the transport takes device memory (CUDA-aware MPI), the chunk is in device memory instead, and combined
// there.
//
// The thread takes collectives in the order in which streams have accepted them, whatever is ready first: all processes
// submit in the same order. Before the data the ranks exchange *announcements*: what each has submitted, or why it
// can't take part. If these differ, the collective fails in all processes alike, and the group goes on.
//
// A group is *broken* when a rank is missing, or fails while data is exchanged: others may have half of it. Then all
// that is submitted fails, here and, by the farewell, in the other processes.
#pragma once

#include <memory>

#include "core/errands.h"
#include "memory/owned_memory.h"
#include "peers/announcement.h"
#include "peers/engine.h"
#include "peers/exchange.h"
#include "peers/greeting.h"
#include "peers/kernels.h"
#include "peers/nccl_engine.h"
#include "peers/progress.h"

namespace gpo::peers {

/// What exchanging in device memory takes.
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
    /// Begins to take collectives. With `nccl` the group's collectives are that engine's, and this one watches the
    /// other processes. `checked`: they are this one's all the same, for the sake of the announcements, and only the
    /// data is moved by NCCL. `device`: data goes through that; none: through pinned memory. Throws std::system_error.
    void start(Ref<NcclEngine> nccl, bool checked, DeviceStaging device);
    /// Whether the transport gets device memory.
    bool on_device() const noexcept { return device_.at != nullptr; }
    NcclEngine* nccl() const noexcept { return nccl_.get(); }
    bool checked() const noexcept { return checked_; }
    /// What collectives are submitted to.
    Engine& collectives() noexcept { return nccl_ && !checked_ ? static_cast<Engine&>(*nccl_) : *this; }

    uint32_t rank() const noexcept { return rank_; }
    uint32_t ranks() const noexcept { return ranks_; }
    uint64_t patience() const noexcept { return patience_; }
    gpo_status submit(const Collective& collective, std::span<const Part> parts, const char* label) override;
    /// What is submitted fails, with GPO_CANCELLED; in other processes with GPO_PEER_LOST.
    void abort() noexcept;
    /// No more is submitted: leaves the group when all has ended that was. The runtime's shutdown cuts that short.
    void leave() noexcept;
    /// Why the group can't go on; or NULL.
    ErrorPtr broken() const;
    /// What all ranks say of themselves in a call that all processes make, in the same order as other such calls: by a
    /// transport of the callers' own, which the first one makes. Blocks until all are there. Throws Broken, Failure.
    template <class Said>
    std::vector<Said> exchange(const Said& own) {
        std::vector<Said> said;
        meet([&](Transport& transport, const std::function<void()>& check) {
            said = greet(transport, own, patience_, check);
        });
        return said;
    }
    /// Likewise for several exchanges in one call. `check`: as for peers::complete. Throws what `act` throws.
    using Meet = std::function<void(Transport&, const std::function<void()>& check)>;
    void meet(const Meet& act);
    /// A transport of some of its ranks, this one among them. Throws Failure.
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
    CUstream copies_ = nullptr;              // a stream of its own
    Ref<NcclEngine> nccl_;                   // set before the thread starts, as:
    bool checked_ = false;
    DeviceStaging device_;

    const std::unique_ptr<Transport> transport_;   // the thread's, but for split()
    Watch watch_;                            // the thread's
    std::unique_ptr<Progress> progress_;     // likewise; of one that watches NCCL's collectives
    std::vector<Announcement> announced_;    // by rank, of the collective at hand
    uint64_t number_ = 0;                    // of that collective, in the group
    host::Mutex copying_;                    // a part that was dropped copies nothing more; taken under submit locks

    host::Mutex calling_;                    // one caller at a time waits for the other processes
    std::unique_ptr<Transport> calls_;       // under calling_
    mutable host::Mutex lock_;               // a leaf
    host::Condition changed_{host::Sleep::light};
    Work *first_ = nullptr, *last_ = nullptr;   // that wait for their turn: a reference to each. Under lock_, as:
    ErrorPtr broken_;
    bool aborted_ = false, leaving_ = false, ended_ = false;
    host::Thread thread_;
};

}  // namespace gpo::peers
