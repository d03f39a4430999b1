// The events that a launch of a graph records.
//
// The launch is the newest recording of each of them, as an event's own recording would be: from the moment that the
// driver has it, or, if it is held, from its acceptance on. A held launch *promises* its recordings: an event's newest
// one is pending until the launch is given to the driver, or dropped. The nodes of the graph record the driver's event
// whatever else has recorded it since; so what records it meanwhile gets a point of its own (stream/event_recording.h),
// and of what the launch has recorded in its turn a copy is taken before anybody else can record the event.
#pragma once

#include <mutex>
#include <vector>

#include "stream/event.h"
#include "stream/event_recording.h"

namespace gpo {

/// Each once, in the order of their addresses, in which their locks are taken.
using EventList = std::vector<Ref<Event>>;

class LaunchedEvents {
public:
    LaunchedEvents() noexcept = default;
    LaunchedEvents(const LaunchedEvents&) = delete;
    LaunchedEvents& operator=(const LaunchedEvents&) = delete;

    /// The launch is held, on this stream. Throws, and then nothing was promised.
    void promise(Stream& stream, const EventList& events);

    // Inside a DriverScope, under the submit lock.
    /// Before the driver gets the launch: nobody else records, from here to conclude(), an event that is watched.
    /// `events`: what the graph records now. Throws, and then it may be called again.
    void begin(Stream& stream, const EventList& events);
    /// The driver hasn't got it.
    void refused() noexcept { end_recording(); }
    /// The driver has the launch: `events` as in begin().
    void launched(const EventList& events) noexcept;
    /// Behind that, with the graph's lock released.
    void conclude(Stream& stream) noexcept;

    /// The launch will never be given to the driver. Under the submit lock.
    void drop(const ErrorPtr& error) noexcept;
    /// Behind conclude() or drop(), with no lock held.
    void release_waiting() noexcept;

private:
    struct Promised {
        Ref<Event> event;
        Ref<Recording> recording;
        uint64_t number = 0;         // of the recording
        bool recorded = false;       // by a node of the launch
    };
    struct Recorded {                // by the launch, and by nothing of the library's until it is concluded
        Event* event;
        std::unique_lock<host::Mutex> lock;
        Ref<Recording> point;        // NULL: none is needed
    };
    Promised* promise_of(const Event& event) noexcept;
    static ErrorPtr copy(Event& event, Recording& to, Stream& stream) noexcept;
    static ErrorPtr record_point(Recording& to, Stream& stream) noexcept;
    void end_recording() noexcept { recorded_.clear(); }

    std::vector<Promised> promised_;   // in the order of EventList
    std::vector<Recorded> recorded_;   // likewise
};

}  // namespace gpo
