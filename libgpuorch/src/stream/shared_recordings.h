// What the processes of one event know of its recordings beside the driver: which process made the newest one, and
// whether that process has ended before the recording was complete. The driver doesn't tell: a recording that nobody
// completes any more looks like one that takes long.
#pragma once

#include <atomic>
#include <memory>

#include "device/exported.h"

namespace gpo {

class SharedRecordings {
public:
    /// Throws Failure, std::bad_alloc.
    static std::unique_ptr<SharedRecordings> create();
    static std::unique_ptr<SharedRecordings> open(const Exported& exported);
    ~SharedRecordings();
    SharedRecordings(const SharedRecordings&) = delete;
    SharedRecordings& operator=(const SharedRecordings&) = delete;

    host::SharedFileName name() const noexcept { return file_.name(); }
    bool imported() const noexcept { return !file_.is_open(); }

    /// This process is about to record the event.
    void note() noexcept { words_->recorder.store(own_, std::memory_order_release); }
    /// Whether the process of the newest recording has ended, or was seen to have: for a recording that isn't complete.
    /// Takes some microseconds where another process has made it.
    bool recorder_has_ended() const noexcept;
    /// The newest recording will never be complete. For all processes, until the event is recorded anew.
    void set_lost() noexcept;
    bool lost() const noexcept { return words_->recorder.load(std::memory_order_acquire) & kLost; }
    /// GPO_PEER_LOST.
    ErrorPtr loss(const char* event) const noexcept;

private:
    // A process in one word, so that no other process reads half of it: start 41 bits, number 22 bits, lost 1 bit.
    static constexpr uint64_t kLost = 1;
    struct Words {
        std::atomic<uint64_t> recorder;   // of the newest recording; 0: there is none
    };
    SharedRecordings();
    static host::Process process_of(uint64_t word) noexcept;

    const uint64_t own_;
    host::SharedFile file_;   // open only where it was made
    Words* words_ = nullptr;
};

}  // namespace gpo
