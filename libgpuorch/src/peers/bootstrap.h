// Bootstrap: checks the options of gpo_peers_join, connects the processes, and makes the group's engine.
#pragma once

#include "device/context.h"
#include "gpuorch/peers.h"
#include "peers/hosted_engine.h"

namespace gpo::peers {

/// Joins a group of processes. Blocks until all are there. Throws Failure.
Ref<HostedEngine> join(Ref<Context> context, const gpo_join_options& options, const FixedText<96>& owner);

/// Joins some ranks of a group; checks the order of collectives if `whole` does. `engine`: as in gpo_peers_options.
Ref<HostedEngine> join_part(Ref<Context> context, HostedEngine& whole, std::span<const uint32_t> ranks, uint32_t engine,
                            const FixedText<96>& owner);

}  // namespace gpo::peers
