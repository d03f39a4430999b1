/* stream.h: queues of GPU work.
 *
 * Operations on one stream run in the order of submission. Streams run beside each other. Every function that puts work
 * on a stream only submits the work and returns. A stream numbers its operations from 1, in the order in which they
 * were accepted.
 *
 * Three more abilities are described where their functions are, or at the end: a stream waits for the host ("Held
 * streams"), runs kernels that stay on the GPU ("Resident streams"), replays sequences that repeat ("Streams that
 * learn").
 *
 * Failures
 *   A failure stays on its stream: once an operation has failed, every operation behind it completes with the same
 *   failure, and new work is refused with it. gpo_object_get_error has the details.
 */
#ifndef GPUORCH_STREAM_H
#define GPUORCH_STREAM_H

#include "event.h"
#include "timeline.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GPO_STREAM_BLOCKING 1 /* this stream and the legacy default stream wait for each other's work, as in CUDA */
#define GPO_STREAM_LEARNS 2   /* experimental: see "Streams that learn" below */
#define GPO_STREAM_RESIDENT 4 /* for kernels that stay on the GPU: see "Resident streams" below */

typedef struct gpo_stream_options {
    uint32_t struct_size;
    uint32_t flags;    /* GPO_STREAM_* */
    int32_t priority;  /* 0 is the default; lower numbers run first; clamped to
                          gpo_device_get_priority_range */
    uint32_t max_held; /* how many operations may be held; GPO_AUTO: 65536. Beyond that calls give GPO_WOULD_BLOCK */
    const char *label;
} gpo_stream_options;

/* Creates a stream. `options` may be NULL: priority 0, and no waiting between this stream and the legacy default
 * stream. A device's first resident stream also loads kernels of the library's own, which is serialising (runtime.h):
 * two small kernels and, while several devices of the runtime are open, the kernels of groups (peers.h). The driver
 * translates the kernels of groups when they are first loaded on a machine.
 * GPO_NOT_SUPPORTED: two of the flags GPO_STREAM_BLOCKING, GPO_STREAM_LEARNS and GPO_STREAM_RESIDENT together */
GPO_API gpo_status gpo_stream_create(gpo_device_t device, const gpo_stream_options *options, gpo_stream_t *stream);

/* Makes a handle for a CUstream of the caller or of another library. `native` is a stream of this device's context, or
 * NULL or 1 for the legacy default stream. Only the label of `options` is used; `options` may be NULL.
 *
 * The CUstream must exist until the handle is destroyed and the last work put on the handle is done. The library never
 * destroys the CUstream.
 *
 * The stream may be in capture. The legacy stream counts as in capture while any blocking stream of its context is. If
 * the handle is destroyed during a capture, the library no longer waits for the work that the stream was given before
 * the capture.
 *
 * GPO_INVALID_ARGUMENT: the stream is of another context
 * GPO_NOT_SUPPORTED: `native` is 2, the per-thread default stream: it is a different stream in every thread, and the
 *     library's threads would get their own; or options.flags has GPO_STREAM_LEARNS or GPO_STREAM_RESIDENT */
GPO_API gpo_status gpo_stream_wrap(gpo_device_t device, void *native, const gpo_stream_options *options,
                                   gpo_stream_t *stream);

/* Destroys a stream's handle. Work that was put on the stream still runs. Held work is still released or failed later;
 * for held work that no handle can release, see "Streams that hold each other up". gpo_device_wait and
 * gpo_runtime_shutdown wait for the stream's work as before. Blocks on nothing.
 * GPO_INVALID_STATE: the stream belongs to a pool, or is the stream that a pipeline gives to its stages */
GPO_API gpo_status gpo_stream_destroy(gpo_stream_t stream);

/* Writes the least and the greatest priority that streams of the device can have. Lower numbers are greater priorities,
 * so greatest <= least. Both are 0 if the device has no priorities. Either pointer may be NULL. */
GPO_API gpo_status gpo_device_get_priority_range(gpo_device_t device, int32_t *least, int32_t *greatest);

/* Properties and counters of a stream. */
typedef struct gpo_stream_info {
    uint32_t struct_size;
    uint32_t flags;
    int32_t priority;      /* that the driver gave the stream */
    uint32_t wrapped;      /* 1: made by gpo_stream_wrap */
    uint64_t accepted;     /* number of the newest operation */
    uint64_t completed;    /* number of the newest operation that the library has seen completed */
    uint64_t held;         /* how many operations are held now */
    gpo_device_t device;   /* the handle that the stream was made from; may be stale */
    uint64_t replayed;     /* how many operations of a stream that learns were launched as parts of learned sequences */
    uint32_t learned;      /* how many operations the learned sequence has; 0: no sequence is learned now */
    uint32_t reserved;     /* 0 */
} gpo_stream_info;
/* Writes what the library knows of a stream. Doesn't ask the driver. */
GPO_API gpo_status gpo_stream_get_info(gpo_stream_t stream, gpo_stream_info *info);

/* Writes the CUstream behind the handle. Don't destroy the CUstream: the library owns it, unless the stream was
 * wrapped. Work that is put on the CUstream directly is not held back while the stream is held (see "Held streams"). */
GPO_API gpo_status gpo_stream_get_native(gpo_stream_t stream, void **native);

/* Says whether all work that was put on the stream is done.
 * GPO_SUCCESS: it is done
 * GPO_NOT_READY: it is not done
 * GPO_CAPTURE_REFUSED: the stream is in capture
 * Any other status: the stream has failed with it, even if earlier work still runs */
GPO_API gpo_status gpo_stream_query(gpo_stream_t stream);

/* Waits for all work that was put on the stream before the call.
 * GPO_TIMEOUT: the timeout passed. A failed stream returns this too, even with timeout 0, until the work that the GPU
 *     was given before the failure has ended
 * GPO_WOULD_DEADLOCK: called in a host call (executor.h) on this stream, with a timeout other than 0
 * GPO_CAPTURE_REFUSED: the stream is in capture
 * Any other status: the stream has failed with it, and the work that the GPU was given before has ended
 * Blocks on the GPU until the timeout. */
GPO_API gpo_status gpo_stream_wait(gpo_stream_t stream, int64_t timeout_ns);

/* Held streams
 *   A stream waits on the host for two things: for a timeline value whose signal has not been submitted yet, and for a
 *   host call (executor.h). Meanwhile the stream is *held*: operations that are put on it are kept on the host, and are
 *   given to the driver when the signal is on its way or the host call has ended. The GPU itself therefore never waits
 *   for the host.
 *   Held work can be cancelled, and it fails if the timeline fails. The work then completes with GPO_CANCELLED or the
 *   timeline's status, and never runs.
 *   A wrapped stream (gpo_stream_wrap) is never held: a call that would hold it returns GPO_NOT_SUPPORTED.
 *
 * Streams that hold each other up
 *   A stream may wait for a timeline value whose signal is held behind that wait: on the same stream, or on other
 *   streams that are held for one another by timelines, events or gpo_stream_wait_stream. The cycle stays held while a
 *   handle exists that can end it: a handle of a stream in the cycle (gpo_stream_cancel_held) or of a timeline in it
 *   (gpo_timeline_signal, gpo_timeline_fail). gpo_device_wait names the cycle when it times out. Soon after the last of
 *   these handles is destroyed, the streams of the cycle fail: their held work completes with GPO_CANCELLED, and the
 *   error names the streams and what they waited for. The timelines whose signals were held in the cycle fail in the
 *   same way.
 */

/* Cancels all operations that are held on the stream: they complete with GPO_CANCELLED. The stream can be used again.
 * `count`, which may be NULL, gets the number of operations that were cancelled. */
GPO_API gpo_status gpo_stream_cancel_held(gpo_stream_t stream, uint64_t *count);

/* --- order between streams --- */

/* Makes later work on the stream wait, on the GPU, until the event's newest recording is complete. The host doesn't
 * wait. An event that was never recorded counts as complete. The event may be of another device of the same runtime. A
 * stream that waits for an event recorded in a capture joins that capture. On a stream in capture an event with
 * GPO_EVENT_EXTERNAL becomes a node of the graph instead, which waits at each launch (event.h).
 * GPO_CAPTURE_REFUSED: the stream is in capture, and the event was recorded outside of that capture; or the event's
 *     newest recording was made in a capture that has ended. The stream is unchanged */
GPO_API gpo_status gpo_stream_wait_event(gpo_stream_t stream, gpo_event_t event);

/* Makes later work on `stream` wait, on the GPU, until all work that was put on `other` before the call is done. The
 * host doesn't wait. If `other` is in capture, `stream` joins that capture.
 * GPO_CAPTURE_REFUSED: only `stream` is in capture, or the two are in different captures */
GPO_API gpo_status gpo_stream_wait_stream(gpo_stream_t stream, gpo_stream_t other);

/* Makes later work on the stream wait until the timeline reaches `value`. If the signal has been submitted to some
 * stream, the GPU waits. Otherwise the stream is held (see "Held streams"). The host doesn't wait.
 * GPO_NOT_SUPPORTED: the stream is wrapped and would have to be held
 * GPO_CAPTURE_REFUSED: the stream is in capture, and the value is not reached
 * Any other status: the timeline has failed with it, and the value is not reached */
GPO_API gpo_status gpo_stream_wait_timeline(gpo_stream_t stream, gpo_timeline_t timeline, uint64_t value);

/* Raises the timeline to `value` when all work that was put on the stream before the call is done. If the timeline is
 * already higher at that moment, nothing changes. If the work before fails, the timeline fails with the same failure.
 * GPO_INVALID_ARGUMENT, GPO_FAILED: as gpo_timeline_signal
 * GPO_CAPTURE_REFUSED: the stream is in capture */
GPO_API gpo_status gpo_stream_signal_timeline(gpo_stream_t stream, gpo_timeline_t timeline, uint64_t value);

/* --- pools: a number of streams that users share --- */

typedef struct gpo_stream_pool_options {
    uint32_t struct_size;
    uint32_t flags;            /* 0: there are none yet */
    uint32_t streams;          /* streams for each priority; GPO_AUTO: 4 */
    uint32_t priorities;       /* how many priorities, from 0 upwards to greater ones; GPO_AUTO: 1; at most as many as
                                  the device has */
    const char *label;
} gpo_stream_pool_options;
/* Creates a pool and all of its streams: `streams` for each of `priorities`. `options` may be NULL: 4 streams of
 * priority 0.
 * GPO_INVALID_ARGUMENT: that would be more than 1024 streams */
GPO_API gpo_status gpo_stream_pool_create(gpo_device_t device, const gpo_stream_pool_options *options,
                                          gpo_stream_pool_t *pool);

/* Destroys a pool. Its streams are destroyed when their work is done. Handles of streams that are acquired become
 * stale. */
GPO_API gpo_status gpo_stream_pool_destroy(gpo_stream_pool_t pool);

/* Acquires a stream of the priority nearest to `priority`: a stream with the fewest users and, among several, with the
 * least pending work. Several users may share a stream, so a call never blocks and never fails for lack of streams.
 * Give the stream back with gpo_stream_pool_release; it must not be destroyed. */
GPO_API gpo_status gpo_stream_pool_acquire(gpo_stream_pool_t pool, int32_t priority, gpo_stream_t *stream);

/* Gives an acquired stream back. Its work goes on.
 * GPO_INVALID_ARGUMENT: the stream was not acquired from this pool */
GPO_API gpo_status gpo_stream_pool_release(gpo_stream_pool_t pool, gpo_stream_t stream);

/* Resident streams
 *   A stream that is made with GPO_STREAM_RESIDENT is for kernels that stay on the GPU until the program ends them: a
 *   kernel that serves a queue, or a graph whose WHILE goes on. Work on a resident stream is *resident work*.
 *   Resident work delays neither gpo_device_wait nor frees of memory, nor the return of memory by arenas and pools.
 *   Waits for the stream itself are as with any stream: gpo_stream_wait, gpo_stream_query, notifies, events, and a free
 *   behind it (gpo_arena_free_after).
 *   Memory that resident work uses must stay allocated until gpo_stream_wait of the stream has succeeded, or an event
 *   behind the work is complete: also memory that only an argument of a graph refers to. The library itself holds
 *   references to kernels, modules, graphs and the memory of their templates, even if their handles are destroyed.
 *   Resident streams are recorded like other streams. A launch of a graph is resident work if the graph is launched on
 *   a resident stream.
 *   Some calls of the driver wait for all kernels of a device: they would return only when the resident work has ended.
 *   While a device has resident work, no call of this library waits in the driver for it:
 *   - Device memory is freed as always (gpo_memory_free, templates, queues).
 *   - Pinned memory, modules and some graphs that are no longer used go back to the driver only when the resident work
 *     of that moment has ended: arenas that are trimmed or destroyed, pinned memory of templates, queues and pipelines,
 *     modules, graphs that kernels may launch or that have conditional or memory nodes.
 *     gpo_statistics.put_off counts these. If some resident stream always has work, none of them goes back.
 *   - Modules can't be loaded: gpo_module_compile, gpo_module_load, gpo_module_load_builtin, gpo_scheduler_create and
 *     the measuring gpo_device_get_costs return GPO_INVALID_STATE, and the message names the resident stream. The first
 *     gpo_module_get_kernel for a kernel is refused in the same way. Load modules, and get their kernels, before the
 *     resident work begins; they can be launched at any time.
 *   - Groups of several devices can't load their kernels either: gpo_peers_create returns GPO_INVALID_STATE, unless the
 *     kernels were loaded before, as they are for each resident stream that is made while several devices are open.
 *     Calls for which NCCL or NVSHMEM would have to begin or load something are refused too (peers.h, symmetric.h).
 *   - gpo_peers_destroy is the exception: of a group that uses NCCL it waits for the resident work.
 *   - gpo_host_unregister, and gpo_device_set_limit of GPO_LIMIT_STACK_BYTES, return GPO_INVALID_STATE too.
 *   - Streams and graphs are made as long as there is room for them. The driver takes memory for some forty of them at
 *     a time, and then it waits for all kernels (driver 580). The library has it take memory for 256 of them, and for
 *     2048 nodes of graphs, when the first resident stream is made. It does so again, while there is no resident work,
 *     when a stream or a graph is made and less than half is left. A stream or a queue takes one place of the 256. A
 *     graph takes one for each branch and each body, and one for each node with several nodes before it. Destroyed
 *     objects make room again. Beyond that, calls that make streams, queues or graphs return GPO_INVALID_STATE, and the
 *     message names the resident stream; a stream that learns replays nothing.
 *   - The driver also waits when a kernel begins that needs more local memory than any kernel before. The driver has to
 *     take that memory before the resident work begins. The library makes it do so for each kernel of
 *     gpo_module_get_kernel, but not for kernels of imported graphs or of the program's own launches.
 *   - All else goes on as without resident work: allocations, registering memory, pools, events, copies, templates,
 *     pipelines, executors, traces, groups of one device, symmetric memory and collectives.
 *   The library knows only the resident work that the program puts on a resident stream through the library. Driver
 *   calls that the program makes itself still wait for resident work.
 *   A kernel on another stream that waits for the host is a kernel like any other. Beside it device memory is freed,
 *   and objects are destroyed, without waiting. Calls that serialise the device (runtime.h), however, wait until the
 *   kernel has ended. Other calls may wait as long, if pinned memory, a module or a graph is going back to the driver
 *   when the kernel begins. Put such kernels on a resident stream.
 */

/* Streams that learn (experimental)
 *   A stream that is made with GPO_STREAM_LEARNS detects sequences of launches, copies and fills that repeat, and
 *   launches each sequence as one CUDA graph. For small kernels a graph launch costs the host, and often the GPU, a
 *   fraction of the separate launches. Arguments, shapes, addresses, lengths and values may differ from one repetition
 *   to the next. The kernels, and the directions of copies, may not. A sequence has 2 to 64 operations, and ends at the
 *   latest where anything else is put on the stream, or where the stream is waited for or queried.
 *   Nothing else about the stream changes: operations are accepted, numbered and counted as before. While a sequence
 *   repeats, its operations are *withheld*: they are accepted, and the GPU gets all of them with the last. If the next
 *   operation differs from the sequence, or if any other call concerns the stream, the GPU first gets the withheld
 *   operations.
 *   Operations that have been withheld for 50 to 100 us start by themselves. If the driver refuses withheld work, the
 *   call that has put the work on the stream has returned already, and the stream fails, as with held work.
 *   A sequence has no launches with flags or clusters, no rows or batches, and no copies or fills of memory that the
 *   library doesn't know.
 *   Waits of the driver's own (cuCtxSynchronize) don't know of withheld work: use gpo_stream_wait or gpo_device_wait.
 *   A stream keeps learned kernels alive until it learns others or is destroyed. From gpo_stream_get_native on, during
 *   a recording, and while a trace is recorded, a stream learns and replays nothing. gpo_stream_info says what a stream
 *   has learned.
 */

#ifdef __cplusplus
}
#endif

#endif
