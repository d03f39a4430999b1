/* event.h: a point in a stream that can be asked about, waited for and timed. */
#ifndef GPUORCH_EVENT_H
#define GPUORCH_EVENT_H

#include "device.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GPO_EVENT_TIMING 1        /* takes times; without it an event is cheaper for the GPU */
#define GPO_EVENT_BLOCKING_SYNC 2 /* whoever waits for it sleeps at once, in place of spinning for a while */

typedef struct gpo_event_options {
    uint32_t struct_size;
    uint32_t flags; /* GPO_EVENT_* */
    const char *label;
} gpo_event_options;

/* `options` NULL: no timing. */
GPO_API gpo_status gpo_event_create(gpo_device_t device, const gpo_event_options *options, gpo_event_t *event);
/* Whoever is in gpo_event_wait gets GPO_CANCELLED. Streams that wait for its recordings still do, and notifies still
 * come. */
GPO_API gpo_status gpo_event_destroy(gpo_event_t event);

/* Marks the point behind all that was put on the stream so far; what waited for an earlier recording still waits for
 * that one. On a held stream the recording is held too, and the event is not ready meanwhile. GPO_INVALID_ARGUMENT if
 * event and stream are of different devices.
 * On a stream that is captured it marks a point of the graph, which isn't reached at any one time: until the event is
 * recorded outside of a capture, and also when that one has ended, gpo_event_query, _wait, _get_elapsed, _notify and
 * gpo_event_then give GPO_CAPTURE_REFUSED. */
GPO_API gpo_status gpo_event_record(gpo_event_t event, gpo_stream_t stream);

/* GPO_SUCCESS if the last recording has been reached (or there was none), GPO_NOT_READY, or what the work before it
 * failed with. GPO_CAPTURE_REFUSED: see gpo_event_record. */
GPO_API gpo_status gpo_event_query(gpo_event_t event);

/* As query, but waits. GPO_TIMEOUT; GPO_CANCELLED if the event is destroyed or the runtime shut down meanwhile.
 * GPO_WOULD_DEADLOCK inside a host call that the last recording lies behind on its stream, unless the timeout is 0.
 * Blocks on the GPU until the timeout. */
GPO_API gpo_status gpo_event_wait(gpo_event_t event, int64_t timeout_ns);

/* GPU time between two recordings in nanoseconds, with the driver's resolution (about 0.5 us). Negative if `end` came
 * first. GPO_INVALID_ARGUMENT if one has no GPO_EVENT_TIMING or they are of different devices, GPO_NOT_READY while one
 * is pending, GPO_INVALID_STATE if one was never recorded, GPO_CAPTURE_REFUSED as above. */
GPO_API gpo_status gpo_event_get_elapsed(gpo_event_t start, gpo_event_t end, int64_t *nanoseconds);

/* Puts an entry with `user_data` and a status into `cq` when the last recording is reached (at once if there was none):
 * see completion.h. The entry has the failure if the work before that recording fails or has failed, or the device is
 * lost. GPO_WOULD_BLOCK if the queue is full: nothing comes then. GPO_CAPTURE_REFUSED as above. */
GPO_API gpo_status gpo_event_notify(gpo_event_t event, gpo_cq_t cq, uint64_t user_data);

/* The CUevent behind the handle. It is the library's: don't destroy it. */
GPO_API gpo_status gpo_event_get_native(gpo_event_t event, void **native);

#ifdef __cplusplus
}
#endif

#endif
