/* executor.h: being called when GPU work is done, and host code in the order of a stream.
 *
 * An executor calls functions of the caller's: on threads of its own, or on whatever thread of the caller's runs it. It
 * is the push form of completion.h: instead of a number in a queue there is a call.
 *
 *     gpo_executor_create(runtime, NULL, &executor);
 *     gpo_stream_then(stream, executor, when_done, request);
 *
 * What holds for every callback
 *
 * - A function that takes a callback and returns GPO_SUCCESS has accepted it: the callback is called exactly once, with
 *   a status, whatever happens to the work. If the function returns another status, the callback is never called. Work
 *   that has failed already is no reason to return another status: the callback tells of the failure (completion.h).
 * - An executor that is being destroyed accepts nothing more: a function that comes too late gives GPO_STALE_HANDLE and
 *   no callback, also inside the callbacks that gpo_executor_destroy calls. A function that comes before gives
 *   GPO_SUCCESS, and its callback is called with the result if the work is done, else with GPO_CANCELLED.
 * - Callbacks of one stream on one executor run one at a time, in the order in which they were asked for. Those of
 *   different streams, events, timelines and pipelines may run at the same time on different threads.
 * - They run on the executor's threads or inside gpo_executor_run, _run_for and _poll; on no other thread but where the
 *   executor is torn down (gpo_executor_destroy, gpo_runtime_shutdown), and under no lock.
 * - They may block (the executor's other threads go on), call any function of the library, CUDA included, and destroy
 *   what called them: the stream, the executor, … What would wait for the callback itself gives GPO_WOULD_DEADLOCK:
 *   gpo_runtime_shutdown, gpo_executor_run and _run_for on the same executor; from a host call also gpo_stream_wait for
 *   its stream, gpo_event_wait for what is recorded behind it there, and gpo_device_wait.
 * - A C++ exception that leaves one is caught, logged with GPO_LOG_ERROR and counted; a host call has failed then.
 *   (In a program that has a C++ runtime of its own linked in, instead of libstdc++.so, its
 *   std::uncaught_exceptions() counts that exception for ever.)
 */
#ifndef GPUORCH_EXECUTOR_H
#define GPUORCH_EXECUTOR_H

#include "completion.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GPO_EXECUTOR_CALLER 1 /* no threads: callbacks run where the caller calls gpo_executor_run, _run_for or _poll */
#define GPO_EXECUTOR_SPIN 2   /* while callbacks are owed one idle thread spins instead of sleeping: a core for speed */
#define GPO_EXECUTOR_SLEEP 4  /* idle threads sleep. Neither: SPIN in a runtime with GPO_COMPLETION_LATENCY,
                                 else SLEEP. Not both */

typedef struct gpo_executor_options {
    uint32_t struct_size;
    uint32_t flags;    /* GPO_EXECUTOR_* */
    uint32_t threads;  /* of its own; GPO_AUTO: 2; at most 256. 0 with GPO_EXECUTOR_CALLER */
    uint32_t capacity; /* callbacks accepted and not run; GPO_AUTO: 65536; at most 2^24. Beyond it GPO_WOULD_BLOCK */
    const char *label;
} gpo_executor_options;

/* Makes an executor and starts its threads. `options` NULL: the defaults. GPO_LIMIT_EXCEEDED if the system has no
 * thread left. */
GPO_API gpo_status gpo_executor_create(gpo_runtime_t runtime, const gpo_executor_options *options,
                                       gpo_executor_t *executor);

/* Every accepted callback is still called: with its result if the work is done, else with GPO_CANCELLED (the work goes
 * on). An executor with threads calls them there, ends the threads then, and this returns at once. One with
 * GPO_EXECUTOR_CALLER calls them inside this call, or, if a thread is inside gpo_executor_run, _run_for or _poll on it,
 * inside that one. Unfinished host calls end with GPO_CANCELLED, and what is behind them on their streams with
 * them.
 *
 * gpo_runtime_shutdown waits for the callbacks that executors owe, within its timeout, and runs those of
 * GPO_EXECUTOR_CALLER itself if nobody else does. */
GPO_API gpo_status gpo_executor_destroy(gpo_executor_t executor);

/* Runs callbacks on the calling thread until none is owed (GPO_SUCCESS). GPO_CANCELLED if the executor is destroyed
 * meanwhile, GPO_WOULD_DEADLOCK from a callback of the same executor. Several threads may run one executor, and one
 * with threads of its own. `count` may be NULL: callbacks run by this call. Blocks on the GPU and in callbacks. */
GPO_API gpo_status gpo_executor_run(gpo_executor_t executor, uint64_t *count);

/* The same for `timeout_ns` at most, but for the callback that is running then. GPO_TIMEOUT if callbacks are still
 * owed. */
GPO_API gpo_status gpo_executor_run_for(gpo_executor_t executor, int64_t timeout_ns, uint64_t *count);

/* Runs the callbacks that are due and returns: GPO_SUCCESS, also if there was none. `count` as above. Blocks in
 * callbacks only. */
GPO_API gpo_status gpo_executor_poll(gpo_executor_t executor, uint64_t *count);

typedef struct gpo_executor_statistics {
    uint32_t struct_size;
    uint32_t threads;
    uint64_t accepted;  /* callbacks, host calls and log lines */
    uint64_t called;    /* … that have returned */
    uint64_t cancelled; /* of them: called with GPO_CANCELLED because the executor was destroyed */
    uint64_t threw;     /* of them: left by a C++ exception */
    uint64_t refused;   /* for lack of room, log lines included */
    uint64_t pending;   /* accepted and not returned */
} gpo_executor_statistics;
/* Counts since the executor was made, and what is pending now. Blocks on nothing. */
GPO_API gpo_status gpo_executor_get_statistics(gpo_executor_t executor, gpo_executor_statistics *statistics);

/* --- when something is done --- */

/* `completion->user_data` is the user pointer. `error` has the details of a failure; NULL where there is none. Both are
 * valid during the call. */
typedef void (*gpo_completion_fn)(void *user, const gpo_completion *completion, const gpo_error *error);

/* As gpo_stream_notify: calls back when the stream has got to the point behind all that is on it now. GPO_WOULD_BLOCK,
 * here and below, if the executor has no room: nothing is called then. */
GPO_API gpo_status gpo_stream_then(gpo_stream_t stream, gpo_executor_t executor, gpo_completion_fn callback,
                                   void *user);

/* As gpo_event_notify: when the last recording has been reached, or has failed. */
GPO_API gpo_status gpo_event_then(gpo_event_t event, gpo_executor_t executor, gpo_completion_fn callback, void *user);

/* As gpo_timeline_notify: when the timeline has reached `value`, or can't reach it any more. */
GPO_API gpo_status gpo_timeline_then(gpo_timeline_t timeline, uint64_t value, gpo_executor_t executor,
                                     gpo_completion_fn callback, void *user);

/* As gpo_pipeline_notify: when the run has ended. */
GPO_API gpo_status gpo_pipeline_then(gpo_pipeline_t pipeline, gpo_executor_t executor, gpo_completion_fn callback,
                                     void *user);

/* --- host code in stream order --- */

typedef struct gpo_host_call {
    uint32_t struct_size;
    gpo_status status;      /* 0: it is its turn. Else what came before it has failed or was cancelled: it must not do
                               its work, only give up what it holds; what it returns doesn't matter */
    uint64_t call;          /* for gpo_host_call_finish */
    const gpo_error *error; /* details of the status; NULL where it is 0. Valid during the call */
} gpo_host_call;

/* Returns GPO_SUCCESS: done, the stream goes on. GPO_NOT_READY: the call is not finished yet; the stream stays held
 * until gpo_host_call_finish. Anything else: it has failed, and the stream fails with GPO_CALLBACK_FAILED. */
typedef gpo_status (*gpo_host_fn)(void *user, const gpo_host_call *call);

/* Puts a call of host code on a stream: it runs on the executor when all before it on the stream is done, and what is
 * put behind it is held until it is (stream.h), so the GPU itself never waits for it. It may call CUDA. If it fails,
 * everything behind it completes with its failure and never runs. It is called exactly once, also if it is not to do
 * its work: see gpo_host_call. That too comes when what the GPU was given before it has ended, and memory that was in
 * use is free; only where the executor is destroyed it comes at once. gpo_stream_cancel_held cancels one that has not
 * begun; one that runs is no longer waited for. GPO_NOT_SUPPORTED on wrapped streams, which can't be held;
 * GPO_CAPTURE_REFUSED on a stream that is captured; GPO_WOULD_BLOCK if executor or stream have no room. */
GPO_API gpo_status gpo_stream_host_call(gpo_stream_t stream, gpo_executor_t executor, gpo_host_fn function, void *user);

/* Ends a host call that is not finished, from any thread, also before its function has returned: with GPO_SUCCESS, or
 * with a failure of 50 to 89, which the stream then has (`message` may be NULL). GPO_INVALID_ARGUMENT for another
 * status; GPO_NOT_FOUND if there is no such call on this executor, or it has been ended. */
GPO_API gpo_status gpo_host_call_finish(gpo_executor_t executor, uint64_t call, gpo_status status, const char *message);

/* --- log lines --- */

/* From now on the runtime's log function is called on this executor, in order; NULL: where lines arise, as at first.
 * Lines that find it full are dropped and counted there; once it is destroyed lines come where they arise. */
GPO_API gpo_status gpo_runtime_set_log_executor(gpo_runtime_t runtime, gpo_executor_t executor);

#ifdef __cplusplus
}
#endif

#endif
