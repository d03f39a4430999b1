/* event.h: an event is a point in a stream. The host can query an event, wait for it and be notified of it. Other
 * streams can wait for it. The GPU time between two events can be read.
 *
 * gpo_event_record puts a *recording* on a stream. The recording is *complete* when all work that was put on the stream
 * before it is done. An event can be recorded again; the functions here refer to its newest recording. An event that
 * was never recorded counts as complete.
 *
 * Graphs
 *   A graph that has the event as a node (gpo_template_add_event_record) records it too: each launch is a recording,
 *   which is complete when the launch has come as far as that node. If the launch is held (stream.h), the recording is
 *   held from the moment that the launch is accepted. To time parts of a graph, let the graph record two events with
 *   GPO_EVENT_TIMING, and call gpo_event_get_elapsed.
 *   If the program records an event by the event's native handle, or launches a graph that records the event by the
 *   graph's native handle, the library asks the driver.
 *
 * Capture
 *   An event that was recorded on a stream in capture marks a point in the captured graph, which is complete at no
 *   particular time. Other streams join the capture by waiting for it (template.h). Until the event is recorded outside
 *   of a capture, or by the launch of a graph, gpo_event_query, gpo_event_wait, gpo_event_get_elapsed,
 *   gpo_event_notify, gpo_event_then and gpo_stream_notify_timed return GPO_CAPTURE_REFUSED, also after that capture
 *   has ended. Once the capture has ended, gpo_stream_wait_event does too, and so does the launch of a graph with a
 *   node that waits for the event.
 *   An event with GPO_EVENT_EXTERNAL marks no point, and no stream joins a capture by it. Recorded on a stream in
 *   capture, or waited for there, it becomes a node of the graph, as gpo_template_add_event_record and
 *   gpo_template_add_event_wait add: each launch records the event, or waits for its newest recording. Everywhere else
 *   such an event is like any other.
 */
#ifndef GPUORCH_EVENT_H
#define GPUORCH_EVENT_H

#include "device.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GPO_EVENT_TIMING 1        /* records GPU times; an event without them costs the GPU less */
#define GPO_EVENT_BLOCKING_SYNC 2 /* a thread that waits for the event sleeps at once and doesn't spin first */
#define GPO_EVENT_INTERPROCESS 4  /* other processes can import it (interprocess.h); with none but
                                     GPO_EVENT_BLOCKING_SYNC */
#define GPO_EVENT_EXTERNAL 8      /* on a stream in capture it becomes a node of the graph (see above) */

typedef struct gpo_event_options {
    uint32_t struct_size;
    uint32_t flags; /* GPO_EVENT_* */
    const char *label;
} gpo_event_options;

/* Creates an event, which is not recorded yet. `options` may be NULL: no timing.
 * GPO_INVALID_ARGUMENT: GPO_EVENT_INTERPROCESS is set, and GPO_EVENT_TIMING or GPO_EVENT_EXTERNAL too
 * GPO_NOT_SUPPORTED: GPO_EVENT_INTERPROCESS in a deterministic runtime
 * With GPO_EVENT_INTERPROCESS it serialises the device (runtime.h). */
GPO_API gpo_status gpo_event_create(gpo_device_t device, const gpo_event_options *options, gpo_event_t *event);
/* Destroys an event. Threads in gpo_event_wait return GPO_CANCELLED. Streams that wait for a recording of the event go
 * on waiting for it, and entries that gpo_event_notify promised still come. */
GPO_API gpo_status gpo_event_destroy(gpo_event_t event);

/* Records the event behind all work that was put on the stream before the call. Waits for an earlier recording still
 * wait for that recording. On a held stream (stream.h) the recording is held too, and the event is incomplete
 * meanwhile. On a stream in capture the event marks a point in the graph, or becomes a node of it (see above).
 * GPO_INVALID_ARGUMENT: event and stream are of different devices */
GPO_API gpo_status gpo_event_record(gpo_event_t event, gpo_stream_t stream);

/* Says whether the newest recording is complete.
 * GPO_SUCCESS: it is complete, or the event was never recorded
 * GPO_NOT_READY: it is not complete
 * GPO_CAPTURE_REFUSED: it was made in a capture (see above)
 * Any other status: the failure of the work before the recording */
GPO_API gpo_status gpo_event_query(gpo_event_t event);

/* Waits until the newest recording is complete. Statuses as gpo_event_query, except GPO_NOT_READY, and:
 * GPO_TIMEOUT: the timeout passed
 * GPO_CANCELLED: the event was destroyed or the runtime shut down meanwhile
 * GPO_WOULD_DEADLOCK: called with a timeout other than 0 in a host call (executor.h), and the newest recording is
 *     behind that host call on its stream
 * Blocks on the GPU until the timeout. */
GPO_API gpo_status gpo_event_wait(gpo_event_t event, int64_t timeout_ns);

/* Writes the GPU time from the newest recording of `start` to that of `end`, in nanoseconds, with the driver's
 * resolution (about 0.5 us). Negative if `end` was complete first.
 * GPO_INVALID_ARGUMENT: an event was made without GPO_EVENT_TIMING, or the events are of different devices
 * GPO_NOT_READY: a recording is not complete
 * GPO_INVALID_STATE: an event was never recorded
 * GPO_CAPTURE_REFUSED: a recording was made in a capture (see above) */
GPO_API gpo_status gpo_event_get_elapsed(gpo_event_t start, gpo_event_t end, int64_t *nanoseconds);

/* Puts an entry into `cq` (completion.h) when the newest recording is complete, at once if the event was never
 * recorded. The entry has `user_data` and a status: GPO_SUCCESS, or the failure if the work before that recording fails
 * or has failed or the device is lost.
 * GPO_WOULD_BLOCK: the queue is full; no entry will come
 * GPO_CAPTURE_REFUSED: the recording was made in a capture (see above) */
GPO_API gpo_status gpo_event_notify(gpo_event_t event, gpo_cq_t cq, uint64_t user_data);

/* Writes the CUevent behind the handle. The library owns it: don't destroy it.
 * GPO_NOT_SUPPORTED: the event was made with GPO_EVENT_INTERPROCESS, or is imported */
GPO_API gpo_status gpo_event_get_native(gpo_event_t event, void **native);

#ifdef __cplusplus
}
#endif

#endif
