// Where the streams of all ranks wait for each other.
#pragma once

#include <span>
#include <vector>

#include "stream/stream.h"

namespace gpo::peers {

class Meeting {
public:
    /// The ranks' devices. Throws.
    explicit Meeting(std::span<const Ref<Context>> contexts);
    ~Meeting();
    Meeting(const Meeting&) = delete;
    Meeting& operator=(const Meeting&) = delete;
    /// No stream goes on before all have come here. `stream_of(rank)`: Stream&. Under the streams' submit locks, and by
    /// one thread at a time. Throws Failure.
    template <class StreamOf>
    void join(StreamOf stream_of) {
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
    std::vector<CUevent> here_;   // recorded where a rank has come here
};

/// Kernels that wait for kernels of other devices are given to the driver meanwhile, on all devices. Meanwhile no thread
/// of the runtime makes a blocking call (stream/blocking_calls.h): that would wait for the kernels that are launched
/// already, and keep the driver from launching the others. It waits for a call that is under way, but for no longer than
/// a second. Under submit locks.
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
