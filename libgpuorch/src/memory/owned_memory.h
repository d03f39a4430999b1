// Memory that an object of the library owns for its users: they get addresses, and can't free the memory. After the
// last reference to the OwnedMemory is released, the memory is freed as soon as no graph refers to it any more and all
// work then on the runtime's streams is done.
//
// The object that frees a piece is allocated together with the piece. Releasing the memory therefore allocates nothing,
// and can't fail.
#pragma once

#include <list>

#include "device/context.h"
#include "memory/exported_memory.h"
#include "memory/holds.h"

namespace gpo {

class OwnedMemory final : public Counted {
public:
    /// `owner`: names the owner in the error if the user frees the memory.
    OwnedMemory(Ref<Context> context, const FixedText<96>& owner) : context_(std::move(context)), owner_(owner) {}

    // Any thread. Throw Failure, std::bad_alloc.
    uint64_t allocate(uint64_t bytes) { return allocate(bytes, false); }
    /// Another process's memory, kept as long. `exported` was read (read_exported).
    uint64_t import(const Exported& exported);
    /// Pinned for all devices, and mapped.
    void* allocate_host(uint64_t bytes) { return reinterpret_cast<void*>(allocate(bytes, true)); }

private:
    ~OwnedMemory() override;
    uint64_t allocate(uint64_t bytes, bool host);
    void keep(std::list<Holds::Ready>& made) noexcept;

    const Ref<Context> context_;
    const FixedText<96> owner_;
    host::Mutex lock_;
    std::list<Holds::Ready> frees_;  // under lock_
};

}  // namespace gpo
