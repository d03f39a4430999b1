// stream_calls.hpp: the plain calls of class stream, which derives from them. Made from abi.json by
// src/abi/generate_cpp.py.
#ifndef GPUORCH_CPP_STREAM_CALLS_HPP
#define GPUORCH_CPP_STREAM_CALLS_HPP

#include <chrono>
#include <cstdint>

#include "object.hpp"

namespace gpuorch {

struct stream_calls : ref<gpo_stream_t> {
    using ref::ref;

    /// Returns what the library knows of a stream.
    gpo_stream_info info() const { return detail::got<gpo_stream_info>(gpo_stream_get_info, get()); }

    /// Returns the CUstream behind the handle.
    void* native() const { return detail::got<void*>(gpo_stream_get_native, get()); }

    /// Says whether all work that was put on the stream is done.
    bool query() const { return detail::done(gpo_stream_query(get()), GPO_NOT_READY); }

    /// Waits for all work that was put on the stream before the call.
    void wait() const { check(gpo_stream_wait(get(), -1)); }
    /// False: the time has passed first.
    bool wait(std::chrono::nanoseconds time) const {
        return detail::done(gpo_stream_wait(get(), detail::timeout(time)), GPO_TIMEOUT);
    }

    /// Cancels all operations that are held on the stream, and returns how many: they complete with GPO_CANCELLED.
    std::uint64_t cancel_held() const { return detail::got<std::uint64_t>(gpo_stream_cancel_held, get()); }

    /// Makes later work on the stream wait, on the GPU, until the event's newest recording is complete.
    void wait_event(gpo_event_t event) const { check(gpo_stream_wait_event(get(), event)); }

    /// Makes later work on `stream` wait, on the GPU, until all work that was put on `other` before the call is done.
    void wait_stream(gpo_stream_t other) const { check(gpo_stream_wait_stream(get(), other)); }

    /// Makes later work on the stream wait until the timeline reaches `value`.
    void wait_timeline(gpo_timeline_t timeline, std::uint64_t value) const {
        check(gpo_stream_wait_timeline(get(), timeline, value));
    }

    /// Raises the timeline to `value` when all work that was put on the stream before the call is done.
    void signal_timeline(gpo_timeline_t timeline, std::uint64_t value) const {
        check(gpo_stream_signal_timeline(get(), timeline, value));
    }

    /// Copies between two devices of one runtime: directly if the devices can reach each other, otherwise through the
    /// host.
    void copy_peer(gpo_device_t destination_device, std::uint64_t destination, gpo_device_t source_device,
                   std::uint64_t source, std::uint64_t bytes) const {
        check(gpo_copy_peer(get(), destination_device, destination, source_device, source, bytes));
    }

    /// Copies rows.
    template <class Copy = copy_2d>
    void copy_rows(const Copy& copy) const {
        check(gpo_copy_rows(get(), detail::with_size<gpo_copy_2d>(copy)));
    }

    /// Sets `height` rows of `width` bytes, which lie `pitch` bytes apart, to the low byte of `value`.
    void fill_rows(std::uint64_t destination, std::uint64_t pitch, std::uint32_t value, std::uint64_t width,
                   std::uint64_t height) const {
        check(gpo_fill_rows(get(), destination, pitch, value, width, height));
    }

    /// Puts a mark behind all work that is on the stream now.
    void notify(gpo_cq_t cq, std::uint64_t user_data) const { check(gpo_stream_notify(get(), cq, user_data)); }

    /// Like gpo_stream_notify, and the entry's `gpu_ns` has the GPU time from the newest recording of `since` to the
    /// mark.
    void notify_timed(gpo_cq_t cq, std::uint64_t user_data, gpo_event_t since) const {
        check(gpo_stream_notify_timed(get(), cq, user_data, since));
    }
};

}  // namespace gpuorch

#endif
