#include "stream/marks.h"

#include <algorithm>

#include "stream/driver_stream.h"
#include "stream/services.h"
#include "stream/traced.h"

namespace gpo {

void StreamMarks::give_events() noexcept {
    Context& context = stream_.context();
    watched_.marks.take_events([&](CUevent event) { context.give_events(false, &event, 1); });
    for (bool timing : {false, true})
        if (!spares_[timing].empty()) context.give_events(timing, spares_[timing].data(), spares_[timing].size());
}

bool StreamMarks::drain(uint64_t deadline) noexcept {
    for (unsigned spins = 0; any(); ++spins) {
        if (host::now() >= deadline) return !stream_.may_run();
        if (spins < 64)
            host::step(spins);
        else
            host::sleep_until(std::min(deadline, host::now() + 100'000));
    }
    return true;
}

void StreamMarks::make_known() {
    StreamServices::of(stream_.context()).scanner().add(stream_);
    scanned_.store(true, std::memory_order_release);
}

CUevent StreamMarks::event(bool timing) {
    if (timing) return take_spare(true);
    CUevent& event = watched_.marks.next_event();
    if (!event) [[unlikely]] event = take_spare(false);
    return event;
}

void StreamMarks::return_event(bool timing, CUevent event) noexcept {
    if (timing) spares_[true].push_back(event);  // has room: the event was taken out of here
}

CUevent StreamMarks::take_spare(bool timing) {
    auto& spares = spares_[timing];
    if (spares.empty()) take_spares(timing);
    CUevent event = spares.back();
    spares.pop_back();
    return event;
}

void StreamMarks::take_spares(bool timing) {
    RelaxedCapture relaxed(stream_.table());
    stream_.context().take_events(timing, timing && !trace::on() ? 4 : 32, spares_[timing]);
}

void StreamMarks::record(Mark& mark) {
    const CUevent taken = event(mark.timing);
    try {
        mark.deferred = stream_.capturing();
        if (!mark.deferred) {
            gpo::issue(stream_, EventWork{taken, false});
            mark.deferred = stream_.capturing();
        }
    } catch (...) {
        mark.deferred = false;
        return_event(mark.timing, taken);
        throw;
    }
    mark.event = taken;
}

void StreamMarks::record_failed(Mark& mark) noexcept {
    mark.timing = false;
    if (stream_.detached()) return;
    const DriverTry scope(stream_.context());
    if (!scope.entered()) return;   // lost context: nothing runs any more
    try {
        record(mark);
    } catch (const std::exception&) {
        // Without an event the mark completes after the marks before it.
    }
}

void StreamMarks::push(Mark&& mark) noexcept {
    if (mark.operation == Mark::kNewest) mark.operation = stream_.submission().accepted();  // otherwise it was held
    if (!mark.submitted) mark.submitted = host::ticks();
    if (mark.deferred) watched_.deferring.store(true, std::memory_order_release);
    if (mark.origin != 0) {
        stream_.submission().count_notify();
        if (trace::on()) [[unlikely]] traced_.note_notify(mark);
    }
    watched_.marks.next() = std::move(mark);
    watched_.marks.push();
    StreamServices::of(stream_.context()).scanner().wake(&watched_.marks);
}

// The library doesn't see the program's work on the legacy stream, which blocking streams wait for, nor on native
// handles that it has given out.
bool StreamMarks::end_stream() const noexcept { return newest() && !stream_.blocking() && !stream_.given_out(); }

}  // namespace gpo
