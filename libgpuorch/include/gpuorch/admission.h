/* admission.h: how many requests may use a GPU at a time, and how much memory they may take.
 *
 * An *admission* has two budgets: a count of places, and bytes. A request asks for some of both. If the request fits,
 * it is *admitted* at once and holds its part of the budgets until the program gives that part back. If it doesn't fit,
 * it waits in a bounded line. gpo_admission_enter never blocks. An entry in a completion queue, or a callback, reports
 * the admission or a failure.
 *
 *     gpo_admission_request request = {.struct_size = sizeof request, .bytes = size, .flow = client};
 *     gpo_admission_enter(admission, &request, cq, user_data, &ticket);
 *     …                                              // the entry comes: GPO_SUCCESS
 *     gpo_copy_to_device(stream, …);                 // work of the request
 *     gpo_admission_leave_after(admission, ticket, stream);
 *
 * Overload is thus a status at the door (GPO_WOULD_BLOCK), and neither a line that grows nor a failed allocation in the
 * middle of the work. An admission allocates no memory of the device itself: bytes are the program's own estimates.
 *
 * Order of admission
 *   - A request of a lower number of priority goes first, always. Requests of the other priorities wait meanwhile.
 *   - Within a priority, *flows* take turns. A flow is a number of the program's choice: a tenant, a connection. Each
 *     flow gets a share of the budgets in proportion to its weight, regardless of how many requests it has waiting
 *     (deficit round robin: M. Shreedhar and G. Varghese, 1995). A request costs the larger one of its two shares of
 *     the budgets.
 *   - Within a flow, requests are admitted in the order of their calls.
 *   - The next request in this order waits until it fits. No smaller request passes it, so a large request isn't
 *     starved by small ones. A request whose deadline passes, or that is cancelled, leaves the line.
 *
 * Threads. Any thread may make any call. The functions here don't block. In a host node (template.h) they fail.
 *
 * Admissions and other work. A waiting request has put no work on any stream, so an admission holds up no stream.
 * gpo_admission_leave_after works on the same streams as gpo_stream_then, held, learning and resident streams included.
 * The place comes back when the work in front of the call has ended, also by a failure. During a capture or a recording
 * of the stream the call is refused (GPO_CAPTURE_REFUSED). An admission counts requests of this process only.
 */
#ifndef GPUORCH_ADMISSION_H
#define GPUORCH_ADMISSION_H

#include "executor.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gpo_admission_options {
    uint32_t struct_size;
    uint32_t flags;      /* 0: there are none yet */
    uint64_t count;      /* budget: places; GPO_AUTO: unlimited */
    uint64_t bytes;      /* budget: bytes; GPO_AUTO: unlimited */
    uint32_t capacity;   /* how many requests may wait at a time; GPO_AUTO: 65536; at most 2^20 */
    uint32_t priorities; /* 1 to 16; GPO_AUTO: 1 */
    gpo_pool_t pool;     /* a pool of device memory that is watched; NULL: none */
    uint64_t high_bytes; /* bytes in use of the pool, above which admissions pause */
    uint64_t low_bytes;  /* bytes in use of the pool, at or below which they go on; at most high_bytes; GPO_AUTO: nine
                            tenths of high_bytes */
    const char *label;
} gpo_admission_options;

/* Creates an admission. `options` may be NULL: nothing is limited, until gpo_admission_set_budget.
 *
 * The watched pool is looked at on each of its allocations and frees. Destroying the pool's handle ends the watch.
 * GPO_INVALID_ARGUMENT: an option is out of range, or there are watermarks without a pool, or a pool without
 *     `high_bytes`
 * GPO_INVALID_HANDLE: the pool is of another runtime */
GPO_API gpo_status gpo_admission_create(gpo_runtime_t runtime, const gpo_admission_options *options,
                                        gpo_admission_t *admission);

/* Destroys an admission. Waiting requests end with GPO_CANCELLED. Places that are held need not be given back any more.
 * gpo_runtime_shutdown, too, ends all waiting requests with GPO_CANCELLED. */
GPO_API gpo_status gpo_admission_destroy(gpo_admission_t admission);

typedef struct gpo_admission_request {
    uint32_t struct_size;
    uint32_t priority;    /* 0 goes first; below the admission's number of priorities */
    uint64_t count;       /* places; GPO_AUTO: 1 */
    uint64_t bytes;       /* 0: none */
    uint64_t flow;        /* any number */
    uint64_t deadline_ns; /* CLOCK_MONOTONIC; 0 and UINT64_MAX: none. A request that still waits then ends with
                             GPO_TIMEOUT, soon after that time */
} gpo_admission_request;

/* Asks for a place. `request` may be NULL: one place, no bytes, flow 0. `cq` gets one entry with `user_data`, the
 * origin GPO_ORIGIN_ADMISSION and the ticket in `operation`, perhaps before the call returns. Statuses of the entry:
 *     GPO_SUCCESS: the request was admitted, and holds its place until gpo_admission_leave or _leave_after
 *     GPO_TIMEOUT: its deadline passed first
 *     GPO_CANCELLED: gpo_admission_cancel, the admission or the queue was destroyed, or the runtime shuts down
 *     GPO_LIMIT_EXCEEDED: a budget was lowered below what the request asks for
 * After a failure the ticket is invalid. `*ticket` is never 0.
 *
 * The call itself can fail, without an entry and without effect.
 * GPO_WOULD_BLOCK: the line has no room, or the queue is full
 * GPO_TIMEOUT: the deadline has passed already
 * GPO_LIMIT_EXCEEDED: the request asks for more than a whole budget, or 2^24 requests wait or hold places
 * GPO_INVALID_ARGUMENT: there is no such priority */
GPO_API gpo_status gpo_admission_enter(gpo_admission_t admission, const gpo_admission_request *request, gpo_cq_t cq,
                                       uint64_t user_data, uint64_t *ticket);

/* Like gpo_admission_enter, but calls `callback` on `executor` (executor.h) in place of an entry. If the executor is
 * destroyed while the request waits, the callback gets GPO_CANCELLED and the request has left the line. `*ticket` is
 * written before the callback can run. If the executor is destroyed during this call, `*ticket` may stay as it was.
 * GPO_WOULD_BLOCK: the line or the executor has no room; the callback is never called */
GPO_API gpo_status gpo_admission_enter_then(gpo_admission_t admission, const gpo_admission_request *request,
                                            gpo_executor_t executor, gpo_completion_fn callback, void *user,
                                            uint64_t *ticket);

/* Takes a waiting request out of the line. Its entry has GPO_CANCELLED.
 * GPO_INVALID_STATE: the request was admitted: give its place back
 * GPO_NOT_FOUND: no request with this ticket waits or holds a place */
GPO_API gpo_status gpo_admission_cancel(gpo_admission_t admission, uint64_t ticket);

/* Gives a place back at once. Waiting requests that fit now are admitted before the call returns.
 * GPO_INVALID_STATE: the request still waits; or its place is being given back behind a stream
 * GPO_NOT_FOUND: no request with this ticket waits or holds a place */
GPO_API gpo_status gpo_admission_leave(gpo_admission_t admission, uint64_t ticket);

/* Gives a place back in stream order: when all work that is on the stream now has ended, also by a failure. The stream
 * must be of the admission's runtime. A failed call has no effect: the place is still held.
 *
 * Statuses as gpo_admission_leave, and:
 * GPO_CAPTURE_REFUSED: the stream is in capture
 * GPO_WOULD_BLOCK: the stream holds as many operations as it may */
GPO_API gpo_status gpo_admission_leave_after(gpo_admission_t admission, uint64_t ticket, gpo_stream_t stream);

/* Changes the budgets: `count` places and `bytes` bytes, UINT64_MAX: unlimited. A raised budget admits waiting requests
 * before the call returns. A lowered budget takes effect as places come back. Waiting requests that ask for more than a
 * lowered budget end with GPO_LIMIT_EXCEEDED: with a `count` of 0, all of them. */
GPO_API gpo_status gpo_admission_set_budget(gpo_admission_t admission, uint64_t count, uint64_t bytes);

/* Sets the weight of a flow, 1 to 2^16, from its next turn on. Flows have the weight 1 at first.
 * GPO_INVALID_ARGUMENT: `weight` is out of range
 * GPO_LIMIT_EXCEEDED: 65536 flows have other weights than 1 */
GPO_API gpo_status gpo_admission_set_flow(gpo_admission_t admission, uint64_t flow, uint32_t weight);

/* [i] counts times of at most 2^i microseconds and more than half that; [0]: up to 1 microsecond; the last: longer */
#define GPO_ADMISSION_TIMES 32

typedef struct gpo_admission_info {
    uint32_t struct_size;
    uint32_t paused;          /* 1: the watched pool has too much in use, and no request is admitted */
    uint64_t count;           /* the budgets; UINT64_MAX: unlimited */
    uint64_t bytes;
    uint64_t held;            /* requests that hold places now */
    uint64_t held_count;      /* their places */
    uint64_t held_bytes;      /* their bytes */
    uint64_t waiting;         /* requests that wait now */
    uint64_t waiting_bytes;   /* their bytes */
    uint64_t waiting_flows;   /* flows with waiting requests, counted for each priority */
    uint64_t admitted;        /* requests since the admission was created: admitted */
    uint64_t refused;         /* refused with GPO_WOULD_BLOCK, because the line had no room */
    uint64_t too_large;       /* refused or ended with GPO_LIMIT_EXCEEDED */
    uint64_t expired;         /* refused or ended with GPO_TIMEOUT */
    uint64_t cancelled;       /* ended with GPO_CANCELLED */
    uint64_t wait_ns;         /* time that the admitted requests waited, added up */
    uint64_t longest_wait_ns; /* the longest one of these times */
    uint64_t wait_times[GPO_ADMISSION_TIMES]; /* these times, counted by their length */
} gpo_admission_info;

/* Describes an admission at one moment. */
GPO_API gpo_status gpo_admission_get_info(gpo_admission_t admission, gpo_admission_info *info);

#ifdef __cplusplus
}
#endif

#endif
