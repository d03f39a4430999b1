/* executor.h: callbacks when GPU work is done, at a time or at once, and host functions in the order of a stream.
 *
 * An executor calls functions of the program: on threads of its own, or on threads of the program that run it.
 * Executors are the other form of completion.h: a call takes the place of an entry in a queue. The same threads may
 * serve the program's own tasks. asio/executor.hpp makes an executor one of Asio's.
 *
 *     gpo_executor_create(runtime, NULL, &executor);
 *     gpo_stream_then(stream, executor, when_done, request);
 *     gpo_executor_post(executor, next_task, task);
 *
 * Rules for every callback
 *
 * - Exactly once. A function that takes a callback and returns GPO_SUCCESS has accepted the callback. An accepted
 *   callback is called exactly once, with a status, regardless of what happens to the work. If the function returns
 *   another status, the callback is never called. Work that has failed already is no reason for another status: the
 *   callback reports the failure (completion.h).
 * - Destruction. An executor that is being destroyed accepts nothing: a function that comes too late returns
 *   GPO_STALE_HANDLE and its callback is never called, also inside the callbacks that gpo_executor_destroy calls. A
 *   callback that was accepted before is called with the result if the work is done, otherwise with GPO_CANCELLED.
 * - Order. An executor runs the callbacks of a stream one at a time, in the order of acceptance. Callbacks of different
 *   streams, events, timelines and pipelines may run at the same time on different threads.
 * - Threads. Callbacks run on the executor's threads, or inside gpo_executor_run, gpo_executor_run_for and
 *   gpo_executor_poll. When the executor is torn down, they may also run inside gpo_executor_destroy and
 *   gpo_runtime_shutdown. Callbacks run under no lock of the library.
 * - Permissions. A callback may block (the executor's other threads go on), call any function of the library and of
 *   CUDA, and destroy the object that called the callback, such as the stream or the executor. A call that would wait
 *   for the callback itself returns GPO_WOULD_DEADLOCK: gpo_runtime_shutdown, and gpo_executor_run and
 *   gpo_executor_run_for on the same executor. In a host call also: gpo_stream_wait for its stream, gpo_event_wait for
 *   an event recorded behind it there, and gpo_device_wait.
 * - Exceptions. A C++ exception that leaves a callback is caught, logged with GPO_LOG_ERROR and counted; a host call
 *   has then failed, and the failure's message has the exception's text. (In a program that is linked with a C++
 *   runtime of its own instead of libstdc++.so, std::uncaught_exceptions() keeps counting the exception.)
 */
#ifndef GPUORCH_EXECUTOR_H
#define GPUORCH_EXECUTOR_H

#include "completion.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GPO_EXECUTOR_CALLER 1 /* no threads: callbacks run in gpo_executor_run, gpo_executor_run_for and
                                 gpo_executor_poll */
#define GPO_EXECUTOR_SPIN 2   /* while callbacks are pending, one idle thread spins: faster, but uses a core */
#define GPO_EXECUTOR_SLEEP 4  /* idle threads sleep. GPO_EXECUTOR_SPIN and this exclude each other; without both it is
                                 GPO_EXECUTOR_SPIN in a runtime with GPO_COMPLETION_LATENCY, else this */

typedef struct gpo_executor_options {
    uint32_t struct_size;
    uint32_t flags;    /* GPO_EXECUTOR_* */
    uint32_t threads;  /* the executor's own threads; GPO_AUTO: 2; at most 256. 0 with GPO_EXECUTOR_CALLER */
    uint32_t capacity; /* how many callbacks may be accepted and not run; GPO_AUTO: 65536; at most 2^24. Beyond that
                          functions return GPO_WOULD_BLOCK */
    const char *label;
} gpo_executor_options;

/* Creates an executor and starts its threads. `options` may be NULL: the defaults.
 * GPO_LIMIT_EXCEEDED: the system has no thread left */
GPO_API gpo_status gpo_executor_create(gpo_runtime_t runtime, const gpo_executor_options *options,
                                       gpo_executor_t *executor);

/* Destroys an executor. Every accepted callback is still called: with the result if the work is done, otherwise with
 * GPO_CANCELLED (the work itself goes on).
 *
 * If the executor has threads, they call the callbacks and then end, and this function returns at once. With
 * GPO_EXECUTOR_CALLER, the callbacks are called inside this function; if another thread is inside gpo_executor_run,
 * gpo_executor_run_for or gpo_executor_poll on this executor, the callbacks are called inside that function.
 *
 * Host calls that are not finished end with GPO_CANCELLED, and so does the work behind them on their streams.
 *
 * gpo_runtime_shutdown waits, until its timeout, for the pending callbacks of all executors. For an executor with
 * GPO_EXECUTOR_CALLER that no other thread runs, gpo_runtime_shutdown runs the callbacks itself. */
GPO_API gpo_status gpo_executor_destroy(gpo_executor_t executor);

/* Runs callbacks on the calling thread until no accepted callback is pending. Several threads may run an executor, also
 * an executor with threads of its own. `count`, which may be NULL, gets how many callbacks this call has run.
 * GPO_SUCCESS: no callback is pending
 * GPO_CANCELLED: the executor was destroyed meanwhile
 * GPO_WOULD_DEADLOCK: called in a callback of the same executor
 * Blocks on the GPU and in callbacks. */
GPO_API gpo_status gpo_executor_run(gpo_executor_t executor, uint64_t *count);

/* Like gpo_executor_run, but ends after `timeout_ns`. A callback that is running at that time is finished first.
 * GPO_TIMEOUT: callbacks are still pending */
GPO_API gpo_status gpo_executor_run_for(gpo_executor_t executor, int64_t timeout_ns, uint64_t *count);

/* Runs the callbacks that are due and returns GPO_SUCCESS, also if there was none. `count` as in gpo_executor_run.
 * Blocks only in callbacks. */
GPO_API gpo_status gpo_executor_poll(gpo_executor_t executor, uint64_t *count);

/* Counters of an executor. */
typedef struct gpo_executor_statistics {
    uint32_t struct_size;
    uint32_t threads;
    uint64_t accepted;  /* callbacks, host calls and log lines that were accepted */
    uint64_t called;    /* called, and returned */
    uint64_t cancelled; /* called with GPO_CANCELLED: the executor was destroyed, or gpo_executor_cancel */
    uint64_t threw;     /* left by a C++ exception */
    uint64_t refused;   /* refused for lack of room, with log lines */
    uint64_t pending;   /* accepted and not returned yet */
} gpo_executor_statistics;
/* Reads the counts since the executor was created. Blocks on nothing. */
GPO_API gpo_status gpo_executor_get_statistics(gpo_executor_t executor, gpo_executor_statistics *statistics);

/* `completion->user_data` is `user` as a number. `error` has the details of a failure; it is NULL if there is none.
 * Both are valid during the call. */
typedef void (*gpo_completion_fn)(void *user, const gpo_completion *completion, const gpo_error *error);

/* --- callbacks that wait for no work --- */

/* Calls `callback` as soon as a thread runs the executor and is free, with GPO_SUCCESS and the origin
 * GPO_ORIGIN_EXECUTOR. Never calls it inside this function, unless the executor is destroyed meanwhile and has no
 * threads (gpo_executor_destroy). Callbacks begin in the order in which they were posted;
 * several may run at the same time on different threads. Any thread may call this, also a callback, and a host node of
 * a graph.
 * GPO_WOULD_BLOCK: the executor has no room; the callback is never called
 * GPO_SHUT_DOWN: the runtime is shutting down */
GPO_API gpo_status gpo_executor_post(gpo_executor_t executor, gpo_completion_fn callback, void *user);

/* Calls `callback` when it is `time_ns` of CLOCK_MONOTONIC (gpo_executor_get_time), at once if that has passed.
 * UINT64_MAX: never; such a callback keeps gpo_executor_run inside until it is cancelled. `*ticket`, for
 * gpo_executor_cancel, is written before the callback can run, and is never 0; `ticket` may be NULL. A callback may be
 * late, because no thread is free or a thread wakes up late, but never early. With GPO_EXECUTOR_CALLER, times come
 * inside the functions that run the executor.
 * gpo_executor_destroy and gpo_runtime_shutdown don't wait for times: callbacks that still wait for one then get
 * GPO_CANCELLED.
 * GPO_WOULD_BLOCK, GPO_SHUT_DOWN: as in gpo_executor_post */
GPO_API gpo_status gpo_executor_post_at(gpo_executor_t executor, uint64_t time_ns, gpo_completion_fn callback,
                                        void *user, uint64_t *ticket);

/* The time now, by the clock of gpo_executor_post_at: CLOCK_MONOTONIC, and in deterministic mode
 * (gpo_runtime_options.schedule_seed) the virtual clock. */
GPO_API gpo_status gpo_executor_get_time(gpo_executor_t executor, uint64_t *time_ns);

/* Lets a callback that still waits for its time be called at once, with GPO_CANCELLED, as if it had been posted now.
 * GPO_NOT_FOUND: no callback with this ticket waits for a time: its time has come, or it was cancelled */
GPO_API gpo_status gpo_executor_cancel(gpo_executor_t executor, uint64_t ticket);

/* --- callbacks when work is done --- */

/* Calls `callback` when all work that is on the stream now is done: as gpo_stream_notify.
 * GPO_WOULD_BLOCK (here and in the next three functions): the executor has no room; the callback is never called */
GPO_API gpo_status gpo_stream_then(gpo_stream_t stream, gpo_executor_t executor, gpo_completion_fn callback,
                                   void *user);

/* Calls `callback` when the event's newest recording is complete or has failed: as gpo_event_notify. */
GPO_API gpo_status gpo_event_then(gpo_event_t event, gpo_executor_t executor, gpo_completion_fn callback, void *user);

/* Calls `callback` when the timeline reaches `value` or can't reach it any more: as gpo_timeline_notify. */
GPO_API gpo_status gpo_timeline_then(gpo_timeline_t timeline, uint64_t value, gpo_executor_t executor,
                                     gpo_completion_fn callback, void *user);

/* Calls `callback` when the pipeline's run has ended: as gpo_pipeline_notify. */
GPO_API gpo_status gpo_pipeline_then(gpo_pipeline_t pipeline, gpo_executor_t executor, gpo_completion_fn callback,
                                     void *user);

/* --- host calls: host functions in the order of a stream --- */

typedef struct gpo_host_call {
    uint32_t struct_size;
    gpo_status status;      /* GPO_SUCCESS: do the work. Otherwise the work before the host call has failed or was
                               cancelled: the function must not do its work, but only release its resources, and its
                               result is ignored */
    uint64_t call;          /* the call's number, for gpo_host_call_finish */
    const gpo_error *error; /* details of `status`; NULL if that is GPO_SUCCESS. Valid during the call */
} gpo_host_call;

/* The function of a host call returns:
 * GPO_SUCCESS: the work is done, and the stream goes on
 * GPO_NOT_READY: the work is not finished yet, and the stream stays held until gpo_host_call_finish
 * Any other status: the work has failed, and the stream fails with GPO_CALLBACK_FAILED */
typedef gpo_status (*gpo_host_fn)(void *user, const gpo_host_call *call);

/* Puts a host call on a stream: `function` runs on the executor when all work before it on the stream is done. Work
 * behind it is held on the host until the host call is finished (stream.h), so the GPU itself never waits for it. The
 * function may call CUDA. If the function fails, all work behind the host call completes with this failure and never
 * runs.
 *
 * The function is called exactly once, even if it must not do its work (gpo_host_call.status). In both cases the call
 * comes after the work that the GPU was given before has ended, so memory that the work used can be reused. Only when
 * the executor is destroyed does the call come at once.
 *
 * gpo_stream_cancel_held cancels a host call that has not begun. For a running host call, it ends the stream's wait.
 *
 * GPO_NOT_SUPPORTED: the stream is wrapped and so can't be held
 * GPO_CAPTURE_REFUSED: the stream is in capture
 * GPO_WOULD_BLOCK: the executor or the stream has no room */
GPO_API gpo_status gpo_stream_host_call(gpo_stream_t stream, gpo_executor_t executor, gpo_host_fn function, void *user);

/* Finishes a host call, from any thread, also before its function has returned. `status` is GPO_SUCCESS, or a failure
 * from 50 to 89, with which the stream then fails. `message` may be NULL.
 * GPO_INVALID_ARGUMENT: `status` is none of these
 * GPO_NOT_FOUND: this executor has no host call with the number `call`, or the call has been finished */
GPO_API gpo_status gpo_host_call_finish(gpo_executor_t executor, uint64_t call, gpo_status status, const char *message);

/* --- log lines --- */

/* Lets the runtime's log function be called on `executor` from now on, in the order of the lines. With NULL, the
 * initial state, the function is called on the thread on which a line arises. Destroying the executor restores this
 * state. If the executor is full, lines are dropped and counted in gpo_executor_statistics.refused. */
GPO_API gpo_status gpo_runtime_set_log_executor(gpo_runtime_t runtime, gpo_executor_t executor);

#ifdef __cplusplus
}
#endif

#endif
