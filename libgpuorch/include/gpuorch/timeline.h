/* timeline.h: a timeline is a 64-bit number that only rises. The host and the streams of any device wait for one
 * another through it.
 *
 * Raising the number is called *signalling* a value. A value is *reached* when the number is that value or higher. A
 * wait for a value may come before the signal has been submitted. If a stream waits for a value whose signal has not
 * been submitted, the stream is *held* on the host (stream.h).
 *
 * A timeline can *fail*, once and permanently. Then every wait for a value that is not reached fails with the same
 * status.
 *
 * gpo_timeline_notify (completion.h) delivers an entry, and gpo_timeline_then (executor.h) calls a function, when a
 * value is reached or the timeline fails; also for a timeline that has failed already.
 */
#ifndef GPUORCH_TIMELINE_H
#define GPUORCH_TIMELINE_H

#include "runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gpo_timeline_options {
    uint32_t struct_size;
    uint32_t flags; /* 0: there are none yet */
    uint64_t value; /* the initial value */
    const char *label;
} gpo_timeline_options;

/* Creates a timeline. `options` may be NULL: the initial value is 0. */
GPO_API gpo_status gpo_timeline_create(gpo_runtime_t runtime, const gpo_timeline_options *options,
                                       gpo_timeline_t *timeline);

/* Destroys a timeline. A wait ends with GPO_CANCELLED if its value is not reached and no signal that was put on a
 * stream will reach it. All other waits go on, those in gpo_timeline_wait too. A signal that is held behind a wait for
 * itself reaches nothing: see "Streams that hold each other up" in stream.h. */
GPO_API gpo_status gpo_timeline_destroy(gpo_timeline_t timeline);

/* Raises the timeline to `value` from the host, and releases the waits for it. When the call returns, no stream is held
 * for this value any more, nor for work that was held behind such a wait on another stream.
 *
 * GPO_INVALID_ARGUMENT: `value` is not above the value reached; or not above every signal that the GPU has been given;
 *     or a stream is on the way to signal exactly this value
 * GPO_FAILED: the timeline has failed; gpo_timeline_get_value returns the status it has failed with */
GPO_API gpo_status gpo_timeline_signal(gpo_timeline_t timeline, uint64_t value);

/* Fails the timeline with `status`, which must be 50 or above (else GPO_INVALID_ARGUMENT), and a sentence, which may be
 * NULL. If the timeline has failed before, the first failure stays.
 *
 * Waits for values that are not reached fail with `status`. Later waits of streams for these values fail too, even if a
 * signal that would reach the value was submitted before. Only waits that the GPU has been given already go on. */
GPO_API gpo_status gpo_timeline_fail(gpo_timeline_t timeline, gpo_status status, const char *message);

/* Writes the value that has been reached. If the timeline has failed, returns the status of that failure instead. */
GPO_API gpo_status gpo_timeline_get_value(gpo_timeline_t timeline, uint64_t *value);

/* Waits on the host until `value` is reached.
 * GPO_TIMEOUT: the timeout passed
 * GPO_CANCELLED: the runtime was shut down meanwhile; or the timeline was destroyed, and no signal that was put on a
 *     stream will reach `value`
 * Any other status: the timeline has failed with it
 * Blocks until the timeout. */
GPO_API gpo_status gpo_timeline_wait(gpo_timeline_t timeline, uint64_t value, int64_t timeout_ns);

#ifdef __cplusplus
}
#endif

#endif
