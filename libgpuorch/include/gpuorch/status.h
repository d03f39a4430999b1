/* status.h: what functions return, and the details of a failure.
 *
 * The number says what went wrong. Its range says what the caller has to do:
 *   0        success
 *   1..9     an answer, not a failure
 *   10..29   the call was wrong and had no effect: correct it
 *   30..49   something needed is missing or exhausted: the same call may succeed later or on another machine
 *   50..69   an operation, or the object that it ran on, has failed: other objects go on
 *   70..79   the device, the process's library, the runtime or the group can't be used any more: open new ones
 *   80..89   the driver or the library broke its own rules
 *
 * The comments of functions don't repeat these statuses:
 *   GPO_INVALID_HANDLE, GPO_STALE_HANDLE, GPO_SHUT_DOWN, GPO_FORKED: from any function that takes a handle
 *   GPO_INVALID_ARGUMENT: from any function that takes a struct or a pointer
 *   GPO_OUT_OF_MEMORY: from any function that makes something
 *   GPO_LIMIT_EXCEEDED: from any function that makes something, beyond 4096 runtimes and 2^20 objects of one runtime
 *   GPO_DEVICE_LOST, GPO_DRIVER_ERROR: from any function that reaches the device
 *   GPO_WOULD_DEADLOCK: from any function inside a host node, but for those that gpo_host_node_fn (template.h) lists
 */
#ifndef GPUORCH_STATUS_H
#define GPUORCH_STATUS_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GPO_SUCCESS 0

#define GPO_NOT_READY 1   /* the work that was asked about is not done yet */
#define GPO_TIMEOUT 2     /* the timeout passed before the result was there */
#define GPO_WOULD_BLOCK 3 /* a bounded queue is full: take entries out, then try again */
#define GPO_END 4         /* returned by a source callback: there is no more data */

#define GPO_INVALID_ARGUMENT 10 /* a value out of range, NULL for a needed pointer, or an unknown flag */
#define GPO_INVALID_HANDLE 11   /* a handle that is NULL, random, of another type, or of an unknown runtime */
#define GPO_STALE_HANDLE 12     /* a handle of an object that has been destroyed */
#define GPO_INVALID_STATE 13    /* the object is in a state that forbids the call: the message names it */
#define GPO_NOT_SUPPORTED 14    /* not supported by this device, driver or kind of object */
#define GPO_NOT_FOUND 15        /* there is no kernel, symbol or file of that name */
#define GPO_WOULD_DEADLOCK 16   /* a wait inside a callback, for that callback; or a call inside a host node */
#define GPO_BUFFER_TOO_SMALL 17 /* the caller's buffer is too small: `needed` has the size */
#define GPO_CAPTURE_REFUSED 18  /* not possible with a stream in capture, or an event recorded on one */

#define GPO_OUT_OF_MEMORY 30  /* host, pinned or device memory: the message says which */
#define GPO_LIMIT_EXCEEDED 31 /* a limit that the caller or the system (threads, descriptors) has set */
#define GPO_NO_DEVICE 32      /* no usable driver, or no such device: the message says why */
#define GPO_NO_COMPILER 33    /* no NVRTC, or no C++ compiler for the software GPU: the message says which were tried */
#define GPO_COMPILE_FAILED 34 /* the kernel source has errors: gpo_last_compile_log() has the compiler's text */
#define GPO_INVALID_IMAGE 35  /* the image is cut short, not an image, or for another device */
#define GPO_IO_ERROR 36       /* a file or pipe failed: native_code is the errno */

#define GPO_CANCELLED 50       /* on request, or because an object that was needed was destroyed or shut down */
#define GPO_FAILED 51          /* the caller failed a timeline or host call so, or signals a failed timeline */
#define GPO_CALLBACK_FAILED 52 /* a callback of the caller returned an error or threw */

#define GPO_DEVICE_LOST 70 /* a kernel crashed or the context was destroyed: all devices of that driver are lost */
#define GPO_FORKED 71      /* the process was forked after the library's first call: fork earlier, or exec */
#define GPO_SHUT_DOWN 72   /* the runtime has shut down or is shutting down */
#define GPO_PEER_LOST 73   /* another process has died, left its group, hangs or can't go on: the message names it */

#define GPO_DRIVER_ERROR 80 /* another error of the driver: native_code is the CUresult */
#define GPO_INTERNAL 81     /* a defect of the library: please report the message */

/* Which numbers gpo_error.native_code comes from. */
#define GPO_NATIVE_NONE 0
#define GPO_NATIVE_CUDA 1  /* CUresult */
#define GPO_NATIVE_ERRNO 2 /* errno */
#define GPO_NATIVE_NVRTC 3 /* nvrtcResult */
#define GPO_NATIVE_NCCL 4  /* ncclResult_t */

/* The details of a failure. Texts are cut to fit, and always terminated.
 *
 * `object` is never empty where a call was refused (10 to 49) that was given a valid handle: if nothing else is to
 * blame, it is the object of the first of the call's handles that is valid. */
typedef struct gpo_error {
    uint32_t struct_size;
    gpo_status status;
    int32_t native_code;    /* 0 if there is none */
    uint32_t native_domain; /* GPO_NATIVE_* */
    uint64_t operation;     /* number of the failed operation on its stream, from 1; 0: none */
    char function[64];      /* the function that was called, or the driver's function that failed */
    char object[64];        /* type and label of the culprit: "stream `upload`", "kernel `blur`" */
    char message[512];      /* one sentence; for a lost device with the operations that may have caused the loss */
} gpo_error;

/* The name of a status ("GPO_OUT_OF_MEMORY"), or "GPO_UNKNOWN" for a number that is no status. Static text, never
 * NULL. */
GPO_API const char *gpo_status_name(gpo_status status);

/* A sentence that says what a status means. Static text, never NULL. */
GPO_API const char *gpo_status_text(gpo_status status);

/* Writes the last failure of a call that the calling thread made to `error`; `error->status` is 0 if there was none.
 * A call that succeeds leaves the last failure as it is. A call that returns an answer (1 to 9) does too, unless the
 * function's comment says otherwise (gpo_device_wait). Set `error->struct_size` before the call. Returns GPO_SUCCESS or
 * GPO_INVALID_ARGUMENT. */
GPO_API gpo_status gpo_last_error(gpo_error *error);

/* Writes the failure that an object carries to `error`; `error->status` is 0 if there is none. `object` is any handle.
 * Any thread can read it, so language runtimes whose tasks move between threads need no thread-local state.
 * - Stream, timeline: its first sticky failure; if there is none, the failure of the last failed call on it.
 * - Device: its loss, once it is lost; before that, the failure of the last failed call on its handle.
 * - Pipeline: the failure of its newest failed run, or of a failed call since.
 * - Completion queue, executor, stream pool: none.
 * - All others: the failure of the last failed call on the object. */
GPO_API gpo_status gpo_object_get_error(const void *object, gpo_error *error);

/* Sets an object's label, its name in errors, logs, statistics and traces. `object` is any handle. At most 63 bytes of
 * the label are stored. NULL or "" removes the label. Options structs take a label too. */
GPO_API gpo_status gpo_object_set_label(void *object, const char *label);
/* Writes an object's label, "" if it has none. */
GPO_API gpo_status gpo_object_get_label(const void *object, char *buffer, size_t capacity, size_t *needed);

#ifdef __cplusplus
}
#endif

#endif
