#include "graph/restored_memory.h"

#include "core/struct_array.h"

namespace gpo {

namespace {

constexpr uint64_t kMostRanges = 4096;
constexpr uint64_t kAligned = 256;   // each copy in the memory

}  // namespace

RestoredMemory::RestoredMemory(Ref<Context> context, const FixedText<96>& owner, const gpo_buckets_options& options)
    : context_(std::move(context)), owner_(owner) {
    if (options.restored_count > kMostRanges)
        fail(GPO_INVALID_ARGUMENT, "options.restored_count is ", options.restored_count, ", and at most ", kMostRanges,
             " are possible");
    const StructArray<gpo_memory_range> ranges(options.restored, options.restored_stride, options.restored_count,
                                               "options.restored", "options.restored_stride");
    for (uint64_t i = 0; i < options.restored_count; ++i) {
        const gpo_memory_range range = ranges.read(i);
        const std::string name = text("options.restored[", i, "]");
        if (range.bytes == 0) fail(GPO_INVALID_ARGUMENT, name, ".bytes is 0");
        check_addresses(name.c_str(), range.address, range.bytes);
        pieces_.push_back({range.address, range.bytes, bytes_});
        if (__builtin_add_overflow(bytes_, range.bytes, &bytes_) || bytes_ > UINT64_MAX - kAligned)
            fail(GPO_INVALID_ARGUMENT, "options.restored: all bytes together don't fit into 64 bits");
        bytes_ = (bytes_ + kAligned - 1) / kAligned * kAligned;
    }
}

// The program may have freed the memory since the buckets were made.
void RestoredMemory::check_places() const {
    const DriverScope scope(*context_);
    for (size_t i = 0; i < pieces_.size(); ++i) {
        const std::string name = text("options.restored[", i, "]");
        const Place place = place_of(*context_, pieces_[i].address);
        if (place.pageable())
            fail(GPO_INVALID_ARGUMENT, name, ": ", hex(pieces_[i].address), " is neither device memory nor pinned");
        if (place.kind == GPO_MEMORY_DEVICE) check_room(name.c_str(), place, pieces_[i].address, pieces_[i].bytes);
    }
}

std::vector<gpo_copy> RestoredMemory::list(bool saves) const {
    std::vector<gpo_copy> copies;
    copies.reserve(pieces_.size());
    for (const Piece& piece : pieces_) {
        gpo_copy copy{};
        copy.struct_size = sizeof copy;
        copy.destination = saves ? at_ + piece.offset : piece.address;
        copy.source = saves ? piece.address : at_ + piece.offset;
        copy.bytes = piece.bytes;
        copies.push_back(copy);
    }
    return copies;
}

void RestoredMemory::put(Stream& stream, CopyBatch& copies) const {
    if (stream.submit(copies) != GPO_SUCCESS)
        fail(GPO_INVALID_STATE, "too much is held on ", stream.describe(), " for copies of options.restored");
}

void RestoredMemory::save(Stream& stream) {
    if (pieces_.empty()) return;
    check_places();
    if (!copies_) {
        auto made = make<OwnedMemory>(context_, owner_);
        at_ = made->allocate(bytes_);
        copies_ = std::move(made);
    }
    const std::vector<gpo_copy> there = list(true), back = list(false);
    back_.emplace(*context_, back.data(), sizeof back[0], back.size());
    CopyBatch saving(*context_, there.data(), sizeof there[0], there.size());
    put(stream, saving);
}

// Tries twice: a lack of memory in the driver may pass at once. Pieces that were copied back are copied again.
void RestoredMemory::restore(Stream& stream) {
    if (pieces_.empty()) return;
    try {
        put(stream, *back_);
    } catch (const std::exception&) {
        put(stream, *back_);
    }
}

}  // namespace gpo
