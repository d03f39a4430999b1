// Events of the user's.
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

    gpo_status record(Stream& stream);
    gpo_status query();
    gpo_status wait(uint64_t deadline);
    gpo_status notify(CompletionQueue& queue, uint64_t user_data);
    gpo_status then(const Ref<CompletionHandler>& target);
    static gpo_status elapsed(Event& start, Event& end, int64_t* nanoseconds);

    /// The number of the newest recording, be it held or failed. Throws Failure where there is none, or where it is one
    /// of a capture.
    uint64_t newest_recording(const char* what);
    bool holds(uint64_t recording) const noexcept override {
        return issued_.load(std::memory_order_acquire) == recording &&
               begun_.load(std::memory_order_acquire) == recording;
    }

    /// Makes a stream wait for the event's last recording.
    gpo_status put_wait(Stream& stream);
    /// It won't be recorded any more.
    void set_last() noexcept { last_ = true; }

    void destroyed() noexcept override;
    void stop() noexcept override { interrupted_.store(true, std::memory_order_release); }

private:
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
    [[noreturn]] void refuse_capture(const char* what) const;
    void refuse_unusable(const char* what);
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
    bool pending();                          // the newest recording is held
    Ref<Recording> snapshot();               // a recording of the library's that is reached with the newest

    CUevent native_ = nullptr;               // of several processes: never recorded
    const Ref<Context> context_;
    const uint32_t flags_;
    std::unique_ptr<SharedRecordings> shared_;   // of several processes; else NULL
    Ref<Watch> watch_;                           // likewise
    std::atomic<uint64_t> looked_{0};            // likewise: when at the process of a recording
    std::atomic<bool> recorded_{false}, interrupted_{false};
    std::atomic<uint64_t> capture_{0};       // Stream::capture of the last recording
    std::atomic<uint64_t> begun_{0};  // recordings, held ones included: who records it on two streams at once may
    std::atomic<uint64_t> issued_{0};        // count two as one. The number of the one that the driver's event has
    bool last_ = false;
    std::atomic<bool> watched_{false};  // newest_ isn't NULL, or is just being made: who records anew has to say so
    host::Mutex newest_lock_;                // of newest_; a leaf, but for one driver call, which records it (stream.h)
    Ref<Recording> newest_;  // of the newest recording, if it was held on its stream, or a held stream waits for it
    host::Mutex snapshot_lock_;              // of whoever makes it for the latter; taken first
};

template <>
struct TypeOf<Event> { static constexpr Type value = Type::event; };

}  // namespace gpo
