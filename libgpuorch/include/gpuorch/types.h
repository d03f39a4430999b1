/* types.h: handles, and the rules that hold for every function and struct of the library.
 *
 * Handles
 *   Every object is used through an opaque handle. A handle is a number, not an address. The library checks each
 *   handle: if it is stale (the object was destroyed), of another type, of another runtime or random, the call returns
 *   GPO_STALE_HANDLE or GPO_INVALID_HANDLE and does nothing.
 *   A create function writes the handle as its last step. If it fails, it has created nothing.
 *   A destroy function makes the handle stale at once. The object itself is freed when its work is done and no other
 *   object uses it any more. Objects may therefore be destroyed while they are in use or in flight. Destroying NULL
 *   succeeds. An object keeps the object that it was created from alive.
 *
 * Names
 *   A function is called gpo_<object>_<verb>. The object is the type of the handle that the function takes first or
 *   makes. A function that only reads something is called gpo_<object>_get_<what>. Exceptions:
 *   - gpo_advise* give advice (advice.h), which needs no object.
 *   - Functions that take no handle are named for what they return: gpo_status_name, gpo_status_text, gpo_version,
 *     gpo_get_api; gpo_last_<what> is for what the calling thread did last.
 *   - Copies (gpo_copy_*) and fills (gpo_fill*) are named for the operation: the members of such a family differ in the
 *     operation and not in the object.
 *   - Memory (gpo_memory_*, gpo_host_*), a host call (gpo_host_call_*) and a runtime's trace (gpo_trace_*) are objects
 *     without a handle of their own.
 *
 * Threads
 *   Any thread may call any function at any time, unless the function's comment says otherwise.
 *
 * Blocking
 *   A function waits for the GPU or for another thread only if its comment says what it may block on.
 *
 * Errors
 *   Every function returns a gpo_status (status.h), except gpo_status_name, gpo_status_text, gpo_version and
 *   gpo_get_api. A call that fails has no effect, unless the function's comment says otherwise.
 *
 * Stream capture
 *   No function of the library breaks a stream capture of another library. A function that puts work on a stream that
 *   is being captured adds the work to the capture. A function that can't be used during a capture says so.
 *
 * Structs
 *   Every struct begins with `struct_size`: set it to sizeof the struct. All other fields may be zero, which selects
 *   the defaults. Only an array that is given needs its count and its stride, which is sizeof one element.
 *   A smaller struct, from an older header, is accepted. A larger struct, from a newer header, is accepted if the
 *   fields that this library doesn't know are zero, and refused otherwise. A size that ends inside a field is refused
 *   with GPO_INVALID_ARGUMENT. Flags that this library doesn't know are refused.
 *   An array of structs comes with its stride, the number of bytes from the start of an element to the start of the
 *   next: set the stride to sizeof the struct.
 *
 * Units
 *   Host memory is `void *`, device addresses are `uint64_t`. Sizes are in bytes, times in nanoseconds.
 *   A timeout is an int64_t in nanoseconds. A negative timeout waits without a limit. As an argument, 0 checks and
 *   returns at once; in a struct, 0 is GPO_AUTO, and the field's comment says what that is.
 *
 * Lifetime of what the caller passes
 *   Memory and strings that are passed to a function may be freed when the call returns. A function that only starts
 *   work, and needs something to stay valid longer, says what and until when.
 *
 * Strings
 *   Strings are NUL-terminated UTF-8. A function that returns a string takes (buffer, capacity, needed). It writes at
 *   most `capacity` bytes, with the terminator. If `needed` is not NULL, it gets the length with the terminator. If the
 *   buffer is too small, the function returns GPO_BUFFER_TOO_SMALL. A NULL buffer with capacity 0 only asks for
 *   `needed`.
 *
 * The caller's CUDA state
 *   After every call, the calling thread's current CUDA context and CUDA's own last error are what they were before it.
 *
 * fork()
 *   In a child process that was forked after the library's first call, every function returns GPO_FORKED (destroy
 *   functions and gpo_runtime_create too), except gpo_last_error. Fork before the first call, or exec in the child.
 */
#ifndef GPUORCH_TYPES_H
#define GPUORCH_TYPES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define GPO_API __attribute__((visibility("default")))
#else
#define GPO_API
#endif

/* Version of the library and of its ABI: major, minor, patch. Before 1.0 a minor version may break the ABI. Therefore
 * gpo_get_api serves only its own minor version. Each minor version has its own SONAME, and its own version of the
 * symbols (GPUORCH_0.1): a program starts only with a library of the minor version that it was linked with. */
#define GPO_VERSION_MAJOR 0
#define GPO_VERSION_MINOR 1
#define GPO_VERSION_PATCH 0
#define GPO_VERSION 100 /* major * 10000 + minor * 100 + patch */
/* The name for dlopen. */
#define GPO_SONAME "libgpuorch.so.0.1"

/* In a field, or an argument, whose comment names GPO_AUTO: the library chooses, or takes the default given there. */
#define GPO_AUTO 0

/* 0 is success: see status.h. */
typedef int32_t gpo_status;

typedef struct gpo_runtime_s *gpo_runtime_t;         /* runtime.h */
typedef struct gpo_device_s *gpo_device_t;           /* device.h */
typedef struct gpo_stream_s *gpo_stream_t;           /* stream.h */
typedef struct gpo_stream_pool_s *gpo_stream_pool_t; /* stream.h */
typedef struct gpo_event_s *gpo_event_t;             /* event.h */
typedef struct gpo_timeline_s *gpo_timeline_t;       /* timeline.h */
typedef struct gpo_cq_s *gpo_cq_t;                   /* completion.h */
typedef struct gpo_arena_s *gpo_arena_t;             /* memory.h */
typedef struct gpo_pool_s *gpo_pool_t;               /* memory.h */
typedef struct gpo_module_s *gpo_module_t;           /* module.h */
typedef struct gpo_kernel_s *gpo_kernel_t;           /* module.h */
typedef struct gpo_pipeline_s *gpo_pipeline_t;       /* pipeline.h */
typedef struct gpo_executor_s *gpo_executor_t;       /* executor.h */
typedef struct gpo_template_s *gpo_template_t;       /* template.h */
typedef struct gpo_graph_s *gpo_graph_t;             /* template.h */
typedef struct gpo_buckets_s *gpo_buckets_t;         /* buckets.h */
typedef struct gpo_queue_s *gpo_queue_t;             /* queue.h */
typedef struct gpo_scheduler_s *gpo_scheduler_t;     /* scheduler.h */
typedef struct gpo_peers_s *gpo_peers_t;             /* peers.h */
typedef struct gpo_symmetric_s *gpo_symmetric_t;     /* symmetric.h */
typedef struct gpo_admission_s *gpo_admission_t;     /* admission.h */
typedef struct gpo_batcher_s *gpo_batcher_t;         /* batcher.h */

#ifdef __cplusplus
}
#endif

#endif
