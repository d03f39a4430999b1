// The program's events.
//
// An event knows whether it has a recording that must be waited for. Streams record events, and so do launches of
// graphs (stream/launched_events.h). If several processes *share* an event, other processes record the event, too. The
// program may also record an event without the library, by the native handle of the event or of a graph that records
// it. Only the driver knows such recordings, and is asked for them.
//
// Usually the driver's event has the newest recording. In three cases `newest_` has it instead: the recording is held;
// the recording has failed; or the launch of a graph that was held has recorded the driver's event later than the
// newest recording.
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
    /// Imports another process's event. `exported` was read by read_exported.
    Event(Ref<Context> context, const Exported& exported, const char* label);
    Exported export_event();
    /// Throws Failure(GPO_NOT_SUPPORTED) if several processes share the event.
    void require_own(const char* what) const;

    Context& context() const noexcept { return *context_; }
    CUevent native() const noexcept override { return native_; }
    bool timing() const noexcept { return flags_ & GPO_EVENT_TIMING; }
    /// True if recordings of the event, and waits for it, become nodes of the graph on a captured stream.
    bool external() const noexcept { return flags_ & GPO_EVENT_EXTERNAL; }
    /// Notes that from now on the event may be recorded without the library.
    void note_recorded_by_others() noexcept { recorded_by_others_.store(true, std::memory_order_release); }

    /// Gives out the native handle: from now on the event may be recorded without the library, and a recording of it in
    /// a template is part of a capture of the driver. Throws Failure.
    void expose();
    /// The number of the recording or the capture that has the newest recording; 0: none. Any thread.
    uint64_t capture() const noexcept { return capture_.load(std::memory_order_acquire); }
    /// The newest recording, if it lies in the direct recording `from`, lies in the capture `to` now, on a stream.
    void move_recording(uint64_t from, uint64_t to, const Stream& on) noexcept;

    gpo_status record(Stream& stream);
    gpo_status query();
    gpo_status wait(uint64_t deadline);
    gpo_status notify(CompletionQueue& queue, uint64_t user_data);
    gpo_status then(const Ref<CompletionHandler>& target);
    static gpo_status elapsed(Event& start, Event& end, int64_t* nanoseconds);

    /// The number of the newest recording, even if the recording is held or has failed. Throws Failure if there is no
    /// recording, or if the newest was made in a capture.
    uint64_t newest_recording();
    /// The newest recording as the beginning of a stream's GPU time. Throws Failure: as newest_recording() does, or for
    /// an event of another device or runtime, one without timing, or a stream that is being captured.
    Stream::Since beginning_on(Stream& stream);
    bool holds(uint64_t recording) const noexcept override {
        return issued_.load(std::memory_order_acquire) == recording &&
               begun_.load(std::memory_order_acquire) == recording;
    }

    /// Makes a stream wait for the event's last recording.
    gpo_status put_wait(Stream& stream);
    /// Called before the launch of a graph with a node that waits for the event. Makes the stream wait for the event's
    /// last recording, unless the node's own wait is enough.
    gpo_status put_launch_wait(Stream& stream);
    /// Notes that the event won't be recorded any more.
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
    /// True if the newest recording was made in a capture that has ended, and will never be complete. Under no lock.
    bool of_ended_capture();
    [[noreturn]] void refuse_capture();
    [[noreturn]] void refuse_capture(bool ended) const;
    void refuse_unusable();
    void refuse_captured_by_others();
    Ref<const Counted> owner_of_nodes() const noexcept;
    bool recordable_directly(const Stream& stream) const noexcept;
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
    Ref<Recording> set_newest(Ref<Recording> recording) noexcept;   // under newest_lock_; returns the previous
    Ref<Recording> newest();
    void end_overwriting() noexcept;         // a held launch has recorded the event, or never will
    bool pending();                          // true if the newest recording is held
    Ref<Recording> snapshot();               // a recording by the library, which completes with the newest
    void copy_native_to(Recording& to);
    struct Place {
        CUevent native;                      // has the newest recording, unless that is held or has failed
        Ref<Recording> recording;            // newest_
    };
    Place newest_place();

    CUevent native_ = nullptr;               // never recorded if processes share the event
    const Ref<Context> context_;
    const uint32_t flags_;
    std::unique_ptr<SharedRecordings> shared_;   // set only if several processes share the event
    Ref<Watch> watch_;                           // set only with shared_
    std::atomic<uint64_t> looked_{0};            // with shared_: time of the last check of a recording process
    std::atomic<bool> interrupted_{false}, recorded_by_others_{false};
    std::atomic<uint64_t> capture_{0};       // Stream::capture of the last recording
    std::atomic<const Stream*> captured_on_{nullptr};   // and its stream: compare, don't dereference
    std::atomic<uint64_t> begun_{0};         // recordings, held ones included; two at the same time may count once
    std::atomic<uint64_t> issued_{0};        // number of the driver event's recording
    bool last_ = false;
    std::atomic<bool> watched_{false};  // newest_ is set or being made, or held launches will record the event: every
                                        // new recording has to replace newest_
    host::Mutex native_lock_;   // held while a watched event's driver event is recorded or copied. Under this lock the
                                // driver is called, and the submit lock of an otherwise unused stream is taken
    host::Mutex newest_lock_;                // of newest_; a leaf
    Ref<Recording> newest_;  // set if the newest recording was held, or a held stream waits for this recording, or
                             // overwriting_ isn't 0
    std::atomic<uint32_t> overwriting_{0};   // held launches that will record the driver's event. Written under
                                             // newest_lock_
};

template <>
struct TypeOf<Event> { static constexpr Type value = Type::event; };

}  // namespace gpo
