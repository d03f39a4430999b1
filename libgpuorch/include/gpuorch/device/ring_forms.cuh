/* device/ring_forms.cuh: pushes and pops by warps and blocks. Part of device/queue.cuh, which describes their use.
 *
 * The first thread acts for the others, as in the thread form (device/ring.cuh), and shares the result with them.
 */
#ifndef GPUORCH_DEVICE_RING_FORMS_CUH
#define GPUORCH_DEVICE_RING_FORMS_CUH

#include <gpuorch/device/ring.cuh>

namespace gpo {

/* -- warp form: the lanes of `mask` have one task together -- */

template <class T>
__device__ inline int warp_push(const ring& to, const T& task, bound limit, unsigned priority = 0,
                                unsigned mask = __activemask()) {
    int status = queue_success;
    if (atomic::elected(mask)) status = push(to, task, limit, priority, 1u << atomic::lane());
    return atomic::from_first(mask, status);
}

template <class T>
__device__ inline int warp_try_push(const ring& to, const T& task, unsigned priority = 0,
                                    unsigned mask = __activemask()) {
    int status = queue_success;
    if (atomic::elected(mask)) status = try_push(to, task, priority, 1u << atomic::lane());
    return atomic::from_first(mask, status);
}

/* Each lane reads the position's task. */
template <class T>
__device__ inline int take_together(const ring& from, unsigned priority, unsigned long long position, T& task,
                                    bound limit, unsigned mask) {
    const ring_slot slot(from, priority, position);
    int status = queue_success;
    if (atomic::elected(mask) && atomic::load_acquire(slot.sequence) != slot.free + 1) {
        const bool ticket = (from.flags & ring_tickets) != 0;
        status = await_slot_longer(from, slot.sequence, slot.free + 1, limit, ticket, position);
    }
    status = atomic::from_first(mask, status);
    if (status != queue_success) return status;
    __syncwarp(mask); /* orders the other lanes behind the first lane's acquire */
    read_task(slot.task, task);
    __syncwarp(mask);
    if (atomic::elected(mask)) atomic::store_release(slot.sequence, slot.free + 2);
    return queue_success;
}

template <class T>
__device__ inline int warp_take_offered(const ring& from, T& task, unsigned mask) {
    const lanes group(mask);
    ring_offer offer = {};
    if (group.first()) offer = offer_items(from, 1);
    offer = group.share(offer);
    if (offer.status != queue_success) return offer.status;
    const int status = take_together(from, offer.priority, offer.first, task, partner_bound(), mask);
    if (group.first()) atomic::add_relaxed(ring_word<long long>(from, ring_room, offer.priority), 1ll);
    return status;
}

template <class T>
__device__ inline int warp_try_pop(const ring& from, T& task, unsigned mask = __activemask()) {
    if (!fits<T>(from, 0) || (from.flags & ring_tickets)) return queue_invalid;
    return warp_take_offered(from, task, mask);
}

template <class T>
__device__ inline int warp_pop(const ring& from, T& task, bound limit, unsigned mask = __activemask()) {
    if (!fits<T>(from, 0)) return queue_invalid;
    if (from.flags & ring_tickets) {
        unsigned long long position = 0;
        if (atomic::elected(mask)) position = ticket_of(from, ring_head, lanes(1u << atomic::lane()));
        return take_together(from, 0, atomic::from_first(mask, position), task, limit, mask);
    }
    patience waiting(limit);
    for (;;) {
        const int status = warp_take_offered(from, task, mask);
        if (status != queue_would_block) return status;
        int verdict = queue_success;
        if (atomic::elected(mask)) verdict = await_items(from, waiting);
        verdict = atomic::from_first(mask, verdict);
        if (verdict != queue_success) return verdict;
    }
}

/* The warp's task is done. */
__device__ inline int warp_done(const ring& which, unsigned mask = __activemask()) {
    __syncwarp(mask);
    if (!is_ring(which)) return queue_invalid;
    return atomic::elected(mask) ? done_many(which, 1) : queue_success;
}

/* -- block form: all threads of a block have one task together. Each call is a barrier -- */

/* In shared memory. */
template <class T>
struct block_task {
    task_words<T> task;
    int status;
};

/* Shares the first thread's status, and its task on success, with all threads. */
template <class T>
__device__ inline int from_first_thread(block_task<T>& memory, T& task) {
    __syncthreads();
    const int status = memory.status;
    if (status == queue_success) memcpy(&task, memory.task.word, sizeof(T));
    __syncthreads();
    return status;
}
template <class T>
__device__ inline int from_first_thread(block_task<T>& memory) {
    __syncthreads();
    const int status = memory.status;
    __syncthreads();
    return status;
}

template <class T>
__device__ inline int block_try_pop(const ring& from, block_task<T>& memory, T& task) {
    if (atomic::thread_in_block() == 0) {
        memory.status = try_pop(from, task, 1u << atomic::lane());
        memcpy(memory.task.word, &task, sizeof(T));
    }
    return from_first_thread(memory, task);
}

template <class T>
__device__ inline int block_pop(const ring& from, block_task<T>& memory, T& task, bound limit) {
    if (atomic::thread_in_block() == 0) {
        memory.status = pop(from, task, limit, 1u << atomic::lane());
        memcpy(memory.task.word, &task, sizeof(T));
    }
    return from_first_thread(memory, task);
}

/* The task is the first thread's. */
template <class T>
__device__ inline int block_try_push(const ring& to, block_task<T>& memory, const T& task, unsigned priority = 0) {
    if (atomic::thread_in_block() == 0) memory.status = try_push(to, task, priority, 1u << atomic::lane());
    return from_first_thread(memory);
}

template <class T>
__device__ inline int block_push(const ring& to, block_task<T>& memory, const T& task, bound limit,
                                 unsigned priority = 0) {
    if (atomic::thread_in_block() == 0) memory.status = push(to, task, limit, priority, 1u << atomic::lane());
    return from_first_thread(memory);
}

/* The block's task is done. */
__device__ inline int block_done(const ring& which) {
    __syncthreads();
    if (!is_ring(which)) return queue_invalid;
    return atomic::thread_in_block() == 0 ? done_many(which, 1) : queue_success;
}

}  // namespace gpo

#endif
