/* memory.h: pinned host memory, device memory, and the operations that move bytes: copies and fills.
 *
 * Only *pinned* host memory can be copied while other work runs. There are two ways to get it:
 * - an arena (gpo_arena_t) takes pinned memory from the driver in large *slabs* and hands out *pieces* of them in well
 *   under a microsecond
 * - gpo_host_register pins memory that the caller has already
 *
 * Copies from and to other host memory (*pageable* memory) work too, but are slower, are serialising (runtime.h), and
 * are counted (gpo_statistics.pageable_copies).
 *
 * Device memory comes from a pool (gpo_pool_t), whose allocations and frees are operations of a stream, or, for memory
 * that lives long, from gpo_memory_allocate.
 */
#ifndef GPUORCH_MEMORY_H
#define GPUORCH_MEMORY_H

#include "stream.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Figures of an arena or a pool. Amounts are in bytes. */
typedef struct gpo_memory_statistics {
    uint32_t struct_size;
    uint32_t slabs;           /* arenas: how many slabs there are; pools: 0 */
    uint64_t in_use;          /* allocated and not freed */
    uint64_t reserved;        /* taken from the driver */
    uint64_t peak_in_use;
    uint64_t peak_reserved;
    uint64_t waiting;         /* arenas: the part of in_use whose free waits for a stream or a graph. Pools: 0, since a
                                 piece is no longer in use once its free was submitted to the stream */
    uint64_t allocations;     /* how many, since creation */
    uint64_t frees;           /* how many, since creation */
    uint64_t driver_calls;    /* how many calls took memory from the driver or gave memory back */
} gpo_memory_statistics;

/* --- pinned arenas --- */

#define GPO_ARENA_WRITE_COMBINED 1 /* memory that the GPU reads faster, and that the host reads very slowly */
#define GPO_ARENA_NUMA 2           /* slabs are on `numa_node`; without this flag they are near the device */

typedef struct gpo_arena_options {
    uint32_t struct_size;
    uint32_t flags;         /* GPO_ARENA_* */
    uint64_t max_bytes;     /* most bytes that the arena takes from the driver; 0: no limit */
    uint64_t slab_bytes;    /* least size of a slab; GPO_AUTO: 64 MiB, or max_bytes if that is less */
    uint64_t initial_bytes; /* bytes that gpo_arena_create takes; 0: none, the first allocation takes a slab */
    int32_t numa_node;      /* with GPO_ARENA_NUMA: 0 to 1023; otherwise 0 */
    uint32_t reserved;      /* 0 */
    const char *label;
} gpo_arena_options;

/* Creates an arena. `options` may be NULL: no limit, the defaults.
 * GPO_INVALID_ARGUMENT: `slab_bytes` or `initial_bytes` is above `max_bytes`
 * Serialises the device if `initial_bytes` is not 0. */
GPO_API gpo_status gpo_arena_create(gpo_device_t device, const gpo_arena_options *options, gpo_arena_t *arena);

/* Destroys an arena's handle. Frees that wait for a stream still happen, and the arena's memory is released with the
 * last one. Pieces that were not freed can't be freed any more, since the handle is stale, but stay usable until
 * gpo_runtime_shutdown reports them by label and frees them. Blocks on nothing. */
GPO_API gpo_status gpo_arena_destroy(gpo_arena_t arena);

/* Allocates a piece of `bytes` (1 or more), aligned to `alignment` (a power of two up to 1 MiB; GPO_AUTO: 256). The
 * memory is pinned for every device of the runtime. Kernels read and write it at the same address as the host.
 * GPO_LIMIT_EXCEEDED: the arena would exceed `max_bytes`
 * GPO_OUT_OF_MEMORY: the driver has no more pinned memory
 * A piece that fits into the arena's slabs needs no driver call. A new slab serialises the device. */
GPO_API gpo_status gpo_arena_allocate(gpo_arena_t arena, uint64_t bytes, uint64_t alignment, void **memory);

/* Frees a piece at once: no GPU may be using it. NULL succeeds. Any thread may free any piece. A piece that graphs
 * refer to is freed later: after the last reference has ended, when all work then on the runtime's streams is done.
 * GPO_INVALID_ARGUMENT: `memory` is not the start of an allocated piece of this arena (it was never allocated, is freed
 *     already, or points into a piece) */
GPO_API gpo_status gpo_arena_free(gpo_arena_t arena, void *memory);

/* Frees a piece when all work that is on `stream` now is done: for memory that a copy still reads. If the stream is in
 * capture, the piece is freed when the capture has ended too. A piece that a graph refers to is freed later, as with
 * gpo_arena_free. Statuses as gpo_arena_free. */
GPO_API gpo_status gpo_arena_free_after(gpo_arena_t arena, void *memory, gpo_stream_t stream);

/* Gives empty slabs back to the driver until at most `keep_bytes` are reserved. Serialises the device. Beside resident
 * work (stream.h) the driver gets them when that work has ended, and until then they count nowhere in the arena. */
GPO_API gpo_status gpo_arena_trim(gpo_arena_t arena, uint64_t keep_bytes);
/* Reads the arena's figures. */
GPO_API gpo_status gpo_arena_get_statistics(gpo_arena_t arena, gpo_memory_statistics *statistics);

/* --- pinning memory of the caller --- */

#define GPO_REGISTER_READ_ONLY 1 /* the GPU will only read the memory */

/* Pins memory of the caller, to make copies from and to it asynchronous. `flags`: GPO_REGISTER_READ_ONLY or 0. Takes
 * about 0.1 ms for each MiB.
 * GPO_INVALID_ARGUMENT: `memory` is NULL or `bytes` is 0
 * GPO_INVALID_STATE: a part of the memory is registered already
 * GPO_OUT_OF_MEMORY: the system refuses to pin the memory
 * Serialises the device. */
GPO_API gpo_status gpo_host_register(gpo_device_t device, void *memory, uint64_t bytes, uint32_t flags);
/* Ends a registration. No copy may be using the memory.
 * GPO_INVALID_ARGUMENT: `memory` was not registered through this device's runtime
 * GPO_INVALID_STATE: there is resident work (stream.h), which the driver would wait for. The memory stays registered:
 *     end that work first. The message names its stream */
GPO_API gpo_status gpo_host_unregister(gpo_device_t device, void *memory);

/* --- device memory --- */

/* Allocates device memory: `bytes` (1 or more), aligned to 256 or more. `label` may be NULL. Serialises the device:
 * meant for memory that lives long.
 * GPO_OUT_OF_MEMORY: nothing has changed, and work goes on. The call succeeds when there is memory again: after
 *     gpo_memory_free, or gpo_pool_trim, which gives back what pools keep */
GPO_API gpo_status gpo_memory_allocate(gpo_device_t device, uint64_t bytes, const char *label, uint64_t *address);

/* Frees memory of gpo_memory_allocate. Returns at once. The memory is freed when all work is done that is now on the
 * device's streams of this runtime, resident streams (stream.h) left out. Memory that graphs refer to is freed later:
 * after the last reference has ended, when all work then on the runtime's streams is done. Address 0 succeeds.
 * GPO_INVALID_ARGUMENT: `address` is not the start of an allocation of this device that exists
 * GPO_INVALID_STATE: the memory is a graph template's (gpo_template_allocate) or a queue's, which the message names */
GPO_API gpo_status gpo_memory_free(gpo_device_t device, uint64_t address);

#define GPO_MEMORY_PAGEABLE 1 /* plain host memory */
#define GPO_MEMORY_PINNED 2   /* pinned host memory, which GPUs can access */
#define GPO_MEMORY_DEVICE 3   /* device memory */
#define GPO_MEMORY_MANAGED 4  /* CUDA's managed memory */
/* The kind of memory at an address. */
typedef struct gpo_memory_info {
    uint32_t struct_size;
    uint32_t kind;          /* GPO_MEMORY_* */
    int32_t device_ordinal; /* the driver's own number of the device; -1 for host memory */
    uint32_t reserved;
    uint64_t start;         /* address of the allocation or registration; 0 for pageable memory */
    uint64_t bytes;         /* its size */
} gpo_memory_info;
/* Says what kind of memory `address` (not 0) points to. The address may be of host or device memory, allocated by the
 * library or by other code. The memory must not be freed meanwhile: drivers may crash then (580 has). */
GPO_API gpo_status gpo_memory_describe(gpo_device_t device, uint64_t address, gpo_memory_info *info);

/* Unused memory goes back to the system when any code next has the driver wait for a stream, an event or the context
 * (cuStreamSynchronize and its like). The library's own waits don't count; gpo_pool_trim gives the memory back at once.
 * `keep_bytes` must be 0. */
#define GPO_POOL_KEEP_NOTHING 1

typedef struct gpo_pool_options {
    uint32_t struct_size;
    uint32_t flags;         /* GPO_POOL_KEEP_NOTHING */
    uint64_t max_bytes;     /* most bytes in use; 0: no limit */
    uint64_t keep_bytes;    /* how much unused memory the pool keeps instead of giving it back to the system; GPO_AUTO:
                               all, until gpo_pool_trim. To keep none, set GPO_POOL_KEEP_NOTHING */
    uint64_t initial_bytes; /* bytes that gpo_pool_create takes, to make the first allocations fast; at most
                               max_bytes */
    const char *label;
} gpo_pool_options;

/* Creates a pool of device memory. Allocations and frees are operations of a stream. On an H200 an allocation and a
 * free together take the host about 1 us, including 0.7 us in the driver. `options` may be NULL: no limit, the
 * defaults.
 * GPO_NOT_SUPPORTED: the device has no memory pools (gpo_device_properties.memory_pools) */
GPO_API gpo_status gpo_pool_create(gpo_device_t device, const gpo_pool_options *options, gpo_pool_t *pool);
/* Destroys a pool's handle. Frees that were put on streams before still happen. Pieces that were not freed can't be
 * freed any more, since the handle is stale, but stay usable until gpo_runtime_shutdown reports them by label and frees
 * them. */
GPO_API gpo_status gpo_pool_destroy(gpo_pool_t pool);

/* Allocates a piece of `bytes` (1 or more). Later work on `stream` may use the memory. Work on other streams may use it
 * after waiting for an event or timeline that was recorded or signalled on `stream` later.
 * GPO_LIMIT_EXCEEDED: the pool would exceed `max_bytes`
 * GPO_INVALID_STATE: the stream is held (stream.h), so the address isn't known yet
 * GPO_CAPTURE_REFUSED: the stream is in capture */
GPO_API gpo_status gpo_pool_allocate(gpo_pool_t pool, gpo_stream_t stream, uint64_t bytes, uint64_t *address);

/* Frees a piece when all work that was put on `stream` before is done. Make `stream` wait for uses on other streams
 * first. A free that is held and then cancelled or failed has not happened: the piece can be freed again. A piece that
 * graphs refer to is freed in the order of `stream` too, but later: after the last reference has ended, when all work
 * then on the runtime's streams is done. Address 0 succeeds.
 * GPO_INVALID_ARGUMENT: `address` is not the start of an allocated piece of this pool
 * GPO_CAPTURE_REFUSED: the stream is in capture */
GPO_API gpo_status gpo_pool_free(gpo_pool_t pool, gpo_stream_t stream, uint64_t address);
/* Gives unused memory back to the system until at most `keep_bytes` are reserved. Serialises the device. Memory
 * that was freed on a stream with unfinished work, or in capture, stays reserved. Looking at such a stream takes up to
 * 0.5 ms. */
GPO_API gpo_status gpo_pool_trim(gpo_pool_t pool, uint64_t keep_bytes);
/* Reads the pool's figures. */
GPO_API gpo_status gpo_pool_get_statistics(gpo_pool_t pool, gpo_memory_statistics *statistics);

/* --- copies and fills: operations of a stream ---
 *
 * For gpo_copy_to_device, gpo_copy_to_host, gpo_copy_on_device and gpo_copy_peer:
 * - Copies of 0 bytes succeed.
 * - Pinned host memory must stay valid until the stream has done the copy; if it is the source, it must also stay
 *   unchanged.
 * - Pageable host memory that is the source may be reused when the call returns. If it is the destination, it must stay
 *   valid until the stream has done the copy.
 * - A copy with pageable memory may block while the driver stages it, until the GPU has done the stream's earlier work
 *   and the copy. Meanwhile other threads' calls that put work on the stream block too. If the copy was held
 *   (stream.h), the call that releases it blocks instead. Then gpo_stream_cancel_held for the stream blocks too. So do
 *   gpo_timeline_signal, gpo_timeline_fail, gpo_stream_signal_timeline and gpo_host_call_finish, for any stream. With
 *   CUDA, calls block that allocate memory, create a stream or an event, or wait or notify for the first time on a
 *   stream. All other waits return when their timeouts have passed.
 *
 * GPO_INVALID_ARGUMENT: source and destination overlap, or a range is longer than the memory that the library or the
 *     driver knows there
 * GPO_CAPTURE_REFUSED: a copy with pageable memory on a stream in capture */

/* Copies from the host to the device. */
GPO_API gpo_status gpo_copy_to_device(gpo_stream_t stream, uint64_t destination, const void *source, uint64_t bytes);
/* Copies from the device to the host. */
GPO_API gpo_status gpo_copy_to_host(gpo_stream_t stream, void *destination, uint64_t source, uint64_t bytes);
/* Copies between two ranges of the stream's device. */
GPO_API gpo_status gpo_copy_on_device(gpo_stream_t stream, uint64_t destination, uint64_t source, uint64_t bytes);

/* Copies between two devices of one runtime: directly if the devices can reach each other, otherwise through the host.
 * GPO_INVALID_HANDLE: the stream or one of the devices is of another runtime */
GPO_API gpo_status gpo_copy_peer(gpo_stream_t stream, gpo_device_t destination_device, uint64_t destination,
                                 gpo_device_t source_device, uint64_t source, uint64_t bytes);

/* A copy of a batch. `destination` and `source` may be device addresses or host pointers converted to uint64_t. */
typedef struct gpo_copy {
    uint32_t struct_size;
    uint32_t flags; /* 0: there are none yet */
    uint64_t destination;
    uint64_t source;
    uint64_t bytes;
} gpo_copy;

/* Submits many copies with one call of the driver. Worthwhile for copies of 256 KiB and less. The copies have no order
 * among themselves. `copies` is an array of `count` structs, `stride` bytes apart (a multiple of 8, at least
 * sizeof(gpo_copy)). If the driver can't batch (before CUDA 12.8, in a capture, on the default stream), the copies are
 * submitted one by one.
 *
 * All copies are checked before the first is submitted. Ranges of different copies must not overlap; the library
 * doesn't check that.
 * GPO_INVALID_ARGUMENT: source and destination of a copy overlap, or a range is too long (as above) */
GPO_API gpo_status gpo_copy_batch(gpo_stream_t stream, const gpo_copy *copies, uint64_t stride, uint64_t count);

/* A copy of `height` rows of `width` bytes. A pitch is the distance from one row to the next in bytes, at least
 * `width`. */
typedef struct gpo_copy_2d {
    uint32_t struct_size;
    uint32_t flags; /* 0: there are none yet */
    uint64_t destination;
    uint64_t destination_pitch;
    uint64_t source;
    uint64_t source_pitch;
    uint64_t width;
    uint64_t height;
} gpo_copy_2d;
/* Copies rows. Source and destination must not overlap; the library doesn't check that. Pageable memory as above. */
GPO_API gpo_status gpo_copy_rows(gpo_stream_t stream, const gpo_copy_2d *copy);

/* Sets `count` elements of `element_bytes` (1, 2 or 4) bytes to the low bytes of `value`. `destination` must be a
 * multiple of `element_bytes`. */
GPO_API gpo_status gpo_fill(gpo_stream_t stream, uint64_t destination, uint32_t value, uint32_t element_bytes,
                            uint64_t count);
/* Sets `height` rows of `width` bytes, which lie `pitch` bytes apart, to the low byte of `value`. */
GPO_API gpo_status gpo_fill_rows(gpo_stream_t stream, uint64_t destination, uint64_t pitch, uint32_t value,
                                 uint64_t width, uint64_t height);

#ifdef __cplusplus
}
#endif

#endif
