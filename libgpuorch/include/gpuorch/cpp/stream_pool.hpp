// stream_pool.hpp: pools of streams (stream.h).
#ifndef GPUORCH_CPP_STREAM_POOL_HPP
#define GPUORCH_CPP_STREAM_POOL_HPP

#include <cstdint>
#include <utility>

#include "stream.hpp"
#include "stream_pool_calls.hpp"

namespace gpuorch {

/// A stream from stream_pool::acquire. The destructor gives it back to the pool.
class pooled_stream : public stream_ref {
public:
    pooled_stream() noexcept = default;
    pooled_stream(gpo_stream_pool_t pool, gpo_stream_t lent) noexcept : stream_ref(lent), pool_(pool) {}
    pooled_stream(pooled_stream&& other) noexcept
        : stream_ref(std::exchange(other.handle_, nullptr)), pool_(other.pool_) {}
    pooled_stream& operator=(pooled_stream&& other) noexcept {
        std::swap(handle_, other.handle_);
        std::swap(pool_, other.pool_);
        return *this;
    }
    ~pooled_stream() {
        if (handle_ != nullptr) static_cast<void>(gpo_stream_pool_release(pool_, handle_));
    }

private:
    gpo_stream_pool_t pool_ = nullptr;
};

class stream_pool : public owner<stream_pool_calls, gpo_stream_pool_destroy> {
public:
    using owner::owner;

    [[nodiscard]] pooled_stream acquire(std::int32_t priority = 0) const {
        gpo_stream_t lent = nullptr;
        check(gpo_stream_pool_acquire(get(), priority, &lent));
        return pooled_stream(get(), lent);
    }
};

}  // namespace gpuorch

#endif
