// admission.hpp: admissions (admission.h).
#ifndef GPUORCH_CPP_ADMISSION_HPP
#define GPUORCH_CPP_ADMISSION_HPP

#include <cstdint>
#include <optional>
#include <utility>

#include "admission_calls.hpp"
#include "callable.hpp"

namespace gpuorch {

class admission : public owner<admission_calls, gpo_admission_destroy> {
public:
    using owner::owner;

    /// Like enter, but returns nothing if the line has no room, or the queue is full.
    template <class Request = admission_request>
    [[nodiscard]] std::optional<std::uint64_t> try_enter(const Request& request, gpo_cq_t cq,
                                                         std::uint64_t user_data) const {
        std::uint64_t ticket = 0;
        const auto status =
            gpo_admission_enter(get(), detail::with_size<gpo_admission_request>(request), cq, user_data, &ticket);
        if (!detail::done(status, GPO_WOULD_BLOCK)) return {};
        return ticket;
    }

    /// Calls `callable` once on the executor when the request was admitted or won't be. See stream_ref::then. Returns
    /// the ticket.
    template <class Callable, class Request = admission_request>
    std::uint64_t enter_then(const Request& request, gpo_executor_t executor, Callable&& callable) const {
        std::uint64_t ticket = 0;
        const auto enter = [&](gpo_completion_fn function, void* user) {
            return gpo_admission_enter_then(get(), detail::with_size<gpo_admission_request>(request), executor,
                                            function, user, &ticket);
        };
        check(detail::hand_over(std::forward<Callable>(callable), enter));
        return ticket;
    }
};

}  // namespace gpuorch

#endif
