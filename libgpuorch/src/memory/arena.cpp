#include "memory/arena.h"

#include <algorithm>

#include "memory/registry.h"

namespace gpo {

namespace {

constexpr uint64_t kSlabBytes = 64ull << 20;

SlabHeap::Options heap_options(const gpo_arena_options& options) {
    SlabHeap::Options out;
    out.max_bytes = options.max_bytes;
    out.slab_bytes = options.slab_bytes;
    if (!out.slab_bytes) out.slab_bytes = options.max_bytes ? std::min(options.max_bytes, kSlabBytes) : kSlabBytes;
    return out;
}

}  // namespace

// The waiting free of a claimed arena piece. Until the free, the piece counts as waiting for a stream.
class WaitingArenaFree final : public WaitingFree {
public:
    /// `after`: see Arena::free_unless_held. If the handle of a wrapped stream is destroyed meanwhile, the stream
    /// leaves a mark behind its work, and the free waits for this mark.
    WaitingArenaFree(Arena& arena, const SlabHeap::Piece& piece, Stream* after) noexcept
        : WaitingFree(*arena.context_, piece.address, piece.bytes), arena_(&arena), piece_(piece), after_(after) {
        if (after_) after_->marks().expect_mark();
        arena_->later_.count(piece_);
    }
    ~WaitingArenaFree() override {
        if (after_) after_->marks().end_expecting_mark();
    }
    FixedText<160> describe() const noexcept override {
        return fixed_text<160>("a piece of ", bytes(), " bytes of ", arena_->describe());
    }
    void free() noexcept override { arena_->later_.free_counted(piece_); }

private:
    Stream* behind() const noexcept override { return after_.get(); }
    const Ref<Arena> arena_;
    const SlabHeap::Piece piece_;
    const Ref<Stream> after_;
};

Arena::Arena(Ref<Context> context, const gpo_arena_options& options)
    : Object(context->runtime(), Type::arena, options.label), context_(context), holds_(Holds::of(context->runtime())),
      source_(*this, context, options.flags & GPO_ARENA_WRITE_COMBINED,
              options.flags & GPO_ARENA_NUMA ? options.numa_node : -1, options.flags & GPO_ARENA_NUMA),
      heap_(source_, Registry::of(context->runtime()).host, heap_options(options)), later_(*this, heap_) {
    refuse_beyond_slabs(options.initial_bytes);
    if (options.initial_bytes && !heap_.reserve(options.initial_bytes)) fail_full(options.initial_bytes);
}

void* Arena::allocate_slowly(uint64_t bytes, uint64_t alignment, uint32_t thread, bool tried) {
    if (bytes == 0) fail(GPO_INVALID_ARGUMENT, "bytes is 0");
    if (alignment == 0) alignment = kGranule;
    if ((alignment & (alignment - 1)) != 0 || alignment > SlabHeap::kMostAlignment)
        fail(GPO_INVALID_ARGUMENT, "alignment ", alignment, " is no power of two up to ", SlabHeap::kMostAlignment);
    if (!tried)
        if (void* memory = heap_.allocate(bytes, alignment, thread)) return memory;
    const host::NoCancel no_cancel;
    if (later_.waiting()) {
        later_.poll();
        if (void* memory = heap_.allocate(bytes, alignment, thread)) return memory;
    }
    refuse_beyond_slabs(bytes);
    if (void* memory = heap_.allocate_hard(bytes, alignment)) return memory;
    fail_full(bytes);
}

void Arena::refuse_beyond_slabs(uint64_t bytes) const {
    if (bytes > SlabHeap::kMostSlab && !heap_.max_bytes())
        fail(GPO_OUT_OF_MEMORY, describe(), " can't have ", bytes, " bytes in one piece: at most ",
             SlabHeap::kMostSlab);
}

void Arena::fail_full(uint64_t bytes) {
    const auto [totals, waiting, pieces] = later_.account();
    fail(GPO_LIMIT_EXCEEDED, describe(), " has no room for ", bytes, " bytes: of at most ", heap_.max_bytes(), ", ",
         totals.reserved, " are taken and ", totals.in_use, " in use, ", waiting,
         " of these waiting for streams or graphs");
}

void Arena::fail_free(const void* memory) {
    fail(GPO_INVALID_ARGUMENT, hex(reinterpret_cast<uint64_t>(memory)), " is not an allocated piece of ", describe());
}

void Arena::free_after(void* memory, Stream& stream) {
    if (&stream.runtime() != &runtime())
        fail(GPO_INVALID_HANDLE, stream.describe(), " is of another runtime than ", describe());
    free_unless_held(memory, &stream);
}

void Arena::free_unless_held(void* memory, Stream* after) {
    SlabHeap::Piece piece;
    if (!heap_.claim(reinterpret_cast<uint64_t>(memory), piece)) fail_free(memory);
    try {
        const auto waiting_free = [&] { return std::make_unique<WaitingArenaFree>(*this, piece, after); };
        if (holds_.defer(piece.address, piece.bytes, waiting_free)) return;
        if (after)
            later_.add(*after, piece);
        else
            heap_.release(piece);
    } catch (...) {
        heap_.unclaim(piece);
        throw;
    }
}

void Arena::trim(uint64_t keep_bytes) {
    later_.poll();
    heap_.trim(keep_bytes);
}

gpo_memory_statistics Arena::statistics() {
    later_.poll();
    gpo_memory_statistics out{};
    const auto [totals, waiting, pieces] = later_.account();
    out.waiting = waiting;
    out.slabs = totals.slabs;
    out.in_use = totals.in_use;
    out.reserved = totals.reserved;
    out.peak_in_use = totals.peak_in_use;
    out.peak_reserved = totals.peak_reserved;
    out.allocations = totals.allocations;
    out.frees = totals.frees;
    out.driver_calls = totals.source_calls;
    return out;
}

// Pieces that wait for streams keep the arena by themselves. All other pieces can't be freed any more, since the handle
// is destroyed: they keep the arena until shutdown.
void Arena::close() noexcept {
    later_.poll();
    const auto [totals, waiting, pieces] = later_.account();
    source_.give_elsewhere();
    if (totals.in_use > waiting) Registry::of(runtime()).keep_until_shutdown(*this, node_);
}

bool Arena::drain(uint64_t) noexcept {
    later_.poll();
    return true;
}

FixedText<128> Arena::leaks() noexcept {
    if (reported_.exchange(true)) return {};
    const auto [totals, waiting, pieces] = later_.account();
    if (totals.in_use <= waiting) return {};
    return fixed_text<128>(totals.in_use - waiting, " bytes in ", totals.allocations - totals.frees - pieces,
                           " pieces");
}

}  // namespace gpo
