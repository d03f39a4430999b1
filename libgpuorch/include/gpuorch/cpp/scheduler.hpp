// scheduler.hpp: schedulers (scheduler.h).
#ifndef GPUORCH_CPP_SCHEDULER_HPP
#define GPUORCH_CPP_SCHEDULER_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "object.hpp"

namespace gpuorch {

/// From device::create_scheduler.
class scheduler : public owner<ref<gpo_scheduler_t>, gpo_scheduler_destroy> {
public:
    using owner::owner;

    void start() const { check(gpo_scheduler_start(get())); }
    /// Throws GPO_CANCELLED if the run has ended with tasks left.
    void drain() const { check(gpo_scheduler_drain(get(), -1)); }
    /// False: the time has passed first, and the run still drains. `stop` and `wait` with a time return false in the
    /// same way.
    bool drain(std::chrono::nanoseconds time) const {
        return detail::done(gpo_scheduler_drain(get(), detail::timeout(time)), GPO_TIMEOUT);
    }
    void stop() const { check(gpo_scheduler_stop(get(), -1)); }
    bool stop(std::chrono::nanoseconds time) const {
        return detail::done(gpo_scheduler_stop(get(), detail::timeout(time)), GPO_TIMEOUT);
    }
    /// Waits until the run has ended by itself.
    void wait() const { check(gpo_scheduler_wait(get(), -1)); }
    bool wait(std::chrono::nanoseconds time) const {
        return detail::done(gpo_scheduler_wait(get(), detail::timeout(time)), GPO_TIMEOUT);
    }

    gpo_scheduler_info info() const { return detail::got(gpo_scheduler_get_info, get()); }
    gpo_handler_info handler(std::uint32_t number) const {
        gpo_handler_info info{};
        info.struct_size = sizeof info;
        check(gpo_scheduler_get_handler(get(), number, &info));
        return info;
    }
    std::vector<gpo_scheduler_block> blocks() const {
        return all(gpo_scheduler_get_blocks, static_cast<std::size_t>(info().blocks));
    }
    std::vector<gpo_depth_sample> samples() const { return all(gpo_scheduler_get_samples, 1024); }
    /// The first errors, as many as are stored.
    std::vector<gpo_task_error> errors() const { return all(gpo_scheduler_get_errors, 4096); }

private:
    template <class T>
    std::vector<T> all(gpo_status (*read)(gpo_scheduler_t, T*, std::uint64_t, std::uint64_t, std::uint64_t*),
                       std::size_t most) const {
        std::vector<T> out(most);
        std::uint64_t count = 0;
        check(read(get(), out.data(), sizeof(T), most, &count));
        out.resize(static_cast<std::size_t>(count));
        return out;
    }
};

}  // namespace gpuorch

#endif
