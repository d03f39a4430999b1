// timeline_calls.hpp: the plain calls of class timeline, which derives from them. Made from abi.json by
// src/abi/generate_cpp.py.
#ifndef GPUORCH_CPP_TIMELINE_CALLS_HPP
#define GPUORCH_CPP_TIMELINE_CALLS_HPP

#include <chrono>
#include <cstdint>

#include "object.hpp"

namespace gpuorch {

struct timeline_calls : ref<gpo_timeline_t> {
    using ref::ref;

    /// Raises the timeline to `value` from the host, and releases the waits for it.
    void signal(std::uint64_t value) const { check(gpo_timeline_signal(get(), value)); }

    /// Fails the timeline with `status`, which must be 50 or above (else GPO_INVALID_ARGUMENT), and a sentence, which
    /// may be NULL.
    void fail(gpo_status status, const char* message = nullptr) const {
        check(gpo_timeline_fail(get(), status, message));
    }

    /// Returns the value that has been reached.
    std::uint64_t value() const { return detail::got<std::uint64_t>(gpo_timeline_get_value, get()); }

    /// Waits on the host until `value` is reached.
    void wait(std::uint64_t value) const { check(gpo_timeline_wait(get(), value, -1)); }
    /// False: the time has passed first.
    bool wait(std::uint64_t value, std::chrono::nanoseconds time) const {
        return detail::done(gpo_timeline_wait(get(), value, detail::timeout(time)), GPO_TIMEOUT);
    }

    /// Puts an entry into `cq` when the timeline reaches `value`, at once if it has.
    void notify(std::uint64_t value, gpo_cq_t cq, std::uint64_t user_data) const {
        check(gpo_timeline_notify(get(), value, cq, user_data));
    }
};

}  // namespace gpuorch

#endif
