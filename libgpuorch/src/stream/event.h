// Events of the user's.
#pragma once

#include "device/context.h"
#include "gpuorch/event.h"
#include "stream/stream.h"

namespace gpo {

class Recording;

class Event final : public Object {
public:
    Event(Ref<Context> context, uint32_t flags, const char* label);

    Context& context() const noexcept { return *context_; }
    CUevent native() const noexcept { return native_; }
    bool timing() const noexcept { return flags_ & GPO_EVENT_TIMING; }

    gpo_status record(Stream& stream);
    gpo_status query();
    gpo_status wait(uint64_t deadline);
    gpo_status notify(CompletionQueue& queue, uint64_t user_data);
    gpo_status then(Ref<Reached> target);
    static gpo_status elapsed(Event& start, Event& end, int64_t* nanoseconds);

    /// Makes a stream wait for the event's last recording.
    gpo_status put_wait(Stream& stream);
    /// It won't be recorded any more.
    void set_last() noexcept { last_ = true; }

    void destroyed() noexcept override { interrupted_.store(true, std::memory_order_release); }
    void stop() noexcept override { destroyed(); }

private:
    friend class RecordEvent;
    friend class WaitEvent;
    ~Event() override;
    void refuse_unusable(const char* what);
    template <class Mark>
    gpo_status watch(Mark&& mark);
    Ref<Recording> set_newest(Ref<Recording> recording) noexcept;   // under newest_lock_; gives the one before
    Ref<Recording> newest();
    bool pending();                          // the newest recording is held
    Ref<Recording> snapshot();               // a recording of the library's that is reached with the newest

    CUevent native_ = nullptr;
    const Ref<Context> context_;
    const uint32_t flags_;
    std::atomic<bool> recorded_{false}, interrupted_{false};
    std::atomic<uint64_t> capture_{0};       // Stream::capture of the last recording
    bool last_ = false;
    std::atomic<bool> watched_{false};       // newest_ isn't NULL, or is just being made: who records anew has to say so
    host::Mutex newest_lock_;                // of newest_; a leaf, but for one driver call, which records it (stream.h)
    Ref<Recording> newest_;                  // of the newest recording, if it was held on its stream, or a held stream waits for it
    host::Mutex snapshot_lock_;              // of whoever makes it for the latter; taken first
};

template <>
struct TypeOf<Event> { static constexpr Type value = Type::event; };

}  // namespace gpo
