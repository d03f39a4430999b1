/* metrics.h: what the library and its GPUs are doing, as numbers for monitoring.
 *
 * gpo_runtime_get_statistics (runtime.h) counts work done. The functions here add gauges (pending work, memory in use),
 * the latency of completions, failures by status, and figures from the GPUs. gpo_runtime_get_metrics_text gives all of
 * them as a text in the format that Prometheus scrapes:
 *
 *     size_t room = 65536, needed;
 *     char *text = malloc(room);
 *     while (gpo_runtime_get_metrics_text(runtime, text, room, &needed) == GPO_BUFFER_TOO_SMALL)
 *         text = realloc(text, room = needed);
 *
 * The text also has the figures of each admission (admission.h) and of each key of a batcher (batcher.h), by their
 * labels or, without one, by a number.
 *
 * Reading metrics costs the running work nothing. The numbers are read one after the other while work goes on, and may
 * be from slightly different moments.
 */
#ifndef GPUORCH_METRICS_H
#define GPUORCH_METRICS_H

#include "completion.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GPO_METRICS_LATENCIES 32
#define GPO_METRICS_ERRORS 96

/* Figures of a runtime. */
typedef struct gpo_metrics {
    uint32_t struct_size;
    uint32_t devices;            /* devices on which an object was opened */
    uint64_t streams;
    uint64_t operations_pending; /* operations accepted and not yet known to be done. The library learns that a stream's
                                    operations are done only when the program waits for the stream, queries it or has a
                                    notify on it. Operations of a failed stream stay counted. A pipeline checks its own
                                    streams with each chunk */
    uint64_t operations_held;    /* pending operations that are held on the host now (stream.h); gpo_statistics.holds
                                    counts all since the beginning */
    uint64_t completions_pending; /* entries accepted by completion queues and not drained */
    uint64_t notifies_refused;   /* counter: notifies refused because the queue was full */
    uint64_t arena_in_use;       /* bytes, all existing pinned arenas together */
    uint64_t arena_reserved;
    uint64_t arena_peak;         /* sum of the arenas' own peaks of in_use */
    uint64_t pool_in_use;        /* bytes, all existing device pools together */
    uint64_t pool_reserved;
    uint64_t pool_peak;
    uint64_t latency_count;      /* completions delivered. Their latency is the time from notify to delivery: */
    uint64_t latency_sum;        /* nanoseconds */
    uint64_t latencies[GPO_METRICS_LATENCIES]; /* [i]: how many took at most 2^i microseconds and more than half that;
                                    the last element: all longer ones */
    uint64_t errors[GPO_METRICS_ERRORS]; /* [status]: calls on live objects, and completions, that failed with status */
    uint64_t executors;
    uint64_t executor_threads;   /* the library's threads of all executors; threads of the program aren't known */
    uint64_t callbacks;          /* counter: callbacks run by executors, with host calls and pipelines' callbacks */
    uint64_t callbacks_pending;  /* callbacks accepted by executors and not run yet, whether due or not */
    uint64_t pipeline_pinned;    /* bytes of pinned memory of pipelines, which belong to no arena */
} gpo_metrics;

/* Reads the metrics of a runtime. Set `metrics->struct_size` before the call. Blocks on nothing. */
GPO_API gpo_status gpo_runtime_get_metrics(gpo_runtime_t runtime, gpo_metrics *metrics);

/* Figures from a device. On CUDA devices they come from NVML (libnvidia-ml.so.1, loaded by the first call). A number
 * that isn't available is -1. The software GPU has only the numbers about memory. */
typedef struct gpo_device_metrics {
    uint32_t struct_size;
    uint32_t reserved;           /* 0 */
    int64_t memory_total;        /* bytes */
    int64_t memory_used;         /* bytes, by all processes; on the software GPU by this process */
    int64_t utilization;         /* per cent of NVML's last sampling period in which a kernel ran */
    int64_t memory_utilization;  /* per cent of that period in which device memory was read or written */
    int64_t power;               /* milliwatts */
    int64_t energy;              /* millijoules, since the driver was loaded */
    int64_t temperature;         /* degrees Celsius */
    int64_t sm_clock;            /* Hz */
    int64_t memory_clock;        /* Hz */
    int64_t pcie_sent;           /* bytes that the device has sent since the driver was loaded */
    int64_t pcie_received;       /* bytes that the device has received since the driver was loaded */
    char reason[160];            /* why NVML isn't used; "" if it is */
} gpo_device_metrics;

/* Reads the metrics of a device. Blocks on the driver for less than a millisecond; the first call blocks until NVML is
 * loaded. May be called during stream captures. */
GPO_API gpo_status gpo_device_get_metrics(gpo_device_t device, gpo_device_metrics *metrics);

/* Writes the statistics and metrics of the runtime, and the metrics of every device on which an object was opened, in
 * Prometheus' text format 0.0.4. Names begin with gpuorch_. Units are seconds and bytes; ratios go from 0 to 1.
 *
 * Each sample has a label "runtime", to distinguish the runtimes of a process. The value is the runtime's own label
 * (gpo_runtime_options.label), or without a label the runtime's number in this process, "1" for the first created.
 *
 * The text is a complete page. To show several runtimes on one page, group the samples of each metric together.
 *
 * GPO_BUFFER_TOO_SMALL: `needed` has the size; the text may be longer at the next call
 *
 * Blocks as gpo_device_get_metrics does. */
GPO_API gpo_status gpo_runtime_get_metrics_text(gpo_runtime_t runtime, char *buffer, size_t capacity, size_t *needed);

#ifdef __cplusplus
}
#endif

#endif
