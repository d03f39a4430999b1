// The scanner: a thread for each context. The scanner finds *reached* marks, which the GPU has passed, and delivers
// their completions: an entry in a queue, or a call of CompletionHandler::on_completed (completion/mark.h).
//
// In each turn the scanner queries the oldest mark of each stream, then the newest: if the newest is reached, all marks
// before it are. If all marks of a stream were reached the last time, the scanner queries the newest first. In balanced
// mode the scanner leaves marks alone that are younger than some microseconds. completion/pace.h defines the words used
// here, and decides what the scanner does between two turns and when it sleeps. The scanner never takes a stream's
// submit lock. If a query's answer is neither "done" nor "not ready", the scanner fails the stream and all of its marks
// that aren't known to be reached.
//
// In balanced mode, if the driver doesn't notify, blocked threads take part: a blocked thread looks at the stream that
// it waits for, and delivers the completions of this stream's marks. Turns then exclude each other by a lock
// (turn_lock_), which is held during calls of the driver and the handlers. Only the scanner's thread ever waits for
// this lock. Other threads only try to take it, while they hold no other lock of the library.
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

    /// Makes a stream known to the scanner until the stream is destroyed, and starts the thread if none runs.
    /// Afterwards the scanner allocates no memory for the stream. Throws std::system_error if no thread can be started,
    /// and std::bad_alloc.
    void add(WatchedStream& stream);
    /// Announces a new mark, the last of `marks`; NULL: another reason to look. Never fails. Any thread. Costs a futex
    /// wake-up if the scanner would otherwise sleep on for long.
    void wake(const MarkQueue* marks = nullptr) noexcept;
    /// True if blocked threads look at streams themselves: in balanced mode, if the driver doesn't notify and spinning
    /// takes no time from kernels.
    bool shared() const noexcept { return shared_; }
    /// The permission for a blocked thread to look all the time. A scanner grants the permission to one thread at most.
    class Spinning {
    public:
        explicit Spinning(Scanner& scanner) noexcept
            : scanner_(scanner), granted_(scanner.shared() && !scanner.spinning_.exchange(true)) {}
        ~Spinning() {
            if (granted_) scanner_.spinning_.store(false, std::memory_order_release);
        }
        Spinning(const Spinning&) = delete;
        Spinning& operator=(const Spinning&) = delete;
        /// False: another thread has the permission, or shared() was false.
        bool granted() const noexcept { return granted_; }

    private:
        Scanner& scanner_;
        const bool granted_;
    };
    /// Looks at one stream once, and delivers the completions of reached marks. Does nothing while another thread has
    /// the scanner's turn, or the scanner's thread waits for it. The caller has a reference to the stream, is inside a
    /// driver scope, and holds no lock. Only if shared().
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
    /// Completes the reached marks among the oldest `size` marks. Returns the number of completed marks.
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
    uint64_t first_ticks_, first_now_;           // the same moment on both clocks, before all marks
    uint64_t ticks_ = 0, now_ = 0;               // the turn's time on both clocks
    CompletionQueue* unnotified_queue_ = nullptr;  // the queue of the entry put last, in this turn
    uint64_t unnotified_ = 0;                      // entries put there since its last notify(): these keep it alive
    host::Mutex lock_;
    struct Entry {
        Ref<WatchedStream> stream;
        Watched& watched;                        // the stream's
    };
    std::list<Entry> arrivals_;                  // under lock_
    std::list<Entry> streams_;                   // the scanner's own
    bool entered_ = false;                       // enter() has succeeded on the scanner's thread
    unsigned refusals_ = 0;                      // failures of enter() in a row
    bool asks_all_ = false;                      // this turn also queries marks that were made just now
    alignas(64) host::Mutex turn_lock_;          // if shared(): guards everything that a turn changes
    std::atomic<bool> turn_wanted_{false};       // the scanner's thread waits for turn_lock_
    std::atomic<bool> spinning_{false};
    alignas(64) driver::Listener listener_;      // from here on: fields that waking threads read
    std::atomic<bool> asleep_{false};            // a new mark must wake the scanner; false in short sleeps
    std::atomic<bool> arrived_{false}, stopping_{false};
    host::Thread thread_;
};

}  // namespace gpo
