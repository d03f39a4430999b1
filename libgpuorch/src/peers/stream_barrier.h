// A barrier across streams: the streams of all ranks wait for each other.
#pragma once

#include <span>
#include <vector>

#include "stream/stream.h"

namespace gpo::peers {

class StreamBarrier {
public:
    /// `contexts`: the ranks' devices. Throws.
    explicit StreamBarrier(std::span<const Ref<Context>> contexts);
    ~StreamBarrier();
    StreamBarrier(const StreamBarrier&) = delete;
    StreamBarrier& operator=(const StreamBarrier&) = delete;
    /// Submits waits so that no stream goes on before all have reached the barrier. `stream_of(rank)`: Stream&. Called
    /// under the streams' submit locks, by one thread at a time. Throws Failure.
    template <class StreamOf>
    void issue(StreamOf stream_of) {
        const size_t ranks = here_.size();
        const auto put = [&](size_t rank, CUevent event, bool wait) {
            Stream& stream = stream_of(rank);
            const DriverScope scope(stream.context());
            gpo::issue(stream, EventWork{event, wait});
        };
        if (ranks == 1) return;
        for (size_t rank = 1; rank < ranks; ++rank) put(rank, here_[rank], false);
        for (size_t rank = 1; rank < ranks; ++rank) put(0, here_[rank], true);
        put(0, here_[0], false);
        for (size_t rank = 1; rank < ranks; ++rank) put(rank, here_[0], true);
    }

private:
    std::vector<Ref<Context>> contexts_;
    std::vector<CUevent> here_;   // recorded where the rank's stream reaches the barrier
};

/// A scope in which kernels that wait for kernels of other devices are launched on all devices. No thread of the
/// runtime makes a blocking call in the meantime (stream/blocking_calls.h): such a call would wait for kernels already
/// launched, and keep the driver from launching the rest. The constructor waits up to a second for a call in progress.
/// Under submit locks.
class LaunchTogether {
public:
    explicit LaunchTogether(Runtime& runtime) noexcept;
    ~LaunchTogether();
    LaunchTogether(const LaunchTogether&) = delete;
    LaunchTogether& operator=(const LaunchTogether&) = delete;

private:
    Runtime& runtime_;
};

}  // namespace gpo::peers
