/* timeline.h: a 64-bit number that only rises, on which the host and streams of any device wait for one another.
 *
 * Whoever reaches a point signals a value; whoever needs it waits for that value or a higher one, in any order: a wait
 * may come before anybody has submitted its signal. A stream whose wait has no signal on the way yet is *held*
 * (stream.h). A timeline can be failed, once and for all: all who wait for a value that it has not reached fail with
 * it. gpo_timeline_notify (completion.h) and gpo_timeline_then (executor.h) tell that by an entry and by a callback, also
 * of a timeline that has failed before.
 */
#ifndef GPUORCH_TIMELINE_H
#define GPUORCH_TIMELINE_H

#include "runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gpo_timeline_options {
    uint32_t struct_size;
    uint32_t flags; /* none yet */
    uint64_t value; /* to begin with */
    const char *label;
} gpo_timeline_options;

/* `options` NULL: begins with 0. */
GPO_API gpo_status gpo_timeline_create(gpo_runtime_t runtime, const gpo_timeline_options *options,
                                       gpo_timeline_t *timeline);

/* Every wait for a value that is not reached, and that no signal put on a stream will reach, ends with GPO_CANCELLED.
 * The others, those in gpo_timeline_wait included, go on. Signals that are held behind waits for themselves reach
 * nothing: see "Streams that hold each other up" in stream.h. */
GPO_API gpo_status gpo_timeline_destroy(gpo_timeline_t timeline);

/* Raises the value from the host and releases all who waited for it: no stream is held for it any more when the call
 * returns, nor for what was held behind such a wait on another stream. GPO_INVALID_ARGUMENT unless `value` is above the
 * value reached and above every signal that the GPU has been given, and no stream is on the way to signal just this
 * one. GPO_FAILED if the timeline has failed: gpo_timeline_get_value tells with what. */
GPO_API gpo_status gpo_timeline_signal(gpo_timeline_t timeline, uint64_t value);

/* Fails the timeline with a status of 50 or above (else GPO_INVALID_ARGUMENT), and a sentence (may be NULL). The first
 * failure stays. All who wait for a value that isn't reached fail with it, and so does what is put on streams to wait
 * for one from now on, even where a signal that would reach it was submitted before. Only waits that the GPU has been
 * given by now go on. */
GPO_API gpo_status gpo_timeline_fail(gpo_timeline_t timeline, gpo_status status, const char *message);

/* The value that has been reached; its failure instead, if it has failed. */
GPO_API gpo_status gpo_timeline_get_value(gpo_timeline_t timeline, uint64_t *value);

/* Waits on the host. GPO_TIMEOUT; the timeline's failure; GPO_CANCELLED if the runtime is shut down meanwhile, or the
 * timeline is destroyed and no signal put on a stream will reach the value. Blocks until the timeout. */
GPO_API gpo_status gpo_timeline_wait(gpo_timeline_t timeline, uint64_t value, int64_t timeout_ns);

#ifdef __cplusplus
}
#endif

#endif
