/* memory.h: pinned host memory, device memory, and what moves bytes between them.
 *
 * Only pinned host memory can be copied beside other work. It comes from arenas, which take it from the driver in large
 * slabs and hand out pieces in well under a microsecond, or from gpo_host_register for memory that the caller has
 * already. Copies from and to other host memory work, are slower, serialise, and are counted
 * (gpo_statistics.pageable_copies).
 */
#ifndef GPUORCH_MEMORY_H
#define GPUORCH_MEMORY_H

#include "stream.h"

#ifdef __cplusplus
extern "C" {
#endif

/* In bytes, but for the counts. */
typedef struct gpo_memory_statistics {
    uint32_t struct_size;
    uint32_t slabs;           /* pieces that the memory was taken from the driver in; 0 for pools */
    uint64_t in_use;          /* handed out and not freed */
    uint64_t reserved;        /* taken from the driver */
    uint64_t peak_in_use;
    uint64_t peak_reserved;
    uint64_t waiting;         /* freed behind a stream that has not got there yet; part of in_use. 0 for pools, where
                                 what was freed is no longer in use once its stream has been given the free */
    uint64_t allocations;     /* count, since creation */
    uint64_t frees;
    uint64_t driver_calls;    /* calls that took memory from the driver or gave it back */
} gpo_memory_statistics;

/* --- pinned arenas --- */

#define GPO_ARENA_WRITE_COMBINED 1 /* faster for the GPU to read, very slow for the host to read */
#define GPO_ARENA_NUMA 2           /* numa_node says where slabs go; without it: near the device */

typedef struct gpo_arena_options {
    uint32_t struct_size;
    uint32_t flags;         /* GPO_ARENA_* */
    uint64_t max_bytes;     /* hard cap on what is taken from the driver; 0: none */
    uint64_t slab_bytes;    /* least size of a slab; GPO_AUTO: 64 MiB, or max_bytes if that is less */
    uint64_t initial_bytes; /* taken at once; 0: with the first allocation */
    int32_t numa_node;      /* with GPO_ARENA_NUMA: 0 to 1023; else 0 */
    uint32_t reserved;      /* 0 */
    const char *label;
} gpo_arena_options;

/* `options` NULL: no cap, the defaults. GPO_INVALID_ARGUMENT if slab_bytes or initial_bytes is above max_bytes.
 * Serialises the device if it takes memory at once. */
GPO_API gpo_status gpo_arena_create(gpo_device_t device, const gpo_arena_options *options, gpo_arena_t *arena);

/* Frees that were accepted before still happen, when their streams get there, and the memory goes with the last one.
 * Pieces that were not freed can't be any more, for the handle is stale: they stay usable until the runtime is shut
 * down, which reports them by label and frees them. */
GPO_API gpo_status gpo_arena_destroy(gpo_arena_t arena);

/* Takes `bytes` (1 or more) aligned to `alignment` (a power of two up to 1 MiB; GPO_AUTO: 256). The memory is pinned
 * for every device of the runtime, and kernels read and write it at the same address. GPO_LIMIT_EXCEEDED at the cap;
 * GPO_OUT_OF_MEMORY. A piece that fits needs no driver call; a new slab serialises the device. */
GPO_API gpo_status gpo_arena_allocate(gpo_arena_t arena, uint64_t bytes, uint64_t alignment, void **memory);

/* Frees a piece now: no GPU may be using it. GPO_INVALID_ARGUMENT for a pointer that is not an allocated piece of this
 * arena (never allocated, freed already, inside a piece). NULL succeeds. Any thread may free. */
GPO_API gpo_status gpo_arena_free(gpo_arena_t arena, void *memory);

/* Frees a piece when `stream` has got past all that is on it now: the call for memory that a copy still reads. During a
 * capture of the stream: when the capture has ended, too. */
GPO_API gpo_status gpo_arena_free_after(gpo_arena_t arena, void *memory, gpo_stream_t stream);

/* Gives empty slabs back to the driver until at most `keep_bytes` are reserved. Serialises the device. */
GPO_API gpo_status gpo_arena_trim(gpo_arena_t arena, uint64_t keep_bytes);
/* What the arena has and has given out by now. */
GPO_API gpo_status gpo_arena_get_statistics(gpo_arena_t arena, gpo_memory_statistics *statistics);

/* --- memory of the caller's --- */

#define GPO_REGISTER_READ_ONLY 1 /* the GPU will only read it */

/* Pins memory that the caller owns, so that copies from and to it are asynchronous. Takes about 0.1 ms a MiB, and
 * serialises. GPO_INVALID_ARGUMENT for NULL or 0 bytes, GPO_INVALID_STATE if part of it is registered already,
 * GPO_OUT_OF_MEMORY if the system refuses to pin it. */
GPO_API gpo_status gpo_host_register(gpo_device_t device, void *memory, uint64_t bytes, uint32_t flags);
/* No copy may be using it. GPO_INVALID_ARGUMENT if `memory` was not registered through this device's runtime. */
GPO_API gpo_status gpo_host_unregister(gpo_device_t device, void *memory);

/* --- device memory --- */

/* Plain allocation of 1 byte or more, aligned to 256 or more. Serialises the device: for memory that lives long.
 * `label` may be NULL. */
GPO_API gpo_status gpo_memory_allocate(gpo_device_t device, uint64_t bytes, const char *label, uint64_t *address);

/* Frees it when all that is on the device's streams of this runtime now is done; returns at once.
 * GPO_INVALID_ARGUMENT for an address that is not the start of a live allocation of this device. 0 succeeds. */
GPO_API gpo_status gpo_memory_free(gpo_device_t device, uint64_t address);

#define GPO_MEMORY_PAGEABLE 1 /* plain host memory */
#define GPO_MEMORY_PINNED 2   /* host memory that GPUs reach */
#define GPO_MEMORY_DEVICE 3
#define GPO_MEMORY_MANAGED 4
typedef struct gpo_memory_info {
    uint32_t struct_size;
    uint32_t kind;          /* GPO_MEMORY_* */
    int32_t device_ordinal; /* the driver's; -1 for host memory */
    uint32_t reserved;
    uint64_t start;         /* of the allocation or registration; 0 for pageable memory */
    uint64_t bytes;
} gpo_memory_info;
/* What an address (not 0) is, host or device, whoever allocated it. */
GPO_API gpo_status gpo_memory_describe(gpo_device_t device, uint64_t address, gpo_memory_info *info);

#define GPO_POOL_KEEP_NOTHING 1 /* memory not in use goes back when the driver next waits for the GPU; keep_bytes: 0 */

typedef struct gpo_pool_options {
    uint32_t struct_size;
    uint32_t flags;         /* GPO_POOL_KEEP_NOTHING */
    uint64_t max_bytes;     /* hard cap on bytes in use; 0: none */
    uint64_t keep_bytes;    /* that the pool keeps from the system while they aren't in use; GPO_AUTO: all, until
                               gpo_pool_trim. To keep none, set GPO_POOL_KEEP_NOTHING */
    uint64_t initial_bytes; /* taken at once, so that the first allocations are fast; max_bytes at most */
    const char *label;
} gpo_pool_options;

/* A stream-ordered pool of device memory: allocation and free are points in a stream. On an H200 the two together take
 * the host about 1 us, 0.7 of it the driver. `options` NULL: no cap, the defaults. GPO_NOT_SUPPORTED on a device without
 * them (gpo_device_properties.memory_pools). */
GPO_API gpo_status gpo_pool_create(gpo_device_t device, const gpo_pool_options *options, gpo_pool_t *pool);
/* Frees that were put on streams before still happen. Pieces that were not freed can't be any more, for the handle is
 * stale: they stay usable until the runtime is shut down, which reports them by label and frees them. */
GPO_API gpo_status gpo_pool_destroy(gpo_pool_t pool);

/* Takes `bytes` (1 or more). The memory may be used by what comes next on `stream`, and elsewhere behind an event or
 * timeline from there. GPO_LIMIT_EXCEEDED at the cap. On a held stream: GPO_INVALID_STATE, since the address isn't
 * known yet. On a stream that is being captured, here and in gpo_pool_free: GPO_CAPTURE_REFUSED. */
GPO_API gpo_status gpo_pool_allocate(gpo_pool_t pool, gpo_stream_t stream, uint64_t bytes, uint64_t *address);

/* The memory goes back when `stream` gets there; uses on other streams must be ordered before. A free that is held and
 * then cancelled or failed has not happened: the piece can be freed again. 0 succeeds.
 * GPO_INVALID_ARGUMENT for an address that is not the start of a live piece of this pool. */
GPO_API gpo_status gpo_pool_free(gpo_pool_t pool, gpo_stream_t stream, uint64_t address);
/* Gives memory that is not in use back to the system until at most `keep_bytes` are reserved. Serialises the device. */
GPO_API gpo_status gpo_pool_trim(gpo_pool_t pool, uint64_t keep_bytes);
/* What the pool has and has given out by now. */
GPO_API gpo_status gpo_pool_get_statistics(gpo_pool_t pool, gpo_memory_statistics *statistics);

/* --- copies and fills: all are points in a stream --- */

/* From the host to the device. The host memory must stay valid, and for reading unchanged, until the stream has got
 * past the copy; pageable memory may be reused when the call returns (from it) or when the stream has got past (into
 * it). 0 bytes succeed. GPO_INVALID_ARGUMENT, here and in the next three, if source and destination overlap, or for a
 * range that is more than what the library or the driver knows to be there. Pageable copies may block while the driver
 * stages them, and are GPO_CAPTURE_REFUSED on a stream that is being captured. */
GPO_API gpo_status gpo_copy_to_device(gpo_stream_t stream, uint64_t destination, const void *source, uint64_t bytes);
/* Likewise, from the device to the host. */
GPO_API gpo_status gpo_copy_to_host(gpo_stream_t stream, void *destination, uint64_t source, uint64_t bytes);
/* Between two ranges of the stream's device. */
GPO_API gpo_status gpo_copy_on_device(gpo_stream_t stream, uint64_t destination, uint64_t source, uint64_t bytes);

/* Between two devices of one runtime, over the direct path where there is one, else through the host.
 * GPO_INVALID_HANDLE if the stream or one of them is of another runtime. */
GPO_API gpo_status gpo_copy_peer(gpo_stream_t stream, gpo_device_t destination_device, uint64_t destination,
                                 gpo_device_t source_device, uint64_t source, uint64_t bytes);

/* Addresses may be host or device, as unified addressing has it; device addresses are given as they are, host pointers
 * converted to uint64_t. */
typedef struct gpo_copy {
    uint32_t struct_size;
    uint32_t flags; /* none yet */
    uint64_t destination;
    uint64_t source;
    uint64_t bytes;
} gpo_copy;

/* Many copies by one call of the driver, in no order among themselves: made for pieces of 256 KiB and less. `copies` is
 * an array of `count` structs, `stride` bytes apart (sizeof(gpo_copy) or more, a multiple of 8). All are checked before
 * the first is submitted: GPO_INVALID_ARGUMENT if the source and destination of one overlap, or a range is too long.
 * Those of different copies may not overlap either, which nobody checks. Where the driver can't batch (before CUDA
 * 12.8, under capture, on the default stream) they are submitted one by one. */
GPO_API gpo_status gpo_copy_batch(gpo_stream_t stream, const gpo_copy *copies, uint64_t stride, uint64_t count);

/* `height` rows of `width` bytes; pitches are the bytes from one row to the next, `width` or more. */
typedef struct gpo_copy_2d {
    uint32_t struct_size;
    uint32_t flags; /* none yet */
    uint64_t destination;
    uint64_t destination_pitch;
    uint64_t source;
    uint64_t source_pitch;
    uint64_t width;
    uint64_t height;
} gpo_copy_2d;
/* Source and destination may not overlap, which nobody checks. Pageable memory as above. */
GPO_API gpo_status gpo_copy_rows(gpo_stream_t stream, const gpo_copy_2d *copy);

/* Sets `count` elements of `element_bytes` (1, 2 or 4) to the low bytes of `value`; the address must be aligned to
 * them. */
GPO_API gpo_status gpo_fill(gpo_stream_t stream, uint64_t destination, uint32_t value, uint32_t element_bytes,
                            uint64_t count);
/* Sets `height` rows of `width` bytes, `pitch` bytes apart, to the low byte of `value`. */
GPO_API gpo_status gpo_fill_rows(gpo_stream_t stream, uint64_t destination, uint64_t pitch, uint32_t value,
                                 uint64_t width, uint64_t height);

#ifdef __cplusplus
}
#endif

#endif
