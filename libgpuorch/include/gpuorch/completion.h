/* completion.h: completion queues: the host learns that GPU work is done, without waiting for it.
 *
 * gpo_stream_notify puts a *mark* on a stream, behind all work that is on the stream at the call. When that work is
 * done, an *entry* with the caller's 64-bit number appears in a completion queue. The host *drains* the queue (takes
 * entries out) when it likes.
 *
 *     gpo_stream_notify(stream, cq, 42);
 *     gpo_cq_wait(cq, -1);
 *     gpo_cq_drain(cq, entries, sizeof entries[0], 16, &count);
 *
 * A program with an event loop of its own doesn't call gpo_cq_wait. The loop watches the queue's descriptor
 * (gpo_cq_get_fd) for reading, and drains when the descriptor is readable. A program that prefers callbacks uses an
 * executor (executor.h).
 *
 * What is promised
 *   - A notify that was accepted produces exactly one entry with a status, regardless of what happens to the work.
 *   - Entries of one stream come in the order of their marks.
 *   - A mark has no measurable cost for the GPU.
 *   - The entry reports a failure of the work, whether the work fails after the notify or has failed before it. The
 *     rule holds for streams, events, timelines and pipelines, and for callbacks (executor.h). A notify function itself
 *     fails only if the call is wrong or can't be served: an argument, a full queue, a capture, no memory, a runtime
 *     that shuts down.
 *
 * The end of a queue
 *   gpo_runtime_shutdown delivers every entry that was accepted. A queue outlives its runtime, and the program can
 *   still read the last results: the functions of this header whose only handle is the queue go on working until
 *   gpo_cq_destroy. Once the runtime shuts down and no entry will come any more, gpo_cq_drain and gpo_cq_wait return
 *   GPO_SHUT_DOWN as soon as the queue is empty, and the descriptor stays readable. A loop that drains until
 *   GPO_SHUT_DOWN therefore sees every entry. A queue that is never destroyed costs memory until the process ends: 80
 *   bytes for each entry of its capacity (rounded up to a power of two), and some 10 KiB.
 */
#ifndef GPUORCH_COMPLETION_H
#define GPUORCH_COMPLETION_H

#include "stream.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gpo_cq_options {
    uint32_t struct_size;
    uint32_t flags;    /* 0: there are none yet */
    uint32_t capacity; /* entries in the queue and accepted notifies together; GPO_AUTO: 4096; at most 2^24 */
    uint32_t reserved; /* 0 */
    const char *label;
} gpo_cq_options;

/* Creates a queue of a runtime, for work of all its devices. `options` may be NULL: the defaults.
 * GPO_INVALID_ARGUMENT: `capacity` is above 2^24 */
GPO_API gpo_status gpo_cq_create(gpo_runtime_t runtime, const gpo_cq_options *options, gpo_cq_t *cq);

/* Destroys a queue, before or after its runtime's shutdown. Entries that were not drained are dropped, and so are
 * entries of accepted notifies that have not come yet. Threads in gpo_cq_wait return GPO_CANCELLED. After the runtime's
 * shutdown the handle of a destroyed queue gives GPO_INVALID_HANDLE. */
GPO_API gpo_status gpo_cq_destroy(gpo_cq_t cq);

/* Kind of object that an entry is about. */
#define GPO_ORIGIN_STREAM 1
#define GPO_ORIGIN_EVENT 2
#define GPO_ORIGIN_PIPELINE 3
#define GPO_ORIGIN_TIMELINE 4
#define GPO_ORIGIN_QUEUE 5 /* an answer to a task of a host ring: queue.h */
#define GPO_ORIGIN_ADMISSION 6 /* a request for a place: admission.h */
#define GPO_ORIGIN_BATCHER 7   /* a request of a batcher: batcher.h */
#define GPO_ORIGIN_EXECUTOR 8  /* a callback that was posted: executor.h */

typedef struct gpo_completion {
    uint32_t struct_size;     /* set by the library */
    gpo_status status;        /* GPO_SUCCESS, or the failure of the work */
    uint64_t user_data;       /* the number that was given to the notify */
    uint32_t origin;          /* GPO_ORIGIN_* */
    uint32_t reserved;
    uint64_t operation;       /* stream: number of the newest operation before the mark; timeline: the value; queue: the
                                 tenant; admission and batcher: the ticket; event and pipeline: meaningless */
    uint64_t submitted_ns;    /* CLOCK_MONOTONIC at the notify, or at the post */
    uint64_t completed_ns;    /* CLOCK_MONOTONIC when the library saw that the work was done */
    int64_t gpu_ns;           /* gpo_stream_notify_timed: GPU time since the given event; otherwise -1 */
    uint64_t error_id;        /* if the work has failed: for gpo_cq_get_error */
} gpo_completion;

/* Puts a mark behind all work that is on the stream now. When that work is done, `cq` gets an entry with `user_data`.
 * `cq` must be of the stream's runtime.
 *
 * If the stream fails or has failed, the entry has that failure. The entry comes when the work that the GPU was given
 * before the failure has ended. Memory that the work used can then be reused.
 *
 * GPO_WOULD_BLOCK: the queue is full: accepted notifies count as long as their entries have not been drained. No mark
 *     was put and no entry will come
 * GPO_CAPTURE_REFUSED: the stream is in capture */
GPO_API gpo_status gpo_stream_notify(gpo_stream_t stream, gpo_cq_t cq, uint64_t user_data);

/* Like gpo_stream_notify, and the entry's `gpu_ns` has the GPU time from the newest recording of `since` to the mark.
 * `gpu_ns` is -1 if that recording is not complete before the mark, or if the event is recorded again before the
 * library sees the mark: use several events for several measurements at a time. Costs the GPU two time stamps, about 1
 * us.
 *
 * Statuses as gpo_stream_notify, and:
 * GPO_INVALID_ARGUMENT: `since` was made without GPO_EVENT_TIMING, or was not recorded on the same device
 * GPO_CAPTURE_REFUSED: `since` was recorded in a capture */
GPO_API gpo_status gpo_stream_notify_timed(gpo_stream_t stream, gpo_cq_t cq, uint64_t user_data, gpo_event_t since);

/* Puts an entry into `cq` when the timeline reaches `value`, at once if it has. If the timeline fails, or has failed,
 * the entry has its failure. If the timeline is destroyed and no signal that was put on a stream will reach `value`,
 * the entry has GPO_CANCELLED.
 * GPO_WOULD_BLOCK: the queue is full; no entry will come */
GPO_API gpo_status gpo_timeline_notify(gpo_timeline_t timeline, uint64_t value, gpo_cq_t cq, uint64_t user_data);

/* Takes up to `capacity` entries out of the queue and writes them to the array `entries`. `stride` is the distance of
 * the array's elements in bytes: sizeof(gpo_completion), or the smaller size of an older header, at least 24. `*count`
 * gets the number of entries taken. Never blocks. Several threads may drain a queue; each entry goes to one of them.
 * GPO_SUCCESS: also if there was no entry (`*count` is 0)
 * GPO_SHUT_DOWN: the queue is empty (`*count` is 0) and no entry will come: the runtime is shutting down or has shut
 *     down, and every accepted entry has been drained */
GPO_API gpo_status gpo_cq_drain(gpo_cq_t cq, gpo_completion *entries, uint64_t stride, uint64_t capacity,
                                uint64_t *count);

/* Waits until the queue has an entry or gpo_cq_wake is called. While the runtime shuts down and entries are still to
 * come, the call waits for them. In a runtime with GPO_COMPLETION_LATENCY the thread spins for a while before it
 * sleeps.
 *
 * GPO_SUCCESS: there is an entry, or gpo_cq_wake was called
 * GPO_TIMEOUT: the timeout passed
 * GPO_SHUT_DOWN, at once: the queue is empty, the runtime is shutting down or has shut down, and no entry will come
 * GPO_CANCELLED: the queue is empty and was destroyed meanwhile; or, while the runtime shuts down, the shutdown timed
 *     out before an entry came, or this call was made in a callback of the runtime, which the shutdown waits for
 *
 * Blocks until the timeout. */
GPO_API gpo_status gpo_cq_wait(gpo_cq_t cq, int64_t timeout_ns);

/* Makes one gpo_cq_wait, in progress or the next, return GPO_SUCCESS, and makes the descriptor readable. Any thread may
 * call it. Several wakes before a wait count as one. */
GPO_API gpo_status gpo_cq_wake(gpo_cq_t cq);

/* Writes a file descriptor that is readable when there may be something to drain, for epoll, poll, kqueue-like loops,
 * libuv, asyncio, Go's poller and others. Each call makes a duplicate, which the caller closes; closing it does the
 * queue no harm. The descriptor is non-blocking and is closed on exec.
 *
 * - Watch the descriptor for reading. Never read or write the descriptor: gpo_cq_drain does all that is needed.
 * - Readability is a hint: a wake may stand for many entries, or for none. Only the result of gpo_cq_drain counts.
 * - A single drain per wake is enough, with any capacity: if the drain leaves entries in the queue, the descriptor
 *   becomes readable again. Level-triggered and edge-triggered pollers both work. More drains do no harm.
 * - Any number of threads may poll duplicates and drain. Each entry goes to one of them, so `user_data` should identify
 *   the waiter.
 * - gpo_cq_wake, from any thread, makes the descriptor readable until the next drain.
 * - At the end of the queue the descriptor stays readable: drains return the entries that are left, then GPO_SHUT_DOWN.
 *   After gpo_cq_destroy the descriptor stays readable too: the next drain returns GPO_STALE_HANDLE, or
 *   GPO_INVALID_HANDLE if the runtime was shut down before.
 *
 * Delivering entries costs a system call only for the first entry after a drain, and none before the first call of this
 * function.
 * GPO_LIMIT_EXCEEDED: the process has no descriptor left */
GPO_API gpo_status gpo_cq_get_fd(gpo_cq_t cq, int32_t *descriptor);

/* Writes the details of a failed entry. The queue stores them for its last 256 failures.
 * GPO_NOT_FOUND: there are no details with this number, or not any more */
GPO_API gpo_status gpo_cq_get_error(gpo_cq_t cq, uint64_t error_id, gpo_error *error);

/* Counters of a completion queue. */
typedef struct gpo_cq_statistics {
    uint32_t struct_size;
    uint32_t capacity;
    uint64_t accepted;  /* notifies accepted */
    uint64_t delivered; /* entries put into the queue */
    uint64_t drained;   /* entries taken out */
    uint64_t refused;   /* notifies refused because the queue was full */
} gpo_cq_statistics;
/* Reads the counts since the queue was created. Blocks on nothing. */
GPO_API gpo_status gpo_cq_get_statistics(gpo_cq_t cq, gpo_cq_statistics *statistics);

#ifdef __cplusplus
}
#endif

#endif
