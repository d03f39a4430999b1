/* device.h: the GPUs that a runtime sees, and the ones that it has opened. */
#ifndef GPUORCH_DEVICE_H
#define GPUORCH_DEVICE_H

#include "runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gpo_device_properties {
    uint32_t struct_size;
    int32_t native_ordinal;           /* the driver's number of the device */
    char name[128];
    uint8_t uuid[16];
    char pci_address[32];             /* "0000:1b:00.0" */
    int32_t numa_node;                /* of the host, nearest to the device; -1: not known */
    int32_t compute_capability_major;
    int32_t compute_capability_minor;
    int32_t multiprocessors;
    int32_t copy_engines;             /* copies that can run at the same time as each other and as kernels */
    int32_t warp_size;
    int32_t max_threads_per_block;
    int32_t max_threads_per_multiprocessor;
    int32_t clock_khz;
    int32_t memory_clock_khz;
    int32_t memory_bus_bits;
    int32_t l2_bytes;
    uint32_t software;                /* 1: the software GPU */
    uint64_t memory_bytes;
    uint64_t shared_bytes_per_block;  /* without asking for more */
    uint64_t shared_bytes_per_block_max;
    uint64_t shared_bytes_per_multiprocessor;
    uint32_t max_block[3];
    uint32_t max_grid[3];
    uint32_t cooperative_launch;      /* 1: supported */
    uint32_t cluster_launch;
    uint32_t memory_pools;
    uint32_t batched_copies;
} gpo_device_properties;

/* How many devices the runtime shows. Loads the driver the first time. GPO_NO_DEVICE with the reason if the driver that
 * was asked for can't be used. */
GPO_API gpo_status gpo_runtime_get_device_count(gpo_runtime_t runtime, uint32_t *count);

/* Properties of device `ordinal` (from 0), opened or not. Makes no context. GPO_NO_DEVICE for an ordinal that isn't
 * there. */
GPO_API gpo_status gpo_runtime_describe_device(gpo_runtime_t runtime, uint32_t ordinal,
                                               gpo_device_properties *properties);

/* How two devices of a runtime reach each other, opened or not: `from` and `to` are ordinals, as above. */
typedef struct gpo_peer_properties {
    uint32_t struct_size;
    uint32_t accessible;       /* 1: kernels and copies on `from` can reach memory of `to` directly */
    uint32_t native_atomics;
    int32_t performance_rank;  /* the driver's: lower is faster */
} gpo_peer_properties;
/* GPO_NO_DEVICE for an ordinal that isn't there. Makes no context. */
GPO_API gpo_status gpo_runtime_describe_peer(gpo_runtime_t runtime, uint32_t from, uint32_t to,
                                            gpo_peer_properties *properties);

typedef struct gpo_device_options {
    uint32_t struct_size;
    uint32_t flags;       /* none yet */
    uint32_t ordinal;     /* from 0 */
    uint32_t reserved;    /* 0 */
    void *native_context; /* a CUcontext of the caller's, on that device, to be used in place of the primary one. It
                             must stay until all that was opened from the device is destroyed and its work is done.
                             NULL: the primary context, retained, its flags untouched */
    const char *label;
} gpo_device_options;

/* Opens a device. `options` NULL: the first. GPO_NO_DEVICE for an ordinal that isn't there, GPO_INVALID_ARGUMENT for a
 * native context of another device. May block while the driver makes the context. Opening a device twice gives two
 * handles on one context. */
GPO_API gpo_status gpo_device_open(gpo_runtime_t runtime, const gpo_device_options *options, gpo_device_t *device);

/* Closes a handle. Streams and memory that were opened from it keep the device until they go. */
GPO_API gpo_status gpo_device_close(gpo_device_t device);

/* Properties of an opened device, as gpo_runtime_describe_device gives them. */
GPO_API gpo_status gpo_device_get_properties(gpo_device_t device, gpo_device_properties *properties);

/* Waits until all that was put on the device's streams by then, held work and that of streams destroyed meanwhile
 * included, is done, and the memory that was freed behind it is free. What the GPU was given before a stream failed is
 * waited for too; that failure isn't returned. GPO_TIMEOUT: if streams hold each other up (stream.h), gpo_last_error has
 * a sentence that names them. GPO_DEVICE_LOST; GPO_CANCELLED if the runtime shuts down. GPO_WOULD_DEADLOCK in a host
 * call on one of the streams, and in a log function on the thread of the library that frees.
 * Works while streams are captured: those run nothing and are passed over, as is a wrapped legacy stream while a
 * blocking stream is captured; and memory freed during a capture is released when the capture ends, which this call
 * doesn't wait for.
 * Blocks on the GPU until the timeout. */
GPO_API gpo_status gpo_device_wait(gpo_device_t device, int64_t timeout_ns);

/* The CUcontext and CUdevice behind a handle, for use with other libraries. Either pointer may be NULL. */
GPO_API gpo_status gpo_device_get_native(gpo_device_t device, void **context, int32_t *ordinal);

/* Free and total bytes of device memory, as the driver sees them now. Neither pointer may be NULL. */
GPO_API gpo_status gpo_device_get_memory(gpo_device_t device, uint64_t *free_bytes, uint64_t *total_bytes);

/* Lets kernels and copies on `device` reach the memory of `peer`. Success if they can already. GPO_NOT_SUPPORTED if the
 * two can't; GPO_INVALID_HANDLE if they are of different runtimes. Serialises both devices. */
GPO_API gpo_status gpo_device_enable_peer(gpo_device_t device, gpo_device_t peer);
/* Takes that back. GPO_INVALID_STATE if it isn't so; GPO_INVALID_ARGUMENT if both are the same device, which always
 * reaches its own memory. Serialises both devices. */
GPO_API gpo_status gpo_device_disable_peer(gpo_device_t device, gpo_device_t peer);

/* Limits of the context, in bytes (pending launches: a count). GPO_INVALID_ARGUMENT for another number,
 * GPO_NOT_SUPPORTED for one that the device lacks. */
#define GPO_LIMIT_STACK_BYTES 1          /* per thread of a kernel */
#define GPO_LIMIT_PRINTF_BYTES 2
#define GPO_LIMIT_HEAP_BYTES 3           /* malloc in kernels */
#define GPO_LIMIT_PENDING_LAUNCHES 4     /* made by kernels */
#define GPO_LIMIT_L2_FETCH_BYTES 5
#define GPO_LIMIT_PERSISTING_L2_BYTES 6
/* The value that is in force now. */
GPO_API gpo_status gpo_device_get_limit(gpo_device_t device, uint32_t limit, uint64_t *value);
/* The driver may round the value: ask for it afterwards. Shared by all users of the context. */
GPO_API gpo_status gpo_device_set_limit(gpo_device_t device, uint32_t limit, uint64_t value);

#ifdef __cplusplus
}
#endif

#endif
