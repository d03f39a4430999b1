/* pipeline.h: a stream of data through the GPU, in chunks, with everything overlapped.
 *
 * A pipeline has a source, stages that run on the device, and a sink. It cuts the data into chunks; while one chunk is
 * computed on, the one before is copied out and the one behind copied in, and the source and the sink are read and
 * written by threads of their own. Order is kept: the sink sees chunk 0, 1, 2, … A slow sink holds back the source.
 *
 * Words. A *chunk* is one piece of the input with all that belongs to it: `input`, `output`, `scratch` and `result`,
 * each a buffer in device memory. A *slot* is one set of those buffers and their pinned host counterparts; as many
 * chunks are under way as there are slots. The *result* is a small fixed-size block per chunk, zeroed before the
 * stages and handed to the sink's callback: sums, histograms, checksums.
 */
#ifndef GPUORCH_PIPELINE_H
#define GPUORCH_PIPELINE_H

#include "completion.h"
#include "module.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A chunk as callbacks see it; valid during the call. */
typedef struct gpo_chunk {
    uint32_t struct_size;
    uint32_t slot;           /* which buffers: 0 .. slots - 1 */
    uint64_t index;          /* from 0 */
    uint64_t offset;         /* of its first byte in the input */
    uint64_t bytes;          /* of input; the last chunk may have fewer than the others */
    uint64_t output_offset;
    uint64_t output_bytes;
    uint64_t input_address;  /* device memory, for stage callbacks */
    uint64_t output_address; /* 0 if the pipeline has no output */
    uint64_t scratch_address;
    uint64_t result_address;
    const void *output;      /* host memory, for sink callbacks: output_bytes; NULL otherwise */
    const void *result;      /* host memory, for sink callbacks: result_bytes; NULL otherwise */
} gpo_chunk;

/* --- source --- */

#define GPO_SOURCE_KIND_MEMORY 1
#define GPO_SOURCE_KIND_FILE 2
#define GPO_SOURCE_KIND_CALLBACK 3

/* Flags of a FILE source. The bytes come from `descriptor` and not from `path`. It is a flag, and no special value of
 * `descriptor`, because 0 is standard input: so a zeroed struct with a forgotten path is refused and reads nothing. */
#define GPO_SOURCE_USE_DESCRIPTOR 2

/* A regular file has to stay as it is. One that grows, shrinks, is written to or loses a name (is deleted)
 * between its opening (a descriptor: the start of the run) and the reading of its last byte ends the run with
 * GPO_IO_ERROR, and the message says which. The whole file counts, whatever part of it is read. It is looked at once,
 * when the last byte has been read: a change in the moment after isn't seen, nor is a write that leaves the
 * modification time as it was (a second one within a tick of the clock, one through a mapping). Pipes and the like
 * aren't looked at. */
#define GPO_SOURCE_UNCHANGED 1

/* Fills `buffer` (pinned) with up to `capacity` bytes and sets `*bytes`. GPO_SUCCESS: more may come (0 bytes: asked
 * again); GPO_END: this was the end, `*bytes` may still be more than 0; any other status ends the run with
 * GPO_CALLBACK_FAILED. It is called until a whole chunk is there. Runs on a thread of the pipeline, one call at a time,
 * and may block. */
typedef gpo_status (*gpo_source_fn)(void *user, void *buffer, uint64_t capacity, uint64_t *bytes);

typedef struct gpo_source {
    uint32_t struct_size;
    uint32_t kind;           /* GPO_SOURCE_KIND_* */
    const void *memory;      /* MEMORY: pinned (arena or registered): copied from where it is; else staged by threads */
    uint64_t bytes;          /* MEMORY: its size. FILE: at most so many; 0: to the end */
    const char *path;        /* FILE: opened and closed by the run; regular files and pipes. Of a regular file what it
                                had when it was opened is read; less by then is GPO_IO_ERROR. A FILE source has either
                                a path or GPO_SOURCE_USE_DESCRIPTOR, else GPO_INVALID_ARGUMENT */
    uint64_t offset;         /* FILE: where in a regular file to begin; behind its end there is nothing. 0 for pipes and
                                devices (else GPO_INVALID_ARGUMENT), which are read from where they are. So are regular
                                files that say they have 0 bytes (those in /proc), whatever `offset` is */
    gpo_source_fn fill;      /* CALLBACK */
    void *user;
    int32_t descriptor;      /* FILE with GPO_SOURCE_USE_DESCRIPTOR: read, not closed. A regular file is read from
                                `offset`, and the descriptor's own position neither counts nor changes */
    uint32_t flags;          /* GPO_SOURCE_*; 0 unless FILE */
} gpo_source;

/* --- stages --- */

#define GPO_STAGE_KERNEL 1
#define GPO_STAGE_CALLBACK 2

/* What the library puts in the place of a kernel's parameter for each chunk. */
#define GPO_STAGE_VALUE 0         /* the value that `value` points to, `bytes` of it, copied at creation */
#define GPO_STAGE_INPUT 1         /* device address of the chunk's input */
#define GPO_STAGE_OUTPUT 2        /* … output */
#define GPO_STAGE_SCRATCH 3       /* … scratch */
#define GPO_STAGE_RESULT 4        /* … result */
#define GPO_STAGE_INPUT_BYTES 5   /* uint64_t: bytes in this chunk */
#define GPO_STAGE_OUTPUT_BYTES 6  /* uint64_t */
#define GPO_STAGE_INDEX 7         /* uint64_t: number of the chunk */
#define GPO_STAGE_OFFSET 8        /* uint64_t: of its first byte in the input */

typedef struct gpo_stage_argument {
    uint32_t struct_size;
    uint32_t kind;      /* GPO_STAGE_VALUE … */
    const void *value;  /* VALUE */
    uint64_t bytes;     /* VALUE: 1 to 4096 */
} gpo_stage_argument;

/* Enqueues the stage's work for a chunk on `stream` and returns; may not wait for it, nor use another stream unless it
 * joins it again by events. Any other status than 0 ends the run with GPO_CALLBACK_FAILED. Runs on a thread of the
 * pipeline. */
typedef gpo_status (*gpo_stage_fn)(void *user, gpo_stream_t stream, const gpo_chunk *chunk);

typedef struct gpo_stage {
    uint32_t struct_size;
    uint32_t kind;                        /* GPO_STAGE_KERNEL or GPO_STAGE_CALLBACK */
    gpo_kernel_t kernel;
    uint32_t block[3];                    /* threads; all 0: what occupancy suggests */
    uint32_t grid[3];                     /* blocks; all 0: input bytes / bytes_per_block, rounded up */
    uint64_t bytes_per_block;             /* of input; 0: one byte a thread. 0 with a given grid */
    uint64_t dynamic_shared_bytes;
    const gpo_stage_argument *arguments;  /* an array of `argument_count` structs, `argument_stride` bytes apart */
    uint64_t argument_stride;             /* sizeof(gpo_stage_argument); see gpo_pipeline_options.stage_stride */
    uint32_t argument_count;              /* at most 4096 */
    uint32_t max_blocks;                  /* cap on grid[0] where it is computed; 0: none. For kernels that loop. 0 with
                                             a given grid */
    gpo_stage_fn enqueue;                 /* CALLBACK */
    void *user;
    const char *label;
} gpo_stage;

/* Short forms: initialisers for C and C++, of the structs above.
 *
 *     uint32_t key = 7;
 *     gpo_stage_argument arguments[] = {GPO_STAGE_ARGUMENT(INPUT), GPO_STAGE_ARGUMENT(INPUT_BYTES),
 *                                       GPO_STAGE_ARGUMENT_VALUE(key)};
 *     gpo_stage stage = GPO_STAGE_FOR_KERNEL(kernel, arguments);
 *
 * `what` is what follows GPO_STAGE_ in the constants above: INPUT … OFFSET. `variable` and `arguments` are the variable
 * and the array themselves, not pointers to them, and must stay until the pipeline is created. Fields that the short
 * form leaves 0 can be set afterwards. */
#define GPO_STAGE_ARGUMENT(what) {sizeof(gpo_stage_argument), GPO_STAGE_##what, NULL, 0}
#define GPO_STAGE_ARGUMENT_VALUE(variable) \
    {sizeof(gpo_stage_argument), GPO_STAGE_VALUE, &(variable), sizeof(variable)}
#define GPO_STAGE_FOR_KERNEL(kernel, arguments)                                                        \
    {sizeof(gpo_stage), GPO_STAGE_KERNEL, (kernel), {0, 0, 0}, {0, 0, 0}, 0, 0,                        \
     (arguments), sizeof((arguments)[0]), sizeof(arguments) / sizeof((arguments)[0]), 0, NULL, NULL, NULL}

/* --- sink --- */

#define GPO_SINK_NONE 0 /* the output is not copied out; results are, if there is a callback */
#define GPO_SINK_MEMORY 1
#define GPO_SINK_FILE 2
#define GPO_SINK_CALLBACK 3

/* A FILE sink writes to `descriptor` and not to `path`. See GPO_SOURCE_USE_DESCRIPTOR for why it is a flag. */
#define GPO_SINK_USE_DESCRIPTOR 1

/* Takes a chunk that is done, in order; `chunk->output` and `chunk->result` are readable during the call. GPO_SUCCESS;
 * GPO_END: enough, end the run as a success; any other status ends it with GPO_CALLBACK_FAILED. Runs on a thread of the
 * pipeline, one call at a time, and may block. */
typedef gpo_status (*gpo_sink_fn)(void *user, const gpo_chunk *chunk);

typedef struct gpo_sink {
    uint32_t struct_size;
    uint32_t kind;           /* GPO_SINK_* */
    void *memory;            /* MEMORY: pinned: copied to directly; else moved there by threads */
    uint64_t bytes;          /* MEMORY: its capacity. More output is GPO_LIMIT_EXCEEDED */
    const char *path;        /* FILE: written under a temporary name beside it and renamed when all is well; on failure
                                nothing is left. Where a symbolic link leads to a file, that one is replaced. Devices
                                and pipes are written to directly. A FILE sink has either a path or
                                GPO_SINK_USE_DESCRIPTOR, else GPO_INVALID_ARGUMENT */
    gpo_sink_fn take;        /* CALLBACK; with the other kinds it may be set too: it runs after the chunk was written */
    void *user;
    int32_t descriptor;      /* FILE with GPO_SINK_USE_DESCRIPTOR: written from where it stands, not closed */
    uint32_t flags;          /* GPO_SINK_USE_DESCRIPTOR; 0 unless FILE */
} gpo_sink;

/* --- the pipeline --- */

typedef struct gpo_pipeline_progress {
    uint32_t struct_size;
    uint32_t running;        /* 1 during a run */
    uint64_t bytes_in;       /* through the source */
    uint64_t bytes_done;     /* of input, through the sink */
    uint64_t bytes_total;    /* of input; 0: not known */
    uint64_t chunks_done;
    uint64_t elapsed_ns;
} gpo_pipeline_progress;

/* Called on a thread of the pipeline, no more often than every `progress_ns`, and once at the end. */
typedef void (*gpo_progress_fn)(void *user, const gpo_pipeline_progress *progress);

#define GPO_PIPELINE_TIMES 1 /* takes GPU times, for gpo_pipeline_result. Costs some 6 us a chunk: an event with a time
                                holds a copy engine up (2 % of an H200's bandwidth, both ways, with chunks of 16 MiB) */

typedef struct gpo_pipeline_options {
    uint32_t struct_size;
    uint32_t flags;                  /* GPO_PIPELINE_* */
    uint64_t chunk_bytes;            /* of input; a multiple of `granule`, at most 1 TiB. GPO_AUTO: found by measuring
                                        during the first run (64 KiB to 64 MiB) and remembered by the pipeline */
    uint64_t granule;                /* chunks, but for the last, are multiples of it; 0: 4096; at most 1 TiB */
    uint32_t slots;                  /* 1 to 1024; GPO_AUTO: 3, or up to 6 where host code takes part */
    uint32_t output_numerator;       /* output bytes = input bytes * numerator / denominator, rounded up: at most 4096
                                        times the input; 0 with a denominator: no output; both 0: 1:1 */
    uint32_t output_denominator;
    uint32_t stage_count;            /* 1 to 64 */
    const gpo_stage *stages;         /* an array of `stage_count` structs, `stage_stride` bytes apart */
    uint64_t stage_stride;           /* sizeof(gpo_stage): a multiple of 8, no less than the struct_size of any element,
                                        else GPO_INVALID_ARGUMENT */
    uint64_t scratch_bytes;          /* device memory per chunk, not cleared; at most 1 TiB */
    uint64_t result_bytes;           /* per chunk, at most 1 MiB */
    uint64_t max_pinned_bytes;       /* bound on staging memory; GPO_AUTO: 1 GiB */
    gpo_progress_fn progress;        /* may be NULL */
    void *progress_user;
    uint64_t progress_ns;            /* 0: 100 ms */
    const char *label;
    gpo_executor_t executor;         /* callbacks of sources, stages and sinks and progress run on it (executor.h), one
                                        of each kind at a time, while a thread of the pipeline waits for each. NULL: on
                                        threads of the pipeline. Destroyed during a run it ends that with
                                        GPO_CANCELLED. A thread that runs it mustn't wait for the pipeline otherwise
                                        than by gpo_pipeline_then */
} gpo_pipeline_options;

/* Checks and copies everything (kernels' arguments included): GPO_INVALID_ARGUMENT for what is out of range. Buffers
 * and streams are made by the first run. */
GPO_API gpo_status gpo_pipeline_create(gpo_device_t device, const gpo_pipeline_options *options,
                                       gpo_pipeline_t *pipeline);

/* Cancels what runs, and goes when it has ended. */
GPO_API gpo_status gpo_pipeline_destroy(gpo_pipeline_t pipeline);

/* Starts a run. One at a time: GPO_INVALID_STATE while another runs. The memory and descriptors of source and sink must
 * stay until the run has ended; the structs and paths may go when the call returns. A file that can't be opened is
 * GPO_NOT_FOUND or GPO_IO_ERROR at once, and names it. GPO_LIMIT_EXCEEDED if the slots need more than max_pinned_bytes,
 * or the system has no thread left. */
GPO_API gpo_status gpo_pipeline_start(gpo_pipeline_t pipeline, const gpo_source *source, const gpo_sink *sink);

typedef struct gpo_pipeline_result {
    uint32_t struct_size;
    gpo_status status;          /* of the run */
    uint64_t bytes_in;
    uint64_t bytes_out;
    uint64_t chunks;
    uint64_t elapsed_ns;        /* from start to the last chunk through the sink */
    uint64_t chunk_bytes;       /* that the run ended with */
    uint32_t slots;
    uint32_t tuned;             /* 1: part of this run was spent on measuring */
    uint64_t copy_in_ns;        /* GPU times, with GPO_PIPELINE_TIMES: how long each copy engine and the kernels were
                                   busy */
    uint64_t copy_out_ns;
    uint64_t kernel_ns;
    uint64_t copy_hidden_ns;    /* of copy_in_ns + copy_out_ns: while the other direction or a kernel was busy too */
    uint64_t staged_bytes;      /* that host threads moved between the caller's memory and pinned buffers */
} gpo_pipeline_result;

/* Waits for the run to end. GPO_TIMEOUT; else the run's status: GPO_IO_ERROR (the message names the file),
 * GPO_CALLBACK_FAILED, GPO_CANCELLED, GPO_LIMIT_EXCEEDED, GPO_DEVICE_LOST … The pipeline can be started again unless
 * the device is lost. `result` may be NULL. GPO_INVALID_STATE if it was never started. GPO_WOULD_DEADLOCK from a
 * callback of this pipeline. Blocks until the timeout. */
GPO_API gpo_status gpo_pipeline_wait(gpo_pipeline_t pipeline, int64_t timeout_ns, gpo_pipeline_result *result);

/* Ends the run early: no chunk is begun any more, those under way are finished and dropped, and the run's status is
 * GPO_CANCELLED. Success if none runs. From any thread, callbacks included. */
GPO_API gpo_status gpo_pipeline_cancel(gpo_pipeline_t pipeline);

/* Puts an entry into `cq` when the run has ended (at once if it has). GPO_INVALID_STATE if it was never started;
 * GPO_WOULD_BLOCK if the queue is full: nothing comes then. */
GPO_API gpo_status gpo_pipeline_notify(gpo_pipeline_t pipeline, gpo_cq_t cq, uint64_t user_data);

/* How far the run is, or how far the last one got. From any thread, callbacks included. Blocks on nothing. */
GPO_API gpo_status gpo_pipeline_get_progress(gpo_pipeline_t pipeline, gpo_pipeline_progress *progress);

#ifdef __cplusplus
}
#endif

#endif
