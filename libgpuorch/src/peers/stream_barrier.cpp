#include "peers/stream_barrier.h"

namespace gpo::peers {

namespace {

constexpr uint64_t kLongestWait = 1'000'000'000;   // ns

}  // namespace

StreamBarrier::StreamBarrier(std::span<const Ref<Context>> contexts)
    : contexts_(contexts.begin(), contexts.end()), here_(contexts.size()) {
    try {
        for (size_t rank = 0; rank < here_.size(); ++rank) {
            DriverScope scope(*contexts_[rank]);
            contexts_[rank]->take_event(false, &here_[rank]);
        }
    } catch (...) {
        for (size_t rank = 0; rank < here_.size(); ++rank)
            if (here_[rank]) contexts_[rank]->give_events(false, &here_[rank], 1);
        throw;
    }
}

StreamBarrier::~StreamBarrier() {
    for (size_t rank = 0; rank < here_.size(); ++rank) contexts_[rank]->give_events(false, &here_[rank], 1);
}

LaunchTogether::LaunchTogether(Runtime& runtime) noexcept : runtime_(runtime) {
    runtime_.blocking_calls().begin_short(host::now() + kLongestWait);
}

LaunchTogether::~LaunchTogether() { runtime_.blocking_calls().end_short(); }

}  // namespace gpo::peers
