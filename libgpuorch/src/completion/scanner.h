// One thread per context that finds out which marks have been reached.
//
// It asks for the newest mark of each stream first: when that one is reached, all before it are. In latency mode it asks all
// the time while marks are pending; in balanced mode after a sixteenth of the mark's age, at least 10 us, at most 1 ms. With
// nothing pending for 1 ms it parks, and the next mark wakes it. It never takes a stream's submit lock and holds no lock
// while it calls the driver. An answer other than "done" or "not ready" fails all marks of the stream.
#pragma once

#include <atomic>
#include <vector>

#include "completion/mark.h"
#include "host/host.h"

namespace gpo {

class Context;
class Stream;

class Scanner {
public:
    explicit Scanner(Context& context) noexcept : context_(context) {}
    ~Scanner();

    /// Makes sure that the thread runs. Throws Failure(GPO_LIMIT_EXCEEDED) if none can be had.
    void start();
    /// A stream that had no marks has one now. Never fails; any thread.
    void wake() noexcept;
    /// Called when a stream gets its first mark ever; it stays known until it goes.
    void add(Stream& stream);
    /// Stops the thread. What is pending then is failed with `error`.
    void stop(ErrorPtr error) noexcept;

private:
    void run() noexcept;
    bool scan(Stream& stream, uint64_t now, uint64_t& next_look) noexcept;
    void complete(Stream& stream, const ErrorPtr& error, uint64_t now) noexcept;

    Context& context_;
    host::Mutex lock_;
    std::vector<Ref<Stream>> arrivals_;   // under lock_
    std::vector<Ref<Stream>> streams_;    // the scanner's own
    std::atomic<uint32_t> signal_{0};     // wait word
    std::atomic<bool> parked_{false}, running_{false}, stopping_{false};
    ErrorPtr stop_error_;
    host::Thread thread_;
};

}  // namespace gpo
