/* device/host_ring.cuh: tasks from the host, and answers to it. Part of device/queue.cuh, which describes its use.
 *
 * Tasks and answers lie in slots of pinned memory. Each 8-byte word of a slot has 4 bytes of data below its lap's flag:
 * a single load reads the data, and the flag says if it is valid. Nothing rests on the order of stores, or on stores
 * wider than 8 bytes (as in NCCL's LL protocol). The host posts no more tasks than there are slots for their answers,
 * so an answer never waits.
 */
#ifndef GPUORCH_DEVICE_HOST_RING_CUH
#define GPUORCH_DEVICE_HOST_RING_CUH

#include <gpuorch/device/ring_forms.cuh>

namespace gpo {

/* A task that pops of host_ring.tasks give. */
template <class T>
struct host_task {
    unsigned ticket; /* names the task in its answer */
    unsigned reserved[3];
    T task;
};

__device__ inline bool is_host_ring(const host_ring& what) {
    return what.magic == host_ring_magic && what.version == queue_version && is_ring(what.tasks) &&
           what.task_words > 1 && !(what.tasks.flags & ring_tickets);
}

/* -- the host's words -- */

/* The first word of a position's slot, where slots have `words` words. */
__device__ inline unsigned long long* host_slot(const host_ring& in, unsigned long long slots, unsigned words,
                                                unsigned long long position) {
    return (unsigned long long*)slots + (position & ((1ull << in.capacity_log2) - 1)) * words;
}

/* The upper half of words of this position. Never 0, the content before the first lap. */
__device__ inline unsigned host_flag(const host_ring& in, unsigned long long position) {
    return (unsigned)((position >> in.capacity_log2) % 0xffffffffull) + 1;
}

__device__ inline unsigned long long flagged(unsigned data, unsigned flag) {
    return (unsigned long long)flag << 32 | data;
}

__device__ inline unsigned* host_state(const host_ring& in) { return (unsigned*)in.control; }
__device__ inline unsigned long long* host_final_count(const host_ring& in) {
    return (unsigned long long*)(in.control + 8);
}
__device__ inline unsigned long long* taken_count(const host_ring& in) {
    return (unsigned long long*)(in.device_words + 128);
}
__device__ inline unsigned long long* answer_count(const host_ring& in) { return (unsigned long long*)in.device_words; }

/* For one thread: tasks below `taken` have been read, and the host may use their slots again. */
__device__ inline void publish_taken(const host_ring& from, unsigned long long taken) {
    atomic::store_relaxed(taken_count(from), taken);
    atomic::store_relaxed_system((unsigned long long*)(from.control + 128), taken);
}

/* For one thread that finds nothing: whether the host has closed or aborted the ring; else queue_would_block. */
__device__ inline int host_verdict(const host_ring& from, unsigned long long taken) {
    const unsigned state = atomic::load_acquire_system(host_state(from));
    if (state == queue_is_aborted) return queue_aborted;
    if (state == queue_closed && taken == atomic::load_relaxed_system(host_final_count(from))) return queue_end;
    return queue_would_block;
}

/* -- the dispatcher -- */

/* In shared memory. */
struct dispatch_memory {
    unsigned first_bad[2]; /* take turns: the first thread whose word isn't there */
    unsigned count;        /* tasks to be handed out, to positions from `first` on */
    unsigned long long first;
    int status;
};

/* The block that hands out the host's tasks. In a turn each of its threads reads a word: `reach` slots in all, few
 * while no tasks come. */
struct dispatcher {
    const host_ring& from;
    dispatch_memory& memory;
    patience waiting;
    bound idle;
    unsigned long long taken, published;
    unsigned thread, slot, word; /* the thread's number; its word is `word` of slot `taken` + `slot` */
    unsigned least, most, reach;

    __device__ dispatcher(const host_ring& posted, dispatch_memory& shared, bound limit)
        : from(posted), memory(shared), waiting(limit), idle(limit), taken(atomic::load_relaxed(taken_count(posted))),
          published(taken), thread(atomic::thread_in_block()), slot(thread / posted.task_words),
          word(thread % posted.task_words), least(posted.task_words < 32 ? 32 / posted.task_words : 1),
          most(atomic::threads_in_block() / posted.task_words), reach(least < most ? least : most) {
        if (thread == 0) memory.first_bad[0] = memory.first_bad[1] = ~0u;
        __syncthreads();
    }

    /* Whether the thread's word is there, or its slot is out of reach. */
    __device__ bool look(unsigned& data) const {
        if (slot >= reach) return true;
        const unsigned long long position = taken + slot;
        const unsigned long long bits =
            atomic::load_relaxed_system(host_slot(from, from.posted_slots, from.task_words, position) + word);
        data = (unsigned)bits;
        return (unsigned)(bits >> 32) == host_flag(from, position);
    }

    /* How many slots are whole, from the first on. A barrier: all threads' words have been read afterwards. */
    __device__ unsigned whole(bool there, unsigned& first_bad, unsigned lanes) const {
        const unsigned bad = __ballot_sync(lanes, !there);
        if (bad != 0 && atomic::elected(lanes))
            atomicMin(&first_bad, thread - thread % 32 + (unsigned)__ffs((int)bad) - 1);
        __syncthreads();
        const unsigned slots = first_bad / from.task_words;
        return slots < reach ? slots : reach;
    }

    /* For the first thread: takes positions for as many of the tasks as the workers' ring has room for. `state`: the
     * host's. */
    __device__ void decide(unsigned there, unsigned state) {
        ring_offer offer = {0, 0, 0, queue_would_block};
        if (state == queue_is_aborted)
            offer.status = queue_aborted;
        else if (there != 0)
            offer = offer_room(from.tasks, 0, there);
        else if (atomic::load_relaxed(ring_word<unsigned>(from.tasks, ring_state)) == queue_is_aborted)
            offer.status = queue_aborted;
        memory.count = offer.count;
        memory.first = offer.first;
        memory.status = queue_success;
        if (offer.count != 0) {
            waiting = patience(idle);
            if (taken + offer.count - published >= publish_interval()) publish(taken + offer.count);
            return;
        }
        if (published != taken) publish(taken);
        const int verdict = offer.status == queue_aborted ? (int)queue_aborted
                            : state == queue_open         ? (int)queue_would_block
                                                          : host_verdict(from, taken);
        if (verdict == queue_aborted) abort(from.tasks);
        if (verdict == queue_end) close(from.tasks);
        memory.status = verdict != queue_would_block ? verdict : waiting.over() ? queue_timeout : queue_success;
    }

    __device__ unsigned publish_interval() const {
        return from.capacity_log2 < 10 ? (1u << from.capacity_log2) / 4 : 256;
    }
    __device__ void publish(unsigned long long now) {
        publish_taken(from, now);
        published = now;
    }

    /* In the task, 12 unused bytes follow the header. */
    __device__ void hand_out(unsigned count, unsigned data) const {
        const ring_slot to(from.tasks, 0, memory.first + slot);
        const bool mine = slot < count;
        bool ready = false;
        if (mine) {
            ready = atomic::load_acquire(to.sequence) == to.free ||
                    await_slot_longer(from.tasks, to.sequence, to.free, partner_bound(), false, 0) == queue_success;
            if (ready) ((unsigned*)to.task)[word == 0 ? 0 : 3 + word] = data;
        }
        __syncthreads();
        if (ready && word == 0) atomic::store_release(to.sequence, to.free + 1);
        if (thread == 0) atomic::add_relaxed(ring_word<long long>(from.tasks, ring_items), (long long)count);
    }

    __device__ int turn(unsigned number, unsigned lanes) {
        unsigned data = 0, state = queue_open;
        /* This load crosses the bus together with the words: a turn waits for the bus once. */
        if (thread == 0) state = atomic::load_relaxed_system(host_state(from));
        const bool there = look(data);
        const unsigned slots = whole(there, memory.first_bad[number % 2], lanes);
        if (thread == 0) {
            memory.first_bad[(number + 1) % 2] = ~0u;
            decide(slots, state);
        }
        __syncthreads();
        const unsigned count = memory.count;
        const int status = memory.status;
        if (count != 0) hand_out(count, data);
        taken += count;
        if (slots == reach)
            reach = 2 * reach < most ? 2 * reach : most;
        else if (slots == 0)
            reach = least < most ? least : most;
        return status;
    }
};

/* Hands out the host's tasks to the workers, until the host has closed or aborted the ring. Called by all threads of
 * one block; no other block takes tasks from the host. `idle`: bound of waits for a task, or for a worker to take one.
 */
__device__ inline int dispatch(const host_ring& from, dispatch_memory& memory, bound idle) {
    if (!is_host_ring(from) || atomic::threads_in_block() < from.task_words) return queue_invalid;
    const unsigned lanes = __activemask();
    dispatcher work(from, memory, idle);
    for (unsigned number = 0;; ++number) {
        const int status = work.turn(number, lanes);
        if (status != queue_success) return status;
    }
}

/* -- without a dispatcher -- */

/* Takes tasks from the host by itself: a thread, or lanes of a warp that get the same tasks together. */
struct host_taker {
    const host_ring& from;
    unsigned long long taken;
    unsigned mask;

    __device__ explicit host_taker(const host_ring& posted, unsigned lanes = __activemask())
        : from(posted), taken(is_host_ring(posted) ? atomic::load_relaxed(taken_count(posted)) : 0), mask(lanes) {}

    /* Loads all words at once, so that they cross the bus together. */
    template <class T>
    __device__ bool look(host_task<T>& task) const {
        constexpr unsigned words = 1 + task_words<T>::count * 4;
        const unsigned long long* const slot = host_slot(from, from.posted_slots, words, taken);
        unsigned long long bits[words];
#pragma unroll
        for (unsigned i = 0; i < words; ++i) bits[i] = atomic::load_relaxed_system(slot + i);
        const unsigned flag = host_flag(from, taken);
        unsigned data[words - 1];
        bool there = (unsigned)(bits[0] >> 32) == flag;
#pragma unroll
        for (unsigned i = 1; i < words; ++i) {
            data[i - 1] = (unsigned)bits[i];
            there = there && (unsigned)(bits[i] >> 32) == flag;
        }
        task.ticket = (unsigned)bits[0];
        memcpy(&task.task, data, sizeof(T));
        return there;
    }

    template <class T>
    __device__ int take(host_task<T>& task, bound limit) {
        if (!is_host_ring(from) || from.task_words != 1 + task_words<T>::count * 4) return queue_invalid;
        patience waiting(limit);
        for (;;) {
            if (__all_sync(mask, look(task))) break;
            int status = queue_would_block;
            if (atomic::elected(mask)) {
                status = host_verdict(from, taken);
                if (status == queue_would_block && waiting.over()) status = queue_timeout;
            }
            status = atomic::from_first(mask, status);
            if (status != queue_would_block) return status;
        }
        ++taken;
        if (atomic::elected(mask)) publish_taken(from, taken);
        return queue_success;
    }
};

/* -- answers -- */

/* An answer as words. */
template <class A>
struct answer_bytes {
    static_assert(__is_trivially_copyable(A), "answers are moved as bytes: their type must be trivially copyable");
    static constexpr unsigned count = (sizeof(A) + 3) / 4;
    unsigned word[count + 2];

    __device__ answer_bytes(unsigned ticket, int status, const A& reply) {
        word[count + 1] = 0;
        word[0] = ticket;
        word[1] = (unsigned)status;
        memcpy(word + 2, &reply, sizeof(A));
    }
};

/* Takes a slot for the answer of each lane. */
__device__ inline unsigned long long answer_position(const host_ring& to, const lanes& group) {
    unsigned long long first = 0;
    if (group.first()) first = atomic::fetch_add_relaxed(answer_count(to), (unsigned long long)group.count);
    return atomic::from_first(group.mask, first) + group.rank;
}

template <class A>
__device__ inline bool takes_answer(const host_ring& to) {
    return is_host_ring(to) && (to.answer_words == 0 || to.answer_words == 2 + answer_bytes<A>::count);
}

/* Each thread's task is done, and has this answer. */
template <class A>
__device__ inline int answer(const host_ring& to, unsigned ticket, int status, const A& reply,
                             unsigned mask = __activemask()) {
    if (!takes_answer<A>(to)) return queue_invalid;
    if (to.answer_words != 0) {
        const answer_bytes<A> words(ticket, status, reply);
        const unsigned long long position = answer_position(to, lanes(mask));
        unsigned long long* const slot = host_slot(to, to.answer_slots, to.answer_words, position);
        const unsigned flag = host_flag(to, position);
#pragma unroll
        for (unsigned i = 0; i < 2 + answer_bytes<A>::count; ++i)
            atomic::store_relaxed_system(slot + i, flagged(words.word[i], flag));
    }
    return done(to.tasks, mask);
}

/* Answers each thread's task with a status alone: the answer's bytes are zeros. */
__device__ inline int answer_zeros(const host_ring& to, unsigned ticket, int status, unsigned mask) {
    if (!is_host_ring(to)) return queue_invalid;
    if (to.answer_words != 0) {
        const unsigned long long position = answer_position(to, lanes(mask));
        unsigned long long* const slot = host_slot(to, to.answer_slots, to.answer_words, position);
        const unsigned flag = host_flag(to, position);
        for (unsigned i = 0; i < to.answer_words; ++i)
            atomic::store_relaxed_system(slot + i, flagged(i == 0 ? ticket : i == 1 ? (unsigned)status : 0, flag));
    }
    return done(to.tasks, mask);
}
/* Has no mask parameter: a mask would be taken for a reply of type unsigned. */
__device__ inline int answer(const host_ring& to, unsigned ticket, int status) {
    return answer_zeros(to, ticket, status, __activemask());
}

/* The warp's task is done. All lanes have the answer, and write neighbouring words of it. */
template <class A>
__device__ inline int warp_answer(const host_ring& to, unsigned ticket, int status, const A& reply,
                                  unsigned mask = __activemask()) {
    if (!takes_answer<A>(to)) return queue_invalid;
    if (to.answer_words != 0) {
        const answer_bytes<A> words(ticket, status, reply);
        const lanes group(mask);
        unsigned long long position = 0;
        if (group.first()) position = answer_position(to, lanes(1u << atomic::lane()));
        position = atomic::from_first(mask, position);
        unsigned long long* const slot = host_slot(to, to.answer_slots, to.answer_words, position);
        const unsigned flag = host_flag(to, position);
        for (unsigned at = group.rank; at < 2 + answer_bytes<A>::count; at += group.count) {
            unsigned mine = 0;
#pragma unroll
            for (unsigned i = 0; i < 2 + answer_bytes<A>::count; ++i)
                if (i == at) mine = words.word[i]; /* the words stay in registers */
            atomic::store_relaxed_system(slot + at, flagged(mine, flag));
        }
    }
    return warp_done(to.tasks, mask);
}

/* The block's task is done. All threads have the answer; the first warp writes it. */
template <class A>
__device__ inline int block_answer(const host_ring& to, unsigned ticket, int status, const A& reply) {
    __syncthreads();
    if (!takes_answer<A>(to)) return queue_invalid;
    return atomic::thread_in_block() < 32 ? warp_answer(to, ticket, status, reply) : queue_success;
}

}  // namespace gpo

#endif
