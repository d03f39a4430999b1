/* symmetric.h: memory that the kernels of all devices of a group use together, and launches of such kernels.
 *
 * *Symmetric memory* is the same number of bytes on each device of a group (peers.h). A byte has an *offset* from the
 * begin of the memory, which is the same on all devices. A kernel names memory of another device by rank and offset,
 * and moves data there itself while it runs, without the host:
 *
 *     gpo_symmetric_allocate(peers, 1 << 20, NULL, &memory);
 *     for (uint32_t rank = 0; rank < ranks; ++rank)
 *         gpo_symmetric_get_device_handle(memory, rank, handles[rank], GPO_SYMMETRIC_HANDLE_BYTES, NULL);
 *     gpo_peers_launch(peers, launches, sizeof launches[0], ranks);     with handles[rank] as an argument of rank's
 *
 * The kernels' half is gpuorch/device/peer.cuh: put, get, signal, wait, fetch_add, quiet and barrier. A kernel takes
 * the handle as an argument, by value, of the type gpo::symmetric. gpuorch/device/steal.cuh has the kernels of a group
 * share a range of numbers: a device that is done early takes over numbers of the others.
 *
 * Launches
 *   Kernels that only put, get and signal may be launched as any others. Kernels that wait for those of other ranks
 *   have to be on the devices at the same time, with all their blocks: gpo_peers_launch puts one on a stream of each
 *   rank. Launches that use the same symmetric memory's barriers, or the same shared range, must not overlap: a launch
 *   must not even begin on a device while the previous one still runs on another. gpo_peers_launch on the same streams
 *   keeps launches apart.
 *
 * The end of a wait
 *   Each wait in a kernel has a bound, and returns a status when the bound has passed: no kernel hangs because another
 *   one has failed. If ranks have come to different numbers of barriers in a launch, because a rank has given up,
 *   gpo_symmetric_reset makes the barriers as new.
 *
 * Links
 *   Atomic operations on the memory of another device need links that have them natively, as NVLink does and PCIe as a
 *   rule doesn't (see gpo_symmetric_info.native_atomics). Without them fetch_add, signals that add, and shared ranges
 *   can't be used between devices. Signals that set a value, and barriers, only write and can be used.
 *
 * Several processes
 *   In a group of processes of one host (gpo_peers_join) each process allocates the memory of its own rank, and has the
 *   others' memory in its own addresses (as by interprocess.h), which gpo_symmetric_get_address gives. Its kernels take
 *   the handle of its own rank. All processes call gpo_symmetric_allocate, in the same order.
 *   Each process destroys the memory when the kernels of all ranks that use its memory have ended: the contents that
 *   another process finds afterwards are undefined. If a process dies, its memory stays for the others until they
 *   destroy theirs, and waits for its kernels end by their bounds.
 *
 * NVSHMEM
 *   A group of several processes, of one host or of several, can have symmetric memory by NVSHMEM, NVIDIA's library
 *   (engine = GPO_ENGINE_NVSHMEM). The library is loaded at its first use: libnvshmem_host.so.3, version 3.3 or newer,
 *   for CUDA 12 or 13 as the driver; the environment's GPUORCH_NVSHMEM may name the file. The user who installs the
 *   library accepts NVIDIA's licence. Each process has the memory of its own rank, and addresses of all ranks' memory
 *   within its device's reach: of the same host, over NVLink or PCIe. For these ranks, kernels of this library's own
 *   headers need nothing else.
 *     Ranks of other hosts have no address. Kernels reach them by NVSHMEM's device library: a program defines
 *   GPUORCH_NVSHMEM before it includes gpuorch/device/peer.cuh, compiles with nvcc -rdc=true, links libnvshmem_device.a
 *   of the loaded version into a cubin or fatbin, and sets GPO_SYMMETRIC_REMOTE. The library passes the state of
 *   NVSHMEM to these modules when NVSHMEM begins or one of their kernels is asked for.
 *     NVSHMEM begins with the first such memory of a process, and goes on until the process ends: it isn't finalised,
 *   and the device's primary context stays. A process can use it only with the same processes in the same order, and
 *   with one device: groups of a part of them, or in another order, are refused. If the program has begun NVSHMEM by
 *   itself, the ranks have to be NVSHMEM's numbers of the processes. NVSHMEM's own operations wait for all processes
 *   without a bound, if a process dies in that moment. Set NVSHMEM_DISABLE_NVLS=1 where multicast makes trouble.
 */
#ifndef GPUORCH_SYMMETRIC_H
#define GPUORCH_SYMMETRIC_H

#include "module.h"
#include "peers.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The kernels that get device handles of this memory were compiled with GPUORCH_NVSHMEM: they reach all ranks. */
#define GPO_SYMMETRIC_REMOTE 1

typedef struct gpo_symmetric_options {
    uint32_t struct_size;
    uint32_t flags;      /* GPO_SYMMETRIC_REMOTE, or 0 */
    uint64_t alignment;  /* of the memory's address on each device: a power of two, 256 to 2097152; GPO_AUTO: 256 */
    const char *label;
    uint32_t engine;   /* GPO_ENGINE_DIRECT, or for a group of several processes GPO_ENGINE_NVSHMEM; GPO_AUTO: direct */
    uint32_t reserved;   /* 0 */
} gpo_symmetric_options;

/* Allocates `bytes` (1 to 2^48) of memory, zeroed, on each device of the group. Any stream of these devices may use it
 * when the call returns. `options` may be NULL. The memory doesn't need the group any more: it stays when the group is
 * destroyed. In a group of several processes all of them make the call, which returns when the memory of all ranks is
 * zeroed. A failure there is returned in all processes, and names the rank.
 *
 * GPO_INVALID_ARGUMENT: `bytes`, the alignment or another option is out of range, or not the same in all processes; or
 *     two ranks have labelled the memory, and not alike: they allocate in another order, which the message says
 * GPO_NOT_SUPPORTED: two devices of the group can't reach each other's memory; the message names their ranks. Or the
 *     processes are on several hosts, or don't see each other's devices or process numbers; or the group has more than
 *     32 ranks. NVSHMEM can't be used, or has begun with other processes, or the group is of one process: the message
 *     says what to do
 * GPO_OUT_OF_MEMORY: a device has too little memory, or NVSHMEM's heap has; the message names its rank, and nothing is
 *     allocated
 * GPO_PEER_LOST, GPO_CANCELLED: the group is broken, or was aborted; a process has died, or hasn't come within the
 *     group's timeout
 * GPO_INVALID_STATE: NVSHMEM allocates, and a process has resident work on its device (stream.h); the message names the
 *     rank
 * GPO_SHUT_DOWN: the runtime shuts down while other processes are waited for
 * Blocks on the GPUs while the memory is zeroed, not on work of other streams; and on the other processes. By NVSHMEM
 * one call at a time in a process. Serialises the devices (runtime.h). */
GPO_API gpo_status gpo_symmetric_allocate(gpo_peers_t peers, uint64_t bytes, const gpo_symmetric_options *options,
                                          gpo_symmetric_t *memory);

/* Destroys the handle. The memory is freed behind all earlier work on streams of the runtime, resident ones excepted:
 * their work with the memory must have ended. A template doesn't keep the memory alive: destroy the template's graphs
 * first. Blocks on nothing. Memory of NVSHMEM is freed in the next allocation after all processes have destroyed it:
 * other ranks may use this rank's part until they destroy the memory themselves. */
GPO_API gpo_status gpo_symmetric_destroy(gpo_symmetric_t memory);

/* Writes the address of a rank's memory, for copies, fills and kernels' arguments. Memory of one rank can be used on
 * the streams of all. The address is valid in this process. Memory of another process's rank has another address there,
 * and the requested alignment holds for the address in the rank's own process.
 * GPO_INVALID_ARGUMENT: there is no such rank
 * GPO_NOT_SUPPORTED: with NVSHMEM, this process has no address of the rank's memory */
GPO_API gpo_status gpo_symmetric_get_address(gpo_symmetric_t memory, uint32_t rank, uint64_t *address);

/* Bytes of a device handle. */
#define GPO_SYMMETRIC_HANDLE_BYTES 320

/* Writes the value that kernels of this rank take as an argument, a gpo::symmetric of device/peer.cuh. `buffer`,
 * `capacity` and `needed` are as for strings (types.h), without a terminator. The value stays the same for as long as
 * the memory lives, so it can be recorded in templates.
 * GPO_INVALID_ARGUMENT: there is no such rank, or the rank is another process's
 * GPO_NOT_SUPPORTED: with NVSHMEM, the rank lacks an address of some rank's memory, and GPO_SYMMETRIC_REMOTE wasn't
 *     set */
GPO_API gpo_status gpo_symmetric_get_device_handle(gpo_symmetric_t memory, uint32_t rank, void *buffer, size_t capacity,
                                                   size_t *needed);

/* Puts a rank's barriers back to their begin, as work of the stream. The memory's bytes stay as they are. Before
 * kernels use barriers again, all ranks have to be reset, while no kernel uses the memory. May be recorded.
 * GPO_INVALID_ARGUMENT: there is no such rank, or the rank is another process's; the stream is of another device than
 *     the rank
 * GPO_INVALID_HANDLE: the stream is of another runtime
 * GPO_WOULD_BLOCK: the stream holds as many operations as it may */
GPO_API gpo_status gpo_symmetric_reset(gpo_symmetric_t memory, uint32_t rank, gpo_stream_t stream);

/* Properties of symmetric memory. */
typedef struct gpo_symmetric_info {
    uint32_t struct_size;
    uint32_t ranks;          /* how many */
    uint64_t bytes;          /* of each rank, as requested */
    uint64_t alignment;      /* of each rank's address */
    uint64_t device_bytes;   /* allocated on each device, with the barriers' part */
    uint32_t barrier_blocks; /* most blocks of a kernel that uses barriers: as many as fit on the largest of the devices
                                at once */
    uint32_t native_atomics; /* 1: atomic operations on each other's memory are native for all ranks */
} gpo_symmetric_info;
/* Describes the memory. */
GPO_API gpo_status gpo_symmetric_get_info(gpo_symmetric_t memory, gpo_symmetric_info *info);

/* Bytes that a range of numbers shared by the kernels of a group takes of each rank's memory (device/steal.cuh). */
#define GPO_STEAL_BYTES 384

/* --- kernels that wait for each other --- */

/* A rank's part of a launch. `arguments` and `sizes` are as for gpo_stream_launch_kernel (module.h). */
typedef struct gpo_rank_launch {
    uint32_t struct_size;
    uint32_t flags;                /* 0: there are none yet */
    gpo_stream_t stream;           /* of the rank's device */
    gpo_kernel_t kernel;           /* of the rank's device */
    const gpo_launch *launch;      /* the shape; launched as with GPO_LAUNCH_COOPERATIVE */
    const void *const *arguments;  /* copied before the call returns */
    const uint32_t *sizes;         /* may be NULL where the driver knows the kernel's parameters (CUDA 12.4) */
    uint32_t argument_count;
    uint32_t reserved;             /* 0 */
} gpo_rank_launch;

/* Puts one kernel on a stream of each rank, on all of them or on none: element r of `launches`, of `count` in all, is
 * rank r's. In a group of several processes `count` is 1: the launch of this process's rank alone. The library doesn't
 * hold or begin it together with launches of other processes: kernels that wait for other ranks need all processes to
 * launch theirs, within the bounds of their waits. The kernels may wait for each other, and may differ. `stride`: bytes
 * from one element to the next, sizeof(gpo_rank_launch).
 *
 * No kernel begins before all of the streams have done what was put on them before: so the kernels begin at about the
 * same time, and two launches on the same streams never overlap, on any device. All blocks of each kernel are on the
 * device at the same time, once the device's other work has left room for them. If one of the streams is held
 * (stream.h), the launch is held on all of them, as a collective is (peers.h). Streams that are being recorded into a
 * graph template take the launch as other work; all of them must be in the recording.
 *
 * GPO_INVALID_ARGUMENT: an element is wrong; the message names its rank
 * GPO_INVALID_HANDLE: a stream or a kernel is of another runtime
 * GPO_LIMIT_EXCEEDED: not all blocks of a kernel fit on its device at the same time; the message names the rank, how
 *     many blocks fit, and how many were asked for
 * GPO_NOT_SUPPORTED: a device has no cooperative launches, or a stream is resident; or a kernel launches graphs
 *     (module.h, gpo_stream_launch_kernel); or the launch would have to be held on a wrapped stream; or neither the
 *     driver nor `sizes` gives the sizes of the parameters
 * GPO_WOULD_BLOCK, GPO_CAPTURE_REFUSED: as gpo_peers_submit
 *
 * A failure has no effect, with one exception: if the driver refuses a kernel when a part of the launch is submitted
 * already, all streams of the launch have failed. */
GPO_API gpo_status gpo_peers_launch(gpo_peers_t peers, const gpo_rank_launch *launches, uint64_t stride,
                                    uint32_t count);

#ifdef __cplusplus
}
#endif

#endif
