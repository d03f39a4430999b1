// completion_queue.hpp: completion queues (completion.h).
#ifndef GPUORCH_CPP_COMPLETION_QUEUE_HPP
#define GPUORCH_CPP_COMPLETION_QUEUE_HPP

#include <cstdint>

#include "completion_queue_calls.hpp"

namespace gpuorch {

class completion_queue : public owner<completion_queue_calls, gpo_cq_destroy> {
public:
    using owner::owner;

    /// Returns how many entries were taken out, 0 if there was none. Throws GPO_SHUT_DOWN at the end of the queue.
    std::uint64_t drain(gpo_completion* entries, std::uint64_t capacity) const {
        std::uint64_t count = 0;
        check(gpo_cq_drain(get(), entries, sizeof *entries, capacity, &count));
        return count;
    }
    /// The failure of a failed entry.
    error failure(const gpo_completion& entry) const {
        auto details = sized<gpo_error>();
        if (gpo_cq_get_error(get(), entry.error_id, &details) != GPO_SUCCESS) details = error::of_status(entry.status);
        return error(details);
    }
};

}  // namespace gpuorch

#endif
