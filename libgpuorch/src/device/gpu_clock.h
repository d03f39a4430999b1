// Times of a GPU's events on the host's clock.
//
// A *base* is an event whose time is known on both clocks: it was recorded on an idle stream of the library, while the
// host read its clock before the record and after the event was seen. The time of another event is its base's time plus
// the GPU time between the two. New bases are made now and then, because the driver returns differences as floats and
// because two clocks drift.
#pragma once

#include <vector>

#include "device/context.h"
#include "trace/recorder/trace_source.h"

namespace gpo {

class GpuClock final : public trace::Clock {
public:
    /// Throws std::bad_alloc.
    explicit GpuClock(Ref<Context> context) : context_(std::move(context)) { bases_.reserve(kBases + 1); }
    ~GpuClock() override;
    GpuClock(const GpuClock&) = delete;
    GpuClock& operator=(const GpuClock&) = delete;

    /// Makes a base if the newest one is older than `age` (ns).
    bool adjust(uint64_t age) noexcept override;
    void times_of(const std::deque<trace::Record>& operations, std::vector<Times>& times) override;
    uint64_t error() const noexcept override { return error_; }
    uint64_t record_cost() const noexcept override { return record_cost_; }

private:
    static constexpr size_t kBases = 8;
    struct Base {
        CUevent event;
        uint64_t host, error;
    };
    bool make_base(Base& base) noexcept;
    /// When the event was reached, on the host's clock. `about`: when it was recorded. CUDA_ERROR_NOT_READY if it was
    /// not reached yet. Inside a scope of the context.
    CUresult time_of(CUevent event, uint64_t about, uint64_t* time) const noexcept;
    void measure_cost() noexcept;

    const Ref<Context> context_;
    CUstream stream_ = nullptr;
    std::vector<Base> bases_;  // oldest first
    uint64_t error_ = 0, record_cost_ = 0;
};

}  // namespace gpo
