// Events of the user's.
#pragma once

#include "device/context.h"
#include "gpuorch/event.h"
#include "stream/stream.h"

namespace gpo {

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

    void destroyed() noexcept override { interrupted_.store(true, std::memory_order_release); }
    void stop() noexcept override { destroyed(); }

private:
    friend class RecordEvent;
    friend class WaitEvent;
    ~Event() override;
    void refuse_unusable(const char* what);
    template <class Mark>
    gpo_status watch(Mark&& mark);

    CUevent native_ = nullptr;
    const Ref<Context> context_;
    const uint32_t flags_;
    std::atomic<uint32_t> pending_{0};       // recordings that are held on their streams
    std::atomic<Stream*> held_on_{nullptr};  // the stream of the newest of them
    std::atomic<bool> recorded_{false}, interrupted_{false};
    std::atomic<uint64_t> capture_{0};       // Stream::capture of the last recording
    host::Mutex lock_;
    std::vector<Ref<Stream>> waiting_;       // streams held for a pending recording, under lock_
    ErrorPtr dropped_;                       // the last recording was dropped with this, under lock_
};

template <>
struct TypeOf<Event> { static constexpr Type value = Type::event; };

}  // namespace gpo
