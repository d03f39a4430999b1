/* device/ring.cuh: tasks that kernels push and pop. Part of device/queue.cuh, which describes its use.
 *
 * Position p of a priority is slot p & (capacity - 1) in lap p >> capacity_log2. The slot's sequence number is 2 * lap
 * while the slot is free for position p, and 2 * lap + 1 while it holds the task of position p (modulo 2^32, as in
 * Vyukov's bounded queue). The thread of a position waits for the number, moves the task, and publishes the next
 * number.
 *
 * A pushing group of threads first takes room, as far as there is any (as in the Broker Work Distributor of Kerbl et
 * al.), so a full ring is known at once. Then the group takes positions, and behind the publication it adds to the
 * items. Pops take items, and add to the room. The thread of a position therefore waits only for another thread between
 * these steps, never for a future task.
 *
 * With tickets, groups take positions at once, and their threads wait until the slots are free or full.
 */
#ifndef GPUORCH_DEVICE_RING_CUH
#define GPUORCH_DEVICE_RING_CUH

#include <gpuorch/device/bound.cuh>
#include <gpuorch/device/handles.cuh>

namespace gpo {

/* A task's words in a slot. */
template <class T>
struct task_words {
    static_assert(__is_trivially_copyable(T), "tasks are moved as bytes: their type must be trivially copyable");
    static constexpr unsigned count = (sizeof(T) + 15) / 16;
    uint4 word[count];
};

template <class T>
__device__ inline void write_task(uint4* slot, const T& task) {
    task_words<T> words = {};
    memcpy(words.word, &task, sizeof(T));
#pragma unroll
    for (unsigned i = 0; i < task_words<T>::count; ++i) atomic::store16(slot + i, words.word[i]);
}

template <class T>
__device__ inline void read_task(const uint4* slot, T& task) {
    task_words<T> words;
#pragma unroll
    for (unsigned i = 0; i < task_words<T>::count; ++i) words.word[i] = atomic::load16(slot + i);
    memcpy(&task, words.word, sizeof(T));
}

/* -- where things are -- */

template <class T>
__device__ inline T* ring_word(const ring& from, ring_line line, unsigned priority = 0) {
    return (T*)(from.words + priority * 1024ull + line * 128ull);
}

struct ring_slot {
    unsigned* sequence;
    uint4* task;
    unsigned free; /* the sequence number while the slot is free; full is one more, and free again two more */

    __device__ ring_slot(const ring& from, unsigned priority, unsigned long long position) {
        const unsigned long long first = (unsigned long long)priority << from.capacity_log2;
        const unsigned long long index = first + (position & ((1ull << from.capacity_log2) - 1));
        sequence = (unsigned*)from.sequence + index;
        task = (uint4*)(from.tasks + index * from.task_size);
        free = 2 * (unsigned)(position >> from.capacity_log2);
    }
};

__device__ inline bool is_ring(const ring& what) { return what.magic == ring_magic && what.version == queue_version; }

template <class T>
__device__ inline bool fits(const ring& to, unsigned priority) {
    return is_ring(to) && to.task_size == sizeof(task_words<T>) && priority < to.priorities &&
           (to.priorities == 1 || !(to.flags & ring_tickets));
}

/* -- ends -- */

/* From now on only tasks push tasks. */
__device__ inline int close(const ring& which) {
    if (!is_ring(which)) return queue_invalid;
    unsigned* const state = ring_word<unsigned>(which, ring_state);
    return atomic::compare_and_swap_release(state, queue_open, queue_closed) == queue_is_aborted ? queue_aborted
                                                                                                 : queue_success;
}

/* Ends all waits. Tasks in the ring stay there. */
__device__ inline int abort(const ring& which) {
    if (!is_ring(which)) return queue_invalid;
    atomic::store_relaxed(ring_word<unsigned>(which, ring_state), (unsigned)queue_is_aborted);
    return queue_success;
}

/* Closed, and all tasks are done. Reading `done` before `pushed` makes sure that no push is missed. */
__device__ inline bool is_finished(const ring& which) {
    if (atomic::load_acquire(ring_word<unsigned>(which, ring_state)) != queue_closed) return false;
    const unsigned long long done = atomic::load_acquire(ring_word<unsigned long long>(which, ring_done));
    unsigned long long pushed = 0;
#pragma unroll 1
    for (unsigned p = 0; p < which.priorities; ++p)
        pushed += atomic::load_relaxed(ring_word<unsigned long long>(which, ring_tail, p));
    return done == pushed;
}

/* `count` tasks are done. Ordered behind their pushes and the calling thread's earlier writes. */
__device__ inline int done_many(const ring& which, unsigned long long count) {
    if (!is_ring(which)) return queue_invalid;
    atomic::add_release(ring_word<unsigned long long>(which, ring_done), count);
    return queue_success;
}

/* -- positions -- */

/* A group's positions: `count` from `first` on, or the reason for having none. */
struct ring_offer {
    unsigned long long first;
    unsigned count, priority;
    int status;

    /* In 64 bits, for the group's other lanes: position, priority, and the count or 64 + status. */
    __device__ unsigned long long packed() const {
        return first << 10 | priority << 7 | (status == queue_success ? count : 64u + (unsigned)status);
    }
    __device__ static ring_offer unpacked(unsigned long long bits) {
        const unsigned low = (unsigned)bits & 127u;
        if (low > 64) return {0, 0, 0, (int)low - 64};
        return {bits >> 10, low, (unsigned)(bits >> 7) & 7u, queue_success};
    }
};

/* Takes up to `wanted` from a count. */
__device__ inline unsigned take_some(long long* there, unsigned wanted) {
    const long long before = atomic::fetch_add_relaxed(there, -(long long)wanted);
    const unsigned taken = before <= 0 ? 0 : before < wanted ? (unsigned)before : wanted;
    if (taken < wanted) atomic::add_relaxed(there, (long long)(wanted - taken));
    return taken;
}

/* For one thread: takes free slots. */
__device__ inline ring_offer offer_room(const ring& to, unsigned priority, unsigned wanted) {
    long long* const room = ring_word<long long>(to, ring_room, priority);
    const unsigned state = atomic::load_relaxed(ring_word<unsigned>(to, ring_state)); /* in flight with the next */
    const unsigned count = take_some(room, wanted);
    if (state == queue_is_aborted) {
        atomic::add_relaxed(room, (long long)count);
        return {0, 0, 0, queue_aborted};
    }
    if (count == 0) return {0, 0, 0, queue_would_block};
    unsigned long long* const tail = ring_word<unsigned long long>(to, ring_tail, priority);
    return {atomic::fetch_add_relaxed(tail, (unsigned long long)count), count, priority, queue_success};
}

/* For one thread: takes full slots, of the first priority that has any. */
__device__ inline ring_offer offer_items(const ring& from, unsigned wanted) {
    const unsigned state = atomic::load_relaxed(ring_word<unsigned>(from, ring_state));
    unsigned priority = 0, count = 0;
#pragma unroll 1
    for (; priority < from.priorities; ++priority) {
        long long* const items = ring_word<long long>(from, ring_items, priority);
        if (from.priorities > 1 && atomic::load_relaxed(items) <= 0) continue;
        count = take_some(items, wanted);
        if (count != 0) break;
    }
    if (state == queue_is_aborted) {
        if (count != 0) atomic::add_relaxed(ring_word<long long>(from, ring_items, priority), (long long)count);
        return {0, 0, 0, queue_aborted};
    }
    if (count == 0) {
        const bool ended = state == queue_closed && is_finished(from);
        return {0, 0, 0, ended ? queue_end : queue_would_block};
    }
    unsigned long long* const head = ring_word<unsigned long long>(from, ring_head, priority);
    return {atomic::fetch_add_relaxed(head, (unsigned long long)count), count, priority, queue_success};
}

/* -- waits -- */

/* For one thread: waits until a push may succeed. Looks without taking, so that waits don't disturb other threads. */
__device__ inline int await_room(const ring& to, unsigned priority, patience& waiting) {
    for (;;) {
        if (atomic::load_relaxed(ring_word<unsigned>(to, ring_state)) == queue_is_aborted) return queue_aborted;
        if (atomic::load_relaxed(ring_word<long long>(to, ring_room, priority)) > 0) return queue_success;
        if (waiting.over()) return queue_timeout;
        waiting.give_way();
    }
}

/* For one thread: waits until a pop may succeed, in the same way. */
__device__ inline int await_items(const ring& from, patience& waiting) {
    for (;;) {
        const unsigned state = atomic::load_relaxed(ring_word<unsigned>(from, ring_state));
        if (state == queue_is_aborted) return queue_aborted;
#pragma unroll 1
        for (unsigned p = 0; p < from.priorities; ++p)
            if (atomic::load_relaxed(ring_word<long long>(from, ring_items, p)) > 0) return queue_success;
        if (state == queue_closed && is_finished(from)) return queue_end;
        if (waiting.over()) return queue_timeout;
        waiting.give_way();
    }
}

/* Waits until the slot of a position has this number. No other thread can take the position: if the wait fails, the
 * slot stays out of step, and the ring is aborted. `ticket`: the wait is a pop with tickets, whose task may never come;
 * `pop`: its position. */
__device__ inline int await_slot_longer(const ring& in, const unsigned* sequence, unsigned number, bound limit,
                                        bool ticket, unsigned long long pop) {
    patience waiting(limit);
    for (;;) {
#pragma unroll 1
        for (unsigned looks = 0; looks < 64; ++looks)
            if (atomic::load_acquire(sequence) == number) return queue_success;
        const unsigned state = atomic::load_relaxed(ring_word<unsigned>(in, ring_state));
        if (state == queue_is_aborted) return queue_aborted;
        if (state == queue_closed && ticket && is_finished(in) &&
            pop >= atomic::load_relaxed(ring_word<unsigned long long>(in, ring_tail)))
            return queue_end;
        if (waiting.over(64)) {
            abort(in);
            return queue_timeout;
        }
        waiting.give_way();
    }
}

/* Bound of waits for the other thread of a slot, between two of its steps: far longer than any thread needs. */
#if !defined(GPO_PARTNER_BOUND_NS)
#define GPO_PARTNER_BOUND_NS 10000000000ull
#endif
__device__ inline bound partner_bound() { return nanoseconds(GPO_PARTNER_BOUND_NS); }

template <class T>
__device__ inline int put(const ring& to, unsigned priority, unsigned long long position, const T& task, bound limit) {
    const ring_slot slot(to, priority, position);
    if (atomic::load_acquire(slot.sequence) != slot.free) {
        const int status = await_slot_longer(to, slot.sequence, slot.free, limit, false, 0);
        if (status != queue_success) return status;
    }
    write_task(slot.task, task);
    atomic::store_release(slot.sequence, slot.free + 1);
    return queue_success;
}

template <class T>
__device__ inline int take(const ring& from, unsigned priority, unsigned long long position, T& task, bound limit) {
    const ring_slot slot(from, priority, position);
    if (atomic::load_acquire(slot.sequence) != slot.free + 1) {
        const bool ticket = (from.flags & ring_tickets) != 0;
        const int status = await_slot_longer(from, slot.sequence, slot.free + 1, limit, ticket, position);
        if (status != queue_success) return status;
    }
    read_task(slot.task, task);
    atomic::store_release(slot.sequence, slot.free + 2);
    return queue_success;
}

/* -- groups: threads of a warp that come together, each with a task of its own -- */

struct lanes {
    unsigned mask, count, rank;

    __device__ explicit lanes(unsigned together)
        : mask(together), count((unsigned)__popc(together)), rank(atomic::rank_in(together)) {}
    __device__ bool first() const { return rank == 0; }
    __device__ ring_offer share(const ring_offer& offer) const {
        return ring_offer::unpacked(atomic::from_first(mask, offer.packed()));
    }
};

/* Pushes the tasks of the lanes from rank `pushed` on, as many as there is room for. */
template <class T>
__device__ inline ring_offer push_some(const ring& to, const T& task, unsigned priority, const lanes& group,
                                       unsigned pushed, int& status) {
    ring_offer offer = {};
    if (group.first()) offer = offer_room(to, priority, group.count - pushed);
    offer = group.share(offer);
    if (group.rank - pushed < offer.count)
        status = put(to, priority, offer.first + group.rank - pushed, task, partner_bound());
    __syncwarp(group.mask);
    if (group.first() && offer.count != 0)
        atomic::add_relaxed(ring_word<long long>(to, ring_items, priority), (long long)offer.count);
    return offer;
}

template <class T>
__device__ inline ring_offer pop_some(const ring& from, T& task, const lanes& group, int& status) {
    ring_offer offer = {};
    if (group.first()) offer = offer_items(from, group.count);
    offer = group.share(offer);
    status = offer.status == queue_success ? queue_would_block : offer.status;
    if (group.rank < offer.count) status = take(from, offer.priority, offer.first + group.rank, task, partner_bound());
    __syncwarp(group.mask);
    if (group.first() && offer.count != 0)
        atomic::add_relaxed(ring_word<long long>(from, ring_room, offer.priority), (long long)offer.count);
    return offer;
}

/* With tickets: a position for each lane. */
__device__ inline unsigned long long ticket_of(const ring& in, ring_line line, const lanes& group) {
    unsigned long long first = 0;
    if (group.first())
        first = atomic::fetch_add_relaxed(ring_word<unsigned long long>(in, line), (unsigned long long)group.count);
    return atomic::from_first(group.mask, first) + group.rank;
}

/* -- thread form -- */

template <class T>
__device__ inline int try_push(const ring& to, const T& task, unsigned priority = 0, unsigned mask = __activemask()) {
    if (!fits<T>(to, priority) || (to.flags & ring_tickets)) return queue_invalid;
    const lanes group(mask);
    int status = queue_would_block;
    const ring_offer offer = push_some(to, task, priority, group, 0, status);
    return offer.status == queue_aborted ? queue_aborted : status;
}

template <class T>
__device__ inline int try_pop(const ring& from, T& task, unsigned mask = __activemask()) {
    if (!fits<T>(from, 0) || (from.flags & ring_tickets)) return queue_invalid;
    int status;
    pop_some(from, task, lanes(mask), status);
    return status;
}

template <class T>
__device__ inline int push(const ring& to, const T& task, bound limit, unsigned priority = 0,
                           unsigned mask = __activemask()) {
    if (!fits<T>(to, priority)) return queue_invalid;
    const lanes group(mask);
    if (to.flags & ring_tickets) {
        const int status = put(to, 0, ticket_of(to, ring_tail, group), task, limit);
        __syncwarp(mask);
        return status;
    }
    patience waiting(limit);
    int status = queue_would_block;
    for (unsigned pushed = 0;;) {
        pushed += push_some(to, task, priority, group, pushed, status).count;
        if (pushed == group.count) return status;
        int verdict = queue_success;
        if (group.first()) verdict = await_room(to, priority, waiting);
        verdict = atomic::from_first(mask, verdict);
        if (verdict != queue_success) return group.rank < pushed ? status : verdict;
    }
}

template <class T>
__device__ inline int pop(const ring& from, T& task, bound limit, unsigned mask = __activemask()) {
    if (!fits<T>(from, 0)) return queue_invalid;
    const lanes group(mask);
    int status;
    if (from.flags & ring_tickets) {
        status = take(from, 0, ticket_of(from, ring_head, group), task, limit);
        __syncwarp(mask);
        return status;
    }
    patience waiting(limit);
    for (;;) {
        const ring_offer offer = pop_some(from, task, group, status);
        if (offer.status != queue_would_block) return status;
        int verdict = queue_success;
        if (group.first()) verdict = await_items(from, waiting);
        verdict = atomic::from_first(mask, verdict);
        if (verdict != queue_success) return verdict;
    }
}

/* The task of each lane is done. */
__device__ inline int done(const ring& which, unsigned mask = __activemask()) {
    __syncwarp(mask);
    return atomic::elected(mask) ? done_many(which, (unsigned)__popc(mask))
           : is_ring(which)      ? queue_success
                                 : queue_invalid;
}

}  // namespace gpo

#endif
