/* pipeline.h: a stream of data through the GPU, in chunks, with copies and kernels overlapped.
 *
 * A pipeline has a source, stages that run on the device, and a sink, and cuts the data into chunks. While the stages
 * work on a chunk, the previous chunk is copied out and the next chunk is copied in. Threads of the pipeline read the
 * source and write to the sink. The sink gets the chunks in order: 0, 1, 2 and so on. A slow sink slows the source
 * down.
 *
 * Words
 *   chunk    a piece of the input with its buffers in device memory: `input`, `output`, `scratch` and `result`
 *   slot     one set of these buffers, with pinned host memory for input and output. The number of slots limits the
 *            chunks that are under way at the same time
 *   result   a small block of fixed size for each chunk (sums, histograms, checksums): zeroed before the stages run,
 *            and passed to the sink's callback
 *   run      the work from gpo_pipeline_start until all data is through the sink, or until a failure
 *
 * Several devices. A pipeline may have up to 64 devices, each with slots of its own. A chunk goes to the device that is
 * likely to be done with it first, by each device's times for earlier chunks. A faster device therefore gets more
 * chunks. The sink gets the chunks in order all the same.
 *
 *     gpo_pipeline_create(device, &options, &pipeline);
 *     gpo_pipeline_start(pipeline, &source, &sink);
 *     gpo_pipeline_wait(pipeline, -1, NULL);
 */
#ifndef GPUORCH_PIPELINE_H
#define GPUORCH_PIPELINE_H

#include "completion.h"
#include "module.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A chunk, as callbacks get it. Valid during the call. */
typedef struct gpo_chunk {
    uint32_t struct_size;
    uint32_t slot;           /* the slot that the chunk is in: 0 to slots - 1, of its device */
    uint64_t index;          /* number of the chunk, from 0 */
    uint64_t offset;         /* position of its first byte in the input */
    uint64_t bytes;          /* bytes of input; the last chunk may have fewer than the others */
    uint64_t output_offset;  /* position of its first byte in the output */
    uint64_t output_bytes;
    uint64_t input_address;  /* device memory, for stage callbacks, as the next three */
    uint64_t output_address; /* 0 if the pipeline has no output */
    uint64_t scratch_address;
    uint64_t result_address;
    const void *output;      /* host memory with output_bytes, for sink callbacks; NULL otherwise */
    const void *result;      /* host memory with result_bytes, for sink callbacks; NULL otherwise */
    uint32_t device;         /* the chunk's device: a place in gpo_pipeline_options.devices; 0 if there is one device */
    uint32_t reserved;       /* 0 */
} gpo_chunk;

/* --- source --- */

#define GPO_SOURCE_MEMORY 1
#define GPO_SOURCE_FILE 2
#define GPO_SOURCE_CALLBACK 3

/* Flag of a FILE source: the bytes come from `descriptor` and not from `path`. Why a flag, and not a special value of
 * `descriptor`: descriptor 0 is standard input, and a struct with a forgotten path is refused instead of reading it. */
#define GPO_SOURCE_USE_DESCRIPTOR 2

/* Flag of a FILE source: the run fails with GPO_IO_ERROR if a regular file changes while it is read. A change is: the
 * file grows, shrinks, is written to, or loses a name (is deleted), between its opening (for a descriptor: the start of
 * the run) and the reading of its last byte. The message says which. All of the file counts, even if only a part of it
 * is read. The file is checked once, when its last byte has been read. A change right after the check isn't seen, and
 * neither is a write that leaves the modification time unchanged (a second write within a tick of the clock, or a write
 * through a mapping). Pipes and the like aren't checked. */
#define GPO_SOURCE_UNCHANGED 1

/* Fills `buffer`, which is pinned, with up to `capacity` bytes, and sets `*bytes`. Called until a whole chunk is there.
 * Runs on a thread of the pipeline, one call at a time, and may block. Returns
 * GPO_SUCCESS: more may come; after 0 bytes the function is called again
 * GPO_END: these were the last bytes; `*bytes` may still be above 0
 * Any other status: the run fails with GPO_CALLBACK_FAILED */
typedef gpo_status (*gpo_source_fn)(void *user, void *buffer, uint64_t capacity, uint64_t *bytes);

typedef struct gpo_source {
    uint32_t struct_size;
    uint32_t kind;           /* GPO_SOURCE_MEMORY, GPO_SOURCE_FILE or GPO_SOURCE_CALLBACK */
    const void *memory;      /* MEMORY: the input. Pinned memory (of an arena, or registered) is copied from directly;
                                other memory is staged by threads */
    uint64_t bytes;          /* MEMORY: its size. FILE: how many bytes to read at most; 0: up to the end */
    const char *path;        /* FILE: a regular file or a pipe, which the run opens and closes. A regular file is read
                                up to its size at the opening; if fewer bytes are left, the run fails with GPO_IO_ERROR.
                                A FILE source has either a path or GPO_SOURCE_USE_DESCRIPTOR, else
                                GPO_INVALID_ARGUMENT */
    uint64_t offset;         /* FILE: where to begin in a regular file; beyond its end there is no input. Must be 0 for
                                pipes and devices (else GPO_INVALID_ARGUMENT), which are read from where they stand.
                                Regular files that report 0 bytes (as in /proc) are read alike, for any `offset` */
    gpo_source_fn fill;      /* CALLBACK */
    void *user;              /* passed to `fill` */
    int32_t descriptor;      /* FILE with GPO_SOURCE_USE_DESCRIPTOR: read, not closed. A regular file is read from
                                `offset`; the descriptor's own position is neither used nor changed */
    uint32_t flags;          /* GPO_SOURCE_UNCHANGED, GPO_SOURCE_USE_DESCRIPTOR; 0 unless FILE */
} gpo_source;

/* --- stages --- */

#define GPO_STAGE_KERNEL 1
#define GPO_STAGE_CALLBACK 2

/* Kinds of parameters that the library passes to the stage's kernel, for each chunk. */
#define GPO_ARGUMENT_VALUE 0         /* the `bytes` bytes that `value` points to, copied when the pipeline is created */
#define GPO_ARGUMENT_INPUT 1         /* device address of the chunk's input */
#define GPO_ARGUMENT_OUTPUT 2        /* device address of its output */
#define GPO_ARGUMENT_SCRATCH 3       /* device address of its scratch */
#define GPO_ARGUMENT_RESULT 4        /* device address of its result */
#define GPO_ARGUMENT_INPUT_BYTES 5   /* uint64_t: bytes of input in this chunk */
#define GPO_ARGUMENT_OUTPUT_BYTES 6  /* uint64_t: bytes of output in this chunk */
#define GPO_ARGUMENT_INDEX 7         /* uint64_t: number of the chunk */
#define GPO_ARGUMENT_OFFSET 8        /* uint64_t: position of the chunk's first byte in the input */
#define GPO_ARGUMENT_DEVICE_VALUE 9  /* as VALUE, but different on each device (for example the address of a table):
                                        `value` points to `bytes` bytes for each of the pipeline's devices, in their
                                        order and one behind the other */

typedef struct gpo_stage_argument {
    uint32_t struct_size;
    uint32_t kind;      /* GPO_ARGUMENT_VALUE to GPO_ARGUMENT_DEVICE_VALUE */
    const void *value;  /* VALUE, DEVICE_VALUE */
    uint64_t bytes;     /* VALUE: 1 to 4096; DEVICE_VALUE: 1 to 4096 for each device */
} gpo_stage_argument;

/* Puts the stage's work for a chunk on `stream` and returns. Must not wait for the work, and may use another stream
 * only if `stream` waits for it again, by events. If it returns another status than GPO_SUCCESS, the run fails with
 * GPO_CALLBACK_FAILED. Runs on a thread of the pipeline. */
typedef gpo_status (*gpo_stage_fn)(void *user, gpo_stream_t stream, const gpo_chunk *chunk);

typedef struct gpo_stage {
    uint32_t struct_size;
    uint32_t kind;                        /* GPO_STAGE_KERNEL or GPO_STAGE_CALLBACK */
    gpo_kernel_t kernel;                  /* KERNEL; NULL where `kernels` is given */
    uint32_t block[3];                    /* threads; all 0: as gpo_kernel_suggest_shape suggests */
    uint32_t grid[3];                     /* blocks; all 0: computed, input bytes / bytes_per_block, rounded up */
    uint64_t bytes_per_block;             /* input bytes for each block; 0: one byte for each thread. Must be 0 with a
                                             given grid */
    uint64_t dynamic_shared_bytes;        /* dynamic shared memory of a block */
    const gpo_stage_argument *arguments;  /* an array of `argument_count` structs, `argument_stride` bytes apart */
    uint64_t argument_stride;             /* sizeof(gpo_stage_argument); see gpo_pipeline_options.stage_stride */
    uint32_t argument_count;              /* at most 4096 */
    uint32_t max_blocks;                  /* greatest grid[0] that is computed, for kernels that loop; 0: no limit. Must
                                             be 0 with a given grid */
    gpo_stage_fn enqueue;                 /* CALLBACK */
    void *user;                           /* passed to `enqueue` */
    const char *label;
    const gpo_kernel_t *kernels;          /* KERNEL, on several devices: one for each, in the order of
                                             gpo_pipeline_options.devices */
} gpo_stage;

/* Short forms: initialisers of the structs above, for C and C++.
 *
 *     uint32_t key = 7;
 *     gpo_stage_argument arguments[] = {GPO_STAGE_ARGUMENT(INPUT), GPO_STAGE_ARGUMENT(INPUT_BYTES),
 *                                       GPO_STAGE_ARGUMENT_VALUE(key)};
 *     gpo_stage stage = GPO_STAGE_FOR_KERNEL(kernel, arguments);
 *
 * `what` is the end of a constant's name above: INPUT for GPO_ARGUMENT_INPUT, and so on to OFFSET. `variable`,
 * `variables` (an array with an element for each device) and `arguments` are the variable and the arrays themselves,
 * not pointers, and must exist until the pipeline is created. Fields that the short form leaves 0 can be set
 * afterwards. */
#define GPO_STAGE_ARGUMENT(what) {sizeof(gpo_stage_argument), GPO_ARGUMENT_##what, NULL, 0}
#define GPO_STAGE_ARGUMENT_VALUE(variable) \
    {sizeof(gpo_stage_argument), GPO_ARGUMENT_VALUE, &(variable), sizeof(variable)}
#define GPO_STAGE_ARGUMENT_DEVICE_VALUE(variables) \
    {sizeof(gpo_stage_argument), GPO_ARGUMENT_DEVICE_VALUE, (variables), sizeof((variables)[0])}
#define GPO_STAGE_FOR_KERNEL(kernel, arguments)                                                        \
    {sizeof(gpo_stage), GPO_STAGE_KERNEL, (kernel), {0, 0, 0}, {0, 0, 0}, 0, 0,                        \
     (arguments), sizeof((arguments)[0]), sizeof(arguments) / sizeof((arguments)[0]), 0, NULL, NULL, NULL, NULL}

/* --- sink --- */

#define GPO_SINK_NONE 0 /* the output is not copied out; results are copied out if there is a callback */
#define GPO_SINK_MEMORY 1
#define GPO_SINK_FILE 2
#define GPO_SINK_CALLBACK 3

/* Flag of a FILE sink: the bytes go to `descriptor` and not to `path`. See GPO_SOURCE_USE_DESCRIPTOR for the
 * reason. */
#define GPO_SINK_USE_DESCRIPTOR 1

/* Takes a finished chunk, in order. `chunk->output` and `chunk->result` can be read during the call. Runs on a thread
 * of the pipeline, one call at a time, and may block. Returns
 * GPO_SUCCESS: go on
 * GPO_END: that is enough; the run ends with success
 * Any other status: the run fails with GPO_CALLBACK_FAILED */
typedef gpo_status (*gpo_sink_fn)(void *user, const gpo_chunk *chunk);

typedef struct gpo_sink {
    uint32_t struct_size;
    uint32_t kind;           /* GPO_SINK_NONE, GPO_SINK_MEMORY, GPO_SINK_FILE or GPO_SINK_CALLBACK */
    void *memory;            /* MEMORY: where the output goes. Pinned memory is copied to directly; threads move the
                                output to other memory */
    uint64_t bytes;          /* MEMORY: its size. If there is more output, the run fails with GPO_LIMIT_EXCEEDED */
    const char *path;        /* FILE: the output is written to a temporary file beside it, which gets this name when the
                                run has succeeded; after a failure nothing is left. If the path is a symbolic link to a
                                file, that file is replaced. Devices and pipes are written to directly. A FILE sink has
                                either a path or GPO_SINK_USE_DESCRIPTOR, else GPO_INVALID_ARGUMENT */
    gpo_sink_fn take;        /* CALLBACK; with the other kinds it may be set too, and runs after a chunk was written */
    void *user;              /* passed to `take` */
    int32_t descriptor;      /* FILE with GPO_SINK_USE_DESCRIPTOR: written from where it stands, not closed */
    uint32_t flags;          /* GPO_SINK_USE_DESCRIPTOR; 0 unless FILE */
} gpo_sink;

/* --- the pipeline --- */

/* How far a run is. */
typedef struct gpo_pipeline_progress {
    uint32_t struct_size;
    uint32_t running;        /* 1 during a run */
    uint64_t bytes_in;       /* input bytes read from the source */
    uint64_t bytes_done;     /* input bytes of chunks that are through the sink */
    uint64_t bytes_total;    /* size of the input; 0: not known */
    uint64_t chunks_done;
    uint64_t elapsed_ns;
} gpo_pipeline_progress;

/* Called on a thread of the pipeline, at most once every `progress_ns`, and once at the end. */
typedef void (*gpo_progress_fn)(void *user, const gpo_pipeline_progress *progress);

#define GPO_PIPELINE_TIMES 1 /* measure GPU times for gpo_pipeline_result. Costs some 6 us a chunk, since an event with
                                a time delays a copy engine (with 16 MiB chunks 2 % of an H200's bandwidth, both
                                ways) */

typedef struct gpo_pipeline_options {
    uint32_t struct_size;
    uint32_t flags;                  /* GPO_PIPELINE_* */
    uint64_t chunk_bytes;            /* input bytes of a chunk: a multiple of `granule`, at most 1 TiB. GPO_AUTO: the
                                        first run measures which size is best (64 KiB to 64 MiB), and the pipeline
                                        remembers it */
    uint64_t granule;                /* all chunks except the last are multiples of it; 0: 4096; at most 1 TiB */
    uint32_t slots;                  /* chunks under way at a time on each device, 1 to 1024; GPO_AUTO: 3, or up to 6 if
                                        host code takes part */
    uint32_t output_numerator;       /* output bytes = input bytes * numerator / denominator, rounded up; at most 4096
                                        times the input. Numerator 0 with a denominator: no output. Both 0: as many
                                        output bytes as input bytes */
    uint32_t output_denominator;
    uint32_t stage_count;            /* 1 to 64 */
    const gpo_stage *stages;         /* an array of `stage_count` structs, `stage_stride` bytes apart */
    uint64_t stage_stride;           /* sizeof(gpo_stage). Must be a multiple of 8 and at least the struct_size of every
                                        element, else GPO_INVALID_ARGUMENT */
    uint64_t scratch_bytes;          /* device memory for each chunk, not cleared; at most 1 TiB */
    uint64_t result_bytes;           /* result of a chunk: a block that is zeroed before the stages run, and that the
                                        sink gets; at most 1 MiB */
    uint64_t max_pinned_bytes;       /* most pinned memory for staging, for all devices together; GPO_AUTO: 1 GiB for
                                        each device */
    gpo_progress_fn progress;        /* may be NULL */
    void *progress_user;             /* passed to `progress` */
    uint64_t progress_ns;            /* least time between two calls of `progress`; 0: 100 ms */
    const char *label;
    gpo_executor_t executor;         /* runs the callbacks of sources, stages and sinks and `progress` (executor.h): one
                                        of each kind at a time, while a thread of the pipeline waits. NULL: threads of
                                        the pipeline run them. If the executor is destroyed during a run, the run ends
                                        with GPO_CANCELLED. A thread that runs the executor must not wait for the
                                        pipeline, except by gpo_pipeline_then */
    const gpo_device_t *devices;     /* several devices that share the work: `device_count` of them, all different and
                                        of one runtime; the first is the `device` that gpo_pipeline_create gets. NULL:
                                        that device alone */
    uint32_t device_count;           /* 1 to 64; 0 if `devices` is NULL */
    uint32_t reserved;               /* 0 */
} gpo_pipeline_options;

/* Creates a pipeline. All options are checked and copied, with the kernels' arguments. The first run makes buffers and
 * streams.
 * GPO_INVALID_ARGUMENT: a value is out of range, a device is in the list twice, or a kernel is of another device than
 *     its place says; the message names it
 * GPO_INVALID_HANDLE: also a device or an executor of another runtime */
GPO_API gpo_status gpo_pipeline_create(gpo_device_t device, const gpo_pipeline_options *options,
                                       gpo_pipeline_t *pipeline);

/* Destroys a pipeline. A run that is under way is cancelled; the pipeline is freed when it has ended. Blocks neither on
 * the run nor on the pipeline's threads. */
GPO_API gpo_status gpo_pipeline_destroy(gpo_pipeline_t pipeline);

/* Starts a run. The memory and the descriptors of source and sink must exist until the run has ended. The structs and
 * paths may be freed when the call returns.
 * GPO_INVALID_STATE: another run of this pipeline is under way
 * GPO_NOT_FOUND, GPO_IO_ERROR: a file can't be opened; the message names it
 * GPO_LIMIT_EXCEEDED: the slots need more than `max_pinned_bytes`, or the system has no thread left */
GPO_API gpo_status gpo_pipeline_start(gpo_pipeline_t pipeline, const gpo_source *source, const gpo_sink *sink);

/* The figures of a run that has ended. */
typedef struct gpo_pipeline_result {
    uint32_t struct_size;
    gpo_status status;          /* how the run ended */
    uint64_t bytes_in;
    uint64_t bytes_out;
    uint64_t chunks;
    uint64_t elapsed_ns;        /* from gpo_pipeline_start until the last chunk was through the sink */
    uint64_t chunk_bytes;       /* the size of chunks at the end of the run */
    uint32_t slots;             /* of each device */
    uint32_t tuned;             /* 1: a part of this run was spent on measuring chunk sizes */
    uint64_t copy_in_ns;        /* with GPO_PIPELINE_TIMES: how long the copies in were busy on the GPU; of several
                                   devices this and the next three are sums */
    uint64_t copy_out_ns;       /* … the copies out */
    uint64_t kernel_ns;         /* … the kernels */
    uint64_t copy_hidden_ns;    /* the part of copy_in_ns + copy_out_ns in which the other direction or a kernel was
                                   busy too */
    uint64_t staged_bytes;      /* bytes that host threads moved between the caller's memory and pinned buffers */
} gpo_pipeline_result;

/* Waits for the run to end, and returns its status. `result` may be NULL. The pipeline can be started again, unless the
 * device is lost.
 * GPO_TIMEOUT: the timeout passed
 * GPO_INVALID_STATE: the pipeline was never started
 * GPO_WOULD_DEADLOCK: called in a callback of this pipeline
 * Any other status is the run's: GPO_SUCCESS, GPO_IO_ERROR (the message names the file), GPO_CALLBACK_FAILED,
 *     GPO_CANCELLED, GPO_LIMIT_EXCEEDED, GPO_DEVICE_LOST and others
 * Blocks until the timeout. */
GPO_API gpo_status gpo_pipeline_wait(gpo_pipeline_t pipeline, int64_t timeout_ns, gpo_pipeline_result *result);

/* A device's share of a run. */
typedef struct gpo_pipeline_share {
    uint32_t struct_size;
    uint32_t reserved;          /* 0 */
    uint64_t chunks;            /* that ran there and are through the sink */
    uint64_t bytes_in;          /* input bytes of them */
    uint64_t copy_in_ns;        /* with GPO_PIPELINE_TIMES: as in gpo_pipeline_result, of this device */
    uint64_t copy_out_ns;
    uint64_t kernel_ns;
    uint64_t copy_hidden_ns;
} gpo_pipeline_share;

/* Reads a device's share of the work in the run that ended last. `device` is its place in
 * gpo_pipeline_options.devices; 0 for a pipeline of one device. Any thread may call it, also in a callback. Blocks on
 * nothing.
 * GPO_INVALID_ARGUMENT: the pipeline hasn't so many devices
 * GPO_INVALID_STATE: no run has ended */
GPO_API gpo_status gpo_pipeline_get_share(gpo_pipeline_t pipeline, uint32_t device, gpo_pipeline_share *share);

/* Ends the run early: no further chunk is begun, chunks under way are finished and their output is dropped, and the
 * run's status is GPO_CANCELLED. Succeeds if no run is under way. Any thread may call it, also in a callback. */
GPO_API gpo_status gpo_pipeline_cancel(gpo_pipeline_t pipeline);

/* Puts an entry into `cq` (completion.h) when the run has ended, at once if it has.
 * GPO_INVALID_STATE: the pipeline was never started
 * GPO_WOULD_BLOCK: the queue is full; no entry will come */
GPO_API gpo_status gpo_pipeline_notify(gpo_pipeline_t pipeline, gpo_cq_t cq, uint64_t user_data);

/* Says how far the run is, or how far the last run came. Any thread may call it, also in a callback. Blocks on
 * nothing. */
GPO_API gpo_status gpo_pipeline_get_progress(gpo_pipeline_t pipeline, gpo_pipeline_progress *progress);

#ifdef __cplusplus
}
#endif

#endif
