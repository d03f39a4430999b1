/* peers.h: groups of devices that work together, in one process or in several.
 *
 * A group (gpo_peers_t) is a list of devices. The device at place r of the list has *rank* r. A *collective* is one
 * operation of all ranks: each rank brings a stream and buffers on its device, and the data is exchanged between the
 * devices in the order of these streams:
 *
 *     gpo_peers_create(devices, 2, NULL, &peers);
 *     gpo_collective sum = {.struct_size = sizeof sum, .kind = GPO_COLLECTIVE_ALL_REDUCE, .type = GPO_TYPE_FLOAT32,
 *                           .reduction = GPO_REDUCE_SUM, .count = n};
 *     gpo_rank_part parts[2] = {
 *         {.struct_size = sizeof parts[0], .stream = streams[0], .send = x[0], .receive = y[0]},
 *         {.struct_size = sizeof parts[1], .stream = streams[1], .send = x[1], .receive = y[1]}};
 *     gpo_peers_submit(peers, &sum, parts, sizeof parts[0], 2);
 *
 * Order
 *   A collective is put on all of its streams at once, or on none. Each stream does its part behind what was put on it
 *   before; work that is put on it later finds the rank's result, and may change the rank's buffers. Put a barrier
 *   behind work that wrote another rank's buffers: small all-reduces don't wait for the other streams. If one of the
 *   streams is held (stream.h), the collective is held on all. If a held collective is cancelled or fails on one
 *   stream, it never runs, and its other streams fail with the same status. Different threads may submit collectives
 *   over the same streams: all streams get them in the same order.
 *
 * Recording
 *   Streams that are being recorded into graph templates (template.h) take collectives as they take other work, if all
 *   streams of the collective are being recorded. They may be in one recording, in which the others wait for an event
 *   of the first. Or each device has a template of its own: that starts faster, and the program has to launch the
 *   graphs of all ranks each time, for the ranks wait for each other on the GPU.
 *   Launches of a recorded collective must not overlap with other launches of the same one: put them on the same
 *   streams, or behind each other. Collectives that the direct engine makes of several operations can only be in one
 *   recording.
 *
 * Engines
 *   direct   the library's own kernels and copies, which use memory of other devices directly. Reductions combine the
 *            ranks in their order, whatever the number of elements: all ranks get the same bits, and every run does.
 *   NCCL     NVIDIA's library, loaded when it is first needed (libnccl.so.2, version 2.19 or newer; the environment's
 *            GPUORCH_NCCL may name the file). The same order in every run isn't promised.
 *   host     for groups of several processes (below): copies to the host's memory, and MPI or shared memory.
 *   NCCL's kernels take multiprocessors from kernels that run at the same time; the direct engine leaves most of the
 *   moving to copy engines. On two H200s a step of 2 ms of kernels, with sums of 256 MiB beside them, took 2.13 ms with
 *   the direct engine and 2.54 ms with NCCL.
 *   A group of one process has the first two where both can be used. Where engine is GPO_AUTO, small all-reduces and
 *   barriers are direct, and NCCL does the rest. Without NCCL, and on software GPUs, all is direct.
 */
#ifndef GPUORCH_PEERS_H
#define GPUORCH_PEERS_H

#include "stream.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Most ranks of a group in one process. */
#define GPO_PEERS_MOST_RANKS 16

/* Engines. */
#define GPO_ENGINE_DIRECT 1  /* groups of one process: the library's own kernels and copies, which use memory of other
                                devices directly. Reductions combine the ranks in their order: all ranks and all runs
                                get the same bits */
#define GPO_ENGINE_NCCL 2    /* NVIDIA's library, which is loaded when it is first needed */
#define GPO_ENGINE_HOST 3    /* groups of several processes: through the host's memory, and MPI or shared memory */
#define GPO_ENGINE_NVSHMEM 4 /* NVIDIA's library for memory that the kernels of several processes use: for symmetric
                                memory alone (symmetric.h) */

typedef struct gpo_peers_options {
    uint32_t struct_size;
    uint32_t flags;      /* 0: there are none yet */
    uint32_t engine;     /* GPO_ENGINE_* for all collectives of the group; GPO_AUTO: one for each collective */
    uint32_t reserved;   /* 0 */
    const char *label;
} gpo_peers_options;

/* Creates a group of `count` devices (1 to GPO_PEERS_MOST_RANKS) of one runtime. `options` may be NULL. Devices that
 * can reach each other get permanent access to each other's memory (gpo_device_enable_peer).
 *
 * GPO_INVALID_ARGUMENT: a device is in the list twice
 * GPO_INVALID_HANDLE: a device is of another runtime than the first
 * GPO_NOT_SUPPORTED: the engine that is asked for can't be used: two devices can't reach each other's memory (direct),
 *     or NCCL isn't there, is too old or refuses (NCCL); the message says which, and what to install or set. Where
 *     GPO_AUTO finds neither engine, the message says it of both
 * GPO_INVALID_STATE: a device has resident work (stream.h), which the driver would wait for while it loads kernels of
 *     the group; the message names the stream. A group of one device needs none. Those of the direct engine are there
 *     already if a group of several devices was made before, or if several devices of the runtime were open when the
 *     device's resident stream was made. NCCL can't be begun beside resident work: where GPO_AUTO leaves the choice,
 *     the group does without it
 * GPO_DRIVER_ERROR, too: a thread captures in the mode CU_STREAM_CAPTURE_MODE_GLOBAL. NCCL's threads then make calls
 *     that the driver forbids, and the capture becomes invalid. Create the group before the capture
 * Serialises the devices (runtime.h). */
GPO_API gpo_status gpo_peers_create(const gpo_device_t *devices, uint32_t count, const gpo_peers_options *options,
                                    gpo_peers_t *peers);

/* Destroys a group's handle. Collectives that were submitted go on, and recorded ones can be launched. If the group
 * uses NCCL, the call may block until the group's collectives, and resident work of its devices (stream.h), are done.
 * Then the process leaves a group of several processes, and for the others the group is broken (GPO_PEER_LOST) as soon
 * as they need it. */
GPO_API gpo_status gpo_peers_destroy(gpo_peers_t peers);

/* Creates a group of some ranks of another: rank i of the new group is rank `ranks[i]` of `peers`. The two groups don't
 * depend on each other. `options` may be NULL. Statuses as gpo_peers_create.
 * For a group of several processes: the processes whose ranks are in the list call the function, with the same list.
 * The call blocks until all of them have called, and has the statuses of gpo_peers_join too. A broken group can be
 * split as well, so that the remaining processes go on without the lost one.
 * GPO_INVALID_ARGUMENT: the list has a number that is no rank, or a rank twice; or this process has no rank in it */
GPO_API gpo_status gpo_peers_split(gpo_peers_t peers, const uint32_t *ranks, uint32_t count,
                                   const gpo_peers_options *options, gpo_peers_t *part);

/* Properties and counters of a group. */
typedef struct gpo_peers_info {
    uint32_t struct_size;
    uint32_t ranks;          /* how many */
    uint32_t direct;         /* 1: every device reaches the memory of every other. 0 in groups of several processes */
    uint32_t native_atomics; /* 1: atomic operations on that memory are native for all of them. 0 likewise */
    uint32_t nccl_version;   /* 22809 for 2.28.9; 0: the group doesn't use NCCL */
    uint32_t rank;           /* the first rank of this process */
    uint32_t local_ranks;    /* how many ranks this process has */
    uint32_t reserved;
    uint64_t collectives;    /* submitted, held ones included */
    uint64_t direct_collectives; /* of these, given to the direct engine */
    uint64_t bytes;          /* that ranks of this process have sent, by the collectives' counts */
    uint32_t mpi_device;     /* 1: MPI gets the data in device memory (GPO_JOIN_MPI) */
    uint32_t reserved1;
} gpo_peers_info;
/* Describes a group. */
GPO_API gpo_status gpo_peers_get_info(gpo_peers_t peers, gpo_peers_info *info);

/* Says how rank `from` reaches the memory of rank `to`.
 * GPO_INVALID_ARGUMENT: there is no such rank
 * GPO_NOT_SUPPORTED: the rank is of another process */
GPO_API gpo_status gpo_peers_get_link(gpo_peers_t peers, uint32_t from, uint32_t to, gpo_peer_properties *link);

/* --- groups of several processes --- */

/* Each process of such a group has one rank, with one device. The processes are on one host, or on several that MPI
 * joins. They find each other in one of three ways:
 *
 *     gpo_join_options by_id = {.struct_size = sizeof by_id, .by = GPO_JOIN_ID, .rank = rank, .ranks = 4, .id = id};
 *     gpo_peers_join(device, &by_id, &peers);
 *
 * All processes submit the same collectives in the same order, each with the part of its own rank. If what they have
 * submitted differs, the collective fails in all processes with GPO_INVALID_STATE, and the message names two ranks and
 * what each has submitted; the group goes on. Labels count too: collectives that are equal but for their labels differ,
 * if both ranks have given a label. Labels reveal that one rank sums layers in another order, even if all layers have
 * one size. Only the first 63 bytes of a label count. With NCCL all this is noticed only in groups that are made with
 * GPO_JOIN_CHECK_ORDER; others may hang, or get wrong data. The collective fails likewise, with the status of the rank
 * in question, if a rank can't take part since its stream has failed, or since its part was cancelled before it began.
 *
 * Failures come as those of other work do: the stream fails, and the message names the rank. A group is *broken* when
 * one of its processes has died, has left (destroyed its handle or runtime), has aborted, or keeps the others waiting
 * for longer than their timeout_ns; or if a part fails, or is cancelled, while data is being exchanged. Then all that
 * is submitted fails with GPO_PEER_LOST in all processes, and so does each later submission. The others learn of a
 * process that has died within a tenth of a second by GPO_JOIN_FILE and GPO_JOIN_ID. By GPO_JOIN_MPI they learn of it
 * by timeout_ns, unless the MPI ends them first: `mpirun` ends all processes when one of them dies.
 *
 * With NCCL the order in which the driver gets the collectives counts: streams of one group that are held have to be
 * released in the order in which the collectives were submitted. A process is lost if it has died, has left, or has
 * kept the others waiting for timeout_ns and half a second. Then the collectives that wait on the GPU end. Streams with
 * work of the group fail, and so do waits and notifies behind that work. Until a rank knows of it, within a tenth of a
 * second, a collective may still complete there with what the others had sent. A process that hangs isn't noticed in
 * collectives that were recorded into graphs. Joining takes a second or more, since NCCL sets up all kinds of
 * collectives at once.
 *
 * The host engine (GPO_ENGINE_HOST) copies the data to pinned memory (8 MiB for a group), exchanges and reduces it
 * there, and copies the result back. It holds the stream meanwhile (stream.h), and nothing on the GPU waits. Reductions
 * combine the ranks in their order, on the host. So its collectives can't be captured or recorded
 * (GPO_CAPTURE_REFUSED), nor put on wrapped streams (GPO_NOT_SUPPORTED).
 *
 * CUDA-aware MPI: where the MPI of all processes takes addresses of device memory, the host engine copies the data to
 * device memory of its own (64 MiB for a group), gives MPI the address of that, and combines there, in the same order;
 * reductions of more than 16 ranks stay in pinned memory. The variable GPUORCH_MPI_DEVICE (1 or 0) says whether MPI
 * takes such addresses; without it MPI is asked (MPIX_Query_cuda_support). All processes use pinned memory if one of
 * them says 0, has no device memory left, or can't load the combining kernels because of resident work (stream.h).
 * gpo_peers_info.mpi_device reports the choice. MPI
 * never gets the buffers of collectives. After a collective has failed, MPI may still access the library's memory,
 * which stays allocated until MPI has finished, possibly until the process ends. */

/* How the processes of a group find each other. */
#define GPO_JOIN_MPI 1  /* they are the processes of an MPI communicator: rank and number are the communicator's */
#define GPO_JOIN_FILE 2 /* on one host: by the name of a file, in a folder of a file system with shared mappings */
#define GPO_JOIN_ID 3   /* on one host: by an id that one of them has made (gpo_peers_make_id) */

/* Most ranks of a group of several processes; 64 by GPO_JOIN_FILE or GPO_JOIN_ID. */
#define GPO_PEERS_MOST_JOINED 256

/* Bytes of an id. */
#define GPO_PEERS_ID_BYTES 128

/* Makes an id for one group and writes it to `buffer`: GPO_PEERS_ID_BYTES bytes, which one process passes to the
 * others by any means of its own. They are no secret of the others' user: files that are made by the id are readable to
 * that user alone. `capacity`: bytes of the buffer. `needed`, which may be NULL, is set to GPO_PEERS_ID_BYTES.
 * GPO_BUFFER_TOO_SMALL: the buffer is smaller than that */
GPO_API gpo_status gpo_peers_make_id(void *buffer, size_t capacity, size_t *needed);

/* For programs that are being developed: before NCCL executes a collective, the ranks compare what they have submitted,
 * and its label. A collective that differs fails as described above. With this flag collectives hold their streams and
 * can't be recorded, as with the host engine, which always compares. Groups that are split off compare too. */
#define GPO_JOIN_CHECK_ORDER 1

typedef struct gpo_join_options {
    uint32_t struct_size;
    uint32_t flags;       /* GPO_JOIN_CHECK_ORDER: the same for all ranks */
    uint32_t by;          /* GPO_JOIN_* */
    uint32_t engine;      /* GPO_ENGINE_NCCL or GPO_ENGINE_HOST, the same for all ranks; GPO_AUTO: NCCL where all ranks
                             have CUDA devices and NCCL, and the host engine elsewhere */
    uint32_t rank;        /* this process's, from 0. By MPI: 0, or the rank in the communicator */
    uint32_t ranks;       /* how many. By MPI: 0, or the communicator's size */
    int64_t timeout_ns;   /* how long joining may take, and how long a rank may keep a collective waiting once this
                             process's stream has come to it. 0: 60 s; negative: no limit */
    const char *path;     /* GPO_JOIN_FILE: nothing has to be there. The file is made, readable and writable to its user
                             alone, and removed when all have joined. The file of a group whose processes have died
                             is replaced. All ranks are processes of one user */
    const void *id;       /* GPO_JOIN_ID: GPO_PEERS_ID_BYTES bytes */
    void *communicator;   /* GPO_JOIN_MPI: the program's MPI_Comm, cast to void *; NULL: MPI_COMM_WORLD */
    const char *label;
} gpo_join_options;

/* Joins a group with a device. All processes of the group call it; it blocks until all are there.
 *
 * By MPI: the library is loaded when it is first needed (Open MPI 4 or 5: libmpi.so.40; MPICH 4 and those that have its
 * ABI: libmpi.so.12, libmpich.so.12; the environment's GPUORCH_MPI may name the file). If the program has initialised
 * MPI, it has asked for MPI_THREAD_MULTIPLE, or it has got MPI_THREAD_SERIALIZED and makes no MPI call as long as such
 * a group exists; and it finalises MPI after the group is destroyed. If it hasn't, the library initialises MPI, and
 * finalises it at the exit of the process. MPI_Init waits for all processes of the job, whatever timeout_ns says.
 *
 * GPO_INVALID_ARGUMENT: a field is wrong, or differs from what rank 0 has; `path` is a file of another kind, of another
 *     user, cut short, or one that others may write to; or its folder lets others put a file in its place (they may
 *     write there, and it isn't sticky as /tmp is)
 * GPO_INVALID_STATE: this rank is there already; another group is joining by the same file; the program has finalised
 *     MPI, or has initialised it for fewer threads
 * GPO_PEER_LOST: ranks were missing when the timeout passed, and the message names them; or a rank has died or given up
 * GPO_NOT_SUPPORTED: MPI or NCCL is needed and can't be used, the message says what to install or set; or the runtime
 *     is deterministic; or the engine has to be NCCL, and a process has resident work on its device (stream.h)
 * GPO_NOT_FOUND: the folder of the file doesn't exist
 * GPO_IO_ERROR: a file can't be made, opened or mapped */
GPO_API gpo_status gpo_peers_join(gpo_device_t device, const gpo_join_options *options, gpo_peers_t *peers);

/* Breaks a group of several processes. Submitted collectives fail with GPO_CANCELLED here, and within a tenth of a
 * second with GPO_PEER_LOST in the other processes.
 * GPO_NOT_SUPPORTED: the group is of one process: gpo_stream_cancel_held cancels its held collectives */
GPO_API gpo_status gpo_peers_abort(gpo_peers_t peers);

/* --- collectives --- */

/* Types of elements. */
#define GPO_TYPE_INT8 1
#define GPO_TYPE_UINT8 2
#define GPO_TYPE_INT32 3
#define GPO_TYPE_UINT32 4
#define GPO_TYPE_INT64 5
#define GPO_TYPE_UINT64 6
#define GPO_TYPE_FLOAT16 7
#define GPO_TYPE_BFLOAT16 8
#define GPO_TYPE_FLOAT32 9
#define GPO_TYPE_FLOAT64 10
#define GPO_TYPE_FLOAT8_E4M3 11
#define GPO_TYPE_FLOAT8_E5M2 12

/* Reductions. Integers wrap; an average of integers is truncated. The direct engine widens 8-bit and 16-bit floating
 * point to 32 bits and rounds once, at the end. */
#define GPO_REDUCE_SUM 1     /* the sum */
#define GPO_REDUCE_PRODUCT 2 /* the product */
#define GPO_REDUCE_MINIMUM 3 /* the least element */
#define GPO_REDUCE_MAXIMUM 4 /* the greatest element */
#define GPO_REDUCE_AVERAGE 5 /* the sum, divided by the number of ranks */

/* Kinds of collectives, with n for the number of ranks and count for gpo_collective.count:
 *                                   each rank sends           each rank receives
 *   ALL_REDUCE      reduction of    count elements            count elements, the same for all
 *   REDUCE          reduction of    count elements            at `root` alone: count elements
 *   REDUCE_SCATTER  reduction of    n pieces of count         its piece, count elements
 *   BROADCAST                       `root` alone: count       count elements (the root too)
 *   ALL_GATHER                      count elements            n pieces of count, in the order of the ranks
 *   ALL_TO_ALL                      n pieces of count, one    n pieces of count, one of each rank
 *                                   for each rank
 *   SEND_RECEIVE                    count elements to         count elements of `receive_from`
 *                                   `send_to`
 *   BARRIER                         nothing: no stream goes on before all streams are there */
#define GPO_COLLECTIVE_ALL_REDUCE 1
#define GPO_COLLECTIVE_REDUCE 2
#define GPO_COLLECTIVE_REDUCE_SCATTER 3
#define GPO_COLLECTIVE_BROADCAST 4
#define GPO_COLLECTIVE_ALL_GATHER 5
#define GPO_COLLECTIVE_ALL_TO_ALL 6
#define GPO_COLLECTIVE_SEND_RECEIVE 7
#define GPO_COLLECTIVE_BARRIER 8

typedef struct gpo_collective {
    uint32_t struct_size;
    uint32_t kind;       /* GPO_COLLECTIVE_* */
    uint32_t type;       /* GPO_TYPE_*; 0 for a barrier */
    uint32_t reduction;  /* GPO_REDUCE_*; 0 for those that reduce nothing */
    uint32_t root;       /* REDUCE, BROADCAST: a rank; 0 for others */
    uint32_t flags;      /* 0: there are none yet */
    uint64_t count;      /* elements: see above. 0: nothing is sent, but streams wait for each other all the same */
    const char *label;   /* for failures and traces, and to tell equal collectives of a group of several processes
                            apart (see above); may be NULL */
} gpo_collective;

#define GPO_NO_RANK 4294967295 /* SEND_RECEIVE: this rank sends, or receives, nothing */

/* What one rank brings. */
typedef struct gpo_rank_part {
    uint32_t struct_size;
    uint32_t reserved;     /* 0 */
    gpo_stream_t stream;   /* of the rank's device */
    uint64_t send;         /* address of device memory; 0 where the rank sends nothing */
    uint64_t receive;      /* likewise */
    uint32_t send_to;      /* SEND_RECEIVE: a rank, or GPO_NO_RANK; 0 for others */
    uint32_t receive_from; /* likewise */
} gpo_rank_part;

/* Puts a collective on the streams of its ranks: part r, of `count` in all, is that of rank r. `stride`: bytes from one
 * part to the next, sizeof(gpo_rank_part). In a group of several processes `count` is 1: the part of this process.
 *
 * Addresses are multiples of the element's size. `send` and `receive` of a rank may be the same (in place) for
 * ALL_REDUCE, REDUCE and BROADCAST; for ALL_GATHER `send` may be the rank's own piece of `receive`, and for
 * REDUCE_SCATTER `receive` the rank's own piece of `send`. Otherwise they must not overlap, nor the buffers of two
 * ranks.
 *
 * GPO_INVALID_ARGUMENT: a number, address or count is wrong; the message names it, and its rank
 * GPO_INVALID_HANDLE: a stream is of another runtime
 * GPO_WOULD_BLOCK: a stream already holds the most operations that it can hold
 * GPO_PEER_LOST, GPO_CANCELLED: the group is broken, or was aborted
 * GPO_CAPTURE_REFUSED: some of the streams are being captured and others are not
 * GPO_INVALID_STATE: NCCL does the first collective of this kind and size in a group of one process, and a device has
 *     resident work (stream.h), which the driver would wait for while NCCL loads kernels
 * GPO_NOT_SUPPORTED: the collective would have to be held on a stream that can't be held (a wrapped one)
 * A failure has no effect, except where the driver or NCCL refuses the collective when some of its work is on its way
 * already: then all of its streams have failed. */
GPO_API gpo_status gpo_peers_submit(gpo_peers_t peers, const gpo_collective *collective, const gpo_rank_part *parts,
                                    uint64_t stride, uint32_t count);

#ifdef __cplusplus
}
#endif

#endif
