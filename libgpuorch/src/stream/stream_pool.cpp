#include "stream/stream_pool.h"

#include <algorithm>
#include <cstdlib>
#include <tuple>

namespace gpo {

namespace {
constexpr uint32_t kStreamsEach = 4, kMostStreams = 1024;
}

StreamPool::StreamPool(Ref<Context> context, gpo_device_t device, const gpo_stream_pool_options& options)
    : Object(context->runtime(), Type::stream_pool, options.label), context_(std::move(context)) {
    const uint32_t each = options.streams ? options.streams : kStreamsEach;
    int least = 0, greatest = 0;
    {
        DriverScope scope(*context_);
        context_->check(context_->table().cuCtxGetStreamPriorityRange(&least, &greatest),
                        "cuCtxGetStreamPriorityRange");
    }
    const auto there = static_cast<uint32_t>(std::max(0, 0 - greatest)) + 1;
    const uint32_t levels = std::min(options.priorities ? options.priorities : 1, there);
    if (each > kMostStreams || each * levels > kMostStreams)
        fail(GPO_INVALID_ARGUMENT, "a pool of ", each, " streams at each of ", levels, " priorities is more than ",
             kMostStreams);
    members_.reserve(each * levels);
    try {
        for (uint32_t level = 0; level < levels; ++level) {
            for (uint32_t i = 0; i < each; ++i) {
                gpo_stream_options made{};
                made.struct_size = sizeof made;
                made.priority = -static_cast<int32_t>(level);
                made.label = options.label;
                auto stream = make<Stream>(context_, device, made);
                stream->announce();
                stream->set_whole("a pool: give it back");
                const auto handle = runtime().publish<gpo_stream_t>(*stream);
                members_.push_back({std::move(stream), handle, made.priority, 0});
            }
        }
    } catch (...) {
        close();
        throw;
    }
}

gpo_stream_t StreamPool::acquire(int32_t priority) {
    std::lock_guard lock(lock_);
    // Nearest level, then fewest users, then least work pending.
    auto best = std::min_element(members_.begin(), members_.end(), [&](const Member& a, const Member& b) {
        const auto rank = [&](const Member& member) {
            const int64_t distance = std::abs(int64_t{member.priority} - priority);
            return std::make_tuple(distance, member.users, member.stream->load());
        };
        return rank(a) < rank(b);
    });
    if (best == members_.end()) fail(GPO_INVALID_STATE, describe(), " has no streams");
    ++best->users;
    return best->handle;
}

void StreamPool::give_back(gpo_stream_t stream) {
    std::lock_guard lock(lock_);
    for (Member& member : members_) {
        if (member.handle != stream) continue;
        if (member.users == 0) fail(GPO_INVALID_ARGUMENT, member.stream->describe(), " is not out of ", describe());
        --member.users;
        return;
    }
    fail(GPO_INVALID_ARGUMENT, "the stream is not of ", describe());
}

void StreamPool::close() noexcept {
    std::vector<Member> members;
    {
        std::lock_guard lock(lock_);
        members.swap(members_);
    }
    for (Member& member : members) handle::destroy(reinterpret_cast<uint64_t>(member.handle), Type::stream);
}

}  // namespace gpo
