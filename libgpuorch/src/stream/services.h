// What the streams of a context share, as a stream and its parts know it: the scanner, the thread for learning streams,
// room for streams and graphs, blocking calls. The list of all streams is in stream/streams.h.
#pragma once

#include <functional>

#include "completion/scanner.h"
#include "core/deferred.h"
#include "device/context.h"
#include "stream/blocking_calls.h"
#include "stream/room.h"

namespace gpo {

class Stream;

class StreamServices : public ContextUsers {
public:
    explicit StreamServices(Context& context) noexcept
        : context_(context), blocking_calls_(*this, context), room_(context), scanner_(context) {}
    static StreamServices& of(Context& context) noexcept { return static_cast<StreamServices&>(context.users()); }

    Scanner& scanner() noexcept { return scanner_; }
    /// The thread that issues operations withheld for too long by learning streams; its errands take a short time only.
    /// Runs from the first such stream on.
    Errands& prompts() noexcept { return prompts_; }
    void start_prompts() {
        prompts_.start("gpo-learn");
        learns_.store(true, std::memory_order_release);
    }
    BlockingCalls& blocking_calls() noexcept { return blocking_calls_; }
    /// Room for streams and graphs that are made beside resident work.
    Room& room() noexcept { return room_; }
    /// The actions of when_all_pass that haven't run yet.
    Deferred& deferred() noexcept { return deferred_; }

    /// Streams announce themselves, for device-wide waits and deferred frees. Throws std::bad_alloc.
    virtual void add(Stream& stream) = 0;
    virtual void remove(Stream& stream) noexcept = 0;
    /// Takes over the caller's reference if it is the only reference and no mark is pending. Then no thread can mark
    /// the stream any more, and the caller destroys it.
    virtual bool claim_unused(Stream& stream) noexcept = 0;
    /// Called when a held stream has no handle left to cancel it by: if it is in an unbreakable cycle
    /// (stream/cycles.h), the errands fail the cycle's streams.
    virtual void look_for_cycles() noexcept = 0;

    /// Runs `action` on the runtime's errands' thread, inside a DriverScope, once all current work of this context's
    /// streams is done or the context is lost. `ok` false: the driver's objects no longer exist; don't touch them.
    /// `action` may serialise, and doesn't throw. Waits for captured and held streams too. Resident streams are
    /// skipped, except for `behind` (NULL: none).
    virtual void when_all_pass(std::function<void(bool ok)> action, Stream* behind = nullptr) = 0;
    /// Runs `action`, as when_all_pass does, once the current resident work is done. Nothing waits for the action.
    virtual void when_residents_pass(std::function<void(bool ok)> action) = 0;
    /// A resident stream with work that runs or may run; NULL: none. Asks the driver. With no lock held.
    virtual Ref<Object> resident_work() noexcept = 0;

protected:
    uint64_t waiting_calls() const noexcept { return blocking_calls_.waiting(); }
    bool learns() const noexcept { return learns_.load(std::memory_order_acquire); }

    Context& context_;   // the owner of this object

private:
    std::atomic<bool> learns_{false};
    Errands prompts_;
    Deferred deferred_;
    BlockingCalls blocking_calls_;
    Room room_;
    Scanner scanner_;   // its thread ends first
};

}  // namespace gpo
