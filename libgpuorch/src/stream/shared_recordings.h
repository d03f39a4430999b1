// The recordings of an event of several processes: words in pinned memory that all processes have mapped. A recording
// has a number, its *ticket*, and a word. The recording's stream writes the ticket to the word (cuStreamWriteValue32),
// other streams wait for the word (cuStreamWaitValue32), and the host reads it. Hence a process can end the waits for a
// recording whose process has died, which isn't possible with the driver's events.
//
// Every kSlots-th recording uses the same word. Tickets wrap around: comparisons use their difference.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "device/exported.h"
#include "stream/stream.h"

namespace gpo {

class SharedRecordings {
public:
    using Ticket = uint32_t;   // 0: there is no recording
    /// A process in a single word, so that reads are atomic: start 41 bits, number 22 bits.
    using Recorder = uint64_t;

    /// Pinned for the context's driver. Throws Failure, std::bad_alloc.
    static std::unique_ptr<SharedRecordings> create(Context& context);
    static std::unique_ptr<SharedRecordings> open(Context& context, const Exported& exported);
    /// Unmaps the words. No stream may use them any more: see idle(), keep_words().
    ~SharedRecordings();
    SharedRecordings(const SharedRecordings&) = delete;
    SharedRecordings& operator=(const SharedRecordings&) = delete;

    host::SharedFileName name() const noexcept { return file_.name(); }
    bool imported() const noexcept { return !file_.is_open(); }

    /// Puts the newest recording on the stream. Inside the stream's submission. Throws.
    void record(Stream& stream);
    /// Makes the stream wait for a recording unless the recording is complete. Inside the stream's submission. Throws.
    void wait(Stream& stream, Ticket ticket);

    Ticket newest() const noexcept { return words_->newest.load(std::memory_order_acquire); }
    /// Complete, or released after a loss.
    bool done(Ticket ticket) const noexcept {
        return ticket == 0 || reached(slot(ticket).done.load(std::memory_order_acquire), ticket);
    }
    Recorder recorder(Ticket ticket) const noexcept { return slot(ticket).recorder.load(std::memory_order_acquire); }
    /// Whether the process has ended. Takes some microseconds for another process.
    bool has_ended(Recorder recorder) const noexcept;
    /// The recording will never be complete. Known to all processes.
    void set_lost(Ticket ticket) noexcept { slot(ticket).lost.store(ticket, std::memory_order_release); }
    bool lost(Ticket ticket) const noexcept {
        return ticket != 0 && slot(ticket).lost.load(std::memory_order_acquire) == ticket;
    }
    /// Ends the waits for a lost recording.
    void release(Ticket ticket) noexcept;
    /// GPO_PEER_LOST.
    static ErrorPtr loss(const char* event, Recorder recorder) noexcept;

    /// Whether all recordings of this process are complete: none of its streams will write a word.
    bool idle() noexcept;
    /// Keeps the words mapped until the process ends: streams may use them for an unknown time.
    void keep_words() noexcept;

private:
    class Unmap;
    struct Slot {
        std::atomic<uint32_t> done;       // ticket of the newest complete recording
        std::atomic<uint32_t> lost;       // ticket of a lost recording
        std::atomic<uint64_t> recorder;   // process of the word's newest recording
    };
    static constexpr uint32_t kSlots = 1020;
    struct Words {
        std::atomic<uint32_t> tickets;    // number of tickets given out
        std::atomic<uint32_t> newest;     // newest ticket submitted to a driver
        uint64_t rest[7];
        Slot slots[kSlots];
    };
    static_assert(sizeof(Words) == 4 * 4096);

    SharedRecordings(Context& context);
    static bool reached(uint32_t done, Ticket ticket) noexcept { return static_cast<int32_t>(done - ticket) >= 0; }
    Slot& slot(Ticket ticket) const noexcept { return words_->slots[ticket % kSlots]; }
    CUdeviceptr word(Ticket ticket) const noexcept;
    void map(host::SharedFile& file);
    Ticket take(bool* after_another);
    void note_newest(Ticket ticket) noexcept;

    const Ref<Context> context_;
    const Recorder own_;
    host::SharedFile file_;            // open only in the process that made it
    std::unique_ptr<Unmap> unmap_;     // made with the mapping
    Words* words_ = nullptr;
    CUdeviceptr address_ = 0;          // of the words, for streams
    host::Mutex lock_;                 // guards under_way_; a leaf
    std::vector<Ticket> under_way_;    // recordings of this process
};

}  // namespace gpo
