// The streams of a context, with the scanner that watches their marks. Used by device-wide waits, deferred frees and
// shutdown. The streams end before the context does.
#pragma once

#include <functional>
#include <vector>

#include "completion/scanner.h"
#include "core/deferred.h"
#include "device/context.h"
#include "stream/blocking_calls.h"
#include "stream/room.h"
#include "stream/stream.h"

namespace gpo {

class Streams final : public ContextUsers {
public:
    explicit Streams(Context& context) noexcept
        : context_(context), blocking_calls_(*this, context), room_(context), scanner_(context) {}
    /// For Contexts::open.
    static std::unique_ptr<ContextUsers> create(Context& context) { return std::make_unique<Streams>(context); }
    static Streams& of(Context& context) noexcept { return static_cast<Streams&>(context.users()); }

    Scanner& scanner() noexcept { return scanner_; }
    /// The thread that issues operations withheld for too long by learning streams; its errands take a short time only.
    /// Runs from the first such stream on.
    Errands& prompts() noexcept { return prompts_; }
    void start_prompts() {
        prompts_.start("gpo-learn");
        learns_.store(true, std::memory_order_release);
    }
    /// Issues the operations withheld by learning streams. Called before an object that they may need changes or is
    /// destroyed. A stream fails if there is no memory for that. With no lock held, and not by the scanner.
    void settle_withheld() noexcept;
    /// Issues the withheld operations of all contexts.
    static void settle_withheld(Runtime& runtime) noexcept;

    /// Makes the driver notice that the frees on idle streams are done (Stream::show_frees), in all contexts. With no
    /// lock held.
    static void show_frees(Runtime& runtime) noexcept;

    /// Streams announce themselves, for device-wide waits and deferred frees. Throws std::bad_alloc.
    void add(Stream& stream);
    void remove(Stream& stream) noexcept;
    /// All announced streams. Throws std::bad_alloc.
    std::vector<Ref<Stream>> all() const;
    /// The streams that a device-wide wait waits for: all but resident streams. Throws std::bad_alloc.
    std::vector<Ref<Stream>> passing() const;
    /// A reference to the stream; NULL if it isn't an announced stream any more.
    Ref<Stream> find(const Stream* stream) const noexcept;
    /// An empty hidden stream, idle or new, for watching a point that isn't the library's. Throws.
    Ref<Stream> idle();
    /// Takes over the caller's reference if it is the only reference and no mark is pending. Then no thread can mark
    /// the stream any more, and the caller destroys it.
    bool claim_unused(Stream& stream) noexcept;

    /// Runs `action` on the runtime's errands' thread, inside a DriverScope, once all current work of this context's
    /// streams is done or the context is lost. `ok` false: the driver's objects no longer exist; don't touch them.
    /// `action` may serialise, and doesn't throw. Waits for captured and held streams too. Resident streams are
    /// skipped, except for `behind` (NULL: none).
    void when_all_pass(std::function<void(bool ok)> action, Stream* behind = nullptr);
    /// Whether work of a failed stream is on the GPU; skips resident streams. Called by the errands' thread.
    bool failed_work_runs() noexcept;
    /// Runs `action`, as when_all_pass does, once the current resident work is done. Nothing waits for the action.
    void when_residents_pass(std::function<void(bool ok)> action);
    /// A resident stream with work that runs or may run; NULL: none. Asks the driver. With no lock held.
    Ref<Stream> resident_work() noexcept;
    BlockingCalls& blocking_calls() noexcept { return blocking_calls_; }
    /// Room for streams and graphs that are made beside resident work.
    Room& room() noexcept { return room_; }
    /// The actions of when_all_pass that haven't run yet.
    Deferred& deferred() noexcept { return deferred_; }
    /// Called when a held stream has no handle left to cancel it by: if it is in an unbreakable cycle
    /// (stream/cycles.h), the errands fail the cycle's streams.
    void look_for_cycles() noexcept;

    // --- for the context ---
    void context_lost(bool crashed) noexcept override;
    void add_counters(gpo_statistics& statistics) const override;
    void cancel_held() noexcept override;
    bool drain_marks(uint64_t deadline) noexcept override;
    void finish() noexcept override;

private:
    /// Calls `visit`, under no lock, for each stream for which `wanted` (called under a lock) is true, until `visit`
    /// returns false. Streams may be added and removed meanwhile. Allocates no memory.
    template <class Wanted, class Visit>
    bool each(Wanted wanted, Visit visit) noexcept;

    Context& context_;   // the owner of this object

    /// Work after the loss of the context: fails the held operations, which nothing else would do, and after a crash
    /// probes the other devices, which a crash takes along.
    class Aftermath final : public Errand {
    public:
        explicit Aftermath(Streams& streams) noexcept : streams_(streams) {}
        void run() noexcept override;
        bool crashed = false;

    private:
        Streams& streams_;   // a reference to the context is held while it is posted
    } aftermath_{*this};
    class CycleSearch final : public Errand {
    public:
        explicit CycleSearch(Streams& streams) noexcept : streams_(streams) {}
        void run() noexcept override;
        std::atomic<bool> posted{false};

    private:
        Streams& streams_;   // as in Aftermath
    } cycle_search_{*this};

    mutable host::Mutex streams_lock_;
    std::vector<Stream*> streams_;                  // under streams_lock_, as are:
    std::vector<Ref<Stream>> last_streams_;         // reserved for all of streams_, for the aftermath
    gpo_statistics past_{};                         // of streams that were destroyed

    host::Mutex idle_lock_;                         // taken before streams_lock_
    std::vector<Ref<Stream>> hidden_streams_;       // under idle_lock_

    std::atomic<bool> learns_{false};
    Errands prompts_;

    Deferred deferred_;
    BlockingCalls blocking_calls_;
    Room room_;
    Scanner scanner_;                               // its thread ends first
};

/// A hidden stream borrowed for work that the caller waits for, so that the stream is idle again afterwards.
class BorrowedStream {
public:
    /// Throws.
    explicit BorrowedStream(Context& context) : stream_(Streams::of(context).idle()) {}
    ~BorrowedStream() { stream_->unclaim(); }
    BorrowedStream(const BorrowedStream&) = delete;
    BorrowedStream& operator=(const BorrowedStream&) = delete;
    Stream* operator->() const noexcept { return stream_.get(); }

private:
    const Ref<Stream> stream_;
};

}  // namespace gpo
