// completion_queue.hpp: completion queues (completion.h).
#ifndef GPUORCH_CPP_COMPLETION_QUEUE_HPP
#define GPUORCH_CPP_COMPLETION_QUEUE_HPP

#include <chrono>
#include <cstdint>

#include "object.hpp"

namespace gpuorch {

class completion_queue : public owner<ref<gpo_cq_t>, gpo_cq_destroy> {
public:
    using owner::owner;

    /// Returns how many entries were taken out, 0 if there was none. Throws GPO_SHUT_DOWN at the end of the queue.
    std::uint64_t drain(gpo_completion* entries, std::uint64_t capacity) const {
        std::uint64_t count = 0;
        check(gpo_cq_drain(get(), entries, sizeof *entries, capacity, &count));
        return count;
    }
    void wait() const { check(gpo_cq_wait(get(), -1)); }
    /// False: the time has passed first.
    bool wait(std::chrono::nanoseconds time) const {
        return detail::done(gpo_cq_wait(get(), detail::timeout(time)), GPO_TIMEOUT);
    }
    void wake() const { check(gpo_cq_wake(get())); }
    /// A descriptor for an event loop. The caller closes it.
    int descriptor() const {
        std::int32_t descriptor = -1;
        check(gpo_cq_get_fd(get(), &descriptor));
        return descriptor;
    }
    /// The failure of a failed entry.
    error failure(const gpo_completion& entry) const {
        auto details = sized<gpo_error>();
        if (gpo_cq_get_error(get(), entry.error_id, &details) != GPO_SUCCESS) details = error::of_status(entry.status);
        return error(details);
    }
    gpo_cq_statistics statistics() const { return detail::got(gpo_cq_get_statistics, get()); }
};

}  // namespace gpuorch

#endif
