// A block's part in its cluster, and the cluster's barrier. A block arrives at the barrier when all its threads that
// have not ended have arrived. Then one of the waiting threads watches for the arrival of the other blocks.
#include <utility>

#include "softgpu/blocks/block.h"

namespace gpo::softgpu {

void Block::join(gpo_soft_block* const* blocks, uint32_t count) noexcept {
    Cluster& cluster = static_cast<Block*>(blocks[0])->cluster_;
    for (uint32_t rank = 0; rank < count; ++rank) {
        Block& block = *static_cast<Block*>(blocks[rank]);
        cluster.blocks[rank] = &block;
        block.cluster_blocks = cluster.blocks;
        block.cluster_of_ = &cluster;
        block.cluster_phase_ = block.cluster_arrived_ = 0;
        block.cluster_joined_ = block.cluster_watched_ = false;
    }
    cluster.barrier.store(Cluster::packed(0, count, 0), std::memory_order_relaxed);
    cluster.unended.store(count, std::memory_order_relaxed);
}

void Block::Cluster::arrive() noexcept {
    uint64_t seen = barrier.load(std::memory_order_relaxed);
    for (;;) {
        const auto phase = static_cast<uint32_t>(seen >> 32);
        const uint32_t live = seen >> 16 & 0xffff, arrived = (seen & 0xffff) + 1;
        const uint64_t next = arrived == live ? packed(phase + 1, live, 0) : packed(phase, live, arrived);
        if (barrier.compare_exchange_weak(seen, next, std::memory_order_acq_rel)) return;
    }
}

void Block::Cluster::leave(bool had_arrived, uint32_t at_phase) noexcept {
    uint64_t seen = barrier.load(std::memory_order_relaxed);
    for (;;) {
        const auto phase = static_cast<uint32_t>(seen >> 32);
        const uint32_t live = (seen >> 16 & 0xffff) - 1;
        const uint32_t arrived = (seen & 0xffff) - (had_arrived && phase == at_phase ? 1 : 0);
        const bool over = arrived != 0 && arrived == live;
        if (barrier.compare_exchange_weak(seen, over ? packed(phase + 1, live, 0) : packed(phase, live, arrived),
                                          std::memory_order_acq_rel))
            return;
    }
}

/// If the phase is over, makes its waiting threads ready.
void Block::see_cluster_phase() noexcept {
    const uint32_t phase = cluster_of_->phase();
    if (phase == cluster_phase_) return;
    cluster_phase_ = phase;
    cluster_arrived_ = 0;
    cluster_joined_ = false;
    for (uint32_t w = 0; w * 32 < count_; ++w)
        if (warps_[w].at_cluster) make_ready(w, std::exchange(warps_[w].at_cluster, 0));
}

void Block::arrive_at_cluster() noexcept {
    if (cluster_joined_ || cluster_arrived_ == 0 || cluster_arrived_ != alive_) return;
    cluster_joined_ = true;
    cluster_of_->arrive();
}

GPO_NO_TSAN void Block::cluster_arrive() noexcept {
    Thread& self = *current_;
    see_cluster_phase();
    self.cluster_ticket = cluster_phase_ + 1;
    ++cluster_arrived_;
    arrive_at_cluster();
}

GPO_NO_TSAN void Block::cluster_wait() noexcept {
    Thread& self = *current_;
    for (see_cluster_phase(); self.cluster_ticket == cluster_phase_ + 1; see_cluster_phase()) {
        if (!cluster_watched_) {
            cluster_watched_ = true;
            yield();
            cluster_watched_ = false;
            continue;
        }
        const uint32_t warp = self.linear / 32, lane = 1u << (self.linear % 32);
        warps_[warp].at_cluster |= lane;
        make_unready(warp, lane);
        wait_longer(self);
    }
    if (owner().stopped()) leave(State::stopped);
}

}  // namespace gpo::softgpu
