/* stream.h: queues of GPU work.
 *
 * What is put on one stream runs in that order; streams run beside each other. Every function that puts work on a
 * stream only submits it. Operations of a stream are numbered from 1 in the order in which they were accepted.
 *
 * Held streams. When a stream waits for a timeline value that nobody has submitted the signal of, or for a host call
 * (executor.h), what is put on it from then on is *held* on the host and given to the driver when the signal is on its
 * way: the GPU itself never waits for the host. Held work can still be cancelled, and fails if the timeline does; it
 * then completes with that status and never runs. Work that the host puts on the stream's native handle directly is not
 * held back. A wrapped stream is never held: a call that would hold it returns GPO_NOT_SUPPORTED.
 *
 * Streams that hold each other up. A stream may wait for a timeline value whose signal is held behind that wait: on the
 * same stream, or through other streams that are held for one another by timelines, events or gpo_stream_wait_stream.
 * Such a cycle stays held for as long as a handle is left that can end it: that of one of its streams
 * (gpo_stream_cancel_held), or of one of the timelines (gpo_timeline_signal, gpo_timeline_fail); gpo_device_wait names
 * it when it times out. When the last of these handles is destroyed the streams of the cycle fail: what is held on them
 * completes with GPO_CANCELLED, soon after, and the error names the streams and what they waited for. So do the
 * timelines whose signals were held there.
 *
 * Failures stick: once an operation of a stream has failed, everything behind it completes with the same failure, and
 * new work is refused with it (gpo_object_get_error has the details).
 */
#ifndef GPUORCH_STREAM_H
#define GPUORCH_STREAM_H

#include "event.h"
#include "timeline.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GPO_STREAM_BLOCKING 1 /* waits for work on the legacy stream, and that for this: for programs that need it */

typedef struct gpo_stream_options {
    uint32_t struct_size;
    uint32_t flags;    /* GPO_STREAM_* */
    int32_t priority;  /* 0 is the default; lower numbers run first; clamped to the device's range */
    uint32_t max_held; /* operations that may be held; GPO_AUTO: 65536. Beyond it calls give GPO_WOULD_BLOCK */
    const char *label;
} gpo_stream_options;

/* `options` NULL: non-blocking against the legacy stream, priority 0. */
GPO_API gpo_status gpo_stream_create(gpo_device_t device, const gpo_stream_options *options, gpo_stream_t *stream);

/* Makes a handle for a CUstream of the caller's or another library's: one of this device's context (else
 * GPO_INVALID_ARGUMENT), or NULL or 1 for the legacy default stream. It must stay until the handle is destroyed and its
 * last work is done; the library never destroys it. It may be in capture, as which counts, for the legacy stream, that
 * any blocking stream of the context is; if the handle is destroyed during a capture, what the stream was given before
 * that is no longer waited for. Of the options only the label counts.
 * GPO_NOT_SUPPORTED for 2, the per-thread default stream: that is another stream in each thread, those of the library
 * among them. */
GPO_API gpo_status gpo_stream_wrap(gpo_device_t device, void *native, const gpo_stream_options *options,
                                   gpo_stream_t *stream);

/* What was put on the stream still runs; what is held is still released or failed (see "Streams that hold each other
 * up" for what nobody can release). gpo_device_wait and gpo_runtime_shutdown wait for it as before. Blocks on nothing.
 * GPO_INVALID_STATE for a stream of a pool, and for the one that a pipeline gives to its stages. */
GPO_API gpo_status gpo_stream_destroy(gpo_stream_t stream);

/* The least and the greatest priority of the device's streams: greatest <= least, both 0 where there are none. Either
 * pointer may be NULL. */
GPO_API gpo_status gpo_device_get_priority_range(gpo_device_t device, int32_t *least, int32_t *greatest);

typedef struct gpo_stream_info {
    uint32_t struct_size;
    uint32_t flags;
    int32_t priority;      /* as the driver took it */
    uint32_t wrapped;      /* 1: made by gpo_stream_wrap */
    uint64_t accepted;     /* number of the newest operation */
    uint64_t completed;    /* number of the newest operation that was seen done */
    uint64_t held;         /* operations held now */
    gpo_device_t device;   /* the handle that it was made from; may be stale */
} gpo_stream_info;
/* What is known of a stream, without asking the driver. */
GPO_API gpo_status gpo_stream_get_info(gpo_stream_t stream, gpo_stream_info *info);

/* The CUstream behind the handle. It is the library's, unless it was wrapped: don't destroy it. */
GPO_API gpo_status gpo_stream_get_native(gpo_stream_t stream, void **native);

/* GPO_SUCCESS if all that was put on the stream is done, GPO_NOT_READY, or, at once, its failure. GPO_CAPTURE_REFUSED
 * while the stream is captured. */
GPO_API gpo_status gpo_stream_query(gpo_stream_t stream);

/* Waits for all that was put on the stream before the call. GPO_TIMEOUT. If the stream has failed: its failure, once
 * what the GPU was given before has ended; until then GPO_TIMEOUT, with timeout 0 too. GPO_WOULD_DEADLOCK in a host
 * call on the stream, unless the timeout is 0; GPO_CAPTURE_REFUSED while the stream is captured. Blocks on the GPU
 * until the timeout. */
GPO_API gpo_status gpo_stream_wait(gpo_stream_t stream, int64_t timeout_ns);

/* Cancels what is held on the stream: it completes with GPO_CANCELLED, and the stream is usable again.
 * `count` (may be NULL) gets how many operations that were. */
GPO_API gpo_status gpo_stream_cancel_held(gpo_stream_t stream, uint64_t *count);

/* --- order between streams --- */

/* What comes next on the stream waits, on the GPU, until the event's last recording is reached; the host goes on. An
 * event never recorded is reached. The event may be of another device of the same runtime. A stream that waits for an
 * event recorded in a capture joins that capture; GPO_CAPTURE_REFUSED on a stream that is captured, for an event
 * recorded anywhere else. */
GPO_API gpo_status gpo_stream_wait_event(gpo_stream_t stream, gpo_event_t event);

/* What comes next on `stream` waits likewise until all that is on `other` by now is done. If `other` is captured,
 * `stream` joins that capture; GPO_CAPTURE_REFUSED if only `stream` is captured, or the two are in different
 * captures. */
GPO_API gpo_status gpo_stream_wait_stream(gpo_stream_t stream, gpo_stream_t other);

/* What comes next on the stream waits until the timeline reaches `value`: on the GPU if the signal has been submitted
 * to some stream, else by holding the stream. The timeline's failure, if it has failed and `value` isn't reached.
 * GPO_NOT_SUPPORTED if a wrapped stream would have to be held. GPO_CAPTURE_REFUSED on a stream that is captured, unless
 * the value is reached. */
GPO_API gpo_status gpo_stream_wait_timeline(gpo_stream_t stream, gpo_timeline_t timeline, uint64_t value);

/* Raises the timeline to `value` when the stream gets there; if it is further by then, nothing changes. If work before
 * it fails, the timeline fails with it. GPO_INVALID_ARGUMENT and GPO_FAILED as gpo_timeline_signal; GPO_CAPTURE_REFUSED
 * on a stream that is captured. */
GPO_API gpo_status gpo_stream_signal_timeline(gpo_stream_t stream, gpo_timeline_t timeline, uint64_t value);

/* --- pools --- */

typedef struct gpo_stream_pool_options {
    uint32_t struct_size;
    uint32_t flags;            /* none yet */
    uint32_t streams;          /* per priority; GPO_AUTO: 4 */
    uint32_t priorities;       /* levels, from 0 to greater priority; GPO_AUTO: 1; capped by the device's range */
    const char *label;
} gpo_stream_pool_options;
/* Makes all of its streams: `streams` for each of `priorities` levels, 1024 at most (else GPO_INVALID_ARGUMENT).
 * `options` NULL: 4 of priority 0. */
GPO_API gpo_status gpo_stream_pool_create(gpo_device_t device, const gpo_stream_pool_options *options,
                                          gpo_stream_pool_t *pool);

/* Its streams go with it, when their work is done: handles of streams that are out become stale. */
GPO_API gpo_status gpo_stream_pool_destroy(gpo_stream_pool_t pool);

/* Hands out the stream of the level nearest to `priority` that has the fewest users, and of those the least work
 * pending. Several users may share a stream. Never blocks, never fails for lack of streams. Give it back with
 * _release; it must not be destroyed. */
GPO_API gpo_status gpo_stream_pool_acquire(gpo_stream_pool_t pool, int32_t priority, gpo_stream_t *stream);

/* GPO_INVALID_ARGUMENT for a stream that is not out of this pool. Its work goes on. */
GPO_API gpo_status gpo_stream_pool_release(gpo_stream_pool_t pool, gpo_stream_t stream);

#ifdef __cplusplus
}
#endif

#endif
