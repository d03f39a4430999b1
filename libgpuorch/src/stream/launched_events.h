// The events that a launch of a graph records.
//
// The launch is each event's newest recording, like a plain recording: from its submission to the driver on, or from
// its acceptance on if it is held. A held launch *promises* its recordings: an event's newest recording is pending
// until the launch is submitted or dropped. The graph's nodes later overwrite the driver's event. Hence recordings made
// in between get a point of their own (stream/event_recording.h). The launch's own recording is copied before any other
// recording of the event.
#pragma once

#include <mutex>
#include <vector>

#include "stream/event.h"
#include "stream/event_recording.h"

namespace gpo {

/// Distinct events in the order of their addresses, which is their locks' order.
using EventList = std::vector<Ref<Event>>;

class LaunchedEvents {
public:
    LaunchedEvents() noexcept = default;
    LaunchedEvents(const LaunchedEvents&) = delete;
    LaunchedEvents& operator=(const LaunchedEvents&) = delete;

    /// The launch is held on this stream. Promises nothing if it throws.
    void promise(Stream& stream, const EventList& events);

    // Inside a DriverScope, under the submit lock.
    /// Called before the launch is submitted. If any of the events is watched, no other thread records them until
    /// conclude(). `events`: the events that the graph records now. Throws; then it may be called again.
    void begin(Stream& stream, const EventList& events);
    /// The driver has refused the launch.
    void refused() noexcept { end_recording(); }
    /// The driver has the launch: `events` as in begin().
    void launched(const EventList& events) noexcept;
    /// Called after launched(), with the graph's lock released.
    void conclude(Stream& stream) noexcept;

    /// The launch will never be submitted. Under the submit lock.
    void drop(const ErrorPtr& error) noexcept;
    /// Flushes the waiting streams: called after conclude() or drop(), with no lock held.
    void release_waiting() noexcept;

private:
    struct Promised {
        Ref<Event> event;
        Ref<Recording> recording;
        uint64_t number = 0;         // of the recording
        bool recorded = false;       // by a node of the launch
    };
    struct Recorded {                // by the launch; other recordings wait for conclude()
        Event* event;
        std::unique_lock<host::Mutex> lock;
        Ref<Recording> point;        // NULL: not needed
    };
    Promised* promise_of(const Event& event) noexcept;
    static ErrorPtr copy(Event& event, Recording& to, Stream& stream) noexcept;
    static ErrorPtr record_point(Recording& to, Stream& stream) noexcept;
    void end_recording() noexcept { recorded_.clear(); }

    std::vector<Promised> promised_;   // in the order of EventList
    std::vector<Recorded> recorded_;   // in the same order
};

}  // namespace gpo
