/* completion.h: learning that GPU work is done, without waiting for it.
 *
 * gpo_stream_notify marks a point in a stream. When the GPU has got there, an entry with the caller's 64-bit number
 * appears in a completion queue, which the host drains when it likes. A mark costs the GPU nothing that can be
 * measured. Marks of one stream come out in their order. Whatever happens to the work, the entry comes, exactly once,
 * with a status.
 *
 * A failure is told by the entry, whether the work fails after the notify or has failed before it. That holds for
 * streams, events, timelines and pipelines, and for callbacks (executor.h). A notify itself fails only where the call is
 * at fault or can't be served: an argument, a full queue, a capture, no memory, a runtime that shuts down.
 *
 *     gpo_stream_notify(stream, cq, 42);
 *     gpo_cq_wait(cq, -1);
 *     gpo_cq_drain(cq, entries, sizeof entries[0], 16, &count);
 *
 * A program with an event loop of its own doesn't wait in gpo_cq_wait: it watches the queue's descriptor
 * (gpo_cq_get_fd) for reading, and drains when the loop says so. A program that would rather be called makes an
 * executor (executor.h).
 *
 * The end of a queue. gpo_runtime_shutdown delivers every entry that was accepted. A queue outlives its runtime as a
 * list of what happened: the functions of this header that take the queue alone go on working with its handle until
 * gpo_cq_destroy. Once the runtime shuts down and nothing more will come, gpo_cq_drain and gpo_cq_wait give
 * GPO_SHUT_DOWN as soon as the queue is empty, and the descriptor is readable for good. So a loop that drains until it
 * is told GPO_SHUT_DOWN sees every entry. A queue that is never destroyed costs its memory until the process ends:
 * 80 bytes for each entry of its capacity (rounded up to a power of two), and some 10 KiB.
 */
#ifndef GPUORCH_COMPLETION_H
#define GPUORCH_COMPLETION_H

#include "stream.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gpo_cq_options {
    uint32_t struct_size;
    uint32_t flags;    /* none yet */
    uint32_t capacity; /* entries, accepted notifies included; GPO_AUTO: 4096; at most 2^24 */
    uint32_t reserved; /* 0 */
    const char *label;
} gpo_cq_options;

/* A queue of a runtime, for work of all its devices. `options` NULL: the defaults. GPO_INVALID_ARGUMENT for a capacity
 * above 2^24. */
GPO_API gpo_status gpo_cq_create(gpo_runtime_t runtime, const gpo_cq_options *options, gpo_cq_t *cq);

/* Entries not drained are dropped, and so are those that notifies still owe; whoever waits in gpo_cq_wait gets
 * GPO_CANCELLED. Works before and after the runtime's shutdown. A queue destroyed after it is GPO_INVALID_HANDLE from
 * then on. */
GPO_API gpo_status gpo_cq_destroy(gpo_cq_t cq);

/* What a completion tells about. */
#define GPO_ORIGIN_STREAM 1
#define GPO_ORIGIN_EVENT 2
#define GPO_ORIGIN_PIPELINE 3
#define GPO_ORIGIN_TIMELINE 4

typedef struct gpo_completion {
    uint32_t struct_size;     /* set by the library */
    gpo_status status;        /* 0, or what the work failed with */
    uint64_t user_data;
    uint32_t origin;          /* GPO_ORIGIN_* */
    uint32_t reserved;
    uint64_t operation;       /* of streams: number of the newest operation before the mark; of timelines: the value;
                                 of events and pipelines nothing that means anything */
    uint64_t submitted_ns;    /* CLOCK_MONOTONIC at the notify */
    uint64_t completed_ns;    /* CLOCK_MONOTONIC when it was seen done */
    int64_t gpu_ns;           /* with gpo_stream_notify_timed: GPU time since the given event; else -1 */
    uint64_t error_id;        /* with a failure: for gpo_cq_get_error */
} gpo_completion;

/* Marks the point behind all that is on the stream now. GPO_WOULD_BLOCK if the queue is full, counting what was
 * accepted and has not been drained: nothing is marked then. GPO_CAPTURE_REFUSED on a stream that is captured. On a
 * stream that has failed the entry comes with that failure, when what the GPU was given before it has ended: memory
 * that was in use is free then. `cq` must be of the same runtime. */
GPO_API gpo_status gpo_stream_notify(gpo_stream_t stream, gpo_cq_t cq, uint64_t user_data);

/* The same, and the entry says how much GPU time lies between the newest recording of `since` (an event with
 * GPO_EVENT_TIMING, recorded on the same device; else GPO_INVALID_ARGUMENT; GPO_CAPTURE_REFUSED if in a capture) and the
 * mark. -1 if that recording isn't reached before the mark, or if the event is recorded again before the mark is seen: for
 * several at a time take several events. Costs the GPU two time stamps, about a microsecond. */
GPO_API gpo_status gpo_stream_notify_timed(gpo_stream_t stream, gpo_cq_t cq, uint64_t user_data, gpo_event_t since);

/* Puts an entry into `cq` when the timeline has reached `value` (at once if it has), or with what it failed with, or
 * with GPO_CANCELLED when it is destroyed and no signal put on a stream will reach the value. GPO_WOULD_BLOCK if the
 * queue is full: nothing comes then. */
GPO_API gpo_status gpo_timeline_notify(gpo_timeline_t timeline, uint64_t value, gpo_cq_t cq, uint64_t user_data);

/* Takes up to `capacity` entries out of the queue into an array with `stride` bytes from one to the next (sizeof
 * (gpo_completion), or a smaller, older size of at least 24). Never blocks. GPO_SUCCESS with `*count` 0 if there is
 * none. GPO_SHUT_DOWN, with `*count` 0, if there is none and none will come: the runtime shuts down or has shut down,
 * and every accepted entry has been drained. Several threads may drain; each entry goes to one. */
GPO_API gpo_status gpo_cq_drain(gpo_cq_t cq, gpo_completion *entries, uint64_t stride, uint64_t capacity,
                                uint64_t *count);

/* Waits until the queue has an entry, or gpo_cq_wake was called. GPO_SUCCESS; GPO_TIMEOUT. Of an empty queue:
 * GPO_SHUT_DOWN, at once, if the runtime shuts down or has shut down and no entry will come; GPO_CANCELLED if the queue
 * is destroyed meanwhile. While the runtime shuts down and entries are still to come, the call waits for them, and
 * gives GPO_CANCELLED if the shutdown times out first, or if the call is made in a callback of the runtime, which the
 * shutdown waits for. In a runtime with GPO_COMPLETION_LATENCY it spins for a while before it sleeps. Blocks until the
 * timeout. */
GPO_API gpo_status gpo_cq_wait(gpo_cq_t cq, int64_t timeout_ns);

/* Makes one gpo_cq_wait, in progress or next, return GPO_SUCCESS, and the descriptor readable. From any thread; wakes
 * don't add up. */
GPO_API gpo_status gpo_cq_wake(gpo_cq_t cq);

/* Gives a descriptor that is readable when there may be something to drain, for epoll, poll, kqueue-like loops, libuv,
 * asyncio, Go's poller … Each call makes a duplicate: it is the caller's to close, which does the queue no harm. It is
 * non-blocking and closed on exec.
 *
 * - Watch it for reading; never read or write it: gpo_cq_drain does what is to be done about it.
 * - It is a hint. One wake may stand for many entries, and one may come for none. What counts is what drain returns.
 * - One drain per wake is enough, whatever its capacity: where it leaves entries behind, the descriptor becomes
 *   readable anew. That holds for level-triggered pollers and for edge-triggered ones. Drain as often as you like
 *   beyond that.
 * - Any number of threads may poll duplicates and drain; each entry goes to one of them. An entry's user_data is
 *   whatever leads from it to the one who waits for it.
 * - gpo_cq_wake makes it readable until the next drain, from any thread.
 * - The end of the queue makes it readable for good: a drain returns the entries that are left, then GPO_SHUT_DOWN. So
 *   does destroying the queue: the drain that follows returns GPO_STALE_HANDLE, or GPO_INVALID_HANDLE if the runtime was
 *   shut down before.
 *
 * Delivering costs a system call only for the first entry after a drain, and none before the first call of this
 * function. GPO_LIMIT_EXCEEDED if the process has no descriptor left. */
GPO_API gpo_status gpo_cq_get_fd(gpo_cq_t cq, int32_t *descriptor);

/* The details behind a failed entry. Kept for the queue's last 256 failures. GPO_NOT_FOUND. */
GPO_API gpo_status gpo_cq_get_error(gpo_cq_t cq, uint64_t error_id, gpo_error *error);

typedef struct gpo_cq_statistics {
    uint32_t struct_size;
    uint32_t capacity;
    uint64_t accepted;  /* notifies */
    uint64_t delivered; /* entries put into the queue */
    uint64_t drained;
    uint64_t refused;   /* notifies that met a full queue */
} gpo_cq_statistics;
/* Counts since the queue was made. Blocks on nothing. */
GPO_API gpo_status gpo_cq_get_statistics(gpo_cq_t cq, gpo_cq_statistics *statistics);

#ifdef __cplusplus
}
#endif

#endif
