/* status.h: what functions return, and what is known of a failure.
 *
 * The number tells what went wrong and, by its range, what has to be done about it:
 *   0        done
 *   1..9     an answer, not a failure: nothing is wrong
 *   10..29   the call was wrong, and had no effect
 *   30..49   something needed is missing or exhausted; the same call may work later or elsewhere
 *   50..69   an operation or the object that it ran on has failed; other objects go on
 *   70..79   the device, the process or the runtime is gone: open new ones
 *   80..89   the driver or the library broke its own rules
 *
 * Any function that takes a handle may return GPO_INVALID_HANDLE, GPO_STALE_HANDLE, GPO_SHUT_DOWN or GPO_FORKED, any
 * that takes a struct or a pointer GPO_INVALID_ARGUMENT, any that makes something GPO_OUT_OF_MEMORY, or
 * GPO_LIMIT_EXCEEDED beyond 4096 runtimes and 2^20 objects of one, any that reaches the device GPO_DEVICE_LOST or
 * GPO_DRIVER_ERROR; the comments don't repeat these.
 */
#ifndef GPUORCH_STATUS_H
#define GPUORCH_STATUS_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GPO_SUCCESS 0

#define GPO_NOT_READY 1   /* asked about work that is not done yet */
#define GPO_TIMEOUT 2     /* the timeout passed first */
#define GPO_WOULD_BLOCK 3 /* bounded and full: take something out, then try again */
#define GPO_END 4         /* from a source callback: there is no more */

#define GPO_INVALID_ARGUMENT 10 /* a value out of range, NULL where a pointer is needed, an unknown flag */
#define GPO_INVALID_HANDLE 11   /* NULL, random, of another type, or of a runtime that isn't there */
#define GPO_STALE_HANDLE 12     /* of something that has been destroyed */
#define GPO_INVALID_STATE 13    /* right call, wrong time: the message says what it is in */
#define GPO_NOT_SUPPORTED 14    /* by this device, driver or kind of object */
#define GPO_NOT_FOUND 15        /* no kernel, symbol or file of that name */
#define GPO_WOULD_DEADLOCK 16   /* from inside a callback: waiting would wait for itself */
#define GPO_BUFFER_TOO_SMALL 17 /* of the caller: `needed` says how much */
#define GPO_CAPTURE_REFUSED 18  /* can't be done on a stream that is being captured, nor of an event recorded on one */

#define GPO_OUT_OF_MEMORY 30  /* host, pinned or device memory, as the message says */
#define GPO_LIMIT_EXCEEDED 31 /* a cap that was set, or one that the system sets (threads, descriptors) */
#define GPO_NO_DEVICE 32      /* no usable driver or no such device; the message says why */
#define GPO_NO_COMPILER 33    /* no NVRTC, or no C++ compiler for the software GPU; the message says what was tried */
#define GPO_COMPILE_FAILED 34 /* the kernel source: gpo_last_compile_log() has the compiler's text */
#define GPO_INVALID_IMAGE 35  /* cut short, not an image, or for another device */
#define GPO_IO_ERROR 36       /* a file or pipe; native_code is the errno */

#define GPO_CANCELLED 50       /* on request, or because what it needed was destroyed or shut down */
#define GPO_FAILED 51          /* the caller failed a timeline or host call with it, or signals a failed timeline */
#define GPO_CALLBACK_FAILED 52 /* the caller's callback returned an error, or threw */

#define GPO_DEVICE_LOST 70 /* a kernel crashed or the context was destroyed: sticky for every device of that driver */
#define GPO_FORKED 71      /* in a child that was forked after the library's first call: fork earlier, or exec in it */
#define GPO_SHUT_DOWN 72   /* the runtime is shut down or shutting down */

#define GPO_DRIVER_ERROR 80 /* an error of the driver that is none of the above: native_code is the CUresult */
#define GPO_INTERNAL 81     /* a defect of the library: please report it with the message */

/* Whose number gpo_error.native_code is. */
#define GPO_NATIVE_NONE 0
#define GPO_NATIVE_CUDA 1  /* CUresult */
#define GPO_NATIVE_ERRNO 2 /* errno */
#define GPO_NATIVE_NVRTC 3 /* nvrtcResult */

/* A failure. Texts are cut to fit, and always terminated. */
typedef struct gpo_error {
    uint32_t struct_size;
    gpo_status status;
    int32_t native_code;    /* 0 if there is none */
    uint32_t native_domain; /* GPO_NATIVE_* */
    uint64_t operation;     /* number of the operation on its stream, from 1; 0: none */
    char function[64];      /* the function that was called, or the driver's function that failed */
    char object[64];        /* type and label of the culprit: "stream `upload`", "kernel `blur`" */
    char message[512];      /* one sentence; for lost devices it lists the suspects */
} gpo_error;

/* The name of a status ("GPO_OUT_OF_MEMORY"); "GPO_UNKNOWN" for a number that is none. Static text, never NULL. */
GPO_API const char *gpo_status_name(gpo_status status);

/* A sentence that says what a status means. Static text, never NULL. */
GPO_API const char *gpo_status_text(gpo_status status);

/* The last failure of a call made by the calling thread; status 0 if there was none. Successes don't change it, nor do
 * the answers 1 to 9 but where a function says so (gpo_device_wait). `error->struct_size` must be set. Returns
 * GPO_SUCCESS or GPO_INVALID_ARGUMENT. */
GPO_API gpo_status gpo_last_error(gpo_error *error);

/* The failure that an object carries; status 0 if there is none. `object` is any handle. Readable from any thread, so
 * that runtimes whose tasks move between threads need no thread-local state.
 * - A stream or timeline: its first sticky failure, else that of the last failed call on it.
 * - A device: its loss, once it is lost, else that of the last failed call on its handle.
 * - A pipeline: that of its newest failed run, or of a failed call since.
 * - Others: that of the last failed call on it. Completion queues, executors and stream pools carry none. */
GPO_API gpo_status gpo_object_get_error(const void *object, gpo_error *error);

/* Labels name things in errors, logs, statistics and traces. At most 63 bytes are kept. `object` is any handle; options
 * structs take a label too. NULL or "" takes the label away. */
GPO_API gpo_status gpo_object_set_label(void *object, const char *label);
/* The label that an object has; "" if it has none. */
GPO_API gpo_status gpo_object_get_label(const void *object, char *buffer, size_t capacity, size_t *needed);

#ifdef __cplusplus
}
#endif

#endif
