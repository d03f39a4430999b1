#include "stream/traced.h"

#include "stream/driver_stream.h"
#include "stream/operation_span.h"

namespace gpo {

namespace {

// The recorder, if a session of it runs.
trace::Recorder* running(DriverStream& stream) noexcept {
    trace::Recorder* recorder = trace::Recorder::of(stream.runtime());
    return recorder && recorder->running() ? recorder : nullptr;
}

}  // namespace

void Traced::begin_work() noexcept {
    if (span_) [[unlikely]]
        span_->begin_work();
}

uint32_t Traced::known_lane(const trace::Recorder& recorder) const noexcept {
    const uint64_t known = lane_.load(std::memory_order_acquire);
    return known >> 32 == recorder.session() ? static_cast<uint32_t>(known) : 0;
}

uint32_t Traced::lane(trace::Recorder& recorder) noexcept {
    const uint64_t session = recorder.session(), known = lane_.load(std::memory_order_relaxed);
    if (known >> 32 == session) [[likely]]
        return static_cast<uint32_t>(known);
    const uint32_t lane = recorder.add_lane(stream_.context(), stream_.label());
    lane_.store(session << 32 | lane, std::memory_order_release);
    return lane;
}

void Traced::note_notify(const Mark& mark) noexcept {
    trace::Recorder* recorder = running(stream_);
    if (!recorder) return;
    trace::Record notify;
    notify.kind = trace::Kind::notify;
    notify.name = "notify";
    notify.label = "";
    notify.inside_call = trace::CallSpan::open();
    notify.lane = lane(*recorder) & ~trace::Recorder::kUntimed;
    notify.number = mark.submitted;
    notify.begin = host::now();
    notify.end = notify.begin;
    trace::record(stream_.runtime().tag(), notify);
}

void Traced::begin_holding(bool counts) noexcept {
    if (trace::on() && held_since_ == 0) [[unlikely]] held_since_ = host::now();
    kept_ += counts;
}

void Traced::end_holding() noexcept {
    const uint64_t since = std::exchange(held_since_, 0), kept = std::exchange(kept_, 0);
    if (since == 0) return;
    trace::Recorder* recorder = running(stream_);
    if (!recorder) return;
    trace::Record held;
    held.kind = trace::Kind::held;
    held.name = "held";
    held.lane = lane(*recorder) & ~trace::Recorder::kUntimed;
    held.begin = since;
    held.end = host::now();
    held.bytes = kept;
    trace::record(stream_.runtime().tag(), held);
}

}  // namespace gpo
