// Pools of streams, handed out by priority and load.
#pragma once

#include <vector>

#include "stream/stream.h"

namespace gpo {

class StreamPool final : public Object {
public:
    StreamPool(Ref<Context> context, gpo_device_t device, const gpo_stream_pool_options& options);

    gpo_stream_t acquire(int32_t priority);
    void give_back(gpo_stream_t stream);
    /// Destroys the handles of the pool's streams; the streams' work goes on.
    void close() noexcept override;

private:
    struct Member {
        Ref<Stream> stream;
        gpo_stream_t handle;
        int32_t priority;
        uint32_t users;
    };
    const Ref<Context> context_;
    host::Mutex lock_;
    std::vector<Member> members_;
};

template <>
struct TypeOf<StreamPool> { static constexpr Type value = Type::stream_pool; };

}  // namespace gpo
