// serving.hpp: places of admissions, requests of batchers, tasks of host rings.
#ifndef GPUORCH_ASIO_SERVING_HPP
#define GPUORCH_ASIO_SERVING_HPP

#include "peers.hpp"

namespace gpuorch {

/// All have the signature void(error_code, completion).
template <class Base>
class port_requests : public Base {
public:
    /// Completes when the request has its places: give them back with `completion::operation`, the ticket. Cancellation
    /// of any type takes the request out of the line, and the operation completes with error::operation_aborted. If the
    /// request was admitted meanwhile, it has its places. At the port's end the places are given back.
    template <class Request, class Token>
    auto async_enter(gpo_admission_t admission, const Request& request, Token&& token) const {
        const gpo_admission_request given = sized<gpo_admission_request>(request);
        auto one = this->operation([admission, given](gpo_cq_t queue, std::uint64_t number) -> asio_detail::started {
            std::uint64_t ticket = 0;
            const gpo_status status = gpo_admission_enter(admission, &given, queue, number, &ticket);
            return {status, true, ticket};
        });
        one.submits = true;
        one.object = admission;
        one.cancel = [](void* object, std::uint64_t ticket, bool abandoned) {
            const auto from = static_cast<gpo_admission_t>(object);
            const bool waits = gpo_admission_cancel(from, ticket) == GPO_SUCCESS;
            if (!waits && abandoned) static_cast<void>(gpo_admission_leave(from, ticket));
        };
        return this->begin(std::move(one), std::forward<Token>(token));
    }
    using Base::async_submit;  // of a group's collective
    /// Completes when the request's output is written, or never will be. Input and output must stay until then.
    /// Cancellation of any type takes the request out of the line, and the operation completes with
    /// error::operation_aborted. A request whose batch was formed runs to its end.
    template <class Request, class Token>
    auto async_submit(gpo_batcher_t batcher, const Request& request, Token&& token) const {
        const gpo_batcher_request given = sized<gpo_batcher_request>(request);
        auto one = this->operation([batcher, given](gpo_cq_t queue, std::uint64_t number) -> asio_detail::started {
            std::uint64_t ticket = 0;
            const gpo_status status = gpo_batcher_submit(batcher, &given, queue, number, &ticket, nullptr);
            return {status, true, ticket};
        });
        one.submits = true;
        one.object = batcher;
        one.cancel = [](void* object, std::uint64_t ticket, bool) {
            static_cast<void>(gpo_batcher_cancel(static_cast<gpo_batcher_t>(object), ticket));
        };
        return this->begin(std::move(one), std::forward<Token>(token));
    }
    /// Posts a task to a host ring, of a tenant whose completion queue is this port's (native_handle,
    /// gpo_queue_set_tenant). Completes with the status of the answer. Answers with bytes wait in the ring: take them
    /// in the handler (queue::take). Cancellation of any type abandons the wait for the answer.
    template <class Task, class Token>
    auto async_post(gpo_queue_t ring, std::uint32_t tenant, const Task& task, Token&& token) const {
        static_assert(std::is_trivially_copyable_v<Task>, "tasks are copied as bytes");
        auto one = this->operation([ring, tenant, task](gpo_cq_t, std::uint64_t number) -> asio_detail::started {
            std::uint64_t posted = 0;
            return {gpo_queue_post(ring, tenant, &task, 1, number, &posted), true};
        });
        one.submits = true;
        return this->begin(std::move(one), std::forward<Token>(token));
    }

protected:
    using Base::Base;
};

}  // namespace gpuorch

#endif
