/* buckets.h: shape buckets: one graph template for each shape of a table, recorded when it is needed.
 *
 * A graph has the sizes that were recorded. Requests that come in any size need one graph for each size, or are padded
 * to one of a few sizes. Buckets (gpo_buckets_t) do the latter: a table has *shapes*, numbers of elements (tokens,
 * rows, a batch), and each shape has a *bucket*, which is a template (template.h). A request of a size runs in the
 * smallest bucket that it fits into, after the elements between its size and the shape were padded.
 *
 *     options.shapes = shapes;                            for example 1, 2, 4, 8, 16, 32, 64, 128
 *     options.shape_count = 8;
 *     options.record = put_work;
 *     gpo_buckets_create(device, &options, &buckets);
 *     gpo_buckets_prepare(buckets, stream);               or leave it to the launches
 *     gpo_buckets_launch(buckets, stream, size, settings, sizeof *settings, setting_count, &shape);
 *
 * How a bucket is recorded
 *   `record` is called twice, on a stream of the library's own. In the first call, the warm-up, the work for the shape
 *   runs: so modules are loaded, libraries have made their workspaces, and memory is in its pools before anything is
 *   recorded. In the second call the same work is recorded, and `record` names its parameters in the bucket's
 *   template. The warm-up comes after what is on the caller's stream, and later work on the caller's stream comes after
 *   the warm-up; both without a wait on the host. Buffers that are used on other streams too have to bear the warm-up.
 *   The bucket's graph is made and uploaded at once. Later launches instantiate nothing, except for the first launch on
 *   each further stream: see gpo_buckets_options.streams.
 *
 * Work that updates memory in place
 *   The warm-up runs the work once more than there are requests. If the work adds to memory that stays from request to
 *   request (a cache, a position, a state of a generator), do one of these:
 *   - name that memory in gpo_buckets_options.restored: the library copies it before the warm-up and back afterwards,
 *     in the order of the streams;
 *   - let `record` leave out or change the work where gpo_bucket_work.phase is GPO_BUCKET_WARM_UP;
 *   - leave the warm-up out: GPO_BUCKETS_NO_WARM_UP. Everything that the work needs must then exist already: if a
 *     library creates resources at its first call, during the recording, the driver may refuse, and the recording
 *     fails.
 *
 * Requests that run eagerly
 *   `record` is then called with the caller's stream and without a template: it puts the work for exactly the size of
 *   the request on the stream, and looks up the settings that it knows among the request's. Nothing is padded, and the
 *   work takes the place of the graph's launch in the order of the stream. Requests run eagerly
 *   - if no shape is as large as the size;
 *   - if the bucket isn't recorded, and can't be now: another bucket is being recorded, by another thread or around
 *     this call, or the caller's stream is held (stream.h) or in capture;
 *   - if the bucket alone takes more than `max_bytes`;
 *   - with GPO_BUCKETS_EAGER_FALLBACK, if the bucket's recording has failed: see there.
 *
 * Threads
 *   Buckets are recorded one at a time. No launch waits for another thread's recording. `record` and `pad` run on the
 *   thread that calls gpo_buckets_launch or gpo_buckets_prepare, under no lock; for eager requests and for padding
 *   several threads may be in them at once.
 */
#ifndef GPUORCH_BUCKETS_H
#define GPUORCH_BUCKETS_H

#include "template.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Why `record` or `pad` is called. */
#define GPO_BUCKET_WARM_UP 1   /* record: the work runs once, before it is recorded */
#define GPO_BUCKET_RECORDING 2 /* record: the work is recorded */
#define GPO_BUCKET_EAGER 3     /* record: the work of a request runs */
#define GPO_BUCKET_PADDING 4   /* pad: the elements from `size` to `shape` are to be written */

/* The work that `record` or `pad` puts on the stream. Valid during the call. */
typedef struct gpo_bucket_work {
    uint32_t struct_size;
    uint32_t reserved;
    uint64_t size;                 /* elements of the request; in a warm-up and a recording: `shape` */
    uint64_t shape;                /* number of elements to work on: a shape of the table, or `size` in an eager run */
    gpo_template_t graph_template; /* record: NULL: the work runs; else it is recorded into this template, whose
                                      recording the library begins and ends. pad: the bucket's. The template is the
                                      library's to destroy; its handle is valid until the bucket is evicted */
    const gpo_setting *settings;   /* of the request; none in a warm-up and a recording */
    uint64_t setting_stride;
    uint64_t setting_count;
    uint32_t phase;                /* GPO_BUCKET_*; an older library's struct ends before it (struct_size) */
    uint32_t reserved2;
} gpo_bucket_work;

/* Puts work on `stream` and returns GPO_SUCCESS. Must not wait for the work, and may use other streams only if `stream`
 * waits for them again, by events. With any other status, or a C++ exception, the call of the library that runs the
 * function fails with GPO_CALLBACK_FAILED. `stream` may be used, and a recording's own stream exists, only during the
 * call. */
typedef gpo_status (*gpo_bucket_fn)(void *user, gpo_stream_t stream, const gpo_bucket_work *work);

/* `record` isn't called for a warm-up. Not with `restored`. */
#define GPO_BUCKETS_NO_WARM_UP 1
/* If a bucket can't be recorded, its requests run eagerly instead of failing: this request, and all later ones, without
 * another attempt. Only gpo_buckets_prepare tries again. A bucket can't be recorded if a call can't be recorded,
 * `record` fails in the recording, the driver refuses the graph, or device memory for a graph or for the copies of
 * `restored` is missing. The failure is counted and logged as a warning; gpo_buckets_get_statistics has its text.
 * A request still fails if `record` fails in the warm-up, if `restored` can't be restored after the warm-up, if the
 * host has no memory, if the stream has failed, or if the device is lost. */
#define GPO_BUCKETS_EAGER_FALLBACK 2

/* Memory from `address` on. */
typedef struct gpo_memory_range {
    uint32_t struct_size;
    uint32_t reserved; /* 0 */
    uint64_t address;
    uint64_t bytes;
} gpo_memory_range;

typedef struct gpo_buckets_options {
    uint32_t struct_size;
    uint32_t flags;             /* GPO_BUCKETS_* */
    const uint64_t *shapes;     /* numbers of elements, in any order; none is 0, none comes twice */
    uint64_t shape_count;       /* 1 to 4096 */
    uint64_t max_bytes;         /* device memory that all buckets may take; 0: any. A bucket takes as much as the
                                   device's free memory went down by while the bucket was recorded and its graphs were
                                   made. Allocations of `record` count, and also other allocations at that time */
    uint32_t max_buckets;       /* most buckets that are recorded at a time; the least recently used bucket
                                   makes room for another; 0: all */
    uint32_t streams;           /* graphs of each bucket from the start, one for each launching stream; GPO_AUTO: 1; at
                                   most 64 */
    gpo_bucket_fn record;
    gpo_bucket_fn pad;          /* writes the elements from `size` to `shape`. NULL: `pad_address` */
    void *user;                 /* passed to `record` and `pad` */
    uint64_t pad_address;       /* element 0 in device memory: zeros are written instead of a call of `pad`. 0: no
                                   padding is needed. 0 with `pad` */
    uint64_t pad_element_bytes; /* size of an element there; 0 without `pad_address` */
    const char *label;
    const gpo_memory_range *restored; /* `restored_count` structs, `restored_stride` bytes apart: memory, of the device
                                         or pinned, that a warm-up leaves unchanged. The memory is read and written in
                                         the order of the caller's stream, and not at the same time by other work.
                                         Copies take as much device memory again while a bucket is recorded */
    uint64_t restored_stride;
    uint64_t restored_count;          /* at most 4096 */
} gpo_buckets_options;

/* Makes buckets without recording any. `record`, `pad` and `user` must stay valid until the buckets are destroyed, and
 * the memory at `pad_address` and of `restored` until their launches are done.
 * GPO_INVALID_ARGUMENT: `record` is NULL, there are no shapes, a shape is 0 or comes twice, `pad_address` doesn't go
 *     with the rest; a range of `restored` is empty, at NULL, or runs past the end of addresses, there are too many,
 *     or there are some with GPO_BUCKETS_NO_WARM_UP */
GPO_API gpo_status gpo_buckets_create(gpo_device_t device, const gpo_buckets_options *options, gpo_buckets_t *buckets);

/* Destroys them with their templates. Launches that were accepted still run. */
GPO_API gpo_status gpo_buckets_destroy(gpo_buckets_t buckets);

/* Records all buckets that aren't recorded yet, the largest first, as far as `max_bytes` and `max_buckets` allow: a
 * bucket that doesn't fit is left out, and none is evicted for it. The warm-ups come after what is on `stream`. If it
 * fails, the buckets that were recorded before stay. With GPO_BUCKETS_EAGER_FALLBACK a bucket whose recording fails is
 * left out, and the call goes on to the next; buckets whose recording had failed before are tried again.
 * GPO_CALLBACK_FAILED: see gpo_bucket_fn; the message names the bucket, and what was refused in a recording
 * GPO_CAPTURE_REFUSED: a recording has failed (see gpo_template_end); or `stream` is in capture
 * GPO_OUT_OF_MEMORY: for the copies of `restored`, with which nothing has run yet; or for a graph
 * GPO_INVALID_ARGUMENT: a range of `restored` is in pageable memory, or runs past the end of its allocation
 * GPO_INVALID_STATE: a bucket is being recorded, by another thread or around this call; or `stream` is held */
GPO_API gpo_status gpo_buckets_prepare(gpo_buckets_t buckets, gpo_stream_t stream);

/* Runs a request of `size` elements on `stream`: pads, and launches the graph of the smallest bucket that it fits into
 * with `settings` (as gpo_template_launch). If the bucket isn't recorded it is recorded now, and `settings` are read
 * after that. If `max_bytes` or `max_buckets` are exceeded then, the buckets that were not used for the longest time
 * are evicted: their templates are destroyed, and their launches that were accepted still run. `shape`, which may be
 * NULL, gets the bucket's shape; 0: the request ran eagerly.
 * GPO_NOT_FOUND: the bucket has no parameter of that name; the message names both
 * GPO_INVALID_ARGUMENT: `size` is 0; or as gpo_template_launch
 * GPO_CALLBACK_FAILED, GPO_CAPTURE_REFUSED: as gpo_buckets_prepare: the bucket isn't recorded, and the next request for
 *     it tries again
 * GPO_OUT_OF_MEMORY, GPO_INVALID_ARGUMENT: as gpo_buckets_prepare, too
 *
 * Work that `record` or `pad` put on the stream before a failure stays. Memory of `restored` is as before the warm-up
 * after any failure, unless the message says that the memory couldn't be restored: if the device is lost, or `record`
 * has made the library's stream fail. Doesn't wait for the GPU. */
GPO_API gpo_status gpo_buckets_launch(gpo_buckets_t buckets, gpo_stream_t stream, uint64_t size,
                                      const gpo_setting *settings, uint64_t stride, uint64_t count, uint64_t *shape);

/* Counters of buckets and their requests. */
typedef struct gpo_buckets_statistics {
    uint32_t struct_size;
    uint32_t buckets;   /* recorded, and not evicted */
    uint64_t bytes;     /* device memory that these take, as for max_bytes */
    uint64_t hits;      /* requests that found their bucket recorded */
    uint64_t misses;    /* requests for which a bucket was recorded */
    uint64_t eager;     /* requests that ran eagerly */
    uint64_t evictions; /* buckets that were evicted */
    uint64_t requested; /* elements of all these requests */
    uint64_t padded;    /* elements of padding that ran with them */
    uint64_t failures;  /* attempts to record a bucket that failed, in the warm-up or in the recording */
    uint64_t fallbacks; /* of `eager`, requests whose bucket's recording had failed (GPO_BUCKETS_EAGER_FALLBACK) */
    char last_failure[256]; /* cause of the last failure, with its bucket; "" if there was none */
} gpo_buckets_statistics;
/* Reads the counters of the buckets and their requests. */
GPO_API gpo_status gpo_buckets_get_statistics(gpo_buckets_t buckets, gpo_buckets_statistics *statistics);

#ifdef __cplusplus
}
#endif

#endif
