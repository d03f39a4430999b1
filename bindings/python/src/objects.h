/* objects.h: what library.c, handle.c, closing.c and stream_keep.c share.
 *
 * Locks, where several are held, in this order: the list of open handles (handle.c), the closing thread's (closing.c),
 * what work uses (stream_keep.c). No lock is held while Python's objects are released or Python code runs. A function
 * of the library may run the program's log function. Under a lock, call only functions that log nothing: those
 * that read figures, and gpo_cq_drain. */
#ifndef GPUORCH_OBJECTS_H
#define GPUORCH_OBJECTS_H

#include "gpuorch_python.h"

#define NS_PER_SECOND INT64_C(1000000000)

/* --- library.c --- */

/* The interpreter ends. */
void set_over(void);
/* From now on a forked child has to leave the library alone. */
void library_is_used(void);
int add_library(PyObject *module);

/* --- handle.c --- */

/* Whether an object that is open belongs to the runtime: the closing thread asks, without the GIL. */
int has_open_objects(const void *runtime);
/* Destroys a handle by its kind. The library's status. */
gpo_status destroy_handle(const gpo_api *api, enum class_id kind, void *handle);
/* Drops the objects of ended work and ended runs. Takes little time, and runs whenever an object is made, closed or
 * collected. */
void reap(void);

/* Calls `visit` with each open handle of the kind, under no lock. `is_exported`: buffers or capsules use the runtime's
 * memory. */
typedef void (*handle_visitor)(const gpo_api *api, void *handle, int is_exported);
void each_open_handle(enum class_id kind, handle_visitor visit);

/* Marks the runtimes as ending whose memory no buffers or capsules use. */
void mark_runtimes(void);
/* Waits for calls of these runtimes that use memory; at most until then. Without the GIL. */
void wait_for_calls_at_end(int64_t deadline_ns);
void *read_handle(const handle_object *object);
/* Takes an object out of the list of open handles. A second call does no harm. */
void unlink_handle(handle_object *object);
int is_handle(PyObject *value);
/* The handle of the object's device, or NULL. */
void *handle_of_device(handle_object *object);
/* Closes an object without references. `may_hold`: the object may stay open instead. */
void collect_handle(handle_object *object, int may_hold);
/* The class of a kind of handle. */
void set_handle_class(enum class_id kind, PyTypeObject *type);
/* An open handle. list_open_handles() writes at most `room` of them. */
typedef struct open_handle {
    enum class_id kind;
    void *handle, *device;
} open_handle;
size_t list_open_handles(open_handle *open, size_t room);

/* --- handle_type.c and exit.c --- */

/* The text of an object's repr: `<gpuorch.Stream "upload" of device 0>`. */
PyObject *describe_handle(const gpo_api *api, enum class_id kind, void *handle, void *device);
/* In development mode: a ResourceWarning for each open handle. */
void warn_of_open_handles(void);
int add_exit(PyObject *module);

/* --- closing.c: what can't be closed at once --- */

/* A pipeline during a run, or an executor whose threads still have callbacks to call: collecting has to wait. */
int is_busy(const gpo_api *api, enum class_id kind, void *handle);
/* Keeps an object that is collected until it isn't busy any more. */
int hold_while_busy(handle_object *object);
/* Cancels the run of a pipeline, destroys the pipeline when the run has ended, and keeps `kept` until then. */
int end_pipeline(void *handle, void *runtime, PyObject *kept);
/* Destroys the pipelines of a runtime whose runs are being cancelled; what they need stays. */
void destroy_ending(const void *runtime);
/* A thread destroys the handle, and shuts a runtime down when nothing of it is open any more. `kept` (stolen) and
 * `leftovers` stay until then. -1, without an exception: no memory; nothing was taken. */
int close_later(enum class_id kind, void *handle, PyObject *kept, struct leftovers *leftovers);
/* Waits until the thread has destroyed what is not a runtime, at most this long. Without the GIL. */
void settle(int64_t timeout_ns);
/* Ends the thread, and shuts down what it had left. Without the GIL. */
void end_closing(const gpo_api *api, int64_t deadline_ns);
/* Drops the objects of done jobs and ended runs. With the GIL. */
void reap_closed(void);
int64_t now_ns(void);

/* --- stream_keep.c --- */

/* Called before a stream's handle is destroyed: keeps the objects of the stream's work with the runtime. */
void leave_stream(handle_object *stream, void *handle);
/* Like leave_stream, for a collected object whose handle was taken out before. */
void leave_closed_stream(handle_object *stream);
/* Drops the objects of a stream's work that the library has seen completed. */
void forget_done(handle_object *stream);
/* The same, to be dropped by free_in_flight(), which goes through its list. NULL: nothing. */
struct in_flight *take_finished(handle_object *stream);
/* Whether work of the stream may use objects. */
static inline int has_in_flight(const handle_object *stream) {
    return __atomic_load_n(&stream->in_flight, __ATOMIC_RELAXED) != NULL;
}
/* Takes all objects of the stream's work, to be dropped by free_in_flight(). */
struct in_flight *take_in_flight(handle_object *stream);
int visit_in_flight(struct in_flight *things, visitproc visit, void *argument);
void free_in_flight(struct in_flight *things);
int visit_leftovers(struct leftovers *leftovers, visitproc visit, void *argument);
/* Drops all leftovers of a runtime that has shut down. */
void drop_leftovers(struct leftovers *leftovers);
void free_leftovers(struct leftovers *leftovers);
/* Drops the leftovers of work that is done. */
void reap_leftovers(void);
/* A recording has to end with its template. */
void forget_recording(handle_object *recording);

#endif
