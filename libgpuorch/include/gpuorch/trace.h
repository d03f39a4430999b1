/* trace.h: a picture of what the host and the GPUs did, and when.
 *
 *     gpo_trace_options options = {.struct_size = sizeof options, .path = "trace.json.gz", .picture = "timeline.svg"};
 *     gpo_trace_start(runtime, &options);
 *     ... work ...
 *     gpo_trace_stop(runtime);
 *
 * Or, with nothing built anew, GPUORCH_TRACE=PATH (ignored in set-uid programs) in the environment of a program: each
 * of its runtimes is traced from its creation until it is shut down. PATH ending in .svg is the picture; a folder, or a
 * name that ends in '/', gets trace.json, timeline.svg and summary.txt; any other name the trace. A second runtime's
 * files get "-2" before the ending. Processes that trace to one PATH keep out of each other's way: the first has the plain
 * names until it ends, the others' files get their process ids, trace-4711.json (and the time too, if that isn't enough).
 * A file that can't be written is named on stderr, with the reason, whatever is logged; the program runs on.
 *
 * What is in it
 * - Host: every call of the library, on its thread, with the status that it returned; callbacks and host calls, and the
 *   calls that they make; what makes the device or the driver wait for other work ("serialising"), with its time where
 *   that is known; completions, when they were found, with an arrow from the notify.
 * - GPU: a span for each copy (bytes, direction, GB/s), fill and kernel, on its stream, with an arrow from the call
 *   that submitted it to its end; and the times in which a stream was held on the host.
 * - Counters: bytes of copies on their way, operations pending, completions not drained, memory in use.
 * All of it is on one clock, CLOCK_MONOTONIC, as microseconds since the start.
 *
 * The trace is Chrome's JSON array, which Perfetto (ui.perfetto.dev) and chrome://tracing open, gzipped where the name
 * ends in ".gz"; it is written while the program runs, through bounded buffers of each thread and a thread of the
 * library's. What a full buffer didn't take is counted and said. The picture is an SVG that needs nothing else: engines,
 * streams and threads as lanes, gaps as gaps. Its figures are those of gpo_trace_get_summary and of gpo_trace_info: all
 * that was recorded, where it draws a part too.
 *
 * A process that ends without gpo_trace_stop or gpo_runtime_shutdown, by exit, abort or SIGKILL, leaves the trace as it was
 * a tenth of a second earlier at most, complete with its end, gzipped or not. Missing are the calls of that tenth of a second,
 * GPU times of operations that had not ended by then, the event "gpuorch" with the trace's own figures, the summary's file
 * and the picture (an empty file, where it was asked for by name and there was none). If the process is killed in the middle
 * of a write to the file, the array has no end, which those viewers take too, and a gzipped file can be unpacked up to
 * there (`gzip -dc` complains behind it). A trace that is written to a pipe has its end only when the trace is stopped.
 *
 * What it costs. On an H200 a traced launch takes 0.2 to 0.3 us more of the host's time, and with GPU times 3 us more:
 * they come from events around each operation, two records, which the GPU reaches too, and which cost some of its time
 * between short kernels. A span begins when its stream got to the operation: on an idle stream that includes the time
 * in which it was still being launched. Work in a stream that is captured has no GPU times. The trace, its summary and
 * gpo_trace_info say what recording cost here.
 *
 * With Nsight or another NVTX tool attached, traced or not, the library's calls appear as ranges of the domain
 * "gpuorch", and its threads and streams have names.
 */
#ifndef GPUORCH_TRACE_H
#define GPUORCH_TRACE_H

#include "stream.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GPO_TRACE_NO_GPU_TIMES 1 /* no events: GPU work shows as its submission only, and the GPU pays nothing */

typedef struct gpo_trace_options {
    uint32_t struct_size;
    uint32_t flags;      /* GPO_TRACE_* */
    const char *path;    /* the trace; replaced if it is there. NULL: none, for the summary or the picture alone. The
                            folder that a file is to be in is made, if it isn't there and the one around it is */
    const char *picture; /* the SVG, written when the trace ends. NULL: none */
    const char *title;   /* over the picture; NULL: the program's name */
} gpo_trace_options;

/* Begins to trace all devices of a runtime. `options` NULL: for the summary alone. GPO_INVALID_STATE if it is traced
 * already; GPO_IO_ERROR, naming the file, if one can't be written, or if another trace is writing it, of this process or
 * of another (native code EWOULDBLOCK). After a failure the files are as they were. Blocks while files are opened and the
 * clocks of the devices are compared with the host's, some 100 us each. */
GPO_API gpo_status gpo_trace_start(gpo_runtime_t runtime, const gpo_trace_options *options);

/* Ends it: what was recorded by now is written, and the files are closed. It doesn't wait for the GPU: operations that
 * still run are in the trace without their times. GPO_INVALID_STATE if the runtime isn't traced. GPO_IO_ERROR if a file
 * could not be written to its end (the disk is full): the trace has ended all the same, what is there is well-formed
 * and ends early, or is gone; it was logged when it happened, and the work went on. GPO_WOULD_DEADLOCK in the log
 * function, if called by the trace's thread. Blocks until the files are written. gpo_runtime_shutdown ends it too. */
GPO_API gpo_status gpo_trace_stop(gpo_runtime_t runtime);

typedef struct gpo_trace_info {
    uint32_t struct_size;
    uint32_t running;        /* 1: recording */
    gpo_status file_status;  /* GPO_SUCCESS, or GPO_IO_ERROR since a file could not be written any more */
    uint32_t reserved;
    uint64_t calls;          /* recorded, of the newest trace: host calls */
    uint64_t operations;     /* operations of streams: copies, fills and kernels, and what orders them: waits, signals,
                                host calls */
    uint64_t timed;          /* of them, the copies, fills and kernels whose GPU times are known by now */
    uint64_t completions;
    uint64_t dropped;        /* not recorded, because a thread's buffer was full or there was no memory */
    uint64_t file_bytes;     /* written to `path` */
    uint64_t call_cost_ns;   /* measured at the start: what recording a call costs its thread */
    uint64_t operation_cost_ns; /* … and an operation with its GPU times; 0 while no device is open */
    uint64_t clock_error_ns; /* GPU times are known on the host's clock to this, at worst; 0: no device yet */
    uint64_t callbacks;      /* recorded: functions of the program that the library called, pipelines' included */
} gpo_trace_info;

/* Of the trace that runs, or the last one. Blocks on nothing. */
GPO_API gpo_status gpo_trace_get_info(gpo_runtime_t runtime, gpo_trace_info *info);

/* A few lines of text about the trace that runs, as far as it is known by now, or the last one: how long each engine
 * was busy, bytes and speed of copies, how much of the copying was hidden behind other work, the longest gaps in which
 * no engine worked and what came before them, serialising calls. GPO_INVALID_STATE if there was none. */
GPO_API gpo_status gpo_trace_get_summary(gpo_runtime_t runtime, char *buffer, size_t capacity, size_t *needed);

#ifdef __cplusplus
}
#endif

#endif
