// scheduler.hpp: schedulers (scheduler.h).
#ifndef GPUORCH_CPP_SCHEDULER_HPP
#define GPUORCH_CPP_SCHEDULER_HPP

#include <cstddef>
#include <cstdint>
#include <vector>

#include "scheduler_calls.hpp"

namespace gpuorch {

/// From device::create_scheduler.
class scheduler : public owner<scheduler_calls, gpo_scheduler_destroy> {
public:
    using owner::owner;

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
