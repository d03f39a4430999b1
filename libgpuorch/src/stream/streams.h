// The streams of a context. Used by device-wide waits, deferred frees and shutdown. The streams end before the context
// does.
#pragma once

#include <vector>

#include "stream/services.h"
#include "stream/stream.h"

namespace gpo {

class Streams final : public StreamServices {
public:
    explicit Streams(Context& context) noexcept : StreamServices(context) {}
    ~Streams() override { scanner().stop(); }
    /// For Contexts::open.
    static std::unique_ptr<ContextUsers> create(Context& context) { return std::make_unique<Streams>(context); }
    static Streams& of(Context& context) noexcept { return static_cast<Streams&>(context.users()); }

    /// Issues the operations withheld by learning streams. Called before an object that they may need changes or is
    /// destroyed. A stream fails if there is no memory for that. With no lock held, and not by the scanner.
    void settle_withheld() noexcept;
    /// Issues the withheld operations of all contexts.
    static void settle_withheld(Runtime& runtime) noexcept;

    /// Makes the driver notice that the frees on idle streams are done (Stream::show_frees), in all contexts. With no
    /// lock held.
    static void show_frees(Runtime& runtime) noexcept;

    void add(Stream& stream) override;
    void remove(Stream& stream) noexcept override;
    /// All announced streams. Throws std::bad_alloc.
    std::vector<Ref<Stream>> all() const;
    /// The streams that a device-wide wait waits for: all but resident streams. Throws std::bad_alloc.
    std::vector<Ref<Stream>> passing() const;
    /// A reference to the stream; NULL if it isn't an announced stream any more.
    Ref<Stream> find(const Stream* stream) const noexcept;
    /// An empty hidden stream, idle or new, for watching a point that isn't the library's. Throws.
    Ref<Stream> idle();
    bool claim_unused(Stream& stream) noexcept override;
    void look_for_cycles() noexcept override;

    void when_all_pass(std::function<void(bool ok)> action, Stream* behind = nullptr) override;
    void when_residents_pass(std::function<void(bool ok)> action) override;
    Ref<Object> resident_work() noexcept override;
    /// Whether work of a failed stream is on the GPU; skips resident streams. Called by the errands' thread.
    bool failed_work_runs() noexcept;

    // --- for the context ---
    void context_lost(bool crashed) noexcept override;
    void add_counters(gpo_statistics& statistics) const override;
    bool cancel_held(uint64_t deadline) noexcept override;
    bool drain_marks(uint64_t deadline) noexcept override;
    void finish() noexcept override;

private:
    /// Calls `visit`, under no lock, for each stream for which `wanted` (called under a lock) is true, until `visit`
    /// returns false. Streams may be added and removed meanwhile. Allocates no memory.
    template <class Wanted, class Visit>
    bool each(Wanted wanted, Visit visit) noexcept;

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
