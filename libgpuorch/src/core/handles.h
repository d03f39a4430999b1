// Handles: 64-bit numbers that stand for objects.
//
//     63            40 39      35 34            20 19             0
//     runtime's tag 24 | type 5  | generation 15  | slot index 20
//
// A *slot* holds one object at a time. Its generation grows with each object; a slot whose generation would wrap is
// retired. Slots never move and are never freed. When a runtime has ended, its table is used again by another runtime
// with another tag. Any number can therefore be looked up safely.
//
// Completion queues outlive their runtime. A queue stays in its slot, under the same handle, while the next runtime
// uses the table. Each runtime's use of the table is a *lease*: the table counts only objects of the current lease.
//
// A *pin* prevents a slot's object from being closed while a call uses it. Every thread has a *ledger*, in which no
// other thread writes, and notes its pinned slots there. Threads that use one object at once don't contend, and a pin
// costs no locked instruction.
//
// Why that is safe. Destroy clears the slot's handle, then makes every running thread pass a memory barrier
// (membarrier(2), a few microseconds), then searches the ledgers. A pinning thread notes the slot first and then reads
// the slot's handle. Hence either the thread sees that the handle is cleared, or destroy sees the note. An unpinning
// thread removes the note first and then checks whether the slot was destroyed. Hence either the thread closes the
// object itself, or destroy found no note. Without membarrier, each pin and unpin contains a full fence.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include "core/object.h"
#include "gpuorch/types.h"
#include "host/fence.h"

namespace gpo {

namespace handle {

inline constexpr unsigned kIndexBits = 20, kGenerationBits = 15, kTypeBits = 5, kTagBits = 24;
struct alignas(32) Slot {                // half a cache line
    std::atomic<uint64_t> handle{0};     // of the object in it; 0: empty or being closed
    Object* object = nullptr;            // one reference; valid while pinned
    uint32_t index = 0;
    std::atomic<uint16_t> generation{0};
    std::atomic<uint8_t> last_type{0};   // of the newest object, to tell stale from mistyped
    // The generation, with kDestroyed set if the object was destroyed and is not being closed yet. The generation
    // prevents a thread that found one object unused from closing the slot's next object.
    std::atomic<uint32_t> closing{0};
    static constexpr uint32_t kDestroyed = 1u << 31;
};

class Table;

using Note = std::atomic<Slot*>;  // a line of a ledger, for the pinning thread alone

// The notes of one thread. Ledgers are never freed: when a thread ends, another thread takes over its ledger. Ledgers
// lie at multiples of their size: a note's address leads to its ledger, and no two share a cache line.
inline constexpr size_t kLedgerBytes = 1024;
struct alignas(kLedgerBytes) Ledger {
    static constexpr unsigned kNotes = 64;
    static Ledger& of(Note& note) noexcept {
        return *reinterpret_cast<Ledger*>(reinterpret_cast<uintptr_t>(&note) & ~(kLedgerBytes - 1));
    }
    unsigned used = 0;                 // only for the thread: notes from here on are free, and the note before is not
    uint32_t tag = 0;                  // only for the thread: tag of the handle that was pinned last
    std::atomic<unsigned> reach{0};    // number of notes that were ever used: destroy searches these
    uint32_t number = 0;               // number of ledgers made before
    Ledger* next = nullptr;
    std::atomic<bool> taken{true};
    Note notes[kNotes];  // the first notes share a cache line with the fields above; most calls need no others
};
static_assert(sizeof(Ledger) == kLedgerBytes);

namespace detail {
extern constinit thread_local Ledger* t_ledger;

// A hash table of the threads' ledgers. Its key is the thread pointer, the register that thread-local variables are
// addressed by. Every exported call needs its thread's ledger, and a thread-local variable would cost a call to the C
// library each time, because this library may be loaded with dlopen.
struct Place {
    std::atomic<uintptr_t> thread{0};   // 0: free
    std::atomic<Ledger*> ledger{nullptr};
};
inline constexpr unsigned kPlaceBits = 10;
extern Place g_places[1u << kPlaceBits];
inline constexpr uintptr_t kNoPointer = UINTPTR_MAX;   // on other processors
inline uintptr_t thread_pointer() noexcept {
    uintptr_t pointer = kNoPointer;
#if defined(__x86_64__) && defined(__LP64__)
    asm("mov %%fs:0, %0" : "=r"(pointer));
#elif defined(__aarch64__)
    asm("mrs %0, tpidr_el0" : "=r"(pointer));
#endif
    return pointer;
}
/// The thread's place in the table. Another thread with the same hash may occupy it.
inline Place& place_of(uintptr_t thread) noexcept {
    return g_places[(uint64_t{thread} * 0x9e37'79b9'7f4a'7c15u) >> (64 - kPlaceBits)];
}
/// The calling thread's ledger, or NULL.
inline Ledger* own_ledger() noexcept {
    const uintptr_t thread = thread_pointer();
    const Place& place = place_of(thread);
    if (place.thread.load(std::memory_order_relaxed) == thread) [[likely]]
        return place.ledger.load(std::memory_order_relaxed);
    return t_ledger;
}

Slot* try_pin(uint64_t handle, Type type, Ledger* ledger, Note** note) noexcept;
Slot* pin_slowly(uint64_t handle, Type type, Note** note, gpo_status* status) noexcept;
void finish(Slot& slot) noexcept;
}  // namespace detail

/// Closes the object if it was destroyed meanwhile and this was the last pin.
inline void unpin(Slot& slot, Note& note) noexcept {
    note.store(nullptr, std::memory_order_release);
    Ledger& ledger = Ledger::of(note);
    // Pins end in any order, mostly the newest first.
    while (ledger.used > 0 && !ledger.notes[ledger.used - 1].load(std::memory_order_relaxed)) --ledger.used;
    host::light_fence();
    if (slot.closing.load(std::memory_order_acquire) & Slot::kDestroyed) [[unlikely]] detail::finish(slot);
}

/// The pinned slot, or NULL with GPO_INVALID_HANDLE, GPO_STALE_HANDLE, or GPO_OUT_OF_MEMORY (a thread's first call, or
/// its 64th pin at once) in `status`. `type` none: any.
inline Slot* pin(uint64_t handle, Type type, Note** note, gpo_status* status) noexcept;

/// A small number of the calling thread, unique among running threads; reused once the thread has ended. kNoThread if
/// the thread has never pinned a handle nor taken a number.
inline constexpr uint32_t kNoThread = UINT32_MAX;
inline uint32_t thread_number() noexcept {
    const Ledger* ledger = detail::own_ledger();
    return ledger ? ledger->number : kNoThread;
}
/// Like thread_number(), but gives the thread a number if it has none. kNoThread if there is no memory.
uint32_t take_thread_number() noexcept;

/// Tag of the runtime whose handle the calling thread pinned last, since set_last_tag(0); 0: none.
uint32_t last_tag() noexcept;
/// 0: forgets earlier pins.
void set_last_tag(uint32_t tag) noexcept;

/// Takes the handle out of its slot: GPO_SUCCESS for exactly one caller.
gpo_status destroy(uint64_t handle, Type type) noexcept;

/// Whether objects of this type keep their handles when their runtime has shut down.
constexpr bool outlives_runtime(Type type) noexcept { return type == Type::cq; }

/// One runtime's slots.
class Table {
public:
    /// Takes a table that no runtime uses, or makes one. Throws Failure(GPO_LIMIT_EXCEEDED) for runtime 4097.
    static Table* acquire();
    /// Gives the table back. Its handles become invalid, except those of objects that outlive the runtime. All other
    /// objects must be closed.
    void release() noexcept;
    /// Distinguishes successive runtimes of this table.
    uint64_t lease() const noexcept { return lease_.load(std::memory_order_acquire); }

    /// A handle for the object, holding one reference. Throws std::bad_alloc, Failure(GPO_LIMIT_EXCEEDED,
    /// GPO_SHUT_DOWN).
    uint64_t insert(Object& object);

    /// Takes no more objects.
    void seal() noexcept;
    /// Destroys the handles of all live objects except the runtime and objects that outlive it; returns their number.
    uint32_t close_all() noexcept;
    /// Number of live objects of this lease, the runtime included.
    uint32_t live() const noexcept;
    /// live() without the objects that outlive the runtime. An object counts until its handle's reference has been
    /// released.
    uint32_t live_to_close() const noexcept;
    /// Calls `visit` for each live object, pinned.
    template <class Visit>
    void for_each(Visit&& visit) {
        visit_each([](const void* each,
                      Object& object) { (*static_cast<const std::remove_reference_t<Visit>*>(each))(object); },
                   &visit);
    }

    /// For tests: retire slots after this many generations.
    void set_generation_limit(uint32_t limit) noexcept { generation_limit_ = limit; }
    uint32_t tag() const noexcept { return tag_.load(std::memory_order_acquire); }

private:
    friend Slot* detail::try_pin(uint64_t, Type, Ledger*, Note**) noexcept;
    friend Slot* detail::pin_slowly(uint64_t, Type, Note**, gpo_status*) noexcept;
    friend gpo_status destroy(uint64_t, Type) noexcept;
    friend void detail::finish(Slot&) noexcept;
    static constexpr uint32_t kChunk = 256, kChunks = (1u << kIndexBits) / kChunk;

    void visit_each(void (*visit)(const void*, Object&), const void* each);
    explicit Table(uint32_t position) noexcept : position_(position) {}
    Slot* slot(uint32_t index) const noexcept {
        Slot* chunk = chunks_[index / kChunk].load(std::memory_order_acquire);
        return chunk ? chunk + index % kChunk : nullptr;
    }
    /// `lease`: of the runtime whose object was in the slot.
    void recycle(Slot& slot, uint64_t lease) noexcept;

    const uint32_t position_;
    std::atomic<uint32_t> tag_{0};                      // 0: no runtime
    std::atomic<uint64_t> lease_{0};                    // written under lock_
    std::array<std::atomic<Slot*>, kChunks> chunks_{};
    mutable host::Mutex lock_;
    std::vector<uint32_t> free_;                        // indices; capacity is reserved ahead, so recycling can't fail
    uint32_t used_ = 0;                                 // slots ever made
    uint32_t live_ = 0;                                 // of this lease
    uint32_t outliving_ = 0;                            // of these, objects that outlive the runtime
    bool sealed_ = false;
    uint32_t last_tag_ = 0;
    uint32_t generation_limit_ = (1u << kGenerationBits) - 1;
};

namespace detail {

inline constexpr uint32_t kPositionBits = 12, kPositions = 1u << kPositionBits;
// The registry of runtimes. Tables are added and never removed.
extern std::atomic<Table*> g_tables[kPositions];

constexpr uint32_t index_of(uint64_t handle) { return handle & ((1u << kIndexBits) - 1); }
constexpr uint32_t generation_of(uint64_t handle) { return handle >> kIndexBits & ((1u << kGenerationBits) - 1); }
constexpr Type type_of(uint64_t handle) {
    return static_cast<Type>(handle >> (kIndexBits + kGenerationBits) & ((1u << kTypeBits) - 1));
}
constexpr uint32_t tag_of(uint64_t handle) {
    return static_cast<uint32_t>(handle >> (kIndexBits + kGenerationBits + kTypeBits));
}

// The fast path, for each handle of a call. NULL if the handle is invalid or something must be prepared first: the
// caller then calls pin_slowly(). A slot stores its object's whole handle, so one comparison checks tag and generation.
[[gnu::always_inline]] inline Slot* try_pin(uint64_t handle, Type type, Ledger* ledger, Note** note) noexcept {
    const uint32_t tag = tag_of(handle);
    const Table* table = g_tables[tag & (kPositions - 1)].load(std::memory_order_acquire);
    if (!table || !ledger) [[unlikely]] return nullptr;
    const unsigned used = ledger->used;
    if ((type == Type::none ? handle == 0 : type_of(handle) != type) ||
        used >= ledger->reach.load(std::memory_order_relaxed)) [[unlikely]] return nullptr;
    Slot* slot = table->slot(index_of(handle));
    if (!slot) [[unlikely]] return nullptr;
    Note& own = ledger->notes[used];
    ledger->used = used + 1;
    own.store(slot, std::memory_order_release);
    host::light_fence();
    if (slot->handle.load(std::memory_order_acquire) != handle) [[unlikely]] {
        unpin(*slot, own);
        return nullptr;
    }
    *note = &own;
    ledger->tag = tag;
    return slot;
}

}  // namespace detail

inline Slot* pin(uint64_t handle, Type type, Note** note, gpo_status* status) noexcept {
    Slot* slot = detail::try_pin(handle, type, detail::own_ledger(), note);
    return slot ? slot : detail::pin_slowly(handle, type, note, status);
}

}  // namespace handle

template <class T>
struct TypeOf;  // TypeOf<Stream>::value == Type::stream; beside each class

/// A pinned object: usable for as long as this lives.
template <class T>
class Pin {
public:
    /// Throws Failure with GPO_INVALID_HANDLE, GPO_STALE_HANDLE or GPO_OUT_OF_MEMORY (see pin()).
    [[gnu::always_inline]] explicit Pin(const void* handle) : Pin(handle, handle::detail::own_ledger()) {}
    /// Throws the same. The calling thread has pinned `beside`, which saves looking for the thread's ledger.
    template <class Other>
    [[gnu::always_inline]] Pin(const void* handle, const Pin<Other>& beside)
        : Pin(handle, &handle::Ledger::of(*beside.note_)) {}
    Pin(const Pin&) = delete;
    Pin& operator=(const Pin&) = delete;
    ~Pin() { handle::unpin(*slot_, *note_); }
    T* operator->() const noexcept { return static_cast<T*>(slot_->object); }
    T& operator*() const noexcept { return *static_cast<T*>(slot_->object); }
    Ref<T> ref() const noexcept { return Ref<T>(static_cast<T*>(slot_->object)); }
    /// The calling thread's number.
    uint32_t thread() const noexcept { return handle::Ledger::of(*note_).number; }

private:
    template <class Other>
    friend class Pin;
    [[gnu::always_inline]] Pin(const void* handle, handle::Ledger* ledger);

    handle::Slot* slot_;
    handle::Note* note_;
};

[[noreturn]] void fail_handle(gpo_status status, Type type, uint64_t handle);

template <class T>
inline Pin<T>::Pin(const void* handle, handle::Ledger* ledger) {
    const auto number = reinterpret_cast<uint64_t>(handle);
    slot_ = handle::detail::try_pin(number, TypeOf<T>::value, ledger, &note_);
    if (slot_) [[likely]] return;
    gpo_status status = GPO_SUCCESS;
    slot_ = handle::detail::pin_slowly(number, TypeOf<T>::value, &note_, &status);
    if (!slot_) fail_handle(status, TypeOf<T>::value, number);
}

}  // namespace gpo
