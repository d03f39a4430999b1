/* types.h: the words that every other header uses: handles, calling rules, structs and their sizes.
 *
 * Rules for the whole library
 *
 * - Handles. Everything is reached through an opaque handle. A handle is a number, not an address: one that is stale,
 *   destroyed twice, of another type, of another runtime or random gives GPO_STALE_HANDLE or GPO_INVALID_HANDLE and
 *   nothing else happens. Create functions write the handle last, and create nothing when they fail. Destroying NULL
 *   succeeds. Destroying something in use or in flight is allowed: it goes when its users and its work are done.
 *   Children keep their parents alive.
 * - Names. A function is called gpo_<object>_<verb>. The object is the type of the handle that the function takes first
 *   or makes. A function that only reads something is called gpo_<object>_get_<what>. Functions that take no handle are
 *   named for what they give: gpo_status_name, gpo_status_text, gpo_version, gpo_get_api, and gpo_last_<what> for
 *   what the calling thread did last. Copies (gpo_copy_*) and fills (gpo_fill*) are named for the operation, because
 *   they are families that differ in the operation and not in the object. Memory (gpo_memory_*, gpo_host_*), a host
 *   call (gpo_host_call_*) and a runtime's trace (gpo_trace_*) are objects without a handle of their own.
 * - Threads. Any thread may call any function at any time, unless its comment says otherwise.
 * - Blocking. A function blocks on the GPU or on another thread only if its comment says what it may block on.
 * - Errors. Every function but gpo_status_name, gpo_status_text, gpo_version and gpo_get_api returns a gpo_status
 *   (status.h). A call that fails has had no effect, unless its comment says otherwise.
 * - Capture. No function of the library breaks another library's stream capture. The functions that put work on a
 *   stream record it, where the stream is being captured; each of the others says so where it can't be used during a
 *   capture.
 * - Structs. Every struct begins with `struct_size`: set it to sizeof. Zeroed but for its size, a struct means the
 *   defaults. An older, smaller struct is accepted; a larger, newer one is too if what this library doesn't know in it
 *   is zero, and refused otherwise. A size that ends inside a field is refused with GPO_INVALID_ARGUMENT. Flags that
 *   this library doesn't know are refused. An array of structs comes with its stride, the bytes from the beginning of one
 *   element to that of the next: set it to sizeof, too.
 * - Memory. Host memory is `void *`, device addresses are `uint64_t`, sizes are in bytes, times in nanoseconds.
 *   Timeouts are int64_t nanoseconds: 0 asks and returns, a negative one waits for ever.
 *   What must stay valid after a call that only starts work is said there; everything else may go when the call
 *   returns.
 * - Strings are NUL-terminated UTF-8. They come out through (buffer, capacity, needed): at most `capacity` bytes are
 *   written, terminated; `needed`, if not NULL, gets the length with the terminator; too small a buffer is
 *   GPO_BUFFER_TOO_SMALL, and a NULL buffer with capacity 0 only asks.
 * - The calling thread's current CUDA context and CUDA's own last error are, after every call, what they were before
 *   it.
 * - fork(). In a child that was forked after the library's first call, every call but gpo_last_error gives GPO_FORKED,
 *   destroys and gpo_runtime_create too. Fork before the first call, or exec in the child.
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

/* Version of the ABI: major, minor, patch. Before 1.0 a minor version may break it, and gpo_get_api serves no other one
 * than its own. The SONAME is libgpuorch.so.0 until the first release. */
#define GPO_VERSION_MAJOR 0
#define GPO_VERSION_MINOR 1
#define GPO_VERSION_PATCH 0
#define GPO_VERSION 100 /* major * 10000 + minor * 100 + patch */

/* For counts and sizes that the library may choose by itself. */
#define GPO_AUTO 0

/* "0 is success": see status.h. */
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

#ifdef __cplusplus
}
#endif

#endif
