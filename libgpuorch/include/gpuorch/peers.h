/* peers.h: groups of devices that work together.
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
 *   before; work that is put on it later finds the rank's result, and may change the rank's buffers. If one of the
 *   streams is held (stream.h), the collective is held on all of them. If a held collective is cancelled or fails on
 *   one stream, it fails on all of them, and so do these streams. Different threads may submit collectives over the
 *   same streams: all streams get them in the same order.
 *
 * Recording
 *   Streams that are being recorded into graph templates (template.h) take collectives as they take other work, if all
 *   streams of the collective are being recorded. They may be in one recording, in which the others wait for an event of
 *   the first. Or each device has a template of its own: that starts faster, and the program has to launch the graphs of
 *   all ranks each time, for the ranks wait for each other on the GPU.
 *   Launches of a recorded collective must not overlap with other launches of the same one: put them on the same streams,
 *   or behind each other. Software GPUs and collectives that the direct engine makes of several operations can only be in
 *   one recording.
 *
 * Engines
 *   direct   the library's own kernels and copies, which use memory of other devices directly. Reductions combine the
 *            ranks in their order, whatever the number of elements: all ranks get the same bits, and every run does.
 *   NCCL     NVIDIA's library, loaded when it is first needed (libnccl.so.2, version 2.19 or newer; the environment's
 *            GPUORCH_NCCL may name the file). The same order in every run isn't promised.
 *   A group has both engines where both can be used. Where engine is GPO_AUTO, small all-reduces and barriers are direct,
 *   and NCCL does the rest. Without NCCL, and on software GPUs, all is direct.
 */
#ifndef GPUORCH_PEERS_H
#define GPUORCH_PEERS_H

#include "stream.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Most ranks of a group in one process. */
#define GPO_PEERS_MOST_RANKS 32

/* Engines. */
#define GPO_ENGINE_DIRECT 1
#define GPO_ENGINE_NCCL 2

typedef struct gpo_peers_options {
    uint32_t struct_size;
    uint32_t flags;      /* 0: there are none yet */
    uint32_t engine;     /* GPO_AUTO, or GPO_ENGINE_* for all collectives of the group */
    uint32_t reserved;   /* 0 */
    const char *label;
} gpo_peers_options;

/* Creates a group of `count` devices (1 to GPO_PEERS_MOST_RANKS) of one runtime. `options` may be NULL. Devices that
 * can reach each other get access to each other's memory (gpo_device_enable_peer), for good.
 *
 * GPO_INVALID_ARGUMENT: a device is in the list twice
 * GPO_INVALID_HANDLE: a device is of another runtime than the first
 * GPO_NOT_SUPPORTED: the engine that is asked for can't be used: two devices can't reach each other's memory (direct),
 *     or NCCL isn't there, is too old or refuses (NCCL); the message says which, and what to install or set. Where
 *     GPO_AUTO finds neither engine, the message says it of both
 * Serialises the devices (runtime.h). */
GPO_API gpo_status gpo_peers_create(const gpo_device_t *devices, uint32_t count, const gpo_peers_options *options,
                                    gpo_peers_t *peers);

/* Destroys a group's handle. Collectives that were submitted go on. */
GPO_API gpo_status gpo_peers_destroy(gpo_peers_t peers);

/* Creates a group of some ranks of another: rank i of the new group is rank `ranks[i]` of `peers`. The two groups don't
 * depend on each other. `options` may be NULL. Statuses as gpo_peers_create.
 * GPO_INVALID_ARGUMENT: there is no rank of this number, or it is in the list twice */
GPO_API gpo_status gpo_peers_split(gpo_peers_t peers, const uint32_t *ranks, uint32_t count,
                                   const gpo_peers_options *options, gpo_peers_t *part);

typedef struct gpo_peers_info {
    uint32_t struct_size;
    uint32_t ranks;          /* how many */
    uint32_t direct;         /* 1: every device reaches the memory of every other */
    uint32_t native_atomics; /* 1: atomic operations on that memory are native for all of them */
    uint32_t nccl_version;   /* 22809 for 2.28.9; 0: the group doesn't use NCCL */
    uint32_t reserved;
    uint64_t collectives;    /* submitted, held ones included */
    uint64_t direct_collectives; /* of these, given to the direct engine */
    uint64_t bytes;          /* that ranks of this process have sent, by the collectives' counts */
} gpo_peers_info;
/* Describes a group. */
GPO_API gpo_status gpo_peers_get_info(gpo_peers_t peers, gpo_peers_info *info);

/* Says how rank `from` reaches the memory of rank `to`.
 * GPO_INVALID_ARGUMENT: there is no such rank */
GPO_API gpo_status gpo_peers_get_link(gpo_peers_t peers, uint32_t from, uint32_t to, gpo_peer_properties *link);

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
#define GPO_REDUCE_SUM 1
#define GPO_REDUCE_PRODUCT 2
#define GPO_REDUCE_MINIMUM 3
#define GPO_REDUCE_MAXIMUM 4
#define GPO_REDUCE_AVERAGE 5

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
    const char *label;   /* for failures and traces; may be NULL */
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
 * part to the next, sizeof(gpo_rank_part).
 *
 * Addresses are multiples of the element's size. `send` and `receive` of a rank may be the same (in place) for
 * ALL_REDUCE, REDUCE and BROADCAST; for ALL_GATHER `send` may be the rank's own piece of `receive`, and for
 * REDUCE_SCATTER `receive` the rank's own piece of `send`. Otherwise they must not overlap, nor the buffers of two
 * ranks.
 *
 * GPO_INVALID_ARGUMENT: a number, address or count is wrong; the message names it, and its rank
 * GPO_INVALID_HANDLE: a stream is of another runtime
 * GPO_WOULD_BLOCK: a stream holds as much as it may
 * GPO_CAPTURE_REFUSED: some of the streams are being captured and others are not
 * GPO_NOT_SUPPORTED: the collective would have to be held on a stream that can't be held (a wrapped one)
 * A failure has no effect, except where the driver or NCCL refuses the collective when some of its work is on its way
 * already: then all of its streams have failed. */
GPO_API gpo_status gpo_peers_submit(gpo_peers_t peers, const gpo_collective *collective, const gpo_rank_part *parts,
                                    uint64_t stride, uint32_t count);

#ifdef __cplusplus
}
#endif

#endif
