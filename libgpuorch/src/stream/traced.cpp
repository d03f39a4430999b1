// What a stream does for whoever traces it.
#include "stream/stream.h"
#include "trace/recorder.h"

namespace gpo {

void Stream::hand_over_traced(Operation& operation, uint64_t number, trace::Recorder& recorder) {
    trace::OperationSpan span(*this, recorder, operation);
    if (blocking_ || native_ == nullptr || native_ == CU_STREAM_LEGACY)
        trace::serialising(runtime(), "work on a blocking or legacy stream");
    const Attributing attributing(*this, operation, number);
    struct Open {
        Open(trace::OperationSpan*& place, trace::OperationSpan* span) : place(place) { place = span; }
        ~Open() { place = nullptr; }
        trace::OperationSpan*& place;
    };
    {
        Open open(span_, &span);
        operation.issue(*this);
    }
    attributing.issued();
    span.end(number);
}

void Stream::begin_work() noexcept {
    if (span_) [[unlikely]]
        span_->begin_work();
}

uint32_t Stream::known_trace_lane(const trace::Recorder& recorder) const noexcept {
    const uint64_t known = trace_lane_.load(std::memory_order_acquire);
    return known >> 32 == recorder.session() ? static_cast<uint32_t>(known) : 0;
}

uint32_t Stream::trace_lane(trace::Recorder& recorder) noexcept {
    const uint64_t session = recorder.session(), known = trace_lane_.load(std::memory_order_relaxed);
    if (known >> 32 == session) [[likely]]
        return static_cast<uint32_t>(known);
    const uint32_t lane = recorder.add_lane(*this);
    trace_lane_.store(session << 32 | lane, std::memory_order_release);
    return lane;
}

CUevent Stream::trace_event() noexcept {
    try {
        return mark_event(true);
    } catch (...) {
        return nullptr;  // the operation goes on without its times
    }
}

void Stream::trace_notify(const Mark& mark) noexcept {
    trace::Recorder* recorder = runtime().recorder();
    if (!recorder || !recorder->running()) return;
    trace::Record notify;
    notify.kind = trace::Kind::notify;
    notify.name = "notify";
    notify.label = "";
    notify.inside_call = trace::CallSpan::open();
    notify.lane = trace_lane(*recorder) & ~trace::Recorder::kUntimed;
    notify.number = mark.submitted;
    notify.begin = host::now();
    notify.end = notify.begin;
    trace::record(runtime().tag(), notify);
}

// Under the submit lock: nothing is held any more.
void Stream::trace_held() noexcept {
    const uint64_t since = std::exchange(held_since_, 0), operations = std::exchange(operations_kept_, 0);
    if (since == 0) return;
    trace::Recorder* recorder = runtime().recorder();
    if (!recorder || !recorder->running()) return;
    trace::Record held;
    held.kind = trace::Kind::held;
    held.name = "held";
    held.lane = trace_lane(*recorder) & ~trace::Recorder::kUntimed;
    held.begin = since;
    held.end = host::now();
    held.bytes = operations;
    trace::record(runtime().tag(), held);
}

}  // namespace gpo
