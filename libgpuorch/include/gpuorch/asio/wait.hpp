// wait.hpp: waiting for work that is on its way (completion.h).
#ifndef GPUORCH_ASIO_WAIT_HPP
#define GPUORCH_ASIO_WAIT_HPP

#include "port.hpp"

namespace gpuorch {

/// All have the signature void(error_code, completion). Cancellation of any type abandons the wait.
template <class Base>
class port_waits : public Base {
public:
    /// Completes when the stream has got to the point behind all work that is on it now.
    template <class Token>
    auto async_wait(gpo_stream_t stream, Token&& token) const {
        return wait(gpo_stream_notify, stream, std::forward<Token>(token));
    }
    /// Completes when the event's newest recording is reached.
    template <class Token>
    auto async_wait(gpo_event_t event, Token&& token) const {
        return wait(gpo_event_notify, event, std::forward<Token>(token));
    }
    /// Completes when the pipeline's run has ended.
    template <class Token>
    auto async_wait(gpo_pipeline_t pipeline, Token&& token) const {
        return wait(gpo_pipeline_notify, pipeline, std::forward<Token>(token));
    }
    /// Completes when the timeline has reached `value`.
    template <class Token>
    auto async_wait(gpo_timeline_t timeline, std::uint64_t value, Token&& token) const {
        auto one = this->operation([timeline, value](gpo_cq_t queue, std::uint64_t number) -> asio_detail::started {
            return {gpo_timeline_notify(timeline, value, queue, number), false};
        });
        return this->begin(std::move(one), std::forward<Token>(token));
    }
    /// As for a stream; `completion::gpu_ns` is the GPU's time since `since` (gpo_stream_notify_timed).
    template <class Token>
    auto async_wait(gpo_stream_t stream, gpo_event_t since, Token&& token) const {
        auto one = this->operation([stream, since](gpo_cq_t queue, std::uint64_t number) -> asio_detail::started {
            return {gpo_stream_notify_timed(stream, queue, number, since), false};
        });
        return this->begin(std::move(one), std::forward<Token>(token));
    }

protected:
    using Base::Base;

private:
    template <class Handle, class Token>
    auto wait(gpo_status (*notify)(Handle, gpo_cq_t, std::uint64_t), Handle object, Token&& token) const {
        auto one = this->operation([notify, object](gpo_cq_t queue, std::uint64_t number) -> asio_detail::started {
            return {notify(object, queue, number), false};
        });
        return this->begin(std::move(one), std::forward<Token>(token));
    }
};

}  // namespace gpuorch

#endif
