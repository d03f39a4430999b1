#include "core/handles.h"

#include <sys/random.h>

#include <functional>

#include "core/runtime.h"

namespace gpo {

namespace handle {

namespace {

constexpr uint32_t kPositionBits = 12, kPositions = 1u << kPositionBits;

// The registry of runtimes: the one piece of global state. Tables are added and never removed.
std::atomic<Table*> g_tables[kPositions];
host::Mutex g_lock;          // of the list of free tables
Table* g_free[kPositions];   // tables without a runtime
uint32_t g_free_count = 0;
uint32_t g_made = 0;         // tables ever made
std::atomic<uint32_t> g_first{UINT32_MAX};  // position of the first table: random, so that two copies of the library in
                                            // one process give out different tags

uint32_t random_number() noexcept {
    uint32_t value = 0;
    if (getrandom(&value, sizeof value, GRND_NONBLOCK) != sizeof value)
        value = static_cast<uint32_t>(host::now() ^ reinterpret_cast<uintptr_t>(&value) >> 4);
    return value;
}

constexpr uint32_t index_of(uint64_t handle) { return handle & ((1u << kIndexBits) - 1); }
constexpr uint32_t generation_of(uint64_t handle) { return handle >> kIndexBits & ((1u << kGenerationBits) - 1); }
constexpr Type type_of(uint64_t handle) {
    return static_cast<Type>(handle >> (kIndexBits + kGenerationBits) & ((1u << kTypeBits) - 1));
}
constexpr uint32_t tag_of(uint64_t handle) {
    return static_cast<uint32_t>(handle >> (kIndexBits + kGenerationBits + kTypeBits));
}

// Threads are dealt over the stripes in turn. No constructor: the variable needs no TLS initialisation.
unsigned this_stripe() noexcept {
    static std::atomic<uint32_t> next{0};
    thread_local uint32_t stripe = 0;
    if (stripe == 0) [[unlikely]] stripe = next.fetch_add(1, std::memory_order_relaxed) % kStripes + 1;
    return stripe - 1;
}

}  // namespace

// Closes a destroyed slot if nobody is inside.
void finish(Slot& slot) noexcept {
    for (const auto& stripe : slot.stripes)
        if (stripe.pins.load(std::memory_order_seq_cst) != 0) return;
    uint32_t destroyed = 1;
    if (!slot.closing.compare_exchange_strong(destroyed, 2, std::memory_order_seq_cst)) return;
    Object* object = slot.object;
    slot.object = nullptr;
    Table& table = object->runtime().handles();
    object->close();
    table.recycle(slot);
    object->release();
}

void unpin(Slot& slot, unsigned stripe) noexcept {
    slot.stripes[stripe].pins.fetch_sub(1, std::memory_order_seq_cst);
    if (slot.closing.load(std::memory_order_seq_cst) == 1) [[unlikely]] finish(slot);
}

Slot* pin(uint64_t handle, Type type, unsigned* stripe, gpo_status* status) noexcept {
    *status = GPO_INVALID_HANDLE;
    const uint32_t tag = tag_of(handle);
    if (tag == 0 || (type != Type::none && type_of(handle) != type)) return nullptr;
    Table* table = g_tables[tag & (kPositions - 1)].load(std::memory_order_acquire);
    if (!table || table->tag_.load(std::memory_order_acquire) != tag) return nullptr;
    Slot* slot = table->slot(index_of(handle));
    if (!slot) return nullptr;
    const unsigned own = this_stripe();
    slot->stripes[own].pins.fetch_add(1, std::memory_order_seq_cst);
    if (slot->handle.load(std::memory_order_seq_cst) == handle) [[likely]] {
        *stripe = own;
        return slot;
    }
    const bool was_given_out = slot->generation.load(std::memory_order_acquire) > generation_of(handle) ||
                               (slot->generation.load(std::memory_order_acquire) == generation_of(handle) &&
                                static_cast<Type>(slot->last_type.load(std::memory_order_acquire)) == type_of(handle));
    if (was_given_out && type_of(handle) != Type::none && type_of(handle) <= Type::pipeline) *status = GPO_STALE_HANDLE;
    unpin(*slot, own);
    return nullptr;
}

gpo_status destroy(uint64_t handle, Type type) noexcept {
    unsigned stripe;
    gpo_status status;
    Slot* slot = pin(handle, type, &stripe, &status);
    if (!slot) return status;
    uint64_t expected = handle;
    const bool won = slot->handle.compare_exchange_strong(expected, 0, std::memory_order_seq_cst);
    if (won) {
        slot->object->destroyed();
        slot->closing.store(1, std::memory_order_seq_cst);
    }
    unpin(*slot, stripe);
    return won ? GPO_SUCCESS : GPO_STALE_HANDLE;
}

Table* Table::acquire() {
    std::lock_guard lock(g_lock);
    Table* table = nullptr;
    if (g_free_count > 0) {
        table = g_free[--g_free_count];
    } else {
        if (g_made == kPositions) fail(GPO_LIMIT_EXCEEDED, "there are ", kPositions, " runtimes already");
        if (g_first.load() == UINT32_MAX) g_first.store(random_number() % kPositions);
        const uint32_t position = (g_first.load() + g_made) % kPositions;
        table = new Table(position);
        g_tables[position].store(table, std::memory_order_release);
        ++g_made;
    }
    // Another tag than the last one's, so that its handles are of no runtime.
    uint32_t tag = 0;
    do {
        tag = (random_number() & 0xfff) << kPositionBits | table->position_;
    } while (tag == 0 || tag == table->last_tag_);
    table->last_tag_ = tag;
    table->tag_.store(tag, std::memory_order_release);
    return table;
}

void Table::release() noexcept {
    tag_.store(0, std::memory_order_seq_cst);
    std::lock_guard lock(g_lock);
    g_free[g_free_count++] = this;
}

Slot* Table::slot(uint32_t index) const noexcept {
    Slot* chunk = chunks_[index / kChunk].load(std::memory_order_acquire);
    return chunk ? chunk + index % kChunk : nullptr;
}

uint64_t Table::insert(Object& object) {
    std::lock_guard lock(lock_);
    uint32_t index;
    if (!free_.empty()) {
        index = free_.back();
        free_.pop_back();
    } else {
        index = used_;
        if (index >= (1u << kIndexBits)) fail(GPO_LIMIT_EXCEEDED, "there are ", index, " objects in this runtime already");
        if (!slot(index)) {
            free_.reserve((index / kChunk + 1) * kChunk);
            auto* chunk = new Slot[kChunk];
            for (uint32_t i = 0; i < kChunk; ++i) chunk[i].index = index + i;
            chunks_[index / kChunk].store(chunk, std::memory_order_release);
        }
        ++used_;
    }
    Slot& chosen = *slot(index);
    object.retain();
    chosen.object = &object;
    chosen.closing.store(0, std::memory_order_relaxed);
    chosen.last_type.store(static_cast<uint8_t>(object.type()), std::memory_order_release);
    const uint64_t number = static_cast<uint64_t>(tag_.load(std::memory_order_relaxed))
                                << (kIndexBits + kGenerationBits + kTypeBits) |
                            static_cast<uint64_t>(object.type()) << (kIndexBits + kGenerationBits) |
                            static_cast<uint64_t>(chosen.generation.load(std::memory_order_relaxed)) << kIndexBits | index;
    chosen.handle.store(number, std::memory_order_seq_cst);
    ++live_;
    return number;
}

void Table::recycle(Slot& slot) noexcept {
    std::lock_guard lock(lock_);
    --live_;
    slot.closing.store(0, std::memory_order_relaxed);
    const uint32_t next = slot.generation.load(std::memory_order_relaxed) + 1;
    slot.generation.store(next, std::memory_order_release);
    if (next < generation_limit_) free_.push_back(slot.index);  // capacity was reserved with the slot
}

uint32_t Table::close_all() noexcept {
    uint32_t count = 0;
    // Latest first: children before their parents, as a rule.
    for (uint32_t index = used_; index-- > 0;) {
        Slot* s = slot(index);
        const uint64_t number = s ? s->handle.load(std::memory_order_acquire) : 0;
        if (number != 0 && type_of(number) != Type::runtime && destroy(number, Type::none) == GPO_SUCCESS) ++count;
    }
    return count;
}

uint32_t Table::live() const noexcept {
    std::lock_guard lock(lock_);
    return live_;
}

void Table::for_each(const std::function<void(Object&)>& visit) {
    uint32_t used;
    {
        std::lock_guard lock(lock_);
        used = used_;
    }
    for (uint32_t index = 0; index < used; ++index) {
        Slot* s = slot(index);
        const uint64_t number = s ? s->handle.load(std::memory_order_acquire) : 0;
        unsigned stripe;
        gpo_status status;
        if (number == 0 || !pin(number, Type::none, &stripe, &status)) continue;
        visit(*s->object);
        unpin(*s, stripe);
    }
}

}  // namespace handle

void fail_handle(gpo_status status, Type type, uint64_t number) {
    if (number == 0) fail(status, type_name(type), " handle is NULL");
    if (status == GPO_STALE_HANDLE) fail(status, "the ", type_name(type), " behind handle ", hex(number), " was destroyed");
    fail(status, hex(number), " is not the handle of a ", type_name(type), " of a live runtime");
}

}  // namespace gpo
