/* batcher.h: many small requests, put together into few large batches.
 *
 * A GPU that gets a launch and two copies for each small request is busy with launches. A *batcher* puts requests
 * that wait together: it gathers their inputs, copies them to the device at once, runs the program's work once for all
 * of them, and gives each request its part of the output and one entry in a completion queue.
 *
 *     gpo_batcher_key_options options = {.struct_size = sizeof options, .layout = GPO_BATCH_ROWS, .max_batch = 64,
 *                                        .input_bytes = 784 * 4, .output_bytes = 10 * 4, .work = put_work};
 *     gpo_batcher_add_key(batcher, &options, &key);
 *     …                                                    // on any thread, for each request:
 *     gpo_batcher_request request = {.struct_size = sizeof request, .key = key, .input = image, .output = scores};
 *     gpo_batcher_submit(batcher, &request, cq, user_data, &ticket, NULL);
 *     …                                                    // the entry comes: `scores` is written
 *
 * Words
 *   key      A kind of request: how its bytes lie in a batch, and the work of a batch. Requests of different keys never
 *            share a batch.
 *   batch    Requests of a key that run together (gpo_batch).
 *   lane     What runs batches on a device: one batch after the other. A lane is two batches deep: while one runs, the
 *            input of the next is gathered and copied, and the output of the one before is copied back.
 *   waiting  A request waits until its batch is formed. It can be cancelled until then.
 *
 * When a batch is formed
 *   A batch needs a lane with room. It is formed as soon as there is one and
 *   - the key has as many requests or elements waiting as a batch may have; or
 *   - the oldest of them has waited for `max_delay_ns`; or
 *   - the most urgent of them would miss its deadline otherwise, by the measured time of such a batch. Where none was
 *     measured yet, a request with a deadline leaves at once.
 *   Lanes serve the key whose batch has been due for the longest time. The members of a batch are taken from the
 *   *flows* of the key by deficit round robin, as admissions do (admission.h); within a flow in the order of
 *   submission.
 *
 * Overload
 *   Nothing waits in an unbounded line: gpo_batcher_submit gives GPO_WOULD_BLOCK if `capacity` requests wait. A request
 *   whose deadline can't be met, by the requests in front of it and the measured times of batches, is refused at once
 *   with GPO_TIMEOUT and the predicted wait. A request that waits until its deadline ends with GPO_TIMEOUT and has
 *   never started.
 *
 * Memory
 *   Input and output are the program's until the entry has come, and must stay valid until then, even if the request is
 *   cancelled. They may be pageable, pinned (memory.h) or, in a batcher of one device, device memory. Device memory is
 *   copied on the device. Its input must be ready when the request is submitted: no stream is waited for. The buffers
 *   of batches are the batcher's. They are made when a lane first runs a batch and when a key with larger batches is
 *   added.
 *
 * Failures
 *   If a batch fails, its requests end with the batch's failure, and other batches go on. If a device is lost, the
 *   requests of its batches end with GPO_DEVICE_LOST. Other devices of the batcher go on. If there is none, the
 *   waiting requests end so as well, and later submissions fail.
 *
 * Batchers and other things
 *   - Work that is too large for this memory or this GPU is kept out by an admission, before gpo_batcher_submit.
 *   - Requests with many steps (tokens of a text, frames) that join and leave a running batch belong to
 *     gpo_scheduler_t (scheduler.h). A batcher may do the first step, the prompt: the callback of its completion
 *     submits the task to the scheduler.
 *   - Lanes have streams of their own. Nothing that the program does with its streams (hold, capture, record) concerns
 *     them. A batch behind resident work of the same device runs beside it, as other streams do.
 *   - A batcher counts requests of this process only.
 *
 * Threads. Any thread may make any call. The functions here don't block. In a host node (template.h) they fail.
 *   The executor forms batches, calls `work`, and gives the requests of ended batches their output and their entries. A
 *   lane does one thing at a time. If a batch ends while the lane gathers another batch or calls `work`, the entries
 *   come afterwards. An executor with GPO_EXECUTOR_CALLER gives entries only while a thread runs it.
 */
#ifndef GPUORCH_BATCHER_H
#define GPUORCH_BATCHER_H

#include "buckets.h"
#include "executor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How requests lie in a batch. */
#define GPO_BATCH_ROWS 1   /* each request is one row of fixed size */
#define GPO_BATCH_RAGGED 2 /* each request has a number of elements; inputs lie one behind the other */

/* A member of a batch. */
typedef struct gpo_batch_request {
    uint32_t struct_size;
    uint32_t reserved;
    uint64_t user_data;    /* of the submission; with gpo_batcher_submit_then: `user` */
    uint64_t flow;
    uint64_t elements;     /* rows: 1 */
    uint64_t first;        /* sum of the elements of the members before it: where it begins, in elements */
    uint64_t input_bytes;  /* bytes of its input, and of its room for output */
    uint64_t output_bytes;
} gpo_batch_request;

/* A batch, for the work that runs it. The memory is the batcher's, and valid for work in the order of the stream. */
typedef struct gpo_batch {
    uint32_t struct_size;
    uint32_t requests;      /* number of members */
    uint64_t elements;      /* of all members; rows: `requests` */
    uint64_t shape;         /* elements to work on; with `work` there is no padding: `elements` */
    uint64_t input;         /* device address: `elements` times the key's `input_bytes` */
    uint64_t output;        /* device address: `elements` times the key's `output_bytes`; zeros at first, unless the key
                               has GPO_BATCHER_KEEP_OUTPUT */
    uint64_t offsets;       /* device address: uint32_t[requests + 1], exclusive sums of the members' elements */
    uint64_t made;          /* device address: uint32_t[requests], zeros at first. The work may write how many bytes of
                               output it made for a member. 0: all of its room. 0 without GPO_BATCHER_VARIABLE_OUTPUT */
    uint64_t key;
    uint32_t device;        /* the place of the device in gpo_batcher_options.devices */
    uint32_t lane;          /* number of the lane, from 0. Batches of a lane run one after the other */
    const gpo_batch_request *members; /* `requests` structs, `member_stride` bytes apart; valid during the call */
    uint64_t member_stride;
} gpo_batch;

/* Puts the work of a batch on `stream` and returns GPO_SUCCESS. It may use other streams only if `stream` waits for
 * them again, by events, and must not wait for the work. With another status or a C++ exception the batch fails with
 * GPO_CALLBACK_FAILED. Runs on the batcher's executor, for each lane one call at a time. `stream` may be used during
 * the call only. */
typedef gpo_status (*gpo_batch_fn)(void *user, gpo_stream_t stream, const gpo_batch *batch);

/* Frees what a key's `work` needed. Called once, when `work` is called no more: during gpo_batcher_destroy or later, at
 * the latest during gpo_runtime_shutdown. The thread may be any, also one of the library's. It must return soon, wait
 * for nothing and throw nothing. */
typedef void (*gpo_batch_release_fn)(void *user);

typedef struct gpo_batcher_options {
    uint32_t struct_size;
    uint32_t flags;              /* 0: there are none yet */
    const gpo_device_t *devices; /* handles of different devices of one runtime */
    uint64_t device_count;       /* 1 to 64 */
    uint32_t lanes;              /* lanes of each device; GPO_AUTO: 1; at most 16 */
    uint32_t capacity;           /* how many requests may wait at a time, of all keys; GPO_AUTO: 65536; at most 2^20 */
    gpo_executor_t executor;     /* forms batches and calls `work`; NULL: the batcher has one of its own, with a thread
                                    for each lane. It has to have as many threads as lanes are to work at a time. While
                                    requests wait, gpo_executor_run doesn't return */
    const char *label;
} gpo_batcher_options;

/* Creates a batcher without keys. If `executor` is destroyed, waiting requests end with GPO_CANCELLED, later
 * submissions fail with GPO_CANCELLED, and batches that run are brought to their end by the library.
 * GPO_INVALID_ARGUMENT: an option is out of range, or a device comes twice
 * GPO_INVALID_HANDLE: the devices and the executor are of different runtimes */
GPO_API gpo_status gpo_batcher_create(const gpo_batcher_options *options, gpo_batcher_t *batcher);

/* Destroys a batcher. Waiting requests end with GPO_CANCELLED. Batches that run go on to their end, and their requests
 * get their outcome. gpo_runtime_shutdown ends waiting requests so too, and waits for the batches. */
GPO_API gpo_status gpo_batcher_destroy(gpo_batcher_t batcher);

/* Entries of a flow come in the order of its submissions. An entry then waits for those before it. */
#define GPO_BATCHER_PRESERVE_ORDER 1
/* Members of a batch have a word in `made`: outputs have different sizes. */
#define GPO_BATCHER_VARIABLE_OUTPUT 2
/* The output buffer isn't filled with zeros before the work, which saves a fill for each batch. The work must then
 * write all output of every member: what it leaves out is output of an earlier batch, perhaps of another client. */
#define GPO_BATCHER_KEEP_OUTPUT 4

typedef struct gpo_batcher_key_options {
    uint32_t struct_size;
    uint32_t flags;        /* GPO_BATCHER_PRESERVE_ORDER, GPO_BATCHER_VARIABLE_OUTPUT, GPO_BATCHER_KEEP_OUTPUT */
    uint32_t layout;       /* GPO_BATCH_* */
    uint32_t max_batch;    /* most members of a batch, up to 65536; GPO_AUTO: rows with buckets: the largest shape, else
                              64. 1: requests run alone, spread over the lanes */
    uint64_t input_bytes;  /* of a row or an element, in and out; not both are 0 */
    uint64_t output_bytes;
    uint64_t max_elements; /* ragged: most elements of a batch, and of a request; up to 2^32 - 1; GPO_AUTO: with buckets
                              the largest shape. Rows: 0 */
    uint64_t max_delay_ns; /* how long a request may wait for others; GPO_AUTO: learnt, see below; 1: never */
    const gpo_buckets_t *buckets; /* the work: one for each device, in the order of the devices. NULL: `work` */
    uint64_t bucket_count;        /* number of devices; without `buckets` 0 */
    gpo_batch_fn work;            /* NULL: `buckets` */
    void *user;                   /* passed to `work` */
    const char *label;            /* names the key in failures and figures; NULL: "key 0", by its number */
    gpo_batch_release_fn release; /* NULL, or called with `user` once when `work` is called no more */
} gpo_batcher_key_options;

/* Adds a key, and writes its number. Keys stay as long as the batcher. At most 256. `work` may be called until the last
 * batch has ended: also after gpo_batcher_destroy, but not after gpo_runtime_shutdown. If this call
 * fails, `release` isn't called.
 *
 * Buckets (buckets.h) get the batch's size, requests of rows or elements of ragged batches, and these settings: `input`
 * and `output` (device addresses, 8 bytes), which their templates must have as parameters if the key has such bytes;
 * and, if their templates have them, `offsets`, `made` (device addresses), `count` and `elements` (uint64_t: members of
 * the batch and their elements). Callbacks that run a batch eagerly get all of them. The buckets must stay until the
 * batcher is destroyed: without them, batches fail with GPO_STALE_HANDLE. Keys may share buckets. The batcher's streams
 * don't wait for the warm-ups of gpo_buckets_prepare: wait for its stream before the first request, if buckets share
 * memory. Between a batch's last element and the shape, input and output are what earlier batches have left there.
 * `pad` of the buckets may write them. No request gets them.
 *
 * With `max_delay_ns` GPO_AUTO a lane that has nothing to do takes what is there. While a batch runs, requests wait for
 * others until its measured time is nearly over, less the time that gathering and copying of the next takes: waiting
 * longer would leave the GPU idle, and waiting less makes smaller batches.
 * GPO_INVALID_ARGUMENT: an option is out of range; neither or both of `buckets` and `work`
 * GPO_INVALID_HANDLE: buckets are of another device
 * GPO_LIMIT_EXCEEDED: the batcher has 256 keys, or a batch would have more than 2^40 bytes
 * GPO_OUT_OF_MEMORY is the status of requests if there is no memory for a batch's buffers. */
GPO_API gpo_status gpo_batcher_add_key(gpo_batcher_t batcher, const gpo_batcher_key_options *options, uint32_t *key);

typedef struct gpo_batcher_request {
    uint32_t struct_size;
    uint32_t key;
    uint64_t flow;           /* any number: a tenant, a connection */
    uint64_t elements;       /* ragged: 1 up to the key's max_elements. Rows: 0 or 1 */
    const void *input;       /* host memory, or */
    uint64_t input_address;  /* device memory: as many bytes as the key and `elements` say; one of the two, unless the
                                key has no bytes in */
    void *output;            /* host memory, or */
    uint64_t output_address; /* device memory, likewise */
    uint64_t *output_made;   /* NULL, or gets the number of bytes of output before the entry comes. Device memory is
                                always written as far as the room reaches */
    uint64_t deadline_ns;    /* CLOCK_MONOTONIC; 0 and UINT64_MAX: none */
} gpo_batcher_request;

/* Submits a request. `cq` gets one entry with `user_data`, the origin GPO_ORIGIN_BATCHER and the ticket in `operation`,
 * perhaps before the call returns. Statuses of the entry:
 *     GPO_SUCCESS: the output is written
 *     GPO_TIMEOUT: the deadline passed, or couldn't be met any more, before the request's batch was formed
 *     GPO_CANCELLED: gpo_batcher_cancel, the batcher or its executor was destroyed, or the runtime shuts down
 *     others: the failure of its batch; gpo_cq_get_error names the culprit
 * `*ticket` is never 0.
 *
 * The call itself can fail, without an entry and without effect.
 * GPO_WOULD_BLOCK: as many requests wait as may, or the queue is full
 * GPO_TIMEOUT: the deadline has passed, or can't be met. `*wait_ns` (NULL: not asked) gets the predicted time until the
 *     request would have been done, and a quarter of it as a margin; 0 after any other result
 * GPO_NOT_FOUND: there is no such key
 * GPO_INVALID_ARGUMENT: `elements` is out of range; input or output is missing, given twice, or not of this device;
 *     device memory in a batcher of several devices
 * GPO_DEVICE_LOST: the last device was lost */
GPO_API gpo_status gpo_batcher_submit(gpo_batcher_t batcher, const gpo_batcher_request *request, gpo_cq_t cq,
                                      uint64_t user_data, uint64_t *ticket, uint64_t *wait_ns);

/* Like gpo_batcher_submit, but calls `callback` on `executor` (executor.h) in place of an entry. `*ticket` is written
 * before the callback can run. If the executor is destroyed, the callback gets GPO_CANCELLED at once. A request whose
 * batch is not formed then leaves the line. A batch that was formed may still read the input and write the output,
 * until gpo_batcher_get_info says that none runs.
 * GPO_WOULD_BLOCK: as many requests wait as may, or the executor is full; the callback is never called */
GPO_API gpo_status gpo_batcher_submit_then(gpo_batcher_t batcher, const gpo_batcher_request *request,
                                           gpo_executor_t executor, gpo_completion_fn callback, void *user,
                                           uint64_t *ticket, uint64_t *wait_ns);

/* Takes a waiting request out of the line. Its entry has GPO_CANCELLED.
 * GPO_INVALID_STATE: its batch was formed
 * GPO_NOT_FOUND: no request with this ticket waits or runs */
GPO_API gpo_status gpo_batcher_cancel(gpo_batcher_t batcher, uint64_t ticket);

/* Sets the weight of a flow, 1 to 2^16, in all keys, from its next turn on. Flows have the weight 1 at first.
 * GPO_INVALID_ARGUMENT: `weight` is out of range
 * GPO_LIMIT_EXCEEDED: 65536 flows have other weights than 1 */
GPO_API gpo_status gpo_batcher_set_flow(gpo_batcher_t batcher, uint64_t flow, uint32_t weight);

/* [i] counts times of at most 2^i microseconds and more than half that; the last: longer */
#define GPO_BATCHER_TIMES 32
/* [i] counts batches of at most 2^i members and more than half that */
#define GPO_BATCHER_SIZES 17

/* Figures of a key, or of a batcher. Counters begin with the batcher. */
typedef struct gpo_batcher_info {
    uint32_t struct_size;
    uint32_t keys;             /* keys of the batcher */
    uint64_t waiting;          /* requests: wait now */
    uint64_t waiting_elements;
    uint64_t waiting_flows;    /* flows with waiting requests, counted for each key */
    uint64_t running;          /* requests in batches that run now */
    uint64_t running_batches;
    uint64_t submitted;        /* requests that were accepted */
    uint64_t submitted_bytes;  /* their input and room for output */
    uint64_t succeeded;        /* requests: ended with GPO_SUCCESS */
    uint64_t failed;           /* with the failure of a batch */
    uint64_t expired;          /* with GPO_TIMEOUT */
    uint64_t cancelled;        /* with GPO_CANCELLED */
    uint64_t refused_full;     /* refused: as many requests waited as may */
    uint64_t refused_deadline; /* refused: the deadline couldn't be met */
    uint64_t late;             /* of `succeeded`: ended after their deadline */
    uint64_t batches;          /* batches that ended */
    uint64_t batch_elements;   /* their elements */
    uint64_t padded_elements;  /* elements of padding that ran with them; with `work`: 0 */
    uint64_t delay_ns;         /* key: how long its newest batch has waited for members; batcher: 0 */
    uint64_t wait_ns;          /* predicted time until a request that is submitted now would be done, with the margin;
                                  batcher: the longest of its keys */
    double requests_per_second; /* requests that ended with GPO_SUCCESS, over the last seconds */
    double batches_per_second;
    uint64_t queue_ns;   /* the times that are counted below, added up */
    uint64_t batch_ns;
    uint64_t request_ns;
    uint64_t sizes[GPO_BATCHER_SIZES];
    uint64_t queue_times[GPO_BATCHER_TIMES];   /* of requests: from submission to the forming of the batch */
    uint64_t batch_times[GPO_BATCHER_TIMES];   /* of batches: from forming to the end of the copy back */
    uint64_t request_times[GPO_BATCHER_TIMES]; /* of requests with GPO_SUCCESS: from submission to the entry */
} gpo_batcher_info;

/* Describes a batcher, all of its keys together. */
GPO_API gpo_status gpo_batcher_get_info(gpo_batcher_t batcher, gpo_batcher_info *info);

/* Describes a key.
 * GPO_NOT_FOUND: there is no such key */
GPO_API gpo_status gpo_batcher_get_key_info(gpo_batcher_t batcher, uint32_t key, gpo_batcher_info *info);

typedef struct gpo_batcher_flow_info {
    uint32_t struct_size;
    uint32_t weight;
    uint64_t waiting;   /* requests of all keys: wait now */
    uint64_t submitted; /* requests since the flow was first seen: accepted */
    uint64_t succeeded; /* ended with GPO_SUCCESS */
    uint64_t failed;    /* ended otherwise */
    uint64_t wait_ns;   /* time that requests waited until their batches were formed, added up */
    uint64_t longest_wait_ns;
} gpo_batcher_flow_info;

/* Describes a flow. The figures of 4096 flows are kept: those that were seen least recently are forgotten.
 * GPO_NOT_FOUND: no figures of such a flow are kept, or there was no memory for them */
GPO_API gpo_status gpo_batcher_get_flow_info(gpo_batcher_t batcher, uint64_t flow, gpo_batcher_flow_info *info);

#ifdef __cplusplus
}
#endif

#endif
