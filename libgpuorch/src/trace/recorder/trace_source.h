// Interfaces of the recorder to the code above it: GPUs with their clocks (device/context.h, device/gpu_clock.h), and
// figures of the whole runtime (runtime/tracing.h). The recorder itself makes no driver call.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "core/runtime.h"
#include "trace/record.h"

namespace gpo::trace {

/// Times of a GPU's events on the host's clock. Used by a single thread at a time.
class Clock {
public:
    virtual ~Clock() = default;
    /// Compares the clocks, unless the last comparison is newer than `age`. False if the driver refused. Takes some ten
    /// microseconds.
    virtual bool adjust(uint64_t age) noexcept = 0;

    struct Times {
        bool known = false;   // whether the driver could report the times
        uint64_t begin = 0, end = 0;
    };
    /// Appends the times of the operations, in order, up to the first operation that has not ended. Throws
    /// std::bad_alloc.
    virtual void times_of(const std::deque<Record>& operations, std::vector<Times>& times) = 0;

    /// The largest error of a time, and the host's time for recording an operation's two events. 0 if unknown.
    virtual uint64_t error() const noexcept = 0;
    virtual uint64_t record_cost() const noexcept = 0;
};

/// A GPU's context.
class Gpu : public Counted {
public:
    /// The driver's number of the device.
    virtual int ordinal() const noexcept = 0;
    /// Throws Failure, std::bad_alloc.
    virtual std::string device_name() = 0;
    /// Throws std::bad_alloc.
    virtual std::unique_ptr<Clock> make_clock() = 0;
    /// Takes back timed events of operations.
    virtual void take_back(CUevent* events, size_t count) noexcept = 0;
};

/// Levels that a trace shows over time.
struct Levels {
    uint64_t operations_pending = 0, operations_held = 0, completions_pending = 0;
    uint64_t arena_in_use = 0, pool_in_use = 0, pipeline_pinned = 0;   // bytes
};

class Source {
public:
    /// The GPUs that the runtime has opened. Throws std::bad_alloc.
    virtual std::vector<Ref<Gpu>> gpus(Runtime& runtime) const = 0;
    /// Throws std::bad_alloc.
    virtual Levels levels(Runtime& runtime) const = 0;

protected:
    ~Source() = default;
};

}  // namespace gpo::trace
