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

    /// Its handle is gone, or the runtime shuts down: waits for what can't be reached any more are cancelled. In a
    /// shutdown the host's are in any case.
    void destroyed() noexcept override;
    void stop() noexcept override { destroyed(); }

private:
    friend class WaitTimeline;
    friend class SignalTimeline;
    friend class SignalReached;

    /// A signal that a stream has been given: an event recorded there.
    struct Point : Counted {
        explicit Point(Context& context) noexcept : context(&context) {}
        ~Point() override {
            if (event) context->give_events(false, &event, 1);
        }
        Ref<Context> context;
        CUevent event = nullptr;
    };
    void refuse(uint64_t value);                        // throws if it is not above all others
    void promise(uint64_t value, const Stream& stream); // likewise
    void withdraw(uint64_t value) noexcept;             // a promise that was not accepted
    void came(uint64_t value, Ref<Point> point) noexcept;
    void release_waiting() noexcept;
    void advance(uint64_t value) noexcept;
    ErrorPtr failure(gpo_status status, const char* message);
    void fail_with(ErrorPtr error) noexcept;
    static void flush(std::vector<Ref<Stream>> streams) noexcept;

    /// Who is to be notified of a value, in its order.
    struct Notice {
        Ref<CompletionHandler> target;
        uint64_t submitted_ns;
    };
    using Notices = std::multimap<uint64_t, Notice>;
    // Under lock_:
    void take_reached(Notices& due) noexcept;
    ErrorPtr never(uint64_t value) const noexcept;      // why a value that isn't reached won't be; NULL: it may be
    void take_never(Notices& due) noexcept;             // those who wait for such values, once it is closed
    void notify(Notices& notices, const ErrorPtr& error) noexcept;

    host::Mutex lock_;
    host::Condition changed_{host::Sleep::light};
    uint64_t reached_;
    struct Signal {
        const Stream* stream;                // that will signal. To be compared, not followed
        Ref<Point> point;                    // NULL while that is held itself
    };
    std::map<uint64_t, Signal> coming_;
    std::vector<Ref<Stream>> waiting_;       // streams held for a value that is not on the way
    Notices notices_;
    ErrorPtr failed_;
    const ErrorPtr cancelled_;               // made ahead: destroying must not need memory
    bool closed_ = false;                    // what no signal in coming_ reaches won't be reached: see withdraw()
};

template <>
struct TypeOf<Timeline> { static constexpr Type value = Type::timeline; };

}  // namespace gpo
