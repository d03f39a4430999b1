/* metrics.h: what the library and its GPUs are doing, as numbers for whoever watches a service.
 *
 * Counters of work done are in gpo_runtime_get_statistics. Here are the gauges beside them (what is pending, what
 * memory is in use), how long completions took, what failed, and what the GPU says of itself. All of it also comes as
 * one text in the format that Prometheus scrapes:
 *
 *     size_t room = 65536, needed;
 *     char *text = malloc(room);
 *     while (gpo_runtime_get_metrics_text(runtime, text, room, &needed) == GPO_BUFFER_TOO_SMALL)
 *         text = realloc(text, room = needed);
 *
 * Reading costs the work nothing: counters are read, not stopped, so figures of one reading may be a moment apart.
 */
#ifndef GPUORCH_METRICS_H
#define GPUORCH_METRICS_H

#include "completion.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GPO_METRICS_LATENCIES 32
#define GPO_METRICS_ERRORS 96

typedef struct gpo_metrics {
    uint32_t struct_size;
    uint32_t devices;            /* on which something was opened */
    uint64_t streams;
    uint64_t operations_pending; /* accepted and not yet known to be done. A stream's count falls only when somebody
                                    waits for it, queries it or has a notify on it; that of one that has failed stays.
                                    A pipeline looks at its own streams with each chunk */
    uint64_t operations_held;    /* of them, held on the host now (stream.h); gpo_statistics.holds counts them all */
    uint64_t completions_pending; /* accepted by completion queues and not drained */
    uint64_t notifies_refused;   /* count: met a full queue */
    uint64_t arena_in_use;       /* bytes, of all pinned arenas that there are */
    uint64_t arena_reserved;
    uint64_t arena_peak;         /* sum of the arenas' own peaks of in_use */
    uint64_t pool_in_use;        /* bytes, of all device pools that there are */
    uint64_t pool_reserved;
    uint64_t pool_peak;
    uint64_t latency_count;      /* completions delivered; from notify to delivery: */
    uint64_t latency_sum;        /* nanoseconds */
    uint64_t latencies[GPO_METRICS_LATENCIES]; /* how many took at most 2^i microseconds and more than half that; the
                                    last: all longer ones */
    uint64_t errors[GPO_METRICS_ERRORS]; /* by status: calls on live objects, and completions, that failed with it */
    uint64_t executors;
    uint64_t executor_threads;   /* the library's, of all executors; callers' own are not known */
    uint64_t callbacks;          /* count: run by executors, host calls and those of pipelines included */
    uint64_t callbacks_pending;  /* accepted by executors and not run yet: due ones, and those that wait for their
                                    moment */
    uint64_t pipeline_pinned;    /* bytes of pinned memory that pipelines have: of no arena */
} gpo_metrics;

/* `metrics->struct_size` must be set. Blocks on nothing. */
GPO_API gpo_status gpo_runtime_get_metrics(gpo_runtime_t runtime, gpo_metrics *metrics);

/* What a device says of itself: on CUDA devices through NVML (libnvidia-ml.so.1, loaded when first asked). A figure
 * that isn't to be had is -1. On the software GPU there is memory and nothing else. */
typedef struct gpo_device_metrics {
    uint32_t struct_size;
    uint32_t reserved;           /* 0 */
    int64_t memory_total;        /* bytes */
    int64_t memory_used;         /* bytes, of all processes; on the software GPU, of this one */
    int64_t utilization;         /* per cent of the last sampling period in which a kernel ran */
    int64_t memory_utilization;  /* per cent … in which device memory was read or written */
    int64_t power;               /* milliwatts */
    int64_t energy;              /* millijoules, since the driver was loaded */
    int64_t temperature;         /* degrees Celsius */
    int64_t sm_clock;            /* Hz */
    int64_t memory_clock;        /* Hz */
    int64_t pcie_sent;           /* bytes, by the device, since the driver was loaded */
    int64_t pcie_received;
    char reason[160];            /* why NVML isn't used; "" if it is */
} gpo_device_metrics;

/* Blocks on the driver for less than a millisecond, the first time for as long as NVML takes to load. Works while
 * streams are captured. */
GPO_API gpo_status gpo_device_get_metrics(gpo_device_t device, gpo_device_metrics *metrics);

/* All of it, the runtime's statistics and those of every device on which something was opened, in Prometheus' text
 * format 0.0.4. Names begin with gpuorch_, units are seconds and bytes, ratios go from 0 to 1. Each sample has the label
 * `runtime`, by which the runtimes of one process differ: the runtime's own label (gpo_runtime_options.label); without one
 * its number in this process, "1" for the first runtime that was created. The text is a whole page: where one page is to
 * show several runtimes, the samples of one metric have to be put together.
 * GPO_BUFFER_TOO_SMALL; the text may be longer at the next call. Blocks as gpo_device_get_metrics does. */
GPO_API gpo_status gpo_runtime_get_metrics_text(gpo_runtime_t runtime, char *buffer, size_t capacity, size_t *needed);

#ifdef __cplusplus
}
#endif

#endif
