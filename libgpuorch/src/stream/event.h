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

    void record(Stream& stream);
    gpo_status query();
    gpo_status wait(uint64_t deadline);
    gpo_status notify(CompletionQueue& queue, uint64_t user_data);
    static int64_t elapsed(Event& start, Event& end, gpo_status* status);

    /// Whether the last recording is still held on its stream: waits for this event hold their stream too.
    bool pending() const noexcept { return pending_.load(std::memory_order_acquire) != 0; }

private:
    friend class RecordEvent;
    ~Event() override;
    const Ref<Context> context_;
    const uint32_t flags_;
    CUevent native_ = nullptr;
    std::atomic<uint32_t> pending_{0};     // recordings that are held
    std::atomic<bool> recorded_{false};
    host::Mutex lock_;
    Ref<Stream> stream_;                   // of the last recording, under lock_: whose failure it shares
    std::vector<Ref<Stream>> waiting_;     // streams held for a pending recording, under lock_
};

template <>
struct TypeOf<Event> { static constexpr Type value = Type::event; };

}  // namespace gpo
