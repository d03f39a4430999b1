#include "stream/launched_events.h"

#include <algorithm>

namespace gpo {

LaunchedEvents::Promised* LaunchedEvents::promise_of(const Event& event) noexcept {
    const auto found = std::find_if(promised_.begin(), promised_.end(),
                                    [&](const Promised& promised) { return &*promised.event == &event; });
    return found == promised_.end() ? nullptr : &*found;
}

void LaunchedEvents::promise(Stream& stream, const EventList& events) {
    std::vector<Promised> promised;
    promised.reserve(events.size());
    for (const Ref<Event>& event : events)
        promised.push_back({event, make<Recording>(stream.context(), &stream, event->timing())});
    promised_ = std::move(promised);
    for (Promised& each : promised_) {
        Event& event = *each.event;
        Ref<Recording> before;   // released after the lock
        std::lock_guard lock(event.newest_lock_);
        event.overwriting_.store(event.overwriting_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
        before = event.set_newest(each.recording);
        each.number = event.begin_recording();
        event.capture_.store(0, std::memory_order_release);   // launches aren't held in captures
    }
}

void LaunchedEvents::begin(Stream& stream, const EventList& events) {
    // Usually there are no events, or only unwatched events.
    if (std::none_of(events.begin(), events.end(), [](const Ref<Event>& event) {
            return event->watched_.load(std::memory_order_acquire);
        }))
        return;
    std::vector<Recorded> recorded;
    recorded.reserve(events.size());
    for (const Ref<Event>& event : events) {
        std::unique_lock lock(event->native_lock_);
        const bool overwritten = !promise_of(*event) && event->overwriting_.load(std::memory_order_acquire) != 0;
        Ref<Recording> point;
        if (overwritten) point = make<Recording>(stream.context(), nullptr, event->timing());
        recorded.push_back({&*event, std::move(lock), std::move(point)});
    }
    recorded_ = std::move(recorded);
}

void LaunchedEvents::launched(const EventList& events) noexcept {
    for (const Ref<Event>& event : events) {
        if (Promised* const promised = promise_of(*event)) {
            promised->recorded = true;
            event->issued_.store(promised->number, std::memory_order_release);
            continue;
        }
        event->capture_.store(0, std::memory_order_release);
        event->issued_.store(event->begin_recording(), std::memory_order_release);
    }
    host::light_fence();
    for (const Ref<Event>& event : events) {
        // The copy of an earlier recording isn't the newest any more. Exceptions: a recording promised since begin()
        // stays the newest, and a point of this launch becomes the newest in conclude().
        if (promise_of(*event) || !event->watched_.load(std::memory_order_acquire)) continue;
        Ref<Recording> before;
        std::lock_guard lock(event->newest_lock_);
        if (event->overwriting_.load(std::memory_order_relaxed) == 0) before = event->set_newest(nullptr);
    }
}

void LaunchedEvents::conclude(Stream& stream) noexcept {
    for (Recorded& recorded : recorded_) {
        if (!recorded.point) continue;
        recorded.point->end(copy(*recorded.event, *recorded.point, stream));
        Ref<Recording> before;
        std::lock_guard lock(recorded.event->newest_lock_);
        before = recorded.event->set_newest(recorded.point);
    }
    for (Promised& promised : promised_) {
        // If an update has removed the graph's node since the promise, waits are for the whole launch.
        promised.recording->end(promised.recorded ? copy(*promised.event, *promised.recording, stream)
                                                  : record_point(*promised.recording, stream));
        promised.event->end_overwriting();
    }
    end_recording();
}

// Copies the driver event's current recording to the point of `to`.
ErrorPtr LaunchedEvents::copy(Event& event, Recording& to, Stream& stream) noexcept {
    try {
        event.copy_native_to(to);
        return nullptr;
    } catch (...) {
        return record_point(to, stream);   // no stream for the copy: complete with the whole launch
    }
}

ErrorPtr LaunchedEvents::record_point(Recording& to, Stream& stream) noexcept {
    try {
        issue(stream, EventWork{to.point(), false});
        return nullptr;
    } catch (const Failure& failure) {
        return failure.error();
    } catch (...) {
        return bare_error(GPO_OUT_OF_MEMORY);
    }
}

void LaunchedEvents::drop(const ErrorPtr& error) noexcept {
    for (Promised& promised : promised_) {
        promised.recording->end(error);
        promised.event->end_overwriting();
    }
}

void LaunchedEvents::release_waiting() noexcept {
    for (Promised& promised : promised_) promised.recording->release_waiting();
}

}  // namespace gpo
