#include "core/handles.h"

#include <pthread.h>
#include <sys/random.h>

#include <algorithm>
#include <functional>
#include <new>

#include "core/runtime.h"
#include "host/fence.h"

namespace gpo {

namespace handle {

namespace detail {

std::atomic<Table*> g_tables[kPositions];
constinit thread_local Ledger* t_ledger = nullptr;
Place g_places[1u << kPlaceBits];

}  // namespace detail

using namespace detail;

namespace {

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

std::atomic<Ledger*> g_ledgers{nullptr};
std::atomic<uint32_t> g_ledger_count{0};
pthread_key_t g_key;
pthread_once_t g_key_once = PTHREAD_ONCE_INIT;
bool g_key_made = false;

void leave_ledger(void* ledger) {
    const uintptr_t thread = thread_pointer();
    if (Place& place = place_of(thread); place.thread.load(std::memory_order_relaxed) == thread) {
        place.ledger.store(nullptr, std::memory_order_relaxed);
        place.thread.store(0, std::memory_order_release);   // release: the next owner writes after this thread
    }
    t_ledger = nullptr;  // if a later destructor of this thread calls the library, it takes another ledger
    static_cast<Ledger*>(ledger)->taken.store(false, std::memory_order_release);
}

Ledger* take_ledger() noexcept {
    pthread_once(&g_key_once, [] { g_key_made = pthread_key_create(&g_key, leave_ledger) == 0; });
    Ledger* found = nullptr;
    for (Ledger* ledger = g_ledgers.load(std::memory_order_acquire); ledger && !found; ledger = ledger->next) {
        bool taken = false;
        if (!ledger->taken.load(std::memory_order_relaxed) && ledger->taken.compare_exchange_strong(taken, true))
            found = ledger;
    }
    if (!found) {
        found = new (std::nothrow) Ledger;
        if (!found) return nullptr;
        found->number = g_ledger_count.fetch_add(1, std::memory_order_relaxed);
        found->next = g_ledgers.load(std::memory_order_relaxed);
        while (!g_ledgers.compare_exchange_weak(found->next, found, std::memory_order_acq_rel)) {
        }
    }
    if (g_key_made) pthread_setspecific(g_key, found);
    t_ledger = found;
    // Two threads may want one place: only the thread that owns the place writes there.
    const uintptr_t thread = thread_pointer();
    uintptr_t nobody = 0;
    if (Place& place = place_of(thread);
        thread != kNoPointer && place.thread.compare_exchange_strong(nobody, thread, std::memory_order_acquire))
        place.ledger.store(found, std::memory_order_relaxed);
    return found;
}

}  // namespace

// Closes a destroyed slot if no call is inside.
void detail::finish(Slot& slot) noexcept {
    uint32_t destroyed = slot.closing.load(std::memory_order_acquire);
    if (!(destroyed & Slot::kDestroyed)) return;
    host::crossing();
    host::heavy_fence();
    for (Ledger* ledger = g_ledgers.load(std::memory_order_acquire); ledger; ledger = ledger->next) {
        const unsigned reach = ledger->reach.load(std::memory_order_acquire);
        for (unsigned i = 0; i < reach; ++i)
            if (ledger->notes[i].load(std::memory_order_acquire) == &slot) return;
    }
    host::crossing();   // another thread may close the object here, and the slot may get another object
    if (!slot.closing.compare_exchange_strong(destroyed, destroyed & ~Slot::kDestroyed, std::memory_order_seq_cst))
        return;
    Object* object = slot.object;
    slot.object = nullptr;
    object->close();
    Table& table = object->runtime().handles();
    const uint64_t lease = object->runtime().lease();
    // A shutdown waits for live objects. Releasing the handle may run the destructor, which may put marks on streams:
    // the object counts as live until the release has returned. The runtime itself is released last.
    const bool waited_for = object->type() != Type::runtime && !outlives_runtime(object->type());
    if (waited_for) object->release_handle();
    table.recycle(slot, lease);
    if (!waited_for) object->release_handle();
}

Slot* detail::pin_slowly(uint64_t handle, Type type, Note** note, gpo_status* status) noexcept {
    *status = GPO_INVALID_HANDLE;
    const uint32_t tag = tag_of(handle);
    if (tag == 0 || (type != Type::none && type_of(handle) != type)) return nullptr;
    Table* table = g_tables[tag & (kPositions - 1)].load(std::memory_order_acquire);
    if (!table) return nullptr;
    Slot* slot = table->slot(index_of(handle));
    if (!slot) return nullptr;
    // An object that outlives its runtime still has its handle in the slot.
    const bool of_runtime = table->tag_.load(std::memory_order_acquire) == tag;
    if (!of_runtime && slot->handle.load(std::memory_order_acquire) != handle) return nullptr;
    Ledger* ledger = own_ledger();
    if (!ledger) ledger = take_ledger();
    if (!ledger || ledger->used == Ledger::kNotes) {
        *status = GPO_OUT_OF_MEMORY;
        return nullptr;
    }
    if (ledger->reach.load(std::memory_order_relaxed) == ledger->used)
        ledger->reach.store(ledger->used + 1, std::memory_order_release);
    if (Slot* pinned = try_pin(handle, type, ledger, note)) return pinned;
    if (!of_runtime) return nullptr;
    const uint32_t generation = slot->generation.load(std::memory_order_acquire);
    const bool was_given_out = generation > generation_of(handle) ||
                               (generation == generation_of(handle) &&
                                static_cast<Type>(slot->last_type.load(std::memory_order_acquire)) == type_of(handle));
    if (was_given_out && type_of(handle) != Type::none && type_of(handle) <= kLastType) *status = GPO_STALE_HANDLE;
    return nullptr;
}

uint32_t take_thread_number() noexcept {
    const Ledger* ledger = own_ledger();
    if (!ledger) [[unlikely]] ledger = take_ledger();
    return ledger ? ledger->number : kNoThread;
}

uint32_t last_tag() noexcept {
    const Ledger* ledger = own_ledger();
    return ledger ? ledger->tag : 0;
}

void set_last_tag(uint32_t tag) noexcept {
    if (Ledger* ledger = own_ledger()) ledger->tag = tag;
}

gpo_status destroy(uint64_t handle, Type type) noexcept {
    Note* note;
    gpo_status status;
    Slot* slot = pin(handle, type, &note, &status);
    if (!slot) return status;
    uint64_t expected = handle;
    const bool won = slot->handle.compare_exchange_strong(expected, 0, std::memory_order_seq_cst);
    if (won) {
        slot->object->destroyed();
        slot->closing.store(Slot::kDestroyed | generation_of(handle), std::memory_order_seq_cst);
        host::crossing();
    }
    unpin(*slot, *note);
    return won ? GPO_SUCCESS : GPO_STALE_HANDLE;
}

Table* Table::acquire() {
    std::lock_guard lock(g_lock);
    Table* table = nullptr;
    if (g_free_count > 0) {
        table = g_free[--g_free_count];
    } else {
        if (g_made == kPositions) fail(GPO_LIMIT_EXCEEDED, "there are ", kPositions, " runtimes already");
        host::look_at_fences();
        if (g_first.load() == UINT32_MAX) g_first.store(random_number() % kPositions);
        const uint32_t position = (g_first.load() + g_made) % kPositions;
        table = new Table(position);
        g_tables[position].store(table, std::memory_order_release);
        ++g_made;
    }
    // Choose a new tag, so that handles of earlier runtimes match no runtime.
    uint32_t tag = 0;
    do {
        tag = (random_number() & 0xfff) << kPositionBits | table->position_;
    } while (tag == 0 || tag == table->last_tag_);
    table->last_tag_ = tag;
    table->tag_.store(tag, std::memory_order_release);
    std::lock_guard of_table(table->lock_);
    table->lease_.store(table->lease() + 1, std::memory_order_release);
    table->live_ = table->outliving_ = 0;
    return table;
}

void Table::release() noexcept {
    tag_.store(0, std::memory_order_seq_cst);
    {
        // Sort the free slots: each runtime takes slots in ascending order, whatever earlier runtimes have done.
        std::lock_guard lock(lock_);
        sealed_ = false;
        std::sort(free_.begin(), free_.end(), std::greater<>());
    }
    std::lock_guard lock(g_lock);
    g_free[g_free_count++] = this;
}

void Table::seal() noexcept {
    std::lock_guard lock(lock_);
    sealed_ = true;
}

uint64_t Table::insert(Object& object) {
    std::lock_guard lock(lock_);
    if (sealed_) fail(GPO_SHUT_DOWN, "the runtime is shutting down");
    uint32_t index;
    if (!free_.empty()) {
        index = free_.back();
        free_.pop_back();
    } else {
        index = used_;
        if (index >= (1u << kIndexBits))
            fail(GPO_LIMIT_EXCEEDED, "there are ", index, " objects in this runtime already");
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
    chosen.last_type.store(static_cast<uint8_t>(object.type()), std::memory_order_release);
    const uint64_t number =
        static_cast<uint64_t>(tag_.load(std::memory_order_relaxed)) << (kIndexBits + kGenerationBits + kTypeBits) |
        static_cast<uint64_t>(object.type()) << (kIndexBits + kGenerationBits) |
        static_cast<uint64_t>(chosen.generation.load(std::memory_order_relaxed)) << kIndexBits | index;
    chosen.handle.store(number, std::memory_order_seq_cst);
    ++live_;
    outliving_ += outlives_runtime(object.type());
    return number;
}

void Table::recycle(Slot& slot, uint64_t lease) noexcept {
    std::lock_guard lock(lock_);
    if (lease == lease_.load(std::memory_order_relaxed)) {
        --live_;
        outliving_ -= outlives_runtime(static_cast<Type>(slot.last_type.load(std::memory_order_relaxed)));
    }
    const uint32_t next = slot.generation.load(std::memory_order_relaxed) + 1u;
    slot.generation.store(static_cast<uint16_t>(next), std::memory_order_release);
    if (next < generation_limit_) free_.push_back(slot.index);  // capacity was reserved with the slot
}

uint32_t Table::close_all() noexcept {
    uint32_t count = 0;
    // In descending order, because children usually have higher indices than their parents.
    for (uint32_t index = used_; index-- > 0;) {
        Slot* s = slot(index);
        const uint64_t number = s ? s->handle.load(std::memory_order_acquire) : 0;
        if (number == 0 || type_of(number) == Type::runtime || outlives_runtime(type_of(number))) continue;
        if (destroy(number, Type::none) == GPO_SUCCESS) ++count;
    }
    return count;
}

uint32_t Table::live() const noexcept {
    std::lock_guard lock(lock_);
    return live_;
}

uint32_t Table::live_to_close() const noexcept {
    std::lock_guard lock(lock_);
    return live_ - outliving_;
}

void Table::visit_each(void (*visit)(const void*, Object&), const void* each) {
    uint32_t used;
    {
        std::lock_guard lock(lock_);
        used = used_;
    }
    for (uint32_t index = 0; index < used; ++index) {
        Slot* s = slot(index);
        const uint64_t number = s ? s->handle.load(std::memory_order_acquire) : 0;
        Note* note;
        gpo_status status;
        if (number == 0 || !pin(number, Type::none, &note, &status)) continue;
        struct Unpin {
            ~Unpin() { unpin(slot, note); }
            Slot& slot;
            Note& note;
        } unpinned{*s, *note};
        visit(each, *s->object);   // may throw
    }
}

}  // namespace handle

void fail_handle(gpo_status status, Type type, uint64_t number) {
    if (status == GPO_OUT_OF_MEMORY) fail(status, "no room to note that a call uses the ", type_name(type));
    if (number == 0) fail(status, type_name(type), " handle is NULL");
    if (status == GPO_STALE_HANDLE)
        fail(status, "the ", type_name(type), " behind handle ", hex(number), " was destroyed");
    fail(status, hex(number), " is not the handle of a ", type_name(type), " of a live runtime");
}

}  // namespace gpo
