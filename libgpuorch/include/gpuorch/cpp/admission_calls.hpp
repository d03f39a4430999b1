// admission_calls.hpp: the plain calls of class admission, which derives from them. Made from abi.json by
// src/abi/generate_cpp.py.
#ifndef GPUORCH_CPP_ADMISSION_CALLS_HPP
#define GPUORCH_CPP_ADMISSION_CALLS_HPP

#include <cstdint>

#include "object.hpp"

namespace gpuorch {

struct admission_calls : ref<gpo_admission_t> {
    using ref::ref;

    /// Asks for a place.
    template <class Request = admission_request>
    std::uint64_t enter(const Request& request, gpo_cq_t cq, std::uint64_t user_data) const {
        return detail::got<std::uint64_t>(gpo_admission_enter, get(), detail::with_size<gpo_admission_request>(request),
                                          cq, user_data);
    }

    /// Takes a waiting request out of the line.
    void cancel(std::uint64_t ticket) const { check(gpo_admission_cancel(get(), ticket)); }

    /// Gives a place back at once.
    void leave(std::uint64_t ticket) const { check(gpo_admission_leave(get(), ticket)); }

    /// Gives a place back in stream order: when all work that is on the stream now has ended, also by a failure.
    void leave_after(std::uint64_t ticket, gpo_stream_t stream) const {
        check(gpo_admission_leave_after(get(), ticket, stream));
    }

    /// Changes the budgets: `count` places and `bytes` bytes, UINT64_MAX: unlimited.
    void set_budget(std::uint64_t count, std::uint64_t bytes) const {
        check(gpo_admission_set_budget(get(), count, bytes));
    }

    /// Sets the weight of a flow, 1 to 2^16, from its next turn on.
    void set_flow(std::uint64_t flow, std::uint32_t weight) const {
        check(gpo_admission_set_flow(get(), flow, weight));
    }

    /// Describes an admission at one moment.
    gpo_admission_info info() const { return detail::got<gpo_admission_info>(gpo_admission_get_info, get()); }
};

}  // namespace gpuorch

#endif
