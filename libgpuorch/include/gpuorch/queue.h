/* queue.h: queues that kernels take their work from.
 *
 * A queue is of one of three kinds:
 *   range      hands out the numbers from 0 to count - 1, in batches, to the warps or blocks of a kernel: early ones
 *              take more. For tasks that exist before the launch and differ in length.
 *   ring       a bounded queue of tasks of 16 to 256 bytes in device memory. Kernels push and pop, and tasks may push
 *              tasks. For work that is found while other work is done.
 *   host ring  the host posts tasks to a kernel that stays on the GPU, and gets an answer to each, without a launch.
 *
 * The kernels' half is gpuorch/device/queue.cuh. A kernel takes a queue as an argument, by value, of the type
 * gpo::range, gpo::ring or gpo::host_ring. gpo_queue_get_device_handle writes that value:
 *
 *     gpo_queue_options options = {.struct_size = sizeof options, .kind = GPO_QUEUE_RANGE, .count = n};
 *     gpo_queue_create(device, &options, &queue);
 *     uint64_t rows[GPO_QUEUE_HANDLE_BYTES / 8];
 *     gpo_queue_get_device_handle(queue, rows, sizeof rows, NULL);
 *     const void *arguments[] = {rows, &matrix};
 *     gpo_stream_launch_kernel(stream, kernel, &launch, arguments, NULL, 2);
 *
 * The value stays the same for as long as the queue lives (but see gpo_queue_set_costs), so it can be recorded in
 * templates. Repeated launches need no reset in between: a range begins anew once all numbers are handed out and each
 * worker has received the end, and a ring once it is empty. A template doesn't keep the queue alive: destroy the
 * template's graphs first.
 *
 * The end of a ring
 *   A ring is *open* at first. gpo_queue_close says that from now on only the tasks themselves push: when all tasks are
 *   done, pops return that the ring is at its end. gpo_queue_abort ends all waits at once: pushes and pops return that
 *   the ring was aborted, and the tasks that are left stay where they are. gpo_queue_reset makes a ring empty and open
 *   again. On the GPU each wait has a bound, and no failure of a queue stops a kernel: each call in a kernel returns a
 *   status.
 *
 * Host rings
 *   The kernel is launched on a resident stream (stream.h). A block of the kernel hands out the host's tasks, and the
 *   other blocks take and answer them, in any order:
 *
 *     gpo_queue_options options = {.struct_size = sizeof options, .kind = GPO_QUEUE_HOST_RING, .task_size = 16,
 *                                  .answer_size = 4, .stream = resident};
 *     gpo_queue_create(device, &options, &queue);          and launch the kernel with the device handle
 *     gpo_queue_post(queue, 0, tasks, 8, 100, &posted);    tasks 100 to 107, as far as there is room
 *     gpo_queue_wait(queue, 0, -1);
 *     gpo_queue_take(queue, 0, entries, sizeof entries[0], answers, 8, &count);
 *
 *   Several *tenants* may use one host ring: each posts and takes answers under a number of its own, and none gets
 *   another's answers. Each tenant has a share of the ring, so no tenant fills the ring up for the others. Answers may
 *   be announced by entries in a completion queue (completion.h), which wakes waiting threads, or a program's event
 *   loop. Any thread may post and take for any tenant.
 *   A place in the ring is occupied from the post until the answer has been taken. A program that posts and never takes
 *   therefore gets GPO_WOULD_BLOCK, and the GPU never waits for the host.
 *   gpo_queue_close ends posting: the kernel gets the posted tasks, and then the ring's end. When a host ring is
 *   destroyed or the runtime shuts down, the ring is aborted, and outstanding entries of completion queues come with
 *   GPO_CANCELLED. If the device is lost, the entries come with the loss.
 *
 * Memory
 *   A queue owns its memory. gpo_queue_destroy frees it behind all work that was put on the device's streams before. If
 *   the queue was created with a stream (gpo_queue_options.stream), then gpo_queue_destroy and gpo_runtime_shutdown
 *   abort the queue, and its memory stays until the work on that stream is done. Work of any other resident stream with
 *   the queue (kernels, and calls of this header on the stream) must have ended before the queue is destroyed.
 */
#ifndef GPUORCH_QUEUE_H
#define GPUORCH_QUEUE_H

#include "completion.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Kinds. */
#define GPO_QUEUE_RANGE 1
#define GPO_QUEUE_RING 2
#define GPO_QUEUE_HOST_RING 3

/* Flags. */
#define GPO_QUEUE_TICKETS 1 /* ring: a push or a pop takes a place first and then waits for it, which is two to three
                               times as fast as asking for room first. Kernels then have no calls that give up at once
                               (try_), and a wait beyond its bound aborts the ring */
#define GPO_QUEUE_NO_ANSWERS 2 /* host ring: tasks have no answers. A place is free again when the kernel has read the
                                  task */
#define GPO_QUEUE_LATE_CLAIMS 4 /* range: a worker claims a batch when it asks for the batch. Without the flag it claims
                                   when it begins the previous batch: no claim is waited for, but the batch stays with
                                   the worker however long the previous batch takes. For tasks so uneven, or so few for
                                   each worker, that a batch behind a long batch would begin last */

typedef struct gpo_queue_options {
    uint32_t struct_size;
    uint32_t kind;         /* GPO_QUEUE_RANGE, … */
    uint32_t flags;        /* GPO_QUEUE_TICKETS, GPO_QUEUE_NO_ANSWERS, GPO_QUEUE_LATE_CLAIMS */
    uint32_t batch;        /* range: numbers in a batch; GPO_AUTO: 1 */
    uint64_t count;        /* range: how many numbers there are, 1 to 2^48. A kernel may use fewer */
    uint64_t capacity;     /* rings: how many tasks fit, for each priority, at most 2^26; rounded up to a power of two
                              from 64 on; GPO_AUTO: 65536, in a host ring 4096 */
    uint32_t task_size;    /* rings: bytes of a task, 16 to 256, a multiple of 16 */
    uint32_t priorities;   /* ring: 1 to 8, with GPO_QUEUE_TICKETS 1; GPO_AUTO: 1. Pops look at priority 0 first */
    uint32_t answer_size;  /* host ring: bytes of an answer, 0 to 256, a multiple of 4; beside them an answer has a
                              status */
    uint32_t tenants;      /* host ring: 1 to 64; GPO_AUTO: 1; with GPO_QUEUE_NO_ANSWERS there is 1 */
    gpo_stream_t stream;   /* the resident stream (stream.h) of a kernel that uses the queue: see "Memory". NULL: there
                              is none; a host ring needs one */
    const char *label;
} gpo_queue_options;

/* Creates a queue. Any stream may use it when the call returns.
 * GPO_INVALID_ARGUMENT: an option is out of range, or is one of another kind, which has to be 0: the message names it;
 *     or the stream is of another device, or isn't resident
 * GPO_INVALID_HANDLE: the stream is of another runtime
 * GPO_OUT_OF_MEMORY: there is no device memory, or no pinned memory
 *
 * Blocks on the GPU for some microseconds, while the memory is initialised; not on work of other streams. Allocating
 * is serialising (runtime.h). A device's first ring also loads the kernel of gpo_queue_push, unless an earlier resident
 * stream has loaded the kernel. Loading is serialising too. The kernel stays loaded until the runtime shuts down, and
 * later rings load nothing. */
GPO_API gpo_status gpo_queue_create(gpo_device_t device, const gpo_queue_options *options, gpo_queue_t *queue);

/* Destroys a queue: see "Memory" above. Blocks on nothing. */
GPO_API gpo_status gpo_queue_destroy(gpo_queue_t queue);

/* Most bytes that a device handle has. */
#define GPO_QUEUE_HANDLE_BYTES 192

/* Writes the value that kernels take as an argument: a gpo::range (64 bytes), gpo::ring (96 bytes) or
 * gpo::host_ring (192 bytes) of device/queue.cuh. `buffer`, `capacity` and `needed` are as for strings (types.h),
 * without a terminator. */
GPO_API gpo_status gpo_queue_get_device_handle(gpo_queue_t queue, void *buffer, size_t capacity, size_t *needed);

/* Range: later work on the stream gets the numbers with the greatest costs first. Uneven work takes the least time if
 * the longest tasks begin first. `costs` has `count` elements, as many as the range has numbers, at most 2^32. Element
 * i is the expected cost of number i, in any unit. Equal costs keep the order of their numbers. `costs` NULL: the
 * numbers come in their own order again, and `count` is ignored.
 *
 * The new order is copied as work of `stream`. No other work that uses the range may run at that time. The first call
 * that gives costs changes the device handle: read it again.
 *
 * GPO_INVALID_ARGUMENT: `count` isn't the range's; a cost is NaN (the message says which); the stream is of another
 *     device
 * GPO_NOT_SUPPORTED: the queue is no range, or has more than 2^32 numbers
 * GPO_CAPTURE_REFUSED: the stream is in capture
 * GPO_WOULD_BLOCK: the stream holds as many operations as it may */
GPO_API gpo_status gpo_queue_set_costs(gpo_queue_t queue, gpo_stream_t stream, const float *costs, uint64_t count);

/* Pushes tasks into a ring, as work of the stream, in their order. Tasks that find no room when the GPU executes the
 * push, or find the ring closed or aborted, are left out and counted (gpo_queue_info.refused): the last of the tasks.
 * Kernels that pop may run before, behind or beside the push. `tasks` are count * task_size bytes, which may be reused
 * when the call returns. `priority` is below the ring's priorities.
 * GPO_INVALID_ARGUMENT: there is no such priority; the stream is of another device
 * GPO_NOT_SUPPORTED: the queue is no ring
 * GPO_OUT_OF_MEMORY: there is no pinned memory for a copy of the tasks
 * GPO_CAPTURE_REFUSED: the stream is in capture
 * GPO_WOULD_BLOCK: the stream holds as many operations as it may */
GPO_API gpo_status gpo_queue_push(gpo_queue_t queue, gpo_stream_t stream, const void *tasks, uint64_t count,
                                  uint32_t priority);

/* Makes a ring empty and open, or has a range begin anew although workers of the previous launch left it early; as work
 * of the stream. No other work that uses the queue may run at that time. May be recorded.
 * GPO_INVALID_ARGUMENT: the stream is of another device
 * GPO_WOULD_BLOCK: the stream holds as many operations as it may; a part of the work may have been put on it */
GPO_API gpo_status gpo_queue_reset(gpo_queue_t queue, gpo_stream_t stream);

/* Closes a ring or host ring: see "The end of a ring" and "Host rings". Takes effect at once, beside running kernels.
 * Has no effect on a ring that is closed or aborted.
 * GPO_NOT_SUPPORTED: the queue is a range, which ends by itself
 * Blocks on the GPU for some microseconds, for a ring; not on work of other streams. */
GPO_API gpo_status gpo_queue_close(gpo_queue_t queue);
/* Aborts a ring or host ring, also a closed one. Otherwise as gpo_queue_close, but blocks on nothing. */
GPO_API gpo_status gpo_queue_abort(gpo_queue_t queue);

/* --- host rings --- */

typedef struct gpo_tenant_options {
    uint32_t struct_size;
    uint32_t reserved;    /* 0 */
    uint64_t limit;       /* most places of the ring that the tenant may take at a time; GPO_AUTO: all */
    gpo_cq_t completions; /* gets an entry for each answer: the task's user_data, the answer's status, origin
                             GPO_ORIGIN_QUEUE. NULL: none */
} gpo_tenant_options;
/* Sets up a tenant. Before, each tenant may take all places and has no completion queue. Answers with bytes
 * (answer_size) wait for gpo_queue_take even with a completion queue. An answer without bytes is taken with its entry.
 * GPO_INVALID_ARGUMENT: there is no such tenant, or `limit` is above the ring's capacity
 * GPO_INVALID_HANDLE: `completions` is of another runtime
 * GPO_INVALID_STATE: tasks of the tenant are not answered, or answers not taken
 * GPO_NOT_SUPPORTED: the queue is no host ring, or one without answers
 * GPO_LIMIT_EXCEEDED: the system has no thread for the completion queues of a host ring */
GPO_API gpo_status gpo_queue_set_tenant(gpo_queue_t queue, uint32_t tenant, const gpo_tenant_options *options);

/* Posts tasks to the kernel, from any thread. `tasks` are count * task_size bytes, which may be reused when the call
 * returns. `*posted` gets how many were posted, from the first on: fewer than `count` if the ring, the tenant's share
 * or its completion queue is full. Task i comes back with user_data + i.
 *
 * GPO_SUCCESS: at least one task was posted, or `count` is 0
 * GPO_WOULD_BLOCK: no task was posted: there is no room
 * GPO_INVALID_ARGUMENT: there is no such tenant
 * GPO_INVALID_STATE: the queue is closed or aborted
 * GPO_NOT_SUPPORTED: the queue is no host ring
 * GPO_STALE_HANDLE: the tenant's completion queue was destroyed: the message says so
 *
 * Blocks on nothing. Several threads may post at once: the tasks of a call stay in their order. */
GPO_API gpo_status gpo_queue_post(gpo_queue_t queue, uint32_t tenant, const void *tasks, uint64_t count,
                                  uint64_t user_data, uint64_t *posted);

/* An answer of a kernel to a task. */
typedef struct gpo_answer {
    uint32_t struct_size; /* set by the library */
    gpo_status status;    /* that the kernel gave */
    uint64_t user_data;   /* of the task */
} gpo_answer;
/* Takes up to `capacity` answers of a tenant, in the order in which they came. `entries` is an array with `stride`
 * bytes from one element to the next: sizeof(gpo_answer). `answers`, which may be NULL, gets answer_size bytes of each,
 * one behind the other. `*count` gets how many were taken, possibly 0. Never blocks.
 * GPO_INVALID_ARGUMENT: there is no such tenant
 * GPO_NOT_SUPPORTED: the queue is no host ring */
GPO_API gpo_status gpo_queue_take(gpo_queue_t queue, uint32_t tenant, gpo_answer *entries, uint64_t stride,
                                  void *answers, uint64_t capacity, uint64_t *count);

/* Waits until an answer of the tenant can be taken.
 * GPO_SUCCESS: an answer can be taken
 * GPO_TIMEOUT: the timeout passed
 * GPO_END: no answer is left, and none will come: the queue is closed, and all tasks of the tenant are answered
 * GPO_CANCELLED: no answer is left, and the queue was aborted or destroyed
 * GPO_INVALID_ARGUMENT: there is no such tenant
 * GPO_INVALID_STATE: no answer can ever be taken: answers have no bytes and go to the tenant's completion queue
 * GPO_NOT_SUPPORTED: the queue is no host ring, or one without answers
 * Any other status: the queue's stream has failed with it
 *
 * Blocks on the GPU until the timeout. In a runtime with GPO_COMPLETION_LATENCY the thread looks for answers without
 * sleeping for a millisecond, otherwise for 20 microseconds. */
GPO_API gpo_status gpo_queue_wait(gpo_queue_t queue, uint32_t tenant, int64_t timeout_ns);

#define GPO_QUEUE_OPEN 0
#define GPO_QUEUE_CLOSED 1
#define GPO_QUEUE_ABORTED 2

/* The state and the counters of a queue. */
typedef struct gpo_queue_info {
    uint32_t struct_size;
    uint32_t kind;         /* GPO_QUEUE_RANGE, … */
    uint32_t state;        /* rings: GPO_QUEUE_OPEN, … */
    uint32_t task_size;
    uint64_t capacity;     /* rings: tasks that fit, for each priority; range: how many numbers there are */
    uint64_t depth;        /* rings: tasks in device memory that wait for a pop */
    uint64_t pushed;       /* rings: tasks pushed. This and the next three: since the ring was created or reset */
    uint64_t popped;
    uint64_t done;
    uint64_t refused;      /* tasks of gpo_queue_push that were left out */
    uint64_t device_bytes; /* device memory that the queue has */
    uint64_t pinned_bytes; /* pinned memory that the host ring has */
    uint64_t posted;       /* host ring: tasks posted */
    uint64_t answered;     /* host ring: answers that came and were seen */
    uint64_t unanswered;   /* host ring: posted, and not answered; without answers: not read by the kernel */
    uint32_t answer_size;
    uint32_t tenants;
} gpo_queue_info;
/* Describes a queue. The numbers are those of one moment only if no kernel uses the queue.
 * Blocks on the GPU for some microseconds, while the numbers are copied; not on work of other streams. */
GPO_API gpo_status gpo_queue_get_info(gpo_queue_t queue, gpo_queue_info *info);

#ifdef __cplusplus
}
#endif

#endif
