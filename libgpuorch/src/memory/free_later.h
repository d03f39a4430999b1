// Frees of arena pieces that wait for a stream. Frees are collected in batches, with one mark on the stream for each
// batch.
//
// Words. Each stream has a *line* of batches. At most one batch of a line is *open*: it takes pieces. Batches *under
// way* have a mark on the stream; the oldest is first. A batch is closed and marked when it is full or large, or when
// no batch of its stream is under way. So a single free is marked at once, and a burst of frees needs one mark for
// thirty-two pieces. If all batches under way have completed and one is still open, the errands' thread marks that one.
//
// When a mark completes, its batch is freed, and so are all batches of the line that were closed before: the mark is
// behind them too. A mark that failed says nothing about the work before it, which may still run; then the pieces are
// freed when all streams of the device have passed. On a lost device nothing runs, so pieces are freed at once.
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
    /// `owner` is the arena that this is part of; batches keep it alive.
    FreeLater(Object& owner, SlabHeap& heap) noexcept : owner_(owner), heap_(heap) {}

    /// Frees a claimed piece when the stream has passed. Throws std::bad_alloc, and then the piece is still the
    /// caller's.
    void add(Stream& stream, const SlabHeap::Piece& piece);
    /// Frees what streams have passed by now, without waiting for the scanner to see it. Asks the driver, once a
    /// stream.
    void poll() noexcept;
    /// A claimed piece whose free waits for something other than a stream: the piece counts with those that wait, until
    /// free_counted() frees it.
    void count(const SlabHeap::Piece& piece) noexcept;
    void free_counted(const SlabHeap::Piece& piece) noexcept;
    /// Bytes that wait.
    uint64_t waiting() const noexcept { return waiting_.load(std::memory_order_acquire); }
    /// The heap's, and what waits, of one moment: that is part of what is in use, and the rest is the user's.
    struct Account {
        SlabHeap::Totals totals;
        uint64_t waiting = 0;   // bytes
        uint64_t pieces = 0;
    };
    Account account() noexcept;

private:
    static constexpr unsigned kPieces = 32;
    static constexpr uint64_t kLarge = 4 << 20;
    static constexpr size_t kLines = 64;   // beyond so many, lines with nothing in them are swept

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
    // Of a stream. Batches go from list to list, which takes no memory.
    using Batches = std::list<Ref<Batch>>;
    struct Line {
        Batches open;        // one at most: being filled
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
    uint64_t pieces_ = 0;                             // that wait; likewise
};

}  // namespace gpo
