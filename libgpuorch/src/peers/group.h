// Groups of devices: ranks, engines, and collectives as operations of several streams.
#pragma once

#include <atomic>
#include <vector>

#include "device/device.h"
#include "peers/collective.h"
#include "peers/direct.h"
#include "peers/hosted_engine.h"
#include "peers/group_launch.h"

namespace gpo {

class Peers final : public Object {
public:
    /// Throws Failure.
    static Ref<Peers> create(std::vector<Ref<Context>> contexts, const gpo_peers_options& options);
    /// Joins a group of several processes. Blocks until all are there. Throws Failure.
    static Ref<Peers> join(Ref<Context> context, const gpo_join_options& options);
    /// A new group of some of this group's ranks. Throws Failure.
    Ref<Peers> split(std::span<const uint32_t> ranks, const gpo_peers_options& options) const;

    uint32_t ranks() const noexcept { return hosted_ ? hosted_->ranks() : static_cast<uint32_t>(contexts_.size()); }
    /// The first of this process's ranks.
    uint32_t first_rank() const noexcept { return hosted_ ? hosted_->rank() : 0; }
    /// GPO_SUCCESS or GPO_WOULD_BLOCK. Throws Failure.
    gpo_status submit(const gpo_collective& collective, std::span<const peers::Part> parts);
    /// Launches one kernel on each rank. GPO_SUCCESS or GPO_WOULD_BLOCK. Throws Failure.
    gpo_status launch(std::span<const peers::RankLaunch> launches);
    /// The engine of a group of several processes; NULL in a group of one process.
    peers::HostedEngine* hosted() const noexcept { return hosted_.get(); }
    /// Throws Failure(GPO_NOT_SUPPORTED) if two devices can't access each other's memory. `what`: the feature, for the
    /// message.
    void require_direct(const char* what) const;
    const std::vector<Ref<Context>>& contexts() const noexcept { return contexts_; }
    gpo_peers_info info() const;
    /// Throws Failure(GPO_INVALID_ARGUMENT, GPO_NOT_SUPPORTED).
    gpo_peer_properties link(uint32_t from, uint32_t to) const;
    /// Throws Failure(GPO_NOT_SUPPORTED) in a group of one process.
    void abort();
    void close() noexcept override;

    Peers(std::vector<Ref<Context>> contexts, const gpo_peers_options& options);
    Peers(Ref<Context> context, const char* label);   // of several processes

private:
    ~Peers() override;
    void connect();
    peers::Engine& engine_for(const peers::Collective& collective) const;
    void require_rank(uint32_t rank) const;

    std::vector<Ref<Context>> contexts_of(std::span<const uint32_t> ranks) const;

    const std::vector<Ref<Context>> contexts_;   // by rank, of this process's ranks
    Ref<peers::HostedEngine> hosted_;            // of several processes; otherwise NULL
    Ref<peers::DirectEngine> direct_;            // NULL: not used, as nccl_
    Ref<peers::Engine> nccl_;
    Ref<peers::Launcher> launcher_;
    uint32_t nccl_version_ = 0;
    bool reach_each_other_ = true, native_atomics_ = true;
    std::string unreachable_;                    // why the group isn't direct
    std::atomic<uint64_t> collectives_{0}, direct_collectives_{0}, bytes_{0};
};

template <>
struct TypeOf<Peers> { static constexpr Type value = Type::peers; };

}  // namespace gpo
