/* trace.h: records what the host and the GPUs did, and when: as a trace file, a picture and a summary.
 *
 *     gpo_trace_options options = {.struct_size = sizeof options, .path = "trace.json.gz", .picture = "timeline.svg"};
 *     gpo_trace_start(runtime, &options);
 *     ... work ...
 *     gpo_trace_stop(runtime);
 *
 * Without changing the program
 *   Set GPUORCH_TRACE=PATH in the program's environment (ignored in set-uid programs). Each runtime of the program is
 *   then traced from its creation until its shutdown. The files depend on PATH:
 *   - a name that ends in .svg: the picture
 *   - a folder, or a name that ends in '/': trace.json, timeline.svg and summary.txt in that folder. In a folder that
 *     other users may write to the names have the process's id, and the files are new and this user's alone
 *   - any other name: the trace. A number, or a word like "on" or "yes", is no name: nothing is traced, and stderr
 *     says so (./1 is a file called 1)
 *   Files of a second runtime get "-2" before the ending. If several processes trace to the same PATH, the first has
 *   the plain names until it ends. Files of the others get their process ids (trace-4711.json), and the time too if
 *   such a file exists. If a file can't be written, stderr has its name and the reason, at any log level, and the
 *   program runs on.
 *
 * What is recorded
 *   - Host: every call of the library, on its thread, with the returned status; callbacks and host calls, with the
 *     calls in them; serialising calls (runtime.h), with their duration if known; when each completion was found, with
 *     an arrow from its notify.
 *   - GPU: a span for each copy (bytes, direction, GB/s), fill, kernel and launch of a graph (template, nodes), on its
 *     stream, with an arrow from the call that submitted it to the span's end; and the times in which a stream was held
 *     on the host. Operations inside a graph have no spans of their own.
 *   - Counters: bytes of copies under way, operations pending, completions not drained, memory in use.
 *   All times are of one clock, CLOCK_MONOTONIC, in microseconds since the start of the trace.
 *
 * The trace file
 *   The trace is a JSON array in Chrome's format, which Perfetto (ui.perfetto.dev) and chrome://tracing open. The file
 *   is gzipped if its name ends in ".gz", and is written while the program runs: a thread of the library empties a
 *   bounded buffer of each thread. Records that found a full buffer are counted, and the trace says how many.
 *
 * The picture
 *   The picture is an SVG that needs no other file: a lane for each engine, stream and thread. The figures in it are
 *   those of gpo_trace_get_summary and gpo_trace_info and cover all that was recorded, even if only a part is drawn.
 *
 * If the process ends without gpo_trace_stop or gpo_runtime_shutdown (exit, abort, SIGKILL)
 *   The trace file holds everything up to at most a tenth of a second before the end, and is complete, gzipped or not.
 *   Missing are the calls of that tenth of a second, GPU times of operations that had not ended, the event "gpuorch"
 *   with the trace's own figures, the summary's file, and the picture (an empty file is left if the picture was asked
 *   for by name and did not exist).
 *   If the process is killed in the middle of a write to the file, the array has no end. The viewers above open such a
 *   file too; a gzipped one can be unpacked up to that point (`gzip -dc` complains at the end). A trace that is written
 *   to a pipe gets its end only when the trace is stopped.
 *
 * What it costs
 *   On an H200 a traced launch takes 0.2 to 0.3 us more of the host's time, and 3 us more with GPU times. GPU times
 *   need two event records around each operation, which also cost GPU time between short kernels. A span begins when
 *   its stream got to the operation; on an idle stream it includes the time in which the operation was still being
 *   launched. Work on a stream in capture has no GPU times. The trace, its summary and gpo_trace_info have the cost of
 *   recording on this machine.
 *
 * NVTX
 *   With Nsight or another NVTX tool attached, and whether a trace runs or not, the library's calls appear as ranges of
 *   the domain "gpuorch", and its threads and streams have names.
 */
#ifndef GPUORCH_TRACE_H
#define GPUORCH_TRACE_H

#include "stream.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GPO_TRACE_NO_GPU_TIMES 1 /* no GPU times: shows only the submission of GPU work, which costs the GPU nothing */

typedef struct gpo_trace_options {
    uint32_t struct_size;
    uint32_t flags;      /* GPO_TRACE_* */
    const char *path;    /* the trace's file, replaced if it exists, and gzipped if its name ends in .gz. NULL: no file,
                            only the summary or the picture. The folder of this file and of the picture is created if
                            its parent folder exists */
    const char *picture; /* the SVG's file, written when the trace ends. NULL: none */
    const char *title;   /* heading of the picture; NULL: the program's name */
} gpo_trace_options;

/* Starts a trace of all devices of a runtime. `options` may be NULL: only the summary.
 * GPO_INVALID_STATE: a trace of the runtime is running
 * GPO_IO_ERROR: a file can't be written, is a pipe without a reader or another user's symbolic link, or another trace,
 *     of this process or of another, is writing it (then the native code is EWOULDBLOCK); the message names the file.
 *     All files are unchanged
 * Blocks while the files are opened and the clock of each device is compared with the host's (some 100 us each). */
GPO_API gpo_status gpo_trace_start(gpo_runtime_t runtime, const gpo_trace_options *options);

/* Stops the trace: writes what was recorded, and closes the files. gpo_runtime_shutdown does so too. The call doesn't
 * wait for the GPU: operations that still run are in the trace without their GPU times.
 * GPO_INVALID_STATE: no trace of the runtime is running
 * GPO_IO_ERROR: a file could not be written completely, for instance because the disk is full. The trace has ended all
 *     the same. The file is well-formed and ends early, or is deleted. The failure was logged when it happened, and the
 *     program's work went on
 * GPO_WOULD_DEADLOCK: called in the log function, on the trace's own thread
 * Blocks until the files are written. */
GPO_API gpo_status gpo_trace_stop(gpo_runtime_t runtime);

/* The extent of a trace. */
typedef struct gpo_trace_info {
    uint32_t struct_size;
    uint32_t running;        /* 1: a trace is running */
    gpo_status file_status;  /* GPO_SUCCESS; GPO_IO_ERROR once a file could not be written any more */
    uint32_t reserved;
    uint64_t calls;          /* calls of the library recorded by the newest trace. All fields below are of this trace */
    uint64_t operations;     /* operations of streams: copies, fills, kernels and graphs, and what orders them (waits,
                                signals, host calls) */
    uint64_t timed;          /* copies, fills, kernels and graphs among them whose GPU times are known by now */
    uint64_t completions;
    uint64_t dropped;        /* records lost because a thread's buffer was full or there was no memory */
    uint64_t file_bytes;     /* bytes written to `path` */
    uint64_t call_cost_ns;   /* time that recording a call costs its thread, measured at the start */
    uint64_t operation_cost_ns; /* the same for an operation with its GPU times; 0 while no device is open */
    uint64_t clock_error_ns; /* greatest error of GPU times on the host's clock; 0: no device is open yet */
    uint64_t callbacks;      /* functions of the program that the library called, with those of pipelines */
} gpo_trace_info;

/* Describes the running trace, or the last one if none is running. Blocks on nothing. */
GPO_API gpo_status gpo_trace_get_info(gpo_runtime_t runtime, gpo_trace_info *info);

/* Writes a few lines of text about the running trace, as far as it has come, or about the last one. The text says how
 * long each engine was busy, the bytes and speed of copies, and how much of the copying was hidden behind other work.
 * Then come the longest gaps in which no engine worked, with the work before each, and serialising calls.
 * GPO_INVALID_STATE: the runtime was never traced */
GPO_API gpo_status gpo_trace_get_summary(gpo_runtime_t runtime, char *buffer, size_t capacity, size_t *needed);

#ifdef __cplusplus
}
#endif

#endif
