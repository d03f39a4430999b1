/* advice.h: which form of work fits a workload, why, and how much faster the workload would be.
 *
 * A program describes a *workload* by what it has measured. The library answers with *forms* in which the workload
 * could run, the best first: as it is, a graph template, more streams or fewer, a device queue, and so on. Each form
 * comes with its expected gain, from low to high, and a reason with the figures behind it.
 *
 *     gpo_workload workload = {.struct_size = sizeof workload, .flags = GPO_WORKLOAD_REPEATS,
 *                              .launches = 100, .kernel_ns = 109000};
 *     gpo_advice advice[3] = {{.struct_size = sizeof advice[0]}, ...};
 *     gpo_advise(device, &workload, NULL, advice, sizeof advice[0], 3, &count);
 *     puts(advice[0].reason);
 *
 * How it is found
 *   The time of a round is predicted for each form, from the figures of the workload and from what launches, graphs,
 *   copies and queues cost (gpo_costs). How tasks are best handed out, and in which batches, is found by a simulation
 *   of the GPU's multiprocessors that work on the tasks. The prediction is a model: measure the form that it advises.
 *   "Leave it" (GPO_FORM_LEAVE) is an advice too: no form is expected to gain a twentieth. Each form is judged by
 *   itself. To combine forms, adopt the first one, measure, and ask again.
 *
 * Nothing here reaches the GPU, except gpo_device_get_costs with GPO_COSTS_PROBE.
 *
 * Thousandths
 *   Shares and factors are integers in thousandths: a gain of 1850 means that a round takes 1/1.85 of the time.
 */
#ifndef GPUORCH_ADVICE_H
#define GPUORCH_ADVICE_H

#include "device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What things cost. Times are nanoseconds of the host, unless said otherwise. */
typedef struct gpo_costs {
    uint32_t struct_size;
    uint32_t measured;               /* 1: launches, graphs and copies were measured on this device. 0: all costs are an
                                        H200's, except figures from the device's properties */
    uint64_t launch_ns;              /* launch of a kernel */
    uint64_t wait_ns;                /* from the launch of an empty kernel until the host, which waits, knows its end */
    uint64_t decision_ns;            /* a turn of a loop that the host decides: an empty kernel, a small copy back, a
                                        wait */
    uint64_t graph_launch_ns;        /* launch of a graph */
    uint64_t graph_node_ns;          /* GPU time of an empty kernel in a graph that waits for the previous one */
    uint64_t while_turn_ns;          /* GPU time of a turn of a while node with an empty kernel */
    uint64_t device_launch_ns;       /* GPU time of a launch by a kernel (dynamic parallelism) */
    uint64_t doorbell_ns;            /* from the host to a resident kernel and back, through pinned memory */
    uint64_t host_tasks_per_second;  /* tasks that one thread posts to a resident kernel */
    uint64_t claims_per_second;      /* claims of one counter in device memory, by all multiprocessors */
    uint64_t ring_tasks_per_second;  /* tasks that are pushed into a ring in device memory and popped again */
    uint64_t copy_ns;                /* time of a small copy, without the time for its bytes; in a batch: a sixth */
    uint64_t copy_in_rate;           /* bytes per second from pinned memory to the device */
    uint64_t copy_out_rate;          /* bytes per second from the device to pinned memory */
    uint64_t copy_both_rate;         /* bytes per second of both ways together */
    uint64_t pageable_in_rate;       /* bytes per second from memory that isn't pinned */
    uint64_t pageable_out_rate;      /* bytes per second to memory that isn't pinned */
    uint64_t memory_rate;            /* bytes per second that kernels read and write */
    uint64_t operation_rate;         /* floating-point operations per second, single precision */
    uint32_t multiprocessors;
    uint32_t reserved;               /* 0 */
} gpo_costs;

#define GPO_COSTS_PROBE 1 /* measures launches, graphs and copies on the device */

/* Writes what things cost on a device: an H200's costs, with the multiprocessors and the rates of memory and arithmetic
 * of this device.
 *
 * With GPO_COSTS_PROBE launches, graphs and copies are measured, on streams of the library's own. The probe loads a
 * small module, allocates 4 MiB of device memory and 4 MiB of pinned memory and frees them: it serialises the device
 * (runtime.h). Other work on the device and on the host makes the costs greater.
 *
 * GPO_INVALID_STATE: with GPO_COSTS_PROBE, there is resident work (stream.h)
 *
 * May be called during stream captures. Blocks on the GPU with GPO_COSTS_PROBE, otherwise on nothing. */
GPO_API gpo_status gpo_device_get_costs(gpo_device_t device, uint32_t flags, gpo_costs *costs);

/* Properties of a workload, beside figures. */
#define GPO_WORKLOAD_REPEATS 1               /* every round launches the same sequence */
#define GPO_WORKLOAD_SHAPES_VARY 2           /* the sequence's sizes change from round to round */
#define GPO_WORKLOAD_INDEPENDENT 4           /* no launch of a round needs the result of another one */
#define GPO_WORKLOAD_SPAWNS 8                /* tasks make tasks, and only the GPU knows how many */
#define GPO_WORKLOAD_ARRIVES 16              /* tasks come from the host one by one, and each answer is waited for */
#define GPO_WORKLOAD_PAGEABLE 32             /* copies are from or to memory that isn't pinned */
#define GPO_WORKLOAD_IN_GRAPH 64             /* now: the launches are in a graph */
#define GPO_WORKLOAD_DYNAMIC_PARALLELISM 128 /* now: kernels launch all kernels but the first one */
#define GPO_WORKLOAD_OVERLAPPED 256          /* now: copies run beside kernels */

/* How tasks are handed out to workers. A *worker* is a warp or a block that stays on the GPU and does one task after
 * the other. */
#define GPO_ORDER_GRID 1          /* one worker for each task: the GPU starts blocks as others end */
#define GPO_ORDER_CHUNKS 2        /* each worker has as many neighbouring tasks as the others */
#define GPO_ORDER_STRIDED 3       /* worker i of n has the tasks i, i + n, i + 2n ... */
#define GPO_ORDER_CLAIMED 4       /* workers claim batches of tasks from a counter, as a range queue does */
#define GPO_ORDER_LONGEST_FIRST 5 /* the same, and the tasks are sorted by their costs */
#define GPO_ORDER_CLAIMED_LATE 6  /* as GPO_ORDER_CLAIMED, and a worker claims a batch when it is through with the
                                     previous batch: GPO_QUEUE_LATE_CLAIMS */

/* A workload, described by one *round*: the work that the program repeats. 0 stands for "not known" in every field but
 * for flags. Copies and kernels of the round that aren't described are left out of account. */
typedef struct gpo_workload {
    uint32_t struct_size;
    uint32_t flags;           /* GPO_WORKLOAD_* */
    const gpo_costs *costs;   /* a cost of 0 stands for the device's. NULL: all costs are the device's */

    /* Launches and time */
    uint64_t launches;        /* kernels that are launched in a round */
    uint64_t round_ns;        /* time of a round, from its begin to the next one's */
    uint64_t kernel_ns;       /* GPU time of all kernels of a round together */
    uint64_t decisions;       /* how often in a round the host waits for a result of the GPU before it can go on */
    uint32_t streams;         /* streams that the launches are spread over now; 0: one */
    uint32_t blocks;          /* blocks of a launch: launches with few blocks leave room beside them */

    /* Bytes and operations */
    uint64_t bytes;           /* bytes that the kernels of a round read and write in device memory */
    uint64_t operations;      /* floating-point operations of the kernels of a round */
    uint64_t copies;          /* copies of a round; 0: one for each direction that has bytes */
    uint64_t copy_in_bytes;   /* bytes that a round copies from the host to the device */
    uint64_t copy_out_bytes;  /* bytes that a round copies from the device to the host */

    /* Tasks: independent pieces of work, many in one kernel */
    uint64_t tasks;           /* tasks of a round: independent pieces of work, many in one kernel */
    uint64_t task_ns;         /* time of a mean task on its worker while all workers work; 0: found from kernel_ns */
    uint32_t order;           /* GPO_ORDER_*: how tasks are handed out now; 0: GPO_ORDER_GRID */
    uint32_t workers;         /* workers at a time on the GPU; 0: 64 warps on each multiprocessor */
    uint32_t block_workers;   /* workers of a block; 0: 8 warps, or 1 if `workers` is given */
    uint32_t reserved;        /* 0 */
    const float *task_costs;  /* cost of each task, in any unit, in the tasks' order: a sample of neighbours will do.
                                 None is negative. NULL: only the following two are known */
    uint64_t cost_stride;     /* bytes from one cost to the next: sizeof(float), or the size of a struct of yours */
    uint64_t cost_count;      /* at most 2^20 */
    uint64_t cost_deviation;  /* standard deviation of the costs, in thousandths of their mean */
    uint64_t cost_max;        /* cost of the longest task, in thousandths of the mean */
} gpo_workload;

/* The main use of a round's time. */
#define GPO_BOUND_LAUNCH 1     /* the host's launches */
#define GPO_BOUND_MEMORY 2     /* kernels, and in these reads and writes of device memory */
#define GPO_BOUND_OPERATIONS 3 /* kernels, and in these arithmetic */
#define GPO_BOUND_KERNEL 4     /* kernels: which of the two is not known, or neither is near its limit */
#define GPO_BOUND_COPY 5       /* copies between host and device */
#define GPO_BOUND_DECISION 6   /* waits of the host for results by which it decides */
#define GPO_BOUND_IDLE 7       /* nothing that was described: the host does other things */

/* A round as it is now. Times are nanoseconds. */
typedef struct gpo_diagnosis {
    uint32_t struct_size;
    uint32_t bound;             /* GPO_BOUND_* */
    uint64_t round_ns;          /* as given, or predicted */
    uint64_t launch_ns;         /* host time of launches */
    uint64_t kernel_ns;         /* GPU time of kernels, as far as they don't run at the same time */
    uint64_t copy_ns;           /* time of copies */
    uint64_t decision_ns;       /* waits for results */
    uint64_t idle_ns;           /* of round_ns: more than all that was described explains */
    uint64_t memory_ns;         /* the least time in which the device reads and writes `bytes` */
    uint64_t operations_ns;     /* the least time in which the device does `operations` */
    uint64_t intensity;         /* operations per byte, in thousandths; 0: not known */
    uint64_t ridge;             /* the intensity at which memory and arithmetic take the same time, in thousandths */
    uint64_t roofline_share;    /* the greater of both least times, in thousandths of kernel_ns */
    uint64_t launch_share;      /* host time of launches, in thousandths of round_ns */
} gpo_diagnosis;

/* Forms of work. */
#define GPO_FORM_LEAVE 1               /* as it is */
#define GPO_FORM_MORE_STREAMS 2        /* launches spread over more streams (stream.h) */
#define GPO_FORM_FEWER_STREAMS 3
#define GPO_FORM_GRAPH 4               /* a graph template (template.h) */
#define GPO_FORM_BUCKETS 5             /* a graph template for each of a few shapes (buckets.h) */
#define GPO_FORM_WHILE 6               /* a graph template with conditional nodes: the GPU decides (template.h) */
#define GPO_FORM_RANGE 7               /* tasks are handed out on the GPU: see `order` and `batch` */
#define GPO_FORM_RING 8                /* tasks are pushed and popped on the GPU */
#define GPO_FORM_HOST_RING 9           /* a resident kernel takes tasks from the host */
#define GPO_FORM_DYNAMIC_PARALLELISM 10 /* kernels launch kernels */
#define GPO_FORM_HOST_LAUNCHES 11      /* the host launches what kernels launch now */
#define GPO_FORM_FUSE 12               /* fewer kernels, which do more each */
#define GPO_FORM_PIPELINE 13           /* copies in chunks beside kernels (pipeline.h), from and to pinned memory */
#define GPO_FORM_BATCHED_COPIES 14     /* many copies by one call (memory.h) */

/* A form in which a workload could run. */
typedef struct gpo_advice {
    uint32_t struct_size;
    uint32_t form;         /* GPO_FORM_* */
    uint32_t bound;        /* GPO_BOUND_*: the main use of a round's time in this form */
    uint32_t streams;      /* how many streams; 0: as now */
    uint32_t order;        /* GPO_ORDER_*, with GPO_FORM_RANGE and GPO_FORM_RING; else 0 */
    uint32_t batch;        /* tasks that a worker claims at a time; 0: it claims none */
    uint32_t gain_low;     /* how many times faster a round would be, in thousandths: at least; */
    uint32_t gain_high;    /* and at most */
    uint64_t round_ns;     /* expected time of a round */
    uint64_t host_calls;   /* launches and copies that the host would submit in a round */
    char reason[512];      /* one or two sentences, with the figures behind the advice */
} gpo_advice;

/* Says which forms fit a workload, the best first. GPO_FORM_LEAVE is always in the list; forms behind it are expected
 * to gain too little. `device` may be NULL: costs that `workload->costs` doesn't have are then an H200's. `diagnosis`
 * may be NULL.
 *
 * Writes at most `capacity` elements to `advice`, `stride` bytes apart, and their number to `*count`. Set the
 * struct_size of each element before the call.
 *
 * GPO_INVALID_ARGUMENT: also if a figure is impossible (a cost is negative or no number, a block has more workers than
 *     there are in all, ...); the message names it
 *
 * Takes up to some microseconds for each task cost. Blocks on nothing. */
GPO_API gpo_status gpo_advise(gpo_device_t device, const gpo_workload *workload, gpo_diagnosis *diagnosis,
                              gpo_advice *advice, uint64_t stride, uint64_t capacity, uint64_t *count);

/* Reads a trace file of the library (trace.h), gzipped or not, and writes a text. For each GPU the text shows the use
 * of its time (kernels, copies, launches, waits of the host, the host's other work), its longest gaps, and possible
 * improvements, with the expected gain. `workload`, which may be NULL, gets the traced work of the GPU with the most
 * work, to be completed and given to gpo_advise. Its round is a turn of the repeated sequence of operations, or the
 * whole trace if no sequence repeats.
 *
 * If a trace ends early, because its process was killed, the existing part is read, and the text says so.
 *
 * GPO_NOT_FOUND: the file doesn't exist
 * GPO_IO_ERROR: the file can't be read
 * GPO_INVALID_ARGUMENT: the file is no trace of this library, or was damaged; the message names the line
 * GPO_LIMIT_EXCEEDED: the trace has more than 2^22 operations
 *
 * Blocks on the file. */
GPO_API gpo_status gpo_advise_trace(const char *path, gpo_workload *workload, char *buffer, size_t capacity,
                                    size_t *needed);

#ifdef __cplusplus
}
#endif

#endif
