// Handles of the software GPU: what a CUstream, a CUevent or a CUcontext is here.
//
// A handle is not an address but kind, generation and slot index, packed into a value that no processor would accept
// as a pointer. A single table look-up detects a stale, foreign or made-up handle. Slots never move and are freed
// only with the table, so an object's atomics may be read while another thread destroys the object.
//
//     bits 0..3    zero: no handle equals CU_STREAM_LEGACY (1) or CU_STREAM_PER_THREAD (2)
//     bits 4..27   slot index
//     bits 28..55  generation
//     bits 56..59  kind, never zero
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

namespace gpo::softgpu {

enum class HandleKind : uint8_t { context = 1, stream, event, module, function, pool, graph, graph_node, graph_exec };

/// Base of the objects in a table.
struct Handled {
    std::atomic<uint32_t> word{0};   // generation << 1 | live
    uint32_t slot = 0;
    uintptr_t handle = 0;            // while live
    Handled* next_free = nullptr;

    template <class Native>
    Native as() const noexcept { return reinterpret_cast<Native>(handle); }
};

/// create, retire and recycle are called with the machine's lock held; find takes no lock.
template <class T>
class HandleTable {
public:
    HandleTable(HandleKind kind, uint32_t first_generation) : kind_(kind), first_generation_(first_generation) {}
    HandleTable(const HandleTable&) = delete;
    HandleTable& operator=(const HandleTable&) = delete;
    ~HandleTable() {
        for (auto& chunk : chunks_) delete chunk.load(std::memory_order_relaxed);
    }

    /// A live object in its constructed or recycled state. Throws std::bad_alloc.
    T* create() {
        if (!free_) grow();
        T* object = static_cast<T*>(free_);
        free_ = object->next_free;
        const uint32_t generation = object->Handled::word.load(std::memory_order_relaxed) >> 1;
        object->handle = uintptr_t(kind_) << 56 | uintptr_t(generation) << 28 | uintptr_t(object->slot) << 4;
        object->Handled::word.store(generation << 1 | 1, std::memory_order_release);
        return object;
    }

    /// Invalidates the handle. The object stays until recycle().
    void retire(T* object) noexcept {
        const uint32_t generation = object->Handled::word.load(std::memory_order_relaxed) >> 1;
        object->Handled::word.store(((generation + 1) & kGenerations) << 1, std::memory_order_release);
    }

    void recycle(T* object) noexcept {
        object->next_free = free_;
        free_ = object;
    }

    T* find(const void* handle) const noexcept {
        T* object = at(handle);
        if (!object) return nullptr;
        const uint32_t generation = uint32_t(reinterpret_cast<uintptr_t>(handle) >> 28) & kGenerations;
        return object->Handled::word.load(std::memory_order_acquire) == (generation << 1 | 1) ? object : nullptr;
    }

    /// True for a handle, live or stale, that this table could have made.
    bool plausible(const void* handle) const noexcept { return at(handle) != nullptr; }

    template <class F>
    void for_each(F&& visit) {
        for_all([&](T& object) {
            if (object.Handled::word.load(std::memory_order_acquire) & 1) visit(object);
        });
    }
    /// Retired and free ones too.
    template <class F>
    void for_all(F&& visit) {
        for (uint32_t i = 0; i < size_.load(std::memory_order_acquire); ++i)
            visit((*chunks_[i / kChunk].load(std::memory_order_acquire))[i % kChunk]);
    }

private:
    static constexpr uint32_t kChunk = 64, kChunks = 16384, kGenerations = (1u << 28) - 1;
    using Chunk = std::array<T, kChunk>;

    T* at(const void* handle) const noexcept {
        const uintptr_t bits = reinterpret_cast<uintptr_t>(handle);
        if (bits >> 56 != uintptr_t(kind_) || (bits & 15)) return nullptr;
        const uint32_t index = uint32_t(bits >> 4) & 0xffffff;
        if (index >= size_.load(std::memory_order_acquire)) return nullptr;
        return &(*chunks_[index / kChunk].load(std::memory_order_acquire))[index % kChunk];
    }

    void grow() {
        const uint32_t size = size_.load(std::memory_order_relaxed);
        if (size / kChunk == kChunks) throw std::bad_alloc();
        Chunk* chunk = new Chunk();
        chunks_[size / kChunk].store(chunk, std::memory_order_release);
        for (uint32_t i = kChunk; i-- > 0;) {
            (*chunk)[i].slot = size + i;
            (*chunk)[i].Handled::word.store((first_generation_ & kGenerations) << 1, std::memory_order_relaxed);
            recycle(&(*chunk)[i]);
        }
        size_.store(size + kChunk, std::memory_order_release);
    }

    const HandleKind kind_;
    const uint32_t first_generation_;   // differs each time the software GPU is opened, so that old handles stay stale
    std::atomic<uint32_t> size_{0};
    std::array<std::atomic<Chunk*>, kChunks> chunks_{};
    Handled* free_ = nullptr;
};

}  // namespace gpo::softgpu
