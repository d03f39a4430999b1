/* runtime.h: the root object. A runtime owns drivers, threads and statistics. Devices are opened from a runtime, and
 * all other objects are made from these. Two runtimes in one process share nothing.
 *
 *     gpo_runtime_t runtime;
 *     gpo_status status = gpo_runtime_create(NULL, &runtime);
 */
#ifndef GPUORCH_RUNTIME_H
#define GPUORCH_RUNTIME_H

#include "status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GPO_LOG_ERROR 1   /* something has failed */
#define GPO_LOG_WARNING 2 /* something does not work as intended */
#define GPO_LOG_INFO 3    /* a choice of the library, and the reason */
#define GPO_LOG_DEBUG 4   /* everything else */

/* Receives one line of the log, without a newline. `text` is valid during the call. The library may call the function
 * on any thread, and on several threads at once. The library holds no lock meanwhile, so the function may call any
 * function of the library except gpo_runtime_shutdown. */
typedef void (*gpo_log_fn)(void *user, int32_t level, const char *text);

/* How the library's threads look for completed work (completion.h), while work is pending. Balanced mode learns how
 * long the work on each stream takes. If the last four pieces of work on a stream took equally long, to an eighth, the
 * next is checked all the time near its expected end: for a twentieth of its length, at most 1 ms, for each stream.
 * Other work is checked after a sixteenth of its age, at least 10 us, at most 1 ms. A waiting call (gpo_stream_wait,
 * gpo_event_wait, gpo_device_wait) checks all the time in its first millisecond, one thread a device. Later it checks
 * after a fiftieth of the time that it has waited. For gpo_cq_wait, gpo_timeline_wait and gpo_pipeline_wait the
 * library's thread does so, from its next check on. Software GPUs notify: nothing is checked, and no thread spins. */
#define GPO_COMPLETION_BALANCED 0 /* sleep between checks */
#define GPO_COMPLETION_LATENCY 1  /* check all the time: notified within single microseconds, but uses one core each */

/* Which driver and which devices a runtime uses is set by its option `device`, else by the environment variable
 * GPUORCH_DEVICE, else by the default "any":
 *
 *   "cuda"   CUDA, or GPO_NO_DEVICE where it can't be used. "cuda:N" shows only device N
 *   "soft"   the software GPU, or GPO_NO_DEVICE if the library was built without it (-DGPUORCH_SOFT=OFF). "soft:N"
 *            likewise
 *   "any"    CUDA. The software GPU stands in where there is no NVIDIA GPU. If an NVIDIA GPU is there and can't be
 *            used, something is broken, and nothing stands in: GPO_NO_DEVICE, and the message says what is wrong
 *
 * A machine has no NVIDIA GPU if it has no device node (/dev/nvidia0, /dev/nvidiactl or any other whose name begins
 * with nvidia), and the driver library libcuda either is missing or reports no device. Therefore "any" gives
 * GPO_NO_DEVICE
 *   - where there is a device node: if libcuda isn't there, can't be loaded, is older than CUDA 12.2, can't be
 *     initialised, or sees no device (CUDA_VISIBLE_DEVICES may hide all of them)
 *   - where there is none: if libcuda is there and can't be loaded, is a toolkit's stub, is older than CUDA 12.2, or
 *     fails in any way other than reporting no device
 *   - in a child of a process that has used the library, where CUDA doesn't work.
 *
 * The first time in a process that the software GPU stands in, stderr says so in one line, with the reason. The flag
 * GPO_RUNTIME_QUIET_FALLBACK keeps a runtime from this, and GPUORCH_QUIET_FALLBACK=1 all of them. */

/* Flags of a runtime: */
#define GPO_RUNTIME_QUIET_FALLBACK 1 /* stderr doesn't say that the software GPU stands in */

typedef struct gpo_runtime_options {
    uint32_t struct_size;
    uint32_t flags;           /* GPO_RUNTIME_* */
    const char *device;       /* "any", "soft", "cuda", "cuda:N" or "soft:N" (above); "any" takes the software GPU only
                                 where there is no NVIDIA GPU. NULL: what GPUORCH_DEVICE says */
    gpo_log_fn log;           /* gets log lines. NULL: no log, unless GPUORCH_LOG names a level (to stderr).
                                 With or without a log, stderr reports once: the trace of GPUORCH_TRACE can't be
                                 written; the folder in GPUORCH_CACHE can't be used; a variable has a value that it
                                 can't have; the software GPU stands in */
    void *log_user;           /* passed to `log` */
    int32_t log_level;        /* GPO_LOG_*; 0: the level that GPUORCH_LOG names, else GPO_LOG_WARNING */
    uint32_t completion_mode; /* GPO_COMPLETION_* */
    uint64_t schedule_seed;   /* not 0: deterministic mode. Threads and clock follow one schedule, the same for the same
                                 seed. Needs the software GPU, and no other runtime in the process */
    const char *cache;        /* folder for compiled kernels. NULL: the folder in GPUORCH_CACHE, else the user's cache
                                 folder. "": no cache */
    const char *label;        /* the label that metrics of this runtime carry (metrics.h). NULL or "": none */
} gpo_runtime_options;

/* Creates a runtime. Loads no driver, touches no device and makes no context. `options` may be NULL: the defaults.
 *
 * GPO_INVALID_ARGUMENT: `options->device` is none of the known strings
 * GPO_INVALID_STATE: this runtime or another one of the process is deterministic, and a deterministic runtime must be
 *     the only one */
GPO_API gpo_status gpo_runtime_create(const gpo_runtime_options *options, gpo_runtime_t *runtime);

/* Ends a runtime. NULL succeeds. In this order:
 * 1. The runtime accepts no new work (GPO_SHUT_DOWN). Operations held on the host are cancelled.
 * 2. Running work is waited for, until the timeout. Every pending completion is delivered to its queue, and every
 *    pending callback is called.
 * 3. Threads are joined. Objects and memory that are left are reported to the log, by label, and freed.
 * 4. Every handle of the runtime becomes invalid, except handles of completion queues. A completion queue keeps its
 *    entries: gpo_cq_wait, gpo_cq_drain and queries work until gpo_cq_destroy, before or after this call (completion.h,
 *    "The end of a queue").
 *
 * Other threads that wait in a call get GPO_CANCELLED, unless the result that they wait for is there. gpo_cq_wait and
 * gpo_cq_drain return GPO_SHUT_DOWN once the queue is empty and no entry will come any more.
 *
 * If another thread is already shutting the runtime down, this call waits for the other call until its own timeout, and
 * returns GPO_INVALID_HANDLE if the other call has finished.
 *
 * GPO_TIMEOUT: something still runs. The runtime accepts no work; call again to go on waiting
 * GPO_WOULD_DEADLOCK: called from inside a callback of this runtime
 * GPO_INVALID_STATE: the runtime is deterministic, and another thread created it; the call had no effect
 *
 * Blocks until the timeout on the GPU, on running callbacks and on another thread's shutdown. While another thread is
 * inside a copy with pageable memory (memory.h), CUDA may block this call beyond the timeout: it makes no events. */
GPO_API gpo_status gpo_runtime_shutdown(gpo_runtime_t runtime, int64_t timeout_ns);

/* Which driver a runtime uses. */
typedef struct gpo_driver_info {
    uint32_t struct_size;
    int32_t version;       /* 13000 for CUDA 13.0 */
    uint32_t software;     /* 1: the software GPU */
    uint32_t device_count; /* devices that this runtime shows */
    char name[16];         /* "cuda" or "soft" */
    char reason[256];      /* why CUDA is not used; "" if it is used, or was not asked for */
} gpo_driver_info;
/* Says which driver the runtime uses, and loads the driver if that has not happened yet.
 * GPO_NO_DEVICE: the requested driver can't be used, or an NVIDIA GPU is there and can't be used (above); the message
 *     says why */
GPO_API gpo_status gpo_runtime_get_driver(gpo_runtime_t runtime, gpo_driver_info *info);

/* Counters since the runtime was created. *Serialising* calls make the device or the driver wait for other work. After
 * warm-up a well-built program makes none. */
typedef struct gpo_statistics {
    uint32_t struct_size;
    uint32_t live_objects;        /* handles that have not been destroyed */
    uint64_t launches;
    uint64_t copies;
    uint64_t copied_bytes;
    uint64_t fills;
    uint64_t notifies;
    uint64_t completions;
    uint64_t failures;            /* operations that completed with a failure */
    uint64_t holds;               /* operations that were held on the host for a while (stream.h) */
    uint64_t device_allocations;  /* serialising: plain device allocations, and frees that wait for kernels */
    uint64_t host_registrations;  /* serialising: slabs of pinned memory allocated and freed, and memory registered and
                                     unregistered */
    uint64_t pageable_copies;     /* serialising: copies from or to memory that is not pinned */
    uint64_t pageable_bytes;      /* bytes of these copies */
    uint64_t legacy_stream_uses;  /* serialising: work on blocking streams and on the legacy stream */
    uint64_t module_loads;        /* serialising: modules loaded and unloaded, lazy loads included */
    uint64_t put_off;             /* not a sum: how many calls that give pinned memory and modules back to the driver
                                     wait now for resident work to end (stream.h) */
} gpo_statistics;
/* Reads the counters. Blocks on nothing. The counters are read one after the other while work goes on, so they may be
 * from slightly different moments. */
GPO_API gpo_status gpo_runtime_get_statistics(gpo_runtime_t runtime, gpo_statistics *statistics);

/* The version of the loaded library: the GPO_VERSION of its own headers. */
GPO_API uint32_t gpo_version(void);

/* Returns a static table of all functions, for programs that open the library with dlopen (api.h). `version` is the
 * GPO_VERSION that the caller was built with. Returns NULL if `version` has another major version than the library, has
 * another minor version while the library is below 1.0, or is newer than the library. */
struct gpo_api;
GPO_API const struct gpo_api *gpo_get_api(uint32_t version);

#ifdef __cplusplus
}
#endif

#endif
