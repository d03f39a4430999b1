/* scheduler.h: schedulers, which stay on the GPU and do the tasks of a queue.
 *
 * A scheduler takes tasks out of a ring or a host ring (queue.h) and calls for each the *handler* whose number the task
 * begins with, without the host. Handlers are device functions, which the library compiles together with its own loop:
 *
 *     #include <gpuorch/device/scheduler.cuh>
 *     struct visit { unsigned handler, node; };
 *     __device__ int visit_node(gpo::task_context &at, const visit &task) {
 *         for (unsigned next : neighbours(at.argument<graph>(), task.node))
 *             at.push(visit{0, next});
 *         return 0;
 *     }
 *
 *     gpo_handler handlers[] = {{.struct_size = sizeof handlers[0], .name = "visit_node"}};
 *     gpo_scheduler_options options = {.struct_size = sizeof options, .form = GPO_SCHEDULER_RESIDENT, .queue = ring,
 *                                      .source = text, .argument = graph_address};
 *     gpo_scheduler_create(device, &options, handlers, sizeof handlers[0], 1, &scheduler);
 *     gpo_scheduler_start(scheduler);
 *     gpo_queue_push(ring, stream, &first, 1, 0);
 *     gpo_stream_wait(stream, -1);
 *     gpo_scheduler_drain(scheduler, -1);
 *
 * gpuorch/device/scheduler.cuh describes the calls of handlers. A handler returns a gpo_status. If the status isn't
 * GPO_SUCCESS, or the task's number has no handler, an error that names the task is recorded, and the scheduler goes
 * on.
 *
 * Forms
 *   GPO_SCHEDULER_RESIDENT  One kernel stays on the GPU. Its blocks wait for tasks and call handlers. The least time
 *                           from a push to its handler; the multiprocessors are taken meanwhile.
 *   GPO_SCHEDULER_WHILE     A graph with a while, whose body is a kernel that does up to `batch` tasks for each worker.
 *                           The multiprocessors are free for other work between two turns. A run ends after 2^32 - 1
 *                           turns (gpo_scheduler_info.last_end). Not for host rings.
 *   GPO_SCHEDULER_GRAPHS    A graph of one warp, a *step*, takes tasks, and launches for each a graph of the program's,
 *                           made with GPO_GRAPH_DEVICE_LAUNCH. When these graphs are done, the step launches itself
 *                           again. For tasks that are whole graphs of kernels. Not for host rings.
 *
 * Runs
 *   A scheduler is ready at first. gpo_scheduler_start begins a *run*. All that a run needs is loaded and allocated by
 *   gpo_scheduler_create. A run ends when:
 *     - gpo_scheduler_drain was called, and all tasks are done;
 *     - gpo_scheduler_stop was called, and the tasks that had begun are done. The others stay in the queue;
 *     - there was nothing to do for `idle_timeout_ns`;
 *     - the queue was closed and all tasks are done, or the queue was aborted.
 *   The scheduler may then be started again, and goes on with the queue's tasks. A queue that was closed or aborted has
 *   to be reset first (gpo_queue_reset).
 *
 * Lifetime
 *   A scheduler keeps its queue: if the queue's handle is destroyed, its memory stays. Destroying a scheduler stops the
 *   run, and so does gpo_runtime_shutdown; everything in use stays until the run has ended. A handler that never
 *   returns keeps gpo_runtime_shutdown from succeeding.
 *   A scheduler runs on a resident stream (stream.h): the queue's (gpo_queue_options.stream), or else one of its own.
 *   Memory that handlers use has to stay until the run has ended.
 */
#ifndef GPUORCH_SCHEDULER_H
#define GPUORCH_SCHEDULER_H

#include "queue.h"
#include "template.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Forms. */
#define GPO_SCHEDULER_RESIDENT 1
#define GPO_SCHEDULER_GRAPHS 2
#define GPO_SCHEDULER_WHILE 3

/* Kinds of workers. All threads of a worker call a task's handler together. */
#define GPO_WORKER_THREAD 1
#define GPO_WORKER_WARP 2
#define GPO_WORKER_BLOCK 3

typedef struct gpo_handler {
    uint32_t struct_size;
    uint32_t graph_count;      /* GPO_SCHEDULER_GRAPHS: how many graphs there are, at least 1; else 0 */
    const char *name;          /* the device function's; GPO_SCHEDULER_GRAPHS: in messages, and may be NULL */
    const gpo_graph_t *graphs; /* GPO_SCHEDULER_GRAPHS: a launch of any of these does a task. A graph has one launch at
                                  a time, so a step does up to graph_count tasks of the handler. The graphs stay while
                                  the scheduler needs them, even if their handles are destroyed */
    uint64_t task_memory;      /* GPO_SCHEDULER_GRAPHS: device memory of graph_count * task_size bytes, at a multiple
                                  of 16: graph i finds its task at i * task_size. 0: graphs don't read their tasks */
} gpo_handler;

typedef struct gpo_scheduler_options {
    uint32_t struct_size;
    uint32_t form;                      /* GPO_SCHEDULER_RESIDENT, … */
    gpo_queue_t queue;                  /* a ring without GPO_QUEUE_TICKETS, or a host ring, of the same device */
    const char *source;                 /* CUDA C++ with the handlers' functions; GPO_SCHEDULER_GRAPHS: NULL */
    uint64_t source_bytes;              /* 0: the source ends with a NUL */
    const char *file_name;              /* name of the source in the compiler's messages; NULL: "handlers.cu" */
    const char *const *compile_options; /* as gpo_compile_options.options */
    uint32_t compile_option_count;
    uint32_t workers;                   /* GPO_WORKER_THREAD, …; GPO_AUTO: GPO_WORKER_WARP */
    uint32_t threads;                   /* threads of a block, a multiple of 32 up to 1024; GPO_AUTO: 128 */
    uint32_t blocks_per_multiprocessor; /* blocks on each multiprocessor; GPO_AUTO: 1 */
    uint32_t multiprocessors;           /* number for the scheduler's blocks; GPO_AUTO: all that no other scheduler has,
                                           less `leave_free` */
    uint32_t leave_free;                /* multiprocessors to be left to other work. With `multiprocessors` given, at
                                           least this many must remain */
    uint32_t batch;                     /* GPO_SCHEDULER_WHILE: tasks of a worker in a turn, GPO_AUTO: 16;
                                           GPO_SCHEDULER_GRAPHS: tasks of a step, up to 120, GPO_AUTO: 120 */
    uint32_t max_errors;                /* how many errors are stored, the first ones, up to 4096; GPO_AUTO: 64. All
                                           are counted */
    uint64_t argument;                  /* value that handlers get by argument<T>(): an address, or any number */
    uint64_t dynamic_shared_bytes;      /* shared memory of each block, for handlers */
    uint64_t idle_timeout_ns;           /* the run ends after this time with nothing to do; 0: never */
    uint64_t sample_interval_ns;        /* how often the queue's depth is noted; GPO_AUTO: a millisecond */
    const char *label;
} gpo_scheduler_options;

/* Creates a scheduler, compiles its handlers, and loads and allocates everything for its runs. `handlers` is an array
 * of `count` structs (1 to 256), `stride` bytes apart: sizeof(gpo_handler). A task whose first four bytes are i is for
 * handlers[i].
 *
 * GPO_INVALID_ARGUMENT: an option is out of range, or is one of another form, which has to be 0: the message names it;
 *     the queue or a graph is of another device; a handler's name is missing or no identifier; `leave_free` leaves no
 *     multiprocessor; a graph is given twice
 * GPO_INVALID_HANDLE: the queue or a graph is of another runtime
 * GPO_INVALID_STATE: the queue has a scheduler already: the message names it; or a graph was made without
 *     GPO_GRAPH_DEVICE_LAUNCH; or there is resident work (stream.h), for example of a running scheduler: create all
 *     schedulers before the first is started
 * GPO_NOT_SUPPORTED: the queue is a range, or has tickets, or the form isn't for host rings
 * GPO_COMPILE_FAILED: the source has errors; or a handler isn't there, isn't of the form int (gpo::task_context &,
 *     const task &), or its task is larger than the queue's: gpo_last_compile_log has the whole text
 * GPO_NO_COMPILER: as gpo_module_compile
 * GPO_LIMIT_EXCEEDED: other schedulers have the multiprocessors, or blocks_per_multiprocessor blocks with these
 *     handlers don't fit on a multiprocessor at a time: the message has the numbers
 *
 * Blocks on the compiler, and as gpo_queue_create. Loading and allocating are serialising (runtime.h). */
GPO_API gpo_status gpo_scheduler_create(gpo_device_t device, const gpo_scheduler_options *options,
                                        const gpo_handler *handlers, uint64_t stride, uint32_t count,
                                        gpo_scheduler_t *scheduler);

/* Stops a scheduler and destroys its handle: see "Lifetime". Blocks on nothing. */
GPO_API gpo_status gpo_scheduler_destroy(gpo_scheduler_t scheduler);

/* Begins a run. Figures (gpo_scheduler_info and the others below) count on from earlier runs.
 * GPO_INVALID_STATE: a run goes on; or the queue is a ring that is closed with nothing in it, or was aborted: the
 *     message says which. Over a host ring that is closed a run begins, and ends at once
 * Any other status: the scheduler's stream has failed with it
 * Blocks on the GPU for some microseconds, while the queue's state is read. */
GPO_API gpo_status gpo_scheduler_start(gpo_scheduler_t scheduler);

/* Asks the run to end when all earlier posted or pushed tasks are done, with the tasks that they push, and waits for
 * the end. Tasks that others push or post meanwhile may be done or left in the queue. If the timeout passes, the run
 * still drains: call again, or gpo_scheduler_stop.
 * GPO_SUCCESS: the run has ended, and all these tasks are done
 * GPO_TIMEOUT: the timeout passed
 * GPO_CANCELLED: the run has ended with tasks left: the queue was aborted, or the scheduler stopped or destroyed
 * GPO_INVALID_STATE: the scheduler was never started
 * Any other status: the scheduler's stream has failed with it
 * Blocks on the GPU until the timeout. */
GPO_API gpo_status gpo_scheduler_drain(gpo_scheduler_t scheduler, int64_t timeout_ns);

/* Asks the run to end, and waits for the end: handlers that have begun return, and no other begins. Tasks that are left
 * stay in the queue. A scheduler that doesn't run is stopped already.
 * GPO_SUCCESS: no run goes on
 * GPO_TIMEOUT: the timeout passed, and a handler has still not returned. The run ends when it does
 * Any other status: the scheduler's stream has failed with it
 * Blocks on the GPU until the timeout. */
GPO_API gpo_status gpo_scheduler_stop(gpo_scheduler_t scheduler, int64_t timeout_ns);

/* Waits until the run has ended, without asking it to.
 * GPO_SUCCESS: no run goes on
 * GPO_TIMEOUT: the timeout passed
 * Any other status: the scheduler's stream has failed with it
 * Blocks on the GPU until the timeout. */
GPO_API gpo_status gpo_scheduler_wait(gpo_scheduler_t scheduler, int64_t timeout_ns);

/* States. */
#define GPO_SCHEDULER_READY 0    /* may be started */
#define GPO_SCHEDULER_RUNNING 1
#define GPO_SCHEDULER_DRAINING 2 /* running, and asked to drain */
#define GPO_SCHEDULER_STOPPING 3 /* running, and asked to stop */

/* Properties and counters of a scheduler. */
typedef struct gpo_scheduler_info {
    uint32_t struct_size;
    uint32_t form;             /* GPO_SCHEDULER_RESIDENT, … */
    uint32_t state;            /* GPO_SCHEDULER_READY, … */
    gpo_status last_end;       /* why the last run ended: GPO_SUCCESS: drained; GPO_END: the queue is at its end;
                                  GPO_CANCELLED: stopped, or the queue was aborted; GPO_TIMEOUT: idle;
                                  GPO_LIMIT_EXCEEDED: the while has turned 2^32 - 1 times; GPO_NOT_READY: no run has
                                  ended */
    uint64_t runs;             /* runs that were started */
    uint64_t tasks;            /* tasks that were done, failed ones included */
    uint64_t errors;           /* tasks that failed */
    uint64_t refused_pushes;   /* pushes by handlers that found no room, or the queue aborted */
    uint64_t depth;            /* tasks in the queue's device memory that wait */
    uint64_t steps;            /* turns of a while, or of a step graph */
    uint64_t empty_polls;      /* how often a worker looked and found nothing */
    uint64_t busy_ns;          /* time in handlers, of all workers together */
    uint64_t worker_ns;        /* time of all workers together on the GPU: busy_ns / worker_ns is the busy share */
    uint32_t multiprocessors;  /* that the scheduler takes */
    uint32_t blocks;
    uint32_t workers;          /* that do tasks, in all blocks together */
    uint32_t handlers;
    uint64_t device_bytes;     /* device memory that the scheduler has, without its queue's */
} gpo_scheduler_info;
/* Describes a scheduler. During a run the numbers are not from a single moment.
 * Blocks on the GPU for some microseconds, while the numbers are copied; not on work of other streams. The functions
 * below block alike. */
GPO_API gpo_status gpo_scheduler_get_info(gpo_scheduler_t scheduler, gpo_scheduler_info *info);

/* Counters of a scheduler's handler. */
typedef struct gpo_handler_info {
    uint32_t struct_size;
    uint32_t reserved;
    uint64_t tasks;   /* that the handler did, failed ones included */
    uint64_t errors;  /* number of failed tasks */
    uint64_t busy_ns; /* time in the handler, of all workers together; GPO_SCHEDULER_GRAPHS: 0 */
} gpo_handler_info;
/* Writes what was done by the handler of a number.
 * GPO_INVALID_ARGUMENT: there is no such handler */
GPO_API gpo_status gpo_scheduler_get_handler(gpo_scheduler_t scheduler, uint32_t handler, gpo_handler_info *info);

/* A block of the scheduler. */
typedef struct gpo_scheduler_block {
    uint32_t struct_size;
    uint32_t multiprocessor; /* that the block ran on last */
    uint32_t workers;        /* of the block; 0: the block hands out the host's tasks, or is the step of a graph */
    uint32_t reserved;
    uint64_t tasks;
    uint64_t empty_polls;
    uint64_t busy_ns;        /* time in handlers, of the block's workers together */
    uint64_t worker_ns;      /* time of the block's workers together on the GPU */
} gpo_scheduler_block;
/* Writes the figures of the blocks in their order. `blocks`, `stride`, `capacity` and `count` are as in
 * gpo_scheduler_get_errors. */
GPO_API gpo_status gpo_scheduler_get_blocks(gpo_scheduler_t scheduler, gpo_scheduler_block *blocks, uint64_t stride,
                                            uint64_t capacity, uint64_t *count);

/* How many tasks waited at a moment. */
typedef struct gpo_depth_sample {
    uint32_t struct_size;
    uint32_t run;     /* from 1 */
    uint64_t time_ns; /* since the run began, by the GPU's clock */
    uint64_t depth;
} gpo_depth_sample;
/* Writes the newest samples of the queue's depth, oldest first; at most 1024 are stored. `samples`, `stride`,
 * `capacity` and `count` are as in gpo_scheduler_get_errors. */
GPO_API gpo_status gpo_scheduler_get_samples(gpo_scheduler_t scheduler, gpo_depth_sample *samples, uint64_t stride,
                                             uint64_t capacity, uint64_t *count);

/* A task that failed. */
typedef struct gpo_task_error {
    uint32_t struct_size;
    uint32_t handler;   /* the number that the task begins with */
    gpo_status status;  /* that the handler returned; GPO_NOT_FOUND: there is no handler of that number;
                           GPO_TIMEOUT: only some of the worker's threads called answer() or again();
                           GPO_LIMIT_EXCEEDED, GPO_INVALID_ARGUMENT: a graph couldn't be launched */
    uint32_t priority;  /* of the ring */
    uint64_t position;  /* the task's place in the order in which its priority's tasks were taken, from 0, since the
                           queue was created or reset */
    uint32_t task[4];   /* its first 16 bytes */
} gpo_task_error;
/* Writes the first errors since the scheduler was created, up to `capacity`, in the order in which they were found.
 * `errors` is an array with `stride` bytes from one element to the next, and may be NULL if `capacity` is 0. `*count`
 * gets how many were written. */
GPO_API gpo_status gpo_scheduler_get_errors(gpo_scheduler_t scheduler, gpo_task_error *errors, uint64_t stride,
                                            uint64_t capacity, uint64_t *count);

#ifdef __cplusplus
}
#endif

#endif
