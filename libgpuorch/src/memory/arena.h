// Arenas of pinned memory: a slab heap (heap.h) over the driver, frees that wait for streams (free_later.h), and
// statistics.
#pragma once

#include "gpuorch/memory.h"
#include "memory/free_later.h"
#include "memory/heap.h"
#include "memory/holds.h"
#include "memory/registry.h"
#include "memory/slabs.h"

namespace gpo {

class Arena final : public Object {
public:
    /// Throws Failure.
    Arena(Ref<Context> context, const gpo_arena_options& options);

    /// `thread` is the calling thread's number.
    void* allocate(uint64_t bytes, uint64_t alignment, uint32_t thread) {
        if (bytes != 0 && alignment == 0) [[likely]]
            if (void* memory = heap_.allocate(bytes, kGranule, thread)) [[likely]] return memory;
        return allocate_slowly(bytes, alignment, thread, bytes != 0 && alignment == 0);
    }
    void free(void* memory, uint32_t thread) {
        if (holds_.any()) [[unlikely]] return free_unless_held(memory, nullptr);
        if (!heap_.free(reinterpret_cast<uint64_t>(memory), thread)) [[unlikely]] fail_free(memory);
    }
    void free_after(void* memory, Stream& stream);
    void trim(uint64_t keep_bytes);
    gpo_memory_statistics statistics();

    void close() noexcept override;
    bool drain(uint64_t deadline) noexcept override;
    FixedText<128> leaks() noexcept override;

private:
    friend class WaitingArenaFree;
    /// `after`: the stream that the free is ordered behind, or NULL.
    void free_unless_held(void* memory, Stream* after);
    /// `tried`: heap_.allocate has failed already.
    void* allocate_slowly(uint64_t bytes, uint64_t alignment, uint32_t thread, bool tried);
    void refuse_beyond_slabs(uint64_t bytes) const;
    [[noreturn]] void fail_full(uint64_t bytes);
    [[noreturn]] void fail_free(const void* memory);

    const Ref<Context> context_;
    Holds& holds_;
    DriverSlabs source_;
    SlabHeap heap_;
    FreeLater later_;
    Registry::Nodes node_ = Registry::make_node();
    std::atomic<bool> reported_{false};   // the leak report has named the arena
};

template <>
struct TypeOf<Arena> { static constexpr Type value = Type::arena; };

}  // namespace gpo
