// The streams of a context, with the scanner that watches their marks: what a device-wide wait, a deferred free and a
// shutdown go through. They end before the context does.
#pragma once

#include <functional>
#include <vector>

#include "completion/scanner.h"
#include "core/deferred.h"
#include "device/context.h"
#include "stream/blocking_calls.h"
#include "stream/stream.h"

namespace gpo {

class Streams final : public ContextUsers {
public:
    explicit Streams(Context& context) noexcept
        : context_(context), blocking_calls_(*this, context), scanner_(context) {}
    /// For Contexts::open.
    static std::unique_ptr<ContextUsers> create(Context& context) { return std::make_unique<Streams>(context); }
    static Streams& of(Context& context) noexcept { return static_cast<Streams&>(context.users()); }

    Scanner& scanner() noexcept { return scanner_; }
    /// A thread that issues what streams that learn withhold for too long, and does nothing that may take long. It runs
    /// from the first such stream on.
    Errands& prompts() noexcept { return prompts_; }
    void start_prompts() {
        prompts_.start("gpo-learn");
        learns_.store(true, std::memory_order_release);
    }
    /// Before something changes or goes that operations may need which streams that learn withhold: these are issued.
    /// A stream for which there is no memory for that fails. With no lock held, and not by the scanner.
    void settle_withheld() noexcept;
    /// The same of all contexts.
    static void settle_withheld(Runtime& runtime) noexcept;

    /// The driver gets to know of all frees on idle streams that they are done (Stream::show_frees), for all contexts.
    /// With no lock held.
    static void show_frees(Runtime& runtime) noexcept;

    /// Streams announce themselves, for device-wide waits and deferred frees. Throws std::bad_alloc.
    void add(Stream& stream);
    void remove(Stream& stream) noexcept;
    /// All that were announced. Throws std::bad_alloc.
    std::vector<Ref<Stream>> all() const;
    /// Of these, the ones that a wait for the whole device waits for: all but resident streams. Throws std::bad_alloc.
    std::vector<Ref<Stream>> passing() const;
    /// NULL if it is none of these any more.
    Ref<Stream> find(const Stream* stream) const noexcept;
    /// A hidden stream with nothing on it, for watching a point that isn't one of ours: one that is idle, or a new one.
    /// Throws.
    Ref<Stream> idle();
    /// Takes the caller's reference to a stream, if it is the only one and no mark is pending: then nobody can mark it
    /// any more, and the caller destroys it.
    bool claim_unused(Stream& stream) noexcept;

    /// Runs `action` on the runtime's errands' thread once all that is on this context's streams now is done, or the
    /// context is lost (`ok` false: the driver's objects are gone already, don't touch them). `action` may serialise,
    /// and doesn't throw; it runs inside a DriverScope. Works while streams are captured or held: those are waited for
    /// as well. Resident streams are left out, but for `behind`, if that is one (NULL: none is waited for).
    void when_all_pass(std::function<void(bool ok)> action, Stream* behind = nullptr);
    /// Whether work of a stream that has failed is on the GPU, resident streams left out. By the errands' thread.
    bool failed_work_runs() noexcept;
    /// The same as when_all_pass, once the resident work is done that there is now; nobody waits for the action.
    void when_residents_pass(std::function<void(bool ok)> action);
    /// A resident stream on which something runs, or may; NULL if there is none. Asks the driver. With no lock held.
    Ref<Stream> resident_work() noexcept;
    BlockingCalls& blocking_calls() noexcept { return blocking_calls_; }
    /// Those actions, until they have run.
    Deferred& deferred() noexcept { return deferred_; }
    /// A stream that nobody can cancel any more is held: if it waits for work that is held behind it, the errands fail
    /// that.
    void look_for_cycles() noexcept;

    // --- for the context ---
    void context_lost(bool crashed) noexcept override;
    void add_counters(gpo_statistics& statistics) const override;
    void cancel_held() noexcept override;
    bool drain_marks(uint64_t deadline) noexcept override;
    void finish() noexcept override;

private:
    /// Calls `visit`, under no lock, for one after the other of the streams that are `wanted`, which is asked under a
    /// lock; until it returns false. Streams may come and go meanwhile. Takes no memory.
    template <class Wanted, class Visit>
    bool each(Wanted wanted, Visit visit) noexcept;

    Context& context_;   // which owns this

    /// On a lost context: nobody else would tell those who wait for what is held; and a crash takes the driver's other
    /// devices along.
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
        Streams& streams_;   // likewise
    } cycle_search_{*this};

    mutable host::Mutex streams_lock_;
    std::vector<Stream*> streams_;                  // under streams_lock_, as are:
    std::vector<Ref<Stream>> last_streams_;         // room for all of streams_, for the aftermath
    gpo_statistics past_{};                         // of streams that were destroyed

    host::Mutex idle_lock_;                         // taken before streams_lock_
    std::vector<Ref<Stream>> hidden_streams_;       // under idle_lock_

    std::atomic<bool> learns_{false};
    Errands prompts_;

    Deferred deferred_;
    BlockingCalls blocking_calls_;
    Scanner scanner_;                               // its thread ends first
};

/// A stream of the library's own, for something that is waited for: it is idle again afterwards.
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
