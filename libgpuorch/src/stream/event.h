// Events of the user's.
//
// An event knows whether it has a recording that must be waited for, whoever made that: a stream, the launch of a graph
// (stream/launched_events.h), or, of an event of several processes, another process. What others may record without the
// library, by the native handle of the event or of a graph that records it, only the driver knows: it is asked.
//
// The newest recording is in the driver's event, as a rule. It is elsewhere where it is held, where it has failed, and
// where the launch of a graph that was held has recorded the driver's event later than that: then `newest_` is it.
#pragma once

#include <list>

#include "device/context.h"
#include "gpuorch/event.h"
#include "stream/shared_recordings.h"
#include "stream/stream.h"

namespace gpo {

class Recording;

class Event final : public Beginning {
public:
    Event(Ref<Context> context, uint32_t flags, const char* label);
    /// Another process's. `exported` was read (read_exported).
    Event(Ref<Context> context, const Exported& exported, const char* label);
    Exported export_event();
    /// Throws Failure(GPO_NOT_SUPPORTED) of an event of several processes.
    void require_own(const char* what) const;

    Context& context() const noexcept { return *context_; }
    CUevent native() const noexcept override { return native_; }
    bool timing() const noexcept { return flags_ & GPO_EVENT_TIMING; }
    /// Becomes nodes of the graph where it is recorded, or waited for, on a stream in capture.
    bool external() const noexcept { return flags_ & GPO_EVENT_EXTERNAL; }
    /// From now on the library doesn't see all recordings of it.
    void note_recorded_by_others() noexcept { recorded_by_others_.store(true, std::memory_order_release); }

    gpo_status record(Stream& stream);
    gpo_status query();
    gpo_status wait(uint64_t deadline);
    gpo_status notify(CompletionQueue& queue, uint64_t user_data);
    gpo_status then(const Ref<CompletionHandler>& target);
    static gpo_status elapsed(Event& start, Event& end, int64_t* nanoseconds);

    /// The number of the newest recording, be it held or failed. Throws Failure where there is none, or where it is one
    /// of a capture.
    uint64_t newest_recording();
    bool holds(uint64_t recording) const noexcept override {
        return issued_.load(std::memory_order_acquire) == recording &&
               begun_.load(std::memory_order_acquire) == recording;
    }

    /// Makes a stream wait for the event's last recording.
    gpo_status put_wait(Stream& stream);
    /// The same before the launch of a graph with a node that waits for the event, where that node doesn't do.
    gpo_status put_launch_wait(Stream& stream);
    /// It won't be recorded any more.
    void set_last() noexcept { last_ = true; }

    void destroyed() noexcept override;
    void stop() noexcept override { interrupted_.store(true, std::memory_order_release); }

private:
    friend class LaunchedEvents;
    friend class RecordEvent;
    friend class WaitEvent;
    class Watch;
    class Wait;
    using Waits = std::list<Ref<Wait>>;
    ~Event() override;
    gpo_status submit_wait(Stream& stream, SharedRecordings::Ticket ticket);
    bool lost(SharedRecordings::Ticket ticket);
    ErrorPtr loss(SharedRecordings::Ticket ticket) const;
    SharedRecordings::Ticket newest_ticket();
    Waits prepare_watch(Stream& stream, SharedRecordings::Ticket ticket);
    void watch(Waits& made) noexcept;
    /// The newest recording was made in a capture that has ended: it will never be complete. Under no lock.
    bool of_ended_capture();
    [[noreturn]] void refuse_capture();
    [[noreturn]] void refuse_capture(bool ended) const;
    void refuse_unusable();
    void refuse_captured_by_others();
    Ref<const Counted> owner_of_nodes() const noexcept;
    void add_node(Stream& stream, uint64_t capture, bool wait);
    bool recorded_by_others() const noexcept { return recorded_by_others_.load(std::memory_order_acquire); }
    bool never_recorded() const noexcept {
        return begun_.load(std::memory_order_acquire) == 0 && !shared_ && !recorded_by_others();
    }
    bool driver_has_no_recording() const noexcept;
    [[noreturn]] void fail_never_recorded() const;
    uint64_t begin_recording() noexcept {
        const uint64_t number = begun_.load(std::memory_order_relaxed) + 1;
        begun_.store(number, std::memory_order_release);
        return number;
    }
    template <class Mark>
    gpo_status watch(Mark&& mark, ErrorPtr& failed);
    Outcome fail_at_once(const ErrorPtr& failed) noexcept;
    Ref<Recording> set_newest(Ref<Recording> recording) noexcept;   // under newest_lock_; gives the one before
    Ref<Recording> newest();
    void end_overwriting() noexcept;         // a launch that was held has recorded the event, or never will
    bool pending();                          // the newest recording is held
    Ref<Recording> snapshot();               // a recording of the library's that is reached with the newest
    void copy_native_to(Recording& to);
    struct Place {
        CUevent native;                      // that has the newest recording, unless that is held or has failed
        Ref<Recording> recording;            // newest_
    };
    Place newest_place();

    CUevent native_ = nullptr;               // of several processes: never recorded
    const Ref<Context> context_;
    const uint32_t flags_;
    std::unique_ptr<SharedRecordings> shared_;   // of several processes; else NULL
    Ref<Watch> watch_;                           // likewise
    std::atomic<uint64_t> looked_{0};            // likewise: when at the process of a recording
    std::atomic<bool> interrupted_{false}, recorded_by_others_{false};
    std::atomic<uint64_t> capture_{0};       // Stream::capture of the last recording
    std::atomic<const Stream*> captured_on_{nullptr};   // and its stream: to be compared, not followed
    std::atomic<uint64_t> begun_{0};  // recordings, held ones included: who records it on two streams at once may
    std::atomic<uint64_t> issued_{0};        // count two as one. The number of the one that the driver's event has
    bool last_ = false;
    std::atomic<bool> watched_{false};  // newest_ isn't NULL, or is just being made, or launches that are held will
                                        // record the event: who records anew has to say so
    host::Mutex native_lock_;   // held by who records, or copies, the driver's event while it is watched. Inside it
                                // are driver calls, and the submit lock of a stream that nothing else is on
    host::Mutex newest_lock_;                // of newest_; a leaf
    Ref<Recording> newest_;  // of the newest recording, if it was held on its stream, or a held stream waits for it, or
                             // overwriting_
    std::atomic<uint32_t> overwriting_{0};   // launches that are held and will record the driver's event. Written under
                                             // newest_lock_
};

template <>
struct TypeOf<Event> { static constexpr Type value = Type::event; };

}  // namespace gpo
