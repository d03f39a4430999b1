// How processes come together: the options of gpo_peers_join as checked values, and what makes an engine of them.
#pragma once

#include "device/context.h"
#include "gpuorch/peers.h"
#include "peers/hosted_engine.h"

namespace gpo::peers {

/// What the processes of a group share. Blocks until all are there. Throws Failure.
Ref<HostedEngine> join(Ref<Context> context, const gpo_join_options& options, const FixedText<96>& owner);

/// The same for some ranks of a group, whose order is checked if the whole's is. `engine`: as in gpo_peers_options.
Ref<HostedEngine> join_part(Ref<Context> context, HostedEngine& whole, std::span<const uint32_t> ranks, uint32_t engine,
                            const FixedText<96>& owner);

}  // namespace gpo::peers
