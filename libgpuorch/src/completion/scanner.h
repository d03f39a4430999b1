// One thread per context that finds out which marks have been reached, which means that the GPU has passed them, and
// delivers what they promise: a queue's entry, or a call of CompletionHandler::on_completed (completion/mark.h).
//
// In each turn the scanner asks for the oldest mark of each stream, then for the newest: when the newest is reached,
// all marks before it are. Where all marks of a stream were reached the last time, it asks for the newest first. In
// balanced mode it leaves marks alone that are younger than some microseconds. What it does between two turns, and
// when it sleeps, is decided in completion/pace.h, whose words it uses. The scanner never takes a stream's submit
// lock. An answer other than "done" or "not ready" fails all marks of the stream.
//
// In balanced mode, where the driver doesn't notify, a thread that is blocked takes part: it looks at the stream that
// it waits for, and delivers what the stream's marks promise, as the scanner's thread does. Turns then exclude each
// other by a lock, which the scanner holds while it calls the driver and the handlers. Only the scanner's thread ever
// waits for that lock, and other threads try it only while they hold no other lock of the library's.
#pragma once

#include <atomic>
#include <list>

#include "completion/watched.h"
#include "driver/driver.h"
#include "gpuorch/completion.h"
#include "host/host.h"

namespace gpo {

class CompletionQueue;
class Context;

class Scanner {
public:
    explicit Scanner(Context& context) noexcept;
    ~Scanner();

    /// Makes a stream known, which stays so until it goes, and starts the thread if there is none: from here on the
    /// scanner needs no memory for it. Throws std::system_error if no thread can be had, std::bad_alloc.
    void add(WatchedStream& stream);
    /// There is a new mark, the last of these; or something else to look at. Never fails; any thread. Costs a futex
    /// wake if the thread would sleep on for long.
    void wake(const MarkQueue* marks = nullptr) noexcept;
    /// Whether threads that are blocked look themselves: in balanced mode, where the driver doesn't notify and spinning
    /// takes no time from kernels.
    bool shared() const noexcept { return shared_; }
    /// A blocked thread that looks all the time. There is one at most of each scanner.
    class Spinning {
    public:
        explicit Spinning(Scanner& scanner) noexcept
            : scanner_(scanner), granted_(scanner.shared() && !scanner.spinning_.exchange(true)) {}
        ~Spinning() {
            if (granted_) scanner_.spinning_.store(false, std::memory_order_release);
        }
        Spinning(const Spinning&) = delete;
        Spinning& operator=(const Spinning&) = delete;
        /// False: another thread does.
        bool granted() const noexcept { return granted_; }

    private:
        Scanner& scanner_;
        const bool granted_;
    };
    /// Looks at one stream once, and delivers what has been reached, unless another thread is looking. The caller has
    /// a reference to the stream, is inside a driver scope, and holds no lock. Only where shared().
    void look(WatchedStream& stream) noexcept;
    /// Ends the thread once nothing is pending.
    void stop() noexcept;

private:
    void run() noexcept;
    void take_arrivals() noexcept;
    pace::Turn look_at_all(bool notifies, bool asks_all) noexcept;
    void note_pending(Watched& watched, pace::Turn& turn) const noexcept;
    pace::State rest(const pace::Decision& next, uint32_t seen, uint64_t now) noexcept;
    void begin_listening() noexcept;
    /// Completes what has been reached of the oldest `size` marks; how many that were.
    size_t scan(WatchedStream& stream, Watched& watched, size_t size) noexcept;
    class Returns;
    uint64_t deliver(WatchedStream& stream, Watched& watched, Mark mark, const ErrorPtr& failure, uint64_t now,
                     Returns& returns) noexcept;
    void put(CompletionQueue& queue, const gpo_completion& entry, const ErrorPtr& error) noexcept;
    void notify() noexcept;
    size_t count_reached(WatchedStream& stream, Watched& watched, size_t size, CUresult& result) noexcept;
    size_t count_old(MarkQueue& marks, size_t size, uint64_t youth) const noexcept;
    uint64_t time_of(uint64_t ticks) const noexcept;
    uint64_t begin_of_wait(Watched& watched) const noexcept;
    uint64_t begin_of_work(Watched& watched) const noexcept;
    uint64_t blocked(uint64_t now) const noexcept;
    void read_clocks() noexcept;
    CUresult ask(WatchedStream& stream, Watched& watched, Mark& mark) noexcept;
    CUresult ask_for_capture(WatchedStream& stream) noexcept;
    bool any_to_see() const noexcept;
    void enter() noexcept;
    void stop_listening() noexcept;

    Context& context_;
    const bool shared_;
    uint64_t first_ticks_, first_now_;           // one moment on both clocks, before all marks
    uint64_t ticks_ = 0, now_ = 0;               // the turn's look at both
    CompletionQueue* unnotified_queue_ = nullptr;  // the queue of the entry put last, in this turn
    uint64_t unnotified_ = 0;                      // entries put into it and not notified of: they keep it alive
    host::Mutex lock_;
    struct Entry {
        Ref<WatchedStream> stream;
        Watched& watched;                        // the stream's
    };
    std::list<Entry> arrivals_;                  // under lock_
    std::list<Entry> streams_;                   // the scanner's own
    bool entered_ = false;                       // the thread's: its context is current
    unsigned refusals_ = 0;                      // by the driver, to make it so
    bool asks_all_ = false;                      // in this turn: for marks too that were made just now
    alignas(64) host::Mutex turn_lock_;          // where shared(): what a turn changes
    std::atomic<bool> turn_wanted_{false};       // by the scanner's thread
    std::atomic<bool> spinning_{false};
    alignas(64) driver::Listener listener_;      // from here on what those who wake it look at
    std::atomic<bool> asleep_{false};            // a new mark has to wake it. Who naps wakes by itself soon enough
    std::atomic<bool> arrived_{false}, stopping_{false};
    host::Thread thread_;
};

}  // namespace gpo
