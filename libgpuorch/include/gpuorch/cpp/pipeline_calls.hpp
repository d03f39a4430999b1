// pipeline_calls.hpp: the plain calls of class pipeline, which derives from them. Made from abi.json by
// src/abi/generate_cpp.py.
#ifndef GPUORCH_CPP_PIPELINE_CALLS_HPP
#define GPUORCH_CPP_PIPELINE_CALLS_HPP

#include <chrono>
#include <cstdint>
#include <optional>

#include "object.hpp"

namespace gpuorch {

struct pipeline_calls : ref<gpo_pipeline_t> {
    using ref::ref;

    /// Waits for the run to end, and returns its result. Throws the failure of a run that has failed.
    gpo_pipeline_result wait() const { return detail::got<gpo_pipeline_result>(gpo_pipeline_wait, get(), -1); }
    /// Empty: the time has passed first.
    std::optional<gpo_pipeline_result> wait(std::chrono::nanoseconds time) const {
        return detail::got_unless<gpo_pipeline_result>(GPO_TIMEOUT, gpo_pipeline_wait, get(), detail::timeout(time));
    }

    /// Ends the run early: no further chunk is begun, chunks under way are finished and their output is dropped, and
    /// the run's status is GPO_CANCELLED.
    void cancel() const { check(gpo_pipeline_cancel(get())); }

    /// Puts an entry into `cq` (completion.h) when the run has ended, at once if it has.
    void notify(gpo_cq_t cq, std::uint64_t user_data) const { check(gpo_pipeline_notify(get(), cq, user_data)); }

    /// Says how far the run is, or how far the last run came.
    gpo_pipeline_progress progress() const {
        return detail::got<gpo_pipeline_progress>(gpo_pipeline_get_progress, get());
    }

    /// Reads a device's share of the work in the run that ended last.
    gpo_pipeline_share share(std::uint32_t device) const {
        return detail::got<gpo_pipeline_share>(gpo_pipeline_get_share, get(), device);
    }
};

}  // namespace gpuorch

#endif
