// Memory that a warm-up of buckets leaves unchanged: copied before the warm-up, and copied back after it.
//
// The copies are in the library's own memory, which is taken for the first warm-up and used for all warm-ups before
// release(), one after the other on one stream. Everything that copying back needs is made before the warm-up.
#pragma once

#include <optional>
#include <vector>

#include "gpuorch/buckets.h"
#include "memory/copies.h"
#include "memory/owned_memory.h"

namespace gpo {

class RestoredMemory {
public:
    /// For `options.restored`. `owner`: named as the owner of the copies. Throws Failure(GPO_INVALID_ARGUMENT).
    RestoredMemory(Ref<Context> context, const FixedText<96>& owner, const gpo_buckets_options& options);

    // Put copies on a stream. Throw Failure, std::bad_alloc.
    void save(Stream& stream);
    /// Once after each save().
    void restore(Stream& stream);
    /// Gives the memory of the copies back, when all work is done that is on the runtime's streams now.
    void release() noexcept { copies_ = nullptr; }

private:
    struct Piece {
        uint64_t address, bytes, offset;   // in the copies
    };
    void check_places() const;
    void put(Stream& stream, CopyBatch& copies) const;
    std::vector<gpo_copy> list(bool saves) const;

    const Ref<Context> context_;
    const FixedText<96> owner_;
    std::vector<Piece> pieces_;
    uint64_t bytes_ = 0;            // of all copies
    Ref<OwnedMemory> copies_;       // NULL: not taken
    uint64_t at_ = 0;               // of copies_
    std::optional<CopyBatch> back_;
};

}  // namespace gpo
