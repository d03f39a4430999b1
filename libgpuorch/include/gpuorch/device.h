/* device.h: the GPUs that a runtime shows, and handles of opened devices.
 *
 * Devices are numbered by ordinals from 0. A device can be described without opening it. Opening a device uses its
 * primary CUDA context, or a context of the caller's; all objects that are made from the device's handle live in that
 * context.
 *
 *     gpo_device_t device;
 *     gpo_device_open(runtime, NULL, &device);
 */
#ifndef GPUORCH_DEVICE_H
#define GPUORCH_DEVICE_H

#include "runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Properties of a device. */
typedef struct gpo_device_properties {
    uint32_t struct_size;
    int32_t native_ordinal;           /* the driver's own number of the device */
    char name[128];                   /* the driver's name for the device */
    uint8_t uuid[16];                 /* the UUID of the device */
    char pci_address[32];             /* "0000:1b:00.0" */
    int32_t numa_node;                /* the host's NUMA node nearest to the device; -1: not known */
    int32_t compute_capability_major; /* 9 for 9.0 */
    int32_t compute_capability_minor; /* 0 for 9.0 */
    int32_t multiprocessors;          /* how many multiprocessors the device has */
    int32_t copy_engines;             /* how many copies can run at the same time, beside kernels */
    int32_t warp_size;                /* how many threads a warp has */
    int32_t max_threads_per_block;    /* most threads of a block */
    int32_t max_threads_per_multiprocessor; /* most threads that a multiprocessor runs at a time */
    int32_t clock_khz;                /* clock rate of the multiprocessors */
    int32_t memory_clock_khz;         /* clock rate of the memory */
    int32_t memory_bus_bits;          /* width of the memory's bus */
    int32_t l2_bytes;                 /* size of the L2 cache */
    uint32_t software;                /* 1: it is the software GPU */
    uint64_t memory_bytes;            /* size of the device memory; gpo_device_get_memory says how much is free */
    uint64_t shared_bytes_per_block;  /* shared memory that a block of every kernel may use */
    uint64_t shared_bytes_per_block_max; /* the same after gpo_kernel_set_max_dynamic_shared (module.h) */
    uint64_t shared_bytes_per_multiprocessor; /* shared memory that a multiprocessor has */
    uint32_t max_block[3];            /* most threads of a block in each dimension */
    uint32_t max_grid[3];             /* most blocks of a launch in each dimension */
    uint32_t cooperative_launch;      /* 1: kernels can be launched with GPO_LAUNCH_COOPERATIVE (module.h) */
    uint32_t cluster_launch;          /* 1: blocks of a launch can form clusters */
    uint32_t memory_pools;            /* 1: the driver has memory pools, which gpo_pool_create needs */
    uint32_t batched_copies;          /* 1: the driver takes many copies with one call (gpo_copy_batch) */
} gpo_device_properties;

/* Says how many devices the runtime shows. The first call loads the driver.
 * GPO_NO_DEVICE: the driver that was asked for can't be used; the message says why */
GPO_API gpo_status gpo_runtime_get_device_count(gpo_runtime_t runtime, uint32_t *count);

/* Describes device `ordinal` (from 0), which need not be open. Makes no context.
 * GPO_NO_DEVICE: there is no device with this ordinal */
GPO_API gpo_status gpo_runtime_describe_device(gpo_runtime_t runtime, uint32_t ordinal,
                                               gpo_device_properties *properties);

/* How one device of a runtime reaches another's memory. */
typedef struct gpo_peer_properties {
    uint32_t struct_size;
    uint32_t accessible;       /* 1: kernels and copies on `from` can reach memory of `to` directly */
    uint32_t native_atomics;   /* 1: atomic operations on that memory are native */
    int32_t performance_rank;  /* the driver's rank of the connection: lower is faster */
} gpo_peer_properties;
/* Describes how device `from` reaches device `to`. Both are ordinals; neither device need be open. Makes no context.
 * GPO_NO_DEVICE: `from` or `to` is not the ordinal of a device */
GPO_API gpo_status gpo_runtime_describe_peer(gpo_runtime_t runtime, uint32_t from, uint32_t to,
                                            gpo_peer_properties *properties);

typedef struct gpo_device_options {
    uint32_t struct_size;
    uint32_t flags;       /* 0: there are none yet */
    uint32_t ordinal;     /* from 0 */
    uint32_t reserved;    /* 0 */
    void *native_context; /* NULL: the device's primary context, which is retained; its flags stay as they are.
                             Not NULL: the caller's CUcontext on that device, which must exist until all objects that
                             were made from the device are destroyed and their work is done */
    const char *label;
} gpo_device_options;

/* Opens a device. `options` may be NULL: the first device. Opening a device twice gives two handles to one context.
 *
 * GPO_NO_DEVICE: there is no device with this ordinal; or the driver can't be used (runtime.h, "Which driver"), and the
 *     message says why
 * GPO_INVALID_ARGUMENT: `native_context` is of another device
 *
 * Blocks on the driver while it makes the context. */
GPO_API gpo_status gpo_device_open(gpo_runtime_t runtime, const gpo_device_options *options, gpo_device_t *device);

/* Closes a device's handle. The device stays in use until all streams, memory and other objects that were made from the
 * handle are destroyed. */
GPO_API gpo_status gpo_device_close(gpo_device_t device);

/* Describes an open device, as gpo_runtime_describe_device does. */
GPO_API gpo_status gpo_device_get_properties(gpo_device_t device, gpo_device_properties *properties);

/* Waits until all work that was put on the device's streams before the call is done, and until memory that was freed
 * behind this work is free. Held work, and the work of streams that have been destroyed, is included. If a stream has
 * failed, the work that the GPU was given before the failure is waited for too; the failure isn't returned. Resident
 * streams (stream.h) are left out.
 *
 * The call may be made during a stream capture. A stream that is being captured runs nothing and is passed over. A
 * wrapped legacy stream is passed over while any blocking stream is being captured. Memory that was freed during a
 * capture is released when the capture ends; this call doesn't wait for that.
 *
 * GPO_TIMEOUT: the timeout passed. If streams hold each other up (stream.h), gpo_last_error names them
 * GPO_DEVICE_LOST: the device was lost
 * GPO_CANCELLED: the runtime was shut down meanwhile
 * GPO_WOULD_DEADLOCK: called in a host call (executor.h) on one of the device's streams, or in a log function on the
 *     library's thread that frees memory
 *
 * Blocks on the GPU until the timeout. */
GPO_API gpo_status gpo_device_wait(gpo_device_t device, int64_t timeout_ns);

/* Writes the CUcontext and the CUdevice behind a handle, for use with other libraries. Either pointer may be NULL. */
GPO_API gpo_status gpo_device_get_native(gpo_device_t device, void **context, int32_t *ordinal);

/* Writes the free and the total bytes of device memory, as the driver sees them now. No pointer may be NULL. */
GPO_API gpo_status gpo_device_get_memory(gpo_device_t device, uint64_t *free_bytes, uint64_t *total_bytes);

/* Lets kernels and copies on `device` access the memory of `peer`. Succeeds if they can already.
 * GPO_NOT_SUPPORTED: these two devices can't reach each other
 * GPO_INVALID_HANDLE: the devices are of different runtimes
 * Serialises both devices (runtime.h). */
GPO_API gpo_status gpo_device_enable_peer(gpo_device_t device, gpo_device_t peer);
/* Ends the access of kernels and copies on `device` to the memory of `peer`.
 * GPO_INVALID_STATE: `device` has no access to the memory of `peer`
 * GPO_INVALID_ARGUMENT: both are the same device, which always reaches its own memory
 * Serialises both devices (runtime.h). */
GPO_API gpo_status gpo_device_disable_peer(gpo_device_t device, gpo_device_t peer);

/* Limits of the device's context. All users of the context share them. */
#define GPO_LIMIT_STACK_BYTES 1          /* stack of each thread of a kernel, bytes */
#define GPO_LIMIT_PRINTF_BYTES 2         /* buffer of printf in kernels, bytes */
#define GPO_LIMIT_HEAP_BYTES 3           /* heap of malloc in kernels, bytes */
#define GPO_LIMIT_PENDING_LAUNCHES 4     /* launches by kernels (module.h) that may be pending: a count */
#define GPO_LIMIT_L2_FETCH_BYTES 5       /* granularity of fetches into the L2 cache, bytes */
#define GPO_LIMIT_PERSISTING_L2_BYTES 6  /* part of the L2 cache for persisting accesses, bytes */
/* Reads the value of `limit` (GPO_LIMIT_*) that is in force now.
 * GPO_INVALID_ARGUMENT: `limit` is none of these numbers
 * GPO_NOT_SUPPORTED: the device doesn't have this limit */
GPO_API gpo_status gpo_device_get_limit(gpo_device_t device, uint32_t limit, uint64_t *value);
/* Sets a limit. The driver may round the value: read it back with gpo_device_get_limit. Same statuses as there.
 * GPO_INVALID_ARGUMENT, too: on a CUDA device the limits of printf and of the heap can't be set, not even to the same
 *     value, once a kernel that uses printf, or malloc, has been launched in the context (cuCtxSetLimit)
 * GPO_INVALID_STATE: `limit` is GPO_LIMIT_STACK_BYTES, and there is resident work (stream.h), which the driver would
 *     wait for; the message names its stream */
GPO_API gpo_status gpo_device_set_limit(gpo_device_t device, uint32_t limit, uint64_t value);

#ifdef __cplusplus
}
#endif

#endif
