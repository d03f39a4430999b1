// timeline.hpp: timelines (timeline.h).
#ifndef GPUORCH_CPP_TIMELINE_HPP
#define GPUORCH_CPP_TIMELINE_HPP

#include <cstdint>
#include <utility>

#include "callable.hpp"
#include "timeline_calls.hpp"

namespace gpuorch {

class timeline : public owner<timeline_calls, gpo_timeline_destroy> {
public:
    using owner::owner;

    /// See stream_ref::then.
    template <class Callable>
    void then(std::uint64_t value, gpo_executor_t executor, Callable&& callable) const {
        check(detail::hand_over(std::forward<Callable>(callable), gpo_timeline_then, get(), value, executor));
    }
};

}  // namespace gpuorch

#endif
