// Timelines. Their lock is innermost: nothing is called under it.
#pragma once

#include <map>
#include <vector>

#include "gpuorch/timeline.h"
#include "stream/stream.h"

namespace gpo {

class Timeline final : public Object {
public:
    Timeline(Runtime& runtime, uint64_t value, const char* label);

    void signal(uint64_t value);
    void fail(gpo_status status, const char* message);
    uint64_t value();
    gpo_status wait(uint64_t value, uint64_t deadline);
    /// `target->on_completed` is called once the value is reached or can't be any more; perhaps before this returns.
    void then(uint64_t value, Ref<CompletionHandler> target);

    gpo_status put_wait(Stream& stream, uint64_t value);
    gpo_status put_signal(Stream& stream, uint64_t value);

    /// Called when the handle is destroyed, and when the runtime shuts down. Cancels waits for values that can't be
    /// reached any more. A shutdown also cancels all waits of host threads.
    void destroyed() noexcept override;
    void stop() noexcept override { destroyed(); }

private:
    friend class WaitTimeline;
    friend class SignalTimeline;
    friend class SignalReached;

    /// A submitted signal: an event recorded on the signalling stream.
    struct Point : Counted {
        explicit Point(Context& context) noexcept : context(&context) {}
        ~Point() override {
            if (event) context->give_events(false, &event, 1);
        }
        Ref<Context> context;
        CUevent event = nullptr;
    };
    void refuse(uint64_t value);                        // throws if the value can't be signalled
    void promise(uint64_t value, const Stream& stream); // throws if the value can't be signalled
    void withdraw(uint64_t value) noexcept;             // a promise whose operation was not accepted
    void came(uint64_t value, Ref<Point> point) noexcept;
    void release_waiting() noexcept;
    void advance(uint64_t value) noexcept;
    ErrorPtr failure(gpo_status status, const char* message);
    void fail_with(ErrorPtr error) noexcept;
    static void flush(std::vector<Ref<Stream>> streams) noexcept;

    /// A handler to call when a value is reached; the map is in the order of the values.
    struct Notice {
        Ref<CompletionHandler> target;
        uint64_t submitted_ns;
    };
    using Notices = std::multimap<uint64_t, Notice>;
    // Under lock_:
    void take_reached(Notices& due) noexcept;
    ErrorPtr never(uint64_t value) const noexcept;      // why an unreached value won't be reached; NULL: it may be
    void take_never(Notices& due) noexcept;             // notices for such values, on a closed timeline
    void notify(Notices& notices, const ErrorPtr& error) noexcept;

    host::Mutex lock_;
    host::Condition changed_{host::Sleep::light};
    uint64_t reached_;
    struct Signal {
        const Stream* stream;                // the signalling stream: compare, don't dereference
        Ref<Point> point;                    // NULL while the signal is held
    };
    std::map<uint64_t, Signal> coming_;
    std::vector<Ref<Stream>> waiting_;       // streams held for a value without a submitted signal
    Notices notices_;
    ErrorPtr failed_;
    const ErrorPtr cancelled_;               // made ahead: destroying must not need memory
    bool closed_ = false;                    // only signals in coming_ can still raise the value: see withdraw()
};

template <>
struct TypeOf<Timeline> { static constexpr Type value = Type::timeline; };

}  // namespace gpo
