// Frees of arena pieces that wait for a stream. Frees are collected in batches, with one mark on the stream for each
// batch.
//
// Words. Each stream has a *line* of batches. At most one batch of a line is *open*: it takes pieces. Batches *under
// way* have a mark on the stream; the oldest is first. A batch is closed and marked when it is full or large, or when
// no batch of its stream is under way. A single free is therefore marked at once, and a burst of frees needs one mark
// for thirty-two pieces. If all batches under way have completed, the errands' thread marks a batch that is still open.
//
// When a mark completes, its batch is freed, with all batches of the line that were closed before: the mark is behind
// them too. Work before a failed mark may still run: the pieces are then freed when all streams of the device have
// passed. On a lost device nothing runs, and pieces are freed at once.
#pragma once

#include <array>
#include <unordered_map>
#include <list>

#include "completion/mark.h"
#include "memory/heap.h"
#include "stream/stream.h"

namespace gpo {

class FreeLater {
public:
    /// `owner`: the arena that contains this object. Batches keep the arena alive.
    FreeLater(Object& owner, SlabHeap& heap) noexcept : owner_(owner), heap_(heap) {}

    /// Frees a claimed piece when the stream has passed. If it throws std::bad_alloc, the caller still has the piece.
    void add(Stream& stream, const SlabHeap::Piece& piece);
    /// Frees the pieces that streams have passed by now, without waiting for the scanner. Asks the driver once per
    /// stream.
    void poll() noexcept;
    /// Counts a claimed piece as waiting, whose free waits for something other than a stream. free_counted() frees it.
    void count(const SlabHeap::Piece& piece) noexcept;
    void free_counted(const SlabHeap::Piece& piece) noexcept;
    /// Waiting bytes.
    uint64_t waiting() const noexcept { return waiting_.load(std::memory_order_acquire); }
    /// A consistent snapshot. The waiting bytes are part of the heap's bytes in use; the user has the rest.
    struct Account {
        SlabHeap::Totals totals;
        uint64_t waiting = 0;   // bytes
        uint64_t pieces = 0;    // waiting
    };
    Account account() noexcept;

private:
    static constexpr unsigned kPieces = 32;
    static constexpr uint64_t kLarge = 4 << 20;
    static constexpr size_t kLines = 64;   // from this many lines on, add() removes empty lines

    class Batch final : public CompletionHandler, public Errand {
    public:
        Batch(FreeLater& of, Stream& stream) noexcept : of_(of), owner_(&of.owner_), stream_(&stream) {}
        void on_completed(const Outcome& outcome) noexcept override;
        void run() noexcept override;

        FreeLater& of_;
        const Ref<Object> owner_;
        const Ref<Stream> stream_;
        uint64_t bytes = 0;
        unsigned count = 0;
        std::array<SlabHeap::Piece, kPieces> pieces;
    };
    // Batches of a stream. Moving a batch between lists takes no memory.
    using Batches = std::list<Ref<Batch>>;
    struct Line {
        Batches open;        // at most one: being filled
        Batches under_way;   // waiting for their marks
    };

    void mark(const Ref<Batch>& batch) noexcept;
    void mark_open(Stream& stream) noexcept;
    void free_through(Stream& stream, const Batch* last) noexcept;
    void wait_for_all(Ref<Batch> batch) noexcept;
    static Ref<Batch> close(Line& line) noexcept;

    Object& owner_;
    SlabHeap& heap_;
    std::atomic<uint64_t> waiting_{0};
    host::Mutex lock_;   // the heap's locks are taken inside
    std::unordered_map<const Stream*, Line> lines_;   // under lock_
    uint64_t pieces_ = 0;                             // waiting; under lock_
};

}  // namespace gpo
