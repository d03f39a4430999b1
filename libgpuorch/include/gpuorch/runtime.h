/* runtime.h: the root. A runtime owns drivers, threads and statistics; devices are opened from it and everything else
 * from them. Two runtimes in one process never meet.
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

#define GPO_LOG_ERROR 1
#define GPO_LOG_WARNING 2
#define GPO_LOG_INFO 3
#define GPO_LOG_DEBUG 4

/* Receives one line of log, without a newline; `text` is valid during the call. May be called on any thread, on several
 * at once; it is called under no lock, and may call any function but gpo_runtime_shutdown. */
typedef void (*gpo_log_fn)(void *user, int32_t level, const char *text);

/* How the threads that look for completed work go about it (completion.h). */
#define GPO_COMPLETION_BALANCED 0 /* they sleep between looks: at most 2 % of a core while work is pending */
#define GPO_COMPLETION_LATENCY 1  /* they look all the time while work is pending: single microseconds, one core each */

typedef struct gpo_runtime_options {
    uint32_t struct_size;
    uint32_t flags;           /* none yet */
    const char *device;       /* "any", "soft", "cuda", "cuda:N" or "soft:N": as GPUORCH_DEVICE, which it overrides.
                                 "any": CUDA where it can be used, else the software GPU. ":N" shows one device only */
    gpo_log_fn log;           /* NULL: nothing is logged unless GPUORCH_LOG names a level (stderr). A trace that
                                 GPUORCH_TRACE asks for and that can't be written is told on stderr in any case */
    void *log_user;
    int32_t log_level;        /* GPO_LOG_*; 0: GPUORCH_LOG, else GPO_LOG_WARNING */
    uint32_t completion_mode; /* GPO_COMPLETION_* */
    uint64_t schedule_seed;   /* not 0: the deterministic mode. Needs the software GPU and no other runtime in the
                                 process: threads and clock follow one seeded schedule, the same for the same seed */
    const char *cache;        /* folder for compiled kernels; NULL: GPUORCH_CACHE, else the user's cache folder;
                                 "": none */
    const char *label;        /* NULL or "": none. The label that metrics of this runtime carry (metrics.h) */
} gpo_runtime_options;

/* Creates a runtime. No driver is loaded, no device touched, no context made. `options` NULL: the defaults.
 * GPO_INVALID_ARGUMENT for an unknown device string, GPO_INVALID_STATE if a deterministic runtime excludes this one. */
GPO_API gpo_status gpo_runtime_create(const gpo_runtime_options *options, gpo_runtime_t *runtime);

/* Ends a runtime: no new work is taken (GPO_SHUT_DOWN), what is held is cancelled, what runs is waited for until the
 * timeout, every pending completion is delivered into its queue and every callback is called, threads are joined,
 * objects and memory that are left are reported to the log by label and freed, and every handle of the runtime becomes
 * invalid, except those of completion queues: they keep their entries and can be waited for, drained and asked until
 * they are destroyed, before or after this call (completion.h, "The end of a queue"). Waits in other calls end with
 * GPO_CANCELLED where what they wait for has not come; gpo_cq_wait and gpo_cq_drain give GPO_SHUT_DOWN once the queue is
 * empty and nothing more will come. NULL succeeds.
 * GPO_TIMEOUT: something still runs; the runtime takes no work, and the call can be made again. If another thread is
 * shutting the runtime down, this one waits for it, until its own timeout (GPO_TIMEOUT), and gives GPO_INVALID_HANDLE
 * if that one has finished. GPO_WOULD_DEADLOCK from inside a callback of the runtime. GPO_INVALID_STATE, without an
 * effect, if the runtime is deterministic and another thread created it.
 * Blocks on the GPU, on callbacks that are running and on another shutdown, until the timeout. */
GPO_API gpo_status gpo_runtime_shutdown(gpo_runtime_t runtime, int64_t timeout_ns);

/* Which driver the runtime uses. Loads it, if it has not been. GPO_NO_DEVICE with the reason if the one that was asked
 * for can't be used. */
typedef struct gpo_driver_info {
    uint32_t struct_size;
    int32_t version;       /* 13000 for CUDA 13.0 */
    uint32_t software;     /* 1: the software GPU */
    uint32_t device_count; /* that this runtime shows */
    char name[16];         /* "cuda", "soft" */
    char reason[256];      /* why CUDA is not used, where it is not; "" otherwise */
} gpo_driver_info;
GPO_API gpo_status gpo_runtime_get_driver(gpo_runtime_t runtime, gpo_driver_info *info);

/* Counters since the runtime was created. The serialising calls make the device or the driver wait for other work:
 * after warm-up a well-built program makes none. */
typedef struct gpo_statistics {
    uint32_t struct_size;
    uint32_t live_objects;        /* handles not destroyed */
    uint64_t launches;
    uint64_t copies;
    uint64_t copied_bytes;
    uint64_t fills;
    uint64_t notifies;
    uint64_t completions;
    uint64_t failures;            /* operations that completed with a failure */
    uint64_t holds;               /* operations that were held back on the host, for a while (stream.h) */
    uint64_t device_allocations;  /* serialising: plain device allocations and frees */
    uint64_t host_registrations;  /* serialising: pinned slabs and registrations, made and undone */
    uint64_t pageable_copies;     /* serialising: copies from or to memory that is not pinned */
    uint64_t pageable_bytes;
    uint64_t legacy_stream_uses;  /* serialising: work on blocking streams and on the legacy stream */
    uint64_t module_loads;        /* serialising: modules loaded and unloaded, lazy loads included */
} gpo_statistics;
/* Blocks on nothing; counters that belong together may be a moment apart. */
GPO_API gpo_status gpo_runtime_get_statistics(gpo_runtime_t runtime, gpo_statistics *statistics);

/* The version of the library that is loaded: GPO_VERSION of its headers. */
GPO_API uint32_t gpo_version(void);

/* Every function of the library in one table, for those who load it with dlopen: see api.h. The table is static.
 * `version` is the caller's GPO_VERSION. NULL if that is of another major version, before 1.0 of another minor one, or
 * newer than the library. */
struct gpo_api;
GPO_API const struct gpo_api *gpo_get_api(uint32_t version);

#ifdef __cplusplus
}
#endif

#endif
